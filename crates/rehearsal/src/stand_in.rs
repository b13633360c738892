//! A stand-in: it answers instead of a listener from the list in a test, and counts the answers it gave and the
//! requests without an answer.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use systole_kit::envelope::Delivered;
use systole_kit::line::Line;
use systole_kit::reply::{Item, ReplyContent};
use systole_kit::{DocumentLimits, Payload};

use systole_carriers::{InlineListener, ReplyFuture};
use systole_config::FilePlace;
use systole_config::rehearsal::StandIn;

/// The code of a failure by a stand-in.
const CODE: &str = "stand-in";

/// A stand-in of one test.
pub(crate) struct StandingIn {
    listener: String,
    list: StandIn,
    counts: Mutex<StandInCounts>,
}

struct StandInCounts {
    /// How often each answer was given.
    given: Vec<usize>,
    /// The requests without an answer, in words.
    missed: Vec<String>,
}

impl StandingIn {
    pub(crate) fn new(listener: &str, list: &StandIn) -> StandingIn {
        let counts = StandInCounts { given: vec![0; list.answers.len()], missed: Vec::new() };
        StandingIn { listener: listener.to_owned(), list: list.clone(), counts: Mutex::new(counts) }
    }

    fn lock_counts(&self) -> MutexGuard<'_, StandInCounts> {
        // Every change is one step, so poisoned counts are still consistent.
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The requests without an answer, in words.
    pub(crate) fn list_missed(&self) -> Vec<String> {
        self.lock_counts().missed.clone()
    }

    /// The answers that were never given, by place.
    pub(crate) fn list_unused(&self) -> Vec<FilePlace> {
        let counts = self.lock_counts();
        let each = self.list.answers.iter().zip(&counts.given);
        each.filter(|(_, given)| **given == 0).map(|(answer, _)| answer.place.clone()).collect()
    }

    fn choose_reply(&self, asked: &Delivered) -> ReplyContent {
        let request = String::from_utf8_lossy(asked.payload.bytes()).into_owned();
        let mut counts = self.lock_counts();
        let fits = |(at, answer): &(usize, &systole_config::rehearsal::StandInAnswer)| {
            counts.given.get(*at).is_some_and(|given| *given < answer.times)
                && answer.only_if.iter().all(|text| request.contains(text.as_str()))
        };
        let found = self.list.answers.iter().enumerate().find(fits);
        let Some((at, answer)) = found else {
            let all = self.list.answers.len();
            let left = || {
                format!(
                    "the stand-in of {} has used all its {all} answers; none is left for: {request}",
                    self.listener
                )
            };
            let words = self.list.why.clone().unwrap_or_else(left);
            counts.missed.push(words.clone());
            return ReplyContent::new_failure(CODE, false, words);
        };
        if let Some(given) = counts.given.get_mut(at) {
            *given += 1;
        }
        match &answer.says {
            Ok(document) => match Payload::parse(document, &DocumentLimits::FROM_PUMP) {
                Ok(payload) => ReplyContent::Items(vec![Item::plain(payload)]),
                Err(fault) => {
                    let words = fault.message.to_string();
                    ReplyContent::new_failure(CODE, false, words)
                }
            },
            Err((words, retry)) => ReplyContent::new_failure(CODE, *retry, words.clone()),
        }
    }
}

impl InlineListener for StandingIn {
    fn answer_delivery(self: Arc<Self>, asked: Delivered, _: Arc<dyn Line>) -> ReplyFuture {
        Box::pin(async move { self.choose_reply(&asked) })
    }
}
