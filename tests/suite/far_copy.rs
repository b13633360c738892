//! `systole copy`: a command updates the copy of a log in NATS, or makes it again and compares it with the old one.
//! An auditor makes a copy with an auditor's key next to a running pump; processes are killed at every write, disks
//! are full, copies are tampered with, and streams have changed.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use rusqlite::Connection;
use rustix::process::Signal;
use serde_json::Value;

use crate::broker::{KEY, NatsServer};
use crate::far_rights::{LogRightsHouse, SIZES, long_question};
use crate::identity::seed;
use crate::program::{Ran, Running, systole, systole_with, systole_with_stdin};
use crate::pumps::{asked, machine, machine_at};

/// The JSON output of a command.
fn told(ran: &Ran) -> Value {
    serde_json::from_str(ran.stdout.trim()).unwrap_or_else(|_| panic!("{ran:?}"))
}

/// Checks that the reading commands show the same of both copies.
fn look_the_same(one: &Path, other: &Path) {
    for command in [&["log", "--from", "1", "--json"][..], &["tree", "@last", "--json"], &["cost"]] {
        let [one, other] = [one, other].map(|folder| systole(folder, command));
        assert!(one.code == Some(0) && one.stdout == other.stdout, "{command:?}: {one:?} {other:?}");
    }
}

