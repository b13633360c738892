//! The refusals of retries: of threads that did not fail, or ended so that nothing is due.

use std::path::Path;

use systole_core::types::codes::Code;
use systole_show::columns::wrapped;

use super::ExampleBook;
use crate::program::{Running, ask, run_file, systole};
use crate::promises::cast::{BOSS, CRASH, HANG, cast, say};

/// Answers with what its file does not allow.
const ODD: &str = "\nfor turn in turns(): reply(turn.delivery, '<odd xmlns=\"urn:odd\"/>')\n";

pub(super) fn show(book: &mut ExampleBook) {
    let parts = [
        ("flaky", "entry: true, retry: {attempts: 1}", CRASH),
        ("odd", "entry: true", ODD),
        ("pay", "entry: true, on_unknown: fail, timeout: 1s", HANG),
        ("boss", "entry: true, turns: 2", BOSS),
        ("slow", "entry: true", HANG),
    ];
    let folder = cast(&parts);
    let organism = Running::organism(folder.path());
    let folder = folder.path();
    let sent = |who: &str, text: &str, more: &[&str]| {
        std::fs::write(folder.join("say.xml"), say(who, text)).unwrap();
        // A key of its own gives each run of the tests the same threads.
        let key = format!("{who}-{}", text.len());
        drop(systole(folder, &[&["send", "--file", "say.xml", "--key", &key], more].concat()));
    };
    let mut refused = |code: Code, done: &str, arguments: &[&str]| {
        let ran = systole(folder, arguments);
        assert_eq!(ran.code, Some(4), "{code}: {ran:?}");
        let told = ran.stderr.split_once("refused: ").map_or(&*ran.stderr, |(_, told)| told);
        book.write(code, done, told.trim_end());
    };
    sent("boss", "[[said('here')]]", &[]);
    refused(Code::RetryNotFailed, "systole retry of a thread that was answered", &["retry", "@last"]);
    sent("odd", "x", &[]);
    refused(Code::RetrySettled, "systole retry after an answer that its schema refuses", &["retry", "@last"]);
    sent("boss", "[[note('a')], [note('b')], [note('c')]]", &[]);
    refused(Code::RetrySpent, "systole retry after the last turn", &["retry", "@last"]);
    sent("pay", "x", &[]);
    refused(
        Code::RetryEffects,
        "systole retry after a timeout, with `on_unknown: fail`",
        &["retry", "@last", "--yes"],
    );
    sent("flaky", "x", &[]);
    let moved = read_refusal_of_moved(folder);
    sent("slow", "x", &["--thread", "@last", "--no-wait"]);
    refused(Code::RetrySuperseded, "systole retry once a later message is worked on", &["retry", "@last"]);
    assert_eq!(systole(folder, &["cancel", "@last"]).code, Some(0));
    refused(Code::RetryDecided, "systole retry of a thread that was cancelled", &["retry", "@last"]);
    book.write(Code::RetryMoved, "an order that names an older preview", &moved);
    organism.interrupt();
}

/// The answer to an order about the last thread as it never was.
fn read_refusal_of_moved(folder: &Path) -> String {
    let seen = systole(folder, &["retry", "@last", "--json"]);
    let thread = seen.json_lines()[0]["thread"].as_str().unwrap().to_owned();
    let path = format!("/v1/threads/{thread}/retry?seen={}", "0".repeat(64));
    let answer = ask(&run_file(folder), "POST", &path, &[], "");
    assert_eq!(answer.json["code"], "retry.moved", "{answer:?}");
    let (message, fix) = (answer.json["message"].as_str().unwrap(), answer.json["try"].as_str().unwrap());
    [wrapped("retry.moved:", 4, message), wrapped("  try     ", 11, fix)].concat().join("\n")
}
