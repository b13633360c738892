//! The refused text around the place that was refused, with what is wrong marked in it.
//!
//! A stored payload and a refusal's words come in; lines with numbers go out. The line and the column of a refusal count
//! in the whole document of its sender, and the log keeps the payload alone. So its path and what was received count
//! first.

use systole_kit::DocumentLimits;
use systole_kit::gate::{GateStep, XmlGate, XmlTag};

use super::shorten::shorten_text;
use crate::limits;
use systole_queries::hidden_characters::{MarkedCharacters, escape_unusual};

/// A piece of an exact text.
pub(super) struct TextPiece {
    pub(super) text: String,
    pub(super) is_marked: bool,
}

/// The lines of a text around what was refused, each with its number. A refusal names the path of an element, what was
/// received, and a place.
pub(super) fn fragment(
    text: &str,
    (path, received): (Option<&str>, Option<&str>),
    place: Option<(usize, usize)>,
) -> Vec<TextPiece> {
    let at_path = || element_at(text, path?);
    let is_element = received.is_some_and(|received| received.starts_with('<'));
    let element = is_element.then(at_path).flatten();
    let found = element.or_else(|| received_in(text, received)).or_else(at_path);
    let found = found.or_else(|| placed_in(text, place?));
    // Without a mark the beginning is shown.
    let (start, end) = found.unwrap_or_default();
    let before = text.get(..start).unwrap_or_default();
    let line = before.matches('\n').count();
    let first = line.saturating_sub(limits::LINES_AROUND);
    let told = |text: &str| escape_unusual(&shorten_text(text, limits::LINE), &mut MarkedCharacters::new());
    let (mut shown, mut offset) = (Vec::new(), 0);
    let mut add = |text: String, is_marked: bool| {
        if !text.is_empty() {
            shown.push(TextPiece { text, is_marked });
        }
    };
    for (at, whole) in text.split_inclusive('\n').enumerate() {
        let (from, to) = (offset, offset + whole.len());
        offset = to;
        if at < first || at > line + limits::LINES_AROUND {
            continue;
        }
        let one = whole.trim_end_matches(['\n', '\r']);
        let is_there = found.is_some() && at == line;
        let mark = if is_there { '>' } else { ' ' };
        let lead = if at == first { "" } else { "\n" };
        let cut =
            |place: usize| if is_there { place.clamp(from, from + one.len()) - from } else { one.len() };
        let (begins, ends) = (cut(start), cut(end));
        let part = |from: usize, to: usize| told(one.get(from..to).unwrap_or_default());
        add(format!("{lead}{mark} {:>4}  {}", at + 1, part(0, begins)), false);
        add(part(begins, ends), true);
        add(part(ends, one.len()), false);
    }
    shown
}

/// Where the text has what was received, if it has it exactly once. A long value is given only in part.
fn received_in(text: &str, received: Option<&str>) -> Option<(usize, usize)> {
    let wanted = received?.trim_end_matches('…');
    let mut all = text.match_indices(wanted).filter(|_| !wanted.is_empty());
    let (start, found) = all.next()?;
    all.next().is_none().then_some((start, start + found.len()))
}

/// Where the text has the element of a path such as `/order/line[2]` or `/search/@mode`. If other elements are in it, only
/// its start tag counts; of an attribute the attribute, or the start tag that it is missing in.
fn element_at(text: &str, path: &str) -> Option<(usize, usize)> {
    let (path, attribute) = path.split_once("/@").map_or((path, None), |(path, name)| (path, Some(name)));
    let mut steps = path.strip_prefix('/')?.split('/').map(|step| match step.split_once('[') {
        Some((name, number)) => (name, number.trim_end_matches(']').parse().unwrap_or(0)),
        None => (step, 1),
    });
    let (mut name, mut number) = steps.next()?;
    let mut gate = XmlGate::new_strict(text.as_bytes(), &DocumentLimits::FROM_PUMP).ok()?;
    // How many open elements are those of the path, how many are open, and how many siblings have the wanted name.
    let (mut matched, mut open, mut same) = (0, 0, 0);
    loop {
        match gate.read_step().ok()? {
            GateStep::Open(tag) => {
                same += usize::from(open == matched && tag.local == name);
                open += 1;
                if open == matched + 1 && tag.local == name && same == number {
                    matched = open;
                    same = 0;
                    match steps.next() {
                        Some(next) => (name, number) = next,
                        None => return part_of(text, gate, tag, attribute),
                    }
                }
            }
            GateStep::Close => open -= 1,
            GateStep::Done => return None,
            GateStep::Text(_) | GateStep::Instruction => {}
        }
        if open < matched {
            return None;
        }
    }
}

/// The part of an element to mark, right after its start tag was read.
fn part_of(
    text: &str,
    mut gate: XmlGate<'_>,
    tag: XmlTag<'_>,
    attribute: Option<&str>,
) -> Option<(usize, usize)> {
    let named = gate.attributes().iter().find(|one| Some(one.local) == attribute);
    if let Some(found) = named {
        let value = found.offset + text.get(found.offset..)?.find(['"', '\''])? + 1;
        return Some((found.offset, value + found.raw.len() + 1));
    }
    let mut step = gate.read_step().ok()?;
    let start_tag = (tag.offset, gate.offset());
    while let (GateStep::Text(_), None) = (&step, attribute) {
        step = gate.read_step().ok()?;
    }
    let GateStep::Close = step else { return Some(start_tag) };
    // An empty-element tag has no end tag.
    let end_tag = text.get(gate.offset()..)?.starts_with("</").then(|| text.get(gate.offset()..)?.find('>'));
    Some((tag.offset, gate.offset() + end_tag.flatten().map_or(0, |end| end + 1)))
}

