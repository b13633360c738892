//! Workflows in the organism's file: the result of each step, what the composition gets of them, what agents accept
//! and return because of them, and the output.

use std::fs;
use std::path::Path;

use systole_agent::spec::Dialect;
use systole_config::{self as config, FileMistakes, OrganismFile};
use systole_core::types::composition::{Listener, OnUnknown, Reach};
use systole_core::types::ids::Name;
use systole_workflow::spec::{
    Condition, EachList, ElementName, Path as StepPath, PayloadField, RepeatUntil, Step, StepAction,
    Supervisor, ValueSource, ValueTest, Workflow,
};

use crate::program::systole;

const PAGE: &str = "docs/reference/workflows.md";

/// The example of the page about workflows, which has three of them.
fn example() -> String {
    fs::read_to_string("docs/reference/workflows.yaml").unwrap()
}

fn load(text: &str) -> Result<OrganismFile, FileMistakes> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("organism.yaml");
    fs::write(&path, text).unwrap();
    config::load(&path)
}

fn loaded(text: &str) -> OrganismFile {
    load(text).unwrap_or_else(|refused| panic!("{refused}"))
}

/// The mistakes in a text, one on each line.
fn told(text: &str) -> Vec<String> {
    load(text)
        .map_or_else(|refused| refused.0.iter().map(|one| one.message.clone()).collect(), |_| Vec::new())
}

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn listener<'f>(file: &'f OrganismFile, of: &str) -> &'f Listener {
    file.composition.find_listener(&name(of)).unwrap()
}

fn workflow<'f>(file: &'f OrganismFile, of: &str) -> &'f Workflow {
    file.workflows.iter().find(|workflow| workflow.name == of).unwrap()
}

fn step<'w>(steps: &'w [Step], id: &str) -> &'w Step {
    let inside = |step: &'w Step| std::iter::once(step).chain(step.inner_steps());
    steps.iter().flat_map(inside).find(|step| step.id == id).unwrap_or_else(|| panic!("no {id}"))
}

fn path(goal: &str, fields: &[&str]) -> StepPath {
    StepPath {
        goal: goal.to_owned(),
        agent: None,
        fields: fields.iter().map(|one| (*one).to_owned()).collect(),
    }
}

fn locals(elements: &[systole_core::types::composition::ElementSchema]) -> Vec<&str> {
    elements.iter().map(|element| &*element.name.local).collect()
}

/// An organism with one workflow of these goals.
fn with_goals(payloads: &str, goals: &str) -> String {
    format!(
        "organism: {{name: office}}\npayloads: {payloads}\nmodels: {{main: {{provider: ollama, model: m}}}}\n\
         listeners:\n  workspace: {{run: [a], accepts: [deploy], returns: [deployed]}}\n\
         agents:\n  writer: {{model: main, prompt: {{identity: You write.}}}}\n  critic: {{model: main, prompt: {{identity: You judge.}}}}\n\
         workflows:\n  flow:\n    by: writer\n    goals:\n{goals}      - answer: Say it.\n"
    )
}

const PAYLOADS: &str = "{files: [line, 1..200], review: {score: int 0..10, findings: text, parts?: [{name: line}, 0..3]}, deploy: {summary: line, target?: line, dry?: bool}, deployed: {status: ok | failed}, plan: {target: line, summary: line, more: text}}";

