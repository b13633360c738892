//! The reading commands, as the installed binary: what they print, where, and their exit.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use systole_core::types::ids::Name;
use systole_core::types::ports::Position;
use systole_core::types::record::RecordKind;
use systole_organism::running::Organism;

use super::audit_stage::{Actor, cast, flat, narrow, payload, stop, until};
use super::organism::{ask, outcome, start};
use crate::program::PATIENCE;

/// The output of a command, and its exit code.
struct FittingRan {
    exit: i32,
    out: String,
    err: String,
}

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_systole"));
    // A list of waits is for other programs: one line each, of any length.
    let columns = if *args == ["why"] { "" } else { "80" };
    command.args(args).current_dir(folder).envs([("TZ", "UTC"), ("COLUMNS", columns)]).stdin(Stdio::null());
    command
}

/// Runs `systole` in the folder of an organism. Every line for people must fit.
#[track_caller]
fn systole(folder: &Path, args: &[&str]) -> FittingRan {
    let ran = command(folder, args).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let ran =
        FittingRan { exit: ran.status.code().unwrap_or(-1), out: text(ran.stdout), err: text(ran.stderr) };
    if !args.contains(&"--json") && !args.contains(&"--raw") && *args != ["why"] {
        let lines: Vec<String> = ran.out.lines().map(str::to_owned).collect();
        narrow(&lines);
    }
    ran
}

impl FittingRan {
    #[track_caller]
    fn json(&self) -> Value {
        assert_eq!(self.exit, 0, "{}{}", self.out, self.err);
        serde_json::from_str(&self.out).unwrap()
    }
}

const HUNG: Actor<'_> = Actor("search", "search", "found", &["timeout: 1h"]);
const QUICK: Actor<'_> = Actor("dig", "dig", "dug", &["env: {TURN_1: '<dug xmlns=\"urn:t\">gold</dug>'}"]);

/// One thread that rests and one that hangs, opened in this order.
async fn two_threads(organism: &Organism) -> (String, String) {
    let rests = ask(organism, "k1", &payload("dig", "here"), None).await.unwrap();
    outcome(organism, &rests).await;
    let hangs = ask(organism, "k2", &payload("search", "login"), None).await.unwrap();
    (rests.thread.to_string(), hangs.thread.to_string())
}

#[tokio::test]
async fn the_reading_commands_need_no_organism_but_know_whether_one_runs() {
    let folder = cast(&[HUNG, QUICK]);
    let organism = start(folder.path()).await;
    let (rests, hangs) = two_threads(&organism).await;

    let ps = systole(folder.path(), &["ps"]);
    let lines: Vec<&str> = ps.out.lines().collect();
    assert_eq!((ps.exit, lines.len(), ps.err.as_str()), (0, 2, ""), "{}", ps.out);
    assert!(
        lines[0].starts_with(&hangs) && lines[0].contains("search: attempt 1 of 3 out for"),
        "{}",
        ps.out
    );
    assert!(
        lines[1].starts_with(&rests) && lines[1].contains("  answered  ") && lines[1].contains("<dug> gold"),
        "{}",
        ps.out
    );
    let why = systole(folder.path(), &["why"]);
    let [line] = why.out.lines().collect::<Vec<_>>()[..] else { panic!("{}", why.out) };
    assert!(line.starts_with(&format!("{hangs}   waits ")), "{line}");
    assert!(line.contains(" s   for search: attempt 1 of 3 out for "), "{line}");
    assert!(line.ends_with(&format!("        systole why {hangs}")), "{line}");
    let json = systole(folder.path(), &["why", "--json"]).json();
    assert_eq!((&json["running"], &json["waits"][0]["cause"]), (&std::process::id().into(), &"out".into()));
    let json = systole(folder.path(), &["ps", "--json"]).json();
    assert_eq!(json["running"], std::process::id());
    assert_eq!(json["threads"][0]["state"], "working");

    stop(organism).await;
    let ps = systole(folder.path(), &["ps"]);
    assert!(flat(&ps.out).contains("search: waits for the organism to run"), "{}", ps.out);
    assert!(
        ps.err.contains("no organism runs on ") && ps.err.contains("start it with: systole run"),
        "{}",
        ps.err
    );
    assert_eq!(systole(folder.path(), &["ps", "--json"]).json()["running"], Value::Null);
    let why = systole(folder.path(), &["why", "@last"]);
    assert!(flat(&why.out).contains("it goes on with: systole run"), "{}", why.out);
}

