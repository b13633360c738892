//! A process that runs an organism and does not answer, as after SIGSTOP: every command that goes through it says so
//! within its own time, and leaves nothing behind that the process would take later.

use std::path::Path;

use rustix::process::Signal;
use systole_organism::runfile::RunFile;
use tokio::time::{Duration, Instant};

use crate::organism::folder;
use crate::program::{Ran, Running, run_file, systole, systole_with};

const FILE: &str = r#"organism: {name: hello, entry: greeter}
listeners:
  greeter: {run: [sh, greeter.sh], mode: once, accepts: [ask], returns: [answer], approval: {when: always}}
  silent: {run: [sh, silent.sh], accepts: [ask], returns: [answer], entry: true}
log: {path: ./hello.db}
console: {listen: "127.0.0.1:0"}
"#;
const GREETER: &str =
    "cat > /dev/null; echo '<answer xmlns=\"https://xml-pipeline.org/ns/talk/v1\">hello</answer>'\n";
const SILENT: &str = "while read -r line; do :; done\n";

/// An organism in which a call waits for a person, and another one for its listener.
fn stopped() -> (tempfile::TempDir, Running, [String; 2]) {
    let folder = folder(&[("organism.yaml", FILE), ("greeter.sh", GREETER), ("silent.sh", SILENT)]);
    let at = folder.path();
    let organism = Running::organism(at);
    let threads = ["greeter", "silent"].map(|to| {
        let sent = systole(at, &["send", "ask", "Hi", "--to", to, "--no-wait", "--json"]);
        assert_eq!(sent.code, Some(0), "{sent:?}");
        sent.json_lines()[0]["receipt"]["thread"].as_str().unwrap().to_owned()
    });
    let held = Instant::now() + crate::program::PATIENCE;
    while !systole(at, &["approve"]).stdout.contains("a1") {
        assert!(Instant::now() < held, "nothing waits for a person");
    }
    organism.signal(Signal::STOP);
    (folder, organism, threads)
}

/// Runs commands side by side. What each printed, and how long it took.
fn all(folder: &Path, commands: &[Vec<&str>], variables: &[(&str, &str)]) -> Vec<(Ran, Duration)> {
    std::thread::scope(|scope| {
        let began = Instant::now();
        let started: Vec<_> = commands
            .iter()
            .map(|command| scope.spawn(move || (systole_with(folder, command, variables), began.elapsed())))
            .collect();
        started.into_iter().map(|one| one.join().unwrap()).collect()
    })
}

fn says(ran: &Ran, words: &[&str]) {
    let flat = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.iter().all(|words| flat.contains(words)), "{words:?}: {ran:?}");
    assert!(!flat.contains("in use"), "{ran:?}");
}

/// Much more than the ten seconds that a command waits, and less than the minute of an answer.
const BOUND: Duration = Duration::from_secs(40);

#[test]
fn orders_say_which_process_does_not_answer_and_send_nothing() {
    let (folder, organism, [held, open]) = stopped();
    let at = folder.path();
    let commands = [
        vec!["ask", "Hi"],
        vec!["send", "ask", "Hi", "--to", "greeter", "--no-wait"],
        vec!["cancel", &held],
        vec!["end", &held],
        vec!["pause", &held],
        vec!["pause", "--all"],
        vec!["resume", "--all"],
        vec!["approve", "a1"],
        vec!["reject", "a1", "--note", "no"],
        vec!["steer", &open, "faster"],
        vec!["console", "--no-browser"],
    ];
    let words =
        format!("process {} runs this organism and does not answer; nothing was sent", organism.pid());
    let fix = format!("kill -CONT {}", organism.pid());
    for (command, (ran, took)) in commands.iter().zip(all(at, &commands, &[])) {
        assert!(ran.code == Some(5) && took < BOUND, "{command:?}: {took:?} {ran:?}");
        says(&ran, &[&words, &fix, "systole stop --now"]);
    }
    let before = systole(at, &["log", "--json"]).stdout;
    organism.signal(Signal::CONT);
    // An order that is answered now comes after everything that was left in the organism's connections.
    let paused = systole(at, &["pause", "--all"]);
    assert_eq!(paused.code, Some(0), "{paused:?}");
    let after = systole(at, &["log", "--json"]).stdout;
    let new: Vec<&str> = after.strip_prefix(&before).unwrap().lines().collect();
    assert!(new.len() == 1 && new[0].contains("\"code\":\"paused\""), "{new:?}");
    organism.interrupt();
}

#[test]
fn a_timeout_holds_although_the_organism_does_not_answer() {
    let (folder, organism, _) = stopped();
    let RunFile { pid, address, token, .. } = run_file(folder.path());
    let url = format!("http://{address}");
    let document = "<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">Hi</ask>";
    std::fs::write(folder.path().join("ask.xml"), document).unwrap();
    let commands = [
        vec!["send", "--file", "ask.xml", "--to", "greeter", "--timeout", "300ms"],
        vec!["send", "--file", "ask.xml", "--to", "greeter", "--timeout", "300ms", "--url", &url],
        vec!["send", "--file", "ask.xml", "--to", "greeter"],
    ];
    let ran = all(folder.path(), &commands, &[("SYSTOLE_TOKEN", token.secret())]);
    let [(short, first), (far, second), (long, last)] = ran.try_into().unwrap();
    assert!([&short, &far, &long].iter().all(|ran| ran.code == Some(5)), "{short:?} {far:?} {long:?}");
    assert!(first < last && second < last && last < BOUND, "{first:?} {second:?} {last:?}");
    let words = format!("process {pid} runs this organism and does not answer");
    says(&short, &[&words]);
    says(&far, &[&url]);
    says(&long, &[&words]);
    organism.signal(Signal::CONT);
    organism.interrupt();
}

#[test]
fn what_reads_the_log_shows_it_and_says_that_the_organism_does_not_answer() {
    let (folder, organism, [held, _]) = stopped();
    let at = folder.path();
    let words = format!("process {} runs this organism and does not answer", organism.pid());
    let commands =
        [vec!["ps"], vec!["why"], vec!["why", &held], vec!["log"], vec!["tree", &held], vec!["doctor"]];
    for (command, (ran, took)) in commands.iter().zip(all(at, &commands, &[])) {
        let is_doctor = command[0] == "doctor";
        assert!(ran.code == Some(if is_doctor { 5 } else { 0 }) && took < BOUND, "{command:?}: {ran:?}");
        let shown = ran.stdout.clone() + &ran.stderr;
        let is_told = shown.split_whitespace().collect::<Vec<_>>().join(" ").contains(&words);
        assert_eq!(is_told, ["ps", "why", "doctor"].contains(&command[0]), "{command:?}: {ran:?}");
        assert!(shown.matches("does not answer").count() <= 1, "once: {ran:?}");
    }
    // An ending that a stopped process could not hear wakes it.
    let stopped = systole(at, &["stop"]);
    assert_eq!(stopped.code, Some(0), "{stopped:?}");
    says(&stopped, &["hello has stopped"]);
    organism.end();
}
