//! Fits text into columns: measures, cuts and wraps it, after making everything hostile visible.
//!
//! It lets no control character, escape or override of direction through, and makes no line wider than requested. Any
//! text comes in; lines for a terminal go out. Escapes for colour are our own and take no column. If the layout has
//! no width, nothing is cut and nothing is broken.

use std::fmt::Display;

use systole_kit::writer::make_visible;
use unicode_width::UnicodeWidthChar as _;

use super::layout;
use systole_core::types::ids::ThreadId;

/// The begin and end of an escape for colour.
const ESCAPE: char = '\u{1b}';
const ESCAPE_END: char = 'm';
const PLAIN: &str = "\u{1b}[0m";

/// The columns that a character takes. It errs towards too many: combining marks count one, and pictures that some
/// terminals show in double width count two.
fn columns_of(c: char) -> usize {
    match c {
        '\u{231A}'..='\u{24FF}'
        | '\u{25A0}'..='\u{27BF}'
        | '\u{2B00}'..='\u{2BFF}'
        | '\u{1F000}'..='\u{1FAFF}' => 2,
        _ => c.width().unwrap_or(0).max(1),
    }
}

/// The characters of a text with the columns that each takes; zero inside an escape for colour.
fn measured(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let mut escaping = false;
    text.char_indices().map(move |(at, c)| {
        escaping |= c == ESCAPE;
        let columns = if escaping { 0 } else { columns_of(c) };
        escaping &= c != ESCAPE_END;
        (at, columns)
    })
}

/// A number with its noun: `1 record`, `2 records`.
pub fn counted<N: Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    let end = if number == N::from(1) { "" } else { "s" };
    format!("{number} {noun}{end}")
}

/// The columns that a text takes.
pub fn width(text: &str) -> usize {
    measured(text).map(|(_, columns)| columns).sum()
}

