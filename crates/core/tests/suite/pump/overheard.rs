//! The view of a listener that sees its thread: messages between others have their right place, in any order of
//! events, and the listener's own messages are where they would be without them.

use systole_core::pump::state::CallState;
use systole_core::pump::view::{
    BegunViews, ReadRequest, View, ViewMessage, ViewOwner, ViewPage, read_requests,
};
use systole_core::types::ports::CallMark;
use systole_wire::ask::{MessageSpot, ViewedPage};

use super::approvals::amendment;
use super::clearing::{calls, clear, ends, recall, thinks};
use super::*;
use crate::shaky_log::Shaky;

/// Records, and the place of each in its call.
type Places = Vec<(u64, MessageSpot)>;

/// The listeners of the pump's tests, with more turns. These of them see their thread.
fn stage(who: &[&str]) -> DecideStage {
    let mut composition = composition();
    for one in ["agent", "other", "tool"] {
        let listener = composition.listeners.get_mut(one).unwrap();
        listener.turns = 9;
        listener.peers = ["tool", "other", "agent", "guarded"].map(name).to_vec();
        if who.contains(&one) {
            listener.sees = ViewScope::Thread;
        }
    }
    DecideStage::under(composition)
}

impl DecideStage {
    /// The content of that view, one message on each line: sender and receiver for messages between others, and a `-`
    /// before the start of a turn.
    fn overhears(&self, thread: &ThreadId, path: &str) -> Vec<String> {
        let own: Vec<&Record> = self.records.iter().filter(|r| r.header.thread == *thread).collect();
        let line = |(n, message): (u64, &ViewMessage)| {
            let record = own.iter().find(|r| r.header.seq == message.seq).unwrap();
            let body = String::from_utf8_lossy(&record.body).replace(" xmlns=\"urn:test\"", "");
            let body = body.split_once(" digest=").map_or(body.as_str(), |(body, _)| body);
            let turn = if message.begins { "-" } else { " " };
            let to = message.to.as_ref().map(|to| format!(">{to}")).unwrap_or_default();
            let inside = match message.spot {
                MessageSpot::Thread { turn: Some(turn) } => format!(" in t{turn}"),
                _ => String::new(),
            };
            format!("{n}{turn} {}{to}{inside}: {body}", message.from)
        };
        self.view(thread, path).list_range(1, u64::MAX).map(line).collect()
    }

    /// The places of the listener's own messages in that view, and of all messages in the view of its call alone.
    fn own(&self, path: &str) -> (Places, Places) {
        let whose = self.whose(&root(), path);
        assert_eq!(whose.sees, ViewScope::Thread);
        let narrow = ViewOwner { sees: ViewScope::Call, ..whose.clone() };
        let wanted = vec![(0, ReadRequest::Whole)];
        let view = |whose: &ViewOwner| {
            read_requests(&self.log(), &mut BegunViews::default(), whose, &wanted).unwrap().view.unwrap()
        };
        let places = |view: View| -> Places {
            let own = view.messages().iter().filter(|message| message.to.is_none());
            own.map(|message| (message.seq, message.spot)).collect()
        };
        (places(view(&whose)), places(view(&narrow)))
    }
}

/// Two concurrent calls, each of which makes one call; their steps in that order.
fn beside(order: &[char]) -> DecideStage {
    let mut stage = stage(&["agent"]);
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![calls("other", "a"), calls("other", "b")]);
    let mut done = [0, 0];
    for which in order {
        let (at, own, words) = if *which == 'a' { (0, "1/1.0", "x") } else { (1, "1/1.1", "y") };
        done[at] += 1;
        match done[at] {
            1 => stage.replies(own, 1, vec![thinks(words), calls("tool", words)]),
            2 => stage.replies(&format!("{own}/1.1"), 1, vec![ends(&format!("{words} found"))]),
            _ => stage.replies(own, 2, vec![ends(&format!("answer {which}"))]),
        };
    }
    stage
}

