//! A whole listener around one function: deliveries come in on stdin, and what the function returns goes out on
//! stdout.
//!
//! It handles one delivery after another on the calling thread, while a second thread reads, so a cancel is heard at
//! once. It ends when stdin ends, which is how a program learns that the organism is gone, and after TERM, with the
//! delivery that it works on answered. It makes no decisions and opens nothing but its two streams. The first byte
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

use std::io::{self, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Arc;

use crate::DocumentLimits;
use crate::failures::{as_io_error, fail_for_panic, write_reply};
use crate::framing::{line_form, with_length};
use crate::limits;
use crate::protocol;
use crate::pump_documents::PumpAnswer;
use crate::pump_reader::PumpReader;
use crate::reply::{ListenerDocument, ReplyContent};
use crate::turn::PumpLink;

pub use crate::turn::Turn;
use systole_wire::CANCELLED;
pub use systole_wire::Failure;

/// Answers every delivery with what `answer` returns, until stdin ends or the process gets TERM. `answer` returns a
/// [`Payload`](crate::Payload), several, a [`ReplyContent`], or a `Result` of one of these and a [`Failure`]. If it
/// panics, its delivery fails and the program goes on.
pub fn answer_each<A: Into<ReplyContent>>(answer: impl FnMut(&mut Turn<'_>) -> A) -> ExitCode {
    let reader = Arc::new(PumpReader::default());
    let ready = protocol::check_program()
        .and_then(|()| reader.stop_at_signals().map_err(|error| format!("no signals: {error}")));
    if let Err(words) = ready {
        say_last(&words);
        return ExitCode::from(limits::UNFIT);
    }
    match serve_from(&reader, io::stdin(), io::stdout().lock(), answer) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say_last(&format!("cannot talk to the pump: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn say_last(words: &str) {
    // If stderr is gone, no one can read the message.
    let _gone = writeln!(io::stderr(), "{words}");
}

/// Like [`answer_each`], over any two streams, until the first one ends.
///
/// # Errors
/// If a stream breaks, or the input is not a document of a pump.
pub fn serve<A: Into<ReplyContent>>(
    input: impl Read + Send + 'static,
    output: impl Write,
    answer: impl FnMut(&mut Turn<'_>) -> A,
) -> io::Result<()> {
    serve_from(&Arc::default(), input, output, answer)
}

fn serve_from<A: Into<ReplyContent>>(
    reader: &Arc<PumpReader>,
    input: impl Read + Send + 'static,
    output: impl Write,
    mut answer: impl FnMut(&mut Turn<'_>) -> A,
) -> io::Result<()> {
    let reading = Arc::clone(reader);
    std::thread::Builder::new().name("pump-reader".to_owned()).spawn(move || reading.read_all(input))?;
    let mut pump = PumpStreams { reader: Arc::clone(reader), output, delivery: String::new() };
    while let Some(asked) = pump.reader.wait_for_delivery()? {
        let delivery = asked.stamp.delivery.clone();
        pump.delivery.clone_from(&delivery);
        // What was called back before its turn came is not begun.
        let mut said = None;
        if pump.reader.is_wanted(&delivery) {
            let mut turn = Turn::new(asked, &mut pump);
            let answered = catch_unwind(AssertUnwindSafe(|| answer(&mut turn).into()))
                .unwrap_or_else(|panic| fail_for_panic(&*panic));
            if let Some(error) = turn.into_error() {
                return Err(error);
            }
            said = Some(answered);
        }
        let is_called_back = pump.reader.end_delivery(&delivery);
        let said = said
            .filter(|_| !is_called_back)
            .unwrap_or_else(|| ReplyContent::new_failure(CANCELLED, false, "it was called back"));
        pump.write_framed(&write_reply(&delivery, said, DocumentLimits::default().reply_bytes).document)?;
    }
    Ok(())
}

struct PumpStreams<O> {
    reader: Arc<PumpReader>,
    output: O,
    /// The delivery that is worked on.
    delivery: String,
}

impl<O: Write> PumpStreams<O> {
    fn write_framed(&mut self, document: &[u8]) -> io::Result<()> {
        let framed = if self.reader.is_by_length() {
            with_length(document)
        } else {
            let mut line = line_form(document).map_err(as_io_error)?.into_owned();
            line.push(b'\n');
            line
        };
        self.output.write_all(&framed)?;
        self.output.flush()
    }
}

impl<O: Write> PumpLink for PumpStreams<O> {
    fn write_document(&mut self, word: &ListenerDocument) -> io::Result<()> {
        self.write_framed(&word.to_document().map_err(as_io_error)?)
    }

    fn wait_for_answer(&mut self, delivery: &str, id: u64) -> io::Result<Option<PumpAnswer>> {
        self.reader.wait_for_answer(delivery, id)
    }

    fn is_wanted(&self) -> bool {
        self.reader.is_wanted(&self.delivery)
    }
}
