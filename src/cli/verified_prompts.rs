//! The prompts of a log in `systole verify --prompts`: made again, and compared with the journal.

use serde_json::{Value, json};

use super::exit::CommandExit;
use super::place::Place;
use super::screen::Screen;
use crate::limits;
use systole_core::types::ports::{LogFault, LogReader};
use systole_organism::replaying::{
    PromptFindings, RecordedPrompt, ReplayConfigurations, SystemEvents, check_prompts,
};
use systole_show::columns::{plain, wrapped};

/// Makes the prompts of a log again.
pub(super) fn make_prompts_again(place: &Place, reader: &dyn LogReader) -> Result<PromptFindings, LogFault> {
    // The file as it is now is needed only for what a stored configuration leaves out.
    let mut configs = ReplayConfigurations::new(place.directory(), place.load().ok());
    check_prompts(reader, &SystemEvents::read_events(reader)?, &mut configs)
}

fn name_prompt(prompt: &RecordedPrompt) -> String {
    let RecordedPrompt { position, thread, seq, listener, turn, .. } = prompt;
    let turn = turn.map(|turn| format!(", turn {turn}")).unwrap_or_default();
    format!("{thread}@{seq}{turn}, of {listener} at #{}", position.0)
}

/// What was found, in lines.
pub(super) fn list_lines(found: &PromptFindings) -> Vec<String> {
    let mut lines = Vec::new();
    let same = found.same + found.same_text;
    lines.push(format!("  prompts made again, each as the journal says: {same}"));
    if found.same_text > 0 {
        let words =
            format!("{} of them by their text: ids of threads or marks in it are others", found.same_text);
        lines.extend(wrapped("    ", 4, &words));
    }
    for (prompt, made) in found.different.iter().take(limits::LISTED) {
        let words = format!("prompt differs: {}", name_prompt(prompt));
        lines.extend(wrapped("  ", 4, &plain(&words)));
        lines.push(format!("    recorded {}", plain(&prompt.hash)));
        lines.push(format!("    made now {}", plain(made)));
    }
    if found.different.len() > limits::LISTED {
        lines.push(format!("  and {} more prompts that differ", found.different.len() - limits::LISTED));
    }
    for (why, first, number) in found.unchecked.iter().take(limits::LISTED) {
        let words = format!("prompts not checked ({number}): {why}; first: {}", name_prompt(first));
        lines.extend(wrapped("  ", 4, &plain(&words)));
    }
    let rest: usize = found.unchecked.iter().skip(limits::LISTED).map(|(_, _, number)| number).sum();
    if rest > 0 {
        lines.push(format!("  prompts not checked ({rest}): for other reasons, which --json lists"));
    }
    lines
}

/// What was found, as a value.
pub(super) fn as_json(found: &PromptFindings) -> Value {
    let place = |prompt: &RecordedPrompt| {
        json!({
            "thread": prompt.thread.as_str(), "seq": prompt.seq, "turn": prompt.turn,
            "position": prompt.position.0, "listener": prompt.listener.as_str(), "recorded": prompt.hash,
        })
    };
    let different = found.different.iter().map(|(prompt, made)| {
        let mut value = place(prompt);
        if let Some(fields) = value.as_object_mut() {
            fields.insert("made".to_owned(), json!(made));
        }
        value
    });
    let unchecked = found.unchecked.iter();
    let unchecked =
        unchecked.map(|(why, first, number)| json!({"why": why, "prompts": number, "first": place(first)}));
    json!({
        "same": found.same, "same_text": found.same_text, "different": different.collect::<Vec<_>>(),
        "not_checked": unchecked.collect::<Vec<_>>(),
    })
}

/// The exit if the prompts say something else than done.
pub(super) fn choose_exit(screen: Screen, found: &PromptFindings) -> Option<CommandExit> {
    if !found.different.is_empty() {
        let words = "prompts differ from what the records make";
        let fix = "systole replay THREAD, which shows the two texts";
        return Some(screen.fail_with(CommandExit::Log, words, fix));
    }
    let skipped = found.count_unchecked();
    if skipped > 0 {
        let words = format!("prompts were not checked: {skipped}");
        let fix = "the version of Systole that recorded them; or accept the reasons above";
        return Some(screen.fail_with(CommandExit::Failed, words, fix));
    }
    None
}
