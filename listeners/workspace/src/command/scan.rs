//! Which files a command changed.
//!
//! Two looks at the folder come in; the files that differ go out. Files that ignore rules or the deny list leave out,
//! and folders of built things, are not looked at. A look is bounded, and says so.

use std::collections::BTreeMap;

use rustix::fs::{FileType, OFlags, ResolveFlags, fstat};
use systole_folder::{FolderRoot, HiddenNames, WorkBound, walk_files};

use crate::hash::hash_bytes;
use crate::limits;
use crate::outcome::ChangedFile;

/// Folders of built or installed things.
const BUILT: [&str; 5] = ["target", "node_modules", "__pycache__", ".venv", "venv"];

/// A look at the folder.
#[derive(Debug, Clone, Default)]
pub(crate) struct FolderScan {
    files: BTreeMap<String, ScannedFile>,
    pub(crate) is_partial: bool,
    /// What is in `.git` that could run a program, by its path.
    hooks: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct ScannedFile {
    /// Size, times, number, permissions: what is equal if nothing was written.
    stamp: (i64, i64, u64, i64, u64, u64, u32),
    hash: Option<String>,
}

impl FolderScan {
    /// Looks at the folder. Hashes of files that are as in an earlier look are taken from there.
    pub(crate) fn look(root: &FolderRoot, earlier: &FolderScan, bound: WorkBound<'_>) -> FolderScan {
        let walked = walk_files(root, ".", HiddenNames::Listed, bound);
        let mut scan =
            FolderScan { is_partial: walked.is_partial, hooks: list_hooks(root), ..FolderScan::default() };
        let mut hashed = 0;
        for path in walked.paths {
            if path.split('/').any(|part| BUILT.contains(&part)) {
                continue;
            }
            let Some((stamp, size)) = read_stamp(root, &path) else { continue };
            let known = earlier.files.get(&path).filter(|known| known.stamp == stamp);
            let hash = match known.and_then(|known| known.hash.clone()) {
                Some(hash) => Some(hash),
                None if size > limits::HASHED_BYTES => None,
                None if hashed + size > limits::SCAN_BYTES || bound.is_over() => {
                    scan.is_partial = true;
                    None
                }
                None => {
                    hashed += size;
                    let most = usize::try_from(size).unwrap_or(usize::MAX).saturating_add(1);
                    root.read_found(&path, most).map(|bytes| hash_bytes(&bytes))
                }
            };
            scan.files.insert(path, ScannedFile { stamp, hash });
        }
        scan
    }

    /// The files that differ in a later look, and whether there are more than are listed.
    pub(crate) fn find_changes(&self, later: &FolderScan, of: usize) -> (Vec<ChangedFile>, bool) {
        let mut found = Vec::new();
        let paths: std::collections::BTreeSet<&String> =
            self.files.keys().chain(later.files.keys()).collect();
        for path in paths {
            let (before, after) = (self.files.get(path), later.files.get(path));
            let hash = |file: Option<&ScannedFile>| file.and_then(|file| file.hash.clone());
            let (old, new) = (hash(before), hash(after));
            let is_same = match (before, after) {
                (Some(before), Some(after)) => before.stamp == after.stamp || (old.is_some() && old == new),
                _ => false,
            };
            // A look that ended early says nothing about files that it did not reach.
            let is_unsure = (before.is_none() && self.is_partial) || (after.is_none() && later.is_partial);
            if !is_same && !is_unsure {
                found.push(ChangedFile { of, path: path.clone(), before: old, after: new });
            }
        }
        let mut bytes = 0;
        let fits = |file: &&ChangedFile| {
            bytes += file.path.len();
            bytes <= limits::CHANGED_BYTES
        };
        let count = found.iter().take(limits::CHANGED).take_while(fits).count();
        let is_cut = count < found.len();
        found.truncate(count);
        (found, is_cut)
    }

    /// The hooks and configurations of git that differ in a later look.
    pub(crate) fn changed_hooks(&self, later: &FolderScan) -> Vec<String> {
        let paths: std::collections::BTreeSet<&String> =
            self.hooks.keys().chain(later.hooks.keys()).collect();
        paths.into_iter().filter(|path| self.hooks.get(*path) != later.hooks.get(*path)).cloned().collect()
    }
}

type FileStamp = (i64, i64, u64, i64, u64, u64, u32);

fn read_stamp(root: &FolderRoot, path: &str) -> Option<(FileStamp, u64)> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let file = root.resolve_path(path, flags, ResolveFlags::NO_SYMLINKS).ok()?;
    let stat = fstat(&file).ok()?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return None;
    }
    let times = (stat.st_mtime_nsec, stat.st_ctime_nsec);
    let stamp = (stat.st_size, stat.st_mtime, times.0, stat.st_ctime, times.1, stat.st_ino, stat.st_mode);
    Some((stamp, u64::try_from(stat.st_size).ok()?))
}

/// What is in the repository that could run a program. Its files are denied, and so not in the list of changed ones.
fn list_hooks(root: &FolderRoot) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut names = vec![".git".to_owned(), ".git/config".to_owned(), ".git/info/attributes".to_owned()];
    if let Some(entries) =
        root.open_folder(".git/hooks").ok().and_then(|folder| rustix::fs::Dir::new(folder).ok())
    {
        for entry in entries.flatten().take(limits::HOOKS) {
            names.extend(entry.file_name().to_str().ok().map(|name| format!(".git/hooks/{name}")));
        }
    }
    for name in names {
        if let (Some((stamp, _)), hash) =
            (read_stamp(root, &name), root.read_found(&name, limits::HOOK_BYTES))
        {
            // A change of permissions makes a hook of a sample.
            let hash = hash.map_or_else(|| format!("{stamp:?}"), |bytes| hash_bytes(&bytes));
            found.insert(name, format!("{hash} {}", stamp.6));
        }
    }
    found
}
