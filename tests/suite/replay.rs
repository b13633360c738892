//! `systole replay` and `systole diff`: recorded threads run again without a model or a listener. The real program runs
//! the examples of `config/`; then their listeners and scripts are removed, and the logs are replayed.

use std::path::{Path, PathBuf};

use rustix::process::Signal;
use serde_json::Value;
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::ports::{LogReader as _, Position};
use systole_core::types::record::Record;
use systole_log::sqlite;
use systole_organism::replaying::RecordedTree;
use systole_organism::replaying::comparison::{ComparedRun, ComparisonRules, compare_runs};
use systole_organism::runfile::RunFile;

use crate::log_evidence::{edit, rewrite, thread};
use crate::program::{Events, Ran, Running, ask, systole, systole_with};
use crate::session::copy;

/// A message from outside: its receiver and its payload.
type Message = (&'static str, String);

pub(crate) fn payload(listener: &str, element: &str, inside: &str) -> String {
    format!("<{element} xmlns=\"https://xml-pipeline.org/ns/{listener}/v1\">{inside}</{element}>")
}

pub(crate) fn question(words: &str) -> String {
    payload("talk", "ask", words)
}

/// A copy of an example's folder.
pub(crate) fn placed(example: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("config").join(example), folder.path());
    // A log that a user of the example left in the checkout is not replayed.
    let files = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let logs = files.filter(|path| path.to_string_lossy().contains(".db"));
    logs.for_each(|log| std::fs::remove_file(log).unwrap());
    folder
}

/// The log in a folder.
pub(crate) fn log_in(folder: &Path) -> PathBuf {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.into_iter().find(|path| path.extension().is_some_and(|end| end == "db")).unwrap()
}

pub(crate) fn is(record: &Value, field: &str, wanted: &str) -> bool {
    record[field] == wanted
}

/// Whether a record closes that call.
pub(crate) fn ends(record: &Value, receipt: &Value) -> bool {
    let goes_on = ["dead-letter", "children-open", "todo-open"].iter().any(|code| is(record, "code", code));
    let closes = is(record, "kind", "message") && is(record, "code", "final")
        || is(record, "kind", "outcome") && !goes_on;
    closes && record["thread"] == receipt["thread"] && record["call"] == receipt["call"]
}

/// Sends a message and waits until its call is closed. `each` sees every record before that.
fn send(run: &RunFile, number: usize, (to, body): &Message, mut each: impl FnMut(&Value)) {
    let mut events = Events::open(run, "", &[]);
    let (path, key) = (format!("/v1/messages?to={to}"), format!("k-{number}"));
    let sent = ask(run, "POST", &path, &[("Idempotency-Key", &key)], body);
    assert_eq!(sent.status, 202, "{to}: {sent:?}");
    loop {
        let (_, _, record) = events.next().expect("the call is closed");
        each(&record);
        if ends(&record, &sent.json) {
            return;
        }
    }
}

