//! Long text, cut for a list. The lines of the views are whole here, so that a page and a command say the same; a list
//! keeps the beginning, and the page of the record has the rest.

/// The text, or its beginning with the number of missing characters.
pub(super) fn shorten_text(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => {
            let (kept, lost) = text.split_at(end);
            format!("{kept}… ({} more)", lost.chars().count())
        }
    }
}

/// A text as a value in an address.
pub(super) fn encode_part(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// A text that begins with a capital letter.
pub(super) fn begin_with_capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_says_how_much_is_missing() {
        assert_eq!(shorten_text("日本語", 3), "日本語");
        assert_eq!(shorten_text("日本語のテキスト", 3), "日本語… (5 more)");
        assert_eq!(
            shorten_text(&"x".repeat(250_000), 200).chars().count(),
            200 + "… (249800 more)".chars().count()
        );
    }

    #[test]
    fn a_value_of_an_address_has_only_harmless_characters() {
        assert_eq!(encode_part("a b&c=\"<ä"), "a%20b%26c%3D%22%3C%C3%A4");
    }
}
