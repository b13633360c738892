//! Values of simple types in GBNF.

use super::GrammarWriter;
use super::number::{DecimalText, NumberBound, write_numbers};
use super::pattern::write_pattern;
use super::spell::{ValuePlace, join_choices, repeat, write_value};
use super::text::is_any_text;
use crate::explain::describe;
use crate::judge::builtin::{Builtin, TypeFamily, WhiteSpace};
use crate::judge::check_value;
use crate::limits::{DIGITS, GRAMMAR_COUNT, GRAMMAR_FRACTION, GRAMMAR_ITEMS};
use crate::shape::{FacetValue, SimpleType, SimpleVariety, ValueBound};

const DAY: &str = "(\"0\" [1-9] | [12] [0-9] | \"30\")";
const CLOCK: &str = "([01] [0-9] | \"2\" [0-3]) \":\" [0-5] [0-9] \":\" [0-5] [0-9] (\".\" [0-9]{1,6})?";
const ZONE: &str = "(\"Z\" | [+-] (\"0\" [0-9] | \"1\" [0-3]) \":\" [0-5] [0-9])?";

impl GrammarWriter<'_, '_> {
    /// The values of a type, at a place in the payload.
    pub(super) fn write_simple(&mut self, simple: &SimpleType, place: ValuePlace, path: &str) -> String {
        if !simple.values.is_empty() {
            let admitted = simple.values.iter().map(|listed| listed.value.as_str());
            let admitted = admitted.filter(|value| check_value::check_value(simple, value).is_none());
            let values: Vec<String> = admitted.map(|value| write_value(value, place)).collect();
            return join_choices(&values);
        }
        if let Some(text) = self.write_patterns(simple, place, path) {
            return text;
        }
        match &simple.variety {
            SimpleVariety::Atomic(base) => self.write_atomic(simple, *base, place, path),
            SimpleVariety::List(item) => self.write_list(simple, item, place, path),
            SimpleVariety::Union(members) => {
                let each: Vec<String> =
                    members.iter().map(|member| self.write_simple(member, place, path)).collect();
                join_choices(&each)
            }
        }
    }

    /// The values of a type with patterns. `None` if it has none that can be written.
    fn write_patterns(&mut self, simple: &SimpleType, place: ValuePlace, path: &str) -> Option<String> {
        let step = simple.patterns.last()?;
        if is_not_blank(simple) {
            return None;
        }
        let each: Vec<String> =
            step.iter().filter_map(|pattern| write_pattern(&pattern.value.tree, place)).collect();
        if each.is_empty() {
            self.grammar.note_open(path, "its pattern");
            return None;
        }
        let is_alone = simple.patterns.len() == 1
            && matches!(simple.variety, SimpleVariety::Atomic(base) if base.family() == TypeFamily::Text)
            && [&simple.length, &simple.min_length, &simple.max_length].iter().all(|facet| facet.is_none());
        if !is_alone {
            self.grammar.note_open(path, "all rules of its value beside its last pattern");
        }
        Some(join_choices(&each))
    }

    fn write_list(
        &mut self,
        simple: &SimpleType,
        item: &SimpleType,
        place: ValuePlace,
        path: &str,
    ) -> String {
        let is_word = |kind: &SimpleVariety| matches!(kind, SimpleVariety::Atomic(base) if base.family() == TypeFamily::Text);
        let one = if is_word(&item.variety) && item.values.is_empty() && item.patterns.is_empty() {
            let (least, most) = read_lengths(item);
            let word = self.grammar.word_sign(place);
            self.count(&word, (least.max(1), most), GRAMMAR_COUNT, path)
        } else {
            self.write_simple(item, place, path)
        };
        let (least, most) = read_lengths(simple);
        if most == Some(0) {
            return "\"\"".to_owned();
        }
        let (least_more, most_more) = (least.saturating_sub(1), most.map(|most| most.saturating_sub(1)));
        let more = self.count(&format!("(\" \" {one})"), (least_more, most_more), GRAMMAR_ITEMS, path);
        if least == 0 { format!("({one} {more})?") } else { format!("{one} {more}") }
    }

    /// A part with a count; a count that a server would refuse stays open.
    pub(super) fn count(
        &mut self,
        what: &str,
        (least, most): (usize, Option<usize>),
        bound: usize,
        path: &str,
    ) -> String {
        let (text, is_open) = repeat(what, least, most, bound);
        if is_open {
            self.grammar.note_open(path, &format!("counts beyond {bound}"));
        }
        text
    }

