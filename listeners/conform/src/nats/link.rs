//! The pump over NATS: it hands deliveries to the pulls of a worker, and hears what the worker says, renews and
//! acknowledges. It keeps what a check wants to know of that, with its time.
//!
//! It judges nothing. In: deliveries, and the connection. Out: what the worker says about them.

use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

use systole_carriers::{JudgedPipes, JudgedProgram};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::client::{NatsClient, NatsMessage};
use super::server::{KitServer, ServerFolder};
use super::tap::{ACK_HEADER, NatsTap, SUBJECT_HEADER, TapRecord};
use crate::limits;
use crate::pipe::{ErrorWords, read_words};
use crate::subject::ConformSubject;

/// A pull of the worker.
#[derive(Clone, Debug)]
pub(crate) struct PullRequest {
    /// When it came.
    pub at: Instant,
    /// Where its answer goes.
    pub reply: String,
    /// Its words.
    pub body: String,
    /// When it ends.
    pub until: Instant,
}

/// A delivery that the worker got.
#[derive(Clone, Debug)]
pub(crate) struct HeldDelivery {
    /// Its name.
    pub token: String,
    /// The subject on which it is renewed and acknowledged.
    pub ack: String,
    /// When it was handed out.
    pub at: Instant,
    /// When the worker renewed it.
    pub renewals: Vec<Instant>,
    /// When the worker acknowledged it.
    pub acknowledged: Option<Instant>,
}

/// What becomes of pulls.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum PullRule {
    /// Each is answered: with a delivery, or with 408 at its end.
    #[default]
    Serve,
    /// The next ones are answered with these statuses, then each is served.
    Statuses(VecDeque<&'static str>),
    /// Each is kept waiting.
    Keep,
}

/// A document that the worker sent.
#[derive(Clone, Debug)]
pub(crate) struct BrokerWord {
    /// When it came.
    pub at: Instant,
    /// Where its answer goes, if it is a request.
    pub answer_to: Option<String>,
    /// Whether it came on the subject for progress.
    pub is_live: bool,
    /// The document.
    pub bytes: Vec<u8>,
}

/// A worker that is reached over the kit's broker.
pub(crate) struct BrokerLink {
    subjects: LinkSubjects,
    folder: ServerFolder,
    server: Option<KitServer>,
    tap: NatsTap,
    client: Option<NatsClient>,
    program: Option<JudgedProgram>,
    words: ErrorWords,
    readers: JoinSet<()>,
    queue: VecDeque<(String, Vec<u8>)>,
    handed: u64,
    /// Pulls that wait.
    pub waiting: Vec<PullRequest>,
    /// All pulls.
    pub pulls: Vec<PullRequest>,
    /// All deliveries that the worker got.
    pub held: Vec<HeldDelivery>,
    /// What becomes of pulls.
    pub rule: PullRule,
    /// The most pulls and deliveries that the worker had at once.
    pub most: usize,
    /// The most deliveries that it had at once.
    pub most_held: usize,
    /// Answers to questions about services.
    pub services: Vec<String>,
    /// When pulls were answered with 408 at their end.
    pub expired: Vec<Instant>,
}

/// The subjects of one worker.
struct LinkSubjects {
    organism: String,
    listener: String,
}

impl LinkSubjects {
    fn list_heard(&self) -> Vec<String> {
        let LinkSubjects { organism, listener } = self;
        vec![
            format!("$JS.API.CONSUMER.MSG.NEXT.SYSTOLE_{organism}_BUS.{listener}"),
            format!("$JS.ACK.SYSTOLE_{organism}_BUS.{listener}.>"),
            format!("o.{organism}.live.*"),
            "_INBOX_kit.>".to_owned(),
            format!("o.{organism}.in.>"),
        ]
    }
}

impl BrokerLink {
    /// Makes a broker for one worker. Neither the broker nor the worker runs yet.
    ///
    /// # Errors
    /// What the machine says.
    pub(crate) async fn prepare(subject: &ConformSubject, server: &Path) -> Result<BrokerLink, String> {
        let token = |text: &str| text.replace('.', "_");
        let subjects = LinkSubjects {
            organism: token(subject.composition.organism.as_str()),
            listener: token(subject.listener.as_str()),
        };
        let folder = ServerFolder::make(server, &subject.composition, &subject.listener)?;
        let tap = NatsTap::reserve().await.map_err(|error| format!("a free port: {error}"))?;
        Ok(BrokerLink {
            subjects,
            folder,
            server: None,
            tap,
            client: None,
            program: None,
            words: ErrorWords::default(),
            readers: JoinSet::new(),
            queue: VecDeque::new(),
            handed: 0,
            waiting: Vec::new(),
            pulls: Vec::new(),
            held: Vec::new(),
            rule: PullRule::Serve,
            most: 0,
            most_held: 0,
            services: Vec::new(),
            expired: Vec::new(),
        })
    }

