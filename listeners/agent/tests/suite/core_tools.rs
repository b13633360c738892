//! The core's own tools for models with native calls: their descriptions, the effect of wrong arguments, and a
//! conflict with a peer's name.

use systole_agent::spec::{AgentSpec, CoreToolGroup, Dialect, ElementContract, Peer};
use systole_kit::reply::ReplyContent;
use systole_kit::{QName, namespaces};

use crate::prompts::golden;
use crate::stage::{AgentStage, helper, items};

const MEMORY: &str = "https://xml-pipeline.org/ns/memory/v1";
const MEMORY_XSD: &[u8] = br#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="https://xml-pipeline.org/ns/memory/v1" elementFormDefault="qualified">
  <xs:element name="recall"><xs:complexType><xs:sequence><xs:element name="what" type="xs:string"/></xs:sequence></xs:complexType></xs:element>
</xs:schema>"#;

/// An agent with a peer whose element has the name of one of the core's.
fn with_memory(dialect: Dialect) -> AgentSpec {
    let mut agent = helper(dialect);
    let mut schemas = agent.schemas.to_vec();
    schemas.push(systole_agent::spec::NamedSchema { name: "memory.xsd".to_owned(), text: MEMORY_XSD.into() });
    agent.schemas = schemas.into();
    let accepts = vec![ElementContract { element: QName::new(MEMORY, "recall"), schema: 2 }];
    agent.peers.push(Peer { name: "memory".to_owned(), accepts, returns: Vec::new(), needs_approval: false });
    agent
}

#[tokio::test]
async fn e12_native_tools_of_the_core_are_reported_with_their_schemas() {
    let mut stage = AgentStage::of(helper(Dialect::Native), "helper:\n  - say: In auth.rs.\n");
    stage.ask().await;
    let tools: Vec<String> = stage
        .tools()
        .lines()
        .map(|line| {
            let tool: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(tool["parameters"]["type"], "object", "{tool}");
            serde_json::to_string_pretty(&tool).unwrap()
        })
        .collect();
    golden("native-tools.txt", &(tools.join("\n") + "\n"));
}

/// Wrong calls, and the words that help the model fix each one.
const WRONG: [(&str, &[&str]); 15] = [
    ("{recall: {from_seq: 0, to_seq: 1}}", &["/recall/from_seq: from_seq: 0 is less than 1", "try "]),
    ("{recall: {from_seq: 1}}", &["/recall", "to_seq", "missing"]),
    ("{recall: {from_seq: one, to_seq: 1}}", &["/recall/from_seq", "try "]),
    ("{recall: {from_seq: 1, to_seq: 1, lenght: 3}}", &["/recall/lenght", "try write length"]),
    ("{await_threads: {mode: some}}", &["/await_threads/mode", "some", "expected "]),
    ("{cancel_thread: {}}", &["/cancel_thread", "id", "missing"]),
    ("{set_timer: {note: x}}", &["/set_timer", "after", "every"]),
    ("{set_timer: {after: 1m, every: 1m, note: x}}", &["/set_timer", "every"]),
    ("{set_timer: {after: soon, note: x}}", &["/set_timer/after", "soon"]),
    (
        "{todo_until: {condition: c, steps: [{done: half, text: x}]}}",
        &["/todo_until/steps/done", "true or false is needed", "try "],
    ),
    ("{ask_person: {question: Go?}}", &["/ask_person", "expires", "missing"]),
    ("{ask_person: {question: Go?, expires: soon}}", &["/ask_person/expires", "soon"]),
    ("{spawn_thread: {tool: serach, arguments: {query: x}}}", &["/spawn_thread/tool", "try search"]),
    (
        "{spawn_thread: {label: No Label, tool: search, arguments: {query: x}}}",
        &["/spawn_thread/label", "leave it out"],
    ),
    (
        "{spawn_thread: {tool: search, arguments: {query: x, limit: 0}}}",
        &["/spawn_thread/arguments: /search/limit", "0 is less than 1", "try "],
    ),
];

