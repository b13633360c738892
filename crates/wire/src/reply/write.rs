//! Writes the documents of the listener protocol, for listeners written in Rust.
//!
//! A written document reads back as the same value. A [`ListenerDocument`] comes in; bytes go out.

use super::{AnswerPart, Item, ListenerDocument, ReplyContent};
use crate::envelope::{EnvelopeAddress, write_envelope_into};
use crate::journal::EntryLabel;
use crate::namespaces::LISTENER;
use crate::place::Fault;
use crate::writer::XmlWriter;

impl ListenerDocument {
    /// The document for this word.
    ///
    /// # Errors
    /// The fault of an item, an entry or a question that is already refused: there is nothing to send for it.
    pub fn to_document(&self) -> Result<Vec<u8>, Fault> {
        let mut writer = XmlWriter::with_capacity(256);
        match self {
            Self::Reply { delivery, said } => return write_reply(writer, delivery, said),
            Self::Notice { delivery, code, words } => {
                writer
                    .open("notice")
                    .xmlns(LISTENER)
                    .attr("delivery", delivery)
                    .attr("code", code)
                    .text(words);
            }
            Self::Progress { delivery, part, words } => {
                let progress = writer.open("progress").xmlns(LISTENER).attr("delivery", delivery);
                progress.attr_if("part", part.map(AnswerPart::as_str)).text(words);
            }
            Self::Journal { delivery, id, entry } => {
                let entry = entry.as_ref().map_err(Clone::clone)?;
                entry.write_to(&mut writer, EntryLabel { id: *id, delivery: Some(delivery), attempt: None });
            }
            Self::Ask { delivery, id, question } => {
                let question = question.as_ref().map_err(Clone::clone)?;
                let start = writer.open("ask").xmlns(LISTENER).number("id", *id).attr("delivery", delivery);
                start.content(|inside| question.write_to(inside));
            }
        }
        Ok(writer.finish())
    }
}

fn write_reply(mut writer: XmlWriter, delivery: &str, said: &ReplyContent) -> Result<Vec<u8>, Fault> {
    let mut refused = None;
    writer.open("reply").xmlns(LISTENER).attr("delivery", delivery).content(|inside| match said {
        ReplyContent::Items(items) => refused = items.iter().find_map(|item| write_item(inside, item).err()),
        ReplyContent::Failure { code, first_code, retry, words } => {
            let retry = if *retry { "true" } else { "false" };
            let failure = inside.open("failure").attr("code", code).attr("retry", retry);
            failure.attr_if("first-code", first_code.as_deref()).text(words);
        }
        ReplyContent::Away { outage, code, retry, words } => {
            let retry = if *retry { "true" } else { "false" };
            let failure = inside.open("failure").attr("code", code).attr("retry", retry);
            failure.attr("outage", outage).text(words);
        }
        ReplyContent::Again { code, words } => inside.open("again").attr("code", code).text(words),
    });
    match refused {
        Some(fault) => Err(fault),
        None => Ok(writer.finish()),
    }
}

fn write_item(writer: &mut XmlWriter, item: &Item) -> Result<(), Fault> {
    let payload = item.payload.as_ref().map_err(Clone::clone)?;
    if item.from.is_none() && item.to.is_none() && item.thread.is_none() {
        writer.write_payload(payload);
    } else {
        let Item { from, to, thread, .. } = item;
        let address = EnvelopeAddress { from: from.as_deref(), to: to.as_deref(), thread: thread.as_deref() };
        write_envelope_into(writer, &address, None, payload);
    }
    Ok(())
}
