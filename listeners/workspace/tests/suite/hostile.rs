//! Requests and folders that want more than the workspace gives.

use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, Mode, RenameFlags, mkfifoat, renameat_with};

use super::room::{NAME, Room, change_set, write};

/// Ends the other side of a race, also if this side fails.
struct EndOnDrop<'a>(&'a AtomicBool);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn create(path: &str) -> String {
    format!("<c:create_file path=\"{path}\">x</c:create_file>")
}

fn replace(path: &str) -> String {
    format!(
        "<c:str_replace path=\"{path}\"><c:old_str>secret</c:old_str><c:new_str>x</c:new_str></c:str_replace>"
    )
}

fn room() -> Room {
    let room = Room::new(&[
        ("a.txt", "a\n"),
        (".git/config", "secret\n"),
        (".env", "secret\n"),
        ("private/a", "secret\n"),
    ]);
    write(&room.around.path().join("secret.txt"), b"secret\n");
    std::fs::create_dir(room.around.path().join("outside")).unwrap();
    symlink("../secret.txt", room.path("link.txt")).unwrap();
    symlink(room.around.path().join("secret.txt"), room.path("absolute.txt")).unwrap();
    symlink("../outside", room.path("folder")).unwrap();
    symlink(".env", room.path("notes.txt")).unwrap();
    symlink("nowhere", room.path("dangling")).unwrap();
    symlink("loop", room.path("loop")).unwrap();
    mkfifoat(CWD, room.path("pipe"), Mode::RUSR | Mode::WUSR).unwrap();
    std::fs::write(room.path("binary"), b"a\0secret").unwrap();
    std::fs::write(room.path("latin"), b"secret \xe9\n").unwrap();
    std::fs::write(room.path("control"), "secret\u{1}\nsecret2\n").unwrap();
    std::fs::write(room.path("large"), vec![b'a'; (1 << 20) + 1]).unwrap();
    std::fs::hard_link(room.path("a.txt"), room.path("same.txt")).unwrap();
    room
}

#[test]
fn g2_nothing_outside_or_denied_is_changed() {
    let room = room();
    for (elements, code) in [
        (create("../new"), "workspace.outside-root"),
        (create("/tmp/new"), "workspace.outside-root"),
        (create("x/../../new"), "workspace.outside-root"),
        (create("folder/new"), "workspace.outside-root"),
        (create("folder/../../new"), "workspace.outside-root"),
        (create("dangling"), "workspace.denied"),
        (create("dangling/x"), "workspace.denied"),
        (create("loop/x"), "workspace.outside-root"),
        (create("a.txt/x"), "workspace.not-found"),
        (create(".git/hooks/pre-commit"), "workspace.denied"),
        (create("sub/.GIT/config"), "workspace.denied"),
        (create("x.pem"), "workspace.denied"),
        (create("private/new"), "workspace.denied"),
        (create(".systole-x"), "workspace.bad-path"),
        (create("a&#10;b"), "workspace.bad-path"),
        (create("a\u{202e}b"), "workspace.bad-path"),
        (create("."), "workspace.bad-path"),
        (create("./"), "workspace.bad-path"),
        (create(&"d/".repeat(100)), "workspace.bad-path"),
        (create(&"x".repeat(300)), "workspace.not-found"),
        (replace("link.txt"), "workspace.outside-root"),
        (replace("absolute.txt"), "workspace.outside-root"),
        (replace("notes.txt"), "workspace.denied"),
        (replace(".env"), "workspace.denied"),
        (replace(".git/config"), "workspace.denied"),
        (replace("pipe"), "workspace.no-text"),
        (replace("binary"), "workspace.no-text"),
        (replace("latin"), "workspace.no-text"),
        (replace("large"), "workspace.too-large"),
        (replace("private"), "workspace.denied"),
        ("<c:str_replace path=\"control\"><c:old_str>secret2</c:old_str><c:new_str>x</c:new_str></c:str_replace><c:patch>*** Begin Patch\n*** Delete File: control\n*** End Patch</c:patch>".to_owned(), "workspace.no-text"),
        ("<c:patch>*** Begin Patch\n*** Update File: a.txt\n*** Move to: ../b\n*** End Patch</c:patch>".to_owned(), "workspace.outside-root"),
        ("<c:patch>*** Begin Patch\n*** Delete File: .env\n*** End Patch</c:patch>".to_owned(), "workspace.denied"),
        (
            "<p:proposed_file_replace file_path=\"a.txt\">1</p:proposed_file_replace><p:proposed_file_replace file_path=\"same.txt\">2</p:proposed_file_replace>".to_owned(),
            "workspace.bad-path",
        ),
    ] {
        let message = room.refused(&elements, code);
        assert!(!message.contains("secret\n"), "{elements}: {message}");
    }
    assert_eq!(std::fs::read_to_string(room.around.path().join("secret.txt")).unwrap(), "secret\n");
    assert_eq!(std::fs::read_dir(room.around.path().join("outside")).unwrap().count(), 0);
    room.done("<c:str_replace path=\"control\"><c:old_str>secret2</c:old_str><c:new_str>x</c:new_str></c:str_replace>");
}

