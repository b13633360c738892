//! Follows the requests of one connection, only far enough to see a line of a head or of a chunk that ends in LF
//! alone. A proxy may read such a line differently, and then one request could hide in another.
//!
//! Bytes come in as they arrive; the place of such a line feed goes out. It changes no byte, and leaves everything else
//! that may be wrong to the parser.

use crate::limits::HEADER_LINE;

/// The part of a request that comes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RequestPart {
    /// A line of the head; the first one is the request line.
    Head { is_first: bool },
    /// So many bytes of a body that is as long as the head says.
    Body(u64),
    /// The line with the size of a chunk.
    ChunkSize,
    /// So many bytes of a chunk and of the line end behind it.
    Chunk(u64),
    /// A line after the last chunk.
    Trailer,
    /// Unknown: the parser refuses the request.
    Lost,
}

/// The place of the next byte within the requests of a connection.
#[derive(Debug)]
pub(crate) struct RequestFraming {
    part: RequestPart,
    line: Vec<u8>,
    last: u8,
    length: u64,
    is_chunked: bool,
}

impl Default for RequestFraming {
    fn default() -> RequestFraming {
        let part = RequestPart::Head { is_first: true };
        RequestFraming { part, line: Vec::new(), last: 0, length: 0, is_chunked: false }
    }
}

impl RequestFraming {
    /// Follows the next bytes; returns the place of the first line feed that is alone. Nothing is followed after it.
    pub(crate) fn follow_bytes(&mut self, mut bytes: &[u8]) -> Option<usize> {
        let all = bytes.len();
        while let [first, rest @ ..] = bytes {
            match self.part {
                RequestPart::Lost => return None,
                RequestPart::Body(left) => {
                    (bytes, self.part) =
                        skip_body(bytes, left, RequestPart::Body, RequestPart::Head { is_first: true });
                }
                RequestPart::Chunk(left) => {
                    (bytes, self.part) = skip_body(bytes, left, RequestPart::Chunk, RequestPart::ChunkSize);
                }
                RequestPart::Head { .. } | RequestPart::ChunkSize | RequestPart::Trailer => {
                    bytes = rest;
                    if *first == b'\n' {
                        if self.last != b'\r' {
                            self.part = RequestPart::Lost;
                            return Some(all - rest.len() - 1);
                        }
                        self.end_line();
                    } else {
                        self.last = *first;
                        self.keep_byte(*first);
                    }
                }
            }
        }
        None
    }

    /// Keeps a byte of a line, if it may say how long a body is.
    fn keep_byte(&mut self, byte: u8) {
        if self.part == RequestPart::ChunkSize && self.line == b"0" && byte.is_ascii_hexdigit() {
            // A zero that leads a size says nothing, however many there are.
            self.line.clear();
        }
        if self.line.len() < HEADER_LINE || self.is_about_length() {
            self.line.push(byte);
        }
    }

    /// Whether the line is a header that says how long the body is. The parser bounds how long such a line is.
    fn is_about_length(&self) -> bool {
        let has_name = |name: &&str| {
            self.line.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name.as_bytes()))
        };
        matches!(self.part, RequestPart::Head { is_first: false })
            && ["content-length:", "transfer-encoding:"].iter().any(has_name)
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        self.last = 0;
        let line = line.strip_suffix(b"\r").unwrap_or(&line);
        self.part = match self.part {
            // Some clients send an empty line before a request.
            RequestPart::Head { is_first: true } => RequestPart::Head { is_first: line.is_empty() },
            RequestPart::Head { is_first: false } if line.is_empty() => self.find_next_part(),
            RequestPart::Head { is_first: false } => self.read_header(line),
            RequestPart::ChunkSize => read_chunk_size(line),
            RequestPart::Trailer if line.is_empty() => RequestPart::Head { is_first: true },
            other => other,
        };
    }

    /// The head is over: the body, or the next request.
    fn find_next_part(&mut self) -> RequestPart {
        match (std::mem::take(&mut self.is_chunked), std::mem::take(&mut self.length)) {
            (true, _) => RequestPart::ChunkSize,
            (false, 0) => RequestPart::Head { is_first: true },
            (false, length) => RequestPart::Body(length),
        }
    }

    fn read_header(&mut self, line: &[u8]) -> RequestPart {
        let text = String::from_utf8_lossy(line).to_ascii_lowercase();
        match text.split_once(':') {
            Some(("content-length", value)) => match value.trim().parse() {
                Ok(length) => self.length = length,
                Err(_) => return RequestPart::Lost,
            },
            Some(("transfer-encoding", value)) => self.is_chunked = value.trim().ends_with("chunked"),
            _ => {}
        }
        RequestPart::Head { is_first: false }
    }
}

