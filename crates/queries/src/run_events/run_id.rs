//! The id of a run, as clients of other protocols hold it: `THREAD.SEQ.RECORD`, the record of its message. The record's
//! own id is random, and only the client that sent the message finds its run.

use std::fmt;

use systole_core::types::ids::{MessageId, Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader, PlacedRecord};
use systole_core::types::record::{MessageRole, RecordCode};

/// The id of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunId {
    /// Its thread.
    pub thread: ThreadId,
    /// The message there.
    pub seq: u64,
    record: MessageId,
}

impl RunId {
    /// Reads an id.
    pub fn parse(id: &str) -> Option<RunId> {
        let mut parts = id.rsplitn(3, '.');
        let record = MessageId::parse(parts.next()?).ok()?;
        let seq = parts.next()?.parse().ok()?;
        Some(RunId { thread: ThreadId::parse(parts.next()?).ok()?, seq, record })
    }

    /// That of the run of a message.
    pub fn of_message((_, asked): &PlacedRecord) -> RunId {
        let h = &asked.header;
        RunId { thread: h.thread.clone(), seq: h.seq, record: h.id }
    }

    /// That of the message with this record.
    pub fn new(thread: ThreadId, seq: u64, record: MessageId) -> RunId {
        RunId { thread, seq, record }
    }

    /// The message. `None` if the client has sent none with that id.
    pub fn find_message(
        &self,
        reader: &dyn LogReader,
        client: &Name,
    ) -> Result<Option<PlacedRecord>, LogFault> {
        let found = reader.of_thread(&self.thread, self.seq, 1)?.pop();
        Ok(found.filter(|(_, one)| {
            let h = &one.header;
            let is_request = h.code == Some(RecordCode::Role(MessageRole::Request));
            h.seq == self.seq && h.id == self.record && h.from == *client && is_request
        }))
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.thread, self.seq, self.record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_run_names_one_record_and_nothing_else_is_an_id() {
        let id = "sess-da5910918c72.1.01a1f850-0000-7000-8000-000000000001";
        let read = RunId::parse(id).unwrap();
        assert_eq!((read.thread.as_str(), read.seq), ("sess-da5910918c72", 1));
        assert_eq!((read.record.to_string().as_str(), read.to_string().as_str()), (&id[20..], id));
        for wrong in [
            "",
            "a",
            "..",
            "sess-da5910918c72.1",
            &id.replace(".1.", ".x."),
            &id.replace("sess", "s"),
            &id[1..],
        ] {
            assert!(RunId::parse(wrong).is_none(), "{wrong}");
        }
    }
}
