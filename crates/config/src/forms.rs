//! The forms of values that several sections have. A form of one section alone is declared beside that section.

use std::marker::PhantomData;

use super::diagnostics::Diagnostics;
use super::key::{KeyForm, KeyRow, MeasureBounds};
use super::key::{SIZE_UNITS, THOUSANDS, TIME_UNITS, show_measure};
use super::measure::{durations_ms, read_measure, read_tokens};
use super::names::{single, variable};
use super::section::{Form, SectionKeys, form};
use super::tree::{Node, Value};
use super::value::{self, At, join_path};
use crate::limits::{DAY, SECOND, YEAR};
use systole_core::types::ids::Name;
use systole_core::types::rate::Rate;

/// The pattern of a party's name.
pub(super) const PARTY: &str = r"^[a-z][a-z0-9-]{0,62}(\.[a-z][a-z0-9-]{0,62})*$";
/// The pattern of the name of an environment variable.
pub(super) const VARIABLE: &str = "^[A-Za-z_][A-Za-z0-9_]*$";

/// How long one attempt of a listener may take.
pub(super) type AttemptTime = TimeWithin<1, DAY>;
/// A wait within one message.
pub(super) type WaitTime = TimeWithin<SECOND, DAY>;
/// A wait for a person, or within a run of a workflow.
pub(super) type LongWait = TimeWithin<SECOND, YEAR>;

form! {
    /// One value that is not empty.
    pub(super) AnyText -> String { KeyForm::Text { empty: false }, read_text, show String::clone }
}
form! {
    /// The name of a party. Whether there is one of this name is checked later.
    pub(super) PartyName -> String { KeyForm::Name(PARTY), read_text }
}
form! {
    /// The name of an environment variable.
    pub(super) VariableName -> String { KeyForm::Name(VARIABLE), read_variable }
}
form! {
    /// One value, which may be empty.
    pub(super) EmptyText -> String { KeyForm::Text { empty: true }, read_empty }
}
form! {
    /// A list of values, with at least one.
    pub(super) TextList -> Vec<At<String>> { KeyForm::List, value::texts }
}
form! {
    /// One value, or a list of values, none of them twice.
    pub(super) OneOrMore -> Vec<At<String>> { KeyForm::Texts, read_one_or_more }
}
form! {
    /// A list of values, none of them twice.
    pub(super) NameSet -> Vec<At<String>> { KeyForm::Set, read_names, show show_names }
}
form! {
    /// `true` or `false`.
    pub(super) YesNo -> bool { KeyForm::Flag, value::flag, show bool::to_string }
}
form! {
    /// The first pause and the longest, in milliseconds.
    pub(super) PauseRange -> (u64, u64) {
        KeyForm::Pattern(r"^[0-9]+(ms|s|m|h|d)\.\.[0-9]+(ms|s|m|h|d)$"), durations_ms, show show_pauses
    }
}

form! {
    /// Any value. What it may be depends on other parts of the organism.
    pub(super) AsWritten -> Node { KeyForm::Anything, copy_node }
}
form! {
    /// How often something may happen.
    pub(super) RateText -> Rate { KeyForm::Pattern("^[1-9][0-9]{0,5}/[smh]$"), read_rate }
}

