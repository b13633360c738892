//! A connection without order: some messages come twice, some of the copies late, and messages that come in close
//! succession come in any order. It is one direction of a connection of `proxy`.
//!
//! It loses nothing and invents nothing. A frame that is not a message, such as a subscription, passes at once and
//! only once.

use systole_soak::dice::SeededDice;

/// The most messages that are held back for reordering.
const WINDOW: usize = 8;

/// A message that is held back.
struct Back {
    /// Its place among all messages.
    place: u64,
    is_copy: bool,
    frame: Vec<u8>,
}

/// Its effects so far.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Done {
    /// Messages that passed twice.
    pub(crate) twice: u64,
    /// Messages that passed after a message that came later.
    pub(crate) overtaken: u64,
}

impl Done {
    pub(crate) fn add(&mut self, more: Done) {
        self.twice += more.twice;
        self.overtaken += more.overtaken;
    }
}

/// One direction.
pub(crate) struct Unruly {
    dice: SeededDice,
    back: Vec<Back>,
    came: u64,
    /// The latest message that has passed.
    gone: u64,
    pub(crate) done: Done,
}

impl Unruly {
    pub(crate) fn new(dice: SeededDice) -> Unruly {
        Unruly { dice, back: Vec::new(), came: 0, gone: 0, done: Done::default() }
    }

    /// Takes a frame; returns the frames that pass now.
    pub(crate) fn take(&mut self, frame: Vec<u8>) -> Vec<Vec<u8>> {
        if message(&frame).is_none() {
            return vec![frame];
        }
        self.came += 1;
        let place = self.came;
        if self.dice.below(3) == 0 {
            self.back.push(Back { place, is_copy: true, frame: frame.clone() });
            self.done.twice += 1;
        }
        self.back.push(Back { place, is_copy: false, frame });
        if self.back.len() < WINDOW { Vec::new() } else { self.let_go() }
    }

    /// The frames that pass when nothing came for a while. Half of the copies stay until the next time.
    pub(crate) fn let_go(&mut self) -> Vec<Vec<u8>> {
        let mut going = Vec::new();
        while !self.back.is_empty() {
            let which = self.dice.below(self.back.len() as u64);
            going.push(self.back.swap_remove(usize::try_from(which).unwrap()));
        }
        let mut frames = Vec::new();
        for one in going {
            if one.is_copy && self.dice.percent(50) {
                self.back.push(one);
                continue;
            }
            self.done.overtaken += u64::from(one.place < self.gone);
            self.gone = self.gone.max(one.place);
            frames.push(one.frame);
        }
        frames
    }

    /// Whether something is held back.
    pub(crate) fn holds(&self) -> bool {
        !self.back.is_empty()
    }
}

/// The line of a message of either side, which ends with the length of the payload.
pub(crate) fn message(frame: &[u8]) -> Option<String> {
    let line = &frame[..frame.windows(2).position(|end| end == b"\r\n")?];
    let is_one = ["MSG ", "HMSG ", "PUB ", "HPUB "].iter().any(|word| line.starts_with(word.as_bytes()));
    is_one.then(|| String::from_utf8_lossy(line).into_owned())
}

#[test]
fn an_unruly_way_loses_nothing_and_doubles_and_shuffles_messages_alone() {
    let mut way = Unruly::new(SeededDice::new(5));
    let mut came = Vec::new();
    for number in 0..100 {
        assert_eq!(way.take(b"PING\r\n".to_vec()), [b"PING\r\n"]);
        came.extend(way.take(format!("PUB a 3\r\n{number:03}\r\n").into_bytes()));
    }
    while way.holds() {
        came.extend(way.let_go());
    }
    let mut sorted = came.clone();
    sorted.sort();
    assert_ne!(sorted, came, "they are in order");
    sorted.dedup();
    assert_eq!(sorted.len(), 100, "one is lost");
    assert_eq!(came.len() as u64, 100 + way.done.twice);
    assert!(way.done.twice > 10 && way.done.overtaken > 10, "{:?}", way.done);
}