    /// The text of an element.
    pub(super) fn write_inner_text(&mut self, simple: &SimpleType, path: &str) -> String {
        if is_any_text(simple) {
            return self.grammar.write_any_text();
        }
        self.write_simple(simple, ValuePlace::Content, path)
    }

    fn write_atomic(&mut self, simple: &SimpleType, base: Builtin, place: ValuePlace, path: &str) -> String {
        match base.family() {
            TypeFamily::Text => self.write_text(simple, base, place, path),
            TypeFamily::Truth => "(\"true\" | \"false\")".to_owned(),
            TypeFamily::Whole => self.write_bounded(simple, base, 0, path),
            TypeFamily::Decimal => {
                let places = simple.fraction_digits.as_ref().map_or(GRAMMAR_FRACTION, |most| most.value);
                self.write_bounded(simple, base, places, path)
            }
            TypeFamily::Floating => self.write_bounded(simple, base, GRAMMAR_FRACTION, path),
            TypeFamily::Moment => self.write_moment(simple, base, path),
            TypeFamily::Span => {
                self.note_bounds(simple, path);
                let time = "\"T\" ([0-9]{1,4} \"H\" ([0-9]{1,4} \"M\")? ([0-9]{1,4} \"S\")? | [0-9]{1,4} \"M\" ([0-9]{1,4} \"S\")? | [0-9]{1,4} \"S\")";
                format!("\"P\" ([0-9]{{1,4}} \"D\" ({time})? | {time})")
            }
            TypeFamily::Bytes => self.write_bytes(simple, base, path),
        }
    }

    fn write_text(&mut self, simple: &SimpleType, base: Builtin, place: ValuePlace, path: &str) -> String {
        let (least, most) = read_lengths(simple);
        let named = |first: &str, other: &str| (first.to_owned(), other.to_owned());
        let (first, other) = match base {
            Builtin::NmToken => named("[A-Za-z0-9._:-]", "[A-Za-z0-9._:-]"),
            Builtin::Name => named("[A-Za-z_:]", "[A-Za-z0-9._:-]"),
            Builtin::NcName => named("[A-Za-z_]", "[A-Za-z0-9._-]"),
            Builtin::Language => {
                self.note_lengths(simple, path);
                return "[a-zA-Z]{2,3} (\"-\" [a-zA-Z0-9]{2,8})?".to_owned();
            }
            Builtin::AnyUri => {
                self.note_lengths(simple, path);
                return "(\"http\" \"s\"? \"://\" [a-z0-9] [a-z0-9.-]*)? (\"/\" [A-Za-z0-9._~-]+)* \"/\"? (\"?\" [A-Za-z0-9._~=-]*)? (\"#\" [A-Za-z0-9._~-]*)?".to_owned();
            }
            _ => {
                let sign = self.grammar.text_sign(place);
                let is_not_blank = self.needs_words || is_not_blank(simple);
                let least = least.max(usize::from(is_not_blank));
                if least == 0 {
                    return self.count(&sign, (0, most), GRAMMAR_COUNT, path);
                }
                // White space at the ends and in a row may not count, so the fewest characters have none.
                let is_counted = simple.space == WhiteSpace::Preserve || simple.space == WhiteSpace::Replace;
                let begin =
                    if is_counted && !is_not_blank { sign.clone() } else { self.grammar.word_sign(place) };
                let begun = self.count(&begin, (least, Some(least)), GRAMMAR_COUNT, path);
                let rest = most.map(|most| most.saturating_sub(least));
                return format!("{begun} {}", self.count(&sign, (0, rest), GRAMMAR_COUNT, path));
            }
        };
        let (least, most) = (least.max(1) - 1, most.map(|most| most.saturating_sub(1)));
        format!("{first} {}", self.count(&other, (least, most), GRAMMAR_COUNT, path))
    }

