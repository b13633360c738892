//! The real program in its own process, as a person runs it. Every wait has a limit: a late answer fails
//! the test, and remaining processes are killed with the test.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use systole_organism::runfile::RunFile;
use tokio::time::Instant;

/// Longer than anything here takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(240);

/// How a program ended, and its output.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// The JSON values that it printed, one in each line.
    pub(crate) fn json_lines(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The kind and the code of each record that `systole log --json` printed.
    pub(crate) fn kinds(&self) -> Vec<String> {
        let part = |record: &Value, name: &str| record[name].as_str().unwrap_or("").to_owned();
        let both = |record: &Value| format!("{}/{}", part(record, "kind"), part(record, "code"));
        self.json_lines().iter().map(both).collect()
    }

    /// Whether it gave up since the brokers were too slow, or chose a leader; both happen on a busy machine.
    fn met_a_slow_broker(&self) -> bool {
        let signs = [
            "bus.unreachable",
            "temporarily unavailable",
            "ingress.unavailable",
            "it has no leader now",
            "peer offline",
        ];
        self.code == Some(5) && signs.iter().any(|sign| self.stderr.contains(sign))
    }
}

/// No key and no Ollama, whatever this machine has: nothing listens at port 1.
pub(crate) const NO_MODEL: [(&str, &str); 5] = [
    ("ANTHROPIC_API_KEY", ""),
    ("OPENAI_API_KEY", ""),
    ("GEMINI_API_KEY", ""),
    ("GOOGLE_API_KEY", ""),
    ("OLLAMA_HOST", "127.0.0.1:1"),
];

