//! The table of a module as text that Python and TypeScript read alike: strings, numbers, lists and objects.

use crate::limits::TYPE_LINE;

/// A value of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Literal {
    Text(String),
    Number(u64),
    List(Vec<Literal>),
    Object(Vec<(&'static str, Literal)>),
    /// The same with keys of the schema.
    Named(Vec<(String, Literal)>),
}

impl Literal {
    pub(super) fn new_text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    pub(super) fn new_count(count: usize) -> Self {
        Self::Number(u64::try_from(count).unwrap_or(u64::MAX))
    }

    /// The text of the value, indented by so many blanks from its second line on.
    pub(super) fn write(&self, indent: usize) -> String {
        let flat = self.write_flat();
        if indent.saturating_add(flat.chars().count()) <= TYPE_LINE {
            return flat;
        }
        let (open, close, parts) = match self {
            Self::Text(_) | Self::Number(_) => return flat,
            Self::List(parts) => {
                let parts = parts.iter().map(|part| part.write(indent.saturating_add(1))).collect::<Vec<_>>();
                ('[', ']', parts)
            }
            Self::Object(fields) => {
                ('{', '}', fields.iter().map(|(key, value)| write_field(key, value, indent)).collect())
            }
            Self::Named(fields) => {
                ('{', '}', fields.iter().map(|(key, value)| write_field(key, value, indent)).collect())
            }
        };
        let blanks = " ".repeat(indent.saturating_add(1));
        let gap = format!(",\n{blanks}");
        format!("{open}\n{blanks}{},\n{}{close}", parts.join(&gap), " ".repeat(indent))
    }

    fn write_flat(&self) -> String {
        let field = |key: &str, value: &Self| format!("{}: {}", quote_text(key), value.write_flat());
        match self {
            Self::Text(text) => quote_text(text),
            Self::Number(number) => number.to_string(),
            Self::List(parts) => {
                format!("[{}]", parts.iter().map(Self::write_flat).collect::<Vec<_>>().join(", "))
            }
            Self::Object(fields) => {
                let fields: Vec<String> = fields.iter().map(|(key, value)| field(key, value)).collect();
                format!("{{{}}}", fields.join(", "))
            }
            Self::Named(fields) => {
                let fields: Vec<String> = fields.iter().map(|(key, value)| field(key, value)).collect();
                format!("{{{}}}", fields.join(", "))
            }
        }
    }
}

fn write_field(key: &str, value: &Literal, indent: usize) -> String {
    format!("{}: {}", quote_text(key), value.write(indent.saturating_add(1)))
}

/// A text in double quotes, as both languages read it.
pub(super) fn quote_text(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // Signs that end a line somewhere, and signs that show a text in another order than it has.
            '\0'..='\x1f'
            | '\x7f'..='\u{9f}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\u{feff}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
