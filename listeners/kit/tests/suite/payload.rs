//! Cutting a payload out of its carrier.

use std::sync::Arc;

use systole_kit::envelope::OutsideDocument;
use systole_kit::{DocumentLimits, Payload, codes};

const ENVELOPE: &str = "https://xml-pipeline.org/ns/envelope/v1";

/// The payload of an envelope whose root has `declarations` besides the envelope's own.
fn carried(declarations: &str, payload: &str) -> Payload {
    let document = format!(
        "<e:message xmlns:e='{ENVELOPE}' {declarations}><e:meta><e:from>a</e:from><e:thread>t</e:thread></e:meta>\
         {payload}</e:message>"
    );
    OutsideDocument::parse(document.as_bytes(), &DocumentLimits::default()).expect(&document).payload
}

fn text(payload: &Payload) -> &str {
    std::str::from_utf8(payload.bytes()).expect("payloads are UTF-8")
}

#[test]
fn a_bare_payload_is_kept_byte_for_byte() {
    let root = "<p:a  xmlns:p = 'u'\n b='1' >\r\n<!-- c --><![CDATA[x]]>&#65; </p:a >";
    let document = format!("<?xml version='1.0' encoding='UTF-8'?>\n<!-- before -->{root}\n<!-- after -->");
    let payload = Payload::parse(document.as_bytes(), &DocumentLimits::default()).expect("well-formed");
    assert_eq!(text(&payload), root);
    assert!(payload.name().is_named("u", "a"));
    assert_eq!(payload.name().to_string(), "{u}a");
}

/// Declarations outside, the payload as written, and the payload as cut.
const CUTS: &[(&str, &str, &str)] = &[
    ("xmlns:p='u'", "<p:a/>", "<p:a xmlns:p=\"u\"/>"),
    ("xmlns:p='u'", "<p:a >x</p:a>", "<p:a xmlns:p=\"u\" >x</p:a>"),
    ("xmlns='u'", "<a><b/></a>", "<a xmlns=\"u\"><b/></a>"),
    (
        "xmlns:z='1' xmlns:b='2' xmlns='3' xmlns:x='4'",
        "<a><z:c b:d=''/></a>",
        "<a xmlns=\"3\" xmlns:b=\"2\" xmlns:z=\"1\"><z:c b:d=''/></a>",
    ),
    ("xmlns:p='u'", "<a xmlns='v'/>", "<a xmlns='v'/>"),
    ("xmlns:p='u'", "<p:a xmlns:p='v'><p:b/></p:a>", "<p:a xmlns:p='v'><p:b/></p:a>"),
    (
        "xmlns:p='u'",
        "<a xmlns='v'><b xmlns:p='w'><p:c/></b><p:d/></a>",
        "<a xmlns:p=\"u\" xmlns='v'><b xmlns:p='w'><p:c/></b><p:d/></a>",
    ),
    (
        "xmlns:p='u'",
        "<a xmlns='v'><b xmlns:p='w'><p:c/></b></a>",
        "<a xmlns='v'><b xmlns:p='w'><p:c/></b></a>",
    ),
    ("xmlns:p='u?a=1&amp;b=\"2\"'", "<p:a/>", "<p:a xmlns:p=\"u?a=1&amp;b=&quot;2&quot;\"/>"),
    (
        "xmlns:p='u' xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance'",
        "<a xmlns='v' xsi:type=' p:t '/>",
        "<a xmlns:p=\"u\" xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xmlns='v' xsi:type=' p:t '/>",
    ),
    (
        "xmlns='d' xmlns:p='u' xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance'",
        "<p:a xsi:type='t'/>",
        "<p:a xmlns=\"d\" xmlns:p=\"u\" xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:type='t'/>",
    ),
    ("xmlns:p='u'", "<a xmlns='v' type='p:t' p='p:x'>p:y</a>", "<a xmlns='v' type='p:t' p='p:x'>p:y</a>"),
    ("", "<p:a xmlns:p='u' xml:lang='en'/>", "<p:a xmlns:p='u' xml:lang='en'/>"),
    // An element in no namespace would fall into the default namespace of the next carrier.
    ("", "<p:a xmlns:p='u'><b/></p:a>", "<p:a xmlns=\"\" xmlns:p='u'><b/></p:a>"),
    ("", "<p:a xmlns:p='u'><b xmlns=''/></p:a>", "<p:a xmlns:p='u'><b xmlns=''/></p:a>"),
];

#[test]
fn declarations_that_stand_outside_are_copied_in_order_of_prefix() {
    for (outside, written, expected) in CUTS {
        assert_eq!(text(&carried(outside, written)), *expected);
    }
}

#[test]
fn a_cut_payload_cut_again_is_the_same() {
    for (outside, written, _) in CUTS {
        let once = carried(outside, written);
        let again =
            Payload::parse(once.bytes(), &DocumentLimits::default()).expect("a payload is a document");
        assert_eq!((once.bytes(), once.name()), (again.bytes(), again.name()));
        let elsewhere = carried("xmlns='other' xmlns:p='other' xmlns:z='other'", text(&once));
        assert_eq!(once.bytes(), elsewhere.bytes());
        let stored = Payload::from_trusted(Arc::clone(once.bytes())).expect("stored bytes");
        assert_eq!((once.bytes(), once.name()), (stored.bytes(), stored.name()));
    }
}

