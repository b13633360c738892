//! Python: which versions a package needs, and their installation from a list with hashes, by pip. uv is not needed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::package::{InstallRequest, PackageLock};
use serde::Deserialize;

use super::fault::{InstallFault, explain_failure};
use super::folder::NewFolder;
use super::step::{InstallStep, StepRunner, read_net_address};

/// Asks Python how it is set up.
const SETTINGS: &str = include_str!("settings.py");
/// Runs pip, which then may start no program.
const PIP_ALONE: &str = include_str!("pip_alone.py");
/// Variables with the certificates of this machine.
const PASSED: [&str; 4] = ["SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"];
/// Settings of pip that say where packages are. They are handed over as variables, because keys may be in them.
const HANDED_OVER: [&str; 9] = [
    "index-url",
    "extra-index-url",
    "find-links",
    "no-index",
    "trusted-host",
    "cert",
    "client-cert",
    "timeout",
    "default-timeout",
];
/// What each installation by pip gets.
const ALWAYS: [&str; 6] = [
    "--quiet",
    "--disable-pip-version-check",
    "--no-input",
    "--no-cache-dir",
    "--only-binary=:all:",
    "--retries=1",
];

/// Python as it is set up on this machine.
#[derive(Deserialize)]
struct PythonSettings {
    /// The interpreter itself, and not what only chooses one.
    base: String,
    /// The interpreter that has pip.
    runs_pip: String,
    /// Its version, as `3.11`.
    version: String,
    pip: bool,
    /// The index that pip asks unless it is set up otherwise, and the host of its files.
    index: Option<String>,
    files: Option<String>,
    #[serde(default)]
    settings: BTreeMap<String, String>,
}

/// The Python and the pip of this machine.
pub(super) struct PipInstaller<'r> {
    runner: &'r StepRunner<'r>,
    found: PythonSettings,
}

impl<'r> PipInstaller<'r> {
    /// Finds Python, and asks it for pip's configuration.
    pub(super) fn find(runner: &'r StepRunner<'r>) -> Result<PipInstaller<'r>, InstallFault> {
        let python = runner.find_program(
            "python3",
            "install Python 3.10 or newer, on Debian the packages python3 and python3-pip",
        )?;
        let run = [&python.display().to_string(), "-I", "-c", SETTINGS].map(str::to_owned).into();
        let pass = runner.around.keys().filter_map(|name| name.to_str()).map(str::to_owned).collect();
        let fix = "run python3 -m pip config list, and repair what it reports";
        let unsaid = |words: String| {
            InstallFault::new_unavailable(format!("Python does not say how it is set up: {words}"), fix)
        };
        let said = runner.ask_program(InstallStep { run, pass, ..InstallStep::default() }).map_err(unsaid)?;
        let found: PythonSettings =
            serde_json::from_slice(&said).map_err(|error| unsaid(error.to_string()))?;
        if found.pip {
            return Ok(PipInstaller { runner, found });
        }
        let words = format!("{} has no pip", found.runs_pip);
        Err(InstallFault::new_unavailable(
            words,
            "install pip 22.2 or newer, on Debian the package python3-pip",
        ))
    }

    fn setting(&self, name: &str) -> Option<&str> {
        self.found.settings.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The addresses that pip may reach: the index, what else a person set up, and where the public index has its files.
    fn net(&self) -> BTreeSet<String> {
        let is_off =
            self.setting("no-index").is_some_and(|no| matches!(no, "1" | "true" | "True" | "yes" | "on"));
        let index = self.setting("index-url").or(self.found.index.as_deref()).filter(|_| !is_off);
        let files = self.found.files.as_ref().filter(|_| !is_off).map(|host| format!("https://{host}"));
        let named = ["extra-index-url", "find-links"].into_iter().filter_map(|name| self.setting(name));
        let urls = named.flat_map(str::split_whitespace).chain(index).chain(files.as_deref());
        urls.filter_map(read_net_address).collect()
    }

    /// The folders of packages on this machine.
    fn folders(&self) -> Vec<PathBuf> {
        let named = self.setting("find-links").into_iter().flat_map(str::split_whitespace);
        named.map(|path| PathBuf::from(path.strip_prefix("file://").unwrap_or(path))).collect()
    }

    fn run_pip(&self, words: &[&str], package: &str) -> Result<Vec<u8>, InstallFault> {
        let begin = [self.found.runs_pip.as_str(), "-I", "-c", PIP_ALONE, "install"];
        let run = begin.iter().chain(&ALWAYS).chain(words).map(|word| (*word).to_owned()).collect();
        let mut step = InstallStep { run, net: self.net(), read: self.folders(), ..InstallStep::default() };
        step.pass.extend(PASSED.map(str::to_owned));
        step.read.extend(PASSED.iter().filter_map(|name| self.runner.variable(name)).map(PathBuf::from));
        for name in HANDED_OVER {
            if let Some(value) = self.setting(name) {
                step.env.insert(format!("PIP_{}", name.replace('-', "_").to_uppercase()), value.to_owned());
            }
        }
        // Everything that counts was handed over.
        step.env.insert("PIP_CONFIG_FILE".to_owned(), "/dev/null".to_owned());
        step.read
            .extend(["cert", "client-cert"].iter().filter_map(|name| self.setting(name)).map(PathBuf::from));
        step.read.retain(|path| path.is_absolute());
        self.runner.run_sandboxed(step).map_err(|words| explain_failure(package, &words))
    }

    /// Asks the index for the newest versions that the file allows.
    pub(super) fn resolve(&self, request: &InstallRequest) -> Result<PackageLock, InstallFault> {
        let version = request.version.as_ref().map(|version| format!("=={version}")).unwrap_or_default();
        let wanted = format!("{}{version}", request.name);
        let with = request.with.iter().map(String::as_str);
        let words: Vec<&str> =
            ["--dry-run", "--ignore-installed", "--report=-", &wanted].into_iter().chain(with).collect();
        let report = self.run_pip(&words, &request.name)?;
        Ok(PackageLock::from_pip(request, &report)?)
    }

    /// Installs what a lock names.
    pub(super) fn install(
        &self,
        request: &InstallRequest,
        lock: &PackageLock,
        new: &NewFolder,
    ) -> Result<(), InstallFault> {
        let run = [&self.found.base, "-I", "-m", "venv", "--without-pip", "--symlinks", "."];
        let step = InstallStep { run: run.map(str::to_owned).into(), ..InstallStep::default() };
        self.runner.run_sandboxed(step).map_err(|words| {
            let fix = "install the module venv, on Debian the package python3-venv";
            InstallFault::new_unavailable(
                format!("Python cannot make an environment for the packages: {words}"),
                fix,
            )
        })?;
        new.write_file("requirements.txt", &lock.text)?;
        let place = format!("lib/python{}/site-packages", self.found.version);
        let target = format!("--target={place}");
        let words =
            ["--no-deps", "--require-hashes", "--no-compile", &target, "--requirement=requirements.txt"];
        self.run_pip(&words, &request.name)?;
        let entry = find_entry(&new.path.join(place), request)?;
        new.write_file("entry", &entry)
    }
}

