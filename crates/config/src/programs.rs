//! How a declared listener is reached, and how a test moves it to a copy of its folder. Input: a party. Output: its
//! reach, with its program.

use std::fs;
use std::path::{Path, PathBuf};

use super::hands_kind::{HandsDeclaration, HandsKind};
use super::party::Party;
use super::value::At;
use systole_core::types::composition::{ListenerProgram, ProgramSandbox, Reach};

/// The ending of the folder beside the log in which workspaces keep what they need to take edits back.
pub(super) const HANDS_FOLDER: &str = ".hands";

/// Where an organism is.
pub(super) struct Surroundings<'s> {
    /// The folder of its file.
    pub(super) directory: &'s Path,
    /// Its log, from that folder.
    pub(super) log: &'s str,
}

/// A listener without a program must be a Rust value. An unexpected one was already reported.
pub(super) fn reach(party: &Party, around: &Surroundings<'_>) -> Reach {
    if party.nats.is_some() {
        return Reach::Nats;
    }
    let directory = around.directory;
    let mut adapter = party.adapter.clone();
    let mut sandbox = party.sandbox.as_ref().map(|sandbox| sandbox.resolve_paths(directory));
    if let (Some(folder), Some(sandbox)) = (party.install_folder(), &mut sandbox) {
        sandbox.read.push(directory.join(folder));
    }
    if let Some(hands) = &party.hands {
        adapter = words(party, hands, around.log);
        let root = directory.join(&hands.root.value);
        let inner = own_folder_in(&root, directory).filter(|_| hands.kind == HandsKind::Code);
        if let Some(inner) = &inner {
            adapter.extend(["deny".to_owned(), as_pattern(inner)]);
        }
        if let Some(sandbox) = &mut sandbox {
            sandbox.hidden = inner.map(|_| directory.to_owned());
            allow(sandbox, hands.kind, root);
        }
    } else if party.run.is_empty() && party.adapter.is_empty() {
        return Reach::Inline;
    }
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

/// The organism's own folder as a path from a folder that contains it. `None` if it is the same folder or elsewhere.
pub(super) fn own_folder_in(root: &Path, directory: &Path) -> Option<String> {
    let (root, own) = (fs::canonicalize(root).ok()?, fs::canonicalize(directory).ok()?);
    let inner = own.strip_prefix(root).ok()?.to_str()?;
    (!inner.is_empty()).then(|| inner.to_owned())
}

/// The pattern of a deny list that has this path and everything in it, and no other.
fn as_pattern(path: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/-_.".contains(c);
    let letters = path.chars().flat_map(|c| [(!is_plain(c)).then_some('\\'), Some(c)]);
    std::iter::once('/').chain(letters.flatten()).collect()
}

/// The words with which this program becomes the listener.
fn words(party: &Party, hands: &HandsDeclaration, log: &str) -> Vec<String> {
    let mut words = vec![hands.kind.key().to_owned(), hands.root.value.clone()];
    if hands.kind == HandsKind::Workspace {
        let state = format!("{log}{HANDS_FOLDER}/{}", party.key.value);
        let time_ms = (party.timeout_ms / 10 * 9).to_string();
        words.extend([party.key.value.clone(), state, time_ms]);
    }
    let mut rules = |key: &str, patterns: &[At<String>]| {
        for pattern in patterns {
            words.extend([key.to_owned(), pattern.value.clone()]);
        }
    };
    rules("deny", &hands.deny);
    rules("ask", &hands.ask);
    rules("shell", &hands.shell);
    words
}

/// Lets the listener at its folder.
fn allow(sandbox: &mut ProgramSandbox, kind: HandsKind, root: PathBuf) {
    match kind {
        HandsKind::Code => {
            sandbox.read.push(root);
            sandbox.opens_below = true;
        }
        HandsKind::Workspace => {
            sandbox.write.push(root);
            sandbox.is_for_commands = true;
        }
    }
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
    // As `words` writes them.
    let is_workspace = program.adapter.first().is_some_and(|kind| kind == HandsKind::Workspace.key());
    let [_, root, rest @ ..] = program.adapter.as_mut_slice() else { return Ok(()) };
    match copied(&program.directory.join(&*root)) {
        Some(copy) => *root = word(&copy)?,
        None if is_workspace => return Err(format!("the folder {root} of a workspace was not copied")),
        None => return Ok(()),
    }
    if let (true, [_, kept, ..]) = (is_workspace, rest) {
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
