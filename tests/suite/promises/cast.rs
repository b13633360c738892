//! A cast of programs for whole organisms. Every listener accepts a `say` and returns a `said` in its own
//! namespace. The boss follows the plan in the text of its request, turn by turn, in Python.

use std::collections::BTreeMap;
use std::time::Duration;

use systole_core::types::flow::Receipt;
use systole_core::types::ids::{Key, Name};
use systole_core::types::ports::Position;
use systole_core::types::record::{MessageRole, Record, RecordCode, RecordKind};
use systole_organism::pump_loop::LoopEnd;
use systole_organism::running::{ClientMessage, Organism};
use systole_organism::waiting::SenderReply;
use tokio::task::JoinSet;

use crate::organism::{folder, start};
use crate::program::PATIENCE;

/// The beginning of every program.
const PRELUDE: &str = r#"import hashlib, os, random, re, select, sqlite3, sys, time
from xml.sax.saxutils import escape, unescape
import xml.etree.ElementTree as ET
CORE = "https://xml-pipeline.org/ns/core/v1"
ME = os.environ["SYSTOLE_LISTENER"]

def ns(who): return f"https://xml-pipeline.org/ns/{who}/v1"

class Turn:
    def __init__(self, line):
        self.line = line.strip()
        self.message = ET.fromstring(line)
        self.payload = self.message[1]
        stamp = self.message[0].find("{urn:systole:stamp:v1}stamp")
        self.stamp = dict(stamp.attrib)
        self.delivery, self.call, self.number = stamp.get("delivery"), stamp.get("call"), int(stamp.get("turn"))
        self.thread = self.message[0].findtext("{https://xml-pipeline.org/ns/envelope/v1}thread")
        self.text = self.payload.findtext(f"{{{ns(ME)}}}text")
    def answers(self): return [said.text for said in self.message.iter() if said.tag.endswith("}text")]

def turns():
    for line in sys.stdin:
        if line.startswith("<message"): yield Turn(line)

def reply(delivery, *items):
    print(f'<reply xmlns="urn:systole:listener:v1" delivery="{delivery}">{"".join(items)}</reply>', flush=True)

def say(who, text): return f'<say xmlns="{ns(who)}"><text>{escape(text)}</text></say>'
def said(text): return f'<said xmlns="{ns(ME)}"><text>{escape(text)}</text></said>'
def note(text): return f'<{ME} xmlns="{ns(ME)}">{escape(text)}</{ME}>'
def to(item, **meta):
    meta = "".join(f"<{name}>{escape(value)}</{name}>" for name, value in meta.items())
    return f'<message xmlns="https://xml-pipeline.org/ns/envelope/v1"><meta>{meta}</meta>{item}</message>'
def wait(mode, *ids):
    return f'<await-threads xmlns="{CORE}" mode="{mode}">' + "".join(f'<thread id="{id}"/>' for id in ids) + '</await-threads>'
def todo(condition, **steps):
    steps = "".join(f'<step done="{str(done).lower()}">{escape(name)}</step>' for name, done in steps.items())
    return f'<todo-until xmlns="{CORE}" condition="{escape(condition)}">{steps}</todo-until>'
def describe(element, **more):
    more = "".join(f' {name}="{escape(value)}"' for name, value in more.items())
    return f'<describe xmlns="https://xml-pipeline.org/ns/meta/v1" element="{escape(element)}"{more}/>'
CAPABILITIES = '<list-capabilities xmlns="https://xml-pipeline.org/ns/meta/v1"/>'
def cancel(id): return f'<cancel-thread xmlns="{CORE}" id="{id}"/>'
def clear(keep): return f'<clear-context xmlns="{CORE}" keep="{keep}"/>'
def recall(first, last, **part):
    part = "".join(f' {name}="{value}"' for name, value in part.items())
    return f'<recall xmlns="{CORE}" from_seq="{first}" to_seq="{last}"{part}/>'
