//! Values come out of an answer byte for byte as intended.

use proptest::prelude::*;
use systole_kit::extract::ExtractEvent;
use systole_kit::writer::XmlWriter;

use super::{SEARCH, whole};

/// The value of `<query>` in the only action of an answer.
fn query(answer: &str) -> String {
    let events = whole(answer);
    let found = events.iter().find_map(|event| match event {
        ExtractEvent::Action(action) => Some(action.payload.text_of("query").expect("a query")),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("no action in {answer:?}: {events:?}"))
}

fn written(text: &str) -> String {
    let mut writer = XmlWriter::new();
    writer.open("search").xmlns(SEARCH).content(|inside| inside.open("query").text(text));
    String::from_utf8(writer.finish()).expect("text")
}

/// Escaped by hand, as a model is asked to write it.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[test]
fn e5_operators_quotes_and_white_space_come_back_byte_for_byte() {
    for text in
        ["a && b", "a &lt; b", "&amp;amp;", "  \n\t x \n ", "\"q\" 'a'", "]]>", "<![CDATA[x]]>", "", "&#10;"]
    {
        assert_eq!(query(&written(text)), text);
        assert_eq!(query(&format!("<search><query>{}</query></search>", escaped(text))), text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn e5_any_text_that_xml_can_carry_comes_back_byte_for_byte(
        text in prop::collection::vec(
            prop_oneof![
                prop::sample::select(vec!["&", "<", ">", "\"", "'", "`", "```\n", "\n", " ", "\t", "&lt;", "]]>",
                    "</search>", "</query>", "<!--", "<![CDATA[", "&&", "a", "\u{e9}", "\u{1f3e0}"])
                    .prop_map(str::to_owned),
                any::<char>().prop_filter("XML carries it", |c| systole_kit::characters::is_legal(*c) && *c != '\r')
                    .prop_map(String::from),
            ],
            0..60,
        ).prop_map(|parts| parts.concat()),
    ) {
        prop_assert_eq!(&query(&written(&text)), &text);
        let by_hand = format!("Prose.\n<search>\n  <query>{}</query>\n</search>\n", escaped(&text));
        prop_assert_eq!(&query(&by_hand), &text);
    }
}
