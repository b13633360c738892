//! The compact form: what each text of a type means, and what is told of one that is none.

use systole_kit::compact::{Base, Body, Field, List, Payload, Range, Type, xsd};
use systole_kit::schema::Model;

fn read(text: &str) -> Type {
    Type::read(text).unwrap_or_else(|wrong| panic!("{text}: {wrong:?}")).of
}

fn range(least: Option<&str>, most: Option<&str>) -> Range {
    Range { least: least.map(str::to_owned), most: most.map(str::to_owned) }
}

#[test]
fn every_part_of_a_type_is_read_in_its_place() {
    let all = read("sensitive  word 3..40\t~ [A-Z]{2}-\\d+ = AB-1 -- what  it\n is -- for = you ~ all");
    assert!(all.sensitive);
    assert_eq!((all.base, all.range), (Base::Word, range(Some("3"), Some("40"))));
    assert_eq!((all.pattern.as_deref(), all.default.as_deref()), (Some("[A-Z]{2}-\\d+"), Some("AB-1")));
    assert_eq!(all.words.as_deref(), Some("what it is -- for = you ~ all"));
    for (text, base) in [("text", Base::Text), ("blob", Base::Blob), ("datetime", Base::DateTime)] {
        let plain = Type {
            sensitive: false,
            base,
            range: Range::default(),
            pattern: None,
            default: None,
            words: None,
        };
        assert_eq!(read(text), plain);
    }
    let listed = |values: &[&str]| Base::OneOf(values.iter().map(|value| (*value).to_owned()).collect());
    assert_eq!(read("fast|deep |  slow").base, listed(&["fast", "deep", "slow"]));
    assert_eq!(read("date | name").base, listed(&["date", "name"]), "a list of words, whatever they are");
    assert_eq!(read("int ..-1").range, range(None, Some("-1")));
    assert_eq!(read("number 0.5..").range, range(Some("0.5"), None));
    // A sign counts between blanks only.
    assert_eq!(read("text = a=b --c").default.as_deref(), Some("a=b --c"));
    assert_eq!(read("word ~ a=b--c~d").pattern.as_deref(), Some("a=b--c~d"));
}

#[test]
fn what_is_wrong_is_told_with_its_place_in_the_text() {
    let rows = [
        ("itn", 0..3, "int"),
        ("  itn ..5", 2..5, "int"),
        ("int 1-5 = 3", 4..7, "1..5"),
        ("int 1..5 = 9 -- x", 11..12, "= 5"),
        ("word ~ [a -- x", 7..9, "a simpler regex of XSD, which matches the whole value without ^ and $"),
        ("é | é", 5..7, "leave one out"),
        ("int\u{a0}5..x", 8..9, "two numbers, as 1..100"),
        ("text --", 5..7, "words, as -- what to look for; or leave -- out"),
        ("text \u{1} x", 5..6, "leave it out"),
        (
            "",
            0..0,
            "a type: text, line, word, int, number, bool, date, datetime, duration, uri, blob, or words as fast | deep",
        ),
    ];
    for (text, at, mend) in rows {
        let wrong = Type::read(text).unwrap_err();
        assert_eq!((wrong.at, wrong.mend.as_str()), (at, mend), "{text}: {}", wrong.words);
    }
    assert_eq!(List::range("1..10"), Ok((1, Some(10))));
    assert_eq!(List::range("2.."), Ok((2, None)));
    assert_eq!(List::range("..7"), Ok((0, Some(7))));
    for bad in ["", "..", "3", "5..1", "..0", "1..10001", "-1..5", "1..x", "1 .. 5"] {
        assert!(List::range(bad).is_err(), "{bad}");
    }
}

#[test]
fn no_text_of_a_type_breaks_the_reader() {
    let pieces = [
        "int",
        "text",
        " ",
        "..",
        "1",
        "-- ",
        "~ ",
        "= ",
        "|",
        "é",
        "[",
        "\u{2028}",
        "sensitive ",
        "~",
        "=",
        "-",
    ];
    for one in pieces {
        for two in pieces {
            for three in pieces {
                let text = [one, two, three].concat();
                if let Err(wrong) = Type::read(&text) {
                    assert!(text.get(wrong.at.clone()).is_some(), "{text}: {:?}", wrong.at);
                    assert!(!wrong.words.is_empty() && !wrong.mend.is_empty(), "{text}");
                }
            }
        }
    }
}

#[test]
fn a_default_says_that_a_field_may_be_left_out_and_never_fills_it_in() {
    let field = |name: &str, text: &str| Field {
        name: name.to_owned(),
        optional: false,
        body: Body::Type(read(text)),
    };
    let fields = vec![field("a", "int 1..9 = 5"), field("b", "int")];
    let payload =
        Payload { name: "p".to_owned(), dangerous: false, body: Body::Group { about: None, fields } };
    let schema = xsd("urn:x", &[payload]);
    let text = String::from_utf8(schema.clone()).unwrap();
    assert!(text.contains("name=\"a\" minOccurs=\"0\" systole:default=\"5\""), "{text}");
    assert!(!text.contains(" default="), "{text}");
    let model = Model::read(&schema).unwrap();
    assert_eq!(model.explain(b"<p xmlns='urn:x'><b>1</b></p>"), None);
    assert!(model.explain(b"<p xmlns='urn:x'><a>1</a></p>").is_some());
}
