//! The values of a script that are more than a text or a number: times, cuts, calls, errors. Each reads the
//! natural notation and, for anything else, names what it accepts.

use std::fmt;
use std::time::Duration;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// Why the model stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Stop {
    /// It was done.
    End,
    /// It reached its output limit.
    Length,
    /// It calls tools.
    Tool,
    /// The provider stopped it.
    Filter,
    /// Unknown: the stream ends without the events that would say it.
    None,
}

/// An expression that the request has to match.
#[derive(Clone, Debug)]
pub(crate) struct Need(pub(crate) regex_lite::Regex);

impl PartialEq for Need {
    fn eq(&self, other: &Need) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

/// A time with its unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pause(pub(crate) Duration);

/// The time between two bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rate(pub(crate) Duration);

/// The calls of a reply, in order.
#[derive(Clone, Default, PartialEq, Debug)]
pub(crate) struct Calls(pub(crate) Vec<Call>);

/// The value of the `Content-Type` header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct MediaType(pub(crate) String);

/// How often a reply can be used. `None` means always.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Times(pub(crate) Option<u64>);

impl Default for Times {
    fn default() -> Times {
        Times(Some(1))
    }
}

/// How an answer is cut into pieces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Chunk {
    /// Characters of text per event.
    Characters(usize),
    /// Bytes of the wire per write, for any content.
    Bytes(usize),
}

/// Where the connection is closed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Cut {
    /// Before the end of the answer.
    BeforeEnd,
    /// After this many bytes of the body.
    After(u64),
    /// After the first byte of this text.
    Inside(String),
}

/// A call that the model makes.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) id: Option<String>,
    pub(crate) arguments: Arguments,
}

/// The arguments of a call.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Arguments {
    /// JSON.
    Json(Value),
    /// A text that need not be JSON.
    Raw(String),
}

/// The script's usage. Missing values are counted.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct UsageSet {
    #[serde(rename = "in")]
    pub(crate) input: Option<u64>,
    #[serde(rename = "out")]
    pub(crate) output: Option<u64>,
    pub(crate) cached: u64,
}

/// An answer that is an error.
#[derive(Clone, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fault {
    pub(crate) status: Status,
    #[serde(default)]
    pub(crate) retry_after: Option<RetryAfter>,
    #[serde(default)]
    pub(crate) body: Option<String>,
    #[serde(default, rename = "type")]
    pub(crate) form: ErrorType,
}

/// The form of an error's body.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ErrorType {
    /// The provider's own form.
    #[default]
    Json,
    /// A page, like a proxy's.
    Html,
    /// No body.
    None,
}

/// The status of an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Status(pub(crate) u16);

/// The value of `Retry-After`: whole seconds, or a date.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RetryAfter(pub(crate) String);

/// Reads a time with its unit.
fn time(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let parts = number.parse::<u64>().ok().and_then(|number| match unit.trim() {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => number.checked_mul(60).map(Duration::from_secs),
        "h" => number.checked_mul(3600).map(Duration::from_secs),
        _ => None,
    });
    parts.ok_or_else(|| format!("`{text}` is not a time: 50ms, 2s, 1m or 1h"))
}

/// A single value: a text, a number, a boolean.
struct One<F> {
    takes: &'static str,
    read: F,
}

impl<T, F: FnOnce(Value) -> Result<T, String>> Visitor<'_> for One<F> {
    type Value = T;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.takes)
    }
    fn visit_bool<E: de::Error>(self, truth: bool) -> Result<T, E> {
        (self.read)(Value::from(truth)).map_err(E::custom)
    }
    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        (self.read)(Value::from(number)).map_err(E::custom)
    }
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        (self.read)(Value::from(number)).map_err(E::custom)
    }
    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        (self.read)(Value::from(number)).map_err(E::custom)
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        (self.read)(Value::from(text)).map_err(E::custom)
    }
}

fn one<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    takes: &'static str,
    read: impl FnOnce(Value) -> Result<T, String>,
) -> Result<T, D::Error> {
    deserializer.deserialize_any(One { takes, read })
}

/// Reads a value that must be text.
fn text(value: &Value, takes: &str) -> Result<String, String> {
    value.as_str().map(str::to_owned).ok_or_else(|| format!("`{value}` is not {takes}"))
}

impl<'de> Deserialize<'de> for Pause {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Pause, D::Error> {
        one(deserializer, "a time", |value| {
            text(&value, "a time: 50ms, 2s, 1m or 1h").and_then(|it| time(&it))
        })
        .map(Pause)
    }
}

impl<'de> Deserialize<'de> for Need {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Need, D::Error> {
        let written = String::deserialize(deserializer)?;
        let read = regex_lite::Regex::new(&written);
        read.map(Need).map_err(|error| de::Error::custom(format!("`{written}` is no expression: {error}")))
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Rate, D::Error> {
        one(deserializer, "a rate, as 5/s", |value| {
            let number = value.as_str().and_then(|rate| rate.strip_suffix("/s")).and_then(|n| n.parse().ok());
            let number = number.filter(|number: &u32| *number > 0);
            let second = Duration::from_secs(1);
            number
                .map(|n| Rate(second / n))
                .ok_or_else(|| format!("`{value}` is not a rate: 5/s is five bytes a second"))
        })
    }
}

impl<'de> Deserialize<'de> for Times {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Times, D::Error> {
        one(deserializer, "a number, or always", |value| match (value.as_u64(), value.as_str()) {
            (Some(times), _) if times > 0 => Ok(Times(Some(times))),
            (None, Some("always")) => Ok(Times(None)),
            _ => Err(format!("`{value}` is neither a number from 1 nor always")),
        })
    }
}

impl<'de> Deserialize<'de> for MediaType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<MediaType, D::Error> {
        let written = String::deserialize(deserializer)?;
        match axum::http::HeaderValue::from_str(&written) {
            Ok(_) => Ok(MediaType(written)),
            Err(_) => Err(de::Error::custom(format!("content_type: `{written:?}` cannot be in a header"))),
        }
    }
}

