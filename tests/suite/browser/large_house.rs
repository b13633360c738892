//! A large organism in this process, with its real log in a file and its real door: two hundred listeners that cost
//! nothing, ten thousand threads, one of them with ten thousand records, a payload of nearly a mebibyte, a tree that is
//! sixteen deep, and requests that wait for a person.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use systole_carriers::{InlineListener, from_answer};
use systole_config as config;
use systole_core::types::ids::{Key, Name, ThreadId};
use systole_core::types::ports::LogReader;
use systole_doors::http::{ConsoleSettings, HttpDoor};
use systole_kit::envelope::Delivered;
use systole_kit::reply::{Item, ReplyContent};
use systole_kit::{DocumentLimits, Payload};
use systole_organism::keyring::Keyring;
use systole_organism::plan::{LogPlace, ReloadAtStart, RunPlan};
use systole_organism::runfile::Credential;
use systole_organism::running::{ClientMessage, Organism};
use systole_organism::waiting::SenderReply;
use systole_queries::persons;
use systole_system::failpoint::Failpoint;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::program::PATIENCE;
use crate::promises::cast::say;

/// Threads, apart from those that have something special.
const THREADS: usize = 10_000;
/// Turns of the long thread, and the calls of each turn: a call has two records.
const TURNS: u32 = 1_001;
const CALLS: u32 = 5;
/// Listeners, and how many of them each of the leading ones may address.
const LISTENERS: usize = 200;
const LED: usize = 9;
/// Records of a walk: its message, all calls with their answers, and its own answer.
const fn walked(turns: u32) -> usize {
    2 + 2 * (turns as usize - 1) * CALLS as usize
}

/// How deep the tree of threads is.
const DEEP: usize = 16;
/// Requests that wait for a person.
const HELD: usize = 80;
/// Bytes of the large body: with its markup a message stays below a mebibyte.
const BODY: usize = (1 << 20) - 512;
/// Messages in flight.
const IN_FLIGHT: usize = 512;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";
const GRACE: Duration = Duration::from_secs(5);

/// A running organism that is full.
pub(super) struct LargeHouse {
    _folder: tempfile::TempDir,
    runtime: Runtime,
    organism: Organism,
    door: HttpDoor,
    facts: Value,
}

/// `lead-3` and `hand-3-5`: twenty leaders and what they may address.
fn names() -> Vec<String> {
    let leaders = (0..LISTENERS / (LED + 1)).map(|n| format!("lead-{n}"));
    let led = (0..LISTENERS / (LED + 1)).flat_map(|n| (0..LED).map(move |m| format!("hand-{n}-{m}")));
    leaders.chain(led).collect()
}

fn schema(name: &str) -> String {
    format!(
        r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="https://xml-pipeline.org/ns/{name}/v1" elementFormDefault="qualified">
  <xs:element name="say"><xs:complexType><xs:sequence><xs:element name="text" type="xs:string"/></xs:sequence></xs:complexType></xs:element>
  <xs:element name="said"><xs:complexType><xs:sequence><xs:element name="text" type="xs:string"/></xs:sequence></xs:complexType></xs:element>
</xs:schema>"#
    )
}

/// The organism's file. A leader takes many turns, digs trees, and asks a person first if its name says so.
fn folder() -> tempfile::TempDir {
    let mut yaml = format!(
        "organism: {{name: large, entry: lead-0}}\nbudgets: {{messages: 100000, depth: {DEEP}, children: 100}}\nlog: {{path: ./large.db}}\nlisteners:\n"
    );
    let mut files: Vec<(String, String)> = Vec::new();
    for name in names() {
        let number = name.strip_prefix("lead-");
        let peers = number.map(|number| {
            let led: Vec<String> = (0..LED).map(|m| format!("hand-{number}-{m}")).collect();
            format!(", entry: true, turns: 2000, peers: [{name}, {}]", led.join(", "))
        });
        let held = if name == "lead-1" { ", approval: {when: always}" } else { "" };
        writeln!(
            yaml,
            "  {name}: {{schema: {name}.xsd, accepts: [say], returns: [said], in_flight: 256{}{held}}}",
            peers.unwrap_or_default()
        )
        .unwrap();
        files.push((format!("{name}.xsd"), schema(&name)));
    }
    files.push(("organism.yaml".to_owned(), yaml));
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    crate::organism::folder(&files)
}