#[test]
fn the_workflows_of_the_page_are_what_they_say() {
    let file = loaded(&example());
    assert_eq!(file.warnings, []);
    let review = workflow(&file, "review-change");
    assert_eq!(
        (review.returns.clone(), review.returns_text),
        (
            ElementName { namespace: "https://xml-pipeline.org/ns/talk/v1".into(), local: "answer".into() },
            true
        )
    );
    let each = EachList { list: path("pick", &["item"]), at_once: 4, least: 1, most: Some(200) };
    let fan = step(&review.steps, "review");
    assert_eq!((fan.each.as_ref(), fan.keeps_failure, fan.tries), (Some(&each), true, 1));
    let StepAction::Do(goal) = &fan.work else { panic!("{fan:?}") };
    let gives =
        ElementName { namespace: "https://xml-pipeline.org/ns/office/v1".into(), local: "review".into() };
    assert_eq!((goal.gives.as_ref(), goal.by.as_slice()), (Some(&gives), ["reviewer".to_owned()].as_slice()));
    let StepAction::Repeat { until: RepeatUntil::Holds(until), at_most: 5, .. } =
        &step(&review.steps, "report").work
    else {
        panic!("{review:?}")
    };
    let wanted = ValueTest::Number(vec![(Some("9".to_owned()), None)]);
    assert_eq!(*until, [Condition { path: path("judge", &["score"]), test: wanted }]);
    let StepAction::Do(last) = &step(&review.steps, "answer").work else { panic!() };
    assert_eq!(last.sees, Some(vec![path("report", &[])]));
    let release = workflow(&file, "release");
    let StepAction::Call(call) = &step(&release.steps, "deploy").work else { panic!() };
    let summary = PayloadField {
        name: "summary".into(),
        is_attribute: false,
        is_optional: false,
        source: ValueSource::Path(path("plan", &["summary"])),
    };
    assert_eq!((call.to.as_str(), call.is_qualified, &call.fields), ("workspace", true, &vec![summary]));
    let StepAction::Ask(gate) = &step(&release.steps, "gate").work else { panic!() };
    assert_eq!((gate.expires_ms, gate.otherwise.as_deref()), (86_400_000, Some("stop")));
    assert_eq!(gate.shows, [path("plan", &[])]);
    let when = &step(&release.steps, "settle").when;
    assert_eq!(
        *when,
        [Condition { path: path("gate", &["choice"]), test: ValueTest::Text(vec!["go".into()]) }]
    );
}

#[test]
fn a_workflow_is_a_listener_of_the_composition_and_its_agents_serve_it() {
    let file = loaded(&example());
    let release = listener(&file, "release");
    assert_eq!(locals(&release.accepts), ["release-request", "branch"]);
    assert_eq!(locals(&release.returns), ["answer", "branch-output"]);
    let peers: Vec<&str> = release.peers.iter().map(Name::as_str).collect();
    assert_eq!(peers, ["planner", "workspace", "watcher", "auditor", "release"]);
    assert!(matches!(release.reach, Reach::Inline) && release.entry && release.note.is_some());
    assert_eq!((release.turns, release.share_percent, release.on_unknown), (u32::MAX, 100, OnUnknown::Retry));
    let planner = listener(&file, "planner");
    assert_eq!((locals(&planner.accepts), planner.entry), (vec!["goal-request"], false));
    let returns = vec!["goal-output", "plan", "commit", "assessment"];
    assert_eq!((locals(&planner.returns), planner.share_percent), (returns, 100));
    assert_eq!(locals(&listener(&file, "auditor").returns), ["goal-output", "verdict"]);
    assert_eq!(listener(&file, "workspace").share_percent, 100);
    assert!(file.agents.iter().all(|agent| agent.dialect == Dialect::Plain));
    let entry = file.composition.entry.as_ref().unwrap();
    assert_eq!(entry.as_str(), "decide");
    // The default, plus the need of the largest workflow.
    let budgets = file.composition.budgets.unwrap();
    assert_eq!((budgets.messages, budgets.children, budgets.depth), (712, 244, 8));
}

#[test]
fn a_stored_configuration_gives_the_same_workflows() {
    let file = loaded(&example());
    let section = &file.composition.sections[&name("decide")];
    assert_eq!(section.path, "workflows.decide");
    assert_eq!(Workflow::from_text(&section.text).unwrap(), *workflow(&file, "decide"));
    let again = config::read_source(&file.composition.source, Path::new("/")).unwrap();
    assert_eq!((again.hash, &again.sections), (file.composition.hash, &file.composition.sections));
    assert_eq!(again.budgets, file.composition.budgets);
    let elements = |one: &Listener| (one.accepts.clone(), one.returns.clone(), one.note);
    for (name, one) in &again.listeners {
        assert_eq!(elements(one), elements(&file.composition.listeners[name]), "{name}");
    }
}

