//! A payload: one element, cut out of its document so that it means the same anywhere.
//!
//! These are the bytes that are judged, hashed, stored and routed. Only two things are ever written into them, both
//! right after the element's name and in order of prefix. First, the namespace declarations that the payload uses
//! but that were outside it. Second, `xmlns=""` if it has elements in no namespace and no default of its own, since
//! a carrier with a default namespace would otherwise claim them. This module does not judge by schema. A document,
//! or a gate at the element, comes in; a payload or a fault goes out.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::attributes::{AttributeWalk, TagAttribute};
use crate::gate::{GateStep, XmlGate, XmlTag};
use crate::place::{Fault, Place};
use crate::{DocumentLimits, QName, codes, namespaces, writer};

/// The self-contained bytes of one element that has passed the gate.
///
/// Two payloads are equal when their bytes are, regardless of their place. Debug output shows the name and the
/// size, never the content, which may hold something that must not reach a program's own log.
#[derive(Clone)]
pub struct Payload {
    bytes: Arc<[u8]>,
    name: QName,
    /// Where the element was in the document of its sender.
    start: Place,
    /// The range of bytes that were written into the start tag, and so have no place in the sender's document.
    graft: Range<usize>,
}

impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for Payload {}

impl fmt::Debug for Payload {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Payload({}, {} bytes)", self.name, self.bytes.len())
    }
}

impl Payload {
    /// Reads a bare payload: a document whose root is the payload. It drops an XML declaration, and comments and
    /// white space beside the root.
    ///
    /// # Errors
    /// The first error in the document.
    pub fn parse(document: &[u8], limits: &DocumentLimits) -> Result<Self, Fault> {
        let mut gate = XmlGate::new_strict(document, limits)?;
        let payload = match gate.read_step()? {
            GateStep::Open(tag) => Self::cut_from(&mut gate, tag)?,
            _ => return Err(gate.make_fault(codes::MALFORMED, "the document holds no element", 0)),
        };
        while gate.read_step()? != GateStep::Done {}
        Ok(payload)
    }

    /// Takes back bytes that were a payload's before, such as those of a stored record.
    ///
    /// It reads only the start tag again, for the name. The caller guarantees that the bytes came from
    /// [`Payload::bytes`] and were kept safe since. Bytes of any other origin go through [`Payload::parse`].
    ///
    /// # Errors
    /// If the bytes do not begin with an element in a namespace, so the store is damaged.
    pub fn from_trusted(bytes: Arc<[u8]>) -> Result<Self, Fault> {
        let name = plain_name(&bytes).map_or_else(|| first_name(&bytes), Ok)?;
        Ok(Self { bytes, name, start: Place::START, graft: 0..0 })
    }

    /// A payload fresh from the kit's own writer, with every declaration it uses on its root.
    pub(crate) fn from_composed(bytes: Vec<u8>, name: QName) -> Self {
        Self { bytes: Arc::from(bytes), name, start: Place::START, graft: 0..0 }
    }

