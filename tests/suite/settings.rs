//! `--set`: a set value replaces the one in the file, is part of the hash and of the stored configuration, and a
//! mistake in it is reported with its place there.

use std::fs;
use std::path::Path;

use systole_config as config;
use systole_core::types::composition::Composition;
use systole_core::types::ids::Name;

use crate::golden::golden;
use crate::program::{Running, systole};

const GOLDEN: &str = "tests/suite/golden/settings.txt";

const FILE: &str = "organism: {name: hello, entry: search}
listeners:
  search: {run: [cat], schema: search.xsd, accepts: [find], returns: [found], env: {REGION: eu}}
  calc.add: {run: [cat], schema: search.xsd, accepts: [search]}
";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::copy("tests/suite/golden/config/schemas/search.xsd", folder.path().join("search.xsd")).unwrap();
    fs::write(folder.path().join("organism.yaml"), FILE).unwrap();
    folder
}

fn owned(settings: &[&str]) -> Vec<String> {
    settings.iter().map(|setting| (*setting).to_owned()).collect()
}

fn set(settings: &[&str]) -> Result<Composition, config::FileMistakes> {
    let folder = folder();
    config::load_set(&folder.path().join("organism.yaml"), &owned(settings)).map(|file| file.composition)
}

#[test]
fn what_is_set_stands_in_place_of_what_the_file_says() {
    let settings = [
        "limits.message=64KiB",
        "listeners.search.env.REGION=us east",
        "listeners.search.env.LEVEL='1 #2'",
        "listeners.calc.add.turns=3",
        "listeners.calc.add.peers=[search]",
        "listeners.search.retry={attempts: 7, backoff: 1s..2s}",
        "budgets.messages=12",
        "organism.entry=calc.add",
    ];
    let composition = set(&settings).unwrap_or_else(|refused| panic!("{refused}"));
    let listener = |name: &str| &composition.listeners[&Name::parse(name).unwrap()];
    assert_eq!(composition.message_bytes, 64 << 10);
    let systole_core::types::composition::Reach::Process(program) = &listener("search").reach else {
        panic!()
    };
    assert_eq!((program.env["REGION"].as_str(), program.env["LEVEL"].as_str()), ("us east", "1 #2"));
    assert_eq!((listener("search").retry.attempts, listener("search").retry.longest_ms), (7, 2_000));
    assert_eq!((listener("calc.add").turns, listener("calc.add").peers.len()), (3, 1));
    assert_eq!(composition.budgets.unwrap().messages, 12);
    assert!(listener("calc.add").entry && !listener("search").entry);
}

