//! A request as Anthropic's messages: roles alternate, results come first, nothing is empty. It marks what the cache
//! may keep: the system prompt, and everything before the header, which the next turn repeats.

use serde_json::{Map, Value, json};

use crate::limits;
use crate::model::asked_provider::ModelSettings;
use crate::model::held_answer::{HeldAnswer, RefusedField};
use crate::model::thinking::ModelThinking;
use crate::model::{
    FileKind, MessageAuthor, MessageFile, MessagePart, ModelRequest, PromptMessage, RequestToolChoice, Tool,
    answer_schema, reasoning,
};

/// The provider that its kept reasoning names.
pub(super) const NAME: &str = "anthropic";

pub(super) fn build_body(model: &ModelSettings, request: &ModelRequest) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(model.model));
    let most = request.max_output.min(model.max_output);
    body.insert("max_tokens".to_owned(), json!(most));
    body.insert("stream".to_owned(), json!(model.stream));
    if !request.system.trim().is_empty() {
        let mut system = json!({"type": "text", "text": request.system});
        if model.has_cache_marks(request) {
            mark_cached(&mut system);
        }
        body.insert("system".to_owned(), json!([system]));
    }
    body.insert("messages".to_owned(), Value::Array(build_messages(request, model.has_cache_marks(request))));
    let mut output = Map::new();
    if let Some(schema) = answer_schema::find_schema(request, true).and_then(answer_schema::narrow_schema) {
        output.insert("format".to_owned(), json!({"type": "json_schema", "schema": schema}));
    }
    if let Some(thinking) = model.find_thinking(request) {
        body.insert("thinking".to_owned(), build_thinking(thinking, most));
        let level = thinking.word().filter(|_| thinking != ModelThinking::Off);
        output.extend(level.map(|level| ("effort".to_owned(), json!(level))));
    }
    if !output.is_empty() {
        body.insert("output_config".to_owned(), Value::Object(output));
    }
    if !request.tools.is_empty() {
        body.insert("tools".to_owned(), build_tools(request));
        if let Some(choice) = &request.choice {
            body.insert("tool_choice".to_owned(), build_choice(choice));
        }
    }
    body
}

/// What holds the answer.
pub(super) fn find_held(request: &ModelRequest) -> Option<HeldAnswer<'_>> {
    let schema = answer_schema::find_schema(request, true);
    let schema = schema.filter(|schema| answer_schema::narrow_schema(schema).is_some());
    let has_strict = || request.tools.iter().any(|tool| find_narrow_parameters(tool, request).is_some());
    schema.map(HeldAnswer::Schema).or_else(|| has_strict().then_some(HeldAnswer::Strict))
}

/// The tokens of the reasoning are a part of those of the answer. A fallback may have a smaller one: then half of it is
/// left for the answer.
fn build_thinking(thinking: ModelThinking, most: u64) -> Value {
    match thinking {
        ModelThinking::Off => json!({"type": "disabled"}),
        ModelThinking::Tokens(tokens) => {
            let tokens = if tokens < most { tokens } else { most / 2 };
            match tokens >= limits::LEAST_BUDGET {
                true => json!({"type": "enabled", "budget_tokens": tokens}),
                false => json!({"type": "disabled"}),
            }
        }
        _ => json!({"type": "adaptive"}),
    }
}

/// The tools. Only so many may be strict.
fn build_tools(request: &ModelRequest) -> Value {
    let mut room = limits::STRICT_TOOLS;
    let tools = request.tools.iter().map(|tool| {
        let Tool { name, description, parameters } = tool;
        match find_narrow_parameters(tool, request).filter(|_| room > 0) {
            Some(narrow) => {
                room -= 1;
                json!({"name": name, "description": description, "strict": true, "input_schema": narrow})
            }
            None => json!({"name": name, "description": description, "input_schema": parameters}),
        }
    });
    tools.collect()
}

/// The parameters of a tool that can be strict.
fn find_narrow_parameters(tool: &Tool, request: &ModelRequest) -> Option<Value> {
    let is_taken = request.may_have(RefusedField::StrictTools);
    is_taken.then(|| answer_schema::make_narrow_tool(&tool.parameters)).flatten()
}

fn build_choice(choice: &RequestToolChoice) -> Value {
    match choice {
        RequestToolChoice::Auto => json!({"type": "auto"}),
        RequestToolChoice::Required => json!({"type": "any"}),
        RequestToolChoice::None => json!({"type": "none"}),
        RequestToolChoice::Tool(name) => json!({"type": "tool", "name": name}),
    }
}

/// Joins consecutive messages of one role. Results come before the sender's other parts.
fn build_messages(request: &ModelRequest, is_cached: bool) -> Vec<Value> {
    let mut joined: Vec<(MessageAuthor, Vec<Value>)> = Vec::new();
    for message in &request.messages {
        let blocks: Vec<Value> = build_blocks(message);
        match joined.last_mut() {
            _ if blocks.is_empty() => {}
            Some((role, before)) if *role == message.role => before.extend(blocks),
            _ => joined.push((message.role, blocks)),
        }
        if let Some((MessageAuthor::User, blocks)) = joined.last_mut() {
            blocks.sort_by_key(|block| block.get("type") != Some(&json!("tool_result")));
        }
    }
    if is_cached {
        mark_cache_ends(&mut joined);
    }
    if let Some(header) = &request.header {
        add_header(header, &mut joined);
    }
    let role = |role| if role == MessageAuthor::User { "user" } else { "assistant" };
    joined.into_iter().map(|(who, blocks)| json!({"role": role(who), "content": blocks})).collect()
}

