//! How many processes a sandbox may have, and that none of them outlives it.

use super::{BOTH, Scene, everywhere, none_is_left};

const BOMB: &str = "import os
# MARKER
while True:
    try:
        os.fork()
    except OSError:
        pass
";

#[tokio::test]
async fn g2_a_fork_bomb_ends_with_all_its_processes_even_of_the_superuser() {
    for (level, scene) in everywhere() {
        let marker = format!("bomb-{}-{:?}-{}", level.as_str(), scene.user, std::process::id());
        let ran = scene.run(level, &[&scene.python(), "-c", &BOMB.replace("MARKER", &marker)]);
        assert_eq!(ran.code, None, "{ran:?}");
        assert!(ran.stderr.contains("sandbox: more than 16 processes at once; all were ended"), "{ran:?}");
        none_is_left(&marker).await;
    }
}

#[test]
fn as_many_processes_as_allowed_do_their_work() {
    for (level, scene) in everywhere() {
        let script = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 0.2 & done; wait; echo all";
        let ran = scene.run(level, &["sh", "-c", script]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "all\n"), "{ran:?}");
    }
}

#[test]
fn a_program_starts_in_any_folder_and_through_links() {
    for level in BOTH {
        let mut scene = Scene::new();
        // Nothing but the working directory is below the folder of temporary files then.
        scene.policy.write.clear();
        assert_eq!(scene.run(level, &["true"]).code, Some(0));
        let link = scene.path("link");
        std::os::unix::fs::symlink(scene.path("writable"), &link).unwrap();
        scene.policy.write = vec![link.clone()];
        let script = format!("echo linked > {}/x", link.display());
        let ran = scene.run(level, &["sh", "-c", &script]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(std::fs::read_to_string(scene.path("writable/x")).unwrap(), "linked\n");
        // The working directory itself is a link.
        let there = scene.path("there");
        std::os::unix::fs::symlink(scene.path("outside"), &there).unwrap();
        let ran = scene.run_in(&there, level, &["pwd", "-P"]);
        assert_eq!(ran.stdout.trim(), scene.path("outside").canonicalize().unwrap().display().to_string());
    }
}

#[test]
fn an_end_is_mirrored_at_both_levels() {
    for (level, scene) in everywhere() {
        for (script, code) in [("exit 0", Some(0)), ("exit 7", Some(7)), ("kill -KILL $$", None)] {
            assert_eq!(scene.run(level, &["sh", "-c", script]).code, code, "{script}");
        }
        assert_eq!(scene.run(level, &["sh", "-c", "kill -SEGV $$"]).code, None);
    }
}

#[tokio::test]
async fn nothing_that_a_program_leaves_behind_outlives_it_at_level_full() {
    let marker = format!("left-{}", std::process::id());
    let script = format!("setsid sh -c 'sleep 600; : {marker}' > /dev/null 2>&1 & exit 0");
    let ran = Scene::new().run(systole_sandbox::SandboxLevel::Full, &["sh", "-c", &script]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    none_is_left(&marker).await;
}

#[test]
fn files_that_were_open_before_are_closed_to_the_program() {
    use std::os::fd::AsRawFd as _;
    for level in BOTH {
        let scene = Scene::new();
        let file = std::fs::File::open(scene.path("outside/planted")).unwrap();
        // Inherited by whatever this process starts from now on, as a shell would hand it on.
        rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).unwrap();
        let ran = scene.run(level, &["sh", "-c", &format!("cat <&{}", file.as_raw_fd())]);
        assert_ne!(ran.code, Some(0), "{ran:?}");
        assert!(!ran.stdout.contains("secret"), "{ran:?}");
    }
}
