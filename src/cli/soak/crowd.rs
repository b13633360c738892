//! Everybody outside, from the first life of the organism to the last, each on a thread of its own: the
//! clients, a person who decides, and a warden who halts.

use std::sync::Arc;
use std::thread::JoinHandle;

use super::board::Board;
use super::client::{Client, Tally};
use super::dice::Dice;
use super::house::House;
use super::life::Amiss;
use super::person::Person;
use super::warden::Warden;

/// A party's work, to be waited for.
type Work = JoinHandle<std::io::Result<Tally>>;

/// Dice of the person and of the warden; clients throw those of their number.
const PERSON: u64 = 1_000;
const WARDEN: u64 = 1_001;

/// Everybody outside.
pub struct Crowd {
    board: Arc<Board>,
    /// Those who are at rest once they have what they are owed.
    working: Vec<Work>,
    /// The person, who stays while anything can still wait for one.
    person: Option<Work>,
    clients: u64,
}

impl Crowd {
    /// Starts so many clients, a person and a warden. They wait until a life is posted on the board.
    pub fn start(house: &House, count: u64, dice: &Dice) -> Result<Crowd, Amiss> {
        let machine = |error| Amiss::Machine("cannot start a client", error);
        let board = Arc::new(Board::default());
        let mut crowd = Crowd { board: board.clone(), working: Vec::new(), person: None, clients: count };
        for number in 1..=count {
            let client = Client::new(house, number, board.clone(), dice.apart(number)).map_err(machine)?;
            let name = format!("client-{number}");
            crowd.working.push(start(name, move || client.work())?);
        }
        let warden = Warden::new(house, board.clone(), dice.apart(WARDEN));
        crowd.working.push(start("warden".into(), move || Ok(warden.work()))?);
        let person = Person::new(house, board, dice.apart(PERSON));
        crowd.person = Some(start("person".into(), move || Ok(person.work()))?);
        Ok(crowd)
    }

    /// Where the clients read which life can be reached.
    pub fn board(&self) -> &Board {
        &self.board
    }

    /// How many clients there are.
    pub fn count(&self) -> u64 {
        self.clients
    }

    /// Whether everybody has what it is owed, after they were asked to come to rest.
    pub(super) fn is_at_rest(&self) -> bool {
        self.working.iter().all(JoinHandle::is_finished)
    }

    /// What all of them were told, but for the person.
    pub(super) fn tally(&mut self) -> Result<Tally, Amiss> {
        let working = std::mem::take(&mut self.working);
        together(working)
    }

    /// Lets the person go; what it was told.
    pub(super) fn dismiss(&mut self) -> Result<Tally, Amiss> {
        self.board.give_up();
        together(self.person.take())
    }
}

fn start(
    name: String,
    work: impl FnOnce() -> std::io::Result<Tally> + Send + 'static,
) -> Result<Work, Amiss> {
    let thread = std::thread::Builder::new().name(name).spawn(work);
    thread.map_err(|error| Amiss::Machine("cannot start a client", error))
}

fn together(works: impl IntoIterator<Item = Work>) -> Result<Tally, Amiss> {
    let mut whole = Tally::default();
    for thread in works {
        let fallen = || Err(std::io::Error::other("the client panicked"));
        let tally = thread.join().unwrap_or_else(|_| fallen());
        whole.add(tally.map_err(|error| Amiss::Machine("a client cannot go on", error))?);
    }
    Ok(whole)
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.board.give_up();
        for thread in std::mem::take(&mut self.working).into_iter().chain(self.person.take()) {
            // The run is given up, for a reason that is told elsewhere.
            let _ended = thread.join();
        }
    }
}