pub(crate) fn stop(running: Running) {
    running.signal(Signal::TERM);
    let ended = running.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

/// An example whose log has the name that `log_evidence` edits.
pub(crate) fn named(example: &str) -> tempfile::TempDir {
    let folder = placed(example);
    let file = folder.path().join("organism.yaml");
    let text = std::fs::read_to_string(&file).unwrap() + "log: {path: ./hello.db}\n";
    std::fs::write(file, text).unwrap();
    folder
}

/// Runs an organism with these messages, one after the other, and stops it.
pub(crate) fn plays(folder: &Path, messages: &[Message]) {
    let running = Running::organism_set(folder, &["--set", "console.listen=127.0.0.1:0"], &[]);
    let run = RunFile::find_running(&log_in(folder)).unwrap();
    for (number, message) in messages.iter().enumerate() {
        send(&run, number, message, |_| ());
    }
    stop(running);
}

/// Runs an example with these messages, one after the other, and leaves its log.
pub(crate) fn played(example: &str, messages: &[Message]) -> tempfile::TempDir {
    let folder = placed(example);
    plays(folder.path(), messages);
    folder
}

/// Removes everything that could answer: programs and the answers of scripted models.
pub(crate) fn without_listeners(folder: &Path) {
    for name in ["listeners", "servers", "answer.py", "answer.sh", "replies.yaml"] {
        let path = folder.join(name);
        match path.is_dir() {
            true => std::fs::remove_dir_all(path).unwrap(),
            false if path.exists() => std::fs::remove_file(path).unwrap(),
            false => {}
        }
    }
}

fn replayed(folder: &Path, arguments: &[&str]) -> Ran {
    let log = log_in(folder);
    systole(folder, &[&["replay", "--log", log.to_str().unwrap()], arguments].concat())
}

/// The values that a replay of the whole log printed, without the last one, which counts them.
fn all_replayed(folder: &Path, arguments: &[&str]) -> (Ran, Vec<Value>) {
    let ran = replayed(folder, &[&["--all", "--json"], arguments].concat());
    let mut values = ran.json_lines();
    let counts = values.pop().unwrap();
    let first = values.iter().find(|one| ["differs", "refused"].map(Value::from).contains(&one["verdict"]));
    assert_eq!(counts["first"], first.map_or(Value::Null, |one| one["thread"].clone()), "{counts}");
    (ran, values)
}

/// Checks that every thread of a log is equal, and returns how many records were compared.
#[track_caller]
fn equal(folder: &Path) -> u64 {
    let (ran, threads) = all_replayed(folder, &[]);
    let wrong: Vec<&Value> = threads.iter().filter(|thread| thread["verdict"] != "equal").collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!threads.is_empty());
    threads.iter().map(|thread| thread["records"].as_u64().unwrap()).sum()
}

#[test]
fn c4_every_example_replays_equal_without_a_model_or_a_listener() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let order = std::fs::read_to_string(root.join("config/beat/order.xml")).unwrap();
    let examples: [(&str, Vec<Message>, u64); 8] = [
        ("hello", vec![("greeter", question("Who is there?"))], 2),
        ("first-listeners", vec![("answer", question("Who?")), ("answer-py", question("Who?"))], 4),
        ("beat", vec![("clerk", order)], 8),
        ("agent", vec![("assistant", question("How many r are in strawberry?"))], 6),
        ("reader", vec![("reader", question("Where is a greeting made?"))], 20),
        ("team", vec![("coordinator", question("What makes a heart beat?"))], 40),
        ("research", vec![("researcher", question("How did sailors find their longitude?"))], 12),
        ("decision", vec![("decide", question("Shall we move the service to the new cluster?"))], 40),
    ];
    let mut all = 0;
    for (example, messages, least) in examples {
        let folder = played(example, &messages);
        without_listeners(folder.path());
        let before = std::fs::read(log_in(folder.path())).unwrap();
        let records = equal(folder.path());
        assert!(records >= least, "{example}: {records}");
        let after = std::fs::read(log_in(folder.path())).unwrap();
        assert!(before == after, "{example}: a replay writes nothing into the log");
        println!("{example}: {records} records are equal");
        all += records;
    }
    println!("{all} records in all");
}

/// The tokens of the clients of `config/soak`.
const SOAK: [(&str, &str); 5] = [
    ("SOAK_ALICE", "a-token-of-alice"),
    ("SOAK_BOB", "a-token-of-bob-too"),
    ("SOAK_CAROL", "a-token-of-carol"),
    ("SOAK_PIA", "a-token-of-pia-too"),
    ("SOAK_WES", "a-token-of-wes-too"),
];

/// The errands of `config/soak`: calls, broadcasts, children, cancels, waits, timers, approvals that expire, budgets and
/// loops that run out, journals, late replies, and every refusal.
const ERRANDS: [&str; 34] = [
    "all", "any", "ask", "brood", "cancel", "clear", "count", "credit", "deal", "deep", "doubt", "early",
    "ends", "fiasco", "hasty", "held", "later", "loop", "lose", "luxury", "miser", "nap", "note", "poll",
    "race", "safe", "sealed", "spend", "steer", "stray", "todo", "twice", "upset", "view",
];

