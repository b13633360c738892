//! Lines of Markdown, as far as it decides what is code: fences, what a paragraph ends at, and what may stand before
//! a fence because it lies in a list or a quotation.
//!
//! Never renders anything. Bytes of a line come in; what the line is goes out.

/// The most lists inside one another that are kept apart.
const LISTS: usize = 16;

/// Where the content of the open list items begins, outermost first.
#[derive(Debug, Default)]
pub(super) struct Lists {
    columns: Vec<usize>,
}

impl Lists {
    /// Takes a line that is no code.
    pub(super) fn pass(&mut self, line: &[u8]) {
        let indent = blanks(line);
        if line.get(indent).is_none_or(u8::is_ascii_whitespace) {
            return;
        }
        self.columns.retain(|column| *column <= indent);
        if let Some(width) =
            marker(line.get(indent..).unwrap_or_default()).filter(|_| self.columns.len() < LISTS)
        {
            self.columns.push(indent + width);
        }
    }

    /// Whether a fence may stand so far to the right.
    fn allow(&self, indent: usize) -> bool {
        indent <= 3 || self.columns.iter().any(|column| (*column..=*column + 3).contains(&indent))
    }
}

/// An open fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fence {
    pub(super) sign: u8,
    pub(super) length: usize,
    /// In how many quotations it stands.
    pub(super) quotes: usize,
}

/// In how many quotations a fence stands that has this before it on its line; none if it cannot be a fence.
pub(super) fn before_fence(prefix: &[u8], lists: &Lists) -> Option<usize> {
    let (mut rest, mut quotes) = (prefix, 0);
    loop {
        let indent = blanks(rest);
        let after = rest.get(indent..)?;
        match after.first() {
            None => {
                return (quotes > 0 || lists.allow(indent) || rest.len() < prefix.len()).then_some(quotes);
            }
            Some(b'>') => {
                quotes += 1;
                rest = after.get(1..)?;
            }
            Some(_) => rest = after.get(marker(after)?..)?,
        }
    }
}

/// What a line is to a fence that is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line {
    Inside,
    Closes,
    /// The quotation around the fence has ended before this line.
    Outside,
}

impl Fence {
    pub(super) fn line(&self, line: &[u8], lists: &Lists) -> Line {
        let mut rest = line;
        for _ in 0..self.quotes {
            let indent = blanks(rest);
            if rest.get(indent) != Some(&b'>') {
                return Line::Outside;
            }
            rest = rest.get(indent + 1..).unwrap_or_default();
        }
        let indent = blanks(rest);
        let after = rest.get(indent..).unwrap_or_default();
        let length = after.iter().take_while(|byte| **byte == self.sign).count();
        let is_bare = after.get(length..).unwrap_or_default().iter().all(u8::is_ascii_whitespace);
        let closes = length >= self.length && is_bare && (self.quotes > 0 || lists.allow(indent));
        if closes { Line::Closes } else { Line::Inside }
    }
}

/// Whether a paragraph ends before this line.
pub(super) fn ends_paragraph(line: &[u8], lists: &Lists) -> bool {
    let indent = blanks(line);
    let text = line.get(indent..).unwrap_or_default();
    let signs = |sign: u8| text.iter().take_while(|byte| **byte == sign).count();
    match text.first() {
        None | Some(b'\r' | b'\n') => true,
        Some(b'#') => {
            let level = signs(b'#');
            level <= 6 && indent <= 3 && text.get(level).is_none_or(u8::is_ascii_whitespace)
        }
        Some(b'~') => signs(b'~') >= 3 && lists.allow(indent),
        Some(b'`') => {
            let length = signs(b'`');
            length >= 3 && lists.allow(indent) && !text.get(length..).unwrap_or_default().contains(&b'`')
        }
        Some(b'-' | b'*' | b'+') => marker(text).is_some(),
        _ => false,
    }
}

/// How many columns the marker of a list item takes with the blanks after it.
fn marker(text: &[u8]) -> Option<usize> {
    let width = match text.first()? {
        b'-' | b'*' | b'+' => 1,
        _ => {
            let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let ends = matches!(text.get(digits), Some(b'.' | b')'));
            (1..=9).contains(&digits).then_some(digits + 1).filter(|_| ends)?
        }
    };
    let after = blanks(text.get(width..)?);
    (after > 0).then_some(width + after.min(4))
}

/// Blanks at the beginning; a tab counts as four.
fn blanks(text: &[u8]) -> usize {
    text.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}
