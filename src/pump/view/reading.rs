//! Reading a view from the log, and with it what is wanted of its messages. Blocks: it runs where reading
//! may. It keeps a few words for each message and never more bodies than a page of records has.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::text::{self, Cut};
use super::{Reading, View, Whose};
use crate::rules::view_payload::{self, Part};
use crate::words::ids::ThreadId;
use crate::words::ports::{LogFault, LogReader, Position};
use crate::words::primitive::Recall;
use crate::words::refusal::Refusal;

/// Records read at once. Each may hold as much as a message may.
const PAGE: usize = 64;

/// What the items of a reply want of the view of their call, by their ordinals.
pub type Wanted = Vec<(u32, Recall)>;

/// A view, and what was wanted of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seen {
    /// The view.
    pub view: View,
    /// The answer to each item that wanted messages, or why it has none.
    pub recalled: BTreeMap<u32, Result<Arc<[u8]>, Refusal>>,
}

/// Reads a view, and what is wanted of it.
pub fn look(reader: &dyn LogReader, whose: &Whose, wanted: &Wanted) -> Result<Seen, LogFault> {
    let view = read(reader, whose)?;
    let mut recalled = BTreeMap::new();
    for (ordinal, recall) in wanted {
        let answer = match text::cut(&view, recall) {
            Ok(cut) => Ok(view_payload::recalled(&part(reader, &whose.thread, recall, &cut)?)),
            Err(refusal) => Err(refusal),
        };
        recalled.insert(*ordinal, answer);
    }
    Ok(Seen { view, recalled })
}

fn read(reader: &dyn LogReader, whose: &Whose) -> Result<View, LogFault> {
    let mut reading = Reading::of(whose.clone());
    while let Some(next) = reading.next() {
        let page = reader.of_thread(&whose.thread, next, PAGE)?;
        if page.is_empty() {
            break;
        }
        for (position, record) in &page {
            if reading.next().is_some() {
                reading.take(record, *position)?;
            }
        }
    }
    reading.view().ok_or_else(|| {
        let why = ["the records of call ", whose.call.as_str(), " are not all there"].concat();
        LogFault::Damaged { path: "the log".into(), position: Position::default(), why }
    })
}

fn part(reader: &dyn LogReader, thread: &ThreadId, wanted: &Recall, cut: &Cut<'_>) -> Result<Part, LogFault> {
    let mut messages = Vec::with_capacity(cut.pieces.len());
    for piece in &cut.pieces {
        let seq = piece.message.seq;
        // It was there a moment ago; what cannot be read as text was never written by this house.
        let record = reader.of_thread(thread, seq, 1)?.pop().map(|(_, record)| record);
        let text = record.filter(|record| record.header.seq == seq);
        let text = text.as_ref().map_or("".into(), |record| String::from_utf8_lossy(&record.body));
        messages.push((piece.number, piece.message.from.clone(), piece.of(&text)));
    }
    let range = (wanted.from, wanted.to);
    Ok(Part { range, total: cut.total, offset: wanted.offset, next: cut.next, messages })
}
