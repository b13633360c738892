//! The compact form: the meaning of each text of a type, and the message for a text that is not one.

use systole_kit::compact::{
    BaseType, DeclaredPayload, ElementBody, GroupField, ItemList, ValueRange, ValueType, write_xsd,
};
use systole_kit::schema::SchemaModel;

fn read(text: &str) -> ValueType {
    ValueType::from_text(text).unwrap_or_else(|wrong| panic!("{text}: {wrong:?}")).of
}

fn range(least: Option<&str>, most: Option<&str>) -> ValueRange {
    ValueRange { least: least.map(str::to_owned), most: most.map(str::to_owned) }
}

#[test]
fn every_part_of_a_type_is_read_in_its_place() {
    let all = read("sensitive  word 3..40\t~ [A-Z]{2}-\\d+ = AB-1 -- what  it\n is -- for = you ~ all");
    assert!(all.sensitive);
    assert_eq!((all.base, all.range), (BaseType::Word, range(Some("3"), Some("40"))));
    assert_eq!((all.pattern.as_deref(), all.default.as_deref()), (Some("[A-Z]{2}-\\d+"), Some("AB-1")));
    assert_eq!(all.words.as_deref(), Some("what it is -- for = you ~ all"));
    for (text, base) in [("text", BaseType::Text), ("blob", BaseType::Blob), ("datetime", BaseType::DateTime)]
    {
        let plain = ValueType {
            sensitive: false,
            base,
            range: ValueRange::default(),
            pattern: None,
            default: None,
            words: None,
        };
        assert_eq!(read(text), plain);
    }
    let listed = |values: &[&str]| BaseType::OneOf(values.iter().map(|value| (*value).to_owned()).collect());
    assert_eq!(read("fast|deep |  slow").base, listed(&["fast", "deep", "slow"]));
    assert_eq!(read("date | name").base, listed(&["date", "name"]), "a list of words, whatever they are");
    assert_eq!(read("int ..-1").range, range(None, Some("-1")));
    assert_eq!(read("number 0.5..").range, range(Some("0.5"), None));
    // A sign counts only between blanks.
    assert_eq!(read("text = a=b --c").default.as_deref(), Some("a=b --c"));
    assert_eq!(read("word ~ a=b--c~d").pattern.as_deref(), Some("a=b--c~d"));
}

#[test]
fn what_is_wrong_is_reported_with_its_place_in_the_text() {
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
    for (text, at, fix) in rows {
        let wrong = ValueType::from_text(text).unwrap_err();
        assert_eq!((wrong.at, wrong.fix.as_str()), (at, fix), "{text}: {}", wrong.words);
    }
    assert_eq!(ItemList::parse_range("1..10"), Ok((1, Some(10))));
    assert_eq!(ItemList::parse_range("2.."), Ok((2, None)));
    assert_eq!(ItemList::parse_range("..7"), Ok((0, Some(7))));
    for bad in ["", "..", "3", "5..1", "..0", "1..10001", "-1..5", "1..x", "1 .. 5"] {
        assert!(ItemList::parse_range(bad).is_err(), "{bad}");
    }
}

/// `..50` and `>50` leave no number between them.
#[test]
fn a13_an_end_of_a_range_of_numbers_may_be_left_out() {
    let is = |text: &str, value: &str| {
        let body = ElementBody::Type(read(text));
        let payload = DeclaredPayload { name: "n".to_owned(), dangerous: false, body };
        let model = SchemaModel::from_xsd(&write_xsd("urn:x", &[payload])).unwrap();
        model.explain_payload(format!("<n xmlns='urn:x'>{value}</n>").as_bytes()).is_none()
    };
    for (text, fit, unfit) in [
        ("number >50", &["50.005", "51"][..], &["50", "50.0", "-1"][..]),
        ("number <100", &["99.999", "-5"], &["100"]),
        ("number >0..<100", &["0.001", "99"], &["0", "100"]),
        ("number 0.01..<0.5", &["0.01"], &["0.5"]),
        ("int >5", &["6"], &["5"]),
    ] {
        assert!(fit.iter().all(|value| is(text, value)), "{text}");
        assert!(unfit.iter().all(|value| !is(text, value)), "{text}");
    }
    for (text, at, fix) in [
        ("number > 50", 7..11, ">50"),
        ("number >=50", 7..11, "50.."),
        ("number>50", 0..9, "number >50"),
        ("number >5..<5", 7..13, "5..5"),
        ("number >5..3", 7..12, "3..5"),
        ("number <5..9", 7..9, "two numbers, as 1..100"),
        ("int >5 = 5", 9..10, "= 6"),
        ("text >5", 5..7, "the next whole number, without the sign"),
    ] {
        let wrong = ValueType::from_text(text).unwrap_err();
        assert_eq!((wrong.at, wrong.fix.as_str()), (at, fix), "{text}: {}", wrong.words);
    }
    assert!(ItemList::parse_range(">3").is_err());
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
        ">",
        "<",
    ];
    for one in pieces {
        for two in pieces {
            for three in pieces {
                let text = [one, two, three].concat();
                if let Err(wrong) = ValueType::from_text(&text) {
                    assert!(text.get(wrong.at.clone()).is_some(), "{text}: {:?}", wrong.at);
                    assert!(!wrong.words.is_empty() && !wrong.fix.is_empty(), "{text}");
                }
            }
        }
    }
}

