//! Counts what a sandbox uses: its processes, and the memory that they hold together. The system's own limits bind each
//! process alone, and some do not bind the superuser, so the outer process looks, at both levels.

use std::fs;
use std::path::Path;

use rustix::event::Timespec;
use rustix::process::Pid;
use rustix::time::{ClockId, clock_gettime};

use super::{EntryOrder, memory};
use crate::limits;
use crate::policy::SandboxLevel;

/// What one look found.
pub(super) struct SandboxLook {
    /// Why the sandbox must end, in words.
    pub(super) excess: Option<String>,
    /// How long to wait before the next look.
    pub(super) pause: Timespec,
}

/// Checks that the kernel shows the processes of a sandbox.
pub(super) fn check_support() -> Result<(), String> {
    match Path::new("/proc/thread-self/children").exists() {
        true => Ok(()),
        false => {
            Err("this kernel does not list the children of a process, so nothing could be counted".into())
        }
    }
}

/// Looks at the processes of a sandbox.
pub(super) fn look_inside(order: &EntryOrder, inner: Pid) -> SandboxLook {
    let most = usize::try_from(order.policy.processes).unwrap_or(usize::MAX);
    // At level `full` the inner process adopts all others, and the proxy is not among them. At level `landlock` it is
    // the program, and the outer process adopts.
    let first = match order.level {
        SandboxLevel::Full => inner.as_raw_nonzero().to_string(),
        SandboxLevel::Landlock => "self".to_owned(),
    };
    let limit = order.policy.memory_bytes;
    let begin = measure_work_ms();
    let adopter = (order.level == SandboxLevel::Full).then_some(inner);
    for _ in 0..limits::LOOKS_ABOVE {
        let processes = list_descendants(&first, most.saturating_add(1));
        if processes.len() > most {
            return SandboxLook::new_ending(format!("more than {most} processes at once; all were ended"));
        }
        if memory::count_memory(&processes, adopter, limit) <= limit {
            let took = measure_work_ms().saturating_sub(begin);
            return SandboxLook { excess: None, pause: make_pause(pause_ms(took)) };
        }
    }
    SandboxLook::new_ending(format!("more than {} MiB of memory together; all were ended", limit >> 20))
}

impl SandboxLook {
    fn new_ending(excess: String) -> SandboxLook {
        SandboxLook { excess: Some(excess), pause: make_pause(0) }
    }
}

/// The pause after a look that took so much work.
fn pause_ms(look_ms: u64) -> u64 {
    (look_ms * limits::LOOK_SHARE).clamp(limits::LOOK_PAUSE_MS, limits::LOOK_LONGEST_PAUSE_MS)
}

/// How long this process has worked. Unlike a clock, it does not count waits for a processor on a busy machine.
fn measure_work_ms() -> u64 {
    read_ms(ClockId::ProcessCPUTime)
}

/// What a clock of the system shows.
pub(super) fn read_ms(clock: ClockId) -> u64 {
    let shown = clock_gettime(clock);
    let number = |part: i64| u64::try_from(part).unwrap_or_default();
    number(shown.tv_sec) * 1000 + number(shown.tv_nsec) / 1_000_000
}

fn make_pause(ms: u64) -> Timespec {
    let number = |number: u64| i64::try_from(number).unwrap_or_default();
    Timespec { tv_sec: number(ms / 1000), tv_nsec: number(ms % 1000 * 1_000_000) }
}

/// The processes that descend from one, at most `most`.
fn list_descendants(first: &str, most: usize) -> Vec<String> {
    let (mut waiting, mut found) = (vec![first.to_owned()], Vec::new());
    while let Some(process) = waiting.pop() {
        // Any of its threads may be a parent.
        let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { continue };
        for thread in threads.flatten() {
            let Ok(children) = fs::read_to_string(thread.path().join("children")) else { continue };
            for child in children.split_ascii_whitespace() {
                found.push(child.to_owned());
                if found.len() >= most {
                    return found;
                }
                waiting.push(child.to_owned());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_that_takes_long_is_followed_by_a_longer_pause() {
        assert_eq!([0, 5, 10, 100, 9000].map(pause_ms), [20, 20, 40, 400, 1000]);
    }
}
