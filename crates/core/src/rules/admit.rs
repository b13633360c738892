//! The door: it takes raw bytes and the name on their connection, and returns a judged payload or a
//! refusal. It is pure except for the judge behind its port, so it runs on any validator thread. It knows
//! no threads and no calls: the pump decides everything that depends on them.

use std::sync::Arc;

use systole_wire::envelope::OutsideDocument;
use systole_wire::payload::Payload;
use systole_wire::reply::{self, ListenerDocument};
use systole_wire::{DocumentLimits, Fault, QName, namespaces};

use super::refusing::refusal_of;
use super::sent_files::{self, FindFile};
use super::{classify, todo};
use crate::types::codes::Code;
use crate::types::composition::{Composition, GatherRule, Listener, SchemaId, has_file_fields};
use crate::types::flow::{
    Admitted, FoundAnswer, Judge, JudgedContent, JudgedDocument, JudgedItem, PayloadKind, Refused,
    UnmatchedDocument, Verdict,
};
use crate::types::ids::{Name, ThreadId};
use crate::types::limits;
use crate::types::ports::{ArrivedDocument, Lease};
use crate::types::refusal::Refusal;
use crate::types::thread_choice::{ThreadChoice, ThreadName};

/// The fix for a reply to a delivery that is over.
pub const NEWEST: &str = "reply once, and with the delivery of the newest message that you were given";

/// How the door reads a payload that the pump answers.
#[derive(Clone, Copy)]
pub enum ItemReading {
    /// The core's schema judges it. After that, this function refuses what a schema cannot check.
    Plain(fn(&[u8]) -> Result<(), Refusal>),
    /// This function judges it.
    Own(fn(&mut Door<'_>, Payload) -> Result<Admitted, Refused>),
}

/// How the payloads that the pump answers are read, by their element. The pump has the table.
pub type FindReading = fn(&QName) -> Option<ItemReading>;

/// The door for the items of one sender.
pub struct Door<'a> {
    /// The configuration of the sender's call.
    pub composition: &'a Composition,
    /// The sender.
    pub sender: &'a Listener,
    /// The payloads that the pump answers.
    pub known: FindReading,
    /// The judge.
    pub judge: &'a mut dyn Judge,
}

impl Door<'_> {
    /// Judges a payload under that schema.
    pub fn judge_payload(&mut self, schema: SchemaId, payload: Payload) -> Result<Verdict, Refused> {
        if let Some(refusal) = sent_files::refuse_question(&payload) {
            return Err(to_refused(refusal));
        }
        self.judge.judge_payload(self.composition.hash, schema, payload)
    }
}

/// The gate's limits for an organism.
pub fn gate_limits(composition: &Composition) -> DocumentLimits {
    DocumentLimits { message_bytes: composition.message_bytes, ..DocumentLimits::default() }
}

/// Reads a listener's message. The token in the document leads to the lease, which must belong to this
/// listener. The sender is the party at the other end of the connection, no matter what the bytes say.
pub fn listener_word(
    sender: &Name,
    speech: &ArrivedDocument,
    limits: &DocumentLimits,
    lease_of: impl Fn(&str) -> Option<Arc<Lease>>,
) -> Result<(Arc<Lease>, ListenerDocument), Box<UnmatchedDocument>> {
    let unconnected = |refusal, at, waits, replies_to| {
        let refused = Refused { refusal, kept: Some(cut_excerpt(&speech.document(), at)) };
        Box::new(UnmatchedDocument { listener: sender.clone(), refused, waits, replies_to, ticket: None })
    };
    let word = speech
        .read_document(limits)
        .map_err(|fault| unconnected(refusal_of(&fault), fault.place.offset, None, None))?;
    match lease_of(word.delivery()).filter(|lease| lease.listener == *sender) {
        Some(lease) => Ok((lease, word)),
        None => {
            let words = "the reply names a delivery that is over, or that was never yours";
            let waits = match &word {
                ListenerDocument::Journal { delivery, id, .. }
                | ListenerDocument::Ask { delivery, id, .. } => {
                    Some((bound_words(delivery.clone(), limits::NAME_BYTES), *id))
                }
                _ => None,
            };
            let replies_to = match word {
                ListenerDocument::Reply { delivery, .. } => Some(delivery),
                _ => None,
            };
            let refusal = Refusal::new(Code::StaleLease, words).fixed_by(NEWEST);
            Err(unconnected(refusal, 0, waits, replies_to))
        }
    }
}

