//! The output of commands on terminals of several widths and in pipes: what is cut, in which time zone, in which
//! colours, through which pager. The real program on a real terminal.

use std::path::Path;

use crate::program::{Ran, Running, systole, systole_with};
use crate::terminal::{CTRL_C, Terminal};

/// A question that fits on one line of no terminal here.
const LONG: &str = "Which of the many rooms of this old house by the sea has a window that looks out on the garden, \
                    and which of them has the key to the cellar where the apples of last year are kept?";

/// An organism with one thread at rest.
fn asked(question: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let made = systole(folder.path(), &["init"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let ran = systole(folder.path(), &["ask", question]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    folder
}

/// The output of a command into a pipe.
fn piped(folder: &Path, arguments: &[&str]) -> Ran {
    systole_with(folder, arguments, &[("COLUMNS", "")])
}

#[track_caller]
fn done(ran: &Ran) -> &str {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    &ran.stdout
}

/// The output of a command on a terminal of this many columns.
#[track_caller]
fn on_terminal(columns: u16, folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let (code, screen) = Terminal::wide(columns, folder, arguments, variables).end();
    assert_eq!(code, Some(0), "{screen}");
    screen
}

#[test]
fn lines_have_the_width_of_the_terminal_and_are_whole_in_a_pipe() {
    let folder = asked(LONG);
    for command in [&["ps"][..], &["log", "@last"], &["tree"], &["why", "@last"], &["trail"]] {
        for columns in [60, 80, 160] {
            let screen = on_terminal(columns, folder.path(), command, &[("NO_COLOR", "1")]);
            let widest = screen.lines().map(|line| line.trim_end().chars().count()).max().unwrap();
            assert!(widest <= usize::from(columns), "{command:?} has {widest} of {columns}: {screen}");
            let is_cut = screen.contains('…');
            assert!(!is_cut || screen.contains(" more)"), "what is cut is counted: {screen}");
        }
        let piped = done(&piped(folder.path(), command)).to_owned();
        assert!(!piped.contains('…'), "{command:?}: {piped}");
    }
    let end = "apples of last year are kept?";
    for command in [&["ps"][..], &["log", "@last"], &["tree"]] {
        let piped = done(&piped(folder.path(), command)).to_owned();
        assert!(
            piped.lines().any(|line| line.contains("Which of the many") && line.contains(end)),
            "{piped}"
        );
    }
    let wide = on_terminal(160, folder.path(), &["ps"], &[]);
    assert!(wide.lines().any(|line| line.chars().count() > 100), "{wide}");
    let told = done(&systole_with(folder.path(), &["ps"], &[("COLUMNS", "60")])).to_owned();
    assert!(told.lines().all(|line| line.chars().count() <= 60) && told.contains(" more)"), "{told}");
}

#[test]
fn times_are_local_with_their_offset_and_data_is_in_utc() {
    let folder = asked("Who?");
    let here = [("TZ", "XYZ-05:30")];
    let of = |arguments: &[&str], variables: &[(&str, &str)]| {
        done(&systole_with(folder.path(), arguments, variables)).to_owned()
    };
    let minutes = |line: &str| -> u32 {
        let clock: Vec<u32> = line[..8].split(':').map(|part| part.parse().unwrap()).collect();
        clock[0] * 60 + clock[1]
    };
    let (local, utc) = (of(&["log", "@last"], &here), of(&["--utc", "log", "@last"], &here));
    assert!(local.lines().next().unwrap().ends_with(", times in UTC+05:30"), "{local}");
    assert!(utc.lines().next().unwrap().ends_with(", times in UTC"), "{utc}");
    let (first, same) = (local.lines().nth(1).unwrap(), utc.lines().nth(1).unwrap());
    assert_eq!((minutes(first) + 24 * 60 - minutes(same)) % (24 * 60), 330, "{first} and {same}");
    assert!(of(&["tree"], &here).lines().next().unwrap().ends_with("+05:30"));
    assert!(of(&["trail"], &here).contains(", times in UTC+05:30"));
    for line in of(&["log", "--json"], &here).lines() {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(record["time"].as_str().unwrap().ends_with('Z'), "{line}");
    }
    assert_eq!(of(&["tree", "--json"], &here), of(&["tree", "--json", "--utc"], &[]));
}

#[test]
fn the_log_is_shown_from_its_end_or_since_a_time() {
    let folder = asked("First?");
    assert_eq!(systole(folder.path(), &["ask", "Second?"]).code, Some(0));
    let lines = |arguments: &[&str]| {
        let ran = systole(folder.path(), &[&["log", "--json"], arguments].concat());
        done(&ran).lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let all = lines(&["-n", "0"]);
    assert!(all.len() > 4);
    assert_eq!(lines(&["-n", "2"]), all[all.len() - 2..]);
    assert_eq!(lines(&["-n", "100000"]), all);
    let thread = lines(&["@last"]);
    assert_eq!(lines(&["@last", "-n", "1"]), thread[thread.len() - 1..]);
    let record: serde_json::Value = serde_json::from_str(&thread[0]).unwrap();
    let opened = record["time"].as_str().unwrap();
    let since = lines(&["--since", opened]);
    assert!(since.len() < all.len() && since.contains(&thread[0]), "{since:?}");
    assert_eq!(lines(&["@last", "--since", opened]), thread);
    assert_eq!(lines(&["--since", "1h"]), all);
    assert_eq!(lines(&["--since", "1h", "-n", "1"]), all[all.len() - 1..]);
    assert_eq!(lines(&["--since", "0s"]), Vec::<String>::new());
    let wrong = systole(folder.path(), &["log", "--since", "yesterday"]);
    assert!(wrong.code == Some(2) && wrong.stderr.contains("try: --since 10m"), "{wrong:?}");
    let file = systole(folder.path(), &["log", "-f", "organism.yaml"]);
    assert!(file.code == Some(2) && file.stderr.contains("--organism"), "{file:?}");
}

#[test]
fn a_log_is_followed_from_before_the_organism_runs_until_it_is_interrupted() {
    let folder = asked("First?");
    let mut follows = Running::start(folder.path(), &["log", "-f", "-n", "1"]);
    follows.shows("times in UTC");
    let organism = Running::organism(folder.path());
    assert_eq!(systole(folder.path(), &["ask", "Second?"]).code, Some(0));
    follows.shows("<answer>");
    organism.interrupt();
    follows.shows("shutdown");
    let ran = follows.interrupt();
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let mut screen = Terminal::start(folder.path(), &["log", "-f", "@last"], &[]);
    screen.shows("<answer>");
    screen.types(CTRL_C);
    assert_eq!(screen.end().0, Some(0));
}

#[test]
fn the_file_is_found_above_and_options_stand_on_both_sides() {
    let folder = asked("Who?");
    let below = folder.path().join("some/where");
    std::fs::create_dir_all(&below).unwrap();
    let here = done(&systole(folder.path(), &["log", "--json"])).to_owned();
    let at = |place: &Path, arguments: &[&str]| done(&systole(place, arguments)).to_owned();
    assert_eq!(at(&below, &["log", "--json"]), here);
    assert_eq!(at(&below, &["--json", "log"]), here);
    let elsewhere = tempfile::tempdir().unwrap();
    let there = folder.path().to_str().unwrap();
    assert_eq!(at(elsewhere.path(), &["-C", there, "log", "--json"]), here);
    assert_eq!(at(elsewhere.path(), &["log", "-C", there, "--json"]), here);
    let file = format!("{there}/organism.yaml");
    assert_eq!(at(elsewhere.path(), &["-f", &file, "--json", "log"]), here);
    assert_eq!(at(elsewhere.path(), &["log", "--organism", &file, "--json"]), here);
    let none = systole(elsewhere.path(), &["check"]);
    assert!(none.code == Some(3) && none.stdout.contains("there is no such file"), "{none:?}");
    let gone = systole(elsewhere.path(), &["-C", "gone", "ps"]);
    assert!(
        gone.code == Some(2)
            && gone.stderr.contains("-C gone: there is no such file")
            && gone.stderr.contains("try: -C with"),
        "{gone:?}"
    );
}

#[test]
fn colour_is_for_terminals_and_never_a_payloads() {
    let folder = asked("a\u{9b}31mred\u{202e}?");
    let reads: [&[&str]; 5] = [&["ps"], &["tree"], &["log"], &["why", "@last"], &["doctor"]];
    for command in reads {
        let plain = done(&systole(folder.path(), command)).to_owned();
        assert!(!plain.contains('\u{1b}'), "{command:?}: {plain:?}");
        let forced = systole_with(folder.path(), command, &[("CLICOLOR_FORCE", "1")]);
        let forced = done(&forced).to_owned();
        assert!(!forced.contains(['\u{9b}', '\u{202e}']), "{command:?}: {forced:?}");
        let colours: Vec<&str> = forced.split("\u{1b}[").skip(1).collect();
        let ours = ["0m", "1m", "31m", "32m", "35m"];
        assert!(colours.iter().all(|it| ours.iter().any(|our| it.starts_with(our))), "{forced:?}");
        assert_eq!(command == ["why", "@last"], colours.is_empty(), "{command:?}: {forced:?}");
        let both = [("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")];
        assert!(!done(&systole_with(folder.path(), command, &both)).contains('\u{1b}'));
    }
    assert!(on_terminal(80, folder.path(), &["ps"], &[]).contains("\u{1b}[32manswered\u{1b}[0m"));
    for variable in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        assert!(!on_terminal(80, folder.path(), &["ps"], &[variable]).contains('\u{1b}'), "{variable:?}");
    }
    let refused = systole_with(folder.path(), &["tree", "sess-00000000"], &[("CLICOLOR_FORCE", "1")]);
    assert!(refused.stderr.starts_with("\u{1b}[31merror:\u{1b}[0m "), "{refused:?}");
}

#[test]
fn long_output_goes_through_the_pager_on_a_terminal_alone() {
    let folder = asked("Who?");
    let pager = [("PAGER", "sed s/^/paged:/"), ("NO_COLOR", "1")];
    for command in [&["log"][..], &["tree"], &["ps"], &["trail"], &["explain"]] {
        let screen = on_terminal(80, folder.path(), command, &pager);
        assert!(screen.lines().all(|line| line.starts_with("paged:")), "{command:?}: {screen}");
        assert!(!done(&systole_with(folder.path(), command, &pager)).contains("paged:"));
        for without in [&["--no-pager"][..], &["--json"]] {
            let screen = on_terminal(80, folder.path(), &[command, without].concat(), &pager);
            assert!(!screen.contains("paged:") && !screen.is_empty(), "{command:?}: {screen}");
        }
    }
    let none = on_terminal(80, folder.path(), &["tree"], &[("PAGER", "no-such-pager -x")]);
    assert!(none.contains("answered") && !none.contains("not found"), "{none}");
    // Leaving a pager early ends the output, without an error.
    on_terminal(80, folder.path(), &["log"], &[("PAGER", "head -n 1")]);
}

#[test]
fn a_list_of_all_threads_and_the_note_only_where_it_matters() {
    let folder = asked("Who?");
    for _ in 0..2 {
        assert_eq!(systole(folder.path(), &["ask", "And who?"]).code, Some(0));
    }
    let count = |arguments: &[&str]| done(&systole(folder.path(), arguments)).lines().count();
    assert_eq!((count(&["ps", "-n", "0"]), count(&["ps", "-n", "1"]), count(&["ps"])), (3, 1, 3));
    for command in [&["ps"][..], &["tree"], &["why"], &["log"]] {
        let ran = systole(folder.path(), command);
        assert!(!ran.stderr.contains("no organism runs"), "all threads rest: {ran:?}");
    }
    let sent = systole(folder.path(), &["send", "ask", "Wait", "--no-wait"]);
    assert_eq!(sent.code, Some(0), "{sent:?}");
    let ps = systole(folder.path(), &["ps"]);
    let is_open = ["  working  ", "  waiting  "].iter().any(|state| ps.stdout.contains(state));
    assert_eq!(ps.stderr.contains("no organism runs"), is_open, "{ps:?}");
}

#[test]
fn a_word_that_is_no_command_leads_to_one() {
    let folder = tempfile::tempdir().unwrap();
    for (typed, wanted) in [
        ("stauts", "try: systole ps"),
        ("version", "try: systole --version"),
        ("logs", "try: systole log"),
        ("xyzzyplugh", "try: systole --help"),
        ("\u{9b}31m", "try: systole --help"),
    ] {
        let ran = systole(folder.path(), &[typed]);
        assert!(ran.code == Some(2) && ran.stderr.contains(wanted), "{ran:?}");
        assert!(!ran.stderr.contains('\u{9b}'), "{ran:?}");
    }
}

#[test]
fn shells_complete_ids_that_the_log_has() {
    let folder = asked("Who?");
    let words = |sort: &str| done(&systole(folder.path(), &["complete-words", sort])).to_owned();
    let thread = words("threads").lines().nth(1).unwrap().to_owned();
    assert!(words("threads").starts_with("@last\nsess-"));
    assert_eq!(words("approvals"), "");
    assert!(words("codes").contains("payload.invalid\n"));
    let script = systole(folder.path(), &["completions", "bash"]);
    std::fs::write(folder.path().join("bash"), done(&script)).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_systole")).parent().unwrap().display().to_string();
    let complete = |words: &str, at: usize| {
        let script = format!(
            "PATH={program}:$PATH; source ./bash; COMP_WORDS=({words}); COMP_CWORD={at}; _systole_with_ids; \
             echo \"${{COMPREPLY[@]}}\""
        );
        let mut bash = std::process::Command::new("bash");
        let bash = bash.args(["--norc", "-c", &script]).current_dir(folder.path()).output().unwrap();
        assert!(bash.stderr.is_empty(), "{}", String::from_utf8_lossy(&bash.stderr));
        String::from_utf8(bash.stdout).unwrap().trim_end().to_owned()
    };
    assert_eq!(complete("systole tree sess-", 2), thread);
    assert_eq!(complete("systole ask --thread sess-", 3), thread);
    assert_eq!(complete("systole explain payload.inv", 2), "payload.invalid");
    assert_eq!(complete("systole gra", 1), "graph");
    assert!(complete("systole tree --j", 2).contains("--json"));
}
