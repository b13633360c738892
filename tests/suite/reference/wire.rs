//! The tables of the page of elements that no schema declares: the stamp, the answers of a delivery, the listener
//! protocol and the annotations. Every value that the kit can write is written, with the fewest parts and with all;
//! each attribute that it reads is omitted once. An entry on only one side fails the test.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use systole_kit::answers::{self, Answers};
use systole_kit::ask::{
    BytePage, ByteSource, MessageSpot, ModelWords, PumpQuestion, StoredBlob, ViewEntry, ViewedMessage,
    ViewedPage,
};
use systole_kit::envelope::{EnvelopeAddress, EnvelopeStamp, write_envelope};
use systole_kit::journal::{
    EarlierEntries, EarlierEntry, JournalEntry, ModelCallOutcome, ModelStarted, OutcomeDetails,
    RepeatedRequest,
};
use systole_kit::money::Money;
use systole_kit::namespaces::{CORE, LISTENER, SCHEMA, STAMP};
use systole_kit::pump_documents::{PumpAnswer, ReplyReceipt, write_cancel};
use systole_kit::reply::{AnswerPart, Item, ListenerDocument, ReplyContent};
use systole_kit::schema::SchemaModel;
use systole_kit::{DocumentLimits, Payload};

use super::page::{SchemaNode, attributes, table, unquoted};

type Told = BTreeMap<String, BTreeMap<String, bool>>;

/// What the kit does not say of an element: element | its attributes with their types | what it holds | from | what it
/// is. A line `# NAME` begins a table.
const ROWS: &str = include_str!("wire.txt");

/// A table of the page, if it is one of what no schema declares.
pub(super) fn elements(part: &str) -> Option<String> {
    let told = match part {
        "delivery" => answers_of_a_delivery(),
        "stamp" => stamps(),
        "listener" => protocol(),
        _ => return None,
    };
    let (_, rows) = ROWS.split_once(&format!("# {part}\n")).unwrap();
    let rows: Vec<&str> = rows.lines().take_while(|line| !line.starts_with("# ")).collect();
    let known: BTreeSet<&str> = rows.iter().filter_map(|row| row.split(" | ").next()).collect();
    assert_eq!(known, told.keys().map(String::as_str).collect(), "the elements of {part} in wire.txt");
    Some(super::schemas::HEAD.to_owned() + &rows.iter().map(|row| line(row, &told)).collect::<String>())
}

fn line(row: &str, told: &Told) -> String {
    let [element, types, holds, from, what] = row.split(" | ").collect::<Vec<_>>()[..] else {
        panic!("not five columns: {row}")
    };
    let types: Vec<(&str, &str)> = types.split("; ").filter_map(|one| one.split_once(": ")).collect();
    let attributes = &told[element];
    let named: BTreeSet<&str> = types.iter().map(|(name, _)| *name).collect();
    assert_eq!(
        named,
        attributes.keys().map(String::as_str).collect(),
        "the attributes of {element} in wire.txt"
    );
    let mark = |name: &str| if attributes[name] { "" } else { "?" };
    let types: Vec<String> = types.iter().map(|(name, of)| format!("`{name}`{}: {of}", mark(name))).collect();
    let attributes = if types.is_empty() { String::new() } else { format!("{} ", types.join("; ")) };
    format!("| `{element}` | {attributes}| {holds} | {from} | {what} |\n")
}

/// Every element of a namespace in the documents: its attributes, and whether each is always there.
fn written(ns: &str, documents: &[Vec<u8>]) -> Told {
    let mut found = Vec::new();
    for document in documents {
        SchemaNode::read(std::str::from_utf8(document).unwrap()).within(ns, "", &mut found);
    }
    let mut told = Told::new();
    for (path, _) in &found {
        let of = || found.iter().filter(|(other, _)| other == path).map(|(_, names)| names);
        let names: BTreeSet<&String> = of().flatten().collect();
        let always = |name: &String| of().all(|names| names.contains(name));
        told.insert(path.clone(), names.into_iter().map(|name| (name.clone(), always(name))).collect());
    }
    told
}

fn payload() -> Payload {
    Payload::write("urn:p", "p", |inside| inside.text("words"))
}

fn text(words: &str) -> String {
    words.to_owned()
}

