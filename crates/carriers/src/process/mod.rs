//! Listeners that are programs, reached over stdin and stdout.
//!
//! A carrier here never judges a document, never tries a delivery again, and touches no process that it
//! did not start. In: deliveries and call-backs. Out: `Heard`, once for every delivery.
//!
//! A program should end when its stdin ends: that is how it learns that the organism is gone, even if the
//! organism was killed and could not tell. A moment later its warden ends it.

mod commands;
mod files;
mod frames;
mod hearing;
mod judged;
mod last_words;
mod once;
mod output;
mod pipe;
mod program;
mod program_place;
mod root;
mod sandbox_command;
mod script;
mod stay;
mod try_start;
mod variables;
mod warden;
mod warden_link;

use std::pin::Pin;
use std::sync::Arc;

pub use commands::{CommandSandbox, ReadyCommand};
pub use files::own_hash;
pub use judged::{JudgedPipes, JudgedProgram};
pub use output::output_of;
pub use program::{ADAPTER_WORD, COMMANDS_WORD};
pub(super) use program_place::ProgramPlace;
pub(super) use root::{ProgramRoot, root_of};
pub use sandbox_command::sandbox_level;
pub use try_start::{StartCheck, try_start};
pub use variables::InheritedVariables;
pub use warden::{WORD as WARDEN_WORD, run as guard_program};

use super::post::Post;
use systole_system::tasks::{self, RunningTask, TaskKind};

/// Starts the task that tends a program.
pub(super) fn start_carrier(post: &Post, place: ProgramPlace) -> RunningTask {
    let kind = TaskKind::Listener(post.listener.clone());
    let fallen = post.clone();
    let place = Arc::new(place);
    let work: Pin<Box<dyn Future<Output = ()> + Send>> = if place.program.stays {
        Box::pin(stay::serve_mailbox(post.clone(), place))
    } else {
        Box::pin(once::serve_mailbox(post.clone(), place))
    };
    tasks::start_task(kind, work, |panicked| fallen.report_panic(panicked))
}
