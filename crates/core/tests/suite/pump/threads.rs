//! Children: spawned, confirmed, finished, and items for threads that do not belong to the sender.

use systole_core::pump::primitives;
use systole_core::pump::view::{BegunViews, ReadRequest, read_requests};
use systole_core::types::budget::Budgets;

use super::*;

fn child(label: &str) -> ThreadId {
    root().make_child(label).unwrap()
}

#[test]
fn b4_spawn_is_always_confirmed_before_the_childs_first_delivery() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    assert_eq!(
        stage.replies("1", 1, vec![spawn(Some("heat"), "tool")]),
        [
            "root 2 message/spawn agent -> - 1 t1.0",
            "heat 1 message/begin agent -> tool 1",
            "root 3 message/answer core -> agent 1/1.0",
            "=> agent 1 t2 a1",
            "=> tool heat:1 t1 a1",
        ]
    );
    let (spawned, begun) = (&stage.records[1], &stage.records[2]);
    assert_eq!(begun.header.origin, Some(spawned.leaf));
    assert_eq!(begun.header.cause, Some(spawned.header.id));
    assert!(bodies(&stage)[&3].contains(&format!("head=\"{}\"", begun.head)));
}

#[test]
fn b4_labels_collide_into_suffixes_and_a_missing_one_is_made() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![spawn(Some("a"), "tool"), spawn(Some("a"), "tool"), spawn(None, "tool")]);
    let ids: Vec<&str> =
        stage.state.threads.keys().filter_map(|t| t.as_str().split_once('.')).map(|(_, l)| l).collect();
    for label in ["a", "a-1", "c3"] {
        assert!(ids.contains(&label), "{ids:?}");
    }
}

#[test]
fn b5_the_result_of_a_child_reaches_its_parents_inbox_with_its_final_head() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![spawn(Some("heat"), "tool"), call("other")]);
    assert_eq!(
        stage.says(&child("heat"), "1", 1, JudgedContent::Items(vec![final_()])),
        ["heat 2 message/final tool -> agent 1 t1.0", "root 5 message/inbox core -> agent 1"]
    );
    let head = stage.state.find_thread(&child("heat")).unwrap().head;
    let body = &bodies(&stage)[&5];
    assert!(
        body.contains(&head.to_string()) && body.contains("outcome=\"answered\"") && body.contains("<done"),
        "{body}"
    );
    assert!(stage.state.find_thread(&child("heat")).unwrap().ended);
    assert_eq!(stage.replies("1/1.1", 1, vec![final_()])[1], "=> agent 1 t2 a1");
    let call = &stage.state.find_thread(&root()).unwrap().calls["1"];
    assert_eq!(call.shown_inbox().collect::<Vec<_>>(), [5]);
}

#[test]
fn what_reaches_a_call_while_its_turn_is_out_is_shown_at_the_next_one() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![spawn(Some("heat"), "tool")]);
    stage.says(&child("heat"), "1", 1, JudgedContent::Items(vec![final_()]));
    let shown = |stage: &DecideStage| {
        stage.state.find_thread(&root()).unwrap().calls["1"].shown_inbox().collect::<Vec<_>>()
    };
    assert!(shown(&stage).is_empty(), "turn 2 was ready before the child had finished");
    stage.replies("1", 2, vec![note()]);
    assert_eq!(shown(&stage), [4]);
    stage.replies("1", 3, vec![note()]);
    assert!(shown(&stage).is_empty(), "and it is shown once");
}

#[test]
fn a_failed_child_tells_its_parent_why() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![spawn(Some("heat"), "tool")]);
    stage.says(&child("heat"), "1", 1, JudgedContent::Items(vec![]));
    let body = &bodies(&stage)[&4];
    assert!(body.contains("outcome=\"failed\"") && body.contains("listener.silent"), "{body}");
}

#[test]
fn a_first_final_with_running_children_is_nudged_and_the_next_cancels_them() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![spawn(Some("heat"), "tool")]);
    assert_eq!(
        stage.replies("1", 2, vec![final_()]),
        ["root 4 refusal/children-open core -> agent 1 t2.0", "=> agent 1 t3 a1"]
    );
    assert_eq!(
        stage.replies("1", 3, vec![final_()]),
        [
            "heat 2 terminal/thread.cancelled core -> core",
            "root 5 message/inbox core -> agent 1",
            "root 6 message/final agent -> operator 1 t3.0",
            "=> call back 1",
        ]
    );
}

