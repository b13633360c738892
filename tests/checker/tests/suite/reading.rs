//! Files, histories and the report: what is read, what is rejected, and the output.

use rusqlite::Connection;
use systole_checker::history::ClientHistory;
use systole_checker::log::LogSnapshot;
use systole_checker::record::{
    LAST_MOMENT_MS, LogLine, PartHash, RecordHash, RecordId, head_after, head_zero, write_moment,
};

use crate::book::{SealedBook, fresh_path};
use crate::good::{RECORDS, script};

/// Values that were computed with another implementation of SHA-256, from the page alone.
#[test]
fn hashes_are_those_of_the_format() {
    let record = LogLine {
        position: 1,
        thread: "sess-1f0c9a2b77d1".into(),
        seq: 12,
        id: RecordId::parse("01990000-0000-7000-8000-00000000000a").unwrap(),
        kind: "message".into(),
        from: "researcher".into(),
        to: None,
        call: Some("3".into()),
        turn: Some(1),
        ordinal: Some(0),
        cause: Some(RecordId([7; 16])),
        key: None,
        origin: Some(RecordHash([0xab; 32])),
        time_ms: 1_795_158_000_007,
        config: RecordHash([1; 32]),
        code: Some("note".into()),
        seal: PartHash::Salt([9; 16]),
        values: Vec::new(),
        head: RecordHash([0; 32]),
        body: b"<a>\xc3\xa9</a>".to_vec(),
    };
    let zero = head_zero("sess-1f0c9a2b77d1");
    assert_eq!(zero.to_string(), "288f1798b1cf47c9cc198d03d971602dbf69addf64fbe2e1d92bb54eb368ede2");
    assert_eq!(
        record.hash_leaf().to_string(),
        "8aca3aa0318926f0b3ba8c689c9ba20f43d2480b5ac8214f8423176873b6dfd0"
    );
    assert_eq!(
        head_after(zero, record.hash_leaf()).to_string(),
        "ac0b6ad7ff5f79b7e8658e62cc0025db4ab0e46f07e5a3867fa05e39fb7a9946"
    );
}

