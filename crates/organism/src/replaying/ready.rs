//! What listeners say in a replay and the pump has not heard yet.

use systole_core::rules::core_payload::AttemptState;
use systole_core::types::codes::Code;
use systole_core::types::flow::{LeaseToken, Refused};
use systole_kit::reply::ListenerDocument;

use super::history::RecordedMoment;

/// Something that a listener says in the replay.
pub(super) struct ReadyInput {
    /// When it enters. An input that is not recorded enters at once.
    pub(super) at: Option<RecordedMoment>,
    /// Its place among the inputs.
    pub(super) number: u64,
    pub(super) token: LeaseToken,
    pub(super) what: ReadyKind,
}

pub(super) enum ReadyKind {
    Said(ListenerDocument),
    /// A question that is refused.
    Refused(Refused),
    Gone {
        code: Code,
        words: String,
    },
    /// Its program could not be started.
    Away {
        words: String,
    },
    /// What happens to the attempt meanwhile.
    State(AttemptState),
}

impl ReadyKind {
    /// Whether it ends its delivery.
    pub(super) fn is_end(&self) -> bool {
        matches!(
            self,
            ReadyKind::Gone { .. } | ReadyKind::Away { .. } | ReadyKind::Said(ListenerDocument::Reply { .. })
        )
    }
}