#[test]
fn b6_an_item_for_a_thread_that_is_not_its_own_child_creates_nothing() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    let before = stage.state.threads.len();
    let item = for_thread("sess-000000000000", PayloadKind::For(name("tool")), "tool");
    assert_eq!(
        stage.replies("1", 1, vec![item]),
        ["root 2 refusal/thread.unknown core -> agent 1 t1.0", "=> agent 1 t2 a1"]
    );
    let body = &bodies(&stage)[&2];
    assert!(
        body.contains("unknown_id=\"sess-000000000000\"") && body.contains("code=\"unknown_thread\""),
        "{body}"
    );
    assert!(body.contains("Unknown thread; emit &lt;spawn-thread/&gt; to create."), "{body}");
    assert_eq!(stage.state.threads.len(), before);
}

/// What an unknown id is answered with, wherever it was written.
fn unknown_error(id: &str) -> String {
    format!(
        "<system-thread-error xmlns=\"https://xml-pipeline.org/ns/core/v1\" unknown_id=\"{id}\" \
         code=\"unknown_thread\" message=\"Unknown thread; emit &lt;spawn-thread/&gt; to create.\"/>"
    )
}

#[test]
fn b6_any_unknown_id_is_answered_to_the_letter_wherever_it_is_written() {
    let long = "x".repeat(300);
    for id in ["bad", "", "research", "sess-abcd1234.research", "Sess-1", "../x", &long] {
        let named = [
            for_thread(id, PayloadKind::For(name("tool")), "tool"),
            primitive(&format!("<cancel-thread id=\"{id}\"/>")),
            primitive(&format!("<await-threads mode=\"all\"><thread id=\"{id}\"/></await-threads>")),
        ];
        for item in named {
            let mut stage = DecideStage::new();
            stage.asks("k", "agent", None);
            stage.replies("1", 1, vec![spawn(Some("heat"), "tool")]);
            let told = stage.replies("1", 2, vec![item]);
            assert!(told[0].ends_with("refusal/thread.unknown core -> agent 1 t2.0"), "{id}: {told:?}");
            let shown: String = id.chars().take(200).collect();
            assert!(
                bodies(&stage).values().any(|body| *body == unknown_error(&shown)),
                "{id}: {:?}",
                bodies(&stage)
            );
            assert_eq!(stage.state.threads.len(), 2, "nothing is created");
        }
    }
}

#[test]
fn b6_a_wait_for_a_child_and_an_unknown_id_names_the_unknown_one() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![spawn(Some("heat"), "tool")]);
    let heat = child("heat");
    let ids = [heat.as_str(), "bad"].map(|id| format!("<thread id=\"{id}\"/>")).concat();
    stage.replies("1", 2, vec![primitive(&format!("<await-threads mode=\"any\">{ids}</await-threads>"))]);
    assert!(bodies(&stage).values().any(|body| *body == unknown_error("bad")));
}

#[test]
fn b15_threads_are_spawned_64_deep() {
    let deepest = systole_core::types::limits::DEPTH;
    let budgets = Budgets { depth: deepest, children: 64, ..Budgets::default() };
    let mut stage = super::budgets::stage(budgets);
    stage.asks("k", "agent", None);
    let mut thread = root();
    for depth in 1..deepest {
        let told = stage.says(&thread, "1", 1, JudgedContent::Items(vec![spawn(Some("deep"), "agent")]));
        assert!(told[0].contains("message/spawn"), "{depth}: {told:?}");
        thread = thread.make_child("deep").unwrap();
        assert!(stage.state.find_thread(&thread).is_some(), "{depth}");
    }
    let told = stage.says(&thread, "1", 1, JudgedContent::Items(vec![spawn(Some("deep"), "agent")]));
    assert!(told[0].contains("refusal/budget.depth"), "{told:?}");
    assert_eq!(thread.as_str().matches(".deep").count(), 63);
}

