//! Schedules: which tick opens a root, which is skipped and why, through kills, and through jumps of the wall clock.

use systole_core::pump::event::ScheduleOrder;
use systole_core::rules::schedule_payload::{ScheduleEvent, SkipReason, read_news};
use systole_core::types::schedule::{ScheduleChange, TickTimes};

use super::*;
use crate::decide_stage::final_;

const DAY: u64 = 24 * 3_600 * SECOND;
const SECOND: u64 = 1_000;

/// Each multiple of these milliseconds.
#[derive(Debug)]
struct Every(u64);

impl TickTimes for Every {
    fn next_after(&self, moment: Millis) -> Option<Millis> {
        Some(Millis((moment.0 / self.0 + 1) * self.0))
    }

    fn last_before(&self, moment: Millis) -> Option<Millis> {
        Some(Millis((moment.0 - 1) / self.0 * self.0))
    }
}

fn schedule(ms: u64, catches_up: bool) -> Vec<Schedule> {
    vec![Schedule {
        name: name("beat"),
        rule: format!("every {ms}"),
        ticks: Arc::new(Every(ms)),
        catches_up,
        payload: Admitted::new(PayloadKind::For(name("tool")), Verdict::from_valid(payload("tool"))),
    }]
}

fn starts(ms: u64, catches_up: bool) -> Rig {
    let outside = Arc::new(FakePorts::default());
    let mut rig = Rig::over_with(MemoryLog::new(), composition(), vec![], outside, schedule(ms, catches_up));
    rig.settle();
    rig
}

/// Kills the pump, lets time pass, and starts it again.
fn killed_for(rig: Rig, away_ms: u64, schedules: Vec<Schedule>) -> Rig {
    rig.seen();
    rig.outside.wall.fetch_add(away_ms, Ordering::Relaxed);
    let mut rig = Rig::over_with(rig.log, composition(), vec![], rig.outside, schedules);
    rig.settle();
    passes(&mut rig, 0);
    rig
}

fn passes(rig: &mut Rig, ms: u64) {
    rig.passes(ms);
    rig.settle();
}

/// What the log says of the schedule, with the seconds since the first start.
fn news(rig: &Rig) -> Vec<String> {
    let second = |moment: Millis| (i128::from(moment.0) - 1_000_000) / 1_000;
    let told = rig.records().into_iter().filter(|record| record.header.thread.is_sys());
    let told = told.filter_map(|record| read_news(&record.body));
    let line = |event: ScheduleEvent| match event {
        ScheduleEvent::Began { at, .. } => format!("began {}", second(at)),
        ScheduleEvent::Ended => "ended".to_owned(),
        ScheduleEvent::Fired { tick, by: None, .. } => format!("fired {}", second(tick)),
        ScheduleEvent::Fired { tick, by: Some(by), .. } => format!("fired {} by {by}", second(tick)),
        ScheduleEvent::Skipped { reason, from, to } => format!("{reason} {}..{}", second(from), second(to)),
        ScheduleEvent::Paused(by) => format!("paused by {by}"),
        ScheduleEvent::Resumed(by) => format!("resumed by {by}"),
    };
    told.map(|news| line(news.event)).collect()
}

/// The roots that the schedule has opened.
fn roots(rig: &Rig) -> Vec<ThreadId> {
    let is_root = |record: &Record| {
        record.header.seq == 1 && record.header.from == Name::new_schedule() && !record.header.thread.is_sys()
    };
    rig.records().into_iter().filter(is_root).map(|record| record.header.thread).collect()
}

/// Its listener answers the newest root.
fn answers(rig: &mut Rig) {
    let root = roots(rig).pop().unwrap();
    rig.says_in(&root, "1 t1 a1", JudgedContent::Items(vec![final_()]));
    rig.settle();
}

fn orders(rig: &mut Rig, change: ScheduleChange) -> Vec<String> {
    rig.seen();
    let (ticket, by) = (Ticket(7), Name::new_operator());
    let order = ScheduleOrder { ticket, by, name: name("beat"), change, passed: None };
    rig.input(PumpInput::Ordered(ClientOrder::Schedule(order)));
    rig.settle();
    rig.seen()
}