/// The records of the copy in that folder.
fn records(folder: &Path) -> String {
    let ran = systole(folder, &["log", "--from", "1", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.stdout
}

/// The files in that folder whose name has this prefix.
fn files(folder: &Path, begin: &str) -> Vec<String> {
    let all = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut found: Vec<String> = all.filter(|name| name.starts_with(begin)).collect();
    found.sort();
    found
}

/// A broker that accepts every client, and a machine whose copy has some records. Nothing runs there.
fn at_rest() -> (NatsServer, tempfile::TempDir) {
    let server = NatsServer::start();
    let folder = machine(&server, "durability: relaxed");
    for _ in 0..3 {
        assert_eq!(asked(folder.path()).stdout, "heard\n");
    }
    (server, folder)
}

#[test]
fn d6_an_auditor_makes_a_copy_beside_a_running_pump_and_reads_the_same_log() {
    let mut house = LogRightsHouse::open();
    let pump = house.first.path().to_owned();
    let running = Running::organism_with(&pump, &house.key());
    // Each is answered before anything is read.
    for words in SIZES.map(|bytes| "x".repeat(bytes)).iter().map(String::as_str).chain(["hello"]) {
        assert_eq!(systole_with_stdin(&pump, &["ask"], words).stdout, "heard\n");
    }

    // Another machine: it has the file and the auditor's key, but neither the pump's key nor a running program.
    let far = machine_at(&house.server.url(), "durability: relaxed, key_env: BUS_KEY");
    std::fs::remove_file(far.path().join("echo.sh")).unwrap();
    let key = seed(&pump, "_auditor");
    let copy = |more: &[&str]| {
        let command = [&["copy", "--key-env", "AUDIT_KEY", "--json"], more].concat();
        systole_with(far.path(), &command, &[("AUDIT_KEY", &key)])
    };
    let first = copy(&[]);
    assert_eq!((first.code, first.stderr.as_str()), (Some(0), ""), "{first:?}");
    let first = told(&first);
    assert_eq!((&first["new_records"], &first["new_bundles"]), (&first["records"], &first["bundles"]));
    assert_eq!((&first["stream"], &first["again"]), (&"SYSTOLE_shop_LOG".into(), &Value::Null));
    look_the_same(far.path(), &pump);

    // Only the new records are read.
    assert_eq!(systole(&pump, &["ask", "again"]).stdout, "heard\n");
    let second = told(&copy(&[]));
    let number = |told: &Value, name: &str| told[name].as_u64().unwrap();
    assert!(number(&second, "new_records") > 0, "{second}");
    assert_eq!(number(&second, "records"), number(&first, "records") + number(&second, "new_records"));
    assert_eq!(number(&second, "bundles"), number(&first, "bundles") + number(&second, "new_bundles"));
    look_the_same(far.path(), &pump);
    let again = told(&copy(&["--again"]));
    assert_eq!(again["again"]["equal_records"], second["records"], "{again}");
    assert_eq!((&again["again"]["differs"], &again["bundles"]), (&Value::Null, &second["bundles"]));
    let third = told(&copy(&[]));
    assert_eq!(
        (&third["new_records"], &third["bundles"]),
        (&0.into(), &second["bundles"]),
        "written meanwhile"
    );
    look_the_same(far.path(), &pump);
    let proved = systole_log::sqlite::verify_all(&far.path().join("hello.db")).unwrap();
    assert_eq!((second["records"].as_u64(), proved.threads), (Some(proved.records), 5));
    assert_eq!(files(far.path(), "hello.db."), ["hello.db.lock", "hello.db.secret"]);

    // The pump updates its own copy itself; another copy may be next to it.
    let kept = systole_with(&pump, &["copy"], &house.key());
    let words = format!("is in use by process {}, which keeps it up to date", running.pid());
    assert!(kept.code == Some(5) && kept.stderr.contains(&words), "{kept:?}");
    let beside = systole_with(&pump, &["copy", "--to", "other.db", "--json"], &house.key());
    assert_eq!(told(&beside)["records"], second["records"], "{beside:?}");
    running.signal(Signal::TERM);
    assert_eq!(running.end().code, Some(0));
    // The auditor tried only what an auditor may do.
    assert!(!house.server.all_said().contains("Violation"), "the broker refused something");
}

#[test]
fn d1_a_copy_that_was_tampered_with_is_found_out_and_kept() {
    let (_server, folder) = at_rest();
    let path = folder.path();
    let whole = records(path);
    let again = told(&systole(path, &["copy", "--again", "--json"]));
    let all = again["records"].as_u64().unwrap();
    assert_eq!((&again["again"]["equal_records"], &again["again"]["kept"]), (&all.into(), &Value::Null));
    let tamper = |sql: &str| {
        let log = Connection::open(path.join("hello.db")).unwrap();
        assert!(log.execute(sql, []).unwrap() > 0, "{sql}");
    };
    let find = |sql: &str, position: u64, words: &str, number: usize| {
        tamper(sql);
        let found = systole(path, &["copy", "--again"]);
        assert_eq!(found.code, Some(7), "{sql}: {found:?}");
        let told = match position {
            0 => format!("the old copy differs: {words}"),
            at => format!("the old copy differs at position {at}: {words}"),
        };
        assert!(found.stderr.contains(&told), "{sql}: {}", found.stderr);
        assert!(found.stderr.contains(&format!("hello.db.was-{number} --from ")), "{}", found.stderr);
        assert_eq!(records(path), whole, "{sql}");
        let was = [&*format!("hello.db.was-{number}")].map(|name| path.join(name));
        assert!(was.iter().all(|was| was.exists()), "{sql}: {:?}", files(path, "hello"));
    };
    let log = Connection::open(path.join("hello.db")).unwrap();
    let says = "SELECT min(pos) FROM record WHERE instr(CAST(body AS TEXT), 'hello') > 0";
    let said: u64 = log.query_row(says, [], |row| row.get::<_, i64>(0)).unwrap().unsigned_abs();
    drop(log);
    tamper(&format!(
        "UPDATE record SET body = CAST(replace(CAST(body AS TEXT), 'hello', 'jello') AS BLOB) WHERE pos = {said}"
    ));
    // Every writing command checks the newest records.
    let refused = systole(path, &["copy"]);
    assert!(
        refused.code == Some(7) && refused.stderr.contains(&format!("damaged at position {said}")),
        "{refused:?}"
    );
    assert!(refused.stderr.contains("try: systole copy --again"), "{}", refused.stderr);
    find("UPDATE record SET time = time", said, "record ", 1);
    find("UPDATE record SET head = zeroblob(32) WHERE pos = 3", 3, "record ", 2);
    find(&format!("DELETE FROM record WHERE pos > {}", all - 2), all - 1, "there is no record", 3);
    find("DELETE FROM record WHERE pos = 5", 5, "there is no record", 4);
    let forged =
        "INSERT INTO record SELECT pos + 1, thread, seq + 1, id, kind, sender, addressee, NULL, NULL, NULL,
         cause, NULL, origin, time, config, code, salt, head, body FROM record ORDER BY pos DESC LIMIT 1";
    find(forged, all + 1, "record ", 5);
    find(
        "UPDATE document SET bytes = CAST(CAST(bytes AS TEXT) || ' ' AS BLOB) WHERE id = 1",
        0,
        "it keeps other bytes under ",
        6,
    );
    let last = told(&systole(path, &["copy", "--again", "--json"]));
    assert_eq!(last["again"]["equal_records"], all, "{last}");
    let shown = systole(path, &["log", "--log", "hello.db.was-1", "--from", "1", "--json"]);
    assert!(shown.stdout.contains("jello"), "{shown:?}");
}

#[test]
fn d1_a_partial_copy_of_a_killed_pump_is_made_again() {
    let (_server, folder) = at_rest();
    let path = folder.path();
    let one = Running::organism(path);
    assert_eq!(asked(path).stdout, "heard\n");
    one.signal(Signal::KILL);
    one.end();
    let left = std::fs::metadata(path.join("hello.db-wal")).map_or(0, |left| left.len());
    assert!(left > 0, "all of it was in the file");
    let whole = records(path);
    // A reader keeps SQLite from folding the write-ahead file into the copy: nothing changes then.
    let reading = Connection::open(path.join("hello.db")).unwrap();
    reading.execute_batch("BEGIN").unwrap();
    let count =
        |log: &Connection| log.query_row("SELECT count(*) FROM record", [], |row| row.get::<_, i64>(0));
    let all = count(&reading).unwrap();
    let busy = systole(path, &["copy", "--again"]);
    assert!(busy.code == Some(5) && busy.stderr.contains("another process reads it just now"), "{busy:?}");
    assert!(busy.stderr.contains("the old one is unchanged"), "{}", busy.stderr);
    assert_eq!((count(&reading).unwrap(), records(path)), (all, whole.clone()));
    drop(reading);
    let again = told(&systole(path, &["copy", "--again", "--json"]));
    assert_eq!((&again["again"]["equal_records"], &again["again"]["differs"]), (&all.into(), &Value::Null));
    assert!(records(path).starts_with(&whole));
}

/// Runs a command under a fault that strace injects into its system calls, only for those files if any are named.
/// None if strace may not trace here.
fn under(folder: &Path, inject: &str, of: &[&str], command: &[&str]) -> Option<std::process::Output> {
    let (calls, _) = inject.split_once(':').unwrap();
    let whole = std::fs::canonicalize(folder).unwrap();
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={calls}")]);
    for file in of {
        strace.arg("-P").arg(whole.join(file));
    }
    strace.args(["-e", &format!("inject={inject}"), env!("CARGO_BIN_EXE_systole")]).args(command);
    strace.current_dir(folder).stdin(Stdio::null());
    let mut may = Command::new("strace");
    may.args(["-f", "-qq", "-o", "/dev/null", "true"]).stderr(Stdio::null());
    if !may.status().is_ok_and(|status| status.success()) {
        println!("SKIPPED: strace is not here, or may not trace");
        return None;
    }
    Some(strace.output().unwrap())
}

#[test]
fn c3_a_copy_that_is_killed_while_it_is_made_again_leaves_the_old_one_whole() {
    let (_server, folder) = at_rest();
    let path = folder.path();
    let whole = records(path);
    let old = ["hello.db", "hello.db-wal", "hello.db-shm"];
    let new = ["hello.db.again", "hello.db.again-wal", "hello.db.again-shm", "hello.db.again.new"];
    let both = [&old[..], &new].concat();
    // Each call that may change one of these files, or finds it there, is once the last of a process. For frequent
    // calls on the new file only some are.
    let mut killed = 0;
    for (of, calls, often) in [
        (
            &both[..],
            &["rename", "unlink", "fsync", "fdatasync", "copy_file_range", "ftruncate", "chmod"][..],
            1,
        ),
        (&old, &["openat", "pwrite64"], 1),
        (&new, &["openat", "pwrite64"], 5),
    ] {
        for call in calls {
            for at in (1..).step_by(often) {
                let inject = format!("{call}:signal=SIGKILL:when={at}");
                let Some(ended) = under(path, &inject, of, &["copy", "--again"]) else { return };
                assert_eq!(records(path), whole, "{of:?} {inject}");
                if ended.status.signal() != Some(Signal::KILL.as_raw()) {
                    assert!(ended.status.success(), "{inject}: {ended:?}");
                    break;
                }
                killed += 1;
            }
        }
    }
    assert!(killed > 20, "{killed} alone were killed");
    let again = told(&systole(path, &["copy", "--again", "--json"]));
    assert_eq!(again["again"]["differs"], Value::Null, "{again}");
    assert_eq!(files(path, "hello.db"), ["hello.db", "hello.db.lock", "hello.db.secret"]);
}

#[test]
fn a_disk_that_is_full_is_told_and_leaves_what_was_there() {
    let (server, folder) = at_rest();
    let path = folder.path();
    let whole = records(path);
    let full = "pwrite64:error=ENOSPC:when=30+";
    let Some(again) = under(path, full, &[], &["copy", "--again"]) else { return };
    let words = String::from_utf8_lossy(&again.stderr);
    assert_eq!(again.status.code(), Some(5), "{words}");
    assert!(words.contains("full") && words.contains("the old one is unchanged"), "{words}");
    assert_eq!(records(path), whole);
    assert_eq!(files(path, "hello.db.again"), [""; 0]);
    // A new copy continues from what it has, once there is room.
    let far = machine(&server, "durability: relaxed");
    let first = under(far.path(), full, &[], &["copy"]).unwrap();
    assert_eq!(first.status.code(), Some(5), "{first:?}");
    let next = systole(far.path(), &["copy"]);
    assert_eq!(next.code, Some(0), "{next:?}");
    assert_eq!(records(far.path()), whole);
}

/// Publishes into the stream next to the pump, as its operator could.
fn put(server: &NatsServer, bytes: Vec<u8>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let jetstream = async_nats::jetstream::new(server.client().await);
        jetstream.publish("o.shop.log.0", bytes.into()).await.unwrap().await.unwrap();
    });
}

