//! Commands: how they run and end, what sessions keep, and what is reported.

use std::sync::atomic::Ordering;

use super::room::{Room, change_set};

impl Room {
    /// Runs one command; how it went, how it ended, and its output.
    fn shell(&self, command: &str) -> (String, String, String) {
        let command = command.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let said = self.set(&format!("<c:shell>{command}</c:shell>"));
        let (_, outcome, exit, text) = said.results().remove(0);
        (outcome, exit, text)
    }

    fn in_session(&self, id: &str, command: &str) -> String {
        let command = command.replace('&', "&amp;").replace('>', "&gt;");
        let said = self.set(&format!("<c:shell id=\"{id}\">{command}</c:shell>"));
        said.results().remove(0).3
    }
}

fn row(outcome: &str, exit: &str, text: &str) -> (String, String, String) {
    (outcome.to_owned(), exit.to_owned(), text.to_owned())
}

#[test]
fn g2_a_command_runs_in_its_folder_with_nothing_to_read() {
    let room = Room::new(&[("sub/a.txt", "a\n")]);
    assert_eq!(room.shell("echo out; echo err >&2"), row("done", "0", "out\nerr\n"));
    assert_eq!(room.shell("read x; echo \"got $x\"; exit 3"), row("failed", "3", "got \n"));
    assert_eq!(room.shell("kill -9 $$").1, "signal 9");
    assert_eq!(room.shell("cat"), row("done", "0", ""));
    let said = room.done("<c:shell exec_dir=\"./sub/\">pwd; ls</c:shell>");
    assert!(said.results()[0].3.ends_with("root/sub\na.txt\n"), "{}", said.text());
    let prompt = room.shell("printf 'Continue? [y/N]'; read x");
    assert!(prompt.2.contains("a command has none"), "{prompt:?}");
    assert_eq!(room.shell("nosuchprogram").1, "127");
}

#[test]
fn g2_commands_come_after_edits_and_the_first_failure_stops_the_rest() {
    let room = Room::new(&[]);
    let said = room.set(
        "<c:shell exec_dir=\"new\">cat a.txt</c:shell><c:create_file path=\"new/a.txt\">hello</c:create_file>\
         <c:shell>false</c:shell><c:shell>touch never</c:shell>",
    );
    assert_eq!(said.outcome(), "failed");
    let rows: Vec<_> = said.results().into_iter().map(|(_, outcome, _, _)| outcome).collect();
    assert_eq!(rows, ["done", "done", "failed", "not-run"]);
    assert_eq!(said.results()[0].3, "hello\n");
    assert_eq!(room.files(), ["new/a.txt"], "the edit stands, and the last command was not run");
}

#[test]
fn g2_output_is_bounded_and_has_no_tricks() {
    let room = Room::new(&[]);
    let (outcome, _, text) = room.shell("seq 1 100000");
    assert!(outcome == "done" && text.starts_with("1\n2\n") && text.ends_with("99999\n100000\n"));
    assert!(text.contains(" bytes left out]") && text.len() < 40_000);
    assert_eq!(room.shell("printf '\\033[31mred\\033[0m\\r10%%\\r100%%\\n\\001'").2, "100%\n\\u{1}");
    assert_eq!(room.shell("printf '\\377\\n'").2, "\u{fffd}\n");
}

#[test]
fn g2_a_command_that_takes_too_long_ends_with_its_group() {
    let room = Room::limited(300);
    let (outcome, exit, text) = room.shell("echo begun; sleep 1000 & echo $!; sleep 1000; echo never");
    assert_eq!((outcome.as_str(), exit.as_str()), ("failed", "time limit"));
    assert!(
        text.starts_with("begun\n") && !text.contains("never") && text.contains("time limit was over"),
        "{text}"
    );
    let child: String = text.lines().nth(1).unwrap().to_owned();
    let state = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
    assert!(state.is_empty() || state.contains(" Z "), "a process in the background goes on: {state}");
}

#[test]
fn g2_a_background_process_does_not_hold_the_answer() {
    let room = Room::new(&[]);
    assert_eq!(room.shell("sleep 1000 & echo first"), row("done", "0", "first\n"));
    assert_eq!(room.shell("exec >&- 2>&-; sleep 0.05"), row("done", "0", ""), "its output is closed early");
}

