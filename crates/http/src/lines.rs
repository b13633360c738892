//! Lines of a stream of bytes: any split of the bytes gives the same lines. It holds at most one line, of limited
//! length. It knows no form of answers.

/// What ends a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineEnding {
    /// CR, LF or both, as in server-sent events.
    Any,
    /// LF, with or without a CR before it, as in lines of JSON.
    LineFeed,
}

/// Why a stream has no further line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineFault {
    /// A line is longer than allowed.
    TooLong,
    /// A line is not UTF-8.
    NotUtf8,
}

/// The reader.
#[derive(Debug)]
pub(crate) struct LineReader {
    ending: LineEnding,
    most: usize,
    held: Vec<u8>,
    /// Bytes at the front of `held` that were already returned.
    given: usize,
    /// Bytes after those that hold no line end.
    looked: usize,
    /// Whether the last line ended with a CR. A following LF belongs to it.
    after_cr: bool,
    /// Whether a line was returned: only the first can begin with a byte order mark.
    begun: bool,
}

impl LineReader {
    pub(crate) fn new(ending: LineEnding, most: usize) -> Self {
        Self { ending, most, held: Vec::new(), given: 0, looked: 0, after_cr: false, begun: false }
    }

    /// Takes the next bytes. Read all lines before feeding more.
    pub(crate) fn feed_bytes(&mut self, bytes: &[u8]) {
        self.held.drain(..self.given);
        self.given = 0;
        self.held.extend_from_slice(bytes);
    }

    /// The next whole line, without its end.
    pub(crate) fn next(&mut self) -> Result<Option<String>, LineFault> {
        if self.after_cr && self.held.get(self.given) == Some(&b'\n') {
            self.given += 1;
            self.after_cr = false;
        }
        let rest = self.held.get(self.given..).unwrap_or_default();
        self.after_cr &= rest.is_empty();
        let is_end = |byte: &u8| *byte == b'\n' || (*byte == b'\r' && self.ending == LineEnding::Any);
        let unseen = rest.get(self.looked..).unwrap_or_default();
        let Some(at) = unseen.iter().position(is_end).map(|at| at + self.looked) else {
            self.looked = rest.len();
            return if rest.len() > self.most { Err(LineFault::TooLong) } else { Ok(None) };
        };
        if at > self.most {
            return Err(LineFault::TooLong);
        }
        self.after_cr = rest.get(at) == Some(&b'\r');
        let line = self.decode_line(rest.get(..at).unwrap_or_default());
        self.given += at + 1;
        self.looked = 0;
        self.begun = true;
        line.map(Some)
    }

    /// The text after the last line end. `None` if there is none.
    pub(crate) fn take_left(&mut self) -> Result<Option<String>, LineFault> {
        let rest = self.held.get(self.given..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(None);
        }
        let line = self.decode_line(rest);
        self.given = self.held.len();
        self.looked = 0;
        self.begun = true;
        line.map(Some)
    }

    fn decode_line(&self, line: &[u8]) -> Result<String, LineFault> {
        let line = line.strip_suffix(b"\r").filter(|_| self.ending == LineEnding::LineFeed).unwrap_or(line);
        let text = std::str::from_utf8(line).map_err(|_| LineFault::NotUtf8)?;
        let text = if self.begun { text } else { text.strip_prefix('\u{feff}').unwrap_or(text) };
        Ok(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(
        ending: LineEnding,
        most: usize,
        pieces: &[&[u8]],
    ) -> (Vec<String>, Result<Option<String>, LineFault>) {
        let (mut lines, mut found) = (LineReader::new(ending, most), Vec::new());
        for piece in pieces {
            lines.feed_bytes(piece);
            loop {
                match lines.next() {
                    Ok(Some(line)) => found.push(line),
                    Ok(None) => break,
                    Err(fault) => return (found, Err(fault)),
                }
            }
        }
        let left = lines.take_left();
        (found, left)
    }

    #[test]
    fn any_split_gives_the_same_lines() {
        let text = "\u{feff}a: é\r\n\r\nb\rc\n\u{feff}d\n\r\u{1f9e0}".as_bytes();
        for (ending, lines) in [
            (LineEnding::Any, vec!["a: é", "", "b", "c", "\u{feff}d", ""]),
            (LineEnding::LineFeed, vec!["a: é", "", "b\rc", "\u{feff}d"]),
        ] {
            let whole = read(ending, 100, &[text]);
            assert_eq!(whole.0, lines);
            for one in 0..=text.len() {
                for two in one..=text.len() {
                    let split = read(ending, 100, &[&text[..one], &text[one..two], &text[two..]]);
                    assert_eq!(split, whole, "{one} {two}");
                }
            }
        }
    }

    #[test]
    fn a_line_beyond_the_limit_is_a_fault_whether_or_not_it_ends() {
        for text in ["ok\n12345", "ok\n12345\n", "ok\n12345\nok\n"] {
            for at in 0..=text.len() {
                let (begin, end) = text.as_bytes().split_at(at);
                let found = read(LineEnding::Any, 4, &[begin, end]);
                assert_eq!(found, (vec!["ok".to_owned()], Err(LineFault::TooLong)), "{text:?} at {at}");
            }
        }
        assert_eq!(read(LineEnding::Any, 4, &[b"1234\n"]).0, ["1234"]);
    }

    #[test]
    fn what_ends_within_a_character_is_a_fault() {
        assert_eq!(read(LineEnding::Any, 9, &[b"a\n\xc3"]), (vec!["a".to_owned()], Err(LineFault::NotUtf8)));
        assert_eq!(
            read(LineEnding::Any, 9, &[b"a\n\xc3\n"]),
            (vec!["a".to_owned()], Err(LineFault::NotUtf8))
        );
    }
}
