//! Measurements in a separate process: this program starts itself again with `--child`, and the child
//! prints its results, one word and one number per line. The parent reads only that.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::report::now;
use crate::{callers, carrier, cold, door, pages, reopen};

/// A process's memory from `/proc`, in megabytes.
pub(crate) fn resident_mb(process: &str) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
}

fn start(arguments: &[&str]) -> Child {
    spawn(Command::new(std::env::current_exe().unwrap()).arg("--child").args(arguments))
}

fn spawn(command: &mut Command) -> Child {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
}

/// Seconds until a child's first line; it waits for the child to end.
pub(crate) fn until_first_word(arguments: &[&str]) -> f64 {
    let began = now();
    let mut child = start(arguments);
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let took = began.elapsed().as_secs_f64();
    assert!(!line.is_empty() && child.wait().unwrap().success(), "the child {arguments:?} says its word");
    took
}

/// Says that this child is at work.
pub(crate) fn ready() {
    println!("ready 0");
}

/// A child that works until it is dropped.
pub(crate) struct Lasting(Child);

impl Lasting {
    /// Starts it, and waits for its word.
    pub(crate) fn start(arguments: &[&str]) -> Lasting {
        Lasting::when_ready(start(arguments))
    }

    /// The same with another program.
    pub(crate) fn of(program: &mut Command) -> Lasting {
        Lasting::when_ready(spawn(program))
    }

    fn when_ready(mut child: Child) -> Lasting {
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "the child says its word");
        Lasting(child)
    }
}

impl Drop for Lasting {
    fn drop(&mut self) {
        let _already_over = self.0.kill();
        let _reaped = self.0.wait();
    }
}

/// A child that gets ready, starts its work on command, and reports how many seconds the work took.
pub(crate) struct Paced(Lasting, BufReader<ChildStdout>);

impl Paced {
    /// Starts it, and waits until it is prepared.
    pub(crate) fn start(arguments: &[&str]) -> Paced {
        let mut child = start(arguments);
        let said = BufReader::new(child.stdout.take().unwrap());
        let mut paced = Paced(Lasting(child), said);
        paced.line();
        paced
    }

    /// Lets it work; the seconds that it took.
    pub(crate) fn go(&mut self) -> f64 {
        self.0.0.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
        self.line().trim().rsplit(' ').next().unwrap().parse().unwrap()
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.1.read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "the child says its word");
        line
    }
}

/// Megabytes of a child that has printed its first line and then does nothing.
pub(crate) fn resident_of_nothing() -> f64 {
    let mut child = start(&["wait"]);
    let mut line = String::new();
    let mut said = BufReader::new(child.stdout.take().unwrap());
    said.read_line(&mut line).unwrap();
    let resident = resident_mb(&child.id().to_string());
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success(), "the child that waits ends with its input");
    resident
}

/// All output of a child: words with numbers.
pub(crate) fn said(arguments: &[&str]) -> Vec<(String, f64)> {
    let child = start(arguments);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "the child {arguments:?} ends well");
    let text = String::from_utf8(output.stdout).unwrap();
    let word = |line: &str| line.split_once(' ').map(|(word, n)| (word.to_owned(), n.parse().unwrap()));
    text.lines().filter_map(word).collect()
}

/// The numbers with that word.
pub(crate) fn numbers(said: &[(String, f64)], word: &str) -> Vec<f64> {
    said.iter().filter(|(said, _)| said == word).map(|(_, number)| *number).collect()
}

/// The child's side.
pub(crate) fn run(arguments: &[String]) {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["nothing"] => ready(),
        ["wait"] => {
            ready();
            std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).unwrap();
        }
        ["first-delivery", folder] => cold::first_delivery(folder.as_ref()),
        ["bare", url, _] => carrier::answer_bare(url),
        ["worker", url, slots] => carrier::work(url, slots.parse().unwrap()),
        ["program"] => door::answer(),
        ["callers", address, token, in_flight, calls, way] => {
            callers::call(address, token, in_flight.parse().unwrap(), calls.parse().unwrap(), way);
        }
        ["watchers", address, token, count, what] => {
            callers::watch(address, token, count.parse().unwrap(), what);
        }
        ["pages", address, token, count] => pages::open(address, token, count.parse().unwrap()),
        ["reopen", log, kind, count] => reopen::open(log.as_ref(), kind, count.parse().unwrap()),
        _ => unreachable!("no child does {arguments:?}"),
    }
}
