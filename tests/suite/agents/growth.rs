//! What one turn of an agent adds to the log, counted byte by byte: its records, and the links of prompts that they
//! name and that were not stored before. An early turn and a late turn add the same amount.

use std::collections::{BTreeMap, HashSet};

use systole_core::types::ids::CallPath;
use systole_kit::journal::{EarlierEntry, JournalEntry};
use systole_log::sqlite;
use systole_queries::prompts;

use super::house::{AgentHouse, AgentPlan};

/// Turns of the thread.
const TURNS: usize = 300;

/// The model's answer in each turn, and the final after them. The turns differ only in their number of three digits.
fn replies() -> String {
    let turn = |turn: usize| {
        let thought = format!("In turn {turn:03} I look for more. ").repeat(8);
        format!(
            "- {{say: \"<thinking>{thought}</thinking><search><query>thing {turn:03}</query></search>\"}}\n"
        )
    };
    let done = "- {say: \"<thinking>So.</thinking><attempt_completion><result>Done.</result></attempt_completion>\"}\n";
    (1..=TURNS).map(turn).chain([done.to_owned()]).collect()
}

/// The turn of the agent that a record belongs to: its own turn, or the turn that made its call.
fn turn_of(call: &CallPath, turn: Option<u32>) -> Option<usize> {
    let turn = match call.caller() {
        Some((_, turn, _)) => Some(turn),
        None => turn,
    };
    turn.and_then(|turn| usize::try_from(turn).ok())
}

#[test]
fn c10_turn_100_and_turn_300_of_an_agent_add_the_same_amount_to_the_log() {
    let (model, agent) = (", window: 1000000, max_output: 1000", ", turns: 310");
    let house = AgentHouse::build(&AgentPlan {
        dialect: "xml",
        replies: &replies(),
        model,
        agent,
        rest: "budgets: {requests: 400}",
        ..AgentPlan::default()
    });
    let ran = house.ask("Where is everything?");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Done.\n"), "{ran:?}");
    let log = sqlite::open_reading(&house.path().join("hello.db")).unwrap();
    let mut bytes: BTreeMap<usize, usize> = BTreeMap::new();
    let mut links = HashSet::new();
    for record in house.records() {
        let h = &record.header;
        let Some(turn) = h.call.as_ref().and_then(|call| turn_of(call, h.turn)) else { continue };
        let of_turn = bytes.entry(turn).or_default();
        *of_turn += record.header_bytes().len() + record.body.len();
        if let Ok(EarlierEntry { entry: JournalEntry::Started(started), .. }) =
            EarlierEntry::from_body(&record.body)
        {
            let chain = prompts::links(&log, &started.prompt).unwrap();
            // The whole prompt is stored, and nearly all of it was stored before.
            assert!(chain.len() >= turn, "turn {turn} stands on {} links", chain.len());
            *of_turn += chain
                .into_iter()
                .filter(|link| links.insert(link.clone()))
                .map(|link| link.len())
                .sum::<usize>();
        }
    }
    let of = |turns: std::ops::Range<usize>| turns.map(|turn| bytes[&turn]).sum::<usize>();
    let (first, second) = (of(100..200), of(200..300));
    println!("{} bytes a turn from 100 to 199, {} from 200 to 299", first / 100, second / 100);
    assert!(first.abs_diff(second) * 100 < first, "{first} bytes and then {second}: within one in a hundred");
    // Ten times the length of a turn's text would mean that the whole prompt is stored again.
    let words = 8 * 32 + 2 * 40;
    assert!(second / 100 < 20 * words, "{} bytes a turn for {words} of words", second / 100);
    assert_prefixes_kept(&house);
    house.judged();
}

/// Each request begins with the one before it, all but its last lines, so a provider's cache serves nearly all of it.
fn assert_prefixes_kept(house: &AgentHouse) {
    let bodies: Vec<String> =
        house.asked().into_iter().map(|seen| seen.body["messages"].to_string()).collect();
    assert!(bodies.len() > TURNS, "{} requests", bodies.len());
    let (mut kept, mut all) = (0, 0);
    for pair in bodies.windows(2) {
        kept += pair[0].bytes().zip(pair[1].bytes()).take_while(|(one, other)| one == other).count();
        all += pair[0].len();
    }
    println!("{kept} of {all} bytes of a request begin the next one");
    assert!(kept * 100 >= all * 98, "{kept} of {all}");
}