    /// The bytes, exactly as judged, stored and routed.
    #[must_use]
    pub fn bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }

    /// Where the bytes begin that its sender wrote after the element's name: namespace declarations may have been
    /// written in before them. From there on, a document that holds the payload has the same bytes.
    #[must_use]
    pub fn after_graft(&self) -> usize {
        self.graft.end
    }

    /// The element's expanded name.
    #[must_use]
    pub fn name(&self) -> &QName {
        &self.name
    }

    /// The place of `offset` in the document as its sender wrote it. Bytes that the cut wrote in map to the end of
    /// the element's name.
    #[must_use]
    pub fn place_of(&self, offset: usize) -> Place {
        let kept = |from: usize, to: usize| self.bytes.get(from..to.max(from)).unwrap_or_default();
        let offset = offset.min(self.bytes.len());
        let head = self.start.move_past(kept(0, offset.min(self.graft.start)));
        head.move_past(kept(self.graft.end, offset))
    }

    /// The value of an attribute of the root element that is in no namespace.
    #[must_use]
    pub fn find_attribute(&self, local: &str) -> Option<String> {
        let mut gate = XmlGate::new_strict(&self.bytes, &DocumentLimits::FROM_PUMP).ok()?;
        gate.read_step().ok()?;
        gate.find_attribute(local).map(std::borrow::Cow::into_owned)
    }

    /// Whether the root element has that attribute, in no namespace, with the value `true`.
    ///
    /// Nearly no payload has such an attribute, and a search in the start tag's bytes shows that without parsing
    /// it.
    #[must_use]
    pub fn is_marked(&self, local: &str) -> bool {
        let name = local.as_bytes();
        let is_there =
            !name.is_empty() && start_tag(&self.bytes).windows(name.len()).any(|part| part == name);
        // Both forms of a schema's boolean, including the white space that a schema allows around them.
        is_there && self.find_attribute(local).is_some_and(|value| matches!(value.trim(), "true" | "1"))
    }

    /// Writes a payload: an element in a namespace, with the content that `inside` writes.
    #[must_use]
    pub fn write(ns: &str, element: &'static str, inside: impl FnOnce(&mut writer::XmlWriter)) -> Self {
        let mut writer = writer::XmlWriter::with_capacity(256);
        writer.open(element).xmlns(ns).content(inside);
        Self::from_composed(writer.finish(), QName::new(ns, element))
    }

    /// The text of the root element, up to its first child element.
    #[must_use]
    pub fn text(&self) -> String {
        self.text_at(None).unwrap_or_default()
    }

    /// The text of the first child of the root with that local name.
    #[must_use]
    pub fn text_of(&self, child: &str) -> Option<String> {
        self.text_at(Some(child))
    }

    fn text_at(&self, child: Option<&str>) -> Option<String> {
        let mut gate = XmlGate::new_strict(&self.bytes, &DocumentLimits::FROM_PUMP).ok()?;
        gate.read_step().ok()?;
        if let Some(child) = child {
            loop {
                match gate.read_step().ok()? {
                    GateStep::Open(tag) if tag.local == child => break,
                    GateStep::Open(_) => gate.skip_content().ok()?,
                    GateStep::Close | GateStep::Done => return None,
                    GateStep::Text(_) | GateStep::Instruction => {}
                }
            }
        }
        let mut value = String::new();
        while let GateStep::Text(text) = gate.read_step().ok()? {
            text.append_to(&mut value);
        }
        Some(value)
    }

    /// The payload in the root's first child element, such as the initial payload of a thread.
    ///
    /// # Errors
    /// If there is none, or it is in no namespace.
    pub fn parse_inner(&self) -> Result<Self, Fault> {
        self.parse_below(2)
    }

    /// The payload directly in the root, such as the one in a steering message.
    ///
    /// # Errors
    /// If there is none, or it is in no namespace.
    pub fn parse_child(&self) -> Result<Self, Fault> {
        self.parse_below(1)
    }

    /// The first element at that depth.
    fn parse_below(&self, depth: u32) -> Result<Self, Fault> {
        let mut gate = XmlGate::new_strict(&self.bytes, &DocumentLimits::FROM_PUMP)?;
        let mut opened = 0;
        loop {
            match gate.read_step()? {
                GateStep::Open(tag) if opened == depth => {
                    let mut inner = Self::cut_from(&mut gate, tag)?;
                    inner.start = self.place_of(tag.offset);
                    return Ok(inner);
                }
                GateStep::Open(_) => opened += 1,
                GateStep::Close | GateStep::Done => {
                    let message = format!("<{}> holds no payload", self.name.local);
                    return Err(Fault::new(codes::INVALID, message, self.start));
                }
                GateStep::Text(_) | GateStep::Instruction => {}
            }
        }
    }

    /// Cuts the element that `gate` has just opened, and reads to its end.
    ///
    /// The depth limit counts from this element. This is also the way to take a payload out of another one.
    ///
    /// # Errors
    /// The first error in it.
    pub fn cut_from<'d>(gate: &mut XmlGate<'d>, tag: XmlTag<'d>) -> Result<Self, Fault> {
        let root = gate.depth();
        let start = gate.find_place(tag.offset);
        gate.set_floor(root - 1);
        let name = match gate.find_namespace(&tag) {
            Some(ns) => QName::new(ns, tag.local),
            None => {
                gate.refuse_at(tag.offset, |place| no_namespace(tag.local, place))?;
                QName::new("", tag.local)
            }
        };
        let declared = gate.declared_here();
        let mut outside = OutsideNames::new(root);
        outside.note_tag(gate, tag);
        while gate.depth() >= root {
            if let GateStep::Open(tag) = gate.read_step()? {
                outside.note_tag(gate, tag);
            }
        }
        gate.set_floor(0);
        let end = gate.end();
        if outside.count_declarations() > 0
            && declared + outside.count_declarations() > gate.limits().declarations
        {
            let most = gate.limits().declarations;
            gate.refuse_at(tag.offset, |place| {
                let message =
                    format!("a payload uses more than {most} namespace declarations of its carrier");
                Fault::new(codes::TOO_LARGE, message, place)
                    .with_fix("declare the namespaces that it uses on the payload itself, and no others")
            })?;
        }
        let at = tag.name_end() - tag.offset;
        let (bytes, graft) = outside.written_into(gate, gate.cut_source(tag.offset, end), at);
        let (length, most) = (bytes.len(), gate.limits().message_bytes);
        if length > most {
            gate.refuse_at(tag.offset, |place| {
                let message = format!("the payload has {length} bytes, the limit is {most}");
                Fault::new(codes::TOO_LARGE, message, place)
                    .with_expected(format!("at most {most} bytes"))
                    .with_fix(crate::gate::SHORTER)
            })?;
        }
        match gate.take_fault() {
            Some(fault) => Err(fault),
            None => Ok(Self { bytes, name, start, graft: at..at + graft }),
        }
    }
}

