//! The fields of a question, declared once: their names, their readers, and what a face says about them.

use crate::limits::MOST_ENTRIES;
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::time::Millis;
use systole_show::layout;

use super::{ArgumentMistake, QueryFault, QueryMoment};

/// A field that may be typed.
#[derive(Debug)]
pub struct QueryField {
    /// Its name: an option of the command, a field of a route, a field of a page.
    pub name: &'static str,
    /// What it does, on one line.
    pub about: &'static str,
    /// What its value is, in the help; empty if it takes none.
    pub metavar: &'static str,
    /// The words that it takes, if it takes only some. The first counts if none is typed.
    pub choices: &'static [&'static str],
    /// Where a command takes it.
    pub place: FieldPlace,
}

/// Where a command takes a field. A route and a page take each by its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldPlace {
    /// As an option.
    Option,
    /// By its place: what is asked about. If nothing is typed, it is the newest thread.
    Subject,
    /// The same, in place of all other fields.
    OnlySubject,
    /// By its place, if not everything is asked about.
    FreeSubject,
    /// As an option beside a free subject.
    WithSubject,
    /// Behind the subject, after `@`.
    BehindSubject,
    /// As an option: where a part of a long answer begins. A page has links in place of it.
    Part,
    /// As an option: how many items a part has.
    PartSize,
    /// As an option of the command alone, in place of JSON.
    InPlaceOfJson,
}

impl FieldPlace {
    /// The declared place, or that of the form.
    pub const fn choose_given(declared: &[FieldPlace], of_form: FieldPlace) -> FieldPlace {
        match declared {
            [place, ..] => *place,
            [] => of_form,
        }
    }

    /// Whether the field names what is asked about.
    pub fn is_subject(self) -> bool {
        matches!(self, FieldPlace::Subject | FieldPlace::OnlySubject | FieldPlace::FreeSubject)
    }
}

/// The form of a field: its one reader.
pub trait ArgumentForm {
    /// What is read.
    type Value;
    /// What the value is, in the help.
    const METAVAR: &'static str;
    /// The words that it takes, if it takes only some.
    const CHOICES: &'static [&'static str] = &[];
    /// Where a command takes it.
    const PLACE: FieldPlace = FieldPlace::Option;

    /// Reads the value of a field.
    fn read(field: &'static str, typed: &str, moment: &dyn QueryMoment) -> Result<Self::Value, QueryFault>;
}

/// The fields of a question, with their values.
pub trait QueryArguments: Sized {
    /// The fields, in order.
    const FIELDS: &'static [QueryField];

    /// Reads what was typed for each field.
    fn read(typed: &dyn Fn(&str) -> Option<String>, moment: &dyn QueryMoment) -> Result<Self, QueryFault>;
}

/// Declares the fields of a question: a struct with an optional value for each, and its rows for the faces. A field may
/// have another place than its form, as `thread as OnlySubject: TypedThread`.
#[macro_export]
macro_rules! arguments {
    ($(#[$doc:meta])* pub struct $name:ident {
        $($field:ident $(as $place:ident)?: $form:ty => $about:literal,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default)]
        pub struct $name {
            $(#[doc = $about] pub $field: Option<<$form as $crate::query::ArgumentForm>::Value>,)*
        }

        impl $crate::query::QueryArguments for $name {
            const FIELDS: &'static [$crate::query::QueryField] = &[
                $($crate::query::QueryField {
                    name: stringify!($field),
                    about: $about,
                    metavar: <$form as $crate::query::ArgumentForm>::METAVAR,
                    choices: <$form as $crate::query::ArgumentForm>::CHOICES,
                    place: $crate::query::FieldPlace::choose_given(
                        &[$($crate::query::FieldPlace::$place)?],
                        <$form as $crate::query::ArgumentForm>::PLACE,
                    ),
                },)*
            ];

            fn read(
                typed: &dyn Fn(&str) -> Option<String>,
                moment: &dyn $crate::query::QueryMoment,
            ) -> Result<$name, $crate::query::QueryFault> {
                let read = $name {
                    $($field: match typed(stringify!($field)) {
                        Some(text) => {
                            Some(<$form as $crate::query::ArgumentForm>::read(stringify!($field), &text, moment)?)
                        }
                        None => None,
                    },)*
                };
                read.check()?;
                Ok(read)
            }
        }
    };
}

