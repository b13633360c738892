//! The requests that Gemini accepts, and its messages when it refuses others.

use serde_json::Value;

use crate::asked::{Asked, Mode, Rules, Wanted, field, is_tool_name, list, text};
use crate::refusal::Refusal;
use crate::schema;

/// The fields that the model reads.
const READ: [&str; 4] = ["systemInstruction", "system_instruction", "contents", "tools"];

/// Judges a request.
pub(crate) fn judge(asked: &Asked, rules: &Rules) -> Result<Wanted, Refusal> {
    let path = asked.path();
    let named = path.strip_prefix("/v1beta/models/").and_then(|rest| rest.split_once(':'));
    let mode = match named {
        Some((_, "generateContent")) => Mode::Whole,
        Some((_, "streamGenerateContent")) if asked.query("alt") == Some("sse") => Mode::Stream,
        Some((_, "streamGenerateContent")) => Mode::Array,
        _ => {
            return Err(Refusal::new(404, format!("The requested URL {path} was not found on this server.")));
        }
    };
    if asked.method != axum::http::Method::POST {
        return Err(Refusal::new(404, format!("The requested URL {path} was not found on this server.")));
    }
    let key = asked.header("x-goog-api-key").or_else(|| asked.query("key")).filter(|key| !key.is_empty());
    match key {
        None => {
            return Err(Refusal::new(
                401,
                "Method doesn't allow unregistered callers (callers without established identity). Please use API Key \
                 or other form of API consumer identity to call this API.",
            )
            .called("CREDENTIALS_MISSING"));
        }
        Some(key) if !rules.takes(key) => {
            return Err(Refusal::new(401, "API key not valid. Please pass a valid API key.")
                .called("API_KEY_INVALID"));
        }
        Some(_) => {}
    }
    let model = named.map(|(model, _)| model).unwrap_or_default();
    if model.is_empty() || !rules.has_model(model) {
        return Err(Refusal::new(
            404,
            format!(
                "models/{model} is not found for API version v1beta, or is not supported for generateContent. Call \
                 ListModels to see the list of available models and their supported methods."
            ),
        ));
    }
    let body =
        asked.json().map_err(|error| Refusal::bad(format!("Invalid JSON payload received. {error}")))?;
    tools(&body)?;
    contents(&body)?;
    schema::gemini(&body)?;
    let wanted = Wanted::of(model, mode, &body, "contents", &READ);
    match rules.window.filter(|window| wanted.input > *window) {
        Some(window) => Err(Refusal::bad(format!(
            "The input token count ({}) exceeds the maximum number of tokens allowed ({window}).",
            wanted.input
        ))),
        None => Ok(wanted),
    }
}

/// The declared functions. The field has two names.
fn declared(body: &Value) -> Vec<&Value> {
    let names = ["functionDeclarations", "function_declarations"];
    list(body, "tools").iter().flat_map(|tool| names.iter().flat_map(|name| list(tool, name))).collect()
}

fn tools(body: &Value) -> Result<(), Refusal> {
    let declared = declared(body);
    for (place, function) in declared.iter().enumerate() {
        if !is_tool_name(text(function, "name"), 64) {
            return Err(Refusal::bad(format!(
                "* GenerateContentRequest.tools[0].function_declarations[{place}].name: [FIELD_INVALID] Invalid function \
                 name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), \
                 dots (.) or dashes (-), with a maximum length of 64.\n"
            )));
        }
    }
    let chosen = field(body, "toolConfig").or_else(|| field(body, "tool_config"));
    let chosen = chosen.and_then(|chosen| {
        field(chosen, "functionCallingConfig").or_else(|| field(chosen, "function_calling_config"))
    });
    if chosen.is_some() && declared.is_empty() {
        return Err(Refusal::bad("Function calling config is set without function_declarations."));
    }
    Ok(())
}

fn contents(body: &Value) -> Result<(), Refusal> {
    let contents = list(body, "contents");
    if contents.is_empty() {
        return Err(Refusal::bad("* GenerateContentRequest.contents: contents is not specified\n"));
    }
    // The number of calls in the previous turn, and whether it was the user's.
    let (mut open, mut users) = (0, false);
    for (place, content) in contents.iter().enumerate() {
        let role = text(content, "role");
        if !["", "user", "model", "function"].contains(&role) {
            return Err(Refusal::bad("Please use a valid role: user, model."));
        }
        let parts = list(content, "parts");
        if parts.is_empty() {
            return Err(Refusal::bad(format!(
                "* GenerateContentRequest.contents[{place}].parts: contents.parts must not be empty.\n"
            )));
        }
        let of = |key: &str, other: &str| {
            parts.iter().filter(|part| field(part, key).or_else(|| field(part, other)).is_some()).count()
        };
        let calls = of("functionCall", "function_call");
        let answers = of("functionResponse", "function_response");
        if answers > 0 && open == 0 {
            return Err(Refusal::bad(
                "Please ensure that function response turn comes immediately after a function call turn.",
            ));
        }
        if answers != open {
            return Err(Refusal::bad(
                "Please ensure that the number of function response parts is equal to the number of function call parts \
                 of the function call turn.",
            ));
        }
        if calls > 0 && !users {
            return Err(Refusal::bad(
                "Please ensure that function call turn comes immediately after a user turn or after a function response \
                 turn.",
            ));
        }
        (open, users) = (calls, role != "model");
    }
    if open > 0 {
        return Err(Refusal::bad(
            "Please ensure that the number of function response parts is equal to the number of function call parts of \
             the function call turn.",
        ));
    }
    Ok(())
}
