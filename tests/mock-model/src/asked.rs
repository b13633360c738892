//! A request as it came, and its meaning once a provider has checked it.

use axum::body::Bytes;
use axum::http::{HeaderMap, Method, Uri};
use serde_json::Value;

use crate::turn::tokens;

/// A complete request.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// The options of the mock that decide about requests.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    /// The only valid key. Without one, any key is valid.
    pub(crate) key: Option<String>,
    /// The existing models. Without a list, every model exists.
    pub(crate) models: Option<Vec<String>>,
    /// The most tokens of a request.
    pub(crate) window: Option<u64>,
}

/// A request that the provider accepts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Wanted {
    pub(crate) model: String,
    pub(crate) mode: Mode,
    /// Whether the usage is reported at the end of a stream.
    pub(crate) tells_usage: bool,
    /// The texts of the last message.
    pub(crate) last: String,
    /// Every text of the request.
    pub(crate) texts: String,
    /// Tokens that the model reads.
    pub(crate) input: u64,
    /// The JSON Schema that the answer has to follow.
    pub(crate) schema: Option<Value>,
}

/// Where the providers have the JSON Schema of the answer.
const SCHEMAS: [&str; 5] = [
    "/response_format/json_schema/schema",
    "/text/format/schema",
    "/output_config/format/schema",
    "/format",
    "/generationConfig/responseJsonSchema",
];

/// The form of the answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// In one piece.
    Whole,
    /// As the provider's stream.
    Stream,
    /// As an array that grows: Gemini without `alt=sse`.
    Array,
}

/// Keys whose values are not text of the message.
const NO_TEXT: [&str; 8] =
    ["type", "role", "id", "tool_use_id", "tool_call_id", "call_id", "mimeType", "signature"];

impl Asked {
    pub(crate) fn path(&self) -> &str {
        self.uri.path()
    }

    /// A header as text. `None` if it is not text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The token of an `Authorization: Bearer` header.
    pub(crate) fn bearer(&self) -> Option<&str> {
        let value = self.header("authorization")?;
        let (scheme, token) = value.split_once(' ')?;
        (scheme.eq_ignore_ascii_case("bearer") && !token.trim().is_empty()).then(|| token.trim())
    }

    /// A value of the query.
    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        let pairs = self.uri.query()?.split('&').filter_map(|pair| pair.split_once('='));
        pairs.into_iter().find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// The key, in any place where a provider accepts it.
    pub(crate) fn key(&self) -> Option<&str> {
        let header = self.header("x-api-key").or_else(|| self.header("x-goog-api-key"));
        header.or_else(|| self.bearer()).or_else(|| self.query("key"))
    }

    /// The body as JSON, or the parse error.
    pub(crate) fn json(&self) -> Result<Value, serde_json::Error> {
        serde_json::from_slice(&self.body)
    }
}

impl Rules {
    /// Whether that model exists.
    pub(crate) fn has_model(&self, name: &str) -> bool {
        self.models.as_ref().is_none_or(|models| models.iter().any(|model| model == name))
    }

    /// Whether this key is valid.
    pub(crate) fn takes(&self, key: &str) -> bool {
        self.key.as_ref().is_none_or(|only| only == key)
    }
}

impl Wanted {
    /// The meaning of a body. `messages` is the key of its messages; `read` lists the keys of everything
    /// that the model reads.
    pub(crate) fn of(model: &str, mode: Mode, body: &Value, messages: &str, read: &[&str]) -> Wanted {
        let mut all = Vec::new();
        texts(body, &[], &mut all);
        let mut last = Vec::new();
        if let Some(message) = body.get(messages).and_then(Value::as_array).and_then(|list| list.last()) {
            texts(message, &NO_TEXT, &mut last);
        }
        let mut input = Vec::new();
        for part in read.iter().filter_map(|key| body.get(*key)) {
            texts(part, &[], &mut input);
        }
        let input = tokens(input.iter().map(|text| text.chars().count()).sum());
        let (last, texts) = (last.join("\n"), all.join("\n"));
        let schema = SCHEMAS.iter().find_map(|field| body.pointer(field)).filter(|schema| schema.is_object());
        let schema = schema.cloned();
        Wanted { model: model.to_owned(), mode, tells_usage: false, last, texts, input, schema }
    }
}

/// Every text of a value at any depth, except for those under some keys.
fn texts<'a>(value: &'a Value, without: &[&str], found: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(list) => list.iter().for_each(|value| texts(value, without, found)),
        Value::Object(fields) => {
            for (_, value) in fields.iter().filter(|(key, _)| !without.contains(&key.as_str())) {
                texts(value, without, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A list field. Empty if it is not a list.
pub(crate) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A text field. Empty if it is not text.
pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// A field that is present and not null.
pub(crate) fn field<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    value.get(key).filter(|value| !value.is_null())
}

/// Whether providers accept a name for a tool.
pub(crate) fn is_tool_name(name: &str, longest: usize) -> bool {
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !name.is_empty() && name.len() <= longest && name.chars().all(fine)
}
