//! The requests that `OpenAI` accepts, and its messages when it refuses others.

use serde_json::Value;

use super::PATH;
use crate::asked::{Asked, Mode, Rules, Wanted, field, is_tool_name, list, text};
use crate::refusal::Refusal;
use crate::schema;

/// Judges a request.
pub(crate) fn judge(asked: &Asked, rules: &Rules) -> Result<Wanted, Refusal> {
    let (method, path) = (&asked.method, asked.path());
    if path != PATH {
        return Err(Refusal::new(404, format!("Invalid URL ({method} {path})")));
    }
    if *method != axum::http::Method::POST {
        let words = format!("Not allowed to {method} on {path}.");
        return Err(Refusal::new(405, words).called("method_not_supported"));
    }
    check_key(asked, rules)?;
    let (body, model) = find_body(asked, rules)?;
    tools(&body)?;
    messages(&body)?;
    schema::openai(&body)?;
    let streams = body.get("stream").and_then(Value::as_bool).unwrap_or(false);
    let options = field(&body, "stream_options");
    if options.is_some() && !streams {
        let words = "The 'stream_options' parameter is only allowed when 'stream' is enabled.";
        return Err(Refusal::bad(words).at("stream_options"));
    }
    let mode = if streams { Mode::Stream } else { Mode::Whole };
    let mut wanted = Wanted::of(&model, mode, &body, "messages", &["messages", "tools"]);
    let includes = options.and_then(|options| options.get("include_usage")).and_then(Value::as_bool);
    wanted.tells_usage = includes.unwrap_or(false);
    window(&body, rules, wanted.input)?;
    Ok(wanted)
}

/// The body of a request, and the model that it names.
pub(crate) fn find_body(asked: &Asked, rules: &Rules) -> Result<(Value, String), Refusal> {
    let body = asked.json().map_err(|_| {
        Refusal::bad(
            "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP \
             library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON. If you \
             have trouble figuring out how to fix this, please contact us through our help center at \
             help.openai.com.)",
        )
    })?;
    let model = text(&body, "model").to_owned();
    if model.is_empty() {
        return Err(Refusal::bad("you must provide a model parameter"));
    }
    if !rules.has_model(&model) {
        let words = format!("The model `{model}` does not exist or you do not have access to it.");
        return Err(Refusal::new(404, words).called("model_not_found"));
    }
    Ok((body, model))
}

/// Checks the key.
pub(crate) fn check_key(asked: &Asked, rules: &Rules) -> Result<(), Refusal> {
    let Some(key) = asked.bearer() else {
        return Err(Refusal::new(
            401,
            "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer \
             auth (i.e. Authorization: Bearer YOUR_KEY), or as the password field (with blank username) if you're \
             accessing the API from your browser and are prompted for a username and password. You can obtain an API \
             key from https://platform.openai.com/account/api-keys.",
        ));
    };
    if rules.takes(key) {
        return Ok(());
    }
    let words = format!(
        "Incorrect API key provided: ****{}. You can find your API key at \
         https://platform.openai.com/account/api-keys.",
        crate::ledger::last_of(key)
    );
    Err(Refusal::new(401, words).called("invalid_api_key"))
}

fn empty(what: &str) -> Refusal {
    let words = format!(
        "Invalid '{what}': empty array. Expected an array with minimum length 1, but got an empty array instead."
    );
    Refusal::bad(words).at(what).called("empty_array")
}

fn missing(what: &str) -> Refusal {
    Refusal::bad(format!("Missing required parameter: '{what}'."))
        .at(what)
        .called("missing_required_parameter")
}

