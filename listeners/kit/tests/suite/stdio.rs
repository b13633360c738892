//! A listener around one function, over the streams of a test: its input and its output.

use std::io::{self, Cursor, Read, Write as _};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use systole_kit::ask::PumpQuestion;
use systole_kit::envelope::{EnvelopeAddress, EnvelopeStamp, write_envelope};
use systole_kit::framing::with_length;
use systole_kit::line::NotTaken;
use systole_kit::pump_documents::{PumpAnswer, write_cancel};
use systole_kit::reply::{ListenerDocument, ReplyContent};
use systole_kit::stdio::{Failure, Turn, serve};
use systole_kit::{DocumentLimits, Payload};

const NS: &str = "https://xml-pipeline.org/ns/shout/v1";

fn delivery(token: &str, body: &str) -> Vec<u8> {
    let payload = Payload::parse(body.as_bytes(), &DocumentLimits::default()).unwrap();
    let stamp = EnvelopeStamp {
        delivery: token.into(),
        key: "k".into(),
        call: "1".into(),
        turn: 1,
        attempt: 1,
        ..EnvelopeStamp::default()
    };
    let address = EnvelopeAddress { from: Some("alice"), to: Some("shout"), thread: Some("sess-1") };
    write_envelope(&address, Some(&stamp), &payload)
}

fn say(token: &str, text: &str) -> Vec<u8> {
    delivery(token, &format!("<say xmlns='{NS}'><mood/><text>{text}</text></say>"))
}

fn shout(turn: &mut Turn<'_>) -> Payload {
    let words = turn.request().text_of("text").unwrap_or_default().to_uppercase();
    Payload::write(NS, "shouted", |inside| inside.text(&words))
}

/// One byte at a time, like the worst possible pipe.
struct Slow(Cursor<Vec<u8>>);

impl Read for Slow {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(&mut buffer[..1])
    }
}

fn lines(documents: &[Vec<u8>]) -> Vec<u8> {
    documents.iter().flat_map(|document| [document.as_slice(), b"\n"].concat()).collect()
}

/// The output, document by document: deliveries are worked on at once, so those of one delivery follow one another here.
fn words(said: &[u8]) -> Vec<ListenerDocument> {
    let documents = said.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let parsed = documents.map(|one| ListenerDocument::parse(one, &DocumentLimits::default()).unwrap());
    let mut words: Vec<ListenerDocument> = parsed.collect();
    words.sort_by(|one, other| one.delivery().cmp(other.delivery()));
    words
}

fn payload_of(word: &ListenerDocument) -> (String, String) {
    let ListenerDocument::Reply { delivery, said: ReplyContent::Items(items) } = word else {
        panic!("{word:?}")
    };
    let payload = items[0].payload.as_ref().unwrap();
    (delivery.clone(), payload.text())
}

#[test]
fn g5_a_function_answers_each_delivery_in_either_framing() {
    let documents = [say("d1", "a &lt; b"), say("d2", "x\ny")];
    let framed = |document: &Vec<u8>| with_length(document);
    let lengths: Vec<u8> = documents.iter().flat_map(framed).collect();
    let one_line = [documents[0].clone(), say("d2", "x&#10;y")];
    for (input, by_length) in [(lines(&one_line), false), (lengths, true)] {
        let mut said = Vec::new();
        let before = AtomicBool::new(false);
        let in_order = |turn: &mut Turn<'_>| {
            while turn.delivery().stamp.delivery == "d2" && !before.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            let shouted = shout(turn);
            before.store(true, Ordering::Release);
            shouted
        };
        serve(Slow(Cursor::new(input)), &mut said, in_order).unwrap();
        if by_length {
            let text = String::from_utf8(said).unwrap();
            let (length, rest) = text.split_once('\n').unwrap();
            let first = &rest[..length.parse::<usize>().unwrap()];
            assert!(first.starts_with("<reply ") && first.ends_with("</reply>"), "{text}");
            assert!(
                text.ends_with("X\nY</shouted></reply>"),
                "what has a length may have line breaks: {text}"
            );
            continue;
        }
        let told: Vec<_> = words(&said).iter().map(payload_of).collect();
        assert_eq!(told, [("d1".into(), "A < B".into()), ("d2".into(), "X\nY".into())]);
    }
}

