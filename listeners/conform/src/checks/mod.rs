//! The checks: one function for each row of a list, in a file for each group. A check talks to one worker and says what
//! it found; it knows no other check.

mod cancel;
mod frame;
mod future;
mod nats_away;
mod nats_pull;
mod nats_reply;
pub(crate) mod once;
mod reply;
mod stop;
mod text;
mod turn;
mod while_at_work;
mod work;

use crate::stage::Bench;
use crate::verdict::{CheckFault, RunningCheck};

/// Runs one check.
pub(crate) fn run_check<'b>(bench: &'b Bench, id: &str) -> RunningCheck<'b> {
    let (group, name) = id.split_once('.').unwrap_or((id, ""));
    let found = match group {
        "frame" => frame::find_check(bench, name),
        "text" => text::find_check(bench, name),
        "reply" => reply::find_check(bench, name),
        "turn" => turn::find_check(bench, name),
        "while" => while_at_work::find_check(bench, name),
        "key" | "many" => work::find_check(bench, group, name),
        "cancel" => cancel::find_check(bench, name),
        "stop" => stop::find_check(bench, name),
        "future" => future::find_check(bench, name),
        "once" => once::find_check(bench, name),
        _ => nats_pull::find_check(bench, name)
            .or_else(|| nats_reply::find_check(bench, name))
            .or_else(|| nats_away::find_check(bench, name)),
    };
    let missing = format!("the kit has no check {id}");
    found.unwrap_or_else(|| Box::pin(async move { Err(CheckFault::build_unscored(missing)) }))
}

/// The checks whose times say something: they run while nothing else does.
pub(crate) fn needs_quiet(id: &str) -> bool {
    matches!(id, "many.parallel" | "many.slow" | "cancel.work")
}
