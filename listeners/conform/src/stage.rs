//! One conversation with one worker: a check's view of a carrier. It sends deliveries, hears documents and answers
//! questions by its rules, the same way over pipes and over NATS.
//!
//! It judges nothing by itself; its `expect_…` functions turn what came into the failure that a check reports.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::process::ExitStatus;
use std::rc::Rc;
use std::time::Duration;

use systole_carriers::JudgedProgram;
use systole_kit::ask::{MessageSpot, ViewedMessage};
use systole_kit::framing::{line_form, with_length};
use systole_kit::pump_documents::{PumpAnswer, ReplyReceipt, write_cancel};
use systole_kit::reply::{ListenerDocument, ReplyContent};
use systole_kit::{DocumentLimits, Payload};
use tokio::time::Instant;

use crate::documents::{Delivery, SENDER, Task};
use crate::limits;
use crate::nats::BrokerLink;
use crate::pipe::{PipeLink, ReadPace, wait_for_end};
use crate::rules::{PumpRules, ReceiptRule};
use crate::subject::ConformSubject;
use crate::verdict::{CheckFault, CheckVerdict, show_bytes};

/// How deliveries reach a worker.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum CheckCarrier {
    /// Over stdin, one document on a line.
    Lines,
    /// Over stdin, each document behind its length.
    Length,
    /// Over NATS.
    Nats,
    /// A process for each delivery.
    Once,
}

impl CheckCarrier {
    /// Its name in a list of checks.
    pub(crate) fn name(self) -> &'static str {
        match self {
            CheckCarrier::Lines => "lines",
            CheckCarrier::Length => "length",
            CheckCarrier::Nats => "nats",
            CheckCarrier::Once => "once",
        }
    }
}

/// What checks are made with.
#[derive(Clone)]
pub(crate) struct Bench {
    /// The worker.
    pub subject: Rc<ConformSubject>,
    /// How it is reached.
    pub carrier: CheckCarrier,
    /// The nats-server, if it is reached over NATS.
    pub server: Option<PathBuf>,
}

/// A document that the worker sent.
#[derive(Clone, Debug)]
pub(crate) struct HeardDocument {
    /// When it came.
    pub at: Instant,
    /// As it came.
    pub bytes: Vec<u8>,
    /// As the pump reads it; `None` if the pump keeps it like stderr.
    pub document: Option<ListenerDocument>,
    /// Where a receipt or an answer goes, over NATS.
    pub answer_to: Option<String>,
    /// Whether it came on the subject for progress.
    pub is_live: bool,
}

impl HeardDocument {
    /// The reply, if it is one to that delivery.
    pub(crate) fn reply_to(&self, token: &str) -> Option<&ReplyContent> {
        match &self.document {
            Some(ListenerDocument::Reply { delivery, said }) if delivery == token => Some(said),
            _ => None,
        }
    }
}

/// The carrier of one conversation.
pub(crate) enum StageLink {
    /// Over pipes.
    Pipe(Box<PipeLink>),
    /// Over NATS.
    Broker(Box<BrokerLink>),
}

/// One conversation.
pub(crate) struct Stage {
    /// What it is made with.
    pub bench: Bench,
    /// How questions are answered.
    pub rules: PumpRules,
    /// Everything that was heard.
    pub heard: Vec<HeardDocument>,
    /// What was sent last, for reports.
    pub sent: String,
    link: StageLink,
    unread: VecDeque<HeardDocument>,
    calls: BTreeMap<String, String>,
    numbers: u64,
}

impl Bench {
    /// Starts the worker, and has it answer two deliveries.
    pub(crate) async fn open(&self) -> Result<Stage, CheckFault> {
        self.open_with(ReadPace::default()).await
    }

    /// The same, with a pace for its output.
    pub(crate) async fn open_with(&self, pace: ReadPace) -> Result<Stage, CheckFault> {
        let mut stage = self.start_worker(pace).await?;
        stage.expect_alive().await?;
        Ok(stage)
    }

