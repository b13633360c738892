//! All outsiders, from the first life of the organism to the last, each on its own thread: the clients,
//! a person who decides, and a warden who pauses.

use std::sync::Arc;
use std::thread::JoinHandle;

use super::board::Board;
use super::client::{Client, Tally};
use super::dice::Dice;
use super::house::House;
use super::life::Amiss;
use super::person::Person;
use super::warden::Warden;

/// The work of one party, as a thread to join.
type Work = JoinHandle<std::io::Result<Tally>>;

/// The numbers of the dice for the person and the warden; each client uses its own number.
const PERSON: u64 = 1_000;
const WARDEN: u64 = 1_001;

/// All outsiders.
pub struct Crowd {
    board: Arc<Board>,
    /// The parties that rest once they have what they are owed.
    working: Vec<Work>,
    /// The person, who stays while anything can still wait for a person.
    person: Option<Work>,
    clients: u64,
}

impl Crowd {
    /// Starts that many clients, a person and a warden. They wait until the board announces a life.
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

    /// The board where the clients see which life can be reached.
    pub fn board(&self) -> &Board {
        &self.board
    }

    /// How many clients there are.
    pub fn count(&self) -> u64 {
        self.clients
    }

    /// Whether all parties have what they are owed, after they were asked to rest.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.working.iter().all(JoinHandle::is_finished)
    }

    /// The tallies of all of them except the person.
    pub(crate) fn tally(&mut self) -> Result<Tally, Amiss> {
        let working = std::mem::take(&mut self.working);
        together(working)
    }

    /// Dismisses the person and returns its tally.
    pub(crate) fn dismiss(&mut self) -> Result<Tally, Amiss> {
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
            // The run is given up, for a reason that is reported elsewhere.
            let _ended = thread.join();
        }
    }
}
