//! Documents on a stream: the line form means the same as the document, and any portions give the same documents.

use proptest::prelude::*;
use systole_kit::framing::{LengthSplitter, LineSplitter, line_form, with_length};
use systole_kit::gate::{GateStep, XmlGate, check_document};
use systole_kit::{DocumentLimits, codes};

/// The parts of a document that exclusive canonicalisation without comments keeps: names with their prefixes,
/// namespaces and sorted attributes, and each text as one value.
fn meaning(document: &[u8]) -> Vec<String> {
    let mut gate = XmlGate::new_strict(document, &DocumentLimits::default()).expect("UTF-8");
    let (mut told, mut value) = (Vec::new(), String::new());
    loop {
        let step = gate.read_step().expect("well-formed");
        if let GateStep::Text(text) = step {
            text.append_to(&mut value);
            continue;
        }
        told.push(format!("text {:?}", std::mem::take(&mut value)));
        match step {
            GateStep::Done => return told,
            GateStep::Open(tag) => {
                told.push(format!("open {:?} {}:{}", gate.find_namespace(&tag), tag.prefix, tag.local));
                let mut attributes: Vec<_> = gate
                    .attributes()
                    .iter()
                    .map(|a| format!("{:?} {}:{}={:?}", gate.attribute_ns(a), a.prefix, a.local, a.value()))
                    .collect();
                attributes.sort();
                told.extend(attributes);
            }
            _ => told.push("close".to_owned()),
        }
    }
}

/// Documents and their line forms.
const FORMS: &[(&str, &str)] = &[
    ("<a>plain</a>", "<a>plain</a>"),
    ("<?xml version='1.0'?>\n<a/>\n", "<a/>"),
    ("<?xml version='1.0'?><a/>", "<a/>"),
    ("<a>1\n2\r\n3\r4</a>", "<a>1&#10;2&#10;3&#10;4</a>"),
    ("<a>&#13;&#10;\n</a>", "<a>&#13;&#10;&#10;</a>"),
    ("<a\n b='1\n2\r\n3'\r\n\tc='&#10;'\n/>", "<a  b='1 2 3' \tc='&#10;' />"),
    ("<a><![CDATA[<b>&amp;\n\"]]></a\n>", "<a>&lt;b&gt;&amp;amp;&#10;\"</a >"),
    ("<a>1<!-- \n -->2</a>", "<a>12</a>"),
    ("<a>]]<!-- -->></a>", "<a>]]&gt;</a>"),
    ("<a>]]<![CDATA[>]]></a>", "<a>]]&gt;</a>"),
    ("<a>&lt;!-- no comment -->\n</a>", "<a>&lt;!-- no comment --&gt;&#10;</a>"),
];

#[test]
fn the_line_form_is_as_the_format_says() {
    for (document, expected) in FORMS {
        let line = line_form(document.as_bytes()).expect(document);
        assert_eq!(std::str::from_utf8(&line).expect("UTF-8"), *expected);
        assert_eq!(meaning(document.as_bytes()), meaning(&line));
    }
}

#[test]
fn a_document_that_is_one_line_is_not_copied() {
    let line = line_form(b"<a b='1'>x</a>").expect("well-formed");
    assert!(matches!(line, std::borrow::Cow::Borrowed(_)));
}

fn fragment() -> impl Strategy<Value = String> {
    let raw = prop::sample::select(vec![
        "x",
        " ",
        "\n",
        "\r",
        "\r\n",
        "\t",
        "]",
        "]]",
        ">",
        "&gt;",
        "&lt;",
        "&#10;",
        "&#13;",
        "&#9;",
        "'",
        "\"",
        "<![CDATA[]]>",
        "<![CDATA[<a>&amp;\r\n]]>",
        "<![CDATA[]]]]><![CDATA[>]]>",
        "<!--\n-->",
        "<!-- <b> -->",
        "\u{2028}",
        "\u{85}",
        "\u{e9}",
    ]);
    raw.prop_map(str::to_owned)
}

