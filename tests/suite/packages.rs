//! The packages of `make dist`, around the program of this test run: each is installed by the tool that its users
//! have, and runs. `make soak` tests the packages of a release build in a bare Debian root.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use serde_json::Value;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A folder with the four packages, made once for all tests.
fn packages() -> &'static Path {
    static MADE: OnceLock<tempfile::TempDir> = OnceLock::new();
    MADE.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        run("strip", &["-o", text(&program), env!("CARGO_BIN_EXE_systole")]);
        let licences = folder.path().join("licences");
        fs::create_dir(&licences).unwrap();
        fs::copy("LICENSE", licences.join("LICENSE")).unwrap();
        run("python3", &["-B", "tools/dist/pack.py", text(&program), text(&licences), text(folder.path())]);
        folder
    })
    .path()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The only package whose name begins and ends like this.
fn package(begin: &str, end: &str) -> PathBuf {
    let names = fs::read_dir(packages()).unwrap().map(|entry| entry.unwrap().path());
    let found: Vec<PathBuf> = names
        .filter(|path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            name.starts_with(begin) && name.ends_with(end)
        })
        .collect();
    assert_eq!(found.len(), 1, "{begin}…{end}: {found:?}");
    found[0].clone()
}

fn output(program: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.args(arguments).env("SOURCE_DATE_EPOCH", "1700000000");
    command.output().unwrap_or_else(|fault| panic!("{program}: {fault}"))
}

/// The output of a command, which must succeed.
fn run(program: &str, arguments: &[&str]) -> String {
    let output = output(program, arguments);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {printed}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    printed
}

fn assert_runs(program: &Path) {
    assert_eq!(run(text(program), &["--version"]), format!("systole {VERSION}\n"));
}

#[test]
fn h9_pip_installs_the_wheel_and_it_runs() {
    let home = tempfile::tempdir().unwrap();
    let wheel = package("systole_organism-", ".whl");
    let target = text(home.path());
    run("python3", &["-m", "pip", "install", "--quiet", "--no-index", "--target", target, text(&wheel)]);
    assert_runs(&home.path().join("bin/systole"));
    let about = home.path().join(format!("systole_organism-{VERSION}.dist-info"));
    assert!(fs::read_to_string(about.join("METADATA")).unwrap().contains("\nName: systole-organism\n"));
    assert!(fs::read_to_string(about.join("licenses/LICENSE")).unwrap().contains("Apache License"));
}

/// npm links `bin` to the file that it names, so the program itself has to be that file.
#[test]
fn h9_npm_installs_the_package_and_no_node_stays_in_between() {
    let home = tempfile::tempdir().unwrap();
    let archive = package("systole-", ".tgz");
    run("tar", &["-xf", text(&archive), "-C", text(home.path())]);
    let unpacked = home.path().join("package");
    let about: Value =
        serde_json::from_str(&fs::read_to_string(unpacked.join("package.json")).unwrap()).unwrap();
    assert_eq!(about["version"], VERSION);
    assert_runs(&unpacked.join(about["bin"]["systole"].as_str().unwrap()));

    // The tests need no npm, but use the real npm if it is installed.
    if Command::new("npm").arg("--version").output().is_ok() {
        let prefix = home.path().join("prefix");
        fs::create_dir(&prefix).unwrap();
        run(
            "npm",
            &["install", "--global", "--offline", "--silent", "--prefix", text(&prefix), text(&archive)],
        );
        let linked = fs::canonicalize(prefix.join("bin/systole")).unwrap();
        assert_eq!(&fs::read(&linked).unwrap()[..4], b"\x7fELF", "{linked:?} is the program");
        assert_runs(&prefix.join("bin/systole"));
    }
}

