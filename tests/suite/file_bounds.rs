//! What files may not do: leave open work without its bytes, fill a page, or stay in a log as base64 of what was refused.

use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;
use systole_core::types::ids::Digest;
use systole_organism::runfile::RunFile;

use crate::erase::{assert_refused, done, files_with};
use crate::file_fields::{SECRET, site};
use crate::organism::folder;
use crate::program::{Answer, Running, ask, run_file, send_bytes, systole, systole_with};
use crate::replay::log_in;

const PDF: &[u8] = b"%PDF-1.7\n%%EOF\n";
const FILE: &str = "organism: {name: hello}
payloads: {album: {photos: [file]}}
listeners:
  desk: {run: [sh, desk.sh], accepts: [ask-with, album], returns: [answer], entry: true}
  vault: {run: [sh, desk.sh], accepts: [ask-with], returns: [answer], entry: true, approval: {when: always}}
log: {path: ./hello.db}
console: {listen: \"127.0.0.1:0\"}
";
const DESK: &str = "while read -r line; do
  delivery=$(printf '%s' \"$line\" | sed 's/.*delivery=\"\\([^\"]*\\)\".*/\\1/')
  printf '<reply xmlns=\"urn:systole:listener:v1\" delivery=\"%s\"><answer xmlns=\"https://xml-pipeline.org/ns/talk/v1\">seen</answer></reply>\\n' \"$delivery\"
done
";

fn house() -> tempfile::TempDir {
    let house = folder(&[("organism.yaml", FILE), ("desk.sh", DESK)]);
    std::fs::write(house.path().join("terms.pdf"), PDF).unwrap();
    house
}

fn bearer(run: &RunFile) -> String {
    format!("Bearer {}", run.token.secret())
}

fn keep(run: &RunFile, bytes: &[u8]) {
    let kept = send_bytes(run, ("POST", "/v1/files"), &[("Authorization", &bearer(run))], bytes);
    assert_eq!(kept.status, 201, "{kept:?}");
}

fn write_reference(bytes: &[u8]) -> String {
    let hash = Digest::hash_bytes(bytes);
    format!("<item sha256=\"{hash}\" type=\"application/pdf\" bytes=\"{}\"/>", bytes.len())
}

/// Sends an album, and waits for what it becomes.
fn send_album(run: &RunFile, photos: &str) -> Answer {
    let album =
        format!("<album xmlns=\"https://xml-pipeline.org/ns/hello/v1\"><photos>{photos}</photos></album>");
    ask(run, "POST", "/v1/messages?to=desk", &[("Systole-Wait", "60")], &album)
}

/// The position of the first record of the newest thread.
fn find_newest(at: &Path) -> String {
    systole(at, &["log", "@last", "--json", "-n", "0"]).json_lines()[0]["position"].to_string()
}

#[test]
fn e20_a_file_that_open_work_needs_is_not_erased() {
    let (house, hash) = (house(), Digest::hash_bytes(PDF).to_string());
    let (at, log) = (house.path(), house.path().join("hello.db"));
    let question = |to| ["ask", "--to", to, "--file", "terms.pdf", "May I?"];
    assert_eq!(systole(at, &question("vault")).code, Some(6));
    done(&systole(at, &question("desk")));
    let answered = find_newest(at);
    let before = std::fs::read(&log).unwrap();
    // The second order erases a thread that is over, and a file that the open one shares.
    for target in [&hash, &answered] {
        let ran = systole(at, &["erase", target, "--whole"]);
        assert_refused(&ran, 6, "a1 waits for a person's approval");
        assert!(ran.stderr.contains("systole approve a1"), "{ran:?}");
    }
    assert_eq!(std::fs::read(&log).unwrap(), before);
    let mut running = Running::organism(at);
    done(&systole(at, &["approve", "a1"]));
    running.shows("vault -> operator");
    running.interrupt();
    let erased = systole(at, &["erase", &hash, "--whole"]);
    assert!(done(&erased).contains("refers to the file"), "{erased:?}");
    assert!(files_with(&log, "%%EOF").is_empty());
    done(&systole(at, &["verify"]));
}

#[test]
fn e20_a_message_with_too_many_files_is_told_so() {
    let house = house();
    let running = Running::organism(house.path());
    let run = run_file(house.path());
    let files: Vec<Vec<u8>> = (0..33_u8).map(|number| [PDF, &[number]].concat()).collect();
    files.iter().for_each(|file| keep(&run, file));
    let photos: String = files.iter().map(|file| write_reference(file)).collect();
    let refused = send_album(&run, &photos);
    assert_eq!(refused.json["code"], "payload.too-large", "{refused:?}");
    assert_eq!(refused.json["message"], "a message refers to at most 32 files", "{refused:?}");
    assert_eq!((&refused.json["element"], refused.json["try"].is_string()), (&json!("item"), true));
    let fewer: String = files.iter().skip(1).map(|file| write_reference(file)).collect();
    assert_eq!(send_album(&run, &fewer).status, 200);
    running.interrupt();
}

#[test]
fn e20_a_page_lists_a_bounded_number_of_files_and_says_how_many_more_there_are() {
    let house = house();
    let running = Running::organism(house.path());
    let run = run_file(house.path());
    keep(&run, PDF);
    let sent = send_album(&run, &write_reference(PDF).repeat(200));
    assert_eq!(sent.status, 200, "{sent:?}");
    let thread = sent.json["thread"].as_str().unwrap();
    let address = run.address.to_string();
    let host = ("Host", address.as_str());
    for place in [format!("/t/{thread}"), format!("/t/{thread}/1")] {
        let page = ask(&run, "GET", &place, &[("Accept", "text/html"), host], "");
        assert_eq!(page.status, 200, "{page:?}");
        assert!(page.body.contains("and 136 more</a>: <span class=\"held\">too many files"), "{}", page.body);
        assert_eq!(page.body.matches("<figure class=\"file\">").count(), 65, "{place}");
        // Each has its address.
        let last = ask(&run, "GET", &format!("/t/{thread}/1/files/200"), &[host], "");
        assert_eq!(last.status, 200, "{last:?}");
    }
    running.interrupt();
}

#[test]
fn e20_refused_json_keeps_nothing_of_a_file() {
    let (site, mock) = site("[]");
    let running = Running::organism_with(site.path(), &SECRET);
    let run = run_file(site.path());
    let data = |number: u8| BASE64_STANDARD.encode([PDF, &[b'a' + number; 600]].concat());
    for body in [
        json!({"photo": {"data": data(0), "colour": "blue-and-green"}}).to_string(),
        json!({"photo": {"data": format!("%{}", data(1))}}).to_string(),
        format!("{{\"photo\": {{\"d\\u0061ta\": \"{}\"", data(2)),
        json!({"photo": data(3)}).to_string(),
    ] {
        let headers = [("Content-Type", "application/json")];
        let refused = ask(&run, "POST", "/v1/messages?to=seer&element=report", &headers, &body);
        assert_eq!(refused.status, 422, "{refused:?}");
    }
    running.interrupt();
    let log = log_in(site.path());
    for number in 0..4 {
        assert_eq!(files_with(&log, &data(number)[24..48]), [""; 0], "{number}");
    }
    assert!(!files_with(&log, "blue-and-green").is_empty(), "the rest is kept");
    assert!(mock.stop().is_empty());
}

#[test]
fn e20_a_file_is_sent_by_its_own_name_whatever_characters_that_has() {
    let (site, mock) = site("[{say: It is blue.}, {say: It is blue.}]");
    let png = std::fs::read(site.path().join("door & wall.png")).unwrap();
    for name in ["@at.png", "a\u{fffe}\u{7}b.png"] {
        std::fs::write(site.path().join(name), &png).unwrap();
        let sent = systole_with(
            site.path(),
            &["send", "report", &format!("photo=@{name}"), "--to", "seer"],
            &SECRET,
        );
        assert!(sent.code == Some(0) && sent.stdout.contains("It is blue."), "{name:?}: {sent:?}");
    }
    let log = log_in(site.path());
    assert!(
        !files_with(&log, "name=\"@at.png\"").is_empty() && !files_with(&log, "name=\"a__b.png\"").is_empty()
    );
    assert_eq!(mock.stop().len(), 2);
}

#[test]
fn e20_a_form_takes_a_file_whose_name_has_characters_that_xml_forbids() {
    let (site, mock) = site("[]");
    let running = Running::organism_with(site.path(), &SECRET);
    let run = run_file(site.path());
    let png = std::fs::read(site.path().join("door & wall.png")).unwrap();
    let part = |name: &str| format!("--edge\r\nContent-Disposition: form-data; name=\"{name}\"");
    let mut form = String::new();
    for (name, value) in
        [("to", "seer"), ("element", "report"), ("ns", "https://xml-pipeline.org/ns/site/v1")]
    {
        form += &format!("{}\r\n\r\n{value}\r\n", part(name));
    }
    form +=
        &format!("{}; filename=\"a\u{fffe}b.png\"\r\nContent-Type: image/png\r\n\r\n", part("/report/photo"));
    let body = [form.as_bytes(), &png, b"\r\n--edge--\r\n"].concat();
    let (host, token) = (run.address.to_string(), bearer(&run));
    let origin = format!("http://{host}");
    let headers = [
        ("Host", host.as_str()),
        ("Origin", &origin),
        ("Authorization", &token),
        ("Accept", "text/html"),
        ("Content-Type", "multipart/form-data; boundary=edge"),
    ];
    let shown = send_bytes(&run, ("POST", "/send/show"), &headers, &body);
    assert_eq!(shown.status, 200, "{shown:?}");
    assert!(shown.body.contains("What it makes") && shown.body.contains("a_b.png"), "{}", shown.body);
    running.interrupt();
    assert!(mock.stop().is_empty());
}
