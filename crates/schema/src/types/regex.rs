//! Patterns as a regular expression that Python and JavaScript read alike: classes are lists of characters, so no
//! edition of Unicode matters.

use crate::grammar::pattern::collect_ranges;
use crate::judge::automaton::CharacterClass;
use crate::judge::pattern::PatternTree;
use crate::limits::TYPE_RANGES;

/// The regular expression of a pattern; `None` if a class of it has too many gaps to be listed.
pub(super) fn write_regex(tree: &PatternTree) -> Option<String> {
    match tree {
        PatternTree::One(class) => write_class(class),
        PatternTree::Row(parts) => parts.iter().map(write_grouped).collect(),
        PatternTree::Either(branches) => {
            let branches: Option<Vec<String>> = branches.iter().map(write_regex).collect();
            branches.map(|branches| branches.join("|"))
        }
        PatternTree::Repeat { what, least, most } => {
            let times = match (least, most) {
                (0, Some(1)) => "?".to_owned(),
                (0, None) => "*".to_owned(),
                (1, None) => "+".to_owned(),
                (least, None) => format!("{{{least},}}"),
                (least, Some(most)) if least == most => format!("{{{least}}}"),
                (least, Some(most)) => format!("{{{least},{most}}}"),
            };
            // A repeated repetition needs brackets, or its second count would be read as another sign.
            let what = match &**what {
                PatternTree::One(class) => write_class(class)?,
                other => format!("(?:{})", write_regex(other)?),
            };
            Some(what + &times)
        }
    }
}

/// A part with neighbours.
fn write_grouped(tree: &PatternTree) -> Option<String> {
    match tree {
        PatternTree::Either(_) => write_regex(tree).map(|text| format!("(?:{text})")),
        PatternTree::One(_) | PatternTree::Row(_) | PatternTree::Repeat { .. } => write_regex(tree),
    }
}

fn write_class(class: &CharacterClass) -> Option<String> {
    let ranges = collect_ranges(class);
    if ranges.len() > TYPE_RANGES {
        return None;
    }
    if ranges.is_empty() {
        return Some("(?!)".to_owned());
    }
    let parts = ranges.iter().map(|range| {
        let (low, high) = (*range.start(), *range.end());
        if low == high { write_sign(low) } else { format!("{}-{}", write_sign(low), write_sign(high)) }
    });
    match (ranges.as_slice(), parts.collect::<String>()) {
        ([only], text) if only.start() == only.end() => Some(text),
        (_, text) => Some(format!("[{text}]")),
    }
}

fn write_sign(c: char) -> String {
    if c.is_ascii_alphanumeric() || u32::from(c) > 0xff {
        c.to_string()
    } else {
        format!("\\x{:02x}", u32::from(c))
    }
}
