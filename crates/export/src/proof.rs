//! One proof that all exported records are in a log, at their positions: the roots of the parts of its tree that have
//! none of them. Making it takes a walk through the whole log, because no hash of the tree is stored.

use serde::{Deserialize, Serialize};
use systole_proof::tree::{Frontier, ProofBuilder, TreeHash, compute_batch_root};

use super::record_line::{read_hex, write_hex};
use systole_core::types::ports::{LogFault, LogReader, Position};

/// The content of `proof.json`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportProof {
    /// The records of the log.
    pub size: u64,
    /// The roots of the parts of the tree without any exported record, from the left, in hex.
    pub hashes: Vec<String>,
}

impl ExportProof {
    /// Walks through the first `size` records of a log. The leaves are those of the exported records, by position.
    /// Returns the proof and the root of the whole.
    pub fn build_proof(
        reader: &dyn LogReader,
        leaves: &[(u64, TreeHash)],
        size: u64,
    ) -> Result<(ExportProof, TreeHash), LogFault> {
        let damaged = |position: u64, why: String| LogFault::Damaged {
            path: "the log".to_owned(),
            position: Position(position),
            why,
        };
        let indices: Vec<u64> = index_leaves(leaves, size).map(|(index, _)| index).collect();
        let building = ProofBuilder::new_batch(&indices, size);
        let mut building = building.map_err(|fault| damaged(0, fault.to_string()))?;
        let (mut tree, mut at) = (Frontier::new(), Position(0));
        for placed in reader.records_after(at).up_to(Position(size)) {
            let (position, record) = placed?;
            at = position;
            tree.push(record.leaf.0);
            building.push(record.leaf.0);
        }
        if at.0 < size {
            return Err(damaged(at.0 + 1, "records before the end are missing".to_owned()));
        }
        let hashes = building.finish().map_err(|fault| damaged(0, fault.to_string()))?;
        let hashes = hashes.iter().map(|hash| write_hex(hash)).collect();
        Ok((ExportProof { size, hashes }, tree.root()))
    }

    /// The root that the proof and these leaves lead to; they are sorted by position.
    pub fn compute_root(&self, leaves: &[(u64, TreeHash)]) -> Result<TreeHash, String> {
        let hash = |hex: &String| read_hex(hex).and_then(|bytes| bytes.try_into().ok());
        let hashes: Option<Vec<TreeHash>> = self.hashes.iter().map(hash).collect();
        let hashes = hashes.ok_or("a hash of proof.json is not hex")?;
        let indexed: Vec<(u64, TreeHash)> = index_leaves(leaves, self.size).collect();
        compute_batch_root(&indexed, self.size, &hashes).map_err(|fault| fault.to_string())
    }
}

/// The leaves that a tree of that size has, counted from 0.
fn index_leaves(leaves: &[(u64, TreeHash)], size: u64) -> impl Iterator<Item = (u64, TreeHash)> {
    let among = leaves.iter().filter(move |(position, _)| *position <= size);
    among.map(|(position, leaf)| (position.wrapping_sub(1), *leaf))
}
