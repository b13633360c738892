//! One delivery that a listener works on, and what the listener can say during that work.
//!
//! It makes no decisions and knows no stream. Messages go to a carrier (a pipe or a broker), and answers come back
//! from it.

use std::io;

use crate::Payload;
use crate::answers::Answers;
use crate::ask::PumpQuestion;
use crate::envelope::Delivered;
use crate::journal::JournalEntry;
use crate::line::NotTaken;
use crate::pump_documents::PumpAnswer;
use crate::reply::ListenerDocument;

/// One delivery that the listener works on.
pub struct Turn<'p> {
    asked: Delivered,
    pump: &'p mut dyn PumpLink,
    /// How many entries and questions were sent. The next one gets the next number.
    said: u64,
    /// Whether the answer is no longer wanted.
    over: bool,
    broken: Option<io::Error>,
}

impl std::fmt::Debug for Turn<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Turn").field("asked", &self.asked).finish_non_exhaustive()
    }
}

impl<'p> Turn<'p> {
    /// A delivery that has just come.
    pub(crate) fn new(asked: Delivered, pump: &'p mut dyn PumpLink) -> Self {
        Self { asked, pump, said: 0, over: false, broken: None }
    }

    /// Why the connection to the pump broke.
    pub(crate) fn into_error(self) -> Option<io::Error> {
        self.broken
    }

    /// The request. From the second turn of a call on, this holds the answers to the last items.
    #[must_use]
    pub fn request(&self) -> &Payload {
        &self.asked.payload
    }

    /// The answers to the items of the last turn. The first turn has none.
    #[must_use]
    pub fn answers(&self) -> Option<Answers> {
        Answers::from_payload(&self.asked.payload).ok()
    }

    /// The whole delivery: the caller, the thread, the number of the attempt.
    #[must_use]
    pub fn delivery(&self) -> &Delivered {
        &self.asked
    }

    /// Reports what the listener is doing. Observers see it, and it renews the idle timeout.
    pub fn progress(&mut self, words: &str) {
        let (delivery, words) = (self.delivery_id(), words.to_owned());
        let word = ListenerDocument::Progress { delivery, part: None, words };
        self.send(&word);
    }

    /// Leaves feedback that the pump records and shows in the next turn.
    pub fn notice(&mut self, code: &str, words: &str) {
        let word = ListenerDocument::Notice {
            delivery: self.delivery_id(),
            code: code.to_owned(),
            words: words.to_owned(),
        };
        self.send(&word);
    }

    /// Records an entry and waits until it is on disk. Returns its number, which a result names as its start.
    ///
    /// # Errors
    /// If the pump refuses the entry, or the answer is no longer wanted.
    pub fn journal(&mut self, entry: JournalEntry) -> Result<u64, NotTaken> {
        let (delivery, id) = (self.delivery_id(), self.next_number());
        self.wait_for(&ListenerDocument::Journal { delivery, id, entry: Ok(entry) }, id)
            .map(|answer| answer.id)
    }

    /// Asks the pump a question and waits for the answer.
    ///
    /// # Errors
    /// If the pump refuses to answer, or the answer is no longer wanted.
    pub fn ask(&mut self, question: PumpQuestion) -> Result<Option<Payload>, NotTaken> {
        let (delivery, id) = (self.delivery_id(), self.next_number());
        self.wait_for(&ListenerDocument::Ask { delivery, id, question: Ok(question) }, id)
            .map(|answer| answer.payload)
    }

    /// Whether an answer is still wanted, as far as is known without waiting. A listener that works for a long time
    /// checks this now and then, and gives up if the answer is not wanted.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        !self.over && self.pump.is_wanted()
    }

    fn delivery_id(&self) -> String {
        self.asked.stamp.delivery.clone()
    }

    fn next_number(&mut self) -> u64 {
        self.said += 1;
        self.said
    }

    /// Sends what is said while an answer is wanted: after that the pump would refuse it.
    fn send(&mut self, word: &ListenerDocument) {
        if self.broken.is_none() && self.is_wanted() {
            self.broken = self.pump.write_document(word).err();
        }
    }

    fn wait_for(&mut self, word: &ListenerDocument, id: u64) -> Result<PumpAnswer, NotTaken> {
        self.send(word);
        if self.broken.is_some() || !self.is_wanted() {
            return Err(NotTaken::Over);
        }
        match self.pump.wait_for_answer(&self.asked.stamp.delivery, id) {
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

/// The pump's side of a turn, over any carrier.
pub(crate) trait PumpLink {
    fn write_document(&mut self, word: &ListenerDocument) -> io::Result<()>;
    /// The answer to that number. `None` if the delivery was cancelled or the pump is gone.
    fn wait_for_answer(&mut self, delivery: &str, id: u64) -> io::Result<Option<PumpAnswer>>;
    /// Whether the delivery is still wanted, as far as is known without waiting.
    fn is_wanted(&self) -> bool {
        true
    }
}
