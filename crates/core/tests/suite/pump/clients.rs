//! Clients and their roles: what each may do to threads that others opened, and where a refusal is
//! recorded.

use super::*;
use systole_core::pump::event::PauseOrder;
use systole_core::types::client::{Client, Role};
use systole_core::types::composition::ListenerSection;
use systole_core::types::person::{PersonDecision, PersonRequestId, Ruling};

/// alice opens threads; bob operates others' threads; carol decides; dave answers in his own threads, and erin decides in
/// hers.
fn stage() -> DecideStage {
    let client = |who, roles: &[Role]| {
        (name(who), Client { may: None, roles: roles.to_vec(), over_nats: false, doors: None, rate: None })
    };
    let clients = [
        client("alice", &[]),
        client("bob", &[Role::Operate]),
        client("carol", &[Role::Approve]),
        client("dave", &[Role::Answer]),
        client("erin", &[Role::ApproveOwn]),
    ];
    let page = Composition { clients: clients.into_iter().collect(), ..composition() };
    let mut stage = DecideStage::new();
    stage.state.book = CompositionBook::open_at(Arc::new(page));
    stage
}

fn asks(stage: &mut DecideStage, who: &str, key: &str, to: &str, thread: Option<&ThreadId>) -> Vec<String> {
    let payload = Ok(Admitted::new(PayloadKind::For(name(to)), Verdict::from_valid(payload(to))));
    let (client, key) = (name(who), Key::parse(key).unwrap());
    let asked = DoorMessage {
        ticket: Ticket(1),
        client,
        key,
        thread: thread.cloned().map_or(ThreadChoice::New, ThreadChoice::Known),
        payload,
        claimed: None,
        subject: None,
    };
    stage.happens(EventKind::Asked { asked, bound: None })
}

fn refused_payload(stage: &mut DecideStage, who: &str, thread: &ThreadId) -> Vec<String> {
    let payload = Err(Refused { refusal: Refusal::new(Code::Invalid, "wrong"), kept: None });
    let (client, key) = (name(who), Key::parse("wrong").unwrap());
    let asked = DoorMessage {
        ticket: Ticket(1),
        client,
        key,
        thread: ThreadChoice::Known(thread.clone()),
        payload,
        claimed: None,
        subject: None,
    };
    stage.happens(EventKind::Asked { asked, bound: None })
}

fn cancels(stage: &mut DecideStage, who: &str, thread: &ThreadId) -> Vec<String> {
    stage.happens(EventKind::Ordered(ClientOrder::Cancel {
        ticket: Ticket(2),
        by: name(who),
        thread: thread.clone(),
    }))
}

fn halts(stage: &mut DecideStage, who: &str, thread: Option<&ThreadId>) -> Vec<String> {
    let (ticket, by, thread) = (Ticket(3), name(who), thread.cloned());
    stage.happens(EventKind::Ordered(ClientOrder::Pause(PauseOrder {
        ticket,
        by,
        thread,
        halts: true,
        note: None,
    })))
}

fn ends(stage: &mut DecideStage, who: &str, thread: &ThreadId) -> Vec<String> {
    stage.happens(EventKind::Ordered(ClientOrder::End {
        ticket: Ticket(5),
        by: name(who),
        thread: thread.clone(),
    }))
}

/// The thread that alice's key `k` opens.
fn open_thread(stage: &mut DecideStage) -> ThreadId {
    asks(stage, "alice", "k", "tool", None);
    stage.records.last().unwrap().header.thread.clone()
}

#[test]
fn a_thread_of_others_is_to_a_client_without_operate_one_that_never_was() {
    let mut stage = stage();
    let thread = open_thread(&mut stage);
    let ghost = ThreadId::parse("sess-0123456789ab").unwrap();
    let mut words = |told: &dyn Fn(&mut DecideStage, &ThreadId) -> Vec<String>| {
        let found = [&thread, &ghost].map(|thread| {
            let lines = told(&mut stage, thread);
            (lines[1].clone(), stage.records.last().unwrap().body.clone())
        });
        assert_eq!(found[0], found[1], "byte for byte");
        assert!(found[0].0.ends_with("refused thread.unknown"), "{found:?}");
    };
    words(&|stage, thread| cancels(stage, "carol", thread));
    words(&|stage, thread| halts(stage, "carol", Some(thread)));
    words(&|stage, thread| ends(stage, "carol", thread));
    words(&|stage, thread| stage.steers("carol", "tool", Some(thread)));
    // The key is new each time: a refused message binds none.
    words(&|stage, thread| {
        asks(stage, "carol", "other", "tool", Some(thread))
            .into_iter()
            .map(|line| line.replace("sess-0123456789ab", ""))
            .collect()
    });
    assert_eq!(stage.state.find_thread(&thread).unwrap().seq, 1, "the thread has no record of it");
}

