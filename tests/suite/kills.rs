//! Organisms that are killed at every step of the pump, and continue: real processes, with the
//! workload, the clients and the judge of `systole-soak`.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::Signal;
use systole_core::rules::core_payload;
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::{LogReader as _, Position};
use systole_core::types::record::{MessageRole, Record, RecordCode, RecordKind};
use systole_log::sqlite;
use systole_soak::crowd::SoakCrowd;
use systole_soak::dice::SeededDice;
use systole_soak::house::RunFolder;
use systole_soak::life::{self, LifeSettings, OrganismLife, PATIENCE};
use systole_soak::verdict::{self, SoakResult};
use systole_soak::{self as soak, ClientTally};
use systole_system::failpoint;

const PROGRAM: &str = env!("CARGO_BIN_EXE_systole");
/// Clients of each trial: two that meet in every queue.
pub(crate) const CLIENTS: u64 = 2;

/// One organism's lives, and its clients.
pub(crate) struct Trial {
    pub(crate) house: RunFolder,
    pub(crate) crowd: SoakCrowd,
    _folder: tempfile::TempDir,
}

impl Trial {
    pub(crate) fn new(seed: u64) -> Trial {
        Trial::set(seed, &[])
    }

    /// The same with more settings than in the file of its house.
    pub(crate) fn set(seed: u64, settings: &[String]) -> Trial {
        let folder = tempfile::tempdir().unwrap();
        let house =
            RunFolder::build(folder.path(), Path::new(PROGRAM)).unwrap().set(settings.iter().cloned());
        let crowd = SoakCrowd::start(&house, CLIENTS, &SeededDice::new(seed)).unwrap();
        Trial { house, crowd, _folder: folder }
    }

    /// Begins a life. Returns also whether it started to run.
    pub(crate) fn begin(&self, omen: &LifeSettings) -> (OrganismLife, bool) {
        let mut life = OrganismLife::begin(&self.house, omen).unwrap();
        let runs = life.runs().unwrap();
        if runs {
            self.crowd.board().post(self.house.run_file());
        }
        (life, runs)
    }

    /// A life that has to die at that step.
    pub(crate) fn dies_at(&self, at: &str) {
        let (mut life, _) = self.begin(&LifeSettings::failpoint(at));
        assert!(life.ends_within(PATIENCE), "{at} never fired: {}", life::last_words(&self.house));
        self.crowd.board().take_down();
        let status = life.end().unwrap();
        let words = life::last_words(&self.house);
        assert_eq!(status.signal(), Some(Signal::KILL.as_raw()), "{at}: {status}: {words}");
    }

    /// A life without a failpoint: some more messages are accepted, then it stops cleanly.
    pub(crate) fn lives(&self) {
        let (life, runs) = self.begin(&LifeSettings::default());
        assert!(runs, "{}", life::last_words(&self.house));
        let board = self.crowd.board();
        assert!(board.acknowledges(board.acknowledged() + 3, PATIENCE), "nothing more is taken");
        life.ask_to_stop();
        let status = life.end().unwrap();
        board.take_down();
        assert!(status.success(), "{status}: {}", life::last_words(&self.house));
    }

    /// The last life: everything comes to rest, and is judged.
    pub(crate) fn judged(self, what: &str) -> (ClientTally, SoakResult) {
        let (tally, verdict, ()) = self.judged_by(what, |_| ());
        (tally, verdict)
    }

    /// The same, and the result of another look at the house afterwards.
    pub(crate) fn judged_by<T>(
        self,
        what: &str,
        look: impl FnOnce(&RunFolder) -> T,
    ) -> (ClientTally, SoakResult, T) {
        let tally = soak::rest(&self.house, &LifeSettings::default(), self.crowd).unwrap();
        let verdict = verdict::judge(&self.house, CLIENTS, &tally).unwrap();
        assert!(verdict.is_clean(), "{what}: {verdict:#?}");
        assert!(verdict.answered > 0, "{what}: {verdict:#?}");
        let seen = look(&self.house);
        (tally, verdict, seen)
    }
}

/// Dies at the first, the second and the fifth pass of that step, with a life between.
fn kill_at(step: &str) {
    let trial = Trial::new(3);
    for times in ["1", "2", "5"] {
        trial.dies_at(&format!("{step}:{times}"));
        trial.lives();
    }
    trial.judged(step);
}

#[test]
fn c3_kill_at_every_step() {
    // K5 is between a write and its sync: the tests with strace cover it.
    let steps: Vec<&str> =
        failpoint::NAMES.iter().map(|(name, _)| *name).filter(|name| name.starts_with('K')).collect();
    assert_eq!(steps.len(), 11);
    // Lives mostly wait, so a few trials run in parallel.
    std::thread::scope(|scope| {
        for some in steps.chunks(3) {
            scope.spawn(|| some.iter().for_each(|step| kill_at(step)));
        }
    });
}

/// The end of a child and the notice to its parent are one commit: before it neither exists, after it
/// both exist, and the parent gets one notice.
#[test]
fn b5_kills_around_the_commit_that_ends_a_child() {
    let trial = Trial::new(11);
    let mut ends = 0;
    for times in ["1", "2", "3", "1", "4", "2"] {
        for step in ["C4:", "C6:"] {
            trial.dies_at(&[step, times].concat());
            let (ended, told) = ends_of_children(&trial.house);
            assert_eq!(told.len(), ended.len(), "{step}{times}: each is reported exactly once");
            assert_eq!(told.into_iter().collect::<BTreeSet<_>>(), ended, "{step}{times}");
            let more = ended.len() - ends;
            ends = ended.len();
            let stored = times.parse::<usize>().unwrap() - usize::from(step == "C4:");
            assert!(more >= stored, "{step}{times}: only {more} of {stored} commits are there");
        }
    }
    trial.judged("around the end of a child");
}

