//! Durations and sizes: a whole number and its unit. A bare number is rejected, because `30` could mean
//! seconds or milliseconds. Tokens are counted in thousands and millions.

use systole_kit::schema::find_nearest;

use super::diagnostics::Diagnostics;
use super::key::{KeyForm, MeasureBounds};
use super::tree::Node;
use super::value::{At, Fields, text};
use systole_core::types::codes::Code;
use systole_core::types::time::UNITS as DURATIONS;

pub(super) const SIZES: &[(&str, u64)] = &[("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];

/// Units of tokens.
pub(super) const THOUSANDS: &[(&str, u64)] = &[("", 1), ("k", 1_000), ("M", 1_000_000)];

/// Bounds of the pauses between attempts.
const PAUSE: MeasureBounds = MeasureBounds { least: ("1ms", 1), most: ("1d", 86_400_000) };

impl Fields<'_> {
    /// A duration in milliseconds, a size in bytes or a number of tokens, within the bounds of its key.
    pub(super) fn measure(&self, diagnostics: &mut Diagnostics, key: &str) -> Option<At<u64>> {
        let (node, path) = self.get(key)?;
        let found = text(diagnostics, node, &path)?;
        let value = match self.form(key) {
            Some(KeyForm::Duration(bounds)) => measured(diagnostics, &found, &path, DURATIONS, "s", &bounds),
            Some(KeyForm::Size(bounds)) => measured(diagnostics, &found, &path, SIZES, "KiB", &bounds),
            Some(KeyForm::Tokens(bounds)) => tokens(diagnostics, &found, &path, &bounds),
            _ => {
                debug_assert!(false, "{path} is no measure in the table of keys");
                None
            }
        };
        value.map(|value| At { at: found.at, value })
    }
}

/// A number of tokens: a whole number, optionally with `k` for thousands or `M` for millions.
fn tokens(
    diagnostics: &mut Diagnostics,
    found: &At<String>,
    path: &str,
    bounds: &MeasureBounds,
) -> Option<u64> {
    let written = found.value.as_str();
    let (digits, factor) = THOUSANDS
        .iter()
        .rev()
        .find_map(|(unit, factor)| Some((written.strip_suffix(unit)?, *factor)))
        .unwrap_or((written, 1));
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    let number = number.filter(|number| is_number && (bounds.least.1..=bounds.most.1).contains(number));
    if number.is_none() {
        let range = format!("{} to {}", bounds.least.0, bounds.most.0);
        let message = format!("{path}: `{written}` is not a number of tokens from {range}");
        diagnostics.report(Code::ConfigValue, found.at, &message, Some("200k"));
    }
    number
}

/// Two durations, the first not longer than the second: `1s..30s`.
pub(super) fn durations_ms(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<(u64, u64)> {
    let found = text(diagnostics, node, path)?;
    let Some((first, last)) = found.value.split_once("..") else {
        let message = format!("{path}: `{}` is not two durations", found.value);
        diagnostics.report(
            Code::ConfigValue,
            found.at,
            &message,
            Some("the first pause and the longest, as in 1s..30s"),
        );
        return None;
    };
    let end = |value: &str| At { at: found.at, value: value.to_owned() };
    let first_ms = measured(diagnostics, &end(first), path, DURATIONS, "s", &PAUSE)?;
    let last_ms = measured(diagnostics, &end(last), path, DURATIONS, "s", &PAUSE)?;
    if first_ms > last_ms {
        let message = format!("{path}: {first} is longer than {last}");
        diagnostics.report(Code::ConfigValue, found.at, &message, Some(&format!("{last}..{first}")));
        return None;
    }
    Some((first_ms, last_ms))
}

fn measured(
    diagnostics: &mut Diagnostics,
    found: &At<String>,
    path: &str,
    units: &[(&str, u64)],
    usual: &str,
    bounds: &MeasureBounds,
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
        None if unit.is_empty() => (format!("`{written}` has no unit"), [written, usual].concat()),
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
            if value < bounds.least.1 {
                (
                    format!("{written} is less than {}, the smallest allowed", bounds.least.0),
                    bounds.least.0.to_owned(),
                )
            } else if value > bounds.most.1 {
                (
                    format!("{written} is more than {}, the largest allowed", bounds.most.0),
                    bounds.most.0.to_owned(),
                )
            } else {
                return Some(value);
            }
        }
    };
    diagnostics.report(Code::ConfigValue, found.at, &format!("{path}: {message}"), Some(&fix));
    None
}