#[test]
fn c4_a_life_with_kills_timers_and_approvals_replays_equal() {
    let folder = placed("soak");
    let at = folder.path();
    // Working time is measured. Where it runs out within milliseconds of a kill, a replay may differ.
    let settings = ["--set", "console.listen=127.0.0.1:0", "--set", "budgets.wall=1h"];
    let runs = || Running::organism_set(at, &settings, &SOAK);
    let mut open = Vec::new();
    for (round, errands) in ERRANDS.chunks(7).enumerate() {
        let running = runs();
        let run = RunFile::find_running(&at.join("soak.db")).unwrap();
        for errand in errands {
            let inside = format!("<token>t-{errand}</token><way>{errand}</way>");
            let key = format!("k-{errand}");
            let body = payload("clerk", "errand", &inside);
            let sent = ask(&run, "POST", "/v1/messages?to=clerk", &[("Idempotency-Key", &key)], &body);
            assert_eq!(sent.status, 202, "{errand}: {sent:?}");
            open.push(sent.json);
        }
        if round % 2 == 0 {
            // In the middle of the work.
            running.signal(Signal::KILL);
            running.end();
        } else {
            stop(running);
        }
    }
    let running = runs();
    let run = RunFile::find_running(&at.join("soak.db")).unwrap();
    let mut events = Events::open(&run, "?from=0", &[]);
    while !open.is_empty() {
        let (_, _, record) = events.next().expect("every errand ends");
        open.retain(|receipt| !ends(&record, receipt));
        // What was out at a kill may wait for a person for a day.
        let body = record["body"].as_str().unwrap_or_default();
        if is(&record, "code", "requested") && body.contains(" to=\"vault\"") {
            let id = body.split_once(" id=\"").unwrap().1.split('"').next().unwrap();
            // A request that was decided before is refused.
            systole_with(at, &["approve", id], &SOAK);
        }
    }
    stop(running);
    let records = systole(at, &["log", "-n", "0", "--json", "--log", "soak.db"]).json_lines();
    let has = |field: &str, value: &str| records.iter().any(|record| is(record, field, value));
    for (field, value) in [
        ("kind", "attempt"),
        ("kind", "approval"),
        ("kind", "journal"),
        ("code", "fired"),
        ("code", "expired"),
        ("code", "spawn"),
        ("code", "to-first"),
        ("code", "thread.cancelled"),
        ("code", "reply.stale-lease"),
    ] {
        assert!(has(field, value), "{field} {value} of {}", records.len());
    }
    let compared = equal(at);
    assert!(compared > 400, "{compared}");
    // An export of all of it is replayed without the log, across the same starts.
    let (_, threads) = all_replayed(at, &[]);
    let ids: Vec<&str> = threads.iter().map(|thread| thread["thread"].as_str().unwrap()).collect();
    let export = systole(at, &[&["export", "-o", "life.zip", "--log", "soak.db"], ids.as_slice()].concat());
    assert_eq!(export.code, Some(0), "{export:?}");
    let again = systole(at, &["replay", "life.zip"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(again.stdout.contains(&format!("{} same, 0 differ", ids.len())), "{again:?}");
    println!("{compared} records of {} threads are equal", ERRANDS.len());
}

pub(crate) const FIRST: &str = "SELECT text FROM thread WHERE text LIKE 'sess-%' ORDER BY id";

/// The agent of the examples with one answered question.
pub(crate) fn agent() -> tempfile::TempDir {
    let folder = named("agent");
    plays(folder.path(), &[("assistant", question("How many r are in strawberry?"))]);
    folder
}

/// Writes a changed organism file, and replays the only thread under it.
fn under(folder: &Path, from: &str, to: &str) -> (Option<i32>, Value) {
    let text = std::fs::read_to_string(folder.join("organism.yaml")).unwrap();
    assert!(text.contains(from), "{text}");
    std::fs::write(folder.join("edited.yaml"), text.replace(from, to)).unwrap();
    let ran = replayed(folder, &["--config", "edited.yaml", "--json"]);
    (ran.code, ran.json_lines().remove(0))
}

#[test]
fn c4_a_changed_prompt_schema_and_reply_show_the_first_difference() {
    let folder = agent();
    let at = folder.path();
    without_listeners(at);
    let records = equal(at);

    // The same file under another name is no change.
    let (code, same) = under(at, "You answer questions", "You answer questions");
    assert_eq!((code, &same["verdict"]), (Some(0), &"equal".into()), "{same:#}");
    assert_eq!(same["records"], records);

    // Another prompt shows in the first call of the model, with both texts.
    let (code, prompt) = under(at, "You answer questions in one sentence.", "You answer in two sentences.");
    let first = &prompt["differences"][0];
    assert_eq!((code, &prompt["verdict"], &first["part"]), (Some(1), &"differs".into(), &"prompt".into()));
    assert!(first["recorded"]["text"].as_str().unwrap().contains("in one sentence."), "{first:#}");
    assert!(first["replayed"]["text"].as_str().unwrap().contains("in two sentences."), "{first:#}");

    // A narrower schema refuses the recorded reply of the tool.
    let (code, schema) = under(at, "times: int 0..", "times: int 0..2");
    assert_eq!((code, &schema["verdict"]), (Some(1), &"refused".into()), "{schema:#}");
    assert_eq!(schema["differences"][0]["refused"], "payload.invalid");
    let told = replayed(at, &["--all", "--config", "edited.yaml"]);
    assert!(told.stdout.contains("0 same, 0 differ, 1 refused by the new schema; first: sess-"), "{told:?}");

    // A setting stands for an edited file.
    std::fs::write(at.join("replies.yaml"), "assistant: []\n").unwrap();
    let set = systole(at, &["replay", "--set", "agents.assistant.prompt.identity=You are short.", "--json"]);
    assert_eq!(set.code, Some(1), "{set:?}");
    assert_eq!(set.json_lines()[0]["verdict"], "differs");

    // What the agent said was replaced afterwards, with all hashes: every chain fits, but the replay differs there.
    let root = thread(at, FIRST);
    let recorded = heads(at, "hello.db", root.as_str());
    let last = recorded.iter().find(|record| is(record, "code", "final") && is(record, "from", "assistant"));
    let (seq, body) = (last.unwrap()["seq"].as_u64().unwrap(), last.unwrap()["body"].as_str().unwrap());
    rewrite(at, &root, seq, &body.replace("There are 3", "There are 4"));
    let forged = replayed(at, &["--json"]);
    let value = forged.json_lines().remove(0);
    assert_eq!((forged.code, value["differences"].as_array().unwrap().len()), (Some(1), 1), "{value:#}");
    assert_eq!(value["differences"][0]["recorded"]["seq"], seq);
    let shown = replayed(at, &[]);
    let lines = ["-   There are 4 letters r in strawberry.", "+   There are 3 letters r in strawberry."];
    assert!(lines.iter().all(|line| shown.stdout.contains(line)), "{}", shown.stdout);
}

#[test]
fn c4_what_cannot_be_replayed_is_not_reported_as_different() {
    let folder = agent();
    let at = folder.path();
    let ran = systole(at, &["replay", "none.zip"]);
    assert!(
        ran.code > Some(1) && ran.stderr.contains("none.zip, an export: there is no such file"),
        "{ran:?}"
    );
    let root = thread(at, FIRST);
    for (arguments, code, words) in [
        (&["sess-000000000000"][..], 2, "no thread begins with"),
        (&["--config", "absent.yaml"], 3, "absent.yaml"),
        (&["--since", "soon"], 2, "this is not a time"),
        (&["--since", "2999-01-01T00:00:00Z"], 1, "no thread began since"),
        (&["--since", "30d", root.as_str()], 2, "cannot be used with"),
    ] {
        let ran = replayed(at, arguments);
        assert_eq!(ran.code, Some(code), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(words), "{arguments:?}: {ran:?}");
    }
    let absent = systole(at, &["replay", "--log", "absent.db"]);
    assert_eq!(absent.code, Some(5), "{absent:?}");

    // The configuration is gone.
    let whole = std::fs::read(at.join("hello.db")).unwrap();
    std::fs::rename(at.join("organism.yaml"), at.join("kept.yaml")).unwrap();
    edit(at, "DELETE FROM document WHERE hash IN (SELECT hash FROM config)");
    let gone = replayed(at, &["--json"]);
    assert_eq!((gone.code, &gone.json_lines()[0]["verdict"]), (Some(5), &"cannot-replay".into()), "{gone:?}");
    assert!(gone.stderr.contains("cannot replay sess-") && gone.stderr.contains("the log does not have it"));
    let all = replayed(at, &["--all"]);
    assert_eq!(all.code, Some(5), "{all:?}");
    assert!(all.stdout.contains("0 same, 0 differ, 1 cannot be replayed"), "{all:?}");
    // Under a file that is there, it can be replayed.
    assert_eq!(replayed(at, &["--config", "kept.yaml"]).code, Some(0));

    // What was said is erased: the log of this format is kept for every version.
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/log-v5.db");
    std::fs::copy(kept, at.join("erased.db")).unwrap();
    let erased = systole(at, &["replay", "--log", "erased.db", "sess-000000000016"]);
    assert_eq!(erased.code, Some(5), "{erased:?}");
    assert!(erased.stderr.contains("what record 1 of thread sess-000000000016 said is erased"), "{erased:?}");

    // A damaged log is refused, and nothing is said about its threads.
    std::fs::write(at.join("hello.db"), &whole).unwrap();
    edit(at, "UPDATE record SET body = CAST(CAST(body AS TEXT) || ' ' AS BLOB) WHERE code IS NOT NULL");
    let damaged = replayed(at, &["--all"]);
    assert_eq!((damaged.code, damaged.stdout.as_str()), (Some(7), ""), "{damaged:?}");
    assert!(damaged.stderr.contains("systole verify"), "{damaged:?}");
}

#[test]
fn c4_two_threads_are_compared_record_by_record() {
    let folder = named("hello");
    let at = folder.path();
    plays(at, &[("greeter", question("Who?")), ("greeter", question("Who?")), ("greeter", question("Why?"))]);
    let threads: Vec<String> = systole(at, &["ps", "--json"]).json_lines()[0]["threads"]
        .as_array()
        .unwrap()
        .iter()
        .map(|thread| thread["thread"].as_str().unwrap().to_owned())
        .collect();
    let asked = |thread: &String| systole(at, &["log", thread, "--json"]).stdout.contains("Why?");
    let (other, same): (Vec<String>, Vec<String>) = threads.into_iter().partition(asked);
    let equal = systole(at, &["diff", &same[0], &same[1]]);
    assert_eq!(equal.code, Some(0), "{equal:?}");
    assert!(equal.stdout.contains("2 records, equal"), "{equal:?}");
    let differs = systole(at, &["diff", &same[0], &other[0]]);
    assert_eq!(differs.code, Some(1), "{differs:?}");
    for line in ["2 records, 2 differences", "-   Who?", "+   Why?"] {
        assert!(differs.stdout.contains(line), "{line}: {}", differs.stdout);
    }
    let value = systole(at, &["diff", &same[0], &other[0], "--json"]).json_lines().remove(0);
    assert_eq!((&value["same"], value["differences"].as_array().unwrap().len()), (&false.into(), 2));

    // The same thread in a copy of the log.
    std::fs::copy(at.join("hello.db"), at.join("copy.db")).unwrap();
    let copied = systole(at, &["diff", &other[0], &other[0], "--against", "copy.db"]);
    assert_eq!(copied.code, Some(0), "{copied:?}");
    for (arguments, code) in [
        (["diff", &same[0], "sess-000000000000"].as_slice(), 2),
        (&["diff", &same[0], &same[1], "--against", "absent.db"], 5),
    ] {
        assert_eq!(systole(at, arguments).code, Some(code), "{arguments:?}");
    }
}

/// The records of a thread in a log, with their heads.
pub(crate) fn heads(folder: &Path, log: &str, thread: &str) -> Vec<Value> {
    systole(folder, &["log", thread, "-n", "0", "--log", log, "--json"]).json_lines()
}

#[test]
fn c4_an_open_thread_and_the_log_of_a_running_organism_are_replayed() {
    let folder = placed("release");
    let at = folder.path();
    let running = Running::organism_set(at, &["--set", "console.listen=127.0.0.1:0"], &[]);
    let run = RunFile::find_running(&at.join("release.db")).unwrap();
    let mut events = Events::open(&run, "", &[]);
    let body = payload("release", "release-request", "<service>billing</service>");
    let sent = ask(&run, "POST", "/v1/messages?to=release", &[("Idempotency-Key", "k")], &body);
    assert_eq!(sent.status, 202, "{sent:?}");
    let asked = |events: &mut Events| {
        let mut records = std::iter::from_fn(|| events.next());
        records.find(|(_, _, record)| is(record, "code", "asked") && record["thread"] != "sys").unwrap().2
    };
    for choice in ["revise", "go"] {
        let question = asked(&mut events)["body"].as_str().unwrap().to_owned();
        let open = replayed(at, &["@last", "--json"]);
        assert_eq!((open.code, &open.json_lines()[0]["verdict"]), (Some(0), &"equal".into()), "{open:?}");
        let id = question.split_once(" id=\"").unwrap().1.split('"').next().unwrap();
        for order in [
            &["pause", "@last", "--note", "Wait."][..],
            &["choose", id, choice, "--note", "One machine first."],
            &["resume", "@last"],
        ] {
            let ran = systole(at, order);
            assert_eq!(ran.code, Some(0), "{ran:?}");
        }
    }
    // The plan is released, and then ten minutes of quiet are waited for.
    let mut records = std::iter::from_fn(|| events.next());
    assert!(records.any(|(_, _, record)| is(&record, "code", "set") && is(&record, "kind", "timer")));
    let open = replayed(at, &["@last"]);
    assert_eq!(open.code, Some(0), "{open:?}");
    assert!(open.stdout.contains("records, equal"), "{open:?}");
    for order in [&["cancel", "@last"][..], &["ask", "--thread", "@last", "Are you there?"]] {
        systole(at, order);
    }
    stop(running);
    let kinds = systole(at, &["log", "@last", "-n", "0", "--json"]).kinds();
    for kind in ["steer/paused", "steer/resumed", "terminal/thread.cancelled"] {
        assert!(kinds.iter().any(|one| one == kind), "{kind}: {kinds:?}");
    }
    assert!(equal(at) > 100);
}

#[test]
fn c4_other_words_of_another_version_are_no_difference() {
    let folder = named("hello");
    let at = folder.path();
    let wrong =
        "cat >/dev/null; echo '<answer xmlns=\"https://xml-pipeline.org/ns/talk/v1\"><no/></answer>'\n";
    std::fs::write(at.join("listeners/greeter.sh"), wrong).unwrap();
    plays(at, &[("greeter", question("Who?"))]);
    equal(at);
    let root = thread(at, FIRST);
    let records = heads(at, "hello.db", root.as_str());
    let refusal = records.iter().find(|record| is(record, "kind", "refusal")).unwrap();
    let (seq, body) = (refusal["seq"].as_u64().unwrap(), refusal["body"].as_str().unwrap());
    let (before, after) = body.split_once(" message=\"").unwrap();
    let reworded = format!("{before} message=\"in other words{}", &after[after.find('"').unwrap()..]);
    rewrite(at, &root, seq, &reworded);
    let same_version = replayed(at, &["--json"]);
    assert_eq!(same_version.code, Some(1), "{same_version:?}");
    // The same words are those of another version if that wrote the log.
    let sys = ThreadId::new_sys();
    let boots = heads(at, "hello.db", "sys");
    let boot = boots.iter().find(|record| record["body"].as_str().unwrap().starts_with("<boot ")).unwrap();
    let version = format!(" version=\"{}\"", env!("CARGO_PKG_VERSION"));
    let older = boot["body"].as_str().unwrap().replace(&version, " version=\"0.0.9\"");
    assert!(older.contains("0.0.9"), "{older}");
    rewrite(at, &sys, boot["seq"].as_u64().unwrap(), &older);
    let other = replayed(at, &["--json"]);
    let value = other.json_lines().remove(0);
    assert_eq!((other.code, &value["reworded"], &value["version"]), (Some(0), &1.into(), &"0.0.9".into()));
    // Another code is a difference in any version.
    rewrite(at, &root, seq, &body.replace(" code=\"payload.invalid\"", " code=\"payload.empty\""));
    assert_eq!(replayed(at, &[]).code, Some(1));
}

#[test]
fn c4_a_hostile_log_is_replayed_or_refused_without_a_panic() {
    let folder = agent();
    let at = folder.path();
    let whole = std::fs::read(at.join("hello.db")).unwrap();
    let root = thread(at, FIRST);
    let records = heads(at, "hello.db", root.as_str());
    let large = format!("<a>{}</a>", "<b/>".repeat(50_000));
    let mut ends = std::collections::BTreeSet::new();
    for record in &records {
        let body = record["body"].as_str().unwrap();
        let numbers =
            body.replace(" id=\"", " id=\"99999999").replace(" attempt=\"1\"", " attempt=\"4000000000\"");
        for bad in ["", "<", "\u{0}", "<a/>", &numbers, &large] {
            std::fs::write(at.join("hello.db"), &whole).unwrap();
            rewrite(at, &root, record["seq"].as_u64().unwrap(), bad);
            for arguments in [&["replay", "--log", "hello.db"][..], &["fork", "@last@2", "-o", "f.db"]] {
                let ran = systole(at, arguments);
                assert!(!ran.stderr.contains("panicked"), "{record}: {bad:.40}: {ran:?}");
                assert!(matches!(ran.code, Some(0..=7)), "{record}: {bad:.40}: {ran:?}");
                ends.insert(ran.code);
            }
            for end in ["", "-wal", "-shm", ".tip", ".secret", ".lock"] {
                drop(std::fs::remove_file(at.join(format!("f.db{end}"))));
            }
        }
    }
    assert!(ends.contains(&Some(1)), "{ends:?}");
}

#[test]
fn c4_the_order_of_parallel_answers_does_not_count() {
    let folder = played("decision", &[("decide", question("Is it ready?"))]);
    let reader = sqlite::open_reading(&log_in(folder.path())).unwrap();
    let root = reader.list_threads(usize::MAX).unwrap().into_iter().find(|id| id.parent().is_none()).unwrap();
    let tree = RecordedTree::read_tree(&reader, &root).unwrap().unwrap();
    assert!(
        tree.records.iter().any(|(_, record)| record.header.thread != root),
        "its children work in parallel"
    );
    let run = |records: &[(Position, Record)]| {
        let compared = |records| ComparedRun { root: &root, records, reader: &reader };
        let one = compared(tree.records.iter().map(|(position, record)| (*position, record)).collect());
        let other = compared(records.iter().map(|(position, record)| (*position, record)).collect());
        let rules = ComparisonRules { has_keys: true, is_across_versions: false };
        compare_runs(&one, &other, &|position| position, rules).unwrap().differences
    };
    // Every call answers in another order, and within a call nothing changes.
    let mut other = tree.records.clone();
    other.sort_by_key(|(position, record)| {
        let h = &record.header;
        (std::cmp::Reverse((h.thread.clone(), h.call.clone())), *position)
    });
    assert_ne!(other, tree.records);
    assert_eq!(run(&other), []);
    // The control: an answer to another call is seen, and so is one that is missing.
    let is_final =
        |(_, record): &&mut (Position, Record)| record.header.code.is_some_and(|c| c.as_str() == "final");
    let first = other.iter_mut().find(is_final).unwrap();
    first.1.header.from = Name::new_core();
    assert_eq!(run(&other)[0].part, "sender");
    other.pop();
    assert!(run(&other).iter().any(|found| found.part == "record"));
}

#[test]
fn c4_ten_planted_changes_show_the_right_first_difference_or_none() {
    let folder = agent();
    let at = folder.path();
    without_listeners(at);
    equal(at);
    // What is changed, into what, and what differs first: nothing, the prompt, or a refusal with this code.
    let planted = [
        ("# One agent and one tool.", "# Another comment.", ""),
        ("identity: You answer", "style: [Be brief.]\n      identity: You answer", "prompt"),
        ("Never count letters yourself;", "Count letters yourself;", "prompt"),
        ("Counts how often a letter is in a word.", "Counts letters.", "prompt"),
        ("word: word, letter: word 1..1", "word: word, letter: word 1..2", "prompt"),
        ("times: int 0..", "times: int 0..2", "payload.invalid"),
        ("times: int 0..", "times: int 0..9", ""),
        ("model: main\n", "model: main\n    dialect: native\n", "prompt"),
        ("returns: [times]", "returns: [times]\n    retry: {attempts: 5}", ""),
        ("run: [python3, listeners/letters.py]", "run: [sh, listeners/letters.sh]", ""),
    ];
    for (was, is, first) in planted {
        let (code, said) = under(at, was, is);
        let difference = &said["differences"][0];
        let found = match (&difference["refused"], &difference["part"]) {
            (Value::String(code), _) | (Value::Null, Value::String(code)) => code.as_str(),
            _ => "",
        };
        assert_eq!((found, code), (first, Some(i32::from(!first.is_empty()))), "{was} -> {is}: {said:#}");
    }
}
