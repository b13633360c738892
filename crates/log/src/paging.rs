//! The records of a stretch of the log, in pages, so that a long stretch takes little memory and no reader stays in the
//! way of the writer.

use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_core::types::record::Record;

/// Records that are read at once. Each may have a mebibyte.
const PAGE: usize = 64;

/// Passes on each record after a position, up to another one or to the end of the log. Returns the last position.
pub fn each_after(
    reader: &dyn LogReader,
    after: u64,
    to: u64,
    mut each: impl FnMut(&Record),
) -> Result<u64, LogFault> {
    let mut at = after;
    while at < to {
        let left = usize::try_from(to - at).unwrap_or(PAGE).min(PAGE);
        let page = reader.after(Position(at), left)?;
        let Some((last, _)) = page.last() else { break };
        at = last.0;
        page.iter().for_each(|(_, record)| each(record));
    }
    Ok(at)
}
