//! Deliveries of a replay for which the log has no answer.

use systole_core::types::flow::Lease;
use systole_core::types::ids::Name;

/// A delivery for which the log has no answer.
#[derive(Clone, Debug)]
pub struct UnansweredDelivery {
    /// The listener.
    pub listener: Name,
    /// The thread, the call and the turn.
    pub place: String,
    /// What is missing.
    pub why: String,
}

impl UnansweredDelivery {
    pub(super) fn from_lease(lease: &Lease, why: String) -> UnansweredDelivery {
        let id = &lease.id;
        let place = format!("{} call {} turn {}", id.thread, id.call, id.turn);
        UnansweredDelivery { listener: lease.listener.clone(), place, why }
    }
}
