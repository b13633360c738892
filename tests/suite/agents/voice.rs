//! A person who asks at a terminal: the words of a model as they arrive, the calls, the answer, and Ctrl-C. The
//! output is the same whether the organism runs in the asking process or in another one.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use rustix::process::Signal;
use systole_mock_model::AnswerEnd;

use super::house::{AgentHouse, AgentPlan, KEY};
use crate::program::{Events, PATIENCE, Running, run_file, systole_with};
use crate::terminal::{CTRL_C, Terminal, lines_that_stay};

/// Words that arrive in small pieces. The model holds back the later ones.
const HELD_BACK: &str = r#"{say: "First words come. And then the rest.", chunk: 6, hold: And th}"#;

/// The two ways to an organism.
const WAYS: [bool; 2] = [false, true];

fn house(replies: &[&str]) -> AgentHouse {
    let replies: Vec<String> = replies.iter().map(|reply| format!("- {reply}")).collect();
    AgentHouse::build(&AgentPlan { replies: &replies.join("\n"), ..AgentPlan::default() })
}

/// The organism in another process, if that way is tested.
fn elsewhere(house: &AgentHouse, is_elsewhere: bool) -> Option<Running> {
    is_elsewhere.then(|| house.run())
}

fn at_terminal(house: &AgentHouse, arguments: &[&str]) -> Terminal {
    Terminal::start(house.path(), arguments, &[("MODEL_KEY", KEY)])
}

#[test]
fn b18_the_first_words_are_on_the_terminal_while_the_model_holds_back_the_rest() {
    for is_elsewhere in WAYS {
        let house = house(&[HELD_BACK]);
        let organism = elsewhere(&house, is_elsewhere);
        let mut terminal = at_terminal(&house, &["ask", "What?"]);
        terminal.shows("helper: First words come.");
        assert!(!terminal.seen().contains("the rest"), "{}", terminal.seen());
        assert_eq!(house.mock.seen()[0].end, AnswerEnd::Open, "the model has not said all");
        house.mock.release();
        let (code, screen) = terminal.end();
        assert_eq!(code, Some(0), "{screen}");
        assert_eq!(lines_that_stay(&screen), ["First words come. And then the rest."], "{screen}");
        drop(organism.map(Running::interrupt));
    }
}

#[test]
fn b18_streamed_model_output_is_shown_as_thought_and_call_while_it_arrives() {
    for is_elsewhere in WAYS {
        let replies = concat!(
            r#"- {say: "<thinking>I look.</thinking><search><query>moon</query></search>", chunk: 28, hold: /search>}"#,
            "\n- {say: \"<attempt_completion><result>It is there.</result></attempt_completion>\"}"
        );
        let house = AgentHouse::build(&AgentPlan { dialect: "xml", replies, ..AgentPlan::default() });
        let organism = elsewhere(&house, is_elsewhere);
        let mut terminal = at_terminal(&house, &["ask", "Where is the moon?"]);
        terminal.shows("helper thinks: I look.");
        terminal.shows("helper → search: query=\"moon\"");
        assert_eq!(house.mock.seen()[0].end, AnswerEnd::Open, "the model has not said all");
        house.mock.release();
        let (code, screen) = terminal.end();
        assert_eq!(code, Some(0), "{screen}");
        assert!(!screen.contains("<thinking>"), "no markup is shown: {screen}");
        let lines = lines_that_stay(&screen);
        assert_eq!(lines.last().unwrap(), "It is there.", "{screen}");
        assert!(!lines.join("\n").contains("thinks"), "what is said on the way is taken away: {screen}");
        drop(organism.map(Running::interrupt));
    }
}

#[test]
fn b18_the_calls_on_the_way_stand_on_the_terminal_in_the_same_lines_either_way() {
    let screens = WAYS.map(|is_elsewhere| {
        let house = house(&[
            r#"{say: I look., call: {search: {query: one}}}"#,
            r#"{call: {serch_it: {query: x}}}"#,
            r#"{say: The moon is there.}"#,
        ]);
        let organism = elsewhere(&house, is_elsewhere);
        let (code, screen) = at_terminal(&house, &["ask", "Where is the moon?"]).end();
        assert_eq!(code, Some(0), "{screen}");
        drop(organism.map(Running::interrupt));
        lines_that_stay(&screen)
    });
    assert_eq!(screens[0], screens[1]);
    let all = screens[1].join("\n");
    for wanted in ["✓ 1 search search", "\"FOUND one\"", "✓ 3 answer \"The moon is there.\"", "sess-"] {
        assert!(all.contains(wanted), "wanted {wanted:?}: {all}");
    }
    assert_eq!(screens[1].last().unwrap(), "The moon is there.");
}

