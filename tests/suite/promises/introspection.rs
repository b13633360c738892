//! A12: a listener asks what it may send, and learns of nothing else.

use systole_core::rules::introspection::META_XSD;
use systole_core::types::flow::Receipt;
use systole_core::types::ids::Digest;
use systole_judge::{LibxmlJudge, SchemaSource, SchemaVerdict};

use super::cast::{BOSS, ECHO, PlanHouse, body, code, plain};

/// Checks that the core's text about payloads is valid under the schema of introspection.
fn valid_under_meta(body: &[u8]) {
    let mut judge =
        LibxmlJudge::compile_sources(&[SchemaSource { name: "meta".to_owned(), xsd: META_XSD.to_vec() }])
            .unwrap();
    let id = judge.find_schema("meta").unwrap();
    assert_eq!(judge.judge_payload(id, body), SchemaVerdict::Valid, "{}", String::from_utf8_lossy(body));
}

/// The bodies of the answers and refusals in a thread, in order.
fn told(house: &PlanHouse, receipt: &Receipt, word: &str) -> Vec<String> {
    let records = house.records();
    let own = records.iter().filter(|r| r.header.thread == receipt.thread && code(r) == word);
    own.map(|r| body(r).to_owned()).collect()
}

async fn house(describe: &str) -> PlanHouse {
    let boss = format!("peers: [echo], turns: 4, entry: true, describe: {describe}");
    PlanHouse::open(&[("boss", &boss, BOSS), ("echo", "", ECHO), ("hidden", "", ECHO)]).await
}

#[tokio::test]
async fn a_listener_can_read_its_peers_elements_with_an_example_and_the_schema_digest() {
    let house = house("peers").await;
    let (receipt, _) = house.ask("k", "boss", "[[CAPABILITIES, describe('say')], everything]").await;
    let answers = told(&house, &receipt, "answer");
    let [capabilities, description] = answers.as_slice() else { panic!("{answers:?}") };
    let meta = "https://xml-pipeline.org/ns/meta/v1";
    let ns = "https://xml-pipeline.org/ns/echo/v1";
    assert_eq!(
        *capabilities,
        format!(
            "<capabilities xmlns=\"{meta}\"><capability element=\"say\" to=\"echo\" namespace=\"{ns}\"></capability></capabilities>"
        )
    );
    let schema = Digest::hash_bytes(&std::fs::read(house.folder.path().join("echo.xsd")).unwrap());
    assert!(
        description.contains(&format!("to=\"echo\" namespace=\"{ns}\" schema=\"{schema}\"")),
        "{description}"
    );
    assert!(
        description.contains(
            "- &lt;say&gt;: No description. Parameters: &lt;text&gt;(text, may be empty, required)"
        ),
        "{description}"
    );
    assert!(description.contains(&format!("&lt;say xmlns=\"{ns}\"")) && description.contains("<example>"));
    assert_eq!(description.matches("<payload ").count(), 1, "the hidden listener takes one of that name too");
    answers.iter().for_each(|answer| valid_under_meta(answer.as_bytes()));
    house.close().await;
}

#[tokio::test]
async fn a12_hidden_and_missing_payloads_get_the_same_answer() {
    let house = house("peers").await;
    let hidden = "https://xml-pipeline.org/ns/hidden/v1";
    let plan = format!(
        "[[describe('say', namespace='{hidden}'), describe('nothing'), describe('spawn-thread'), describe('hidden')], everything]"
    );
    let (receipt, _) = house.ask("k", "boss", &plan).await;
    let refused = told(&house, &receipt, "route.not-a-peer");
    assert_eq!(refused.len(), 4);
    // The hash is that of the question, which is the sender's own text.
    let told_of = |body: &String| {
        let (before, rest) = body.split_once(" hash=\"").unwrap();
        [before, rest.split_once('"').unwrap().1].concat()
    };
    assert!(refused.iter().all(|body| told_of(body) == told_of(&refused[0])), "{refused:?}");
    house.close().await;
}

#[tokio::test]
async fn what_is_described_is_all_or_nothing_where_the_file_says_so() {
    let all = house("all").await;
    let (receipt, _) = all.ask("k", "boss", "[[describe('say'), CAPABILITIES], everything]").await;
    let answers = told(&all, &receipt, "answer");
    assert_eq!(answers[0].matches("<payload ").count(), 3, "{answers:?}");
    assert_eq!(answers[1].matches("<capability ").count(), 1, "it may send no more than before: {answers:?}");
    all.close().await;

    let none = house("none").await;
    let (receipt, _) = none.ask("k", "boss", "[[describe('say'), CAPABILITIES], everything]").await;
    assert_eq!(told(&none, &receipt, "route.not-a-peer").len(), 2);
    none.close().await;
}

#[tokio::test]
async fn a_question_that_is_none_is_refused_with_what_one_is() {
    let house = house("peers").await;
    let plan =
        "[[describe('say').replace('element', 'elemnt'), CAPABILITIES.replace('list-', '')], everything]";
    let (receipt, said) = house.ask("k", "boss", plan).await;
    assert_eq!(told(&house, &receipt, "payload.invalid").len(), 1, "{said}");
    assert_eq!(told(&house, &receipt, "payload.forbidden-namespace").len(), 1, "only the pump says that");
    let records = house.records();
    let invalid = records.iter().find(|r| code(r) == "payload.invalid").unwrap();
    assert!(plain(invalid).contains("element=\"…\": text"), "{}", plain(invalid));
    house.close().await;
}
