//! A listener of code in an organism: an agent uses it, a person tries it, and `check` refuses folders that it must not
//! read.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::organism::folder;
use crate::program::systole;

/// The organism with a listener of code and its folder.
fn organism(listener: &str) -> TempDir {
    let text = format!(
        "organism: {{name: hello}}\nlisteners:\n  source: {{{listener}}}\n  other: {{run: [python3, tools/x.py], accepts: [ask], entry: true}}\n"
    );
    let folder =
        folder(&[("organism.yaml", text.as_str()), ("src/main.rs", "fn main() {}\n"), ("tools/x.py", "")]);
    fs::create_dir(folder.path().join("empty")).unwrap();
    folder
}

fn refused(listener: &str) -> String {
    let folder = organism(listener);
    let ran = systole(folder.path(), &["check"]);
    assert_eq!(ran.code, Some(3), "{listener}: {ran:?}");
    ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn g1_an_agent_searches_and_repairs_its_calls() {
    let folder = tempfile::tempdir().unwrap();
    let reader = folder.path().join("reader");
    crate::session::copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("config/reader"), &reader);
    let ran = systole(&reader, &["test"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let ran = systole(&reader, &["check"]);
    assert!(
        ran.stdout.contains("searches ") && ran.stdout.contains("takes search, extract, query"),
        "{ran:?}"
    );
    let tried = systole(&reader, &["listener", "try", "source", "--send", "search", "query=greeting"]);
    assert_eq!(tried.code, Some(0), "{tried:?}");
    assert!(tried.stdout.contains("greet/words.py"), "{tried:?}");
    let tried =
        systole(&reader, &["listener", "try", "source", "--send", "extract", "file_path=../organism.yaml"]);
    assert!(tried.stdout.contains("code.outside-root"), "{tried:?}");
    let schema = systole(&reader, &["schema", "show", "code"]);
    assert!(schema.stdout.contains("targetNamespace=\"https://xml-pipeline.org/ns/code/v1\""), "{schema:?}");
    let graph = systole(&reader, &["graph"]);
    assert!(graph.stdout.contains("source"), "{graph:?}");
}

/// An organism may search the folder around its own, and sees nothing of its own.
#[test]
fn g1_the_folder_around_an_organism_is_searched_without_the_organisms_own() {
    for name in ["review", "a [b]*{c} ü!", "deep/er"] {
        let place = folder(&[("src/main.rs", "fn borrowed_lamp() {}\n"), ("src/other.db.run", "token")]);
        let own = place.path().join(name);
        fs::create_dir_all(&own).unwrap();
        let around = if name.contains('/') { "../.." } else { ".." };
        let text = format!(
            "organism: {{name: hello}}\nlisteners:\n  source: {{code: {around}, entry: true}}\n# borrowed_lamp\n"
        );
        fs::write(own.join("organism.yaml"), text).unwrap();
        assert_eq!(systole(&own, &["check"]).code, Some(0), "{name}");
        let tries = |words: &[&str]| {
            let ran = systole(&own, &[&["listener", "try", "source", "--send"], words].concat());
            assert_eq!(ran.code, Some(0), "{name}: {ran:?}");
            ran.stdout
        };
        let found = tries(&["search", "query=borrowed_lamp"]);
        assert!(found.contains("file=\"src/main.rs\"") && !found.contains("organism.yaml"), "{found}");
        let refused = tries(&["extract", &format!("file_path={name}/organism.yaml")]);
        assert!(refused.contains("code=\"code.denied\""), "{refused}");
        assert!(tries(&["extract", "file_path=src/main.rs"]).contains("borrowed_lamp"));
        // Nor may it read the credentials of another organism.
        assert!(tries(&["extract", "file_path=src/other.db.run"]).contains("code=\"code.denied\""));
        // What belongs to the organism and is elsewhere in the folder is still refused.
        let elsewhere = systole(&own, &["check", "--set", &format!("log.path={around}/src/hello.db")]);
        assert!(elsewhere.code == Some(3) && elsewhere.stdout.contains("holds the log"), "{elsewhere:?}");
    }
}

#[test]
fn g1_a_folder_that_must_not_be_read_is_refused() {
    for (listener, says) in [
        ("code: ./none", "listeners.source.code: `./none`"),
        ("code: ./src/main.rs", "is not a folder"),
        ("code: .", "holds the log, which no listener may read"),
        ("code: ./tools", "holds the program tools/x.py"),
        ("code: ./src, run: [x]", "listeners.source.run: a listener of `code` is built in"),
        ("code: ./src, accepts: [ask]", "listeners.source.accepts: a listener of `code` is built in"),
        ("code: ./src, deny: [\"!x\"]", "listeners.source.deny: `!x` cannot be used"),
        ("code: [./src]", "listeners.source.code"),
        ("run: [x], accepts: [ask], deny: [x]", "only a listener of `code` or `workspace` has a deny list"),
    ] {
        let said = refused(listener);
        assert!(said.contains(says), "{listener}: {said}");
    }
    let folder = organism("code: ./link, entry: true");
    std::os::unix::fs::symlink(".", folder.path().join("link")).unwrap();
    let ran = systole(folder.path(), &["check"]);
    assert!(ran.stdout.contains("holds the log"), "through a link: {ran:?}");
    let logged = systole(
        folder.path(),
        &["check", "--set", "listeners.source.code=./empty", "--set", "log.path=empty/new.db"],
    );
    assert!(logged.stdout.contains("holds the log"), "a log that does not exist yet: {logged:?}");
    let folder = organism("code: ./src, entry: true");
    assert_eq!(systole(folder.path(), &["check"]).code, Some(0));
}

#[test]
fn g1_a_listener_of_code_is_a_program_in_a_sandbox_that_reads_only_its_folder() {
    let folder = organism("code: ./src, entry: true");
    let asked = ["send", "--to", "source", "search", "query=main"];
    let found = systole(folder.path(), &asked);
    assert!(found.stdout.contains("file=\"main.rs\""), "{found:?}");
    let log = systole(folder.path(), &["log"]);
    assert!(log.stdout.contains("name=source sandbox=full"), "{log:?}");
    // A link to the outside is refused by the listener; in the sandbox there is nothing behind it either.
    fs::write(folder.path().join("outside.rs"), "fn outside() {}").unwrap();
    std::os::unix::fs::symlink("../outside.rs", folder.path().join("src/link.rs")).unwrap();
    let linked = systole(folder.path(), &["send", "--to", "source", "extract", "file_path=link.rs"]);
    assert!(linked.stdout.contains("<code-error") && !linked.stdout.contains("fn outside"), "{linked:?}");
    let bare = systole(
        folder.path(),
        &["send", "--to", "source", "search", "query=main", "--set", "listeners.source.sandbox=none"],
    );
    assert!(bare.stdout.contains("file=\"main.rs\""), "{bare:?}");
}
