//! A request as a list of items: messages, calls and their outputs, and what earlier answers kept.

use serde_json::{Map, Value, json};

use crate::model::asked_provider::ModelSettings;
use crate::model::held;
use crate::model::held_answer::{HeldAnswer, RefusedField};
use crate::model::providers::openai::{add_header, join_texts};
use crate::model::thinking::ModelThinking;
use crate::model::{
    FileKind, MessageAuthor, MessageFile, MessagePart, ModelRequest, PromptMessage, RequestToolChoice, Tool,
    answer_schema, reasoning,
};

/// The provider that its kept items name.
pub(super) const NAME: &str = "openai-responses";

pub(super) fn build_body(model: &ModelSettings, request: &ModelRequest) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(model.model));
    if !request.system.is_empty() {
        body.insert("instructions".to_owned(), json!(request.system));
    }
    body.insert("input".to_owned(), Value::Array(build_input(request)));
    body.insert("stream".to_owned(), json!(model.stream));
    body.insert("store".to_owned(), json!(false));
    body.insert("max_output_tokens".to_owned(), json!(request.max_output.min(model.max_output)));
    if model.thinking != Some(ModelThinking::Off) && request.may_have(RefusedField::Thinking) {
        body.insert("include".to_owned(), json!(["reasoning.encrypted_content"]));
    }
    if let Some(effort) = model.find_thinking(request).and_then(name_effort) {
        body.insert("reasoning".to_owned(), json!({ "effort": effort }));
    }
    if let Some(schema) = answer_schema::find_schema(request, true) {
        let strict = answer_schema::make_strict(schema);
        let (is_strict, schema) = (strict.is_some(), strict.as_ref().unwrap_or(schema));
        let format = json!({"type": "json_schema", "name": "final", "schema": schema, "strict": is_strict});
        body.insert("text".to_owned(), json!({ "format": format }));
    }
    if !request.tools.is_empty() {
        body.insert("tools".to_owned(), request.tools.iter().map(|tool| build_tool(tool, request)).collect());
        if let Some(choice) = &request.choice {
            body.insert("tool_choice".to_owned(), build_choice(choice));
        }
    }
    body
}

/// What holds the answer.
pub(super) fn find_held(request: &ModelRequest) -> Option<HeldAnswer<'_>> {
    held::find_strict(request)
}

/// The word for how much to reason. There is none for a number of tokens.
fn name_effort(thinking: ModelThinking) -> Option<&'static str> {
    if thinking == ModelThinking::Off { Some("none") } else { thinking.word() }
}

/// A tool. If `strict` is left out, a tool is strict.
fn build_tool(tool: &Tool, request: &ModelRequest) -> Value {
    let Tool { name, description, parameters } = tool;
    let strict = held::find_strict_parameters(tool, request);
    let (is_strict, parameters) = (strict.is_some(), strict.as_ref().unwrap_or(parameters));
    json!({
        "type": "function", "name": name, "description": description, "parameters": parameters,
        "strict": is_strict,
    })
}

fn build_choice(choice: &RequestToolChoice) -> Value {
    match choice {
        RequestToolChoice::Auto => json!("auto"),
        RequestToolChoice::Required => json!("required"),
        RequestToolChoice::None => json!("none"),
        RequestToolChoice::Tool(name) => json!({"type": "function", "name": name}),
    }
}

fn build_input(request: &ModelRequest) -> Vec<Value> {
    let mut input = Vec::new();
    for message in &request.messages {
        match message.role {
            MessageAuthor::User => add_message(message, &mut input),
            MessageAuthor::Assistant => input.extend(build_answer(message)),
        }
    }
    add_header(request, "developer", &mut input);
    input
}

/// The results come first: nothing may separate them from their calls.
fn add_message(message: &PromptMessage, input: &mut Vec<Value>) {
    let mut files: Vec<Value> = Vec::new();
    for part in &message.parts {
        match part {
            MessagePart::Result { id, text, .. } => {
                input.push(json!({"type": "function_call_output", "call_id": id, "output": text}));
            }
            MessagePart::File(file) => match input.last_mut().filter(|last| is_kind(last, OUTPUT)) {
                Some(result) => add_file(file, result),
                None => files.extend(build_file(file)),
            },
            _ => {}
        }
    }
    let content = match join_texts(message) {
        text if !files.is_empty() => {
            let text = text.map(|text| json!({"type": "input_text", "text": text}));
            Some(Value::Array(text.into_iter().chain(files).collect()))
        }
        text => text.map(Value::String),
    };
    input.extend(content.map(|content| json!({"role": "user", "content": content})));
}

