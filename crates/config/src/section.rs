//! A section of the file, declared once. `section!` makes its struct, its reader, and the rows from which the JSON
//! Schema for editors, the page of the reference and `--set` know its keys.
//!
//! ```text
//! section! {
//!     /// How a failed request is repeated.
//!     RetryKeys "how failed requests are repeated" never ["tries": "it has another name", "attempts";] {
//!         attempts: default(4) <CountWithin<1, 100>> "requests for one answer, {bounds}";
//!     }
//! }
//! ```
//!
//! A row is the key, what holds without it, the form of its value, and its meaning. The words before the form are:
//!
//! - `required(FIX)`: a file without it is refused with this fix
//! - `optional(TEXT)`: `None` without it; the text says what then holds
//! - `default(VALUE)`: this value holds without it; its text is made from the value
//! - `below`: another section, whose own defaults hold without it
//! - `same(TEXTS)`: the keys of another section at the same level, some with other texts of defaults
//!
//! Behind the name of a section with mistakes between its keys stands `with own`: a field for the keys that are set.
//!
//! Rows are read from top to bottom, so mistakes at one place have this order. A key that is declared twice does not
//! compile, and a key that nothing reads is a warning. A default that its form refuses fails
//! `every_default_is_what_its_form_reads`.

use super::diagnostics::Diagnostics;
use super::key::{ConfigKey, DefaultText, KeyForm, KeyRow, NeverKey};
use super::tree::{Node, Span};
use super::value::{At, Fields, KnownKeys, join_path, read_fields};

/// A form of values: how the file writes them, and how they are read.
pub(super) trait Form {
    /// What a value is read into.
    type Value;
    /// What an editor can check.
    const FORM: KeyForm;
    /// The keys below a value.
    const BELOW: &'static [KeyRow] = &[];

