//! Runs the guides whose sessions need no broker word for word: every command, in order, in a real shell that begins in
//! an empty folder. `SYSTOLE_GOLDEN=1` writes the shown output again; review the page like code then.

use std::path::Path;

use crate::session::{Shell, rewritten, steps, untimed};

#[test]
fn h2_the_first_hour_is_what_one_sees() {
    is_what_one_sees("docs/start.md", 20);
}

#[test]
fn f2_the_page_of_workflows_is_what_one_sees() {
    is_what_one_sees("docs/workflows.md", 10);
}

#[test]
fn g2_the_page_of_coding_is_what_one_sees() {
    is_what_one_sees("docs/coding.md", 10);
}

#[test]
fn h8_the_page_of_composing_is_what_one_sees() {
    is_what_one_sees("docs/composing.md", 4);
}

#[test]
fn h8_the_page_of_people_is_what_one_sees() {
    is_what_one_sees("docs/people.md", 8);
}

#[test]
fn h8_the_page_of_auditing_is_what_one_sees() {
    is_what_one_sees("docs/auditing.md", 30);
}

#[test]
fn h8_the_page_of_securing_is_what_one_sees() {
    is_what_one_sees("docs/securing.md", 7);
}

#[test]
fn g7_the_page_of_listeners_in_python_is_what_one_sees() {
    is_what_one_sees("docs/listeners-in-python.md", 6);
}

fn is_what_one_sees(page: &str, least: usize) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
    let text = std::fs::read_to_string(&page).unwrap();
    let shell = Shell::new();
    let (mut ran, mut differs) = (Vec::new(), String::new());
    for step in steps(&text) {
        // The path of the folder is different on each machine.
        let said = shell.run(&step.command).replace(shell.folder().to_str().unwrap(), "…");
        if untimed(&said) != untimed(&step.shown) {
            differs.push_str(&format!("$ {}\n{said}--- but the page shows\n{}\n", step.command, step.shown));
        }
        ran.push(said);
    }
    assert!(ran.len() > least, "the session was found");
    if crate::golden::is_rewritten() {
        // If only times differ, the page keeps the old ones, so that it does not change from run to run.
        if !differs.is_empty() {
            std::fs::write(&page, rewritten(&text, &ran)).unwrap();
        }
        return;
    }
    assert!(differs.is_empty(), "{differs}");
}
