//! The payloads of a workspace: read into elements, and what a person approves in lines.
//!
//! Stored bytes come in; elements and lines go out. Everything that will happen is shown, and content cannot pass for
//! the text around it: each of its lines begins with a bar.

use systole_core::types::ids::Digest;
use systole_kit::gate::{GateStep, XmlGate};
use systole_kit::{DocumentLimits, namespaces};

use super::full;
use super::hashes::shorten_hash;
use super::hidden_characters::{MarkedCharacters, escape_unusual};
use systole_show::columns::wrapped;

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
        let mut gate = XmlGate::new_strict(body, &DocumentLimits::FROM_PUMP).ok()?;
        let mut open: Vec<ChangeElement> = Vec::new();
        loop {
            match gate.read_step().ok()? {
                GateStep::Open(tag) => {
                    if gate.find_namespace(&tag) != Some(namespaces::WORKSPACE) {
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

    /// Nothing if it has another attribute than these: what is not known is shown as it is.
    fn has_only(&self, known: &[&str]) -> Option<()> {
        self.attributes.iter().all(|(name, _)| known.contains(&name.as_str())).then_some(())
    }

    pub(super) fn hash(&self, name: &str) -> Option<Digest> {
        Digest::parse(self.attribute(name)?).ok()
    }
}

/// What an order of a workspace will do, each line after `indent` blanks. `None` for another payload, and for one with
/// something unknown in it.
pub(super) fn order_lines(body: &[u8], indent: usize) -> Option<Vec<String>> {
    let root = ChangeElement::read(body).filter(|root| root.local == "apply")?;
    root.has_only(&["xmlns", "change", "summary", "elements", "is_dangerous"])?;
    let mut order = OrderLines { indent, lines: Vec::new(), marked: MarkedCharacters::new() };
    let change = order.quote_value(root.attribute("change")?);
    let summary = root.attribute("summary").map(|summary| order.quote_value(summary));
    order.head(&format!("change {change}{}", summary.map(|words| format!(": {words}")).unwrap_or_default()));
    for child in &root.children {
        match child.local.as_str() {
            "edit" => order.edit(child)?,
            "command" => {
                child.has_only(&["of", "folder", "session", "variables", "kind"])?;
                let folder = order.quote_value(child.attribute("folder")?);
                let session = child.attribute("session").map(|name| order.quote_value(name));
                if let Some(variables) = child.attribute("variables") {
                    order.head(&format!("session {} keeps:", session.as_deref()?));
                    order.lines.extend(full::text_lines(variables.trim_end_matches('\n'), indent));
                }
                let session = session.map(|name| format!(" in session {name}")).unwrap_or_default();
                let does = if child.attribute("kind")? == "install" { "installs" } else { "runs" };
                order.head(&format!("{does} in {folder}{session}:"));
                order.lines.extend(full::text_lines(&child.text, indent));
            }
            _ => return None,
        }
    }
    order.lines.extend(full::look_closely(&order.marked, indent));
    Some(order.lines)
}

/// Lines that say what will happen. Values stand in quotes, and their own lines begin with a bar.
struct OrderLines {
    indent: usize,
    lines: Vec<String>,
    marked: MarkedCharacters,
}

impl OrderLines {
    /// A value in quotes, in which nothing is hidden, and nothing looks like the start of a line of content.
    fn quote_value(&mut self, value: &str) -> String {
        let mut shown = String::from("\"");
        for character in escape_unusual(value, &mut self.marked).chars() {
            match character {
                '"' => shown.push_str("\\\""),
                '\n' | '\u{2502}' | '\u{250a}' | '\u{2800}' => shown.extend(character.escape_unicode()),
                other => shown.push(other),
            }
        }
        shown.push('"');
        shown
    }

    fn head(&mut self, words: &str) {
        let blanks = " ".repeat(self.indent);
        self.lines.extend(wrapped(&blanks, self.indent + 2, words));
    }

    fn edit(&mut self, edit: &ChangeElement) -> Option<()> {
        edit.has_only(&["of", "path", "kind", "before", "after", "executable", "repaired"])?;
        let path = self.quote_value(edit.attribute("path")?);
        let mut head = format!("{}s {path}", edit.attribute("kind")?);
        for (name, lead) in [("before", "from"), ("after", "to")] {
            if let Some(hash) = edit.hash(name) {
                head.push_str(&format!(", {lead} {}", shorten_hash(&hash.to_string())));
            }
        }
        if edit.attribute("executable") == Some("true") {
            head.push_str(", executable");
        }
        if let Some(repaired) = edit.attribute("repaired") {
            head.push_str(&format!("; repaired: {}", self.quote_value(repaired)));
        }
        self.head(&head);
        for piece in &edit.children {
            if piece.local != "piece" {
                return None;
            }
            piece.has_only(&["line"])?;
            let line: u64 = piece.attribute("line")?.parse().ok()?;
            self.head(&format!("at line {line}:"));
            let text = changed_lines(piece)?;
            self.lines.extend(full::text_lines(text.trim_end_matches('\n'), self.indent));
        }
        Some(())
    }
}

/// The lines of a piece, each with its sign.
fn changed_lines(piece: &ChangeElement) -> Option<String> {
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
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g2_an_order_is_shown_as_lines_with_everything_that_will_happen() {
        let body = "<apply xmlns='https://xml-pipeline.org/ns/workspace/v1' change='c1' summary='Fix it' elements='a b' is_dangerous='true'>\
            <edit of='1' path='p\u{430}y.py, from 0  │ +ok' kind='change' before='BEFORE' after='AFTER' repaired='whitespace'>\
            <piece line='2'><was>if a &lt; b:\n</was><now>if a > b:</now></piece></edit>\
            <command of='2' folder='.' session='s' variables='export A=1&#10;export PATH=/x&#10;' kind='shell'>rm -r x\u{202e}\nhash 00</command></apply>";
        let body = body.replace("BEFORE", &"00".repeat(32)).replace("AFTER", &"99".repeat(32));
        let lines = order_lines(body.as_bytes(), 2).unwrap();
        let wanted = [
            "  change \"c1\": \"Fix it\"",
            "  changes \"p\\u{430}y.py, from 0  \\u{2502} +ok\", from 000000000000, to",
            "    999999999999; repaired: \"whitespace\"",
            "  at line 2:",
            "  │ -if a < b:",
            "  │ +if a > b:",
            "  │ \\ no line break at the end",
            "  session \"s\" keeps:",
            "  │ export A=1",
            "  │ export PATH=/x",
            "  runs in \".\" in session \"s\":",
            "  │ rm -r x\\u{202e}",
            "  │ hash 00",
        ];
        assert_eq!(lines[..13], wanted, "{lines:#?}");
        assert!(lines[13].contains("changes the direction"), "{lines:#?}");
        assert!(lines[14].contains("looks like a Latin one"), "{lines:#?}");
        assert!(order_lines(b"<a xmlns='urn:x'/>", 2).is_none());
        let odd = body.replace("<command", "<other").replace("</command", "</other");
        assert!(order_lines(odd.as_bytes(), 2).is_none(), "what is not known is shown as it is");
        let odd = body.replace("kind='shell'", "kind='shell' as='root'");
        assert!(order_lines(odd.as_bytes(), 2).is_none(), "nor is an attribute left out");
    }
}