impl writer::XmlWriter {
    /// Writes a payload, byte for byte: it means the same anywhere.
    pub fn write_payload(&mut self, payload: &Payload) {
        self.write_verbatim(payload.bytes());
    }
}

impl writer::StartTag<'_, '_> {
    /// Closes it around a payload.
    pub fn write_payload(self, payload: &Payload) {
        self.content(|inside| inside.write_payload(payload));
    }
}

/// The name of the first element of stored bytes, if it has no prefix and its namespace is declared without a
/// reference, as almost always. It judges nothing: that was done before storing.
fn plain_name(bytes: &[u8]) -> Option<QName> {
    // A start tag ends at the first `>` unless a value holds one; in that case the walk ends in a flaw.
    let end = bytes.iter().position(|byte| *byte == b'>')?;
    let tag = std::str::from_utf8(bytes.get(1..end)?).ok()?;
    let tag = tag.strip_suffix('/').unwrap_or(tag);
    let (local, rest) = tag.split_at(tag.find(char::is_whitespace)?);
    let declared =
        AttributeWalk::new(rest, 0).find(|written| written.as_ref().map_or(true, |w| w.name == "xmlns"));
    let ns = declared?.ok()?.raw;
    let plain = bytes.starts_with(b"<")
        && !local.contains(':')
        && !ns.is_empty()
        && !ns.contains(|c: char| c == '&' || c.is_whitespace());
    plain.then(|| QName::new(ns, local))
}

/// The name of the first element of stored bytes.
fn first_name(bytes: &[u8]) -> Result<QName, Fault> {
    let mut gate = XmlGate::new_strict(bytes, &DocumentLimits::FROM_PUMP)?;
    let GateStep::Open(tag) = gate.read_step()? else {
        return Err(gate.make_fault(codes::MALFORMED, "the stored bytes begin with no element", 0));
    };
    let Some(ns) = gate.find_namespace(&tag) else { return Err(no_namespace(tag.local, Place::START)) };
    Ok(QName::new(ns, tag.local))
}