#[test]
fn an_agent_that_says_more_keeps_what_it_says() {
    let text = "organism: {name: office}
models: {main: {provider: ollama, model: m}}
agents:
  open: {model: main, accepts: [ask], prompt: {identity: You write.}}
  tooled: {model: main, peers: [open], prompt: {identity: You write.}}
  native: {model: main, dialect: native, share: 20%, prompt: {identity: You write.}}
workflows:
  flow: {goals: [{views: {do: Look., by: [open, tooled, native]}}, {answer: {do: Say it., by: open}}]}
";
    let file = loaded(text);
    let dialects: Vec<Dialect> = file.agents.iter().map(|agent| agent.dialect).collect();
    assert_eq!(dialects, [Dialect::Xml, Dialect::Xml, Dialect::Native]);
    let open = listener(&file, "open");
    assert_eq!((locals(&open.accepts), open.entry), (vec!["ask", "goal-request"], true));
    assert_eq!(locals(&open.returns), ["answer", "goal-output"]);
    assert_eq!(listener(&file, "native").share_percent, 20);
    // The messages between workflows and their agents are not tools.
    let tooled = file.agents.iter().find(|agent| agent.name == "tooled").unwrap();
    let peer = tooled.peers.first().unwrap();
    let taken: Vec<&str> = peer.accepts.iter().map(|one| &*one.element.local).collect();
    assert_eq!(taken, ["ask"]);
    // The entry is the only open workflow, even if agents or listeners are open too.
    assert_eq!(file.composition.entry, Some(name("flow")));
    let closed = text.replace("flow: {", "flow: {entry: false, ");
    assert_eq!(loaded(&closed).composition.entry, Some(name("open")), "then it is the only open agent");
}

#[test]
fn f4_the_innermost_supervisor_counts_and_only_goals_have_one() {
    let text = "organism: {name: office}
models: {main: {provider: ollama, model: m}}
agents:
  a: {model: main, prompt: {identity: You write.}}
  b: {model: main, prompt: {identity: You judge.}}
  c: {model: main, prompt: {identity: You judge.}}
workflows:
  flow:
    by: a
    supervise: b
    goals:
      - first: Say it.
      - group: {supervise: person, goals: [inner: Say it., own: {do: Say it., supervise: c}, rest: {wait: 5s}]}
      - answer: Say it.
";
    let file = loaded(text);
    let steps = &workflow(&file, "flow").steps;
    let agent = |name: &str| Some(Supervisor::Agent(name.to_owned()));
    for (id, by) in [
        ("first", agent("b")),
        ("group", None),
        ("inner", Some(Supervisor::Person)),
        ("own", agent("c")),
        ("rest", None),
        ("answer", agent("b")),
    ] {
        assert_eq!(step(steps, id).supervise, by, "{id}");
    }
    assert_eq!(locals(&listener(&file, "a").returns), ["goal-output", "commit", "assessment"]);
    assert_eq!(locals(&listener(&file, "c").returns), ["goal-output", "verdict"]);
}

#[test]
fn a_file_may_have_payloads_with_the_names_of_the_vocabulary() {
    let payloads = PAYLOADS.replace("{files:", "{branch: {name: line}, files:");
    let file = loaded(&with_goals(&payloads, "      - pick: {do: List it., gives: branch}\n"));
    let StepAction::Do(goal) = &step(&workflow(&file, "flow").steps, "pick").work else { panic!() };
    assert_eq!(goal.gives.as_ref().unwrap().namespace, "https://xml-pipeline.org/ns/office/v1");
    assert_eq!(
        file.warnings.iter().map(|one| one.code.as_str()).filter(|code| *code == "config.shadowed").count(),
        0
    );
}

#[test]
fn calls_are_filled_in_the_order_of_the_schema() {
    let goals = "      - plan: {do: Plan it., gives: plan}
      - words: Say it.
      - copied: {call: deploy, to: workspace, with: plan}
      - named: {call: deploy, to: workspace, with: {dry: {text: 'true'}, target: plan/target, summary: words}}
";
    let file = loaded(&with_goals(PAYLOADS, goals));
    let steps = &workflow(&file, "flow").steps;
    let fields = |id: &str| {
        let StepAction::Call(call) = &step(steps, id).work else { panic!("{id}") };
        call.fields
            .iter()
            .map(|field| (field.name.clone(), field.is_optional, field.source.clone()))
            .collect::<Vec<_>>()
    };
    let from = |goal: &str, fields: &[&str]| ValueSource::Path(path(goal, fields));
    assert_eq!(
        fields("copied"),
        [
            ("summary".to_owned(), false, from("plan", &["summary"])),
            ("target".to_owned(), true, from("plan", &["target"])),
        ]
    );
    assert_eq!(
        fields("named"),
        [
            ("summary".to_owned(), false, from("words", &[])),
            ("target".to_owned(), true, from("plan", &["target"])),
            ("dry".to_owned(), true, ValueSource::Text("true".to_owned())),
        ]
    );
}

