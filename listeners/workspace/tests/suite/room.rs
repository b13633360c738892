//! A folder, a workspace that changes it, and the pump's part of the conversation. Every payload is judged by its
//! schema.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use systole_kit::answers::{Answer, Answers, write_answers};
use systole_kit::envelope::{Delivered, EnvelopeStamp};
use systole_kit::gate::{GateStep, XmlGate};
use systole_kit::reply::ReplyContent;
use systole_kit::schema::SchemaModel;
use systole_kit::{DocumentLimits, Payload};
use systole_workspace::{
    COMMANDS_XSD, CommandOrder, CommandStart, PROPOSALS_XSD, PreparedCommand, WORKSPACE_XSD, Workspace,
    WorkspaceSpec,
};
use tempfile::TempDir;

/// Its name.
pub(crate) const NAME: &str = "hands";

/// Starts commands without a sandbox.
pub(crate) struct PlainStart;

impl CommandStart for PlainStart {
    fn command(&self, order: &CommandOrder<'_>) -> Result<PreparedCommand, String> {
        let (program, arguments) = order.words.split_first().ok_or("no program")?;
        let mut command = Command::new(program);
        command.args(arguments).current_dir(order.folder).env_clear();
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("LANG", "C.UTF-8");
        Ok(PreparedCommand { command, kept: None })
    }
}

/// The root is a folder inside a temporary one, so that there is something outside it.
pub(crate) struct Room {
    pub(crate) around: TempDir,
    pub(crate) workspace: Workspace,
    pub(crate) is_cancelled: AtomicBool,
    pub(crate) calls: std::cell::Cell<u32>,
}

/// A result, or an order.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    pub(crate) to: Option<String>,
    pub(crate) payload: Payload,
}

pub(crate) fn spec(around: &Path) -> WorkspaceSpec {
    WorkspaceSpec {
        name: NAME.to_owned(),
        root: around.join("root"),
        state: around.join("state"),
        deny: vec!["private/".to_owned()],
        ask: vec!["*.lock".to_owned(), "/ci/".to_owned()],
        shell: vec!["echo *".to_owned(), "true".to_owned(), "cat *".to_owned()],
        seen_as: Some("/home/ubuntu/project".to_owned()),
        time_ms: 20_000,
    }
}

