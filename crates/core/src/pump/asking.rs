//! Deciding on a message from outside. The message opens a root or another top call of a root, or
//! gets the existing receipt for the same key and bytes, or is refused. Everything but a repeat is
//! recorded.

use super::approving::hold_if_due;
use super::decision_builder::{DecisionBuilder, RecordFact};
use super::event::{BoundKey, Effect};
use super::refusing::{may_act, refuse_asker};
use super::state::{ThreadOpener, ThreadState};
use super::steering;
use crate::rules::admit::cut_excerpt;
use crate::rules::core_payload;
use crate::types::codes::Code;
use crate::types::flow::{Admitted, DoorMessage, PayloadKind, Receipt, Refused};
use crate::types::ids::{CallPath, Digest, Key, Name, ThreadId};
use crate::types::record::{MessageRole, RecordCode, RecordKind};
use crate::types::refusal::Refusal;
use crate::types::subject::Subject;
use crate::types::thread_choice::{SoughtRoot, ThreadChoice};

pub(super) fn take_message(d: &mut DecisionBuilder<'_>, asked: DoorMessage, bound: Option<BoundKey>) {
    let sought = asked.seek_root(d.organism());
    let DoorMessage { ticket, client, key, thread, payload, claimed, subject } = asked;
    let place = match thread {
        ThreadChoice::New => None,
        ThreadChoice::Known(thread) => Some(thread),
        ThreadChoice::Named(_) => find_root(d, &sought).and_then(Result::ok),
    };
    let outcome = match payload {
        Err(refused) => Err(refused),
        Ok(admitted) => {
            let receipt = match place.as_ref() {
                None => open_root(d, &sought, &admitted),
                Some(thread) => go_on(d, thread, (&client, &key), &admitted, bound),
            };
            if receipt.as_ref().is_ok_and(|receipt| !receipt.repeated) {
                // Bytes that are stored already stay as they are.
                for bytes in admitted.files().unwrap_or_default() {
                    d.keep_document(bytes);
                }
            }
            receipt.map_err(|refusal| Refused { refusal, kept: Some(cut_excerpt(admitted.bytes(), 0)) })
        }
    };
    match outcome {
        Ok(receipt) => {
            if let Some(subject) = subject.filter(|_| !receipt.repeated) {
                note_subject(d, &receipt, &subject);
            }
            d.add_effect(Effect::Receipt { ticket, receipt: Receipt { claimed, ..receipt } });
        }
        Err(refused) => refuse_asker(d, ticket, &client, place.as_ref(), refused),
    }
}

/// Records what the thread is about, behind the message that says so.
fn note_subject(d: &mut DecisionBuilder<'_>, receipt: &Receipt, subject: &Subject) {
    let body = core_payload::write_subject(subject);
    let fact = RecordFact::from_core(RecordKind::Message, RecordCode::Role(MessageRole::Told), body)
        .with_config(d.current_config());
    d.add_record(&receipt.thread, fact);
}

fn find_addressee(admitted: &Admitted) -> Result<Name, Refusal> {
    match admitted.what() {
        PayloadKind::For(to) => Ok(to.clone()),
        PayloadKind::Steer { .. } => {
            Err(Refusal::new(Code::UnknownThread, "a steer names the thread that it is for")
                .fixed_by("name the thread, or send the payload inside as a message of its own"))
        }
        _ => Err(Refusal::new(Code::NotAPeer, "the payload has no addressee")),
    }
}

/// The root that is sought, or the id that is free for it. `None` if no id is left.
fn find_root(d: &DecisionBuilder<'_>, sought: &SoughtRoot) -> Option<Result<ThreadId, ThreadId>> {
    // While a root of another sender and key has an id with the same digits, it gets one more digit.
    (12..=64).map(|digits| sought.find_id(digits)).find_map(|id| match d.find_thread(&id) {
        None => Some(Err(id)),
        Some(thread) if thread.is_root_of(sought) => Some(Ok(id)),
        Some(_) => None,
    })
}

pub(super) fn open_root(
    d: &mut DecisionBuilder<'_>,
    sought: &SoughtRoot,
    admitted: &Admitted,
) -> Result<Receipt, Refusal> {
    let to = find_addressee(admitted)?;
    let body = Digest::hash_bytes(admitted.bytes());
    match find_root(d, sought) {
        Some(Err(id)) => {
            admitted.files().map_err(Clone::clone)?;
            Ok(open_request(d, &id, (&sought.sender, &sought.key), &to, admitted))
        }
        Some(Ok(id)) => {
            let opener = d.find_thread(&id).and_then(|thread| thread.opener.as_ref());
            let first = opener.map(|opener| bind_opener(&id, opener));
            let first = first.ok_or_else(|| Refusal::new(Code::UnknownThread, "there is no such thread"))?;
            repeat_receipt(first, body)
        }
        None => Err(Refusal::new(Code::ThreadLimit, "no id is left for a new thread of this key")),
    }
}

