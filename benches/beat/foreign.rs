//! Runs through the doors for other protocols, each beside the same run through `/v1/messages` with `Systole-Wait`; calls
//! beside the idle streams of these doors; and the first words of a model in their streams.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::json;
use systole_mock_model::{MockModel, MockOptions, MockScript};
use tempfile::TempDir;

use crate::report::{Table, median, now, quantile, sized, worked_by};
use crate::words::{PATIENCE, WORDS, bare_hop};

/// The client that calls.
const TOKEN: &str = "suite-token-0123456789abcdef";
/// The clients that only look: none has more than 64 streams.
const LOOKERS: [&str; 4] = [
    "looker-token-0123456789abcd-1",
    "looker-token-0123456789abcd-2",
    "looker-token-0123456789abcd-3",
    "looker-token-0123456789abcd-4",
];
/// Streams of each of them.
const STREAMS: usize = 50;
/// Callers at once.
const CALLERS: usize = 8;

/// The header of a caller that waits.
const WAITS: &str = "systole-wait: 60\r\n";

/// A way to ask an entry.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Door {
    Messages,
    Chat,
    ChatStream,
    Responses,
    AgUi,
    Mcp,
    A2a,
}

impl Door {
    /// The path, the headers and the body of a request that asks this entry.
    fn ask(self, entry: &str, text: &str, key: &str) -> (String, String, String) {
        let json = "content-type: application/json\r\naccept: application/json, text/event-stream\r\n";
        let chat = |streams: bool| json!({"model": entry, "stream": streams, "messages": [{"role": "user", "content": text}]});
        let (path, more, body) = match self {
            Door::Messages => {
                let words = format!("<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">{text}</ask>");
                let headers = format!("{WAITS}idempotency-key: {key}\r\n");
                return (format!("/v1/messages?to={entry}"), headers, words);
            }
            Door::Chat => ("/openai/v1/chat/completions".to_owned(), "", chat(false)),
            Door::ChatStream => ("/openai/v1/chat/completions".to_owned(), "", chat(true)),
            Door::Responses => (
                "/openai/v1/responses".to_owned(),
                "",
                json!({"model": entry, "input": text, "stream": true}),
            ),
            Door::AgUi => {
                let said = json!([{"id": key, "role": "user", "content": text}]);
                let input = json!({
                    "threadId": key, "runId": key, "messages": said,
                    "state": {}, "tools": [], "context": [], "forwardedProps": {},
                });
                (format!("/ag-ui/{entry}"), "", input)
            }
            Door::Mcp => {
                let called = json!({"name": "test_simple_text", "arguments": {}});
                let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": called});
                ("/mcp".to_owned(), "", call)
            }
            Door::A2a => {
                let said = json!({"messageId": key, "role": "ROLE_USER", "parts": [{"text": text}]});
                let params = json!({"message": said});
                let sent = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
                ("/a2a".to_owned(), "a2a-version: 1.0\r\n", sent)
            }
        };
        (path, format!("{json}{more}"), body.to_string())
    }
}

/// A connection of a client, which stays open.
struct Line {
    stream: BufReader<TcpStream>,
    address: String,
    token: &'static str,
}

impl Line {
    fn open(address: &str, token: &'static str) -> Line {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Line { stream: BufReader::new(stream), address: address.to_owned(), token }
    }

    /// Sends a request, and reads the head of its answer. Returns the length of its body; `None` if it comes in chunks.
    fn send(&mut self, (path, headers, body): &(String, String, String)) -> Option<usize> {
        let (host, token, length) = (&self.address, self.token, body.len());
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n{headers}content-length: {length}\r\n\r\n"
        );
        self.stream.get_mut().write_all(&[head.as_bytes(), body.as_bytes()].concat()).unwrap();
        let (mut length, mut line) = (None, String::new());
        self.stream.read_line(&mut line).unwrap();
        assert!(line.starts_with("HTTP/1.1 2"), "{path}: {line}");
        while line != "\r\n" {
            line.clear();
            self.stream.read_line(&mut line).unwrap();
            if let Some(bytes) = line.strip_prefix("content-length: ") {
                length = Some(bytes.trim().parse().unwrap());
            }
        }
        length
    }

