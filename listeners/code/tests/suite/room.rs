//! A folder with files, and a listener that reads it.

use std::path::Path;
use std::sync::Arc;

use systole_code::{CodeListener, CodeSpec};
use systole_kit::gate::{GateStep, XmlGate};
use systole_kit::reply::ReplyContent;
use systole_kit::{DocumentLimits, Payload, namespaces};
use tempfile::TempDir;

/// The root is a folder inside a temporary one, so that there is something outside it.
pub(crate) struct Room {
    pub(crate) around: TempDir,
    pub(crate) listener: Arc<CodeListener>,
}

/// An answer: its element, its attributes, and its hits or messages.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) element: String,
    payload: Payload,
}

impl Room {
    pub(crate) fn new(files: &[(&str, &str)]) -> Room {
        Room::denying(files, &[])
    }

    pub(crate) fn denying(files: &[(&str, &str)], deny: &[&str]) -> Room {
        let around = tempfile::tempdir().unwrap();
        let root = around.path().join("root");
        std::fs::create_dir(&root).unwrap();
        for (path, text) in files {
            write(&root.join(path), text.as_bytes());
        }
        let deny = deny.iter().map(|pattern| (*pattern).to_owned()).collect();
        let spec = CodeSpec { root, deny };
        Room { around, listener: Arc::new(CodeListener::new(&spec).unwrap()) }
    }

    pub(crate) fn root(&self) -> std::path::PathBuf {
        self.around.path().join("root")
    }

    pub(crate) async fn ask(&self, element: &'static str, fields: &[(&'static str, &str)]) -> Answer {
        let payload = Payload::write(namespaces::CODE, element, |inside| {
            fields.iter().for_each(|(name, value)| inside.open(*name).text(value));
        });
        match self.listener.clone().answer_to(payload).await {
            ReplyContent::Items(items) => {
                let payload = items[0].payload.clone().unwrap();
                Answer { element: payload.name().local.to_string(), payload }
            }
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn search(&self, query: &str) -> Answer {
        self.ask("search", &[("query", query)]).await
    }

    pub(crate) async fn extract(&self, path: &str) -> Answer {
        self.ask("extract", &[("file_path", path)]).await
    }
}

pub(crate) fn write(path: &Path, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

impl Answer {
    pub(crate) fn attribute(&self, name: &str) -> String {
        self.payload.find_attribute(name).unwrap_or_default()
    }

    pub(crate) fn text(&self) -> String {
        self.payload.text()
    }

    /// Its hits, as `file:first-last`.
    pub(crate) fn places(&self) -> Vec<String> {
        self.children("hit").into_iter().map(|(place, _)| place).collect()
    }

    /// The texts of its hits.
    pub(crate) fn texts(&self) -> Vec<String> {
        self.children("hit").into_iter().map(|(_, text)| text).collect()
    }

    pub(crate) fn nearest(&self) -> Vec<String> {
        self.children("nearest").into_iter().map(|(_, text)| text).collect()
    }

    /// The code of a fault, with its message and its fix.
    pub(crate) fn fault(&self) -> (String, String, String) {
        assert_eq!(self.element, "code-error", "{self:?}");
        let text = |name: &str| self.payload.text_of(name).unwrap_or_default();
        (self.attribute("code"), text("message"), text("fix"))
    }

    fn children(&self, local: &str) -> Vec<(String, String)> {
        let mut gate = XmlGate::new_strict(self.payload.bytes(), &DocumentLimits::FROM_PUMP).unwrap();
        assert!(matches!(gate.read_step(), Ok(GateStep::Open(_))));
        let mut found = Vec::new();
        while let Some(tag) = gate.read_child().unwrap() {
            let is_meant = tag.local == local;
            let get =
                |name: &str| gate.find_attribute(name).map(|value| value.into_owned()).unwrap_or_default();
            let place = format!("{}:{}-{}", get("file"), get("first"), get("last"));
            let text = gate.text_inside().unwrap();
            found.extend(is_meant.then_some((place, text)));
        }
        found
    }
}
