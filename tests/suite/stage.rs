//! A stage for carriers: one listener, its reports, and deliveries to hand to it. It never sleeps: it
//! waits for reports, and fails with a message if one does not come.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;

use systole_bus::Broker;
use systole_carriers::{CarrierEquipment, CarrierWaits, Carriers, InlineListener, NoEar, NoReceipts};
use systole_core::types::composition::{
    ApprovalRule, Composition, DeliveryRetry, DescribeScope, Listener, ListenerProgram, OnUnknown, Reach,
    ViewScope,
};
use systole_core::types::delivery::{DeliveredTurn, RecordedTurn, ShownRecords};
use systole_core::types::ids::{AttemptId, CallPath, Digest, Name, ThreadId};
use systole_core::types::limits::{QUEUE_CALLS, STUCK_MS};
use systole_core::types::ports::{CallBack, Carrier, CarrierReport, Delivery, Lease, LeaseToken, NoObserver};
use systole_core::types::time::Millis;
use systole_kit::envelope::{EnvelopeAddress, EnvelopeStamp, read_delivered, write_envelope};
use systole_kit::writer::XmlWriter;
use systole_kit::{DocumentLimits, Payload, namespaces};
use tokio::sync::mpsc;

use crate::log_records::Author;
use crate::program::PATIENCE;

/// Room for reports: less than some tests make, so that every test includes waits for room.
const REPORTS: usize = 4;

/// Grace periods that are short enough for a test, and long enough for a slow machine if they must be
/// kept.
pub(crate) const QUICK: CarrierWaits = CarrierWaits {
    called_back_ms: 200,
    eof_ms: 200,
    term_ms: 200,
    rest_ms: 500,
    first_pause_ms: 1,
    longest_pause_ms: 300,
    deaths: 5,
    proof_ms: 1_000,
};

pub(crate) struct CarrierStage {
    pub(crate) carriers: Carriers,
    pub(crate) reports: mpsc::Receiver<CarrierReport>,
}

/// A test's settings for its listener.
pub(crate) struct Cast {
    pub(crate) reach: Reach,
    pub(crate) inline: Option<Arc<dyn InlineListener>>,
    pub(crate) in_flight: usize,
    pub(crate) pace: CarrierWaits,
    pub(crate) surroundings: BTreeMap<OsString, OsString>,
    pub(crate) broker: Option<Arc<Broker>>,
}

pub(crate) fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

pub(crate) fn token(text: &str) -> LeaseToken {
    LeaseToken(text.into())
}

