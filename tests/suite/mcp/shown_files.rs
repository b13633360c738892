//! The console shows the pictures that payloads refer to, by their first bytes, and offers everything else as a
//! download. A server calls everything a picture, and its pages are looked at by a program and by a browser.

use serde_json::{Value, json};
use systole_core::types::ids::Digest;
use systole_organism::runfile::RunFile;

use super::house::{ToolHouse, python};
use crate::browser::Story;
use crate::program::{Answer, Ran, Running, ask_as, run_file, send_bytes};

const PNG: &[u8] = include_bytes!("../../fixtures/pixel.png");
const SVG: &[u8] =
    b"<svg xmlns=\"http://www.w3.org/2000/svg\" onload=\"hostile()\"><script>hostile()</script></svg>";
const HTML: &[u8] = b"<!doctype html><title>x</title><script>hostile()</script>";
/// The first bytes of a JPEG, and then a page.
const JPEG: &[u8] = b"\xff\xd8\xff\xe0<script>hostile()</script>";
const PDF: &[u8] = b"%PDF-1.7\n%%EOF\n";
const TOKENS: [(&str, &str); 3] =
    [("ALICE", "a-token-of-alice"), ("BOB", "a-token-of-bob-too"), ("CAROL", "a-token-of-carol")];
const MORE: &str = "  vault: {run: [sh, vault.sh], accepts: [ask-with], returns: [answer], entry: true, approval: {when: always}}
clients:
  alice: {token_env: ALICE}
  bob: {token_env: BOB}
  carol: {token_env: CAROL, roles: [approve]}
