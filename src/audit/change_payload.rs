//! The payloads of a workspace: read into elements, and what a person approves in lines.
//!
//! Stored bytes come in; elements and lines go out. Everything that will happen is shown, and content cannot pass for
//! the text around it: each of its lines begins with a bar.

use systole_core::types::ids::Digest;
use systole_kit::gate::{Gate, GateStep};
use systole_kit::{DocumentLimits, namespaces};

use super::columns::plain;
use super::full;

/// Digits of a hash that are enough to name it.
const DIGITS: usize = 12;

/// An element of the workspace's vocabulary, as far as it is needed here.
pub(super) struct ChangeElement {
    pub(super) local: String,
    attributes: Vec<(String, String)>,
    pub(super) text: String,
    pub(super) children: Vec<ChangeElement>,
}

impl ChangeElement {
    /// Reads a payload of the workspace; `None` for any other.
    pub(super) fn read(body: &[u8]) -> Option<ChangeElement> {
        // Most records are about something else.
        let name = namespaces::WORKSPACE.as_bytes();
        if !body.windows(name.len()).any(|here| here == name) {
            return None;
        }
        let mut gate = Gate::strict(body, &DocumentLimits::FROM_PUMP).ok()?;
        let mut open: Vec<ChangeElement> = Vec::new();
        loop {
            match gate.step().ok()? {
                GateStep::Open(tag) => {
                    if gate.ns(&tag) != Some(namespaces::WORKSPACE) {
                        return None;
                    }
                    let attributes = gate.attributes().iter();
                    let attributes = attributes.map(|one| (one.local.to_owned(), one.value().into_owned()));
                    open.push(ChangeElement {
                        local: tag.local.to_owned(),
                        attributes: attributes.collect(),
                        text: String::new(),
                        children: Vec::new(),
                    });
                }
                GateStep::Text(piece) => piece.append_to(&mut open.last_mut()?.text),
                GateStep::Close => {
                    let closed = open.pop()?;
                    match open.last_mut() {
                        Some(above) => above.children.push(closed),
                        None => return Some(closed),
                    }
                }
                GateStep::Done | GateStep::Instruction => return None,
            }
        }
    }

    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(local, _)| local == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn hash(&self, name: &str) -> Option<Digest> {
        Digest::parse(self.attribute(name)?).ok()
    }
}

/// What an order of a workspace will do, each line after `indent` blanks. `None` for another payload, and for one with
/// something unknown in it.
pub(super) fn order_lines(body: &[u8], indent: usize) -> Option<Vec<String>> {
    let root = ChangeElement::read(body).filter(|root| root.local == "apply")?;
    let blanks = " ".repeat(indent);
    let mut lines = vec![match root.attribute("summary") {
        Some(summary) => format!("{blanks}change {}: {}", plain(root.attribute("change")?), plain(summary)),
        None => format!("{blanks}change {}", plain(root.attribute("change")?)),
    }];
    for child in &root.children {
        match child.local.as_str() {
            "edit" => edit(child, indent, &mut lines)?,
            "command" => {
                let folder = plain(child.attribute("folder")?);
                let session = child.attribute("session");
                let session = session.map(|name| format!(" in session {}", plain(name))).unwrap_or_default();
                let does = if child.attribute("kind")? == "install" { "installs" } else { "runs" };
                lines.push(format!("{blanks}{does} in {folder}{session}:"));
                lines.extend(full::text_lines(&child.text, indent));
            }
            _ => return None,
        }
    }
    Some(lines)
}

fn edit(edit: &ChangeElement, indent: usize, lines: &mut Vec<String>) -> Option<()> {
    let blanks = " ".repeat(indent);
    let (kind, path) = (edit.attribute("kind")?, plain(edit.attribute("path")?));
    let mut head = format!("{blanks}{kind}s {path}");
    for (name, lead) in [("before", "from"), ("after", "to")] {
        if let Some(hash) = edit.attribute(name) {
            head.push_str(&format!(", {lead} {}", plain(hash.get(..DIGITS).unwrap_or(hash))));
        }
    }
    if edit.attribute("executable") == Some("true") {
        head.push_str(", executable");
    }
    if let Some(repaired) = edit.attribute("repaired") {
        head.push_str(&format!("; {}", plain(repaired)));
    }
    lines.push(head);
    for piece in edit.children.iter() {
        if piece.local != "piece" {
            return None;
        }
        lines.push(format!("{blanks}at line {}:", plain(piece.attribute("line")?)));
        let mut text = String::new();
        for part in &piece.children {
            let sign = match part.local.as_str() {
                "was" => '-',
                "now" => '+',
                _ => return None,
            };
            for line in part.text.split_inclusive('\n') {
                let whole = line.strip_suffix('\n');
                text.push_str(&format!("{sign}{}\n", whole.unwrap_or(line)));
                if whole.is_none() {
                    text.push_str("\\ no line break at the end\n");
                }
            }
        }
        lines.extend(full::text_lines(text.trim_end_matches('\n'), indent));
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g2_an_order_is_shown_as_lines_with_everything_that_will_happen() {
        let body = "<apply xmlns='https://xml-pipeline.org/ns/workspace/v1' change='c1' summary='Fix it' elements='a b' is_dangerous='true'>\
            <edit of='1' path='a.py' kind='change' before='0011223344556677' after='8899aabbccddeeff' repaired='whitespace'>\
            <piece line='2'><was>if a &lt; b:\n</was><now>if a > b:</now></piece></edit>\
            <command of='2' folder='.' session='s' kind='shell'>rm -r x\u{202e}\nhash 00</command></apply>";
        let lines = order_lines(body.as_bytes(), 2).unwrap();
        assert_eq!(
            lines[..7],
            [
                "  change c1: Fix it",
                "  changes a.py, from 001122334455, to 8899aabbccdd; whitespace",
                "  at line 2:",
                "  │ -if a < b:",
                "  │ +if a > b:",
                "  │ \\ no line break at the end",
                "  runs in . in session s:",
            ]
        );
        assert_eq!(lines[7..9], ["  │ rm -r x\\u{202e}", "  │ hash 00"], "{lines:#?}");
        assert!(lines[9].contains("changes the direction"), "{lines:#?}");
        assert!(order_lines(b"<a xmlns='urn:x'/>", 2).is_none());
        let odd = body.replace("<command", "<other").replace("</command", "</other");
        assert!(order_lines(odd.as_bytes(), 2).is_none(), "what is not known is shown as it is");
    }
}