def ask(delivery, question, id=1):
    print(f'<ask xmlns="urn:systole:listener:v1" id="{id}" delivery="{delivery}">{question}</ask>', flush=True)
    return sys.stdin.readline().strip()
def progress(turn, words):
    print(f'<progress xmlns="urn:systole:listener:v1" delivery="{turn.delivery}">{escape(words)}</progress>', flush=True)
def until(name):
    while not os.path.exists(name): time.sleep(0.02)
def thinks(turn, text, first=101):
    "Calls a model that says this, as a listener does that goes by the journal."
    def entry(id, text="", **more):
        more = "".join(f' {name}="{value}"' for name, value in more.items())
        print(f'<journal xmlns="urn:systole:listener:v1" id="{id}" delivery="{turn.delivery}"{more}>{escape(text, {chr(10): "&#10;"})}</journal>', flush=True)
        answer = sys.stdin.readline().strip()
        assert answer.endswith(f'id="{id}" delivery="{turn.delivery}"/>'), answer
    put = ask(turn.delivery, f"<put-blob>prompt of turn {turn.number}</put-blob>", first)
    prompt = re.search('hash="([0-9a-f]{64})"', put).group(1)
    entry(first + 1, kind="model-started", model="m", prompt=prompt)
    entry(first + 2, text, kind="model-result", of=str(first + 1), stop="end", **{"in": "9", "out": "3"})
def person(question, *choices, shows=(), expires="1d"):
    text = lambda words: escape(words, {chr(10): "&#10;"})
    shows = "".join(f'<show seq="{seq}">{text(label)}</show>' for seq, label in shows)
    choices = "".join(f"<choice>{text(choice)}</choice>" for choice in choices)
    return f'<ask-person xmlns="{CORE}" expires="{expires}"><question>{text(question)}</question>{shows}{choices}</ask-person>'
def timer(text, **when):
    when = "".join(f' {name}="{value}"' for name, value in when.items())
    return f'<set-timer xmlns="{CORE}"{when}>{escape(text)}</set-timer>'
def spawn(item, label=None, to=None):
    label = f' suggested_sub_id="{escape(label, {chr(34): "&quot;"})}"' if label else ""
    to = f' to="{to}"' if to else ""
    return f'<spawn-thread xmlns="{CORE}"{label}><initial-payload{to}>{item}</initial-payload></spawn-thread>'
"#;

/// Follows the plan in its request: a list of items for each turn, or a function that returns them for
/// the turn. A plan outlives the program in a file.
pub(crate) const BOSS: &str = r#"
shown = {}
def everything(turn): return [said(turn.line)]
def finished(count):
    "Thinks until that many children have finished, then says what it was shown in all."
    def step(turn):
        lines = shown.setdefault((turn.thread, turn.call), [])
        lines.append(turn.line)
        done = "".join(lines).count("<thread-finished")
        if done < count: time.sleep(0.05)
        return [said("".join(lines))] if done >= count else [note(f"{done} of {count}")]
    return [step] * 90
for turn in turns():
    plan = f"plan-{turn.thread}-{turn.call}".replace("/", "_")
    if turn.number == 1: open(plan, "w").write(turn.text)
    step = eval(open(plan).read())[turn.number - 1]
    reply(turn.delivery, *(step(turn) if callable(step) else step))
"#;

/// Returns its input, and its own name.
pub(crate) const ECHO: &str =
    "\nfor turn in turns(): reply(turn.delivery, said(f'{ME} heard {turn.text}'))\n";
/// Reads, and never answers.
pub(crate) const HANG: &str = "\nfor turn in turns(): pass\n";
/// Exits on every message.
pub(crate) const CRASH: &str = "\nfor turn in turns(): sys.exit('no luck')\n";
/// Replies without the answer that it owes.
pub(crate) const SILENT: &str = "\nfor turn in turns(): reply(turn.delivery)\n";

