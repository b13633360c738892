//! Durations and sizes: a whole number and its unit. A bare number is rejected, because `30` could mean
//! seconds or milliseconds. Tokens are counted in thousands and millions.

use systole_kit::schema::find_nearest;

use super::diagnostics::Diagnostics;
use super::key::{KeyForm, MeasureBounds, THOUSANDS, TIME_UNITS, show_measure, usual_unit};
use super::tree::Node;
use super::value::{At, text};

/// Bounds of the pauses between attempts.
const PAUSE: MeasureBounds = MeasureBounds { least: 1, most: 86_400_000 };

/// A number of tokens: a whole number, optionally with `k` for thousands or `M` for millions.
pub(super) fn read_tokens(
    diagnostics: &mut Diagnostics,
    found: &At<String>,
    path: &str,
    bounds: MeasureBounds,
) -> Option<u64> {
    let written = found.value.as_str();
    let (digits, factor) = THOUSANDS
        .iter()
        .rev()
        .find_map(|(unit, factor)| Some((written.strip_suffix(unit)?, *factor)))
        .unwrap_or((written, 1));
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    let number = number.filter(|number| is_number && (bounds.least..=bounds.most).contains(number));
    if number.is_none() {
        let range = KeyForm::Tokens(bounds).show_bounds();
        let message = format!("{path}: `{written}` is not a number of tokens from {range}");
        diagnostics.report_value(found.at, &message, "200k");
    }
    number
}

/// Two durations, the first not longer than the second: `1s..30s`.
pub(super) fn durations_ms(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<(u64, u64)> {
    let found = text(diagnostics, node, path)?;
    let Some((first, last)) = found.value.split_once("..") else {
        let message = format!("{path}: `{}` is not two durations", found.value);
        diagnostics.report_value(found.at, &message, "the first pause and the longest, as in 1s..30s");
        return None;
    };
    let end = |value: &str| At { at: found.at, value: value.to_owned() };
    let first_ms = read_measure(diagnostics, &end(first), path, TIME_UNITS, PAUSE)?;
    let last_ms = read_measure(diagnostics, &end(last), path, TIME_UNITS, PAUSE)?;
    if first_ms > last_ms {
        let message = format!("{path}: {first} is longer than {last}");
        diagnostics.report_value(found.at, &message, &format!("{last}..{first}"));
        return None;
    }
    Some((first_ms, last_ms))
}

/// A number with one of these units.
pub(super) fn read_measure(
    diagnostics: &mut Diagnostics,
    found: &At<String>,
    path: &str,
    units: &[(&'static str, u64)],
    bounds: MeasureBounds,
) -> Option<u64> {
    let written = found.value.as_str();
    let digits = written.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = written.split_at_checked(digits)?;
    let names = units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let factor = units.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor);
    let (message, fix) = match factor {
        None if digits == 0 => {
            (format!("`{written}` is not a number with a unit"), format!("a number and one of {names}"))
        }
        None if unit.is_empty() => {
            (format!("`{written}` has no unit"), [written, usual_unit(units)].concat())
        }
        None if units.iter().any(|(name, _)| *name == unit.trim()) => {
            (format!("`{written}` has a blank in it"), [number, unit.trim()].concat())
        }
        None => {
            let unit = unit.trim();
            // `4k` means thousands of something, not the unit that differs by one letter.
            let lower = unit.to_ascii_lowercase();
            let short = units.iter().map(|(name, _)| *name);
            let short = short.clone().find(|name| name.to_ascii_lowercase().starts_with(&lower));
            let near = short.or_else(|| find_nearest(unit, units.iter().map(|(name, _)| *name)));
            let near = near.map(|near| [number, near].concat());
            (format!("`{unit}` is not a unit here"), near.unwrap_or_else(|| format!("one of {names}")))
        }
        Some(_) if digits == 0 => (format!("`{written}` has no number"), format!("1{unit}")),
        Some(factor) => {
            // A number that is too long to parse is too large.
            let value = number.parse::<u64>().ok().and_then(|n| n.checked_mul(factor)).unwrap_or(u64::MAX);
            if value < bounds.least {
                let least = show_measure(bounds.least, units);
                (format!("{written} is less than {least}, the smallest allowed"), least)
            } else if value > bounds.most {
                let most = show_measure(bounds.most, units);
                (format!("{written} is more than {most}, the largest allowed"), most)
            } else {
                return Some(value);
            }
        }
    };
    diagnostics.report_value(found.at, &format!("{path}: {message}"), &fix);
    None
}
