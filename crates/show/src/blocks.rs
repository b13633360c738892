//! What an answer shows, as parts that a terminal and a page both draw.
//!
//! Names, values and words come in; lines for a terminal go out. A page draws the same parts in its own form. Nothing
//! here knows what was asked.

use crate::columns::{cut, plain, wrapped};

/// Columns of a name.
const NAME: usize = 24;
/// Columns before the second line of a row.
const INDENT: usize = 4;

/// A part of an answer.
pub enum Block {
    /// Rows of names and facts.
    Table(FactTable),
    /// A sentence about what is not there.
    Note(String),
}

/// Rows of names and facts, and their sum.
pub struct FactTable {
    /// What the names are, as titles of their columns.
    pub names: Vec<&'static str>,
    /// What the facts are.
    pub facts: Vec<FactColumn>,
    /// The rows.
    pub rows: Vec<FactRow>,
    /// The sum of all rows.
    pub sum: Option<FactRow>,
}

/// A column of facts.
pub struct FactColumn {
    /// Its title.
    pub title: &'static str,
    /// Whether it has amounts.
    pub is_number: bool,
}

/// A row of a table.
pub struct FactRow {
    /// Its names.
    pub names: Vec<String>,
    /// A fact for each column.
    pub facts: Vec<Fact>,
}

/// A fact: what its column shows, and how a sentence says it.
pub struct Fact {
    /// The value in its column.
    pub value: String,
    /// Its part of a sentence; empty if there is nothing to say.
    pub words: String,
}

impl FactRow {
    /// The row as a sentence behind its names.
    fn lines(&self) -> Vec<String> {
        let names: String = self.names.iter().map(|name| format!("{}  ", cut(&plain(name), NAME))).collect();
        let words: Vec<&str> =
            self.facts.iter().map(|fact| fact.words.as_str()).filter(|words| !words.is_empty()).collect();
        wrapped(&names, INDENT, &words.join(", "))
    }
}

impl FactTable {
    /// The table for a terminal: a sentence for each row, and the sum if there are several.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let sum = self.sum.iter().filter(|_| self.rows.len() > 1);
        self.rows.iter().chain(sum).flat_map(FactRow::lines).collect()
    }
}
