//! The body of a run: what it says, and what of it changes nothing here.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::kept_messages::MessageHead;
use crate::limits;
use systole_core::types::refusal::Refusal;
use systole_doorway::limits::REQUEST_ID_BYTES;
use systole_hall::request_refusals::describe_unfit_request;
use systole_payloads::said_files::{SaidFile, SaidText};

/// What a state of this door has.
pub(super) const STATE_KEYS: [&str; 3] = ["todo", "waits", "usage"];

/// A request for a run.
#[derive(Debug)]
pub(super) struct RunInput {
    pub(super) thread: String,
    pub(super) run: String,
    /// The messages as the client has them.
    pub(super) messages: Vec<Box<RawValue>>,
    pub(super) resume: Vec<SentResume>,
    /// The fields that change nothing.
    pub(super) ignored: Vec<&'static str>,
}

/// The answer to an interrupt.
#[derive(Clone, Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub(super) struct SentResume {
    pub(super) interrupt_id: String,
    pub(super) status: ResumeStatus,
    #[serde(default)]
    pub(super) payload: Value,
}

/// Whether an interrupt was answered.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, Debug)]
#[serde(rename_all = "lowercase")]
pub(super) enum ResumeStatus {
    Resolved,
    Cancelled,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SentInput {
    thread_id: String,
    run_id: String,
    messages: Vec<Box<RawValue>>,
    #[serde(default)]
    tools: Value,
    #[serde(default)]
    context: Value,
    #[serde(default)]
    state: Value,
    #[serde(default)]
    forwarded_props: Value,
    #[serde(default)]
    resume: Option<Vec<SentResume>>,
}

impl RunInput {
    /// Reads a body.
    pub(super) fn parse(body: &[u8]) -> Result<RunInput, Box<Refusal>> {
        let sent: SentInput = serde_json::from_slice(body)
            .map_err(|error| refuse(format!("the body is not a run: {error}")))?;
        let resume = sent.resume.unwrap_or_default();
        for (name, count, most) in [
            ("messages", sent.messages.len(), limits::CHAT_MESSAGES),
            ("resume", resume.len(), limits::ANSWERS),
        ] {
            if count > most {
                return Err(refuse(format!("{name}: {count} are more than the {most} that there may be")));
            }
        }
        for (name, id) in [("threadId", &sent.thread_id), ("runId", &sent.run_id)] {
            if id.is_empty() || id.len() > REQUEST_ID_BYTES {
                let most = REQUEST_ID_BYTES;
                return Err(refuse(format!("{name} must have 1 to {most} bytes, and has {}", id.len())));
            }
        }
        let unread = [
            ("tools", sent.tools),
            ("context", sent.context),
            ("state", sent.state),
            ("forwardedProps", sent.forwarded_props),
        ];
        let mut ignored: Vec<&str> =
            unread.into_iter().filter(|(_, value)| !is_nothing(value)).map(|(name, _)| name).collect();
        let is_system = |one: &RawValue| matches!(find_role(one).as_deref(), Some("system" | "developer"));
        if sent.messages.iter().any(|one| is_system(one)) {
            ignored.push("messages of the roles system and developer");
        }
        Ok(RunInput { thread: sent.thread_id, run: sent.run_id, messages: sent.messages, resume, ignored })
    }

    /// The newest message, which is the user's.
    pub(super) fn read_last(&self) -> Result<SaidText, Box<Refusal>> {
        let last = self.messages.len().saturating_sub(1);
        let newest = self.messages.last().filter(|one| find_role(one).as_deref() == Some("user"));
        let said = newest.map(|one| read_content(last, one)).transpose()?;
        said.filter(|said| !said.text.trim().is_empty())
            .ok_or_else(|| refuse("the last message must be the user's, with a text: it is what is asked"))
    }
}

/// What a client sends of a field that it does not use, and the state that it has from this door.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.keys().all(|key| STATE_KEYS.contains(&key.as_str())),
        _ => false,
    }
}

fn refuse(words: impl Into<String>) -> Box<Refusal> {
    Box::new(describe_unfit_request(words.into()))
}

