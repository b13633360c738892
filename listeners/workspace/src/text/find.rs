//! Where lines are in a file: exactly, or different only in white space.
//!
//! Lines come in; places go out. It never guesses: a place that differs in more than white space is no place.

use crate::limits;

/// How closely lines fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Closeness {
    Exact,
    /// They differ in white space at the ends of lines.
    Trailing,
    /// They differ in indentation too, all by the same.
    Indented,
}

/// How the indentation in the file differs from the wanted one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum IndentShift {
    Added(String),
    Removed(String),
}

/// The places, as indices of lines from `from` on, of the closest kind that there is. At most [`limits::MATCHES`].
pub(crate) fn find_places(lines: &[&str], wanted: &[&str], from: usize) -> (Closeness, Vec<usize>) {
    let is_blank = wanted.iter().all(|line| line.trim().is_empty());
    for closeness in [Closeness::Exact, Closeness::Trailing, Closeness::Indented] {
        // Nothing but white space fits everywhere.
        if is_blank && closeness != Closeness::Exact {
            break;
        }
        let fits = |at: &usize| {
            let there = lines.get(*at..at.saturating_add(wanted.len()));
            there.is_some_and(|there| fits_lines(there, wanted, closeness))
        };
        let found: Vec<usize> = (from..lines.len()).filter(fits).take(limits::MATCHES).collect();
        if !found.is_empty() {
            return (closeness, found);
        }
    }
    (Closeness::Exact, Vec::new())
}

fn fits_lines(there: &[&str], wanted: &[&str], closeness: Closeness) -> bool {
    let same = |one: &str, other: &str| match closeness {
        Closeness::Exact => one == other,
        Closeness::Trailing => one.trim_end() == other.trim_end(),
        Closeness::Indented => one.trim() == other.trim(),
    };
    there.iter().zip(wanted).all(|(one, other)| same(one, other))
        && (closeness != Closeness::Indented || find_shift(there, wanted).is_some())
}

/// How the indentation differs, if it differs by the same in every line.
pub(crate) fn find_shift(there: &[&str], wanted: &[&str]) -> Option<IndentShift> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut found: Option<IndentShift> = None;
    for (one, other) in there.iter().zip(wanted).filter(|(one, _)| !one.trim().is_empty()) {
        let (one, other) = (one.get(..indent(one))?, other.get(..indent(other))?);
        let here = match (one.strip_suffix(other), other.strip_suffix(one)) {
            (Some(added), _) => IndentShift::Added(added.to_owned()),
            (None, Some(removed)) => IndentShift::Removed(removed.to_owned()),
            (None, None) => return None,
        };
        match &found {
            Some(before) if *before != here => return None,
            _ => found = Some(here),
        }
    }
    Some(found.unwrap_or(IndentShift::Added(String::new())))
}

impl IndentShift {
    /// A new line with the indentation of the file. `None` if it has too little.
    pub(crate) fn shift_line(&self, line: &str) -> Option<String> {
        match self {
            _ if line.trim().is_empty() => Some(line.to_owned()),
            IndentShift::Added(indent) => Some(format!("{indent}{line}")),
            IndentShift::Removed(indent) => line.strip_prefix(indent.as_str()).map(str::to_owned),
        }
    }
}

impl Closeness {
    /// How a request differed from the file, for the one who approves it.
    pub(crate) fn words(self) -> Option<&'static str> {
        match self {
            Closeness::Exact => None,
            Closeness::Trailing => Some("white space at the ends of lines"),
            Closeness::Indented => Some("indentation"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g2_lines_are_found_exactly_or_by_white_space_alone() {
        let lines = ["fn a() {", "    one();  ", "    two();", "}", "one();"];
        assert_eq!(find_places(&lines, &["one();"], 0), (Closeness::Exact, vec![4]));
        assert_eq!(find_places(&lines, &["    one();"], 0), (Closeness::Trailing, vec![1]));
        assert_eq!(find_places(&lines, &["one();", "two();"], 0), (Closeness::Indented, vec![1]));
        assert_eq!(
            find_places(&lines, &["one();", "  two();"], 0).1,
            Vec::<usize>::new(),
            "no shift of all lines"
        );
        assert_eq!(find_places(&lines, &["One();"], 0).1, Vec::<usize>::new());
        assert_eq!(
            find_places(&["", "a", ""], &[" "], 0).1,
            Vec::<usize>::new(),
            "blank lines fit everywhere"
        );
        assert_eq!(find_places(&["a"], &["a", "a"], 0).1, Vec::<usize>::new());
    }

    #[test]
    fn g2_indentation_is_shifted_only_if_it_is_simple() {
        assert_eq!(
            find_shift(&["    a", "", "      b"], &["a", "", "  b"]),
            Some(IndentShift::Added("    ".to_owned()))
        );
        assert_eq!(find_shift(&["\ta"], &["    a"]), None);
        let less = find_shift(&["a"], &["  a"]).unwrap();
        assert_eq!(less.shift_line("    b").as_deref(), Some("  b"));
        assert_eq!(less.shift_line(" b"), None);
    }
}
