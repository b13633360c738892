//! A whole listener around one function: deliveries come in on stdin, what the function says goes out on stdout.
//!
//! It handles one delivery after another, on the thread that called it, and ends when stdin does: that is how a
//! program learns that the organism is gone. It judges nothing and opens nothing but the two streams it is given. Which
//! framing the pump uses is seen from the first byte. Documents come in; the function's words go out.
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

use crate::Limits;
use crate::framing::{Lengths, Lines, line_form, with_length};
use crate::reply::{Said, Word};
use crate::told::{Answer, Told};
use crate::turn::Pump;

pub use crate::turn::Turn;
pub use systole_wire::Failure;

/// Bytes that are read at once: a pipe of the usual size.
const PORTION: usize = 64 * 1024;

/// Answers every delivery with what `answer` says about it, until stdin ends. What it says is a
/// [`Payload`](crate::Payload), several, a
/// [`Said`], or a `Result` of one of them and a [`Failure`].
pub fn answer_each<A: Into<Said>>(answer: impl FnMut(&mut Turn<'_>) -> A) -> ExitCode {
    match serve(io::stdin().lock(), io::stdout().lock(), answer) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // With stderr gone there is nobody to tell.
            let _gone = writeln!(io::stderr(), "the pump cannot be spoken to: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The same over any two streams.
///
/// # Errors
/// When a stream breaks, or what comes in is no document of a pump.
pub fn serve<A: Into<Said>>(
    input: impl Read,
    output: impl Write,
    mut answer: impl FnMut(&mut Turn<'_>) -> A,
) -> io::Result<()> {
    let mut pump = Streams { input, output, frames: Frames::Unknown, waiting: VecDeque::new() };
    while let Some(told) = pump.next()? {
        // A cancel or an answer that nobody waits for any more is about a delivery that is over.
        let Told::Delivery(asked) = told else { continue };
        let delivery = asked.stamp.delivery.clone();
        let mut turn = Turn::of(*asked, &mut pump);
        let said = answer(&mut turn).into();
        if let Some(error) = turn.broken() {
            return Err(error);
        }
        pump.say(&Word::Reply { delivery, said })?;
    }
    Ok(())
}

struct Streams<I, O> {
    input: I,
    output: O,
    frames: Frames,
    waiting: VecDeque<Told>,
}

/// How documents follow one another.
enum Frames {
    /// Nothing has come yet.
    Unknown,
    Lines(Lines),
    Lengths(Lengths),
}

impl<I: Read, O: Write> Streams<I, O> {
    /// The next document; none once the stream has ended.
    fn next(&mut self) -> io::Result<Option<Told>> {
        loop {
            if let Some(told) = self.waiting.pop_front() {
                return Ok(Some(told));
            }
            if !self.read()? {
                return Ok(None);
            }
        }
    }

    /// Reads a portion; false once the stream has ended.
    fn read(&mut self) -> io::Result<bool> {
        let mut portion = vec![0; PORTION];
        let read = match self.input.read(&mut portion) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(true),
            read => read?,
        };
        let portion = portion.get(..read).unwrap_or_default();
        if matches!(self.frames, Frames::Unknown) {
            let most = Limits::FROM_PUMP.message_bytes;
            self.frames = match portion.first() {
                None => return Ok(false),
                Some(b'0'..=b'9') => Frames::Lengths(Lengths::new(most)),
                Some(_) => Frames::Lines(Lines::new(most)),
            };
        }
        let mut documents = Vec::new();
        let fed = match &mut self.frames {
            Frames::Lines(lines) => lines.feed(portion, &mut documents),
            Frames::Lengths(lengths) => lengths.feed(portion, &mut documents),
            Frames::Unknown => Ok(()),
        };
        fed.map_err(unreadable)?;
        for document in documents.iter().filter(|document| !document.trim_ascii().is_empty()) {
            self.waiting.push_back(Told::read(document).map_err(unreadable)?);
        }
        Ok(read > 0)
    }
}

impl<I: Read, O: Write> Pump for Streams<I, O> {
    fn say(&mut self, word: &Word) -> io::Result<()> {
        let document = word.document().map_err(unreadable)?;
        let framed = match self.frames {
            Frames::Lengths(_) => with_length(&document),
            Frames::Lines(_) | Frames::Unknown => {
                let mut line = line_form(&document).map_err(unreadable)?.into_owned();
                line.push(b'\n');
                line
            }
        };
        self.output.write_all(&framed)?;
        self.output.flush()
    }

    fn wait(&mut self, delivery: &str, id: u64) -> io::Result<Option<Answer>> {
        let mut seen = 0;
        loop {
            // What else comes meanwhile, such as further deliveries, is taken up afterwards.
            while let Some(told) = self.waiting.get(seen) {
                let ours = match told {
                    Told::Answer(answer) => answer.delivery == delivery && answer.id == id,
                    Told::Cancel { delivery: cancelled } => cancelled == delivery,
                    // Over a pipe there are none.
                    Told::Delivery(_) | Told::Receipt(_) => false,
                };
                if ours {
                    return Ok(match self.waiting.remove(seen) {
                        Some(Told::Answer(answer)) => Some(answer),
                        _ => None,
                    });
                }
                seen += 1;
            }
            if !self.read()? {
                return Ok(None);
            }
        }
    }
}

fn unreadable(fault: crate::Fault) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, fault.to_string())
}
