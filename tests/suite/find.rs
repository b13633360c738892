//! `systole find`: messages by word and field, from a search file that can be made again.

use std::path::Path;

use rusqlite::Connection;
use serde_json::Value;
use systole_core::types::codes::Code;
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::{Commit, LogWriter as _};
use systole_core::types::record::{
    ApprovalEffect, Header, MessageRole, Record, RecordCode, RecordKind, TimerEffect,
};
use systole_core::types::time::Millis;
use systole_log::{search, sqlite};

use crate::log_records::{Author, Folder, batch, name, root};
use crate::program::{Ran, Running, command, systole};
use crate::trail::example;

/// The time of the first record that an author makes.
const BEGIN: u64 = 1_795_158_000_001;

fn find(folder: &Path, arguments: &[&str]) -> Ran {
    systole(folder, &[&["find", "--log", "organism.db"], arguments].concat())
}

/// The places of the hits, newest first. No hit is exit 1.
#[track_caller]
fn places(folder: &Path, arguments: &[&str]) -> Vec<String> {
    let ran = find(folder, &[&["--json"], arguments].concat());
    let place = |record: &Value| format!("{}@{}", record["thread"].as_str().unwrap(), record["seq"]);
    let found: Vec<String> = ran.json_lines().iter().map(place).collect();
    let wanted = if found.is_empty() { 1 } else { 0 };
    assert_eq!(ran.code, Some(wanted), "{ran:?}");
    found
}

#[track_caller]
fn write(folder: &Folder, records: Vec<Record>) {
    let mut opened = sqlite::open_log(&folder.log()).unwrap();
    assert!(matches!(opened.writer.commit_batch(&batch(records)), Commit::Committed(_)));
}

#[track_caller]
fn done(ran: Ran) {
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

fn note(text: &str) -> Vec<u8> {
    format!("<note xmlns=\"urn:t\"><text>{text}</text></note>").into_bytes()
}

/// A log of conversations that `ann` and `bob` opened in turn, ten messages each. One message has a rare word.
fn conversations(threads: u64) -> (Folder, Author) {
    let (folder, mut author) = (Folder::new(), Author::default());
    let mut records = Vec::new();
    for n in 0..threads * 10 {
        let thread = root(n / 10);
        let text = match n {
            1234 => "the Axolotl rests".to_owned(),
            _ => format!("message {n} about the usual things"),
        };
        records.push(author.record(&thread, &note(&text), |header| {
            if n % 10 == 0 {
                header.from = name(if n / 10 % 2 == 0 { "ann" } else { "bob" });
                header.code = Some(RecordCode::Role(MessageRole::Request));
            }
        }));
    }
    write(&folder, records);
    (folder, author)
}

#[test]
fn c9_find_finds_a_rare_word_in_a_thread_of_another_client() {
    let (folder, mut author) = conversations(300);
    let at = folder.path();
    let ran = find(at, &["axolotl"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), "1 hit\n"), "{ran:?}");
    assert_eq!(
        ran.stdout,
        "  1235  2026-11-20 07:00:01  sess-00000000007b@5  researcher  <note>  the\n    Axolotl rests\n"
    );
    assert_eq!(places(at, &["AXOLOTL", "--client", "bob"]), ["sess-00000000007b@5"]);
    assert_eq!(places(at, &["axolotl", "--client", "ann"]), [""; 0]);
    assert_eq!(places(at, &["message", "--client", "ann", "--from", "ann"]).len(), 100, "the default limit");
    let many = find(at, &["usual", "--limit", "2"]);
    assert_eq!(many.stderr, "2 hits, the newest; older messages fit too: --limit 0 prints all\n");
    assert_eq!(places(at, &["usual", "--limit", "0"]).len(), 2999);
    // What is new is found with the next search, and only that is read.
    let before = std::fs::metadata(at.join("organism.db.find")).unwrap();
    write(&folder, vec![author.record(&root(7), &note("a second axolotl"), |_| {})]);
    assert_eq!(places(at, &["axolotl"]), ["sess-000000000007@11", "sess-00000000007b@5"]);
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let after = std::fs::metadata(at.join("organism.db.find")).unwrap();
    assert_eq!((before.ino(), after.permissions().mode() & 0o777), (after.ino(), 0o600));
}

