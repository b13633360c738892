//! `systole check` and its warnings: the output, as JSON and on a terminal, and that `run` rejects
//! exactly what `check` rejects.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use systole_agent::spec::Provider;
use systole_config::{self as config, Severity, page};
use systole_show::columns::width;

use crate::program::{Ran, Running, systole};

const BROKEN: &str = "tests/suite/golden/config";
const WARNED: &str = "tests/suite/golden/warnings";

/// The organism files in a folder.
fn files(folder: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    files
}

/// Runs the real program in the folder from which the goldens name their files.
fn here(arguments: &[&str]) -> Ran {
    systole(Path::new(env!("CARGO_MANIFEST_DIR")), arguments)
}

#[test]
fn h3_run_refuses_exactly_what_check_refuses() {
    let broken = files(BROKEN);
    assert!(broken.len() >= 40, "{} files", broken.len());
    for path in &broken {
        let name = path.to_str().unwrap();
        let (checked, ran) = (here(&["check", "-f", name]), here(&["run", "-f", name]));
        assert_eq!((checked.code, ran.code), (Some(3), Some(3)), "{name}\n{ran:?}");
        assert_eq!(checked.stdout, ran.stderr, "{name}");
        assert_eq!(checked.stdout, fs::read_to_string(path.with_extension("out")).unwrap(), "{name}");
    }
    for path in files(WARNED) {
        let name = path.to_str().unwrap();
        let checked = here(&["check", "-f", name]);
        assert_eq!(checked.code, Some(0), "{name}\n{}", checked.stdout);
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("hello.db");
        // The test asks its agents nothing. That a file runs is shown without keys.
        let replies = folder.path().join("replies.yaml");
        fs::write(&replies, "{}").unwrap();
        let mut arguments: Vec<String> =
            ["run", "-f", name, "--log", log.to_str().unwrap(), "--set", "console.listen=127.0.0.1:0"]
                .map(str::to_owned)
                .into();
        let models = config::load(&path).unwrap().models;
        let mut settings = Vec::new();
        for model in models.iter().filter(|model| model.provider != Provider::Script) {
            settings.push(format!("models.{}.provider=script", model.name));
            settings.push(format!("models.{}.file={}", model.name, replies.display()));
        }
        arguments.extend(settings.iter().flat_map(|setting| ["--set".to_owned(), setting.clone()]));
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut running = Running::start(Path::new(env!("CARGO_MANIFEST_DIR")), &arguments);
        let told = running.says(" shows them");
        let count = config::load_set(&path, &settings).unwrap().warnings.len();
        assert!(told.starts_with(&format!("{count} warning")), "{name}: {told}");
        assert!(told.contains(&format!(": systole check -f {name} ")), "{told}");
        running.says("its log is");
        assert_eq!(running.interrupt().code, Some(130), "{name}");
    }
}

#[test]
fn warnings_are_reported_as_written_down_and_hinder_nothing() {
    let mut codes = std::collections::BTreeSet::new();
    for path in files(WARNED) {
        let loaded = config::load(&path).unwrap_or_else(|refused| panic!("{}: {refused}", path.display()));
        let told = page(&loaded.warnings, false);
        assert!(!loaded.warnings.is_empty(), "{}", path.display());
        assert!(loaded.warnings.iter().all(|one| one.severity() == Severity::Warning), "{told}");
        assert!(loaded.warnings.iter().all(|one| one.fix.is_some()), "{told}");
        assert!(told.lines().all(|line| line.chars().count() <= 80), "{told}");
        codes.extend(loaded.warnings.iter().map(|one| one.code));
        crate::golden::golden(path.with_extension("out"), &told);
    }
    let known = systole_core::types::codes::Code::ALL.iter().filter(|code| code.is_warning());
    assert!(known.into_iter().all(|code| codes.contains(code)), "a warning that no file has: {codes:?}");
}

