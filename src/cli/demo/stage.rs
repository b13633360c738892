//! The stage of the demo: its own folder, and the organism as a separate process, so that the kill is
//! real. It stops only the process that it started.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};

use crate::cli::examples::TEAM;
use crate::cli::place::quote_path;
use crate::limits;
use systole_organism::runfile::RunFile;
use systole_system::system;

/// The file that marks the folder as the demo's.
const SIGN: &str = ".systole-demo";

/// The door takes any free port, because another organism may use the default one.
const DOOR: &str = "console: {listen: 127.0.0.1:0}\n";

const EXPIRES_IN_FILE: &str = "expires: 30s";
/// What a person must approve, in the organism file and in the demo.
const WHEN_IN_FILE: &str = "when: dangerous, ";
const WHEN: &str = "when: always, ";

/// The folder with the organism of `config/team`.
pub(super) struct DemoFolder {
    folder: PathBuf,
    program: PathBuf,
}

impl DemoFolder {
    /// Makes the folder anew. Without a person to approve, requests expire soon.
    pub(super) fn lay_out(has_person: bool) -> Result<DemoFolder, String> {
        let program = std::env::current_exe().map_err(|e| format!("cannot tell which program runs: {e}"))?;
        let user = rustix::process::getuid().as_raw();
        let folder = std::env::temp_dir().join(format!("systole-demo-{user}"));
        let told = |error: std::io::Error| {
            let hindered = system::report_no_folder(&folder, "the folder of the demo", &error);
            format!("{}; try: TMPDIR with {}", hindered.words, hindered.fix)
        };
        if let Ok(found) = fs::symlink_metadata(&folder) {
            // A folder of the same name that is not the demo's must not be removed.
            if !found.is_dir() || found.uid() != user || !folder.join(SIGN).exists() {
                return Err(format!(
                    "{} is there and is not the demo's; remove it, or set TMPDIR",
                    folder.display()
                ));
            }
            fs::remove_dir_all(&folder).map_err(told)?;
        }
        fs::DirBuilder::new().mode(0o700).create(&folder).map_err(told)?;
        fs::write(folder.join(SIGN), "").map_err(told)?;
        for (name, text) in TEAM.files {
            let path = folder.join(name);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent).map_err(told)?;
            }
            let mut text = (*text).to_owned();
            if *name == "organism.yaml" {
                text.push_str(DOOR);
                text = text.replace(WHEN_IN_FILE, WHEN);
                let expires = if has_person { limits::DEMO_PERSON } else { limits::DEMO_NO_PERSON };
                text = text.replace(EXPIRES_IN_FILE, &format!("expires: {}s", expires.as_secs()));
            }
            fs::write(path, text).map_err(told)?;
        }
        Ok(DemoFolder { folder, program })
    }

    pub(super) fn log_path(&self) -> PathBuf {
        self.folder.join("team.db")
    }

    /// The program, as typed in the reader's folder.
    pub(super) fn program_path(&self) -> String {
        let here = std::env::current_dir().unwrap_or_default();
        let on_path = std::env::var_os("PATH").is_some_and(|path| {
            std::env::split_paths(&path).any(|folder| folder.join("systole") == self.program)
        });
        let program = match self.program.strip_prefix(&here) {
            _ if on_path => Path::new("systole").to_owned(),
            Ok(relative) => Path::new(".").join(relative),
            Err(_) => self.program.clone(),
        };
        quote_path(&program)
    }
}

/// Whether Python is installed; two of the demo's programs need it.
pub(super) fn has_python() -> bool {
    let mut python = Command::new("python3");
    python.arg("-V").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    python.status().is_ok_and(|status| status.success())
}

/// The organism's process.
pub(super) struct DemoOrganism {
    child: Child,
    reached: RunFile,
}

impl Drop for DemoOrganism {
    fn drop(&mut self) {
        // The demo leaves no process behind, even after an error. A process that has already ended
        // cannot be killed, which is fine.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

impl DemoOrganism {
    /// Starts the organism and waits until it reports its address.
    pub(super) fn start(stage: &DemoFolder) -> Result<DemoOrganism, String> {
        let mut child = Command::new(&stage.program)
            .args(["run", "--organism"])
            .arg(stage.folder.join("organism.yaml"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| format!("{}: {e}", stage.program.display()))?;
        let words = child.stderr.take().map(BufReader::new);
        let heard = words.ok_or_else(String::new).and_then(wait_until_it_listens);
        match (heard, RunFile::find_running(&stage.log_path())) {
            (Ok(words), Some(reached)) => {
                drain_output(words);
                Ok(DemoOrganism { child, reached })
            }
            (Ok(_), None) => {
                drop(child.kill());
                Err("the organism reported that it listens, but not its address".to_owned())
            }
            (Err(words), _) => {
                drop(child.wait());
                Err(format!("the organism does not start:\n{words}"))
            }
        }
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn run_file(&self) -> RunFile {
        self.reached.clone()
    }

    /// Kills it, as a power cut would.
    pub(super) fn kill(&mut self) -> Result<u32, String> {
        self.child.kill().and_then(|()| self.child.wait()).map_err(|e| e.to_string())?;
        Ok(self.child.id())
    }

    /// Asks it to stop, and waits until it has.
    pub(super) fn stop(mut self) -> Result<(), String> {
        let pid = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw);
        if let Some(pid) = pid {
            rustix::process::kill_process(pid, rustix::process::Signal::TERM).map_err(|e| e.to_string())?;
        }
        self.child.wait().map(drop).map_err(|e| e.to_string())
    }
}

/// Reads until the organism reports its address; returns all its output if it ends before that.
fn wait_until_it_listens(mut words: BufReader<ChildStderr>) -> Result<BufReader<ChildStderr>, String> {
    let mut all = String::new();
    loop {
        let mut line = String::new();
        match words.read_line(&mut line) {
            Ok(0) | Err(_) => return Err(all),
            Ok(_) if line.starts_with("it listens on") => return Ok(words),
            Ok(_) => all.push_str(&line),
        }
    }
}

/// Keeps reading its output, so that it never blocks. Everything important is in the log.
fn drain_output(mut words: BufReader<ChildStderr>) {
    let read = move || {
        let mut rest = Vec::new();
        // It ends with the process.
        let _all = words.read_to_end(&mut rest);
    };
    if let Err(error) = std::thread::Builder::new().name("demo-words".into()).spawn(read) {
        let fix = "fewer running processes, then the demo again";
        tracing::warn!(why = %error, fix, "the output of the demo's organism is not read, and it may hang");
    }
}
