//! Starts a program once and stops it again, to see whether it can start at all.
//!
//! It gets no delivery. A program that stays has to live for a moment and to end when its stdin does. For a program
//! that is started for each delivery, only the file is checked, since a start without a delivery says nothing about
//! it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::last_words::{LastWords, describe_end};
use super::pipe::ProgramPipe;
use super::program::{self, EndLadder, ProgramBadge, ProgramStartFault, StartedProgram};
use super::variables::InheritedVariables;
use super::warden_link::SpareWardens;
use crate::limits;
use crate::{CarrierWaits, NoEar};
use systole_core::types::composition::ListenerProgram;
use systole_core::types::ids::Name;

/// How a startable program was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StartCheck {
    /// It is there, and was not started.
    Found,
    /// It stayed, and ended when its stdin did.
    Stayed,
    /// It stayed, and had to be killed.
    Killed,
}

/// Why a program cannot be started, in words.
pub(super) fn explain_start(
    started: Result<StartedProgram, ProgramStartFault>,
) -> Result<StartedProgram, String> {
    started.map_err(|(ProgramStartFault::Never(words) | ProgramStartFault::NotNow(words))| words)
}

/// Tries a program.
///
/// # Errors
/// Why it cannot be started, or how it ended, with its last words.
pub async fn try_start(
    program: &ListenerProgram,
    (organism, listener): (&Name, &Name),
    around: &InheritedVariables,
) -> Result<StartCheck, String> {
    let badge = ProgramBadge { organism: organism.clone(), listener: listener.clone() };
    if let Some(words) = program::find_missing(program, &badge, around) {
        return Err(words);
    }
    if !program.stays {
        return Ok(StartCheck::Found);
    }
    let pace = CarrierWaits::default();
    let StartedProgram { stdin, stdout, stderr, mut group, sandbox: _ } =
        explain_start(program::start_program(program, &badge, around, &SpareWardens::default()).await)?;
    let words = LastWords::heard_by(Arc::new(NoEar));
    let (over, is_over) = watch::channel(false);
    let watching = async {
        let early =
            tokio::time::timeout(Duration::from_millis(limits::STAY_LIVES_MS), group.wait_for_exit()).await;
        let found = match early {
            Ok(status) => Err(describe_end(status, group.age_ms(), false)),
            Err(_still_lives) => {
                drop(stdin);
                group.end_group(EndLadder::new_drain(&pace)).await;
                Ok(if group.was_signalled() { StartCheck::Killed } else { StartCheck::Stayed })
            }
        };
        over.send_replace(true);
        found
    };
    let mut out = ProgramPipe::new(stdout, is_over.clone(), pace.rest_ms);
    let reading = async { while !out.read_chunk().await.is_empty() {} };
    let (found, (), ()) = tokio::join!(watching, words.read_stderr(stderr, is_over, pace.rest_ms), reading);
    found.map_err(|sentence| words.append_to(&sentence))
}
