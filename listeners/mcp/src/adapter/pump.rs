//! The pump's side: documents come in on stdin, one a line, and go out on stdout.

use std::io;

use systole_kit::DocumentLimits;
use systole_kit::framing::{LineSplitter, line_form};
use systole_kit::reply::ListenerDocument;
use systole_kit::told::PumpDocument;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// Bytes per read: the usual size of a pipe.
const PORTION: usize = 64 * 1024;

/// The documents of the pump.
pub(super) struct FromPump<R> {
    input: R,
    lines: LineSplitter,
    portion: Vec<u8>,
    waiting: std::collections::VecDeque<Vec<u8>>,
}

impl<R: AsyncRead + Unpin> FromPump<R> {
    pub(super) fn new(input: R) -> Self {
        let lines = LineSplitter::new(DocumentLimits::FROM_PUMP.message_bytes);
        Self { input, lines, portion: vec![0; PORTION], waiting: std::collections::VecDeque::new() }
    }

    /// The next document; none once the pump is gone. It may be dropped while it waits.
    pub(super) async fn next(&mut self) -> io::Result<Option<PumpDocument>> {
        loop {
            while let Some(line) = self.waiting.pop_front() {
                if !line.trim_ascii().is_empty() {
                    return PumpDocument::read(&line).map(Some).map_err(unreadable);
                }
            }
            let read = self.input.read(&mut self.portion).await?;
            if read == 0 {
                return Ok(None);
            }
            let mut lines = Vec::new();
            self.lines.feed(self.portion.get(..read).unwrap_or_default(), &mut lines).map_err(unreadable)?;
            self.waiting.extend(lines);
        }
    }
}

/// Writes a document for the pump.
pub(super) async fn say<W: AsyncWrite + Unpin>(output: &mut W, word: &ListenerDocument) -> io::Result<()> {
    let document = word.document().map_err(unreadable)?;
    let mut line = line_form(&document).map_err(unreadable)?.into_owned();
    line.push(b'\n');
    output.write_all(&line).await?;
    output.flush().await
}

fn unreadable(fault: systole_kit::Fault) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, fault.to_string())
}
