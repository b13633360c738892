//! The limits of a sandbox, each with its unit and reason.

use std::time::Duration;

// What a policy has unless it says otherwise

/// Processes of a program: its threads count too.
pub(crate) const DEFAULT_PROCESSES: u32 = 64;
/// Bytes of memory of a program and all that it starts.
pub(crate) const DEFAULT_MEMORY_BYTES: u64 = 4 << 30;
/// Bytes of the largest file that a process may write.
pub(crate) const DEFAULT_OUTPUT_BYTES: u64 = 1 << 30;

// The helper

/// Files that a process may have open at once: the usual number of the system.
pub(crate) const OPEN_FILES: u64 = 1024;
/// Bytes of an order to the helper. The system takes 128 KiB for one argument.
pub(crate) const ORDER_BYTES: usize = 100 << 10;
/// Bytes of what the helper reports, or a trial says: a few lines.
pub(crate) const REPORT_BYTES: u64 = 64 << 10;
/// Bytes of a script that only chooses another program: a longer one does more.
pub(crate) const SCRIPT_BYTES: u64 = 8 << 10;
/// Symlinks of one path: the kernel follows no more.
pub(crate) const SYMLINKS: u32 = 40;
/// Names to try for a private folder: another process may have taken one.
pub(crate) const PRIVATE_NAMES: u32 = 64;
/// Milliseconds that a program has to end by itself when the process that started it is gone.
pub(crate) const GRACE_MS: u64 = 500;

// Counting processes and memory

/// Milliseconds between two looks: a program that grows fast is seen in time.
pub(crate) const LOOK_PAUSE_MS: u64 = 20;
/// Milliseconds after a look that takes long: a limit binds within about a second.
pub(crate) const LOOK_LONGEST_PAUSE_MS: u64 = 1000;
/// Times that the pause is longer than a slow look, so that looking keeps no processor busy.
pub(crate) const LOOK_SHARE: u64 = 4;
/// Counts of memory that must all be above the limit: processes may end while one is made.
pub(crate) const LOOKS_ABOVE: u32 = 3;
/// Bytes that the kernel needs for a thread.
pub(crate) const THREAD_BYTES: u64 = 32 << 10;
/// Processes that are told apart: a filter of core dumps holds smaller numbers only.
pub(crate) const MARKED_PROCESSES: usize = 1 << 9;

// The proxy

/// Connections at once: each has two threads.
pub(crate) const PROXY_CONNECTIONS: usize = 64;
/// Bytes of the head of a request: no client sends more.
pub(crate) const PROXY_HEAD_BYTES: usize = 16 << 10;
/// How long to wait for the head of a request, and for a connection to its address.
pub(crate) const PROXY_PATIENCE: Duration = Duration::from_secs(10);
/// How long a connection may be silent: a program may wait for an answer.
pub(crate) const PROXY_SILENCE: Duration = Duration::from_secs(300);
