//! Our model of the schema profile: the words of refusals, what is refused of schemas, examples.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use systole_kit::schema::{Finding, Model};

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/golden")
}

fn model(name: &str) -> Model {
    let path = golden().join("schemas").join(name).with_extension("xsd");
    let xsd = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    Model::read(&xsd).unwrap_or_else(|unfit| panic!("{name}: {unfit:?}"))
}

fn wrong_payloads() -> Vec<(String, String)> {
    let table = std::fs::read_to_string(golden().join("payloads.txt")).expect("the table is there");
    let rows = table.lines().filter(|line| !line.starts_with('#'));
    let row = |line: &str| {
        let (schema, payload) = line.split_once(": ").expect("a row is `schema: payload`");
        (schema.to_owned(), payload.replace('⏎', "\n"))
    };
    rows.map(row).collect()
}

fn render(schema: &str, payload: &str, finding: Option<&Finding>) -> String {
    let mut text = String::new();
    writeln!(text, "{schema}: {}", payload.replace('\n', "⏎")).expect("a string takes everything");
    let Some(f) = finding else { return text + "  (no words)\n\n" };
    let place = format!("{} byte {}, {}:{}, in {}", f.path, f.offset, f.line, f.column, f.element);
    for (label, words) in [
        ("at", &place),
        ("message", &f.message),
        ("expected", &f.expected),
        ("received", &f.received),
        ("schema", &f.schema),
        ("try", &f.fix),
    ] {
        writeln!(text, "  {label:<8}  {}", words.replace('\n', "⏎")).expect("a string takes everything");
    }
    text + "\n"
}

/// Set `SYSTOLE_GOLDEN=write` to write the file anew, and read the difference before committing it.
#[test]
fn refusals_read_as_the_golden_table_says() {
    let mut rendered = String::new();
    for (schema, payload) in wrong_payloads() {
        let finding = model(&schema).explain(payload.as_bytes());
        rendered.push_str(&render(&schema, &payload, finding.as_ref()));
    }
    let path = golden().join("refusals.txt");
    if std::env::var("SYSTOLE_GOLDEN").is_ok_and(|v| v == "write") {
        std::fs::write(&path, &rendered).expect("the golden file can be written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = kept.lines().zip(rendered.lines()).find(|(kept, new)| kept != new);
    assert!(kept == rendered, "the words changed, first here: {differs:?}");
}
