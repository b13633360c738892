//! The messages of a log, judged by other schemas than those under which they were sent.
//!
//! The log is read once, from its first record to its last. Both judges are libxml2 with the schemas of one side.

use std::path::Path;

use serde_json::{Value, json};
use systole_kit::DocumentLimits;
use systole_kit::payload::Payload;

use super::side::SchemaSide;
use crate::cli::exit::CommandExit;
use crate::cli::looking::Looking;
use crate::limits;
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::{LogFault, Position};
use systole_core::types::record::{Record, RecordKind};
use systole_judge::{CompiledSchemaId, LibxmlJudge, SchemaVerdict};
use systole_show::columns::{plain, wrapped};

/// What the new schemas make of the messages of a log.
#[derive(Default)]
pub(super) struct PastMessages {
    /// Messages in a namespace of the schemas.
    messages: u64,
    /// Those that the old schemas accept and the new ones refuse.
    pub(super) refused: u64,
    /// Those that both refuse: they were sent under other schemas.
    refused_by_both: u64,
    /// Those that only the old schemas refuse.
    newly_accepted: u64,
    /// Those with an erased value, which no schema can judge.
    erased: u64,
    first: Vec<RefusedMessage>,
}

/// A message that the new schemas refuse.
struct RefusedMessage {
    position: Position,
    thread: ThreadId,
    seq: u64,
    words: String,
}

/// One side as a judge.
struct SideJudge<'s> {
    side: &'s SchemaSide,
    judge: LibxmlJudge,
}

/// Judges every message of a log.
pub(super) fn judge_messages(
    looking: &Looking,
    old: &SchemaSide,
    new: &SchemaSide,
) -> Result<PastMessages, CommandExit> {
    let (mut old, mut new) = (SideJudge::compile_side(looking, old)?, SideJudge::compile_side(looking, new)?);
    let fault = |fault: LogFault| looking.fault(&fault);
    let last = looking.reader.read_last().map_err(fault)?;
    let (mut past, mut told) = (PastMessages::default(), limits::PROGRESS);
    for placed in looking.reader.records_after(Position(0)).up_to(last) {
        let (position, record) = placed.map_err(fault)?;
        past.take_record(&mut old, &mut new, position, &record);
        if position.0 >= told {
            told += limits::PROGRESS;
            looking.screen.show_progress(&format!("{} of {} records judged", position.0, last.0));
        }
    }
    looking.screen.show_progress("");
    Ok(past)
}

impl PastMessages {
    fn take_record(
        &mut self,
        old: &mut SideJudge<'_>,
        new: &mut SideJudge<'_>,
        position: Position,
        record: &Record,
    ) {
        // Its element is not known any more, so it counts for every schema.
        if record.parts.rest.is_erased() && record.header.kind == RecordKind::Message {
            self.erased += 1;
            return;
        }
        let Ok(payload) = Payload::parse(&record.body, &DocumentLimits::FROM_PUMP) else { return };
        let namespace = payload.name().ns.to_string();
        if old.find_schema(&namespace).is_none() && new.find_schema(&namespace).is_none() {
            return;
        }
        if record.parts.has_erased() {
            self.erased += 1;
            return;
        }
        self.messages += 1;
        match (old.find_refusal(&namespace, &record.body), new.find_refusal(&namespace, &record.body)) {
            (None, None) => {}
            (Some(_), None) => self.newly_accepted += 1,
            (Some(_), Some(_)) => self.refused_by_both += 1,
            (None, Some(words)) => {
                self.refused += 1;
                if self.first.len() < limits::REFUSED_NAMED {
                    let (thread, seq) = (record.header.thread.clone(), record.header.seq);
                    self.first.push(RefusedMessage { position, thread, seq, words });
                }
            }
        }
    }

    /// For people.
    pub(super) fn list_lines(&self, log: &Path) -> Vec<String> {
        let all = if self.messages == 1 {
            "1 past message".to_owned()
        } else {
            format!("{} past messages", self.messages)
        };
        let mut lines = vec![format!("this edit refuses {} of {all} in {}", self.refused, log.display())];
        for one in &self.first {
            let place = format!("{}@{}", one.thread.as_str(), one.seq);
            lines.extend(wrapped(
                "  ",
                6,
                &format!("position {}, {place}: {}", one.position.0, plain(&one.words)),
            ));
        }
        if self.refused > self.first.len() as u64 {
            lines.push(format!("  and {} more", self.refused - self.first.len() as u64));
        }
        if self.refused_by_both > 0 {
            lines.push(format!("{} more are refused by the old schemas too", self.refused_by_both));
        }
        if self.newly_accepted > 0 {
            lines.push(format!(
                "{} are refused by the old schemas and accepted by the new ones",
                self.newly_accepted
            ));
        }
        if self.erased > 0 {
            lines.push(format!("{} more have erased values and are not judged", self.erased));
        }
        lines
    }

    /// For programs.
    pub(super) fn as_json(&self, log: &Path) -> Value {
        let one = |one: &RefusedMessage| {
            let place = format!("{}@{}", one.thread.as_str(), one.seq);
            json!({"position": one.position.0, "place": place, "why": one.words})
        };
        let first: Vec<Value> = self.first.iter().map(one).collect();
        json!({
            "log": log, "messages": self.messages, "refused": self.refused,
            "refused_by_both": self.refused_by_both, "newly_accepted": self.newly_accepted,
            "erased": self.erased, "first": first,
        })
    }
}

impl<'s> SideJudge<'s> {
    fn compile_side(looking: &Looking, side: &'s SchemaSide) -> Result<SideJudge<'s>, CommandExit> {
        let judge = LibxmlJudge::compile_sources(&side.sources)
            .map_err(|error| looking.screen.fail(CommandExit::Usage, error))?;
        Ok(SideJudge { side, judge })
    }

    /// The schema of a namespace, and its place among the sources.
    fn find_schema(&self, namespace: &str) -> Option<(usize, CompiledSchemaId)> {
        let at = self.side.models.iter().position(|model| model.target_namespace() == namespace)?;
        Some((at, self.judge.list_schemas().nth(at)?))
    }

    /// Why these schemas refuse a payload; `None` if they accept it.
    fn find_refusal(&mut self, namespace: &str, body: &[u8]) -> Option<String> {
        let Some((at, schema)) = self.find_schema(namespace) else {
            return Some("no schema has this namespace any more".to_owned());
        };
        match self.judge.judge_payload(schema, body) {
            SchemaVerdict::Valid => None,
            SchemaVerdict::Invalid { words } | SchemaVerdict::Broken { words } => {
                let found = self.side.models.get(at).and_then(|model| model.explain_refused(body));
                Some(found.map_or(words, |found| found.message))
            }
        }
    }
}
