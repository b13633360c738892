//! The names that were probably meant by one that does not exist.
//!
//! A name and the known ones come in; a few of them go out, best first.

use systole_kit::schema;

use crate::limits;

/// The paths that a missing path probably means.
pub(crate) fn paths(missing: &str, known: &[String]) -> Vec<String> {
    let file = missing.rsplit('/').next().unwrap_or(missing);
    let lower = file.to_lowercase();
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_lowercase();
    // A file of the same name elsewhere is the likeliest.
    let mut found: Vec<String> = known.iter().filter(|path| name(path) == lower).cloned().collect();
    found.sort_by_key(|path| (std::cmp::Reverse(shared_parts(missing, path)), path.clone()));
    let mut names: Vec<String> = known.iter().map(|path| name(path)).collect();
    names.sort_unstable();
    names.dedup();
    if let Some(near) = schema::nearest(&lower, names.iter().map(String::as_str)) {
        let mut near: Vec<&String> = known.iter().filter(|path| name(path) == near).collect();
        near.sort_by_key(|path| (std::cmp::Reverse(shared_parts(missing, path)), (*path).clone()));
        for path in near {
            if !found.contains(path) {
                found.push(path.clone());
            }
        }
    }
    found.truncate(limits::NEAREST);
    found
}

/// How many parts two paths have in common.
fn shared_parts(one: &str, other: &str) -> usize {
    let parts: Vec<&str> = one.split('/').collect();
    other.split('/').filter(|part| parts.contains(part)).count()
}

/// The names that a missing name probably means.
pub(crate) fn names(missing: &str, known: &[&str]) -> Vec<String> {
    let lower = missing.to_lowercase();
    let mut found: Vec<String> = Vec::new();
    let mut add = |name: &str| {
        if !found.iter().any(|there| there == name) && found.len() < limits::NEAREST {
            found.push(name.to_owned());
        }
    };
    known.iter().filter(|name| name.to_lowercase() == lower).for_each(|name| add(name));
    schema::nearest(missing, known.iter().copied()).into_iter().for_each(&mut add);
    let holds = |name: &&&str| name.to_lowercase().contains(&lower) || lower.contains(&name.to_lowercase());
    known.iter().filter(|name| name.len() > 2).filter(holds).for_each(|name| add(name));
    found
}
