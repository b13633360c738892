//! The rules by themselves: which case an item is, the text of a refusal, what is stored of refused bytes.

use std::sync::Arc;

use systole_core::pump::primitives;
use systole_core::rules::admit;
use systole_core::rules::classify::{of_item, of_message, with_allowed_elements};
use systole_core::rules::sent_files::{FindFile, FoundFile};
use systole_core::types::codes::Code;
use systole_core::types::composition::{Broadcast, Composition, ElementSchema, GatherRule, SchemaId};
use systole_core::types::flow::{Judge, JudgedContent, JudgedItem, PayloadKind, Refused, Verdict};
use systole_core::types::ids::Digest;
use systole_core::types::limits;
use systole_core::types::ports::{ArrivedDocument, Lease};
use systole_core::types::refusal::Refusal;
use systole_wire::{DocumentLimits, Payload, QName};

use crate::decide_stage::{DecideStage, composition, name, root};

fn case(element: &str, to: Option<&str>) -> Result<(PayloadKind, SchemaId), Refusal> {
    let all = composition();
    let agent = all.find_listener(&name("agent")).unwrap().clone();
    of_item(&all, &agent, &QName::new("urn:test", element), to)
}

#[test]
fn an_item_is_the_first_case_that_fits() {
    let all = composition();
    let agent = all.find_listener(&name("agent")).unwrap();
    let own = QName::new(&agent.own_namespace(), "agent");
    assert_eq!(of_item(&all, agent, &own, None), Ok((PayloadKind::Note, SchemaId(1))));
    assert_eq!(case("done", None), Ok((PayloadKind::Final, SchemaId(1))));
    assert_eq!(case("tool", None), Ok((PayloadKind::For(name("tool")), SchemaId(1))));
    assert_eq!(case("agent", None), Ok((PayloadKind::For(name("agent")), SchemaId(1))), "a peer of its own");
}

#[test]
fn an_answer_that_names_an_addressee_is_told_to_name_none() {
    let all = composition();
    let agent = all.find_listener(&name("agent")).unwrap();
    let done = QName::new("urn:test", "done");
    let refusal = of_item(&all, agent, &done, Some("tool")).unwrap_err();
    let told = with_allowed_elements(refusal, &all, agent, &done);
    assert_eq!(told.fix.unwrap(), "leave the addressee out: your answer goes to your caller");
}

#[test]
fn a_note_whose_tag_no_schema_declares_is_refused_with_what_to_send_instead() {
    let mut all = composition();
    let agent = all.listeners.get_mut(&name("agent")).unwrap();
    agent.note = None;
    let agent = agent.clone();
    let own = QName::new(&agent.own_namespace(), "agent");
    let refusal = of_item(&all, &agent, &own, None).unwrap_err();
    assert_eq!(refusal.code, Code::NoSuchElement);
    assert!(refusal.fix.unwrap().contains("a schema of your own that declares the tag"));
}

#[test]
fn each_element_of_a_listener_is_judged_by_a_schema_of_its_own() {
    let mut all = composition();
    let tool = all.listeners.get_mut(&name("tool")).unwrap();
    tool.accepts.push(ElementSchema { name: QName::new("urn:test", "other-tool"), schema: SchemaId(7) });
    tool.returns = vec![ElementSchema { name: QName::new("urn:test", "done"), schema: SchemaId(8) }];
    let tool = tool.clone();
    let agent = all.find_listener(&name("agent")).unwrap();
    let case = |sender, element| of_item(&all, sender, &QName::new("urn:test", element), None);
    assert_eq!(case(agent, "tool"), Ok((PayloadKind::For(name("tool")), SchemaId(1))));
    assert_eq!(case(agent, "other-tool"), Ok((PayloadKind::For(name("tool")), SchemaId(7))));
    assert_eq!(case(&tool, "done"), Ok((PayloadKind::Final, SchemaId(8))));
}

