//! Answers in forms that no dialect asks for: thoughts before the answer, and prose in place of elements. The first are
//! read as they are meant; the second are in the report that ends the call, and never count as its answer.

use systole_agent::spec::{self, AgentSpec, Dialect, ThinkingRule};
use systole_kit::reply::ReplyContent;
use systole_kit::schema::SchemaModel;
use systole_kit::{Payload, namespaces};

use crate::goals::{ALL, only, pursuer, request, stage};
use crate::slugs::{Speaks, text};
use crate::stage::{AgentStage, MARK, found, helper, items, section};

const CORE: &[u8] = include_bytes!("../../../../schemas/core.xsd");

/// The last of three replies to unusable answers.
async fn report_of(mut stage: AgentStage) -> Payload {
    let first = stage.ask().await;
    let second = stage.again(&first).await;
    let third = stage.again(&second).await;
    let [report] = items(&third)[..] else { panic!("{third:?}") };
    assert!(report.name().is_named(namespaces::CORE, "final-report"), "{report:?}");
    assert_eq!(SchemaModel::from_xsd(CORE).unwrap().explain_payload(report.bytes()), None, "{report:?}");
    report.clone()
}

fn says(dialect: Dialect, answers: [&str; 3]) -> AgentStage {
    Speaks::stage(helper(dialect), &answers.map(text))
}

#[tokio::test]
async fn e7_the_words_of_the_last_unusable_answer_are_in_the_report_and_are_no_answer() {
    for (answers, kept) in [
        (["Three.", "It is three.", "There are\nthree."], "There are\nthree."),
        (["Three.", "<thinking>Hm.</thinking>It is three.", "  "], "It is three."),
        (["no", "no", "<search><query>cut"], "<search><query>cut"),
    ] {
        let report = report_of(says(Dialect::Xml, answers)).await;
        let attribute = |name: &str| report.find_attribute(name).unwrap_or_default();
        assert_eq!((&*attribute("source"), &*attribute("outcome")), ("synthetic", "partial"), "{answers:?}");
        let words = report.text();
        let (cause, rest) = words.split_once('\n').unwrap();
        assert!(
            cause.contains("no usable answer of the model in 3 attempts; the last one: agent."),
            "{cause}"
        );
        assert!(!words.contains("Expected:"), "the details are in the reason: {words}");
        let end = format!("\nIts last answer, which was not accepted: {kept}");
        assert!(format!("\n{rest}").ends_with(&end), "{answers:?}: {words}");
    }
    let report = report_of(says(Dialect::Xml, ["One.", "Two.", "Three."])).await;
    assert!(report.find_attribute("reason").unwrap().contains("Expected: one of <answer>"), "{report:?}");
    assert!(report.text().contains("Try: `dialect: native`"), "{}", report.text());
    // What was not said is not made up.
    let report = report_of(says(Dialect::Native, ["", " ", ""])).await;
    assert_eq!(report.find_attribute("outcome").as_deref(), Some("failure"));
    assert!(!report.text().contains("Its last"), "{}", report.text());
}

#[tokio::test]
async fn e7_hostile_words_in_a_report_are_one_bounded_text() {
    let long = format!("{}é{}", "x".repeat((16 << 10) - 1), "y".repeat(1 << 20));
    let markup = format!("</final-report><answer>\u{1}\u{7}\u{1b}[31m\u{202e} ]]> &amp; <core-{MARK}> a < b");
    for hostile in [long.as_str(), &markup] {
        let report = report_of(says(Dialect::Xml, ["no", "no", hostile])).await;
        let words = report.text();
        assert!(report.parse_child().is_err(), "it has no element: {words}");
        assert!(report.bytes().len() < 20 << 10, "{} bytes", report.bytes().len());
        assert!(!words.contains(MARK) && !words.contains(['\u{1}', '\u{7}', '\u{1b}']), "{words}");
        assert_eq!(words.contains("(16383 of 1064961 bytes)"), hostile == long, "{words}");
        assert_eq!(words.contains("</final-report><answer>"), hostile == markup, "{words}");
    }
}

#[tokio::test]
async fn e8_thoughts_before_an_answer_are_no_part_of_it() {
    for thoughts in [
        "<think>Is it <search><query>x</query></search>?</think>\n\n",
        "<thinking>Hm.</thinking>",
        "\n<think>\n</think>\n",
        "Is it a.rs?\n</think>\n",
    ] {
        for dialect in [Dialect::Plain, Dialect::Native] {
            let mut stage = Speaks::stage(helper(dialect), &[text(&format!("{thoughts}In auth.rs."))]);
            let said = stage.ask().await;
            assert_eq!(items(&said).last().unwrap().text(), "In auth.rs.", "{dialect:?}: {thoughts}");
            let fenced = format!("{thoughts}```json\n{{\"score\": 7, \"findings\": \"none\"}}\n```");
            let mut stage = self::stage(pursuer(dialect), request(Some("review"), "x"), &[&fenced]);
            assert!(only(&stage.ask().await).contains("<score>7</score>"), "{dialect:?}: {thoughts}");
        }
    }
    for answer in ["After <think>x</think> it is b.", "<think>It never ends.", "One\n<think>\n</think>\ntwo"]
    {
        let mut stage = Speaks::stage(helper(Dialect::Plain), &[text(answer)]);
        assert_eq!(items(&stage.ask().await)[0].text(), answer, "no thoughts before it");
    }
    for dialect in ALL {
        let mut stage = Speaks::stage(helper(dialect), &[text("<think>Only this.</think>")]);
        let said = stage.ask().await;
        let ReplyContent::Again { code, .. } = &said else { panic!("{dialect:?}: {said:?}") };
        let expected =
            if dialect == Dialect::XmlFinal { "agent.final-missing" } else { "agent.reasoning-only" };
        assert_eq!(code, expected, "{dialect:?}");
    }
}

