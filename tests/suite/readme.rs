//! The session in the README is run, word for word: every command, in a copy of the folder it names. Only
//! times of day and stretches of time are taken out on both sides.

use std::path::Path;

use crate::session::{Shell, copy, steps, timeless};

#[test]
fn the_session_in_the_readme_is_what_one_sees() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shell = Shell::new();
    copy(&root.join("config/beat"), &shell.folder());
    let steps = steps(&std::fs::read_to_string(root.join("README.md")).unwrap());
    assert_eq!(steps.len(), 3, "the session was found");
    for step in steps {
        let said = shell.run(&step.command);
        // The ids of hashes and threads stay as they are; a run of digits is any time.
        let hexless =
            |text: &str| if step.command.contains("tree") { timeless(text) } else { text.to_owned() };
        assert_eq!(hexless(&said), hexless(&step.shown), "{}", step.command);
    }
}