#[test]
fn b10_ctrl_c_stops_the_question_alone_wherever_the_organism_runs() {
    for is_elsewhere in WAYS {
        let house = house(&[HELD_BACK, "{say: I am still there.}"]);
        let organism = elsewhere(&house, is_elsewhere);
        let mut terminal = at_terminal(&house, &["ask", "What?"]);
        terminal.shows("helper: First words come.");
        terminal.types(CTRL_C);
        let (code, screen) = terminal.end();
        assert_eq!(code, Some(130), "{screen}");
        assert_eq!(lines_that_stay(&screen), ["cancelled request 1 of thread sess-"], "{screen}");
        let gone = house.mock.wait(PATIENCE, |seen| seen.iter().all(|one| one.end == AnswerEnd::Gone));
        assert!(gone.is_ok(), "the model is not asked any more: {gone:?}");
        let log = house.told();
        assert!(log.contains("cancelled by operator") && !log.contains("the thread ends"), "{log}");
        let next = house.ask("And now?");
        assert_eq!((next.code, next.stdout.as_str()), (Some(0), "I am still there.\n"), "{next:?}");
        drop(organism.map(Running::interrupt));
        house.judged();
    }
}

#[test]
fn b10_ctrl_c_in_a_conversation_stops_the_question_and_ends_it_wherever_the_organism_runs() {
    for is_elsewhere in WAYS {
        let house = house(&["{say: Hello.}", HELD_BACK]);
        let organism = elsewhere(&house, is_elsewhere);
        let mut terminal = at_terminal(&house, &["ask"]);
        terminal.shows("> ");
        terminal.types("Hi\n");
        terminal.shows("Hello.\r\n> ");
        terminal.types("What?\n");
        terminal.shows("helper: First words come.");
        terminal.types(CTRL_C);
        let (code, screen) = terminal.end();
        assert_eq!(code, Some(130), "{screen}");
        assert!(screen.contains("cancelled request 2 of thread sess-"), "{screen}");
        let log = house.told();
        assert!(log.contains("cancelled by operator") && log.contains("Hello."), "{log}");
        assert!(!log.contains("the thread ends"), "{log}");

        let mut idle = at_terminal(&house, &["ask"]);
        idle.shows("> ");
        idle.types(CTRL_C);
        let (code, screen) = idle.end();
        assert_eq!(code, Some(130), "{screen}");
        assert!(!screen.contains("cancelled"), "there was nothing to cancel: {screen}");
        drop(organism.map(Running::interrupt));
    }
}

#[test]
fn b18_two_that_ask_at_once_each_hear_their_own_thread_alone() {
    let house = house(&[
        r#"{say: "Alpha has words. Alpha is all.", chunk: 17, hold: is all}"#,
        r#"{say: "Beta has its own. Beta is all.", chunk: 18, hold: is all}"#,
    ]);
    let organism = house.run();
    let mut alpha = at_terminal(&house, &["ask", "alpha?"]);
    alpha.shows("helper: Alpha has words.");
    let mut beta = at_terminal(&house, &["ask", "beta?"]);
    beta.shows("helper: Beta has its own.");
    house.mock.release();
    let (alpha, beta) = (alpha.end(), beta.end());
    organism.interrupt();
    assert_eq!((alpha.0, beta.0), (Some(0), Some(0)), "{alpha:?} {beta:?}");
    assert!(alpha.1.contains("Alpha is all.") && !alpha.1.contains("Beta"), "{alpha:?}");
    assert!(beta.1.contains("Beta is all.") && !beta.1.contains("Alpha"), "{beta:?}");
}

#[test]
fn b18_a_kill_in_the_middle_is_reported_without_claiming_a_result() {
    let house = house(&[HELD_BACK, "{say: The moon is there.}"]);
    let organism = house.run();
    let mut terminal = at_terminal(&house, &["ask", "Where?"]);
    terminal.shows("helper: First words come.");
    organism.signal(Signal::KILL);
    organism.end();
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(5), "{screen}");
    let told = "\u{1b}[31merror:\u{1b}[0m the organism stopped before the answer; thread sess- goes on when it runs again";
    assert_eq!(lines_that_stay(&screen), [told], "{screen}");
}

/// A proxy in front of the organism. It forwards everything except the first request that begins with this text: that
/// client is left waiting, and handed to the test.
fn door_that_keeps(house: &AgentHouse, request: &'static str) -> Receiver<TcpStream> {
    let file = house.path().join("hello.db.run");
    let (run, door) = (run_file(house.path()), TcpListener::bind("127.0.0.1:0").unwrap());
    let before = std::fs::read_to_string(&file).unwrap();
    let other = before.replace(&run.address.to_string(), &door.local_addr().unwrap().to_string());
    assert_ne!(before, other);
    std::fs::write(file, other).unwrap();
    let (to_test, kept) = sync_channel(1);
    // It waits for the next until the test process ends.
    std::thread::spawn(move || {
        while let Ok((asks, _)) = door.accept() {
            let (to_test, to) = (to_test.clone(), run.address);
            std::thread::spawn(move || pass_on(asks, to, request, &to_test));
        }
    });
    kept
}