#[test]
fn d13_a_tick_opens_a_root_of_its_own_sender_and_its_record_is_in_the_same_commit() {
    let mut rig = starts(60 * SECOND, true);
    assert_eq!(news(&rig), ["began 0"]);
    let due = rig.engine.next_schedule().unwrap();
    let left = due.count_since(rig.outside.ticks());
    passes(&mut rig, left - 1);
    assert_eq!(roots(&rig), []);
    rig.passes(1);
    rig.read();
    let batch = rig.engine.next_batch().unwrap();
    let lines: Vec<String> = batch.records.iter().map(|record| record_line(record)).collect();
    assert_eq!(lines[0], "root 1 message/request core.schedule -> tool 1");
    let root = &batch.records[0].header;
    let key = root.key.as_ref().unwrap();
    assert!(key.as_str().starts_with("beat@1970-01-01T") && key.as_str().ends_with("00.000Z"), "{key}");
    let told = batch.records.iter().find_map(|record| read_news(&record.body)).unwrap();
    assert!(matches!(told.event, ScheduleEvent::Fired { thread, .. } if thread == root.thread));
}

#[test]
fn d13_a_tick_is_skipped_while_the_last_root_works_and_the_next_fires() {
    let mut rig = starts(10 * SECOND, true);
    passes(&mut rig, 10 * SECOND);
    passes(&mut rig, 10 * SECOND);
    answers(&mut rig);
    passes(&mut rig, 10 * SECOND);
    assert_eq!(news(&rig), ["began 0", "fired 10", "overlap 20..20", "fired 30"]);
    assert_eq!(roots(&rig).len(), 2);
}

#[test]
fn d13_after_an_outage_the_newest_tick_fires_once_and_the_others_are_missed() {
    let mut rig = starts(10 * SECOND, true);
    passes(&mut rig, 10 * SECOND);
    answers(&mut rig);
    let mut rig = killed_for(rig, 47 * SECOND, schedule(10 * SECOND, true));
    answers(&mut rig);
    passes(&mut rig, 3 * SECOND);
    let told = ["began 0", "fired 10", "missed 20..40", "fired 50", "fired 60"];
    assert_eq!(news(&rig), told);
    // A start that finds nothing due says nothing.
    answers(&mut rig);
    assert_eq!(news(&killed_for(rig, 1, schedule(10 * SECOND, true))), told);
}

#[test]
fn d13_with_catch_up_none_all_that_came_in_an_outage_is_missed() {
    let rig = starts(10 * SECOND, false);
    let mut rig = killed_for(rig, 47 * SECOND, schedule(10 * SECOND, false));
    passes(&mut rig, 3 * SECOND);
    assert_eq!(news(&rig), ["began 0", "missed 10..40", "fired 50"]);
    answers(&mut rig);
    // The machine slept for two minutes.
    rig.clock_set_forward(125 * SECOND);
    rig.settle();
    // The last tick was due five seconds ago, so it fires; with an hour it would be missed too.
    assert_eq!(news(&rig)[3..], ["missed 60..160", "fired 170"]);
}

#[test]
fn d13_a_clock_that_jumps_a_year_and_back_silences_nothing_and_fires_nothing_twice() {
    let year = 365 * DAY;
    let mut rig = starts(DAY, true);
    passes(&mut rig, DAY);
    answers(&mut rig);
    let before = news(&rig);
    rig.clock_set_forward(year);
    rig.settle();
    answers(&mut rig);
    rig.outside.wall.fetch_sub(year, Ordering::Relaxed);
    passes(&mut rig, SECOND);
    let began = news(&rig);
    assert!(began.last().unwrap().starts_with("began "), "{began:?}");
    for _ in 0..400 {
        passes(&mut rig, DAY);
        if roots(&rig).pop().is_some_and(|root| rig.leases.find_lease(&format!("{root} 1 t1 a1")).is_some()) {
            answers(&mut rig);
        }
    }
    let told = news(&rig);
    let count = |word: &str| told.iter().filter(|line| line.starts_with(word)).count();
    // One before the jump, one in it, and one each day after it; the day of the jump had fired already.
    assert_eq!(
        (count("began"), count("missed"), count("fired ")),
        (2, 1, 1 + 1 + 400),
        "{before:?} {told:?}"
    );
    assert_eq!(told.iter().filter(|line| line.contains("..") && line.starts_with("fired")).count(), 1);
    let mut all = roots(&rig);
    let opened = all.len();
    all.sort();
    all.dedup();
    assert_eq!((opened, all.len()), (401, 401), "each tick has one root");
}

