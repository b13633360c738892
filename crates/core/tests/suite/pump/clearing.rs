//! Clearing the view of a call, and reading it again.

use sha2::{Digest as _, Sha256};
use systole_core::pump::fold::apply_to;
use systole_core::pump::state::{CallState, Thread};
use systole_core::pump::view::{
    BegunViews, ReadRequest, ReadRequests, ReadResults, View, ViewOwner, ViewPage, read_requests,
};
use systole_core::types::ports::{CallMark, LogBatch, LogWriter};
use systole_log::memory::MemoryLog;

use super::*;
use crate::log_records::salt_of;
use systole_core::pump::fold::apply_record;

pub(super) fn clear(keep: u64) -> JudgedItem {
    primitive(&format!("<clear-context keep=\"{keep}\"/>"))
}

pub(super) fn recall(attributes: &str) -> JudgedItem {
    primitive(&format!("<recall {attributes}/>"))
}

/// An item with text in it.
pub(super) fn saying(what: PayloadKind, local: &str, words: &str) -> JudgedItem {
    let document = format!("<{local} xmlns=\"urn:test\">{words}</{local}>");
    let payload = Payload::parse(document.as_bytes(), &DocumentLimits::default()).unwrap();
    JudgedItem::Admitted(Admitted::new(what, Verdict::from_valid(payload)))
}

pub(super) fn calls(to: &str, words: &str) -> JudgedItem {
    saying(PayloadKind::For(name(to)), to, words)
}

pub(super) fn ends(words: &str) -> JudgedItem {
    saying(PayloadKind::Final, "done", words)
}

pub(super) fn thinks(words: &str) -> JudgedItem {
    saying(PayloadKind::Note, "thought", words)
}

impl DecideStage {
    /// The log of this stage.
    pub(super) fn log(&self) -> MemoryLog {
        let mut log = MemoryLog::new();
        let records = self.records.iter().cloned().map(Arc::new).collect();
        let _position = log.commit_batch(&LogBatch { records, ..LogBatch::default() });
        log
    }

    pub(super) fn whose(&self, thread: &ThreadId, path: &str) -> ViewOwner {
        let call = &self.state.find_thread(thread).unwrap().calls[path];
        let (config, listener, up_to) = (call.config, call.listener.clone(), call.ready_seq);
        let (thread, call) = (thread.clone(), CallPath::parse(path).unwrap());
        let sees = self.state.book.find_listener(config, &listener).unwrap().sees;
        ViewOwner { thread, call, listener, sees, up_to }
    }

    pub(super) fn view(&self, thread: &ThreadId, path: &str) -> View {
        let (log, whose, whole) = (self.log(), self.whose(thread, path), vec![(0, ReadRequest::Whole)]);
        let view = read_requests(&log, &mut BegunViews::default(), &whose, &whole).unwrap().view.unwrap();
        if whose.sees == ViewScope::Thread {
            return view;
        }
        // A view that was read in each turn and then continued is the same.
        let page = ViewPage { from: 2, cleared: 0, words: false, items: true, mark: CallMark([0; 4]) };
        let (mut begun, mut so_far) = (BegunViews::default(), Thread::new_blank(thread.clone()));
        for record in self.records.iter().filter(|r| r.header.thread == *thread) {
            apply_to(&mut so_far, record);
            let due = so_far.calls.get(path).filter(|call| matches!(call.stand(), CallState::Ready { .. }));
            if let Some(up_to) = due.map(|call| call.ready_seq) {
                let whose = ViewOwner { up_to, ..whose.clone() };
                read_requests(&log, &mut begun, &whose, &vec![(0, ReadRequest::Page(page))]).unwrap();
            }
        }
        assert_eq!(read_requests(&log, &mut begun, &whose, &whole).unwrap().view.unwrap(), view);
        view
    }

    /// The messages that a due turn has seen and sent, one on each line.
    pub(super) fn sees(&self, thread: &ThreadId, path: &str) -> Vec<String> {
        let own: Vec<&Record> = self.records.iter().filter(|r| r.header.thread == *thread).collect();
        let line = |(n, message): (u64, &systole_core::pump::view::ViewMessage)| {
            let record = own.iter().find(|r| r.header.seq == message.seq).unwrap();
            let body = String::from_utf8_lossy(&record.body).replace(CORE, "");
            let body = body.replace(" xmlns=\"urn:test\"", "").replace(root().as_str(), "root");
            let turn = if message.begins { "-" } else { " " };
            format!("{n}{turn} {}: {}", message.from, cut_hashes(&body))
        };
        self.view(thread, path).list_range(1, u64::MAX).map(line).collect()
    }

