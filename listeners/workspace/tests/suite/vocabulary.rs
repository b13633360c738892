//! The vocabularies are inside the profile of schemas, and declare what the workspace takes and gives.

use super::room::models;

#[test]
fn g2_the_vocabularies_are_in_the_profile() {
    let [commands, proposals, workspace] = models();
    let elements: Vec<&str> = workspace.elements().collect();
    for element in ["change-set", "undo", "apply", "change-result"] {
        assert!(elements.contains(&element), "{element} of {elements:?}");
    }
    assert_eq!((commands.elements().count(), proposals.elements().count()), (4, 6));
}