    /// Starts the worker.
    pub(crate) async fn start_worker(&self, pace: ReadPace) -> Result<Stage, CheckFault> {
        let stopped = |why: String| CheckFault::build_failure("the start of the program", "it runs", why);
        let subject = &self.subject;
        if self.carrier == CheckCarrier::Nats {
            let mut stage = self.prepare_broker().await?;
            let link = stage.broker()?;
            link.start_broker().await.map_err(CheckFault::build_unscored)?;
            link.start_worker(subject).await.map_err(stopped)?;
            return Ok(stage);
        }
        let by_length = self.carrier == CheckCarrier::Length;
        let mut program = subject.program.clone();
        program.by_length = by_length;
        let names = (&subject.composition.organism, &subject.listener);
        let (program, pipes) =
            JudgedProgram::start(&program, names, &subject.around).await.map_err(stopped)?;
        Ok(self.make_stage(StageLink::Pipe(Box::new(PipeLink::new(program, pipes, by_length, pace)))))
    }

    /// A broker and a worker that do not run yet.
    pub(crate) async fn prepare_broker(&self) -> Result<Stage, CheckFault> {
        let server = self.server.clone().unwrap_or_default();
        let link = BrokerLink::prepare(&self.subject, &server).await.map_err(CheckFault::build_unscored)?;
        Ok(self.make_stage(StageLink::Broker(Box::new(link))))
    }

    fn make_stage(&self, link: StageLink) -> Stage {
        Stage {
            bench: self.clone(),
            rules: PumpRules::default(),
            heard: Vec::new(),
            sent: String::new(),
            link,
            unread: VecDeque::new(),
            calls: BTreeMap::new(),
            numbers: 0,
        }
    }
}

/// A number that no other delivery of this process has, as 32 hex digits.
fn choose_token() -> String {
    static COUNT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    crate::rules::hash_hex(format!("{}/{count}", std::process::id()).as_bytes()).chars().take(32).collect()
}

impl Stage {
    /// A new name of a delivery.
    pub(crate) fn choose_name(&self) -> String {
        choose_token()
    }

    /// A request in a call of its own.
    pub(crate) fn request(&mut self, payload: Payload) -> Delivery {
        self.numbers += 1;
        let token = choose_token();
        let call = self.numbers.to_string();
        let thread = format!("sess-{}", token.get(..12).unwrap_or_default());
        let key = choose_token();
        let message = ViewedMessage {
            seq: 1,
            from: SENDER.to_owned(),
            to: None,
            spot: MessageSpot::Request,
            payload: payload.clone(),
        };
        self.rules.views.insert(call.clone(), vec![message]);
        Delivery { token, call, key, turn: 1, attempt: 1, journal: None, thread, payload }
    }

    /// Adds a message to the view of a call.
    pub(crate) fn add_message(&mut self, call: &str, from: &str, spot: MessageSpot, payload: Payload) {
        let view = self.rules.views.entry(call.to_owned()).or_default();
        let seq = view.len() as u64 + 1;
        view.push(ViewedMessage { seq, from: from.to_owned(), to: None, spot, payload });
    }

    /// A request with a task.
    pub(crate) fn make_task(&mut self, task: Task<'_>) -> Delivery {
        self.request(task.to_payload())
    }

    /// A request that every worker takes: for tasks an echo of a text of its own, else the smallest example.
    pub(crate) fn make_plain(&mut self) -> Delivery {
        if self.bench.subject.takes_tasks() && self.bench.subject.request.is_none() {
            let text = choose_token();
            return self.make_task(Task::new("echo", &text));
        }
        let example = self.bench.subject.example();
        self.request(example)
    }

    /// Sends a delivery.
    pub(crate) async fn send(&mut self, delivery: &Delivery) -> CheckVerdict {
        let document = delivery.to_document(self.bench.subject.listener.as_str());
        self.send_document(delivery, document).await
    }

    /// Sends a delivery as a document of the check's making.
    pub(crate) async fn send_document(&mut self, delivery: &Delivery, document: Vec<u8>) -> CheckVerdict {
        self.calls.insert(delivery.token.clone(), delivery.call.clone());
        match &mut self.link {
            StageLink::Pipe(_) => self.write_document(&document).await,
            StageLink::Broker(link) => {
                self.sent = show_bytes(&document);
                link.put_delivery(&delivery.token, document).await;
                Ok(())
            }
        }
    }

    /// Notes a delivery that a check writes by itself.
    pub(crate) fn note_delivery(&mut self, delivery: &Delivery) {
        self.calls.insert(delivery.token.clone(), delivery.call.clone());
    }

    /// A document as it is written to a program.
    pub(crate) fn frame_document(&self, document: &[u8]) -> Vec<u8> {
        if self.bench.carrier == CheckCarrier::Length {
            return with_length(document);
        }
        // What the pump writes has a form on one line.
        let mut line = line_form(document).map_or_else(|_| document.to_vec(), std::borrow::Cow::into_owned);
        line.push(b'\n');
        line
    }

