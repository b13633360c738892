//! Runs that failed and are tried again: what the walk starts then, and what stays.

use systole_kit::{DocumentLimits, Payload, namespaces};

use super::{WalkTurn, walk_workflow};
use crate::facts::RunFacts;
use crate::note::{NotedDecision, NotedStart, TurnNote};
use crate::spec::{ElementName, FORM, Goal, QuestionStep, Step, StepAction, Workflow};

const FAILED: &str = "outcome='failed'><system-error code='listener.failed' message='no'/></thread-finished>";
const CANCELLED: &str = "outcome='cancelled'/>";
const DONE: &str = "outcome='handled'/>";
const RETRIED: &str = "retried by='operator' retry='1'/>";

fn goal(id: &str) -> Step {
    let (words, by) = ("Do it.".to_owned(), vec!["x".to_owned()]);
    Step::new(
        id,
        StepAction::Do(Goal { words, by, gives: None, sees: None, hides_request: false, tasks: None }),
    )
}

fn beside(steps: Vec<Step>) -> Vec<Step> {
    vec![Step::new("both", StepAction::Parallel { steps, at_once: 8 })]
}

fn core(xml: &str) -> Payload {
    let (name, rest) = xml.split_once(' ').unwrap();
    let xml = format!("<{name} xmlns='{}' {rest}", namespaces::CORE);
    Payload::parse(xml.as_bytes(), &DocumentLimits::default()).unwrap()
}

/// Takes a reply that starts these, as the children `key` with the number of the try.
fn start(facts: &mut RunFacts, keys: &[(&str, u32)]) {
    let started = (1..).zip(keys).map(|(ordinal, (key, number))| NotedStart {
        ordinal,
        key: (*key).to_owned(),
        number: *number,
    });
    facts.take_note(&TurnNote { starts: started.collect(), ..TurnNote::default() });
    for (ordinal, (key, number)) in (1..).zip(keys) {
        let is_timer = key.contains(':');
        let spawned = format!("thread-spawned assigned_id='{key}-{number}'/>");
        let set = format!("timer-set id='{key}-{number}'/>");
        facts.take_answer(ordinal, &core(if is_timer { &set } else { &spawned }));
    }
}

fn end(facts: &mut RunFacts, child: &str, outcome: &str) {
    facts.take_arrival(&core(&format!("thread-finished id='{child}' {outcome}")));
}

fn turn(steps: Vec<Step>, facts: &RunFacts) -> WalkTurn {
    let returns = ElementName { namespace: "urn:x".into(), local: "x".into() };
    let workflow =
        Workflow { name: "one".into(), returns, returns_text: true, steps, description: None, form: FORM };
    let request = Payload::parse(b"<ask xmlns='urn:t'>Go.</ask>", &DocumentLimits::default()).unwrap();
    walk_workflow(&workflow, &request, facts, 9)
}

/// What the next reply starts: each key, with the number of the try.
fn starts(steps: Vec<Step>, facts: &RunFacts) -> Vec<(String, u32)> {
    match turn(steps, facts) {
        WalkTurn::Items(note, _) => note.starts.into_iter().map(|one| (one.key, one.number)).collect(),
        WalkTurn::Failed(failure) => panic!("{}: {}", failure.code, failure.words),
        WalkTurn::Final(..) | WalkTurn::NeedsNumbers => panic!("it has ended"),
    }
}

fn failure(steps: Vec<Step>, facts: &RunFacts) -> String {
    match turn(steps, facts) {
        WalkTurn::Failed(failure) => failure.words,
        _ => panic!("it has not failed"),
    }
}

#[test]
fn d10_only_what_failed_or_was_cancelled_beside_it_starts_again() {
    let kept = Step { keeps_failure: true, ..goal("kept") };
    let left = Step { keeps_failure: true, ..goal("left") };
    let steps = || beside(vec![goal("bad"), goal("side"), goal("done"), kept.clone(), left.clone()]);
    let mut facts = RunFacts::default();
    start(&mut facts, &[("bad", 1), ("side", 1), ("done", 1), ("kept", 1), ("left", 1)]);
    for (child, outcome) in [("done-1", DONE), ("kept-1", FAILED), ("bad-1", FAILED)] {
        end(&mut facts, child, outcome);
    }
    assert_eq!(failure(steps(), &facts), "bad: listener.failed: no");
    for child in ["side-1", "left-1"] {
        end(&mut facts, child, CANCELLED);
    }
    facts.take_arrival(&core(RETRIED));
    let again = [("bad", 2), ("side", 2), ("left", 2)].map(|(key, number)| (key.to_owned(), number));
    assert_eq!(starts(steps(), &facts), again);
    start(&mut facts, &[("bad", 2), ("side", 2), ("left", 2)]);
    assert_eq!(starts(steps(), &facts), [], "they run");
    for child in ["bad-2", "side-2", "left-2"] {
        end(&mut facts, child, DONE);
    }
    assert!(matches!(turn(steps(), &facts), WalkTurn::Final(..)));
}

