//! What the pump says to a program on stdin, read by a thread of its own: the program works on one delivery and hears of
//! a cancel meanwhile.
//!
//! It answers nothing. Bytes come in; deliveries in their order, answers to questions, and cancels go out. It reads
//! ahead only so far.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

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
    /// Deliveries that were called back before their answer.
    cancelled: VecDeque<String>,
    /// How the stream ended.
    ended: Option<io::Result<()>>,
    /// Whether no further delivery is taken.
    stops: bool,
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

    /// At TERM or INT no further delivery is taken. A second one ends the program.
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

    /// Reads until the stream ends or breaks.
    pub(crate) fn read_all(&self, mut input: impl Read) {
        let ended = self.read_documents(&mut input);
        self.lock().ended = Some(ended);
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
            PumpDocument::Delivery(asked) => {
                while heard.deliveries.len() >= limits::READ_AHEAD && !heard.stops {
                    heard = self.wait(heard);
                }
                heard.deliveries.push_back(*asked);
            }
            PumpDocument::Cancel { delivery } => {
                if heard.cancelled.len() == limits::REMEMBERED {
                    heard.cancelled.pop_front();
                }
                heard.cancelled.push_back(delivery);
            }
            PumpDocument::Answer(answer) => {
                heard.answers.truncate(limits::READ_AHEAD);
                heard.answers.push(answer);
            }
            // A pipe carries no receipts.
            PumpDocument::Receipt(_) => {}
            PumpDocument::Unknown { name } => report_skipped(&name),
        }
        drop(heard);
        self.changed.notify_all();
    }

    /// The next delivery; none once the stream has ended or the program is to stop.
    pub(crate) fn wait_for_delivery(&self) -> io::Result<Option<Delivered>> {
        let mut heard = self.lock();
        loop {
            if heard.stops {
                return Ok(None);
            }
            if let Some(delivery) = heard.deliveries.pop_front() {
                drop(heard);
                self.changed.notify_all();
                return Ok(Some(delivery));
            }
            if let Some(ended) = heard.ended.take() {
                return ended.map(|()| None);
            }
            heard = self.wait(heard);
        }
    }

    /// The answer to that number; none if the delivery was called back or the pump is gone.
    pub(crate) fn wait_for_answer(&self, delivery: &str, id: u64) -> io::Result<Option<PumpAnswer>> {
        let mut heard = self.lock();
        loop {
            let ours = |answer: &PumpAnswer| answer.delivery == delivery && answer.id == id;
            if let Some(place) = heard.answers.iter().position(ours) {
                return Ok(Some(heard.answers.swap_remove(place)));
            }
            if heard.cancelled.iter().any(|cancelled| cancelled == delivery) || heard.ended.is_some() {
                return Ok(None);
            }
            heard = self.wait(heard);
        }
    }

    /// Whether the delivery has not been called back.
    pub(crate) fn is_wanted(&self, delivery: &str) -> bool {
        !self.lock().cancelled.iter().any(|cancelled| cancelled == delivery)
    }

    /// The work on a delivery is over. Returns whether it was called back.
    pub(crate) fn end_delivery(&self, delivery: &str) -> bool {
        let mut heard = self.lock();
        heard.answers.retain(|answer| answer.delivery != delivery);
        let before = heard.cancelled.len();
        heard.cancelled.retain(|one| one != delivery);
        heard.cancelled.len() < before
    }

    /// Whether documents follow one another with their lengths.
    pub(crate) fn is_by_length(&self) -> bool {
        self.lock().by_length
    }
}
