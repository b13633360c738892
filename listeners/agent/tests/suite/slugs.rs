//! Each slug of the table, to the letter: what the model sees of it in its next prompt, and what is on record. It
//! judges no words; readers of the golden file do.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};

use systole_agent::chain::StoredLink;
use systole_agent::failures::FAILURES;
use systole_agent::model::{
    AnswerFuture, AnswerWatcher, MessagePart, Model, ModelAnswer, ModelRequest, NativeCall, ServedBy,
    StopReason, TokenUsage,
};
use systole_agent::spec::{self, Dialect, Output, OutputFormat, Peer};
use systole_kit::Payload;
use systole_kit::reply::ReplyContent;

use crate::goals::{pass, request};
use crate::prompts::golden;
use crate::stage::{AgentStage, MARK, found, helper, system_error};
use crate::tasks::{tasking, with_tasks};

/// An answer with one fault.
struct Case {
    slug: &'static str,
    /// Distinguishes several cases of one slug.
    what: &'static str,
    agent: spec::AgentSpec,
    says: Says,
}

/// An answer of a model.
#[derive(Clone)]
pub(crate) struct Says {
    pub(crate) parts: Vec<MessagePart>,
    stop: StopReason,
}

pub(crate) fn text(words: &str) -> Says {
    Says { parts: vec![MessagePart::Text(words.to_owned())], stop: StopReason::End }
}

/// A sequence of native calls, each with the name of a tool and its arguments.
pub(crate) fn calls(calls: &[(&str, &str)]) -> Says {
    let call = |(number, (name, arguments)): (usize, &(&str, &str))| {
        let (id, name, arguments) = (format!("c{number}"), (*name).to_owned(), (*arguments).to_owned());
        MessagePart::Call(NativeCall { id, name, arguments })
    };
    Says { parts: (1..).zip(calls).map(call).collect(), stop: StopReason::Tool }
}

fn cut(says: Says) -> Says {
    Says { stop: StopReason::Length, ..says }
}

/// A model that gives its answers in order.
pub(crate) struct Speaks(Mutex<VecDeque<Says>>);

impl Speaks {
    pub(crate) fn stage(agent: spec::AgentSpec, says: &[Says]) -> AgentStage {
        AgentStage::with(agent, Arc::new(Self(Mutex::new(says.iter().cloned().collect()))), "Where is login?")
    }
}

impl Model for Speaks {
    fn ask(&self, _: ModelRequest, _: AnswerWatcher) -> AnswerFuture {
        let Says { parts, stop } = self.0.lock().unwrap().pop_front().expect("it is asked no more than that");
        let answer = ModelAnswer {
            parts,
            stop,
            usage: TokenUsage::default(),
            by: "main".to_owned(),
            served: ServedBy::default(),
        };
        Box::pin(async { Ok(answer) })
    }
}

fn xml(slug: &'static str, what: &'static str, says: &str) -> Case {
    Case { slug, what, agent: helper(Dialect::Xml), says: text(says) }
}

fn native(slug: &'static str, what: &'static str, says: Says) -> Case {
    Case { slug, what, agent: helper(Dialect::Native), says }
}

/// A final in a slot of `xml-final`, or a faulty replacement.
fn slot(slug: &'static str, says: &str) -> Case {
    slot_of(slug, "in a slot", says)
}

fn slot_of(slug: &'static str, what: &'static str, says: &str) -> Case {
    let mut agent = helper(Dialect::XmlFinal);
    let schema = serde_json::json!({"type": "object", "required": ["answer"]});
    agent.output = Output { format: OutputFormat::Json, schema: Some(schema.into()) };
    // The code of this stage's slots.
    let nonce = StoredLink::from_segment("nonce", MARK).hash;
    Case { slug, what, agent, says: text(&says.replace("NONCE", &nonce[..8])) }
}

/// An agent with a second peer that takes searches.
fn two_searchers(agent: spec::AgentSpec) -> spec::AgentSpec {
    let again = Peer { name: "archive".to_owned(), ..agent.peers[0].clone() };
    spec::AgentSpec { peers: [agent.peers.clone(), vec![again]].concat(), ..agent }
}

fn many(agent: spec::AgentSpec) -> spec::AgentSpec {
    spec::AgentSpec { actions: spec::ActionLimit::Many, ..agent }
}

const SEARCH: &str = "<search><query>a</query></search>";

