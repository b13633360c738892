//! The kit's worker over a real broker that enforces rights: workers in this process and in others, with the organism
//! in its own process.

use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use rustix::process::Signal;
use systole_kit::Payload;
use systole_kit::ask::PumpQuestion;
use systole_kit::journal::{JournalEntry, ModelCallOutcome, ModelStarted};
use systole_kit::nats::{Worker, WorkerEvent, WorkerFault};

use crate::over_nats::without_waits;
use crate::program::{Events, PATIENCE, run_file};
use crate::workers::{KIND, Serving, TALK, WorkerHouse, answer, final_of, gate};

#[path = "../../listeners/kit/examples/echo_nats.rs"]
mod echo_nats;

/// Runs as a worker in a separate process of this suite.
#[test]
#[ignore = "started by other tests"]
fn process_that_works() {
    let ended = match std::env::var(KIND).as_deref() {
        Ok("echo") => echo_nats::main(),
        Ok("hangs") => Worker::from_environment().answer_each(|turn| -> Payload {
            turn.progress("at it");
            loop {
                std::thread::park();
            }
        }),
        _ => return,
    };
    assert_eq!(ended, ExitCode::SUCCESS);
}

#[tokio::test(flavor = "multi_thread")]
async fn d2_a_rust_listener_answers_with_its_own_rights_and_its_service_statistics_are_found() {
    let house = WorkerHouse::open("");
    let worker = house.process("echo");
    worker.says("connected");
    let asked = house.systole(&["ask", "Who?"]);
    assert_eq!((asked.code, asked.stdout.trim_end()), (Some(0), "You said: Who?"), "{asked:?}");
    assert_eq!(house.told(), ["message/request", "message/final"]);
    let ping = house.service("$SRV.PING.echo").await;
    assert_eq!((&ping["name"], &ping["version"]), (&"echo".into(), &"1.0.0".into()), "{ping}");
    let info = house.service("$SRV.INFO").await;
    let endpoint = &info["endpoints"][0];
    assert_eq!((&endpoint["subject"], &info["id"]), (&"o.shop.dlv.echo".into(), &ping["id"]), "{info}");
    assert_eq!(endpoint["metadata"]["accepts"], "{https://xml-pipeline.org/ns/talk/v1}ask");
    assert_eq!(
        (&info["metadata"]["accepts"], &info["description"]),
        (&"ask".into(), &"Says what it was asked".into())
    );
    let stats = house.service("$SRV.STATS.echo").await;
    let stats = &stats["endpoints"][0];
    assert_eq!((&stats["num_requests"], &stats["num_errors"]), (&1.into(), &0.into()), "{stats}");
    assert!(stats["average_processing_time"].as_u64().unwrap() > 0, "{stats}");
    worker.stops();
}