/// The header, behind the last mark. Text behind results brings empty answers, so there the header is in the last
/// result.
fn add_header(header: &str, joined: &mut Vec<(MessageAuthor, Vec<Value>)>) {
    let text = json!({"type": "text", "text": header});
    let Some((MessageAuthor::User, blocks)) = joined.last_mut() else {
        return joined.push((MessageAuthor::User, vec![text]));
    };
    let is_result = |block: &&mut Value| block.get("type") == Some(&json!("tool_result"));
    let Some(result) = blocks.last_mut().filter(is_result).and_then(Value::as_object_mut) else {
        return blocks.push(text);
    };
    let mark = result.remove("cache_control");
    let content = result.entry("content").or_insert(Value::Null);
    let mut told = list_content(content.take());
    if let (Some(mark), Some(last)) = (mark, told.last_mut().and_then(Value::as_object_mut)) {
        last.insert("cache_control".to_owned(), mark);
    }
    *content = Value::Array(told.into_iter().chain([text]).collect());
}

/// Marks the end of what the next request repeats, and the end of what the last request marked: the cache is searched
/// only a few blocks back from a mark, and one turn may add more.
fn mark_cache_ends(joined: &mut [(MessageAuthor, Vec<Value>)]) {
    for left_out in [0, 2] {
        let before = joined.iter_mut().rev().skip(left_out);
        if let Some(last) =
            before.flat_map(|(_, blocks)| blocks.iter_mut().rev()).find(|block| is_cacheable(block))
        {
            mark_cached(last);
        }
    }
}

/// A mark on a block without a visible character may be refused, and then each repetition of the request would be.
fn is_cacheable(block: &Value) -> bool {
    let has_content = || match block.get("content") {
        Some(Value::Array(told)) => !told.is_empty(),
        told => told.and_then(Value::as_str).is_some_and(|told| !told.trim().is_empty()),
    };
    match block.get("type").and_then(Value::as_str) {
        Some("text" | "tool_use") => true,
        Some("tool_result") => has_content(),
        _ => false,
    }
}

fn mark_cached(block: &mut Value) {
    if let Some(block) = block.as_object_mut() {
        block.insert("cache_control".to_owned(), json!({"type": "ephemeral"}));
    }
}

fn build_blocks(message: &PromptMessage) -> Vec<Value> {
    let mut blocks: Vec<Value> = Vec::new();
    for part in &message.parts {
        match part {
            MessagePart::File(file) => add_file(file, &mut blocks),
            part => blocks.extend(build_block(part)),
        }
    }
    blocks
}

/// A file of a result is a part of its content.
fn add_file(file: &MessageFile, blocks: &mut Vec<Value>) {
    let words = json!({"type": "text", "text": file.describe()});
    let data = file.encode().map(|data| {
        let kind = if file.kind == FileKind::Image { "image" } else { "document" };
        json!({"type": kind, "source": {"type": "base64", "media_type": file.media_type, "data": data}})
    });
    let added = std::iter::once(words).chain(data);
    let is_result = |block: &&mut Value| block.get("type") == Some(&json!("tool_result"));
    let content = blocks.last_mut().filter(is_result).and_then(|result| result.get_mut("content"));
    match content {
        Some(content) => {
            *content = Value::Array(list_content(content.take()).into_iter().chain(added).collect())
        }
        None => blocks.extend(added),
    }
}

/// The content of a result as blocks.
fn list_content(content: Value) -> Vec<Value> {
    match content {
        Value::Array(blocks) => blocks,
        Value::String(text) if !text.trim().is_empty() => vec![json!({"type": "text", "text": text})],
        _ => Vec::new(),
    }
}

fn build_block(part: &MessagePart) -> Option<Value> {
    match part {
        // The provider refuses text without a visible character.
        MessagePart::Text(text) => (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text})),
        MessagePart::Call(call) => Some(json!({
            "type": "tool_use",
            "id": clean_id(&call.id),
            "name": call.name,
            "input": as_object(&call.arguments),
        })),
        MessagePart::Result { id: of, text, is_error, .. } => {
            let mut result = json!({"type": "tool_result", "tool_use_id": clean_id(of), "content": text});
            if let (true, Some(result)) = (*is_error, result.as_object_mut()) {
                result.insert("is_error".to_owned(), json!(true));
            }
            Some(result)
        }
        MessagePart::File(_) => None,
        MessagePart::Reasoning(kept) => reasoning::find_block(NAME, kept).cloned(),
    }
}

/// Call ids from another provider may have characters that are refused here.
fn clean_id(id: &str) -> String {
    let taken = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    id.chars().map(taken).collect()
}

/// Arguments as an object, for providers that accept nothing else. Anything else is wrapped in an object as written,
/// so that the model sees its mistake.
pub(in crate::model) fn as_object(arguments: &str) -> Value {
    match serde_json::from_str::<Value>(arguments) {
        Ok(Value::Object(object)) => Value::Object(object),
        _ if arguments.trim().is_empty() => json!({}),
        _ => json!({"invalid_arguments": arguments}),
    }
}