fn entries(whole: bool) -> [JournalEntry; 2] {
    let money = Money::parse("0.02 USD").filter(|_| whole);
    let tokens = Some(7).filter(|_| whole);
    let prompt = "ab".repeat(32);
    [
        JournalEntry::Started(ModelStarted {
            model: text("m"),
            prompt,
            guided: whole.then(|| text("schema")),
            reserve_tokens: tokens,
            reserve_money: money,
            wait_ms: tokens,
        }),
        JournalEntry::Result(ModelCallOutcome {
            of: 1,
            stop: text("end"),
            tokens_in: tokens,
            tokens_out: tokens,
            money,
            text: text("words"),
            blobs: whole.then(|| "0".repeat(64)).into_iter().collect(),
            details: Box::new(OutcomeDetails {
                cached: tokens,
                cache_write: tokens,
                reasoning: tokens,
                served: whole.then(|| text("s")),
                fingerprint: whole.then(|| text("f")),
                request: whole.then(|| text("r")),
                again: whole.then_some(RepeatedRequest { pause_ms: 7, number: 2, most: 3 }),
            }),
        }),
    ]
}

fn questions(whole: bool) -> Vec<PumpQuestion> {
    let (from, element) = (u64::from(whole) * 3, Some(text("e")).filter(|_| whole));
    vec![
        PumpQuestion::View { from_seq: from, words: whole, items: !whole },
        PumpQuestion::Schema { name: text("l"), element, from },
        PumpQuestion::Blob { hash: "ab".repeat(32), from },
        PumpQuestion::Configuration { path: text("listeners.l"), from },
        PumpQuestion::PutBlob { bytes: b"words".to_vec() },
        PumpQuestion::PutBlob { bytes: vec![0, 255] },
        PumpQuestion::Journal { from },
    ]
}

/// Everything that a listener can send.
fn words() -> Vec<ListenerDocument> {
    let delivery = || text("d");
    let mut words = vec![
        ListenerDocument::Notice { delivery: delivery(), code: text("c"), words: text("w") },
        ListenerDocument::Progress { delivery: delivery(), part: None, words: text("w") },
        ListenerDocument::Progress { delivery: delivery(), part: Some(AnswerPart::Answer), words: text("w") },
    ];
    let item = Item::plain(payload());
    for said in [
        ReplyContent::Items(vec![item]),
        ReplyContent::Failure { code: text("c"), first_code: Some(text("f")), retry: true, words: text("w") },
        ReplyContent::Away { outage: text("o"), code: text("c"), retry: true, words: text("w") },
        ReplyContent::Again { code: text("c"), words: text("w") },
    ] {
        words.push(ListenerDocument::Reply { delivery: delivery(), said });
    }
    for whole in [false, true] {
        let entries = entries(whole).into_iter();
        words.extend(entries.map(|entry| ListenerDocument::Journal {
            delivery: delivery(),
            id: 1,
            entry: Ok(entry),
        }));
        let questions = questions(whole).into_iter();
        words.extend(questions.map(|asked| ListenerDocument::Ask {
            delivery: delivery(),
            id: 1,
            question: Ok(asked),
        }));
    }
    words
}

/// The place of a word on the page. A new word does not compile until it is listed here.
fn place(word: &ListenerDocument) -> String {
    match word {
        ListenerDocument::Reply { said: ReplyContent::Items(_), .. } => text("reply"),
        ListenerDocument::Reply {
            said: ReplyContent::Failure { .. } | ReplyContent::Away { .. }, ..
        } => text("reply/failure"),
        ListenerDocument::Reply { said: ReplyContent::Again { .. }, .. } => text("reply/again"),
        ListenerDocument::Notice { .. } => text("notice"),
        ListenerDocument::Progress { .. } => text("progress"),
        ListenerDocument::Journal { entry, .. } => {
            format!("journal kind=\"{}\"", entry.as_ref().unwrap().kind())
        }
        ListenerDocument::Ask { question, .. } => format!("ask/{}", question.as_ref().unwrap().name()),
    }
}