/// `organism.entry` gets messages without an addressee, even if others are open as well.
#[test]
fn a_message_without_an_addressee_goes_to_the_entry_if_the_entry_takes_it() {
    let mut all = composition();
    let tool = all.listeners[&name("tool")].accepts.clone();
    all.listeners.get_mut(&name("other")).unwrap().accepts.extend(tool);
    let element = QName::new("urn:test", "tool");
    let message = |all: &Composition, to| of_message(all, &name("operator"), &element, to).map(|(to, _)| to);
    assert_eq!(message(&all, None).unwrap_err().code, Code::Ambiguous);
    all.entry = Some(name("other"));
    assert_eq!(message(&all, None), Ok(name("other")));
    assert_eq!(
        message(&all, Some("tool")),
        Ok(name("tool")),
        "a sender that names a listener means that one"
    );
    all.entry = Some(name("quiet"));
    assert_eq!(message(&all, None).unwrap_err().code, Code::Ambiguous, "the entry does not take it");
    all.entry = Some(name("other"));
    all.listeners.get_mut(&name("other")).unwrap().entry = false;
    assert_eq!(message(&all, None), Ok(name("tool")), "a closed listener gets nothing from outside");
}

#[test]
fn a12_unknown_hidden_and_non_peer_addressees_get_the_same_words() {
    let unknown = case("tool", Some("ghost")).unwrap_err();
    assert_eq!(unknown.code, Code::NotAPeer);
    for to in ["quiet", "other", "core", "agent"] {
        assert_eq!(case("tool", Some(to)).unwrap_err(), unknown, "{to}");
    }
    let hidden = case("quiet", None).unwrap_err();
    let misspelt = case("tol", None).unwrap_err();
    assert_eq!((hidden.code, misspelt.code), (Code::NoSuchElement, Code::NoSuchElement));
    assert_eq!((hidden.message, hidden.expected), (misspelt.message, misspelt.expected));
}

/// The fix names a similar name, in the sender's namespace if the listener accepts it there.
#[test]
fn the_fix_for_a_misspelt_element_is_the_nearest_one_in_its_namespace() {
    let mut all = composition();
    let message = |all: &Composition, ns: &str, local: &str| {
        of_message(all, &name("operator"), &QName::new(ns, local), None).unwrap_err().fix
    };
    assert_eq!(message(&all, "urn:test", "tol").as_deref(), Some("write <tool xmlns=\"urn:test\">"));
    assert_eq!(message(&all, "urn:else", "tool").as_deref(), Some("write <tool xmlns=\"urn:test\">"));
    for (listener, ns) in [("tool", "urn:a"), ("agent", "urn:z")] {
        let other = ElementSchema { name: QName::new(ns, "tool"), schema: SchemaId(1) };
        all.listeners.get_mut(&name(listener)).unwrap().accepts.insert(0, other);
    }
    for ns in ["urn:a", "urn:test", "urn:z"] {
        let wanted = format!("write <tool xmlns=\"{ns}\">");
        assert_eq!(message(&all, ns, "tol"), Some(wanted));
    }
    let none = message(&all, "urn:test", "zzzzzz");
    assert_eq!(none.as_deref(), Some("one of the elements that the refusal lists"));
}

/// Admits nothing.
struct Stern;

impl Judge for Stern {
    fn judge_payload(&mut self, _: Digest, _: SchemaId, payload: Payload) -> Result<Verdict, Refused> {
        let refusal = Refusal::new(Code::Invalid, "no");
        Err(Refused { refusal, kept: Some(payload.bytes().clone()) })
    }
}

#[test]
fn of_a_refused_message_from_outside_an_excerpt_is_kept() {
    let text = "x".repeat(100_000);
    let document = format!("<tool xmlns=\"urn:test\">{text}</tool>");
    let message = admit::admit_message(
        &composition(),
        &name("operator"),
        document.as_bytes(),
        Some("tool"),
        None,
        (&mut Stern, &|_| FoundFile::Unknown),
    );
    let kept = message.payload.unwrap_err().kept.unwrap();
    assert_eq!(kept.len(), limits::EXCERPT_BYTES);
    assert!(document.as_bytes().starts_with(&kept));
}

