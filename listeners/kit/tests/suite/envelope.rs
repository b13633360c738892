//! The envelope: messages from outside, deliveries and answers written and read back.

use proptest::prelude::*;
use systole_kit::answers::{Answer, Answers, write_answers};
use systole_kit::envelope::{
    Delivered, EnvelopeAddress, EnvelopeStamp, OutsideDocument, read_delivered, write_envelope,
};
use systole_kit::{DocumentLimits, Payload, codes};

fn payload(document: &str) -> Payload {
    Payload::parse(document.as_bytes(), &DocumentLimits::default()).expect(document)
}

fn envelope(meta: &str, rest: &str) -> String {
    format!("<message xmlns='https://xml-pipeline.org/ns/envelope/v1'>{meta}{rest}</message>")
}

fn letter(document: &str) -> Result<OutsideDocument, systole_kit::Fault> {
    OutsideDocument::parse(document.as_bytes(), &DocumentLimits::default())
}

#[test]
fn an_envelope_from_outside_is_read() {
    let extras = "<stamp xmlns='urn:systole:stamp:v1' id='forged'/><x:y xmlns:x='urn:x'><x:z/>text</x:y>";
    let meta = format!("<meta>\n<from>alice</from><to>search</to> <thread> new </thread>{extras}</meta>");
    let read = letter(&envelope(&meta, "\n<!-- c --><a xmlns='u'/>\n")).expect("an envelope");
    assert_eq!(
        read,
        OutsideDocument {
            from: Some("alice".to_owned()),
            to: Some("search".to_owned()),
            thread: Some("new".to_owned()),
            payload: read.payload.clone(),
        }
    );
    assert_eq!(&**read.payload.bytes(), b"<a xmlns='u'/>");
}

#[test]
fn a_bare_payload_is_a_letter_without_names() {
    let read = letter("<?xml version='1.0'?><a xmlns='u'/>").expect("a payload");
    assert_eq!((read.from, read.to, read.thread), (None, None, None));
}

#[test]
fn what_is_no_envelope_is_refused() {
    let meta = "<meta><from>a</from><thread>t</thread></meta>";
    let a = "<a xmlns='u'/>";
    let invalid = [
        envelope("<meta><from>a</from></meta>", a),
        envelope("<meta><thread>t</thread></meta>", a),
        envelope("<meta><from>a</from><from>b</from><thread>t</thread></meta>", a),
        envelope("<meta><from> </from><thread>t</thread></meta>", a),
        envelope("<meta><from>a<b/></from><thread>t</thread></meta>", a),
        envelope("<meta><from>a</from><thread>t</thread><priority/></meta>", a),
        envelope("<meta><from>a</from><thread>t</thread><x xmlns=''/></meta>", a),
        envelope("<meta><from>a</from>text<thread>t</thread></meta>", a),
        envelope("<meta xmlns='u'/>", a),
        envelope("", a),
        envelope("", ""),
        envelope(meta, ""),
        envelope(meta, "text"),
        envelope(meta, "<a xmlns='u'/><b xmlns='u'/>"),
        envelope(meta, "<a xmlns='u'/>text"),
        envelope(meta, a).replace("/v1'>", "/v2'>"),
        envelope(meta, a).replace("https:", "HTTP:"),
        envelope(meta, a).replace("/v1'>", "'>"),
        envelope(meta, a).replace("/v1'>", "/v1/'>"),
        envelope(meta, a).replace("message", "massage"),
    ];
    for document in invalid {
        assert_eq!(letter(&document).expect_err(&document).code, codes::INVALID, "{document}");
    }
    let nested = envelope(meta, &envelope(meta, a));
    assert_eq!(letter(&nested).expect_err("nested").code, codes::FORBIDDEN_NAMESPACE);
    let bare = envelope(meta, "<a xmlns=''/>");
    assert_eq!(letter(&bare).expect_err("bare").code, codes::NO_NAMESPACE);
}