fn of_text() -> Vec<Case> {
    let think = |rest: &str| format!("<thinking>x</thinking>{rest}");
    let ambiguous = xml("ambiguous-action", "two peers take it", &think(SEARCH));
    let at_length = |slug, what, says: &str| {
        let mut case = xml(slug, what, says);
        case.says = cut(case.says);
        case
    };
    let crowd = xml("too-many-actions", "65 in a text", &think(&SEARCH.repeat(65)));
    let plain = helper(Dialect::Plain);
    let verbatim = think(&format!("<search><query>a && b</query></search>{SEARCH}"));
    let verbatim = xml("too-many-actions", "one after text without escaping", &verbatim);
    vec![
        xml("empty-response", "in a text", ""),
        xml("reasoning-only", "in a text", "<thinking>Where could it be?</thinking>"),
        Case {
            agent: plain.clone(),
            ..xml("own-markup", "the tag of the core", "<core-[mark]>Turn 2 of 10.</core-[mark]>")
        },
        Case {
            agent: plain,
            ..xml("own-markup", "a message", "<message from=\"cli\">Where is login?</message>")
        },
        xml(
            "example-copied",
            "its call",
            "<thinking>What I need first.</thinking><search><query>text</query></search>",
        ),
        xml("wrapped-call", "a section around it", &think(&format!("<tools>{SEARCH}</tools>"))),
        xml("wrapper-as-tool", "a section around prose", &think("<response_protocol>a</response_protocol>")),
        xml("malformed", "in a text", &think("<search><query>a < b &amp; c</query></search>")),
        xml("missing-closing-tag", "repaired", &think("<search><query>a</query>")),
        at_length("truncated-structure", "cut in an action", &think("<search><query>log")),
        at_length("truncated-structure", "cut in a thought", "<thinking>I look for"),
        at_length("output-truncated", "cut behind an action", &think("<search><query>a</query></search>")),
        xml("wrapper-as-tool", "two in one", &think(&format!("<tool_call>{SEARCH}{SEARCH}</tool_call>"))),
        xml("wrapper-as-tool", "none in one", &think("<tool_call>search for a</tool_call>")),
        xml("unknown-action", "behind thinking", &think("<fetch>u</fetch>")),
        xml("unknown-action", "in a text", &think("\n<fetch><url>u</url></fetch>")),
        Case { agent: two_searchers(ambiguous.agent.clone()), ..ambiguous },
        xml("mark-in-output", "in an action", &think(&SEARCH.replace(">a<", &format!(">{MARK}<")))),
        xml("prose-only", "in a text", "It is in auth.rs."),
        xml("second-action", "two actions", &think(&SEARCH.repeat(2))),
        Case { agent: many(crowd.agent.clone()), ..crowd },
        xml("thinking-missing", "an action alone", SEARCH),
        Case { agent: many(verbatim.agent.clone()), ..verbatim },
        xml("verbatim-text", "taken as written", &think("<search><query>a && b</query></search>")),
        xml("misspelt-action", "repaired", &think("<Search><query>a</query></Search>")),
        xml("wrapped-call", "repaired", &think(&format!("<tool_call>{SEARCH}</tool_call>"))),
        xml("fenced-action", "repaired", &think(&format!("\n```xml\n{SEARCH}\n```\n"))),
        xml(
            "action-in-quoted-text",
            "in a fence",
            &think(&format!(" I would write:\n```xml\n{SEARCH}\n```\n")),
        ),
    ]
}

