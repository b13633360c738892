//! The documents of the listener protocol: read, refused item by item, written and read back.

use proptest::prelude::*;
use systole_kit::reply::{AnswerPart, Item, ListenerDocument, ReplyContent};
use systole_kit::{DocumentLimits, Payload, codes};

fn read(document: &str) -> ListenerDocument {
    ListenerDocument::parse(document.as_bytes(), &DocumentLimits::default()).expect(document)
}

fn reply(inside: &str) -> Vec<Item> {
    let document = format!("<reply xmlns='urn:systole:listener:v1' delivery='d1'>{inside}</reply>");
    match read(&document) {
        ListenerDocument::Reply { delivery, said: ReplyContent::Items(items) } if delivery == "d1" => items,
        other => panic!("not items: {other:?}"),
    }
}

/// The outcome of each item: the text of its payload, or the code of its fault.
fn outcomes(items: &[Item]) -> Vec<String> {
    let outcome = |item: &Item| match &item.payload {
        Ok(payload) => String::from_utf8(payload.bytes().to_vec()).expect("UTF-8"),
        Err(fault) => fault.code.to_owned(),
    };
    items.iter().map(outcome).collect()
}

#[test]
fn a_plain_reply_yields_its_payloads() {
    let items = reply("\n <a xmlns='u'>1</a> <!-- between --> <b xmlns='u'/>\n");
    assert_eq!(outcomes(&items), ["<a xmlns='u'>1</a>", "<b xmlns='u'/>"]);
    assert!(reply("").is_empty());
}

#[test]
fn a_spoilt_item_leaves_the_others_whole() {
    let deep = "<x>".repeat(64) + &"</x>".repeat(64);
    let attributes: String = (0..65).map(|n| format!(" a{n}=''")).collect();
    let spoilt = [
        (format!("<a xmlns='u'>{deep}</a>"), codes::TOO_DEEP),
        (format!("<a xmlns='u'{attributes}/>"), codes::TOO_LARGE),
        ("<a xmlns='u'><?go?></a>".to_owned(), codes::FORBIDDEN_CONSTRUCT),
        ("<?go?>".to_owned(), codes::FORBIDDEN_CONSTRUCT),
        ("<a xmlns=''/>".to_owned(), codes::NO_NAMESPACE),
        ("<p:a/>".to_owned(), codes::UNDECLARED),
        ("<a xmlns='u'><p:b/></a>".to_owned(), codes::UNDECLARED),
        ("stray &amp; text <![CDATA[and more]]>".to_owned(), codes::INVALID),
        (format!("<a xmlns='u'>{}</a>", "x".repeat(1 << 20)), codes::TOO_LARGE),
        (envelope("<to>b</to>", "<a xmlns='u'/><b xmlns='u'/>"), codes::INVALID),
        (envelope("<to>b</to>", ""), codes::INVALID),
        (envelope("<who>b</who>", "<a xmlns='u'/>"), codes::INVALID),
        (envelope("<to>b<c/></to>", "<a xmlns='u'/>"), codes::INVALID),
        (envelope("<to>b</to>", "<a xmlns='u'><?go?></a>"), codes::FORBIDDEN_CONSTRUCT),
        (envelope("<?go?><to>b</to>", "<a xmlns='u'/>"), codes::FORBIDDEN_CONSTRUCT),
        (envelope("", "<message/>"), codes::FORBIDDEN_NAMESPACE),
        ("<failure code='x'>beside</failure>".to_owned(), codes::INVALID),
        ("<unknown/>".to_owned(), codes::INVALID),
    ];
    for (item, code) in spoilt {
        let items = reply(&format!("<ok xmlns='u'/>{item}<ok xmlns='u'/>"));
        assert_eq!(outcomes(&items), ["<ok xmlns='u'/>", code, "<ok xmlns='u'/>"], "{item:.200}");
    }
}

