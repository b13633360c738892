//! `systole schema diff`: what a change of schemas does, by their models and by the messages of a log.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use systole_core::types::body_parts::{BodyHole, PartSeal};
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::{Commit, LogWriter as _};
use systole_core::types::record::{Record, head_zero};
use systole_judge::{LibxmlJudge, SchemaSource, SchemaVerdict};
use systole_kit::schema::{ElementChange, SchemaModel};
use systole_log::sqlite;

use crate::log_records::{Author, Folder, batch, root};
use crate::program::systole;

/// A schema of one element `order` with this content, in `urn:t`.
fn schema(order: &str) -> String {
    format!(
        r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:t="urn:t" targetNamespace="urn:t" elementFormDefault="qualified">
<xs:element name="order"><xs:complexType>
{order}
</xs:complexType></xs:element>
</xs:schema>"#
    )
}

fn sequence(parts: &str) -> String {
    schema(&format!("<xs:sequence>\n{parts}\n</xs:sequence>"))
}

/// A number with these facets.
fn number(facets: &str) -> String {
    sequence(&format!(
        r#"<xs:element name="n"><xs:simpleType><xs:restriction base="xs:int">{facets}</xs:restriction></xs:simpleType></xs:element>"#
    ))
}

fn text(facets: &str) -> String {
    sequence(&format!(
        r#"<xs:element name="s"><xs:simpleType><xs:restriction base="xs:string">{facets}</xs:restriction></xs:simpleType></xs:element>"#
    ))
}

const A: &str = r#"<xs:element name="a" type="xs:string"/>"#;
const B: &str = r#"<xs:element name="b" type="xs:int"/>"#;
const B_OPTIONAL: &str = r#"<xs:element name="b" type="xs:int" minOccurs="0"/>"#;
const B_MANY: &str = r#"<xs:element name="b" type="xs:int" minOccurs="0" maxOccurs="unbounded"/>"#;
const B_LONG: &str = r#"<xs:element name="b" type="xs:long"/>"#;

/// Changes with what they are, and the reverse of each.
fn changes() -> Vec<(String, String, ElementChange, ElementChange)> {
    use ElementChange::{Compatible, Incompatible, Narrower, Same};
    let both = |parts: [&str; 2]| sequence(&parts.concat());
    let choice = |parts: &[&str]| schema(&format!("<xs:choice>{}</xs:choice>", parts.concat()));
    let attribute = |use_: &str| {
        schema(&format!("<xs:sequence>{A}</xs:sequence><xs:attribute name=\"x\" type=\"xs:string\" {use_}/>"))
    };
    let up_to = |most: &str| format!("<xs:maxInclusive value=\"{most}\"/>");
    let values =
        |all: &[&str]| all.iter().map(|one| format!("<xs:enumeration value=\"{one}\"/>")).collect::<String>();
    vec![
        (both([A, B]), both([A, B]), Same, Same),
        (sequence(A), both([A, B_OPTIONAL]), Compatible, Narrower),
        (sequence(A), both([A, B]), Incompatible, Incompatible),
        (both([A, B]), both([B, A]), Incompatible, Incompatible),
        (both([A, B]), both([A, B_OPTIONAL]), Compatible, Narrower),
        (both([A, B_OPTIONAL]), both([A, B_MANY]), Compatible, Narrower),
        (both([A, B]), both([A, B_LONG]), Compatible, Narrower),
        (choice(&[A]), choice(&[A, B]), Compatible, Narrower),
        (sequence(A), choice(&[A, B]), Compatible, Narrower),
        (both([A, B]), schema(&format!("<xs:all>{A}{B}</xs:all>")), Compatible, Narrower),
        (sequence(A), attribute("use=\"optional\""), Compatible, Narrower),
        (sequence(A), attribute("use=\"required\""), Incompatible, Incompatible),
        (attribute("use=\"optional\""), attribute("use=\"required\""), Narrower, Compatible),
        (number(&up_to("9")), number(&up_to("5")), Narrower, Compatible),
        (number(""), number(&up_to("5")), Narrower, Compatible),
        (number("<xs:minInclusive value=\"1\"/>"), number(&up_to("5")), Incompatible, Incompatible),
        (
            number("<xs:minInclusive value=\"1\"/>"),
            number("<xs:minExclusive value=\"1\"/>"),
            Narrower,
            Compatible,
        ),
        (text("<xs:maxLength value=\"4\"/>"), text("<xs:maxLength value=\"2\"/>"), Narrower, Compatible),
        (text("<xs:length value=\"3\"/>"), text("<xs:maxLength value=\"3\"/>"), Compatible, Narrower),
        (text("<xs:pattern value=\"[a-z]*\"/>"), text(""), Compatible, Narrower),
        (
            text("<xs:pattern value=\"[a-z]*\"/>"),
            text("<xs:pattern value=\"[a-y]*\"/>"),
            Incompatible,
            Incompatible,
        ),
        (text(&values(&["x", "y"])), text(&values(&["x", "y", "z"])), Compatible, Narrower),
        (text(&values(&["x", "y"])), text(&values(&["x", "z"])), Incompatible, Incompatible),
        (text(&values(&["x"])), text(""), Compatible, Narrower),
    ]
}