    /// Decides a reply as the engine does: its view is read before.
    pub(super) fn looks(&mut self, path: &str, turn: u32, items: Vec<JudgedItem>) -> Vec<String> {
        let wanted: ReadRequests = (0u32..)
            .zip(&items)
            .filter_map(|(ordinal, item)| match item {
                JudgedItem::Admitted(a) => Some((ordinal, (primitives::find_primitive(a)?.wants)(a.bytes()))),
                _ => None,
            })
            .flat_map(|(ordinal, wanted)| wanted.into_iter().map(move |pending| (ordinal, pending)))
            .collect();
        let seen: ReadResults =
            read_requests(&self.log(), &mut BegunViews::default(), &self.whose(&root(), path), &wanted)
                .unwrap();
        let judged = JudgedDocument {
            lease: self.lease(&root(), path, turn, 1),
            said: JudgedContent::Items(items),
            claimed: None,
            ticket: None,
        };
        self.happens(EventKind::Looked { judged, seen: Ok(seen) })
    }

    /// The body of the newest record whose line has this form.
    fn last(&self, form: &str) -> String {
        let told = self.records.iter().rev().find(|r| record_line(r).contains(form));
        String::from_utf8_lossy(&told.expect(form).body).into_owned()
    }

    /// The body of the last clear, without its digest.
    fn cleared(&self) -> String {
        let body = self.last("message/answer");
        let (said, _) = body.split_once(" digest=").expect("a clear was answered last");
        said.replace(&format!("<context-cleared {CORE_NS} "), "")
    }

    /// The digest of the last clear.
    fn digest(&self) -> String {
        self.last("message/answer").split('"').rev().nth(1).unwrap().to_owned()
    }

    /// The same digest, from the records of the root at these places.
    fn digest_of(&self, seqs: &[u64]) -> String {
        let mut hash = Sha256::new();
        hash.update([6]);
        for seq in seqs {
            let record = self.records.iter().find(|r| r.header.thread == root() && r.header.seq == *seq);
            hash.update(leaf_of(record.unwrap()));
        }
        Digest(hash.finalize().into()).to_string()
    }
}

const CORE_NS: &str = "xmlns=\"https://xml-pipeline.org/ns/core/v1\"";
const CORE: &str = " xmlns=\"https://xml-pipeline.org/ns/core/v1\"";

/// The leaf of a record as the page on the log defines it.
fn leaf_of(record: &Record) -> [u8; 32] {
    let part: [u8; 32] = Sha256::new()
        .chain_update([3])
        .chain_update(salt_of(record))
        .chain_update(&record.body)
        .finalize()
        .into();
    let commitment: [u8; 32] = Sha256::new().chain_update([5]).chain_update(part).finalize().into();
    let header = record.header_bytes();
    Sha256::new().chain_update([0]).chain_update(header).chain_update(commitment).finalize().into()
}

fn cut_hashes(body: &str) -> String {
    let mut parts = body.split("head=\"");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + "head=\"…" + part.get(64..).unwrap_or_default())
}

/// An agent after three turns: nine messages.
fn talkative() -> DecideStage {
    let mut composition = composition();
    composition.listeners.get_mut("agent").unwrap().turns = 20;
    let mut stage = DecideStage::under(composition);
    stage.asks("k", "agent", None);
    for turn in 1..=3 {
        let said = [calls("tool", &format!("a{turn}")), thinks(&format!("t{turn}"))];
        stage.replies("1", turn, said.into_iter().collect());
        stage.replies(&format!("1/{turn}.0"), 1, vec![ends(&format!("answer {turn}"))]);
    }
    stage
}

#[test]
fn b7_a_clear_is_confirmed_with_range_and_digest_and_changes_no_log() {
    let mut stage = talkative();
    let before = stage.records.len();
    assert_eq!(
        stage.looks("1", 4, vec![clear(3)]),
        [
            "root 11 message/clear agent -> - 1 t4.0",
            "root 12 message/answer core -> agent 1/4.0",
            "=> agent 1 t5 a1",
        ]
    );
    assert_eq!(stage.cleared(), "kept_messages=\"4\" from_seq=\"2\" to_seq=\"7\"");
    // Anyone with the log can compute it: call, thought and answer of the first turn, then of the
    // second.
    assert_eq!(stage.digest(), stage.digest_of(&[2, 3, 4, 5, 6, 7]));
    assert_eq!(stage.records.len(), before + 2, "what was cleared stands where it stood");
    assert_eq!(stage.state.find_thread(&root()).unwrap().calls["1"].cleared, 7);
    assert_eq!(stage.sees(&root(), "1").len(), 12, "and keeps its number in the view");
}