#[test]
fn a_root_at_rest_is_ended_by_its_opener_and_who_operates_and_by_no_other() {
    for (who, last) in [
        ("carol", "=> refused thread.unknown"),
        ("alice", "=> done"),
        ("bob", "=> done"),
        ("operator", "=> done"),
    ] {
        let mut stage = stage();
        let thread = open_thread(&mut stage);
        stage.says(&thread, "1", 1, JudgedContent::Items(vec![final_()]));
        assert_eq!(ends(&mut stage, who, &thread).last().unwrap(), last, "{who}");
    }
}

#[test]
fn an_order_that_is_refused_stands_where_a_message_that_is_refused_does() {
    let place = |told: Vec<String>| told[0].split(' ').next().unwrap().to_owned();
    let mut stage = stage();
    asks(&mut stage, "alice", "k", "agent", None);
    let thread = stage.records.last().unwrap().header.thread.clone();
    let child = thread.make_child("heat").unwrap();
    stage.says(&thread, "1", 1, JudgedContent::Items(vec![spawn(Some("heat"), "tool")]));
    stage.says(&child, "1", 1, JudgedContent::Items(vec![final_()]));
    // The child has ended, so records about it are in its parent.
    type Order<'a> = &'a dyn Fn(&mut DecideStage, &str) -> Vec<String>;
    let orders: [Order<'_>; 3] =
        [&|stage, who| cancels(stage, who, &child), &|stage, who| ends(stage, who, &child), &|stage, who| {
            halts(stage, who, Some(&child))
        }];
    for order in orders {
        for (who, is_theirs) in [("alice", true), ("bob", true), ("carol", false)] {
            assert_eq!(place(order(&mut stage, who)) != "sys", is_theirs, "{who}");
        }
    }
    assert_ne!(place(ends(&mut stage, "alice", &thread)), "sys", "it is at work");
}

#[test]
fn the_opener_or_an_operator_of_a_thread_may_continue_pause_and_end_it() {
    for who in ["alice", "bob", "operator"] {
        let mut stage = stage();
        let thread = open_thread(&mut stage);
        assert!(asks(&mut stage, who, "k2", "tool", Some(&thread))[1].starts_with("=> receipt"), "{who}");
        assert_eq!(halts(&mut stage, who, Some(&thread)).last().unwrap(), "=> done", "{who}");
        assert_eq!(cancels(&mut stage, who, &thread).last().unwrap(), "=> done", "{who}");
    }
}

#[test]
fn everything_is_halted_by_a_client_that_operates_and_by_no_other() {
    let mut stage = stage();
    stage.happens(EventKind::Booted { listeners: vec![name("tool")], program: None });
    assert!(halts(&mut stage, "alice", None)[1].starts_with("=> refused"));
    assert_eq!(halts(&mut stage, "bob", None).last().unwrap(), "=> done");
}

#[test]
fn what_was_refused_stands_in_the_thread_only_of_who_may_act_there() {
    let mut stage = stage();
    let thread = open_thread(&mut stage);
    let place = |told: Vec<String>| told[0].split(' ').next().unwrap().to_owned();
    assert_eq!(place(refused_payload(&mut stage, "carol", &thread)), "sys");
    for who in ["alice", "bob"] {
        assert_ne!(place(refused_payload(&mut stage, who, &thread)), "sys", "{who}");
    }
}

#[test]
fn only_who_has_the_role_decides_about_what_waits_for_a_person() {
    let mut stage = stage();
    asks(&mut stage, "alice", "k", "guarded", None);
    let mut rules = |who: &str| {
        let (ticket, by, request) = (Ticket(4), name(who), PersonRequestId(1));
        let ruling = Ruling { ticket, by, request, hash: None, note: None, says: PersonDecision::Approve };
        stage.happens(EventKind::Ordered(ClientOrder::Ruled(ruling)))
    };
    for who in ["alice", "bob"] {
        let told = rules(who);
        assert_eq!(told[1], "=> refused ingress.forbidden", "{who}");
        assert!(told[0].starts_with("sys "), "{told:?}");
    }
    assert!(rules("carol").contains(&"=> done".to_owned()));
}

#[test]
fn what_was_refused_of_who_only_decides_stands_in_no_thread_of_others() {
    let mut stage = stage();
    asks(&mut stage, "alice", "k", "guarded", None);
    let (by, request, hash) = (name("carol"), PersonRequestId(1), Some(Digest([9; 32])));
    let ruling = Ruling { ticket: Ticket(4), by, request, hash, note: None, says: PersonDecision::Approve };
    let told = stage.happens(EventKind::Ordered(ClientOrder::Ruled(ruling)));
    assert!(told[0].starts_with("sys ") && told[1] == "=> refused approval.mismatch", "{told:?}");
}

#[test]
fn g4_who_decides_in_its_own_threads_decides_in_no_other_and_learns_of_no_other() {
    let rules = |stage: &mut DecideStage, who: &str, id: u64| {
        let (ticket, by, request) = (Ticket(4), name(who), PersonRequestId(id));
        let ruling = Ruling { ticket, by, request, hash: None, note: None, says: PersonDecision::Approve };
        let told = stage.happens(EventKind::Ordered(ClientOrder::Ruled(ruling)));
        let body = stage.records.last().map(|record| String::from_utf8_lossy(&record.body).into_owned());
        (told, body.unwrap_or_default().replace(&format!(" a{id} "), " aN "))
    };
    let mut stage = stage();
    for (who, key) in [("alice", "a"), ("dave", "d"), ("erin", "e")] {
        asks(&mut stage, who, key, "guarded", None);
    }
    // a1 is alice's, a2 dave's, a3 erin's, and there is no a9. An approval is no question.
    for (who, id) in [("dave", 1), ("dave", 2), ("dave", 3), ("erin", 1), ("erin", 2)] {
        let (told, body) = rules(&mut stage, who, id);
        assert_eq!(told[1], "=> refused approval.unknown", "{who} a{id}");
        assert!(told[0].starts_with("sys "), "{who} a{id}: {told:?}");
        let (never, never_body) = rules(&mut stage, who, 9);
        assert_eq!((&told[1], body), (&never[1], never_body), "{who} a{id}");
    }
    assert!(rules(&mut stage, "erin", 3).0.contains(&"=> done".to_owned()));
    assert_eq!(rules(&mut stage, "erin", 3).0[1], "=> refused approval.unknown", "it is over");
}

/// dave answers what an agent asks in his thread. What a workflow asks there is no question to him: erin decides it in
/// hers.
#[test]
fn g4_who_only_answers_decides_no_gate_of_a_workflow() {
    for (is_workflow, who, decides) in
        [(false, "dave", true), (true, "dave", false), (true, "erin", true), (true, "carol", true)]
    {
        let mut stage = stage();
        let mut page = (**stage.state.book.current().unwrap()).clone();
        let place = if is_workflow { "workflows.agent" } else { "agents.agent" };
        let section = ListenerSection { path: place.into(), text: String::new() };
        page.sections.insert(name("agent"), section);
        stage.state.book = CompositionBook::open_at(Arc::new(page));
        let opener = if who == "carol" { "dave" } else { who };
        asks(&mut stage, opener, "k", "agent", None);
        let question = "<ask-person expires=\"1h\"><question>Go?</question></ask-person>";
        let thread = ThreadId::new_root(&name("test"), &name(opener), &Key::parse("k").unwrap(), 12);
        let told = stage.says(&thread, "1", 1, JudgedContent::Items(vec![primitive(question)]));
        assert!(told[0].contains("message/ask-person"), "{told:?}");
        let (ticket, by, request) = (Ticket(4), name(who), PersonRequestId(1));
        let says = PersonDecision::Choose(None);
        let ruling = Ruling { ticket, by, request, hash: None, note: Some("yes".into()), says };
        let told = stage.happens(EventKind::Ordered(ClientOrder::Ruled(ruling)));
        let word = if decides { "=> done" } else { "=> refused approval.unknown" };
        assert!(told.contains(&word.to_owned()), "{who}, {place}: {told:?}");
    }
}
