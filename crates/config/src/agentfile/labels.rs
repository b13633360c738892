//! Turns the names of an Agentfile into names that are valid in an organism's file.
//!
//! Input: a name. Output: a free name that is as similar as possible.

use std::collections::BTreeSet;

/// Names that are taken.
pub(super) struct Labels {
    taken: BTreeSet<String>,
    bytes: usize,
}

impl Labels {
    /// With the greatest length in bytes, and the names already taken.
    pub(super) fn new<'t>(bytes: usize, taken: impl IntoIterator<Item = &'t str>) -> Labels {
        Labels { taken: taken.into_iter().map(str::to_owned).collect(), bytes }
    }

    /// The name in lower-case letters, digits and `-`, with a number appended if it is taken.
    pub(super) fn pick(&mut self, wanted: &str) -> String {
        let lower = wanted.to_lowercase();
        let changed: String =
            lower.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let trimmed = changed.trim_matches('-');
        let whole = match trimmed.chars().next() {
            Some(first) if first.is_ascii_lowercase() => trimmed.to_owned(),
            Some(_) => format!("x-{trimmed}"),
            None => "unnamed".to_owned(),
        };
        let with = |behind: &str| {
            let kept: String = whole.chars().take(self.bytes.saturating_sub(behind.len())).collect();
            format!("{}{behind}", kept.trim_end_matches('-'))
        };
        let mut name = with("");
        let mut number = 2_u64;
        while self.taken.contains(&name) {
            name = with(&format!("-{number}"));
            number += 1;
        }
        self.taken.insert(name.clone());
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_kept_as_far_as_it_can_be() {
        let mut labels = Labels::new(8, ["request"]);
        let picked = |labels: &mut Labels, name: &str| labels.pick(name);
        for (name, wanted) in [
            ("fix_bugs", "fix-bugs"),
            ("Fix-Bugs", "fix-bu-2"),
            ("request", "reques-2"),
            ("_1st", "x-1st"),
            ("ÄÖ", "unnamed"),
            ("much-too-long", "much-too"),
        ] {
            assert_eq!(picked(&mut labels, name), wanted);
        }
    }
}
