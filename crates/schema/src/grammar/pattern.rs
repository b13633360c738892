//! Patterns of XML Schema in GBNF. A class of characters comes in; the parts of it that can be written go out.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use super::spell::{ValuePlace, join_choices, repeat, write_set};
use crate::judge::automaton::CharacterClass;
use crate::judge::classes;
use crate::judge::pattern::PatternTree;
use crate::limits::{GRAMMAR_COUNT, GRAMMAR_RANGES};

/// Characters that a set names one by one if it has too many gaps to be written whole.
const COMMON: [RangeInclusive<char>; 8] = [
    '\t'..='\n',
    ' '..='~',
    '\u{a0}'..='\u{24f}',
    '\u{370}'..='\u{4ff}',
    '\u{2010}'..='\u{203a}',
    '\u{20ac}'..='\u{20ac}',
    '\u{3040}'..='\u{30ff}',
    '\u{4e00}'..='\u{9fff}',
];

/// The values of a pattern. `None` if some part of it admits nothing that may be written.
pub(super) fn write_pattern(tree: &PatternTree, place: ValuePlace) -> Option<String> {
    match tree {
        PatternTree::One(class) => write_set(&list_ranges(class), place),
        PatternTree::Row(parts) => {
            let parts: Option<Vec<String>> = parts.iter().map(|part| write_pattern(part, place)).collect();
            Some(match parts?.as_slice() {
                [] => "\"\"".to_owned(),
                [only] => only.clone(),
                several => format!("({})", several.join(" ")),
            })
        }
        PatternTree::Either(branches) => {
            let parts: Vec<String> =
                branches.iter().filter_map(|branch| write_pattern(branch, place)).collect();
            (!parts.is_empty()).then(|| join_choices(&parts))
        }
        PatternTree::Repeat { what, least, most } => {
            let Some(part) = write_pattern(what, place) else {
                return (*least == 0).then(|| "\"\"".to_owned());
            };
            // A count that a server refuses would be lost.
            if *least > GRAMMAR_COUNT || most.is_some_and(|most| most > GRAMMAR_COUNT) {
                return None;
            }
            Some(repeat(&part, *least, *most, GRAMMAR_COUNT).0)
        }
    }
}

/// The characters of a class; of one with many gaps only the common ones.
fn list_ranges(class: &CharacterClass) -> Vec<RangeInclusive<char>> {
    let all = collect_ranges(class);
    if all.len() <= GRAMMAR_RANGES {
        return all;
    }
    let both = |range: &RangeInclusive<char>, common: &RangeInclusive<char>| {
        let (from, to) = ((*range.start()).max(*common.start()), (*range.end()).min(*common.end()));
        (from <= to).then_some(from..=to)
    };
    COMMON.iter().flat_map(|common| all.iter().filter_map(move |range| both(range, common))).collect()
}

/// The parts of a class. Between two edges all characters are in it, or none.
pub(crate) fn collect_ranges(class: &CharacterClass) -> Vec<RangeInclusive<char>> {
    let mut edges = vec!['\t', '\u{b}', '\r', '\u{e}', ' ', '!'];
    class.collect_edges(&mut edges);
    if class.has_categories() {
        edges.extend_from_slice(&CATEGORY_EDGES);
    }
    edges.retain(|edge| *edge >= '\t');
    edges.sort_unstable();
    edges.dedup();
    let mut found: Vec<RangeInclusive<char>> = Vec::new();
    for (at, from) in edges.iter().enumerate() {
        let to = edges.get(at + 1).map_or(Some(char::MAX), |next| (*from..*next).next_back());
        let Some(to) = to.filter(|_| class.has_char(*from)) else { continue };
        match found.last_mut() {
            Some(last) if (*last.end()..=*from).nth(1) == Some(*from) => *last = *last.start()..=to,
            _ => found.push(*from..=to),
        }
    }
    found
}

/// The characters at which a category of Unicode begins or ends.
static CATEGORY_EDGES: LazyLock<Vec<char>> = LazyLock::new(|| {
    let kinds = |sign| {
        (
            classes::is_digit(sign),
            classes::is_word(sign),
            classes::is_name_start(sign),
            classes::is_name_char(sign),
        )
    };
    let mut before = None;
    let edge = |sign: char| {
        let kind = Some(kinds(sign));
        (std::mem::replace(&mut before, kind) != kind).then_some(sign)
    };
    ('\t'..=char::MAX).filter_map(edge).collect()
});
