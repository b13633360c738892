//! The vocabulary is inside the profile of schemas, and declares what the listener takes and gives.

use systole_code::CODE_XSD;
use systole_kit::schema::SchemaModel;

#[test]
fn g1_the_vocabulary_is_in_the_profile() {
    let model = SchemaModel::from_xsd(CODE_XSD).unwrap();
    let elements: Vec<&str> = model.elements().collect();
    for element in
        ["search", "extract", "query", "search-result", "extract-result", "query-result", "code-error"]
    {
        assert!(elements.contains(&element), "{element}");
    }
    assert_eq!(elements.len(), 7);
}