fn no_namespace(local: &str, place: Place) -> Fault {
    let local = crate::place::cut_excerpt(local);
    Fault::new(codes::NO_NAMESPACE, format!("<{local}> is in no namespace"), place)
        .with_path(format!("/{local}"))
        .with_expected("the namespace of the payload, which says who takes it")
        .with_fix(format!("write <{local} xmlns=\"…\"> with the namespace of the payload"))
}

/// The outer declarations that a payload uses.
struct OutsideNames {
    /// The depth of the payload's own element in the carrier.
    root: usize,
    /// The bindings that it uses and that were declared further out.
    used: Vec<usize>,
    /// Whether an unprefixed name in it is in no namespace and the payload itself does not declare that.
    bare: bool,
}

impl OutsideNames {
    fn new(root: usize) -> Self {
        Self { root, used: Vec::new(), bare: false }
    }

    /// How many declarations must be written in.
    fn count_declarations(&self) -> usize {
        self.used.len() + usize::from(self.bare)
    }

    /// Notes what the element just opened uses: its own name, its attributes' names, and the name in `xsi:type`.
    fn note_tag(&mut self, gate: &XmlGate<'_>, tag: XmlTag<'_>) {
        self.note_name(gate, tag.prefix, tag.binding);
        for attribute in gate.attributes().iter().filter(|attribute| !attribute.prefix.is_empty()) {
            self.note_name(gate, attribute.prefix, attribute.binding);
            if attribute.local == "type" && gate.attribute_ns(attribute) == Some(namespaces::XSI) {
                self.note_type(gate, attribute);
            }
        }
    }

    fn note_type(&mut self, gate: &XmlGate<'_>, attribute: &TagAttribute<'_>) {
        let value = attribute.value();
        let prefix = value.trim().split_once(':').map_or("", |(prefix, _)| prefix);
        self.note_name(gate, prefix, gate.find_binding(prefix));
    }

    fn note_name(&mut self, gate: &XmlGate<'_>, prefix: &str, binding: Option<usize>) {
        let Some((number, bound)) = binding.and_then(|number| Some((number, gate.read_binding(number)?)))
        else {
            self.bare |= prefix.is_empty();
            return;
        };
        if bound.depth >= self.root || bound.depth == 0 {
            return;
        }
        if bound.uri.is_empty() {
            self.bare = true;
        } else if self.used.len() <= gate.limits().declarations && !self.used.contains(&number) {
            self.used.push(number);
        }
    }

    /// The source with the declarations written in at `at`, and how many bytes they take.
    fn written_into(&mut self, gate: &XmlGate<'_>, source: &str, at: usize) -> (Arc<[u8]>, usize) {
        if self.count_declarations() == 0 {
            return (Arc::from(source.as_bytes()), 0);
        }
        let mut declared: Vec<_> = self.used.iter().filter_map(|number| gate.read_binding(*number)).collect();
        declared.sort_unstable_by_key(|binding| binding.prefix);
        let (head, tail) = source.split_at_checked(at).unwrap_or((source, ""));
        let mut bytes = Vec::with_capacity(source.len() + 64 * self.count_declarations());
        bytes.extend_from_slice(head.as_bytes());
        if self.bare {
            writer::declare(&mut bytes, "", "");
        }
        for binding in declared {
            writer::declare(&mut bytes, binding.prefix, &binding.uri);
        }
        let graft = bytes.len() - head.len();
        bytes.extend_from_slice(tail.as_bytes());
        (Arc::from(bytes), graft)
    }
}

/// The bytes up to the end of the first start tag. A `>` between quotes is part of a value.
fn start_tag(bytes: &[u8]) -> &[u8] {
    let mut quote = None;
    for (at, byte) in bytes.iter().enumerate() {
        match (quote, byte) {
            (None, b'>') => return bytes.get(..at).unwrap_or_default(),
            (None, b'"' | b'\'') => quote = Some(*byte),
            (Some(open), close) if open == *close => quote = None,
            _ => {}
        }
    }
    bytes
}