#[test]
fn b6_an_item_for_an_own_child_that_has_ended_says_so() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![spawn(Some("heat"), "tool")]);
    stage.says(&child("heat"), "1", 1, JudgedContent::Items(vec![final_()]));
    let item = for_thread(child("heat").as_str(), PayloadKind::For(name("tool")), "tool");
    assert_eq!(stage.replies("1", 2, vec![item])[0], "root 5 refusal/thread.ended core -> agent 1 t2.0");
    assert!(bodies(&stage)[&5].contains("code=\"thread_ended\""));
}

#[test]
fn no_more_children_of_a_call_are_open_than_the_limit() {
    let mut stage = DecideStage::under(lasting());
    stage.asks("k", "agent", None);
    let (mut begun, mut refused) = (0, Vec::new());
    for turn in 1..=16 {
        let told = stage.replies("1", turn, (0..64).map(|_| spawn(None, "tool")).collect());
        begun += told.iter().filter(|l| l.contains("message/begin")).count();
        refused.extend(told.into_iter().filter(|l| l.contains("refusal/budget.children")));
    }
    assert_eq!((begun, refused.len()), (1_000, 24));
    let words = "1000 children of this call are open, the most allowed at once";
    assert!(bodies(&stage).values().any(|body| body.contains(words)));
    // It counts the open children: when one has ended, there is room for another.
    stage.says(&child("c7"), "1", 1, JudgedContent::Items(vec![final_()]));
    let told = stage.replies("1", 17, vec![spawn(None, "tool"), spawn(None, "tool")]);
    let count = |what: &str| told.iter().filter(|line| line.contains(what)).count();
    assert_eq!((count("message/begin"), count("refusal/budget.children")), (1, 1), "{told:?}");
}

/// An organism whose agent has unlimited turns.
fn lasting() -> Composition {
    let mut composition = composition();
    composition.listeners.get_mut("agent").unwrap().turns = u32::MAX;
    composition
}

impl DecideStage {
    /// Decides a reply as the engine does: threads that may have been children are looked up before.
    fn names(&mut self, path: &str, turn: u32, items: Vec<JudgedItem>) -> Vec<String> {
        let call = &self.state.find_thread(&root()).unwrap().calls[path];
        let asked = primitives::list_named(&items).into_iter().filter(|id| call.may_have_ended(&root(), id));
        let wanted = asked.map(|id| (0, ReadRequest::Child(id))).collect();
        let seen =
            read_requests(&self.log(), &mut BegunViews::default(), &self.whose(&root(), path), &wanted)
                .unwrap();
        assert_eq!(seen.view, None, "no answer needs the view for that");
        let lease = self.lease(&root(), path, turn, 1);
        let judged = JudgedDocument { lease, said: JudgedContent::Items(items), claimed: None, ticket: None };
        self.happens(EventKind::Looked { judged, seen: Ok(seen) })
    }

    /// The number of children that the row of the call names, and its size in bytes.
    fn row(&self) -> (usize, usize) {
        let thread = self.state.find_thread(&root()).unwrap();
        (thread.calls["1"].children.len(), thread.to_row().bytes.len())
    }
}

fn for_child(label: &str) -> JudgedItem {
    for_thread(child(label).as_str(), PayloadKind::For(name("tool")), "tool")
}

fn cancels(label: &str) -> JudgedItem {
    let body = format!("<cancel-thread id=\"{}\"/>", child(label));
    primitive(&body)
}

#[test]
fn a_child_whose_end_was_shown_leaves_the_row_and_is_still_one_that_has_ended() {
    let mut stage = DecideStage::under(lasting());
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![spawn(Some("heat"), "tool"), spawn(Some("cold"), "tool")]);
    stage.says(&child("heat"), "1", 1, JudgedContent::Items(vec![final_()]));
    // The turn that is out does not yet show the end, so its reply does not remove the child.
    stage.replies("1", 2, vec![note()]);
    assert_eq!(stage.row().0, 2);
    // The next reply does. In that reply the child is known although the first item settles the turn.
    let told =
        stage.replies("1", 3, vec![note(), for_child("heat"), wait("all", &["heat"]), cancels("heat")]);
    assert_eq!(stage.row().0, 1, "{told:?}");
    let of = |told: &[String], what: &str| told.iter().filter(|line| line.contains(what)).count();
    assert_eq!((of(&told, "refusal/thread.ended"), of(&told, "thread.unknown")), (2, 0), "{told:?}");
    assert!(bodies(&stage).values().any(|body| body.contains("reason=\"done\" finished=\"1\" open=\"0\"")));
    // And in later ones.
    let told =
        stage.names("1", 4, vec![for_child("heat"), cancels("heat"), for_child("never"), cancels("never")]);
    assert_eq!((of(&told, "refusal/thread.ended"), of(&told, "thread.unknown")), (2, 2), "{told:?}");
    let told = stage.names("1", 5, vec![wait("all", &["heat"])]);
    assert_eq!(of(&told, "message/await"), 1, "{told:?}");
    assert_eq!(of(&told, "message/answer"), 1, "it is over at once: {told:?}");
    let told = stage.names("1", 6, vec![wait("all", &["never"])]);
    assert_eq!(of(&told, "refusal/thread.unknown"), 1, "{told:?}");
}

