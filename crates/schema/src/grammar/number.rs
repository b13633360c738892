//! Numbers in GBNF, between two bounds: one spelling of each, without leading zeros.

use super::spell::join_choices;

/// A decimal number: whole part and fraction without zeros at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DecimalText {
    pub(super) is_negative: bool,
    whole: String,
    fraction: String,
}

impl DecimalText {
    /// Reads digits with an optional sign and fraction.
    pub(super) fn read(text: &str) -> Option<DecimalText> {
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if !is_digits(whole) || !is_digits(fraction) || whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let whole = match whole.trim_start_matches('0') {
            "" => "0",
            digits => digits,
        };
        let fraction = fraction.trim_end_matches('0').to_owned();
        let is_negative = text.starts_with('-') && !(whole == "0" && fraction.is_empty());
        Some(DecimalText { is_negative, whole: whole.to_owned(), fraction })
    }

    fn is_zero(&self) -> bool {
        self.whole == "0" && self.fraction.is_empty()
    }
}

/// A bound of a number, and whether it is allowed itself.
pub(super) type NumberBound = Option<(DecimalText, bool)>;

/// Numbers between two bounds with that many digits before and behind the point. `None` if there is none.
pub(super) fn write_numbers(
    least: &NumberBound,
    most: &NumberBound,
    (whole, fraction): (usize, usize),
) -> Option<String> {
    let widest = || {
        (
            DecimalText {
                is_negative: false,
                whole: "9".repeat(whole.max(1)),
                fraction: "9".repeat(fraction),
            },
            true,
        )
    };
    let zero = (DecimalText { is_negative: false, whole: "0".to_owned(), fraction: String::new() }, true);
    let mut parts = Vec::new();
    if least.as_ref().is_none_or(|(least, _)| least.is_negative) {
        // From the bound nearer to zero.
        let near = match most {
            Some((most, is_in)) if most.is_negative => (most.clone(), *is_in),
            // Zero has no sign.
            _ => (zero.0.clone(), false),
        };
        let far = least.clone().unwrap_or_else(widest);
        parts.extend(write_positive(&near, &far, fraction).map(|numbers| format!("\"-\" {numbers}")));
    }
    if most.as_ref().is_none_or(|(most, is_in)| !most.is_negative && (*is_in || !most.is_zero())) {
        let near = match least {
            Some((least, is_in)) if !least.is_negative => (least.clone(), *is_in),
            _ => zero,
        };
        let far = most.clone().unwrap_or_else(widest);
        parts.extend(write_positive(&near, &far, fraction));
    }
    (!parts.is_empty()).then(|| join_choices(&parts))
}

/// Numbers without a sign from one to another.
fn write_positive(
    (near, has_near): &(DecimalText, bool),
    (far, has_far): &(DecimalText, bool),
    places: usize,
) -> Option<String> {
    let order =
        (near.whole.len(), &near.whole, &near.fraction).cmp(&(far.whole.len(), &far.whole, &far.fraction));
    if order.is_gt() || order.is_eq() && !(*has_near && *has_far) {
        return None;
    }
    let any = match places {
        0 => String::new(),
        places => format!(" (\".\" [0-9]{{1,{places}}})?"),
    };
    let mut parts = Vec::new();
    if near.whole == far.whole {
        let fractions =
            write_fractions((&near.fraction, *has_near), Some((&far.fraction, *has_far)), places)?;
        return Some(format!("\"{}\"{fractions}", near.whole));
    }
    let is_whole_near = near.fraction.is_empty() && *has_near;
    let first = if is_whole_near { near.whole.clone() } else { add_one(&near.whole) };
    if !is_whole_near && let Some(fractions) = write_fractions((&near.fraction, *has_near), None, places) {
        parts.push(format!("\"{}\"{fractions}", near.whole));
    }
    // A bound of only nines is that of the digits.
    let has_nines = |digits: &str| digits.bytes().all(|digit| digit == b'9');
    let is_open =
        *has_far && has_nines(&far.whole) && has_nines(&far.fraction) && far.fraction.len() == places;
    let last = if is_open { far.whole.clone() } else { subtract_one(&far.whole) };
    parts.extend(write_wholes(&first, &last).map(|wholes| format!("{wholes}{any}")));
    if !is_open && let Some(fractions) = write_fractions(("", true), Some((&far.fraction, *has_far)), places)
    {
        parts.push(format!("\"{}\"{fractions}", far.whole));
    }
    (!parts.is_empty()).then(|| join_choices(&parts))
}

/// What may stand behind the whole part: a fraction from one to another, also none.
fn write_fractions(
    (near, has_near): (&str, bool),
    far: Option<(&str, bool)>,
    places: usize,
) -> Option<String> {
    let may_be_none =
        near.is_empty() && has_near && far.is_none_or(|(far, has_far)| has_far || !far.is_empty());
    let digits = write_digits(near, has_near, far, places);
    match (digits, may_be_none) {
        (Some(digits), true) => Some(format!(" (\".\" {digits})?")),
        (Some(digits), false) => Some(format!(" \".\" {digits}")),
        (None, true) => Some(String::new()),
        (None, false) => None,
    }
}