/// Every order of two sequences of three steps.
fn orders() -> Vec<Vec<char>> {
    let all = (0..64u32).map(|bits| (0..6).map(|at| if bits >> at & 1 == 0 { 'a' } else { 'b' }).collect());
    all.filter(|order: &Vec<char>| order.iter().filter(|which| **which == 'a').count() == 3).collect()
}

#[test]
fn b2_messages_inside_a_call_are_shown_between_the_call_and_its_answer() {
    let told = beside(&['a', 'a', 'a', 'b', 'b', 'b']).overhears(&root(), "1");
    assert_eq!(
        told,
        [
            "1- operator: <agent/>",
            "2- agent: <other>a</other>",
            "3  agent: <other>b</other>",
            "4  other>other in t1: <thought>x</thought>",
            "5  other>tool in t1: <tool>x</tool>",
            "6  tool>other in t1: <done>x found</done>",
            "7  other>other in t1: <thought>y</thought>",
            "8  other>tool in t1: <tool>y</tool>",
            "9  tool>other in t1: <done>y found</done>",
            "10  other: <done>answer a</done>",
            "11  other: <done>answer b</done>",
        ]
    );
    let orders = orders();
    assert_eq!(orders.len(), 20);
    for order in orders {
        assert_eq!(beside(&order).overhears(&root(), "1"), told, "{order:?}");
    }
}

/// An agent that has asked others before, and asks further listeners in the same reply.
fn asked_in_the_middle() -> DecideStage {
    let mut stage = stage(&["other"]);
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![thinks("plan"), calls("other", "o1"), calls("tool", "t1")]);
    stage.replies("1/1.1", 1, vec![calls("tool", "deep")]);
    stage.replies("1/1.1/1.0", 1, vec![ends("deep answer")]);
    stage.replies("1/1.1", 2, vec![ends("o1 answer")]);
    stage.replies("1/1.2", 1, vec![ends("t1 answer")]);
    stage.replies("1", 2, vec![calls("tool", "t2"), calls("other", "o2"), calls("tool", "t3")]);
    stage
}

#[test]
fn b2_a_called_agent_sees_earlier_messages_and_no_parallel_calls() {
    let mut stage = asked_in_the_middle();
    let told = [
        "1- operator>agent: <agent/>",
        "2- agent>agent: <thought>plan</thought>",
        "3  agent>tool: <tool>t1</tool>",
        "4- agent: <other>o1</other>",
        "5  other: <tool>deep</tool>",
        "6  tool: <done>deep answer</done>",
        "7- other: <done>o1 answer</done>",
        "8  tool>agent: <done>t1 answer</done>",
        "9- agent>tool: <tool>t2</tool>",
        "10- agent: <other>o2</other>",
    ];
    assert_eq!(stage.overhears(&root(), "1/2.1"), told);
    // The concurrent calls go on, and one of them ends.
    stage.replies("1/2.0", 1, vec![calls("agent", "beside")]);
    stage.replies("1/2.2", 1, vec![ends("t3 answer")]);
    assert_eq!(stage.overhears(&root(), "1/2.1"), told, "nothing of it is shown");
    stage.replies("1/2.1", 1, vec![calls("agent", "inner"), thinks("so")]);
    stage.replies("1/2.1/1.0", 1, vec![thinks("inside"), ends("inner answer")]);
    stage.replies("1/2.0/1.0", 1, vec![ends("beside answer")]);
    let after = stage.overhears(&root(), "1/2.1");
    assert_eq!(after[..told.len()], told, "no number changes");
    assert_eq!(
        after[told.len()..],
        [
            "11- other: <agent>inner</agent>",
            "12  other: <thought>so</thought>",
            "13  agent>agent in t1: <thought>inside</thought>",
            "14  agent: <done>inner answer</done>",
        ]
    );
    let (own, alone) = stage.own("1/2.1");
    assert_eq!(own, alone, "what is its own stands as in the view of its call alone");
}

