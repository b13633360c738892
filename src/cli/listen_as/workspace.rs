//! The workspace as a program: its words become what it is made from, and its commands run in the sandbox that the
//! carrier handed over.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use systole_kit::envelope::Delivered;
use systole_kit::pipe::DeliveryLine;
use systole_kit::reply::ReplyContent;
use systole_workspace::{CommandOrder, CommandStart, PreparedCommand, Workspace, WorkspaceSpec};

use super::{RuleWords, report_fault, serve_several};
use systole_carriers::{COMMANDS_WORD, CommandSandbox};

/// Starts the commands of a workspace.
struct CommandStarter(CommandSandbox);

impl CommandStart for CommandStarter {
    fn command(&self, order: &CommandOrder<'_>) -> Result<PreparedCommand, String> {
        let ready = self.0.make_command(order.words, order.folder, order.session)?;
        let kept = ready.private.map(|private| Box::new(private) as Box<dyn Send>);
        Ok(PreparedCommand { command: ready.command, kept })
    }
}

/// Edits the files of a folder, and runs commands there.
pub(super) fn run_workspace([root, name, state, time_ms]: [&str; 4], rest: &[&str]) -> ExitCode {
    let (rules, sandbox) = match rest {
        [rules @ .., word, policy] if *word == COMMANDS_WORD => (rules, CommandSandbox::parse(policy)),
        rules => (rules, Ok(CommandSandbox::new_open())),
    };
    let opened = sandbox.and_then(|sandbox| {
        let rules = RuleWords::from_words(rules)?;
        let spec = WorkspaceSpec {
            name: name.to_owned(),
            root: root.into(),
            state: state.into(),
            deny: rules.find_rules("deny"),
            ask: rules.find_rules("ask"),
            shell: rules.find_rules("shell"),
            time_ms: time_ms.parse().map_err(|_| format!("{time_ms} is no time"))?,
        };
        Workspace::open(spec, Arc::new(CommandStarter(sandbox))).map_err(|fault| fault.to_string())
    });
    match opened {
        Ok(workspace) => {
            let workspace = Arc::new(workspace);
            serve_several(move |asked, line| answer_delivery(workspace.clone(), asked, line))
        }
        Err(words) => report_fault(&format!("workspace.unusable: {words}")),
    }
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
    answered.unwrap_or_else(|error| ReplyContent::Failure {
        code: "workspace.failed".to_owned(),
        retry: false,
        words: format!("the work broke off: {error}"),
    })
}
