//! The ways out of a sandbox, each tried by a real program at both levels.

use std::process::{Command, Stdio};

use rustix::process::Signal;
use systole_sandbox::SandboxLevel;

use super::{BOTH, Scene, everywhere};
use crate::program::Running;

/// Ways that are refused at both levels.
const FILES: [&str; 12] = [
    "read",
    "list",
    "write",
    "append",
    "mkdir",
    "unlink",
    "rename",
    "hard-link",
    "link-out",
    "race",
    "truncate",
    "system",
];
const SOCKETS: [&str; 7] = ["tcp", "tcp6", "udp", "raw", "unix", "netlink", "datagram-pair"];
const PROCESSES: [&str; 16] = [
    "ptrace",
    "memory-of-others",
    "write-others",
    "file-of-others",
    "environment-of-others",
    "kill",
    "limits-of-others",
    "priority-of-others",
    "policy-of-others",
    "processors-of-others",
    "io-of-others",
    "priority-of-group",
    "guardian",
    "limits-of-guardian",
    "processors-of-guardian",
    "policy-of-sandbox",
];
const KERNEL: [&str; 23] = [
    "io-uring",
    "memfd",
    "vmsplice",
    "page-out",
    "shared-pages",
    "shared-validated-pages",
    "shared-zeros",
    "unshare",
    "clone",
    "clone3",
    "setns",
    "mount",
    "chroot",
    "tty-input",
    "bpf",
    "keys",
    "personality",
    "handle",
    "x32",
    "chmod-setid",
    "make-setid",
    "device",
    "setting",
];
/// What is written about a file, and not in it: Landlock does not see it.
const METADATA: [&str; 5] = ["see", "chmod", "chown", "utime", "xattr"];

#[test]
fn g2_files_outside_are_refused_at_both_levels() {
    for (level, scene) in everywhere() {
        scene.refuses(level, &FILES);
        assert_eq!(std::fs::read_to_string(scene.path("outside/planted")).unwrap(), "secret");
        assert!(scene.path("outside/own").exists() && !scene.path("outside/made").exists());
    }
}

#[test]
fn g2_a_program_does_its_own_work_at_both_levels() {
    for (level, scene) in everywhere() {
        scene.allows(
            level,
            &["own-file", "writable", "pair", "child", "own-priority", "private-pages", "shared-file"],
        );
        assert_eq!(std::fs::read_to_string(scene.path("writable/made")).unwrap(), "x");
    }
}

#[test]
fn g2_every_socket_but_a_local_pair_is_refused_at_both_levels() {
    everywhere().for_each(|(level, scene)| scene.refuses(level, &SOCKETS));
}

#[test]
fn g2_other_processes_are_out_of_reach_at_both_levels() {
    everywhere().for_each(|(level, scene)| scene.refuses(level, &PROCESSES));
}

#[test]
fn g2_calls_that_could_open_the_sandbox_are_refused_at_both_levels() {
    for (level, scene) in everywhere() {
        scene.refuses(level, &KERNEL);
        // A pipe has no terminal: only the filter says EPERM.
        let refused = ["tty-input", "x32", "unshare", "shared-pages", "shared-validated-pages"];
        let absent = ["io-uring", "clone3", "memfd"];
        let errors = scene.attack(Some(level), &[&refused[..], &absent[..]].concat());
        let of = |way: &str| errors[way].as_str();
        for refused in refused {
            assert_eq!(of(refused), "refused EPERM", "{refused}");
        }
        for absent in absent {
            assert_eq!(of(absent), "refused ENOSYS", "{absent}");
        }
    }
}

#[test]
fn g2_what_is_written_about_a_file_is_refused_at_level_full_and_remains_at_level_landlock() {
    for (level, scene) in everywhere() {
        match level {
            SandboxLevel::Full => scene.refuses(level, &METADATA),
            // If one of these is refused one day, the page of limits and `doctor` are out of date.
            SandboxLevel::Landlock => scene.allows(level, &METADATA),
        }
    }
}

#[test]
fn g2_memory_and_file_sizes_are_limited_at_both_levels() {
    for (level, scene) in everywhere() {
        let results = scene.attack(Some(level), &["memory", "big-file"]);
        assert_eq!(results["memory"], "refused ENOMEM");
        assert_eq!(results["big-file"], "refused EFBIG");
    }
}

#[test]
fn g2_without_an_own_namespace_a_program_cannot_leave_its_group_or_share_memory() {
    for (level, scene) in everywhere() {
        match level {
            SandboxLevel::Full => scene.allows(level, &["session", "shared-memory"]),
            SandboxLevel::Landlock => scene.refuses(level, &["session", "shared-memory"]),
        }
    }
}

#[test]
fn g2_a_signal_to_all_processes_reaches_none_outside_at_both_levels() {
    let canary = "trap 'echo hit' URG; trap 'echo asked' USR1; echo ready; while :; do sleep 0.05; done";
    let mut command = Command::new("sh");
    command.args(["-c", canary]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut canary = Running::of(command.spawn().unwrap());
    canary.shows("ready");
    for level in BOTH {
        Scene::new().attack(Some(level), &["kill-all"]);
    }
    canary.signal(Signal::USR1);
    canary.shows("asked");
    // It would have said so: a signal of our own is heard.
    canary.signal(Signal::URG);
    canary.shows("hit");
    canary.signal(Signal::KILL);
    assert_eq!(canary.end().stdout, "ready\nasked\nhit\n");
}

/// Without this test the others could pass because the attacker is broken.
#[test]
fn the_attacker_gets_out_where_there_is_no_sandbox() {
    let scene = Scene::new();
    let ways = [
        "read",
        "list",
        "write",
        "append",
        "mkdir",
        "hard-link",
        "link-out",
        "race",
        "see",
        "chmod",
        "utime",
        "tcp",
        "udp",
        "unix",
        "netlink",
        "datagram-pair",
        "environment-of-others",
        "kill",
        "personality",
        "limits-of-others",
        "priority-of-others",
        "policy-of-others",
        "processors-of-others",
        "io-of-others",
        "memfd",
        "vmsplice",
        "page-out",
        "shared-pages",
        "shared-zeros",
        "clone",
        "clone3",
        "handle",
        "chmod-setid",
        "make-setid",
        "session",
        "shared-memory",
        "big-file",
        "rename",
    ];
    let results = scene.attack(None, &ways);
    let refused: Vec<_> = results.iter().filter(|(_, result)| *result != "done").collect();
    assert!(refused.is_empty(), "{refused:?}");
}
