//! Agentfiles become workflows: the exact text that is printed, that `systole check` accepts it, that it runs, and
//! what happens to files that are not Agentfiles.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use systole_config as config;
use systole_config::agentfile::{ConversionServices, convert};

use crate::golden::golden;
use crate::organism::folder;
use crate::program::{Ran, systole};

const FIXTURES: &str = "tests/fixtures/agentfiles";
const GOLDEN: &str = "tests/suite/golden/agentfiles";

/// A folder with the Agentfiles of the fixtures and the prompt that one of them names.
fn fixtures() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("agents")).unwrap();
    fs::copy(format!("{FIXTURES}/agents/critic.md"), home.path().join("agents/critic.md")).unwrap();
    for entry in fs::read_dir(FIXTURES).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::copy(&path, home.path().join(path.file_name().unwrap())).unwrap();
        }
    }
    home
}

/// Converts a fixture and compares the output with the golden file. The notes follow the output.
fn converted(name: &str) -> Ran {
    let home = fixtures();
    let ran = systole(home.path(), &["workflow", "from", &format!("{name}.agentfile")]);
    let is_ours =
        |line: &&str| line.starts_with(name) || line.starts_with("workflow ") || line.starts_with("model: ");
    let talk: String = ran.stderr.lines().filter(is_ours).map(|line| format!("# stderr: {line}\n")).collect();
    let printed = format!("{}{talk}", ran.stdout);
    golden(format!("{GOLDEN}/{name}.yaml"), printed);
    ran
}

/// Checks that the output passes `systole check` without a warning.
fn checks(ran: &Ran) {
    let home = folder(&[("organism.yaml", &ran.stdout)]);
    let check = systole(home.path(), &["check", "--strict"]);
    assert_eq!(check.code, Some(0), "{check:?}\n{}", ran.stdout);
}

fn convert_text(text: &str) -> Ran {
    let home = folder(&[("Agentfile", text)]);
    systole(home.path(), &["workflow", "from", "Agentfile"])
}

#[test]
fn f9_inputs_and_goals_become_a_workflow_that_passes_check() {
    let ran = converted("plain");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    checks(&ran);
}

#[test]
fn f9_several_agents_become_views_and_one_answer() {
    let ran = converted("views");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    checks(&ran);
}

#[test]
fn f9_loops_become_steps_that_repeat_until_nothing_is_left_to_change() {
    let ran = converted("loops");
    assert_eq!(ran.code, Some(1), "the limit of a loop is no part of the request: {ran:?}");
    checks(&ran);
}

#[test]
fn f9_every_line_that_cannot_be_converted_is_named_with_its_number_and_its_reason() {
    let ran = converted("wrong");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    for line in [1, 3, 4, 5, 7, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24] {
        assert!(
            ran.stderr.contains(&format!("wrong.agentfile:{line}: ")),
            "line {line} is not named: {}",
            ran.stderr
        );
        assert!(
            ran.stdout.contains(&format!("#   line {line}, ")),
            "line {line} is not in the file: {}",
            ran.stdout
        );
    }
    checks(&ran);
}

#[test]
fn f9_supervision_becomes_a_key_of_the_workflow_or_of_its_steps() {
    converted("supervised");
    converted("person");
}

/// The converted workflow does what the Agentfile says: the goals in their order, each with what it needs to see.
#[test]
fn f9_a_converted_workflow_runs() {
    let home = fixtures();
    let ran = systole(home.path(), &["workflow", "from", "views.agentfile"]);
    let script = "{provider: script, file: replies.yaml}";
    let hosted = "{provider: anthropic, model: claude-haiku-4-5, key_env: ANTHROPIC_API_KEY}";
    assert!(ran.stdout.contains(hosted), "{ran:?}");
    fs::write(home.path().join("organism.yaml"), ran.stdout.replace(hosted, script)).unwrap();
    fs::write(
        home.path().join("replies.yaml"),
        "optimist:\n  - say: '{\"gains\": \"light\", \"chances\": \"some\"}'\n\
         critic:\n  - say: '{\"risks\": \"cold\"}'\n\
         worker:\n  - need: ['&lt;risks&gt;cold', '&lt;gains&gt;light', '&lt;offer&gt;A']\n    \
         say: '{\"verdict\": \"take it\", \"reasons\": \"light beats cold\"}'\n\
         clerk:\n  - need: ['&lt;verdict&gt;take it']\n    say: Dear all, we take it.\n",
    )
    .unwrap();
    let asked = systole(home.path(), &["ask", "--json", "x"]);
    assert_ne!(asked.code, Some(0), "it takes its own request: {asked:?}");
    fs::write(
        home.path().join("offer.test.yaml"),
        "tests:\n  - name: an offer is weighed\n    steps:\n      - send: {weigh-offer-request: {offer: A window seat.}}\n        \
         answer: {answer: 'Dear all, we take it.'}\n",
    )
    .unwrap();
    let test = systole(home.path(), &["test"]);
    assert_eq!(test.code, Some(0), "{test:?}");
}

