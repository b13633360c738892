//! The gate: what it refuses and what it accepts, with the code and the place.

use systole_kit::gate::{GateStep, XmlGate, check_document};
use systole_kit::{DocumentLimits, Place, codes};

/// Refused documents, with the code, line and column.
const REFUSED: &[(&str, &str, u32, u32)] = &[
    ("", codes::MALFORMED, 1, 1),
    (" \n ", codes::MALFORMED, 2, 2),
    ("text", codes::MALFORMED, 1, 1),
    ("<!-- only -->", codes::MALFORMED, 1, 14),
    ("<a>", codes::MALFORMED, 1, 4),
    ("<a></b>", codes::MALFORMED, 1, 4),
    ("</a>", codes::MALFORMED, 1, 1),
    ("<a/></a>", codes::MALFORMED, 1, 5),
    ("<a/><b/>", codes::MALFORMED, 1, 5),
    ("<a/>\n  junk", codes::MALFORMED, 2, 3),
    ("junk<a/>", codes::MALFORMED, 1, 1),
    ("<a/>&amp;", codes::MALFORMED, 1, 5),
    ("<a/><![CDATA[x]]>", codes::MALFORMED, 1, 5),
    ("<a><![cdata[x]]></a>", codes::MALFORMED, 1, 4),
    ("<![CDATA[ ]]><a/>", codes::MALFORMED, 1, 1),
    ("<!DOCTYPE a><a/>", codes::FORBIDDEN_CONSTRUCT, 1, 1),
    ("<!doctype a><a/>", codes::FORBIDDEN_CONSTRUCT, 1, 1),
    ("<!DOCTYPE a [", codes::FORBIDDEN_CONSTRUCT, 1, 1),
    ("<?go?><a/>", codes::FORBIDDEN_CONSTRUCT, 1, 1),
    ("<a><?go now?></a>", codes::FORBIDDEN_CONSTRUCT, 1, 4),
    ("<a/><?go?>", codes::FORBIDDEN_CONSTRUCT, 1, 5),
    (" <?xml version=\"1.0\"?><a/>", codes::FORBIDDEN_CONSTRUCT, 1, 2),
    ("<?xml version=\"1.0\"?><?xml version=\"1.0\"?><a/>", codes::FORBIDDEN_CONSTRUCT, 1, 22),
    ("<?XML version=\"1.0\"?><a/>", codes::FORBIDDEN_CONSTRUCT, 1, 1),
    ("<?xml version=\"1.1\"?><a/>", codes::MALFORMED, 1, 7),
    ("<?xml?><a/>", codes::MALFORMED, 1, 6),
    ("<?xml encoding=\"UTF-8\"?><a/>", codes::MALFORMED, 1, 7),
    ("<?xml version=\"1.0\" encoding=\"UTF-7\"?><a/>", codes::MALFORMED, 1, 21),
    ("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a/>", codes::MALFORMED, 1, 21),
    ("<?xml version=\"1.0\" standalone=\"yes\" encoding=\"UTF-8\"?><a/>", codes::MALFORMED, 1, 38),
    ("<?xml version=\"1.0\" version=\"1.0\"?><a/>", codes::MALFORMED, 1, 21),
    ("<a>&foo;</a>", codes::MALFORMED, 1, 4),
    ("<a>&nbsp;</a>", codes::MALFORMED, 1, 4),
    ("<a>& b</a>", codes::MALFORMED, 1, 4),
    ("<a>&;</a>", codes::MALFORMED, 1, 4),
    ("<a>&#;</a>", codes::MALFORMED, 1, 4),
    ("<a>&#x;</a>", codes::MALFORMED, 1, 4),
    ("<a>&#+9;</a>", codes::MALFORMED, 1, 4),
    ("<a>&#X41;</a>", codes::MALFORMED, 1, 4),
    ("<a>&#xd800;</a>", codes::MALFORMED, 1, 4),
    ("<a>&#99999999999;</a>", codes::MALFORMED, 1, 4),
    ("<a>x]]>y</a>", codes::MALFORMED, 1, 5),
    ("<a><!-- a -- b --></a>", codes::MALFORMED, 1, 11),
    ("<a><!-- a ---></a>", codes::MALFORMED, 1, 11),
    ("<a><!--></a>", codes::MALFORMED, 1, 4),
    ("<a><!---></a>", codes::MALFORMED, 1, 4),
    ("<a b='<'/>", codes::MALFORMED, 1, 7),
    ("<a b='&'/>", codes::MALFORMED, 1, 7),
    ("<a b='&x;'/>", codes::MALFORMED, 1, 7),
    ("<a b='1'c='2'/>", codes::MALFORMED, 1, 9),
    ("<a b=1/>", codes::MALFORMED, 1, 6),
    ("<a b/>", codes::MALFORMED, 1, 4),
    ("<a b ='1' c/>", codes::MALFORMED, 1, 11),
    ("<a ='1'/>", codes::MALFORMED, 1, 4),
    ("<a b='1' b='2'/>", codes::MALFORMED, 1, 10),
    ("<a xmlns:p='u' xmlns:p='u'/>", codes::MALFORMED, 1, 16),
    ("<a xmlns='u' xmlns='u'/>", codes::MALFORMED, 1, 14),
    ("<a xmlns:p='u' xmlns:q='u' p:b='1' q:b='1'/>", codes::MALFORMED, 1, 36),
    ("<1a/>", codes::MALFORMED, 1, 2),
    ("< a/>", codes::MALFORMED, 1, 1),
    ("<a/ >", codes::MALFORMED, 1, 2),
    ("<a:/>", codes::MALFORMED, 1, 2),
    ("<:a/>", codes::MALFORMED, 1, 2),
    ("<a:b:c/>", codes::MALFORMED, 1, 2),
    ("<a -b='1'/>", codes::MALFORMED, 1, 4),
    ("<a$/>", codes::MALFORMED, 1, 2),
    ("<\u{d7}/>", codes::MALFORMED, 1, 2),
    ("<p:a/>", codes::UNDECLARED, 1, 2),
    ("<a p:b='1'/>", codes::UNDECLARED, 1, 4),
    ("<xmlns:a/>", codes::UNDECLARED, 1, 2),
    ("<a><b xmlns:p='u'/><p:c/></a>", codes::UNDECLARED, 1, 21),
    ("<a xmlns:p=''/>", codes::MALFORMED, 1, 4),
    ("<a xmlns:xml='u'/>", codes::MALFORMED, 1, 4),
    ("<a xmlns:xmlns='u'/>", codes::MALFORMED, 1, 4),
    ("<a xmlns:p='http://www.w3.org/XML/1998/namespace'/>", codes::MALFORMED, 1, 4),
    ("<a xmlns='http://www.w3.org/2000/xmlns/'/>", codes::MALFORMED, 1, 4),
    ("<a>\n  <b>\n    \u{e9}\u{e9}<c></b></a>", codes::MALFORMED, 3, 10),
    ("<a><![CDATA[x]]", codes::MALFORMED, 1, 4),
    ("<a b='x", codes::MALFORMED, 1, 1),
    ("<a", codes::MALFORMED, 1, 1),
    ("<", codes::MALFORMED, 1, 1),
    ("<a></a", codes::MALFORMED, 1, 4),
    ("<a></a b='1'>", codes::MALFORMED, 1, 4),
    ("<a><!ELEMENT b></a>", codes::MALFORMED, 1, 4),
];

