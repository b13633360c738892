//! The organism's file: what is accepted, what each mistake reports, and the way back from a source.

use std::fs;
use std::path::{Path, PathBuf};

use systole_config::{self as config, FileMistakes, KEYS};
use systole_core::types::budget::{Budgets, LoopLimits};
use systole_core::types::composition::{ApprovalRule, Composition, GatherRule, OnUnknown, Reach, SchemaId};
use systole_core::types::ids::{Digest, Name};

const GOLDEN: &str = "tests/suite/golden/config";

const SMALL: &str = "organism: {name: hello}
listeners:
  search: {run: [python3, search.py], schema: schemas/search.xsd, accepts: [find], returns: [found]}
";

const FULL: &str = "organism: {name: acme, entry: asker, description: Answers questions}
listeners:
  search:
    run: [python3, search.py, 1.10]
    schema: schemas/search.xsd
    accepts: [find]
    returns: [found]
    env: {REGION: eu, VERSION: 1.10, EMPTY: ''}
    pass: [SMTP_HOST]
    mode: once
    framing: length
    timeout: 2m
    idle: 10s
    in_flight: 4
    retry: {attempts: 5, backoff: 500ms..1m}
    on_unknown: fail
    approval: {when: always, expires: 55m, tell: [asker]}
    entry: true
  asker: {run: [asker], schema: schemas/search.xsd, accepts: [search], peers: [search], turns: 12}
limits: {message: 64KiB}
log: {path: logs/acme.db}
console: {listen: '0.0.0.0:8080'}
";

/// A folder for one test, with the schema that its files name.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    fs::create_dir_all(folder.join("schemas")).unwrap();
    fs::copy(Path::new(GOLDEN).join("schemas/search.xsd"), folder.join("schemas/search.xsd")).unwrap();
    folder
}

fn load_text(test: &str, text: impl AsRef<[u8]>) -> Result<config::OrganismFile, FileMistakes> {
    let path = folder(test).join("organism.yaml");
    fs::write(&path, text).unwrap();
    config::load(&path)
}

/// The same in a folder that the test has prepared.
fn load_text_there(test: &str, text: &str) -> Result<config::OrganismFile, FileMistakes> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test).join("organism.yaml");
    fs::write(&path, text).unwrap();
    config::load(&path)
}

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

#[test]
fn the_smallest_file_gets_every_default() {
    let loaded = load_text("smallest", SMALL).unwrap();
    assert_eq!(loaded.listen, None);
    assert!(loaded.log.is_absolute() && loaded.log.ends_with("organism.db"));
    let Composition { organism, entry, listeners, schemas, message_bytes, budgets, loops, .. } =
        loaded.composition;
    assert_eq!((organism.as_str(), entry, message_bytes), ("hello", None, 1 << 20));
    let names: Vec<&str> = schemas.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["core.xsd", "envelope.xsd", "schemas/search.xsd"]);
    assert_eq!(&*schemas[SchemaId::CORE.0].text, config::CORE_XSD);
    assert_eq!(&*schemas[SchemaId::ENVELOPE.0].text, config::ENVELOPE_XSD);
    let search = &listeners[&name("search")];
    assert_eq!((search.accepts[0].schema, search.turns, search.in_flight), (SchemaId(2), 1, 1));
    assert_eq!((search.timeout_ms, search.idle_ms, search.entry), (30_000, None, false));
    assert_eq!((search.retry.attempts, search.retry.first_ms, search.retry.longest_ms), (3, 1000, 30_000));
    assert_eq!(search.on_unknown, OnUnknown::Retry);
    assert_eq!(
        (search.share_percent, budgets, loops),
        (50, Some(Budgets::default()), Some(LoopLimits::default()))
    );
    assert_eq!(&*search.accepts[0].name.ns, "https://xml-pipeline.org/ns/search/v1");
    assert_eq!((&*search.accepts[0].name.local, &*search.returns[0].name.local), ("find", "found"));
    let Reach::Process(program) = &search.reach else { panic!("a program was named") };
    assert!(program.stays && !program.by_length && program.env.is_empty() && program.pass.is_empty());
    assert!(program.directory.is_absolute() && program.directory.ends_with("smallest"));
}

