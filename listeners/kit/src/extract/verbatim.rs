//! Text that a model wrote without escaping it, in an element whose schema allows no child elements.
//!
//! A raw character is every `&` that begins none of the five entities and no character reference, and every `<` that
//! begins no CDATA section. Content with raw characters and without entities and CDATA is taken as written. It never
//! guesses where text ends: content that mixes both, or that holds a tag which may end it, is refused. The markup of
//! a block comes in; the edits that escape it, or a problem, go out.

use super::events::{ProblemSlug, TextProblem};
use super::ground::ContentGround;
use super::names::{ElementRole, KnownNames, NameMeaning};
use super::origin::MarkupEdit;
use super::outline::ElementHead;
use super::stream_buffer::HeldText;
use super::tag::{TagReading, TagScan, find_local};
use crate::{DocumentLimits, Place, gate, writer};

/// The unescaped text of a block.
#[derive(Debug)]
pub(super) enum VerbatimBlock {
    /// Nothing.
    None,
    /// An element with this name holds only text and has no end tag in the block.
    Open(String),
    /// Text that is taken as written.
    Taken(VerbatimText),
    /// Text that cannot be accepted.
    Refused(Box<TextProblem>),
}

/// Text that is taken as written.
#[derive(Debug, Default)]
pub(super) struct VerbatimText {
    /// The edits that escape it, in the order of the markup.
    pub(super) edits: Vec<MarkupEdit>,
    /// The elements that hold it.
    pub(super) elements: Vec<VerbatimElement>,
}

/// An element whose text is taken as written.
#[derive(Debug, Clone)]
pub(super) struct VerbatimElement {
    /// Its name as written.
    pub(super) name: String,
    /// Its first raw character, in bytes of the markup.
    pub(super) raw: usize,
    /// Where it has ended, in bytes of the markup.
    pub(super) end: usize,
}

/// Looks for raw characters in the text of a whole block.
pub(super) fn find_raw_signs(
    names: &KnownNames,
    limits: &DocumentLimits,
    raw: &str,
    start: Place,
) -> VerbatimBlock {
    let role = ElementHead::read(raw).and_then(|head| match names.find_meaning(head.local) {
        NameMeaning::Group { local, .. } => names.find_role(&local),
        NameMeaning::Wrapper | NameMeaning::Unknown => None,
    });
    let is_plain = match role {
        Some(ElementRole::Thinking | ElementRole::Thought) => true,
        // The markup in a result is its text if it can be read.
        Some(ElementRole::Completion) => gate::check_document(raw.as_bytes(), limits).is_ok(),
        _ => !raw.bytes().skip(1).any(|byte| matches!(byte, b'<' | b'&')),
    };
    if is_plain {
        return VerbatimBlock::None;
    }
    let held = HeldText::from_bytes(raw.as_bytes(), Place::START);
    let mut walk = VerbatimWalk { names, raw, start, held, open: Vec::new(), taken: VerbatimText::default() };
    match walk.read_block() {
        Ok(()) if walk.taken.edits.is_empty() => VerbatimBlock::None,
        Ok(()) => VerbatimBlock::Taken(walk.taken),
        Err(WalkStop::Open(name)) => VerbatimBlock::Open(name),
        Err(WalkStop::Refused(problem)) => VerbatimBlock::Refused(problem),
    }
}

/// The suggested fix for text that cannot be accepted.
pub(super) const FIX: &str = "put the text into <![CDATA[…]]>";

/// Unescaped text, together with another fault that needs a fix.
pub(super) fn describe_combined(element: &str, place: Place, what: &str) -> TextProblem {
    let message = format!("the text of <{element}> holds an unescaped < or &, and {what}");
    TextProblem::new(ProblemSlug::Malformed, place, message)
        .with_element(element)
        .with_fix(format!("{FIX}, and correct the other"))
}

