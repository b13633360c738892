//! What the pump says to a program on stdin, read by a thread of its own: the program works on deliveries and hears of
//! cancels meanwhile.
//!
//! It answers nothing. Bytes come in; deliveries in their order, answers to questions, and cancels go out. It ends the
//! process if work goes on for too long after the end of stdin or after TERM.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Read, Write as _};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::DocumentLimits;
use crate::envelope::Delivered;
use crate::failures::as_io_error;
use crate::framing::{LengthSplitter, LineSplitter};
use crate::limits;
use crate::protocol::report_skipped;
use crate::pump_documents::{PumpAnswer, PumpDocument};

/// What the pump has said so far.
#[derive(Default)]
pub(crate) struct PumpReader {
    heard: Mutex<PumpWords>,
    changed: Condvar,
}

#[derive(Default)]
struct PumpWords {
    by_length: bool,
    deliveries: VecDeque<Delivered>,
    answers: Vec<PumpAnswer>,
    /// The work on deliveries that were taken.
    at_work: HashMap<String, WorkState>,
    /// Cancels of deliveries that were not taken yet.
    cancelled: VecDeque<String>,
    /// Threads that answer deliveries, and those of them that wait for the next one.
    threads: usize,
    free: usize,
    /// Whether the stream has ended, and what broke first.
    is_ended: bool,
    broken: Option<io::Error>,
    /// Whether no further delivery is taken.
    stops: bool,
}

/// How far the work on a delivery is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WorkState {
    Wanted,
    CalledBack,
    /// It was called back, and a thread waits for its end.
    Watched,
    /// Its place was given back before it ended.
    LetGo,
}

/// How the work on a delivery ended.
pub(crate) enum DeliveryEnd {
    Wanted,
    CalledBack,
    /// Its place was given back before.
    LetGo,
}

/// How documents follow one another.
enum DocumentFraming {
    Lines(LineSplitter),
    Lengths(LengthSplitter),
}

