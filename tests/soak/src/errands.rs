//! The messages of the clients: one for each way of using the workload, some that must be refused, and
//! some with an open outcome. Dice come in, messages go out; it sends nothing.

use systole_kit::namespaces::CORE;
use systole_kit::writer::XmlWriter;

use super::board::NoticeBoard;
use super::dice::SeededDice;
use super::guests::{self, SoakClient};

/// The expected outcome of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    /// It is accepted and answered.
    Answered,
    /// It is accepted, and answered after a steering message for its thread.
    Steered,
    /// It is accepted, and its thread continues until it is ended.
    Ticks,
    /// It is accepted, and waits for something that does not come during the run.
    Left,
    /// It is refused.
    Refused,
    /// Accepted or refused: it is for a thread that may be over.
    Open,
    /// The same, but it joins the work in its thread instead of being a separate question.
    Word,
}

/// A message and its identifiers.
pub(crate) struct Message {
    pub(crate) key: String,
    pub(crate) document: Vec<u8>,
    pub(crate) token: String,
    pub(crate) thread: Option<String>,
    pub(crate) fate: Fate,
}

/// The clerk's errands, with their weights.
const ERRANDS: &[(&str, u64)] = &[
    ("all", 4),
    ("any", 3),
    ("count", 2),
    ("nap", 2),
    ("early", 3),
    ("later", 3),
    ("tick", 2),
    ("todo", 3),
    ("note", 2),
    ("hasty", 2),
    ("cancel", 3),
    ("twice", 2),
    ("steer", 3),
    ("ends", 3),
    ("ask", 3),
    ("safe", 5),
    ("held", 4),
    ("sealed", 1),
    ("loop", 2),
    ("round", 2),
    ("greedy", 2),
    ("miser", 2),
    ("brood", 2),
    ("deep", 2),
    ("weary", 2),
    ("stray", 3),
    ("drag", 1),
    ("long", 3),
    ("view", 3),
    ("clear", 3),
    ("poll", 2),
    ("doubt", 2),
    ("race", 3),
    ("upset", 2),
    ("fiasco", 2),
    ("deal", 4),
    ("lose", 4),
    ("spend", 2),
    ("luxury", 2),
    ("credit", 2),
];

/// The ways of the fuse.
const FUSES: &[&str] = &["burn", "fail", "retry", "dead", "die", "hang", "silent", "again", "notice"];

/// The requests to dealers, and their ways.
const DEALS: &[(&str, &str)] = &[
    ("borrow", "plain"),
    ("borrow", "lost"),
    ("trade", "plain"),
    ("trade", "lost"),
    ("bet", "plain"),
    ("bet", "lost"),
];

/// A thread that does not exist.
const NOWHERE: &str = "sess-000000000000";

/// Draws the messages of one client.
pub(crate) struct Drawer {
    guest: SoakClient,
    number: u64,
    drawn: u64,
}

impl Drawer {
    pub(crate) fn new(guest: SoakClient, number: u64) -> Drawer {
        Drawer { guest, number, drawn: 0 }
    }

    /// A unique name.
    fn name(&self, prefix: &str) -> String {
        format!("{prefix}-{}-{}", self.number, self.drawn)
    }

    /// The next message: mostly right, sometimes wrong, sometimes in an existing thread.
    pub(crate) fn draw(&mut self, dice: &mut SeededDice, board: &NoticeBoard, own: &[String]) -> Message {
        self.drawn += 1;
        let (token, key) = (self.name("t"), self.name("k"));
        if dice.percent(5) {
            let (document, thread) = self.wrong(dice, board, &token);
            return Message { key, document, token, thread, fate: Fate::Refused };
        }
        let (document, fate) = self.right(dice, &token);
        let goes_on = dice.percent(30) && fate == Fate::Answered;
        if goes_on && self.guest == guests::BOB && dice.percent(30) {
            let thread = board.thread_of_another(self.guest.name, dice);
            let fate = if thread.is_some() { Fate::Open } else { fate };
            return Message { key, document, token, thread, fate };
        }
        let thread = dice.one_of(own).filter(|_| goes_on).cloned();
        Message { key, document, token, thread, fate }
    }

    /// A steering message for the thread of a message.
    pub(crate) fn word(&mut self, thread: &str) -> Message {
        self.drawn += 1;
        let (token, key) = (self.name("t"), self.name("k"));
        // Only the inner payload of a steering message is recorded; the rest belongs to the thread.
        let document = errand(&token, "go");
        Message { key, document, token, thread: Some(thread.to_owned()), fate: Fate::Word }
    }

