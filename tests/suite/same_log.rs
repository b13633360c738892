//! D1: the same organism leaves the same log with its log embedded and with its log in NATS, and so does the same
//! listener as a program and over NATS. The real program runs the examples of `config/` on a real broker.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::process::Signal;
use systole_core::types::record::{Record, RecordKind};
use systole_organism::runfile::RunFile;

use crate::broker::NatsServer;
use crate::equal_logs::FinishedLog;
use crate::over_nats::echo;
use crate::program::{Events, Running, ask, systole};
use crate::session::copy;

/// A message from outside: its receiver and its payload. Its key is its place among the messages.
type Message = (&'static str, String);

/// An example as it is run.
struct Example {
    folder: &'static str,
    /// The path of its log.
    log: &'static str,
    variables: &'static [(&'static str, &'static str)],
    /// The settings of every run.
    settings: &'static [&'static str],
    messages: Vec<Message>,
}

/// Examples that need more than `systole run`: the listeners of `bench` are Rust, in `benches/beat`; in `coder`, `desk`,
/// `doors` and `release` a person decides. In `decision` and `review` agents work in parallel, and their order depends on the machine.
const PLAYED_ELSEWHERE: [&str; 7] = ["bench", "coder", "decision", "desk", "doors", "release", "review"];

/// The tokens of the clients of `config/soak`, which send nothing here.
const SOAK: [(&str, &str); 5] = [
    ("SOAK_ALICE", "a-token-of-alice"),
    ("SOAK_BOB", "a-token-of-bob-too"),
    ("SOAK_CAROL", "a-token-of-carol"),
    ("SOAK_PIA", "a-token-of-pia-too"),
    ("SOAK_WES", "a-token-of-wes-too"),
];

/// The errands of `config/soak` without races: notes, a todo list, a view, clears and recalls, questions to the core,
/// timers, a stopped loop, used-up turns, and threads nested to the limit. In the others several work at once, and
/// their order depends on the machine.
const ERRANDS: [&str; 10] =
    ["note", "todo", "view", "clear", "ask", "nap", "early", "round", "weary", "deep"];

/// No message makes a listener of `config/soak` hang. On a busy machine its tenth of a second could still pass in one
/// of the two runs.
const PATIENT: [&str; 2] = ["--set", "listeners.fuse.timeout=60s"];

fn payload(listener: &str, element: &str, inside: &str) -> String {
    format!("<{element} xmlns=\"https://xml-pipeline.org/ns/{listener}/v1\">{inside}</{element}>")
}

fn soak() -> Vec<Message> {
    let errand = |way: &&str| {
        ("clerk", payload("clerk", "errand", &format!("<token>t-{way}</token><way>{way}</way>")))
    };
    let stamp = "<token>t</token><copies>2</copies><mark>m</mark>";
    let light = |way: &str| payload("fuse", "light", &format!("<token>f-{way}</token><way>{way}</way>"));
    let single = [
        ("press", payload("press", "stamp", stamp)),
        ("till", payload("till", "pay", "<token>p</token>")),
        ("fuse", light("fail")),
        ("fuse", light("retry")),
        ("fuse", light("again")),
    ];
    ERRANDS.iter().map(errand).chain(single).collect()
}

fn examples() -> Vec<Example> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let order = std::fs::read_to_string(root.join("config/beat/order.xml")).unwrap();
    let question = |words: &str| payload("talk", "ask", words);
    let of = |folder, log, messages| Example { folder, log, variables: &[], settings: &[], messages };
    vec![
        of("hello", "organism.db", vec![("greeter", question("Who is there?"))]),
        of(
            "first-listeners",
            "organism.db",
            vec![("answer", question("Who?")), ("answer-py", question("Who?"))],
        ),
        of("beat", "beat.db", vec![("clerk", order)]),
        of("agent", "organism.db", vec![("assistant", question("How many r are in strawberry?"))]),
        of("reader", "organism.db", vec![("reader", question("Where is a greeting made?"))]),
        of(
            "research",
            "research.db",
            vec![("researcher", question("How did sailors find their longitude?"))],
        ),
        of("team", "team.db", vec![("coordinator", question("What makes a heart beat?"))]),
        Example { folder: "soak", log: "soak.db", variables: &SOAK, settings: &PATIENT, messages: soak() },
    ]
}

