//! Schemas are tried in a process that may die of them: each cap really kills it, the asking process continues in
//! flat memory, and the result is reported with place and fix.

use std::path::{Path, PathBuf};
use std::process::Command;

use systole_judge::SchemaSource;
use systole_judge::trial::{FailedTrial, SchemaTrial, TrialLimits, TrialOutcome};

const SYSTOLE: &str = env!("CARGO_BIN_EXE_systole");

fn source(body: &str) -> SchemaSource {
    let head = "<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\" xmlns=\"urn:t\" targetNamespace=\"urn:t\" elementFormDefault=\"qualified\">";
    SchemaSource { name: "t.xsd".to_owned(), xsd: format!("{head}{body}</xs:schema>").into_bytes() }
}

fn plain() -> SchemaSource {
    source("<xs:element name=\"a\" type=\"xs:int\"/>")
}

fn with_content(content: &str) -> SchemaSource {
    source(&format!("\n<xs:element name=\"a\"><xs:complexType>{content}</xs:complexType></xs:element>"))
}

/// This many optional elements: our model accepts them, and libxml2 compares each with each.
fn optional(count: usize) -> SchemaSource {
    let one = |n: usize| format!("<xs:element name=\"e{n}\" type=\"xs:int\" minOccurs=\"0\"/>");
    with_content(&format!("<xs:sequence>{}</xs:sequence>", (0..count).map(one).collect::<String>()))
}

fn tried(
    caps: TrialLimits,
    fault: Option<&'static str>,
    sources: &[SchemaSource],
) -> Result<(), FailedTrial> {
    let trial = SchemaTrial::new_with(Path::new(SYSTOLE), caps);
    let trial = fault.map_or(trial.clone(), |fault| trial.with_fault(fault));
    trial.compile_sources(sources).expect("the program is there and knows the work")
}

#[test]
fn a5_what_compiles_here_compiles_there() {
    assert_eq!(tried(TrialLimits::USUAL, None, &[plain(), optional(50)]), Ok(()));
    assert_eq!(tried(TrialLimits::USUAL, None, &[]), Ok(()));
    // The reader reports what the profile excludes, with every place.
    assert_eq!(
        tried(TrialLimits::USUAL, None, &[source("<xs:include schemaLocation=\"x\"/>"), plain()]),
        Ok(())
    );
}

#[test]
fn a5_what_libxml2_refuses_is_reported_with_its_place() {
    let ambiguous = with_content(
        "\n<xs:sequence>\n<xs:element name=\"b\" type=\"xs:int\" minOccurs=\"0\"/>\n<xs:element name=\"b\" type=\"xs:int\"/></xs:sequence>",
    );
    let failed = tried(TrialLimits::USUAL, None, &[plain(), ambiguous]).unwrap_err();
    assert_eq!((failed.at, failed.line), (1, Some(2)), "{failed:?}");
    assert!(
        matches!(&failed.why, TrialOutcome::Refused(words) if words.contains("not determinist")),
        "{failed:?}"
    );
}

#[test]
fn a5_each_cap_kills() {
    let caps = TrialLimits { memory_bytes: 256 << 20, processor_s: 1, wall_ms: 20_000 };
    let failed = |caps, fault| tried(caps, Some(fault), &[plain()]).unwrap_err();
    assert_eq!(failed(caps, "spin").why, TrialOutcome::Processor);
    assert_eq!(failed(caps, "eat").why, TrialOutcome::Memory);
    assert_eq!(
        failed(TrialLimits { wall_ms: 200, ..caps }, "hang"),
        FailedTrial { at: 0, line: None, why: TrialOutcome::Wall }
    );
    // No process is left behind: a killed process was also waited for.
    let children = format!("/proc/self/task/{}/children", rustix_tid());
    let left = std::fs::read_to_string(children).unwrap_or_default();
    assert_eq!(left, "");
}