#[test]
fn a_failure_keeps_its_code_and_several_payloads_are_several_items() {
    let mut said = Vec::new();
    let answer = |turn: &mut Turn<'_>| -> Result<Vec<Payload>, Failure> {
        if turn.delivery().stamp.delivery == "d1" {
            "x".parse::<u32>()?;
        }
        Err(Failure::new("busy", "come back").again_later())
    };
    serve(Cursor::new(lines(&[say("d1", ""), say("d2", "")])), &mut said, answer).unwrap();
    let [ListenerDocument::Reply { said: one, .. }, ListenerDocument::Reply { said: two, .. }] =
        &words(&said)[..]
    else {
        panic!()
    };
    let failed = ReplyContent::new_failure("failed", false, "invalid digit found in string");
    assert_eq!(*one, failed);
    assert_eq!(*two, ReplyContent::new_failure("busy", true, "come back"));

    let mut said = Vec::new();
    let both = |turn: &mut Turn<'_>| vec![shout(turn), shout(turn)];
    serve(Cursor::new(lines(&[say("d1", "")])), &mut said, both).unwrap();
    let ListenerDocument::Reply { said: ReplyContent::Items(items), .. } = &words(&said)[0] else { panic!() };
    assert_eq!(items.len(), 2);
}

#[test]
fn a_question_is_answered_in_the_middle_of_a_turn_beside_a_later_delivery() {
    let answer = |id| PumpAnswer { delivery: "d1".into(), id, payload: None }.to_document();
    let other = Payload::write(NS, "other", |_| ());
    let stray = PumpAnswer { delivery: "d0".into(), id: 1, payload: Some(other) }.to_document();
    let (input, mut pump) = open_input();
    pump.write_all(&lines(&[say("d1", "one"), stray, say("d2", "two")])).unwrap();
    let (mut said, pump) = (Vec::new(), Mutex::new(Some(pump)));
    serve(input, &mut said, |turn| {
        if turn.delivery().stamp.delivery == "d1" {
            let mut pump = pump.lock().unwrap().take().unwrap();
            turn.progress("thinking");
            turn.notice("agent.second-action", "only one");
            for (id, from_seq) in [(1, 0), (2, 4)] {
                pump.write_all(&lines(&[answer(id)])).unwrap();
                assert_eq!(turn.ask(PumpQuestion::View { from_seq, words: false, items: true }), Ok(None));
            }
        }
        shout(turn)
    })
    .unwrap();
    let words = words(&said);
    assert!(matches!(&words[0], ListenerDocument::Progress { words, .. } if words == "thinking"));
    assert!(matches!(&words[1], ListenerDocument::Notice { code, .. } if code == "agent.second-action"));
    assert!(
        matches!(&words[2], ListenerDocument::Ask { id: 1, .. })
            && matches!(&words[3], ListenerDocument::Ask { id: 2, .. })
    );
    assert_eq!(payload_of(&words[4]).1, "ONE");
    assert_eq!(payload_of(&words[5]).1, "TWO");
}

#[test]
fn waiters_get_an_error_when_the_delivery_is_called_back_or_the_pump_is_gone() {
    for is_called_back in [true, false] {
        let (input, mut pump) = open_input();
        pump.write_all(&lines(&[say("d1", "one")])).unwrap();
        let (mut said, pump) = (Vec::new(), Mutex::new(Some(pump)));
        serve(input, &mut said, |turn| {
            let mut pump = pump.lock().unwrap().take();
            match &mut pump {
                Some(pump) if is_called_back => pump.write_all(&lines(&[write_cancel("d1")])).unwrap(),
                _ => pump = None,
            }
            let question = PumpQuestion::View { from_seq: 0, words: false, items: true };
            assert_eq!(turn.ask(question), Err(NotTaken::Over));
            drop(pump);
            shout(turn)
        })
        .unwrap();
        // A question that no one answers any more is not asked.
        let count = words(&said).len();
        assert!(count == 2 || is_called_back && count == 1, "the question, and the reply: {count}");
    }
}

