//! The conversation of a call: the request, and for each turn the model's answer and its results. It grows with each
//! delivery. If it is missing, it is rebuilt from the view of the call.
//!
//! Events come in; messages for a model, and the links of the prompt's chain, go out. Both ways of building it lead
//! to the same messages, so nothing here depends on ids, times or attempts.

mod event;
mod files;
mod given_files;
mod hidden;
mod segment;
mod stored_messages;
mod tasks;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::chain::StoredLink;
use crate::dialect::{self, TurnRules};
use crate::limits;
use crate::model::{MessagePart, PromptMessage};
use crate::prompt;
use crate::show::{TextMark, write_block};
use crate::spec::Dialect;
use crate::terms::{AgentTerms, CallTerms};
use crate::tools::write_tools;

pub(crate) use event::{AnsweredItem, CallEvent, OverheardMessage, PastTurn};
use event::{is_own_failure, is_spawned};
use files::FileNumbers;
pub(crate) use hidden::list_results;
use segment::TurnBefore;
pub(crate) use stored_messages::as_text;

/// A part of the conversation that never changes.
#[derive(Clone, Debug)]
pub(crate) struct PromptSegment {
    pub(crate) messages: Vec<PromptMessage>,
    pub(crate) link: StoredLink,
}

/// The conversation of one call.
#[derive(Clone, Debug)]
pub(crate) struct Conversation {
    /// The terms of the current call.
    pub(crate) terms: Arc<CallTerms>,
    /// The mark of the call.
    pub(crate) mark: TextMark,
    /// The code in the slot of a final (`xml-final`).
    pub(crate) nonce: String,
    /// The system prompt and the tools.
    pub(crate) base: StoredLink,
    /// The prompt itself.
    pub(crate) system: String,
    segments: Vec<PromptSegment>,
    /// An estimate of the tokens of all messages.
    said_tokens: u64,
    /// The tokens that the provider reported for the last request, and the estimate for the same request.
    reported: Option<(u64, u64)>,
    /// The files that it was shown.
    pub(crate) files: FileNumbers,
    /// The results that are left out, by their numbers in the view.
    hidden: BTreeSet<u64>,
    /// Whether the last turn cleared the view.
    pub(crate) has_cleared: bool,
    /// The number of unusable answers in a row.
    pub(crate) unusable: u32,
    /// Why the last of them was unusable: its code and the message to the model.
    pub(crate) last_failure: Option<String>,
    /// The model's last thought.
    pub(crate) last_thought: Option<String>,
    /// The words of the last answer, if it was unusable.
    pub(crate) last_unused: Option<String>,
    /// The model's last answer, to detect repetition.
    pub(crate) last_said: Option<String>,
    /// How often in a row it was repeated.
    pub(crate) repeated: u32,
    /// Whether the model was already reminded to reason before it acts. It is reminded once.
    pub(crate) told_to_think: bool,
    /// The model's answer in each turn of the call. `None` if there was no answer.
    pub(crate) said: Vec<Option<Vec<MessagePart>>>,
    /// Whether the model was told in this call that the first pass cannot have converged.
    pub(crate) told_early: bool,
    /// Tasks started in the call.
    pub(crate) tasks_given: u32,
    /// The number of links already stored.
    pub(crate) put: usize,
}

impl Conversation {
    /// The conversation of a call with those terms, in a thread that began on that date.
    pub(crate) fn new(mark: TextMark, terms: Arc<CallTerms>, began: &str) -> Self {
        let tools = write_tools(&terms.tools);
        let system = prompt::write_base(&terms.agent, &terms.contracts, began);
        // The model sees it as well as the mark, and it must not reveal the mark.
        let nonce = StoredLink::from_segment("nonce", &mark.0).hash.chars().take(8).collect();
        Self {
            terms,
            mark,
            nonce,
            base: StoredLink::from_base(&system, &tools),
            system,
            segments: Vec::new(),
            said_tokens: 0,
            reported: None,
            files: FileNumbers::default(),
            hidden: BTreeSet::new(),
            has_cleared: false,
            unusable: 0,
            last_failure: None,
            last_thought: None,
            last_unused: None,
            last_said: None,
            repeated: 0,
            told_to_think: false,
            said: Vec::new(),
            told_early: false,
            tasks_given: 0,
            put: 0,
        }
    }

