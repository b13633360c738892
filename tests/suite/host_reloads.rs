//! Hosts that take their file again after HUP, while the pump and the broker run on.

use std::fs;

use rustix::process::Signal;

use crate::broker::NatsServer;
use crate::organism::folder;
use crate::program::{Running, systole};
use crate::roles::{ProgramGate, RoleHouse, SILENT, TILL, comes, lets_in, stops};

/// Changes the file of the host.
fn edit(house: &RoleHouse, before: &str, after: &str) {
    let file = house.host.path().join("organism.yaml");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains(before), "{before}: {text}");
    fs::write(&file, text.replace(before, after)).unwrap();
}

/// Sends a sum, and returns the total with what was recorded.
fn total(house: &RoleHouse, words: &str) -> (String, Vec<String>) {
    let mut events = house.events("");
    let thread = house.sends(words);
    let answer = comes(&mut events, &thread, "final");
    (answer["body"].as_str().unwrap().to_owned(), house.told(&thread))
}

fn says_all(host: &mut Running, wanted: &[&str]) {
    wanted.iter().for_each(|words| drop(host.says(words)));
}

#[test]
fn d9_a_host_takes_its_file_again_after_hup_and_ends_what_is_out_first() {
    let door = ProgramGate::open();
    let house = RoleHouse::build(SILENT, &door, "");
    let (pump, mut host) = (house.pumps(), house.hosts_one("till"));
    fs::write(house.host.path().join("new.py"), TILL.replace("total of ", "new total of ")).unwrap();
    let mut events = house.events("");
    let thread = house.sends("hold");
    let held = door.comes();
    edit(&house, "till.py", "broken.py");
    host.signal(Signal::HUP);
    host.says("reloads: takes no more work");
    // The newest order counts, if its file can be run.
    edit(&house, "organism: {name", "organism: {nam");
    host.signal(Signal::HUP);
    host.says("the reload goes on with the file as it was read before");
    edit(&house, "organism: {nam", "organism: {name");
    edit(&house, "broken.py", "new.py");
    host.signal(Signal::HUP);
    lets_in(held);
    let old = comes(&mut events, &thread, "final");
    assert!(old["body"].as_str().unwrap().contains(">total of hold"), "{old}");
    assert_eq!(house.told(&thread), ["message/request", "message/final"], "one attempt");
    says_all(&mut host, &["shop hosts till", "till: connected"]);
    let (answer, told) = total(&house, "pears");
    assert!(answer.contains(">new total of pears"), "{answer}");
    assert_eq!(told, ["message/request", "message/final"]);
    // A stop while it waits is a stop.
    let thread = house.sends("hold");
    drop(door.comes());
    comes(&mut events, &thread, "final");
    let _held = (house.sends("hold"), door.comes());
    host.signal(Signal::HUP);
    host.says("reloads: takes no more work");
    let ended = stops(host);
    assert!(ended.code == Some(0) && ended.stderr.contains("stopping: "), "{ended:?}");
    assert_eq!(stops(pump).code, Some(0));
}

#[test]
fn d9_what_a_host_has_done_waits_for_a_pump_that_is_away_also_over_a_reload() {
    let door = ProgramGate::open();
    let house = RoleHouse::build(SILENT, &door, "");
    let (pump, mut host) = (house.pumps(), house.hosts_one("till"));
    let (thread, held) = (house.sends("hold"), door.comes());
    assert_eq!(stops(pump).code, Some(0));
    host.signal(Signal::HUP);
    host.says("reloads: takes no more work");
    lets_in(held);
    // The host is ready again when its answer was taken.
    let pump = house.pumps();
    host.says("till: connected");
    assert_eq!(house.told(&thread), ["message/request", "message/final"], "one attempt");
    assert_eq!(stops(host).code, Some(0));
    assert_eq!(stops(pump).code, Some(0));
}

#[test]
fn d9_a_host_goes_on_as_before_if_its_file_cannot_be_run() {
    let house = RoleHouse::build(SILENT, &ProgramGate::open(), "");
    let (pump, mut host) = (house.pumps(), house.hosts_one("till"));
    let mut tries = |before: &str, after: &str, wanted: &[&str]| {
        edit(&house, before, after);
        host.signal(Signal::HUP);
        says_all(&mut host, wanted);
        let (answer, _) = total(&house, "apples");
        assert!(answer.contains(">total of apples"), "{after}: {answer}");
        edit(&house, after, before);
    };
    // Seen before anything stops.
    tries("organism: {name: shop", "organism: {nam: shop", &["`nam` is not a key", "not reloaded"]);
    // Seen when the one before has ended.
    tries(
        "[python3, till.py]",
        "[./none]",
        &["reloads: ", "configuration before goes on: till: ", "till: connected"],
    );
    // Seen when it starts: this broker does not know the key.
    let strange =
        folder(&[("organism.yaml", &fs::read_to_string(house.host.path().join("organism.yaml")).unwrap())]);
    let written = systole(strange.path(), &["permissions", "--role", "pump", "--nats-config"]);
    let server = NatsServer::whole(&written.stdout);
    tries(
        &house.server.url(),
        &server.url(),
        &["does not let in a client", "configuration before goes on", "till: connected"],
    );
    assert_eq!(stops(pump).code, Some(0));
    assert_eq!(stops(host).code, Some(0));
}