#[test]
fn c9_filters_by_every_field_of_a_record_and_by_time_also_if_the_clock_was_set_back() {
    let (folder, mut author) = (Folder::new(), Author::default());
    let child = ThreadId::parse("sess-000000000001.dig").unwrap();
    let decided = br#"<approval-decided xmlns="https://xml-pipeline.org/ns/core/v1" id="a1" outcome="approved" by="alice"/>"#;
    let records = vec![
        author.record(&root(1), &note("one"), |header| header.to = Some(name("board"))),
        author.record(&child, b"<dig xmlns='urn:other'>two</dig>", |_| {}),
        author.record(&root(2), decided, |header| {
            (header.kind, header.from) = (RecordKind::Approval, name("core"));
            header.code = Some(RecordCode::Approving(ApprovalEffect::Approved));
        }),
        // Later in the log, and a day earlier by the clock.
        author.record(&root(2), &note("four"), |header| {
            header.time = Millis(BEGIN - 86_400_000);
            (header.kind, header.code) = (RecordKind::Timer, Some(RecordCode::Timing(TimerEffect::Fired)));
        }),
    ];
    write(&folder, records);
    let (one, two, three, four) =
        ("sess-000000000001@1", "sess-000000000001.dig@1", "sess-000000000002@1", "sess-000000000002@2");
    for (arguments, wanted) in [
        (&["--to", "board"][..], &[one][..]),
        (&["--element", "dig"], &[two]),
        (&["--element", "{urn:other}dig"], &[two]),
        (&["--element", "{urn:t}dig"], &[]),
        (&["--thread", "sess-000000000001"], &[two, one]),
        (&["--thread", "sess-000000000001.dig"], &[two]),
        (&["--client", "researcher", "--kind", "message"], &[two, one]),
        (&["--person", "alice"], &[three]),
        (
            &["--person", "alice", "--code", "approved", "--kind", "approval", "--since", "2026-11-20"],
            &[three],
        ),
        (&["--person", "mallory"], &[]),
        (&["--code", "fired"], &[four]),
        (&["--until", "2026-11-20"], &[four]),
        (&["--since", "2026-11-20"], &[three, two, one]),
        (&["--since", "2026-11-19", "--until", "2026-11-20T07:00:00.002Z"], &[four, one]),
        (&["--since", "2026-11-20T07:00:00.002Z", "--until", "2026-11-20T07:00:00.003Z"], &[two]),
        (&["--xpath", "/note/text = 'four'"], &[four]),
        (&["--xpath", "//text", "--kind", "message"], &[one]),
    ] {
        assert_eq!(places(folder.path(), arguments), wanted, "{arguments:?}");
    }
}

