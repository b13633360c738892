//! `systole context`: the prompt of an agent's model call, from the log.

use clap::Args;
use systole_kit::writer::make_visible;

use super::as_of::AsOf;
use super::exit::CommandExit;
use super::screen::Screen;
use systole_organism::prompt_view::{self, PromptPart};
use systole_queries::prompts::{JournaledCall, PromptFault};

/// Which thread, and which record of it.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole context
  systole context 1f0c@7
  systole context --at 120")]
pub(super) struct PromptCommand {
    #[command(flatten)]
    at: AsOf,
}

impl PromptCommand {
    pub(super) fn run(self) -> CommandExit {
        self.show().unwrap_or_else(|exit| exit)
    }

    fn show(&self) -> Result<CommandExit, CommandExit> {
        let (looking, id, seq) = self.at.open()?;
        let screen = looking.screen;
        let read = prompt_view::read_prompt(&*looking.view, &id, seq).map_err(|why| {
            match (why, looking.refused_document()) {
                (PromptFault::Log(fault), _) => looking.fault(&fault),
                (_, Some(exit)) => exit,
                (erased @ PromptFault::Erased(_), None) => screen.fail(CommandExit::Unavailable, erased),
                (other, None) => screen.fail(CommandExit::Log, other),
            }
        })?;
        let Some((called, links)) = read else {
            let words = format!("thread {} has no call to a model up to there", id.as_str());
            let exit = screen.fail(CommandExit::Usage, words);
            screen.say("  try: systole ps, which lists threads; a model is called by agents alone");
            return Err(exit);
        };
        if screen.json {
            screen.show_value(&prompt_view::as_json(&id, &called, &links));
        } else {
            print_heading(screen, &called);
            for PromptPart { title, text } in prompt_view::split_parts(&links) {
                print_part(screen, &title, &text);
            }
        }
        Ok(CommandExit::Done)
    }
}

fn print_heading(screen: Screen, called: &JournaledCall) {
    let turn = called.turn.map(|turn| format!("turn {turn}")).unwrap_or_default();
    let (seq, who) = (called.seq.to_string(), called.listener.as_str());
    screen.show(&format!("record {seq}   {who} asks {}   {turn}", called.model));
    screen.show(&format!("prompt {}", called.prompt));
}

fn print_part(screen: Screen, title: &str, text: &str) {
    screen.show("");
    screen.show(&format!("--- {title}"));
    make_visible(text).lines().for_each(|line| screen.show_drawn(line));
}
