//! The example of the reference page is valid.

use systole_mock_model::MockScript;

const PAGE: &str = include_str!("../../../../docs/reference/mock-model.md");

#[test]
fn the_example_is_a_script() {
    let (_, example) = PAGE.split_once("```yaml\n").unwrap();
    let example = example.split_once("```").unwrap().0;
    MockScript::parse(example).unwrap();
    assert_eq!(example.lines().count(), 5);
}