#[test]
fn g2_a_link_that_takes_a_place_after_the_order_is_not_followed() {
    let room = room();
    let order = room.ask(
        "1",
        change_set(&format!(
            "{}<p:proposed_file_replace file_path=\"a.txt\">b</p:proposed_file_replace>",
            create("new/deep/x")
        )),
    );
    symlink("../outside", room.path("new")).unwrap();
    let said = room.apply("1", &order);
    assert_eq!(said.outcome(), "refused", "{}", said.text());
    std::fs::remove_file(room.path("new")).unwrap();
    std::fs::remove_file(room.path("a.txt")).unwrap();
    write(&room.around.path().join("same"), b"a\n");
    symlink("../same", room.path("a.txt")).unwrap();
    assert_eq!(room.apply("1", &order).outcome(), "refused");
    std::fs::remove_file(room.path("a.txt")).unwrap();
    write(&room.path("inside"), b"a\n");
    symlink("inside", room.path("a.txt")).unwrap();
    assert_eq!(room.apply("1", &order).outcome(), "refused", "also a link that stays below the root");
    assert_eq!(std::fs::read_to_string(room.around.path().join("same")).unwrap(), "a\n");
    assert!(room.path("a.txt").is_symlink() && !room.around.path().join("outside/deep").exists());
}

#[test]
fn g2_a_race_of_names_never_leads_outside() {
    let room = room();
    write(&room.path("in/file"), b"v\n");
    std::fs::create_dir_all(room.around.path().join("outside/in")).unwrap();
    write(&room.around.path().join("outside/file"), b"v\n");
    symlink("../outside", room.path("out")).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let end = EndOnDrop(&is_over);
        let (one, two) = (room.path("in"), room.path("out"));
        let is_over = &is_over;
        scope.spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                renameat_with(CWD, &one, CWD, &two, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let mut outcomes = std::collections::BTreeSet::new();
        // On a machine that is busy, the names may stand still for hundreds of attempts.
        for attempt in 0..100_000 {
            if attempt >= 300 && !outcomes.is_empty() {
                break;
            }
            let call = format!("r{attempt}");
            let set = format!(
                "<p:proposed_file_replace file_path=\"in/file\">{attempt}</p:proposed_file_replace>{}",
                create(&format!("in/n{attempt}"))
            );
            let order = room.ask(&call, change_set(&set));
            if order.element() == "apply" {
                let asked = room.delivered(NAME, &format!("{call}.1"), 1, order.payload.clone());
                outcomes.insert(room.say(&asked).outcome());
            }
        }
        drop(end);
        assert!(!outcomes.is_empty(), "no attempt got as far as an order");
    });
    assert_eq!(std::fs::read_to_string(room.around.path().join("outside/file")).unwrap(), "v\n");
    let outside: Vec<_> = std::fs::read_dir(room.around.path().join("outside"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(outside.len(), 2, "{outside:?}");
}

#[test]
fn g2_a_file_that_others_write_is_never_lost() {
    let room = Room::new(&[]);
    let mut random = 987_654_321_u64;
    let (mut late, mut last_spins) = (0, 2_000_000);
    for round in 0..200 {
        write(&room.path("a.txt"), format!("base {round}\n").as_bytes());
        let call = format!("w{round}");
        let edit =
            format!("<p:proposed_file_replace file_path=\"a.txt\">mine {round}</p:proposed_file_replace>");
        let order = room.ask(&call, change_set(&edit));
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let spins = (random >> 33) % last_spins;
        let said = std::thread::scope(|scope| {
            let path = room.path("a.txt");
            scope.spawn(move || {
                (0..spins).for_each(|_| std::hint::spin_loop());
                // As an editor does: beside it, and then in its place.
                let beside = path.with_extension("new");
                std::fs::write(&beside, format!("other {round}\n")).unwrap();
                std::fs::rename(&beside, &path).unwrap();
            });
            let order = room.delivered(NAME, &call, 1, order.payload.clone());
            let said = room.workspace.answer_delivery(&order, &AtomicBool::new(false), &|_| {});
            bytes(said)
        });
        // The order fits only the base. So the other one's text is the last in any case.
        assert_eq!(room.read("a.txt"), format!("other {round}\n"), "{said}");
        assert_eq!(room.files(), ["a.txt"], "nothing is left beside it: {said}");
        assert!(!said.contains("could not be taken back"), "{said}");
        late += usize::from(said.contains("changed while the change set was written"));
        // Other writes come earlier, until some come while the workspace writes.
        if said.contains("outcome=\"done\"") {
            last_spins = (last_spins * 9 / 10).max(1_000);
        } else {
            last_spins = (last_spins * 10 / 9).min(20_000_000);
        }
    }
    assert!(late > 0, "no write came at the moment in which it matters");
}

#[test]
fn g2_an_order_names_the_file_even_if_it_is_replaced_at_that_moment() {
    let room = Room::new(&[("a.txt", "a\n")]);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let end = EndOnDrop(&is_over);
        let (path, is_over) = (room.path("a.txt"), &is_over);
        scope.spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                std::fs::write(path.with_extension("new"), "other\n").unwrap();
                std::fs::rename(path.with_extension("new"), &path).unwrap();
            }
        });
        for round in 0..3_000 {
            let edit = "<p:proposed_file_replace file_path=\"a.txt\">mine</p:proposed_file_replace>";
            let order = room.ask(&format!("d{round}"), change_set(edit));
            if order.element() == "apply" {
                assert_eq!(order.each("edit", "path"), ["a.txt"]);
            }
        }
        drop(end);
    });
}

