//! Why a server could not be installed: in words, with a fix and the exit.

use std::path::Path;

use crate::cli::exit::CommandExit;
use crate::edges::system;

/// Why a server could not be installed.
#[derive(Debug)]
pub(in crate::cli::mcp) struct NotInstalled {
    pub(in crate::cli::mcp) exit: CommandExit,
    pub(in crate::cli::mcp) words: String,
    pub(in crate::cli::mcp) fix: String,
}

impl NotInstalled {
    /// Something of this machine is missing.
    pub(super) fn unavailable(words: impl Into<String>, fix: impl Into<String>) -> NotInstalled {
        NotInstalled { exit: CommandExit::Unavailable, words: words.into(), fix: fix.into() }
    }

    /// What was found cannot be used.
    pub(super) fn failed(words: impl Into<String>, fix: impl Into<String>) -> NotInstalled {
        NotInstalled { exit: CommandExit::Failed, words: words.into(), fix: fix.into() }
    }

    /// A file or a folder was not written.
    pub(super) fn unwritten(path: &Path, error: &std::io::Error) -> NotInstalled {
        let fault = system::unwritten(path, "the installation", error);
        NotInstalled::unavailable(fault.words, fault.fix)
    }
}

/// A sign in the last words of a package manager, what it means, and the fix.
struct KnownSign {
    signs: &'static [&'static str],
    means: &'static str,
    fix: &'static str,
}

/// In the order in which they are looked for: a network that fails makes a package unknown as well.
const KNOWN: [KnownSign; 6] = [
    KnownSign {
        signs: &["EINTEGRITY", "DO NOT MATCH THE HASHES", "THESE PACKAGES DO NOT MATCH"],
        means: "an archive of the registry is not the one that the lock names",
        fix: "ask who changed it; systole mcp pin NAME --upgrade takes what the registry has now",
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
            "403 Forbidden",
            "NewConnectionError",
            "ConnectTimeout",
            "ReadTimeout",
            "Retrying (",
        ],
        means: "the registry cannot be reached",
        fix: "the network, or the registry that npm and pip are set to; through a proxy only with `sandbox: none`",
    },
    KnownSign {
        signs: &["E401", "E403", "ENEEDAUTH", "401 Unauthorized"],
        means: "the registry wants a login",
        fix: "npm login, or pip's configuration with the key",
    },
    KnownSign {
        signs: &["ETARGET", "(from versions: ", "no version"],
        means: "the registry has no such version of this package",
        fix: "another version, or none for the newest; a Python package also needs a wheel for this machine",
    },
    KnownSign {
        signs: &["E404", "No matching distribution found"],
        means: "the registry has no such package",
        fix: "the name as the registry spells it",
    },
    KnownSign {
        signs: &["no such option: --report", "no such option: --dry-run"],
        means: "this pip is too old",
        fix: "python3 -m pip install --upgrade pip, at least 22.2",
    },
];

/// Why a package manager failed, from its last words.
pub(super) fn explained(package: &str, words: &str) -> NotInstalled {
    // pip says the same of a package that is unknown and of one without a fit version.
    let is_unknown = words.contains("(from versions: none)");
    let has = |known: &&KnownSign| known.signs.iter().any(|sign| words.contains(sign));
    let found = KNOWN.iter().find(has).map(|known| match known.means {
        "the registry has no such version of this package" if is_unknown => {
            ("the index cannot be reached, or has no such package for this machine", known.fix)
        }
        means => (means, known.fix),
    });
    match found {
        Some((means, fix)) => NotInstalled::unavailable(format!("{package}: {means}{}", detail(words)), fix),
        None => NotInstalled::unavailable(
            format!("{package} was not installed: {words}"),
            "what the last words ask for, or another version",
        ),
    }
}

/// The line that says most, behind the meaning.
fn detail(words: &str) -> String {
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
            ("exited 3 after 1 s; no words on stderr", "x was not installed: exited 3"),
        ] {
            let fault = explained("x", words);
            assert!(fault.words.starts_with(wanted), "{}", fault.words);
            assert_eq!(fault.exit, CommandExit::Unavailable);
        }
    }
}