/// The script that starts the program of a package.
fn find_entry(packages: &Path, request: &InstallRequest) -> Result<String, InstallFault> {
    let fix = "write [uvx, --from, PACKAGE, PROGRAM], or name the package of the server";
    let failed = |words: &str| InstallFault::new_unusable(format!("{} {words}", request.name), fix);
    let spelt = |name: &str| name.replace(['_', '.'], "-").to_ascii_lowercase();
    let of_package = |path: &PathBuf| {
        let name =
            path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".dist-info"));
        name.and_then(|name| name.split_once('-'))
            .is_some_and(|(name, _)| spelt(name) == spelt(&request.name))
    };
    let all = fs::read_dir(packages).map_err(|error| InstallFault::from_write_error(packages, error))?;
    let own = all.flatten().map(|entry| entry.path()).find(of_package);
    let own = own.ok_or_else(|| failed("is not among what pip installed"))?;
    let text = fs::read_to_string(own.join("entry_points.txt")).unwrap_or_default();
    let programs = list_programs(&text);
    let wanted = request.script.as_deref().unwrap_or(&request.name);
    let only = programs.iter().next().filter(|_| programs.len() == 1 && request.script.is_none());
    let named = || programs.keys().take(20).cloned().collect::<Vec<_>>().join(", ");
    let (_, place) = match programs.get_key_value(wanted).or(only) {
        Some(found) => found,
        None if programs.is_empty() => return Err(failed("has no program: it names no console script")),
        None => return Err(failed(&format!("has no program called {wanted}; it has {}", named()))),
    };
    let is_path = |path: &str| {
        !path.is_empty() && path.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.')
    };
    let (module, function) = place.split_once(':').unwrap_or((place, ""));
    if !is_path(module) || !is_path(function) {
        return Err(failed("names a program that is no function of a module"));
    }
    let first = function.split('.').next().unwrap_or_default();
    Ok(format!("import sys\nfrom {module} import {first}\nsys.exit({function}())\n"))
}

/// The console scripts of a package: name, and module with function.
fn list_programs(text: &str) -> BTreeMap<String, String> {
    let after = text.lines().skip_while(|line| line.trim() != "[console_scripts]").skip(1);
    let own = after.take_while(|line| !line.trim_start().starts_with('['));
    let script = |line: &str| {
        let (name, place) = line.split_once('=')?;
        // Extras behind the place are no part of it.
        let place = place.split('[').next().unwrap_or_default();
        Some((name.trim().to_owned(), place.trim().to_owned()))
    };
    own.filter_map(script).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g9_the_program_of_a_python_package_is_found_by_its_name() {
        let place = tempfile::tempdir().unwrap();
        let info = place.path().join("Mcp_Server-1.0.dist-info");
        fs::create_dir(&info).unwrap();
        let of = |scripts: &str, line: &str| {
            fs::write(info.join("entry_points.txt"), format!("[x]\na = b:c\n{scripts}\n[gui]\ny = z:w\n"))
                .unwrap();
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            find_entry(place.path(), &InstallRequest::from_command(&words).unwrap().unwrap())
                .map_err(|fault| fault.to_string())
        };
        let run = |module: &str| format!("import sys\nfrom {module} import main\nsys.exit(main())\n");
        assert_eq!(of("[console_scripts]\nother = m.s:main [extra]", "uvx mcp-server"), Ok(run("m.s")));
        let two = "[console_scripts]\nmcp-server = a:main\nother = b:main";
        assert_eq!(of(two, "uvx mcp-server"), Ok(run("a")));
        assert_eq!(of(two, "uvx --from mcp-server other"), Ok(run("b")));
        let none = of(two, "uvx --from mcp-server third").unwrap_err();
        assert_eq!(none, "mcp-server has no program called third; it has mcp-server, other");
        assert!(of("", "uvx mcp-server").unwrap_err().contains("no console script"));
        assert!(of("[console_scripts]\nx = a;b:main", "uvx mcp-server").is_err());
        assert!(of("", "uvx foreign").unwrap_err().contains("not among"));
    }
}