#[test]
fn one_workflow_calls_another_with_a_text() {
    let text = "organism: {name: office}
models: {main: {provider: ollama, model: m}}
agents: {writer: {model: main, prompt: {identity: You write.}}}
workflows:
  inner: {by: writer, goals: [{answer: Say it.}]}
  outer:
    by: writer
    goals:
      - frame: Say it.
      - decide: {call: ask, to: inner, with: frame}
      - asked: {call: ask, to: inner, with: {.: request}, budget: {messages: 9, tokens: 2k, money: 0.5 USD}}
      - answer: Say it.
";
    let file = loaded(text);
    let steps = &workflow(&file, "outer").steps;
    for (id, goal) in [("decide", "frame"), ("asked", "request")] {
        let StepAction::Call(call) = &step(steps, id).work else { panic!() };
        let [field] = call.fields.as_slice() else { panic!("{call:?}") };
        assert_eq!((field.name.as_str(), &field.source), (".", &ValueSource::Path(path(goal, &[]))));
    }
    let budget = &step(steps, "asked").budget;
    assert_eq!(
        (budget.messages, budget.tokens, budget.money.as_deref()),
        (Some(9), Some(2000), Some("0.5 USD"))
    );
    assert_eq!(file.warnings.len(), 1, "both take `ask`: {:?}", file.warnings);
}

/// A choice takes one of its elements, so a call cannot fill both.
#[test]
fn f2_check_proves_that_the_fields_of_a_call_make_a_valid_payload() {
    let schema = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:pay" elementFormDefault="qualified">
  <xs:element name="pay"><xs:complexType><xs:choice>
    <xs:element name="card" type="xs:string"/><xs:element name="iban" type="xs:string"/>
  </xs:choice></xs:complexType></xs:element>
  <xs:element name="paid" type="xs:string"/>
</xs:schema>"#;
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("pay.xsd"), schema).unwrap();
    let path = folder.path().join("organism.yaml");
    let told = |with: &str| {
        let text = format!(
            "organism: {{name: office}}\nmodels: {{main: {{provider: ollama, model: m}}}}\n\
             agents: {{writer: {{model: main, prompt: {{identity: You write.}}}}}}\n\
             listeners:\n  bank: {{run: [python3, b.py], schema: pay.xsd, accepts: [pay], returns: [paid]}}\n\
             workflows:\n  flow:\n    by: writer\n    goals:\n      - how: Say it.\n      \
             - pay: {{call: pay, to: bank, with: {with}}}\n      - answer: Say it.\n"
        );
        fs::write(&path, text).unwrap();
        config::load(&path).map_or_else(|refused| refused.to_string(), |_| String::new())
    };
    assert_eq!(told("{card: how}"), "");
    assert_eq!(told("{iban: {text: x}}"), "");
    let both = told("{card: {text: x}, iban: {text: y}}");
    assert!(both.contains("these fields make no valid `pay`"), "{both}");
}

#[test]
fn inside_a_branch_the_path_of_the_list_is_the_item() {
    let goals = |when: &str| {
        format!(
            "      - judge: {{do: Judge it., gives: review}}
      - each: {{each: judge/parts/item, goals: [{{look: {{do: Look., when: {{{when}}}, gives: review}}}}, {{near: {{do: Say., when: {{look/score: 3..}}}}}}]}}
"
        )
        .replace("- each:", "- branch:")
    };
    let file = loaded(&with_goals(PAYLOADS, &goals("judge/parts/item/name: x")));
    let branch = step(&workflow(&file, "flow").steps, "branch");
    // The list is optional, so no item is certain.
    assert_eq!(branch.each.as_ref().map(|each| (each.least, each.most)), Some((0, Some(3))));
    let outside = "      - judge: {do: Judge it., gives: review}\n      - look: {do: Look., when: {judge/parts/item/name: x}}\n";
    assert_eq!(
        told(&with_goals(PAYLOADS, outside)),
        ["workflows.flow.look.when: `item` may come several times, and a condition compares one value"]
    );
}

