//! Recovery is only `apply`: folding any prefix of the log gives the state at that point, a thread that is
//! folded alone equals the thread of the whole fold, and a row reads back as it was written.

use super::approvals::amendment;
use super::clearing::{clear, recall};
use super::*;
use systole_core::pump::event::PauseOrder;
use systole_core::pump::fold::apply_record;
use systole_core::pump::fold::apply_to;
use systole_core::pump::state::Thread;
use systole_core::types::budget::{Budgets, LoopLimits};
use systole_core::types::person::PersonDecision;
use systole_core::types::record::MessageRole;
use systole_wire::journal::{JournalEntry, ModelStarted};
use systole_wire::money::Money;

fn pause(halts: bool) -> EventKind {
    let (by, thread) = (Name::new_operator(), Some(root()));
    EventKind::Ordered(ClientOrder::Pause(PauseOrder { ticket: Ticket(6), by, thread, halts, note: None }))
}

/// A conversation with every kind of record.
pub(crate) fn busy() -> (DecideStage, Vec<usize>) {
    let mut stage = DecideStage::new();
    let mut commits = Vec::new();
    let (heat, late) = (root().make_child("heat").unwrap(), root().make_child("late").unwrap());
    let mut step = |stage: &mut DecideStage, work: &mut dyn FnMut(&mut DecideStage)| {
        work(stage);
        commits.push(stage.records.len());
    };
    step(&mut stage, &mut |s| {
        drop(s.happens(EventKind::Booted { listeners: vec![name("tool")], program: None }))
    });
    step(&mut stage, &mut |s| drop(s.asks("k", "agent", None)));
    step(&mut stage, &mut |s| drop(s.asks("k2", "quiet", Some(&root()))));
    step(&mut stage, &mut |s| {
        drop(s.replies(
            "1",
            1,
            vec![
                spawn(Some("heat"), "agent"),
                call("tool"),
                note_with(&[("a", "-")]),
                refused(),
                set_timer("id=\"tea\" after=\"1m\"", ""),
            ],
        ))
    });
    step(&mut stage, &mut |s| drop(s.loses("1/1.1", 1, 1, Code::ListenerLost)));
    step(&mut stage, &mut |s| {
        drop(s.says(
            &heat,
            "1",
            1,
            JudgedContent::Items(vec![call("careful"), set_timer("every=\"1m\"", "")]),
        ))
    });
    step(&mut stage, &mut |s| drop(s.says(&heat, "1/1.0", 1, JudgedContent::Items(vec![]))));
    step(&mut stage, &mut |s| drop(s.says(&heat, "1", 2, JudgedContent::Items(vec![final_()]))));
    step(&mut stage, &mut |s| drop(s.replies("1/1.1", 1, vec![final_()])));
    step(&mut stage, &mut |s| drop(s.steers("operator", "agent", Some(&root()))));
    step(&mut stage, &mut |s| {
        let children =
            [spawn(None, "tool"), spawn(Some("late"), "tool"), set_timer("id=\"tick\" every=\"1h\"", "")];
        let guarded = [call("guarded"), call("guarded")];
        let items = children.into_iter().chain(guarded).chain([wait("any", &["late"])]);
        drop(s.replies("1", 2, items.collect()))
    });
    step(&mut stage, &mut |s| drop(s.rules(1, Some("no"), PersonDecision::Reject)));
    step(&mut stage, &mut |s| drop(s.rules(2, None, amendment("guarded", payload("guarded")))));
    step(&mut stage, &mut |s| drop(s.replies("1/2.4", 1, vec![final_()])));
    step(&mut stage, &mut |s| drop(s.happens(pause(true))));
    step(&mut stage, &mut |s| drop(s.happens(pause(false))));
    step(&mut stage, &mut |s| drop(s.says(&late, "1", 1, JudgedContent::Items(vec![final_()]))));
    step(&mut stage, &mut |s| drop(s.fires("tick", 0)));
    step(&mut stage, &mut |s| drop(s.replies("1", 3, vec![final_()])));
    step(&mut stage, &mut |s| drop(s.replies("1", 4, vec![todo("b", "x"), final_()])));
    step(&mut stage, &mut |s| drop(s.fires("tick", 7_200_000)));
    later_calls(&mut stage, &mut step);
    (stage, commits)
}

/// Does something to a stage, and notes where its records were before.
type Step<'a> = dyn FnMut(&mut DecideStage, &mut dyn FnMut(&mut DecideStage)) + 'a;

