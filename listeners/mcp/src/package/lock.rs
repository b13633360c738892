//! Locks: the file beside a pin from which the same packages are installed on every machine.
//!
//! The text of a package manager, or of a stored lock, comes in. The packages and the text that is stored go out. A
//! stored lock is read strictly: what a package manager would take from elsewhere than the registry is refused.

use serde_json::{Map, Value, json};
use systole_kit::package_name::{PackageName, PackageSpelling};

use super::request::{InstallRequest, PackageKind};
use crate::limits;
use crate::schema::PinnedPackage;

/// The first line of a list for pip.
const HEAD: &str = "# Written by `systole mcp pin`; pip installs from it.";

/// The packages of a server, and the text from which they are installed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PackageLock {
    /// The text.
    pub text: String,
    /// All packages, sorted and without doubles.
    pub packages: Vec<PinnedPackage>,
    /// The version of the server's own package.
    pub version: String,
    /// Packages that would run a script when they are installed.
    pub with_scripts: Vec<String>,
}

/// Why a lock cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LockFault {
    /// It is too large.
    #[error("it has {0} bytes, at most 4 MiB are read")]
    Size(usize),
    /// It has too many packages.
    #[error("it has {0} packages, at most 2000 are installed")]
    Packages(usize),
    /// It is none of the form that is written.
    #[error("it is no lock: {0}")]
    Form(String),
    /// A package is not from the registry.
    #[error("{0} does not come from the registry, with a version and a hash of its archive")]
    Foreign(String),
    /// The package of the server is not in it.
    #[error("{0} is not in it")]
    Missing(String),
    /// A package was installed that it does not name.
    #[error("{0} was installed, and it is not in the lock")]
    Unnamed(String),
}

impl PackageLock {
    /// Reads a lock that was stored.
    ///
    /// # Errors
    /// If it is not as it was written.
    pub fn from_stored(request: &InstallRequest, text: &str) -> Result<PackageLock, LockFault> {
        let lock = match request.kind {
            PackageKind::Npm => read_npm(request, text, true),
            PackageKind::Python => read_pip(request, text),
        }?;
        check_whole(lock)
    }

    /// Reads the lock that npm wrote. What names a registry is left out, so that each machine asks its own.
    ///
    /// # Errors
    /// If a package is not from the registry.
    pub fn from_npm(request: &InstallRequest, text: &str) -> Result<PackageLock, LockFault> {
        check_whole(read_npm(request, text, false)?)
    }

    /// Compares what npm installed with this lock. npm trusts a lock that says that a package is a part of another
    /// archive, and takes it from the registry without a hash if that is not so.
    ///
    /// # Errors
    /// If a package was installed that this lock does not name with its hash.
    pub fn check_installed(&self, request: &InstallRequest, text: &str) -> Result<(), LockFault> {
        let found = PackageLock::from_npm(request, text)?;
        let unnamed = found.packages.into_iter().find(|one| !self.packages.contains(one));
        unnamed.map_or(Ok(()), |one| Err(LockFault::Unnamed(format!("{} {}", one.name, one.version))))
    }

    /// Reads pip's report about what it would install.
    ///
    /// # Errors
    /// If a package is not from the index.
    pub fn from_pip(request: &InstallRequest, report: &[u8]) -> Result<PackageLock, LockFault> {
        let value: Value =
            serde_json::from_slice(report).map_err(|error| LockFault::Form(error.to_string()))?;
        let all = value.get("install").and_then(Value::as_array);
        let mut lines = vec![HEAD.to_owned()];
        for one in all.ok_or_else(|| LockFault::Form("there is no list of packages".to_owned()))? {
            let text = |path: &str| one.pointer(path).and_then(Value::as_str);
            let name = text("/metadata/name").unwrap_or("a package without a name");
            // pip before 23.0 has the hash of an archive in another place.
            let hash = text("/download_info/archive_info/hashes/sha256").or_else(|| {
                text("/download_info/archive_info/hash").and_then(|hash| hash.strip_prefix("sha256="))
            });
            let is_direct = one.get("is_direct") != Some(&Value::Bool(false));
            let (false, Some(version), Some(hash)) = (is_direct, text("/metadata/version"), hash) else {
                return Err(LockFault::Foreign(shorten_line(name)));
            };
            lines.push(format!("{}=={version} --hash=sha256:{hash}", normalize_name(name)));
        }
        lines.sort();
        lines.dedup();
        let text = format!("{}\n", lines.join("\n"));
        check_whole(read_pip(request, &text)?)
    }
}

