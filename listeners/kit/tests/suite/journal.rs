//! Journal entries, questions and their answers: read, refused with the number that waits, written and read back.

use std::future::Future;
use std::pin::pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use proptest::prelude::*;
use systole_kit::ask::PumpQuestion;
use systole_kit::journal::{
    EarlierEntries, EarlierEntry, EntryLabel, JournalEntry, ModelCallOutcome, ModelStarted, OutcomeDetails,
    PriorCall, RepeatedRequest,
};
use systole_kit::line::{Line, LineRequest, NotTaken, PendingAnswer, Remark};
use systole_kit::money::Money;
use systole_kit::pump_documents::{PumpAnswer, PumpDocument, ReplyReceipt, write_cancel};
use systole_kit::reply::ListenerDocument;
use systole_kit::{DocumentLimits, Fault, Payload, codes};

const NS: &str = "xmlns='urn:systole:listener:v1'";
const PROMPT: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

fn started() -> ModelStarted {
    ModelStarted {
        model: "some-model".into(),
        prompt: PROMPT.into(),
        guided: Some("schema".to_owned()),
        reserve_tokens: Some(1_200),
        reserve_money: Money::parse("0.0134 USD"),
        wait_ms: None,
    }
}

fn outcome(of: u64, text: &str) -> ModelCallOutcome {
    let (stop, text) = ("end".into(), text.into());
    ModelCallOutcome {
        of,
        stop,
        tokens_in: Some(900),
        tokens_out: Some(7),
        money: Money::parse("0.002 USD"),
        text,
        blobs: Vec::new(),
        details: Box::default(),
    }
}

fn read(document: &str) -> ListenerDocument {
    ListenerDocument::parse(document.as_bytes(), &DocumentLimits::default()).expect(document)
}

#[test]
fn a_start_is_read_whole() {
    let document = format!(
        "<journal {NS} id='8' delivery='d' kind='model-started' model='some-model' prompt='{PROMPT}' \
         guided='schema' reserve-tokens='1200' reserve-money='0.0134 USD'/>"
    );
    let entry = Ok(JournalEntry::Started(started()));
    assert_eq!(read(&document), ListenerDocument::Journal { delivery: "d".into(), id: 8, entry });
    let strict = read(&document.replace("'schema'", "'strict'"));
    let entry = Ok(JournalEntry::Started(ModelStarted { guided: Some("strict".to_owned()), ..started() }));
    assert_eq!(strict, ListenerDocument::Journal { delivery: "d".into(), id: 8, entry });
    let bare =
        format!("<journal {NS} id='8' delivery='d' kind='model-started' model='m' prompt='{PROMPT}'/>");
    let ListenerDocument::Journal { entry: Ok(JournalEntry::Started(bare)), .. } = read(&bare) else {
        panic!("a start")
    };
    assert_eq!((bare.reserve_tokens, bare.reserve_money), (None, None));
}

#[test]
fn a_result_is_read_whole_with_the_words_of_the_model_as_they_came() {
    let document = format!(
        "<journal {NS} id='9' delivery='d' kind='model-result' of='8' stop='end' in='900' out='7' \
         money='0.002 USD'>&lt;thinking&gt;\n a &amp;&amp; b<![CDATA[ <x/> ]]></journal>"
    );
    let entry = Ok(JournalEntry::Result(outcome(8, "<thinking>\n a && b <x/> ")));
    assert_eq!(read(&document), ListenerDocument::Journal { delivery: "d".into(), id: 9, entry });
}

fn known_details() -> OutcomeDetails {
    OutcomeDetails {
        cached: Some(800),
        cache_write: Some(90),
        reasoning: Some(5),
        served: Some("some-model-2026".into()),
        fingerprint: Some("fp_1".into()),
        request: Some("req_1".into()),
        again: Some(RepeatedRequest { pause_ms: 8_000, number: 4, most: 10 }),
    }
}

