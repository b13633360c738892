//! Folders that a sandbox may not have: `check` refuses them, and the helper again at each start.

use std::os::unix::fs::symlink;
use std::path::Path;

use systole_sandbox::SandboxPolicy;

use super::everywhere;
use crate::program::systole;

fn checked(folder: &Path, sandbox: &str) -> String {
    let file = format!(
        "organism: {{name: hello}}\nlog: {{path: logs/hello.db}}\nlisteners:\n  one:\n    run: [sh, tools/one.sh]\n    sandbox: {sandbox}\n    accepts: [ask]\n    entry: true\n  two:\n    run: [sh, other/two.sh]\n    schema: xsd/two.xsd\n    accepts: [ask]\n    entry: true\n"
    );
    std::fs::write(folder.join("organism.yaml"), file).unwrap();
    let ran = systole(folder, &["check"]);
    assert_eq!(ran.code == Some(0), !ran.stdout.contains("error["), "{ran:?}");
    // Long messages are wrapped.
    ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn g2_check_refuses_a_sandbox_that_contains_what_must_stay_outside() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    for name in ["logs", "tools/lib", "other", "xsd", "out"] {
        std::fs::create_dir_all(folder.join(name)).unwrap();
    }
    for name in ["tools/one.sh", "other/two.sh"] {
        std::fs::write(folder.join(name), "").unwrap();
    }
    let schema = "<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema' targetNamespace='urn:t' elementFormDefault='qualified'><xs:element name='t' type='xs:string'/></xs:schema>";
    std::fs::write(folder.join("xsd/two.xsd"), schema).unwrap();
    symlink(folder, folder.join("out/back")).unwrap();
    symlink(folder.join("logs"), folder.join("linked")).unwrap();
    let refused = [
        ("{write: [.]}", "write: `.` contains the log"),
        ("{read: [.]}", "read: `.` contains the log"),
        ("{read: [/]}", "read: `/` contains the log"),
        ("{read: [logs]}", "read: `logs` contains the log"),
        ("{read: [linked]}", "read: `linked` contains the log"),
        ("{read: [out/back]}", "read: `out/back` contains the log"),
        ("{read: [organism.yaml]}", "contains the organism's file"),
        ("{read: [xsd]}", "contains the schema xsd/two.xsd"),
        ("{read: [other]}", "contains the program other/two.sh of two"),
        ("{write: [tools]}", "contains the program tools/one.sh of one"),
        ("{write: [tools/../other]}", "contains the program other/two.sh of two"),
        ("{read: [absent]}", "`absent` is not there"),
        ("{write: [tools/one.sh]}", "is not a folder"),
    ];
    for (sandbox, words) in refused {
        let said = checked(folder, sandbox);
        assert!(
            said.contains("error[config.sandbox]: listeners.one.sandbox.") && said.contains(words),
            "{sandbox}: {said}"
        );
    }
    for sandbox in ["{read: [tools], write: [out, tools/lib]}", "{}", "none"] {
        let said = checked(folder, sandbox);
        assert!(!said.contains("error["), "{sandbox}: {said}");
    }
}

/// An organism with something of each kind that no program may write.
const MADE_OF: &str = "organism: {name: hello}
proof: {key: absent.key, origin: example.org/hello, to: [./tiles]}
models: {main: {provider: script, file: answers/replies.yaml}}
agents:
  helper: {model: main, dialect: native, prompt: {identity: {file: prompts/identity.md}}, output: {format: json, schema: shapes/final.json}, entry: true}
listeners:
  served: {mcp: [sh, served.sh], entry: true}
";

#[test]
fn g2_no_program_may_write_what_its_organism_is_made_of() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    for name in ["answers", "prompts", "shapes", "schemas/mcp", "tiles", "tools", "out"] {
        std::fs::create_dir_all(folder.join(name)).unwrap();
    }
    for (name, text) in [
        ("answers/replies.yaml", "helper: []\n"),
        ("prompts/identity.md", "You help."),
        ("shapes/final.json", "{}"),
        ("tools/one.sh", ""),
    ] {
        std::fs::write(folder.join(name), text).unwrap();
    }
    let said = |listener: &str| {
        std::fs::write(folder.join("organism.yaml"), format!("{MADE_OF}  one: {{{listener}}}\n")).unwrap();
        systole(folder, &["check"]).stdout.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for (part, what) in [
        ("answers", "the script answers/replies.yaml"),
        ("prompts", "the prompt prompts/identity.md"),
        ("shapes", "the schema shapes/final.json"),
        ("schemas", "the pin of served"),
        ("tiles", "a folder of checkpoints"),
    ] {
        let one = |key: &str| {
            said(&format!(
                "run: [sh, tools/one.sh], sandbox: {{{key}: [{part}]}}, accepts: [ask], entry: true"
            ))
        };
        let words = format!("listeners.one.sandbox.write: `{part}` contains {what}");
        assert!(one("write").contains(&words), "{}", one("write"));
        // A pin is part of the server's program, which no other listener may read.
        let is_read = !one("read").contains("listeners.one.sandbox");
        assert_eq!(is_read, part != "schemas", "{}", one("read"));
        let said = said(&format!("workspace: {part}, entry: true"));
        assert!(said.contains(&format!("`{part}` holds {what}, which no listener may change")), "{said}");
    }
}

