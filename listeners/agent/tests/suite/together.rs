//! Elements of one answer that happen together: what goes out, and what the model sees of the result. The stage answers
//! like a pump.

use systole_agent::spec::{self, ActionLimit, Dialect, NamedSchema, NamedSchemas, Peer};
use systole_kit::reply::ReplyContent;
use systole_kit::schema::SchemaModel;
use systole_kit::{DocumentLimits, Payload, QName, namespaces};

use crate::slugs::{Says, Speaks, calls, text};
use crate::stage::{found, helper, items, system_error};

const COMMANDS: &[u8] = include_bytes!("../../../../schemas/commands.xsd");
const PROPOSALS: &[u8] = include_bytes!("../../../../schemas/proposals.xsd");
const WORKSPACE: &[u8] = include_bytes!("../../../../schemas/workspace.xsd");
const COMMANDS_NS: &str = "https://xml-pipeline.org/ns/commands/v1";

/// An agent that searches, and has a workspace.
fn coder(dialect: Dialect, actions: ActionLimit) -> spec::AgentSpec {
    let agent = helper(dialect);
    let first = agent.schemas.len();
    let vocabularies = [("commands/", COMMANDS), ("proposals/", PROPOSALS), ("workspace/", WORKSPACE)];
    let more = vocabularies.map(|(name, text)| NamedSchema { name: name.to_owned(), text: text.into() });
    let schemas: NamedSchemas = agent.schemas.iter().cloned().chain(more).collect();
    let contract = |ns: &str, local: &str, at: usize| spec::ElementContract {
        element: QName::new(ns, local),
        schema: first + at,
    };
    let accepts = vec![
        contract(COMMANDS_NS, "str_replace", 0),
        contract(COMMANDS_NS, "create_file", 0),
        contract(COMMANDS_NS, "shell", 0),
        contract(namespaces::WORKSPACE, "undo", 2),
        contract(namespaces::WORKSPACE, "change-set", 2),
        contract(namespaces::WORKSPACE, "apply", 2),
    ];
    let returns = vec![contract(namespaces::WORKSPACE, "change-result", 2)];
    let hands = Peer { name: "hands".to_owned(), accepts, returns, needs_approval: false };
    let peers = [agent.peers.clone(), vec![hands]].concat();
    spec::AgentSpec { peers, schemas, actions, ..agent }
}