#[tokio::test]
async fn why_tree_and_log_of_one_thread() {
    let folder = cast(&[HUNG, QUICK]);
    let organism = start(folder.path()).await;
    let (rests, hangs) = two_threads(&organism).await;

    let why = systole(folder.path(), &["why", &hangs]);
    assert!(why.out.contains("program: python3 actor.py"), "{}", why.out);
    let json = systole(folder.path(), &["why", "@last", "--json"]).json();
    assert_eq!(json["thread"], *hangs);
    assert_eq!(json["reasons"][0]["cause"], "out");
    assert_eq!(json["reasons"][0]["program"][1], "actor.py");

    let tree = systole(folder.path(), &["tree", &rests]);
    assert!(tree.out.contains("└─ 1  dig  <dig>  here  answered <dug> after "), "{}", tree.out);
    let json = systole(folder.path(), &["tree", &rests, "--json"]).json();
    assert_eq!(json["calls"][0]["state"], "answered");

    let log = systole(folder.path(), &["log", &rests]);
    assert!(log.out.contains("#1 operator → dig  opens call 1  <dig>  here"), "{}", log.out);
    assert!(log.out.contains("#2 dig → operator  answers call 1  <dug>  gold"), "{}", log.out);
    let from = systole(folder.path(), &["log", &rests, "--from", "2"]);
    assert!(!from.out.contains("#1 ") && from.out.contains("#2 "), "{}", from.out);
    let raw = systole(folder.path(), &["log", &rests, "--raw", "--from", "2"]);
    assert_eq!(raw.out, format!("{}\n", payload("dug", "gold").as_str()));

    let whole = systole(folder.path(), &["log", "--json"]);
    let records: Vec<Value> = whole.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(records.len() as u64, organism.reader().read_last().unwrap().0);
    assert_eq!((&records[0]["thread"], &records[0]["position"]), (&Value::from("sys"), &Value::from(1)));
    let at = systole(folder.path(), &["log", "--json", "--from", "2"]);
    assert_eq!(at.out.lines().count() + 1, records.len());
    stop(organism).await;
}

#[tokio::test]
async fn a_thread_is_found_by_its_beginning_and_what_is_ambiguous_is_listed() {
    let folder = cast(&[HUNG, QUICK]);
    let organism = start(folder.path()).await;
    let (rests, hangs) = two_threads(&organism).await;
    for typed in [rests.as_str(), &rests[..12], &rests[5..12]] {
        let tree = systole(folder.path(), &["tree", typed]);
        assert!(tree.out.starts_with(&rests), "{typed}: {}{}", tree.out, tree.err);
    }
    assert!(systole(folder.path(), &["tree"]).out.starts_with(&hangs), "the last one opened");
    let both = systole(folder.path(), &["tree", "sess-"]);
    assert_eq!(both.exit, 2, "{}", both.err);
    assert!(both.err.contains(&rests) && both.err.contains(&hangs), "{}", both.err);
    assert!(both.err.contains("try: more of its digits"), "{}", both.err);
    for nonsense in ["nobody", "sess-zz", "%", "'; --", "\u{1b}[2J"] {
        let none = systole(folder.path(), &["log", nonsense]);
        assert_eq!((none.exit, none.out.as_str()), (2, ""), "{}", none.err);
        assert!(
            none.err.contains("no thread begins with") && none.err.contains("systole ps"),
            "{}",
            none.err
        );
        assert!(!none.err.contains('\u{1b}'), "{:?}", none.err);
    }
    stop(organism).await;
}