/// Skips bytes of a body; returns the rest and the part that comes next.
fn skip_body(
    bytes: &[u8],
    left: u64,
    same: fn(u64) -> RequestPart,
    next: RequestPart,
) -> (&[u8], RequestPart) {
    let here = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
    let (_, rest) = bytes.split_at(here);
    match left - here as u64 {
        0 => (rest, next),
        left => (rest, same(left)),
    }
}

/// The part after the line with the size of a chunk.
fn read_chunk_size(line: &[u8]) -> RequestPart {
    let text = String::from_utf8_lossy(line);
    let size = text.split(';').next().unwrap_or_default().trim();
    match u64::from_str_radix(size, 16) {
        Ok(0) => RequestPart::Trailer,
        // The line end behind a chunk belongs to it.
        Ok(size) => size.checked_add(2).map_or(RequestPart::Lost, RequestPart::Chunk),
        Err(_) => RequestPart::Lost,
    }
}

#[cfg(test)]
mod tests {
    use super::RequestFraming;

    const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    const POST: &str = "POST / HTTP/1.1\r\nHost: a\r\ncontent-length: 5\r\n\r\na\nb\n\n";
    const CHUNKED: &str = "\r\nPOST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n3;x=1\r\n\n\n\n\r\n0\r\nTrailer: x\r\n\r\n";

    /// The verdict on bytes that arrive in pieces of every size.
    #[track_caller]
    fn judged(text: &str, is_sound: bool) {
        for size in 1..=text.len() {
            let mut framing = RequestFraming::default();
            let found =
                text.as_bytes().chunks(size).find_map(|piece| Some((piece, framing.follow_bytes(piece)?)));
            assert_eq!(found.is_none(), is_sound, "{text:?} in pieces of {size}");
            assert!(found.is_none_or(|(piece, at)| piece[at] == b'\n'), "{text:?} in pieces of {size}");
        }
    }

    #[test]
    fn line_ends_count_in_heads_and_not_in_bodies() {
        judged(&[GET, POST, GET, CHUNKED, POST, GET].concat(), true);
        let bare = "GET / HTTP/1.1\nHost: a\r\n\r\n";
        for before in ["", GET, POST, CHUNKED] {
            judged(&[before, bare].concat(), false);
            judged(&[before, &GET.replace("a\r\n", "a\n")].concat(), false);
            judged(&[before, &GET.replace("\r\n\r\n", "\r\n\n")].concat(), false);
        }
        judged(&CHUNKED.replace("x=1\r\n", "x=1\n"), false);
        judged(&CHUNKED.replace("Trailer: x\r\n", "Trailer: x\n"), false);
        judged(&format!("GET /{} HTTP/1.1\r\n\r\n\n", "a".repeat(400)), false);
    }

    #[test]
    fn no_length_is_too_long_to_be_read() {
        let (bare, many) = ("GET / HTTP/1.1\nHost: a\r\n\r\n", 300);
        for before in [
            POST.replace("length: ", &format!("length:{}", " ".repeat(many))),
            CHUNKED.replace("Encoding: ", &format!("Encoding:{}", " ".repeat(many))),
            CHUNKED.replace("gzip, ", &"gzip, ".repeat(many / 5)),
            CHUNKED.replace("\r\n3;", &format!("\r\n{}3;", "0".repeat(many))),
            CHUNKED.replace("\r\n0\r\n", &format!("\r\n{}\r\n", "0".repeat(many))),
        ] {
            judged(&[&before, GET].concat(), true);
            judged(&[&before, bare].concat(), false);
        }
    }

    #[test]
    fn what_the_parser_refuses_is_left_to_it() {
        judged("POST / HTTP/1.1\r\nContent-Length: five\r\n\r\na\n", true);
        judged("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\n", true);
    }
}
