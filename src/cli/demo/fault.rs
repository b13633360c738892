//! Why the demo cannot be shown.

use systole_client::client::DoorClientFault;
use systole_core::types::ports::LogFault;

/// Why the demo could not be shown.
#[derive(Debug, thiserror::Error)]
pub(super) enum DemoFault {
    #[error(
        "the demo needs python3, which is not on PATH; install it (on Debian or Ubuntu: apt-get install python3)"
    )]
    Pythonless,
    #[error("{0}")]
    Stage(String),
    #[error(transparent)]
    Unheard(#[from] DoorClientFault),
    #[error(transparent)]
    Log(#[from] LogFault),
    #[error("the question was refused: {0}")]
    Refused(String),
    #[error("the organism stopped before {0}")]
    Silent(&'static str),
    #[error("the question ended as {0}, and not with an answer")]
    Failed(String),
    #[error("the log does not prove it: {0}")]
    Unproven(String),
}
