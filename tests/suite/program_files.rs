//! The hashes of program files in `<listener-joined>`, and what `verify` says about them.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::Value;
use systole_carriers::CarrierWaits;
use systole_core::rules::core_payload;
use systole_core::types::composition::Reach;
use systole_core::types::ids::{Digest, ThreadId};
use systole_core::types::ports::{CarrierReport, ProgramFile};

use crate::log_evidence::{number, rewrite};
use crate::program::systole;
use crate::stage::{QUICK, cast, folder, program};

/// A script that answers every question with one word.
fn script(word: &str) -> String {
    format!(
        "cat > /dev/null\nprintf '<answer xmlns=\"https://xml-pipeline.org/ns/talk/v1\">%s</answer>' {word}\n"
    )
}

/// An organism whose only listener is started as `run` says.
fn organism(run: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let file = format!(
        "organism: {{name: hello, entry: one}}\nconsole: {{listen: '127.0.0.1:0'}}\nlog: {{path: hello.db}}\n\
         listeners:\n  one:\n    run: {run}\n    mode: once\n    accepts: [ask]\n    returns: [answer]\n    entry: true\n"
    );
    std::fs::write(folder.path().join("organism.yaml"), file).unwrap();
    folder
}

fn answers(at: &Path) -> String {
    let ran = systole(at, &["ask", "hello"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.stdout.trim().to_owned()
}

/// The files of each `<listener-joined>`, and the configuration of its record.
fn joined(at: &Path) -> Vec<(Vec<ProgramFile>, String)> {
    let records = systole(at, &["log", "sys", "--json"]).json_lines();
    let of = |record: &Value| {
        let (name, files) = core_payload::read_listener_joined(record["body"].as_str()?.as_bytes())?;
        assert_eq!(name, "one");
        Some((files, record["config"].as_str()?.to_owned()))
    };
    records.iter().filter_map(of).collect()
}

fn hash_of(file: &Path) -> Option<Digest> {
    Some(Digest::hash_bytes(&std::fs::read(file).unwrap()))
}

#[test]
fn c2_a_script_that_is_edited_between_two_starts_has_two_hashes_under_one_configuration() {
    let folder = organism("[sh, one.sh]");
    let at = folder.path();
    let mut hashes = Vec::new();
    for word in ["first", "second"] {
        std::fs::write(at.join("one.sh"), script(word)).unwrap();
        assert_eq!(answers(at), word);
        hashes.push(hash_of(&at.join("one.sh")));
    }
    let joined = joined(at);
    assert_eq!(joined.len(), 2, "{joined:?}");
    assert_ne!(hashes[0], hashes[1]);
    assert_eq!(joined[0].1, joined[1].1, "the configuration is the same");
    for ((files, _), hash) in joined.iter().zip(&hashes) {
        assert_eq!(files.len(), 2, "{files:?}");
        assert!(files[0].path.starts_with('/') && files[0].path.ends_with("/sh"), "{files:?}");
        assert_eq!(files[0].hash, hash_of(Path::new(&files[0].path)));
        assert_eq!(files[1], ProgramFile { path: "one.sh".to_owned(), hash: *hash });
    }
    let ran = systole(at, &["verify"]);
    let flat = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("Which program files ran is a supplier assertion"), "{ran:?}");
    assert!(flat.contains("are not covered"), "{ran:?}");
    for hash in hashes.iter().flatten() {
        assert!(flat.contains(&format!("{hash} one.sh of one, from #")), "{ran:?}");
    }
    let value = systole(at, &["verify", "--json"]).json_lines().remove(0);
    let files = value["files"].as_array().unwrap();
    assert_eq!(files.len(), 3, "the shell is the same: {files:?}");
    assert_eq!(files[1]["sha256"], hashes[0].unwrap().to_string());
    assert_eq!(files[2]["sha256"], hashes[1].unwrap().to_string());
    assert!(files[0]["first"].as_u64() < files[0]["last"].as_u64(), "{files:?}");
    // Program files are no part of what a replay compares.
    let ran = systole(at, &["replay", "--all"]);
    assert_eq!((ran.code, ran.stdout.trim()), (Some(0), "2 same, 0 differ"), "{ran:?}");
}

#[test]
fn c2_what_cannot_be_hashed_is_listed_and_what_is_no_file_is_not_opened() {
    let folder = organism("[./one.sh, huge, pipe, /dev/zero, ., absent, one.sh, \"{}\"]");
    let at = folder.path();
    std::fs::write(at.join("one.sh"), format!("#!/bin/sh\n{}", script("done"))).unwrap();
    std::fs::set_permissions(at.join("one.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::File::create(at.join("huge")).unwrap().set_len(1 << 40).unwrap();
    let pipe = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, at.join("pipe"), pipe, rustix::fs::Mode::RUSR, 0).unwrap();
    assert_eq!(answers(at), "done");
    let (files, _) = joined(at).remove(0);
    let (hash, file) =
        (hash_of(&at.join("one.sh")), |path: &str, hash| ProgramFile { path: path.to_owned(), hash });
    assert!(files[0].path.ends_with("one.sh") && files[0].hash == hash, "{files:?}");
    assert_eq!(files[1..], [file("huge", None), file("one.sh", hash)]);
    let ran = systole(at, &["verify"]);
    assert!(ran.stdout.contains("not hashed: unreadable or too large\n      huge of one, from #"), "{ran:?}");
}

#[tokio::test]
async fn c2_a_script_that_is_edited_while_the_organism_runs_is_recorded_again() {
    let folder = folder("program-files");
    let script_file = folder.join("one.sh");
    let files = |report| match report {
        CarrierReport::Joined { files, .. } => files,
        other => panic!("{other:?}"),
    };
    for stays in [false, true] {
        let edited = |word: &str| {
            std::fs::write(&script_file, format!("# {word}\nhead -c 1 > /dev/null\n")).unwrap();
            hash_of(&script_file)
        };
        let first = edited("first");
        let plain = program(&["/bin/sh", "one.sh"], folder.clone());
        let one = cast(Reach::Process(systole_core::types::composition::ListenerProgram { stays, ..plain }));
        let mut stage = one.paced(CarrierWaits { longest_pause_ms: 20, ..QUICK }).start();
        assert_eq!(files(stage.next().await)[1].hash, first);
        let second = edited("second and longer");
        if stays {
            // The program that runs is still the first one. Its restart has the second.
            stage.hand("d1");
            assert!(!matches!(stage.next().await, CarrierReport::Joined { .. }));
        }
        loop {
            if let CarrierReport::Joined { files, .. } = stage.next().await {
                assert_eq!(files[1].hash, second);
                break;
            }
        }
        stage.stop().await;
    }
}

#[test]
fn c2_a_log_that_names_no_files_says_so() {
    let folder = organism("[sh, one.sh]");
    let at = folder.path();
    std::fs::write(at.join("one.sh"), script("done")).unwrap();
    answers(at);
    let joined =
        "SELECT seq FROM line WHERE thread = 'sys' AND instr(CAST(body AS TEXT), '<listener-joined')";
    let seq = u64::try_from(number(at, joined)).unwrap();
    // As versions wrote it that did not look at files.
    let body = "<listener-joined xmlns=\"https://xml-pipeline.org/ns/core/v1\" name=\"one\"/>";
    rewrite(at, &ThreadId::new_sys(), seq, body);
    let ran = systole(at, &["verify"]);
    let flat = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(flat.contains("Which program files ran is not recorded."), "{ran:?}");
    let ran = systole(at, &["replay"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}
