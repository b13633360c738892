//! Random changes to exports, judged by `systole verify` and by the `verify.py` inside. They have to agree about each: it
//! is found, or there is a reason why nothing in the export can show it.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use systole_export::archive::ArchiveWriter;
use systole_export::statement::{self, ExportPredicate, FORM};
use systole_soak::dice::SeededDice;

use crate::export::{done, keyed};
use crate::log_evidence::{number, rewrite, sensitive_house, thread};
use crate::program::systole;
use crate::second_verifier::{ClassTable, Judge, cases};

/// Changes to an export, unless `SYSTOLE_CASES` sets their number.
const EXPORTS: u32 = 100;

/// Runs the verifier of an export for each path, in one process.
const SERVE: &str = r#"
import contextlib, importlib.util, io, json, sys
spec = importlib.util.spec_from_file_location("verify", sys.argv[1])
verify = importlib.util.module_from_spec(spec)
spec.loader.exec_module(verify)
for line in sys.stdin:
    sys.argv = ["verify.py", line.rstrip("\n")]
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = verify.main()
    words = [line[9:] for line in said.getvalue().splitlines() if line.startswith("verdict: ")]
    print(json.dumps({"code": code, "verdict": words[0] if words else None, "all": said.getvalue()}), flush=True)
"#;

/// Writes an export with these files, and a statement that fits them.
pub(crate) fn pack(path: &Path, files: &[(String, Vec<u8>)], is_redacted: bool) {
    let _gone = std::fs::remove_file(path);
    let mut archive = ArchiveWriter::create(path).unwrap();
    let mut hashes = Vec::new();
    for (name, bytes) in files.iter().filter(|(name, _)| name != "statement.json") {
        let mut entry = archive.begin_entry(name, name == "verify.py").unwrap();
        entry.write_all(bytes).unwrap();
        hashes.push((name.as_str(), entry.finish_entry().unwrap()));
    }
    let without = if is_redacted { vec!["documents".to_owned()] } else { Vec::new() };
    let predicate = ExportPredicate { form: FORM.to_owned(), threads: Vec::new(), last: 0, without };
    let mut entry = archive.begin_entry("statement.json", false).unwrap();
    entry.write_all(statement::write_statement(&hashes, &predicate, None).unwrap().as_bytes()).unwrap();
    entry.finish_entry().unwrap();
    archive.finish().unwrap();
}

/// Another value of JSON in the place of this one.
fn other_json(value: &mut Value, dice: &mut SeededDice) {
    *value = match (&*value, dice.below(4)) {
        (Value::String(text), 0) => json!(format!("{text}x")),
        (Value::String(text), 1) if !text.is_empty() => {
            let at = usize::try_from(dice.below(text.chars().count() as u64)).unwrap();
            let swap = |(place, c): (usize, char)| {
                if place != at {
                    c
                } else if c == '0' {
                    '1'
                } else {
                    '0'
                }
            };
            json!(text.chars().enumerate().map(swap).collect::<String>())
        }
        (Value::Number(number), 0 | 1) => json!(number.as_u64().unwrap_or_default() + 1),
        (Value::Array(all), 0 | 1) if !all.is_empty() => {
            let mut all = all.clone();
            let at = usize::try_from(dice.below(all.len() as u64)).unwrap();
            other_json(&mut all[at], dice);
            json!(all)
        }
        (Value::Object(all), 0 | 1) if !all.is_empty() => {
            let mut all = all.clone();
            let name =
                all.keys().nth(usize::try_from(dice.below(all.len() as u64)).unwrap()).unwrap().clone();
            match dice.below(3) {
                0 => drop(all.remove(&name)),
                _ => other_json(&mut all[&name], dice),
            }
            Value::Object(all)
        }
        (_, 2) => Value::Null,
        (Value::Null, _) => json!("x"),
        _ => json!(7),
    };
}