fn of_calls() -> Vec<Case> {
    let search = ("search", r#"{"query": "a"}"#);
    let unsaid = native("unknown-action", "of two peers, and it says not which", calls(&[search]));
    let alone = native("too-many-actions", "two where one is taken", calls(&[search; 2]));
    vec![
        native("empty-response", "without calls", text("")),
        native("output-truncated", "cut in a final", cut(text("In au"))),
        native("output-truncated", "cut behind a call", cut(calls(&[search]))),
        native("tool-payload-invalid", "in a call", calls(&[("search", r#"{"limit": 0}"#)])),
        native("unknown-action", "as an element", text(SEARCH)),
        native("unknown-action", "in a call", calls(&[("serach", search.1)])),
        Case { agent: two_searchers(unsaid.agent.clone()), ..unsaid },
        native("too-many-actions", "65 calls", calls(&[search; 65])),
        Case { agent: spec::AgentSpec { actions: spec::ActionLimit::One, ..alone.agent.clone() }, ..alone },
    ]
}

fn of_finals() -> Vec<Case> {
    let closed = |rest: &str| format!("<systole-NONCE-FINAL {rest}</systole-NONCE-FINAL>");
    let (open, close) = (r#"<systole-NONCE-FINAL format="json" status="success">"#, "</systole-NONCE-FINAL>");
    vec![
        slot("final-missing", "It is in auth.rs."),
        slot(
            "nonce-mismatch",
            r#"<systole-00000000-FINAL format="json" status="success">{}</systole-00000000-FINAL>"#,
        ),
        slot(
            "slot-mismatch",
            r#"<systole-NONCE-ANSWER format="json" status="success">{}</systole-NONCE-ANSWER>"#,
        ),
        slot("format-missing", &closed(r#"status="success">{}"#)),
        slot("format-unknown", &closed(r#"format="html" status="success">{}"#)),
        slot("format-mismatch", &closed(r#"format="text" status="success">{}"#)),
        slot("status-invalid", &closed(r#"format="json" status="done">{}"#)),
        slot("content-missing", &closed(r#"format="json" status="success"> "#)),
        slot("json-required", &closed(r#"format="json" status="success">answer"#)),
        slot("json-schema", &closed(r#"format="json" status="success">{"a": 1}"#)),
        slot_of("slot-mismatch", "another end tag", &format!("{open}{{}}</systole-NONCE-END>")),
        slot_of("missing-closing-tag", "an open slot", &format!("{open}{{}}")),
        slot_of("second-final", "two slots", &format!("{open}{{}}{close}").repeat(2)),
        slot_of("slot-mismatch", "a tool in the slot", &format!("{open}{SEARCH}{close}")),
        slot_of("unknown-action", "a tool without a slot", SEARCH),
    ]
}

fn cases() -> Vec<Case> {
    [of_text(), of_calls(), of_finals()].into_iter().flatten().collect()
}

/// The answer in the form of the golden file.
fn written(says: &Says) -> String {
    let part = |part: &MessagePart| match part {
        MessagePart::Text(text) => text.clone(),
        MessagePart::Call(call) => format!("{}: {}({})", call.id, call.name, call.arguments),
        other => panic!("{other:?} does not belong here"),
    };
    let parts: Vec<String> = says.parts.iter().map(part).collect();
    let words: String = parts.join("\n").replace(MARK, "MARK").chars().take(160).collect();
    format!("{words} [{:?}]", says.stop)
}

/// The record of a reply: its code and words, or its items; and the remarks.
fn recorded(stage: &AgentStage, said: &ReplyContent) -> String {
    let mut lines = vec![match said {
        ReplyContent::Again { code, words } => format!("again {code}: {words}"),
        ReplyContent::Items(items) => {
            let local = |payload: &Payload| format!("<{}>", payload.name().local);
            let names: Vec<String> = items.iter().map(|item| local(item.payload.as_ref().unwrap())).collect();
            let most = names.len().min(4);
            format!("{} items: {}", names.len(), names[..most].join(" "))
        }
        ReplyContent::Away { outage, code, .. } => format!("{outage} is away: {code}"),
        ReplyContent::Failure { code, words, .. } => format!("failure {code}: {words}"),
    }];
    let heard = stage.heard.lock().unwrap();
    lines.extend(heard.notices.iter().map(|(code, words)| format!("notice {code}: {words}")));
    lines.join("\n")
}

/// Continues like the pump: the report that the output was unusable, or an answer to each action; and the remarks.
pub(crate) async fn goes_on(stage: &mut AgentStage, said: &ReplyContent) {
    let ReplyContent::Items(items) = said else {
        stage.again(said).await;
        return;
    };
    let notices = std::mem::take(&mut stage.heard.lock().unwrap().notices);
    let inbox = notices.iter().map(|(code, words)| system_error(code, words)).collect();
    let is_note = |payload: &Payload| &*payload.name().local == "helper";
    let answer = |payload: &Payload| (!is_note(payload)).then(|| found("auth.rs"));
    let answers = items.iter().map(|item| answer(item.payload.as_ref().unwrap())).collect();
    stage.answer(answers, inbox).await;
}

/// The model's input, shortened where lines repeat except for their numbers.
fn shown(stage: &AgentStage) -> String {
    let shown = stage.shown();
    let numberless = |line: &str| line.replace(|c: char| c.is_ascii_digit(), "");
    let mut lines: Vec<(&str, usize)> = Vec::new();
    for line in shown.lines() {
        let before = lines.iter().rposition(|(line, _)| !line.is_empty()).filter(|at| at + 2 >= lines.len());
        match before {
            Some(at) if !line.is_empty() && numberless(lines[at].0) == numberless(line) => {
                lines.truncate(at + 1);
                lines[at].1 += 1;
            }
            _ => lines.push((line, 1)),
        }
    }
    let line = |(line, times): (&str, usize)| match times {
        1 => line.to_owned(),
        times => format!("{line}\n[and {} more like it]", times - 1),
    };
    lines.into_iter().map(line).collect::<Vec<_>>().join("\n")
}

fn page(slug: &str, what: &str, said: &str, recorded: &str, shown: &str) -> String {
    format!("## {slug}: {what}\n\nsaid: {said}\n\nrecorded:\n{recorded}\n\nshown:\n{shown}\n")
}

/// Asks an agent whose model gives that answer, and continues.
async fn case(case: Case) -> String {
    let mut stage = Speaks::stage(case.agent, &[case.says.clone(), text("Done.")]);
    let said = stage.ask().await;
    let recorded = recorded(&stage, &said);
    let code = format!("agent.{}: ", case.slug);
    assert!(recorded.contains(&code), "{}, {}: {recorded}", case.slug, case.what);
    goes_on(&mut stage, &said).await;
    page(case.slug, case.what, &written(&case.says), &recorded, &shown(&stage))
}

/// The answer that repeats the previous one, and the last turn, after which the model sees nothing more.
async fn cases_of_two_turns() -> Vec<(&'static str, String)> {
    let babble = text("It is in auth.rs.");
    let mut stage = Speaks::stage(helper(Dialect::Xml), &[babble.clone(), babble.clone(), babble.clone()]);
    let first = stage.ask().await;
    let second = stage.again(&first).await;
    let on_record = recorded(&stage, &second);
    goes_on(&mut stage, &second).await;
    let stuck = page("stuck-repeating", "the second time", &written(&babble), &on_record, &shown(&stage));
    let says = format!("<thinking>I look.</thinking>{SEARCH}");
    let search = text(&says);
    let mut stage = Speaks::stage(helper(Dialect::Xml), &[search.clone(), search.clone()]);
    stage.ask().await;
    let last = stage.wrap_up("budget.messages").await;
    let ReplyContent::Items(items) = &last else { panic!("{last:?}") };
    let report = String::from_utf8_lossy(items[0].payload.as_ref().unwrap().bytes()).into_owned();
    let shown = "nothing, as the call is over";
    let over = page("final-turn-no-report", "the last turn", &written(&search), &report, shown);
    vec![("stuck-repeating", stuck), ("final-turn-no-report", over)]
}

/// Answers to goals of workflows.
async fn cases_of_goals() -> Vec<(&'static str, String)> {
    let review = "<thinking>x</thinking><review><score>11</score><findings>none</findings></review>";
    let cases = [
        ("goal-answer-invalid", "in a text", Dialect::Xml, request(Some("review"), "x"), review),
        ("goal-answer-invalid", "of words alone", Dialect::Plain, request(Some("grade"), "x"), "fair"),
        ("converged-too-early", "the whole answer", Dialect::Plain, pass(1, None), "CONVERGED"),
    ];
    let two = "<thinking>x</thinking><task role=\"poet\">One.</task><task role=\"poet\">Two.</task>";
    let tasked = ("too-many-tasks", "the second of one", Dialect::Xml, with_tasks(1), two);
    let mut pages = Vec::new();
    for (slug, what, dialect, goal, says) in cases.into_iter().chain([tasked]) {
        let says = text(says);
        let mut stage = Speaks::stage(tasking(dialect), &[says.clone(), text("Done.")]).with_request(goal);
        let said = stage.ask().await;
        let on_record = recorded(&stage, &said);
        goes_on(&mut stage, &said).await;
        pages.push((slug, page(slug, what, &written(&says), &on_record, &shown(&stage))));
    }
    pages
}

#[test]
fn e8_every_slug_is_shown_to_the_model_and_recorded_to_the_letter() {
    let cases = cases();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut pages: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    let place = |slug: &str| FAILURES.iter().position(|row| row.slug == slug).expect("it is in the table");
    for one in cases {
        let at = place(one.slug);
        pages.entry(at).or_default().push(runtime.block_on(case(one)));
    }
    let further = [runtime.block_on(cases_of_two_turns()), runtime.block_on(cases_of_goals())];
    for (slug, page) in further.concat() {
        pages.entry(place(slug)).or_default().push(page);
    }
    let without: BTreeSet<&str> =
        (0..FAILURES.len()).filter(|at| !pages.contains_key(at)).map(|at| FAILURES[at].slug).collect();
    assert!(without.is_empty(), "slugs of the table without a case here: {without:?}");
    let all: Vec<String> = pages.into_values().flatten().collect();
    golden("slugs.txt", &all.join("\n"));
}
