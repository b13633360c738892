//! The files and folders of a sandbox, opened once, with their real paths.
//!
//! Everything later works on the open files: a symlink that changes after the check changes nothing. Nothing here
//! reads or writes a file.

use std::fs;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open};

use super::{EntryOrder, explain_failure};
use crate::policy::{CONFIGURATION, SYSTEM};

/// One file or folder.
#[derive(Debug)]
pub(super) struct BoundPlace {
    /// Its path as it was named, absolute.
    pub(super) path: PathBuf,
    /// Its path without symlinks.
    pub(super) real: PathBuf,
    pub(super) file: OwnedFd,
    pub(super) is_folder: bool,
    pub(super) is_writable: bool,
    /// Whether only the names in it can be read: it contains the hidden folder, and the rest of it is places of their own.
    pub(super) is_listed: bool,
}

/// All places of an order, sorted by their real path: a folder comes before what is in it.
pub(super) fn open_all(order: &EntryOrder) -> Result<Vec<BoundPlace>, String> {
    let mut places = Vec::new();
    for path in SYSTEM.iter().chain(&CONFIGURATION).map(Path::new) {
        // Each system has some of them.
        if path.exists() {
            places.push(open_place(path.to_owned(), false)?);
        }
    }
    let policy = &order.policy;
    let hidden = policy.hidden.as_ref().map(|hidden| resolve_path(&order.folder.join(hidden)));
    let named = policy.read.iter().map(|path| (path, false));
    for (path, is_writable) in named.chain(policy.write.iter().map(|path| (path, true))) {
        let place = open_place(order.folder.join(path), is_writable)?;
        match &hidden {
            Some(hidden) if is_around(&place, hidden) => list_around(hidden, place, &mut places)?,
            _ => places.push(place),
        }
    }
    for keep in &policy.keep_out {
        let keep = resolve_path(&order.folder.join(keep));
        let is_open = |place: &&BoundPlace| !place.is_listed && does_cover(place, &keep);
        if let Some(place) = places.iter().find(is_open) {
            let (place, keep) = (place.path.display(), keep.display());
            return Err(format!("{place} contains {keep}, which must stay outside"));
        }
    }
    for keep in &policy.protect {
        let keep = resolve_path(&order.folder.join(keep));
        if let Some(place) = places.iter().find(|place| place.is_writable && does_cover(place, &keep)) {
            let (place, keep) = (place.path.display(), keep.display());
            return Err(format!("{place} contains {keep}, which must not be written"));
        }
    }
    if let Some(own) = &policy.own {
        places.push(open_place(order.folder.join(own), true)?);
    }
    places.sort_by(|one, other| one.real.cmp(&other.real));
    Ok(places)
}

/// Whether a folder that can only be read contains the hidden one.
fn is_around(place: &BoundPlace, hidden: &Path) -> bool {
    !place.is_writable && place.real != *hidden && hidden.starts_with(&place.real)
}

/// Adds a folder around the hidden one as places: the folder to be listed, and what is in it except for the hidden one.
/// A rule of Landlock cannot take back what the rule of a folder above gives, so each neighbour gets its own.
fn list_around(hidden: &Path, mut folder: BoundPlace, places: &mut Vec<BoundPlace>) -> Result<(), String> {
    let shown = folder.path.display().to_string();
    for entry in
        fs::read_dir(&folder.real).map_err(|error| explain_failure(&format!("list {shown}"), error))?
    {
        let entry = entry.map_err(|error| explain_failure(&format!("list {shown}"), error))?;
        let kind = entry.file_type().map_err(|error| explain_failure(&format!("look at {shown}"), error))?;
        // A link opens what it leads to, and that has a place of its own or none.
        if entry.path() == hidden || !(kind.is_dir() || kind.is_file()) {
            continue;
        }
        // Files come and go while they are listed.
        let Ok(place) = open_unlinked(entry.path()) else { continue };
        if is_around(&place, hidden) {
            list_around(hidden, place, places)?;
        } else {
            places.push(place);
        }
    }
    folder.is_listed = true;
    places.push(folder);
    Ok(())
}

/// Whether a path is in a place, or a writable place is in it.
fn does_cover(place: &BoundPlace, keep: &Path) -> bool {
    keep.starts_with(&place.real) || (place.is_writable && place.real.starts_with(keep))
}

fn open_place(path: PathBuf, is_writable: bool) -> Result<BoundPlace, String> {
    open_as(path, OFlags::empty(), is_writable)
}

/// The same to be read, without following a link that may be there since.
fn open_unlinked(path: PathBuf) -> Result<BoundPlace, String> {
    open_as(path, OFlags::NOFOLLOW, false)
}

fn open_as(path: PathBuf, how: OFlags, is_writable: bool) -> Result<BoundPlace, String> {
    let shown = path.display().to_string();
    let file = open(&path, OFlags::PATH | OFlags::CLOEXEC | how, Mode::empty())
        .map_err(|error| explain_failure(&format!("open {shown}"), error))?;
    let real = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))
        .map_err(|error| explain_failure(&format!("find the path of {shown}"), error))?;
    let kind =
        rustix::fs::fstat(&file).map_err(|error| explain_failure(&format!("look at {shown}"), error))?;
    let kind = rustix::fs::FileType::from_raw_mode(kind.st_mode);
    if !kind.is_dir() && !kind.is_file() {
        return Err(format!("{shown} is neither a file nor a folder"));
    }
    if is_writable && !kind.is_dir() {
        return Err(format!("{shown} is not a folder"));
    }
    Ok(BoundPlace { path, real, file, is_folder: kind.is_dir(), is_writable, is_listed: false })
}

/// The path without symlinks, also of a file that does not exist yet.
fn resolve_path(path: &Path) -> PathBuf {
    if let Ok(whole) = path.canonicalize() {
        return whole;
    }
    match (path.parent().map(Path::canonicalize), path.file_name()) {
        (Some(Ok(folder)), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}
