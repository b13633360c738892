//! Variables in a text: `$x`, or `{x}` in older files. Each becomes words that name a field of the request or of an
//! earlier goal, since an agent sees both in its context.
//!
//! Input: a text, and the variables known at its place. Output: the text with words, and the goals that it needs to
//! see.

use std::collections::BTreeMap;

use super::declarations::Declared;

/// The meaning of variables at one place.
pub(super) struct Known<'d> {
    pub(super) declared: &'d Declared,
    /// The step that gives each field.
    pub(super) fields: BTreeMap<String, String>,
}

/// A text in which every known variable has become words.
#[derive(Default, PartialEq, Eq, Debug)]
pub(super) struct Worded {
    pub(super) text: String,
    /// The steps that give these fields, in order.
    pub(super) sees: Vec<String>,
    /// Unknown variables.
    pub(super) unknown: Vec<String>,
}

/// Replaces the variables of a text by words.
pub(super) fn find_words(text: &str, known: &Known<'_>) -> Worded {
    let mut made = Worded::default();
    let mut named: Vec<String> = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['$', '{']) {
        let (before, from) = rest.split_at(at);
        made.text.push_str(before);
        let is_dollar = from.starts_with('$');
        let inside = from.get(1..).unwrap_or_default();
        let end =
            inside.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-')).unwrap_or(inside.len());
        let whole = inside.get(..end).unwrap_or_default();
        let name = known
            .longest(whole, is_dollar)
            .filter(|name| is_dollar || inside.get(name.len()..).is_some_and(|rest| rest.starts_with('}')));
        let Some(name) = name else {
            made.text.push_str(from.get(..1).unwrap_or_default());
            rest = inside;
            let word = whole.split('-').next().unwrap_or_default();
            if is_dollar
                && word.starts_with(|c: char| c.is_alphabetic() || c == '_')
                && !made.unknown.iter().any(|one| one == word)
            {
                made.unknown.push(word.to_owned());
            }
            continue;
        };
        rest = inside.get(name.len() + usize::from(!is_dollar)..).unwrap_or_default();
        made.text.push_str(&format!("<{name}>"));
        if !named.iter().any(|one| one == name) {
            named.push(name.to_owned());
            made.text.push_str(&known.origin(name));
        }
        if let Some(step) = known.fields.get(name)
            && !made.sees.contains(step)
        {
            made.sees.push(step.clone());
        }
    }
    made.text.push_str(rest);
    made
}

impl Known<'_> {
    /// The longest known prefix: a variable may be followed by a hyphen that does not belong to its name.
    fn longest<'w>(&self, word: &'w str, is_dollar: bool) -> Option<&'w str> {
        let mut word = word;
        loop {
            if self.fields.contains_key(word) || self.declared.input(word).is_some() {
                return Some(word);
            }
            word = word.get(..word.rfind('-').filter(|_| is_dollar)?)?;
        }
    }

    /// The source of a variable.
    fn origin(&self, name: &str) -> String {
        if let Some(step) = self.fields.get(name) {
            return format!(" of {step}");
        }
        let default =
            self.declared.input(name).and_then(|input| input.default.as_deref()).unwrap_or_default();
        match default.trim() {
            "" => " of the request".to_owned(),
            default => format!(" of the request (if it has none: {default})"),
        }
    }
}