/// What the pump sends in the same protocol.
fn answered() -> Vec<Vec<u8>> {
    let mut payloads = Vec::new();
    for whole in [false, true] {
        let next = Some(9).filter(|_| whole);
        // Bytes that are not text are written in hex.
        let bytes = if whole { vec![0xff, 0x00] } else { b"words".to_vec() };
        let kept = BytePage { total: 9, next, bytes };
        payloads.push(kept.to_payload(ByteSource::Schema("l")));
        payloads.push(kept.to_payload(ByteSource::Blob("ab")));
        payloads.push(kept.to_payload(ByteSource::Configuration("listeners.l")));
        payloads.push(StoredBlob { hash: "ab".repeat(32), total: 9 }.to_payload());
        let recalled = |entry| EarlierEntry { attempt: 1, id: 1, entry };
        payloads.push(EarlierEntries { entries: entries(whole).map(recalled).to_vec(), next }.to_payload());
        let spots = [
            MessageSpot::Request,
            MessageSpot::Said { turn: 1, ordinal: 0 },
            MessageSpot::Answer { turn: 1, ordinal: 0 },
            MessageSpot::Inbox { turn: 1 },
            MessageSpot::Thread { turn: Some(1).filter(|_| whole) },
        ];
        let shown = |spot| {
            let to = matches!(spot, MessageSpot::Thread { .. }).then(|| text("m"));
            ViewEntry::Message(ViewedMessage { seq: 1, from: text("l"), to, spot, payload: payload() })
        };
        let tokens = Some(7).filter(|_| whole);
        let (stop, words) = (text("end"), text("words"));
        let words = ModelWords { turn: 1, stop, tokens_in: tokens, tokens_out: tokens, text: words };
        let shown = spots.map(shown).into_iter().chain([ViewEntry::Words(words)]).collect();
        let (mark, began) = (text("00000aff"), text("2026-11-20"));
        payloads.push(ViewedPage { count: 4, next, mark, began, shown }.to_payload());
    }
    let answer = |payload| PumpAnswer { delivery: text("d"), id: 1, payload }.to_document();
    let mut documents: Vec<Vec<u8>> = payloads.into_iter().map(|payload| answer(Some(payload))).collect();
    let receipt = ReplyReceipt { delivery: text("d"), ..ReplyReceipt::default() };
    let error = Payload::write(CORE, "system-error", |inside| inside.text("no"));
    let items = ReplyReceipt { is_superseded: true, refused: vec![(0, error)], ..receipt.clone() };
    documents.extend([answer(None), receipt.to_document(), items.to_document(), write_cancel("d")]);
    documents
}

/// Every element of the protocol, with its attributes.
fn protocol() -> Told {
    let mut documents: Vec<Vec<u8>> = words().iter().map(|word| word.to_document().unwrap()).collect();
    documents.extend(answered());
    let mut written = written(LISTENER, &documents);
    // The kit always writes these; a listener need not, as the test below checks.
    for (element, attribute) in [("reply/failure", "retry"), ("ask/view", "from-seq")] {
        written.get_mut(element).unwrap().insert(text(attribute), false);
    }
    written
}

#[test]
fn what_the_page_says_a_listener_may_leave_out_it_may_leave_out() {
    let page = attributes("## listener");
    let mut tried = 0;
    for word in words() {
        let (document, place) = (String::from_utf8(word.to_document().unwrap()).unwrap(), place(&word));
        let root = place.split_once('/').map_or(place.as_str(), |(root, _)| root);
        for path in BTreeSet::from([root, &place]) {
            for (name, needed) in &page[path] {
                let Some(less) = without(&document, path, name) else { continue };
                let read = ListenerDocument::parse(less.as_bytes(), &DocumentLimits::default());
                assert_eq!(is_refused(&read), *needed, "{path} without {name}: {read:?}");
                tried += 1;
            }
        }
    }
    assert!(tried > 50, "only {tried} attributes were left out");
}

/// The document without an attribute of the innermost element that a path names.
fn without(document: &str, path: &str, name: &str) -> Option<String> {
    let element = path.rsplit('/').next()?.split(' ').next()?;
    // The outer of two elements with the same name is the document itself.
    let tag = format!("<{element}");
    let start = if path.contains('/') { document.rfind(&tag) } else { document.find(&tag) }?;
    let end = start + document[start..].find('>')?;
    let from = start + document[start..end].find(&format!(" {name}=\""))?;
    let value = from + name.len() + 3;
    let to = value + document[value..].find('"')? + 1;
    Some([&document[..from], &document[to..]].concat())
}

fn is_refused(read: &Result<ListenerDocument, systole_kit::Fault>) -> bool {
    match read {
        Err(_) => true,
        Ok(ListenerDocument::Reply { said: ReplyContent::Items(items), .. }) => {
            items.iter().any(|item| item.payload.is_err())
        }
        Ok(ListenerDocument::Journal { entry, .. }) => entry.is_err(),
        Ok(ListenerDocument::Ask { question, .. }) => question.is_err(),
        Ok(_) => false,
    }
}

fn stamp(whole: bool) -> EnvelopeStamp {
    let some = || Some(text("s")).filter(|_| whole);
    EnvelopeStamp {
        id: some(),
        seq: Some(1).filter(|_| whole),
        at: some(),
        call: text("1"),
        turn: 1,
        cause: some(),
        delivery: text("d"),
        attempt: 1,
        key: text("k"),
        deadline: some(),
        sha256: some(),
        journal: Some(1).filter(|_| whole),
        request: Some(1).filter(|_| whole),
    }
}

