//! The section `doors`: the doors that are open beside the routes, the pages and the MCP server, and what they show.
//!
//! Input: the nodes. Output: the settings for the doors.

use super::diagnostics::Diagnostics;
use super::forms::{NameSet, WordOf, word_choice};
use super::key::KeyForm;
use super::section::{Form, SectionKeys, form, section};
use super::tree::{Node, Value};
use super::value;
use systole_core::types::door_settings::{
    A2aSettings, AgUiSettings, DoorSettings, OpenaiSettings, ShownSteps,
};
use systole_core::types::public_origin::{PublicOrigin, read_local_page};

/// What the doors may be.
const A2A_EXAMPLE: &str = "a2a: true, or a map with show";
const AG_UI_EXAMPLE: &str = "ag-ui: true, or a map with cors and show";
const OPENAI_EXAMPLE: &str = "openai: true, or a map with chat and show";

section! { pub(super) DoorKeys {
    a2a: optional("closed") <A2aDoor> "`true` or these keys: other agents send tasks with A2A, at `/a2a`, and find the organism by its card; docs/doors/a2a.md describes it";
    ag_ui: optional("closed") <AgUiDoor> "`true` or these keys: web apps talk to the entries with AG-UI, at `/ag-ui/ENTRY`; docs/doors/ag-ui.md describes it";
    openai: optional("closed") <OpenaiDoor> "`true` or these keys: clients of the OpenAI API chat with the entries, at `/openai/v1`; docs/doors/openai.md describes it";
} }

section! { A2aKeys {
    show: default(ShownSteps::Steps) <WordOf<ShownWord>> "what a client sees of a run: `answer`, its answer alone; `steps`, also who works for it; `all`, also the payloads of that work";
} }

section! { AgUiKeys {
    cors: default(Vec::new()) <OriginSet> "the pages of other origins that may come here, each as browsers send it: `https://app.example`, or `http://localhost:3000` on this machine";
    show: default(ShownSteps::Steps) <WordOf<ShownWord>> "what a client sees of a run: `answer`, its answer alone; `steps`, also what is thought and who works for it; `all`, also the payloads of that work";
} }

section! { OpenaiKeys {
    chat: default(Vec::new()) <HeaderSet> "headers that tell conversations apart whose messages are the same, as `X-OpenWebUI-Chat-Id`";
    show: default(ShownSteps::Steps) <WordOf<ShownWord>> "what a client sees of a run: `answer`, its answer alone; `steps`, also what is thought and who works for it; `all`, also the payloads of that work";
} }

word_choice! { ShownWord: ShownSteps { "answer" = ShownSteps::Answer, "steps" = ShownSteps::Steps, "all" = ShownSteps::All } }

form! {
    /// The door for other agents.
    pub(super) A2aDoor -> A2aSettings { KeyForm::TextOrMap, read_a2a, below A2aKeys::ROWS }
}
form! {
    /// The door for AG-UI clients.
    pub(super) AgUiDoor -> AgUiSettings { KeyForm::TextOrMap, read_ag_ui, below AgUiKeys::ROWS }
}
form! {
    /// Origins of pages, none of them twice.
    pub(super) OriginSet -> Vec<String> { KeyForm::Set, read_origins, show |_: &Vec<String>| "[]".to_owned() }
}
form! {
    /// The door for clients of the OpenAI API.
    pub(super) OpenaiDoor -> OpenaiSettings { KeyForm::TextOrMap, read_openai, below OpenaiKeys::ROWS }
}
form! {
    /// Names of headers, none of them twice.
    pub(super) HeaderSet -> Vec<String> { KeyForm::Set, read_headers, show |_: &Vec<String>| "[]".to_owned() }
}

/// An open door with its settings: those of `true`, or those that a map has.
fn read_open<Keys: Form<Value = Keys>, Settings: Default>(
    diagnostics: &mut Diagnostics,
    (node, path): (&Node, &str),
    example: &str,
    settings: impl FnOnce(Keys) -> Settings,
) -> Option<Settings> {
    if let Value::Text { .. } = &node.value {
        let found = value::text(diagnostics, node, path)?;
        if found.value == "true" {
            return Some(Settings::default());
        }
        let message =
            format!("{path}: `{}` is neither a map nor `true`; a closed door has no key", found.value);
        diagnostics.report_value(found.at, &message, example);
        return None;
    }
    if let Value::List(_) = &node.value {
        value::wrong_kind(diagnostics, node, path, "a map", example);
        return None;
    }
    Keys::read(diagnostics, node, path).map(settings)
}

fn read_a2a(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<A2aSettings> {
    read_open(diagnostics, (node, path), A2A_EXAMPLE, |keys: A2aKeys| A2aSettings { shows: keys.show.value })
}

fn read_ag_ui(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<AgUiSettings> {
    read_open(diagnostics, (node, path), AG_UI_EXAMPLE, |keys: AgUiKeys| AgUiSettings {
        cors: keys.cors.value,
        shows: keys.show.value,
    })
}

fn read_openai(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<OpenaiSettings> {
    read_open(diagnostics, (node, path), OPENAI_EXAMPLE, |keys: OpenaiKeys| OpenaiSettings {
        chat: keys.chat.value,
        shows: keys.show.value,
    })
}

fn read_origins(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Vec<String>> {
    let mut origins = Vec::new();
    for one in NameSet::read(diagnostics, node, path)? {
        let public = PublicOrigin::parse(&one.value).map(|public| public.as_str().to_owned());
        match read_local_page(&one.value).map_or(public, Ok) {
            Ok(origin) => origins.push(origin),
            Err((why, fix)) => diagnostics.report_value(one.at, &format!("{path}: {why}"), &fix),
        }
    }
    Some(origins)
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
        DoorSettings {
            a2a: self.a2a.map(|a2a| a2a.value),
            ag_ui: self.ag_ui.map(|ag_ui| ag_ui.value),
            openai: self.openai.map(|openai| openai.value),
        }
    }
}
