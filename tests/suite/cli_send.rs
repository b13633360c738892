//! `systole send` and `systole cancel`, with and without a running organism on the log.

use std::path::Path;

use rustix::process::Signal;
use serde_json::Value;
use systole_organism::runfile::RunFile;

use crate::http::{HOUSE, house};
use crate::organism::{ECHO_PY, ECHO_XSD, folder, say};
use crate::program::{Ran, Running, systole, systole_with_stdin};

fn send(folder: &Path, more: &[&str]) -> Ran {
    std::fs::write(folder.join("say.xml"), say("hello")).unwrap();
    systole(folder, &[&["send", "--file", "say.xml"], more].concat())
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("no JSON: {ran:?}"))
}

#[test]
fn the_answer_is_on_stdout_with_and_without_a_running_organism() {
    let folder = house();
    let alone = send(folder.path(), &["--key", "k1"]);
    assert_eq!(alone.code, Some(0), "{alone:?}");
    assert!(alone.stdout.contains(":said ") && alone.stdout.contains(">hello<"), "{alone:?}");
    assert!(
        alone.stderr.contains("taken as record 1 of thread sess-") && alone.stderr.contains("key k1"),
        "{alone:?}"
    );

    let organism = Running::organism(folder.path());
    let again = send(folder.path(), &["--key", "k1"]);
    assert_eq!((again.code, &again.stdout), (Some(0), &alone.stdout), "the same key meets the same answer");
    assert!(again.stderr.contains("taken before as record 1"), "{again:?}");
    let other = send(folder.path(), &["--json"]);
    let came = json(&other);
    assert_eq!((other.code, came["outcome"].as_str()), (Some(0), Some("answered")));
    assert_eq!(came["record"]["from"], "echo");
    assert_eq!(came["record"]["thread"], came["receipt"]["thread"]);
    let form = serde_json::json!({"text": "hello"});
    assert_eq!((&came["record"]["json"], &came["record"]["text"]), (&form, &"hello".into()), "{came}");
    let tree = json(&systole(folder.path(), &["tree", "--json"]));
    let call = &tree["calls"][0];
    assert_eq!((&call["json"], &call["text"]), (&form, &"hello".into()), "{tree}");
    assert!(call["payload"].as_str().unwrap().starts_with("<say "), "{tree}");
    organism.interrupt();

    let again = send(folder.path(), &["--key", "k1", "--json"]);
    assert_eq!(json(&again)["receipt"]["repeated"], true, "and so it does alone: {again:?}");
}

#[test]
fn programs_read_every_payload_of_the_log_as_json_beside_its_xml() {
    let folder = house();
    send(folder.path(), &[]);
    let log = systole(folder.path(), &["log", "--json"]).stdout;
    let records: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for record in &records {
        assert!(record["body"].as_str().unwrap().starts_with('<'), "{record}");
        assert!(record["text"].is_string() && record.get("json").is_some(), "{record}");
    }
    let of = |element: &str| {
        let body = |record: &&Value| record["body"].as_str().unwrap().contains(element);
        records.iter().find(body).unwrap_or_else(|| panic!("{element}: {log}"))
    };
    let wanted = serde_json::json!({"text": "hello"});
    assert_eq!((&of("<say ")["json"], &of(":said ")["json"]), (&wanted, &wanted), "its own payloads");
    assert!(of("<boot")["json"].is_object(), "and the core's: {}", of("<boot"));
    let trail = systole(folder.path(), &["trail", "@last", "--json"]).stdout;
    let link: Value = serde_json::from_str(trail.lines().next().unwrap()).unwrap();
    assert_eq!(link["record"]["json"], wanted, "{trail}");
    // Nothing inside a value ends a line for a reader that knows other ends of lines.
    let text = "a\u{2028}b\u{2029}c\u{85}d";
    let sent = systole(folder.path(), &["send", "say", &format!("text={text}"), "--json"]);
    assert_eq!(json(&sent)["record"]["json"]["text"], text, "{sent:?}");
    assert!(!sent.stdout.contains(['\u{2028}', '\u{2029}', '\u{85}']), "{sent:?}");
    let mut running = Running::start(folder.path(), &["run", "--json", "--show"]);
    running.shows("\"listen\"");
    send(folder.path(), &[]);
    let line: Value = serde_json::from_str(&running.shows(":said ")).unwrap();
    assert_eq!((&line["json"], &line["text"]), (&wanted, &"hello".into()));
    running.interrupt();
}

