//! Organisms whose listener runs in a sandbox: the level in the log, what `check`, `run` and `doctor` report, and what a
//! listener cannot steal.

use std::path::Path;
use std::process::{Command, Stdio};

use super::{OTHER_USER, python};
use crate::program::{Ran, Running, run_file, systole, systole_with};

/// A shell script that answers with what it could read.
const THIEF: &str = r#"cat > /dev/null
found=nothing
for file in hello.db hello.db.run organism.yaml other/secret; do
  cat "$file" > /dev/null 2>&1 && found="$found $file"
done
echo x > ./made 2> /dev/null && found="$found made"
printf '<answer xmlns="https://xml-pipeline.org/ns/talk/v1">%s</answer>\n' "$found"
"#;

/// An organism with one listener, which runs that script in that sandbox.
fn organism(sandbox: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("other")).unwrap();
    std::fs::write(folder.path().join("other/secret"), "secret").unwrap();
    std::fs::write(folder.path().join("thief.sh"), THIEF).unwrap();
    let file = format!(
        "organism: {{name: hello, entry: thief}}\nconsole: {{listen: '127.0.0.1:0'}}\nlog: {{path: hello.db}}\nlisteners:\n  thief:\n    run: [sh, thief.sh]\n    mode: once\n    sandbox: {sandbox}\n    accepts: [ask]\n    returns: [answer]\n    entry: true\n"
    );
    std::fs::write(folder.path().join("organism.yaml"), file).unwrap();
    folder
}

/// Runs a command of the program with other words in front of it.
fn behind(folder: &Path, before: &[&str], arguments: &[&str]) -> Ran {
    let mut command = Command::new(before[0]);
    command.args(&before[1..]).arg(env!("CARGO_BIN_EXE_systole")).args(arguments).current_dir(folder);
    command.envs([("TZ", "UTC"), ("COLUMNS", "200")]).stdin(Stdio::null());
    Running::of(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()).end()
}

/// The same as an ordinary user, even if this one is the superuser.
fn as_ordinary_user(folder: &Path, arguments: &[&str]) -> Ran {
    if !rustix::process::geteuid().is_root() {
        return behind(folder, &["env"], arguments);
    }
    for path in ["", "organism.yaml", "thief.sh", "other", "other/secret"] {
        std::os::unix::fs::chown(folder.join(path), Some(OTHER_USER), Some(OTHER_USER)).unwrap();
    }
    let (user, group) = (format!("--reuid={OTHER_USER}"), format!("--regid={OTHER_USER}"));
    behind(folder, &["setpriv", &user, &group, "--clear-groups"], arguments)
}

/// The same where the system refuses namespaces.
fn without_namespaces(folder: &Path, arguments: &[&str]) -> Ran {
    let script = "for kind in user mnt net pid; do echo 0 > /proc/sys/user/max_${kind}_namespaces; done && exec \"$@\"";
    behind(folder, &["unshare", "-Ur", "--mount", "--net", "sh", "-c", script, "sh"], arguments)
}

/// The same on a kernel without Landlock.
fn without_landlock(folder: &Path, arguments: &[&str]) -> Ran {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/sandbox/without_landlock.py");
    behind(folder, &[&python(), script], arguments)
}

/// What `run` says where there is no Landlock.
pub(crate) fn refused_without_landlock() -> String {
    without_landlock(organism("{}").path(), &["run"]).stderr
}

fn joined(folder: &Path) -> String {
    let log = systole(folder, &["log", "sys", "--json"]).json_lines();
    let bodies = log.iter().filter_map(|record| record["body"].as_str());
    bodies.filter(|body| body.contains("<listener-joined")).collect()
}

#[test]
fn g2_a_sandboxed_listener_steals_neither_the_credential_nor_the_log() {
    let folder = organism("{}");
    let running = Running::organism(folder.path());
    // The credential is there to be stolen.
    drop(run_file(folder.path()));
    let ran = systole(folder.path(), &["ask", "hello"]);
    assert_eq!((ran.code, ran.stdout.trim()), (Some(0), "nothing"), "{ran:?}");
    let ran = running.interrupt();
    assert!(ran.stdout.contains("thief is ready, in a sandbox of level full"), "{ran:?}");
    assert!(joined(folder.path()).contains("sandbox=\"full\""));
    // Without a sandbox the same script finds everything.
    let folder = organism("none");
    let running = Running::organism(folder.path());
    let ran = systole(folder.path(), &["ask", "hello"]);
    let all = "nothing hello.db hello.db.run organism.yaml other/secret made";
    assert_eq!(ran.stdout.trim(), all, "{ran:?}");
    drop(running.interrupt());
    assert!(!joined(folder.path()).contains("sandbox"));
}