fn change(old: &str, new: &str) -> ElementChange {
    let model = |xsd: &str| SchemaModel::from_xsd(xsd.as_bytes()).unwrap();
    let diff = model(old).compare_with(old.as_bytes(), &model(new), new.as_bytes());
    assert_eq!((diff.len(), diff[0].element.as_str()), (1, "order"));
    let is_told = diff[0].parts.iter().all(|part| part.path.starts_with("/order") && part.new_line.is_some());
    assert!(is_told, "{:?}", diff[0].parts);
    diff[0].change
}

#[test]
fn a10_each_change_is_classified_and_so_is_its_reverse() {
    for (old, new, forth, back) in changes() {
        assert_eq!(change(&old, &new), forth, "{old}\n{new}");
        assert_eq!(change(&new, &old), back, "back: {old}\n{new}");
    }
}

#[test]
fn a10_what_is_called_compatible_refuses_no_payload_that_was_valid() {
    let bodies = [
        "<a>t</a>",
        "<a>t</a><b>1</b>",
        "<b>1</b>",
        "<b>1</b><a>t</a>",
        "<a>t</a><b>1</b><b>2</b>",
        "<a>t</a><b>9999999999</b>",
        "<n>1</n>",
        "<n>2</n>",
        "<n>7</n>",
        "<n>-70</n>",
        "<s>x</s>",
        "<s>y</s>",
        "<s>z</s>",
        "<s>abc</s>",
        "<s>abcd</s>",
        "<s>A</s>",
        "<s/>",
    ];
    let payloads: Vec<String> = bodies
        .iter()
        .flat_map(|body| ["", " x=\"1\""].map(|x| format!("<order xmlns=\"urn:t\"{x}>{body}</order>")))
        .collect();
    let valid = |xsd: &str| -> Vec<bool> {
        let source = SchemaSource { name: "t.xsd".to_owned(), xsd: xsd.as_bytes().to_vec() };
        let mut judge = LibxmlJudge::compile_sources(&[source]).unwrap();
        let id = judge.list_schemas().next().unwrap();
        payloads
            .iter()
            .map(|payload| judge.judge_payload(id, payload.as_bytes()) == SchemaVerdict::Valid)
            .collect()
    };
    for (old, new, ..) in changes() {
        for (one, other) in [(&old, &new), (&new, &old)] {
            let (before, after) = (valid(one), valid(other));
            assert!(before.contains(&true), "{one}");
            let lost = before.iter().zip(&after).any(|(before, after)| *before && !after);
            let won = before.iter().zip(&after).any(|(before, after)| !before && *after);
            let change = change(one, other);
            let allowed = match change {
                ElementChange::Same => !lost && !won,
                ElementChange::Compatible => !lost,
                ElementChange::Narrower => !won,
                _ => true,
            };
            assert!(allowed, "{change:?}, but lost {lost} and won {won}:\n{one}\n{other}");
        }
    }
}

/// Orders with n from 1 to 20, and other messages.
fn orders() -> Folder {
    let (folder, mut author) = (Folder::new(), Author::default());
    let mut records = Vec::new();
    for n in 1..=20 {
        let order = format!("<order xmlns=\"urn:t\"><n>{n}</n></order>");
        records.push(author.record(&root(n % 4), order.as_bytes(), |_| {}));
        records.push(author.record(&root(n % 4), b"<other xmlns='urn:other'/>", |_| {}));
    }
    records.push(author.record(&root(1), b"<order xmlns=\"urn:t\"><n>none</n></order>", |_| {}));
    let mut opened = sqlite::open_log(&folder.log()).unwrap();
    assert!(matches!(opened.writer.commit_batch(&batch(records)), Commit::Committed(_)));
    folder
}

fn diff(at: &Path, arguments: &[&str]) -> (Option<i32>, Value) {
    let ran = systole(at, &[&["schema", "diff", "--json"], arguments].concat());
    assert!(!ran.stdout.is_empty(), "{ran:?}");
    (ran.code, ran.json_lines().remove(0))
}

