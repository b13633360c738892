//! What a sandboxed program may do, as plain data, and the two levels of keeping it to that.
//!
//! This file opens nothing and decides nothing about paths: the helper does, when it starts.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::limits;

/// What a program in a sandbox may do. Everything else is refused.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SandboxPolicy {
    /// Files and folders that it may read and run, in addition to the system's and its own program.
    pub read: Vec<PathBuf>,
    /// Folders in which it may also write.
    pub write: Vec<PathBuf>,
    /// One more folder in which it may write, even if it is inside of something that must stay outside.
    pub own: Option<PathBuf>,
    /// A folder that stays closed, also if a folder in `read` contains it. Its names can be seen, and no file in it be read.
    pub hidden: Option<PathBuf>,
    /// Files that no path above may contain outside the hidden folder, after symlinks are resolved. If one does, nothing is
    /// started.
    pub keep_out: Vec<PathBuf>,
    /// Files that no writable folder may contain, for example the programs of listeners.
    pub protect: Vec<PathBuf>,
    /// Addresses of the network that it may reach through a proxy, as `host:port`. Only level `full` has the proxy.
    pub net: Vec<String>,
    /// Most processes at the same time, the program included.
    pub processes: u32,
    /// Most memory that the program and all that it starts may hold together, in bytes.
    pub memory_bytes: u64,
    /// Size of the largest file that it may write, in bytes.
    pub output_bytes: u64,
    /// Whether it may open paths below a folder with `openat2`. A filter cannot see the mode of a file that the call
    /// makes, so programs of others are told that there is no such call.
    pub opens_below: bool,
}

impl Default for SandboxPolicy {
    /// Nothing but the system's folders and a private one, with the default limits.
    fn default() -> SandboxPolicy {
        SandboxPolicy {
            read: Vec::new(),
            write: Vec::new(),
            own: None,
            hidden: None,
            keep_out: Vec::new(),
            protect: Vec::new(),
            net: Vec::new(),
            processes: limits::DEFAULT_PROCESSES,
            memory_bytes: limits::DEFAULT_MEMORY_BYTES,
            output_bytes: limits::DEFAULT_OUTPUT_BYTES,
            opens_below: false,
        }
    }
}

/// How a program is kept to its policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SandboxLevel {
    /// Namespaces of its own, Landlock, seccomp and limits.
    Full,
    /// Landlock, seccomp and limits, where the system refuses namespaces.
    Landlock,
}

impl SandboxLevel {
    /// Its name, as logs and pages have it.
    pub const fn as_str(self) -> &'static str {
        match self {
            SandboxLevel::Full => "full",
            SandboxLevel::Landlock => "landlock",
        }
    }
}

/// Folders of the system that every program may read and run.
pub(crate) const SYSTEM: [&str; 9] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"];

/// Files and folders of the system's configuration that programs need; the rest of `/etc` may hold secrets.
pub(crate) const CONFIGURATION: [&str; 17] = [
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust/extracted",
    "/etc/alternatives",
    "/etc/localtime",
    "/etc/timezone",
    "/etc/passwd",
    "/etc/group",
    "/etc/nsswitch.conf",
    "/etc/hosts",
    "/etc/resolv.conf",
    "/etc/mime.types",
    "/etc/os-release",
];

/// Devices that every program may use. Not `/dev/zero`: a shared mapping of it holds memory that cannot be counted.
pub(crate) const DEVICES: [&str; 4] = ["/dev/null", "/dev/full", "/dev/random", "/dev/urandom"];

/// Files of `/proc` that are readable where there is no `/proc` of the program's own.
pub(crate) const PROC: [&str; 4] = ["/proc/self", "/proc/meminfo", "/proc/cpuinfo", "/proc/stat"];

/// The private folder at level `full`, inside the sandbox.
pub(crate) const PRIVATE: &str = "/private";
