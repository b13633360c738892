//! All outsiders, from the first life of the organism to the last, each on its own thread: the clients,
//! a person who decides, and a warden who pauses.

use std::sync::Arc;
use std::thread::JoinHandle;

use super::board::NoticeBoard;
use super::client::{Client, ClientTally};
use super::dice::SeededDice;
use super::house::RunFolder;
use super::life::LifeFault;
use super::person::Person;
use super::warden::Warden;

/// The work of one party, as a thread to join.
type Work = JoinHandle<std::io::Result<ClientTally>>;

/// The numbers of the dice for the person and the warden; each client uses its own number.
const PERSON: u64 = 1_000;
const WARDEN: u64 = 1_001;

/// All outsiders.
pub struct SoakCrowd {
    board: Arc<NoticeBoard>,
    /// The parties that rest once they have what they are owed.
    working: Vec<Work>,
    /// The person, who stays while anything can still wait for a person.
    person: Option<Work>,
    clients: u64,
}

impl SoakCrowd {
    /// Starts that many clients, a person and a warden. They wait until the board announces a life.
    pub fn start(house: &RunFolder, count: u64, dice: &SeededDice) -> Result<SoakCrowd, LifeFault> {
        let machine = |error| LifeFault::Machine("cannot start a client", error);
        let board = Arc::new(NoticeBoard::default());
        let mut crowd = SoakCrowd { board: board.clone(), working: Vec::new(), person: None, clients: count };
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
    pub fn board(&self) -> &NoticeBoard {
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
    pub(crate) fn tally(&mut self) -> Result<ClientTally, LifeFault> {
        let working = std::mem::take(&mut self.working);
        together(working)
    }

    /// Dismisses the person and returns its tally.
    pub(crate) fn dismiss(&mut self) -> Result<ClientTally, LifeFault> {
        self.board.give_up();
        together(self.person.take())
    }
}

fn start(
    name: String,
    work: impl FnOnce() -> std::io::Result<ClientTally> + Send + 'static,
) -> Result<Work, LifeFault> {
    let thread = std::thread::Builder::new().name(name).spawn(work);
    thread.map_err(|error| LifeFault::Machine("cannot start a client", error))
}

fn together(works: impl IntoIterator<Item = Work>) -> Result<ClientTally, LifeFault> {
    let mut whole = ClientTally::default();
    for thread in works {
        let fallen = || Err(std::io::Error::other("the client panicked"));
        let tally = thread.join().unwrap_or_else(|_| fallen());
        whole.add(tally.map_err(|error| LifeFault::Machine("a client cannot go on", error))?);
    }
    Ok(whole)
}

impl Drop for SoakCrowd {
    fn drop(&mut self) {
        self.board.give_up();
        for thread in std::mem::take(&mut self.working).into_iter().chain(self.person.take()) {
            // The run is given up, for a reason that is reported elsewhere.
            let _ended = thread.join();
        }
    }
}
