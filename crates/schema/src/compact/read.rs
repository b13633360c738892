//! Reads the text of a type: `["sensitive "] base [range] ["~ " regex] ["= " default] ["-- " words]`.
//!
//! A text comes in. A type goes out, or the first error, with its place in the text and what to write
//! instead. It does not know the element of the type.

use std::ops::Range as Stretch;

use super::base::{self, BaseType};
use super::signs::{TypePiece, TypeSigns};
use super::wrong::TypeTextError;
use super::{ValueRange, ValueType, file, range, trial};
use crate::limits::COMPACT_BYTES;
use systole_wire::characters;

/// A type, and the places of some of its parts in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadType {
    /// The type.
    pub of: ValueType,
    /// The place of the default, including its sign.
    pub default_at: Option<Stretch<usize>>,
}

impl ValueType {
    /// Reads the text of a type.
    ///
    /// # Errors
    /// If the text is not a type.
    pub fn from_text(text: &str) -> Result<ReadType, TypeTextError> {
        let signs = TypeSigns::from_text(text);
        if text.len() > COMPACT_BYTES {
            return Err(too_long(text, &signs));
        }
        if let Some((at, illegal)) = text.char_indices().find(|(_, c)| !characters::is_legal(*c)) {
            let at = at..at + illegal.len_utf8();
            let words = "this is a character that XML cannot carry".to_owned();
            return Err(TypeTextError { at, words, fix: "leave it out".to_owned() });
        }
        let (sensitive, base, range) = read_head(&signs)?;
        let mut of = ValueType { sensitive, base, range, pattern: None, default: None, words: None };
        if let Some((pattern, sign)) = &signs.pattern {
            pattern_of(&mut of, pattern, sign)?;
        }
        if let Some((default, sign)) = &signs.default {
            default_of(&mut of, default, sign)?;
        }
        if let Some((words, sign)) = &signs.words {
            let plain = words.text.split_whitespace().collect::<Vec<_>>().join(" ");
            if plain.is_empty() {
                let fix = "words, as -- what to look for; or leave -- out";
                return Err(at_sign(sign, "there are no words after --", fix));
            }
            of.words = Some(plain);
        }
        let default_at = signs.default.map(|(default, sign)| sign.start..default.at.end.max(sign.end));
        Ok(ReadType { of, default_at })
    }
}

/// Reports a text that is too long, at its longest part.
fn too_long(text: &str, signs: &TypeSigns<'_>) -> TypeTextError {
    let head = match signs.head.text.contains('|') {
        true => "fewer or shorter values between |, or text",
        false => "a type in few letters, as text",
    };
    let behind = [
        (&signs.pattern, "a shorter regex behind ~, or none"),
        (&signs.default, "a shorter default behind =, or none"),
        (&signs.words, "shorter words behind --"),
    ];
    let behind = behind.into_iter().filter_map(|(part, fix)| Some((&part.as_ref()?.0, fix)));
    let (from, fix) =
        behind.fold(
            (&signs.head, head),
            |most, part| if part.0.text.len() > most.0.text.len() { part } else { most },
        );
    let words = format!("{} bytes long, where {COMPACT_BYTES} are the most", text.len());
    TypeTextError { at: from.at.start..from.at.start, words, fix: fix.to_owned() }
}

fn at_sign(sign: &Stretch<usize>, words: &str, fix: &str) -> TypeTextError {
    TypeTextError { at: sign.clone(), words: words.to_owned(), fix: fix.to_owned() }
}