#[tokio::test(flavor = "multi_thread")]
async fn d4_a_rust_and_a_python_worker_share_one_name() {
    let house = WorkerHouse::open(", in_flight: 16");
    let (gate, door) = gate();
    let worker = Serving::of(house.worker(), move |turn| {
        door.pass(turn);
        answer("Rust")
    });
    let mut events = house.events();
    let mut threads = vec![house.sends("0")];
    gate.comes();
    // While one worker is full, the other takes what comes.
    let _python = house.python();
    threads.extend((1..10).map(|number| house.sends(&number.to_string())));
    let mut said: Vec<String> = (0..9).map(|_| final_of(&mut events)).collect();
    assert!(said.iter().all(|said| said.contains(">You said: ")), "{said:?}");
    gate.opens();
    said.push(final_of(&mut events));
    assert!(said[9].contains(">Rust<"), "{said:?}");
    for thread in &threads {
        assert_eq!(without_waits(house.told_of(thread)), ["message/request", "message/final"]);
    }
    assert_eq!(worker.stops().await, [WorkerEvent::Connected]);
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_after_a_rust_worker_is_killed_another_worker_gets_the_next_attempt() {
    let house = WorkerHouse::open(", idle: 2s, retry: {backoff: 1ms..1ms}");
    let worker = house.process("hangs");
    worker.says("connected");
    let mut voices = Events::open(&run_file(house.path()), "?voice=true", &[]);
    house.sends("hi");
    let spoken = std::iter::from_fn(|| voices.heard()).find(|(_, name, _)| name == "spoken");
    assert_eq!(spoken.unwrap().2["words"], "at it");
    worker.kill();
    let attempts = Arc::new(Mutex::new(Vec::new()));
    let seen = attempts.clone();
    let other = Serving::of(house.worker(), move |turn| {
        seen.lock().unwrap().push(turn.delivery().stamp.attempt);
        answer("the other")
    });
    assert!(final_of(&mut voices).contains(">the other<"));
    assert_eq!(house.told(), ["message/request", "attempt/listener.lost", "message/final"]);
    other.stops().await;
    assert_eq!(*attempts.lock().unwrap(), [2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn d2_a_worker_with_two_slots_works_on_two_and_no_more_and_renews_both() {
    let house = WorkerHouse::open(", in_flight: 8, idle: 2s");
    let (together, at_once) = (Barrier::new(2), AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let seen = most.clone();
    let worker = Serving::of(house.worker().slots(2).renew_every(Duration::from_millis(100)), move |_| {
        seen.fetch_max(at_once.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        // With only one slot, this would wait forever.
        together.wait();
        at_once.fetch_sub(1, Ordering::SeqCst);
        answer("done")
    });
    let mut events = house.events();
    let threads: Vec<String> = (0..8).map(|number| house.sends(&number.to_string())).collect();
    (0..8).for_each(|_| assert!(final_of(&mut events).contains(">done<")));
    assert_eq!(most.load(Ordering::SeqCst), 2);
    for thread in &threads {
        assert_eq!(house.told_of(thread), ["message/request", "message/final"]);
    }
    worker.stops().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_a_worker_renews_for_as_long_as_it_works_and_longer_than_idle() {
    let house = WorkerHouse::open(", idle: 2s, timeout: 60s");
    let (gate, door) = gate();
    let worker = Serving::of(house.worker().renew_every(Duration::from_millis(50)), move |turn| {
        door.pass(turn);
        answer("late and in time")
    });
    let mut events = house.events();
    let thread = house.sends("hi");
    gate.comes();
    house.idles().await;
    gate.opens();
    assert!(final_of(&mut events).contains(">late and in time<"));
    assert_eq!(house.told_of(&thread), ["message/request", "message/final"]);
    worker.stops().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_the_author_of_a_refused_reply_gets_the_refusal_and_does_not_resend() {
    let house = WorkerHouse::open(", in_flight: 2, idle: 2s, retry: {backoff: 1ms..1ms}");
    let (gate, door) = gate();
    // It sends no renewal while it works.
    let silent = house.worker().slots(2).renew_every(Duration::from_secs(3600));
    let worker = Serving::of(silent, move |turn| {
        if turn.delivery().stamp.attempt == 1 {
            door.pass(turn);
            return answer("late");
        }
        answer("in time")
    });
    let mut events = house.events();
    house.sends("hi");
    gate.comes();
    assert!(final_of(&mut events).contains(">in time<"));
    gate.opens();
    let refused = loop {
        let (_, _, record) = events.next().unwrap();
        if record["kind"] == "refusal" {
            break record;
        }
    };
    assert_eq!(refused["code"], "reply.stale-lease", "{refused}");
    let news = worker.stops().await;
    let [WorkerEvent::Connected, WorkerEvent::Refused { code, words, .. }] = &news[..] else {
        panic!("{news:?}")
    };
    assert_eq!(code, "reply.stale-lease");
    assert!(!words.is_empty());
    let told = house.told();
    assert_eq!(told.iter().filter(|one| one.starts_with("refusal/")).count(), 1, "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn d2_a_worker_that_is_to_stop_finishes_what_it_has_and_takes_nothing_more() {
    let house = WorkerHouse::open(", in_flight: 2, idle: 2s");
    let (gate, door) = gate();
    let mut worker = Serving::of(house.worker(), move |turn| {
        door.pass(turn);
        answer("the first")
    });
    let mut events = house.events();
    let first = house.sends("one");
    gate.comes();
    worker.is_to_stop();
    let second = house.sends("two");
    gate.opens();
    assert!(final_of(&mut events).contains(">the first<"));
    assert_eq!(worker.stops().await, [WorkerEvent::Connected]);
    let next = Serving::of(house.worker(), |_| answer("the next"));
    assert!(final_of(&mut events).contains(">the next<"));
    for thread in [first, second] {
        assert_eq!(
            house.told_of(&thread),
            ["message/request", "message/final"],
            "nothing was lost on its way"
        );
    }
    next.stops().await;
}

/// A delivery may come while the worker is being stopped: it is worked on too. The process is suspended until both
/// are there.
#[tokio::test(flavor = "multi_thread")]
async fn d7_a_delivery_that_meets_a_worker_on_its_way_out_is_answered_in_its_first_attempt() {
    let house = WorkerHouse::open(", idle: 5s");
    let pump = async_nats::jetstream::new(house.client("_pump", "_INBOX_pump_shop").await);
    let bus = pump.get_stream("SYSTOLE_shop_BUS").await.unwrap();
    let mut events = house.events();
    // It is chance which of the two it reads first.
    for _ in 0..8 {
        let worker = house.process("echo");
        let consumer = async || bus.consumer_info("echo").await.unwrap();
        while consumer().await.num_waiting == 0 {
            tokio::task::yield_now().await;
        }
        worker.signal(Signal::STOP);
        let thread = house.sends("hi");
        while consumer().await.num_ack_pending == 0 {
            tokio::task::yield_now().await;
        }
        worker.signal(Signal::TERM);
        worker.signal(Signal::CONT);
        worker.ends();
        assert!(final_of(&mut events).contains(">You said: hi<"));
        assert_eq!(house.told_of(&thread), ["message/request", "message/final"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_a_worker_answers_over_a_broker_that_was_killed_and_came_back() {
    let mut house = WorkerHouse::open(", timeout: 60s");
    let (gate, door) = gate();
    let passed = AtomicUsize::new(0);
    let worker = Serving::of(house.worker(), move |turn| {
        // Only the first turn waits: a broker that was killed may hand over a delivery again, answered or not.
        if passed.fetch_add(1, Ordering::SeqCst) == 0 {
            door.pass(turn);
        }
        answer(&turn.request().text())
    });
    let mut events = house.events();
    let first = house.sends("before");
    gate.comes();
    house.server.kill();
    gate.opens();
    house.server.start_again();
    assert!(final_of(&mut events).contains(">before<"));
    house.sends("after");
    assert!(final_of(&mut events).contains(">after<"));
    let told = house.told_of(&first);
    assert_eq!(told.iter().filter(|one| *one == "message/final").count(), 1, "{told:?}");
    let news = worker.stops().await;
    assert!(news.contains(&WorkerEvent::Away { words: "the connection broke".to_owned() }), "{news:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_a_reply_is_sent_again_until_an_organism_that_was_killed_is_back() {
    let mut house = WorkerHouse::open(", timeout: 60s");
    let (gate, door) = gate();
    let worker = Serving::of(house.worker(), move |turn| {
        door.pass(turn);
        answer("once")
    });
    let thread = house.sends("hi");
    gate.comes();
    house.kills_organism();
    // No pump reads the reply now.
    gate.opens();
    house.starts();
    // The delivery is handed over again, and this time a pump reads the reply.
    gate.opens();
    while !house.told_of(&thread).contains(&"message/final".to_owned()) {
        tokio::task::yield_now().await;
    }
    worker.stops().await;
    let told = house.told_of(&thread);
    assert_eq!(told.iter().filter(|one| *one == "message/final").count(), 1, "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn d2_a_rust_worker_asks_keeps_a_journal_leaves_a_notice_and_is_heard() {
    let house = WorkerHouse::open("");
    let (tell, told) = sync_channel(1);
    let worker = Serving::of(house.worker(), move |turn| {
        turn.progress("half way");
        turn.notice("own.word", "a word aside");
        let view = turn.ask(PumpQuestion::View { from_seq: 0, words: false, items: true });
        let refused = turn.ask(PumpQuestion::Schema { name: "nothing".to_owned(), element: None, from: 0 });
        let section = turn.ask(PumpQuestion::Configuration { path: "listeners.echo".to_owned(), from: 0 });
        let started = ModelStarted {
            model: "own".to_owned(),
            prompt: "a".repeat(64),
            guided: None,
            reserve_tokens: Some(9),
            reserve_money: None,
            wait_ms: None,
        };
        let start = turn.journal(JournalEntry::Started(started)).unwrap();
        let outcome = ModelCallOutcome {
            of: start,
            stop: "end".to_owned(),
            text: "words".to_owned(),
            blobs: Vec::new(),
            details: Box::default(),
            tokens_in: Some(5),
            tokens_out: Some(2),
            money: None,
        };
        turn.journal(JournalEntry::Result(outcome)).unwrap();
        tell.send((view, refused, section)).unwrap();
        answer("that")
    });
    let mut voices = Events::open(&run_file(house.path()), "?voice=true", &[]);
    house.sends("What do I see?");
    let spoken = std::iter::from_fn(|| voices.heard()).find(|(_, name, _)| name == "spoken");
    assert_eq!(spoken.unwrap().2["words"], "half way");
    assert!(final_of(&mut voices).contains(">that<"));
    let (view, refused, section) = told.recv_timeout(PATIENCE).unwrap();
    let section = String::from_utf8(section.unwrap().unwrap().bytes().to_vec()).unwrap();
    assert!(section.contains(" path=\"listeners.echo\"") && section.contains(">nats: true"), "{section}");
    let view = String::from_utf8(view.unwrap().unwrap().bytes().to_vec()).unwrap();
    assert!(view.contains(">What do I see?</"), "{view}");
    assert!(refused.is_err(), "{refused:?}");
    let wanted = [
        "message/request",
        "message/inbox",
        "refusal/route.not-a-peer",
        "journal/model-started",
        "journal/model-result",
        "message/final",
    ];
    assert_eq!(house.told(), wanted);
    worker.stops().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_a_worker_hears_that_it_was_called_back_and_says_nothing_more() {
    let house = WorkerHouse::open("");
    let (tell, told) = sync_channel(2);
    let worker = Serving::of(house.worker(), move |turn| {
        if turn.request().text() == "again" {
            return answer("still there");
        }
        tell.send(()).unwrap();
        while turn.is_wanted() {
            std::thread::yield_now();
        }
        tell.send(()).unwrap();
        answer("late")
    });
    let mut events = house.events();
    let thread = house.sends("hi");
    told.recv_timeout(PATIENCE).unwrap();
    assert_eq!(house.systole(&["cancel", &thread]).code, Some(0));
    told.recv_timeout(PATIENCE).unwrap();
    house.sends("again");
    loop {
        let (_, _, record) = events.next().unwrap();
        if record["code"] == "final" && record["body"].as_str().unwrap().contains(">still there<") {
            break;
        }
    }
    let told = house.told_of(&thread);
    assert!(!told.iter().any(|one| one.starts_with("refusal/")), "{told:?}");
    assert_eq!(worker.stops().await, [WorkerEvent::Connected]);
}

#[tokio::test(flavor = "multi_thread")]
async fn d2_a_worker_that_cannot_answer_so_says_so_in_place_of_it() {
    let house = WorkerHouse::open("");
    let worker = Serving::of(house.worker(), |turn| match turn.request().text().as_str() {
        "much" => answer(&"x".repeat(2 << 20)),
        _ => panic!("it does not know"),
    });
    let asked = house.systole(&["ask", "much"]);
    assert_eq!(asked.code, Some(1), "{asked:?}");
    assert!(asked.stderr.contains("reply.too-large") && asked.stderr.contains("put-blob"), "{asked:?}");
    let asked = house.systole(&["ask", "what"]);
    assert_eq!(asked.code, Some(1), "{asked:?}");
    assert!(asked.stderr.contains("listener.error: the listener crashed: it does not know"), "{asked:?}");
    let stats = house.service("$SRV.STATS.echo").await;
    assert_eq!(stats["endpoints"][0]["num_requests"], 2, "{stats}");
    let news = worker.stops().await;
    let [WorkerEvent::Connected, WorkerEvent::Unsent { words, .. }] = &news[..] else { panic!("{news:?}") };
    assert!(words.starts_with("the reply has 2097"), "{words}");
}

#[tokio::test(flavor = "multi_thread")]
async fn d2_a_workers_reply_that_is_too_large_ends_its_turn_with_the_reason() {
    let house = WorkerHouse::open(", timeout: 10s, retry: {attempts: 1}");
    let worker = Serving::of(house.worker(), |turn| {
        let much = "x".repeat(2 << 20);
        match turn.request().text().as_str() {
            "a notice" => turn.notice("own.word", &much),
            _ => drop(turn.ask(PumpQuestion::PutBlob { bytes: much.into() })),
        }
        answer("this is not heard")
    });
    for what in ["a notice", "a question"] {
        let asked = house.systole(&["ask", what]);
        assert_eq!(asked.code, Some(1), "{what}: {asked:?}");
        assert!(asked.stderr.contains("its message has 2097"), "{what}: {asked:?}");
    }
    worker.stops().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d6_a_worker_without_the_key_of_its_listener_is_told_so() {
    let house = WorkerHouse::open("");
    let url = house.server.url();
    let keyless = Worker::new(&url, "shop", "echo").serve(|_| answer(""), std::future::pending()).await;
    let at = url.replace("nats://", "");
    assert_eq!(keyless, Err(WorkerFault::Forbidden { at, who: "a client without a key" }));
    let wrong = Worker::new(&url, "shop", "echo").key_file(house.key("other"));
    let wrong = Serving::of(wrong, |_| answer("in another one's name"));
    while !wrong.news.lock().unwrap().iter().any(|news| matches!(news, WorkerEvent::Forbidden { .. })) {
        tokio::task::yield_now().await;
    }
    house.sends("hi");
    let right = Serving::of(house.worker(), |_| answer("in its own"));
    assert!(final_of(&mut house.events()).contains(">in its own<"));
    right.stops().await;
    wrong.stops().await;
}

#[tokio::test]
async fn what_is_said_of_a_worker_and_cannot_be_ends_it_before_it_begins() {
    let of = |worker: Worker| worker.serve(|_| answer(""), std::future::pending());
    let to = |listener: &str| Worker::new("nats://127.0.0.1:1", "shop", listener);
    let told = |words: &str| Err(WorkerFault::Told(words.to_owned()));
    assert_eq!(of(to("echo").slots(0)).await, told("slots: 0 is not from 1 to 256"));
    assert_eq!(of(to("echo").version("1.0")).await, told("version: \"1.0\" is not three numbers, as 1.4.0"));
    assert!(
        of(to("Echo")).await.unwrap_err().to_string().starts_with("\"Echo\" is not the name of a listener: ")
    );
    assert!(
        of(to("echo").schema(b"<x/>"))
            .await
            .unwrap_err()
            .to_string()
            .starts_with("the schema cannot be read: ")
    );
    let missing = of(to("echo").key_file("/nowhere/echo.nk")).await.unwrap_err().to_string();
    assert!(missing.starts_with("the key file /nowhere/echo.nk: "), "{missing}");
    let many: Vec<String> = (0..65).map(|number| format!("e{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let many = of(to("echo").accepts(TALK, &many)).await;
    assert_eq!(many, told("accepts and returns: 65 are more than 64, the most that are shown"));
}

#[tokio::test(flavor = "multi_thread")]
async fn d2_ps_counts_the_workers_of_each_name_and_why_says_who_is_missing() {
    let house = WorkerHouse::open("");
    let thread = house.sends("Is anybody there?");
    let ps = house.systole(&["ps"]);
    assert!(ps.stderr.contains("workers over NATS: echo 0, other 0\n"), "{ps:?}");
    for asked in [&["why"][..], &["why", &thread]] {
        let why = house.systole(asked);
        assert!(
            why.stderr.contains("echo: no worker of that name answers at the broker; start one\n"),
            "{why:?}"
        );
        assert!(!why.stderr.contains("other: "), "no call waits for it: {why:?}");
    }
    let (gate, door) = gate();
    let worker = Serving::of(house.worker(), move |turn| {
        door.pass(turn);
        answer("yes")
    });
    gate.comes();
    let why = house.systole(&["why", &thread]);
    assert!(!why.stderr.contains("echo: no worker"), "{why:?}");
    let (python, other) = (house.python(), house.process("echo"));
    other.says("connected");
    let counted = |wanted: u64| {
        let ps = house.systole(&["ps", "--json"]);
        let ps: serde_json::Value = serde_json::from_str(&ps.stdout).unwrap();
        ps["workers"]["echo"] == wanted
    };
    // The Python worker takes its time to start.
    while !counted(3) {
        tokio::task::yield_now().await;
    }
    python.kill();
    while !counted(2) {
        tokio::task::yield_now().await;
    }
    gate.opens();
    worker.stops().await;
}
