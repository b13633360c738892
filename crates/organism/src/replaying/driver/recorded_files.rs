//! The files that requests and answers refer to. A client or a listener put them into the log beside the records, and no
//! record repeats them.

use std::sync::Arc;

use systole_core::types::ids::Digest;
use systole_core::types::ports::{LogBatch, LogWriter as _, StoredDocument};
use systole_core::types::record::Record;
use systole_kit::file_reference;

use super::ReplayDriver;
use crate::replaying::configurations::CannotReplay;

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
}
