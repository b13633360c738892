//! Names without meaning, types that share a name, the table of codes, and things that may not be left
//! behind.

use systole_core::types::codes::Code;

use super::rust::{code_of, line_of, words};
use super::{hold, sources};

/// Words without meaning in a name.
const EMPTY: [&str; 10] =
    ["utils", "util", "common", "helpers", "helper", "manager", "handler", "context", "data", "info"];

/// Names that are allowed although they have such a word, because the thing has this name. A foreign
/// trait requires the function names.
const CALLED_SO: [&str; 3] = [
    "tests/mock-model/src/wire.rs",
    "crates/doorway/src/listening.rs",
    "listeners/mcp/src/client/hearing.rs",
];

/// Codes of the table that no code path gives out yet, because that part is not built. A code leaves
/// this list with the change that uses it.
const WAITING: &[Code] = &[];

/// The kit contains its codes as texts: it does not know the table.
const KIT_CODES: &str = "crates/wire/src/codes.rs";

/// The words of a name: `SchemaId` and `schema_id` are both `schema`, `id`.
fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for c in name.chars() {
        if c == '_' || c.is_uppercase() {
            parts.push(String::new());
        }
        if c != '_'
            && let Some(last) = parts.last_mut()
        {
            last.extend(c.to_lowercase());
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

fn says_nothing(name: &str) -> bool {
    parts(name).iter().any(|part| EMPTY.contains(&part.as_str()))
}

#[test]
fn no_name_says_nothing() {
    let mut breaches = Vec::new();
    for source in sources().iter().filter(|s| !CALLED_SO.contains(&s.path.as_str())) {
        for folder_or_file in source.path.trim_end_matches(".rs").split('/') {
            if says_nothing(&folder_or_file.replace('-', "_")) {
                breaches.push(source.path.clone());
            }
        }
        let code = code_of(&source.text);
        let mut before = "";
        for (at, word) in words(&code) {
            // The name of a test is a sentence, and sentences contain such words.
            let sentence = before == "fn" && source.path.contains("tests/");
            let keyword =
                matches!(before, "struct" | "enum" | "trait" | "type" | "mod" | "fn" | "const" | "static");
            let defines = keyword && !sentence;
            if defines && says_nothing(word) {
                breaches.push(format!("{}:{}: {before} {word}", source.path, line_of(&source.text, at)));
            }
            before = word;
        }
    }
    hold("a name that says nothing", &breaches);
    assert!(says_nothing("SessionManager") && says_nothing("xml_utils") && !says_nothing("database"));
}

/// The public types of a file: those that it declares, and those that it makes with a macro of its own
/// that starts with the name, such as `text_id! { Name }`. A file's tests are last and do not count.
fn public_types(code: &str) -> Vec<(usize, &str)> {
    let code = code.split("#[cfg(test)]\nmod ").next().unwrap_or(code);
    let found: Vec<_> = words(code).collect();
    let is_type = |word: &str| word.starts_with(|c: char| c.is_uppercase());
    let declared = found.windows(3).filter_map(|three| {
        let [(at, "pub"), (_, "struct" | "enum" | "trait" | "type" | "union"), (_, name)] = three else {
            return None;
        };
        is_type(name).then_some((*at, *name))
    });
    let makes_types = code.contains("pub struct $name") || code.contains("pub enum $name");
    let made = found.windows(2).filter_map(|two| {
        let [(at, maker), (start, name)] = two else { return None };
        let is_call = code[at + maker.len()..*start].split_whitespace().eq(["!", "{"]);
        (makes_types && is_call && is_type(name)).then_some((*at, *name))
    });
    declared.chain(made).collect()
}

/// The names that several of these public types have, each with all places.
fn shared_names<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    let mut places = std::collections::BTreeMap::<_, Vec<_>>::new();
    for (path, text) in files {
        for (at, name) in public_types(&code_of(text)) {
            places.entry(name.to_owned()).or_default().push(format!("{path}:{}", line_of(text, at)));
        }
    }
    places.retain(|_, places| places.len() > 1);
    places.iter().map(|(name, places)| format!("{name}: {}", places.join(" "))).collect()
}

#[test]
fn no_two_public_types_share_a_name() {
    let sources = sources();
    let is_product = |path: &str| !path.split('/').any(|folder| folder == "tests" || folder == "benches");
    let product = sources.iter().filter(|source| is_product(&source.path));
    let shared = shared_names(product.map(|source| (source.path.as_str(), source.text.as_str())));
    hold("two public types with one name; give each a name that says what it is without its module", &shared);
}

#[test]
fn no_two_harnesses_share_a_name() {
    let opened = |text: &str| text.replace("pub(crate) ", "pub ").replace("pub(super) ", "pub ");
    let is_ours = |path: &str| {
        path.starts_with("tests/suite/") || path.starts_with("crates/") && path.contains("/tests/suite/")
    };
    let suite = sources().into_iter().filter(|source| is_ours(&source.path));
    let suite: Vec<(String, String)> = suite.map(|source| (source.path, opened(&source.text))).collect();
    let shared = shared_names(suite.iter().map(|(path, text)| (path.as_str(), text.as_str())));
    hold("two harnesses with one name; give each a name that says what it starts", &shared);
}

#[test]
fn types_that_share_a_name_are_found() {
    let files = [
        ("a.rs", "pub struct Same;\npub(crate) enum Inner {}\n// pub enum Other {}\n"),
        ("b.rs", "use a::Same;\n\npub type Same<T> = Vec<T>;\npub(crate) struct Inner;\npub enum Other {}\n"),
        (
            "c.rs",
            "macro_rules! id { ($name:ident) => { pub struct $name; }; }\nid! {\n    /// Doc.\n    Other\n}",
        ),
        ("d.rs", "pub trait Own {}\n#[cfg(test)]\nmod tests {\n    pub struct Same;\n}\n"),
    ];
    assert_eq!(shared_names(files.into_iter()), ["Other: b.rs:5 c.rs:2", "Same: a.rs:1 b.rs:3"]);
}

#[test]
fn every_code_of_the_table_is_given_out_somewhere() {
    let mut used = std::collections::BTreeSet::new();
    let kit = std::fs::read_to_string(KIT_CODES).unwrap();
    for code in Code::ALL.iter().filter(|code| kit.contains(&format!("\"{code}\""))) {
        used.insert(format!("{code:?}"));
    }
    let is_ours = |path: &str| {
        path.starts_with("src/")
            || path.starts_with("crates/") && !path.contains("/tests/")
            || path.starts_with("listeners/") && path.contains("/section")
    };
    for source in sources().iter().filter(|s| is_ours(&s.path) && s.path != "crates/core/src/types/codes.rs")
    {
        let code = code_of(&source.text);
        for (at, _) in code.match_indices("Code::") {
            used.extend(words(&code[at + "Code::".len()..]).next().map(|(_, word)| word.to_owned()));
        }
    }
    let named = |code: &Code| format!("{code:?}");
    let dead = Code::ALL.iter().filter(|code| !used.contains(&named(code)) && !WAITING.contains(code));
    hold("a code that nothing gives out", &dead.map(named).collect::<Vec<_>>());
    let stale = WAITING.iter().filter(|code| used.contains(&named(code)));
    hold("a code that is given out and still said to wait", &stale.map(named).collect::<Vec<_>>());
}

#[test]
fn one_switch_writes_golden_files_again() {
    let reads = |text: &str| text.contains("var_os(\"SYSTOLE_GOLDEN\")");
    let readers = sources().into_iter().filter(|source| reads(&source.text)).map(|source| source.path);
    assert_eq!(readers.collect::<Vec<_>>(), ["tests/suite/golden.rs"]);
}

#[test]
fn nothing_is_left_behind() {
    let mut breaches = Vec::new();
    for source in sources() {
        let code = code_of(&source.text);
        for left in
            ["todo!", "unimplemented!", "dbg!", "#[ignore]", "#[allow(", "thread::sleep", "time::sleep"]
        {
            // Sources may wait for the machine's own time, tests never.
            let is_source = source.path.starts_with("src/") || source.path.contains("/src/");
            let waits = left.ends_with("sleep") && is_source;
            for (at, _) in code.match_indices(left).filter(|_| !waits) {
                breaches.push(format!("{}:{}: {left}", source.path, line_of(&source.text, at)));
            }
        }
    }
    hold("left behind", &breaches);
}