/// The one spelling of a name of Python's index.
fn normalize_name(name: &str) -> String {
    let parts = name.split(['-', '_', '.']).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("-").to_ascii_lowercase()
}

fn check_whole(mut lock: PackageLock) -> Result<PackageLock, LockFault> {
    let by = |one: &PinnedPackage| (one.name.clone(), one.version.clone(), one.integrity.clone());
    lock.packages.sort_by_key(by);
    lock.packages.dedup();
    match lock.packages.len() {
        count if count > limits::PACKAGES => Err(LockFault::Packages(count)),
        _ => Ok(lock),
    }
}

fn read_npm(request: &InstallRequest, text: &str, is_stored: bool) -> Result<PackageLock, LockFault> {
    if text.len() > limits::WHOLE_BYTES {
        return Err(LockFault::Size(text.len()));
    }
    let mut value: Value = serde_json::from_str(text).map_err(|error| LockFault::Form(error.to_string()))?;
    let all = value.get_mut("packages").and_then(Value::as_object_mut);
    let all =
        all.ok_or_else(|| LockFault::Form("there are no `packages`; npm 7 or newer writes them".to_owned()))?;
    let own = all.get(&format!("node_modules/{}", request.name));
    let version = own.and_then(|own| own.get("version")).and_then(Value::as_str).map(str::to_owned);
    let version = version.ok_or_else(|| LockFault::Missing(request.name.clone()))?;
    all.remove("");
    let (mut packages, mut with_scripts) = (Vec::new(), Vec::new());
    for (place, entry) in all.iter_mut() {
        let foreign = || LockFault::Foreign(place.chars().take(200).collect());
        let fields = entry.as_object_mut().ok_or_else(foreign)?;
        let found = read_npm_package(place, fields, is_stored).ok_or_else(foreign)?;
        if fields.get("hasInstallScript") == Some(&Value::Bool(true)) {
            with_scripts.push(found.name.clone());
        }
        // Only a bundled package has none: it is a part of another archive, whose hash covers it.
        if !found.integrity.is_empty() {
            packages.push(found);
        }
    }
    // The version is exact here, so that no tag or range is asked for again.
    all.insert(
        String::new(),
        json!({"name": "mcp-server", "dependencies": {request.name.as_str(): version}}),
    );
    let lock = json!({"name": "mcp-server", "lockfileVersion": 3, "requires": true, "packages": all});
    let text = serde_json::to_string_pretty(&lock).map_err(|error| LockFault::Form(error.to_string()))?;
    Ok(PackageLock { text: format!("{text}\n"), packages, version, with_scripts })
}

/// A package of npm's lock. `None` if it would come from elsewhere than the registry.
fn read_npm_package(place: &str, fields: &mut Map<String, Value>, is_stored: bool) -> Option<PinnedPackage> {
    let plain = |name: &str| {
        PackageName::read(name, PackageSpelling::NPM).is_some_and(|found| found.version.is_none())
    };
    let parts: Vec<&str> = place.strip_prefix("node_modules/")?.split("/node_modules/").collect();
    if !parts.iter().all(|part| plain(part)) || fields.contains_key("link") {
        return None;
    }
    if let Some(address) = fields.remove("resolved") {
        let is_web = address.as_str().is_some_and(|address| address.starts_with("http"));
        if is_stored || !is_web {
            return None;
        }
    }
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    let name = text("name").or(parts.last().copied()).filter(|name| plain(name))?;
    let version = text("version").filter(|version| !version.is_empty() && !version.contains(['/', ':']))?;
    let is_bundled = fields.get("inBundle") == Some(&Value::Bool(true));
    let integrity = match text("integrity") {
        Some(integrity) if integrity.starts_with("sha") => integrity,
        None if is_bundled && parts.len() > 1 => "",
        _ => return None,
    };
    Some(PinnedPackage {
        name: name.to_owned(),
        version: version.to_owned(),
        integrity: integrity.to_owned(),
    })
}