/// Answers with a report about itself.
const REPORTER: &str = r#"import sys, xml.etree.ElementTree as ET
E, S = "{https://xml-pipeline.org/ns/envelope/v1}", "{urn:systole:stamp:v1}"
for line in sys.stdin:
    delivery = ET.fromstring(line).find(f"{E}meta/{S}stamp").get("delivery")
    report = '<final-report xmlns="https://xml-pipeline.org/ns/core/v1" source="model" outcome="partial">two of three</final-report>'
    print(f'<reply xmlns="urn:systole:listener:v1" delivery="{delivery}">{report}</reply>', flush=True)
"#;

#[test]
fn a_report_that_calls_itself_partial_is_printed_and_exits_with_1() {
    let file = HOUSE
        .replace("[say]", "[ask]")
        .replace("[said]", "[answer]")
        .replace("    schema: echo.xsd\n", "    turns: 2\n");
    let folder = folder(&[("organism.yaml", &file), ("echo.py", REPORTER)]);
    let note = "note: echo reports that this is only a part of the answer\n";
    let asked = systole(folder.path(), &["ask", "How", "many?"]);
    assert_eq!((asked.code, asked.stdout.as_str()), (Some(1), "two of three\n"), "{asked:?}");
    assert_eq!(asked.stderr, note);
    let sent = systole(folder.path(), &["send", "ask", "How many?"]);
    assert!(sent.code == Some(1) && sent.stdout.contains("outcome=\"partial\""), "{sent:?}");
    assert!(sent.stderr.ends_with(note), "{sent:?}");
    let sent = systole(folder.path(), &["send", "--json", "ask", "How many?"]);
    let came = json(&sent);
    assert_eq!(
        (sent.code, &came["outcome"], &came["record"]["text"]),
        (Some(1), &"partial".into(), &"two of three".into())
    );
}

#[test]
fn a_payload_may_come_on_stdin() {
    let folder = house();
    for arguments in [&["send"][..], &["send", "--file", "-"]] {
        let ran = systole_with_stdin(folder.path(), arguments, &say("from a pipe"));
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stdout.contains(">from a pipe<"), "{ran:?}");
    }
    let nowhere = systole(folder.path(), &["send", "--file", "nowhere.xml"]);
    assert_eq!(nowhere.code, Some(2), "{nowhere:?}");
}

#[test]
fn a8_an_element_and_its_fields_are_a_payload_which_is_printed_and_sent() {
    let folder = house();
    let made = "<say xmlns=\"https://xml-pipeline.org/ns/echo/v1\"><text>a &lt; b</text></say>";
    let alone = systole(folder.path(), &["send", "say", "text=a < b"]);
    assert!(alone.code == Some(0) && alone.stderr.starts_with(made), "{alone:?}");
    assert!(alone.stdout.contains(">a &lt; b<"), "{alone:?}");
    let organism = Running::organism(folder.path());
    let by_name =
        ["send", "{https://xml-pipeline.org/ns/echo/v1}say", "--to", "echo", "text=a < b", "--json"];
    let through = systole(folder.path(), &by_name);
    assert!(through.code == Some(0) && through.stderr.starts_with(made), "{through:?}");
    assert_eq!(json(&through)["outcome"], "answered");
    organism.interrupt();
}

