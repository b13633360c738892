//! A key of a file, as the tables of keys list it: its path, default, meaning and the form of its value.

pub(super) use systole_core::types::time::UNITS as TIME_UNITS;

/// Units of sizes.
pub(super) const SIZE_UNITS: &[(&str, u64)] =
    &[("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];
/// Units of tokens.
pub(super) const THOUSANDS: &[(&str, u64)] = &[("", 1), ("k", 1_000), ("M", 1_000_000)];

/// A key of the organism's file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConfigKey {
    /// Its path; `NAME` is any name.
    pub path: &'static str,
    /// The default: a value, `required` or `none`. A value that is one of these two words is in backticks.
    pub default: &'static str,
    /// Its meaning, in a few words.
    pub meaning: &'static str,
    /// The form of its value, as far as an editor can know it.
    pub form: KeyForm,
}

/// A key as its section declares it, with the keys below it.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyRow {
    /// Its name, `NAME` for any name, or nothing if the rows below are at the level of this one.
    pub(super) name: &'static str,
    pub(super) default: DefaultText,
    /// Its meaning. `{bounds}` becomes the bounds of its form.
    pub(super) meaning: &'static str,
    pub(super) form: KeyForm,
    pub(super) below: &'static [KeyRow],
}

/// The text of a default.
#[derive(Clone, Copy, Debug)]
pub(super) enum DefaultText {
    /// These words.
    Says(&'static str),
    /// It is made from the value.
    Shows(fn() -> String),
    /// The texts of some of the keys below it, which are at the level of this row.
    Each(&'static [(&'static str, &'static str)]),
}

/// A key that people expect in a section, and that it never has.
#[derive(Clone, Copy, Debug)]
pub(super) struct NeverKey {
    pub(super) name: &'static str,
    /// The reason.
    pub(super) why: &'static str,
    /// The alternative.
    pub(super) fix: &'static str,
}

impl KeyRow {
    /// Keys of another section at the same level.
    pub(super) const fn same_level(
        below: &'static [KeyRow],
        texts: &'static [(&'static str, &'static str)],
    ) -> KeyRow {
        KeyRow { name: "", default: DefaultText::Each(texts), meaning: "", form: KeyForm::Map, below }
    }

    /// Any name, with what it stands for.
    pub(super) const fn any_name(
        default: &'static str,
        meaning: &'static str,
        form: KeyForm,
        below: &'static [KeyRow],
    ) -> KeyRow {
        KeyRow { name: "NAME", default: DefaultText::Says(default), meaning, form, below }
    }
}

/// The smallest and the largest value of a measure, in its smallest unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MeasureBounds {
    /// The smallest.
    pub least: u64,
    /// The largest.
    pub most: u64,
}

/// The form of a key's value: the part of the loader's checks that an editor can do. A test makes sure that
/// it rejects nothing that the loader accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyForm {
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
    /// This word, or a list of the others, without repetition.
    WordOrSetOf(&'static str, &'static [&'static str]),
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

impl KeyForm {
    /// Its bounds, as its meaning says them.
    pub(super) fn show_bounds(self) -> String {
        let show = |bounds: MeasureBounds, units| {
            format!("{} to {}", show_measure(bounds.least, units), show_measure(bounds.most, units))
        };
        match self {
            KeyForm::Count(least, most) => format!("{least} to {most}"),
            KeyForm::Duration(bounds) => show(bounds, TIME_UNITS),
            KeyForm::Size(bounds) => show(bounds, SIZE_UNITS),
            KeyForm::Tokens(bounds) => show(bounds, THOUSANDS),
            _ => String::new(),
        }
    }
}

/// The unit of a number that has none, and of 0: the second one.
pub(super) fn usual_unit(units: &[(&'static str, u64)]) -> &'static str {
    units.get(1).map_or("", |(unit, _)| unit)
}

/// Writes a measure in the largest unit that divides it exactly.
pub(super) fn show_measure(value: u64, units: &[(&'static str, u64)]) -> String {
    let fits = |(_, factor): &&(&str, u64)| value.is_multiple_of(*factor);
    match units.iter().rev().find(fits) {
        Some((unit, factor)) if value != 0 => format!("{}{unit}", value / factor),
        _ => format!("{value}{}", usual_unit(units)),
    }
}
