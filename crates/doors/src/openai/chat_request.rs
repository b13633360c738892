//! The body of `POST /chat/completions`: what it says of the chat, and what of it is refused or ignored.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::fault::OpenaiFault;
use crate::limits;
use systole_payloads::said_files::{SaidFile, SaidText};

/// A text of a chat.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ChatText {
    pub(super) role: String,
    /// What was said, with a line for each file.
    pub(super) text: String,
    /// The files that came with it.
    pub(super) files: Vec<SaidFile>,
}

impl ChatText {
    pub(super) fn new(role: String, said: SaidText) -> ChatText {
        ChatText { role, text: said.describe(), files: said.files }
    }

    /// A text without files.
    pub(super) fn of(role: &str, text: String) -> ChatText {
        ChatText { role: role.to_owned(), text, files: Vec::new() }
    }
}

/// What a request wants of its answer.
#[derive(Debug)]
pub(super) struct WantedAnswer {
    /// The entry.
    pub(super) model: String,
    /// Whether the answer is to come in pieces.
    pub(super) streams: bool,
    /// Whether a stream ends with what was used.
    pub(super) tells_usage: bool,
    /// The keys that change nothing here, as far as they are told.
    pub(super) ignored: String,
}

/// A request, as far as it counts.
#[derive(Debug)]
pub(super) struct ChatRequest {
    pub(super) wanted: WantedAnswer,
    /// The texts of the roles `system` and `developer`.
    pub(super) systems: Vec<String>,
    /// The messages before the last one.
    pub(super) history: Vec<ChatText>,
    /// The last message, which is the user's.
    pub(super) last: SaidText,
}

#[derive(Deserialize)]
struct SentBody {
    model: String,
    messages: Vec<SentMessage>,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    stream_options: Option<StreamOptions>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

#[derive(Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: Option<bool>,
}

#[derive(Deserialize)]
struct SentMessage {
    role: String,
    #[serde(default)]
    content: Option<SentContent>,
}

/// The content of a message.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum SentContent {
    Text(String),
    Parts(Vec<SentPart>),
}

/// A part of a content.
#[derive(Deserialize)]
pub(super) struct SentPart {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    image_url: Option<SentAddress>,
    /// A file, in chats in an object of its own.
    #[serde(flatten)]
    data: SentFile,
    #[serde(default)]
    file: Option<SentFile>,
}

/// The address of a picture: in chats in an object.
#[derive(Deserialize)]
#[serde(untagged)]
enum SentAddress {
    Text(String),
    Object { url: String },
}

#[derive(Deserialize)]
struct SentFile {
    #[serde(default)]
    file_data: Option<String>,
    #[serde(default)]
    filename: Option<String>,
}

/// What a part says.
enum SaidPart {
    Text(String),
    File(SaidFile),
}

impl SentPart {
    /// What it says. `None` if it is of another kind; an error says what is wrong with it.
    fn read(self) -> Option<Result<SaidPart, String>> {
        let file = match self.kind.as_str() {
            "text" | "input_text" | "output_text" => return Some(Ok(SaidPart::Text(self.text?))),
            "image_url" | "input_image" => match self.image_url? {
                SentAddress::Text(url) | SentAddress::Object { url } => SaidFile::read_address(&url, None),
            },
            "file" | "input_file" => {
                let SentFile { file_data, filename } = self.file.unwrap_or(self.data);
                let data = file_data?;
                match data.starts_with("data:") {
                    true => SaidFile::read_address(&data, filename),
                    false => SaidFile::read(&data, filename),
                }
            }
            _ => return None,
        };
        Some(file.map(SaidPart::File))
    }
}

