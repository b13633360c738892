//! Options of every command may come before the command: they are moved after it, where they are read.
//!
//! It judges nothing. Any other option stays in place, and is refused when it is read.

use std::ffi::{OsStr, OsString};

use clap::{Arg, Args as _, Command};

use super::place::Place;

/// The arguments, with the shared options moved from before the command to after it, under their long
/// names.
pub(super) fn move_options(root: &Command, typed: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let typed: Vec<OsString> = typed.collect();
    let shared = Place::augment_args(Command::new("shared"));
    let mut rest = typed.iter().skip(1).peekable();
    let (mut first, mut moved) = (typed.first().cloned().into_iter().collect::<Vec<_>>(), Vec::new());
    while let Some(option) = rest.next_if(|word| is_option(word)) {
        let (target, known) = match find_option(&shared, option) {
            Some(known) => (&mut moved, Some(known)),
            None => (&mut first, find_option(root, option)),
        };
        let Some(KnownOption { name, value, takes_value }) = known else {
            first.push(option.clone());
            continue;
        };
        target.push(name);
        target.extend(value.or_else(|| rest.next_if(|_| takes_value).cloned()));
    }
    let mut at = root;
    while let Some(below) = rest.peek().and_then(|word| at.find_subcommand(word)) {
        first.extend(rest.next().cloned());
        at = below;
    }
    if std::ptr::eq(at, root) {
        return typed;
    }
    first.into_iter().chain(moved).chain(rest.cloned()).collect()
}

fn is_option(word: &OsStr) -> bool {
    let bytes = word.as_encoded_bytes();
    bytes.len() > 1 && bytes.starts_with(b"-") && bytes != b"--"
}

/// An option that a command has.
struct KnownOption {
    /// The name under which it is read.
    name: OsString,
    takes_value: bool,
    /// Its value, if it is in the same word.
    value: Option<OsString>,
}

fn find_option(command: &Command, word: &OsStr) -> Option<KnownOption> {
    let text = word.to_str()?;
    let found = |is_it: &dyn Fn(&Arg) -> bool| command.get_arguments().find(|arg| is_it(arg));
    let name = |arg: &Arg| match (arg.get_long(), arg.get_short()) {
        (Some(long), _) => Some(format!("--{long}")),
        (None, short) => short.map(|short| format!("-{short}")),
    };
    let (arg, value) = match text.strip_prefix("--") {
        Some(long) => {
            let (long, value) =
                long.split_once('=').map_or((long, None), |(long, value)| (long, Some(value)));
            (found(&|arg| arg.get_long() == Some(long))?, value)
        }
        None => {
            let mut letters = text.strip_prefix('-')?.chars();
            let short = letters.next();
            let value = Some(letters.as_str()).filter(|value| !value.is_empty());
            (found(&|arg| arg.get_short() == short && short.is_some())?, value)
        }
    };
    let takes_value = arg.get_action().takes_values();
    let is_whole = takes_value || value.is_none();
    is_whole.then_some(KnownOption { name: name(arg)?.into(), takes_value, value: value.map(Into::into) })
}
