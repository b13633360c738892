//! Random changes to a log file: how many of them each command finds. The program of the page is the measure:
//! `doctor` finds everything that it finds, and so does `log` if records were changed.

use std::process::Command;

use systole_soak::dice::SeededDice;

use crate::log_evidence::{drop_thread, edit, house, number, rewrite, thread};
use crate::log_page;
use crate::program::systole;

/// The number of changes, unless `SYSTOLE_CASES` sets it. Each costs three processes.
const CHANGES: u32 = 20;

/// Makes one change, and describes it.
fn mutate(at: &std::path::Path, dice: &mut SeededDice) -> String {
    let records = number(at, "SELECT max(pos) FROM record").unsigned_abs();
    let position = 1 + dice.below(records);
    let other = 1 + dice.below(records);
    let sql = match dice.below(19) {
        0 => format!(
            "UPDATE record SET body = CAST(substr(body, 1, 3) || 'x' || substr(body, 5) AS BLOB) WHERE pos = {position} AND length(body) > 4"
        ),
        1 => format!("UPDATE record SET time = time + 1 WHERE pos = {position}"),
        2 => format!(
            "UPDATE record SET sender = 1 + sender % (SELECT count(*) FROM word) WHERE pos = {position}"
        ),
        3 => format!("UPDATE record SET salt = zeroblob(16) WHERE pos = {position}"),
        4 => format!("UPDATE record SET head = zeroblob(32) WHERE pos = {position}"),
        5 => format!("UPDATE record SET cause = NULL WHERE pos = {position} AND cause IS NOT NULL"),
        6 => format!("DELETE FROM record WHERE pos = {position}"),
        7 => format!("DELETE FROM record WHERE pos > {position}"),
        8 => format!(
            "UPDATE record SET pos = -1 WHERE pos = {position}; UPDATE record SET pos = {position} WHERE pos = {other}; UPDATE record SET pos = {other} WHERE pos = -1"
        ),
        9 => "UPDATE document SET bytes = CAST(bytes || ' ' AS BLOB) WHERE id = 1".to_owned(),
        10 => format!("DELETE FROM document WHERE id = 1 + {position} % (SELECT max(id) FROM document)"),
        11 => "DROP INDEX record_key".to_owned(),
        12 => "CREATE TRIGGER t AFTER INSERT ON record BEGIN DELETE FROM record; END".to_owned(),
        13 => format!("UPDATE word SET text = 'message2' WHERE id = 1 + {position} % 3"),
        14 => "UPDATE config SET hash = zeroblob(32)".to_owned(),
        15 => "UPDATE piece SET bytes = CAST(bytes || ' ' AS BLOB) WHERE rowid = 1".to_owned(),
        16 => format!("DELETE FROM piece WHERE rowid = 1 + {position} % 3"),
        17 => {
            let child = thread(at, "SELECT text FROM thread WHERE text LIKE '%.heat'");
            rewrite(at, &child, 1, "<dig xmlns=\"urn:t\">shallow</dig>");
            return "a child written anew".to_owned();
        }
        _ => {
            let roots = "SELECT text FROM thread WHERE text LIKE 'sess-%' AND text NOT LIKE '%.%' ORDER BY id LIMIT 1";
            let root = thread(at, &format!("{roots} OFFSET {}", position % 2));
            drop_thread(at, root.as_str());
            return "a root dropped".to_owned();
        }
    };
    edit(at, &sql);
    sql
}

#[tokio::test]
async fn doctor_finds_whatever_the_formula_finds() {
    let folder = house().await;
    let at = folder.path();
    let whole = std::fs::read(at.join("hello.db")).unwrap();
    let page = log_page::with_program();
    let dice = &mut SeededDice::new(7);
    let changes = std::env::var("SYSTOLE_CASES").ok().map_or(CHANGES, |changes| changes.parse().unwrap());
    let (mut by_page, mut by_log, mut by_doctor, mut missed) = (0, 0, 0, Vec::new());
    for _ in 0..changes {
        let change = mutate(at, dice);
        let ran = Command::new("python3")
            .arg(page.path().join("verify.py"))
            .arg(at.join("hello.db"))
            .output()
            .unwrap();
        let said = String::from_utf8(ran.stderr).unwrap();
        let log = systole(at, &["log", "--from", "1", "--raw"]);
        let doctor = systole(at, &["doctor"]);
        by_page += u32::from(!ran.status.success());
        by_log += u32::from(log.code == Some(7));
        by_doctor += u32::from(doctor.code == Some(7));
        if !ran.status.success() {
            assert_eq!(doctor.code, Some(7), "{change}: {said}: {}", doctor.stdout);
            let of_records = said.starts_with("position");
            assert!(!of_records || log.code == Some(7), "{change}: {said}: {}", log.stderr);
        }
        if doctor.code != Some(7) {
            missed.push(change);
        }
        std::fs::write(at.join("hello.db"), &whole).unwrap();
    }
    println!(
        "of {changes} changes the page's program finds {by_page}, log {by_log}, doctor {by_doctor}; missed:"
    );
    missed.iter().for_each(|change| println!("  {change}"));
    assert!(by_doctor >= by_page && by_doctor * 10 >= changes * 8, "{by_doctor}");
}
