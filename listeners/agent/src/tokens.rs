//! How many tokens a text has, as an estimate on the high side. What a provider reports is better and comes first; this
//! is for what it has not seen yet. Pure.

/// Tokens of the frame around a message.
const FRAME: u64 = 8;

/// An estimate for a text: a little over three letters of ASCII make a token, and whatever lies far from it may take two tokens
/// a character.
#[must_use]
pub(crate) fn estimate(text: &str) -> u64 {
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

/// The same for a message, with its frame.
#[must_use]
pub(crate) fn of_message(text: &str) -> u64 {
    estimate(text) + FRAME
}