/// Documents that must pass, even if they look odd.
const ACCEPTED: &[&str] = &[
    "<a/>",
    "<a></a >",
    "\n<!-- before --><a/><!-- after -->\n",
    "<?xml version=\"1.0\"?><a/>",
    "<?xml version='1.0' encoding='utf-8' standalone='no'?>\n<a/>",
    "<a b = '>' c\n=\n\"'\"/>",
    "<a>]]</a>",
    "<a>]]&gt;</a>",
    "<a>&lt;&gt;&amp;&quot;&apos;&#65;&#x1F600;&#10;</a>",
    "<a><![CDATA[<b>&x;]] ></b>]]></a>",
    "<a><!-- <b> & ]]> --></a>",
    "<a xml:lang='en' xml:space='preserve'/>",
    "<a xmlns:xml='http://www.w3.org/XML/1998/namespace'/>",
    "<a xmlns='u'><b xmlns=''/></a>",
    "<p:a xmlns:p='u' p:b='1' b='2'/>",
    "<p:a xmlns:p='u'><q:b xmlns:q='u'/><p:c xmlns:p='v'/></p:a>",
    "<\u{e9}t\u{e9}.-1\u{b7}/>",
    "<a>\u{fffd}\u{ff21}\u{10ffff}\t\r\n</a>",
];

