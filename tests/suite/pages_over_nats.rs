//! The pages over a log in NATS. One organism has its log in a file, and another one in a broker. Both get the same
//! messages. Every page then answers the same for both, and so do the commands.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;

use serde_json::Value;

use crate::broker::NatsServer;
use crate::over_nats::{Ends, echo};
use crate::program::{Answer, PATIENCE, Running, ask, connect, head, page, run_file, systole_with};
use crate::promises::cast::{BOSS, ECHO, Part, cast, judged, say};

const PARTS: [Part<'_>; 3] = [
    ("boss", "turns: 60, entry: true, peers: [clerk]", BOSS),
    ("clerk", "entry: true", ECHO),
    ("vault", "entry: true, approval: {when: always}", ECHO),
];
const AGENTS: &str =
    "models: {main: {provider: script, file: replies.yaml, price: {in: 3, out: 15, per: 1M, currency: USD}}}
agents:
  sage: {model: main, peers: [], prompt: {identity: You answer.}}
";
const REPLIES: &str = "sage:
  - say: \"<attempt_completion><result>It is smaller.</result></attempt_completion>\"
    usage: {in: 1234567, out: 8901}
";
/// Asks a model, writes a todo list, calls with an element that the schema refuses, repairs it, and answers.
const REPAIRED: &str = "[lambda turn: (thinks(turn, 'hm'), [say('clerk', 'x').replace('text>', 'txt>')])[1], \
                        [todo('it is right', look=True, tell=True), say('clerk', 'right')], [said('over')]]";

/// An organism that got the messages, and the worker of one of its listeners.
struct FilledHouse {
    folder: tempfile::TempDir,
    organism: Running,
    _worker: Ends,
    server: NatsServer,
    /// The threads, by what they are about.
    threads: Vec<(&'static str, String)>,
}

impl FilledHouse {
    fn at(&self) -> &Path {
        self.folder.path()
    }

    fn thread(&self, what: &str) -> &str {
        &self.threads.iter().find(|(about, _)| *about == what).expect("the story has it").1
    }

    fn page(&self, method: &str, path: &str, accept: &str, fields: &[(&str, &str)]) -> Answer {
        page(&run_file(self.at()), method, path, accept, fields)
    }

    fn html(&self, path: &str) -> String {
        let shown = self.page("GET", path, "text/html", &[]);
        assert_eq!(shown.status, 200, "{path}: {shown:?}");
        shown.body
    }

    fn json(&self, path: &str) -> Value {
        let shown = self.page("GET", path, "application/json", &[]);
        assert_eq!(shown.status, 200, "{path}: {shown:?}");
        shown.json
    }

    fn until(&self, path: &str, is_so: impl Fn(&Value) -> bool) {
        let mut last = Value::Null;
        let is_so = || {
            last = self.json(path);
            is_so(&last)
        };
        assert!(std::iter::repeat_with(is_so).take(100_000).any(|so| so), "{path}: {last}");
    }

    /// Sends a message under a key, so that its thread has the same id in both organisms.
    fn sends(&mut self, what: &'static str, to: &str, document: &str, status: u16) {
        let all = [("Idempotency-Key", what), ("Systole-Wait", "240")];
        let headers = if status == 200 { &all[..] } else { &all[..1] };
        let path = format!("/v1/messages?to={to}");
        let sent = ask(&run_file(self.at()), "POST", &path, headers, document);
        assert_eq!(sent.status, status, "{what}: {sent:?}");
        self.threads.push((what, sent.json["thread"].as_str().unwrap().to_owned()));
    }

    /// What a command says, in lines.
    fn says(&self, arguments: &[&str]) -> Vec<String> {
        let ran = systole_with(self.at(), arguments, &[("COLUMNS", "100000")]);
        assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
        ran.stdout.lines().map(|line| line.trim().to_owned()).collect()
    }

