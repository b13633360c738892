//! The answers to questions: pages of a view, and bytes that are text or are not.

use proptest::prelude::*;
use systole_kit::ask::{
    BytePage, ByteSource, MessageSpot, ModelWords, StoredBlob, ViewEntry, ViewedMessage, ViewedPage,
};
use systole_kit::{DocumentLimits, Payload};

fn payload(document: &str) -> Payload {
    Payload::parse(document.as_bytes(), &DocumentLimits::default()).expect("a payload")
}

#[test]
fn a_page_of_a_view_is_read_back_and_its_bytes_are_fixed() {
    let shown = |seq, spot, document| {
        ViewEntry::Message(ViewedMessage {
            seq,
            from: "search".into(),
            to: None,
            spot,
            payload: payload(document),
        })
    };
    let words = |turn, tokens, text: &str| {
        let (stop, text) = ("end".to_owned(), text.to_owned());
        ViewEntry::Words(ModelWords { turn, stop, tokens_in: tokens, tokens_out: tokens, text })
    };
    let page = ViewedPage {
        count: 9,
        next: Some(5),
        mark: "00000aff".into(),
        began: "2026-11-20".into(),
        shown: vec![
            shown(1, MessageSpot::Request, "<q xmlns='u'>a &lt; b</q>"),
            words(1, Some(7), "<thinking>\r\n a & b"),
            shown(2, MessageSpot::Said { turn: 1, ordinal: 0 }, "<p:q xmlns:p='u'/>"),
            shown(3, MessageSpot::Answer { turn: 1, ordinal: 0 }, "<q xmlns='u'><q/></q>"),
            shown(4, MessageSpot::Inbox { turn: 2 }, "<q xmlns='u'/>"),
            words(2, None, ""),
        ],
    };
    let written = page.to_payload();
    assert_eq!(
        String::from_utf8_lossy(written.bytes()),
        "<view xmlns=\"urn:systole:listener:v1\" count=\"9\" next=\"5\" mark=\"00000aff\" began=\"2026-11-20\">\
         <message seq=\"1\" from=\"search\" sort=\"request\"><q xmlns='u'>a &lt; b</q></message>\
         <words turn=\"1\" stop=\"end\" in=\"7\" out=\"7\">&lt;thinking&gt;&#13;\n a &amp; b</words>\
         <message seq=\"2\" from=\"search\" sort=\"said\" turn=\"1\" ordinal=\"0\"><p:q xmlns:p='u'/></message>\
         <message seq=\"3\" from=\"search\" sort=\"answer\" turn=\"1\" ordinal=\"0\"><q xmlns='u'><q/></q></message>\
         <message seq=\"4\" from=\"search\" sort=\"inbox\" turn=\"2\"><q xmlns='u'/></message>\
         <words turn=\"2\" stop=\"end\"></words></view>"
    );
    assert_eq!(page.messages().map(|message| message.seq).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert_eq!(ViewedPage::from_payload(&written), Ok(page.clone()));
    let empty = ViewedPage { count: 3, next: None, shown: Vec::new(), ..page };
    assert_eq!(ViewedPage::from_payload(&empty.to_payload()), Ok(empty));
}

#[test]
fn what_is_no_view_is_told_so() {
    for (document, words) in [
        ("<view xmlns='u' count='1' mark='m' began='d'/>", "holds no view"),
        ("<view xmlns='urn:systole:listener:v1'/>", "count"),
        ("<view xmlns='urn:systole:listener:v1' count='x'/>", "not a whole number"),
        ("<view xmlns='urn:systole:listener:v1' count='1' began='d'/>", "no attribute mark"),
        ("<view xmlns='urn:systole:listener:v1' count='1' mark='m'/>", "no attribute began"),
        (
            "<view xmlns='urn:systole:listener:v1' count='1' mark='m' began='d'><words turn='1'/></view>",
            "no attribute stop",
        ),
        (
            "<view xmlns='urn:systole:listener:v1' count='1' mark='m' began='d'><other/></view>",
            "a view shows no <other>",
        ),
        (
            "<view xmlns='urn:systole:listener:v1' count='1' mark='m' began='d'><message seq='1' from='a' sort='x'/></view>",
            "no sort",
        ),
        (
            "<view xmlns='urn:systole:listener:v1' count='1' mark='m' began='d'><message seq='1' from='a' sort='request'/></view>",
            "holds no payload",
        ),
        (
            "<view xmlns='urn:systole:listener:v1' count='1' mark='m' began='d'><message seq='1' from='a' sort='request'>\
             <a xmlns='u'/><b xmlns='u'/></message></view>",
            "more than one payload",
        ),
    ] {
        let fault = ViewedPage::from_payload(&payload(document)).expect_err(document);
        assert!(fault.to_string().contains(words), "{document}: {fault}");
    }
}

#[test]
fn bytes_are_shown_as_text_where_they_are_text() {
    let shown = |bytes: &[u8]| {
        let page = BytePage::cut_page(bytes, 0, 100).expect("a page");
        String::from_utf8_lossy(page.to_payload(ByteSource::Schema("calc")).bytes()).into_owned()
    };
    let start = "<schema xmlns=\"urn:systole:listener:v1\" name=\"calc\"";
    assert_eq!(shown(b"<a>\r"), format!("{start} total=\"4\">&lt;a&gt;&#13;</schema>"));
    assert_eq!(shown(b"\xff\x00"), format!("{start} total=\"2\" encoding=\"hex\">ff00</schema>"));
    assert_eq!(shown(b""), format!("{start} total=\"0\"></schema>"));
    assert_eq!(BytePage::cut_page(b"abc", 3, 2), None);
    assert_eq!(BytePage::cut_page(b"abc", u64::MAX, 2), None);
}

#[test]
fn that_a_text_is_kept_is_said_without_it() {
    let put = StoredBlob { hash: "ab".repeat(32), total: 9 };
    let written = put.to_payload();
    let told = format!("<blob xmlns=\"urn:systole:listener:v1\" hash=\"{}\" total=\"9\"/>", put.hash);
    assert_eq!(String::from_utf8_lossy(written.bytes()), told);
    assert_eq!(StoredBlob::from_payload(&written), Ok(put));
    for (document, words) in [
        ("<schema xmlns='urn:systole:listener:v1' hash='a' total='1'/>", "does not say"),
        ("<blob xmlns='urn:systole:listener:v1' total='1'/>", "no attribute hash"),
        ("<blob xmlns='urn:systole:listener:v1' hash='a'/>", "no attribute total"),
    ] {
        let fault = StoredBlob::from_payload(&payload(document)).expect_err(document);
        assert!(fault.to_string().contains(words), "{document}: {fault}");
    }
}

proptest! {
    #[test]
    fn bytes_come_back_page_by_page(
        all in prop_oneof![prop::collection::vec(any::<u8>(), 0..200), ".{0,60}".prop_map(String::into_bytes)],
        most in 1usize..40,
    ) {
        let (mut read, mut from) = (Vec::new(), Some(0));
        while let Some(start) = from {
            let page = BytePage::cut_page(&all, start, most).expect("it begins there");
            let back = BytePage::from_payload(&page.to_payload(ByteSource::Blob("ab"))).expect("its own payload");
            prop_assert_eq!(&back, &page);
            prop_assert!(page.bytes.len() <= most.max(1) && page.total == all.len() as u64);
            read.extend(page.bytes);
            from = page.next;
        }
        prop_assert_eq!(read, all);
    }
}