#[test]
fn two_faults_in_a_row_are_two_refused_items() {
    let attributes: String = (0..65).map(|n| format!(" a{n}=''")).collect();
    let items = reply(&format!("<?go?><a xmlns='u'{attributes}/><b xmlns='u'/>"));
    assert_eq!(outcomes(&items), [codes::FORBIDDEN_CONSTRUCT, codes::TOO_LARGE, "<b xmlns='u'/>"]);
}

#[test]
fn a_refused_item_does_not_leave_its_faults_to_the_next() {
    let twice = envelope("<who/><?go?>", "<a xmlns='u'/>");
    assert_eq!(outcomes(&reply(&format!("{twice}<b xmlns='u'/>"))), [codes::INVALID, "<b xmlns='u'/>"]);
    let apart = reply("one<a xmlns='u'/>two");
    assert_eq!(outcomes(&apart), [codes::INVALID, "<a xmlns='u'/>", codes::INVALID]);
}

#[test]
fn a_reply_whose_own_tag_breaks_a_limit_tells_its_sender() {
    let attributes: String = (0..65).map(|n| format!(" a{n}=''")).collect();
    let document = format!("<reply xmlns='urn:systole:listener:v1' delivery='d1'{attributes}/>");
    let ListenerDocument::Reply { said: ReplyContent::Items(items), .. } = read(&document) else {
        panic!("items")
    };
    assert_eq!(outcomes(&items), [codes::TOO_LARGE]);
}

#[test]
fn places_count_in_the_whole_document() {
    let items = reply("\n<a xmlns='u'/>\n  oops\n<b xmlns='u'>\n <?go?></b>");
    let places: Vec<_> = items
        .iter()
        .filter_map(|item| item.payload.as_ref().err())
        .map(|f| (f.place.line, f.place.column))
        .collect();
    assert_eq!(places, [(3, 3), (5, 2)]);
}

fn envelope(meta: &str, payload: &str) -> String {
    format!("<message xmlns='https://xml-pipeline.org/ns/envelope/v1'><meta>{meta}</meta>{payload}</message>")
}

#[test]
fn an_item_may_name_its_receiver_and_thread() {
    let items = reply(&envelope("<from>liar</from><to> critic </to><thread>t.x</thread>", "<a xmlns='u'/>"));
    let [item] = items.as_slice() else { panic!("one item") };
    assert_eq!((item.to.as_deref(), item.thread.as_deref()), (Some("critic"), Some("t.x")));
    assert_eq!(item.from.as_deref(), Some("liar"), "what it claims is there to be seen");
    let written =
        ListenerDocument::Reply { delivery: "d1".to_owned(), said: ReplyContent::Items(items.clone()) };
    assert_eq!(
        ListenerDocument::parse(&written.to_document().unwrap(), &DocumentLimits::default()),
        Ok(written)
    );
    assert_eq!(outcomes(&items), ["<a xmlns='u'/>"]);
}

#[test]
fn what_an_item_names_passes_the_gate_with_a_word_that_was_never_written() {
    let named = |name: &str| Some(name.to_owned());
    let payload = Payload::parse(b"<a xmlns='u'/>", &DocumentLimits::default()).expect("a payload");
    let plain = Item::plain(payload);
    for item in [
        Item { from: named("liar"), ..plain.clone() },
        Item { to: named("critic"), ..plain.clone() },
        Item { thread: named("t.x"), ..plain.clone() },
        plain,
    ] {
        let word =
            ListenerDocument::Reply { delivery: "d1".to_owned(), said: ReplyContent::Items(vec![item]) };
        assert_eq!(word.through_gate(&DocumentLimits::default()), Ok(word));
    }
}