/// The rest of the conversation: the calls after the first, and how its threads end.
fn later_calls(stage: &mut DecideStage, step: &mut Step<'_>) {
    step(stage, &mut |s| drop(s.replies("2", 1, vec![])));
    step(stage, &mut |s| drop(s.replies("3", 1, vec![cancel_timer("tick")])));
    step(stage, &mut |s| {
        drop(s.replies("3", 2, vec![set_timer("after=\"1m\"", ""), spawn(Some("led"), "agent")]))
    });
    step(stage, &mut |s| {
        let question =
            item(PayloadKind::Primitive(FoundAnswer::Answer(payload("it").bytes().clone())), "describe");
        let led = for_thread(root().make_child("led").unwrap().as_str(), PayloadKind::Note, "thought");
        drop(s.looks("3", 3, vec![led, question, clear(1), recall("from_seq=\"1\" to_seq=\"2\"")]))
    });
    step(stage, &mut |s| drop(s.asks("k", "other", None)));
    step(stage, &mut |s| drop(s.asks("k4", "guarded", Some(&root()))));
    step(stage, &mut |s| drop(s.rules(3, None, PersonDecision::Approve)));
    step(stage, &mut |s| drop(s.replies("3", 4, vec![final_()])));
    step(stage, &mut |s| drop(s.replies("4", 1, vec![final_()])));
    step(stage, &mut |s| drop(s.asks("k5", "guarded", Some(&root()))));
    step(stage, &mut |s| drop(s.expires("5", 4)));
    let other = ThreadId::new_root(&name("test"), &Name::new_operator(), &Key::parse("x").unwrap(), 12);
    step(stage, &mut |s| drop(s.asks("x", "quiet", None)));
    step(stage, &mut |s| drop(s.says(&other, "1", 1, JudgedContent::Items(vec![]))));
    step(stage, &mut |s| {
        let (by, thread) = (Name::new_operator(), other.clone());
        drop(s.happens(EventKind::Ordered(ClientOrder::End { ticket: Ticket(4), by, thread })))
    });
    step(stage, &mut |s| {
        drop(s.happens(EventKind::Ordered(ClientOrder::Cancel {
            ticket: Ticket(3),
            by: Name::new_operator(),
            thread: root(),
        })))
    });
}

#[test]
fn every_kind_and_every_role_is_in_the_conversation() {
    let (stage, _) = busy();
    let marks: Vec<String> = stage.records.iter().map(record_line).collect();
    let all = marks.join("\n");
    for word in [
        "request",
        "begin",
        "call",
        "note",
        "final",
        "spawn",
        "todo",
        "await",
        "timer/set",
        "timer/cancel ",
        "timer/cancelled",
        "timer/fired",
        "timer/opens",
        "answer",
        "inbox",
        "told",
        "refusal/",
        "attempt/",
        "outcome/handled",
        "outcome/listener.silent",
        "terminal/thread.cancelled",
        "terminal/ended",
        "children-open",
        "approval/requested",
        "approval/approved",
        "approval/amendment",
        "approval/amended",
        "approval/rejected",
        "approval/expired",
        "outcome/approval.expired",
        "message/tell",
        "message/steer",
        "message/introspect",
        "message/clear",
        "message/recall",
        "steer/steered agent",
        "steer/steered operator",
        "steer/paused",
        "steer/resumed",
    ] {
        assert!(all.contains(word), "{word} is missing in\n{all}");
    }
}

/// A conversation that uses up its budget: warnings, a wrap-up turn, a report, repeated calls.
fn limited() -> DecideStage {
    let mut composition = composition();
    composition.budgets = Some(Budgets { messages: 10, ..Budgets::default() });
    composition.loops = Some(LoopLimits { told: 2, refused: 3, ping_pong: 6 });
    let mut stage = DecideStage::under(composition);
    let heat = root().make_child("heat").unwrap();
    stage.asks("k", "agent", None);
    stage.asks("k2", "quiet", Some(&root()));
    stage.replies("1", 1, vec![spawn(Some("heat"), "agent"), call("tool"), call("tool"), call("tool")]);
    stage.says(&heat, "1", 1, JudgedContent::Items(vec![call("tool"), call("other"), call("agent")]));
    stage.says(&heat, "1/1.2", 1, JudgedContent::Items(vec![spawn(None, "tool"), wait("all", &[])]));
    stage.says(&heat, "1/1.0", 1, JudgedContent::Items(vec![final_()]));
    stage.replies("1/1.1", 1, vec![final_()]);
    stage.says(&heat, "1/1.2", 2, JudgedContent::Items(vec![final_()]));
    stage.replies("1/1.2", 1, vec![final_()]);
    stage.replies("1", 2, vec![call("other"), call("careful"), set_timer("id=\"tick\" every=\"1h\"", "")]);
    stage.replies("1/2.0", 1, vec![final_()]);
    stage.replies("1/2.1", 1, vec![final_()]);
    stage.replies("1", 3, vec![note(), wait("all", &[]), call("agent"), call("agent")]);
    stage.replies("1", 4, vec![note()]);
    stage.replies("2", 1, vec![]);
    stage.fires("tick", 0);
    stage
}

