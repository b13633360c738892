//! A request as chat completions: messages with roles, and each tool result as a separate message. It sends the
//! model's text as written.

use serde_json::{Map, Value, json};

use crate::model::asked_provider::ModelSettings;
use crate::model::held;
use crate::model::held_answer::HeldAnswer;
use crate::model::thinking::ModelThinking;
use crate::model::{
    FileKind, MessageAuthor, MessageFile, MessagePart, ModelRequest, PromptMessage, RequestToolChoice, Tool,
    answer_schema, reasoning,
};

/// The provider that its kept reasoning names.
pub(super) const NAME: &str = "openai";

pub(super) fn build_body(model: &ModelSettings, request: &ModelRequest) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(model.model));
    body.insert("messages".to_owned(), Value::Array(build_messages(request)));
    body.insert("stream".to_owned(), json!(model.stream));
    if model.stream {
        body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    }
    // Newer models of OpenAI refuse `max_tokens`, and many others know only that.
    let most = if model.is_openai() { "max_completion_tokens" } else { "max_tokens" };
    let given = |key: &str| model.params.contains_key(key) || request.params.contains_key(key);
    if !given("max_tokens") && !given("max_completion_tokens") {
        body.insert(most.to_owned(), json!(request.max_output.min(model.max_output)));
    }
    let is_strict = model.is_openai();
    body.extend(model.find_thinking(request).and_then(|thinking| build_thinking(thinking, is_strict)));
    if let Some(schema) = answer_schema::find_schema(request, is_strict) {
        let schema = build_schema(schema, is_strict);
        body.insert("response_format".to_owned(), json!({"type": "json_schema", "json_schema": schema}));
    } else if let Some(HeldAnswer::Grammar(grammar)) = find_held(model, request) {
        held::add_grammar(&mut body, model.server, grammar);
    }
    if !request.tools.is_empty() {
        let strict = |tool| held::find_strict_parameters(tool, request).filter(|_| is_strict);
        let tools = request.tools.iter().map(|tool| build_tool(tool, strict(tool)));
        body.insert("tools".to_owned(), tools.collect());
        if let Some(choice) = &request.choice {
            body.insert("tool_choice".to_owned(), build_choice(choice));
        }
    }
    body
}

/// What holds the answer. A server that only imitates this form may turn a schema into a grammar that allows no call.
pub(super) fn find_held<'r>(model: &ModelSettings, request: &'r ModelRequest) -> Option<HeldAnswer<'r>> {
    held::find_held(request, model.server, model.url.is_none())
}

/// The field that says how much to reason. OpenAI knows no number of tokens. Other servers pass words on to the template
/// of their model, which takes those that it knows.
fn build_thinking(thinking: ModelThinking, is_openai: bool) -> Option<(String, Value)> {
    if is_openai {
        let effort = match thinking {
            ModelThinking::Off => "none",
            ModelThinking::Max => "xhigh",
            level => level.word()?,
        };
        return Some(("reasoning_effort".to_owned(), json!(effort)));
    }
    let words = match thinking {
        ModelThinking::Off => json!({"enable_thinking": false}),
        ModelThinking::Tokens(most) => json!({"enable_thinking": true, "thinking_budget": most}),
        ModelThinking::Max => json!({"enable_thinking": true, "reasoning_effort": "high"}),
        level => json!({"enable_thinking": true, "reasoning_effort": level.word()}),
    };
    Some(("chat_template_kwargs".to_owned(), words))
}

/// The schema of the final, to the letter if it can be.
fn build_schema(schema: &Value, is_strict: bool) -> Value {
    match answer_schema::make_strict(schema).filter(|_| is_strict) {
        Some(schema) => json!({"name": "final", "schema": schema, "strict": true}),
        None => json!({"name": "final", "schema": schema}),
    }
}

/// A tool in the form that Ollama shares, with its strict parameters if it has any.
pub(in crate::model) fn build_tool(tool: &Tool, strict: Option<Value>) -> Value {
    let Tool { name, description, parameters } = tool;
    let function = match strict {
        Some(strict) => json!({
            "name": name, "description": description, "parameters": strict, "strict": true,
        }),
        None => json!({"name": name, "description": description, "parameters": parameters}),
    };
    json!({"type": "function", "function": function})
}

