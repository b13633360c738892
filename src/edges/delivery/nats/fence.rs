//! The fence before the deliveries to a listener: one message, whose place in the stream every delivery names as the one it
//! expects. Whoever puts a new one shuts out whatever else is on its way.
//!
//! Never puts one before those of a pump that has taken over since: where the log is at the broker, a fence says in which
//! term it was put, and one of an earlier term stands in nobody's way any more. Each is put behind the one that was read,
//! so what reaches the broker late is refused there.

use std::error::Error as _;

use async_nats::HeaderMap;
use async_nats::jetstream::context::{PublishError, PublishErrorKind};
use async_nats::jetstream::stream::{LastRawMessageErrorKind, Stream};
use async_nats::jetstream::{Error, ErrorCode};

use crate::edges::nats::{Broker, Term};
use systole_core::types::ids::Name;

/// The fence that a message expects.
pub(super) const EXPECTED: &str = "Nats-Expected-Last-Subject-Sequence";
/// What every fence begins with; the term stands behind it.
const WORD: &str = "systole";
/// How often one is tried to be put, and a delivery behind it.
pub(super) const ROUNDS: usize = 3;
/// Why there is none to be had.
pub(super) const CONTESTED: &str =
    "somebody else puts fences before the deliveries: only one organism of this name may run";

/// Puts a new fence before the deliveries to a listener, and gives its place. The older ones go.
pub(super) async fn put(broker: &Broker, listener: &Name, stream: &Stream<()>) -> Result<u64, String> {
    let subject = broker.subjects().fence(listener);
    for _ in 0..ROUNDS {
        let (before, words) = match stream.get_last_raw_message_by_subject(&subject).await {
            Ok(found) => (found.sequence, String::from_utf8_lossy(&found.payload).into_owned()),
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => (0, String::new()),
            Err(error) => return Err(error.to_string()),
        };
        if is_later(&words, broker.term()) {
            return Err("another pump has taken the log over, and its deliveries lie there".to_owned());
        }
        let mut headers = HeaderMap::new();
        headers.insert(EXPECTED, before.to_string());
        let fence = said(broker.term());
        let stored = async {
            let publish = broker.jetstream().publish_with_headers(subject.clone(), headers, fence.into());
            publish.await?.await
        };
        match stored.await {
            Ok(stored) => {
                let purge = stream.purge().keep(1).filter(subject);
                purge.await.map_err(|error| error.to_string())?;
                return Ok(stored.sequence);
            }
            Err(error) if is_stale(&error) => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    Err(CONTESTED.to_owned())
}

/// Whether the broker refused a message because another fence stands there.
pub(super) fn is_stale(error: &PublishError) -> bool {
    let said = error.source().and_then(|source| source.downcast_ref::<Error>()).map(Error::error_code);
    error.kind() == PublishErrorKind::WrongLastSequence
        || said == Some(ErrorCode::STREAM_WRONG_LAST_SEQUENCE_CONSTANT)
}

/// What a fence of that term says.
fn said(term: Option<&Term>) -> String {
    match term {
        Some(Term { log, epoch }) => format!("{WORD} {epoch} {log}"),
        None => WORD.to_owned(),
    }
}

/// Whether a fence was put in a later term of the same log.
fn is_later(words: &str, own: Option<&Term>) -> bool {
    let (Some(own), [WORD, epoch, log]) = (own, &words.split(' ').collect::<Vec<_>>()[..]) else {
        return false;
    };
    *log == own.log && epoch.parse::<u64>().is_ok_and(|epoch| epoch > own.epoch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_of_a_later_term_of_the_same_log_alone_is_left_alone() {
        let term = |log: &str, epoch| Term { log: log.to_owned(), epoch };
        let own = term("1", 4);
        assert!(is_later(&said(Some(&term("1", 5))), Some(&own)));
        assert!(is_later(&said(Some(&term("1", 10))), Some(&own)), "numbers, not texts");
        for other in [Some(term("1", 4)), Some(term("1", 3)), Some(term("2", 5)), None] {
            assert!(!is_later(&said(other.as_ref()), Some(&own)), "{other:?}");
        }
        assert!(!is_later(&said(Some(&own)), None), "a log in a file has no terms");
        assert!(!is_later("", Some(&own)));
    }
}