#[test]
fn b15_every_word_on_budgets_is_in_the_limited_conversation() {
    let stage = limited();
    let lines: Vec<String> = stage.records.iter().map(record_line).collect();
    let bodies: String =
        stage.records.iter().map(|r| String::from_utf8_lossy(&r.body).into_owned()).collect();
    let all = lines.join("\n");
    for word in [
        "message/wrap-up",
        "outcome/budget.messages",
        "refusal/budget.messages",
        "refusal/loop.repeated-call",
    ] {
        assert!(all.contains(word), "{word} is missing in\n{all}");
    }
    assert!(bodies.contains("<budget-warning") && bodies.contains("<budget-exceeded"), "{all}");
}

/// A conversation in which items go to several takers: answered by all, by the first, by none, cancelled.
pub(crate) fn spread() -> DecideStage {
    let mut stage = DecideStage::new();
    let each = |gather, takers: &[&str]| to_each(gather, takers);
    stage.asks("k", "agent", None);
    let items = vec![
        note(),
        each(GatherRule::All, &["tool", "guarded"]),
        each(GatherRule::First, &["tool", "agent", "other"]),
        call("tool"),
    ];
    stage.replies("1", 1, items);
    stage.replies("1/1.2:1", 1, vec![each(GatherRule::All, &["tool", "other"])]);
    stage.replies("1/1.2:0", 1, vec![]);
    stage.replies("1/1.2:2", 1, vec![final_()]);
    stage.replies("1/1.1:0", 1, vec![final_()]);
    stage.rules(1, Some("no"), PersonDecision::Reject);
    stage.replies("1/1.3", 1, vec![final_()]);
    stage.replies("1", 2, vec![each(GatherRule::First, &["tool", "other"])]);
    stage.replies("1/2.0:1", 1, vec![]);
    stage.replies("1/2.0:0", 1, vec![]);
    stage.replies("1", 3, vec![each(GatherRule::All, &["careful", "tool"])]);
    let call = CallPath::parse("1/3.0:0").unwrap();
    stage.happens(EventKind::Sending { thread: root(), call, turn: 1 });
    stage.happens(EventKind::Ordered(ClientOrder::Cancel {
        ticket: Ticket(2),
        by: Name::new_operator(),
        thread: root(),
    }));
    stage
}

#[test]
fn b13_every_end_of_a_broadcast_is_in_its_conversation() {
    let all: Vec<String> = spread().records.iter().map(record_line).collect();
    let all = all.join("\n");
    for line in [
        "message/to-all agent -> guarded 1/1.1:1",
        "message/to-first agent -> agent 1/1.2:1",
        "outcome/listener.silent core -> agent 1/1.2:0",
        "outcome/thread.cancelled core -> agent 1/1.2:1/1.0:0",
        "message/final other -> agent 1/1.2:2",
        "outcome/approval.rejected core -> agent 1/1.1:1",
        "attempt/- core -> careful 1/3.0:0",
        "terminal/thread.cancelled",
    ] {
        assert!(all.contains(line), "{line} is missing in\n{all}");
    }
}