#[test]
fn the_details_of_a_result_are_read_whole_and_none_is_required() {
    let attributes = "cached='800' cache-write='90' reasoning='5' served='some-model-2026' \
                      fingerprint='fp_1' request='req_1' pause='8000' next='4' most='10'";
    let document = format!(
        "<journal {NS} id='9' delivery='d' kind='model-result' of='8' stop='end' in='900' out='7' \
         money='0.002 USD' {attributes}>so</journal>"
    );
    let entry =
        JournalEntry::Result(ModelCallOutcome { details: Box::new(known_details()), ..outcome(8, "so") });
    let whole = ListenerDocument::Journal { delivery: "d".into(), id: 9, entry: Ok(entry.clone()) };
    assert_eq!(read(&document), whole);
    let label = EntryLabel { id: 9, delivery: Some("d"), attempt: None };
    assert_eq!(read(std::str::from_utf8(&entry.to_document(label)).expect("text")), whole);
}

#[test]
fn what_is_not_known_of_a_use_is_not_made_up() {
    let known =
        |tokens_in, tokens_out| ModelCallOutcome { tokens_in, tokens_out, ..outcome(8, "") }.count_tokens();
    assert_eq!([known(None, None), known(Some(3), None), known(Some(3), Some(4))], [None, Some(3), Some(7)]);
}

#[test]
fn every_question_is_read() {
    for (inside, question) in [
        ("<view from-seq='12'/>", PumpQuestion::View { from_seq: 12, words: false, items: true }),
        ("<view/>", PumpQuestion::View { from_seq: 0, words: false, items: true }),
        ("<view from-seq='2' words='1'/>", PumpQuestion::View { from_seq: 2, words: true, items: true }),
        ("<view words='false'/>", PumpQuestion::View { from_seq: 0, words: false, items: true }),
        ("<view items='false'/>", PumpQuestion::View { from_seq: 0, words: false, items: false }),
        ("<view items='1'/>", PumpQuestion::View { from_seq: 0, words: false, items: true }),
        (
            "<configuration path='listeners.a' from='3'/>",
            PumpQuestion::Configuration { path: "listeners.a".into(), from: 3 },
        ),
        ("<schema name='search'/>", PumpQuestion::Schema { name: "search".into(), element: None, from: 0 }),
        (
            "<schema name='search' element='find' from='9'/>",
            PumpQuestion::Schema { name: "search".into(), element: Some("find".into()), from: 9 },
        ),
        ("<blob hash='ab' from='7'/>", PumpQuestion::Blob { hash: "ab".into(), from: 7 }),
        ("<put-blob> a &lt; b\n</put-blob>", PumpQuestion::PutBlob { bytes: b" a < b\n".to_vec() }),
        ("<put-blob encoding='hex'>00fF1a</put-blob>", PumpQuestion::PutBlob { bytes: vec![0, 255, 26] }),
        ("<journal/>", PumpQuestion::Journal { from: 0 }),
        (" <journal from='64'/> ", PumpQuestion::Journal { from: 64 }),
    ] {
        let word = read(&format!("<ask {NS} id='7' delivery='d'>{inside}</ask>"));
        assert_eq!(
            word,
            ListenerDocument::Ask { delivery: "d".into(), id: 7, question: Ok(question) },
            "{inside}"
        );
    }
}

/// The number and the fault of a document that is refused.
fn refused(document: &str) -> (u64, Fault) {
    match read(document) {
        ListenerDocument::Journal { delivery, id, entry: Err(fault) } if delivery == "d" => (id, fault),
        ListenerDocument::Ask { delivery, id, question: Err(fault) } if delivery == "d" => (id, fault),
        other => panic!("taken: {other:?}"),
    }
}