#[test]
fn a_default_says_that_a_field_may_be_left_out_and_never_fills_it_in() {
    let field = |name: &str, text: &str| GroupField {
        name: name.to_owned(),
        optional: false,
        body: ElementBody::Type(read(text)),
    };
    let fields = vec![field("a", "int 1..9 = 5"), field("b", "int")];
    let payload = DeclaredPayload {
        name: "p".to_owned(),
        dangerous: false,
        body: ElementBody::Group { about: None, fields },
    };
    let schema = write_xsd("urn:x", &[payload]);
    let text = String::from_utf8(schema.clone()).unwrap();
    assert!(text.contains("name=\"a\" minOccurs=\"0\" systole:default=\"5\""), "{text}");
    assert!(!text.contains(" default="), "{text}");
    let model = SchemaModel::from_xsd(&schema).unwrap();
    assert_eq!(model.explain_payload(b"<p xmlns='urn:x'><b>1</b></p>"), None);
    assert!(model.explain_payload(b"<p xmlns='urn:x'><a>1</a></p>").is_some());
}

/// The block of the golden table's schema `task`: every type, each in an optional field except the first.
const TASK: [(&str, &str); 14] = [
    ("name", "line 2..20 -- what it is called"),
    ("note", "text ..40"),
    ("owner", "word"),
    ("code", "word ~ [A-Z]{2}-\\d{3}"),
    ("count", "int 1..999 = 1"),
    ("weight", "number 0.5..80"),
    ("done", "bool"),
    ("due", "date"),
    ("at", "datetime"),
    ("pause", "duration"),
    ("home", "uri"),
    ("photo", "blob"),
    ("mode", "fast | deep | slow"),
    ("secret", "sensitive word 4..8"),
];

/// The golden table makes its mistakes against an XSD built from a block, as users write it.
#[test]
fn a9_the_schema_task_of_the_golden_table_is_made_of_a_block() {
    let field =
        |name: &str, optional: bool, body: ElementBody| GroupField { name: name.to_owned(), optional, body };
    let list = |item: ElementBody, range: &str| {
        let (least, most) = ItemList::parse_range(range).expect("the range is one");
        ElementBody::List(ItemList { item: Box::new(item), least, most })
    };
    let mut fields: Vec<GroupField> =
        TASK.iter().map(|(name, text)| field(name, *name != "name", ElementBody::Type(read(text)))).collect();
    fields.push(field("tags", true, list(ElementBody::Type(read("word")), "1..3")));
    let line = vec![
        field("sku", false, ElementBody::Type(read("word"))),
        field("quantity", false, ElementBody::Type(read("int 1..999"))),
    ];
    fields.push(field("lines", true, list(ElementBody::Group { about: None, fields: line }, "2..3")));
    let payload =
        |name: &str, body: ElementBody| DeclaredPayload { name: name.to_owned(), dangerous: false, body };
    let block = [
        payload("task", ElementBody::Group { about: Some("Something to do.".to_owned()), fields }),
        payload("stop", ElementBody::Group { about: None, fields: Vec::new() }),
        payload("thought", ElementBody::Type(read("text"))),
        payload("story", ElementBody::Type(read("text ..440"))),
    ];
    crate::golden::golden("tests/suite/golden/schemas/task.xsd", write_xsd("urn:test:task", &block));
}

/// A type that is too long is reported with its name and place: words are one of several parts that can make it
/// long.
#[test]
fn a_type_that_is_too_long_is_told_by_what_makes_it_long() {
    let long = "x".repeat(4200);
    let several = (0..900).map(|n| format!("w{n}")).collect::<Vec<_>>().join(" | ");
    for (text, from, fix) in [
        (format!("text ~ {long} -- word"), 7, "a shorter regex behind ~, or none"),
        (format!("text = {long} -- word"), 7, "a shorter default behind =, or none"),
        (format!("text -- {long}"), 8, "shorter words behind --"),
        (format!("sensitive {several} -- word"), 0, "fewer or shorter values between |, or text"),
        (long.clone(), 0, "a type in few letters, as text"),
    ] {
        let wrong = ValueType::from_text(&text).unwrap_err();
        assert_eq!((wrong.at.start, wrong.fix.as_str()), (from, fix), "{}", wrong.words);
        assert_eq!(wrong.words, format!("{} bytes long, where 4096 are the most", text.len()));
    }
}
