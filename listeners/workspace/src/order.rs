//! `<apply>`: what a change set comes to, exactly. The workspace sends it to itself, so that the pump records it and
//! a person can approve it.
//!
//! A value comes in and a payload goes out, or the other way round. A payload that says something twice or leaves
//! something out is no order.

use systole_kit::gate::{GateStep, XmlGate};
use systole_kit::writer::XmlWriter;
use systole_kit::{DocumentLimits, Payload, namespaces};

use crate::hash::hash_bytes;
use crate::text::pieces::EditPiece;

/// Everything that will happen, and nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ApplyOrder {
    pub(crate) change: String,
    pub(crate) summary: Option<String>,
    /// The elements of the change set, in order.
    pub(crate) elements: Vec<String>,
    pub(crate) is_dangerous: bool,
    pub(crate) edits: Vec<OrderedEdit>,
    pub(crate) commands: Vec<OrderedCommand>,
}

/// A change of one file. Several of one file follow one another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OrderedEdit {
    /// Which element it belongs to, from 1.
    pub(crate) of: usize,
    /// From the root, without links.
    pub(crate) path: String,
    /// The hash of the file before. `None` if it is not there.
    pub(crate) before: Option<String>,
    /// The hash afterwards. `None` if it is deleted.
    pub(crate) after: Option<String>,
    pub(crate) is_executable: bool,
    pub(crate) repaired: Option<String>,
    pub(crate) pieces: Vec<EditPiece>,
}

/// A command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OrderedCommand {
    pub(crate) of: usize,
    pub(crate) text: String,
    /// From the root, or [`SESSION_FOLDER`].
    pub(crate) folder: String,
    pub(crate) session: Option<String>,
    /// The lines that set the variables of its session, if that keeps any. A later command of the same session in one
    /// set has none here: it starts with the variables that the command before it leaves.
    pub(crate) variables: Option<String>,
    pub(crate) is_install: bool,
}

/// The folder of a command that follows another one of the same session in its set.
pub(crate) const SESSION_FOLDER: &str = "(where the session is)";

impl OrderedEdit {
    /// What it does to its file.
    pub(crate) fn kind(&self) -> &'static str {
        match (&self.before, &self.after) {
            (None, _) => "create",
            (Some(_), None) => "delete",
            (Some(_), Some(_)) => "change",
        }
    }

    fn write_edit(&self, inside: &mut XmlWriter) {
        let tag = inside.open("edit").attr("of", &self.of.to_string()).attr("path", &self.path);
        let tag = tag.attr("kind", self.kind()).attr_if("before", self.before.as_deref());
        let tag = tag.attr_if("after", self.after.as_deref());
        let is_executable = self.is_executable && self.before.is_none();
        let tag = tag.attr_if("executable", is_executable.then_some("true"));
        tag.attr_if("repaired", self.repaired.as_deref()).content(|inside| {
            for piece in &self.pieces {
                inside.open("piece").attr("line", &piece.line.to_string()).content(|inside| {
                    for (name, text) in [("was", &piece.was), ("now", &piece.now)] {
                        if !text.is_empty() {
                            inside.open(name).text(text);
                        }
                    }
                });
            }
        });
    }

    fn read_edit(gate: &mut XmlGate<'_>) -> Option<OrderedEdit> {
        let kind = read_attribute(gate, "kind")?;
        let mut edit = OrderedEdit {
            of: read_number(gate, "of")?,
            path: read_attribute(gate, "path")?,
            before: read_attribute(gate, "before"),
            after: read_attribute(gate, "after"),
            is_executable: read_attribute(gate, "executable").is_some_and(|value| value == "true"),
            repaired: read_attribute(gate, "repaired"),
            pieces: Vec::new(),
        };
        while let Some(tag) = gate.read_child().ok()? {
            if tag.local != "piece" {
                return None;
            }
            let line = read_number(gate, "line")?;
            let mut piece = EditPiece { line, was: String::new(), now: String::new() };
            while let Some(part) = gate.read_child().ok()? {
                let text = gate.text_inside().ok()?;
                match part.local {
                    "was" if piece.was.is_empty() => piece.was = text,
                    "now" if piece.now.is_empty() => piece.now = text,
                    _ => return None,
                }
            }
            edit.pieces.push(piece);
        }
        (edit.kind() == kind).then_some(edit)
    }
}

