//! Top-level elements in a stream: any portions give the same pieces, and no byte is lost.

use proptest::prelude::*;
use systole_kit::codes;
use systole_kit::elements::{ElementReader, StreamPiece, StreamRest};

/// Streams and their pieces: elements as they are, strays with a `~` before them, and the rest with a `!`
/// before an open element and a `?` before a stray.
const STREAMS: &[(&str, &[&str])] = &[
    ("", &[]),
    ("<a/>", &["<a/>"]),
    ("<a></a><b/>", &["<a></a>", "<b/>"]),
    ("<a>\n<b/>\n</a>\n", &["<a>\n<b/>\n</a>", "~\n"]),
    ("one\ntwo<a/>three\n", &["~one\n", "~two", "<a/>", "~three\n"]),
    ("a < b and c <d\n<e/>", &["~a < b and c ", "~<d\n", "<e/>"]),
    ("<<a/>", &["~<", "<a/>"]),
    ("</a><b/>", &["~</a>", "<b/>"]),
    ("<a b='>' c=\"/>\" d='</a>'>x</a >", &["<a b='>' c=\"/>\" d='</a>'>x</a >"]),
    ("<a/ ></a>", &["<a/ ></a>"]),
    ("<a><!-- </a> --><![CDATA[</a>]]><?x </a>?></a>", &["<a><!-- </a> --><![CDATA[</a>]]><?x </a>?></a>"]),
    ("<a><!-- - -- ---></a>", &["<a><!-- - -- ---></a>"]),
    ("<a><![CDATA[]]]]]></a>", &["<a><![CDATA[]]]]]></a>"]),
    ("<!-- <a/>\n --><b/>", &["~<!-- <a/>\n -->", "<b/>"]),
    ("<![CDATA[<a/>]]><b/>", &["~<![CDATA[<a/>]]>", "<b/>"]),
    ("<?xml version='1.0'?>\n<?go <a/>?><b/>", &["~<?xml version='1.0'?>\n", "~<?go <a/>?>", "<b/>"]),
    ("<!DOCTYPE a [<!ENTITY b 'c'>]>\n<a/>", &["~<!DOCTYPE a [<!ENTITY b 'c'>]>\n", "<a/>"]),
    ("<![-- <a/>", &["~<![-- ", "<a/>"]),
    ("<!-CDATA[<a/>", &["~<!-CDATA[", "<a/>"]),
    ("<![CDAT<a/>", &["~<![CDAT", "<a/>"]),
    ("<\u{e9}/>\u{e9}\n", &["<\u{e9}/>", "~\u{e9}\n"]),
    ("<a>", &["!<a>"]),
    ("<a b='", &["!<a b='"]),
    ("<a><!-- ", &["!<a><!-- "]),
    ("<a/>tail", &["<a/>", "?tail"]),
    ("<a/><!-- tail", &["<a/>", "?<!-- tail"]),
    ("<a/><", &["<a/>", "?<"]),
];

fn read<'s>(chunks: impl IntoIterator<Item = &'s [u8]>) -> Vec<Vec<u8>> {
    let mut reader = ElementReader::new(1000);
    let mut pieces = Vec::new();
    for chunk in chunks {
        reader.feed_chunk(chunk, &mut pieces).expect("below the cap");
    }
    let marked = |mark: &str, bytes: Vec<u8>| [mark.as_bytes(), &bytes].concat();
    let mut told: Vec<_> = pieces
        .into_iter()
        .map(|piece| match piece {
            StreamPiece::Element(bytes) => bytes,
            StreamPiece::Stray(bytes) => marked("~", bytes),
        })
        .collect();
    match reader.finish() {
        StreamRest::Nothing => {}
        StreamRest::Open(bytes) => told.push(marked("!", bytes)),
        StreamRest::Stray(bytes) => told.push(marked("?", bytes)),
    }
    told
}

#[test]
fn a_stream_falls_into_its_pieces() {
    for (stream, expected) in STREAMS {
        let expected: Vec<_> = expected.iter().map(|piece| piece.as_bytes().to_vec()).collect();
        assert_eq!(read([stream.as_bytes()]), expected, "{stream}");
    }
}

#[test]
fn every_split_gives_the_same_pieces() {
    for (stream, _) in STREAMS {
        let bytes = stream.as_bytes();
        let whole = read([bytes]);
        for first in 0..=bytes.len() {
            for second in first..=bytes.len() {
                let parts = [&bytes[..first], &bytes[first..second], &bytes[second..]];
                assert_eq!(read(parts), whole, "{stream} split at {first} and {second}");
            }
        }
        for size in 1..8 {
            assert_eq!(read(bytes.chunks(size)), whole, "{stream} in portions of {size}");
        }
    }
}

proptest! {
    #[test]
    fn no_split_of_any_stream_matters_and_no_byte_is_lost(
        parts in prop::collection::vec(prop::sample::select(vec![
            "<", ">", "/", "a", " ", "'", "\"", "=", "!", "-", "--", "[CDATA[", "]]", "?", "\n", "<a>", "</a>", "<b/>",
        ]), 0..30),
        size in 1_usize..9,
    ) {
        let stream = parts.concat();
        let whole = read([stream.as_bytes()]);
        prop_assert_eq!(&read(stream.as_bytes().chunks(size)), &whole);
        let unmarked = |piece: &Vec<u8>| match piece.first() {
            Some(b'~' | b'!' | b'?') => piece[1..].to_vec(),
            _ => piece.clone(),
        };
        let again: Vec<u8> = whole.iter().flat_map(unmarked).collect();
        prop_assert_eq!(again, stream.into_bytes());
    }
}

#[test]
fn an_element_over_the_cap_ends_the_stream_at_the_same_byte_in_any_portions() {
    let stream = [b"<a/>\n<b>".as_slice(), &[b'x'; 3000]].concat();
    for size in [1, 4, 999, 1000, 1001, 4000] {
        let mut reader = ElementReader::new(1000);
        let mut pieces = Vec::new();
        let fault = stream
            .chunks(size)
            .find_map(|chunk| reader.feed_chunk(chunk, &mut pieces).err())
            .expect("too large");
        assert_eq!((fault.code, fault.place.offset), (codes::TOO_LARGE, 5));
        assert_eq!(pieces, [StreamPiece::Element(b"<a/>".to_vec()), StreamPiece::Stray(b"\n".to_vec())]);
        assert_eq!(reader.feed_chunk(b"<c/>", &mut pieces).expect_err("ended"), fault);
    }
    // The byte that completes an element may itself exceed the cap.
    let one_more = [b"<a>".as_slice(), &[b'x'; 994], b"</a>"].concat();
    ElementReader::new(1000).feed_chunk(&one_more, &mut Vec::new()).expect_err("one byte over the cap");
    let exact = [b"<a>".as_slice(), &[b'x'; 993], b"</a>"].concat();
    let mut pieces = Vec::new();
    ElementReader::new(1000).feed_chunk(&exact, &mut pieces).expect("exactly the cap");
    assert_eq!(pieces, [StreamPiece::Element(exact)]);
}

#[test]
fn stray_text_without_end_comes_in_parts_and_is_not_held() {
    let chunk = [b'x'; 1000];
    let mut reader = ElementReader::new(1000);
    let mut pieces = Vec::new();
    for _ in 0..1000 {
        reader.feed_chunk(&chunk, &mut pieces).expect("stray text has no cap");
    }
    assert!(pieces.iter().all(|piece| matches!(piece, StreamPiece::Stray(bytes) if bytes.len() == 64 << 10)));
    assert_eq!(pieces.len(), 1_000_000 >> 16);
}
