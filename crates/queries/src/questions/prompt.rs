//! `context`: the prompt of an agent's model call, part by part, with what is new since the call before.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use systole_kit::prompt_link::{self, ParsedLink};

use crate::hashes::shorten_hash;
use crate::prompts::{JournaledCall, PromptFault, find_called, links};
use crate::query::{Query, QueryFault, QueryMoment, QueryPage, QueryRoute, RecordArguments, find_record};
use crate::starts;
use systole_core::types::ids::{Digest, ThreadId};
use systole_core::types::ports::{LogFault, LogReader};
use systole_show::blocks::{Block, FactLink, LabelledFact, LongText};

/// The question.
pub enum PromptQuery {}

/// The prompt of a model call.
#[derive(Serialize)]
pub struct PromptAnswer {
    thread: String,
    seq: u64,
    listener: String,
    model: String,
    turn: Option<u32>,
    /// The configuration with which the agent's call began: its schemas, peers and budgets.
    config: Option<String>,
    /// The one that ran when the model was asked: its prompt and its model. Null for clients that may not see it.
    running: Option<String>,
    prompt: String,
    links: Vec<ShownLink>,
    #[serde(skip)]
    parts: Vec<PromptPart>,
    /// The record of the listener's call before, and how many parts its prompt had in common.
    #[serde(skip)]
    before: Option<(u64, usize)>,
}

/// A link for programs.
#[derive(Serialize)]
#[serde(untagged)]
enum ShownLink {
    Base { system: String, tools: Vec<Value> },
    Segment { messages: Vec<Value> },
    Prompt { header: String },
}

/// A part of a prompt for people: the kind of part, or who says it, and its text as it was sent.
type PromptPart = (String, String);

impl Query for PromptQuery {
    const NAME: &'static str = "context";
    const ABOUT: &'static str = "Print the prompt that an agent's model was sent";
    const EXAMPLES: &'static [&'static str] =
        &["systole context", "systole context 1f0c@7", "systole context --at 120"];
    const ROUTES: &'static [QueryRoute] =
        &[QueryRoute { path: "/v1/threads/{thread}/context", fields: &["seq"] }];
    const PAGE: Option<QueryPage> =
        Some(QueryPage { path: "/t/{thread}/context", title: "Prompt", form: None, without_requests: None });
    type Arguments = RecordArguments;
    type Answer = PromptAnswer;

    fn read(moment: &dyn QueryMoment, asked: &RecordArguments) -> Result<PromptAnswer, QueryFault> {
        let h = find_record(moment, asked.thread.as_ref(), asked.seq)?.1.header;
        let reader = moment.log();
        let read = read_prompt(reader, &h.thread, h.seq).map_err(QueryFault::Prompt)?;
        let Some((called, links)) = read else {
            return Err(QueryFault::NoPrompt { thread: h.thread, seq: h.seq });
        };
        let parts = list_parts(&links);
        let before =
            read_before(reader, &h.thread, &called).map_err(QueryFault::Prompt)?.map(|(seq, before)| {
                (seq, parts.iter().zip(&before).take_while(|(one, other)| one == other).count())
            });
        let [config, running] = find_configs(reader, &h.thread, called.seq).map_err(QueryFault::Log)?;
        Ok(PromptAnswer {
            config: config.map(|config| config.to_string()),
            running: running.map(|config| config.to_string()),
            thread: h.thread.to_string(),
            seq: called.seq,
            listener: called.listener.to_string(),
            model: called.model,
            turn: called.turn,
            prompt: called.prompt,
            links: links.iter().filter_map(|text| prompt_link::read_link(text)).map(ShownLink::of).collect(),
            parts,
            before,
        })
    }

    fn as_of(answer: &PromptAnswer) -> Option<u64> {
        Some(answer.seq)
    }

    fn blocks(answer: &PromptAnswer) -> Vec<Block> {
        let PromptAnswer { seq, listener, model, prompt, before, .. } = answer;
        let turn = answer.turn.map(|turn| format!("turn {turn}")).unwrap_or_default();
        let asks = format!("{listener} asks {model}");
        let count = answer.parts.len();
        let fact = |label, link, value, line| LabelledFact { label, link, value, line };
        let call = if turn.is_empty() { asks.clone() } else { format!("{asks}, {turn}") };
        let mut facts = vec![
            fact(
                "Call",
                Some(FactLink::Record(answer.thread.clone(), *seq)),
                call,
                format!("record {seq}   {asks}   {turn}"),
            ),
            fact("Hash", None, prompt.clone(), format!("prompt {prompt}")),
        ];
        facts.extend(before.map(|(seq, same)| {
            let words = format!("had the first {same} of {count} parts too");
            fact("Before", Some(FactLink::AsOf(seq)), words, String::new())
        }));
        if let (Some(config), Some(running)) = (&answer.config, &answer.running)
            && config != running
        {
            let words =
                format!("the call began with {}, and {} ran", shorten_hash(config), shorten_hash(running));
            facts.push(fact("Configurations", None, words.clone(), format!("configurations: {words}")));
        }
        let part = |(at, (title, text)): (usize, &PromptPart)| LongText {
            title: title.clone(),
            text: text.clone(),
            is_new: before.is_some_and(|(_, same)| at >= same),
        };
        vec![Block::Facts(facts), Block::Bodies(answer.parts.iter().enumerate().map(part).collect())]
    }
}

