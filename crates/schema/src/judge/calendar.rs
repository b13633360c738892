//! Dates, times and durations as XSD 1.0 spells them.
//!
//! A spelling comes in; a comparable moment goes out, or nothing. It reads no clock. Moments with
//! and without a time zone do not compare; only the judge has words for that.

use std::cmp::Ordering;

use crate::limits;

/// A moment on the proleptic Gregorian calendar, in UTC if it has a zone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CalendarMoment {
    day: i64,
    second: f64,
    zoned: bool,
}

impl CalendarMoment {
    /// The order of two moments. Moments with and without a time zone do not compare.
    pub(crate) fn compare_to(&self, other: &CalendarMoment) -> Option<Ordering> {
        if self.zoned != other.zoned {
            return None;
        }
        Some(self.day.cmp(&other.day).then(self.second.partial_cmp(&other.second)?))
    }
}

pub(crate) fn parse_date(value: &str) -> Option<CalendarMoment> {
    let (day, rest) = day_of(value)?;
    let zone = zone_minutes(rest)?;
    Some(make_moment(day, 0.0, zone))
}

pub(crate) fn date_time(value: &str) -> Option<CalendarMoment> {
    let (day, rest) = day_of(value)?;
    let (second, rest) = second_of(rest.strip_prefix('T')?)?;
    let zone = zone_minutes(rest)?;
    Some(make_moment(day, second, zone))
}

pub(crate) fn parse_time(value: &str) -> Option<CalendarMoment> {
    let (second, rest) = second_of(value)?;
    let zone = zone_minutes(rest)?;
    Some(make_moment(0, second, zone))
}

fn make_moment(day: i64, second: f64, zone: Option<i32>) -> CalendarMoment {
    let shifted = second - f64::from(zone.unwrap_or_default()) * 60.0;
    // A zone is at most 14 hours, so one day either way is enough.
    let (day, second) = match shifted {
        s if s < 0.0 => (day.saturating_sub(1), s + 86_400.0),
        s if s >= 86_400.0 => (day.saturating_add(1), s - 86_400.0),
        s => (day, s),
    };
    CalendarMoment { day, second, zoned: zone.is_some() }
}

/// Reads `-?YYYY-MM-DD` and returns the day's number and the rest.
fn day_of(value: &str) -> Option<(i64, &str)> {
    let (negative, unsigned) = match value.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, value),
    };
    let (year, rest) = unsigned.split_once('-')?;
    let spelt = year.bytes().all(|b| b.is_ascii_digit()) && (4..=limits::YEAR_DIGITS).contains(&year.len());
    if !spelt || (year.len() > 4 && year.starts_with('0')) {
        return None;
    }
    let year: i64 = year.parse().ok()?;
    if year == 0 {
        return None;
    }
    let year = if negative { -year } else { year };
    let (month, rest) = two_digits(rest)?;
    let (day, rest) = two_digits(rest.strip_prefix('-')?)?;
    let fits = (1..=12).contains(&month) && (1..=days_in(year, month)).contains(&day);
    fits.then(|| (day_number(year, month, day), rest))
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since a fixed day; years start in March so that the leap day is a year's last day.
fn day_number(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leaps = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leaps + (month * 153 + 2) / 5 + day
}

/// Reads `HH:MM:SS(.s+)?`; `24:00:00` is the end of the day.
fn second_of(value: &str) -> Option<(f64, &str)> {
    let (hour, rest) = two_digits(value)?;
    let (minute, rest) = two_digits(rest.strip_prefix(':')?)?;
    let (second, rest) = two_digits(rest.strip_prefix(':')?)?;
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(digits) => {
            let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
            let (digits, rest) = digits.split_at_checked(end)?;
            if digits.is_empty() {
                return None;
            }
            (format!("0.{digits}").parse::<f64>().ok()?, rest)
        }
        None => (0.0, rest),
    };
    let whole = i32::try_from(hour * 3600 + minute * 60 + second).ok()?;
    let end_of_day = whole == 86_400 && fraction == 0.0 && hour == 24;
    let fits = (hour < 24 && minute < 60 && second < 60) || end_of_day;
    fits.then_some((f64::from(whole) + fraction, rest))
}

