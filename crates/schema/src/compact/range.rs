//! Reads the range of a type or of a list: `1..100`, `..5`, `0..`, and of numbers also `>50` and `>0..<100`.
//!
//! It does not decide what the range counts. A word comes in; its two ends go out, or the error in
//! it.

use super::ValueRange;
use super::base::BaseType;
use super::signs::TypePiece;
use super::trial;
use super::wrong::TypeTextError;
use crate::limits;

/// Reads the range of a base that takes one.
pub(super) fn of_base(base: &BaseType, piece: &TypePiece<'_>) -> Result<ValueRange, TypeTextError> {
    let (least, most) = read_ends(piece)?;
    if !base.counts_characters() && !base.is_number() {
        let words = "a range is given, and only texts and numbers have one";
        return Err(TypeTextError::new(
            piece,
            words,
            "leave it out; for a date, say it in the words after --",
        ));
    }
    let sides = [(&least, '>'), (&most, '<')];
    for (end, sign) in sides.into_iter().filter_map(|(end, sign)| Some((end.as_ref()?, sign))) {
        if base.counts_characters() {
            read_count(end, limits::RANGE_CHARACTERS)?;
        } else if let Some(fault) = trial::find_fault(base, &ValueRange::default(), read_number(end, sign)) {
            let beyond = ["more than", "less than", "digits"].iter().any(|word| fault.words.contains(word));
            let fix = if beyond { "leave this side open" } else { "two numbers, as 1..100" };
            return Err(TypeTextError::new(end, &fault.words, fix));
        }
    }
    let owned = |end: &Option<TypePiece<'_>>| end.as_ref().map(|end| end.text.to_owned());
    let range = ValueRange { least: owned(&least), most: owned(&most) };
    if let (Some(least), Some(most)) = (&least, &most) {
        let (from, to) = (read_number(least, '>'), read_number(most, '<'));
        let is_below = |one: &str, other: &str| {
            let at_least = ValueRange { least: Some(other.to_owned()), most: None };
            trial::find_fault(base, &at_least, one).is_some()
        };
        let is_backwards = if base.counts_characters() {
            read_count(least, limits::RANGE_CHARACTERS)? > read_count(most, limits::RANGE_CHARACTERS)?
        } else {
            is_below(to, from)
        };
        if is_backwards {
            return Err(report_backwards(piece, from, to));
        }
        if base.is_number() && (from, to) != (least.text, most.text) && !is_below(from, to) {
            let words = "no number is in this range, because an end is left out of it";
            return Err(TypeTextError::new(piece, words, &format!("{from}..{to}")));
        }
    }
    if base.counts_characters() && most.is_some_and(|most| most.text.trim_start_matches('0').is_empty()) {
        return Err(TypeTextError::new(
            piece,
            "with 0 characters at most it would always be empty",
            "1..100",
        ));
    }
    Ok(range)
}

/// Reads the size of a list.
pub(super) fn of_list(piece: &TypePiece<'_>) -> Result<(u32, Option<u32>), TypeTextError> {
    if !piece.text.contains("..") {
        let words = format!("`{}` is no range", piece.text);
        return Err(TypeTextError::new(piece, &words, &suggest_range(piece.text)));
    }
    let (least, most) = read_ends(piece)?;
    let fewest = least.as_ref().map_or(Ok(0), |end| read_count(end, limits::OCCURS))?;
    let largest = most.as_ref().map(|end| read_count(end, limits::OCCURS)).transpose()?;
    if let (Some(least), Some(most)) = (&least, &most)
        && largest.is_some_and(|largest| fewest > largest)
    {
        return Err(report_backwards(piece, least.text, most.text));
    }
    if largest == Some(0) {
        return Err(TypeTextError::new(piece, "with 0 items at most it would always be empty", "1..10"));
    }
    Ok((fewest, largest))
}

type RangeEnds<'t> = (Option<TypePiece<'t>>, Option<TypePiece<'t>>);

/// An end without the sign that leaves it out of the range.
fn read_number<'t>(end: &TypePiece<'t>, sign: char) -> &'t str {
    end.text.strip_prefix(sign).unwrap_or(end.text)
}

/// The two ends as written, each with its sign.
fn read_ends<'t>(piece: &TypePiece<'t>) -> Result<RangeEnds<'t>, TypeTextError> {
    let is_one_end = |sign: char| piece.text.starts_with(sign) && !piece.text.contains('=');
    let one_end = match piece.text {
        text if is_one_end('>') => Some((text, "")),
        text if is_one_end('<') => Some(("", text)),
        _ => None,
    };
    let Some((least, most)) = piece.text.split_once("..").or(one_end) else {
        let words = format!("`{}` is used where nothing or a range is expected", piece.text);
        return Err(TypeTextError::new(piece, &words, &suggest_range(piece.text)));
    };
    if least.is_empty() && most.is_empty() {
        return Err(TypeTextError::new(piece, "a range with both sides open says nothing", "leave it out"));
    }
    let start = piece.at.start;
    let behind = piece.at.end - most.len();
    let least = Some(TypePiece { text: least, at: start..start + least.len() }).filter(|end| !end.is_empty());
    let most = Some(TypePiece { text: most, at: behind..piece.at.end }).filter(|end| !end.is_empty());
    Ok((least, most))
}

/// The probable meaning of `1-100`, `1:100`, `[1,100]`, `>=1`, `>1` or `(255)`.
pub(super) fn suggest_range(written: &str) -> String {
    let is_digit = |c: char| c.is_ascii_digit() || c == '.';
    let mut numbers =
        written.split(|c| !is_digit(c)).map(|part| part.trim_matches('.')).filter(|p| !p.is_empty());
    match (numbers.next(), numbers.next(), numbers.next()) {
        (Some(least), Some(most), None) => format!("{least}..{most}"),
        (Some(least), None, None) if written.starts_with(">=") => format!("{least}.."),
        (Some(least), None, None) if written.starts_with('>') => format!(">{least}"),
        (Some(most), None, None) if written.starts_with('<') && !written.contains('=') => format!("<{most}"),
        (Some(most), None, None) => format!("..{most}"),
        _ => "a range as 1..100; ~ before a regex, = before a default, -- before words".to_owned(),
    }
}

fn read_count(end: &TypePiece<'_>, limit: u32) -> Result<u32, TypeTextError> {
    let digits = !end.is_empty() && end.text.bytes().all(|byte| byte.is_ascii_digit());
    let most = limit.to_string();
    match end.text.parse::<u32>().ok().filter(|_| digits) {
        Some(number) if number <= limit => Ok(number),
        _ if digits => {
            let words = format!("{} is more than {most}, the largest allowed", end.text);
            Err(TypeTextError::new(end, &words, "leave this side open"))
        }
        _ if end.text.starts_with(['>', '<']) => {
            let words = "< and > are for the values of int and number; a count includes its ends";
            Err(TypeTextError::new(end, words, "the next whole number, without the sign"))
        }
        _ => Err(TypeTextError::new(end, &format!("`{}` is not a whole number", end.text), "1..100")),
    }
}

fn report_backwards(piece: &TypePiece<'_>, least: &str, most: &str) -> TypeTextError {
    let words = format!("the range runs backwards: {least} is more than {most}");
    TypeTextError::new(piece, &words, &format!("{most}..{least}"))
}