/// The text before all signs.
fn read_head(signs: &TypeSigns<'_>) -> Result<(bool, BaseType, ValueRange), TypeTextError> {
    let words = signs.head.split_words();
    let sensitive = words.len() > 1 && words.first().is_some_and(|word| word.text == "sensitive");
    let rest = words.get(usize::from(sensitive)..).unwrap_or_default();
    let Some(first) = rest.first() else {
        let fix = format!("a type: {}, or words as fast | deep", base::list_words());
        return Err(TypeTextError::new(&signs.head, "there is no type", &fix));
    };
    if first.text == base::FILE && rest.get(1).is_none_or(|next| !next.text.starts_with('|')) {
        if sensitive {
            let words = "only the whole message of a file can be erased";
            return Err(TypeTextError::new(&signs.head, words, "leave sensitive out"));
        }
        let (types, range) = file::read_file(rest)?;
        return Ok((sensitive, BaseType::File(types), range));
    }
    if rest.iter().any(|word| word.text.contains('|')) {
        let end = signs.head.at.end;
        let from = first.at.start - signs.head.at.start;
        let text = signs.head.text.get(from..).unwrap_or_default();
        let listed = TypePiece { text, at: first.at.start..end };
        return Ok((sensitive, one_of(&listed)?, ValueRange::default()));
    }
    let Some(base) = BaseType::from_word(first.text) else { return Err(report_unknown(first, rest)) };
    let range = match rest.get(1..).unwrap_or_default() {
        [] => ValueRange::default(),
        [only] => no_sign(only).map_or_else(|| range::of_base(&base, only), Err)?,
        [second, others @ ..] => return Err(too_many(second, others)),
    };
    Ok((sensitive, base, range))
}

/// A sign that touches the word beside it does not count as a sign.
fn no_sign(word: &TypePiece<'_>) -> Option<TypeTextError> {
    let apart = |sign: &str, rest: &str| {
        let words = format!("a blank is missing behind {sign}");
        Some(TypeTextError::new(word, &words, &format!("{sign} {rest}")))
    };
    if matches!(word.text, "-" | "–" | "—") {
        return Some(TypeTextError::new(word, "words begin with two hyphens", "--"));
    }
    let dashed = word.text.strip_prefix("--").or_else(|| word.text.strip_prefix(['–', '—']));
    if let Some(rest) = dashed {
        return apart("--", rest);
    }
    if let Some(rest) = word.text.strip_prefix('-').filter(|rest| rest.starts_with(char::is_alphabetic)) {
        return Some(TypeTextError::new(word, "words begin with two hyphens", &format!("-- {rest}")));
    }
    if let Some(rest) = word.text.strip_prefix('=') {
        return apart("=", rest);
    }
    word.text.strip_prefix('~').and_then(|rest| apart("~", rest))
}

fn too_many(second: &TypePiece<'_>, others: &[TypePiece<'_>]) -> TypeTextError {
    if let Some(wrong) = no_sign(second) {
        return wrong;
    }
    let all: Vec<&str> = std::iter::once(second).chain(others).map(|piece| piece.text).collect();
    let joined = all.concat();
    let end = others.last().map_or(second.at.end, |last| last.at.end);
    let whole = TypePiece { text: second.text, at: second.at.start..end };
    let is_range = joined.contains("..") || joined.starts_with(['<', '>']);
    if is_range && joined.chars().all(|c| c.is_ascii_digit() || ".+-<>".contains(c)) {
        return TypeTextError::new(&whole, "a range is written without blanks", &joined);
    }
    if second.text.contains("..") {
        let next = others.first().unwrap_or(second);
        if let Some(wrong) = no_sign(next) {
            return wrong;
        }
        let words = format!("`{}` comes after the range, but only ~, = or -- is expected", next.text);
        return TypeTextError::new(next, &words, &format!("-- {}", next.text));
    }
    let words = format!("`{}` is used where nothing or a range is expected", all.join(" "));
    TypeTextError::new(&whole, &words, &format!("-- {}, if these are words for people", all.join(" ")))
}

fn report_unknown(word: &TypePiece<'_>, rest: &[TypePiece<'_>]) -> TypeTextError {
    if let Some(wrong) = no_sign(word) {
        return wrong;
    }
    if word.text == "sensitive" {
        return TypeTextError::new(word, "there is no type behind sensitive", "sensitive word");
    }
    let words = format!("`{}` is no type", word.text);
    // `int1..5`, `text(255)` and `word,`: a type with something attached.
    let letters = word.text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(word.text.len());
    let (start, clinging) = word.text.split_at_checked(letters).unwrap_or((word.text, ""));
    if BaseType::from_word(start).is_some() && !clinging.is_empty() {
        let has_number = clinging.contains(|c: char| c.is_ascii_digit());
        let fix =
            if has_number { format!("{start} {}", range::suggest_range(clinging)) } else { start.to_owned() };
        return TypeTextError::new(word, &words, &fix);
    }
    if rest.len() > 1 && base::suggest_word(word.text).is_none() {
        let fix = "text -- and these words behind it, if they are words for people".to_owned();
        return TypeTextError::new(word, &words, &fix);
    }
    match base::suggest_word(word.text) {
        Some(meant) => TypeTextError::new(word, &words, meant),
        None => {
            let fix = format!("one of {}; or several words with | between them", base::list_words());
            TypeTextError::new(word, &words, &fix)
        }
    }
}

