//! Shared by the commands that show a thread as it was after some record: how the thread and the record are named
//! and found. It only reads.

use clap::Args;

use super::exit::CommandExit;
use super::looking::{Looking, PastPosition, split_number};
use super::place::Place;
use systole_core::types::ids::ThreadId;

/// Which thread, and when.
#[derive(Args, Debug)]
pub(super) struct AsOf {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    past: PastPosition,
    /// Its id, its beginning, or @last; with @N behind it as of record N
    #[arg(default_value = "@last")]
    thread: String,
}

impl AsOf {
    /// The log, the selected thread, and its last record that counts.
    pub(super) fn open(&self) -> Result<(Looking, ThreadId, u64), CommandExit> {
        let looking = Looking::open_anywhere_at(&self.place, self.past)?;
        let (typed, seq) = split_number(&self.thread);
        let id = looking.find(typed)?;
        Ok((looking, id, seq.unwrap_or(u64::MAX)))
    }
}
