//! Counts the processes of a sandbox. The system's own limit does not bind the superuser, so we look.

use std::fs;

use rustix::event::Timespec;

/// The pause between two looks.
pub(super) const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// How many processes a `/proc` shows that belongs to the sandbox alone.
pub(super) fn shown() -> usize {
    let Ok(all) = fs::read_dir("/proc") else { return 0 };
    all.flatten().filter(|entry| entry.file_name().to_str().is_some_and(is_number)).count()
}

fn is_number(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_digit())
}

/// How many processes descend from this one, at most `most`.
pub(super) fn descendants(most: usize) -> usize {
    let mut waiting = vec!["self".to_owned()];
    let mut count = 0;
    while let Some(process) = waiting.pop() {
        // Any of its threads may be a parent.
        let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { continue };
        for thread in threads.flatten() {
            let Ok(children) = fs::read_to_string(thread.path().join("children")) else { continue };
            for child in children.split_ascii_whitespace() {
                count += 1;
                if count >= most {
                    return count;
                }
                waiting.push(child.to_owned());
            }
        }
    }
    count
}