#[test]
fn every_key_says_what_it_says() {
    let loaded = load_text("full", FULL).unwrap();
    assert_eq!(loaded.description.as_deref(), Some("Answers questions"));
    assert_eq!(loaded.listen, "0.0.0.0:8080".parse().ok());
    assert!(loaded.log.ends_with("full/logs/acme.db"));
    let composition = loaded.composition;
    assert_eq!(composition.message_bytes, 64 << 10);
    assert_eq!(composition.entry, Some(name("asker")));
    assert_eq!(composition.schemas.len(), 3, "a schema that two listeners name stands once");
    let search = &composition.listeners[&name("search")];
    assert_eq!((search.timeout_ms, search.idle_ms, search.in_flight), (120_000, Some(10_000), 4));
    assert_eq!((search.retry.attempts, search.retry.first_ms, search.retry.longest_ms), (5, 500, 60_000));
    assert_eq!((search.on_unknown, search.entry), (OnUnknown::Fail, true));
    let tell = vec![name("asker")];
    assert_eq!(search.approval, ApprovalRule { always: true, expires_ms: 55 * 60_000, tell });
    let Reach::Process(program) = &search.reach else { panic!("a program was named") };
    assert_eq!(program.run, ["python3", "search.py", "1.10"]);
    assert_eq!(program.env["VERSION"], "1.10", "a value stays the text that was written");
    assert_eq!((program.env["EMPTY"].as_str(), program.pass.as_slice()), ("", &["SMTP_HOST".to_owned()][..]));
    assert!(!program.stays && program.by_length);
    let asker = &composition.listeners[&name("asker")];
    assert_eq!((asker.turns, asker.peers.as_slice()), (12, &[name("search")][..]));
    assert_eq!(asker.approval, ApprovalRule { always: false, expires_ms: 7 * 86_400_000, tell: Vec::new() });
    assert!(asker.entry, "what the organism is entered by takes messages from outside");
}

#[test]
fn b13_what_goes_to_several_goes_to_them_in_order_of_the_file() {
    let text = "organism: {name: hello}
listeners:
  boss: {run: [x], schema: schemas/search.xsd, accepts: [search], turns: 4, peers: [ann, zoe]}
  zoe: {run: [x], schema: schemas/search.xsd, accepts: [find]}
  ann: {run: [x], schema: schemas/search.xsd, accepts: [find]}
broadcast: {find: first}
";
    let composition = load_text("broadcast", text).unwrap().composition;
    let [broadcast] = composition.broadcasts.as_slice() else { panic!("{:?}", composition.broadcasts) };
    assert_eq!(broadcast.takers, [name("zoe"), name("ann")]);
    assert_eq!((&*broadcast.element.local, broadcast.gather), ("find", GatherRule::First));
    let again = config::read_source(&composition.source, Path::new("/")).unwrap();
    assert_eq!(again.broadcasts, composition.broadcasts);
}

#[test]
fn tokens_and_money_are_read_exactly() {
    let read = |budgets: &str| {
        let text = format!("{SMALL}budgets: {{{budgets}}}\n");
        load_text("money", text).map(|loaded| loaded.composition.budgets.unwrap())
    };
    for (written, tokens) in [("200000", 200_000), ("200k", 200_000), ("1M", 1_000_000), ("1", 1)] {
        assert_eq!(read(&format!("tokens: {written}")).unwrap().tokens, Some(tokens), "{written}");
    }
    for (written, micros) in [("2 USD", 2_000_000), ("0.000001 EUR", 1), ("1000000 JPY", 1_000_000_000_000)] {
        let money = read(&format!("money: {written}")).unwrap().money.unwrap();
        assert_eq!((money.micros, money.to_string().as_str()), (micros, written));
    }
    for bad in ["0", "-1", "1.5M", "k", "200K", "200 k", "+5", "1000001M", "99999999999999999999"] {
        assert!(read(&format!("tokens: {bad}")).is_err(), "{bad}");
    }
    for bad in ["0 USD", "2", "2USD", "USD 2", "1000000.000001 USD", "0.0000001 USD", "2 usd"] {
        assert!(read(&format!("money: {bad}")).is_err(), "{bad}");
    }
    let ask = SMALL.replace("accepts:", "on_unknown: ask, accepts:");
    let composition = load_text("ask", ask).unwrap().composition;
    assert!(composition.listeners.values().all(|listener| listener.on_unknown == OnUnknown::Ask));
}

