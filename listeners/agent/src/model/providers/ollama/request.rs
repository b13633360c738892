//! A request as Ollama's chat: like chat completions, except for calls, whose arguments are objects, and results,
//! which name their tool.

use serde_json::{Map, Value, json};

use crate::model::asked_provider::ModelSettings;
use crate::model::providers::anthropic::as_object;
use crate::model::providers::openai::{add_header, build_tool, find_file, join_texts};
use crate::model::thinking::ModelThinking;
use crate::model::{
    FileKind, MessageAuthor, MessageFile, MessagePart, ModelRequest, PromptMessage, RequestToolChoice,
    answer_schema, reasoning,
};

/// The provider that its kept reasoning names.
pub(super) const NAME: &str = "ollama";

pub(super) fn build_body(
    model: &ModelSettings,
    request: &ModelRequest,
) -> Result<Map<String, Value>, String> {
    let most = request.max_output.min(model.max_output);
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(model.model));
    body.insert("messages".to_owned(), Value::Array(build_messages(request)));
    body.insert("stream".to_owned(), json!(model.stream));
    body.insert("options".to_owned(), json!({"num_ctx": model.window, "num_predict": most}));
    let thinking = model.find_thinking(request).map(build_thinking);
    body.extend(thinking.map(|thinking| ("think".to_owned(), thinking)));
    if let Some(schema) = answer_schema::find_schema(request, false) {
        body.insert("format".to_owned(), schema.clone());
    }
    let named = match &request.choice {
        _ if request.tools.is_empty() => return Ok(body),
        Some(RequestToolChoice::None) => return Ok(body),
        None | Some(RequestToolChoice::Auto) => true,
        Some(RequestToolChoice::Required | RequestToolChoice::Tool(_)) => false,
    };
    if !named {
        return Err(format!(
            "models.{} is asked at Ollama, which cannot force a tool call: set tool_choice to \
             auto or leave it out",
            model.name
        ));
    }
    body.insert("tools".to_owned(), request.tools.iter().map(|tool| build_tool(tool, None)).collect());
    Ok(body)
}

/// A level, which models without levels take as yes.
fn build_thinking(thinking: ModelThinking) -> Value {
    match thinking {
        ModelThinking::Off => json!(false),
        ModelThinking::Max | ModelThinking::Tokens(_) => json!("high"),
        level => json!(level.word()),
    }
}

fn build_messages(request: &ModelRequest) -> Vec<Value> {
    let mut messages = Vec::new();
    if !request.system.is_empty() {
        messages.push(json!({"role": "system", "content": request.system}));
    }
    for message in &request.messages {
        match message.role {
            MessageAuthor::User => add_message(message, &mut messages),
            MessageAuthor::Assistant => messages.extend(build_answer(message)),
        }
    }
    add_header(request, "user", &mut messages);
    messages
}

fn add_message(message: &PromptMessage, messages: &mut Vec<Value>) {
    for part in &message.parts {
        if let MessagePart::Result { id, name, text, .. } = part {
            messages.push(json!({"role": "tool", "tool_name": name, "tool_call_id": id, "content": text}));
        }
    }
    let files: Vec<&MessageFile> = message.parts.iter().filter_map(find_file).collect();
    let words = join_texts(message).into_iter().chain(files.iter().map(|file| describe_file(file)));
    let words: Vec<String> = words.collect();
    if words.is_empty() {
        return;
    }
    let mut said = json!({"role": "user", "content": words.join("\n")});
    let images: Vec<String> =
        files.iter().filter(|file| file.kind == FileKind::Image).filter_map(|file| file.encode()).collect();
    if let (false, Some(said)) = (images.is_empty(), said.as_object_mut()) {
        said.insert("images".to_owned(), json!(images));
    }
    messages.push(said);
}

/// Ollama takes pictures alone.
fn describe_file(file: &MessageFile) -> String {
    match file.kind {
        FileKind::Image => file.describe(),
        FileKind::Pdf => {
            let content = Err("Ollama takes no PDF".to_owned());
            MessageFile { content, ..file.clone() }.describe()
        }
    }
}

fn build_answer(message: &PromptMessage) -> Option<Value> {
    let calls = message.parts.iter().filter_map(|part| match part {
        MessagePart::Call(call) => Some(json!({
            "id": call.id,
            "function": {"name": call.name, "arguments": as_object(&call.arguments)},
        })),
        _ => None,
    });
    let calls: Vec<Value> = calls.collect();
    let text = join_texts(message);
    if text.is_none() && calls.is_empty() {
        return None;
    }
    let mut answer = json!({"role": "assistant", "content": text.unwrap_or_default()});
    if let (false, Some(answer)) = (calls.is_empty(), answer.as_object_mut()) {
        answer.insert("tool_calls".to_owned(), Value::Array(calls));
        // The model's thoughts before its calls are sent back with the calls.
        let thought = message.parts.iter().filter_map(|part| match part {
            MessagePart::Reasoning(kept) => reasoning::find_block(NAME, kept)?.get("thinking")?.as_str(),
            _ => None,
        });
        let thought: String = thought.collect();
        if !thought.is_empty() {
            answer.insert("thinking".to_owned(), json!(thought));
        }
    }
    Some(answer)
}
