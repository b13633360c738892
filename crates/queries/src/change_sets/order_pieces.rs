//! What an order of a workspace does to files, piece by piece, as an editor shows it.

use crate::change_payload::ChangeElement;

/// Whole lines of a file, and what they become.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OrderPiece {
    /// The file, from the folder of the workspace.
    pub path: String,
    /// The first of the lines in the file as it was, from 1.
    pub line: u64,
    /// What they were; `None` if there was no file.
    pub was: Option<String>,
    /// What they become.
    pub now: String,
}

/// An order of a workspace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OrderedChange {
    /// What its agent said of it.
    pub summary: Option<String>,
    /// What it does to files.
    pub pieces: Vec<OrderPiece>,
    /// Whether it runs commands.
    pub has_commands: bool,
}

/// Reads an order. `None` for another payload.
pub fn read_order(body: &[u8]) -> Option<OrderedChange> {
    let root = ChangeElement::read(body).filter(|root| root.local == "apply")?;
    let edits = root.children.iter().filter(|child| child.local == "edit");
    let pieces = edits.flat_map(|edit| {
        let path = edit.attribute("path").unwrap_or_default();
        let is_new = edit.hash("before").is_none();
        edit.children.iter().filter(|piece| piece.local == "piece").map(move |piece| {
            let text = |name: &str| {
                let found = piece.children.iter().find(|one| one.local == name);
                found.map(|one| one.text.clone()).unwrap_or_default()
            };
            OrderPiece {
                path: path.to_owned(),
                line: piece.attribute("line").and_then(|line| line.parse().ok()).unwrap_or(1),
                was: (!is_new).then(|| text("was")),
                now: text("now"),
            }
        })
    });
    Some(OrderedChange {
        summary: root.attribute("summary").map(str::to_owned),
        pieces: pieces.collect(),
        has_commands: root.children.iter().any(|child| child.local == "command"),
    })
}
