//! The gate: reads one document step by step and refuses it if it is not well-formed or breaks a limit.
//!
//! quick-xml finds the tokens; the gate checks what quick-xml lets pass. One pass, no recursion, memory bounded by
//! the document. It repairs nothing, resolves nothing outside the document, and does not judge by schema. Bytes
//! come in; steps, or the first [`Fault`] with its place, go out.

use quick_xml::errors::IllFormedError;
use quick_xml::events::Event;
use quick_xml::reader::Reader;

use crate::attributes::{TagAttribute, TagFlaw};
use crate::place::{Fault, Place, PlaceFinder, cut_excerpt};
use crate::scope::{NamespaceBinding, NamespaceScope};
use crate::{DocumentLimits, characters, codes};

mod content;
mod doorstep;
mod gate_messages;
mod plain;
mod tag;

pub(crate) use doorstep::SHORTER;

/// Checks only that `document` is one well-formed document within `limits`.
///
/// # Errors
/// The first error in it.
pub fn check_document(document: &[u8], limits: &DocumentLimits) -> Result<(), Fault> {
    let mut gate = XmlGate::new_strict(document, limits)?;
    while gate.read_step()? != GateStep::Done {}
    Ok(())
}

/// One step of the reading. The gate skips comments, since no value depends on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateStep<'d> {
    /// An element begins; its attributes are at [`XmlGate::attributes`] until the next step.
    Open(XmlTag<'d>),
    /// The innermost open element ends.
    Close,
    /// A part of a text. One value may come in many parts.
    Text(GateText<'d>),
    /// A processing instruction; only from a lenient gate, which has noted the fault.
    Instruction,
    /// The document has ended as it should.
    Done,
}

/// A part of a text, as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateText<'d> {
    /// Plain text between markup.
    Plain(&'d str),
    /// The content of a CDATA section.
    Literal(&'d str),
    /// The character of a reference.
    Character(char),
}

impl GateText<'_> {
    /// Adds this part as a parser reads it.
    pub fn append_to(&self, value: &mut String) {
        match self {
            Self::Plain(text) | Self::Literal(text) => value.push_str(&characters::line_ends(text)),
            Self::Character(character) => value.push(*character),
        }
    }

    /// Whether it is all white space.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        match self {
            Self::Plain(text) | Self::Literal(text) => text.chars().all(characters::is_white),
            Self::Character(character) => characters::is_white(*character),
        }
    }
}

/// The start of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct XmlTag<'d> {
    /// The prefix, empty if there is none.
    pub prefix: &'d str,
    /// The local name.
    pub local: &'d str,
    /// The offset of its `<`, in bytes of the document.
    pub offset: usize,
    pub(crate) binding: Option<usize>,
}

impl XmlTag<'_> {
    /// Where its name ends, in bytes of the document.
    pub(crate) fn name_end(&self) -> usize {
        let colon = usize::from(!self.prefix.is_empty());
        self.offset + 1 + self.prefix.len() + colon + self.local.len()
    }
}

/// A reader that yields only well-formed content within the limits.
///
/// A *strict* gate ends at the first fault. A *lenient* gate notes a fault that leaves the structure readable (a
/// limit, a processing instruction, a namespace mistake) and reads on. So the reader of the reply can refuse one
/// item alone. A fault that breaks the structure ends a lenient gate too.
#[derive(Debug)]
pub struct XmlGate<'d> {
    document: &'d str,
    limits: DocumentLimits,
    reader: Reader<&'d [u8]>,
    /// How many bytes were read past the tokeniser in total, and whether reading past it is allowed now. It is not
    /// allowed right after a text, because the tokeniser then expects markup.
    passed: usize,
    may_pass: bool,
    scope: NamespaceScope<'d>,
    attributes: Vec<TagAttribute<'d>>,
    /// The names of the open elements, outermost first.
    open: Vec<&'d str>,
    /// How many of the open elements do not count for the depth limit.
    floor: usize,
    lenient: bool,
    noted: Option<Fault>,
    ruler: PlaceFinder<'d>,
    from: usize,
    to: usize,
    closes_next: bool,
    root_seen: bool,
    broken: bool,
}

