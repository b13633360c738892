//! `docs/over-nats.md` is run word for word: every command of it, in order, those that stay each in a terminal of its own.
//! `SYSTOLE_GOLDEN=1` writes what is shown again; the page is then read like code.

use std::path::Path;
use std::sync::mpsc::Receiver;

use crate::broker::{path, python};
use crate::over_nats::Ends;
use crate::program::{PATIENCE, lines};
use crate::session::{Shell, rewritten, steps, untimed};

/// A text without its times, and without the numbers that a machine gives away: ports, and the process.
fn unnumbered(text: &str) -> String {
    let mut parts = untimed(text).split("127.0.0.1:").map(str::to_owned).collect::<Vec<_>>();
    for port in parts.iter_mut().skip(1) {
        *port = ["PORT", port.trim_start_matches(|c: char| c.is_ascii_digit())].concat();
    }
    let text = parts.concat();
    let lines = text.lines().map(|line| match line.split_once(" runs as process ") {
        Some((name, _)) => [name, " runs as a process\n"].concat(),
        None => [line, "\n"].concat(),
    });
    lines.collect()
}

/// As many lines as the page shows, from a command that goes on.
fn first_lines(said: &Receiver<String>, shown: &str) -> String {
    shown.lines().map(|_| said.recv_timeout(PATIENCE).expect("it says less than the page shows")).collect()
}

#[test]
fn d2_three_commands_from_a_program_to_the_same_listener_over_nats() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/over-nats.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let mut shell = Shell::new().with("PATH", path().split(':').next().unwrap());
    shell = shell.with("SYSTOLE", env!("CARGO_MANIFEST_DIR"));
    for (name, value) in python().get_envs() {
        shell = shell.with(name.to_str().unwrap(), value.unwrap().to_str().unwrap());
    }
    let (mut ran, mut differs, mut stays) = (Vec::new(), String::new(), Vec::new());
    for step in steps(&text) {
        let is_left = ["systole run", "python3 "].iter().any(|begin| step.command.starts_with(begin));
        let said = if is_left {
            let mut child = shell.leave(&step.command);
            let said = lines(child.stdout.take().unwrap());
            let first = first_lines(&said, &step.shown);
            // Whoever lets go of what it says would end it.
            stays.push((Ends(child), said));
            first
        } else {
            shell.run(&step.command)
        };
        // Where the folder lies is of this machine alone.
        let said = said.replace(shell.folder().to_str().unwrap(), "…");
        if unnumbered(&said) != unnumbered(&step.shown) {
            differs.push_str(
                &["$ ", &step.command, "\n", &said, "--- but the page shows\n", &step.shown, "\n"].concat(),
            );
        }
        ran.push(said);
    }
    assert_eq!((ran.len(), stays.len()), (10, 2), "the session was found");
    if std::env::var_os("SYSTOLE_GOLDEN").is_some() {
        if !differs.is_empty() {
            std::fs::write(&page, rewritten(&text, &ran)).unwrap();
        }
        return;
    }
    assert!(differs.is_empty(), "{differs}");
}
