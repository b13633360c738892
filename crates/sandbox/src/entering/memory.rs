//! How much memory the processes of a sandbox hold together.
//!
//! It reads files of `/proc` and stops nothing. Memory that several processes share counts once. What only files hold
//! counts as well: System V objects, and the files of the private folder, which are in memory at level `full`. No other
//! memory can be held without a mapping: the filter of system calls refuses the calls for it.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::Pid;

use crate::policy::PRIVATE;

/// What the kernel needs for a thread.
const THREAD_BYTES: u64 = 32 << 10;
/// The tables of System V objects, and which columns count how many bytes.
const TABLES: [(&str, &[(usize, u64)]); 3] =
    [("shm", &[(14, 1), (15, 1)]), ("msg", &[(3, 1), (4, 64)]), ("sem", &[(3, 64)])];
/// How shared memory without a file is named in a list of mappings.
const SHARED: [&str; 2] = ["/dev/zero", "[anon_shmem:"];
/// A clone that shares the memory, waits until the other one has its own, and makes no thread.
const WAITS_AND_SHARES: i32 = libc::CLONE_VM | libc::CLONE_VFORK;

/// What a sandbox holds.
pub(super) struct HeldMemory {
    pub(super) bytes: u64,
    /// Whether every mapping was read. Otherwise shared memory counts once for each process.
    pub(super) is_exact: bool,
}

/// Counts the memory of these processes. `inner` is the inner process of level `full`. The exact count is made only if
/// the quick one, which is never lower, is above the limit.
pub(super) fn count(processes: &[String], inner: Option<Pid>, limit: u64) -> HeldMemory {
    let private = inner.map(|inner| PathBuf::from(format!("/proc/{}/root{PRIVATE}", inner.as_raw_nonzero())));
    let objects = private.as_deref().map_or(0, |private| object_bytes() + stored_bytes(private));
    let quick =
        processes.iter().filter_map(|process| HeldProcess::read(process)).map(|held| held.most_bytes());
    let quick = objects + quick.sum::<u64>();
    if quick <= limit {
        return HeldMemory { bytes: quick, is_exact: false };
    }
    // A parent that waits is looked at before the sizes: then a child that is new meanwhile is not among `processes`, and
    // one that has just got a memory of its own is too little for a moment, and never too much.
    let waiting: Vec<u64> = processes.iter().map(|process| waiting_threads(process)).collect();
    let exact = processes.iter().zip(waiting).filter_map(|(process, waiting)| {
        let held = HeldProcess::read(process)?;
        let own = held.exact_bytes();
        // Each child for which a thread waits has the same memory, and was counted as well.
        Some((own + held.overhead_bytes(), own * waiting))
    });
    let (own, twice) = exact.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    HeldMemory { bytes: (objects + own).saturating_sub(twice), is_exact: true }
}

/// One process: the folder of a thread of it that still has its memory, and the numbers there.
struct HeldProcess {
    folder: PathBuf,
    status: String,
}

impl HeldProcess {
    /// None if the process has no memory any more.
    fn read(process: &str) -> Option<HeldProcess> {
        let of = |folder: PathBuf| {
            let status = fs::read_to_string(folder.join("status")).ok()?;
            status.contains("\nRssAnon:").then_some(HeldProcess { folder, status })
        };
        let folder = Path::new("/proc").join(process);
        // The first thread may have ended before the others.
        of(folder.clone()).or_else(|| {
            fs::read_dir(folder.join("task")).ok()?.flatten().find_map(|thread| of(thread.path()))
        })
    }

    /// A number of the status, in kilobytes if it is a size.
    fn number(&self, name: &str) -> u64 {
        let line = self.status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.and_then(|line| line.split_ascii_whitespace().next()?.parse().ok()).unwrap_or(0)
    }

    /// What the kernel needs to keep it: page tables and threads.
    fn overhead_bytes(&self) -> u64 {
        (self.number("VmPTE") << 10) + self.number("Threads") * THREAD_BYTES
    }

    /// All that it holds, what it shares with others included.
    fn most_bytes(&self) -> u64 {
        let sizes = ["RssAnon", "RssShmem", "VmSwap", "HugetlbPages"].map(|name| self.number(name) << 10);
        sizes.iter().sum::<u64>() + self.overhead_bytes()
    }

    /// Its part of what it holds.
    fn exact_bytes(&self) -> u64 {
        let maps = fs::read_to_string(self.folder.join("smaps"));
        // A process may close its mappings to others of its user.
        maps.map_or_else(|_| self.most_bytes() - self.overhead_bytes(), |maps| mapped_bytes(&maps))
    }
}