#[test]
fn b2_a_later_call_sees_every_earlier_one_of_the_thread_to_its_end() {
    let mut stage = stage(&["agent"]);
    stage.asks("k", "tool", None);
    stage.asks("k2", "other", Some(&root()));
    stage.asks("k3", "agent", Some(&root()));
    stage.replies("1", 1, vec![calls("agent", "early")]);
    stage.replies("1/1.0", 1, vec![refused()]);
    stage.replies("1/1.0", 2, vec![ends("early answer")]);
    stage.replies("1", 2, vec![ends("of the tool")]);
    stage.says(&root(), "2", 1, JudgedContent::new_failure("x", false, "broken"));
    let seen = stage.overhears(&root(), "3");
    let refusal =
        seen.iter().position(|line| line.contains("payload.invalid")).expect("it was told so itself");
    assert!(seen[refusal].starts_with("3  core: "), "{seen:?}");
    let rest: Vec<&str> =
        seen.iter().filter(|line| !line.contains("payload.invalid")).map(String::as_str).collect();
    assert_eq!(
        rest,
        [
            "1- operator>tool: <tool/>",
            "2- tool: <agent>early</agent>",
            "4- agent: <done>early answer</done>",
            "5- tool>operator: <done>of the tool</done>",
            "6- operator>other: <other/>",
            "7- operator: <agent/>",
        ]
    );
    let (own, alone) = stage.own("3");
    assert_eq!(own, alone);
}

#[test]
fn b2_what_happens_in_other_threads_is_not_seen() {
    let mut stage = stage(&["agent", "tool"]);
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![thinks("secret of the root"), spawn(Some("heat"), "tool")]);
    let heat = root().make_child("heat").unwrap();
    assert_eq!(
        stage.overhears(&heat, "1"),
        ["1- agent: <tool/>"],
        "a child begins with its initial payload alone"
    );
    stage.says(&heat, "1", 1, JudgedContent::Items(vec![thinks("secret of the child"), ends("end of heat")]));
    stage.replies("1", 2, vec![wait("all", &[])]);
    let seen = stage.overhears(&root(), "1").join("\n");
    assert!(seen.contains("end of heat") && !seen.contains("secret of the child"), "{seen}");
}

#[test]
fn b2_a_request_that_a_person_amended_and_one_that_went_to_several_are_seen_once() {
    let mut stage = stage(&["agent"]);
    stage.asks("k", "tool", None);
    stage.replies("1", 1, vec![calls("guarded", "wild"), to_each(GatherRule::All, &["other", "quiet"])]);
    let mild =
        Payload::parse(b"<guarded xmlns=\"urn:test\">mild</guarded>", &DocumentLimits::default()).unwrap();
    stage.rules(1, None, amendment("guarded", mild));
    stage.replies("1/1.0", 1, vec![ends("guarded answer")]);
    stage.replies("1/1.1:0", 1, vec![thinks("inside"), ends("first")]);
    stage.says(&root(), "1/1.1:1", 1, JudgedContent::new_failure("x", false, "no"));
    stage.replies("1", 2, vec![calls("agent", "now")]);
    let seen = stage.overhears(&root(), "1/2.0");
    let seqs: Vec<u64> = stage.view(&root(), "1/2.0").messages().iter().map(|message| message.seq).collect();
    let distinct: std::collections::BTreeSet<u64> = seqs.iter().copied().collect();
    assert_eq!(distinct.len(), seqs.len(), "each record has one place: {seen:?}");
    let count = |what: &str| seen.iter().filter(|line| line.contains(what)).count();
    assert_eq!(
        (count(">wild<"), count(">mild<"), count(">inside<"), count(">first<")),
        (1, 1, 1, 1),
        "{seen:?}"
    );
    assert!(seen.iter().any(|line| line.contains("tool>guarded: <guarded>mild")), "{seen:?}");
    assert!(seen.iter().any(|line| line.contains("other>tool: <done>first")), "{seen:?}");
}

