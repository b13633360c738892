//! `systole open`: a log or an export without an organism, shown read-only, as an auditor gets it: what is shown of it,
//! what is not touched, and what is said of a file that cannot be shown.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;
use serde_json::{Value, json};
use systole_export::archive::{ArchiveReader, ArchiveWriter};
use systole_organism::runfile::RunFile;

use crate::console::{ALICE, CAROL, house, running, sent, text_of};
use crate::export::{done, keyed};
use crate::export_redacted::{SECRET, talkative};
use crate::log_evidence::{edit, number};
use crate::organism::say;
use crate::program::{Answer, Running, ask, command, page, run_file, systole};
use crate::sandbox::OTHER_USER;

/// What a browser accepts.
const HTML: &str = "text/html";

/// `systole open`, and the way to its door.
pub(crate) struct Opened {
    program: Running,
    /// What it printed of the file.
    verdict: String,
    run: RunFile,
}

impl Opened {
    pub(crate) fn of(at: &Path, file: &str) -> Opened {
        Opened::by(command(at, &["open", file, "--no-browser"]))
    }

    fn by(mut command: Command) -> Opened {
        let mut program = Running::of(command.spawn().unwrap());
        let verdict = program.shows("Verdict: ");
        let printed = program.shows("http://127.0.0.1:");
        let (address, token) = printed.trim().strip_prefix("http://").unwrap().split_once("/#").unwrap();
        let run = json!({"pid": program.pid(), "address": address, "token": token});
        Opened { program, verdict, run: serde_json::from_value(run).unwrap() }
    }

    /// A page, as a browser asks for it.
    pub(crate) fn page(&self, path: &str) -> Answer {
        page(&self.run, "GET", path, HTML, &[])
    }

    /// The text of a page that is there.
    #[track_caller]
    fn text(&self, path: &str) -> String {
        let shown = self.page(path);
        assert_eq!(shown.status, 200, "{path}: {shown:?}");
        text_of(&shown.body)
    }

    /// What a page or a route says to a program.
    #[track_caller]
    pub(crate) fn json(&self, path: &str) -> Value {
        let shown = ask(&self.run, "GET", path, &[], "");
        assert_eq!(shown.status, 200, "{path}: {shown:?}");
        shown.json
    }

    fn threads(&self) -> BTreeSet<String> {
        let listed = self.json("/v1/threads");
        let all = listed["threads"].as_array().unwrap().iter();
        all.map(|thread| thread["thread"].as_str().unwrap().to_owned()).collect()
    }

    /// Follows every link from the first page on: each page is there, shows the verdict, and has no form that changes
    /// something. Returns the pages by their addresses.
    #[track_caller]
    fn walk(&self, more: &[&str]) -> BTreeMap<String, String> {
        let mut wanted: Vec<String> = more.iter().map(|path| (*path).to_owned()).collect();
        wanted.push("/".to_owned());
        let mut found = BTreeMap::new();
        while let Some(path) = wanted.pop() {
            if found.contains_key(&path) {
                continue;
            }
            let shown = self.page(&path);
            assert_eq!(shown.status, 200, "{path}: {shown:?}");
            for form in shown.body.split("<form method=\"post\" action=\"").skip(1) {
                assert!(form.starts_with("/session/end\""), "{path}: {form}");
            }
            let is_page = shown.header("content-type").is_some_and(|kind| kind.starts_with(HTML));
            assert!(!is_page || shown.body.contains("read-only: no organism runs here"), "{path}: {shown:?}");
            for link in shown.body.split("href=\"").skip(1).filter(|_| is_page) {
                let link = text_of(link.split('"').next().unwrap()).replace("&amp;", "&");
                let link = link.split('#').next().unwrap().to_owned();
                if link.starts_with('/') && !link.starts_with("/assets/") && found.len() < 400 {
                    wanted.push(link);
                }
            }
            found.insert(path, shown.body);
        }
        found
    }

    /// Ends it as Ctrl-C does.
    #[track_caller]
    fn end(self) {
        let ended = self.program.interrupt();
        assert_eq!(ended.code, Some(130), "{ended:?}");
    }
}