impl ChatRequest {
    /// Reads a body.
    pub(super) fn parse(body: &[u8]) -> Result<ChatRequest, OpenaiFault> {
        let sent: SentBody = serde_json::from_slice(body).map_err(|error| {
            OpenaiFault::refuse_request("messages", format!("the body is not a chat: {error}"))
        })?;
        if sent.messages.len() > limits::CHAT_MESSAGES {
            let words = format!(
                "{} messages are more than the {} that a chat may have: leave the oldest out",
                sent.messages.len(),
                limits::CHAT_MESSAGES
            );
            return Err(OpenaiFault::refuse_request("messages", words));
        }
        find_refused(&sent.other).map_or(Ok(()), Err)?;
        let (mut systems, mut history) = (Vec::new(), Vec::new());
        let count = sent.messages.len();
        for (at, message) in sent.messages.into_iter().enumerate() {
            let reading = MessageReading::of(&message.role, at + 1 == count);
            let said = read_content(("messages", at), message.content, reading)?;
            match message.role.as_str() {
                "system" | "developer" => systems.push(said.text),
                _ => history.push((message.role, said)),
            }
        }
        let last = match history.pop() {
            Some((role, said)) if role == "user" && !said.text.trim().is_empty() => said,
            _ => {
                let words = "the last message must be the user's, with a text: it is what is asked";
                return Err(OpenaiFault::refuse_request("messages", words));
            }
        };
        let wanted = WantedAnswer {
            model: sent.model,
            streams: sent.stream.unwrap_or(false),
            tells_usage: sent.stream_options.and_then(|options| options.include_usage).unwrap_or(false),
            ignored: list_ignored(&sent.other),
        };
        let history = history.into_iter().map(|(role, said)| ChatText::new(role, said)).collect();
        Ok(ChatRequest { wanted, systems, history, last })
    }
}

/// The keys that change nothing, as a header can tell them.
pub(super) fn list_ignored(other: &Map<String, Value>) -> String {
    let is_told =
        |key: &str| key.len() <= limits::IGNORED_KEY_BYTES && key.bytes().all(|byte| byte.is_ascii_graphic());
    let keys = other.iter().filter(|(key, value)| !value.is_null() && is_told(key));
    keys.map(|(key, _)| key.as_str()).take(limits::IGNORED_KEYS).collect::<Vec<_>>().join(", ")
}

/// How a message is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageReading {
    /// It is asked: what cannot be taken is refused.
    Asked,
    /// It was said before: a line stands for what cannot be taken, so that the chat can go on.
    Before,
    /// The client says there how the model works. Files have no place in it.
    System,
}

impl MessageReading {
    /// How a message of that role is read.
    pub(super) fn of(role: &str, is_last: bool) -> MessageReading {
        match role {
            "system" | "developer" => MessageReading::System,
            _ if is_last => MessageReading::Asked,
            _ => MessageReading::Before,
        }
    }
}

