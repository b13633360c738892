//! `systole trail --text`: the first record that contains a text, anywhere in it, and who passed it on.

use serde_json::Value;

use super::audit_stage::{Actor, cast, flat, payload};
use super::trail::{team, told, values};
use crate::organism::folder;
use crate::program::systole;

/// The ways of a text: how, from, to, the place of the first without the root's id, and the count.
fn ways(found: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().map_or_else(|| "-".to_owned(), str::to_owned);
    let short = |place: &Value| {
        let place = text(place);
        place.split_at(place.find(['.', '@']).unwrap()).1.to_owned()
    };
    let one = |way: &Value| {
        let parts = [short(&way["first"]), text(&way["how"]), text(&way["from"]), text(&way["to"])];
        format!("{} {}", parts.join(" "), way["records"])
    };
    found["ways"].as_array().unwrap().iter().map(one).collect()
}

#[test]
fn c12_a_text_of_a_tool_in_a_child_is_followed_into_the_final_answer() {
    let (_above, team) = team();
    let found = values(&team, &["--text", "70 times a minute"]);
    assert_eq!(found[0]["records"], 15);
    let wanted = [
        ".pace@6 says search researcher 1",
        ".pace@7 prompted researcher - 1",
        ".pace@8 answered researcher - 1",
        ".pace@10 says researcher coordinator 1",
        "@20 says core coordinator 1",
        "@22 prompted coordinator - 3",
        "@23 answered coordinator - 3",
        "@25 says coordinator critic 1",
        "@26 prompted critic - 1",
        "@33 says coordinator board 1",
        "@38 says coordinator operator 1",
    ];
    assert_eq!(ways(&found[0]), wanted);
    assert!(found[1]["place"].as_str().unwrap().ends_with(".pace@6"), "its chain follows");
    assert_eq!(found.last().unwrap()["why"], "door");

    let told = told(&team, &["--text", "70 times a minute"]);
    assert!(told.starts_with("15 records hold the text; who said it, earliest first:\n"), "{told}");
    assert!(told.contains(".pace@6  search → researcher\n"), "{told}");
    assert!(told.contains("the model of coordinator was shown it, 3 times\n"), "{told}");

    // A text that is only in the organism's file reaches the log with the first prompt that contains it.
    let own = values(&team, &["--text", "Say only what the notes say."]);
    assert_eq!(ways(&own[0])[0], "@2 prompted coordinator - 7");
    // A refused text is found in the refused payload, and before it where the model wrote it.
    let refused = values(&team, &["--text", "<limit>50</limit>"]);
    assert_eq!(ways(&refused[0])[..2], ["@3 answered coordinator - 1", "@5 refuses core - 1"]);
}

const AGENT: &str = r"
organism: {name: hello}
models: {main: {provider: script, file: replies.yaml, price: {in: 3, out: 15, per: 1M, currency: USD}}}
agents: {helper: {model: main, prompt: {identity: You answer questions.}}}
";

const REPLIES: &str = r"
helper:
  - say: <thinking>Simple.</thinking><attempt_completion><result>It is 1 &lt; 2 &amp; so on.</result></attempt_completion>
    usage: {in: 1000, out: 100}
";