fn read_pip(request: &InstallRequest, text: &str) -> Result<PackageLock, LockFault> {
    if text.len() > limits::WHOLE_BYTES {
        return Err(LockFault::Size(text.len()));
    }
    let mut packages = Vec::new();
    for line in text.lines().filter(|line| *line != HEAD) {
        let package = read_pip_package(line);
        packages.push(package.ok_or_else(|| {
            LockFault::Form(format!("`{}` is not NAME==VERSION --hash=sha256:HASH", shorten_line(line)))
        })?);
    }
    let own = normalize_name(&request.name);
    let version = packages.iter().find(|one| one.name == own).map(|one| one.version.clone());
    let version = version.ok_or_else(|| LockFault::Missing(request.name.clone()))?;
    Ok(PackageLock { text: text.to_owned(), packages, version, with_scripts: Vec::new() })
}

fn read_pip_package(line: &str) -> Option<PinnedPackage> {
    let (written, hash) = line.split_once(" --hash=")?;
    let found = PackageName::read(written, PackageSpelling { version: "==", ..PackageSpelling::PIP })?;
    let digits = hash.strip_prefix("sha256:")?;
    let is_hash = digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let (name, version) = (found.name.to_owned(), found.version.filter(|_| is_hash)?.to_owned());
    Some(PinnedPackage { name, version, integrity: hash.to_owned() })
}