fn item(document: &str) -> Item {
    Item::plain(Payload::parse(document.as_bytes(), &DocumentLimits::default()).unwrap())
}

/// A leader that was told to walk calls the others in that many turns. One that is told to dig spawns a thread below its
/// own, until the tree is deep enough. Everyone else says how much it heard.
fn answer(name: &str, asked: &Delivered, walks: &Mutex<HashMap<String, u32>>) -> ReplyContent {
    let heard = String::from_utf8_lossy(asked.payload.bytes());
    let (thread, turn) = (&asked.thread, asked.stamp.turn);
    let told = |word: &str| heard.split_once(word)?.1.split_once('<')?.0.parse().ok();
    let turns: Option<u32> = match turn {
        1 => told(">walk "),
        _ => walks.lock().unwrap().get(thread).copied(),
    };
    if let Some(turns) = turns.filter(|turns| turn < *turns) {
        walks.lock().unwrap().insert(thread.clone(), turns);
        let call =
            |n: u32| item(&say(&format!("hand-0-{n}"), &format!("message {} of {turns}", turn * CALLS + n)));
        return ReplyContent::Items((0..CALLS).map(call).collect());
    }
    if turn == 1 && heard.contains(">dig<") && thread.matches('.').count() + 1 < DEEP {
        let core = "https://xml-pipeline.org/ns/core/v1";
        let deeper = say(name, "dig");
        return ReplyContent::Items(vec![
            item(&format!(
                "<spawn-thread xmlns=\"{core}\" suggested_sub_id=\"deeper\"><initial-payload>{deeper}</initial-payload></spawn-thread>"
            )),
            item(&format!("<await-threads xmlns=\"{core}\" mode=\"all\"/>")),
        ]);
    }
    let bytes = heard.len();
    ReplyContent::Items(vec![item(&format!(
        "<said xmlns=\"https://xml-pipeline.org/ns/{name}/v1\"><text>{name} heard {bytes} bytes</text></said>"
    ))])
}

async fn start(folder: &Path) -> Organism {
    let names = names();
    let given: Vec<&str> = names.iter().map(String::as_str).collect();
    let file = config::load_given(&folder.join("organism.yaml"), &given)
        .unwrap_or_else(|refused| panic!("{refused}"));
    let inline = names.iter().map(|name| {
        let (own, walks) = (name.clone(), Mutex::default());
        let listener: Arc<dyn InlineListener> = from_answer(move |asked| {
            let said = answer(&own, &asked, &walks);
            async move { said }
        });
        (Name::parse(name).unwrap(), listener)
    });
    Organism::start(RunPlan {
        bus: None,
        managed: None,
        stands_by: None,
        given_up: None,
        proof: None,
        followers: Vec::new(),
        schedules: Vec::new(),
        reload: ReloadAtStart::default(),
        composition: file.composition,
        directory: folder.to_owned(),
        log: LogPlace::File(file.log),
        inline: inline.collect::<BTreeMap<_, _>>(),
        validators: 2,
        surroundings: BTreeMap::new(),
        steps: Arc::new(Failpoint::parse(None).unwrap()),
    })
    .await
    .unwrap()
}

/// Sends a message; the thread that it went to.
async fn send(organism: &Organism, key: String, document: String, thread: Option<String>) -> String {
    let message = ClientMessage {
        client: Name::new_operator(),
        key: Key::parse(&key).unwrap(),
        document: document.into_bytes(),
        to: None,
        thread,
        subject: None,
    };
    match organism.handle().send_message(message).await.expect("the pump answers") {
        SenderReply::Receipt(receipt, _) => receipt.thread.to_string(),
        other => panic!("{key} is not taken: {other:?}"),
    }
}

/// Sends all of these, many at once.
async fn send_all(organism: &Arc<Organism>, all: impl Iterator<Item = (String, String, Option<String>)>) {
    let mut sending = JoinSet::new();
    for (key, document, thread) in all {
        while sending.len() >= IN_FLIGHT {
            sending.join_next().await;
        }
        let organism = organism.clone();
        sending.spawn(async move { send(&organism, key, document, thread).await });
    }
    sending.join_all().await;
}

