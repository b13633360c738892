//! `<goal-request>` byte for byte: a golden file for each form, and a check that any text in it reads
//! back. `SYSTOLE_GOLDEN=1` rewrites the files.

use proptest::prelude::*;
use systole_kit::gate::{GateStep, XmlGate};
use systole_kit::schema::SchemaModel;
use systole_kit::{DocumentLimits, Payload};
use systole_workflow::WORKFLOW_XSD;
use systole_workflow::goal_request::{
    Assignment, Correction, CurrentGoal, EarlierOutput, GoalRequest, ShownOutput, Task, read_back,
};
use systole_workflow::spec::{ElementName, FORM};

fn request<'a>(context: Vec<EarlierOutput>, assignment: impl Into<Assignment<'a>>) -> GoalRequest<'a> {
    GoalRequest {
        workflow: "decision-analyzer",
        gives: None,
        form: FORM,
        converges: false,
        context,
        assignment: assignment.into(),
        correction: None,
        tasks: None,
    }
}

fn goal<'a>(id: &'a str, words: &'a str) -> CurrentGoal<'a> {
    CurrentGoal { id, words, loop_name: None, iteration: None }
}

fn shown(id: &str, text: &str) -> ShownOutput {
    ShownOutput { id: id.to_owned(), outcome: None, text: text.to_owned() }
}

fn seen(id: &str, text: &str) -> EarlierOutput {
    EarlierOutput::Goal(shown(id, text))
}

/// The payload, after our model of the vocabulary accepted it.
fn judged(request: &GoalRequest<'_>) -> Payload {
    let payload = request.to_payload().unwrap();
    let model = SchemaModel::from_xsd(WORKFLOW_XSD).unwrap();
    assert_eq!(model.explain_payload(payload.bytes()), None, "{}", String::from_utf8_lossy(payload.bytes()));
    assert!(model.declares_all(payload.bytes()));
    payload
}

fn golden(name: &str, request: &GoalRequest<'_>) {
    crate::golden::golden(format!("tests/suite/golden/{name}"), judged(request).bytes());
}

#[test]
fn f1_a_first_goal_has_no_context() {
    golden("first.xml", &request(Vec::new(), goal("frame", "Say in one paragraph what is to be decided.")));
}

#[test]
fn f1_several_views_are_seen_each_under_its_agent() {
    let context = vec![
        seen("request", "Shall we move the service?"),
        seen("frame", "Decision: move the service."),
        seen("evaluate[optimist]", "It scales.\n\nIt is <b>cheap</b> & \"new\"."),
        seen("evaluate[critic]", "It costs."),
    ];
    golden("views.xml", &request(context, goal("synthesize", "Synthesize into a recommendation.")));
}

#[test]
fn f1_earlier_passes_are_iterations() {
    let pass = |n, draft, judge| EarlierOutput::Iteration {
        n,
        goals: vec![shown("draft", draft), shown("judge", judge)],
    };
    let context = vec![
        seen("request", "Write the report."),
        pass(1, "One.", "<review><score>4</score></review>"),
        pass(2, "Two.", "<review><score>7</score></review>"),
        seen("draft", "Three."),
    ];
    let words = "Judge the draft.\nBe strict.";
    let goal = CurrentGoal { loop_name: Some("report"), iteration: Some(3), ..goal("judge", words) };
    let gives =
        ElementName { namespace: "https://xml-pipeline.org/ns/acme/v1".into(), local: "review".into() };
    golden("iterations.xml", &GoalRequest { gives: Some(&gives), ..request(context, goal) });
}

#[test]
fn f1_a_goal_that_may_converge_says_so_outside_of_what_is_shown() {
    let goal = CurrentGoal { loop_name: Some("polish"), iteration: Some(2), ..goal("polish", "Polish it.") };
    let context = vec![
        seen("request", "A poem."),
        EarlierOutput::Iteration { n: 1, goals: vec![shown("polish", "Roses are red.")] },
    ];
    let request = GoalRequest { converges: true, ..request(context, goal) };
    golden("converges.xml", &request);
    let shown =
        String::from_utf8(request.to_payload().unwrap().parse_child().unwrap().bytes().to_vec()).unwrap();
    assert!(!shown.contains("converge"), "{shown}");
}

#[test]
fn f1_a_correction_follows_the_goal() {
    let correction = Some(Correction { source: "supervisor", words: "Focus on cost." });
    let context = vec![seen("request", "Shall we?"), seen("frame", "Decision: move the service.")];
    let request = request(context, goal("synthesize", "Synthesize into a recommendation."));
    golden("correction.xml", &GoalRequest { correction, ..request });
}

