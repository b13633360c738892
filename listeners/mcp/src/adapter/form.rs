//! `<input-form>`: what a server asks of a person in the middle of a call, and the values that a person gave.
//!
//! The server's questions come in and a payload goes out; an amended payload comes in and values go out. Only values
//! are read from an amended form: which questions there are, and the server's state, are kept elsewhere.

use std::collections::BTreeMap;

use rmcp::model::{ElicitRequestParams, InputRequest, InputRequests};
use serde_json::{Map, Value};
use systole_kit::Payload;
use systole_kit::writer::make_visible;

use super::written_form::{WrittenField, WrittenForm, WrittenQuestion};
use crate::limits::{FIELDS, PERSON_TEXT_BYTES, QUESTIONS};
use crate::schema::{judge_once, replace_characters};

/// A question of a server.
#[derive(Clone, Debug)]
pub(super) struct InputQuestion {
    message: String,
    /// The address that a person is to open instead of filling in fields.
    url: Option<String>,
    /// The server's schema of the answer.
    schema: Value,
}

/// The questions of a form, by the server's names for them.
pub(super) type InputQuestions = BTreeMap<String, InputQuestion>;

/// The values of a form: of each question, of each field.
pub(super) type GivenValues = BTreeMap<String, BTreeMap<String, Vec<String>>>;

/// Reads what a server asks. An error says why no person is asked.
pub(super) fn read_questions(asked: &InputRequests) -> Result<InputQuestions, String> {
    if asked.len() > QUESTIONS {
        return Err(format!(
            "the server asks {} questions at once; a form has up to {QUESTIONS}",
            asked.len()
        ));
    }
    let mut questions = InputQuestions::new();
    for (key, request) in asked {
        let InputRequest::Elicitation(elicited) = request else {
            return Err(
                "the server asks for a model or for folders, which this client does not offer".to_owned()
            );
        };
        let question = match &elicited.params {
            ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => InputQuestion {
                message: message.clone(),
                url: None,
                schema: serde_json::to_value(requested_schema).map_err(|fault| fault.to_string())?,
            },
            ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
                let schema = serde_json::json!({"type": "object"});
                InputQuestion { message: message.clone(), url: Some(url.clone()), schema }
            }
            _ => return Err("the server asks in a way that this client does not know".to_owned()),
        };
        if question.fields().count() > FIELDS {
            return Err(format!("the server asks for more than {FIELDS} fields in one question"));
        }
        if question.message.len() > PERSON_TEXT_BYTES || key.len() > PERSON_TEXT_BYTES {
            return Err(format!("the server's question is longer than {PERSON_TEXT_BYTES} bytes"));
        }
        questions.insert(key.clone(), question);
    }
    Ok(questions)
}

impl InputQuestion {
    fn fields(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.schema.get("properties").and_then(Value::as_object).into_iter().flatten()
    }

    fn requires(&self, field: &str) -> bool {
        let required = self.schema.get("required").and_then(Value::as_array);
        required.is_some_and(|names| names.iter().any(|name| name == field))
    }

    /// The content of an answer, or why it does not fit.
    fn read_content(&self, given: &BTreeMap<String, Vec<String>>) -> Result<Value, String> {
        let mut content = Map::new();
        for (name, schema) in self.fields() {
            let Some(values) = given.get(name).filter(|values| !values.is_empty()) else { continue };
            content.insert(name.clone(), read_value(name, find_kind(schema), values)?);
        }
        if let Some(unknown) = given.keys().find(|name| self.fields().all(|(known, _)| known != *name)) {
            return Err(format!("there is no field {unknown}"));
        }
        let content = Value::Object(content);
        match judge_once(&self.schema, &content) {
            Ok(None) => Ok(content),
            Ok(Some(breach)) => Err(format!("{}: {}", breach.place, breach.message)),
            Err(why) => Err(format!("the server's schema cannot judge: {why}")),
        }
    }
}

/// The kind of a field.
fn find_kind(schema: &Value) -> &str {
    schema.get("type").and_then(Value::as_str).unwrap_or("string")
}

fn read_value(name: &str, kind: &str, values: &[String]) -> Result<Value, String> {
    if kind == "array" {
        return Ok(values.iter().cloned().map(Value::String).collect());
    }
    let [value] = values else { return Err(format!("{name} takes one value")) };
    let plain = value.trim();
    match kind {
        "boolean" => plain.parse().map(Value::Bool).map_err(|_| format!("{name} is true or false")),
        "integer" | "number" => {
            let number = serde_json::from_str::<Value>(plain).ok().filter(Value::is_number);
            number.ok_or_else(|| format!("{name} is a number, not {}", make_visible(plain)))
        }
        _ => Ok(Value::String(value.clone())),
    }
}

/// The form for a person. `problem` says why the last values did not fit, which are shown again.
pub(super) fn write_form(
    tool: &str,
    questions: &InputQuestions,
    given: Option<&GivenValues>,
    problem: &str,
) -> Payload {
    let fields = |key: &str, question: &InputQuestion| {
        let field = |(name, schema): (&String, &Value)| WrittenField {
            name: replace_characters(name),
            kind: replace_characters(find_kind(schema)),
            rules: replace_characters(
                &schema.to_string().chars().take(PERSON_TEXT_BYTES).collect::<String>(),
            ),
            is_required: question.requires(name),
            values: given.map_or_else(|| read_defaults(schema), |given| find_earlier(given, key, name)),
        };
        question.fields().map(field).collect()
    };
    let written = |(key, question): (&String, &InputQuestion)| WrittenQuestion {
        key: key.clone(),
        message: replace_characters(&question.message),
        url: question.url.as_deref().map(replace_characters),
        fields: fields(key, question),
    };
    let questions = questions.iter().map(written).collect();
    WrittenForm { tool: tool.to_owned(), problem: problem.to_owned(), questions }.as_payload()
}

fn find_earlier(given: &GivenValues, key: &str, name: &str) -> Vec<String> {
    given.get(key).and_then(|fields| fields.get(name)).cloned().unwrap_or_default()
}

fn read_defaults(schema: &Value) -> Vec<String> {
    match schema.get("default") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Some(other) => vec![other.to_string()],
    }
}

/// The values of a form. `None` if the payload is none, or has too many values.
pub(super) fn read_values(payload: &Payload) -> Option<GivenValues> {
    let mut all = GivenValues::new();
    for question in WrittenForm::from_payload(payload)?.questions {
        let fields = all.entry(question.key).or_default();
        for field in question.fields {
            fields.entry(field.name).or_default().extend(field.values);
        }
    }
    Some(all)
}

/// The server's answers: each question accepted, with its content. An error says what does not fit.
pub(super) fn accept_answers(
    questions: &InputQuestions,
    given: &GivenValues,
) -> Result<BTreeMap<String, Value>, String> {
    let none = BTreeMap::new();
    let mut answers = BTreeMap::new();
    for (key, question) in questions {
        let content = question.read_content(given.get(key).unwrap_or(&none))?;
        let answer = match &question.url {
            Some(_) => serde_json::json!({"action": "accept"}),
            None => serde_json::json!({"action": "accept", "content": content}),
        };
        answers.insert(key.clone(), answer);
    }
    Ok(answers)
}

/// The server's answers when no person gave values: `decline` or `cancel` for each.
pub(super) fn answer_without(questions: &InputQuestions, action: &str) -> BTreeMap<String, Value> {
    questions.keys().map(|key| (key.clone(), serde_json::json!({"action": action}))).collect()
}