#[test]
fn g2_a_cancel_ends_the_command_and_stops_the_rest() {
    let room = Room::new(&[]);
    let call = room.call();
    let order = room.ask(
        &call,
        change_set("<c:shell>touch begun; while true; do :; done</c:shell><c:shell>touch never</c:shell>"),
    );
    let asked = room.delivered(super::room::NAME, "x", 1, order.payload);
    let said = std::thread::scope(|scope| {
        let (workspace, is_cancelled) = (&room.workspace, &room.is_cancelled);
        let work = scope.spawn(move || workspace.answer_delivery(&asked, is_cancelled, &|_| {}));
        let begun = room.path("begun");
        while !begun.exists() && !work.is_finished() {
            std::thread::yield_now();
        }
        room.is_cancelled.store(true, Ordering::Relaxed);
        work.join().unwrap()
    });
    let said = format!("{said:?}");
    assert!(said.contains("change-result"), "{said}");
    assert_eq!(room.files(), ["begun"]);
    room.is_cancelled.store(false, Ordering::Relaxed);
    let known = room.answer(
        &call,
        super::room::payload(
            "<system-error xmlns=\"https://xml-pipeline.org/ns/core/v1\" code=\"x\" message=\"lost\"/>",
        ),
    );
    assert_eq!(
        (known.outcome(), known.results()[0].2.clone()),
        ("failed".to_owned(), "cancelled".to_owned())
    );
    room.cancel();
    let order = room.ask("later", change_set("<c:shell>touch never</c:shell>"));
    assert_eq!(room.apply("later", &order).outcome(), "failed");
    assert_eq!(room.files(), ["begun"]);
}

#[test]
fn g2_all_commands_of_a_set_share_its_time() {
    // Each command alone is well within it.
    let room = Room::limited(6_000);
    let said = room.set("<c:shell>echo one; sleep 2</c:shell><c:shell>echo two; sleep 5</c:shell>");
    let results = said.results();
    assert_eq!((results[0].1.as_str(), results[0].3.as_str()), ("done", "one\n"), "{}", said.text());
    assert_eq!(results[1].2, "time limit", "{}", said.text());
    assert!(results[1].3.starts_with("two\n"), "its output is not lost: {}", said.text());
}

#[test]
fn g2_a_session_keeps_its_folder_and_its_variables() {
    let room = Room::new(&[("sub/deep/a.txt", "a\n")]);
    room.in_session("one", "cd sub; export WORD='two words'; plain=1; f() { :; }; set -- x");
    assert!(room.in_session("one", "pwd").ends_with("root/sub\n"));
    let said = room.in_session("one", "echo \"$WORD-$plain-$#\"; type f 2>/dev/null || cd deep; exit 4");
    assert_eq!(said, "two words--0\n");
    assert!(room.in_session("one", "pwd").ends_with("root/sub/deep\n"), "also after an exit");
    assert_eq!(room.in_session("two", "echo \"-$WORD\""), "-\n", "another session");
    let room = room.reopened();
    let order =
        room.ask("r1", change_set("<c:shell id=\"one\">pwd</c:shell><c:shell id=\"one\">pwd</c:shell>"));
    assert_eq!(order.each("command", "folder"), ["sub/deep", "(where the session is)"]);
    let said = room.apply("r1", &order);
    assert!(said.results()[1].3.ends_with("sub/deep\n"), "{}", said.text());
    room.in_session("one", "cd /");
    assert!(room.in_session("one", "pwd").ends_with("root\n"), "a folder outside is not kept");
    room.in_session("one", "rm -r ../sub sub; true");
}

#[test]
fn g2_a_session_with_variables_makes_a_listed_command_ask() {
    let room = Room::new(&[]);
    let asks = |id: &str| {
        room.ask(&room.call(), change_set(&format!("<c:shell id=\"{id}\">echo a</c:shell>"))).is_dangerous()
    };
    room.in_session("s", "cd .");
    assert!(!asks("s"), "a folder alone changes no word");
    let early = room.ask("early", change_set("<c:shell id=\"s\">echo a</c:shell>"));
    room.in_session("s", "export PATH=.:$PATH");
    assert!(asks("s") && !asks("other"));
    let said = room.apply("early", &early);
    assert_eq!(said.outcome(), "refused", "{}", said.text());
    assert!(said.reason().contains("needs an approval now"), "{}", said.reason());
}

