//! Reads what the spans of a record need from the log: its thread, the turn that spawned it, and the configuration.
//!
//! What is kept between records only saves reading: it is made again from the log when it is gone.

use std::collections::VecDeque;
use std::sync::Arc;

use prost::Message as _;

use systole_core::rules::outcome::CallJudgement;
use systole_core::types::composition::Composition;
use systole_core::types::ids::{CallPath, Digest, Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader, PlacedRecord, Position};
use systole_core::types::record::{MessageRole, Record, RecordCode, head_zero};

use super::names::Operation;
use super::spans::{self, SpanPlace};
use super::traced_thread::{EndedTurn, SpanId, TracedThread, is_of_reply};
use crate::limits::{OPENING_RECORDS, TRACED_CONFIGURATIONS, TRACED_THREADS};

/// Reads a configuration from its source.
pub type SourceReader = Arc<dyn Fn(&[u8]) -> Result<Composition, String> + Send + Sync>;

/// Makes spans of the records of a log.
pub(crate) struct TraceReading {
    threads: VecDeque<TracedThread>,
    pages: ConfigurationPages,
}

/// The configurations that were read last.
struct ConfigurationPages {
    read: SourceReader,
    pages: VecDeque<(Digest, Option<Composition>)>,
}

impl ConfigurationPages {
    /// A configuration; `None` if the log does not have it, or this version cannot read it.
    fn find_page(&mut self, reader: &dyn LogReader, hash: Digest) -> Result<Option<&Composition>, LogFault> {
        if !self.pages.iter().any(|(known, _)| *known == hash) {
            let source = reader.intact_document(hash)?;
            let page = source.and_then(|source| (self.read)(&source).ok());
            self.pages.push_front((hash, page));
            self.pages.truncate(TRACED_CONFIGURATIONS);
        }
        Ok(self.pages.iter().find(|(known, _)| *known == hash).and_then(|(_, page)| page.as_ref()))
    }

    fn is_single(&mut self, reader: &dyn LogReader, config: Digest, name: &Name) -> Result<bool, LogFault> {
        let page = self.find_page(reader, config)?;
        Ok(page.and_then(|page| page.find_listener(name)).is_some_and(|listener| listener.turns <= 1))
    }

    fn find_operation(
        &mut self,
        reader: &dyn LogReader,
        config: Digest,
        name: &Name,
    ) -> Result<Operation, LogFault> {
        let section = self.find_page(reader, config)?.and_then(|page| page.sections.get(name));
        Ok(match section {
            Some(section) if section.is_workflow() => Operation::Workflow,
            Some(section) if section.path.starts_with("agents.") => Operation::Agent,
            _ => Operation::Tool,
        })
    }
}

impl TraceReading {
    pub(crate) fn new(read: SourceReader) -> TraceReading {
        TraceReading { threads: VecDeque::new(), pages: ConfigurationPages { read, pages: VecDeque::new() } }
    }

    /// The message with the spans that end with a record; `None` if none does.
    pub(crate) fn write_spans(
        &mut self,
        organism: &Name,
        placed: &PlacedRecord,
        reader: &dyn LogReader,
    ) -> Result<Option<Vec<u8>>, LogFault> {
        let (_, record) = placed;
        if record.header.thread.is_sys() {
            return Ok(None);
        }
        let mut thread = self.take_thread(reader, record)?;
        let ended = self.add_record(&mut thread, placed, reader)?;
        let trace = thread.trace;
        if !thread.fold.ended {
            self.threads.push_front(thread);
            self.threads.truncate(TRACED_THREADS);
        }
        let mut all = Vec::new();
        for turn in ended {
            let is_single = self.pages.is_single(reader, turn.config, &turn.listener)?;
            let operation = self.pages.find_operation(reader, turn.config, &turn.listener)?;
            let close = find_close(reader, record, &turn, is_single)?;
            all.extend(spans::make_spans(SpanPlace { trace, operation, record }, turn, close.as_ref()));
        }
        Ok((!all.is_empty()).then(|| spans::make_request(organism, all).encode_to_vec()))
    }

