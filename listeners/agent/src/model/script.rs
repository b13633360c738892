//! A model that is a file of answers: for rehearsals, demos and tests. It identifies itself as a script, costs
//! nothing, and answers each agent from a separate list, in order.
//!
//! Each call of an agent reads the list from the top. The call's own history shows which answers it has used
//! (`used.rs`). So a rehearsal continues after a restart, and calls do not disturb one another.
//!
//! A file's text comes in; answers go out. It fails loudly: an exhausted list, or a prompt that lacks a required
//! text, is a fault with the agent and the place in its list.

mod used_answers;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use regex_lite::Regex;
use serde::Deserialize;
use serde_json::Value;
use serde_saphyr::Spanned;

use self::used_answers::CallUses;
use super::{
    AnswerFuture, AnswerPiece, AnswerWatcher, CallHistory, MessageAuthor, MessagePart, Model, ModelAnswer,
    ModelFault, ModelFaultKind, ModelRequest, NativeCall, RealTime, ServedBy, Sleeper, StopReason,
    TokenUsage,
};

/// A file of answers, read and checked.
#[derive(Debug, Default)]
pub struct Script {
    agents: BTreeMap<String, Vec<ScriptedReply>>,
    /// Requests that it could not answer, as messages.
    missed: Mutex<Vec<String>>,
}

/// An answer that no call has used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnusedAnswer {
    /// The agent.
    pub agent: String,
    /// The number of the answer in the agent's list, from 1.
    pub number: usize,
    /// Where it begins: line and column, from 1.
    pub place: (usize, usize),
}

/// The fault of a file of answers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{words}", place.map(|(line, column)| format!("line {line}, column {column}: ")).unwrap_or_default())]
pub struct ScriptError {
    /// Line and column, from 1, if they are known.
    pub place: Option<(usize, usize)>,
    /// The message.
    pub words: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    /// The text of the answer.
    say: Option<String>,
    /// The answer is used only if what the model was shown since it last spoke holds this text, or all texts of a
    /// list; else it is passed over, and can be used later.
    #[serde(rename = "if")]
    only_if: Option<Wanted>,
    /// The same for the message that began the call: the question, or the goal of a workflow with what it sees.
    asked: Option<Wanted>,
    /// How often a call can use the answer: a number, or `always`, which may also be never; 1 if left out.
    times: Option<Times>,
    /// A list of regular expressions; each has to match somewhere in the prompt or in the messages. Where one does
    /// not, the answer is none.
    #[serde(default)]
    need: Vec<String>,
    /// Characters of a piece of the stream; without it the text comes at once.
    chunk: Option<usize>,
    /// The pause behind each piece, as `retry_after`.
    delay: Option<String>,
    /// Why the model stopped: `end`, `length`, `tool`. Without it `tool` where there are calls, else `end`.
    stop: Option<String>,
    /// `true`: the stream ends without its end, so that there is no answer (`model.truncated`).
    #[serde(default)]
    cut: bool,
    /// The tokens that the answer is said to have used; without it, and for an answer that `stop_early` cuts, the
    /// usage is unknown.
    usage: Option<Used>,
    /// Native calls: the name of a tool and its arguments, several in one map, made in the order of their names, or
    /// in a list of such maps. They stand behind the text.
    call: Option<Called>,
    /// The provider's failure, in place of an answer.
    error: Option<Failing>,
}

/// Native calls. A list can hold one tool several times.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "`call` is a map of tools, as {search: {query: x}}, or a list of such maps")]
enum Called {
    Map(BTreeMap<String, Value>),
    List(Vec<BTreeMap<String, Value>>),
}

/// The texts that must be there.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "it is a text, or a list of texts that must all be there")]
enum Wanted {
    One(String),
    All(Vec<String>),
    /// A text of digits without quotes.
    Number(i64),
}

impl Wanted {
    fn into_texts(self) -> Vec<String> {
        match self {
            Wanted::One(text) => vec![text],
            Wanted::All(texts) => texts,
            Wanted::Number(number) => vec![number.to_string()],
        }
    }
}