/// The children that ended, and the children whose parents got a notice, once for each notice.
fn ends_of_children(house: &RunFolder) -> (BTreeSet<ThreadId>, Vec<ThreadId>) {
    let log = sqlite::open_reading(&house.log()).unwrap();
    let (mut ended, mut told, mut at) = (BTreeSet::new(), Vec::new(), Position(0));
    loop {
        let page = log.read_after(at, 1_000).unwrap();
        let Some((last, _)) = page.last() else { return (ended, told) };
        at = *last;
        for (_, Record { header: h, body, .. }) in page {
            let outcome = h.code == Some(RecordCode::Role(MessageRole::Final))
                || h.kind == RecordKind::Outcome && h.code != Some(RecordCode::DeadLetter);
            let is_top = h.call.as_ref().is_some_and(|call| call.depth() == 0);
            if h.thread.parent().is_some() && (h.kind == RecordKind::Terminal || outcome && is_top) {
                ended.insert(h.thread);
            } else if h.code == Some(RecordCode::Role(MessageRole::Inbox)) {
                told.extend(core_payload::finished_child(&body));
            }
        }
    }
}

#[test]
fn c3_kill_twice_in_a_row_during_recovery() {
    let trial = Trial::new(4);
    for times in ["1", "2", "5"] {
        // By then the log holds more than the last checkpoint covers.
        trial.dies_at("K6:30");
        let at = format!("R:{times}");
        trial.dies_at(&at);
        trial.dies_at(&at);
        // Kills also hit the decisions of the recovery.
        trial.dies_at("K4:3");
        trial.dies_at("K8:1");
    }
    trial.judged("recovery");
}

#[test]
fn a_failpoint_is_not_passed_on_to_programs() {
    let trial = Trial::new(5);
    let desk = trial.house.folder().join("listeners/desk.sh");
    let script = format!("env >> seen.env\n{}", std::fs::read_to_string(&desk).unwrap());
    std::fs::write(desk, script).unwrap();
    let omen = LifeSettings::failpoint("K12:4000000000");
    let (life, _) = trial.begin(&omen);
    assert!(trial.crowd.board().acknowledges(5, PATIENCE));
    drop(life);
    trial.crowd.board().take_down();
    let seen = trial.house.folder().join("seen.env");
    soak::rest(&trial.house, &omen, trial.crowd).unwrap();
    let seen = std::fs::read_to_string(seen).unwrap();
    assert!(seen.contains("SYSTOLE_LISTENER=desk") && !seen.contains(failpoint::VARIABLE), "{seen}");
}

#[test]
fn c3_twenty_kills_through_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("s");
    let arguments =
        ["systole-soak", "--kills", "20", "--seed", "20", "--json", "--program", PROGRAM, "--folder"];
    let arguments = arguments.into_iter().map(OsStr::new).chain([place.as_os_str()]);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let exit = soak::command::run(arguments, &mut out, &mut err);
    let (stdout, stderr) = (String::from_utf8(out).unwrap(), String::from_utf8_lossy(&err));
    let came: serde_json::Value =
        serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{stdout}{stderr}"));
    assert_eq!(exit, 0, "{came:#}\n{stderr}");
    assert_eq!((came["kills"].as_u64(), came["lost"].as_u64()), (Some(20), Some(0)), "{came:#}");
    // The number of messages that are answered between the kills depends on the speed of the machine.
    assert!(came["answered"].as_u64() > Some(0), "{came:#}");
    assert!(folder.path().join("s/soak.db").exists(), "a folder that was named is kept");
}

#[test]
fn a_program_that_is_left_behind_is_seen_and_a_neighbour_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let house = RunFolder::build(folder.path(), Path::new(PROGRAM)).unwrap();
    let begin = |badge: &str| {
        let mut cat = Command::new("cat");
        cat.current_dir(folder.path()).env("SYSTOLE_ORGANISM", badge);
        cat.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
    };
    let (mut left, mut neighbour) = (begin("soak"), begin("another"));
    // Both have started when they answer; before that they are still this process under another
    // number.
    for cat in [&mut left, &mut neighbour] {
        cat.stdin.as_mut().unwrap().write_all(b"x").unwrap();
        cat.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    }
    assert_eq!(house.dwellers(), [i32::try_from(left.id()).unwrap()]);
    assert_eq!(house.programs_of(std::process::id()), house.dwellers());
    for cat in [&mut left, &mut neighbour] {
        drop(cat.stdin.take());
        cat.wait().unwrap();
    }
    assert!(house.dwellers().is_empty());
}

/// The judge must find a log that has lost something.
#[test]
fn what_is_lost_or_asked_twice_is_found() {
    let trial = Trial::new(6);
    trial.lives();
    let house = trial.house.clone();
    let tally = soak::rest(&house, &LifeSettings::default(), trial.crowd).unwrap();
    let verdict = verdict::judge(&house, CLIENTS, &tally).unwrap();
    assert!(verdict.is_clean(), "{verdict:#?}");
    let history = std::fs::read_to_string(house.history(1)).unwrap();
    let invented =
        history.lines().find(|line| line.contains("\"acked\":{")).unwrap().replace("\"k-1-", "\"k-1-never-");
    std::fs::write(house.history(1), format!("{history}{invented}\n")).unwrap();
    std::fs::write(house.book(), "once\ntwice\ntwice\n").unwrap();
    let verdict = verdict::judge(&house, CLIENTS, &tally).unwrap();
    assert!(!verdict.is_clean() && verdict.lost + verdict.open > 0, "{verdict:#?}");
    assert!(verdict.findings.iter().any(|words| words.contains("2 times for twice")), "{verdict:#?}");
}
