//! What a whole log still has to show beside chains that verify: its tables are those of the format, and its records fit
//! what other records say of them.

use std::path::Path;

use super::Finding;
use super::store::refused;
use crate::audit::{kinship, orphans};
use crate::cli::exit::Exit;
use crate::edges::log::sqlite;
use systole_core::types::composition::Composition;

/// Misfits that are named.
const NAMED: usize = 10;

/// Whether the file is made as its format says.
pub(super) fn structure(log: &Path) -> Vec<Finding> {
    let odd = match sqlite::oddities(log) {
        Ok(odd) => odd,
        Err(fault) => return vec![refused(&fault)],
    };
    if odd.is_empty() {
        return vec![Finding::fine("structure", "tables, indexes and views are those of the format")];
    }
    let told = odd.iter().map(|oddity| {
        let words = format!("{} {}", oddity.what, oddity.why);
        match oddity.is_harmless {
            true => Finding::note("structure", words, "remove it, unless you need it: Systole does not"),
            false => {
                let mend = "a copy of the file first; then a backup from before the change";
                Finding::problem("structure", words, mend, Exit::Log)
            }
        }
    });
    told.collect()
}

/// Whether records fit what others say of them.
pub(super) fn kinship(log: &Path) -> Vec<Finding> {
    let looked = sqlite::open_reading(log).and_then(|reader| kinship::look(&reader));
    let looked = match looked {
        Ok(looked) => looked,
        Err(fault) => return vec![refused(&fault)],
    };
    let (children, documents) = (looked.children, looked.documents);
    if looked.misfits.is_empty() {
        let words =
            format!("child threads: {children}, named documents: {documents}, all as other records say");
        return vec![Finding::fine("evidence", words)];
    }
    let mut found = Vec::new();
    for misfit in looked.misfits.iter().take(NAMED) {
        let (thread, seq, at) = (&misfit.thread, misfit.seq, misfit.position.0);
        let words = format!("record {seq} of {thread} at position {at}: {}", misfit.why);
        let mend = format!("systole log {thread} --from {seq}, and a backup from before the change");
        found.push(Finding::problem("evidence", words, mend, Exit::Log));
    }
    if let Some(more) = looked.misfits.len().checked_sub(NAMED).filter(|more| *more > 0) {
        let words = format!("{more} more records do not fit");
        found.push(Finding::problem("evidence", words, "the first ones, listed above", Exit::Log));
    }
    found
}

/// Open calls that the organism's file no longer serves. A log that cannot be read is told of elsewhere.
pub(super) fn orphans(log: &Path, composition: &Composition) -> Vec<Finding> {
    let found = sqlite::open_reading(log).and_then(|reader| orphans::in_log(&reader, composition));
    found.iter().flatten().map(|orphan| Finding::note("open work", orphan.words(), orphan.mend())).collect()
}
