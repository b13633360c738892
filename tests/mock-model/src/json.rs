//! JSON whose fields keep the order in which they were written, like the providers'. For writing only;
//! `serde_json` does the reading.

/// A value to be written.
#[derive(Clone, Debug)]
pub(crate) enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Truth(bool),
    /// A whole number.
    Number(u64),
    /// A text, escaped when it is written.
    Text(String),
    /// Text that is JSON already, or is deliberately not JSON.
    Raw(String),
    /// The position of the model's text, which is written piece by piece: see [`around`].
    Said,
    /// An array.
    List(Vec<Json>),
    /// An object.
    Fields(Vec<(&'static str, Json)>),
}

/// An object with its fields in this order.
macro_rules! fields {
    ($($key:literal : $value:expr),* $(,)?) => {
        $crate::json::Json::Fields(vec![$(($key, $crate::json::Json::from($value))),*])
    };
}
pub(crate) use fields;

impl From<bool> for Json {
    fn from(truth: bool) -> Json {
        Json::Truth(truth)
    }
}

impl From<u64> for Json {
    fn from(number: u64) -> Json {
        Json::Number(number)
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Json {
        Json::Text(text.to_owned())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Json {
        Json::Text(text)
    }
}

impl From<Vec<Json>> for Json {
    fn from(list: Vec<Json>) -> Json {
        Json::List(list)
    }
}

impl<T: Into<Json>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Json {
        value.map_or(Json::Null, Into::into)
    }
}

/// Marks [`Json::Said`] while an answer is written. Written JSON never contains it: it would be escaped.
const HOLE: char = '\0';

impl Json {
    /// The value as one line.
    pub(crate) fn line(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    /// Adds a field to an object. Does nothing for other values.
    pub(crate) fn with(mut self, key: &'static str, value: impl Into<Json>) -> Json {
        if let Json::Fields(fields) = &mut self {
            fields.push((key, value.into()));
        }
        self
    }

    fn write(&self, out: &mut String) {
        match self {
            Json::Null => out.push_str("null"),
            Json::Truth(truth) => out.push_str(if *truth { "true" } else { "false" }),
            Json::Number(number) => out.push_str(&number.to_string()),
            Json::Text(text) => {
                out.push('"');
                out.push_str(&escaped(text));
                out.push('"');
            }
            Json::Raw(raw) => out.push_str(raw),
            Json::Said => out.extend(['"', HOLE, '"']),
            Json::List(list) => {
                out.push('[');
                for (place, value) in list.iter().enumerate() {
                    if place > 0 {
                        out.push(',');
                    }
                    value.write(out);
                }
                out.push(']');
            }
            Json::Fields(fields) => {
                out.push('{');
                for (place, (key, value)) in fields.iter().enumerate() {
                    if place > 0 {
                        out.push(',');
                    }
                    Json::from(*key).write(out);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }
}

/// The text before and after the model's text. A value without a position for it is all before.
pub(crate) fn around(value: &Json) -> (String, String) {
    let line = value.line();
    match line.split_once(HOLE) {
        Some((before, behind)) => (before.to_owned(), behind.to_owned()),
        None => (line, String::new()),
    }
}

/// A text in the form between the quotes of JSON.
pub(crate) fn escaped(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_keep_their_order_and_texts_are_escaped() {
        let value = fields! { "z": "a\"\n", "a": 3, "m": Option::<u64>::None, "l": vec![Json::from(true)] };
        assert_eq!(value.line(), r#"{"z":"a\"\n","a":3,"m":null,"l":[true]}"#);
    }

    #[test]
    fn what_is_said_has_its_place() {
        let (before, behind) = around(&fields! { "a": "\0", "content": Json::Said, "b": 1 });
        assert_eq!((before.as_str(), behind.as_str()), (r#"{"a":"\u0000","content":""#, r#"","b":1}"#));
        assert_eq!(around(&fields! { "a": 1 }), (r#"{"a":1}"#.to_owned(), String::new()));
    }
}