/// The kind of the item that has the result of a call.
const OUTPUT: &str = "function_call_output";

/// A file of a result is a part of its output.
fn add_file(file: &MessageFile, result: &mut Value) {
    let Some(output) = result.get_mut("output") else { return };
    let before = match output.take() {
        Value::Array(parts) => parts,
        Value::String(text) if !text.is_empty() => vec![json!({"type": "input_text", "text": text})],
        _ => Vec::new(),
    };
    *output = Value::Array(before.into_iter().chain(build_file(file)).collect());
}

/// A file, with its number before it.
fn build_file(file: &MessageFile) -> impl Iterator<Item = Value> {
    let words = json!({"type": "input_text", "text": file.describe()});
    let data = file.encode_url().map(|url| match file.kind {
        FileKind::Image => json!({"type": "input_image", "image_url": url, "detail": "auto"}),
        FileKind::Pdf => {
            json!({"type": "input_file", "filename": format!("file-{}.pdf", file.number), "file_data": url})
        }
    });
    std::iter::once(words).chain(data)
}

/// The items of an answer, as they came if this provider gave it.
fn build_answer(message: &PromptMessage) -> Vec<Value> {
    let mut items: Vec<Value> = Vec::new();
    // Texts whose message is not known yet, and calls whose rest is not.
    let mut texts: Vec<&str> = Vec::new();
    let mut bare_from = 0;
    for part in &message.parts {
        match part {
            MessagePart::Text(text) if !text.is_empty() => texts.push(text),
            MessagePart::Call(call) => {
                items.extend(build_message(&mut texts));
                // Some servers parse the arguments before the model sees them, and an empty text is not JSON.
                let arguments = if call.arguments.is_empty() { "{}" } else { &call.arguments };
                let (id, name) = (&call.id, &call.name);
                items.push(json!({
                    "type": "function_call", "call_id": id, "name": name, "arguments": arguments,
                }));
            }
            MessagePart::Reasoning(kept) => {
                let Some(block) = reasoning::find_block(NAME, kept) else { continue };
                match block.get("type").and_then(Value::as_str) {
                    Some("message") => items.push(fill_message(block, &mut texts)),
                    Some("function_call") => bare_from = fill_call(block, bare_from, &mut items),
                    _ => {
                        items.extend(build_message(&mut texts));
                        items.push(block.clone());
                    }
                }
            }
            MessagePart::Text(_) | MessagePart::Result { .. } | MessagePart::File(_) => {}
        }
    }
    items.extend(build_message(&mut texts));
    // Reasoning that led to nothing is refused.
    while items.last().is_some_and(|item| is_kind(item, "reasoning")) {
        items.pop();
    }
    items
}

fn is_kind(item: &Value, kind: &str) -> bool {
    item.get("type").and_then(Value::as_str) == Some(kind)
}

/// A message of which nothing but its texts is known.
fn build_message(texts: &mut Vec<&str>) -> Option<Value> {
    let content = std::mem::take(texts).join("\n");
    (!content.is_empty()).then(|| json!({"role": "assistant", "content": content}))
}

/// A kept message with its texts. Texts that another module changed may be fewer or more.
fn fill_message(block: &Value, texts: &mut Vec<&str>) -> Value {
    let mut block = block.clone();
    let mut said = std::mem::take(texts).into_iter();
    let parts = block.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten();
    let mut open: Vec<_> = parts
        .filter(|part| is_kind(part, "output_text") && part.get("text").is_none())
        .filter_map(Value::as_object_mut)
        .collect();
    let last = open.len().saturating_sub(1);
    for (at, part) in open.iter_mut().enumerate() {
        let text =
            if at == last { said.by_ref().collect() } else { said.next().unwrap_or_default().to_owned() };
        part.insert("text".to_owned(), json!(text));
    }
    block
}

/// Adds the rest of a kept call to the first call from `from` on, and returns where the next one may be.
fn fill_call(block: &Value, from: usize, items: &mut [Value]) -> usize {
    let call = items.iter_mut().enumerate().skip(from).find(|(_, item)| is_kind(item, "function_call"));
    let (Some((at, Value::Object(call))), Value::Object(block)) = (call, block) else { return from };
    for (key, value) in block {
        call.entry(key.as_str()).or_insert_with(|| value.clone());
    }
    at + 1
}