/// An explicit choice causes no warning: each of these removes one warning, and adds none.
#[test]
fn what_is_said_to_be_meant_is_not_warned_of() {
    let warned = |name: &str, settings: &[&str]| -> Vec<&'static str> {
        let path = Path::new(WARNED).join(name);
        let settings: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let loaded = config::load_set(&path, &settings).unwrap_or_else(|refused| panic!("{refused}"));
        loaded.warnings.iter().map(|one| one.code.as_str()).collect()
    };
    assert_eq!(warned("circle.yaml", &["budgets.depth=3"]), [""; 0]);
    let priced =
        ["main", "local"].map(|model| format!("models.{model}.price={{in: 0, out: 0, currency: EUR}}"));
    let [main, local] = priced.each_ref().map(String::as_str);
    assert_eq!(warned("unpriced.yaml", &[main]), ["config.unpriced", "config.prompt"]);
    assert_eq!(warned("unpriced.yaml", &[main, local]), ["config.prompt"]);
    assert_eq!(warned("nothing-begins.yaml", &["listeners.search.entry=true"]), [""; 0]);
    assert_eq!(warned("unreached.yaml", &["listeners.lonely.entry=true"]), [""; 0], "and whom it calls");
    assert_eq!(warned("told-only.yaml", &["listeners.slack.returns=[]"]), ["config.unused-element"]);
    assert_eq!(warned("several-takers.yaml", &["broadcast.find=first"]), ["config.several-takers"]);
    let both = ["broadcast.find=first", "listeners.south.entry=false"];
    assert_eq!(warned("several-takers.yaml", &both), [""; 0]);
    let entry = ["broadcast.find=all", "listeners.boss.entry=true", "organism.entry=south"];
    assert_eq!(warned("several-takers.yaml", &entry), [""; 0]);
    // A listener's own schema says who uses it.
    let own = [
        "payloads={other: text}",
        "listeners.greeter.schema=schemas/talker.xsd",
        "listeners.second.schema=schemas/talker.xsd",
    ];
    assert_eq!(warned("shadowed.yaml", &own), ["config.unused-element"]);
    for good in ["beat", "hello", "first-listeners", "soak", "team"] {
        let path = Path::new("config").join(good).join("organism.yaml");
        assert_eq!(config::load(&path).unwrap().warnings, [], "{good}");
    }
}

#[test]
fn a_strict_check_takes_a_warning_for_a_mistake() {
    let name = "tests/suite/golden/warnings/unreached.yaml";
    assert_eq!(here(&["check", "-f", name]).code, Some(0));
    assert_eq!(here(&["check", "--strict", "-f", name]).code, Some(3));
    assert_eq!(here(&["check", "--strict", "-f", "config/beat/organism.yaml"]).code, Some(0));
}

/// Every mistake is its own value, with everything that the page has.
#[test]
fn as_json_each_mistake_is_a_line_with_its_places() {
    let path = "tests/suite/golden/config/overlap.yaml";
    let ran = here(&["check", "--json", "-f", path]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(3), ""));
    let told: Vec<Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(told.len(), 2, "{}", ran.stdout);
    let [first, second] = &told[..] else { unreachable!("two") };
    assert_eq!((&first["code"], &first["severity"]), (&"config.overlap".into(), &"error".into()));
    assert_eq!((&first["file"], &first["second"]), (&path.into(), &Value::Null));
    assert_eq!([&first["line"], &first["column"], &first["end"]], [&Value::from(7), &15.into(), &21.into()]);
    assert_eq!(first["text"], "    returns: [search]");
    assert_eq!(first["fix"], "another element, or another name for the listener");
    let other = &second["second"];
    assert_eq!([&other["line"], &other["column"], &other["end"]], [&Value::from(13), &15.into(), &21.into()]);
    assert_eq!((&other["words"], &other["file"]), (&"accepted here".into(), &path.into()));
    let whole = here(&["check", "--json", "-f", "tests/suite/golden/config/empty.yaml"]);
    let whole: Value = serde_json::from_str(whole.stdout.trim()).unwrap();
    assert!(whole["line"].is_null() && whole["text"].is_null() && whole["message"] == "the file is empty");
}

