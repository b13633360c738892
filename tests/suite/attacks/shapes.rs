//! Rows 10 to 13, 22, 23, 25 and 34: documents that are too many, too deep, too large or cut off.

use crate::organism::folder;
use crate::program::{Running, run_file};
use crate::siege::{Memory, Siege, python, say};

#[path = "../../../listeners/kit/tests/suite/blows.rs"]
mod blows;

use blows::{Blow, blows, honest};

#[test]
fn row_10_duplicate_attributes() {
    let siege = Siege::begin();
    let inside = |attributes: &str| say(&format!("<text>x</text><z xmlns=\"urn:z\" {attributes}/>"));
    for attributes in ["b=\"1\" b=\"2\"", "xmlns:p=\"urn:p\" xmlns:q=\"urn:p\" p:b=\"1\" q:b=\"2\""] {
        let told = siege.refused(inside(attributes).as_bytes(), "payload.malformed");
        assert_eq!(told["line"], 1);
        siege.foiled(&python(inside(attributes).as_bytes()), "payload.malformed");
    }
    siege.ends_well();
}

#[test]
fn a5_row_11_attributes_and_declarations_without_number() {
    let siege = Siege::begin();
    let attributes: String = (0..80_000).map(|n| format!(" a{n}=\"\"")).collect();
    let declarations: String = (0..40_000).map(|n| format!(" xmlns:a{n}=\"urn:a\"")).collect();
    for many in [attributes, declarations] {
        let document = say(&format!("<text{many}>x</text>"));
        assert!(document.len() < 1 << 20);
        let told = siege.refused(document.as_bytes(), "payload.too-large");
        assert_eq!(told["line"], 1);
    }
    let item = "b'<say xmlns=\"https://xml-pipeline.org/ns/echo/v1\"><text ' + b' '.join(b'a%d=\"\"' % n for n in range(100000)) + b'/></say>'";
    siege.foiled(item, "payload.too-large");
    siege.ends_well();
}

#[test]
fn row_12_nesting_a_million_deep_on_small_stacks() {
    // Each thread of the program has a quarter of a megabyte: code that recurses would crash.
    let siege = Siege::with(&[("RUST_MIN_STACK", "262144")]);
    let deep = say(&format!("<text>x</text>{}", "<a xmlns=\"urn:a\">".repeat(60_000)));
    let told = siege.refused(deep.as_bytes(), "payload.too-deep");
    assert_eq!(told["line"], 1);
    let item = "b'<say xmlns=\"https://xml-pipeline.org/ns/echo/v1\">' + b'<a>' * 1000000 + b'</a>' * 1000000 + b'</say>'";
    siege.foiled(item, "payload.too-deep");
    siege.ends_well();
}

/// Every attack that bytes alone decide, as large as a message may be: at the door, and inside a reply.
#[test]
fn a5_the_largest_blows_are_refused_in_little_memory_from_both_sides() {
    let siege = Siege::begin();
    siege.taken(&honest(1 << 20));
    for Blow { row, what, document, ends_by } in blows(1 << 20) {
        let (refused, _) = siege.post_from_outside(&document);
        let code = refused.json["code"].as_str().unwrap_or_else(|| panic!("row {row}: {what}: {refused:?}"));
        let told = siege.refused(&document, code);
        let (at, most) = (told["column"].as_u64().unwrap(), ends_by.unwrap_or(document.len() + 1) as u64);
        assert!(at <= most, "row {row}: {what}: {told}");
        std::fs::write(siege.folder.path().join("blow"), &document).unwrap();
        // Two roots inside a reply are two items, so the second follows the first there.
        let inside = if row == 22 {
            "reply() + open('blow', 'rb').read()"
        } else {
            "reply(open('blow', 'rb').read())"
        };
        siege.refusal_in(&siege.strike(inside), code, what);
    }
    siege.ends_well();
}

