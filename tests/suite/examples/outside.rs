//! The messages to clients and to people who decide: through the commands and the door of the real
//! program.

use std::path::Path;

use serde_json::Value;
use systole_core::types::codes::Code;
use systole_core::types::record::Record;
use systole_show::columns::wrapped;

use super::ExampleBook;
use crate::log_records::read_all;
use crate::program::{Answer, Running, ask_as, kept_from_events, run_file, systole};
use crate::promises::cast::{BOSS, ECHO, cast, say};

const ALICE: &str = "alice-token-0123456789";

pub(super) fn show(book: &mut ExampleBook) {
    let parts = [
        ("guard", "entry: true, approval: {when: always}", ECHO),
        ("hasty", "entry: true, approval: {when: always, expires: 1s}", ECHO),
        ("boss", "entry: true, turns: 3", BOSS),
        ("slow", "entry: true, rate: 1/h", ECHO),
    ];
    let folder = cast(&parts);
    let file = folder.path().join("organism.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(
        &file,
        text + "clients: {alice: {token_env: ALICE_TOKEN, rate: 1/h}}\nlimits: {queue: 1}\nschedules: {digest: {cron: 0 0 29 2 *, to: guard, send: {say: {text: Sum up}}}}\n",
    )
    .unwrap();
    let organism = Running::organism_with(folder.path(), &[("ALICE_TOKEN", ALICE)]);
    approvals(folder.path(), book);
    schedules(folder.path(), book);
    reloads(folder.path(), book);
    door(folder.path(), book);
    organism.interrupt();
    files(book);
}

/// An agent whose model takes pictures. No one asks the model.
const SEER: &str = "organism: {name: hello, entry: seer}
models: {eye: {provider: script, file: replies.yaml, files: [image]}}
agents: {seer: {model: eye, dialect: plain, prompt: {identity: You look.}}}
log: {path: ./hello.db}
";

fn files(book: &mut ExampleBook) {
    let unsent = format!(
        "<ask-with xmlns=\"https://xml-pipeline.org/ns/talk/v1\"><question>What is it?</question><file sha256=\"5feceb66{}\" type=\"image/png\" bytes=\"9\"/></ask-with>",
        "0".repeat(56)
    );
    let replies = "seer:\n  - say: It is blue.\n";
    let folder = crate::organism::folder(&[
        ("organism.yaml", SEER),
        ("replies.yaml", replies),
        ("plan.png", "PK\u{3}\u{4} and more"),
        ("ask.xml", &unsent),
    ]);
    for (code, arguments, done) in [
        (
            Code::UnfitFile,
            ["ask", "--file", "plan.png", "What is it?"].as_slice(),
            "systole ask --file plan.png 'What is it?', and plan.png is a zip file",
        ),
        (
            Code::UnknownFile,
            &["send", "--file", "ask.xml"],
            "systole send --file ask.xml, whose file was not sent",
        ),
    ] {
        let ran = systole(folder.path(), arguments);
        assert_eq!(ran.code, Some(4), "{ran:?}");
        let told = ran.stderr.trim_end().replace("refused: ", "");
        book.write(code, done, &told.replace(&"0".repeat(56), "…"));
    }
}

pub(super) fn records(folder: &Path) -> Vec<Record> {
    read_all(&folder.join("hello.db"))
}

fn sent(folder: &Path, key: &str, who: &str) -> Option<i32> {
    std::fs::write(folder.join("say.xml"), say(who, "drop the table")).unwrap();
    systole(folder, &["send", "--file", "say.xml", "--key", key]).code
}

fn approvals(folder: &Path, book: &mut ExampleBook) {
    assert_eq!(sent(folder, "k", "guard"), Some(6));
    let mut refused = |code: Code, arguments: &[&str]| {
        let ran = systole(folder, arguments);
        assert_eq!(ran.code, Some(4), "{ran:?}");
        let told = ran.stderr.trim_end().replace("refused: ", "");
        let typed = arguments.iter().map(|word| if word.len() == 64 { "5feceb66…" } else { word });
        let done = format!("systole {}", typed.collect::<Vec<_>>().join(" "));
        book.write(code, &done, &without_hashes(&told));
    };
    std::fs::write(folder.join("say.xml"), say("boss", "[[person('Go?', 'go', 'stop')]]")).unwrap();
    assert_eq!(systole(folder, &["send", "--file", "say.xml", "--key", "q"]).code, Some(6));
    refused(Code::WrongRequestKind, &["approve", "a2"]);
    refused(Code::InvalidChoice, &["choose", "a2", "perhaps"]);
    refused(Code::UnknownApproval, &["approve", "a9"]);
    refused(Code::MismatchedApproval, &["approve", "a1", "--hash", &"0".repeat(64)]);
    assert_eq!(systole(folder, &["reject", "a1", "--note", "not on a Friday"]).code, Some(0));
    refused(Code::DecidedApproval, &["approve", "a1"]);
    book.take(&records(folder), Code::RejectedApproval, "systole reject a1 --note 'not on a Friday'");
    // It waits until no one decides any more.
    assert_eq!(sent(folder, "h", "hasty"), Some(6));
    while systole(folder, &["send", "--file", "say.xml", "--key", "h"]).code == Some(6) {}
    book.take(&records(folder), Code::ExpiredApproval, "no one decides, with `approval: {expires: 1s}`");
}

