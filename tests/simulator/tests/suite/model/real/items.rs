//! The draws of a walk, as the door would read them from documents: items of replies, and journal
//! entries.

use systole_core::types::codes::Code;
use systole_core::types::composition::Gather;
use systole_core::types::flow::{Admitted, Found, Item, Refused, Said, Verdict, What};
use systole_core::types::ids::Name;
use systole_core::types::refusal::Refusal;
use systole_kit::journal::{Entry, Outcome, Started};
use systole_kit::money::{Currency, Money};
use systole_kit::namespaces::CORE;
use systole_kit::{Limits, Payload};

use super::super::naive::{Amount, Enough, Party, Thrown, Written};

pub(super) fn payload(local: &str, number: u64) -> Payload {
    let document = format!("<{local} xmlns=\"urn:walked\" n=\"{number}\"/>");
    Payload::read(document.as_bytes(), &Limits::default()).unwrap()
}

/// A payload of the core, as the door admits it.
fn primitive(document: &str) -> Item {
    let payload = Payload::read(document.as_bytes(), &Limits::default()).unwrap();
    Item::Admitted(Admitted::new(What::Primitive(Found::Nothing), Verdict::sworn(payload)))
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
fn question() -> Item {
    let inside = "<question>Go?</question><choice>go</choice></ask-person>";
    let document = format!("<ask-person xmlns=\"{CORE}\" expires=\"1m\">{inside}");
    primitive(&document)
}

pub(super) fn item(thrown: &Thrown) -> Item {
    let admitted = |what, payload| Item::Admitted(Admitted::new(what, Verdict::sworn(payload)));
    match thrown {
        Thrown::Note => admitted(What::Note, payload("thought", 0)),
        Thrown::Final(number) => admitted(What::Final, payload("done", *number)),
        Thrown::Call(party, number) => {
            admitted(What::For(Name::parse(party.name).unwrap()), payload(party.name, *number))
        }
        Thrown::Spawn(label, party, number) => {
            let initial = payload(party.name, *number).bytes().clone();
            let to = Name::parse(party.name).unwrap();
            let found = Found::Child { label: label.map(str::to_owned), to, initial };
            let core = b"<spawn-thread xmlns=\"https://xml-pipeline.org/ns/core/v1\"/>";
            admitted(What::Primitive(found), Payload::read(core, &Limits::default()).unwrap())
        }
        Thrown::Refused => {
            Item::Refused(Refused { refusal: Refusal::new(Code::Invalid, "wrong"), kept: None })
        }
        Thrown::ForThread(thread) => {
            let refusal = Refusal::new(Code::NotAPeer, "no listener takes news");
            let judged = Box::new(Err(Refused { refusal, kept: None }));
            Item::ForThread { thread: thread.clone(), payload: payload("news", 0).bytes().clone(), judged }
        }
        Thrown::Steers(thread, to, number) => {
            let word = payload(to.name, *number);
            let (thread, bytes) = (thread.clone(), word.bytes().clone());
            let judged = Admitted::new(What::For(Name::parse(to.name).unwrap()), Verdict::sworn(word));
            Item::ForThread { thread, payload: bytes, judged: Box::new(Ok(judged)) }
        }
        Thrown::Cast(takers, is_first_enough, number) => {
            let gather = if *is_first_enough { Gather::First } else { Gather::All };
            let verdict =
                |to: &Party| (Name::parse(to.name).unwrap(), Verdict::sworn(payload("cast", *number)));
            Item::Admitted(Admitted::for_each(gather, takers.iter().map(verdict).collect()).unwrap())
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
pub(super) fn entry(id: u64, written: &Written) -> Said {
    let entry = match written {
        Written::Starts { tokens, money: most } => Entry::Started(Started {
            model: "m".to_owned(),
            prompt: "a".repeat(64),
            reserve_tokens: *tokens,
            reserve_money: most.as_ref().map(money),
        }),
        Written::Ends { of, tokens, money: cost } => Entry::Result(Outcome {
            of: *of,
            stop: "end".to_owned(),
            tokens_in: tokens.map(|(read, _)| read),
            tokens_out: tokens.map(|(_, wrote)| wrote),
            money: cost.as_ref().map(money),
            text: "so".to_owned(),
            blobs: Vec::new(),
        }),
    };
    Said::Journal { id, entry: Ok(entry) }
}
