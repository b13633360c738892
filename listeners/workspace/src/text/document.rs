//! The text of a file, with what an edit must not change: its line ends and its byte order mark.
//!
//! Bytes come in; a text with plain line feeds goes out, and bytes again. A file that has both kinds of line ends
//! keeps each of them, and its text shows them.

/// The byte order mark.
const MARK: &str = "\u{feff}";

/// A text, and how it is written in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextDocument {
    has_mark: bool,
    /// Whether every line ends with CR LF.
    is_crlf: bool,
    /// Without the mark; if `is_crlf`, with plain line feeds.
    pub(crate) text: String,
}

impl TextDocument {
    /// The text of a file. `None` if it is not UTF-8.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<TextDocument> {
        let whole = std::str::from_utf8(bytes).ok()?;
        let (has_mark, text) = whole.strip_prefix(MARK).map_or((false, whole), |rest| (true, rest));
        let feeds = text.matches('\n').count();
        let is_crlf = feeds > 0 && text.matches("\r\n").count() == feeds;
        let text = if is_crlf { text.replace("\r\n", "\n") } else { text.to_owned() };
        Some(TextDocument { has_mark, is_crlf, text })
    }

    /// The bytes of the file with another text.
    pub(crate) fn with_text(&self, text: &str) -> Vec<u8> {
        let mut whole = if self.has_mark { MARK.to_owned() } else { String::new() };
        if self.is_crlf {
            whole.push_str(&self.adapt_text(text).replace('\n', "\r\n"));
        } else {
            whole.push_str(text);
        }
        whole.into_bytes()
    }

    /// A text from a request, with the line ends that this document's text has.
    pub(crate) fn adapt_text(&self, text: &str) -> String {
        if self.is_crlf { text.replace("\r\n", "\n") } else { text.to_owned() }
    }
}

/// A body of a request without its layout: one line break after the start tag and one before the end tag.
pub(crate) fn trim_body(written: &str) -> &str {
    let inner = written.strip_prefix('\n').unwrap_or(written);
    inner.strip_suffix('\n').unwrap_or(inner)
}

/// The lines of a text with their line ends. Together they are the text.
pub(crate) fn split_lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g2_line_ends_and_marks_survive() {
        for file in ["a\r\nb\r\n", "a\nb", "\u{feff}a\r\nb", "a\r\nb\nc\r\n", "a\rb\n", "", "\r\n"] {
            let document = TextDocument::from_bytes(file.as_bytes()).unwrap();
            assert_eq!(document.with_text(&document.text), file.as_bytes(), "{file:?}");
        }
        let document = TextDocument::from_bytes(b"a\r\nb\r\n").unwrap();
        assert_eq!(document.with_text("a\nc\r\nb\n"), b"a\r\nc\r\nb\r\n");
        assert!(TextDocument::from_bytes(b"\xff\xfea\0").is_none());
    }

    #[test]
    fn g2_one_line_break_at_each_end_is_layout() {
        assert_eq!(trim_body("\na\n"), "a");
        assert_eq!(trim_body("\n\na\n\n"), "\na\n");
        assert_eq!(trim_body("a"), "a");
        assert_eq!(trim_body("\n"), "");
    }
}