/// Refuses a message that came in a place for progress only. The message is ignored, so it is not parsed.
pub fn make_unmatched(sender: &Name, speech: &ArrivedDocument) -> UnmatchedDocument {
    let words = "this came on the subject of progress, where nothing else is taken";
    let refusal = Refusal::new(Code::WrongSubject, words)
        .with_expected("<progress>, well-formed and in its namespace")
        .fixed_by("everything else on the subject that the delivery's Systole-Reply header names");
    let refused = Refused { refusal, kept: Some(cut_excerpt(&speech.document(), 0)) };
    UnmatchedDocument { listener: sender.clone(), refused, waits: None, replies_to: None, ticket: None }
}

/// The part of a refused document that is kept: all of it, or as much around the fault as the limit
/// allows.
pub fn cut_excerpt(document: &[u8], at: usize) -> Arc<[u8]> {
    let latest = document.len().saturating_sub(limits::EXCERPT_BYTES);
    let start = at.saturating_sub(limits::EXCERPT_BYTES / 2).min(latest);
    let end = document.len().min(start.saturating_add(limits::EXCERPT_BYTES));
    Arc::from(document.get(start..end).unwrap_or(document))
}

/// A listener's text about itself, cut to the limit. An ellipsis marks the cut.
fn bound_words(mut words: String, most: usize) -> String {
    if words.len() > most {
        words.truncate(words.floor_char_boundary(most.saturating_sub('…'.len_utf8())));
        words.push('…');
    }
    words
}

fn bounded_code(code: String) -> String {
    bound_words(code, limits::OWN_CODE_BYTES)
}

fn bounded_words(words: String) -> String {
    bound_words(words, limits::OWN_WORDS_BYTES)
}

/// Judges a listener's message under its lease, by the configuration of its call. `speech` is the message
/// before parsing; `known` has the payloads that the pump answers.
pub fn judge_word(
    composition: &Composition,
    lease: Arc<Lease>,
    word: ListenerDocument,
    speech: &ArrivedDocument,
    known: FindReading,
    judge: &mut dyn Judge,
) -> JudgedDocument {
    let claimed = false_name(&word, &lease.listener);
    let said = match word {
        ListenerDocument::Reply { said: reply::ReplyContent::Items(items), .. } => {
            let judged = match composition.find_listener(&lease.listener) {
                Some(sender) => {
                    let mut door = Door { composition, sender, known, judge };
                    items.into_iter().map(|item| judge_item(&mut door, &lease, item, speech)).collect()
                }
                None => Vec::new(),
            };
            JudgedContent::Items(judged)
        }
        ListenerDocument::Reply {
            said: reply::ReplyContent::Failure { code, first_code, retry, words },
            ..
        } => {
            let (code, first_code) = (bounded_code(code), first_code.map(bounded_code));
            JudgedContent::Failure { code, first_code, retry, words: bounded_words(words) }
        }
        ListenerDocument::Reply {
            said: reply::ReplyContent::Away { outage, code, retry, words }, ..
        } => {
            let (outage, code) = (bounded_code(outage), bounded_code(code));
            JudgedContent::Away { outage, code, retry, words: bounded_words(words) }
        }
        ListenerDocument::Reply { said: reply::ReplyContent::Again { code, words }, .. } => {
            JudgedContent::Again { code: bounded_code(code), words: bounded_words(words) }
        }
        ListenerDocument::Notice { code, words, .. } => {
            JudgedContent::Notice { code: bounded_code(code), words: bounded_words(words) }
        }
        ListenerDocument::Progress { part, words, .. } => {
            JudgedContent::Progress { part, words: bounded_words(words) }
        }
        ListenerDocument::Journal { id, entry, .. } => {
            JudgedContent::Journal { id, entry: entry.map_err(|fault| refused_message(&fault, speech)) }
        }
        ListenerDocument::Ask { id, question, .. } => {
            JudgedContent::Ask { id, question: question.map_err(|fault| refused_message(&fault, speech)) }
        }
    };
    JudgedDocument { lease, said, claimed, ticket: None }
}

fn refused_message(fault: &Fault, speech: &ArrivedDocument) -> Refused {
    let kept = Some(cut_excerpt(&speech.document(), fault.place.offset));
    Refused { refusal: refusal_of(fault), kept }
}

/// The first sender name in an item that is not the sender's own, cut to the maximum length of a name.
fn false_name(word: &ListenerDocument, sender: &Name) -> Option<String> {
    let ListenerDocument::Reply { said: reply::ReplyContent::Items(items), .. } = word else { return None };
    let claimed =
        items.iter().filter_map(|item| item.from.as_deref()).find(|from| *from != sender.as_str())?;
    Some(bound_words(claimed.to_owned(), limits::NAME_BYTES))
}

