//! The names that were probably meant by one that does not exist.
//!
//! A name and the known ones come in; a few of them go out, best first.

use systole_kit::schema;

use crate::limits;

/// The names that a missing name probably means.
pub(crate) fn find_nearest(missing: &str, known: &[&str]) -> Vec<String> {
    let lower = missing.to_lowercase();
    let mut found: Vec<String> = Vec::new();
    let mut add = |name: &str| {
        if !found.iter().any(|there| there == name) && found.len() < limits::NEAREST {
            found.push(name.to_owned());
        }
    };
    known.iter().filter(|name| name.to_lowercase() == lower).for_each(|name| add(name));
    schema::find_nearest(missing, known.iter().copied()).into_iter().for_each(&mut add);
    let holds = |name: &&&str| name.to_lowercase().contains(&lower) || lower.contains(&name.to_lowercase());
    known.iter().filter(|name| name.len() > 2).filter(holds).for_each(|name| add(name));
    found
}