/// The text on one line: hidden characters shown, white space collapsed to one blank.
pub fn plain(text: &str) -> String {
    make_visible(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text, or its longest beginning that fits, with `…` after a cut. For names; `cut_counted` is for words.
pub fn cut(text: &str, columns: usize) -> String {
    if layout::is_whole() { text.to_owned() } else { cut_always(text, columns) }
}

/// The same in every layout, for a place of a fixed width.
pub fn cut_always(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let kept = beginning(text, columns.saturating_sub(1));
    let (mark, end) = (if columns > 0 { "…" } else { "" }, if kept.contains(ESCAPE) { PLAIN } else { "" });
    format!("{kept}{mark}{end}")
}

/// The text, or its longest beginning that fits, followed by the number of missing characters.
pub fn cut_counted(text: &str, columns: usize) -> String {
    if layout::is_whole() || width(text) <= columns {
        return text.to_owned();
    }
    let all = measured(text).filter(|(_, columns)| *columns > 0).count();
    // The number has at most as many digits as the number of all characters.
    let room = columns.saturating_sub(format!("… ({all} more)").len() - 2);
    let kept = beginning(text, room);
    let lost = all - measured(kept).filter(|(_, columns)| *columns > 0).count();
    let plain = if kept.contains(ESCAPE) { PLAIN } else { "" };
    cut(&format!("{kept}{plain}… ({lost} more)"), columns)
}

/// The longest beginning that fits.
pub fn beginning(text: &str, columns: usize) -> &str {
    let mut taken = 0;
    let end = measured(text).find(|(_, wide)| {
        taken += wide;
        taken > columns
    });
    end.map_or(text, |(at, _)| text.get(..at).unwrap_or_default())
}

/// The longest end that fits.
pub fn ending(text: &str, columns: usize) -> &str {
    let mut taken = 0;
    let start = text.char_indices().rev().find(|(_, c)| {
        taken += columns_of(*c);
        taken > columns
    });
    start.map_or(text, |(at, c)| text.get(at + c.len_utf8()..).unwrap_or_default())
}

/// A thread's id within that many columns; a long id keeps its root and its last labels.
pub fn thread(id: &ThreadId, columns: usize) -> String {
    let text = id.as_str();
    if layout::is_whole() || width(text) <= columns {
        return text.to_owned();
    }
    let head = columns.saturating_sub(1).min(11);
    format!("{}…{}", beginning(text, head), ending(text, columns.saturating_sub(1 + head)))
}

/// The text after `lead`, wrapped at blanks so that no line is wider than the layout; later lines are indented by
/// `indent`. A word wider than a line is broken.
pub fn wrapped(lead: &str, indent: usize, text: &str) -> Vec<String> {
    wrapped_in(layout::columns(), lead, indent, text)
}

/// The same within that many columns.
pub fn wrapped_in(columns: usize, lead: &str, indent: usize, text: &str) -> Vec<String> {
    let indent = indent.min(columns / 2);
    let mut lines = Vec::new();
    let mut line = cut(lead, columns - columns / 4);
    // Blanks between words are kept, except at a line break.
    let mut gap = usize::from(!lead.is_empty() && !lead.ends_with(' ') && !text.starts_with(' '));
    // The width of the line so far: where there is no limit, a line may have a megabyte.
    let mut used = width(&line);
    for word in text.split(' ') {
        if word.is_empty() {
            gap += 1;
            continue;
        }
        let mut rest = word;
        // A word that fits on no line gains nothing from its own line.
        let wide = width(rest);
        let fits_alone = indent + wide <= columns;
        if gap > 0 && fits_alone && used + gap + wide > columns {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
            (gap, used) = (0, indent);
        }
        let blanks = gap.min(columns.saturating_sub(used));
        line.push_str(&" ".repeat(blanks));
        used += blanks;
        loop {
            let part = beginning(rest, columns.saturating_sub(used));
            if part.len() == rest.len() {
                break;
            }
            line.push_str(part);
            rest = rest.get(part.len()..).unwrap_or_default();
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
            used = indent;
        }
        line.push_str(rest);
        used += width(rest);
        gap = 1;
    }
    lines.push(line);
    lines
}

/// At most that many lines; the last one says how much more there was.
pub fn at_most(lines: usize, mut all: Vec<String>) -> Vec<String> {
    if all.len() <= lines {
        return all;
    }
    let characters = |line: &String| line.trim().chars().count();
    let mut lost: usize = all.drain(lines..).map(|line| characters(&line)).sum();
    if let Some(last) = all.last_mut() {
        // Leaves room for the words after it, with a number as large as a payload can need.
        let kept = cut(last, layout::columns().saturating_sub(27));
        let kept = kept.trim_end_matches(['…', ' ']);
        lost += characters(last).saturating_sub(kept.trim().chars().count());
        *last = format!("{kept} … {lost} more characters");
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_is_shown_on_one_line() {
        let shown = plain("a\u{1b}[31mred\u{1b}[0m\r\nb\u{202e}c\u{0}\t d");
        assert_eq!(shown, "a\\u{1b}[31mred\\u{1b}[0m\\u{d} b\\u{202e}c\\u{0} d");
    }

    #[test]
    fn a_cut_never_passes_the_width() {
        for text in ["", "abc", "日本語のテキスト", &"x".repeat(200), "a日b本c語"] {
            for columns in 0..20 {
                assert!(width(&cut(text, columns)) <= columns, "{text} in {columns}");
            }
        }
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("日本語", 6), "日本語");
    }

    #[test]
    fn words_that_are_cut_say_how_many_characters_are_missing() {
        assert_eq!(cut_counted("a text that is far too long for it", 20), "a text th… (25 more)");
        assert_eq!(cut_counted("short", 20), "short");
        for columns in 0..60 {
            let shown = cut_counted(&"日本語 word ".repeat(20), columns);
            assert!(width(&shown) <= columns, "{shown} in {columns}");
        }
    }

    #[test]
    fn colour_takes_no_column_and_ends_where_the_text_is_cut() {
        let red = layout::by_word(layout::TextTone::Bad, "refused for a long reason");
        assert_eq!(width(&red), 25);
        assert_eq!(cut(&red, 9), "\u{1b}[31mrefused\u{1b}[0m \u{1b}[31m…\u{1b}[0m");
        assert_eq!(wrapped_in(11, "", 0, &red).iter().map(|line| width(line)).max(), Some(11));
    }

    #[test]
    fn wrapping_keeps_every_word_and_the_width() {
        let text = format!("one two  three {} four 日本語のテキスト five", "long".repeat(30));
        for columns in 20..60 {
            let lines = wrapped_in(columns, "lead: ", 4, &text);
            assert!(lines.iter().all(|line| width(line) <= columns), "{columns}: {lines:?}");
            let words: String = lines.concat().split_whitespace().collect();
            let wanted: String = format!("lead: {text}").split_whitespace().collect();
            assert_eq!(words, wanted);
        }
    }

    #[test]
    fn a_long_thread_id_keeps_its_root_and_its_end() {
        let id = ThreadId::parse("sess-1f0c9a2b77d1.research.deeper.deepest").unwrap();
        assert_eq!(thread(&id, 24), "sess-1f0c9a…eper.deepest");
        assert_eq!(width(&thread(&id, 24)), 24);
        assert_eq!(thread(&id.root_of(), 24), "sess-1f0c9a2b77d1");
    }
}
