//! A whole conversation that uses tools, with every provider API and every dialect: a call, its result, a second
//! peer, the final. Usage and cost are checked to the token.

use serde_json::Value;

use super::house::{AgentHouse, AgentPlan, Critic, FORMS};

/// The same conversation from a model with native calls, and from a model that writes its calls as text. Every answer
/// reports its usage.
const NATIVE: &str = r#"
- {say: I look., call: {search: {query: the moon}}, usage: {in: 100, out: 20, cached: 40}, chunk: 3}
- {need: [FOUND the moon], call: {ask: {".": Is it so?}}, usage: {in: 150, out: 10}, chunk: 5 bytes}
- {need: [It is so\.], say: "The moon is there: 1 < 2 & \"é\".", usage: {in: 201, out: 7}, chunk: 1}
"#;
const XML: &str = r#"
- {say: "<thinking>I look.</thinking>\n<search><query>the moon</query></search>", usage: {in: 100, out: 20, cached: 40}, chunk: 3}
- {need: [FOUND the moon], say: "<thinking>I ask.</thinking>\n<ask>Is it so?</ask>", usage: {in: 150, out: 10}, chunk: 5 bytes}
- {need: [It is so\.], say: "<thinking>Done.</thinking>\n<attempt_completion><result>The moon is there: 1 &lt; 2 &amp; \"é\".</result></attempt_completion>", usage: {in: 201, out: 7}, chunk: 1}
"#;

/// Whether a request contains tools or a tool choice.
fn has_tools(body: &Value) -> bool {
    ["tools", "tool_choice", "toolConfig", "tool_config"].iter().any(|key| body.get(*key).is_some())
}

fn conversation(form: &str, dialect: &str) {
    let replies = if dialect == "native" { NATIVE } else { XML };
    let house = AgentHouse::build(&AgentPlan {
        form,
        dialect,
        replies,
        critic: Critic::says("[{say: It is so.}]"),
        ..AgentPlan::default()
    });
    let ran = house.ask("Where is the moon?");
    let words = || format!("{form} {dialect}: {ran:?}\n{}", house.told());
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "The moon is there: 1 < 2 & \"é\".\n"),
        "{}",
        words()
    );
    let asked = house.mock.seen();
    assert!(asked.iter().all(|seen| seen.status == 200 && seen.scripted), "{}", words());
    assert_eq!((asked.len(), house.mock.count().left), (4, 0), "{}", words());
    for seen in &asked {
        let native = dialect == "native" && seen.model.as_deref() == Some("main-model");
        assert_eq!(has_tools(&seen.body), native, "{}: {}", seen.body, words());
    }
    // Each request has a start, each start has a result, and each result counts what the mock reported.
    assert_eq!(house.started("helper").len(), 3, "{}", words());
    let outcomes = house.outcomes("helper");
    let used: Vec<_> = outcomes.iter().map(|o| (o.tokens_in.unwrap(), o.tokens_out.unwrap())).collect();
    assert_eq!(used, [(100, 20), (150, 10), (201, 7)], "{}", words());
    let money: Vec<u64> = outcomes.iter().map(|o| o.money.unwrap().micros).collect();
    // Ollama reports no cached tokens; the others report none without a cache.
    let cached = form != "ollama";
    let first = if cached { 60 * 3 + 12 + 20 * 15 } else { 100 * 3 + 20 * 15 };
    assert_eq!(money, [first, 150 * 3 + 10 * 15, 201 * 3 + 7 * 15], "{}", words());
    let critic = house.outcomes("critic");
    assert!(critic.iter().all(|outcome| outcome.money.is_none()), "no price, no money: {critic:?}");
    house.judged();
}

#[test]
fn e13_a_whole_conversation_with_native_calls_in_every_form() {
    FORMS.iter().for_each(|form| conversation(form, "native"));
}

#[test]
fn e13_a_whole_conversation_in_xml_in_every_form() {
    FORMS.iter().for_each(|form| conversation(form, "xml"));
}

#[test]
fn e17_an_agent_without_peers_sends_neither_tools_nor_a_choice() {
    for form in FORMS {
        let replies = "[{say: By myself.}]";
        let house = AgentHouse::build(&AgentPlan { form, replies, peers: "[]", ..AgentPlan::default() });
        let ran = house.ask("Who are you?");
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "By myself.\n"), "{form}: {ran:?}");
        let asked = house.asked();
        assert!(asked.len() == 1 && !has_tools(&asked[0].body), "{form}: {asked:?}");
        house.judged();
    }
}