#[test]
fn a_corrupt_bundle_is_reported_with_its_position_and_earlier_ones_are_kept() {
    let (server, folder) = at_rest();
    let whole = records(folder.path());
    let before = told(&systole(folder.path(), &["copy", "--json"]));
    put(&server, b"17:systole bundle v9\n".to_vec());
    let far = machine(&server, "durability: relaxed");
    let place = before["bundles"].as_u64().unwrap() + 1;
    let words = format!("the bundle at {place}: it is not a bundle of this version");
    for _ in 0..2 {
        let damaged = systole(far.path(), &["copy"]);
        assert!(damaged.code == Some(7) && damaged.stderr.contains(&words), "{damaged:?}");
        let kept = format!("the copy has the {} records before that", before["records"]);
        assert!(damaged.stderr.contains(&kept), "{}", damaged.stderr);
        assert_eq!(records(far.path()), whole);
    }
    let again = systole(folder.path(), &["copy", "--again"]);
    assert!(again.code == Some(7) && again.stderr.contains(&words), "{again:?}");
    assert!(again.stderr.contains("the old one is unchanged"), "{}", again.stderr);
    assert_eq!(records(folder.path()), whole);
    assert_eq!(files(folder.path(), "hello.db.again"), [""; 0]);
}

#[test]
fn a_bundle_missing_from_the_object_store_is_reported_with_its_position() {
    let server = NatsServer::start();
    let folder = machine(&server, "durability: relaxed");
    let one = Running::organism(folder.path());
    long_question(folder.path(), SIZES[0]);
    one.signal(Signal::TERM);
    assert_eq!(one.end().code, Some(0));
    let whole = records(folder.path());
    let far = machine(&server, "durability: relaxed");
    assert_eq!(systole(far.path(), &["copy"]).code, Some(0));
    assert_eq!(records(far.path()), whole);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let jetstream = async_nats::jetstream::new(server.client().await);
        let stream = jetstream.get_stream("OBJ_SYSTOLE_shop_BLOBS").await.unwrap();
        stream.purge().await.unwrap();
    });
    let damaged = systole(far.path(), &["copy", "--again"]);
    assert!(damaged.code == Some(7) && damaged.stderr.contains("is not there, or not whole"), "{damaged:?}");
    assert!(damaged.stderr.contains("the log SYSTOLE_shop_LOG is damaged at position"), "{}", damaged.stderr);
    assert_eq!(records(far.path()), whole);
}