#[test]
fn windows_line_ends_and_a_byte_order_mark_change_nothing() {
    let loaded = load_text("windows", format!("\u{feff}{}", FULL.replace('\n', "\r\n"))).unwrap();
    assert_eq!(loaded.composition.listeners.len(), 2);
    let hash = |text: String| load_text("windows", text).unwrap().composition.hash;
    assert_eq!(
        hash(format!("\u{feff}{SMALL}")),
        hash(SMALL.to_owned()),
        "a mark is no part of the file's text"
    );
    let refused = load_text("windows", format!("\u{feff}{}colour: blue\r\n", SMALL.replace('\n', "\r\n")));
    let told = &refused.unwrap_err().0[0];
    assert_eq!((told.place.line, told.place.column), (4, 1));
    assert_eq!((told.place.text.as_str(), told.place.span.as_str()), ("colour: blue", "colour"));
}

#[test]
fn a_source_gives_the_same_composition_back() {
    for (test, text) in [("source-small", SMALL), ("source-full", FULL)] {
        let loaded = load_text(test, text).unwrap().composition;
        assert_eq!(loaded.hash, Digest::hash_bytes(&loaded.source));
        let Reach::Process(program) = &loaded.listeners[&name("search")].reach else { panic!("a program") };
        // The folder is gone when an old source is read: nothing may be read from it.
        fs::remove_dir_all(&program.directory).unwrap();
        let again = config::read_source(&loaded.source, &program.directory).unwrap();
        assert_eq!(format!("{again:?}"), format!("{loaded:?}"));
    }
}

#[test]
fn the_hash_names_the_file_and_every_schema() {
    let first = load_text("hash", SMALL).unwrap().composition.hash;
    assert_eq!(load_text("hash", SMALL).unwrap().composition.hash, first);
    assert_ne!(load_text("hash", format!("{SMALL}# a word\n")).unwrap().composition.hash, first);
    let path = folder("hash").join("schemas/search.xsd");
    fs::write(&path, fs::read_to_string(&path).unwrap() + "\n").unwrap();
    assert_ne!(config::load(&path.with_file_name("../organism.yaml")).unwrap().composition.hash, first);
}

#[test]
fn a_source_that_was_cut_or_forged_is_refused() {
    let source = load_text("cut-source", SMALL).unwrap().composition.source;
    for cut in [0, 1, 25, 40, source.len() / 2, source.len() - 1] {
        let refused = config::read_source(&source[..cut], Path::new(".")).unwrap_err();
        assert_eq!(refused.0[0].code.as_str(), "config.source", "cut at {cut}");
    }
    let mut padded = b"0".to_vec();
    padded.extend_from_slice(&source);
    assert!(config::read_source(&padded, Path::new(".")).is_err(), "a length has one form");
    assert!(config::read_source(b"99999999999999999999:x\n", Path::new(".")).is_err());
}

#[test]
fn what_is_no_file_is_reported_as_such() {
    let folder = folder("no-file");
    let told = |path: &Path| config::load(path).unwrap_err().0[0].clone();
    assert_eq!(told(&folder).message, "this is a folder, not a file");
    assert_eq!(told(&folder.join("none.yaml")).message, "there is no such file");
    assert_eq!(told(Path::new("/dev/zero")).message, "this is not a regular file");
    let write = |text: &[u8]| {
        let path = folder.join("organism.yaml");
        fs::write(&path, text).unwrap();
        told(&path)
    };
    assert_eq!(write(b"\xff\xfeo\0r\0").message, "the file is UTF-16");
    assert_eq!(write(&vec![b'#'; (1 << 20) + 1]).message, "the file is larger than 1048576 bytes");
    let fix = "an organism's file of 1048576 bytes at most; long schemas in files of their own";
    assert_eq!(write(&vec![b'#'; (1 << 20) + 1]).fix.as_deref(), Some(fix));
    let bad = write(b"organism: {name: hello}\r\nlisteners: \xc3(\n");
    assert_eq!((bad.message.as_str(), bad.place.line, bad.place.column), ("a byte here is not UTF-8", 2, 12));
}

