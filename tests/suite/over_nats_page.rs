//! Runs `docs/over-nats.md` word for word: every command of it, in order, with each long-running one in its own
//! terminal. `SYSTOLE_GOLDEN=1` writes the shown output again; review the page like code then.

use std::path::Path;

use crate::broker::{path, python};
use crate::session::{Shell, steps};
use crate::terminals::Terminals;

#[test]
fn d2_three_commands_from_a_program_to_the_same_listener_over_nats() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/over-nats.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let mut shell = Shell::new().with("PATH", path().split(':').next().unwrap());
    shell = shell.with("SYSTOLE", env!("CARGO_MANIFEST_DIR"));
    for (name, value) in python().get_envs() {
        shell = shell.with(name.to_str().unwrap(), value.unwrap().to_str().unwrap());
    }
    let mut terminals = Terminals::new(shell);
    for step in steps(&text) {
        match ["systole run", "python3 "].iter().any(|begin| step.command.starts_with(begin)) {
            true => terminals.leave(&step),
            false => terminals.run(&step),
        }
    }
    terminals.judge(&page, &text, (15, 4));
}
