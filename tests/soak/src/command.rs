//! The command line of `systole-soak`: its options, the kills in a row, and what it prints. The program in
//! `main.rs` and a test call the same function.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use clap::Parser;
use serde::Serialize;
use tokio::time::Instant;

use super::blow::PlannedKill;
use super::client::ClientTally;
use super::crowd::SoakCrowd;
use super::dice::SeededDice;
use super::house::RunFolder;
use super::life::{LifeFault, LifeSettings};
use super::terminal::Terminal;
use super::verdict::{self, SoakResult};
use super::{REST, rest};

use systole_organism::runfile::draw_hex;
use systole_system::{failpoint, system};

/// Clients that use the organism at once: enough that every listener always has work.
const CLIENTS: u64 = 4;
/// Most lives in a row that may end before they reach the chosen step.
const MISSES: u64 = 50;
/// After this many kills every event must have occurred: about five times what the rarest one needs.
const ENOUGH: u64 = 500;

/// Nothing was lost and nothing is wrong.
const DONE: u8 = 0;
/// Something is wrong, or the organism ended by itself.
const FAILED: u8 = 1;
/// The command line is wrong.
const USAGE: u8 = 2;
/// Something that it needs is missing.
const UNAVAILABLE: u8 = 5;
/// The log cannot be judged.
const LOG: u8 = 7;

/// Kill an organism again and again, and prove that nothing was lost.
///
/// Runs a fixed workload in a folder, kills it at moments that the seed chooses, also while it
/// starts, stops or recovers, and kills its programs too. In the end the log and what the clients wrote
/// down are judged. Exit 0 only if nothing was lost or doubled and nothing else is wrong.
#[derive(Parser, Debug)]
#[command(name = "systole-soak", version)]
struct Soak {
    /// How often it is killed
    #[arg(long, value_name = "N", default_value_t = 100)]
    kills: u64,
    /// Kill only at these steps, such as C4,C6; no other kill is counted
    #[arg(long, value_name = "STEP", value_delimiter = ',', value_parser = steps(), hide_possible_values = true)]
    at: Vec<String>,
    /// The seed of all choices; without it one is drawn and shown
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// The folder to work in; without it one is made, and removed
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// The program to kill; without it `systole` beside this one
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// Set a value of its file, as for `run`; log.nats tries a log in NATS
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// The printed result.
#[derive(Serialize)]
struct Came<'a> {
    seed: u64,
    kills: u64,
    programs_killed: u64,
    stops: u64,
    /// Whether it was killed at any moment, and not only at chosen steps.
    #[serde(skip)]
    everything: bool,
    #[serde(flatten)]
    verdict: &'a SoakResult,
    refused: u64,
    failures: &'a std::collections::BTreeMap<String, u64>,
    seconds: f64,
}

impl Came<'_> {
    /// Whether nothing is wrong, and everything occurred that could go wrong.
    fn is_well(&self) -> bool {
        self.verdict.is_clean() && self.missed().next().is_none()
    }

    /// What never occurred, if the run was long enough to expect it.
    fn missed(&self) -> impl Iterator<Item = &'static str> {
        let had_to = self.everything && self.kills >= ENOUGH;
        self.verdict.missed().filter(move |_| had_to)
    }
}

/// The number of each kind of strike.
#[derive(Default)]
struct Strikes {
    kills: u64,
    programs: u64,
    stops: u64,
}

/// Runs the program with these arguments, the first being its name. Returns its exit code.
pub fn run(
    arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    out: &mut dyn io::Write,
    err: &mut dyn io::Write,
) -> u8 {
    let soak = match Soak::try_parse_from(arguments) {
        Ok(soak) => soak,
        Err(wrong) if wrong.use_stderr() => {
            let _reader_left = write!(err, "{wrong}");
            return USAGE;
        }
        Err(help) => {
            let _reader_left = write!(out, "{help}");
            return DONE;
        }
    };
    let mut terminal = Terminal { json: soak.json, out, err };
    soak.whole(&mut terminal).unwrap_or_else(|exit| exit)
}