/// A schema is a file too: a fault in it has its own fix, not the fix for the organism's file.
#[test]
fn what_is_no_schema_file_is_reported_with_its_own_fix() {
    let name = folder("no-schema-file").join("schemas/search.xsd");
    let told = || load_text_there("no-schema-file", SMALL).unwrap_err().0[0].clone();
    fs::write(&name, vec![b' '; (1 << 20) + 1]).unwrap();
    let large = told();
    assert_eq!(large.message, "schemas/search.xsd: the file is larger than 1048576 bytes");
    assert_eq!(large.fix.as_deref(), Some("an XSD of 1048576 bytes at most, or several"));
    fs::remove_file(&name).unwrap();
    assert_eq!(told().fix.as_deref(), Some("the path of an XSD, from this file's folder"));
}

#[test]
fn a_file_of_endless_entries_or_mistakes_is_reported_briefly() {
    let many = |entry: &str| (0..3000).map(|n| entry.replace('N', &n.to_string())).collect::<String>();
    let refused =
        load_text("endless", format!("{SMALL}limits: {{message: [{}]}}\n", many("N, "))).unwrap_err();
    let told = refused.0.iter().filter(|d| d.message == "more than 1024 entries in one list or map");
    assert_eq!(told.count(), 1, "{refused}");
    let refused = load_text("endless", format!("{SMALL}{}", many("kN: x\n"))).unwrap_err();
    assert_eq!(refused.0.len(), 201);
    assert_eq!(refused.0[200].message, "more than 200 mistakes; the rest is not listed");
}

/// A source around any text: reading it runs the same checks as loading, without a disk.
fn source_of(text: &str) -> Vec<u8> {
    let search = fs::read_to_string(Path::new(GOLDEN).join("schemas/search.xsd")).unwrap();
    let [core, envelope] =
        [config::CORE_XSD, config::ENVELOPE_XSD].map(|xsd| std::str::from_utf8(xsd).unwrap());
    let named = [("core.xsd", core), ("envelope.xsd", envelope), ("schemas/search.xsd", &search)];
    let mut fields = vec!["systole configuration v1", text];
    fields.extend(named.iter().flat_map(|(name, xsd)| [*name, *xsd]));
    fields.iter().flat_map(|field| format!("{}:{field}\n", field.len()).into_bytes()).collect()
}

proptest::proptest! {
    /// For any change to a file, the result is a composition or diagnostics with places in that file.
    #[test]
    fn no_text_breaks_the_loader(
        at in 0..FULL.len(), gone in 0..40_usize, put in "[\\[\\]{}:,&*!|>'\"#%@` \t\r\n\\-?a-z0-9\u{e9}\u{202e}]{0,6}",
    ) {
        let text = [&FULL[..at], &put, &FULL[(at + gone).min(FULL.len())..]].concat();
        if let Err(refused) = config::read_source(&source_of(&text), Path::new("/")) {
            proptest::prop_assert!(!refused.0.is_empty());
            for told in &refused.0 {
                let line = text.split('\n').nth(told.place.line.saturating_sub(1)).unwrap_or_default();
                proptest::prop_assert_eq!(line.trim_end_matches('\r'), &told.place.text, "{}", told);
                proptest::prop_assert!(told.place.text.contains(&told.place.span), "{}", told);
            }
        }
    }
}

#[test]
fn the_text_that_is_broken_above_is_whole_itself() {
    assert!(config::read_source(&source_of(FULL), Path::new("/")).is_ok());
}

