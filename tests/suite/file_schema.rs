//! The JSON Schema of the organism's file, checked by a third-party validator: it accepts what the loader
//! accepts, rejects unknown keys, and cannot drift from the table of keys that it is made from.

use std::fs;
use std::path::Path;

use jsonschema::Validator;
use serde_json::Value;
use systole_config::{self as config, ConfigKey, KEYS, KeyForm, ORGANISM_JSON_SCHEMA, organism_json_schema};

const SCHEMA: &str = "schemas/organism.schema.json";

/// Values of every kind. Each key accepts some of them and rejects others.
const VALUES: [&str; 47] = [
    "x",
    "x1",
    "true",
    "false",
    "yes",
    "'true'",
    "0",
    "1",
    "2",
    "17",
    "1000",
    "1001",
    "-1",
    "1.5",
    "'3'",
    "30s",
    "1ms",
    "1d",
    "2d",
    "366d",
    "0s",
    "30",
    "5 s",
    "1KiB",
    "64KiB",
    "1MiB",
    "1MB",
    "50%",
    "50",
    "1s..30s",
    "3..5",
    "5",
    "200k",
    "1M",
    "2 USD",
    "2",
    "2 usd",
    "stay",
    "once",
    "all",
    "first",
    "127.0.0.1:80",
    "'[::1]:80'",
    "localhost:80",
    "[x1]",
    "[]",
    "{x1: x1}",
];

struct EditorJudge {
    validator: Validator,
}

impl EditorJudge {
    fn new() -> EditorJudge {
        let schema: Value = serde_json::from_str(ORGANISM_JSON_SCHEMA).unwrap();
        EditorJudge { validator: jsonschema::draft202012::new(&schema).unwrap() }
    }

    /// The fault of a file, if any.
    fn why_not(&self, yaml: &str) -> Option<String> {
        let options = serde_saphyr::options! { strict_booleans: true };
        let value: Value = serde_saphyr::from_str_with_options(yaml, options).unwrap();
        self.validator.validate(&value).err().map(|error| error.to_string())
    }
}

#[test]
fn the_schema_is_the_table_of_keys() {
    let text = serde_json::to_string_pretty(&organism_json_schema()).unwrap() + "\n";
    crate::golden::golden(SCHEMA, text);
}

#[test]
fn every_file_that_the_loader_takes_is_taken() {
    let judge = EditorJudge::new();
    let mut files = vec!["docs/reference/organism-file.md".into()];
    for folder in ["config", "tests/suite/golden/warnings"] {
        collect(Path::new(folder), &mut files);
    }
    let mut judged = 0;
    // Neither a model script nor a test is an organism; each is checked against its own page.
    let is_organism = |path: &std::path::PathBuf| {
        !path.ends_with("replies.yaml") && !path.to_string_lossy().ends_with(".test.yaml")
    };
    for path in files.into_iter().filter(is_organism) {
        let text = fs::read_to_string(&path).unwrap();
        let text = match text.split_once("```yaml\n").and_then(|(_, after)| after.split_once("```")) {
            Some((first, _)) => first.to_owned(),
            None => text,
        };
        assert_eq!(judge.why_not(&text), None, "{}", path.display());
        judged += 1;
    }
    assert!(judged > 8, "{judged}");
}

fn collect(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            found.push(path);
        }
    }
}

#[test]
fn unknown_keys_and_keys_of_a_later_version_are_refused() {
    let judge = EditorJudge::new();
    let good = "organism: {name: hello}\nlisteners:\n  search: {run: [a], schema: a.xsd, accepts: [find]}\n";
    assert_eq!(judge.why_not(good), None);
    for (good_part, bad_part) in [
        ("organism:", "colour: blue\norganism:"),
        ("{name:", "{nam: x, name:"),
        ("{run:", "{turnz: 3, run:"),
        ("{run:", "{retry: {atempts: 3}, run:"),
        ("{run:", "{rate: 3, run:"),
        ("search:", "Search:"),
        ("{name: hello}", "{description: x}"),
        ("accepts: [find]", "returns: [find]"),
    ] {
        let bad = good.replacen(good_part, bad_part, 1);
        assert!(judge.why_not(&bad).is_some(), "{bad}");
    }
}

