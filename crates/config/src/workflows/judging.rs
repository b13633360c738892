//! Checks a condition: whether its path leads to one value, and whether that value can have the wanted values.
//!
//! Input: a written condition and the target of its path. Output: a test that cannot fail at run time.

use systole_kit::schema::{PayloadPart, PayloadPartKind, find_nearest};
use systole_workflow::spec::{self, ValueTest};

use super::super::diagnostics::Diagnostics;
use super::super::names::one_of;
use super::super::value::At;
use super::paths::{self, Found, Leads};
use super::scope::Scope;
use super::step_order::StepOrder;
use super::step_values::{Condition, Wanted};

/// Checks one condition. `place` is its description for people.
pub(super) fn judge(
    diagnostics: &mut Diagnostics,
    scope: &Scope<'_>,
    order: &StepOrder,
    condition: &Condition,
    place: &str,
) -> Option<spec::Condition> {
    let found = paths::find(diagnostics, scope, order, &condition.path, place)?;
    is_one(diagnostics, scope, &found, condition, place)?;
    let test = match &found.leads {
        Leads::Unknown => return None,
        Leads::Group => {
            let message = format!("{place}: `{}` gives no value that can be compared", found.known.id);
            let fix = "a path to a goal that gives a payload, as judge/score";
            diagnostics.report_value(condition.path.at, &message, fix);
            return None;
        }
        Leads::Words if found.path.fields.is_empty() => {
            let id = &found.known.id;
            let message = format!("{place}: `{id}` gives text, and a condition cannot compare text");
            let fix = format!("gives: PAYLOAD at `{id}`, and a path to a field of it");
            let second = (found.known.at, "the goal");
            diagnostics.report_value_beside(condition.path.at, &message, &fix, second);
            return None;
        }
        Leads::Words => texts(diagnostics, condition, place),
        Leads::Choice(choices) => choice(diagnostics, condition, choices, place),
        Leads::Part(part) => match part.kind() {
            PayloadPartKind::Text => text(diagnostics, condition, part, place),
            PayloadPartKind::Flag => flag(diagnostics, condition, place),
            PayloadPartKind::Number => number(diagnostics, condition, part, place),
            PayloadPartKind::Parts => {
                let names: Vec<String> = part
                    .parts()
                    .iter()
                    .map(|part| format!("{}/{}", condition.path.value, part.name()))
                    .collect();
                let message = format!("{place}: `{}` is not a single value", condition.path.value);
                let fix = one_of(names.iter().map(String::as_str));
                diagnostics.report_value(condition.path.at, &message, &fix);
                return None;
            }
        },
    }?;
    Some(spec::Condition { path: found.path, test })
}

/// Reports a path that leads to several values.
fn is_one(
    diagnostics: &mut Diagnostics,
    scope: &Scope<'_>,
    found: &Found<'_, '_>,
    condition: &Condition,
    place: &str,
) -> Option<()> {
    let known = found.known;
    let (message, fix) = if scope.is_fanned_out(known) {
        let message = format!(
            "{place}: `{}` has an output for each item of a list, and a condition compares one value",
            known.id
        );
        (message, "a goal after it that judges all of them, with `gives`".to_owned())
    } else if !known.agents.is_empty() && found.path.agent.is_none() {
        let message = format!("{place}: several agents pursue `{}`, and each gives one", known.id);
        let rest = condition.path.value.strip_prefix(&known.id).unwrap_or_default();
        let paths: Vec<String> =
            known.agents.iter().map(|agent| format!("{}[{agent}]{rest}", known.id)).collect();
        (message, one_of(paths.iter().map(String::as_str)))
    } else if let Some(field) = found.list.and_then(|nth| found.path.fields.get(nth)) {
        let message =
            format!("{place}: `{field}` may come several times, and a condition compares one value");
        (message, "a field that comes once, or this step inside one with `each` over the list".to_owned())
    } else {
        return Some(());
    };
    diagnostics.report_value_beside(condition.path.at, &message, &fix, (known.at, "the goal"));
    None
}

