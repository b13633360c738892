//! Reads the messages of one subject ahead of the caller: several questions are under way at once, and their answers
//! are returned in the order of the stream. It never looks into a message, and never returns an answer behind a
//! question that found nothing.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::source::{LogSource, StoredMessage};
use super::unusable::BrokerFault;
use crate::limits;

type ReadAhead = Result<Option<StoredMessage>, BrokerFault>;

/// A question for the first message from a place on.
enum AskedMessage<'a> {
    UnderWay(Pin<Box<dyn Future<Output = ReadAhead> + Send + 'a>>),
    Answered(ReadAhead),
}

/// The messages of a subject from a place on.
pub struct MessagesAhead<'a> {
    source: &'a LogSource,
    stream: &'a str,
    subject: String,
    /// In the order of the places that they ask for.
    asked: VecDeque<AskedMessage<'a>>,
    /// The place of the next question.
    to_ask: u64,
    /// The lowest place that was not returned yet.
    next: u64,
    /// How many questions may be under way. One at first, because most callers find nothing new.
    most: usize,
}

impl LogSource {
    /// The messages of a partition from that place on; several are asked for at once.
    pub fn read_ahead(&self, partition: u32, sequence: u64) -> MessagesAhead<'_> {
        MessagesAhead::new(self, &self.stream, self.subjects.name_log(partition), sequence)
    }
}

impl<'a> MessagesAhead<'a> {
    pub(super) fn new(
        source: &'a LogSource,
        stream: &'a str,
        subject: String,
        next: u64,
    ) -> MessagesAhead<'a> {
        let asked = VecDeque::with_capacity(limits::QUESTIONS);
        MessagesAhead { source, stream, subject, asked, to_ask: next, next, most: 1 }
    }

    /// The next message; `None` if the stream has no further one.
    pub async fn next(&mut self) -> ReadAhead {
        loop {
            self.ask_next();
            match std::future::poll_fn(|cx| self.poll_first(cx)).await? {
                // Later questions may have found newer messages; those places are asked again.
                None => {
                    self.asked.clear();
                    self.to_ask = self.next;
                    return Ok(None);
                }
                // There are other messages between those of the subject, so an earlier question had the same answer.
                Some(stored) if stored.sequence < self.next => {}
                Some(stored) => {
                    self.next = stored.sequence + 1;
                    self.most = (self.most * 2).min(limits::QUESTIONS);
                    return Ok(Some(stored));
                }
            }
        }
    }

    fn ask_next(&mut self) {
        if self.asked.is_empty() {
            self.to_ask = self.next;
        }
        while self.asked.len() < self.most {
            let question = self.source.read_first(self.stream, self.subject.clone(), self.to_ask);
            self.asked.push_back(AskedMessage::UnderWay(Box::pin(question)));
            self.to_ask += 1;
        }
    }

    /// Drives every question, and returns the first one's answer.
    fn poll_first(&mut self, cx: &mut Context<'_>) -> Poll<ReadAhead> {
        for asked in &mut self.asked {
            if let AskedMessage::UnderWay(question) = asked
                && let Poll::Ready(answer) = question.as_mut().poll(cx)
            {
                *asked = AskedMessage::Answered(answer);
            }
        }
        match self.asked.pop_front() {
            Some(AskedMessage::Answered(answer)) => Poll::Ready(answer),
            Some(under_way) => {
                self.asked.push_front(under_way);
                Poll::Pending
            }
            // Nothing was asked, so there is nothing to wait for.
            None => Poll::Ready(Ok(None)),
        }
    }
}