#[test]
fn e20_a_message_refers_to_a_bounded_number_of_files_each_counted_once() {
    let make = |number: u8, bytes: usize| [b"%PDF-1.7\n".as_slice(), &vec![number; bytes]].concat();
    let small: Vec<Vec<u8>> = (0..33).map(|number| make(number, 9)).collect();
    let large: Vec<Vec<u8>> = (0..17).map(|number| make(number, 300_000)).collect();
    let find = |hash: Digest| {
        let found = small.iter().chain(&large).find(|file| Digest::hash_bytes(file) == hash);
        found.map_or(FoundFile::Unknown, |file| FoundFile::Sent(file.as_slice().into()))
    };
    let refer = |file: &Vec<u8>| {
        let (hash, bytes) = (Digest::hash_bytes(file), file.len());
        format!("<page sha256=\"{hash}\" type=\"application/pdf\" bytes=\"{bytes}\"/>")
    };
    let admit = |files: &[Vec<u8>], times: usize| {
        let inside = files.iter().map(refer).collect::<String>().repeat(times);
        let document = format!("<tool xmlns=\"urn:test\">{inside}</tool>");
        // Older configurations know no fields.
        let source = b"26:systole configuration v8\n".as_slice().into();
        let all = Composition { source, ..composition() };
        let (client, mut judge) = (name("operator"), Mild::default());
        let judge: (&mut dyn Judge, FindFile<'_>) = (&mut judge, &find);
        let message = admit::admit_message(&all, &client, document.as_bytes(), Some("tool"), None, judge);
        message.payload.unwrap().files().map(<[_]>::len).map_err(Clone::clone)
    };
    assert_eq!(admit(&small[..32], 4), Ok(32));
    assert_eq!(admit(&large[..16], 1), Ok(16));
    for (files, code, words) in [
        (&small[..], Code::TooLarge, "a message refers to at most 32 files"),
        (&large[..], Code::UnfitFile, "together at most 8388608 bytes, each counted in parts of 262144"),
    ] {
        let refusal = admit(files, 1).unwrap_err();
        assert_eq!((refusal.code, refusal.element.as_deref()), (code, Some("page")), "{refusal:?}");
        assert!(refusal.message.contains(words) && refusal.fix.is_some(), "{refusal:?}");
    }
}

/// Admits everything, and notes the schema.
#[derive(Default)]
struct Mild(Vec<SchemaId>);

impl Judge for Mild {
    fn judge_payload(&mut self, _: Digest, schema: SchemaId, payload: Payload) -> Result<Verdict, Refused> {
        self.0.push(schema);
        Ok(Verdict::from_valid(payload))
    }
}

/// An organism in which agent may address zoe, tool and other, which all accept `question`, in this order of
/// the file. Guarded accepts it as well. Each has its own schema.
fn asking(gather: GatherRule) -> Composition {
    let mut all = composition();
    let question = QName::new("urn:test", "question");
    let takers = ["zoe", "tool", "other", "guarded"].map(name);
    for (number, taker) in takers.iter().enumerate() {
        let mut listener = crate::decide_stage::listener(taker.as_str(), &[], 1, &["done"]);
        listener.accepts.push(ElementSchema { name: question.clone(), schema: SchemaId(10 + number) });
        all.listeners.insert(taker.clone(), listener);
    }
    let agent = all.listeners.get_mut(&name("agent")).unwrap();
    agent.peers = ["other", "tool", "zoe"].map(name).to_vec();
    all.broadcasts = vec![Broadcast { element: question, gather, takers: takers.to_vec() }];
    all
}

/// Agent's one item, as the door of that organism judges it, and the schemas that were used.
fn item(all: &Composition, item: &str) -> (JudgedItem, Vec<SchemaId>) {
    let mut judge = Mild::default();
    let item = item_by(all, item, &mut judge);
    (item, judge.0)
}

fn item_by(all: &Composition, item: &str, judge: &mut dyn Judge) -> JudgedItem {
    let document = format!("<reply xmlns=\"urn:systole:listener:v1\" delivery=\"d\">{item}</reply>");
    let speech = ArrivedDocument::Bytes(document.into_bytes());
    let word = speech.read_document(&DocumentLimits::default()).unwrap();
    let lease = DecideStage::new().lease(&root(), "1", 1, 1);
    let lease = Arc::new(Lease { listener: name("agent"), ..Lease::clone(&lease) });
    let judged = admit::judge_word(all, lease, word, &speech, primitives::find_reading, judge);
    let JudgedContent::Items(items) = judged.said else { panic!("items") };
    items.into_iter().next().unwrap()
}

const QUESTION: &str = "<question xmlns=\"urn:test\"/>";

fn wrap_with_meta(meta: &str) -> String {
    let envelope = "https://xml-pipeline.org/ns/envelope/v1";
    format!("<message xmlns=\"{envelope}\"><meta>{meta}</meta>{QUESTION}</message>")
}

fn what(item: &JudgedItem) -> &PayloadKind {
    match item {
        JudgedItem::Admitted(admitted) => admitted.what(),
        other => panic!("not admitted: {other:?}"),
    }
}

fn refusal(item: &JudgedItem) -> Code {
    match item {
        JudgedItem::Refused(refused) => refused.refusal.code,
        JudgedItem::ForThread { judged, .. } => judged.as_ref().as_ref().unwrap_err().refusal.code,
        JudgedItem::Admitted(admitted) => panic!("admitted: {admitted:?}"),
    }
}

#[test]
fn b13_an_item_without_an_addressee_goes_to_every_peer_that_takes_it_in_order_of_the_file() {
    for gather in [GatherRule::All, GatherRule::First] {
        let (each, schemas) = item(&asking(gather), QUESTION);
        let takers = ["zoe", "tool", "other"].map(|taker| (name(taker), false)).to_vec();
        assert_eq!(*what(&each), PayloadKind::ForEach { gather, takers });
        assert_eq!(schemas, [10, 11, 12].map(SchemaId), "each by the schema of its taker");
    }
}

#[test]
fn b13_an_item_with_an_addressee_and_one_that_one_peer_takes_are_plain_calls() {
    let mut all = asking(GatherRule::All);
    let (one, schemas) = item(&all, &wrap_with_meta("<to>tool</to>"));
    assert_eq!((what(&one), schemas), (&PayloadKind::For(name("tool")), vec![SchemaId(11)]));
    let agent = all.listeners.get_mut(&name("agent")).unwrap();
    agent.peers = vec![name("other")];
    assert_eq!(*what(&item(&all, QUESTION).0), PayloadKind::For(name("other")));
}

#[test]
fn b13_messages_to_threads_spawns_and_messages_from_outside_are_never_broadcast() {
    let all = asking(GatherRule::All);
    let (other_thread, _) = item(&all, &wrap_with_meta("<thread>sess-1f0c9a2b77d1.x</thread>"));
    assert_eq!(refusal(&other_thread), Code::Ambiguous);
    let core = "https://xml-pipeline.org/ns/core/v1";
    let spawn = format!(
        "<spawn-thread xmlns=\"{core}\"><initial-payload>{QUESTION}</initial-payload></spawn-thread>"
    );
    assert_eq!(refusal(&item(&all, &spawn).0), Code::Ambiguous);
    let (client, mut judge) = (name("operator"), Mild::default());
    let message = admit::admit_message(
        &all,
        &client,
        QUESTION.as_bytes(),
        None,
        None,
        (&mut judge, &|_| FoundFile::Unknown),
    );
    assert_eq!(message.payload.unwrap_err().refusal.code, Code::Ambiguous);
}

#[test]
fn b13_an_element_that_is_no_broadcast_stays_ambiguous() {
    let all = Composition { broadcasts: Vec::new(), ..asking(GatherRule::All) };
    assert_eq!(refusal(&item(&all, QUESTION).0), Code::Ambiguous);
}

/// Refuses everything of one schema.
struct Picky(SchemaId);

impl Judge for Picky {
    fn judge_payload(
        &mut self,
        config: Digest,
        schema: SchemaId,
        payload: Payload,
    ) -> Result<Verdict, Refused> {
        if schema == self.0 {
            Stern.judge_payload(config, schema, payload)
        } else {
            Ok(Verdict::from_valid(payload))
        }
    }
}

#[test]
fn b13_what_one_taker_does_not_take_goes_to_none() {
    let refused = item_by(&asking(GatherRule::First), QUESTION, &mut Picky(SchemaId(12)));
    assert_eq!(refusal(&refused), Code::Invalid);
}
