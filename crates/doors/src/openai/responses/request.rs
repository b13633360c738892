//! The body of `POST /responses`: what it asks or decides, where, and what of it is refused or ignored.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::super::chat_request::{
    ChatRequest, ChatText, MessageReading, SentContent, WantedAnswer, find_refused, list_ignored,
    read_content,
};
use super::super::fault::OpenaiFault;
use super::conversations;
use super::decision::{NamedDecision, SentApproval};
use super::response_id::ResponseId;
use crate::limits;
use systole_core::types::thread_choice::ThreadName;
use systole_payloads::said_files::SaidText;

/// The items of our own answers, which clients may send back: the log has them.
const OWN_ITEMS: [&str; 4] = ["reasoning", "mcp_call", "mcp_approval_request", "mcp_list_tools"];

/// Where a message goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum WantedPlace {
    /// A thread of its own.
    New,
    /// The thread of a conversation.
    Conversation(ThreadName),
    /// The thread of an earlier response.
    Behind(ResponseId),
}

/// What a request wants.
pub(super) enum WantedWork {
    Ask(ChatRequest),
    Decide(Vec<NamedDecision>),
}

/// A request, as far as it counts.
pub(super) struct ResponseRequest {
    pub(super) work: WantedWork,
    pub(super) place: WantedPlace,
    pub(super) model: String,
    pub(super) streams: bool,
    pub(super) background: bool,
    /// The keys that change nothing here.
    pub(super) ignored: String,
}

#[derive(Deserialize)]
struct SentBody {
    #[serde(default)]
    model: Option<String>,
    input: SentInput,
    #[serde(default)]
    instructions: Option<String>,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    background: Option<bool>,
    #[serde(default)]
    conversation: Option<SentConversation>,
    #[serde(default)]
    previous_response_id: Option<String>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum SentConversation {
    Id(String),
    Object { id: String },
}

#[derive(Deserialize)]
#[serde(untagged)]
enum SentInput {
    Text(String),
    Items(Vec<Value>),
}

#[derive(Deserialize)]
struct SentMessage {
    role: String,
    #[serde(default)]
    content: Option<SentContent>,
}

/// What the items of a request say.
#[derive(Default)]
struct ReadItems {
    systems: Vec<String>,
    said: Vec<(String, SaidText)>,
    decisions: Vec<NamedDecision>,
}

fn refuse_input(words: impl Into<String>) -> OpenaiFault {
    OpenaiFault::refuse_request("input", words)
}

impl ReadItems {
    fn read(input: SentInput) -> Result<ReadItems, OpenaiFault> {
        let mut read = ReadItems::default();
        let items = match input {
            SentInput::Text(text) => {
                read.said.push(("user".to_owned(), SaidText::new(text)));
                return Ok(read);
            }
            SentInput::Items(items) => items,
        };
        if items.len() > limits::CHAT_MESSAGES {
            let (sent, most) = (items.len(), limits::CHAT_MESSAGES);
            let words = format!("{sent} items are more than the {most} of a request: leave the oldest out");
            return Err(refuse_input(words));
        }
        let is_message = |item: &Value| item.get("type").is_none_or(|kind| kind == "message");
        let last = items.iter().rposition(is_message);
        for (at, item) in items.into_iter().enumerate() {
            read.take_item((at, last == Some(at)), item)?;
        }
        Ok(read)
    }