    fn right(&self, dice: &mut SeededDice, token: &str) -> (Vec<u8>, Fate) {
        // Not every client may address every listener.
        let weights: &[u64] =
            if self.guest == guests::CAROL { &[3, 2, 4] } else { &[18, 15, 48, 8, 9, 6, 1, 8] };
        match dice.weighed(weights) {
            0 => (document("desk", "job", &[("token", token)]), Fate::Answered),
            1 => (document("till", "pay", &[("token", token)]), Fate::Answered),
            2 => {
                let weights: Vec<u64> = ERRANDS.iter().map(|(_, weight)| *weight).collect();
                let way = ERRANDS.get(dice.weighed(&weights)).map_or("all", |(way, _)| way);
                let fate = match way {
                    "tick" => Fate::Ticks,
                    "sealed" => Fate::Left,
                    "long" if dice.percent(15) => Fate::Left,
                    "long" => Fate::Steered,
                    _ => Fate::Answered,
                };
                (errand(token, way), fate)
            }
            3 => {
                let fields = [("token", token), ("copies", "1"), ("mark", "none")];
                (document("press", "stamp", &fields), Fate::Answered)
            }
            4 => {
                let way = dice.one_of(FUSES).copied().unwrap_or("burn");
                (document("fuse", "light", &[("token", token), ("way", way)]), Fate::Answered)
            }
            5 => (document("safe", "open", &[("token", token), ("mark", "plain")]), Fate::Answered),
            6 => (document("vault", "unlock", &[("token", token)]), Fate::Left),
            _ => {
                let (deal, way) = dice.one_of(DEALS).copied().unwrap_or(("trade", "plain"));
                (document("market", deal, &[("token", token), ("way", way)]), Fate::Answered)
            }
        }
    }

    /// A message that must be refused: invalid bytes, an unreachable listener, or a thread that does not
    /// exist or belongs to another client.
    fn wrong(&self, dice: &mut SeededDice, board: &NoticeBoard, token: &str) -> (Vec<u8>, Option<String>) {
        let job = document("desk", "job", &[("token", token)]);
        let torn = || (document("desk", "job", &[("tokn", token)]), None);
        match dice.below(4) {
            0 => (job, Some(NOWHERE.to_owned())),
            1 => (document("office", "check", &[("token", token)]), None),
            // A client without a role sees no thread of others.
            2 if self.guest == guests::ALICE => match board.thread_of_another(self.guest.name, dice) {
                Some(thread) => (job, Some(thread)),
                None => torn(),
            },
            2 if self.guest == guests::CAROL => (document("vault", "unlock", &[("token", token)]), None),
            _ => torn(),
        }
    }
}

/// A steering message, with its payload inside.
pub(crate) fn steering(word: &Message) -> Vec<u8> {
    let mut writer = XmlWriter::new();
    writer.open("steer").xmlns(CORE).content(|inside| write_errand(inside, &word.token, "go"));
    writer.finish()
}

fn errand(token: &str, way: &str) -> Vec<u8> {
    let mut writer = XmlWriter::new();
    write_errand(&mut writer, token, way);
    writer.finish()
}

fn write_errand(writer: &mut XmlWriter, token: &str, way: &str) {
    write(writer, "clerk", "errand", &[("token", token), ("way", way)]);
}

fn document(listener: &str, element: &'static str, fields: &[(&'static str, &str)]) -> Vec<u8> {
    let mut writer = XmlWriter::new();
    write(&mut writer, listener, element, fields);
    writer.finish()
}

fn write(writer: &mut XmlWriter, listener: &str, element: &'static str, fields: &[(&'static str, &str)]) {
    let namespace = format!("https://xml-pipeline.org/ns/{listener}/v1");
    writer.open(element).xmlns(&namespace).content(|inside| {
        for (name, text) in fields {
            inside.open(*name).text(text);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every way that the workload's listeners know is drawn, by a client that is allowed to.
    #[test]
    fn every_way_is_drawn_and_every_fate() {
        let board = NoticeBoard::default();
        board.tell_of("operator", "sess-1f0c9a2b77d1");
        let own = ["sess-2f0c9a2b77d1".to_owned()];
        let (mut documents, mut fates) = (Vec::new(), Vec::new());
        for number in 1..=4 {
            let mut drawer = Drawer::new(guests::client(number), number);
            let mut dice = SeededDice::new(number);
            for _ in 0..2_000 {
                let message = drawer.draw(&mut dice, &board, &own);
                documents.push(String::from_utf8_lossy(&message.document).into_owned());
                fates.push(message.fate);
            }
        }
        let ways = ERRANDS.iter().map(|(way, _)| *way).chain(FUSES.iter().copied());
        let missed: Vec<&str> = ways
            .filter(|way| !documents.iter().any(|it| it.contains(&format!("<way>{way}</way>"))))
            .collect();
        assert_eq!(missed, Vec::<&str>::new());
        let deals = DEALS.iter().map(|(deal, way)| (format!("<{deal} "), format!("<way>{way}")));
        let asked =
            |(deal, way): &(String, String)| documents.iter().any(|it| it.contains(deal) && it.contains(way));
        assert_eq!(deals.filter(|deal| !asked(deal)).collect::<Vec<_>>(), Vec::new());
        for fate in [Fate::Answered, Fate::Steered, Fate::Ticks, Fate::Left, Fate::Refused, Fate::Open] {
            assert!(fates.contains(&fate), "{fate:?}");
        }
    }

    #[test]
    fn a_word_says_what_is_written_down_of_it() {
        let word = Drawer::new(guests::ALICE, 2).word("sess-1f0c9a2b77d1");
        let steer = String::from_utf8(steering(&word)).unwrap();
        let inside = std::str::from_utf8(&word.document).unwrap();
        assert_eq!(steer, format!("<steer xmlns=\"{CORE}\">{inside}</steer>"));
    }
}