/// The tables of the reference are written by the rows of the sections, and by the codes that are warnings.
#[test]
fn the_reference_has_every_key() {
    const INSIDE: &str = "goals.NAME.";
    const EXAMPLE: &str = "docs/reference/workflows.yaml";
    use crate::reference::{list_keys, list_warnings};
    let make = |part: &str| if part == "keys" { list_keys(&KEYS, "", |_| true) } else { list_warnings() };
    assert_eq!(crate::generated::parts("docs/reference/organism-file.md", make), ["keys", "warnings"]);
    let example = fs::read_to_string(EXAMPLE).unwrap();
    let make = |part: &str| match part {
        EXAMPLE => format!("```yaml\n{example}```"),
        "keys of a workflow" => list_keys(&KEYS, "workflows.NAME.", |name| !name.starts_with(INSIDE)),
        _ => list_keys(&KEYS, &format!("workflows.NAME.{INSIDE}"), |_| true),
    };
    let parts = crate::generated::parts("docs/reference/workflows.md", make);
    assert_eq!(parts, [EXAMPLE, "keys of a workflow", "keys of a step"]);
}

/// A key that the loader accepts but never reads would be ignored silently: each key must reject a value of
/// an impossible kind.
#[test]
fn no_key_is_accepted_and_ignored() {
    // A parameter of a model may have any value.
    for key in KEYS.iter().filter(|key| key.form != config::KeyForm::Anything) {
        let path = key.path.replace("NAME", "x1");
        if let Some(inside) = key.path.strip_prefix(STEP) {
            step_refuses(inside, key);
            continue;
        }
        let depth = path.split('.').count();
        // A map in place of a value, a list in place of a map.
        let is_map = KEYS.iter().any(|k| k.path.starts_with(&format!("{}.", key.path)));
        // A payload may be a value, a map or a list; a list needs a type.
        let is_payload = key.path == "payloads.NAME";
        // A section of a prompt may be any of the three; the entries of its list are texts.
        let is_section = key.path == "agents.NAME.prompt.NAME";
        let wrong = if is_payload {
            "[]"
        } else if is_section {
            "[{wrong: kind}]"
        } else if is_map {
            "[wrong]"
        } else {
            "{wrong: kind}"
        };
        let mut text = path.replace('.', ": {") + ": " + wrong + &"}".repeat(depth - 1) + "\n";
        for needed in ["organism: {name: hello}\n", "listeners: {}\n"] {
            if !text.starts_with(needed.split(':').next().unwrap()) {
                text.push_str(needed);
            }
        }
        let refused = load_text("ignored", &text).unwrap_err();
        let at_it =
            refused.0.iter().any(|d| d.code.as_str() == "config.kind" && d.message.starts_with(&path));
        assert!(at_it, "{text}{refused}");
    }
}

/// The place of a step in the table of keys.
const STEP: &str = "workflows.NAME.goals.NAME";

/// The same for a key of a step, which is in a list and next to the step's action.
fn step_refuses(inside: &str, key: &config::ConfigKey) {
    let inside = inside.replace("NAME", "x1");
    let is_map = KEYS.iter().any(|k| k.path.starts_with(&format!("{}.", key.path)));
    let wrong = if is_map { "[wrong]" } else { "{wrong: kind}" };
    let own = inside.strip_prefix('.').unwrap_or("").replace('.', ": {");
    let own = format!("{own}: {wrong}{}", "}".repeat(own.matches('{').count()));
    let step = if inside.is_empty() { wrong.to_owned() } else { format!("{{{own}{}}}", beside(&inside)) };
    let text = format!(
        "organism: {{name: hello}}\nlisteners: {{}}\nworkflows: {{x1: {{goals: [{{x1: {step}}}]}}}}\n"
    );
    let refused = load_text("ignored", &text).unwrap_err();
    let place = format!("workflows.x1.x1{inside}");
    let at_it = refused.0.iter().any(|d| d.code.as_str() == "config.kind" && d.message.starts_with(&place));
    assert!(at_it, "{text}{refused}");
}