    /// Starts the broker, and connects to it as the pump.
    ///
    /// # Errors
    /// Why it does not run.
    pub(crate) async fn start_broker(&mut self) -> Result<(), String> {
        let server = KitServer::start(&self.folder).await?;
        let connected =
            NatsClient::connect(server.port, &self.folder.password, &self.subjects.list_heard()).await;
        self.client = Some(connected.map_err(|error| format!("the kit's broker: {error}"))?);
        self.tap.open(server.port).await.map_err(|error| format!("the port of the broker: {error}"))?;
        self.server = Some(server);
        Ok(())
    }

    /// Ends the broker, with everything that it knew.
    pub(crate) async fn stop_broker(&mut self) {
        self.tap.close().await;
        (self.client, self.server) = (None, None);
        self.waiting.clear();
    }

    /// Cuts the worker's connection. Its pulls are gone with it.
    pub(crate) fn cut(&mut self) {
        self.tap.cut_all();
        self.waiting.clear();
    }

    /// Starts the program of the worker, which finds its broker in its environment.
    ///
    /// # Errors
    /// Why it cannot be started.
    pub(crate) async fn start_worker(&mut self, subject: &ConformSubject) -> Result<(), String> {
        let mut program = subject.program.clone();
        // A worker over NATS is started by its author, with the author's variables.
        program.pass.extend(subject.around.keys().filter_map(|name| Some(name.to_str()?.to_owned())));
        let slots = subject.in_flight.to_string();
        let own = [
            ("SYSTOLE_NATS", format!("nats://127.0.0.1:{}", self.tap.port)),
            ("SYSTOLE_KEY_FILE", self.folder.key.display().to_string()),
            ("SYSTOLE_SLOTS", slots),
            ("SYSTOLE_PROTOCOL", "1".to_owned()),
        ];
        program.env.extend(own.map(|(name, value)| (name.to_owned(), value)));
        let names = (&subject.composition.organism, &subject.listener);
        let (program, pipes) = JudgedProgram::start(&program, names, &subject.around).await?;
        self.read_pipes(pipes);
        self.program = Some(program);
        Ok(())
    }

    fn read_pipes(&mut self, (input, output, errors): JudgedPipes) {
        let words = self.words.clone();
        self.readers.spawn(crate::pipe::read_errors(errors, false, words.clone()));
        self.readers.spawn(async move {
            crate::pipe::read_errors(output, false, words).await;
            // A worker over NATS has a stdin that stays open as long as it lives.
            drop(input);
        });
    }

    /// The program of the worker, if it was started.
    pub(crate) fn program(&mut self) -> Option<&mut JudgedProgram> {
        self.program.as_mut()
    }

    /// What the worker wrote last.
    pub(crate) fn last_words(&self) -> String {
        read_words(&self.words)
    }

    /// What was said between the worker and the server.
    pub(crate) fn list_records(&self) -> Vec<TapRecord> {
        self.tap.list_records()
    }

    /// Puts a delivery behind the others.
    pub(crate) async fn put_delivery(&mut self, token: &str, document: Vec<u8>) {
        self.queue.push_back((token.to_owned(), document));
        self.hand_out().await;
    }

    /// Deliveries that no pull has fetched.
    pub(crate) fn count_queued(&self) -> usize {
        self.queue.len()
    }

    /// Publishes what the pump says.
    pub(crate) async fn publish(&self, subject: &str, reply: Option<&str>, body: &[u8]) {
        if let Some(client) = &self.client {
            client.publish(subject, reply, None, body).await;
        }
    }

    /// Calls a delivery back.
    pub(crate) async fn publish_cancel(&self, document: &[u8]) {
        let subject = format!("o.{}.cancel.{}", self.subjects.organism, self.subjects.listener);
        self.publish(&subject, None, document).await;
    }

    /// Hears what workers say, or not: then they get `no responders`.
    pub(crate) async fn listen(&self, does: bool) {
        let Some(client) = &self.client else { return };
        let line = if does {
            format!("SUB o.{}.in.> {}", self.subjects.organism, limits::SAID)
        } else {
            format!("UNSUB {}", limits::SAID)
        };
        client.say(&line).await;
    }

    /// The delivery of that name that the worker got last.
    pub(crate) fn find_held(&self, token: &str) -> Option<&HeldDelivery> {
        self.held.iter().rev().find(|held| held.token == token)
    }

    /// The next document that the worker sends; `None` at that time.
    pub(crate) async fn next_word(&mut self, until: Instant) -> Option<BrokerWord> {
        loop {
            self.end_pulls().await;
            self.hand_out().await;
            let now = Instant::now();
            if now >= until {
                return None;
            }
            let tick = self.waiting.iter().map(|pull| pull.until).min().map_or(until, |end| end.min(until));
            let Some(client) = &mut self.client else {
                tokio::time::sleep_until(until).await;
                return None;
            };
            match tokio::time::timeout_at(tick.max(now + Duration::from_millis(1)), client.next()).await {
                Ok(Some(message)) => {
                    if let Some(word) = self.take_message(message).await {
                        return Some(word);
                    }
                }
                Ok(None) => self.client = None,
                Err(_) => {}
            }
        }
    }

