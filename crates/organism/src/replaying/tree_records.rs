//! The records of one tree, read from a log in the order of their positions and checked against their chains; and what
//! the log's own thread says about starts and pauses.

use systole_core::rules::{core_payload, shutdown_payload};
use systole_core::types::ids::{Digest, Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_core::types::record::{Record, RecordCode, SteerEffect, head_zero};
use systole_core::types::time::Millis;

use systole_core::rules::approval_payload;

/// A root with everything below it.
#[derive(Clone, Debug)]
pub struct RecordedTree {
    /// The root.
    pub root: ThreadId,
    /// Every record, with its position.
    pub records: Vec<(Position, Record)>,
}

impl RecordedTree {
    /// Reads a tree. `None` if the log has no such root.
    ///
    /// # Errors
    /// If the log cannot be read, or a chain does not verify.
    pub fn read_tree(reader: &dyn LogReader, root: &ThreadId) -> Result<Option<RecordedTree>, LogFault> {
        let mut records = Vec::new();
        for thread in reader.threads_like(root.as_str(), crate::limits::TREE_THREADS)? {
            if thread.is_within(root) {
                visit_thread(reader, &thread, |position, record| records.push((position, record)))?;
            }
        }
        records.sort_by_key(|(position, _)| *position);
        Ok((!records.is_empty()).then(|| RecordedTree { root: root.clone(), records }))
    }

    /// The first and the last position.
    pub fn span(&self) -> (Position, Position) {
        let of = |found: Option<&(Position, Record)>| found.map_or(Position(0), |(position, _)| *position);
        (of(self.records.first()), of(self.records.last()))
    }
}

/// Every record of a thread, each checked against the chain before it.
fn visit_thread(
    reader: &dyn LogReader,
    thread: &ThreadId,
    mut each: impl FnMut(Position, Record),
) -> Result<(), LogFault> {
    let (mut seq, mut head) = (0, head_zero(thread));
    for placed in reader.records_of(thread, 1) {
        let (position, record) = placed?;
        if record.header.seq != seq + 1 || !record.is_valid_after(head) {
            let why = format!("record {} of thread {thread} does not follow record {seq}", seq + 1);
            return Err(LogFault::Damaged { path: "the log".to_owned(), position, why });
        }
        (seq, head) = (record.header.seq, record.head);
        each(position, record);
    }
    Ok(())
}

/// What happened to the whole organism.
#[derive(Clone, Debug)]
pub enum SystemEvent {
    /// It started.
    Started {
        /// The configuration.
        config: Digest,
        /// The version of the program. `None` in logs of versions that did not record it.
        version: Option<String>,
        /// Whether it had stopped before with nothing out.
        was_drained: bool,
    },
    /// A person paused everything, or lets it continue.
    Paused {
        /// The person.
        by: Name,
        /// Whether it is paused.
        halts: bool,
        /// The person's note.
        note: Option<String>,
    },
}

/// The events of `sys` that concern every thread, with their positions and times.
#[derive(Clone, Debug, Default)]
pub struct SystemEvents {
    /// In the order of the log.
    pub events: Vec<(Position, Millis, SystemEvent)>,
}

impl SystemEvents {
    /// Reads them.
    ///
    /// # Errors
    /// If the log cannot be read, or the chain of `sys` does not verify.
    pub fn read_events(reader: &dyn LogReader) -> Result<SystemEvents, LogFault> {
        let mut events: Vec<(Position, Millis, SystemEvent)> = Vec::new();
        let mut last_shutdown = None;
        visit_thread(reader, &ThreadId::new_sys(), |position, record| {
            let h = &record.header;
            if shutdown_payload::read_shutdown(&record.body).is_some_and(|said| said.is_drained) {
                last_shutdown = Some(position);
            }
            if let Some((config, version)) = core_payload::read_boot(&record.body) {
                // It counts only if nothing was recorded after it.
                let was_drained = last_shutdown.is_some_and(|at| at.0 + 1 == position.0);
                events.push((position, h.time, SystemEvent::Started { config, version, was_drained }));
            }
            if let Some(RecordCode::Steering(effect @ (SteerEffect::Paused | SteerEffect::Resumed))) = h.code
            {
                let note = approval_payload::read_steering(&record.body).and_then(|(_, note)| note);
                let by = h.to.clone().unwrap_or_else(Name::new_operator);
                let halts = effect == SteerEffect::Paused;
                events.push((position, h.time, SystemEvent::Paused { by, halts, note }));
            }
        })?;
        Ok(SystemEvents { events })
    }

    /// The version of the program that wrote a position. `None` if it is not recorded.
    pub fn version_at(&self, position: Position) -> Option<&str> {
        let before = self.events.iter().take_while(|(at, ..)| *at <= position);
        before
            .filter_map(|(_, _, event)| match event {
                SystemEvent::Started { version, .. } => Some(version.as_deref()),
                SystemEvent::Paused { .. } => None,
            })
            .last()
            .flatten()
    }

    /// The events that concern a tree: the starts before each of its records, the pauses during its life, and the pause
    /// that held when it began.
    pub(super) fn of_tree(&self, tree: &RecordedTree) -> Vec<&(Position, Millis, SystemEvent)> {
        let (first, last) = tree.span();
        let is_pause = |event: &SystemEvent| matches!(event, SystemEvent::Paused { .. });
        let before = self.events.iter().rev().filter(|(at, ..)| *at < first);
        let before = before.filter(|(_, _, event)| is_pause(event)).take(1);
        let held = before.filter(|(_, _, event)| matches!(event, SystemEvent::Paused { halts: true, .. }));
        let mut found: Vec<_> = held.collect();
        let mut start = None;
        let mut records = tree.records.iter().map(|(position, _)| *position).peekable();
        for event in self.events.iter().filter(|(at, ..)| first < *at && *at < last) {
            while records.next_if(|position| *position < event.0).is_some() {
                // A start after which nothing is recorded changed nothing.
                found.extend(start.take());
            }
            match is_pause(&event.2) {
                true => found.extend(start.take().into_iter().chain([event])),
                false => start = Some(event),
            }
        }
        found.extend(start);
        found
    }
}