/// A listener: its name, its further keys in the organism's file, its program.
pub(crate) type Part<'a> = (&'a str, &'a str, &'a str);

/// The folder of an organism with these listeners.
pub(crate) fn cast(parts: &[Part<'_>]) -> tempfile::TempDir {
    let mut yaml = "organism: {name: hello}\nlisteners:\n".to_owned();
    let mut files = Vec::new();
    for (name, keys, body) in parts {
        let schema = if keys.contains("schema:") { String::new() } else { format!("schema: {name}.xsd, ") };
        yaml += &format!(
            "  {name}: {{run: [python3, {name}.py], {schema}accepts: [say], returns: [said], {keys}}}\n"
        );
        files.push((format!("{name}.xsd"), xsd(name)));
        files.push((format!("{name}.py"), format!("{PRELUDE}{body}")));
    }
    yaml += "log: {path: ./hello.db}\nconsole: {listen: \"127.0.0.1:0\"}\n";
    files.push(("organism.yaml".to_owned(), yaml));
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    folder(&files)
}

fn xsd(name: &str) -> String {
    format!(
        r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="https://xml-pipeline.org/ns/{name}/v1" elementFormDefault="qualified">
  <xs:element name="say"><xs:complexType><xs:sequence><xs:element name="text" type="xs:string"/></xs:sequence></xs:complexType></xs:element>
  <xs:element name="said"><xs:complexType><xs:sequence><xs:element name="text" type="xs:string"/></xs:sequence></xs:complexType></xs:element>
  <xs:element name="{name}" type="xs:string"/>
</xs:schema>"#
    )
}

/// A request to that listener.
pub(crate) fn say(who: &str, text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    format!("<say xmlns=\"https://xml-pipeline.org/ns/{who}/v1\"><text>{text}</text></say>")
}

/// An organism that runs in this process, with its own programs.
pub(crate) struct PlanHouse {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) organism: Organism,
}

