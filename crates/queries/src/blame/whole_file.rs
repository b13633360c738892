//! Who wrote each line of a file: the change set, or that it was there before, or that something outside changed it.
//!
//! A log and a file come in; a line of output for each of its lines goes out.

use serde_json::{Value, json};
use systole_core::types::ids::{Digest, Name};
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::time::Millis;
use systole_kit::writer::make_visible;

use super::list_counted;
use crate::change_sets::lines::{FileEdit, LineOrigin, origins};
use crate::change_sets::{ChangeSet, changes};
use systole_show::columns::{plain, width};
use systole_show::layout;

/// The lines of a file, each with its origin.
pub struct BlamedFile {
    path: String,
    lines: Vec<(String, FileLineOrigin)>,
}

enum FileLineOrigin {
    Before,
    Outside,
    Written(Box<ChangeSet>),
}

/// Finds out who wrote each line of a file of a workspace.
pub fn blame_file(
    reader: &dyn LogReader,
    (workspace, path): (&Name, &str),
    (text, hash): (&str, Digest),
) -> Result<BlamedFile, LogFault> {
    let all = changes(reader, workspace)?;
    let (sets, edits): (Vec<&ChangeSet>, Vec<FileEdit>) =
        list_counted(&all, path, hash).into_iter().map(|(set, edit)| (set, edit.clone())).unzip();
    let of_line = origins(&edits, Some(hash));
    let origin = |line: usize| match of_line.of(line) {
        LineOrigin::Before => FileLineOrigin::Before,
        LineOrigin::OutsideBefore(_) | LineOrigin::OutsideAfter => FileLineOrigin::Outside,
        LineOrigin::Edit(number) => match sets.get(number) {
            Some(set) => FileLineOrigin::Written(Box::new((*set).clone())),
            None => FileLineOrigin::Before,
        },
    };
    let lines = (1..).zip(text.lines()).map(|(number, line)| (line.to_owned(), origin(number))).collect();
    Ok(BlamedFile { path: path.to_owned(), lines })
}

impl BlamedFile {
    /// In lines for a person.
    pub fn lines(&self, now: Millis) -> Vec<String> {
        let lead = |origin: &FileLineOrigin| match origin {
            FileLineOrigin::Before => "there before".to_owned(),
            FileLineOrigin::Outside => "changed outside".to_owned(),
            FileLineOrigin::Written(set) => {
                format!("{} {}", plain(&set.change), layout::moment(set.time, now))
            }
        };
        let leads: Vec<String> = self.lines.iter().map(|(_, origin)| lead(origin)).collect();
        let wide = leads.iter().map(|lead| width(lead)).max().unwrap_or_default();
        let digits = self.lines.len().to_string().len();
        let shown = (1..).zip(self.lines.iter().zip(leads)).map(|(number, ((text, _), lead))| {
            let blank = " ".repeat(wide.saturating_sub(width(&lead)));
            // The text keeps its indentation.
            format!("{lead}{blank}  {number:>digits$}  {}", make_visible(text)).trim_end().to_owned()
        });
        shown.collect()
    }

    /// For programs.
    pub fn as_json(&self) -> Value {
        let lines = (1..).zip(&self.lines).map(|(number, (text, origin)): (usize, _)| match origin {
            FileLineOrigin::Before => json!({"line": number, "text": text, "origin": "before"}),
            FileLineOrigin::Outside => json!({"line": number, "text": text, "origin": "outside"}),
            FileLineOrigin::Written(set) => json!({
                "line": number, "text": text, "origin": "change", "change": set.change,
                "record": format!("{}@{}", set.thread, set.seq), "time": set.time.to_string(),
            }),
        });
        json!({"path": self.path, "lines": lines.collect::<Vec<_>>()})
    }
}
