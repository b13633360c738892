//! The workspace as a program: its words become what it is made from, and deliveries come in on stdin.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use systole_folder::RuleWords;
use systole_kit::envelope::Delivered;
use systole_kit::pipe::{DeliveryLine, serve_pump};
use systole_kit::reply::ReplyContent;

use crate::spec::{CommandStart, WorkspaceSpec};
use crate::workspace::Workspace;

/// Edits the files of a folder and runs commands there for the pump on stdin and stdout, until stdin ends.
///
/// # Errors
/// If the folder, the rules or what starts commands cannot be used, or a stream breaks: what is wrong, for people.
pub fn serve(
    [root, name, state, time_ms]: [&str; 4],
    rules: &[&str],
    commands: Result<Arc<dyn CommandStart>, String>,
) -> Result<ExitCode, String> {
    let opened = commands.and_then(|commands| {
        let rules = RuleWords::from_words(rules)?;
        let spec = WorkspaceSpec {
            name: name.to_owned(),
            root: root.into(),
            state: state.into(),
            deny: rules.find_rules("deny"),
            ask: rules.find_rules("ask"),
            shell: rules.find_rules("shell"),
            seen_as: rules.find_rules("seen_as").pop(),
            time_ms: time_ms.parse().map_err(|_| format!("{time_ms} is no time"))?,
        };
        Workspace::open(spec, commands).map_err(|fault| fault.to_string())
    });
    let workspace = Arc::new(opened.map_err(|words| format!("workspace.unusable: {words}"))?);
    let ended = serve_pump(move |asked, line| answer_delivery(workspace.clone(), asked, line));
    ended.map(|()| ExitCode::SUCCESS).map_err(|error| error.to_string())
}

async fn answer_delivery(workspace: Arc<Workspace>, asked: Delivered, line: DeliveryLine) -> ReplyContent {
    let is_cancelled = Arc::new(AtomicBool::new(false));
    let (flag, words) = (is_cancelled.clone(), line.clone());
    let mut work = tokio::task::spawn_blocking(move || {
        workspace.answer_delivery(&asked, &flag, &|words_now| words.try_progress(words_now))
    });
    let answered = tokio::select! {
        answered = &mut work => answered,
        () = line.wait_for_cancel() => {
            // The work ends soon after it sees this, and what it did is in its journal.
            is_cancelled.store(true, Ordering::Relaxed);
            work.await
        }
    };
    answered.unwrap_or_else(|error| {
        ReplyContent::new_failure("workspace.failed", false, format!("the work broke off: {error}"))
    })
}