    /// The same, which leaves out these results from now on.
    pub(crate) fn with_hidden(self, hidden: BTreeSet<u64>) -> Self {
        Self { hidden, ..self }
    }

    /// Whether results are left out.
    pub(crate) fn has_hidden(&self) -> bool {
        !self.hidden.is_empty()
    }

    /// Takes over what a provider reported about another form of the conversation.
    pub(crate) fn copy_scale(&mut self, other: &Self) {
        self.reported = other.reported;
    }

    /// Begins with the earlier events, in as few links as possible.
    pub(crate) fn begin(&mut self, every: &AgentTerms, earlier: &[CallEvent]) {
        let mut gathered = Vec::new();
        let mut bytes = 0;
        for happened in earlier {
            let messages = self.build_messages(every, happened);
            let size = as_text(&messages).len();
            if bytes + size > limits::LINK_BYTES && !gathered.is_empty() {
                self.add_link(std::mem::take(&mut gathered));
                bytes = 0;
            }
            bytes += size;
            gathered.extend(messages);
        }
        self.add_link(gathered);
    }

    /// Adds the next event.
    pub(crate) fn add_event(&mut self, every: &AgentTerms, happened: &CallEvent) {
        let messages = self.build_messages(every, happened);
        self.add_link(messages);
    }

    fn build_messages(&mut self, every: &AgentTerms, happened: &CallEvent) -> Vec<PromptMessage> {
        let is_refused = match happened {
            CallEvent::Turn(turn) => turn.answers.iter().any(|answer| is_own_failure(&answer.payload)),
            CallEvent::Request { .. } | CallEvent::Overheard(_) => false,
        };
        let rules = TurnRules::from_past(self.tasks_given, self.told_early, is_refused);
        match happened {
            CallEvent::Turn(turn) => self.count_turn(turn, rules),
            // A call begins.
            CallEvent::Request { payload, .. } => {
                self.terms = every.of_call(payload);
                (self.unusable, self.repeated) = (0, 0);
                (self.last_said, self.last_unused) = (None, None);
                (self.tasks_given, self.told_early) = (0, false);
                self.said.clear();
            }
            CallEvent::Overheard(_) => {}
        }
        let CallTerms { agent, contracts, tools, .. } = &*self.terms;
        let before = TurnBefore { unusable: self.unusable, rules };
        let named = self.files.name_files(&agent.files, happened);
        let happened = named.as_ref().unwrap_or(happened);
        let mut messages =
            segment::build_messages(agent, contracts, (&self.mark, &self.hidden), happened, before);
        let is_request = matches!(happened, CallEvent::Request { .. });
        if is_request && agent.dialect == Dialect::XmlFinal {
            let words = prompt::write_slot_lines(agent, tools, &self.nonce);
            let block = MessagePart::Text(write_block(&self.mark, &words));
            messages.iter_mut().take(1).for_each(|message| message.parts.insert(0, block.clone()));
        }
        self.said_tokens += messages.iter().map(stored_messages::estimate_tokens).sum::<u64>();
        messages
    }

    fn add_link(&mut self, messages: Vec<PromptMessage>) {
        if messages.is_empty() {
            return;
        }
        let text = as_text(&messages);
        let link = StoredLink::from_segment(self.last_hash(), &text);
        self.segments.push(PromptSegment { messages, link });
    }