    /// A request with its whole answer.
    fn run(&mut self, request: &(String, String, String)) -> String {
        let mut body = Vec::new();
        if let Some(length) = self.send(request) {
            body.resize(length, 0);
            self.stream.read_exact(&mut body).unwrap();
            return String::from_utf8(body).unwrap();
        }
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).unwrap();
            let length = usize::from_str_radix(line.trim(), 16).unwrap();
            let mut chunk = vec![0; length + 2];
            self.stream.read_exact(&mut chunk).unwrap();
            body.extend_from_slice(&chunk[..length]);
            if length == 0 {
                return String::from_utf8(body).unwrap();
            }
        }
    }

    /// Reads until these words have come.
    fn hear(&mut self, words: &str) {
        let (mut seen, mut some) = (Vec::new(), [0; 4096]);
        while !seen.windows(words.len()).any(|window| window == words.as_bytes()) {
            let read = self.stream.read(&mut some).unwrap();
            assert!(read > 0, "the words come: {}", String::from_utf8_lossy(&seen));
            seen.extend_from_slice(&some[..read]);
        }
    }
}

/// An organism that runs by itself.
struct House {
    _folder: TempDir,
    runs: Child,
    address: String,
}

impl House {
    /// The organism of `config/doors`, with the clients that only look.
    fn of_doors() -> House {
        let folder = tempfile::tempdir_in("target").unwrap();
        let mut copy = Command::new("cp");
        let copied = copy.args(["-r", "config/doors/."]).arg(folder.path()).status().unwrap();
        assert!(copied.success(), "the organism is copied");
        // Its clients are the last section of the file.
        let file = folder.path().join("organism.yaml");
        let mut text = fs::read_to_string(&file).unwrap();
        for at in 0..LOOKERS.len() {
            text.push_str(&format!("  looker{at}: {{token_env: LOOKER_{at}}}\n"));
        }
        fs::write(&file, text).unwrap();
        House::start(folder)
    }

    fn start(folder: TempDir) -> House {
        let mut run = Command::new(env!("CARGO_BIN_EXE_systole"));
        run.arg("run").current_dir(folder.path()).env("MODEL_KEY", "key").env("SUITE_TOKEN", TOKEN);
        run.env("DESK_TOKEN", "desk-token-0123456789abcdef00")
            .env("GUEST_TOKEN", "guest-token-0123456789abcdef0");
        for (at, token) in LOOKERS.iter().enumerate() {
            run.env(format!("LOOKER_{at}"), token);
        }
        let mut runs = run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut says = BufReader::new(runs.stderr.take().unwrap()).lines().map_while(Result::ok);
        assert!(says.any(|line| line.contains("its log is")), "the organism says that it runs");
        std::thread::spawn(move || says.for_each(drop));
        let address = read_address(folder.path());
        House { _folder: folder, runs, address }
    }

    /// The seconds of one run after another, and processor seconds of the organism for each.
    fn pace(&self, door: Door, runs: usize, round: &str) -> (f64, f64) {
        let process = self.runs.id().to_string();
        self.call(door, runs / 10, &format!("{round}-warm"));
        let (worked, began) = (worked_by(&process), now());
        self.call(door, runs, round);
        (began.elapsed().as_secs_f64() / runs as f64, (worked_by(&process) - worked) / runs as f64)
    }

    fn call(&self, door: Door, runs: usize, round: &str) {
        std::thread::scope(|scope| {
            for caller in 0..CALLERS {
                scope.spawn(move || {
                    let mut line = Line::open(&self.address, TOKEN);
                    for n in 0..runs / CALLERS {
                        let text = format!("call {round} {caller} {n}");
                        let answer = line.run(&door.ask("plain", &text, &format!("{round}-{caller}-{n}")));
                        let said = if door == Door::Mcp { "simple text response" } else { &text };
                        assert!(answer.contains(said), "{answer}");
                    }
                });
            }
        });
    }
}

impl Drop for House {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.runs);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        self.runs.wait().unwrap();
    }
}

/// Where the organism of a folder listens.
fn read_address(folder: &Path) -> String {
    let mut files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let run = files.find(|path| path.extension().is_some_and(|end| end == "run")).unwrap();
    let run: serde_json::Value = serde_json::from_slice(&fs::read(run).unwrap()).unwrap();
    run["address"].as_str().unwrap().to_owned()
}

