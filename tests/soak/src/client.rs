//! The clients: each sends messages one after another over HTTP, repeats a message without a receipt
//! under the same key, and records everything it sent and received. The judge compares the log with these
//! records, so a client writes before it continues, and never changes what it wrote.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::File;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::board::NoticeBoard;
use super::dice::SeededDice;
use super::doorstep::Doorstep;
use super::errands::{Drawer, Fate, Message, steering};
use super::guests::{self, SoakClient};
use super::house::RunFolder;
use super::orders::{DoneOrder, OrderAction};
use systole_api::ending::find_ending;
use systole_api::types::{ApiReceipt, ApiRecord};
use systole_client::client::OutgoingMessage;
use systole_core::rules::outcome::CallJudgement;

/// Most answers owed to a client before it waits for the oldest: with a few clients enough work for every
/// listener, and little enough that a run ends soon.
const OWED: usize = 6;
/// The longest duration of one look for an answer.
const LOOK: Duration = Duration::from_secs(5);
/// After this many looks an answer stays open, for the judge to find. Once the kills are over, an answer
/// takes a few seconds at most.
const LOOKS: u32 = 24;
/// The pause before the next try to end a thread at work.
const SOON: Duration = Duration::from_millis(50);

/// What clients learned about the ends of their messages.
#[derive(Clone, Default, Debug)]
pub struct ClientTally {
    /// Messages that were refused, as expected.
    pub refused: u64,
    /// Codes of the calls that failed, with their number.
    pub failures: BTreeMap<String, u64>,
    /// Roots with a wait that is longer than the run.
    pub left: BTreeSet<String>,
    /// Orders that were carried out.
    pub orders: Vec<DoneOrder>,
    /// The waits when everything else was at rest, as `systole why` names them.
    pub waits: Vec<super::settle::ReportedWait>,
}

impl ClientTally {
    /// Adds another tally.
    pub(crate) fn add(&mut self, other: ClientTally) {
        self.refused += other.refused;
        for (code, count) in other.failures {
            *self.failures.entry(code).or_default() += count;
        }
        self.left.extend(other.left);
        self.orders.extend(other.orders);
        self.waits.extend(other.waits);
    }
}

/// An accepted message whose answer was not seen yet.
struct Owed {
    message: Message,
    receipt: ApiReceipt,
}

/// A line of a history, in the judge's format.
#[derive(Serialize)]
struct Line<'a> {
    client: &'static str,
    key: &'a str,
    sha256: &'a str,
    acked: Option<Acked<'a>>,
    refused: Option<&'a str>,
    answer: Option<Answer<'a>>,
    token: &'a str,
}

#[derive(Serialize)]
struct Acked<'a> {
    thread: &'a str,
    seq: u64,
    id: &'a str,
    position: u64,
}

#[derive(Serialize)]
struct Answer<'a> {
    seq: u64,
    sha256: &'a str,
}

/// A client.
pub(crate) struct Client {
    guest: SoakClient,
    board: Arc<NoticeBoard>,
    dice: SeededDice,
    drawer: Drawer,
    history: File,
    doorstep: Doorstep,
    owed: VecDeque<Owed>,
    /// Threads that it opened, to continue.
    roots: Vec<String>,
    /// Threads that continue by themselves until they are ended.
    ticking: VecDeque<String>,
    tally: ClientTally,
}

impl Client {
    pub(crate) fn new(
        house: &RunFolder,
        number: u64,
        board: Arc<NoticeBoard>,
        dice: SeededDice,
    ) -> std::io::Result<Client> {
        let guest = guests::client(number);
        Ok(Client {
            guest,
            dice,
            drawer: Drawer::new(guest, number),
            history: File::options().create(true).append(true).open(house.history(number))?,
            doorstep: Doorstep::new(house, guest, board.clone()),
            board,
            owed: VecDeque::new(),
            roots: Vec::new(),
            ticking: VecDeque::new(),
            tally: ClientTally::default(),
        })
    }

    /// Sends until no more is wanted, then waits for what is owed.
    pub(crate) fn work(mut self) -> std::io::Result<ClientTally> {
        while self.board.wants_messages() {
            let message = self.drawer.draw(&mut self.dice, &self.board, &self.roots);
            self.bring(message)?;
            let patient = self.dice.percent(40);
            if patient || self.owed.len() > OWED {
                self.see_oldest()?;
            }
            if self.dice.percent(15) {
                self.end_a_ticking_one();
            }
            let pause = Duration::from_millis(self.dice.below(15));
            self.board.pause(pause);
        }
        while !self.owed.is_empty() {
            self.see_oldest()?;
        }
        while !self.ticking.is_empty() && !self.board.wants_nothing() {
            self.end_a_ticking_one();
        }
        Ok(self.tally)
    }

    /// Sends a message and does what its fate requires.
    fn bring(&mut self, message: Message) -> std::io::Result<()> {
        let Some(receipt) = self.send(&message)? else { return Ok(()) };
        match message.fate {
            Fate::Left => {
                self.tally.left.insert(receipt.thread);
                return Ok(());
            }
            Fate::Steered => {
                let word = self.drawer.word(&receipt.thread);
                if self.send(&word)?.is_none() {
                    self.tally.left.insert(receipt.thread);
                    return Ok(());
                }
            }
            Fate::Ticks => self.ticking.push_back(receipt.thread.clone()),
            Fate::Answered | Fate::Open | Fate::Refused | Fate::Word => {
                if message.thread.is_none() {
                    self.roots.push(receipt.thread.clone());
                    self.board.tell_of(self.guest.name, &receipt.thread);
                }
                self.sometimes_cancel();
            }
        }
        self.owed.push_back(Owed { message, receipt });
        Ok(())
    }

