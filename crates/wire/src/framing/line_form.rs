//! The line form: a document rewritten without a line break, so that programs can read line by line.
//!
//! A parser reads the same names, values and order from it. Only comments and the content beside the root are left
//! out. A document that needs no change, as most do, is returned unchanged. A document that passed the gate comes in;
//! one line without its line feed goes out.

use std::borrow::Cow;

use crate::gate::{GateStep, GateText, XmlGate};
use crate::place::Fault;
use crate::{DocumentLimits, characters, writer};

/// The document in one line.
///
/// # Errors
/// If the document is not well-formed; a document that passed the gate is.
pub fn line_form(document: &[u8]) -> Result<Cow<'_, [u8]>, Fault> {
    if is_one_line_already(document) {
        return Ok(Cow::Borrowed(document));
    }
    let mut gate = XmlGate::new_strict(document, &DocumentLimits::FROM_PUMP)?;
    let mut line = Vec::with_capacity(document.len() + document.len() / 8);
    loop {
        let step = gate.read_step()?;
        let source = gate.cut_source(gate.offset(), gate.end());
        match step {
            GateStep::Done => return Ok(Cow::Owned(line)),
            GateStep::Open(_) | GateStep::Close => write_markup(&mut line, source),
            GateStep::Text(GateText::Plain(text)) => write_plain(&mut line, text),
            GateStep::Text(GateText::Literal(text)) => write_literal(&mut line, text),
            GateStep::Text(GateText::Character(_)) => line.extend_from_slice(source.as_bytes()),
            // A strict gate refuses these.
            GateStep::Instruction => {}
        }
    }
}

/// Whether the document needs no change: no line break, and nothing that begins `<!` or `<?`, as comments, CDATA
/// sections and the XML declaration do.
fn is_one_line_already(document: &[u8]) -> bool {
    let special = document.windows(2).any(|pair| matches!(pair, b"<!" | b"<?"));
    !special && !document.iter().any(|byte| matches!(byte, b'\n' | b'\r'))
}

/// A tag. Between attributes a blank is as good as a line break, and in a value a parser reads a blank for it.
fn write_markup(line: &mut Vec<u8>, source: &str) {
    let source = characters::line_ends(source);
    line.extend(source.bytes().map(|byte| if byte == b'\n' { b' ' } else { byte }));
}

/// Text between markup. A `>` becomes a reference, because a comment left out before it may have separated it from
/// `]]`.
fn write_plain(line: &mut Vec<u8>, text: &str) {
    for byte in characters::line_ends(text).bytes() {
        match byte {
            b'\n' => line.extend_from_slice(b"&#10;"),
            b'>' => line.extend_from_slice(b"&gt;"),
            other => line.push(other),
        }
    }
}

/// The content of a CDATA section, as escaped text.
fn write_literal(line: &mut Vec<u8>, text: &str) {
    let text = characters::line_ends(text);
    let mut parts = text.split('\n');
    writer::escape(line, parts.next().unwrap_or_default(), false);
    for part in parts {
        line.extend_from_slice(b"&#10;");
        writer::escape(line, part, false);
    }
}
