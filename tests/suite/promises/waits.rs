//! B5, B8 and B10: waits for children and for timers, and children that no call waits for any longer. A waiting call
//! sleeps, which costs one turn, not one turn for each look.

use rustix::process::Signal;

use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::record::Record;
use systole_core::types::time::Millis;
use systole_organism::waiting::SenderReply;

use super::cast::{BOSS, ECHO, HANG, PlanHouse, body, cast, code, judged, plain, say};
use super::threads::meeting;
use crate::program::{Events, Running, ask, run_file};

/// Three children that can continue only together; the boss wakes once, with all their answers.
const MEETING: &str =
    "[[spawn(say('meet', str(n)), f'kid{n}') for n in range(3)] + [wait('all')], everything]";

#[tokio::test]
async fn b5_a_boss_that_waits_for_all_is_woken_once_with_every_result_in_order_of_spawning() {
    let folder = meeting();
    std::fs::write(folder.path().join("gate"), "").unwrap();
    let house = PlanHouse::in_folder(folder).await;
    let (receipt, told) = house.ask("k", "boss", MEETING).await;
    let places: Vec<usize> = (0..3).map(|n| told.find(&format!("met {n}")).expect("it is shown")).collect();
    assert!(places.is_sorted(), "{told}");
    assert!(told.contains("reason=\"done\" finished=\"3\" open=\"0\""), "{told}");
    let records = house.records();
    let turns = records.iter().filter(|r| r.header.thread == receipt.thread).filter_map(|r| r.header.turn);
    assert_eq!(turns.max(), Some(2), "it did not poll its children");
    house.close().await;
}

#[test]
fn b5_a_wait_ends_only_once_even_if_the_organism_was_killed() {
    let folder = meeting();
    let organism = Running::organism(folder.path());
    let taken = ask(&run_file(folder.path()), "POST", "/v1/messages", &[], &say("boss", MEETING));
    let thread = taken.json["thread"].as_str().unwrap().to_owned();
    let mut events = Events::open(&run_file(folder.path()), &format!("?from=0&thread={thread}"), &[]);
    while events.next().expect("it runs").2["code"] != "await" {}
    organism.signal(Signal::KILL);
    organism.end();

    std::fs::write(folder.path().join("gate"), "").unwrap();
    let organism = Running::organism(folder.path());
    let mut events = Events::open(&run_file(folder.path()), &format!("?from=0&thread={thread}"), &[]);
    let mut over = 0;
    loop {
        let (_, _, record) = events.next().expect("it runs");
        let body = record["body"].as_str().unwrap();
        over += body.matches("<await-over").count() * usize::from(record["code"] == "answer");
        if record["code"] == "final" && record["thread"] == thread.as_str() {
            assert!((0..3).all(|n| body.contains(&format!("met {n}"))), "{body}");
            break;
        }
    }
    assert_eq!(over, 1);
    assert_eq!(organism.interrupt().code, Some(130));
    judged(folder.path());
}

#[tokio::test]
async fn b5_a_wait_for_any_is_over_with_the_first_and_a_strange_thread_is_refused() {
    let house = PlanHouse::open(&[
        ("boss", "peers: [echo, hang], turns: 9, entry: true", BOSS),
        ("echo", "", ECHO),
        ("hang", "timeout: 1h", HANG),
    ])
    .await;
    let plan = "[[spawn(say('hang', ''), 'slow'), spawn(say('echo', 'x'), 'quick'), wait('any')], \
                lambda turn: [note('seen'), wait('all', turn.thread + '.slow', turn.thread + '.quick', 'sess-000000000000')], \
                lambda turn: [wait('0')], lambda turn: [note(turn.line)], everything, everything]";
    let (receipt, _) = house.ask("k", "boss", plan).await;
    let records = house.records();
    let own: Vec<_> = records.iter().filter(|r| r.header.thread == receipt.thread).collect();
    let over: Vec<String> = own
        .iter()
        .filter(|r| code(r) == "answer" && plain(r).contains("await-over"))
        .map(|r| plain(r))
        .collect();
    assert_eq!(over.len(), 1, "{over:?}");
    assert!(over[0].contains("reason=\"done\" finished=\"1\" open=\"1\""), "{over:?}");
    let refused: Vec<&str> =
        own.iter().filter(|r| r.header.kind.as_str() == "refusal").map(|r| code(r)).collect();
    assert_eq!(refused, ["thread.unknown", "payload.invalid", "children-open"]);
    let told = plain(own.iter().find(|r| code(r) == "payload.invalid").unwrap());
    assert!(told.contains("mode: 0 does not match") && told.contains("mode=\"all\""), "{told}");
    house.close().await;
}

