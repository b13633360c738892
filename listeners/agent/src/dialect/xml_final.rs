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
    let mut taken = if calls { native::read_calls(agent, contracts, heard) } else { ReadAnswer::default() };
    let slot = FinalSlot::find_last(&text);
    let outside = slot.as_ref().map_or(&*text, |slot| slot.before);
    let written = native::find_written_call(agent, contracts, outside, allowed);
    let is_refused = written.is_some();
    taken.reasons.extend(written);
    let Some(slot) = slot else {
        match (calls, text.trim().is_empty()) {
            (true, _) => {}
            (false, true) if heard.has_reasoning() => taken.add_failure("reasoning-only", ""),
            (false, true) => taken.add_failure("empty-response", ""),
            (false, false) if heard.stop == StopReason::Length => taken.add_failure("output-truncated", ""),
            (false, false) if is_refused => {}
            (false, false) => taken.add_failure("final-missing", describe_expected(agent, allowed.nonce)),
        }
        return taken;
    };
    if calls {
        // The text before the calls is thoughts. The slot is not.
        taken.thoughts = vec![slot.before.trim().to_owned()];
        taken.thoughts.retain(|thought| !thought.is_empty());
    }
    // A final that was written together with the call of a tool did not wait for its result.
    if is_refused {
        return taken;
    }
    if allowed.refuses_more() && FinalSlot::has_earlier(&heard.answer_text()) {
        taken.add_failure("second-final", describe_expected(agent, allowed.nonce));
        return taken;
    }
    let read = read_content(agent, contracts, heard, &slot, allowed).and_then(|(content, status)| {
        let mut ends = SlotReading { agent, contracts, allowed, status, taken: &mut taken };
        ends.take_ending(content)
    });
    if let Err((slug, words)) = read {
        taken.add_failure(slug, words);
    }
    taken
}

type FinalFault = (&'static str, String);

/// The statuses that a final may have.
const STATUSES: [&str; 3] = [COMPLETE, "partial", "failure"];

/// The formats that a final may have.
const FORMATS: [OutputFormat; 3] = [OutputFormat::Json, OutputFormat::Markdown, OutputFormat::Text];

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
    let came = |what: &str| format!("You wrote {what}. {}", expected());
    if slot.name != "FINAL" {
        return Err(("slot-mismatch", came(&slot.show_tag())));
    }
    // If the code is not known, the words were read back from the log and were checked before.
    if !allowed.nonce.is_empty() && slot.nonce != allowed.nonce {
        return Err(("nonce-mismatch", came(&slot.show_tag())));
    }
    if !slot.closed && heard.stop == StopReason::Length {
        return Err(("output-truncated", String::new()));
    }
    if !slot.closed && allowed.refuses_more() {
        return Err(match slot.find_end_tag() {
            Some(tag) => ("slot-mismatch", came(tag)),
            None => ("missing-closing-tag", expected()),
        });
    }
    check_format(agent, slot, allowed).map_err(|(slug, what)| (slug, came(&what)))?;
    let status = slot.find_attribute("status");
    if let Some(status) = status.filter(|status| !STATUSES.contains(status)) {
        return Err(("status-invalid", came(&format!("status=\"{status}\""))));
    }
    let content = slot.content.strip_prefix('\n').unwrap_or(slot.content);
    let content = content.strip_suffix('\n').unwrap_or(content);
    if content.trim().is_empty() {
        return Err(("content-missing", String::new()));
    }
    if let Some(tool) = find_tool(contracts, content) {
        return Err(("slot-mismatch", native::describe_written(contracts, tool)));
    }
    Ok((content, status))
}

/// Whether the tag names the one format, or what it names.
fn check_format(
    agent: &AgentSpec,
    slot: &FinalSlot<'_>,
    allowed: TurnRules<'_>,
) -> Result<(), (&'static str, String)> {
    let format = format_name(agent.output.format);
    let known = FORMATS.map(format_name);
    let (slug, what) = match slot.find_attribute("format") {
        Some(came) if came == format => return Ok(()),
        Some(came) if known.contains(&came) => ("format-mismatch", format!("format=\"{came}\"")),
        Some(came) => ("format-unknown", format!("format=\"{came}\"")),
        None => ("format-missing", slot.show_tag()),
    };
    Err((if allowed.takes_more() { slug } else { "format-mismatch" }, what))
}

/// The content of a slot on its way to a final.
struct SlotReading<'a, 't> {
    agent: &'a AgentSpec,
    contracts: &'a AgentContracts,
    allowed: TurnRules<'a>,
    /// The status in the tag.
    status: Option<&'t str>,
    taken: &'a mut ReadAnswer,
}

impl SlotReading<'_, '_> {
    fn take_ending(&mut self, content: &str) -> Result<(), FinalFault> {
        let complete = self.status.is_none_or(|status| status == COMPLETE);
        if complete && self.contracts.is_ended_by(content) {
            self.taken.ending =
                self.contracts.goal.as_ref().and_then(|goal| goal.write_output(content, true));
            return Ok(());
        }
        if self.contracts.json_final().is_some() {
            return self.take_payload(content);
        }
        self.taken.ending = match self.agent.output.format {
            OutputFormat::Json => self.read_json(content)?,
            OutputFormat::Markdown | OutputFormat::Text => self.read_words(content)?,
        };
        Ok(())
    }

    /// The payload that a goal asks for, as JSON. It may be in the older form.
    fn take_payload(&mut self, content: &str) -> Result<(), FinalFault> {
        let mut whole = ReadAnswer::default();
        goals::take_final(self.contracts, content, &mut whole);
        let value = if whole.ending.is_none() { self.read_whole_value(content) } else { None };
        let (content, status) = match self.split_older(value.as_ref())? {
            Some((inner, status)) => (inner.to_string(), Some(status)),
            None => (content.to_owned(), self.status.map(str::to_owned)),
        };
        match status.filter(|status| status != COMPLETE) {
            // A report has no schema.
            Some(status) => self.taken.ending = write_in_words(self.contracts, &content, &status),
            None => goals::take_final(self.contracts, &content, self.taken),
        }
        Ok(())
    }

