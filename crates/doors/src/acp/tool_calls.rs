//! The calls below a prompt as the tool calls of an editor: what each is, which files it is about, and what it changes.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use systole_organism::work_folders::{WorkFolder, list_work_folders};
use systole_queries::change_sets::{OrderedChange, read_order};
use systole_queries::glance::glance;
use systole_queries::run_events::CallPlace;

use crate::limits;
use systole_core::types::composition::Composition;
use systole_core::types::ids::Name;
use systole_following::run_ids::name_call;
use systole_payloads::answers::write_called;

/// What an element of a built-in listener does, in the words of the protocol.
const KINDS: [(&str, &str); 12] = [
    ("search", "search"),
    ("query", "search"),
    ("extract", "read"),
    ("shell", "execute"),
    ("proposed_shell_command", "execute"),
    ("proposed_package_install", "execute"),
    ("str_replace", "edit"),
    ("create_file", "edit"),
    ("patch", "edit"),
    ("change-set", "edit"),
    ("apply", "edit"),
    ("undo", "edit"),
];

/// A call as an editor shows it.
pub(super) struct ToolCall {
    id: String,
    title: String,
    kind: &'static str,
    pub(super) content: Vec<Value>,
    locations: Vec<Value>,
    input: Value,
}

impl ToolCall {
    /// Its fields, with a status.
    pub(super) fn into_json(self, status: &str) -> Value {
        let ToolCall { id, title, kind, content, locations, input } = self;
        let mut call = Map::new();
        call.insert("toolCallId".to_owned(), id.into());
        call.insert("title".to_owned(), title.into());
        call.insert("kind".to_owned(), kind.into());
        call.insert("status".to_owned(), status.into());
        for (name, list) in [("content", content), ("locations", locations)] {
            if !list.is_empty() {
                call.insert(name.to_owned(), list.into());
            }
        }
        call.insert("rawInput".to_owned(), input);
        call.into()
    }

    /// Whether it shows what it changes.
    pub(super) fn has_content(&self) -> bool {
        !self.content.is_empty()
    }
}

/// The calls of one run.
pub(super) struct ToolCalls {
    organism: Arc<Composition>,
    run: CallPlace,
    folders: Vec<WorkFolder>,
}

impl ToolCalls {
    pub(super) fn new(organism: Arc<Composition>, run: CallPlace) -> ToolCalls {
        let folders = list_work_folders(&organism);
        ToolCalls { organism, run, folders }
    }

    /// The id of a call.
    pub(super) fn name(&self, at: &CallPlace) -> String {
        name_call(&self.run, at)
    }

    /// A call of a listener with a payload.
    pub(super) fn describe(&self, at: &CallPlace, to: &Name, body: &[u8]) -> ToolCall {
        let (seen, folder) = (glance(body), self.folders.iter().find(|folder| folder.listener == *to));
        let written = write_called(&self.organism, to, body);
        let input = serde_json::from_str(&written).unwrap_or_else(|_| Value::from(written.clone()));
        let words = seen.line(limits::REQUEST_COLUMNS);
        let title = [to.as_str(), &seen.element, &words].join(" ").trim_end().to_owned();
        let kind = folder.and_then(|_| KINDS.iter().find(|(element, _)| *element == seen.element));
        let mut call = ToolCall {
            id: self.name(at),
            title,
            kind: kind.map_or("other", |(_, kind)| kind),
            content: Vec::new(),
            locations: Vec::new(),
            input,
        };
        if let Some((folder, order)) = folder.filter(|folder| folder.is_changed).zip(read_order(body)) {
            show_order(&mut call, &folder.root, order);
        } else if let Some(folder) = folder {
            let paths = ["path", "file_path"].iter().filter_map(|name| find_text(&call.input, name));
            call.locations = paths.map(|path| json!({"path": folder.root.join(path)})).collect();
        }
        call
    }
}

/// What an order of a workspace does to files. What stands here is what was recorded.
fn show_order(call: &mut ToolCall, root: &Path, order: OrderedChange) {
    let OrderedChange { summary, pieces, has_commands } = order;
    if let Some(summary) = summary {
        call.title = summary;
    }
    if pieces.is_empty() && has_commands {
        call.kind = "execute";
    }
    for piece in pieces {
        let path = root.join(&piece.path);
        call.locations.push(json!({"path": path, "line": piece.line}));
        let diff = json!({"type": "diff", "path": path, "oldText": piece.was, "newText": piece.now});
        call.content.push(diff);
    }
}

/// A text of a payload's JSON form, in its root or among its attributes.
fn find_text<'v>(input: &'v Value, name: &str) -> Option<&'v str> {
    let fields = input.as_object()?;
    let found = fields.iter().find(|(key, _)| key.trim_start_matches('@') == name);
    found.and_then(|(_, value)| value.as_str())
}
