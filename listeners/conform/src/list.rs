//! The lists of checks, which are part of this program. A list never changes once it has landed.
//!
//! In: the text of a list. Out: its rows. It runs no check.

/// List 1.0, as it is stored.
const LIST_1_0: &str = include_str!("../1.0.toml");

/// How much a check counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CheckLevel {
    /// A worker that fails it loses or repeats work.
    Must,
    /// A worker that fails it is less useful than it could be.
    Should,
}

/// One check of a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckRow {
    /// Its name, such as `text.escape`.
    pub id: String,
    /// How much it counts.
    pub level: CheckLevel,
    /// Whether it needs a worker that takes `<task>`.
    pub needs_task: bool,
    /// Where it is scored: `stay`, `lines`, `length`, `once` and `nats`.
    pub carriers: Vec<String>,
    /// The page that says it, below `docs`.
    pub page: String,
    /// What the kit does.
    pub does: String,
    /// What it expects.
    pub expects: String,
}

/// The rows of a list; `None` if there is no list of that name.
pub fn find_list(name: &str) -> Option<Vec<CheckRow>> {
    (name == "1.0").then(|| read_list(LIST_1_0))
}

/// Reads the simple form of TOML in which lists are written: tables of one array, each key on a line of its own.
fn read_list(text: &str) -> Vec<CheckRow> {
    text.split("[[check]]").skip(1).map(read_row).collect()
}

fn read_row(table: &str) -> CheckRow {
    let find = |key: &str| {
        let line = table.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
        line.unwrap_or_default()
    };
    let text = |key: &str| {
        let quoted = find(key).trim_matches('"');
        quoted.replace("\\\"", "\"").replace("\\\\", "\\")
    };
    let carriers = find("carriers").trim_matches(['[', ']']).split(", ");
    CheckRow {
        id: text("id"),
        level: if text("level") == "must" { CheckLevel::Must } else { CheckLevel::Should },
        needs_task: text("scope") == "task",
        carriers: carriers.map(|carrier| carrier.trim_matches('"').to_owned()).collect(),
        page: text("page"),
        does: text("does"),
        expects: text("expects"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g7_list_1_0_has_111_checks_with_names_of_their_own() {
        let rows = find_list("1.0").unwrap();
        let names: std::collections::BTreeSet<&str> = rows.iter().map(|row| row.id.as_str()).collect();
        assert_eq!((rows.len(), names.len()), (111, 111));
        let whole = |row: &CheckRow| {
            let texts = [&row.id, &row.page, &row.does, &row.expects];
            texts.iter().all(|text| !text.is_empty()) && row.carriers.iter().all(|one| !one.is_empty())
        };
        assert!(rows.iter().all(whole));
        let quoted = rows.iter().find(|row| row.id == "text.escape").unwrap();
        assert_eq!(quoted.does, "`&<>\"'` and `]]>`");
    }
}
