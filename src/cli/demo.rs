//! `systole demo`: three agents and two programs talk through the pump. An agent fixes a message that was refused, the process
//! is killed while a model answers and goes on after its restart, and a person is asked. Everything shown is read from the log
//! or from the organism's door while it happens. Only the answers of the models are written down beforehand.

mod fault;
mod page;
mod person;
mod proof;
mod scenes;
mod stage;

use clap::Args;
use systole_kit::{Payload, namespaces};

use super::exit::CommandExit;
use super::place::quote_path;
use super::screen::Screen;
use fault::DemoFault;
use page::{DemoPage, LineStyle};
use stage::{DemoFolder, DemoOrganism};
use systole_client::client::{DoorClient, OutgoingMessage};
use systole_queries::glance::glance;

/// Show agents at work: a refused message, a kill, an approval.
///
/// Needs python3, and no key, account or server. It writes only into a folder of its own below the
/// folder for temporary files, and starts afresh each time.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole demo")]
pub(super) struct DemoCommand {}

/// What the team is asked.
const QUESTION: &str = "What makes a heart beat?";

impl DemoCommand {
    pub(super) fn run(self) -> CommandExit {
        let screen = Screen::new(false);
        match play_scenes(&DemoPage::new(screen)) {
            Ok(()) => CommandExit::Done,
            Err(fault @ (DemoFault::Failed(_) | DemoFault::Unproven(_))) => {
                screen.fail(CommandExit::Failed, fault)
            }
            Err(fault) => screen.fail(CommandExit::Unavailable, fault),
        }
    }
}

fn play_scenes(page: &DemoPage) -> Result<(), DemoFault> {
    if !stage::has_python() {
        return Err(DemoFault::Pythonless);
    }
    let stage = DemoFolder::lay_out(person::is_there()).map_err(DemoFault::Stage)?;
    let log = stage.log_path();
    page.print_opening("Three AI agents and two Python programs answer a question. The models are rehearsed, so you need no key. Everything else is real, and is read from the log as it happens.");
    let mut actor = DemoOrganism::start(&stage).map_err(DemoFault::Stage)?;

    page.print_heading("1. You ask a question");
    let question = Payload::write(namespaces::TALK, "ask", |inside| inside.text(QUESTION));
    page.print_fact(LineStyle::Plain, "you ask", &glance(question.bytes()).words);
    let client = DoorClient::from_run_file(&actor.run_file());
    let letter = OutgoingMessage {
        key: "demo-question",
        to: None,
        thread: None,
        subject: None,
        document: question.bytes(),
    };
    let receipt = client.send_message(&letter)?.map_err(|refusal| DemoFault::Refused(refusal.message))?;
    let root = &receipt.thread;
    page.print_fact(
        LineStyle::Plain,
        "receipt",
        &format!("record {} of {root}, sent once it is on disk", receipt.seq),
    );

    let said = scenes::wait_until_a_model_speaks(page, &client, &log, root, receipt.position)?;
    let killed = actor.kill().map_err(DemoFault::Stage)?;
    page.print_heading("3. kill -9, in the middle of a model's answer");
    page.print_fact(LineStyle::Plain, &format!("{}'s model", said.agent), &format!("{}…", said.words));
    page.print_fact(
        LineStyle::Bad,
        "SIGKILL",
        &format!("process {killed} is gone; it could not save anything"),
    );
    let again = DemoOrganism::start(&stage).map_err(DemoFault::Stage)?;

    let client = DoorClient::from_run_file(&again.run_file());
    let request = scenes::wait_until_a_person_is_asked(page, &client, root, said.position, again.pid())?;
    scenes::decide_request(page, &client, &request)?;
    let answer = scenes::wait_until_it_is_answered(page, &client, root, request.position)?;
    again.stop().map_err(DemoFault::Stage)?;

    page.print_heading("5. You get an answer, and the log proves it");
    page.print_fact(LineStyle::Good, "answer", &glance(answer.body.as_bytes()).words);
    let proof = proof::judge_log(&log, &receipt, &answer)?;
    let proof::LogProof { records, model_calls, interrupted } = proof;
    let verified = format!("{records} records, none altered; your answer is among them");
    page.print_fact(LineStyle::Good, "verified", &verified);
    let answered = model_calls.saturating_sub(interrupted);
    let calls = format!("{model_calls}: {answered} answered, {interrupted} cut off by the kill");
    page.print_fact(LineStyle::Plain, "model calls", &calls);

    page.print_blank();
    let program = stage.program_path();
    page.print_next(&format!("{program} tree @last --log {}", quote_path(&log)));
    page.print_next(&format!("{program} init hello"));
    Ok(())
}