#[tokio::test]
async fn a_log_that_is_followed_shows_what_comes() {
    let folder = cast(&[QUICK]);
    let organism = start(folder.path()).await;
    let receipt = ask(&organism, "k1", &payload("dig", "first"), None).await.unwrap();
    outcome(&organism, &receipt).await;
    let thread = receipt.thread.to_string();
    let mut follower =
        command(folder.path(), &["log", &thread, "--follow"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    let (seen, mut came) = tokio::sync::mpsc::channel(64);
    let reading = std::thread::spawn(move || {
        while let Some(Ok(line)) = lines.next() {
            seen.blocking_send(line).unwrap();
        }
    });
    let mut wait_for = async |text: &str| {
        let waits = async {
            while let Some(line) = came.recv().await {
                if line.contains(text) {
                    return;
                }
            }
            panic!("the follower ended before {text:?}");
        };
        tokio::time::timeout(PATIENCE, waits).await.expect("the line comes in time");
    };
    wait_for("#2 dig → operator").await;
    ask(&organism, "k2", &payload("dig", "second"), Some(&thread)).await.unwrap();
    wait_for("second").await;
    assert!(organism.handle().cancel_thread(Name::new_operator(), receipt.thread.clone()).await.is_some());
    wait_for("the thread ends, cancelled by operator").await;
    assert!(follower.wait().unwrap().success(), "it ends with the thread");
    reading.join().unwrap();
    stop(organism).await;
}

#[tokio::test]
async fn a_log_that_is_not_there_or_not_ours_is_reported_with_the_fix() {
    let nowhere = super::organism::folder(&[]);
    let unnamed = systole(nowhere.path(), &["ps"]);
    assert_eq!(unnamed.exit, 3, "{}", unnamed.err);
    assert!(unnamed.err.contains("organism.yaml") && unnamed.err.contains("--log PATH"), "{}", unnamed.err);
    let folder = cast(&[QUICK]);
    for name in ["ps", "why", "tree", "log"] {
        let absent = systole(folder.path(), &[name]);
        assert_eq!(absent.exit, 5, "{name}: {}", absent.err);
        assert!(absent.err.contains("hello.db: there is no such log"), "{}", absent.err);
        assert!(absent.err.contains("try: systole run"), "{}", absent.err);
    }
    std::fs::write(
        folder.path().join("notes.txt"),
        "not a log at all, but long enough to be looked at\n".repeat(4),
    )
    .unwrap();
    std::fs::write(folder.path().join("empty.db"), "").unwrap();
    for (path, why) in [("notes.txt", "it is not an SQLite database"), ("empty.db", "it is empty")] {
        let foreign = systole(folder.path(), &["ps", "--log", path]);
        assert_eq!(foreign.exit, 7, "{}", foreign.err);
        assert!(foreign.err.contains(path) && foreign.err.contains(why), "{}", foreign.err);
        assert!(foreign.err.contains("try: --log PATH"), "{}", foreign.err);
    }
    let organism = start(folder.path()).await;
    stop(organism).await;
    let empty = systole(folder.path(), &["ps"]);
    assert_eq!((empty.exit, empty.out.as_str()), (0, ""));
    assert!(empty.err.contains("no thread yet"), "{}", empty.err);
    for name in ["why", "tree", "log"] {
        let empty = systole(folder.path(), &[name, "@last"]);
        assert_eq!(empty.exit, 2);
        assert!(
            empty.err.contains("the log has no thread yet") && empty.err.contains("systole send"),
            "{}",
            empty.err
        );
    }
}

#[tokio::test]
async fn doctor_says_what_is_there_and_who_has_the_log() {
    let folder = cast(&[QUICK]);
    let before = systole(folder.path(), &["doctor"]);
    assert_eq!(before.exit, 0, "{}", before.out);
    assert!(flat(&before.out).contains("there is no such log"), "{}", before.out);
    let organism = start(folder.path()).await;
    let receipt = ask(&organism, "k1", &payload("dig", "first"), None).await.unwrap();
    outcome(&organism, &receipt).await;
    let text = flat(&systole(folder.path(), &["doctor"]).out);
    assert!(text.contains("ok libxml2: ") && text.contains(", and it judges"), "{text}");
    assert!(text.contains("ok organism: hello, 1 listener "), "{text}");
    assert!(text.contains("format 8: ") && text.contains(" records in 2 threads verify"), "{text}");
    assert!(text.contains(&format!("ok lock: process {} runs", std::process::id())), "{text}");
    stop(organism).await;
    let path = folder.path().join("hello.db.run");
    std::fs::write(
        &path,
        r#"{"pid":4194303,"address":"127.0.0.1:7474","token":"0123456789abcdef0123456789abcdef"}"#,
    )
    .unwrap();
    let ran = systole(folder.path(), &["doctor"]);
    let text = flat(&ran.out);
    assert!(
        text.contains("ok lock: free") && text.contains("note run file: ") && text.contains("it is stale"),
        "{text}"
    );
    assert!(!text.contains("0123456789abcdef"), "{text}");
    let json = systole(folder.path(), &["doctor", "--json"]).json();
    assert!(json.as_array().unwrap().iter().all(|finding| finding["state"] != "problem"), "{json:#}");
}

#[tokio::test]
async fn doctor_finds_damage_and_says_how_far_it_goes() {
    let folder = cast(&[QUICK]);
    let organism = start(folder.path()).await;
    let damaged = ask(&organism, "k1", &payload("dig", "first"), None).await.unwrap();
    outcome(&organism, &damaged).await;
    let sound = ask(&organism, "k2", &payload("dig", "second"), None).await.unwrap();
    outcome(&organism, &sound).await;
    let records = organism.reader().read_after(Position(0), 100).unwrap();
    let bad = records.iter().find(|(_, r)| r.header.thread == damaged.thread && r.header.seq == 2).unwrap().0;
    stop(organism).await;
    let log = rusqlite::Connection::open(folder.path().join("hello.db")).unwrap();
    log.execute("UPDATE record SET body = x'3c612f3e' WHERE pos = ?1", [bad.0.cast_signed()]).unwrap();
    drop(log);
    let ran = systole(folder.path(), &["doctor"]);
    let text = flat(&ran.out);
    assert_eq!(ran.exit, 7, "{text}");
    assert!(
        text.contains("problem log: ") && text.contains(&format!("is damaged at position {}", bad.0)),
        "{text}"
    );
    assert!(
        text.contains(&format!("problem chain: {}: record 2 at position {}", damaged.thread, bad.0)),
        "{text}"
    );
    assert!(text.contains("try: trust its records up to number 1 alone"), "{text}");
    assert!(text.contains("chains: 2 threads verify by themselves, 1 do not"), "{text}");
    assert!(!text.contains(&format!("problem chain: {}", sound.thread)), "{text}");
    let tree = systole(folder.path(), &["tree", damaged.thread.as_str()]);
    assert_eq!((tree.exit, tree.out.as_str()), (7, ""), "{}", tree.err);
    assert!(
        tree.err.contains("record 2 of thread") && tree.err.contains("try: systole doctor"),
        "{}",
        tree.err
    );
    for from in ["1", "2"] {
        let log = systole(folder.path(), &["log", damaged.thread.as_str(), "--from", from]);
        assert!(log.out.contains("#2 ") && log.out.contains("<a>"), "it is shown all the same: {}", log.out);
        assert!(
            log.err.contains("record 2 does not follow record 1") && log.err.contains("systole doctor"),
            "{}",
            log.err
        );
        assert_eq!(log.exit, 7);
    }
    assert_eq!(systole(folder.path(), &["log", sound.thread.as_str()]).exit, 0);
}

#[tokio::test]
async fn doctor_reports_a_refused_file_and_a_missing_program() {
    let folder = cast(&[Actor("dig", "dig", "dug", &["run: [./no-such-program]"])]);
    let ran = systole(folder.path(), &["doctor"]);
    assert_eq!(ran.exit, 1, "{}", ran.out);
    assert!(flat(&ran.out).contains("problem listener: dig: cannot start ./no-such-program"), "{}", ran.out);
    std::fs::write(folder.path().join("organism.yaml"), "organism: {name: hello}\nlisteners: {}\n").unwrap();
    let ran = systole(folder.path(), &["doctor"]);
    assert_eq!(ran.exit, 3, "{}", ran.out);
    assert!(flat(&ran.out).contains("problem organism: organism.yaml:2: config.missing"), "{}", ran.out);
}

#[tokio::test]
async fn a_refusal_reads_with_its_place_and_its_fix() {
    let folder = cast(&[QUICK]);
    let organism = start(folder.path()).await;
    ask(&organism, "k1", "<dig xmlns=\"urn:t\"><b/></dig>", None).await.unwrap_err();
    until(&organism, |r| r.header.kind == RecordKind::Refusal).await;
    let log = systole(folder.path(), &["log"]);
    for part in ["refused to operator: payload.invalid", "at: /dig/b, line 1, column 20", "try: "] {
        assert!(log.out.contains(part), "{}", log.out);
    }
    stop(organism).await;
}

/// `why` also lists the thread that a timer will open: it is at rest, and not for long.
#[tokio::test]
async fn c7_why_lists_the_timer_of_a_thread_at_rest() {
    let timer =
        "<set-timer xmlns=\"https://xml-pipeline.org/ns/core/v1\" id=\"tea\" after=\"1h\">drink</set-timer>";
    let rests = format!("env: {{TURN_1: '{timer}', TURN_2: '<found xmlns=\"urn:t\">now</found>'}}");
    let folder = cast(&[Actor("search", "search", "found", &[&rests, "turns: 9"])]);
    let organism = start(folder.path()).await;
    let receipt = ask(&organism, "k1", &payload("search", "x"), None).await.unwrap();
    outcome(&organism, &receipt).await;
    let told = systole(folder.path(), &["why", "--json"]).json();
    let [wait] = &told["waits"].as_array().unwrap()[..] else { panic!("{told:#}") };
    assert_eq!(
        (wait["cause"].as_str(), wait["thread"].as_str()),
        (Some("timer"), Some(receipt.thread.as_str()))
    );
    stop(organism).await;
}