/// The first message of a root, as one whose key is bound.
fn bind_opener(root: &ThreadId, opener: &ThreadOpener) -> BoundKey {
    let receipt = Receipt {
        thread: root.clone(),
        seq: 1,
        id: opener.first,
        call: CallPath::new_top(1),
        sender: opener.sender.clone(),
        repeated: true,
        claimed: None,
    };
    BoundKey { receipt, body: opener.body }
}

/// The receipt of an earlier message with the same key, if it had the same bytes.
fn repeat_receipt(bound: BoundKey, came: Digest) -> Result<Receipt, Refusal> {
    match bound.body == came {
        true => Ok(bound.receipt),
        false => Err(refuse_conflict(&bound.receipt, bound.body, came)),
    }
}

fn refuse_conflict(first: &Receipt, stored: Digest, came: Digest) -> Refusal {
    let words = format!("this key was used before with other bytes, in thread {}", first.thread.as_str());
    Refusal::new(Code::IdConflict, words)
        .with_expected(format!("bytes with SHA-256 {stored}"))
        .with_received(format!("bytes with SHA-256 {came}"))
        .fixed_by("send the first bytes again, or use a new key")
}

fn go_on(
    d: &mut DecisionBuilder<'_>,
    thread: &ThreadId,
    (client, key): (&Name, &Key),
    admitted: &Admitted,
    bound: Option<BoundKey>,
) -> Result<Receipt, Refusal> {
    let word = steering::from_outside(client, admitted);
    let body = Digest::hash_bytes(word.as_ref().map_or(admitted.bytes(), |word| &word.body));
    let known = d.find_thread(thread).filter(|t| t.seq > 0 && !t.id.is_sys());
    let Some(state) = known.filter(|t| may_act(d, client, &t.id)) else {
        return Err(Refusal::new(Code::UnknownThread, "there is no such thread")
            .fixed_by("leave the thread out, or write new, to open one"));
    };
    let recent = state.recent.iter().find(|r| r.sender == *client && r.key == *key).map(|r| BoundKey {
        receipt: Receipt {
            thread: thread.clone(),
            seq: r.seq,
            id: r.id,
            call: r.call.clone(),
            sender: r.sender.clone(),
            repeated: true,
            claimed: None,
        },
        body: r.body,
    });
    if let Some(bound) = recent.or(bound) {
        return repeat_receipt(bound, body);
    }
    admitted.files().map_err(Clone::clone)?;
    if thread.parent().is_some() {
        let words = "a child thread takes no messages from outside; send to its root";
        return Err(Refusal::new(Code::NotBuilt, words).fixed_by(thread.root_of().to_string()));
    }
    if state.life() == ThreadState::Ended {
        return Err(Refusal::new(Code::EndedThread, "the thread has ended").fixed_by("open a new one"));
    }
    if let Some(word) = word {
        let call = steering::check_room(d, thread, &word)?;
        let (seq, id) = steering::join_inbox(d, thread, &call, word, steering::SteeringOrigin::Outside(key));
        let receipt = Receipt {
            thread: thread.clone(),
            seq,
            id,
            call,
            sender: client.clone(),
            repeated: false,
            claimed: None,
        };
        return Ok(receipt);
    }
    if !state.has_room() {
        let words = "16 messages wait behind the one that is being answered, the most allowed";
        return Err(Refusal::new(Code::BusyThread, words).fixed_by("wait for an answer, then send it again"));
    }
    let to = find_addressee(admitted)?;
    Ok(open_request(d, thread, (client, key), &to, admitted))
}

fn open_request(
    d: &mut DecisionBuilder<'_>,
    thread: &ThreadId,
    (client, key): (&Name, &Key),
    to: &Name,
    admitted: &Admitted,
) -> Receipt {
    let call = CallPath::new_top(d.find_thread(thread).map_or(0, |t| t.top_calls) + 1);
    let mut fact = RecordFact::from_core(
        RecordKind::Message,
        RecordCode::Role(MessageRole::Request),
        admitted.bytes().clone(),
    )
    .with_addressee(to)
    .with_call(&call)
    .with_config(d.current_config());
    fact.from = client.clone();
    fact.key = Some(key.clone());
    let (seq, id) = d.add_record(thread, fact);
    hold_if_due(d, thread, &call, (admitted.bytes(), admitted.element()), admitted.is_dangerous());
    Receipt { thread: thread.clone(), seq, id, call, sender: client.clone(), repeated: false, claimed: None }
}
