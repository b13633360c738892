//! The door: it takes raw bytes and the name on their connection, and returns a judged payload or a
//! refusal. It is pure except for the judge behind its port, so it runs on any validator thread. It knows
//! no threads and no calls: the pump decides everything that depends on them.

use std::sync::Arc;

use systole_wire::envelope::Letter;
use systole_wire::payload::Payload;
use systole_wire::reply::{self, Word};
use systole_wire::{Fault, Limits, namespaces};

use super::classify::{self, Case};
use super::{introspection, primitive, question, todo};
use crate::types::codes::Code;
use crate::types::composition::{Composition, Gather, Listener, SchemaId};
use crate::types::flow::{Admitted, Item, Judge, Judged, Refused, Said, Unconnected, What};
use crate::types::ids::{Name, ThreadId, is_label};
use crate::types::limits;
use crate::types::ports::{Lease, Speech};
use crate::types::primitive::Primitive;
use crate::types::refusal::Refusal;

/// The fix for a reply to a delivery that is over.
pub const NEWEST: &str = "reply once, and with the delivery of the newest message that you were given";

/// Turns the kit's fault into a refusal.
pub fn refusal_of(fault: &Fault) -> Refusal {
    let code = Code::parse(fault.code).unwrap_or(Code::Malformed);
    let mut refusal = Refusal::new(code, fault.message.to_string());
    refusal.at = Some((fault.place.line, fault.place.column));
    refusal.path = fault.path.as_deref().map(str::to_owned);
    refusal.expected = fault.expected.as_deref().map(str::to_owned);
    refusal.received = fault.received.as_deref().map(str::to_owned);
    refusal.fix = fault.fix.as_deref().map(str::to_owned).or(refusal.fix);
    refusal
}

/// The gate's limits for an organism.
pub fn gate_limits(composition: &Composition) -> Limits {
    Limits { message_bytes: composition.message_bytes, ..Limits::default() }
}

/// Reads a listener's message. The token in the document leads to the lease, which must belong to this
/// listener. The sender is the party at the other end of the connection, no matter what the bytes say.
pub fn listener_word(
    sender: &Name,
    speech: &Speech,
    limits: &Limits,
    lease_of: impl Fn(&str) -> Option<Arc<Lease>>,
) -> Result<(Arc<Lease>, Word), Box<Unconnected>> {
    let unconnected = |refusal, at, waits, replies_to| {
        let refused = Refused { refusal, kept: Some(excerpt(&speech.document(), at)) };
        Box::new(Unconnected { listener: sender.clone(), refused, waits, replies_to, ticket: None })
    };
    let word = speech
        .read(limits)
        .map_err(|fault| unconnected(refusal_of(&fault), fault.place.offset, None, None))?;
    match lease_of(word.delivery()).filter(|lease| lease.listener == *sender) {
        Some(lease) => Ok((lease, word)),
        None => {
            let words = "the reply names a delivery that is over, or that was never yours";
            let waits = match &word {
                Word::Journal { delivery, id, .. } | Word::Ask { delivery, id, .. } => {
                    Some((bounded(delivery.clone(), limits::NAME_BYTES), *id))
                }
                _ => None,
            };
            let replies_to = match word {
                Word::Reply { delivery, .. } => Some(delivery),
                _ => None,
            };
            let refusal = Refusal::new(Code::StaleLease, words).fixed_by(NEWEST);
            Err(unconnected(refusal, 0, waits, replies_to))
        }
    }
}

/// Refuses a message that came in a place for progress only. The message is ignored, so it is not parsed.
pub fn misplaced(sender: &Name, speech: &Speech) -> Unconnected {
    let words = "this came on the subject of progress, where nothing else is taken";
    let refusal = Refusal::new(Code::WrongSubject, words)
        .expecting("<progress>, well-formed and in its namespace")
        .fixed_by("everything else on the subject that the delivery's Systole-Reply header names");
    let refused = Refused { refusal, kept: Some(excerpt(&speech.document(), 0)) };
    Unconnected { listener: sender.clone(), refused, waits: None, replies_to: None, ticket: None }
}

/// The part of a refused document that is kept: all of it, or as much around the fault as the limit
/// allows.
pub fn excerpt(document: &[u8], at: usize) -> Arc<[u8]> {
    let latest = document.len().saturating_sub(limits::EXCERPT_BYTES);
    let start = at.saturating_sub(limits::EXCERPT_BYTES / 2).min(latest);
    let end = document.len().min(start.saturating_add(limits::EXCERPT_BYTES));
    Arc::from(document.get(start..end).unwrap_or(document))
}