    /// The thread of a record as it was before that.
    fn take_thread(&mut self, reader: &dyn LogReader, record: &Record) -> Result<TracedThread, LogFault> {
        let h = &record.header;
        let kept = self.threads.iter().position(|one| one.fold.id == h.thread);
        let kept = kept.and_then(|at| self.threads.remove(at));
        if let Some(kept) = kept.filter(|kept| kept.fold.seq + 1 == h.seq) {
            return Ok(kept);
        }
        let mut thread = TracedThread::new(h.thread.clone(), find_trace(reader, &h.thread.root_of())?);
        if h.seq > 1 {
            for placed in reader.records_of(&h.thread, 1) {
                let placed = placed?;
                if placed.1.header.seq >= h.seq {
                    break;
                }
                self.add_record(&mut thread, &placed, reader)?;
            }
        }
        Ok(thread)
    }

    fn add_record(
        &mut self,
        thread: &mut TracedThread,
        (position, record): &PlacedRecord,
        reader: &dyn LogReader,
    ) -> Result<Vec<EndedTurn>, LogFault> {
        let above = find_spawning(reader, *position, record)?;
        let pages = &mut self.pages;
        thread.add_record(record, above, &mut |config, name| pages.is_single(reader, config, name))
    }
}

/// The id of a trace: the first half of the leaf of the root's first record.
fn find_trace(reader: &dyn LogReader, root: &ThreadId) -> Result<[u8; 16], LogFault> {
    let first = reader.of_thread(root, 1, 1)?.pop();
    let leaf = first.map_or_else(|| head_zero(root), |(_, record)| record.leaf);
    Ok(leaf.0.first_chunk().copied().unwrap_or_default())
}

/// The span of the turn that spawned the thread which a record begins. The record that spawned it is the one before.
fn find_spawning(
    reader: &dyn LogReader,
    position: Position,
    record: &Record,
) -> Result<Option<SpanId>, LogFault> {
    let (Some(origin), Some(before)) = (record.header.origin, position.0.checked_sub(2)) else {
        return Ok(None);
    };
    let spawning = reader.read_after(Position(before), 1)?.pop().filter(|(_, one)| one.leaf == origin);
    spawning.map(|(_, item)| find_reply(reader, &item)).transpose()
}

/// The span of the turn that sent an item: it ends with the first record of the reply. One decision made all of these,
/// at one time.
fn find_reply(reader: &dyn LogReader, item: &Record) -> Result<SpanId, LogFault> {
    let (h, reply) = (&item.header, find_sender(item));
    let (mut first, mut end) = (item.leaf, h.seq);
    while end > 1 {
        let from = end.saturating_sub(OPENING_RECORDS).max(1);
        let page = reader.of_thread(&h.thread, from, usize::try_from(end - from).unwrap_or(usize::MAX))?;
        for (_, record) in page.iter().rev().filter(|(_, record)| record.header.seq < end) {
            if record.header.time != h.time {
                return Ok(SpanId::from_leaf(&first));
            }
            if find_sender(record) == reply {
                first = record.leaf;
            }
        }
        end = from;
    }
    Ok(SpanId::from_leaf(&first))
}

/// The call and the turn that sent an item.
fn find_sender(record: &Record) -> Option<(CallPath, u32)> {
    let h = &record.header;
    match h.code {
        Some(RecordCode::Role(MessageRole::ToAll | MessageRole::ToFirst)) => {
            h.call.as_ref()?.caller().map(|(call, turn, _)| (call, turn))
        }
        _ => h.ordinal.and(h.call.clone().zip(h.turn)),
    }
}

