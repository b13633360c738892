//! A change set that was broken off: what the next start takes back, and what it leaves.

use std::path::Path;

use super::room::{Room, change_set, write};

/// The state of an order that was broken off with the first file in its place and the second one not.
fn broken_off(room: &Room) -> String {
    let order = room.ask(
        "1",
        change_set(
            "<c:str_replace path=\"a.txt\"><c:old_str>a</c:old_str><c:new_str>x</c:new_str></c:str_replace>\
             <c:str_replace path=\"b.txt\"><c:old_str>b</c:old_str><c:new_str>y</c:new_str></c:str_replace>\
             <c:create_file path=\"new/c.txt\">c</c:create_file>\
             <c:patch>*** Begin Patch\n*** Delete File: gone.txt\n*** End Patch</c:patch>",
        ),
    );
    assert_eq!(room.apply("1", &order).outcome(), "done");
    let change = order.attribute("change");
    let folder = room.around.path().join("state/changes").join(&change);
    std::fs::rename(folder.join("complete.json"), folder.join("writing.json")).unwrap();
    std::fs::remove_file(folder.join("result.xml")).unwrap();
    write(&room.path("b.txt"), b"b\n");
    write(&room.path(&format!(".systole-{change}-1")), b"y");
    folder.display().to_string()
}

fn room() -> Room {
    Room::new(&[("a.txt", "a\n"), ("b.txt", "b\n"), ("gone.txt", "g\n")])
}

#[test]
fn g2_a_start_takes_back_what_was_broken_off() {
    let room = room();
    let folder = broken_off(&room);
    let room = room.reopened();
    assert_eq!(room.files(), ["a.txt", "b.txt", "gone.txt"], "no file of its own is left either");
    assert_eq!(
        (room.read("a.txt"), room.read("b.txt"), room.read("gone.txt")),
        ("a\n".to_owned(), "b\n".to_owned(), "g\n".to_owned())
    );
    assert!(!room.path("new").exists() && Path::new(&folder).join("rolled-back.json").exists());
    let said = room.answer("1", super::room::payload("<system-error xmlns=\"https://xml-pipeline.org/ns/core/v1\" code=\"listener.lost\" message=\"gone\"/>"));
    assert_eq!(said.outcome(), "refused");
    assert!(said.reason().contains("nothing was changed"), "{}", said.reason());
    let order = room.ask(
        "1",
        change_set(
            "<c:str_replace path=\"a.txt\"><c:old_str>a</c:old_str><c:new_str>x</c:new_str></c:str_replace>",
        ),
    );
    assert_eq!(room.apply("1", &order).outcome(), "done", "the same change can be made after that");
}

#[test]
fn g2_a_file_that_others_changed_is_left_and_reported_once() {
    let room = room();
    let folder = broken_off(&room);
    write(&room.path("a.txt"), b"by hand\n");
    write(&room.path("new/other.txt"), b"by hand\n");
    let room = room.reopened();
    assert_eq!((room.read("a.txt"), room.read("gone.txt")), ("by hand\n".to_owned(), "g\n".to_owned()));
    assert_eq!(room.files(), ["a.txt", "b.txt", "gone.txt", "new/other.txt"]);
    let room = room.reopened();
    let said = room.done("<c:shell>true</c:shell>");
    assert!(said.reason().contains("'a.txt' could not be taken back"), "{}", said.reason());
    let kept = said.reason().rsplit(' ').next().unwrap().to_owned();
    assert!(kept.starts_with(&folder) && std::fs::read_to_string(kept).unwrap() == "a\n");
    assert_eq!(
        room.ask("2", change_set("<p:proposed_actions summary=\"x\"/>")).reason().matches("a.txt").count(),
        0
    );
}

#[test]
fn g2_what_is_beside_its_place_is_put_back_first() {
    let room = room();
    let folder = broken_off(&room);
    let change = Path::new(&folder).file_name().unwrap().to_str().unwrap().to_owned();
    // Another process wrote the file in the moment before the names were exchanged.
    write(&room.path(&format!(".systole-{change}-0")), b"newer\n");
    let room = room.reopened();
    assert_eq!(room.read("a.txt"), "newer\n");
    assert_eq!(room.files(), ["a.txt", "b.txt", "gone.txt"]);
}

#[test]
fn g2_one_process_holds_the_journal() {
    let room = room();
    let spec = super::room::spec(room.around.path());
    let second =
        systole_workspace::Workspace::open(spec.clone(), std::sync::Arc::new(super::room::PlainStart));
    assert!(second.unwrap_err().to_string().contains("another process works in this workspace"));
    let inside = systole_workspace::WorkspaceSpec { state: spec.root.join("state"), ..spec.clone() };
    let second = systole_workspace::Workspace::open(inside, std::sync::Arc::new(super::room::PlainStart));
    assert!(second.unwrap_err().to_string().contains("keep the state elsewhere"));
    for bad in [
        systole_workspace::WorkspaceSpec { deny: vec!["a{".to_owned()], ..spec.clone() },
        systole_workspace::WorkspaceSpec { ask: vec!["!a".to_owned()], ..spec.clone() },
        systole_workspace::WorkspaceSpec { shell: vec!["*".to_owned()], ..spec.clone() },
        systole_workspace::WorkspaceSpec { time_ms: 0, ..spec.clone() },
        systole_workspace::WorkspaceSpec { root: "/no/such/folder".into(), ..spec },
    ] {
        let opened = systole_workspace::Workspace::open(bad, std::sync::Arc::new(super::room::PlainStart));
        assert!(opened.is_err());
    }
}

#[test]
fn g2_a_write_that_fails_halfway_changes_nothing() {
    let room = room();
    // The name of a file may have 255 bytes; this one has no room for what is written beside it, but a folder of it
    // cannot be made at all.
    std::fs::create_dir(room.path("z")).unwrap();
    let order = room.ask(
        "1",
        change_set(
            "<c:str_replace path=\"a.txt\"><c:old_str>a</c:old_str><c:new_str>x</c:new_str></c:str_replace>\
             <c:create_file path=\"made/deep/c.txt\">c</c:create_file><c:create_file path=\"z/z.txt\">c</c:create_file>",
        ),
    );
    std::fs::remove_dir(room.path("z")).unwrap();
    write(&room.path("z"), b"a file");
    let said = room.apply("1", &order);
    assert_eq!(said.outcome(), "refused", "{}", said.text());
    assert_eq!(room.files(), ["a.txt", "b.txt", "gone.txt", "z"]);
    assert_eq!(room.read("a.txt"), "a\n");
    assert!(!room.path("made").exists());
}

#[test]
fn g2_old_changes_are_forgotten_but_never_unsettled_ones() {
    let room = room();
    let folder = broken_off(&room);
    write(&room.path("a.txt"), b"by hand\n");
    let changes = room.around.path().join("state/changes");
    let record = std::fs::read_to_string(Path::new(&folder).join("writing.json")).unwrap();
    let change = Path::new(&folder).file_name().unwrap().to_str().unwrap();
    for number in 0..1_010 {
        let other = format!("c{number:012x}");
        write(&changes.join(&other).join("complete.json"), record.replace(change, &other).as_bytes());
    }
    let room = room.reopened();
    assert_eq!(std::fs::read_dir(&changes).unwrap().count(), 1_000);
    assert!(Path::new(&folder).exists(), "the one that must be reported is kept");
    assert!(room.done("<c:shell>true</c:shell>").reason().contains("'a.txt'"));
}