/// A listener's text about itself, cut to the limit. An ellipsis marks the cut.
fn bounded(mut words: String, most: usize) -> String {
    if words.len() > most {
        words.truncate(words.floor_char_boundary(most.saturating_sub('…'.len_utf8())));
        words.push('…');
    }
    words
}

fn bounded_code(code: String) -> String {
    bounded(code, limits::OWN_CODE_BYTES)
}

fn bounded_words(words: String) -> String {
    bounded(words, limits::OWN_WORDS_BYTES)
}

/// Judges a listener's message under its lease, by the configuration of its call. `speech` is the message
/// before parsing.
pub fn judge_word(
    composition: &Composition,
    lease: Arc<Lease>,
    word: Word,
    speech: &Speech,
    judge: &mut dyn Judge,
) -> Judged {
    let claimed = false_name(&word, &lease.listener);
    let said = match word {
        Word::Reply { said: reply::Said::Items(items), .. } => {
            let judged = match composition.listener(&lease.listener) {
                Some(sender) => items
                    .into_iter()
                    .map(|item| judge_item(composition, sender, &lease, item, speech, judge))
                    .collect(),
                None => Vec::new(),
            };
            Said::Items(judged)
        }
        Word::Reply { said: reply::Said::Failure { code, retry, words }, .. } => {
            Said::Failure { code: bounded_code(code), retry, words: bounded_words(words) }
        }
        Word::Reply { said: reply::Said::Again { code, words }, .. } => {
            Said::Again { code: bounded_code(code), words: bounded_words(words) }
        }
        Word::Notice { code, words, .. } => {
            Said::Notice { code: bounded_code(code), words: bounded_words(words) }
        }
        Word::Progress { words, .. } => Said::Progress { words: bounded_words(words) },
        Word::Journal { id, entry, .. } => {
            Said::Journal { id, entry: entry.map_err(|fault| refused_word(&fault, speech)) }
        }
        Word::Ask { id, question, .. } => {
            Said::Ask { id, question: question.map_err(|fault| refused_word(&fault, speech)) }
        }
    };
    Judged { lease, said, claimed, ticket: None }
}

fn refused_word(fault: &Fault, speech: &Speech) -> Refused {
    let kept = Some(excerpt(&speech.document(), fault.place.offset));
    Refused { refusal: refusal_of(fault), kept }
}

/// The first sender name in an item that is not the sender's own, cut to the maximum length of a name.
fn false_name(word: &Word, sender: &Name) -> Option<String> {
    let Word::Reply { said: reply::Said::Items(items), .. } = word else { return None };
    let claimed =
        items.iter().filter_map(|item| item.from.as_deref()).find(|from| *from != sender.as_str())?;
    Some(bounded(claimed.to_owned(), limits::NAME_BYTES))
}

fn judge_item(
    composition: &Composition,
    sender: &Listener,
    lease: &Lease,
    item: reply::Item,
    speech: &Speech,
    judge: &mut dyn Judge,
) -> Item {
    let payload = match item.payload {
        Ok(payload) => payload,
        Err(fault) => {
            let kept = Some(excerpt(&speech.document(), fault.place.offset));
            let refusal = classify::in_a_known_namespace(refusal_of(&fault), composition, sender);
            return Item::Refused(Refused { refusal, kept });
        }
    };
    if let Some(thread) = item.thread.filter(|thread| thread != lease.thread.as_str()) {
        let bytes = payload.bytes().clone();
        let judged = admit_item(composition, sender, item.to.as_deref(), payload, judge);
        return Item::ForThread { thread, payload: bytes, judged: Box::new(judged) };
    }
    let kept = payload.bytes().clone();
    let several = match item.to {
        None => classify::takers(composition, sender, payload.name()),
        Some(_) => None,
    };
    let admitted = match several {
        Some((gather, takers)) => admit_for_each(composition, gather, &takers, &payload, judge),
        None => admit_item(composition, sender, item.to.as_deref(), payload, judge),
    };
    match admitted {
        Ok(admitted) => Item::Admitted(admitted),
        Err(mut refused) => {
            refused.kept.get_or_insert(kept);
            Item::Refused(refused)
        }
    }
}

/// Each taker's schema judges the payload. If one schema rejects it, the item is refused for all: the
/// sender has one payload to fix.
fn admit_for_each(
    composition: &Composition,
    gather: Gather,
    takers: &[&Listener],
    payload: &Payload,
    judge: &mut dyn Judge,
) -> Result<Admitted, Refused> {
    let mut verdicts = Vec::with_capacity(takers.len());
    for taker in takers {
        // The takers were chosen because they accept the payload.
        let schema = taker.accepted(payload.name()).ok_or_else(to_nobody)?;
        let verdict = judge.judge(composition.hash, schema, payload.clone())?;
        verdicts.push((taker.name.clone(), verdict));
    }
    Admitted::for_each(gather, verdicts).ok_or_else(to_nobody)
}