#[test]
fn what_a_step_says_of_budgets_holds_for_the_steps_inside_it() {
    let goals = "      - group: {budget: {messages: 7}, goals: [{one: Say it.}, {two: {do: Say it., budget: {tokens: 9}}}]}\n";
    let text = with_goals(PAYLOADS, goals)
        .replace("    by: writer\n", "    by: writer\n    budget: {messages: 20}\n");
    let file = loaded(&text);
    let steps = &workflow(&file, "flow").steps;
    let messages = |id: &str| step(steps, id).budget.messages;
    assert_eq!([messages("one"), messages("two"), messages("answer")], [Some(7), None, Some(20)]);
}

#[test]
fn steps_nest_to_sixty_four_levels() {
    let mut goals = String::new();
    for level in 0..64 {
        let indent = " ".repeat(6 + 6 * level);
        goals.push_str(&format!("{indent}- level{level}:\n{indent}    goals:\n"));
    }
    goals.push_str(&format!("{}- inner: Say it.\n", " ".repeat(6 + 6 * 64)));
    let file = loaded(&with_goals(PAYLOADS, &goals));
    let mut steps = workflow(&file, "flow").steps.as_slice();
    let mut depth = 0;
    while let Some(inside) = steps.first().map(Step::inner_steps).filter(|inside| !inside.is_empty()) {
        (steps, depth) = (inside, depth + 1);
    }
    assert_eq!((depth, steps[0].id.as_str()), (64, "inner"));
    let again = config::read_source(&file.composition.source, Path::new("/")).unwrap();
    assert_eq!(again.sections, file.composition.sections);
}

#[test]
fn an_agent_with_goals_alone_is_not_opened_by_a_word() {
    let text = example().replace("planner: {model: main,", "planner: {model: main, entry: true,");
    assert_eq!(
        told(&text),
        ["agents.planner.entry: it takes goals of workflows alone, and none of them comes from outside"]
    );
}

/// The commands' output for the example equals the golden file.
#[test]
fn check_graph_and_explain_show_workflows() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("organism.yaml"), example()).unwrap();
    let mut told = String::new();
    for command in [&["check"][..], &["graph"], &["graph", "--format", "mermaid"], &["workflow", "explain"]] {
        let ran = systole(folder.path(), command);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        told.push_str(&format!("$ systole {}\n{}\n", command.join(" "), ran.stdout));
    }
    let told = told.replace(&*folder.path().to_string_lossy(), "FOLDER");
    crate::golden::golden("tests/suite/golden/workflows.txt", &told);
    let ran = systole(folder.path(), &["check", "--json"]);
    let described: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let review = &described["workflows"][1];
    assert_eq!((&review["name"], &review["goals"]["most"]), (&"review-change".into(), &212.into()));
    // The page shows the same line.
    let page = fs::read_to_string(PAGE).unwrap();
    let line = told.lines().find(|line| line.contains("review-change: at most")).unwrap();
    assert!(page.contains(line), "{line}");
    let ran = systole(folder.path(), &["workflow", "explain", "decid"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.contains("did you mean decide?"), "{}", ran.stderr);
}

#[test]
fn a_list_without_an_end_is_counted_for_each_item() {
    let payloads = PAYLOADS.replace("[line, 1..200]", "[line]");
    let goals =
        "      - pick: {do: List them., gives: files}\n      - review: {each: pick/item, do: Review it.}\n";
    let file = loaded(&with_goals(&payloads, goals));
    let bounds = config::bounds(&file.workflows);
    let goals = &bounds[0].goals;
    assert_eq!((goals.fixed, goals.per_item.as_slice()), (2, [(1, "pick/item".to_owned())].as_slice()));
    let folder = tempfile::tempdir().unwrap();
    let text = with_goals(
        &payloads,
        "      - pick: {do: List them., gives: files}\n      - review: {each: pick/item, do: Review it.}\n",
    );
    fs::write(folder.path().join("organism.yaml"), text).unwrap();
    let ran = systole(folder.path(), &["check"]);
    let line = "  flow: at most 1 + 1 = 2 goals and 1 more for each item of pick/item, 6 model requests and 3 more for each item of pick/item";
    let told: Vec<&str> = ran.stdout.split_whitespace().collect();
    assert!(told.join(" ").contains(line.trim()), "{}", ran.stdout);
}

#[test]
fn the_vocabulary_can_be_asked_about() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("organism.yaml"), example()).unwrap();
    let ran = systole(folder.path(), &["schema", "show", "goal-request"]);
    assert_eq!((ran.code, ran.stdout.as_bytes()), (Some(0), config::WORKFLOW_XSD), "{}", ran.stderr);
}
