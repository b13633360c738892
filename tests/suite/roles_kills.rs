//! Work whose host of listeners, or whose pump, is killed or stopped in the middle.

use std::io::{BufRead as _, BufReader};

use rustix::process::Signal;

use std::net::TcpStream;

use crate::program::{Events, Ran, Running};
use crate::roles::{ProgramGate, RoleHouse, SILENT, comes, lets_in, stops};

/// A house whose till holds a delivery at its host, and does not answer by itself.
struct AtWork {
    door: ProgramGate,
    house: RoleHouse,
    pump: Running,
    host: Running,
    events: Events,
    thread: String,
    first: TcpStream,
}

impl AtWork {
    fn with(more: &str) -> AtWork {
        let door = ProgramGate::open();
        let house = RoleHouse::build(SILENT, &door, more);
        let (pump, host) = (house.pumps(), house.hosts_one("till"));
        let events = house.events("");
        let thread = house.sends("hold this");
        let first = door.comes();
        AtWork { door, house, pump, host, events, thread, first }
    }

    /// Lets another host do it as a second attempt, once the first host has ended; returns how the first
    /// ended.
    fn goes_to_another(mut self) -> Ran {
        let ended = self.host.end();
        drop(self.first);
        let other = self.house.hosts_one("till");
        lets_in(self.door.comes());
        comes(&mut self.events, &self.thread, "final");
        let told = self.house.told(&self.thread);
        assert_eq!(told, ["message/request", "attempt/listener.lost", "message/final"]);
        assert_eq!(stops(other).code, Some(0));
        assert_eq!(stops(self.pump).code, Some(0));
        ended
    }
}

#[test]
fn d7_after_a_host_is_killed_during_a_model_call_a_person_decides() {
    let house = RoleHouse::build("- {hang: true}\n- {say: Done.}\n", &ProgramGate::open(), "");
    let pump = house.pumps();
    let host = house.hosts_one("clerk");
    let mut events = house.events("");
    let thread = house.asks("How much?");
    house.mock.wait(crate::program::PATIENCE, |seen| seen.len() == 1).unwrap();
    host.signal(Signal::KILL);
    assert_eq!(host.end().code, None);
    let waits = std::iter::from_fn(|| events.next()).find(|(_, _, one)| one["kind"] == "approval").unwrap().2;
    assert_eq!(waits["thread"], *thread, "{waits}");
    assert!(waits["body"].as_str().unwrap().contains("model.unknown-outcome"), "{waits}");
    assert_eq!(house.mock.seen().len(), 1, "no model is asked again unasked");
    // Another host continues when a person says so.
    let host = house.hosts_one("clerk");
    let approved = house.systole(&["approve", "a1"]);
    assert_eq!(approved.code, Some(0), "{approved:?}");
    let said = comes(&mut events, &thread, "final");
    assert!(said["body"].as_str().unwrap().contains("Done."), "{said}");
    assert_eq!(stops(host).code, Some(0));
    assert_eq!(stops(pump).code, Some(0));
}

#[test]
fn d7_what_a_killed_host_had_in_hand_is_done_by_another() {
    let work = AtWork::with(", idle: 3s");
    work.host.signal(Signal::KILL);
    assert_eq!(work.goes_to_another().code, None);
}

#[test]
fn d7_a_pump_that_is_killed_while_a_host_works_takes_one_answer() {
    let door = ProgramGate::open();
    let house = RoleHouse::build(SILENT, &door, ", in_flight: 2");
    let pump = house.pumps();
    let host = house.hosts_one("till");
    let thread = house.sends("hold this");
    let first = door.comes();
    pump.signal(Signal::KILL);
    assert_eq!(pump.end().code, None);
    let pump = house.pumps();
    let mut events = house.events("");
    // What it did under the other pump counts.
    lets_in(first);
    comes(&mut events, &thread, "final");
    assert_eq!(house.told(&thread), ["message/request", "message/final"]);
    assert_eq!(stops(host).code, Some(0));
    assert_eq!(stops(pump).code, Some(0));
}

#[test]
fn d7_a_host_that_is_stopped_under_load_loses_nothing_and_doubles_nothing() {
    let house = RoleHouse::build(SILENT, &ProgramGate::open(), ", in_flight: 8");
    let pump = house.pumps();
    let (host, other) = (house.hosts_one("till"), house.hosts_one("till"));
    let mut events = house.events("");
    let mut threads: Vec<String> = (0..50).map(|number| house.sends(&format!("sum {number}"))).collect();
    host.signal(Signal::TERM);
    threads.extend((50..100).map(|number| house.sends(&format!("sum {number}"))));
    let mut finals = 0;
    while finals < threads.len() {
        let (_, _, record) = events.next().unwrap();
        finals += usize::from(record["code"] == "final");
    }
    let ended = host.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("stopped"), "{ended:?}");
    for thread in &threads {
        assert_eq!(house.told(thread), ["message/request", "message/final"]);
    }
    assert_eq!(stops(other).code, Some(0));
    assert_eq!(stops(pump).code, Some(0));
}

#[test]
fn d7_open_deliveries_of_a_stopped_host_are_retried_at_once() {
    // Silence would reveal nothing.
    let mut work = AtWork::with("");
    work.host.signal(Signal::TERM);
    let lost = comes(&mut work.events, &work.thread, "listener.lost");
    assert!(lost["body"].as_str().unwrap().contains("still at work when its host stopped"), "{lost}");
    let ended = work.goes_to_another();
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn d7_a_cancelled_call_is_called_back_and_its_host_is_free_again() {
    let AtWork { door: _door, house, pump, host, mut events, thread, first: caller } = AtWork::with("");
    let cancelled = house.systole(&["cancel", &thread]);
    assert_eq!(cancelled.code, Some(0), "{cancelled:?}");
    // A program that still runs is ended, as it is next to its pump.
    let mut rest = String::new();
    assert_eq!(BufReader::new(&caller).read_line(&mut rest).unwrap_or(0), 0, "{rest}");
    let next = house.sends("two");
    comes(&mut events, &next, "final");
    assert_eq!(house.told(&next), ["message/request", "message/final"]);
    let told = house.told(&thread);
    assert!(!told.iter().any(|line| line.contains("final") || line.contains("attempt")), "{told:?}");
    assert_eq!(stops(host).code, Some(0));
    assert_eq!(stops(pump).code, Some(0));
}
