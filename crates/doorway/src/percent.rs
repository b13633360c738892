//! Percent-encoded text, as addresses and forms carry it.

use percent_encoding::percent_decode;

/// Whether everything that is percent-encoded is UTF-8. Other bytes would be replaced, and mean something else.
pub fn is_text(encoded: &[u8]) -> bool {
    percent_decode(encoded).decode_utf8().is_ok()
}

#[cfg(test)]
mod tests {
    use super::is_text;

    #[test]
    fn what_is_encoded_is_text_in_every_part() {
        for text in ["", "a=b+c", "q=%EF%BF%BD", "q=%D1%8F&r=%", "q=%zz"] {
            assert!(is_text(text.as_bytes()), "{text}");
        }
        for other in ["q=%ff", "q=%D1&r=%8F", "q=%D1=%8F", "%E9=1", "q=%C0%80", "q=%ED%A0%80"] {
            assert!(!is_text(other.as_bytes()), "{other}");
        }
    }
}