/// Whether a record closes that call.
fn ends(record: &serde_json::Value, receipt: &serde_json::Value) -> bool {
    let is = |field: &str, wanted: &str| record[field] == wanted;
    let goes_on = ["dead-letter", "children-open", "todo-open"].iter().any(|code| is("code", code));
    let closes = is("kind", "message") && is("code", "final") || is("kind", "outcome") && !goes_on;
    closes && record["thread"] == receipt["thread"] && record["call"] == receipt["call"]
}

/// Sends the messages in sequence, each under its key, and waits for each answer.
fn send(run: &RunFile, messages: &[Message]) {
    let mut events = Events::open(run, "", &[]);
    for (number, (to, body)) in messages.iter().enumerate() {
        let (path, key) = (format!("/v1/messages?to={to}"), format!("k-{number}"));
        let sent = ask(run, "POST", &path, &[("Idempotency-Key", &key)], body);
        assert_eq!(sent.status, 202, "{to}: {sent:?}");
        assert!(std::iter::from_fn(|| events.next()).any(|(_, _, record)| ends(&record, &sent.json)));
    }
}

/// Lets an organism end, and checks that its log is at rest.
fn rests(running: Running, folder: &Path, log: &Path) {
    running.signal(Signal::TERM);
    let ended = running.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let ran = systole(folder, &["ps", "--json", "--log", log.to_str().unwrap()]);
    let told: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    for thread in told["threads"].as_array().unwrap() {
        assert!(["resting", "ended"].contains(&thread["life"].as_str().unwrap()), "{thread}");
    }
}

impl Example {
    /// A copy of its folder.
    fn placed(&self) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("config").join(self.folder), folder.path());
        // A log that a user of the example left in the checkout is not compared.
        remove(&folder.path().join(self.log));
        folder
    }

    fn runs(&self, folder: &Path, more: &[&str]) -> Running {
        let settings = [&["--set", "console.listen=127.0.0.1:0"], self.settings, more].concat();
        Running::organism_set(folder, &settings, self.variables)
    }

    /// Runs it in its own folder, with these settings, and returns its log at rest.
    fn plays(&self, more: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let folder = self.placed();
        let log = folder.path().join(self.log);
        let running = self.runs(folder.path(), more);
        send(&RunFile::find_running(&log).unwrap(), &self.messages);
        rests(running, folder.path(), &log);
        (folder, log)
    }
}

/// Removes a log, with the files next to it.
fn remove(log: &Path) {
    for more in ["", "-wal", "-shm"] {
        let path = [log.to_str().unwrap(), more].concat();
        match std::fs::remove_file(&path) {
            Err(why) if why.kind() != std::io::ErrorKind::NotFound => panic!("{path}: {why}"),
            _ => {}
        }
    }
}

/// A configuration without the settings for the place of the log, in which the two runs differ.
fn without_log(field: &str) -> String {
    field.lines().filter(|line| !line.starts_with("log.")).map(|line| format!("{line}\n")).collect()
}

/// A configuration without the setting for the place of the broker.
fn without_bus(field: &str) -> String {
    field.lines().filter(|line| !line.starts_with("bus.")).map(|line| format!("{line}\n")).collect()
}

#[test]
fn d1_every_example_has_the_same_log_in_one_process_and_in_two_roles() {
    let mut compared = 0;
    for example in &examples() {
        let server = NatsServer::start();
        let nats = format!("bus.nats={}", server.url());
        let (_near_folder, near) = example.plays(&[]);
        // The listeners' files are in their own folder.
        let (folder, hosted) = (example.placed(), example.placed());
        let log = folder.path().join(example.log);
        let pump = example.runs(folder.path(), &["--set", &nats, "--role", "pump"]);
        let arguments = ["run", "--role", "listeners", "--set", &nats, "--set", "console.listen=127.0.0.1:0"];
        let arguments = [&arguments, example.settings].concat();
        let host = Running::start_with(hosted.path(), &arguments, example.variables);
        send(&RunFile::find_running(&log).unwrap(), &example.messages);
        // The host ends first. Without the pump, it would wait for the receipt of its last reply.
        host.signal(Signal::TERM);
        let ended = host.end();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        rests(pump, folder.path(), &log);
        let read = |log: &Path| FinishedLog::read(log, without_bus).without_places().without_numbers();
        let (records, differences) = read(&near).against(&read(&log));
        assert!(differences.is_empty(), "{}:\n{}", example.folder, differences.join("\n"));
        assert!(records >= 2 * example.messages.len(), "{}: {records}", example.folder);
        println!("{}: {records} records are equal in one process and in two roles", example.folder);
        compared += records;
    }
    println!("{compared} records in all");
}

