//! Folders that belong to the system, to a person or to many programs. A program that may write one can change far more
//! than its own work, so this is a warning.
//!
//! Input: a path. Output: what it is, in words. This module opens nothing.

use std::path::{Component, Path};

use super::diagnostic::Diagnostic;
use super::diagnostics::Diagnostics;
use super::value::At;
use systole_core::types::codes::Code;

/// Folders of the system, with all that is in them.
const OF_SYSTEM: [&str; 13] = [
    "/bin", "/boot", "/dev", "/etc", "/gnu", "/lib", "/lib32", "/lib64", "/nix", "/proc", "/sbin", "/sys",
    "/usr",
];
/// Folders that many programs share. What is in them may belong to one.
const SHARED: [&str; 13] = [
    "/",
    "/home",
    "/media",
    "/mnt",
    "/opt",
    "/run",
    "/srv",
    "/tmp",
    "/var",
    "/var/cache",
    "/var/lib",
    "/var/log",
    "/var/tmp",
];
/// Folders with the homes of persons, and the home of the superuser.
const HOMES: [&str; 2] = ["/home", "/Users"];
const SUPERUSER: &str = "/root";

/// A warning if a program may write such a folder. `real` is its path without symlinks; what is in the organism's own
/// folder is never one.
pub(super) fn warning(
    diagnostics: &Diagnostics,
    (path, named): (&str, &At<String>),
    (real, directory): (&Path, &Path),
) -> Option<(usize, Diagnostic)> {
    if directory.canonicalize().is_ok_and(|directory| real.starts_with(directory)) {
        return None;
    }
    let message = format!("{path}: `{}` is {}, and the program may write it", named.value, kind(real)?);
    let fix = Some("a folder for this program alone, as ./out");
    let place = diagnostics.place(named.at);
    Some((named.at.start, Diagnostic::new(Code::ConfigSharedFolder, place, &message, fix)))
}

/// What a folder is. `None` if it belongs to one program, as far as its path tells.
fn kind(path: &Path) -> Option<&'static str> {
    if OF_SYSTEM.iter().any(|folder| path.starts_with(folder)) {
        return Some("a folder of the system");
    }
    if SHARED.iter().any(|folder| path == Path::new(folder)) {
        return Some("a folder that programs share");
    }
    let below = match path.strip_prefix(SUPERUSER) {
        Ok(below) => below,
        Err(_) => {
            let below = HOMES.iter().find_map(|homes| path.strip_prefix(homes).ok())?;
            below.strip_prefix(below.components().next()?).ok()?
        }
    };
    match below.components().next() {
        None => Some("a person's home"),
        Some(Component::Normal(name)) if name.to_string_lossy().starts_with('.') => {
            Some("a folder of a person's settings")
        }
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_not_one_programs_is_known() {
        for (path, wanted) in [
            ("/etc/nginx", Some("a folder of the system")),
            ("/usr", Some("a folder of the system")),
            ("/", Some("a folder that programs share")),
            ("/tmp", Some("a folder that programs share")),
            ("/root", Some("a person's home")),
            ("/home/ann", Some("a person's home")),
            ("/root/.ssh", Some("a folder of a person's settings")),
            ("/home/ann/.config/x", Some("a folder of a person's settings")),
            ("/home/ann/work", None),
            ("/tmp/x", None),
            ("/var/lib/x", None),
            ("/etcetera", None),
            ("/data", None),
        ] {
            assert_eq!(kind(Path::new(path)), wanted, "{path}");
        }
    }
}
