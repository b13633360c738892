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

use crate::answers::Answers;
use crate::ask::Question;
use crate::envelope::Delivered;
use crate::framing::{Lengths, Lines, line_form, with_length};
use crate::journal::Entry;
use crate::line::NotTaken;
use crate::reply::{Item, Said, Word};
use crate::told::{Answer, Told};
use crate::{Limits, Payload};

/// Bytes that are read at once: a pipe of the usual size.
const PORTION: usize = 64 * 1024;

/// Answers every delivery with what `answer` says about it, until stdin ends. What it says is a [`Payload`], several, a
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
        let mut turn = Turn { asked: *asked, pump: &mut pump, said: 0, over: false, broken: None };
        let said = answer(&mut turn).into();
        if let Some(error) = turn.broken {
            return Err(error);
        }
        pump.say(&Word::Reply { delivery, said })?;
    }
    Ok(())
}

/// Why a listener could not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The listener's own name for what went wrong.
    pub code: String,
    /// Whether the same work may succeed later.
    pub retry: bool,
    /// What went wrong.
    pub words: String,
}

impl Failure {
    /// A failure that trying again would not mend.
    #[must_use]
    pub fn new(code: &str, words: impl Into<String>) -> Self {
        Self { code: code.to_owned(), retry: false, words: words.into() }
    }

    /// The same, where the work may succeed later.
    #[must_use]
    pub fn again_later(self) -> Self {
        Self { retry: true, ..self }
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::new("failed", error.to_string())
    }
}

impl From<Payload> for Said {
    fn from(payload: Payload) -> Self {
        Self::Items(vec![Item::plain(payload)])
    }
}

impl From<Vec<Payload>> for Said {
    fn from(payloads: Vec<Payload>) -> Self {
        Self::Items(payloads.into_iter().map(Item::plain).collect())
    }
}

impl<S: Into<Self>> From<Result<S, Failure>> for Said {
    fn from(result: Result<S, Failure>) -> Self {
        match result {
            Ok(said) => said.into(),
            Err(Failure { code, retry, words }) => Self::Failure { code, retry, words },
        }
    }
}

/// One delivery in the hands of the listener.
pub struct Turn<'p> {
    asked: Delivered,
    pump: &'p mut dyn Pump,
    /// How many entries and questions were sent; each has the next number.
    said: u64,
    /// Whether its answer is no longer wanted.
    over: bool,
    broken: Option<io::Error>,
}

impl std::fmt::Debug for Turn<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Turn").field("asked", &self.asked).finish_non_exhaustive()
    }
}

impl Turn<'_> {
    /// What was asked; on every turn but the first of a call these are the answers to its last items.
    #[must_use]
    pub fn request(&self) -> &Payload {
        &self.asked.payload
    }

    /// The answers to the items of the last turn; none in the first.
    #[must_use]
    pub fn answers(&self) -> Option<Answers> {
        Answers::read(&self.asked.payload).ok()
    }

    /// The whole delivery: who asks, in which thread, which attempt this is.
    #[must_use]
    pub fn delivered(&self) -> &Delivered {
        &self.asked
    }

    /// Says what is being done. It is shown to whoever watches, and renews the idle timeout.
    pub fn progress(&mut self, words: &str) {
        let word = Word::Progress { delivery: self.delivery(), words: words.to_owned() };
        self.say(&word);
    }

    /// Leaves a remark that is recorded and shown in the next turn.
    pub fn notice(&mut self, code: &str, words: &str) {
        let word = Word::Notice { delivery: self.delivery(), code: code.to_owned(), words: words.to_owned() };
        self.say(&word);
    }

    /// Puts an entry on record and waits until it is on disk. Its number is what a result names as its start.
    ///
    /// # Errors
    /// When the pump refuses it, or the answer is no longer wanted.
    pub fn journal(&mut self, entry: Entry) -> Result<u64, NotTaken> {
        let (delivery, id) = (self.delivery(), self.number());
        self.asked_for(&Word::Journal { delivery, id, entry: Ok(entry) }, id).map(|answer| answer.id)
    }

    /// Asks the pump something and waits for its answer.
    ///
    /// # Errors
    /// When the pump refuses to answer, or the answer is no longer wanted.
    pub fn ask(&mut self, question: Question) -> Result<Option<Payload>, NotTaken> {
        let (delivery, id) = (self.delivery(), self.number());
        self.asked_for(&Word::Ask { delivery, id, question: Ok(question) }, id).map(|answer| answer.payload)
    }

    fn delivery(&self) -> String {
        self.asked.stamp.delivery.clone()
    }

    fn number(&mut self) -> u64 {
        self.said += 1;
        self.said
    }

    fn say(&mut self, word: &Word) {
        if self.broken.is_none() {
            self.broken = self.pump.say(word).err();
        }
    }

    fn asked_for(&mut self, word: &Word, id: u64) -> Result<Answer, NotTaken> {
        self.say(word);
        if self.broken.is_some() || self.over {
            return Err(NotTaken::Over);
        }
        match self.pump.wait(&self.asked.stamp.delivery, id) {
            Ok(Some(answer)) => match answer.refusal() {
                Some((code, words)) => Err(NotTaken::Refused { code, words }),
                None => Ok(answer),
            },
            Ok(None) => {
                self.over = true;
                Err(NotTaken::Over)
            }
            Err(error) => {
                self.broken = Some(error);
                Err(NotTaken::Over)
            }
        }
    }
}

/// The other end, whatever its streams are.
trait Pump {
    fn say(&mut self, word: &Word) -> io::Result<()>;
    /// The answer to that number; none where the delivery was called back, or the pump is gone.
    fn wait(&mut self, delivery: &str, id: u64) -> io::Result<Option<Answer>>;
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