#[test]
fn d1_every_example_has_the_same_log_embedded_and_in_nats() {
    let examples = examples();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("config");
    let mut there: Vec<String> = std::fs::read_dir(root)
        .unwrap()
        .map(Result::unwrap)
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    let played = examples.iter().map(|example| example.folder).chain(PLAYED_ELSEWHERE);
    let mut played: Vec<String> = played.map(str::to_owned).collect();
    there.sort();
    played.sort();
    assert_eq!(there, played, "each example is played, or it is said why not");

    let server = NatsServer::start();
    let nats = format!("log.nats={}", server.url());
    let far = ["--set", &nats, "--set", "log.durability=relaxed"];
    let mut compared = 0;
    for example in &examples {
        let (_near_folder, near) = example.plays(&[]);
        let (far_folder, copy) = example.plays(&far);
        // The copy is made again from the stream, so that the test compares what the broker has.
        remove(&copy);
        rests(example.runs(far_folder.path(), &far), far_folder.path(), &copy);
        let (records, differences) =
            FinishedLog::read(&near, without_log).against(&FinishedLog::read(&copy, without_log));
        assert!(differences.is_empty(), "{}:\n{}", example.folder, differences.join("\n"));
        assert!(records >= 2 * example.messages.len(), "{}: {records}", example.folder);
        println!("{}: {records} records are equal embedded and in NATS", example.folder);
        compared += records;
    }
    println!("{compared} records in all");
}

/// The listener of `listeners/echo-python` as a program: the same text, with only its input and output changed.
fn as_a_program() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("listeners/echo-python/echo.py");
    let page = std::fs::read_to_string(page).unwrap();
    let (words, _) = page.split_once("async def renew").unwrap();
    let plain: Vec<&str> = words.lines().filter(|line| !line.starts_with("import nats")).collect();
    plain.join("\n") + "\nfor line in sys.stdin:\n    print(reply(line).decode(), flush=True)\n"
}

/// A configuration without how the listener is reached and where the log is, in which the runs differ.
fn without_carriers(field: &str) -> String {
    let program = "run: [python3, echo.py, none, shop, echo]";
    let kept = field.lines().filter(|line| !line.starts_with("bus: ") && !line.starts_with("log: "));
    kept.map(|line| line.replace(program, "").replace("nats: true", "") + "\n").collect()
}

/// Runs the echo, reached in that way, with further lines of its file, and returns its log at rest.
fn echoes(server: &NatsServer, reached: &str, more: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = [
        "organism: {name: shop, entry: echo}\nlisteners:\n  echo: {",
        reached,
        ", accepts: [ask], returns: [answer], entry: true}\nconsole: {listen: \"127.0.0.1:0\"}\n",
        more,
    ];
    std::fs::write(folder.path().join("organism.yaml"), file.concat()).unwrap();
    std::fs::write(folder.path().join("echo.py"), as_a_program()).unwrap();
    let is_far = reached == "nats: true";
    let mut running = Running::organism(folder.path());
    let _far = is_far.then(|| {
        running.shows("echo is ready");
        echo(&server.url())
    });
    let ask = |words: &str| ("echo", payload("talk", "ask", words));
    let log = folder.path().join("organism.db");
    let words = ["Who is there?", "a &amp; b &lt; c", "\u{e4} \u{1d11e}", "  blanks  "];
    send(&RunFile::find_running(&log).unwrap(), &words.map(ask));
    rests(running, folder.path(), &log);
    (folder, log)
}

#[test]
fn d1_a_listener_has_the_same_log_as_a_program_and_over_nats() {
    let server = NatsServer::start();
    let bus = format!("bus: {{nats: \"{}\"}}\n", server.url());
    let (_program, near) = echoes(&server, "run: [python3, echo.py, none, shop, echo]", "");
    let (_over_nats, far) = echoes(&server, "nats: true", &bus);
    // Another broker: a stream of deliveries belongs to one log.
    let other = NatsServer::start();
    let kept = format!("log: {{nats: \"{}\", durability: relaxed}}\n", other.url());
    let (_both, farthest) = echoes(&other, "nats: true", &kept);
    let near = FinishedLog::read(&near, without_carriers);
    for (what, log) in [("over NATS", far), ("over NATS, and its log too", farthest)] {
        let (records, differences) = near.against(&FinishedLog::read(&log, without_carriers));
        assert!(differences.is_empty(), "{what}:\n{}", differences.join("\n"));
        assert!(records >= 8, "{records}");
        println!("{records} records are equal as a program and {what}");
    }
}