#[test]
fn the_section_of_a_listener_says_what_was_set_and_reads_as_the_same_values() {
    let yaml = "organism: {name: hello, entry: search}
listeners:
  search: # a comment is no value
    run: [cat, '-', \"a\\tb\", 'it''s']
    schema: search.xsd
    accepts: [find]
    returns: [found]
    env: {REGION: eu, VERSION: 1.10, SAID: \"two\\nlines: \\\"x\\\" # y\", YES: 'true', EMPTY: ''}
    pass: []
    approval:
      when: always
  calc.add: {run: [cat], schema: search.xsd, accepts: [search]}
";
    let folder = folder();
    let path = folder.path().join("organism.yaml");
    fs::write(&path, yaml).unwrap();
    let settings =
        ["listeners.search.env.REGION=us east", "listeners.search.retry={attempts: 7}", "budgets.depth=3"];
    let composition = config::load_set(&path, &owned(&settings)).unwrap().composition;
    let section = &composition.sections[&Name::parse("search").unwrap()];
    assert_eq!(section.path, "listeners.search");
    let expected = "run:
  - cat
  - \"-\"
  - \"a\\tb\"
  - \"it's\"
schema: search.xsd
accepts:
  - find
returns:
  - found
env:
  REGION: us east
  VERSION: 1.10
  SAID: \"two\\nlines: \\\"x\\\" # y\"
  YES: \"true\"
  EMPTY: \"\"
pass: []
approval:
  when: always
retry:
  attempts: 7
";
    assert_eq!(section.text, expected);
    assert_eq!(composition.sections[&Name::parse("calc.add").unwrap()].path, "listeners.calc.add");
    // Written into its own file it gives the same, and also when it is read back from a log.
    let below = section.text.lines().map(|line| format!("    {line}\n")).collect::<String>();
    fs::write(&path, format!("organism: {{name: hello, entry: search}}\nlisteners:\n  search:\n{below}"))
        .unwrap();
    let again = config::load(&path).unwrap().composition;
    assert_eq!(again.sections[&Name::parse("search").unwrap()], *section);
    let back = config::read_source(&composition.source, folder.path()).unwrap();
    assert_eq!(back.sections, composition.sections);
}

/// A set value is part of the configuration: of its hash, and of what is read back without a command line.
#[test]
fn what_is_set_is_hashed_stored_and_read_back() {
    let plain = set(&[]).unwrap();
    let other = set(&["limits.message=64KiB", "budgets.messages=12"]).unwrap();
    assert_ne!(plain.hash, other.hash);
    assert_ne!(set(&["limits.message=64KiB"]).unwrap().hash, other.hash);
    assert_eq!(set(&["limits.message=64KiB", "budgets.messages=12"]).unwrap().hash, other.hash);
    assert!(
        plain.source.starts_with(b"24:systole configuration v8\n"),
        "as it was before anything could be set"
    );
    let again = config::read_source(&other.source, Path::new("/")).unwrap();
    assert_eq!((again.hash, again.message_bytes), (other.hash, 64 << 10));
    assert_eq!(again.budgets.unwrap().messages, 12);
    let cut = &other.source[..60];
    assert_eq!(config::read_source(cut, Path::new("/")).unwrap_err().0[0].code.as_str(), "config.source");
}

/// A mistake in the file disappears if another value is set in its place.
#[test]
fn a_mistake_is_repaired_from_the_command_line() {
    let folder = folder();
    let path = folder.path().join("organism.yaml");
    fs::write(&path, format!("{FILE}limits: {{message: 9GiB}}\n")).unwrap();
    assert!(config::load(&path).is_err());
    assert!(config::load_set(&path, &owned(&["limits.message=1MiB"])).is_ok());
}

/// Every wrong setting, each with its place and its fix.
#[test]
fn what_is_set_wrongly_is_reported_as_written_down() {
    let wrong: &[&[&str]] = &[
        &["listeners.search.turns=0"],
        &["listeners.search.turnz=3"],
        &["listeners.serch.turns=3"],
        &["listners.search.turns=3"],
        &["clients.alice.may=[search]"],
        &["listeners.search.run.first=cat"],
        &["limits=64KiB"],
        &["limits.message="],
        &["limits.message=64KiB # at most"],
        &["organism.description=# nothing"],
        &["organism.description=a: b"],
        &["listeners.search.returns=- found"],
        &["listeners.search.returns=[found"],
        &["listeners.search.returns=[found, found]"],
        &["listeners.search.env={A: 1, A: 2}"],
        &["listeners.search.schema=&a search.xsd"],
        &["threads.idle=30d"],
        &["limits.message=1MiB", "limits.message=64KiB"],
        &["limits.message=1MiB", "limits={message: 64KiB}"],
        &["..message=1MiB"],
        &["listeners.new={run: [cat]}"],
        &["organism.entry=serch", "budgets.depth=99", "loops.repeated=5..3"],
        &["listeners={}"],
        &["payloads={seek: {word?: word}}", "payloads.seek.word=int"],
        &["payloads={seek: {word: word}}", "payloads.seek.word?=int"],
        &["payloads={seek: {part: {word?: word}}}", "payloads.seek.part.word=int 1..3"],
    ];
    let mut page = String::new();
    for settings in wrong {
        let refused = set(settings).expect_err(&settings.join(" "));
        assert!(refused.0.iter().all(|told| told.fix.is_some()), "{refused}");
        assert!(refused.0.iter().all(|told| told.place.file == "--set"), "{refused}");
        let typed: Vec<String> = settings.iter().map(|setting| format!(" --set '{setting}'")).collect();
        page += &format!("$ systole check{}\n{refused}\n", typed.concat());
    }
    assert!(page.lines().all(|line| line.starts_with('$') || line.chars().count() <= 80), "{page}");
    golden(GOLDEN, page);
}

proptest::proptest! {
    /// For any setting, the result is an organism or diagnostics with places in the settings.
    #[test]
    fn nothing_that_is_set_breaks_the_loader(
        path in "(listeners|limits|organism|search|turns|calc|add|env|message|[a-z]{1,3})(\\.(search|turns|calc|add|env|message|[a-z]{1,3})){0,4}",
        value in "[\\[\\]{}:,&*!|>'\"#%@` \\-?a-z0-9\u{e9}\u{202e}]{0,8}",
    ) {
        let setting = format!("{path}={value}");
        if let Err(refused) = set(&[&setting]) {
            proptest::prop_assert!(!refused.0.is_empty());
            for told in refused.0.iter().filter(|told| told.place.file == "--set") {
                proptest::prop_assert_eq!(&told.place.text, setting.as_str(), "{}", told);
            }
        }
    }
}

#[test]
fn an_organism_that_runs_keeps_what_was_set_when_it_was_started() {
    let folder = folder();
    let settings = ["--set", "console.listen=127.0.0.1:0", "--set", "log.path=hello.db"];
    let mut arguments = vec!["run"];
    arguments.extend(settings);
    let mut running = Running::start(folder.path(), &arguments);
    running.says("its log is");
    for command in [&["send", "--file", "organism.yaml"][..], &["pause", "--all"], &["approve", "a1"]] {
        let mut arguments = command.to_vec();
        arguments.extend(["--set", "log.path=hello.db"]);
        let ran = systole(folder.path(), &arguments);
        assert_eq!(ran.code, Some(2), "{command:?}: {ran:?}");
        assert!(ran.stderr.contains("try: leave --set out"), "{}", ran.stderr);
    }
    // A command that only reads needs the file only for the path of the log, but still rejects mistakes in it.
    let ps = systole(folder.path(), &["ps", "--set", "log.path=hello.db"]);
    assert_eq!(ps.code, Some(0), "{ps:?}");
    let wrong = systole(folder.path(), &["ps", "--log", "hello.db", "--set", "limits.message=1"]);
    assert_eq!(wrong.code, Some(3), "{wrong:?}");
    assert!(wrong.stderr.contains(" --> --set:1:16\n"), "{}", wrong.stderr);
    running.interrupt();
    let none = systole(folder.path(), &["check", "--set", "limits.message"]);
    assert_eq!(none.code, Some(2), "{none:?}");
}