/// Every file of a folder with its bytes.
fn files(at: &Path) -> BTreeMap<String, Vec<u8>> {
    let all = fs::read_dir(at).unwrap().map(|entry| entry.unwrap());
    all.map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())).collect()
}

/// The names of the files of a folder.
fn names(at: &Path) -> Vec<String> {
    files(at).into_keys().collect()
}

#[test]
fn h13_open_shows_a_log_read_only_and_changes_nothing() {
    let folder = house();
    let at = folder.path();
    let organism = running(at);
    sent(at, "echo", true);
    let runs = systole(at, &["open", "hello.db", "--no-browser"]);
    assert_eq!(runs.code, Some(5), "{runs:?}");
    assert!(
        runs.stderr.contains("runs an organism on") && runs.stderr.contains("its console is http://"),
        "{runs:?}"
    );
    let served = run_file(at);
    organism.interrupt();

    let before = files(at);
    let open = Opened::of(at, "hello.db");
    assert!(open.verdict.contains("every hash fits") && !open.verdict.contains(".tip"), "{}", open.verdict);
    assert_eq!(ask(&open.run, "GET", "/v1/threads", &[], "").status, 200);
    let of_organism = RunFile { address: open.run.address, ..served };
    assert_eq!(ask(&of_organism, "GET", "/v1/threads", &[], "").status, 401);
    let changed = ask(&open.run, "POST", "/v1/messages", &[], &say("more"));
    assert_eq!(
        (changed.status, changed.json["code"].as_str()),
        (403, Some("ingress.forbidden")),
        "{changed:?}"
    );
    let found = open.json("/v1/find?q=hello&from=echo");
    assert_eq!(found["hits"].as_array().unwrap().len(), 1, "{found}");
    assert!(open.text("/proof?verify=now").contains("Verdict: sound"), "a page verifies it again");
    open.end();
    assert_eq!(names(at), before.keys().cloned().collect::<Vec<_>>());
    assert!(files(at) == before, "a file was changed");
}

#[test]
fn h13_every_link_of_an_open_log_leads_to_a_page_that_only_shows() {
    let folder = house();
    let at = folder.path();
    let organism = running(at);
    let thread = sent(at, "echo", true);
    let other = sent(at, "echo", true);
    let held = sent(at, "guarded", false);
    crate::console::until_waiting(at, 1);
    organism.signal(Signal::TERM);
    organism.end();

    let open = Opened::of(at, "hello.db");
    let compared = format!("/diff/{thread}/{other}");
    let pages =
        open.walk(&["/find?q=hello", "/decisions", "/session", "/cost?by=day", &compared, "/map.svg"]);
    for (path, part) in [
        (format!("/t/{held}"), "hello"),
        (format!("/t/{thread}/1"), "systole prove "),
        ("/approvals".to_owned(), "guarded"),
        ("/proof".to_owned(), "systole export @last --log "),
        ("/threads".to_owned(), &thread),
    ] {
        let shown = text_of(pages.get(&path).unwrap_or_else(|| panic!("{path}: {:?}", pages.keys())));
        assert!(shown.contains(part), "{path} without {part}: {shown}");
    }
    for (path, body) in &pages {
        let shown = text_of(body);
        for order in ["systole approve a", "systole reject ", "systole send", "systole resume"] {
            assert!(!shown.contains(order), "{path} offers {order}: {shown}");
        }
    }
    open.end();
}

/// The two files of a crashed organism, in a folder that nothing can be written to, and the number of their records.
fn log_after_a_crash() -> (tempfile::TempDir, i64) {
    let folder = house();
    let at = folder.path();
    let organism = running(at);
    sent(at, "echo", true);
    let count = number(at, "SELECT count(*) FROM record");
    organism.signal(Signal::KILL);
    drop(organism);
    assert!(fs::metadata(at.join("hello.db-wal")).unwrap().len() > 100, "the newest records are in it");
    let sealed = tempfile::tempdir().unwrap();
    for name in ["hello.db", "hello.db-wal"] {
        let copy = sealed.path().join(name);
        fs::copy(at.join(name), &copy).unwrap();
        fs::set_permissions(copy, PermissionsExt::from_mode(0o444)).unwrap();
    }
    fs::set_permissions(sealed.path(), PermissionsExt::from_mode(0o555)).unwrap();
    (sealed, count)
}

