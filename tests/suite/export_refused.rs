//! Exports that a stranger gets and should not believe: what each verifier says about them, and with which exit. And what
//! a stranger needs for that.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::export::{done, interpreter, keyed, python, unpack};
use crate::log_evidence::{house, number};
use crate::program::{Ran, systole};

/// Makes an export with a changed byte, one without a file and one that grows when it is read.
const BAD: &str = r#"
import zipfile
source = zipfile.ZipFile("T.zip")
def write(path, without=(), bomb=None):
    with zipfile.ZipFile(path, "w") as out:
        for name in source.namelist():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.create_version = 20
            entry.external_attr = (0o100755 if name == "verify.py" else 0o100644) << 16
            data = source.read(name)
            if name == bomb:
                entry.compress_type, data = zipfile.ZIP_DEFLATED, b"0" * 300_000_000
            if name not in without:
                out.writestr(entry, data)
write("missing.zip", without=["documents.jsonl"])
write("bomb.zip", bomb="records.jsonl")
whole = bytearray(open("T.zip", "rb").read())
at = whole.index(b'"kind":"message"')
whole[at + 8] ^= 1
open("changed.zip", "wb").write(whole)
open("cut.zip", "wb").write(whole[:9000])
open("text.zip", "w").write("This is no zip file.")
"#;

#[track_caller]
fn says(ran: &Ran, code: i32, words: &str, what: &str) {
    let flat = [ran.stdout.as_str(), " ", &ran.stderr].concat();
    let flat = flat.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(!flat.contains("Traceback") && !flat.contains("panicked"), "{what}: {ran:?}");
    assert!(ran.code == Some(code) && flat.contains(words), "{what}: {words}: {ran:?}");
}

#[tokio::test]
async fn c9_bad_exports_keys_and_policies_have_clear_messages_and_exits() {
    let folder = house().await;
    let at = folder.path();
    let key = keyed(at);
    done(systole(at, &["checkpoint"]));
    done(systole(at, &["export", "@last", "-o", "T.zip", "--key", "proof.key"]));
    unpack(at, "T.zip", "u");
    let made = python(at, &["-c", BAD]);
    assert_eq!(made.code, Some(0), "{made:?}");
    for (name, words, by_python) in [
        ("changed.zip", "records.jsonl: its checksum differs", "records.jsonl: its checksum differs"),
        (
            "missing.zip",
            "documents.jsonl is named in statement.json and missing",
            "documents.jsonl is missing",
        ),
        ("bomb.zip", "records.jsonl is compressed", "records.jsonl is compressed"),
        ("cut.zip", "it is no export: it does not end like", "it is no export: it does not end like"),
        ("text.zip", "it is no export: it does not end like", "it is no export: it does not end like"),
    ] {
        let ran = systole(at, &["verify", name]);
        says(&ran, 7, words, name);
        says(&ran, 7, "try: ask its sender for the file", name);
        says(&python(at, &["u/verify.py", name]), 7, by_python, name);
    }
    says(&systole(at, &["verify", "absent.zip"]), 5, "absent.zip", "absent");
    says(&python(at, &["u/verify.py", "absent.zip"]), 2, "there is no such file", "absent");

    // Another key of the same name, and a key that is none.
    let other = done(systole(at, &["keygen", "--origin", "example.org/house", "-o", "other.key"]));
    let other = other.trim_end();
    says(
        &systole(at, &["verify", "T.zip", "--key", other]),
        1,
        "no checkpoint satisfies the policy",
        "other",
    );
    says(&python(at, &["u/verify.py", "T.zip", "--key", other]), 1, "no log of the policy signed", "other");
    says(&systole(at, &["verify", "T.zip", "--key", "x+y"]), 2, "--key", "no key");
    says(&python(at, &["u/verify.py", "T.zip", "--key", "x+y"]), 2, "a key is NAME+ID+BASE64", "no key");

    // Witnesses that did not cosign, and one that the policy does not know.
    let witness = done(systole(at, &["keygen", "--origin", "example.net/w", "--witness", "-o", "w.key"]));
    let witness = witness.trim_end();
    let size = number(at, "SELECT max(pos) FROM record");
    std::fs::write(at.join("w.policy"), format!("log {key}\nwitness w1 {witness}\nquorum w1\n")).unwrap();
    let anchored = format!("verdict: anchored up to #{size}");
    for ran in [
        systole(at, &["verify", "T.zip", "--policy", "w.policy"]),
        python(at, &["u/verify.py", "T.zip", "--policy", "w.policy"]),
    ] {
        says(&ran, 1, &anchored, "no cosignature");
    }
    wrong_policies(at, &key, witness);
}

