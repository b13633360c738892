//! `systole test`: the shipped tests pass, time is skipped, and each mistake is reported with its place: in the
//! organism, in its scripts, and in a test file itself.

use std::path::Path;

use crate::organism::folder;
use crate::program::{Ran, systole};

/// An agent that grants a request after two hours, a tool that needs approval, and a person.
const ORGANISM: &str = "organism: {name: hello, entry: clerk}
models: {main: {provider: openai, model: none, key_env: NO_SUCH_KEY, retry: {backoff: 4m..4m}}}
agents:
  clerk: {model: main, dialect: xml, peers: [vault], turns: 9, prompt: {identity: You grant what is asked for.}}
payloads: {grant: {who: word, days: int 1..9}, done: {who: word}}
listeners:
  vault:
    run: [python3, none.py]
    accepts: [grant]
    returns: [done]
    approval: {when: always, expires: 1h}
    retry: {attempts: 3, backoff: 10m..20m}
log: {path: ./hello.db}
";

const SETUP: &str = "replies:
  clerk:
    - {error: {status: 429, retry_after: 20s}}
    - say: <thinking>Later.</thinking><set-timer after=\"2h\">grant it</set-timer>
    - if: timer-set
      say: <thinking>I wait.</thinking><await-threads mode=\"all\"/>
    - if: timer-fired
      say: <thinking>Now.</thinking><grant><who>bob</who><days>3</days></grant>
    - say: <thinking>Over.</thinking><attempt_completion><result>END</result></attempt_completion>
stand_ins:
  vault:
    - {fails: the door is stuck, retry: true, times: 2}
    - {if: [bob, '3'], answer: {done: {who: bob}}}
";

/// Runs the tests of that text on the organism.
fn run(test: &str) -> Ran {
    let folder = folder(&[("organism.yaml", ORGANISM), ("hello.test.yaml", test)]);
    systole(folder.path(), &["test"])
}

