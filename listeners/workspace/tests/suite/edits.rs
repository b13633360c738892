//! Every spelling of an edit, what it leaves alone, and how it is refused.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::room::Room;

#[test]
fn g2_every_spelling_changes_its_file() {
    let room =
        Room::new(&[("src/a.rs", "fn a() {}\nfn b() {}\n"), ("gone.txt", "x\n"), ("old.txt", "1\n2\n")]);
    room.done("<c:str_replace path=\"src/a.rs\"><c:old_str>fn a()</c:old_str><c:new_str>fn one()</c:new_str></c:str_replace>");
    assert_eq!(room.read("src/a.rs"), "fn one() {}\nfn b() {}\n");
    room.done("<c:create_file path=\"deep/er/new.txt\">\nhello\n</c:create_file>");
    assert_eq!(room.read("deep/er/new.txt"), "hello\n");
    room.done("<p:proposed_file_replace_substring file_path=\"src/a.rs\" change_summary=\"x\"><p:old_str>\nfn b() {}\n</p:old_str><p:new_str>\nfn two() {}\n</p:new_str></p:proposed_file_replace_substring>");
    room.done("<p:proposed_file_insert file_path=\"src/a.rs\" line_number=\"2\">\n// between\n</p:proposed_file_insert>");
    room.done(
        "<p:proposed_file_insert file_path=\"src/a.rs\" line_number=\"4\">// last</p:proposed_file_insert>",
    );
    assert_eq!(room.read("src/a.rs"), "fn one() {}\n// between\nfn two() {}\n// last\n");
    room.done("<p:proposed_file_replace file_path=\"src/a.rs\">\nall new\n</p:proposed_file_replace>");
    assert_eq!(room.read("src/a.rs"), "all new\n");
    room.done("<p:proposed_file_replace file_path=\"src/b.rs\">one</p:proposed_file_replace>");
    assert_eq!(room.read("src/b.rs"), "one\n");
    room.done(
        "<c:patch>\n*** Begin Patch\n*** Update File: old.txt\n*** Move to: moved/new.txt\n@@\n 1\n-2\n+zwei\n*** Add File: added.txt\n+added\n*** Delete File: gone.txt\n*** End Patch\n</c:patch>",
    );
    assert_eq!(
        (room.read("moved/new.txt"), room.read("added.txt")),
        ("1\nzwei\n".to_owned(), "added\n".to_owned())
    );
    assert!(!room.path("gone.txt").exists() && !room.path("old.txt").exists());
    room.done("<c:patch>\nadded.txt\n&lt;&lt;&lt;&lt;&lt;&lt;&lt; SEARCH\nadded\n=======\nreplaced\n&gt;&gt;&gt;&gt;&gt;&gt;&gt; REPLACE\n</c:patch>");
    assert_eq!(room.read("added.txt"), "replaced\n");
    assert_eq!(room.files(), ["added.txt", "deep/er/new.txt", "moved/new.txt", "src/a.rs", "src/b.rs"]);
}

#[test]
fn g2_a_single_element_is_a_change_set_of_one() {
    let room = Room::new(&[("a.txt", "a\n")]);
    let xml = "<str_replace xmlns=\"https://xml-pipeline.org/ns/commands/v1\" path=\"./a.txt\"><old_str>a</old_str><new_str>b</new_str></str_replace>";
    let said = room.change(super::room::payload(xml));
    assert_eq!((said.outcome(), said.results()[0].0.clone()), ("done".to_owned(), "str_replace".to_owned()));
    assert_eq!(room.read("a.txt"), "b\n");
}

#[test]
fn g2_several_edits_of_one_file_follow_one_another() {
    let room = Room::new(&[("a.txt", "one\ntwo\n")]);
    let said = room.done(
        "<c:str_replace path=\"a.txt\"><c:old_str>one</c:old_str><c:new_str>two</c:new_str></c:str_replace>\
         <c:str_replace path=\"./a.txt\"><c:old_str>two\ntwo</c:old_str><c:new_str>three</c:new_str></c:str_replace>\
         <c:create_file path=\"b\">x</c:create_file>\
         <c:str_replace path=\"b\"><c:old_str>x</c:old_str><c:new_str>y</c:new_str></c:str_replace>",
    );
    assert_eq!((room.read("a.txt"), room.read("b")), ("three\n".to_owned(), "y\n".to_owned()));
    assert_eq!(said.results().len(), 4);
}

