//! The messages when a budget is used up, or a call goes in circles.

use systole_core::types::codes::Code;

use super::ExampleBook;
use crate::promises::cast::{BOSS, ECHO, HANG, Part, PlanHouse, cast};

/// Begins a model call for each part of what it is asked, with these reserves.
const BUYER: &str = r#"
for turn in turns():
    for number, kept in enumerate(turn.text.split(';')):
        print(f'<journal xmlns="urn:systole:listener:v1" id="{number}" delivery="{turn.delivery}" kind="model-started" model="m" prompt="{"0" * 64}" {kept}/>', flush=True)
        answer = sys.stdin.readline()
    reply(turn.delivery, said(answer))
"#;

/// One organism with these sections, one call of the boss, and the resulting code.
async fn shows(book: &mut ExampleBook, code: Code, sections: &str, done: &str, plan: &str) {
    let who = if plan.starts_with('[') { "boss" } else { "buyer" };
    let parts: &[Part<'_>] = match who {
        "boss" => &[
            ("boss", "peers: [crew, echo, mute], turns: 20, entry: true", BOSS),
            ("crew", "peers: [echo, crew], turns: 9, in_flight: 9", BOSS),
            ("mute", "timeout: 1h", HANG),
            ("echo", "", ECHO),
        ],
        _ => &[("buyer", "entry: true", BUYER)],
    };
    let folder = cast(parts);
    let file = folder.path().join("organism.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text + sections + "\n").unwrap();
    let house = PlanHouse::in_folder(folder).await;
    house.ask("k", who, plan).await;
    book.take(&house.records(), code, &format!("{done}, with `{sections}`"));
    house.close().await;
}

pub(super) async fn show(book: &mut ExampleBook) {
    let calls = "[[say('echo', str(n))] for n in range(5)] + [everything]";
    let deep = "[[say('crew', \"[[say('crew', '[[said(1)]]')], everything]\")], everything]";
    let children = "[[spawn(say('echo', str(n)), 'a') for n in range(3)], everything]";
    for (code, sections, done, plan) in [
        (Code::MessagesBudget, "budgets: {messages: 3}", "a fourth call", calls),
        (Code::DepthBudget, "budgets: {depth: 1}", "a call within a call", deep),
        (Code::ChildrenBudget, "budgets: {children: 2}", "a third child", children),
        (
            Code::TimeBudget,
            "budgets: {wall: 4s}",
            "another call, after a wait of four seconds",
            "[[say('mute', 'x')], [say('echo', 'x')]]",
        ),
        (
            Code::TokensBudget,
            "budgets: {tokens: 100}",
            "a model call that keeps 500 tokens",
            "reserve-tokens=\"500\"",
        ),
        (
            Code::MoneyBudget,
            "budgets: {money: 1 USD}",
            "a model call that keeps 2 USD",
            "reserve-money=\"2 USD\"",
        ),
        (
            Code::RequestsBudget,
            "budgets: {requests: 1}",
            "a second model call",
            "reserve-tokens=\"5\";reserve-tokens=\"5\"",
        ),
        (
            Code::RepeatedCall,
            "loops: {repeated: 2..3}",
            "the third of the same calls",
            "[[say('echo', 'x')]] * 3 + [everything]",
        ),
        (
            Code::PingPong,
            "loops: {repeated: 50..60, ping_pong: 2}",
            "a third round that brings nothing new",
            "[[say('echo', 'x')]] * 4 + [everything]",
        ),
    ] {
        shows(book, code, sections, done, plan).await;
    }
}
