//! `peers`: a step of Systole next to a step of other systems that a user could choose. A step is a piece of work
//! whose result is on disk before the next begins: here a call to a Python program and its answer, and in the others a
//! Python function whose result is stored. `docs/reference/performance.md` says what else differs.
//!
//! The others are installed below `target/peers`, with `pip` and `npm`. The commands are printed first; with
//! `NO_INSTALL=1` nothing else happens.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use systole_core::types::composition::Reach;
use systole_organism::plan::LogPlace;

use crate::door::{Tool, program};
use crate::hops;
use crate::report::{Table, now, sized};
use crate::walk::{self, Course, GRACE, Stage};

const SCRIPTS: &str = "benches/peers";
const HOME: &str = "target/peers";
/// How long the server of Restate may take to start.
const START: Duration = Duration::from_secs(60);

const INSTALL: [&[&str]; 3] = [
    &["python3", "-m", "venv", "target/peers/python"],
    &[
        "target/peers/python/bin/pip",
        "install",
        "--quiet",
        "dbos==3.4.0",
        "langgraph==1.2.22",
        "langgraph-checkpoint-sqlite==3.1.2",
        "restate-sdk==1.3.0",
        "hypercorn==0.18.0",
    ],
    &["npm", "install", "--silent", "--prefix", "target/peers", "@restatedev/restate-server@1.7.12"],
];

/// Steps one after another, and of sixteen threads at once.
pub(crate) fn beside(table: &mut Table) {
    if !installed() {
        return;
    }
    let steps = sized("STEPS", 2_000);
    let restate = Restate::start();
    for at_once in [1, 16] {
        let (mut rates, mut inline) = ([const { Vec::new() }; 3], Vec::new());
        for _ in 0..table.runs {
            let ours = of_systole(Tool::Python, at_once, steps as u64);
            inline.push((of_systole(Tool::Inline, at_once, 10 * steps as u64), ours));
            let theirs = [
                of_script("dbos_steps.py", &folder(), steps, at_once),
                of_script("langgraph_steps.py", &folder(), steps, at_once),
                of_script("restate_steps.py", &restate.door, steps, at_once),
            ];
            rates.iter_mut().zip(theirs).for_each(|(all, rate)| all.push((rate, ours)));
        }
        let what = |who: &str| format!("{who}, {at_once} at once, beside Systole with Python");
        table.add(&what("Systole, listener in the process"), "/s", "", &inline);
        for (who, rates) in
            ["DBOS with SQLite", "LangGraph with its SQLite saver", "Restate"].iter().zip(&rates)
        {
            table.add(&what(who), "/s", "", rates);
        }
    }
}

/// Installs what is missing. Returns whether everything is there.
fn installed() -> bool {
    let only_prints = std::env::var("NO_INSTALL").is_ok_and(|value| value == "1");
    for command in INSTALL {
        println!("{}", command.join(" "));
        if !only_prints {
            let (name, arguments) = command.split_first().unwrap();
            let ended = Command::new(name).args(arguments).stdin(Stdio::null()).status();
            assert!(ended.as_ref().is_ok_and(std::process::ExitStatus::success), "{name} failed: {ended:?}");
        }
    }
    !only_prints
}

fn folder() -> String {
    let folder = tempfile::tempdir_in(HOME).unwrap().keep();
    folder.to_string_lossy().into_owned()
}

/// Steps in a second of an organism whose walkers call a tool.
fn of_systole(tool: Tool, at_once: usize, steps: u64) -> f64 {
    let folder = tempfile::tempdir_in("target").unwrap();
    let course = Course::new(hops::TEXT, 1, Stage::Gather);
    walk::runtime().block_on(async {
        let log = LogPlace::File(folder.path().join("bench.db"));
        let organism = walk::start_recast(log, &course, 1, |(listeners, inline)| {
            if let Some(program) = program(tool) {
                let tool = listeners.get_mut("tool").unwrap();
                (tool.reach, tool.in_flight) = (Reach::Process(program), at_once);
                inline.remove("tool");
            }
        })
        .await;
        // A step is two hops: the call and its answer.
        let pace = hops::pace(&organism, &course, at_once, 2 * steps).await;
        organism.stop(GRACE).await;
        pace.rate / 2.0
    })
}

/// Steps in a second of a script.
fn of_script(script: &str, place: &str, steps: usize, at_once: usize) -> f64 {
    let output = python()
        .arg(Path::new(SCRIPTS).join(script))
        .args([place, &steps.to_string(), &at_once.to_string()])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let seconds = said.lines().last().and_then(|line| line.trim().parse::<f64>().ok());
    assert!(output.status.success() && seconds.is_some(), "{script}: {output:?}");
    steps as f64 / seconds.unwrap()
}

fn python() -> Command {
    let mut python = Command::new(Path::new(HOME).join("python/bin/python"));
    python.stdin(Stdio::null()).env("DO_NOT_TRACK", "1");
    python
}

/// A server of Restate with its service, on ports of this machine alone.
struct Restate {
    processes: [Child; 2],
    door: String,
    _folder: tempfile::TempDir,
}

impl Restate {
    fn start() -> Restate {
        let [door, admin, node, service] = [(); 4].map(|()| free_address());
        let folder = tempfile::tempdir_in(HOME).unwrap();
        let serve = python()
            .arg(Path::new(SCRIPTS).join("restate_steps.py"))
            .args(["serve", service.rsplit_once(':').unwrap().1])
            .spawn()
            .unwrap();
        let server = Command::new(server())
            .arg("--no-logo")
            .current_dir(folder.path())
            .env("RESTATE_BASE_DIR", "data")
            .env("RESTATE_LOG_FILTER", "off")
            .env("RESTATE_LISTEN_MODE", "tcp")
            .env("RESTATE_DISABLE_TELEMETRY", "true")
            .env("DO_NOT_TRACK", "1")
            .env("RESTATE_BIND_ADDRESS", &node)
            .env("RESTATE_INGRESS__BIND_ADDRESS", &door)
            .env("RESTATE_ADMIN__BIND_ADDRESS", &admin)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let restate = Restate { processes: [server, serve], door, _folder: folder };
        let (began, body) = (now(), format!("{{\"uri\":\"http://{service}\"}}"));
        while let Err(fault) = ureq::post(format!("http://{admin}/deployments"))
            .header("content-type", "application/json")
            .send(&body)
        {
            assert!(began.elapsed() < START, "the server of Restate does not start: {fault}");
            // It says nowhere that it is ready.
            std::thread::park_timeout(Duration::from_millis(200));
        }
        restate
    }
}

impl Drop for Restate {
    fn drop(&mut self) {
        for process in &mut self.processes {
            let _already_over = process.kill();
            let _reaped = process.wait();
        }
    }
}

/// The program of the server, which its package keeps beside a starter.
fn server() -> PathBuf {
    let packages = std::fs::read_dir(Path::new(HOME).join("node_modules/@restatedev")).unwrap();
    let programs = packages.map(|package| package.unwrap().path().join("bin/restate-server"));
    let found = programs.into_iter().find(|program| program.is_file() && !program.is_symlink());
    std::path::absolute(found.unwrap()).unwrap()
}

/// An address that was free a moment ago.
fn free_address() -> String {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().to_string()
}
