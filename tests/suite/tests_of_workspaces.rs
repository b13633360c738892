//! `systole test` of an organism with a workspace: each test works in a copy of the folder, and the folder stays as it
//! is.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt, symlink};
use std::path::Path;

use tempfile::TempDir;

use crate::organism::folder;
use crate::program::{Ran, systole, systole_with};

const ORGANISM: &str = "organism: {name: t}
listeners:
  hands:
    workspace: ./work
    entry: true
    shell: [bash probe.sh]
    sandbox: {write: [./out, ./work/built]}
  source: {code: ./work, deny: ['own.*'], entry: true}
  below: {code: ./work/built, entry: true}
";

/// It writes in its folder, and tries to write outside.
const PROBE: &str = "echo by command > new.txt; echo more >> link.txt; echo built > built/b.txt; \
    cat OUT/kept.txt; echo x > OUT/x && echo WROTE OUTSIDE; cat outside && echo READ OUTSIDE; ls -a .git; pwd";

/// A folder with an organism, whose tests are in that text, and an empty folder for temporary files.
fn organism(tests: &str) -> TempDir {
    let folder = folder(&[
        ("organism.yaml", ORGANISM),
        ("t.test.yaml", tests),
        ("out/kept.txt", "kept\n"),
        ("secret.txt", "the key\n"),
        ("work/own.txt", "the key\n"),
        ("work/a.txt", "one\ntwo\nthree\n"),
        ("work/.git/config", "[core]\n"),
        ("work/built/b.txt", "old\n"),
        ("work/locked/c.txt", "c\n"),
    ]);
    symlink("a.txt", folder.path().join("work/link.txt")).unwrap();
    symlink("../secret.txt", folder.path().join("work/outside")).unwrap();
    let out = folder.path().join("out").display().to_string();
    fs::write(folder.path().join("work/probe.sh"), PROBE.replace("OUT/", &format!("{out}/"))).unwrap();
    fs::set_permissions(folder.path().join("work/probe.sh"), PermissionsExt::from_mode(0o755)).unwrap();
    fs::set_permissions(folder.path().join("work/locked"), PermissionsExt::from_mode(0o555)).unwrap();
    fs::create_dir(folder.path().join("tmp")).unwrap();
    folder
}

/// Runs the tests, with a folder for temporary files that is empty afterwards.
fn run(folder: &TempDir) -> Ran {
    let tmp = folder.path().join("tmp");
    let ran = systole_with(folder.path(), &["test"], &[("TMPDIR", tmp.to_str().unwrap())]);
    let left: Vec<_> = fs::read_dir(&tmp).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.is_empty(), "{left:?} is left, after {ran:?}");
    ran
}

/// Everything below a folder: permissions, time, and bytes or the target of a link.
fn state(folder: &Path) -> BTreeMap<String, (u32, i64, Vec<u8>)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        let bytes = if metadata.is_symlink() {
            fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
        } else if metadata.is_dir() {
            found.extend(state(&path));
            Vec::new()
        } else {
            fs::read(&path).unwrap()
        };
        let time = metadata.mtime_nsec() + metadata.mtime() * 1_000_000_000;
        found.insert(path.display().to_string(), (metadata.mode(), time, bytes));
    }
    found.remove(&folder.join("tmp").display().to_string());
    found
}

const EDITS: &str = r#"tests:
  - name: it edits, runs and searches
    steps:
      - send: <str_replace xmlns="https://xml-pipeline.org/ns/commands/v1" path="a.txt"><old_str>two</old_str><new_str>twenty-two</new_str></str_replace>
        to: hands
        answer: change-result
        xpath: /change-result/@outcome = 'done'
      - send: <shell xmlns="https://xml-pipeline.org/ns/commands/v1">bash probe.sh</shell>
        to: hands
        answer: change-result
        xpath:
          - not(contains(/change-result, 'OUTSIDE'))
          - contains(/change-result, 'config')
          - contains(/change-result, 'kept')
          - contains(/change-result, '/work')
          - /change-result/changed/@path = 'new.txt'
          - /change-result/changed/@path = 'built/b.txt'
      - send: <search xmlns="https://xml-pipeline.org/ns/code/v1"><query>twenty</query></search>
        to: source
        answer: search-result
        xpath: contains(/search-result, 'twenty-two')
      - send: <extract xmlns="https://xml-pipeline.org/ns/code/v1"><file_path>own.txt</file_path></extract>
        to: source
        answer: code-error
        xpath: /code-error/@code = 'code.denied'
      - send: <extract xmlns="https://xml-pipeline.org/ns/code/v1"><file_path>b.txt</file_path></extract>
        to: below
        answer: extract-result
        xpath: contains(/extract-result, 'built')
