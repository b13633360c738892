//! Reads the type of a file: `file`, `file image/png|image/jpeg`, `file application/pdf ..5MiB`.
//!
//! The words of a type come in, `file` first. The media types and the largest size go out, or the first error.

use super::ValueRange;
use super::signs::TypePiece;
use super::wrong::TypeTextError;
use crate::nearest::find_nearest;
use systole_wire::file_reference::FILE_TYPES;
use systole_wire::limits::FILE_BYTES;

/// The units of a size.
const UNITS: [(&str, usize); 3] = [("MiB", 1 << 20), ("KiB", 1 << 10), ("", 1)];

/// Reads what is behind `file`. Without types, each type that a model may take is allowed.
pub(super) fn read_file(words: &[TypePiece<'_>]) -> Result<(Vec<String>, ValueRange), TypeTextError> {
    let is_size = |word: &&TypePiece<'_>| word.text.contains("..");
    let behind = words.get(1..).unwrap_or_default();
    let named = behind.iter().position(|word| is_size(&word)).unwrap_or(behind.len());
    let (typed, sized) = behind.split_at_checked(named).unwrap_or((behind, &[]));
    let mut types = Vec::new();
    for piece in typed.iter().flat_map(|word| word.split_by('|')).filter(|piece| !piece.is_empty()) {
        types.push(read_type(&piece, &types)?);
    }
    let most = match sized {
        [] => FILE_BYTES,
        [size] => read_size(size)?,
        [_, other, ..] => {
            let words = format!("`{}` comes after the size, but only -- is expected", other.text);
            return Err(TypeTextError::new(other, &words, &format!("-- {}", other.text)));
        }
    };
    if types.is_empty() {
        types.extend(FILE_TYPES.map(str::to_owned));
    }
    Ok((types, ValueRange { least: None, most: Some(most.to_string()) }))
}

fn read_type(piece: &TypePiece<'_>, before: &[String]) -> Result<String, TypeTextError> {
    if before.iter().any(|known| known == piece.text) {
        let words = format!("the type {} is listed twice", piece.text);
        return Err(TypeTextError::new(piece, &words, "leave one out"));
    }
    if FILE_TYPES.contains(&piece.text) {
        return Ok(piece.text.to_owned());
    }
    let words = format!("`{}` is no type of a file that a model may take", piece.text);
    let short = FILE_TYPES.into_iter().find(|known| known.ends_with(&format!("/{}", piece.text)));
    let near = short.or_else(|| find_nearest(piece.text, FILE_TYPES.into_iter()));
    let all = || format!("one of {}, with | between them", FILE_TYPES.join(", "));
    Err(TypeTextError::new(piece, &words, &near.map_or_else(all, str::to_owned)))
}

fn read_size(piece: &TypePiece<'_>) -> Result<usize, TypeTextError> {
    let (fix, largest) = ("the largest size, as ..5MiB or ..500KiB", FILE_BYTES >> 20);
    let read = piece.text.strip_prefix("..").and_then(|size| {
        let (number, unit) =
            UNITS.iter().find_map(|(unit, bytes)| Some((size.strip_suffix(unit)?, bytes)))?;
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| number.parse::<usize>().unwrap_or(usize::MAX).saturating_mul(*unit))
    });
    match read {
        Some(0) => Err(TypeTextError::new(piece, "a file of 0 bytes is never taken", fix)),
        Some(bytes) if bytes > FILE_BYTES => {
            let words = format!("a file has at most {largest} MiB");
            Err(TypeTextError::new(piece, &words, &format!("..{largest}MiB, or leave it out")))
        }
        Some(bytes) => Ok(bytes),
        None => Err(TypeTextError::new(piece, &format!("`{}` is no size of a file", piece.text), fix)),
    }
}