fn pass_on(mut asks: TcpStream, to: SocketAddr, request: &str, to_test: &SyncSender<TcpStream>) {
    let mut answers = TcpStream::connect(to).unwrap();
    let (mut said, mut heard) = (answers.try_clone().unwrap(), asks.try_clone().unwrap());
    // It ends with its connection.
    std::thread::spawn(move || std::io::copy(&mut said, &mut heard));
    let mut some = [0; 1 << 16];
    while let Ok(read @ 1..) = asks.read(&mut some) {
        if some[..read].starts_with(request.as_bytes()) {
            to_test.send(asks).unwrap();
            return;
        }
        answers.write_all(&some[..read]).unwrap();
    }
}

#[test]
fn b18_an_answer_on_disk_is_printed_after_the_organism_was_killed() {
    let house = house(&["{say: The moon is there.}"]);
    let organism = house.run();
    let run = run_file(house.path());
    let kept = door_that_keeps(&house, "GET /v1/events");
    let path = house.path().to_owned();
    let asking = std::thread::spawn(move || systole_with(&path, &["ask", "Where?"], &[("MODEL_KEY", KEY)]));
    let mut waits = kept.recv_timeout(PATIENCE).unwrap();
    let mut events = Events::open(&run, "?from=0", &[]);
    while events.next().expect("a final").2["code"] != "final" {}
    organism.signal(Signal::KILL);
    organism.end();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    waits.write_all(head.as_bytes()).unwrap();
    waits.shutdown(Shutdown::Both).unwrap();
    let asked = asking.join().unwrap();
    assert_eq!((asked.code, asked.stdout.as_str()), (Some(0), "The moon is there.\n"), "{asked:?}");
}

#[test]
fn b10_ctrl_c_twice_leaves_at_once_and_claims_nothing() {
    let house = house(&[HELD_BACK]);
    let organism = house.run();
    let kept = door_that_keeps(&house, "POST /v1/threads");
    let mut terminal = at_terminal(&house, &["ask", "What?"]);
    terminal.shows("helper: First words come.");
    terminal.types(CTRL_C);
    let unanswered = kept.recv_timeout(PATIENCE).unwrap();
    terminal.types(CTRL_C);
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(130), "{screen}");
    assert_eq!(lines_that_stay(&screen).concat().matches("cancelled").count(), 0, "{screen}");
    drop(unanswered);
    assert!(!house.told().contains("cancelled"), "{}", house.told());
    organism.interrupt();
}

#[test]
fn ctrl_c_ends_the_waiting_of_send_and_the_thread_goes_on() {
    let house = house(&[HELD_BACK]);
    let organism = house.run();
    let mut terminal = at_terminal(&house, &["send", "ask", "What?"]);
    terminal.shows("helper: First words come.");
    terminal.types(CTRL_C);
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(130), "{screen}");
    assert_eq!(lines_that_stay(&screen).last().unwrap(), "stopping; thread sess- goes on", "{screen}");
    assert_eq!(house.mock.seen()[0].end, AnswerEnd::Open);
    house.mock.release();
    let mut events = Events::open(&run_file(house.path()), "?from=0", &[]);
    while events.next().expect("a final").2["code"] != "final" {}
    organism.interrupt();
}

#[test]
fn b18_the_words_of_an_answer_on_its_way_say_their_place_in_it() {
    const WHOLE: &str = "First words come,\n\nthen others.";
    let house = house(&[r#"{say: "\n First words come,\n\nthen others. \n", chunk: 7, hold: others}"#]);
    let organism = house.run();
    let mut events = Events::open(&run_file(house.path()), "?from=0&voice=true", &[]);
    let path = house.path().to_owned();
    let asking = std::thread::spawn(move || systole_with(&path, &["ask", "What?"], &[("MODEL_KEY", KEY)]));
    let mut answer = String::new();
    let last = loop {
        let (_, event, data) = events.heard().expect("a final");
        if event == "spoken" {
            assert_eq!((&data["part"], &data["at"]), (&"answer".into(), &answer.len().into()), "{data}");
            answer.push_str(data["words"].as_str().unwrap());
            assert!(WHOLE.starts_with(&answer), "{answer:?}");
            if answer.contains("come,") {
                house.mock.release();
            }
        } else if data["code"] == "final" {
            break data;
        }
    };
    assert!(answer.contains("come,"), "{answer:?}");
    assert!(last["body"].as_str().unwrap().contains(&format!(">{WHOLE}<")), "{last}");
    assert_eq!(asking.join().unwrap().stdout, format!("{WHOLE}\n"));
    organism.interrupt();
}