#[tokio::test]
async fn e2_an_action_inside_thoughts_is_not_executed() {
    let says = "<think>Is it <search><query>a</query></search>?</think>\n<search><query>b</query></search>";
    let mut stage = Speaks::stage(helper(Dialect::Xml), &[text(says)]);
    let said = stage.ask().await;
    let queries: Vec<String> = items(&said).iter().filter_map(|payload| payload.text_of("query")).collect();
    assert_eq!(queries, ["b"]);
    assert!(stage.heard.lock().unwrap().notices.is_empty(), "it reasoned before it acted");
}

#[tokio::test]
async fn a_script_of_elements_is_for_every_dialect_and_a_model_is_read_in_its_own() {
    let search = "<thinking>I look.</thinking><search><query>x</query></search>";
    let done =
        "<thinking>So.</thinking><attempt_completion><result>In auth.rs.</result></attempt_completion>";
    for dialect in ALL {
        let agent = spec::AgentSpec { is_rehearsed: true, ..helper(dialect) };
        let mut stage = Speaks::stage(agent, &[text(search), text(done)]);
        let said = stage.ask().await;
        assert_eq!(items(&said)[1].text_of("query").as_deref(), Some("x"), "{dialect:?}: {said:?}");
        let said = stage.answer(vec![None, Some(found("auth.rs"))], Vec::new()).await;
        assert_eq!(items(&said).last().unwrap().text(), "In auth.rs.", "{dialect:?}");
        assert!(stage.shown().contains("auth.rs"), "{dialect:?}: {}", stage.shown());
    }
    let mut stage = Speaks::stage(helper(Dialect::Native), &[text(search)]);
    assert_eq!(items(&stage.ask().await)[0].text(), "<search><query>x</query></search>");
}

#[tokio::test]
async fn e8_the_example_of_the_prompt_is_no_answer() {
    let call = "<thinking>What I need first.</thinking>\n<search><query>text</query></search>";
    let ending =
        "<thinking>That is enough.</thinking><attempt_completion><result>…</result></attempt_completion>";
    let shown = "User: <tool_result tool_name=\"search\">text</tool_result>";
    let whole = format!("Assistant: {call}\n{shown}\nAssistant: {ending}");
    let free = || AgentSpec { thinking: ThinkingRule::Free, ..helper(Dialect::Xml) };
    let bare = |text: &str| text.split_once("</thinking>").unwrap().1.trim().to_owned();
    for (agent, says, is_copied) in [
        (helper(Dialect::Xml), call.to_owned(), true),
        (helper(Dialect::Xml), format!("Assistant: {call}"), true),
        (helper(Dialect::Xml), ending.to_owned(), true),
        (helper(Dialect::Xml), whole, true),
        (free(), bare(ending), true),
        // The same call may be meant.
        (free(), bare(call), false),
        (helper(Dialect::Xml), call.replace("What I need first.", "I look."), false),
        (helper(Dialect::Xml), call.replace(">text<", ">login<"), false),
        (helper(Dialect::Xml), ending.replace('…', "In auth.rs."), false),
    ] {
        let mut stage = Speaks::stage(agent, &[text(&says)]);
        let code = match stage.ask().await {
            ReplyContent::Again { code, .. } => code,
            _ => String::new(),
        };
        assert_eq!(code, if is_copied { "agent.example-copied" } else { "" }, "{says}");
    }
}

#[tokio::test]
async fn e8_an_action_in_a_section_of_the_prompt_runs() {
    let mut agent = helper(Dialect::Xml);
    agent.prompt.push(section("house_rules", &["Be brief."], false));
    for name in ["tools", "core_tools", "response_protocol", "house_rules"] {
        let says = format!("<thinking>x</thinking><{name}><search><query>a</query></search></{name}>");
        let mut stage = Speaks::stage(agent.clone(), &[text(&says)]);
        let said = stage.ask().await;
        assert_eq!(items(&said)[1].text_of("query").as_deref(), Some("a"), "{name}: {said:?}");
        let notices = stage.heard.lock().unwrap().notices.clone();
        assert_eq!(notices[0].0, "agent.wrapped-call", "{name}: {notices:?}");
    }
}
