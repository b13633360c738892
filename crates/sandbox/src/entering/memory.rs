//! How much memory the processes of a sandbox hold together.
//!
//! It reads files of `/proc` and stops nothing. Memory that several processes share counts once. What only files hold
//! counts as well: System V objects, and the files of the private folder, which are in memory at level `full`. No other
//! memory can be held outside of page tables: the filter of system calls refuses the calls for it.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rustix::process::Pid;

use super::address_space::MarkedProcesses;
use crate::limits;
use crate::policy::PRIVATE;

/// The tables of System V objects, and which columns count how many bytes.
const TABLES: [(&str, &[(usize, u64)]); 3] =
    [("shm", &[(14, 1), (15, 1)]), ("msg", &[(3, 1), (4, 64)]), ("sem", &[(3, 64)])];
/// How shared memory without a file is named in a list of mappings.
const SHARED: [&str; 2] = ["/dev/zero", "[anon_shmem:"];

/// Counts the memory of these processes, in bytes. `inner` is the inner process of level `full`. The exact count is made
/// only if the quick one, which is never lower, is above the limit.
pub(super) fn count_memory(processes: &[String], inner: Option<Pid>, limit: u64) -> u64 {
    let private = inner.map(|inner| PathBuf::from(format!("/proc/{}/root{PRIVATE}", inner.as_raw_nonzero())));
    let objects = private.as_deref().map_or(0, |private| count_object_bytes() + count_stored_bytes(private));
    let held: Vec<HeldProcess<'_>> =
        processes.iter().filter_map(|process| HeldProcess::read_process(process)).collect();
    let quick = objects + held.iter().map(HeldProcess::most_bytes).sum::<u64>();
    if quick <= limit {
        return quick;
    }
    let marked = MarkedProcesses::mark_processes(held.iter().map(|process| &*process.folder));
    // Processes with the same memory count once. The largest counts, because one that starts another program at this
    // moment shows the old mark and has little.
    let mut exact = BTreeMap::new();
    for (number, process) in held.iter().enumerate() {
        let bytes = process.exact_bytes();
        let most = exact.entry(marked.find_address_space(number)).or_insert(0);
        *most = bytes.max(*most);
    }
    let overhead: u64 = held.iter().map(HeldProcess::overhead_bytes).sum();
    objects + overhead + exact.values().sum::<u64>()
}

/// One process: the folder of a thread of it that still has its memory, and the numbers there.
struct HeldProcess<'p> {
    process: &'p str,
    folder: PathBuf,
    status: String,
}

impl HeldProcess<'_> {
    /// None if the process has no memory any more.
    fn read_process(process: &str) -> Option<HeldProcess<'_>> {
        let of = |folder: PathBuf| {
            let status = fs::read_to_string(folder.join("status")).ok()?;
            status.contains("\nRssAnon:").then_some(HeldProcess { process, folder, status })
        };
        let proc = Path::new("/proc");
        // The first thread may have ended before the others. Each has a folder like that of a process.
        of(proc.join(process)).or_else(|| {
            let mut threads = fs::read_dir(proc.join(process).join("task")).ok()?.flatten();
            threads.find_map(|thread| of(proc.join(thread.file_name())))
        })
    }

    /// A number of the status, in kilobytes if it is a size.
    fn read_number(&self, name: &str) -> u64 {
        let line = self.status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.and_then(|line| line.split_ascii_whitespace().next()?.parse().ok()).unwrap_or(0)
    }

    /// What the kernel needs to keep it: page tables and threads.
    fn overhead_bytes(&self) -> u64 {
        (self.read_number("VmPTE") << 10) + self.read_number("Threads") * limits::THREAD_BYTES
    }

    /// All that it holds, what it shares with others included.
    fn most_bytes(&self) -> u64 {
        let sizes =
            ["RssAnon", "RssShmem", "VmSwap", "HugetlbPages"].map(|name| self.read_number(name) << 10);
        sizes.iter().sum::<u64>() + self.overhead_bytes()
    }

    /// Its part of what it holds.
    fn exact_bytes(&self) -> u64 {
        let resident = |held: &HeldProcess<'_>| held.most_bytes() - held.overhead_bytes();
        match fs::read_to_string(self.folder.join("smaps")) {
            Ok(maps) if !maps.is_empty() => count_mapped_bytes(&maps),
            // A process may close its mappings to others of its user.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => resident(self),
            // The thread has ended since its status was read, and the process may have others.
            _ => HeldProcess::read_process(self.process).as_ref().map_or(0, resident),
        }
    }
}

/// A process's part of the memory behind its mappings. Of files and System V objects only the pages count that are the
/// process's own: the others are on a disk or counted elsewhere.
fn count_mapped_bytes(maps: &str) -> u64 {
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

/// Bytes of the System V objects of this process's namespace.
fn count_object_bytes() -> u64 {
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
fn count_stored_bytes(path: &Path) -> u64 {
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
            assert_eq!(count_mapped_bytes(&mapping(name, file)), kilobytes << 10, "{name}");
        }
        assert_eq!(count_mapped_bytes(&(mapping("", 0) + &mapping("/x", 5))), 110 << 10);
    }
}