#[test]
fn g2_line_ends_marks_modes_and_links_survive() {
    let room = Room::new(&[
        ("crlf.txt", "a\r\nb\r\n"),
        ("mixed.txt", "a\r\nb\nc\r\n"),
        ("open.txt", "a\nb"),
        ("mark.txt", "\u{feff}a\r\nb"),
        ("run.sh", "echo a\n"),
        ("real.txt", "a\n"),
    ]);
    std::fs::set_permissions(room.path("run.sh"), std::fs::Permissions::from_mode(0o754)).unwrap();
    symlink("real.txt", room.path("link.txt")).unwrap();
    let replace = |path: &str, old: &str, new: &str| {
        room.done(&format!("<c:str_replace path=\"{path}\"><c:old_str>{old}</c:old_str><c:new_str>{new}</c:new_str></c:str_replace>"))
    };
    replace("crlf.txt", "a\nb", "a\nx\nb");
    assert_eq!(room.read("crlf.txt"), "a\r\nx\r\nb\r\n");
    replace("mixed.txt", "b", "x");
    assert_eq!(room.read("mixed.txt"), "a\r\nx\nc\r\n");
    room.done("<p:proposed_file_replace file_path=\"open.txt\">\nc\nd\n</p:proposed_file_replace>");
    assert_eq!(room.read("open.txt"), "c\nd");
    room.done("<p:proposed_file_insert file_path=\"open.txt\" line_number=\"3\">e</p:proposed_file_insert>");
    assert_eq!(room.read("open.txt"), "c\nd\ne");
    replace("mark.txt", "a", "z");
    assert_eq!(room.read("mark.txt"), "\u{feff}z\r\nb");
    replace("run.sh", "echo a", "echo b");
    assert_eq!(room.path("run.sh").metadata().unwrap().permissions().mode() & 0o777, 0o754);
    let said = replace("link.txt", "a", "b");
    assert!(room.path("link.txt").is_symlink() && room.read("real.txt") == "b\n");
    assert!(said.results()[0].3.contains("real.txt"), "{:?}", said.results());
    room.done(
        "<c:patch>*** Begin Patch\n*** Update File: run.sh\n*** Move to: bin/run.sh\n*** End Patch</c:patch>",
    );
    assert_eq!(room.path("bin/run.sh").metadata().unwrap().permissions().mode() & 0o111, 0o111);
}

#[test]
fn g2_white_space_is_repaired_and_the_order_says_so() {
    let room = Room::new(&[("a.py", "class A:\n    def f(self):\n        return 1\n")]);
    let call = room.call();
    let edit = "<c:str_replace path=\"a.py\"><c:old_str>\ndef f(self):\n    return 1\n</c:old_str><c:new_str>\ndef f(self):\n    return 2\n</c:new_str></c:str_replace>";
    let order = room.ask(&call, super::room::change_set(edit));
    assert_eq!(order.each("edit", "repaired"), ["indentation"]);
    assert!(!order.is_dangerous());
    assert_eq!(room.apply(&call, &order).outcome(), "done");
    assert_eq!(room.read("a.py"), "class A:\n    def f(self):\n        return 2\n");
}