/// A conversation with models: entries, lost attempts, a question to a person, a reached limit.
pub(crate) fn thinking() -> DecideStage {
    let mut composition = super::unknown::asking();
    let (tokens, money) = (Some(2_000), Money::parse("2 USD"));
    composition.budgets = Some(Budgets { tokens, money, ..Budgets::default() });
    let mut stage = DecideStage::under(composition);
    let heat = root().make_child("heat").unwrap();
    let starts = |id| journals(id, start_of(300, "0.2 USD"));
    stage.asks("k", "agent", None);
    stage.writes(1, starts(1));
    stage.writes(1, journals(2, result(1, "so")));
    stage.replies("1", 1, vec![spawn(Some("heat"), "agent"), call("careful")]);
    stage.says(&heat, "1", 1, starts(1));
    let (thread, path) = (root(), CallPath::parse("1/1.1").unwrap());
    stage.happens(EventKind::Sending { thread: thread.clone(), call: path.clone(), turn: 1 });
    stage.says(&root(), "1/1.1", 1, starts(1));
    let request = stage.records.iter().find(|r| r.header.code == Some(RecordCode::Role(MessageRole::Call)));
    let request = request.cloned().map(Arc::new);
    let (code, words) = (Code::ListenerLost, "gone".to_owned());
    let id = AttemptId { thread, call: path, turn: 1, attempt: 1 };
    let lost = LostAttempt { id, code, words, with_pump: false, outage: None, request, then: None };
    stage.happens(EventKind::Lost(lost));
    stage.rules(1, None, PersonDecision::Approve);
    stage.says(&root(), "1/1.1", 1, asks(2, 0));
    stage.says(&root(), "1/1.1", 1, starts(3));
    stage.says(&root(), "1/1.1", 1, JudgedContent::Items(vec![final_()]));
    let told = stage.says(&heat, "1", 1, journals(2, start_of(9_999, "0.1 USD")));
    assert!(told.iter().any(|line| line.contains("message/wrap-up")), "{told:?}");
    stage.says(&heat, "1", 1, JudgedContent::Items(vec![note()]));
    stage.says(&heat, "1", 2, starts(1));
    stage.says(&heat, "1", 2, journals(2, result(1, "so")));
    stage.says(&heat, "1", 2, JudgedContent::Items(vec![final_()]));
    stage
}

fn start_of(tokens: u64, money: &str) -> JournalEntry {
    let (model, prompt, reserve_money) = ("m".to_owned(), prompt('a'), Money::parse(money));
    JournalEntry::Started(ModelStarted {
        model,
        prompt,
        guided: None,
        reserve_tokens: Some(tokens),
        reserve_money,
        wait_ms: None,
    })
}

#[test]
fn the_log_cut_after_every_record_folds_and_goes_on() {
    folds_wherever_it_is_cut(&busy().0);
    folds_wherever_it_is_cut(&limited());
    folds_wherever_it_is_cut(&spread());
    folds_wherever_it_is_cut(&thinking());
}

fn folds_wherever_it_is_cut(stage: &DecideStage) {
    for cut in 0..=stage.records.len() {
        let mut state = PumpState { book: stage.state.book.clone(), ..PumpState::default() };
        stage.records.iter().take(cut).for_each(|r| apply_record(&mut state, r));
        for thread in state.threads.values() {
            let row = thread.to_row();
            let mut back = Thread::from_row(&row).unwrap();
            back.recent = thread.recent.clone();
            assert_eq!(back, *thread, "a row is the whole fold");
            let mut alone = Thread::new_blank(thread.id.clone());
            let own = stage.records.iter().take(cut).filter(|r| r.header.thread == thread.id);
            own.for_each(|r| apply_to(&mut alone, r));
            assert_eq!(alone, *thread, "a thread folds by itself");
        }
        // For any cut, the next event is decided and extends every chain.
        let mut cut_stage = DecideStage { state, records: Vec::new(), now: stage.now, events: 100 };
        cut_stage.asks("after", "tool", None);
        if cut_stage.state.find_thread(&root()).is_some() {
            cut_stage.happens(EventKind::Ordered(ClientOrder::Cancel {
                ticket: Ticket(9),
                by: Name::new_operator(),
                thread: root(),
            }));
        }
    }
}

#[test]
fn a_row_in_another_encoding_is_no_row() {
    let (stage, _) = busy();
    let mut row = stage.state.find_thread(&root()).unwrap().to_row();
    assert!(Thread::from_row(&row).is_some());
    row.bytes[0] -= 1;
    assert!(Thread::from_row(&row).is_none(), "the thread is folded afresh from its records");
}

#[test]
fn a_fold_at_a_commit_is_the_state_that_decided_the_next() {
    let (stage, commits) = busy();
    let (again, _) = busy();
    assert_eq!(stage.records, again.records, "the same events give the same bytes");
    let mut state = PumpState { book: stage.state.book.clone(), ..PumpState::default() };
    let mut from = 0;
    for to in commits {
        stage.records[from..to].iter().for_each(|r| apply_record(&mut state, r));
        from = to;
    }
    assert_eq!(state.threads, stage.state.threads);
}