fn judge_item(door: &mut Door<'_>, lease: &Lease, item: reply::Item, speech: &ArrivedDocument) -> JudgedItem {
    let payload = match item.payload {
        Ok(payload) => payload,
        Err(fault) => {
            let kept = Some(cut_excerpt(&speech.document(), fault.place.offset));
            let refusal = classify::in_a_known_namespace(refusal_of(&fault), door.composition, door.sender);
            return JudgedItem::Refused(Refused { refusal, kept });
        }
    };
    if let Some(thread) = item.thread.filter(|thread| thread != lease.id.thread.as_str()) {
        let bytes = payload.bytes().clone();
        let judged = admit_item(door, item.to.as_deref(), payload);
        return JudgedItem::ForThread { thread, payload: bytes, judged: Box::new(judged) };
    }
    let kept = payload.bytes().clone();
    let several = match item.to {
        None => classify::find_takers(door.composition, door.sender, payload.name()),
        Some(_) => None,
    };
    let admitted = match several {
        Some((gather, takers)) => admit_for_each(door, gather, &takers, &payload),
        None => admit_item(door, item.to.as_deref(), payload),
    };
    match admitted {
        Ok(admitted) => JudgedItem::Admitted(admitted),
        Err(mut refused) => {
            refused.kept.get_or_insert(kept);
            JudgedItem::Refused(refused)
        }
    }
}

/// Each taker's schema judges the payload. If one schema rejects it, the item is refused for all: the
/// sender has one payload to fix.
fn admit_for_each(
    door: &mut Door<'_>,
    gather: GatherRule,
    takers: &[&Listener],
    payload: &Payload,
) -> Result<Admitted, Refused> {
    let mut verdicts = Vec::with_capacity(takers.len());
    for taker in takers {
        // The takers were chosen because they accept the payload.
        let schema = taker.find_accepted(payload.name()).ok_or_else(no_taker)?;
        let verdict = door.judge_payload(schema, payload.clone())?;
        verdicts.push((taker.name.clone(), verdict));
    }
    Admitted::for_each(gather, verdicts).ok_or_else(no_taker)
}

fn no_taker() -> Refused {
    to_refused(Refusal::new(Code::NotAPeer, "the payload has no addressee"))
}

fn admit_item(door: &mut Door<'_>, to: Option<&str>, payload: Payload) -> Result<Admitted, Refused> {
    match (door.known)(payload.name()) {
        Some(ItemReading::Own(admit)) => return admit(door, payload),
        Some(ItemReading::Plain(read)) => {
            let (bytes, element) = (payload.bytes().clone(), payload.name().local.to_string());
            let verdict = door.judge_payload(SchemaId::CORE, payload)?;
            read(&bytes).map_err(|refusal| to_refused(refusal.of_element(element)))?;
            return Ok(Admitted::new(PayloadKind::Primitive(FoundAnswer::Nothing), verdict));
        }
        None => {}
    }
    let (composition, sender) = (door.composition, door.sender);
    let (what, schema) = classify::of_item(composition, sender, payload.name(), to).map_err(|refusal| {
        to_refused(classify::with_allowed_elements(refusal, composition, sender, payload.name()))
    })?;
    let (bytes, is_note) = (payload.bytes().clone(), what == PayloadKind::Note);
    let verdict = door.judge_payload(schema, payload)?;
    if is_note {
        todo::read_lists(&bytes).map_err(to_refused)?;
    }
    Ok(Admitted::new(what, verdict))
}

/// A refusal of which no bytes are kept yet.
pub fn to_refused(refusal: Refusal) -> Refused {
    Refused { refusal, kept: None }
}

/// Judges the payload that a person puts in place of a waiting one, by the schema that judged the waiting
/// one.
pub fn admit_amendment(
    composition: &Composition,
    to: &Name,
    document: &[u8],
    judge: &mut dyn Judge,
) -> Result<Admitted, Refused> {
    let kept = |at| Some(cut_excerpt(document, at));
    let payload = Payload::parse(document, &gate_limits(composition))
        .map_err(|fault| Refused { refusal: refusal_of(&fault), kept: kept(fault.place.offset) })?;
    if let Some(refusal) = sent_files::refuse_files(&payload) {
        return Err(Refused { refusal, kept: kept(0) });
    }
    let schema = classify::of_amendment(composition, to, payload.name())
        .map_err(|refusal| Refused { refusal, kept: kept(0) })?;
    let verdict = judge.judge_payload(composition.hash, schema, payload);
    let verdict = verdict.map_err(|refused| Refused { kept: kept(0), ..refused })?;
    Ok(Admitted::new(PayloadKind::For(to.clone()), verdict))
}

