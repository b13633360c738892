//! Reads the messages of one subject ahead of whoever takes them: several questions are under way at once, and their
//! answers are given in the order of the stream. It looks into no message, and never gives one behind a question that
//! found nothing.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::source::{LogSource, Stored};
use super::unusable::Unusable;

/// Questions under way at once, at most: what they bring is held in memory, and a message may have 900 KB.
const MOST: usize = 16;

type Answer = Result<Option<Stored>, Unusable>;

/// A question for the first message from some place on.
enum Asked<'a> {
    UnderWay(Pin<Box<dyn Future<Output = Answer> + Send + 'a>>),
    Answered(Answer),
}

/// The messages of a subject from some place on.
pub struct Ahead<'a> {
    source: &'a LogSource,
    stream: &'a str,
    subject: String,
    /// In the order of the places that they ask for.
    asked: VecDeque<Asked<'a>>,
    /// The place of the next question.
    to_ask: u64,
    /// The least place that was not given yet.
    next: u64,
    /// Questions that may be under way: one at first, for most of whom looks finds nothing new.
    most: usize,
}

impl<'a> Ahead<'a> {
    pub(super) fn of(source: &'a LogSource, stream: &'a str, subject: String, next: u64) -> Ahead<'a> {
        let asked = VecDeque::with_capacity(MOST);
        Ahead { source, stream, subject, asked, to_ask: next, next, most: 1 }
    }

    /// The next message; none where the stream had no further one.
    pub async fn next(&mut self) -> Answer {
        loop {
            self.ask();
            match std::future::poll_fn(|cx| self.poll_first(cx)).await? {
                // What was asked later may have found what came meanwhile: it is asked for again.
                None => {
                    self.asked.clear();
                    self.to_ask = self.next;
                    return Ok(None);
                }
                // Between the messages of the subject stand others: an earlier question had the same answer.
                Some(stored) if stored.sequence < self.next => {}
                Some(stored) => {
                    self.next = stored.sequence + 1;
                    self.most = (self.most * 2).min(MOST);
                    return Ok(Some(stored));
                }
            }
        }
    }

    fn ask(&mut self) {
        if self.asked.is_empty() {
            self.to_ask = self.next;
        }
        while self.asked.len() < self.most {
            let question = self.source.first(self.stream, self.subject.clone(), self.to_ask);
            self.asked.push_back(Asked::UnderWay(Box::pin(question)));
            self.to_ask += 1;
        }
    }

    /// Drives every question, and gives the first one's answer.
    fn poll_first(&mut self, cx: &mut Context<'_>) -> Poll<Answer> {
        for asked in &mut self.asked {
            if let Asked::UnderWay(question) = asked
                && let Poll::Ready(answer) = question.as_mut().poll(cx)
            {
                *asked = Asked::Answered(answer);
            }
        }
        match self.asked.pop_front() {
            Some(Asked::Answered(answer)) => Poll::Ready(answer),
            Some(under_way) => {
                self.asked.push_front(under_way);
                Poll::Pending
            }
            // Nothing was asked: there is nothing to wait for.
            None => Poll::Ready(Ok(None)),
        }
    }
}
