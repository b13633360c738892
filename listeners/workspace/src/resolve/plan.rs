//! What edits come to: each is worked out against its file as the edits before it leave it.
//!
//! Edits come in; whole-line pieces with the hashes before and after go out, or why an edit does not fit. It reads
//! files and writes none.

use std::collections::{BTreeMap, BTreeSet};

use systole_folder::{FolderRoot, PathFaultKind, WorkBound};
use systole_kit::characters;
use systole_kit::writer::is_hidden;

use crate::fault::{self, ElementFault};
use crate::hash::hash_bytes;
use crate::limits;
use crate::order::OrderedEdit;
use crate::request::{FileAction, FileEdit};
use crate::text::document::{TextDocument, split_lines};
use crate::text::hunk::{self, ChangedText};
use crate::text::pieces::find_pieces;

/// The edits so far, and the files as they leave them.
pub(crate) struct EditPlan<'r> {
    root: &'r FolderRoot,
    bound: WorkBound<'r>,
    /// By path from the root, without links.
    files: BTreeMap<String, PlannedFile>,
    /// Files with an edit that does not fit.
    unfit: BTreeSet<String>,
    pub(crate) edits: Vec<OrderedEdit>,
}

/// A file as the edits so far leave it.
#[derive(Debug, Clone, Default)]
struct PlannedFile {
    bytes: Option<Vec<u8>>,
    is_executable: bool,
    /// The hash of the file on disk.
    on_disk: Option<String>,
    identity: Option<(u64, u64)>,
}

/// What became of an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EditFit {
    Fits,
    /// An earlier edit of its file does not fit, so it was not tried.
    NotTried,
}

/// Names of files that this crate writes for a moment.
pub(crate) const OWN_NAMES: &str = ".systole-";

/// Whether a path can name a file that is edited.
pub(crate) fn check_path(path: &str) -> Result<(), ElementFault> {
    let bad = |what: &str| ElementFault::new(fault::BAD_PATH, format!("the path '{path}' {what}"));
    if path.chars().any(|c| is_hidden(c) || matches!(c, '\n' | '\t') || !characters::is_legal(c)) {
        return Err(bad("has a control character or one that shows nothing"));
    }
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    if parts.is_empty() {
        return Err(bad("names no file"));
    }
    if parts.len() > limits::FOLDERS {
        return Err(bad(&format!("has more than {} folders", limits::FOLDERS)));
    }
    if parts.iter().any(|part| part.to_ascii_lowercase().starts_with(OWN_NAMES)) {
        return Err(bad("has a name that begins with .systole-, which the workspace itself uses"));
    }
    Ok(())
}

/// Whether the permissions of a file let anyone write it. An edit puts a new file in its place, which the operating system
/// allows also if they do not.
pub(crate) fn check_writable(path: &str, mode: u32) -> Result<(), ElementFault> {
    if mode & 0o222 != 0 {
        return Ok(());
    }
    let mode = mode & 0o777;
    let message = format!(
        "'{path}' is write-protected: its permissions are {mode:04o}; a person who wants it changed runs chmod u+w"
    );
    Err(ElementFault::new(fault::DENIED, message))
}