    /// Writes a document to a program, with its frame.
    pub(crate) async fn write_document(&mut self, document: &[u8]) -> CheckVerdict {
        let framed = self.frame_document(document);
        self.write_bytes(&framed).await
    }

    /// Writes bytes to a program.
    pub(crate) async fn write_bytes(&mut self, bytes: &[u8]) -> CheckVerdict {
        self.sent = show_bytes(bytes);
        let written = self.pipe()?.write(bytes).await;
        written.map_err(|why| self.fail("it reads its stdin", why))
    }

    /// The program behind pipes.
    pub(crate) fn pipe(&mut self) -> Result<&mut PipeLink, CheckFault> {
        match &mut self.link {
            StageLink::Pipe(link) => Ok(link),
            StageLink::Broker(_) => Err(CheckFault::build_unscored("it is no check over NATS")),
        }
    }

    /// The worker behind a broker.
    pub(crate) fn broker(&mut self) -> Result<&mut BrokerLink, CheckFault> {
        match &mut self.link {
            StageLink::Broker(link) => Ok(link),
            StageLink::Pipe(_) => Err(CheckFault::build_unscored("it is a check over NATS")),
        }
    }

    /// Whether the worker is reached over NATS.
    pub(crate) fn is_over_nats(&self) -> bool {
        self.bench.carrier == CheckCarrier::Nats
    }

    /// Sends another document of the pump: a cancel, or what no worker knows.
    pub(crate) async fn send_aside(&mut self, document: &[u8]) -> CheckVerdict {
        match &mut self.link {
            StageLink::Pipe(_) => self.write_document(document).await,
            StageLink::Broker(link) => {
                self.sent = show_bytes(document);
                link.publish_cancel(document).await;
                Ok(())
            }
        }
    }

    /// Calls a delivery back.
    pub(crate) async fn cancel(&mut self, token: &str) -> CheckVerdict {
        self.send_aside(&write_cancel(token)).await
    }

    /// Answers a question or an entry.
    pub(crate) async fn answer(&mut self, heard: &HeardDocument, answer: &PumpAnswer) -> CheckVerdict {
        self.answer_with(heard, &answer.to_document()).await
    }

    /// The same with a document.
    pub(crate) async fn answer_with(&mut self, heard: &HeardDocument, document: &[u8]) -> CheckVerdict {
        match &mut self.link {
            StageLink::Pipe(_) => self.write_document(document).await,
            StageLink::Broker(link) => {
                if let Some(place) = &heard.answer_to {
                    link.publish(place, None, document).await;
                }
                Ok(())
            }
        }
    }

    /// The next document, whatever it is; `None` at that time or at the end of the program.
    pub(crate) async fn next_document(&mut self, until: Instant) -> Option<HeardDocument> {
        if let Some(heard) = self.unread.pop_front() {
            return Some(heard);
        }
        let (at, bytes, answer_to, is_live) = match &mut self.link {
            StageLink::Pipe(link) => {
                // A blank line between documents says nothing.
                let (at, bytes) = loop {
                    let (at, bytes) = link.next_frame(until).await?;
                    if !bytes.trim_ascii().is_empty() {
                        break (at, bytes);
                    }
                };
                (at, bytes, None, false)
            }
            StageLink::Broker(link) => {
                let word = link.next_word(until).await?;
                (word.at, word.bytes, word.answer_to, word.is_live)
            }
        };
        let document = ListenerDocument::parse(&bytes, &DocumentLimits::default()).ok();
        let heard = HeardDocument { at, bytes, document, answer_to, is_live };
        self.heard.push(heard.clone());
        self.answer_by_rules(&heard).await;
        Some(heard)
    }

    /// Puts a document back, as the next one.
    pub(crate) fn put_back(&mut self, heard: HeardDocument) {
        self.unread.push_back(heard);
    }