fn tools(body: &Value) -> Result<(), Refusal> {
    let tools = field(body, "tools");
    if tools.and_then(Value::as_array).is_some_and(Vec::is_empty) {
        return Err(empty("tools"));
    }
    if tools.is_none() {
        for only in ["tool_choice", "parallel_tool_calls"] {
            if field(body, only).is_some() {
                let words = format!(
                    "Invalid value for '{only}': '{only}' is only allowed when 'tools' are specified."
                );
                return Err(Refusal::bad(words).at(only));
            }
        }
    }
    for (place, tool) in list(body, "tools").iter().enumerate() {
        let at = format!("tools[{place}].function.name");
        let name = tool.get("function").map(|function| text(function, "name")).unwrap_or_default();
        if name.is_empty() {
            return Err(missing(&at));
        }
        if !is_tool_name(name, 64) {
            let words = format!(
                "Invalid '{at}': string does not match pattern. Expected a string that matches the pattern \
                 '^[a-zA-Z0-9_-]+$'."
            );
            return Err(Refusal::bad(words).at(at).called("invalid_value"));
        }
        let function = &tool["function"];
        if function.get("strict").and_then(Value::as_bool) == Some(true) {
            let at = format!("tools[{place}].function.parameters");
            schema::check_strict(&format!("function '{name}'"), &at, field(function, "parameters"))?;
        }
    }
    let chosen = field(body, "tool_choice").and_then(|choice| choice.get("function"));
    let chosen = chosen.map(|function| text(function, "name"));
    let known = |name: &str| list(body, "tools").iter().any(|tool| text(&tool["function"], "name") == name);
    match chosen.filter(|name| !known(name)) {
        Some(name) => {
            Err(Refusal::bad(format!("Tool choice '{name}' not found in 'tools' parameter."))
                .at("tool_choice"))
        }
        None => Ok(()),
    }
}

fn messages(body: &Value) -> Result<(), Refusal> {
    if field(body, "messages").is_none() {
        return Err(missing("messages"));
    }
    let messages = list(body, "messages");
    if messages.is_empty() {
        return Err(empty("messages"));
    }
    // The unanswered calls of the assistant's last message.
    let mut open: Vec<&str> = Vec::new();
    let mut answering = false;
    for (place, message) in messages.iter().enumerate() {
        let role = text(message, "role");
        if role == "tool" {
            let id = text(message, "tool_call_id");
            if !answering {
                let words = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message \
                             with 'tool_calls'.";
                return Err(Refusal::bad(words).at(format!("messages.[{place}].role")));
            }
            let Some(at) = open.iter().position(|call| *call == id) else {
                let words = format!(
                    "Invalid parameter: 'tool_call_id' of '{id}' not found in 'tool_calls' of previous message."
                );
                return Err(Refusal::bad(words).at(format!("messages.[{place}].tool_call_id")));
            };
            open.remove(at);
            continue;
        }
        unanswered(&open, place)?;
        content(message, role, place)?;
        open = list(message, "tool_calls").iter().map(|call| text(call, "id")).collect();
        answering = !open.is_empty();
    }
    unanswered(&open, messages.len())
}

fn unanswered(open: &[&str], place: usize) -> Result<(), Refusal> {
    if open.is_empty() {
        return Ok(());
    }
    let words = format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. \
         The following tool_call_ids did not have response messages: {}",
        open.join(", ")
    );
    Err(Refusal::bad(words).at(format!("messages.[{place}].role")))
}

fn content(message: &Value, role: &str, place: usize) -> Result<(), Refusal> {
    if !["system", "developer", "user", "assistant", "function"].contains(&role) {
        let words = format!(
            "Invalid value: '{role}'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and \
             'developer'."
        );
        return Err(Refusal::bad(words).at(format!("messages[{place}].role")).called("invalid_value"));
    }
    let calls = field(message, "tool_calls").and_then(Value::as_array);
    if calls.is_some_and(Vec::is_empty) {
        return Err(empty(&format!("messages[{place}].tool_calls")));
    }
    let content = message.get("content");
    let fits = content.is_some_and(|content| content.is_string() || content.is_array());
    if fits || (role == "assistant" && calls.is_some()) {
        return Ok(());
    }
    let got = match content {
        None | Some(Value::Null) => "null",
        Some(Value::Object(_)) => "an object",
        Some(_) => "another type",
    };
    let words = format!("Invalid value for 'content': expected a string, got {got}.");
    Err(Refusal::bad(words).at(format!("messages.[{place}].content")))
}

fn window(body: &Value, rules: &Rules, input: u64) -> Result<(), Refusal> {
    let Some(window) = rules.window else { return Ok(()) };
    let most = ["max_completion_tokens", "max_tokens"].iter().find_map(|key| body.get(*key)?.as_u64());
    let too_long = |words: String| Err(Refusal::bad(words).at("messages").called("context_length_exceeded"));
    if input > window {
        return too_long(format!(
            "This model's maximum context length is {window} tokens. However, your messages resulted in {input} tokens. \
             Please reduce the length of the messages."
        ));
    }
    match most.map(|most| (most, input.saturating_add(most))).filter(|(_, all)| *all > window) {
        Some((most, all)) => too_long(format!(
            "This model's maximum context length is {window} tokens. However, you requested {all} tokens ({input} in \
             the messages, {most} in the completion). Please reduce the length of the messages or completion."
        )),
        None => Ok(()),
    }
}
