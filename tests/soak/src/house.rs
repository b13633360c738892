//! The folder of the organism under test: its file, its programs, its log, its clients' histories. It holds
//! the workload, and knows which processes belong to it. It starts and kills nothing.

use std::io;
use std::path::{Path, PathBuf};

use super::guests::{self, SoakClient};
use systole_organism::runfile::{Credential, RunFile, draw_hex};

/// The workload, from the repository.
const FILES: &[(&str, &str)] = &[
    ("organism.yaml", include_str!("../../../config/soak/organism.yaml")),
    ("listeners/clerk.sh", include_str!("../../../config/soak/listeners/clerk.sh")),
    ("listeners/crier.sh", include_str!("../../../config/soak/listeners/crier.sh")),
    ("listeners/dealer.sh", include_str!("../../../config/soak/listeners/dealer.sh")),
    ("listeners/desk.sh", include_str!("../../../config/soak/listeners/desk.sh")),
    ("listeners/fuse.sh", include_str!("../../../config/soak/listeners/fuse.sh")),
    ("listeners/mill.sh", include_str!("../../../config/soak/listeners/mill.sh")),
    ("listeners/office.sh", include_str!("../../../config/soak/listeners/office.sh")),
    ("listeners/porter.sh", include_str!("../../../config/soak/listeners/porter.sh")),
    ("listeners/press.sh", include_str!("../../../config/soak/listeners/press.sh")),
    ("listeners/reading.sh", include_str!("../../../config/soak/listeners/reading.sh")),
    ("listeners/runner.sh", include_str!("../../../config/soak/listeners/runner.sh")),
    ("listeners/safe.sh", include_str!("../../../config/soak/listeners/safe.sh")),
    ("listeners/till.sh", include_str!("../../../config/soak/listeners/till.sh")),
    ("listeners/watch.sh", include_str!("../../../config/soak/listeners/watch.sh")),
    ("schemas/clerk.xsd", include_str!("../../../config/soak/schemas/clerk.xsd")),
    ("schemas/crier.xsd", include_str!("../../../config/soak/schemas/crier.xsd")),
    ("schemas/desk.xsd", include_str!("../../../config/soak/schemas/desk.xsd")),
    ("schemas/fuse.xsd", include_str!("../../../config/soak/schemas/fuse.xsd")),
    ("schemas/market.xsd", include_str!("../../../config/soak/schemas/market.xsd")),
    ("schemas/mill.xsd", include_str!("../../../config/soak/schemas/mill.xsd")),
    ("schemas/office.xsd", include_str!("../../../config/soak/schemas/office.xsd")),
    ("schemas/porter.xsd", include_str!("../../../config/soak/schemas/porter.xsd")),
    ("schemas/press.xsd", include_str!("../../../config/soak/schemas/press.xsd")),
    ("schemas/runner.xsd", include_str!("../../../config/soak/schemas/runner.xsd")),
    ("schemas/safe.xsd", include_str!("../../../config/soak/schemas/safe.xsd")),
    ("schemas/till.xsd", include_str!("../../../config/soak/schemas/till.xsd")),
    ("schemas/vault.xsd", include_str!("../../../config/soak/schemas/vault.xsd")),
    ("schemas/watch.xsd", include_str!("../../../config/soak/schemas/watch.xsd")),
];

/// The environment variable that identifies every program of the workload.
const BADGE: &[u8] = b"SYSTOLE_ORGANISM=soak";

/// The folder of one run.
#[derive(Clone, Debug)]
pub struct RunFolder {
    folder: PathBuf,
    program: PathBuf,
    /// The secret behind the clients' tokens.
    secret: String,
    /// The log, or the copy of a log that is stored elsewhere.
    log: PathBuf,
    /// Settings in addition to the file.
    settings: Vec<String>,
}

impl RunFolder {
    /// Writes the workload into a folder without a log. `program` is the `systole` to run.
    pub fn build(folder: &Path, program: &Path) -> io::Result<RunFolder> {
        std::fs::create_dir_all(folder)?;
        let (folder, secret) = (folder.canonicalize()?, draw_hex()?);
        let log = folder.join("soak.db");
        let house = RunFolder { folder, program: program.to_owned(), secret, log, settings: Vec::new() };
        if house.log().exists() {
            let words = format!("{} is from an earlier run", house.log().display());
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, words));
        }
        for (name, text) in FILES {
            let path = house.folder.join(name);
            path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
            std::fs::write(path, text)?;
        }
        Ok(house)
    }

    /// The same house with more settings, each as `PATH=VALUE`.
    pub fn set(mut self, settings: impl IntoIterator<Item = String>) -> RunFolder {
        self.settings.extend(settings);
        self
    }

    /// The same house for a pump with its own copy of a log that is stored elsewhere.
    pub fn copy(&self, name: &str) -> RunFolder {
        let log = self.folder.join(name);
        RunFolder { log, ..self.clone().set([format!("log.path={name}")]) }
    }

    /// Settings in addition to the file.
    pub fn settings(&self) -> &[String] {
        &self.settings
    }

    /// The folder's path.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The `systole` to run.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The organism's file.
    pub fn organism(&self) -> PathBuf {
        self.folder.join("organism.yaml")
    }

    /// The log.
    pub fn log(&self) -> PathBuf {
        self.log.clone()
    }

    /// The history of that client.
    pub fn history(&self, client: u64) -> PathBuf {
        self.folder.join(format!("history-{client}.jsonl"))
    }

    /// The organism's stderr of all its lives.
    pub fn words(&self) -> PathBuf {
        self.folder.join("stderr.txt")
    }

    /// The till's record: the key of a piece of work for every request.
    pub fn book(&self) -> PathBuf {
        self.folder.join("till.book")
    }

    /// The dealers' record of payments: the key of a piece of work and the attempt, for every payment.
    pub fn deals(&self) -> PathBuf {
        self.folder.join("deals.book")
    }

    /// The environment variables with the clients' tokens.
    pub fn tokens(&self) -> impl Iterator<Item = (&'static str, String)> {
        guests::ALL.iter().filter_map(|guest| Some((guest.variable?, self.token(*guest))))
    }

    fn token(&self, guest: SoakClient) -> String {
        format!("{}-{}", guest.name, self.secret)
    }

    /// A client's access to the organism of a run file: with its own token, except for the operator.
    pub fn as_seen_by(&self, guest: SoakClient, run: RunFile) -> RunFile {
        match guest.variable {
            Some(_) => RunFile { token: Credential::from_token(self.token(guest)), ..run },
            None => run,
        }
    }

    /// The run file of the organism, if one runs.
    pub fn run_file(&self) -> Option<RunFile> {
        RunFile::find_running(&self.log())
    }

    /// The processes of this house's listeners, regardless of who started them.
    pub fn dwellers(&self) -> Vec<i32> {
        let lives_here = |pid: &i32| {
            let of = |what: &str| format!("/proc/{pid}{what}");
            // A user's shell may be in the folder too, but it does not have a listener's variable.
            std::fs::read_link(of("/cwd")).is_ok_and(|at| at == self.folder)
                && std::fs::read(of("/environ")).is_ok_and(|text| text.split(|b| *b == 0).any(|v| v == BADGE))
        };
        processes().into_iter().filter(lives_here).collect()
    }

    /// The programs that this organism process started.
    pub fn programs_of(&self, organism: u32) -> Vec<i32> {
        self.dwellers().into_iter().filter(|pid| parent(*pid) == Some(organism)).collect()
    }
}

fn processes() -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn parent(pid: i32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses and may contain anything; after it come the state and the parent.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}