#[test]
fn an_ended_child_of_another_call_of_the_thread_is_unknown() {
    let mut stage = DecideStage::under(lasting());
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![spawn(Some("heat"), "tool")]);
    stage.says(&child("heat"), "1", 1, JudgedContent::Items(vec![final_()]));
    stage.replies("1", 2, vec![note()]);
    stage.replies("1", 3, vec![call("agent")]);
    // The inner call also has had a child that ended, so the log is asked.
    stage.replies("1/3.0", 1, vec![spawn(Some("own"), "tool")]);
    stage.says(&child("own"), "1", 1, JudgedContent::Items(vec![final_()]));
    stage.replies("1/3.0", 2, vec![note()]);
    stage.replies("1/3.0", 3, vec![note()]);
    let told = stage.names("1/3.0", 4, vec![for_child("heat"), for_child("own")]);
    assert!(
        told[0].contains("refusal/thread.unknown") && told[1].contains("refusal/thread.ended"),
        "{told:?}"
    );
}

#[test]
fn a_child_is_not_reported_as_unknown_if_the_log_was_not_read() {
    let mut stage = DecideStage::under(lasting());
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![spawn(Some("heat"), "tool")]);
    stage.says(&child("heat"), "1", 1, JudgedContent::Items(vec![final_()]));
    stage.replies("1", 2, vec![note()]);
    stage.replies("1", 3, vec![note()]);
    let items = || vec![for_child("heat"), cancels("heat"), wait("all", &["heat"]), call("tool")];
    let told = stage.replies("1", 4, items());
    assert_eq!(
        told.iter().filter(|line| line.contains("refusal/ingress.unavailable")).count(),
        3,
        "{told:?}"
    );
    assert!(told.iter().any(|line| line.contains("message/call")), "the rest goes on: {told:?}");
}

#[test]
fn the_row_of_a_call_does_not_grow_with_children_that_have_ended() {
    let mut stage = DecideStage::under(lasting());
    stage.asks("k", "agent", None);
    let mut sizes = Vec::new();
    for turn in 1..=120 {
        // Eight are open at a time.
        stage.replies("1", turn, vec![spawn(None, "tool")]);
        if turn > 8 {
            let ended = child(&format!("c{}", turn - 8));
            stage.says(&ended, "1", 1, JudgedContent::Items(vec![final_()]));
        }
        if turn % 60 == 0 {
            sizes.push(stage.row());
        }
    }
    // The open children, and those whose end the next turn shows.
    assert!(sizes.iter().all(|(children, _)| *children <= 11), "{sizes:?}");
    // There are 60 children between the two. Up to a number of them, their labels stay in memory, a few bytes each.
    assert!(sizes[1].1 < sizes[0].1 + 60 * 8, "{sizes:?}");
    let budget_use = &stage.state.find_thread(&root()).unwrap().budget_uses[&1];
    assert_eq!(budget_use.used.children, 120, "and every one is counted");
}

#[test]
fn a_final_on_the_last_turn_is_taken_though_children_run() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    for turn in 1..4 {
        stage.replies("1", turn, vec![spawn(None, "tool")]);
    }
    let told = stage.replies("1", 4, vec![final_()]);
    assert!(told.contains(&"root 11 message/final agent -> operator 1 t4.0".to_owned()), "{told:?}");
    assert!(stage.state.threads.values().filter(|t| t.id != root()).all(|t| t.ended));
}