#[test]
fn c12_a_text_is_found_as_it_reads_and_as_it_stands() {
    let folder = folder(&[("organism.yaml", AGENT), ("replies.yaml", REPLIES)]);
    let asked = systole(folder.path(), &["ask", "Is \"a\" < b & c?"]);
    assert_eq!((asked.code, asked.stdout.as_str()), (Some(0), "It is 1 < 2 & so on.\n"), "{asked:?}");
    let at = |text: &str| ways(&values(folder.path(), &["--text", text])[0]);
    let question = at("\"a\" < b & c?");
    assert_eq!(question[0], "@1 says operator helper 1", "as it reads");
    assert!(question[1].contains(" prompted helper - 1"), "{question:?}");
    assert!(at("a\" &lt; b &amp; c?")[0].starts_with("@1 says operator"), "as it is in the log");
    let answer = at("1 < 2 & so");
    assert!(answer[0].contains(" answered helper - 1"), "the model wrote it with escapes: {answer:?}");
    assert!(answer.last().unwrap().ends_with(" says helper operator 1"), "{answer:?}");
    let model = &values(folder.path(), &[])[0]["models"][0];
    assert_eq!((&model["tokens"], &model["money"]), (&1100.into(), &"0.0045 USD".into()));
    assert!(flat(&told(folder.path(), &[])).contains(", 1100 tokens, 0.0045 USD "));
    // A line break in the log or on a screen counts as a blank, and so does a tag.
    assert_eq!(at("1  <\n2 & so on."), at("1 < 2 & so on."));
    // Letters are compared exactly.
    assert_eq!(systole(folder.path(), &["trail", "--text", "IT IS 1"]).code, Some(2));
}

const XSD: &str = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:t" elementFormDefault="qualified">
  <xs:element name="note"><xs:complexType><xs:sequence>
    <xs:element name="a" type="xs:string"/><xs:element name="b" type="xs:string"/></xs:sequence><xs:attribute name="title" type="xs:string"/></xs:complexType></xs:element>
  <xs:element name="seen" type="xs:string"/>
</xs:schema>"#;

const FILE: &str = "organism: {name: hello}
log: {path: ./hello.db}
listeners:
  reader: {run: [sh, reader.sh], mode: once, schema: t.xsd, accepts: [note], returns: [seen], entry: true}
";

#[test]
fn c12_a_text_that_markup_splits_is_found_with_a_blank_for_the_tag_and_attributes_are_read_too() {
    let note = r#"<note xmlns="urn:t" title="Salt &amp; pepper"><a>one</a><b>two th<!-- split -->ree <![CDATA[& four]]></b></note>"#;
    let folder = folder(&[
        ("organism.yaml", FILE),
        ("t.xsd", XSD),
        ("note.xml", note),
        ("reader.sh", "cat > /dev/null; echo '<seen xmlns=\"urn:t\">yes</seen>'\n"),
    ]);
    let sent = systole(folder.path(), &["send", "--file", "note.xml"]);
    assert_eq!(sent.code, Some(0), "{sent:?}");
    let finds = |text: &str| systole(folder.path(), &["trail", "--text", text]).code;
    for found in ["one two", "two three", "three & four", "Salt & pepper", "</a><b>two", "title=\"Salt"] {
        assert_eq!(finds(found), Some(0), "{found}");
    }
    for other in ["onetwo", "pepper one", "four yes", "Four"] {
        assert_eq!(finds(other), Some(2), "{other}");
    }
}

#[test]
fn c12_a_text_deep_in_a_large_body_is_found() {
    let folder = cast(&[Actor("dig", "dig", "dug", &["env: {TURN_1: '<dug xmlns=\"urn:t\">gold</dug>'}"])]);
    let large = format!("{}a coin of Nero's", "earth ".repeat(40_000));
    std::fs::write(folder.path().join("large.xml"), payload("dig", &large)).unwrap();
    std::fs::write(folder.path().join("small.xml"), payload("dig", "a coin of Nero's")).unwrap();
    for file in ["large.xml", "small.xml"] {
        assert_eq!(systole(folder.path(), &["send", "--file", file]).code, Some(0));
    }
    let log = rusqlite::Connection::open(folder.path().join("hello.db")).unwrap();
    let stored: i64 = log.query_row("SELECT count(*) FROM large", [], |row| row.get(0)).unwrap();
    assert_eq!(stored, 1, "the large one is stored apart from its record");
    drop(log);
    let found = values(folder.path(), &["--text", "coin of Nero's"]);
    assert_eq!((&found[0]["records"], &found[0]["ways"][0]["records"]), (&2.into(), &2.into()));
    assert!(found[1]["record"]["body"].as_str().unwrap().len() > 200_000, "the first is the large one");
}