#[test]
fn h13_a_log_in_a_write_protected_folder_is_read_with_all_of_its_write_ahead_log() {
    let (sealed, count) = log_after_a_crash();
    let at = sealed.path();
    let before = files(at);
    let mut as_other = command(at, &["open", "hello.db", "--no-browser"]);
    if rustix::process::geteuid().is_root() {
        as_other.uid(OTHER_USER);
    }
    let open = Opened::by(as_other);
    assert!(open.verdict.contains(&format!("{count} records, every hash fits")), "{}", open.verdict);
    assert!(open.verdict.contains("no file .tip is beside it"), "{}", open.verdict);
    assert_eq!(open.threads().len(), 1);
    assert!(open.text("/find?q=hello").contains("echo"));
    open.walk(&["/proof?verify=now"]);
    open.end();
    assert!(files(at) == before, "{:?}", names(at));
    fs::set_permissions(at, PermissionsExt::from_mode(0o755)).unwrap();
    // The same files in a folder of one's own: nothing is left beside them either.
    let open = Opened::of(at, "hello.db");
    open.text("/find?q=hello");
    assert_eq!(open.threads().len(), 1);
    assert_eq!(names(at), ["hello.db", "hello.db-wal"], "while it is shown");
    open.end();
    assert!(files(at) == before, "{:?}", names(at));
}

#[test]
fn h13_a_damaged_log_is_shown_up_to_its_damage() {
    let folder = house();
    let at = folder.path();
    let organism = running(at);
    let (first, second) = (sent(at, "echo", true), sent(at, "echo", true));
    organism.interrupt();
    let of = |thread: &str| format!("(SELECT id FROM thread WHERE text = '{thread}')");
    let bad = number(at, &format!("SELECT min(pos) FROM record WHERE thread = {}", of(&second)));
    edit(at, &format!("UPDATE record SET time = time + 1 WHERE pos = {bad}"));
    let before = files(at);
    let open = Opened::of(at, "hello.db");
    let told = format!("Verdict: damaged at #{bad}");
    assert!(open.verdict.contains(&told), "{}", open.verdict);
    assert!(open.verdict.contains(&format!("Only the {} records before it", bad - 1)), "{}", open.verdict);
    assert_eq!(open.threads(), BTreeSet::from([first.clone()]));
    for (path, body) in open.walk(&["/find?q=hello", "/cost"]) {
        let is_page = body.contains("<html") && !path.ends_with("/export");
        assert!(!is_page || text_of(&body).contains(&told), "{path} does not say it: {body}");
    }
    assert!(open.text("/threads").contains(&first));
    assert_eq!(open.page(&format!("/t/{second}")).status, 404);
    open.end();
    assert!(files(at) == before);
}

#[test]
fn h13_a_damaged_part_is_named_on_the_pages_that_need_it() {
    let folder = house();
    let at = folder.path();
    let organism = running(at);
    let thread = sent(at, "echo", true);
    organism.interrupt();
    edit(at, "UPDATE document SET bytes = x'00' WHERE hash IN (SELECT hash FROM config)");
    let open = Opened::of(at, "hello.db");
    assert!(open.verdict.contains("Verdict: damaged. it keeps other bytes"), "{}", open.verdict);
    assert_eq!(open.threads(), BTreeSet::from([thread.clone()]));
    assert!(open.text(&format!("/t/{thread}/1")).contains("hello"));
    let listed = open.page("/config");
    let link = listed.body.split("href=\"/config/").nth(1).unwrap().split('"').next().unwrap();
    let damaged = open.page(&format!("/config/{link}"));
    let shown = text_of(&damaged.body);
    assert_eq!(damaged.status, 500, "{shown}");
    assert!(shown.contains("hello.db is damaged: it keeps other bytes under"), "{shown}");
    assert!(shown.contains("Try: systole verify ") && !shown.contains("later"), "{shown}");
    open.end();
}

