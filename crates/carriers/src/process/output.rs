//! Runs a program that does one thing and ends, and returns what it printed.
//!
//! It is started like a listener's program, in its sandbox, but gets no delivery. Its output and its time are limited.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::last_words::{LastWords, describe_end};
use super::pipe::ProgramPipe;
use super::program::{self, EndLadder, ProgramBadge, StartedProgram};
use super::try_start::explain_start;
use super::variables::InheritedVariables;
use super::warden_link::SpareWardens;
use crate::limits;
use crate::{CarrierWaits, NoEar};
use systole_core::types::composition::ListenerProgram;
use systole_core::types::ids::Name;

/// Runs a program to its end, for at most `longest`.
///
/// # Errors
/// Why it cannot be started, or how it ended, with its last words.
pub async fn output_of(
    program: &ListenerProgram,
    (organism, listener): (&Name, &Name),
    around: &InheritedVariables,
    longest: Duration,
) -> Result<Vec<u8>, String> {
    let badge = ProgramBadge { organism: organism.clone(), listener: listener.clone() };
    if let Some(words) = program::find_missing(program, &badge, around) {
        return Err(words);
    }
    let pace = CarrierWaits::default();
    let StartedProgram { stdin, stdout, stderr, mut group, .. } =
        explain_start(program::start_program(program, &badge, around, &SpareWardens::default()).await)?;
    let words = LastWords::heard_by(Arc::new(NoEar));
    let (over, is_over) = watch::channel(false);
    let watching = async {
        let end = tokio::time::timeout(longest, group.wait_for_exit()).await;
        let ended = match end {
            Ok(Some(status)) if status.success() => Ok(()),
            Ok(status) => Err(describe_end(status, group.age_ms(), false)),
            Err(_too_long) => {
                group.end_group(EndLadder::new_kill()).await;
                Err(format!("stopped after {} s, the most that it may take", longest.as_secs()))
            }
        };
        drop(stdin);
        over.send_replace(true);
        ended
    };
    let mut out = ProgramPipe::new(stdout, is_over.clone(), pace.rest_ms);
    let reading = async {
        let mut all = Vec::new();
        loop {
            match out.read_chunk().await {
                [] => return all,
                // What is too long is read and forgotten, so that its writer ends.
                part if all.len() <= limits::OUTPUT_BYTES => all.extend_from_slice(part),
                _ => {}
            }
        }
    };
    let (ended, (), output) =
        tokio::join!(watching, words.read_stderr(stderr, is_over, pace.rest_ms), reading);
    ended.map_err(|sentence| words.append_to(&sentence))?;
    if output.len() > limits::OUTPUT_BYTES {
        return Err(format!("it printed more than {} MiB", limits::OUTPUT_BYTES >> 20));
    }
    Ok(output)
}
