//! What was refused in a period: by code and listener, how often each model is right at the first try, and the newest
//! refusals.
//!
//! A first try is the first item of an element in a turn, unless the turn before had an item of that element refused:
//! then the item is a repair. An answer in which no item could be read is a try of the element `?`, and what follows it
//! is a repair. A reader and a period come in; tables go out. Only a window of the newest records is
//! read, and the result says so.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use serde_json::{Value, json};
use systole_kit::journal::{EarlierEntry, JournalEntry};

use super::causes;
use super::glance::{attribute, glance, read_error};
use super::trail::said_in;
use crate::limits;
use systole_core::types::codes::Code;
use systole_core::types::ids::{CallPath, Digest, Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_core::types::record::{MessageRole, Record, RecordCode, RecordKind};
use systole_core::types::time::Millis;
use systole_show::columns::plain;
use systole_show::layout;

/// The element of bytes that are no payload.
const UNREAD: &str = "?";
/// The source of a report that the pump gives in place of an answer.
const OF_PUMP: &str = "synthetic";

/// The period of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RefusalPeriod {
    /// Only records since then.
    pub since: Option<Millis>,
    /// Only records before then.
    pub until: Option<Millis>,
}

/// How often the first try was accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FirstTries {
    /// First tries.
    pub tries: u64,
    /// Those that were accepted.
    pub valid: u64,
}

impl FirstTries {
    fn add(&mut self, is_valid: bool) {
        self.tries += 1;
        self.valid += u64::from(is_valid);
    }

    /// The share of accepted first tries, as `97%`. It is rounded down, so that `100%` means all.
    pub fn rate(&self) -> String {
        match (self.valid * 100).checked_div(self.tries) {
            Some(percent) => format!("{percent}%"),
            None => "-".to_owned(),
        }
    }

    fn as_json(self) -> Value {
        json!({"tries": self.tries, "valid": self.valid, "rate": self.rate()})
    }
}

/// A refusal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RefusedItem {
    /// The position of its record.
    pub position: Position,
    /// The thread.
    pub thread: ThreadId,
    /// The record's number there.
    pub seq: u64,
    /// When.
    pub at: Millis,
    /// The code.
    pub code: String,
    /// Whose payload was refused, if it is known.
    pub sender: Option<Name>,
    /// The element of the refused payload, if it could be read.
    pub element: Option<String>,
    /// The model that wrote it, if it was one.
    pub model: Option<String>,
    /// Why, in words without hidden characters.
    pub message: String,
}

/// The tables of a period.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RefusalTables {
    /// First tries by model and element.
    pub models: BTreeMap<(String, String), FirstTries>,
    /// First tries by day, model and element.
    pub days: BTreeMap<(String, String, String), FirstTries>,
    /// Refusals by code and sender; without a sender if it is unknown.
    pub codes: BTreeMap<(String, Option<Name>), u64>,
    /// The newest refusals, newest first.
    pub newest: Vec<RefusedItem>,
    /// How many records were read.
    pub records: u64,
    /// Whether the period has older records that were not read.
    pub is_cut: bool,
    /// The time of the first record that was read.
    pub from: Option<Millis>,
}

/// A turn of a call.
type TurnKey = (ThreadId, CallPath, u32);

/// What is remembered of a turn.
#[derive(Default)]
struct TurnItems {
    model: Option<String>,
    sent: HashSet<String>,
    refused: HashSet<String>,
}

/// Reads the tables of a period, from at most `window` records.
pub fn read(reader: &dyn LogReader, period: RefusalPeriod, window: u64) -> Result<RefusalTables, LogFault> {
    let last = reader.read_last()?;
    let is_before = |position: u64, moment: Millis| -> Result<bool, LogFault> {
        let found = reader.read_after(Position(position.saturating_sub(1)), 1)?;
        Ok(found.first().is_some_and(|(_, record)| record.header.time < moment))
    };
    let first = match period.since {
        Some(since) => causes::first_after(|position| is_before(position, since))?,
        None => 1,
    };
    let end = match period.until {
        Some(until) => causes::first_after(|position| is_before(position, until))?,
        None => last.0 + 1,
    };
    let start = first.max(end.saturating_sub(window));
    let mut reading = RefusalReading {
        reader,
        tables: RefusalTables::default(),
        turns: HashMap::new(),
        order: VecDeque::new(),
    };
    reading.tables.is_cut = start > first;
    let before = Position(start.saturating_sub(1));
    for placed in reader.records_after(before).up_to(Position(end.saturating_sub(1))) {
        let (position, record) = placed?;
        reading.take(position, &record)?;
    }
    reading.tables.newest.reverse();
    Ok(reading.tables)
}

struct RefusalReading<'a> {
    reader: &'a dyn LogReader,
    tables: RefusalTables,
    turns: HashMap<TurnKey, TurnItems>,
    order: VecDeque<TurnKey>,
}