#[test]
fn a_reply_given_as_values_passes_no_limit_that_its_document_does_not_pass() {
    let item = || {
        Item::plain(Payload::parse(b"<a xmlns=\"u\">word</a>", &DocumentLimits::default()).expect("valid"))
    };
    let bytes = 3 * "<a xmlns=\"u\">word</a>".len();
    let reply = ListenerDocument::Reply {
        delivery: "d1".into(),
        said: ReplyContent::Items(vec![item(), item(), item()]),
    };
    let document = reply.to_document().expect("nothing in it is refused");
    let passed = |limits: DocumentLimits| {
        let passed = reply.through_gate(&limits).map(|word| fates(&word));
        let read = ListenerDocument::parse(&document, &limits).map(|word| fates(&word));
        assert_eq!(passed.as_ref().ok(), read.as_ref().ok());
        passed.map_or(0, |fates| fates.iter().filter(|fate| fate.starts_with('<')).count())
    };
    assert_eq!(passed(DocumentLimits { items: 3, ..DocumentLimits::default() }), 3);
    assert_eq!(passed(DocumentLimits { items: 2, ..DocumentLimits::default() }), 0);
    assert_eq!(passed(DocumentLimits { reply_bytes: document.len(), ..DocumentLimits::default() }), 3);
    assert_eq!(passed(DocumentLimits { reply_bytes: document.len() - 1, ..DocumentLimits::default() }), 0);
    assert_eq!(
        passed(DocumentLimits { reply_bytes: bytes, ..DocumentLimits::default() }),
        0,
        "its tags count as well"
    );
}

#[test]
fn a_prefix_declared_on_the_reply_reaches_its_items() {
    let document = "<ns0:reply xmlns:ns0=\"urn:systole:listener:v1\" xmlns:ns1=\"u\" delivery=\"d\"><ns1:a/></ns0:reply>";
    let ListenerDocument::Reply { said: ReplyContent::Items(items), .. } = read(document) else {
        panic!("items")
    };
    assert_eq!(outcomes(&items), ["<ns1:a xmlns:ns1=\"u\"/>"]);
}

#[test]
fn an_element_without_namespace_of_its_own_belongs_to_the_protocol() {
    // A forgotten xmlns puts the payload into the listener protocol, and the message must say
    // so.
    let items = reply("<search><query>x</query></search>");
    let fault = items[0].payload.as_ref().expect_err("refused");
    assert_eq!(
        (fault.code, &*fault.message),
        (codes::INVALID, "<search> of the listener protocol is in place of an item")
    );
}

#[test]
fn failures_and_again_stand_instead_of_items() {
    let failure = "<reply xmlns='urn:systole:listener:v1' delivery='d'><failure code='upstream-down' retry='true'>\
                   the service answered 503</failure></reply>";
    let ListenerDocument::Reply { said, .. } = read(failure) else { panic!("a reply") };
    let words = "the service answered 503".to_owned();
    assert_eq!(said, ReplyContent::new_failure("upstream-down", true, words));
    let again = "<reply xmlns='urn:systole:listener:v1' delivery='d'> <again code='agent.prose-only'>a<![CDATA[<]]>&gt;\
                 </again> </reply>";
    let ListenerDocument::Reply { said, .. } = read(again) else { panic!("a reply") };
    assert_eq!(said, ReplyContent::Again { code: "agent.prose-only".to_owned(), words: "a<>".to_owned() });
    let beside = reply("<failure code='x'/><a xmlns='u'/>");
    assert_eq!(outcomes(&beside), [codes::INVALID, "<a xmlns='u'/>"]);
    assert_eq!(outcomes(&reply("<failure>no code</failure>")), [codes::INVALID]);
    assert_eq!(outcomes(&reply("<failure code='x' retry='maybe'/>")), [codes::INVALID]);
}

#[test]
fn the_other_documents_are_recognised() {
    let ns = "xmlns='urn:systole:listener:v1'";
    let delivery = "d".to_owned();
    assert_eq!(
        read(&format!("<notice {ns} delivery='d' code='agent.second-action'>told</notice>")),
        ListenerDocument::Notice {
            delivery: delivery.clone(),
            code: "agent.second-action".into(),
            words: "told".into()
        }
    );
    assert_eq!(
        read(&format!("<progress {ns} delivery='d'>page 3</progress>")),
        ListenerDocument::Progress { delivery, part: None, words: "page 3".into() }
    );
}