/// A text on one line, without its line breaks.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn h10_every_test_that_is_shipped_passes() {
    // Programs run in the folder of their organism, and the board writes a file there.
    let folder = tempfile::tempdir().unwrap();
    for organism in [
        "hello",
        "first-listeners",
        "beat",
        "team",
        "decision",
        "review",
        "release",
        "reader",
        "coder",
        "desk",
        "research",
    ] {
        let from = root().join("config").join(organism);
        crate::session::copy(&from, &folder.path().join("config").join(organism));
    }
    let ran = systole(folder.path(), &["test", "config"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let organisms = ["hello/hello", "first-listeners/first", "beat/beat", "team/team"];
    let others = [
        "decision/decision",
        "review/review",
        "release/release",
        "reader/reader",
        "coder/coder",
        "desk/desk",
        "research/research",
    ];
    for organism in organisms.into_iter().chain(others) {
        let line = format!("ok    config/{organism}.test.yaml: ");
        assert!(ran.stdout.contains(&line), "{line} in {ran:?}");
    }
    assert!(ran.stderr.ends_with(" passed\n"), "{ran:?}");
    let as_json = systole(folder.path(), &["test", "config/hello", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&as_json.stdout).unwrap();
    assert_eq!(value["file"], "config/hello/hello.test.yaml");
    assert!(value["passed"] == true && value["failure"].is_null(), "{value}");
}

#[test]
fn h10_timers_expiries_and_retries_take_no_time() {
    let tests = "tests:
  - name: approved after two hours
    steps:
      - send: {ask: Let bob in}
        held: {grant: {who: bob, days: 3}}
        xpath: [/grant/days = 3, /grant/who]
      - approve: grant
        answer: {answer: END}
        log: [timer-fired, the door is stuck, vault → clerk]
";
    let ran = run(&format!("{SETUP}{tests}"));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    // Both clocks of a test advance together: no timer sees a clock that was set.
    let wrong = run(&format!("{SETUP}{}", tests.replace("vault → clerk", "none")));
    assert!(wrong.code == Some(1) && !wrong.stdout.contains("set-back"), "{wrong:?}");
    // The test ends although it waits for hours: a test may take 60 seconds.
    let expired = "tests:
  - name: not approved
    stand_ins: {vault: []}
    steps:
      - send: {ask: Let bob in}
      - after: 119m
        log: timer-set
      - after: 2m
        held: grant
      - after: 59m
        held: grant
      - answer: answer
        log: approval.expired
";
    let ran = run(&format!("{SETUP}{expired}"));
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn h10_what_comes_otherwise_is_reported_with_its_place() {
    let hello = ("listeners/greeter.sh", include_str!("../../config/hello/listeners/greeter.sh"));
    let organism = ("organism.yaml", include_str!("../../config/hello/organism.yaml"));
    for (step, place, words) in [
        ("answer: {answer: Bye}", "4:50", "another answer came\n    expected  <answer"),
        ("fails: listener.failed", "4:49", "the call did not fail\n    expected  listener.failed"),
        ("refused: payload.invalid", "4:51", "the message was taken and not refused"),
        ("held: ask", "4:48", "no <ask> waits for a person: the call has ended"),
        ("answer: answer, xpath: /answer/none", "4:65", "the expression does not hold"),
        (
            "answer: answer, log: [nowhere]",
            "4:64",
            "this is not in the log\n    expected  nowhere\n    came      4 lines, none like it",
        ),
        (
            "answer: answer, log: [greeter asks nothing]",
            "4:64",
            "this is not in the log\n    expected  greeter asks nothing\n    came      of 4 lines\n              line ",
        ),
        (
            "answer: answer, log: [opens call, boot]",
            "4:76",
            "this is in the log, but not after the text before it",
        ),
        ("answer: none", "4:50", "an answer came"),
    ] {
        let test = format!(
            "tests:\n  - name: wrong\n    steps:\n      - {{send: {{ask: Who?}}, to: greeter, {step}}}\n"
        );
        let folder = folder(&[organism, hello, ("hello.test.yaml", &test)]);
        let ran = systole(folder.path(), &["test"]);
        let told = format!("\n  hello.test.yaml:{place}: {words}");
        assert!(ran.code == Some(1) && ran.stdout.contains(&told), "{told}\nin {}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains("greeter  <ask>"), "the tree is shown: {}", ran.stdout);
        assert_eq!(ran.stderr, "1 failed, 0 passed\n");
    }
}

#[test]
fn h10_an_answer_that_is_left_or_lacking_fails_the_test() {
    let steps = "tests:\n  - name: one\n    steps:\n      - {send: {ask: x}, answer: answer}\n";
    let done = "<thinking>x</thinking><attempt_completion><result>END</result></attempt_completion>";
    let replies = |more: &str| format!("replies:\n  clerk:\n    - say: {done}\n{more}{steps}");
    assert_eq!(run(&replies("")).code, Some(0));
    let left = run(&replies("    - say: too much\n"));
    assert!(left.code == Some(1), "{left:?}");
    assert!(left.stdout.contains("  hello.test.yaml:4:7: answer 2 of clerk was never given\n"), "{left:?}");
    let lacking = run(&format!("replies: {{other: [{{say: x}}]}}\n{steps}"));
    assert!(flat(&lacking.stdout).contains("the script has no answers for it"), "{lacking:?}");
    let real = run(steps);
    assert!(real.code == Some(1) && flat(&real.stdout).contains("a test asks no real model"), "{real:?}");
    let unused = replies("stand_ins: {vault: [{answer: {done: {who: bob}}}]}\n");
    let unused = run(&unused);
    assert!(unused.stdout.contains("4:21: this answer of a stand-in was never given"), "{unused:?}");
}

#[test]
fn h10_every_mistake_is_reported_at_once() {
    let test = "organism: organism.yaml
stand_ins: {valt: [{answer: {done: {who: bob}}}]}
tests:
  - name: wrong
    stepps: []
  - name: wrong as well
    steps:
      - {send: {asc: x}, to: clerc, answer: answr}
      - {send: {grant: {who: bob, days: 10}}, to: vault, refused: payload.invald}
      - {approve: grant, reject: grant, xpath: '/a['}
      - {after: 2}
      - {note: x}
";
    let ran = run(test);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    for told in [
        "hello.test.yaml:5:5",
        "try: steps",
        "hello.test.yaml:9:",
        "try: payload.invalid",
        "cannot be in one step with `approve`",
        "needs `answer` or `held` in the same step",
        "hello.test.yaml:11:17",
        "hello.test.yaml:12:16",
        // Names and payloads, which are checked against the schemas of the organism.
        "try: vault",
        "try: ask",
        "try: clerk",
        "try: answer",
        "days: 10 is more than 9",
    ] {
        assert!(flat(&ran.stdout).contains(told), "{told} in {}", ran.stdout);
    }
    assert!(
        !ran.stdout.contains("no message was sent yet"),
        "a mistake brings no second one: {}",
        ran.stdout
    );
    // A mistake in the organism's file is shown once, together with those of its tests. Unreadable settings may cause
    // all other mistakes.
    let both = "set: {agents.clerk.modell: none}\ntests:\n  - {name: a, stepps: []}\n  - {name: b, steps: [{answer: asc}]}\n  \
                - {name: c, steps: [{send: {ask: x}, answer: none}]}\n";
    let ran = run(both);
    assert!(ran.code == Some(3) && ran.stdout.matches("modell").count() == 2, "{ran:?}");
    assert!(
        flat(&ran.stdout).contains("no message was sent yet") && ran.stdout.contains("try: steps"),
        "{ran:?}"
    );
    let unread = run("set: {a: [\n  1]}\ntests: [{name: a, steps: [{send: {asc: x}, to: [clerk]}]}]\n");
    assert!(unread.stdout.contains("on one line") && !unread.stdout.contains("asc`"), "{unread:?}");
    let to = run("tests: [{name: a, steps: [{send: {grant: {who: bob, days: 10}}, to: [vault]}]}]\n");
    assert!(flat(&to.stdout).contains("days: 10 is more than 9") && !to.stdout.contains("no such"), "{to:?}");
    let broken = run("tests: [\n");
    assert!(broken.code == Some(3) && broken.stdout.contains("hello.test.yaml:1:8"), "{broken:?}");
}

#[test]
fn h10_a_comma_without_quotes_is_reported_where_it_is() {
    let step = |step: &str| format!("tests: [{{name: a, steps: [{{{step}}}]}}]\n");
    let script =
        format!("replies:\n  clerk:\n    - {{say: Take it, please.}}\n{}", step("send: ask, answer: answer"));
    for (test, place, words) in [
        (step("send: {ask: Let bob in, my friend}"), "1:52", "ends the words of `ask` before this"),
        (step("approve: grant, note: Fine, by me"), "1:56", "ends the words of `note` before this"),
        (script, "3:22", "a comma between braces ends the words before `please.`"),
    ] {
        let ran = run(&test);
        let told = flat(&ran.stdout);
        assert!(ran.code == Some(3) && told.contains(words), "{words}: {ran:?}");
        assert!(told.contains(&format!("hello.test.yaml:{place}")), "{place}: {ran:?}");
    }
}

/// Answers in the test file need no file of answers, and endless timers do not hang a test.
#[test]
fn h10_timers_without_an_end_fail_the_test() {
    let organism = "organism: {name: hello}
models: {main: {provider: script}}
agents: {clerk: {model: main, turns: 9, prompt: {identity: x}}}
";
    // Each firing opens its own call, and nothing ever waits for a person.
    let test = "replies:
  clerk:
    - {if: Begin, say: <thinking>x</thinking><set-timer every=\"1h\">again</set-timer>}
    - say: <thinking>x</thinking><attempt_completion><result>END</result></attempt_completion>
tests:
  - {name: endless, steps: [{send: {ask: Begin}, answer: answer}, {held: ask}]}
";
    let folder = folder(&[("organism.yaml", organism), ("hello.test.yaml", test)]);
    let ran = systole(folder.path(), &["test"]);
    assert!(ran.code == Some(1) && ran.stdout.contains("timers repeat without end"), "{ran:?}");
}

#[test]
fn no_tests_is_a_mistake_of_the_command() {
    let folder = folder(&[("a/.hidden.test.yaml", "x"), ("a/b.yaml", "x")]);
    for (arguments, words) in [
        (&["test"][..], "error: no tests found in .\n"),
        (&["test", "a/b.yaml"], "error: a/b.yaml is not a test file: its name does not end in .test.yaml, "),
        (&["test", "none"], "none"),
    ] {
        let ran = systole(folder.path(), arguments);
        assert!(ran.code == Some(2) && ran.stderr.contains(words), "{ran:?}");
    }
}

#[test]
fn the_schema_and_the_page_have_every_key() {
    use systole_config::{TEST_JSON_SCHEMA, rehearsal::TEST_KEYS, test_json_schema};
    let text = serde_json::to_string_pretty(&test_json_schema()).unwrap() + "\n";
    crate::golden::golden("schemas/test.schema.json", text);
    let below = |part: &str| match part {
        "keys of a file" => "#test.",
        "keys of a test" => "#test.tests.",
        _ => "#test.tests.steps.",
    };
    let make = |part: &str| crate::reference::list_keys(&TEST_KEYS, below(part), |name| !name.contains('.'));
    let parts = crate::generated::parts("docs/reference/tests.md", make);
    assert_eq!(parts, ["keys of a file", "keys of a step", "keys of a test"]);
    // A third-party validator accepts what is shipped, and rejects an unknown key.
    let schema: serde_json::Value = serde_json::from_str(TEST_JSON_SCHEMA).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let read = |text: &str| -> serde_json::Value {
        let options = serde_saphyr::options! { strict_booleans: true };
        serde_saphyr::from_str_with_options(text, options).unwrap()
    };
    let organisms = ["hello/hello", "first-listeners/first", "beat/beat", "team/team"];
    let others = [
        "decision/decision",
        "review/review",
        "release/release",
        "reader/reader",
        "coder/coder",
        "desk/desk",
    ];
    for organism in organisms.into_iter().chain(others) {
        let text = std::fs::read_to_string(root().join(format!("config/{organism}.test.yaml"))).unwrap();
        validator.validate(&read(&text)).unwrap_or_else(|error| panic!("{organism}: {error}"));
    }
    assert!(!validator.is_valid(&read("tests: [{name: x, stepps: []}]")));
    assert!(!validator.is_valid(&read("tests: []")));
    assert!(validator.is_valid(&read("tests: [{name: x, export: T.zip, expect: valid, xpath: //x}]")));
    assert!(!validator.is_valid(&read("tests: [{name: x, export: T.zip, steps: [{send: x}]}]")));
}
