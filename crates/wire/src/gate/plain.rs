//! Text, references, and tags that hold only a short plain name, as most do: read without the tokeniser, at a
//! fraction of its cost.
//!
//! A megabyte may hold three hundred thousand of them. Everything else is left to the tokeniser, so this module
//! decides nothing about structure. A gate inside the root comes in; a step goes out, or none.

use super::{GateStep, GateText, XmlGate, XmlTag, gate_messages};
use crate::place::Fault;

/// What a tag does.
enum PlainKind {
    Opens,
    Closes,
    /// Opens and closes, like `<a/>`.
    Stands,
}

impl<'d> XmlGate<'d> {
    /// The next step, if the tokeniser is not needed for it. Never for the root, which decides too much.
    pub(super) fn plain_step(&mut self) -> Option<Result<GateStep<'d>, Fault>> {
        if !self.may_pass || self.open.is_empty() {
            return None;
        }
        let rest = self.document.as_bytes().get(self.from..)?;
        match rest.first()? {
            b'<' => self.plain_tag(),
            b'&' => {
                let end = memchr::memchr3(b';', b'&', b'<', rest.get(1..)?)?.saturating_add(1);
                if rest.get(end) != Some(&b';') {
                    return None;
                }
                self.pass_over(end.saturating_add(1));
                Some(self.read_reference())
            }
            _ => {
                self.pass_over(memchr::memchr2(b'<', b'&', rest)?);
                Some(self.read_cdata().map(|text| GateStep::Text(GateText::Plain(text))))
            }
        }
    }

    /// Takes the next bytes past the tokeniser.
    fn pass_over(&mut self, length: usize) {
        self.to = self.from.saturating_add(length);
        self.passed = self.passed.saturating_add(length);
        *self.reader.get_mut() = self.document.as_bytes().get(self.to..).unwrap_or_default();
    }

    fn plain_tag(&mut self) -> Option<Result<GateStep<'d>, Fault>> {
        let (kind, name, length) = read_plain_tag(self.document.get(self.from..)?)?;
        match kind {
            PlainKind::Closes if self.open.last() != Some(&name) => return None,
            _ if name.len() > self.limits.name_bytes => return None,
            _ => {}
        }
        self.pass_over(length);
        if matches!(kind, PlainKind::Closes) {
            return Some(Ok(self.close_element()));
        }
        self.closes_next = matches!(kind, PlainKind::Stands);
        Some(self.open_plain(name))
    }

    fn open_plain(&mut self, name: &'d str) -> Result<GateStep<'d>, Fault> {
        let offset = self.from;
        self.open.push(name);
        let (depth, most) = (self.open.len().saturating_sub(self.floor), self.limits.depth);
        if depth > most {
            self.refuse_at(offset, |place| gate_messages::too_deep(most, place))?;
        }
        self.attributes.clear();
        let binding = self.scope.find_prefix("");
        Ok(GateStep::Open(XmlTag { prefix: "", local: name, offset, binding }))
    }
}

/// The tag at the beginning of a text, its name, and how many bytes it has.
fn read_plain_tag(text: &str) -> Option<(PlainKind, &str, usize)> {
    let bytes = text.as_bytes();
    let from = match bytes {
        [b'<', b'/', ..] => 2,
        [b'<', ..] => 1,
        _ => return None,
    };
    let rest = bytes.get(from..)?;
    let length = rest.iter().position(|byte| !is_plain(*byte))?;
    if !rest.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_') {
        return None;
    }
    let end = from.saturating_add(length);
    let name = text.get(from..end)?;
    match bytes.get(end..)? {
        [b'>', ..] if from == 2 => Some((PlainKind::Closes, name, end.saturating_add(1))),
        [b'>', ..] => Some((PlainKind::Opens, name, end.saturating_add(1))),
        [b'/', b'>', ..] if from == 1 => Some((PlainKind::Stands, name, end.saturating_add(2))),
        _ => None,
    }
}

/// Whether a name without a prefix may hold this ASCII byte.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')
}
