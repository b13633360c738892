//! What a worker's author is told beside the work, and why a worker ends. Words only; who reads them decides.

use std::fmt;

/// Something that happened beside the work.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum News {
    /// Another reply to the delivery was taken before, so this one counts for nothing: another worker had it as well.
    Superseded {
        /// The delivery.
        delivery: String,
    },
    /// The pump refused a reply or a notice, or an item of a reply. That is final: it is not sent again.
    Refused {
        /// The delivery that it named.
        delivery: String,
        /// The item that was refused, from 0; none where everything was.
        item: Option<u64>,
        /// The code, such as `payload.invalid`.
        code: String,
        /// What the pump says about it.
        words: String,
    },
    /// A reply could not be sent as it is; a `<failure>` went in its place.
    Unsent {
        /// The delivery.
        delivery: String,
        /// Why.
        words: String,
    },
    /// What came is no delivery of a pump. It is left alone.
    Unreadable {
        /// Why.
        words: String,
    },
    /// The broker forbids this key something that a worker of the listener needs.
    Forbidden {
        /// What the broker says.
        words: String,
    },
    /// Nobody hands out deliveries of the listener: the organism has not run yet, or the broker gives none at the moment.
    Idle {
        /// What the broker says.
        words: String,
    },
    /// The broker cannot be reached. It is tried again.
    Away {
        /// Why.
        words: String,
    },
    /// The broker is reached.
    Connected,
    /// The worker ends without having been told to.
    Ends(Unserved),
}

impl fmt::Display for News {
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
            Self::Unreadable { words } => write!(out, "what came is no delivery: {words}"),
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

/// Why a worker does not serve.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unserved {
    /// Something that was said of it cannot be, or cannot be had here.
    #[error("{0}")]
    Told(String),
    /// The broker does not let it in.
    #[error("the broker at {at} does not let in {who}")]
    Forbidden {
        /// Where the broker is.
        at: String,
        /// Who asked, in words.
        who: &'static str,
    },
    /// The connection ended for good.
    #[error("the connection ended: {0}")]
    Ended(String),
}