impl<'de> Deserialize<'de> for Status {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Status, D::Error> {
        one(deserializer, "a status", |value| {
            let status = value.as_u64().and_then(|status| u16::try_from(status).ok());
            let status = status.filter(|status| (300..600).contains(status));
            status.map(Status).ok_or_else(|| format!("`{value}` is not the status of an error: 300 to 599"))
        })
    }
}

impl<'de> Deserialize<'de> for RetryAfter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RetryAfter, D::Error> {
        one(deserializer, "a time, or a date", |value| {
            let written = text(&value, "a time: 2s, or a date of HTTP")?;
            let is_date = written.starts_with(|c: char| c.is_ascii_alphabetic());
            if is_date && axum::http::HeaderValue::from_str(&written).is_ok() {
                return Ok(RetryAfter(written));
            }
            // The header has whole seconds. Waiting a little longer does no harm.
            time(&written).map(|time| RetryAfter(time.as_millis().div_ceil(1000).to_string()))
        })
    }
}

impl<'de> Deserialize<'de> for Chunk {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Chunk, D::Error> {
        one(deserializer, "a number of characters, or of bytes", |value| {
            let written = value.as_str().unwrap_or_default();
            let (number, bytes) = match (value.as_u64(), written.split_once(' ')) {
                (Some(number), _) => (Some(number), false),
                (None, Some((number, "characters"))) => (number.parse().ok(), false),
                (None, Some((number, "bytes"))) => (number.parse().ok(), true),
                _ => (None, false),
            };
            let number = number.and_then(|number| usize::try_from(number).ok()).filter(|number| *number > 0);
            let chunk =
                number.map(|number| if bytes { Chunk::Bytes(number) } else { Chunk::Characters(number) });
            chunk.ok_or_else(|| {
                format!("`{value}` is not a size from 1: 3 (characters of text) or 3 bytes (of the wire)")
            })
        })
    }
}

impl<'de> Deserialize<'de> for Cut {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Cut, D::Error> {
        struct Shape;
        impl<'de> Visitor<'de> for Shape {
            type Value = Cut;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("cut: true, a number of bytes, or {in: TEXT}")
            }
            fn visit_bool<E: de::Error>(self, truth: bool) -> Result<Cut, E> {
                let nothing = || E::invalid_value(de::Unexpected::Bool(truth), &self);
                if truth { Ok(Cut::BeforeEnd) } else { Err(nothing()) }
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Cut, E> {
                Ok(Cut::After(number))
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Cut, E> {
                let written = de::Unexpected::Signed(number);
                u64::try_from(number).map(Cut::After).map_err(|_| E::invalid_value(written, &self))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Cut, A::Error> {
                let mut cut = None;
                while let Some((key, text)) = map.next_entry::<String, String>()? {
                    if key != "in" || text.is_empty() {
                        return Err(de::Error::custom("a cut is true, a number of bytes, or {in: TEXT}"));
                    }
                    cut = Some(Cut::Inside(text));
                }
                cut.ok_or_else(|| de::Error::missing_field("in"))
            }
        }
        deserializer.deserialize_any(Shape)
    }
}

impl<'de> Deserialize<'de> for Calls {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Calls, D::Error> {
        struct Shape;
        impl<'de> Visitor<'de> for Shape {
            type Value = Calls;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a call, as {search: {query: x}}, or a list of such")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Calls, A::Error> {
                let mut calls = Vec::new();
                while let Some(Calls(more)) = list.next_element()? {
                    calls.extend(more);
                }
                Ok(Calls(calls))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Calls, A::Error> {
                let (mut calls, mut id) = (Vec::new(), None);
                while let Some(name) = map.next_key::<String>()? {
                    if name == "id" {
                        id = Some(map.next_value::<String>()?);
                    } else {
                        let arguments = arguments(&name, map.next_value()?).map_err(de::Error::custom)?;
                        calls.push(Call { name, id: None, arguments });
                    }
                }
                for call in &mut calls {
                    call.id.clone_from(&id);
                }
                Ok(Calls(calls))
            }
        }
        deserializer.deserialize_any(Shape)
    }
}

fn arguments(name: &str, value: Value) -> Result<Arguments, String> {
    let fields = match value {
        Value::Null => return Ok(Arguments::Json(Value::Object(serde_json::Map::new()))),
        Value::Object(fields) => fields,
        other => return Err(format!("the arguments of {name} are a map or {{raw: TEXT}}, not `{other}`")),
    };
    match fields.get("raw").and_then(Value::as_str) {
        Some(raw) if fields.len() == 1 => Ok(Arguments::Raw(raw.to_owned())),
        _ => Ok(Arguments::Json(Value::Object(fields))),
    }
}