/// The configuration with which the call of a record began, and the one that ran when it was recorded.
fn find_configs(
    reader: &dyn LogReader,
    thread: &ThreadId,
    seq: u64,
) -> Result<[Option<Digest>; 2], LogFault> {
    let Some((position, record)) = reader.of_thread(thread, seq, 1)?.into_iter().next() else {
        return Ok([None, None]);
    };
    Ok([Some(record.header.config), starts::find_running(reader, position)?])
}

/// A model call with the links of its prompt.
type LinkedCall = (JournaledCall, Vec<Arc<str>>);

/// The call to a model that belongs to a record, with the links of its prompt, the first one first. `None` if the
/// thread has none up to there.
fn read_prompt(
    reader: &dyn LogReader,
    thread: &ThreadId,
    seq: u64,
) -> Result<Option<LinkedCall>, PromptFault> {
    let Some(called) = find_called(reader, thread, seq)? else { return Ok(None) };
    let links = links(reader, &called.prompt)?;
    Ok(Some((called, links)))
}

/// The parts of the prompt of the listener's call before, if they can be read.
fn read_before(
    reader: &dyn LogReader,
    thread: &ThreadId,
    called: &JournaledCall,
) -> Result<Option<(u64, Vec<PromptPart>)>, PromptFault> {
    let Some(seq) = called.seq.checked_sub(1).filter(|seq| *seq > 0) else { return Ok(None) };
    match read_prompt(reader, thread, seq) {
        Ok(Some((earlier, links))) if earlier.listener == called.listener => {
            Ok(Some((earlier.seq, list_parts(&links))))
        }
        Err(PromptFault::Log(fault)) => Err(PromptFault::Log(fault)),
        Ok(_) | Err(_) => Ok(None),
    }
}

impl ShownLink {
    fn of(link: ParsedLink<'_>) -> ShownLink {
        match link {
            ParsedLink::Base { system, tools } => {
                ShownLink::Base { system: system.to_owned(), tools: read_objects(tools) }
            }
            ParsedLink::Segment { messages, .. } => ShownLink::Segment { messages: read_objects(messages) },
            ParsedLink::Prompt { header, .. } => ShownLink::Prompt { header: header.to_owned() },
        }
    }
}

/// The parts of a prompt, in order.
fn list_parts(links: &[Arc<str>]) -> Vec<PromptPart> {
    let mut parts = Vec::new();
    let mut add = |title: &str, text: &str| parts.push((title.to_owned(), text.to_owned()));
    for link in links.iter().filter_map(|text| prompt_link::read_link(text)) {
        match link {
            ParsedLink::Base { system, tools } => {
                add("system", system);
                if !tools.is_empty() {
                    add("tools", tools);
                }
            }
            ParsedLink::Segment { messages, .. } => {
                for message in read_objects(messages) {
                    let role = message.get("role").and_then(Value::as_str).unwrap_or("?");
                    for part in message.get("parts").and_then(Value::as_array).into_iter().flatten() {
                        let (kind, words) = read_words(part);
                        add(&format!("{role}{kind}"), &words);
                    }
                }
            }
            ParsedLink::Prompt { header: "", .. } => {}
            ParsedLink::Prompt { header, .. } => add("user, for this turn alone", header),
        }
    }
    parts
}

/// The kind and the text of a part of a message.
fn read_words(part: &Value) -> (&'static str, String) {
    let text =
        |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    if let Some(call) = part.get("call") {
        return (" calls", format!("{} {}", text(call, "name"), text(call, "arguments")));
    }
    if let Some(result) = part.get("result") {
        return (": result of a call", format!("{}\n{}", text(result, "name"), text(result, "text")));
    }
    if let Some(file) = part.get("file") {
        let number = |key: &str| file.get(key).map(Value::to_string).unwrap_or_default();
        let (hash, of) = (text(file, "sha256"), text(file, "type"));
        return (": a file", format!("[file {}] {of}, {} bytes, {hash}", number("number"), number("bytes")));
    }
    if let Some(kept) = part.get("reasoning") {
        return (" reasons, in the provider's form", kept.to_string());
    }
    ("", text(part, "text"))
}

/// The JSON values, one per line.
fn read_objects(lines: &str) -> Vec<Value> {
    lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}
