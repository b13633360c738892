//! The examples beside the table of codes: every code is brought about, and what the house says then is
//! written down, `crates/core/src/types/examples.txt`, from where `explain` and the page of codes take it.
//! `SYSTOLE_GOLDEN=1` writes it anew; without it words that have changed are a failure.

mod broker;
mod files;
mod limits;
mod listeners;
mod log;
mod outside;
mod payloads;
mod proof;
mod retries;

use std::collections::BTreeMap;
use std::fs;

use systole_core::types::codes::Code;
use systole_core::types::record::{Record, RecordCode};
use systole_queries::glance::read_error;
use systole_show::columns::{plain, wrapped};

const EXAMPLES: &str = "crates/core/src/types/examples.txt";

/// The examples so far.
#[derive(Default)]
struct ExampleBook(BTreeMap<&'static str, String>);

impl ExampleBook {
    /// Takes the newest record with that code, below a line that says what was done.
    fn take(&mut self, records: &[Record], code: Code, done: &str) {
        let newest = || records.iter().rev();
        let says = |record: &&Record| read_error(&record.body).is_some_and(|told| told.code == code.as_str());
        let said = newest().find(says).map(|record| record.body.to_vec());
        // A program's own output quotes what it saw while it worked.
        let said = said.or_else(|| newest().find_map(|record| quoted(code, record)));
        let marked = || newest().find(|record| record.header.code == Some(RecordCode::Code(code)));
        let body = said.or_else(|| marked().map(|record| record.body.to_vec()));
        let body = body.unwrap_or_else(|| panic!("{code} was not given out: {}", lines(records)));
        self.write(code, done, &words(code, &body));
    }

    /// Takes a text unchanged.
    fn write(&mut self, code: Code, done: &str, text: &str) {
        let done = wrapped("", 0, &steady(done)).join("\n");
        let page = format!("{done}:\n\n{}\n", text.trim_end());
        assert!(self.0.insert(code.as_str(), page).is_none(), "{code} is shown twice");
    }

    /// The file: every code in the order of the table.
    fn page(&self) -> String {
        let mut page = String::new();
        for code in Code::ALL {
            match self.0.get(code.as_str()) {
                Some(example) => page += &format!("== {code} ==\n{example}\n"),
                None => panic!("{code} has no example"),
            }
        }
        page
    }
}

/// The error with that code that a record contains as text.
fn quoted(code: Code, record: &Record) -> Option<Vec<u8>> {
    let text = crate::promises::cast::plain(record);
    let error = text.get(text.find("<system-error")?..)?;
    let tag = error.split_once('>')?.0;
    let whole = if tag.ends_with('/') {
        format!("{tag}>")
    } else {
        error.split_once("</system-error>")?.0.to_owned() + "</system-error>"
    };
    read_error(whole.as_bytes()).filter(|told| told.code == code.as_str()).map(|_| whole.into_bytes())
}

fn lines(records: &[Record]) -> String {
    let line = |record: &Record| {
        let body = String::from_utf8_lossy(&record.body).into_owned();
        format!("\n{} {:?} {}", record.header.thread, record.header.code, &body[..body.len().min(300)])
    };
    records.iter().rev().take(12).map(line).collect()
}

/// The text of a record, as a person reads it.
fn words(code: Code, body: &[u8]) -> String {
    let Some(told) = read_error(body) else {
        return format!("{}\n", wrapped("", 2, &steady(&plain(&String::from_utf8_lossy(body)))).join("\n"));
    };
    let mut page = wrapped(&format!("{}:", code.as_str()), 4, &steady(&told.message));
    let spot = told.place.map(|(line, column)| format!("line {line}, column {column}"));
    let place: Vec<String> = told.path.into_iter().chain(spot).collect();
    let parts = [
        ("  at      ", Some(place.join(", ")).filter(|place| !place.is_empty())),
        ("  expected", told.expected),
        ("  received", told.received),
        ("  try     ", told.fix),
    ];
    for (name, words) in parts {
        let words = words.map(|words| steady(&words));
        page.extend(words.into_iter().flat_map(|words| wrapped(name, 11, &words)));
    }
    page.into_iter().flat_map(|line| [line, "\n".to_owned()]).collect()
}

/// A text without what differs in each run: thread ids, how long a program lived, its process.
fn steady(text: &str) -> String {
    let mut steady = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("sess-") {
        let digits = after.bytes().take_while(u8::is_ascii_hexdigit).count();
        steady.push_str(before);
        steady.push_str("sess-");
        steady.push_str(if digits == 12 { "1f0c9a2b77d1" } else { &after[..digits] });
        rest = &after[digits..];
    }
    let steady = replaced(&(steady + rest), "exited 1 after ", " s;", "0.2");
    replaced(&steady, " from /", ":", "srv/hello")
}

/// The text with everything between two other texts replaced, if it is short.
fn replaced(text: &str, before: &str, after: &str, by: &str) -> String {
    let Some((head, rest)) = text.split_once(before) else { return text.to_owned() };
    match rest.split_once(after).filter(|(between, _)| !between.contains(' ')) {
        Some((_, tail)) => [head, before, by, after, tail].concat(),
        None => text.to_owned(),
    }
}

/// All of them in one run: each house keeps its messages about threads and listeners separate.
#[tokio::test]
async fn every_code_has_an_example_that_was_brought_about() {
    let mut book = ExampleBook::default();
    files::show(&mut book);
    payloads::show(&mut book).await;
    listeners::show(&mut book).await;
    limits::show(&mut book).await;
    outside::show(&mut book);
    retries::show(&mut book);
    broker::show(&mut book).await;
    broker::show_refusal(&mut book);
    log::show(&mut book).await;
    proof::show(&mut book).await;
    let page = book.page();
    if crate::golden::is_rewritten() {
        fs::write(EXAMPLES, &page).unwrap();
    }
    let kept = fs::read_to_string(EXAMPLES).unwrap_or_default();
    let stale: Vec<&str> = page.split("\n== ").filter(|example| !kept.contains(example.trim_end())).collect();
    assert!(stale.is_empty(), "SYSTOLE_GOLDEN=1 writes {EXAMPLES} again:\n{}", stale.join("\n"));
    assert_eq!(page.len(), kept.len(), "an example is left over in {EXAMPLES}");
    let wide: Vec<&str> = page.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "wider than a terminal: {wide:#?}");
}