/// One or more digits of a fraction, between two fractions.
fn write_digits(near: &str, has_near: bool, far: Option<(&str, bool)>, places: usize) -> Option<String> {
    if places == 0 {
        return None;
    }
    if near.is_empty() && has_near && far.is_none() {
        return Some(format!("[0-9]{{1,{places}}}"));
    }
    let digit = |text: &str| text.bytes().next().unwrap_or(b'0');
    let rest = |text: &str| text.get(1..).unwrap_or_default().to_owned();
    let (low, high) = (digit(near), far.map_or(b'9', |(far, _)| digit(far)));
    let more = match places - 1 {
        0 => String::new(),
        places => format!(" [0-9]{{0,{places}}}"),
    };
    let mut parts = Vec::new();
    for first in low..=high {
        let is_low = first == low && !(near.is_empty() && has_near);
        let top = far.filter(|(far, _)| first == digit(far));
        if !is_low && top.is_none() {
            continue;
        }
        let next = if is_low { rest(near) } else { String::new() };
        let is_in = if is_low { has_near } else { true };
        let beyond = top.map(|(far, has_far)| (rest(far), has_far));
        let beyond = beyond.as_ref().map(|(far, has_far)| (far.as_str(), *has_far));
        if let Some((far, has_far)) = beyond
            && far.is_empty()
        {
            // Nothing but zeros may follow, which no one writes.
            if next.is_empty() && is_in && has_far {
                parts.push(format!("\"{}\"", char::from(first)));
            }
            continue;
        }
        let may_end = next.is_empty() && is_in;
        match write_digits(&next, is_in, beyond, places - 1) {
            Some(digits) if may_end => parts.push(format!("\"{}\" ({digits})?", char::from(first))),
            Some(digits) => parts.push(format!("\"{}\" {digits}", char::from(first))),
            None if may_end => parts.push(format!("\"{}\"", char::from(first))),
            None => {}
        }
    }
    let from = if near.is_empty() && has_near { low } else { low + 1 };
    let to = if far.is_some() { high.checked_sub(1)? } else { high };
    if from <= to && to.is_ascii_digit() {
        parts.push(format!("[{}-{}]{more}", char::from(from), char::from(to)));
    }
    (!parts.is_empty()).then(|| join_choices(&parts))
}

/// Whole numbers from one to another.
fn write_wholes(least: &str, most: &str) -> Option<String> {
    if (least.len(), least) > (most.len(), most) {
        return None;
    }
    let mut parts = Vec::new();
    // Lengths that are full, as 10 to 99, are joined.
    let mut full: Option<(usize, usize)> = None;
    for length in least.len()..=most.len() {
        let smallest = if length == 1 { "0".to_owned() } else { format!("1{}", "0".repeat(length - 1)) };
        let low = if length == least.len() { least.to_owned() } else { smallest.clone() };
        let high = if length == most.len() { most.to_owned() } else { "9".repeat(length) };
        let is_full = low == smallest && high.bytes().all(|digit| digit == b'9') && length > 1;
        if is_full {
            full = Some((full.map_or(length, |(from, _)| from), length));
        } else {
            parts.push(write_between(&low, &high));
        }
    }
    if let Some((from, to)) = full {
        let count =
            if from == to { format!("{{{}}}", from - 1) } else { format!("{{{},{}}}", from - 1, to - 1) };
        parts.push(format!("[1-9] [0-9]{count}"));
    }
    Some(join_choices(&parts))
}

/// Digits of one length from one to another.
fn write_between(low: &str, high: &str) -> String {
    let rest = low.len().saturating_sub(1);
    let (Some(first), Some(last)) = (low.bytes().next(), high.bytes().next()) else {
        return "\"\"".to_owned();
    };
    let (below, above) = (low.get(1..).unwrap_or_default(), high.get(1..).unwrap_or_default());
    let set = |from: u8, to: u8| {
        if from == to {
            format!("[{}]", char::from(from))
        } else {
            format!("[{}-{}]", char::from(from), char::from(to))
        }
    };
    let any = match rest {
        0 => String::new(),
        1 => " [0-9]".to_owned(),
        rest => format!(" [0-9]{{{rest}}}"),
    };
    let (is_floor, is_ceiling) =
        (below.bytes().all(|digit| digit == b'0'), above.bytes().all(|digit| digit == b'9'));
    if is_floor && is_ceiling {
        return format!("{}{any}", set(first, last));
    }
    if first == last {
        return format!("{} {}", set(first, first), write_between(below, above));
    }
    let mut parts = Vec::new();
    let from = if is_floor {
        first
    } else {
        parts.push(format!("{} {}", set(first, first), write_between(below, &"9".repeat(rest))));
        first + 1
    };
    let to = if is_ceiling { last } else { last - 1 };
    if from <= to {
        parts.push(format!("{}{any}", set(from, to)));
    }
    if !is_ceiling {
        parts.push(format!("{} {}", set(last, last), write_between(&"0".repeat(rest), above)));
    }
    join_choices(&parts)
}

/// The whole number after this one.
fn add_one(digits: &str) -> String {
    let mut all: Vec<u8> = digits.bytes().collect();
    for digit in all.iter_mut().rev() {
        if *digit < b'9' {
            *digit += 1;
            return all.into_iter().map(char::from).collect();
        }
        *digit = b'0';
    }
    std::iter::once('1').chain(all.into_iter().map(char::from)).collect()
}

/// The whole number before this one, which is larger than zero.
fn subtract_one(digits: &str) -> String {
    let mut all: Vec<u8> = digits.bytes().collect();
    for digit in all.iter_mut().rev() {
        if *digit > b'0' {
            *digit -= 1;
            break;
        }
        *digit = b'9';
    }
    let text: String = all.into_iter().map(char::from).collect();
    match text.trim_start_matches('0') {
        "" => "0".to_owned(),
        digits => digits.to_owned(),
    }
}
