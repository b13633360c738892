//! Reads the range of a type or of a list: `1..100`, `..5`, `0..`.
//!
//! It does not decide what the range counts. A word comes in; its two ends go out, or the error in
//! it.

use super::base::BaseType;
use super::signs::Piece;
use super::trial;
use super::wrong::TypeTextError;
use super::{ITEMS, ValueRange};

/// Most characters for a range; no one may send that many bytes.
const CHARACTERS: u32 = 1 << 20;

/// Reads the range of a base that takes one.
pub(super) fn of_base(base: &BaseType, piece: &Piece<'_>) -> Result<ValueRange, TypeTextError> {
    let (least, most) = ends(piece)?;
    if !base.counts_characters() && !base.is_number() {
        let words = "a range is given, and only texts and numbers have one";
        return Err(TypeTextError::new(
            piece,
            words,
            "leave it out; for a date, say it in the words after --",
        ));
    }
    for end in [&least, &most].into_iter().flatten() {
        if base.counts_characters() {
            count(end, CHARACTERS)?;
        } else if let Some(fault) = trial::fault(base, &ValueRange::default(), end.text) {
            let beyond = ["more than", "less than", "digits"].iter().any(|word| fault.words.contains(word));
            let fix = if beyond { "leave this side open" } else { "two numbers, as 1..100" };
            return Err(TypeTextError::new(end, &fault.words, fix));
        }
    }
    let owned = |end: &Option<Piece<'_>>| end.as_ref().map(|end| end.text.to_owned());
    let range = ValueRange { least: owned(&least), most: owned(&most) };
    if let (Some(least), Some(most)) = (&least, &most) {
        let is_backwards = if base.counts_characters() {
            count(least, CHARACTERS)? > count(most, CHARACTERS)?
        } else {
            let from = ValueRange { least: range.least.clone(), most: None };
            trial::fault(base, &from, most.text).is_some()
        };
        if is_backwards {
            return Err(backwards(piece, least, most));
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
pub(super) fn of_list(piece: &Piece<'_>) -> Result<(u32, Option<u32>), TypeTextError> {
    if !piece.text.contains("..") {
        let words = format!("`{}` is no range", piece.text);
        return Err(TypeTextError::new(piece, &words, &likely(piece.text)));
    }
    let (least, most) = ends(piece)?;
    let fewest = least.as_ref().map_or(Ok(0), |end| count(end, ITEMS))?;
    let largest = most.as_ref().map(|end| count(end, ITEMS)).transpose()?;
    if let (Some(least), Some(most)) = (&least, &most)
        && largest.is_some_and(|largest| fewest > largest)
    {
        return Err(backwards(piece, least, most));
    }
    if largest == Some(0) {
        return Err(TypeTextError::new(piece, "with 0 items at most it would always be empty", "1..10"));
    }
    Ok((fewest, largest))
}

type Ends<'t> = (Option<Piece<'t>>, Option<Piece<'t>>);

/// The two ends as written.
fn ends<'t>(piece: &Piece<'t>) -> Result<Ends<'t>, TypeTextError> {
    let Some((least, most)) = piece.text.split_once("..") else {
        let words = format!("`{}` is used where nothing or a range is expected", piece.text);
        return Err(TypeTextError::new(piece, &words, &likely(piece.text)));
    };
    if least.is_empty() && most.is_empty() {
        return Err(TypeTextError::new(piece, "a range with both sides open says nothing", "leave it out"));
    }
    let start = piece.at.start;
    let behind = piece.at.end - most.len();
    let least = Some(Piece { text: least, at: start..start + least.len() }).filter(|end| !end.is_empty());
    let most = Some(Piece { text: most, at: behind..piece.at.end }).filter(|end| !end.is_empty());
    Ok((least, most))
}

/// The probable meaning of `1-100`, `1:100`, `[1,100]`, `>=1` or `(255)`.
pub(super) fn likely(written: &str) -> String {
    let is_digit = |c: char| c.is_ascii_digit() || c == '.';
    let mut numbers =
        written.split(|c| !is_digit(c)).map(|part| part.trim_matches('.')).filter(|p| !p.is_empty());
    match (numbers.next(), numbers.next(), numbers.next()) {
        (Some(least), Some(most), None) => format!("{least}..{most}"),
        (Some(least), None, None) if written.starts_with('>') => format!("{least}.."),
        (Some(most), None, None) => format!("..{most}"),
        _ => "a range as 1..100; ~ before a regex, = before a default, -- before words".to_owned(),
    }
}

fn count(end: &Piece<'_>, limit: u32) -> Result<u32, TypeTextError> {
    let digits = !end.is_empty() && end.text.bytes().all(|byte| byte.is_ascii_digit());
    let most = limit.to_string();
    match end.text.parse::<u32>().ok().filter(|_| digits) {
        Some(number) if number <= limit => Ok(number),
        _ if digits => {
            let words = format!("{} is more than {most}, the largest allowed", end.text);
            Err(TypeTextError::new(end, &words, "leave this side open"))
        }
        _ => Err(TypeTextError::new(end, &format!("`{}` is not a whole number", end.text), "1..100")),
    }
}

fn backwards(piece: &Piece<'_>, least: &Piece<'_>, most: &Piece<'_>) -> TypeTextError {
    let words = format!("the range runs backwards: {} is more than {}", least.text, most.text);
    TypeTextError::new(piece, &words, &format!("{}..{}", most.text, least.text))
}