/// A run through each door.
fn runs_through(table: &mut Table) {
    let runs = sized("FOREIGN_RUNS", 2_000);
    let house = House::of_doors();
    for (what, door) in [
        ("chat completion", Door::Chat),
        ("chat completion, as a stream", Door::ChatStream),
        ("response, as a stream", Door::Responses),
        ("run over AG-UI", Door::AgUi),
        ("tool called over MCP", Door::Mcp),
        ("task over A2A", Door::A2a),
    ] {
        let (mut took, mut worked) = (Vec::new(), Vec::new());
        for round in 0..table.runs {
            let own = house.pace(door, runs, &format!("{what}-{round}").replace([' ', ','], ""));
            let plain =
                house.pace(Door::Messages, runs, &format!("plain-{what}-{round}").replace([' ', ','], ""));
            took.push((own.0 * 1e6, plain.0 * 1e6));
            worked.push((own.1 * 1e6, plain.1 * 1e6));
        }
        table.add(&format!("{what}, {CALLERS} in flight"), "us", "at most 1.3 times", &took);
        table.add("  processor time of one in the organism's process", "us", "", &worked);
    }
}

/// Calls beside streams in which nothing happens: runs that wait for a person.
fn beside_streams(table: &mut Table) {
    let calls = sized("FOREIGN_CALLS", 2_000);
    let house = House::of_doors();
    let (mut took, mut worked) = (Vec::new(), Vec::new());
    for round in 0..table.runs {
        let alone = house.pace(Door::Messages, calls, &format!("alone-{round}"));
        let mut streams = Vec::new();
        for looker in LOOKERS {
            for n in 0..STREAMS {
                let door = [Door::ChatStream, Door::Responses, Door::AgUi][n % 3];
                let mut line = Line::open(&house.address, looker);
                let length =
                    line.send(&door.ask("plain", "tck-input-required", &format!("idle-{round}-{n}")));
                assert_eq!(length, None, "it is a stream");
                streams.push(line);
            }
        }
        let beside = house.pace(Door::Messages, calls, &format!("beside-{round}"));
        drop(streams);
        took.push((beside.0 * 1e6, alone.0 * 1e6));
        worked.push((beside.1 * 1e6, alone.1 * 1e6));
    }
    table.add(
        &format!("a call beside {} idle streams", LOOKERS.len() * STREAMS),
        "us",
        "at most 1.05 times",
        &took,
    );
    table.add("  processor time of one in the organism's process", "us", "", &worked);
}

/// Seconds from the model's first words to the client of a stream.
fn first_words(door: Door) -> f64 {
    let folder = tempfile::tempdir_in("target").unwrap();
    let script = format!("- {{say: \"{WORDS} and the rest.\", chunk: {}, hold: {WORDS}}}", WORDS.len());
    let mock = MockModel::start(MockScript::parse(&script).unwrap(), MockOptions::default()).unwrap();
    let file = format!(
        "organism: {{name: words}}\nconsole: {{listen: \"127.0.0.1:0\"}}\ndoors: {{openai: true, ag-ui: true}}\n\
         models: {{main: {{provider: openai, model: m, url: \"{}\", key_env: MODEL_KEY}}}}\n\
         agents: {{plain: {{model: main, dialect: plain, prompt: {{identity: You help.}}}}}}\n\
         clients: {{suite: {{token_env: SUITE_TOKEN}}}}\n",
        mock.url()
    );
    fs::write(folder.path().join("organism.yaml"), file).unwrap();
    let house = House::start(folder);
    let mut line = Line::open(&house.address, TOKEN);
    assert_eq!(line.send(&door.ask("plain", "What?", "first")), None, "it is a stream");
    assert!(mock.wait(PATIENCE, |seen| !seen.is_empty()).is_ok(), "the model is asked");
    let began = now();
    mock.release();
    line.hear(WORDS);
    began.elapsed().as_secs_f64()
}

/// The first words in a stream of each door.
fn words_in_streams(table: &mut Table) {
    let questions = sized("QUESTIONS", 10);
    for (what, door) in
        [("chat completion", Door::ChatStream), ("response", Door::Responses), ("run over AG-UI", Door::AgUi)]
    {
        let (mut usual, mut slow) = (Vec::new(), Vec::new());
        for _ in 0..table.runs {
            let took: Vec<f64> = (0..questions).map(|_| first_words(door) * 1e6).collect();
            let bare: Vec<f64> = (0..questions).map(|_| bare_hop() * 1e6).collect();
            usual.push((median(&took), median(&bare)));
            slow.push((quantile(&took, 0.95), quantile(&bare, 0.95)));
        }
        table.add(&format!("first words in a {what}"), "us", "", &usual);
        table.add("  of all but one in twenty", "us", "below 100 ms", &slow);
    }
}

/// All of it.
pub(crate) fn doors(table: &mut Table) {
    runs_through(table);
    beside_streams(table);
    words_in_streams(table);
}