impl OrderedCommand {
    fn write_command(&self, inside: &mut XmlWriter) {
        let kind = if self.is_install { "install" } else { "shell" };
        let tag = inside.open("command").attr("of", &self.of.to_string()).attr("folder", &self.folder);
        let tag = tag.attr_if("session", self.session.as_deref());
        tag.attr_if("variables", self.variables.as_deref()).attr("kind", kind).text(&self.text);
    }

    fn read_command(gate: &mut XmlGate<'_>) -> Option<OrderedCommand> {
        let (of, folder) = (read_number(gate, "of")?, read_attribute(gate, "folder")?);
        let (session, kind) = (read_attribute(gate, "session"), read_attribute(gate, "kind")?);
        let variables = read_attribute(gate, "variables");
        let text = gate.text_inside().ok()?;
        Some(OrderedCommand { of, text, folder, session, variables, is_install: kind == "install" })
    }
}

impl ApplyOrder {
    pub(crate) fn to_payload(&self) -> Option<Payload> {
        let mut writer = XmlWriter::new();
        let tag = writer.open("apply").xmlns(namespaces::WORKSPACE).attr("change", &self.change);
        let tag = tag.attr_if("summary", self.summary.as_deref()).attr("elements", &self.elements.join(" "));
        let tag = tag.attr("is_dangerous", if self.is_dangerous { "true" } else { "false" });
        tag.content(|inside| {
            self.edits.iter().for_each(|edit| edit.write_edit(inside));
            self.commands.iter().for_each(|command| command.write_command(inside));
        });
        Payload::from_trusted(writer.finish().into()).ok()
    }

    /// A hash of everything that it says.
    pub(crate) fn hash(&self) -> String {
        hash_bytes(self.to_payload().as_ref().map_or(&[][..], |payload| payload.bytes()))
    }

    /// Reads an order. `None` if the payload is none.
    pub(crate) fn from_payload(payload: &Payload) -> Option<ApplyOrder> {
        let name = payload.name();
        if &*name.ns != namespaces::WORKSPACE || &*name.local != "apply" {
            return None;
        }
        let mut gate = XmlGate::new_strict(payload.bytes(), &DocumentLimits::FROM_PUMP).ok()?;
        let GateStep::Open(_) = gate.read_step().ok()? else { return None };
        let elements = read_attribute(&gate, "elements")?;
        let mut order = ApplyOrder {
            change: read_attribute(&gate, "change")?,
            summary: read_attribute(&gate, "summary"),
            elements: elements.split(' ').filter(|name| !name.is_empty()).map(str::to_owned).collect(),
            is_dangerous: read_attribute(&gate, "is_dangerous")? == "true",
            ..ApplyOrder::default()
        };
        while let Some(tag) = gate.read_child().ok()? {
            match tag.local {
                "edit" if order.commands.is_empty() => order.edits.push(OrderedEdit::read_edit(&mut gate)?),
                "command" => order.commands.push(OrderedCommand::read_command(&mut gate)?),
                _ => return None,
            }
        }
        let is_known = |of: usize| (1..=order.elements.len()).contains(&of);
        let all =
            order.edits.iter().map(|edit| edit.of).chain(order.commands.iter().map(|command| command.of));
        (all.into_iter().all(is_known) && is_change(&order.change)).then_some(order)
    }
}

/// Whether a text can be the id of a change set: it becomes a name in the folder of the journal.
pub(crate) fn is_change(text: &str) -> bool {
    let rest = text.strip_prefix('c').unwrap_or_default();
    rest.len() == 12 && rest.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn read_attribute(gate: &XmlGate<'_>, name: &str) -> Option<String> {
    gate.find_attribute(name).map(std::borrow::Cow::into_owned)
}

fn read_number(gate: &XmlGate<'_>, name: &str) -> Option<usize> {
    read_attribute(gate, name)?.parse().ok().filter(|number| *number > 0)
}
