//! `systole demo`: three agents and two programs talk through the pump. One of them mends what was refused, one thinks in a
//! thread of its own, the process is killed while it does and goes on, and a person is asked. Everything shown is read from
//! the log or from the organism's own door while it happens; nothing is written down beforehand but what the models answer.

mod page;
mod person;
mod scenes;
mod stage;

use clap::Args;
use systole_kit::{Payload, namespaces};

use super::exit::Exit;
use super::screen::Screen;
use crate::console::client::{Client, Letter, Unheard};
use crate::words::ports::LogFault;
use page::Page;
use stage::{Actor, Stage};

/// Shows a team of agents at work: refused and mended, killed and come back, approved by you.
///
/// Needs no key, no account and no server; it writes only into a folder of its own below the folder
/// for temporary files, and begins afresh each time.
#[derive(Args, Debug)]
pub(super) struct Demo {}

/// What the team is asked.
const QUESTION: &str = "What makes a heart beat?";

/// Why the demo could not be shown.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error("{0}")]
    Stage(String),
    #[error(transparent)]
    Unheard(#[from] Unheard),
    #[error(transparent)]
    Log(#[from] LogFault),
    #[error("the question was refused: {0}")]
    Refused(String),
    #[error("the organism fell silent before {0}")]
    Silent(&'static str),
    #[error("the question ended as {0}, and not with an answer")]
    Failed(String),
}

impl Demo {
    pub(super) fn run(self) -> Exit {
        let screen = Screen::of_process(false);
        match play(&Page::new(screen)) {
            Ok(()) => Exit::Done,
            Err(fault @ Fault::Failed(_)) => screen.fail(Exit::Failed, fault),
            Err(fault) => screen.fail(Exit::Unavailable, fault),
        }
    }
}

fn play(page: &Page) -> Result<(), Fault> {
    let stage = Stage::lay(person::is_there()).map_err(Fault::Stage)?;
    let log = stage.log();
    page.heading("A team of three agents");
    page.words("A coordinator, a researcher and a critic think; a search and a board are programs in Python. They know nothing of each other but the schemas of what they exchange. The models are rehearsed, so no key is needed: a file says what they answer, and demands of each prompt what the answer builds on.");
    let mut actor = Actor::start(&stage).map_err(Fault::Stage)?;
    page.fact(&["the organism runs as process ", &actor.pid().to_string()].concat());

    page.heading("A question goes in");
    let question = Payload::write(namespaces::TALK, "ask", |inside| inside.text(QUESTION));
    page.xml(&String::from_utf8_lossy(question.bytes()));
    let client = Client::of(&actor.reached());
    let letter = Letter { key: "demo-question", to: None, thread: None, document: question.bytes() };
    let receipt = client.send(&letter)?.map_err(|refusal| Fault::Refused(refusal.message))?;
    page.fact(&["on disk as record 1 of thread ", &receipt.thread, "; only now is it acknowledged"].concat());

    let seen = scenes::until_a_model_is_asked(page, &client, &log, &receipt.thread, receipt.position)?;

    page.heading("Now the process is killed");
    page.words("The researcher's model is in the middle of its answer. SIGKILL: no handler runs, nothing is flushed.");
    let killed = actor.kill().map_err(Fault::Stage)?;
    page.fact(&["process ", &killed.to_string(), " is gone"].concat());
    let again = Actor::start(&stage).map_err(Fault::Stage)?;
    page.fact(&["started again as process ", &again.pid().to_string(), " on the same log"].concat());

    let client = Client::of(&again.reached());
    let answer = scenes::until_it_is_answered(page, &client, &receipt.thread, seen)?;
    page.heading("The answer");
    page.xml(&answer.body);
    again.stop().map_err(Fault::Stage)?;
    for (heading, command) in [("What the log says of it", "tree"), ("What the models were asked", "cost")] {
        page.heading(heading);
        for line in stage.told(command, &receipt.thread).map_err(Fault::Stage)? {
            page.line(&line);
        }
    }
    page.next(&stage.next(&receipt.thread));
    Ok(())
}
