//! The pin of a server: what was installed, and which tools it listed then.
//!
//! The text of a pin file comes in; its values go out, or why the file is no pin. A pin that was edited by hand is
//! refused: its hash no longer fits its tools.

use serde::{Deserialize, Serialize};

use super::canonical::hash_of_tools;
use super::tool::ToolDefinition;

/// The version of the format.
pub const PIN_FORMAT: u32 = 1;

/// What was installed, and which tools the server listed then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PinFile {
    /// The version of the format.
    pub format: u32,
    /// The program or the address, as in the organism's file.
    pub command: Vec<String>,
    /// The command that starts the installed program; empty for an address.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entry: Vec<String>,
    /// The revision of the protocol that the server speaks.
    pub revision: String,
    /// What was installed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub packages: Vec<PinnedPackage>,
    /// The tools, by name.
    pub tools: Vec<ToolDefinition>,
    /// The hash of the tools.
    pub hash: String,
}

/// An installed package.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedPackage {
    /// Its name in its registry.
    pub name: String,
    /// Its exact version.
    pub version: String,
    /// The hash of its archive, as the package manager writes it.
    pub integrity: String,
}

/// Why a file is no pin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PinFault {
    /// It is too large.
    #[error("it has {0} bytes, at most 4 MiB are read")]
    Size(usize),
    /// It is no JSON of this form.
    #[error("it cannot be read: {0}")]
    Form(String),
    /// It is of another version.
    #[error("its format is {0}, this program reads format 1")]
    Format(u32),
    /// Its tools are not those of its hash.
    #[error("its tools were changed by hand: their hash is {actual}, the file says {written}")]
    Hash {
        /// The hash of the tools in the file.
        actual: String,
        /// The hash that the file says.
        written: String,
    },
}

impl PinFile {
    /// The pin of a server whose tools were just listed.
    #[must_use]
    pub fn new(command: Vec<String>, revision: &str, tools: Vec<ToolDefinition>) -> Self {
        let mut tools = tools;
        tools.sort_by(|one, other| one.name.cmp(&other.name));
        let hash = hash_of_tools(&tools);
        let (entry, packages) = (Vec::new(), Vec::new());
        Self { format: PIN_FORMAT, command, entry, revision: revision.to_owned(), packages, tools, hash }
    }

    /// Reads a pin file.
    ///
    /// # Errors
    /// If it is no pin, or if its tools were changed by hand.
    pub fn from_text(text: &[u8]) -> Result<Self, PinFault> {
        if text.len() > crate::limits::WHOLE_BYTES {
            return Err(PinFault::Size(text.len()));
        }
        let form = |error: serde_json::Error| PinFault::Form(super::judge::shorten_text(&error.to_string()));
        let value: serde_json::Value = serde_json::from_slice(text).map_err(form)?;
        // The version comes first: a later one may have other fields.
        let version =
            value.get("format").and_then(serde_json::Value::as_u64).and_then(|v| u32::try_from(v).ok());
        if let Some(other) = version.filter(|version| *version != PIN_FORMAT) {
            return Err(PinFault::Format(other));
        }
        let pin: Self = serde_json::from_value(value).map_err(form)?;
        let actual = hash_of_tools(&pin.tools);
        if actual == pin.hash {
            return Ok(pin);
        }
        Err(PinFault::Hash { actual, written: super::judge::shorten_text(&pin.hash) })
    }

    /// The text of the file, for people and version control: indented, with a line break at its end.
    #[must_use]
    pub fn to_text(&self) -> String {
        serde_json::to_string_pretty(self).map(|text| format!("{text}\n")).unwrap_or_default()
    }
}