impl PlanHouse {
    pub(crate) async fn open(parts: &[Part<'_>]) -> PlanHouse {
        PlanHouse::in_folder(cast(parts)).await
    }

    pub(crate) async fn in_folder(folder: tempfile::TempDir) -> PlanHouse {
        let organism = start(folder.path()).await;
        PlanHouse { folder, organism }
    }

    fn message(key: &str, document: &str, to: Option<&str>, thread: Option<&str>) -> ClientMessage {
        ClientMessage {
            client: Name::new_operator(),
            key: Key::parse(key).unwrap(),
            document: document.as_bytes().to_vec(),
            to: to.map(str::to_owned),
            thread: thread.map(str::to_owned),
            subject: None,
        }
    }

    /// Sends a document, which is accepted or refused.
    pub(crate) async fn send(
        &self,
        key: &str,
        document: &str,
        to: Option<&str>,
        thread: Option<&str>,
    ) -> Result<Receipt, String> {
        match self
            .organism
            .handle()
            .send_message(PlanHouse::message(key, document, to, thread))
            .await
            .expect("the pump answers")
        {
            SenderReply::Receipt(receipt, _) => Ok(receipt),
            SenderReply::Refused(refusal) => Err(refusal.code.as_str().to_owned()),
            SenderReply::Done => panic!("a message is not an order"),
        }
    }

    /// Sends many documents at once; their receipts come in order.
    pub(crate) async fn send_all(&self, documents: Vec<String>) -> Vec<Receipt> {
        let mut sending = JoinSet::new();
        for (n, document) in documents.into_iter().enumerate() {
            let (front, message) = (
                self.organism.handle().clone(),
                PlanHouse::message(&format!("all-{n}"), &document, None, None),
            );
            sending.spawn(async move { (n, front.send_message(message).await) });
        }
        let mut receipts = BTreeMap::new();
        while let Some(sent) = sending.join_next().await {
            let (n, Some(SenderReply::Receipt(receipt, _))) = sent.unwrap() else { panic!("refused") };
            receipts.insert(n, receipt);
        }
        receipts.into_values().collect()
    }

    /// The outcomes of these calls, in order, each as its record.
    pub(crate) async fn outcomes(&self, receipts: &[Receipt]) -> Vec<Record> {
        let mut tail = self.organism.tail();
        let (mut at, mut found) = (Position(0), BTreeMap::new());
        let waits = async {
            loop {
                let page = self.organism.reader().read_after(at, 1_000).unwrap();
                let Some((last, _)) = page.last() else {
                    if receipts.iter().all(|r| found.contains_key(&(r.thread.clone(), r.call.clone()))) {
                        return;
                    }
                    tail.changed().await.expect("the pump runs");
                    continue;
                };
                at = *last;
                for (_, record) in page {
                    let ends = record.header.code == Some(RecordCode::Role(MessageRole::Final))
                        || record.header.kind == RecordKind::Outcome
                            && record.header.code != Some(RecordCode::DeadLetter);
                    if let (true, Some(call)) = (ends, record.header.call.clone()) {
                        found.insert((record.header.thread.clone(), call), record);
                    }
                }
            }
        };
        let came = tokio::time::timeout(PATIENCE, waits).await;
        assert!(came.is_ok(), "not every outcome came:\n{}", crate::organism::told(&self.organism));
        receipts.iter().map(|r| found[&(r.thread.clone(), r.call.clone())].clone()).collect()
    }

    /// Asks a listener, and returns the receipt and the answer.
    pub(crate) async fn ask(&self, key: &str, who: &str, text: &str) -> (Receipt, String) {
        let receipt = self.send(key, &say(who, text), None, None).await.unwrap();
        let outcome = self.outcomes(std::slice::from_ref(&receipt)).await.remove(0);
        (receipt, plain(&outcome))
    }

    /// Every record, in order.
    pub(crate) fn records(&self) -> Vec<Record> {
        let records = self.organism.reader().read_after(Position(0), 100_000).unwrap();
        records.into_iter().map(|(_, record)| record).collect()
    }

    /// Waits for a record that matches.
    pub(crate) async fn until(&self, what: &str, so: impl Fn(&Record) -> bool) -> Record {
        let mut tail = self.organism.tail();
        let waits = async {
            loop {
                if let Some(record) = self.records().into_iter().find(&so) {
                    return record;
                }
                tail.changed().await.expect("the pump runs");
            }
        };
        let came = tokio::time::timeout(PATIENCE, waits).await;
        came.unwrap_or_else(|_| panic!("no record: {what}\n{}", crate::organism::told(&self.organism)))
    }

    pub(crate) async fn close(self) -> tempfile::TempDir {
        let ended = self.organism.stop(Duration::from_millis(100)).await;
        assert!(matches!(ended, LoopEnd::Drained(_)), "{ended:?}");
        judged(self.folder.path());
        self.folder
    }
}

/// Checks that the independent judge finds nothing wrong in the log of that folder.
#[track_caller]
pub(crate) fn judged(folder: &std::path::Path) {
    let log = systole_checker::log::LogSnapshot::open_file(&folder.join("hello.db")).unwrap();
    let terms = systole_checker::RunSettings { running: true, ..systole_checker::RunSettings::default() };
    let report = systole_checker::check_under(&log, &[], &terms);
    assert!(report.is_clean(), "{report}");
}

/// The body of a record, with the entities in its text decoded.
pub(crate) fn plain(record: &Record) -> String {
    let body = String::from_utf8(record.body.to_vec()).unwrap();
    body.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

/// The body of a record, unchanged.
pub(crate) fn body(record: &Record) -> &str {
    std::str::from_utf8(&record.body).unwrap()
}

/// The element name or code of a record.
pub(crate) fn code(record: &Record) -> &str {
    record.header.code.map_or("", |code| code.as_str())
}