#[test]
fn c9_what_looks_like_a_query_language_is_searched_as_words() {
    let (folder, mut author) = (Folder::new(), Author::default());
    let texts = [
        "a NEAR miss OR not",
        "it is near",
        "user@example.org",
        "max_output",
        "pass\u{200b}word",
        "心臓が動く",
    ];
    let records: Vec<Record> =
        texts.iter().map(|text| author.record(&root(1), &note(text), |_| {})).collect();
    write(&folder, records);
    let at = |n: u64| format!("sess-000000000001@{n}");
    for (words, wanted) in [
        (&["NEAR(a b)"][..], vec![]),
        (&["near(miss"], vec![at(1)]),
        (&["\" OR *"], vec![at(1)]),
        (&["near*"], vec![at(2), at(1)]),
        (&["words : near"], vec![]),
        (&["NOT"], vec![at(1)]),
        (&["miss near"], vec![]),
        (&["miss", "near"], vec![at(1)]),
        (&["example.org"], vec![at(3)]),
        (&["output"], vec![at(4)]),
        (&["password"], vec![at(5)]),
        (&["心臓"], vec![at(6)]),
        (&["臓心"], vec![]),
        (&["'; DROP TABLE entry; --"], vec![]),
    ] {
        assert_eq!(places(folder.path(), words), wanted, "{words:?}");
    }
    let ran = find(folder.path(), &["--", "-*-"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr.contains("`-*-` has no letter and no digit") && ran.stderr.contains("try: "),
        "{ran:?}"
    );
}

#[test]
fn c9_a_search_file_that_is_damaged_foreign_or_wrong_is_made_again() {
    let (folder, _) = conversations(130);
    let (at, file) = (folder.path(), folder.path().join("organism.db.find"));
    let rare = ["sess-00000000007b@5"];
    assert_eq!(places(at, &["axolotl"]), rare);
    let whole = std::fs::read(&file).unwrap();
    // Cut, zeroed in the middle, empty, and no database at all.
    let mut zeroed = whole.clone();
    zeroed[4096..].fill(0);
    for bytes in [&whole[..whole.len() / 2], &zeroed, b"", b"hello, world"] {
        std::fs::write(&file, bytes).unwrap();
        assert_eq!(places(at, &["axolotl"]), rare, "{} bytes", bytes.len());
    }
    // One that knows words that no message has, or lacks a table.
    for sql in [
        "INSERT INTO entry (rowid, words, terms) VALUES (5000, 'ghost', ''), (7, 'ghost', '')",
        "DROP TABLE span",
        "PRAGMA user_version = 99",
        "UPDATE state SET head = x'00'",
        "UPDATE state SET position = -5",
        "CREATE TRIGGER own AFTER INSERT ON span BEGIN DELETE FROM state; END",
    ] {
        Connection::open(&file).unwrap().execute_batch(sql).unwrap();
        assert_eq!(places(at, &["ghost"]), [""; 0], "{sql}");
        assert_eq!(places(at, &["axolotl"]), rare, "{sql}");
    }
    // That of another log.
    let (other, mut author) = (Folder::new(), Author::default());
    write(&other, vec![author.record(&root(9), &note("an axolotl elsewhere"), |_| {})]);
    assert_eq!(places(other.path(), &["axolotl"]), ["sess-000000000009@1"]);
    std::fs::copy(other.path().join("organism.db.find"), &file).unwrap();
    assert_eq!(places(at, &["axolotl"]), rare);
    // A link and a folder in its place are not touched.
    for place in ["link", "folder"] {
        std::fs::remove_file(&file).unwrap();
        std::fs::write(at.join("precious"), "kept").unwrap();
        match place {
            "link" => std::os::unix::fs::symlink(at.join("precious"), &file).unwrap(),
            _ => std::fs::create_dir(&file).unwrap(),
        }
        let ran = find(at, &["axolotl"]);
        assert_eq!((ran.code, ran.stdout.lines().count()), (Some(0), 2), "{ran:?}");
        assert!(ran.stderr.starts_with("note: ") && ran.stderr.contains("is made in memory"), "{ran:?}");
        assert_eq!(std::fs::read_to_string(at.join("precious")).unwrap(), "kept");
    }
}

#[test]
fn c9_a_search_file_keeps_no_text_and_can_be_forgotten() {
    let (folder, _) = conversations(130);
    let (at, file) = (folder.path(), folder.path().join("organism.db.find"));
    assert_eq!(places(at, &["axolotl"]).len(), 1);
    let bytes = std::fs::read(&file).unwrap();
    let has = |text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
    assert!(has(b"axolotl") && !has(b"the axolotl") && !has(b"the Axolotl rests"), "words, but no text");
    assert!(search::forget_file(&folder.log()).unwrap() && !search::forget_file(&folder.log()).unwrap());
    assert!(!file.exists());
    assert_eq!(places(at, &["axolotl"]).len(), 1, "it is made again from the log");
}

#[test]
fn c9_hits_are_proved_against_the_log_and_shown_with_hidden_characters_visible() {
    let (folder, mut author) = (Folder::new(), Author::default());
    let text = "before \u{202e}evil axolotl\u{7}after";
    write(
        &folder,
        vec![author.record(&root(1), &note(text), |_| {}), author.record(&root(1), &note("x"), |_| {})],
    );
    let ran = find(folder.path(), &["axolotl"]);
    assert!(ran.stdout.contains("before \\u{202e}evil axolotl"), "{ran:?}");
    assert!(!ran.stdout.contains(['\u{7}', '\u{202e}']), "{ran:?}");
    // An edited record is damage, not a hit.
    let log = Connection::open(folder.log()).unwrap();
    log.execute("UPDATE record SET body = CAST(replace(body, 'evil', 'good') AS BLOB) WHERE pos = 1", [])
        .unwrap();
    drop(log);
    for words in ["axolotl", "good"] {
        let ran = find(folder.path(), &[words]);
        assert_eq!(ran.stdout, "", "{ran:?}");
        assert!(ran.code == Some(if words == "axolotl" { 7 } else { 1 }), "{ran:?}");
    }
}

#[test]
fn c9_an_xpath_expression_that_never_ends_is_ended() {
    let (folder, mut author) = (Folder::new(), Author::default());
    let deep = format!("<a xmlns=\"urn:t\">{}</a>", "<b/>".repeat(3000));
    write(
        &folder,
        vec![author.record(&root(1), deep.as_bytes(), |_| {}), author.record(&root(1), b"no xml", |_| {})],
    );
    let at = folder.path();
    let endless = "count(//*[count(//*[count(//*) > 1]) > 1]) > 0";
    let ran = find(at, &["--xpath", endless]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
    assert!(ran.stderr.contains("takes too much time for the message at position 1"), "{ran:?}");
    for (wrong, words) in [
        ("/a[", "--xpath: "),
        ("nosuch()", "--xpath: "),
        ("p:a", "--xpath: "),
        ("true()) or (false()", "--xpath: "),
        (&"(".repeat(100_000), "--xpath: "),
    ] {
        let ran = find(at, &["--xpath", wrong]);
        assert_eq!(ran.code, Some(2), "{}: {}", wrong.len(), ran.stderr);
        assert!(ran.stderr.contains(words) && ran.stderr.contains("try: "), "{}", ran.stderr);
    }
    assert_eq!(places(at, &["--xpath", "count(/a/b) = 3000"]), ["sess-000000000001@1"]);
}

#[test]
fn c9_finds_the_codes_that_listeners_give() {
    let (folder, mut author) = (Folder::new(), Author::default());
    let error = |code: &str, message: &str| {
        let start = "<system-error xmlns=\"https://xml-pipeline.org/ns/core/v1\"";
        format!("{start} code=\"{code}\" message=\"{message}\"/>").into_bytes()
    };
    let failed = |header: &mut Header| {
        (header.kind, header.code) = (RecordKind::Outcome, Some(RecordCode::Code(Code::ListenerFailed)));
    };
    let below =
        "flow: workflow.step-failed: pay: listener.failed: bank: bank.closed: at night: never.this: x";
    let tool =
        b"<tool-failed xmlns='https://xml-pipeline.org/ns/mcp/v1' code='mcp.tool-failed'>no</tool-failed>";
    let records = vec![
        author.record(&root(1), &error("agent.prose-only", "Your answer held no action."), failed),
        author.record(&root(2), &error("listener.failed", below), failed),
        author.record(&root(3), tool, |_| {}),
        author.record(&root(4), b"<order xmlns='urn:t' code='shop.x'/>", |_| {}),
    ];
    write(&folder, records);
    let at = |thread: u64| format!("{}@1", root(thread));
    for (code, wanted) in [
        ("agent.prose-only", vec![at(1)]),
        ("listener.failed", vec![at(2), at(1)]),
        ("workflow.step-failed", vec![at(2)]),
        ("bank.closed", vec![at(2)]),
        ("mcp.tool-failed", vec![at(3)]),
        ("never.this", vec![]),
        ("shop.x", vec![]),
    ] {
        assert_eq!(places(folder.path(), &["--code", code]), wanted, "{code}");
    }
}

#[test]
fn c9_a_wrong_filter_names_the_fix() {
    let (folder, _) = conversations(1);
    for (arguments, words) in [
        (&["--kind", "mesage"][..], "try: message"),
        (&["--code", "nonsense"], "systole explain"),
        (&["--code", "payload.invlid"], "try: payload.invalid"),
        (&["--since", "yesterday"], "--since 10m"),
        (&["--since", "1h", "--until", "2h"], "--until is not after --since"),
        (&["--thread", "sess-ffff"], "systole ps"),
        (&[], "try: a word"),
    ] {
        let ran = find(folder.path(), arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
        assert!(ran.stderr.contains(words), "{arguments:?}: {}", ran.stderr);
    }
    let none = systole(folder.path(), &["find", "x", "--log", "none.db"]);
    assert_eq!(none.code, Some(5), "{none:?}");
    assert!(!folder.path().join("none.db.find").exists());
}

#[test]
fn c9_find_works_beside_a_running_organism_and_for_several_at_once() {
    let (_above, team) = example("team", &["--team"]);
    let running = Running::organism(&team);
    done(systole(&team, &["ask", "What makes a heart beat?"]));
    let all: Vec<Running> =
        (0..4).map(|_| Running::of(command(&team, &["find", "sinoatrial"]).spawn().unwrap())).collect();
    let found: Vec<Ran> = all.into_iter().map(Running::end).collect();
    assert!(found.iter().all(|ran| ran.code == Some(0) && ran.stdout == found[0].stdout), "{found:?}");
    let lines = |words: &[&str]| {
        let ran = systole(&team, &[&["find", "--json"], words].concat());
        (ran.code, ran.stdout.lines().count())
    };
    assert_eq!(lines(&["sinoatrial"]), (Some(0), 7));
    done(systole(&team, &["ask", "What makes a heart beat?"]));
    assert_eq!(lines(&["sinoatrial"]), (Some(0), 14));
    // What a model answered and what was refused are found too.
    assert_eq!(lines(&["sinoatrial", "--kind", "journal", "--from", "coordinator"]), (Some(0), 6));
    assert_eq!(lines(&["--kind", "refusal", "--element", "search", "heart beat", "50"]), (Some(0), 2));
    // A period of the costs comes from the same file.
    let cost =
        |options: &[&str]| systole(&team, &[&["cost", "--json"], options].concat()).json_lines().remove(0);
    let coordinator = cost(&["--agent", "coordinator", "--since", "1h"]);
    assert_eq!(coordinator["all"]["requests"], 14, "{coordinator}");
    assert_eq!(
        cost(&["--since", "1h"])["all"]["requests"],
        cost(&["--agent", "coordinator"])["all"]["requests"].as_u64().unwrap() + 6
    );
    assert_eq!(cost(&["--until", "2020-01-01"])["all"]["requests"], 0);
    assert_eq!(running.interrupt().code, Some(130));
}

#[test]
fn c9_words_that_were_erased_from_the_log_are_not_found_and_leave_the_search_file() {
    let (folder, file) = (Folder::new(), |folder: &Folder| folder.path().join("organism.db.find"));
    let mut author = Author::default();
    write(&folder, vec![author.in_parts(&root(1), [false; 3])]);
    assert_eq!(places(folder.path(), &["oslo"]), ["sess-000000000001@1"]);
    // The same log after its value was erased: no hash differs, so the old file seems to belong to it.
    let erased = Folder::new();
    write(&erased, vec![Author::default().in_parts(&root(1), [false, false, true])]);
    std::fs::copy(file(&folder), file(&erased)).unwrap();
    assert_eq!(places(erased.path(), &["oslo"]), [""; 0]);
    let bytes = std::fs::read(file(&erased)).unwrap();
    assert!(
        !bytes.windows(4).any(|four| four == b"oslo"),
        "a search that meets the erased value drops the file"
    );
    assert_eq!(places(erased.path(), &["de02"]), ["sess-000000000001@1"]);
}