#[test]
fn element_tree_puts_declarations_on_the_outer_element() {
    let document = format!(
        "<ns0:message xmlns:ns0=\"{ENVELOPE}\" xmlns:ns1=\"https://xml-pipeline.org/ns/search/v1\"><ns0:meta>\
         <ns0:from>a</ns0:from><ns0:thread>new</ns0:thread></ns0:meta><ns1:search><ns1:query>login</ns1:query>\
         </ns1:search></ns0:message>"
    );
    let letter =
        OutsideDocument::parse(document.as_bytes(), &DocumentLimits::default()).expect("an envelope");
    assert_eq!(
        text(&letter.payload),
        "<ns1:search xmlns:ns1=\"https://xml-pipeline.org/ns/search/v1\"><ns1:query>login</ns1:query></ns1:search>"
    );
}

#[test]
fn lxml_writes_a_declaration_and_the_map_of_its_root() {
    let document = format!(
        "<?xml version='1.0' encoding='UTF-8'?>\n<message xmlns=\"{ENVELOPE}\" xmlns:s=\"urn:s\">\n  <meta>\n    \
         <from>a</from>\n    <thread>new</thread>\n  </meta>\n  <s:search>\n    <s:query>login</s:query>\n  \
         </s:search>\n</message>\n"
    );
    let letter =
        OutsideDocument::parse(document.as_bytes(), &DocumentLimits::default()).expect("an envelope");
    assert_eq!(
        text(&letter.payload),
        "<s:search xmlns:s=\"urn:s\">\n    <s:query>login</s:query>\n  </s:search>"
    );
    let query = text(&letter.payload).find("<s:query>").expect("query");
    let place = letter.payload.place_of(query);
    assert_eq!((place.line, place.column), (8, 5));
    assert_eq!(document.as_bytes()[place.offset..].split_at(9).0, b"<s:query>");
}

#[test]
fn every_offset_of_a_payload_has_its_place_in_the_senders_document() {
    let document = "<!-- \u{e9} -->\n <p:a xmlns:p='u'>\u{e9}<b>x</b>\n</p:a>";
    let payload = Payload::parse(document.as_bytes(), &DocumentLimits::default()).expect("well-formed");
    let graft = " xmlns=\"\"";
    assert_eq!(text(&payload), format!("<p:a{graft} xmlns:p='u'>\u{e9}<b>x</b>\n</p:a>"));
    let start = document.find("<p:a").expect("root");
    for offset in 0..=payload.bytes().len() {
        let back = match offset {
            0..=4 => offset,
            5..=12 => 4,
            _ => offset - graft.len(),
        };
        let expected = systole_kit::Place::from_offset(document.as_bytes(), start + back);
        assert_eq!(payload.place_of(offset), expected, "offset {offset}");
    }
}

#[test]
fn a_payload_needs_a_namespace() {
    for document in ["<a/>", "<a xmlns=''/>", "<a xmlns:p='u' p:b=''><p:c/></a>"] {
        let fault = Payload::parse(document.as_bytes(), &DocumentLimits::default()).expect_err(document);
        assert_eq!((fault.code, fault.place.column), (codes::NO_NAMESPACE, 1));
    }
}

#[test]
fn debug_output_does_not_show_the_content() {
    let payload =
        Payload::parse(b"<a xmlns='u'>secret</a>", &DocumentLimits::default()).expect("well-formed");
    assert_eq!(format!("{payload:?}"), "Payload({u}a, 23 bytes)");
}

#[test]
fn depth_counts_from_the_payload() {
    let nested =
        |depth: usize| format!("<a xmlns='u'>{}{}</a>", "<a>".repeat(depth - 1), "</a>".repeat(depth - 1));
    assert_eq!(carried("", &nested(64)).bytes().len(), nested(64).len());
    let fault = Payload::parse(nested(65).as_bytes(), &DocumentLimits::default()).expect_err("65 deep");
    assert_eq!(fault.code, codes::TOO_DEEP);
}

#[test]
fn what_is_copied_in_counts_for_the_limits() {
    // The declarations of two carriers, all used by one payload.
    let declare = |letter: char| (0..20).map(|n| format!(" xmlns:{letter}{n}='u{n}'")).collect::<String>();
    let uses = (0..20).map(|n| format!("<a{n}:x/><b{n}:x/>")).collect::<String>();
    let document = format!(
        "<e:message xmlns:e='{ENVELOPE}'{}><e:meta><e:from>a</e:from><e:thread>t</e:thread></e:meta>\
         <p xmlns='v'{}>{uses}</p></e:message>",
        declare('a'),
        declare('b')
    );
    let fault =
        OutsideDocument::parse(document.as_bytes(), &DocumentLimits::default()).expect_err("40 declarations");
    assert_eq!(fault.code, codes::TOO_LARGE);
}

#[test]
fn g4_a_payload_says_of_itself_that_it_is_marked_in_either_form_of_true() {
    let marked = |attributes: &str| {
        let document =
            format!("<a xmlns=\"urn:a\" xmlns:o=\"urn:o\"{attributes}><b is_dangerous=\"true\"/></a>");
        Payload::parse(document.as_bytes(), &DocumentLimits::default()).unwrap().is_marked("is_dangerous")
    };
    for yes in [
        " is_dangerous=\"true\"",
        " is_dangerous='1'",
        " c=\"a > b\" is_dangerous=\" true\n\"",
        " is_dangerous=\"&#116;rue\"",
        " c='\"' is_dangerous=\"true\"",
    ] {
        assert!(marked(yes), "{yes}");
    }
    for no in [
        "",
        " is_dangerous=\"false\"",
        " is_dangerous=\"TRUE\"",
        " o:is_dangerous=\"true\"",
        " c=\"is_dangerous\"",
    ] {
        assert!(!marked(no), "{no}");
    }
}
