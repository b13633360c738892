//! The reading commands with `--at`: the organism as it was, compared with logs that really ended there. Those are
//! copies made while it ran, and logs written anew from the first records.

use std::path::Path;

use serde_json::Value;
use systole_core::types::ids::Digest;
use systole_core::types::ports::{
    Clock as _, Commit, LogBatch, LogReader as _, LogWriter as _, StoredDocument,
};
use systole_log::sqlite;
use systole_system::clock::WallClock;

use crate::log_records::{batch, read_all};
use crate::program::{Running, systole};
use crate::trail::example;

/// Longer than anything here takes on a busy machine, in milliseconds.
const WAIT_MS: u64 = 240_000;

/// The commands, each with its arguments.
const COMMANDS: [&[&str]; 16] = [
    &["ps", "-n", "0", "--children"],
    &["ps", "-n", "0"],
    &["why"],
    &["tree"],
    &["todo"],
    &["log"],
    &["context"],
    &["cost"],
    &["approve"],
    &["decisions"],
    &["slow"],
    &["schedules"],
    &["find", "--kind", "message", "--limit", "0"],
    &["find", "heart"],
    &["trail"],
    &["graph"],
];

/// What a command says of a log: its exit, and its values without what depends on the moment of reading.
fn said(folder: &Path, log: &str, command: &[&str], at: Option<u64>) -> (Option<i32>, Vec<Value>, String) {
    let at = at.map(|at| at.to_string());
    let past = at.iter().flat_map(|at| ["--at", at]);
    let arguments: Vec<&str> = command.iter().copied().chain(["--log", log, "--json"]).chain(past).collect();
    let ran = systole(folder, &arguments);
    // Lists are one value over many lines, a log is one value in each.
    let values: Result<Vec<Value>, _> = serde_json::Deserializer::from_str(&ran.stdout).into_iter().collect();
    let mut values = values.unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    values.iter_mut().for_each(steady);
    let fault = ran.stderr.lines().find(|line| line.starts_with("error: ")).unwrap_or_default().to_owned();
    (ran.code, values, fault)
}

/// Takes out what depends on the moment of reading: durations up to now.
fn steady(value: &mut Value) {
    match value {
        Value::Array(all) => all.iter_mut().for_each(steady),
        Value::Object(fields) => {
            fields.retain(|name, _| !matches!(name.as_str(), "waited_ms" | "used_ms" | "json"));
            for name in ["words", "ends", "left", "detail"] {
                if let Some(Value::String(text)) = fields.get_mut(name) {
                    text.retain(|c| !c.is_ascii_digit());
                    *text = text.replace(" h", "").replace(" m", "").replace(" s", "").replace('.', "");
                }
            }
            fields.values_mut().for_each(steady);
        }
        _ => {}
    }
}

/// Runs a command until its output is as wanted.
fn until(folder: &Path, command: &[&str], so: impl Fn(&str) -> bool) -> String {
    let end = WallClock.now().add_ms(WAIT_MS);
    loop {
        let ran = systole(folder, command);
        if so(&ran.stdout) {
            return ran.stdout;
        }
        assert!(WallClock.now() < end, "{ran:?}");
        std::thread::yield_now();
    }
}

fn last(folder: &Path, log: &str) -> u64 {
    read_all(&folder.join(log)).len() as u64
}

#[track_caller]
fn compare(folder: &Path, log: &str, command: &[&str], at: u64) {
    let really = said(folder, log, command, None);
    let shown = said(folder, "team.db", command, Some(at));
    assert_eq!(shown, really, "{command:?} at {at}");
}

#[test]
fn c14_the_commands_show_the_organism_as_it_was() {
    let (_above, team) = example("team", &["--team"]);
    let file = team.join("organism.yaml");
    let yaml = std::fs::read_to_string(&file).unwrap();
    let held = yaml.replace("when: dangerous, expires: 30s", "when: always, expires: 1h");
    assert_ne!(held, yaml);
    std::fs::write(&file, held).unwrap();
    let organism = Running::organism(&team);
    let sent = systole(&team, &["send", "ask", "What makes a heart beat?", "--no-wait"]);
    assert_eq!(sent.code, Some(0), "{sent:?}");
    let mut copies = Vec::new();
    let mut copied = |name: &'static str| {
        let ran = systole(&team, &["backup", "-o", name]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        copies.push(name);
    };
    copied("early.db");
    until(&team, &["approve"], |list| list.contains("answer: systole approve a1"));
    copied("held.db");
    let approved = systole(&team, &["approve", "a1"]);
    assert_eq!(approved.code, Some(0), "{approved:?}");
    copied("approved.db");
    until(&team, &["ps"], |list| list.contains("answered"));
    copied("rests.db");
    organism.interrupt();

    let ends: Vec<(&str, u64)> = copies.iter().map(|name| (*name, last(&team, name))).collect();
    assert!(ends.windows(2).all(|pair| pair[0].1 <= pair[1].1) && ends[1].1 < ends[3].1, "{ends:?}");
    for (copy, end) in ends {
        COMMANDS.iter().for_each(|command| compare(&team, copy, command, end));
    }
    every_position(&team);
}