#[test]
fn g2_a_large_set_is_whole_or_refused() {
    let room = Room::new(&[]);
    let many: String =
        (0..64).map(|number| format!("<c:create_file path=\"m/{number}\">x</c:create_file>")).collect();
    assert_eq!(room.done(&many).results().len(), 64);
    let large = format!(
        "<c:create_file path=\"l0\">{0}</c:create_file><c:create_file path=\"l1\">{0}</c:create_file>",
        "abcdefg\n".repeat(60_000)
    );
    let said = room.set(&large);
    assert_eq!(said.outcome(), "refused");
    assert!(said.reason().contains("split it"), "{}", said.reason());
    let mut patch = "*** Begin Patch\n".to_owned();
    (0..300).for_each(|number| patch.push_str(&format!("*** Add File: p/{number}\n+x\n")));
    room.refused(&format!("<c:patch>{patch}*** End Patch</c:patch>"), "workspace.too-large");
    let deep = format!("{}x", "d/".repeat(50));
    room.done(&create(&deep));
    assert!(room.path(&deep).exists());
    let long = "a".repeat(100_000);
    write(&room.path("long"), format!("{long}{long}").as_bytes());
    room.refused(&format!("<c:str_replace path=\"long\"><c:old_str>{long}</c:old_str><c:new_str>x</c:new_str></c:str_replace>"), "workspace.ambiguous");
}

#[test]
fn g2_several_threads_ask_at_once() {
    let room = Room::new(&[("a.txt", "0\n")]);
    let workspace = &room.workspace;
    let orders: Vec<_> = (0..8)
        .map(|number| {
            let call = format!("t{number}");
            let order = room.ask(&call, change_set(&format!("<p:proposed_file_replace file_path=\"a.txt\">{number}</p:proposed_file_replace><c:shell>echo {number}</c:shell>")));
            (order.element() == "apply").then(|| room.delivered(NAME, &call, 1, order.payload))
        })
        .collect();
    let results: Vec<String> = std::thread::scope(|scope| {
        let work = |asked| bytes(workspace.answer_delivery(asked, &AtomicBool::new(false), &|_| {}));
        let works: Vec<_> = orders.iter().flatten().map(|asked| scope.spawn(move || work(asked))).collect();
        works.into_iter().map(|work| work.join().unwrap()).collect()
    });
    let done: Vec<&String> =
        results.iter().filter(|result| result.contains("outcome=\"done\"><result")).collect();
    assert_eq!(done.len(), 1, "each of the orders fits the file as it was: {results:?}");
    assert!(done[0].contains(&format!(">{}<", room.read("a.txt"))), "{} {}", done[0], room.read("a.txt"));
}

fn bytes(said: systole_kit::reply::ReplyContent) -> String {
    match said {
        systole_kit::reply::ReplyContent::Items(items) => {
            String::from_utf8_lossy(items[0].payload.as_ref().unwrap().bytes()).into_owned()
        }
        other => format!("{other:?}"),
    }
}