/// The compared records of a log.
fn told(log: &FinishedLog) -> Vec<usize> {
    let is_told = |at: &usize| !log.records[*at].header.thread.is_sys();
    (0..log.records.len()).filter(is_told).collect()
}

/// Checks that a log with that change differs, in that part if one is named.
#[track_caller]
fn seen(log: &FinishedLog, part: &str, change: impl FnOnce(&mut Vec<Record>)) {
    let mut changed = log.clone();
    change(&mut changed.records);
    for (one, other) in [(log, &changed), (&changed, log)] {
        let (_, differences) = one.against(other);
        assert!(differences.iter().any(|line| line.contains(part)), "{part}: {differences:?}");
    }
}

/// The text with a number that is greater by five in the first such attribute, if there is one.
fn five_more(text: &str, begin: &str) -> String {
    let Some((before, rest)) = text.split_once(begin) else { return text.to_owned() };
    let (number, after) = rest.split_once('"').unwrap();
    let later = number.parse::<u64>().unwrap() + 5;
    [before, begin, &later.to_string(), "\"", after].concat()
}

/// The control for the two tests above: the comparison finds such differences.
#[test]
fn d1_a_record_that_is_missing_and_a_byte_that_is_another_are_seen() {
    let team = examples().into_iter().find(|example| example.folder == "team").unwrap();
    let (_folder, path) = team.plays(&[]);
    let log = FinishedLog::read(&path, without_log);
    assert_eq!(log.against(&log.clone()), (told(&log).len(), vec![]));
    for at in told(&log) {
        seen(&log, "log has it: ", |records| drop(records.remove(at)));
        seen(&log, ": body: from byte 0 on: ", |records| {
            let mut body = records[at].body.to_vec();
            body[0] = b'[';
            records[at].body = body.into();
        });
    }
    let all = told(&log);
    let (first, last) = (all[0], all[all.len() - 1]);
    // A changed byte in the answer's text; a changed cause, sender and code.
    seen(&log, ": body: from byte ", |records| {
        let words = String::from_utf8(records[last].body.to_vec()).unwrap().replace("70 times", "71 times");
        records[last].body = Arc::from(words.into_bytes());
    });
    seen(&log, ": cause: ", |records| records[last].header.cause = Some(records[first].header.id));
    seen(&log, ": from: ", |records| records[last].header.from = records[first].header.from.clone());
    seen(&log, ": code: ", |records| records[last].header.code = records[first].header.code);
    // Journal entries with later numbers are equal only if numbers are not compared; a result of another start never
    // is.
    let renumbered = |parts: &[&str]| {
        let mut changed = log.clone();
        for record in changed.records.iter_mut().filter(|record| record.header.kind == RecordKind::Journal) {
            let text = String::from_utf8(record.body.to_vec()).unwrap();
            let text = parts.iter().fold(text, |text, part| five_more(&text, part));
            record.body = Arc::from(text.into_bytes());
        }
        changed
    };
    let (all_later, starts_later) = (renumbered(&[" id=\"", " of=\""]), renumbered(&[" of=\""]));
    let plain = log.clone().without_numbers();
    assert!(!log.against(&all_later).1.is_empty());
    assert_eq!(plain.against(&all_later.without_numbers()).1, Vec::<String>::new());
    assert!(!plain.against(&starts_later.without_numbers()).1.is_empty());
    // A model's prompt is compared, not only its hash: the prompt of another turn differs.
    let text = |at: usize| String::from_utf8(log.records[at].body.to_vec()).unwrap();
    let asked: Vec<usize> = all.iter().copied().filter(|at| text(*at).contains(" prompt=\"")).collect();
    let prompt = |at: usize| text(at).split_once(" prompt=\"").unwrap().1[..64].to_owned();
    seen(&log, ": body: from byte ", |records| {
        let other = text(asked[0]).replace(&prompt(asked[0]), &prompt(asked[1]));
        records[asked[0]].body = Arc::from(other.into_bytes());
    });
}