/// An input that is written while the listener works.
fn open_input() -> (impl Read + Send + 'static, std::fs::File) {
    let (reads, writes) = io::pipe().unwrap();
    (reads, std::fs::File::from(std::os::fd::OwnedFd::from(writes)))
}

#[test]
fn g7_a_cancel_is_heard_while_the_function_works_and_its_reply_lets_go_of_the_delivery() {
    let (input, mut pump) = open_input();
    pump.write_all(&lines(&[say("d1", "one")])).unwrap();
    let (mut said, pump, begun) = (Vec::new(), Mutex::new(Some(pump)), Mutex::new(Vec::new()));
    serve(input, &mut said, |turn| {
        begun.lock().unwrap().push(turn.delivery().stamp.delivery.clone());
        let first = pump.lock().unwrap().take();
        if let Some(mut pump) = first {
            assert!(turn.is_wanted());
            let more = [write_cancel("d0"), write_cancel("d3"), say("d2", "two"), say("d3", "three")];
            pump.write_all(&lines(&more)).unwrap();
            // Documents are read in their order, so all others are read with this one.
            pump.write_all(&lines(&[write_cancel("d1")])).unwrap();
            while turn.is_wanted() {
                std::thread::yield_now();
            }
        }
        shout(turn)
    })
    .unwrap();
    let words = words(&said);
    let let_go = ReplyContent::new_failure("listener.cancelled", false, "it was called back");
    assert_eq!(words[0], ListenerDocument::Reply { delivery: "d1".into(), said: let_go.clone() });
    assert_eq!(payload_of(&words[1]), ("d2".to_owned(), "TWO".to_owned()), "the next one is answered");
    assert_eq!(words[2], ListenerDocument::Reply { delivery: "d3".into(), said: let_go });
    let begun = begun.into_inner().unwrap();
    assert_eq!((words.len(), begun), (3, ["d1", "d2"].map(str::to_owned).to_vec()), "d3 is not begun");
}

#[test]
fn g7_work_that_ignores_its_cancel_is_let_go_of_and_the_others_are_answered() {
    let (input, mut pump) = open_input();
    let all: Vec<Vec<u8>> = (0..16).map(|n| say(&format!("d{n:02}"), "one")).collect();
    pump.write_all(&lines(&all)).unwrap();
    let (said, heard) = io::pipe().unwrap();
    let gate = AtomicBool::new(false);
    std::thread::scope(|threads| {
        let gate = &gate;
        threads.spawn(move || {
            serve(input, heard, |turn| {
                if turn.delivery().stamp.delivery == "d07" {
                    while !gate.load(Ordering::Acquire) {
                        std::thread::yield_now();
                    }
                }
                shout(turn)
            })
            .unwrap();
        });
        let mut lines_said = io::BufRead::lines(io::BufReader::new(said)).map(Result::unwrap);
        let answered: Vec<String> = lines_said.by_ref().take(15).collect();
        assert!(answered.iter().all(|line| line.contains(">ONE<")), "{answered:?}");
        pump.write_all(&lines(&[write_cancel("d07")])).unwrap();
        let let_go = lines_said.next().unwrap();
        assert!(let_go.contains("delivery=\"d07\"") && let_go.contains("listener.cancelled"), "{let_go}");
        pump.write_all(&lines(&[say("d16", "two")])).unwrap();
        assert!(lines_said.next().unwrap().contains(">TWO<"));
        gate.store(true, Ordering::Release);
        drop(pump);
        assert_eq!(lines_said.next(), None, "what it returns in the end is not sent");
    });
}