#[test]
fn a_broken_reply_still_tells_whose_it_is() {
    let head = "<reply xmlns='urn:systole:listener:v1' delivery='d1'>";
    let broken: [&[u8]; 6] = [
        b"<a xmlns='u'>",
        b"<a xmlns='u'></b></reply>",
        b"\xff",
        b"\x00</reply>",
        b"</reply>junk",
        b"&x;</reply>",
    ];
    for tail in broken {
        let document = [head.as_bytes(), tail].concat();
        let word =
            ListenerDocument::parse(&document, &DocumentLimits::default()).expect("the delivery can be read");
        assert_eq!(word.delivery(), "d1");
        let ListenerDocument::Reply { said: ReplyContent::Items(items), .. } = word else { panic!("items") };
        assert_eq!(outcomes(&items), [codes::MALFORMED]);
    }
    let large = format!("{head}{}</reply>", "<a xmlns='u'/>".repeat(1 << 20));
    let ListenerDocument::Reply { said: ReplyContent::Items(items), .. } = read(&large) else {
        panic!("items")
    };
    assert_eq!(outcomes(&items), [codes::TOO_LARGE]);
}

#[test]
fn items_beyond_the_limit_refuse_the_whole_reply() {
    assert_eq!(reply(&"<a xmlns='u'/>".repeat(1024)).len(), 1024);
    for item in ["<a xmlns='u'/>", "<a/>", "<?x?>", "text<!-- --><a xmlns='u'/>"] {
        assert_eq!(outcomes(&reply(&item.repeat(1025))), [codes::TOO_MANY_ITEMS], "{item}");
    }
}

#[test]
fn what_names_no_delivery_or_is_none_of_the_protocol_is_a_fault() {
    for document in [
        "<reply xmlns='urn:systole:listener:v1'/>",
        "<reply xmlns='urn:systole:listener:v1' delivery=''/>",
        "<reply delivery='d'/>",
        "<reply xmlns='urn:systole:listener:v2' delivery='d'/>",
        "<other xmlns='urn:systole:listener:v1' delivery='d'/>",
        "<notice xmlns='urn:systole:listener:v1' delivery='d'>no code</notice>",
        "<notice xmlns='urn:systole:listener:v1' delivery='d' code='x'><b/></notice>",
        "<progress xmlns='urn:systole:listener:v1' delivery='d'><?go?></progress>",
        "<ask xmlns='urn:systole:listener:v1' delivery='d' id='x'/>",
        "<reply delivery='d'",
        "",
    ] {
        ListenerDocument::parse(document.as_bytes(), &DocumentLimits::default()).expect_err(document);
    }
}

pub(crate) fn words() -> impl Strategy<Value = String> {
    // Every character that XML can hold, the awkward ones more often.
    let awkward = prop::sample::select(vec![
        '&',
        '<',
        '>',
        '"',
        '\'',
        '\r',
        '\n',
        '\t',
        ']',
        ' ',
        '\u{fffd}',
        '\u{1f600}',
    ]);
    let any = any::<char>().prop_filter("legal", |c| systole_kit::characters::is_legal(*c));
    prop::collection::vec(prop_oneof![awkward, any], 0..24).prop_map(String::from_iter)
}

fn named() -> impl Strategy<Value = String> {
    "[a-z][a-z0-9.-]{0,12}"
}

fn payload() -> impl Strategy<Value = Payload> {
    (named(), words(), words()).prop_map(|(local, ns, text)| {
        let mut writer = systole_kit::writer::XmlWriter::new();
        let name = systole_kit::writer::XmlName::new(&local).expect("a legal name");
        writer.open(name).xmlns(&format!("u{ns}")).attr("note", &text).text(&text);
        Payload::parse(&writer.finish(), &DocumentLimits::default())
            .expect("the writer writes what the gate takes")
    })
}

