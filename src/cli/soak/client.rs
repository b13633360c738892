//! The clients: each sends messages one after the other over HTTP, sends again what it has no receipt
//! for, with the same key, and writes down everything it sent and was told. What it wrote is what the
//! judge holds the log against; so it writes before it goes on, and never mends what it wrote.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::board::Board;
use super::dice::Dice;
use super::house::House;
use crate::cli::awaited::{Ending, ending};
use crate::console::client::{Client as Door, Letter};
use crate::console::told::{Receipt, Record};
use systole_kit::writer::Writer;

/// Answers that a client may be owed before it waits for the oldest: with a few clients enough work for
/// every listener, and so little that the end of a run is near.
const OWED: usize = 6;
/// The longest that one look for an answer lasts.
const LOOK: Duration = Duration::from_secs(5);
/// Looks for one answer after which it is left open, for the judge to find. With nobody killing any more,
/// an answer takes a second at most.
const LOOKS: u32 = 24;
/// Every client has the one credential there is.
const NAME: &str = "operator";

/// What clients were told of the ends of their messages.
#[derive(Clone, Default, Debug)]
pub struct Tally {
    /// Messages that were refused, as they should be.
    pub refused: u64,
    /// Codes of the calls that failed, with their number.
    pub failures: BTreeMap<String, u64>,
}

impl Tally {
    /// Adds another one's.
    pub(super) fn add(&mut self, other: Tally) {
        self.refused += other.refused;
        for (code, count) in other.failures {
            *self.failures.entry(code).or_default() += count;
        }
    }
}

/// A message, and what names it.
struct Message {
    key: String,
    document: Vec<u8>,
    token: String,
    thread: Option<String>,
    /// Whether it is one that has to be refused.
    wrong: bool,
}

/// A message that was taken, whose answer was not seen yet.
struct Owed {
    message: Message,
    receipt: Receipt,
}

/// A line of a history, in the form that the judge reads.
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
pub(super) struct Client {
    number: u64,
    sent: u64,
    board: Arc<Board>,
    dice: Dice,
    history: File,
    door: Option<(u64, Door)>,
    owed: VecDeque<Owed>,
    /// Threads that it opened, to go on with.
    roots: Vec<String>,
    tally: Tally,
}

impl Client {
    pub(super) fn new(house: &House, number: u64, board: Arc<Board>, dice: Dice) -> std::io::Result<Client> {
        Ok(Client {
            number,
            sent: 0,
            board,
            dice,
            history: File::options().create(true).append(true).open(house.history(number))?,
            door: None,
            owed: VecDeque::new(),
            roots: Vec::new(),
            tally: Tally::default(),
        })
    }

    /// Sends until no more is wanted, then waits for what is owed.
    pub(super) fn work(mut self) -> std::io::Result<Tally> {
        while self.board.wants_messages() {
            let message = self.next();
            self.send(message)?;
            let patient = self.dice.percent(40);
            if patient || self.owed.len() > OWED {
                self.see_oldest()?;
            }
            let pause = Duration::from_millis(self.dice.below(15));
            self.board.pause(pause);
        }
        while !self.owed.is_empty() {
            self.see_oldest()?;
        }
        Ok(self.tally)
    }

    /// The next message: mostly right, sometimes wrong, sometimes in a thread that is there.
    fn next(&mut self) -> Message {
        self.sent += 1;
        let token = ["t-", &self.number.to_string(), "-", &self.sent.to_string()].concat();
        let key = ["k-", &self.number.to_string(), "-", &self.sent.to_string()].concat();
        let wrong = self.dice.percent(5);
        let what = self.dice.below(100);
        let document = match what {
            _ if wrong => document("desk", "job", &[("tokn", &token)]),
            0..40 => document("desk", "job", &[("token", &token)]),
            40..70 => document("till", "pay", &[("token", &token)]),
            _ => document("press", "stamp", &[("token", &token), ("copies", "1"), ("mark", "none")]),
        };
        let goes_on = self.dice.percent(30);
        let thread = self.dice.one_of(&self.roots).filter(|_| goes_on).cloned();
        Message { key, document, token, thread, wrong }
    }