/// The core's schema judges a `<steer>`. Its inner payload is judged like a message from outside.
fn admit_steer(
    composition: &Composition,
    client: &Name,
    to: Option<&str>,
    payload: Payload,
    judge: &mut dyn Judge,
) -> Result<Admitted, Refused> {
    let inside = payload.parse_child();
    let verdict = judge.judge_payload(composition.hash, SchemaId::CORE, payload)?;
    let inside = inside.map_err(|fault| to_refused(refusal_of(&fault)))?;
    let (to, schema) = classify::of_message(composition, client, inside.name(), to).map_err(to_refused)?;
    if let Some(refusal) = sent_files::refuse_files(&inside) {
        return Err(to_refused(refusal));
    }
    let inside = judge.judge_payload(composition.hash, schema, inside)?;
    Ok(Admitted::new_steer(to, inside, verdict))
}

/// A message from outside, after the door.
pub struct JudgedMessage {
    /// The thread that it opens or continues.
    pub thread: ThreadChoice,
    /// The sender in the envelope, if that is not the client. The name is ignored.
    pub claimed: Option<String>,
    /// The payload with its addressee, or the refusal.
    pub payload: Result<Admitted, Refused>,
}

/// The thread for the text of an envelope or an option.
fn choose_thread(text: Option<&str>) -> Result<ThreadChoice, Refusal> {
    let Some(text) = text.filter(|text| *text != "new") else { return Ok(ThreadChoice::New) };
    let unknown = |words: String| Refusal::new(Code::UnknownThread, words);
    match text.strip_prefix('@') {
        Some(name) => ThreadName::parse(name).map(ThreadChoice::Named).map_err(|words| {
            let refusal = unknown(words).with_received(bound_words(text.to_owned(), limits::NAME_BYTES));
            refusal.fixed_by("@ and a name such as ticket-17")
        }),
        None => ThreadId::parse(text)
            .map(ThreadChoice::Known)
            .map_err(|malformed| unknown(malformed.to_string()).fixed_by("write new, to open a thread")),
    }
}

/// Judges a message from outside: an envelope in the plain form, or a bare payload. `to` and `thread` are
/// the options of a command. They count only if the envelope says nothing. `find_file` has the files of the client.
pub fn admit_message(
    composition: &Composition,
    client: &Name,
    document: &[u8],
    to: Option<&str>,
    thread: Option<&str>,
    (judge, find_file): (&mut dyn Judge, FindFile<'_>),
) -> JudgedMessage {
    let kept = |at| Some(cut_excerpt(document, at));
    let letter = match OutsideDocument::parse(document, &gate_limits(composition)) {
        Ok(letter) => letter,
        Err(fault) => {
            let refused = Refused { refusal: refusal_of(&fault), kept: kept(fault.place.offset) };
            return JudgedMessage { thread: ThreadChoice::New, claimed: None, payload: Err(refused) };
        }
    };
    let claimed = letter.from.filter(|from| from != client.as_str());
    let claimed = claimed.map(|from| bound_words(from, limits::NAME_BYTES));
    let thread = match choose_thread(letter.thread.as_deref().or(thread)) {
        Ok(thread) => thread,
        Err(refusal) => {
            let payload = Err(Refused { refusal, kept: kept(0) });
            return JudgedMessage { thread: ThreadChoice::New, claimed, payload };
        }
    };
    let to = letter.to.as_deref().or(to);
    let payload = if letter.payload.name().is_named(namespaces::CORE, "steer") {
        admit_steer(composition, client, to, letter.payload, judge)
    } else {
        classify::of_message(composition, client, letter.payload.name(), to).map_err(to_refused).and_then(
            |(to, schema)| {
                let verdict = judge.judge_payload(composition.hash, schema, letter.payload)?;
                let admitted = Admitted::new(PayloadKind::For(to), verdict);
                let files =
                    sent_files::find_files(admitted.bytes(), has_file_fields(&composition.source), find_file);
                Ok(admitted.with_files(files))
            },
        )
    };
    // Only an excerpt of a refused message from outside is kept, no matter who refused it.
    let payload = payload.map_err(|refused| Refused { kept: kept(0), ..refused });
    JudgedMessage { thread, claimed, payload }
}
