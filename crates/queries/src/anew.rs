//! Sending the request of a failed root anew: as a new root, as it was or with other values under its schema.
//!
//! A log, the current configuration and the changes come in. What would be sent, what of it was paid and done already,
//! and the key under which it is sent go out. It sends nothing.

mod link;

pub use link::{AnewLinks, SentAnew, claimed_source, find_source, list_sent};
use systole_kit::Payload;
use systole_kit::schema::SchemaModel;

use super::first_cause::FirstCause;
use super::log_state::ReadSource;
use super::retries::{ConfigurationPages, WorkBelow, name_first};
use super::thread_end::ThreadEnd;
use systole_core::rules::outcome::CallJudgement;
use systole_core::rules::refusing::{refusal_of, refuse_slips};
use systole_core::rules::{classify, core_payload, introspection};
use systole_core::types::budget::UsedAmounts;
use systole_core::types::codes::Code;
use systole_core::types::composition::Composition;
use systole_core::types::ids::{CallPath, Digest, Key, Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::record::{MessageRole, Record, RecordCode, RecordKind, SENSITIVE, SteerEffect};
use systole_core::types::refusal::Refusal;
use systole_core::types::subject::Subject;
use systole_kit::file_reference;

/// The fix for a request that cannot be sent from the log.
const BY_HAND: &str = "systole send --file FILE, with the request as it should be";

/// How the request is changed before it is sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AnewChange {
    /// These values replace its own, as `NAME=VALUE`; none leave it as it was.
    Values(Vec<String>),
    /// This payload replaces it.
    Payload(Vec<u8>),
}

/// What sending a request anew would do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AnewPreview {
    /// The root that failed.
    pub thread: ThreadId,
    /// The head of its chain.
    pub head: Digest,
    /// The call that failed.
    pub call: CallPath,
    /// The listener that the request is for.
    pub listener: Name,
    /// The code of what failed first.
    pub code: String,
    /// What is sent.
    pub payload: Vec<u8>,
    /// The files of the request that failed.
    pub files: Vec<Digest>,
    /// The same without its sensitive values.
    pub shown: String,
    /// Whether it differs from the request that failed.
    pub is_changed: bool,
    /// What the thread is about, if its client said so.
    pub subject: Option<Subject>,
    /// What the models of the failed call used, which may be paid again.
    pub used: UsedAmounts,
    /// Calls of it with effects outside, which may happen again.
    pub effects: Vec<String>,
    /// The roots that have a request of the same call already.
    pub sent: Vec<ThreadId>,
    /// The key under which it is sent: the same request of a client is sent once.
    pub key: Key,
}

/// The request of a failed root, as the log has it.
pub struct RequestToRepair {
    /// The record that opened the call.
    pub opening: Record,
    /// The record that closed it.
    end: Record,
    /// The head of the thread's chain.
    head: Digest,
    subject: Option<Subject>,
}

/// How a root stands, as its records say.
#[derive(Default)]
struct RootHistory {
    openings: Vec<Record>,
    /// How the call ended that closed last, with the place of its opening; `None` while it is open again.
    end: Option<(usize, CallJudgement, Record)>,
    head: Option<Digest>,
    subject: Option<Subject>,
}

impl RootHistory {
    fn read(reader: &dyn LogReader, id: &ThreadId) -> Result<RootHistory, LogFault> {
        let mut history = RootHistory::default();
        for placed in reader.records_of(id, 1) {
            let (_, record) = placed?;
            history.add_record(record);
        }
        Ok(history)
    }

    fn add_record(&mut self, record: Record) {
        let h = &record.header;
        self.head = Some(record.head);
        match (h.kind, h.code) {
            (RecordKind::Message, Some(RecordCode::Role(MessageRole::Told))) => {
                if let Some(text) = core_payload::read_subject(&record.body) {
                    self.subject = Subject::parse(&text).ok();
                }
            }
            (RecordKind::Steer, Some(RecordCode::Steering(SteerEffect::Reopened))) => self.end = None,
            _ => {}
        }
        // News for a listener opens a call too, and no one asked for it.
        let is_tell = h.code == Some(RecordCode::Role(MessageRole::Tell));
        if super::causes::opens(&record).is_some_and(|call| call.depth() == 0) && !is_tell {
            return self.openings.push(record);
        }
        let Some(end) = ThreadEnd::of_record(&record) else { return };
        let opened = match &h.call {
            Some(_) => self.openings.iter().rposition(|opening| opening.header.call == h.call),
            None => self.openings.len().checked_sub(1),
        };
        if let Some(opened) = opened {
            self.end = Some((opened, end.end, record));
        }
    }
}

