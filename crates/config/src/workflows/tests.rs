//! Workflows of whole files: what a file says, and what is made of it.

use std::path::Path;

use systole_core::rules::classify;
use systole_core::types::composition::{ElementSchema, ListenerSection};
use systole_core::types::ids::Name;
use systole_kit::QName;
use systole_workflow::spec::{FORM, Goal, StepAction, Supervisor, Workflow};

use crate::{OrganismFile, load_text, read_stored};

/// A file with a workflow `w` of these keys. It takes a topic and a number of words, and has the agents `one`, `two` and `three`.
fn load(keys: &str) -> Result<OrganismFile, Vec<String>> {
    let text = format!(
        "organism: {{name: t}}\nmodels: {{m: {{provider: anthropic, model: x, key_env: KEY}}}}\n\
         payloads: {{job: {{topic: line, words?: int, part: [line, 1..9]}}}}\n\
         agents:\n  one: {{model: m, prompt: {{identity: One.}}}}\n  two: {{model: m, prompt: {{identity: Two.}}}}\n\
         \x20 three: {{model: m, prompt: {{identity: Three.}}}}\n\
         workflows:\n  w:\n    accepts: [job]\n{keys}"
    );
    load_text(Path::new("/nowhere/organism.yaml"), &text)
        .map_err(|mistakes| mistakes.0.iter().map(ToString::to_string).collect())
}

fn workflow(keys: &str) -> Workflow {
    let file = load(keys).unwrap_or_else(|mistakes| panic!("{mistakes:#?}"));
    file.workflows.into_iter().next().expect("there is one")
}

/// The same file as a log of an earlier version stores it.
fn stored_in_v6(keys: &str) -> Workflow {
    let file = load(keys).unwrap_or_else(|mistakes| panic!("{mistakes:#?}"));
    let source = String::from_utf8(file.composition.source.to_vec()).expect("it is text");
    let source = source.replacen("systole configuration v8", "systole configuration v6", 1);
    let stored = read_stored(source.as_bytes(), Path::new("/nowhere")).expect("it can be read");
    stored.workflows.into_iter().next().expect("there is one")
}

#[test]
fn f2_runs_of_an_earlier_version_keep_the_form_of_their_requests() {
    let keys = "    by: one\n    goals: [answer: Say it.]\n";
    let (now, before) = (workflow(keys), stored_in_v6(keys));
    assert_eq!((now.form, before.form), (FORM, 1));
    // Their steps are the same: such a run may be tried again.
    let section = |workflow: &Workflow| {
        let text = workflow.to_text().expect("it can be written");
        ListenerSection { path: "workflows.one".to_owned(), text }
    };
    let (now, before) = (section(&now), section(&before));
    assert_eq!(now.steps(), before.steps());
    assert!(now.text != before.text && now.steps().ends_with("\"description\":null"), "{}", now.text);
}

fn mistakes(keys: &str) -> Vec<String> {
    let joined = |mistake: &String| mistake.split_whitespace().collect::<Vec<_>>().join(" ");
    load(keys).err().unwrap_or_default().iter().map(joined).collect()
}

fn goal(workflow: &Workflow, nth: usize) -> &Goal {
    let StepAction::Do(goal) = &workflow.steps[nth].work else { panic!("it is no goal") };
    goal
}

#[test]
fn f1_a_request_is_hidden_by_the_workflow_or_by_the_goal() {
    let goals = "    by: one\n    goals: [{plan: {do: Plan it., request: hidden}}, {answer: Say it.}]\n";
    let own = workflow(goals);
    assert_eq!([0, 1].map(|nth| goal(&own, nth).hides_request), [true, false]);
    let goals = "    by: one\n    request: hidden\n    goals: [{plan: Plan it.}, {answer: {do: Say it., request: shown}}]\n";
    let all = workflow(goals);
    assert_eq!([0, 1].map(|nth| goal(&all, nth).hides_request), [true, false]);
}

#[test]
fn f1_a_request_that_is_hidden_and_named_or_shown_to_no_goal_is_a_mistake() {
    let of =
        |keys: &str| mistakes(&format!("    by: one\n    goals: [{{answer: {{do: Say it., {keys}}}}}]\n"));
    let [both] = &of("sees: [request/topic], request: hidden")[..] else { panic!("it is no single mistake") };
    assert!(
        both.contains("w.answer.sees: `request/topic` is named, and `request: hidden` hides it"),
        "{both}"
    );
    assert!(both.contains(":12:43") && both.contains("leave one of them out"), "{both}");
    let [none] = &of("sees: [], request: shown")[..] else { panic!("it is no single mistake") };
    assert!(
        none.contains("`sees: []` hides the request too") && none.contains("try: sees: [request]"),
        "{none}"
    );
    let [stray] =
        &mistakes("    by: one\n    goals: [{a: {wait: 1m, request: hidden}}, {answer: Say it.}]\n")[..]
    else {
        panic!("it is no single mistake")
    };
    assert!(stray.contains("`request` has no effect beside `wait`"), "{stray}");
}

