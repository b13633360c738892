//! Faults in the chains: records that were changed after sealing, or sealed with a wrong identity.

use crate::book::SealedBook;
use crate::good::{RECORDS, script};
use crate::planted;

fn found(book: &SealedBook) -> Vec<&'static str> {
    book.check().found.keys().copied().collect()
}

#[test]
fn a_lost_record_is_found() {
    let book = SealedBook::of(&script());
    book.sql(&format!("DELETE FROM record WHERE pos = {}", book.sealed["note"].position));
    assert_eq!(found(&book), ["head", "position", "seq"]);
}

#[test]
fn a_lost_record_is_found_though_positions_close_up() {
    let book = SealedBook::of(&script());
    let lost = book.sealed["note"].position;
    book.sql(&format!("DELETE FROM record WHERE pos = {lost}"));
    // In two steps, because no two records may share a position on the way.
    book.sql(&format!("UPDATE record SET pos = -pos WHERE pos > {lost}"));
    book.sql("UPDATE record SET pos = -pos - 1 WHERE pos < 0");
    assert_eq!(found(&book), ["head", "seq"]);
}

#[test]
fn swapped_records_are_found() {
    let book = SealedBook::of(&script());
    let (one, two) = (&book.sealed["call"], &book.sealed["note"]);
    assert_eq!((one.position + 1, one.seq + 1), (two.position, two.seq));
    book.sql(&format!("UPDATE record SET pos = 9999 WHERE pos = {}", one.position));
    book.sql(&format!(
        "UPDATE record SET pos = {}, seq = {} WHERE pos = {}",
        one.position, one.seq, two.position
    ));
    book.sql(&format!("UPDATE record SET pos = {}, seq = {} WHERE pos = 9999", two.position, two.seq));
    let report = book.check();
    assert_eq!(report.found.into_iter().collect::<Vec<_>>(), [("head", 3)], "both, and the one after them");
}

#[test]
fn an_edited_body_is_found_where_it_stands() {
    let book = SealedBook::of(&script());
    let place = &book.sealed["b-final"];
    book.sql(&format!(
        "UPDATE record SET body = CAST('<r>token-c</r>' AS BLOB) WHERE pos = {}",
        place.position
    ));
    let report = book.check();
    let found: Vec<_> =
        report.findings.iter().map(|f| (f.rule, f.position, f.thread.as_str(), f.seq)).collect();
    assert_eq!(found, [("head", place.position, place.thread, place.seq)]);
}

#[test]
fn every_edited_column_is_found() {
    let with_all = "cause IS NOT NULL AND origin IS NULL AND ordinal IS NOT NULL AND pos = (SELECT min(pos) FROM record WHERE ordinal = 0)";
    for change in [
        "seq = seq + 1",
        "id = zeroblob(16)",
        "kind = (SELECT id FROM word WHERE text = 'refusal')",
        "sender = (SELECT id FROM word WHERE text = 'search')",
        "addressee = (SELECT id FROM word WHERE text = 'alice')",
        "addressee = NULL",
        "call = '2'",
        "turn = turn + 1",
        "ordinal = ordinal + 7",
        "cause = NULL",
        "key = 'k'",
        "origin = zeroblob(32)",
        "time = time + 1",
        "code = (SELECT id FROM word WHERE text = 'note')",
        "salt = zeroblob(16)",
        "head = zeroblob(32)",
        "body = zeroblob(0)",
    ] {
        let book = SealedBook::of(&script());
        book.sql(&format!("UPDATE record SET {change} WHERE {with_all}"));
        assert!(found(&book).contains(&"head"), "{change}");
    }
    let book = SealedBook::of(&script());
    book.sql("UPDATE config SET hash = randomblob(32)");
    assert_eq!(book.check().found["head"], RECORDS, "the configuration is in every header");
}

#[test]
fn a_renamed_thread_is_found() {
    let book = SealedBook::of(&script());
    book.sql("UPDATE thread SET text = 'sess-cccccccccccc' WHERE text = 'sess-bbbbbbbbbbbb'");
    assert_eq!(found(&book), ["head"]);
}

#[test]
fn a_row_that_is_no_record_is_found() {
    for (change, word) in [
        ("sender = 999", "sender"),
        ("addressee = 999", "addressee"),
        ("code = 999", "code"),
        ("thread = 999", "thread"),
        ("call = ''", "call"),
        ("key = ''", "key"),
        ("id = zeroblob(15)", "id"),
        ("head = zeroblob(31)", "head"),
        ("turn = -1", "turn"),
        ("seq = -1", "seq"),
        ("time = 253402300800000", "time"),
    ] {
        let book = SealedBook::of(&script());
        book.sql(&format!("UPDATE record SET {change} WHERE pos = {}", book.sealed["b-final"].position));
        let report = book.check();
        let row = report.findings.iter().find(|finding| finding.rule == "row");
        assert!(row.is_some_and(|row| row.words.starts_with(word)), "{change}:\n{report}");
        assert!(!report.found.contains_key("position"), "the row has its place all the same:\n{report}");
    }
}

planted! {
    one_id_for_two_records finds ["id"] by |script| script.line("failed").id = script.line("boot").id;

    an_id_that_is_no_uuid_of_version_7 finds ["id"] by |script| script.line("failed").id[6] = 0x40;

    an_id_of_another_variant finds ["id"] by |script| script.line("failed").id[8] = 0xc0;

    an_unknown_kind finds ["meaning"] by |script| script.line("boot").kind = "rumour";

    a_message_without_a_meaning finds ["meaning"] by |script| script.line("boot").code = None;

    an_item_without_an_ordinal finds ["meaning"] by |script| script.line("note-3").ordinal = None;

    a_cause_after_its_effect finds ["cause"] by |script| script.line("attempt").cause = Some("final");

    a_cause_that_is_nowhere finds ["cause"] by |script| script.line("finished").cause = Some("nothing");

    an_outcome_without_a_cause finds ["cause"] by |script| script.line("failed").cause = None;

    a_cause_in_another_thread finds ["cause"] by |script| script.line("attempt").cause = Some("stray");

    a_cause_older_than_its_call finds ["cause"] by |script| script.line("found").cause = Some("ask");
}
