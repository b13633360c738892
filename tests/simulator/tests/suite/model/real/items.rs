//! The draws of a walk, as the door would read them from documents: items of replies, and journal
//! entries.

use systole_core::types::codes::Code;
use systole_core::types::composition::GatherRule;
use systole_core::types::flow::{
    Admitted, FoundAnswer, JudgedContent, JudgedItem, PayloadKind, Refused, Verdict,
};
use systole_core::types::ids::Name;
use systole_core::types::refusal::Refusal;
use systole_kit::journal::{JournalEntry, ModelCallOutcome, ModelStarted};
use systole_kit::money::{Currency, Money};
use systole_kit::namespaces::CORE;
use systole_kit::{DocumentLimits, Payload};

use super::super::naive::{Amount, Enough, Party, Thrown, Written};

pub(super) fn payload(local: &str, number: u64) -> Payload {
    let document = format!("<{local} xmlns=\"urn:walked\" n=\"{number}\"/>");
    Payload::parse(document.as_bytes(), &DocumentLimits::default()).unwrap()
}

/// A payload of the core, as the door admits it.
fn primitive(document: &str) -> JudgedItem {
    let payload = Payload::parse(document.as_bytes(), &DocumentLimits::default()).unwrap();
    JudgedItem::Admitted(Admitted::new(
        PayloadKind::Primitive(FoundAnswer::Nothing),
        Verdict::from_valid(payload),
    ))
}

fn await_threads(enough: Enough, named: &[String]) -> String {
    let mode = match enough {
        Enough::All => "all".to_owned(),
        Enough::Any => "any".to_owned(),
        Enough::Count(count) => count.to_string(),
    };
    let named: String = named.iter().map(|id| format!("<thread id=\"{id}\"/>")).collect();
    format!("<await-threads xmlns=\"{CORE}\" mode=\"{mode}\">{named}</await-threads>")
}

/// A question to a person, with one choice.
fn question() -> JudgedItem {
    let inside = "<question>Go?</question><choice>go</choice></ask-person>";
    let document = format!("<ask-person xmlns=\"{CORE}\" expires=\"1m\">{inside}");
    primitive(&document)
}

pub(super) fn item(thrown: &Thrown) -> JudgedItem {
    let admitted = |what, payload| JudgedItem::Admitted(Admitted::new(what, Verdict::from_valid(payload)));
    match thrown {
        Thrown::Note => admitted(PayloadKind::Note, payload("thought", 0)),
        Thrown::Final(number) => admitted(PayloadKind::Final, payload("done", *number)),
        Thrown::Call(party, number) => {
            admitted(PayloadKind::For(Name::parse(party.name).unwrap()), payload(party.name, *number))
        }
        Thrown::Spawn(label, party, number) => {
            let initial = payload(party.name, *number).bytes().clone();
            let to = Name::parse(party.name).unwrap();
            let found = FoundAnswer::Child { label: label.map(str::to_owned), to, initial };
            let core = b"<spawn-thread xmlns=\"https://xml-pipeline.org/ns/core/v1\"/>";
            admitted(PayloadKind::Primitive(found), Payload::parse(core, &DocumentLimits::default()).unwrap())
        }
        Thrown::Refused => {
            JudgedItem::Refused(Refused { refusal: Refusal::new(Code::Invalid, "wrong"), kept: None })
        }
        Thrown::ForThread(thread) => {
            let refusal = Refusal::new(Code::NotAPeer, "no listener takes news");
            let judged = Box::new(Err(Refused { refusal, kept: None }));
            JudgedItem::ForThread {
                thread: thread.clone(),
                payload: payload("news", 0).bytes().clone(),
                judged,
            }
        }
        Thrown::Steers(thread, to, number) => {
            let word = payload(to.name, *number);
            let (thread, bytes) = (thread.clone(), word.bytes().clone());
            let judged =
                Admitted::new(PayloadKind::For(Name::parse(to.name).unwrap()), Verdict::from_valid(word));
            JudgedItem::ForThread { thread, payload: bytes, judged: Box::new(Ok(judged)) }
        }
        Thrown::Cast(takers, is_first_enough, number) => {
            let gather = if *is_first_enough { GatherRule::First } else { GatherRule::All };
            let verdict =
                |to: &Party| (Name::parse(to.name).unwrap(), Verdict::from_valid(payload("cast", *number)));
            JudgedItem::Admitted(Admitted::for_each(gather, takers.iter().map(verdict).collect()).unwrap())
        }
        Thrown::Wait(enough, named) => primitive(&await_threads(*enough, named)),
        Thrown::Todo(condition, is_done) => {
            let list = format!("condition=\"c{condition}\"><step done=\"{is_done}\">x</step></todo-until>");
            primitive(&format!("<todo-until xmlns=\"{CORE}\" {list}"))
        }
        Thrown::Sets(id, repeats) => {
            let written = if *repeats { "every=\"1m\"" } else { "after=\"1m\"" };
            let named = id.map_or(String::new(), |id| format!(" id=\"{id}\""));
            let document = format!("<set-timer xmlns=\"{CORE}\"{named} {written}>look</set-timer>");
            primitive(&document)
        }
        Thrown::Person => question(),
        Thrown::Unsets(id) => {
            let document = format!("<cancel-timer xmlns=\"{CORE}\" id=\"{id}\"/>");
            primitive(&document)
        }
        Thrown::Ends(thread) => primitive(&format!("<cancel-thread xmlns=\"{CORE}\" id=\"{thread}\"/>")),
    }
}

fn money(amount: &Amount) -> Money {
    Money { micros: amount.0, currency: Currency::parse(amount.1).unwrap() }
}

/// An entry of a journal.
pub(super) fn entry(id: u64, written: &Written) -> JudgedContent {
    let entry = match written {
        Written::Starts { tokens, money: most } => JournalEntry::Started(ModelStarted {
            model: "m".to_owned(),
            prompt: "a".repeat(64),
            guided: None,
            reserve_tokens: *tokens,
            reserve_money: most.as_ref().map(money),
            wait_ms: None,
        }),
        Written::Ends { of, tokens, money: cost } => JournalEntry::Result(ModelCallOutcome {
            of: *of,
            stop: "end".to_owned(),
            tokens_in: tokens.map(|(read, _)| read),
            tokens_out: tokens.map(|(_, wrote)| wrote),
            money: cost.as_ref().map(money),
            text: "so".to_owned(),
            blobs: Vec::new(),
            details: Box::default(),
        }),
    };
    JudgedContent::Journal { id, entry: Ok(entry) }
}