impl<'d> XmlGate<'d> {
    /// A gate that ends at the first fault.
    ///
    /// # Errors
    /// If the document is too large, is not UTF-8, or holds a character that XML forbids.
    pub fn new_strict(document: &'d [u8], limits: &DocumentLimits) -> Result<Self, Fault> {
        Self::new(document, limits, limits.message_bytes, false)
    }

    /// A gate for a reply: it uses the size limit of a reply, and it reads on after faults that spoil only one
    /// item.
    pub(crate) fn new_lenient(document: &'d [u8], limits: &DocumentLimits) -> Result<Self, Fault> {
        Self::new(document, limits, limits.reply_bytes, true)
    }

    fn new(document: &'d [u8], limits: &DocumentLimits, most: usize, lenient: bool) -> Result<Self, Fault> {
        let text = doorstep::decode_text(document, most)?;
        let mut reader = Reader::from_str(text);
        let config = reader.config_mut();
        config.enable_all_checks(true);
        config.allow_dangling_amp = false;
        // The tokeniser does not see some tags, so only the gate knows which are open.
        config.check_end_names = false;
        config.allow_unmatched_ends = true;
        Ok(Self {
            document: text,
            limits: *limits,
            reader,
            passed: 0,
            may_pass: false,
            scope: NamespaceScope::new(),
            attributes: Vec::new(),
            open: Vec::with_capacity(8),
            floor: 0,
            lenient,
            noted: None,
            ruler: PlaceFinder::new(document),
            from: 0,
            to: 0,
            closes_next: false,
            root_seen: false,
            broken: false,
        })
    }

