//! Questions to a person, as the pump decides them: what is recorded, what waits, and what ends the wait.

use systole_core::types::person::{PersonDecision, PersonRequestId, Ruling};

use super::*;

fn person(expires: &str, inside: &str) -> JudgedItem {
    let body = format!("<ask-person expires=\"{expires}\">{inside}</ask-person>");
    primitive(&body)
}

const GO: &str = "<question>Go?</question><choice>go</choice><choice>stop</choice>";

impl DecideStage {
    fn chooses(&mut self, id: u64, choice: Option<&str>, note: Option<&str>) -> Vec<String> {
        self.happens(EventKind::Ordered(ClientOrder::Ruled(Ruling {
            ticket: Ticket(5),
            by: Name::new_operator(),
            request: PersonRequestId(id),
            hash: None,
            note: note.map(str::to_owned),
            says: PersonDecision::Choose(choice.map(str::to_owned)),
        })))
    }

    /// Checks that every row of the fold reads back.
    fn rows_read_back(&self) {
        for thread in self.state.threads.values() {
            let read = systole_core::pump::state::Thread::from_row(&thread.to_row()).unwrap();
            assert_eq!(read.calls, thread.calls, "{}", thread.id);
        }
    }
}

#[test]
fn a_question_is_recorded_counted_and_answered_in_the_place_of_its_item() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    let told = stage.replies("1", 1, vec![person("1m", GO), call("tool")]);
    assert_eq!(
        told,
        [
            "root 2 message/ask-person agent -> person 1 t1.0",
            "root 3 approval/asked core -> person 1/1.0",
            "sys 1 approval/asked core -> person",
            "root 4 message/call agent -> tool 1 t1.1",
            "=> a1 expires in 60000",
            "=> tool 1/1.1 t1 a1",
        ]
    );
    stage.rows_read_back();
    assert_eq!(stage.chooses(1, Some("go"), None), ["root 5 message/answer core -> agent 1/1.0", "=> done"]);
    assert!(stage.chooses(1, Some("go"), None)[0].contains("approval.decided"));
    let told = stage.replies("1/1.1", 1, vec![final_()]);
    assert_eq!(told.last().unwrap(), "=> agent 1 t2 a1", "the items of a reply are joined");
}

#[test]
fn an_answer_that_does_not_fit_changes_nothing() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![person("1m", GO), person("1m", "<question>Why?</question>")]);
    for (id, choice, note) in
        [(1, Some("perhaps"), None), (1, None, Some("go")), (2, Some("go"), None), (2, None, None)]
    {
        let told = stage.chooses(id, choice, note);
        assert_eq!(told.last().unwrap(), "=> refused question.invalid-choice", "{id} {choice:?}: {told:?}");
    }
    let told = stage.rules(1, None, PersonDecision::Approve);
    assert_eq!(told.last().unwrap(), "=> refused approval.wrong-kind", "{told:?}");
    assert_eq!(stage.chooses(2, None, Some("because"))[1], "=> done");
    assert_eq!(stage.chooses(1, Some("stop"), None).last().unwrap(), "=> agent 1 t2 a1");
    stage.asks("k2", "guarded", None);
    let told = stage.chooses(3, Some("go"), None);
    assert_eq!(
        told.last().unwrap(),
        "=> refused approval.wrong-kind",
        "an approval has no choices: {told:?}"
    );
}

#[test]
fn a_question_expires_once_and_its_call_goes_on() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![person("1m", GO)]);
    stage.passes(60_000);
    let told = stage.expires("1/1.0", 1);
    assert_eq!(told, ["root 4 message/answer core -> agent 1/1.0", "=> agent 1 t2 a1"]);
    assert!(bodies(&stage)[&4].contains("outcome=\"expired\"/>"), "{:?}", bodies(&stage));
    assert_eq!(stage.expires("1/1.0", 1), Vec::<String>::new());
}

#[test]
fn time_stands_still_while_a_person_is_asked_and_runs_again_with_the_answer() {
    let mut composition = composition();
    let wall_ms = Some(100_000);
    composition.budgets = Some(systole_core::types::budget::Budgets { wall_ms, ..Default::default() });
    let mut stage = DecideStage::under(composition);
    stage.asks("k", "agent", None);
    let told = stage.replies("1", 1, vec![person("1d", GO)]);
    assert!(told.contains(&"=> time stands".to_owned()), "{told:?}");
    stage.passes(10_000_000);
    let told = stage.chooses(1, Some("go"), None);
    assert!(told.iter().any(|line| line.starts_with("=> time runs")), "{told:?}");
}

#[test]
fn a_call_that_may_only_answer_withdraws_its_questions() {
    let mut composition = composition();
    composition.budgets =
        Some(systole_core::types::budget::Budgets { wall_ms: Some(100_000), ..Default::default() });
    let mut stage = DecideStage::under(composition);
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![person("1d", GO), call("tool")]);
    stage.passes(100_000);
    let runs = systole_core::pump::wall::RunningBudget { thread: root(), budget_use: 1 };
    let told = stage.happens(EventKind::Elapsed(runs));
    assert!(told.iter().any(|line| line.ends_with("message/answer core -> agent 1/1.0")), "{told:?}");
    assert!(told.contains(&"=> agent 1 t2 a1".to_owned()), "it has its last turn: {told:?}");
    assert!(bodies(&stage).values().any(|body| body.contains("the question is withdrawn")));
    assert!(stage.chooses(1, Some("go"), None)[0].contains("approval.decided"));
}

#[test]
fn a_listener_cannot_ask_a_person_in_its_last_turn() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    let turns = stage.state.book.find_listener(Digest([7; 32]), &name("agent")).unwrap().turns;
    for turn in 1..turns {
        stage.replies("1", turn, vec![note()]);
    }
    let told = stage.replies("1", turns, vec![person("1d", GO)]);
    assert!(told[0].contains("refusal/budget.messages"), "{told:?}");
    assert!(!told.iter().any(|line| line.contains("asked")), "{told:?}");
}
