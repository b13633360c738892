//! Why a server could not be installed: what is wrong, and the fix.
//!
//! In: the last words of a package manager, or the error of a file. Out: a fault. The caller words the errors of the
//! system.

use std::io::Error;
use std::path::{Path, PathBuf};

use crate::package::LockFault;

/// Why a server could not be installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallFault {
    /// Something of this machine is missing.
    #[error("{words}")]
    Unavailable {
        /// What is missing.
        words: String,
        /// The fix.
        fix: String,
    },
    /// What was found cannot be used.
    #[error("{words}")]
    Unusable {
        /// What is wrong with it.
        words: String,
        /// The fix.
        fix: String,
    },
    /// A file was not read.
    #[error("{}: {error}", path.display())]
    Unread {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        error: Error,
        /// The fix.
        fix: String,
    },
    /// A file or a folder was not written.
    #[error("{}: {error}", path.display())]
    Unwritten {
        /// The file or the folder.
        path: PathBuf,
        /// The error of the system.
        error: Error,
    },
}

impl InstallFault {
    /// Something of this machine is missing.
    pub fn new_unavailable(words: impl Into<String>, fix: impl Into<String>) -> InstallFault {
        InstallFault::Unavailable { words: words.into(), fix: fix.into() }
    }

    /// What was found cannot be used.
    pub(super) fn new_unusable(words: impl Into<String>, fix: impl Into<String>) -> InstallFault {
        InstallFault::Unusable { words: words.into(), fix: fix.into() }
    }

    /// A file or a folder was not written.
    pub(super) fn from_write_error(path: &Path, error: Error) -> InstallFault {
        InstallFault::Unwritten { path: path.to_owned(), error }
    }
}

impl From<LockFault> for InstallFault {
    fn from(fault: LockFault) -> InstallFault {
        let words = format!("the packages cannot be used: {fault}");
        InstallFault::new_unusable(words, "name another version, or another server")
    }
}

/// A sign in the last words of a package manager, what it means, and the fix.
struct KnownSign {
    signs: &'static [&'static str],
    means: &'static str,
    fix: &'static str,
}

/// In the order in which they are looked for: a network that fails makes a package unknown as well.
const KNOWN: [KnownSign; 10] = [
    KnownSign {
        signs: &["EINTEGRITY", "DO NOT MATCH THE HASHES", "THESE PACKAGES DO NOT MATCH"],
        means: "an archive of the registry does not have the hash that is expected",
        fix: "ask who changed it; if its version is an old one, systole mcp pin NAME --upgrade takes the newest",
    },
    KnownSign {
        signs: &["pip may start no program here"],
        means: "it needs a package that is not built yet, and building one runs its code",
        fix: "name another version, or a server whose packages are all wheels",
    },
    KnownSign {
        signs: &["EALLOWGIT", "An unknown git error occurred"],
        means: "it needs a package from git and not from the registry",
        fix: "name another version, or another server",
    },
    KnownSign {
        signs: &[
            "ENOTFOUND",
            "ECONNREFUSED",
            "ECONNRESET",
            "EAI_AGAIN",
            "ETIMEDOUT",
            "ERR_SOCKET",
            "ProxyError",
            "502 Bad Gateway",
            "NewConnectionError",
            "ConnectTimeout",
            "ReadTimeout",
            "Retrying (",
        ],
        means: "the registry cannot be reached",
        fix: "check the network, and the registry that npm and pip are set to; through a proxy only with `sandbox: none`",
    },
    KnownSign {
        signs: &["E401", "ENEEDAUTH", "401 Unauthorized", "401 Client Error"],
        means: "the registry wants a login",
        fix: "run npm login, or write the key into pip's configuration",
    },
    KnownSign {
        signs: &["E403", "403 Forbidden", "403 Client Error"],
        means: "the registry, or a proxy before it, refuses this package",
        fix: "ask who runs the registry; or check the key in the configuration of npm or pip",
    },
    // pip says the same of a package that is unknown and of one without a fit version.
    KnownSign {
        signs: &["(from versions: none)"],
        means: "the index cannot be reached, or has no such package for this machine",
        fix: "check the network and the name of the package; it also needs a wheel for this machine",
    },
    KnownSign {
        signs: &["ETARGET", "(from versions: ", "no version"],
        means: "the registry has no such version of this package",
        fix: "name another version, or none for the newest; a Python package also needs a wheel for this machine",
    },
    KnownSign {
        signs: &["E404", "No matching distribution found"],
        means: "the registry has no such package",
        fix: "write the name as the registry spells it",
    },
    KnownSign {
        signs: &["no such option: --report", "no such option: --dry-run"],
        means: "this pip is too old",
        fix: "run python3 -m pip install --upgrade pip, at least 22.2",
    },
];

/// Why a package manager failed, from its last words.
pub(super) fn explain_failure(package: &str, words: &str) -> InstallFault {
    let has = |known: &&KnownSign| known.signs.iter().any(|sign| words.contains(sign));
    match KNOWN.iter().find(has) {
        Some(KnownSign { means, fix, .. }) => {
            InstallFault::new_unavailable(format!("{package}: {means}{}", find_detail(words)), *fix)
        }
        None => InstallFault::new_unavailable(
            format!("{package} was not installed: {words}"),
            "do what the last words ask for, or name another version",
        ),
    }
}

/// The line that says most, behind the meaning.
fn find_detail(words: &str) -> String {
    let is_empty = |line: &&str| !line.is_empty() && !line.starts_with("code ");
    let lines = words.lines().map(|line| {
        let line = line.split("last words on stderr: ").last().unwrap_or(line).trim();
        line.trim_start_matches("npm error ")
            .trim_start_matches("npm ERR! ")
            .trim_start_matches("ERROR: ")
            .trim()
    });
    let first = lines.filter(is_empty).find(|line| line.len() > 8);
    first.map(|line| format!(" ({})", line.chars().take(300).collect::<String>())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g9_the_last_words_of_npm_and_pip_become_one_line() {
        for (words, wanted) in [
            (
                "exited 1 after 1 s; last words on stderr: npm error code E404\nnpm error 404 Not Found - GET http://r/x",
                "x: the registry has no such package (404 Not Found - GET http://r/x)",
            ),
            ("npm error code ECONNREFUSED", "x: the registry cannot be reached"),
            (
                "ERROR: Could not find a version that satisfies the requirement x (from versions: none)",
                "x: the index cannot be reached, or has no such package for this machine (Could not",
            ),
            (
                "npm error code E403\nnpm error 403 Forbidden - GET http://r/x",
                "x: the registry, or a proxy before it, refuses",
            ),
            ("ProxyError('Tunnel connection failed: 403 Forbidden')", "x: the registry cannot be reached"),
            ("exited 3 after 1 s; no words on stderr", "x was not installed: exited 3"),
        ] {
            let fault = explain_failure("x", words);
            assert!(fault.to_string().starts_with(wanted), "{fault}");
            assert!(matches!(fault, InstallFault::Unavailable { .. }), "{fault:?}");
        }
    }
}
