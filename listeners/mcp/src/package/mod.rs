//! Servers that are packages of npm or of Python's index: what the file asks for, what a lock names, and what differs
//! between two lists of packages.
//!
//! Texts come in; values go out. Nothing here installs, starts or reads a file.

mod changes;
mod lock;
mod record;
mod request;

pub use changes::compare_packages;
pub use lock::{LockFault, PackageLock};
pub use record::InstallRecord;
pub use request::{InstallRequest, PackageKind, RequestFault};
