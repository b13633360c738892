//! The kind `workspace`: a listener that edits the files of a folder, and runs commands in it.

use systole_core::types::composition::OnUnknown;
use systole_workspace::{COMMANDS_XSD, PROPOSALS_XSD, WORKSPACE_XSD, check_shell_pattern};

use super::on_folder::{STATE_FOLDER, check_file_pattern, read_folder, read_rules, refuse_key, refuse_value};
use super::{BuiltInKind, FolderUse, KindDefaults};
use crate::forms::{AnyText, NameSet, Unread, WordOf, read_late, word_choice};
use crate::limits;
use crate::section::section;

/// The schemas of the two vocabularies of changes.
const COMMANDS: &str = "commands/";
const PROPOSALS: &str = "proposals/";

// The vocabulary that a listener does not take.
word_choice!(VocabularyWord: Option<&'static str> {
    "both" = None, "commands" = Some(PROPOSALS), "proposals" = Some(COMMANDS)
});

section! {
    pub(crate) WorkspaceKeys {
        workspace: optional("none") <Unread<AnyText>> "the folder whose files the listener edits, and in which it runs commands, instead of a program; a path from this file's folder";
        ask: optional("[]") <Unread<NameSet>> "with `workspace`: files whose edits need a person, as lines of a `.gitignore`";
        shell: optional("[]") <Unread<NameSet>> "with `workspace`: commands that need no person, word by word; a last word `*` stands for any further words";
        seen_as: optional("none") <Unread<AnyText>> "with `workspace`: the absolute path by which agents know the folder; paths below it count as paths from the folder, like those below its own path";
        vocabulary: optional("both") <Unread<WordOf<VocabularyWord>>> "with `workspace`: the elements for changes that it takes and agents are told: `commands` (`str_replace` …), `proposals` (`proposed_…`), or `both`";
    }
}

