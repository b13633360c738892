//! A waiting request as it was listed for programs, read again: by a command that has no log to read.
//!
//! What a person decides about is checked: a payload that does not have the hash of its request is no request.

use serde_json::Value;

use super::{OutsideMessage, QuestionMessage, RequestSubject, StepChange, WaitingRequest};
use systole_core::types::ids::{CallPath, Digest, Name, ThreadId};
use systole_core::types::person::{PersonRequestId, RequestKind};
use systole_core::types::time::Millis;

/// The fields of a value. Each error names the field.
struct Fields<'v>(&'v Value);

impl<'v> Fields<'v> {
    fn text(&self, name: &str) -> Result<&'v str, String> {
        self.0.get(name).and_then(Value::as_str).ok_or_else(|| format!("{name} is no text"))
    }

    fn find_owned(&self, name: &str) -> Result<String, String> {
        self.text(name).map(str::to_owned)
    }

    fn number(&self, name: &str) -> Result<u64, String> {
        self.0.get(name).and_then(Value::as_u64).ok_or_else(|| format!("{name} is no number"))
    }

    fn read<T, E>(&self, name: &str, read: impl Fn(&str) -> Result<T, E>) -> Result<T, String> {
        read(self.text(name)?).map_err(|_| format!("{name} has another form"))
    }

    fn moment(&self, name: &str) -> Result<Millis, String> {
        self.read(name, |text| Millis::parse(text).ok_or(()))
    }

    fn each<T>(&self, name: &str, read: impl Fn(&'v Value) -> Result<T, String>) -> Result<Vec<T>, String> {
        let all = self.0.get(name).and_then(Value::as_array).ok_or_else(|| format!("{name} is no list"))?;
        all.iter().map(read).collect()
    }
}

impl WaitingRequest {
    /// Reads what `as_json` wrote.
    pub fn from_json(value: &Value) -> Result<WaitingRequest, String> {
        let fields = Fields(value);
        let hash = fields.read("hash", Digest::parse)?;
        Ok(WaitingRequest {
            id: fields.read("id", |text| PersonRequestId::parse(text).ok_or(()))?,
            thread: fields.read("thread", ThreadId::parse)?,
            call: fields.read("call", CallPath::parse)?,
            caller: fields.read("caller", Name::parse)?,
            listener: fields.read("listener", Name::parse)?,
            config: fields.read("config", Digest::parse)?,
            hash,
            asked: fields.moment("asked")?,
            expires: fields.moment("expires")?,
            about: subject(&fields, hash)?,
            request: value.get("request").filter(|asked| !asked.is_null()).map(outside).transpose()?,
            // Organisms of older versions do not name it.
            unanswered: fields.text("unanswered").ok().map(str::to_owned),
        })
    }
}

fn subject(fields: &Fields<'_>, hash: Digest) -> Result<RequestSubject, String> {
    if fields.text("kind")? == RequestKind::Question.as_str() {
        let choice = |one: &Value| one.as_str().map(str::to_owned).ok_or("a choice is no text".to_owned());
        return Ok(RequestSubject::Question {
            words: fields.find_owned("question")?,
            shows: fields.each("shows", read_message)?,
            choices: fields.each("choices", choice)?,
        });
    }
    let payload = fields.find_owned("payload")?;
    if Digest::hash_bytes(payload.as_bytes()) != hash {
        return Err("payload does not have the hash that would be approved".to_owned());
    }
    let unknown = fields.text("unknown").ok().map(str::to_owned);
    Ok(RequestSubject::Approval { element: fields.find_owned("element")?, payload, record: 0, unknown })
}

pub(super) fn read_message(value: &Value) -> Result<QuestionMessage, String> {
    let fields = Fields(value);
    let (hash, payload) = (fields.read("hash", Digest::parse)?, fields.find_owned("payload")?);
    if Digest::hash_bytes(payload.as_bytes()) != hash {
        return Err("a message of the question does not have its hash".to_owned());
    }
    let (number, label) = (fields.number("seq")?, fields.find_owned("label")?);
    // Organisms of older versions do not tell them.
    let changes = if value.get("changes").is_some() { fields.each("changes", change)? } else { Vec::new() };
    let from = fields.read("from", Name::parse)?;
    Ok(QuestionMessage { number, label, from, hash, payload, changes, record: 0 })
}

fn change(value: &Value) -> Result<StepChange, String> {
    let fields = Fields(value);
    Ok(StepChange {
        workspace: fields.read("workspace", Name::parse)?,
        thread: fields.read("thread", ThreadId::parse)?,
        seq: fields.number("seq")?,
        outcome: fields.find_owned("outcome")?,
        payload: fields.find_owned("payload")?,
    })
}

fn outside(value: &Value) -> Result<OutsideMessage, String> {
    let fields = Fields(value);
    Ok(OutsideMessage {
        by: fields.read("by", Name::parse)?,
        thread: fields.read("thread", ThreadId::parse)?,
        seq: fields.number("seq")?,
        at: fields.moment("at")?,
        payload: fields.find_owned("payload")?,
    })
}
