//! The clients of a run, each on a thread of its own, from the first life of the organism to the last.

use std::sync::Arc;
use std::thread::JoinHandle;

use super::board::Board;
use super::client::{Client, Tally};
use super::dice::Dice;
use super::house::House;
use super::life::Amiss;

/// The clients.
pub struct Crowd {
    board: Arc<Board>,
    threads: Vec<JoinHandle<std::io::Result<Tally>>>,
}

impl Crowd {
    /// Starts so many clients. They wait until a life is posted on the board.
    pub fn start(house: &House, count: u64, dice: &Dice) -> Result<Crowd, Amiss> {
        let machine = |error| Amiss::Machine("cannot start a client", error);
        let board = Arc::new(Board::default());
        let mut crowd = Crowd { board: board.clone(), threads: Vec::new() };
        for number in 1..=count {
            let client = Client::new(house, number, board.clone(), dice.apart(number)).map_err(machine)?;
            let name = ["client-", &number.to_string()].concat();
            let thread = std::thread::Builder::new().name(name).spawn(move || client.work());
            crowd.threads.push(thread.map_err(machine)?);
        }
        Ok(crowd)
    }

    /// Where the clients read which life can be reached.
    pub fn board(&self) -> &Board {
        &self.board
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.threads.len() as u64
    }

    /// Whether every client has what it is owed, after it was asked to come to rest.
    pub(super) fn is_at_rest(&self) -> bool {
        self.threads.iter().all(JoinHandle::is_finished)
    }

    /// What the clients were told, all of them.
    pub(super) fn tally(mut self) -> Result<Tally, Amiss> {
        let mut whole = Tally::default();
        for thread in std::mem::take(&mut self.threads) {
            let fallen = || Err(std::io::Error::other("the client panicked"));
            let tally = thread.join().unwrap_or_else(|_| fallen());
            whole.add(tally.map_err(|error| Amiss::Machine("a client cannot go on", error))?);
        }
        Ok(whole)
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.board.give_up();
        for thread in std::mem::take(&mut self.threads) {
            // The run is given up, for a reason that is told elsewhere.
            let _ended = thread.join();
        }
    }
}
