//! Threads with a name: the first message opens the thread, the others continue it.

use super::*;
use systole_core::types::thread_choice::ThreadName;

/// The client's message to its thread of that name.
fn asks_named(stage: &mut DecideStage, client: &str, name_of: &str, key: &str) -> Vec<String> {
    let thread = ThreadName::parse(name_of).unwrap();
    let payload = Ok(Admitted::new(PayloadKind::For(name("tool")), Verdict::from_valid(payload("tool"))));
    let asked = DoorMessage {
        ticket: Ticket(1),
        client: name(client),
        key: thread.bind_key(&Key::parse(key).unwrap()).unwrap(),
        thread: ThreadChoice::Named(thread),
        payload,
        claimed: None,
        subject: None,
    };
    stage.happens(EventKind::Asked { asked, bound: None })
}

fn receipts(stage: &DecideStage) -> Vec<ThreadId> {
    stage.records.iter().map(|record| record.header.thread.clone()).collect()
}

#[test]
fn b18_the_first_message_opens_a_named_thread_and_the_next_continues_it() {
    let mut stage = DecideStage::new();
    assert_eq!(
        asks_named(&mut stage, "operator", "ticket-17", "a"),
        ["root 1 message/request operator -> tool 1", "=> receipt #1", "=> tool 1 t1 a1"]
    );
    assert_eq!(
        asks_named(&mut stage, "operator", "ticket-17", "b"),
        ["root 2 message/request operator -> tool 2", "=> receipt #2"]
    );
    assert_eq!(asks_named(&mut stage, "operator", "ticket-17", "a"), ["=> receipt #1 again"]);
    assert_eq!(asks_named(&mut stage, "operator", "ticket-17", "b"), ["=> receipt #2 again"]);
    let keys: Vec<_> = stage.records.iter().map(|record| record.header.key.clone().unwrap()).collect();
    assert_eq!(keys.iter().map(Key::as_str).collect::<Vec<_>>(), ["@ticket-17/a", "@ticket-17/b"]);
}

#[test]
fn b18_names_of_other_clients_and_other_names_are_other_threads() {
    let mut stage = DecideStage::new();
    asks_named(&mut stage, "operator", "ticket-17", "a");
    asks_named(&mut stage, "operator", "ticket-1", "a");
    asks_named(&mut stage, "alice", "ticket-17", "a");
    let threads: std::collections::BTreeSet<ThreadId> = receipts(&stage).into_iter().collect();
    assert_eq!(threads.len(), 3, "{threads:?}");
}

#[test]
fn b18_the_same_key_with_other_bytes_in_a_named_thread_is_a_conflict() {
    let mut stage = DecideStage::new();
    asks_named(&mut stage, "operator", "ticket-17", "a");
    stage.asks("@ticket-17/a", "other", Some(&receipts(&stage)[0]));
    let last = stage.records.last().unwrap();
    assert_eq!(last.header.code.unwrap().as_str(), "payload.id-conflict");
}

#[test]
fn b18_the_name_of_an_ended_thread_takes_nothing_new_and_knows_what_came() {
    let mut stage = DecideStage::new();
    asks_named(&mut stage, "operator", "ticket-17", "a");
    let thread = receipts(&stage)[0].clone();
    stage.happens(EventKind::Ordered(ClientOrder::Cancel {
        ticket: Ticket(2),
        by: Name::new_operator(),
        thread,
    }));
    let told = asks_named(&mut stage, "operator", "ticket-17", "b");
    assert_eq!(told.last().unwrap(), "=> refused thread.ended");
    assert_eq!(asks_named(&mut stage, "operator", "ticket-17", "a"), ["=> receipt #1 again"]);
}

#[test]
fn b18_a_named_thread_whose_digits_collide_gets_one_more() {
    let mut stage = DecideStage::new();
    asks_named(&mut stage, "alice", "ticket-17", "a");
    let sought = systole_core::types::thread_choice::SoughtRoot {
        organism: name("test"),
        sender: Name::new_operator(),
        key: Key::parse("k").unwrap(),
        name: ThreadName::parse("ticket-17").ok(),
    };
    let mut squatter = stage.state.threads.remove(&receipts(&stage)[0]).unwrap();
    squatter.id = sought.find_id(12);
    stage.state.threads.insert(squatter.id.clone(), squatter);
    asks_named(&mut stage, "operator", "ticket-17", "a");
    assert_eq!(stage.records.last().unwrap().header.thread, sought.find_id(13));
    assert_eq!(asks_named(&mut stage, "operator", "ticket-17", "a"), ["=> receipt #1 again"]);
}