/// A good file is summarized in a few lines: the listeners, what each accepts, what it may use, where the
/// log is stored.
#[test]
fn a_good_file_is_reported_as_what_it_is() {
    let ran = here(&["check", "-f", "config/beat/organism.yaml", "--set", "budgets.wall=5m"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    for wanted in [
        "beat: 4 listeners; nothing is wrong\n",
        "  clerk    takes order; gives invoice; calls stock, courier, till in up to 8\n",
        "  a message from outside may use 500 calls and spawns, 6 deep, 32 children,",
        "config/beat/beat.db\n",
    ] {
        assert!(ran.stdout.contains(wanted), "{wanted:?}: {}", ran.stdout);
    }
    assert!(ran.stdout.contains("5m"), "{}", ran.stdout);
    let ran = here(&["check", "--json", "-f", "config/beat/organism.yaml"]);
    let whole: Value = serde_json::from_str(ran.stdout.trim()).unwrap();
    assert_eq!((&whole["organism"], &whole["warnings"]), (&"beat".into(), &0.into()));
    assert_eq!(whole["listeners"].as_array().unwrap().len(), 4);
    assert_eq!(whole["listeners"][0]["accepts"][0], "{https://xml-pipeline.org/ns/clerk/v1}order");
}

/// Row 44, the first half: each is rejected with its file, line and column before anything starts. The
/// exception is a circle, which budgets end, and which is a mistake only if the file says so.
#[test]
fn row_44_a_broken_file_starts_nothing_and_says_where() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy("tests/suite/golden/config/schemas/search.xsd", folder.path().join("search.xsd")).unwrap();
    let good = "organism: {name: hello, entry: search}\nlisteners:\n  \
                search: {run: [a], schema: search.xsd, accepts: [find], returns: [found]}\n";
    let broken = [
        (format!("{good}colour: blue\n"), "organism.yaml:4:1"),
        (format!("{good}  search: {{run: [b]}}\n"), "organism.yaml:4:3"),
        (good.replace("search.xsd", "serch.xsd"), "organism.yaml:3:30"),
    ];
    for (text, place) in broken {
        fs::write(folder.path().join("organism.yaml"), text).unwrap();
        let ran = systole(folder.path(), &["run"]);
        assert_eq!(ran.code, Some(3), "{ran:?}");
        assert!(ran.stderr.contains(place), "{place}: {}", ran.stderr);
        assert!(!folder.path().join("organism.db").exists(), "a log was made");
    }
    let circle = here(&["check", "--strict", "-f", "tests/suite/golden/warnings/circle.yaml"]);
    assert_eq!(circle.code, Some(3), "{circle:?}");
    assert!(circle.stdout.contains("circle.yaml:3:88"), "{}", circle.stdout);
}

#[test]
fn explain_knows_every_code_and_the_nearest_of_a_wrong_one() {
    let all = here(&["explain"]);
    for code in systole_core::types::codes::Code::ALL {
        let ran = here(&["explain", code.as_str()]);
        assert_eq!(ran.code, Some(0), "{code}");
        assert!(
            ran.stdout.starts_with(&format!("{code}:")) && ran.stdout.contains("\n  try: "),
            "{}",
            ran.stdout
        );
        assert!(all.stdout.contains(code.as_str()), "{code} is not listed");
        assert!(ran.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ran.stdout);
    }
    for code in
        ["agent.prose-only", "agent.own-markup", "workflow.step-failed", "mcp.tool-failed", "workspace.stale"]
    {
        let ran = here(&["explain", code]);
        assert!(ran.code == Some(0) && ran.stdout.starts_with(&format!("{code}:")), "{ran:?}");
        assert!(all.stdout.contains(code), "{code} is not listed");
    }
    let models = here(&["explain", "model"]);
    assert!(
        models.stdout.contains("model.unavailable") && models.stdout.contains("model.unknown-outcome"),
        "{models:?}"
    );
    let family = here(&["explain", "route"]);
    assert_eq!(
        family.stdout.lines().filter(|line| line.starts_with("route.")).count(),
        3,
        "{}",
        family.stdout
    );
    for (typed, near) in
        [("payload.invlid", "payload.invalid"), ("circel", "config.circle"), ("rout", "route")]
    {
        let ran = here(&["explain", typed]);
        assert_eq!(ran.code, Some(2), "{typed}");
        assert!(ran.stderr.contains(&format!("try: systole explain {near}\n")), "{typed}: {}", ran.stderr);
    }
    let json = here(&["explain", "--json", "timer.unknown"]);
    let json: Value = serde_json::from_str(json.stdout.trim()).unwrap();
    assert_eq!((&json["code"], &json["again"]), (&"timer.unknown".into(), &true.into()));
}

#[test]
fn explain_knows_keys_elements_commands_and_the_words_of_the_glossary() {
    let says = |typed: &[&str], words: &[&str]| {
        let ran = here(&[&["explain"], typed].concat());
        let flat = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(ran.code == Some(0) && words.iter().all(|one| flat.contains(one)), "{typed:?}: {ran:?}");
        assert!(ran.stdout.lines().all(|line| width(line) <= 80), "{}", ran.stdout);
    };
    for key in systole_config::KEYS.iter() {
        says(&[key.path], &[&format!("{} (key):", key.path), key.meaning, "default:"]);
    }
    says(&["agents.clerk.dialect"], &["agents.NAME.dialect (key):", "default: xml"]);
    says(&["dialect"], &["dialect (word): how an agent writes", "agents.NAME.dialect (key):"]);
    for element in ["thread-spawned", "<thread-spawned/>"] {
        says(&[element], &["thread-spawned (element): The child is open;", "from: pump"]);
    }
    says(&["create_file"], &["create_file (element):", "listener: workspace"]);
    for command in [&["workflow", "explain"][..], &["systole", "workflow", "explain"]] {
        says(command, &["workflow explain (command):", "systole workflow explain --help"]);
    }
    let glossary = std::fs::read_to_string("docs/glossary.md").unwrap();
    let words = glossary.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| word |"));
    let words: Vec<&str> = words.filter_map(|line| line.split('|').nth(1)).map(str::trim).collect();
    assert!(words.len() > 100, "{words:?}");
    for word in words {
        says(&[word], &[&format!("{word} (word):")]);
    }
    // A word with several meanings gets all of them, and the codes of its family.
    says(&["payload"], &["payload (word): one XML element", "payload.invalid"]);
    let json = here(&["explain", "--json", "keygen"]).json_lines();
    assert_eq!((&json[0]["word"], &json[0]["kind"]), (&"keygen".into(), &"command".into()), "{json:?}");
}

#[test]
fn what_cannot_be_printed_is_told_and_is_not_done() {
    for arguments in
        [&["check", "-f", "config/hello/organism.yaml"] as &[&str], &["explain"], &["completions", "bash"]]
    {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_systole"));
        command.args(arguments).stdout(fs::File::options().write(true).open("/dev/full").unwrap());
        let ran = command.output().unwrap();
        let told = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.code(), Some(5), "{arguments:?}: {told}");
        assert_eq!(told.matches("the output is lost").count(), 1, "{arguments:?}: {told}");
    }
}