fn to_nobody() -> Refused {
    bare(Refusal::new(Code::NotAPeer, "the payload has no addressee"))
}

fn admit_item(
    composition: &Composition,
    sender: &Listener,
    to: Option<&str>,
    payload: Payload,
    judge: &mut dyn Judge,
) -> Result<Admitted, Refused> {
    let config = composition.hash;
    let case = classify::of_item(composition, sender, payload.name(), to)
        .map_err(|refusal| bare(classify::in_own_words(refusal, composition, sender, payload.name())))?;
    match case {
        Case::Note(schema) => {
            let bytes = payload.bytes().clone();
            let verdict = judge.judge(config, schema, payload)?;
            todo::read(&bytes).map_err(bare)?;
            Ok(Admitted::new(What::Note, verdict))
        }
        Case::Final(schema) => judge.judge(config, schema, payload).map(|v| Admitted::new(What::Final, v)),
        Case::Call(to, schema) => {
            judge.judge(config, schema, payload).map(|v| Admitted::new(What::For(to), v))
        }
        Case::Spawn => admit_spawn(composition, sender, payload, judge),
        Case::Await => admit_primitive(composition, payload, judge, |body| {
            primitive::read_await(body).map(Primitive::Await)
        }),
        Case::SetTimer => admit_primitive(composition, payload, judge, |body| {
            primitive::read_set_timer(body).map(Primitive::SetTimer)
        }),
        Case::CancelTimer => admit_primitive(composition, payload, judge, |body| {
            primitive::read_cancel_timer(body).map(Primitive::CancelTimer)
        }),
        Case::CancelThread => admit_primitive(composition, payload, judge, |body| {
            primitive::read_cancel_thread(body).map(Primitive::CancelThread)
        }),
        Case::ClearView => admit_primitive(composition, payload, judge, |body| {
            Ok(Primitive::Clear(primitive::read_clear(body)))
        }),
        Case::Recall => admit_primitive(composition, payload, judge, |body| {
            Ok(Primitive::Recall(primitive::read_recall(body)))
        }),
        Case::AskPerson => admit_primitive(composition, payload, judge, |body| {
            question::read_ask_person(body).map(Primitive::AskPerson)
        }),
        Case::Describe => {
            let [element, namespace] = ["element", "namespace"].map(|name| payload.attribute(name));
            let (schema, element) = (SchemaId::META, element.unwrap_or_default());
            let answer = introspection::describe(composition, sender, &element, namespace.as_deref());
            admit_valid(composition, schema, payload, judge, |_| answer.clone().map(Primitive::Introspect))
        }
        Case::ListCapabilities => admit_valid(composition, SchemaId::META, payload, judge, |_| {
            introspection::capabilities(composition, sender).map(Primitive::Introspect)
        }),
        Case::Todo => {
            admit_primitive(composition, payload, judge, |body| todo::read(body).map(|_| Primitive::Todo))
        }
    }
}

fn bare(refusal: Refusal) -> Refused {
    Refused { refusal, kept: None }
}

/// The core's schema judges a primitive. It is parsed only if it is valid.
fn admit_primitive(
    composition: &Composition,
    payload: Payload,
    judge: &mut dyn Judge,
    read: impl Fn(&[u8]) -> Result<Primitive, Refusal>,
) -> Result<Admitted, Refused> {
    admit_valid(composition, SchemaId::CORE, payload, judge, read)
}

/// Like `admit_primitive`, for a primitive of the given schema.
fn admit_valid(
    composition: &Composition,
    schema: SchemaId,
    payload: Payload,
    judge: &mut dyn Judge,
    read: impl Fn(&[u8]) -> Result<Primitive, Refusal>,
) -> Result<Admitted, Refused> {
    let (bytes, element) = (payload.bytes().clone(), payload.name().local.to_string());
    let verdict = judge.judge(composition.hash, schema, payload)?;
    let primitive = read(&bytes).map_err(|refusal| bare(refusal.of_element(element)))?;
    Ok(Admitted::new(What::Primitive(primitive), verdict))
}

