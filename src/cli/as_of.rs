//! What the commands share that show a thread as it stood after some record of it: how that is named, and how it is
//! found. They read, and so does this.

use clap::Args;

use super::exit::Exit;
use super::looking::{Looking, parted};
use super::place::Place;
use systole_core::types::ids::ThreadId;

/// Which thread, and when.
#[derive(Args, Debug)]
pub(super) struct AsOf {
    #[command(flatten)]
    place: Place,
    /// Its id, its beginning, or @last; with @N behind it as of record N
    #[arg(default_value = "@last")]
    thread: String,
}

impl AsOf {
    /// The log, the thread that is meant, and the last record of it that counts.
    pub(super) fn open(&self) -> Result<(Looking, ThreadId, u64), Exit> {
        let looking = Looking::open(&self.place)?;
        let (typed, seq) = parted(&self.thread);
        let id = looking.find(typed)?;
        Ok((looking, id, seq.unwrap_or(u64::MAX)))
    }
}