/// A hundred warnings of one code have one reason; the other warnings must not be lost below them.
#[test]
fn of_warnings_with_one_code_twenty_are_drawn_and_the_rest_counted() {
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..30).map(|n| format!("l{n}")).collect();
    let mut text = "organism: {name: hello, entry: l0}\nlisteners:\n".to_owned();
    for name in &names {
        let peers: Vec<&str> = names.iter().filter(|peer| *peer != name).map(String::as_str).collect();
        text += &format!("  {name}: {{run: [a], accepts: [ask], turns: 2, peers: [{}]}}\n", peers.join(", "));
    }
    fs::write(folder.path().join("organism.yaml"), text).unwrap();
    let ran = systole(folder.path(), &["check"]);
    let drawn = |code: &str| ran.stdout.matches(&format!("warning[{code}]:")).count();
    assert_eq!((ran.code, drawn("config.several-takers"), drawn("config.circle")), (Some(0), 20, 20));
    let several = "10 more with config.several-takers are not shown; `check --json` has them all\n";
    let circle = "9 more with config.circle are not shown; `check --json` has them all\n";
    let end = format!("{several}{circle}59 warnings\n");
    assert!(ran.stdout.contains(&end), "{}", ran.stdout);
    let json = systole(folder.path(), &["check", "--json"]);
    assert_eq!(json.stdout.lines().count(), 59 + 1, "each is a value, and what the organism is");
}

