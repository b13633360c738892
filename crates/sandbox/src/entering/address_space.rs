//! Which processes have the same memory, such as a parent and its child of `vfork`.
//!
//! The kernel keeps the filter of core dumps in the memory of a process, so processes with the same memory show the same
//! filter. This file writes another number to each process, reads them all back, and restores the filter. A program in a
//! sandbox cannot write it, because its `/proc` is read-only.

use std::fs;
use std::path::{Path, PathBuf};

use crate::limits;

/// The memory of a process. Equal for two processes only if they have the same one, or if one of them has got its own
/// since the processes were marked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum AddressSpace {
    /// The process that this one shows the number of.
    Marked(usize),
    /// A process that could not be marked, for example because it closes its files in `/proc` to others.
    Unknown(usize),
}

/// Processes, each with its number written to it.
pub(super) struct MarkedProcesses {
    /// The filter of each. `None` if the number was not written.
    filters: Vec<Option<PathBuf>>,
}

impl MarkedProcesses {
    /// Writes a number to each process. Takes their folders in `/proc`.
    pub(super) fn mark_processes<'p>(folders: impl Iterator<Item = &'p Path>) -> MarkedProcesses {
        let filters = folders.enumerate().map(|(number, folder)| {
            let filter = folder.join("coredump_filter");
            (number < limits::MARKED_PROCESSES && fs::write(&filter, number.to_string()).is_ok())
                .then_some(filter)
        });
        MarkedProcesses { filters: filters.collect() }
    }

    /// The memory that a process has now.
    pub(super) fn find_address_space(&self, process: usize) -> AddressSpace {
        let filter = self.filters.get(process).and_then(Option::as_ref);
        let read = filter.and_then(|filter| fs::read_to_string(filter).ok());
        let marked = read.and_then(|text| usize::from_str_radix(text.trim(), 16).ok());
        marked.map_or(AddressSpace::Unknown(process), AddressSpace::Marked)
    }
}

impl Drop for MarkedProcesses {
    fn drop(&mut self) {
        // They have it from this process, and cannot have changed it.
        let Ok(own) = fs::read_to_string("/proc/self/coredump_filter") else { return };
        for filter in self.filters.iter().flatten() {
            // A process that has ended has no filter.
            let _gone = fs::write(filter, format!("0x{}", own.trim()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn only_processes_with_the_same_memory_show_the_same_number() {
        let start = || Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut children = [start(), start()];
        let folder = |process: u32| PathBuf::from(format!("/proc/{process}"));
        let [one, other] = [&children[0], &children[1]].map(|child| folder(child.id()));
        let own = fs::read_to_string(one.join("coredump_filter")).unwrap();
        let absent = folder(u32::MAX);
        let marked = MarkedProcesses::mark_processes([&*one, &*other, &*one, &*absent].into_iter());
        let spaces = [0, 1, 2, 3].map(|process| marked.find_address_space(process));
        let (shared, single) = (AddressSpace::Marked(2), AddressSpace::Marked(1));
        assert_eq!(spaces, [shared, single, shared, AddressSpace::Unknown(3)]);
        drop(marked);
        assert_eq!(fs::read_to_string(one.join("coredump_filter")).unwrap(), own);
        for child in &mut children {
            drop(child.stdin.take());
            child.wait().unwrap();
        }
    }
}
