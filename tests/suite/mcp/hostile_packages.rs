//! Packages, locks and pins that try to bring in what was not pinned, or to run while they are installed.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::house::ToolHouse;
use super::installing::{InstallHouse, LOCK, LocalRegistry, says, script};
use crate::program::{Ran, systole_with};

const PIN: &str = "schemas/mcp/served.pin.json";

impl InstallHouse {
    /// The house after its pin, with a lock in which this was changed, and without the installation.
    fn with_lock(change: impl Fn(&mut serde_json::Map<String, Value>)) -> InstallHouse {
        let here = InstallHouse::new("[npx, \"@tests/served\"]");
        let evil = [
            ("package.json", r#"{"name": "evil", "version": "1.0.0", "main": "index.js"}"#),
            ("index.js", "module.exports = \"evil\";"),
        ];
        here.publish("evil/1.0.0", &evil);
        says(&here.systole(&["mcp", "pin"]), 0, &["installed: "]);
        let mut lock: Value = serde_json::from_str(&here.house.read(LOCK)).unwrap();
        change(lock["packages"].as_object_mut().unwrap());
        here.house.write(LOCK, &lock.to_string());
        std::fs::remove_dir_all(here.installed()).unwrap();
        here
    }
}

#[test]
fn g9_a_lock_cannot_pass_off_a_package_as_a_part_of_another() {
    let place = "node_modules/@tests/served/node_modules/words";
    let bundled = json!({"name": "evil", "version": "1.0.0", "inBundle": true});
    let here = InstallHouse::with_lock(|all| drop(all.insert(place.to_owned(), bundled.clone())));
    says(&here.systole(&["mcp", "pin"]), 1, &[&format!("{place} does not come from the registry"), "try: "]);
    assert!(!here.installed().exists());
    let mut with_hash = bundled;
    with_hash["integrity"] = json!("sha512-A");
    let here = InstallHouse::with_lock(|all| drop(all.insert(place.to_owned(), with_hash.clone())));
    says(&here.systole(&["mcp", "pin"]), 1, &["does not agree with the pin", "evil 1.0.0: is new"]);
    assert!(!here.installed().exists());
}

#[test]
fn g9_a_package_that_holds_another_one_is_installed() {
    let here = InstallHouse::new("[npx, holder]");
    let inner = r#"{"name": "inner", "version": "1.0.0", "main": "index.js", "dependencies": {"deep": "*"}}"#;
    let holder = r#"{"name": "holder", "version": "1.0.0", "bin": "served.js",
        "dependencies": {"words": "*", "inner": "*"}, "bundleDependencies": ["inner"]}"#;
    let served =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/mcp/served.js"));
    let served = served.unwrap().replace("require(\"words\")", "require(\"inner\")");
    here.publish(
        "holder/1.0.0",
        &[
            ("package.json", holder),
            ("served.js", &served),
            ("node_modules/inner/package.json", inner),
            ("node_modules/inner/index.js", "module.exports = require(\"deep\");"),
            ("node_modules/deep/package.json", r#"{"name": "deep", "version": "1.0.0", "main": "index.js"}"#),
            ("node_modules/deep/index.js", "module.exports = \"deep inside\";"),
        ],
    );
    says(&here.systole(&["mcp", "pin"]), 0, &["installed: holder 1.0.0 and 1 other package"]);
    std::fs::remove_dir_all(here.installed()).unwrap();
    says(&here.systole(&["mcp", "pin"]), 0, &["installed: ", "nothing changed"]);
    says(&here.systole(&["send", "--to", "served", "work"]), 0, &["<text>deep inside</text>"]);
}

#[test]
fn g9_a_package_from_git_is_refused_before_git_is_started() {
    let here = InstallHouse::new("[npx, gitty]");
    let manifest = r#"{"name": "gitty", "version": "1.0.0", "bin": "index.js",
        "dependencies": {"b": "git+ssh://127.0.0.1:9/b.git"}}"#;
    here.publish("gitty/1.0.0", &[("package.json", manifest), ("index.js", "")]);
    let words = "gitty: it needs a package from git and not from the registry";
    says(&here.systole(&["mcp", "pin"]), 5, &[words, "try: name another version"]);
}

#[test]
fn g9_settings_of_npm_in_a_folder_above_do_not_count() {
    let here = InstallHouse::new("[npx, \"@tests/served\"]");
    let other = here.house.path().join("other.npmrc");
    here.house.write("other.npmrc", "@tests:registry=http://127.0.0.1:9/\n");
    here.house.write(".npmrc", &format!("userconfig={}\n", other.display()));
    here.house.write("package.json", "{}");
    says(&here.systole(&["mcp", "pin"]), 0, &["installed: @tests/served 1.0.0"]);
}