/// Changes the lines of a file, and says how.
fn change_lines(bytes: &mut Vec<u8>, dice: &mut SeededDice) -> String {
    let mut lines: Vec<String> =
        String::from_utf8(bytes.clone()).unwrap().lines().map(str::to_owned).collect();
    let pick = |dice: &mut SeededDice| usize::try_from(dice.below(lines.len() as u64)).unwrap();
    let (at, second) = (pick(dice), pick(dice));
    let what = match dice.below(8) {
        0 => {
            lines.remove(at);
            format!("line {at} removed")
        }
        1 => {
            lines.swap(at, second);
            format!("lines {at} and {second} swapped")
        }
        2 => {
            lines.insert(at, lines[second].clone());
            format!("line {second} again before {at}")
        }
        _ => {
            let mut value: Value = serde_json::from_str(&lines[at]).unwrap();
            let fields = value.as_object_mut().unwrap();
            let name =
                fields.keys().nth(usize::try_from(dice.below(fields.len() as u64)).unwrap()).unwrap().clone();
            let before = fields.clone();
            while *fields == before {
                match dice.below(6) {
                    0 => drop(fields.remove(&name)),
                    1 => drop(fields.insert(format!("{name}x"), json!(1))),
                    _ => other_json(&mut fields[&name], dice),
                }
            }
            lines[at] = value.to_string();
            format!("{name} of line {at}: {}", lines[at])
        }
    };
    *bytes = lines.iter().flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect();
    what
}

/// Why a change of an export cannot be found.
fn reason(what: &str, has_proof: bool) -> Option<&'static str> {
    let (file, change) = what.split_once(": ")?;
    let is_of = |field: &str| change.starts_with(&format!("{field} of line"));
    match file {
        // The records, the proof and the checkpoint do not say what a document is for, or in which order they come.
        "documents.jsonl" if is_of("what") => Some("what a document is for is not proved"),
        "documents.jsonl" if change.ends_with("swapped") => Some("the order of documents says nothing"),
        "records.jsonl" if is_of("position") && !has_proof => Some("only with a checkpoint: positions"),
        "records.jsonl" if change.ends_with("removed") && !has_proof => {
            Some("only with a checkpoint: the end")
        }
        // The reason of a hole.
        "holes.jsonl" if is_of("why") => Some("why a part was left out is not proved"),
        "records.jsonl" | "documents.jsonl" | "holes.jsonl" if change.ends_with("swapped") => {
            let mut numbers = change.split(' ').filter_map(|word| word.parse::<u32>().ok());
            (numbers.next() == numbers.next()).then_some("a line swapped with itself")
        }
        _ => None,
    }
}

/// A file with the export, and its files.
type UnpackedExport = (Vec<u8>, Vec<(String, Vec<u8>)>);

/// Writes a changed export: what kind of change, what exactly, and whether the proof is still there.
fn change(
    path: &Path,
    (whole, files): &UnpackedExport,
    is_redacted: bool,
    dice: &mut SeededDice,
) -> (String, String, bool) {
    if dice.below(3) == 0 {
        let mut bytes = whole.clone();
        let at = usize::try_from(dice.below(bytes.len() as u64)).unwrap();
        bytes[at] ^= 1 << dice.below(8);
        std::fs::write(path, &bytes).unwrap();
        return ("a bit of the file".to_owned(), format!("a bit of byte {at}"), true);
    }
    let mut files = files.clone();
    let last = if is_redacted { "holes.jsonl" } else { "documents.jsonl" };
    let name = ["records.jsonl", "records.jsonl", last][usize::try_from(dice.below(3)).unwrap()];
    let (_, bytes) = files.iter_mut().find(|(known, _)| known == name).unwrap();
    let change = change_lines(bytes, dice);
    let has_proof = dice.below(4) > 0;
    if !has_proof {
        files.retain(|(name, _)| name != "checkpoint.txt" && name != "proof.json");
    }
    pack(path, &files, is_redacted);
    let moved = [" removed", " swapped", " again"].into_iter().find(|kind| change.contains(kind));
    let field = change.split(' ').next().unwrap_or_default();
    let kind = moved.filter(|_| change.starts_with("line")).map_or(field, str::trim);
    let proof = if has_proof { "" } else { ", without the proof" };
    (format!("{name}: {kind}{proof}"), format!("{name}: {change}"), has_proof)
}

