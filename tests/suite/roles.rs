//! One file in two roles: the pump in one process, its listeners in others that have only what they need. Every
//! process here is real, and so is the broker, which enforces the rights.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use async_nats::ConnectOptions;
use rustix::process::Signal;
use systole_mock_model::{MockModel, MockOptions, MockScript};
use tokio::time::Instant;

use crate::broker::NatsServer;
use crate::organism::folder;
use crate::over_nats::without_waits;
use crate::program::{Events, PATIENCE, Ran, Running, ask, run_file, systole, systole_with};
use crate::session::untimed;
use crate::workers::looks;

const KEY: &str = "sk-very-secret-key-1234";

/// Adds up. Input that begins with `hold` waits at the door until it may continue, and input that begins with `die`
/// ends the program.
pub(crate) const TILL: &str = r#"
import os, socket, sys
import xml.etree.ElementTree as ET
E, S, L, N = "{https://xml-pipeline.org/ns/envelope/v1}", "{urn:systole:stamp:v1}", "{urn:systole:listener:v1}", "{https://xml-pipeline.org/ns/shop/v1}"
for line in sys.stdin:
    message = ET.fromstring(line)
    stamp = message.find(f"{E}meta/{S}stamp")
    words = message[1].findtext(N + "of")
    if words.startswith("hold"):
        with socket.create_connection(("127.0.0.1", int(os.environ["DOOR"]))) as door:
            door.makefile().readline()
    if words.startswith("die"):
        print("the drawer is stuck", file=sys.stderr)
        sys.exit(3)
    reply = ET.Element(L + "reply", delivery=stamp.get("delivery"))
    ET.SubElement(reply, N + "total").text = "total of " + words
    print(ET.tostring(reply, encoding="unicode"), flush=True)
"#;

/// The place where the program waits until it may continue.
pub(crate) struct ProgramGate(TcpListener);

impl ProgramGate {
    pub(crate) fn open() -> ProgramGate {
        ProgramGate(TcpListener::bind("127.0.0.1:0").unwrap())
    }

    pub(crate) fn port(&self) -> u16 {
        self.0.local_addr().unwrap().port()
    }

    /// Waits until a program is there.
    pub(crate) fn comes(&self) -> TcpStream {
        let caller = self.0.accept().unwrap().0;
        caller.set_read_timeout(Some(PATIENCE)).unwrap();
        caller
    }

    /// From now on every program may continue.
    pub(crate) fn stays_open(self) {
        std::thread::spawn(move || {
            for mut caller in self.0.incoming().flatten() {
                // A caller that was killed hears nothing.
                let _heard = caller.write_all(b"go on\n");
                let mut rest = String::new();
                let _left = BufReader::new(caller).read_line(&mut rest);
            }
        });
    }
}

/// Lets a program continue.
pub(crate) fn lets_in(mut caller: TcpStream) {
    caller.write_all(b"go on\n").unwrap();
}

/// An organism in two roles: a folder for its pump, a folder for its listeners, and a broker that accepts no one
/// else.
pub(crate) struct RoleHouse {
    pub(crate) server: NatsServer,
    pump: tempfile::TempDir,
    pub(crate) host: tempfile::TempDir,
    pub(crate) mock: MockModel,
}

fn file(url: &str, model: &str, door: &ProgramGate, more: &str) -> String {
    let door = door.port();
    format!(
        r#"organism: {{name: shop, entry: clerk}}
bus: {{nats: '{url}', key_env: BUS_KEY}}
payloads: {{sum: {{of: text}}, total: text}}
models:
  main: {{provider: openai, model: main-model, url: "{model}", key_env: MODEL_KEY}}
listeners:
  till: {{run: [python3, till.py], accepts: [sum], returns: [total], entry: true, env: {{DOOR: "{door}"}}, retry: {{attempts: 2, backoff: 1ms..2ms}}{more}}}
agents:
  clerk: {{model: main, dialect: native, peers: [till], prompt: {{identity: You reckon.}}, idle: 5s, on_unknown: ask}}
log: {{path: hello.db}}
console: {{listen: "127.0.0.1:0"}}
"#
    )
}

