//! The session in the README is run, word for word: every command, in a copy of the folder it names. Only
//! times of day and stretches of time are taken out on both sides.

use std::path::Path;

use crate::session::{Shell, copy, steps, untimed};

#[test]
fn the_session_in_the_readme_is_what_one_sees() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shell = Shell::new();
    copy(&root.join("config/team"), &shell.folder());
    let steps = steps(&std::fs::read_to_string(root.join("README.md")).unwrap());
    assert_eq!(steps.len(), 2, "the session was found");
    for step in steps {
        let said = shell.run(&step.command);
        assert_eq!(untimed(&said), untimed(&step.shown), "{}", step.command);
    }
}
