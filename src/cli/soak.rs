//! `systole soak`: kills an organism again and again while clients use it, and proves the result. The
//! organism is this same program in a separate process; the judge is the checker, which shares no code
//! with the pump.
//!
//! Its modules are public for the tests, which strike at chosen moments with the same workload and the
//! same judge.

pub mod blow;
pub mod board;
mod client;
pub mod crowd;
pub mod deals;
pub mod dice;
mod doorstep;
mod errands;
pub mod guests;
pub mod house;
pub mod life;
pub mod orders;
mod person;
pub mod roll;
pub mod settle;
pub mod verdict;
mod warden;

pub use client::Tally;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use tokio::time::Instant;

use super::exit::Exit;
use super::hindered;
use super::screen::Screen;
use blow::Blow;
use crowd::Crowd;
use dice::Dice;
use house::House;
use life::{Amiss, Life, Omen};
use verdict::Verdict;

use crate::edges::failpoint;
use crate::runtime::runfile::random_hex;

/// Clients that use the organism at once: enough that every listener always has work.
const CLIENTS: u64 = 4;
/// How long the last life may take to answer what is owed: some hundred times the usual time.
const REST: Duration = Duration::from_secs(600);
/// Most lives in a row that may end before they reach the chosen step.
const MISSES: u64 = 50;
/// After this many kills every event must have occurred: about five times what the rarest one needs.
const ENOUGH: u64 = 500;
/// The pause between two checks of that.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Kill an organism again and again, and prove that nothing was lost.
///
/// Runs a workload of its own in a folder, kills it at moments that the seed chooses, also while it
/// starts, stops or recovers, and kills its programs too. In the end the log and what the clients wrote
/// down are judged. Exit 0 only if nothing was lost or doubled and nothing else is wrong.
#[derive(Args, Debug)]
pub(super) struct Soak {
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
    verdict: &'a Verdict,
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

impl Soak {
    pub(super) fn run(self) -> Exit {
        let screen = Screen::of_process(self.json);
        self.whole(screen).unwrap_or_else(|exit| exit)
    }

    fn whole(&self, screen: Screen) -> Result<Exit, Exit> {
        let machine = |what| move |error: std::io::Error| hindered::machine(screen, what, &error);
        let seed = match self.seed {
            Some(seed) => seed,
            None => drawn().map_err(machine("a seed"))?,
        };
        let folder = match &self.folder {
            Some(folder) => folder.clone(),
            None => std::env::temp_dir()
                .join(format!("systole-soak-{}", random_hex().map_err(machine("a name for the folder"))?)),
        };
        let program = std::env::current_exe().map_err(machine("which program runs"))?;
        let house = House::build(&folder, &program)
            .map_err(|error| hindered::no_folder(screen, &folder, "the folder of the trial", &error))?
            .set(self.set.iter().cloned());
        screen.say(format!("seed {seed}, folder {}", house.folder().display()));
        let began = Instant::now();
        let (strikes, tally) = self.trial(screen, &house, seed).map_err(|amiss| {
            screen.say(format!("the folder is kept: {}", house.folder().display()));
            screen.fail(Exit::Failed, amiss)
        })?;
        let seconds = began.elapsed().as_secs_f64();
        let verdict =
            verdict::judge(&house, CLIENTS, &tally).map_err(|words| screen.fail(Exit::Log, words))?;
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
        tell(screen, &came);
        if !came.is_well() {
            return Ok(Exit::Failed);
        }
        if self.folder.is_none() {
            // If the folder cannot be removed, no harm is done: its name is unique.
            let _left = std::fs::remove_dir_all(house.folder());
        }
        Ok(Exit::Done)
    }

