//! Guesses the intended name: the nearest by edit distance, and only if it is near.

/// The candidate nearest to a name, if it differs by at most a third of the longer name, or if one abbreviates the
/// other. Case and the choice of `-` or `_` make no difference. Among equally near candidates, one with the same
/// first letter wins, because first letters are rarely mistyped.
pub fn find_nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let folded = fold_name(name);
    candidates
        .map(|candidate| {
            let other = fold_name(candidate);
            let allowed = folded.len().max(other.len()).div_ceil(3);
            let short = is_abbreviation(&folded, &other) || is_abbreviation(&other, &folded);
            let found = measure_distance(&folded, &other);
            (found, if short { found } else { allowed }, candidate)
        })
        // A candidate whose every letter must change is not a slip.
        .filter(|(found, allowed, candidate)| found <= allowed && *found < limit_distance(&folded, candidate))
        .min_by_key(|(found, _, candidate)| (*found, fold_name(candidate).first() != folded.first()))
        .map(|(.., candidate)| candidate)
}

/// Whether a name is another name with a single slip: a letter too many, too few or wrong, or two swapped letters.
pub fn is_slip(name: &str, of: &str) -> bool {
    name != of && measure_distance(&fold_name(name), &fold_name(of)) <= 1
}

fn limit_distance(folded: &[char], candidate: &str) -> usize {
    folded.len().max(fold_name(candidate).len())
}

/// Names are at most 256 bytes after the gate; longer ones are compared by their beginning.
fn fold_name(name: &str) -> Vec<char> {
    name.chars().take(64).flat_map(char::to_lowercase).map(|c| if c == '_' { '-' } else { c }).collect()
}

/// Whether the letters of the short form appear in the long one in order, beginning with the first.
fn is_abbreviation(short: &[char], long: &[char]) -> bool {
    let mut rest = long.iter();
    short.len() >= 3 && short.first() == long.first() && short.iter().all(|c| rest.any(|l| l == c))
}

/// Levenshtein distance in which a swap of two neighbours counts as one difference.
fn measure_distance(left: &[char], right: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=right.len()).collect();
    let mut last_left = None;
    for (row, l) in left.iter().enumerate() {
        let mut current = vec![row.saturating_add(1)];
        let mut last_right = None;
        for (column, r) in right.iter().enumerate() {
            let at = |line: &[usize], index: usize| line.get(index).copied().unwrap_or(usize::MAX / 2);
            let next = column.saturating_add(1);
            let changed = at(&above, column).saturating_add(usize::from(l != r));
            let mut best =
                changed.min(at(&above, next).saturating_add(1)).min(at(&current, column).saturating_add(1));
            if last_left == Some(r) && last_right == Some(l) && column > 0 {
                best = best.min(at(&before, column.saturating_sub(1)).saturating_add(1));
            }
            current.push(best);
            last_right = Some(r);
        }
        before = std::mem::replace(&mut above, current);
        last_left = Some(l);
    }
    above.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::find_nearest;

    #[test]
    fn one_slip_is_found_and_a_stranger_is_not() {
        let names = ["query", "limit", "file_path"];
        let found = |name| find_nearest(name, names.into_iter());
        assert_eq!(found("qury"), Some("query"));
        assert_eq!(found("qurey"), Some("query"));
        assert_eq!(found("File-Path"), Some("file_path"));
        assert_eq!(found("path"), None, "an abbreviation begins with the first letter");
        assert_eq!(found("file"), Some("file_path"));
        assert_eq!(found("banana"), None);
        assert_eq!(find_nearest("MB", ["B", "KiB", "MiB"].into_iter()), Some("MiB"));
        assert_eq!(found(""), None);
    }

    #[test]
    fn a_slip_is_one_letter() {
        let slips = ["identty", "idenity", "identiyt", "iidentity", "Identity", "identify"];
        assert!(slips.iter().all(|slip| super::is_slip(slip, "identity")));
        assert!(!super::is_slip("identity", "identity") && !super::is_slip("role", "rules"));
    }

    #[test]
    fn names_without_one_letter_of_the_other_are_not_near_however_short() {
        for stranger in ["é", "x", "", "@"] {
            assert_eq!(find_nearest(stranger, ["b", "longfield"].into_iter()), None, "{stranger}");
        }
        assert_eq!(find_nearest("B", ["b", "longfield"].into_iter()), Some("b"));
        assert_eq!(find_nearest("bb", ["b", "longfield"].into_iter()), Some("b"));
    }
}