/// In the language of Agentfiles every agent has tools, and in an organism only one that has a peer for them.
#[test]
fn f9_agents_whose_words_need_tools_are_named_with_what_gives_them() {
    let text = "NAME tidy\nAGENT fixer \"You fix what is broken in the code.\"\nAGENT poet \"You write poems.\"\n\
                GOAL look \"Run $test_command and list what fails\"\nGOAL again \"Read the files once more\"\n\
                GOAL repair \"Fix $failures\" USING fixer\nGOAL sing \"Write about it in one file a day\" USING poet\n\
                GOAL news \"Write a short poem\" USING poet\n";
    let ran = convert_text(text);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(!ran.stderr.contains("every line is converted"), "{ran:?}");
    for (line, agent, words) in [
        (2, "fixer", "fix what is broken in the code."),
        (4, "worker", "Run $test_command"),
        (7, "poet", "Write about it in one file"),
    ] {
        let start = format!("Agentfile:{line}: ");
        let need = format!("{agent} may need tools (\"{words}\") for files or commands");
        let told = ran.stderr.lines().find(|told| told.starts_with(&start) && told.contains(&need));
        assert!(told.is_some_and(|told| told.contains("workspace: ./FOLDER")), "{line}: {ran:?}");
        assert!(ran.stdout.contains(&need), "{}", ran.stdout);
    }
    assert!(!ran.stderr.contains("Agentfile:5: "), "each agent is named once: {ran:?}");
    checks(&ran);
    // The lines that it names give the agent its tools.
    let file = ran.stdout.replace("agents:\n", "listeners: {hands: {workspace: ./work}}\nagents:\n");
    let file = file.replace("  fixer: {model: main,", "  fixer: {model: main, peers: [hands],");
    assert!(file.contains("peers: [hands]"), "{file}");
    let home = folder(&[("organism.yaml", &file), ("work/code.py", "")]);
    let check = systole(home.path(), &["check"]);
    assert_eq!(check.code, Some(0), "{check:?}\n{file}");
}

#[test]
fn f9_line_ends_and_a_byte_order_mark_do_not_matter() {
    let text = fs::read_to_string(format!("{FIXTURES}/loops.agentfile")).unwrap();
    let plain = convert_text(&text);
    let other = convert_text(&format!("\u{feff}{}", text.replace('\n', "\r\n")));
    assert_eq!((plain.code, &plain.stdout), (other.code, &other.stdout));
    assert!(plain.stdout.contains("fixing:"), "{plain:?}");
}

