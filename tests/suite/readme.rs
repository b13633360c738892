//! Runs the session in the README, word for word: every command, in a copy of the folder it names. Only times of day
//! and durations are removed on both sides.

use std::path::Path;

use crate::session::{Shell, copy, steps, untimed};

fn page() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap()
}

/// What a newcomer sees without scrolling: what Systole is, how to get it, what it does, how it compares, and who
/// should not use it. Everything else comes below.
#[test]
fn the_first_screen_has_forty_lines_and_everything_that_a_newcomer_looks_for() {
    let page = page();
    let screen = page.split("\n## ").next().unwrap();
    assert!(screen.trim_end().lines().count() <= 40, "{} lines", screen.trim_end().lines().count());
    for part in [
        " on Linux ",
        "](docs/demo.svg)",
        "[Install](docs/install.md)",
        "\nmake demo ",
        "\nmake install ",
        "\nsystole init ",
        "\nsystole ask ",
        "\n**A refusal teaches.**",
        "    try: ",
        "\n| | LangGraph, CrewAI | Temporal | Restate | Systole |\n",
        "\n**Not for you if** ",
    ] {
        assert!(screen.contains(part), "{part} is not on the first screen");
    }
}

#[test]
fn the_session_in_the_readme_is_what_one_sees() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shell = Shell::new();
    copy(&root.join("config/team"), &shell.folder());
    let steps = steps(&page());
    assert_eq!(steps.len(), 1, "the session was found");
    shell.run("systole ask 'What makes a heart beat?'");
    for step in steps {
        let said = shell.run(&step.command);
        assert_eq!(untimed(&said), untimed(&step.shown), "{}", step.command);
    }
}