#[test]
fn a_namespace_that_only_begins_like_the_envelopes_is_a_payloads() {
    let document = "<a xmlns='https://xml-pipeline.org/ns/envelope-maker/v1'/>";
    assert_eq!(letter(document).expect("a bare payload").payload, payload(document));
}

#[test]
fn a_missing_part_says_how_to_repair_it() {
    let fault = letter(&envelope("<meta><from>a</from></meta>", "<a xmlns='u'/>")).expect_err("no thread");
    assert_eq!(&*fault.message, "the envelope has no <thread>");
    assert_eq!(fault.fix.as_deref(), Some("add <thread>…</thread> to meta"));
}

#[test]
fn a_delivery_without_a_stamp_did_not_come_from_a_pump() {
    let meta = "<meta><from>a</from><thread>t</thread></meta>";
    let document = envelope(meta, "<a xmlns='u'/>");
    read_delivered(document.as_bytes()).expect_err("no stamp");
    read_delivered(b"<a xmlns='u'/>").expect_err("no envelope");
    for stamp in [
        "delivery='d' key='k'",
        "call='1' key='k'",
        "call='1' delivery='d'",
        "call='1' delivery='d' key='k' turn='x'",
    ] {
        let stamp = format!("<stamp xmlns='urn:systole:stamp:v1' {stamp}/></meta>");
        let document = document.replace("</meta>", &stamp);
        read_delivered(document.as_bytes()).expect_err(&document);
    }
}

#[test]
fn the_envelope_has_the_bytes_of_the_format() {
    let stamp = EnvelopeStamp {
        id: Some("0199".to_owned()),
        seq: Some(12),
        at: Some("2026-11-20T07:00:00.000Z".to_owned()),
        call: "1/2.0".to_owned(),
        turn: 1,
        cause: Some("0198".to_owned()),
        delivery: "d".to_owned(),
        attempt: 2,
        key: "k".to_owned(),
        deadline: Some("2026-11-20T07:00:30.000Z".to_owned()),
        sha256: Some("ab".to_owned()),
        journal: Some(3),
        request: Some(12),
    };
    let address = EnvelopeAddress {
        from: Some("researcher"),
        to: Some("search"),
        thread: Some("sess-1f0c9a2b77d1.heat"),
    };
    let request =
        payload("<search xmlns=\"https://xml-pipeline.org/ns/search/v1\"><query>login</query></search>");
    let expected = "<message xmlns=\"https://xml-pipeline.org/ns/envelope/v1\"><meta><from>researcher</from>\
        <to>search</to><thread>sess-1f0c9a2b77d1.heat</thread><stamp xmlns=\"urn:systole:stamp:v1\" id=\"0199\" \
        seq=\"12\" at=\"2026-11-20T07:00:00.000Z\" call=\"1/2.0\" turn=\"1\" cause=\"0198\" delivery=\"d\" \
        attempt=\"2\" key=\"k\" deadline=\"2026-11-20T07:00:30.000Z\" sha256=\"ab\" journal=\"3\" request=\"12\"/></meta>\
        <search xmlns=\"https://xml-pipeline.org/ns/search/v1\"><query>login</query></search></message>";
    let written = write_envelope(&address, Some(&stamp), &request);
    assert_eq!(String::from_utf8(written).expect("UTF-8"), expected);
}

