//! npm: which versions a package needs, and their installation from a lock.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::package::{InstallRequest, PackageLock};
use serde_json::{Map, Value, json};

use super::fault::{InstallFault, explain_failure};
use super::folder::NewFolder;
use super::step::{InstallStep, StepRunner, read_net_address};
use crate::limits;

/// What each call of npm gets. What a person's configuration says against it does not hold.
const ALWAYS: [&str; 14] = [
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--no-update-notifier",
    "--no-global",
    "--package-lock",
    "--install-strategy=hoisted",
    "--lockfile-version=3",
    "--omit-lockfile-registry-resolved",
    "--replace-registry-host=always",
    "--fetch-retries=1",
    "--loglevel=error",
    "--cache=cache",
    "--git=/bin/false",
];
/// Variables that npm may need to reach a registry.
const PASSED: [&str; 4] = ["NODE_EXTRA_CA_CERTS", "NODE_USE_SYSTEM_CA", "SSL_CERT_FILE", "SSL_CERT_DIR"];

/// npm as it is set up on this machine.
pub(super) struct NpmInstaller<'r> {
    runner: &'r StepRunner<'r>,
    command: Vec<String>,
    settings: Map<String, Value>,
}

impl<'r> NpmInstaller<'r> {
    /// Finds npm, and asks it for its configuration. Keys are not in its answer.
    pub(super) fn find(
        runner: &'r StepRunner<'r>,
        new: &NewFolder,
    ) -> Result<NpmInstaller<'r>, InstallFault> {
        // Without it npm takes the nearest folder above that has one for its project, and reads the `.npmrc` there.
        new.write_file("package.json", "{}")?;
        let fix = "install Node.js with npm, on Debian the packages nodejs and npm";
        let node = runner.find_program("node", fix)?;
        let npm = runner.find_program("npm", fix)?;
        // In a sandbox a script needs its interpreter by its path, and the files beside its real place.
        let real = npm.canonicalize().unwrap_or(npm);
        let is_script = real.extension().is_some_and(|ending| ending == "js");
        let words = if is_script { vec![node, real] } else { vec![real] };
        let command: Vec<String> = words.iter().map(|word| word.display().to_string()).collect();
        let run =
            [command.as_slice(), &["config".to_owned(), "list".to_owned(), "--json".to_owned()]].concat();
        let pass = runner.around.keys().filter_map(|name| name.to_str()).map(str::to_owned).collect();
        let said = runner.ask_program(InstallStep { run, pass, ..InstallStep::default() });
        let said = said.map_err(|words| {
            InstallFault::new_unavailable(
                format!("npm does not say how it is set up: {words}"),
                "run npm config list, and repair what it reports",
            )
        })?;
        let settings = serde_json::from_slice(&said).map_err(|error| {
            let words = format!("npm does not say how it is set up: {error}");
            InstallFault::new_unavailable(words, "install npm 8 or newer")
        })?;
        Ok(NpmInstaller { runner, command, settings })
    }

    fn setting(&self, name: &str) -> Option<&str> {
        self.settings.get(name).and_then(Value::as_str)
    }

    fn run(&self, words: &[&str], package: &str) -> Result<(), InstallFault> {
        let mut run = self.command.clone();
        run.extend(words.iter().chain(&ALWAYS).map(|word| (*word).to_owned()));
        if self.settings.contains_key("allow-git") {
            run.push("--allow-git=none".to_owned());
        }
        let is_registry = |name: &String| name == "registry" || name.ends_with(":registry");
        let registries = self.settings.iter().filter(|(name, _)| is_registry(name));
        let net: BTreeSet<String> =
            registries.filter_map(|(_, url)| read_net_address(url.as_str().unwrap_or_default())).collect();
        let files =
            ["userconfig", "globalconfig", "cafile"].map(|name| self.setting(name).map(PathBuf::from));
        let files: Vec<PathBuf> = files.into_iter().flatten().filter(|file| file.is_file()).collect();
        let mut pass: Vec<String> = PASSED.map(str::to_owned).into();
        let around = self.runner.around.keys().filter_map(|name| name.to_str());
        pass.extend(
            around.filter(|name| name.to_ascii_lowercase().starts_with("npm_config_")).map(str::to_owned),
        );
        pass.extend(files.iter().flat_map(|file| list_variables(file)));
        let mut step = InstallStep { run, pass, net, read: files, ..InstallStep::default() };
        step.read.extend(PASSED.iter().filter_map(|name| self.runner.variable(name)).map(PathBuf::from));
        // The home in a sandbox is another one.
        let named =
            |name: &str| self.setting(name).map(|file| (format!("npm_config_{name}"), file.to_owned()));
        step.env.extend(["userconfig", "globalconfig"].iter().filter_map(|name| named(name)));
        step.read.retain(|path| path.is_absolute());
        self.runner.run_sandboxed(step).map(|_nothing| ()).map_err(|words| explain_failure(package, &words))
    }

    /// Asks the registry for the newest versions that the file allows.
    pub(super) fn resolve(
        &self,
        request: &InstallRequest,
        new: &NewFolder,
    ) -> Result<PackageLock, InstallFault> {
        let wanted = request.version.as_deref().unwrap_or("latest");
        let package =
            json!({"name": "mcp-server", "private": true, "dependencies": {request.name.as_str(): wanted}});
        new.write_file("package.json", &package.to_string())?;
        self.run(&["install", "--package-lock-only"], &request.name)?;
        Ok(PackageLock::from_npm(request, &read_lock(&new.path.join("package-lock.json"))?)?)
    }

    /// Installs what a lock names.
    pub(super) fn install(
        &self,
        request: &InstallRequest,
        lock: &PackageLock,
        new: &NewFolder,
    ) -> Result<(), InstallFault> {
        let package = json!({"name": "mcp-server", "private": true, "dependencies": {request.name.as_str(): lock.version}});
        new.write_file("package.json", &package.to_string())?;
        new.write_file("package-lock.json", &lock.text)?;
        self.run(&["ci"], &request.name)?;
        new.remove_folder("cache")?;
        lock.check_installed(request, &read_lock(&new.path.join("node_modules/.package-lock.json"))?)?;
        let entry = find_entry(&new.path, request)?;
        let link = new.path.join("entry");
        std::os::unix::fs::symlink(entry, &link).map_err(|error| InstallFault::from_write_error(&link, error))
    }
}