    async fn take_message(&mut self, message: NatsMessage) -> Option<BrokerWord> {
        let NatsMessage { subject, reply, body } = message;
        let at = Instant::now();
        if subject.starts_with("$JS.API.") {
            self.take_pull(reply?, &body).await;
        } else if subject.starts_with("$JS.ACK.") {
            self.take_acknowledgement(&subject, &body, at);
        } else if subject.starts_with("_INBOX_kit") {
            self.services.push(String::from_utf8_lossy(&body).into_owned());
        } else {
            let is_live = subject.contains(".live.");
            return Some(BrokerWord { at, answer_to: reply, is_live, bytes: body });
        }
        None
    }

    async fn take_pull(&mut self, reply: String, body: &[u8]) {
        let at = Instant::now();
        let body = String::from_utf8_lossy(body).into_owned();
        let asked: Option<serde_json::Value> = serde_json::from_str(&body).ok();
        let expires = asked.and_then(|asked| asked.get("expires")?.as_u64()).unwrap_or(limits::NO_EXPIRES_NS);
        let pull = PullRequest { at, reply, body, until: at + Duration::from_nanos(expires) };
        self.pulls.push(pull.clone());
        match &mut self.rule {
            PullRule::Statuses(left) => match left.pop_front() {
                Some(status) => return self.end_pull(&pull.reply, status).await,
                None => self.rule = PullRule::Serve,
            },
            PullRule::Serve | PullRule::Keep => {}
        }
        self.waiting.push(pull);
        self.note_load();
        self.hand_out().await;
    }

    fn note_load(&mut self) {
        let held = self.held.iter().filter(|held| held.acknowledged.is_none()).count();
        self.most = self.most.max(held + self.waiting.len());
        self.most_held = self.most_held.max(held);
    }

    fn take_acknowledgement(&mut self, subject: &str, body: &[u8], at: Instant) {
        let Some(held) = self.held.iter_mut().rev().find(|held| held.ack == subject) else { return };
        match body {
            b"+WPI" => held.renewals.push(at),
            b"+ACK" | b"" => held.acknowledged = held.acknowledged.or(Some(at)),
            _ => {}
        }
    }

    /// Answers a pull with a status, such as ` 408 Request Timeout`.
    async fn end_pull(&self, reply: &str, status: &str) {
        if let Some(client) = &self.client {
            client.publish(reply, None, Some(status), b"").await;
        }
    }

    /// Answers every pull that waits with a status, and says how many there were.
    pub(crate) async fn end_waiting(&mut self, status: &str) -> usize {
        let waiting = std::mem::take(&mut self.waiting);
        for pull in &waiting {
            self.end_pull(&pull.reply, status).await;
        }
        waiting.len()
    }

    /// Answers the pulls whose time is over.
    async fn end_pulls(&mut self) {
        if self.rule == PullRule::Keep {
            return;
        }
        let now = Instant::now();
        let over: Vec<PullRequest> = self.waiting.iter().filter(|pull| pull.until <= now).cloned().collect();
        self.waiting.retain(|pull| pull.until > now);
        for pull in over {
            self.end_pull(&pull.reply, " 408 Request Timeout").await;
            self.expired.push(Instant::now());
        }
    }

    /// Hands out what waits, as far as there are pulls.
    pub(crate) async fn hand_out(&mut self) {
        while self.rule != PullRule::Keep && !self.waiting.is_empty() && self.client.is_some() {
            let Some((token, document)) = self.queue.pop_front() else { return };
            let pull = self.waiting.remove(0);
            self.hand_to(&pull.reply, &token, &document).await;
        }
    }

    /// Hands a delivery to one pull.
    pub(crate) async fn hand_to(&mut self, reply: &str, token: &str, document: &[u8]) {
        self.handed += 1;
        let (LinkSubjects { organism, listener }, number) = (&self.subjects, self.handed);
        let ack =
            format!("$JS.ACK.SYSTOLE_{organism}_BUS.{listener}.1.{number}.{number}.1764385028024000000.0");
        let head = format!(
            "\r\nSystole-Reply: o.{organism}.in.{listener}.0\r\nSystole-Protocol: 1\r\n{SUBJECT_HEADER}o.{organism}.dlv.{listener}\r\n{ACK_HEADER}{ack}"
        );
        if let Some(client) = &self.client {
            client.publish(reply, None, Some(&head), document).await;
        }
        let held = HeldDelivery {
            token: token.to_owned(),
            ack,
            at: Instant::now(),
            renewals: Vec::new(),
            acknowledged: None,
        };
        self.held.push(held);
        self.note_load();
    }

    /// The longest wait for a worker that has just been started.
    pub(crate) fn patience(&self) -> Duration {
        limits::START
    }
}
