//! Bytes and numbers as text, read strictly: each value has exactly one text.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

pub(crate) fn encode_base64(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(bytes)
}

/// The bytes of a base64 text with canonical padding and no other character.
pub(crate) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    BASE64_STANDARD.decode(text).ok()
}

/// A hash in base64.
pub(crate) fn hash_of(text: &str) -> Option<[u8; 32]> {
    decode_base64(text)?.try_into().ok()
}

/// A decimal number without sign and without leading zeros.
pub(crate) fn parse_number(text: &str) -> Option<u64> {
    let is_canonical =
        text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    is_canonical.then(|| text.parse().ok())?
}

/// The lines before the first empty line, with their line breaks, and the bytes after it.
pub(crate) fn split_at_empty_line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = bytes.windows(2).position(|two| two == b"\n\n")?;
    Some((bytes.get(..=at)?, bytes.get(at + 2..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_one_text() {
        assert_eq!(parse_number("0"), Some(0));
        assert_eq!(parse_number("18446744073709551615"), Some(u64::MAX));
        for wrong in ["", "00", "01", "+1", "-1", " 1", "1 ", "1_0", "0x1", "18446744073709551616", "\u{661}"]
        {
            assert_eq!(parse_number(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_base64_text_is_canonical() {
        assert_eq!(decode_base64("AAE="), Some(vec![0, 1]));
        // Without padding, with bits after the end, with a line break, of another alphabet.
        for wrong in ["AAE", "AAF=", "AAE=\n", "AAE==", "A-E=", " AAE="] {
            assert_eq!(decode_base64(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn the_first_empty_line_splits() {
        assert_eq!(split_at_empty_line(b"a\nb\n\nc\n\nd"), Some((&b"a\nb\n"[..], &b"c\n\nd"[..])));
        assert_eq!(split_at_empty_line(b"a\n\n"), Some((&b"a\n"[..], &b""[..])));
        assert_eq!(split_at_empty_line(b"a\nb\n"), None);
    }
}
