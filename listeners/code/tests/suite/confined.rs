//! Nothing outside the root is ever read or named.

use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, Mode, RenameFlags, mkfifoat, renameat_with};

use super::room::{Room, write};

const SECRET: &str = "fn outside_secret() {}";

fn room() -> Room {
    let room = Room::new(&[
        ("src/main.rs", "fn main() { inside(); }\n"),
        (".env", "KEY=inside_secret"),
        ("a.pem", "inside_secret"),
    ]);
    write(&room.around.path().join("secret.rs"), SECRET.as_bytes());
    write(&room.around.path().join("outside/deep.rs"), SECRET.as_bytes());
    let root = room.root();
    symlink("../secret.rs", root.join("link.rs")).unwrap();
    symlink(room.around.path().join("secret.rs"), root.join("absolute.rs")).unwrap();
    symlink("../outside", root.join("folder")).unwrap();
    symlink(".env", root.join("notes.txt")).unwrap();
    symlink("src/main.rs", root.join("good.rs")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    mkfifoat(CWD, root.join("pipe.rs"), Mode::RUSR | Mode::WUSR).unwrap();
    symlink("/dev/zero", root.join("zero.rs")).unwrap();
    room
}

#[tokio::test]
async fn g1_a_root_cannot_be_left_by_links_dots_or_devices() {
    let room = room();
    for (path, code) in [
        ("../secret.rs", "code.outside-root"),
        ("src/../../secret.rs", "code.outside-root"),
        ("/etc/passwd", "code.outside-root"),
        ("link.rs", "code.outside-root"),
        ("absolute.rs", "code.outside-root"),
        ("folder/deep.rs", "code.outside-root"),
        ("folder/../secret.rs", "code.not-found"),
        ("zero.rs", "code.outside-root"),
        ("loop", "code.outside-root"),
        ("/proc/self/environ", "code.outside-root"),
        ("pipe.rs", "code.no-text"),
        ("src", "code.no-text"),
        (".env", "code.denied"),
        ("a.pem", "code.denied"),
        ("./src/../.env", "code.denied"),
        ("notes.txt", "code.denied"),
    ] {
        let answer = room.extract(path).await;
        let (found, message, _) = answer.fault();
        assert_eq!(found, code, "{path}: {message}");
        assert!(!format!("{answer:?}").contains("_secret()"), "{path}");
    }
    assert_eq!(room.extract("good.rs").await.text(), "fn main() { inside(); }", "a link that stays below");
    assert_eq!(room.extract("./src/../src/main.rs").await.attribute("file"), "src/main.rs");
}

#[tokio::test]
async fn g1_a_search_sees_nothing_outside_and_nothing_denied() {
    let room = room();
    for query in ["outside_secret", "inside_secret", "secret", "\"fn outside_secret\"", "/outside_.*/"] {
        let answer = room.search(query).await;
        assert_eq!(answer.places(), Vec::<String>::new(), "{query}");
    }
    for path in ["folder", "..", "/", "folder/deep.rs", "link.rs", "../outside"] {
        let answer = room.ask("search", &[("query", "secret"), ("path", path)]).await;
        let (code, ..) = answer.fault();
        assert!(["code.outside-root", "code.denied"].contains(&code.as_str()), "{path}: {code}");
    }
    // The names of what is outside or denied are not suggested either.
    for path in ["deep.rs", "secret.rs", "envv", "b.pem"] {
        let near = room.extract(path).await.nearest();
        assert!(
            near.iter()
                .all(|name| !name.contains("deep") && !name.contains("secret") && !name.contains("pem")),
            "{near:?}"
        );
    }
}

struct StopOnDrop<'s>(&'s AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// While a thread exchanges a folder inside for a link that leads outside, no read and no search gets anything outside.
#[test]
fn g1_a_root_cannot_be_left_by_races() {
    let room = Room::new(&[("swap/file.rs", "fn inside_here() {}\n")]);
    let root = room.root();
    write(&room.around.path().join("outside/file.rs"), SECRET.as_bytes());
    symlink("../outside", root.join("other")).unwrap();
    let stop = AtomicBool::new(false);
    let (mut inside, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        let swapping = scope.spawn(|| {
            let mut rounds = 0u32;
            while !stop.load(Ordering::Relaxed) {
                renameat_with(CWD, root.join("swap"), CWD, root.join("other"), RenameFlags::EXCHANGE)
                    .unwrap();
                rounds += 1;
            }
            rounds
        });
        // Set even if an assertion below fails, or the thread would never end.
        let _stops = StopOnDrop(&stop);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            for round in 0..1000 {
                let answer = room.extract("swap/file.rs").await;
                assert!(!format!("{answer:?}").contains("outside_secret"), "round {round}");
                if answer.element == "extract-result" {
                    inside += 1
                } else {
                    refused += 1
                }
                if round % 10 == 0 {
                    let found = room.search("secret").await;
                    assert!(found.places().is_empty(), "round {round}: {:?}", found.places());
                }
            }
        });
        stop.store(true, Ordering::Relaxed);
        assert!(swapping.join().unwrap() > 1000, "the folder was exchanged all the time");
    });
    assert!(inside > 0 && refused > 0, "both sides were seen: {inside} inside, {refused} refused");
}

#[tokio::test]
async fn g1_binary_and_huge_files_are_left_out() {
    let room = Room::new(&[("ok.rs", "fn needle() {}\n")]);
    write(&room.root().join("binary.rs"), b"fn needle() {}\0\x01");
    write(&room.root().join("huge.rs"), format!("fn needle() {{}}\n{}", "x\n".repeat(600_000)).as_bytes());
    write(&room.root().join("latin.rs"), b"fn needle() { // \xe9\x1b[31m }\n");
    let answer = room.search("needle").await;
    let mut files = answer.places();
    files.sort();
    assert_eq!(files, ["latin.rs:1-1", "ok.rs:1-1"]);
    assert_eq!(room.extract("binary.rs").await.fault().0, "code.no-text");
    assert_eq!(room.extract("huge.rs").await.fault().0, "code.too-large");
    assert_eq!(room.extract("latin.rs").await.text(), "fn needle() { // \u{fffd}\u{fffd}[31m }");
}

#[tokio::test]
async fn g1_a_folder_that_is_gone_is_a_failure_and_no_panic() {
    let room = Room::new(&[("a.rs", "fn a() {}\n")]);
    std::fs::rename(room.root(), room.around.path().join("moved")).unwrap();
    let payload = systole_kit::Payload::write(systole_kit::namespaces::CODE, "search", |inside| {
        inside.open("query").text("a")
    });
    let said = room.listener.clone().answer_to(payload).await;
    let systole_kit::reply::ReplyContent::Failure { code, .. } = said else { panic!("{said:?}") };
    assert_eq!(code, "code.no-root");
}