#[test]
fn g2_a_folder_of_the_system_is_warned_about() {
    let place = tempfile::tempdir().unwrap();
    for (folder, words) in [
        ("/etc", "sandbox.write: `/etc` is a folder of the system, and the program may write it"),
        (
            "/var/tmp",
            "sandbox.write: `/var/tmp` is a folder that programs share, and the program may write it",
        ),
    ] {
        let file = format!(
            "organism: {{name: hello}}\nlisteners:\n  one: {{run: [sh, one.sh], sandbox: {{write: [{folder}]}}, accepts: [ask], entry: true}}\n"
        );
        std::fs::write(place.path().join("organism.yaml"), file).unwrap();
        let ran = systole(place.path(), &["check"]);
        let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(ran.code == Some(0) && said.contains("warning[config.shared-folder]"), "{said}");
        assert!(said.contains(words), "{said}");
    }
    let file = "organism: {name: hello}\nlisteners:\n  one: {workspace: /etc, sandbox: {write: [\"~\"]}, entry: true}\n";
    std::fs::write(place.path().join("organism.yaml"), file).unwrap();
    let said = systole(place.path(), &["check"]).stdout;
    assert!(said.contains("`~` is not there") && said.contains("try: the whole path"), "{said}");
}

/// A folder that stays closed inside of one that is read: the kernel refuses its files, whatever leads to them.
#[test]
fn g2_a_hidden_folder_stays_closed_inside_of_one_that_may_be_read() {
    for (level, mut scene) in everywhere() {
        let outside = scene.path("outside");
        for folder in ["sub/own", "sub/beside"] {
            std::fs::create_dir_all(outside.join(folder)).unwrap();
        }
        for file in ["top", "sub/beside/open", "sub/own/hello.db", "sub/own/later"] {
            std::fs::write(outside.join(file), format!("text of {file}")).unwrap();
        }
        symlink("sub/own/hello.db", outside.join("link")).unwrap();
        let hidden = outside.join("sub/own");
        scene.policy = SandboxPolicy {
            read: vec![outside.clone()],
            hidden: Some(hidden.clone()),
            keep_out: vec![hidden.join("hello.db"), hidden.join("not-there-yet")],
            ..scene.policy
        };
        // In a shell: a file that a command line names may be read.
        let cat =
            |path: &str| scene.run(level, &["sh", "-c", &format!("cat '{}/{path}'", outside.display())]);
        for path in ["top", "sub/beside/open"] {
            let ran = cat(path);
            assert_eq!((ran.code, ran.stdout), (Some(0), format!("text of {path}")), "{level:?}");
        }
        for path in ["sub/own/hello.db", "sub/own/later", "link", "sub/beside/../own/later"] {
            let ran = cat(path);
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{level:?} {path}: {ran:?}");
            assert!(ran.stderr.contains("Permission denied"), "{level:?} {path}: {ran:?}");
        }
        // Nothing else of the organism may be in the folder, and a writable one hides nothing.
        let mut kept = scene.policy.clone();
        kept.keep_out.push(outside.join("top"));
        let open = SandboxPolicy { read: vec![], write: vec![outside.clone()], ..scene.policy.clone() };
        for policy in [kept, open] {
            scene.policy = policy;
            let ran = scene.run(level, &["true"]);
            assert!(ran.code == Some(125) && ran.stderr.contains("must stay outside"), "{level:?}: {ran:?}");
        }
    }
}

#[test]
fn g2_the_helper_refuses_a_folder_that_became_a_link_since() {
    for (level, mut scene) in everywhere() {
        let (write, secret) = (scene.path("writable"), scene.path("outside"));
        scene.policy = SandboxPolicy {
            write: vec![write.clone(), write.join("sub")],
            keep_out: vec![secret.join("hello.db.run"), secret.join("not-there-yet")],
            protect: vec![scene.path("programs/tool")],
            ..scene.policy
        };
        std::fs::create_dir(write.join("sub")).unwrap();
        assert_eq!(scene.run(level, &["true"]).code, Some(0));
        // What a program could leave behind for its next start.
        for (target, words) in
            [(secret, "must stay outside"), (scene.path("programs"), "must not be written")]
        {
            std::fs::create_dir_all(scene.path("programs")).unwrap();
            let _none = std::fs::remove_dir(write.join("sub"));
            let _none = std::fs::remove_file(write.join("sub"));
            symlink(target, write.join("sub")).unwrap();
            let ran = scene.run(level, &["echo", "started"]);
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(125), ""), "{ran:?}");
            assert!(ran.stderr.contains("sandbox: not started: ") && ran.stderr.contains(words), "{ran:?}");
        }
    }
}
