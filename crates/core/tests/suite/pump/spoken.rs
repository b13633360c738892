//! What models said, between the messages of a view: for which turn and attempt, and before which message.

use systole_core::pump::view::{BegunViews, ReadRequest, ViewPage, read_requests};
use systole_core::types::ports::CallMark;
use systole_wire::ask::{MessageSpot, ModelWords, ViewEntry, ViewedMessage, ViewedPage};
use systole_wire::journal::{JournalEntry, ModelCallOutcome};

use super::clearing::{calls, clear, ends, thinks};
use super::*;

impl DecideStage {
    /// A page of the view of a call of the root, as the answer to a question has it.
    fn page(&self, path: &str, from: u64, words: bool) -> ViewedPage {
        let cleared = self.state.find_thread(&root()).unwrap().calls[path].cleared;
        let page = ViewPage { from, cleared, words, items: true, mark: CallMark([1, 2, 3, 4]) };
        let seen = read_requests(
            &self.log(),
            &mut BegunViews::default(),
            &self.whose(&root(), path),
            &vec![(0, ReadRequest::Page(page))],
        )
        .unwrap();
        let answer = seen.answers[&0].clone().unwrap();
        ViewedPage::from_payload(&Payload::from_trusted(answer).unwrap()).unwrap()
    }

    /// The content of such a page, one item on each line.
    fn shows(&self, path: &str) -> Vec<String> {
        self.page(path, 0, true).shown.iter().map(line).collect()
    }

    /// The model of a call says something under the due attempt, after what it said under these numbers.
    fn buys(&mut self, path: &str, turn: u32, id: u64, text: &str) {
        self.says(&root(), path, turn, journals(id, started()));
        self.says(&root(), path, turn, journals(id + 1, result(id, text)));
    }
}

fn line(shown: &ViewEntry) -> String {
    match shown {
        ViewEntry::Words(words) => format!("t{} {}", words.turn, words.text),
        ViewEntry::Message(ViewedMessage { seq, spot, payload, .. }) => {
            let (sort, turn, ordinal) = spot.parts();
            let place = [turn, ordinal].into_iter().flatten().map(|n| format!(" {n}")).collect::<String>();
            format!("{seq} {sort}{place} {} {}", payload.name().local, payload.text())
        }
    }
}

fn again(words: &str) -> JudgedContent {
    JudgedContent::Again { code: "agent.prose-only".into(), words: words.into() }
}

#[test]
fn what_a_model_said_stands_before_what_was_made_of_it() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.buys("1", 1, 1, "I ask <two>.");
    stage.replies("1", 1, vec![thinks("so"), calls("tool", "a"), calls("other", "b")]);
    stage.replies("1/1.2", 1, vec![ends("second")]);
    stage.replies("1/1.1", 1, vec![ends("first")]);
    stage.buys("1", 2, 1, "only prose");
    stage.says(
        &root(),
        "1",
        2,
        JudgedContent::Notice { code: "agent.thinking-missing".into(), words: "think".into() },
    );
    stage.says(&root(), "1", 2, again("No action."));
    // A turn without a model.
    stage.replies("1", 3, vec![thinks("alone")]);
    let expected = [
        "1 request agent ",
        "t1 I ask <two>.",
        "2 said 1 0 thought so",
        "3 said 1 1 tool a",
        "4 said 1 2 other b",
        "5 answer 1 1 done first",
        "6 answer 1 2 done second",
        "t2 only prose",
        "7 answer 2 0 system-error ",
        "8 inbox 3 system-error ",
        "9 said 3 0 thought alone",
    ];
    assert_eq!(stage.shows("1"), expected);
    // They have no number, and are returned if a question asks only for them.
    let plain = stage.page("1", 0, false);
    assert!(plain.shown.iter().all(|shown| matches!(shown, ViewEntry::Message(_))), "{plain:?}");
    assert_eq!(plain.count, 9);
    assert!(plain.messages().eq(stage.page("1", 0, true).messages()));
    // Only the journal has what the due turn has bought so far.
    stage.buys("1", 4, 1, "not replied yet");
    assert_eq!(stage.shows("1"), expected);
}

#[test]
fn a_turn_that_ended_in_again_shows_code_and_feedback_and_its_notices() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    let notice =
        |n: u32| JudgedContent::Notice { code: format!("agent.n{n}"), words: format!("repaired {n}") };
    stage.says(&root(), "1", 1, notice(1));
    stage.says(&root(), "1", 1, notice(2));
    stage.says(&root(), "1", 1, again("No action."));
    let page = stage.page("1", 0, true);
    let told: Vec<(MessageSpot, String, String)> = page
        .messages()
        .skip(1)
        .map(|it| {
            let word = |name| it.payload.find_attribute(name).unwrap_or_default();
            (it.spot, word("code"), word("message"))
        })
        .collect();
    let told_as = |spot, code: &str, words: &str| (spot, code.to_owned(), words.to_owned());
    let expected = [
        told_as(MessageSpot::Answer { turn: 1, ordinal: 0 }, "agent.prose-only", "No action."),
        told_as(MessageSpot::Inbox { turn: 2 }, "agent.n1", "repaired 1"),
        told_as(MessageSpot::Inbox { turn: 2 }, "agent.n2", "repaired 2"),
    ];
    assert_eq!(told, expected);
}

