//! The checks before the first tag: size, encoding, characters, and the content of the XML declaration.
//!
//! It converts no encoding. Bytes come in; the same bytes as text, or a fault, go out.

use crate::attributes::{AttributeWalk, TagFlaw};
use crate::place::{Fault, Place};
use crate::{characters, codes};

/// Byte order marks, longest first, since the mark of UTF-32 begins with the mark of UTF-16.
const MARKS: [(&[u8], &str); 5] = [
    (&[0xff, 0xfe, 0, 0], "UTF-32"),
    (&[0, 0, 0xfe, 0xff], "UTF-32"),
    (&[0xff, 0xfe], "UTF-16"),
    (&[0xfe, 0xff], "UTF-16"),
    (&[0xef, 0xbb, 0xbf], "a byte order mark before UTF-8"),
];

/// The fix for a document that is too large, for every place that measures size.
pub(crate) const SHORTER: &str = "shorten it, or send it in several";

/// The document as text, if it is small enough, UTF-8, and holds only characters that XML allows.
pub(super) fn decode_text(document: &[u8], most: usize) -> Result<&str, Fault> {
    if document.len() > most {
        let message = format!("the document has {} bytes, the limit is {most}", document.len());
        let fault = Fault::new(codes::TOO_LARGE, message, Place::START);
        return Err(fault.with_expected(format!("at most {most} bytes")).with_fix(SHORTER));
    }
    if let Some((_, mark)) = MARKS.iter().find(|(mark, _)| document.starts_with(mark)) {
        let fault = Fault::new(codes::MALFORMED, format!("the document begins with {mark}"), Place::START);
        return Err(fault
            .with_expected("UTF-8 without a byte order mark")
            .with_fix("write it as UTF-8 without the mark"));
    }
    let text = std::str::from_utf8(document).map_err(|error| {
        let at = error.valid_up_to();
        let byte = document.get(at).copied().unwrap_or_default();
        let message = format!("byte 0x{byte:02x} does not belong to a UTF-8 character");
        Fault::new(codes::MALFORMED, message, Place::from_offset(document, at))
            .with_expected("UTF-8")
            .with_fix("write the whole document as UTF-8")
    })?;
    match characters::first_illegal(text) {
        None => Ok(text),
        Some((at, character)) => {
            let message = format!("character U+{:04X} is not allowed in XML", u32::from(character));
            Err(Fault::new(codes::MALFORMED, message, Place::from_offset(document, at))
                .with_fix("leave the character out"))
        }
    }
}

/// Checks the text between `<?xml` and `?>`.
pub(super) fn check_declaration(text: &str, offset: usize) -> Result<(), TagFlaw> {
    let mut reached = 0;
    for written in AttributeWalk::new(text, offset) {
        let written = written?;
        // The order is fixed: version, then encoding, then standalone. The last two are optional.
        let (step, right) = match written.name {
            "version" => (1, written.raw == "1.0"),
            "encoding" => (2, written.raw.eq_ignore_ascii_case("utf-8")),
            "standalone" => (3, matches!(written.raw, "yes" | "no")),
            _ => (0, false),
        };
        if !right || step <= reached || (reached == 0 && step != 1) {
            let (name, value) =
                (crate::place::cut_excerpt(written.name), crate::place::cut_excerpt(written.raw));
            return Err(make_flaw(written.offset, format!("the XML declaration says {name}=\"{value}\"")));
        }
        reached = step;
    }
    if reached == 0 {
        return Err(make_flaw(offset, "the XML declaration names no version".to_owned()));
    }
    Ok(())
}

fn make_flaw(offset: usize, message: String) -> TagFlaw {
    TagFlaw { offset, message, fix: Some("write <?xml version=\"1.0\" encoding=\"UTF-8\"?>, or nothing") }
}
