//! An organism that is killed leaves nothing of its programs behind: none that hangs, and nothing that one has started,
//! in a session of its own or not. One that is process 1 of a container leaves no dead process unwaited.

use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use systole_organism::runfile::RunFile;
use tokio::time::{Duration, Instant};

use crate::organism::folder;
use crate::program::{PATIENCE, Running, ask};
use crate::sandbox::processes_with;

/// It takes half a second, and more on a busy machine.
const SOON: Duration = Duration::from_secs(4);
/// A program that ignores TERM, starts others and hangs: a child, a grandchild whose parent has ended, and, where it
/// may leave its session, one in another session whose parent has ended.
const HANGS: &str = "trap '' TERM HUP
sh -c \"sleep 600; : $1 child\" &
sh -c \"sh -c 'sleep 600; : $1 grandchild' &\"
setsid true && sh -c \"setsid sh -c 'sleep 600; : $1 session' &\"
echo up > out/up
while :; do sleep 1; done
";
/// A program that answers and leaves processes behind, which end sooner or later than it.
const LEAVES: &str = "cat > /dev/null
sh -c 'sleep 0 &'
sh -c 'setsid sleep 600 > /dev/null 2>&1 &' 2> /dev/null
echo '<answer xmlns=\"https://xml-pipeline.org/ns/talk/v1\">hello</answer>'
";
const ASK: &str = "<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">hello</ask>";
/// Makes the system refuse namespaces to this organism.
const NO_NAMESPACES: &str =
    "for kind in user mnt net pid; do echo 0 > /proc/sys/user/max_${kind}_namespaces; done && exec \"$@\"";

fn listener(name: &str, run: &str, mode: &str, sandbox: &str) -> String {
    format!(
        "  {name}:\n    run: {run}\n    mode: {mode}\n    sandbox: {sandbox}\n    accepts: [ask]\n    \
         returns: [answer]\n    entry: true\n"
    )
}

fn organism(listeners: &str) -> tempfile::TempDir {
    let file = format!(
        "organism: {{name: hello}}\nconsole: {{listen: '127.0.0.1:0'}}\nlog: {{path: hello.db}}\nlisteners:\n\
         {listeners}"
    );
    let folder = folder(&[("organism.yaml", &file), ("hangs.sh", HANGS), ("leaves.sh", LEAVES)]);
    std::fs::create_dir(folder.path().join("out")).unwrap();
    folder
}

/// Starts an organism, with other words in front of the program.
fn started(folder: &Path, before: &[&str]) -> Running {
    let mut command = Command::new(before[0]);
    command.args(&before[1..]).args([env!("CARGO_BIN_EXE_systole"), "run"]).current_dir(folder);
    let mut running = Running::of(
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap(),
    );
    running.says("its log is");
    running
}

/// How to reach an organism, in whatever namespace it counts its processes.
fn reached(folder: &Path) -> RunFile {
    serde_json::from_slice(&std::fs::read(folder.join("hello.db.run")).unwrap()).unwrap()
}

/// Each process of the system, with its parent and its state.
fn processes() -> Vec<(i32, i32, String)> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let stats = entries.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    let read = |stat: String| {
        let (pid, rest) = stat.split_once(' ')?;
        let (_, rest) = rest.rsplit_once(") ")?;
        let mut rest = rest.split(' ');
        let state = rest.next()?.to_owned();
        Some((pid.parse().ok()?, rest.next()?.parse().ok()?, state))
    };
    stats.filter_map(read).collect()
}

/// The processes that descend from one, with their states.
fn descendants(first: u32) -> Vec<(i32, String)> {
    let all = processes();
    let (mut found, mut parents) = (Vec::new(), vec![i32::try_from(first).unwrap()]);
    while let Some(parent) = parents.pop() {
        for (pid, _, state) in all.iter().filter(|(_, of, _)| *of == parent) {
            parents.push(*pid);
            found.push((*pid, state.clone()));
        }
    }
    found
}

