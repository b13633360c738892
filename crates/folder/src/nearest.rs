//! The paths that were probably meant by one that does not exist.
//!
//! A path and a folder come in; a few paths of the folder go out, best first.

use crate::limits;
use crate::root::FolderRoot;
use crate::walk::{HiddenNames, WorkBound, walk_files};

impl FolderRoot {
    /// The files and folders that a missing path probably means.
    #[must_use]
    pub fn find_nearest(&self, missing: &str, bound: WorkBound<'_>) -> Vec<String> {
        let all = walk_files(self, ".", HiddenNames::LeftOut, bound).paths;
        let mut known = all.clone();
        for path in &all {
            let mut folder = path.as_str();
            while let Some((above, _)) = folder.rsplit_once('/') {
                folder = above;
                known.push(folder.to_owned());
            }
        }
        known.sort_unstable();
        known.dedup();
        sort_nearest(missing.trim_end_matches('/'), &known)
    }
}

fn sort_nearest(missing: &str, known: &[String]) -> Vec<String> {
    let file = missing.rsplit('/').next().unwrap_or(missing);
    let lower = file.to_lowercase();
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_lowercase();
    // A file of the same name elsewhere is the likeliest.
    let mut found: Vec<String> = known.iter().filter(|path| name(path) == lower).cloned().collect();
    found.sort_by_key(|path| (std::cmp::Reverse(count_shared_parts(missing, path)), path.clone()));
    let mut names: Vec<String> = known.iter().map(|path| name(path)).collect();
    names.sort_unstable();
    names.dedup();
    if let Some(near) = systole_schema::find_nearest(&lower, names.iter().map(String::as_str)) {
        let mut near: Vec<&String> = known.iter().filter(|path| name(path) == near).collect();
        near.sort_by_key(|path| (std::cmp::Reverse(count_shared_parts(missing, path)), (*path).clone()));
        for path in near {
            if !found.contains(path) {
                found.push(path.clone());
            }
        }
    }
    found.truncate(limits::NEAREST);
    found
}

/// How many parts two paths have in common.
fn count_shared_parts(one: &str, other: &str) -> usize {
    let parts: Vec<&str> = one.split('/').collect();
    other.split('/').filter(|part| parts.contains(part)).count()
}
