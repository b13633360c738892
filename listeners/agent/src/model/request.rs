//! A request to a model: the prompt, the conversation and the tools.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::enough::EnoughCheck;
use super::files::MessageFile;
use super::held_answer::RefusedField;

/// A request to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelRequest {
    /// The prompt.
    pub system: String,
    /// The conversation so far, the newest message last. Roles need not alternate: the code for a provider joins
    /// them.
    pub messages: Vec<PromptMessage>,
    /// A message of the system for this request alone. It comes after the conversation, in the place that the provider
    /// has for it.
    pub header: Option<String>,
    /// The tools that the model may call. If empty, neither tools nor a choice are sent.
    pub tools: Vec<Tool>,
    /// The rule for choosing among them.
    pub choice: Option<RequestToolChoice>,
    /// The JSON Schema that the whole answer must follow, for the provider's own field.
    pub schema: Option<Arc<Value>>,
    /// The grammar that the whole answer must follow, for servers that take one.
    pub grammar: Option<Arc<AnswerGrammar>>,
    /// The most tokens of the answer.
    pub max_output: u64,
    /// More parameters, sent as they are.
    pub params: Map<String, Value>,
    /// Fields that its model refused. They are left out.
    pub refused: Vec<RefusedField>,
    /// Where the answer is cut. `None`: it is read to its end.
    pub enough: Option<EnoughCheck>,
    /// The history of the call. It is not sent to a provider; scripts use it.
    pub course: CallHistory,
}

impl ModelRequest {
    /// Whether its model may get that field.
    pub(super) fn may_have(&self, field: RefusedField) -> bool {
        !self.refused.contains(&field)
    }
}

/// An answer as a grammar in GBNF.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerGrammar {
    /// The answer alone.
    pub alone: String,
    /// The answer, with the model's own reasoning before it: for a server that holds that to the grammar too.
    pub behind_reasoning: String,
}

/// The history of a call, from its journal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallHistory {
    /// The call: its thread and its path.
    pub call: String,
    /// The delivery for which the model is asked.
    pub delivery: String,
    /// How many turns of the call are over.
    pub turns: usize,
    /// The model's answers in those turns that the agent still sees. `None` if there was no answer.
    pub said: Vec<Option<Vec<MessagePart>>>,
    /// Failed requests in earlier attempts at this turn.
    pub failed: usize,
}

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageAuthor {
    /// The model's counterpart.
    User,
    /// The model.
    Assistant,
}

/// One message.
#[derive(Clone, Debug, PartialEq)]
pub struct PromptMessage {
    /// The author.
    pub role: MessageAuthor,
    /// The content.
    pub parts: Vec<MessagePart>,
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum MessagePart {
    /// Text.
    Text(String),
    /// A native call that the model made.
    Call(NativeCall),
    /// The result of a call.
    Result {
        /// The call that it answers.
        id: String,
        /// The tool.
        name: String,
        /// The answer.
        text: String,
        /// Whether the call failed.
        is_error: bool,
    },
    /// A file. Behind a result it belongs to that.
    File(MessageFile),
    /// Reasoning in the provider's own form, to be sent back unchanged in its place: an object with `provider` and
    /// `block`. Other providers omit it.
    Reasoning(Value),
}

/// A native call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeCall {
    /// The provider's id for it, or a generated one.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments as the model wrote them: text, which may not be valid JSON.
    pub arguments: String,
}

/// A tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// Its name: letters, digits, `_` and `-`, at most 64.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Its parameters as JSON Schema, an object.
    pub parameters: Value,
}

/// The rule for choosing among tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestToolChoice {
    /// The model decides.
    Auto,
    /// The model must call a tool.
    Required,
    /// The model may call no tool.
    None,
    /// The model must call that tool.
    Tool(String),
}
