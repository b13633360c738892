//! Failures of a model, one conversation each: which failures the next turn fixes, which are retried, and which end
//! the call with a failure that the thread reports with its status.

use systole_core::types::record::Record;

use super::house::{AgentHouse, AgentPlan, Critic, FORMS};

/// One failure before the correct answer.
struct Case {
    what: &'static str,
    /// The first answer of the model, for native calls and for actions in text. Empty if the failure does not exist
    /// in that dialect.
    native: &'static str,
    xml: &'static str,
    /// The text in the next request that shows the model what was wrong. Empty if the model sees nothing.
    shown: &'static str,
    /// A code that the log contains.
    code: &'static str,
    /// Whether the same prompt is sent again, instead of another turn.
    same_turn: bool,
}

impl Case {
    /// A failure after which another turn follows: the failure, the model's first answer in either dialect, the text
    /// that the model sees, and the code.
    const fn of(
        what: &'static str,
        (native, xml): (&'static str, &'static str),
        shown: &'static str,
        code: &'static str,
    ) -> Case {
        Case { what, native, xml, shown, code, same_turn: false }
    }

    /// The same with one text for both dialects. Afterwards the same prompt is sent again.
    const fn again(what: &'static str, said: &'static str, code: &'static str) -> Case {
        Case { same_turn: true, ..Case::of(what, (said, said), "", code) }
    }
}

