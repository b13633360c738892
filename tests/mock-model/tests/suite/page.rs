//! The reference page compared with the sources: a row for each key of a script, and a valid example.

use std::collections::BTreeSet;

use systole_mock_model::{KEYS, MockScript};

const PAGE: &str = include_str!("../../../../docs/reference/mock-model.md");

#[test]
fn every_key_of_a_script_has_a_row_and_every_row_a_key() {
    let (_, table) = PAGE.split_once("| key | what it is |\n|---|---|\n").unwrap();
    let rows = table.lines().map_while(|row| row.strip_prefix("| `"));
    let told: Vec<&str> = rows.map(|row| row.split_once('`').unwrap().0).collect();
    let (of_page, of_sources) = (BTreeSet::from_iter(&told), BTreeSet::from_iter(KEYS));
    assert_eq!(of_page, of_sources);
    assert_eq!(told.len(), KEYS.len(), "a key has two rows");
}

#[test]
fn the_example_is_a_script() {
    let (_, example) = PAGE.split_once("```yaml\n").unwrap();
    let example = example.split_once("```").unwrap().0;
    MockScript::parse(example).unwrap();
    assert_eq!(example.lines().count(), 5);
}