impl RefusalReading<'_> {
    fn take(&mut self, position: Position, record: &Record) -> Result<(), LogFault> {
        let h = &record.header;
        self.tables.records += 1;
        self.tables.from = self.tables.from.or(Some(h.time));
        // Marks such as `todo-open` refuse no payload: the item counts later.
        let is_refusal = h.kind == RecordKind::Refusal && matches!(h.code, Some(RecordCode::Code(_)));
        let turn = said_in(record).map(|(call, turn)| (h.thread.clone(), call, turn));
        if h.kind == RecordKind::Journal {
            if let (Some(turn), Ok(EarlierEntry { entry: JournalEntry::Started(started), .. })) =
                (turn, EarlierEntry::from_body(&record.body))
            {
                self.turn(turn).model = Some(plain(&started.model));
            }
            return Ok(());
        }
        if h.kind == RecordKind::Refusal && !is_refusal {
            return Ok(());
        }
        // The pump answers in place of a listener that gave no answer.
        if h.code == Some(RecordCode::Role(MessageRole::Final))
            && attribute(&record.body, "final-report", "source").as_deref() == Some(OF_PUMP)
        {
            return Ok(());
        }
        let element =
            if is_refusal { self.refused_element(record)? } else { Some(glance(&record.body).element) };
        // The listener itself refused what its model said: it found no item in it.
        let is_unread = h.code == Some(RecordCode::Code(Code::ListenerFailed));
        let element = element.or_else(|| is_unread.then(|| UNREAD.to_owned()));
        let model = match (turn, &element) {
            (Some(turn), Some(element)) => self.try_of(turn, element, h.time, !is_refusal),
            (Some(turn), None) => self.turns.get(&turn).and_then(|items| items.model.clone()),
            (None, _) => None,
        };
        if is_refusal {
            self.add_refusal(position, record, element, model);
        }
        Ok(())
    }

    /// Counts an item, and returns the model of its turn.
    fn try_of(&mut self, turn: TurnKey, element: &str, at: Millis, is_valid: bool) -> Option<String> {
        let (thread, call, number) = &turn;
        let before = number.checked_sub(1).map(|before| (thread.clone(), call.clone(), before));
        let before = before.and_then(|before| self.turns.get(&before));
        let is_repair =
            before.is_some_and(|items| items.refused.contains(element) || items.refused.contains(UNREAD));
        let items = self.turn(turn);
        let is_first = items.sent.insert(element.to_owned()) && !is_repair;
        if !is_valid {
            items.refused.insert(element.to_owned());
        }
        let model = items.model.clone()?;
        if is_first {
            self.tables.models.entry((model.clone(), element.to_owned())).or_default().add(is_valid);
            let day = (layout::day(at), model.clone(), element.to_owned());
            self.tables.days.entry(day).or_default().add(is_valid);
        }
        Some(model)
    }

    fn turn(&mut self, turn: TurnKey) -> &mut TurnItems {
        if !self.turns.contains_key(&turn) {
            if self.order.len() >= limits::KNOWN_THREADS
                && let Some(oldest) = self.order.pop_front()
            {
                self.turns.remove(&oldest);
            }
            self.order.push_back(turn.clone());
        }
        self.turns.entry(turn).or_default()
    }

    /// The element of the refused payload: as the refusal names it, or as the stored payload has it.
    fn refused_element(&self, record: &Record) -> Result<Option<String>, LogFault> {
        if let Some(hash) = attribute(&record.body, "system-error", "hash")
            && let Ok(hash) = Digest::parse(&hash)
            && let Some(refused) = self.reader.intact_document(hash)?
        {
            let seen = glance(&refused);
            if seen.element != UNREAD {
                return Ok(Some(seen.element));
            }
        }
        let named = attribute(&record.body, "system-error", "element");
        Ok(named.map(|element| element.rsplit('}').next().unwrap_or_default().to_owned()))
    }

    fn add_refusal(
        &mut self,
        position: Position,
        record: &Record,
        element: Option<String>,
        model: Option<String>,
    ) {
        let h = &record.header;
        let said = read_error(&record.body);
        let code = h.code.map_or("", RecordCode::as_str).to_owned();
        *self.tables.codes.entry((code.clone(), h.to.clone())).or_default() += 1;
        if self.tables.newest.len() >= limits::KEPT_REFUSALS {
            self.tables.newest.remove(0);
        }
        self.tables.newest.push(RefusedItem {
            position,
            thread: h.thread.clone(),
            seq: h.seq,
            at: h.time,
            code,
            sender: h.to.clone(),
            element: element.map(|element| plain(&element)),
            model,
            message: said.map_or_else(|| glance(&record.body).words, |said| said.message),
        });
    }
}

impl RefusalTables {
    /// The tables for programs.
    pub fn as_json(&self) -> Value {
        let models = self.models.iter().map(
            |((model, element), tries)| json!({"model": model, "element": element, "first": tries.as_json()}),
        );
        let days = self.days.iter().map(|((day, model, element), tries)| {
            json!({"day": day, "model": model, "element": element, "first": tries.as_json()})
        });
        let codes = self.codes.iter().map(|((code, sender), count)| {
            json!({"code": code, "sender": sender.as_ref().map(Name::as_str), "count": count})
        });
        json!({
            "records": self.records,
            "cut": self.is_cut,
            "from": self.from.map(|from| from.to_string()),
            "models": models.collect::<Vec<_>>(),
            "days": days.collect::<Vec<_>>(),
            "codes": codes.collect::<Vec<_>>(),
            "newest": self.newest.iter().map(RefusedItem::as_json).collect::<Vec<_>>(),
        })
    }
}

impl RefusedItem {
    /// The refusal for programs.
    pub fn as_json(&self) -> Value {
        json!({
            "position": self.position.0,
            "thread": self.thread.as_str(),
            "seq": self.seq,
            "time": self.at.to_string(),
            "code": self.code,
            "sender": self.sender.as_ref().map(Name::as_str),
            "element": self.element,
            "model": self.model,
            "message": self.message,
        })
    }
}