#[test]
fn a_copy_that_goes_further_than_the_stream_is_refused_and_stays() {
    let (mut server, folder) = at_rest();
    let whole = records(folder.path());
    server.kill();
    for command in [&["copy"][..], &["copy", "--again"]] {
        let away = systole(folder.path(), command);
        assert!(away.code == Some(5) && away.stderr.contains("bus.unreachable"), "{away:?}");
    }
    server.loses_everything();
    server.start_again();
    for words in ["it is not there any more, and the copy ", "it does not hold the bundle that the copy "] {
        for command in [&["copy"][..], &["copy", "--again"]] {
            let apart = systole(folder.path(), command);
            let told = format!("the log SYSTOLE_shop_LOG has changed: {words}");
            assert!(apart.code == Some(7) && apart.stderr.contains(&told), "{apart:?}");
            assert!(apart.stderr.contains("try: the broker's store from a backup"), "{}", apart.stderr);
            assert_eq!(records(folder.path()), whole);
        }
        // Another organism creates it again.
        assert_eq!(asked(machine(&server, "durability: relaxed").path()).stdout, "heard\n");
    }
    // A copy of another organism is rejected.
    let other = systole(folder.path(), &["copy", "--again", "--set", "organism.name=store"]);
    assert_eq!(other.code, Some(7), "{other:?}");
}