#[test]
fn rather_more_is_kept_than_less_and_the_request_always() {
    for (keep, told) in [
        (0, "kept_messages=\"1\" from_seq=\"2\" to_seq=\"10\""),
        (1, "kept_messages=\"4\" from_seq=\"2\" to_seq=\"7\""),
        (3, "kept_messages=\"4\" from_seq=\"2\" to_seq=\"7\""),
        (4, "kept_messages=\"7\" from_seq=\"2\" to_seq=\"4\""),
        (9, "kept_messages=\"10\" from_seq=\"0\" to_seq=\"0\""),
        (10, "kept_messages=\"10\" from_seq=\"0\" to_seq=\"0\""),
        (u64::MAX, "kept_messages=\"10\" from_seq=\"0\" to_seq=\"0\""),
    ] {
        let mut stage = talkative();
        stage.looks("1", 4, vec![clear(keep)]);
        assert_eq!(stage.cleared(), told, "keep {keep}");
        if told.ends_with("\"0\"") {
            assert_eq!(stage.digest(), stage.digest_of(&[]), "of nothing");
        }
    }
}

#[test]
fn a_later_clear_goes_on_where_the_one_before_it_ended() {
    let mut stage = talkative();
    stage.looks("1", 4, vec![clear(5), clear(3), clear(9), thinks("t4")]);
    let answers: Vec<String> = stage
        .records
        .iter()
        .map(|r| String::from_utf8_lossy(&r.body).into_owned())
        .filter_map(|body| {
            body.strip_prefix("<context-cleared").and_then(|b| b.split(" digest").next().map(str::to_owned))
        })
        .map(|said| said.replace(CORE, ""))
        .collect();
    assert_eq!(
        answers,
        [
            " kept_messages=\"7\" from_seq=\"2\" to_seq=\"4\"",
            " kept_messages=\"4\" from_seq=\"5\" to_seq=\"7\"",
            " kept_messages=\"4\" from_seq=\"0\" to_seq=\"0\"",
        ],
        "in order of their ordinals, each upon the one before it; nothing comes back"
    );
    stage.looks("1", 5, vec![clear(0)]);
    assert_eq!(stage.cleared(), "kept_messages=\"1\" from_seq=\"8\" to_seq=\"17\"");
    assert_eq!(stage.digest(), stage.digest_of(&[8, 9, 10, 11, 13, 15, 17, 12, 14, 16]));
}

#[test]
fn the_request_of_the_call_stays_also_within_what_is_cleared() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![ends("before")]);
    stage.asks("k2", "agent", Some(&root()));
    stage.looks("2", 1, vec![clear(0), thinks("a")]);
    assert_eq!(stage.cleared(), "kept_messages=\"1\" from_seq=\"1\" to_seq=\"2\"", "two of an earlier call");
    stage.looks("2", 2, vec![clear(0)]);
    assert_eq!(stage.cleared(), "kept_messages=\"1\" from_seq=\"4\" to_seq=\"6\"", "number 3 is the request");
    // With a single clear the request lies between the cleared messages, and is neither counted nor
    // part of the digest.
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![ends("before")]);
    stage.asks("k2", "agent", Some(&root()));
    stage.replies("2", 1, vec![thinks("a")]);
    stage.looks("2", 2, vec![clear(0)]);
    assert_eq!(stage.cleared(), "kept_messages=\"1\" from_seq=\"1\" to_seq=\"4\"");
    assert_eq!(stage.digest(), stage.digest_of(&[1, 2, 4]));
}