/// Both verifiers end with the same codes for a policy that is wrong or missing.
fn wrong_policies(at: &Path, key: &str, witness: &str) {
    std::fs::write(
        at.join("u.policy"),
        format!("log {key}\nwitness w1 {witness}\ngroup g 1 w1 w2\nquorum g\n"),
    )
    .unwrap();
    says(&systole(at, &["verify", "T.zip", "--policy", "u.policy"]), 3, "u.policy: line 3", "unknown");
    let ran = python(at, &["u/verify.py", "T.zip", "--policy", "u.policy"]);
    says(&ran, 3, "line 3 of the policy: a group needs a threshold and known members", "unknown");
    for (bytes, words) in [
        (&b"\xff\nquorum none\n"[..], "the policy is not UTF-8"),
        (format!("log {key}\n").as_bytes(), "the policy has no line `quorum NAME`"),
        (b"", "the policy has no line `quorum NAME`"),
    ] {
        std::fs::write(at.join("u.policy"), bytes).unwrap();
        says(&systole(at, &["verify", "T.zip", "--policy", "u.policy"]), 3, "u.policy: ", words);
        says(&python(at, &["u/verify.py", "T.zip", "--policy", "u.policy"]), 3, words, words);
    }
    for absent in [
        systole(at, &["verify", "T.zip", "--policy", "absent.policy"]),
        python(at, &["u/verify.py", "T.zip", "--policy", "absent.policy"]),
    ] {
        says(&absent, 2, "absent.policy", "absent");
    }
}

/// What a stranger has: no Systole, only Python and the programs that the page names.
#[tokio::test]
async fn c9_a_stranger_needs_python_and_openssl_and_no_systole() {
    let folder = house().await;
    let at = folder.path();
    let key = keyed(at);
    done(systole(at, &["checkpoint"]));
    let size = number(at, "SELECT max(pos) FROM record");
    done(systole(at, &["export", "@last", "-o", "case-7.zip"]));
    let stranger = tempfile::tempdir().unwrap();
    let has = stranger.path();
    std::fs::copy(at.join("case-7.zip"), has.join("case-7.zip")).unwrap();
    std::fs::create_dir(has.join("bin")).unwrap();
    let paths = std::env::var_os("PATH").unwrap();
    // What is called python3 may be a script that needs other programs.
    symlink(interpreter(), has.join("bin/python3")).unwrap();
    for name in ["openssl", "unzip", "sed", "head", "tail", "cut"] {
        let found = std::env::split_paths(&paths).map(|folder| folder.join(name)).find(|path| path.is_file());
        symlink(found.unwrap_or_else(|| panic!("{name} is not installed")), has.join("bin").join(name))
            .unwrap();
    }
    let page =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/export.md"));
    let page = page.unwrap();
    let commands = page.split_once("```sh\n").unwrap().1.split_once("```").unwrap().0;
    let script = format!(
        "if command -v systole; then exit 9; fi\nunzip -q case-7.zip -d case\n\
         (cd case; python3 verify.py --key \"$KEY\")\n{commands}"
    );
    let run = |key: &str| {
        let mut command = Command::new("/bin/sh");
        command.args(["-ec", &script]).env_clear().env("PATH", has.join("bin")).env("KEY", key);
        let ran = command.env("PYTHONIOENCODING", "utf-8").current_dir(has).output().unwrap();
        let _again = std::fs::remove_dir_all(has.join("case"));
        let said = [ran.stdout, ran.stderr].concat();
        (ran.status.code(), String::from_utf8(said).unwrap())
    };
    let (code, said) = run(&key);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains(&format!("verdict: anchored up to #{size}")), "{said}");
    assert!(said.contains("Signature Verified Successfully"), "{said}");
    let other = done(systole(at, &["keygen", "--origin", "example.org/house", "-o", "other.key"]));
    let (code, said) = run(other.trim_end());
    assert!(code != Some(0) && said.contains("verdict: sound"), "{said}");
}
