//! Messages that need the view of their call, in the engine: the log is read before they are decided, and
//! nothing else waits for that.

use systole_wire::ask::{PumpQuestion, ViewEntry, ViewedPage};

use super::*;
use crate::decide_stage::{call, final_, note, primitive, refused, spawn};
use crate::decide_stage::{journals, result, started};

pub(super) fn clear(keep: u64) -> JudgedItem {
    primitive(&format!("<clear-context keep=\"{keep}\"/>"))
}

fn recall(attributes: &str) -> JudgedItem {
    primitive(&format!("<recall {attributes}/>"))
}

fn asks(id: u64, question: PumpQuestion) -> JudgedContent {
    JudgedContent::Ask { id, question: Ok(question) }
}

/// An organism whose agent has unlimited turns and does several things at once.
pub(super) fn patient() -> Composition {
    let mut composition = composition();
    let agent = composition.listeners.get_mut("agent").unwrap();
    (agent.turns, agent.in_flight) = (1_000_000, 8);
    composition
}

/// The agent is out with its second turn, after a reply with a call and a note.
pub(super) fn talking() -> Rig {
    let mut rig = Rig::with(patient());
    rig.asks(1, "k", "agent", None);
    rig.settle();
    rig.replies("1 t1 a1", vec![call("tool"), note()]);
    rig.settle();
    rig.replies("1/1.0 t1 a1", vec![final_()]);
    rig.settle();
    assert_eq!(rig.seen().last().unwrap(), "agent 1 t2 a1");
    rig
}

/// The body of the newest record of the root with this code.
fn last(rig: &Rig, code: &str) -> String {
    let is_it = |r: &&Record| r.header.code.is_some_and(|mark| mark.as_str() == code);
    let records = rig.records();
    String::from_utf8_lossy(&records.iter().rev().find(is_it).expect(code).body).into_owned()
}

/// The payloads of the answers to questions since the last call.
fn answered(rig: &Rig) -> Vec<String> {
    rig.seen();
    std::mem::take(&mut *rig.outside.answers.lock().unwrap())
        .into_iter()
        .filter_map(|answer| Some(String::from_utf8_lossy(answer.payload?.bytes()).into_owned()))
        .collect()
}

#[test]
fn while_the_log_is_read_everything_else_goes_on() {
    let mut rig = talking();
    rig.replies("1 t2 a1", vec![clear(0), call("other")]);
    rig.asks(2, "k2", "tool", None);
    rig.write();
    assert!(rig.lines().iter().all(|line| !line.contains("clear")), "nothing is decided before it was read");
    // Its own question to the log follows the first, and both are answered.
    rig.settle();
    assert!(rig.lines().contains(&"root 5 message/clear agent -> - 1 t2.0".to_owned()), "{:?}", rig.lines());
    let seen = rig.seen();
    assert!(
        seen.contains(&"other 1/2.1 t1 a1".to_owned()) && seen.contains(&"tool 1 t1 a1".to_owned()),
        "{seen:?}"
    );
}

#[test]
fn a_thread_that_is_cancelled_while_the_log_is_read_makes_the_reply_late() {
    let mut rig = talking();
    rig.replies("1 t2 a1", vec![clear(0)]);
    rig.look();
    // The order waits for it, and the reply is decided first.
    rig.cancels(2, &root());
    rig.settle();
    let lines = rig.lines();
    let place = |text: &str| lines.iter().position(|line| line.contains(text)).expect(text);
    assert!(place("message/clear") < place("terminal/thread.cancelled"), "{lines:?}");
    // Its parent's message waits for nothing, and ends the child before it.
    let mut rig = Rig::with(patient());
    rig.asks(1, "k", "agent", None);
    rig.settle();
    rig.replies("1 t1 a1", vec![spawn(Some("heat"), "agent")]);
    rig.settle();
    let heat = root().make_child("heat").unwrap();
    rig.says_in(&heat, "1 t1 a1", JudgedContent::Items(vec![clear(0)]));
    let body = format!("<cancel-thread id=\"{heat}\"/>");
    rig.replies("1 t2 a1", vec![primitive(&body)]);
    rig.settle();
    let lines = rig.lines();
    assert!(lines.iter().all(|line| !line.contains("message/clear")), "{lines:?}");
    assert!(lines.last().unwrap().contains("refusal/reply.stale-lease core -> agent"), "{lines:?}");
}