    async fn answer_by_rules(&mut self, heard: &HeardDocument) {
        let Some(document) = &heard.document else { return };
        let call = self.calls.get(document.delivery()).cloned().unwrap_or_default();
        let holds = self.rules.holds_answers;
        let answer = if holds { None } else { self.rules.answer(document, &call) };
        if let Some(answer) = answer {
            // A worker that takes no answer fails at what it does next.
            let _untaken = self.answer(heard, &answer).await;
            return;
        }
        let is_reply = matches!(document, ListenerDocument::Reply { .. });
        if !is_reply && !matches!(document, ListenerDocument::Notice { .. }) {
            return;
        }
        let gives = match &mut self.rules.receipts {
            ReceiptRule::Give => true,
            ReceiptRule::Hold => !is_reply,
            ReceiptRule::Drop(left) if is_reply && *left > 0 => {
                *left -= 1;
                false
            }
            ReceiptRule::Drop(_) => true,
        };
        if gives {
            self.give_receipt(heard, &ReplyReceipt::default()).await;
        }
    }

    /// Sends the receipt for a document, over NATS.
    pub(crate) async fn give_receipt(&mut self, heard: &HeardDocument, receipt: &ReplyReceipt) {
        let Some(document) = &heard.document else { return };
        let receipt = ReplyReceipt { delivery: document.delivery().to_owned(), ..receipt.clone() };
        if let (StageLink::Broker(link), Some(place)) = (&mut self.link, &heard.answer_to) {
            link.publish(place, None, &receipt.to_document()).await;
        }
    }

    /// Waits, and hears what comes.
    pub(crate) async fn wait(&mut self, within: Duration) {
        let until = Instant::now() + within;
        let mut kept = Vec::new();
        while let Some(heard) = self.next_document(until).await {
            kept.push(heard);
        }
        // At the end of a program nothing more comes, and the time is not over.
        self.unread.extend(kept);
        tokio::time::sleep_until(until).await;
    }

    /// A failure of this worker.
    pub(crate) fn fail(&self, expected: impl Into<String>, came: impl Into<String>) -> CheckFault {
        CheckFault::build_failure(&self.sent, expected, came)
    }

    /// What came, where nothing did: the end of the program, its last words, the last thing it said.
    pub(crate) async fn describe_nothing(&mut self, within: Duration) -> String {
        let mut words = format!("nothing within {} s", within.as_secs_f32());
        let ended = match &mut self.link {
            StageLink::Pipe(link) if link.has_ended() => {
                wait_for_end(link.program(), Duration::from_secs(1)).await
            }
            StageLink::Broker(link) => match link.program() {
                Some(program) => wait_for_end(program, Duration::from_millis(1)).await,
                None => None,
            },
            StageLink::Pipe(_) => None,
        };
        if let Some(status) = ended {
            words = format!("the program ended with {status}");
        }
        let last = match &self.link {
            StageLink::Pipe(link) => link.last_words(),
            StageLink::Broker(link) => link.last_words(),
        };
        if !last.is_empty() {
            words.extend(["; its last words on stderr: ", &crate::verdict::shorten_text(&last)]);
        }
        if let Some(stray) = self.heard.iter().rev().find(|heard| heard.document.is_none()) {
            words.extend(["; it also wrote: ", &show_bytes(&stray.bytes)]);
        }
        words
    }

    /// The process of the worker.
    pub(crate) fn program(&mut self) -> Result<&mut JudgedProgram, CheckFault> {
        match &mut self.link {
            StageLink::Pipe(link) => Ok(link.program()),
            StageLink::Broker(link) => {
                link.program().ok_or_else(|| CheckFault::build_unscored("the worker was not started"))
            }
        }
    }

    /// Waits for the end of the program, and hears what it says until then.
    pub(crate) async fn wait_for_end(&mut self, within: Duration) -> Option<ExitStatus> {
        let until = Instant::now() + within;
        loop {
            let step = (Instant::now() + Duration::from_millis(20)).min(until);
            let mut kept = Vec::new();
            while let Some(heard) = self.next_document(step).await {
                kept.push(heard);
            }
            self.unread.extend(kept);
            let program = self.program().ok()?;
            if let Some(status) = wait_for_end(program, Duration::from_millis(5)).await {
                // What it said last may still be in its pipe.
                let last = Instant::now() + limits::LEFT;
                let mut kept = Vec::new();
                while let Some(heard) = self.next_document(last).await {
                    kept.push(heard);
                }
                self.unread.extend(kept);
                return Some(status);
            }
            if Instant::now() >= until {
                return None;
            }
        }
    }

    /// How long a first answer may take.
    pub(crate) fn patience(&self) -> Duration {
        match &self.link {
            StageLink::Pipe(_) => limits::START,
            StageLink::Broker(link) => link.patience(),
        }
    }
}