#[test]
fn d13_a_clock_that_is_set_back_a_little_fires_no_tick_again() {
    let mut rig = starts(60 * SECOND, true);
    passes(&mut rig, 60 * SECOND);
    answers(&mut rig);
    rig.outside.wall.fetch_sub(30 * SECOND, Ordering::Relaxed);
    passes(&mut rig, 40 * SECOND);
    assert_eq!(news(&rig).len(), 2, "the tick is behind it");
    passes(&mut rig, 60 * SECOND);
    answers(&mut rig);
    // Two periods: the ticks that it meets again have their roots.
    rig.outside.wall.fetch_sub(120 * SECOND, Ordering::Relaxed);
    passes(&mut rig, SECOND);
    for _ in 0..4 {
        passes(&mut rig, 60 * SECOND);
        if rig.leases.find_lease(&format!("{} 1 t1 a1", roots(&rig).pop().unwrap())).is_some() {
            answers(&mut rig);
        }
    }
    let fired: Vec<String> =
        news(&rig).into_iter().filter(|line| line.starts_with("fired") && !line.contains("..")).collect();
    assert_eq!(fired.len(), roots(&rig).len());
    let again = news(&rig).into_iter().filter(|line| line.contains("..")).collect::<Vec<_>>();
    assert!(again.iter().all(|line| line.starts_with(SkipReason::Fired.as_str())), "{again:?}");
}

#[test]
fn d13_a_paused_schedule_names_its_ticks_when_it_is_resumed_and_a_person_can_fire_it() {
    let mut rig = starts(10 * SECOND, true);
    assert_eq!(orders(&mut rig, ScheduleChange::Pause), ["7: done"]);
    assert_eq!(orders(&mut rig, ScheduleChange::Pause), ["7: done"], "it is recorded once");
    passes(&mut rig, 35 * SECOND);
    // The pause is in the log.
    let mut rig = killed_for(rig, 0, schedule(10 * SECOND, true));
    assert_eq!(rig.engine.next_schedule(), None);
    let fired = orders(&mut rig, ScheduleChange::Fire(None));
    assert!(fired.iter().any(|line| line.starts_with("7: receipt #1")), "{fired:?}");
    let again = orders(&mut rig, ScheduleChange::Fire(None));
    assert_eq!(again, ["7: refused schedule.overlap"]);
    answers(&mut rig);
    assert_eq!(orders(&mut rig, ScheduleChange::Resume), ["7: done"]);
    assert_eq!(orders(&mut rig, ScheduleChange::Resume), ["7: refused thread.not-paused"]);
    passes(&mut rig, 5 * SECOND);
    let told = [
        "began 0",
        "paused by operator",
        "fired 35 by operator",
        "paused 10..30",
        "resumed by operator",
        "fired 40",
    ];
    assert_eq!(news(&rig), told);
}

#[test]
fn d13_a_schedule_with_other_ticks_begins_anew_and_one_that_left_the_file_ends() {
    let rig = starts(10 * SECOND, true);
    let rig = killed_for(rig, 15 * SECOND, schedule(7 * SECOND, true));
    assert_eq!(news(&rig), ["began 0", "began 15"], "what other ticks missed does not count");
    let mut rig = killed_for(rig, SECOND, vec![]);
    assert_eq!(orders(&mut rig, ScheduleChange::Pause), ["7: refused schedule.unknown"]);
    let rig = killed_for(rig, 100 * SECOND, schedule(7 * SECOND, true));
    assert_eq!(news(&rig), ["began 0", "began 15", "ended", "began 116"]);
}

#[test]
fn d13_a_kill_before_the_commit_loses_no_tick_and_one_after_it_repeats_none() {
    let mut rig = starts(10 * SECOND, true);
    for round in 1..=30u64 {
        rig.passes(10 * SECOND);
        // The reader, or the writer as well, has done its work, or neither.
        match round % 3 {
            0 => rig.settle(),
            1 => rig.read(),
            _ => {}
        }
        rig = killed_for(rig, 1, schedule(10 * SECOND, true));
        if rig.leases.find_lease(&format!("{} 1 t1 a1", roots(&rig).pop().unwrap())).is_some() {
            answers(&mut rig);
        } else if let Some(root) = roots(&rig).pop() {
            rig.cancels(9, &root);
            rig.settle();
        }
    }
    let fired = news(&rig).into_iter().filter(|line| line.starts_with("fired")).collect::<Vec<_>>();
    let expected: Vec<String> = (1..=30).map(|round| format!("fired {}", round * 10)).collect();
    assert_eq!(fired, expected, "{:?}", news(&rig));
    assert_eq!(roots(&rig).len(), 30);
}
