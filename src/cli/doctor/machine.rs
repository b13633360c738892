//! The machine under an organism: libxml2, and the programs that examples and tests need.
//!
//! It starts only `python3`, `nats-server` and `strace`, each with `--version`, and changes nothing.

use std::process::{Command, Stdio};

use super::Finding;
use crate::cli::exit::CommandExit;
use crate::limits::VERSION_BYTES;
use systole_judge::{LibxmlJudge, SchemaSource, SchemaVerdict};

const XSD: &[u8] =
    br#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:systole:doctor"
  elementFormDefault="qualified"><xs:element name="n" type="xs:int"/></xs:schema>"#;

pub(super) fn examine_machine() -> Vec<Finding> {
    vec![
        check_libxml(),
        check_program("python3", "only listeners written in Python need it"),
        check_program("nats-server", "only an organism with `bus: {nats: managed}` needs it, 2.12 or newer"),
        check_program("strace", "only the tests of crashes in the middle of a commit need it"),
    ]
}

/// Judges a valid and an invalid payload: the version alone does not prove that it works.
fn check_libxml() -> Finding {
    let version = find_libxml().unwrap_or_else(|| "linked into this program".to_owned());
    let works = || {
        let mut judge = LibxmlJudge::compile_sources(&[SchemaSource {
            name: "doctor.xsd".to_owned(),
            xsd: XSD.to_vec(),
        }])
        .map_err(|refused| refused.to_string())?;
        let id = judge.find_schema("doctor.xsd").ok_or("the schema was not compiled")?;
        let good = judge.judge_payload(id, b"<n xmlns='urn:systole:doctor'>7</n>");
        let bad = judge.judge_payload(id, b"<n xmlns='urn:systole:doctor'>seven</n>");
        match (good, bad) {
            (SchemaVerdict::Valid, SchemaVerdict::Invalid { .. }) => Ok(()),
            told => Err(format!("it judges wrongly: {told:?}")),
        }
    };
    match works() {
        Ok(()) => Finding::new_good("libxml2", format!("{version}, and it judges")),
        Err(why) => {
            let fix = "the package libxml2 of your system, 2.9 or newer";
            Finding::new_problem("libxml2", format!("{version}: {why}"), fix, CommandExit::Failed)
        }
    }
}

/// The file of the library that this process has loaded: its last numbers are the version.
fn find_libxml() -> Option<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let path =
        maps.lines().find_map(|line| line.get(line.find('/')?..).filter(|p| p.contains("libxml2.so")))?;
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.into());
    let version = real.to_string_lossy().rsplit_once(".so.").map(|(_, version)| version.to_owned())?;
    Some(format!("{version} at {path}"))
}

fn check_program(name: &'static str, meaning: &'static str) -> Finding {
    let ran = Command::new(name).arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).output();
    match ran {
        Ok(output) if output.status.success() => {
            let text = String::from_utf8_lossy(&output.stdout);
            Finding::new_good(
                name,
                text.lines().next().unwrap_or_default().chars().take(VERSION_BYTES).collect::<String>(),
            )
        }
        Ok(output) => Finding::new_note(name, format!("it does not run: {}", output.status), meaning),
        Err(error) => Finding::new_note(name, format!("not found: {error}"), meaning),
    }
}