/// The variables that a configuration file of npm names as `${NAME}`: keys are often given so.
fn list_variables(file: &Path) -> Vec<String> {
    let text = read_bounded(file, limits::PACKAGE_FILE_BYTES).unwrap_or_default();
    let named = text.split("${").skip(1).filter_map(|part| part.split_once('}'));
    named.map(|(name, _)| name.trim_end_matches('?').to_owned()).collect()
}

/// The program of a package, from the folder of the installation.
fn find_entry(folder: &Path, request: &InstallRequest) -> Result<PathBuf, InstallFault> {
    let package = Path::new("node_modules").join(&request.name);
    let manifest = read_bounded(&folder.join(&package).join("package.json"), limits::PACKAGE_FILE_BYTES)?;
    let manifest: Value = serde_json::from_str(&manifest).unwrap_or_default();
    let fix = "name the package of the server, or [node, FILE.js] for a server that you install yourself";
    let failed = |words: &str| InstallFault::new_unusable(format!("{} {words}", request.name), fix);
    let last = request.name.rsplit('/').next().unwrap_or_default();
    let found = match manifest.get("bin") {
        Some(Value::String(path)) => Some(path.as_str()),
        Some(Value::Object(programs)) => {
            let only = programs.values().next().filter(|_| programs.len() == 1);
            if !programs.contains_key(last) && only.is_none() && !programs.is_empty() {
                let names: Vec<&str> = programs.keys().map(String::as_str).take(20).collect();
                let words = format!("has several programs, and none is called {last}: {}", names.join(", "));
                return Err(failed(&words));
            }
            programs.get(last).or(only).and_then(Value::as_str)
        }
        _ => None,
    };
    let relative =
        package.join(found.ok_or_else(|| failed("has no program: its package.json has no `bin`"))?);
    let inside = folder.join("node_modules");
    let whole =
        folder.join(&relative).canonicalize().ok().filter(|path| path.starts_with(&inside) && path.is_file());
    let whole = whole.ok_or_else(|| failed("has no such program as its package.json says"))?;
    let relative = whole.strip_prefix(folder).map(Path::to_owned);
    relative.map_err(|_| failed("has no such program as its package.json says"))
}

/// Reads a lock of npm. One byte more than is allowed shows that it is too large.
fn read_lock(path: &Path) -> Result<String, InstallFault> {
    read_bounded(path, limits::WHOLE_BYTES as u64 + 1)
}

/// Reads a text with a bound.
fn read_bounded(path: &Path, most: u64) -> Result<String, InstallFault> {
    use std::io::Read as _;
    let mut text = String::new();
    let file = std::fs::File::open(path).and_then(|file| file.take(most).read_to_string(&mut text));
    file.map(|_bytes| text).map_err(|error| {
        let fix = "name another version of the package".to_owned();
        InstallFault::Unread { path: path.to_owned(), error, fix }
    })
}