/// The core's schema judges a `<spawn-thread>`; the addressee's schema judges its initial payload.
fn admit_spawn(
    composition: &Composition,
    sender: &Listener,
    payload: Payload,
    judge: &mut dyn Judge,
) -> Result<Admitted, Refused> {
    let label = payload.attribute("suggested_sub_id");
    if let Some(label) = label.as_deref().filter(|label| !is_label(label)) {
        let received: String = label.chars().take(80).collect();
        let refusal = Refusal::new(Code::Invalid, "suggested_sub_id is not a label of a thread")
            .of_element("spawn-thread")
            .expecting("[a-z0-9][a-z0-9-]{0,31}")
            .receiving(received)
            .fixed_by("leave suggested_sub_id out")
            .in_place("/spawn-thread/@suggested_sub_id");
        return Err(bare(refusal));
    }
    let (initial, to) = (payload.inner(), primitive::initial_addressee(payload.bytes()));
    // The outer schema first, because it says where in the payload something is missing.
    let verdict = judge.judge(composition.hash, SchemaId::CORE, payload)?;
    let initial = initial.map_err(|fault| bare(refusal_of(&fault)))?;
    let (to, schema) =
        classify::of_initial(composition, sender, initial.name(), to.as_deref()).map_err(bare)?;
    let initial = judge.judge(composition.hash, schema, initial)?;
    Ok(Admitted::spawn(label, to, initial, verdict))
}

/// Judges the payload that a person puts in place of a waiting one, by the schema that judged the waiting
/// one.
pub fn amendment(
    composition: &Composition,
    to: &Name,
    document: &[u8],
    judge: &mut dyn Judge,
) -> Result<Admitted, Refused> {
    let kept = |at| Some(excerpt(document, at));
    let payload = Payload::read(document, &gate_limits(composition))
        .map_err(|fault| Refused { refusal: refusal_of(&fault), kept: kept(fault.place.offset) })?;
    let schema = classify::of_amendment(composition, to, payload.name())
        .map_err(|refusal| Refused { refusal, kept: kept(0) })?;
    let verdict = judge.judge(composition.hash, schema, payload);
    let verdict = verdict.map_err(|refused| Refused { kept: kept(0), ..refused })?;
    Ok(Admitted::new(What::For(to.clone()), verdict))
}

/// The core's schema judges a `<steer>`. Its inner payload is judged like a message from outside.
fn admit_steer(
    composition: &Composition,
    client: &Name,
    to: Option<&str>,
    payload: Payload,
    judge: &mut dyn Judge,
) -> Result<Admitted, Refused> {
    let inside = payload.child();
    let verdict = judge.judge(composition.hash, SchemaId::CORE, payload)?;
    let inside = inside.map_err(|fault| bare(refusal_of(&fault)))?;
    let (to, schema) = classify::of_message(composition, client, inside.name(), to).map_err(bare)?;
    let inside = judge.judge(composition.hash, schema, inside)?;
    Ok(Admitted::steer(to, inside, verdict))
}

/// A message from outside, after the door.
pub struct Message {
    /// The thread it names. `None` opens a root.
    pub thread: Option<ThreadId>,
    /// The sender in the envelope, if that is not the client. The name is ignored.
    pub claimed: Option<String>,
    /// The payload with its addressee, or the refusal.
    pub payload: Result<Admitted, Refused>,
}

/// Judges a message from outside: an envelope in the plain form, or a bare payload. `to` and `thread` are
/// the options of a command. They count only if the envelope says nothing.
pub fn message(
    composition: &Composition,
    client: &Name,
    document: &[u8],
    to: Option<&str>,
    thread: Option<&str>,
    judge: &mut dyn Judge,
) -> Message {
    let kept = |at| Some(excerpt(document, at));
    let letter = match Letter::read(document, &gate_limits(composition)) {
        Ok(letter) => letter,
        Err(fault) => {
            let refused = Refused { refusal: refusal_of(&fault), kept: kept(fault.place.offset) };
            return Message { thread: None, claimed: None, payload: Err(refused) };
        }
    };
    let claimed = letter.from.filter(|from| from != client.as_str());
    let named = letter.thread.as_deref().or(thread).filter(|t| *t != "new");
    let thread = match named.map(ThreadId::parse).transpose() {
        Ok(thread) => thread,
        Err(words) => {
            let refusal =
                Refusal::new(Code::UnknownThread, words.to_string()).fixed_by("write new, to open a thread");
            return Message { thread: None, claimed, payload: Err(Refused { refusal, kept: kept(0) }) };
        }
    };
    let to = letter.to.as_deref().or(to);
    let payload = if letter.payload.name().is(namespaces::CORE, "steer") {
        admit_steer(composition, client, to, letter.payload, judge)
    } else {
        classify::of_message(composition, client, letter.payload.name(), to).map_err(bare).and_then(
            |(to, schema)| {
                let verdict = judge.judge(composition.hash, schema, letter.payload)?;
                Ok(Admitted::new(What::For(to), verdict))
            },
        )
    };
    // Only an excerpt of a refused message from outside is kept, no matter who refused it.
    let payload = payload.map_err(|refused| Refused { kept: kept(0), ..refused });
    Message { thread, claimed, payload }
}