pub(crate) fn write(path: &Path, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

/// A change set with these elements; `c:` and `p:` are the prefixes of commands and proposals.
pub(crate) fn change_set(elements: &str) -> Payload {
    let xml = format!(
        "<change-set xmlns=\"https://xml-pipeline.org/ns/workspace/v1\" \
         xmlns:c=\"https://xml-pipeline.org/ns/commands/v1\" \
         xmlns:p=\"https://xml-pipeline.org/ns/proposals/v1\">{elements}</change-set>"
    );
    payload(&xml)
}

pub(crate) fn payload(xml: &str) -> Payload {
    Payload::parse(xml.as_bytes(), &DocumentLimits::default()).unwrap()
}

pub(crate) fn undo(change: &str) -> Payload {
    payload(&format!("<undo xmlns=\"https://xml-pipeline.org/ns/workspace/v1\" change=\"{change}\"/>"))
}

/// The vocabularies of commands, of proposals and of the workspace.
pub(crate) fn models() -> [SchemaModel; 3] {
    // What belongs together is a matter of agents: the shape of payloads does not depend on it.
    let plain = |xsd: &[u8]| String::from_utf8_lossy(xsd).replace(" systole:together=\"change-set\"", "");
    let [commands, proposals] = [plain(COMMANDS_XSD), plain(PROPOSALS_XSD)];
    let others = [("commands.xsd", commands.as_bytes()), ("proposals.xsd", proposals.as_bytes())];
    let workspace = SchemaModel::read_among(WORKSPACE_XSD, &others).unwrap();
    [SchemaModel::from_xsd(others[0].1).unwrap(), SchemaModel::from_xsd(others[1].1).unwrap(), workspace]
}

/// Fails if the payload does not fit its schema.
pub(crate) fn judge(payload: &Payload) {
    static MODELS: std::sync::LazyLock<[SchemaModel; 3]> = std::sync::LazyLock::new(models);
    let model = MODELS.iter().find(|model| model.target_namespace() == &*payload.name().ns);
    let found = model.unwrap().explain_payload(payload.bytes());
    assert!(found.is_none(), "{found:?} {}", String::from_utf8_lossy(payload.bytes()));
}

impl Room {
    pub(crate) fn new(files: &[(&str, &str)]) -> Room {
        let around = tempfile::tempdir().unwrap();
        std::fs::create_dir(around.path().join("root")).unwrap();
        for (path, text) in files {
            write(&around.path().join("root").join(path), text.as_bytes());
        }
        Room::over(around)
    }

    pub(crate) fn over(around: TempDir) -> Room {
        let workspace = Workspace::open(spec(around.path()), Arc::new(PlainStart)).unwrap();
        Room { around, workspace, is_cancelled: AtomicBool::new(false), calls: std::cell::Cell::new(0) }
    }

    /// A room with that time limit for commands.
    pub(crate) fn limited(time_ms: u64) -> Room {
        let room = Room::new(&[]);
        let Room { around, workspace, is_cancelled, calls } = room;
        drop(workspace);
        let spec = WorkspaceSpec { time_ms, ..spec(around.path()) };
        let workspace = Workspace::open(spec, Arc::new(PlainStart)).unwrap();
        Room { around, workspace, is_cancelled, calls }
    }

    /// The same folder after the workspace has ended and was opened again.
    pub(crate) fn reopened(self) -> Room {
        let Room { around, workspace, calls, .. } = self;
        drop(workspace);
        Room { calls, ..Room::over(around) }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.around.path().join("root").join(path)
    }

    pub(crate) fn read(&self, path: &str) -> String {
        String::from_utf8(std::fs::read(self.path(path)).unwrap()).unwrap()
    }

    /// All files of the root with their texts, in order.
    pub(crate) fn files(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut folders = vec![self.path("")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() && !path.is_symlink() {
                    folders.push(path);
                } else {
                    found.push(path.strip_prefix(self.path("")).unwrap().display().to_string());
                }
            }
        }
        found.sort();
        found
    }

    pub(crate) fn delivered(&self, from: &str, call: &str, turn: u32, payload: Payload) -> Delivered {
        let stamp = EnvelopeStamp { call: call.to_owned(), turn, attempt: 1, ..EnvelopeStamp::default() };
        Delivered { from: from.to_owned(), to: None, thread: "t1".to_owned(), stamp, payload }
    }

    pub(crate) fn say(&self, asked: &Delivered) -> Said {
        match self.workspace.answer_delivery(asked, &self.is_cancelled, &|_| {}) {
            ReplyContent::Items(items) => {
                assert_eq!(items.len(), 1);
                let payload = items[0].payload.clone().unwrap();
                judge(&payload);
                Said { to: items[0].to.clone(), payload }
            }
            other => panic!("{other:?}"),
        }
    }

    /// A new call.
    pub(crate) fn call(&self) -> String {
        self.calls.set(self.calls.get() + 1);
        format!("1.{}", self.calls.get())
    }

    /// The first turn of a call.
    pub(crate) fn ask(&self, call: &str, payload: Payload) -> Said {
        self.say(&self.delivered("agent", call, 1, payload))
    }

    /// Delivers an order as the pump does: from the workspace itself.
    pub(crate) fn apply(&self, call: &str, order: &Said) -> Said {
        assert_eq!(order.to.as_deref(), Some(NAME), "{order:?}");
        self.say(&self.delivered(NAME, &format!("{call}.1"), 1, order.payload.clone()))
    }

    /// The second turn of a call, with that answer to its order.
    pub(crate) fn answer(&self, call: &str, payload: Payload) -> Said {
        let item = Answer { ordinal: 0, from: Some(NAME.to_owned()), seq: Some(1), payload: Some(payload) };
        let answers = Answers { turn: 2, wrap_up: None, items: vec![item], inbox: Vec::new() };
        self.say(&self.delivered("pump", call, 2, write_answers(&answers)))
    }

    /// A whole call.
    pub(crate) fn change(&self, payload: Payload) -> Said {
        judge(&payload);
        let call = self.call();
        let said = self.ask(&call, payload);
        if said.element() != "apply" {
            return said;
        }
        let result = self.apply(&call, &said);
        let passed = self.answer(&call, result.payload.clone());
        assert_eq!(passed.payload, result.payload);
        passed
    }

    pub(crate) fn set(&self, elements: &str) -> Said {
        self.change(change_set(elements))
    }

    /// A whole call that must be done.
    pub(crate) fn done(&self, elements: &str) -> Said {
        let said = self.set(elements);
        assert_eq!(said.outcome(), "done", "{}", said.text());
        said
    }

    /// A call that must be refused with that code.
    pub(crate) fn refused(&self, elements: &str, code: &str) -> String {
        let files = self.files();
        let said = self.set(elements);
        assert_eq!(said.outcome(), "refused", "{elements}: {}", said.text());
        let results = said.results();
        assert!(
            results.iter().any(|result| result.1 == "refused" && result.2 == code),
            "{elements}: {results:?}"
        );
        assert_eq!(self.files(), files, "nothing was made");
        results.into_iter().find(|result| result.1 == "refused").unwrap().3
    }

    pub(crate) fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }
}