/// The first end tag of that name without a start tag. The count starts again at each of these ends.
pub(super) fn find_unmatched(held: &HeldText, name: &str, ends: &[usize]) -> Option<usize> {
    let (name, mut open, mut ends) = (find_local(name.as_bytes()), 0_usize, ends.iter().peekable());
    let mut at = **ends.peek()?;
    while let Some(less) = held.find_byte(at, b'<') {
        while ends.next_if(|end| **end <= less).is_some() {
            open = 0;
        }
        at = less + 1;
        let Some((tag, end)) = read_tag(held, less).filter(|(tag, _)| find_local(tag.name(held)) == name)
        else {
            continue;
        };
        at = end;
        match (tag.closes, tag.empty) {
            (true, _) if open == 0 => return Some(less),
            (true, _) => open -= 1,
            (false, true) => {}
            (false, false) => open += 1,
        }
    }
    None
}

/// The tag that begins at a `<`, and its end.
fn read_tag(held: &HeldText, at: usize) -> Option<(TagReading, usize)> {
    let mut tag = TagReading::begin_at(held, at).ok()??;
    loop {
        match tag.read_on(held) {
            TagScan::Named => {}
            TagScan::Whole(end) => return Some((tag, end)),
            TagScan::More | TagScan::Broken(_) => return None,
        }
    }
}

struct VerbatimWalk<'n> {
    names: &'n KnownNames,
    raw: &'n str,
    start: Place,
    held: HeldText,
    /// The open elements with their names as written.
    open: Vec<(&'n str, ContentGround)>,
    taken: VerbatimText,
}

/// Why reading the markup stops.
enum WalkStop {
    Open(String),
    Refused(Box<TextProblem>),
}