/// An empty folder for this test.
pub(crate) fn folder(test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _not_there_yet = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A program in a folder.
pub(crate) fn program(run: &[&str], directory: PathBuf) -> ListenerProgram {
    ListenerProgram {
        run: run.iter().map(|word| (*word).to_owned()).collect(),
        adapter: Vec::new(),
        directory,
        env: BTreeMap::new(),
        pass: Vec::new(),
        stays: true,
        by_length: false,
        sandbox: None,
    }
}

/// A shell script that stays running, with quick grace periods.
pub(crate) fn shell(script: &str) -> Cast {
    cast(Reach::Process(program(&["/bin/sh", "-c", script], PathBuf::from("/"))))
}

/// A shell script that starts once for each message.
pub(crate) fn shell_once(script: &str) -> Cast {
    let stays = program(&["/bin/sh", "-c", script], PathBuf::from("/"));
    cast(Reach::Process(ListenerProgram { stays: false, ..stays }))
}

pub(crate) fn cast(reach: Reach) -> Cast {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let surroundings = BTreeMap::from([("PATH".into(), path)]);
    Cast { reach, inline: None, in_flight: 1, pace: QUICK, surroundings, broker: None }
}

impl Cast {
    pub(crate) fn in_flight(self, in_flight: usize) -> Cast {
        Cast { in_flight, ..self }
    }

    pub(crate) fn paced(self, pace: CarrierWaits) -> Cast {
        Cast { pace, ..self }
    }

    /// Starts the listener, under the name `echo`.
    pub(crate) fn start(self) -> CarrierStage {
        let (reports, receiver) = mpsc::channel(REPORTS);
        let echo = Listener {
            name: name("echo"),
            reach: self.reach,
            accepts: Vec::new(),
            returns: Vec::new(),
            note: None,
            peers: Vec::new(),
            turns: 1,
            sees: ViewScope::Call,
            share_percent: 50,
            in_flight: self.in_flight,
            rate: None,
            timeout_ms: 30_000,
            idle_ms: None,
            retry: DeliveryRetry { attempts: 1, first_ms: 1, longest_ms: 1 },
            on_unknown: OnUnknown::Retry,
            approval: ApprovalRule::default(),
            timer_tell: Vec::new(),
            entry: true,
            describe: DescribeScope::Peers,
        };
        let composition = Composition {
            organism: name("hello"),
            hash: Digest::hash_bytes(b""),
            source: Arc::from(*b""),
            entry: None,
            listeners: BTreeMap::from([(name("echo"), echo)]),
            schemas: Vec::new(),
            message_bytes: 1 << 20,
            outage_ms: 0,
            stuck_ms: STUCK_MS,
            queue_calls: QUEUE_CALLS,
            budgets: None,
            loops: None,
            broadcasts: Vec::new(),
            clients: BTreeMap::new(),
            doors: Default::default(),
            sections: BTreeMap::new(),
        };
        let inline = self.inline.map(|listener| (name("echo"), listener)).into_iter().collect();
        let equipment = CarrierEquipment {
            broker: self.broker,
            is_still: false,
            inline,
            surroundings: self.surroundings,
            pace: self.pace,
            steps: Arc::new(NoObserver),
            ear: Arc::new(NoEar),
            receipts: Arc::new(NoReceipts),
        };
        let carriers = Carriers::start_all(&composition, equipment, reports).unwrap();
        CarrierStage { carriers, reports: receiver }
    }
}

impl CarrierStage {
    /// Hands over a request under that token.
    pub(crate) fn hand(&self, delivery: &str) {
        self.hand_to("echo", delivery);
    }

    /// Hands over a request with that text.
    pub(crate) fn hand_words(&self, name: &str, words: &str) {
        self.carriers.send_delivery(delivery("echo", name, words));
    }

    pub(crate) fn hand_to(&self, listener: &str, name: &str) {
        self.carriers.send_delivery(delivery(listener, name, "hello"));
    }

    /// Hands over a request whose record holds no payload.
    pub(crate) fn hand_damaged(&self, name: &str) {
        let lease = delivery("echo", name, "").lease;
        let request = Author::default().record(&lease.id.thread, b"no payload", |_| {});
        let turn = RecordedTurn {
            caller: Name::new_operator(),
            deadline: Some(Millis(0)),
            journal: None,
            request: 1,
            shows: ShownRecords::Request(Arc::new(request)),
        };
        self.carriers.send_delivery(Delivery { lease, turn: DeliveredTurn::Recorded(Arc::new(turn)) });
    }

    pub(crate) fn call_back(&self, delivery: &str, why: CallBack) {
        self.carriers.call_back(&token(delivery), why);
    }

    /// The next report, as a line: `joined`, `said …`, `gone TOKEN CODE: …`, `left: …`.
    pub(crate) async fn report(&mut self) -> String {
        loop {
            if let Some(line) = line(self.next().await) {
                return line;
            }
        }
    }

    /// The next report.
    pub(crate) async fn next(&mut self) -> CarrierReport {
        let report = tokio::time::timeout(PATIENCE, self.reports.recv()).await;
        report.expect("no report came").expect("the carriers are gone")
    }

    /// The next report, which must begin with and contain that. Returns its text.
    pub(crate) async fn expect(&mut self, begins: &str, contains: &str) -> String {
        let report = self.report().await;
        let fits = report.starts_with(begins) && report.contains(contains);
        assert!(fits, "wanted {begins:?} with {contains:?}, came {report:?}");
        report
    }

    /// Waits for the listener to be up.
    pub(crate) async fn joined(mut self) -> CarrierStage {
        self.expect("joined", "").await;
        self
    }

    /// Stops the carriers and returns every report that still came.
    pub(crate) async fn stop(mut self) -> Vec<String> {
        let mut rest = Vec::new();
        {
            let mut stopping = pin!(self.carriers.stop_all());
            loop {
                tokio::select! {
                    () = &mut stopping => break,
                    Some(report) = self.reports.recv() => rest.extend(line(report)),
                }
            }
        }
        while let Ok(report) = self.reports.try_recv() {
            rest.extend(line(report));
        }
        rest
    }
}

/// `None` for what only concerns workers over a broker.
fn line(report: CarrierReport) -> Option<String> {
    Some(match report {
        CarrierReport::Said { listener, speech, ticket } => {
            assert_eq!(ticket, None, "what comes over pipes needs no receipt");
            assert_eq!(listener, name("echo"));
            format!("said {}", String::from_utf8_lossy(&speech.document()))
        }
        CarrierReport::Adopted { .. } | CarrierReport::Taken { .. } | CarrierReport::Untaken { .. } => {
            return None;
        }
        CarrierReport::Misplaced { .. } => panic!("a pipe is one place"),
        CarrierReport::Gone { token, code, words } => format!("gone {} {}: {words}", token.0, code.as_str()),
        CarrierReport::Away { token, words } => format!("away {}: {words}", token.0),
        CarrierReport::NotNow { token, words } => format!("not now {}: {words}", token.0),
        CarrierReport::Joined { .. } => "joined".to_owned(),
        CarrierReport::Left { words, .. } => format!("left: {words}"),
    })
}

/// A delivery to that listener under that token: `<ask>` with that text.
pub(crate) fn delivery(listener: &str, token_text: &str, words: &str) -> Delivery {
    let lease = Lease {
        token: token(token_text),
        listener: name(listener),
        id: AttemptId {
            thread: ThreadId::parse("sess-1f0c9a2b77d1").unwrap(),
            call: CallPath::new_top(1),
            turn: 1,
            attempt: 1,
        },
        config: Digest::hash_bytes(b""),
    };
    Delivery {
        lease: Arc::new(lease),
        turn: DeliveredTurn::Composed(Box::new(read_delivered(&request(token_text, words)).unwrap())),
    }
}

/// A request as a listener gets it: `<ask>` with that text.
fn request(delivery: &str, text: &str) -> Vec<u8> {
    let mut ask = XmlWriter::new();
    ask.open("ask").xmlns(namespaces::TALK).text(text);
    let ask = Payload::parse(&ask.finish(), &DocumentLimits::default()).unwrap();
    let stamp = EnvelopeStamp {
        call: "1".into(),
        turn: 1,
        delivery: delivery.into(),
        attempt: 1,
        key: "k".into(),
        ..EnvelopeStamp::default()
    };
    let address =
        EnvelopeAddress { from: Some("operator"), to: Some("echo"), thread: Some("sess-1f0c9a2b77d1") };
    write_envelope(&address, Some(&stamp), &ask)
}

/// Whether a process exists and is not a zombie.
pub(crate) fn alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.rsplit_once(')').unwrap().1.trim_start().starts_with('Z'))
}

/// Waits, without a pause, until the condition holds.
pub(crate) async fn until(what: &str, mut so: impl FnMut() -> bool) {
    let waited = tokio::time::timeout(PATIENCE, async {
        while !so() {
            tokio::task::yield_now().await;
        }
    });
    waited.await.unwrap_or_else(|_| panic!("never came true: {what}"));
}