/// The thread that starts the other processes has its own list of children.
fn rustix_tid() -> String {
    let link = std::fs::read_link("/proc/thread-self").expect("Linux tells the thread");
    link.file_name().expect("a number").to_string_lossy().into_owned()
}

#[test]
fn row_24_what_the_model_takes_and_libxml2_cannot_bear_ends_another_process() {
    let began = resident_bytes();
    // The wall-clock cap is far away: on a busy machine five seconds of CPU time can take much longer.
    let caps = TrialLimits { processor_s: 2, wall_ms: 300_000, ..TrialLimits::USUAL };
    let failed = tried(caps, None, &[plain(), optional(6000)]).unwrap_err();
    assert_eq!((failed.at, failed.line, failed.why), (1, None, TrialOutcome::Processor));
    let grown = resident_bytes().saturating_sub(began);
    assert!(grown < 64 << 20, "{grown} bytes more here");
}

fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux tells its memory");
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).expect("a number") * 4096
}

#[test]
fn a5_a_program_that_does_not_know_the_work_says_nothing_of_the_schemas() {
    for other in ["true", "false", "cat", "no-such-program"] {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let found = std::env::split_paths(&path).map(|folder| folder.join(other)).find(|path| path.is_file());
        let trial = SchemaTrial::new_with(&found.unwrap_or_else(|| PathBuf::from(other)), TrialLimits::USUAL);
        assert_eq!(trial.compile_sources(&[plain()]), None, "{other}");
    }
    assert!(SchemaTrial::find_beside().is_some(), "the tests of this workspace find the program");
}

#[test]
fn a5_limits_that_are_lower_already_stay() {
    // As a service may be started: less memory than the cap, but enough for this, and little CPU time.
    let shell = format!("ulimit -v 160000; ulimit -t 2; printf '' | {SYSTOLE} -try-schemas 268435456 3");
    let output = Command::new("sh").args(["-c", &shell]).output().expect("a shell runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "\"Ready\"\n\"Compiled\"\n");
}

/// Runs the program on an organism whose listener has this schema and none of its elements. Returns its output and
/// its exit code.
fn run(schema: &[u8]) -> (String, Option<i32>) {
    let folder = tempfile::tempdir().expect("a folder");
    let yaml = "organism: {name: acme}\nlisteners:\n  one: {run: [true], schema: t.xsd, accepts: [nowhere], entry: true}\n";
    std::fs::write(folder.path().join("organism.yaml"), yaml).expect("it can be written");
    std::fs::write(folder.path().join("t.xsd"), schema).expect("it can be written");
    let mut command = Command::new(SYSTOLE);
    let output = command.arg("run").current_dir(folder.path()).output().expect("it runs");
    (String::from_utf8_lossy(&output.stderr).into_owned(), output.status.code())
}

#[test]
fn a5_row_24_a_too_costly_schema_is_refused_with_place_and_fix() {
    let counted =
        "<xs:sequence><xs:element name=\"b\" type=\"xs:int\" maxOccurs=\"1000000000\"/></xs:sequence>";
    let pattern = "<xs:element name=\"a\"><xs:simpleType><xs:restriction base=\"xs:string\"><xs:pattern value=\"(a|aa)+x\"/>\
        </xs:restriction></xs:simpleType></xs:element>";
    let endless = "<xs:element name=\"a\" type=\"t\"/><xs:complexType name=\"t\"><xs:sequence><xs:element name=\"b\" type=\"t\"/>\
        </xs:sequence></xs:complexType>";
    let types: String = (0..120_000)
        .map(|n| format!("<xs:simpleType name=\"t{n}\"><xs:restriction base=\"xs:string\"/></xs:simpleType>"))
        .collect();
    let rows = [
        (
            with_content(counted),
            "maxOccurs is 1000000000, more than 10000",
            "use unbounded, or at most 10000",
        ),
        (source(pattern), "its repetitions overlap", "write a simpler pattern"),
        (source(endless), "it must contain itself", "minOccurs=\"0\""),
        (source(&types), "larger than 1048576 bytes", "an XSD of 1048576 bytes at most"),
        (optional(6000), "compiling it takes", "write the type more plainly"),
        (
            with_content(
                "<xs:sequence><xs:element name=\"b\" type=\"xs:int\" minOccurs=\"0\"/><xs:element name=\"b\" type=\"xs:int\"/></xs:sequence>",
            ),
            "The content model is not determinist",
            "make the first one required",
        ),
    ];
    for (source, words, fix) in rows {
        let (told, exit) = run(&source.xsd);
        let flat = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(exit, Some(3), "{told}");
        assert!(flat.contains(words) && flat.contains(fix), "{words}: {told}");
        assert!(flat.contains("config.schema") || flat.contains("config.unreadable"), "{told}");
        assert!(flat.contains("t.xsd"), "{told}");
        // After a failed trial the check stops, so it does not report the missing name `nowhere`.
        assert!(flat.ends_with("1 mistake") || !words.starts_with("compiling"), "{told}");
    }
}

