//! The one row that only a copy has: which copy it is, of what, and how far it goes. The row is written in the same
//! transaction as the data, so a copy always goes exactly as far as it says.

use rusqlite::{Connection, OptionalExtension, params};

use systole_core::types::ids::Digest;

/// The last bundle that a copy holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LastBundle {
    /// Its place in the stream; 0 before the first.
    pub sequence: u64,
    /// Its hash; zeros before the first.
    pub bundle: Digest,
}

impl LastBundle {
    /// Before the first bundle.
    pub const NOTHING: LastBundle = LastBundle { sequence: 0, bundle: Digest([0; 32]) };
}

/// A copy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogCopy {
    /// Its id among all copies.
    pub node: [u8; 16],
    /// What it is a copy of.
    pub source: String,
    /// How far it goes.
    pub followed: LastBundle,
}

fn to_signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn read_copy(connection: &Connection) -> rusqlite::Result<Option<LogCopy>> {
    let row = |row: &rusqlite::Row<'_>| {
        let sequence: i64 = row.get(2)?;
        let followed = LastBundle { sequence: sequence.unsigned_abs(), bundle: Digest(row.get(3)?) };
        Ok(LogCopy { node: row.get(0)?, source: row.get(1)?, followed })
    };
    connection.query_row("SELECT node, source, sequence, bundle FROM followed", [], row).optional()
}

pub(super) fn begin_copy(connection: &Connection, copy: &LogCopy) -> rusqlite::Result<()> {
    let LastBundle { sequence, bundle } = &copy.followed;
    let sql =
        "INSERT OR REPLACE INTO followed (id, node, source, sequence, bundle) VALUES (1, ?1, ?2, ?3, ?4)";
    connection.execute(sql, params![copy.node, copy.source, to_signed(*sequence), bundle.0]).map(drop)
}

pub(super) fn set_followed(connection: &Connection, followed: &LastBundle) -> rusqlite::Result<()> {
    let mut set = connection.prepare_cached("UPDATE followed SET sequence = ?1, bundle = ?2")?;
    set.execute(params![to_signed(followed.sequence), followed.bundle.0]).map(drop)
}