impl Said {
    pub(crate) fn element(&self) -> String {
        self.payload.name().local.to_string()
    }

    pub(crate) fn attribute(&self, name: &str) -> String {
        self.payload.find_attribute(name).unwrap_or_default()
    }

    pub(crate) fn outcome(&self) -> String {
        assert_eq!(self.element(), "change-result");
        self.attribute("outcome")
    }

    pub(crate) fn is_dangerous(&self) -> bool {
        assert_eq!(self.element(), "apply", "{}", self.text());
        self.attribute("is_dangerous") == "true"
    }

    pub(crate) fn reason(&self) -> String {
        self.payload.text_of("reason").unwrap_or_default()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(self.payload.bytes()).into_owned()
    }

    /// Its results: element, outcome, code or exit, text.
    pub(crate) fn results(&self) -> Vec<(String, String, String, String)> {
        let mut found = Vec::new();
        self.children("result", |gate| {
            let get = |name: &str| gate.find_attribute(name).map(|value| value.into_owned());
            let code = get("code").or_else(|| get("exit")).unwrap_or_default();
            let row = (get("element").unwrap(), get("outcome").unwrap(), code);
            found.push((row.0, row.1, row.2, gate.text_inside().unwrap()));
        });
        found
    }

    /// The files that commands changed.
    pub(crate) fn changed(&self) -> Vec<String> {
        let mut found = Vec::new();
        self.children("changed", |gate| {
            found.push(gate.find_attribute("path").unwrap().into_owned());
            gate.skip_content().unwrap();
        });
        found
    }

    /// An attribute of each child of that name.
    pub(crate) fn each(&self, child: &str, attribute: &str) -> Vec<String> {
        let mut found = Vec::new();
        self.children(child, |gate| {
            found.push(gate.find_attribute(attribute).map(|value| value.into_owned()).unwrap_or_default());
            gate.skip_content().unwrap();
        });
        found
    }

    fn children(&self, local: &str, mut each: impl FnMut(&mut XmlGate<'_>)) {
        let mut gate = XmlGate::new_strict(self.payload.bytes(), &DocumentLimits::FROM_PUMP).unwrap();
        assert!(matches!(gate.read_step(), Ok(GateStep::Open(_))));
        while let Some(tag) = gate.read_child().unwrap() {
            if tag.local == local { each(&mut gate) } else { gate.skip_content().unwrap() }
        }
    }
}
