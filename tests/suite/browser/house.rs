//! The organism that stories look at: a boss that follows plans, an echo, a vault whose messages wait for a person, a
//! program that dies, and an agent whose rehearsed model says hostile things. It listens on one port over all its lives, so a page finds it again after a kill.
//!
//! A story sends messages to its door itself. It asks this house for what a browser cannot do: commands, kills, starts.

use std::net::SocketAddr;
use std::path::Path;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::broker::NatsServer;
use crate::nginx::TlsProxy;
use crate::ports;
use crate::program::{Running, command, run_file};
use crate::promises::cast::{BOSS, CRASH, ECHO, Part, cast, judged};

const PARTS: [Part<'_>; 4] = [
    ("boss", "turns: 60, entry: true, peers: [echo]", BOSS),
    ("echo", "entry: true", ECHO),
    ("vault", "entry: true, approval: {when: always}", ECHO),
    ("crash", "entry: true, retry: {attempts: 1}", CRASH),
];

/// The tokens of the clients, with the variables that the organism reads them from. alice has no role.
const TOKENS: [(&str, &str, &str); 3] = [
    ("alice", "ALICE_TOKEN", "alice-token-0123456789"),
    ("bob", "BOB_TOKEN", "bob-token-0123456789"),
    ("carol", "CAROL_TOKEN", "carol-token-0123456789"),
];
const CLIENTS: &str = "clients:
  alice: {token_env: ALICE_TOKEN, may: [echo, boss]}
  bob: {token_env: BOB_TOKEN, roles: [read]}
  carol: {token_env: CAROL_TOKEN, roles: [read, approve]}
";

const AGENTS: &str = "models: {main: {provider: script, file: replies.yaml, price: {in: 3000, out: 15000, per: 1M, currency: USD}}}
agents:
  sage: {model: main, peers: [echo], turns: 6, prompt: {identity: You answer.}}
";
/// It thinks, is refused, calls the echo and answers.
const REPLIES: &str = r#"sage:
  - say: "<thinking>I look. <img id=hostile src=x onerror=hostile()></title><script id=hostile>hostile()</script> pay Bob\u202E000,1\u202C</thinking>\n<say><txt>\"><svg id=hostile onload=hostile()></txt></say>"
    usage: {in: 120, out: 14}
  - say: "<thinking>Again, --><b id=hostile>x</b> zero\u200Bwidth.</thinking>\n<say><text>&lt;iframe id=hostile src=javascript:hostile()></text></say>"
    usage: {in: 150, out: 20}
  - say: "<attempt_completion><result>&lt;base id=hostile href=http://evil.example/> \u2066done\u2069</result></attempt_completion>"
    usage: {in: 180, out: 9}
"#;

/// The organism in its own folder, running or killed.
pub(super) struct ConsoleHouse {
    folder: tempfile::TempDir,
    running: Option<Running>,
    proxy: Option<TlsProxy>,
}

impl ConsoleHouse {
    /// Starts it with a log in a file.
    pub(super) fn open() -> ConsoleHouse {
        ConsoleHouse::open_with("log: {path: ./hello.db}", None)
    }

    /// The same behind a proxy with TLS.
    pub(super) fn open_behind_tls() -> ConsoleHouse {
        ConsoleHouse::open_with("log: {path: ./hello.db}", Some(TlsProxy::new()))
    }

    /// Starts it with a log in NATS, of which it has a copy.
    pub(super) fn open_in_nats(server: &NatsServer) -> ConsoleHouse {
        let log = format!("log: {{nats: {}, durability: relaxed, path: ./hello.db}}", server.url());
        ConsoleHouse::open_with(&log, None)
    }

    fn open_with(log: &str, mut proxy: Option<TlsProxy>) -> ConsoleHouse {
        let folder = cast(&PARTS);
        let file = folder.path().join("organism.yaml");
        let text = std::fs::read_to_string(&file).unwrap();
        let listen = SocketAddr::from(([127, 0, 0, 1], ports::free()));
        let public = proxy.as_ref().map_or_else(String::new, |proxy| format!(", public: {}", proxy.public()));
        let text = text.replace("\"127.0.0.1:0\"", &format!("\"{listen}\"{public}"));
        assert!(text.contains(&listen.to_string()), "{text}");
        let text = text.replace("log: {path: ./hello.db}", log);
        assert!(text.contains(log), "{text}");
        std::fs::write(&file, text + CLIENTS + AGENTS).unwrap();
        std::fs::write(folder.path().join("replies.yaml"), REPLIES).unwrap();
        if let Some(proxy) = &mut proxy {
            proxy.start(listen);
        }
        let mut house = ConsoleHouse { folder, running: None, proxy };
        house.start();
        house
    }

    fn start(&mut self) {
        let variables = TOKENS.map(|(_, variable, token)| (variable, token));
        self.running = Some(Running::organism_with(self.folder.path(), &variables));
    }

    /// Where it is, and who may come in. The operator's token is another one in each life.
    pub(super) fn facts(&self) -> Value {
        let run = run_file(self.folder.path());
        let tokens = TOKENS.iter().map(|(name, _, token)| ((*name).to_owned(), json!(token)));
        json!({
            "address": format!("http://{}", run.address),
            "public": self.proxy.as_ref().map(TlsProxy::public),
            "token": run.token.secret(),
            "tokens": tokens.collect::<serde_json::Map<_, _>>(),
        })
    }

    /// Does what a story asks for.
    pub(super) fn does(&mut self, asked: &Value) -> Value {
        match asked["what"].as_str() {
            Some("systole") => runs(self.folder.path(), asked),
            // A program may wait for a file.
            Some("touch") => {
                std::fs::write(self.folder.path().join(asked["name"].as_str().unwrap()), "").unwrap();
                json!({})
            }
            Some("kill") => {
                let running = self.running.take().expect("it runs");
                running.signal(Signal::KILL);
                running.end();
                json!({})
            }
            Some("start") => {
                self.start();
                self.facts()
            }
            _ => panic!("the story asks for {asked}"),
        }
    }

    /// Stops it, and lets the independent judge read its log.
    pub(super) fn close(self) {
        self.running.expect("it runs").interrupt();
        judged(self.folder.path());
    }
}

/// Runs the command that a story asks for in this folder.
pub(super) fn runs(folder: &Path, asked: &Value) -> Value {
    let words = asked["arguments"].as_array().unwrap().iter();
    let words: Vec<&str> = words.map(|word| word.as_str().unwrap()).collect();
    let mut command = command(folder, &words);
    // On a terminal that is wide enough nothing is cut.
    let ran = Running::of(command.env("COLUMNS", "1000").spawn().unwrap()).end();
    json!({"code": ran.code, "stdout": ran.stdout, "stderr": ran.stderr})
}
