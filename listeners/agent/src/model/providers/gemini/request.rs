//! A request as Gemini's contents: roles alternate, results name their tool, and each signature goes back with its
//! part.

use serde_json::{Map, Value, json};

use crate::model::asked_provider::ModelSettings;
use crate::model::held_answer::HeldAnswer;
use crate::model::partial_answer::is_drawn;
use crate::model::providers::anthropic::as_object;
use crate::model::thinking::ModelThinking;
use crate::model::{
    MessageAuthor, MessagePart, ModelRequest, PromptMessage, RequestToolChoice, Tool, answer_schema,
    reasoning,
};

/// The provider that its kept reasoning names.
pub(super) const NAME: &str = "gemini";

pub(super) fn build_body(model: &ModelSettings, request: &ModelRequest) -> Map<String, Value> {
    let most = request.max_output.min(model.max_output);
    let mut body = Map::new();
    if !request.system.is_empty() {
        body.insert("systemInstruction".to_owned(), json!({"parts": [{"text": request.system}]}));
    }
    body.insert("contents".to_owned(), Value::Array(build_contents(request)));
    let mut config = Map::from_iter([("maxOutputTokens".to_owned(), json!(most))]);
    let thinking = model.find_thinking(request).map(build_thinking);
    config.extend(thinking.map(|thinking| ("thinkingConfig".to_owned(), thinking)));
    let schema = find_schema(request);
    if let Some(schema) = schema {
        config.insert("responseMimeType".to_owned(), json!("application/json"));
        config.insert("responseJsonSchema".to_owned(), schema.clone());
    }
    body.insert("generationConfig".to_owned(), Value::Object(config));
    if !request.tools.is_empty() && schema.is_none() {
        let tools: Value = request.tools.iter().map(build_tool).collect();
        body.insert("tools".to_owned(), json!([{"functionDeclarations": tools}]));
        if let Some(choice) = &request.choice {
            body.insert("toolConfig".to_owned(), json!({"functionCallingConfig": build_choice(choice)}));
        }
    }
    body
}

/// What holds the answer. A schema together with tools is refused, even if no tool may be called. And earlier calls need
/// their tools.
fn find_schema(request: &ModelRequest) -> Option<&Value> {
    let parts = || request.messages.iter().flat_map(|message| &message.parts);
    let needs_tools = !request.tools.is_empty() && parts().any(|part| matches!(part, MessagePart::Call(_)));
    answer_schema::find_schema(request, false).filter(|_| !needs_tools)
}

/// The same, as other modules ask for it.
pub(super) fn find_held(request: &ModelRequest) -> Option<HeldAnswer<'_>> {
    find_schema(request).map(HeldAnswer::Schema)
}

/// A level and a number exclude each other. No level stands for no reasoning at all, or for more than `high`.
fn build_thinking(thinking: ModelThinking) -> Value {
    match thinking {
        ModelThinking::Off => json!({"thinkingBudget": 0}),
        ModelThinking::Tokens(most) => json!({"thinkingBudget": most}),
        ModelThinking::Max => json!({"thinkingLevel": "high"}),
        level => json!({"thinkingLevel": level.word()}),
    }
}

