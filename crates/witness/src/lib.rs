//! The places that get the checkpoints of a log: witnesses at an address, which cosign, and folders, which keep the
//! checkpoint and the tiles of the tree.

mod asking;
mod fault;
mod limits;
mod tiles;
pub mod witness_book;

use std::fmt;
use std::path::{Path, PathBuf};

use systole_http::HttpAddress;

pub use asking::{WitnessClient, WitnessReply};
pub use fault::WitnessFault;
pub use tiles::TileFolder;

/// A place that gets checkpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WitnessPlace {
    /// A witness.
    Url {
        /// As it was written.
        written: String,
        /// Where to ask.
        at: HttpAddress,
    },
    /// A folder.
    Folder(PathBuf),
}

impl WitnessPlace {
    /// Reads an address, or the path of a folder from that directory.
    pub fn parse(text: &str, directory: &Path) -> Result<WitnessPlace, &'static str> {
        if !text.contains("://") {
            return Ok(WitnessPlace::Folder(directory.join(text).components().collect()));
        }
        let at = HttpAddress::parse(text)?;
        let path = format!("{}/add-checkpoint", at.path());
        Ok(WitnessPlace::Url { written: text.to_owned(), at: at.with_path(&path) })
    }
}

impl fmt::Display for WitnessPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WitnessPlace::Url { written, .. } => f.write_str(written),
            WitnessPlace::Folder(path) => path.display().fmt(f),
        }
    }
}