#[test]
fn b7_a_view_of_the_thread_is_cleared_in_whole_turns_and_read_again() {
    let mut stage = asked_in_the_middle();
    stage.looks("1/2.1", 1, vec![clear(3)]);
    let told = stage.records.iter().rev().find(|r| r.body.starts_with(b"<context-cleared")).unwrap();
    let told = String::from_utf8_lossy(&told.body).into_owned();
    // A turn of others begins after the answer that it gave itself.
    assert!(told.contains("kept_messages=\"4\" from_seq=\"1\" to_seq=\"6\""), "{told}");
    let whose = stage.whose(&root(), "1/2.1");
    let page = ViewPage { from: 0, cleared: 6, words: true, items: true, mark: CallMark([1, 2, 3, 4]) };
    let seen =
        read_requests(&stage.log(), &mut BegunViews::default(), &whose, &vec![(0, ReadRequest::Page(page))])
            .unwrap();
    let page =
        ViewedPage::from_payload(&Payload::from_trusted(seen.answers[&0].clone().unwrap()).unwrap()).unwrap();
    let shown: Vec<(u64, &str, Option<&str>)> =
        page.messages().map(|one| (one.seq, one.from.as_str(), one.to.as_deref())).collect();
    assert_eq!(shown[..3], [(7, "other", None), (8, "tool", Some("agent")), (9, "agent", Some("tool"))]);
    stage.looks("1/2.1", 2, vec![recall("from_seq=\"2\" to_seq=\"3\"")]);
    let told = stage.records.iter().rev().find(|r| r.body.starts_with(b"<recalled")).unwrap();
    let told = String::from_utf8_lossy(&told.body).into_owned();
    assert!(told.contains("<message seq=\"3\" from=\"agent\">&lt;tool xmlns=\"urn:test\"&gt;t1"), "{told}");
}

#[test]
fn b2_a_view_names_no_refused_bytes_of_other_listeners() {
    let kept = |words: &'static str| {
        let refusal = Refusal::new(Code::Invalid, words);
        JudgedItem::Refused(Refused { refusal, kept: Some(words.as_bytes().into()) })
    };
    let mut stage = stage(&["agent"]);
    stage.asks("k", "tool", None);
    stage.replies("1", 1, vec![kept("of others")]);
    stage.replies("1", 2, vec![calls("agent", "now")]);
    stage.replies("1/2.0", 1, vec![kept("its own")]);
    let view = stage.view(&root(), "1/2.0");
    let named: Vec<(u64, bool)> = (1..)
        .zip(view.messages())
        .filter(|(_, one)| one.from == Name::new_core())
        .map(|(n, one)| (n, !one.names.is_empty()))
        .collect();
    assert_eq!(named, [(2, false), (4, true)], "{:?}", stage.overhears(&root(), "1/2.0"));
}

#[test]
fn b2_the_next_look_reads_only_what_came_since_and_sees_the_same() {
    let mut stage = stage(&["agent"]);
    stage.asks("k", "agent", None);
    let mut begun = BegunViews::default();
    let mut counts = Vec::new();
    for turn in 1..=6 {
        stage.replies("1", turn, vec![calls("other", "q")]);
        let inner = format!("1/{turn}.0");
        stage.replies(&inner, 1, vec![thinks("inside")]);
        stage.replies(&inner, 2, vec![ends("a")]);
        let (log, whose) = (stage.log(), stage.whose(&root(), "1"));
        let counted = Shaky::of(log);
        let wanted = vec![(0, ReadRequest::Whole)];
        let seen = read_requests(&counted, &mut begun, &whose, &wanted).unwrap();
        counts.push(counted.was_read().len());
        assert_eq!(
            seen,
            read_requests(&stage.log(), &mut BegunViews::default(), &whose, &wanted).unwrap(),
            "turn {turn}"
        );
    }
    assert_eq!(counts, [4, 3, 3, 3, 3, 3], "records that were read for each look");
}

