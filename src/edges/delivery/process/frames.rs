//! Placeholder
use crate::words::ports::Token;
pub(super) struct Frames { buf: Vec<u8>, cap: usize }
impl Frames {
    pub(super) fn new(_by_length: bool, cap: usize) -> Frames { Frames { buf: Vec::new(), cap } }
    pub(super) fn feed(&mut self, chunk: &[u8]) { self.buf.extend_from_slice(chunk) }
    pub(super) fn next(&mut self) -> Result<Option<Vec<u8>>, String> {
        match self.buf.iter().position(|b| *b == b'\n') {
            Some(at) => { let mut rest = self.buf.split_off(at + 1); std::mem::swap(&mut rest, &mut self.buf); rest.pop(); Ok(Some(rest)) }
            None if self.buf.len() > self.cap => Err("too long".into()),
            None => Ok(None),
        }
    }
    pub(super) fn finish(&mut self) -> Vec<u8> { std::mem::take(&mut self.buf) }
}
pub(super) fn framed(document: &[u8], _by_length: bool) -> Vec<u8> { [document, b"\n"].concat() }
pub(super) fn cancel(token: &Token) -> Vec<u8> { ["<cancel xmlns=\"urn:systole:listener:v1\" delivery=\"", &token.0, "\"/>"].concat().into_bytes() }