    /// Numbers between the bounds of a type.
    fn write_bounded(&mut self, simple: &SimpleType, base: Builtin, places: usize, path: &str) -> String {
        let (low, high) = base.limits();
        let own = |limit: Option<&str>| limit.and_then(DecimalText::read).map(|number| (number, true));
        let given = |bound: &Option<ValueBound>| -> Result<NumberBound, ()> {
            let Some(bound) = bound else { return Ok(None) };
            DecimalText::read(&bound.value).map(|number| Some((number, bound.inclusive))).ok_or(())
        };
        let digits = simple.total_digits.as_ref().map_or(DIGITS - GRAMMAR_FRACTION, |most| most.value);
        let places = places.min(digits);
        let bounds = (given(&simple.least), given(&simple.most));
        if bounds.0.is_err() || bounds.1.is_err() || simple.total_digits.is_some() && places > 0 {
            self.note_bounds(simple, path);
        }
        let least = bounds.0.ok().flatten().or_else(|| own(low));
        let most = bounds.1.ok().flatten().or_else(|| own(high));
        let whole = digits.saturating_sub(places).max(1);
        write_numbers(&least, &most, (whole, places)).unwrap_or_else(|| {
            self.note_bounds(simple, path);
            "\"0\"".to_owned()
        })
    }

    fn write_moment(&mut self, simple: &SimpleType, base: Builtin, path: &str) -> String {
        self.note_bounds(simple, path);
        let long = "(\"01\" | \"03\" | \"05\" | \"07\" | \"08\" | \"10\" | \"12\") \"-31\"";
        let month = "(\"01\" | \"0\" [3-9] | \"1\" [0-2])";
        let short = "\"02-\" (\"0\" [1-9] | \"1\" [0-9] | \"2\" [0-8])";
        let day = self
            .grammar
            .share_rule("day", &format!("[1-9] [0-9]{{3}} \"-\" ({month} \"-\" {DAY} | {long} | {short})"));
        match base {
            Builtin::Date => day,
            Builtin::Time => format!("{CLOCK} {ZONE}"),
            _ => format!("{day} \"T\" {CLOCK} {ZONE}"),
        }
    }

    fn write_bytes(&mut self, simple: &SimpleType, base: Builtin, path: &str) -> String {
        let (least, most) = read_lengths(simple);
        if base == Builtin::Hex {
            return self.count("([0-9A-F] [0-9A-F])", (least, most), GRAMMAR_COUNT, path);
        }
        let (two, one) = ("[A-Za-z0-9+/]{2} [AEIMQUYcgkosw048] \"=\"", "[A-Za-z0-9+/] [AQgw] \"==\"");
        let whole = "([A-Za-z0-9+/]{4})";
        if least == 0 && most.is_none() {
            return format!("{whole}* ({two} | {one})?");
        }
        if most == Some(least) && least / 3 <= GRAMMAR_COUNT {
            let end = match least % 3 {
                1 => format!(" {one}"),
                2 => format!(" {two}"),
                _ => String::new(),
            };
            return format!("{whole}{{{}}}{end}", least / 3);
        }
        // Whole groups of three bytes, as far as they fit.
        let groups = (least.div_ceil(3), most.map(|most| most / 3));
        if groups.1.is_some_and(|most| most < groups.0) {
            self.note_lengths(simple, path);
            return format!("{whole}* ({two} | {one})?");
        }
        self.count(whole, groups, GRAMMAR_COUNT, path)
    }

    fn note_lengths(&mut self, simple: &SimpleType, path: &str) {
        if [&simple.length, &simple.min_length, &simple.max_length].iter().any(|facet| facet.is_some()) {
            self.grammar.note_open(path, "its length");
        }
    }

    fn note_bounds(&mut self, simple: &SimpleType, path: &str) {
        if simple.least.is_some() || simple.most.is_some() || simple.total_digits.is_some() {
            self.grammar.note_open(path, "its smallest and largest value");
        }
    }
}

/// Whether the only pattern of a type says that its text is not blank.
fn is_not_blank(simple: &SimpleType) -> bool {
    let [step] = simple.patterns.as_slice() else { return false };
    let [pattern] = step.as_slice() else { return false };
    describe::explain_pattern(&pattern.value.source) == Some(describe::NOT_BLANK)
}

/// The smallest and the largest length.
fn read_lengths(simple: &SimpleType) -> (usize, Option<usize>) {
    let value = |facet: &Option<FacetValue<usize>>| facet.as_ref().map(|facet| facet.value);
    let exact = value(&simple.length);
    (exact.or(value(&simple.min_length)).unwrap_or(0), exact.or(value(&simple.max_length)))
}
