//! A command line with `npx` or `uvx`: the package that it asks for, and the command that starts it once it is
//! installed.

use systole_kit::package_name::{PackageName, PackageSpelling};

/// The manager of a package.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PackageKind {
    /// npm.
    Npm,
    /// pip.
    Python,
}

/// A server that must be installed before it can start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InstallRequest {
    /// The manager of the package.
    pub kind: PackageKind,
    /// The name of the package.
    pub name: String,
    /// The version that the file names.
    pub version: Option<String>,
    /// The program of the package, if the file names it.
    pub script: Option<String>,
    /// What else is installed with it, as in `mcp<2`.
    pub with: Vec<String>,
    /// The arguments of the server.
    pub arguments: Vec<String>,
}

/// Why a command line cannot be installed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestFault {
    /// The position of the word that is wrong.
    pub word: usize,
    /// What is wrong.
    pub message: String,
    /// The fix.
    pub fix: &'static str,
}

const NPX: &str = "[npx, PACKAGE, ARGUMENT], or PACKAGE@VERSION";
const UVX: &str = "[uvx, PACKAGE, ARGUMENT], or PACKAGE==VERSION, or [uvx, --from, PACKAGE, PROGRAM]";

impl PackageKind {
    /// The ending of the name of its lock.
    #[must_use]
    pub fn lock_ending(self) -> &'static str {
        match self {
            PackageKind::Npm => "package-lock.json",
            PackageKind::Python => "requirements.txt",
        }
    }
}

impl InstallRequest {
    /// Reads a command line. `None` if nothing is to be installed for it.
    #[must_use]
    pub fn from_command(command: &[String]) -> Option<Result<InstallRequest, RequestFault>> {
        match command.first().map(String::as_str) {
            Some("npx") => Some(read_npm(command)),
            Some("uvx") => Some(read_python(command)),
            _ => None,
        }
    }

    /// The command that starts the server from the folder in which it is installed.
    #[must_use]
    pub fn build_command(&self, folder: &str) -> Vec<String> {
        let program = match self.kind {
            PackageKind::Npm => "node".to_owned(),
            PackageKind::Python => format!("{folder}/bin/python"),
        };
        [program, format!("{folder}/entry")].into_iter().chain(self.arguments.iter().cloned()).collect()
    }

    /// Whether the same packages fit both: they ask for the same ones in the same versions.
    #[must_use]
    pub fn has_package_of(&self, other: &InstallRequest) -> bool {
        let asked = |it: &InstallRequest| (it.kind, it.name.clone(), it.version.clone(), it.with.clone());
        asked(self) == asked(other)
    }
}

fn read_npm(command: &[String]) -> Result<InstallRequest, RequestFault> {
    let fault = |word, message| RequestFault { word, message, fix: NPX };
    let asks = |word: &&String| !matches!(word.as_str(), "-y" | "--yes");
    let at = 1 + command.iter().skip(1).take_while(|word| !asks(word)).count();
    let Some(written) = command.get(at) else { return Err(fault(0, "no package is named".to_owned())) };
    if written.starts_with('-') {
        return Err(fault(at, format!("npx's option `{written}` is not supported")));
    }
    let Some(found) = PackageName::read(written, PackageSpelling::NPM) else {
        return Err(fault(at, report_no_name(written)));
    };
    Ok(build_request(PackageKind::Npm, found, None, command.get(at + 1..)))
}

fn read_python(command: &[String]) -> Result<InstallRequest, RequestFault> {
    let fault = |word, message| RequestFault { word, message, fix: UVX };
    let (mut at, mut from, mut with) = (1, None, Vec::new());
    while let Some(option) = command.get(at).filter(|word| word.starts_with('-')) {
        match option.as_str() {
            "--from" if from.is_none() => from = Some(at + 1),
            "--with" => match command.get(at + 1) {
                Some(other) if is_requirement(other) => with.push(other.clone()),
                Some(other) => {
                    let shown: String = other.chars().take(80).collect();
                    let message =
                        format!("`{shown}` is no package of the index, as in NAME, NAME==1.2 or NAME<2");
                    return Err(fault(at + 1, message));
                }
                None => return Err(fault(at, "no package is named after --with".to_owned())),
            },
            _ => return Err(fault(at, format!("uvx's option `{option}` is not supported"))),
        }
        at += 2;
    }
    let own = from.unwrap_or(at);
    let Some(written) = command.get(own) else { return Err(fault(0, "no package is named".to_owned())) };
    let at_sign = PackageSpelling { version: "@", ..PackageSpelling::PIP };
    let found = PackageName::read(written, PackageSpelling::PIP)
        .or_else(|| PackageName::read(written, at_sign))
        .ok_or_else(|| fault(own, report_no_name(written)))?;
    // uvx says so for the newest version, which pip takes anyway.
    let found = PackageName { version: found.version.filter(|version| *version != "latest"), ..found };
    let script = match from {
        None => None,
        Some(_) => match command.get(at).filter(|script| is_script(script)) {
            Some(script) => Some(script.clone()),
            None => return Err(fault(own, "no program is named after --from PACKAGE".to_owned())),
        },
    };
    let request = build_request(PackageKind::Python, found, script, command.get(at + 1..));
    Ok(InstallRequest { with, ..request })
}

