//! Schedules in real processes: each tick fires once or is named as skipped, through kills and from pump to pump; what
//! `check` refuses; and how tests of organisms move their clock.

use std::collections::BTreeSet;
use std::path::Path;

use rustix::process::Signal;
use systole_core::rules::schedule_payload::{ScheduleEvent, read_news};
use systole_core::types::time::Millis;

use crate::broker::NatsServer;
use crate::organism::folder;
use crate::program::{Running, ask_as, run_file, systole};
use crate::pumps::machine;

const SCHEDULES: &str = "schedules: {beat: {every: 1s, to: echo, send: {ask: Tick}}}\n";
const FILE: &str = "organism: {name: hello}
listeners:
  echo: {run: [sh, echo.sh], accepts: [ask], returns: [answer]}
log: {path: ./hello.db}
console: {listen: \"127.0.0.1:0\"}
";
const ECHO: &str = "while read -r line; do
  delivery=$(printf '%s' \"$line\" | sed 's/.*delivery=\"\\([^\"]*\\)\".*/\\1/')
  printf '<reply xmlns=\"urn:systole:listener:v1\" delivery=\"%s\"><answer xmlns=\"https://xml-pipeline.org/ns/talk/v1\">heard</answer></reply>\\n' \"$delivery\"
done
";

/// Checks that each second since the schedule began fired once or is named as skipped, and that each root is one of a
/// tick. Returns how many fired.
fn check_log(at: &Path) -> usize {
    let records = systole(at, &["log", "-n", "0", "--json"]).json_lines();
    let text =
        |record: &serde_json::Value, field: &str| record[field].as_str().unwrap_or_default().to_owned();
    let (mut began, mut last) = (None, Millis(0));
    let (mut fired, mut skipped, mut keys) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let mut threads = BTreeSet::new();
    for record in &records {
        if text(record, "from") == "core.schedule" {
            assert!(keys.insert(text(record, "key")), "a second root: {record}");
            threads.insert(text(record, "thread"));
            continue;
        }
        let Some(news) = read_news(text(record, "body").as_bytes()) else { continue };
        match news.event {
            ScheduleEvent::Began { at, .. } => assert_eq!(began.replace(at), None, "it begins once"),
            ScheduleEvent::Fired { tick, thread, by: None } => {
                assert!(fired.insert(tick), "fired twice: {record}");
                assert!(keys.contains(&format!("beat@{tick}")), "without its root: {record}");
                assert!(threads.contains(thread.as_str()), "{record}");
                last = last.max(tick);
            }
            ScheduleEvent::Skipped { from, to, .. } => {
                let ticks = (from.0..=to.0).step_by(1_000).map(Millis);
                ticks.for_each(|tick| assert!(skipped.insert(tick), "named twice: {record}"));
                last = last.max(to);
            }
            other => panic!("{other:?}"),
        }
    }
    let first = Millis((began.expect("it began").0 / 1_000 + 1) * 1_000);
    for tick in (first.0..=last.0).step_by(1_000).map(Millis) {
        let is_one = fired.contains(&tick) != skipped.contains(&tick);
        assert!(is_one, "{tick}: fired {}, skipped {}", fired.contains(&tick), skipped.contains(&tick));
    }
    assert_eq!((fired.len(), keys.len()), (threads.len(), fired.len()));
    let verified = systole(at, &["verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    fired.len()
}

fn kill_and_check(kills: usize) {
    let folder = folder(&[("organism.yaml", &(FILE.to_owned() + SCHEDULES)), ("echo.sh", ECHO)]);
    let at = folder.path();
    for kill in 0..kills {
        let mut running = Running::organism(at);
        match kill % 4 {
            // As soon as it runs, when its first tick is on disk, or with its answer.
            0 => {}
            1 | 2 => drop(running.shows("core.schedule -> echo")),
            _ => drop(running.shows("echo -> core.schedule")),
        }
        running.signal(Signal::KILL);
        running.end();
    }
    let mut running = Running::organism(at);
    running.shows("echo -> core.schedule");
    running.interrupt();
    let fired = check_log(at);
    assert!(fired >= kills / 2, "{fired} of {kills} starts fired");
}

#[test]
fn d13_each_tick_fires_once_or_is_named_as_skipped_though_the_organism_is_killed_again_and_again() {
    kill_and_check(20);
}

#[test]
#[ignore = "minutes; part of make soak"]
fn d13_three_hundred_kills_repeat_no_tick_and_lose_none() {
    kill_and_check(300);
}

#[test]
fn d13_only_the_pump_that_has_the_log_fires_and_the_next_one_goes_on() {
    let server = NatsServer::start();
    let machines = [machine(&server, "durability: relaxed"), machine(&server, "durability: relaxed")];
    for one in &machines {
        let file = one.path().join("organism.yaml");
        std::fs::write(&file, std::fs::read_to_string(&file).unwrap() + SCHEDULES).unwrap();
    }
    let mut leads = Running::organism(machines[0].path());
    for turn in 1..4 {
        let mut stands_by = Running::start(machines[turn % 2].path(), &["run"]);
        stands_by.says("stands by: ");
        leads.shows("core.schedule -> echo");
        leads.signal(Signal::KILL);
        leads.end();
        stands_by.says("listens on");
        stands_by.shows("core.schedule -> echo");
        leads = stands_by;
    }
    leads.interrupt();
    assert!(check_log(machines[1].path()) >= 6);
}

#[test]
fn d13_a_client_needs_the_role_operate_for_orders_and_the_role_read_for_the_list() {
    let clients =
        "clients: {ann: {token_env: ANN_TOKEN}, ops: {token_env: OPS_TOKEN, roles: [read, operate]}}\n";
    let late = SCHEDULES.replace("every: 1s", "cron: \"0 0 29 2 *\"");
    let folder = folder(&[("organism.yaml", &format!("{FILE}{late}{clients}")), ("echo.sh", ECHO)]);
    let (ann, ops) = ("ann-token-0123456789", "ops-token-0123456789");
    let running = Running::organism_with(folder.path(), &[("ANN_TOKEN", ann), ("OPS_TOKEN", ops)]);
    let run = run_file(folder.path());
    let asks = |token: &str, method: &str, path: &str| {
        ask_as(&run, method, path, &[("Authorization", &format!("Bearer {token}"))], "")
    };
    for order in ["pause", "resume", "fire"] {
        let refused = asks(ann, "POST", &format!("/v1/schedules/beat/{order}"));
        assert_eq!((refused.status, &refused.json["code"]), (403, &"ingress.forbidden".into()), "{order}");
    }
    assert_eq!(asks(ann, "GET", "/v1/schedules").status, 403);
    assert_eq!(asks(ops, "POST", "/v1/schedules/beat/pause").json["change"], "paused");
    let listed = asks(ops, "GET", "/v1/schedules").json;
    assert_eq!(
        (&listed["schedules"][0]["state"], &listed["schedules"][0]["next"]),
        (&"paused".into(), &serde_json::Value::Null)
    );
    let fired = asks(ops, "POST", "/v1/schedules/beat/fire").json;
    let thread = fired["thread"].as_str().unwrap();
    assert_eq!(asks(ops, "GET", "/v1/schedules").json["schedules"][0]["thread"], thread);
    assert_eq!(asks(ops, "POST", "/v1/schedules/beat/resume").json["change"], "resumed");
    assert_eq!(asks(ops, "POST", "/v1/schedules/meat/fire").json["try"], "beat");
    let shown = systole(folder.path(), &["schedules"]);
    assert!(shown.stdout.starts_with("beat  0 0 29 2 * UTC  next 2028-02-29 00:00:00"), "{shown:?}");
    running.interrupt();
}

/// Schedules, and what `check` says of each.
const WRONG: [(&str, &str); 15] = [
    ("{cron: 0 25 * * *, to: echo, send: {ask: Hi}}", "`25` is no hour, which is 0 to 23"),
    ("{cron: 0 7 * *, to: echo, send: {ask: Hi}}", "it has 4 fields, and a cron expression has 5"),
    ("{cron: 0 7 30 2 *, to: echo, send: {ask: Hi}}", "there is no such day, so it never ticks"),
    (
        "{cron: 0 7 * * *, zone: Europe/Wien, to: echo, send: {ask: Hi}}",
        "there is no time zone `Europe/Wien`",
    ),
    ("{every: 15m, zone: Europe/Vienna, to: echo, send: {ask: Hi}}", "only the times of `cron` have a zone"),
    ("{every: 15m, cron: 0 7 * * *, to: echo, send: {ask: Hi}}", "has both `cron` and `every`"),
    ("{every: 1500ms, to: echo, send: {ask: Hi}}", "ticks are at whole seconds"),
    ("{to: echo, send: {ask: Hi}}", "cron: \"0 7 * * 1-5\", or every: 15m"),
    ("{every: 15m, to: ecco, send: {ask: Hi}}", "there is no listener `ecco`"),
    ("{every: 15m, to: echo, send: {tall: Hi}}", "no such element `tall`"),
    ("{every: 15m, to: echo, send: hello.xml}", "a schedule reads no file"),
    ("{every: 15m, to: echo, send: '<ask xmlns=\"urn:x\">Hi</ask>'}", "echo does not take {urn:x}ask"),
    ("{every: 15m, to: echo, send: {tell: {times: 12}}}", "times: 12 is more than 9, the largest allowed"),
    (
        "{every: 15m, to: echo, send: '<tell xmlns=\"https://xml-pipeline.org/ns/hello/v1\"><times>12</times></tell>'}",
        "schedules.beat.send: ",
    ),
    (
        "{every: 15m, to: echo, send: '<report xmlns=\"https://xml-pipeline.org/ns/hello/v1\"><photo sha256=\"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\" type=\"image/png\" bytes=\"9\"/></report>'}",
        "<photo>: only a new message from outside brings files",
    ),
];

#[test]
fn d13_check_refuses_what_no_schedule_can_be_with_its_place_and_its_fix() {
    for (schedule, wanted) in WRONG {
        let file = FILE.replace("accepts: [ask]", "accepts: [ask, tell, report]");
        let text = format!(
            "{file}schedules:\n  beat: {schedule}\npayloads: {{tell: {{times: int 1..9}}, report: {{photo: file}}}}\n"
        );
        let folder = folder(&[("organism.yaml", &text), ("echo.sh", ECHO)]);
        let (checked, ran) = (systole(folder.path(), &["check"]), systole(folder.path(), &["run"]));
        let flat = checked.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!((checked.code, ran.code), (Some(3), Some(3)), "{schedule}: {checked:?}");
        assert!(flat.contains(wanted) && flat.contains("organism.yaml:7:"), "{schedule}: {}", checked.stdout);
    }
}

#[test]
fn d13_a_test_moves_the_clock_of_schedules_and_each_tick_has_its_answer() {
    let quarters = SCHEDULES.replace("every: 1s", "every: 15m");
    let test = "stand_ins:
  echo:
TICKS    - {if: Hi, answer: {answer: hello}}
tests:
  - name: an hour has four ticks
    steps:
      - {after: 1h}
      - {send: {ask: Hi}, to: echo, answer: {answer: hello}}
";
    let file = FILE.replace("returns: [answer]", "returns: [answer], entry: true") + &quarters;
    let run = |times: usize| {
        let ticks = "    - {if: Tick, answer: {answer: heard}}\n".repeat(times);
        let files = [("organism.yaml", &*file), ("hello.test.yaml", &*test.replace("TICKS", &ticks))];
        systole(folder(&files).path(), &["test"])
    };
    let four = run(4);
    assert_eq!(four.code, Some(0), "{four:?}");
    // An answer too many is not used, and one too few is missing.
    assert_ne!(run(5).code, Some(0));
    assert_ne!(run(3).code, Some(0));
}