fn stamps() -> Told {
    let documents = [false, true].map(|whole| {
        let address = EnvelopeAddress { from: Some("a"), to: None, thread: Some("sys") };
        write_envelope(&address, Some(&stamp(whole)), &payload())
    });
    written(STAMP, &documents)
}

#[test]
fn the_page_of_elements_explains_each_attribute_of_the_stamp() {
    let rows = table("## stamp").into_iter().filter(|row| row.len() == 2);
    let explained: BTreeSet<String> = rows
        .flat_map(|row| row[0].split(", ").map(|name| unquoted(name).to_owned()).collect::<Vec<_>>())
        .collect();
    assert_eq!(explained, stamps()["stamp"].keys().cloned().collect());
}

fn answers_of_a_delivery() -> Told {
    let documents = [false, true].map(|whole| {
        let answer = answers::Answer {
            ordinal: 0,
            from: Some(text("a")).filter(|_| whole),
            seq: Some(1).filter(|_| whole),
            payload: Some(payload()).filter(|_| whole),
        };
        let wrap_up = Some(text("budget.time")).filter(|_| whole);
        let answers = Answers { turn: 2, wrap_up, items: vec![answer], inbox: vec![payload()] };
        answers::write_answers(&answers).bytes().to_vec()
    });
    written(CORE, &documents)
}

/// The names that the kit reads, from the sources of the wire: only this test finds a name that is read and never
/// written.
#[test]
fn no_attribute_is_read_from_the_wire_that_the_page_does_not_have() {
    const READERS: [&str; 3] = ["attribute(", "gate, ", "tag, "];
    let sections = ["## stamp", "## listener", "### Of a delivery"].map(attributes);
    let known: BTreeSet<&str> =
        sections.iter().flat_map(BTreeMap::values).flat_map(BTreeMap::keys).map(String::as_str).collect();
    let rooms = [
        "answers",
        "ask",
        "ask/stored_bytes",
        "ask/view_answer",
        "envelope/stamp",
        "journal",
        "journal/past",
        "pump_documents",
    ];
    let mut read = BTreeSet::new();
    for room in rooms.into_iter().chain(["reply", "reply/answered_documents", "reply/items"]) {
        let source = fs::read_to_string(format!("crates/wire/src/{room}.rs")).unwrap();
        for reader in READERS {
            let before = format!("{reader}\"");
            let names = source.split(&before).skip(1);
            read.extend(names.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())));
        }
    }
    assert!(read.len() > 20, "only {read:?} were found");
    let unknown: Vec<&String> = read.iter().filter(|name| !known.contains(name.as_str())).collect();
    assert!(unknown.is_empty(), "read, and not on the page: {unknown:?}");
}

#[test]
fn the_page_of_elements_has_every_annotation_of_a_schema() {
    let page: BTreeSet<String> = table("## schema").iter().map(|row| unquoted(&row[0]).to_owned()).collect();
    let source = fs::read_to_string("crates/schema/src/read/mod.rs").unwrap();
    let (_, known) = source.split_once("const ANNOTATIONS: ").unwrap();
    let (_, known) = known.split_once("[\"").unwrap();
    let known = known.split(']').next().unwrap().split(", ").map(|name| name.trim_matches('"').to_owned());
    assert_eq!(page, known.collect());
    // They are accepted at their places; elsewhere two are refused, as the page says, and so is another name.
    let read = |global: &str, part: &str| {
        let xsd = format!(
            r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:s="{SCHEMA}" targetNamespace="urn:a"
                 elementFormDefault="qualified"><xs:element name="a"{global}><xs:complexType><xs:sequence>
                 <xs:element name="b" type="xs:string" minOccurs="0"{part}/></xs:sequence></xs:complexType></xs:element>
               </xs:schema>"#
        );
        SchemaModel::from_xsd(xsd.as_bytes())
    };
    let both = read(" s:dangerous='true' s:sensitive='true'", " s:default='x' s:sensitive='true'");
    assert!(both.is_ok_and(|model| model.is_dangerous("a")));
    assert!(read(" s:together='change-set'", "").is_ok_and(|model| model.is_together("a")));
    for (global, part) in [
        ("", " s:dangerous='true'"),
        (" s:default='x'", ""),
        ("", " s:sensitiv='true'"),
        ("", " s:together='change-set'"),
        (" s:together='x'", ""),
    ] {
        assert!(read(global, part).is_err(), "{global}{part} was taken");
    }
}
