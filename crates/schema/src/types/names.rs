//! The names of classes, fields and modules: one rule for Python and TypeScript, so that both have the same names.
//!
//! A name of the schema comes in; a name that both languages take goes out.

/// Words of Python that no field and no module can be called. TypeScript takes any word there.
const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
    "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// What a field would hide from the fields below it, and what each object of JavaScript has.
const BUILTINS: [&str; 20] = [
    "bool",
    "bytes",
    "constructor",
    "Date",
    "DateTime",
    "Decimal",
    "Duration",
    "Element",
    "field",
    "File",
    "float",
    "int",
    "Literal",
    "Part",
    "Payload",
    "payloads",
    "str",
    "systole_sdk",
    "Time",
    "tuple",
];

/// What the modules themselves use, and what a class would hide that everyone uses.
const TAKEN_CLASSES: [&str; 47] = [
    "Table",
    "Any",
    "Array",
    "ArithmeticError",
    "BigInt",
    "Boolean",
    "BytesWarning",
    "Date",
    "DateText",
    "DateTime",
    "DateTimeText",
    "Decimal",
    "DecimalText",
    "Duration",
    "DurationText",
    "Element",
    "Ellipsis",
    "Error",
    "Exception",
    "False",
    "File",
    "Function",
    "Given",
    "Infinity",
    "JSON",
    "Literal",
    "Map",
    "Math",
    "NaN",
    "None",
    "Number",
    "Object",
    "Part",
    "Payload",
    "Promise",
    "Proxy",
    "Record",
    "RegExp",
    "Set",
    "String",
    "Symbol",
    "TABLE",
    "Time",
    "TimeText",
    "True",
    "Uint8Array",
    "Warning",
];

/// A set of names in use.
#[derive(Default)]
pub(super) struct TakenNames(Vec<String>);

impl TakenNames {
    /// This name, with a `_` more for each time that it is taken.
    pub(super) fn take(&mut self, mut name: String) -> String {
        while self.0.contains(&name) {
            name.push('_');
        }
        self.0.push(name.clone());
        name
    }

    pub(super) fn add(&mut self, name: String) {
        self.0.push(name);
    }
}

/// The name of a class: each part of the name begins with a capital.
pub(super) fn name_class(local: &str) -> String {
    let parts = local.split(['-', '.', '_', '\u{b7}']).filter(|part| !part.is_empty());
    let mut name: String = parts.map(write_capital).collect();
    name.retain(is_plain);
    if !name.starts_with(char::is_alphabetic) {
        name.insert(0, 'X');
    }
    if TAKEN_CLASSES.contains(&name.as_str()) {
        name.push('_');
    }
    name
}

/// The name of a field.
pub(super) fn name_field(local: &str) -> String {
    let mut name = replace_signs(local);
    if KEYWORDS.contains(&name.as_str()) || BUILTINS.contains(&name.as_str()) {
        name.push('_');
    }
    name
}

/// The name of a module: the last part of its namespace that is no version.
pub(super) fn name_module(namespace: &str) -> String {
    let mut parts = namespace.split(['/', ':', '#']).filter(|part| !part.is_empty());
    let last = parts.rfind(|part| !is_version(part)).unwrap_or("payloads");
    let mut name = replace_signs(last).to_lowercase();
    if KEYWORDS.contains(&name.as_str()) {
        name.push('_');
    }
    name
}

fn is_version(part: &str) -> bool {
    let digits = part.strip_prefix(['v', 'V']).unwrap_or(part);
    digits.starts_with(|c: char| c.is_ascii_digit()) && digits.chars().all(|c| c.is_ascii_digit() || c == '.')
}

fn write_capital(part: &str) -> String {
    let mut letters = part.chars();
    let first = letters.next().map(|first| first.to_uppercase().collect::<String>()).unwrap_or_default();
    first + letters.as_str()
}

/// The name with `_` for all that is no letter and no digit. Names that begin with `_` belong to the classes
/// themselves.
fn replace_signs(local: &str) -> String {
    let name: String = local.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    if name.starts_with(char::is_alphabetic) { name } else { format!("x{name}") }
}

/// Whether both languages take a character in a name as it is. Python writes others in another form, so that a name
/// would have two spellings.
fn is_plain(c: char) -> bool {
    let is_stable = match c {
        '\u{c0}'..='\u{17e}' => !matches!(c, '\u{132}' | '\u{133}' | '\u{13f}' | '\u{140}' | '\u{149}'),
        '\u{388}'..='\u{3ce}' | '\u{400}'..='\u{45f}' => true,
        '\u{3041}'..='\u{3096}'
        | '\u{30a1}'..='\u{30fa}'
        | '\u{4e00}'..='\u{9fa5}'
        | '\u{ac00}'..='\u{d7a3}' => true,
        _ => false,
    };
    c.is_ascii_alphanumeric() || c == '_' || (is_stable && c.is_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g7_names_are_those_of_both_languages() {
        let classes = ["weather-answer", "error", "_1", "a.b_c", "größe"].map(name_class);
        assert_eq!(classes, ["WeatherAnswer", "Error_", "X1", "ABC", "Größe"]);
        let fields = ["valid-from", "class", "int", "_x", "filter", "ﬁn", "text"].map(name_field);
        assert_eq!(fields, ["valid_from", "class_", "int_", "x_x", "filter", "x_n", "text"]);
        let spaces = ["https://xml-pipeline.org/ns/hello/v1", "urn:a-b:2.0", "urn:import", "v1", ""];
        assert_eq!(spaces.map(name_module), ["hello", "a_b", "import_", "payloads", "payloads"]);
        let mut taken = TakenNames::default();
        assert_eq!(["a", "a", "a_"].map(|name| taken.take(name.to_owned())), ["a", "a_", "a__"]);
    }
}
