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
            "a type: text, line, word, int, number, bool, date, datetime, duration, uri, blob, file, or words as fast | deep",
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

#[test]
fn e20_a_file_has_types_and_a_largest_size() {
    let all = ["image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"];
    let largest = (8 << 20).to_string();
    for (text, types, most) in [
        ("file", &all[..], largest.as_str()),
        ("file image/png|image/jpeg ..5MiB", &all[..2], "5242880"),
        ("file image/png | application/pdf -- a plan", &["image/png", "application/pdf"], &largest),
        ("file ..500KiB", &all, "512000"),
        ("file ..100", &all, "100"),
    ] {
        let of = read(text);
        assert_eq!(of.base, BaseType::File(types.iter().map(|one| (*one).to_owned()).collect()), "{text}");
        assert_eq!(of.range, range(None, Some(most)), "{text}");
        let body = ElementBody::Type(of);
        let fields = vec![GroupField { name: "photo".to_owned(), optional: false, body }];
        let body = ElementBody::Group { about: None, fields };
        let payload = DeclaredPayload { name: "report".to_owned(), dangerous: false, body };
        let model = SchemaModel::from_xsd(&write_xsd("urn:x", &[payload])).unwrap();
        let report = |inside: &str| format!("<report xmlns='urn:x'><photo {inside}/></report>").into_bytes();
        let hash = "0a".repeat(32);
        let attributes = format!("sha256='{hash}' type='{}' bytes='100' name='a b.png'", types[0]);
        let right = report(&attributes);
        assert_eq!(model.explain_payload(&right), None, "{text}");
        let [found] = model.find_files(&right).try_into().unwrap();
        assert_eq!(&right[found.span], format!("<photo {attributes}/>").as_bytes());
        assert!(
            model.explain_payload(&report(&format!("sha256='{hash}' type='image/bmp' bytes='1'"))).is_some()
        );
        // Authors who know files by numbers write these.
        let numbered = model.with_file_numbers();
        assert_eq!(numbered.explain_payload(&report("file='2'")), None, "{text}");
        assert_eq!(numbered.find_files(&report("file='2'"))[0].number.as_deref(), Some("2"));
        assert!(numbered.explain_payload(&right).is_some(), "{text}");
    }
    assert_eq!(
        read("file|folder").base,
        BaseType::OneOf(vec!["file".to_owned(), "folder".to_owned()]),
        "a list of words, whatever they are"
    );
    assert!(matches!(read("file | folder").base, BaseType::OneOf(_)));
    for (text, at, fix) in [
        ("file png", 5..8, "image/png"),
        ("file image/pnq", 5..14, "image/png"),
        ("file image/png|image/png", 15..24, "leave one out"),
        ("file ..9MiB", 5..11, "..8MiB, or leave it out"),
        ("file ..0", 5..8, "the largest size, as ..5MiB or ..500KiB"),
        ("file 1..5", 5..9, "the largest size, as ..5MiB or ..500KiB"),
        ("file ..5MiB image/png", 12..21, "-- image/png"),
        ("file = x", 5..6, "leave = out; NAME? for a file that may be left out"),
        ("file ~ x", 7..8, "leave ~ and the regex out"),
        ("sensitive file", 0..14, "leave sensitive out"),
        ("picture", 0..7, "file image/png|image/jpeg"),
    ] {
        let wrong = ValueType::from_text(text).unwrap_err();
        assert_eq!((wrong.at, wrong.fix.as_str()), (at, fix), "{text}: {}", wrong.words);
    }
}

#[test]
fn e20_only_an_element_with_the_type_of_a_file_is_marked_as_one() {
    let schema = |attributes: &str| {
        format!(
            r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:systole="urn:systole:schema:v1" targetNamespace="urn:x" elementFormDefault="qualified">
<xs:element name="report"><xs:complexType><xs:sequence><xs:element name="photo" systole:file="true"><xs:complexType>{attributes}</xs:complexType></xs:element></xs:sequence></xs:complexType></xs:element></xs:schema>"#
        )
    };
    let simple = |name: &str, base: &str, facets: &str| {
        format!(
            r#"<xs:attribute name="{name}" use="required"><xs:simpleType><xs:restriction base="{base}">{facets}</xs:restriction></xs:simpleType></xs:attribute>"#
        )
    };
    let hash = simple("sha256", "xs:string", r#"<xs:pattern value="[0-9a-f]{64}"/>"#);
    let media = simple("type", "xs:string", r#"<xs:enumeration value="image/png"/>"#);
    let bounds = r#"<xs:minInclusive value="1"/><xs:maxInclusive value="1024"/>"#;
    let bytes = simple("bytes", "xs:int", bounds);
    let right = SchemaModel::from_xsd(schema(&format!("{hash}{media}{bytes}")).as_bytes()).unwrap();
    assert!(right.has_files());
    let token = media.replace("xs:string", "xs:token");
    let other = media.replace("image/png", "image/svg+xml");
    for attributes in [
        String::new(),
        format!("{hash}{media}"),
        format!("{hash}{media}{}", bytes.replace("\"1\"", "\"-5\"")),
        format!("{hash}{token}{bytes}"),
        format!("{hash}{other}{bytes}"),
        format!("{}{media}{bytes}", hash.replace("{64}", "{6}")),
        format!(r#"{hash}{media}{bytes}<xs:attribute name="of" type="xs:string"/>"#),
    ] {
        let unfit = SchemaModel::from_xsd(schema(&attributes).as_bytes()).unwrap_err();
        assert!(unfit[0].message.contains("systole:file"), "{attributes}: {unfit:?}");
    }
}