    /// A final in words. It may be in the older form.
    fn read_words(&self, content: &str) -> Result<Option<systole_kit::Payload>, FinalFault> {
        let value = self.read_whole_value(content);
        let Some((inner, status)) = self.split_older(value.as_ref())? else {
            return Ok(write_in_words(self.contracts, content, self.status.unwrap_or(COMPLETE)));
        };
        match inner.as_str().map(str::trim) {
            Some("") => Err(("content-missing", String::new())),
            Some(words) => Ok(write_in_words(self.contracts, words, &status)),
            None => {
                let format = format_name(self.agent.output.format);
                Err(("format-mismatch", format!("Your content is JSON, and the format is {format}.")))
            }
        }
    }

    /// A whole content that is JSON, where only this version looks for it.
    fn read_whole_value(&self, content: &str) -> Option<Value> {
        let json = content.trim_start().starts_with(['{', '`']) && self.allowed.takes_more();
        json.then(|| serde_json::from_str(goals::strip_fence(content).0).ok()).flatten()
    }

    fn read_json(&mut self, content: &str) -> Result<Option<systole_kit::Payload>, FinalFault> {
        let (json, was_fenced) = match self.allowed.takes_more() {
            true => goals::strip_fence(content),
            false => (content.trim(), false),
        };
        let value: Value = serde_json::from_str(json)
            .map_err(|error| ("json-required", super::json_schema::describe_unread(&error)))?;
        let (value, status) = match self.split_older(Some(&value))? {
            Some((inner, status)) => (inner.clone(), status),
            None => (value, self.status.unwrap_or(COMPLETE).to_owned()),
        };
        if let Some(schema) = &self.agent.output.schema {
            super::json_schema::check_value(schema, &value).map_err(|words| ("json-schema", words))?;
        }
        let built = self.build_payload(&value, &status)?;
        goals::note_fence(was_fenced, self.taken);
        Ok(built)
    }

    /// The final that a checked value makes.
    fn build_payload(&self, value: &Value, status: &str) -> Result<Option<systole_kit::Payload>, FinalFault> {
        if status == COMPLETE
            && self.contracts.text_final().is_none()
            && let [one] = self.contracts.finals.as_slice()
            && let Some(built) = one.model.from_json(&one.element.local, value)
        {
            let bytes = built.map_err(|slips| {
                let words: Vec<String> = slips.iter().map(crate::show::describe_slip).collect();
                ("json-schema", words.join("\n"))
            })?;
            return Ok(systole_kit::Payload::parse(&bytes, &systole_kit::DocumentLimits::default()).ok());
        }
        Ok(write_in_words(self.contracts, &value.to_string(), status))
    }

    /// The content and the status of the older form, `{status, format, content}`.
    fn split_older<'v>(&self, value: Option<&'v Value>) -> Result<Option<(&'v Value, String)>, FinalFault> {
        let parts = |value: &'v Value| {
            let object = value.as_object().filter(|object| object.len() == 3)?;
            let text = |name: &str| object.get(name)?.as_str();
            Some((object.get("content")?, text("format")?, text("status")?))
        };
        let Some((content, format, own)) = value.and_then(parts) else { return Ok(None) };
        if !STATUSES.contains(&own) || self.status.is_some_and(|status| status != own) {
            let words = format!("The tag says {} and the JSON says {own}.", self.status.unwrap_or("nothing"));
            return Err(("status-invalid", words));
        }
        let expected = format_name(self.agent.output.format);
        if format != expected && self.allowed.refuses_more() {
            let words = format!("You wrote \"format\": \"{format}\"; the format is {expected}.");
            return Err(("format-mismatch", words));
        }
        Ok(Some((content, own.to_owned())))
    }
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

/// The tool whose element the content begins with.
fn find_tool<'c>(contracts: &'c AgentContracts, content: &str) -> Option<&'c systole_kit::QName> {
    let inside = content.trim_start().strip_prefix('<')?;
    let name = inside.split(|c: char| c.is_whitespace() || c == '>' || c == '/').next()?;
    let mut known = contracts.actions.iter().map(|action| &action.known.element);
    known.find(|element| &*element.local == name)
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

    /// Whether another slot is complete before the last one.
    fn has_earlier(text: &'t str) -> bool {
        let Some(last) = Self::find_last(text) else { return false };
        text.match_indices("<systole-").filter_map(|(at, _)| Self::read_at(text, at)).any(|slot| {
            let close = format!("</systole-{}-{}>", slot.nonce, slot.name);
            let between = last.before.get(slot.before.len()..).unwrap_or_default();
            between.contains(&close)
        })
    }

    /// Its tag, as written.
    fn show_tag(&self) -> String {
        let Self { nonce, name, attributes, .. } = self;
        let space = if attributes.is_empty() { "" } else { " " };
        format!("<systole-{nonce}-{name}{space}{attributes}>")
    }

    /// The end tag of another slot in a slot that is not closed.
    fn find_end_tag(&self) -> Option<&'t str> {
        let from = self.content.find("</systole-")?;
        let rest = self.content.get(from..)?;
        rest.get(..=rest.find('>')?)
    }

    fn find_attribute(&self, name: &str) -> Option<&'t str> {
        let (_, after) = self.attributes.split_once(&format!("{name}="))?;
        let quote = after.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
        after.get(1..)?.split(quote).next()
    }
}
