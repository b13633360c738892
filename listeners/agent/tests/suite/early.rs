//! An answer that is cut after its first action: by the agent, at every provider, and with the same words kept for
//! any pieces.

use std::sync::Arc;
use std::time::Duration;

use systole_agent::model::{HttpLimits, MessagePart, Model, Models, StopReason, SystemRandom};
use systole_agent::spec::{self, Dialect};
use systole_kit::journal::ModelCallOutcome;
use systole_kit::reply::ReplyContent;
use systole_mock_model::{AnswerEnd, MockModel, MockOptions, MockScript, SeenRequest};

use super::bench::{FORMS, adapter, limits, model, request, run, unwatched, without_kept};
use super::stage::{AgentStage, found, helper, items};

const ACTION: &str = "<thinking>Where?</thinking>\n<search><query>a &gt; b</query></search>";

fn early() -> spec::AgentSpec {
    spec::AgentSpec { stop_early: true, ..helper(Dialect::Xml) }
}

/// A script whose answer says `say`.
fn script(say: &str, more: &str) -> String {
    let say = serde_json::to_string(say).unwrap();
    format!(
        "helper:\n  - {{say: {say}{more}}}\n  - say: \"<attempt_completion><result>ok</result></attempt_completion>\"\n"
    )
}

/// The markup of the items of a reply, without notes.
fn acts(said: &ReplyContent) -> Vec<String> {
    let acts = items(said).into_iter().filter(|item| &*item.name().local != "helper");
    acts.map(|item| String::from_utf8_lossy(item.bytes()).into_owned()).collect()
}

#[tokio::test]
async fn e2_an_answer_is_cut_behind_its_first_action_in_whatever_pieces_it_comes() {
    let say = format!("{ACTION}\n<search><query>second</query></search> and on");
    for chunk in [1, 2, 3, 7, 1000] {
        let more = format!(", chunk: {chunk}, usage: {{in: 9, out: 9}}");
        let mut stage = AgentStage::of(early(), &script(&say, &more));
        let said = stage.ask().await;
        assert_eq!(acts(&said).len(), 1, "{chunk}: {said:?}");
        let ModelCallOutcome { stop, text, tokens_in, tokens_out, money, .. } = stage.outcome();
        assert_eq!((stop.as_str(), text.as_str()), ("cut", ACTION), "{chunk}");
        assert_eq!((tokens_in, tokens_out, money), (None, None, None), "the provider reported no usage");
        let heard = stage.heard.lock().unwrap();
        assert!(heard.notices.is_empty(), "there was no second action: {:?}", heard.notices);
        let shown = heard.progress.concat();
        assert!(ACTION.starts_with(&shown), "{chunk}: what is not read is not shown either: {shown}");
    }
}

#[tokio::test]
async fn e2_what_was_cut_is_remembered_as_it_was_received() {
    let mut stage = AgentStage::of(early(), &script(&format!("{ACTION} never read"), ""));
    stage.ask().await;
    stage.answer(vec![None, Some(found("line 7"))], Vec::new()).await;
    let (_, segments, _) = stage.prompt();
    let said: serde_json::Value = serde_json::from_str(segments[1].lines().next().unwrap()).unwrap();
    assert_eq!((&said["role"], &said["parts"][0]["text"]), (&"assistant".into(), &ACTION.into()));
    assert!(stage.shown().contains("line 7"), "{}", stage.shown());
    assert!(!segments.concat().contains("never read"));
}

#[tokio::test]
async fn e2_the_first_unquoted_action_of_the_whole_answer_is_executed() {
    let wrapped = "<tool_call>\n<search><query>in a wrapper</query></search>\n</tool_call>";
    let own = "<helper xmlns=\"https://xml-pipeline.org/ns/helper/v1\"><thought>so</thought><search><query>own</query></search></helper>";
    let message = "<message><meta><to>search</to></meta><search><query>to it</query></search></message>";
    let firsts = [
        ACTION.to_owned(),
        format!("<thinking>t</thinking>\n```xml\n<search><query>quoted</query></search>\n```\n{ACTION}"),
        format!("<thinking>t</thinking>\n<!-- <search><query>no</query></search> -->\n{ACTION}"),
        "<thinking>t</thinking><search><query><![CDATA[</search> <b>]]></query></search>".to_owned(),
        format!("<thinking>the end tag is </search></thinking>{wrapped}"),
        format!("<thinking>t</thinking>{own}"),
        format!("<thinking>t</thinking>{message}"),
        format!("<thinking>t</thinking><todo-until condition=\"done\"><step>x</step></todo-until>{ACTION}"),
        "<thinking>t</thinking><attempt_completion><result>In <b>auth</b>.rs</result></attempt_completion>"
            .to_owned(),
        "<thinking>t</thinking><answer>In auth.rs</answer>".to_owned(),
    ];
    for first in firsts {
        let mut whole = AgentStage::of(helper(Dialect::Xml), &script(&first, ""));
        let expected = whole.ask().await;
        for chunk in [1, 5, 1000] {
            let more = format!(", chunk: {chunk}");
            let behind = "\n<search><query>behind</query></search><open";
            let mut stage = AgentStage::of(early(), &script(&[&first, behind].concat(), &more));
            let said = stage.ask().await;
            assert_eq!(said, expected, "{chunk}: {first}");
            assert_eq!((stage.outcome().stop.as_str(), stage.outcome().text), ("cut", first.clone()));
        }
    }
}