    /// Updates the counters after a turn.
    fn count_turn(&mut self, turn: &PastTurn, rules: TurnRules<'_>) {
        let failure = turn.answers.iter().find(|answer| is_own_failure(&answer.payload));
        self.unusable = if failure.is_some() { self.unusable + 1 } else { 0 };
        self.last_failure = failure.map(|answer| {
            let said = |name| answer.payload.find_attribute(name).unwrap_or_default();
            format!("{}: {}", said("code"), said("message"))
        });
        let code = failure.and_then(|answer| answer.payload.find_attribute("code"));
        self.told_early |= code.as_deref() == Some("agent.converged-too-early");
        self.said.push(turn.heard.as_ref().map(|heard| heard.parts.clone()));
        self.count_reported(turn);
        let Some(heard) = &turn.heard else { return };
        let said = [
            heard.joined_text(),
            heard.calls().map(|call| [&*call.name, &call.arguments].concat()).collect(),
        ]
        .concat();
        let CallTerms { agent, contracts, .. } = &*self.terms;
        let taken = dialect::read_answer(agent, contracts, heard, rules);
        let began = turn.answers.iter().filter(|answer| {
            let act = taken.find_act(answer.ordinal);
            act.is_some_and(|(_, act)| act.is_task) && is_spawned(&answer.payload)
        });
        self.tasks_given += u32::try_from(began.count()).unwrap_or(u32::MAX);
        let is_same = self.last_said.as_deref() == Some(said.as_str());
        // An agent that only thinks uses its turns for that.
        self.repeated = if is_same && !taken.is_note { self.repeated + 1 } else { 0 };
        self.last_said = Some(said);
        // Words that could not be used stay the last ones if an empty answer follows.
        let before = self.last_unused.take();
        self.last_unused = taken.unused.or(before).filter(|_| self.unusable > 0);
        self.told_to_think |= taken.reasons.iter().any(|reason| reason.failure.slug == "thinking-missing");
        if let Some(thought) = taken.thoughts.last().filter(|thought| !thought.trim().is_empty()) {
            self.last_thought = Some(thought.trim().to_owned());
        }
    }

    /// Notes what the provider reported for the turn's request. The conversation still is as it was then, unless the
    /// turn cleared it, or was asked for a final without all results.
    fn count_reported(&mut self, turn: &PastTurn) {
        let has = |name: &str| {
            let answers = turn.answers.iter().map(|answer| answer.payload.name());
            answers.into_iter().any(|answer| answer.is_named(systole_kit::namespaces::CORE, name))
        };
        self.has_cleared = has("context-cleared");
        if self.has_cleared {
            self.reported = None;
        } else if !has("todo-open") && !has("children-open") {
            let reported = turn.heard.as_ref().and_then(|heard| heard.tokens_in).filter(|tokens| *tokens > 0);
            let estimated = self.tokens() + self.terms.tools_tokens;
            self.reported = reported.map(|reported| (reported, estimated)).or(self.reported);
        }
    }

    /// The hash of the last link.
    pub(crate) fn last_hash(&self) -> &str {
        self.segments.last().map_or(&self.base.hash, |segment| &segment.link.hash)
    }

    /// The links of the prompt that are not stored yet.
    pub(crate) fn unsaved_links(&self) -> impl Iterator<Item = &StoredLink> {
        let all = std::iter::once(&self.base).chain(self.segments.iter().map(|segment| &segment.link));
        all.skip(self.put)
    }

    /// Notes that every link is stored.
    pub(crate) fn mark_stored(&mut self) {
        self.put = self.segments.len() + 1;
    }

    /// The whole conversation, as a model sees it.
    pub(crate) fn messages(&self) -> Vec<PromptMessage> {
        self.segments.iter().flat_map(|segment| segment.messages.iter().cloned()).collect()
    }

    /// An estimate of its tokens, the system prompt included.
    pub(crate) fn tokens(&self) -> u64 {
        crate::tokens::estimate_message(&self.system) + self.said_tokens
    }

    /// Whether a provider reported the tokens of a request before.
    pub(crate) fn is_reported(&self) -> bool {
        self.reported.is_some()
    }

    /// An estimate of the tokens of its next request, tools included, by what the provider reported for the last one.
    pub(crate) fn measure_tokens(&self) -> u64 {
        let estimated = self.tokens() + self.terms.tools_tokens;
        let Some((reported, before)) = self.reported else { return estimated };
        let scaled = u128::from(estimated) * u128::from(reported) / u128::from(before.max(1));
        let scaled = u64::try_from(scaled).unwrap_or(u64::MAX);
        scaled.clamp(estimated / limits::LEAST_SCALE, estimated * limits::MOST_SCALE)
    }
}