/// The record that closes the call of a turn with the turn itself.
fn find_close(
    reader: &dyn LogReader,
    record: &Record,
    turn: &EndedTurn,
    is_single: bool,
) -> Result<Option<Record>, LogFault> {
    if turn.is_closed {
        return Ok(Some(record.clone()));
    }
    let h = &record.header;
    for placed in reader.records_of(&h.thread, h.seq + 1) {
        let (_, later) = placed?;
        if later.header.time != h.time {
            break;
        }
        if is_of_reply(&later.header, &turn.call, turn.turn, is_single)
            && CallJudgement::of_record(&later).is_some()
        {
            return Ok(Some(later));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
    use opentelemetry_proto::tonic::trace::v1::Span;
    use systole_core::rules::approval_payload::{write_decision, write_request};
    use systole_core::types::codes::Code;
    use systole_core::types::ids::MessageId;
    use systole_core::types::person::{ApprovalOutcome, ApprovalRequest, PersonRequestId};
    use systole_core::types::ports::{LogBatch, LogWriter as _};
    use systole_core::types::record::{ApprovalEffect, Header, RecordKind};
    use systole_core::types::time::Millis;
    use systole_log::memory::MemoryLog;

    use super::*;
    use crate::limits::MILLI_NANOS;

    const REQUEST: RecordCode = RecordCode::Role(MessageRole::Request);
    const CALL: RecordCode = RecordCode::Role(MessageRole::Call);
    const FINAL: RecordCode = RecordCode::Role(MessageRole::Final);

    /// A log of one thread.
    struct Author {
        log: MemoryLog,
        records: Vec<Record>,
    }

    impl Author {
        fn new() -> Author {
            Author { log: MemoryLog::new(), records: Vec::new() }
        }

        /// Adds a record of that time, with this kind and code, between these two.
        fn add(
            &mut self,
            (time, kind, code): (u64, RecordKind, RecordCode),
            (from, to): (&str, &str),
            (call, item): (&str, Option<(u32, u32)>),
            body: &[u8],
        ) {
            let thread = ThreadId::parse("sess-0123456789ab").unwrap();
            let seq = self.records.len() as u64 + 1;
            let id = MessageId([u8::try_from(seq).unwrap(); 16]);
            let header = Header {
                kind,
                from: Name::parse(from).unwrap(),
                to: Name::parse(to).ok(),
                call: CallPath::parse(call).ok(),
                turn: item.map(|(turn, _)| turn),
                ordinal: item.map(|(_, ordinal)| ordinal),
                code: Some(code),
                ..Header::new_notice(thread.clone(), seq, id, Millis(time), Digest([1; 32]))
            };
            let head = self.records.last().map_or_else(|| head_zero(&thread), |last| last.head);
            let record = header.seal_record(Arc::from(body), [7; 16], head);
            let batch = LogBatch { records: vec![Arc::new(record.clone())], ..LogBatch::default() };
            self.log.commit_batch(&batch);
            self.records.push(record);
        }

        /// The spans that end with each record. Of one record they are read again with nothing kept.
        fn read_spans(&self) -> Vec<Span> {
            let read: SourceReader = Arc::new(|_| Err("there is none".to_owned()));
            let mut kept = TraceReading::new(read.clone());
            let organism = Name::parse("hello").unwrap();
            let mut all = Vec::new();
            for (position, record) in (1..).map(Position).zip(&self.records) {
                let placed = (position, record.clone());
                let body = kept.write_spans(&organism, &placed, &self.log).unwrap();
                let again = TraceReading::new(read.clone()).write_spans(&organism, &placed, &self.log);
                assert_eq!(body, again.unwrap(), "record {}", record.header.seq);
                let message = body.map(|body| ExportTraceServiceRequest::decode(&*body).unwrap());
                let scopes = message.into_iter().flat_map(|message| message.resource_spans);
                all.extend(scopes.flat_map(|of| of.scope_spans).flat_map(|scope| scope.spans));
            }
            all
        }

        fn leaf(&self, seq: usize) -> Vec<u8> {
            self.records[seq - 1].leaf.0[..8].to_vec()
        }
    }

    #[test]
    fn h6_a_wait_of_three_days_is_in_no_span_and_what_follows_it_is_linked() {
        let (message, approval) = (RecordKind::Message, RecordKind::Approval);
        let days = 3 * 24 * 3_600_000;
        let id = PersonRequestId(1);
        let asks = write_request(&ApprovalRequest {
            id,
            hash: Digest([2; 32]),
            expires: Millis(2 * days),
            thread: ThreadId::parse("sess-0123456789ab").unwrap(),
            call: CallPath::parse("1/1.0").unwrap(),
            to: Name::parse("till").unwrap(),
            element: "charge".to_owned(),
            unknown: None,
        });
        let bob = Name::parse("bob").unwrap();
        let says = write_decision(id, ApprovalOutcome::Approved, &bob, None, None);
        let mut author = Author::new();
        author.add((100, message, REQUEST), ("alice", "boss"), ("1", None), b"<order/>");
        author.add((110, message, CALL), ("boss", "till"), ("1", Some((1, 0))), b"<charge/>");
        let requested = RecordCode::Approving(ApprovalEffect::Requested);
        author.add((110, approval, requested), ("core", "person"), ("1/1.0", None), &asks);
        let approved = RecordCode::Approving(ApprovalEffect::Approved);
        author.add((days, approval, approved), ("core", "bob"), ("1/1.0", None), &says);
        author.add((days + 5, message, FINAL), ("till", "boss"), ("1/1.0", Some((1, 0))), b"<paid/>");
        author.add((days + 9, message, FINAL), ("boss", "alice"), ("1", Some((2, 0))), b"<done/>");
        let spans = author.read_spans();
        let told: Vec<_> = spans
            .iter()
            .map(|span| {
                let times = (span.start_time_unix_nano / MILLI_NANOS, span.end_time_unix_nano / MILLI_NANOS);
                let links: Vec<&[u8]> = span.links.iter().map(|link| &*link.span_id).collect();
                (&*span.name, times, &*span.span_id, &*span.parent_span_id, links)
            })
            .collect();
        let (first, second, third) = (author.leaf(2), author.leaf(5), author.leaf(6));
        assert_eq!(
            told,
            [
                ("execute_tool boss", (100, 110), &*first, &b""[..], vec![]),
                ("execute_tool till", (days, days + 5), &second, &first, vec![]),
                ("execute_tool boss", (days + 5, days + 9), &third, &first, vec![&*first]),
            ]
        );
        assert!(spans.iter().all(|span| span.trace_id == author.records[0].leaf.0[..16]));
    }

    #[test]
    fn h6_a_cancelled_thread_ends_the_turns_of_its_calls_each_with_an_id_and_no_error() {
        let message = RecordKind::Message;
        let mut author = Author::new();
        author.add((100, message, REQUEST), ("alice", "boss"), ("1", None), b"<order/>");
        for ordinal in 0..2 {
            author.add((110, message, CALL), ("boss", "till"), ("1", Some((1, ordinal))), b"<charge/>");
        }
        let cancelled = RecordCode::Code(Code::CancelledThread);
        author.add((150, RecordKind::Terminal, cancelled), ("core", "alice"), ("", None), b"<end/>");
        let spans = author.read_spans();
        let names: Vec<&str> = spans.iter().map(|span| &*span.name).collect();
        // The caller waited for answers, so no turn of it was due.
        assert_eq!(names, ["execute_tool boss", "execute_tool till", "execute_tool till"]);
        assert!(spans.iter().skip(1).all(|span| span.parent_span_id == author.leaf(2)));
        assert_eq!(spans[1].span_id, author.leaf(4));
        assert_ne!(spans[2].span_id, spans[1].span_id);
        let is_told = |span: &&Span| span.attributes.iter().any(|one| one.key == "systole.code");
        assert_eq!(spans.iter().filter(is_told).count(), 2);
        assert!(spans.iter().all(|span| span.status.is_none()));
    }
}