#[test]
fn f9_what_is_no_agentfile_is_refused_and_nothing_is_printed() {
    let long = format!("GOAL a \"{}\"\n", "long ".repeat(210_000));
    let home = folder(&[
        ("empty", ""),
        ("other", "FROM scratch\nMODEL some-model\nTOOL shell\n"),
        ("names", "NAME only\nRUN main USING nothing\n"),
        ("binary", "GOAL a \"b\"\0\n"),
        ("long", &long),
        ("dir/x", ""),
    ]);
    fs::write(home.path().join("latin"), b"GOAL a \"\xe9\"\n").unwrap();
    for (path, words) in [
        ("empty", "no GOAL and no CONVERGE"),
        ("other", "`MODEL` is not a keyword"),
        ("names", "no GOAL is called `nothing`"),
        ("binary", "it is not a text"),
        ("latin", "UTF-8"),
        ("long", "512 KiB"),
        ("dir", "folder"),
        ("absent", "no such"),
        ("/dev/zero", "not a regular file"),
    ] {
        let ran = systole(home.path(), &["workflow", "from", path]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{path}: {ran:?}");
        assert!(ran.stderr.to_lowercase().contains(&words.to_lowercase()), "{path}: {}", ran.stderr);
    }
}

/// Someone else's Agentfile must not bring unrelated files into the result.
#[test]
fn f9_files_outside_the_folder_are_not_read() {
    let home = folder(&[
        ("secret.md", "the secret"),
        ("in/own.md", "own words"),
        ("in/skill/SKILL.md", "---\nname: s\n---\nskill words\n"),
    ]);
    let inside = home.path().join("in");
    std::os::unix::fs::symlink("../secret.md", inside.join("link.md")).unwrap();
    let absolute = home.path().join("secret.md");
    let text = format!(
        "AGENT a FROM ../secret.md\nAGENT b FROM link.md\nAGENT c FROM {}\nAGENT d FROM own.md\nAGENT e FROM skill\n\
         GOAL g \"Do\" USING a, b, c, d, e\n",
        absolute.display()
    );
    fs::write(inside.join("Agentfile"), text).unwrap();
    let ran = systole(home.path(), &["workflow", "from", "in/Agentfile"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(!ran.stdout.contains("the secret"), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("own words") && ran.stdout.contains("{identity: skill words}"),
        "{}",
        ran.stdout
    );
    assert_eq!(
        ran.stderr.matches("only files below the folder of the Agentfile are read").count(),
        3,
        "{ran:?}"
    );
}

#[test]
fn f9_programs_get_the_result_and_the_lines_as_json() {
    let home = folder(&[("Agentfile", "NAME a\nSECURITY paranoid\nGOAL b \"Do it\"\n")]);
    let ran = systole(home.path(), &["workflow", "from", "Agentfile", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((ran.code, &value["workflow"], &value["notes"][0]["line"]), (Some(1), &"a".into(), &2.into()));
    assert_eq!(value["problems"], serde_json::json!([]));
    assert!(value["organism"].as_str().unwrap().starts_with("# Converted"), "{value}");
}

/// No file is next to the Agentfile, and the model needs no key.
struct Nothing;

impl ConversionServices for Nothing {
    fn read(&self, _path: &str) -> Result<String, String> {
        Err("there is none".to_owned())
    }

    fn model(&self) -> String {
        "{provider: ollama, model: m}".to_owned()
    }
}

/// Texts as people write them, and texts that would break a file if they were not quoted.
fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z $<>{}_:#,.'&*!|%@`?-]{0,40}",
        Just("- a: b # c".to_owned()),
        Just("true".to_owned()),
        Just("0x1F".to_owned()),
        Just("  leading and trailing  ".to_owned()),
        Just("a\u{7f}\u{202e}b\u{2028}c\td".to_owned()),
        Just("$one of $two, {three}".to_owned()),
        Just("wide ".repeat(60)),
    ]
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-dA-D_][a-c_-]{0,3}",
        Just("request".to_owned()),
        Just("ask".to_owned()),
        Just("goal".to_owned()),
        Just("core".to_owned()),
        Just("one".to_owned()),
        Just("converged".to_owned()),
        Just("a".repeat(50))
    ]
}

fn names() -> impl Strategy<Value = String> {
    prop::collection::vec(name(), 1..4).prop_map(|names| names.join(", "))
}

fn line() -> impl Strategy<Value = String> {
    let quoted = || words().prop_map(|words| format!("\"{}\"", words.replace('\n', " ")));
    let several = || words().prop_map(|words| format!("\"\"\"\n{words}\n\n{words}\n\"\"\""));
    let text = move || prop_oneof![quoted(), several()];
    let gives = || prop_oneof![Just(String::new()), names().prop_map(|names| format!(" -> {names}"))];
    let using = || prop_oneof![Just(String::new()), names().prop_map(|names| format!(" USING {names}"))];
    let judged = || prop_oneof![Just(""), Just(" UNSUPERVISED")];
    prop_oneof![
        name().prop_map(|name| format!("NAME {name}")),
        (name(), quoted()).prop_map(|(name, default)| format!("INPUT {name} DEFAULT {default}")),
        name().prop_map(|name| format!("INPUT {name}")),
        (name(), text(), gives(), quoted()).prop_map(|(name, text, gives, profile)| format!(
            "AGENT {name} {text}{gives} REQUIRES {profile}"
        )),
        (name(), text(), gives(), using(), judged()).prop_map(|(name, text, gives, using, judged)| format!(
            "GOAL {name} {text}{gives}{using}{judged}"
        )),
        (name(), text(), gives(), using())
            .prop_map(|(name, text, gives, using)| format!("CONVERGE {name} {text}{gives}{using} WITHIN 2")),
        (name(), names()).prop_map(|(name, goals)| format!("RUN {name} USING {goals}")),
        (name(), names()).prop_map(|(name, goals)| format!("LOOP {name} USING {goals} WITHIN 3")),
        words().prop_map(|words| format!("# {words}")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    /// The result passes check, for any content of the Agentfile.
    #[test]
    fn f9_the_result_of_any_agentfile_passes_check(lines in prop::collection::vec(line(), 1..14)) {
        let text = lines.join("\n");
        if let Ok(made) = convert(&text, &Nothing) {
            let read = config::load_text(Path::new("organism.yaml"), &made.text);
            prop_assert!(read.is_ok(), "{}\n---\n{text}\n---\n{}", read.err().unwrap(), made.text);
        }
    }

    /// No content of an Agentfile causes a panic.
    #[test]
    fn f9_no_text_is_too_strange_to_be_read(text in "\\PC{0,200}|([A-Z]{3,8} [a-z]{1,3} ?[\"$>,-]{0,5}\n){1,9}") {
        let _either = convert(&text, &Nothing);
    }
}
