//! The files that are never shown: keys, credentials, and what the organism file denies.
//!
//! Paths from the root come in; whether they are denied goes out. Case makes no difference.

use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// What is always denied, in the form of ignore rules.
pub(crate) const ALWAYS: [&str; 25] = [
    ".git",
    ".systole",
    ".env",
    ".env.*",
    "*.env",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    ".ssh",
    ".aws",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    // The credentials of an organism.
    "*.db.run",
    "*.db.secret",
    "*.nk",
];

/// Why a deny pattern cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DenyFault(String);

/// The files that are denied.
#[derive(Debug, Clone)]
pub struct DenyList(PathPatterns);

/// Patterns of paths, as ignore rules. Case makes no difference.
#[derive(Debug, Clone)]
pub struct PathPatterns(Gitignore);

impl DenyList {
    /// The list with these patterns in addition.
    ///
    /// # Errors
    /// If a pattern cannot be used.
    pub fn new(patterns: &[String]) -> Result<DenyList, DenyFault> {
        Ok(DenyList(PathPatterns::from_parts(&ALWAYS, patterns)?))
    }

    /// Whether a path from the root, or a folder above it, is denied.
    #[must_use]
    pub fn does_deny(&self, path: &str) -> bool {
        self.0.is_match(path)
    }
}

impl PathPatterns {
    /// These patterns alone.
    ///
    /// # Errors
    /// If a pattern cannot be used.
    pub fn new(patterns: &[String]) -> Result<PathPatterns, DenyFault> {
        PathPatterns::from_parts(&[], patterns)
    }

    fn from_parts(first: &[&str], patterns: &[String]) -> Result<PathPatterns, DenyFault> {
        let mut builder = GitignoreBuilder::new("/");
        let told = |error: ignore::Error| DenyFault(error.to_string());
        builder.case_insensitive(true).map_err(told)?;
        for pattern in first {
            builder.add_line(None, pattern).map_err(told)?;
        }
        for pattern in patterns {
            if pattern.starts_with('!') {
                return Err(DenyFault(
                    "a pattern only adds to the list, and cannot begin with `!`".to_owned(),
                ));
            }
            builder.add_line(None, pattern).map_err(told)?;
        }
        Ok(PathPatterns(builder.build().map_err(told)?))
    }

    /// Whether a path from the root, or a folder above it, fits a pattern.
    #[must_use]
    pub fn is_match(&self, path: &str) -> bool {
        let whole = format!("/{path}");
        // Whether the last part is a folder is not known yet: a rule for folders alone counts as well.
        [false, true]
            .iter()
            .any(|is_folder| self.0.matched_path_or_any_parents(&whole, *is_folder).is_ignore())
    }
}

/// Whether a deny pattern can be used.
///
/// # Errors
/// If it cannot.
pub fn check_pattern(pattern: &str) -> Result<(), DenyFault> {
    DenyList::new(&[pattern.to_owned()]).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_denied_wherever_they_are() {
        let list = DenyList::new(&["secrets/".to_owned(), "/private/*.rs".to_owned()]).unwrap();
        for denied in [
            ".env",
            "a/.env.local",
            "prod.env",
            "a/B.PEM",
            "id_rsa",
            "a/id_ed25519.pub",
            ".git/config",
            "x/.git/HEAD",
            "a/secrets/x.rs",
            "private/a.rs",
            ".Git/config",
            "deep/.ssh/known_hosts",
            "a/hello.db.run",
        ] {
            assert!(list.does_deny(denied), "{denied}");
        }
        for allowed in
            ["src/id_maker.rs", "environment.rs", "a/private/a.rs", "git/config", "keys.rs", ".github/a.yml"]
        {
            assert!(!list.does_deny(allowed), "{allowed}");
        }
        assert!(DenyList::new(&["!.env".to_owned()]).is_err());
        assert!(DenyList::new(&["a{b".to_owned()]).is_err());
    }
}