pub(super) const KIND: BuiltInKind = BuiltInKind {
    key: "workspace",
    schemas: &[("workspace/", WORKSPACE_XSD), (COMMANDS, COMMANDS_XSD), (PROPOSALS, PROPOSALS_XSD)],
    accepts: &[
        (COMMANDS, &["str_replace", "create_file", "patch", "shell"]),
        (
            PROPOSALS,
            &[
                "proposed_file_replace_substring",
                "proposed_file_replace",
                "proposed_file_insert",
                "proposed_shell_command",
                "proposed_package_install",
                "proposed_actions",
            ],
        ),
        ("workspace/", &["undo", "change-set", "apply"]),
    ],
    returns: &[("workspace/", &["change-result"])],
    codes: listener_codes! {
        "workspace.ambiguous" "the text to replace is in the file more than once" try "more of the lines around it";
        "workspace.bad-folder" "the folder of a command cannot be used" try "a folder inside the workspace";
        "workspace.bad-line" "the file has no such line" try "a line within the file; the message has their number";
        "workspace.bad-package" "a package has no plain name" try "the name alone, with its version in its own attribute";
        "workspace.bad-patch" "a patch cannot be read" try "what the message says about its line";
        "workspace.bad-path" "a path cannot be written as one" try "a path such as src/main.rs";
        "workspace.bad-session" "what a session keeps cannot be shown" try "a session of plain commands";
        "workspace.changed" "a file changed after the change set was worked out" try "send the change set again, made from the file as it is now";
        "workspace.denied" "the file is on the deny list" try "another file, or a shorter `deny`";
        "workspace.exists" "there is a file of that name" try "another name, or an edit of the file";
        "workspace.failed" "the change set could not be carried out" try "what the message says";
        "workspace.no-match" "the text to replace is not in the file" try "the text as the file has it, with its blanks";
        "workspace.no-text" "the file is no text, or a touched line cannot be shown" try "a text file";
        "workspace.no-undo" "there is no such change set, or it cannot be taken back" try "an edit that restores the lines";
        "workspace.not-found" "there is no such file" try "the path of a file that is there, or <create_file>";
        "workspace.not-written" "the operating system did not let the file be written" try "the rights and the free space of the folder";
        "workspace.outside-root" "the path leaves the folder of the workspace" try "a path inside the folder";
        "workspace.stale" "the file is not the one that the sender knew" try "read the file again, then edit it";
        "workspace.too-large" "the file or the whole change is larger than the limit" try "a smaller change";
        "workspace.unchanged" "the edit changes nothing" try "leave it out";
        "workspace.unusable" "the folder of a workspace cannot be used" try "a folder that this user can read and write";
        "workspace.unknown-element" "a workspace does not know the element" try "an element that `accepts` lists";
    },
    // A call is the request, and what came of it, with room for both again.
    defaults: KindDefaults {
        turns: 4,
        // Its commands get nine tenths of it.
        timeout_ms: 600 * limits::SECOND,
        in_flight: limits::IN_FLIGHT,
        on_unknown: OnUnknown::Fail,
    },
    folder: Some(FolderUse::Changes),
    calls_itself: true,
    make_schema: None,
    unfit: &["run", "nats", "schema", "accepts", "returns", "peers", "mode", "framing"],
    unfit_why: "a listener of `workspace` is built in, and takes and returns its own elements",
    unfit_fix: "one of the two",
    unfit_shown: "a built-in listener",
    read: |diagnostics, keys, of| {
        let own = &keys.workspace;
        let mut part = read_folder(diagnostics, keys, &own.workspace, of.at);
        let fix = "\"*.lock\", or deploy/";
        part.rules.extend(read_rules(diagnostics, keys, ("ask", &own.ask), fix, check_file_pattern));
        let of_words = |pattern: &str| check_shell_pattern(pattern).map_err(|fault| fault.to_string());
        part.rules.extend(read_rules(diagnostics, keys, ("shell", &own.shell), "cargo test *", of_words));
        if let Some(seen) = read_late(diagnostics, &own.seen_as) {
            if !seen.value.starts_with('/') || seen.value.split('/').any(|part| matches!(part, "." | "..")) {
                let message = format!("{}.seen_as: `{}` is no absolute path", keys.own.path, seen.value);
                diagnostics.report_value(seen.at, &message, "/home/ubuntu/project");
            }
            part.rules.extend(["seen_as".to_owned(), seen.value.clone()]);
            part.seen_as = Some(seen.value);
        }
        part.left_out = read_late(diagnostics, &own.vocabulary).and_then(|word| word.value);
        part
    },
    refuse: |diagnostics, keys| {
        let own = &keys.workspace;
        let why = "only a listener of `workspace` has files that need a person";
        refuse_key(diagnostics, keys, ("ask", &own.ask), why);
        refuse_key(diagnostics, keys, ("shell", &own.shell), "only a listener of `workspace` runs commands");
        // A value of another kind is reported too.
        let (_seen_as, _vocabulary) =
            (read_late(diagnostics, &own.seen_as), read_late(diagnostics, &own.vocabulary));
        refuse_value(
            diagnostics,
            keys,
            "seen_as",
            "only a listener of `workspace` has a folder that agents know",
        );
        refuse_value(
            diagnostics,
            keys,
            "vocabulary",
            "only a listener of `workspace` has these vocabularies",
        );
    },
    words: |part, start, sandbox| {
        if let Some(sandbox) = sandbox {
            sandbox.write.push(start.directory.join(part.root()));
            sandbox.is_for_commands = true;
        }
        let state = format!("{}{STATE_FOLDER}/{}", start.log, start.listener);
        let time_ms = (start.timeout_ms / 10 * 9).to_string();
        let words = [part.root().to_owned(), start.listener.to_owned(), state, time_ms];
        words.into_iter().chain(part.rules.iter().cloned()).collect()
    },
    serve: |words, commands| {
        let [root, name, state, time_ms, rest @ ..] = words else { return None };
        let (rules, policy) = match rest {
            [rules @ .., word, policy] if *word == commands.word => (rules, Some(*policy)),
            rules => (rules, None),
        };
        let made = (commands.open)(policy);
        Some(systole_workspace::serve([root, name, state, time_ms], rules, made))
    },
};
