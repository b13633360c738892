//! Enough of Rust's lexer to tell code from comments and texts, so that a sentence about code does
//! not break a rule about code.

/// The text with blanks in place of comments and the contents of literals; line breaks stay.
pub(super) fn code_of(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let skipped = literal_or_comment(rest, out.chars().next_back());
        let taken = if skipped > 0 { skipped } else { c.len_utf8() };
        let (piece, after) = rest.split_at(taken);
        if skipped > 0 {
            out.extend(piece.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        } else {
            out.push(c);
        }
        rest = after;
    }
    out
}

/// The number of bytes at the start of `rest` that are a comment or a literal.
fn literal_or_comment(rest: &str, before: Option<char>) -> usize {
    let in_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return comment(rest);
    }
    if !in_word && let Some(length) = raw(rest) {
        return length;
    }
    if rest.starts_with('"') {
        return closed(rest, '"');
    }
    let character = rest.strip_prefix('\'').is_some_and(|inner| {
        // `'a` is a lifetime, `'a'` and `'\n'` are characters.
        inner.starts_with('\\') || inner.chars().nth(1) == Some('\'')
    });
    if character { closed(rest, '\'') } else { 0 }
}

/// The length of a comment in `/*` and `*/`, which may hold others.
fn comment(rest: &str) -> usize {
    let (mut depth, mut at) = (1, 2);
    while depth > 0 {
        let Some(sign) = rest[at..].find(['/', '*']) else { return rest.len() };
        at += sign;
        let (change, length) = match &rest.as_bytes()[at..] {
            [b'/', b'*', ..] => (1, 2),
            [b'*', b'/', ..] => (-1, 2),
            _ => (0, 1),
        };
        depth += change;
        at += length;
    }
    at
}

fn raw(rest: &str) -> Option<usize> {
    let after = rest.strip_prefix("br").or_else(|| rest.strip_prefix('r'))?;
    let hashes = after.bytes().take_while(|b| *b == b'#').count();
    after[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let start = rest.len() - after.len() + hashes + 1;
    rest[start..].find(&end).map(|at| start + at + end.len())
}

fn closed(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// The identifiers of code, each with its position.
pub(super) fn words(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    code.split(move |c: char| !is_word(c))
        .filter(|word| !word.is_empty())
        .map(|word| (word.as_ptr() as usize - code.as_ptr() as usize, word))
}

/// The line, from 1, of a byte.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

#[test]
fn code_is_told_from_what_is_said_about_it() {
    let text = "a // b\nc \"d // e\" 'f' '\\'' 'g: r#\"h\"i\"# j /* k /* m */\n */ l";
    let code = code_of(text);
    assert_eq!(code.split_whitespace().collect::<Vec<_>>(), ["a", "c", "'g:", "j", "l"]);
    assert_eq!(code.lines().count(), text.lines().count());
    assert_eq!(words("x::y_1(z)").collect::<Vec<_>>(), [(0, "x"), (3, "y_1"), (7, "z")]);
}