#[test]
fn a8_fields_that_make_no_payload_are_told_and_nothing_is_sent() {
    let folder = house();
    for (arguments, wanted) in [
        (&["say"][..], "say: text is missing"),
        (&["say", "txt=hello"], "txt: is not known in say, did you mean text"),
        (&["say", "text=a", "text=b"], "text: comes twice, at most once is allowed"),
        (&["say", "hello"], "try      write text=hello"),
    ] {
        let ran = systole(folder.path(), &[&["send"], arguments].concat());
        assert!(ran.code == Some(4) && ran.stderr.contains(wanted), "wanted {wanted:?}: {ran:?}");
        assert!(ran.stderr.starts_with("refused: payload.invalid") && ran.stdout.is_empty(), "{ran:?}");
    }
    assert!(!folder.path().join("hello.db").exists(), "nothing was begun");
    let usage = systole(folder.path(), &["send", "say", "text=a", "--file", "-"]);
    assert_eq!(usage.code, Some(2), "{usage:?}");
}

#[test]
fn a8_the_json_schema_of_an_element_is_printed_with_what_it_leaves_open() {
    let folder = house();
    let plain = systole(folder.path(), &["schema", "json", "say"]);
    let schema = json(&plain);
    assert_eq!((plain.code, schema["title"].as_str()), (Some(0), Some("say")), "{plain:?}");
    assert_eq!(schema["required"][0], "text");
    assert!(plain.stderr.contains("  text: characters that XML cannot carry"), "{plain:?}");
    let as_json = json(&systole(folder.path(), &["schema", "json", "say", "--json"]));
    assert_eq!((&as_json["schema"], as_json["open"].is_array()), (&schema, true));
    let unknown = systole(folder.path(), &["schema", "json", "sya"]);
    assert!(unknown.code == Some(2) && unknown.stderr.contains("did you mean say"), "{unknown:?}");
}

#[test]
fn an_element_needs_exactly_one_open_listener_that_takes_it() {
    let yaml = HOUSE.replace("    entry: true\n", "    entry: true\n    in_flight: 1\n");
    let twin = yaml.split_once("listeners:\n").unwrap().1.split_once("log:").unwrap().0;
    let twins =
        [twin.replace("echo:", "second:"), twin.replace("echo:", "third:").replace("entry: true", "")];
    let yaml = yaml.replace("log:", &format!("{}log:", twins.concat()));
    let folder = folder(&[("organism.yaml", &yaml), ("echo.xsd", ECHO_XSD), ("echo.py", ECHO_PY)]);
    for (arguments, wanted) in [
        (&["say", "text=a"][..], "say is taken by echo and by second; try: --to echo"),
        (&["sya", "text=a"], "no listener takes sya; try: say"),
        (&["banana", "text=a"], "no listener takes banana; open are say"),
        (&["say", "text=a", "--to", "ehco"], "there is no listener ehco; try: echo"),
        (&["found", "text=a", "--to", "echo"], "echo does not take found; open are say"),
        (
            &["say", "text=a", "--to", "third"],
            "third is not open to messages from outside; try: entry: true at",
        ),
    ] {
        let ran = systole(folder.path(), &[&["send"], arguments].concat());
        assert!(ran.code == Some(2) && ran.stderr.contains(wanted), "wanted {wanted:?}: {ran:?}");
    }
    let chosen = systole(folder.path(), &["send", "say", "text=a", "--to", "second", "--json"]);
    assert_eq!(json(&chosen)["record"]["from"], "second", "{chosen:?}");
}

#[test]
fn a_refused_payload_is_reported_with_its_place_and_its_fix() {
    let folder = house();
    std::fs::write(
        folder.path().join("wrong.xml"),
        "<say xmlns=\"https://xml-pipeline.org/ns/echo/v1\">\n  <txt>hello</txt></say>",
    )
    .unwrap();
    let alone = systole(folder.path(), &["send", "--file", "wrong.xml"]);
    let organism = Running::organism(folder.path());
    let through = systole(folder.path(), &["send", "--file", "wrong.xml"]);
    let as_json = systole(folder.path(), &["send", "--file", "wrong.xml", "--json"]);
    organism.interrupt();
    assert_eq!((alone.code, through.code, as_json.code), (Some(4), Some(4), Some(4)));
    assert_eq!(alone.stderr, through.stderr, "the way makes no difference");
    for wanted in [
        "refused: payload.invalid",
        "at       /say/txt, line 2, column 3",
        "expected text: text",
        "received <txt>hello</txt>",
        "try      <text>hello</text>",
    ] {
        assert!(alone.stderr.contains(wanted), "wanted {wanted:?}: {alone:?}");
    }
    assert!(alone.stdout.is_empty(), "{alone:?}");
    assert_eq!(json(&as_json)["refusal"]["code"], "payload.invalid");
    let unknown = send(folder.path(), &["--to", "nobody"]);
    assert_eq!(unknown.code, Some(4), "{unknown:?}");
}

