//! Faults in journals, and in the reports and reserves of model use.

use crate::book::SealedBook;
use crate::good::{B, HEAT, WARM, attempt, dead_letter, finished, script};
use crate::planted;
use crate::script::{Line, Script, line};
use systole_checker::RunSettings;

/// An entry of the open call of thread B.
fn entry(name: &'static str, code: &'static str, id: u32, rest: &str) -> Line {
    let head = format!(r#"<journal xmlns="urn:systole:listener:v1" id="{id}" attempt="1" kind="{code}" "#);
    let body = [&head, rest].concat();
    line(name, B, "journal", code).between("planner", "").on("1").because("b-ask").says(&body).turn(1)
}

fn starts(name: &'static str, id: u32) -> Line {
    entry(name, "model-started", id, r#"model="m" reserve-tokens="100" reserve-money="0.05 USD"/>"#)
}

fn results(name: &'static str, id: u32, of: u32) -> Line {
    entry(name, "model-result", id, &format!(r#"of="{of}" stop="end" in="20" out="3">so</journal>"#))
}

/// The good log, in which thread B calls a model twice.
fn thinking() -> Script {
    let mut script = script();
    for (after, line) in [
        ("b-ask", starts("starts", 1)),
        ("starts", results("results", 2, 1)),
        ("results", starts("starts-again", 3)),
    ] {
        script.after(after, line);
    }
    script
}

/// The rules that find something after this change to the log.
fn found(plant: impl FnOnce(&mut Script)) -> Vec<&'static str> {
    let mut script = thinking();
    plant(&mut script);
    SealedBook::of(&script).check().found.keys().copied().collect()
}

#[test]
fn a_journal_with_nothing_wrong_is_a_good_one() {
    assert_eq!(found(|_| {}), Vec::<&str>::new());
    let refused = line("b-refused", B, "refusal", "payload.invalid").between("core", "planner").on("1");
    assert_eq!(found(|script| script.after("starts", refused.because("b-ask"))), Vec::<&str>::new());
}

#[test]
fn entries_that_cannot_be_are_found() {
    assert_eq!(found(|script| script.line("starts-again").body = "<s/>".into()), ["journal"]);
    assert_eq!(found(|script| script.repeat("starts", "starts")), ["journal"], "the number of another");
    assert_eq!(found(|script| drop(script.remove("starts"))), ["journal"], "a result of no start");
    assert_eq!(found(|script| script.after("results", results("twice", 9, 1))), ["journal"]);
    assert_eq!(found(|script| script.after("results", results("of-a-result", 9, 2))), ["journal"]);
    assert_eq!(found(|script| script.line("results").code = Some("model-started")), ["journal"]);
    assert_eq!(found(|script| script.line("starts").turn = Some(2)), ["journal"]);
    assert_eq!(found(|script| script.line("starts").from = "search"), ["party"]);
    let other = |line: &mut Line| line.body = line.body.replace("attempt=\"1\"", "attempt=\"2\"");
    assert_eq!(found(|script| other(script.line("starts"))), ["journal"]);
}

/// An attempt at thread B's turn, after the two starts.
fn fails(code: &'static str) -> Line {
    let line = line("fails", B, "attempt", code).between("core", "planner").on("1").because("b-ask");
    line.says(&attempt(2)).turn(1)
}

#[test]
fn a_start_that_the_next_attempt_forgets_is_found() {
    assert_eq!(found(|s| s.after("starts-again", fails("model.unknown-outcome"))), Vec::<&str>::new());
    assert_eq!(found(|s| s.after("starts-again", fails("listener.lost"))), ["journal"]);
    let late = |script: &mut Script| {
        script.after("starts-again", fails("model.unknown-outcome"));
        script.after("fails", results("late", 4, 3));
    };
    assert_eq!(found(late), ["journal"], "a result in another attempt than its start");
}

#[test]
fn only_the_last_answer_may_exceed_the_limit_of_models() {
    let under = |tokens, micros, script: &Script| {
        let terms = RunSettings { tokens, micros, ..RunSettings::default() };
        SealedBook::of(script).check_under(terms).found.into_keys().collect::<Vec<_>>()
    };
    // The first used 23 tokens and its reserved money, the second reserves 100 and the same amount
    // of money.
    assert_eq!(under(Some(123), Some(100_000), &thinking()), Vec::<&str>::new());
    assert_eq!(under(Some(122), None, &thinking()), ["models"]);
    assert_eq!(under(None, Some(99_999), &thinking()), ["models"]);
    let mut last = thinking();
    let body = r#"<budget-exceeded xmlns="https://xml-pipeline.org/ns/core/v1" what="tokens" used="23" limit="23"/>"#;
    let wraps = line("wraps", B, "message", "wrap-up").between("core", "planner").on("1").because("b-ask");
    last.after("results", wraps.says(body));
    assert_eq!(under(Some(100), None, &last), Vec::<&str>::new(), "one answer more, for the last turn");
    last.after("starts-again", starts("once-more", 5));
    assert_eq!(under(Some(100), None, &last), ["models"], "and no second");
}

#[test]
fn requests_count_up_to_their_limit_and_the_last_answer_has_none_beyond_it() {
    let under = |most, script: &Script| {
        let terms = RunSettings { requests: Some(most), ..RunSettings::default() };
        SealedBook::of(script).check_under(terms).found.into_keys().collect::<Vec<_>>()
    };
    assert_eq!(under(2, &thinking()), Vec::<&str>::new());
    assert_eq!(under(1, &thinking()), ["models"]);
    // One that failed and cost nothing is given back; one that may be paid is not.
    for (rest, found) in [
        (r#"of="1" stop="model.unavailable" in="0" out="0">no</journal>"#, vec![]),
        (r#"of="1" stop="model.truncated" in="7" out="0">no</journal>"#, vec!["models"]),
        (r#"of="1" stop="model.truncated">no</journal>"#, vec!["models"]),
        (r#"of="1" stop="end" in="0" out="0">no</journal>"#, vec!["models"]),
    ] {
        let mut script = thinking();
        script.line("results").body = entry("results", "model-result", 2, rest).body;
        assert_eq!(under(1, &script), found, "{rest}");
    }
    let mut last = thinking();
    let body = r#"<budget-exceeded xmlns="https://xml-pipeline.org/ns/core/v1" what="requests" used="1" limit="1"/>"#;
    let wraps = line("wraps", B, "message", "wrap-up").between("core", "planner").on("1").because("b-ask");
    last.after("results", wraps.says(body));
    assert_eq!(under(1, &last), ["models"]);
}

/// The question about an attempt at the open call of thread B.
fn asks(hash: &str, id: &str) -> Line {
    let body = format!(
        r#"<approval-requested xmlns="https://xml-pipeline.org/ns/core/v1" id="{id}" hash="{hash}" expires="2026-11-20T09:00:00.000Z" thread="{B}" call="1" to="planner" element="q" unknown="attempt 1"/>"#
    );
    line("asks", B, "approval", "requested").between("core", "person").on("1").because("b-ask").says(&body)
}

fn says(name: &'static str, outcome: &'static str, hash: Option<&str>) -> Line {
    let hash = hash.map_or_else(String::new, |hash| format!(r#" hash="{hash}""#));
    let body = format!(
        r#"<approval-decided xmlns="https://xml-pipeline.org/ns/core/v1" id="a9" outcome="{outcome}" by="operator"{hash}/>"#
    );
    line(name, B, "approval", outcome).between("core", "operator").on("1").because("b-ask").says(&body)
}

/// Thread B's first attempt was recorded and lost, and a person was asked.
fn asked() -> (Script, String) {
    let mut script = thinking();
    let first = line("first", B, "attempt", "").between("core", "planner").on("1").because("b-ask");
    let mut first = first.says(&attempt(1)).turn(1);
    first.code = None;
    script.after("b-ask", first);
    let hash =
        systole_checker::record::RecordHash::hash_bytes(script.line("b-ask").body.as_bytes()).to_string();
    script.after("starts-again", asks(&hash, "a9"));
    (script, hash)
}

#[test]
fn a_person_who_is_asked_about_an_attempt_is_waited_for() {
    let judge = |script: &Script| SealedBook::of(script).check().found.into_keys().collect::<Vec<_>>();
    let (mut script, hash) = asked();
    assert_eq!(judge(&script), ["approval"], "it answers, and no person has decided");
    script.after("asks", says("yes", "approved", Some(&hash)));
    script.after("yes", fails("model.unknown-outcome"));
    assert_eq!(judge(&script), Vec::<&str>::new());
    script.remove("yes");
    assert_eq!(judge(&script), ["approval"], "one more attempt before anybody decided");

    let (mut script, _) = asked();
    script.remove("b-final");
    script.after("asks", says("no", "rejected", None));
    let letter = line("dead", B, "outcome", "dead-letter").between("core", "planner").on("1");
    script.after("no", letter.because("b-ask").says(&dead_letter(1)).turn(1));
    let over = line("over", B, "outcome", "approval.rejected").between("core", "bob").on("1");
    script.after("dead", over.because("b-ask"));
    assert_eq!(judge(&script), Vec::<&str>::new());

    let (mut script, hash) = asked();
    script.after("asks", says("other", "amended", Some(&hash)));
    assert!(judge(&script).contains(&"approval"), "what was out already cannot be amended");
}

planted! {
    models_of_a_child_that_were_asked_less_than_is_told finds ["bought"] by |script| {
        let body = finished(HEAT, "answered", "warm", WARM);
        script.line("finished").body = body.replacen(" head=", " requests=\"3\" head=", 1);
    };
    models_of_a_child_that_used_less_than_is_told finds ["bought"] by |script| {
        let body = finished(HEAT, "answered", "warm", WARM);
        script.line("finished").body = body.replacen(" head=", " tokens=\"3\" head=", 1);
    };
}
