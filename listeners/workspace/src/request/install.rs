//! The command line of an installation: names of packages, and nothing else.
//!
//! A language and a list of packages come in; a command line goes out. A name that a package manager would read as an
//! option, an address or a file is refused.

use systole_kit::package_name::{PackageName, PackageSpelling};

use crate::fault::{self, ElementFault};
use crate::limits::PACKAGES;

/// The command line that installs packages.
pub(crate) fn build_command_line(language: &str, packages: &str) -> Result<String, ElementFault> {
    let (program, spelling) = match language {
        // Below the folder, where the next command finds it: a home in a sandbox is gone after the command.
        "python" => ("python3 -m venv .venv && .venv/bin/python -m pip install", PackageSpelling::PIP),
        "node" | "javascript" | "typescript" => ("npm install", PackageSpelling::NPM),
        "rust" => ("cargo add", PackageSpelling::CARGO),
        _ => return Err(refuse_install(&format!("'{language}' is no language with packages"))),
    };
    let named: Vec<&str> = packages.split([' ', ',', '\t', '\n']).filter(|name| !name.is_empty()).collect();
    if named.is_empty() || named.len() > PACKAGES {
        return Err(refuse_install(&format!(
            "{} packages are named; 1 to {PACKAGES} are possible",
            named.len()
        )));
    }
    for name in &named {
        if PackageName::read(name, spelling).is_none() {
            let version = spelling.version;
            let shown: String = name.chars().take(80).collect();
            return Err(refuse_install(&format!(
                "'{shown}' is no plain name of a package; write NAME or NAME{version}VERSION, without options, \
                 addresses and files"
            )));
        }
    }
    Ok(format!("{program} {}", named.join(" ")))
}

fn refuse_install(message: &str) -> ElementFault {
    ElementFault::new(fault::BAD_PACKAGE, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g2_an_installation_names_packages_and_nothing_else() {
        for (language, packages, line) in [
            (
                "python",
                "requests numpy==2.1",
                "python3 -m venv .venv && .venv/bin/python -m pip install requests numpy==2.1",
            ),
            ("node", "@types/node@22.1.0, left-pad", "npm install @types/node@22.1.0 left-pad"),
            ("typescript", "zod,drizzle-orm", "npm install zod drizzle-orm"),
            ("javascript", "zod", "npm install zod"),
            ("rust", "serde@1.0.2+x", "cargo add serde@1.0.2+x"),
        ] {
            assert_eq!(build_command_line(language, packages).as_deref(), Ok(line));
        }
        for (language, packages) in [
            ("python", "--index-url=http://x"),
            ("python", "-r requirements.txt"),
            ("python", "git+https://x/y"),
            ("python", "a;rm"),
            ("python", "$(x)"),
            ("python", "./x"),
            ("python", "x.whl"),
            ("python", "a[b]"),
            ("python", "a>=1"),
            ("python", "a==-1"),
            ("python", "a==1==2"),
            ("python", "@x/y"),
            ("python", "\u{430}bc"),
            ("node", "user/repo"),
            ("node", "a@npm:b"),
            ("node", "a@file:x"),
            ("node", "@a/b/c"),
            ("node", "@/b"),
            ("node", "x.TGZ"),
            ("node", "a@b@c"),
            ("rust", "a --git x"),
            ("rust", ".."),
            ("rust", ""),
            ("rust", " , "),
            ("perl", "a"),
        ] {
            assert!(build_command_line(language, packages).is_err(), "{language} {packages}");
        }
        assert!(build_command_line("rust", &"a ".repeat(51)).is_err());
    }
}
