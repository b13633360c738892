//! Labels of child threads: the suggested label if it is free, else with a suffix; a short
//! generated one without a suggestion. The memory stays bounded no matter how many children a root
//! has in its life: after the bound, every label gets a number that no earlier child can have.

use std::collections::BTreeMap;

use crate::types::ids::{ThreadId, is_label};
use crate::types::limits;

/// The label of the next child.
pub fn choose_label(taken: &BTreeMap<String, u32>, spawns: u32, suggested: Option<&str>) -> String {
    let (base, joint, bare) = match suggested.filter(|label| is_label(label)) {
        Some(label) => (label, "-", taken.len() < limits::LABELS && is_free(taken, label)),
        None => ("c", "", false),
    };
    if bare {
        return base.to_owned();
    }
    let first = match taken.get(base) {
        Some(next) if taken.len() < limits::LABELS => *next,
        _ => spawns.saturating_add(1),
    };
    (first..)
        .map(|number| with_suffix(base, joint, number))
        .find(|label| is_free(taken, label))
        .unwrap_or_else(|| base.to_owned())
}

fn with_suffix(base: &str, joint: &str, number: u32) -> String {
    let suffix = [joint, &number.to_string()].concat();
    let kept = base.get(..limits::LABEL_BYTES.saturating_sub(suffix.len())).unwrap_or(base);
    [kept, &suffix].concat()
}

/// A label is free if it was not given out and is not a suffixed form of one that was.
fn is_free(taken: &BTreeMap<String, u32>, label: &str) -> bool {
    let given = |base: &str, number: &str| {
        let next = taken.get(base).copied().unwrap_or(0);
        number.parse::<u32>().is_ok_and(|n| n < next)
    };
    !taken.contains_key(label) && !label.rsplit_once('-').is_some_and(|(base, number)| given(base, number))
}

/// Remembers a child's label.
pub fn remember_child(taken: &mut BTreeMap<String, u32>, child: &ThreadId) {
    let Some((_, label)) = child.as_str().rsplit_once('.') else { return };
    if let Some((base, number)) = label.rsplit_once('-')
        && let (Some(next), Ok(number)) = (taken.get_mut(base), number.parse::<u32>())
    {
        *next = (*next).max(number.saturating_add(1));
        return;
    }
    if taken.len() < limits::LABELS {
        taken.insert(label.to_owned(), 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn b4_labels_collide_into_suffixes() {
        let mut taken = BTreeMap::new();
        let mut given = Vec::new();
        for (n, suggested) in
            [Some("heat"), Some("heat"), Some("heat-1"), Some("heat"), None, None, Some("Bad/..")]
                .iter()
                .enumerate()
        {
            let label = choose_label(&taken, u32::try_from(n).unwrap(), *suggested);
            remember_child(
                &mut taken,
                &ThreadId::parse("sess-1f0c9a2b77d1").unwrap().make_child(&label).unwrap(),
            );
            given.push(label);
        }
        assert_eq!(given, ["heat", "heat-1", "heat-1-3", "heat-2", "c5", "c6", "c7"]);
    }

    #[test]
    fn labels_stay_unique_past_what_is_remembered() {
        let (mut taken, mut given) = (BTreeMap::new(), BTreeSet::new());
        let root = ThreadId::parse("sess-1f0c9a2b77d1").unwrap();
        for n in 0..2000u32 {
            let suggested = match n % 4 {
                0 => Some(format!("l{n}")),
                1 => Some("same".to_owned()),
                2 => Some(format!("same-{}", (n / 8))),
                _ => None,
            };
            let label = choose_label(&taken, n, suggested.as_deref());
            assert!(is_label(&label) && given.insert(label.clone()), "{label} twice");
            remember_child(&mut taken, &root.make_child(&label).unwrap());
        }
        assert!(taken.len() <= limits::LABELS);
    }
}
