//! Lets a test kill the process. `SYSTOLE_FAILPOINT=K7:3` kills it with SIGKILL, like a power cut, when
//! step K7 is passed for the third time. Without the variable nothing is counted.

use std::sync::atomic::{AtomicU32, Ordering};

use systole_core::types::ports::{PumpStep, StepObserver};

/// The variable that names the failpoint. Programs never see it: it is meant for this process alone.
pub const VARIABLE: &str = "SYSTOLE_FAILPOINT";

/// The steps by the names of the reliability tests; K5 is below this code.
pub const NAMES: &[(&str, PumpStep)] = &[
    ("K1", PumpStep::Received),
    ("K2", PumpStep::GatePassed),
    ("K3", PumpStep::SchemaPassed),
    ("K4", PumpStep::Decided),
    ("K6", PumpStep::Stored),
    ("K7", PumpStep::Acknowledged),
    ("K8", PumpStep::Delivered),
    ("K9", PumpStep::Running),
    ("K10", PumpStep::Replied),
    ("K11", PumpStep::ReplyStored),
    ("K12", PumpStep::Released),
    ("C4", PumpStep::ChildEnding),
    ("C6", PumpStep::ChildEnded),
    ("R", PumpStep::Recovering),
];

/// Counts the passes of one step until the kill.
#[derive(Debug)]
pub struct Failpoint {
    armed: Option<(PumpStep, AtomicU32)>,
}

/// Why a failpoint cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{VARIABLE}={0}: write the step and how often it is passed, such as K7:3")]
pub struct FailpointError(String);

impl Failpoint {
    /// Reads `K7:3`; `None` arms nothing.
    pub fn parse(text: Option<&str>) -> Result<Failpoint, FailpointError> {
        let Some(text) = text else { return Ok(Failpoint { armed: None }) };
        let parts = text.split_once(':').and_then(|(name, count)| {
            let step = NAMES.iter().find(|(known, _)| *known == name)?.1;
            Some((step, AtomicU32::new(count.parse().ok().filter(|n| *n > 0)?)))
        });
        parts.map(|armed| Failpoint { armed: Some(armed) }).ok_or_else(|| FailpointError(text.to_owned()))
    }
}

impl StepObserver for Failpoint {
    fn note_step(&self, step: PumpStep) {
        let Some((armed, left)) = &self.armed else { return };
        if *armed == step && left.fetch_sub(1, Ordering::SeqCst) == 1 {
            // Killing oneself cannot fail. If it does, the test that armed this sees a process that
            // lives.
            let _dies =
                rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        }
    }
}
