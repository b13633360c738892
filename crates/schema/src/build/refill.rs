//! Changes some values of a payload and keeps the others.
//!
//! A payload and `name=value` arguments come in; the payload with these values goes out. An argument replaces the value
//! that has its name, and all values of a repeated name if it names none of them by its number. A name that the payload
//! does not have yet adds a value. The builder of the command line makes the payload, so the same mistakes are found.

use std::collections::BTreeMap;

use super::fields::find_name;
use super::given::ValueSlip;
use crate::SchemaModel;
use crate::form::JsonRecord;

impl SchemaModel {
    /// The values of a payload as arguments of the command line, in its order. `None` if it has no form.
    pub fn to_fields(&self, payload: &[u8]) -> Option<Vec<String>> {
        let values = self.form_values(payload).ok()?;
        let mut named: Vec<(&str, &str)> = values.iter().collect();
        named.sort_by_key(|(name, _)| sort_by_numbers(name));
        Some(named.iter().filter_map(|(name, value)| write_argument(name, value)).collect())
    }

    /// A payload of a global element with some of its values changed. `None` if no arguments make the payload as it is.
    ///
    /// # Errors
    /// Every error, with all missing parts at once.
    pub fn change_fields(
        &self,
        element: &str,
        payload: &[u8],
        arguments: &[&str],
    ) -> Option<Result<Vec<u8>, Vec<ValueSlip>>> {
        let own = self.to_fields(payload)?;
        let own: Vec<&str> = own.iter().map(String::as_str).collect();
        let same = self.from_fields(element, &own)?.ok()?;
        if self.to_json(&same).ok()? != self.to_json(payload).ok()? {
            return None;
        }
        let record = JsonRecord::of_root(&self.schema, self.schema.find_global(element)?.of);
        let name = |argument| find_name(&record, argument);
        let names: Vec<&str> =
            own.iter().map(|own| own.split_once('=').map_or(*own, |(name, _)| name)).collect();
        let (mut replaced, mut given) = (vec![false; own.len()], BTreeMap::<usize, Vec<&str>>::new());
        for argument in arguments {
            let places = find_places(&names, name(argument));
            given.entry(places.first().copied().unwrap_or(own.len())).or_default().push(argument);
            replaced
                .iter_mut()
                .enumerate()
                .filter(|(at, _)| places.contains(at))
                .for_each(|(_, is)| *is = true);
        }
        let mut fields = Vec::with_capacity(own.len() + arguments.len());
        for (at, (own, is_replaced)) in own.iter().zip(replaced).enumerate() {
            fields.extend(given.remove(&at).into_iter().flatten());
            fields.extend((!is_replaced).then_some(*own));
        }
        fields.extend(given.into_values().flatten());
        self.from_fields(element, &fields)
    }
}

/// The values that an argument with this name replaces.
fn find_places(names: &[&str], name: &str) -> Vec<usize> {
    let loose = write_loosely(name);
    let has = |is_it: &dyn Fn(&str) -> bool| -> Vec<usize> {
        names.iter().enumerate().filter(|(_, own)| is_it(own)).map(|(at, _)| at).collect()
    };
    let ways: [&dyn Fn(&str) -> bool; 3] = [&|own| own == name, &|own| write_loosely(own) == loose, &|own| {
        leave_out_numbers(&write_loosely(own)) == loose
    }];
    ways.into_iter().map(has).find(|places| !places.is_empty()).unwrap_or_default()
}

/// A name without what may be left out of it: the sign of an attribute, and the name of the items of a list.
fn write_loosely(name: &str) -> String {
    name.replace(".item[", "[").replace('@', "")
}

fn leave_out_numbers(name: &str) -> String {
    name.split('[')
        .enumerate()
        .map(|(at, part)| match part.split_once(']') {
            Some((_, rest)) if at > 0 => rest,
            _ => part,
        })
        .collect()
}

/// A name that sorts by the numbers in it.
fn sort_by_numbers(name: &str) -> String {
    let padded = |part: &str| match part.split_once(']') {
        Some((digits, rest)) => format!("[{digits:0>6}]{rest}"),
        None => part.to_owned(),
    };
    name.split('[').map(padded).collect()
}

/// A posted value as an argument: `/order/line[2]/sku` is `line[2].sku`.
fn write_argument(name: &str, value: &str) -> Option<String> {
    let (_, inner) = name.trim_start_matches('/').split_once('/')?;
    let is_choice = inner.rsplit('/').next().is_some_and(|last| last.starts_with('?') || last == "+");
    let inner = inner.strip_suffix("/.").unwrap_or(inner);
    (!is_choice).then(|| format!("{}={value}", inner.replace('/', ".")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_posted_name_is_an_argument() {
        assert_eq!(write_argument("/order/line[2]/@n", "7").as_deref(), Some("line[2].@n=7"));
        assert_eq!(write_argument("/say/.", "hi").as_deref(), Some(".=hi"));
        assert_eq!(write_argument("/order/?.0", "1"), None);
        assert!(sort_by_numbers("/order/line[2]/sku") < sort_by_numbers("/order/line[10]/sku"));
    }
}