#[tokio::test]
async fn e8_wrong_arguments_of_a_core_tool_are_reported_with_place_and_fix() {
    for (call, wanted) in WRONG {
        for dialect in [Dialect::Native, Dialect::XmlFinal] {
            let answers = format!("helper:\n  - call: {call}\n  - say: x\n");
            let mut stage = AgentStage::of(helper(dialect), &answers);
            let said = stage.ask().await;
            let ReplyContent::Again { code, .. } = &said else { panic!("{call}: {said:?}") };
            assert_eq!(code, "agent.tool-payload-invalid", "{call}");
            stage.again(&said).await;
            let shown = stage.shown();
            assert!(shown.starts_with("Error: Invalid parameters:"), "{call}: {shown}");
            for words in wanted {
                assert!(shown.contains(words), "{call}: no {words} in {shown}");
            }
        }
    }
}

#[tokio::test]
async fn b6_an_unknown_id_of_a_thread_goes_to_the_core_which_answers_it() {
    for (native, text) in [
        ("{cancel_thread: {id: bad}}", "<cancel-thread id=\"bad\"/>"),
        (
            "{await_threads: {mode: all, threads: [bad]}}",
            "<await-threads mode=\"all\"><thread id=\"bad\"/></await-threads>",
        ),
    ] {
        let says = [
            (Dialect::Native, format!("call: {native}")),
            (Dialect::XmlFinal, format!("call: {native}")),
            (Dialect::Xml, format!("say: '<thinking>x</thinking>{text}'")),
        ];
        for (dialect, says) in says {
            let mut stage = AgentStage::of(helper(dialect), &format!("helper:\n  - {says}\n"));
            let said = stage.ask().await;
            let sent = items(&said).last().map(|item| String::from_utf8_lossy(item.bytes()).into_owned());
            assert!(sent.as_ref().is_some_and(|sent| sent.contains("id=\"bad\"")), "{dialect:?}: {sent:?}");
        }
    }
}

#[tokio::test]
async fn e12_an_agent_without_peers_has_no_tools_that_need_peers() {
    for dialect in [Dialect::Native, Dialect::XmlFinal] {
        let mut agent = helper(dialect);
        agent.peers.clear();
        let mut stage = AgentStage::of(agent, "helper:\n  - say: In auth.rs.\n");
        stage.ask().await;
        let (system, _, header) = stage.prompt();
        assert_eq!(stage.tools(), "");
        assert!(!header.contains("Tools:") && !system.contains("spawn"), "{system}{header}");
    }
    let mut agent = helper(Dialect::Xml);
    agent.peers.clear();
    let mut stage = AgentStage::of(agent, "helper:\n  - say: In auth.rs.\n");
    stage.ask().await;
    let (system, ..) = stage.prompt();
    let section = system.split("<core_tools>\n").nth(1).unwrap().split("</core_tools>").next().unwrap();
    let told: Vec<&str> =
        section.lines().filter_map(|line| line.strip_prefix("- <")?.split('>').next()).collect();
    assert_eq!(told, ["ask-person", "recall", "todo-until"]);
}

#[tokio::test]
async fn e12_a_peer_has_its_name_and_the_core_gives_way() {
    let calls = "helper:\n  - call: {recall: {what: login}, core__recall: {from_seq: 1, to_seq: 1}}\n";
    let mut stage = AgentStage::of(with_memory(Dialect::Native), calls);
    let said = stage.ask().await;
    let made: Vec<&QName> = items(&said).into_iter().map(systole_kit::Payload::name).collect();
    assert!(made[0].is_named(namespaces::CORE, "recall") && made[1].is_named(MEMORY, "recall"), "{made:?}");
    assert!(stage.tools().contains("core__recall"));

    let answers = "helper:\n  - say: <thinking>x</thinking><recall><what>login</what></recall>\n";
    let mut stage = AgentStage::of(with_memory(Dialect::Xml), answers);
    let said = stage.ask().await;
    assert!(items(&said)[1].name().is_named(MEMORY, "recall"), "{said:?}");
    assert_eq!(stage.prompt().0.matches("- <recall>").count(), 1, "{}", stage.prompt().0);
}