    /// Sends until the message is accepted or refused; gives up only with the run. Returns the receipt of
    /// an accepted message.
    fn send(&mut self, message: &Message) -> std::io::Result<Option<ApiReceipt>> {
        let is_word = message.fate == Fate::Word;
        let steered;
        let document = if is_word {
            steered = steering(message);
            &steered
        } else {
            &message.document
        };
        let mut seen = None;
        loop {
            let Some((life, door)) = self.doorstep.at(seen) else { return Ok(None) };
            let thread = message.thread.as_deref();
            match door.send_message(&OutgoingMessage {
                key: &message.key,
                to: None,
                thread,
                subject: None,
                document,
            }) {
                Ok(Ok(receipt)) => {
                    self.write(message, Some(&receipt), None, None)?;
                    // Sometimes it sends once more: the receipt must be the same.
                    if self.dice.percent(5) && !receipt.repeated {
                        continue;
                    }
                    self.board.count_acknowledged();
                    return Ok(Some(receipt));
                }
                Ok(Err(refusal)) if is_last_word(&refusal.code, message.fate) => {
                    self.write(message, None, Some(&refusal.code), None)?;
                    self.tally.refused += u64::from(message.fate == Fate::Refused);
                    if message.fate != Fate::Refused {
                        let code = format!("refused: {}", refusal.code);
                        *self.tally.failures.entry(code).or_default() += 1;
                    }
                    return Ok(None);
                }
                // It is unknown whether the message is stored, so it is sent again, with the same key.
                Ok(Err(refusal)) if !is_full(&refusal.code) => {
                    self.write(message, None, Some("ingress.unavailable"), None)?;
                }
                // The thread already has the most waiting calls; later there is room.
                Ok(Err(refusal)) => self.write(message, None, Some(&refusal.code), None)?,
                Err(_) => self.write(message, None, None, None)?,
            }
            seen = Some(life);
        }
    }

    /// Ends its newest thread, which has the most work. If the order is lost, the thread continues.
    fn sometimes_cancel(&mut self) {
        if !self.dice.percent(4) {
            return;
        }
        if let (Some(thread), Some((_, door))) = (self.roots.pop(), self.doorstep.now())
            && let Ok(Ok(_)) = door.cancel_thread(&thread, None)
        {
            self.tally.orders.push(DoneOrder { on: thread, deed: OrderAction::Cancelled });
        }
    }

    /// Ends the oldest ticking root, if it is at rest; one at work is tried again later.
    fn end_a_ticking_one(&mut self) {
        let Some(thread) = self.ticking.pop_front() else { return };
        let ended = self.doorstep.at(None).and_then(|(_, door)| door.end_thread(&thread).ok());
        match ended {
            Some(Ok(_)) => self.tally.orders.push(DoneOrder { on: thread, deed: OrderAction::Ended }),
            Some(Err(refusal)) if refusal.code == "thread.ended" => {}
            _ => {
                self.ticking.push_back(thread);
                self.board.pause(SOON);
            }
        }
    }

    /// Waits for the oldest owed answer.
    fn see_oldest(&mut self) -> std::io::Result<()> {
        let Some(Owed { message, receipt }) = self.owed.pop_front() else { return Ok(()) };
        let mut seen = None;
        for _ in 0..LOOKS {
            let Some((life, door)) = self.doorstep.at(seen) else { break };
            let found = door
                .follow_records(receipt.position, Some(&receipt.thread), Some(LOOK))
                .ok()
                .and_then(|events| {
                    let mut records = events.map_while(Result::ok);
                    records.find_map(|record| find_ending(&receipt, &record).map(|ending| (ending, record)))
                });
            if let Some((ending, record)) = found {
                if matches!(ending, CallJudgement::Failed | CallJudgement::Cancelled) {
                    *self.tally.failures.entry(record.code_text().to_owned()).or_default() += 1;
                }
                return self.write(&message, Some(&receipt), None, Some(&record));
            }
            seen = Some(life);
        }
        Ok(())
    }

    fn write(
        &mut self,
        message: &Message,
        receipt: Option<&ApiReceipt>,
        refused: Option<&str>,
        answer: Option<&ApiRecord>,
    ) -> std::io::Result<()> {
        let answered = answer.map(|record| hex(record.body.as_bytes()));
        let line = Line {
            client: self.guest.name,
            key: &message.key,
            sha256: &hex(&message.document),
            acked: receipt.map(|receipt| Acked {
                thread: &receipt.thread,
                seq: receipt.seq,
                id: &receipt.id,
                position: receipt.position,
            }),
            refused,
            answer: answer
                .zip(answered.as_deref())
                .map(|(record, sha256)| Answer { seq: record.seq, sha256 }),
            token: &message.token,
        };
        let mut text = serde_json::to_vec(&line)?;
        text.push(b'\n');
        self.history.write_all(&text)
    }
}

/// Whether a refusal says that there is no room now. After many refusals the reasons are no longer
/// recorded, and then even a correct message can be refused for lack of room.
fn is_full(code: &str) -> bool {
    code == "thread.busy" || code == "ingress.throttled"
}

/// Whether a message with this refusal is not sent again.
fn is_last_word(code: &str, fate: Fate) -> bool {
    // A message that may be refused may also be refused without a record, or for lack of room.
    let may_be = matches!(fate, Fate::Refused | Fate::Open | Fate::Word);
    let counted = may_be && is_full(code);
    counted || !(code.starts_with("ingress.") || is_full(code))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        // Writing into a String cannot fail.
        let _infallible = write!(hex, "{byte:02x}");
    }
    hex
}