#[test]
fn row_13_large_texts_and_messages() {
    let siege = Siege::begin();
    siege.serves(&"y".repeat(900_000));
    let large = say(&format!("<text>{}</text>", "x".repeat(1_100_000)));
    // It is refused by its announced length, before it is read, so nothing of it is stored.
    let answer = siege.post(large.as_bytes());
    assert_eq!((answer.status, &answer.json["code"]), (413, &"payload.too-large".into()));
    // A message that only the schema refuses is not stored or shown in full either.
    let told =
        siege.refused(say(&format!("<txt>{}</txt>", "x".repeat(900_000))).as_bytes(), "payload.invalid");
    assert!(told["told"].as_str().unwrap().len() < 2_000, "nor is it shown: {told}");
    let item = |size: u32| {
        format!(
            "b'<say xmlns=\"https://xml-pipeline.org/ns/echo/v1\"><text>' + b'x' * {size} + b'</text></say>'"
        )
    };
    siege.foiled(&item(1_100_000), "payload.too-large");
    let struck = siege.strike(&format!("reply({})", item(900_000)));
    assert!(
        struck.records.iter().any(|r| r["code"] == "answer" && r["from"] == "core" || r["from"] == "echo")
    );
    siege.ends_well();
}

/// A listener that prints endlessly and without a line break.
const GUSHER: &str = r#"organism: {name: hello}
listeners:
  gusher:
    run: [python3, -c, "import sys\nsys.stdin.readline()\nwhile True: sys.stdout.write('x' * 65536)"]
    schema: echo.xsd
    accepts: [say]
    returns: [said]
    entry: true
    retry: {attempts: 1}
log: {path: ./hello.db}
console: {listen: "127.0.0.1:0"}
"#;

#[test]
fn row_13_a_stream_without_end_is_closed_with_its_reason() {
    let folder = folder(&[("organism.yaml", GUSHER), ("echo.xsd", crate::organism::ECHO_XSD)]);
    let organism = Running::organism(folder.path());
    let memory = Memory::of(&organism);
    let ran = {
        let file = folder.path().join("say.xml");
        std::fs::write(&file, crate::organism::say("x")).unwrap();
        crate::program::systole(folder.path(), &["send", "--file", "say.xml"])
    };
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("its output cannot be read"), "{ran:?}");
    assert!(memory.grown() < 32 << 20, "{}", memory.grown());
    assert!(run_file(folder.path()).pid == organism.pid());
    assert_eq!(organism.interrupt().code, Some(130));
}

#[test]
fn row_22_documents_that_are_not_exactly_one() {
    let siege = Siege::begin();
    let whole = say("<text>x</text>");
    for document in [
        format!("{whole}junk"),
        format!("{whole}{whole}"),
        String::new(),
        " \n\t".to_owned(),
        "\u{feff}".to_owned(),
        "junk".to_owned(),
        "<!-- nothing -->".to_owned(),
    ] {
        siege.refused(document.as_bytes(), "payload.malformed");
    }
    for behind in ["junk", "<x/>", "<!DOCTYPE x>"] {
        let struck =
            siege.strike(&format!("reply({}) + {}", python(whole.as_bytes()), python(behind.as_bytes())));
        let refusal = struck.records.iter().find(|r| r["kind"] == "refusal").unwrap();
        siege.refusal_in(&struck, refusal["code"].as_str().unwrap(), behind);
    }
    siege.ends_well();
}

#[test]
fn row_23_every_prefix_of_an_envelope_is_refused() {
    let siege = Siege::begin();
    let envelope = format!(
        "<message xmlns=\"https://xml-pipeline.org/ns/envelope/v1\"><meta><from>operator</from><thread>new</thread></meta>{}</message>",
        say("<text>&amp;<![CDATA[x]]><!-- é --></text>")
    );
    for cut in 0..envelope.len() {
        let told = siege.refused(&envelope.as_bytes()[..cut], "payload.malformed");
        assert!(told["line"] == 1, "{cut}: {told}");
    }
    siege.taken(envelope.as_bytes());
    siege.ends_well();
}