/// A change and a command, and a search between them.
fn work(dialect: Dialect) -> Says {
    if dialect == Dialect::Xml {
        return text(
            "<thinking>x</thinking>\n<str_replace path=\"a.py\"><old_str>1 &lt; 2</old_str><new_str>2</new_str></str_replace>\n\
             <search><query>a</query></search>\n<shell>pytest</shell>",
        );
    }
    calls(&[
        ("str_replace", r#"{"path": "a.py", "old_str": "1 < 2", "new_str": "2"}"#),
        ("search", r#"{"query": "a"}"#),
        ("shell", r#"{".": "pytest"}"#),
    ])
}

fn texts(said: &ReplyContent) -> Vec<String> {
    let all = items(said).into_iter().map(|payload| String::from_utf8(payload.bytes().to_vec()).unwrap());
    all.filter(|item| !item.starts_with("<helper")).collect()
}

fn payload(xml: &str) -> Payload {
    Payload::parse(xml.as_bytes(), &DocumentLimits::FROM_PUMP).unwrap()
}

fn result() -> Payload {
    payload(&format!(
        "<change-result xmlns=\"{}\" change=\"c1\" outcome=\"failed\">\
         <result of=\"1\" element=\"str_replace\" outcome=\"done\">a.py, line 4</result>\
         <result of=\"2\" element=\"shell\" outcome=\"failed\" exit=\"1\">1 failed &lt;here&gt;</result>\
         <changed of=\"2\" path=\"out.txt\"/></change-result>",
        namespaces::WORKSPACE
    ))
}

/// The answers to a reply: to its note, to the change set, and to the search.
fn answers(said: &ReplyContent, change: &Payload) -> Vec<Option<Payload>> {
    let answer = |payload: &&Payload| match &*payload.name().local {
        "change-set" => Some(change.clone()),
        "search" => Some(found("auth.rs")),
        _ => None,
    };
    items(said).iter().map(answer).collect()
}

#[tokio::test]
async fn g2_marked_elements_of_one_answer_are_one_change_set_that_its_schema_allows() {
    let set = format!(
        "<change-set xmlns=\"{}\"><str_replace xmlns=\"{COMMANDS_NS}\" path=\"a.py\"><old_str>1 &lt; 2</old_str><new_str>2</new_str></str_replace><shell xmlns=\"{COMMANDS_NS}\">pytest</shell></change-set>",
        namespaces::WORKSPACE
    );
    let model = SchemaModel::read_among(WORKSPACE, &[("c", COMMANDS), ("p", PROPOSALS)]).unwrap();
    assert_eq!(model.explain_payload(set.as_bytes()), None);
    for dialect in [Dialect::Xml, Dialect::Native] {
        let mut stage = Speaks::stage(coder(dialect, ActionLimit::Many), &[work(dialect)]);
        let said = stage.ask().await;
        let sent = texts(&said);
        assert_eq!(sent.len(), 2, "{dialect:?}: {sent:?}");
        assert_eq!(sent[0], set, "{dialect:?}");
        assert!(sent[1].starts_with("<search"), "{sent:?}");
        let whole = format!("{}{}", stage.prompt().0, stage.tools());
        assert!(
            !whole.contains("change-set>") && !whole.contains("<apply"),
            "the model writes neither: {whole}"
        );
        assert!(whole.contains("undo") && whole.contains("str_replace"), "{whole}");
    }
}

#[tokio::test]
async fn g2_where_one_action_is_allowed_a_change_set_counts_as_one() {
    for (dialect, slug) in
        [(Dialect::Xml, "agent.second-action"), (Dialect::Native, "agent.too-many-actions")]
    {
        let says = match dialect {
            Dialect::Xml => {
                text("<thinking>x</thinking><create_file path=\"a\">1</create_file><shell>true</shell>")
            }
            _ => calls(&[("create_file", r#"{"path": "a", ".": "1"}"#), ("shell", r#"{".": "true"}"#)]),
        };
        let mut stage = Speaks::stage(coder(dialect, ActionLimit::One), &[says]);
        let sent = texts(&stage.ask().await);
        assert_eq!(sent.len(), 1, "{dialect:?}: {sent:?}");
        assert!(sent[0].contains("<create_file") && sent[0].contains("<shell"), "{sent:?}");
        assert!(stage.heard.lock().unwrap().notices.is_empty(), "{dialect:?}");

        let mut stage = Speaks::stage(coder(dialect, ActionLimit::One), &[work(dialect)]);
        let sent = texts(&stage.ask().await);
        assert_eq!(sent.len(), 1, "{dialect:?}: the search is too much: {sent:?}");
        let notices = stage.heard.lock().unwrap().notices.clone();
        assert_eq!(notices.iter().map(|(code, _)| code.as_str()).collect::<Vec<_>>(), [slug], "{dialect:?}");
    }
}

#[tokio::test]
async fn g2_a_model_that_is_cut_early_may_finish_its_change_set() {
    let agent = spec::AgentSpec { stop_early: true, ..coder(Dialect::Xml, ActionLimit::One) };
    let says = text("<thinking>x</thinking><create_file path=\"a\">1</create_file><shell>true</shell>");
    let mut stage = Speaks::stage(agent, &[says]);
    let sent = texts(&stage.ask().await);
    assert!(sent[0].contains("<create_file") && sent[0].contains("<shell"), "{sent:?}");
}

#[tokio::test]
async fn g2_each_element_of_a_change_set_has_a_result_of_its_own() {
    let mut stage = Speaks::stage(coder(Dialect::Xml, ActionLimit::Many), &[work(Dialect::Xml), text("x")]);
    let said = stage.ask().await;
    stage.answer(answers(&said, &result()), Vec::new()).await;
    assert_eq!(
        stage.shown(),
        "<tool_result tool_name=\"str_replace\" call=\"1\">str_replace: done\na.py, line 4\nChange c1.</tool_result>\n\
         <tool_result tool_name=\"shell\" call=\"2\">Error: shell: failed (exit 1)\n1 failed &lt;here&gt;\nIt changed out.txt.</tool_result>\n\n\
         <tool_result tool_name=\"search\" call=\"2\">auth.rs</tool_result>"
    );
    let mut stage =
        Speaks::stage(coder(Dialect::Native, ActionLimit::Many), &[work(Dialect::Native), text("x")]);
    let said = stage.ask().await;
    stage.answer(answers(&said, &result()), Vec::new()).await;
    assert_eq!(
        stage.shown(),
        "str_replace: done\na.py, line 4\nChange c1.\nauth.rs\nError: shell: failed (exit 1)\n1 failed <here>\nIt changed out.txt."
    );
}

#[tokio::test]
async fn g2_a_failure_of_a_whole_change_set_is_the_result_of_each_of_its_calls() {
    let mut stage =
        Speaks::stage(coder(Dialect::Native, ActionLimit::Many), &[work(Dialect::Native), text("x")]);
    let said = stage.ask().await;
    let refused = system_error("payload.invalid", "no such attribute");
    stage.answer(answers(&said, &refused), Vec::new()).await;
    let shown = stage.shown();
    assert_eq!(shown.matches("no such attribute").count(), 2, "{shown}");
    let reason = payload(&format!(
        "<change-result xmlns=\"{}\" change=\"c1\" outcome=\"refused\"><reason>a person said no</reason></change-result>",
        namespaces::WORKSPACE
    ));
    let mut stage =
        Speaks::stage(coder(Dialect::Native, ActionLimit::Many), &[work(Dialect::Native), text("x")]);
    let said = stage.ask().await;
    stage.answer(answers(&said, &reason), Vec::new()).await;
    let shown = stage.shown();
    assert_eq!(shown.matches("a person said no").count(), 2, "{shown}");
}

#[tokio::test]
async fn g2_each_failure_of_a_workspace_begins_with_error_and_names_what_the_model_wrote() {
    let core = |code: &str| {
        let words = "change-set: there is no attribute x";
        payload(&format!(
            "<system-error xmlns=\"{}\" code=\"{code}\" retry_allowed=\"true\" element=\"change-set\" message=\"{words}\"/>",
            namespaces::CORE
        ))
    };
    let result = |inside: &str| {
        payload(&format!(
            "<change-result xmlns=\"{}\" change=\"c1\" outcome=\"refused\">{inside}</change-result>",
            namespaces::WORKSPACE
        ))
    };
    let refused = result(
        "<result of=\"1\" element=\"str_replace\" outcome=\"refused\" code=\"workspace.no-match\">it is not there</result>\
         <result of=\"2\" element=\"shell\" outcome=\"not-run\"/>",
    );
    let failures = [
        core("payload.invalid"),
        core("payload.no-such-element"),
        core("payload.malformed"),
        core("listener.timeout"),
        core("approval.rejected"),
        result("<reason>a person said no</reason>"),
        result(""),
        refused,
    ];
    for failure in failures {
        for dialect in [Dialect::Xml, Dialect::Native] {
            let mut stage = Speaks::stage(coder(dialect, ActionLimit::Many), &[work(dialect), text("x")]);
            let said = stage.ask().await;
            stage.answer(answers(&said, &failure), Vec::new()).await;
            let shown = stage.shown();
            assert_eq!(shown.matches("Error: ").count(), 2, "{dialect:?}: {shown}");
            for name in ["str_replace", "shell"] {
                assert!(
                    shown.contains(&format!("{name}: ")) || shown.contains(&format!("tool: {name}.")),
                    "{shown}"
                );
            }
            assert!(!shown.contains("change-set"), "{dialect:?}: {shown}");
        }
    }
    let undo = |dialect| match dialect {
        Dialect::Xml => text("<thinking>x</thinking><undo change=\"c0\"/>"),
        _ => calls(&[("undo", r#"{"change": "c0"}"#)]),
    };
    for dialect in [Dialect::Xml, Dialect::Native] {
        let mut stage = Speaks::stage(coder(dialect, ActionLimit::Many), &[undo(dialect), text("x")]);
        let said = stage.ask().await;
        let answer = |payload: &&Payload| {
            (&*payload.name().local == "undo").then(|| result("<reason>there is no such change</reason>"))
        };
        let given = items(&said).iter().map(answer).collect();
        stage.answer(given, Vec::new()).await;
        assert!(stage.shown().contains("Error: undo: there is no such change"), "{}", stage.shown());
    }
}
