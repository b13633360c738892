//! A whole listener around one function: deliveries come in on stdin, and what the function returns goes out on
//! stdout.
//!
//! It works on as many deliveries at once as the pump sends, each on a thread of its own, while another thread reads, so
//! a cancel is heard at once. Work that goes on after its cancel is let go of. It ends when stdin ends, which is how a
//! program learns that the organism is gone, and after TERM, with the deliveries that it works on answered. It makes no
//! decisions and opens nothing but its two streams: what the program prints goes to stderr. The first byte shows which
//! framing the pump uses. Documents come in; the function's replies go out.
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

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Scope};

use crate::DocumentLimits;
use crate::envelope::Delivered;
use crate::failures::{as_io_error, fail_for_panic, write_reply};
use crate::framing::{line_form, with_length};
use crate::limits;
use crate::protocol;
use crate::pump_documents::PumpAnswer;
use crate::pump_reader::{DeliveryEnd, PumpReader};
use crate::reply::{ListenerDocument, ReplyContent};
use crate::turn::PumpLink;

pub use crate::turn::Turn;
use systole_wire::CANCELLED;
pub use systole_wire::Failure;

/// Answers every delivery with what `answer` returns, until stdin ends or the process gets TERM. `answer` returns a
/// [`Payload`](crate::Payload), several, a [`ReplyContent`], or a `Result` of one of these and a [`Failure`]. If it
/// panics, its delivery fails and the program goes on.
pub fn answer_each<A: Into<ReplyContent>>(answer: impl Fn(&mut Turn<'_>) -> A + Sync) -> ExitCode {
    let reader = Arc::new(PumpReader::default());
    let ready = protocol::check_program()
        .and_then(|()| reader.stop_at_signals().map_err(|error| format!("no signals: {error}")))
        .and_then(|()| take_stdout().map_err(|error| format!("no stdout: {error}")));
    let output = match ready {
        Ok(output) => output,
        Err(words) => {
            say_last(&words);
            return ExitCode::from(limits::UNFIT);
        }
    };
    match reader.end_in_time().and_then(|()| serve_from(&reader, io::stdin(), output, answer)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say_last(&format!("cannot talk to the pump: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// The stream to the pump. From here on what the program prints goes to stderr, and not between two documents.
fn take_stdout() -> io::Result<File> {
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    rustix::stdio::dup2_stdout(io::stderr())?;
    Ok(File::from(output))
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
    output: impl Write + Send,
    answer: impl Fn(&mut Turn<'_>) -> A + Sync,
) -> io::Result<()> {
    serve_from(&Arc::default(), input, output, answer)
}

fn serve_from<A: Into<ReplyContent>>(
    reader: &Arc<PumpReader>,
    input: impl Read + Send + 'static,
    output: impl Write + Send,
    answer: impl Fn(&mut Turn<'_>) -> A + Sync,
) -> io::Result<()> {
    let reading = Arc::clone(reader);
    thread::Builder::new().name("pump-reader".to_owned()).spawn(move || reading.read_all(input))?;
    let house =
        PipeHouse { reader, output: Mutex::new(output), answer: |turn: &mut Turn<'_>| answer(turn).into() };
    thread::scope(|threads| {
        thread::Builder::new().spawn_scoped(threads, || house.let_go_of_cancelled(threads))?;
        house.answer_deliveries(threads);
        Ok::<(), io::Error>(())
    })?;
    reader.take_end()
}

/// What the threads of a program share.
struct PipeHouse<'r, O, F> {
    reader: &'r PumpReader,
    output: Mutex<O>,
    answer: F,
}

impl<O: Write + Send, F: Fn(&mut Turn<'_>) -> ReplyContent + Sync> PipeHouse<'_, O, F> {
    /// Answers one delivery after another. As long as no thread is free for the next one, it starts one more.
    fn answer_deliveries<'s>(&'s self, threads: &'s Scope<'s, '_>) {
        while let Some(asked) = self.reader.wait_for_delivery() {
            if self.reader.needs_thread() {
                let started =
                    thread::Builder::new().spawn_scoped(threads, || self.answer_deliveries(threads));
                self.reader.note_thread(started.is_ok());
            }
            if let Err(error) = self.answer_delivery(asked) {
                self.reader.break_off(error);
            }
        }
    }

    fn answer_delivery(&self, asked: Delivered) -> io::Result<()> {
        let delivery = asked.stamp.delivery.clone();
        // What was called back before its turn came is not begun.
        let (mut said, mut broken) = (None, None);
        if self.reader.is_wanted(&delivery) {
            let mut pump = PumpStreams { house: self, delivery: &delivery };
            let mut turn = Turn::new(asked, &mut pump);
            let answered = catch_unwind(AssertUnwindSafe(|| (self.answer)(&mut turn)))
                .unwrap_or_else(|panic| fail_for_panic(&*panic));
            broken = turn.into_error();
            said = Some(answered);
        }
        let end = self.reader.end_delivery(&delivery);
        if let Some(error) = broken {
            return Err(error);
        }
        match end {
            DeliveryEnd::Wanted => self.write_reply(&delivery, said.unwrap_or_else(was_called_back)),
            DeliveryEnd::CalledBack => self.write_reply(&delivery, was_called_back()),
            DeliveryEnd::LetGo => Ok(()),
        }
    }

    /// Lets go of work that goes on although it was called back: the pump kills a program that keeps it.
    fn let_go_of_cancelled<'s>(&'s self, threads: &'s Scope<'s, '_>) {
        while let Some(delivery) = self.reader.wait_for_cancelled() {
            let let_go = move || {
                if self.reader.outlasts_cancel(&delivery)
                    && let Err(error) = self.write_reply(&delivery, was_called_back())
                {
                    self.reader.break_off(error);
                }
            };
            if let Err(error) = thread::Builder::new().spawn_scoped(threads, let_go) {
                self.reader.break_off(error);
            }
        }
    }

    fn write_reply(&self, delivery: &str, said: ReplyContent) -> io::Result<()> {
        self.write_framed(&write_reply(delivery, said, DocumentLimits::default().reply_bytes).document)
    }

    fn write_framed(&self, document: &[u8]) -> io::Result<()> {
        let framed = if self.reader.is_by_length() {
            with_length(document)
        } else {
            let mut line = line_form(document).map_err(as_io_error)?.into_owned();
            line.push(b'\n');
            line
        };
        // A document is written whole before anything can panic.
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        output.write_all(&framed)?;
        output.flush()
    }
}

fn was_called_back() -> ReplyContent {
    ReplyContent::new_failure(CANCELLED, false, "it was called back")
}

/// The streams, for the work on one delivery.
struct PumpStreams<'h, 'r, O, F> {
    house: &'h PipeHouse<'r, O, F>,
    delivery: &'h str,
}

impl<O: Write + Send, F: Fn(&mut Turn<'_>) -> ReplyContent + Sync> PumpLink for PumpStreams<'_, '_, O, F> {
    fn write_document(&mut self, word: &ListenerDocument) -> io::Result<()> {
        self.house.write_framed(&word.to_document().map_err(as_io_error)?)
    }

    fn wait_for_answer(&mut self, delivery: &str, id: u64) -> io::Result<Option<PumpAnswer>> {
        Ok(self.house.reader.wait_for_answer(delivery, id))
    }

    fn is_wanted(&self) -> bool {
        self.house.reader.is_wanted(self.delivery)
    }
}
