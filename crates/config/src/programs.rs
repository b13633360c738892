//! How a declared listener is reached, and how a test moves it to a copy of its folder. Input: a party. Output: its
//! reach, with its program.

use std::iter;
use std::path::{Path, PathBuf};

use super::kinds::{BuiltInListener, FolderUse, KindStart, find_kind};
use super::party::Party;
use systole_core::types::composition::{ListenerProgram, Reach};

/// A listener without a program must be a Rust value. An unexpected one was already reported.
pub(super) fn reach(party: &Party, directory: &Path, log: &str) -> Reach {
    if party.nats.is_some() {
        return Reach::Nats;
    }
    let mut sandbox = party.sandbox.as_ref().map(|sandbox| sandbox.resolve_paths(directory));
    let (listener, timeout_ms) = (&*party.key.value, party.timeout_ms);
    let adapter = match &party.built_in {
        Some(BuiltInListener { kind, part, .. }) => {
            let start = KindStart { listener, directory, log, timeout_ms };
            let words = (kind.words)(part, &start, sandbox.as_mut());
            iter::once(kind.key.to_owned()).chain(words).collect()
        }
        None if party.run.is_empty() => return Reach::Inline,
        None => Vec::new(),
    };
    Reach::Process(ListenerProgram {
        run: party.run.clone(),
        adapter,
        directory: directory.to_owned(),
        env: party.env.clone(),
        pass: party.pass.clone(),
        stays: party.stays,
        by_length: party.by_length,
        sandbox: sandbox.map(Box::new),
    })
}

/// Lets a listener that works on a folder work on a copy of it. `copied` is the place of a path in the copy, if it is
/// there. A workspace keeps its state in `state`, and its commands may read, and not write, what is outside the copy.
pub fn work_on_copy(
    program: &mut ListenerProgram,
    copied: &dyn Fn(&Path) -> Option<PathBuf>,
    state: &Path,
) -> Result<(), String> {
    let word = |path: &Path| {
        let text = path.to_str().map(str::to_owned);
        text.ok_or_else(|| format!("the path of the copy {} is not UTF-8", path.display()))
    };
    let kind = program.adapter.first().and_then(|key| find_kind(key));
    let is_changed = kind.is_some_and(|kind| kind.folder == Some(FolderUse::Changes));
    let [_, root, rest @ ..] = program.adapter.as_mut_slice() else { return Ok(()) };
    match copied(&program.directory.join(&*root)) {
        Some(copy) => *root = word(&copy)?,
        None if is_changed => return Err(format!("the folder {root} of a workspace was not copied")),
        None => return Ok(()),
    }
    // A kind that changes its folder has the name of the listener and its state behind it.
    if let (true, [_, kept, ..]) = (is_changed, rest) {
        *kept = word(state)?;
    }
    let Some(sandbox) = &mut program.sandbox else { return Ok(()) };
    let (mut write, mut outside) = (Vec::new(), Vec::new());
    for path in sandbox.write.drain(..) {
        match copied(&path) {
            Some(copy) => write.push(copy),
            None => outside.push(path),
        }
    }
    sandbox.read.extend(outside);
    sandbox.write = write;
    for path in sandbox.read.iter_mut().chain(&mut sandbox.protect) {
        if let Some(copy) = copied(path) {
            *path = copy;
        }
    }
    Ok(())
}
