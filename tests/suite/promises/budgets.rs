//! B3, B15 and B16: how Systole ends a call that does not end itself. Budgets of a tree, the last turn,
//! and calls that go in circles.

use super::cast::{BOSS, ECHO, HANG, Part, PlanHouse, cast, code};

/// An organism with these listeners and further sections in its file.
async fn house(parts: &[Part<'_>], sections: &str) -> PlanHouse {
    let folder = cast(parts);
    let file = folder.path().join("organism.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text + sections).unwrap();
    PlanHouse::in_folder(folder).await
}

#[tokio::test]
async fn b3_the_last_turn_is_followed_by_one_that_says_so_and_takes_a_final() {
    let house = PlanHouse::open(&[("boss", "turns: 2, entry: true", BOSS)]).await;
    let (_, told) = house.ask("k", "boss", "[[note('one')], [note('two')], everything]").await;
    for words in [
        "turn=\"3\" wrap-up=\"budget.messages\"",
        "<budget-exceeded",
        "what=\"turns\" used=\"2\" limit=\"2\"",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    house.close().await;
}

#[tokio::test]
async fn b3_without_a_final_its_caller_gets_a_report_of_the_core() {
    let house = PlanHouse::open(&[("boss", "turns: 2, entry: true", BOSS)]).await;
    let (receipt, told) = house.ask("k", "boss", "[[note('one')], [note('two')], [note('three')]]").await;
    assert!(told.contains("<final-report") && told.contains("source=\"synthetic\""), "{told}");
    let records = house.records();
    let thread: Vec<&str> = records.iter().filter(|r| r.header.thread == receipt.thread).map(code).collect();
    assert_eq!(thread, ["request", "note", "note", "wrap-up", "note", "budget.messages"]);
    assert!(told.contains("its last note is record 5"), "{told}");
    house.close().await;
}

#[tokio::test]
async fn b15_at_the_time_limit_hung_calls_are_cancelled_and_their_caller_still_answers() {
    let parts = [
        ("boss", "peers: [crew, mute], turns: 9, entry: true", BOSS),
        ("crew", "peers: [mute], turns: 9", BOSS),
        ("mute", "timeout: 1h, in_flight: 2", HANG),
    ];
    let house = house(&parts, "budgets: {wall: 8s}\n").await;
    let plan =
        "[[say('mute', 'x'), spawn(say('crew', \"[[say('mute', 'y')], everything]\"), 'a')], everything]";
    let (receipt, told) = house.ask("k", "boss", plan).await;
    for words in ["wrap-up=\"budget.time\"", "what=\"time\" used=\"8s\" limit=\"8s\"", "thread.cancelled"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let records = house.records();
    let own: Vec<_> = records.iter().filter(|r| r.header.thread.is_within(&receipt.thread)).collect();
    assert!(own.iter().all(|r| code(r) != "listener.timeout"), "no attempt was over by itself");
    let wraps = own.iter().filter(|r| code(r) == "wrap-up").count();
    assert_eq!(wraps, 2, "the boss and its child");
    house.close().await;
}

#[tokio::test]
async fn b16_the_third_identical_call_gets_a_warning_and_the_fifth_is_refused() {
    let parts = [("boss", "peers: [echo], turns: 9, entry: true", BOSS), ("echo", "", ECHO)];
    let house = PlanHouse::open(&parts).await;
    let (receipt, told) = house.ask("k", "boss", "[[say('echo', 'x')]] * 5 + [everything]").await;
    assert!(told.contains("code=\"loop.repeated-call\"") && told.contains("4 times"), "{told}");
    let records = house.records();
    let own: Vec<&str> = records.iter().filter(|r| r.header.thread == receipt.thread).map(code).collect();
    let count = |word: &str| own.iter().filter(|own| **own == word).count();
    assert_eq!((count("call"), count("inbox"), count("loop.repeated-call")), (4, 1, 1), "{own:?}");
    house.close().await;
}
