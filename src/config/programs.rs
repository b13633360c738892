//! How a declared listener is reached. Input: a party. Output: its reach, with its program.

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
    let mut sandbox = party.sandbox.as_ref().map(|sandbox| sandbox.resolved(directory));
    if let (Some(folder), Some(sandbox)) = (party.install_folder(), &mut sandbox) {
        sandbox.read.push(directory.join(folder));
    }
    if let Some(hands) = &party.hands {
        adapter = words(party, hands, around.log);
        let root = directory.join(&hands.root.value);
        if let Some(sandbox) = &mut sandbox {
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
