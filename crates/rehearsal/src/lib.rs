//! A test of an organism, rehearsed: its log is in memory, its models answer from a script, and its clock is advanced
//! instead of waited for.

pub mod failed_test;
mod limits;
mod play;
mod stage;
mod stand_in;

use std::sync::Arc;

use failed_test::FailedTest;
pub use play::find_unused_replies;
use stage::TestStage;
use systole_config::rehearsal::Rehearsal;
use systole_organism::inline_listeners::ScriptsByFile;

/// Plays a test. `shared` has the scripts that several tests of a file share.
///
/// # Errors
/// If something is missing or differs from the test, with its place.
pub async fn rehearse(test: &Arc<Rehearsal>, shared: &mut ScriptsByFile) -> Result<(), Box<FailedTest>> {
    let mut own = ScriptsByFile::new();
    let scripts = match &test.replies {
        Some(replies) => {
            let scripts = if replies.is_own { &mut own } else { shared };
            scripts.insert(replies.file.clone(), replies.script.clone());
            scripts
        }
        None => shared,
    };
    let mut stage =
        TestStage::start(test, scripts).await.map_err(|words| FailedTest::new(&test.place, words))?;
    let mut at = test.place.clone();
    let played =
        tokio::time::timeout(limits::TIME, Box::pin(play::play_steps(&mut stage, test, &mut at))).await;
    let played = played.unwrap_or_else(|_| {
        let words =
            format!("the test takes longer than {} s: a program is still at work", limits::TIME.as_secs());
        Err(FailedTest::new(&at, words))
    });
    let missed: Vec<String> = scripts.values().flat_map(|script| script.take_missed()).collect();
    let played = match (played, missed.first()) {
        (Ok(()), Some(words)) => Err(FailedTest::new(&test.place, words.clone())),
        (Ok(()), None) => play::find_leftovers(&stage, test).map_or(Ok(()), Err),
        (failed, _) => failed,
    };
    let played = played.map_err(|mut failed| {
        failed.tree = stage.draw_tree();
        failed
    });
    let stopped = stage.stop().await.map_err(|words| FailedTest::new(&test.place, words));
    played.and(stopped)
}