#[test]
fn h13_a_log_that_changes_while_it_is_shown_is_not_passed_off_as_the_verified_one() {
    let folder = house();
    let at = folder.path();
    let organism = running(at);
    sent(at, "echo", true);
    organism.interrupt();
    let open = Opened::of(at, "hello.db");
    open.text("/threads");
    let organism = Running::organism_with(at, &[("ALICE_TOKEN", ALICE), ("CAROL_TOKEN", CAROL)]);
    let refused = open.page("/threads");
    let shown = text_of(&refused.body);
    assert_eq!(refused.status, 503, "{shown}");
    assert!(shown.contains("has changed since it was verified"), "{shown}");
    assert!(shown.contains("systole open ") && shown.contains("systole console --log "), "{shown}");
    open.end();
    organism.interrupt();
}

/// A redacted and a whole export of a thread whose agent was told a secret, each alone in the folder of an auditor.
fn exports() -> tempfile::TempDir {
    let folder = talkative();
    let at = folder.path();
    keyed(at);
    done(systole(at, &["checkpoint"]));
    done(systole(at, &["export", "@last", "-o", "whole.zip"]));
    done(systole(at, &["export", "@last", "--redact", "sensitive", "-o", "case.zip"]));
    let auditor = tempfile::tempdir().unwrap();
    for name in ["whole.zip", "case.zip"] {
        fs::copy(at.join(name), auditor.path().join(name)).unwrap();
    }
    auditor
}

#[test]
fn h13_an_export_is_shown_with_its_costs_its_search_and_its_proof() {
    let auditor = exports();
    let at = auditor.path();
    let before = files(at);
    let whole = Opened::of(at, "whole.zip");
    let pages = whole.walk(&["/find?q=strawberry", "/decisions", "/session"]);
    assert!(text_of(&pages["/find?q=strawberry"]).contains("How many r"), "{}", pages["/find?q=strawberry"]);
    assert!(whole.json("/v1/find?q=strawberry")["hits"].as_array().is_some_and(|hits| hits.len() > 2));
    assert!(text_of(&pages["/cost"]).contains("assistant"), "{}", pages["/cost"]);
    assert!(text_of(&pages["/decisions"]).contains("Not in this export: starts"), "{}", pages["/decisions"]);
    let proof = text_of(&pages["/proof"]);
    for part in ["Verdict: sound", "Who could have written this?", "Not checked", "checkpoint"] {
        assert!(proof.contains(part), "{part}: {proof}");
    }
    for order in ["Verify now", "systole export", "systole prove", "systole checkpoint", "systole backup"] {
        assert!(!proof.contains(order), "{order}: {proof}");
    }
    assert!(proof.contains("systole verify ") && proof.contains("whole.zip"), "{proof}");
    whole.end();

    let redacted = Opened::of(at, "case.zip");
    assert!(redacted.verdict.contains("left out of bodies"), "{}", redacted.verdict);
    let pages = redacted.walk(&["/find?q=letter", "/decisions"]);
    for (path, body) in &pages {
        assert!(!body.contains(SECRET), "{path}: {body}");
    }
    let cost = text_of(&pages["/cost"]);
    assert!(cost.contains("Not in this export: requests to models") && !cost.contains("No model"), "{cost}");
    let proof = text_of(&pages["/proof"]);
    assert!(proof.contains("Left out") && proof.contains("a sensitive value"), "{proof}");
    assert!(pages.iter().any(|(path, body)| path.starts_with("/t/") && text_of(body).contains("[left out]")));
    assert!(!pages.values().any(|body| body.contains("[erased]")), "nothing is erased in the log");
    let left_out =
        pages.values().find(|body| text_of(body).contains("journal") && body.contains("id=\"proof\""));
    assert!(text_of(left_out.unwrap()).contains("not known: parts of them are not here"), "{left_out:?}");
    redacted.end();
    assert!(files(at) == before);
}

