//! News for a worker's author, and the reasons why a worker ends. It holds text only; the reader decides what to do.

use std::fmt;

/// An event outside the handling of deliveries.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WorkerEvent {
    /// Another reply to the delivery was accepted first, so this one does not count: another worker had the delivery
    /// as well.
    Superseded {
        /// The delivery.
        delivery: String,
    },
    /// The pump refused a reply, a notice, or one item of a reply. The refusal is final: nothing is sent again.
    Refused {
        /// The delivery that it concerns.
        delivery: String,
        /// The item that was refused, from 0. `None` if everything was refused.
        item: Option<u64>,
        /// The code, such as `payload.invalid`.
        code: String,
        /// The pump's message.
        words: String,
    },
    /// A reply could not be sent as it is. A `<failure>` was sent in its place.
    Unsent {
        /// The delivery.
        delivery: String,
        /// Why.
        words: String,
    },
    /// A message that is not a delivery of a pump. It is ignored.
    Unreadable {
        /// Why.
        words: String,
    },
    /// The broker forbids this key an operation that a worker of the listener needs.
    Forbidden {
        /// The broker's message.
        words: String,
    },
    /// The broker hands out no deliveries of the listener: the organism has not run yet, or the broker gives none at
    /// the moment.
    Idle {
        /// The broker's message.
        words: String,
    },
    /// The broker cannot be reached. The worker keeps trying.
    Away {
        /// Why.
        words: String,
    },
    /// The worker is connected to the broker.
    Connected,
    /// The worker ends without having been asked to.
    Ends(WorkerFault),
}

impl fmt::Display for WorkerEvent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Superseded { delivery } => {
                write!(out, "another answer was taken before this one (delivery {delivery})")
            }
            Self::Refused { delivery, item: None, code, words } => {
                write!(out, "refused: {code}: {words} (delivery {delivery})")
            }
            Self::Refused { delivery, item: Some(item), code, words } => {
                write!(out, "item {item} of the answer was refused: {code}: {words} (delivery {delivery})")
            }
            Self::Unsent { delivery, words } => {
                write!(out, "answered with a failure: {words} (delivery {delivery})")
            }
            Self::Unreadable { words } => write!(out, "this is not a delivery: {words}"),
            Self::Forbidden { words } => {
                write!(out, "forbidden by the broker: {words}; is it the key of this listener?")
            }
            Self::Idle { words } => write!(out, "no deliveries are handed out: {words}; asking again"),
            Self::Away { words } => write!(out, "the broker is away: {words}; trying again"),
            Self::Connected => out.write_str("connected"),
            Self::Ends(unserved) => write!(out, "error: {unserved}"),
        }
    }
}

/// Why a worker cannot serve.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerFault {
    /// A setting is invalid, or a resource is not available.
    #[error("{0}")]
    Told(String),
    /// The organism speaks another protocol than this worker.
    #[error("{0}")]
    Protocol(String),
    /// The broker rejects the worker's login.
    #[error("the broker at {at} does not let in {who}")]
    Forbidden {
        /// The broker's address.
        at: String,
        /// The user of the login, described for a reader.
        who: &'static str,
    },
    /// The connection ended for good.
    #[error("the connection ended: {0}")]
    Ended(String),
}