#[test]
fn of_several_results_the_last_of_the_attempt_that_replied_is_shown() {
    let out = || {
        let mut stage = DecideStage::new();
        stage.asks("k", "agent", None);
        stage.buys("1", 1, 1, "lost");
        stage.buys("1", 1, 3, "lost too");
        stage.loses("1", 1, 1, Code::ListenerLost);
        stage
    };
    let words = |mut stage: DecideStage| {
        stage.replies("1", 1, vec![thinks("so")]);
        let shown = stage.shows("1");
        shown.into_iter().find_map(|line| line.strip_prefix("t1 ").map(str::to_owned))
    };
    // It bought twice more.
    let mut stage = out();
    stage.buys("1", 1, 1, "first");
    stage.buys("1", 1, 3, "second");
    assert_eq!(words(stage).as_deref(), Some("second"));
    // It used what the previous attempt had bought.
    assert_eq!(words(out()).as_deref(), Some("lost too"));
    let mut stage = out();
    stage.loses("1", 1, 2, Code::ListenerLost);
    assert_eq!(words(stage).as_deref(), Some("lost too"), "and so did the third");
    // It began its own call and replied without its end: what an earlier attempt had bought was not used.
    let mut stage = out();
    stage.says(&root(), "1", 1, journals(1, started()));
    assert_eq!(words(stage), None);
    // A call without a result has text too, or none.
    let mut stage = out();
    stage.says(&root(), "1", 1, journals(1, started()));
    let (stop, text) = ("error".to_owned(), String::new());
    let nothing = ModelCallOutcome {
        of: 1,
        stop,
        tokens_in: Some(3),
        tokens_out: None,
        money: None,
        text,
        blobs: Vec::new(),
        details: Box::default(),
    };
    stage.says(&root(), "1", 1, journals(2, JournalEntry::Result(nothing)));
    stage.replies("1", 1, vec![thinks("so")]);
    let page = stage.page("1", 0, true);
    let spoken: Vec<&ModelWords> = page
        .shown
        .iter()
        .filter_map(|shown| match shown {
            ViewEntry::Words(words) => Some(words),
            ViewEntry::Message(_) => None,
        })
        .collect();
    let (stop, text) = ("error".to_owned(), String::new());
    assert_eq!(spoken, [&ModelWords { turn: 1, stop, tokens_in: Some(3), tokens_out: None, text }]);
}

#[test]
fn messages_of_earlier_calls_are_shown_before_their_finals_and_at_their_ends() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.buys("1", 1, 1, "I note and end.");
    stage.replies("1", 1, vec![thinks("so"), ends("done")]);
    stage.asks("k2", "agent", Some(&root()));
    stage.buys("2", 1, 1, "I note.");
    stage.replies("2", 1, vec![thinks("first")]);
    stage.buys("2", 2, 1, "I end.");
    stage.replies("2", 2, vec![ends("done")]);
    stage.asks("k3", "agent", Some(&root()));
    let expected = [
        "1 request agent ",
        "t1 I note and end.",
        "2 said 1 0 thought so",
        "3 said 1 1 done done",
        "4 request agent ",
        "t1 I note.",
        "5 said 1 0 thought first",
        "t2 I end.",
        "6 said 2 0 done done",
        "7 request agent ",
    ];
    assert_eq!(stage.shows("3"), expected);
    // A call that owes no answer ends without its own message.
    let mut stage = DecideStage::new();
    stage.asks("k", "quiet", None);
    stage.buys("1", 1, 1, "I keep quiet.");
    stage.replies("1", 1, vec![]);
    stage.asks("k2", "quiet", Some(&root()));
    assert_eq!(stage.shows("2"), ["1 request quiet ", "t1 I keep quiet.", "2 request quiet "]);
}

#[test]
fn what_was_said_is_cleared_with_its_turn() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    for turn in 1..=2 {
        stage.buys("1", turn, 1, &format!("turn {turn}"));
        stage.replies("1", turn, vec![thinks("so")]);
    }
    stage.looks("1", 3, vec![clear(1)]);
    let expected = [
        "1 request agent ",
        "t2 turn 2",
        "3 said 2 0 thought so",
        "4 said 3 0 clear-context ",
        "5 answer 3 0 context-cleared ",
    ];
    assert_eq!(stage.shows("1"), expected);
}

#[test]
fn what_a_quiet_call_said_is_cleared_with_it_and_not_with_the_one_after() {
    let mut composition = composition();
    composition.listeners.get_mut("quiet").unwrap().turns = 4;
    let mut stage = DecideStage::under(composition);
    stage.asks("k", "quiet", None);
    stage.buys("1", 1, 1, "I keep quiet.");
    stage.replies("1", 1, vec![]);
    stage.asks("k2", "quiet", Some(&root()));
    stage.replies("2", 1, vec![thinks("so")]);
    let before = ["1 request quiet ", "t1 I keep quiet.", "2 request quiet ", "3 said 1 0 thought so"];
    assert_eq!(stage.shows("2"), before);
    stage.looks("2", 2, vec![clear(2)]);
    // The request of the call stays, though it comes right after the cleared messages.
    let shown = stage.shows("2");
    assert_eq!(shown[..2], ["2 request quiet ", "3 said 1 0 thought so"], "{shown:?}");
}
