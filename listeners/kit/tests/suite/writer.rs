//! The writer: for any input, its output is well-formed and reads back to that input.

use systole_kit::DocumentLimits;
use systole_kit::gate::{GateStep, XmlGate, check_document};
use systole_kit::writer::{XmlName, XmlWriter, make_visible};

#[test]
fn escapes_what_a_parser_would_read_otherwise() {
    let mut writer = XmlWriter::new();
    writer.open("a").attr("b", "\"'<>&\t\r\n ").text("\"'<>&]]>\t\r\n ");
    let expected = "<a b=\"&quot;'&lt;&gt;&amp;&#9;&#13;&#10; \">\"'&lt;&gt;&amp;]]&gt;\t&#13;\n </a>";
    assert_eq!(String::from_utf8(writer.finish()).expect("UTF-8"), expected);
}

#[test]
fn every_character_is_written_readable() {
    // In steps, so that each plane and every forbidden character near a border is covered.
    let all: String = (0..=0x10_ffff_u32)
        .filter(|code| *code < 0x1_0000 || code % 97 == 0)
        .filter_map(char::from_u32)
        .collect();
    let mut writer = XmlWriter::new();
    writer.open("a").attr("b", &all).text(&all);
    let document = writer.finish();
    let limits = DocumentLimits { message_bytes: 16 << 20, ..DocumentLimits::default() };
    check_document(&document, &limits).expect("well-formed");
    let mut gate = XmlGate::new_strict(&document, &limits).expect("UTF-8");
    assert!(matches!(gate.read_step(), Ok(GateStep::Open(_))));
    let replaced = |c: char| if systole_kit::characters::is_legal(c) { c } else { '\u{fffd}' };
    let expected: String = all.chars().map(replaced).collect();
    assert!(gate.find_attribute("b").expect("b") == expected);
    assert!(gate.text_inside().expect("text") == expected);
}

#[test]
fn a_character_is_written_alike_alone_and_among_others() {
    let in_text = |text: &str| {
        let mut writer = XmlWriter::new();
        writer.open("a").text(text);
        String::from_utf8(writer.finish()).expect("UTF-8")
    };
    let in_attribute = |text: &str| {
        let mut writer = XmlWriter::new();
        writer.open("a").attr("b", text).empty();
        String::from_utf8(writer.finish()).expect("UTF-8")
    };
    // The special characters are at both ends: ASCII, and the non-characters below U+10000.
    for character in ('\0'..'\u{800}').chain('\u{ff00}'..'\u{10100}') {
        let (alone, among) = (character.to_string(), format!("&{character}"));
        assert_eq!(in_text(&alone), in_text(&among).replacen("&amp;", "", 1), "{character:?}");
        assert_eq!(in_attribute(&alone), in_attribute(&among).replacen("&amp;", "", 1), "{character:?}");
    }
}

#[test]
fn an_element_that_is_let_go_is_closed() {
    let mut writer = XmlWriter::new();
    writer.open("a").content(|inside| {
        let _start = inside.open("b").attr("c", "1");
    });
    assert_eq!(writer.finish(), b"<a><b c=\"1\"/></a>");
}

#[test]
fn names_that_are_none_are_not_taken() {
    assert!(XmlName::new("p:a-1.\u{e9}").is_some());
    for name in ["", "1a", "a b", "a>", ":a", "a:", "a:b:c", "a\"", "\u{300}a"] {
        assert!(XmlName::new(name).is_none(), "{name}");
    }
}

#[test]
fn visible_text_cannot_pretend_to_have_been_hidden() {
    assert_eq!(make_visible("\\u{1b}"), "\\u{5c}u{1b}");
    assert_eq!(make_visible("C:\\users \u{1f600} \u{e9}\n\t"), "C:\\users \u{1f600} \u{e9}\n\t");
}
