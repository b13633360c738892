//! The picture of an agent's work: a line for each call of its turns, in `tree`, and in place while `ask` waits.

use std::path::Path;

use systole_show::columns::width;

use crate::program::{Running, systole};
use crate::terminal::{Terminal, lines_that_stay};

/// The template with three agents, whose critic waits for a word before it answers.
fn team() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let written = systole(folder.path(), &["init", "--team"]);
    assert_eq!(written.code, Some(0), "{written:?}");
    let replies = folder.path().join("replies.yaml");
    let text = std::fs::read_to_string(&replies).unwrap();
    let slow = text.replacen("\ncritic:\n  - ", "\ncritic:\n  - delay: 3s\n    ", 1);
    assert_ne!(slow, text, "the critic has answers");
    std::fs::write(&replies, slow).unwrap();
    folder
}

fn lines(at: &Path, arguments: &[&str]) -> Vec<String> {
    let ran = systole(at, arguments);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn f10_the_turns_of_an_agent_are_a_line_for_each_call_that_they_sent() {
    let folder = team();
    let at = folder.path();
    assert_eq!(systole(at, &["ask", "What makes a heart beat?"]).code, Some(0));
    let drawn = lines(at, &["tree"]);
    assert!(drawn.iter().all(|line| width(line) <= 80), "{drawn:#?}");
    let wanted = [
        "  coordinator  done  ",
        "  ✗ 1 item        failed  payload.invalid: limit: 50 is more than 10",
        "  ✓ 2 search      search  ",
        "  ✓ 3 research    researcher  ",
        "    ✓ 1 search    search  ",
        "    ✓ 2 findings  \"At rest some 70 times a minute.\"",
        "  ✓ 5 review      critic  ",
        "    ✓ 1 verdict   \"Nothing is wrong with it.\"",
        "  ✓ 6 pin         board  ",
        "  ✓ 7 answer      \"It begins in the sinoatrial node",
    ];
    assert_eq!(drawn.len(), wanted.len(), "{drawn:#?}");
    for (line, wanted) in drawn.iter().zip(wanted) {
        assert!(line.contains(wanted), "no {wanted:?} in {drawn:#?}");
    }
    // Notes, todo lists and waits for threads are behind --all.
    let whole = lines(at, &["tree", "--all"]).join("\n");
    for more in ["waited for its threads", "note <"] {
        assert!(whole.contains(more) && !drawn.join("\n").contains(more), "{more}: {whole}");
    }
    let seen = systole(at, &["tree", "--json"]).json_lines().remove(0)["picture"].clone();
    assert_eq!((&seen["kind"], &seen["name"]), (&"agent".into(), &"coordinator".into()));
    let research = &seen["steps"][2];
    assert!(research["thread"].as_str().unwrap().ends_with(".pace"), "it leads to its thread: {research}");
    assert_eq!(research["steps"][1]["output"], "At rest some 70 times a minute.", "{research}");
}

#[test]
fn f10_who_asks_on_a_terminal_sees_the_picture_in_place_and_its_end_above_the_answer() {
    let folder = team();
    let mut terminal = Terminal::start(folder.path(), &["ask", "What makes a heart beat?"], &[]);
    terminal.shows("» 5 review      critic  ");
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(0), "{screen}");
    let stay = lines_that_stay(&screen);
    assert!(stay[0].contains("coordinator") && stay[0].contains("done"), "{stay:#?}");
    let last = stay.last().unwrap();
    assert!(
        last.starts_with("It begins in the sinoatrial node") && last.ends_with("on the board."),
        "{stay:#?}"
    );
    assert_eq!(stay.len(), 11, "ten lines of the picture, drawn once, and the answer: {stay:#?}");
    assert!(!stay.iter().any(|line| line.contains('»')), "{stay:#?}");

    // In a pipe nothing is drawn.
    let asked = Running::start(folder.path(), &["ask", "Shall we go?"]).end();
    assert!(asked.code == Some(0) && !asked.stderr.contains("coordinator"), "{asked:?}");
}
