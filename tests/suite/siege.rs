//! A house under attack: the real program with an honest echo and with mallory, a listener that prints any
//! bytes that it is asked to print. A test attacks at the door or through mallory, and reads the answer to
//! the attacker and the records in the log. It never sleeps; a late answer fails the test.

use std::cell::Cell;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use rusqlite::Connection;
use serde_json::Value;
use systole_core::types::ids::Digest;
use systole_core::types::limits::EXCERPT_BYTES;
use systole_core::types::ports::{LogReader as _, Position};
use systole_core::types::record::Record;
use systole_log::sqlite;
use systole_organism::runfile::RunFile;

use crate::organism::folder;
use crate::program::{Answer, Events, Running, answer, connect, head, run_file, systole};

const YAML: &str = r#"organism: {name: hello}
listeners:
  echo: {run: [python3, echo.py], schema: echo.xsd, accepts: [say, many], returns: [said], entry: true, in_flight: 16}
  hidden: {run: [python3, echo.py], schema: hidden.xsd, accepts: [say], returns: [said]}
  mallory:
    run: [python3, mallory.py]
    framing: length
    schema: mallory.xsd
    accepts: [strike]
    returns: [struck]
    peers: [echo]
    turns: 4
    entry: true
    retry: {attempts: 1}
log: {path: ./hello.db}
console: {listen: "127.0.0.1:0"}
"#;

/// `say` has a text and a whole number up to 15; `many` any number of empty elements.
const ECHO_XSD: &str = r###"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="https://xml-pipeline.org/ns/echo/v1" elementFormDefault="qualified">
  <xs:element name="say"><xs:complexType><xs:sequence>
    <xs:element name="text" type="xs:string"/>
    <xs:element name="amount" minOccurs="0"><xs:simpleType><xs:restriction base="xs:int"><xs:maxInclusive value="15"/></xs:restriction></xs:simpleType></xs:element>
    <xs:any namespace="##other" processContents="lax" minOccurs="0" maxOccurs="unbounded"/>
  </xs:sequence></xs:complexType></xs:element>
  <xs:element name="many"><xs:complexType><xs:sequence><xs:element name="i" type="xs:string" minOccurs="0" maxOccurs="unbounded"/></xs:sequence></xs:complexType></xs:element>
  <xs:element name="said"><xs:complexType><xs:sequence>
    <xs:element name="text" type="xs:string"/><xs:element name="amount" type="xs:string"/>
  </xs:sequence></xs:complexType></xs:element>
</xs:schema>"###;

const MALLORY_XSD: &str = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="https://xml-pipeline.org/ns/mallory/v1" elementFormDefault="qualified">
  <xs:element name="strike" type="xs:string"/>
  <xs:element name="struck" type="xs:string"/>
</xs:schema>"#;

/// Returns its input, and the number of elements in a `many`. It escapes nothing itself.
const ECHO_PY: &str = r#"import sys, xml.etree.ElementTree as ET
E, S, L = "{https://xml-pipeline.org/ns/envelope/v1}", "{urn:systole:stamp:v1}", "{urn:systole:listener:v1}"
for line in sys.stdin:
    message = ET.fromstring(line)
    stamp, payload = message.find(f"{E}meta/{S}stamp"), message[1]
    ns = payload.tag.split("}")[0] + "}"
    reply = ET.Element(L + "reply", delivery=stamp.get("delivery"))
    said = ET.SubElement(reply, ns + "said")
    ET.SubElement(said, ns + "text").text = payload.findtext(ns + "text") or str(len(payload))
    ET.SubElement(said, ns + "amount").text = payload.findtext(ns + "amount") or ""
    print(ET.tostring(reply, encoding="unicode"), flush=True)
"#;

/// Evaluates the attack, which may name its delivery `D` and wrap items with `reply`, and prints the
/// result: one frame, or a list of them. The answer to that becomes its final. A file has the total number
/// of bytes that it has printed.
const MALLORY_PY: &str = r#"import re, sys
from xml.sax.saxutils import escape, unescape

def reply(*items):
    return b'<reply xmlns="urn:systole:listener:v1" delivery="' + D + b'">' + b"".join(items) + b"</reply>"

def struck(text):
    return reply(b'<struck xmlns="https://xml-pipeline.org/ns/mallory/v1">' + escape(text).encode() + b"</struck>")

