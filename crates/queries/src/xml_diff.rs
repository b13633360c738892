//! The difference between two texts, line by line. XML is laid out first, one element or text a line.
//!
//! Two texts come in; lines go out, of which a reader sees what is only in one of them.

use serde::{Serialize, Serializer};
use systole_kit::DocumentLimits;
use systole_kit::gate::{GateStep, XmlGate};

use crate::limits;

/// A line of a difference.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DiffLine {
    /// Both texts have it.
    Both(String),
    /// Only the first text has it.
    First(String),
    /// Only the second text has it.
    Second(String),
    /// So many lines are left out.
    LeftOut(usize),
}

impl Serialize for DiffLine {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

impl DiffLine {
    /// The line with its sign.
    pub fn text(&self) -> String {
        match self {
            DiffLine::Both(line) => format!("  {line}"),
            DiffLine::First(line) => format!("- {line}"),
            DiffLine::Second(line) => format!("+ {line}"),
            DiffLine::LeftOut(1) => "  … 1 line".to_owned(),
            DiffLine::LeftOut(lines) => format!("  … {lines} lines"),
        }
    }
}

/// The lines in which two texts differ, with some lines around them. Empty if the texts are equal.
pub fn difference(one: &str, other: &str) -> Vec<DiffLine> {
    if one == other {
        return Vec::new();
    }
    let (one, other) = (laid_out(one), laid_out(other));
    let before = one.iter().zip(&other).take_while(|(one, other)| one == other).count();
    let rests = (one.get(before..).unwrap_or_default(), other.get(before..).unwrap_or_default());
    let after =
        rests.0.iter().rev().zip(rests.1.iter().rev()).take_while(|(one, other)| one == other).count();
    let middle =
        |lines: &[String]| lines.get(..lines.len().saturating_sub(after)).unwrap_or_default().to_vec();
    let changed = find_changes(&middle(rests.0), &middle(rests.1));
    let both = |line: &String| DiffLine::Both(line.clone());
    let mut lines: Vec<DiffLine> = one.iter().take(before).map(both).collect();
    lines.extend(changed);
    lines.extend(rests.0.iter().skip(rests.0.len().saturating_sub(after)).map(both));
    shorten_lines(lines)
}

/// Leaves out equal lines that are far from a difference, and the end of a long difference.
fn shorten_lines(lines: Vec<DiffLine>) -> Vec<DiffLine> {
    let differs = |at: usize| !matches!(lines.get(at), Some(DiffLine::Both(_)) | None);
    let is_near =
        |at: usize| (at.saturating_sub(limits::LINES_AROUND)..=at + limits::LINES_AROUND).any(differs);
    let mut short = Vec::new();
    let mut left_out = 0;
    for (at, line) in lines.iter().enumerate() {
        if !is_near(at) || short.len() >= limits::DIFFERENCE_LINES {
            left_out += 1;
            continue;
        }
        if left_out > 0 {
            short.push(DiffLine::LeftOut(left_out));
            left_out = 0;
        }
        short.push(line.clone());
    }
    if left_out > 0 {
        short.push(DiffLine::LeftOut(left_out));
    }
    short
}

/// Two parts without a common beginning or end: their longest common lines stay, the others are marked.
fn find_changes(one: &[String], other: &[String]) -> Vec<DiffLine> {
    let is_short = one.len().max(other.len()) <= limits::COMPARED_LINES;
    let pairs = if is_short { find_shared(one, other) } else { Vec::new() };
    let (mut lines, mut at) = (Vec::new(), (0, 0));
    for (first, second) in pairs.into_iter().chain([(one.len(), other.len())]) {
        lines.extend(one.iter().take(first).skip(at.0).cloned().map(DiffLine::First));
        lines.extend(other.iter().take(second).skip(at.1).cloned().map(DiffLine::Second));
        lines.extend(one.get(first).cloned().map(DiffLine::Both));
        at = (first + 1, second + 1);
    }
    lines
}

/// The pairs of a longest common order of two lists, by their numbers.
pub(super) fn find_shared(one: &[String], other: &[String]) -> Vec<(usize, usize)> {
    let table = shared_lines(one, other);
    let width = other.len() + 1;
    let of = |row: usize, column: usize| table.get(row * width + column).copied().unwrap_or(0);
    let (mut pairs, mut at) = (Vec::new(), (0, 0));
    while let (Some(first), Some(second)) = (one.get(at.0), other.get(at.1)) {
        if first == second {
            pairs.push(at);
            at = (at.0 + 1, at.1 + 1);
        } else if of(at.0 + 1, at.1) >= of(at.0, at.1 + 1) {
            at.0 += 1;
        } else {
            at.1 += 1;
        }
    }
    pairs
}

/// How many lines the rests of both parts have in common, for each pair of rests.
fn shared_lines(one: &[String], other: &[String]) -> Vec<u32> {
    let width = other.len() + 1;
    let mut table = vec![0_u32; (one.len() + 1) * width];
    for row in (0..one.len()).rev() {
        for column in (0..other.len()).rev() {
            let of = |row: usize, column: usize| table.get(row * width + column).copied().unwrap_or(0);
            let value = if one.get(row) == other.get(column) {
                of(row + 1, column + 1) + 1
            } else {
                of(row + 1, column).max(of(row, column + 1))
            };
            if let Some(cell) = table.get_mut(row * width + column) {
                *cell = value;
            }
        }
    }
    table
}

/// The lines of a text: of XML one for each tag and text.
fn laid_out(text: &str) -> Vec<String> {
    xml_lines(text).unwrap_or_else(|| text.lines().map(str::to_owned).collect())
}

fn xml_lines(text: &str) -> Option<Vec<String>> {
    let mut gate = XmlGate::new_strict(text.as_bytes(), &DocumentLimits::FROM_PUMP).ok()?;
    let mut lines: Vec<String> = Vec::new();
    let mut open: Vec<(String, usize)> = Vec::new();
    let mut words = String::new();
    let indent = |depth: usize| "  ".repeat(depth);
    loop {
        let step = gate.read_step().ok()?;
        if let GateStep::Text(piece) = &step {
            piece.append_to(&mut words);
            continue;
        }
        let kept = words.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.extend(kept.map(|line| format!("{}{line}", indent(open.len()))));
        words.clear();
        match step {
            GateStep::Open(tag) => {
                let mut start = format!("{}<{}", indent(open.len()), tag.local);
                for attribute in gate.attributes() {
                    start.push_str(&format!(" {}=\"{}\"", attribute.local, attribute.value()));
                }
                start.push('>');
                lines.push(start);
                open.push((tag.local.to_owned(), lines.len()));
            }
            GateStep::Close => {
                let (name, after) = open.pop()?;
                let is_empty = lines.len() == after;
                match lines.last_mut().filter(|_| is_empty) {
                    Some(start) => start.insert(start.len().saturating_sub(1), '/'),
                    None => lines.push(format!("{}</{name}>", indent(open.len()))),
                }
            }
            GateStep::Text(_) | GateStep::Instruction => {}
            GateStep::Done => return Some(lines),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(one: &str, other: &str) -> Vec<String> {
        difference(one, other).iter().map(DiffLine::text).collect()
    }

    #[test]
    fn xml_is_compared_element_by_element() {
        let one = "<order n=\"1\"><item>a</item><item>b</item><end/></order>";
        let other = "<order n=\"1\"><item>a</item><item>c</item><end/></order>";
        assert_eq!(
            text(one, other),
            [
                "  … 3 lines",
                "    </item>",
                "    <item>",
                "-     b",
                "+     c",
                "    </item>",
                "    <end/>",
                "  … 1 line"
            ]
        );
        assert!(text(one, one).is_empty());
    }

    #[test]
    fn a_line_that_is_only_in_one_text_is_marked() {
        assert_eq!(text("a\nb\nc", "a\nc"), ["  a", "- b", "  c"]);
        assert_eq!(text("a\nc", "a\nb\nc"), ["  a", "+ b", "  c"]);
        assert_eq!(text("", "a"), ["+ a"]);
    }

    #[test]
    fn a_long_difference_is_cut() {
        let long = |word: &str| (0..1000).map(|n| format!("{word} {n}\n")).collect::<String>();
        let lines = difference(&long("a"), &long("b"));
        assert_eq!(lines.len(), limits::DIFFERENCE_LINES + 1);
        assert_eq!(lines.last(), Some(&DiffLine::LeftOut(2000 - limits::DIFFERENCE_LINES)));
    }
}
