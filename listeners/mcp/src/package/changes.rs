//! What differs between two lists of packages.

use std::collections::{BTreeMap, BTreeSet};

use crate::limits;
use crate::schema::PinnedPackage;

/// The packages by name, each with its versions and hashes.
fn group_by_name(packages: &[PinnedPackage]) -> BTreeMap<&str, BTreeSet<(&str, &str)>> {
    let mut all: BTreeMap<&str, BTreeSet<(&str, &str)>> = BTreeMap::new();
    for one in packages {
        all.entry(&one.name).or_default().insert((&one.version, &one.integrity));
    }
    all
}

/// One line for each package that differs, by name.
#[must_use]
pub fn compare_packages(before: &[PinnedPackage], now: &[PinnedPackage]) -> Vec<String> {
    let (before, now) = (group_by_name(before), group_by_name(now));
    let versions = |of: &BTreeSet<(&str, &str)>| {
        let all: BTreeSet<&str> = of.iter().map(|(version, _)| *version).collect();
        all.into_iter().collect::<Vec<_>>().join(", ")
    };
    let names: BTreeSet<&str> = before.keys().chain(now.keys()).copied().collect();
    let line = |name: &str| match (before.get(name), now.get(name)) {
        (Some(before), Some(now)) if before == now => None,
        (Some(before), Some(now)) if versions(before) == versions(now) => {
            Some(format!("{name} {}: its archive has another hash", versions(now)))
        }
        (Some(before), Some(now)) => {
            Some(format!("{name}: was {}, is now {}", versions(before), versions(now)))
        }
        (Some(before), None) => Some(format!("{name} {}: was removed", versions(before))),
        (None, Some(now)) => Some(format!("{name} {}: is new", versions(now))),
        (None, None) => None,
    };
    let mut lines: Vec<String> = names.into_iter().filter_map(line).collect();
    if let Some(more) = lines.len().checked_sub(limits::DIFFERENCE_LINES).filter(|more| *more > 0) {
        lines.truncate(limits::DIFFERENCE_LINES);
        lines.push(format!("and {more} more packages"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g9_a_difference_of_packages_names_each_with_its_versions() {
        let packages = |text: &str| -> Vec<PinnedPackage> {
            let one = |word: &str| {
                let (name, rest) = word.split_once('=').unwrap();
                let (version, hash) = rest.split_once('#').unwrap_or((rest, "h"));
                PinnedPackage { name: name.into(), version: version.into(), integrity: hash.into() }
            };
            text.split_whitespace().map(one).collect()
        };
        let lines =
            compare_packages(&packages("a=1 b=1 c=1 d=1 d=2 e=1#x"), &packages("a=1 b=2 d=2 e=1#y f=3"));
        let wanted = [
            "b: was 1, is now 2",
            "c 1: was removed",
            "d: was 1, 2, is now 2",
            "e 1: its archive has another hash",
            "f 3: is new",
        ];
        assert_eq!(lines, wanted);
        let many: String = (0..60).map(|n| format!("p{n:02}=1 ")).collect();
        let lines = compare_packages(&[], &packages(&many));
        assert_eq!((lines.len(), lines.last().unwrap().as_str()), (41, "and 20 more packages"));
    }
}
