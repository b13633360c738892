//! A question that a log answers, in all its faces: one declaration gives the command, the routes and the page.
//!
//! What a person or a program typed comes in with the moment that is read; a value for programs and blocks for people go
//! out. A question has no clock, path or environment: all that it knows is in its arguments and its moment. To add one,
//! write a file with a [`Query`], and name it in `questions.rs`.

mod arguments;
mod fault;

pub use arguments::{
    ArgumentForm, FieldPlace, Flag, FreeText, ItemCount, PartyName, QueryArguments, QueryField,
    RecordArguments, RecordNumber, TimePoint, TypedThread,
};
pub use fault::{ArgumentMistake, QueryFault, join_choices};

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use systole_core::types::ids::{Digest, ThreadId};
use systole_core::types::ports::{LogReader, PlacedRecord};
use systole_core::types::time::Millis;
use systole_log::index::{IndexFault, IndexFile};
use systole_log::search::LogQuery;
use systole_show::blocks::Block;

use crate::anew;
use crate::causes;
use crate::finding::NotFound;
use crate::log_state::LogState;
use crate::picture::ReadSteps;
use crate::runs::ReadStep;
use crate::search::SearchHit;

/// A question.
pub trait Query {
    /// The name of its command.
    const NAME: &'static str;
    /// What it shows, on one line.
    const ABOUT: &'static str;
    /// Command lines that it takes.
    const EXAMPLES: &'static [&'static str];
    /// Its routes.
    const ROUTES: &'static [QueryRoute];
    /// Its page.
    const PAGE: Option<QueryPage>;
    /// The faces that it does not have, each with the reason.
    const LACKS: &'static [(QueryFace, &'static str)] = &[];
    /// Whether its page follows the log.
    const IS_LIVE: bool = false;
    /// Whether its answer is made of the log's own thread, which an export may lack.
    const IS_OF_SYS: bool = false;
    /// What may be typed.
    type Arguments: QueryArguments;
    /// What it answers.
    type Answer: Serialize;

    /// What of the log an answer needs.
    fn scope(_asked: &Self::Arguments) -> QueryScope {
        QueryScope::Own
    }
    /// Reads the answer.
    fn read(moment: &dyn QueryMoment, asked: &Self::Arguments) -> Result<Self::Answer, QueryFault>;
    /// The answer for people.
    fn blocks(answer: &Self::Answer) -> Vec<Block>;
    /// The answer for programs, its fields sorted by their names.
    fn value(answer: &Self::Answer) -> serde_json::Result<Box<RawValue>> {
        to_raw_value(&serde_json::to_value(answer)?)
    }
    /// With which value of its field for parts a long answer goes on, if it does.
    fn next(_answer: &Self::Answer) -> Option<String> {
        None
    }
    /// As of which record of the thread it answers, if as of one.
    fn as_of(_answer: &Self::Answer) -> Option<u64> {
        None
    }
}

/// What of a log an answer needs.
pub enum QueryScope {
    /// The threads that the client may see.
    Own,
    /// All threads; with the subject of the sentence that refuses it, as "costs over all threads are".
    WholeLog(&'static str),
}

/// A face of a question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueryFace {
    /// Its command.
    Command,
    /// Its routes.
    Route,
    /// Its page.
    Page,
}

/// A route of a question: its path, and the fields that it takes. A field in braces is a part of the path.
#[derive(Debug)]
pub struct QueryRoute {
    /// The path, as `/v1/cost`.
    pub path: &'static str,
    /// The fields behind `?`.
    pub fields: &'static [&'static str],
}

/// The page of a question. It takes all fields but the subject, which may be a part of its path.
#[derive(Debug)]
pub struct QueryPage {
    /// Its path, as `/cost` or `/t/{thread}/todo`.
    pub path: &'static str,
    /// Its title; below a thread, what it shows of the thread.
    pub title: &'static str,
    /// What the form of its fields sets; without one it is the answer alone.
    pub form: Option<&'static str>,
    /// What the page says for an export without requests to models, if the answer is made of them.
    pub without_requests: Option<&'static str>,
}

