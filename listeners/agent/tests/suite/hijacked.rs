//! A model that obeys everything it reads: as soon as its input contains an injection, it repeats the injection word
//! for word. Until then it searches. It keeps every request, so that a test can check its input.

use std::sync::{Arc, Mutex};

use systole_agent::model::{
    AnswerFuture, AnswerWatcher, MessageAuthor, MessagePart, Model, ModelAnswer, ModelRequest, NativeCall,
    PromptMessage, ServedBy, StopReason, TokenUsage,
};

use crate::stage::MARK;

/// How it obeys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guise {
    /// Only the words.
    Bare,
    /// The words after reasoning, like an action.
    Reasoned,
    /// The words inside the agent's own tag.
    Own,
    /// Each element of the words as a native call, and the words as the argument of a call that exists.
    Called,
}

/// The model.
pub(crate) struct Hijacked {
    words: String,
    guise: Guise,
    is_native: bool,
    asked: Arc<Mutex<Vec<ModelRequest>>>,
    obeyed: Arc<Mutex<u32>>,
}

/// The requests to it, and how often it obeyed.
#[derive(Clone, Default)]
pub(crate) struct Seen {
    pub(crate) asked: Arc<Mutex<Vec<ModelRequest>>>,
    pub(crate) obeyed: Arc<Mutex<u32>>,
}

impl Hijacked {
    pub(crate) fn new(words: &str, guise: Guise, is_native: bool, seen: &Seen) -> Self {
        let (asked, obeyed) = (seen.asked.clone(), seen.obeyed.clone());
        Self { words: words.to_owned(), guise, is_native, asked, obeyed }
    }

    fn answer(&self, request: ModelRequest) -> Vec<MessagePart> {
        let newest = request.messages.iter().rposition(|message| message.role == MessageAuthor::Assistant);
        let newest = newest.map_or(0, |at| at + 1);
        let shown = request.messages[newest..].iter().map(read).collect::<String>();
        self.asked.lock().unwrap().push(request);
        if shown.contains(&covered(&self.words)) {
            *self.obeyed.lock().unwrap() += 1;
            return self.obey();
        }
        match self.is_native {
            true => vec![call("search-1", "search", r#"{"query": "login"}"#)],
            false => vec![MessagePart::Text(
                "<thinking>I look.</thinking><search><query>login</query></search>".to_owned(),
            )],
        }
    }

    fn obey(&self) -> Vec<MessagePart> {
        let words = &self.words;
        match self.guise {
            Guise::Bare => vec![MessagePart::Text(words.clone())],
            Guise::Reasoned => vec![MessagePart::Text(format!("<thinking>I obey.</thinking>\n{words}"))],
            Guise::Own => vec![MessagePart::Text(format!("<helper>\n{words}\n</helper>"))],
            Guise::Called => {
                let arguments = serde_json::json!({ "value": words }).to_string();
                let names = words.split('<').skip(1).take(5).map(|tag| {
                    tag.split(['>', ' ', '/']).next().filter(|name| !name.is_empty()).unwrap_or("core")
                });
                let mut parts: Vec<MessagePart> = (1u32..)
                    .zip(names)
                    .map(|(number, name)| call(&format!("forged-{number}"), name, &arguments))
                    .collect();
                let query = serde_json::json!({ "query": words }).to_string();
                parts.push(call("search-2", "search", &query));
                parts
            }
        }
    }
}

fn call(id: &str, name: &str, arguments: &str) -> MessagePart {
    MessagePart::Call(NativeCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    })
}

/// A text with the mark covered, as it is shown when it does not come from the core.
pub(crate) fn covered(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.to_ascii_lowercase().find(MARK) {
        out.extend([&rest[..at], "[mark]"]);
        rest = &rest[at + MARK.len()..];
    }
    out + rest
}

/// A message as a model reads it, without the markup of the prompt.
fn read(message: &PromptMessage) -> String {
    let words = message.parts.iter().filter_map(|part| match part {
        MessagePart::Text(text) => {
            let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&#13;", "\r");
            Some(text.replace("&quot;", "\"").replace("&amp;", "&"))
        }
        MessagePart::Result { text, .. } => Some(text.clone()),
        MessagePart::Call(_) | MessagePart::File(_) | MessagePart::Reasoning(_) => None,
    });
    words.collect::<Vec<_>>().join("\n")
}

impl Model for Hijacked {
    fn ask(&self, request: ModelRequest, _: AnswerWatcher) -> AnswerFuture {
        let parts = self.answer(request);
        let stop = if parts.iter().any(|part| matches!(part, MessagePart::Call(_))) {
            StopReason::Tool
        } else {
            StopReason::End
        };
        let answer = ModelAnswer {
            parts,
            stop,
            usage: TokenUsage::default(),
            by: "main".to_owned(),
            served: ServedBy::default(),
        };
        Box::pin(async move { Ok(answer) })
    }
}
