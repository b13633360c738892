//! Supervision of goals, as agents answer it: commitments, assessments and verdicts, and the mistakes that schemas
//! allow.

use systole_agent::spec::{self, Dialect, ElementContract};
use systole_kit::reply::ReplyContent;
use systole_kit::{Payload, QName, namespaces};
use systole_workflow::goal_request::{Correction, CurrentGoal, EarlierOutput, GoalRequest, ShownOutput};
use systole_workflow::spec::{ElementName, FORM};

use crate::goals::{ALL, only, pursuer, slot, stage, whole};
use crate::prompts::golden;

/// An agent that takes goals under supervision, and supervises others.
fn supervised(dialect: Dialect) -> spec::AgentSpec {
    let mut agent = pursuer(dialect);
    let workflow =
        |local: &str| ElementContract { element: QName::new(namespaces::WORKFLOW, local), schema: 2 };
    agent.gives.extend(["commit", "assessment", "verdict"].map(workflow));
    agent
}

/// A request about the goal `plan` for that payload, before or after a correction.
fn request(gives: &str, correction: Option<&str>) -> Payload {
    request_of_form(FORM, gives, correction)
}

fn request_of_form(form: u32, gives: &str, correction: Option<&str>) -> Payload {
    let gives = ElementName { namespace: namespaces::WORKFLOW.to_owned(), local: gives.to_owned() };
    let goal = CurrentGoal { id: "plan", words: "Plan it.", loop_name: None, iteration: None };
    let seen = |id: &str, text: &str| {
        EarlierOutput::Goal(ShownOutput { id: id.to_owned(), outcome: None, text: text.to_owned() })
    };
    let request = GoalRequest {
        workflow: "release",
        gives: Some(&gives),
        form,
        converges: false,
        context: vec![seen("request", "Release it."), seen("plan", "On Monday.")],
        assignment: goal.into(),
        correction: correction.map(|words| Correction { source: "supervisor", words }),
        tasks: None,
    };
    request.to_payload().unwrap()
}