#[test]
fn a_fault_comes_with_the_number_that_waits_for_an_answer() {
    let start =
        |more: &str| format!("<journal {NS} id='8' delivery='d' kind='model-started' {more}</journal>");
    let result =
        |more: &str| format!("<journal {NS} id='8' delivery='d' kind='model-result' {more}</journal>");
    let ask = |inside: &str| format!("<ask {NS} id='8' delivery='d'>{inside}</ask>");
    let good = format!("model='m' prompt='{PROMPT}'");
    for (document, message) in [
        (format!("<journal {NS} id='8' delivery='d'/>"), "<journal> has no attribute kind"),
        (format!("<journal {NS} id='8' delivery='d' kind='x'/>"), "there is no journal entry of this kind"),
        (start(&format!("prompt='{PROMPT}'>")), "<journal> has no attribute model"),
        (start("model='m' prompt='9f86'>"), "attribute prompt of <journal> is not a SHA-256"),
        (
            start(&format!("model='m' prompt='{}'>", PROMPT.to_uppercase())),
            "attribute prompt of <journal> is not a SHA-256",
        ),
        (
            start(&format!("{good} guided='grammar:1'>")),
            "attribute guided of <journal> names nothing that holds an answer",
        ),
        (
            start(&format!("{good} reserve-tokens='-1'>")),
            "attribute reserve-tokens of <journal> is not a whole number",
        ),
        (
            start(&format!("{good} reserve-tokens='+1'>")),
            "attribute reserve-tokens of <journal> is not a whole number",
        ),
        (
            start(&format!("{good} reserve-money='0.01'>")),
            "attribute reserve-money of <journal> is not an amount of money",
        ),
        (start(&format!("{good}>said")), "a start has no text: the model has not said anything yet"),
        (
            start(&format!("model='{}' prompt='{PROMPT}'>", "m".repeat(257))),
            "attribute model of <journal> has 257 bytes, the limit is 256",
        ),
        (result("stop='end'>"), "<journal> has no attribute of"),
        (result("of='8'>"), "<journal> has no attribute stop"),
        (result("of='x' stop='end'>"), "attribute of of <journal> is not a whole number"),
        (result("of='8' stop='end' in='many'>"), "attribute in of <journal> is not a whole number"),
        (result("of='8' stop='end'><b/>"), "<b> is where only text is allowed"),
        (result("of='8' stop='end'><?go?>"), "the document has a processing instruction"),
        (ask(""), "<ask> asks nothing"),
        (ask("<prompt/>"), "<prompt> is not a question to the pump"),
        (ask("<view xmlns='u'/>"), "<view> is not a question to the pump"),
        (ask("<journal/><journal/>"), "<ask> asks more than one question"),
        (ask("<journal>all</journal>"), "<journal> has text, and must have none"),
        (ask("<schema/>"), "<schema> has no attribute name"),
        (ask("<view from-seq='first'/>"), "attribute from-seq of <view> is not a whole number"),
        (ask("<put-blob encoding='hex'>0</put-blob>"), "<put-blob> does not hold pairs of hex digits"),
        (ask("<put-blob encoding='hex'>0g</put-blob>"), "<put-blob> does not hold pairs of hex digits"),
        (
            ask("<put-blob encoding='base64'>AA==</put-blob>"),
            "attribute encoding of <put-blob> names no encoding that is known",
        ),
        (ask("<view words='yes'/>"), "attribute words of <view> is neither true nor false"),
        (ask("stray"), "text is where only elements are allowed"),
    ] {
        let (id, fault) = refused(&document);
        assert_eq!((id, &*fault.message), (8, message), "{document}");
    }
}

#[test]
fn a_broken_document_is_refused_by_its_number_and_without_a_number_gets_no_answer() {
    for tail in ["<b>", "</journal>junk", "<x></y></journal>", "&nope;</journal>", "\0</journal>"] {
        let document =
            format!("<journal {NS} id='8' delivery='d' kind='model-result' of='1' stop='end'>{tail}");
        assert_eq!(refused(&document).0, 8, "{tail}");
    }
    assert_eq!(refused(&format!("<ask {NS} id='7' delivery='d'>")).0, 7);
    for document in [
        format!("<journal {NS} delivery='d' kind='model-started'/>"),
        format!("<journal {NS} delivery='d' id='x'><b>"),
        format!("<ask {NS} id='7'><journal/></ask>"),
    ] {
        ListenerDocument::parse(document.as_bytes(), &DocumentLimits::default()).expect_err(&document);
    }
}

#[test]
fn the_words_of_a_model_are_no_larger_than_a_message() {
    let limits = DocumentLimits { message_bytes: 4_000, ..DocumentLimits::default() };
    let document = |length| {
        let entry = Ok(JournalEntry::Result(outcome(8, &"x".repeat(length))));
        ListenerDocument::Journal { delivery: "d".into(), id: 9, entry }.to_document().expect("written")
    };
    let room = 4_000 - document(0).len();
    let read = |length| ListenerDocument::parse(&document(length), &limits).expect("it names its number");
    assert!(matches!(read(room), ListenerDocument::Journal { entry: Ok(_), .. }));
    let ListenerDocument::Journal { id: 9, entry: Err(fault), .. } = read(room + 1) else { panic!("taken") };
    assert_eq!(
        (fault.code, &*fault.message),
        (codes::TOO_LARGE, "the document has 4001 bytes, the limit is 4000")
    );
}