    /// All the kills, and one peaceful life after them.
    fn trial(&self, screen: Screen, house: &House, seed: u64) -> Result<(Strikes, Tally), Amiss> {
        let dice = Dice::new(seed);
        let crowd = Crowd::start(house, CLIENTS, &dice)?;
        let mut choices = dice.apart(0);
        let mut strikes = Strikes::default();
        let mut missed = 0;
        while strikes.kills < self.kills {
            let blow = match self.at.as_slice() {
                [] => Blow::choose(&mut choices),
                steps => Blow::aimed(&mut choices, steps),
            };
            let struck = blow.strike(house, crowd.board())?;
            strikes.programs += struck.programs;
            match struck.status.success() {
                true => strikes.stops += 1,
                false if self.at.is_empty() || struck.at_step => {
                    (strikes.kills, missed) = (strikes.kills + 1, 0)
                }
                false if missed == MISSES => return Err(Amiss::Hung("pass the step", REST)),
                false => missed += 1,
            }
            let acknowledged = crowd.board().acknowledged().to_string();
            let kills = format!("{} of {} kills, ", strikes.kills, self.kills);
            screen.progress(&format!("{kills}{acknowledged} messages acknowledged"));
        }
        screen.progress("");
        let tally = rest(house, &Omen::default(), crowd)?;
        Ok((strikes, tally))
    }
}

/// A peaceful life to its end: every client gets what it is owed, then the organism is drained. It must
/// not end earlier.
pub fn rest(house: &House, omen: &Omen, mut crowd: Crowd) -> Result<Tally, Amiss> {
    let ended = |status| Amiss::Ended { status, words: life::last_words(house) };
    let mut life = Life::begin(house, omen)?;
    if !life.runs()? {
        return Err(ended(life.end()?));
    }
    crowd.board().post(house.run_file());
    crowd.board().rest();
    let patience = Instant::now() + REST;
    while !crowd.is_at_rest() {
        if life.ends_within(LOOK_AGAIN) {
            return Err(ended(life.end()?));
        }
        if Instant::now() > patience {
            return Err(Amiss::Hung("answer its clients", REST));
        }
    }
    let mut tally = crowd.tally()?;
    loop {
        tally.waits = settle::waits(house)?;
        if settle::is_settled(&tally.waits, &tally.left) {
            break;
        }
        if life.ends_within(LOOK_AGAIN) {
            return Err(ended(life.end()?));
        }
        if Instant::now() > patience {
            return Err(Amiss::Restless(settle::unsettled(&tally.waits, &tally.left)));
        }
    }
    tally.add(crowd.dismiss()?);
    life.ask_to_stop();
    let status = life.end()?;
    if status.success() { Ok(tally) } else { Err(ended(status)) }
}

/// The names that `--at` takes.
fn steps() -> clap::builder::PossibleValuesParser {
    failpoint::NAMES.iter().map(|(name, _)| *name).collect::<Vec<_>>().into()
}

/// A seed short enough to type again.
fn drawn() -> std::io::Result<u64> {
    let hex = random_hex()?;
    Ok(hex.get(..8).and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or_default())
}

fn tell(screen: Screen, came: &Came<'_>) {
    if screen.json {
        return screen.value(came);
    }
    for finding in &came.verdict.findings {
        screen.show(finding);
    }
    for never in came.missed() {
        screen.show(&format!("never  {never} occurred"));
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
    counted.iter().for_each(|(what, count)| line(screen, "  ", what, *count));
    screen.show("why they wait");
    verdict.waits.iter().for_each(|(cause, count)| line(screen, "  ", cause, *count));
    screen.show("why they failed");
    came.failures.iter().for_each(|(code, count)| line(screen, "  ", code, *count));
    screen.show("what occurred");
    verdict.occurred.iter().for_each(|(name, count)| line(screen, "  ", name, *count));
    let seconds = came.seconds.round().to_string();
    let wrong = if came.is_well() { "nothing is wrong" } else { "something is wrong" };
    screen.show(&format!("{wrong}, after {seconds} s, seed {}", came.seed));
}

/// A name and a count, in columns.
fn line(screen: Screen, indent: &str, name: &str, count: u64) {
    let room = " ".repeat(36_usize.saturating_sub(name.len()));
    screen.show(&[indent, name, &room, &count.to_string()].concat());
}