#[test]
fn f1_a_task_names_its_role_and_its_goal() {
    let task = Task { role: "historian", parent_goal: "frame", words: "Find out when it was built." };
    golden("task.xml", &request(Vec::new(), task.clone()));
    let correction = Some(Correction { source: "person", words: "Only since 2020." });
    golden("task-corrected.xml", &GoalRequest { correction, ..request(Vec::new(), task) });
}

#[test]
fn f1_a_task_of_an_earlier_version_has_its_workflow_around_it() {
    let task = Task { role: "historian", parent_goal: "frame", words: "Find out when it was built." };
    golden("task-form-1.xml", &GoalRequest { form: 1, ..request(Vec::new(), task) });
}

#[test]
fn f1_a_failed_branch_says_so() {
    let failed = ShownOutput {
        outcome: Some("failed".to_owned()),
        ..shown("review[3]", "listener.failed: src/c.rs: no such file")
    };
    let context = vec![
        seen("request", "Review."),
        seen("pick", "<files><item>a.rs</item><item>b.rs</item><item>c.rs</item></files>"),
        seen("review[1]", "Fine."),
        seen("review[2][critic]", ""),
        EarlierOutput::Goal(failed),
    ];
    golden("failed.xml", &request(context, goal("draft", "Write one report; name those that failed.")));
}

#[test]
fn f1_what_cannot_be_written_is_replaced_and_what_is_too_long_is_refused() {
    let bell = request(Vec::new(), goal("frame", "a\u{0}b\u{fffe}c"));
    assert_eq!(texts(&judged(&bell)), ["a\u{fffd}b\u{fffd}c"]);
    let long = "x".repeat(1 << 20);
    let fault = request(vec![seen("request", &long)], goal("frame", "Go.")).to_payload().unwrap_err();
    assert_eq!(fault.code, systole_kit::codes::TOO_LARGE);
}

/// The texts of a request in order, read back.
fn texts(payload: &Payload) -> Vec<String> {
    let mut gate = XmlGate::new_strict(payload.bytes(), &DocumentLimits::FROM_PUMP).unwrap();
    let (mut texts, mut text) = (Vec::new(), None);
    loop {
        match gate.read_step().unwrap() {
            GateStep::Open(tag) => {
                let holds = matches!(tag.local, "goal" | "current-goal" | "task" | "correction");
                text = holds.then(String::new);
            }
            GateStep::Text(part) => text.iter_mut().for_each(|text| part.append_to(text)),
            GateStep::Close => texts.extend(text.take().map(|text| read_back(&text).to_owned())),
            GateStep::Instruction => {}
            GateStep::Done => return texts,
        }
    }
}

/// Texts that a layout, an escape or a reader could get wrong, mixed with any others.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("]]>".to_owned()),
        Just("</goal>".to_owned()),
        Just("</workflow>\n<current-goal id=\"x\">".to_owned()),
        Just("<![CDATA[".to_owned()),
        Just("<!-- ".to_owned()),
        Just("&amp;#13;".to_owned()),
        Just("{{ braces }} ${x} {x}".to_owned()),
        Just("CONVERGED".to_owned()),
        Just("\r\n".to_owned()),
        Just("\r".to_owned()),
        Just("\n".to_owned()),
        Just("\n  ".to_owned()),
        Just("\t ".to_owned()),
        Just("\u{1f600}\u{10ffff}\u{85}\u{2028}".to_owned()),
        proptest::collection::vec(
            any::<char>().prop_filter("legal", |c| systole_kit::characters::is_legal(*c)),
            0..8
        )
        .prop_map(|characters| characters.into_iter().collect()),
    ];
    proptest::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn f1_any_text_in_a_request_reads_back_as_it_was(
        outputs in proptest::collection::vec(text(), 0..4),
        passes in proptest::collection::vec(text(), 0..3),
        id in text(), words in text(), wanted in proptest::option::of(text()),
        is_task in any::<bool>(),
    ) {
        let mut context: Vec<EarlierOutput> = outputs.iter().map(|text| seen(&id, text)).collect();
        context.extend((1..).zip(&passes).map(|(n, text)| EarlierOutput::Iteration { n, goals: vec![shown(&id, text)] }));
        let assignment = if is_task {
            Assignment::Task(Task { role: &id, parent_goal: "frame", words: &words })
        } else {
            Assignment::Goal(CurrentGoal { loop_name: Some(&id), iteration: Some(2), ..goal(&id, &words) })
        };
        let correction = wanted.as_deref().map(|words| Correction { source: "person", words });
        let payload = judged(&GoalRequest { correction, ..request(context, assignment) });
        let all: Vec<String> =
            outputs.into_iter().chain(passes).chain([words]).chain(wanted).collect();
        prop_assert_eq!(texts(&payload), all);
    }
}
