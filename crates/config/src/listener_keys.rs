//! The keys of a listener. Which of them have a meaning depends on its kind, so a key that only some kinds have is
//! read when the kind is known.

use super::delivery::{AcceptedSet, DeliveryKeys, SharePercent};
use super::diagnostics::Diagnostics;
use super::forms::{
    AnyText, CountWithin, EmptyText, NameSet, TextList, Unread, VARIABLE, WordOf, YesNo, copy_node,
    word_choice,
};
use super::key::{KeyForm, KeyRow};
use super::names::variable;
use super::reach::KeyVariable;
use super::sandboxes::SandboxRule;
use super::section::{Form, form, section};
use super::tree::{Entry, Node, Value};
use super::value::{self, At, join_path};
use systole_core::types::limits;

section! {
    pub(super) ListenerKeys "one listener" with own later [rate: "most messages to it in a second"; dead: "what happens to dead letters";] {
        run: optional("required") <Unread<TextList>> "the program and its arguments, as a list; a listener that a Rust program brings itself, over NATS, or with `code`, `workspace` or `mcp`, has none";
        mcp: optional("none") <ServerPlace> "the program of an MCP server and its arguments, as a list, or its address, as text, in place of `run`; a package after `npx` or `uvx` is installed by `systole mcp pin`; it accepts the tools that this command has pinned";
        key_env: optional("none") <Unread<KeyVariable>> "with `mcp` at an address: the environment variable that holds the key, which is sent as a bearer token; the key itself is in no file";
        tools: optional("all") <Unread<ToolNames>> "with `mcp`: the tools that are used, by their names at the server, or `all`";
        safe: optional("[]") <Unread<NameSet>> "with `mcp`: tools that need no person; a person approves every call of any other";
        trust: optional("none") <Unread<WordOf<TrustWord>>> "with `mcp`: `hints`, so that a tool whose server says that it only reads needs no person";
        code: optional("none") <Unread<AnyText>> "the folder whose source code the listener searches, instead of a program; a path from this file's folder";
        deny: optional("[]") <Unread<NameSet>> "with `code` or `workspace`: files of that folder that it neither shows nor edits, in addition to keys and credentials, as lines of a `.gitignore`";
        workspace: optional("none") <Unread<AnyText>> "the folder whose files the listener edits, and in which it runs commands, instead of a program; a path from this file's folder";
        ask: optional("[]") <Unread<NameSet>> "with `workspace`: files whose edits need a person, as lines of a `.gitignore`";
        shell: optional("[]") <Unread<NameSet>> "with `workspace`: commands that need no person, word by word; a last word `*` stands for any further words";
        schema: optional("none") <Unread<AnyText>> "an XSD that declares its payloads, searched before `payloads` and `schemas`; a path from this file's folder";
        accepts: optional("required") <Unread<AcceptedSet>> "payloads that it takes as requests, by local name; left out with `code`, `workspace` and `mcp`, which have their own";
        returns: optional("[]") <Unread<NameSet>> "payloads that answer a call to it, by local name";
        peers: optional("[]") <Unread<NameSet>> "listeners it may address";
        turns: optional("1, 4 with `workspace`, or 10 with `mcp`") <CountWithin<1, { limits::TURNS }>> "turns that a call to it may take, {bounds}; with 1 it makes no calls";
        share: optional("50%") <SharePercent> "largest share of the remaining message budget that a child thread that begins with it may use, 1% to 100%";
        env: optional("{}") <Unread<VariableMap>> "environment variables that are set for its program";
        pass: optional("[]") <Unread<VariableSet>> "environment variables that are passed on to its program";
        mode: optional("stay") <Unread<WordOf<ModeWord>>> "`stay`: one process for many messages; `once`: one process for each";
        framing: optional("lines") <Unread<WordOf<FramingWord>>> "`lines`: a document is one line; `length`: its length comes before it";
        sandbox: optional("none, or {} with `mcp`, `code` and `workspace`") <Unread<SandboxRule>> "the sandbox of its program, or of the commands of a workspace: a map, which may be `{}`, or `none`; in a sandbox there is no network but `net`, only the system's folders, the program itself and `read` can be read, and only `write`, HOME and TMPDIR written";
        delivery: same(&[]) <DeliveryKeys> "";
        nats: optional("false") <Unread<YesNo>> "whether it is a worker at the broker that `bus` or `log` names, instead of a program";
    }
}

word_choice! { TrustWord: bool { "none" = false, "hints" = true } }
word_choice! { ModeWord: bool { "stay" = true, "once" = false } }
word_choice! { FramingWord: bool { "lines" = false, "length" = true } }

form! {
    /// Names of tools, or `all`, which is `None`.
    pub(super) ToolNames -> Option<Vec<At<String>>> { KeyForm::Lines, read_tools }
}
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

fn read_tools(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Option<Vec<At<String>>>> {
    match &node.value {
        Value::Text { text, .. } if text == "all" => Some(None),
        _ => Some(Some(NameSet::read(diagnostics, node, path).unwrap_or_default())),
    }
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

form! {
    /// The program of a server, or its address, as it is written.
    pub(super) ServerPlace -> Node { KeyForm::Lines, copy_node }
}