#[test]
fn g2_a_listener_reads_and_writes_what_its_file_allows() {
    let folder = organism("{read: [other], write: [other]}");
    let ran = systole(folder.path(), &["ask", "hello"]);
    assert_eq!((ran.code, ran.stdout.trim()), (Some(0), "nothing other/secret"), "{ran:?}");
}

#[test]
fn g2_an_ordinary_user_has_level_full() {
    let folder = organism("{}");
    let ran = as_ordinary_user(folder.path(), &["ask", "hello"]);
    assert_eq!((ran.code, ran.stdout.trim()), (Some(0), "nothing"), "{ran:?}");
    assert!(joined(folder.path()).contains("sandbox=\"full\""));
    let doctor = as_ordinary_user(folder.path(), &["doctor", "--json"]);
    assert!(doctor.stdout.contains("all 17 ways out that were tried are refused"), "{doctor:?}");
    assert!(doctor.stdout.contains("level landlock, not needed here: 12 of 17 ways"), "{doctor:?}");
}

#[test]
fn g2_a_program_that_only_chooses_another_one_is_found_before_its_first_call() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = organism("{}");
    let manager = tempfile::tempdir().unwrap();
    let shims = manager.path().join("pyenv/shims");
    std::fs::create_dir_all(&shims).unwrap();
    let text =
        "#!/bin/sh\nprogram=\"${0##*/}\"\nexec \"/opt/pyenv/libexec/pyenv\" exec \"$program\" \"$@\"\n";
    std::fs::write(shims.join("sh"), text).unwrap();
    std::fs::set_permissions(shims.join("sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", shims.display(), std::env::var("PATH").unwrap());
    let variables = [("PATH", path.as_str())];
    let doctor = systole_with(folder.path(), &["doctor", "--json"], &variables);
    let words = "pyenv/shims/sh, which only chooses another program, and the sandbox cannot read that one";
    assert!(doctor.code == Some(1) && doctor.stdout.contains(words), "{doctor:?}");
    let ran = systole_with(folder.path(), &["ask", "hello"], &variables);
    let said = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(ran.code != Some(0) && said.contains("which only chooses another program"), "{ran:?}");
    // Where a sandbox may read what is chosen, only a start can tell.
    let folder = organism("{read: [/var]}");
    let doctor = systole_with(folder.path(), &["doctor", "--json"], &variables);
    assert!(!doctor.stdout.contains("which only chooses"), "{doctor:?}");
}

#[test]
fn g2_where_namespaces_are_refused_the_level_is_landlock_and_holds() {
    let folder = organism("{}");
    let ran = without_namespaces(folder.path(), &["ask", "hello"]);
    assert_eq!((ran.code, ran.stdout.trim()), (Some(0), "nothing"), "{ran:?}");
    assert!(joined(folder.path()).contains("sandbox=\"landlock\""));
    let doctor = without_namespaces(folder.path(), &["doctor", "--json"]);
    assert!(doctor.stdout.contains("not level full: cannot make namespaces"), "{doctor:?}");
    assert!(doctor.stdout.contains("a program can still see a file outside"), "{doctor:?}");
}

#[test]
fn g2_without_landlock_run_refuses_and_none_is_the_way_out() {
    let folder = organism("{}");
    for command in [&["run"][..], &["ask", "hello"]] {
        let ran = without_landlock(folder.path(), command);
        assert_eq!(ran.code, Some(3), "{ran:?}");
        assert!(ran.stderr.contains("config.no-sandbox: thief is to run in a sandbox"), "{ran:?}");
        assert!(ran.stderr.contains("this kernel has no Landlock"), "{ran:?}");
        assert!(ran.stderr.contains("sandbox: none"), "{ran:?}");
    }
    assert!(!folder.path().join("hello.db").exists());
    let doctor = without_landlock(folder.path(), &["doctor", "--json"]);
    assert!(doctor.stdout.contains("not level landlock: this kernel has no Landlock"), "{doctor:?}");
    let folder = organism("none");
    let ran = without_landlock(folder.path(), &["ask", "hello"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn g2_doctor_tries_both_levels() {
    let folder = organism("{}");
    let doctor = systole(folder.path(), &["doctor", "--json"]).stdout;
    assert!(doctor.contains("level full, Landlock version "), "{doctor}");
    assert!(doctor.contains("all 17 ways out that were tried are refused"), "{doctor}");
    assert!(doctor.contains("level landlock, not needed here: 12 of 17 ways"), "{doctor}");
    assert!(systole(folder.path(), &["check"]).stdout.contains("runs in a sandbox"));
}
