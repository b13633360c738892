//! Events as messages for a model: requests and results in the user's role, the model's own words as received.
//!
//! Events come in; messages go out. Text from others is escaped; the core's text is inside the mark.

use std::collections::BTreeSet;

use systole_kit::gate::XmlGate;
use systole_kit::{DocumentLimits, Payload, namespaces};

use super::event::{AnsweredItem, CallEvent, OverheardMessage, PastTurn, is_own_failure};
use super::hidden::describe_hidden;
use super::tasks;
use crate::contracts::AgentContracts;
use crate::dialect::{self, AnswerRepair, ReadAnswer, TurnRules};
use crate::failures::AgentFailure;
use crate::model::{MessageAuthor, MessagePart, NativeCall, PromptMessage};
use crate::model_answer::HeardAnswer;
use crate::show::{
    TextMark, change_words, describe_part_failure, escape_markup, is_code_error, quote_attribute,
    read_failure, show_judged, show_payload, write_block, write_code, write_code_part, write_core,
    write_markup, write_words,
};
use crate::spec::{AgentSpec, Dialect};
use crate::{goal, prompt};

/// Replaces the remark about a fix if the action was refused afterwards.
const NOT_RUN: &str = "Your action was repaired. Its result says why it was not executed.";

/// The state before a turn.
#[derive(Clone, Copy)]
pub(super) struct TurnBefore {
    /// Unusable answers in a row, including this turn's.
    pub(super) unusable: u32,
    /// What the turn was allowed.
    pub(super) rules: TurnRules<'static>,
}

pub(super) fn build_messages(
    agent: &AgentSpec,
    contracts: &AgentContracts,
    (mark, hidden): (&TextMark, &BTreeSet<u64>),
    happened: &CallEvent,
    before: TurnBefore,
) -> Vec<PromptMessage> {
    match happened {
        CallEvent::Request { payload, .. } if goal::is_request(payload.name()) => {
            vec![PromptMessage {
                role: MessageAuthor::User,
                parts: vec![MessagePart::Text(read_goal_text(payload, mark))],
            }]
        }
        CallEvent::Request { from, payload, files } => {
            let (from, inside) =
                (quote_attribute(&mark.cover_mark(from)), show_judged(payload, mark, agent, contracts));
            let words = format!("<message from=\"{from}\">{inside}</message>");
            let files = files.iter().cloned().map(MessagePart::File);
            let parts = std::iter::once(MessagePart::Text(words)).chain(files).collect();
            vec![PromptMessage { role: MessageAuthor::User, parts }]
        }
        CallEvent::Turn(turn) => turn_messages(agent, contracts, (mark, hidden), turn, before),
        CallEvent::Overheard(overheard) => {
            let unusable = before.unusable;
            let teller = SegmentWriter { agent, contracts, mark, hidden, taken: None, unusable };
            vec![PromptMessage {
                role: MessageAuthor::User,
                parts: vec![MessagePart::Text(teller.describe_overheard(overheard))],
            }]
        }
    }
}

fn turn_messages(
    agent: &AgentSpec,
    contracts: &AgentContracts,
    (mark, hidden): (&TextMark, &BTreeSet<u64>),
    turn: &PastTurn,
    before: TurnBefore,
) -> Vec<PromptMessage> {
    let mut out = Vec::new();
    let taken = turn.heard.as_ref().map(|heard| dialect::read_answer(agent, contracts, heard, before.rules));
    if let Some(heard) = turn.heard.as_ref().filter(|heard| !heard.parts.is_empty()) {
        let parts = heard.parts.iter().map(|part| without_mark(part, mark)).collect();
        out.push(PromptMessage { role: MessageAuthor::Assistant, parts });
    }
    let unusable = before.unusable;
    let teller = SegmentWriter { agent, contracts, mark, hidden, taken: taken.as_ref(), unusable };
    let mut parts = Vec::new();
    if let Some(heard) = &turn.heard {
        parts.extend(teller.list_results(heard, turn));
    }
    let words = teller.list_words(turn);
    if !words.is_empty() {
        parts.push(MessagePart::Text(words.join("\n\n")));
    }
    parts.extend(teller.list_files(turn, None));
    let has_ended = taken.as_ref().is_some_and(|taken| taken.ending.is_some());
    if parts.is_empty() && !out.is_empty() && !has_ended {
        // Otherwise two messages of the model would follow each other.
        parts.push(MessagePart::Text(write_block(mark, "Your note is recorded. Go on.")));
    }
    if !parts.is_empty() {
        out.push(PromptMessage { role: MessageAuthor::User, parts });
    }
    out
}