/// Fills the log, and returns the threads that have something special.
async fn fill(organism: &Arc<Organism>) -> Value {
    let began = Instant::now();
    let names = names();
    let to = |n: usize| format!("lead-{}", 2 + n % (LISTENERS / (LED + 1) - 2));
    let long = send(organism, "long".to_owned(), say("lead-0", &format!("walk {TURNS}")), None).await;
    let other = send(organism, "other".to_owned(), say("lead-0", &format!("walk {}", TURNS / 2)), None).await;
    // The walks are over before the rest begins, so they are in the first half of the log.
    until(organism, |reader| has(reader, &long, walked(TURNS)) && has(reader, &other, walked(TURNS / 2)))
        .await;
    let many = (0..THREADS).map(|n| (format!("many-{n}"), say(&to(n), &format!("thread {n}")), None));
    send_all(organism, many).await;
    let document = say("lead-0", &"b".repeat(BODY));
    let document_bytes = document.len();
    let body = send(organism, "body".to_owned(), document, None).await;
    let deep = send(organism, "deep".to_owned(), say("lead-0", "dig"), None).await;
    let held = (0..HELD).map(|n| (format!("held-{n}"), say("lead-1", &format!("hold {n}")), None));
    send_all(organism, held).await;
    let deepest = format!("{deep}{}", ".deeper".repeat(DEEP - 1));
    let answered = (0..THREADS).rev().take(IN_FLIGHT).map(|n| format!("many-{n}"));
    let newest: Vec<ThreadId> = answered.map(|key| root(&key)).collect();
    let end = until(organism, |reader| {
        newest.iter().all(|thread| has(reader, thread.as_str(), 2))
            && has(reader, &body, 2)
            && has(reader, &deepest, 2)
            && persons::waiting(reader).unwrap().len() == HELD
    })
    .await;
    println!(
        "{end} records and {} listeners were made in {:.1} s",
        names.len(),
        began.elapsed().as_secs_f64()
    );
    json!({"long": long, "other": other, "body": body, "deep": deep, "deepest": deepest, "end": end,
        "listeners": names.len(), "threads": THREADS, "bytes": document_bytes, "newest": deep, "held": HELD})
}

/// Waits until something is so in the log. Returns its end.
async fn until(organism: &Organism, is_so: impl Fn(&dyn LogReader) -> bool) -> u64 {
    let (mut tail, reader) = (organism.tail(), organism.reader().clone());
    let reached = tail.wait_for(|_| is_so(&*reader));
    let end = tokio::time::timeout(PATIENCE, reached).await.expect("it comes to be so").unwrap();
    end.0
}

/// Whether a thread has that many records.
fn has(reader: &dyn LogReader, thread: &str, records: usize) -> bool {
    let thread = ThreadId::parse(thread).unwrap();
    !reader.of_thread(&thread, u64::try_from(records).unwrap(), 1).unwrap().is_empty()
}

/// The root that a message with that key opens.
fn root(key: &str) -> ThreadId {
    let organism = Name::parse("large").unwrap();
    ThreadId::new_root(&organism, &Name::new_operator(), &Key::parse(key).unwrap(), 12)
}

impl LargeHouse {
    /// Starts it and fills it.
    pub(super) fn open() -> LargeHouse {
        let folder = folder();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let (organism, door, facts) = runtime.block_on(async {
            let organism = Arc::new(Box::pin(start(folder.path())).await);
            let mut facts = fill(&organism).await;
            let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
            facts["address"] = json!(format!("http://{}", bound.local_addr().unwrap()));
            facts["token"] = json!(TOKEN);
            facts["tokens"] = json!({"operator": TOKEN});
            let keyring = Keyring::from_operator(Credential::from_token(TOKEN.to_owned()));
            let door = HttpDoor::open(bound, organism.handle().clone(), keyring, ConsoleSettings::default());
            (Arc::into_inner(organism).expect("all messages are sent"), door, facts)
        });
        LargeHouse { _folder: folder, runtime, organism, door, facts }
    }

    /// Where it is, and its special threads.
    pub(super) fn facts(&self) -> &Value {
        &self.facts
    }

    /// Stops it.
    pub(super) fn close(self) {
        self.runtime.block_on(async {
            let closed = self.door.close().await;
            self.organism.stop(GRACE).await;
            closed.wait_for_end().await;
        });
    }
}