    /// Reads a value. `None` after a mistake was reported.
    fn read(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Self::Value>;

    /// Writes a value, for the text of a default. A form without words for its values has no other default than `none`.
    fn show(_value: &Self::Value) -> String {
        "none".to_owned()
    }
}

/// Declares a form with its reader, words for its defaults if it has any, and the keys below it if there are some.
macro_rules! form {
    ($(#[$doc:meta])* $vis:vis $name:ident -> $value:ty {
        $form:expr, $read:expr $(, show $show:expr)? $(, below $below:expr)?
    }) => {
        $(#[$doc])*
        $vis struct $name;

        impl $crate::section::Form for $name {
            type Value = $value;
            const FORM: $crate::key::KeyForm = $form;
            $(const BELOW: &'static [$crate::key::KeyRow] = $below;)?

            fn read(
                diagnostics: &mut $crate::diagnostics::Diagnostics,
                node: &$crate::tree::Node,
                path: &str,
            ) -> Option<$value> {
                $read(diagnostics, node, path)
            }

            $(fn show(value: &$value) -> String {
                $show(value)
            })?
        }
    };
}
pub(crate) use form;

/// A section that `section!` declares. Its default is the section without any key.
pub(super) trait SectionKeys: Default {
    /// Its meaning, where it is one of several by name.
    const ABOUT: &'static str;
    /// Its keys.
    const ROWS: &'static [KeyRow];
    /// Keys that people expect in it, and that it never has.
    const NEVER: &'static [NeverKey];

    /// Reads the values of a map whose keys were checked.
    fn take(diagnostics: &mut Diagnostics, own: &Fields<'_>) -> Self;

    /// Checks the keys of a map. `at` is where a missing one is reported.
    fn fields<'n>(diagnostics: &mut Diagnostics, node: &'n Node, at: Span, path: &str) -> Option<Fields<'n>> {
        read_fields(diagnostics, node, at, &KnownKeys::from_rows(Self::ROWS, Self::NEVER), path)
    }

    /// Reads a map of these keys.
    fn read_at(diagnostics: &mut Diagnostics, node: &Node, at: Span, path: &str) -> Option<Self> {
        let own = Self::fields(diagnostics, node, at, path)?;
        Some(Self::take(diagnostics, &own))
    }
}

/// The value of a key that has a default.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyValue<T> {
    /// The value of the file, or the default if that has none or a wrong one.
    pub(super) value: T,
    /// The place of a value of the file.
    pub(super) at: Option<Span>,
}

/// Reads a key that may be absent.
pub(super) fn read_key<F: Form>(
    diagnostics: &mut Diagnostics,
    own: &Fields<'_>,
    key: &str,
) -> Option<At<F::Value>> {
    let (node, path) = own.get(key)?;
    F::read(diagnostics, node, &path).map(|value| At { at: node.span, value })
}

/// Reads a key that has a default.
pub(super) fn read_or<F: Form>(
    diagnostics: &mut Diagnostics,
    own: &Fields<'_>,
    key: &str,
    default: F::Value,
) -> KeyValue<F::Value> {
    match read_key::<F>(diagnostics, own, key) {
        Some(At { at, value }) => KeyValue { value, at: Some(at) },
        None => KeyValue { value: default, at: None },
    }
}

/// The name of a key that Rust writes with `r#`, because it is a word of the language.
pub(super) const fn name_key(written: &'static str) -> &'static str {
    match written.as_bytes() {
        [b'r', b'#', ..] => written.split_at(2).1,
        // The name of a protocol is written as its authors write it.
        b"ag_ui" => "ag-ui",
        _ => written,
    }
}

/// Adds the keys of these rows to a table, each before those below it.
pub(super) fn list_keys(rows: &[KeyRow], path: &str, table: &mut Vec<ConfigKey>) {
    for row in rows {
        if let DefaultText::Each(texts) = row.default {
            let first = table.len();
            list_keys(row.below, path, table);
            for key in table.iter_mut().skip(first) {
                let text = texts.iter().find(|(name, _)| join_path(path, name) == key.path);
                key.default = text.map_or(key.default, |(_, text)| text);
            }
            continue;
        }
        // The table is made once and lives as long as the program.
        let own_path: &str = join_path(path, row.name).leak();
        let default = match row.default {
            DefaultText::Says(text) => text,
            DefaultText::Shows(show) => show().leak(),
            DefaultText::Each(_) => "",
        };
        let meaning = match row.meaning.contains(BOUNDS) {
            true => row.meaning.replace(BOUNDS, &row.form.show_bounds()).leak(),
            false => row.meaning,
        };
        table.push(ConfigKey { path: own_path, default, meaning, form: row.form });
        list_keys(row.below, own_path, table);
    }
}

/// What becomes the bounds of the form, in the meaning of a key.
const BOUNDS: &str = "{bounds}";

/// Declares a section. The head of this file says how.
macro_rules! section {
    (
        $(#[$doc:meta])*
        $vis:vis $name:ident $($about:literal)? $(with $own:ident)?
        $(never [$($never:literal: $why:expr, $instead:expr;)*])?
        { $($key:ident: $kind:ident $(($says:expr))? <$form:ty> $meaning:expr;)* }
    ) => {
        $(#[$doc])*
        $vis struct $name {
            $($vis $key: $crate::section::section!(@type $kind $form),)*
            $(
                /// The keys that the file sets.
                $vis $own: $crate::value::SetKeys,
            )?
        }

        impl Default for $name {
            fn default() -> $name {
                $name {
                    $($key: $crate::section::section!(@absent $kind ($($says)?)),)*
                    $($own: $crate::value::SetKeys::default(),)?
                }
            }
        }

        impl $crate::section::SectionKeys for $name {
            const ABOUT: &'static str = concat!($($about)?);
            const ROWS: &'static [$crate::key::KeyRow] = &[
                $($crate::section::section!(@row $kind $key ($($says)?) $form, $meaning),)*
            ];
            const NEVER: &'static [$crate::key::NeverKey] = &[
                $($($crate::key::NeverKey { name: $never, why: $why, fix: $instead },)*)?
            ];

            fn take(diagnostics: &mut $crate::diagnostics::Diagnostics, own: &$crate::value::Fields<'_>) -> $name {
                $name {
                    $($key: $crate::section::section!(@read $kind $key ($($says)?) $form, diagnostics, own),)*
                    $($own: own.set.clone(),)?
                }
            }
        }

        impl $crate::section::Form for $name {
            type Value = $name;
            const FORM: $crate::key::KeyForm = $crate::key::KeyForm::Map;
            const BELOW: &'static [$crate::key::KeyRow] = <$name as $crate::section::SectionKeys>::ROWS;

            fn read(
                diagnostics: &mut $crate::diagnostics::Diagnostics,
                node: &$crate::tree::Node,
                path: &str,
            ) -> Option<$name> {
                <$name as $crate::section::SectionKeys>::read_at(diagnostics, node, node.span, path)
            }
        }
    };

    (@name $key:ident) => { const { $crate::section::name_key(stringify!($key)) } };

    (@type default $form:ty) => { $crate::section::KeyValue<<$form as $crate::section::Form>::Value> };
    (@type below $form:ty) => { $form };
    (@type same $form:ty) => { $form };
    (@type $kind:ident $form:ty) => { Option<$crate::value::At<<$form as $crate::section::Form>::Value>> };

    (@absent default ($value:expr)) => { $crate::section::KeyValue { value: $value, at: None } };
    (@absent $kind:ident ($($says:expr)?)) => { Default::default() };

    (@read required $key:ident ($fix:expr) $form:ty, $diagnostics:ident, $own:ident) => {{
        $own.report_missing($diagnostics, $crate::section::section!(@name $key), $fix);
        $crate::section::section!(@read optional $key () $form, $diagnostics, $own)
    }};
    (@read optional $key:ident ($($text:expr)?) $form:ty, $diagnostics:ident, $own:ident) => {
        $crate::section::read_key::<$form>($diagnostics, $own, $crate::section::section!(@name $key))
    };
    (@read default $key:ident ($value:expr) $form:ty, $diagnostics:ident, $own:ident) => {
        $crate::section::read_or::<$form>($diagnostics, $own, $crate::section::section!(@name $key), $value)
    };
    (@read below $key:ident () $form:ty, $diagnostics:ident, $own:ident) => {
        $crate::section::section!(@read optional $key () $form, $diagnostics, $own)
            .map(|found| found.value)
            .unwrap_or_default()
    };
    (@read same $key:ident ($texts:expr) $form:ty, $diagnostics:ident, $own:ident) => {
        <$form as $crate::section::SectionKeys>::take($diagnostics, $own)
    };

    (@row required $key:ident ($fix:expr) $form:ty, $meaning:expr) => {
        $crate::section::section!(@row optional $key ("required") $form, $meaning)
    };
    (@row default $key:ident ($value:expr) $form:ty, $meaning:expr) => {
        $crate::key::KeyRow {
            default: $crate::key::DefaultText::Shows(|| <$form as $crate::section::Form>::show(&$value)),
            ..$crate::section::section!(@row optional $key ("") $form, $meaning)
        }
    };
    (@row below $key:ident () $form:ty, $meaning:expr) => {
        $crate::section::section!(@row optional $key ("as its keys") $form, $meaning)
    };
    (@row same $key:ident ($texts:expr) $form:ty, $meaning:expr) => {
        $crate::key::KeyRow::same_level(<$form as $crate::section::SectionKeys>::ROWS, $texts)
    };
    (@row $kind:ident $key:ident ($text:expr) $form:ty, $meaning:expr) => {
        $crate::key::KeyRow {
            name: $crate::section::section!(@name $key),
            default: $crate::key::DefaultText::Says($text),
            meaning: $meaning,
            form: <$form as $crate::section::Form>::FORM,
            below: <$form as $crate::section::Form>::BELOW,
        }
    };
}
pub(crate) use section;