#[test]
fn a_second_reply_of_the_same_delivery_overtakes_none() {
    let mut rig = talking();
    rig.replies("1 t2 a1", vec![clear(0)]);
    rig.replies("1 t2 a1", vec![note()]);
    rig.settle();
    let lines = rig.lines();
    assert!(lines.contains(&"root 5 message/clear agent -> - 1 t2.0".to_owned()), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("refusal/reply.stale-lease")), "{lines:?}");
}

#[test]
fn a_log_that_cannot_be_read_refuses_what_needed_it() {
    for (damaged, code) in [(false, "ingress.unavailable"), (true, "thread.damaged")] {
        let mut rig = talking();
        match damaged {
            false => rig.reader.fails.store(1, Ordering::Relaxed),
            true => rig.reader.deaf.store(true, Ordering::Relaxed),
        }
        rig.replies("1 t2 a1", vec![clear(0), recall("from_seq=\"1\" to_seq=\"1\""), call("other")]);
        rig.settle();
        let refused = rig.lines().iter().filter(|line| line.contains(&format!("refusal/{code}"))).count();
        assert_eq!(refused, 2, "{:?}", rig.lines());
        assert!(
            rig.lines().iter().any(|line| line.contains("message/call agent -> other")),
            "the rest goes on"
        );
        rig.reader.deaf.store(false, Ordering::Relaxed);
        rig.says("1 t2 a1", asks(1, PumpQuestion::View { from_seq: 0, words: false, items: true }));
        rig.settle();
        assert!(answered(&rig)[0].contains("reply.stale-lease"), "and no request waits any more");
    }
}

#[test]
fn b7_what_was_cleared_is_cleared_and_readable_after_a_restart() {
    let mut rig = talking();
    rig.replies("1 t2 a1", vec![clear(0)]);
    rig.settle();
    let said = last(&rig, "answer");
    assert!(said.contains("kept_messages=\"1\" from_seq=\"2\" to_seq=\"4\""), "{said}");
    for checkpoint in [false, true] {
        if checkpoint {
            rig.idles();
        }
        rig = rig.killed_into(patient(), vec![]);
        assert_eq!(rig.engine.state().find_thread(&root()).unwrap().calls["1"].cleared, 4);
    }
    let delivery =
        rig.seen().into_iter().rev().find(|line| line.starts_with("agent 1 t3")).expect("out again");
    let delivery = delivery.strip_prefix("agent ").unwrap().to_owned();
    rig.says(&delivery, asks(1, PumpQuestion::View { from_seq: 0, words: false, items: true }));
    rig.settle();
    let shown = &answered(&rig)[0];
    assert!(
        shown.contains("count=\"6\"") && shown.contains("seq=\"1\"") && shown.contains("seq=\"5\""),
        "{shown}"
    );
    assert!(
        !shown.contains(" seq=\"2\"") && !shown.contains(" seq=\"4\""),
        "what was cleared is not shown: {shown}"
    );
    rig.replies(&delivery, vec![recall("from_seq=\"2\" to_seq=\"4\"")]);
    rig.settle();
    let said = last(&rig, "answer");
    assert!(said.contains("&lt;tool xmlns=") && said.contains("&lt;done xmlns="), "{said}");
}

