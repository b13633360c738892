//! Payloads made from `name=value`: the results, and the messages when there is no result.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use systole_kit::schema::{SchemaModel, ValueSlip};

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/golden")
}

fn model(name: &str) -> SchemaModel {
    let path = golden().join("schemas").join(name).with_extension("xsd");
    SchemaModel::from_xsd(&std::fs::read(path).expect("the schema is there")).expect("it is in the profile")
}

pub(crate) fn told(slips: &[ValueSlip]) -> String {
    let mut text = String::new();
    for slip in slips {
        let at = match slip.place {
            Some((line, column)) => format!("{}, {line}:{column}", slip.path),
            None => slip.path.clone(),
        };
        for (label, words) in [
            ("at", &at),
            ("message", &slip.message),
            ("expected", &slip.expected),
            ("received", &slip.received),
            ("try", &slip.fix),
        ] {
            writeln!(text, "  {label:<8}  {}", words.replace('\n', "⏎")).expect("a string takes everything");
        }
    }
    text
}

/// Set `SYSTOLE_GOLDEN=1` to rewrite the file, and read the difference before committing it.
pub(crate) fn held(name: &str, rendered: &str) {
    crate::golden::golden(golden().join(name), rendered);
}

#[test]
fn payloads_of_fields_and_their_refusals_read_as_the_golden_table_says() {
    let table = std::fs::read_to_string(golden().join("fields.txt")).expect("the table is there");
    let mut rendered = String::new();
    for row in table.lines().filter(|line| !line.starts_with('#')) {
        let (head, arguments) = row.split_once(": ").unwrap_or((row, ""));
        let (schema, element) = head.split_once(' ').expect("a row begins with schema and element");
        let arguments: Vec<&str> = arguments.split("  ").filter(|argument| !argument.is_empty()).collect();
        let model = model(schema);
        writeln!(rendered, "{row}").expect("a string takes everything");
        match model.from_fields(element, &arguments).expect("the element is there") {
            Ok(bytes) => {
                assert_eq!(model.explain_payload(&bytes), None, "{row}");
                writeln!(rendered, "  {}", String::from_utf8(bytes).expect("it is UTF-8")).expect("text");
            }
            Err(slips) => rendered.push_str(&told(&slips)),
        }
        rendered.push('\n');
    }
    held("fields.out.txt", &rendered);
}
