//! `systole context`: the prompt of an agent's model call, from the log.

use clap::Args;
use serde_json::Value;
use systole_agent::chain::{self, ParsedLink};
use systole_kit::writer::visible;

use super::as_of::AsOf;
use super::exit::CommandExit;
use super::screen::Screen;
use crate::audit::prompts::{JournaledCall, PromptFault};
use crate::runtime::prompt_view;

/// Which thread, and which record of it.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole context
  systole context 1f0c@7
  systole context --at 120")]
pub(super) struct Prompted {
    #[command(flatten)]
    at: AsOf,
}

impl Prompted {
    pub(super) fn run(self) -> CommandExit {
        self.show().unwrap_or_else(|exit| exit)
    }

    fn show(&self) -> Result<CommandExit, CommandExit> {
        let (looking, id, seq) = self.at.open()?;
        let screen = looking.screen;
        let read = prompt_view::read(&*looking.view, &id, seq).map_err(|why| match why {
            PromptFault::Log(fault) => looking.fault(&fault),
            erased @ PromptFault::Erased(_) => screen.fail(CommandExit::Unavailable, erased),
            other => screen.fail(CommandExit::Log, other),
        })?;
        let Some((called, links)) = read else {
            let words = format!("thread {} has no call to a model up to there", id.as_str());
            let exit = screen.fail(CommandExit::Usage, words);
            screen.say("  try: systole ps, which lists threads; a model is called by agents alone");
            return Err(exit);
        };
        if screen.json {
            screen.value(&prompt_view::as_json(&id, &called, &links));
        } else {
            heading(screen, &called);
            links.iter().filter_map(|text| chain::read(text)).for_each(|link| lines(screen, &link));
        }
        Ok(CommandExit::Done)
    }
}

fn heading(screen: Screen, called: &JournaledCall) {
    let turn = called.turn.map(|turn| format!("turn {turn}")).unwrap_or_default();
    let (seq, who) = (called.seq.to_string(), called.listener.as_str());
    screen.show(&format!("record {seq}   {who} asks {}   {turn}", called.model));
    screen.show(&format!("prompt {}", called.prompt));
}

fn lines(screen: Screen, link: &ParsedLink<'_>) {
    match link {
        ParsedLink::Base { system, tools } => {
            part(screen, "system", system);
            if !tools.is_empty() {
                part(screen, "tools", tools);
            }
        }
        ParsedLink::Segment { messages, .. } => {
            for message in messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
                let role = message.get("role").and_then(Value::as_str).unwrap_or("?");
                for said in message.get("parts").and_then(Value::as_array).into_iter().flatten() {
                    let (kind, words) = words(said);
                    part(screen, &format!("{role}{kind}"), &words);
                }
            }
        }
        ParsedLink::Prompt { header, .. } => part(screen, "user, for this turn alone", header),
    }
}

/// The kind and the text of a part of a message.
fn words(part: &Value) -> (&'static str, String) {
    let text =
        |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    if let Some(call) = part.get("call") {
        return (" calls", format!("{} {}", text(call, "name"), text(call, "arguments")));
    }
    if let Some(result) = part.get("result") {
        return (": result of a call", format!("{}\n{}", text(result, "name"), text(result, "text")));
    }
    if let Some(kept) = part.get("reasoning") {
        return (" reasons, in the provider's form", kept.to_string());
    }
    ("", text(part, "text"))
}

fn part(screen: Screen, title: &str, text: &str) {
    screen.show("");
    screen.show(&format!("--- {title}"));
    visible(text).lines().for_each(|line| screen.drawn(line));
}