#[test]
fn b7_a_long_view_is_recalled_in_parts_while_others_are_served() {
    let mut rig = Rig::with(patient());
    rig.asks(1, "k", "agent", None);
    rig.settle();
    // 160 replies of 64 notes: more than ten thousand messages, and as many records.
    for turn in 1..=160 {
        rig.replies(&format!("1 t{turn} a1"), (0..64).map(|_| note()).collect());
        rig.settle();
    }
    let (mut offset, mut turn, mut read) = (0, 161, 0);
    loop {
        let range = format!("from_seq=\"2\" to_seq=\"2001\" offset=\"{offset}\"");
        rig.replies(&format!("1 t{turn} a1"), vec![recall(&range)]);
        rig.asks(turn, &format!("k{turn}"), "tool", None);
        rig.settle();
        let said = last(&rig, "answer");
        read += said.matches("</message>").count();
        turn += 1;
        match said.split_once(" next=\"") {
            Some((_, rest)) => offset = rest.split('"').next().unwrap().parse().unwrap(),
            None => break,
        }
    }
    let characters = 2_000 * "<thought xmlns=\"urn:test\"/>".len() as u64;
    assert_eq!(turn - 161, characters.div_ceil(32_768), "so many parts");
    assert!((2_000..2_010).contains(&read), "each message once, but where it was cut: {read}");
    assert!(
        rig.engine.state().find_thread(&root()).unwrap().to_row().bytes.len() < 4_096,
        "the state stays small"
    );
}

#[test]
fn a_question_for_the_view_is_answered_in_pages() {
    let mut rig = Rig::with(patient());
    rig.asks(1, "k", "agent", None);
    rig.settle();
    let large = |n: usize| {
        let document = format!("<thought xmlns=\"urn:test\">{n}{}</thought>", "x".repeat(100_000));
        let payload =
            systole_wire::Payload::parse(document.as_bytes(), &systole_wire::DocumentLimits::default())
                .unwrap();
        JudgedItem::Admitted(Admitted::new(PayloadKind::Note, Verdict::from_valid(payload)))
    };
    rig.replies("1 t1 a1", (0..5).map(large).collect());
    rig.settle();
    let (mut from, mut read) = (Some(0), Vec::new());
    let mut pages = 0;
    while let Some(first) = from {
        rig.says("1 t2 a1", asks(first, PumpQuestion::View { from_seq: first, words: false, items: true }));
        rig.settle();
        let payload =
            systole_wire::Payload::from_trusted(answered(&rig)[0].clone().into_bytes().into()).unwrap();
        let page = ViewedPage::from_payload(&payload).unwrap();
        assert_eq!(page.count, 6);
        assert!(payload.bytes().len() < 300_000);
        read.extend(page.messages().map(|message| message.seq));
        from = page.next;
        pages += 1;
    }
    assert_eq!((pages, read), (3, vec![1, 2, 3, 4, 5, 6]));
    rig.says("1 t2 a1", asks(9, PumpQuestion::View { from_seq: 7, words: false, items: true }));
    rig.settle();
    assert_eq!(
        answered(&rig),
        [
            "<view xmlns=\"urn:systole:listener:v1\" count=\"6\" mark=\"04d47c40\" began=\"1970-01-01\"></view>"
        ],
        "there is no more"
    );
    assert!(rig.lines().iter().all(|line| !line.contains("refusal")), "questions leave no record");
}

/// The view of a call, page by page, as a reader that follows `next` sees it.
fn pages(rig: &mut Rig, delivery: &str) -> Vec<ViewedPage> {
    let (mut from, mut read) = (Some(0), Vec::new());
    while let Some(first) = from {
        rig.says(delivery, asks(first, PumpQuestion::View { from_seq: first, words: true, items: true }));
        rig.settle();
        let payload =
            systole_wire::Payload::from_trusted(answered(rig)[0].clone().into_bytes().into()).unwrap();
        let page = ViewedPage::from_payload(&payload).unwrap();
        from = page.next;
        read.push(page);
    }
    read
}

