//! The fields of a reading route's query. Unknown fields, fields that are given twice and values of another form are
//! refused by name.

use std::collections::BTreeMap;

use axum::extract::Query;

use super::refusals::ReadRefusal;
use crate::http_state::ParsedQuery;
use crate::limits::ADDRESS_BYTES;
use crate::request_refusals::describe_unfit_address;
use systole_core::types::ports::Position;
use systole_core::types::time::Millis;
use systole_show::layout;

/// A query as it came.
pub type RawFields = ParsedQuery<Vec<(String, String)>>;

/// The fields of a query.
pub struct QueryFields(BTreeMap<String, String>);

fn wrong(words: String) -> ReadRefusal {
    ReadRefusal::unfit(describe_unfit_address(words))
}

impl QueryFields {
    /// The fields, of those that the route knows.
    pub fn of(query: RawFields, known: &[&str]) -> Result<QueryFields, ReadRefusal> {
        let Ok(Query(pairs)) = query else {
            return Err(wrong("the query is not in the form name=value&name=value".to_owned()));
        };
        let mut fields = BTreeMap::new();
        for (name, value) in pairs {
            if !known.contains(&name.as_str()) {
                let name: String = name.chars().take(40).collect();
                let refusal = describe_unfit_address(format!("{name}: this route has no such query field"));
                let fix = match known {
                    [] => "the address without a query".to_owned(),
                    known => format!("one of: {}", known.join(", ")),
                };
                return Err(ReadRefusal::unfit(refusal.fixed_by(fix)));
            }
            if value.len() > ADDRESS_BYTES {
                return Err(wrong(format!("{name}: the value is longer than {ADDRESS_BYTES} bytes")));
            }
            if fields.contains_key(&name) {
                return Err(wrong(format!("{name}: may be given once")));
            }
            fields.insert(name, value);
        }
        Ok(QueryFields(fields))
    }

    /// The same with the parts of the path.
    pub(crate) fn with_parts(mut self, parts: BTreeMap<String, String>) -> QueryFields {
        self.0.extend(parts);
        self
    }

    /// The text of a field.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The whole number of a field.
    pub fn number(&self, name: &str) -> Result<Option<u64>, ReadRefusal> {
        let number = |value: &str| {
            let is_plain = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
            let read = value.parse().ok().filter(|_| is_plain);
            read.ok_or_else(|| wrong(format!("{name}: this is not a whole number")))
        };
        self.text(name).map(number).transpose()
    }

    /// The number of a record, which begins with 1.
    pub fn ordinal(&self, name: &str) -> Result<Option<u64>, ReadRefusal> {
        match self.number(name)? {
            Some(0) => Err(wrong(format!("{name}: a whole number from 1"))),
            number => Ok(number),
        }
    }

    /// Whether a field says true.
    pub fn flag(&self, name: &str) -> Result<bool, ReadRefusal> {
        match self.text(name) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(wrong(format!("{name}: true or false"))),
        }
    }

    /// How many are wanted, between 1 and the most.
    pub fn limit(&self, unless_given: usize, most: usize) -> Result<usize, ReadRefusal> {
        let limit = self.number("limit")?.map_or(unless_given, |n| usize::try_from(n).unwrap_or(usize::MAX));
        if (1..=most).contains(&limit) {
            return Ok(limit);
        }
        Err(wrong(format!("limit: a whole number from 1 to {most}")))
    }

    /// A moment: `2h` ago, a day, or a time.
    pub fn moment(&self, name: &str, now: Millis) -> Result<Option<Millis>, ReadRefusal> {
        let read = |text: &str| {
            let refused = || wrong(format!("{name}: this is not a time"));
            layout::moment_of(text, now).ok_or_else(|| {
                refused().fixed_by(format!("{name}=10m, {name}=2026-11-21 or {name}=2026-11-21T14:30:00Z"))
            })
        };
        self.text(name).map(read).transpose()
    }

    /// A period whose end is after its beginning.
    pub fn period(&self, now: Millis) -> Result<(Option<Millis>, Option<Millis>), ReadRefusal> {
        let (since, until) = (self.moment("since", now)?, self.moment("until", now)?);
        if since.zip(until).is_some_and(|(since, until)| since >= until) {
            return Err(wrong("until: it is not after since".to_owned()));
        }
        Ok((since, until))
    }

    /// The position of the moment that is read.
    pub fn at(&self) -> Result<Option<Position>, ReadRefusal> {
        Ok(self.number("at")?.map(Position))
    }
}