#[test]
fn g7_hundreds_of_deliveries_that_ask_are_answered_after_as_many_late_answers() {
    let (input, mut pump) = open_input();
    let (said, heard) = io::pipe().unwrap();
    let answer =
        |delivery: &str| PumpAnswer { delivery: delivery.into(), id: 1, payload: None }.to_document();
    std::thread::scope(|threads| {
        threads.spawn(move || {
            serve(input, heard, |turn| {
                let question = PumpQuestion::View { from_seq: 0, words: false, items: true };
                let asked = turn.ask(question);
                if asked == Err(NotTaken::Over) { shout(turn) } else { Payload::write(NS, "asked", |_| ()) }
            })
            .unwrap();
        });
        // More than there are threads, then answers that come after the cancel of their delivery.
        let all: Vec<String> = (0..600).map(|n| format!("d{n}")).collect();
        let mut writes = pump.try_clone().unwrap();
        let sent = all.clone();
        threads.spawn(move || {
            for delivery in &sent[..300] {
                let late = [say(delivery, "one"), write_cancel(delivery), answer(delivery)];
                writes.write_all(&lines(&late)).unwrap();
            }
            for delivery in &sent[300..] {
                writes.write_all(&lines(&[say(delivery, "one")])).unwrap();
            }
        });
        let mut left: std::collections::BTreeSet<String> = all.into_iter().collect();
        for line in io::BufRead::lines(io::BufReader::new(said)).map(Result::unwrap) {
            let word = ListenerDocument::parse(line.as_bytes(), &DocumentLimits::default()).unwrap();
            let delivery = word.delivery().to_owned();
            match &word {
                ListenerDocument::Ask { .. } => pump.write_all(&lines(&[answer(&delivery)])).unwrap(),
                _ => assert!(left.remove(&delivery), "{delivery} is answered twice"),
            }
            if left.is_empty() {
                break;
            }
        }
        drop(pump);
    });
}

#[test]
fn g7_a_function_that_panics_fails_its_delivery_and_the_program_lives() {
    let mut said = Vec::new();
    let input = Cursor::new(lines(&[say("d1", "one"), say("d2", "two"), say("d3", "three")]));
    serve(input, &mut said, |turn| match turn.delivery().stamp.delivery.as_str() {
        "d1" => panic!("no {}", "luck"),
        "d2" => Payload::write(NS, "shouted", |inside| inside.text(&"x".repeat(9 << 20))),
        _ => shout(turn),
    })
    .unwrap();
    let words = words(&said);
    let crashed = ReplyContent::new_failure("listener.error", false, "the listener crashed: no luck");
    assert_eq!(words[0], ListenerDocument::Reply { delivery: "d1".into(), said: crashed });
    let ListenerDocument::Reply { said: ReplyContent::Failure { code, words: why, .. }, .. } = &words[1]
    else {
        panic!("{:?}", words[1])
    };
    assert_eq!(code, "reply.too-large");
    assert!(why.starts_with("the reply has 9437") && why.contains("put-blob"), "{why}");
    assert_eq!(payload_of(&words[2]).1, "THREE");
}

#[test]
fn g7_documents_that_are_unknown_are_skipped() {
    let hint = b"<hint xmlns='urn:systole:listener:v1' delivery='d1'/>".to_vec();
    let other = b"<message xmlns='https://xml-pipeline.org/ns/envelope/v2'><x xmlns='u'/></message>".to_vec();
    let mut said = Vec::new();
    serve(Cursor::new(lines(&[hint, say("d1", "one"), other])), &mut said, shout).unwrap();
    assert_eq!(words(&said).iter().map(payload_of).collect::<Vec<_>>(), [("d1".into(), "ONE".into())]);
}

#[test]
fn what_is_no_document_of_a_pump_ends_the_listener() {
    let ended = serve(&b"hello\n"[..], io::sink(), shout).unwrap_err();
    assert_eq!(ended.kind(), io::ErrorKind::InvalidData, "{ended}");
}
