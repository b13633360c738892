//! The page about the log, tested alone: its program verifies every fixture log, and its test vectors equal what the
//! code computes. The formula is not written here; Python has it from the page, and the code has its own.

use std::path::Path;
use std::process::{Command, Output};

use rusqlite::Connection;
use systole_core::types::ids::Digest;
use systole_core::types::ports::{LogReader as _, Position};
use systole_core::types::record::{Header, Record};
use systole_log::sqlite;

use crate::log_records::Folder;

const PAGE: &str = "docs/reference/proof.md";

/// Computes the vectors of the page with the functions of the page's program.
const VECTORS: &str = r#"
import sys
from verify import H, first_head, leaf, next_head
blocks = open(sys.argv[1]).read().split("```text\nheader:\n")[1:]
for block in blocks:
    header, rest = block.split("```")[0].split("\n\n")
    header = (header + "\n").encode()
    said = {name: value.strip() for name, value in (line.split(":", 1) for line in rest.strip().split("\n"))}
    body, salt = said["body"].encode(), bytes.fromhex(said["salt"])
    part = H(b"\x03", salt, body)
    computed = leaf(header, salt, body)
    assert said["part"] == part.hex() and said["commitment"] == H(b"\x05", part).hex()
    assert said["leaf"] == computed.hex()
    assert said["head"] == next_head(bytes.fromhex(said["previous head"]), computed).hex()
    fields = header.split(b"\n")
    assert len(fields) == 19 and fields[18] == b""
    if fields[2] == b"1:1":
        thread = fields[1].split(b":", 1)[1].decode()
        assert said["previous head"] == first_head(thread).hex()
print(len(blocks), "vectors")
"#;

pub(crate) fn page() -> String {
    std::fs::read_to_string(PAGE).unwrap()
}

/// The program of the page.
pub(crate) fn program(page: &str) -> &str {
    let (_, after) = page.split_once("```python\n").unwrap();
    after.split_once("```\n").unwrap().0
}

#[test]
fn the_page_shows_the_program_as_it_is() {
    let program = std::fs::read_to_string("docs/reference/verify.py").unwrap();
    assert_eq!(crate::generated::parts(PAGE, |_| format!("```python\n{program}```")), ["verify.py"]);
}

/// A vector of the page: the bytes of the header, and the value of a name.
struct Vector<'p>(String, &'p str);

impl<'p> Vector<'p> {
    fn all(page: &'p str) -> Vec<Self> {
        let blocks = page.split("```text\nheader:\n").skip(1);
        let read = |block: &'p str| {
            let (header, values) = block.split_once("\n\n").unwrap();
            Self(format!("{header}\n"), values.split_once("```").unwrap().0)
        };
        blocks.map(read).collect()
    }

    fn value(&self, name: &str) -> &'p str {
        let value = self.1.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        value.unwrap_or_else(|| panic!("{name} is missing")).trim()
    }

    fn hash(&self, name: &str) -> Digest {
        Digest::parse(self.value(name)).unwrap()
    }
}

fn salt(hex: &str) -> [u8; 16] {
    std::array::from_fn(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap())
}

pub(crate) fn python(folder: &Path, arguments: &[&str]) -> Output {
    Command::new("python3").args(arguments).current_dir(folder).output().unwrap()
}

/// A folder with the program of the page.
pub(crate) fn with_program() -> Folder {
    let folder = Folder::new();
    std::fs::write(folder.path().join("verify.py"), program(&page())).unwrap();
    folder
}

pub(crate) fn fixtures() -> Vec<std::path::PathBuf> {
    let files = std::fs::read_dir("tests/fixtures").unwrap().map(|entry| entry.unwrap().path());
    let mut logs: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|ending| ending == "db")).collect();
    logs.sort();
    logs
}

