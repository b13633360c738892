//! All files below a folder, by name, without what the folder's ignore rules and the deny list leave out.
//!
//! A folder comes in; the paths of its regular files go out. Each folder is opened below the root, so no name from
//! outside is ever listed. Rules of folders above the root are not read.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{Dir, FileType};
use tokio::time::Instant;

use crate::limits;
use crate::root::{FolderRoot, join_names};

/// The files of a folder.
#[derive(Debug, Default)]
pub struct WalkedFiles {
    /// Paths from the root, in order.
    pub paths: Vec<String>,
    /// Whether a bound ended the walk, or a folder could not be listed.
    pub is_partial: bool,
}

/// What a walk does with names that begin with a dot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HiddenNames {
    /// They are left out.
    LeftOut,
    /// They are listed, unless the deny list or a rule leaves them out.
    Listed,
}

/// When work on a request ends early.
#[derive(Debug, Clone, Copy)]
pub struct WorkBound<'a> {
    /// When it ends.
    pub deadline: Instant,
    /// Set if its result is no longer wanted.
    pub is_cancelled: &'a AtomicBool,
}

impl WorkBound<'_> {
    /// Whether it ends now.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed) || Instant::now() >= self.deadline
    }
}

/// Files of ignore rules. A later file decides over an earlier one.
const RULES: [&str; 2] = [".gitignore", ".ignore"];

/// Lists the files below `from`, which is `.` or a path below the root.
#[must_use]
pub fn walk_files(root: &FolderRoot, from: &str, hidden: HiddenNames, bound: WorkBound<'_>) -> WalkedFiles {
    let mut walking = FolderWalk {
        root,
        hidden,
        bound,
        found: WalkedFiles::default(),
        rules: Vec::new(),
        has_unread: false,
    };
    let from = if from == "." { "" } else { from };
    // The rules of the folders above the first one count as well.
    let mut above = String::new();
    for part in from.split('/').filter(|part| !part.is_empty()) {
        walking.add_rules(&above);
        above = join_names(&above, part);
    }
    walking.walk_folder(from, 0);
    walking.found.is_partial |= walking.has_unread;
    walking.found
}

struct FolderWalk<'w> {
    root: &'w FolderRoot,
    hidden: HiddenNames,
    bound: WorkBound<'w>,
    found: WalkedFiles,
    rules: Vec<Gitignore>,
    /// Whether a folder could not be listed.
    has_unread: bool,
}

impl FolderWalk<'_> {
    fn walk_folder(&mut self, path: &str, depth: usize) {
        if depth > limits::FOLDERS || self.bound.is_over() {
            self.found.is_partial = true;
            return;
        }
        let Some(names) = self.list_names(path) else {
            self.has_unread = true;
            return;
        };
        let count = self.rules.len();
        self.add_rules(path);
        for (name, kind) in names {
            if self.found.is_partial {
                break;
            }
            let below = join_names(path, &name);
            match kind {
                FileType::Directory if !self.does_leave_out(&below, true) => {
                    self.walk_folder(&below, depth + 1)
                }
                FileType::RegularFile if !self.does_leave_out(&below, false) => {
                    if self.found.paths.len() >= limits::FILES {
                        self.found.is_partial = true;
                    } else {
                        self.found.paths.push(below);
                    }
                }
                _ => {}
            }
        }
        self.rules.truncate(count);
    }

    /// The names in a folder, in order. Names that are not UTF-8 are left out.
    fn list_names(&mut self, path: &str) -> Option<Vec<(String, FileType)>> {
        let folder = self.root.open_folder(path).ok()?;
        let mut names = Vec::new();
        for entry in Dir::new(folder).ok()? {
            let Ok(entry) = entry else { break };
            let Ok(name) = entry.file_name().to_str() else { continue };
            if name.starts_with('.') && (self.hidden == HiddenNames::LeftOut || matches!(name, "." | "..")) {
                continue;
            }
            if names.len() >= limits::NAMES {
                self.found.is_partial = true;
                break;
            }
            names.push((name.to_owned(), entry.file_type()));
        }
        // Some file systems do not say the kind in the listing.
        for (name, kind) in names.iter_mut().filter(|(_, kind)| *kind == FileType::Unknown) {
            let is_folder = self.root.open_folder(&join_names(path, name)).is_ok();
            *kind = if is_folder { FileType::Directory } else { FileType::RegularFile };
        }
        names.sort_by(|(one, _), (other, _)| one.cmp(other));
        Some(names)
    }

    /// Adds the ignore rules of a folder.
    fn add_rules(&mut self, path: &str) {
        let mut builder = GitignoreBuilder::new(format!("/{path}"));
        let mut has_rules = false;
        for file in RULES {
            let Some(bytes) = self.root.read_found(&join_names(path, file), limits::RULES_BYTES) else {
                continue;
            };
            for line in String::from_utf8_lossy(&bytes).lines() {
                // A rule that cannot be read is no rule.
                has_rules |= builder.add_line(None, line).is_ok();
            }
        }
        if let (true, Ok(rules)) = (has_rules, builder.build()) {
            self.rules.push(rules);
        }
    }

    fn does_leave_out(&self, path: &str, is_folder: bool) -> bool {
        if self.root.does_deny(path) {
            return true;
        }
        let whole = format!("/{path}");
        let whole = Path::new(&whole);
        let decided =
            self.rules.iter().rev().map(|rules| rules.matched(whole, is_folder)).find(|m| !m.is_none());
        decided.is_some_and(|decided| decided.is_ignore())
    }
}
