//! Requests: change sets, their elements in every accepted spelling, and undos.
//!
//! Payloads that their schemas have judged come in; elements in one inner form go out, each with what is wrong in it.

mod blocks;
mod file_edit;
mod install;
mod patch;

use systole_kit::gate::{GateStep, XmlGate, XmlTag};
use systole_kit::{DocumentLimits, Fault, Payload, namespaces};

use crate::fault::{self, ElementFault};
use crate::text::document::trim_body;
pub(crate) use file_edit::{FileAction, FileEdit};

/// A request.
#[derive(Debug)]
pub(crate) enum ChangeRequest {
    Set(Vec<SetElement>),
    /// The change to take back.
    Undo(String),
}

/// An element of a change set.
#[derive(Debug)]
pub(crate) struct SetElement {
    pub(crate) name: String,
    pub(crate) asked: Result<AskedFor, ElementFault>,
}

/// What an element asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AskedFor {
    Edits(Vec<FileEdit>),
    Command(AskedCommand),
    /// A title of the whole set.
    Title(String),
}

/// A command as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AskedCommand {
    pub(crate) text: String,
    pub(crate) folder: Option<String>,
    pub(crate) session: Option<String>,
    pub(crate) is_install: bool,
    /// Its sender's own mark.
    pub(crate) is_marked: bool,
}

impl ChangeRequest {
    /// Reads a request. `None` for another payload.
    pub(crate) fn from_payload(payload: &Payload) -> Result<Option<ChangeRequest>, Fault> {
        let name = payload.name();
        match (&*name.ns, &*name.local) {
            (namespaces::WORKSPACE, "undo") => {
                Ok(Some(ChangeRequest::Undo(payload.find_attribute("change").unwrap_or_default())))
            }
            (namespaces::WORKSPACE, "change-set") => {
                let mut gate = XmlGate::new_strict(payload.bytes(), &DocumentLimits::FROM_PUMP)?;
                gate.read_step()?;
                let mut elements = Vec::new();
                while let Some(tag) = gate.read_child()? {
                    elements.push(read_element(&mut gate, &tag)?);
                }
                Ok(Some(ChangeRequest::Set(elements)))
            }
            (namespaces::COMMANDS | namespaces::PROPOSALS, _) => {
                let mut gate = XmlGate::new_strict(payload.bytes(), &DocumentLimits::FROM_PUMP)?;
                let GateStep::Open(tag) = gate.read_step()? else { return Ok(None) };
                Ok(Some(ChangeRequest::Set(vec![read_element(&mut gate, &tag)?])))
            }
            _ => Ok(None),
        }
    }
}

/// The fields of an element: its attributes, and the text or the children in it.
#[derive(Default)]
struct ElementFields {
    attributes: Vec<(String, String)>,
    text: String,
    old: String,
    new: String,
}

impl ElementFields {
    fn find_attribute(&self, name: &str) -> Option<String> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    }

    fn read_element<'d>(gate: &mut XmlGate<'d>) -> Result<ElementFields, Fault> {
        let mut written = ElementFields::default();
        for attribute in gate.attributes() {
            written.attributes.push((attribute.local.to_owned(), attribute.value().into_owned()));
        }
        loop {
            match gate.read_step()? {
                GateStep::Open(child) => {
                    let text = gate.text_inside()?;
                    match child.local {
                        "old_str" => written.old = text,
                        "new_str" => written.new = text,
                        _ => {}
                    }
                }
                GateStep::Text(text) => text.append_to(&mut written.text),
                GateStep::Close | GateStep::Done => return Ok(written),
                GateStep::Instruction => {}
            }
        }
    }
}

/// Reads the element that `gate` has just opened, to its end.
fn read_element<'d>(gate: &mut XmlGate<'d>, tag: &XmlTag<'d>) -> Result<SetElement, Fault> {
    let ns = gate.find_namespace(tag).unwrap_or_default().to_owned();
    let name = tag.local.to_owned();
    let written = ElementFields::read_element(gate)?;
    let is_known = matches!(&*ns, namespaces::COMMANDS | namespaces::PROPOSALS);
    let asked = if is_known { read_asked(&name, &written) } else { Err(refuse_unknown(&name)) };
    Ok(SetElement { name, asked })
}

fn refuse_unknown(name: &str) -> ElementFault {
    ElementFault::new(fault::UNKNOWN_ELEMENT, format!("<{name}> is no element of a change set"))
}

fn read_asked(name: &str, written: &ElementFields) -> Result<AskedFor, ElementFault> {
    let text = || trim_body(&written.text).to_owned();
    let edit = |path: &str, action: FileAction| {
        let path = written.find_attribute(path).unwrap_or_default();
        AskedFor::Edits(vec![FileEdit { path, sha256: written.find_attribute("sha256"), action }])
    };
    let replace = || FileAction::Replace {
        old: trim_body(&written.old).to_owned(),
        new: trim_body(&written.new).to_owned(),
    };
    let command = |folder: &str| AskedCommand {
        text: text(),
        folder: written.find_attribute(folder),
        session: written.find_attribute("id"),
        is_install: false,
        is_marked: written.find_attribute("is_dangerous").is_some_and(|mark| mark.trim() == "true"),
    };
    Ok(match name {
        "str_replace" => edit("path", replace()),
        "create_file" => edit("path", FileAction::Create { text: text() }),
        "patch" => AskedFor::Edits(patch_edits(&text())?),
        "shell" => AskedFor::Command(command("exec_dir")),
        "proposed_file_replace_substring" => edit("file_path", replace()),
        "proposed_file_replace" => edit("file_path", FileAction::Write { text: text() }),
        "proposed_file_insert" => {
            let line = written.find_attribute("line_number").and_then(|line| line.trim().parse().ok());
            let line = line.ok_or_else(|| ElementFault::new(fault::BAD_LINE, "line_number is no line"))?;
            edit("file_path", FileAction::Insert { line, text: text() })
        }
        "proposed_shell_command" => AskedFor::Command(command("working_directory")),
        "proposed_package_install" => AskedFor::Command(AskedCommand {
            text: install::build_command_line(
                &written.find_attribute("language").unwrap_or_default(),
                &written.find_attribute("package_list").unwrap_or_default(),
            )?,
            folder: None,
            session: None,
            is_install: true,
            is_marked: true,
        }),
        "proposed_actions" => AskedFor::Title(written.find_attribute("summary").unwrap_or_default()),
        _ => return Err(refuse_unknown(name)),
    })
}

/// The edits of a patch in one of its two forms.
fn patch_edits(text: &str) -> Result<Vec<FileEdit>, ElementFault> {
    if text.lines().any(|line| line.trim_end() == patch::BEGIN) {
        patch::read_edits(text)
    } else if let Some(fault) = patch::refuse_git_diff(text) {
        Err(fault)
    } else {
        blocks::read_edits(text)
    }
}