/// If the log can never be stored at its path, the file is rejected, by `run` with the same message.
#[test]
fn a_log_that_cannot_be_one_is_refused_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::copy("tests/suite/golden/config/schemas/search.xsd", root.join("search.xsd")).unwrap();
    fs::create_dir(root.join("logs")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, root.join("pipe"), 0o600.into()).unwrap();
    std::os::unix::fs::symlink("organism.yaml", root.join("link.db")).unwrap();
    let text = "organism: {name: hello, entry: search}\nlisteners:\n  \
                search: {run: [a], schema: search.xsd, accepts: [find], returns: [found]}\n";
    let refused = |log: &str, wanted: &[&str]| {
        fs::write(root.join("organism.yaml"), format!("{text}log: {{path: {log}}}\n")).unwrap();
        let (checked, ran) = (systole(root, &["check"]), systole(root, &["run"]));
        assert_eq!((checked.code, ran.code), (Some(3), Some(3)), "{log}: {checked:?} {ran:?}");
        assert_eq!(checked.stdout, ran.stderr, "{log}");
        for wanted in wanted.iter().chain(&["organism.yaml:4:13", "  try: "]) {
            assert!(checked.stdout.contains(wanted), "{log}: {wanted:?}: {}", checked.stdout);
        }
    };
    refused("logs", &["log.path: `logs` is a folder, and the log is a file", "try: ./logs.db"]);
    refused("./logs/", &["is a folder", "try: ./logs.db"]);
    refused(".", &["is a folder"]);
    refused("pipe", &["log.path: `pipe` is a pipe, a socket or a device, and the"]);
    refused("/dev/null", &["is a pipe, a socket or a device"]);
    refused("organism.yaml", &["log.path: `organism.yaml` is the organism's file itself"]);
    refused("link.db", &["is the organism's file itself"]);
    refused("logs/../search.xsd", &["is the schema search.xsd"]);
    refused("none/new.db", &["log.path: the folder of `none/new.db` is missing", "try: mkdir -p "]);
    for needs_none in [&["check", "--log", "new.db"][..], &["graph"]] {
        assert_eq!(systole(root, needs_none).code, Some(0), "{needs_none:?}");
    }
    // If the file names no log, the default path is the obstacle.
    fs::write(root.join("organism.yaml"), text).unwrap();
    assert_eq!(systole(root, &["check"]).code, Some(0));
    fs::create_dir(root.join("organism.db")).unwrap();
    let ran = systole(root, &["check"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stdout.contains("log.path: `./organism.db` is a folder"), "{}", ran.stdout);
    assert!(ran.stdout.contains("try: log: {path: "), "{}", ran.stdout);
    // A file that exists and might be a log is checked by the command that opens it.
    let logs = format!("{text}log: {{path: logs/new.db}}\n");
    fs::write(root.join("organism.yaml"), logs).unwrap();
    assert_eq!(systole(root, &["check"]).code, Some(0));
}
