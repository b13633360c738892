//! The limits of a workflow.

/// The number of the form in which workflows write their requests today.
pub const FORM: u32 = 2;
/// Calls of workflows that are followed: the threads of an organism never nest so deep.
pub(crate) const CALL_DEPTH: u32 = 64;
/// Steps started in one reply: the pump takes 64 items, and a note and a wait stand beside.
pub(crate) const STARTS: usize = 60;
/// Assumptions that need no review.
pub(crate) const ASSUMPTIONS: usize = 3;
/// Milliseconds to wait for a person: one day.
pub(crate) const EXPIRES_MS: u64 = 86_400_000;