#[test]
fn g2_a_refusal_says_enough_for_a_better_request() {
    let room = Room::new(&[
        ("a.rs", "fn one() {}\nfn two() { greet(1) }\nfn greet() {}\nfn one() {}\n"),
        ("src/main.rs", "x\n"),
    ]);
    let replace = |path: &str, old: &str, hash: &str| {
        format!(
            "<c:str_replace path=\"{path}\"{hash}><c:old_str>{old}</c:old_str><c:new_str>new</c:new_str></c:str_replace>"
        )
    };
    let missing = room.refused(&replace("a.rs", "fn two() { greet(2) }", ""), "workspace.no-match");
    assert!(missing.contains("2| fn two() { greet(1) }"), "{missing}");
    let twice = room.refused(&replace("a.rs", "fn one() {}", ""), "workspace.ambiguous");
    assert!(twice.contains("1| fn one() {}") && twice.contains("4| fn one() {}"), "{twice}");
    let stale = room
        .refused(&replace("a.rs", "fn two", &format!(" sha256=\"{}\"", "0".repeat(64))), "workspace.stale");
    assert!(stale.contains("has the SHA-256 ") && stale.contains("Read it again"), "{stale}");
    let near = room.refused(&replace("main.rs", "x", ""), "workspace.not-found");
    assert!(near.contains("did you mean src/main.rs"), "{near}");
    let line = room.refused(
        "<p:proposed_file_insert file_path=\"a.rs\" line_number=\"6\">x</p:proposed_file_insert>",
        "workspace.bad-line",
    );
    assert!(line.contains("1 to 5"), "{line}");
    room.refused("<c:create_file path=\"a.rs\">x</c:create_file>", "workspace.exists");
    room.refused("<c:patch>nothing</c:patch>", "workspace.bad-patch");
    let of_git = "<c:patch>\n--- a/a.rs\n+++ b/a.rs\n@@ -1 +1 @@\n-fn one() {}\n+fn uno() {}\n</c:patch>";
    let told = room.refused(of_git, "workspace.bad-patch");
    assert!(told.contains("a diff of git is not taken; write *** Begin Patch"), "{told}");
    room.refused("<c:str_replace path=\"src/main.rs\"><c:old_str>x</c:old_str><c:new_str>x</c:new_str></c:str_replace>", "workspace.unchanged");
}

#[test]
fn g2_a_write_protected_file_stays_as_it_is() {
    let room = Room::new(&[("kept.txt", "a\n"), ("free.txt", "a\n")]);
    let protect = || {
        let only_read = std::fs::Permissions::from_mode(0o444);
        std::fs::set_permissions(room.path("kept.txt"), only_read).unwrap();
    };
    protect();
    let edit =
        "<c:str_replace path=\"kept.txt\"><c:old_str>a</c:old_str><c:new_str>b</c:new_str></c:str_replace>";
    for elements in [
        edit,
        "<c:patch>\n*** Begin Patch\n*** Delete File: kept.txt\n*** End Patch\n</c:patch>",
        "<c:patch>\n*** Begin Patch\n*** Update File: kept.txt\n*** Move to: moved.txt\n*** End Patch\n</c:patch>",
    ] {
        let told = room.refused(elements, "workspace.denied");
        assert!(told.contains("write-protected: its permissions are 0444"), "{told}");
    }
    // Also if a person protects it after the order was made.
    std::fs::set_permissions(room.path("kept.txt"), std::fs::Permissions::from_mode(0o644)).unwrap();
    let call = room.call();
    let order = room.ask(&call, super::room::change_set(edit));
    protect();
    assert_eq!(room.apply(&call, &order).outcome(), "refused");
    assert_eq!(room.read("kept.txt"), "a\n");
}

#[test]
fn g2_one_element_that_does_not_fit_stops_all() {
    let room = Room::new(&[("a.txt", "a\n"), ("b.txt", "b\n")]);
    let said = room.set(
        "<c:str_replace path=\"a.txt\"><c:old_str>a</c:old_str><c:new_str>x</c:new_str></c:str_replace>\
         <c:str_replace path=\"b.txt\"><c:old_str>nowhere</c:old_str><c:new_str>x</c:new_str></c:str_replace>\
         <c:str_replace path=\"b.txt\"><c:old_str>b</c:old_str><c:new_str>x</c:new_str></c:str_replace>\
         <c:shell>touch made</c:shell>\
         <p:proposed_package_install language=\"python\" package_list=\"-r x\"/>",
    );
    let outcomes: Vec<_> = said.results().into_iter().map(|result| (result.1, result.2)).collect();
    let row = |outcome: &str, code: &str| (outcome.to_owned(), code.to_owned());
    assert_eq!(
        outcomes,
        [
            row("not-run", ""),
            row("refused", "workspace.no-match"),
            row("not-run", ""),
            row("not-run", ""),
            row("refused", "workspace.bad-package")
        ]
    );
    assert_eq!((room.read("a.txt"), room.files().len()), ("a\n".to_owned(), 2));
}