#[test]
fn words_are_neither_lost_nor_doubled_where_a_page_ends() {
    // The text alone, a message alone or both together are too large for a page.
    for (words, message) in [(100_000, 1), (1, 100_000), (90_000, 90_000), (300_000, 10), (10, 300_000)] {
        let mut rig = Rig::with(patient());
        rig.asks(1, "k", "agent", None);
        rig.settle();
        let large = "x".repeat(message);
        for turn in 1..=6 {
            let delivery = format!("1 t{turn} a1");
            rig.says(&delivery, journals(1, started()));
            rig.says(&delivery, journals(2, result(1, &turn.to_string().repeat(words))));
            let document = format!("<thought xmlns=\"urn:test\">{large}</thought>");
            let payload =
                systole_wire::Payload::parse(document.as_bytes(), &systole_wire::DocumentLimits::default())
                    .unwrap();
            let note = JudgedItem::Admitted(Admitted::new(PayloadKind::Note, Verdict::from_valid(payload)));
            rig.replies(&delivery, vec![note]);
            rig.settle();
        }
        rig.seen();
        answered(&rig);
        let pages = pages(&mut rig, "1 t7 a1");
        assert!(pages.len() > 1, "{words} {message}");
        let together = words + message;
        for page in &pages {
            let bytes = page.to_payload().bytes().len();
            assert!(bytes < 256 * 1024 + 2_000 || bytes < together + 2_000, "{words} {message}: {bytes}");
        }
        let shown: Vec<String> = pages
            .into_iter()
            .flat_map(|page| page.shown)
            .map(|shown| match shown {
                ViewEntry::Words(words) => format!("t{} {}", words.turn, &words.text[..1]),
                ViewEntry::Message(message) => message.seq.to_string(),
            })
            .collect();
        let expected = ["1", "t1 1", "2", "t2 2", "3", "t3 3", "4", "t4 4", "5", "t5 5", "6", "t6 6", "7"];
        assert_eq!(shown, expected, "{words} {message}");
    }
}

#[test]
fn a_view_has_the_mark_of_its_call_and_the_day_its_thread_began() {
    let mut rig = talking();
    let told = |rig: &mut Rig, delivery: &str| {
        rig.says(delivery, asks(1, PumpQuestion::View { from_seq: 0, words: false, items: true }));
        rig.settle();
        let answer = answered(rig).pop().unwrap();
        let payload = systole_wire::Payload::from_trusted(answer.into_bytes().into()).unwrap();
        let page = ViewedPage::from_payload(&payload).unwrap();
        (page.mark, page.began)
    };
    let (mark, began) = told(&mut rig, "1 t2 a1");
    assert_eq!((mark.len(), began.as_str()), (8, "1970-01-01"));
    // A day later, in another turn, in another attempt after a crash.
    rig.passes(20_000);
    rig.replies("1 t2 a1", vec![note()]);
    rig.clock_set_forward(86_400_000);
    rig.settle();
    assert_eq!(told(&mut rig, "1 t3 a1"), (mark.clone(), began.clone()));
    let mut rig = rig.killed_into(patient(), vec![]);
    let again = rig.seen().into_iter().find_map(|line| line.strip_prefix("agent ").map(str::to_owned));
    assert_eq!(told(&mut rig, &again.expect("out again")), (mark.clone(), began.clone()));
    // Another call in the same thread has another, and a call in a thread that began today also has that day.
    let delivery = "1 t3 a2";
    rig.replies(delivery, vec![call("agent"), spawn(Some("heat"), "agent")]);
    rig.settle();
    let (inner, day) = told(&mut rig, "1/3.0 t1 a1");
    assert_ne!(inner, mark);
    assert_eq!(day, began);
    let heat = root().make_child("heat").unwrap();
    rig.seen();
    rig.says_in(&heat, "1 t1 a1", asks(1, PumpQuestion::View { from_seq: 0, words: false, items: true }));
    rig.settle();
    let answer = answered(&rig).pop().unwrap();
    assert!(answer.contains("began=\"1970-01-02\"") && !answer.contains(&mark), "{answer}");
}

