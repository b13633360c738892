//! The JSON of a reload: how an organism began, and the fields of an order.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// How an organism began.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RunBeginning {
    /// The last position before it began.
    pub began: u64,
    /// The hash of its configuration.
    pub config: String,
    /// The reload that it began with, if it began with one.
    pub reloaded: Option<ReloadShown>,
    /// The reload that failed before it began, so that it goes on with the configuration before.
    pub failed: Option<FailedReloadShown>,
}

/// A reload.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ReloadShown {
    /// The hash of the configuration before.
    pub before: String,
    /// The client that ordered it.
    pub by: String,
    /// Whether the configuration came from the log.
    pub back: bool,
}

/// A reload that failed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FailedReloadShown {
    /// The hash of the configuration that did not start.
    pub config: String,
    /// The client that ordered it.
    pub by: String,
    /// Why.
    pub message: String,
}

/// The fields of an order.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReloadFields {
    /// Another file than the organism's, for the operator only.
    pub file: Option<PathBuf>,
    /// The configuration before.
    pub back: Option<bool>,
    /// How long deliveries that are out may take, as `60s`.
    pub drain: Option<String>,
    /// The hash of the configuration that the client agrees to.
    pub approved: Option<String>,
    /// It is only shown what would change.
    pub show: Option<bool>,
}

impl ReloadFields {
    /// The fields of a request.
    pub fn list_pairs(&self) -> Vec<(&'static str, String)> {
        let word = |is: Option<bool>| is.map(|is| is.to_string());
        let file = self.file.as_ref().map(|file| file.display().to_string());
        let fields = [
            ("file", file),
            ("back", word(self.back)),
            ("drain", self.drain.clone()),
            ("approved", self.approved.clone()),
            ("show", word(self.show)),
        ];
        fields.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}
