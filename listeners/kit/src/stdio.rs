//! A whole listener around one function: deliveries come in on stdin, and what the function returns goes out on
//! stdout.
//!
//! It handles one delivery after another on the calling thread. It ends when stdin ends, which is how a program
//! learns that the organism is gone. It makes no decisions and opens nothing but its two streams. The first byte
//! shows which framing the pump uses. Documents come in; the function's replies go out.
//!
//! ```no_run
//! use systole_kit::Payload;
//! use systole_kit::stdio::answer_each;
//!
//! fn main() -> std::process::ExitCode {
//!     answer_each(|turn| {
//!         let words = turn.request().text().to_uppercase();
//!         Payload::write("https://xml-pipeline.org/ns/shout/v1", "shouted", |inside| inside.text(&words))
//!     })
//! }
//! ```

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::process::ExitCode;

use crate::DocumentLimits;
use crate::framing::{LengthSplitter, LineSplitter, line_form, with_length};
use crate::pump_documents::{PumpAnswer, PumpDocument};
use crate::reply::{ListenerDocument, ReplyContent};
use crate::turn::PumpLink;

pub use crate::turn::Turn;
pub use systole_wire::Failure;

/// Answers every delivery with what `answer` returns, until stdin ends. `answer` returns a
/// [`Payload`](crate::Payload), several, a [`ReplyContent`], or a `Result` of one of these and a [`Failure`].
pub fn answer_each<A: Into<ReplyContent>>(answer: impl FnMut(&mut Turn<'_>) -> A) -> ExitCode {
    match serve(io::stdin().lock(), io::stdout().lock(), answer) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If stderr is gone, no one can read the message.
            let _gone = writeln!(io::stderr(), "cannot talk to the pump: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Like [`answer_each`], over any two streams.
///
/// # Errors
/// If a stream breaks, or the input is not a document of a pump.
pub fn serve<A: Into<ReplyContent>>(
    input: impl Read,
    output: impl Write,
    mut answer: impl FnMut(&mut Turn<'_>) -> A,
) -> io::Result<()> {
    let mut pump = PumpStreams { input, output, frames: DocumentFraming::Unknown, waiting: VecDeque::new() };
    while let Some(told) = pump.next()? {
        // A late cancel or answer belongs to a delivery that is over.
        let PumpDocument::Delivery(asked) = told else { continue };
        let delivery = asked.stamp.delivery.clone();
        let mut turn = Turn::new(*asked, &mut pump);
        let said = answer(&mut turn).into();
        if let Some(error) = turn.into_error() {
            return Err(error);
        }
        pump.write_document(&ListenerDocument::Reply { delivery, said })?;
    }
    Ok(())
}

struct PumpStreams<I, O> {
    input: I,
    output: O,
    frames: DocumentFraming,
    waiting: VecDeque<PumpDocument>,
}

/// How documents follow one another.
enum DocumentFraming {
    /// Nothing has come yet.
    Unknown,
    Lines(LineSplitter),
    Lengths(LengthSplitter),
}

impl<I: Read, O: Write> PumpStreams<I, O> {
    /// The next document; none once the stream has ended.
    fn next(&mut self) -> io::Result<Option<PumpDocument>> {
        loop {
            if let Some(told) = self.waiting.pop_front() {
                return Ok(Some(told));
            }
            if !self.read_more()? {
                return Ok(None);
            }
        }
    }

    /// Reads a portion; false once the stream has ended.
    fn read_more(&mut self) -> io::Result<bool> {
        let mut portion = vec![0; crate::limits::PORTION_BYTES];
        let read = match self.input.read(&mut portion) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(true),
            read => read?,
        };
        let portion = portion.get(..read).unwrap_or_default();
        if matches!(self.frames, DocumentFraming::Unknown) {
            let most = DocumentLimits::FROM_PUMP.message_bytes;
            self.frames = match portion.first() {
                None => return Ok(false),
                Some(b'0'..=b'9') => DocumentFraming::Lengths(LengthSplitter::new(most)),
                Some(_) => DocumentFraming::Lines(LineSplitter::new(most)),
            };
        }
        let mut documents = Vec::new();
        let fed = match &mut self.frames {
            DocumentFraming::Lines(lines) => lines.feed_chunk(portion, &mut documents),
            DocumentFraming::Lengths(lengths) => lengths.feed_chunk(portion, &mut documents),
            DocumentFraming::Unknown => Ok(()),
        };
        fed.map_err(as_io_error)?;
        for document in documents.iter().filter(|document| !document.trim_ascii().is_empty()) {
            self.waiting.push_back(PumpDocument::parse(document).map_err(as_io_error)?);
        }
        Ok(read > 0)
    }
}

impl<I: Read, O: Write> PumpLink for PumpStreams<I, O> {
    fn write_document(&mut self, word: &ListenerDocument) -> io::Result<()> {
        let document = word.to_document().map_err(as_io_error)?;
        let framed = match self.frames {
            DocumentFraming::Lengths(_) => with_length(&document),
            DocumentFraming::Lines(_) | DocumentFraming::Unknown => {
                let mut line = line_form(&document).map_err(as_io_error)?.into_owned();
                line.push(b'\n');
                line
            }
        };
        self.output.write_all(&framed)?;
        self.output.flush()
    }

    fn wait_for_answer(&mut self, delivery: &str, id: u64) -> io::Result<Option<PumpAnswer>> {
        let mut seen = 0;
        loop {
            // Other documents, such as further deliveries, wait in the queue until later.
            while let Some(told) = self.waiting.get(seen) {
                let ours = match told {
                    PumpDocument::Answer(answer) => answer.delivery == delivery && answer.id == id,
                    PumpDocument::Cancel { delivery: cancelled } => cancelled == delivery,
                    // A pipe carries no receipts.
                    PumpDocument::Delivery(_) | PumpDocument::Receipt(_) => false,
                };
                if ours {
                    return Ok(match self.waiting.remove(seen) {
                        Some(PumpDocument::Answer(answer)) => Some(answer),
                        _ => None,
                    });
                }
                seen += 1;
            }
            if !self.read_more()? {
                return Ok(None);
            }
        }
    }
}

fn as_io_error(fault: crate::Fault) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, fault.to_string())
}