#[test]
fn b7_what_was_cleared_can_be_read_again() {
    let mut stage = talkative();
    stage.looks("1", 4, vec![clear(0)]);
    let told = stage.looks("1", 5, vec![recall("from_seq=\"2\" to_seq=\"4\"")]);
    assert_eq!(told[0], "root 13 message/recall agent -> - 1 t5.0");
    let text = |seq: u64, from: &str, text: &str| {
        let escaped = text.replace('<', "&lt;").replace('>', "&gt;");
        format!("<message seq=\"{seq}\" from=\"{from}\">{escaped}</message>")
    };
    let said = [
        text(2, "agent", "<tool xmlns=\"urn:test\">a1</tool>"),
        text(3, "agent", "<thought xmlns=\"urn:test\">t1</thought>"),
        text(4, "tool", "<done xmlns=\"urn:test\">answer 1</done>"),
    ];
    let total = 32 + 38 + 38;
    assert_eq!(
        stage.last("message/answer"),
        format!(
            "<recalled{CORE} from_seq=\"2\" to_seq=\"4\" total=\"{total}\" offset=\"0\">{}</recalled>",
            said.concat()
        )
    );
}

#[test]
fn a_range_that_is_not_there_is_refused_with_the_one_that_is() {
    for (range, words) in [
        ("from_seq=\"1\" to_seq=\"11\"", "to_seq: 11 is past 10, the last message of this view"),
        ("from_seq=\"0\" to_seq=\"3\"", "from_seq and to_seq count from 1; 0 to 3 is no range"),
        ("from_seq=\"0\" to_seq=\"0\"", "from_seq and to_seq count from 1; 0 to 0 is no range"),
        ("from_seq=\"4\" to_seq=\"3\"", "from_seq: 4 is after to_seq, 3"),
        ("from_seq=\"1\" to_seq=\"99999999999999999999999\"", "is past 10, the last message"),
        ("from_seq=\"-0\" to_seq=\"+3\"", "0 to 3 is no range"),
        (
            "from_seq=\"1\" to_seq=\"1\" offset=\"25\"",
            "offset: 25 is past the end of these messages, which have 25 characters",
        ),
        ("from_seq=\"1\" to_seq=\"1\" offset=\"18446744073709551615\"", "is past the end"),
    ] {
        let mut stage = talkative();
        let told = stage.looks("1", 4, vec![recall(range), thinks("beside")]);
        assert_eq!(told[0], "root 11 refusal/payload.invalid core -> agent 1 t4.0", "{range}");
        let said = stage.last("refusal/payload.invalid");
        assert!(said.contains(words), "{range}: {said}");
        assert!(said.contains("<expected>1 to 10</expected>") || range.contains("offset"), "{range}: {said}");
        assert_eq!(told.last().unwrap(), "=> agent 1 t5 a1", "the call goes on");
    }
}

#[test]
fn parts_follow_each_other_and_split_no_character() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    let words = "ä€𝄞&lt;b&gt;]]&amp;".repeat(3);
    stage.replies("1", 1, vec![thinks(&words), calls("tool", "x")]);
    stage.replies("1/1.1", 1, vec![ends("last")]);
    let whole: String = stage.bodies_of(&[1, 2, 3, 4]).concat();
    for length in [2, 3, 7, 1_000] {
        let mut stage = stage.again();
        let (mut read, mut offset) = (String::new(), 0);
        for turn in 2.. {
            let range = format!("from_seq=\"1\" to_seq=\"4\" offset=\"{offset}\" length=\"{length}\"");
            stage.looks("1", turn, vec![recall(&range)]);
            let body = stage.last("message/answer");
            read += &texts(&body);
            let total = whole.chars().count();
            assert!(body.contains(&format!("total=\"{total}\" offset=\"{offset}\"")), "{body}");
            match body.split_once("next=\"") {
                Some((_, rest)) => offset = rest.split('"').next().unwrap().parse().unwrap(),
                None => break,
            }
            assert_eq!(read.chars().count(), offset);
        }
        assert_eq!(read, whole, "in parts of {length}");
    }
}

impl DecideStage {
    fn bodies_of(&self, seqs: &[u64]) -> Vec<String> {
        let bodies = bodies(self);
        seqs.iter().map(|seq| bodies[seq].clone()).collect()
    }

    /// The same conversation up to its last record, with an agent that has many turns.
    fn again(&self) -> DecideStage {
        let mut composition = composition();
        composition.listeners.get_mut("agent").unwrap().turns = 10_000;
        let mut stage = DecideStage::under(composition);
        stage.records = self.records.clone();
        stage.records.iter().for_each(|record| apply_record(&mut stage.state, record));
        stage.now = self.now;
        stage
    }
}