printed = 0
while line := sys.stdin.buffer.readline():
    document = sys.stdin.buffer.read(int(line)).decode()
    D = re.search(r'delivery="([^"]*)"', document).group(1).encode()
    strike = re.search(r"<strike[^>]*>(.*)</strike>", document, re.S)
    if strike:
        frames = eval(unescape(strike.group(1)))
    elif "<answers" in document:
        frames = struck(document)
    else:
        continue
    frames = [frames] if isinstance(frames, bytes) else frames
    printed += sum(map(len, frames))
    with open("printed", "w") as count: count.write(str(printed))
    for frame in frames:
        sys.stdout.buffer.write(b"%d\n%s" % (len(frame), frame))
    sys.stdout.flush()
"#;

/// Clients in addition to the operator, each with its token. For each client only a number of refused
/// messages is recorded singly, so a long test sends every refused message through the next client.
const OUTSIDERS: usize = 64;

fn outsider(number: usize) -> String {
    format!("outsider-{number}")
}

fn token(number: usize) -> String {
    format!("token-of-outsider-{number:04}")
}

/// The running house, and what a test needs to attack it.
pub(crate) struct Siege {
    /// The number of messages that outsiders have sent.
    sent: Cell<usize>,
    pub(crate) folder: tempfile::TempDir,
    pub(crate) organism: Running,
    pub(crate) run: RunFile,
}

/// The result of an attack through mallory.
#[derive(Debug)]
pub(crate) struct Struck {
    /// The thread's records up to the outcome of mallory's call.
    pub(crate) records: Vec<Value>,
    /// The outcome: mallory's final with the answer that it got, or the core's message.
    pub(crate) told: String,
    /// The largest growth of the program's memory, in bytes.
    grown: u64,
    /// The number of input bytes: the request to mallory, and what it printed.
    taken_in: u64,
}

impl Struck {
    /// Checks that it cost no more memory than its size explains.
    pub(crate) fn was_frugal(&self, shown: &str) {
        frugal(self.grown, self.taken_in, shown);
    }
}