#[test]
fn row_23_every_prefix_of_a_reply_is_refused() {
    let siege = Siege::begin();
    let before = siege.last();
    // Its own final follows each prefix. If the prefix named the delivery, the final comes too late;
    // otherwise the final is the answer.
    let length = "len(struck('cut'))";
    let whole = siege.strike(&format!("struck(str({length}))")).told;
    let length: usize = whole.split_once('>').unwrap().1.split_once('<').unwrap().0.parse().unwrap();
    for cut in 1..length {
        let struck = siege.strike(&format!("[struck('cut')[:{cut}], struck('behind')]"));
        assert!(
            struck.told.contains("behind") || struck.told.contains("payload.malformed"),
            "{cut}: {struck:?}"
        );
    }
    for (_, record) in siege.after(before) {
        let body = String::from_utf8_lossy(&record.body);
        assert!(!body.ends_with(">cut</struck>"), "a prefix was taken: {record:?}");
    }
    assert!(siege.strike("struck('cut')").told.contains(">cut<"), "the whole is taken");
    siege.ends_well();
}

#[test]
fn row_25_many_elements_are_taken_within_the_size() {
    let siege = Siege::begin();
    let many =
        format!("<many xmlns=\"https://xml-pipeline.org/ns/echo/v1\">{}</many>", "<i/>".repeat(65_000));
    let answer = siege.taken(many.as_bytes()).pop().unwrap();
    assert!(answer["body"].as_str().unwrap().contains(">65000<"), "{answer}");
    let item = "b'<many xmlns=\"https://xml-pipeline.org/ns/echo/v1\">' + b'<i/>' * 65000 + b'</many>'";
    let struck = siege.strike(&format!("reply({item})"));
    assert!(struck.told.contains("65000"), "{}", struck.told);
    siege.ends_well();
}

#[test]
fn row_34_a_reply_with_a_hundred_thousand_items() {
    let siege = Siege::begin();
    for count in [65, 1_024, 1_025, 100_000] {
        let item = "b'<say xmlns=\"https://xml-pipeline.org/ns/echo/v1\"><text/></say>'";
        let struck = siege.strike(&format!("reply(b''.join([{item}] * {count}))"));
        let refusals: Vec<_> = struck.records.iter().filter(|r| r["kind"] == "refusal").collect();
        assert_eq!(refusals.len(), 1, "{count}: told once: {refusals:?}");
        assert_eq!(refusals[0]["code"], "reply.too-many-items");
        assert!(struck.told.contains("reply.too-many-items"), "{count}: {}", struck.told);
        assert!(!struck.records.iter().any(|r| r["code"] == "call"), "{count}");
    }
    siege.ends_well();
}

#[test]
fn what_a_listener_says_of_itself_is_bounded() {
    let siege = Siege::begin();
    let open = |what: &str, code: &str, words: &str| {
        format!("b'<{what} code=\"' + {code} + b'\">' + {words} + b'</{what}>'")
    };
    let before = siege.last();
    // A message of four megabytes, and a code that no schema accepts.
    let failure = open("failure", "b'c' * 5000", "b'w' * 4000000");
    let struck =
        siege.strike(&format!("reply({}.replace(b'<failure', b'<failure retry=\"false\"'))", failure));
    assert!(struck.told.contains("listener.failed") && struck.told.len() < 100_000, "{}", struck.told.len());
    let again = open("again", "b'c' * 5000", "b'w' * 4000000");
    let struck = siege.strike(&format!("reply({again})"));
    assert!(struck.told.len() < 400_000, "{}", struck.told.len());
    let notice = "b'<notice xmlns=\"urn:systole:listener:v1\" delivery=\"' + D + b'\" code=\"' + b'c' * 5000 + b'\">' + b'w' * 4000000 + b'</notice>'";
    siege.strike(&format!("[{notice}, struck('heard')]"));
    for (position, record) in siege.after(before) {
        assert!(record.body.len() < 400_000, "{} bytes at {position:?}", record.body.len());
        if record.header.from.as_str() == "core" {
            crate::promises::valid_under_core(&record.body);
        }
    }
    siege.ends_well();
}