#[test]
fn a5_a_program_under_a_longer_name_tries_with_itself_and_with_no_stranger_above() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("bin");
    std::fs::create_dir(&place).expect("a folder");
    // By a process of its own: one that another test starts meanwhile would hold the file open for writing.
    let copied = Command::new("cp").arg(SYSTOLE).arg(place.join("systole-next")).status();
    assert!(copied.expect("cp runs").success());
    // A program in the parent folder, which another user may write, must not run.
    std::fs::write(folder.path().join("systole"), "#!/bin/sh\ntouch \"$0.was-run\"\n")
        .expect("it can be written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path().join("systole"), mode).expect("it can be run");
    let yaml = "organism: {name: acme}\nlisteners:\n  one: {run: [true], schema: t.xsd, accepts: [a], entry: true}\n";
    std::fs::write(place.join("organism.yaml"), yaml).expect("it can be written");
    // More than the cap allows, and only some time of this process without the cap.
    std::fs::write(place.join("t.xsd"), optional(2500).xsd).expect("it can be written");
    let output = Command::new(place.join("systole-next")).arg("check").current_dir(&place).output();
    let told = String::from_utf8_lossy(&output.expect("it runs").stdout).into_owned();
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("compiling it takes more than 3 s"), "{told}");
    assert!(!folder.path().join("systole.was-run").exists());
}

#[test]
fn who_only_reads_the_log_does_not_wait_for_a_trial() {
    let folder = tempfile::tempdir().expect("a folder");
    let yaml = "organism: {name: acme}\nlisteners:\n  one: {run: [true], schema: t.xsd, accepts: [a], entry: true}\n";
    std::fs::write(folder.path().join("organism.yaml"), yaml).expect("it can be written");
    std::fs::write(folder.path().join("t.xsd"), optional(6000).xsd).expect("it can be written");
    let said = |command: &str| {
        let output = Command::new(SYSTOLE).arg(command).current_dir(folder.path()).output();
        let output = output.expect("it runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    // Without a compile there is no trial: it reports that there is no log, and nothing about the schema.
    let (exit, told) = said("ps");
    assert!(!told.contains("compiling"), "{exit:?} {told}");
    assert!(told.contains("organism.db"), "{exit:?} {told}");
    assert_eq!(said("check").0, Some(3));
}

#[test]
fn a5_the_way_in_is_no_command() {
    let help = Command::new(SYSTOLE).arg("--help").output().expect("it runs");
    assert!(!String::from_utf8_lossy(&help.stdout).contains("try-schemas"));
    // Without caps, or with unreadable caps, it does nothing.
    for arguments in [&["-try-schemas"] as &[&str], &["-try-schemas", "x", "1"]] {
        let output = Command::new(SYSTOLE).args(arguments).output().expect("it runs");
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    }
}