/// The export with another form in its statement.
fn of_form(at: &Path, from: &str, to: &str, form: &str) {
    let names = [
        "README.txt",
        "verify.py",
        "statement.json",
        "records.jsonl",
        "documents.jsonl",
        "holes.jsonl",
        "erased.jsonl",
        "starts.jsonl",
        "checkpoint.txt",
        "proof.json",
        "policy.txt",
        "thread.xml",
        "index.html",
    ];
    let mut read = ArchiveReader::open(&at.join(from), &names.map(|name| (name, u64::MAX))).unwrap();
    let mut write = ArchiveWriter::create(&at.join(to)).unwrap();
    for name in names.into_iter().filter(|name| read.has_entry(name)).collect::<Vec<_>>() {
        let mut bytes = read.read_whole(name).unwrap();
        if name == "statement.json" {
            let mut envelope: Value = serde_json::from_slice(&bytes).unwrap();
            let payload =
                systole_proof::statement::decode_payload(envelope["payload"].as_str().unwrap()).unwrap();
            let payload = String::from_utf8(payload).unwrap().replace("systole export v1", form);
            envelope["payload"] = systole_proof::statement::encode_payload(payload.as_bytes()).into();
            bytes = envelope.to_string().into_bytes();
        }
        let mut entry = write.begin_entry(name, false).unwrap();
        entry.write_all(&bytes).unwrap();
        entry.finish_entry().unwrap();
    }
    write.finish().unwrap();
}

#[test]
fn h13_open_says_what_is_wrong_with_a_file_and_the_fix() {
    let folder = house();
    let at = folder.path();
    let organism = running(at);
    sent(at, "echo", true);
    organism.interrupt();
    for name in ["newer.db", "cut.db"] {
        fs::copy(at.join("hello.db"), at.join(name)).unwrap();
    }
    let newer = rusqlite::Connection::open(at.join("newer.db")).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    newer.close().unwrap();
    fs::OpenOptions::new().write(true).open(at.join("cut.db")).unwrap().set_len(5000).unwrap();
    fs::write(at.join("empty.db"), "").unwrap();
    fs::create_dir(at.join("folder")).unwrap();
    let auditor = exports();
    let case = fs::read(auditor.path().join("case.zip")).unwrap();
    fs::write(at.join("cut.zip"), &case[..case.len() / 2]).unwrap();
    let mut flipped = case.clone();
    let records = case.windows(10).position(|window| window == b"\"position\"").unwrap();
    flipped[records + 12] ^= 1;
    fs::write(at.join("flipped.zip"), flipped).unwrap();
    fs::write(at.join("case.zip"), case).unwrap();
    of_form(at, "case.zip", "later.zip", "systole export v9");
    fs::write(at.join("pictures.zip"), b"PK\x03\x04 holiday").unwrap();

    let log = "try: the file of a log, as organism.db, or of an export, as case-7.zip";
    let sender = "try: ask its sender for the file as systole export wrote it";
    for (file, exit, what, fix) in [
        (".", 5, "error: .: it is a folder, and a log is a file", "try: systole open ./case.zip"),
        ("folder", 5, "folder: it is a folder", log),
        ("none.db", 5, "none.db: there is no such file", log),
        ("organism.yaml", 7, "is not a Systole log: it is not an SQLite database", log),
        ("empty.db", 7, "is not a Systole log: it is empty", log),
        (
            "newer.db",
            7,
            "has format 99; this version reads up to 8",
            "try: the version of systole that wrote it",
        ),
        ("cut.db", 7, "cut.db is damaged", "try: systole doctor --log cut.db; then a backup of the log"),
        ("cut.zip", 7, "cut.zip: it is no export: it does not end like", sender),
        ("flipped.zip", 7, "flipped.zip: ", sender),
        ("pictures.zip", 7, "pictures.zip: it is no export", sender),
        (
            "later.zip",
            7,
            "later.zip is a systole export v9; this version reads up to systole export v1",
            "try: the version",
        ),
    ] {
        let ran = systole(at, &["open", file, "--no-browser"]);
        let told = format!("{}{}", ran.stdout, ran.stderr);
        let flat = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(ran.code, Some(exit), "{file}: {told}");
        assert!(flat.contains(what), "{file} without {what}: {told}");
        assert!(flat.contains(fix), "{file} without {fix}: {told}");
    }
}