    /// Sends until it is taken or refused; gives up only with the run.
    fn send(&mut self, message: Message) -> std::io::Result<()> {
        let mut seen = None;
        loop {
            let Some(life) = self.open_door(seen) else { return Ok(()) };
            let Some((_, door)) = &self.door else { return Ok(()) };
            let thread = message.thread.as_deref();
            let letter = Letter { key: &message.key, to: None, thread, document: &message.document };
            match door.send(&letter) {
                Ok(Ok(receipt)) => {
                    self.write(&message, Some(&receipt), None, None)?;
                    // Once more, sometimes: the receipt has to be the same.
                    if self.dice.percent(5) && !receipt.repeated {
                        continue;
                    }
                    if message.thread.is_none() {
                        self.roots.push(receipt.thread.clone());
                    }
                    self.sometimes_cancel();
                    self.board.count_acknowledged();
                    self.owed.push_back(Owed { message, receipt });
                    return Ok(());
                }
                Ok(Err(refusal)) if is_last_word(&refusal.code, message.wrong) => {
                    self.write(&message, None, Some(&refusal.code), None)?;
                    self.tally.refused += u64::from(message.wrong);
                    let code = ["refused: ", &refusal.code].concat();
                    if !message.wrong {
                        *self.tally.failures.entry(code).or_default() += 1;
                    }
                    return Ok(());
                }
                // Whether it is stored is not known: it is sent again, with the same key.
                Ok(Err(refusal)) if !is_full(&refusal.code) => {
                    self.write(&message, None, Some("ingress.unavailable"), None)?;
                }
                // The thread has as many calls as may wait; later there is room.
                Ok(Err(refusal)) => self.write(&message, None, Some(&refusal.code), None)?,
                Err(_) => self.write(&message, None, None, None)?,
            }
            seen = Some(life);
        }
    }

    /// Ends its newest thread, in which most is at work. Should the word get lost, the thread goes on.
    fn sometimes_cancel(&mut self) {
        if self.dice.percent(4)
            && let (Some(thread), Some((_, door))) = (self.roots.pop(), &self.door)
        {
            let _lost_or_done = door.cancel(&thread);
        }
    }

    /// Waits for the answer that is owed longest.
    fn see_oldest(&mut self) -> std::io::Result<()> {
        let Some(Owed { message, receipt }) = self.owed.pop_front() else { return Ok(()) };
        let mut seen = None;
        for _ in 0..LOOKS {
            let Some(life) = self.open_door(seen) else { break };
            let Some((_, door)) = &self.door else { break };
            let found = door.events(receipt.position, &receipt.thread, Some(LOOK)).ok().and_then(|events| {
                let mut records = events.map_while(Result::ok);
                records.find_map(|record| ending(&receipt, &record).map(|ending| (ending, record)))
            });
            if let Some((ending, record)) = found {
                if let Ending::Failed(code) = ending {
                    *self.tally.failures.entry(code).or_default() += 1;
                }
                return self.write(&message, Some(&receipt), None, Some(&record));
            }
            seen = Some(life);
        }
        Ok(())
    }

    /// The door of the life that can be reached; none once the run is given up.
    fn open_door(&mut self, seen: Option<u64>) -> Option<u64> {
        let reachable = self.board.reach(seen)?;
        if self.door.as_ref().is_none_or(|(life, _)| *life != reachable.life) {
            self.door = Some((reachable.life, Door::of(&reachable.run)));
        }
        Some(reachable.life)
    }

    fn write(
        &mut self,
        message: &Message,
        receipt: Option<&Receipt>,
        refused: Option<&str>,
        answer: Option<&Record>,
    ) -> std::io::Result<()> {
        let answered = answer.map(|record| hex(record.body.as_bytes()));
        let line = Line {
            client: NAME,
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

/// Whether a refusal says that there is no room now, and will be. Too much that was refused hides why a
/// message was, and one that is right was only refused for room.
fn is_full(code: &str) -> bool {
    code == "thread.busy" || code == "ingress.throttled"
}

/// Whether a message that was refused like that is not sent again.
fn is_last_word(code: &str, wrong: bool) -> bool {
    let counted = wrong && code == "ingress.throttled";
    counted || !(code.starts_with("ingress.") || is_full(code))
}

fn document(listener: &str, element: &'static str, fields: &[(&'static str, &str)]) -> Vec<u8> {
    let mut writer = Writer::new();
    let namespace = ["https://xml-pipeline.org/ns/", listener, "/v1"].concat();
    writer.open(element).xmlns(&namespace).content(|inside| {
        for (name, text) in fields {
            inside.open(*name).text(text);
        }
    });
    writer.finish()
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        // Writing into a String cannot fail.
        let _infallible = write!(hex, "{byte:02x}");
    }
    hex
}