/// Compares at every position with a log that has only the records up to it, for each of the commands in turn.
fn every_position(team: &Path) {
    let records = read_all(&team.join("team.db"));
    let mut documents = documents(&team.join("team.db"));
    // A configuration is stored in pieces, so it is read as a whole.
    let reader = sqlite::open_reading(&team.join("team.db")).unwrap();
    let configs: std::collections::BTreeSet<Digest> = records.iter().map(|one| one.header.config).collect();
    for hash in configs {
        documents.extend(reader.read_document(hash).unwrap().map(|bytes| StoredDocument { hash, bytes }));
    }
    for end in 1..=records.len() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("ended.db");
        {
            let mut opened = sqlite::open_log(&log).unwrap();
            let kept = records.iter().take(end).cloned();
            let whole = LogBatch { documents: documents.clone(), ..batch(kept) };
            assert!(matches!(opened.writer.commit_batch(&whole), Commit::Committed(_)));
        }
        let log = log.to_str().unwrap();
        let chosen = COMMANDS.iter().skip(end % 4).step_by(4);
        chosen.for_each(|command| compare(team, log, command, end as u64));
    }
}

fn documents(log: &Path) -> Vec<StoredDocument> {
    let connection = rusqlite::Connection::open(log).unwrap();
    let mut select = connection.prepare("SELECT bytes FROM document").unwrap();
    let bytes = select.query_map([], |row| row.get::<_, Vec<u8>>(0)).unwrap();
    bytes
        .map(|bytes| bytes.unwrap())
        .map(|bytes| StoredDocument { hash: Digest::hash_bytes(&bytes), bytes: bytes.into() })
        .collect()
}

#[test]
fn c14_the_graph_of_a_position_is_that_of_its_configuration() {
    let (_above, team) = example("team", &["--team"]);
    Running::organism(&team).interrupt();
    let before = last(&team, "team.db");
    let file = team.join("organism.yaml");
    let yaml = std::fs::read_to_string(&file).unwrap();
    let now = |at: &[&str]| systole(&team, &[&["graph", "--json"], at].concat()).json_lines().remove(0);
    let old = now(&[]);
    let more = "listeners:\n  later: {run: [\"true\"], schema: later.xsd, accepts: [x], returns: [y]}\n";
    std::fs::write(&file, yaml.replace("listeners:\n", more)).unwrap();
    let schema = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="https://xml-pipeline.org/ns/later/v1" elementFormDefault="qualified"><xs:element name="x" type="xs:string"/><xs:element name="y" type="xs:string"/></xs:schema>"#;
    std::fs::write(team.join("later.xsd"), schema).unwrap();
    Running::organism(&team).interrupt();
    let new = now(&[]);
    assert_ne!(new, old);
    assert_eq!(now(&["--at", &before.to_string()]), old);
    assert_eq!(now(&["--at", &last(&team, "team.db").to_string()]), new);
    let none = systole(&team, &["graph", "--at", "99999"]);
    assert_eq!(none.code, Some(2), "{none:?}");
}

#[test]
fn c14_a_position_that_is_not_there_and_what_steers_refuse_it() {
    let (_above, team) = example("team", &["--team"]);
    let organism = Running::organism(&team);
    organism.interrupt();
    for at in ["0", "99999"] {
        let ran = systole(&team, &["ps", "--at", at]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(&format!("--at {at}: there is no such position")), "{ran:?}");
        assert!(ran.stderr.contains("try: systole log --json"), "{ran:?}");
    }
    for command in [
        &["approve", "a1", "--at", "1"][..],
        &["approve", "--at", "1", "--note", "why"],
        &["log", "-f", "--at", "1"],
        &["pause", "--all", "--at", "1"],
        &["reject", "a1", "--note", "why", "--at", "1"],
        &["cancel", "@last", "--at", "1"],
    ] {
        let ran = systole(&team, command);
        assert_eq!(ran.code, Some(2), "{command:?}: {ran:?}");
    }
}
