//! Organisms for the tests of the reading side: listeners that do what their environment says, turn by
//! turn, and do not answer if it says nothing.

use std::time::Duration;

use systole_config as config;
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::{Clock as _, LogReader, Position};
use systole_core::types::record::Record;
use systole_organism::pump_loop::LoopEnd;
use systole_organism::running::Organism;
use systole_queries::log_state::LogState;
use systole_queries::posts::DueCalls;
use systole_queries::why::{Asker, ThreadWaits, list_broken, report, waits};
use systole_show::columns::width;
use systole_show::limits::COLUMNS;
use systole_system::clock::WallClock;

use super::organism::told;
use crate::program::PATIENCE;

const XSD: &str = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:t" elementFormDefault="qualified">
  <xs:element name="plan" type="xs:string"/><xs:element name="planned" type="xs:string"/>
  <xs:element name="search" type="xs:string"/><xs:element name="found" type="xs:string"/>
  <xs:element name="scan" type="xs:string"/><xs:element name="scanned" type="xs:string"/>
  <xs:element name="dig" type="xs:string"/><xs:element name="dug" type="xs:string"/>
</xs:schema>"#;

/// At turn n it prints `TURN_n`. If that variable is not set, it never answers, and ends with stdin.
const ACTOR: &str = r#"import os, re, sys
for line in sys.stdin:
    stamp = re.search(r'<(?:\w+:)?stamp [^>]*>', line).group(0)
    at = lambda name: re.search(name + r'="([^"]*)"', stamp).group(1)
    said = os.environ.get("TURN_" + at("turn"))
    if said is not None:
        print('<reply xmlns="urn:systole:listener:v1" delivery="%s">%s</reply>' % (at("delivery"), said), flush=True)
"#;

/// A listener: its name, what it accepts and returns, and its other keys, one on each line.
pub(crate) struct Actor<'a>(
    pub(crate) &'a str,
    pub(crate) &'a str,
    pub(crate) &'a str,
    pub(crate) &'a [&'a str],
);

/// An organism of these listeners. A `run` among the keys of one replaces its program.
pub(crate) fn cast(parts: &[Actor<'_>]) -> tempfile::TempDir {
    let mut yaml = String::from("organism: {name: hello}\nlog: {path: ./hello.db}\n");
    yaml += "console: {listen: 127.0.0.1:0}\nlisteners:\n";
    for Actor(name, accepts, returns, keys) in parts {
        yaml += &format!(
            "  {name}:\n    schema: t.xsd\n    accepts: [{accepts}]\n    returns: [{returns}]\n    entry: true\n"
        );
        if !keys.iter().any(|key| key.starts_with("run:")) {
            yaml += "    run: [python3, actor.py]\n";
        }
        for key in *keys {
            yaml += &format!("    {key}\n");
        }
    }
    super::organism::folder(&[("organism.yaml", &yaml), ("t.xsd", XSD), ("actor.py", ACTOR)])
}

/// A payload of the test's vocabulary.
pub(crate) fn payload(element: &str, text: &str) -> String {
    format!("<{element} xmlns=\"urn:t\">{text}</{element}>")
}

/// Waits until a record of the log matches.
pub(crate) async fn until(organism: &Organism, like: impl Fn(&Record) -> bool) {
    let mut tail = organism.tail();
    let waits = async {
        loop {
            let records = organism.reader().read_after(Position(0), 10_000).unwrap();
            if records.iter().any(|(_, record)| like(record)) {
                return;
            }
            tail.changed().await.unwrap();
        }
    };
    let came = tokio::time::timeout(PATIENCE, waits).await;
    assert!(came.is_ok(), "no such record came:\n{}", told(organism));
}

/// Reads a log as a command does.
pub(crate) fn look(reader: &dyn LogReader, running: Option<u32>) -> LogState {
    let read = |source: &[u8]| {
        config::read_source(source, std::path::Path::new("/")).map_err(|refused| refused.to_string())
    };
    LogState::look(reader, &read, running).unwrap()
}

/// The state of a thread in a running organism.
pub(crate) fn standing(organism: &Organism, thread: &ThreadId) -> ThreadWaits {
    standing_in(&**organism.reader(), Some(std::process::id()), thread)
}

pub(crate) fn standing_in(reader: &dyn LogReader, running: Option<u32>, thread: &ThreadId) -> ThreadWaits {
    let whole = look(reader, running);
    let posts = DueCalls::at(&whole, WallClock.now());
    let found = whole.thread(reader, thread).unwrap().unwrap();
    ThreadWaits::of(reader, &whole, &posts, &found).unwrap()
}

/// The full text about a thread, with a check that each line fits; and its entries in the list, on one
/// line.
pub(crate) fn words(standing: &ThreadWaits, start: Option<&str>) -> (String, String) {
    let asker = Asker { now: WallClock.now(), start, all: false };
    let list = list_broken(&waits(std::slice::from_ref(standing), asker.now), asker.now);
    (narrow(&report(standing, &asker)), flat(&narrow(&list)))
}

/// The lines as one text, with a check that each fits a terminal and contains nothing that a terminal
/// obeys.
#[track_caller]
pub(crate) fn narrow(lines: &[String]) -> String {
    for line in lines {
        assert!(width(line) <= COLUMNS, "{} columns: {line}", width(line));
        assert_eq!(
            systole_kit::writer::make_visible(line).contains("\\u{5c}"),
            line.contains("\\u{"),
            "{line}"
        );
        assert!(!line.chars().any(char::is_control), "{line:?}");
    }
    lines.join("\n")
}

/// The text on one line, for tests in which line breaks do not matter.
pub(crate) fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Stops the organism at once.
pub(crate) async fn stop(organism: Organism) {
    assert!(matches!(organism.stop(Duration::ZERO).await, LoopEnd::Drained(_)));
}

/// The text with replacements for what differs from run to run: times, durations, thread ids.
pub(crate) fn steady(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let digits = |n: usize, text: &str| text.bytes().take(n).filter(u8::is_ascii_digit).count() == n;
        let at = |n: usize| rest.get(n..).unwrap_or_default();
        if rest.starts_with("sess-") && rest.len() >= 17 {
            out.push_str("sess-0123456789ab");
            rest = at(17);
        } else if digits(2, rest) && at(2).starts_with(':') && digits(2, at(3)) && at(5).starts_with(':') {
            out.push_str("12:00:00");
            rest = at(8);
        } else if digits(1, rest) && at(1).starts_with('.') && digits(1, at(2)) && at(3).starts_with(" s") {
            out.push_str("0.0 s");
            rest = at(5);
        } else {
            out.push(c);
            rest = at(c.len_utf8());
        }
    }
    out
}