/// Reads the whole rest as a zone: nothing, `Z`, or `+HH:MM` up to 14 hours.
fn zone_minutes(value: &str) -> Option<Option<i32>> {
    if value.is_empty() {
        return Some(None);
    }
    if value == "Z" {
        return Some(Some(0));
    }
    let negative = value.starts_with('-');
    let (hours, rest) = two_digits(value.strip_prefix(['+', '-'])?)?;
    let (minutes, rest) = two_digits(rest.strip_prefix(':')?)?;
    let total = i32::try_from(hours * 60 + minutes).ok()?;
    let fits = rest.is_empty() && minutes < 60 && total <= 14 * 60;
    fits.then_some(Some(if negative { -total } else { total }))
}

fn two_digits(value: &str) -> Option<(i64, &str)> {
    let (digits, rest) = value.split_at_checked(2)?;
    let spelt = digits.bytes().all(|b| b.is_ascii_digit());
    Some((digits.parse().ok().filter(|_| spelt)?, rest))
}

/// `-?PnYnMnDTnHnMnS`, at least one part, in this order, a fraction in the seconds only.
pub(crate) fn is_duration(value: &str) -> bool {
    let unsigned = value.strip_prefix('-').unwrap_or(value);
    let Some(body) = unsigned.strip_prefix('P').filter(|body| !body.is_empty()) else { return false };
    let (days, clock) = match body.split_once('T') {
        Some((days, clock)) => (days, Some(clock)),
        None => (body, None),
    };
    let clock_fits = clock.is_none_or(|clock| !clock.is_empty() && parts_in_order(clock, &['H', 'M', 'S']));
    parts_in_order(days, &['Y', 'M', 'D']) && clock_fits
}

/// Whether two durations are the same value: months and seconds are, whatever the units. A month has no number of days.
pub(crate) fn is_same_duration(one: &str, other: &str) -> bool {
    one == other || parse_duration(one).is_some_and(|read| parse_duration(other) == Some(read))
}

/// The months and the seconds of a duration with their sign, and the fraction of a second, whose sign counts if there is
/// no whole second. `None` if a number is too large.
fn parse_duration(value: &str) -> Option<(i128, i128, bool, &str)> {
    let (sign, unsigned) = value.strip_prefix('-').map_or((1, value), |rest| (-1, rest));
    let body = unsigned.strip_prefix('P')?;
    let (date, clock) = body.split_once('T').unwrap_or((body, ""));
    let (mut months, mut seconds, mut fraction) = (0_i128, 0_i128, "");
    for (text, units) in [
        (date, [('Y', 12, 0), ('M', 1, 0), ('D', 0, 86_400)]),
        (clock, [('H', 0, 3_600), ('M', 0, 60), ('S', 0, 1)]),
    ] {
        for part in text.split_inclusive(|c: char| c.is_ascii_alphabetic()) {
            let (letter, number) = (part.chars().next_back()?, part.trim_end_matches(char::is_alphabetic));
            let (_, of_months, of_seconds) = units.into_iter().find(|unit| unit.0 == letter)?;
            let (whole, behind) = number.split_once('.').unwrap_or((number, ""));
            let amount: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
            months = months.checked_add(amount.checked_mul(of_months)?)?;
            seconds = seconds.checked_add(amount.checked_mul(of_seconds)?)?;
            fraction = if letter == 'S' { behind.trim_end_matches('0') } else { fraction };
        }
    }
    Some((sign * months, sign * seconds, sign < 0 && !fraction.is_empty(), fraction))
}

fn parts_in_order(mut text: &str, letters: &[char]) -> bool {
    let mut left = letters.iter();
    while !text.is_empty() {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let Some((number, rest)) = text.split_at_checked(end) else { return false };
        let Some(letter) = rest.chars().next() else { return false };
        if !left.any(|known| *known == letter) || !is_amount(number, letter == 'S') {
            return false;
        }
        text = rest.get(letter.len_utf8()..).unwrap_or_default();
    }
    true
}

fn is_amount(number: &str, fraction_allowed: bool) -> bool {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    let some = !whole.is_empty() || !fraction.is_empty();
    some && digits(whole) && digits(fraction) && (fraction_allowed || !number.contains('.'))
}