/// A question to the index, for the client that it is cut to.
pub type AskIndex<'a> = &'a mut dyn FnMut(&IndexFile, Option<&str>) -> Result<(), IndexFault>;

/// The moment that is read, as one of the faces gives it: the log cut to a client and a position.
pub trait QueryMoment {
    /// The log, cut to what the client may see, up to the position.
    fn log(&self) -> &dyn LogReader;
    /// The moment that counts as now.
    fn now(&self) -> Millis;
    /// The state of the log.
    fn state(&self) -> Result<Arc<LogState>, QueryFault>;
    /// Asks the index of the log. It has the threads of all clients; the name is that of the client, if it may see only
    /// its own.
    fn ask_index(&self, ask: AskIndex<'_>) -> Result<(), QueryFault>;
    /// The roots that have the request of a root anew, as far as the client sees them.
    fn sent_anew(&self, id: &ThreadId) -> Result<Vec<ThreadId>, QueryFault> {
        let mut sent = Vec::new();
        self.ask_index(&mut |index, _| {
            sent = anew::list_sent(index, self.log(), id)?;
            Ok(())
        })?;
        Ok(sent.into_iter().map(|one| one.thread).collect())
    }
    /// Reads the steps of a workflow from its section.
    fn steps(&self) -> ReadStep<'static>;
    /// Reads all steps of a workflow from its section.
    fn read_declared(&self) -> ReadSteps<'static>;
    /// The command that starts the organism, if none runs and the present is shown.
    fn start(&self) -> Option<&str> {
        None
    }
    /// What keeps the log from being written as it should. A door tells it with its status.
    fn alarms(&self) -> Option<Vec<Value>> {
        None
    }
    /// What a person is told beside an answer: alarms, and which of these listeners has no worker.
    fn list_notes(&self, _awaited: &BTreeSet<&str>) -> Vec<String> {
        Vec::new()
    }
    /// That no organism runs on the log, if so.
    fn still_note(&self) -> Option<String> {
        None
    }
    /// What adds other forms of a payload to an answer for programs. Routes have none.
    fn forms(&self) -> Option<&dyn PayloadForms> {
        None
    }
    /// Whether the client may see the threads of others.
    fn sees_all(&self) -> bool;
    /// How many items of a long answer are given if no number is typed.
    fn most(&self) -> usize {
        usize::MAX
    }
    /// The thread that was typed.
    fn thread(&self, typed: &str) -> Result<ThreadId, QueryFault>;
    /// Passes on the messages that fit, newest first, until `take` has enough.
    fn newest(&self, query: &LogQuery, take: &mut dyn FnMut(SearchHit) -> bool) -> Result<(), QueryFault>;
}

/// Adds other forms of a payload to an answer for programs.
pub trait PayloadForms {
    /// Adds its JSON form and its text beside the payload that a value has under that name.
    fn add_beside(&self, reader: &dyn LogReader, config: Option<Digest>, name: &str, value: &mut Value);
}

/// An answer that was drawn when it was read.
#[derive(Serialize)]
pub struct DrawnAnswer {
    /// The answer for programs.
    #[serde(flatten)]
    pub value: Value,
    /// The answer for people.
    #[serde(skip)]
    pub lines: Vec<String>,
    /// What they are told beside it.
    #[serde(skip)]
    pub notes: Vec<String>,
}

impl DrawnAnswer {
    /// The answer for people.
    pub fn blocks(&self) -> Vec<Block> {
        let notes = self.notes.iter().cloned().map(Block::Note);
        [Block::Lines(self.lines.clone())].into_iter().chain(notes).collect()
    }
}

/// What a question answered.
pub struct QueryAnswer {
    /// The answer for programs.
    pub value: Box<RawValue>,
    /// The answer for people.
    pub blocks: Vec<Block>,
    /// With which value of its field for parts it goes on, if it does.
    pub next: Option<String>,
    /// As of which record of the thread it answers, if as of one.
    pub as_of: Option<u64>,
}

/// Answers what was typed for each field, at a moment.
pub type AskQuery = fn(&dyn QueryMoment, &dyn Fn(&str) -> Option<String>) -> Result<QueryAnswer, QueryFault>;

/// A question without its types: what the faces are made of.
#[derive(Debug)]
pub struct QueryRow {
    /// The name of its command.
    pub name: &'static str,
    /// What it shows, on one line.
    pub about: &'static str,
    /// Command lines that it takes.
    pub examples: &'static [&'static str],
    /// Its routes.
    pub routes: &'static [QueryRoute],
    /// Its page.
    pub page: Option<QueryPage>,
    /// The faces that it does not have, each with the reason.
    pub lacks: &'static [(QueryFace, &'static str)],
    /// Whether its page follows the log.
    pub is_live: bool,
    /// Whether its answer is made of the log's own thread.
    pub is_of_sys: bool,
    /// What may be typed.
    pub fields: &'static [QueryField],
    /// Answers what was typed at a moment.
    pub ask: AskQuery,
}