    /// Reads on to the next step. After [`GateStep::Done`] it keeps returning that.
    ///
    /// # Errors
    /// The fault that ends the reading; nothing useful follows it.
    pub fn read_step(&mut self) -> Result<GateStep<'d>, Fault> {
        let step = self.read_next();
        self.broken |= step.is_err();
        step
    }

    /// The attributes of the element that the last step opened, without namespace declarations.
    #[must_use]
    pub fn attributes(&self) -> &[TagAttribute<'d>] {
        &self.attributes
    }

    /// The value of the attribute `local` without a prefix, of the element that the last step opened.
    #[must_use]
    pub fn find_attribute(&self, local: &str) -> Option<std::borrow::Cow<'d, str>> {
        self.attributes
            .iter()
            .find(|found| found.prefix.is_empty() && found.local == local)
            .map(TagAttribute::value)
    }

    /// The namespace of an element while it is open; `None` if it is in none.
    #[must_use]
    pub fn find_namespace(&self, tag: &XmlTag<'d>) -> Option<&str> {
        self.resolve_binding(tag.binding)
    }

    /// The namespace of an attribute of the element that the last step opened; `None` if it is in none.
    #[must_use]
    pub fn attribute_ns(&self, attribute: &TagAttribute<'d>) -> Option<&str> {
        self.resolve_binding(attribute.binding)
    }

    /// How many elements are open.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.open.len()
    }

    /// Where the last step begins, in bytes of the document.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.from
    }

    /// The place of an offset in the document.
    pub fn find_place(&mut self, offset: usize) -> Place {
        self.ruler.find_place(offset)
    }

    /// A fault at an offset of this document.
    pub fn make_fault(&mut self, code: &'static str, message: impl Into<Box<str>>, offset: usize) -> Fault {
        Fault::new(code, message, self.ruler.find_place(offset))
    }

    /// Where the last step ends, in bytes of the document.
    pub(crate) fn end(&self) -> usize {
        self.to
    }

    pub(crate) fn limits(&self) -> &DocumentLimits {
        &self.limits
    }

    pub(crate) fn cut_source(&self, from: usize, to: usize) -> &'d str {
        // The tokeniser's offsets are character boundaries, since all markup is ASCII. If one were ever wrong, the
        // empty text would be refused later, and the process would not panic.
        self.document.get(from..to).unwrap_or_default()
    }

    pub(crate) fn read_binding(&self, number: usize) -> Option<&NamespaceBinding<'d>> {
        self.scope.find_binding(number)
    }

    pub(crate) fn find_binding(&self, prefix: &str) -> Option<usize> {
        self.scope.find_prefix(prefix)
    }

    pub(crate) fn declared_here(&self) -> usize {
        self.scope.declared_at(self.open.len())
    }

    /// Counts the depth limit from the element that is `floor` + 1 deep.
    pub(crate) fn set_floor(&mut self, floor: usize) {
        self.floor = floor;
    }

    /// Whether the structure is broken, so that nothing more can be read.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken
    }

    /// The first fault that a lenient gate noted since the last call.
    pub(crate) fn take_fault(&mut self) -> Option<Fault> {
        self.noted.take()
    }

    /// Reads on until fewer than `depth` elements are open.
    pub(crate) fn skip_out_of(&mut self, depth: usize) -> Result<(), Fault> {
        while self.open.len() >= depth {
            self.read_step()?;
        }
        Ok(())
    }

    /// Refuses something without losing the structure: a strict gate ends here, a lenient gate notes the fault.
    pub(crate) fn refuse_at(
        &mut self,
        offset: usize,
        fault: impl FnOnce(Place) -> Fault,
    ) -> Result<(), Fault> {
        if self.lenient {
            if self.noted.is_none() {
                self.noted = Some(fault(self.ruler.find_place(offset)));
            }
            return Ok(());
        }
        self.broken = true;
        Err(fault(self.ruler.find_place(offset)))
    }

    fn resolve_binding(&self, binding: Option<usize>) -> Option<&str> {
        self.scope.find_binding(binding?).map(|binding| &*binding.uri).filter(|uri| !uri.is_empty())
    }

    fn read_next(&mut self) -> Result<GateStep<'d>, Fault> {
        if self.closes_next {
            self.closes_next = false;
            self.from = self.to;
            return Ok(self.close_element());
        }
        loop {
            self.from = self.to;
            if let Some(step) = self.plain_step() {
                return step;
            }
            let event = match self.reader.read_event() {
                Ok(event) => event,
                Err(error) => return Err(self.report_syntax(&error)),
            };
            self.to = self.in_document(self.reader.buffer_position());
            self.may_pass = !matches!(event, Event::Text(_));
            match event {
                Event::Start(_) => return self.open_element(1),
                Event::Empty(_) => {
                    self.closes_next = true;
                    return self.open_element(2);
                }
                Event::End(end) => return self.end_tag(end.name().into_inner()),
                Event::Text(_) => {
                    if let Some(text) = self.read_plain()? {
                        return Ok(GateStep::Text(text));
                    }
                }
                Event::CData(_) => {
                    // Nine bytes of `<![CDATA[` before it and three of `]]>` after it.
                    let text = GateText::Literal(self.cut_source(self.from + 9, self.to - 3));
                    return self.check_inside(text);
                }
                Event::GeneralRef(_) => return self.read_reference(),
                Event::Comment(_) => {}
                Event::Decl(_) if self.from == 0 => self.check_declaration()?,
                Event::PI(_) | Event::Decl(_) => {
                    self.refuse_at(self.from, gate_messages::refuse_instruction)?;
                    return Ok(GateStep::Instruction);
                }
                Event::DocType(_) => {
                    return Err(gate_messages::refuse_doctype(self.ruler.find_place(self.from)));
                }
                Event::Eof => return self.finish_document(),
            }
        }
    }

    /// The tokeniser's offset in the document.
    fn in_document(&self, position: u64) -> usize {
        usize::try_from(position).unwrap_or(usize::MAX).saturating_add(self.passed)
    }

    fn end_tag(&mut self, name: &str) -> Result<GateStep<'d>, Fault> {
        let innermost = self.open.last().copied();
        let wrong = match innermost {
            Some(open) if open == name => return Ok(self.close_element()),
            Some(open) => {
                IllFormedError::MismatchedEndTag { expected: open.to_owned(), found: name.to_owned() }
            }
            None => IllFormedError::UnmatchedEndTag(name.to_owned()),
        };
        Err(gate_messages::explain_syntax(&wrong.into(), innermost, self.ruler.find_place(self.from)))
    }

    fn close_element(&mut self) -> GateStep<'d> {
        self.scope.leave_element(self.open.len());
        self.open.pop();
        GateStep::Close
    }

    /// The text that was read last, which must not hold `]]>`.
    fn read_cdata(&mut self) -> Result<&'d str, Fault> {
        let text = self.cut_source(self.from, self.to);
        // A search for one byte rules out most texts.
        let bracket = text.find(']');
        if let Some(at) = bracket.and_then(|from| Some(from + text.get(from..)?.find("]]>")?)) {
            let place = self.ruler.find_place(self.from + at);
            return Err(Fault::new(codes::MALFORMED, "]]> stands in text", place).with_fix("write ]]&gt;"));
        }
        Ok(text)
    }

    /// Text between markup. Outside the root only white space is allowed, and it has no meaning.
    fn read_plain(&mut self) -> Result<Option<GateText<'d>>, Fault> {
        let text = self.read_cdata()?;
        if self.open.is_empty() && text.chars().all(characters::is_white) {
            return Ok(None);
        }
        match self.check_inside(GateText::Plain(text))? {
            GateStep::Text(text) => Ok(Some(text)),
            _ => Ok(None),
        }
    }

    fn check_inside(&mut self, text: GateText<'d>) -> Result<GateStep<'d>, Fault> {
        if self.open.is_empty() {
            let source = self.cut_source(self.from, self.to);
            let skipped = source.len() - source.trim_start_matches(characters::is_white).len();
            let place = self.ruler.find_place(self.from + skipped);
            return Err(gate_messages::outside_root(source, self.root_seen, place));
        }
        Ok(GateStep::Text(text))
    }

    fn read_reference(&mut self) -> Result<GateStep<'d>, Fault> {
        let written = self.cut_source(self.from + 1, self.to - 1);
        match characters::resolve_reference(written) {
            Some(character) => self.check_inside(GateText::Character(character)),
            None => Err(gate_messages::unknown_reference(written, self.ruler.find_place(self.from))),
        }
    }

    fn check_declaration(&mut self) -> Result<(), Fault> {
        // Five bytes of `<?xml` before the declarations and two of `?>` after them.
        let declared = self.cut_source(self.from + 5, self.to - 2);
        doorstep::check_declaration(declared, 5).map_err(|flaw| self.report_flaw(flaw))
    }

    fn finish_document(&mut self) -> Result<GateStep<'d>, Fault> {
        let end = self.document.len();
        if let Some(innermost) = self.open.last() {
            let innermost = cut_excerpt(innermost);
            let message = format!("the document ends inside <{innermost}>");
            return Err(self
                .make_fault(codes::MALFORMED, message, end)
                .with_fix(format!("close it with </{innermost}>")));
        }
        if !self.root_seen {
            let fault = self.make_fault(codes::MALFORMED, "the document holds no element", end);
            return Err(fault.with_expected("exactly one element"));
        }
        Ok(GateStep::Done)
    }

    fn report_flaw(&mut self, flaw: TagFlaw) -> Fault {
        let fault = self.make_fault(codes::MALFORMED, flaw.message, flaw.offset);
        match flaw.fix {
            Some(fix) => fault.with_fix(fix),
            None => fault,
        }
    }

    fn report_syntax(&mut self, error: &quick_xml::Error) -> Fault {
        let offset = self.in_document(self.reader.error_position());
        let innermost = self.open.last().copied();
        gate_messages::explain_syntax(error, innermost, self.ruler.find_place(offset))
    }
}