#[test]
fn d10_the_tries_of_the_file_are_counted_anew_and_their_numbers_go_on() {
    let steps = || vec![Step { tries: 2, ..goal("bad") }];
    let mut facts = RunFacts::default();
    for number in 1..=2 {
        start(&mut facts, &[("bad", number)]);
        end(&mut facts, &format!("bad-{number}"), FAILED);
        if number == 1 {
            start(&mut facts, &[("pause:bad", 1)]);
            facts.take_arrival(&core("timer-fired id='pause:bad-1'/>"));
        }
    }
    failure(steps(), &facts);
    facts.take_arrival(&core(RETRIED));
    assert_eq!(starts(steps(), &facts), [("bad".to_owned(), 3)], "without a pause");
    start(&mut facts, &[("bad", 3)]);
    end(&mut facts, "bad-3", FAILED);
    assert_eq!(starts(steps(), &facts).len(), 1, "a pause comes first");
    start(&mut facts, &[("pause:bad", 1)]);
    facts.take_arrival(&core("timer-fired id='pause:bad-1'/>"));
    assert_eq!(starts(steps(), &facts), [("bad".to_owned(), 4)]);
    start(&mut facts, &[("bad", 4)]);
    end(&mut facts, "bad-4", FAILED);
    failure(steps(), &facts);
}

#[test]
fn d10_a_step_that_was_out_of_time_has_new_time() {
    let steps = || vec![Step { timeout_ms: Some(60_000), ..goal("slow") }];
    let mut facts = RunFacts::default();
    start(&mut facts, &[("slow", 1), ("timeout:slow", 1)]);
    facts.take_arrival(&core("timer-fired id='timeout:slow-1'/>"));
    let WalkTurn::Failed(_) = turn(steps(), &facts) else { panic!("it goes on") };
    let decided = NotedDecision { key: "slow".into(), question: "timeout".into(), answer: true };
    facts.take_note(&TurnNote { decided: vec![decided], ..TurnNote::default() });
    end(&mut facts, "slow-1", CANCELLED);
    failure(steps(), &facts);
    facts.take_arrival(&core(RETRIED));
    let again = [("slow", 2), ("timeout:slow", 2)].map(|(key, number)| (key.to_owned(), number));
    assert_eq!(starts(steps(), &facts), again);
    start(&mut facts, &[("slow", 2), ("timeout:slow", 2)]);
    end(&mut facts, "slow-2", DONE);
    let WalkTurn::Items(_, items) = turn(steps(), &facts) else { panic!("its timer is left") };
    assert!(items[0].name().is_named(namespaces::CORE, "cancel-timer"));
}

#[test]
fn d10_a_question_without_an_answer_is_asked_again_and_an_answer_stays() {
    let question = |otherwise: Option<&str>| QuestionStep {
        words: "Go?".into(),
        choices: vec!["go".into(), "stop".into()],
        shows: Vec::new(),
        expires_ms: 1_000,
        otherwise: otherwise.map(str::to_owned),
    };
    let steps = |otherwise| {
        let ask = |id: &str, otherwise| Step::new(id, StepAction::Ask(question(otherwise)));
        vec![ask("first", None), ask("second", otherwise), goal("last")]
    };
    let mut facts = RunFacts::default();
    for (key, said) in
        [("first", "outcome='chosen' choice='go' by='ann'/>"), ("second", "outcome='expired'/>")]
    {
        let one = NotedStart { ordinal: 1, key: key.to_owned(), number: 1 };
        facts.take_note(&TurnNote { starts: vec![one], ..TurnNote::default() });
        facts.take_answer(1, &core(&format!("person-said {said}")));
    }
    failure(steps(None), &facts);
    facts.take_arrival(&core(RETRIED));
    assert_eq!(starts(steps(None), &facts), [("second".to_owned(), 2)]);
    assert_eq!(starts(steps(Some("go")), &facts), [("last".to_owned(), 1)], "the file answers for no one");
}