    fn take_item(&mut self, (at, is_last): (usize, bool), item: Value) -> Result<(), OpenaiFault> {
        let kind = item.get("type").and_then(Value::as_str).unwrap_or("message").to_owned();
        match kind.as_str() {
            "message" => {
                let sent: SentMessage = serde_json::from_value(item)
                    .map_err(|error| refuse_input(format!("input[{at}] is no message: {error}")))?;
                let reading = MessageReading::of(&sent.role, is_last);
                let said = read_content(("input", at), sent.content, reading)?;
                match sent.role.as_str() {
                    "system" | "developer" => self.systems.push(said.text),
                    _ => self.said.push((sent.role, said)),
                }
            }
            "mcp_approval_response" => {
                let sent: SentApproval = serde_json::from_value(item)
                    .map_err(|error| refuse_input(format!("input[{at}] is no decision: {error}")))?;
                self.decisions.push(NamedDecision::read_approval(sent)?);
            }
            kind if OWN_ITEMS.contains(&kind) => {}
            kind => {
                let kind: String = kind.chars().take(40).collect();
                let words =
                    format!("input[{at}] has the type {kind:?}: messages and decisions are taken here");
                return Err(refuse_input(words));
            }
        }
        Ok(())
    }
}

impl ResponseRequest {
    /// Reads a body.
    pub(super) fn parse(body: &[u8]) -> Result<ResponseRequest, OpenaiFault> {
        let sent: SentBody = serde_json::from_slice(body)
            .map_err(|error| refuse_input(format!("the body is not a request for a response: {error}")))?;
        find_refused(&sent.other).map_or(Ok(()), Err)?;
        find_unfit(&sent.other).map_or(Ok(()), Err)?;
        let place = read_place(sent.conversation, sent.previous_response_id)?;
        let Some(model) = sent.model else {
            return Err(OpenaiFault::refuse_request("model", "model must name an entry"));
        };
        let mut read = ReadItems::read(sent.input)?;
        let last = read.said.pop().filter(|(role, said)| role == "user" && !said.text.trim().is_empty());
        let choice = last.as_ref().and_then(|last| NamedDecision::parse_choice(&last.1.text));
        let (streams, ignored) = (sent.stream.unwrap_or(false), list_ignored(&sent.other));
        let work = match (last, choice) {
            (Some((_, said)), Some(_)) if !said.files.is_empty() => {
                return Err(refuse_input("an answer to a question takes no files: send it alone"));
            }
            (_, Some(choice)) if read.decisions.is_empty() => WantedWork::Decide(vec![choice]),
            (_, Some(_)) => return Err(refuse_input("an answer to a question comes alone")),
            // What a client sends back of the conversation beside its decisions is on record.
            _ if !read.decisions.is_empty() => WantedWork::Decide(check_decisions(read.decisions)?),
            (Some(last), None) => {
                let systems = sent.instructions.into_iter().filter(|text| !text.trim().is_empty());
                let wanted = WantedAnswer {
                    model: model.clone(),
                    streams,
                    tells_usage: true,
                    ignored: ignored.clone(),
                };
                let systems = systems.chain(read.systems).collect();
                let history = read.said.into_iter().map(|(role, said)| ChatText::new(role, said)).collect();
                WantedWork::Ask(ChatRequest { wanted, systems, history, last: last.1 })
            }
            (None, None) => {
                let words = "the last message must be the user's, with a text: it is what is asked";
                return Err(refuse_input(words));
            }
        };
        Ok(ResponseRequest {
            work,
            place,
            model,
            streams,
            background: sent.background.unwrap_or(false),
            ignored,
        })
    }
}

/// Each request is decided once.
fn check_decisions(decisions: Vec<NamedDecision>) -> Result<Vec<NamedDecision>, OpenaiFault> {
    let ids: BTreeSet<&str> = decisions.iter().map(|one| one.id.as_str()).collect();
    if ids.len() < decisions.len() || ids.len() > limits::SHOWN_REQUESTS {
        let most = limits::SHOWN_REQUESTS;
        return Err(refuse_input(format!("a request has at most {most} decisions, one of each id")));
    }
    Ok(decisions)
}

fn read_place(
    conversation: Option<SentConversation>,
    previous: Option<String>,
) -> Result<WantedPlace, OpenaiFault> {
    let conversation = conversation.map(|sent| match sent {
        SentConversation::Id(id) | SentConversation::Object { id } => id,
    });
    match (conversation, previous) {
        (Some(_), Some(_)) => {
            let words = "a message goes to a conversation or behind a response: leave one of them out";
            Err(OpenaiFault::refuse_request("previous_response_id", words))
        }
        (Some(id), None) => Ok(WantedPlace::Conversation(conversations::read_id(&id)?)),
        (None, Some(id)) => {
            let id = ResponseId::parse(&id)
                .ok_or_else(|| ResponseId::refuse_unknown().about("previous_response_id"))?;
            Ok(WantedPlace::Behind(id))
        }
        (None, None) => Ok(WantedPlace::New),
    }
}

/// What would change the answer, and is not here.
fn find_unfit(other: &Map<String, Value>) -> Option<OpenaiFault> {
    let has = |key: &str| other.get(key).filter(|value| !value.is_null());
    if has("prompt").is_some() {
        let words = "prompts are in the organism's file: leave prompt out";
        return Some(OpenaiFault::refuse_request("prompt", words));
    }
    let format = has("text").and_then(|text| text.get("format")).and_then(|format| format.get("type"));
    if format.is_some_and(|kind| kind != "text") {
        let words = "the entry's schema says what an answer is: leave text.format out";
        return Some(OpenaiFault::refuse_request("text", words));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn g10_a_response_is_asked_for_with_a_text_or_with_items() {
        let parse = |body: Value| ResponseRequest::parse(body.to_string().as_bytes());
        let read = parse(json!({"model": "m", "instructions": "be brief", "input": [
            {"role": "user", "content": "a"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "b"}]},
            {"type": "reasoning", "summary": []},
            {"role": "user", "content": [{"type": "input_text", "text": "c"}]},
        ]}));
        let read = read.unwrap();
        let WantedWork::Ask(asked) = read.work else { panic!("it asks") };
        assert_eq!((asked.last.text.as_str(), asked.history.len(), asked.systems.len()), ("c", 2, 1));
        let decides =
            json!({"type": "mcp_approval_response", "approval_request_id": "a1.00", "approve": true});
        let read = parse(json!({"model": "m", "input": [decides.clone()], "conversation": {"id": "conv_x"}}));
        let read = read.unwrap();
        assert!(matches!(&read.work, WantedWork::Decide(all) if all.len() == 1));
        assert_eq!(read.place, WantedPlace::Conversation(ThreadName::parse("conv.x").unwrap()));
        for (body, param) in [
            (json!({"model": "m"}), "input"),
            (json!({"model": "m", "input": ""}), "input"),
            (json!({"input": "a"}), "model"),
            (json!({"model": "m", "input": [{"type": "function_call_output"}]}), "input"),
            (json!({"model": "m", "input": "a", "prompt": {"id": "p"}}), "prompt"),
            (json!({"model": "m", "input": "a", "text": {"format": {"type": "json_object"}}}), "text"),
            (json!({"model": "m", "input": "a", "tool_choice": "required"}), "tool_choice"),
            (json!({"model": "m", "input": "a", "previous_response_id": "resp_x"}), "previous_response_id"),
            (json!({"model": "m", "input": "a", "conversation": "other"}), "conversation"),
            (json!({"model": "m", "input": [decides, decides], "conversation": "conv_x"}), "input"),
            (
                json!({"model": "m", "input": [decides, {"role": "user", "content": "/choose a2.00 b"}]}),
                "input",
            ),
        ] {
            let fault = parse(body).err().expect("it is refused").as_json();
            assert_eq!(fault["error"]["param"], param, "{fault}");
        }
    }
}
