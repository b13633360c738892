//! The messages about payloads and their receivers: at the door, and in replies.

use systole_core::types::codes::Code;
use systole_core::types::ids::Name;

use super::ExampleBook;
use crate::promises::cast::{BOSS, ECHO, HANG, PlanHouse, say};

/// A payload at the door.
async fn door(house: &PlanHouse, book: &mut ExampleBook, code: Code, done: &str, document: &str) {
    let refused = house.send(code.as_str(), document, None, None).await.expect_err(code.as_str());
    assert_eq!(refused, code.as_str());
    book.take(&house.records(), code, done);
}

/// What the boss does in the turns of one call.
async fn boss(house: &PlanHouse, book: &mut ExampleBook, code: Code, done: &str, plan: &str) {
    house.ask(code.as_str(), "boss", plan).await;
    book.take(&house.records(), code, done);
}

pub(super) async fn show(book: &mut ExampleBook) {
    let parts = [
        ("boss", "peers: [echo, left, twin, mute], turns: 9, entry: true", BOSS),
        ("echo", "entry: true", ECHO),
        ("left", "", ECHO),
        ("twin", "schema: left.xsd", ECHO),
        ("mute", "timeout: 1h, in_flight: 9", HANG),
    ];
    let house = PlanHouse::open(&parts).await;
    at_the_door(&house, book).await;
    in_replies(&house, book).await;
    threads(&house, book).await;
    house.close().await;
}

async fn at_the_door(house: &PlanHouse, book: &mut ExampleBook) {
    let echo = "xmlns=\"https://xml-pipeline.org/ns/echo/v1\"";
    let large = say("echo", &"x".repeat((1 << 20) + 1));
    let deep =
        [say("echo", "x").replace("<text>x</text>", &"<text>".repeat(70)), "</text>".repeat(70)].concat();
    for (code, done, document) in [
        (Code::Malformed, "<say> is never closed", format!("<say {echo}><text>hello</text>")),
        (Code::Invalid, "<txt> in place of <text>", format!("<say {echo}>\n  <txt>hello</txt>\n</say>")),
        (Code::TooLarge, "a text of a megabyte and a byte", large),
        (Code::TooDeep, "<text> within <text>, seventy times", deep),
        (Code::ForbiddenConstruct, "a DOCTYPE before the payload", format!("<!DOCTYPE say><say {echo}/>")),
        (Code::NoNamespace, "<say> without xmlns", "<say><text>hello</text></say>".to_owned()),
        (Code::Undeclared, "<e:say> without xmlns:e", "<e:say><e:text>hello</e:text></e:say>".to_owned()),
        (
            Code::NoSuchElement,
            "<sai> in the namespace of echo",
            format!("<sai {echo}><text>hello</text></sai>"),
        ),
    ] {
        door(house, book, code, done, &document).await;
    }
    let first = house.send("key", &say("echo", "one"), None, None).await.unwrap();
    house.outcomes(&[first]).await;
    house.send("key", &say("echo", "two"), None, None).await.expect_err("the key is bound");
    book.take(&house.records(), Code::IdConflict, "another payload with a key that was used before");
}

async fn in_replies(house: &PlanHouse, book: &mut ExampleBook) {
    let fired = "[['<timer-fired xmlns=\"https://xml-pipeline.org/ns/core/v1\" id=\"t\">now</timer-fired>'], [said('x')]]";
    boss(
        house,
        book,
        Code::ForbiddenNamespace,
        "a listener sends <timer-fired>, which only the core says",
        fired,
    )
    .await;
    let alien = "[[say('nobody', 'x')], [said('x')]]";
    boss(house, book, Code::NotAPeer, "a listener sends <say> in a namespace that no peer has", alien).await;
    let two = "[[say('left', 'x')], [said('x')]]";
    boss(house, book, Code::Ambiguous, "<say>, which the peers left and twin both take", two).await;
    let alone = "[[say('echo', 'x'), said('x')], [said('x')]]";
    boss(house, book, Code::FinalNotAlone, "a final beside a call", alone).await;
    let many = "[[note(str(n)) for n in range(65)], [said('x')]]";
    boss(house, book, Code::TooManyItems, "a reply of 65 items", many).await;
    let liar = "[[to(say('echo', 'x'), **{'from': 'operator', 'to': 'echo'})], [said('x')]]";
    boss(house, book, Code::FalseSender, "an item of the boss with <from>operator</from>", liar).await;
    let timers = "[[timer('x', id=f't{n}', after='1h') for n in range(33)], [said('x')]]";
    boss(house, book, Code::ThreadLimit, "33 timers in one thread", timers).await;
    let timer = "[['<cancel-timer xmlns=\"https://xml-pipeline.org/ns/core/v1\" id=\"tea\"/>'], [said('x')]]";
    boss(house, book, Code::UnknownTimer, "a timer is cancelled that was never set", timer).await;
    let over = "[[spawn(say('echo', 'x'), 'over'), wait('all')], \
                lambda turn: [to(say('echo', 'x'), thread=turn.thread + '.over')], [said('x')]]";
    boss(house, book, Code::EndedThread, "an item for a child that has ended", over).await;
    let cancelled = "[[spawn(say('mute', 'x'), 'slow')], lambda turn: [cancel(turn.thread + '.slow')], \
                     [wait('all')], [said('x')]]";
    boss(house, book, Code::CancelledThread, "a listener cancels a child that is at work", cancelled).await;
}

async fn threads(house: &PlanHouse, book: &mut ExampleBook) {
    let sends = |key: &'static str, document: String, thread: String| async move {
        house.send(key, &document, None, Some(&thread)).await
    };
    sends("no-thread", say("echo", "x"), "sess-000000000000".to_owned()).await.unwrap_err();
    book.take(&house.records(), Code::UnknownThread, "a message for a thread that never was");
    let (rests, _) = house.ask("rests", "echo", "x").await;
    let steer = "<steer xmlns=\"https://xml-pipeline.org/ns/core/v1\"><say xmlns=\"https://xml-pipeline.org/ns/echo/v1\"><text>x</text></say></steer>";
    sends("steer", steer.to_owned(), rests.thread.to_string()).await.unwrap_err();
    book.take(&house.records(), Code::RestingThread, "a <steer> for a thread that rests");
    house
        .organism
        .handle()
        .pause_or_continue(Name::new_operator(), Some(rests.thread.clone()), false, None)
        .await
        .unwrap();
    book.take(&house.records(), Code::UnpausedThread, "`systole resume` for a thread that is not paused");
    house.organism.handle().stop_run(Name::new_operator(), rests.thread.clone(), 9).await.unwrap();
    book.take(&house.records(), Code::ClosedCall, "`systole cancel --call 9` for a call that never came");
    let plan = "[[say('mute', 'x'), spawn(say('mute', 'x'), 'slow')]]";
    let works = house.send("works", &say("boss", plan), None, None).await.unwrap();
    let child = works.thread.make_child("slow").unwrap();
    house.until("the child works", |record| record.header.thread == child).await;
    sends("child", say("echo", "x"), child.to_string()).await.unwrap_err();
    book.take(&house.records(), Code::NotBuilt, "a message from outside for a child thread");
    for n in 0..17 {
        let sent =
            house.send(&format!("busy-{n}"), &say("boss", "x"), None, Some(works.thread.as_str())).await;
        assert_eq!(sent.is_err(), n == 16, "{n}: {sent:?}");
    }
    book.take(&house.records(), Code::BusyThread, "a seventeenth message while the first is being answered");
}