/// The model's words, with the mark covered: only the core may use it. Reasoning in the provider's own form is signed
/// and goes back unchanged.
fn without_mark(part: &MessagePart, mark: &TextMark) -> MessagePart {
    match part {
        MessagePart::Text(text) => MessagePart::Text(mark.cover_mark(text)),
        MessagePart::Call(call) => MessagePart::Call(NativeCall {
            id: mark.cover_mark(&call.id),
            name: mark.cover_mark(&call.name),
            arguments: mark.cover_mark(&call.arguments),
        }),
        MessagePart::Result { .. } | MessagePart::File(_) | MessagePart::Reasoning(_) => part.clone(),
    }
}

/// Which action a result answers.
#[derive(Clone, Copy)]
struct ResultPlace<'a> {
    /// The action, with its index.
    act: Option<(usize, &'a dialect::AnswerAction)>,
    /// Whether the turn has several actions.
    several: bool,
    /// The peer, if the action went to several.
    taker: Option<&'a str>,
}

struct SegmentWriter<'a> {
    agent: &'a AgentSpec,
    contracts: &'a AgentContracts,
    mark: &'a TextMark,
    /// The results that are left out.
    hidden: &'a BTreeSet<u64>,
    taken: Option<&'a ReadAnswer>,
    unusable: u32,
}

