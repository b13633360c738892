//! Where the files of a server are, from the organism's folder: its pin, its lock, and the folder in which it is installed.

use super::request::PackageKind;

/// The folder of all installed servers, from the organism's folder.
pub const SERVERS: &str = ".systole/mcp";
/// The file in the folder of a server that says what was installed there.
pub const RECORD: &str = "installed.json";

/// The folder in which a server is installed, from the organism's folder.
#[must_use]
pub fn install_folder(listener: &str) -> String {
    format!("{SERVERS}/{listener}")
}

/// The path of the lock of a server, from the organism's folder.
#[must_use]
pub fn lock_file(listener: &str, kind: PackageKind) -> String {
    format!("schemas/mcp/{listener}.{}", kind.lock_ending())
}

/// The path of the pin of a server, from the organism's folder.
#[must_use]
pub fn pin_file(listener: &str) -> String {
    format!("schemas/mcp/{listener}.pin.json")
}