#[test]
fn a10_a_change_is_tried_on_every_stored_message() {
    let folder = orders();
    let at = folder.path();
    let write = |name: &str, xsd: &str| std::fs::write(at.join(name), xsd).unwrap();
    write("old.xsd", &number(""));
    write("new.xsd", &number("<xs:maxInclusive value=\"6\"/>"));
    let ran = systole(at, &["schema", "diff", "old.xsd", "new.xsd", "--log", "organism.db"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let told = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "narrower {urn:t}order",
        "/order/n: the largest value was 2147483647 and is 6 (old.xsd:4, new.xsd:4)",
        "this edit refuses 14 of 21 past messages in organism.db",
        "position 13, sess-000000000003@3: n: 7 is more than 6, the largest allowed",
        "and 9 more",
        "1 more are refused by the old schemas too",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let (code, value) = diff(at, &["new.xsd", "old.xsd", "--log", "organism.db"]);
    assert_eq!(
        (code, &value["log"]["refused"], &value["log"]["newly_accepted"]),
        (Some(0), &0.into(), &14.into())
    );
    assert_eq!(value["elements"][0]["change"], "compatible");
    // A namespace that is gone refuses everything in it.
    write("gone.xsd", &number("").replace("urn:t", "urn:gone"));
    let (code, value) = diff(at, &["old.xsd", "gone.xsd", "--log", "organism.db"]);
    assert_eq!(
        (code, &value["log"]["refused"], &value["log"]["refused_by_both"]),
        (Some(1), &20.into(), &1.into())
    );
    let kinds: Vec<&str> =
        value["elements"].as_array().unwrap().iter().map(|one| one["change"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["removed", "added"]);
    // Without a log only the schemas are compared.
    let ran = systole(at, &["schema", "diff", "old.xsd", "new.xsd"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("no log was looked at"), "{ran:?}");
}

#[test]
fn a10_folders_and_organisms_are_compared_and_what_cannot_be_read_is_refused() {
    let folder = orders();
    let at = folder.path();
    for side in ["old", "new"] {
        std::fs::create_dir(at.join(side)).unwrap();
        let organism = "organism: {name: hello}\nlisteners:\n  reader: {run: [cat], schema: t.xsd, accepts: [order], returns: [order], entry: true}\n";
        std::fs::write(at.join(side).join("organism.yaml"), organism).unwrap();
    }
    std::fs::write(at.join("old/t.xsd"), number("")).unwrap();
    std::fs::write(at.join("new/t.xsd"), number("<xs:minInclusive value=\"2\"/>")).unwrap();
    let (code, value) = diff(at, &["old", "new/organism.yaml", "--log", "organism.db"]);
    assert_eq!(
        (code, &value["log"]["refused"], &value["log"]["first"][0]["position"]),
        (Some(1), &1.into(), &1.into())
    );
    std::fs::remove_file(at.join("new/organism.yaml")).unwrap();
    let (code, same) = diff(at, &["old", "new", "--log", "organism.db"]);
    assert_eq!((code, &same["log"]), (Some(1), &value["log"]));
    let bad = at.join("bad.xsd");
    for (text, words) in [
        ("<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\"><xs:redefine/></xs:schema>", "bad.xsd:1:"),
        ("no schema", "bad.xsd"),
        ("", "bad.xsd"),
    ] {
        std::fs::write(&bad, text).unwrap();
        let ran = systole(at, &["schema", "diff", "old", "bad.xsd"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
        assert!(ran.stderr.contains(words) && ran.stderr.contains("try: "), "{ran:?}");
    }
    // A log that was to be looked at, and was not, is no agreement.
    for (file, text) in [("none.yaml", None), ("empty.yaml", Some(""))] {
        text.into_iter().for_each(|text| std::fs::write(at.join("old").join(file), text).unwrap());
        let ran = systole(&at.join("old"), &["schema", "diff", "t.xsd", "t.xsd", "-f", file]);
        assert_eq!(ran.code, Some(3), "{ran:?}");
    }
    for missing in ["none.xsd", "."] {
        let ran = systole(&at.join("old"), &["schema", "diff", "t.xsd", missing]);
        assert_eq!(ran.code, Some(if missing == "." { 0 } else { 2 }), "{ran:?}");
    }
}

/// The first record of a thread, an order whose number is erased.
fn erased_order(author: &mut Author, thread: &ThreadId) -> Record {
    let text = "<order xmlns=\"urn:t\"><n>1234</n></order>";
    let mut whole = author.record(thread, text.as_bytes(), |_| {});
    let at = text.find("1234").unwrap();
    let hole = BodyHole::from_range(at..at + 4).unwrap();
    whole.parts.values = vec![(hole, PartSeal::Kept([3; 16]))];
    let commitment = whole.parts.commit_parts(&whole.body)[1];
    whole.parts.values = vec![(hole, PartSeal::Erased(commitment))];
    let mut body = whole.body.to_vec();
    whole.parts.blank_holes(&mut body);
    whole.header.seal_record(Arc::from(body), whole.parts, head_zero(thread))
}

#[test]
fn a10_messages_with_erased_values_are_counted_and_not_judged() {
    let (folder, mut author) = (Folder::new(), Author::default());
    let order = b"<order xmlns=\"urn:t\"><n>1</n></order>";
    let records = vec![author.record(&root(1), order, |_| {}), erased_order(&mut author, &root(2))];
    let mut opened = sqlite::open_log(&folder.log()).unwrap();
    assert!(matches!(opened.writer.commit_batch(&batch(records)), Commit::Committed(_)));
    std::fs::write(folder.path().join("t.xsd"), number("")).unwrap();
    let (code, value) = diff(folder.path(), &["t.xsd", "t.xsd", "--log", "organism.db"]);
    assert_eq!((code, &value["log"]["messages"], &value["log"]["erased"]), (Some(0), &1.into(), &1.into()));
}