#[test]
fn schemas_of_strangers_and_missing_schemas_get_the_same_answer() {
    let mut composition = patient();
    let schema = |text: &str| systole_core::types::composition::Schema {
        name: "s.xsd".into(),
        text: Arc::from(text.as_bytes()),
    };
    composition.schemas = vec![schema("<core/>"), schema("<own/>")];
    let mut rig = Rig::with(composition);
    rig.asks(1, "k", "agent", None);
    rig.settle();
    let mut ask = |name: &str, from| {
        rig.says("1 t1 a1", asks(1, PumpQuestion::Schema { name: name.into(), element: None, from }));
        rig.settle();
        answered(&rig).pop().unwrap()
    };
    for own in ["agent", "tool"] {
        let start = format!("<schema xmlns=\"urn:systole:listener:v1\" name=\"{own}\" total=\"6\">");
        assert_eq!(ask(own, 0), format!("{start}&lt;own/&gt;</schema>"));
    }
    let unknown = ask("nobody-of-this-name", 0);
    assert!(unknown.contains("code=\"route.not-a-peer\""), "{unknown}");
    // It is also its own peer, and still named once.
    assert!(unknown.contains("<expected>agent, tool"), "{unknown}");
    assert_eq!(unknown.matches("agent").count(), 1, "{unknown}");
    for other in ["quiet", "watch", "core", "no name at all", ""] {
        assert_eq!(ask(other, 0), unknown, "{other}");
    }
    assert!(ask("tool", 6).contains("from: 6 is past the end of these 6 bytes"));
}

#[test]
fn of_a_listener_with_several_schemas_the_one_that_declares_an_element_is_shown() {
    let mut composition = patient();
    let schema = |text: &str| systole_core::types::composition::Schema {
        name: "s.xsd".into(),
        text: Arc::from(text.as_bytes()),
    };
    composition.schemas = vec![schema("<core/>"), schema("<one/>"), schema("<other/>")];
    composition.listeners.get_mut("tool").unwrap().returns[0].schema =
        systole_core::types::composition::SchemaId(2);
    let mut rig = Rig::with(composition);
    rig.asks(1, "k", "agent", None);
    rig.settle();
    let mut ask = |element: Option<&str>| {
        let element = element.map(str::to_owned);
        rig.says("1 t1 a1", asks(1, PumpQuestion::Schema { name: "tool".into(), element, from: 0 }));
        rig.settle();
        answered(&rig).pop().unwrap()
    };
    assert!(ask(Some("tool")).contains("&lt;one/&gt;</schema>"));
    assert!(ask(Some("done")).contains("&lt;other/&gt;</schema>"));
    let which = ask(None);
    assert!(which.contains("<expected>one of done, tool</expected>"), "{which}");
    assert!(
        which.contains("<try>element=&quot;done&quot;</try>") || which.contains("element=\"done\""),
        "{which}"
    );
    assert!(ask(Some("tol")).contains("it neither takes nor gives an element of that name"));
}

#[test]
fn refused_bytes_are_shown_to_whom_the_refusal_was_shown() {
    let mut rig = Rig::with(patient());
    let kept: Arc<[u8]> = Arc::from(&b"\xff is no <payload"[..]);
    let hash = Digest::hash_bytes(&kept).to_string();
    rig.asks(1, "k", "agent", None);
    rig.settle();
    let bad = |bytes: Arc<[u8]>| {
        let refusal = Refusal::new(systole_core::types::codes::Code::Malformed, "wrong");
        JudgedItem::Refused(systole_core::types::flow::Refused { refusal, kept: Some(bytes) })
    };
    rig.replies("1 t1 a1", vec![bad(kept.clone()), refused(), call("agent")]);
    rig.settle();
    rig.replies("1/1.2 t1 a1", vec![bad(Arc::from(&b"<secret"[..])), note()]);
    rig.settle();
    rig.seen();
    let mut ask = |delivery: &str, hash: &str| {
        rig.says(delivery, asks(1, PumpQuestion::Blob { hash: hash.into(), from: 0 }));
        rig.settle();
        answered(&rig).pop().unwrap()
    };
    // Another call of the same listener was shown the other refusal.
    let secret = Digest::hash_bytes(b"<secret").to_string();
    assert!(ask("1/1.2 t2 a1", &secret).contains("&lt;secret</blob>"));
    let unknown = ask("1/1.2 t2 a1", &"0".repeat(64));
    assert!(unknown.contains("no document of this hash is named in your view"), "{unknown}");
    let config = Digest([7; 32]).to_string();
    for other in [hash.as_str(), &config, "no hash", ""] {
        assert_eq!(ask("1/1.2 t2 a1", other), unknown, "{other}");
    }
    rig.replies("1/1.2 t2 a1", vec![final_()]);
    rig.settle();
    rig.says("1 t2 a1", asks(1, PumpQuestion::Blob { hash: hash.clone(), from: 0 }));
    rig.says("1 t2 a1", asks(2, PumpQuestion::Blob { hash: secret, from: 0 }));
    rig.settle();
    let told = answered(&rig);
    let hex: String = kept.iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(
        told.iter()
            .any(|it| it.contains(&format!("hash=\"{hash}\" total=\"16\" encoding=\"hex\">{hex}</blob>"))),
        "{told:?}"
    );
    assert!(told.contains(&unknown), "{told:?}");
}

