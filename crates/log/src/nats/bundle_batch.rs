//! Bundles that were read and are not in the copy yet. Several are written at once, because a transaction costs as
//! much as many records. Each bundle follows the one before it; the caller that adds bundles makes sure of that.

use std::collections::HashMap;
use std::sync::Arc;

use super::bundle::{BundleHead, RecordBundle};
use crate::limits;
use crate::sqlite::LastBundle;
use systole_core::types::ids::Digest;
use systole_core::types::ports::{LogBatch, Position};

/// A bundle, and its place.
pub(super) struct ReadBundle {
    pub(super) followed: LastBundle,
    pub(super) bundle: RecordBundle,
}

impl ReadBundle {
    pub(super) fn head(&self) -> &BundleHead {
        &self.bundle.head
    }

    /// The position of its last record.
    pub(super) fn last(&self) -> Position {
        Position(self.bundle.head.before + self.bundle.records.len() as u64)
    }
}

/// Bundles in the order of the stream.
#[derive(Default)]
pub(super) struct BundleBatch {
    bundles: Vec<ReadBundle>,
    records: usize,
    bytes: usize,
    /// Documents of these bundles, which later bundles may name by hash.
    documents: HashMap<Digest, Arc<[u8]>>,
}

impl BundleBatch {
    /// Adds a bundle of that many bytes.
    pub(super) fn add_bundle(&mut self, read: ReadBundle, bytes: usize) {
        self.records += read.bundle.records.len();
        self.bytes += bytes;
        let RecordBundle { documents, records, .. } = &read.bundle;
        self.documents.extend(documents.iter().map(|document| (document.hash, document.bytes.clone())));
        let large = records.iter().filter(|record| record.body.len() > limits::LARGE_BODY);
        self.documents.extend(large.map(|record| (Digest::hash_bytes(&record.body), record.body.clone())));
        self.bundles.push(read);
    }

    /// Whether it should be written before more is added.
    pub(super) fn is_full(&self) -> bool {
        self.records >= limits::BUNDLE_RECORDS || self.bytes >= limits::BUNDLE_BYTES
    }

    /// The last one.
    pub(super) fn last(&self) -> Option<&ReadBundle> {
        self.bundles.last()
    }

    /// A document that one of the bundles brings.
    pub(super) fn find_document(&self, hash: Digest) -> Option<Arc<[u8]>> {
        self.documents.get(&hash).cloned()
    }

    /// Removes and returns all of them.
    pub(super) fn take_bundles(&mut self) -> Vec<ReadBundle> {
        std::mem::take(self).bundles
    }
}

/// The content of these bundles, as one batch.
pub(super) fn join_batch(bundles: &[ReadBundle]) -> LogBatch {
    let records = bundles.iter().flat_map(|read| read.bundle.records.iter().cloned()).collect();
    let documents = bundles.iter().flat_map(|read| read.bundle.documents.iter().cloned()).collect();
    LogBatch { records, documents, ..LogBatch::default() }
}
