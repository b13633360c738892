//! Looks at the start tag of what a program wrote: is it a document of the listener protocol, and
//! which delivery does it answer.
//!
//! It is no parser and judges nothing: it says `Reply` only of a start tag that every parser reads the
//! same way, because on that word a delivery stops being owed. In: one frame. Out: a `Root`.

/// The namespace of the listener protocol.
pub(super) const PROTOCOL: &str = "urn:systole:listener:v1";

/// What a frame is, by its start tag.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Root {
    /// A `<reply>` to this delivery.
    Reply {
        /// The delivery it names.
        delivery: String,
    },
    /// Another document of the protocol, or one that begins like it and has to be judged.
    Other,
    /// No document of the protocol.
    Stray,
}

/// What a frame is. Only its start tag is looked at.
pub(super) fn root_of(frame: &[u8]) -> Root {
    // Cut to what a start tag of the protocol can take, so that a long frame is not walked here.
    let head = frame.get(..4096).unwrap_or(frame);
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(head.get(..error.valid_up_to()).unwrap_or_default()).unwrap_or(""),
    };
    let Some(tag) = after_declaration(text.trim_start()).strip_prefix('<') else { return Root::Stray };
    let end = tag.find(|c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>')).unwrap_or(tag.len());
    let (name, rest) = tag.split_at(end);
    let (prefix, local) = name.split_once(':').unwrap_or(("", name));
    if !matches!(local, "reply" | "notice" | "progress" | "journal" | "ask") {
        return Root::Stray;
    }
    let declares = |name: &str| match prefix {
        "" => name == "xmlns",
        prefix => name.strip_prefix("xmlns:") == Some(prefix),
    };
    let Some(attributes) = attributes(rest) else { return Root::Other };
    match attributes.iter().find(|(name, _)| declares(name)) {
        // A namespace left out is the commonest slip; the judge tells the sender.
        None => Root::Other,
        Some((_, namespace)) if *namespace != PROTOCOL => Root::Stray,
        Some(_) if local != "reply" => Root::Other,
        Some(_) => match attributes.iter().find(|(name, _)| *name == "delivery") {
            Some((_, delivery)) => Root::Reply { delivery: (*delivery).to_owned() },
            None => Root::Other,
        },
    }
}

fn after_declaration(text: &str) -> &str {
    match text.strip_prefix("<?xml").and_then(|rest| rest.split_once("?>")) {
        Some((_, rest)) => rest.trim_start(),
        None => text,
    }
}

/// The attributes of a start tag up to its `>`; none if it does not get there cleanly.
fn attributes(mut rest: &str) -> Option<Vec<(&str, &str)>> {
    let mut found = Vec::new();
    loop {
        let next = rest.trim_start();
        if next.starts_with('>') || next.starts_with("/>") {
            return Some(found);
        }
        let (name, value) = next.split_once('=')?;
        let value = value.trim_start();
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let (value, after) = value.get(1..)?.split_once(quote)?;
        // A reference would have to be resolved to be compared; no delivery and no namespace needs one.
        let plain = !value.contains(['<', '&']) && !name.contains(['<', '>', '"', '\'']);
        found.push(plain.then_some((name.trim_end(), value))?);
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(delivery: &str) -> Root {
        Root::Reply { delivery: delivery.to_owned() }
    }

    #[test]
    fn a_reply_is_known_by_its_start_tag() {
        for frame in [
            r#"<reply xmlns="urn:systole:listener:v1" delivery="d1"/>"#,
            r#"  <?xml version='1.0' encoding='us-ascii'?> <reply delivery='d1' xmlns='urn:systole:listener:v1'>"#,
            r#"<ns0:reply xmlns:ns0="urn:systole:listener:v1" delivery = "d1" note=">">x</broken"#,
        ] {
            assert_eq!(root_of(frame.as_bytes()), reply("d1"), "{frame}");
        }
    }

    #[test]
    fn what_begins_like_a_document_is_left_to_the_judge() {
        for frame in [
            r#"<reply delivery="d1"/>"#,
            r#"<reply xmlns="urn:systole:listener:v1"/>"#,
            r#"<reply xmlns="urn:systole:listener:v1" delivery="d1"#,
            r#"<reply xmlns="urn:systole:listener:v1" delivery="&#100;1"/>"#,
            r#"<notice xmlns="urn:systole:listener:v1" delivery="d1" code="x"/>"#,
            "<reply",
        ] {
            assert_eq!(root_of(frame.as_bytes()), Root::Other, "{frame}");
        }
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
            assert_eq!(root_of(frame.as_bytes()), Root::Stray, "{frame}");
        }
        assert_eq!(root_of(b"\xff\xfe<reply/>"), Root::Stray);
    }
}