impl SegmentWriter<'_> {
    /// The action of the turn whose item has that ordinal.
    fn find_act(&self, ordinal: u32) -> Option<(usize, &dialect::AnswerAction)> {
        self.taken?.find_act(ordinal)
    }

    /// The result of a task that began in the turn.
    fn describe_task(&self, answer: &AnsweredItem, turn: &PastTurn) -> Option<(String, bool)> {
        self.find_act(answer.ordinal).filter(|(_, act)| act.is_task)?;
        let began = tasks::read_started(&answer.payload)?;
        let end = turn.inbox.iter().find(|arrival| tasks::read_ended(arrival).as_ref() == Some(&began));
        Some(match end {
            Some(end) => tasks::read_result(end, self.mark),
            None => {
                let words = write_core(&answer.payload, self.mark);
                (write_block(self.mark, &format!("{words}\n{}", tasks::RUNS)), false)
            }
        })
    }

    /// The tasks that began in the turn. Their ends appear as their results.
    fn list_started(&self, turn: &PastTurn) -> Vec<String> {
        let is_task =
            |answer: &&AnsweredItem| self.find_act(answer.ordinal).is_some_and(|(_, act)| act.is_task);
        turn.answers
            .iter()
            .filter(is_task)
            .filter_map(|answer| tasks::read_started(&answer.payload))
            .collect()
    }

    /// The results of native calls: each call has exactly one.
    fn list_results(&self, heard: &HeardAnswer, turn: &PastTurn) -> Vec<MessagePart> {
        let Some(taken) = self.taken else { return Vec::new() };
        // It is not inside markup, so nothing is escaped.
        let answer_of = |id: &str| {
            let all = self.broadcast_result(id, turn);
            all.or_else(|| {
                turn.answers.iter().find_map(|answer| {
                    let (_, act) = self.find_act(answer.ordinal)?;
                    if act.call.as_deref() == Some(id) {
                        return Some(
                            self.describe_task(answer, turn).unwrap_or_else(|| self.describe_answer(answer)),
                        );
                    }
                    let mut parts = act.parts.iter().enumerate();
                    let (at, part) = parts.find(|(_, part)| part.call.as_deref() == Some(id))?;
                    Some(self.told_part(answer, part, at))
                })
            })
        };
        let planned_of = |id: &str| self.describe_plan(id, turn);
        // Of several calls with one id, only the first can have been executed. The reason why the others were not
        // comes last.
        let failed_of = |id: &str, repeats: bool| {
            let mut failed = taken.failed_calls.iter().filter(|(failed, _)| failed == id);
            let found = if repeats { failed.next_back() } else { failed.next() };
            found.map(|(_, reason)| {
                let first = describe_first(reason);
                (self.mark.cover_mark(&format!("{first}\n{}", reason.describe())), true)
            })
        };
        let mut ids = BTreeSet::new();
        let result = |call: &NativeCall| {
            let repeats = !ids.insert(call.id.clone());
            let answer = if repeats { None } else { answer_of(&call.id).or_else(|| planned_of(&call.id)) };
            let told = answer.or_else(|| failed_of(&call.id, repeats));
            let (text, is_error) = told.unwrap_or_else(|| ("Error: it was not executed.".to_owned(), true));
            let (id, name) = (self.mark.cover_mark(&call.id), self.mark.cover_mark(&call.name));
            let files = if repeats { Vec::new() } else { self.list_files(turn, Some(&call.id)) };
            std::iter::once(MessagePart::Result { id, name, text, is_error }).chain(files)
        };
        heard.calls().flat_map(result).collect()
    }

    /// The files of the results of that native call, or of all actions in text.
    fn list_files(&self, turn: &PastTurn, call: Option<&str>) -> Vec<MessagePart> {
        let is_of_call = |answer: &&AnsweredItem| {
            self.find_act(answer.ordinal).and_then(|(_, act)| act.call.as_deref()) == call
        };
        let is_shown = |answer: &&AnsweredItem| self.describe_hidden(answer).is_none();
        let answers = turn.answers.iter().filter(is_of_call).filter(is_shown);
        answers.flat_map(|answer| answer.files.iter().cloned().map(MessagePart::File)).collect()
    }

    /// The peer that gave an answer, if all peers of a broadcast answered: their answers come in their order.
    fn find_taker(&self, answer: &AnsweredItem, turn: &PastTurn) -> Option<&str> {
        let (_, act) =
            self.find_act(answer.ordinal).filter(|(_, act)| act.to.is_none() && act.thread.is_none())?;
        let mut actions = self.contracts.actions.iter();
        let takers = &actions.find(|action| action.known.element == *act.payload.name())?.broadcast;
        let all: Vec<_> = turn.answers.iter().filter(|other| other.ordinal == answer.ordinal).collect();
        let nth = all.iter().position(|other| std::ptr::eq(*other, answer))?;
        takers.get(nth).filter(|_| takers.len() == all.len()).map(String::as_str)
    }

    /// The answers of all peers of a broadcast, as the one result of its native call. It is a failure if all failed.
    fn broadcast_result(&self, id: &str, turn: &PastTurn) -> Option<(String, bool)> {
        let (mut texts, mut is_failure) = (Vec::new(), true);
        for answer in &turn.answers {
            let is_asked = |(_, act): (usize, &dialect::AnswerAction)| act.call.as_deref() == Some(id);
            if !self.find_act(answer.ordinal).is_some_and(is_asked) {
                continue;
            }
            let taker = quote_attribute(self.find_taker(answer, turn)?);
            let (text, has_failed) = self.describe_answer(answer);
            texts.push(format!("<tool_result from=\"{taker}\">{}</tool_result>", escape_markup(&text)));
            is_failure &= has_failed;
        }
        (!texts.is_empty()).then(|| (texts.join("\n"), is_failure))
    }

    /// The result of a plan made by a native call. The plan is part of the note, so a refusal of the note is its
    /// result.
    fn describe_plan(&self, id: &str, turn: &PastTurn) -> Option<(String, bool)> {
        let taken = self.taken?;
        if !taken.planned_calls.iter().any(|planned| planned == id) {
            return None;
        }
        match turn.answers.iter().find(|answer| self.find_act(answer.ordinal).is_none()) {
            Some(answer) => Some(self.describe_answer(answer)),
            None => Some(("recorded".to_owned(), false)),
        }
    }

    /// The line in place of an answer that is left out.
    fn describe_hidden(&self, answer: &AnsweredItem) -> Option<String> {
        let name = self.find_act(answer.ordinal).map(|(_, act)| act.name.as_str());
        describe_hidden(self.hidden, answer, name).map(|words| self.mark.cover_mark(&words))
    }

    /// An answer as the result of a call: the text, and whether it is a failure.
    fn describe_answer(&self, answer: &AnsweredItem) -> (String, bool) {
        let payload = &answer.payload;
        if let Some(words) = self.describe_hidden(answer) {
            return (words, false);
        }
        if payload.name().is_named(namespaces::CORE, "system-error") {
            return (self.mark.cover_mark(&read_failure(payload).words), true);
        }
        if *payload.name().ns == *namespaces::CORE && &*payload.name().local != "final-report" {
            let is_error = &*payload.name().local == "system-thread-error";
            // A tool could say the same words. Only text inside the mark comes from the core.
            return (write_block(self.mark, &write_core(payload, self.mark)), is_error);
        }
        if let Some(change) = change_words(payload) {
            let name = self.find_act(answer.ordinal).map(|(_, act)| act.name.as_str());
            let words = shorten_text(change.join_results(name), self.agent.tool_output_max);
            return (self.mark.cover_mark(&words), change.is_failure());
        }
        let words = self.in_part(payload, answer.number).unwrap_or_else(|| write_words(payload));
        (self.mark.cover_mark(&words), is_code_error(payload))
    }

    /// The result of one element of a change set. A failure of the whole set is the result of each.
    fn told_part(&self, answer: &AnsweredItem, part: &dialect::ActPart, at: usize) -> (String, bool) {
        if answer.payload.name().is_named(namespaces::CORE, "system-error") {
            return (self.mark.cover_mark(&describe_part_failure(&answer.payload, &part.name)), true);
        }
        let shown = change_words(&answer.payload).filter(|_| self.describe_hidden(answer).is_none());
        let Some(change) = shown else { return self.describe_answer(answer) };
        let (words, is_failure) = change.find_result(at + 1, &part.name);
        let words = shorten_text(words, self.agent.tool_output_max);
        (self.mark.cover_mark(&words), is_failure)
    }

    /// A message between others. Even if the core sent it, it is not addressed to this agent. It is shown so that
    /// nothing in it can be more than their words.
    fn describe_overheard(&self, overheard: &OverheardMessage) -> String {
        let OverheardMessage { from, to, payload, number } = overheard;
        let words = self.in_part(payload, Some(*number)).unwrap_or_else(|| write_words(payload));
        let name = |name: &str| quote_attribute(&self.mark.cover_mark(name));
        let words = escape_markup(&self.mark.cover_mark(&words));
        format!("<message from=\"{}\" to=\"{}\">{words}</message>", name(from), name(to))
    }

    /// Shows a long output in part. The log has all of it, and the agent can read on there.
    fn in_part(&self, payload: &Payload, number: Option<u64>) -> Option<String> {
        let most = self.agent.tool_output_max;
        if let Some(words) = write_code(payload) {
            return write_code_part(&words, most);
        }
        if let Some(change) = change_words(payload) {
            let whole = change.join_results(None);
            return (whole.len() > most).then(|| shorten_text(whole, most));
        }
        let document = std::str::from_utf8(payload.bytes()).ok().filter(|text| text.len() > most)?;
        let shown: String = document
            .char_indices()
            .take_while(|(at, character)| at + character.len_utf8() <= most)
            .map(|(_, character)| character)
            .collect();
        let (here, all) = (shown.chars().count().to_string(), document.chars().count().to_string());
        let mut words = format!("{shown}\n[characters 0 to {here} of {all} are shown");
        let call =
            number.and_then(|number| prompt::write_reading_on(self.agent, self.contracts, number, &here));
        words.extend(call.map(|call| format!("; read on with {call}")));
        words.push(']');
        Some(words)
    }

    /// Everything else: messages between others about its requests, results of actions in text, the core's messages,
    /// faults of the output, and unrequested payloads.
    fn list_words(&self, turn: &PastTurn) -> Vec<String> {
        let mut words: Vec<String> =
            turn.inside.iter().map(|inside| self.describe_overheard(inside)).collect();
        let several = self.taken.is_some_and(|taken| taken.acts.len() > 1);
        let waits = self.taken.is_some_and(ReadAnswer::has_tasks);
        for answer in turn.answers.iter().filter(|answer| !self.is_result(&answer.payload)) {
            let act = self.find_act(answer.ordinal);
            if act.is_some_and(|(_, act)| act.is_called()) || waits && act.is_none() && is_over(answer) {
                continue;
            }
            let place = ResultPlace { act, several, taker: self.find_taker(answer, turn) };
            words.push(match self.describe_task(answer, turn) {
                Some((text, _)) => self.write_result(place, &escape_markup(&text)),
                None => self.write_answer(place, answer),
            });
        }
        let began = self.list_started(turn);
        let is_told =
            |arrival: &Payload| tasks::read_ended(arrival).is_some_and(|ended| began.contains(&ended));
        for arrival in turn.inbox.iter().filter(|arrival| !is_told(arrival) && !self.is_result(arrival)) {
            words.push(self.write_arrival(arrival, turn));
        }
        words
    }

    /// Whether a report about the turn's own output is the result of a native call that failed.
    fn is_result(&self, payload: &Payload) -> bool {
        let said = |name: &str| payload.find_attribute(name).unwrap_or_default();
        let is_said = |(_, reason): &(String, AgentFailure)| {
            said("code") == reason.code() && said("message") == self.mark.cover_mark(&reason.describe())
        };
        is_own_failure(payload) && self.taken.is_some_and(|taken| taken.failed_calls.iter().any(is_said))
    }

    fn write_answer(&self, place: ResultPlace<'_>, answer: &AnsweredItem) -> String {
        let (act, payload) = (place.act, &answer.payload);
        if is_own_failure(payload) {
            return self.write_unusable(payload);
        }
        if let Some(words) = self.describe_hidden(answer) {
            return self.write_result(place, &escape_markup(&words));
        }
        if let Some((_, act)) = act.filter(|(_, act)| !act.parts.is_empty())
            && (change_words(payload).is_some() || payload.name().is_named(namespaces::CORE, "system-error"))
        {
            return self.part_results(answer, act);
        }
        let is_error = payload.name().is_named(namespaces::CORE, "system-error");
        let is_core = *payload.name().ns == *namespaces::CORE && &*payload.name().local != "final-report";
        if is_core && !is_error {
            return write_block(self.mark, &write_core(payload, self.mark));
        }
        let is_plain = is_error || change_words(payload).is_some() || self.in_part(payload, None).is_some();
        let text = match is_plain {
            true => {
                let (text, is_failure) = self.describe_answer(answer);
                escape_markup(&self.add_place(act, payload, text, is_failure))
            }
            false => show_judged(payload, self.mark, self.agent, self.contracts),
        };
        self.write_result(place, &text)
    }

    /// The results of the elements of a change set.
    fn part_results(&self, answer: &AnsweredItem, act: &dialect::AnswerAction) -> String {
        let result = |(at, part): (usize, &dialect::ActPart)| {
            let name = quote_attribute(&self.mark.cover_mark(&part.name));
            let number = if act.parts.len() > 1 { format!(" call=\"{}\"", at + 1) } else { String::new() };
            let (words, _) = self.told_part(answer, part, at);
            format!("<tool_result tool_name=\"{name}\"{number}>{}</tool_result>", escape_markup(&words))
        };
        act.parts.iter().enumerate().map(result).collect::<Vec<_>>().join("\n")
    }

    /// The result of an action.
    fn write_result(&self, place: ResultPlace<'_>, text: &str) -> String {
        let mut tag = "<tool_result".to_owned();
        if let Some((at, act)) = place.act {
            tag.extend([" tool_name=\"", &quote_attribute(&self.mark.cover_mark(&act.name)), "\""]);
            if place.several {
                tag.extend([" call=\"", &(at + 1).to_string(), "\""]);
            }
        }
        if let Some(taker) = place.taker {
            tag.extend([" from=\"", &quote_attribute(&self.mark.cover_mark(taker)), "\""]);
        }
        format!("{tag}>{text}</tool_result>")
    }

    /// Adds the place in the model's text to a refusal of an action in text.
    fn add_place(
        &self,
        act: Option<(usize, &dialect::AnswerAction)>,
        payload: &Payload,
        text: String,
        is_failure: bool,
    ) -> String {
        let origin = act.and_then(|(_, act)| act.origin.as_ref()).filter(|_| is_failure);
        let number = |name: &str| payload.find_attribute(name)?.parse().ok();
        let place = origin.and_then(|origin| {
            let by_path = payload.find_attribute("path").and_then(|path| origin.place_of(&path));
            by_path.or_else(|| Some(origin.place_at(number("line")?, number("column")?)))
        });
        match place {
            Some(place) => {
                let (line, column) = (place.line.to_string(), place.column.to_string());
                format!("{text}\nAt line {line}, column {column} of your answer.")
            }
            None => text,
        }
    }

    /// The core's report that the turn was unusable.
    fn write_unusable(&self, payload: &Payload) -> String {
        let code = payload.find_attribute("code").unwrap_or_default();
        let told = payload.find_attribute("message").unwrap_or_default();
        let words = format!("{}\n{told}", self.first_words(&code));
        if self.agent.dialect == Dialect::Xml {
            return self.plain_result(&words);
        }
        let slug = code.strip_prefix("agent.").unwrap_or(&code).to_owned();
        let (attempt, of) = (self.unusable.to_string(), self.agent.attempts.to_string());
        let reason = escape_markup(&self.mark.cover_mark(&words));
        format!(
            "<turn-failed attempt=\"{attempt}\" of=\"{of}\"><reason slug=\"{}\">{reason}</reason></turn-failed>",
            quote_attribute(&self.mark.cover_mark(&slug))
        )
    }

    /// Whether a fixed action was refused afterwards, so that it did not run as the remark says.
    fn was_refused(&self, code: &str, told: &str, turn: &PastTurn) -> bool {
        let repaired = |repair: &&AnswerRepair| {
            repair.reason.code() == code && self.mark.cover_mark(&repair.reason.describe()) == told
        };
        let repairs = self.taken.map(|taken| taken.repairs.as_slice()).unwrap_or_default();
        let Some(at) = repairs.iter().find(repaired).and_then(|repair| repair.act) else { return false };
        let mut answers = turn.answers.iter();
        let answer = answers.find(|answer| self.find_act(answer.ordinal).is_some_and(|(act, _)| act == at));
        answer.is_some_and(|answer| {
            let code = answer.payload.find_attribute("code").unwrap_or_default();
            let ran = code.starts_with("listener.") || code.starts_with("model.");
            answer.payload.name().is_named(namespaces::CORE, "system-error") && !ran
        })
    }

    /// A result without a tool.
    fn plain_result(&self, words: &str) -> String {
        format!("<tool_result>{}</tool_result>", escape_markup(&self.mark.cover_mark(words)))
    }

    /// The first words about a fault of the turn's own output.
    fn first_words(&self, code: &str) -> String {
        let reasons = self.taken.map(|taken| taken.reasons.as_slice()).unwrap_or_default();
        match reasons.iter().find(|reason| reason.code() == code) {
            Some(reason) => describe_first(reason),
            None => crate::show::write_first_words(code, None, None),
        }
    }

    /// Whether a report about an output is a remark and not a failure: the output was used, with a fix or with
    /// advice.
    fn is_remark(&self, code: &str) -> bool {
        let repaired = |taken: &ReadAnswer| taken.repairs.iter().any(|repair| repair.reason.code() == code);
        self.taken
            .is_some_and(|taken| taken.is_usable() && (repaired(taken) || crate::show::is_of_form(code)))
    }

    /// An unrequested payload. A remark of the agent about its own output is a result without a tool.
    fn write_arrival(&self, payload: &Payload, turn: &PastTurn) -> String {
        if is_own_failure(payload) {
            let code = payload.find_attribute("code").unwrap_or_default();
            let told = payload.find_attribute("message").unwrap_or_default();
            let words = match self.is_remark(&code) {
                true if self.was_refused(&code, &told, turn) => format!("Note: {NOT_RUN}"),
                true => format!("Note: {told}"),
                false => format!("{}\n{told}", self.first_words(&code)),
            };
            return self.plain_result(&words);
        }
        write_block(self.mark, &write_core(payload, self.mark))
    }
}