#[test]
fn what_the_pump_says_is_read_back() {
    let error =
        "<system-error xmlns='https://xml-pipeline.org/ns/core/v1' code='budget.tokens' message='all used'/>";
    let error = Payload::parse(error.as_bytes(), &DocumentLimits::default()).expect("a payload");
    let empty = PumpAnswer { delivery: "d".into(), id: 8, payload: None };
    assert_eq!(
        String::from_utf8(empty.to_document()).as_deref(),
        Ok(r#"<answer xmlns="urn:systole:listener:v1" id="8" delivery="d"/>"#)
    );
    let full = PumpAnswer { payload: Some(error), ..empty.clone() };
    for answer in [empty, full] {
        assert_eq!(PumpDocument::parse(&answer.to_document()), Ok(PumpDocument::Answer(answer)));
    }
    assert_eq!(
        PumpDocument::parse(&write_cancel("d<1")),
        Ok(PumpDocument::Cancel { delivery: "d<1".into() })
    );
    let error = Payload::write(systole_kit::namespaces::CORE, "system-error", |inside| inside.text("over"));
    for refusal in [None, Some(error)] {
        let refused = refusal.iter().map(|refusal| (3, refusal.clone())).collect();
        let whole = ReplyReceipt { delivery: "d<1".into(), refusal, ..ReplyReceipt::default() };
        let items = ReplyReceipt { refused, refusal: None, is_superseded: true, ..whole.clone() };
        for receipt in [whole, items] {
            assert_eq!(PumpDocument::parse(&receipt.to_document()), Ok(PumpDocument::Receipt(receipt)));
        }
    }
}

#[test]
fn g7_what_a_later_pump_says_besides_is_skipped() {
    let unknown = |name: &str| Ok(PumpDocument::Unknown { name: name.to_owned() });
    for (document, name) in [
        (format!("<hint {NS} delivery='d'><x/></hint>"), "{urn:systole:listener:v1}hint"),
        (
            "<message xmlns='https://xml-pipeline.org/ns/envelope/v2'/>".to_owned(),
            "{https://xml-pipeline.org/ns/envelope/v2}message",
        ),
        ("<x/>".to_owned(), "{}x"),
    ] {
        assert_eq!(PumpDocument::parse(document.as_bytes()), unknown(name));
    }
    PumpDocument::parse(format!("<hint {NS}>").as_bytes()).expect_err("it is no document");
    let receipt = format!("<receipt {NS} delivery='d' since='1'><hint code='x'/></receipt>");
    let plain = ReplyReceipt { delivery: "d".into(), ..ReplyReceipt::default() };
    assert_eq!(PumpDocument::parse(receipt.as_bytes()), Ok(PumpDocument::Receipt(plain)));
}

#[test]
fn a_refusal_is_told_from_what_was_asked_for() {
    let answer = |document: &str| {
        let payload = Payload::parse(document.as_bytes(), &DocumentLimits::default()).ok();
        PumpAnswer { delivery: "d".into(), id: 1, payload }
    };
    let error = answer("<system-error xmlns='https://xml-pipeline.org/ns/core/v1' code='c' message='m'/>");
    assert_eq!(error.refusal(), Some(("c".into(), "m".into())));
    assert_eq!(answer("<system-error xmlns='u' code='c' message='m'/>").refusal(), None);
}

fn recalled(attempt: u32, id: u64, entry: JournalEntry) -> EarlierEntry {
    EarlierEntry { attempt, id, entry }
}

fn start_of(prompt: &str) -> JournalEntry {
    JournalEntry::Started(ModelStarted { prompt: prompt.into(), ..started() })
}

#[test]
fn the_journal_of_earlier_attempts_is_read_back() {
    let entries = vec![
        recalled(1, 8, JournalEntry::Started(started())),
        recalled(1, 9, JournalEntry::Result(outcome(8, "a < b\r\n"))),
        recalled(3, 1, start_of(PROMPT)),
    ];
    for next in [None, Some(3)] {
        let past = EarlierEntries { entries: entries.clone(), next };
        assert_eq!(EarlierEntries::from_payload(&past.to_payload()), Ok(past));
    }
    let label = EntryLabel { id: 9, delivery: None, attempt: Some(2) };
    let kept = JournalEntry::Result(outcome(8, "x")).to_document(label);
    assert_eq!(EarlierEntry::from_body(&kept), Ok(recalled(2, 9, JournalEntry::Result(outcome(8, "x")))));
    EarlierEntry::from_body(b"<journal xmlns='u' id='1' attempt='1'/>").expect_err("of another namespace");
}

#[test]
fn a_result_is_used_a_start_without_one_is_said_and_each_is_reported_once() {
    let (first, second) = ("a".repeat(64), "b".repeat(64));
    let mut past = EarlierEntries {
        entries: vec![
            recalled(1, 1, start_of(&first)),
            recalled(1, 2, start_of(&second)),
            recalled(1, 3, JournalEntry::Result(outcome(1, "one"))),
            // The same number in a later attempt is a different entry.
            recalled(2, 2, start_of(&first)),
            recalled(2, 3, JournalEntry::Result(outcome(2, "three"))),
        ],
        next: None,
    };
    assert_eq!(past.prior_call(&"c".repeat(64)), PriorCall::New);
    assert_eq!(past.prior_call(&first), PriorCall::Known(outcome(1, "one")));
    assert!(matches!(past.prior_call(&second), PriorCall::Unknown(started) if started.prompt == second));
    assert_eq!(past.prior_call(&first), PriorCall::Known(outcome(2, "three")));
    assert_eq!(past.prior_call(&first), PriorCall::New);
    assert_eq!(past.entries, []);
}

/// A line whose far end answers from a list and records what it receives.
struct Script(Mutex<(Vec<PumpAnswer>, Vec<LineRequest>)>);

impl Line for Script {
    fn say(&self, what: LineRequest) -> PendingAnswer<'_, Result<PumpAnswer, NotTaken>> {
        let mut inside = self.0.lock().expect("one thread");
        inside.1.push(what);
        let answer = if inside.0.is_empty() { Err(NotTaken::Over) } else { Ok(inside.0.remove(0)) };
        Box::pin(async move { answer })
    }

    fn tell(&self, _: Remark) -> PendingAnswer<'_, Result<(), NotTaken>> {
        Box::pin(async { Err(NotTaken::Over) })
    }
}

fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the script answers at once"),
    }
}

#[test]
fn a_line_tells_a_refusal_and_reads_every_page_of_the_past() {
    let answer = |id, payload| PumpAnswer { delivery: "d".into(), id, payload };
    let error =
        "<system-error xmlns='https://xml-pipeline.org/ns/core/v1' code='budget.tokens' message='all used'/>";
    let page = |attempt, next| EarlierEntries { entries: vec![recalled(attempt, 1, start_of(PROMPT))], next };
    let answers = vec![
        answer(4, None),
        answer(5, Payload::parse(error.as_bytes(), &DocumentLimits::default()).ok()),
        answer(6, Some(page(1, Some(1)).to_payload())),
        answer(7, Some(page(2, None).to_payload())),
    ];
    let script = Script(Mutex::new((answers, Vec::new())));
    let line: &dyn Line = &script;
    assert_eq!(now(line.journal(start_of(PROMPT))), Ok(4));
    let refused = NotTaken::Refused { code: "budget.tokens".into(), words: "all used".into() };
    assert_eq!(now(line.journal(start_of(PROMPT))), Err(refused));
    let past = now(line.past()).expect("two pages");
    assert_eq!(past.entries.iter().map(|entry| entry.attempt).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(
        now(line.ask(PumpQuestion::View { from_seq: 0, words: false, items: true })),
        Err(NotTaken::Over)
    );
    let asked = script.0.into_inner().expect("one thread").1;
    assert_eq!(asked[2..4], [0, 1].map(|from| LineRequest::Ask(PumpQuestion::Journal { from })));
}

#[test]
fn an_answer_that_cannot_be_read_is_not_taken_for_an_empty_one() {
    let page = EarlierEntries { entries: vec![recalled(1, 1, start_of(PROMPT))], next: None }.to_payload();
    let answer = |payload| PumpAnswer { delivery: "d".into(), id: 1, payload };
    let answers = vec![answer(None), answer(Some(page.clone())), answer(None), answer(Some(page))];
    let script = Script(Mutex::new((answers, Vec::new())));
    let line: &dyn Line = &script;
    let unreadable = |told: Result<String, NotTaken>| match told {
        Err(NotTaken::Unreadable(fault)) => fault.message.to_string(),
        other => panic!("{other:?}"),
    };
    let count = |view: systole_kit::ask::ViewedPage| view.count.to_string();
    assert_eq!(unreadable(now(line.view(0)).map(count)), "the answer is empty");
    assert_eq!(unreadable(now(line.view(0)).map(count)), "the payload holds no view");
    assert_eq!(
        unreadable(now(line.past()).map(|past| past.entries.len().to_string())),
        "the answer is empty"
    );
    assert_eq!(unreadable(now(line.put_blob("x"))), "the payload does not say that bytes are kept");
}

fn money() -> impl Strategy<Value = Option<Money>> {
    prop::option::of((any::<u64>(), "[A-Z]{3}").prop_map(|(micros, currency)| {
        let currency = systole_kit::money::Currency::parse(&currency).expect("three letters");
        Money { micros, currency }
    }))
}

/// Any entry.
pub(crate) fn entry() -> impl Strategy<Value = JournalEntry> {
    let number = || prop::option::of(any::<u64>());
    let word = "[a-z0-9./:-]{1,20}";
    prop_oneof![
        (word, "[0-9a-f]{64}", number(), money()).prop_map(
            |(model, prompt, reserve_tokens, reserve_money)| {
                JournalEntry::Started(ModelStarted {
                    model,
                    prompt,
                    guided: None,
                    reserve_tokens,
                    reserve_money,
                    wait_ms: None,
                })
            }
        ),
        (any::<u64>(), word, number(), number(), money(), crate::reply::words()).prop_map(
            |(of, stop, tokens_in, tokens_out, money, text)| {
                JournalEntry::Result(ModelCallOutcome {
                    of,
                    stop,
                    tokens_in,
                    tokens_out,
                    money,
                    text,
                    blobs: Vec::new(),
                    details: Box::default(),
                })
            }
        ),
    ]
}

/// Any question.
pub(crate) fn question() -> impl Strategy<Value = PumpQuestion> {
    prop_oneof![
        (any::<u64>(), any::<bool>(), any::<bool>())
            .prop_map(|(from_seq, words, items)| PumpQuestion::View { from_seq, words, items }),
        ("[a-z.]{1,9}", any::<u64>()).prop_map(|(path, from)| PumpQuestion::Configuration { path, from }),
        ("[a-z.]{1,9}", proptest::option::of("[a-z&\"-]{0,4}"), any::<u64>())
            .prop_map(|(name, element, from)| PumpQuestion::Schema { name, element, from }),
        ("[0-9a-f]{1,64}", any::<u64>()).prop_map(|(hash, from)| PumpQuestion::Blob { hash, from }),
        crate::reply::words().prop_map(|words| PumpQuestion::PutBlob { bytes: words.into() }),
        prop::collection::vec(any::<u8>(), 0..50).prop_map(|bytes| PumpQuestion::PutBlob { bytes }),
        any::<u64>().prop_map(|from| PumpQuestion::Journal { from }),
    ]
}

#[test]
fn a_text_that_is_put_may_be_as_large_as_a_reply() {
    let limits = DocumentLimits { message_bytes: 4_000, reply_bytes: 8_000, ..DocumentLimits::default() };
    let document = |length| {
        let question = Ok(PumpQuestion::PutBlob { bytes: vec![b'x'; length] });
        ListenerDocument::Ask { delivery: "d".into(), id: 9, question }.to_document().expect("written")
    };
    let room = 8_000 - document(0).len();
    assert!(matches!(
        ListenerDocument::parse(&document(room), &limits),
        Ok(ListenerDocument::Ask { question: Ok(_), .. })
    ));
    let over = ListenerDocument::parse(&document(room + 1), &limits);
    assert!(!matches!(over, Ok(ListenerDocument::Ask { question: Ok(_), .. })), "{over:?}");
}