#[test]
fn f1_words_with_a_field_that_the_request_does_not_have_are_refused_with_the_place_and_a_fix() {
    let of = |words: &str| mistakes(&format!("    by: one\n    goals:\n      - answer: {words}\n"));
    for fine in ["Write $words words on $topic.", "It costs $5 or $$topik.", "'$topic: $'"] {
        assert_eq!(of(fine), [""; 0], "{fine}");
    }
    for (words, why, place, fix) in [
        ("Write on $topik.", "`$topik` is not a field of the request", ":13:26", "$topic"),
        ("'Write on $topik.'", "`$topik` is not a field of the request", ":13:", "$topic"),
        ("On $zzz.", "`$zzz` is not a field of the request", ":13:20", "$topic, $words, $part; or $$zzz"),
        ("On $part.", "`$part` is not a single value", ":13:20", "sees: [request/part]"),
    ] {
        let [mistake] = &of(words)[..] else { panic!("{words}: {:#?}", of(words)) };
        for part in [why, place, fix] {
            assert!(mistake.contains(part), "{part} is not in {mistake}");
        }
    }
    let item =
        "    by: one\n    goals: [{each-one: {each: request/part/item, do: Do $part.}}, {answer: Say it.}]\n";
    assert_eq!(mistakes(item), [""; 0]);
}

/// The sign had no meaning then.
#[test]
fn f1_words_in_the_log_of_an_earlier_version_stay_as_they_are() {
    let keys = "    by: one\n    goals: [answer: Spend $$zzz.]\n";
    let stored = load(keys).expect("it is right");
    let source = String::from_utf8(stored.composition.source.to_vec()).expect("it is text");
    let earlier = source.replacen("v8", "v6", 1).replacen("$$zzz", "$zzz!", 1);
    let file = read_stored(earlier.as_bytes(), Path::new("/nowhere")).expect("it can be read");
    assert_eq!(goal(&file.workflows[0], 0).words, "Spend $zzz!.");
}

#[test]
fn f1_no_outsider_is_shown_the_branch_of_a_workflow() {
    let keys = "    by: one\n    tasks: {by: two, supervise: person}\n    goals: [answer: Say it.]\n";
    let file = load(keys).expect("it is right");
    let listener =
        file.composition.listeners.values().find(|one| one.name.as_str() == "w").expect("it is there");
    let shown = |all: &[ElementSchema]| {
        let shown = all.iter().filter(|element| listener.shows_outside(element));
        shown.map(|element| element.name.local.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(
        (shown(&listener.accepts), shown(&listener.returns)),
        (vec!["job".to_owned()], vec!["answer".to_owned()])
    );
    let client = Name::parse("guest").expect("it is a name");
    let namespace = systole_kit::namespaces::WORKFLOW;
    for element in [QName::new("urn:x", "job"), QName::new(namespace, "brunch")] {
        let refused =
            classify::of_message(&file.composition, &client, &element, None).expect_err("it is refused");
        let told = format!("{refused:?}");
        assert!(
            told.contains("}job") && !told.contains("branch") && !told.contains("}goal-request"),
            "{told}"
        );
    }
}

const SUPERVISED: &str = "    by: one\n    goals:\n      - report: {do: Write it., tasks: {by: two, at_most: 2, supervise: three}}\n      - answer: Say it.\n";

#[test]
fn f3_supervised_tasks_go_to_the_workflow_which_asks_the_agent_and_the_supervisor() {
    let file = load(SUPERVISED).unwrap_or_else(|mistakes| panic!("{mistakes:#?}"));
    let listener = |name: &str| {
        file.composition.listeners.values().find(|one| one.name.as_str() == name).expect("it is there")
    };
    let names = |all: &[ElementSchema]| all.iter().map(|one| one.name.local.to_string()).collect::<Vec<_>>();
    let peers = |name: &str| listener(name).peers.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert!(names(&listener("w").accepts).contains(&"goal-request".to_owned()));
    assert!(names(&listener("w").returns).contains(&"goal-output".to_owned()));
    for peer in ["one", "two", "three", "w"] {
        assert!(peers("w").contains(&peer.to_owned()), "{peer}");
    }
    assert_eq!(peers("one"), ["w"]);
    assert_eq!(peers("two"), [""; 0]);
    for (agent, element) in [("two", "commit"), ("two", "assessment"), ("three", "verdict")] {
        assert!(names(&listener(agent).returns).contains(&element.to_owned()), "{agent} {element}");
    }
    let agent = |name: &str| file.agents.iter().find(|one| one.name == name).expect("it is there");
    assert_eq!(agent("one").task_takers, ["w"]);
    let rule = goal(&file.workflows[0], 0).tasks.clone().expect("it has a rule");
    assert_eq!((rule.by.as_str(), rule.supervise), ("two", Some(Supervisor::Agent("three".to_owned()))));
    let person = workflow(&SUPERVISED.replace("three", "person"));
    assert_eq!(
        goal(&person, 0).tasks.as_ref().and_then(|rule| rule.supervise.clone()),
        Some(Supervisor::Person)
    );
}

#[test]
fn f3_a_wrong_supervisor_of_tasks_is_reported_with_its_place_and_a_fix() {
    let [unknown] = &mistakes(&SUPERVISED.replace("three", "thre"))[..] else {
        panic!("it is no single mistake")
    };
    assert!(unknown.contains("w.report.tasks.supervise: no agent is called `thre`"), "{unknown}");
    assert!(unknown.contains("try: three"), "{unknown}");
    let [itself] = &mistakes(&SUPERVISED.replace("three", "two"))[..] else {
        panic!("it is no single mistake")
    };
    assert!(itself.contains("w.report.tasks.supervise: `two` would supervise itself"), "{itself}");
}
