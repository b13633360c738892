//! The answers that pages share when they refresh at one event: the pages of one client at one address show the same, so
//! one of them reads the log and the others get its answer.
//!
//! A client, an address and a position come in; an answer that is at least that new goes out. Few are kept, and none that
//! is long.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::{Body, Bytes, HttpBody as _, to_bytes};
use axum::http::StatusCode;
use axum::http::response::Parts;
use axum::response::{IntoResponse as _, Response};
use tokio::sync::Mutex as TurnMutex;

use systole_core::types::ids::Name;
use systole_core::types::ports::Position;

use crate::limits;

/// Who asks, and for what.
type AnswerKey = (Name, String);

/// An answer, and the position that it is as new as.
type KeptAnswer = Option<(Position, Parts, Bytes)>;
/// The place of an answer. Pages that ask for the same wait for each other here.
type AnswerSlot = Arc<TurnMutex<KeptAnswer>>;

/// The newest answers.
#[derive(Default)]
pub struct KeptAnswers(Mutex<VecDeque<(AnswerKey, AnswerSlot)>>);

impl KeptAnswers {
    /// The answer that is at least as new as a position: a kept one, or the one that `answers` gives. Others that ask for
    /// the same wait for it.
    pub async fn at_least(
        &self,
        key: AnswerKey,
        told: Position,
        answers: impl Future<Output = Response>,
    ) -> Response {
        let slot = self.find_slot(key);
        let mut kept = slot.lock().await;
        if let Some((_, parts, bytes)) = kept.as_ref().filter(|(position, ..)| *position >= told) {
            return Response::from_parts(parts.clone(), Body::from(bytes.clone()));
        }
        *kept = None;
        let answer = answers.await;
        let is_short =
            answer.body().size_hint().upper().is_some_and(|bytes| bytes <= limits::KEPT_ANSWER_BYTES);
        if answer.status() != StatusCode::OK || !is_short {
            return answer;
        }
        let (parts, body) = answer.into_parts();
        match to_bytes(body, usize::MAX).await {
            Ok(bytes) => {
                *kept = Some((told, parts.clone(), bytes.clone()));
                Response::from_parts(parts, Body::from(bytes))
            }
            // A body of memory has no way to fail.
            Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        }
    }

    fn find_slot(&self, key: AnswerKey) -> AnswerSlot {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = slots.iter().position(|(known, _)| *known == key).and_then(|at| slots.remove(at));
        let (key, slot) = found.unwrap_or_else(|| (key, Arc::default()));
        slots.push_front((key, slot.clone()));
        slots.truncate(limits::KEPT_ANSWERS);
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    async fn text(answer: Response) -> String {
        String::from_utf8(to_bytes(answer.into_body(), usize::MAX).await.unwrap().to_vec()).unwrap()
    }

    #[tokio::test]
    async fn h4_pages_at_one_address_share_an_answer_until_a_newer_one_is_needed() {
        let (answers, rendered) = (KeptAnswers::default(), AtomicU64::new(0));
        let asks = async |client: &str, address: &str, told: u64| {
            let work = async { rendered.fetch_add(1, Ordering::Relaxed).to_string().into_response() };
            let key = (Name::parse(client).unwrap(), address.to_owned());
            text(answers.at_least(key, Position(told), work).await).await
        };
        for _ in 0..64 {
            assert_eq!(asks("alice", "/", 7).await, "0");
        }
        assert_eq!(asks("alice", "/", 6).await, "0", "an older event is served by a newer answer");
        assert_eq!(asks("alice", "/", 8).await, "1", "a later event is not served by an older answer");
        assert_eq!(asks("bob", "/", 8).await, "2", "another client never gets it");
        assert_eq!(asks("alice", "/threads", 8).await, "3");
        for n in 0..100 {
            asks("alice", &format!("/threads?q={n}"), 8).await;
        }
        assert_eq!(answers.0.lock().unwrap().len(), limits::KEPT_ANSWERS);
    }

    #[tokio::test]
    async fn h4_a_refusal_and_a_long_answer_are_not_kept() {
        let answers = KeptAnswers::default();
        let long = "x".repeat(2 << 20);
        let key = || (Name::parse("alice").unwrap(), "/".to_owned());
        let refused =
            answers.at_least(key(), Position(1), async { StatusCode::NOT_FOUND.into_response() }).await;
        assert_eq!(refused.status(), StatusCode::NOT_FOUND);
        let whole = answers.at_least(key(), Position(1), async { long.clone().into_response() }).await;
        assert_eq!(text(whole).await, long);
        let next = answers.at_least(key(), Position(1), async { "short".into_response() }).await;
        assert_eq!(text(next).await, "short");
    }
}