#[test]
fn the_program_of_the_page_verifies_every_fixture() {
    let folder = with_program();
    let logs = fixtures();
    assert!(logs.len() >= 7, "{logs:?}");
    for log in logs {
        std::fs::copy(&log, folder.log()).unwrap();
        let saw = sqlite::verify_all(&folder.log()).unwrap();
        let ran = python(folder.path(), &["verify.py", "organism.db"]);
        let said = String::from_utf8(ran.stdout).unwrap();
        let expected = format!("{} records in {} threads verify\n", saw.records, saw.threads);
        assert_eq!(said, expected, "{}: {}", log.display(), String::from_utf8_lossy(&ran.stderr));
        assert!(ran.status.success());
    }
}

#[test]
fn the_program_of_the_page_names_the_position_that_was_changed() {
    for (sql, first) in [
        ("UPDATE record SET time = time + 1 WHERE pos = 5", "position 5"),
        ("UPDATE record SET body = CAST('x' || CAST(body AS TEXT) AS BLOB) WHERE pos = 7", "position 7"),
        ("DELETE FROM record WHERE pos = 9", "position 9"),
        ("DELETE FROM word WHERE text = 'request'", "position "),
        ("UPDATE record SET origin = zeroblob(32) WHERE pos = 3", "position 3"),
        ("INSERT INTO document (hash, bytes) VALUES (zeroblob(32), x'00')", "document 00000000"),
    ] {
        let folder = with_program();
        std::fs::copy("tests/fixtures/log-v2-threads.db", folder.log()).unwrap();
        Connection::open(folder.log()).unwrap().execute_batch(sql).unwrap();
        let ran = python(folder.path(), &["verify.py", "organism.db"]);
        let said = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(1), "{sql}: {said}");
        assert!(said.starts_with(first) && said.trim_end().ends_with("does not verify"), "{sql}: {said}");
    }
}

#[test]
fn python_computes_the_vectors_of_the_page() {
    let folder = with_program();
    let page = std::path::absolute(PAGE).unwrap();
    let ran = python(folder.path(), &["-c", VECTORS, page.to_str().unwrap()]);
    assert_eq!(
        String::from_utf8_lossy(&ran.stdout),
        "3 vectors\n",
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
}

#[test]
fn the_test_vectors_of_the_page_match_a_fixture_and_the_code() {
    let folder = Folder::new();
    std::fs::copy("tests/fixtures/log-v1.db", folder.log()).unwrap();
    let stored = sqlite::open_log(&folder.log()).unwrap().reader.read_after(Position(0), 10).unwrap();
    let page = page();
    let vectors = Vector::all(&page);
    for (vector, position) in vectors.iter().zip([1, 2, 5]) {
        let body = vector.value("body").as_bytes();
        let (header, length, holes) = Header::from_bytes(vector.0.as_bytes()).unwrap();
        assert!(holes.is_empty());
        assert_eq!(length, body.len() as u64);
        assert_eq!(
            String::from_utf8(header.to_bytes(body.len(), &salt(vector.value("salt")).into())).unwrap(),
            vector.0
        );
        let sealed: Record =
            header.seal_record(body.into(), salt(vector.value("salt")), vector.hash("previous head"));
        assert_eq!((sealed.leaf, sealed.head), (vector.hash("leaf"), vector.hash("head")));
        assert!(stored.contains(&(Position(position), sealed)), "position {position}");
    }
    assert_eq!(vectors.len(), 3);
}

/// The table of fields names each of the 18 in the order in which the code hashes them.
#[test]
fn the_fields_of_the_page_are_those_of_a_header_in_order() {
    let page = page();
    let rows = page.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| ")?.split(" | ");
        let number: usize = cells.next()?.parse().ok()?;
        Some((number, cells.next()?.to_owned()))
    });
    let rows: Vec<(usize, String)> = rows.collect();
    let names = [
        "form",
        "thread",
        "seq",
        "id",
        "kind",
        "from",
        "to",
        "call",
        "turn",
        "ordinal",
        "cause",
        "key",
        "origin",
        "time",
        "config",
        "code",
        "body length",
        "holes",
    ];
    let expected: Vec<(usize, String)> = (1..).zip(names.map(str::to_owned)).collect();
    assert_eq!(rows, expected);
}
