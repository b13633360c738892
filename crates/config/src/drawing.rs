//! Formats diagnostics for people: plain text that fits the layout, with the span underlined, the second
//! place below it, and the fix last.
//!
//! Text from the file is always escaped for the terminal. Colour is used only on request and changes no
//! columns.

use std::collections::BTreeMap;
use std::fmt;

use systole_kit::writer::make_visible;

use super::diagnostic::{Diagnostic, FileMistakes, FilePlace, Severity};
use crate::limits;
use systole_core::types::codes::Code;
use systole_show::columns::{self, width};
use systole_show::layout;

/// All diagnostics, with their number. Only the first warnings of each code are shown.
pub fn page(all: &[Diagnostic], colour: bool) -> String {
    let mut page = String::new();
    let mut warned: BTreeMap<Code, usize> = BTreeMap::new();
    for one in all {
        if one.severity() == Severity::Warning {
            let before = warned.entry(one.code).or_default();
            *before += 1;
            if *before > limits::WARNINGS {
                continue;
            }
        }
        page.extend([draw_one(one, colour), "\n".to_owned()]);
    }
    for (code, count) in warned.into_iter().filter(|(_, count)| *count > limits::WARNINGS) {
        let more = count - limits::WARNINGS;
        let words =
            format!("{more} more with {} are not shown; `check --json` has them all\n", code.as_str());
        page.push_str(&words);
    }
    page.push_str(&count_mistakes(all));
    page.push('\n');
    page
}

impl fmt::Display for FileMistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&page(&self.0, false))
    }
}

/// The numbers of mistakes and warnings, as text.
pub fn count_mistakes(all: &[Diagnostic]) -> String {
    let warnings = all.iter().filter(|one| one.severity() == Severity::Warning).count();
    match (all.len() - warnings, warnings) {
        (mistakes, 0) => columns::counted(mistakes, "mistake"),
        (0, warnings) => columns::counted(warnings, "warning"),
        (mistakes, warnings) => {
            format!("{}, {}", columns::counted(mistakes, "mistake"), columns::counted(warnings, "warning"))
        }
    }
}

/// One diagnostic, ending with a line break.
pub(super) fn draw_one(one: &Diagnostic, colour: bool) -> String {
    let pen = Pen { colour };
    let mut out = String::new();
    let severity = one.severity();
    let lead = format!("{}[{}]", severity.as_str(), one.code.as_str());
    let lines = wrap_text(&format!("{lead}: "), 4, &show_line(&one.message));
    let ink = if severity == Severity::Error { Ink::Error } else { Ink::Warning };
    for (at, line) in lines.iter().enumerate() {
        match line.strip_prefix(lead.as_str()).filter(|_| at == 0) {
            Some(rest) => out.push_str(&format!("{}{rest}\n", pen.draw(ink, &lead))),
            None => out.push_str(&format!("{line}\n")),
        }
    }
    let numbers = [Some(&one.place), one.second.as_ref().map(|second| &second.place)];
    let digits = numbers.into_iter().flatten().map(|place| place.line.to_string().len()).max().unwrap_or(1);
    excerpt(&mut out, &pen, &one.place, digits, Mark { lead: "-->", sign: "^", ink, words: "" });
    if let Some(second) = &one.second {
        let words = show_line(&second.words);
        let mark = Mark { lead: ":::", sign: "-", ink: Ink::Second, words: &words };
        excerpt(&mut out, &pen, &second.place, digits, mark);
    }
    if let Some(fix) = &one.fix {
        for (at, line) in wrap_text("  try: ", 7, &show_line(fix)).iter().enumerate() {
            match line.strip_prefix("  try:").filter(|_| at == 0) {
                Some(rest) => out.push_str(&format!("  {}{rest}\n", pen.draw(Ink::RepairKind, "try:"))),
                None => out.push_str(&format!("{line}\n")),
            }
        }
    }
    out
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&draw_one(self, false))
    }
}

/// The style of the marker at a place.
struct Mark<'a> {
    lead: &'a str,
    sign: &'a str,
    ink: Ink,
    words: &'a str,
}