#[test]
fn a_payload_over_the_limit_is_refused_on_either_way() {
    let folder = house();
    for bytes in [1_048_577, 3_000_000] {
        std::fs::write(folder.path().join("large.xml"), say(&"x".repeat(bytes))).unwrap();
        let alone = systole(folder.path(), &["send", "--file", "large.xml"]);
        let organism = Running::organism(folder.path());
        let through = systole(folder.path(), &["send", "--file", "large.xml"]);
        organism.interrupt();
        for ran in [alone, through] {
            assert!(ran.code == Some(4) && ran.stderr.contains("refused: payload.too-large"), "{ran:?}");
        }
    }
}

#[test]
fn a_failure_is_an_answer_with_an_exit_of_its_own() {
    let yaml = HOUSE.replace(
        "[python3, echo.py]",
        "[python3, -c, \"import sys; sys.stdin.readline(); sys.exit('no luck')\"]",
    );
    let folder = folder(&[("organism.yaml", &yaml), ("echo.xsd", ECHO_XSD)]);
    let ran = send(folder.path(), &[]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("<system-error "), "{ran:?}");
    assert!(ran.stderr.contains("no luck"), "{ran:?}");
}

#[test]
fn a_thread_goes_on_by_its_beginning_or_as_the_last_one() {
    let folder = house();
    let first = json(&send(folder.path(), &["--json", "--key", "k1"]));
    let thread = first["receipt"]["thread"].as_str().unwrap().to_owned();
    let organism = Running::organism(folder.path());
    for name in ["@last", &thread[..9], &thread["sess-".len()..][..6], &thread] {
        let more = json(&send(folder.path(), &["--json", "--thread", name]));
        assert_eq!(more["receipt"]["thread"], thread.as_str(), "{name}");
    }
    organism.interrupt();
    let unknown = send(folder.path(), &["--thread", "sess-00000000"]);
    assert!(unknown.code == Some(2) && unknown.stderr.contains("no thread begins with"), "{unknown:?}");
    assert!(unknown.stderr.contains("try: systole ps"), "{unknown:?}");
    let unknown = systole(folder.path(), &["cancel", "sess-00000000"]);
    assert!(unknown.code == Some(2) && unknown.stderr.contains("no thread begins with"), "{unknown:?}");
    send(folder.path(), &["--key", "k2"]);
    let both = send(folder.path(), &["--thread", "sess-"]);
    assert!(both.code == Some(2) && both.stderr.contains("several threads"), "{both:?}");
}