/// Sets a repeating timer, answers, and afterwards replies with what woke it.
const TICKER: &str = r#"
for turn in turns():
    sort = turn.payload.tag.rsplit("}", 1)[1]
    if sort == "say": reply(turn.delivery, timer("look again", id="tick", every="1s"))
    elif sort == "answers": reply(turn.delivery, said("it is set"))
    else: reply(turn.delivery, said(turn.line))
"#;

/// A record of the call with that number.
fn of_call(thread: &ThreadId, number: u32, word: &'static str) -> impl Fn(&Record) -> bool {
    let (thread, call) = (thread.clone(), number.to_string());
    move |r| {
        r.header.thread == thread
            && r.header.call.as_ref().is_some_and(|c| c.as_str() == call)
            && code(r) == word
    }
}

#[tokio::test]
async fn b8_a_boss_sleeps_until_its_timer_and_is_woken_with_its_own_note() {
    let house = PlanHouse::open(&[("boss", "turns: 4, entry: true", BOSS)]).await;
    let plan = "[[wait('all'), timer('the <kettle>', id='tea', after='1s')], everything]";
    let (receipt, told) = house.ask("k", "boss", plan).await;
    assert!(
        told.contains("<timer-fired xmlns=\"https://xml-pipeline.org/ns/core/v1\" id=\"tea\">"),
        "{told}"
    );
    assert!(told.contains("the &lt;kettle&gt;") && told.contains("reason=\"timer\""), "{told}");
    assert!(
        told.find("ordinal=\"0\"") < told.find("ordinal=\"1\""),
        "answers are in the order of the items: {told}"
    );
    let records = house.records();
    let of =
        |word: &str| records.iter().find(|r| r.header.thread == receipt.thread && code(r) == word).unwrap();
    let (set, fired) = (of("set"), of("fired"));
    assert!(fired.header.time >= Millis(set.header.time.0 + 1_000), "never early");
    house.close().await;
}

#[tokio::test]
async fn b8_a_resting_root_is_woken_by_its_timer_before_and_after_a_restart_until_it_is_cancelled() {
    let house = PlanHouse::open(&[("ticker", "turns: 4, entry: true", TICKER)]).await;
    let (receipt, _) = house.ask("k", "ticker", "").await;
    let woken = house.until("the timer opens a call", of_call(&receipt.thread, 2, "final")).await;
    assert!(
        plain(&woken).contains("look again") && plain(&woken).contains("<timer-fired"),
        "{}",
        body(&woken)
    );
    assert_eq!(woken.header.to, Some(Name::new_core()), "no client waits for it");

    let house = PlanHouse::in_folder(house.close().await).await;
    house.until("it goes on", of_call(&receipt.thread, 3, "final")).await;
    let ended = house.organism.handle().cancel_thread(Name::new_operator(), receipt.thread.clone()).await;
    assert!(matches!(ended, Some(SenderReply::Done)), "{ended:?}");
    let folder = house.close().await;
    let house = PlanHouse::in_folder(folder).await;
    let records = house.records();
    let last = records.iter().rfind(|r| r.header.thread == receipt.thread).unwrap();
    assert_eq!(code(last), "thread.cancelled", "nothing fires in an ended thread");
    house.close().await;
}

#[test]
fn b8_a_timer_is_kept_though_the_organism_is_killed() {
    let folder = cast(&[("ticker", "turns: 4, entry: true", TICKER)]);
    let organism = Running::organism(folder.path());
    let taken = ask(&run_file(folder.path()), "POST", "/v1/messages", &[], &say("ticker", ""));
    let thread = taken.json["thread"].as_str().unwrap().to_owned();
    let wait_for = |call: &str| {
        let mut events = Events::open(&run_file(folder.path()), &format!("?from=0&thread={thread}"), &[]);
        loop {
            let (_, _, record) = events.next().expect("it runs");
            if record["code"] == "final" && record["call"] == call {
                break;
            }
        }
    };
    wait_for("1");
    organism.signal(Signal::KILL);
    organism.end();
    let organism = Running::organism(folder.path());
    wait_for("2");
    assert_eq!(organism.interrupt().code, Some(130));
    judged(folder.path());
}

/// A fake Slack program: it writes down each message that it gets, and returns no answer.
const SLACK: &str = r#"
for turn in turns():
    open("slack.txt", "a").write(turn.line.strip() + "\n")
    reply(turn.delivery)
"#;