fn excerpt(out: &mut String, pen: &Pen, place: &FilePlace, digits: usize, mark: Mark<'_>) {
    let gutter = " ".repeat(digits);
    let file = show_line(&place.file);
    if place.line == 0 {
        out.push_str(&format!("{gutter}{} {file}\n", pen.draw(Ink::Frame, mark.lead)));
        if !mark.words.is_empty() {
            out.push_str(&format!("{gutter} {}\n", mark.words));
        }
        return;
    }
    let number = place.line.to_string();
    let spot = format!("{file}:{number}:{}", place.column);
    let bar = pen.draw(Ink::Frame, "|");
    let excerpt = Excerpt::of(place);
    let shown_number = format!("{number:>digits$}");
    out.push_str(&format!("{gutter}{} {spot}\n", pen.draw(Ink::Frame, mark.lead)));
    out.push_str(&format!("{gutter} {bar}\n"));
    out.push_str(&format!("{} {bar} {}\n", pen.draw(Ink::Frame, &shown_number), excerpt.text));
    let signs = pen.draw(mark.ink, &mark.sign.repeat(excerpt.carets));
    let blank = " ".repeat(excerpt.indent);
    let beside = excerpt.indent + excerpt.carets + 1 + width(mark.words) <= excerpt_columns();
    let line = format!("{} {bar} {blank}{signs}", gutter.as_str());
    match mark.words {
        "" => out.push_str(&format!("{line}\n")),
        words if beside => out.push_str(&format!("{line} {}\n", pen.draw(mark.ink, words))),
        words => {
            // There is no room after the span: the words go below it, moved left as far as necessary.
            let indent = excerpt.indent.min(excerpt_columns().saturating_sub(width(words)));
            let below = format!("{} {bar} {}", gutter.as_str(), " ".repeat(indent));
            out.push_str(&format!("{line}\n{below}{}\n", pen.draw(mark.ink, words)));
        }
    }
}

/// Columns of an excerpt without its gutter.
fn excerpt_columns() -> usize {
    layout::columns().saturating_sub(limits::GUTTER)
}

/// The colours.
#[derive(Clone, Copy)]
enum Ink {
    Error,
    Warning,
    Second,
    Frame,
    RepairKind,
}

/// Draws with or without colour.
struct Pen {
    colour: bool,
}

impl Pen {
    fn draw(&self, ink: Ink, words: &str) -> String {
        let code = match ink {
            _ if !self.colour => return words.to_owned(),
            Ink::Error => "1;31",
            Ink::Warning => "1;33",
            Ink::Second => "36",
            Ink::Frame => "34",
            Ink::RepairKind => "32",
        };
        format!("\u{1b}[{code}m{words}\u{1b}[0m")
    }
}

/// The shown part of a line, with the position of the carets below it.
struct Excerpt {
    text: String,
    indent: usize,
    carets: usize,
}

impl Excerpt {
    fn of(place: &FilePlace) -> Excerpt {
        let line: Vec<char> = place.text.chars().collect();
        let start = place.column.saturating_sub(1).min(line.len());
        let length = place.span.chars().count();
        // A long line is cut so that the span is visible, with some of the text before it, and the view is
        // filled.
        let widths: Vec<usize> = (0..line.len()).map(|at| width(&shown_char(&line, at))).collect();
        let up_to = |end: usize| widths.iter().take(end).sum::<usize>();
        let in_view = up_to(line.len()) <= excerpt_columns() || up_to(start + length) < excerpt_columns() - 1;
        let back = |from: usize, room: usize| {
            let mut left = room;
            let fits = widths.iter().take(from).rev().take_while(|wide| {
                let fits = **wide <= left;
                left = left.saturating_sub(**wide);
                fits
            });
            from - fits.count()
        };
        let cut = if in_view {
            0
        } else {
            back(start, excerpt_columns() / 3).min(back(line.len(), excerpt_columns() - 2))
        };
        let mut text = String::new();
        let (mut indent, mut carets) = (0, 0);
        if cut > 0 {
            text.push('…');
            indent += 1;
        }
        let mut columns = width(&text);
        for at in cut..line.len() {
            let piece = shown_char(&line, at);
            let taken = width(&piece);
            if columns + taken >= excerpt_columns() && at + 1 < line.len() {
                text.push('…');
                break;
            }
            columns += taken;
            text.push_str(&piece);
            if at < start {
                indent += taken;
            } else if at < start + length {
                carets += taken;
            }
        }
        Excerpt { text, indent, carets: carets.max(1) }
    }
}