log: {path: ./hello.db}
";
const VAULT: &str = "while read -r line; do
  delivery=$(printf '%s' \"$line\" | sed 's/.*delivery=\"\\([^\"]*\\)\".*/\\1/')
  printf '<reply xmlns=\"urn:systole:listener:v1\" delivery=\"%s\"><answer xmlns=\"https://xml-pipeline.org/ns/talk/v1\">seen</answer></reply>\\n' \"$delivery\"
done
";

/// An organism with a server that answers with files, while it runs.
struct FileHouse {
    house: ToolHouse,
    running: Running,
}

impl FileHouse {
    fn start() -> FileHouse {
        let house = ToolHouse::rogue("shows", MORE);
        std::fs::create_dir(house.path().join("state/files")).unwrap();
        for (name, bytes) in
            [("1", PNG), ("2", SVG), ("3", HTML), ("4", JPEG), ("5", PDF), ("6", &large_picture()[..])]
        {
            std::fs::write(house.path().join("state/files").join(name), bytes).unwrap();
        }
        house.write("vault.sh", VAULT);
        house.pinned();
        let running = Running::organism_with(house.path(), &TOKENS);
        FileHouse { house, running }
    }

    fn run(&self) -> RunFile {
        run_file(self.house.path())
    }

    /// A request of a client, which is named by the variable of its token; `operator` has that of the door.
    fn get(&self, who: &str, path: &str) -> Answer {
        let run = self.run();
        let own = TOKENS.iter().find(|(name, _)| *name == who).map(|(_, token)| (*token).to_owned());
        let bearer = format!("Bearer {}", own.unwrap_or_else(|| run.token.secret().to_owned()));
        let host = run.address.to_string();
        let headers = [("Host", host.as_str()), ("Authorization", &bearer), ("Accept", "text/html")];
        ask_as(&run, "GET", path, &headers, "")
    }

    /// Alice lets the server show its files. Returns her thread and the number of the record with the answer.
    fn show_files(&self) -> (String, u64) {
        let headers = [
            ("Authorization", "Bearer a-token-of-alice"),
            ("Content-Type", "application/json"),
            ("Systole-Wait", "60"),
        ];
        let sent = ask_as(&self.run(), "POST", "/v1/messages?to=rogue&element=work", &headers, "{}");
        assert_eq!(sent.status, 200, "{sent:?}");
        let thread = sent.json["thread"].as_str().unwrap().to_owned();
        let records = self.get("operator", &format!("/v1/threads/{thread}/records"));
        let records = records.json["records"].as_array().unwrap();
        let shows = |record: &&Value| record["body"].as_str().is_some_and(|body| body.contains("sha256=\""));
        let shown = records.iter().rev().find(shows).unwrap_or_else(|| panic!("{records:#?}"));
        (thread, shown["seq"].as_u64().unwrap())
    }

    /// Alice asks the vault about a picture, which waits for a person. Returns the thread.
    fn ask_vault(&self) -> String {
        let authorized = [("Authorization", "Bearer a-token-of-alice")];
        let kept = send_bytes(&self.run(), ("POST", "/v1/files"), &authorized, PNG);
        assert_eq!(kept.status, 201, "{kept:?}");
        let (hash, bytes) = (Digest::hash_bytes(PNG), PNG.len());
        let body = format!(
            "<ask-with xmlns=\"https://xml-pipeline.org/ns/talk/v1\"><question>May I?</question><file sha256=\"{hash}\" type=\"image/png\" bytes=\"{bytes}\" name=\"plan &lt;b> \u{202e}gnp.png\"/></ask-with>"
        );
        let sent = ask_as(&self.run(), "POST", "/v1/messages?to=vault", &authorized, &body);
        assert_eq!(sent.status, 202, "{sent:?}");
        sent.json["thread"].as_str().unwrap().to_owned()
    }

    /// Runs a command while no organism runs, and starts it again.
    fn at_rest(self, arguments: &[&str]) -> (FileHouse, Ran) {
        let FileHouse { house, running } = self;
        running.interrupt();
        let ran = house.systole(arguments);
        let running = Running::organism_with(house.path(), &TOKENS);
        (FileHouse { house, running }, ran)
    }
}

/// A picture that is larger than every screen.
fn large_picture() -> Vec<u8> {
    let program = "import struct, sys, zlib
def part(name, data):
    return struct.pack('>I', len(data)) + name + data + struct.pack('>I', zlib.crc32(name + data))
rows = b''.join(b'\\0' + b'\\x20\\x80\\xc0' * 3000 for _ in range(4000))
head = struct.pack('>IIBBBBB', 3000, 4000, 8, 2, 0, 0, 0)
sys.stdout.buffer.write(b'\\x89PNG\\r\\n\\x1a\\n' + part(b'IHDR', head) + part(b'IDAT', zlib.compress(rows, 9)) + part(b'IEND', b''))";
    let made = std::process::Command::new(python()).args(["-c", program]).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    made.stdout
}

/// The sources of the pictures on a page.
fn list_pictures(page: &Answer) -> Vec<String> {
    let parts = page.body.split("<img src=\"").skip(1);
    parts.map(|part| part.split('"').next().unwrap().to_owned()).collect()
}

#[test]
fn e20_a_page_shows_pictures_by_their_first_bytes_and_offers_the_rest_as_downloads() {
    let house = FileHouse::start();
    let (thread, seq) = house.show_files();
    let file = |number: usize| format!("/t/{thread}/{seq}/files/{number}");
    for place in [format!("/t/{thread}"), format!("/t/{thread}/{seq}"), format!("/t/{thread}/rows?show=all")]
    {
        let page = house.get("operator", &place);
        assert_eq!(list_pictures(&page), [file(1), file(4), file(6)], "{place}: {page:?}");
        for number in [2, 3, 5] {
            assert!(
                page.body.contains(&format!("<a href=\"{}\" download>", file(number))),
                "{place}: {page:?}"
            );
        }
        let said = "file 2: of unknown type (the message says &#34;image/png&#34;), ";
        assert!(page.body.contains(said), "{place}: {}", page.body);
    }
    for (number, media_type, shown) in [
        (1, "image/png", "inline"),
        (2, "application/octet-stream", "attachment"),
        (3, "application/octet-stream", "attachment"),
        (4, "image/jpeg", "inline"),
        (5, "application/octet-stream", "attachment"),
    ] {
        let sent = house.get("operator", &file(number));
        assert_eq!((sent.status, sent.header("content-type")), (200, Some(media_type)), "{number}: {sent:?}");
        assert!(sent.header("content-disposition").unwrap().starts_with(shown), "{number}: {sent:?}");
        assert_eq!(sent.header("x-content-type-options"), Some("nosniff"), "{sent:?}");
        let policy = sent.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("sandbox"), "{policy}");
    }
    for wrong in ["0", "7", "x", "-1", "1%2F..", "99999999999999999999999"] {
        let sent = house.get("operator", &format!("/t/{thread}/{seq}/files/{wrong}"));
        assert_eq!(sent.status, 404, "{wrong}: {sent:?}");
    }
    // A record without files has none.
    assert_eq!(house.get("operator", &format!("/t/{thread}/1/files/1")).status, 404);
    house.running.interrupt();
}

