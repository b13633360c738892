//! `systole schema`: the schema that checks an element, what a model sees of it, and the conversion from
//! the compact form to a file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use systole_config as config;
use systole_core::types::ids::Digest;

const FILE: &str = "organism: {name: acme}
payloads:
  find: {.about: Finds text, query: text -- what to look for, limit?: int 1..100 = 20}
  found: [text]
schemas: [search.xsd]
listeners:
  finder: {run: [x], accepts: [find, ask], returns: [found, answer]}
  other: {run: [x], schema: again.xsd, accepts: [find], returns: [found]}
";

fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("schema-command").join(test);
    // The files of an earlier run must be gone: nothing is overwritten.
    let _gone = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    for (name, root) in [("search.xsd", "searched"), ("again.xsd", "find"), ("shut.xsd", "shut")] {
        let xsd = fs::read_to_string("tests/suite/golden/config/schemas/search.xsd").unwrap();
        let space = name.trim_end_matches(".xsd");
        let xsd = xsd.replace("/search/v1", &format!("/{space}/v1"));
        // No two declare the same, except those that do so on purpose.
        let xsd = match root {
            "find" => xsd.replace("\"find\"", "\"seek\"").replace("\"found\"", "\"sought\""),
            root => {
                xsd.replace("\"find\"", &format!("\"{root}\"")).replace("\"found\"", &format!("\"{root}-1\""))
            }
        };
        fs::write(folder.join(name), xsd).unwrap();
    }
    folder
}

fn systole(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_systole")).args(arguments).current_dir(folder).output().unwrap()
}

