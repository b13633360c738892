//! `systole init`: what it writes runs as it stands, and its last line is a command that works.

use std::path::Path;

use crate::program::systole;
use crate::session::Shell;

/// The command that was named last.
fn next(said: &str) -> &str {
    said.lines()
        .last()
        .and_then(|line| line.strip_prefix("next: "))
        .unwrap_or_else(|| panic!("no next: {said}"))
}

#[test]
fn from_an_empty_folder_to_an_answer() {
    let shell = Shell::new();
    let said = shell.run("systole init first");
    assert_eq!(next(&said), "cd first && systole ask \"Who is there?\"");
    assert_eq!(shell.run(next(&said)), "Hello. You said: Who is there?\n");
    let yaml = std::fs::read_to_string(shell.folder().join("first/organism.yaml")).unwrap();
    assert!(yaml.contains("organism: {name: first, entry: greeter}"), "{yaml}");
    // An editor finds the schema of the file that its first line names.
    let schema =
        yaml.lines().next().and_then(|line| line.strip_prefix("# yaml-language-server: $schema=")).unwrap();
    let beside = std::fs::read_to_string(shell.folder().join("first").join(schema)).unwrap();
    assert_eq!(beside.trim_end(), shell.run("systole check --schema").trim_end());
}

#[test]
fn every_example_runs_as_printed_and_passes_the_test_beside_it() {
    for example in ["hello", "first-listeners", "beat", "team"] {
        let shell = Shell::new();
        let said = shell.run(&["systole init \"my folder\" --example ", example].concat());
        let answered = shell.run(&[next(&said), " && echo it worked"].concat());
        assert!(answered.ends_with("it worked\n"), "{example}: {answered}");
        let tested = shell.run("systole test && echo passed");
        assert!(tested.ends_with("\npassed\n") && !tested.contains("FAIL"), "{example}: {tested}");
        // The test beside it fails where the organism answers something else.
        shell.run("sed -i 's/ said/ mumbled/; s/ asked/ mumbled/; s/\"total\"/\"quantity\"/; s/sinoatrial/vagus/' answer.* listeners/* 2>/dev/null");
        let broken = shell.run("systole test || echo it failed");
        assert!(broken.contains("FAIL") && broken.ends_with("it failed\n"), "{example}: {broken}");
    }
}

/// What stands in `config/` is what is written, file by file, and beside it what an editor needs, whose name
/// is the first line of the organism's file.
#[test]
fn an_example_is_written_whole() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("config");
    for example in ["hello", "first-listeners", "beat", "team"] {
        let shell = Shell::new();
        // Under the name of the example nothing is named anew.
        shell.run(&["systole init ", example, " --example ", example].concat());
        shell.run(&["cd ", example].concat());
        let without = "diff -r -x organism.schema.json -I '^# yaml-language-server' . '";
        let differs = shell.run(&[without, root.join(example).to_str().unwrap(), "'"].concat());
        assert_eq!(differs, "", "{example}");
        let first = shell.run("head -1 organism.yaml");
        assert_eq!(first, "# yaml-language-server: $schema=organism.schema.json\n");
        let schema = shell.run("cat organism.schema.json");
        assert_eq!(schema, systole::organism::file::ORGANISM_JSON_SCHEMA);
    }
}

#[test]
fn nothing_is_written_over() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("listeners")).unwrap();
    std::fs::write(folder.path().join("listeners/greeter.sh"), "mine").unwrap();
    let ran = systole(folder.path(), &["init"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("is there already: listeners/greeter.sh"), "{ran:?}");
    assert!(ran.stderr.contains("try: "), "{ran:?}");
    assert!(!folder.path().join("organism.yaml").exists(), "all or nothing");
    assert_eq!(std::fs::read_to_string(folder.path().join("listeners/greeter.sh")).unwrap(), "mine");
    let unknown = systole(folder.path(), &["init", "--example", "nope"]);
    assert!(unknown.code == Some(2) && unknown.stderr.contains("first-listeners"), "{unknown:?}");
    // The current folder gives its name, where that is one.
    std::fs::create_dir(folder.path().join("shop-2")).unwrap();
    let ran = systole(&folder.path().join("shop-2"), &["init"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let yaml = std::fs::read_to_string(folder.path().join("shop-2/organism.yaml")).unwrap();
    assert!(yaml.contains("name: shop-2"), "{yaml}");
}

/// The command that is printed is one that runs, whatever the folder is called; what cannot be printed is no name.
#[test]
fn the_next_command_runs_wherever_it_was_written() {
    for name in ["-x", "--help", "it's here", "$HOME", "a b/c d", "-a/-b", "ü"] {
        let shell = Shell::new();
        let said = shell.run(&["systole init -- '", &name.replace('\'', "'\\''"), "'"].concat());
        assert_eq!(shell.run(next(&said)), "Hello. You said: Who is there?\n", "{name}: {said}");
    }
    let folder = tempfile::tempdir().unwrap();
    for (name, shown) in [
        ("a\nb", "a\\u{a}b"),
        ("a\tb", "a\\u{9}b"),
        ("a\u{7}b", "a\\u{7}b"),
        ("in/a\u{202e}b", "in/a\\u{202e}b"),
        ("a\\u{7}b", "a\\u{5c}u{7}b"),
    ] {
        let ran = systole(folder.path(), &["init", name]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
        let words = ["error: the name `", shown, "` holds what no screen shows as it is\n"].concat();
        assert_eq!(ran.stderr, words + "  try: a name of letters, digits, - and _\n");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was written");
}