/// The tag or the text at a place of a line, both counted from 1, if the text has that place. It ends with its line.
fn placed_in(text: &str, (line, column): (usize, usize)) -> Option<(usize, usize)> {
    let from: usize = text.split_inclusive('\n').take(line.checked_sub(1)?).map(str::len).sum();
    let whole = text.get(from..)?.split('\n').next()?.trim_end_matches('\r');
    let (start, first) = whole.char_indices().nth(column.checked_sub(1)?)?;
    let rest = whole.get(start..)?;
    let end = if first == '<' { rest.find('>').map(|end| end + 1) } else { rest.find('<') };
    Some((from + start, from + start + end.unwrap_or(rest.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, said: (Option<&str>, Option<&str>), place: Option<(usize, usize)>) -> [String; 2] {
        let pieces = fragment(text, said, place);
        let all = |marked: &dyn Fn(&&TextPiece) -> bool| {
            pieces.iter().filter(marked).map(|piece| piece.text.as_str()).collect()
        };
        [all(&|_| true), all(&|piece| piece.is_marked)]
    }

    fn placed(text: &str, place: (usize, usize)) -> String {
        let [_, marked] = shown(text, (None, None), Some(place));
        marked
    }

    fn marked(text: &str, path: &str, received: &str) -> String {
        let [_, marked] = shown(text, (Some(path), Some(received)), Some((1, 1)));
        marked
    }

    #[test]
    fn a_fragment_shows_the_line_and_marks_the_place_in_it() {
        let [all, there] = shown("a\nb\nc\ndef\ne\nf\ng", (None, None), Some((4, 2)));
        assert_eq!(all, "     2  b\n     3  c\n>    4  def\n     5  e\n     6  f");
        assert_eq!(there, "ef");
        assert_eq!(placed("\u{e9}\u{e9}x", (1, 3)), "x", "columns are characters");
        let none = ["     1  abc".to_owned(), String::new()];
        assert_eq!(
            shown("abc", (None, None), Some((1, 99))),
            none,
            "a place of another document marks nothing"
        );
        assert_eq!(shown("abc", (None, None), Some((0, 0))), none);
        assert_eq!(shown("", (None, None), Some((1, 1))), [String::new(), String::new()]);
    }

    #[test]
    fn a_place_marks_its_tag_or_its_text_alone() {
        let broken = "<search><query>heart</query><limit>50</limit></search";
        assert_eq!(placed(broken, (1, 29)), "<limit>");
        assert_eq!(placed(broken, (1, 36)), "50");
        assert_eq!(placed(broken, (1, 46)), "</search", "a tag without an end ends with its line");
    }

    #[test]
    fn what_was_received_counts_before_the_place() {
        let text = "<say><txt>x</txt></say>";
        let at = |text, received, place| {
            let [_, marked] = shown(text, (None, Some(received)), place);
            marked
        };
        assert_eq!(at(text, "<txt>x</txt>", Some((1, 133))), "<txt>x</txt>");
        assert_eq!(at(text, "<txt>x</t…", None), "<txt>x</t");
        assert_eq!(at(text, "say", Some((1, 12))), "</txt>", "it is there twice");
        assert_eq!(at("a\nb<c>\nd</c>", "<c>\nd</c>", None), "<c>", "a mark ends with its line");
        assert_eq!(at("\u{202e}z", "\u{202e}", None), "\\u{202e}");
    }

    #[test]
    fn only_the_element_of_the_path_is_marked() {
        let one = "<search><query>heart beat</query><limit>50</limit></search>";
        assert_eq!(marked(one, "/search/limit", "<limit>50</limit>"), "<limit>50</limit>");
        let twice = "<o xmlns:x=\"u\"><x:n>5</x:n><n>5</n><n>5</n></o>";
        let [all, there] = shown(twice, (Some("/o/n[3]"), Some("<n>5</n>")), Some((1, 1)));
        assert_eq!(there, "<n>5</n>");
        assert!(all.ends_with("<n>5</n><n>5</n></o>"), "{all}");
        assert_eq!(marked(twice, "/o/n[1]", "<x:n>5</x:n>"), "<x:n>5</x:n>");
        // Of an element with others in it only its start, such as when one is missing in it.
        assert_eq!(marked(one, "/search", &format!("{}…", &one[..30])), "<search>");
        assert_eq!(marked(one, "/search", one), "<search>");
        // An attribute, or the start of the element that it is missing in.
        let named = "<go><to name='a>b' way=\"x\">home</to></go>";
        assert_eq!(marked(named, "/go/to/@way", "<to name='a>b' way=\"x\">home</to>"), "way=\"x\"");
        assert_eq!(
            marked(named, "/go/to/@key", "<to name='a>b' way=\"x\">home</to>"),
            "<to name='a>b' way=\"x\">"
        );
        // A value over several lines is one line in the refusal.
        assert_eq!(marked("<a><b>one\n  two</b></a>", "/a/b", "<b>one two</b>"), "<b>one");
        assert_eq!(marked("<a><b/><c/></a>", "/a/b", "<b/>"), "<b/>");
        // A stray text has the path of the element around it.
        assert_eq!(marked("<a>hm<b/></a>", "/a", "hm"), "hm");
        // A path that the text does not have marks what the refusal says otherwise.
        assert_eq!(marked("<a><b/></a>", "/a/c", "<b/>"), "<b/>");
        assert_eq!(marked("<a><b></a>", "/a/b", "<b>"), "<b>", "a text that cannot be read");
    }
}
