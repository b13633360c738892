//! The values of a form by their posted names, with hard limits because posted data may be hostile.
//!
//! Pairs of name and value come in; lookups go out. It knows no schema.

use std::collections::{BTreeMap, BTreeSet};

use super::FormMistake;
use crate::limits::{self, FORM_BYTES, FORM_ENTRIES, FORM_FIELDS, FORM_NAME_BYTES};

/// Posted values, or those of a payload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FormValues {
    /// The values that are not empty.
    given: BTreeMap<String, String>,
    /// The largest number under which each repeated part was shown or filled.
    places: BTreeMap<String, usize>,
    /// The repeated parts that get one more place.
    more: BTreeSet<String>,
    is_posted: bool,
}

impl FormValues {
    /// Values as a page posts them. Names that do not begin with `/` belong to the page and are ignored.
    ///
    /// # Errors
    /// If a name comes twice, or there is too much of anything.
    pub fn from_pairs(pairs: impl IntoIterator<Item = (String, String)>) -> Result<Self, FormMistake> {
        let mut values = Self { is_posted: true, ..Self::default() };
        let (mut count, mut bytes, mut known) = (0_usize, 0_usize, BTreeSet::new());
        for (name, value) in pairs.into_iter().filter(|(name, _)| name.starts_with('/')) {
            count = count.saturating_add(1);
            bytes = bytes.saturating_add(value.len());
            if count > FORM_FIELDS || bytes > FORM_BYTES {
                return Err(too_large());
            }
            if name.len() > FORM_NAME_BYTES
                || name.matches('[').count() > limits::FORM_FILLED_DEPTH.saturating_mul(2)
            {
                return Err(make_mistake(
                    "the name of a field is too long",
                    format!("at most {FORM_NAME_BYTES} bytes"),
                ));
            }
            // Browsers send line ends as two characters; XML reads them as one.
            values.put(&name, &value.replace("\r\n", "\n"));
            if !known.insert(name) {
                return Err(make_mistake("a field comes twice", "each field once".to_owned()));
            }
        }
        Ok(values)
    }

    /// The same values, and one more place for a repeated part.
    #[must_use]
    pub fn with_more(mut self, name: &str) -> Self {
        self.more.insert(name.to_owned());
        self
    }

    /// The names and values, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.given.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    pub(super) fn put(&mut self, name: &str, value: &str) {
        for (at, _) in name.match_indices('[') {
            let (before, behind) = name.split_at(at);
            let digits = behind.get(1..).and_then(|rest| rest.split_once(']')).map(|(digits, _)| digits);
            let number = digits.and_then(|digits| Some((digits, digits.parse::<usize>().ok()?)));
            if let Some((digits, number)) = number
                && (1..=FORM_ENTRIES).contains(&number)
                && number.to_string() == digits
            {
                let largest = self.places.entry(before.to_owned()).or_default();
                *largest = number.max(*largest);
            }
        }
        if !value.is_empty() {
            self.given.insert(name.to_owned(), value.to_owned());
        }
    }

    pub(super) fn get(&self, name: &str) -> &str {
        self.given.get(name).map_or("", String::as_str)
    }

    /// Whether any value is inside a part.
    pub(super) fn has_inside(&self, name: &str) -> bool {
        let inside = format!("{name}/");
        let next = self.given.range(inside.clone()..).next();
        next.is_some_and(|(known, _)| known.starts_with(&inside))
    }

    /// How many places of a repeated part are shown, if `least` are needed.
    pub(super) fn count_places(&self, name: &str, least: usize) -> usize {
        let known = self.places.get(name).copied().unwrap_or_default();
        let blank = usize::from(!(self.is_posted && known > 0) || self.more.contains(name));
        known.max(least).saturating_add(blank).min(FORM_ENTRIES)
    }

    /// The largest number of a repeated part that has a value, shown or not.
    pub(super) fn count_filled(&self, name: &str) -> usize {
        let known = self.places.get(name).copied().unwrap_or_default();
        let has_value = |at: &usize| {
            let place = format!("{name}[{at}]");
            self.given.contains_key(&place) || self.has_inside(&place)
        };
        (1..=known).rev().find(has_value).unwrap_or_default()
    }

    /// Whether no place of a repeated part was shown or filled.
    pub(super) fn is_blank(&self, name: &str) -> bool {
        !self.places.contains_key(name)
    }

    pub(super) fn len(&self) -> usize {
        self.given.len()
    }
}

pub(super) fn make_mistake(message: &str, expected: String) -> FormMistake {
    FormMistake { name: String::new(), message: message.to_owned(), expected }
}

pub(super) fn too_large() -> FormMistake {
    let expected = format!("at most {FORM_FIELDS} fields, {FORM_ENTRIES} of one name and {FORM_BYTES} bytes");
    make_mistake("this is too large for a form: send it as XML", expected)
}