#[tokio::test]
async fn c2_two_verifiers_without_common_code_agree_about_changed_exports() {
    let folder = sensitive_house().await;
    let at = folder.path();
    keyed(at);
    done(systole(at, &["checkpoint"]));
    let root = thread(at, "SELECT text FROM thread WHERE text LIKE 'sess-%' ORDER BY id");
    done(systole(at, &["export", root.as_str(), "-o", "T.zip"]));
    done(systole(at, &["export", root.as_str(), "--redact", "sensitive", "-o", "R.zip"]));
    let script = "import sys, json, zipfile\nz = zipfile.ZipFile(sys.argv[1])\n\
                  print(json.dumps([[n, z.read(n).decode()] for n in z.namelist()]))";
    let unpacked = |name: &str| {
        let ran = Command::new("python3").args(["-c", script, name]).current_dir(at).output().unwrap();
        let files: Vec<(String, String)> = serde_json::from_slice(&ran.stdout).unwrap();
        files.into_iter().map(|(name, text)| (name, text.into_bytes())).collect::<Vec<(String, Vec<u8>)>>()
    };
    // Whole, and redacted: of that nothing is left but its hash.
    let exports = ["T.zip", "R.zip"].map(|name| (std::fs::read(at.join(name)).unwrap(), unpacked(name)));
    let judge = &mut Judge::start(&["-c", SERVE, "src/cli/export/verify.py"]);
    let path = at.join("changed.zip");
    let size = number(at, "SELECT max(pos) FROM record");
    let agreed = |judge: &mut Judge, what: &str| {
        let ran = systole(at, &["verify", "changed.zip", "--json"]);
        let product = ran.json_lines().pop().unwrap_or_default();
        let python = judge.judge(&path);
        let is_damaged = |verdict: &Value| verdict.as_str().unwrap().starts_with("damaged");
        let codes = (ran.code.map(i64::from), python["code"].as_i64());
        assert!(codes.0.is_some() && codes.0 == codes.1, "{what}: {ran:?}\n{python}");
        assert_eq!(
            is_damaged(&product["verdict"]),
            is_damaged(&python["verdict"]),
            "{what}: {ran:?}\n{python}"
        );
        is_damaged(&product["verdict"])
    };
    for (which, (_, files)) in exports.iter().enumerate() {
        pack(&path, files, which == 1);
        assert!(!agreed(judge, "as it is"));
    }
    let dice = &mut SeededDice::new(9);
    let (mut found, mut classes) = (0, ClassTable::default());
    for _ in 0..cases(EXPORTS) {
        let which = usize::try_from(dice.below(3)).unwrap() / 2;
        let (class, what, has_proof) = change(&path, &exports[which], which == 1, dice);
        let is_found = agreed(judge, &what);
        found += u32::from(is_found);
        let why = reason(&what, has_proof).unwrap_or("nothing");
        assert!(is_found || why != "nothing", "no reason why it is not found: {what}");
        classes.count(&class, if is_found { "found" } else { why });
    }
    println!("{found} of {} changes of exports are damage:", cases(EXPORTS));
    classes.print();
    assert!(found * 10 > cases(EXPORTS) * 8, "{found}");
    // A log that was written anew fits together in an export of its own, until its checkpoint is there.
    rewrite(at, &root, 2, "<other/>");
    done(systole(at, &["export", root.as_str(), "-o", "anew.zip", "--no-proof"]));
    std::fs::copy(at.join("anew.zip"), &path).unwrap();
    assert!(!agreed(judge, "written anew, without a checkpoint"));
    assert!(size > 0);
}