/// At every place for one value, each of many values: if the loader accepts the value, so does the schema.
/// If the schema can express the rule of the loader, it rejects the same values too. Each place gets a third of the
/// values and each value a third of the places; with `SYSTOLE_CASES` every place gets every value.
#[test]
fn the_json_schema_accepts_all_that_the_loader_accepts_and_refuses_most_of_the_rest() {
    let judge = &EditorJudge::new();
    let keys: Vec<&ConfigKey> = KEYS.iter().collect();
    let (mut both, mut loader_alone) = (0, Vec::new());
    std::thread::scope(|scope| {
        let compare = |keys| scope.spawn(move || compared(judge, keys));
        let quarters: Vec<_> = keys.chunks(keys.len().div_ceil(4)).map(compare).collect();
        for quarter in quarters {
            let (number, alone) = quarter.join().unwrap();
            both += number;
            loader_alone.extend(alone);
        }
    });
    // Only the loader checks bounds of amounts and pauses, lists of names, and what two keys are together.
    let exact = |form: KeyForm| {
        matches!(
            form,
            KeyForm::Flag
                | KeyForm::Count(..)
                | KeyForm::Words(_)
                | KeyForm::Map
                | KeyForm::Duration(_)
                | KeyForm::Size(_)
        )
    };
    let lost: Vec<_> = loader_alone
        .iter()
        .filter(|(key, _)| exact(key.form) && !key.path.ends_with(".idle"))
        .map(|(key, value)| (key.path, value))
        .collect();
    assert!(lost.iter().all(|(_, value)| **value == "'true'" || **value == "'3'"), "{lost:?}");
    assert!(
        both > 10 * loader_alone.len(),
        "{both} refused by both, {} by the loader alone",
        loader_alone.len()
    );
}

/// How many values at these keys both refuse, and those that only the loader refuses.
fn compared<'k>(judge: &EditorJudge, keys: &[&'k ConfigKey]) -> (usize, Vec<(&'k ConfigKey, &'static str)>) {
    let folder = tempfile::tempdir().unwrap();
    fs::copy("tests/suite/golden/config/schemas/search.xsd", folder.path().join("x1")).unwrap();
    let path = folder.path().join("organism.yaml");
    let (mut both, mut loader_alone) = (0, Vec::new());
    let tries_all = std::env::var_os("SYSTOLE_CASES").is_some();
    for (nth, key) in keys.iter().enumerate() {
        // A fault inside a map is reported with its own place.
        let is_map = matches!(
            key.form,
            KeyForm::Map
                | KeyForm::Names(_)
                | KeyForm::TextOrMap
                | KeyForm::TextOrNames
                | KeyForm::WordOrNames(_)
        );
        let drawn = VALUES.into_iter().enumerate().filter(|(at, _)| tries_all || (at + nth) % 3 == 0);
        for value in drawn.map(|(_, value)| value).filter(|value| !(is_map && value.starts_with('{'))) {
            let text = file_with(key.path, value);
            fs::write(&path, &text).unwrap();
            let place = place_of(key.path);
            let told: Vec<&str> = match config::load(&path) {
                Ok(_) => Vec::new(),
                Err(ref refused) => told_at(refused, &place),
            };
            // An editor cannot check what connects two places, such as an unknown name.
            let of_form =
                told.iter().any(|code| ["config.kind", "config.value", "config.missing"].contains(code));
            match (told.is_empty(), of_form, judge.why_not(&text)) {
                (true, _, Some(why)) if is_of(&why, &place) => {
                    panic!("{text}\nis taken by the loader: {why}")
                }
                (_, true, None) => loader_alone.push((*key, value)),
                (_, true, Some(_)) => both += 1,
                _ => {}
            }
        }
    }
    (both, loader_alone)
}

/// The codes that the loader reports for that place.
fn told_at(refused: &config::FileMistakes, place: &str) -> Vec<&'static str> {
    let at_it = |message: &str| {
        message
            .strip_prefix(place)
            .is_some_and(|rest| rest.starts_with(": ") || rest.starts_with(" is empty"))
    };
    refused.0.iter().filter(|told| at_it(&told.message)).map(|told| told.code.as_str()).collect()
}