/// The row of a question.
pub const fn row<Q: Query>() -> QueryRow {
    QueryRow {
        name: Q::NAME,
        about: Q::ABOUT,
        examples: Q::EXAMPLES,
        routes: Q::ROUTES,
        page: Q::PAGE,
        lacks: Q::LACKS,
        is_live: Q::IS_LIVE,
        is_of_sys: Q::IS_OF_SYS,
        fields: Q::Arguments::FIELDS,
        ask: answer::<Q>,
    }
}

fn answer<Q: Query>(
    moment: &dyn QueryMoment,
    typed: &dyn Fn(&str) -> Option<String>,
) -> Result<QueryAnswer, QueryFault> {
    let asked = Q::Arguments::read(typed, moment)?;
    if let QueryScope::WholeLog(what) = Q::scope(&asked)
        && !moment.sees_all()
    {
        return Err(QueryFault::NeedsRead(what));
    }
    let answer = Q::read(moment, &asked)?;
    #[expect(clippy::expect_used, reason = "an answer is made of texts, numbers, lists and maps of texts")]
    let value = Q::value(&answer).expect("JSON has all parts of an answer");
    Ok(QueryAnswer { value, blocks: Q::blocks(&answer), next: Q::next(&answer), as_of: Q::as_of(&answer) })
}

/// The record of that number of a thread; without a number its last.
pub fn find_record(
    moment: &dyn QueryMoment,
    thread: Option<&ThreadId>,
    seq: Option<u64>,
) -> Result<PlacedRecord, QueryFault> {
    let thread = thread.ok_or(QueryFault::Unfound(NotFound::Unnamed))?;
    let last = causes::last(moment.log(), thread)?.ok_or(QueryFault::Unfound(NotFound::Empty))?;
    let Some(seq) = seq else { return Ok(last) };
    match causes::at(moment.log(), thread, seq)? {
        Some(placed) if seq > 0 => Ok(placed),
        _ => Err(QueryFault::NoRecord { thread: thread.clone(), seq, last: last.1.header.seq }),
    }
}

impl QueryRow {
    /// Whether it has that face.
    pub fn has(&self, face: QueryFace) -> bool {
        self.lacks.iter().all(|(lacked, _)| *lacked != face)
    }

    /// The field that names what is asked about.
    pub fn subject(&self) -> Option<&'static QueryField> {
        self.fields.iter().find(|field| field.place.is_subject())
    }

    /// The field that has a place, if only one may have it.
    pub fn field_at(&self, place: FieldPlace) -> Option<&'static QueryField> {
        self.fields.iter().find(|field| field.place == place)
    }

    /// A field by its name.
    pub fn field(&self, name: &str) -> Option<&'static QueryField> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The fields of its page, in the order of the question.
    pub fn page_fields(&self) -> impl Iterator<Item = &'static QueryField> {
        let is_of_page = |place: FieldPlace| !place.is_subject() && place != FieldPlace::InPlaceOfJson;
        self.fields.iter().filter(move |field| is_of_page(field.place))
    }
}
