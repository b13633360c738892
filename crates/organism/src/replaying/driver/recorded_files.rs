//! The files that answers refer to. A listener put them into the log with a question, which no record repeats.

use std::sync::Arc;

use systole_core::types::ids::Digest;
use systole_core::types::ports::{LogBatch, LogFault, LogReader, LogWriter as _, StoredDocument};
use systole_core::types::record::Record;
use systole_kit::file_reference;

use super::ReplayDriver;
use crate::replaying::configurations::CannotReplay;

/// The bytes of a file. `None` if it was erased.
pub(super) fn read_file(reader: &dyn LogReader, hash: Digest) -> Result<Option<Arc<[u8]>>, LogFault> {
    // The reader returns signs in the place of what is erased.
    Ok(reader.read_document(hash)?.filter(|bytes| Digest::hash_bytes(bytes) == hash))
}

impl ReplayDriver<'_> {
    /// Puts the files of these records into the log of the replay. One that was erased since is missing there too.
    pub(super) fn keep_files(&mut self, records: &[Arc<Record>]) -> Result<(), CannotReplay> {
        let mut documents = Vec::new();
        for file in records.iter().flat_map(|record| file_reference::list_files(&record.body)) {
            let Ok(hash) = Digest::parse(&file.hash) else { continue };
            let bytes = read_file(self.reader, hash)?;
            documents.extend(bytes.map(|bytes| StoredDocument { hash, bytes }));
        }
        if !documents.is_empty() {
            self.log.commit_batch(&LogBatch { documents, ..LogBatch::default() });
        }
        Ok(())
    }
}