#[test]
fn h9_the_tarball_runs_where_it_is_unpacked_and_its_checksum_holds() {
    let home = tempfile::tempdir().unwrap();
    run("tar", &["-xf", text(&package("systole-", ".tar.gz")), "-C", text(home.path())]);
    let unpacked = home.path().join(format!("systole-{VERSION}-linux-x86_64"));
    assert_runs(&unpacked.join("systole"));
    assert!(unpacked.join("licences/LICENSE").exists());
    let checked = run("sh", &["-c", "cd \"$0\" && sha256sum --check SHA256SUMS", text(packages())]);
    assert_eq!(checked.lines().filter(|line| line.ends_with(": OK")).count(), 4, "{checked}");
}

/// The package contains the service, but does not enable it.
#[test]
fn h7_the_debian_package_has_the_program_and_a_service_that_is_off() {
    let home = tempfile::tempdir().unwrap();
    let archive = package("systole_", "_amd64.deb");
    run("dpkg-deb", &["--extract", text(&archive), text(home.path())]);
    run("dpkg-deb", &["--control", text(&archive), text(&home.path().join("DEBIAN"))]);
    assert_runs(&home.path().join("usr/bin/systole"));
    assert_eq!(run("dpkg-deb", &["--field", text(&archive), "Version"]).trim(), VERSION);

    let unit = fs::read_to_string(home.path().join("usr/lib/systemd/system/systole@.service")).unwrap();
    let setting = |key: &str| {
        unit.lines().find_map(|line| line.strip_prefix(&format!("{key}="))).unwrap_or("").to_owned()
    };
    let (program, arguments) =
        setting("ExecStart").split_once(' ').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    assert!(home.path().join(program.trim_start_matches('/')).exists(), "{program} is in the package");
    run(env!("CARGO_BIN_EXE_systole"), &[&arguments, "--help"]);
    assert_eq!(setting("WorkingDirectory"), format!("/var/lib/{}", setting("StateDirectory")));
    let users = fs::read_to_string(home.path().join("usr/lib/sysusers.d/systole.conf")).unwrap();
    assert!(users.contains(&format!("\nu {} ", setting("User"))), "{users}");

    assert!(!home.path().join("etc").exists(), "a link in /etc/systemd would turn the service on");
    for script in ["postinst", "prerm"] {
        let path = home.path().join("DEBIAN").join(script);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o755);
        let said = fs::read_to_string(&path).unwrap();
        assert!(!said.contains("systemctl enable") && !said.contains("systemctl start"), "{said}");
        run("sh", &["-n", text(&path)]);
    }
}

/// The image around a small root: what it runs, as whom and where, and that it has the same bytes when it is made again.
#[test]
fn h7_the_image_runs_for_a_user_without_rights_in_data_and_has_the_same_bytes_again() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("root");
    fs::create_dir_all(root.join("data")).unwrap();
    let program = home.path().join("program");
    fs::copy(packages().join("program"), &program).unwrap();
    let name = format!("systole_{VERSION}_amd64.oci.tar");
    let [first, second] = ["first", "second"].map(|folder| {
        let folder = home.path().join(folder);
        fs::create_dir(&folder).unwrap();
        let licences = packages().join("licences");
        let arguments =
            ["-B", "tools/dist/image.py", text(&program), text(&licences), text(&root), text(&folder)];
        run("python3", &arguments);
        run("sh", &["-c", "cd \"$0\" && sha256sum --check SHA256SUMS", text(&folder)]);
        folder.join(&name)
    });
    assert!(fs::read(&first).unwrap() == fs::read(&second).unwrap(), "the bytes are the same");

    run("tar", &["-xf", text(&first), "-C", text(home.path())]);
    let read =
        |path: &str| -> Value { serde_json::from_slice(&fs::read(home.path().join(path)).unwrap()).unwrap() };
    let blob = |entry: &Value| format!("blobs/{}", entry["digest"].as_str().unwrap().replace(':', "/"));
    let manifest = read(&blob(&read("index.json")["manifests"][0]));
    let config = &read(&blob(&manifest["config"]))["config"];
    assert_eq!(config["Entrypoint"], serde_json::json!(["systole"]));
    assert_eq!(config["Cmd"], serde_json::json!(["run"]));
    assert_eq!((&config["WorkingDir"], &config["User"]), (&"/data".into(), &"10001:10001".into()));
    let layers = manifest["layers"].as_array().unwrap();
    let listed = layers.iter().map(|layer| {
        let path = home.path().join(blob(layer));
        let sum = run("sha256sum", &[text(&path)]);
        assert!(layer["digest"].as_str().unwrap().ends_with(sum.split(' ').next().unwrap()), "{sum}");
        run("tar", &["--numeric-owner", "-tvzf", text(&path)])
    });
    let listed: Vec<String> = listed.collect();
    assert!(listed[0].starts_with("drwxr-xr-x 10001/10001 "), "the user owns /data: {listed:?}");
    assert!(
        listed[1].starts_with("-rwxr-xr-x 0/0 ") && listed[1].contains(" usr/bin/systole\n"),
        "{listed:?}"
    );
}

