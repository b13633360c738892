//! The fence before the deliveries to a listener: one message, whose place in the stream every delivery names as the
//! expected one. A new fence shuts out every delivery that is still on its way.
//!
//! A pump never puts a fence before the deliveries of a pump that has taken over since. If the log is at the broker,
//! a fence says in which term it was put; a fence of an earlier term blocks no one. Each fence is put behind the
//! fence that was read, so one that reaches the broker late is refused there.

use std::error::Error as _;

use async_nats::HeaderMap;
use async_nats::jetstream::context::{PublishError, PublishErrorKind};
use async_nats::jetstream::stream::{LastRawMessageErrorKind, Stream};
use async_nats::jetstream::{Error, ErrorCode};

use systole_bus::{Broker, WriterTerm};
use systole_core::types::ids::Name;

use crate::limits;

/// The header that names the expected fence.
pub(super) const EXPECTED: &str = "Nats-Expected-Last-Subject-Sequence";
/// The first word of every fence; the term follows.
const WORD: &str = "systole";
/// The error after the last try.
pub(super) const CONTESTED: &str =
    "another program puts fences before the deliveries: only one organism of this name may run";

/// Why no fence was put.
#[derive(Debug, thiserror::Error)]
pub(super) enum FenceFault {
    /// Another program stands in the way, for this reason.
    #[error("{0}")]
    Barred(&'static str),
    /// The broker did not do it, for this reason.
    #[error("{0}")]
    Failed(String),
}

/// Puts a new fence before the deliveries to a listener, and returns its place. Older fences are deleted.
pub(super) async fn put(broker: &Broker, listener: &Name, stream: &Stream<()>) -> Result<u64, FenceFault> {
    let failed = |error: String| FenceFault::Failed(error);
    let subject = broker.subjects().name_fence(listener);
    for _ in 0..limits::FENCE_ROUNDS {
        let (before, words) = match stream.get_last_raw_message_by_subject(&subject).await {
            Ok(found) => (found.sequence, String::from_utf8_lossy(&found.payload).into_owned()),
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => (0, String::new()),
            Err(error) => return Err(failed(error.to_string())),
        };
        if is_later(&words, broker.term()) {
            return Err(FenceFault::Barred(
                "another pump has taken the log over, and its deliveries are in the stream",
            ));
        }
        let mut headers = HeaderMap::new();
        headers.insert(EXPECTED, before.to_string());
        let fence = name_writer(broker.term());
        let stored = async {
            let publish = broker.jetstream().publish_with_headers(subject.clone(), headers, fence.into());
            publish.await?.await
        };
        match stored.await {
            Ok(stored) => {
                let purge = stream.purge().keep(1).filter(subject);
                purge.await.map_err(|error| failed(error.to_string()))?;
                return Ok(stored.sequence);
            }
            Err(error) if is_stale(&error) => {}
            Err(error) => return Err(failed(error.to_string())),
        }
    }
    Err(FenceFault::Barred(CONTESTED))
}

/// Whether the broker refused a message because there is another fence.
pub(super) fn is_stale(error: &PublishError) -> bool {
    let said = error.source().and_then(|source| source.downcast_ref::<Error>()).map(Error::error_code);
    error.kind() == PublishErrorKind::WrongLastSequence
        || said == Some(ErrorCode::STREAM_WRONG_LAST_SEQUENCE_CONSTANT)
}

/// The text of a fence of that term.
pub(super) fn name_writer(term: Option<&WriterTerm>) -> String {
    match term {
        Some(WriterTerm { log, epoch }) => format!("{WORD} {epoch} {log}"),
        None => WORD.to_owned(),
    }
}

/// Whether a fence was put in a later term of the same log.
fn is_later(words: &str, own: Option<&WriterTerm>) -> bool {
    own.is_some_and(|own| read_epoch(words, own).is_some_and(|epoch| epoch > own.epoch))
}

/// Whether that text names an earlier term of the same log.
pub(super) fn is_earlier(words: &str, own: Option<&WriterTerm>) -> bool {
    own.is_some_and(|own| read_epoch(words, own).is_some_and(|epoch| epoch < own.epoch))
}

/// The epoch in such a text, if it is about the same log.
fn read_epoch(words: &str, own: &WriterTerm) -> Option<u64> {
    match words.split(' ').collect::<Vec<_>>()[..] {
        [WORD, epoch, log] if log == own.log => epoch.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_of_a_later_term_of_the_same_log_alone_is_left_alone() {
        let term = |log: &str, epoch| WriterTerm { log: log.to_owned(), epoch };
        let own = term("1", 4);
        assert!(is_later(&name_writer(Some(&term("1", 5))), Some(&own)));
        assert!(is_later(&name_writer(Some(&term("1", 10))), Some(&own)), "numbers, not texts");
        for other in [Some(term("1", 4)), Some(term("1", 3)), Some(term("2", 5)), None] {
            assert!(!is_later(&name_writer(other.as_ref()), Some(&own)), "{other:?}");
        }
        assert!(is_earlier(&name_writer(Some(&term("1", 3))), Some(&own)));
        for other in [Some(term("1", 4)), Some(term("1", 10)), Some(term("2", 3)), None] {
            assert!(!is_earlier(&name_writer(other.as_ref()), Some(&own)), "{other:?}");
        }
        assert!(!is_earlier(&name_writer(Some(&term("1", 3))), None));
        assert!(!is_later(&name_writer(Some(&own)), None), "a log in a file has no terms");
        assert!(!is_later("", Some(&own)));
    }
}