fn build_choice(choice: &RequestToolChoice) -> Value {
    match choice {
        RequestToolChoice::Auto => json!("auto"),
        RequestToolChoice::Required => json!("required"),
        RequestToolChoice::None => json!("none"),
        RequestToolChoice::Tool(name) => json!({"type": "function", "function": {"name": name}}),
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

/// The header ends the last text of the user. Behind results it is a message of that role. Ollama has the same form.
pub(in crate::model) fn add_header(request: &ModelRequest, role: &str, messages: &mut Vec<Value>) {
    let Some(header) = &request.header else { return };
    let last = messages.last_mut().filter(|last| last.get("role") == Some(&json!("user")));
    match last.and_then(|last| last.get_mut("content")) {
        Some(Value::String(text)) => text.extend(["\n", header]),
        // The other form that shares this one has other words for a text in a list.
        Some(Value::Array(parts)) if role == "user" => parts.push(json!({"type": "text", "text": header})),
        _ => messages.push(json!({"role": role, "content": header})),
    }
}

/// The results come first: nothing may separate them from their calls.
fn add_message(message: &PromptMessage, messages: &mut Vec<Value>) {
    for part in &message.parts {
        if let MessagePart::Result { id, text, .. } = part {
            messages.push(json!({"role": "tool", "tool_call_id": id, "content": text}));
        }
    }
    let files: Vec<Value> = message.parts.iter().filter_map(find_file).flat_map(build_file).collect();
    let text = join_texts(message);
    let content = match text {
        _ if !files.is_empty() => {
            let text = text.map(|text| json!({"type": "text", "text": text}));
            Some(Value::Array(text.into_iter().chain(files).collect()))
        }
        text => text.map(Value::String),
    };
    messages.extend(content.map(|content| json!({"role": "user", "content": content})));
}

/// A file, with its number before it.
fn build_file(file: &MessageFile) -> impl Iterator<Item = Value> {
    let words = json!({"type": "text", "text": file.describe()});
    let data = file.encode_url().map(|url| match file.kind {
        FileKind::Image => json!({"type": "image_url", "image_url": {"url": url}}),
        FileKind::Pdf => {
            let name = format!("file-{}.pdf", file.number);
            json!({"type": "file", "file": {"filename": name, "file_data": url}})
        }
    });
    std::iter::once(words).chain(data)
}

/// The file, if a part is one.
pub(in crate::model) fn find_file(part: &MessagePart) -> Option<&MessageFile> {
    match part {
        MessagePart::File(file) => Some(file),
        _ => None,
    }
}

fn build_answer(message: &PromptMessage) -> Option<Value> {
    let mut answer = Map::new();
    let calls: Vec<Value> = message.parts.iter().filter_map(build_call).collect();
    let text = join_texts(message);
    if text.is_none() && calls.is_empty() {
        return None;
    }
    answer.insert("role".to_owned(), json!("assistant"));
    answer.insert("content".to_owned(), json!(text));
    if !calls.is_empty() {
        answer.insert("tool_calls".to_owned(), Value::Array(calls));
        // Providers that show their reasoning require it back with calls, and some refuse it anywhere else.
        for part in &message.parts {
            let MessagePart::Reasoning(kept) = part else { continue };
            let block = reasoning::find_block(NAME, kept).and_then(Value::as_object);
            for (field, value) in block.into_iter().flatten() {
                match (answer.get_mut(field), value) {
                    (Some(Value::String(before)), Value::String(more)) => before.push_str(more),
                    _ => {
                        answer.insert(field.clone(), value.clone());
                    }
                }
            }
        }
    }
    Some(Value::Object(answer))
}

fn build_call(part: &MessagePart) -> Option<Value> {
    let MessagePart::Call(call) = part else { return None };
    // Some servers parse the arguments before the model sees them, and an empty text is not JSON.
    let arguments = if call.arguments.is_empty() { "{}" } else { &call.arguments };
    Some(json!({
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }))
}

/// The text of a message. `None` if it has none. Separate texts stay separate.
pub(in crate::model) fn join_texts(message: &PromptMessage) -> Option<String> {
    let texts = message.parts.iter().filter_map(|part| match part {
        MessagePart::Text(text) if !text.is_empty() => Some(text.as_str()),
        _ => None,
    });
    let texts: Vec<&str> = texts.collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openai_has_words_for_reasoning_and_no_number() {
        let field = |thinking| build_thinking(thinking, true).map(|(name, value)| format!("{name}: {value}"));
        let shown = [ModelThinking::Off, ModelThinking::Low, ModelThinking::Max].map(field);
        let wanted = ["none", "low", "xhigh"].map(|word| Some(format!("reasoning_effort: \"{word}\"")));
        assert_eq!(shown, wanted);
        assert_eq!(field(ModelThinking::Tokens(4_000)), None);
    }
}
