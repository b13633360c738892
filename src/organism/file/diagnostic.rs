//! What is told about a mistake in the organism's file, and its one rendering for terminals.
//!
//! A diagnostic names a place and a way out. Rendering is plain text of at most 80 columns; nothing
//! from the file reaches the terminal unescaped.

use std::fmt;

use crate::words::codes::Code;

/// Columns of a rendered diagnostic.
const COLUMNS: usize = 80;
/// The longest excerpt of a line, so that the gutter and the excerpt fit into `COLUMNS`.
const EXCERPT: usize = 68;

/// A stretch of a line of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The file, as people know it.
    pub file: String,
    /// The line, from 1; 0 where the file as a whole is meant.
    pub line: usize,
    /// The column of the stretch's first character, from 1.
    pub column: usize,
    /// The stretch itself; empty where something is missing.
    pub span: String,
    /// The whole line.
    pub text: String,
}

/// One mistake.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// What sort of mistake: a `config.…` code.
    pub code: Code,
    /// Where it is.
    pub place: Place,
    /// What is wrong: the value, and what it would have to be.
    pub message: String,
    /// What to write instead, where that can be said.
    pub mend: Option<String>,
}

/// Everything that is wrong with an organism's file, in order of line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused(pub Vec<Diagnostic>);

impl std::error::Error for Refused {}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for diagnostic in &self.0 {
            writeln!(f, "{diagnostic}")?;
        }
        match self.0.as_slice() {
            [_] => writeln!(f, "1 mistake"),
            all => writeln!(f, "{} mistakes", all.len()),
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = &self.place;
        wrapped(f, "", &[self.code.as_str(), ": ", &shown(&self.message)].concat())?;
        if place.line == 0 {
            writeln!(f, " --> {}", shown(&place.file))?;
        } else {
            let number = place.line.to_string();
            let gutter = " ".repeat(number.len());
            let excerpt = Excerpt::of(place);
            writeln!(f, "{gutter}--> {}:{}:{}", shown(&place.file), place.line, place.column)?;
            writeln!(f, "{gutter} |")?;
            writeln!(f, "{number} | {}", excerpt.text)?;
            writeln!(f, "{gutter} | {}{}", " ".repeat(excerpt.indent), "^".repeat(excerpt.carets))?;
        }
        match &self.mend {
            Some(mend) => wrapped(f, "  try: ", &shown(mend)),
            None => Ok(()),
        }
    }
}

/// The part of a line that is shown, with where the carets stand below it.
struct Excerpt {
    text: String,
    indent: usize,
    carets: usize,
}

impl Excerpt {
    fn of(place: &Place) -> Excerpt {
        let line: Vec<char> = place.text.chars().collect();
        let start = place.column.saturating_sub(1).min(line.len());
        let length = place.span.chars().count();
        // A long line is cut so that the stretch stands in view with some of what precedes it, and no
        // further than the view is full.
        let in_view = line.len() <= EXCERPT || start + length < EXCERPT - 1;
        let cut = if in_view { 0 } else { start.saturating_sub(EXCERPT / 3).min(line.len() + 2 - EXCERPT) };
        let mut text = String::new();
        let (mut indent, mut carets) = (0, 0);
        if cut > 0 {
            text.push('…');
            indent += 1;
        }
        let mut columns = text.chars().count();
        for (at, c) in line.iter().enumerate().skip(cut) {
            let piece = shown_char(*c);
            let width = piece.chars().count();
            if columns + width >= EXCERPT && at + 1 < line.len() {
                text.push('…');
                break;
            }
            columns += width;
            text.push_str(&piece);
            if at < start {
                indent += width;
            } else if at < start + length {
                carets += width;
            }
        }
        Excerpt { text, indent, carets: carets.max(1) }
    }
}

/// Writes words so that no line passes the right edge; a word that is longer than a line stands alone.
fn wrapped(f: &mut fmt::Formatter<'_>, first: &str, text: &str) -> fmt::Result {
    let indent = if first.is_empty() { 4 } else { first.len() };
    f.write_str(first)?;
    let mut column = first.len();
    let mut fresh = true;
    for word in text.split(' ') {
        let width = word.chars().count();
        if !fresh && column + 1 + width > COLUMNS {
            write!(f, "\n{}", " ".repeat(indent))?;
            column = indent;
            fresh = true;
        }
        if !fresh {
            f.write_str(" ")?;
            column += 1;
        }
        f.write_str(word)?;
        column += width;
        fresh = false;
    }
    writeln!(f)
}

/// A text without anything that a terminal would obey.
fn shown(text: &str) -> String {
    text.chars().map(shown_char).collect()
}

fn shown_char(c: char) -> String {
    let steers =
        matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    match c {
        '\t' => " ".to_owned(),
        c if c.is_control() || steers => c.escape_unicode().to_string(),
        c => c.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(text: &str, column: usize, span: &str) -> String {
        Diagnostic {
            code: Code::ConfigValue,
            place: Place {
                file: "organism.yaml".into(),
                line: 7,
                column,
                span: span.into(),
                text: text.into(),
            },
            message: "many words ".repeat(12).trim_end().to_owned(),
            mend: None,
        }
        .to_string()
    }

    #[test]
    fn no_rendered_line_passes_80_columns_and_the_stretch_is_in_view() {
        let text = [&"x ".repeat(100), "HERE", &" y".repeat(100)].concat();
        let shown = render(&text, 201, "HERE");
        assert!(shown.lines().all(|l| l.chars().count() <= COLUMNS), "{shown}");
        let carets = shown.lines().last().unwrap();
        let line = shown.lines().rev().nth(1).unwrap();
        let at = carets.chars().position(|c| c == '^').unwrap();
        assert_eq!(line.chars().skip(at).take(4).collect::<String>(), "HERE");
    }

    #[test]
    fn row_20_nothing_reaches_a_terminal_unescaped() {
        let shown = render("a\u{1b}]0;x\u{7}\u{202e}b", 1, "a");
        assert!(shown.contains("a\\u{1b}]0;x\\u{7}\\u{202e}b"), "{shown}");
    }
}