/// Wraps text after a lead at the right edge. A word longer than a line gets its own line.
fn wrap_text(lead: &str, indent: usize, text: &str) -> Vec<String> {
    let (mut lines, mut line, mut fresh) = (Vec::new(), lead.to_owned(), true);
    for word in text.split(' ') {
        if !fresh && width(&line) + 1 + width(word) > layout::columns() {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
            fresh = true;
        }
        if !fresh {
            line.push(' ');
        }
        line.push_str(word);
        fresh = false;
    }
    lines.push(line);
    lines
}

/// Our own text, which may contain a value, on one line and without terminal control characters. Characters
/// that were already escaped stay as they are.
fn show_line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => shown.push(' '),
            '\n' => shown.push_str("\\u{a}"),
            c => shown.push_str(&make_visible(c.encode_utf8(&mut [0; 4]))),
        }
    }
    shown
}

/// A character of a line, escaped in the same way.
fn shown_char(line: &[char], at: usize) -> String {
    match line.get(at) {
        // An unescaped backslash here would look like an escaped hidden character.
        Some('\\') if line.get(at + 1..at + 3) == Some(&['u', '{']) => "\\u{5c}".to_owned(),
        Some(c) => show_line(c.encode_utf8(&mut [0; 4])),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use systole_core::types::codes::Code;
    use systole_show::limits::COLUMNS;

    fn render(text: &str, column: usize, span: &str) -> String {
        let place =
            FilePlace { file: "organism.yaml".into(), line: 7, column, span: span.into(), text: text.into() };
        let words = "many words ".repeat(12);
        Diagnostic::new(Code::ConfigValue, place, words.trim_end(), None).to_string()
    }

    #[test]
    fn no_rendered_line_passes_80_columns_and_the_stretch_is_in_view() {
        let text = format!("{}HERE{}", "x ".repeat(100), " y".repeat(100));
        let shown = render(&text, 201, "HERE");
        assert!(shown.lines().all(|l| l.chars().count() <= COLUMNS), "{shown}");
        let carets = shown.lines().last().unwrap();
        let line = shown.lines().rev().nth(1).unwrap();
        let at = carets.chars().position(|c| c == '^').unwrap();
        assert_eq!(line.chars().skip(at).take(4).collect::<String>(), "HERE");
    }

    /// Characters of double width, and characters that are escaped for the terminal.
    #[test]
    fn a_stretch_behind_wide_letters_is_in_view() {
        for wide in ["語", "\u{1b}"] {
            let text = format!("{}HERE{}", wide.repeat(50), wide.repeat(9));
            let shown = render(&text, 51, "HERE");
            let carets = shown.lines().last().unwrap();
            let line = shown.lines().rev().nth(1).unwrap();
            let at = line.find("HERE").map(|at| width(&line[..at]));
            assert_eq!(at, carets.find('^'), "{shown}");
            assert!(shown.lines().all(|l| width(l) <= COLUMNS), "{shown}");
        }
    }

    #[test]
    fn row_20_nothing_reaches_a_terminal_unescaped() {
        let shown = render("a\u{1b}]0;x\u{7}\u{202e}b", 1, "a");
        assert!(shown.contains("a\\u{1b}]0;x\\u{7}\\u{202e}b"), "{shown}");
        assert!(render("a\\u{1b}", 1, "a").contains("a\\u{5c}u{1b}"), "what looks like an escape is none");
        assert!(render("a\u{ad}b\u{e0041}", 1, "a").contains("a\\u{ad}b\\u{e0041}"));
    }

    #[test]
    fn colour_changes_no_column() {
        let place =
            |line| FilePlace { file: "f".into(), line, column: 3, span: "b".into(), text: "a b c".into() };
        let told = Diagnostic::new(Code::ConfigValue, place(9), &"word ".repeat(30), Some("repair"));
        let told = told.seeing(place(12), "here");
        let (plain, coloured) = (draw_one(&told, false), draw_one(&told, true));
        let mut stripped = String::new();
        for part in coloured.split("\u{1b}[") {
            stripped.push_str(part.split_once('m').filter(|_| !stripped.is_empty()).map_or(part, |p| p.1));
        }
        assert!(coloured.starts_with("\u{1b}[1;31merror[config.value]\u{1b}[0m: word"), "{coloured}");
        assert_eq!(stripped.trim_start_matches("1;31m"), plain);
        assert!(!plain.contains('\u{1b}'));
    }
}
