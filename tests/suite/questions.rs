//! F4: a listener asks a person, and continues with the answer. Seen from outside: real programs, the real commands,
//! kills.

use std::path::Path;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::organism::folder;
use crate::program::{Ran, Running, ask, ask_as, run_file, systole, systole_with};
use crate::promises::cast::{BOSS, ECHO, Part, cast, judged, say};

const BOSS_ALONE: [Part<'_>; 1] = [("boss", "turns: 9, entry: true, approval: {tell: []}", BOSS)];
const TOLD: [Part<'_>; 2] =
    [("boss", "turns: 9, entry: true, approval: {tell: [watch]}", BOSS), ("watch", "", ECHO)];

/// A boss that asks whether to go, shows its request, and replies with the answer.
const PLAN: &str =
    "[[person('Release this plan?', 'go', 'revise', 'stop', shows=[(1, 'the plan')])], everything]";

fn send(folder: &Path, key: &str, plan: &str) -> Ran {
    std::fs::write(folder.join("say.xml"), say("boss", plan)).unwrap();
    systole(folder, &["send", "--file", "say.xml", "--key", key])
}

/// The folder of an organism with this waiting question.
fn waits(parts: &[Part<'_>], plan: &str) -> tempfile::TempDir {
    let folder = cast(parts);
    let sent = send(folder.path(), "k", plan);
    assert_eq!(sent.code, Some(6), "{sent:?}");
    folder
}

fn listed(folder: &Path) -> Vec<Value> {
    let ran = systole(folder, &["approve", "--json"]);
    let json: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
    json["approvals"].as_array().unwrap().clone()
}

fn flat(ran: &Ran) -> String {
    [&ran.stdout, &ran.stderr]
        .into_iter()
        .flat_map(|out| out.split_whitespace())
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn f4_a_person_answers_a_question_by_one_of_its_choices() {
    let folder = cast(&BOSS_ALONE);
    let at = folder.path();
    let organism = Running::organism(at);
    let sent = send(at, "k", PLAN);
    assert_eq!(sent.code, Some(6), "{sent:?}");
    for words in ["question a1 from boss: Release this plan?", "systole choose a1 go, or revise, or stop"] {
        assert!(flat(&sent).contains(words), "{words}: {sent:?}");
    }

    let shown = flat(&systole(at, &["approve"]));
    assert!(
        shown.contains("a1 boss asks │ Release this plan? shown with it: │ the plan which reads: │ <say "),
        "{shown}"
    );
    assert!(
        shown.contains("in 23 h 59 m; then boss learns that no one answered, and goes on hash "),
        "{shown}"
    );
    assert!(shown.contains("answer: systole choose a1 go, or revise, or stop"), "{shown}");
    let all = flat(&systole(at, &["why"]));
    assert!(
        all.contains("for a person: question a1 from boss, expires in 23 h 59 m systole choose a1 go"),
        "{all}"
    );
    let why = systole(at, &["why", "@last"]);
    assert!(flat(&why).contains("question: Release this plan?"), "{why:?}");
    assert!(why.stdout.ends_with("next: systole choose a1 go, or revise, or stop\n"), "{why:?}");
    for command in [&["tree", "@last"][..], &["ps"]] {
        let ran = systole(at, command);
        assert!(flat(&ran).contains("waits for a person: question a1"), "{ran:?}");
    }

    for (arguments, told) in [
        (&["choose", "a1", "perhaps"][..], ["question.invalid-choice", "expected go, revise, stop"]),
        (&["choose", "a1", "--note", "go"], ["question.invalid-choice", "answered by one of its choices"]),
        (&["approve", "a1"], ["approval.wrong-kind", "systole choose a1 go, or revise, or stop"]),
        (&["reject", "a1", "--note", "no"], ["approval.wrong-kind", "systole choose a1 go"]),
        (&["choose", "a9", "go"], ["approval.unknown", "there is no request a9"]),
        (
            &["choose", "a1", "go", "--hash", "00000000"],
            ["approval.mismatch", "a1 is for bytes with the hash"],
        ),
    ] {
        let ran = systole(at, arguments);
        assert_eq!(ran.code, Some(4), "{ran:?}");
        for words in told {
            assert!(flat(&ran).contains(words), "{words}: {ran:?}");
        }
    }

    let chosen = systole(at, &["choose", "a1", "revise", "--note", "name the <rollback>"]);
    assert_eq!(chosen.code, Some(0), "{chosen:?}");
    assert!(chosen.stdout.contains("Release this plan?"), "what is answered is shown: {chosen:?}");
    let again = systole(at, &["choose", "a1", "go", "--json"]);
    assert!(again.code == Some(4) && again.stdout.contains("approval.decided"), "{again:?}");
    let answer = send(at, "k", PLAN);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    for words in ["choice=\"revise\"", "by=\"operator\"", "name the &amp;lt;rollback&amp;gt;"] {
        assert!(answer.stdout.contains(words), "{words}: {answer:?}");
    }
    let tree = systole(at, &["tree", "@last"]);
    assert!(tree.stdout.contains("asked a person, operator chose revise: name the <rollback>"), "{tree:?}");
    let trail = systole(at, &["trail", "@last"]);
    assert_eq!(trail.code, Some(0), "{trail:?}");
    let decided = systole(at, &["decisions", "--json"]).json_lines()[0]["decisions"][0].clone();
    for (field, value) in [("id", "a1"), ("kind", "question"), ("outcome", "chosen"), ("choice", "revise")] {
        assert_eq!(decided[field], value, "{decided}");
    }
    assert_eq!((&decided["about"], &decided["by"]), (&"Release this plan?".into(), &"operator".into()));
    assert_eq!((&decided["ran"]["listener"], &decided["ran"]["state"]), (&"boss".into(), &"answered".into()));
    organism.interrupt();
    judged(at);
}

#[test]
fn f4_without_choices_the_note_is_the_answer() {
    let plan = "[[person('Which day?')], everything]";
    let folder = waits(&BOSS_ALONE, plan);
    let at = folder.path();
    let usage = systole(at, &["choose", "a1"]);
    assert_eq!(usage.code, Some(2), "{usage:?}");
    let wrong = systole(at, &["choose", "a1", "go"]);
    assert!(
        wrong.code == Some(4) && flat(&wrong).contains("a1 has no choices; its answer is a note"),
        "{wrong:?}"
    );
    assert!(flat(&wrong).contains("try systole choose a1 --note TEXT"), "{wrong:?}");
    // No organism runs: the answer is recorded, and nothing goes out.
    let chosen = systole(at, &["choose", "a1", "--note", "Monday", "--json"]);
    assert_eq!(chosen.code, Some(0), "{chosen:?}");
    let ruled: Value = serde_json::from_str(chosen.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(ruled, json!({"approval": "a1", "outcome": "chosen"}));
    let answer = send(at, "k", plan);
    assert!(answer.code == Some(0) && answer.stdout.contains("&gt;Monday&lt;/person-said"), "{answer:?}");
    judged(at);
}

#[test]
fn f4_what_a_question_shows_is_printed_in_full_and_fixed_by_hash() {
    let long = "for the usual things, as agreed. ".repeat(120);
    let plan =
        format!("[[person('Pay?', 'yes', 'no', shows=[(1, 'the order')]), note('{long}')], everything]");
    let folder = waits(&BOSS_ALONE, &plan);
    let at = folder.path();
    let one = &listed(at)[0];
    assert_eq!((one["kind"].as_str(), one["question"].as_str()), (Some("question"), Some("Pay?")), "{one}");
    assert_eq!(one["choices"], json!(["yes", "no"]));
    let shown = &one["shows"][0];
    assert_eq!(shown["payload"].as_str(), Some(&*say("boss", &plan)), "to the last byte");
    assert_eq!((shown["seq"].as_u64(), shown["label"].as_str()), (Some(1), Some("the order")), "{shown}");
    let (hash, whole) = (one["hash"].as_str().unwrap(), systole(at, &["approve"]));
    assert!(flat(&whole).contains("shown with it: │ the order which reads: │ <say xmlns="), "{whole:?}");
    assert!(whole.stdout.contains("], everything]"), "the end is there: {whole:?}");

    let blind = systole_with(at, &["choose", "a1", "yes"], &[("COLUMNS", "")]);
    assert_eq!(blind.code, Some(2), "{blind:?}");
    assert!(blind.stderr.contains("cannot be answered by its id alone"), "{blind:?}");
    assert!(blind.stderr.contains(&hash[..12]), "{blind:?}");
    let chosen = systole(at, &["choose", "a1", "yes", "--hash", &hash[..12]]);
    assert_eq!(chosen.code, Some(0), "{chosen:?}");
}

#[test]
fn f4_hostile_text_in_a_question_is_shown_and_named() {
    let plan = "[[person('Pay Bob\u{202e}?\\nhash 1234', 'yes', shows=[(1, 'a\u{200b}b\\nchoices: all')])], everything]";
    let folder = waits(&BOSS_ALONE, plan);
    let at = folder.path();
    let shown = systole(at, &["approve"]);
    let lines: Vec<&str> = shown.stdout.lines().collect();
    for line in [r"    │ Pay Bob\u{202e}?", "    │ hash 1234", r"    │ a\u{200b}b", "    │ choices: all"]
    {
        assert!(lines.contains(&line), "{line}: {shown:?}");
    }
    assert_eq!(lines.iter().filter(|line| line.contains("look closely")).count(), 4, "{shown:?}");
    for command in [&["why", "@last"][..], &["tree", "@last"], &["log", "@last"], &["why"], &["ps"]] {
        let ran = systole(at, command);
        assert!(!ran.stdout.contains(['\u{202e}', '\u{200b}', '\u{85}']), "{ran:?}");
    }
    // A choice is a word that a person can type, so nothing can hide in it.
    for choice in ["g\u{200b}o", "go now", "-go", "", "g\u{85}o"] {
        let plan = format!("[[person('Go?', 'stop', '{choice}')], everything]");
        let sent = send(at, &format!("k{}", choice.len()), &plan);
        assert_eq!(sent.code, Some(0), "{choice:?}: {sent:?}");
        assert!(
            sent.stdout.contains("choice 2 is not a word that a person can type"),
            "{choice:?}: {sent:?}"
        );
    }
    judged(at);
}

#[test]
fn f4_a_pump_that_is_killed_while_a_person_is_asked_goes_on_with_the_answer() {
    let folder = cast(&BOSS_ALONE);
    let at = folder.path();
    let organism = Running::organism(at);
    assert_eq!(send(at, "k", PLAN).code, Some(6));
    let before = listed(at);
    organism.signal(Signal::KILL);
    organism.end();
    assert_eq!(listed(at), before, "nothing is lost and nothing is new");

    let organism = Running::organism(at);
    let again = send(at, "k", PLAN);
    assert_eq!(again.code, Some(6), "it still waits: {again:?}");
    organism.signal(Signal::KILL);
    organism.end();
    // It is answered while nothing runs, and the next kill does not lose the answer either.
    let chosen = systole(at, &["choose", "a1", "go"]);
    assert_eq!(chosen.code, Some(0), "{chosen:?}");
    let organism = Running::organism(at);
    organism.signal(Signal::KILL);
    organism.end();
    let answer = send(at, "k", PLAN);
    assert!(answer.code == Some(0) && answer.stdout.contains("choice=\"go\""), "{answer:?}");
    let log = systole(at, &["log", "@last"]);
    assert_eq!(log.stdout.matches("<person-said>").count(), 1, "{log:?}");
    assert_eq!(log.stdout.matches("waits for a person: question").count(), 1, "{log:?}");
    judged(at);
}

#[test]
fn f4_a_question_expires_over_restarts() {
    let plan = "[[person('Go?', 'go', expires='1s')], everything]";
    let folder = waits(&BOSS_ALONE, plan);
    // Each of these starts the organism, and ends it while only a person could continue.
    let answer = loop {
        let sent = send(folder.path(), "k", plan);
        if sent.code != Some(6) {
            break sent;
        }
    };
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert!(answer.stdout.contains("outcome=\"expired\""), "{answer:?}");
    assert!(!answer.stdout.contains("by=\"operator\""), "{answer:?}");
    let tree = systole(folder.path(), &["tree", "@last"]);
    assert!(tree.stdout.contains("asked a person, who did not answer in time"), "{tree:?}");
    let late = systole(folder.path(), &["choose", "a1", "go"]);
    assert!(late.code == Some(4) && late.stderr.contains("approval.decided"), "{late:?}");
    judged(folder.path());
}

#[test]
fn f4_questions_in_two_threads_and_in_one_reply_are_answered_apart() {
    let folder = waits(&BOSS_ALONE, "[[person('First?', 'go'), person('Second?', 'go')], everything]");
    let at = folder.path();
    let other = "[[person('Third?', 'go', 'stop')], everything]";
    assert_eq!(send(at, "other", other).code, Some(6));
    let questions: Vec<_> =
        listed(at).iter().map(|one| one["question"].as_str().unwrap().to_owned()).collect();
    assert_eq!(questions, ["First?", "Second?", "Third?"]);
    assert_eq!(systole(at, &["choose", "a3", "stop"]).code, Some(0));
    let answer = send(at, "other", other);
    assert!(answer.code == Some(0) && answer.stdout.contains("choice=\"stop\""), "{answer:?}");
    // Both answers of a reply are awaited, in any order.
    assert_eq!(systole(at, &["choose", "a2", "go", "--note", "second"]).code, Some(0));
    let half = systole(at, &["why"]);
    assert!(flat(&half).contains("question a1 from boss") && !flat(&half).contains("a2"), "{half:?}");
    assert_eq!(systole(at, &["choose", "a1", "go", "--note", "first"]).code, Some(0));
    let answer = send(at, "k", "[[person('First?', 'go'), person('Second?', 'go')], everything]");
    assert_eq!(answer.code, Some(0), "{answer:?}");
    let (first, second) = (answer.stdout.find("first").unwrap(), answer.stdout.find("second").unwrap());
    assert!(first < second, "answers are in the order of the items: {answer:?}");
    judged(at);
}

#[test]
fn f4_what_is_wrong_with_a_question_is_refused_with_place_and_fix() {
    let folder = cast(&BOSS_ALONE);
    let at = folder.path();
    let organism = Running::organism(at);
    let ask = |attributes: &str, inside: &str| {
        format!("[['<ask-person xmlns=\"' + CORE + '\" {attributes}>{inside}</ask-person>'], everything]")
    };
    let go = "<question>Go?</question>";
    let many = "<choice>a</choice>".repeat(17);
    let cases = [
        (ask("", go), "/ask-person/@expires", "expires is missing"),
        (ask("expires=\"500ms\"", go), "/ask-person/@expires", "less than 1s"),
        (ask("expires=\"366d\"", go), "/ask-person/@expires", "more than 365d"),
        (ask("expires=\"1d\"", "<choice>go</choice>"), "/ask-person", "question"),
        (ask("expires=\"1d\"", "<question/>"), "/ask-person/question", "the question is empty"),
        (
            ask("expires=\"1d\"", &format!("{go}<choice>a</choice><choice>a</choice>")),
            "choice[2]",
            "given twice",
        ),
        (ask("expires=\"1d\"", &format!("{go}{many}")), "/ask-person", "17 elements"),
        (
            ask("expires=\"1d\"", &format!("{go}<show seq=\"7\">it</show>")),
            "show[1]/@seq",
            "seq: 7 is past 1",
        ),
    ];
    for (number, (plan, place, words)) in (0..).zip(&cases) {
        let sent = send(at, &format!("k{number}"), plan);
        assert_eq!(sent.code, Some(0), "the command reports it, and the thread goes on: {sent:?}");
        let told = sent.stdout.replace("&amp;", "&").replace("&lt;", "<").replace("&quot;", "\"");
        assert!(told.contains("code=\"payload.invalid\"") && told.contains(words), "{words}: {told}");
        assert!(told.contains(place) && told.contains("<try&gt;"), "{place}: {told}");
    }
    assert!(listed(at).is_empty());
    organism.interrupt();
    judged(at);

    let folder = cast(&[("boss", "turns: 1, entry: true", BOSS)]);
    let sent = send(folder.path(), "k", PLAN);
    assert!(sent.code == Some(1) && flat(&sent).contains("a listener with one turn cannot wait"), "{sent:?}");
    let folder = cast(&[("boss", "turns: 2, entry: true", BOSS)]);
    let sent = send(folder.path(), "k", "[[note('x')], [person('Go?')], everything]");
    assert!(sent.code == Some(0) && sent.stdout.contains("budget.messages"), "no turn is left: {sent:?}");
    assert!(listed(folder.path()).is_empty());
}

#[test]
fn f4_over_http_a_question_is_listed_with_its_kind_and_answered_by_who_may() {
    let folder = cast(&BOSS_ALONE);
    let at = folder.path();
    let file = at.join("organism.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    let clients =
        "clients: {alice: {token_env: ALICE_TOKEN}, carol: {token_env: CAROL_TOKEN, roles: [approve]}}\n";
    std::fs::write(&file, text + clients).unwrap();
    let (alice, carol) = ("alice-token-0123456789", "carol-token-0123456789");
    let organism = Running::organism_with(at, &[("ALICE_TOKEN", alice), ("CAROL_TOKEN", carol)]);
    assert_eq!(send(at, "k", PLAN).code, Some(6));
    let all = ask(&run_file(at), "GET", "/v1/approvals", &[], "");
    let one = &all.json["approvals"][0];
    assert_eq!((one["kind"].as_str(), one["id"].as_str()), (Some("question"), Some("a1")), "{all:?}");
    assert_eq!(one["may"], json!(["operator", "carol"]));
    assert_eq!(one["shows"][0]["payload"].as_str(), Some(&*say("boss", PLAN)));
    let says = |token: &str, body: Value| {
        let bearer = format!("Bearer {token}");
        ask_as(&run_file(at), "POST", "/v1/approvals/a1", &[("Authorization", &bearer)], &body.to_string())
    };
    for (body, status, words) in [
        (json!({"outcome": "approved"}), 409, "approval.wrong-kind"),
        (json!({"outcome": "chosen", "choice": "maybe"}), 422, "question.invalid-choice"),
        (json!({"outcome": "chosen"}), 422, "question.invalid-choice"),
        (json!({"outcome": "approved", "choice": "go"}), 400, "only the outcome `chosen` takes a choice"),
        (json!({"outcome": "chosen", "payload": "<a/>"}), 400, "only the outcome `amended` takes a payload"),
    ] {
        let answer = says(carol, body);
        assert!(answer.status == status && answer.json.to_string().contains(words), "{words}: {answer:?}");
    }
    assert_eq!(says(alice, json!({"outcome": "chosen", "choice": "go"})).status, 403);
    let answer = says(carol, json!({"outcome": "chosen", "choice": "go", "note": "checked"}));
    assert_eq!(
        (answer.status, answer.json),
        (200, json!({"approval": "a1", "outcome": "chosen", "choice": "go"}))
    );
    let answer = send(at, "k", PLAN);
    assert!(answer.stdout.contains("by=\"carol\"") && answer.stdout.contains("checked"), "{answer:?}");
    organism.interrupt();
    judged(at);
}

#[test]
fn f4_notified_listeners_get_person_asked_and_a_cancelled_call_ends_the_question() {
    let folder = cast(&TOLD);
    let at = folder.path();
    let organism = Running::organism(at);
    assert_eq!(send(at, "k", "[[person('One?', 'go')], [person('Two?', 'go')], everything]").code, Some(6));
    assert_eq!(systole(at, &["choose", "a1", "go"]).code, Some(0));
    assert_eq!(send(at, "k", "[[person('One?', 'go')], [person('Two?', 'go')], everything]").code, Some(6));
    let log = systole(at, &["log", "@last"]);
    assert_eq!(log.stdout.matches("core → watch  tells, call 1/0.").count(), 2, "each once: {log:?}");
    assert!(log.stdout.contains("<person-asked>"), "{log:?}");
    assert_eq!(systole(at, &["cancel", "@last"]).code, Some(0));
    assert!(listed(at).is_empty(), "it ends with its call");
    let late = systole(at, &["choose", "a2", "go"]);
    assert!(late.code == Some(4) && late.stderr.contains("approval.decided"), "{late:?}");
    organism.interrupt();
    judged(at);
}

const AGENT: &str = "organism: {name: hello}
models: {main: {provider: script, file: replies.yaml}}
agents: {clerk: {model: main, prompt: {identity: You release what a person lets you.}}}
log: {path: ./hello.db}
";

const REPLIES: &str = "clerk:
  - say: <thinking>I ask.</thinking><ask-person expires=\"1h\"><question>Release it?</question><show seq=\"1\">the request</show><choice>go</choice><choice>stop</choice></ask-person>
  - {if: 'choice=\"go\"', need: ['by=\"operator\"'], say: <thinking>Yes.</thinking><attempt_completion><result>Released.</result></attempt_completion>}
  - {if: 'outcome=\"expired\"', say: <thinking>No.</thinking><attempt_completion><result>No one said so.</result></attempt_completion>}
  - say: <thinking>No.</thinking><attempt_completion><result>Not released.</result></attempt_completion>
";

const TESTS: &str = "tests:
  - name: a person lets it go
    steps:
      - {send: {ask: Release 1.2}, asked: Release it?, choose: go, answer: {answer: Released.}}
  - name: a person does not
    steps:
      - {send: {ask: Release 1.2}, choose: stop, note: not on a Friday, answer: {answer: Not released.}}
  - name: no one answers
    steps:
      - {send: {ask: Release 1.2}, asked: Release it?}
      - {after: 1h, answer: {answer: No one said so.}}
  - name: the time is skipped
    steps:
      - {send: {ask: Release 1.2}, answer: {answer: No one said so.}}
";

#[test]
fn f4_systole_test_answers_questions_and_skips_the_time_until_they_expire() {
    let folder = folder(&[("organism.yaml", AGENT), ("replies.yaml", REPLIES), ("clerk.test.yaml", TESTS)]);
    let at = folder.path();
    let ran = systole(at, &["test"]);
    assert!(ran.code == Some(0) && ran.stderr.contains("4 passed"), "{ran:?}");

    let wrong = "tests:
  - name: no such choice
    steps: [{send: {ask: Release 1.2}, choose: maybe}]
  - name: no such question
    steps: [{send: {ask: Release 1.2}, asked: Which day?}]
";
    std::fs::write(at.join("clerk.test.yaml"), wrong).unwrap();
    let ran = systole(at, &["test"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    for words in
        ["`choose` was refused", "expected go, stop", "no question with \"Which day?\" waits for a person"]
    {
        assert!(flat(&ran).contains(words), "{words}: {ran:?}");
    }
    std::fs::write(at.join("clerk.test.yaml"), TESTS.replace("choose: go", "choose: go, approve: ask"))
        .unwrap();
    let ran = systole(at, &["check"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let ran = systole(at, &["test"]);
    assert!(ran.code == Some(3) && flat(&ran).contains("cannot be in one step with `choose`"), "{ran:?}");
}

#[test]
fn f4_an_agent_asks_a_person_and_ask_says_how_to_answer() {
    let folder = folder(&[("organism.yaml", AGENT), ("replies.yaml", REPLIES)]);
    let at = folder.path();
    let asked = systole(at, &["ask", "Release 1.2"]);
    assert_eq!(asked.code, Some(6), "{asked:?}");
    assert!(flat(&asked).contains("systole choose a1 go, or stop answers it"), "{asked:?}");
    assert_eq!(systole(at, &["choose", "a1", "go"]).code, Some(0));
    let organism = Running::organism_set(at, &["--set", "console.listen=127.0.0.1:0"], &[]);
    let ended = systole(at, &["send", "ask", "And?", "--thread", "@last"]);
    assert_eq!(ended.code, Some(6), "the next message asks again: {ended:?}");
    let log = systole(at, &["log", "@last"]);
    assert!(log.stdout.contains("Released."), "{log:?}");
    organism.interrupt();
    judged(at);
}
