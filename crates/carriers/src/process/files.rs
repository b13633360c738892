//! The files that a program is started with: the program itself, and every file that its command line names. Each is
//! hashed, so that the log says which bytes they had.
//!
//! This is what the operator's machine says, and no more. The bytes are read beside the start, and what an interpreter
//! loads by itself is not among them. In: a `ProgramPlace`. Out: paths with hashes. Nothing but ordinary files is opened.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustix::fs::{Mode, OFlags};
use sha2::{Digest as _, Sha256};

use super::ProgramPlace;
use super::program;
use crate::limits;
use systole_core::types::ids::Digest;
use systole_core::types::ports::ProgramFile;
use systole_system::system;

/// What tells one state of a file from another: device, inode, size, the times of the last writing and change.
type FileStamp = (u64, u64, u64, (i64, i64), (i64, i64));

/// The hash of one state of a file. Listeners that share a program wait for one hash, and hash nothing twice.
type SharedHash = Arc<OnceLock<Option<Digest>>>;

/// The hashes of files that have not changed since.
static KNOWN_HASHES: Mutex<Option<HashMap<FileStamp, SharedHash>>> = Mutex::new(None);

/// The files of a program, in the order of its command line.
pub(super) async fn list_files(place: &Arc<ProgramPlace>) -> Vec<ProgramFile> {
    let place = place.clone();
    // If reading panics, the log says nothing about files.
    tokio::task::spawn_blocking(move || find_files(&place)).await.unwrap_or_default()
}

fn find_files(place: &ProgramPlace) -> Vec<ProgramFile> {
    let program = &place.program;
    let own = system::find_own_program().filter(|_| !program.adapter.is_empty());
    let executable = program::find_executable(program, &place.badge, &place.around);
    let programs = own.into_iter().chain(executable).map(|path| (path.display().to_string(), path));
    let words = program.run.iter().skip(1).map(|word| (word.clone(), program.directory.join(word)));
    let mut files: Vec<ProgramFile> = Vec::new();
    for (shown, path) in programs.chain(words).collect::<Vec<(String, PathBuf)>>() {
        let is_known = files.iter().any(|file| file.path == shown);
        if let (false, Some(hash)) = (is_known, hash_of(&path)) {
            files.push(ProgramFile { path: shown, hash });
        }
    }
    files
}

/// The hash of the file of this program. A file that is larger than a released one has none, because it would be hashed
/// at every start.
pub fn own_hash() -> Option<Digest> {
    let itself = std::env::current_exe().ok()?;
    let is_small = itself.metadata().is_ok_and(|found| found.len() <= limits::OWN_HASHED_BYTES);
    is_small.then(|| hash_of(&itself)).flatten().flatten()
}

/// The hash of a file, if it can be read. `None` if there is no ordinary file.
fn hash_of(path: &Path) -> Option<Option<Digest>> {
    let state = match path.metadata() {
        Ok(state) => state,
        // Something may be there, and this user may not look.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return Some(None),
        Err(_) => return None,
    };
    if !state.is_file() {
        return None;
    }
    if state.len() > limits::HASHED_BYTES {
        return Some(None);
    }
    // What is there may have been replaced by a pipe: without a writer, that would not open.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let Ok(file) = rustix::fs::open(path, flags, Mode::empty()) else { return Some(None) };
    let file = File::from(file);
    let Ok(state) = file.metadata() else { return Some(None) };
    if !state.is_file() {
        return None;
    }
    let shared = find_shared(&state);
    Some(*shared.get_or_init(|| hash_file(file)))
}

fn find_shared(state: &Metadata) -> SharedHash {
    let written = (state.mtime(), state.mtime_nsec());
    let state = (state.dev(), state.ino(), state.size(), written, (state.ctime(), state.ctime_nsec()));
    let mut known = KNOWN_HASHES.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    if known.len() >= limits::KNOWN_HASHES && !known.contains_key(&state) {
        known.clear();
    }
    known.entry(state).or_default().clone()
}

/// SHA-256 of the bytes, if there are not too many.
fn hash_file(file: File) -> Option<Digest> {
    let (mut hasher, mut chunk) = (Sha256::new(), vec![0; limits::PORTION_BYTES]);
    let mut bytes = file.take(limits::HASHED_BYTES + 1);
    loop {
        match bytes.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => hasher.update(chunk.get(..read)?),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    (bytes.limit() > 0).then(|| Digest(hasher.finalize().into()))
}
