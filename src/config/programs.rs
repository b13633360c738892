//! How a declared listener is reached. Input: a party. Output: its reach, with its program.

use std::path::Path;

use super::party::Party;
use systole_core::types::composition::{ListenerProgram, Reach};

/// A listener without a program must be a Rust value. An unexpected one was already reported.
pub(super) fn reach(party: &Party, directory: &Path) -> Reach {
    if party.nats.is_some() {
        return Reach::Nats;
    }
    if party.run.is_empty() {
        return Reach::Inline;
    }
    Reach::Process(ListenerProgram {
        run: party.run.clone(),
        adapter: party.adapter.clone(),
        directory: directory.to_owned(),
        env: party.env.clone(),
        pass: party.pass.clone(),
        stays: party.stays,
        by_length: party.by_length,
        sandbox: party.sandbox.as_ref().map(|sandbox| Box::new(sandbox.resolved(directory))),
    })
}