/// A process's part of the memory behind its mappings. Of files and System V objects only the pages count that are the
/// process's own: the others are on a disk or counted elsewhere.
fn mapped_bytes(maps: &str) -> u64 {
    let (mut kilobytes, mut is_memory) = (0, true);
    for line in maps.lines() {
        let mut columns = line.split_ascii_whitespace();
        let (Some(first), Some(second)) = (columns.next(), columns.next()) else { continue };
        match first {
            "Pss:" if is_memory => kilobytes += second.parse().unwrap_or(0),
            "Anonymous:" if !is_memory => kilobytes += second.parse().unwrap_or(0),
            "SwapPss:" | "Private_Hugetlb:" | "Shared_Hugetlb:" => kilobytes += second.parse().unwrap_or(0),
            field if field.ends_with(':') => {}
            _ => {
                // A line of its own begins each mapping: its range, rights, place in the file, device, file and name.
                let mut columns = columns.skip(2);
                let (file, name) = (columns.next(), columns.next().unwrap_or_default());
                is_memory = file == Some("0") || SHARED.iter().any(|shared| name.starts_with(shared));
            }
        }
    }
    kilobytes << 10
}

/// How many threads of a process wait for a child that still uses their memory.
fn waiting_threads(process: &str) -> u64 {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { return 0 };
    let waits = threads.flatten().filter(|thread| {
        fs::read_to_string(thread.path().join("syscall")).is_ok_and(|call| waits_and_shares(&call))
    });
    u64::try_from(waits.count()).unwrap_or(0)
}

/// Whether a system call, as the kernel shows it, is one that starts a process which shares the memory until it has its
/// own.
fn waits_and_shares(call: &str) -> bool {
    let mut columns = call.split_ascii_whitespace();
    let number = columns.next().and_then(|number| number.parse::<i64>().ok());
    let flags = columns.next().and_then(|flags| u64::from_str_radix(flags.trim_start_matches("0x"), 16).ok());
    let has = |bits: i32| {
        let bits = u64::from(bits.unsigned_abs());
        flags.is_some_and(|flags| flags & bits == bits)
    };
    #[cfg(target_arch = "x86_64")]
    if number == Some(libc::SYS_vfork) {
        return true;
    }
    number == Some(libc::SYS_clone) && has(WAITS_AND_SHARES) && !has(libc::CLONE_THREAD)
}

/// Bytes of the System V objects of this process's namespace.
fn object_bytes() -> u64 {
    let of = |(table, columns): (&str, &[(usize, u64)])| {
        let lines = fs::read_to_string(format!("/proc/sysvipc/{table}")).unwrap_or_default();
        let rows = lines.lines().skip(1).map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
        let row = |row: Vec<&str>| -> u64 {
            let bytes = columns.iter().map(|(column, each)| {
                row.get(*column)
                    .and_then(|number| number.parse::<u64>().ok())
                    .unwrap_or(0)
                    .saturating_mul(*each)
            });
            bytes.sum()
        };
        rows.map(row).sum::<u64>()
    };
    TABLES.into_iter().map(of).sum()
}

/// Bytes of the files on the file system at a path.
fn stored_bytes(path: &Path) -> u64 {
    rustix::fs::statvfs(path)
        .map_or(0, |found| (found.f_blocks - found.f_bfree).saturating_mul(found.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_counts_as_far_as_it_is_memory() {
        let mapping = |name: &str, file: u32| {
            format!(
                "55d0c0a00000-55d0c0b00000 rw-p 00000000 fe:00 {file}    {name}\nSize: 1024 kB\nRss: 512 kB\nPss:   \
                 100 kB\nPss_Dirty: 7 kB\nAnonymous:  8 kB\nPrivate_Hugetlb: 0 kB\nSwapPss: 1 kB\nVmFlags: rd wr\n"
            )
        };
        for (name, file, kilobytes) in [
            ("", 0, 101),
            ("[heap]", 0, 101),
            ("/dev/zero (deleted)", 17, 101),
            ("[anon_shmem:x]", 17, 101),
            ("/usr/lib/libc.so.6", 17, 9),
            ("/SYSV00000000 (deleted)", 17, 9),
            ("/tmp/of a program", 17, 9),
        ] {
            assert_eq!(mapped_bytes(&mapping(name, file)), kilobytes << 10, "{name}");
        }
        assert_eq!(mapped_bytes(&(mapping("", 0) + &mapping("/x", 5))), 110 << 10);
    }

    #[test]
    fn only_a_child_that_shares_the_memory_for_a_moment_is_waited_for() {
        let of = |flags: i32| waits_and_shares(&format!("{} {flags:#x} 0x0 0x0", libc::SYS_clone));
        assert!(of(WAITS_AND_SHARES | 17));
        // A thread that is waited for is no process that would be counted.
        assert!(!of(WAITS_AND_SHARES | libc::CLONE_THREAD));
        assert!(!of(libc::CLONE_VFORK) && !of(libc::CLONE_VM));
        assert!(
            !waits_and_shares("running\n") && !waits_and_shares("-1 0x4111 0x0\n") && !waits_and_shares("")
        );
    }
}