impl VerbatimWalk<'_> {
    fn read_block(&mut self) -> Result<(), WalkStop> {
        let mut at = 0;
        while let Some(less) = self.held.find_byte(at, b'<') {
            let rest = self.raw.get(less..).unwrap_or_default();
            let aside = [("<!--", "-->"), ("<![CDATA[", "]]>")].into_iter().find(|it| rest.starts_with(it.0));
            if let Some((begins, ends)) = aside {
                // An aside that does not end holds the rest of the text.
                let Some(end) = self.skip_aside(less, begins, ends) else { return Ok(()) };
                at = end;
                continue;
            }
            let Some((tag, end)) = read_tag(&self.held, less) else {
                at = less + 1;
                continue;
            };
            at = end;
            let name = tag.name_in(self.raw);
            if tag.closes {
                if let Some(depth) = self.open.iter().rposition(|(open, _)| *open == name) {
                    self.open.truncate(depth);
                }
            } else if !tag.empty {
                let markup = self.raw.get(less..end).unwrap_or_default();
                let ground = match self.open.last() {
                    Some((_, around)) => around.enter(self.names, markup),
                    None => ContentGround::from_element(self.names, markup),
                };
                if ground.is_text() {
                    at = self.read_text(name, end, &ground)?;
                } else {
                    self.open.push((name, ground));
                }
            }
            if self.open.is_empty() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The end of a comment or a CDATA section that begins here.
    fn skip_aside(&self, at: usize, begins: &str, ends: &str) -> Option<usize> {
        let inside = self.raw.get(at..)?.strip_prefix(begins)?;
        Some(at + begins.len() + inside.find(ends)? + ends.len())
    }

    /// Reads the text of an element from `from` on, and returns where the element has ended.
    fn read_text(&mut self, name: &str, from: usize, ground: &ContentGround) -> Result<usize, WalkStop> {
        let (mut at, mut has_cdata) = (from, false);
        let (to, end) = loop {
            let less = self.held.find_byte(at, b'<');
            let less = less.ok_or_else(|| WalkStop::Open(name.to_owned()))?;
            at = less + 1;
            if let Some(end) = self.skip_aside(less, "<![CDATA[", "]]>") {
                (at, has_cdata) = (end, true);
                continue;
            }
            match read_tag(&self.held, less) {
                None if self.raw.get(less..).is_some_and(|rest| rest.starts_with("<![CDATA[")) => {
                    return Err(WalkStop::Open(name.to_owned()));
                }
                Some((tag, end)) if tag.closes && tag.name(&self.held) == name.as_bytes() => {
                    break (less, end);
                }
                _ => {}
            }
        };
        let content = self.raw.get(from..to).unwrap_or_default();
        let signs = SpecialSigns::from_content(content);
        let Some(first) = signs.raw.first().copied() else { return Ok(end) };
        if matches!(ground, ContentGround::Spoken) {
            let raw = signs.raw.iter().map(|at| escape_at(content, *at, from));
            self.taken.edits.extend(raw);
            return Ok(end);
        }
        if has_cdata || signs.entity {
            let with = if has_cdata { "a CDATA section" } else { "entities" };
            let message = format!("the text of <{name}> mixes an unescaped < or & with {with}");
            let fix = "put the whole text into one <![CDATA[…]]>";
            return Err(WalkStop::Refused(Box::new(
                self.describe_refusal(name, from + first, message).with_fix(fix),
            )));
        }
        if let Some((at, tag)) = self.tag_in(name, from, to) {
            let message = format!("<{tag}> is in the text of <{name}>, so the end of that text is uncertain");
            return Err(WalkStop::Refused(Box::new(self.describe_refusal(name, at, message).with_fix(FIX))));
        }
        let signs = content.match_indices(['<', '>', '&', '\r']);
        self.taken.edits.extend(signs.map(|(at, _)| escape_at(content, at, from)));
        self.taken.elements.push(VerbatimElement { name: name.to_owned(), raw: from + first, end });
        Ok(end)
    }

    fn describe_refusal(&self, name: &str, at: usize, message: String) -> TextProblem {
        let place = self.start.move_past(self.raw.as_bytes().get(..at).unwrap_or_default());
        TextProblem::new(ProblemSlug::Malformed, place, message).with_element(name)
    }

    /// A tag in the text with the name of the element itself, a sibling, an ancestor or anything known.
    fn tag_in(&self, name: &str, from: usize, to: usize) -> Option<(usize, String)> {
        let content = HeldText::from_bytes(self.held.slice(from, to), Place::START);
        let mut at = 0;
        while let Some(less) = content.find_byte(at, b'<') {
            at = less + 1;
            let Some((tag, _)) = read_tag(&content, less) else { continue };
            let written = String::from_utf8_lossy(find_local(tag.name(&content))).into_owned();
            let is_open = |open: &str| find_local(open.as_bytes()) == written.as_bytes();
            let is_sibling = self.open.last().is_some_and(|(_, around)| around.allows(&written));
            let is_around = is_open(name) || self.open.iter().any(|(open, _)| is_open(open));
            if is_sibling || is_around || !self.names.find_elements(&written).is_empty() {
                let slash = if tag.closes { "/" } else { "" };
                return Some((from + less, format!("{slash}{written}")));
            }
        }
        None
    }
}

/// The special characters of a content outside of CDATA sections.
#[derive(Debug, Default)]
struct SpecialSigns {
    /// The raw characters.
    raw: Vec<usize>,
    entity: bool,
}

impl SpecialSigns {
    fn from_content(content: &str) -> Self {
        let (mut signs, mut at) = (Self::default(), 0);
        while let Some(found) = content.get(at..).and_then(|rest| rest.find(['<', '&'])) {
            let here = at + found;
            let rest = content.get(here..).unwrap_or_default();
            at = here + 1;
            let cdata = rest.strip_prefix("<![CDATA[").and_then(|inside| inside.find("]]>"));
            match cdata {
                Some(length) => at = here + "<![CDATA[".len() + length,
                None if is_entity(rest) => signs.entity = true,
                None => signs.raw.push(here),
            }
        }
        signs
    }
}

/// Whether text begins with one of the five entities or a character reference.
fn is_entity(text: &str) -> bool {
    let Some(inside) = text.strip_prefix('&') else { return false };
    if ["amp;", "lt;", "gt;", "quot;", "apos;"].iter().any(|name| inside.starts_with(name)) {
        return true;
    }
    let Some(number) = inside.strip_prefix('#') else { return false };
    let (digits, radix) = number.strip_prefix('x').map_or((number, 10), |hex| (hex, 16));
    let rest = digits.trim_start_matches(|sign: char| sign.is_digit(radix));
    rest.len() < digits.len() && rest.starts_with(';')
}

/// The edit that escapes the character at an offset of content that begins at `from`.
fn escape_at(content: &str, at: usize, from: usize) -> MarkupEdit {
    let mut with = Vec::new();
    writer::escape(&mut with, content.get(at..at + 1).unwrap_or_default(), false);
    MarkupEdit { part: from + at..from + at + 1, with: String::from_utf8_lossy(&with).into_owned() }
}
