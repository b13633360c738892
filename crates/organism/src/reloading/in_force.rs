//! Which configuration counts when an organism starts: that of its file, or that of a reload that the log has.

use crate::missing_part::MissingPart;
use crate::plan::{ConfigInForce, ReloadAtStart, StartFault};
use systole_core::pump::state::PumpState;
use systole_core::types::ids::{Digest, ThreadId};
use systole_core::types::ports::LogReader;

/// Refuses to start with the configuration of the file if that of a reload is in force.
pub(crate) fn check(
    state: &PumpState,
    reader: &dyn LogReader,
    start: &ReloadAtStart,
    file: Digest,
) -> Result<(), StartFault> {
    let sys = state.find_thread(&ThreadId::new_sys());
    let Some(last) = sys.and_then(|sys| sys.reload.as_ref()) else { return Ok(()) };
    if start.takes_file || start.news.is_some() || !last.is_in_force(file) {
        return Ok(());
    }
    let config = last.reload.config;
    let Some(source) = reader.read_document(config)? else {
        let words = format!("the log goes on with configuration {config}, and does not hold it any more");
        let fix = Some("systole run --take-file, which goes on with the file".to_owned());
        return Err(StartFault::Missing(MissingPart { words, fix }));
    };
    let (reload, is_stopped) = (last.reload.clone(), last.is_stopped);
    Err(StartFault::InForce(Box::new(ConfigInForce { reload, is_stopped, source: source.to_vec() })))
}
