//! The lines of a file that a missing text probably means, with their numbers, for the one who wrote it.
//!
//! A file and a text come in; a few numbered lines go out. Nothing is ever changed by what this finds.

use crate::limits;

/// The lines of `text` that are most like `wanted`, each with its number. Empty for an empty file.
pub(crate) fn find_similar(text: &str, wanted: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let wanted: Vec<&str> = wanted
        .lines()
        .filter(|line| !line.trim().is_empty())
        .take(limits::NEAR_LINES)
        .map(str::trim)
        .collect();
    let Some(first) = find_best_start(&lines, &wanted) else { return String::new() };
    let from = first.saturating_sub(1);
    let count = (wanted.len() + 2).min(limits::SHOWN_LINES);
    let shown = number_lines(&lines, from, count);
    let pairs = (first + 1..).zip(lines.iter().skip(first).zip(&wanted));
    let differs = pairs
        .filter(|(_, (there, wanted))| there.trim() != **wanted)
        .map(describe_difference)
        .next()
        .flatten();
    [Some(shown), differs].into_iter().flatten().collect::<Vec<_>>().join("\n")
}

/// The first difference of two lines, as code points, if a reader could miss it: such as one character in place of a
/// letter and its accent, or a quotation mark of another form.
fn describe_difference((number, (there, wanted)): (usize, (&&str, &&str))) -> Option<String> {
    let (there, wanted) = (there.trim(), *wanted);
    let same = there.chars().zip(wanted.chars()).take_while(|(one, other)| one == other).count();
    let points = |line: &str| {
        let mut rest = line.chars().skip(same);
        let first = rest.next()?;
        let marks = rest.take_while(|c| !c.is_ascii()).take(2);
        Some(std::iter::once(first).chain(marks).collect::<Vec<char>>())
    };
    let (there, wanted) = (points(there)?, points(wanted)?);
    let codes =
        |all: &[char]| all.iter().map(|c| format!("U+{:04X}", u32::from(*c))).collect::<Vec<_>>().join(" ");
    let is_missed = !there.iter().chain(&wanted).all(char::is_ascii);
    is_missed.then(|| {
        let (there, wanted) = (codes(&there), codes(&wanted));
        format!("Line {number} has {there} where the request has {wanted}.")
    })
}

/// Some lines with their numbers.
pub(crate) fn number_lines(lines: &[&str], from: usize, count: usize) -> String {
    let shown = lines.iter().enumerate().skip(from).take(count);
    shown.map(|(at, line)| format!("{}| {}", at + 1, cut_line(line))).collect::<Vec<_>>().join("\n")
}

/// The start of a line, as far as it is shown.
fn cut_line(line: &str) -> &str {
    let end = (0..=limits::SHOWN_BYTES.min(line.len())).rev().find(|end| line.is_char_boundary(*end));
    line.get(..end.unwrap_or(0)).unwrap_or_default()
}

fn find_best_start(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    let equal = |at: usize| {
        wanted.iter().zip(lines.iter().skip(at)).filter(|(want, line)| **want == line.trim()).count()
    };
    let best = (0..lines.len()).max_by_key(|at| (equal(*at), std::cmp::Reverse(*at)))?;
    if equal(best) > 0 {
        return Some(best);
    }
    let first = collect_pairs(wanted.first().copied().unwrap_or_default());
    let alike = |line: &str| {
        let there = collect_pairs(line.trim());
        let shared = there.iter().filter(|pair| first.contains(pair)).count();
        (200 * shared).checked_div(there.len() + first.len()).unwrap_or(0)
    };
    (0..lines.len()).max_by_key(|at| (lines.get(*at).map_or(0, |line| alike(line)), std::cmp::Reverse(*at)))
}

/// The pairs of neighbouring bytes of a line.
fn collect_pairs(line: &str) -> std::collections::BTreeSet<(u8, u8)> {
    let bytes = cut_line(line).as_bytes();
    bytes.iter().copied().zip(bytes.iter().copied().skip(1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g2_the_nearest_lines_are_shown_with_their_numbers() {
        let text = "fn one() {}\nfn two() {\n    greet(\"you\");\n}\nfn three() {}\n";
        assert_eq!(find_similar(text, "    greet(\"me\");"), "2| fn two() {\n3|     greet(\"you\");\n4| }");
        assert_eq!(
            find_similar(text, "fn two() {\n  other();\n}"),
            "1| fn one() {}\n2| fn two() {\n3|     greet(\"you\");\n4| }\n5| fn three() {}"
        );
        let cafe = find_similar("a\ncafe\u{301} one\n", "caf\u{e9} one");
        assert_eq!(cafe.lines().last(), Some("Line 2 has U+0065 U+0301 where the request has U+00E9."));
        let quoted = find_similar("it\u{2019}s\n", "it's");
        assert_eq!(quoted, "1| it\u{2019}s\nLine 1 has U+2019 where the request has U+0027.");
        assert_eq!(find_similar("", "a"), "");
        assert_eq!(find_similar(text, "\n\n").lines().count(), 2);
    }
}