/// How often a call can use an answer.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged, expecting = "`times` is a number from 1 up, or always")]
enum Times {
    Count(NonZeroUsize),
    Always(Always),
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Always {
    Always,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Used {
    /// Those that were read.
    #[serde(rename = "in")]
    tokens_in: u64,
    /// Those that were written.
    #[serde(rename = "out")]
    tokens_out: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Failing {
    /// Its status of HTTP: 429 is `model.rate-limited`, 401 and 403 `model.refused`, any other below 500
    /// `model.invalid-request`, the rest `model.unavailable`.
    status: u16,
    /// How long the provider asks to wait: `50ms`, `2s`, at most `60s`.
    retry_after: Option<String>,
}

/// `times: always`.
const ANY_NUMBER: usize = usize::MAX;

#[derive(Debug)]
struct ScriptedReply {
    /// Where it begins: line and column.
    place: (usize, usize),
    /// How often it was given, over all calls.
    given: AtomicUsize,
    parts: Vec<MessagePart>,
    /// All of these must be in what the model is shown.
    only_if: Vec<String>,
    /// All of these must be in the message that began the call.
    asked: Vec<String>,
    times: usize,
    need: Vec<Regex>,
    chunk: usize,
    delay: Duration,
    stop: StopReason,
    cut: bool,
    usage: Option<Used>,
    error: Option<(u16, Option<u64>)>,
}

impl ScriptedReply {
    /// Whether it is passed over at times.
    fn has_condition(&self) -> bool {
        !self.only_if.is_empty() || !self.asked.is_empty()
    }

    /// Whether it fits what the model was shown since it last spoke, and the message that began the call.
    fn fits(&self, shown: &str, asked: &str) -> bool {
        let has = |texts: &[String], whole: &str| texts.iter().all(|text| whole.contains(text.as_str()));
        has(&self.only_if, shown) && has(&self.asked, asked)
    }
}

impl Script {
    /// Reads a file's text: a list of answers for each agent.
    ///
    /// # Errors
    /// The first fault.
    pub fn from_text(text: &str) -> Result<Self, ScriptError> {
        let options = serde_saphyr::options! { strict_booleans: true, with_snippet: false };
        let written: BTreeMap<String, Vec<Spanned<Written>>> =
            serde_saphyr::from_str_with_options(text, options)
                .map_err(|error| describe_unreadable(&error, text))?;
        let mut agents = BTreeMap::new();
        for (agent, list) in written {
            let replies: Result<Vec<ScriptedReply>, ScriptError> = (1usize..)
                .zip(list)
                .map(|(number, reply)| {
                    let at = reply.referenced;
                    let place = [at.line(), at.column()].map(|n| usize::try_from(n).unwrap_or(usize::MAX));
                    reply.value.check_written(place.into()).map_err(|words| ScriptError {
                        place: None,
                        words: format!("answer {number} of {agent}: {words}"),
                    })
                })
                .collect();
            agents.insert(agent, replies?);
        }
        Ok(Self { agents, missed: Mutex::default() })
    }

    /// The answers that no call has used yet. An answer with `times: always` may be given any number of times, also
    /// never.
    #[must_use]
    pub fn unused_answers(&self) -> Vec<UnusedAnswer> {
        let each = self
            .agents
            .iter()
            .flat_map(|(agent, list)| (1..).zip(list).map(move |(number, reply)| (agent, number, reply)));
        let is_unused =
            |reply: &ScriptedReply| reply.times != ANY_NUMBER && reply.given.load(Ordering::Relaxed) == 0;
        let unused = each.filter(|(_, _, reply)| is_unused(reply));
        unused
            .map(|(agent, number, reply)| UnusedAnswer { agent: agent.clone(), number, place: reply.place })
            .collect()
    }

    /// The requests that it could not answer since the last call of this function, as messages.
    #[must_use]
    pub fn take_missed(&self) -> Vec<String> {
        std::mem::take(&mut *self.missed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The agents that it has answers for.
    pub fn agents(&self) -> impl Iterator<Item = &str> {
        self.agents.keys().map(String::as_str)
    }

    /// The first answer of an agent that is a native call, by its number from 1.
    #[must_use]
    pub fn first_call(&self, agent: &str) -> Option<usize> {
        let calls =
            |reply: &ScriptedReply| reply.parts.iter().any(|part| matches!(part, MessagePart::Call(_)));
        let at = self.agents.get(agent)?.iter().position(calls)?;
        Some(at.saturating_add(1))
    }
}

impl Written {
    fn check_written(self, place: (usize, usize)) -> Result<ScriptedReply, String> {
        if self.say.is_none() && self.call.is_none() && self.error.is_none() {
            return Err("it says nothing: write say, call or error".to_owned());
        }
        let has_calls = self.call.is_some();
        let calls = match self.call {
            None => Vec::new(),
            Some(Called::Map(calls)) => vec![calls],
            Some(Called::List(calls)) => calls,
        };
        let calls = (1u32..).zip(calls.into_iter().flatten()).map(|(number, (name, arguments))| {
            MessagePart::Call(NativeCall {
                id: format!("call-{number}"),
                name,
                arguments: arguments.to_string(),
            })
        });
        let parts: Vec<MessagePart> = self.say.map(MessagePart::Text).into_iter().chain(calls).collect();
        let stop = match self.stop.as_deref() {
            None if has_calls => StopReason::Tool,
            None | Some("end") => StopReason::End,
            Some("length") => StopReason::Length,
            Some("tool") => StopReason::Tool,
            Some(other) => return Err(format!("stop: `{other}` is not end, length or tool")),
        };
        let need = self
            .need
            .iter()
            .map(|pattern| Regex::new(pattern).map_err(|error| format!("need: `{pattern}`: {error}")));
        let error = match self.error {
            Some(failing) => {
                let after = failing.retry_after.as_deref().map(|text| read_milliseconds("retry_after", text));
                Some((failing.status, after.transpose()?))
            }
            None => None,
        };
        let delay =
            self.delay.as_deref().map(|text| read_milliseconds("delay", text)).transpose()?.unwrap_or(0);
        Ok(ScriptedReply {
            place,
            given: AtomicUsize::new(0),
            parts,
            only_if: self.only_if.map(Wanted::into_texts).unwrap_or_default(),
            asked: self.asked.map(Wanted::into_texts).unwrap_or_default(),
            times: match self.times {
                None => 1,
                Some(Times::Count(count)) => count.get(),
                Some(Times::Always(Always::Always)) => ANY_NUMBER,
            },
            need: need.collect::<Result<_, _>>()?,
            chunk: self.chunk.unwrap_or(usize::MAX).max(1),
            delay: Duration::from_millis(delay),
            stop,
            cut: self.cut,
            usage: self.usage,
            error,
        })
    }
}

/// The parser's message, with its place.
fn describe_unreadable(error: &serde_saphyr::Error, text: &str) -> ScriptError {
    let said = error.without_snippet().to_string();
    let Some(place) = error.location() else { return ScriptError { place: None, words: said } };
    let told = said.strip_suffix(&format!(" at line {}, column {}", place.line(), place.column()));
    let [line, column] = [place.line(), place.column()].map(|n| usize::try_from(n).unwrap_or(usize::MAX));
    let told = told.unwrap_or(&said);
    let cut_off = cut_off(told, text.lines().nth(line.saturating_sub(1)).unwrap_or_default());
    let words = cut_off.unwrap_or_else(|| told.replace("unknown field", "unknown key"));
    ScriptError { place: Some((line, column)), words }
}

/// The message for an unknown key that is really text: a comma in braces has cut it off from its value.
fn cut_off(told: &str, line: &str) -> Option<String> {
    let key = told.split_once("unknown field `")?.1.split('`').next()?;
    let (before, behind) = line.split_once(key)?;
    let is_text = behind.trim_start().starts_with([',', '}']) && before.trim_end().ends_with(',');
    is_text.then(|| {
        format!("a comma between braces ends the words before `{key}`; write quotes around all the words, as say: 'A, B'")
    })
}

/// A duration as in the organism file, up to a minute.
fn read_milliseconds(key: &str, text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: Option<u64> = digits.parse().ok();
    let factor = match text.get(digits.len()..) {
        Some("ms") => Some(1),
        Some("s") => Some(1000),
        _ => None,
    };
    let found = number.zip(factor).and_then(|(number, factor)| number.checked_mul(factor));
    found
        .filter(|ms| *ms <= 60_000)
        .ok_or_else(|| format!("{key}: `{text}` is not a time; write 50ms or 2s, up to 60s"))
}

/// The answers of one agent, as its model.
#[derive(Debug)]
pub struct ScriptedModel {
    script: Arc<Script>,
    agent: String,
    /// The name of the model in the organism file.
    name: String,
    /// What recent calls have used.
    calls: Mutex<CallUses>,
    sleeper: Arc<dyn Sleeper>,
}

impl ScriptedModel {
    /// The model of that name, for that agent.
    #[must_use]
    pub fn new(script: Arc<Script>, name: &str, agent: &str) -> Self {
        let (agent, name) = (agent.to_owned(), name.to_owned());
        Self { script, agent, name, calls: Mutex::default(), sleeper: Arc::new(RealTime) }
    }

    /// The same model with another way to wait for its delays.
    #[must_use]
    pub fn with_sleeper(self, sleeper: Arc<dyn Sleeper>) -> Self {
        Self { sleeper, ..self }
    }

    /// The first answer that the call has not used and whose condition holds.
    fn find_reply(
        &self,
        shown: &str,
        asked: &str,
        course: &CallHistory,
    ) -> Result<(usize, &ScriptedReply), Box<ModelFault>> {
        let Some(list) = self.script.agents.get(&self.agent) else {
            return Err(self.report_missing("the script has no answers for it"));
        };
        // A single step, so a poisoned count is still correct.
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let used = calls.find_use(list, course);
        if let Some(at) = used.find_next(list, shown, asked) {
            used.count_use(at);
            let reply = list.get(at).ok_or_else(|| self.report_missing("its list has changed"))?;
            reply.given.fetch_add(1, Ordering::Relaxed);
            return Ok((at + 1, reply));
        }
        let waiting = used.count_conditional(list);
        let all = list.len();
        let words = match waiting {
            0 => format!("the script has {all} answers for it, and this call has used them all"),
            _ => format!(
                "the script has {all} answers for it; this call has used {}, and no `if` or `asked` of the others holds",
                all - waiting
            ),
        };
        Err(self.report_missing(&words))
    }

    /// The fault for a missing answer. The script records it.
    fn report_missing(&self, words: &str) -> Box<ModelFault> {
        let fault = self.build_fault(words);
        self.script.missed.lock().unwrap_or_else(PoisonError::into_inner).push(fault.words.clone());
        fault
    }

    /// An answer that was cut because enough was read. A provider would not have reported its usage yet.
    fn cut_answer(&self, said: String) -> ModelAnswer {
        let (parts, usage) = (vec![MessagePart::Text(said)], TokenUsage::default());
        ModelAnswer {
            parts,
            stop: StopReason::Cut,
            usage,
            by: self.name.clone(),
            served: ServedBy::default(),
        }
    }

    fn build_fault(&self, words: &str) -> Box<ModelFault> {
        let words = format!("model {}, agent {}: {words}", self.name, self.agent);
        Box::new(ModelFault {
            kind: ModelFaultKind::Unavailable,
            words,
            status: None,
            retry_after_ms: None,
            partial: String::new(),
            may_be_paid: false,
            used: None,
        })
    }

    async fn answer_request(
        script: Arc<Self>,
        request: ModelRequest,
        mut watcher: AnswerWatcher,
    ) -> Result<ModelAnswer, Box<ModelFault>> {
        let since = request.messages.rsplit(|message| message.role == MessageAuthor::Assistant).next();
        let header = request.header.clone().into_iter();
        let since = since.unwrap_or_default().iter().map(join_words);
        let shown = since.chain(header.clone()).collect::<Vec<_>>().join("\n");
        let asked = request.messages.first().map(join_words).unwrap_or_default();
        let (number, reply) = script.find_reply(&shown, &asked, &request.course)?;
        let whole = format!(
            "{}\n{}",
            request.system,
            request.messages.iter().map(join_words).chain(header).collect::<Vec<_>>().join("\n")
        );
        if let Some(missing) = reply.need.iter().find(|pattern| !pattern.is_match(&whole)) {
            let words = format!("answer {number} needs `{}` in the prompt, which has none", missing.as_str());
            return Err(script.report_missing(&words));
        }
        if let Some((status, retry_after_ms)) = reply.error {
            let mut fault = script.build_fault(&format!("the script answers with status {status}"));
            fault.kind = classify_status(status);
            (fault.status, fault.retry_after_ms) = (Some(status), retry_after_ms);
            return Err(fault);
        }
        let text: String = reply.parts.iter().filter_map(find_text).collect();
        let mut listening = request.enough.as_ref().map(super::EnoughCheck::build_reader);
        let mut characters = text.chars().peekable();
        let mut said = String::new();
        while characters.peek().is_some() {
            let piece: String = characters.by_ref().take(reply.chunk).collect();
            let heard = listening.as_mut().and_then(|listening| listening(&piece));
            let wanted = heard.and_then(|bytes| piece.get(..bytes));
            said.push_str(wanted.unwrap_or(&piece));
            watcher(AnswerPiece::Text(wanted.unwrap_or(&piece).to_owned()));
            if wanted.is_some() {
                return Ok(script.cut_answer(said));
            }
            if !reply.delay.is_zero() {
                script.sleeper.sleep(reply.delay).await;
            }
        }
        for (number, part) in reply.parts.iter().enumerate() {
            if let MessagePart::Call(call) = part {
                let (name, arguments) = (call.name.clone(), call.arguments.clone());
                watcher(AnswerPiece::Call { number, name, arguments });
            }
        }
        if reply.cut {
            let mut fault = script.build_fault("the stream ended without its end");
            (fault.kind, fault.partial, fault.may_be_paid) = (ModelFaultKind::Truncated, text, true);
            return Err(fault);
        }
        let usage = reply.usage.map_or_else(TokenUsage::default, |used| TokenUsage {
            tokens_in: Some(used.tokens_in),
            tokens_out: Some(used.tokens_out),
            ..TokenUsage::default()
        });
        Ok(ModelAnswer {
            parts: reply.parts.clone(),
            stop: reply.stop,
            usage,
            by: script.name.clone(),
            served: ServedBy::default(),
        })
    }
}

/// The kind of fault for a status.
fn classify_status(status: u16) -> ModelFaultKind {
    match status {
        429 => ModelFaultKind::RateLimited,
        401 | 403 => ModelFaultKind::Refused,
        400..500 => ModelFaultKind::InvalidRequest,
        _ => ModelFaultKind::Unavailable,
    }
}

fn join_words(message: &super::PromptMessage) -> String {
    let words: Vec<&str> = message
        .parts
        .iter()
        .filter_map(|part| match part {
            MessagePart::Text(text) | MessagePart::Result { text, .. } => Some(text.as_str()),
            MessagePart::Call(call) => Some(call.arguments.as_str()),
            MessagePart::File(_) | MessagePart::Reasoning(_) => None,
        })
        .collect();
    words.join("\n")
}

fn find_text(part: &MessagePart) -> Option<&str> {
    match part {
        MessagePart::Text(text) => Some(text),
        _ => None,
    }
}

impl Model for Arc<ScriptedModel> {
    fn ask(&self, request: ModelRequest, watcher: AnswerWatcher) -> AnswerFuture {
        let answer = ScriptedModel::answer_request(self.clone(), request, watcher);
        Box::pin(async move { answer.await.map_err(|fault| *fault) })
    }
}
