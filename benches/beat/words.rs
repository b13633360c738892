//! The first words of a model on the asker's terminal: from the moment the mock provider releases its first piece
//! until it can be read on the terminal of `systole ask`. The floor is the same bytes over a bare TCP connection and
//! onto a terminal, in the same run.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use systole_mock_model::{MockModel, MockOptions, MockScript};

use crate::report::{Table, median, now, sized};

/// The model's first text. The head of the answer is sent earlier; this piece is held until the clock runs.
pub(crate) const WORDS: &str = "First words";

/// Longer than anything here takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A terminal: the side that shows, and the side that programs write to.
fn terminal() -> (File, OwnedFd) {
    let shown = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&shown).unwrap();
    unlockpt(&shown).unwrap();
    let name = ptsname(&shown, Vec::new()).unwrap();
    let written = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
    (File::from(shown), written)
}

/// Reads until the words are on the terminal.
fn until_words(shown: &mut File) {
    let (mut seen, mut some) = (Vec::new(), [0; 4096]);
    while !seen.windows(WORDS.len()).any(|window| window == WORDS.as_bytes()) {
        let read = shown.read(&mut some).unwrap();
        assert!(read > 0, "the words come: {}", String::from_utf8_lossy(&seen));
        seen.extend_from_slice(&some[..read]);
    }
}

/// The seconds of a bare hop: bytes over TCP, which the reader writes to a terminal.
pub(crate) fn bare_hop() -> f64 {
    let (mut shown, written) = terminal();
    let door = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut model = TcpStream::connect(door.local_addr().unwrap()).unwrap();
    let (mut asker, _) = door.accept().unwrap();
    model.set_nodelay(true).unwrap();
    let reads = std::thread::spawn(move || {
        let (mut some, mut terminal) = ([0; 4096], File::from(written));
        let read = asker.read(&mut some).unwrap();
        terminal.write_all(&some[..read]).unwrap();
        terminal
    });
    let began = now();
    model.write_all(WORDS.as_bytes()).unwrap();
    until_words(&mut shown);
    let took = began.elapsed().as_secs_f64();
    drop(reads.join().unwrap());
    took
}

fn systole(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_systole"));
    command.args(arguments).current_dir(folder).env("MODEL_KEY", "key").stdin(Stdio::null());
    command
}

/// An organism in its own process; it reports that it runs before this returns.
fn organism(folder: &Path) -> Child {
    let mut child = systole(folder, &["run"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut says = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(says.any(|line| line.contains("its log is")), "the organism says that it runs");
    // Its further output is short and discarded.
    std::thread::spawn(move || says.for_each(drop));
    child
}

/// The seconds until the first words of one question.
fn first_words(elsewhere: bool) -> f64 {
    let folder = tempfile::tempdir_in("target").unwrap();
    let script = format!("- {{say: \"{WORDS} and the rest.\", chunk: {}, hold: {WORDS}}}", WORDS.len());
    let mock = MockModel::start(MockScript::parse(&script).unwrap(), MockOptions::default()).unwrap();
    let file = format!(
        "organism: {{name: words}}\nconsole: {{listen: \"127.0.0.1:0\"}}\n\
         models: {{main: {{provider: openai, model: m, url: \"{}\", key_env: MODEL_KEY}}}}\n\
         agents: {{helper: {{model: main, dialect: plain, prompt: {{identity: You help.}}}}}}\n",
        mock.url()
    );
    fs::write(folder.path().join("organism.yaml"), file).unwrap();
    let mut runs = elsewhere.then(|| organism(folder.path()));
    let (mut shown, written) = terminal();
    let screen = || Stdio::from(written.try_clone().unwrap());
    let mut asks =
        systole(folder.path(), &["ask", "What?"]).stdout(screen()).stderr(screen()).spawn().unwrap();
    assert!(mock.wait(PATIENCE, |seen| !seen.is_empty()).is_ok(), "the model is asked");
    let began = now();
    mock.release();
    until_words(&mut shown);
    let took = began.elapsed().as_secs_f64();
    assert!(asks.wait().unwrap().success(), "the question is answered");
    if let Some(runs) = &mut runs {
        let pid = rustix::process::Pid::from_child(runs);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        runs.wait().unwrap();
    }
    took
}

/// The first words, with the organism in the asking process and in another one.
pub(crate) fn on_a_terminal(table: &mut Table) {
    let questions = sized("QUESTIONS", 10);
    for (what, elsewhere) in [
        ("first words on a terminal, organism in the process", false),
        ("the same through an organism that runs elsewhere", true),
    ] {
        let mut figures = Vec::new();
        for _ in 0..table.runs {
            let took: Vec<f64> = (0..questions).map(|_| first_words(elsewhere) * 1e6).collect();
            let bare: Vec<f64> = (0..questions).map(|_| bare_hop() * 1e6).collect();
            figures.push((median(&took), median(&bare)));
        }
        table.add(what, "us", "below 200 ms", &figures);
    }
}