impl RequestToRepair {
    /// Reads it. `None` if there is no such thread; a refusal if it cannot be sent anew.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn read(
        reader: &dyn LogReader,
        id: &ThreadId,
    ) -> Result<Option<Result<RequestToRepair, Refusal>>, LogFault> {
        let RootHistory { mut openings, end, head, subject } = RootHistory::read(reader, id)?;
        let Some(head) = head.filter(|_| !id.is_sys()) else { return Ok(None) };
        if id.parent().is_some() {
            let words = "a child thread is not sent anew by itself, only with its root";
            let fix = format!("systole retry {} --anew", id.root_of());
            return Ok(Some(Err(Refusal::new(Code::RetryNotFailed, words).fixed_by(fix))));
        }
        let not_failed = |words: &'static str| {
            let refusal = Refusal::new(Code::RetryNotFailed, words).fixed_by(format!("systole why {id}"));
            Ok(Some(Err(refusal)))
        };
        let Some((opened, judgement, end)) = end else {
            return not_failed("the thread is at work; nothing of it has failed");
        };
        if !judgement.is_failure() && judgement != CallJudgement::Cancelled {
            return not_failed("the last call of the thread was answered; nothing of it has failed");
        }
        let opening = openings.swap_remove(opened);
        if opening.header.kind != RecordKind::Message {
            let refusal =
                Refusal::new(Code::NotBuilt, "a timer opened the call, so there is no request to send anew");
            return Ok(Some(Err(
                refusal.fixed_by(format!("systole retry {id}, which lets it go on in its place"))
            )));
        }
        if opening.parts.has_erased() {
            let refusal = Refusal::new(
                Code::Invalid,
                "the request was erased, or a part of it, and is not whole any more",
            );
            return Ok(Some(Err(refusal.fixed_by(BY_HAND))));
        }
        Ok(Some(Ok(RequestToRepair { opening, end, head, subject })))
    }

    /// The payload that is sent, and whether it differs from the request; or every mistake of the changes.
    fn build_payload(
        &self,
        current: &Composition,
        by: &Name,
        change: AnewChange,
    ) -> Result<BuiltRequest, Refusal> {
        let body = &self.opening.body;
        let document = Payload::from_trusted(body.clone()).map_err(|fault| refusal_of(&fault))?;
        let to = self.opening.header.to.as_ref().map(Name::as_str);
        let (listener, schema) = classify::of_message(current, by, document.name(), to)?;
        let element = &*document.name().local;
        let model = current.schemas.get(schema.0).and_then(|one| introspection::model_of(current, &one.text));
        // The file was checked with the same model.
        let model = model.ok_or_else(|| {
            Refusal::new(Code::IngressUnavailable, format!("the schema of {element} cannot be read"))
        })?;
        let payload = match change {
            // The form of a page may write the same values in another way.
            AnewChange::Payload(payload) if has_same_values(&model, &payload, body) => body.to_vec(),
            AnewChange::Payload(payload) => payload,
            AnewChange::Values(values) if values.is_empty() => body.to_vec(),
            AnewChange::Values(values) => {
                let values: Vec<&str> = values.iter().map(String::as_str).collect();
                let changed = model.change_fields(element, body, &values).ok_or_else(|| {
                    let words = format!("the request {element} holds more than values with names");
                    Refusal::new(Code::Invalid, words).of_element(element).fixed_by(BY_HAND)
                })?;
                changed.map_err(|slips| refuse_slips(element, slips))?
            }
        };
        Ok(BuiltRequest { listener, is_changed: payload != **body, model, payload })
    }
}

fn has_same_values(model: &SchemaModel, one: &[u8], other: &[u8]) -> bool {
    let other = model.to_json(other);
    model.to_json(one).is_ok_and(|one| other.is_ok_and(|other| one == other))
}

/// A request that can be sent.
struct BuiltRequest {
    listener: Name,
    is_changed: bool,
    model: SchemaModel,
    payload: Vec<u8>,
}

impl BuiltRequest {
    /// The payload as text, without its sensitive values.
    fn hide_sensitive(&self) -> String {
        let mut shown = self.payload.clone();
        for place in self.model.find_sensitive(&self.payload).into_iter().rev() {
            shown.splice(place, SENSITIVE.iter().copied());
        }
        String::from_utf8_lossy(&shown).into_owned()
    }
}

/// Previews sending the request of a failed root anew, as that client; it was `sent` so far. `None` if there is no such
/// thread; a refusal if it cannot be sent.
///
/// # Errors
/// If the log cannot be read.
pub fn preview_anew(
    reader: &dyn LogReader,
    (current, read): (&Composition, ReadSource<'_>),
    (by, id, sent): (&Name, &ThreadId, &[SentAnew]),
    change: AnewChange,
) -> Result<Option<Result<AnewPreview, Refusal>>, LogFault> {
    let request = match RequestToRepair::read(reader, id)? {
        None => return Ok(None),
        Some(Err(refusal)) => return Ok(Some(Err(refusal))),
        Some(Ok(request)) => request,
    };
    let built = match request.build_payload(current, by, change) {
        Ok(built) => built,
        Err(refusal) => return Ok(Some(Err(refusal))),
    };
    let call = request.opening.header.call.clone().unwrap_or_else(|| CallPath::new_top(1));
    let mut work = WorkBelow::default();
    work.read_tree(&mut ConfigurationPages::new(reader, read), id, Some(call.top_number()))?;
    name_first(&mut work.effects);
    let key = match link::make_key(&request.end, (by, &built.payload), sent, !work.effects.is_empty()) {
        Ok(key) => key,
        Err(malformed) => {
            let refusal = Refusal::new(Code::NotBuilt, malformed.to_string()).fixed_by(BY_HAND);
            return Ok(Some(Err(refusal)));
        }
    };
    let end = &request.end;
    let shown = built.hide_sensitive();
    let files = file_reference::list_files(&request.opening.body);
    let files = files.iter().filter_map(|file| Digest::parse(&file.hash).ok()).collect();
    let sent = sent.iter().filter(|one| one.end == end.header.id).map(|one| one.thread.clone());
    Ok(Some(Ok(AnewPreview {
        thread: id.clone(),
        head: request.head,
        call,
        code: FirstCause::of_body(end.header.code, &end.body).code().to_owned(),
        files,
        shown,
        is_changed: built.is_changed,
        listener: built.listener,
        payload: built.payload,
        subject: request.subject,
        used: work.used,
        effects: work.effects,
        sent: sent.collect(),
        key,
    })))
}