fn verdict(goal: &str, value: &str, words: &str) -> String {
    let ns = namespaces::WORKFLOW;
    format!(r#"<verdict xmlns="{ns}" goal="{goal}" value="{value}">{words}</verdict>"#)
}

/// A verdict, in each dialect.
fn says(dialect: Dialect, goal: &str, value: &str, words: &str) -> String {
    let json = format!(r#"{{"goal": "{goal}", "value": "{value}", ".": "{words}"}}"#);
    match dialect {
        Dialect::Xml => {
            format!("<thinking>x</thinking><verdict goal=\"{goal}\" value=\"{value}\">{words}</verdict>")
        }
        Dialect::XmlFinal => slot("json", "success", &json),
        Dialect::Native | Dialect::Plain => json,
    }
}

#[tokio::test]
async fn f4_a_verdict_is_given_in_every_dialect() {
    for dialect in ALL {
        for (value, words) in [("reorient", "Say when."), ("continue", ""), ("pause", "Who decides?")] {
            let answer = says(dialect, "plan", value, words);
            let mut stage = stage(supervised(dialect), request("verdict", None), &[&answer]);
            let said = only(&stage.ask().await);
            let empty = verdict("plan", value, words).replace("></verdict>", "/>");
            assert!(said == verdict("plan", value, words) || said == empty, "{dialect:?}: {said}");
        }
        let mut stage = stage(supervised(dialect), request("verdict", Some("Say when.")), &["x"]);
        stage.ask().await;
        let name = format!("{dialect:?}").to_lowercase();
        golden(&format!("verdict-{name}.txt"), &whole(&stage));
    }
}

#[tokio::test]
async fn f4_a_verdict_that_only_supervision_forbids_is_refused_with_the_fix() {
    let right = ("plan", "continue", "");
    for (wrong, corrected, told) in [
        (("judge", "continue", ""), None, "/verdict/@goal: `judge` is another goal; expected plan"),
        (("plan", "reorient", " "), None, "/verdict: reorient needs a correction as the text of the verdict"),
        (
            ("plan", "reorient", "Say more."),
            Some("Say when."),
            "/verdict/@value: the goal was corrected once already; expected continue or pause",
        ),
    ] {
        for dialect in ALL {
            let [wrong, right] = [wrong, right].map(|(goal, value, words)| says(dialect, goal, value, words));
            let mut stage = stage(supervised(dialect), request("verdict", corrected), &[&wrong, &right]);
            let first = stage.ask().await;
            let ReplyContent::Again { code, words } = &first else { panic!("{dialect:?}: {first:?}") };
            assert_eq!(code, "agent.goal-answer-invalid", "{dialect:?}");
            assert!(words.contains(told), "{dialect:?}: {words}");
            let said = only(&stage.again(&first).await);
            assert!(said.contains("value=\"continue\""), "{dialect:?}: {said}");
        }
    }
}

#[tokio::test]
async fn f4_a_commitment_and_an_assessment_name_their_goal() {
    let ns = namespaces::WORKFLOW;
    for (gives, json, xml) in [
        (
            "commit",
            r#"{"goal": "plan", "scope": "All.", "prediction": ["p"], "assumption": ["a", "b"]}"#,
            format!(
                r#"<commit xmlns="{ns}" goal="plan"><scope>All.</scope><prediction>p</prediction><assumption>a</assumption><assumption>b</assumption></commit>"#
            ),
        ),
        (
            "assessment",
            r#"{"goal": "plan", "met": "partly", "scope-left": true, "concern": ["c"]}"#,
            format!(
                r#"<assessment xmlns="{ns}" goal="plan" met="partly" scope-left="true"><concern>c</concern></assessment>"#
            ),
        ),
    ] {
        let other = json.replace("\"plan\"", "\"other\"");
        let mut stage = stage(supervised(Dialect::Plain), request(gives, None), &[&other, json]);
        let first = stage.ask().await;
        assert!(
            matches!(&first, ReplyContent::Again { words, .. } if words.contains("is another goal")),
            "{first:?}"
        );
        assert_eq!(only(&stage.again(&first).await), xml);
    }
}

#[tokio::test]
async fn f4_the_program_fills_in_the_goal_that_a_model_leaves_out() {
    let ns = namespaces::WORKFLOW;
    for dialect in ALL {
        let answer = says(dialect, "plan", "continue", "")
            .replace(r#""goal": "plan", "#, "")
            .replace(r#" goal="plan""#, "");
        assert!(!answer.contains("plan"), "{answer}");
        let mut whole = stage(supervised(dialect), request("verdict", None), &[&answer]);
        let said = only(&whole.ask().await);
        let filled = format!(r#"<verdict goal="plan" xmlns="{ns}" value="continue""#);
        assert!(said.starts_with(&filled), "{dialect:?}: {said}");
        // Requests of runs that began under an earlier version are answered by their rules.
        let mut earlier = stage(supervised(dialect), request_of_form(1, "verdict", None), &[&answer]);
        let said = earlier.ask().await;
        let ReplyContent::Again { words, .. } = &said else { panic!("{dialect:?}: {said:?}") };
        assert!(words.contains("another goal"), "{words}");
    }
    for (gives, json, xml) in [
        (
            "commit",
            r#"{"scope": "All."}"#,
            format!(r#"<commit goal="plan" xmlns="{ns}"><scope>All.</scope></commit>"#),
        ),
        (
            "assessment",
            r#"{"met": "yes", "scope-left": false}"#,
            format!(r#"<assessment goal="plan" xmlns="{ns}" met="yes" scope-left="false"/>"#),
        ),
    ] {
        let mut whole = stage(supervised(Dialect::Plain), request(gives, None), &[json]);
        assert_eq!(only(&whole.ask().await).replace("></assessment>", "/>"), xml);
    }
}