fn until(what: &str, patience: Duration, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + patience;
    while !is_so() {
        assert!(Instant::now() < end, "not so: {what}");
        std::thread::yield_now();
    }
}

/// Gives the hanging listener work, kills the organism, and expects that none of its processes is left.
fn killed(mode: &str, sandbox: &str, level: &str, before: &[&str]) {
    let marker = format!("b22-{mode}-{level}-{}", std::process::id());
    let folder = organism(&listener("hangs", &format!("[sh, hangs.sh, {marker}]"), mode, sandbox));
    let mut running = started(folder.path(), before);
    if level != "none" {
        running.shows(&format!("in a sandbox of level {level}"));
    }
    let said = ask(&reached(folder.path()), "POST", "/v1/messages", &[], ASK);
    assert_eq!(said.status, 202, "{said:?}");
    let wanted = if level == "landlock" { 3 } else { 4 };
    until("all have begun", PATIENCE, || {
        folder.path().join("out/up").exists() && processes_with(&marker) >= wanted
    });
    let all = descendants(running.pid());
    assert!(all.len() > wanted, "{mode} {level}: {all:?}");
    running.signal(Signal::KILL);
    drop(running);
    let lives = |process: &i32| processes().iter().any(|(pid, _, state)| pid == process && state != "Z");
    until("all have ended", SOON, || {
        processes_with(&marker) == 0 && !all.iter().any(|(process, _)| lives(process))
    });
}

#[test]
fn b22_programs_that_hang_end_with_all_they_started_when_their_organism_is_killed() {
    for mode in ["once", "stay"] {
        killed(mode, "none", "none", &["env"]);
    }
}

#[test]
fn b22_sandboxed_programs_that_hang_end_with_all_they_started_when_their_organism_is_killed() {
    let without = ["unshare", "-Ur", "--mount", "sh", "-c", NO_NAMESPACES, "sh"];
    for mode in ["once", "stay"] {
        killed(mode, "{write: [out]}", "full", &["env"]);
        killed(mode, "{write: [out]}", "landlock", &without);
    }
}

#[test]
fn b22_an_organism_that_is_process_1_leaves_no_zombie_after_400_calls() {
    let listeners = [
        listener("leaves", "[sh, leaves.sh]", "once", "none"),
        listener("boxed", "[sh, leaves.sh]", "once", "{}"),
    ];
    let folder = organism(&listeners.concat());
    let as_user = ["unshare", "-Ur", "--pid", "--fork", "--mount-proc"];
    let as_root = ["unshare", "--pid", "--fork", "--mount-proc"];
    let is_root = rustix::process::geteuid().is_root();
    let running = started(folder.path(), if is_root { &as_root[..] } else { &as_user[..] });
    let run = reached(folder.path());
    let calls = |to: &'static str, count: usize| {
        let run = run.clone();
        std::thread::spawn(move || {
            for _ in 0..count {
                let path = format!("/v1/messages?to={to}");
                let answer = ask(&run, "POST", &path, &[("Systole-Wait", "120")], ASK);
                assert!(answer.body.contains("hello</answer>"), "{to}: {answer:?}");
            }
        })
    };
    let callers = [calls("leaves", 150), calls("leaves", 150), calls("boxed", 100)];
    callers.into_iter().for_each(|caller| caller.join().unwrap());
    let zombies = || descendants(running.pid()).iter().filter(|(_, state)| state == "Z").count();
    until("no zombie is left", PATIENCE, || zombies() == 0);
    // TERM for process 1 is for the organism.
    let (first, _, _) =
        processes().into_iter().find(|(_, parent, _)| u32::try_from(*parent) == Ok(running.pid())).unwrap();
    kill_process(Pid::from_raw(first).unwrap(), Signal::TERM).unwrap();
    let ran = running.end();
    assert_eq!(ran.code, Some(0), "{ran:?}");
}