const REPAIRED: [Case; 16] = [
    Case::of(
        "a cut stream",
        (r#"{say: "A part of", cut: true}"#, r#"{say: "<thinking>A part of", cut: true}"#),
        "",
        "model.truncated",
    ),
    Case::of(
        "a stream that is cut in a call",
        (
            r#"{say: I look., call: {search: {query: the moon}}, cut: true}"#,
            r#"{say: "<thinking>I look.</thinking><search><query>the moon</query></search>", cut: true}"#,
        ),
        "",
        "model.truncated",
    ),
    Case::of(
        "a stream without a reason for its end",
        (r#"{say: "A part of", stop: none}"#, r#"{say: "<thinking>A part of", stop: none}"#),
        "",
        "model.truncated",
    ),
    Case::again("429 with Retry-After", "{error: {status: 429, retry_after: 1s}}", "model.rate-limited"),
    Case::again("a page with 500", "{html: true}", "model.unavailable"),
    Case::again("an error before words", "{ok_error: true}", "model.unavailable"),
    Case::again("an error behind words", "{say: Half a word, ok_error: true}", "model.unavailable"),
    Case::of(
        "an empty answer",
        (r#"{say: ""}"#, r#"{say: ""}"#),
        "Your answer was empty",
        "agent.empty-response",
    ),
    Case::of(
        "babble",
        ("", r#"{say: "I think the moon is somewhere."}"#),
        "held no action and no completion",
        "agent.prose-only",
    ),
    Case::of(
        "a tool that there is not",
        (
            "{call: {serch_it: {query: x}}}",
            r#"{say: "<thinking>x</thinking>\n<serch_it>\n<query>x</query>\n</serch_it>"}"#,
        ),
        "serch_it",
        "agent.unknown-action",
    ),
    Case::of(
        "arguments that the schema refuses",
        ("{call: {search: {limit: 5000}}}", ""),
        "query",
        "agent.tool-payload-invalid",
    ),
    Case::of(
        "arguments that the judge refuses",
        ("", r#"{say: "<thinking>x</thinking>\n<search><limit>5000</limit></search>"}"#),
        "Error: Invalid parameters",
        "payload.invalid",
    ),
    Case::of(
        "arguments that are no JSON",
        (r#"{call: {search: {raw: '{"quer'}}}"#, ""),
        "search",
        "agent.tool-payload-invalid",
    ),
    Case::of(
        "arguments that are a text",
        (r#"{call: {search: {raw: '"{\"query\": \"x\"}"'}}}"#, ""),
        "search",
        "agent.tool-payload-invalid",
    ),
    Case::of(
        "two calls with one id",
        ("{call: [{search: {query: one}, id: same}, {search: {query: two}, id: same}]}", ""),
        "FOUND one",
        "agent.tool-payload-invalid",
    ),
    Case::of(
        "an answer that is cut at its length",
        (r#"{say: "A part of", stop: length}"#, r#"{say: "<thinking>A part of", stop: length}"#),
        "cut off at its token limit",
        "agent.output-truncated",
    ),
];

fn repaired(form: &str, dialect: &str, case: &Case) {
    let (first, done) = match dialect {
        "native" => (case.native, r#"{say: "All is well."}"#),
        _ => (
            case.xml,
            r#"{say: "<thinking>Done.</thinking><attempt_completion><result>All is well.</result></attempt_completion>"}"#,
        ),
    };
    if first.is_empty() {
        return;
    }
    let replies = format!("- {first}\n- {done}\n");
    let house = AgentHouse::build(&AgentPlan { form, dialect, replies: &replies, ..AgentPlan::default() });
    let ran = house.ask("Where is the moon?");
    let asked = house.asked();
    let words = || {
        let sent: Vec<String> = asked.iter().map(|seen| format!("{} {}", seen.status, seen.body)).collect();
        format!("{form} {dialect}, {}: {ran:?}\n{}\n{}", case.what, house.told(), sent.join("\n"))
    };
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "All is well.\n"), "{}", words());
    assert_eq!((asked.len(), house.mock.count().left), (2, 0), "{}", words());
    assert!(asked[1].body.to_string().contains(case.shown), "wanted {}: {}", case.shown, words());
    if case.what == "two calls with one id" {
        let second = asked[1].body.to_string();
        assert!(
            second.contains("Two calls of this answer have one id"),
            "the second request contains the reason: {}",
            words()
        );
        assert_eq!(second.matches("FOUND one").count(), 1, "one result for one call: {}", words());
    }
    let outcomes = house.outcomes("helper");
    let is_told = |record: &Record| String::from_utf8_lossy(&record.body).contains(case.code);
    let told =
        house.records().iter().any(is_told) || outcomes.iter().any(|outcome| outcome.stop == case.code);
    assert!(told, "the log does not tell {}: {}", case.code, words());
    let started = house.started("helper");
    assert_eq!((started.len(), outcomes.len()), (2, 2), "a start and a result each: {}", words());
    assert_eq!(started[0].prompt == started[1].prompt, case.same_turn, "{}", words());
    house.judged();
}

fn all_repaired(form: &str) {
    for case in &REPAIRED {
        repaired(form, "native", case);
        repaired(form, "xml", case);
    }
}

#[test]
fn e10_what_goes_wrong_with_openai_is_repaired_or_repeated() {
    all_repaired("openai");
}

#[test]
fn e10_what_goes_wrong_with_anthropic_is_repaired_or_repeated() {
    all_repaired("anthropic");
}

#[test]
fn e10_what_goes_wrong_with_ollama_is_repaired_or_repeated() {
    all_repaired("ollama");
}

#[test]
fn e10_what_goes_wrong_with_gemini_is_repaired_or_repeated() {
    all_repaired("gemini");
}

/// Failures that end the call: the replies, the number of requests, and what the thread reports.
const FAILED: [(&str, &str, usize, &[&str]); 6] = [
    (
        "always 429",
        "[{error: {status: 429, body: slow down}, times: always}]",
        3,
        &["model.rate-limited", "429"],
    ),
    ("a page each time", "[{html: true, times: always}]", 3, &["model.unavailable", "500"]),
    ("an error with 200", "[{ok_error: true, times: always}]", 3, &["model.unavailable", "200"]),
    (
        "an error behind words",
        "[{say: Half a word, ok_error: true, times: always}]",
        3,
        &["model.unavailable", "200"],
    ),
    (
        "a wrong request",
        "[{error: {status: 400, body: no such thing}}]",
        1,
        &["model.invalid-request", "400", "no such thing"],
    ),
    ("no money", "[{error: {status: 402, body: pay first}}]", 1, &["model.refused", "402", "pay first"]),
];

#[test]
fn e17_a_call_that_fails_for_its_model_tells_the_status_in_every_form() {
    for form in FORMS {
        for (what, replies, requests, wanted) in FAILED {
            let rest = "limits: {outage: 0s}";
            let house = AgentHouse::build(&AgentPlan { form, replies, rest, ..AgentPlan::default() });
            let ran = house.ask("Where is the moon?");
            let words = format!("{form}, {what}: {ran:?}\n{}", house.told());
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{words}");
            assert_eq!(house.asked().len(), requests, "{words}");
            assert_eq!(house.outcomes("helper").len(), requests, "{words}");
            for wanted in wanted {
                assert!(ran.stderr.contains(wanted) && house.told().contains(wanted), "{wanted}: {words}");
            }
            house.judged();
        }
    }
}

#[test]
fn e10_who_only_babbles_ends_within_its_attempts_and_its_turns() {
    for (dialect, replies, most) in [
        ("xml", r#"[{say: Only words., times: always}]"#, 3),
        ("native", r#"[{say: "", times: always}]"#, 3),
        ("native", r#"[{call: {search: {query: x}}, times: always}]"#, 10),
    ] {
        let house = AgentHouse::build(&AgentPlan { dialect, replies, ..AgentPlan::default() });
        let ran = house.ask("Where is the moon?");
        let words = format!("{dialect} {replies}: {ran:?}\n{}", house.told());
        let asked = house.asked();
        assert!(!asked.is_empty() && asked.len() <= most, "{} requests: {words}", asked.len());
        assert_eq!(ran.code, Some(1), "{words}");
        assert_eq!(ran.stdout, "", "no answer: {words}");
        assert!(ran.stderr.starts_with("error: helper: helper ends without a final"), "{words}");
        house.judged();
    }
}

#[test]
fn e13_the_fallback_model_answers_and_missing_prices_are_shown_as_missing() {
    for form in FORMS {
        let house = AgentHouse::build(&AgentPlan {
            form,
            replies: "[{error: {status: 429, body: slow down}, times: always}]",
            critic: Critic::says("[{say: By another., usage: {in: 70, out: 5}}]"),
            model: ", fallback: [second]",
            ..AgentPlan::default()
        });
        let ran = house.ask("Who answers?");
        let words = format!("{form}: {ran:?}\n{}", house.told());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "By another.\n"), "{words}");
        assert_eq!((house.asked().len(), house.mock.seen().len()), (3, 4), "{words}");
        let models: Vec<String> = house.started("helper").into_iter().map(|started| started.model).collect();
        assert_eq!(models, ["main", "main", "main", "second"], "{words}");
        let last = house.outcomes("helper").pop().unwrap();
        assert_eq!((last.tokens_in, last.tokens_out, last.money), (Some(70), Some(5), None), "{words}");
        let cost = house.systole(&["cost"]);
        let second = cost.stdout.lines().find(|line| line.contains("second")).unwrap_or_default();
        assert!(second.contains("70 tokens in, 5 out") && !second.contains("USD"), "{cost:?}");
        house.judged();
    }
}
