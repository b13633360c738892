//! The files that requests and answers refer to. A client or a listener put them into the log beside the records, and no
//! record repeats them.

use std::sync::Arc;

use systole_core::types::flow::Lease;
use systole_core::types::ids::Digest;
use systole_core::types::ports::{LogBatch, LogWriter as _, StoredDocument};
use systole_core::types::record::{Record, RecordKind};
use systole_kit::file_reference;

use super::ReplayDriver;
use crate::replaying::configurations::CannotReplay;
use crate::replaying::history::TurnPlace;

impl ReplayDriver<'_> {
    /// Puts the files of these records into the log of the replay. One that was erased since is missing there too.
    pub(super) fn keep_files(&mut self, records: &[Arc<Record>]) -> Result<(), CannotReplay> {
        let mut documents = Vec::new();
        for file in records.iter().flat_map(|record| file_reference::list_files(&record.body)) {
            let Ok(hash) = Digest::parse(&file.hash) else { continue };
            // The reader returns signs in the place of what is erased.
            let bytes = self.reader.read_document(hash)?.filter(|bytes| Digest::hash_bytes(bytes) == hash);
            documents.extend(bytes.map(|bytes| StoredDocument { hash, bytes }));
        }
        if !documents.is_empty() {
            self.log.commit_batch(&LogBatch { documents, ..LogBatch::default() });
        }
        Ok(())
    }

    /// Tells the pump which documents a delivery stored, as no record repeats that: the files of the items that it took.
    pub(super) fn note_stored(&mut self, lease: &Lease, place: &TurnPlace) -> Result<(), CannotReplay> {
        let items = self.history.items.get(place).map_or(&[][..], Vec::as_slice);
        let records = items.iter().filter_map(|at| self.tree.records.get(*at)).map(|(_, record)| record);
        let taken = records.filter(|record| record.header.kind != RecordKind::Refusal);
        let files = taken.flat_map(|record| file_reference::list_files(&record.body));
        let files: Vec<Digest> = files.filter_map(|file| Digest::parse(&file.hash).ok()).collect();
        if !files.is_empty() {
            self.find_run()?.engine.note_stored(&lease.token, files);
        }
        Ok(())
    }
}
