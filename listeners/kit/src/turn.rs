//! One delivery in the hands of a listener, and what the listener can say while it works on it.
//!
//! It judges nothing and knows no stream: words go to whatever carries them, a pipe or a broker, and answers come from
//! there.

use std::io;

use crate::Payload;
use crate::answers::Answers;
use crate::ask::Question;
use crate::envelope::Delivered;
use crate::journal::Entry;
use crate::line::NotTaken;
use crate::reply::Word;
use crate::told::Answer;

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

impl<'p> Turn<'p> {
    /// A delivery that has just come.
    pub(crate) fn of(asked: Delivered, pump: &'p mut dyn Pump) -> Self {
        Self { asked, pump, said: 0, over: false, broken: None }
    }

    /// Why the other end cannot be spoken to any more.
    pub(crate) fn broken(self) -> Option<io::Error> {
        self.broken
    }

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

    /// Whether an answer is still wanted, as far as is known without waiting. A listener that works for long looks now
    /// and then, and gives up where it is not. Over a pipe it is known once something was asked; over a broker at once.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        !self.over && self.pump.is_wanted()
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

/// The other end, whatever carries the words.
pub(crate) trait Pump {
    fn say(&mut self, word: &Word) -> io::Result<()>;
    /// The answer to that number; none where the delivery was called back, or the pump is gone.
    fn wait(&mut self, delivery: &str, id: u64) -> io::Result<Option<Answer>>;
    /// Whether the delivery was not called back, as far as is known without waiting.
    fn is_wanted(&self) -> bool {
        true
    }
}