fn element() -> impl Strategy<Value = String> {
    let value = prop::sample::select(vec![
        "",
        "1",
        "a\nb",
        "a\r\nb\tc",
        "&#10;&#13;&#9;",
        ">",
        "&quot;&amp;",
        "\u{e9}",
    ]);
    let space = prop::sample::select(vec![" ", "\n", "\r\n ", "\t"]);
    let leaf = prop::collection::vec(fragment(), 0..5).prop_map(|parts| parts.concat());
    leaf.prop_recursive(3, 24, 4, move |inner| {
        (value.clone(), space.clone(), prop::collection::vec(prop_oneof![inner, fragment()], 0..4)).prop_map(
            |(value, space, inside)| {
                format!("<p:b{space}xmlns:p='u'{space}c=\"{value}\"{space}>{}</p:b{space}>", inside.concat())
            },
        )
    })
    .prop_map(|inside| format!("<a>{inside}</a>"))
}

proptest! {
    #[test]
    fn the_line_form_means_the_same(document in element()) {
        prop_assume!(check_document(document.as_bytes(), &DocumentLimits::default()).is_ok());
        let line = line_form(document.as_bytes()).expect("well-formed");
        prop_assert!(!line.contains(&b'\n') && !line.contains(&b'\r'));
        prop_assert_eq!(meaning(document.as_bytes()), meaning(&line));
        let again = line_form(&line).expect("well-formed");
        prop_assert_eq!(&again, &line);
    }

    #[test]
    fn any_portions_give_the_same_documents(
        documents in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..6),
        portions in prop::collection::vec(1_usize..20, 1..20),
    ) {
        let stream: Vec<u8> = documents.iter().flat_map(|document| with_length(document)).collect();
        let mut reader = LengthSplitter::new(64);
        let mut read = Vec::new();
        portioned(&stream, &portions, |chunk| reader.feed_chunk(chunk, &mut read).expect("well framed"));
        prop_assert_eq!(&read, &documents);
        prop_assert_eq!(reader.finish(), None);

        let mut lines = LineSplitter::new(stream.len());
        let mut read = Vec::new();
        portioned(&stream, &portions, |chunk| lines.feed_chunk(chunk, &mut read).expect("below the cap"));
        read.push(lines.finish().unwrap_or_default());
        prop_assert_eq!(read.join(&b'\n'), stream);
    }
}

/// Passes `stream` on in portions of the given sizes, repeated.
fn portioned(stream: &[u8], portions: &[usize], mut take: impl FnMut(&[u8])) {
    let mut rest = stream;
    for portion in portions.iter().cycle() {
        if rest.is_empty() {
            return;
        }
        let (chunk, tail) = rest.split_at((*portion).min(rest.len()));
        take(chunk);
        rest = tail;
    }
}

#[test]
fn a_line_over_the_cap_ends_the_stream_and_the_lines_before_it_stand() {
    let mut lines = LineSplitter::new(4);
    let mut read = Vec::new();
    let fault = lines.feed_chunk(b"1234\n\n12345\n1\n", &mut read).expect_err("five bytes");
    assert_eq!((fault.code, fault.place.line, fault.place.offset), (codes::TOO_LARGE, 3, 6));
    assert_eq!(read, [b"1234".to_vec(), b"".to_vec()]);
    assert_eq!(lines.feed_chunk(b"1\n", &mut read).expect_err("ended"), fault);
    assert_eq!(lines.finish(), None);
}

#[test]
fn a_length_that_is_none_or_too_large_ends_the_stream() {
    for (stream, code) in [
        ("5\n", codes::TOO_LARGE),
        ("99999999999999999999\n", codes::TOO_LARGE),
        ("999999999999999999999\n", codes::MALFORMED),
        ("\n", codes::MALFORMED),
        ("-1\n", codes::MALFORMED),
        ("2 \n", codes::MALFORMED),
        ("<a/>\n", codes::MALFORMED),
    ] {
        let mut reader = LengthSplitter::new(4);
        let mut read = Vec::new();
        let stream = format!("4\n<a/>{stream}");
        let fault = reader.feed_chunk(stream.as_bytes(), &mut read).expect_err(&stream);
        assert_eq!((fault.code, fault.place.offset), (code, 6), "{stream}");
        assert_eq!(read, [b"<a/>"]);
        assert_eq!(reader.feed_chunk(b"4\n<a/>", &mut read).expect_err("ended"), fault);
    }
}

#[test]
fn a_document_cut_short_is_left_over() {
    let mut reader = LengthSplitter::new(4);
    let mut read = Vec::new();
    reader.feed_chunk(b"4\n<a", &mut read).expect("so far well framed");
    assert!(read.is_empty());
    assert_eq!(reader.finish(), Some(b"<a".to_vec()));
}
