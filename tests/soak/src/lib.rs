//! `systole-soak`: kills an organism again and again while clients use it, and proves the result. The organism is
//! the program `systole` in a separate process; the judge is the checker, which shares no code with the pump.
//!
//! The library is for the tests, which strike at chosen moments with the same workload and the same judge. The
//! program is `command.rs`.

pub mod blow;
pub mod board;
mod client;
pub mod command;
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
mod terminal;
pub mod verdict;
mod warden;

pub use client::ClientTally;

use std::time::Duration;

use tokio::time::Instant;

use crowd::SoakCrowd;
use house::RunFolder;
use life::{LifeFault, LifeSettings, OrganismLife};

/// How long the last life may take to answer what is owed: some hundred times the usual time.
const REST: Duration = Duration::from_secs(600);
/// The pause between two checks of that.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// A peaceful life to its end: every client gets what it is owed, then the organism is drained. It must
/// not end earlier.
pub fn rest(house: &RunFolder, omen: &LifeSettings, mut crowd: SoakCrowd) -> Result<ClientTally, LifeFault> {
    let ended = |status| LifeFault::Ended { status, words: life::last_words(house) };
    let mut life = OrganismLife::begin(house, omen)?;
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
            return Err(LifeFault::Hung("answer its clients", REST));
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
            return Err(LifeFault::Restless(settle::unsettled(&tally.waits, &tally.left)));
        }
    }
    tally.add(crowd.dismiss()?);
    life.ask_to_stop();
    let status = life.end()?;
    if status.success() { Ok(tally) } else { Err(ended(status)) }
}