/// An agent that sets a timer, and answers when the timer has fired.
const REMINDER: &str = r#"
clerk:
  - {if: Remind me, say: '<thinking>Later.</thinking><set-timer after="2s">call the plumber</set-timer>'}
  - {if: timer-set, say: "<thinking>It is set.</thinking><attempt_completion><result>I will.</result></attempt_completion>"}
  - {if: timer-fired, say: "<thinking>Now.</thinking><attempt_completion><result>The plumber comes at nine.</result></attempt_completion>"}
"#;

#[test]
fn b8_a_timer_of_a_thread_at_rest_that_fires_after_a_kill_reaches_a_person_once() {
    let slack = ("slack", "returns: []", SLACK);
    let folder = cast(&[slack]);
    let file = std::fs::read_to_string(folder.path().join("organism.yaml")).unwrap();
    let agents = "models: {script: {provider: script, file: replies.yaml}}\n\
        agents:\n  clerk: {model: script, peers: [slack], timers: {tell: [slack]}}\n";
    let file = file.replace("accepts: [say], returns: [said], ", "accepts: [say], ");
    std::fs::write(folder.path().join("organism.yaml"), file + agents).unwrap();
    std::fs::write(folder.path().join("replies.yaml"), REMINDER).unwrap();
    let organism = Running::organism(folder.path());
    let question = "<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">Remind me.</ask>";
    let taken = ask(&run_file(folder.path()), "POST", "/v1/messages", &[], question);
    let thread = taken.json["thread"].as_str().unwrap().to_owned();
    let wait_for = |call: &str, code: &str| {
        let mut events = Events::open(&run_file(folder.path()), &format!("?from=0&thread={thread}"), &[]);
        loop {
            let (_, _, record) = events.next().expect("it runs");
            if record["code"] == code && record["call"] == call {
                break;
            }
        }
    };
    wait_for("1", "final");
    organism.signal(Signal::KILL);
    organism.end();
    let organism = Running::organism(folder.path());
    wait_for("3", "handled");
    assert_eq!(organism.interrupt().code, Some(130));
    // The news causes nothing more: after one more start the log and the person's messages are the same.
    let organism = Running::organism(folder.path());
    assert_eq!(organism.interrupt().code, Some(130));
    let told = std::fs::read_to_string(folder.path().join("slack.txt")).unwrap();
    assert_eq!(told.lines().count(), 1, "{told}");
    for words in ["outcome=\"answered\"", "note=\"call the plumber\"", "The plumber comes at nine.", &thread]
    {
        assert!(told.contains(words), "{words}: {told}");
    }
    judged(folder.path());
}

#[tokio::test]
async fn b8_what_is_wrong_with_a_timer_is_reported_with_the_fix() {
    let house = PlanHouse::open(&[("boss", "turns: 4, entry: true", BOSS)]).await;
    let plan = "[[timer('', after='10'), timer('', every='10ms'), timer(''), timer('', id='A', after='1m'), \
                f'<cancel-timer xmlns=\"{CORE}\" id=\"tea\"/>'], everything]";
    let (_, told) = house.ask("k", "boss", plan).await;
    for words in [
        "after: 10 is not a whole number with a unit",
        "every: 10ms is less than 1s, the shortest allowed",
        "neither after nor every is given",
        "1s to 3650d, with one of the units ms, s, m, h, d",
        "no timer tea of yours is set",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert_eq!(told.matches("<system-error").count(), 5, "{told}");
    house.close().await;
}

#[tokio::test]
async fn b10_a_boss_cancels_a_child_of_its_own_and_no_other_thread() {
    let house = PlanHouse::open(&[
        ("boss", "peers: [hang, echo], turns: 9, entry: true", BOSS),
        ("hang", "timeout: 1h", HANG),
        ("echo", "entry: true", ECHO),
    ])
    .await;
    let (stranger, _) = house.ask("k1", "echo", "x").await;
    let plan = format!(
        "[[spawn(say('hang', ''), 'slow'), cancel('{}')], \
          lambda turn: [cancel(turn.thread + '.slow'), cancel(turn.thread)], everything]",
        stranger.thread
    );
    let (receipt, told) = house.ask("k2", "boss", &plan).await;
    assert!(told.contains("<thread-cancelled") && told.contains("threads=\"1\""), "{told}");
    assert!(told.contains("outcome=\"cancelled\"") && told.contains("code=\"unknown_thread\""), "{told}");
    let records = house.records();
    let ended: Vec<_> = records.iter().filter(|r| r.header.kind.as_str() == "terminal").collect();
    assert_eq!(ended.len(), 1);
    assert_eq!(ended[0].header.thread, receipt.thread.make_child("slow").unwrap());
    assert_eq!(ended[0].header.to, Some(Name::parse("boss").unwrap()), "the log says by whom");
    house.close().await;
}