impl RoleHouse {
    /// Builds it; the model answers by this script, and the till has these further keys. Only the broker runs so far.
    pub(crate) fn build(replies: &str, door: &ProgramGate, more: &str) -> RoleHouse {
        let script = MockScript::parse(&format!("main-model:\n{replies}")).unwrap();
        let mock =
            MockModel::start(script, MockOptions { key: Some(KEY.to_owned()), ..MockOptions::default() })
                .unwrap();
        let pump = folder(&[("organism.yaml", &file("nats://127.0.0.1:4222", &mock.url(), door, more))]);
        let written = systole(pump.path(), &["permissions", "--role", "pump", "--nats-config"]);
        assert_eq!(written.code, Some(0), "{written:?}");
        let server = NatsServer::whole(&written.stdout);
        let yaml = file(&server.url(), &mock.url(), door, more);
        std::fs::write(pump.path().join("organism.yaml"), &yaml).unwrap();
        let host = folder(&[("organism.yaml", &yaml), ("till.py", TILL)]);
        std::fs::create_dir(host.path().join("keys")).unwrap();
        for key in ["clerk.nk", "till.nk"] {
            let key = Path::new("keys").join(key);
            std::fs::copy(pump.path().join(&key), host.path().join(&key)).unwrap();
        }
        RoleHouse { server, pump, host, mock }
    }

    /// A client with that key.
    async fn client(&self, key: &str, inbox: &str) -> async_nats::Client {
        let seed = std::fs::read_to_string(self.pump.path().join("keys").join(key)).unwrap();
        let options = ConnectOptions::with_nkey(seed.trim().to_owned()).custom_inbox_prefix(inbox);
        options.connect(self.server.url()).await.unwrap()
    }

    fn seed(&self) -> String {
        std::fs::read_to_string(self.pump.path().join("keys/_pump.nk")).unwrap().trim().to_owned()
    }

    /// The pump, which has no model key and no program.
    pub(crate) fn pumps(&self) -> Running {
        let variables = [("BUS_KEY", &*self.seed())];
        let mut running = Running::organism_set(self.pump.path(), &["--role", "pump"], &variables);
        running.shows("till is ready");
        running
    }

    /// A host, with these options.
    pub(crate) fn hosts(&self, options: &[&str]) -> Running {
        let arguments = [&["run", "--role", "listeners", "--keys", "keys"], options].concat();
        Running::as_service(self.host.path(), &arguments, &[("MODEL_KEY", KEY)])
    }

    /// A host of that one listener, connected to the broker.
    pub(crate) fn hosts_one(&self, name: &str) -> Running {
        let mut host = self.hosts(&["--only", name]);
        host.says(&format!("{name}: connected"));
        host
    }

    /// Asks until this many workers are counted. On a busy machine a worker may answer too late to be counted.
    fn counts(&self, wanted: &serde_json::Value) {
        let started = Instant::now();
        loop {
            let workers = ask(&run_file(self.pump.path()), "GET", "/v1/workers", &[], "");
            if workers.json["workers"] == *wanted {
                return;
            }
            assert!(started.elapsed() < PATIENCE, "{workers:?}");
        }
    }

    /// Asks until `ps` says so, for the same reason.
    fn shows(&self, wanted: &str) {
        let started = Instant::now();
        loop {
            let shown = self.systole(&["ps"]);
            if shown.stderr.contains(wanted) {
                return;
            }
            assert!(started.elapsed() < PATIENCE, "{shown:?}");
        }
    }

    pub(crate) fn systole(&self, arguments: &[&str]) -> Ran {
        systole_with(self.pump.path(), arguments, &[("BUS_KEY", &self.seed())])
    }

    /// Sends a sum to the till, and returns its thread.
    pub(crate) fn sends(&self, words: &str) -> String {
        let body = format!("<sum xmlns=\"https://xml-pipeline.org/ns/shop/v1\"><of>{words}</of></sum>");
        let sent = ask(&run_file(self.pump.path()), "POST", "/v1/messages?to=till", &[], &body);
        assert_eq!(sent.status, 202, "{sent:?}");
        sent.json["thread"].as_str().unwrap().to_owned()
    }

