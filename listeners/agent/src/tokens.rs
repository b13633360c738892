//! The number of tokens of a text, estimated on the high side. A provider's report is better and takes precedence;
//! this estimate is for text that the provider has not seen yet. Pure.

/// An estimate for a text: a token has a little over three ASCII letters, and a character far from ASCII may take two
/// tokens.
#[must_use]
pub(crate) fn estimate_text(text: &str) -> u64 {
    let (mut ascii, mut near, mut far) = (0u64, 0u64, 0u64);
    for character in text.chars() {
        match u32::from(character) {
            0..0x80 => ascii += 1,
            0x80..0x800 => near += 1,
            _ => far += 1,
        }
    }
    (ascii * 10).div_ceil(32) + near + far * 2
}

/// An estimate for text of which only the length is known.
#[must_use]
pub(crate) fn estimate_bytes(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX).saturating_mul(10).div_ceil(32)
}

/// An estimate for a message, with its frame.
#[must_use]
pub(crate) fn estimate_message(text: &str) -> u64 {
    estimate_text(text) + crate::limits::FRAME_TOKENS
}