/// The texts of the messages in a `<recalled>`, as a parser reads them.
fn texts(body: &str) -> String {
    let mut texts = String::new();
    for part in body.split("</message>") {
        let text = part.rsplit_once("\">").map_or("", |(_, text)| text);
        texts += &text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    }
    texts
}

#[test]
fn one_answer_holds_no_more_than_the_limit_and_says_where_it_goes_on() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![thinks(&"é".repeat(40_000))]);
    for length in ["", " length=\"99999999999999999999\""] {
        let mut stage = stage.again();
        stage.looks("1", 2, vec![recall(&format!("from_seq=\"2\" to_seq=\"2\"{length}"))]);
        let body = stage.last("message/answer");
        assert!(body.contains(" next=\"32768\""), "{}", &body[..200]);
        assert_eq!(texts(&body).chars().count(), 32_768);
        stage.looks("1", 3, vec![recall("from_seq=\"2\" to_seq=\"2\" offset=\"32768\"")]);
        let body = stage.last("message/answer");
        assert!(!body.contains("next="), "{}", &body[..200]);
        assert_eq!(texts(&body).chars().count(), 40_036 - 32_768);
    }
}

#[test]
fn a_listener_with_one_turn_or_in_its_wrap_up_has_no_turn_to_read_it_in() {
    let mut stage = DecideStage::new();
    stage.asks("k", "tool", None);
    let told = stage.looks("1", 1, vec![clear(0)]);
    assert_eq!(told[0], "root 2 refusal/budget.messages core -> tool 1 t1.0");
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    (1..=4).for_each(|turn| drop(stage.replies("1", turn, vec![note()])));
    let told = stage.looks("1", 5, vec![recall("from_seq=\"1\" to_seq=\"1\""), clear(0)]);
    assert!(
        told[0].contains("refusal/budget.messages") && told[1].contains("refusal/budget.messages"),
        "{told:?}"
    );
}

#[test]
fn a_view_that_cannot_be_read_refuses_the_item_and_nothing_else() {
    let mut stage = talkative();
    let refusal = Refusal::new(Code::DamagedThread, "the log is damaged");
    let said =
        JudgedContent::Items(vec![clear(0), recall("from_seq=\"1\" to_seq=\"1\""), calls("tool", "x")]);
    let judged = JudgedDocument { lease: stage.lease(&root(), "1", 4, 1), said, claimed: None, ticket: None };
    let told = stage.happens(EventKind::Looked { judged, seen: Err(refusal) });
    assert_eq!(
        told,
        [
            "root 11 refusal/thread.damaged core -> agent 1 t4.0",
            "root 12 refusal/thread.damaged core -> agent 1 t4.1",
            "root 13 message/call agent -> tool 1 t4.2",
            "=> tool 1/4.2 t1 a1",
        ]
    );
    // The view was not read, so no such answer is made up.
    let told = talkative().replies("1", 4, vec![clear(0), recall("from_seq=\"1\" to_seq=\"1\"")]);
    assert!(
        told[0].contains("refusal/ingress.unavailable") && told[1].contains("refusal/ingress.unavailable")
    );
}

#[test]
fn what_came_while_the_log_was_read_is_in_no_view_of_that_turn() {
    let mut stage = talkative();
    let view = stage.view(&root(), "1");
    stage.steers("operator", "agent", Some(&root()));
    assert_eq!(stage.view(&root(), "1"), view, "a word that the turn has not shown");
    stage.looks("1", 4, vec![clear(0)]);
    assert_eq!(stage.cleared(), "kept_messages=\"1\" from_seq=\"2\" to_seq=\"10\"");
    assert!(stage.sees(&root(), "1").last().unwrap().contains("steer"));
}

#[test]
fn a_reply_that_is_late_changes_no_view() {
    let mut stage = talkative();
    let judged = JudgedDocument {
        lease: stage.lease(&root(), "1", 3, 1),
        said: JudgedContent::Items(vec![clear(0)]),
        claimed: None,
        ticket: None,
    };
    let seen =
        read_requests(&stage.log(), &mut BegunViews::default(), &stage.whose(&root(), "1"), &vec![]).unwrap();
    let told = stage.happens(EventKind::Looked { judged, seen: Ok(seen) });
    assert!(told[0].contains("refusal/reply.stale-lease"), "{told:?}");
    assert_eq!(stage.state.find_thread(&root()).unwrap().calls["1"].cleared, 0);
}