/// The two ends of a written range. `None` if the text is not a range.
fn range(text: &str) -> Option<(Option<&str>, Option<&str>)> {
    let one_end = match text {
        _ if text.contains('=') => None,
        _ if text.starts_with('>') => Some((text, "")),
        _ if text.starts_with('<') => Some(("", text)),
        _ => None,
    };
    let (from, to) = text.split_once("..").or(one_end)?;
    let end = |text| Some(text).filter(|text: &&str| !text.is_empty());
    Some((end(from), end(to)))
}

/// Whether a text is a decimal number in XSD syntax.
fn is_decimal(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, rest) = digits.split_once('.').unwrap_or((digits, "0"));
    [whole, rest].iter().all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
}

/// A test for texts.
fn texts(diagnostics: &mut Diagnostics, condition: &Condition, place: &str) -> Option<ValueTest> {
    let values = condition.wanted.iter().map(|wanted| no_range(diagnostics, condition, wanted, place));
    values.collect::<Vec<_>>().into_iter().collect::<Option<Vec<_>>>().map(ValueTest::Text)
}

/// The wanted text. A range is reported.
fn no_range(
    diagnostics: &mut Diagnostics,
    condition: &Condition,
    wanted: &Wanted,
    place: &str,
) -> Option<String> {
    let ends = range(&wanted.text).filter(|_| wanted.is_plain);
    let is_number = |end: Option<&str>| end.is_none_or(is_decimal);
    if let Some((from, to)) = ends
        && (from.is_some() || to.is_some())
        && is_number(from)
        && is_number(to)
    {
        let message =
            format!("{place}: `{}` is not a number, and only numbers have ranges", condition.path.value);
        diagnostics.report_value(wanted.at, &message, "a value, a list of values, or quotes around the text");
        return None;
    }
    Some(wanted.text.clone())
}

fn choice(
    diagnostics: &mut Diagnostics,
    condition: &Condition,
    choices: &[At<String>],
    place: &str,
) -> Option<ValueTest> {
    let known = || choices.iter().map(|choice| choice.value.as_str());
    let mut values = Vec::new();
    for wanted in &condition.wanted {
        if known().any(|choice| choice == wanted.text) {
            values.push(wanted.text.clone());
            continue;
        }
        let (message, fix) = if choices.is_empty() {
            let message = format!("{place}: the question has no choices, and the answer is its note");
            (message, "choices: [go, stop] at the question".to_owned())
        } else {
            let message = format!("{place}: `{}` is not one of the choices", wanted.text);
            (message, find_nearest(&wanted.text, known()).map_or_else(|| one_of(known()), str::to_owned))
        };
        diagnostics.report_value(wanted.at, &message, &fix);
    }
    (values.len() == condition.wanted.len()).then_some(ValueTest::Text(values))
}

fn text(
    diagnostics: &mut Diagnostics,
    condition: &Condition,
    part: &PayloadPart<'_>,
    place: &str,
) -> Option<ValueTest> {
    let mut values = Vec::new();
    for wanted in &condition.wanted {
        if let Some(fault) = part.find_fault(&wanted.text) {
            let known = part.values();
            let fix = find_nearest(&wanted.text, known.iter().copied()).map(str::to_owned);
            let fix = fix.unwrap_or_else(|| match known.is_empty() {
                true => "a value that the field can have".to_owned(),
                false => one_of(known.iter().copied()),
            });
            let message = format!("{place}: `{}` can never be that: {fault}", condition.path.value);
            diagnostics.report_value(wanted.at, &message, &fix);
        } else {
            values.extend(no_range(diagnostics, condition, wanted, place));
        }
    }
    (values.len() == condition.wanted.len()).then_some(ValueTest::Text(values))
}