/// A moment: a duration ago, a day, or a time.
pub enum TimePoint {}

/// Values of a moment. A time of day alone is for faces whose time zone is that of the reader.
const TIMES: &[&str] = &["10m", "14:30", "2026-11-21", "2026-11-21T14:30:00Z"];

impl ArgumentForm for TimePoint {
    type Value = Millis;
    const METAVAR: &'static str = "TIME";

    fn read(field: &'static str, typed: &str, moment: &dyn QueryMoment) -> Result<Millis, QueryFault> {
        layout::moment_of(typed, moment.now()).ok_or_else(|| {
            let words = "this is not a time".to_owned();
            ArgumentMistake::Unfit { field, value: typed.to_owned(), words, examples: TIMES }.into()
        })
    }
}

/// A listener or a client.
pub enum PartyName {}

impl ArgumentForm for PartyName {
    type Value = String;
    const METAVAR: &'static str = "NAME";

    fn read(field: &'static str, typed: &str, _: &dyn QueryMoment) -> Result<String, QueryFault> {
        Name::parse(typed).map(|name| name.to_string()).map_err(|_| {
            let words = "this is not a name".to_owned();
            ArgumentMistake::Unfit { field, value: typed.to_owned(), words, examples: &["coordinator"] }
                .into()
        })
    }
}

/// Any text.
pub enum FreeText {}

impl ArgumentForm for FreeText {
    type Value = String;
    const METAVAR: &'static str = "TEXT";

    fn read(_: &'static str, typed: &str, _: &dyn QueryMoment) -> Result<String, QueryFault> {
        Ok(typed.to_owned())
    }
}

/// A thread. It is always asked about, if no other place is declared.
pub enum TypedThread {}

impl ArgumentForm for TypedThread {
    type Value = ThreadId;
    const METAVAR: &'static str = "THREAD";
    const PLACE: FieldPlace = FieldPlace::Subject;

    fn read(_: &'static str, typed: &str, moment: &dyn QueryMoment) -> Result<ThreadId, QueryFault> {
        moment.thread(typed)
    }
}

/// A field without a value.
pub enum Flag {}

impl ArgumentForm for Flag {
    type Value = ();
    const METAVAR: &'static str = "";

    fn read(_: &'static str, _: &str, _: &dyn QueryMoment) -> Result<(), QueryFault> {
        Ok(())
    }
}

/// The number of a record of that thread.
pub enum RecordNumber {}

impl ArgumentForm for RecordNumber {
    type Value = u64;
    const METAVAR: &'static str = "N";
    const PLACE: FieldPlace = FieldPlace::BehindSubject;

    fn read(field: &'static str, typed: &str, _: &dyn QueryMoment) -> Result<u64, QueryFault> {
        let number = typed.parse().ok().filter(|_| typed.bytes().all(|byte| byte.is_ascii_digit()));
        number.ok_or_else(|| {
            let words = "this is not a whole number".to_owned();
            ArgumentMistake::Unfit { field, value: typed.to_owned(), words, examples: &[] }.into()
        })
    }
}

crate::arguments! {
    /// A thread, as of one of its records.
    pub struct RecordArguments {
        thread: TypedThread => "Its id, its beginning, or @last; with @N behind it as of record N",
        seq: RecordNumber => "As of this record",
    }
}

impl RecordArguments {
    fn check(&self) -> Result<(), ArgumentMistake> {
        Ok(())
    }
}

/// How many items a part of a long answer has at most.
pub enum ItemCount {}

impl ArgumentForm for ItemCount {
    type Value = usize;
    const METAVAR: &'static str = "COUNT";
    const PLACE: FieldPlace = FieldPlace::PartSize;

    fn read(field: &'static str, typed: &str, moment: &dyn QueryMoment) -> Result<usize, QueryFault> {
        let number = usize::try_from(RecordNumber::read(field, typed, moment)?).unwrap_or(usize::MAX);
        if (1..=MOST_ENTRIES).contains(&number) {
            return Ok(number);
        }
        let words = format!("a whole number from 1 to {MOST_ENTRIES}");
        Err(ArgumentMistake::Unfit { field, value: typed.to_owned(), words, examples: &[] }.into())
    }
}