fn schedules(folder: &Path, book: &mut ExampleBook) {
    let fires = |name: &str| systole(folder, &["schedules", "fire", name, "--json"]).json_lines().remove(0);
    let thread = fires("digest")["thread"].as_str().unwrap().to_owned();
    for (code, name) in [(Code::BusySchedule, "digest"), (Code::UnknownSchedule, "digets")] {
        let ran = systole(folder, &["schedules", "fire", name]);
        assert_eq!(ran.code, Some(4), "{ran:?}");
        let told = ran.stderr.trim_end().replace("refused: ", "").replace(&thread, "sess-1f0c9a2b77d1");
        book.write(code, &format!("systole schedules fire {name}"), &told);
    }
}

/// Orders to reload the file, with a mistake in it, and after it was looked at.
fn reloads(folder: &Path, book: &mut ExampleBook) {
    let run = run_file(folder);
    let bearer = format!("Bearer {}", run.token.secret());
    let asks = |query: &str| {
        let path = format!("/v1/reload{query}");
        let answer = ask_as(&run, "POST", &path, &[("Authorization", &bearer)], "");
        assert_eq!(answer.status, 422, "{answer:?}");
        tell_answer(&answer)
    };
    let looked = asks(&format!("?approved={}", "0".repeat(64)));
    book.write(Code::ChangedReload, "systole reload, while the file is edited", &shorten_hashes(&looked));
    let file = folder.join("organism.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("log: {", "logg: {")).unwrap();
    let told = asks("");
    std::fs::write(&file, text).unwrap();
    book.write(Code::UnfitReload, "POST /v1/reload, with `logg` in place of `log`", &told);
}

/// The text without the rest of its hashes, which are others in another version.
fn shorten_hashes(text: &str) -> String {
    let is_hash = |word: &&str| word.len() == 64 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let hashes: Vec<&str> = text.split([' ', ',', '\n']).filter(is_hash).collect();
    hashes
        .iter()
        .zip(["5feceb66…", "6b86b273…"])
        .fold(text.to_owned(), |text, (hash, short)| text.replace(hash, short))
}

/// The words of a refusal.
fn tell_answer(answer: &Answer) -> String {
    let (code, message) = (&answer.json["code"], &answer.json["message"]);
    let lead = format!("{}:", code.as_str().unwrap());
    let mut page = wrapped(&lead, 4, message.as_str().unwrap()).join("\n") + "\n";
    if let Value::String(fix) = &answer.json["try"] {
        page += &format!("  try      {fix}\n");
    }
    page
}

fn door(folder: &Path, book: &mut ExampleBook) {
    let asks = |token: &str, method: &str, path: &str, body: &str| {
        let bearer = format!("Bearer {token}");
        ask_as(&run_file(folder), method, path, &[("Authorization", &bearer)], body)
    };
    let told = |answer: &Answer, status: u16| {
        assert_eq!(answer.status, status, "{answer:?}");
        tell_answer(answer)
    };
    let stranger = asks("nobody", "GET", "/v1/events", "");
    book.write(Code::IngressUnauthorized, "GET /v1/events with an unknown token", &told(&stranger, 401));
    let foreign = kept_from_events(&run_file(folder), ALICE, "?from=0");
    book.write(
        Code::IngressForbidden,
        "GET /v1/events, the whole log, as a client without a role",
        &told(&foreign, 403),
    );
    let fits = say("boss", "x");
    assert_eq!(asks(ALICE, "POST", "/v1/messages", &fits).status, 202);
    let more = told(&asks(ALICE, "POST", "/v1/messages", &fits), 429);
    // On a slow machine it is less.
    let (lead, _) = more.rsplit_once(" in ").unwrap();
    book.write(Code::IngressRate, "a second message, with `rate: 1/h`", &format!("{lead} in 1 h 0 m\n"));
    let (own, slow) = (run_file(folder).token.secret().to_owned(), say("slow", "x"));
    for _ in 0..2 {
        assert_eq!(asks(&own, "POST", "/v1/messages", &slow).status, 202);
    }
    let full = told(&asks(&own, "POST", "/v1/messages", &slow), 429);
    book.write(Code::IngressQueue, "a third message, with `limits: {queue: 1}` and one that waits", &full);
    for _ in 0..19 {
        assert_eq!(asks(ALICE, "POST", "/v1/messages", "<say").status, 422);
    }
    let many =
        (0..9).map(|_| asks(ALICE, "POST", "/v1/messages", "<say")).find(|answer| answer.status == 429);
    let many = many.expect("a bucket is empty at some time");
    book.write(Code::IngressThrottled, "more than twenty refused messages at once", &told(&many, 429));
}

/// The text without hashes, which change with any word.
fn without_hashes(text: &str) -> String {
    text.lines().filter(|line| !line.contains("kept as")).flat_map(|line| [line, "\n"]).collect()
}