    /// Tells the story, with the log in a file or in the broker.
    fn started(in_nats: bool) -> FilledHouse {
        let server = NatsServer::start();
        let folder = cast(&PARTS);
        let file = folder.path().join("organism.yaml");
        let text = std::fs::read_to_string(&file).unwrap();
        let over = "listeners:\n  echo: {nats: true, accepts: [ask], returns: [answer], entry: true}\n";
        let text = text.replace("name: hello", "name: shop, entry: boss").replace("listeners:\n", over);
        // The broker that keeps the log carries the deliveries too.
        let log = match in_nats {
            true => format!("log: {{nats: {}, durability: relaxed, path: ./hello.db}}", server.url()),
            false => format!("bus: {{nats: {}}}\nlog: {{path: ./hello.db}}", server.url()),
        };
        let text = text.replace("log: {path: ./hello.db}", &log);
        assert!(text.contains(&log) && text.contains(over), "{text}");
        std::fs::write(&file, text + AGENTS).unwrap();
        std::fs::write(folder.path().join("replies.yaml"), REPLIES).unwrap();
        let organism = Running::organism_with(folder.path(), &[]);
        let worker = echo(&server.url());
        let mut house = FilledHouse { folder, organism, _worker: worker, server, threads: Vec::new() };
        house.until("/v1/workers", |workers| workers["workers"]["echo"] == 1);
        house.sends("repaired", "boss", &say("boss", REPAIRED), 200);
        let asks = |words: &str| format!("<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">{words}</ask>");
        house.sends("priced", "sage", &asks("What is smaller?"), 200);
        house.sends("far", "echo", &asks("hello"), 200);
        house.sends("held", "vault", &say("vault", "hold this"), 202);
        house.decides_and_sends();
        house.sends("waits", "vault", &say("vault", "hold that"), 202);
        house.until("/approvals", |list| list["approvals"][0]["id"] == "a2");
        house
    }

    /// Approves the first request on its page, and sends a message from the form of its schema.
    fn decides_and_sends(&mut self) {
        self.until("/approvals", |list| list["approvals"][0]["id"] == "a1");
        let waiting = self.json("/approvals");
        let hash = waiting["approvals"][0]["hash"].as_str().unwrap_or_else(|| panic!("{waiting}")).to_owned();
        assert!(self.html("/approvals").contains("hold this"));
        let held = self.thread("held").to_owned();
        let other = [("outcome", "approved"), ("hash", &"0".repeat(64))];
        assert_eq!(self.page("POST", "/approvals/a1", "application/json", &other).status, 409);
        let fields = [("outcome", "approved"), ("hash", hash.as_str()), ("note", "seen")];
        let decided = self.page("POST", "/approvals/a1", "application/json", &fields);
        assert_eq!((decided.status, &decided.json["approval"]), (200, &"a1".into()), "{decided:?}");
        self.until(&format!("/t/{held}"), |view| view["state"] == "answered");
        assert!(self.html("/approvals").contains("approved"), "what was decided is listed");

        let form = [("to", "clerk"), ("element", "say"), ("key", "formed"), ("/say/text", "from a form")];
        let made = self.page("POST", "/send/show", "application/json", &form).json;
        assert_eq!(made["verdict"]["valid"], true, "{made}");
        let sent = self.page("POST", "/send", "application/json", &form);
        let thread = sent.json["thread"].as_str().unwrap_or_else(|| panic!("{sent:?}")).to_owned();
        self.until(&format!("/t/{thread}"), |view| view["state"] == "answered");
        assert!(self.html(&format!("/t/{thread}")).contains("clerk heard from a form"));
        self.threads.push(("formed", thread));
    }

    /// The address of every page.
    fn pages(&self) -> Vec<String> {
        let (repaired, priced, held) = (self.thread("repaired"), self.thread("priced"), self.thread("held"));
        let mut pages: Vec<String> = [
            "/",
            "/threads",
            "/threads?state=working",
            "/threads?q=hold&listener=vault",
            "/approvals",
            "/approvals/a2/amend",
            "/send",
            "/send?to=clerk&element=say",
            "/refused",
            "/cost",
            "/cost?by=client",
            "/find?q=right",
            "/find?kind=refusal",
            "/map",
            "/map?from=boss&to=clerk",
            "/proof",
            "/config",
            "/threads/order?order=pause",
            "/session",
        ]
        .map(str::to_owned)
        .to_vec();
        for thread in [repaired, priced, held, self.thread("far"), self.thread("waits")] {
            let of = ["", "/1", "/2", "/time", "/todo", "/cancel"];
            pages.extend(of.map(|end| format!("/t/{thread}{end}")));
        }
        pages.push(format!("/t/{priced}/context"));
        pages.push(format!("/t/{repaired}/time?by=tokens"));
        pages.push(format!("/t/{repaired}/rows?from=1"));
        pages.push(format!("/diff/{repaired}/{held}"));
        pages
    }

    fn closes(self) {
        self.organism.interrupt();
        judged(self.folder.path());
    }
}

/// The text of a page without its markup.
fn text(page: &str) -> String {
    let main = page.split_once("<main").map_or(page, |(_, main)| main);
    let mut text = String::new();
    let mut is_inside = main.len() < page.len();
    for character in main.chars() {
        match character {
            '<' => is_inside = true,
            '>' if is_inside => {
                is_inside = false;
                text.push(' ');
            }
            _ if !is_inside => text.push(character),
            _ => {}
        }
    }
    let named = [("&#60;", "<"), ("&#62;", ">"), ("&#34;", "\""), ("&#39;", "'"), ("&#38;", "&")];
    named.iter().fold(text, |text, (name, character)| text.replace(name, character))
}

/// The words without what no two tellings share: moments, durations, hashes and identifiers.
fn steady(text: &str, own: &[(&str, &str)]) -> Vec<String> {
    let text = own.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-:._".contains(c);
    let mut words: Vec<String> = Vec::new();
    let parts = text.split(|c: char| !is_part(c)).map(|word| word.trim_matches(':'));
    for word in parts.filter(|word| !word.is_empty()) {
        let all = |more: &str| word.chars().all(|c| c.is_ascii_digit() || more.contains(c));
        let is_hash = word.len() >= 8 && word.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
        // The mark by which a listener knows the core is drawn anew for each call.
        let is_mark = word.strip_prefix("core-").is_some_and(|mark| u32::from_str_radix(mark, 16).is_ok());
        let is_moment = all(":.-TZ") && (word.contains(':') || word.matches('-').count() == 2);
        let is_unit = matches!(word, "ms" | "s" | "m" | "min" | "h" | "d");
        if is_unit && let Some(last) = words.pop_if(|last| last.parse::<f64>().is_ok()) {
            drop(last);
            words.push("DURATION".to_owned());
        } else if is_mark || is_hash || is_moment {
            words.push(if is_moment { "MOMENT" } else { "HASH" }.to_owned());
        } else {
            words.push(word.to_owned());
        }
    }
    words.dedup_by(|one, other| one == "DURATION" && other == "DURATION");
    words
}

/// What the lanes of a thread's time cost.
fn lane_costs(time: &Value) -> Vec<String> {
    let lanes = time["lanes"].as_array().unwrap_or_else(|| panic!("{time}")).iter();
    let costly = lanes.filter(|lane| lane["tokens"].as_u64().unwrap() > 0);
    costly.map(|lane| format!("{} {} {}", lane["listener"], lane["tokens"], lane["money"])).collect()
}

/// Drops what counts time.
fn without_times(value: &mut Value) {
    match value {
        Value::Array(all) => all.iter_mut().for_each(without_times),
        Value::Object(fields) => {
            fields.retain(|name, _| name != "ms" && !name.ends_with("_ms"));
            fields.values_mut().for_each(without_times);
        }
        _ => {}
    }
}

/// What a page says, to a person and to a program.
fn answered(house: &FilledHouse, path: &str) -> (u16, Vec<String>, Vec<String>) {
    let log = format!("nats: {}, durability: relaxed, path", house.server.url());
    let bus = format!("bus: {{nats: {}}}", house.server.url());
    let own = [(log.as_str(), "path"), (bus.as_str(), "")];
    let shown = house.page("GET", path, "text/html", &[]);
    let program = house.page("GET", path, "application/json", &[]);
    assert_eq!(program.status, shown.status, "{path}");
    if path.contains("/time") {
        // A span that takes less than a millisecond is left out, unless it cost something.
        return (shown.status, vec!["its words are times".to_owned(); 4], lane_costs(&program.json));
    }
    let mut json = program.json;
    without_times(&mut json);
    (shown.status, steady(&text(&shown.body), &own), steady(&json.to_string(), &own))
}

/// The first words that differ, with those before them.
fn difference(one: &[String], other: &[String]) -> Option<String> {
    let place = (0..one.len().max(other.len())).find(|at| one.get(*at) != other.get(*at))?;
    let near =
        |words: &[String]| words.iter().skip(place.saturating_sub(8)).take(12).cloned().collect::<Vec<_>>();
    Some(format!("{:?} in a file, {:?} in NATS", near(one), near(other)))
}

#[test]
fn h4_every_page_answers_over_a_log_in_nats_what_it_answers_over_a_file() {
    let (file, nats) = (FilledHouse::started(false), FilledHouse::started(true));
    assert_eq!(file.threads, nats.threads, "the story is the same");
    // At a position in the middle of the story too.
    let end = file.json("/v1/status")["position"].as_u64().unwrap();
    assert_eq!(nats.json("/v1/status")["position"], end);
    let past = ["/", "/threads", "/approvals", "/refused", "/cost", "/map", "/config"];
    let past = past.map(|path| format!("{path}?at={}", end / 2));
    let mut differences = Vec::new();
    for path in file.pages().into_iter().chain(past) {
        let (one, other) = (answered(&file, &path), answered(&nats, &path));
        assert_eq!(one.0, 200, "{path}");
        assert!(one.1.len() > 3, "{path}: {one:?}");
        differences.extend(difference(&one.1, &other.1).map(|words| format!("{path}: {words}")));
        differences.extend(difference(&one.2, &other.2).map(|words| format!("{path} as JSON: {words}")));
        assert_eq!(other.0, one.0, "{path}");
    }
    assert!(differences.is_empty(), "{differences:#?}");
    says_what_the_commands_say(&nats);
    verifies(&nats);
    follows(&nats);
    file.closes();
    nats.closes();
}

/// The pages over NATS hold every line of the commands.
fn says_what_the_commands_say(house: &FilledHouse) {
    let (repaired, priced) = (house.thread("repaired").to_owned(), house.thread("priced").to_owned());
    let waits = house.thread("waits").to_owned();
    let has = |path: &str, command: &[&str], skipped: usize| {
        let shown = text(&house.html(path)).split_whitespace().collect::<Vec<_>>().join(" ");
        let said = house.says(&[&["--utc"], command].concat());
        assert!(said.len() > skipped, "{command:?}");
        for line in said.iter().skip(skipped) {
            let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(shown.contains(&line), "{path}: {line:?} of {command:?} is not in {shown}");
        }
    };
    has(&format!("/t/{repaired}"), &["log", &repaired], 0);
    has(&format!("/t/{waits}"), &["log", &waits], 0);
    has(&format!("/t/{repaired}/2"), &["trail", &format!("{repaired}@2")], 1);
    let cost = systole_with(house.at(), &["cost", &priced, "--json"], &[]).json_lines()[0]["all"].clone();
    assert_eq!(cost["money"][0], "3.837216 USD", "{cost}");
    let list = house.json("/threads");
    let row = list["threads"].as_array().unwrap().iter().find(|row| row["thread"] == priced.as_str());
    assert_eq!(row.unwrap()["cost"], cost);
    assert!(house.html("/threads").contains("3.837216 USD") && house.html("/cost").contains("3.837216 USD"));
    assert!(house.html("/find?q=right").contains(&repaired));
    let todo = text(&house.html(&format!("/t/{repaired}/todo")));
    assert!(todo.contains("it is right") && todo.contains("look") && todo.contains("tell"), "{todo}");
    assert!(text(&house.html(&format!("/t/{priced}/context"))).contains("What is smaller?"));
    assert_eq!(lane_costs(&house.json(&format!("/t/{repaired}/time"))), ["\"boss\" 12 []"]);
    assert!(text(&house.html("/")).contains("hold that"), "what waits is on the first page");
    // The workers over the broker are counted on the map, as by the command.
    let map = text(&house.html("/map")).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(map.contains("1 worker"), "{map}");
    assert_eq!(house.json("/map")["workers"], serde_json::json!({"echo": 1}));
    let ps = systole_with(house.at(), &["ps"], &[]);
    assert!(ps.stderr.contains("workers over NATS: echo 1"), "{ps:?}");
}

/// The log is verified on its page, with the root that the command finds.
fn verifies(house: &FilledHouse) {
    let verified = house.json("/proof?verify=now")["verified"].clone();
    let last = house.json("/v1/status")["position"].to_string();
    assert_eq!(verified["facts"]["records"], last.as_str(), "{verified}");
    let root = verified["facts"]["root of all records"].as_str().unwrap().to_owned();
    let said = systole_with(house.at(), &["verify", "--json"], &[]);
    assert!(said.stdout.contains(&root), "{root}: {said:?}");
    assert!(house.html("/proof?verify=now").contains(&root));
    assert_eq!(house.page("GET", "/proof?verify=now&at=3", "text/html", &[]).status, 400);
}

/// `/live` sends the end of the log as it moves, and the new rows can be fetched.
fn follows(house: &FilledHouse) {
    let run = run_file(house.at());
    let mut stream = connect(&run);
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let bearer = format!("Bearer {}", run.token.secret());
    stream.write_all(head("GET", "/live", &[("Authorization", &bearer)], "0").as_bytes()).unwrap();
    let mut lines = BufReader::new(stream).lines();
    let mut tail = || -> u64 {
        // The threads in which listeners speak are no numbers.
        let data = lines.by_ref().find_map(|line| line.unwrap().strip_prefix("data: ")?.parse().ok());
        data.expect("the stream goes on")
    };
    let first = tail();
    assert_eq!(first, house.json("/v1/status")["position"].as_u64().unwrap());
    let thread = house.thread("formed");
    let path = format!("/v1/messages?to=clerk&thread={thread}");
    let sent = ask(&run, "POST", &path, &[("Systole-Wait", "240")], &say("clerk", "one more"));
    assert_eq!(sent.status, 200, "{sent:?}");
    let end = house.json("/v1/status")["position"].as_u64().unwrap();
    while tail() < end {}
    let rows = house.html(&format!("/t/{thread}/rows?from={first}"));
    assert_eq!(rows.matches("class=\"row ").count(), 2, "{rows}");
    assert!(rows.contains("clerk heard one more"), "{rows}");
}
