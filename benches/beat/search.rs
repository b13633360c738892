//! A search of this project's source: the ranked answer of the listener of code next to ripgrep for the rarest word on
//! the same files. The listener answers at once, so its first result comes with its last.

use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use systole_code::{CodeListener, CodeSpec};
use systole_kit::reply::ReplyContent;
use systole_kit::{Payload, namespaces};

use crate::report::{Table, seconds};
use crate::walk;

/// A query, and its word for ripgrep.
const QUERIES: [(&str, &str); 2] = [("one word", "lease"), ("a question", "where are failed logins counted")];

/// The project without what it builds and installs.
fn spec() -> CodeSpec {
    CodeSpec { root: PathBuf::from("."), deny: vec!["/target".to_owned()] }
}

/// How long the answer takes.
fn ours(listener: &Arc<CodeListener>, query: &str) -> f64 {
    let payload = Payload::write(namespaces::CODE, "search", |inside| inside.open("query").text(query));
    let work = || walk::runtime().block_on(listener.clone().answer_to(payload));
    let (took, said) = seconds(work);
    assert!(matches!(said, ReplyContent::Items(_)), "{said:?}");
    took
}

/// How long ripgrep takes to its first byte and to its end. `None` if it is not installed.
fn ripgrep(query: &str) -> Option<(f64, f64)> {
    let word = query.split(' ').max_by_key(|word| word.len()).unwrap();
    let mut first = f64::NAN;
    let (total, found) = seconds(|| {
        let mut command = Command::new("rg");
        command.args(["-in", "--glob", "!/target", word, "."]).stdout(Stdio::piped());
        let (spawned, child) = seconds(|| command.spawn());
        let mut child = child.ok()?;
        let mut out = child.stdout.take()?;
        let (until_first, read) = seconds(|| out.read(&mut [0; 1]));
        first = spawned + until_first;
        let mut rest = Vec::new();
        read.ok()?;
        out.read_to_end(&mut rest).ok()?;
        child.wait().ok()?;
        Some(rest.len())
    });
    found.map(|_| (first, total))
}

/// Both, warm: one search before the first is measured.
pub(crate) fn of_source(table: &mut Table) {
    let listener = Arc::new(CodeListener::new(&spec()).unwrap());
    for (what, query) in QUERIES {
        ours(&listener, query);
        let (mut firsts, mut totals) = (Vec::new(), Vec::new());
        for _ in 0..table.runs {
            let took = ours(&listener, query) * 1000.0;
            let (first, total) = ripgrep(query).unwrap_or((f64::NAN, f64::NAN));
            firsts.push((took, first * 1000.0));
            totals.push((took, total * 1000.0));
        }
        table.add(&format!("search, {what}: ranked answer | first line of ripgrep"), "ms", "", &firsts);
        table.add(&format!("search, {what}: ranked answer | all lines of ripgrep"), "ms", "", &totals);
    }
}
