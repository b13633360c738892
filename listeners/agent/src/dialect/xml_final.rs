//! `xml-final`: actions are native calls, and the final is in a slot in the text. The tag of the slot has a code that
//! the model gets with each turn.
//!
//! Exactly one format is accepted. Nothing is coerced or added: a slot with another code, name, format or status is
//! refused with the reason.

use serde_json::Value;

use super::{ReadAnswer, TurnRules, goals, native, write_final, write_report};
use crate::contracts::AgentContracts;
use crate::model::StopReason;
use crate::model_answer::HeardAnswer;
use crate::prompt::{format_name, write_slot};
use crate::spec::{AgentSpec, OutputFormat};

pub(super) fn read_answer(
    agent: &AgentSpec,
    contracts: &AgentContracts,
    heard: &HeardAnswer,
    allowed: TurnRules<'_>,
) -> ReadAnswer {
    let text = heard.joined_text();
    let calls = heard.calls().next().is_some();
    let mut taken = if calls { native::read_answer(agent, contracts, heard) } else { ReadAnswer::default() };
    let Some(slot) = FinalSlot::find_last(&text) else {
        match (calls, text.trim().is_empty()) {
            (true, _) => {}
            (false, true) if heard.has_reasoning() => taken.add_failure("reasoning-only", ""),
            (false, true) => taken.add_failure("empty-response", ""),
            (false, false) if heard.stop == StopReason::Length => taken.add_failure("output-truncated", ""),
            (false, false) => taken.add_failure("final-missing", describe_expected(agent, allowed.nonce)),
        }
        return taken;
    };
    if calls {
        // The text before the calls is thoughts. The slot is not.
        taken.thoughts = vec![slot.before.trim().to_owned()];
        taken.thoughts.retain(|thought| !thought.is_empty());
    }
    match read_content(agent, contracts, heard, &slot, allowed) {
        Ok((content, status)) => {
            if let Err((slug, words)) = take_ending(agent, contracts, content, status, &mut taken) {
                taken.add_failure(slug, words);
            }
        }
        Err((slug, words)) => taken.add_failure(slug, words),
    }
    taken
}

type FinalFault = (&'static str, String);

/// The statuses that a final may have.
const STATUSES: [&str; 3] = [COMPLETE, "partial", "failure"];

/// The default status.
const COMPLETE: &str = "success";

/// The content of the slot, and its status.
fn read_content<'t>(
    agent: &AgentSpec,
    contracts: &AgentContracts,
    heard: &HeardAnswer,
    slot: &FinalSlot<'t>,
    allowed: TurnRules<'_>,
) -> Result<(&'t str, Option<&'t str>), FinalFault> {
    let expected = || describe_expected(agent, allowed.nonce);
    if slot.name != "FINAL" {
        return Err(("slot-mismatch", expected()));
    }
    // If the code is not known, the words were read back from the log and were checked before.
    if !allowed.nonce.is_empty() && slot.nonce != allowed.nonce {
        return Err(("nonce-mismatch", expected()));
    }
    if !slot.closed && heard.stop == StopReason::Length {
        return Err(("output-truncated", String::new()));
    }
    let format = format_name(agent.output.format);
    if slot.find_attribute("format") != Some(format) {
        return Err(("format-mismatch", expected()));
    }
    let status = slot.find_attribute("status");
    if status.is_some_and(|status| !STATUSES.contains(&status)) {
        return Err(("status-invalid", expected()));
    }
    let content = slot.content.strip_prefix('\n').unwrap_or(slot.content);
    let content = content.strip_suffix('\n').unwrap_or(content);
    if content.trim().is_empty() {
        return Err(("content-missing", String::new()));
    }
    if let Some(tool) = find_tool(contracts, content) {
        let words = format!("It holds <{tool}>: call the tool instead.");
        return Err(("slot-mismatch", words));
    }
    Ok((content, status))
}

fn take_ending(
    agent: &AgentSpec,
    contracts: &AgentContracts,
    content: &str,
    status: Option<&str>,
    taken: &mut ReadAnswer,
) -> Result<(), FinalFault> {
    let complete = status.is_none_or(|status| status == COMPLETE);
    if complete && contracts.is_ended_by(content) {
        taken.ending = contracts.goal.as_ref().and_then(|goal| goal.write_output(content, true));
        return Ok(());
    }
    if contracts.json_final().is_some() {
        match status.filter(|_| !complete) {
            // A report has no schema.
            Some(status) => taken.ending = write_in_words(contracts, content, status),
            None => goals::take_final(contracts, content, taken),
        }
        return Ok(());
    }
    taken.ending = match agent.output.format {
        OutputFormat::Json => read_json(agent, contracts, content, status)?,
        OutputFormat::Markdown | OutputFormat::Text => {
            write_in_words(contracts, content, status.unwrap_or(COMPLETE))
        }
    };
    Ok(())
}