impl<'r> EditPlan<'r> {
    pub(crate) fn new(root: &'r FolderRoot, bound: WorkBound<'r>) -> EditPlan<'r> {
        EditPlan { root, bound, files: BTreeMap::new(), unfit: BTreeSet::new(), edits: Vec::new() }
    }

    /// Adds an edit of the element `of`.
    pub(crate) fn add_edit(&mut self, of: usize, edit: &FileEdit) -> Result<EditFit, ElementFault> {
        let path = self.load_file(&edit.path)?;
        if self.unfit.contains(&path) {
            return Ok(EditFit::NotTried);
        }
        let added = self.work_out(of, &path, edit);
        if added.is_err() {
            self.unfit.insert(path);
        }
        added.map(|()| EditFit::Fits)
    }

    /// Reads a file that is not planned yet. Returns where it really is.
    fn load_file(&mut self, named: &str) -> Result<String, ElementFault> {
        check_path(named)?;
        let path = self.root.find_place(named)?;
        check_path(&path)?;
        if self.files.contains_key(&path) {
            return Ok(path);
        }
        let planned = match self.root.read_file(&path) {
            Ok(file) => {
                check_writable(&path, file.mode)?;
                let same = self.files.iter().find(|(_, known)| known.identity == Some(file.identity));
                if let Some((other, _)) = same {
                    let message = format!("'{named}' and '{other}' are one file; name it by one path");
                    return Err(ElementFault::new(fault::BAD_PATH, message));
                }
                PlannedFile {
                    is_executable: file.mode & 0o111 != 0,
                    on_disk: Some(hash_bytes(&file.bytes)),
                    identity: Some(file.identity),
                    bytes: Some(file.bytes),
                }
            }
            Err(fault) if fault.kind == PathFaultKind::Missing => PlannedFile::default(),
            Err(fault) => return Err(fault.into()),
        };
        self.files.insert(path.clone(), planned);
        Ok(path)
    }

    fn work_out(&mut self, of: usize, path: &str, edit: &FileEdit) -> Result<(), ElementFault> {
        let file = self.files.get(path).cloned().unwrap_or_default();
        check_known(path, &file, edit)?;
        let (after, repaired) = match (&edit.action, &file.bytes) {
            (FileAction::Create { text }, None) | (FileAction::Write { text }, None) => {
                (Some(end_line(text).into_bytes()), None)
            }
            (FileAction::Create { .. }, Some(_)) => {
                let message =
                    format!("there is a file '{path}'; change it with str_replace, or choose another path");
                return Err(ElementFault::new(fault::EXISTS, message));
            }
            (_, None) => return Err(self.describe_missing(&edit.path)),
            (FileAction::Delete, Some(bytes)) => {
                read_document(path, bytes)?;
                (None, None)
            }
            (action, Some(bytes)) => {
                let document = read_document(path, bytes)?;
                let (text, repaired) = change_text(path, &document, action)?;
                (Some(document.with_text(&text)), repaired)
            }
        };
        if let FileAction::Hunks { moved_to: Some(to), .. } = &edit.action {
            return self.add_move(of, path, &file, to, after.unwrap_or_default(), repaired);
        }
        self.push_edit(of, path, &file, after, repaired)
    }

    /// A move is the end of one file and the beginning of another.
    fn add_move(
        &mut self,
        of: usize,
        path: &str,
        file: &PlannedFile,
        to: &str,
        after: Vec<u8>,
        repaired: Option<&'static str>,
    ) -> Result<(), ElementFault> {
        let target = self.load_file(to)?;
        let there = self.files.get(&target).cloned().unwrap_or_default();
        if there.bytes.is_some() || self.unfit.contains(&target) {
            let message = format!("'{path}' cannot be moved to '{to}': there is such a file");
            return Err(ElementFault::new(fault::EXISTS, message));
        }
        self.push_edit(of, path, file, None, repaired)?;
        let there = PlannedFile { is_executable: file.is_executable, ..there };
        self.push_edit(of, &target, &there, Some(after), repaired)
    }

    fn push_edit(
        &mut self,
        of: usize,
        path: &str,
        file: &PlannedFile,
        after: Option<Vec<u8>>,
        repaired: Option<&'static str>,
    ) -> Result<(), ElementFault> {
        let bytes = after.as_deref().unwrap_or_default();
        if after == file.bytes {
            return Err(ElementFault::new(fault::UNCHANGED, format!("the edit of '{path}' changes nothing")));
        }
        if bytes.len() > systole_folder::limits::FILE_BYTES {
            let message = format!("'{path}' would have more than 1 MiB, the most that is written");
            return Err(ElementFault::new(fault::TOO_LARGE, message));
        }
        if self.edits.len() >= limits::EDITS {
            let message =
                format!("a change set has at most {} edits; send the rest in another one", limits::EDITS);
            return Err(ElementFault::new(fault::TOO_LARGE, message));
        }
        let (old, new) = (read_text(path, file.bytes.as_deref())?, read_text(path, after.as_deref())?);
        let pieces = find_pieces(&old, &new);
        for piece in &pieces {
            let texts = [&piece.was, &piece.now];
            if let Some((_, character)) = texts.iter().find_map(|text| characters::first_illegal(text)) {
                let message = format!(
                    "a touched line of '{path}', at line {}, has the character U+{:04X}, which cannot be shown",
                    piece.line,
                    u32::from(character)
                );
                return Err(ElementFault::new(fault::NO_TEXT, message));
            }
        }
        self.edits.push(OrderedEdit {
            of,
            path: path.to_owned(),
            before: file.bytes.as_deref().map(hash_bytes),
            after: after.as_deref().map(hash_bytes),
            is_executable: file.is_executable,
            repaired: repaired.map(str::to_owned),
            pieces,
        });
        self.files.insert(path.to_owned(), PlannedFile { bytes: after, ..file.clone() });
        Ok(())
    }

    fn describe_missing(&self, named: &str) -> ElementFault {
        let near = self.root.find_nearest(named, self.bound);
        let hint =
            if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(", ")) };
        ElementFault::new(fault::NOT_FOUND, format!("there is no file '{named}'{hint}"))
    }
}

