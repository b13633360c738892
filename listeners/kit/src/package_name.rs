//! Plain names of packages, as package managers take them on their command lines.
//!
//! A word comes in; a name and a version go out. A word that a package manager would read as an option, an address, a
//! file or another name is none.

use crate::limits;

/// Endings of names that a package manager reads as a file.
const FILES: [&str; 9] = [".tgz", ".tar", ".gz", ".bz2", ".xz", ".zip", ".whl", ".egg", ".git"];

/// How a package manager writes a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PackageSpelling {
    /// What stands between the name and the version.
    pub version: &'static str,
    /// Whether a name may have a scope, as `@scope/name`.
    pub has_scope: bool,
}

impl PackageSpelling {
    /// `@scope/name@version`.
    pub const NPM: PackageSpelling = PackageSpelling { version: "@", has_scope: true };
    /// `name==version`.
    pub const PIP: PackageSpelling = PackageSpelling { version: "==", has_scope: false };
    /// `name@version`.
    pub const CARGO: PackageSpelling = PackageSpelling { version: "@", has_scope: false };
}

/// The plain name of a package, and the version that was written with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PackageName<'w> {
    /// The name, with its scope.
    pub name: &'w str,
    /// The version.
    pub version: Option<&'w str>,
}

impl<'w> PackageName<'w> {
    /// Reads a word. `None` if it is no plain name.
    #[must_use]
    pub fn read(written: &'w str, spelling: PackageSpelling) -> Option<PackageName<'w>> {
        let unscoped = match written.strip_prefix('@').filter(|_| spelling.has_scope) {
            Some(scoped) => {
                let (scope, rest) = scoped.split_once('/')?;
                is_word(scope).then_some(rest)?
            }
            None => written,
        };
        let (last, version) = match unscoped.split_once(spelling.version) {
            Some((last, version)) => (last, Some(version)),
            None => (unscoped, None),
        };
        let lower = written.to_ascii_lowercase();
        let is_plain = written.len() <= limits::PACKAGE_NAME_BYTES
            && !FILES.iter().any(|ending| lower.ends_with(ending))
            && is_word(last)
            && version.is_none_or(is_word);
        let after = version.map_or(0, |version| version.len() + spelling.version.len());
        let name = written.get(..written.len().checked_sub(after)?)?;
        is_plain.then_some(PackageName { name, version })
    }
}

/// Whether it begins with a letter or a digit, and has nothing but letters, digits and `.`, `_`, `-`, `+`.
fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+'))
        && !text.contains("..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_comes_apart_from_its_version() {
        let read =
            |written, spelling| PackageName::read(written, spelling).map(|found| (found.name, found.version));
        assert_eq!(read("@a/b@1.2", PackageSpelling::NPM), Some(("@a/b", Some("1.2"))));
        assert_eq!(read("@a/b", PackageSpelling::NPM), Some(("@a/b", None)));
        assert_eq!(read("a==1", PackageSpelling::PIP), Some(("a", Some("1"))));
        assert_eq!(read("a@1", PackageSpelling::PIP), None);
        assert_eq!(read("a@npm:b", PackageSpelling::NPM), None);
        assert_eq!(read("@a", PackageSpelling::NPM), None);
        assert_eq!(read("é@1", PackageSpelling::NPM), None);
    }
}