#[test]
fn g2_an_order_shows_what_its_session_keeps_and_runs_with_nothing_else() {
    let room = Room::new(&[]);
    room.in_session("s", "export PATH=/evil:$PATH TRICK=$'two\\nlines'");
    let order = room.ask("shown", change_set("<c:shell id=\"s\">printf '%s' \"$TRICK\"</c:shell>"));
    let shown = order.each("command", "variables").remove(0);
    assert!(
        shown.starts_with("export PATH=/evil:") && shown.ends_with("export TRICK=$'two\\nlines'\n"),
        "{shown}"
    );
    assert_eq!(room.apply("shown", &order).results()[0].3, "two\nlines");
    // What the session keeps by now was not shown, and nothing runs, not even the edit.
    let set = "<c:create_file path=\"a\">x</c:create_file><c:shell id=\"s\">touch ran</c:shell>";
    let early = room.ask("early", change_set(set));
    room.in_session("s", "export TRICK=other");
    let said = room.apply("early", &early);
    assert_eq!((said.outcome(), room.files()), ("refused".to_owned(), Vec::new()), "{}", said.text());
    assert!(said.reason().contains("keeps other variables"), "{}", said.reason());
    // A command writes the folder of its session. What is no text, or too long, is not believed.
    for (number, writes) in ["printf '\\377'", "head -c 9000 /dev/zero | tr '\\0' x"].into_iter().enumerate()
    {
        let id = format!("w{number}");
        room.in_session(&id, &format!("trap - EXIT; {writes} >\"$__systole_s/variables\""));
        let said =
            room.ask(&format!("bad{number}"), change_set(&format!("<c:shell id=\"{id}\">true</c:shell>")));
        assert_eq!(said.results()[0].1, "refused", "{}", said.text());
        assert!(said.text().contains("workspace.bad-session"), "{}", said.text());
    }
}

#[test]
fn g2_the_files_that_a_command_changed_are_listed() {
    let room = Room::new(&[
        (".gitignore", "*.tmp\n"),
        ("a.txt", "a\n"),
        ("b.txt", "b\n"),
        ("c.txt", "c\n"),
        (".git/config", "[core]\n"),
    ]);
    let command = "echo x >a.txt; rm b.txt; touch c.txt; echo n >n.txt; echo t >t.tmp; mkdir -p target .hid; echo o >target/o; echo h >.hid/h; echo k >id_rsa";
    let said = room.done(&format!("<c:shell>{}</c:shell>", command.replace('>', "&gt;")));
    assert_eq!(said.changed(), [".hid/h", "a.txt", "b.txt", "n.txt"]);
    let [before, after] = ["before", "after"].map(|name| said.each("changed", name));
    assert_eq!((before[1].len(), after[1].len(), before[2].len(), after[2].len()), (64, 64, 64, 0));
    assert_eq!(said.results()[0].3, "");
    let hooked =
        room.done("<c:shell>mkdir -p .git/hooks; echo x | tee .git/hooks/pre-commit .git/config</c:shell>");
    assert!(
        hooked.results()[0].3.contains("[the command changed .git/config, .git/hooks/pre-commit]"),
        "{}",
        hooked.text()
    );
    let executable = room.done("<c:shell>chmod +x .git/hooks/pre-commit</c:shell>");
    assert!(executable.results()[0].3.contains(".git/hooks/pre-commit"), "{}", executable.text());
}

#[test]
fn g2_a_folder_that_is_none_is_refused() {
    let room = Room::new(&[("a.txt", "a\n"), (".git/x", ""), ("private/x", "")]);
    std::os::unix::fs::symlink("private", room.path("public")).unwrap();
    for (folder, code) in [
        ("a.txt", "workspace.bad-folder"),
        ("none", "workspace.bad-folder"),
        ("..", "workspace.outside-root"),
        ("/", "workspace.outside-root"),
        (".git", "workspace.denied"),
        ("public", "workspace.denied"),
    ] {
        room.refused(&format!("<c:shell exec_dir=\"{folder}\">pwd</c:shell>"), code);
    }
    let order = room.ask(
        "1",
        change_set("<c:create_file path=\"d/x\">x</c:create_file><c:shell exec_dir=\"d\">pwd</c:shell>"),
    );
    std::fs::create_dir(room.path("real")).unwrap();
    std::os::unix::fs::symlink("real", room.path("d")).unwrap();
    let said = room.apply("1", &order);
    assert_eq!(said.outcome(), "refused", "{}", said.text());
}
