//! Where a test lets the process die. `SYSTOLE_FAILPOINT=K7:3` kills it with SIGKILL, as a power cut
//! of the process would, when step K7 is passed for the third time. Without the variable nothing is
//! counted.

use std::sync::atomic::{AtomicU32, Ordering};

use systole_core::types::ports::{Step, Steps};

/// The variable that names it. Programs never see it: it is meant for this process alone.
pub const VARIABLE: &str = "SYSTOLE_FAILPOINT";

/// The steps by the names of the reliability tests; K5 lies below this code.
pub const NAMES: &[(&str, Step)] = &[
    ("K1", Step::Received),
    ("K2", Step::GatePassed),
    ("K3", Step::SchemaPassed),
    ("K4", Step::Decided),
    ("K6", Step::Stored),
    ("K7", Step::Acknowledged),
    ("K8", Step::Delivered),
    ("K9", Step::Running),
    ("K10", Step::Replied),
    ("K11", Step::ReplyStored),
    ("K12", Step::Released),
    ("C4", Step::ChildEnding),
    ("C6", Step::ChildEnded),
    ("R", Step::Recovering),
];

/// Counts one step down to its death.
#[derive(Debug)]
pub struct Failpoint {
    armed: Option<(Step, AtomicU32)>,
}

/// Why a failpoint cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{VARIABLE}={0}: write the step and how often it is passed, such as K7:3")]
pub struct Unreadable(String);

impl Failpoint {
    /// Reads `K7:3`; none arms nothing.
    pub fn read(text: Option<&str>) -> Result<Failpoint, Unreadable> {
        let Some(text) = text else { return Ok(Failpoint { armed: None }) };
        let parts = text.split_once(':').and_then(|(name, count)| {
            let step = NAMES.iter().find(|(known, _)| *known == name)?.1;
            Some((step, AtomicU32::new(count.parse().ok().filter(|n| *n > 0)?)))
        });
        parts.map(|armed| Failpoint { armed: Some(armed) }).ok_or_else(|| Unreadable(text.to_owned()))
    }
}

impl Steps for Failpoint {
    fn passed(&self, step: Step) {
        let Some((armed, left)) = &self.armed else { return };
        if *armed == step && left.fetch_sub(1, Ordering::SeqCst) == 1 {
            // Killing oneself cannot fail; should it, the test that armed this sees a process that lives.
            let _dies =
                rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        }
    }
}
