//! The intended content of a log, one line for each record, before anything is hashed.
//!
//! Lines have names, and causes, origins and heads refer to names. So a line can be removed, doubled
//! or moved, and the chains of the sealed log are still whole.

use sha2::{Digest as _, Sha256};

/// A record before it has its place and its hashes.
#[derive(Clone)]
pub(crate) struct Line {
    pub(crate) name: &'static str,
    pub(crate) thread: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) code: Option<&'static str>,
    pub(crate) from: &'static str,
    pub(crate) to: Option<&'static str>,
    pub(crate) call: Option<&'static str>,
    pub(crate) turn: Option<u32>,
    pub(crate) ordinal: Option<u32>,
    /// The name of the line that caused it.
    pub(crate) cause: Option<&'static str>,
    pub(crate) key: Option<&'static str>,
    /// The name of the line whose leaf is its origin.
    pub(crate) origin: Option<&'static str>,
    pub(crate) time_ms: u64,
    pub(crate) id: [u8; 16],
    /// In it `HEAD(NAME)` is replaced by the head after the line of that name.
    pub(crate) body: String,
}

/// A line: methods add sender, addressee, call, turn and ordinal.
pub(crate) fn line(name: &'static str, thread: &'static str, kind: &'static str, code: &'static str) -> Line {
    Line {
        name,
        thread,
        kind,
        code: Some(code),
        from: "core",
        to: None,
        call: None,
        turn: None,
        ordinal: None,
        cause: None,
        key: None,
        origin: None,
        time_ms: 1_795_158_000_000,
        id: id_of(name),
        body: "<e xmlns=\"urn:e\"/>".into(),
    }
}

/// An id of version 7 that is derived from a name.
fn id_of(name: &str) -> [u8; 16] {
    let mut id = [0; 16];
    id.iter_mut().zip(Sha256::digest(name)).for_each(|(to, from)| *to = from);
    id[6] = id[6] & 0x0f | 0x70;
    id[8] = id[8] & 0x3f | 0x80;
    id
}

impl Line {
    pub(crate) fn between(mut self, from: &'static str, to: &'static str) -> Line {
        (self.from, self.to) = (from, (!to.is_empty()).then_some(to));
        self
    }

    pub(crate) fn on(mut self, call: &'static str) -> Line {
        self.call = Some(call);
        self
    }

    pub(crate) fn at(mut self, turn: u32, ordinal: u32) -> Line {
        (self.turn, self.ordinal) = (Some(turn), Some(ordinal));
        self
    }

    /// Belongs to a turn, and not to an item of it.
    pub(crate) fn turn(mut self, turn: u32) -> Line {
        self.turn = Some(turn);
        self
    }

    pub(crate) fn because(mut self, cause: &'static str) -> Line {
        self.cause = Some(cause);
        self
    }

    pub(crate) fn key(mut self, key: &'static str) -> Line {
        self.key = Some(key);
        self
    }

    pub(crate) fn says(mut self, body: &str) -> Line {
        self.body = body.into();
        self
    }

    /// The same line again, as another record.
    pub(crate) fn again(&self, name: &'static str) -> Line {
        Line { name, id: id_of(name), ..self.clone() }
    }
}

/// A log before it is sealed.
pub(crate) struct Script(pub(crate) Vec<Line>);

impl Script {
    fn place(&self, name: &str) -> usize {
        self.0.iter().position(|line| line.name == name).expect("the script has the line")
    }

    pub(crate) fn line(&mut self, name: &str) -> &mut Line {
        let place = self.place(name);
        &mut self.0[place]
    }

    pub(crate) fn remove(&mut self, name: &str) -> Line {
        let place = self.place(name);
        self.0.remove(place)
    }

    /// Inserts a line after the line of that name.
    pub(crate) fn after(&mut self, name: &str, line: Line) {
        let place = self.place(name);
        self.0.insert(place + 1, line);
    }

    /// Inserts the same line again, as another record, after the line of that name.
    pub(crate) fn repeat(&mut self, line: &str, after: &str) {
        let again = self.line(line).again("again");
        self.after(after, again);
    }
}
