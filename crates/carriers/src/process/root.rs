//! Looks at the start tag of what a program wrote: is it a document of the listener protocol, and which
//! delivery does it answer.
//!
//! It judges nothing. It says `Reply` only if the kit's reader, given the whole document, finds the same
//! delivery, because this result ends the delivery. In: one frame. Out: a `ProgramRoot`.

use systole_kit::reply::ListenerDocument;
use systole_kit::{DocumentLimits, namespaces};

use crate::limits;

/// The kind of a frame, by its start tag.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ProgramRoot {
    /// A `<reply>` to this delivery.
    Reply {
        /// The delivery it names.
        delivery: String,
    },
    /// Another document of the protocol, or one that begins like it and must be judged.
    Other,
    /// No document of the protocol.
    Stray,
}

/// The kind of a frame. Looks at nothing after its start tag.
pub(crate) fn root_of(frame: &[u8]) -> ProgramRoot {
    let Some((head, name)) = start_tag(frame) else { return ProgramRoot::Stray };
    if name.starts_with(['!', '?']) {
        return behind_a_prologue(frame);
    }
    let local = name.split_once(':').map_or(name, |(_, local)| local);
    if !matches!(local, "reply" | "notice" | "progress" | "journal" | "ask") {
        return ProgramRoot::Stray;
    }
    // The kit reads the delivery of a reply that breaks off after its start tag as it reads that of a
    // whole one.
    match ListenerDocument::parse(head.as_bytes(), &DocumentLimits::default()) {
        Ok(ListenerDocument::Reply { delivery, .. }) => ProgramRoot::Reply { delivery },
        Ok(_) => ProgramRoot::Other,
        // A missing namespace is the most common slip; the judge tells the sender.
        Err(_) if head.contains(namespaces::LISTENER) || !head.contains("xmlns") => ProgramRoot::Other,
        Err(_) => ProgramRoot::Stray,
    }
}

/// A document that begins with a comment, or with something that is never accepted there: the first
/// answers its delivery, and the sender of the second must get a refusal. Anything else is text, such as
/// a page of HTML.
fn behind_a_prologue(frame: &[u8]) -> ProgramRoot {
    let head = frame.get(..limits::STRAY_BYTES).unwrap_or(frame);
    if !head.windows(namespaces::LISTENER.len()).any(|bytes| bytes == namespaces::LISTENER.as_bytes()) {
        return ProgramRoot::Stray;
    }
    match ListenerDocument::parse(head, &DocumentLimits::default()) {
        Ok(ListenerDocument::Reply { delivery, .. }) => ProgramRoot::Reply { delivery },
        _ => ProgramRoot::Other,
    }
}

/// The frame up to the end of its first start tag, or of the readable part of it, and the element's
/// name.
fn start_tag(frame: &[u8]) -> Option<(&str, &str)> {
    let head = frame.get(..limits::STRAY_BYTES).unwrap_or(frame);
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(head.get(..error.valid_up_to())?).ok()?,
    };
    let tag = after_declaration(text.trim_start()).strip_prefix('<')?;
    let name = tag.split(|c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>')).next()?;
    let before = text.len() - tag.len();
    let mut quote = None;
    let end = tag.bytes().position(|byte| {
        match (quote, byte) {
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
        quote.is_none() && byte == b'>'
    });
    Some((end.and_then(|end| text.get(..=before + end)).unwrap_or(text), name))
}

fn after_declaration(text: &str) -> &str {
    match text.strip_prefix("<?xml").and_then(|rest| rest.split_once("?>")) {
        Some((_, rest)) => rest.trim_start(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_known_by_its_start_tag() {
        for frame in [
            r#"<reply xmlns="urn:systole:listener:v1" delivery="d1"/>"#,
            r#"<?xml version='1.0' encoding='utf-8'?> <reply delivery='d1' xmlns='urn:systole:listener:v1'>"#,
            r#"<ns0:reply xmlns:ns0="urn:systole:listener:v1" delivery = "d1" note=">">x</broken"#,
        ] {
            assert_eq!(
                root_of(frame.as_bytes()),
                ProgramRoot::Reply { delivery: "d1".to_owned() },
                "{frame}"
            );
        }
    }

    #[test]
    fn a_reply_is_owed_no_more_only_if_the_judge_can_tell_whose_it_is() {
        for frame in [
            r#"<reply xmlns="urn:systole:listener:v1" delivery="d1"/>"#,
            r#"<reply xmlns="urn:systole:listener:v1" delivery="d1"><a></b>"#,
            r#"<reply xmlns="urn:systole:listener:v1" delivery="d1"note="x"/>"#,
            r#"<reply xmlns="urn:systole:listener:v1" delivery="d1" delivery="d2"/>"#,
            r#"<reply xmlns="urn:systole:listener:v1" delivery="d1" p:a="1"/>"#,
            r#"<?xml version="1.0" encoding="us-ascii"?><reply xmlns="urn:systole:listener:v1" delivery="d1"/>"#,
            r#"<reply xmlns="urn:systole:listener:v1" delivery="d1" a="&nope;"><x/></reply>"#,
            r#"<notice xmlns="urn:systole:listener:v1" delivery="d1" code="x">y</notice>"#,
        ] {
            let judged = match ListenerDocument::parse(frame.as_bytes(), &DocumentLimits::default()) {
                Ok(ListenerDocument::Reply { delivery, .. }) => ProgramRoot::Reply { delivery },
                _ => ProgramRoot::Other,
            };
            assert_eq!(root_of(frame.as_bytes()), judged, "{frame}");
        }
    }

    #[test]
    fn what_begins_like_a_document_is_left_to_the_judge() {
        for frame in [
            r#"<reply delivery="d1"/>"#,
            r#"<reply xmlns="urn:systole:listener:v1"/>"#,
            r#"<reply xmlns="urn:systole:listener:v1" delivery="d1"#,
            "<reply",
        ] {
            assert_eq!(root_of(frame.as_bytes()), ProgramRoot::Other, "{frame}");
        }
    }

    #[test]
    fn row_1_what_stands_before_a_document_does_not_hide_it() {
        let reply = r#"<reply xmlns="urn:systole:listener:v1" delivery="d1"><x/></reply>"#;
        let behind = |before: &str| root_of([before, reply].concat().as_bytes());
        assert_eq!(behind("<!-- a comment > -->"), ProgramRoot::Reply { delivery: "d1".to_owned() });
        for before in ["<!DOCTYPE reply>", "<!DOCTYPE reply [<!ENTITY e '>'>]>", "<?php ?>", "<!"] {
            assert_eq!(behind(before), ProgramRoot::Other, "{before}");
        }
        assert_eq!(root_of(b"<!DOCTYPE html><html><reply/></html>"), ProgramRoot::Stray);
    }

    #[test]
    fn the_rest_is_stray() {
        for frame in [
            "",
            "starting up",
            "<replying/>",
            "<answer xmlns='urn:systole:listener:v1'/>",
            "<reply xmlns='urn:other' delivery='d1'/>",
            "<?xml version='1.0'",
            "\u{1b}[1m<reply/>",
        ] {
            assert_eq!(root_of(frame.as_bytes()), ProgramRoot::Stray, "{frame}");
        }
        assert_eq!(root_of(b"\xff\xfe<reply/>"), ProgramRoot::Stray);
    }
}
