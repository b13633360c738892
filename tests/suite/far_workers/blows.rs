//! Failures of workers, pumps and the broker while clients use the organism, and the verdicts of the judges. The
//! judges are tested too: they find what is dropped or doubled.

use std::time::Duration;

use systole_checker::record::LogLine;
use systole_checker::{RunSettings, check_records};
use systole_soak::blow::PlannedKill;
use systole_soak::dice::SeededDice;
use systole_soak::house::RunFolder;
use systole_soak::life::{self, LifeSettings};

use super::book::{self, Told};
use super::{Crew, WorkerBlows, book_of};
use crate::broker::NatsServer;
use crate::far_kills::{broker_falls, over};
use crate::kills::Trial;
use crate::unruly::Done;

/// The result of a run, and what can be judged again.
struct Came {
    pumps: u64,
    brokers: u64,
    workers: WorkerBlows,
    unruly: Done,
    told: Told,
    book: String,
    records: Vec<LogLine>,
}

/// This many kills of pumps, brokers and workers.
fn kills_of_everything(seed: u64, kills: u64) -> Came {
    let mut server = NatsServer::start();
    let trial = Trial::set(seed, &over(&server));
    let dice = SeededDice::new(seed);
    let crew = Crew::hire(&trial.house, &server, dice.apart(2_000));
    let (mut choices, mut pumps, mut brokers) = (dice.apart(0), 0, 0);
    let done = |pumps, brokers| pumps + brokers + crew.killed();
    // On a busy machine the one worker that notes its receipts may be killed before each of its first ones.
    let lacks_receipt = |done| done < 4 * kills && !has_receipt(&trial.house);
    while done(pumps, brokers) < kills || brokers == 0 || lacks_receipt(done(pumps, brokers)) {
        match choices.below(5) {
            0 | 1 => {
                let struck =
                    PlannedKill::choose(&mut choices).strike(&trial.house, trial.crowd.board()).unwrap();
                pumps += u64::from(!struck.status.success());
            }
            2 => {
                broker_falls(&trial, &mut server, &mut choices);
                (pumps, brokers) = (pumps + 1, brokers + 1);
            }
            // Long enough for the pump to notice a worker's silence.
            _ => {
                let (mut life, runs) = trial.begin(&LifeSettings::default());
                assert!(runs, "{}", life::last_words(&trial.house));
                let board = trial.crowd.board();
                let more = board.acknowledged() + choices.below(10);
                assert!(board.acknowledges(more, life::PATIENCE), "{}", life::last_words(&trial.house));
                assert!(!life.ends_within(Duration::from_millis(choices.below(1_000))), "it ended by itself");
                board.take_down();
                life.kill().unwrap();
                pumps += 1;
            }
        }
    }
    let rested = crew.rest();
    let look = |house: &RunFolder| (std::fs::read_to_string(book_of(house)).unwrap(), book::records(house));
    let (_, verdict, (book, records)) = trial.judged_by("pumps, brokers and workers", look);
    let told = book::judge(&book, &records);
    let (workers, unruly) = (rested.struck, rested.done());
    println!(
        "kills: {pumps} of pumps, {brokers} of brokers, {} of workers, and {} workers held; {} acknowledged, {} lost, {} doubled, {} answered, {} failed with a reason, {} records; {unruly:?}; {told:?}",
        workers.killed,
        workers.held,
        verdict.acknowledged,
        verdict.lost,
        verdict.doubled,
        verdict.answered,
        verdict.failed,
        verdict.records,
    );
    Came { pumps, brokers, workers, unruly, told, book, records }
}

/// Whether a worker has noted a receipt.
fn has_receipt(house: &RunFolder) -> bool {
    let book = std::fs::read_to_string(book_of(house)).unwrap_or_default();
    book.lines().any(|line| line.starts_with("kept "))
}

/// The minimum result of a short run, and of a long one.
fn is_clean(came: &Came) {
    assert_eq!(came.told.findings, Vec::<String>::new());
    assert!(came.pumps > 0 && came.brokers > 0 && came.workers.killed > 0 && came.workers.held > 0);
    assert!(came.told.kept > 0 && came.told.finals > 0, "{:?}", came.told);
    assert!(came.unruly.twice > 0 && came.unruly.overtaken > 0, "{:?}", came.unruly);
}

#[test]
fn d7_kills_of_pumps_brokers_and_workers_lose_and_double_nothing() {
    let came = kills_of_everything(71, 40);
    is_clean(&came);
    judges_are_tried(&came);
}

#[test]
#[ignore = "minutes; part of make soak"]
fn d7_a_thousand_kills_of_pumps_brokers_and_workers_lose_and_double_nothing() {
    let came = kills_of_everything(72, 1_000);
    assert!(came.told.again > 0, "{:?}", came.told);
    is_clean(&came);
    judges_are_tried(&came);
}

/// Whether the independent checker finds a fault in these records.
fn is_found(records: &[LogLine]) -> bool {
    let terms = RunSettings { running: true, attempts: 100, ..RunSettings::default() };
    !check_records(records.iter().cloned(), &[], &terms).findings.is_empty()
}

/// The judges must find one dropped or doubled effect.
fn judges_are_tried(came: &Came) {
    let Came { book, records, .. } = came;
    assert!(!is_found(records), "the run was clean");
    let kept = book.lines().find_map(|line| line.strip_prefix("kept press ")).unwrap();
    let asked = book.lines().find(|line| line.starts_with("asked press ") && line.ends_with(kept)).unwrap();
    let key = asked.split(' ').nth(2).unwrap();
    let is_answer = |record: &LogLine| {
        let of = format!("{}:{}:", record.thread, record.call.as_deref().unwrap_or(""));
        let is_of =
            key.strip_prefix(&*of).is_some_and(|turn| record.turn.is_some_and(|n| n.to_string() == turn));
        is_of && record.from == "press" && record.code.as_deref() == Some("final")
    };
    let answer = records.iter().find(|record| is_answer(record)).expect("it was kept");

    let dropped: Vec<LogLine> = records.iter().filter(|record| !is_answer(record)).cloned().collect();
    let told = book::judge(book, &dropped);
    assert!(told.findings.iter().any(|words| words.ends_with(" is lost")), "{told:?}");
    assert!(is_found(&dropped), "an answer is not there");

    let doubled: Vec<LogLine> = records.iter().chain([answer]).cloned().collect();
    let told = book::judge(book, &doubled);
    assert!(told.findings.iter().any(|words| words.ends_with(" twice")), "{told:?}");
    assert!(is_found(&doubled), "an answer is there twice");

    let never: String = book
        .lines()
        .filter(|line| !line.contains(key) && !line.ends_with(kept))
        .map(|line| line.to_owned() + "\n")
        .collect();
    let told = book::judge(&never, records);
    assert!(told.findings.iter().any(|words| words.ends_with(" which it was never asked")), "{told:?}");

    let till = book.lines().find(|line| line.starts_with("asked till ")).unwrap();
    let again = format!("{book}{till}-again\n");
    let told = book::judge(&again, records);
    assert!(told.findings.iter().any(|words| words.starts_with("the till was asked ")), "{told:?}");
}
