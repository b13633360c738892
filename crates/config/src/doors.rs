//! The section `doors`: the doors that are open beside the routes, the pages and the MCP server, and what they show.
//!
//! Input: the nodes. Output: the settings for the doors.

use super::diagnostics::Diagnostics;
use super::forms::{NameSet, WordOf, word_choice};
use super::key::KeyForm;
use super::section::{Form, SectionKeys, form, section};
use super::tree::{Node, Value};
use super::value;
use systole_core::types::door_settings::{DoorSettings, OpenaiSettings, ShownSteps};

/// What a door of this kind may be.
const EXAMPLE: &str = "openai: true, or a map with chat and show";

section! { pub(super) DoorKeys {
    openai: optional("closed") <OpenaiDoor> "`true` or these keys: clients of the OpenAI API chat with the entries, at `/openai/v1`; docs/doors/openai.md describes it";
} }

section! { OpenaiKeys {
    chat: default(Vec::new()) <HeaderSet> "headers that tell conversations apart whose messages are the same, as `X-OpenWebUI-Chat-Id`";
    show: default(ShownSteps::Steps) <WordOf<ShownWord>> "what a client sees of a run: `answer`, its answer alone; `steps`, also what is thought and who works for it; `all`, also the payloads of that work";
} }

word_choice! { ShownWord: ShownSteps { "answer" = ShownSteps::Answer, "steps" = ShownSteps::Steps, "all" = ShownSteps::All } }

form! {
    /// The door for clients of the OpenAI API.
    pub(super) OpenaiDoor -> OpenaiSettings { KeyForm::TextOrMap, read_openai, below OpenaiKeys::ROWS }
}
form! {
    /// Names of headers, none of them twice.
    pub(super) HeaderSet -> Vec<String> { KeyForm::Set, read_headers, show |_: &Vec<String>| "[]".to_owned() }
}

fn read_openai(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<OpenaiSettings> {
    if let Value::Text { .. } = &node.value {
        let found = value::text(diagnostics, node, path)?;
        if found.value == "true" {
            return Some(OpenaiSettings::default());
        }
        let message =
            format!("{path}: `{}` is neither a map nor `true`; a closed door has no key", found.value);
        diagnostics.report_value(found.at, &message, EXAMPLE);
        return None;
    }
    if let Value::List(_) = &node.value {
        value::wrong_kind(diagnostics, node, path, "a map", EXAMPLE);
        return None;
    }
    let keys = OpenaiKeys::read(diagnostics, node, path)?;
    Some(OpenaiSettings { chat: keys.chat.value, shows: keys.show.value })
}

fn read_headers(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Vec<String>> {
    let mut headers = Vec::new();
    for one in NameSet::read(diagnostics, node, path)? {
        let is_name = one.value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if is_name && !one.value.eq_ignore_ascii_case("authorization") {
            headers.push(one.value.to_ascii_lowercase());
        } else {
            let message = format!("{path}: `{}` is no header that a client may choose", one.value);
            diagnostics.report_value(one.at, &message, "X-OpenWebUI-Chat-Id");
        }
    }
    Some(headers)
}

impl DoorKeys {
    /// What the doors do.
    pub(super) fn settings(self) -> DoorSettings {
        DoorSettings { openai: self.openai.map(|openai| openai.value) }
    }
}
