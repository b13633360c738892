//! What the log says about the end of a run.

use super::element::{PayloadBytes, read_attributes, write_element};

/// Stop mode of an organism that may leave deliveries out.
const DRAIN: &str = "drain";
/// Stop mode of an organism with no deliveries out on its own machine, not even from an earlier run.
const DRAINED: &str = "drained";

/// `<shutdown>`: the organism stops, and workers on other machines may have so many deliveries.
pub fn write_shutdown(is_drained: bool, out: usize, is_for_reload: bool) -> PayloadBytes {
    let mode = if is_drained { DRAINED } else { DRAIN };
    let out = (out > 0).then(|| out.to_string());
    write_element("shutdown", |shutdown| {
        let reload = is_for_reload.then_some("true");
        shutdown.attr("mode", mode).attr_if("out", out.as_deref()).attr_if("reload", reload).empty();
    })
}

/// What a `<shutdown>` says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShutdownRecord {
    /// Whether nothing was out on the pump's own machine.
    pub is_drained: bool,
    /// How many deliveries workers on other machines may have had.
    pub out: u64,
    /// Whether the organism stopped to go on with another configuration.
    pub is_for_reload: bool,
}

/// Reads a `<shutdown>`.
pub fn read_shutdown(body: &[u8]) -> Option<ShutdownRecord> {
    let [mode, out, reload] = read_attributes(body, "shutdown", ["mode", "out", "reload"])?;
    Some(ShutdownRecord {
        is_drained: mode? == DRAINED,
        out: out.map_or(Some(0), |out| out.parse().ok())?,
        is_for_reload: reload.as_deref() == Some("true"),
    })
}