/// The beginning and the end of a long text: the end of a command's output says how it went.
fn shorten_text(words: String, most: usize) -> String {
    if words.len() <= most {
        return words;
    }
    let half = most / 2;
    let first = words.get(..words.floor_char_boundary(half)).unwrap_or_default();
    let last = words.get(words.ceil_char_boundary(words.len() - half)..).unwrap_or_default();
    let left_out = words.len() - first.len() - last.len();
    format!("{first}\n[{left_out} bytes of {} are left out here]\n{last}", words.len())
}

/// Whether a wait for tasks is over. The results of the tasks already say so.
fn is_over(answer: &AnsweredItem) -> bool {
    answer.payload.name().is_named(namespaces::CORE, "await-over")
}

/// The first words about a failure whose subject is known.
fn describe_first(reason: &AgentFailure) -> String {
    let line = reason.line.map(|line| line.to_string());
    crate::show::write_first_words(&reason.code(), reason.about.as_deref(), line.as_deref())
}

/// The text of a request for a goal or a task, for a model: the inside, in its original layout.
fn read_goal_text(request: &Payload, mark: &TextMark) -> String {
    match list_parts(request).filter(|parts| !parts.is_empty()) {
        // A plain carriage return would be read as a line feed.
        Some(parts) => {
            let parts: Vec<String> = parts.iter().map(write_markup).collect();
            mark.cover_mark(&parts.join("\n\n")).replace('\r', "&#13;")
        }
        None => show_payload(request, mark),
    }
}

/// The elements inside a request: the workflow around a goal, or a task and what belongs to it.
fn list_parts(request: &Payload) -> Option<Vec<Payload>> {
    let mut gate = XmlGate::new_strict(request.bytes(), &DocumentLimits::FROM_PUMP).ok()?;
    gate.read_step().ok()?;
    let mut parts = Vec::new();
    while let Some(tag) = gate.read_child().ok()? {
        parts.push(Payload::cut_from(&mut gate, tag).ok()?);
    }
    Some(parts)
}