fn one_of(listed: &TypePiece<'_>) -> Result<BaseType, TypeTextError> {
    let mut values: Vec<String> = Vec::new();
    for piece in listed.split_by('|') {
        if piece.is_empty() {
            return Err(TypeTextError::new(&piece, "there is no value on one side of |", "fast | deep"));
        }
        if let [_, second, ..] = piece.split_words().as_slice() {
            if let Some(wrong) = no_sign(second) {
                return Err(wrong);
            }
            let words = format!("the value `{}` has a blank in it", piece.text);
            let joined: Vec<&str> = piece.split_words().iter().map(|word| word.text).collect();
            return Err(TypeTextError::new(&piece, &words, &joined.join("-")));
        }
        if values.iter().any(|value| value == piece.text) {
            let words = format!("the value {} is listed twice", piece.text);
            return Err(TypeTextError::new(&piece, &words, "leave one out"));
        }
        values.push(piece.text.to_owned());
    }
    Ok(BaseType::OneOf(values))
}

fn pattern_of(
    of: &mut ValueType,
    pattern: &TypePiece<'_>,
    sign: &Stretch<usize>,
) -> Result<(), TypeTextError> {
    if pattern.is_empty() {
        return Err(at_sign(sign, "there is no regex after ~", "~ [A-Z]{2}-\\d{6}, or leave ~ out"));
    }
    if let BaseType::File(_) = of.base {
        return Err(TypeTextError::new(pattern, "a file has no regex", "leave ~ and the regex out"));
    }
    if of.base.is_listed() {
        let words = "a regex cannot be beside listed values";
        return Err(TypeTextError::new(pattern, words, "leave ~ and the regex out"));
    }
    of.pattern = Some(pattern.text.to_owned());
    match trial::refused_pattern(of) {
        None => Ok(()),
        Some(reason) => {
            let words = format!("the regex is not allowed: {reason}");
            Err(TypeTextError::new(pattern, &words, &suggest_pattern(pattern.text)))
        }
    }
}

/// The probable meaning of a regex in another dialect.
fn suggest_pattern(pattern: &str) -> String {
    if pattern.contains("(?") {
        return "plain groups, as (a|b); XSD has no (?…)".to_owned();
    }
    "a simpler regex of XSD, which matches the whole value without ^ and $".to_owned()
}

fn default_of(
    of: &mut ValueType,
    default: &TypePiece<'_>,
    sign: &Stretch<usize>,
) -> Result<(), TypeTextError> {
    if default.is_empty() {
        let fix = "= and a value; for a value that may be left out, NAME?";
        return Err(at_sign(sign, "there is no default after =", fix));
    }
    if let BaseType::File(_) = of.base {
        return Err(at_sign(
            sign,
            "a file has no default",
            "leave = out; NAME? for a file that may be left out",
        ));
    }
    let fault = trial::try_value(of, default.text);
    if let (Some(_), Some(misplaced)) = (&fault, default.split_words().iter().find(|word| word.text == "~")) {
        return Err(TypeTextError::new(misplaced, "the regex comes after the default", "~ REGEX = DEFAULT"));
    }
    if let Some(fault) = fault {
        let fix = fault.instead.map(|value| format!("= {value}"));
        let fix = fix.unwrap_or_else(|| "another default, or none".to_owned());
        return Err(TypeTextError::new(default, &format!("the default {}", fault.words), &fix));
    }
    of.default = Some(default.text.to_owned());
    Ok(())
}