/// A literal of Python with exactly these bytes.
pub(crate) fn python(bytes: &[u8]) -> String {
    let escaped: String = bytes.iter().map(|byte| format!("\\x{byte:02x}")).collect();
    format!("b'{escaped}'")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// A request to the echo.
pub(crate) fn say(inside: &str) -> String {
    format!("<say xmlns=\"https://xml-pipeline.org/ns/echo/v1\">{inside}</say>")
}

impl Siege {
    /// Starts the house with the usual stack size for every thread.
    pub(crate) fn begin() -> Siege {
        Siege::with(&[])
    }

    /// Starts the house with these variables, and waits until it has answered a large message, so that the
    /// memory for that is allocated before any measurement.
    pub(crate) fn with(variables: &[(&str, &str)]) -> Siege {
        let hidden = ECHO_XSD.replace("/echo/", "/hidden/");
        let mut yaml = YAML.to_owned() + "clients:\n";
        let mut all: Vec<(String, String)> = Vec::new();
        for number in 0..OUTSIDERS {
            yaml += &format!("  {}: {{token_env: OUTSIDER_{number}}}\n", outsider(number));
            all.push((format!("OUTSIDER_{number}"), token(number)));
        }
        let folder = folder(&[
            ("organism.yaml", &yaml),
            ("echo.xsd", ECHO_XSD),
            ("hidden.xsd", &hidden),
            ("mallory.xsd", MALLORY_XSD),
            ("echo.py", ECHO_PY),
            ("mallory.py", MALLORY_PY),
        ]);
        let all = all.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let all: Vec<_> = all.chain(variables.iter().copied()).collect();
        let organism = Running::organism_set(folder.path(), &["--show"], &all);
        let run = run_file(folder.path());
        let siege = Siege { sent: Cell::new(0), folder, organism, run };
        siege.serves(&"x".repeat(900_000));
        siege.strike("[struck('warm')]");
        siege.waits_for_index();
        siege
    }

    /// Waits until the index of the log has the first records: it is opened for them, and takes its memory then.
    fn waits_for_index(&self) {
        let last = self.last();
        let has_last = || {
            let index = Connection::open(self.folder.path().join("hello.db.index")).ok()?;
            index.query_row("SELECT position FROM state", [], |row| row.get::<_, i64>(0)).ok()
        };
        // A command takes long enough to be a pause.
        let is_so = || {
            has_last().is_some_and(|at| at.unsigned_abs() >= last)
                || systole(Path::new("."), &["--version"]).code != Some(0)
        };
        assert!((0..5_000).any(|_| is_so()), "the index never has the first records");
    }

    /// Sends these bytes to the door.
    pub(crate) fn post(&self, document: &[u8]) -> Answer {
        self.post_to("/v1/messages", &[], document)
    }

    /// The same from the next outsider, whose name is returned.
    pub(crate) fn post_from_outside(&self, document: &[u8]) -> (Answer, String) {
        let number = self.sent.replace(self.sent.get() + 1) % OUTSIDERS;
        (self.post_with(&token(number), "/v1/messages", &[], document), outsider(number))
    }

    /// The same from the operator, to a path and with extra headers.
    pub(crate) fn post_to(&self, path: &str, headers: &[(&str, &str)], document: &[u8]) -> Answer {
        self.post_with(self.run.token.secret(), path, headers, document)
    }

    fn post_with(&self, token: &str, path: &str, headers: &[(&str, &str)], document: &[u8]) -> Answer {
        let bearer = format!("Bearer {token}");
        let mut all = vec![("Authorization", bearer.as_str())];
        all.extend_from_slice(headers);
        let mut stream = connect(&self.run);
        stream.write_all(head("POST", path, &all, &document.len().to_string()).as_bytes()).unwrap();
        // A door that refuses by the length alone closes before it has read the body.
        let _refused_unread = stream.write_all(document);
        answer(stream)
    }

    /// Sends a message that must be accepted, and returns the records of its call up to the outcome.
    pub(crate) fn taken(&self, document: &[u8]) -> Vec<Value> {
        let taken = self.post(document);
        assert_eq!(taken.status, 202, "{:?}", taken.json);
        self.outcome(&taken)
    }

    /// The records of a message's call up to its outcome, which is the last.
    pub(crate) fn outcome(&self, taken: &Answer) -> Vec<Value> {
        let (from, thread) = (taken.json["position"].as_u64().unwrap() - 1, &taken.json["thread"]);
        let query = format!("?from={from}&thread={}", thread.as_str().unwrap());
        let mut events = Events::open(&self.run, &query, &[]);
        let mut records = Vec::new();
        loop {
            let (_, _, record) = events.next().expect("the organism still runs");
            let own = record["call"] == taken.json["call"] && record["thread"] == *thread;
            let outcome = record["kind"] == "outcome" && record["code"] != "dead-letter";
            let last = own && (record["code"] == "final" || outcome);
            records.push(record);
            if last {
                return records;
            }
        }
    }

    /// Checks that an honest message gets its answer: the pump still works.
    pub(crate) fn serves(&self, text: &str) {
        let records = self.taken(say(&format!("<text>{text}</text>")).as_bytes());
        let answer = records.last().unwrap();
        assert_eq!(answer["from"], "echo");
        assert!(answer["body"].as_str().unwrap().contains(text), "{answer}");
    }

    /// Lets mallory print the value of this Python expression, and waits for the end of its call.
    pub(crate) fn strike(&self, expression: &str) -> Struck {
        let strike =
            ["<strike xmlns=\"https://xml-pipeline.org/ns/mallory/v1\">", &escaped(expression), "</strike>"];
        let (strike, printed) = (strike.concat(), self.printed());
        let memory = Memory::of(&self.organism);
        let records = self.taken(strike.as_bytes());
        let told = records.last().unwrap()["body"].as_str().unwrap().to_owned();
        let taken_in = strike.len() as u64 + self.printed() - printed;
        Struck { records, told, grown: memory.grown(), taken_in }
    }

    /// The bytes that mallory has printed so far.
    fn printed(&self) -> u64 {
        let count = fs::read_to_string(self.folder.path().join("printed"));
        count.map_or(0, |count| count.parse().unwrap())
    }

    /// Every record after a position, with its position.
    pub(crate) fn after(&self, position: u64) -> Vec<(Position, Record)> {
        let log = sqlite::open_reading(&self.folder.path().join("hello.db")).unwrap();
        log.read_after(Position(position), 100_000).unwrap()
    }

    /// The last position of the log.
    pub(crate) fn last(&self) -> u64 {
        sqlite::open_reading(&self.folder.path().join("hello.db")).unwrap().read_last().unwrap().0
    }

    /// The bytes that the log stores under a hash.
    pub(crate) fn kept(&self, hash: &str) -> Option<Vec<u8>> {
        let log = sqlite::open_reading(&self.folder.path().join("hello.db")).unwrap();
        log.read_document(Digest::parse(hash).unwrap()).unwrap().map(|bytes| bytes.to_vec())
    }

    /// Sends bytes that must be refused with that code: nothing is routed, the sender gets the refusal, and
    /// the log has the refusal with the hash of a stored excerpt.
    pub(crate) fn refused(&self, document: &[u8], code: &str) -> Value {
        let (before, memory) = (self.last(), Memory::of(&self.organism));
        let (answer, client) = self.post_from_outside(document);
        let shown = String::from_utf8_lossy(&document[..document.len().min(200)]).into_owned();
        assert_eq!(answer.json["code"], code, "{shown:?}: {:?}", answer.json);
        assert!(answer.status >= 400, "{shown:?}");
        let grown = memory.grown();
        frugal(grown, document.len() as u64, &shown);
        let records = self.after(before);
        let [(_, record)] = &records[..] else { panic!("one record, not {records:?} for {shown:?}") };
        assert_eq!((record.header.kind.as_str(), record.header.code.unwrap().as_str()), ("refusal", code));
        assert_eq!(record.header.to.as_ref().unwrap().as_str(), client);
        assert_eq!(answer.json["told"].as_str().unwrap().as_bytes(), &*record.body, "told as recorded");
        if !document.is_empty() {
            let hash = answer.json["hash"].as_str().unwrap_or_else(|| panic!("no hash: {answer:?}"));
            let kept = self.kept(hash).expect("what the hash names");
            assert!(!kept.is_empty() && kept.len() <= EXCERPT_BYTES, "{} bytes of {shown:?}", kept.len());
            assert!(document.windows(kept.len()).any(|bytes| bytes == kept), "{shown:?}");
        }
        answer.json
    }

    /// The same with the line and column that the refusal must name.
    pub(crate) fn refused_at(&self, document: &[u8], code: &str, line: u64, column: u64) {
        let told = self.refused(document, code);
        assert_eq!((told["line"].as_u64(), told["column"].as_u64()), (Some(line), Some(column)), "{told}");
    }

    /// Lets mallory send an item that must be refused with that code: mallory sees it in its next turn,
    /// nothing goes to anyone else, and the log has the refusal with a hash and the bytes under that hash.
    pub(crate) fn foiled(&self, item: &str, code: &str) -> Struck {
        let struck = self.strike(&format!("reply({item})"));
        self.refusal_in(&struck, code, item);
        struck
    }

    /// The first refusal of an attack, which must have that code and reach mallory.
    pub(crate) fn refusal_in(&self, struck: &Struck, code: &str, item: &str) {
        let shown = item.get(..200).unwrap_or(item);
        let refusal = struck.records.iter().find(|r| r["kind"] == "refusal");
        let refusal = refusal.unwrap_or_else(|| panic!("no refusal of {shown}: {struck:?}"));
        assert_eq!(
            (&refusal["code"], &refusal["to"]),
            (&code.into(), &"mallory".into()),
            "{shown}: {refusal}"
        );
        assert!(!struck.records.iter().any(|r| r["code"] == "call"), "{shown}: {struck:?}");
        assert!(struck.told.contains(&format!("code=\"{code}\"")), "{shown}: {}", struck.told);
        struck.was_frugal(shown);
        let body = refusal["body"].as_str().unwrap();
        let hash = body.split_once("hash=\"").unwrap_or_else(|| panic!("no hash for {shown}: {body}")).1;
        let kept = self.kept(&hash[..64]);
        assert!(kept.is_some_and(|kept| !kept.is_empty()), "{shown}: nothing is kept under {body}");
    }

    /// Checks that the house still serves both, and stops on request.
    pub(crate) fn ends_well(self) {
        self.serves("still here");
        assert!(self.strike("struck('still here')").told.contains("still here"));
        let ran = self.organism.interrupt();
        assert_eq!(ran.code, Some(130), "{ran:?}");
        assert!(!ran.stderr.contains("panicked"), "{ran:?}");
    }
}

/// Input is stored a few times over while it is read, judged and answered; an attack makes much out of
/// little.
fn frugal(grown: u64, taken_in: u64, shown: &str) {
    let most = (4 << 20) + 8 * taken_in;
    assert!(grown < most, "{grown} bytes for the {taken_in} of {shown:?}");
}

/// The memory of a process from a certain moment.
pub(crate) struct Memory {
    status: String,
    before: u64,
}

impl Memory {
    /// Starts to measure now: the kernel resets its peak.
    pub(crate) fn of(running: &Running) -> Memory {
        let status = format!("/proc/{}/status", running.pid());
        fs::write(format!("/proc/{}/clear_refs", running.pid()), "5").unwrap();
        Memory { before: Memory::read(&status, "VmRSS:"), status }
    }

    fn read(status: &str, field: &str) -> u64 {
        let text = fs::read_to_string(status).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(field)).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
    }

    /// The largest growth since then, in bytes.
    pub(crate) fn grown(&self) -> u64 {
        Memory::read(&self.status, "VmHWM:").saturating_sub(self.before)
    }
}