#[test]
fn the_answers_have_the_bytes_of_the_format() {
    let answers = Answers {
        turn: 3,
        wrap_up: Some("budget.tokens".to_owned()),
        items: vec![
            Answer {
                ordinal: 0,
                from: Some("search".into()),
                seq: Some(14),
                payload: Some(payload("<r xmlns='u'/>")),
            },
            Answer { ordinal: 1, from: Some("critic".into()), seq: Some(15), payload: None },
        ],
        inbox: vec![payload("<timer-fired xmlns='c' id='1'/>"), payload("<steer xmlns='c'/>")],
    };
    let written = write_answers(&answers);
    let expected = "<answers xmlns=\"https://xml-pipeline.org/ns/core/v1\" turn=\"3\" wrap-up=\"budget.tokens\">\
        <item ordinal=\"0\" from=\"search\" seq=\"14\"><r xmlns='u'/></item><item ordinal=\"1\" from=\"critic\" \
        seq=\"15\"/><inbox><timer-fired xmlns='c' id='1'/><steer xmlns='c'/></inbox></answers>";
    assert_eq!(std::str::from_utf8(written.bytes()).expect("UTF-8"), expected);
    // The gate cuts out exactly what the kit composed.
    assert_eq!(Payload::parse(written.bytes(), &DocumentLimits::default()).expect("well-formed"), written);
}

#[test]
fn a_payload_means_the_same_inside_answers_inside_an_envelope() {
    let awkward = payload("<p:a xmlns:p='u'><b/></p:a>");
    let item = Answer { ordinal: 0, from: None, seq: None, payload: Some(awkward.clone()) };
    let answers = write_answers(&Answers { turn: 2, wrap_up: None, items: vec![item], inbox: vec![] });
    let stamp =
        EnvelopeStamp { call: "1".into(), delivery: "d".into(), key: "k".into(), ..EnvelopeStamp::default() };
    let address = EnvelopeAddress { from: Some("a"), to: None, thread: Some("t") };
    let document = write_envelope(&address, Some(&stamp), &answers);
    let delivered = read_delivered(&document).expect("delivered");
    let back = Answers::from_payload(&delivered.payload).expect("answers");
    let carried = back.items[0].payload.as_ref().expect("the item's payload");
    assert_eq!((carried.bytes(), carried.name()), (awkward.bytes(), awkward.name()));
    Answers::from_payload(&awkward).expect_err("a request");
    for item in ["<item ordinal='0'><a xmlns='u'/><b xmlns='u'/></item>", "<item/>", "<item ordinal='-1'/>"] {
        let core = payload(&format!("<answers xmlns='https://xml-pipeline.org/ns/core/v1'>{item}</answers>"));
        Answers::from_payload(&core).expect_err(item);
    }
}

fn word() -> impl Strategy<Value = String> {
    // No whitespace at the ends: the reader removes it.
    "[!-~\u{e9}\u{1f600}]([ -~\n\t]{0,10}[!-~])?"
}

fn stamp() -> impl Strategy<Value = EnvelopeStamp> {
    let text = || prop::option::of(word());
    (
        (text(), any::<Option<u64>>(), text(), word(), any::<u32>(), text()),
        (word(), any::<u32>(), word(), text(), text(), any::<Option<u32>>(), any::<Option<u64>>()),
    )
        .prop_map(
            |(
                (id, seq, at, call, turn, cause),
                (delivery, attempt, key, deadline, sha256, journal, request),
            )| EnvelopeStamp {
                id,
                seq,
                at,
                call,
                turn,
                cause,
                delivery,
                attempt,
                key,
                deadline,
                sha256,
                journal,
                request,
            },
        )
}

proptest! {
    #[test]
    fn what_is_delivered_is_read_back(from in word(), to in prop::option::of(word()), thread in word(), stamp in stamp()) {
        let carried = payload("<p:a xmlns:p='u'>x</p:a>");
        let address = EnvelopeAddress { from: Some(&from), to: to.as_deref(), thread: Some(&thread) };
        let document = write_envelope(&address, Some(&stamp), &carried);
        let back = read_delivered(&document).expect("the kit reads what it writes");
        let (bytes, read) = (back.payload.bytes().clone(), Delivered { payload: carried.clone(), ..back });
        prop_assert_eq!(&bytes, carried.bytes());
        prop_assert_eq!(read, Delivered { from, to, thread, stamp, payload: carried });
    }
}