#[tokio::test]
async fn e2_an_answer_without_an_action_is_read_to_its_end() {
    let say = "<thinking>t</thinking>\nI would write `<search>` here.";
    let mut stage = AgentStage::of(early(), &script(say, ", usage: {in: 9, out: 4}"));
    let said = stage.ask().await;
    assert!(matches!(&said, ReplyContent::Again { code, .. } if code == "agent.prose-only"), "{said:?}");
    let outcome = stage.outcome();
    assert_eq!((outcome.stop.as_str(), outcome.tokens_out, outcome.text.as_str()), ("end", Some(4), say));
}

#[tokio::test]
async fn e2_where_only_a_final_is_taken_an_action_before_it_does_not_cut() {
    let ending = "<attempt_completion><result>so far</result></attempt_completion>";
    let say = serde_json::to_string(&format!("{ACTION}{ending} more")).unwrap();
    let answers =
        format!("helper:\n  - {{say: {}}}\n  - {{say: {say}}}\n", serde_json::to_string(ACTION).unwrap());
    let mut stage = AgentStage::of(early(), &answers);
    stage.ask().await;
    let said = stage.wrap_up("budget.messages").await;
    let outcome = stage.outcome();
    assert_eq!((outcome.stop.as_str(), outcome.text), ("cut", [ACTION, ending].concat()));
    assert!(acts(&said).last().unwrap().contains("so far"), "{said:?}");
}

#[test]
fn e2_a_provider_whose_answer_is_cut_sees_its_client_go() {
    for form in FORMS {
        let say = serde_json::to_string(ACTION).unwrap();
        let script = format!("- {{say: {say}, chunk: 3, delay: 1ms, endless: true}}\n- {{say: later}}");
        let script = MockScript::parse(&script).unwrap_or_else(|bad| panic!("{bad:?}"));
        let mock = MockModel::start(script, MockOptions::default()).unwrap();
        let path = if super::bench::has_version(form) { "/v1" } else { "" };
        let spec = spec::ModelSpec {
            retry: spec::RequestRetry { attempts: 1, first_ms: 1, longest_ms: 1 },
            ..model(form, &format!("{}{path}", mock.url()))
        };
        let asked = Arc::new(adapter(&spec, limits())) as Arc<dyn Model>;
        let spec = spec::ModelSpec { name: "main".to_owned(), ..spec };
        let models =
            Models::new(vec![(spec, asked)], Box::new(SystemRandom), &HttpLimits::default()).unwrap();
        run(async {
            let mut stage = AgentStage::asking(early(), Arc::new(models), "Where is login?");
            let said = stage.ask().await;
            assert_eq!(acts(&said).len(), 1, "{form:?}: {said:?}");
            let outcome = stage.outcome();
            assert_eq!((outcome.stop.as_str(), outcome.text.as_str()), ("cut", ACTION), "{form:?}");
            assert_eq!((outcome.tokens_out, outcome.money), (None, None), "{form:?}: no usage came");
        });
        let gone =
            |seen: &[SeenRequest]| seen.len() == 1 && seen.iter().all(|seen| seen.end == AnswerEnd::Gone);
        let seen = mock.wait(Duration::from_secs(20), gone);
        assert!(seen.is_ok(), "{form:?}: {seen:?}");
    }
}

#[test]
fn e2_an_answer_without_a_watcher_is_read_to_its_end() {
    for form in FORMS {
        let script = MockScript::parse("- {say: \"<a></a> and on\", chunk: 3}")
            .unwrap_or_else(|bad| panic!("{bad:?}"));
        let mock = MockModel::start(script, MockOptions::default()).unwrap();
        let path = if super::bench::has_version(form) { "/v1" } else { "" };
        let asked = adapter(&model(form, &format!("{}{path}", mock.url())), limits());
        let answer = run(asked.ask(request("hello"), unwatched())).unwrap();
        assert_eq!(
            (answer.stop, without_kept(answer.parts)),
            (StopReason::End, vec![MessagePart::Text("<a></a> and on".into())])
        );
    }
}

/// The end of unescaped text is certain only when the answer has ended.
#[tokio::test]
async fn e21_verbatim_text_waits_for_the_end_of_the_answer_even_if_cutting_is_allowed() {
    let action = "<thinking>Where?</thinking>\n<search><query>a && b</query></search>";
    for (behind, is_taken) in [
        ("", true),
        ("\nThat is all.", true),
        ("\n<search><query>second</query></search>", true),
        ("\n</query></search>", false),
        ("\n<search><query>second</query></search></query>", false),
    ] {
        let mut stage = AgentStage::of(early(), &script(&[action, behind].concat(), ", chunk: 3"));
        let said = stage.ask().await;
        let acts = if let ReplyContent::Items(_) = &said { acts(&said) } else { Vec::new() };
        let expected =
            "<search xmlns=\"https://xml-pipeline.org/ns/search/v1\"><query>a &amp;&amp; b</query></search>";
        assert_eq!(acts, if is_taken { vec![expected] } else { Vec::new() }, "{behind}: {said:?}");
        assert_eq!(stage.outcome().stop, "end", "{behind}");
    }
}
