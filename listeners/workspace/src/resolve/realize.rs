//! From an order to bytes: the files as they are now, and as the order leaves them.
//!
//! An order comes in; the bytes before and after of each file go out, or what does not fit any more. It reads files
//! and writes none. It believes nothing that the order says: paths, hashes and pieces are all checked again.

use std::collections::BTreeMap;

use systole_folder::{FolderRoot, PathFaultKind};

use crate::fault::{self, ElementFault};
use crate::hash::hash_bytes;
use crate::order::OrderedEdit;
use crate::resolve::plan::{check_path, check_writable};
use crate::text::pieces::apply_pieces;

/// A file that changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RealizedChange {
    pub(crate) path: String,
    pub(crate) before: Option<Vec<u8>>,
    pub(crate) after: Option<Vec<u8>>,
    /// The permissions that the file has, or will have.
    pub(crate) mode: u32,
}

/// A fault, and the element that it belongs to.
pub(crate) type FaultOf = (usize, ElementFault);

/// Permissions of new files, before the process's mask.
const NEW_FILE: u32 = 0o666;
const NEW_PROGRAM: u32 = 0o777;

/// The changes that edits come to.
pub(crate) fn list_changes(root: &FolderRoot, edits: &[OrderedEdit]) -> Result<Vec<RealizedChange>, FaultOf> {
    let mut files: BTreeMap<&str, RealizedChange> = BTreeMap::new();
    for edit in edits {
        let of = |fault: ElementFault| (edit.of, fault);
        if !files.contains_key(edit.path.as_str()) {
            files.insert(&edit.path, read_current(root, &edit.path).map_err(of)?);
        }
        let Some(file) = files.get_mut(edit.path.as_str()) else { continue };
        let now = file.after.as_deref();
        if now.map(hash_bytes) != edit.before {
            return Err(of(describe_change(&edit.path, "changed after the change set was resolved")));
        }
        if now.is_none() {
            file.mode = if edit.is_executable { NEW_PROGRAM } else { NEW_FILE };
        }
        let text = std::str::from_utf8(now.unwrap_or_default());
        let made = text.ok().and_then(|text| apply_pieces(text, &edit.pieces));
        let made =
            made.ok_or_else(|| of(describe_change(&edit.path, "has other lines than the order says")))?;
        // A deletion shows every line that goes.
        if edit.after.is_none() && !made.is_empty() {
            return Err(of(describe_change(&edit.path, "has lines that the order does not show")));
        }
        let after = edit.after.is_some().then(|| made.into_bytes());
        if after.as_deref().map(hash_bytes) != edit.after {
            return Err(of(describe_change(&edit.path, "would not become what the order says")));
        }
        if after.as_ref().is_some_and(|bytes| bytes.len() > systole_folder::limits::FILE_BYTES) {
            let message = format!("'{}' would have more than 1 MiB", edit.path);
            return Err(of(ElementFault::new(fault::TOO_LARGE, message)));
        }
        file.after = after;
    }
    Ok(files.into_values().filter(|file| file.before != file.after).collect())
}

fn describe_change(path: &str, what: &str) -> ElementFault {
    ElementFault::new(fault::CHANGED, format!("'{path}' {what}; read it again, and send the edit again"))
}

/// A file as it is now.
fn read_current(root: &FolderRoot, path: &str) -> Result<RealizedChange, ElementFault> {
    check_path(path)?;
    if root.find_place(path)? != path {
        return Err(describe_change(path, "is reached by a link now"));
    }
    let (bytes, mode) = match root.read_file(path) {
        Ok(file) => {
            check_writable(path, file.mode)?;
            (Some(file.bytes), file.mode)
        }
        Err(fault) if fault.kind == PathFaultKind::Missing => (None, NEW_FILE),
        Err(fault) => return Err(fault.into()),
    };
    Ok(RealizedChange { path: path.to_owned(), before: bytes.clone(), after: bytes, mode })
}