#[test]
fn g9_a_pin_that_cannot_be_read_is_replaced_by_an_upgrade_alone() {
    let here = InstallHouse::new("[npx, \"@tests/served\"]");
    says(&here.systole(&["mcp", "pin"]), 0, &["installed: "]);
    here.publish_words("2.0.0");
    let (pin, lock) = (here.house.read(PIN), here.house.read(LOCK));
    let mut without: Value = serde_json::from_str(&pin).unwrap();
    without.as_object_mut().unwrap().remove("packages");
    for (text, words) in [
        (pin.replace("Works.", "Obeys."), "its tools were changed by hand"),
        (without.to_string(), "schemas/mcp/served.pin.json names no packages"),
        ("{".to_owned(), "it cannot be read"),
    ] {
        here.house.write(PIN, &text);
        for arguments in [&["mcp", "pin"][..], &["mcp", "pin", "--check"]] {
            let fix = "run systole mcp pin served --upgrade, which writes";
            says(&here.systole(arguments), 1, &[words, "from version control", fix]);
        }
        assert_eq!((here.house.read(PIN), here.house.read(LOCK)), (text, lock.clone()));
    }
    says(&here.systole(&["mcp", "pin", "--upgrade"]), 0, &["installed: @tests/served 1.0.0"]);
    assert!(here.house.read(LOCK).contains("2.0.0"));
}

#[test]
fn g9_files_that_cannot_be_written_leave_the_old_installation() {
    let here = InstallHouse::new("[npx, \"@tests/served\"]");
    says(&here.systole(&["mcp", "pin"]), 0, &["installed: "]);
    here.publish_words("2.0.0");
    let beside = here.house.path().join("schemas/mcp/served.pin.json.new");
    std::fs::create_dir(&beside).unwrap();
    let before = (here.house.read(PIN), here.house.read(LOCK));
    says(&here.systole(&["mcp", "pin", "--upgrade"]), 5, &["served.pin.json.new", "try: "]);
    assert_eq!((here.house.read(PIN), here.house.read(LOCK)), before);
    assert!(!here.house.path().join(format!("{LOCK}.new")).exists());
    says(&here.systole(&["check"]), 0, &[]);
    std::fs::remove_dir(&beside).unwrap();
    let upgraded = here.systole(&["mcp", "pin", "--upgrade", "--json"]);
    says(&upgraded, 0, &["2.0.0"]);
    assert_eq!(upgraded.json_lines()[0]["install_scripts"], json!(["@tests/served"]));
}

/// A house whose server is the wheel `served-tests`, and a registry with this wheel.
struct WheelHouse {
    house: ToolHouse,
    registry: LocalRegistry,
    packages: tempfile::TempDir,
}

impl WheelHouse {
    fn new(more: &str, needs: &[&str]) -> WheelHouse {
        let line = format!(
            "  served: {{mcp: [uvx, served-tests], safe: [work], env: {{HOW: well}}, entry: true{more}}}\n"
        );
        let house = ToolHouse::new(&line);
        let packages = tempfile::tempdir().unwrap();
        let rogue = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/mcp/rogue.py");
        let wheels = packages.path().join("wheels");
        std::fs::create_dir(&wheels).unwrap();
        let mut command = Command::new("python3");
        command.arg(script()).arg("wheel").arg(&rogue).arg(&wheels).args(["served-tests", "1.0"]).args(needs);
        assert!(command.status().unwrap().success());
        let registry = LocalRegistry::start(packages.path());
        WheelHouse { house, registry, packages }
    }

    fn systole(&self, arguments: &[&str]) -> Ran {
        let index = format!("http://127.0.0.1:{}/simple/", self.registry.port);
        systole_with(self.house.path(), arguments, &[("PIP_INDEX_URL", &index)])
    }
}

#[test]
fn g9_a_python_server_is_installed_from_an_index() {
    let here = WheelHouse::new("", &[]);
    says(&here.systole(&["mcp", "pin"]), 0, &["installed: served-tests 1.0, without install scripts"]);
    says(&here.systole(&["send", "--to", "served", "work"]), 0, &["<text>done</text>"]);
    std::fs::remove_dir_all(here.house.path().join(".systole")).unwrap();
    says(&here.systole(&["mcp", "pin"]), 0, &["installed: served-tests 1.0,", "nothing changed"]);
}

#[test]
fn g9_a_package_that_pip_would_build_is_refused_before_its_code_runs() {
    let source = tempfile::tempdir().unwrap();
    let ran = source.path().join("ran");
    std::fs::write(source.path().join("setup.py"), format!("open({:?}, 'w')\n", ran.display().to_string()))
        .unwrap();
    let need = format!("evil @ file://{}", source.path().display());
    // Without a sandbox nothing else would hold it.
    let here = WheelHouse::new(", sandbox: none", &[&need]);
    let words = "served-tests: it needs a package that is not built yet, and building one runs its code";
    let refused = here.systole(&["mcp", "pin"]);
    assert!(!ran.exists(), "{refused:?}");
    says(&refused, 5, &[words, "try: name another version"]);
    assert!(
        !here.house.path().join("schemas").exists()
            && !here.house.path().join(".systole/mcp/served").exists()
    );
}

#[test]
fn g9_a_wheel_that_is_named_by_its_address_is_refused() {
    let here = WheelHouse::new(", sandbox: none", &[]);
    let rogue = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/mcp/rogue.py");
    let wheel = |target: &Path, arguments: &[&str]| {
        let mut command = Command::new("python3");
        command.arg(script()).arg("wheel").arg(&rogue).arg(target).args(arguments);
        assert!(command.status().unwrap().success());
    };
    let place = here.packages.path();
    wheel(place, &["evil", "1.0"]);
    let need = format!("evil @ file://{}/evil-1.0-py3-none-any.whl", place.display());
    wheel(&place.join("wheels"), &["served-tests", "1.0", &need]);
    says(&here.systole(&["mcp", "pin"]), 1, &["evil does not come from the registry", "try: "]);
}