#[test]
fn e20_a_client_without_read_sees_the_files_of_its_own_threads_alone() {
    let house = FileHouse::start();
    let (thread, seq) = house.show_files();
    let file = |number: usize| format!("/t/{thread}/{seq}/files/{number}");
    let own = house.get("ALICE", &format!("/t/{thread}"));
    assert_eq!(list_pictures(&own), [file(1), file(4), file(6)], "{own:?}");
    assert_eq!((house.get("ALICE", &file(1)).status, house.get("ALICE", &file(5)).status), (200, 200));
    // A document of another type may be a prompt or a configuration.
    assert!(own.body.contains("only for clients with the role read"), "{own:?}");
    assert_eq!(house.get("ALICE", &file(2)).status, 403);
    for (who, place) in [("BOB", file(1)), ("BOB", format!("/t/{thread}")), ("CAROL", file(1))] {
        let foreign = house.get(who, &place);
        assert_eq!(foreign.status, 404, "{who} {place}: {foreign:?}");
    }
    // Who decides about a thread sees what it is about.
    let waits = house.ask_vault();
    let card = house.get("CAROL", "/approvals");
    let picture = format!("/t/{waits}/1/files/1");
    assert_eq!(list_pictures(&card), std::slice::from_ref(&picture), "{card:?}");
    let (_, label) = card.body.split_once("download>file 1: ").unwrap_or_else(|| panic!("{card:?}"));
    let label = label.split("</a>").next().unwrap();
    assert!(label.starts_with("plan &#60;b&#62; ") && !label.contains('\u{202e}'), "{label}");
    assert_eq!(house.get("CAROL", &picture).status, 200);
    assert_eq!(list_pictures(&house.get("BOB", "/approvals")), [""; 0]);
    house.running.interrupt();
}

#[test]
fn e20_an_erased_file_is_named_with_every_thread_that_has_it_and_says_so() {
    let house = FileHouse::start();
    let ((first, seq), (second, _)) = (house.show_files(), house.show_files());
    let hash = Digest::hash_bytes(PDF).to_string();
    let (house, refused) = house.at_rest(&["erase", &hash]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    for words in [&first, &second, "--whole"] {
        assert!(refused.stderr.contains(words), "{words}: {refused:?}");
    }
    let (house, unknown) = house.at_rest(&["erase", &"0".repeat(64), "--whole"]);
    assert!(unknown.code == Some(2) && unknown.stderr.contains("no record refers to a file"), "{unknown:?}");
    let (house, dry) = house.at_rest(&["erase", &hash, "--whole", "--dry-run"]);
    assert!(dry.stdout.contains(&format!("would erase document {hash}")), "{dry:?}");
    assert_eq!(house.get("operator", &format!("/t/{first}/{seq}/files/5")).status, 200);
    let (house, erased) = house.at_rest(&["erase", &hash, "--whole", "--reason", "asked to"]);
    assert_eq!(erased.code, Some(0), "{erased:?}");
    for thread in [&first, &second] {
        assert!(erased.stdout.contains(&format!("of {thread}: refers to the file {hash}")), "{erased:?}");
        let page = house.get("ALICE", &format!("/t/{thread}"));
        let said = format!("file 5: image/png, {} bytes</a>: <span class=\"held\">erased</span>", PDF.len());
        assert!(page.body.contains(&said), "{}", page.body);
        let gone = house.get("ALICE", &format!("/t/{thread}/{seq}/files/5"));
        assert!(gone.status == 404 && gone.body.contains("was erased"), "{gone:?}");
    }
    let (house, again) = house.at_rest(&["erase", &hash, "--whole"]);
    assert!(again.stdout.contains("nothing is left to erase"), "{again:?}");
    let (house, replayed) = house.at_rest(&["replay", &first]);
    let words = format!("what record {seq} of thread {first} said is erased");
    assert!(replayed.stderr.contains(&words) || replayed.stdout.contains(&words), "{replayed:?}");
    let (house, verified) = house.at_rest(&["verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    house.running.interrupt();
}

#[test]
fn e20_a_browser_shows_pictures_in_their_bounds_and_runs_nothing_of_a_file() {
    let Some(story) = Story::named("shown_files") else { return };
    let house = FileHouse::start();
    let (thread, seq) = house.show_files();
    let waits = house.ask_vault();
    let run = house.run();
    let tokens: Value = TOKENS.iter().map(|(name, token)| (name.to_lowercase(), json!(token))).collect();
    story.play(&json!({
        "address": format!("http://{}", run.address), "token": run.token.secret(), "tokens": tokens,
        "thread": thread, "seq": seq, "waits": waits,
    }));
    house.running.interrupt();
}

#[test]
fn e20_a_page_of_a_log_that_lacks_a_file_says_so() {
    let house = FileHouse::start();
    let (thread, seq) = house.show_files();
    house.running.interrupt();
    let log = rusqlite::Connection::open(house.house.path().join("hello.db")).unwrap();
    let gone = log.execute("DELETE FROM document WHERE bytes = ?", [PDF]).unwrap();
    assert_eq!(gone, 1);
    drop(log);
    let running = Running::organism_with(house.house.path(), &TOKENS);
    let house = FileHouse { house: house.house, running };
    let page = house.get("operator", &format!("/t/{thread}/{seq}"));
    assert!(page.body.contains("this log does not have it"), "{}", page.body);
    let gone = house.get("operator", &format!("/t/{thread}/{seq}/files/5"));
    assert!(gone.status == 404 && gone.body.contains("does not have file 5"), "{gone:?}");
    house.running.interrupt();
}
