//! Lines of Markdown, as far as they decide what is code: fences, the end of a paragraph, and what may precede a
//! fence in a list or a quotation.
//!
//! It never renders anything. Bytes of a line come in; the kind of the line goes out.

/// Where the content of the open list items begins, outermost first.
#[derive(Debug, Default)]
pub(super) struct ListIndents {
    columns: Vec<usize>,
}

impl ListIndents {
    /// Handles a line that is not code.
    pub(super) fn read_line(&mut self, line: &[u8]) {
        let indent = count_blanks(line);
        if line.get(indent).is_none_or(u8::is_ascii_whitespace) {
            return;
        }
        self.columns.retain(|column| *column <= indent);
        if let Some(width) = measure_marker(line.get(indent..).unwrap_or_default())
            .filter(|_| self.columns.len() < crate::limits::LISTS)
        {
            self.columns.push(indent + width);
        }
    }

    /// Whether a line with that indentation is code.
    fn is_code(&self, columns: usize) -> bool {
        columns >= 4 && !self.allows_fence(columns)
    }

    /// Whether a fence may have that indentation.
    fn allows_fence(&self, indent: usize) -> bool {
        indent <= 3 || self.columns.iter().any(|column| (*column..=*column + 3).contains(&indent))
    }
}

/// An open fence, or lines shown without one: a quotation (its sign is `>`) or indented code (its sign is a space).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OpenFence {
    pub(super) sign: u8,
    pub(super) length: usize,
    /// The number of quotations around it.
    pub(super) quotes: usize,
}

/// The number of quotations around a fence that follows this prefix on its line. `None` if no fence can follow the
/// prefix.
pub(super) fn count_before_fence(prefix: &[u8], lists: &ListIndents) -> Option<usize> {
    let (mut rest, mut quotes) = (prefix, 0);
    loop {
        let indent = count_blanks(rest);
        let after = rest.get(indent..)?;
        match after.first() {
            None => {
                return (quotes > 0 || lists.allows_fence(indent) || rest.len() < prefix.len())
                    .then_some(quotes);
            }
            Some(b'>') => {
                quotes += 1;
                rest = after.get(1..)?;
            }
            Some(_) => rest = after.get(measure_marker(after)?..)?,
        }
    }
}

/// The fence that a line opens if nothing on it is executed: a quotation, or indented code that does not continue a
/// paragraph. The line begins with `lead`, then `sign`.
pub(super) fn find_quoted_fence(
    lead: &[u8],
    sign: u8,
    lists: &ListIndents,
    ends_paragraph: bool,
) -> Option<OpenFence> {
    let columns = count_columns(lead);
    let is_quotation = sign == b'>' && lists.allows_fence(columns);
    let is_code = ends_paragraph && lists.is_code(columns);
    (is_quotation || is_code).then(|| OpenFence::from_sign(if is_quotation { b'>' } else { b' ' }))
}

/// Where a quotation inside a list begins on this line.
pub(super) fn find_quotation(line: &[u8]) -> Option<usize> {
    let mut at = count_blanks(line);
    loop {
        let rest = line.get(at..)?;
        if rest.first() == Some(&b'>') {
            return Some(at);
        }
        at += measure_marker(rest)?;
        at += count_blanks(line.get(at..)?);
    }
}

/// Whether a line is a heading, which is a paragraph by itself.
pub(super) fn is_heading(line: &[u8]) -> bool {
    line.get(count_blanks(line)) == Some(&b'#') && is_paragraph_end(line, &ListIndents::default())
}

/// The width of leading blanks in columns. A tab moves to the next multiple of four.
fn count_columns(blanks: &[u8]) -> usize {
    blanks.iter().fold(0, |columns, blank| if *blank == b'\t' { columns / 4 * 4 + 4 } else { columns + 1 })
}

/// How a line relates to an open fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FenceLine {
    Inside,
    Closes,
    /// The quotation around the fence has ended before this line.
    Outside,
}

impl OpenFence {
    /// Lines that are shown because each of them begins with `sign`.
    pub(super) fn from_sign(sign: u8) -> Self {
        Self { sign, length: 0, quotes: 0 }
    }

    /// Whether it is a real fence, which can be removed.
    pub(super) fn is_fence(&self) -> bool {
        self.length > 0
    }

    /// A name for what its content is in.
    pub(super) fn describe(&self) -> &'static str {
        match self.sign {
            b'>' => "a quotation",
            b' ' => "indented code",
            _ => "code",
        }
    }

    pub(super) fn read_line(&self, line: &[u8], lists: &ListIndents) -> FenceLine {
        if !self.is_fence() {
            let lead = line.get(..count_blanks(line)).unwrap_or_default();
            let goes_on = match line.get(lead.len()) {
                Some(b'>') if self.sign == b'>' => true,
                None | Some(b'\r') => self.sign == b' ',
                Some(_) => self.sign == b' ' && lists.is_code(count_columns(lead)),
            };
            return if goes_on { FenceLine::Inside } else { FenceLine::Outside };
        }
        let mut rest = line;
        for _ in 0..self.quotes {
            let indent = count_blanks(rest);
            if rest.get(indent) != Some(&b'>') {
                return FenceLine::Outside;
            }
            rest = rest.get(indent + 1..).unwrap_or_default();
        }
        let indent = count_blanks(rest);
        let after = rest.get(indent..).unwrap_or_default();
        let length = after.iter().take_while(|byte| **byte == self.sign).count();
        let is_bare = after.get(length..).unwrap_or_default().iter().all(u8::is_ascii_whitespace);
        let closes = length >= self.length && is_bare && (self.quotes > 0 || lists.allows_fence(indent));
        if closes { FenceLine::Closes } else { FenceLine::Inside }
    }
}

/// Whether a paragraph ends before this line.
pub(super) fn is_paragraph_end(line: &[u8], lists: &ListIndents) -> bool {
    let indent = count_blanks(line);
    let text = line.get(indent..).unwrap_or_default();
    let signs = |sign: u8| text.iter().take_while(|byte| **byte == sign).count();
    match text.first() {
        None | Some(b'\r' | b'\n') => true,
        Some(b'#') => {
            let level = signs(b'#');
            level <= 6 && indent <= 3 && text.get(level).is_none_or(u8::is_ascii_whitespace)
        }
        Some(b'~') => signs(b'~') >= 3 && lists.allows_fence(indent),
        Some(b'`') => {
            let length = signs(b'`');
            length >= 3
                && lists.allows_fence(indent)
                && !text.get(length..).unwrap_or_default().contains(&b'`')
        }
        Some(b'-' | b'*' | b'+') => measure_marker(text).is_some(),
        _ => false,
    }
}

/// How many columns the marker of a list item takes, with the blanks after it.
fn measure_marker(text: &[u8]) -> Option<usize> {
    let width = match text.first()? {
        b'-' | b'*' | b'+' => 1,
        _ => {
            let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let ends = matches!(text.get(digits), Some(b'.' | b')'));
            (1..=9).contains(&digits).then_some(digits + 1).filter(|_| ends)?
        }
    };
    let after = count_blanks(text.get(width..)?);
    (after > 0).then_some(width + after.min(4))
}

/// The number of leading blanks.
fn count_blanks(text: &[u8]) -> usize {
    text.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}