#[test]
fn refuses_with_code_and_place() {
    for (document, code, line, column) in REFUSED {
        let fault = check_document(document.as_bytes(), &DocumentLimits::default()).expect_err(document);
        let found = (fault.code, fault.place.line, fault.place.column);
        assert_eq!(found, (*code, *line, *column), "{document}: {fault}");
    }
}

#[test]
fn lets_pass_what_is_well_formed() {
    for document in ACCEPTED {
        check_document(document.as_bytes(), &DocumentLimits::default()).expect(document);
    }
}

#[test]
fn words_follow_the_style_of_refusals() {
    for (document, ..) in REFUSED {
        let fault = check_document(document.as_bytes(), &DocumentLimits::default()).expect_err(document);
        let first = fault.message.chars().next().expect("words");
        assert!(!fault.message.ends_with('.') && !fault.message.contains("failed to"), "{fault}");
        let shouts =
            first.is_uppercase() && !fault.message.starts_with("XML") && !fault.message.starts_with("CDATA");
        assert!(!shouts, "{fault}");
        assert!(fault.message.chars().count() < 300, "{fault}");
    }
}

#[test]
fn the_limits_are_where_they_are_said_to_be() {
    let limits = DocumentLimits::default();
    let nested = |depth: usize| "<a>".repeat(depth) + &"</a>".repeat(depth);
    check_document(nested(64).as_bytes(), &limits).expect("64 deep");
    assert_eq!(check_document(nested(65).as_bytes(), &limits).expect_err("65 deep").code, codes::TOO_DEEP);

    let attributes = |count: usize| {
        let written: Vec<_> = (0..count).map(|number| format!(" a{number}=''")).collect();
        format!("<a{}/>", written.concat())
    };
    check_document(attributes(64).as_bytes(), &limits).expect("64 attributes");
    assert_eq!(
        check_document(attributes(65).as_bytes(), &limits).expect_err("65 attributes").code,
        codes::TOO_LARGE
    );

    let declarations = |count: usize| {
        let written: Vec<_> = (0..count).map(|number| format!(" xmlns:a{number}='u'")).collect();
        format!("<a{}/>", written.concat())
    };
    check_document(declarations(32).as_bytes(), &limits).expect("32 declarations");
    assert_eq!(
        check_document(declarations(33).as_bytes(), &limits).expect_err("33 declarations").code,
        codes::TOO_LARGE
    );

    let named = |bytes: usize| format!("<{}/>", "n".repeat(bytes));
    check_document(named(256).as_bytes(), &limits).expect("a name of 256 bytes");
    assert_eq!(check_document(named(257).as_bytes(), &limits).expect_err("257 bytes").code, codes::TOO_LARGE);

    let sized = |bytes: usize| format!("<a>{}</a>", "x".repeat(bytes - 7));
    check_document(sized(1 << 20).as_bytes(), &limits).expect("1 MiB");
    assert_eq!(
        check_document(sized((1 << 20) + 1).as_bytes(), &limits).expect_err("a byte more").code,
        codes::TOO_LARGE
    );
}

#[test]
fn places_can_be_asked_for_in_any_order() {
    let document = "<a>\n\u{e9}\u{e9}b\n</a>";
    let mut gate = XmlGate::new_strict(document.as_bytes(), &DocumentLimits::default()).expect("UTF-8");
    for offset in [9, 3, 0, 8, 4, 99, 12] {
        let expected = Place::from_offset(document.as_bytes(), offset);
        assert_eq!(gate.find_place(offset), expected, "offset {offset}");
    }
}

#[test]
fn prefixes_by_the_thousand_stay_linear() {
    // Sixty-four elements declare 32 prefixes each. Then the outermost is used as often as the size allows.
    let mut document = String::new();
    for level in 0..63 {
        document.push_str("<a");
        (0..32).for_each(|number| document.push_str(&format!(" xmlns:p{level}n{number}='u'")));
        document.push('>');
    }
    let used = (1_000_000 - document.len()) / "<p0n0:a/>".len();
    document.push_str(&"<p0n0:a/>".repeat(used));
    document.push_str(&"</a>".repeat(63));
    let limits = DocumentLimits { message_bytes: 2 << 20, ..DocumentLimits::default() };
    check_document(document.as_bytes(), &limits).expect("well-formed");
}

