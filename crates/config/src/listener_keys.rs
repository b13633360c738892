//! The keys of a listener. Which of them have a meaning depends on its kind, so a key that only some kinds have is
//! read when the kind is known.

use super::delivery::{AcceptedSet, DeliveryKeys, SharePercent};
use super::diagnostics::Diagnostics;
use super::forms::{
    AnyText, CountWithin, EmptyText, NameSet, TextList, Unread, VARIABLE, WordOf, YesNo, word_choice,
};
use super::key::{KeyForm, KeyRow};
use super::kinds::KindKeys;
use super::names::variable;
use super::sandboxes::SandboxRule;
use super::section::{Form, form, section};
use super::tree::{Entry, Node, Value};
use super::value::{self, At, join_path};
use crate::limits;

section! {
    pub(super) ListenerKeys "one listener" with own {
        run: optional("required") <Unread<TextList>> "the program and its arguments, as a list; a listener that a Rust program brings itself, over NATS, or with {any kind}, has none";
        kinds: same(&[]) <KindKeys> "";
        schema: optional("none") <Unread<AnyText>> "an XSD that declares its payloads, searched before `payloads` and `schemas`; a path from this file's folder";
        accepts: optional("required") <Unread<AcceptedSet>> "payloads that it takes as requests, by local name; left out with {each kind}, which have their own";
        returns: optional("[]") <Unread<NameSet>> "payloads that answer a call to it, by local name";
        peers: optional("[]") <Unread<NameSet>> "listeners it may address";
        turns: optional("1{kinds}") <CountWithin<1, { limits::TURNS }>> "turns that a call to it may take, {bounds}; with 1 it makes no calls";
        share: optional("50%") <SharePercent> "largest share of the remaining message budget that a child thread that begins with it may use, 1% to 100%";
        env: optional("{}") <Unread<VariableMap>> "environment variables that are set for its program";
        pass: optional("[]") <Unread<VariableSet>> "environment variables that are passed on to its program";
        mode: optional("stay") <Unread<WordOf<ModeWord>>> "`stay`: one process for many messages; `once`: one process for each";
        framing: optional("lines") <Unread<WordOf<FramingWord>>> "`lines`: a document is one line; `length`: its length comes before it";
        sandbox: optional("none{kinds}") <Unread<SandboxRule>> "the sandbox of its program, or of the commands of a workspace: a map, which may be `{}`, or `none`; in a sandbox there is no network but `net`, only the system's folders, the program itself and `read` can be read, and only `write`, HOME and TMPDIR written";
        delivery: same(&[]) <DeliveryKeys> "";
        nats: optional("false") <Unread<YesNo>> "whether it is a worker at the broker that `bus` or `log` names, instead of a program";
    }
}

word_choice! { ModeWord: bool { "stay" = true, "once" = false } }
word_choice! { FramingWord: bool { "lines" = false, "length" = true } }

form! {
    /// Variables with their values. One with a wrong value has none.
    pub(super) VariableMap -> Vec<(At<String>, Option<String>)> {
        KeyForm::Names(VARIABLE), read_variables,
        below &[KeyRow::any_name("none", "the value of one variable", EmptyText::FORM, &[])]
    }
}
form! {
    /// Names of variables.
    pub(super) VariableSet -> Vec<At<String>> { KeyForm::Set, read_variable_set }
}

fn read_variables(
    diagnostics: &mut Diagnostics,
    node: &Node,
    path: &str,
) -> Option<Vec<(At<String>, Option<String>)>> {
    if matches!(node.value, Value::Nothing) {
        return None;
    }
    let entries = value::map(diagnostics, node, node.span, path)?;
    let mut read = |entry: &Entry| {
        variable(diagnostics, &entry.key, entry.at, path);
        let value = EmptyText::read(diagnostics, &entry.value, &join_path(path, &entry.key));
        (At { at: entry.at, value: entry.key.clone() }, value)
    };
    Some(entries.iter().map(&mut read).collect())
}

fn read_variable_set(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Vec<At<String>>> {
    let names = NameSet::read(diagnostics, node, path)?;
    names.iter().for_each(|name| variable(diagnostics, &name.value, name.at, path));
    Some(names)
}