/// The place of a step in the table of keys.
const STEP: &str = "workflows.NAME.goals.NAME";

/// A place as people know it: the path of a step has only its id.
fn place_of(key: &str) -> String {
    match key.strip_prefix(STEP) {
        Some(inside) => format!("workflows.x1.x1{}", inside.replace("NAME", "x1")),
        None => key.replace("NAME", "x1"),
    }
}

/// Whether the schema's message is about that place, and not about what a bare file lacks.
fn is_of(why: &str, place: &str) -> bool {
    // A step is one of two forms, so a fault inside it is reported for the whole step.
    if place.starts_with("workflows.x1.x1") {
        return why.contains("not valid under any");
    }
    why.contains(&format!("'/{}", place.replace('.', "/")))
}

/// A file with that value at that place, and everything else that it needs.
fn file_with(key: &str, value: &str) -> String {
    if let Some(inside) = key.strip_prefix(STEP) {
        return file_with_step(&inside.replace("NAME", "x1"), value);
    }
    let place = key.replace("NAME", "x1");
    let depth = place.split('.').count();
    let one = place.replace('.', ": {") + ": " + value + &"}".repeat(depth - 1) + "\n";
    // An agent needs no schema of the file. The trial of a schema would cost far more than this whole test.
    let needed: &[&str] = if ["agents", "models", "workflows"].iter().any(|section| key.starts_with(section))
    {
        &[
            "organism: {name: hello}\n",
            "models: {a: {provider: ollama, model: m}}\n",
            "agents: {a: {model: a}}\n",
        ]
    } else if key == "clients.NAME.nats" {
        // Only the whole file says that clients can come in there, and no place in it.
        &[
            "organism: {name: hello}\n",
            "listeners: {a: {run: [a], schema: x1, accepts: [find]}}\n",
            "bus: {nats: \"nats://127.0.0.1:4222\"}\n",
        ]
    } else {
        &["organism: {name: hello}\n", "listeners: {a: {run: [a], schema: x1, accepts: [find]}}\n"]
    };
    needed
        .iter()
        .filter(|needed| !one.starts_with(needed.split(':').next().unwrap()))
        .fold(one.clone(), |text, needed| text + needed)
}

/// The same for a key of a step, or for the step itself.
fn file_with_step(inside: &str, value: &str) -> String {
    let head =
        "organism: {name: hello}\nmodels: {a: {provider: ollama, model: m}}\nagents: {a: {model: a}}\n";
    let Some(inside) = inside.strip_prefix('.') else {
        return format!("{head}workflows: {{x1: {{by: a, goals: [{{x1: {value}}}]}}}}\n");
    };
    let depth = inside.split('.').count();
    let needed = match inside {
        "repeat.at_most" => ", until: converged",
        "tasks.at_most" | "tasks.supervise" => ", by: a",
        _ if inside.starts_with("repeat.") => ", at_most: 2",
        _ => "",
    };
    let closed = "}".repeat(depth - 1);
    let own = inside.replace('.', ": {") + ": " + value + &closed;
    let own = own
        .strip_suffix('}')
        .filter(|_| !needed.is_empty())
        .map_or(own.clone(), |own| format!("{own}{needed}}}"));
    let beside = match inside.split('.').next().unwrap() {
        "do" | "ask" | "goals" | "parallel" | "wait" => "",
        "call" => ", to: a",
        "to" | "with" => ", call: x",
        "choices" | "shows" | "expires" | "otherwise" => ", ask: x",
        "repeat" => ", goals: [{x2: Say it.}]",
        "at_once" => ", parallel: [{x2: Say it.}]",
        _ => ", do: x",
    };
    format!("{head}workflows: {{x1: {{by: a, goals: [{{x1: {{{own}{beside}}}}}]}}}}\n")
}

#[test]
fn check_prints_it_and_init_can_name_it() {
    let ran = crate::program::systole(Path::new("/"), &["check", "--schema"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), fs::read_to_string(SCHEMA).unwrap().as_str()));
}