fn build_tool(tool: &Tool) -> Value {
    json!({"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters})
}

fn build_choice(choice: &RequestToolChoice) -> Value {
    match choice {
        RequestToolChoice::Auto => json!({"mode": "AUTO"}),
        RequestToolChoice::Required => json!({"mode": "ANY"}),
        RequestToolChoice::None => json!({"mode": "NONE"}),
        RequestToolChoice::Tool(name) => json!({"mode": "ANY", "allowedFunctionNames": [name]}),
    }
}

/// Joins consecutive messages of one role. Results come before the sender's other parts.
fn build_contents(request: &ModelRequest) -> Vec<Value> {
    let mut joined: Vec<(MessageAuthor, Vec<Value>)> = Vec::new();
    for message in &request.messages {
        let parts = build_parts(message);
        match joined.last_mut() {
            _ if parts.is_empty() => {}
            Some((role, before)) if *role == message.role => before.extend(parts),
            _ => joined.push((message.role, parts)),
        }
    }
    for (role, parts) in &mut joined {
        if *role == MessageAuthor::User {
            parts.sort_by_key(|part| part.get("functionResponse").is_none());
        }
    }
    if let Some(header) = &request.header {
        add_header(header, &mut joined);
    }
    let role = |role| if role == MessageAuthor::User { "user" } else { "model" };
    joined.into_iter().map(|(who, parts)| json!({"role": role(who), "parts": parts})).collect()
}

/// Text behind results would separate them from the model's next words, so there the header is in the last result.
fn add_header(header: &str, joined: &mut Vec<(MessageAuthor, Vec<Value>)>) {
    let Some((MessageAuthor::User, parts)) = joined.last_mut() else {
        return joined.push((MessageAuthor::User, vec![json!({"text": header})]));
    };
    let last = parts.last_mut().and_then(|part| part.pointer_mut("/functionResponse/response"));
    match last.and_then(Value::as_object_mut) {
        Some(response) => {
            response.insert("system".to_owned(), json!(header));
        }
        None => parts.push(json!({"text": header})),
    }
}

fn build_parts(message: &PromptMessage) -> Vec<Value> {
    let mut parts: Vec<Value> = Vec::new();
    // A signature that waits for its call.
    let mut waiting: Option<Value> = None;
    for part in &message.parts {
        match part {
            MessagePart::Text(text) if text.is_empty() => {}
            MessagePart::Text(text) => parts.push(json!({"text": text})),
            MessagePart::Call(call) => {
                let mut function = json!({"name": call.name, "args": as_object(&call.arguments)});
                add_id(&mut function, &call.id);
                let mut part = json!({"functionCall": function});
                if let Some(signature) = waiting.take() {
                    add_signature(&mut part, signature);
                }
                parts.push(part);
            }
            MessagePart::Result { id, name, text, is_error } => {
                let response = if *is_error { json!({"error": text}) } else { json!({"result": text}) };
                let mut function = json!({"name": name, "response": response});
                add_id(&mut function, id);
                parts.push(json!({"functionResponse": function}));
            }
            MessagePart::File(file) => {
                parts.push(json!({"text": file.describe()}));
                let data = file.encode();
                parts.extend(
                    data.map(|data| json!({"inlineData": {"mimeType": file.media_type, "data": data}})),
                );
            }
            MessagePart::Reasoning(kept) => {
                let Some(block) = reasoning::find_block(NAME, kept) else { continue };
                add_reasoning(block, &mut parts, &mut waiting);
            }
        }
    }
    parts
}

/// Gemini does not know a generated id.
fn add_id(function: &mut Value, id: &str) {
    if let (false, Some(function)) = (is_drawn(id), function.as_object_mut()) {
        function.insert("id".to_owned(), json!(id));
    }
}

fn add_signature(part: &mut Value, signature: Value) {
    if let Some(part) = part.as_object_mut() {
        part.insert("thoughtSignature".to_owned(), signature);
    }
}

/// The blocks that `answer.rs` keeps: a whole part, or a signature with its position. Thoughts in words are not
/// sent back.
fn add_reasoning(block: &Value, parts: &mut Vec<Value>, waiting: &mut Option<Value>) {
    if let Some(part) = block.get("part") {
        parts.push(part.clone());
        return;
    }
    let Some(signature) = block.get("thoughtSignature").cloned() else { return };
    match block.get("at").and_then(Value::as_str) {
        Some("call") => *waiting = Some(signature),
        _ => {
            let last = parts.last_mut().filter(|part| part.get("text").is_some());
            match last {
                Some(part) => add_signature(part, signature),
                None => parts.push(json!({"text": "", "thoughtSignature": signature})),
            }
        }
    }
}