/// The steps of a document and its outcome, without places.
fn steps(document: &str) -> Vec<String> {
    let mut told = Vec::new();
    let mut gate = XmlGate::new_strict(document.as_bytes(), &DocumentLimits::default()).expect("it is text");
    loop {
        told.push(match gate.read_step() {
            Ok(GateStep::Done) => break,
            Ok(GateStep::Open(tag)) => {
                format!("<{}> in {:?}, {} deep", tag.local, gate.find_namespace(&tag), gate.depth())
            }
            Ok(GateStep::Text(text)) => {
                let mut value = String::new();
                text.append_to(&mut value);
                value
            }
            Ok(other) => format!("{other:?}"),
            Err(fault) => {
                told.push(format!("{} {} {:?}", fault.code, fault.message, fault.fix));
                break;
            }
        });
    }
    told
}

/// Items that may occur among plain tags.
const OTHERS: &[&str] = &[
    "x",
    " ",
    "\n",
    "&lt;",
    "&#65;",
    "]]>",
    "<!-- <a> -->",
    "<![CDATA[</a>]]>",
    "<?p?>",
    "<1>",
    "<a b='>'/>",
    "<p:a/>",
    "<a b='' b=''/>",
    "\u{feff}",
    "<",
    ">",
    "&",
    "<ä/>",
    "</ä>",
    "<a/",
    "</>",
    "<-a/>",
    "<a:/>",
    "<a=''/>",
];

/// A tag without attributes is read on a fast path, and a blank in it avoids that path. Nothing else may differ.
#[test]
fn a_plain_tag_is_read_as_one_with_a_blank_in_it() {
    let mut seed = 7_u64;
    let mut below = |limit: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).expect("31 bits") % limit
    };
    let names = ["a", "b", "a.b-c", "_d1"];
    let (mut whole, mut broken) = (0, 0);
    for _ in 0..20_000 {
        let (mut plain, mut blank) = ("<r xmlns='u'>".to_owned(), "<r xmlns='u'>".to_owned());
        let mut both = |one: &str, other: &str| {
            plain.push_str(one);
            blank.push_str(other);
        };
        let mut open = vec!["r"];
        for _ in 0..below(14) {
            let name = names[below(names.len())];
            match below(20) {
                0..6 => {
                    both(&format!("<{name}>"), &format!("<{name} >"));
                    open.push(name);
                }
                6..11 => both(&format!("<{name}/>"), &format!("<{name} />")),
                11..16 if open.len() > 1 => {
                    let name = open.pop().expect("one is open");
                    both(&format!("</{name}>"), &format!("</{name} >"));
                }
                16 => both(&format!("</{name}>"), &format!("</{name} >")),
                17 => {
                    let other = OTHERS[below(OTHERS.len())];
                    both(other, other);
                }
                _ => both("text", "text"),
            }
        }
        while below(12) > 0
            && let Some(name) = open.pop()
        {
            both(&format!("</{name}>"), &format!("</{name} >"));
        }
        let told = steps(&plain);
        assert_eq!(told, steps(&blank), "{plain}");
        let ends_well = told.last().is_some_and(|last| last == "Close") && open.is_empty();
        if ends_well { whole += 1 } else { broken += 1 }
    }
    assert!(whole > 3_000 && broken > 3_000, "{whole} {broken}");
}

#[test]
fn what_is_wrong_behind_plain_tags_is_reported_with_its_place() {
    for (document, column) in [
        ("<a><b><c/></b><d></e></a>", 18),
        ("<a><b/><c/><d e=f/></a>", 17),
        ("<a><b><c/>x</b>&no;</a>", 16),
        ("<a><b/><c></c></a><d/>", 19),
        ("<a><b><c></c>", 14),
        ("<a><b/><c", 8),
        ("<a><b/></a></a>", 12),
    ] {
        let fault = check_document(document.as_bytes(), &DocumentLimits::default()).expect_err(document);
        assert_eq!((fault.place.line, fault.place.column), (1, column), "{document}: {fault}");
    }
}