fn ran(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let Output { status, stdout, stderr } = systole(folder, arguments);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

fn with(test: &str, organism: &str) -> PathBuf {
    let folder = folder(test);
    fs::write(folder.join("organism.yaml"), organism).unwrap();
    folder
}

#[test]
fn schema_show_prints_exact_bytes_by_element_by_name_or_for_payloads() {
    let folder = with(
        "show",
        &FILE.replace(
            "schema: again.xsd, accepts: [find], returns: [found]",
            "schema: again.xsd, accepts: [seek]",
        ),
    );
    let (exit, xsd, told) = ran(&folder, &["schema", "show"]);
    assert_eq!((exit, xsd.lines().next().unwrap().contains("/acme/v1\"")), (0, true));
    assert_eq!(told, format!("made of payloads, SHA-256 {}\n", Digest::hash_bytes(xsd.as_bytes())));
    for element in ["find", "found", "payloads/", "{https://xml-pipeline.org/ns/acme/v1}find"] {
        assert_eq!(ran(&folder, &["schema", "show", element]).1, xsd, "{element}");
    }
    let again = fs::read_to_string(folder.join("again.xsd")).unwrap();
    assert_eq!(ran(&folder, &["schema", "show", "seek"]).1, again);
    assert_eq!(ran(&folder, &["schema", "show", "again.xsd"]).1, again);
    assert_eq!(ran(&folder, &["schema", "show", "ask"]).1.as_bytes(), config::TALK_XSD);
    assert_eq!(ran(&folder, &["schema", "show", "spawn-thread"]).1.as_bytes(), config::CORE_XSD);
    let (exit, value, _) = ran(&folder, &["schema", "show", "--json", "find"]);
    let value: serde_json::Value = serde_json::from_str(&value).unwrap();
    assert_eq!((exit, value["xsd"].as_str()), (0, Some(xsd.as_str())));
    assert_eq!(value["sha256"].as_str().unwrap(), Digest::hash_bytes(xsd.as_bytes()).to_string());
}

#[test]
fn an_example_and_a_prompt_are_what_the_model_makes() {
    let folder = with("example", &FILE.replace(", schema: again.xsd", ""));
    let (exit, example, told) = ran(&folder, &["schema", "example", "find"]);
    let whole = "<find xmlns=\"https://xml-pipeline.org/ns/acme/v1\"><query>text</query></find>\n";
    assert_eq!((exit, example.as_str(), told.as_str()), (0, whole, ""));
    let (exit, prompt, _) = ran(&folder, &["schema", "prompt", "find"]);
    let line = "- <find>: Finds text. Parameters: <query>(text, required; ";
    assert!(exit == 0 && prompt.starts_with(line), "{prompt}");
    assert_eq!(prompt.lines().nth(1), Some(format!("  Example: {}", whole.trim_end()).as_str()));
    let (exit, value, _) = ran(&folder, &["schema", "prompt", "--json", "find"]);
    let value: serde_json::Value = serde_json::from_str(&value).unwrap();
    assert_eq!((exit, value["prompt"].as_str()), (0, Some(prompt.trim_end())));
}

#[test]
fn an_element_that_nothing_declares_is_reported_with_the_nearest() {
    let folder = with("unknown", &FILE.replace(", schema: again.xsd", ""));
    for what in ["show", "example", "prompt"] {
        let (exit, data, told) = ran(&folder, &["schema", what, "fnd"]);
        assert_eq!(
            (exit, data.as_str(), told.as_str()),
            (2, "", "error: no schema declares fnd; did you mean find\n")
        );
    }
    let (exit, _, told) = ran(&folder, &["schema", "show", "banana"]);
    assert_eq!(
        (exit, told.as_str()),
        (
            2,
            "error: no schema declares banana; there are find, found, searched, searched-1, search, ask, ask-with, answer\n"
        )
    );
    fs::write(folder.join("organism.yaml"), "organism: {name: acme}\n").unwrap();
    assert_eq!(ran(&folder, &["schema", "show"]).0, 3);
    let both = "organism: {name: acme}\nschemas: [search.xsd, shut.xsd]\nlisteners: {a: {run: [x], accepts: [shut]}}\n";
    fs::write(folder.join("organism.yaml"), both).unwrap();
    let (exit, _, told) = ran(&folder, &["schema", "example", "search"]);
    let which = "error: several schemas declare search; name one of
  {https://xml-pipeline.org/ns/search/v1}search  in search.xsd
  {https://xml-pipeline.org/ns/shut/v1}search  in shut.xsd\n";
    assert_eq!((exit, told.as_str()), (2, which));
    assert_eq!(ran(&folder, &["schema", "example", "{https://xml-pipeline.org/ns/shut/v1}search"]).0, 0);
    let (exit, _, told) = ran(&folder, &["schema", "show"]);
    let words = "error: the file declares no payloads; name an element or a schema: search.xsd, shut.xsd\n";
    assert_eq!((exit, told.as_str()), (2, words));
    let (exit, _, told) = ran(&folder, &["schema", "eject"]);
    assert_eq!(
        (exit, told.as_str()),
        (2, "error: the file declares no payloads, so there is nothing to eject\n")
    );
}

/// A file before and after, which differ only in the block.
const EJECTED: [(&str, &str, &str); 8] = [
    (
        "in-lines",
        "# mine\norganism: {name: acme}   # named\n\n# words\npayloads:\n  # of mine\n  find: text   # any\n  found: {a: [text], b?: int = 5}\n\n# who\nlisteners:\n  a: {run: [x], accepts: [find], returns: [found]}\n",
        "# mine\norganism: {name: acme}   # named\n\n# words\nschemas: [schemas/acme.xsd]\n\n# who\nlisteners:\n  a: {run: [x], accepts: [find], returns: [found]}\n",
    ),
    (
        "in-braces",
        "payloads: {find: text, found: {a: int}}  # kept\norganism: {name: acme}\nlisteners: {a: {run: [x], accepts: [find]}}\n",
        "schemas: [schemas/acme.xsd]  # kept\norganism: {name: acme}\nlisteners: {a: {run: [x], accepts: [find]}}\n",
    ),
    (
        "beside-a-list",
        "organism: {name: acme}\nschemas: [ search.xsd , shut.xsd, ]   # shared\nlisteners: {a: {run: [x], accepts: [find, shut]}}\npayloads:\n  find:\n    a: |\n      text\n      -- words\n# the end",
        "organism: {name: acme}\nschemas: [ search.xsd , shut.xsd, schemas/acme.xsd, ]   # shared\nlisteners: {a: {run: [x], accepts: [find, shut]}}\n# the end",
    ),
    (
        "beside-lines",
        "organism: {name: acme}\nschemas:\n  - search.xsd   # one\n  - shut.xsd   # two\n\n# words\npayloads: {find: text}\nlisteners: {a: {run: [x], accepts: [find, shut]}}\n",
        "organism: {name: acme}\nschemas:\n  - search.xsd   # one\n  - shut.xsd   # two\n  - schemas/acme.xsd\n\n# words\nlisteners: {a: {run: [x], accepts: [find, shut]}}\n",
    ),
    (
        "beside-lines-at-the-end",
        "organism: {name: acme}\npayloads: {find: text}   # kept\nlisteners: {a: {run: [x], accepts: [find]}}\nschemas:\n- search.xsd",
        "organism: {name: acme}\n   # kept\nlisteners: {a: {run: [x], accepts: [find]}}\nschemas:\n- search.xsd\n- schemas/acme.xsd",
    ),
    (
        "beside-an-empty-list",
        "organism: {name: acme}\nschemas: []\npayloads:\n    find:   text\nlisteners: {a: {run: [x], accepts: [find]}}\n",
        "organism: {name: acme}\nschemas: [schemas/acme.xsd]\nlisteners: {a: {run: [x], accepts: [find]}}\n",
    ),
    (
        "windows",
        "\u{feff}organism: {name: acme}\r\npayloads:\r\n  find: text\r\nlisteners: {a: {run: [x], accepts: [find]}}\r\n",
        "\u{feff}organism: {name: acme}\r\nschemas: [schemas/acme.xsd]\r\nlisteners: {a: {run: [x], accepts: [find]}}\r\n",
    ),
    (
        "at-the-end",
        "organism: {name: acme}\nlisteners: {a: {run: [x], accepts: [find]}}\npayloads:\n  find: text",
        "organism: {name: acme}\nlisteners: {a: {run: [x], accepts: [find]}}\nschemas: [schemas/acme.xsd]\n",
    ),
];

#[test]
fn a13_ejecting_keeps_the_hash_and_every_other_byte() {
    for (test, before, after) in EJECTED {
        let folder = with(test, before);
        let old = config::load(&folder.join("organism.yaml")).unwrap().composition;
        let made = old.schemas.iter().find(|schema| schema.name == "payloads/").unwrap();
        let (exit, data, told) = ran(&folder, &["schema", "eject"]);
        assert_eq!((exit, data.as_str()), (0, ""), "{test}: {told}");
        let hash = Digest::hash_bytes(&made.text).to_string();
        assert!(told.starts_with(&format!("wrote schemas/acme.xsd, SHA-256 {hash}, as before\n")), "{told}");
        assert_eq!(told.contains("were removed with the block"), test == "in-lines", "{told}");
        assert_eq!(fs::read_to_string(folder.join("organism.yaml")).unwrap(), after, "{test}");
        let new = config::load(&folder.join("organism.yaml")).unwrap().composition;
        let ejected = new.schemas.iter().find(|schema| schema.name == "schemas/acme.xsd").unwrap();
        assert_eq!(Digest::hash_bytes(&ejected.text), Digest::hash_bytes(&made.text), "{test}");
        let accepts = |composition: &systole_core::types::composition::Composition| {
            let listener = composition.listeners.values().next().unwrap();
            listener.accepts.iter().map(|element| element.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(accepts(&old), accepts(&new), "{test}");
        let (exit, _, told) = ran(&folder, &["schema", "eject"]);
        assert_eq!((exit, told.contains("declares no payloads")), (2, true), "{test}");
    }
}

#[test]
fn what_cannot_be_ejected_is_left_as_it_was() {
    let (_, before, _) = EJECTED[0];
    let folder = with("there", before);
    fs::create_dir(folder.join("schemas")).unwrap();
    fs::write(folder.join("schemas/acme.xsd"), "mine").unwrap();
    let (exit, _, told) = ran(&folder, &["schema", "eject"]);
    let words = "error: schemas/acme.xsd: it is there already, and is not overwritten\n  try: another name for that file, or remove it\n";
    assert_eq!((exit, told.as_str()), (2, words));
    assert_eq!(fs::read_to_string(folder.join("schemas/acme.xsd")).unwrap(), "mine");
    let by_hand = [
        "{organism: {name: acme}, payloads: {find: text}, listeners: {a: {run: [x], accepts: [find]}}}\n",
        "--- \norganism: {name: acme}\n? payloads\n: find: text\nlisteners: {a: {run: [x], accepts: [find]}}\n",
    ];
    for text in by_hand {
        let folder = with("by-hand", text);
        let (exit, _, told) = ran(&folder, &["schema", "eject"]);
        assert_eq!(exit, 1, "{told}");
        assert!(told.contains("systole schema show > schemas/acme.xsd"), "{told}");
        assert!(!folder.join("schemas").exists());
        assert_eq!(fs::read_to_string(folder.join("organism.yaml")).unwrap(), text);
    }
    let wrong = with(
        "wrong",
        "organism: {name: acme}\npayloads: {find: txt}\nlisteners: {a: {run: [x], accepts: [find]}}\n",
    );
    let (exit, _, told) = ran(&wrong, &["schema", "eject"]);
    assert_eq!((exit, told.contains("`txt` is no type")), (3, true), "{told}");
}
