//! The last top call of a root, if it failed.

use serde::{Deserialize, Serialize};

use super::Call;
use crate::types::ids::{CallPath, MessageId};

/// The last top call of a root, if it failed, as its closing left it. One is kept at most, and only until the next top
/// call opens.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FailedCall {
    /// Its path.
    pub path: CallPath,
    /// The call. `None` if a later top call has opened, so that it cannot be reopened.
    pub call: Option<Box<Call>>,
    /// The code of its outcome.
    pub code: String,
    /// The code of what failed first. A call passes on the failure of a call below it in the words of its own.
    pub first_code: String,
    /// Whether its own listener said that it failed, in a final. Then no turn is due.
    pub is_final: bool,
    /// The record that is its outcome.
    pub outcome: MessageId,
}
