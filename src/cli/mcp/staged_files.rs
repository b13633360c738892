//! Files that take their place together: first all are written beside their places, then each is renamed.

use std::io;
use std::path::PathBuf;

/// The path of a file that was not written, and the operating system's error.
pub(super) type UnwrittenFile = (PathBuf, io::Error);

/// Files that are written and not in their places yet. Dropping the value removes them.
#[derive(Default)]
pub(super) struct StagedFiles {
    /// Where each is, and its place.
    waiting: Vec<(PathBuf, PathBuf)>,
}

impl StagedFiles {
    /// Writes a file beside its place, unless it is there with these words already.
    pub(super) fn stage_file(&mut self, place: PathBuf, text: &str) -> Result<(), UnwrittenFile> {
        if std::fs::read(&place).is_ok_and(|there| there == text.as_bytes()) {
            return Ok(());
        }
        let beside = PathBuf::from(format!("{}.new", place.display()));
        let folder = place.parent().map_or(Ok(()), std::fs::create_dir_all);
        let written = folder.and_then(|()| std::fs::write(&beside, text));
        let unwritten = written.map_err(|error| (beside.clone(), error));
        self.waiting.push((beside, place));
        unwritten
    }

    /// Puts each into its place, and returns the places.
    pub(super) fn into_place(mut self) -> Result<Vec<PathBuf>, UnwrittenFile> {
        let mut places = Vec::new();
        for (beside, place) in &self.waiting {
            std::fs::rename(beside, place).map_err(|error| (place.clone(), error))?;
            places.push(place.clone());
        }
        self.waiting.clear();
        Ok(places)
    }
}

impl Drop for StagedFiles {
    fn drop(&mut self) {
        for (beside, _) in &self.waiting {
            // What cannot be removed is written over by the next pin.
            let _stays = std::fs::remove_file(beside);
        }
    }
}