/// What a step must contain next to a key, so that the key is checked.
fn beside(inside: &str) -> &'static str {
    match inside.trim_start_matches('.').split('.').next().unwrap() {
        "do" | "call" | "ask" | "goals" | "parallel" | "wait" => "",
        "to" | "with" => ", call: x",
        "choices" | "shows" | "expires" | "otherwise" => ", ask: x",
        "repeat" => ", goals: []",
        _ => ", do: x",
    }
}

#[test]
fn bad_files_are_reported_as_written_down() {
    let mut files: Vec<PathBuf> = fs::read_dir(GOLDEN).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "yaml"));
    files.sort();
    assert!(files.len() >= 25, "{} files", files.len());
    for path in files {
        let refused = config::load(&path).expect_err("a file in this folder has mistakes");
        let lines: Vec<usize> =
            refused.0.iter().filter(|d| d.place.file.ends_with(".yaml")).map(|d| d.place.line).collect();
        assert!(lines.is_sorted(), "{}: not in order of line: {lines:?}", path.display());
        let told = refused.to_string();
        assert!(
            told.lines().all(|line| line.chars().count() <= 80),
            "{}: wider than 80 columns",
            path.display()
        );
        assert!(refused.0.iter().all(|d| d.fix.is_some()), "{}: no repair\n{told}", path.display());
        assert!(refused.0.iter().all(|d| d.severity() == config::Severity::Error), "{told}");
        crate::golden::golden(path.with_extension("out"), &told);
    }
}

#[test]
fn h3_twelve_planted_mistakes_are_twelve() {
    let refused = config::load(&Path::new(GOLDEN).join("twelve.yaml")).unwrap_err();
    assert_eq!(refused.0.len(), 12, "{refused}");
    assert!(refused.0.iter().all(|d| d.fix.is_some()), "{refused}");
}

/// A required key that is misspelled is not also reported as missing.
#[test]
fn h3_a_misspelled_key_is_one_mistake() {
    for (right, wrong) in
        [("organism:", "organsim:"), ("name:", "nmae:"), ("run:", "rnu:"), ("accepts:", "acepts:")]
    {
        let refused = load_text("misspelled", SMALL.replace(right, wrong)).unwrap_err();
        assert_eq!(refused.0.len(), 1, "{refused}");
        assert_eq!(refused.0[0].code.as_str(), "config.unknown-key", "{refused}");
        assert_eq!(refused.0[0].fix.as_deref(), Some(right.trim_end_matches(':')), "{refused}");
    }
    // The right key next to a misspelled one, and a key that resembles no other.
    let both = load_text("both", SMALL.replace("name: hello", "name: hello, nmae: hallo")).unwrap_err();
    assert_eq!(both.0.len(), 1, "{both}");
    let other = load_text("other", SMALL.replace("name: hello", "quux: hello")).unwrap_err();
    assert_eq!(other.0.len(), 2, "{other}");
}

/// A mistake that is reported for a file today does not block the log of an organism that ran with it.
#[test]
fn a_list_parsed_into_the_value_above_is_reported_in_a_file_and_accepted_in_a_stored_source() {
    let text = SMALL.replace("{name: hello}", "\n  name: hello\n  description: one\n    - two");
    let refused = load_text("swallowed", &text).unwrap_err();
    assert_eq!((refused.0.len(), refused.0[0].place.line, refused.0[0].place.column), (1, 4, 5), "{refused}");
    assert!(config::read_source(&source_of(&text), Path::new("/")).is_ok());
}

/// A log from an older version is not limited by budgets that its file did not set.
#[test]
fn a_configuration_from_before_there_were_budgets_has_none() {
    let text = FULL.split("limits:").next().unwrap();
    let old = config::read_source(&source_of(text), Path::new("/")).unwrap();
    assert_eq!((old.budgets, old.loops), (None, None));
    let now = load_text("budgets", text).unwrap().composition;
    let again = config::read_source(&now.source, Path::new("/")).unwrap();
    assert_eq!((again.hash, again.budgets, again.loops), (now.hash, now.budgets, now.loops));
    assert!(now.budgets.is_some());
}