/// Whether a word asks for a package of the index, perhaps in a range of versions, as in `mcp<2`.
fn is_requirement(word: &str) -> bool {
    let (name, range) = word.split_at(word.find(['<', '>', '=', '!', '~']).unwrap_or(word.len()));
    let is_bound = |bound: &str| {
        let signs = ["==", "!=", "<=", ">=", "~=", "<", ">"];
        let version = signs.into_iter().find_map(|sign| bound.strip_prefix(sign)).unwrap_or_default();
        !version.is_empty() && version.chars().all(|c| c.is_ascii_alphanumeric() || "._*+-".contains(c))
    };
    is_script(name) && (range.is_empty() || range.split(',').all(is_bound))
}

fn is_script(word: &str) -> bool {
    PackageName::read(word, PackageSpelling::PIP).is_some_and(|found| found.version.is_none())
}

fn build_request(
    kind: PackageKind,
    found: PackageName<'_>,
    script: Option<String>,
    arguments: Option<&[String]>,
) -> InstallRequest {
    InstallRequest {
        kind,
        name: found.name.to_owned(),
        version: found.version.map(str::to_owned),
        script,
        with: Vec::new(),
        arguments: arguments.unwrap_or_default().to_vec(),
    }
}

fn report_no_name(written: &str) -> String {
    let shown: String = written.chars().take(80).collect();
    format!("`{shown}` is no plain name of a package; addresses, files and ranges are not supported")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Option<Result<InstallRequest, RequestFault>> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        InstallRequest::from_command(&words)
    }

    #[test]
    fn g9_the_command_of_an_installed_server_follows_from_the_file_alone() {
        for (line, package, version, run) in [
            ("npx @a/b ./work", "@a/b", None, "node F/entry ./work"),
            ("npx -y a@1.2.3 -y", "a", Some("1.2.3"), "node F/entry -y"),
            ("npx --yes a@latest", "a", Some("latest"), "node F/entry"),
            ("uvx a-b --zone UTC", "a-b", None, "F/bin/python F/entry --zone UTC"),
            ("uvx a==1.2 x", "a", Some("1.2"), "F/bin/python F/entry x"),
            ("uvx a@1.2", "a", Some("1.2"), "F/bin/python F/entry"),
            ("uvx a@latest", "a", None, "F/bin/python F/entry"),
            ("uvx --from a b c", "a", None, "F/bin/python F/entry c"),
            ("uvx --with mcp<2 --from a --with x>=1,<2 b c", "a", None, "F/bin/python F/entry c"),
        ] {
            let found = of(line).unwrap().unwrap();
            assert_eq!((found.name.as_str(), found.version.as_deref()), (package, version), "{line}");
            assert_eq!(found.build_command("F").join(" "), run, "{line}");
        }
        assert_eq!(of("uvx --from a b").unwrap().unwrap().script.as_deref(), Some("b"));
        let with = |line: &str| of(line).unwrap().unwrap();
        assert_eq!(with("uvx --with mcp<2 --with x>=1,<2 a y").with, ["mcp<2", "x>=1,<2"]);
        assert!(!with("uvx --with mcp<2 a").has_package_of(&with("uvx a")), "other packages may fit");
        assert!(of("node x.js").is_none() && of("./npx a").is_none());
    }

    #[test]
    fn g9_what_is_no_plain_package_is_refused_at_its_word() {
        for (line, word) in [
            ("npx", 0),
            ("npx -y", 0),
            ("npx -p a b", 1),
            ("npx --package=a b", 1),
            ("npx -y github:a/b", 2),
            ("npx a/b", 1),
            ("npx ./a", 1),
            ("npx https://x/y.tgz", 1),
            ("npx a@npm:b", 1),
            ("npx a@^1", 1),
            ("uvx", 0),
            ("uvx --with", 1),
            ("uvx --with a", 0),
            ("uvx --with git+https://x b", 2),
            ("uvx --with a===1 b", 2),
            ("uvx --with a< b", 2),
            ("uvx --with --index-url b", 2),
            ("uvx --python 3 b", 1),
            ("uvx git+https://x/y", 1),
            ("uvx a[b]", 1),
            ("uvx a>=1", 1),
            ("uvx --from a", 2),
            ("uvx --from a -x", 3),
            ("uvx --from ./a b", 2),
        ] {
            assert_eq!(of(line).unwrap().unwrap_err().word, word, "{line}");
        }
    }
}
