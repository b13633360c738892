//! A cold start, and an idle organism: the time from process start to the first durable delivery with
//! ten listeners, the memory of `systole run`, and whether it polls.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use systole_carriers::{InlineListener, from_answer};
use systole_config as config;
use systole_core::types::ids::Name;
use systole_kit::reply::{Item, ReplyContent};
use systole_organism::plan::{LogPlace, ReloadAtStart, RunPlan};
use systole_organism::running::Organism;
use systole_system::failpoint::Failpoint;

use crate::child::{resident_mb, resident_of_nothing, until_first_word};
use crate::report::{Table, median, sized, worked};
use crate::walk::{self, filled};

const LISTENERS: usize = 10;

/// Writes an organism of ten listeners, each with its own schema.
fn lay_out(folder: &Path, run: &str) {
    let xsd = fs::read_to_string("config/bench/schemas/tool.xsd").unwrap();
    let mut text =
        String::from("organism: {name: ten, entry: l0}\nconsole: {listen: \"127.0.0.1:0\"}\nlisteners:\n");
    for n in 0..LISTENERS {
        let ns = format!("ns/tool{}/v1", if n == 0 { String::new() } else { format!("-{n}") });
        fs::write(folder.join(format!("s{n}.xsd")), xsd.replace("ns/tool/v1", &ns)).unwrap();
        text.push_str(&format!(
            "  l{n}: {{schema: s{n}.xsd, accepts: [work], returns: [worked], entry: true{run}}}\n"
        ));
    }
    fs::write(folder.join("organism.yaml"), text).unwrap();
}

/// The child: starts that organism with Rust listeners on a new log, and sends one message. It prints
/// a line when the message is delivered, which is after it is on disk.
pub(crate) fn first_delivery(folder: &Path) {
    let names: Vec<String> = (0..LISTENERS).map(|n| format!("l{n}")).collect();
    let given: Vec<&str> = names.iter().map(String::as_str).collect();
    let listener: Arc<dyn InlineListener> = from_answer(|asked| {
        println!("delivered 1");
        async move { ReplyContent::Items(vec![Item::plain(asked.payload)]) }
    });
    let inline: BTreeMap<_, _> = names.iter().map(|n| (Name::parse(n).unwrap(), listener.clone())).collect();
    walk::runtime().block_on(async {
        let file = config::load_given(&folder.join("organism.yaml"), &given).unwrap();
        let organism = Organism::start(RunPlan {
            bus: None,
            managed: None,
            stands_by: None,
            given_up: None,
            proof: None,
            followers: Vec::new(),
            schedules: Vec::new(),
            reload: ReloadAtStart::default(),
            composition: file.composition,
            directory: folder.into(),
            log: LogPlace::File(folder.join(format!("{}.db", std::process::id()))),
            inline,
            validators: 1,
            surroundings: BTreeMap::new(),
            steps: Arc::new(Failpoint::parse(None).unwrap()),
        })
        .await
        .unwrap();
        walk::ask(&organism, walk::message("first", filled(walk::TOOLS[0], "work", "x"), None)).await;
        organism.stop(walk::GRACE).await;
    });
}

/// From process start to the first durable delivery, next to a process that does nothing.
pub(crate) fn start(table: &mut Table) {
    let starts = sized("STARTS", 20);
    let (mut times, mut works) = (Vec::new(), Vec::new());
    for _ in 0..table.runs {
        let folder = tempfile::tempdir_in("target").unwrap();
        lay_out(folder.path(), "");
        let path = folder.path().to_str().unwrap();
        let started = |arguments: &[&str]| {
            let before = worked().1;
            let took: Vec<f64> = (0..starts).map(|_| until_first_word(arguments)).collect();
            (median(&took) * 1e3, (worked().1 - before) * 1e3 / starts as f64)
        };
        let (real, nothing) = (started(&["first-delivery", path]), started(&["nothing"]));
        times.push((real.0, nothing.0));
        works.push((real.1, nothing.1));
    }
    table.add("cold start to first durable delivery, ten inline", "ms", "30 ms", &times);
    table.add("  processor time of one, its stop with it", "ms", "", &works);
}

/// How often the threads of a process went to sleep voluntarily.
pub(crate) fn switches(process: &str) -> f64 {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let one = |status: String| {
        let line = status.lines().find_map(|l| l.strip_prefix("voluntary_ctxt_switches:")).unwrap();
        line.trim().parse::<f64>().unwrap()
    };
    tasks.map(|task| one(fs::read_to_string(task.unwrap().path().join("status")).unwrap())).sum()
}

/// Whether there is no output for that long.
fn silent(said: &Receiver<String>, long: Duration) -> bool {
    match said.recv_timeout(long) {
        Err(RecvTimeoutError::Timeout) => true,
        Err(RecvTimeoutError::Disconnected) => unreachable!("the organism ended"),
        Ok(_) => false,
    }
}

/// `systole run` with ten programs and no work, next to a process of this kind that only waits.
pub(crate) fn idle(table: &mut Table) {
    let (mut memory, mut wakes) = (Vec::new(), Vec::new());
    for _ in 0..table.runs {
        let folder = tempfile::tempdir_in("target").unwrap();
        lay_out(folder.path(), ", run: [cat]");
        let mut child = Command::new(env!("CARGO_BIN_EXE_systole"))
            .args(["run", "-f"])
            .arg(folder.path().join("organism.yaml"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let process = child.id().to_string();
        // Room for all its output: it only prints at its start.
        let (says, said) = sync_channel(256);
        let talk = BufReader::new(child.stderr.take().unwrap());
        let hearing = std::thread::spawn(move || {
            talk.lines().map_while(Result::ok).for_each(|line| drop(says.send(line)));
        });
        assert!(said.recv().is_ok(), "the organism says that it runs");
        // The fold is written a second after the last record.
        while !silent(&said, Duration::from_secs(3)) {}
        let before = switches(&process);
        let quiet = silent(&said, Duration::from_secs(5));
        wakes.push((switches(&process) - before, f64::NAN));
        memory.push((resident_mb(&process), resident_of_nothing()));
        assert!(quiet, "nothing happens while it is looked at");
        rustix::process::kill_process(
            rustix::process::Pid::from_child(&child),
            rustix::process::Signal::TERM,
        )
        .unwrap();
        child.wait().unwrap();
        hearing.join().unwrap();
    }
    table.add("idle `systole run`, ten programs, resident", "MB", "20 MB", &memory);
    table.add("the same, times a thread of it woke in 5 s", "", "0", &wakes);
}
