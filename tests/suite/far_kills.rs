//! Organisms whose log is in NATS, killed at every step together with their brokers: the workload, the clients and
//! the judge of `systole-soak`, over a real broker. The judge reads the copy of the last life.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use systole_soak::blow::PlannedKill;
use systole_soak::dice::SeededDice;
use systole_soak::life::{self, LifeSettings, OrganismLife};
use systole_system::failpoint;

use crate::broker::NatsServer;
use crate::far_workers::{self, Crew};
use crate::kills::Trial;

/// The broker settings for the soak's organism.
pub(crate) fn over(server: &NatsServer) -> Vec<String> {
    vec![format!("log.nats={}", server.url()), "log.durability=relaxed".to_owned()]
}

#[test]
fn c3_kill_at_every_step_over_nats() {
    let steps: Vec<&str> = failpoint::NAMES.iter().map(|(name, _)| *name).collect();
    std::thread::scope(|scope| {
        for (seed, some) in (31..).zip(steps.chunks(6)) {
            scope.spawn(move || {
                let server = NatsServer::start();
                let trial = Trial::set(seed, &over(&server));
                for step in some {
                    if *step == "R" {
                        // Only if something was in progress is there something to recover.
                        trial.dies_at("K6:30");
                        trial.dies_at("R:2");
                    } else {
                        trial.dies_at(&format!("{step}:1"));
                        trial.dies_at(&format!("{step}:3"));
                    }
                    trial.lives();
                }
                trial.judged(&some.join(", "));
            });
        }
    });
}

/// Kills the broker in the middle of a life. The life continues when the broker is back, and is killed then.
pub(crate) fn broker_falls(trial: &Trial, server: &mut NatsServer, choices: &mut SeededDice) {
    let (mut life, runs) = trial.begin(&LifeSettings::default());
    assert!(runs, "{}", life::last_words(&trial.house));
    assert!(!life.ends_within(Duration::from_millis(choices.below(200))), "it ended by itself");
    server.kill();
    assert!(!life.ends_within(Duration::from_millis(choices.below(300))), "it ended without its broker");
    server.start_again();
    let board = trial.crowd.board();
    if choices.below(2) == 0 {
        // It works again before it is killed itself.
        let more = board.acknowledged() + 1;
        assert!(board.acknowledges(more, life::PATIENCE), "{}", life::last_words(&trial.house));
    }
    board.take_down();
    life.kill().unwrap();
}

/// Failures of the organism, its programs and its broker, with this many kills.
fn kills_of_pumps_and_brokers(seed: u64, kills: u64) {
    let mut server = NatsServer::start();
    let trial = Trial::set(seed, &over(&server));
    let dice = SeededDice::new(seed);
    let (mut choices, mut pumps, mut brokers) = (dice.apart(0), 0, 0);
    while pumps + brokers < kills {
        if choices.below(4) > 0 {
            let struck = PlannedKill::choose(&mut choices).strike(&trial.house, trial.crowd.board()).unwrap();
            pumps += u64::from(!struck.status.success());
            continue;
        }
        broker_falls(&trial, &mut server, &mut choices);
        (pumps, brokers) = (pumps + 1, brokers + 1);
    }
    let (_, verdict) = trial.judged("pumps and brokers");
    let (acknowledged, records) = (verdict.acknowledged, verdict.records);
    println!("{pumps} kills of pumps, {brokers} of brokers, {acknowledged} acknowledged, {records} records");
}

#[test]
fn d7_kills_of_pumps_and_brokers_lose_and_double_nothing() {
    kills_of_pumps_and_brokers(41, 24);
}

#[test]
#[ignore = "minutes; part of make soak"]
fn d7_a_thousand_kills_of_pumps_and_brokers_lose_and_double_nothing() {
    kills_of_pumps_and_brokers(42, 1_000);
}

/// Two pumps. The writing pump is killed or suspended again and again while clients send to the current writer, and
/// workers over the broker fail as well.
fn take_overs(seed: u64, times: u64) {
    let server = NatsServer::start();
    let trial = Trial::set(seed, &over(&server));
    let crew = Crew::hire(&trial.house, &server, SeededDice::new(seed).apart(2_000));
    let houses = [trial.house.clone(), trial.house.copy("other.db")];
    let mut dice = SeededDice::new(seed).apart(1);
    let begin = |which: usize| OrganismLife::begin(&houses[which], &LifeSettings::default()).unwrap();
    let (mut writes, mut which) = (begin(0), 0);
    assert!(writes.runs().unwrap(), "{}", life::last_words(&trial.house));
    let mut stands_by = begin(1);
    let board = trial.crowd.board();
    for time in 0..times {
        board.post(houses[which].run_file());
        assert!(board.acknowledges(board.acknowledged() + 5, life::PATIENCE), "nothing is taken");
        assert!(!writes.ends_within(Duration::from_millis(dice.below(300))), "it ended by itself");
        board.take_down();
        let pid = Pid::from_raw(i32::try_from(writes.organism().unwrap()).unwrap()).unwrap();
        let is_held = time % 2 == 1;
        kill_process(pid, if is_held { Signal::STOP } else { Signal::KILL }).unwrap();
        assert!(stands_by.runs().unwrap(), "{}", life::last_words(&trial.house));
        if is_held {
            // It resumes with its deliveries, and stands by.
            kill_process(pid, Signal::CONT).unwrap();
        } else {
            // A restart before that would continue itself, with its copy.
            writes.kill().unwrap();
            writes = begin(which);
        }
        (stands_by, writes, which) = (writes, stands_by, 1 - which);
    }
    stands_by.kill().unwrap();
    writes.kill().unwrap();
    let rested = crew.rest();
    let (_, verdict, told) = trial.judged_by("take-overs", far_workers::told);
    assert_eq!(told.findings, Vec::<String>::new());
    assert!(told.finals > 0, "{told:?}");
    println!(
        "{times} take-overs, {:?}, {} acknowledged, {} records; {told:?}",
        rested.struck, verdict.acknowledged, verdict.records
    );
}

#[test]
fn d8_pumps_that_are_killed_and_held_under_load_lose_and_double_nothing() {
    take_overs(51, 3);
}

#[test]
#[ignore = "minutes; part of make soak"]
fn d8_forty_take_overs_under_load_lose_and_double_nothing() {
    take_overs(52, 40);
}
