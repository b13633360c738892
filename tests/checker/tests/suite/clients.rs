//! Mismatches between the log and the clients' histories.

use systole_checker::record::RecordHash;
use systole_checker::report::CheckReport;

use crate::book::{SealedBook, Told};
use crate::good::{B, script};
use crate::script::{Line, line};

fn found(report: &CheckReport) -> Vec<&'static str> {
    report.found.keys().copied().collect()
}

/// Judges the good log with one line of bob's.
fn bob(change: impl FnOnce(&mut Told)) -> Vec<&'static str> {
    let book = SealedBook::of(&script());
    let mut told = book.sent("b-ask", "bob", "k-b");
    change(&mut told);
    found(&book.check_with(&told.json()))
}

#[test]
fn an_acknowledged_key_that_is_missing_is_found() {
    let told = SealedBook::of(&script()).sent("b-ask", "bob", "k-b").json();
    let mut script = script();
    script.remove("b-ask");
    script.remove("b-final");
    let report = SealedBook::of(&script).check_with(&told);
    assert_eq!(found(&report), ["kept"]);
    assert_eq!((report.counts.acked, report.counts.lost, report.counts.open), (1, 1, 0));
}

#[test]
fn another_place_than_the_acknowledged_one_is_found() {
    assert_eq!(bob(|_| {}), [""; 0]);
    assert_eq!(bob(|told| told.place.as_mut().unwrap().0 = "sess-cccccccccccc".into()), ["kept"]);
    assert_eq!(bob(|told| told.place.as_mut().unwrap().1 = 2), ["kept"]);
    assert_eq!(bob(|told| told.place.as_mut().unwrap().2.0[15] ^= 1), ["kept"]);
    assert_eq!(bob(|told| told.place.as_mut().unwrap().3 += 1), ["kept"]);
}

#[test]
fn other_bytes_than_the_acknowledged_ones_are_found() {
    assert_eq!(bob(|told| told.sha256 = RecordHash([1; 32])), ["kept"]);
}

#[test]
fn a_second_receipt_that_differs_is_found() {
    let book = SealedBook::of(&script());
    let (first, mut second) = (book.sent("b-ask", "bob", "k-b"), book.sent("b-ask", "bob", "k-b"));
    second.place.as_mut().unwrap().1 = 2;
    assert_eq!(found(&book.check_with(&[first.json(), second.json()].concat())), ["receipt"]);
    let mut other_bytes = book.sent("b-ask", "bob", "k-b");
    other_bytes.sha256 = RecordHash([1; 32]);
    assert_eq!(found(&book.check_with(&[first.json(), other_bytes.json()].concat())), ["receipt"]);
}

#[test]
fn a_key_with_two_requests_is_found() {
    let mut script = script();
    let mut second = script.line("b-ask").again("again");
    (second.thread, second.call) = ("sess-cccccccccccc", Some("1"));
    let answer =
        Line { thread: second.thread, cause: Some("again"), ..script.line("b-final").again("answer") };
    script.after("b-final", second);
    script.after("again", answer);
    let book = SealedBook::of(&script);
    let report = book.check_with(&book.sent("b-ask", "bob", "k-b").json());
    assert_eq!(found(&report), ["doubled", "key-once"]);
    assert_eq!(report.counts.doubled, 1);
}

#[test]
fn a_refused_message_in_the_log_is_found() {
    let book = SealedBook::of(&script());
    let refused = |code| book.sent("b-ask", "bob", "k-b").refused(code).json();
    assert_eq!(found(&book.check_with(&refused("route.not-a-peer"))), ["refused"]);
    assert_eq!(found(&book.check_with(&refused("ingress.unavailable"))), [""; 0]);
    let acked = book.sent("b-ask", "bob", "k-b").json();
    assert_eq!(found(&book.check_with(&[refused("thread.busy"), acked].concat())), [""; 0]);
}

#[test]
fn an_answer_that_the_log_does_not_have_is_found() {
    assert_eq!(bob(|told| told.answer = Some((2, RecordHash([1; 32])))), ["seen"]);
    assert_eq!(bob(|told| told.answer = Some((3, RecordHash::hash_bytes(b"<r>token-b</r>")))), ["seen"]);
    assert_eq!(bob(|told| told.answer = Some((2, RecordHash::hash_bytes(b"<r>token-b</r>")))), [""; 0]);
}

#[test]
fn an_answer_seen_but_lost_is_found() {
    let book = SealedBook::of(&script());
    let told = book.sent("b-ask", "bob", "k-b").answered(&book, "b-final").json();
    let mut script = script();
    script.remove("b-final");
    assert_eq!(found(&SealedBook::of(&script).check_with(&told)), ["rest", "seen"]);
}

#[test]
fn an_answer_to_a_message_that_was_never_accepted_is_found() {
    assert_eq!(
        bob(|told| {
            told.key = "k-other".into();
            told.place = None;
            told.answer = Some((2, RecordHash([1; 32])));
        }),
        ["seen"]
    );
}

#[test]
fn an_answer_to_anothers_question_is_found() {
    let mut script = script();
    let (of_a, of_b) = (script.line("final").body.clone(), script.line("b-final").body.clone());
    script.line("final").body = of_b;
    script.line("b-final").body = of_a;
    let book = SealedBook::of(&script);
    let told = [
        book.sent("ask", "alice", "k-a").with_token("token-a").answered(&book, "final"),
        book.sent("b-ask", "bob", "k-b").with_token("token-b").answered(&book, "b-final"),
    ];
    let report = book.check_with(&told.map(|line| line.json()).concat());
    assert_eq!(report.found.iter().map(|(rule, n)| (*rule, *n)).collect::<Vec<_>>(), [("token", 2)]);
    let (last, answer) = (report.findings.last().unwrap(), &book.sealed["b-final"]);
    assert_eq!((last.thread.as_str(), last.seq, last.position), (B, answer.seq, answer.position));
    assert_eq!(last.words, "key k-b of bob: its answer is without the token token-b of its question");
}

/// A steering message that joined a call is stored by its inner payload, and opens nothing that
/// could be answered.
#[test]
fn a_word_that_joined_is_kept_by_what_it_says() {
    const WORD: &str = "<q>hurry</q>";
    let steered = |says: &str| {
        let mut script = script();
        let body = r#"<steer xmlns="https://xml-pipeline.org/ns/core/v1" from="bob">WORD</steer>"#;
        let word = line("word", B, "steer", "steered").between("bob", "planner").on("1").key("k-w");
        script.after("b-ask", word.says(&body.replace("WORD", says)));
        SealedBook::of(&script)
    };
    let told = |book: &SealedBook, says: &str| {
        let mut told = book.sent("word", "bob", "k-w");
        told.sha256 = RecordHash::hash_bytes(says.as_bytes());
        told.json()
    };
    let book = steered(WORD);
    let report = book.check_with(&told(&book, WORD));
    assert!(report.is_clean(), "{report}");
    assert_eq!((report.counts.acked, report.counts.joined, report.counts.open), (1, 1, 0));
    let other = steered("<q>wait</q>");
    assert_eq!(found(&other.check_with(&told(&other, WORD))), ["kept"]);
    let report = SealedBook::of(&script()).check_with(&told(&book, WORD));
    assert_eq!((found(&report), report.counts.lost), (vec!["kept"], 1));
}
