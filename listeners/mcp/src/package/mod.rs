//! Servers that are packages of npm or of Python's index: what the file asks for, what a lock names, where the
//! files of a server are, and what differs between two lists of packages.
//!
//! Texts come in; values go out. Nothing here installs, starts or reads a file.

mod changes;
mod lock;
mod places;
mod record;
mod request;

pub use changes::compare_packages;
pub use lock::{LockFault, PackageLock};
pub use places::{RECORD, SERVERS, install_folder, lock_file, pin_file};
pub use record::InstallRecord;
pub use request::{InstallRequest, PackageKind, RequestFault};