fn shorten_line(line: &str) -> String {
    line.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(line: &str) -> InstallRequest {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        InstallRequest::from_command(&words).unwrap().unwrap()
    }

    fn lock(entries: &str) -> String {
        format!(
            r#"{{"name":"x","lockfileVersion":3,"packages":{{"":{{"dependencies":{{"a":"*"}}}},
            "node_modules/a":{{"version":"1.0.0","integrity":"sha512-A"}}{entries}}}}}"#
        )
    }

    #[test]
    fn g9_a_lock_of_npm_names_exact_versions_and_no_registry() {
        let text = lock(
            r#","node_modules/@s/b":{"version":"2.0.0","integrity":"sha512-B","resolved":"https://r/b.tgz","hasInstallScript":true},
            "node_modules/a/node_modules/@s/b":{"version":"1.0.0","integrity":"sha512-C"},
            "node_modules/alias":{"name":"real","version":"3.0.0","integrity":"sha512-D"},
            "node_modules/a/node_modules/in":{"version":"9.0.0","inBundle":true}"#,
        );
        let found = PackageLock::from_npm(&request("npx a"), &text).unwrap();
        let names: Vec<String> =
            found.packages.iter().map(|one| format!("{} {}", one.name, one.version)).collect();
        assert_eq!(names, ["@s/b 1.0.0", "@s/b 2.0.0", "a 1.0.0", "real 3.0.0"]);
        assert_eq!(
            (found.version.as_str(), found.with_scripts.as_slice()),
            ("1.0.0", &["@s/b".to_owned()][..])
        );
        assert!(!found.text.contains("https://") && found.text.contains(r#""a": "1.0.0""#), "{}", found.text);
        // What was stored is read as it was written.
        assert_eq!(PackageLock::from_stored(&request("npx a"), &found.text).unwrap(), found);
        assert!(
            PackageLock::from_stored(&request("npx a"), &text).is_err(),
            "a stored lock names no registry"
        );
    }

    #[test]
    fn g9_a_lock_with_anything_that_is_not_from_the_registry_is_refused() {
        for entry in [
            r#","node_modules/b":{"version":"1.0.0","resolved":"git+ssh://x/y"}"#,
            r#","node_modules/b":{"version":"1.0.0","resolved":"file:../x","integrity":"sha512-B"}"#,
            r#","node_modules/b":{"version":"https://x/y.tgz","integrity":"sha512-B"}"#,
            r#","node_modules/b":{"resolved":"../x","link":true}"#,
            r#","node_modules/b":{"version":"1.0.0"}"#,
            r#","node_modules/b":{"version":"1.0.0","inBundle":true}"#,
            r#","node_modules/../b":{"version":"1.0.0","integrity":"sha512-B"}"#,
            r#","b":{"version":"1.0.0","integrity":"sha512-B"}"#,
            r#","node_modules/b":7"#,
        ] {
            let found = PackageLock::from_npm(&request("npx a"), &lock(entry));
            assert!(matches!(found, Err(LockFault::Foreign(_))), "{entry}: {found:?}");
        }
        assert!(matches!(PackageLock::from_npm(&request("npx b"), &lock("")), Err(LockFault::Missing(_))));
        assert!(matches!(PackageLock::from_npm(&request("npx a"), "[]"), Err(LockFault::Form(_))));
    }

    #[test]
    fn g9_a_package_that_only_seems_to_be_bundled_is_compared_like_any_other() {
        let installed = |entry: &str, of: &PackageLock| {
            of.check_installed(&request("npx a"), &lock(entry)).map_err(|fault| fault.to_string())
        };
        let with_hash =
            r#","node_modules/a/node_modules/in":{"version":"9.0.0","integrity":"sha512-I","inBundle":true}"#;
        let found = PackageLock::from_npm(&request("npx a"), &lock(with_hash)).unwrap();
        let names: Vec<&str> = found.packages.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["a", "in"]);
        let bundled = r#","node_modules/a/node_modules/in":{"version":"9.0.0","inBundle":true}"#;
        let found = PackageLock::from_npm(&request("npx a"), &lock(bundled)).unwrap();
        assert_eq!(found.packages.len(), 1);
        assert_eq!(installed(bundled, &found), Ok(()));
        // npm took it from the registry instead.
        let fetched = r#","node_modules/a/node_modules/in":{"version":"9.0.0"}"#;
        assert!(installed(fetched, &found).unwrap_err().contains("does not come from the registry"));
        let unnamed = "in 9.0.0 was installed, and it is not in the lock".to_owned();
        assert_eq!(installed(with_hash, &found), Err(unnamed));
        let other =
            found.packages.first().map(|one| PinnedPackage { integrity: "sha512-B".into(), ..one.clone() });
        let other = PackageLock { packages: other.into_iter().collect(), ..found };
        assert!(installed("", &other).is_err(), "another archive of the same package");
    }

    #[test]
    fn g9_a_report_of_pip_becomes_a_list_with_one_hash_for_each_package() {
        let hash = "a".repeat(64);
        let one = |name: &str, archive: &Value, is_direct: bool| {
            json!({"metadata": {"name": name, "version": "1.0"}, "is_direct": is_direct,
                "download_info": {"archive_info": archive}})
        };
        let (new, old) = (json!({"hashes": {"sha256": hash}}), json!({"hash": format!("sha256={hash}")}));
        let report =
            json!({"install": [one("Mcp_Server.time", &new, false), one("b", &old, false)]}).to_string();
        let found = PackageLock::from_pip(&request("uvx mcp-server-time"), report.as_bytes()).unwrap();
        assert_eq!(
            found.text,
            format!("{HEAD}\nb==1.0 --hash=sha256:{hash}\nmcp-server-time==1.0 --hash=sha256:{hash}\n")
        );
        assert_eq!(PackageLock::from_stored(&request("uvx mcp-server-time"), &found.text).unwrap(), found);
        for line in ["--index-url https://x", "b==1.0", "b @ https://x/y.whl --hash=sha256:00", ""] {
            let text = format!("{}{line}\n", found.text);
            let refused = PackageLock::from_stored(&request("uvx b"), &text);
            assert!(matches!(refused, Err(LockFault::Form(_))), "{line:?}: {refused:?}");
        }
        // Neither an archive without a hash, nor one that a package names by its address.
        for archive in [one("b", &json!({}), false), one("b", &new, true)] {
            let report = json!({"install": [archive]}).to_string();
            let refused = PackageLock::from_pip(&request("uvx b"), report.as_bytes());
            assert_eq!(refused, Err(LockFault::Foreign("b".to_owned())));
        }
    }
}
