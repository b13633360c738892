//! Taking a change set back.

use std::os::unix::fs::PermissionsExt as _;

use super::room::{Room, change_set, undo};

#[test]
fn g2_an_undo_brings_everything_back_and_can_be_undone() {
    let room = Room::new(&[("a.txt", "a\r\nb\r\n"), ("gone.sh", "x\n")]);
    std::fs::set_permissions(room.path("gone.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let said = room.done(
        "<c:str_replace path=\"a.txt\"><c:old_str>a</c:old_str><c:new_str>z</c:new_str></c:str_replace>\
         <c:create_file path=\"new\">n</c:create_file>\
         <c:patch>*** Begin Patch\n*** Delete File: gone.sh\n*** End Patch</c:patch>",
    );
    assert_eq!(room.files(), ["a.txt", "new"]);
    let back = room.change(undo(&said.attribute("change")));
    assert_eq!(back.outcome(), "done", "{}", back.text());
    assert_eq!(
        (room.read("a.txt"), room.files()),
        ("a\r\nb\r\n".to_owned(), vec!["a.txt".to_owned(), "gone.sh".to_owned()])
    );
    assert_eq!(room.path("gone.sh").metadata().unwrap().permissions().mode() & 0o111, 0o111);
    let room = room.reopened();
    // Calls begin anew with the room, so this one needs a number of its own.
    let order = room.ask("7", undo(&back.attribute("change")));
    assert_eq!(room.apply("7", &order).outcome(), "done");
    assert_eq!(
        (room.read("a.txt"), room.files()),
        ("z\r\nb\r\n".to_owned(), vec!["a.txt".to_owned(), "new".to_owned()])
    );
}

#[test]
fn g2_an_undo_is_refused_if_a_file_changed_since() {
    let room = Room::new(&[("a.txt", "a\n"), ("b.txt", "a\n")]);
    let edit = |path: &str| {
        format!(
            "<c:str_replace path=\"{path}\"><c:old_str>a</c:old_str><c:new_str>b</c:new_str></c:str_replace>"
        )
    };
    let said = room.done(&format!("{}{}", edit("a.txt"), edit("b.txt")));
    std::fs::write(room.path("b.txt"), "other\n").unwrap();
    let back = room.change(undo(&said.attribute("change")));
    assert_eq!((back.outcome(), back.results()[0].2.as_str()), ("refused".to_owned(), "workspace.no-undo"));
    assert!(
        back.results()[0].3.contains("'b.txt'") && !back.results()[0].3.contains("'a.txt'"),
        "{}",
        back.text()
    );
    assert_eq!(room.read("a.txt"), "b\n");
}

#[test]
fn g2_an_undo_of_something_dangerous_asks() {
    let room = Room::new(&[("a.txt", "a\n")]);
    let edit =
        "<c:str_replace path=\"a.txt\"><c:old_str>a</c:old_str><c:new_str>b</c:new_str></c:str_replace>";
    let plain = room.done(edit).attribute("change");
    assert!(!room.ask("8", undo(&plain)).is_dangerous());
    let dangerous =
        room.done(&format!("{}<c:shell>ls</c:shell>", edit.replace(">b<", ">c<").replace(">a<", ">b<")));
    assert!(room.ask("9", undo(&dangerous.attribute("change"))).is_dangerous());
    let only = room.done("<c:shell>true</c:shell>").attribute("change");
    assert_eq!(room.ask("10", undo(&only)).results()[0].2, "workspace.no-undo");
    assert_eq!(room.ask("11", change_set(edit)).outcome(), "refused");
}
