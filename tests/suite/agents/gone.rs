//! A model that is away for a span of time, in each way in which models are away, and comes back: nothing fails, and
//! almost no one asks meanwhile.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use super::house::{AgentHouse, AgentPlan};
use crate::program::PATIENCE;

/// How a model is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Away {
    /// It says that it is overloaded.
    Overloaded,
    /// Nothing listens at its address.
    Refused,
    /// It begins to answer, and its first event is an error.
    ErrorEvent,
}

const ERROR_EVENT: &str = "data: {\"error\": {\"message\": \"The server is overloaded\", \"type\": \"server_error\", \"code\": 503}}\n\n";

/// A server before a model. It stands for a model that is away until `is_back` is set.
struct Front {
    address: SocketAddr,
    is_back: Arc<AtomicBool>,
    /// The connections that came while it was away.
    asked: Arc<AtomicUsize>,
}

impl Front {
    fn before(model: SocketAddr, away: Away) -> Front {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let front = Front { address, is_back: Arc::default(), asked: Arc::default() };
        let (is_back, asked) = (front.is_back.clone(), front.asked.clone());
        std::thread::spawn(move || {
            let listener = if away == Away::Refused {
                drop(listener);
                while !is_back.load(Ordering::SeqCst) {
                    std::thread::park_timeout(Duration::from_millis(20));
                }
                TcpListener::bind(address).unwrap()
            } else {
                listener
            };
            for near in listener.incoming().flatten() {
                if is_back.load(Ordering::SeqCst) {
                    std::thread::spawn(move || joins(near, model));
                } else {
                    asked.fetch_add(1, Ordering::SeqCst);
                    std::thread::spawn(move || refuses(near, away));
                }
            }
        });
        front
    }
}

fn joins(near: TcpStream, model: SocketAddr) {
    let far = TcpStream::connect(model).unwrap();
    let (mut from, mut to) = (near.try_clone().unwrap(), far.try_clone().unwrap());
    std::thread::spawn(move || std::io::copy(&mut from, &mut to));
    // The one that hangs up first ends it.
    let _ended = std::io::copy(&mut &far, &mut &near);
    let _closed = near.shutdown(std::net::Shutdown::Both);
}

fn refuses(mut near: TcpStream, away: Away) {
    let mut bytes = [0; 65_536];
    let mut head = Vec::new();
    while !is_whole(&head) {
        match near.read(&mut bytes) {
            Ok(count) if count > 0 => head.extend_from_slice(&bytes[..count]),
            _ => return,
        }
    }
    let (status, kind, body) = match away {
        Away::ErrorEvent => ("200 OK", "text/event-stream", ERROR_EVENT),
        Away::Overloaded | Away::Refused => ("503 Service Unavailable", "application/json", "{}"),
    };
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    );
    let _sent = near.write_all(answer.as_bytes());
}

/// Whether a request has come as far as its header says.
fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().unwrap())
    });
    body.len() >= length.unwrap_or(0)
}

/// Twelve calls meet a model that is away for so long.
fn is_waited_for(away: Away, span: Duration) {
    let plan = AgentPlan {
        replies: "[{say: I am back., times: always}]",
        agent: ", in_flight: 12",
        rest: "budgets: {wall: 20s}",
        ..AgentPlan::default()
    };
    let house = AgentHouse::build(&plan);
    let front = Front::before(house.mock.address(), away);
    let file = house.path().join("organism.yaml");
    let yaml = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, yaml.replace(&house.mock.url(), &format!("http://{}", front.address))).unwrap();
    let running = house.run();
    let began = Instant::now();
    for number in 0..12 {
        let question = format!("Where are you, {number}?");
        let sent = house.systole(&["send", "ask", &question, "--to", "helper", "--no-wait"]);
        assert_eq!(sent.code, Some(0), "{sent:?}");
    }
    let kinds = || house.systole(&["log", "--json"]).kinds();
    let count = |kinds: &[String], kind: &str| kinds.iter().filter(|one| *one == kind).count();
    while began.elapsed() < span || count(&kinds(), "attempt/waits") < 12 {
        assert!(began.elapsed() < span + PATIENCE, "{:?}", kinds());
        std::thread::park_timeout(Duration::from_secs(1));
    }
    let asked = front.asked.load(Ordering::SeqCst);
    front.is_back.store(true, Ordering::SeqCst);
    // The pause before the next look is at most a quarter more than five minutes.
    let end = Instant::now() + PATIENCE + Duration::from_secs(375);
    while count(&kinds(), "message/final") < 12 {
        assert!(Instant::now() < end, "{:?}", kinds());
        std::thread::park_timeout(Duration::from_secs(1));
    }
    let all = kinds();
    let failed = all.iter().filter(|kind| kind.starts_with("outcome/")).count();
    assert_eq!((failed, count(&all, "steer/budget")), (0, 0), "{all:?}");
    // Each that was out when it went away asks three times, each look once.
    let looks = 5 + span.as_secs() / 100;
    assert!(asked as u64 <= 12 * 3 + looks, "{away:?}: {asked} requests in {span:?}");
    println!("{away:?} for {span:?}: {asked} requests meanwhile, all answered after {:?}", began.elapsed());
    running.interrupt();
    house.judged();
}

fn all_ways(span: Duration) {
    std::thread::scope(|scope| {
        for away in [Away::Overloaded, Away::Refused, Away::ErrorEvent] {
            scope.spawn(move || is_waited_for(away, span));
        }
    });
}

#[test]
fn b21_a_model_that_is_away_for_five_seconds_in_any_way_fails_no_call() {
    all_ways(Duration::from_secs(5));
}

#[test]
#[ignore = "minutes; part of make soak"]
fn b21_a_model_that_is_away_for_ten_minutes_in_any_way_fails_no_call() {
    all_ways(Duration::from_mins(10));
}