/// A note of that many bytes.
fn long_note(bytes: usize) -> JudgedItem {
    let document = format!("<thought xmlns=\"urn:test\">{}</thought>", "x".repeat(bytes));
    let payload =
        systole_wire::Payload::parse(document.as_bytes(), &systole_wire::DocumentLimits::default()).unwrap();
    JudgedItem::Admitted(Admitted::new(PayloadKind::Note, Verdict::from_valid(payload)))
}

#[test]
fn consecutive_pages_of_a_view_do_not_count_as_questions() {
    let mut rig = Rig::with(patient());
    rig.asks(1, "k", "agent", None);
    rig.settle();
    // Each of these fills a page.
    for turn in 1..=2 {
        rig.replies(&format!("1 t{turn} a1"), (0..50).map(|_| long_note(260_000)).collect());
        rig.settle();
    }
    rig.seen();
    answered(&rig);
    assert_eq!(pages(&mut rig, "1 t3 a1").len(), 100, "more than there are questions");
    let mut ask = |from_seq: u64| {
        rig.says("1 t3 a1", asks(from_seq, PumpQuestion::View { from_seq, words: true, items: true }));
        rig.settle();
        answered(&rig).remove(0)
    };
    // A repeated read counts again, from any place.
    let refused = (0..63).filter(|_| ask(50).contains("reply.too-many-items")).count();
    assert_eq!(refused, 0, "the first page was one question");
    assert!(
        ask(51).contains("reply.too-many-items"),
        "what follows on a page that was given before is counted"
    );
    assert!(ask(0).contains("reply.too-many-items"));
}

#[test]
fn a_view_continued_in_every_turn_reads_each_record_only_a_few_times() {
    let mut rig = Rig::with(patient());
    rig.asks(1, "k", "agent", None);
    rig.settle();
    let mut from = 1;
    let mut read = Vec::new();
    for turn in 1..=400 {
        let delivery = format!("1 t{turn} a1");
        rig.says(&delivery, asks(1, PumpQuestion::View { from_seq: from, words: false, items: false }));
        rig.settle();
        let payload =
            systole_wire::Payload::from_trusted(answered(&rig)[0].clone().into_bytes().into()).unwrap();
        let page = ViewedPage::from_payload(&payload).unwrap();
        from = page.count + 1;
        rig.replies(&delivery, vec![note()]);
        rig.settle();
        if turn % 200 == 0 {
            read.push(rig.reader.was_read().len());
        }
    }
    // In two hundred turns there are two hundred records and as many shown messages.
    assert!(read.iter().all(|read| *read < 200 * 4), "{read:?}");
    // A reader that starts at the beginning sees the same.
    let kept = pages(&mut rig, "1 t401 a1");
    rig.begun = BegunViews::default();
    assert_eq!(pages(&mut rig, "1 t401 a1"), kept);
    assert_eq!(kept[0].count, 401);
}
