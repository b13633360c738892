//! A question is answered from elsewhere under the name of the client whose token it is, and only by one who may.

use super::{failed, from};
use crate::program::{Running, ask, run_file, systole};
use crate::promises::cast::{BOSS, cast, say};

const TOKENS: [(&str, &str); 2] =
    [("BOB_TOKEN", "bob-token-0123456789"), ("CAROL_TOKEN", "carol-token-0123456789")];
const CLIENTS: &str = "clients: {bob: {token_env: BOB_TOKEN, roles: [read]}, carol: {token_env: CAROL_TOKEN, roles: [approve]}}\n";
/// Asks whether to go, and then when.
const PLAN: &str =
    "[[person('Release this plan?', 'go', 'revise')], [person('When?')], lambda turn: [said(turn.line)]]";

#[test]
fn h11_a_person_answers_a_question_from_elsewhere_under_her_own_name() {
    let folder = cast(&[("boss", "turns: 9, entry: true", BOSS)]);
    let at = folder.path();
    let file = at.join("organism.yaml");
    std::fs::write(&file, std::fs::read_to_string(&file).unwrap() + CLIENTS).unwrap();
    let organism = Running::organism_with(at, &TOKENS);
    let run = run_file(at);
    let sent = ask(&run, "POST", "/v1/messages?to=boss", &[], &say("boss", PLAN));
    assert_eq!(sent.status, 202, "{sent:?}");
    let thread = sent.json["thread"].as_str().unwrap().to_owned();

    let away = tempfile::tempdir().unwrap();
    let url = format!("http://{}", run.address);
    let [(_, bob), (_, carol)] = TOKENS;
    let far = |token: &str, arguments: &[&str]| from(away.path(), &url, token, arguments);
    let asks = |question: &str| {
        let shows = || far(carol, &["approve"]).stdout.contains(question);
        assert!((0..5_000).any(|_| shows()), "{question} never came");
    };
    asks("Release this plan?");
    for (token, arguments, says) in [
        (bob, &["choose", "a1", "go"][..], "ingress.forbidden"),
        (carol, &["choose", "a1", "perhaps"], "expected go, revise"),
        (carol, &["choose", "a1", "--note", "go"], "answered by one of its choices"),
        (carol, &["choose", "a9", "go"], "there is no request a9"),
        (carol, &["choose", "a1", "go", "--hash", "00000000"], "approval.mismatch"),
        (carol, &["approve", "a1"], "approval.wrong-kind"),
    ] {
        let refused = far(token, arguments);
        assert_eq!(refused.code, Some(4), "{arguments:?}: {refused:?}");
        let words = refused.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(says), "{says}: {refused:?}");
    }
    assert_eq!(failed(&far(carol, &["choose", "a1"])).0, Some(2), "neither a choice nor a note");
    let stranger = far("stranger-token-0123456789", &["choose", "a1", "go"]);
    assert_eq!(failed(&stranger).0, Some(4), "{stranger:?}");
    let waits = ask(&run, "GET", "/v1/approvals", &[], "");
    assert_eq!(waits.json["approvals"][0]["id"], "a1", "nothing was decided: {waits:?}");

    let chosen = far(carol, &["choose", "a1", "revise", "--note", "name the rollback"]);
    assert_eq!(chosen.code, Some(0), "{chosen:?}");
    assert!(chosen.stdout.contains("Release this plan?"), "it is shown before: {chosen:?}");
    let again = far(carol, &["choose", "a1", "go"]);
    assert!(again.code == Some(4) && again.stderr.contains("approval.decided"), "{again:?}");
    asks("When?");
    let free = far(carol, &["choose", "a2", "--note", "Monday"]);
    assert_eq!(free.code, Some(0), "{free:?}");

    let records = systole(at, &["log", &thread, "--json"]).json_lines();
    let decided: Vec<String> = records.iter().map(|one| one["body"].to_string()).collect();
    let has = |words: &[&str]| decided.iter().any(|body| words.iter().all(|word| body.contains(word)));
    assert!(has(&["carol", "revise", "name the rollback"]), "{decided:#?}");
    assert!(has(&["carol", "Monday"]), "{decided:#?}");
    assert!(!decided.iter().any(|body| body.contains("bob")), "{decided:#?}");
    organism.interrupt();
}