/// An agent whose model is told of those groups of the core's tools.
fn told_of(dialect: Dialect, groups: &[CoreToolGroup]) -> AgentSpec {
    AgentSpec { core_tools: groups.to_vec(), ..helper(dialect) }
}

/// The groups, each with its tools in text and with native calls.
const GROUPS: [(CoreToolGroup, &[&str], &[&str]); 6] = [
    (
        CoreToolGroup::Threads,
        &["spawn-thread", "await-threads", "cancel-thread"],
        &["spawn_thread", "await_threads", "cancel_thread"],
    ),
    (CoreToolGroup::Timers, &["set-timer", "cancel-timer"], &["set_timer", "cancel_timer"]),
    (CoreToolGroup::Person, &["ask-person"], &["ask_person"]),
    (CoreToolGroup::View, &["clear-context", "recall"], &["clear_context", "recall"]),
    (CoreToolGroup::Plan, &["todo-until"], &["todo_until"]),
    (CoreToolGroup::Describe, &["describe", "list-capabilities"], &[]),
];

#[tokio::test]
async fn e12_a_model_is_told_of_the_groups_that_its_agent_names() {
    for (group, in_text, native) in GROUPS {
        let mut stage = AgentStage::of(told_of(Dialect::Xml, &[group]), "helper:\n  - say: x\n");
        stage.ask().await;
        let (system, ..) = stage.prompt();
        let section = system.split("<core_tools>\n").nth(1).unwrap().split("</core_tools>").next().unwrap();
        let told: Vec<&str> =
            section.lines().filter_map(|line| line.strip_prefix("- <")?.split('>').next()).collect();
        assert_eq!(told, in_text, "{group:?}");
        for dialect in [Dialect::Native, Dialect::XmlFinal] {
            let mut stage = AgentStage::of(told_of(dialect, &[group]), "helper:\n  - say: x\n");
            stage.ask().await;
            let tools = stage.tools();
            let names = tools.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
            let names: Vec<String> = names.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
            assert_eq!(names[0], "search", "{dialect:?}");
            assert_eq!(names[1..], *native, "{dialect:?}: {group:?}");
        }
    }
}

#[tokio::test]
async fn e12_a_model_that_is_told_of_none_may_still_write_them_in_text() {
    let says = "helper:\n  - say: <thinking>x</thinking><recall from_seq=\"1\" to_seq=\"1\"/>\n";
    let mut stage = AgentStage::of(told_of(Dialect::Xml, &[]), says);
    let said = stage.ask().await;
    assert!(items(&said)[1].name().is_named(namespaces::CORE, "recall"), "{said:?}");
    assert!(!stage.prompt().0.contains("core_tools"), "{}", stage.prompt().0);
    // Only tools of the request can be called.
    let says = "helper:\n  - call: {recall: {from_seq: 1, to_seq: 1}}\n";
    let mut stage = AgentStage::of(told_of(Dialect::Native, &[]), says);
    let ReplyContent::Again { code, .. } = stage.ask().await else { panic!("it is called") };
    assert_eq!((code.as_str(), stage.tools().lines().count()), ("agent.unknown-action", 1));
}

#[tokio::test]
async fn e12_the_environment_begins_with_the_lines_of_the_file_and_ends_with_the_date() {
    let mut agent = helper(Dialect::Xml);
    agent.prompt.insert(0, crate::stage::section("environment", &["OS: Linux", "Shell: bash"], false));
    agent.folders = vec!["src".to_owned()];
    let mut stage = AgentStage::of(agent, "helper:\n  - say: x\n");
    stage.ask().await;
    let (system, ..) = stage.prompt();
    let wanted = "<environment>\nOS: Linux\nShell: bash\nFolder: src\nDate: 2026-11-20\n</environment>";
    assert!(system.ends_with(wanted) && system.matches("environment>").count() == 2, "{system}");
}