fn item() -> impl Strategy<Value = Item> {
    let named = || prop::option::of(named());
    (named(), named(), named(), payload()).prop_map(|(from, to, thread, payload)| Item {
        from,
        to,
        thread,
        payload: Ok(payload),
    })
}

fn word() -> impl Strategy<Value = ListenerDocument> {
    let said = prop_oneof![
        prop::collection::vec(item(), 0..4).prop_map(ReplyContent::Items),
        (named(), prop::option::of(named()), any::<bool>(), words()).prop_map(
            |(code, first_code, retry, words)| ReplyContent::Failure { code, first_code, retry, words }
        ),
        (named(), named(), any::<bool>(), words())
            .prop_map(|(outage, code, retry, words)| { ReplyContent::Away { outage, code, retry, words } }),
        (named(), words()).prop_map(|(code, words)| ReplyContent::Again { code, words }),
    ];
    prop_oneof![
        (named(), said).prop_map(|(delivery, said)| ListenerDocument::Reply { delivery, said }),
        (named(), named(), words()).prop_map(|(delivery, code, words)| ListenerDocument::Notice {
            delivery,
            code,
            words
        }),
        (named(), 0..=AnswerPart::ALL.len(), words()).prop_map(|(delivery, part, words)| {
            ListenerDocument::Progress { delivery, part: AnswerPart::ALL.get(part).copied(), words }
        }),
        (named(), any::<u64>(), crate::journal::entry())
            .prop_map(|(delivery, id, entry)| ListenerDocument::Journal { delivery, id, entry: Ok(entry) }),
        (named(), any::<u64>(), crate::journal::question()).prop_map(|(delivery, id, question)| {
            ListenerDocument::Ask { delivery, id, question: Ok(question) }
        }),
    ]
}

/// A message without the places of its faults: they count in a document that was never written.
fn fates(word: &ListenerDocument) -> Vec<String> {
    match word {
        ListenerDocument::Reply { delivery, said: ReplyContent::Items(items) } => {
            let mut all = outcomes(items);
            all.extend(
                items.iter().map(|Item { from, to, thread, .. }| format!("{from:?} {to:?} {thread:?}")),
            );
            all.push(delivery.clone());
            all
        }
        ListenerDocument::Journal { delivery, id, entry } => {
            vec![format!("{delivery} {id} {:?}", entry.as_ref().map_err(|fault| fault.code))]
        }
        ListenerDocument::Ask { delivery, id, question } => {
            vec![format!("{delivery} {id} {:?}", question.as_ref().map_err(|fault| fault.code))]
        }
        other => vec![format!("{other:?}")],
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(word in word()) {
        let document = word.to_document().expect("nothing in it is refused");
        let back = ListenerDocument::parse(&document, &DocumentLimits::default()).expect("the kit reads what it writes");
        prop_assert_eq!(word, back);
    }

    #[test]
    fn a_word_passes_the_gate_as_its_document_does(word in word(), items in 0usize..5, bytes in 0usize..4_000) {
        let limits = DocumentLimits { items, reply_bytes: 1_100 + bytes, message_bytes: bytes, ..DocumentLimits::default() };
        let document = word.to_document().expect("nothing in it is refused");
        match (ListenerDocument::parse(&document, &limits), word.through_gate(&limits)) {
            (Ok(read), Ok(passed)) => prop_assert_eq!(fates(&read), fates(&passed)),
            (read, passed) => prop_assert_eq!(read.is_err(), passed.is_err()),
        }
    }

    #[test]
    fn what_is_taken_back_has_the_name_it_had(payload in payload()) {
        let back = Payload::from_trusted(payload.bytes().clone()).expect("a payload's bytes");
        prop_assert_eq!(back.name(), payload.name());
    }
}