    /// Sends a question to the agent, and returns its thread.
    pub(crate) fn asks(&self, words: &str) -> String {
        let body = format!("<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">{words}</ask>");
        let sent = ask(&run_file(self.pump.path()), "POST", "/v1/messages?to=clerk", &[], &body);
        assert_eq!(sent.status, 202, "{sent:?}");
        sent.json["thread"].as_str().unwrap().to_owned()
    }

    pub(crate) fn events(&self, query: &str) -> Events {
        Events::open(&run_file(self.pump.path()), query, &[])
    }

    /// The records of a thread.
    pub(crate) fn records(&self, thread: &str) -> Vec<serde_json::Value> {
        self.systole(&["log", thread, "--json"]).json_lines()
    }

    /// Their kinds and codes, in order.
    pub(crate) fn told(&self, thread: &str) -> Vec<String> {
        without_waits(self.systole(&["log", thread, "--json"]).kinds())
    }
}

/// Waits for a record of that thread with that code.
pub(crate) fn comes(events: &mut Events, thread: &str, code: &str) -> serde_json::Value {
    let mut records = std::iter::from_fn(|| events.next()).map(|(_, _, record)| record);
    records.find(|record| record["thread"] == thread && record["code"] == code).unwrap()
}

/// Asks a process to stop, and waits until it has.
pub(crate) fn stops(running: Running) -> Ran {
    running.signal(Signal::TERM);
    running.end()
}

/// A model that gets no request.
pub(crate) const SILENT: &str = "- {say: Nothing.}\n";

const RECKONS: &str = "- {say: I look., call: {sum: {of: apples}}}\n- {say: Done.}\n";

#[test]
fn d2_an_agent_and_a_program_work_in_other_processes_and_the_pump_needs_neither_key_nor_program() {
    let house = RoleHouse::build(RECKONS, &ProgramGate::open(), ", in_flight: 4");
    let pump = house.pumps();
    // One process for each; the second till shares the name.
    let hosts = ["clerk", "till", "till"].map(|name| house.hosts_one(name));
    house.counts(&serde_json::json!({"clerk": 1, "till": 2}));
    house.shows("workers over NATS: clerk 1, till 2");
    let mut voices = house.events("?voice=true");
    let asked = house.systole(&["ask", "How much?"]);
    assert_eq!((asked.code, asked.stdout.trim_end()), (Some(0), "Done."), "{asked:?}");
    let heard = std::iter::from_fn(|| voices.heard()).find(|(_, name, _)| name == "spoken").unwrap();
    assert!(heard.2["words"].as_str().unwrap().contains("I look"), "what the model says is seen: {heard:?}");
    let told = house.told("@last");
    let journaled = |what: &str| told.iter().filter(|line| line.contains(what)).count();
    assert_eq!((journaled("journal/model-started"), journaled("journal/model-result")), (2, 2), "{told:?}");
    assert!(
        house.records("@last").iter().any(|one| one["body"].as_str().unwrap().contains("total of apples"))
    );
    let context = house.systole(&["context", "@last"]);
    assert!(context.stdout.contains("You reckon."), "the prompt was kept over NATS: {context:?}");
    for host in hosts {
        let ended = stops(host);
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    assert_eq!(stops(pump).code, Some(0));
}

#[test]
fn d2_a_host_that_is_there_first_waits_for_broker_and_pump() {
    let mut house = RoleHouse::build(RECKONS, &ProgramGate::open(), "");
    house.server.kill();
    let mut host = house.hosts(&[]);
    host.says("the broker is away");
    house.server.start_again();
    host.says("connected");
    let pump = house.pumps();
    let asked = house.systole(&["ask", "How much?"]);
    assert_eq!((asked.code, asked.stdout.trim_end()), (Some(0), "Done."), "{asked:?}");
    assert_eq!(stops(host).code, Some(0));
    assert_eq!(stops(pump).code, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_after_a_restart_of_broker_and_pump_a_long_call_on_a_host_is_one_attempt() {
    let door = ProgramGate::open();
    let mut house = RoleHouse::build(SILENT, &door, "");
    let (mut pump, mut host) = (house.pumps(), house.hosts_one("till"));
    for round in 0..2 {
        let mut events = house.events("");
        let thread = house.sends("hold");
        let held = door.comes();
        let (asks, idles) = (("_pump.nk", "_INBOX_pump_shop"), ("clerk.nk", "_INBOX_clerk"));
        let (asks, idles) = (house.client(asks.0, asks.1).await, house.client(idles.0, idles.1).await);
        looks(&asks, &idles, "clerk").await;
        lets_in(held);
        comes(&mut events, &thread, "final");
        assert_eq!(house.told(&thread), ["message/request", "message/final"], "round {round}");
        if round == 0 {
            assert_eq!(stops(pump).code, Some(0));
            house.server.stop();
            house.server.start_again();
            host.says("till: connected");
            pump = house.pumps();
        }
    }
    assert_eq!(stops(host).code, Some(0));
    assert_eq!(stops(pump).code, Some(0));
}

/// The failed attempts with a known outcome: the code and the message, as the log has them.
fn failed(records: &[serde_json::Value]) -> Vec<(String, String)> {
    // A program over NATS also has records of how long its call waited and when it was taken.
    let state =
        |record: &serde_json::Value| ["waits", "goes-on", "taken"].iter().any(|s| record["code"] == *s);
    let told = |record: &&serde_json::Value| record["kind"] == "attempt" || record["kind"] == "outcome";
    let failed = records.iter().filter(told).filter(|record| !state(record));
    let due = |body: &str| match body.split_once(" due=\"") {
        Some((before, rest)) => [before, rest.split_once('"').unwrap().1].concat(),
        None => body.to_owned(),
    };
    let timeless = |body: &str| untimed(&due(body));
    failed.map(|one| (one["code"].to_string(), timeless(one["body"].as_str().unwrap()))).collect()
}

#[test]
fn d1_a_crash_on_a_host_is_reported_in_the_same_words_as_a_local_crash() {
    // A program that waits there never continues.
    let door = ProgramGate::open();
    let house = RoleHouse::build(SILENT, &door, ", idle: 2s");
    let pump = house.pumps();
    let mut host = house.hosts_one("till");
    let falls = |events: &mut Events, words: &str| {
        let thread = house.sends(words);
        let closes = |record: &serde_json::Value| {
            record["thread"] == *thread && record["kind"] == "outcome" && record["code"] != "dead-letter"
        };
        std::iter::from_fn(|| events.next()).find(|(_, _, record)| closes(record)).unwrap();
        failed(&house.records(&thread))
    };
    let words = ["hold", "die"];
    let far = words.map(|words| falls(&mut house.events(""), words));
    let told = host.says("the drawer is stuck");
    assert!(told.starts_with("till: "), "{told}");
    assert_eq!(stops(host).code, Some(0));
    assert_eq!(stops(pump).code, Some(0));
    // The same file, in one process, from the folder where the program is.
    std::fs::copy(house.host.path().join("till.py"), house.pump.path().join("till.py")).unwrap();
    let variables = [("BUS_KEY", &*house.seed()), ("MODEL_KEY", KEY)];
    let whole = Running::organism_with(house.pump.path(), &variables);
    let near = words.map(|words| falls(&mut house.events(""), words));
    assert_eq!(near, far);
    assert!(near[1].len() >= 3 && near[1][0].1.contains("exited 3"), "{near:?}");
    assert!(near[0][0].1.contains("no sign of life for 2.0 s"), "{near:?}");
    assert_eq!(stops(whole).code, Some(0));
}

#[test]
fn d2_what_cannot_be_run_so_is_refused_with_the_fix() {
    let house = RoleHouse::build(SILENT, &ProgramGate::open(), "");
    let refused = |options: &[&str], code: i32, wanted: &[&str]| {
        let ran = house.hosts(options).end();
        assert_eq!(ran.code, Some(code), "{options:?}: {ran:?}");
        for words in wanted {
            assert!(ran.stderr.contains(words), "{options:?}: {words}: {ran:?}");
        }
    };
    refused(&["--only", "til"], 2, &["no listener is called `til`", "try: till"]);
    refused(&["--only", "till,elsewhere"], 2, &["no listener is called `elsewhere`", "one of clerk, till"]);
    refused(&["--set", "bus.nats=nats://127.0.0.1:1", "--only", "till", "--role", "pump"], 2, &["--role"]);
    std::fs::remove_file(house.host.path().join("keys/clerk.nk")).unwrap();
    refused(&[], 5, &["clerk.nk", "systole permissions --role pump --nats-config"]);
    // Another listener's key.
    std::fs::copy(house.host.path().join("keys/till.nk"), house.host.path().join("keys/clerk.nk")).unwrap();
    let other = folder(&[(
        "organism.yaml",
        &std::fs::read_to_string(house.host.path().join("organism.yaml")).unwrap(),
    )]);
    let made = systole(other.path(), &["permissions", "--role", "pump", "--nats-config"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    std::fs::copy(other.path().join("keys/till.nk"), house.host.path().join("keys/till.nk")).unwrap();
    refused(
        &["--only", "till"],
        5,
        &["till: the broker at 127.0.0.1:", "does not let in a client with this key", "--keys"],
    );
    let pump = |options: &[&str]| {
        let ran = house.systole(&[&["run", "--role", "pump"], options].concat());
        assert_eq!(ran.code, Some(2), "{options:?}: {ran:?}");
        ran.stderr
    };
    assert!(pump(&["--only", "till"]).contains("--only is about listeners"));
    assert!(pump(&["--keys", "keys"]).contains("--keys is about listeners"));
    let alone = folder(&[(
        "organism.yaml",
        "organism: {name: shop}\nlisteners:\n  till: {run: [cat], accepts: [ask], returns: [answer]}\n",
    )]);
    for role in ["pump", "listeners"] {
        let ran = systole(alone.path(), &["run", "--role", role]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains("try: bus: {nats: nats://127.0.0.1:4222}"), "{ran:?}");
    }
    let far = folder(&[(
        "organism.yaml",
        "organism: {name: shop}\nbus: {nats: nats://127.0.0.1:4222}\nlisteners:\n  till: {nats: true, accepts: [ask], returns: [answer]}\n",
    )]);
    for (only, words) in [(&["--only", "till"][..], "could run here"), (&[], "could run here")] {
        let ran = systole(far.path(), &[&["run", "--role", "listeners"], only].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(words), "{ran:?}");
    }
}

/// The host works for a listener whose program is missing there for a while.
#[test]
fn b21_a_program_that_cannot_be_started_on_a_host_is_waited_for() {
    let house = RoleHouse::build(SILENT, &ProgramGate::open(), ", mode: once");
    for folder in [&house.pump, &house.host] {
        let file = folder.path().join("organism.yaml");
        let yaml = std::fs::read_to_string(&file).unwrap().replace("[python3, till.py]", "[./till.sh]");
        std::fs::write(file, yaml).unwrap();
    }
    let script =
        "#!/bin/sh\ncat > /dev/null\necho '<total xmlns=\"https://xml-pipeline.org/ns/shop/v1\">3</total>'\n";
    let (here, away) = (house.host.path().join("till.sh"), house.host.path().join("away.sh"));
    std::fs::write(&here, script).unwrap();
    std::fs::set_permissions(&here, std::fs::Permissions::from_mode(0o755)).unwrap();
    let pump = house.pumps();
    let host = house.hosts_one("till");
    std::fs::rename(&here, &away).unwrap();
    let mut events = house.events("");
    let thread = house.sends("apples");
    let waits = comes(&mut events, &thread, "waits");
    assert!(waits["body"].as_str().unwrap().contains("outage=\"program\""), "{waits:?}");
    std::fs::rename(&away, &here).unwrap();
    comes(&mut events, &thread, "final");
    let told = house.systole(&["log", &thread, "--json"]).kinds();
    let attempts: Vec<_> = told.iter().filter(|kind| kind.starts_with("attempt/")).collect();
    assert_eq!(attempts, ["attempt/waits", "attempt/goes-on"], "{told:?}");
    assert_eq!(stops(host).code, Some(0));
    assert_eq!(stops(pump).code, Some(0));
}