/// The image of `make dist` runs in a container that may write in `/data` alone, and says what is wrong without.
#[test]
#[ignore = "needs root, crun and the image of make dist; part of make soak"]
fn h7_the_image_runs_demo_and_run_with_a_root_that_can_only_be_read() {
    println!("{}", run("python3", &["-B", "tools/dist/try_image.py", "target/dist"]));
}

/// A binary that links more than every machine has cannot be a manylinux wheel, and `make dist` fails before it packs
/// one.
#[test]
fn h9_the_tag_of_the_wheel_says_what_the_binary_needs() {
    let name = package("systole_organism-", ".whl");
    let linked = run("objdump", &["--private-headers", env!("CARGO_BIN_EXE_systole")]);
    let shared = linked.contains("NEEDED               libxml2.so");
    let name = name.file_name().unwrap().to_str().unwrap();
    assert_eq!(name.contains("-manylinux_2_"), !shared, "{name}");
    assert!(name.ends_with("linux_x86_64.whl") || name.contains("-manylinux_2_"), "{name}");
}

#[test]
fn h9_a_source_of_libxml2_that_is_not_pinned_is_not_built() {
    let home = tempfile::tempdir().unwrap();
    let source = home.path().join("source");
    fs::create_dir(&source).unwrap();
    for name in ["libxml2_2.9.14.dsc", "libxml2_2.9.14.orig.tar.xz"] {
        fs::write(source.join(name), name).unwrap();
    }
    let mut command = Command::new("tools/dist/libxml2");
    command
        .arg("x86_64-unknown-linux-gnu")
        .env("LIBXML2_SOURCE", &source)
        .env("CARGO_TARGET_DIR", home.path());
    let refused = command.output().unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(
        said.contains("not in the list of accepted hashes") && said.contains("tools/pinned/libxml2.txt"),
        "{said}"
    );
    assert!(
        said.contains("  libxml2_2.9.14.dsc\n") && said.contains("  libxml2_2.9.14.orig.tar.xz\n"),
        "{said}"
    );
    assert!(refused.stdout.is_empty(), "nothing was unpacked: {}", String::from_utf8_lossy(&refused.stdout));
}

/// The program of `make dist` needs three libraries, its packages have the same bytes when they are made again, and
/// each works in a bare Debian root.
#[test]
#[ignore = "needs root and the packages of make dist; part of make soak"]
fn h9_every_package_works_in_a_bare_debian_root() {
    let program = "target/x86_64-unknown-linux-gnu/release/systole";
    let said = run("ldd", &[program]);
    let mut names: Vec<&str> = said.split_whitespace().filter(|word| word.starts_with("lib")).collect();
    names.sort_unstable();
    assert_eq!(names, ["libc.so.6", "libgcc_s.so.1", "libm.so.6"], "{said}");

    let again = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let sums = again.map(|folder| {
        run("python3", &["-B", "tools/dist/pack.py", program, "target/licences", text(folder.path())]);
        fs::read_to_string(folder.path().join("SHA256SUMS")).unwrap()
    });
    assert_eq!(sums[0], sums[1]);

    println!("{}", run("python3", &["-B", "tools/dist/try.py", "target/dist"]));
}
