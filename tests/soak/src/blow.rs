//! The blows: how one life of the organism is ended, chosen by the dice. Most come at any moment from
//! the start on; some at a delicate step; some strike a program instead, or an organism that is just
//! stopping.

use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::board::NoticeBoard;
use super::dice::SeededDice;
use super::house::RunFolder;
use super::life::{LifeFault, LifeSettings, OrganismLife};
use systole_system::failpoint;

/// The longest life before a blow at any moment, in milliseconds.
const LIFE_MS: u64 = 300;
/// The longest time before a blow at the start, in milliseconds: about the duration of a start.
const START_MS: u64 = 80;
/// How long to wait for a failpoint; if it is not reached, the life is ended like any other.
const FAILPOINT_MS: u64 = 500;
/// The longest time that a stopping organism gets, in milliseconds.
const STOP_MS: u64 = 300;
/// How often the step of a failpoint may be passed before it strikes.
const PASSED: u64 = 40;
/// The same if every blow must be at a step: few enough that nearly every life gets that far.
const PASSED_AIMED: u64 = 5;

/// A blow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PlannedKill {
    /// Soon after the start, while the log is opened or folded.
    Early(Duration),
    /// At a step.
    Failpoint(String),
    /// At any moment.
    Later(Duration),
    /// At any moment, after some of the programs were killed, each after a delay.
    Programs(Vec<(Duration, u64)>),
    /// While it stops.
    Stopping(Duration, Duration),
}

/// The result of a blow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KillResult {
    /// How the organism ended.
    pub status: ExitStatus,
    /// The number of programs killed before.
    pub programs: u64,
    /// Whether it ended at the chosen step.
    pub at_step: bool,
}

impl PlannedKill {
    /// Chooses a blow.
    pub fn choose(dice: &mut SeededDice) -> PlannedKill {
        let ms = |dice: &mut SeededDice, most| Duration::from_millis(dice.below(most));
        match dice.below(100) {
            0..20 => PlannedKill::Early(ms(dice, START_MS)),
            20..40 => {
                let step = dice.one_of(failpoint::NAMES).map_or("K6", |(name, _)| name);
                PlannedKill::Failpoint(format!("{step}:{}", (1 + dice.below(PASSED))))
            }
            40..75 => PlannedKill::Later(ms(dice, LIFE_MS)),
            75..93 => {
                let count = 1 + dice.below(3);
                PlannedKill::Programs(
                    (0..count).map(|_| (ms(dice, LIFE_MS / 2), dice.below(1 << 20))).collect(),
                )
            }
            _ => PlannedKill::Stopping(ms(dice, LIFE_MS), ms(dice, STOP_MS)),
        }
    }

    /// Chooses a blow at one of these steps.
    pub fn aimed(dice: &mut SeededDice, steps: &[String]) -> PlannedKill {
        let step = dice.one_of(steps).map_or("K6", String::as_str);
        PlannedKill::Failpoint(format!("{step}:{}", (1 + dice.below(PASSED_AIMED))))
    }

    /// Runs a life until this blow ends it.
    pub fn strike(&self, house: &RunFolder, board: &NoticeBoard) -> Result<KillResult, LifeFault> {
        let omen = match self {
            PlannedKill::Failpoint(text) => LifeSettings::failpoint(text),
            _ => LifeSettings::default(),
        };
        let mut life = OrganismLife::begin(house, &omen)?;
        let (mut programs, mut at_step) = (0, false);
        if let PlannedKill::Early(time) = self {
            life.ends_within(*time);
        } else if life.runs()? {
            board.post(house.run_file());
            match self {
                PlannedKill::Early(_) => {}
                PlannedKill::Failpoint(_) => at_step = life.ends_within(Duration::from_millis(FAILPOINT_MS)),
                PlannedKill::Later(time) => drop(life.ends_within(*time)),
                PlannedKill::Programs(deaths) => {
                    for (time, which) in deaths {
                        if !life.ends_within(*time) {
                            programs += u64::from(kill_a_program(house, &life, *which));
                        }
                    }
                    life.ends_within(Duration::from_millis(LIFE_MS / 4));
                }
                PlannedKill::Stopping(time, rest) => {
                    life.ends_within(*time);
                    life.ask_to_stop();
                    life.ends_within(*rest);
                }
            }
        }
        board.take_down();
        let stops = matches!(self, PlannedKill::Stopping(..));
        let status = life.kill()?;
        // An organism that was asked to stop may have stopped in time.
        if !(stops && status.success()) {
            OrganismLife::judge(house, status)?;
        }
        Ok(KillResult { status, programs, at_step })
    }
}

/// Kills one of the organism's programs; returns whether there was one.
fn kill_a_program(house: &RunFolder, life: &OrganismLife, which: u64) -> bool {
    let programs = life.organism().map_or(Vec::new(), |organism| house.programs_of(organism));
    let place = which.checked_rem(programs.len() as u64).and_then(|place| usize::try_from(place).ok());
    let pid = place.and_then(|place| programs.get(place)).and_then(|pid| Pid::from_raw(*pid));
    pid.is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_blow_falls_and_every_step_is_met() {
        let mut dice = SeededDice::new(1);
        let blows: Vec<PlannedKill> = (0..1_000).map(|_| PlannedKill::choose(&mut dice)).collect();
        let fell = |kind: fn(&PlannedKill) -> bool| blows.iter().any(kind);
        assert!(fell(|b| matches!(b, PlannedKill::Early(_))) && fell(|b| matches!(b, PlannedKill::Later(_))));
        assert!(
            fell(|b| matches!(b, PlannedKill::Programs(_)))
                && fell(|b| matches!(b, PlannedKill::Stopping(..)))
        );
        for (step, _) in failpoint::NAMES {
            let at_step = |b: &PlannedKill| matches!(b, PlannedKill::Failpoint(at) if at.split(':').next() == Some(*step));
            assert!(blows.iter().any(at_step), "{step}");
        }
    }
}