/// A pseudorandom number that is the same for the same text.
fn dice(words: &str, sides: usize) -> usize {
    let step = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = words.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    usize::try_from(hash >> 40).unwrap() % sides
}

/// A call's reply in a turn: the same for any order of the other calls.
fn reply(story: u64, path: &str, turn: u32) -> Vec<JudgedItem> {
    let depth = path.matches('/').count();
    let mut items = Vec::new();
    let last = turn > 2 || depth > 1 || dice(&format!("{story} {path} {turn} last"), 4) == 0;
    if dice(&format!("{story} {path} {turn} note"), 3) == 0 {
        items.push(thinks(&format!("{path} t{turn}")));
    }
    if last {
        items.push(ends(&format!("end of {path}")));
        return items;
    }
    for at in 0..=dice(&format!("{story} {path} {turn} many"), 3) {
        let words = format!("{path} t{turn} {at}");
        items.push(match dice(&format!("{story} {words}"), 6) {
            0 => to_each(GatherRule::All, &["tool", "other"]),
            1 => refused(),
            2 => calls("agent", &words),
            3 => calls("other", &words),
            _ => calls("tool", &words),
        });
    }
    items
}

/// Plays a story to its end; chance decides which due call replies next. Returns what each saw when it replied, by
/// its path and turn.
fn played(story: u64, chance: u64) -> std::collections::BTreeMap<(String, u32), Vec<String>> {
    let mut stage = stage(&["agent", "other", "tool"]);
    for (key, to) in [("k", "agent"), ("k2", "tool"), ("k3", "agent")] {
        let thread = (key != "k").then(root);
        stage.asks(key, to, thread.as_ref());
    }
    let mut seen = std::collections::BTreeMap::new();
    for step in 0..240 {
        let calls = &stage.state.find_thread(&root()).unwrap().calls;
        let due = calls.iter().filter_map(|(path, call)| match call.stand() {
            CallState::Ready { turn, .. } => Some((path.as_str().to_owned(), turn)),
            _ => None,
        });
        let due: Vec<(String, u32)> = due.collect();
        let Some((path, turn)) = due.get(dice(&format!("{chance} {step}"), due.len().max(1))).cloned() else {
            return seen;
        };
        let view = stage.overhears(&root(), &path);
        let seqs = stage.view(&root(), &path).messages().iter().map(|one| one.seq).collect::<Vec<u64>>();
        let distinct: std::collections::BTreeSet<u64> = seqs.iter().copied().collect();
        assert_eq!(
            distinct.len(),
            seqs.len(),
            "{story} {path} t{turn}: each record has one place: {view:#?}"
        );
        let (own, alone) = stage.own(&path);
        assert_eq!(own, alone, "{story} {path} t{turn}: what is its own: {view:#?}");
        if let Some(before) = turn.checked_sub(1).and_then(|turn| seen.get(&(path.clone(), turn))) {
            let before: &Vec<String> = before;
            assert_eq!(view[..before.len()], before[..], "{story} {path} t{turn}: no number changes");
        }
        seen.insert((path.clone(), turn), view);
        stage.replies(&path, turn, reply(story, &path, turn));
    }
    panic!("story {story} does not come to its end");
}

#[test]
fn b2_what_each_sees_of_its_thread_is_the_same_whatever_runs_first() {
    let mut most = 0;
    for story in 0..12 {
        let told = played(story, 0);
        most = most.max(told.values().map(Vec::len).max().unwrap_or(0));
        for chance in 1..3 {
            let other = played(story, chance);
            assert_eq!(told.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>(), "story {story}");
            for (which, view) in &told {
                assert_eq!(other[which], *view, "story {story}, {which:?}");
            }
        }
    }
    assert!(most > 30, "the longest view has {most} messages");
}