#[test]
fn no_wait_returns_before_the_answer() {
    let folder = house();
    let ran = send(folder.path(), &["--no-wait", "--key", "k1"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran:?}");
    let later = send(folder.path(), &["--key", "k1"]);
    assert!(
        later.code == Some(0) && later.stdout.contains(">hello<"),
        "the work waited in the log: {later:?}"
    );

    let yaml = HOUSE.replace("[python3, echo.py]", "[python3, -c, 'import sys; sys.stdin.read()']");
    std::fs::write(folder.path().join("organism.yaml"), yaml).unwrap();
    let organism = Running::organism(folder.path());
    let ran = send(folder.path(), &["--timeout", "200ms"]);
    assert!(ran.code == Some(5) && ran.stderr.contains("no answer came in time"), "{ran:?}");
    // The listener never answers, so a clean stop would only wait for it.
    drop(organism);
    let usage = send(folder.path(), &["--timeout", "soon"]);
    assert_eq!(usage.code, Some(2));
}

#[test]
fn a_sender_is_told_when_the_organism_stops_before_the_answer() {
    let yaml = HOUSE.replace("[python3, echo.py]", "[python3, -c, 'import sys; sys.stdin.read()']");
    let folder = folder(&[("organism.yaml", &yaml), ("echo.xsd", ECHO_XSD), ("say.xml", &say("hello"))]);
    for signal in [Signal::INT, Signal::KILL] {
        let mut organism = Running::organism(folder.path());
        let mut sender = Running::start(folder.path(), &["send", "--file", "say.xml"]);
        sender.says("taken as record 1");
        organism.signal(signal);
        if signal == Signal::INT {
            organism.says("stopping");
            organism.signal(signal);
        }
        organism.end();
        let ran = sender.end();
        assert!(ran.code == Some(5) && ran.stderr.contains("stopped before the answer"), "{ran:?}");
    }
}

#[test]
fn a_run_file_that_was_left_behind_is_ignored() {
    let folder = house();
    let organism = Running::organism(folder.path());
    let path = folder.path().join("hello.db.run");
    let left = std::fs::read(&path).unwrap();
    organism.signal(Signal::KILL);
    organism.end();
    assert!(path.exists());
    let ran = send(folder.path(), &[]);
    assert_eq!(ran.code, Some(0), "a dead process: {ran:?}");

    // Another process now has that number, but nothing answers at the address.
    let text = String::from_utf8(left).unwrap();
    let pid = text.split([':', ',']).nth(1).unwrap().to_owned();
    std::fs::write(&path, text.replacen(&pid, &std::process::id().to_string(), 1)).unwrap();
    assert!(
        RunFile::find_running(&folder.path().join("hello.db")).is_none(),
        "that process does not hold the log"
    );
    let ran = send(folder.path(), &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn a_thread_is_cancelled_with_and_without_a_running_organism() {
    let folder = house();
    send(folder.path(), &["--key", "k1"]);
    let ended = systole(folder.path(), &["cancel", "@last"]);
    assert!(ended.code == Some(0) && ended.stderr.contains("is cancelled"), "{ended:?}");
    send(folder.path(), &["--key", "k2"]);
    let organism = Running::organism(folder.path());
    let ended = systole(folder.path(), &["cancel", "@last", "--json"]);
    assert!(ended.code == Some(0) && json(&ended)["cancelled"].is_string(), "{ended:?}");
    let again = systole(folder.path(), &["cancel", "@last"]);
    assert!(again.code == Some(4) && again.stderr.contains("refused: thread.ended"), "{again:?}");
    organism.interrupt();
}

#[test]
fn a_thread_at_rest_is_ended_with_and_without_a_running_organism() {
    let folder = house();
    send(folder.path(), &["--key", "k1"]);
    let ended = systole(folder.path(), &["end", "@last"]);
    assert!(ended.code == Some(0) && ended.stderr.contains("has ended"), "{ended:?}");
    let late = send(folder.path(), &["--thread", "@last"]);
    assert!(late.code == Some(4) && late.stderr.contains("refused: thread.ended"), "{late:?}");
    send(folder.path(), &["--key", "k2"]);
    let organism = Running::organism(folder.path());
    let ended = systole(folder.path(), &["end", "@last", "--json"]);
    assert!(ended.code == Some(0) && json(&ended)["ended"].is_string(), "{ended:?}");
    let tree = systole(folder.path(), &["tree", "@last"]);
    assert!(tree.stdout.contains("ended by operator at "), "{tree:?}");
    let again = systole(folder.path(), &["end", "@last"]);
    assert!(again.code == Some(4) && again.stderr.contains("refused: thread.ended"), "{again:?}");
    organism.interrupt();
}

#[test]
fn help_lists_what_exists_in_groups() {
    let folder = tempfile::tempdir().unwrap();
    let help = systole(folder.path(), &["--help"]);
    assert_eq!(help.code, Some(0));
    let at = |text: &str| help.stdout.find(text).unwrap_or_else(|| panic!("no {text:?} in {}", help.stdout));
    assert!(at("start:") < at("  run ") && at("  send ") < at("steer:") && at("steer:") < at("  cancel "));
    assert_eq!(systole(folder.path(), &["fly"]).code, Some(2));
}
