//! A key of a file, as the tables of keys list it: its path, default, meaning and the form of its value.

/// A key of the organism's file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConfigKey {
    /// Its path; `NAME` is any name.
    pub path: &'static str,
    /// The default: a value, `required` or `none`. A value that is one of these two words is in backticks.
    pub default: &'static str,
    /// Its meaning, in a few words. For a key that is not built yet: its future meaning.
    pub meaning: &'static str,
    /// Whether this version supports it. An unsupported key is rejected, never ignored.
    pub built: bool,
    /// The form of its value, as far as an editor can know it.
    pub form: KeyForm,
}

/// The smallest and the largest value of a measure, each as text and as a number of its smallest unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MeasureBounds {
    /// The smallest.
    pub least: (&'static str, u64),
    /// The largest.
    pub most: (&'static str, u64),
}

/// The form of a key's value: the part of the loader's checks that an editor can do. A test makes sure that
/// it rejects nothing that the loader accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyForm {
    /// Nothing yet: the key is not built.
    Later,
    /// A map of the keys below it.
    Map,
    /// A map of names that match a pattern, or of any names, each with the keys below `NAME`.
    Names(&'static str),
    /// A payload in the compact form, which has its own grammar.
    Compact,
    /// One value, and whether it may be empty.
    Text {
        /// Whether it may be empty.
        empty: bool,
    },
    /// A list of values.
    List,
    /// A list without repeated values.
    Set,
    /// A list of these words, without repetition.
    SetOf(&'static [&'static str]),
    /// `true` or `false`.
    Flag,
    /// A whole number in a range, bounds included.
    Count(u32, u32),
    /// One of these words.
    Words(&'static [&'static str]),
    /// A text that matches a pattern. A plain number or `true` is not one.
    Pattern(&'static str),
    /// A name. `true` is also a name.
    Name(&'static str),
    /// A duration within bounds, in milliseconds.
    Duration(MeasureBounds),
    /// A size within bounds, in bytes.
    Size(MeasureBounds),
    /// A number of tokens within bounds.
    Tokens(MeasureBounds),
    /// An amount: a non-negative number, or a text that matches a pattern.
    Amount(&'static str),
    /// One value or a list of values. Each may be empty.
    Lines,
    /// One value, a list of values, or a map.
    LinesOrMap,
    /// A list of maps of the keys below it.
    Maps,
    /// Text or a list of texts.
    Texts,
    /// One value, or a map of any names, each with the keys below `NAME`.
    TextOrNames,
    /// This word, or a map of any names, each with the keys below `NAME`.
    WordOrNames(&'static str),
    /// One value, or a map of the keys below it.
    TextOrMap,
    /// A list of steps of a workflow. Each is a map of one id, with text or the keys below `NAME`.
    Steps,
    /// Any YAML value.
    Anything,
}

pub(super) const fn key(path: &'static str, default: &'static str, meaning: &'static str) -> ConfigKey {
    ConfigKey { path, default, meaning, built: true, form: KeyForm::Later }
}

impl ConfigKey {
    pub(super) const fn of(self, form: KeyForm) -> ConfigKey {
        ConfigKey { form, ..self }
    }
}