fn read_rate(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Rate> {
    read_parsed(diagnostics, node, path, |text| {
        let fix = || {
            (
                format!(
                    "`{text}` is no rate of 1 to {} in a second, a minute or an hour",
                    systole_core::types::limits::RATE_COUNT
                ),
                "20/s".to_owned(),
            )
        };
        Rate::parse(text).ok_or_else(fix)
    })
}

fn read_text(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<String> {
    value::text(diagnostics, node, path).map(|found| found.value)
}

/// Takes a value as it is written, for a form that is read together with other keys.
pub(super) fn copy_node(_diagnostics: &mut Diagnostics, node: &Node, _path: &str) -> Option<Node> {
    Some(node.clone())
}

fn read_empty(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<String> {
    match &node.value {
        Value::Text { text, .. } if text.is_empty() => Some(String::new()),
        _ => read_text(diagnostics, node, path),
    }
}

fn read_one_or_more(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Vec<At<String>>> {
    match &node.value {
        Value::List(items) if items.is_empty() => {
            let message = format!("{path}: the list is empty");
            diagnostics.report_value(node.span, &message, "a name, or leave the key out");
            None
        }
        Value::List(_) => read_names(diagnostics, node, path),
        _ => value::text(diagnostics, node, path).map(|text| vec![text]),
    }
}

fn read_names(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Vec<At<String>>> {
    value::texts(diagnostics, node, path).map(|found| single(diagnostics, found, path))
}

fn read_variable(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<String> {
    let found = value::text(diagnostics, node, path)?;
    variable(diagnostics, &found.value, found.at, path);
    Some(found.value)
}

#[expect(clippy::ptr_arg, reason = "a form shows a value of its own type")]
fn show_names(names: &Vec<At<String>>) -> String {
    let names: Vec<&str> = names.iter().map(|name| name.value.as_str()).collect();
    format!("[{}]", names.join(", "))
}

fn show_pauses((first_ms, longest_ms): &(u64, u64)) -> String {
    format!("{}s..{}s", first_ms / SECOND, longest_ms / SECOND)
}

/// Reads a text by a function that returns the value, or what is wrong with the text and the fix.
pub(super) fn read_parsed<T>(
    diagnostics: &mut Diagnostics,
    node: &Node,
    path: &str,
    parse: impl FnOnce(&str) -> Result<T, (String, String)>,
) -> Option<T> {
    let found = value::text(diagnostics, node, path)?;
    match parse(&found.value) {
        Ok(value) => Some(value),
        Err((what, fix)) => {
            diagnostics.report_value(found.at, &format!("{path}: {what}"), &fix);
            None
        }
    }
}

/// A whole number within these bounds.
pub(super) struct CountWithin<const LEAST: u32, const MOST: u32>;

impl<const LEAST: u32, const MOST: u32> Form for CountWithin<LEAST, MOST> {
    type Value = u32;
    const FORM: KeyForm = KeyForm::Count(LEAST, MOST);

    fn read(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<u32> {
        value::count(diagnostics, node, path, LEAST, MOST)
    }

    fn show(number: &u32) -> String {
        number.to_string()
    }
}

/// Declares a form of numbers with a unit, within bounds in the smallest unit.
macro_rules! measure_form {
    ($(#[$doc:meta])* $name:ident $kind:ident $units:ident $read:expr) => {
        $(#[$doc])*
        pub(super) struct $name<const LEAST: u64, const MOST: u64>;

        impl<const LEAST: u64, const MOST: u64> Form for $name<LEAST, MOST> {
            type Value = u64;
            const FORM: KeyForm = KeyForm::$kind(MeasureBounds { least: LEAST, most: MOST });

            fn read(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<u64> {
                let found = value::text(diagnostics, node, path)?;
                $read(diagnostics, &found, path, MeasureBounds { least: LEAST, most: MOST })
            }

            fn show(value: &u64) -> String {
                show_measure(*value, $units)
            }
        }
    };
}

measure_form! {
    /// A duration in milliseconds.
    TimeWithin Duration TIME_UNITS |d, found, path, bounds| read_measure(d, found, path, TIME_UNITS, bounds)
}
measure_form! {
    /// A size in bytes.
    SizeWithin Size SIZE_UNITS |d, found, path, bounds| read_measure(d, found, path, SIZE_UNITS, bounds)
}
measure_form! {
    /// A number of tokens.
    TokensWithin Tokens THOUSANDS read_tokens
}

/// A form that is read later, because some sections refuse the key before its value is looked at.
pub(super) struct Unread<F>(PhantomData<F>);

/// A value that is not read yet.
pub(super) struct UnreadValue<F> {
    pub(super) node: Node,
    path: String,
    form: PhantomData<F>,
}

impl<F: Form> Form for Unread<F> {
    type Value = UnreadValue<F>;
    const FORM: KeyForm = F::FORM;
    const BELOW: &'static [KeyRow] = F::BELOW;

    fn read(_diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<UnreadValue<F>> {
        Some(UnreadValue { node: node.clone(), path: path.to_owned(), form: PhantomData })
    }
}

impl<F> UnreadValue<F> {
    /// Reports a value that is not even a list of texts.
    pub(super) fn check_texts(&self, diagnostics: &mut Diagnostics) {
        let _read = value::texts(diagnostics, &self.node, &self.path);
    }
}

/// Reads the value of a key whose form is `Unread`.
pub(super) fn read_late<F: Form>(
    diagnostics: &mut Diagnostics,
    key: &Option<At<UnreadValue<F>>>,
) -> Option<At<F::Value>> {
    let At { at, value: UnreadValue { node, path, .. } } = key.as_ref()?;
    F::read(diagnostics, node, path).map(|value| At { at: *at, value })
}

/// The words of a key, and what each of them means.
pub(super) trait WordChoice {
    /// What a word means.
    type Value: Copy + PartialEq + 'static;
    const WORDS: &'static [&'static str];
    /// In the same order.
    const VALUES: &'static [Self::Value];
}

/// Declares the words of a key.
macro_rules! word_choice {
    ($name:ident: $value:ty { $($word:literal = $meant:expr),+ }) => {
        pub(crate) struct $name;

        impl $crate::forms::WordChoice for $name {
            type Value = $value;
            const WORDS: &'static [&'static str] = &[$($word),+];
            const VALUES: &'static [$value] = &[$($meant),+];
        }
    };
}
pub(crate) use word_choice;

/// One of a few words.
pub(super) struct WordOf<C>(PhantomData<C>);

impl<C: WordChoice> Form for WordOf<C> {
    type Value = C::Value;
    const FORM: KeyForm = KeyForm::Words(C::WORDS);

    fn read(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<C::Value> {
        let choices: Vec<_> = C::WORDS.iter().copied().zip(C::VALUES.iter().copied()).collect();
        value::word(diagnostics, node, path, &choices)
    }

    fn show(value: &C::Value) -> String {
        let word = C::VALUES.iter().position(|one| one == value).and_then(|at| C::WORDS.get(at));
        word.copied().unwrap_or_default().to_owned()
    }
}

/// Sections by the name of a party.
pub(super) struct PartyMap<S>(PhantomData<S>);

/// One of several sections of the same kind.
pub(super) struct NamedSection<S> {
    /// Its key, even if that is not a valid name.
    pub(super) key: At<String>,
    pub(super) name: Option<Name>,
    /// Its keys. `None` after a mistake was reported.
    pub(super) keys: Option<S>,
}

impl<S: SectionKeys> Form for PartyMap<S> {
    type Value = Vec<NamedSection<S>>;
    const FORM: KeyForm = KeyForm::Names(PARTY);
    const BELOW: &'static [KeyRow] = &[KeyRow::any_name("required", S::ABOUT, KeyForm::Map, S::ROWS)];

    fn read(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Vec<NamedSection<S>>> {
        let entries = value::map(diagnostics, node, node.span, path)?;
        let mut found = Vec::with_capacity(entries.len());
        for entry in entries {
            let name = value::name(diagnostics, &entry.key, entry.at, path);
            let keys = S::read_at(diagnostics, &entry.value, entry.at, &join_path(path, &entry.key));
            found.push(NamedSection { key: At { at: entry.at, value: entry.key.clone() }, name, keys });
        }
        Some(found)
    }
}
