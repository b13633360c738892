//! The files of listeners' programs, as the records of their starts name them. The supplier says so; nothing else shows
//! it.

use std::collections::HashMap;

use systole_core::rules::core_payload;
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::{Position, ProgramFile};
use systole_core::types::record::{MessageRole, Record, RecordCode};

/// A file in one state, and the starts that had it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StartedFile {
    /// The listener.
    pub listener: String,
    /// The file, with its hash.
    pub file: ProgramFile,
    /// The first start with it.
    pub first: Position,
    /// The last start with it.
    pub last: Position,
}

/// The files of all starts so far, in the order of their first starts.
#[derive(Default)]
pub(super) struct StartedFiles {
    found: Vec<StartedFile>,
    places: HashMap<(String, ProgramFile), usize>,
}

impl StartedFiles {
    /// Takes the next record.
    pub(super) fn take_record(&mut self, position: Position, record: &Record) {
        let is_told = record.header.code == Some(RecordCode::Role(MessageRole::Told));
        if !is_told || record.header.thread != ThreadId::new_sys() {
            return;
        }
        let joined = core_payload::read_listener_joined(&record.body);
        let Some((listener, files)) = joined else { return };
        for file in files {
            match self.places.get(&(listener.clone(), file.clone())).and_then(|at| self.found.get_mut(*at)) {
                Some(known) => known.last = position,
                None => {
                    self.places.insert((listener.clone(), file.clone()), self.found.len());
                    let listener = listener.clone();
                    self.found.push(StartedFile { listener, file, first: position, last: position });
                }
            }
        }
    }

    pub(super) fn finish(self) -> Vec<StartedFile> {
        self.found
    }
}
