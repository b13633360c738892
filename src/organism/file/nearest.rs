//! Which known name a misspelt one was probably meant to be. Pure; never guesses across more than a
//! third of the name's letters.

/// The known name nearest to `word`, if one is near enough to be worth showing.
pub(super) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A name is at most a few dozen letters; a longer word is no misspelling of one.
    let letters = word.chars().count();
    if letters > 80 {
        return None;
    }
    let allowed = (letters / 3).max(1);
    known
        .into_iter()
        .map(|name| (distance(&plain(word), &plain(name)), name))
        .filter(|(far, _)| *far <= allowed)
        // Of two that are equally far, the one that begins alike: first letters are rarely mistaken.
        .min_by_key(|(far, name)| (*far, name.chars().next() != word.chars().next()))
        .map(|(_, name)| name)
}

/// Letters as they are compared: case and the choice of `-` or `_` are no difference in themselves.
fn plain(word: &str) -> Vec<char> {
    word.chars().map(|c| if c == '_' { '-' } else { c.to_ascii_lowercase() }).collect()
}

/// Edits between two words, where swapping two neighbours is one edit.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let at = |r: &[usize], k: usize| r.get(k).copied().unwrap_or(usize::MAX - 1);
            let mut best = at(&row, j) + usize::from(x != y);
            best = best.min(at(&row, j + 1) + 1).min(at(&next, j) + 1);
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(y) && b.get(j - 1) == Some(x);
            if swapped {
                best = best.min(at(&before, j - 1) + 1);
            }
            next.push(best);
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelling_finds_its_name_and_a_stranger_finds_none() {
        let known = ["accepts", "returns", "in_flight", "run"];
        assert_eq!(nearest("acepts", known), Some("accepts"));
        assert_eq!(nearest("retruns", known), Some("returns"));
        assert_eq!(nearest("In-Flight", known), Some("in_flight"));
        assert_eq!(nearest("colour", known), None);
        assert_eq!(nearest("urn", known), Some("run"));
        assert_eq!(nearest("MB", ["B", "KiB", "MiB"]), Some("MiB"));
    }

    #[test]
    fn distances_are_counted_in_edits() {
        let far = |a: &str, b: &str| distance(&plain(a), &plain(b));
        assert_eq!(
            (far("", "abc"), far("abc", "abc"), far("abcd", "acbd"), far("kitten", "sitting")),
            (3, 0, 1, 3)
        );
    }
}
