//! Sandboxes of programs: attackers in Python that try every way out, at both levels, with the real helper and the real
//! kernel, as this user and, if that is the superuser, as an ordinary one; and organisms whose listeners run in one.

mod carrier;
mod memory;
mod network;
pub(crate) mod organism;
mod paths;
mod processes;
mod ways;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use systole_sandbox::{SandboxLevel, SandboxPolicy, SandboxStart, make_private_folder};

use crate::program::{Ran, Running};

const BOTH: [SandboxLevel; 2] = [SandboxLevel::Full, SandboxLevel::Landlock];
/// The number of a user who owns nothing, on every system.
pub(crate) const OTHER_USER: u32 = 65_534;

/// A scene for each level, and as an ordinary user too if this one is the superuser.
fn everywhere() -> impl Iterator<Item = (SandboxLevel, Scene)> {
    let others = rustix::process::geteuid().is_root().then_some(Some(OTHER_USER));
    let users = [None].into_iter().chain(others);
    users.flat_map(|user| BOTH.map(|level| (level, Scene::of(user))))
}

/// The real Python: a script that only chooses one could not run in a sandbox.
fn python() -> String {
    let found = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().unwrap();
    let path = String::from_utf8(found.stdout).unwrap();
    std::fs::canonicalize(path.trim()).unwrap().display().to_string()
}

/// A folder outside of sandboxes with something to steal, and one in which a program may write.
struct Scene {
    place: tempfile::TempDir,
    policy: SandboxPolicy,
    /// As whom programs run. None for this user.
    user: Option<u32>,
}

impl Scene {
    fn new() -> Scene {
        Scene::of(None)
    }

    fn of(user: Option<u32>) -> Scene {
        let place = tempfile::tempdir().unwrap();
        for folder in ["outside", "writable"] {
            std::fs::create_dir(place.path().join(folder)).unwrap();
        }
        for file in ["planted", "own", "hello.db.run"] {
            std::fs::write(place.path().join("outside").join(file), "secret").unwrap();
        }
        let writable = place.path().join("writable");
        let below = ["", "outside", "writable", "outside/planted", "outside/own", "outside/hello.db.run"];
        for path in below.map(|path| place.path().join(path)) {
            chown(path, user, user).unwrap();
        }
        let policy = SandboxPolicy {
            write: vec![writable],
            processes: 16,
            memory_bytes: 2 << 30,
            output_bytes: 1 << 20,
            ..SandboxPolicy::default()
        };
        Scene { place, policy, user }
    }

    /// Lets a command run as the user of the scene.
    fn as_user<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        match self.user {
            Some(user) => command.uid(user).gid(user),
            None => command,
        }
    }

    /// A Python that the user of the scene may start.
    fn python(&self) -> String {
        let of_all = || std::fs::canonicalize("/usr/bin/python3").expect("a Python for all users");
        self.user.map_or_else(python, |_| of_all().display().to_string())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// Runs a program in a sandbox to its end.
    fn run(&self, level: SandboxLevel, run: &[&str]) -> Ran {
        self.run_in(self.place.path(), level, run)
    }

    /// The same in another folder.
    fn run_in(&self, folder: &Path, level: SandboxLevel, run: &[&str]) -> Ran {
        let run: Vec<String> = run.iter().map(|word| (*word).to_owned()).collect();
        let private = make_private_folder(level).unwrap();
        let start = SandboxStart {
            helper: Path::new(env!("CARGO_BIN_EXE_systole")),
            level,
            policy: &self.policy,
            run: &run,
            folder,
        };
        let environment: BTreeMap<OsString, OsString> =
            std::env::vars_os().filter(|(name, _)| name == "PATH").collect();
        let mut command = start.make_command(&environment, private.as_ref()).unwrap();
        let home = command.get_envs().find(|(name, _)| *name == "HOME").unwrap().1.unwrap().to_owned();
        if private.is_some() {
            let home = PathBuf::from(home);
            for path in [home.parent().unwrap().to_owned(), home.clone(), home.with_file_name("tmp")] {
                chown(path, self.user, self.user).unwrap();
            }
        }
        self.as_user(&mut command);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running::of(command.spawn().unwrap()).end()
    }

    /// Tries ways out, in a sandbox or without one, and returns the result of each.
    fn attack(&self, level: Option<SandboxLevel>, ways: &[&str]) -> BTreeMap<String, String> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/sandbox/attack.py");
        let (outside, writable) = (self.path("outside"), self.path("writable"));
        let (outside, writable) = (outside.display().to_string(), writable.display().to_string());
        // It ends with its stdin.
        let mut canary = Command::new("cat");
        let mut canary = self.as_user(canary.stdin(Stdio::piped()).stdout(Stdio::null())).spawn().unwrap();
        let (python, process) = (self.python(), canary.id().to_string());
        let mut run = vec![python.as_str(), "-u", script, &outside, &process, &writable];
        run.extend(ways);
        let ran = match level {
            Some(level) => self.run(level, &run),
            None => {
                let mut command = Command::new(run[0]);
                command.args(&run[1..]).env("TMPDIR", &writable).current_dir(self.place.path());
                command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
                Running::of(command.spawn().unwrap()).end()
            }
        };
        drop(canary.stdin.take());
        canary.wait().unwrap();
        let results: BTreeMap<String, String> = ran
            .stdout
            .lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(way, result)| (way.to_owned(), result.to_owned()))
            .collect();
        assert_eq!(results.len(), ways.len(), "{level:?}: {ran:?}");
        results
    }

    /// Tries ways out that must all be refused.
    fn refuses(&self, level: SandboxLevel, ways: &[&str]) {
        let open: Vec<_> = self
            .attack(Some(level), ways)
            .into_iter()
            .filter(|(_, result)| !result.starts_with("refused"))
            .collect();
        assert!(open.is_empty(), "level {}, user {:?}: {open:?}", level.as_str(), self.user);
    }

    /// Tries what must work.
    fn allows(&self, level: SandboxLevel, ways: &[&str]) {
        let refused: Vec<_> =
            self.attack(Some(level), ways).into_iter().filter(|(_, result)| result != "done").collect();
        assert!(refused.is_empty(), "level {}, user {:?}: {refused:?}", level.as_str(), self.user);
    }
}

/// The processes whose command line has this text in it.
pub(crate) fn processes_with(marker: &str) -> usize {
    let lines = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = lines.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(marker)).count()
}

/// Waits until no process has this text in its command line.
async fn none_is_left(marker: &str) {
    let end = tokio::time::Instant::now() + crate::program::PATIENCE;
    while processes_with(marker) > 0 {
        assert!(tokio::time::Instant::now() < end, "a process with {marker} is left");
        tokio::task::yield_now().await;
    }
}