impl Soak {
    fn whole(&self, terminal: &mut Terminal<'_>) -> Result<u8, u8> {
        let seed = match self.seed {
            Some(seed) => seed,
            None => drawn().map_err(|error| machine(terminal, "a seed", &error))?,
        };
        let folder = match &self.folder {
            Some(folder) => folder.clone(),
            None => {
                let name = draw_hex().map_err(|error| machine(terminal, "a name for the folder", &error))?;
                std::env::temp_dir().join(format!("systole-soak-{name}"))
            }
        };
        let program = match &self.program {
            Some(program) => program.clone(),
            None => beside().map_err(|error| machine(terminal, "which program runs", &error))?,
        };
        if !program.is_file() {
            let fix = "cargo build --release --package systole, or --program PATH";
            let words = format!("{}, the program to kill: there is no such file", program.display());
            return Err(terminal.fail(UNAVAILABLE, &words, fix));
        }
        let house = RunFolder::build(&folder, &program)
            .map_err(|error| {
                let hindered = system::report_no_folder(&folder, "the folder of the trial", &error);
                terminal.fail(UNAVAILABLE, &hindered.words, hindered.fix)
            })?
            .set(self.set.iter().cloned());
        terminal.say(&format!("seed {seed}, folder {}", house.folder().display()));
        let began = Instant::now();
        let (strikes, tally) = self.trial(terminal, &house, seed).map_err(|amiss| {
            let fix = format!("look into the folder, which is kept: {}", house.folder().display());
            terminal.fail(FAILED, &amiss.to_string(), &fix)
        })?;
        let seconds = began.elapsed().as_secs_f64();
        let verdict = verdict::judge(&house, CLIENTS, &tally).map_err(|words| {
            terminal.fail(LOG, &words, &format!("look at the log in {}", house.folder().display()))
        })?;
        let came = Came {
            seed,
            kills: strikes.kills,
            programs_killed: strikes.programs,
            stops: strikes.stops,
            everything: self.at.is_empty(),
            verdict: &verdict,
            refused: tally.refused,
            failures: &tally.failures,
            seconds,
        };
        tell(terminal, &came);
        if !came.is_well() {
            return Ok(FAILED);
        }
        if self.folder.is_none() {
            // If the folder cannot be removed, no harm is done: its name is unique.
            let _left = std::fs::remove_dir_all(house.folder());
        }
        Ok(DONE)
    }

    /// All the kills, and one peaceful life after them.
    fn trial(
        &self,
        terminal: &mut Terminal<'_>,
        house: &RunFolder,
        seed: u64,
    ) -> Result<(Strikes, ClientTally), LifeFault> {
        let dice = SeededDice::new(seed);
        let crowd = SoakCrowd::start(house, CLIENTS, &dice)?;
        let mut choices = dice.apart(0);
        let mut strikes = Strikes::default();
        let mut missed = 0;
        while strikes.kills < self.kills {
            let blow = match self.at.as_slice() {
                [] => PlannedKill::choose(&mut choices),
                steps => PlannedKill::aimed(&mut choices, steps),
            };
            let struck = blow.strike(house, crowd.board())?;
            strikes.programs += struck.programs;
            match struck.status.success() {
                true => strikes.stops += 1,
                false if self.at.is_empty() || struck.at_step => {
                    (strikes.kills, missed) = (strikes.kills + 1, 0)
                }
                false if missed == MISSES => return Err(LifeFault::Hung("pass the step", REST)),
                false => missed += 1,
            }
            let acknowledged = crowd.board().acknowledged().to_string();
            let kills = format!("{} of {} kills, ", strikes.kills, self.kills);
            terminal.progress(&format!("{kills}{acknowledged} messages acknowledged"));
        }
        terminal.progress("");
        let tally = rest(house, &LifeSettings::default(), crowd)?;
        Ok((strikes, tally))
    }
}

/// The `systole` that was built with this program.
fn beside() -> io::Result<PathBuf> {
    Ok(std::env::current_exe()?.with_file_name("systole"))
}

fn machine(terminal: &mut Terminal<'_>, what: &str, error: &io::Error) -> u8 {
    terminal.fail(UNAVAILABLE, &format!("{what}: {}", system::describe_error(error)), "run it again")
}

/// The names that `--at` takes.
fn steps() -> clap::builder::PossibleValuesParser {
    failpoint::NAMES.iter().map(|(name, _)| *name).collect::<Vec<_>>().into()
}

