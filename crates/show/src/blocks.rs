//! What an answer shows, as parts that a terminal and a page both draw.
//!
//! Names, values and words come in; lines for a terminal go out. A page draws the same parts in its own form. Nothing
//! here knows what was asked.

use systole_core::types::time::Millis;
use systole_kit::writer::make_visible;

use crate::columns::{cut, plain, wrapped};
use crate::limits;

/// A part of an answer.
pub enum Block {
    /// Rows of names and facts.
    Table(FactTable),
    /// Lines that were made for a terminal, with foreign text made visible.
    Lines(Vec<String>),
    /// Facts with their labels.
    Facts(Vec<LabelledFact>),
    /// Long texts, each under a title.
    Bodies(Vec<LongText>),
    /// Steps that are done or open.
    Checks(CheckList),
    /// Rows that need more than a sentence.
    List(RowList),
    /// A table for a spreadsheet, for a command alone.
    Sheet(String),
    /// A sentence about what is not there.
    Note(String),
}

/// Rows that need more than a sentence: a page shows their cells, a terminal their lines.
pub struct RowList {
    /// What is listed.
    pub label: &'static str,
    /// A title for each cell of a row, and the class of the cells on a page.
    pub columns: Vec<(&'static str, &'static str)>,
    /// The rows.
    pub rows: Vec<ListRow>,
}

/// A row of a list.
pub struct ListRow {
    /// The record that it leads to: the thread and the number.
    pub record: (String, u64),
    /// Its cells.
    pub cells: Vec<ListCell>,
    /// The row for a terminal.
    pub lines: Vec<String>,
}

/// A cell of a row.
#[derive(Default)]
pub struct ListCell {
    /// What it says.
    pub text: String,
    /// The record that it leads to.
    pub record: Option<(String, u64)>,
    /// The moment that the text says.
    pub time: Option<Millis>,
    /// A hash beside it.
    pub beside: String,
}

impl From<String> for ListCell {
    fn from(text: String) -> ListCell {
        ListCell { text, ..ListCell::default() }
    }
}

/// Where a fact leads, on a page.
pub enum FactLink {
    /// To a record: its thread and number.
    Record(String, u64),
    /// To the same answer as of that record of the thread.
    AsOf(u64),
}

/// A fact with a label.
pub struct LabelledFact {
    /// What it is, on a page.
    pub label: &'static str,
    /// Where it leads.
    pub link: Option<FactLink>,
    /// Its value.
    pub value: String,
    /// Its line on a terminal; empty if it is for pages alone.
    pub line: String,
}

/// A long text.
pub struct LongText {
    /// What it is.
    pub title: String,
    /// The text.
    pub text: String,
    /// Whether it was not there before.
    pub is_new: bool,
}

/// Steps that are done or open, until a condition holds.
pub struct CheckList {
    /// Who keeps it.
    pub who: String,
    /// The call that it belongs to.
    pub call: String,
    /// Its record: the thread and the number.
    pub record: (String, u64),
    /// The condition.
    pub until: String,
    /// Whether each step is done, and its text.
    pub steps: Vec<(bool, String)>,
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
        let names: String =
            self.names.iter().map(|name| format!("{}  ", cut(&plain(name), limits::NAME_COLUMNS))).collect();
        let words: Vec<&str> =
            self.facts.iter().map(|fact| fact.words.as_str()).filter(|words| !words.is_empty()).collect();
        wrapped(&names, limits::INDENT, &words.join(", "))
    }
}

impl Block {
    /// The lines for a terminal, with foreign text made visible. A note and a sheet have none.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        match self {
            Block::Table(table) => table.lines(),
            Block::Lines(lines) => lines.clone(),
            Block::Facts(facts) => facts.iter().filter_map(LabelledFact::visible_line).collect(),
            Block::Bodies(parts) => parts.iter().flat_map(LongText::lines).collect(),
            Block::Checks(list) => list.lines(),
            Block::List(list) => list.rows.iter().flat_map(|row| row.lines.clone()).collect(),
            Block::Sheet(_) | Block::Note(_) => Vec::new(),
        }
    }
}

impl LabelledFact {
    fn visible_line(&self) -> Option<String> {
        (!self.line.is_empty()).then(|| make_visible(&self.line).into_owned())
    }
}

impl LongText {
    fn lines(&self) -> Vec<String> {
        let title = make_visible(&format!("--- {}", self.title)).into_owned();
        [String::new(), title]
            .into_iter()
            .chain(make_visible(&self.text).lines().map(str::to_owned))
            .collect()
    }
}

impl CheckList {
    /// How many of its steps are open.
    #[must_use]
    pub fn count(&self) -> String {
        let open = self.steps.iter().filter(|(is_done, _)| !is_done).count();
        format!("{open} of {} open", self.steps.len())
    }

    /// The list for a terminal.
    fn lines(&self) -> Vec<String> {
        let (who, seq, count) = (cut(&self.who, limits::NAME_COLUMNS), self.record.1, self.count());
        let lead = format!("{who}  call {}  #{seq}  {count}  until", self.call);
        let mut lines = wrapped(&lead, limits::INDENT, &format!(" {}", plain(&self.until)));
        for (is_done, text) in &self.steps {
            let mark = if *is_done { "  [x] " } else { "  [ ] " };
            lines.extend(wrapped(mark, limits::INDENT + 2, &plain(text.trim())));
        }
        lines
    }
}

impl FactTable {
    /// The table for a terminal: a sentence for each row, and the sum if there are several.
    fn lines(&self) -> Vec<String> {
        let sum = self.sum.iter().filter(|_| self.rows.len() > 1);
        self.rows.iter().chain(sum).flat_map(FactRow::lines).collect()
    }
}