pub(crate) fn command(folder: &Path, arguments: &[&str]) -> Command {
    // Tests that nohup starts ignore SIGHUP, and a program would inherit that.
    let mut command = Command::new("/usr/bin/env");
    command.args(["--default-signal=HUP", env!("CARGO_BIN_EXE_systole")]);
    // As on a terminal of 80 columns in UTC, on any machine.
    command.args(arguments).current_dir(folder).envs([("TZ", "UTC"), ("COLUMNS", "80")]).envs(NO_MODEL);
    command.stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs a command to its end.
pub(crate) fn systole(folder: &Path, arguments: &[&str]) -> Ran {
    Running::of(command(folder, arguments).spawn().unwrap()).end()
}

/// The same, until the broker is quick enough for it.
pub(crate) fn systole_in_time(folder: &Path, arguments: &[&str]) -> Ran {
    let end = Instant::now() + PATIENCE;
    loop {
        let ran = systole(folder, arguments);
        if !ran.met_a_slow_broker() || Instant::now() > end {
            return ran;
        }
    }
}

/// The same with these variables in its environment.
pub(crate) fn systole_with(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Ran {
    let mut command = command(folder, arguments);
    Running::of(command.envs(variables.iter().copied()).spawn().unwrap()).end()
}

/// The same with this text on stdin.
pub(crate) fn systole_with_stdin(folder: &Path, arguments: &[&str], stdin: &str) -> Ran {
    let mut child = command(folder, arguments).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    Running::of(child).end()
}

/// A running program.
pub(crate) struct Running {
    child: Child,
    stdout: Receiver<String>,
    stderr: Receiver<String>,
    heard: (String, String),
}

/// The lines of a pipe as they come. There is room for more than any test waits for, so nothing blocks.
pub(crate) fn lines(pipe: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (to_test, lines) = sync_channel(100_000);
    std::thread::spawn(move || {
        let mut pipe = BufReader::new(pipe);
        let mut line = Vec::new();
        while matches!(pipe.read_until(b'\n', &mut line), Ok(read) if read > 0) {
            if to_test.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                return;
            }
            line.clear();
        }
    });
    lines
}

impl Running {
    pub(crate) fn of(mut child: Child) -> Running {
        let (stdout, stderr) = (lines(child.stdout.take().unwrap()), lines(child.stderr.take().unwrap()));
        Running { child, stdout, stderr, heard: Default::default() }
    }

    /// Starts a command and leaves it running.
    pub(crate) fn start(folder: &Path, arguments: &[&str]) -> Running {
        Running::of(command(folder, arguments).spawn().unwrap())
    }

    /// The same with these variables in its environment.
    pub(crate) fn start_with(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Running {
        Running::of(command(folder, arguments).envs(variables.iter().copied()).spawn().unwrap())
    }

    /// The same without a terminal, as a service: HUP asks it for a reload.
    pub(crate) fn as_service(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Running {
        let mut service = Command::new("/usr/bin/env");
        service.args(["--default-signal=HUP", "setsid", env!("CARGO_BIN_EXE_systole")]).args(arguments);
        service.current_dir(folder).envs(NO_MODEL).envs(variables.iter().copied()).stdin(Stdio::null());
        Running::of(service.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Starts a command in a shell that runs `before` first.
    pub(crate) fn under(folder: &Path, before: &str, arguments: &[&str]) -> Running {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{before} && exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_systole")]);
        shell.args(arguments).current_dir(folder).stdin(Stdio::null());
        Running::of(shell.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Starts the organism of a folder; its door is open when this returns.
    pub(crate) fn organism(folder: &Path) -> Running {
        Running::organism_with(folder, &[])
    }

    /// The same with these variables in its environment.
    pub(crate) fn organism_with(folder: &Path, variables: &[(&str, &str)]) -> Running {
        Running::organism_set(folder, &[], variables)
    }

    /// The same with these options, such as `--set`.
    pub(crate) fn organism_set(folder: &Path, options: &[&str], variables: &[(&str, &str)]) -> Running {
        let mut command = command(folder, &[&["run"], options].concat());
        let mut running = Running::of(command.envs(variables.iter().copied()).spawn().unwrap());
        running.says("its log is");
        running
    }

    /// The same over a cluster.
    pub(crate) fn organism_in_time(folder: &Path, variables: &[(&str, &str)]) -> Running {
        Running::run_in_time(folder, "its log is", variables)
    }

    /// `run` over a cluster, which may choose its leader for longer than a start waits: it is started again until it
    /// has said this.
    pub(crate) fn run_in_time(folder: &Path, wanted: &str, variables: &[(&str, &str)]) -> Running {
        let end = Instant::now() + PATIENCE;
        loop {
            let mut running = Running::start_with(folder, &["run"], variables);
            if running.will_say(wanted) {
                return running;
            }
            let ran = running.end();
            assert!(ran.met_a_slow_broker() && Instant::now() < end, "it does not start: {ran:?}");
        }
    }

    /// Waits for a line on stderr that contains this, or for the end of stderr.
    fn will_say(&mut self, wanted: &str) -> bool {
        while let Ok(line) = self.stderr.recv_timeout(PATIENCE) {
            self.heard.1.push_str(&line);
            if line.contains(wanted) {
                return true;
            }
        }
        false
    }

    /// Waits for a line on stderr that contains this.
    pub(crate) fn says(&mut self, wanted: &str) -> String {
        loop {
            let Ok(line) = self.stderr.recv_timeout(PATIENCE) else {
                panic!("wanted {wanted:?} on stderr, heard {:?}", self.heard)
            };
            self.heard.1.push_str(&line);
            if line.contains(wanted) {
                return line;
            }
        }
    }

    /// Waits for a line on stdout that contains this.
    pub(crate) fn shows(&mut self, wanted: &str) -> String {
        loop {
            let Ok(line) = self.stdout.recv_timeout(PATIENCE) else {
                panic!("wanted {wanted:?} on stdout, heard {:?}", self.heard)
            };
            self.heard.0.push_str(&line);
            if line.contains(wanted) {
                return line;
            }
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for its end and returns its whole output.
    pub(crate) fn end(mut self) -> Ran {
        let (mut stdout, mut stderr) = std::mem::take(&mut self.heard);
        for (pipe, heard) in [(&self.stdout, &mut stdout), (&self.stderr, &mut stderr)] {
            loop {
                match pipe.recv_timeout(PATIENCE) {
                    Ok(line) => heard.push_str(&line),
                    Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break,
                    Err(_) => panic!("it does not end; it printed {heard}"),
                }
            }
        }
        Ran { code: self.child.wait().unwrap().code(), stdout, stderr }
    }

    /// Stops it as Ctrl-C does, and waits for its end.
    pub(crate) fn interrupt(self) -> Ran {
        self.signal(Signal::INT);
        self.end()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A process that has already ended is fine.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// The run file next to the log of a folder.
pub(crate) fn run_file(folder: &Path) -> RunFile {
    RunFile::find_running(&folder.join("hello.db")).expect("an organism runs on the log")
}

/// An answer of the door.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) json: serde_json::Value,
    /// As it came.
    pub(crate) body: String,
    head: String,
}

impl Answer {
    /// A header, by its name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let fields = self.head.lines().filter_map(|line| line.split_once(": "));
        fields.into_iter().find_map(|(field, value)| field.eq_ignore_ascii_case(name).then_some(value))
    }
}

/// Sends a request to the door with its own credential.
pub(crate) fn ask(run: &RunFile, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let bearer = format!("Bearer {}", run.token.secret());
    let mut all = vec![("Authorization", bearer.as_str())];
    all.extend_from_slice(headers);
    ask_as(run, method, path, &all, body)
}

/// Asks for a page as a browser does, or as a program does, with the door's own credential.
pub(crate) fn page(run: &RunFile, method: &str, path: &str, accept: &str, form: &[(&str, &str)]) -> Answer {
    let encoded = |text: &str| -> String { text.bytes().map(|byte| format!("%{byte:02X}")).collect() };
    let pairs: Vec<String> = form.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
    let (host, body) = (run.address.to_string(), pairs.join("&"));
    let mut headers = vec![("Host", host.as_str()), ("Accept", accept)];
    if !form.is_empty() {
        headers.push(("Content-Type", "application/x-www-form-urlencoded"));
    }
    ask(run, method, path, &headers, &body)
}

/// Sends a request to the door with exactly these headers.
pub(crate) fn ask_as(
    run: &RunFile,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Answer {
    send_bytes(run, (method, path), headers, body.as_bytes())
}

/// The same with a body that is no text.
pub(crate) fn send_bytes(
    run: &RunFile,
    (method, path): (&str, &str),
    headers: &[(&str, &str)],
    body: &[u8],
) -> Answer {
    let mut stream = connect(run);
    stream.write_all(head(method, path, headers, &body.len().to_string()).as_bytes()).unwrap();
    stream.write_all(body).unwrap();
    answer(stream)
}

pub(crate) fn connect(run: &RunFile) -> std::net::TcpStream {
    let stream = std::net::TcpStream::connect(run.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

pub(crate) fn head(method: &str, path: &str, headers: &[(&str, &str)], length: &str) -> String {
    let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        head.push_str("Host: localhost\r\n");
    }
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head + &format!("Content-Length: {length}\r\n\r\n")
}

/// Reads an answer up to the end of its connection.
pub(crate) fn answer(mut stream: std::net::TcpStream) -> Answer {
    let mut bytes = Vec::new();
    // If the door closes a connection with our body unread, a reset follows the answer.
    let _end = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap();
    let json = serde_json::from_str(body).unwrap_or(serde_json::Value::Null);
    Answer { status, json, body: body.to_owned(), head: head.to_owned() }
}

/// Requests events that a client may not see. A stream would not end, so only its first line is read.
pub(crate) fn kept_from_events(run: &RunFile, token: &str, query: &str) -> Answer {
    let mut stream = connect(run);
    let (path, bearer) = (format!("/v1/events{query}"), format!("Bearer {token}"));
    stream.write_all(head("GET", &path, &[("Authorization", &bearer)], "0").as_bytes()).unwrap();
    let mut begin = [0; 12];
    stream.peek(&mut begin).unwrap();
    assert!(!begin.ends_with(b"200"), "{query} is shown to {token}");
    answer(stream)
}

/// A stream of events.
pub(crate) struct Events(BufReader<std::net::TcpStream>);

impl Events {
    pub(crate) fn open(run: &RunFile, query: &str, headers: &[(&str, &str)]) -> Events {
        Events::open_with(run, run.token.secret(), query, headers)
    }

    /// The same with the credential of a client.
    pub(crate) fn open_as(run: &RunFile, token: &str, query: &str) -> Events {
        Events::open_with(run, token, query, &[])
    }

    fn open_with(run: &RunFile, token: &str, query: &str, headers: &[(&str, &str)]) -> Events {
        let bearer = format!("Bearer {token}");
        let mut all = vec![("Authorization", bearer.as_str())];
        all.extend_from_slice(headers);
        let mut stream = connect(run);
        let path = format!("/v1/events{query}");
        stream.write_all(head("GET", &path, &all, "0").as_bytes()).unwrap();
        let mut events = Events(BufReader::new(stream));
        let mut status = String::new();
        events.0.read_line(&mut status).unwrap();
        assert!(status.contains(" 200 "), "{status}");
        events
    }

    /// The next record: its id, its name and its data; none when the stream has ended in order.
    pub(crate) fn next(&mut self) -> Option<(u64, String, serde_json::Value)> {
        loop {
            let (id, name, data) = self.heard()?;
            assert_ne!(name, "fault", "the stream cannot go on: {data}");
            if let Some(id) = id {
                return Some((id, name, data));
            }
        }
    }

    /// The next event: a record, or progress, which has no id; none when the stream has ended.
    pub(crate) fn heard(&mut self) -> Option<(Option<u64>, String, serde_json::Value)> {
        let (mut id, mut name, mut data) = (None, None, None);
        let mut line = String::new();
        let mut still_there = 0;
        loop {
            line.clear();
            if self.0.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            match line.trim_end().split_once(": ") {
                Some(("id", text)) => id = Some(text.parse().unwrap()),
                Some(("event", text)) => name = Some(text.to_owned()),
                // A silent stream sends a sign of life every fifteen seconds.
                None if line.starts_with(':') => {
                    still_there += 1;
                    assert!(still_there < 16, "no event came");
                }
                Some(("data", text)) => data = Some(serde_json::from_str(text).unwrap()),
                _ if line.trim().is_empty() => {
                    if let (Some(name), Some(data)) = (name.take(), data.take()) {
                        return Some((id, name, data));
                    }
                }
                _ => {}
            }
        }
    }
}
