//! Makes every prompt of a log again: each thread is replayed under its recorded configurations, and the prompts of the
//! replay are compared with the hashes in the journal. What cannot be made again is no difference, and has its reason.

use systole_agent::spec::OutputFormat;
use systole_core::rules::core_payload::VERSION;
use systole_core::types::ids::{Digest, Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_core::types::record::Record;

use super::comparison::PromptFit;
use super::configurations::{CannotReplay, ReplayConfigurations};
use super::equality::find_prompt;
use super::real_parts::RealParts;
use super::replay::{ReplayedTree, replay_tree};
use super::tree_records::{RecordedTree, SystemEvents};

/// A prompt of the journal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordedPrompt {
    /// Its record.
    pub position: Position,
    /// The thread.
    pub thread: ThreadId,
    /// The number of the record in the thread.
    pub seq: u64,
    /// The agent.
    pub listener: Name,
    /// The turn.
    pub turn: Option<u32>,
    /// The hash in the journal.
    pub hash: String,
}

/// What was found about the prompts of a log.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PromptFindings {
    /// How many were made again with the hash of the journal.
    pub same: usize,
    /// How many have the same text, with other thread ids or marks in it.
    pub same_text: usize,
    /// Those that differ, each with the hash of the prompt that was made now, in the order of the log.
    pub different: Vec<(RecordedPrompt, String)>,
    /// Why some were not made again, the first of each, and how many.
    pub unchecked: Vec<(String, RecordedPrompt, usize)>,
}

impl PromptFindings {
    /// How many were not made again.
    pub fn count_unchecked(&self) -> usize {
        self.unchecked.iter().map(|(_, _, number)| number).sum()
    }

    fn skip_prompt(&mut self, prompt: RecordedPrompt, why: String) {
        match self.unchecked.iter_mut().find(|(known, ..)| *known == why) {
            Some((_, _, number)) => *number += 1,
            None => self.unchecked.push((why, prompt, 1)),
        }
    }
}

/// Makes every prompt of a log again.
///
/// # Errors
/// If the log cannot be read, or is damaged.
pub fn check_prompts(
    reader: &dyn LogReader,
    system: &SystemEvents,
    configs: &mut ReplayConfigurations,
) -> Result<PromptFindings, LogFault> {
    let mut found = PromptFindings::default();
    let newest = reader.list_threads(usize::MAX)?;
    for root in newest.iter().rev().filter(|thread| thread.parent().is_none() && !thread.is_sys()) {
        let Some(tree) = RecordedTree::read_tree(reader, root)? else { continue };
        let prompts: Vec<(RecordedPrompt, &Record)> =
            tree.records.iter().filter_map(|(position, record)| read_recorded(*position, record)).collect();
        if prompts.is_empty() {
            continue;
        }
        let replayed = match replay_tree(reader, &tree, system, configs, &mut RealParts::default()) {
            Err(CannotReplay::Log(fault)) => return Err(fault),
            other => other,
        };
        for (prompt, record) in prompts {
            match &replayed {
                Ok(replayed) => {
                    judge_prompt(&mut found, reader, (system, configs), replayed, (prompt, record))
                }
                Err(why) => found.skip_prompt(prompt, why.to_string()),
            }
        }
    }
    found.different.sort_by_key(|(prompt, _)| prompt.position);
    Ok(found)
}

fn read_recorded(position: Position, record: &Record) -> Option<(RecordedPrompt, &Record)> {
    let (h, hash) = (&record.header, find_prompt(record)?);
    let (thread, listener) = (h.thread.clone(), h.from.clone());
    Some((RecordedPrompt { position, thread, seq: h.seq, listener, turn: h.turn, hash }, record))
}

fn judge_prompt(
    found: &mut PromptFindings,
    reader: &dyn LogReader,
    (system, configs): (&SystemEvents, &mut ReplayConfigurations),
    replayed: &ReplayedTree,
    (prompt, record): (RecordedPrompt, &Record),
) {
    if let Some(why) = find_foreign_reason(reader, configs, record.header.config, &prompt.listener) {
        return found.skip_prompt(prompt, why);
    }
    let fit = replayed.comparison.prompts.get(&prompt.position);
    match fit {
        Some(PromptFit::Same) => found.same += 1,
        Some(PromptFit::SameText) => found.same_text += 1,
        Some(PromptFit::Other(_)) | None => {
            match find_reason(reader, (system, configs), replayed, (&prompt, record)) {
                Some(why) => found.skip_prompt(prompt, why),
                None => match fit {
                    Some(PromptFit::Other(made)) => found.different.push((prompt, made.clone())),
                    _ => found.skip_prompt(prompt, "the replay does not come to it".to_owned()),
                },
            }
        }
    }
}

/// Why the prompts of this listener cannot be made at all.
fn find_foreign_reason(
    reader: &dyn LogReader,
    configs: &mut ReplayConfigurations,
    config: Digest,
    listener: &Name,
) -> Option<String> {
    match configs.open_page(reader, config) {
        Ok(page) if page.file.agents.iter().any(|agent| agent.name == listener.as_str()) => None,
        Ok(_) => Some(format!("{listener} is no built-in agent, and makes its prompts itself")),
        Err(why) => Some(why.to_string()),
    }
}

/// Why a prompt that is another one now, or is missing, says nothing.
fn find_reason(
    reader: &dyn LogReader,
    (system, configs): (&SystemEvents, &mut ReplayConfigurations),
    replayed: &ReplayedTree,
    (prompt, record): (&RecordedPrompt, &Record),
) -> Option<String> {
    match system.version_at(prompt.position) {
        Some(VERSION) => {}
        Some(version) => return Some(format!("version {version} made it, and this is {VERSION}")),
        None => return Some(format!("an older version than {VERSION} made it")),
    }
    let earlier =
        replayed.comparison.differences.iter().find(|one| one.part != "prompt" && one.at < prompt.position);
    if let Some(earlier) = earlier {
        return Some(format!(
            "the replay of {} differs before it, at #{}",
            prompt.thread.root_of(),
            earlier.at.0
        ));
    }
    let page = configs.open_page(reader, record.header.config).ok()?;
    let agent = page.file.agents.iter().find(|agent| agent.name == prompt.listener.as_str())?;
    let output = Some(&agent.output).filter(|output| output.format == OutputFormat::Json)?;
    // A stored configuration leaves the schema out; the file as it is now may have another one.
    (output.schema.is_some() || !configs.is_now(record.header.config))
        .then(|| "the log does not have the JSON Schema of the agent's output".to_owned())
}