#[test]
fn a_moment_has_one_text_form() {
    for (ms, text) in [
        (0, "1970-01-01T00:00:00.000Z"),
        (951_782_399_999, "2000-02-28T23:59:59.999Z"),
        (951_782_400_000, "2000-02-29T00:00:00.000Z"),
        (1_709_251_199_999, "2024-02-29T23:59:59.999Z"),
        (1_795_158_000_007, "2026-11-20T07:00:00.007Z"),
        (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        (LAST_MOMENT_MS, "9999-12-31T23:59:59.999Z"),
    ] {
        assert_eq!(write_moment(ms), text);
    }
}

#[test]
fn ids_and_hashes_have_one_text_form() {
    let id = "01990000-0000-7000-8000-00000000000a";
    assert_eq!(RecordId::parse(id).map(|id| id.to_string()).as_deref(), Some(id));
    for bad in ["", "0199", &id.to_uppercase(), &id.replace('-', ""), "01990000-0000-7000-80000-0000000000a"]
    {
        assert_eq!(RecordId::parse(bad), None, "{bad}");
    }
    assert_eq!(RecordHash::parse(&"0a".repeat(32)), Some(RecordHash([10; 32])));
    assert_eq!(RecordHash::parse(&"0A".repeat(32)), None);
    assert_eq!(RecordHash::parse(&"é".repeat(32)), None);
}

#[test]
fn a_log_is_read_beside_its_writer_and_as_it_stood() {
    let book = SealedBook::of(&script());
    book.run(&format!("BEGIN IMMEDIATE; DELETE FROM record WHERE pos = {RECORDS}"));
    assert!(book.check().is_clean(), "what is not committed is not there");
    let log = book.log();
    assert_eq!(systole_checker::check_log(&log, &[]).counts.records, RECORDS);
    book.run("COMMIT");
    assert_eq!(
        systole_checker::check_log(&log, &[]).counts.records,
        RECORDS,
        "the same log says the same again"
    );
    assert_eq!(book.check().counts.records, RECORDS - 1);
}

/// Every body stored apart, like large bodies.
const PUT_ASIDE: &str = "
INSERT INTO document (id, hash, bytes) SELECT pos, CAST(pos AS BLOB), body FROM record;
INSERT INTO large (pos, document) SELECT pos, pos FROM record;
UPDATE record SET body = x'';";

#[test]
fn a_body_that_lies_among_the_documents_is_read_from_there() {
    let book = SealedBook::of(&script());
    book.run(PUT_ASIDE);
    assert!(book.check().is_clean());
    book.run("UPDATE document SET bytes = x'00' WHERE id = 4");
    assert_eq!(book.check().counts.records, RECORDS);
    assert!(!book.check().is_clean(), "what was exchanged is found");
    book.run("DELETE FROM document WHERE id = 4");
    assert!(!book.check().is_clean(), "and what is missing");
}

#[test]
fn a_log_of_format_1_has_every_body_in_its_record() {
    let book = SealedBook::of(&script());
    book.run("DROP TABLE large; PRAGMA user_version = 1");
    assert!(book.check().is_clean());
}

#[test]
fn what_is_no_log_is_refused() {
    let path = fresh_path();
    let said = || LogSnapshot::open_file(&path).err().unwrap().to_string();
    assert!(said().starts_with("the file cannot be read"), "a file that is not there is not made");
    assert!(!path.exists());
    let other = Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE t (x)").unwrap();
    assert_eq!(said(), "the file is the database of another program");
    other.execute_batch("PRAGMA application_id = 0x73797374; PRAGMA user_version = 9").unwrap();
    assert_eq!(said(), "the log has format 9; this judge knows formats up to 8");
    std::fs::write(&path, "no database").unwrap();
    assert!(said().starts_with("the file cannot be read"));
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_log_without_its_tables_is_found_and_not_passed() {
    let book = SealedBook::of(&script());
    book.run("DROP TABLE word");
    let report = book.check();
    assert_eq!(report.found.into_iter().collect::<Vec<_>>(), [("row", 1)]);
}

#[test]
fn a_history_is_lines_of_json() {
    let book = SealedBook::of(&script());
    let line = book.sent("b-ask", "bob", "k-b").with_token("token-b").json();
    let two = [line.as_str(), "\n", line.as_str()].concat();
    assert_eq!(ClientHistory::parse(&two).unwrap().sent.len(), 2);
    let torn = &two[..two.len() - 9];
    assert_eq!(ClientHistory::parse(torn).unwrap().sent.len(), 1, "a torn last line is left out");
    for (from, to) in
        [("\"bob\"", "7"), ("\"seq\":1", "\"seq\":\"1\""), ("\"sha256\":\"", "\"sha256\":\"x"), ("{", "[")]
    {
        let said = ClientHistory::parse(&line.replacen(from, to, 1)).unwrap_err().to_string();
        assert_eq!(said, "line 1 of the history is not of the form of one", "{from}");
    }
}

#[test]
fn a_report_reads_as_lines() {
    let book = SealedBook::of(&script());
    book.sql("UPDATE record SET body = zeroblob(0) WHERE pos = 21");
    let report = book.check_with(&book.sent("b-ask", "bob", "k-b").json()).to_string();
    let lines: Vec<&str> = report.lines().collect();
    assert!(lines[0].starts_with("head  position 21  sess-bbbbbbbbbbbb 1  the head is "), "{report}");
    assert_eq!(
        lines[2..],
        [
            "115 records in 13 threads, 2 findings",
            "1 acknowledged: 0 lost, 0 doubled, 1 answered, 0 failed, 0 open"
        ]
    );
}

#[test]
fn a_hundred_findings_of_a_rule_are_kept_and_all_counted() {
    let mut script = script();
    let boot = script.line("boot").again("again");
    script.0.extend((0..150).map(|_| boot.clone()));
    let report = SealedBook::of(&script).check();
    assert_eq!((report.found["id"], report.findings.len()), (149, 100));
    assert!(report.to_string().contains("id  49 more"));
}

#[test]
fn the_program_judges_and_says_how_it_ended() {
    let book = SealedBook::of(&script());
    let told = book.path().with_extension("jsonl");
    std::fs::write(&told, book.sent("b-ask", "bob", "k-b").json()).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_systole-check"));
        let out = command.args(arguments).output().unwrap();
        (out.status.code(), String::from_utf8([out.stdout, out.stderr].concat()).unwrap())
    };
    let (log, history) = (book.path().to_str().unwrap(), told.to_str().unwrap());
    let (code, said) = run(&[log, history]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.ends_with("1 acknowledged: 0 lost, 0 doubled, 1 answered, 0 failed, 0 open\n"), "{said}");
    assert_eq!(run(&["--attempts", "1", log]).0, Some(1));
    book.sql("DELETE FROM record WHERE pos > 21");
    assert_eq!(run(&[log]).0, Some(1));
    assert_eq!(run(&["--running", log]).0, Some(0));
    for wrong in
        [&[][..], &["--attempts", "0", log], &["--wrong", log], &["/nowhere.db"], &[log, "/nowhere.jsonl"]]
    {
        let (code, said) = run(wrong);
        assert_eq!(code, Some(2), "{said}");
        assert!(!said.is_empty());
    }
    std::fs::remove_file(told).unwrap();
}

#[test]
fn the_reference_names_every_rule_in_order() {
    let page =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/checker.md"))
            .unwrap();
    let rows = page.lines().filter_map(|row| row.strip_prefix("| `")?.split('`').next());
    assert_eq!(rows.collect::<Vec<_>>(), systole_checker::list_names().collect::<Vec<_>>());
}