impl PumpReader {
    /// Every change is complete before anything can panic.
    fn lock(&self) -> MutexGuard<'_, PumpWords> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'h>(&self, heard: MutexGuard<'h, PumpWords>) -> MutexGuard<'h, PumpWords> {
        self.changed.wait(heard).unwrap_or_else(PoisonError::into_inner)
    }

    /// At TERM or INT no further delivery is taken, and open work has a few seconds. A second signal ends the program.
    pub(crate) fn stop_at_signals(self: &Arc<Self>) -> io::Result<()> {
        let mut signals = Signals::new([SIGTERM, SIGINT])?;
        let reader = Arc::clone(self);
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            for _ in signals.forever() {
                if std::mem::replace(&mut reader.lock().stops, true) {
                    std::process::exit(1);
                }
                reader.changed.notify_all();
            }
        })?;
        Ok(())
    }

    /// Ends the process if work still goes on a few seconds after TERM or after the end of stdin: the organism is gone
    /// then, and may start the program again.
    pub(crate) fn end_in_time(self: &Arc<Self>) -> io::Result<()> {
        let reader = Arc::clone(self);
        std::thread::Builder::new().name("last-seconds".to_owned()).spawn(move || {
            let mut heard = reader.lock();
            while !heard.is_ended && !heard.stops {
                heard = reader.wait(heard);
            }
            let is_open =
                |heard: &PumpWords| !heard.at_work.is_empty() || !heard.stops && !heard.deliveries.is_empty();
            if !heard.stops {
                heard = reader.pass_time(heard, limits::AFTER_END, |heard| is_open(heard) && !heard.stops);
            }
            if heard.stops {
                heard = reader.pass_time(heard, limits::AFTER_TERM, is_open);
            }
            if !is_open(&heard) {
                return;
            }
            let open: Vec<&str> = heard.at_work.keys().map(String::as_str).collect();
            // If stderr is gone, no one can read the message.
            let _gone = writeln!(io::stderr(), "ended in the work on {}", open.join(", "));
            std::process::exit(1);
        })?;
        Ok(())
    }

    /// Waits until a time is over or a condition ends.
    fn pass_time<'h>(
        &self,
        heard: MutexGuard<'h, PumpWords>,
        time: Duration,
        goes_on: impl Fn(&PumpWords) -> bool,
    ) -> MutexGuard<'h, PumpWords> {
        let waited = self.changed.wait_timeout_while(heard, time, |heard| goes_on(heard));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Reads until the stream ends or breaks.
    pub(crate) fn read_all(&self, mut input: impl Read) {
        let ended = self.read_documents(&mut input);
        self.note_end(ended.err());
    }

    /// The output broke: nothing more is taken.
    pub(crate) fn break_off(&self, error: io::Error) {
        self.note_end(Some(error));
    }

    fn note_end(&self, error: Option<io::Error>) {
        let mut heard = self.lock();
        heard.is_ended = true;
        heard.stops |= error.is_some();
        heard.broken = heard.broken.take().or(error);
        drop(heard);
        self.changed.notify_all();
    }

    fn read_documents(&self, input: &mut impl Read) -> io::Result<()> {
        let mut portion = vec![0; limits::PORTION_BYTES];
        let mut framing = None;
        loop {
            let read = match input.read(&mut portion) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            let Some(first) = portion.first().filter(|_| read > 0).copied() else { return Ok(()) };
            let most = DocumentLimits::FROM_PUMP.message_bytes;
            let framing = framing.get_or_insert_with(|| {
                let by_length = first.is_ascii_digit();
                self.lock().by_length = by_length;
                if by_length {
                    DocumentFraming::Lengths(LengthSplitter::new(most))
                } else {
                    DocumentFraming::Lines(LineSplitter::new(most))
                }
            });
            let portion = portion.get(..read).unwrap_or_default();
            let mut documents = Vec::new();
            match framing {
                DocumentFraming::Lines(lines) => lines.feed_chunk(portion, &mut documents),
                DocumentFraming::Lengths(lengths) => lengths.feed_chunk(portion, &mut documents),
            }
            .map_err(as_io_error)?;
            for document in documents.iter().filter(|document| !document.trim_ascii().is_empty()) {
                self.note(PumpDocument::parse(document).map_err(as_io_error)?);
            }
        }
    }

    fn note(&self, told: PumpDocument) {
        let mut heard = self.lock();
        match told {
            // The pump sends no more than the listener's `in_flight`. To wait here would hold back the answers behind it.
            PumpDocument::Delivery(asked) => heard.deliveries.push_back(*asked),
            PumpDocument::Cancel { delivery } => match heard.at_work.get_mut(&delivery) {
                Some(state) if *state == WorkState::Wanted => *state = WorkState::CalledBack,
                Some(_) => {}
                None => {
                    if heard.cancelled.len() == limits::REMEMBERED {
                        heard.cancelled.pop_front();
                    }
                    heard.cancelled.push_back(delivery);
                }
            },
            // No one waits for what came after a cancel.
            PumpDocument::Answer(answer) => {
                if heard.at_work.get(&answer.delivery) == Some(&WorkState::Wanted) {
                    heard.answers.push(answer);
                }
            }
            // A pipe carries no receipts.
            PumpDocument::Receipt(_) => {}
            PumpDocument::Unknown { name } => report_skipped(&name),
        }
        drop(heard);
        self.changed.notify_all();
    }

    /// The next delivery; none once the stream has ended or the program is to stop.
    pub(crate) fn wait_for_delivery(&self) -> Option<Delivered> {
        let mut heard = self.lock();
        heard.free += 1;
        let next = loop {
            if heard.stops {
                break None;
            }
            if let Some(delivery) = heard.deliveries.pop_front() {
                break Some(delivery);
            }
            if heard.is_ended {
                break None;
            }
            heard = self.wait(heard);
        };
        heard.free -= 1;
        if let Some(delivery) = &next {
            let id = &delivery.stamp.delivery;
            let called_back = heard.cancelled.iter().position(|cancelled| cancelled == id);
            let state = match called_back.and_then(|place| heard.cancelled.remove(place)) {
                Some(_) => WorkState::CalledBack,
                None => WorkState::Wanted,
            };
            heard.at_work.insert(id.clone(), state);
        }
        drop(heard);
        self.changed.notify_all();
        next
    }

    /// Whether no thread is free for the next delivery, and one more may be started.
    pub(crate) fn needs_thread(&self) -> bool {
        let heard = self.lock();
        heard.free == 0 && heard.threads < limits::SLOTS
    }

    /// A thread was started, or could not be.
    pub(crate) fn note_thread(&self, is_started: bool) {
        self.lock().threads += usize::from(is_started);
    }

    /// The answer to that number; none if the delivery was called back or the pump is gone.
    pub(crate) fn wait_for_answer(&self, delivery: &str, id: u64) -> Option<PumpAnswer> {
        let mut heard = self.lock();
        loop {
            let ours = |answer: &PumpAnswer| answer.delivery == delivery && answer.id == id;
            if let Some(place) = heard.answers.iter().position(ours) {
                return Some(heard.answers.swap_remove(place));
            }
            if heard.at_work.get(delivery) != Some(&WorkState::Wanted) || heard.is_ended {
                return None;
            }
            heard = self.wait(heard);
        }
    }

    /// Whether the delivery is at work and has not been called back.
    pub(crate) fn is_wanted(&self, delivery: &str) -> bool {
        self.lock().at_work.get(delivery) == Some(&WorkState::Wanted)
    }

    /// The next delivery at work that was called back; none once the stream has ended and nothing is at work.
    pub(crate) fn wait_for_cancelled(&self) -> Option<String> {
        let mut heard = self.lock();
        loop {
            let called_back = |(_, state): &(&String, &mut WorkState)| **state == WorkState::CalledBack;
            if let Some((delivery, state)) = heard.at_work.iter_mut().find(called_back) {
                *state = WorkState::Watched;
                return Some(delivery.clone());
            }
            if (heard.is_ended || heard.stops) && heard.at_work.is_empty() {
                return None;
            }
            heard = self.wait(heard);
        }
    }

    /// Whether the work on a delivery goes on for long after its cancel. Its place is given back then.
    pub(crate) fn outlasts_cancel(&self, delivery: &str) -> bool {
        let goes_on = |heard: &PumpWords| heard.at_work.get(delivery) == Some(&WorkState::Watched);
        let mut heard = self.pass_time(self.lock(), limits::LET_GO, goes_on);
        let outlasts = goes_on(&heard);
        if outlasts {
            heard.at_work.insert(delivery.to_owned(), WorkState::LetGo);
        }
        outlasts
    }

    /// The work on a delivery is over.
    pub(crate) fn end_delivery(&self, delivery: &str) -> DeliveryEnd {
        let mut heard = self.lock();
        heard.answers.retain(|answer| answer.delivery != delivery);
        let state = heard.at_work.remove(delivery);
        drop(heard);
        self.changed.notify_all();
        match state {
            Some(WorkState::LetGo) => DeliveryEnd::LetGo,
            Some(WorkState::CalledBack | WorkState::Watched) => DeliveryEnd::CalledBack,
            Some(WorkState::Wanted) | None => DeliveryEnd::Wanted,
        }
    }

    /// How the stream ended.
    pub(crate) fn take_end(&self) -> io::Result<()> {
        self.lock().broken.take().map_or(Ok(()), Err)
    }

    /// Whether documents follow one another with their lengths.
    pub(crate) fn is_by_length(&self) -> bool {
        self.lock().by_length
    }
}