fn flag(diagnostics: &mut Diagnostics, condition: &Condition, place: &str) -> Option<ValueTest> {
    match condition.wanted.as_slice() {
        [one] if one.is_plain && one.text == "true" => return Some(ValueTest::Flag(true)),
        [one] if one.is_plain && one.text == "false" => return Some(ValueTest::Flag(false)),
        [one] => {
            let message =
                format!("{place}: `{}` is true or false, and never `{}`", condition.path.value, one.text);
            let fix = match one.text.to_ascii_lowercase().as_str() {
                "true" | "yes" | "on" | "1" => "true",
                "false" | "no" | "off" | "0" => "false",
                _ => "true or false",
            };
            diagnostics.report_value(one.at, &message, fix);
        }
        _ => {
            let message = format!(
                "{place}: `{}` is true or false, so a list of both always holds",
                condition.path.value
            );
            diagnostics.report_value(condition.at, &message, "true or false");
        }
    }
    None
}

fn number<'a>(
    diagnostics: &mut Diagnostics,
    condition: &'a Condition,
    part: &PayloadPart<'_>,
    place: &str,
) -> Option<ValueTest> {
    let mut ranges = Vec::new();
    for wanted in &condition.wanted {
        let written = wanted.text.as_str();
        let ends = match range(written) {
            Some((None, None)) => None,
            Some(ends) => Some(ends),
            None => Some((Some(written), Some(written))),
        };
        // An end without the sign that leaves it out.
        let number = |end: Option<&'a str>, sign: char| end.map(|end| end.strip_prefix(sign).unwrap_or(end));
        let is_number = |end: Option<&str>| end.is_none_or(is_decimal);
        let bare = ends.map(|(from, to)| (number(from, '>'), number(to, '<')));
        let (Some((first, last)), Some((from, to))) =
            (ends, bare.filter(|(from, to)| is_number(*from) && is_number(*to)))
        else {
            let message = format!(
                "{place}: `{written}` is neither a number nor a range, and `{}` is a number",
                condition.path.value
            );
            diagnostics.report_value(wanted.at, &message, &likely(written));
            continue;
        };
        let is_without_end = (first, last) != (from, to);
        if from == to
            && !is_without_end
            && let Some(fault) = part.find_fault(written)
        {
            let message = format!("{place}: `{}` can never be that: {fault}", condition.path.value);
            diagnostics.report_value(wanted.at, &message, "a number that the field can have");
        } else if let (Some(from), Some(to)) = (from, to)
            && part.is_less(to, from)
        {
            let message = format!("{place}: the range runs backwards: {from} is more than {to}");
            diagnostics.report_value(wanted.at, &message, &format!("{to}..{from}"));
        } else if part.is_beyond(from, to) || (is_without_end && !is_open(part, from, to)) {
            let message = format!("{place}: `{}` can never be {written}", condition.path.value);
            diagnostics.report_value(wanted.at, &message, "a range within that of the field");
        } else {
            ranges.push((first.map(str::to_owned), last.map(str::to_owned)));
        }
    }
    (ranges.len() == condition.wanted.len()).then_some(ValueTest::Number(ranges))
}

/// Whether there is a number between two ends that are left out.
fn is_open(part: &PayloadPart<'_>, from: Option<&str>, to: Option<&str>) -> bool {
    from.zip(to).is_none_or(|(from, to)| part.is_less(from, to))
}

/// The correct form for `>= 9` or `1-5`.
fn likely(written: &str) -> String {
    let is_digit = |c: char| c.is_ascii_digit() || c == '.';
    let numbers: Vec<&str> = written
        .split(|c| !is_digit(c))
        .map(|part| part.trim_matches('.'))
        .filter(|part| !part.is_empty())
        .collect();
    match numbers.as_slice() {
        [from, to] => format!("{from}..{to}"),
        [from] if written.starts_with(">=") => format!("{from}.."),
        [to] if written.starts_with("<=") => format!("..{to}"),
        [end] if written.starts_with(['>', '<']) => {
            format!("'{}{end}'", written.get(..1).unwrap_or_default())
        }
        _ => "a number, or a range as 9.. or 0..10 or '>9'".to_owned(),
    }
}