/// Whether the file is the one that the sender knew: as it is on disk, or as the edits before leave it.
fn check_known(path: &str, file: &PlannedFile, edit: &FileEdit) -> Result<(), ElementFault> {
    let Some(known) = &edit.sha256 else { return Ok(()) };
    let now = file.bytes.as_deref().map(hash_bytes);
    if now.as_ref() == Some(known) || file.on_disk.as_ref() == Some(known) {
        return Ok(());
    }
    let is = now.map_or("is not there".to_owned(), |now| format!("has the SHA-256 {now} now"));
    let message = format!(
        "'{path}' {is}, not {known}: it changed after you read it. Read it again, and send the edit for what it \
         holds now with its new sha256"
    );
    Err(ElementFault::new(fault::STALE, message))
}

fn read_document(path: &str, bytes: &[u8]) -> Result<TextDocument, ElementFault> {
    let no_text = || ElementFault::new(fault::NO_TEXT, format!("'{path}' is not UTF-8, and stays as it is"));
    TextDocument::from_bytes(bytes).ok_or_else(no_text)
}

fn read_text(path: &str, bytes: Option<&[u8]>) -> Result<String, ElementFault> {
    let no_text = |_| ElementFault::new(fault::NO_TEXT, format!("'{path}' is not UTF-8, and stays as it is"));
    String::from_utf8(bytes.unwrap_or_default().to_vec()).map_err(no_text)
}

/// The text of a new file: it ends with a line break.
fn end_line(text: &str) -> String {
    if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}

/// The text of a file after an action that keeps the file.
fn change_text(
    path: &str,
    document: &TextDocument,
    action: &FileAction,
) -> Result<ChangedText, ElementFault> {
    let misfit = |misfit: hunk::HunkMisfit| {
        let code = match misfit {
            hunk::HunkMisfit::Ambiguous { .. } => fault::AMBIGUOUS,
            hunk::HunkMisfit::Missing { .. } => fault::NO_MATCH,
            hunk::HunkMisfit::NoPlace => fault::BAD_PATCH,
        };
        ElementFault::new(code, misfit.describe(path, &document.text))
    };
    match action {
        FileAction::Replace { old, new } => {
            let (old, new) = (document.adapt_text(old), document.adapt_text(new));
            hunk::replace_text(&document.text, &old, &new).map_err(misfit)
        }
        FileAction::Hunks { hunks, .. } => hunk::apply_hunks(&document.text, hunks).map_err(misfit),
        FileAction::Insert { line, text } => {
            insert_lines(path, &document.text, *line, &document.adapt_text(text)).map(|text| (text, None))
        }
        FileAction::Write { text } => {
            // The end of the file stays as it was: with a line break or without one.
            let text = end_line(&document.adapt_text(text));
            let is_open = !document.text.is_empty() && !document.text.ends_with('\n');
            let text = if is_open { text.strip_suffix('\n').unwrap_or(&text).to_owned() } else { text };
            Ok((text, None))
        }
        FileAction::Create { .. } | FileAction::Delete => Ok((document.text.clone(), None)),
    }
}

/// A text with lines before one of its lines.
fn insert_lines(path: &str, text: &str, line: usize, new: &str) -> Result<String, ElementFault> {
    let lines = split_lines(text);
    let Some((before, after)) = line.checked_sub(1).and_then(|at| lines.split_at_checked(at)) else {
        let message = format!(
            "'{path}' has {} lines; line_number is 1 to {}, and {} appends",
            lines.len(),
            lines.len() + 1,
            lines.len() + 1
        );
        return Err(ElementFault::new(fault::BAD_LINE, message));
    };
    let (before, after) = (before.concat(), after.concat());
    let is_open = after.is_empty() && !before.is_empty() && !before.ends_with('\n');
    Ok(if is_open { format!("{before}\n{new}") } else { format!("{before}{new}\n{after}") })
}