#[test]
fn what_cannot_be_copied_is_reported_with_the_fix() {
    let (server, folder) = at_rest();
    let path = folder.path();
    let no_stream = systole(path, &["copy", "--to", "new.db", "--set", "organism.name=store"]);
    assert!(no_stream.code == Some(5) && no_stream.stderr.contains("there is no stream SYSTOLE_store_LOG"));
    assert!(no_stream.stderr.contains("try: systole run, which makes it"), "{}", no_stream.stderr);
    assert!(!path.join("new.db").exists());
    for (arguments, exit, words) in [
        (&["--key-env", KEY.0][..], 2, "looks like a key itself"),
        (&["--key-env", "NOT_THERE"], 2, "the variable of that name is not set"),
        (&["--to", "a.db", "--log", "b.db"], 2, "cannot be used with"),
        (&["--to", "no/such/folder.db"], 5, "the folder for the log does not exist"),
    ] {
        let ran = systole(path, &[&["copy"], arguments].concat());
        assert!(ran.code == Some(exit) && ran.stderr.contains(words), "{ran:?}");
        assert!(!ran.stderr.contains(KEY.0), "{ran:?}");
    }
    // A log in a file is not a copy, and no copy overwrites it.
    let file = "organism: {name: shop, entry: echo}\nlisteners:\n  echo: {run: [sh, echo.sh], accepts: [ask], returns: [answer], entry: true}\n";
    let own = crate::organism::folder(&[("organism.yaml", file)]);
    let embedded = systole(own.path(), &["copy"]);
    assert!(embedded.code == Some(2) && embedded.stderr.contains("not in NATS"), "{embedded:?}");
    drop(systole_log::sqlite::open_log(&path.join("log.db")).unwrap());
    for again in [&[][..], &["--again"]] {
        let over = systole(path, &[&["copy", "--to", "log.db"], again].concat());
        assert!(over.code == Some(7) && over.stderr.contains("it is a log itself"), "{over:?}");
    }

    // Another organism's stream of the same name, and keys without access.
    let house = LogRightsHouse::open();
    let far = machine_at(&house.server.url(), "durability: relaxed, key_env: BUS_KEY");
    let unset = systole(far.path(), &["copy"]);
    assert!(unset.code == Some(3) && unset.stderr.contains("BUS_KEY"), "{unset:?}");
    let wrong = systole_with(far.path(), &["copy"], &[("BUS_KEY", KEY.0)]);
    assert!(
        wrong.code == Some(5) && wrong.stderr.contains("does not let in a client with this nkey"),
        "{wrong:?}"
    );
    assert!(!wrong.stderr.contains(KEY.0));
    // The command finds out which rights a key has, whichever it tries first. No pump has run here yet.
    let keys = ["_auditor", "_pump"].map(|name| seed(house.first.path(), name));
    for (key, more) in keys.iter().flat_map(|key| [(key, &[][..]), (key, &["--key-env", "BUS_KEY"])]) {
        let ran = systole_with(far.path(), &[&["copy"], more].concat(), &[("BUS_KEY", key)]);
        assert!(ran.code == Some(5) && ran.stderr.contains("there is no stream SYSTOLE_shop_LOG"), "{ran:?}");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let jetstream = async_nats::jetstream::new(server.client().await);
        let config = async_nats::jetstream::stream::Config {
            name: "SYSTOLE_store_LOG".to_owned(),
            subjects: vec!["somebody.else".to_owned()],
            ..Default::default()
        };
        jetstream.create_stream(config).await.unwrap();
    });
    let foreign = systole(path, &["copy", "--to", "new.db", "--set", "organism.name=store"]);
    assert!(foreign.code == Some(5) && foreign.stderr.contains("it was not made by systole"), "{foreign:?}");
}