/// A seed short enough to type again.
fn drawn() -> std::io::Result<u64> {
    let hex = draw_hex()?;
    Ok(hex.get(..8).and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or_default())
}

fn tell(terminal: &mut Terminal<'_>, came: &Came<'_>) {
    if terminal.json {
        return terminal.value(came);
    }
    for finding in &came.verdict.findings {
        terminal.show(finding);
    }
    for never in came.missed() {
        terminal.show(&format!("never  {never} occurred"));
    }
    let verdict = came.verdict;
    let counted = [
        ("kills", came.kills),
        ("stops in peace", came.stops),
        ("programs killed", came.programs_killed),
        ("refused, as is right", came.refused),
        ("acknowledged", verdict.acknowledged),
        ("lost", verdict.lost),
        ("doubled", verdict.doubled),
        ("answered", verdict.answered),
        ("failed with a reason", verdict.failed),
        ("joined what was there", verdict.joined),
        ("open, with a reason", verdict.open),
        ("orders carried out", verdict.orders),
        ("records", verdict.records),
        ("threads", verdict.threads),
        ("  ended", verdict.ended),
        ("  resting", verdict.resting),
        ("  waiting", verdict.waiting),
    ];
    counted.iter().for_each(|(what, count)| line(terminal, "  ", what, *count));
    terminal.show("why they wait");
    verdict.waits.iter().for_each(|(cause, count)| line(terminal, "  ", cause, *count));
    terminal.show("why they failed");
    came.failures.iter().for_each(|(code, count)| line(terminal, "  ", code, *count));
    terminal.show("what occurred");
    verdict.occurred.iter().for_each(|(name, count)| line(terminal, "  ", name, *count));
    let seconds = came.seconds.round().to_string();
    let wrong = if came.is_well() { "nothing is wrong" } else { "something is wrong" };
    terminal.show(&format!("{wrong}, after {seconds} s, seed {}", came.seed));
}

/// A name and a count, in columns.
fn line(terminal: &mut Terminal<'_>, indent: &str, name: &str, count: u64) {
    let room = " ".repeat(36_usize.saturating_sub(name.len()));
    terminal.show(&format!("{indent}{name}{room}{count}"));
}

#[cfg(test)]
mod tests {
    use super::run;

    /// Its exit, stdout and stderr.
    fn ran(arguments: &[&str]) -> (u8, String, String) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let all = std::iter::once("systole-soak").chain(arguments.iter().copied());
        let exit = run(all, &mut out, &mut err);
        (exit, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    }

    #[test]
    fn the_page_has_every_option_and_no_other() {
        let (exit, help, _) = ran(&["--help"]);
        assert_eq!(exit, 0, "{help}");
        let options = help.lines().filter_map(|line| line.trim_start().split_once("--"));
        let options = options.filter(|(before, _)| before.is_empty() || before.ends_with(", "));
        let mut options: Vec<&str> = options.filter_map(|(_, rest)| rest.split([' ', '\n']).next()).collect();
        options.retain(|option| !matches!(*option, "help" | "version"));
        let page = include_str!("../../../docs/reference/soak.md");
        let rows = page.lines().filter_map(|line| line.strip_prefix("| `--")?.split([' ', '`']).next());
        let mut rows: Vec<&str> = rows.collect();
        options.sort_unstable();
        rows.sort_unstable();
        assert_eq!(rows, options);
    }

    #[test]
    fn what_it_needs_and_lacks_is_named_with_a_fix() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a-file");
        std::fs::write(&file, "").unwrap();
        let (file, program) = (file.to_str().unwrap(), std::env::current_exe().unwrap());
        let program = program.to_str().unwrap();
        for (arguments, wanted_exit, words) in [
            (&["--program", "no/systole"][..], 5, "no/systole, the program to kill: there is no such file"),
            (&["--program", program, "--folder", file], 5, "a-file is a file, and not a folder\n  try: "),
            (&["--kills", "many"], 2, "invalid value 'many'"),
            (&["--at", "nowhere"], 2, "invalid value 'nowhere'"),
        ] {
            let (exit, out, err) = ran(arguments);
            assert!(exit == wanted_exit && out.is_empty() && err.contains(words), "{exit}: {err}");
        }
    }
}