/// The text of a message, and its files.
pub(super) fn read_content(
    (list, at): (&'static str, usize),
    content: Option<SentContent>,
    reading: MessageReading,
) -> Result<SaidText, OpenaiFault> {
    let (mut texts, mut files) = (Vec::new(), Vec::new());
    let parts = match content {
        None => return Ok(SaidText::default()),
        Some(SentContent::Text(text)) => return Ok(SaidText::new(text)),
        Some(SentContent::Parts(parts)) => parts,
    };
    for part in parts {
        let kind: String = part.kind.chars().take(40).collect();
        let why = match part.read() {
            Some(Ok(SaidPart::Text(text))) => {
                texts.push(text);
                continue;
            }
            Some(Ok(SaidPart::File(file))) if reading != MessageReading::System => {
                files.push(file);
                continue;
            }
            Some(Ok(SaidPart::File(_))) => ": files go into the messages of the user".to_owned(),
            Some(Err(why)) => format!(", which {why}"),
            None => ": texts, and pictures and files with their bytes, are taken here".to_owned(),
        };
        if reading != MessageReading::Before {
            let words = format!("{list}[{at}] has a part of type {kind:?}{why}");
            return Err(OpenaiFault::refuse_request(list, words));
        }
        texts.push(format!("[a part of type {kind:?} that was not taken]"));
    }
    Ok(SaidText { text: texts.join("\n"), files })
}

/// What would change the answer, and is not here.
pub(super) fn find_refused(other: &Map<String, Value>) -> Option<OpenaiFault> {
    let refuse = |param, words: &str| Some(OpenaiFault::refuse_request(param, words));
    let has = |key: &str| other.get(key).filter(|value| !value.is_null());
    // A model may answer without a tool, so tools that are only offered change nothing.
    if ["tool_choice", "function_call"].iter().any(|key| has(key).is_some_and(demands_call)) {
        return refuse(
            "tool_choice",
            "tools that the caller runs are not called: a listener of the organism does such work; leave \
             tool_choice out",
        );
    }
    if has("n").is_some_and(|n| n.as_u64() != Some(1)) {
        return refuse("n", "one answer is given to a message: leave n out");
    }
    if has("logprobs").is_some_and(|asked| asked.as_bool() != Some(false)) {
        return refuse("logprobs", "an entry has no probabilities: leave logprobs out");
    }
    if has("response_format").is_some_and(|form| form.get("type").and_then(Value::as_str) != Some("text")) {
        return refuse(
            "response_format",
            "the entry's schema says what an answer is: leave response_format out",
        );
    }
    None
}

/// Whether a choice of tools leaves no answer without one.
fn demands_call(choice: &Value) -> bool {
    let word = choice.get("mode").unwrap_or(choice).as_str();
    !matches!(word, Some("auto" | "none"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(body: &Value) -> Result<ChatRequest, OpenaiFault> {
        ChatRequest::parse(body.to_string().as_bytes())
    }

    #[test]
    fn g10_a_chat_is_its_systems_its_history_and_its_last_message() {
        let parts = json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]);
        let read = parse(&json!({"model": "m", "temperature": 0.5, "stop": null, "messages": [
            {"role": "developer", "content": "be brief"},
            {"role": "user", "content": parts},
            {"role": "assistant", "content": null},
            {"role": "user", "content": "c"},
        ]}));
        let read = read.unwrap();
        assert_eq!(
            (read.wanted.model.as_str(), read.systems, read.last.text.as_str()),
            ("m", vec!["be brief".to_owned()], "c")
        );
        let of = |role: &str, text: &str| ChatText::of(role, text.to_owned());
        assert_eq!(read.history, [of("user", "a\nb"), of("assistant", "")]);
        assert_eq!((read.wanted.ignored.as_str(), read.wanted.streams), ("temperature", false));
    }

    #[test]
    fn g10_what_cannot_be_done_is_refused_by_its_name() {
        let user = |text: &str| json!({"role": "user", "content": text});
        let with = |key: &str, value: Value| json!({"model": "m", "messages": [user("a")], key: value});
        let many: Vec<Value> = (0..2001).map(|_| user("a")).collect();
        for (body, param) in [
            (with("tool_choice", json!("required")), "tool_choice"),
            (with("tool_choice", json!({"type": "function", "function": {"name": "f"}})), "tool_choice"),
            (with("function_call", json!({"name": "f"})), "tool_choice"),
            (with("n", json!(2)), "n"),
            (with("logprobs", json!(true)), "logprobs"),
            (with("response_format", json!({"type": "json_object"})), "response_format"),
            (json!({"model": "m", "messages": []}), "messages"),
            (json!({"model": "m", "messages": [user(" ")]}), "messages"),
            (
                json!({"model": "m", "messages": [user("a"), {"role": "assistant", "content": "b"}]}),
                "messages",
            ),
            (
                json!({"model": "m", "messages": [{"role": "user", "content": [{"type": "image_url"}]}]}),
                "messages",
            ),
            (json!({"model": "m", "messages": many}), "messages"),
            (json!({"model": 5, "messages": [user("a")]}), "messages"),
        ] {
            let fault = parse(&body).unwrap_err().as_json();
            assert_eq!(fault["error"]["param"], param, "{fault}");
        }
        assert!(parse(&with("n", json!(1))).is_ok());
    }

    #[test]
    fn g10_tools_that_are_only_offered_change_nothing() {
        for choice in
            [json!(null), json!("auto"), json!("none"), json!({"type": "allowed_tools", "mode": "auto"})]
        {
            let read = parse(&json!({
                "model": "m", "messages": [{"role": "user", "content": "a"}],
                "tools": [{"type": "function"}], "tool_choice": choice,
            }));
            assert!(read.unwrap().wanted.ignored.split(", ").any(|key| key == "tools"), "{choice}");
        }
    }
}
