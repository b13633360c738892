//! The log: where records become durable. The logs in memory, in a SQLite file and in NATS keep the
//! contract of `systole_core::types::ports`. The thread that owns the chosen log is in `writer`.
//!
//! Batches come in and positions go out. Nothing here knows what a record means, and nothing here
//! forgets an error of the operating system: what is not certainly stored is never called committed.

pub mod alarms;
pub mod checkpoint_file;
pub mod index;
pub mod limits;
pub mod memory;
pub mod nats;
pub mod search;
mod side_file;
pub mod slot_file;
pub mod sqlite;
pub mod writer;

use std::fmt;

use systole_core::types::record::Header;

/// The uniqueness rules that every log enforces. They make sure that an effect happens only once, so
/// the log checks them too, although the pump should never break them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum BatchRule {
    /// A thread's records are numbered from 1 without a gap. The variant holds the thread's last
    /// number.
    Sequence {
        /// The number of the thread's last record; 0 if it has none.
        last: u64,
    },
    /// `(thread, call, turn, ordinal)` names one item.
    Item,
    /// `(thread, sender, key)` names one message.
    Key,
}

/// A rule and the record that would break it, in words for the operator.
struct RuleBreach<'a>(BatchRule, &'a Header);

impl fmt::Display for RuleBreach<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RuleBreach(rule, header) = self;
        let thread = &header.thread;
        match rule {
            BatchRule::Sequence { last } => {
                write!(f, "thread {thread}: record {} does not follow record {last}", header.seq)
            }
            BatchRule::Item => write!(
                f,
                "thread {thread}: item {} of turn {} of call {} is already recorded",
                header.ordinal.unwrap_or_default(),
                header.turn.unwrap_or_default(),
                header.call.as_ref().map_or("-", |c| c.as_str()),
            ),
            BatchRule::Key => write!(
                f,
                "thread {thread}: key {} of {} is already recorded",
                header.key.as_ref().map_or("-", |k| k.as_str()),
                header.from,
            ),
        }
    }
}
