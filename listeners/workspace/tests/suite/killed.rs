//! A process that writes change sets is killed again and again. After each start every change set is there whole or
//! not at all.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use super::room::{PlainStart, Room, change_set, spec};

/// Names the folder to the process that is killed.
const FOLDER: &str = "WORKSPACE_THAT_IS_KILLED";
const KILLS: usize = 200;
const FILES: usize = 8;

/// The change from one version of all files to the next: most are changed, one is made, and one is deleted.
fn step(version: usize) -> String {
    let (old, new) = (version, version + 1);
    let mut set = String::new();
    for file in 0..FILES {
        set.push_str(&format!("<c:str_replace path=\"f{file}\"><c:old_str>v{old}.</c:old_str><c:new_str>v{new}.</c:new_str></c:str_replace>"));
    }
    set.push_str(&format!("<c:create_file path=\"d{new}/new\">v{new}.</c:create_file>"));
    set.push_str(&format!("<c:patch>*** Begin Patch\n*** Delete File: d{old}/new\n*** End Patch</c:patch>"));
    set
}

/// The version that all files have. Fails if they differ.
fn version(root: &Path) -> usize {
    let text = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
    let number = |text: &str| text.trim_start_matches('v').trim_end_matches(['.', '\n']).parse().unwrap();
    let first: usize = number(&text("f0"));
    for file in 1..FILES {
        assert_eq!(number(&text(&format!("f{file}"))), first, "file {file} has another version");
    }
    assert_eq!(text(&format!("d{first}/new")), format!("v{first}.\n"));
    for other in [first.wrapping_sub(1), first + 1] {
        assert!(!root.join(format!("d{other}/new")).exists(), "d{other}/new beside version {first}");
    }
    let own = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(
        own.into_iter().all(|name| !name.to_string_lossy().starts_with(".systole-")),
        "a file is left beside"
    );
    first
}

/// Runs in the process that is killed; in any other it does nothing.
#[test]
fn g2_the_process_that_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let folder = Path::new(&folder);
    let first = version(&folder.join("root"));
    let workspace = systole_workspace::Workspace::open(spec(folder), Arc::new(PlainStart)).unwrap();
    let around = tempfile::tempdir().unwrap();
    std::fs::create_dir(around.path().join("root")).unwrap();
    let room = Room { workspace, ..Room::over(around) };
    for at in first..first + 10_000 {
        let call = format!("k{at}");
        let order = room.ask(&call, change_set(&step(at)));
        println!("begins");
        assert_eq!(room.apply(&call, &order).outcome(), "done");
    }
}

#[test]
fn g2_a_change_set_is_whole_or_absent_after_a_kill() {
    let around = tempfile::tempdir().unwrap();
    let root = around.path().join("root");
    std::fs::create_dir_all(root.join("d0")).unwrap();
    for file in 0..FILES {
        std::fs::write(root.join(format!("f{file}")), "v0.\n").unwrap();
    }
    std::fs::write(root.join("d0/new"), "v0.\n").unwrap();
    let (mut room, mut random, mut broken_off) = (Some(Room::over(around)), 12_345_u64, 0);
    for kill in 0..KILLS {
        let Room { around, workspace, .. } = room.take().unwrap();
        drop(workspace);
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "killed::g2_the_process_that_is_killed", "--nocapture", "--test-threads=1"])
            .env(FOLDER, around.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().ends_with("begins")), "kill {kill}: it began nothing");
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Half of the kills come at any time, the other half once new files are seen.
        let is_seen = |root: &Path| {
            let mut names = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().file_name());
            names.any(|name| name.to_string_lossy().starts_with(".systole-"))
        };
        let mut looks = if kill % 2 == 0 { 0 } else { 100_000 };
        while looks > 0 && !is_seen(&root) {
            looks -= 1;
        }
        for _ in 0..(random >> 33) % 300_000 {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let is_open = |folder: std::io::Result<std::fs::DirEntry>| {
            let folder = folder.unwrap().path();
            usize::from(folder.join("open.json").exists() || folder.join("writing.json").exists())
        };
        let changes = std::fs::read_dir(around.path().join("state/changes")).unwrap();
        broken_off += changes.map(is_open).sum::<usize>();
        let opened = Room::over(around);
        version(&opened.path(""));
        room = Some(opened);
    }
    println!("{broken_off} of {KILLS} kills came while files were written");
    assert!(broken_off > KILLS / 20, "only {broken_off} of {KILLS} kills came while files were written");
}
