//! The id of an event of a run, from which a client goes on: `V.P.n.HASH`, the version of the numbering, the last record
//! that made events, the number among them or the bytes of open text after them, and the hash of the open text.

use std::fmt;

use systole_core::types::ports::Position;

use super::open_text::TextHash;

/// The version of the numbering.
const VERSION: &str = "2";

/// A place among the events of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunCursor {
    pub(super) position: Position,
    pub(super) step: u64,
    /// The hash of the open text.
    pub(super) open: TextHash,
}

impl RunCursor {
    /// The place behind all that records up to a position make, before anything else.
    pub fn behind(position: Position) -> RunCursor {
        RunCursor { position, step: 0, open: TextHash::EMPTY }
    }

    /// Whether a text was open there.
    pub fn has_open_text(&self) -> bool {
        self.open != TextHash::EMPTY
    }

    /// The last record that made events.
    pub fn position(&self) -> Position {
        self.position
    }

    /// The number of the event among those of the record, or that of its last one and the bytes of open text after it.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Reads a cursor. The error says what is wrong.
    pub fn parse(text: &str) -> Result<RunCursor, String> {
        let (version, rest) = text.split_once('.').unwrap_or((text, ""));
        if version != VERSION {
            return Err(format!("the id {text:?} is of another numbering; begin the run anew, without it"));
        }
        let parts: Vec<&str> = rest.split('.').collect();
        let read = || {
            let [position, step, open] = parts.as_slice() else { return None };
            let is_hash = open.len() == 8 && open.bytes().all(|byte| byte.is_ascii_hexdigit());
            let open = u32::from_str_radix(open, 16).ok().filter(|_| is_hash)?;
            let number = |text: &str| text.parse().ok().filter(|number: &u64| number.to_string() == text);
            Some(RunCursor {
                position: Position(number(position)?),
                step: number(step)?,
                open: TextHash(open),
            })
        };
        read().ok_or_else(|| format!("{text:?} is not the id of an event"))
    }
}

impl fmt::Display for RunCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{VERSION}.{}.{}.{:08x}", self.position.0, self.step, self.open.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_and_nothing_else_does() {
        let cursor = RunCursor { position: Position(17), step: 3, open: TextHash::EMPTY };
        assert_eq!(cursor.to_string(), "2.17.3.811c9dc5");
        assert_eq!(RunCursor::parse("2.17.3.811c9dc5"), Ok(cursor));
        for wrong in
            ["", "2", "2.17.3", "2.17.3.811c9dc", "2.+7.3.811c9dc5", "2.017.3.811c9dc5", "2.1.1.811c9dc5.1"]
        {
            assert!(RunCursor::parse(wrong).is_err(), "{wrong}");
        }
        assert!(RunCursor::parse("1.17.3.811c9dc5").unwrap_err().contains("another numbering"));
    }
}
