//! What the log says about the end of a run.

use super::element::{PayloadBytes, read_attributes, write_element};

/// Stop mode of an organism that may leave deliveries out.
const DRAIN: &str = "drain";
/// Stop mode of an organism with no deliveries out on its own machine, not even from an earlier run.
const DRAINED: &str = "drained";

/// Why a run ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RunEnding {
    /// A person stops the organism.
    #[default]
    Stop,
    /// It goes on at once with another configuration.
    Reload,
    /// It ran for one command only.
    Command,
}

impl RunEnding {
    /// Its word in a record; a stop has none.
    const fn as_str(self) -> Option<&'static str> {
        match self {
            RunEnding::Stop => None,
            RunEnding::Reload => Some("reload"),
            RunEnding::Command => Some("command"),
        }
    }
}

/// `<shutdown>`: the organism stops, and workers on other machines may have so many deliveries.
pub fn write_shutdown(is_drained: bool, out: usize, ending: RunEnding) -> PayloadBytes {
    let mode = if is_drained { DRAINED } else { DRAIN };
    let out = (out > 0).then(|| out.to_string());
    write_element("shutdown", |shutdown| {
        let shutdown = shutdown.attr("mode", mode).attr_if("out", out.as_deref());
        shutdown.attr_if("for", ending.as_str()).empty();
    })
}

/// What a `<shutdown>` says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShutdownRecord {
    /// Whether nothing was out on the pump's own machine.
    pub is_drained: bool,
    /// How many deliveries workers on other machines may have had.
    pub out: u64,
    /// Why the run ended.
    pub ending: RunEnding,
}

/// Reads a `<shutdown>`.
pub fn read_shutdown(body: &[u8]) -> Option<ShutdownRecord> {
    let [mode, out, purpose] = read_attributes(body, "shutdown", ["mode", "out", "for"])?;
    let known = [RunEnding::Reload, RunEnding::Command];
    Some(ShutdownRecord {
        is_drained: mode? == DRAINED,
        out: out.map_or(Some(0), |out| out.parse().ok())?,
        ending: known.into_iter().find(|one| one.as_str() == purpose.as_deref()).unwrap_or_default(),
    })
}