fn describe_expected(agent: &AgentSpec, nonce: &str) -> String {
    let nonce = if nonce.is_empty() { "NONCE" } else { nonce };
    format!("Expected: {}", write_slot(agent, nonce))
}

/// A successful final is an answer. Any other is a report, so that its status is not lost.
fn write_in_words(contracts: &AgentContracts, content: &str, status: &str) -> Option<systole_kit::Payload> {
    match status {
        "success" => write_final(contracts, content, status),
        other => write_report("model", other, None, content.trim()),
    }
}

fn read_json(
    agent: &AgentSpec,
    contracts: &AgentContracts,
    content: &str,
    status: Option<&str>,
) -> Result<Option<systole_kit::Payload>, FinalFault> {
    let value: Value = serde_json::from_str(content.trim())
        .map_err(|error| ("json-required", super::json_schema::describe_unread(&error)))?;
    let (value, status) = match read_older_form(&value) {
        Some((content, own)) if STATUSES.contains(&&*own) && status.is_none_or(|status| status == own) => {
            (content.clone(), own)
        }
        Some((_, own)) => {
            let words = format!("The tag says {} and the JSON says {own}.", status.unwrap_or("nothing"));
            return Err(("status-invalid", words));
        }
        None => (value, status.unwrap_or(COMPLETE).to_owned()),
    };
    if let Some(schema) = &agent.output.schema {
        super::json_schema::check_value(schema, &value).map_err(|words| ("json-schema", words))?;
    }
    let text = value.to_string();
    if status == "success"
        && contracts.text_final().is_none()
        && let [one] = contracts.finals.as_slice()
        && let Some(built) = one.model.from_json(&one.element.local, &value)
    {
        let bytes = built.map_err(|slips| {
            let words: Vec<String> = slips.iter().map(crate::show::describe_slip).collect();
            ("json-schema", words.join("\n"))
        })?;
        return Ok(systole_kit::Payload::parse(&bytes, &systole_kit::DocumentLimits::default()).ok());
    }
    Ok(write_in_words(contracts, &text, &status))
}

/// The older form, `{status, format, content}`, in parts.
fn read_older_form(value: &Value) -> Option<(&Value, String)> {
    let object = value.as_object().filter(|object| object.len() == 3)?;
    object.get("format")?.as_str()?;
    Some((object.get("content")?, object.get("status")?.as_str()?.to_owned()))
}

/// The tool whose element the content begins with.
fn find_tool<'c>(contracts: &'c AgentContracts, content: &str) -> Option<&'c str> {
    let inside = content.trim_start().strip_prefix('<')?;
    let name = inside.split(|c: char| c.is_whitespace() || c == '>' || c == '/').next()?;
    let known = contracts.actions.iter().map(|action| &*action.known.element.local);
    known.into_iter().find(|local| *local == name)
}

/// A slot in the text.
struct FinalSlot<'t> {
    before: &'t str,
    nonce: &'t str,
    name: &'t str,
    attributes: &'t str,
    content: &'t str,
    closed: bool,
}

impl<'t> FinalSlot<'t> {
    /// The last slot of the text. An earlier one was quoted or replaced.
    fn find_last(text: &'t str) -> Option<Self> {
        let mut found = None;
        for (at, _) in text.match_indices("<systole-") {
            found = Self::read_at(text, at).or(found);
        }
        found
    }

    fn read_at(text: &'t str, at: usize) -> Option<Self> {
        let before = text.get(..at)?;
        let inside = text.get(at + "<systole-".len()..)?;
        let (tag, rest) = inside.split_once('>')?;
        let (full, attributes) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
        let (nonce, name) = full.split_once('-')?;
        let close = format!("</systole-{full}>");
        let (content, closed) = match rest.rsplit_once(&close) {
            Some((content, _)) => (content, true),
            None => (rest, false),
        };
        Some(Self { before, nonce, name, attributes, content, closed })
    }

    fn find_attribute(&self, name: &str) -> Option<&'t str> {
        let (_, after) = self.attributes.split_once(&format!("{name}="))?;
        let quote = after.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
        after.get(1..)?.split(quote).next()
    }
}