/// The role of a message.
fn find_role(message: &RawValue) -> Option<String> {
    MessageHead::read(message)?.role
}

/// The text of a message, and its files.
fn read_content(at: usize, message: &RawValue) -> Result<SaidText, Box<Refusal>> {
    let message: Value = serde_json::from_str(message.get()).unwrap_or_default();
    let content = message.get("content").unwrap_or(&Value::Null);
    if let Some(text) = content.as_str() {
        return Ok(SaidText::new(text.to_owned()));
    }
    let (mut texts, mut files) = (Vec::new(), Vec::new());
    for part in content.as_array().map(Vec::as_slice).unwrap_or_default() {
        let text_at = |path: &str| part.pointer(path).and_then(Value::as_str);
        let kind = text_at("/type").unwrap_or_default();
        let refuse = |why: &str| {
            let kind: String = kind.chars().take(40).collect();
            Err(refuse(format!("messages[{at}] has a part of type {kind:?}{why}")))
        };
        match (kind, text_at("/text"), text_at("/source/type"), text_at("/source/value")) {
            ("text", Some(text), ..) => texts.push(text),
            ("image" | "document", _, Some("data"), Some(data)) => {
                match SaidFile::read(data, text_at("/metadata/filename").map(str::to_owned)) {
                    Ok(file) => files.push(file),
                    Err(why) => return refuse(&format!(", which {why}")),
                }
            }
            _ => return refuse(": texts, and pictures and documents with their bytes, are taken here"),
        }
    }
    Ok(SaidText { text: texts.join("\n"), files })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(body: &Value) -> Result<RunInput, String> {
        RunInput::parse(body.to_string().as_bytes()).map_err(|refusal| refusal.message.to_string())
    }

    fn body(messages: &Value) -> Value {
        json!({"threadId": "t", "runId": "r", "messages": messages, "tools": [], "context": [], "state": {}})
    }

    #[test]
    fn g11_a_run_is_its_last_message_and_what_changes_nothing_is_named() {
        let parts = json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]);
        let mut whole = body(&json!([{"id": "1", "role": "user", "content": parts}]));
        let input = parse(&whole).unwrap();
        assert_eq!((input.read_last().unwrap().text.as_str(), input.ignored), ("a\nb", Vec::<&str>::new()));
        whole["state"] = json!({"waits": [], "usage": {}});
        assert_eq!(parse(&whole).unwrap().ignored, Vec::<&str>::new());
        whole["state"] = json!({"seen": 1});
        whole["tools"] = json!([{"name": "x"}]);
        assert_eq!(parse(&whole).unwrap().ignored, ["tools", "state"]);
        whole["resume"] = json!([{"interruptId": "a1.00", "status": "cancelled"}]);
        assert_eq!(parse(&whole).unwrap().resume[0].status, ResumeStatus::Cancelled);
    }

    #[test]
    fn g11_what_is_no_run_is_refused_with_its_place() {
        let user = |content: Value| json!({"id": "1", "role": "user", "content": content});
        for (messages, words) in [
            (json!([]), "the last message must be the user's"),
            (json!([user(json!(" "))]), "the last message must be the user's"),
            (
                json!([user(json!("a")), {"id": "2", "role": "assistant"}]),
                "the last message must be the user's",
            ),
            (
                json!([user(json!([{"type": "image", "source": {}}]))]),
                "messages[0] has a part of type \"image\"",
            ),
        ] {
            let refusal = parse(&body(&messages)).unwrap().read_last().unwrap_err();
            assert!(refusal.message.starts_with(words), "{}", refusal.message);
        }
        let many: Vec<Value> = (0..2001).map(|_| user(json!("a"))).collect();
        let mut nameless = body(&json!([]));
        nameless["threadId"] = json!("");
        for (body, words) in [
            (body(&json!(many)), "messages: 2001 are more than the 2000"),
            (nameless, "threadId must have 1 to 256 bytes"),
            (json!({"runId": "r", "messages": []}), "the body is not a run: missing field `threadId`"),
        ] {
            let words_of = parse(&body).unwrap_err();
            assert!(words_of.starts_with(words), "{words_of}");
        }
    }
}