"#;

#[test]
fn h10_a_test_changes_no_file_of_a_workspace() {
    let folder = organism(EDITS);
    let before = state(folder.path());
    let ran = run(&folder);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(state(folder.path()), before);
    // A test that fails leaves nothing either.
    let folder = organism(&EDITS.replace("'twenty-two'", "'nothing'"));
    let before = state(folder.path());
    let ran = run(&folder);
    assert!(ran.code == Some(1) && ran.stdout.contains("the expression does not hold"), "{ran:?}");
    assert_eq!(state(folder.path()), before);
}

#[test]
fn h10_each_test_of_a_workspace_begins_with_the_same_files() {
    let create = r#"
    steps:
      - send: <create_file xmlns="https://xml-pipeline.org/ns/commands/v1" path="new.txt">x</create_file>
        to: hands
        answer: change-result
        xpath: /change-result/@outcome = 'done'
"#;
    let folder = organism(&format!("tests:\n  - name: one{create}  - name: two{create}"));
    let ran = run(&folder);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(!folder.path().join("work/new.txt").exists());
}

#[test]
fn h10_a_test_does_not_need_the_workspace_of_a_running_organism() {
    let folder = organism(EDITS);
    assert_eq!(systole(folder.path(), &["run", "--detach"]).code, Some(0));
    let create =
        "<create_file xmlns=\"https://xml-pipeline.org/ns/commands/v1\" path=\"mine.txt\">x</create_file>";
    fs::write(folder.path().join("create.xml"), create).unwrap();
    let sent = systole(folder.path(), &["send", "--to", "hands", "--file", "create.xml"]);
    assert!(sent.stdout.contains("outcome=\"done\""), "{sent:?}");
    let ran = run(&folder);
    assert_eq!(systole(folder.path(), &["stop"]).code, Some(0));
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(fs::read_to_string(folder.path().join("work/a.txt")).unwrap(), "one\ntwo\nthree\n");
}

#[test]
fn h10_a_folder_that_is_too_large_to_copy_is_refused() {
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let folder = organism(EDITS);
    // It takes no room on the disk.
    let large = File::create(folder.path().join("work/large")).unwrap();
    large.set_len((256 << 20) + 1).unwrap();
    let ran = run(&folder);
    let told = "work has more than 256 MiB, the most that a test copies";
    assert!(ran.code == Some(1) && flat(&ran.stdout).contains(told), "{ran:?}");
    assert!(flat(&ran.stdout).contains("stand_ins"), "the fix: {ran:?}");
    fs::remove_file(folder.path().join("work/large")).unwrap();
    for number in 0..20_000 {
        File::create(folder.path().join(format!("work/built/{number}"))).unwrap();
    }
    let ran = run(&folder);
    let told = "work has more than 20,000 files and folders, the most that a test copies";
    assert!(ran.code == Some(1) && flat(&ran.stdout).contains(told), "{ran:?}");
    // A stand-in needs no copy.
    let stand_in = "stand_ins: {hands: [{fails: it is away}]}\ntests: [{name: one, steps: [{send: \
        '<shell xmlns=\"https://xml-pipeline.org/ns/commands/v1\">ls</shell>', to: hands, fails: {contains: away}}]}]\n";
    fs::write(folder.path().join("t.test.yaml"), stand_in).unwrap();
    assert_eq!(run(&folder).code, Some(0));
}
