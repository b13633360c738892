//! Followers beside a log in memory, with receivers that are away for as long as a test wants: the time is skipped.
#![cfg(test)]

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use systole_core::pump::engine::PumpInput;
use systole_core::pump::event::PumpNotice;
use systole_core::rules::follower_payload::{FollowerChange, FollowerNews, read_news, write_news};
use systole_core::types::body_parts::{BodyHole, BodyParts, PartSeal};
use systole_core::types::codes::Code;
use systole_core::types::ids::{CallPath, Digest, MessageId, Name, ThreadId};
use systole_core::types::ports::{Commit, LogBatch, LogReader, LogWriter as _, Position};
use systole_core::types::record::{
    ApprovalEffect, Header, MessageRole, Record, RecordCode, RecordKind, SteerEffect, head_zero,
};
use systole_core::types::time::Millis;
use systole_follow::{
    CursorPlace, EventCarrier, EventContent, EventOutcome, EventSet, EventSettings, FollowedEvent,
    FollowedKind, FollowedLog, FollowerCarrier, FollowerPlan, FollowerSettings, FollowerTasks, HookForm,
    MetricReader, SentForm, SourceReader, WebhookAddress, start_followers,
};
use systole_log::memory::MemoryLog;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

/// Writes records into a log in memory, as the pump does.
struct Author {
    log: MemoryLog,
    ends: HashMap<ThreadId, (u64, Digest)>,
    tail: watch::Sender<Position>,
}

impl Author {
    fn new() -> Author {
        Author { log: MemoryLog::new(), ends: HashMap::new(), tail: watch::channel(Position(0)).0 }
    }

    fn add(&mut self, thread: &ThreadId, body: &[u8], change: impl FnOnce(&mut Header)) -> Record {
        self.add_with(thread, body, [7; 16].into(), change)
    }

    fn add_with(
        &mut self,
        thread: &ThreadId,
        body: &[u8],
        parts: BodyParts,
        change: impl FnOnce(&mut Header),
    ) -> Record {
        let (seq, head) = self.ends.get(thread).copied().unwrap_or_else(|| (0, head_zero(thread)));
        let id = MessageId([u8::try_from(seq % 250).unwrap(); 16]);
        let mut header = Header::new_notice(thread.clone(), seq + 1, id, Millis(seq), Digest([1; 32]));
        change(&mut header);
        let record = header.seal_record(Arc::from(body), parts, head);
        self.ends.insert(thread.clone(), (seq + 1, record.head));
        let batch = LogBatch { records: vec![Arc::new(record.clone())], ..LogBatch::default() };
        let Commit::Committed(position) = self.log.commit_batch(&batch) else { panic!("it is not stored") };
        self.tail.send_replace(position);
        record
    }
}

/// A receiver that takes events from a moment on, and refuses those with a word.
struct Receiver {
    opens: Instant,
    refuses: &'static str,
    tries: Mutex<Vec<(Instant, String, bool)>>,
}

impl Receiver {
    fn new(away: Duration, refuses: &'static str) -> Arc<Receiver> {
        Arc::new(Receiver { opens: Instant::now() + away, refuses, tries: Mutex::default() })
    }

    /// The bodies that it took.
    fn took(&self) -> Vec<String> {
        let tries = self.tries.lock().unwrap();
        tries.iter().filter(|(_, _, is_taken)| *is_taken).map(|(_, body, _)| body.clone()).collect()
    }
}

impl EventCarrier for Receiver {
    fn send_event<'a>(
        &'a self,
        event: &'a FollowedEvent,
    ) -> Pin<Box<dyn Future<Output = EventOutcome> + Send + 'a>> {
        Box::pin(async move {
            let body = String::from_utf8(event.body.clone()).unwrap();
            let is_refused = !self.refuses.is_empty() && body.contains(self.refuses);
            let is_taken = Instant::now() >= self.opens && !is_refused;
            self.tries.lock().unwrap().push((Instant::now(), body, is_taken));
            match (is_taken, is_refused) {
                (true, _) => EventOutcome::Taken,
                (false, true) => EventOutcome::Refused("400: no".to_owned()),
                (false, false) => {
                    EventOutcome::Failed { words: "nothing listens there".to_owned(), after_ms: None }
                }
            }
        })
    }
}

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn settings(on: EventSet, content: EventContent) -> FollowerSettings {
    let to = WebhookAddress::parse("http://127.0.0.1:1/in").unwrap();
    let sends = SentForm::Events(EventSettings { form: HookForm::Standard, secret_env: None, on, content });
    FollowerSettings { name: name("siem"), to, sends }
}

/// The logs of these tests have no configuration.
fn read_no_source() -> SourceReader {
    Arc::new(|_| Err("there is none".to_owned()))
}

/// A follower beside a log, whose news are recorded.
struct Stage {
    author: Arc<Mutex<Author>>,
    following: FollowerTasks,
    _folder: tempfile::TempDir,
}

impl Stage {
    fn start(author: Author, settings: FollowerSettings, receiver: &Arc<Receiver>) -> Stage {
        let folder = tempfile::tempdir().unwrap();
        let cursors = CursorPlace::Beside(folder.path().join("hello.db").into());
        let (pump, mut inputs) = mpsc::channel(16);
        let reader: Arc<dyn LogReader> = Arc::new(author.log.clone());
        let tail = author.tail.subscribe();
        let read_metrics: MetricReader = Arc::new(|| panic!("no one asks for metrics"));
        let (read_source, pump_of_log) = (read_no_source(), mpsc::Sender::downgrade(&pump));
        let log = FollowedLog {
            organism: name("hello"),
            cursors,
            reader,
            tail,
            read_source,
            read_metrics,
            pump: pump_of_log,
        };
        let author = Arc::new(Mutex::new(author));
        let writer = author.clone();
        #[expect(clippy::disallowed_methods, reason = "the pump of a test")]
        tokio::spawn(async move {
            let _held = pump;
            while let Some(input) = inputs.recv().await {
                let PumpInput::Noticed(PumpNotice::Follower(news)) = input else { panic!("{input:?}") };
                writer.lock().unwrap().add(&ThreadId::new_sys(), &write_news(&news), |_| {});
            }
        });
        let plan = FollowerPlan { settings, carrier: FollowerCarrier::Events(receiver.clone()) };
        let following = start_followers(vec![plan], &log);
        Stage { author, following, _folder: folder }
    }

    fn news(&self) -> Vec<FollowerNews> {
        let log = self.author.lock().unwrap().log.clone();
        let log: &dyn LogReader = &log;
        log.records_after(Position(0)).filter_map(|placed| read_news(&placed.unwrap().1.body)).collect()
    }

    fn add(&self, thread: &ThreadId, body: &str) {
        self.author.lock().unwrap().add(thread, body.as_bytes(), |_| {});
    }

    /// Lets time pass until something holds. The clock goes on by itself when nothing has work, on no thread.
    async fn until(&self, holds: impl Fn(&Stage) -> bool) {
        for _ in 0..1_000_000 {
            if holds(self) {
                return;
            }
            let _passed = tokio::time::timeout(Duration::from_secs(1), std::future::pending::<()>()).await;
        }
        panic!("it never holds: {:?}", self.news());
    }

    async fn stop(self) {
        drop(self.following.stop);
        for task in self.following.tasks {
            task.wait_for_end().await;
        }
    }
}

fn change_of(news: &FollowerNews) -> &str {
    match news.change {
        FollowerChange::Began => "began",
        FollowerChange::Skipped(_) => "skipped",
        FollowerChange::Behind(_) => "behind",
        FollowerChange::CaughtUp => "caught up",
        FollowerChange::Stopped(_) => "stopped",
    }
}

fn root() -> ThreadId {
    ThreadId::parse("sess-0123456789ab").unwrap()
}

#[tokio::test(start_paused = true)]
async fn h15_a_receiver_that_is_away_for_a_day_leaves_one_record_behind_and_one_caught_up() {
    let mut author = Author::new();
    author.add(&root(), b"<before/>", |_| {});
    let day = Duration::from_secs(24 * 3600);
    let receiver = Receiver::new(day, "");
    let stage = Stage::start(author, settings(EventSet::Everything, EventContent::Whole), &receiver);
    stage.until(|stage| stage.news().len() == 1).await;
    (0..100).for_each(|n| stage.add(&root(), &format!("<event n='{n}'/>")));
    stage.until(|stage| stage.news().len() == 3).await;
    let changes: Vec<FollowerNews> = stage.news();
    assert_eq!(changes.iter().map(change_of).collect::<Vec<_>>(), ["began", "behind", "caught up"]);
    assert_eq!(changes[0].position, Position(1), "a new follower begins at the end of the log");
    let took = receiver.took();
    assert_eq!(took.len(), 100);
    assert!(took.iter().enumerate().all(|(n, body)| body.contains(&format!("<event n='{n}'/>"))));
    let tries = receiver.tries.lock().unwrap().clone();
    let waits: Vec<Duration> = tries.windows(2).map(|two| two[1].0 - two[0].0).collect();
    assert!(waits.iter().all(|wait| *wait <= Duration::from_secs(301)), "{waits:?}");
    assert!(tries.len() < 100 + 24 * 12 + 16, "{}", tries.len());
    stage.stop().await;
}

#[tokio::test(start_paused = true)]
async fn h15_an_event_that_is_refused_five_times_is_skipped_on_record() {
    let receiver = Receiver::new(Duration::ZERO, "poison");
    let stage = Stage::start(Author::new(), settings(EventSet::Everything, EventContent::Whole), &receiver);
    stage.until(|stage| stage.news().len() == 1).await;
    for body in ["<one/>", "<poison/>", "<two/>"] {
        stage.add(&root(), body);
    }
    stage.until(|_| receiver.took().len() == 2).await;
    let tries = receiver.tries.lock().unwrap().clone();
    assert_eq!(tries.iter().filter(|(_, body, _)| body.contains("poison")).count(), 5);
    let took = receiver.took();
    assert!(took[0].contains("<one/>") && took[1].contains("<two/>"), "{took:?}");
    let news = stage.news();
    let skipped = FollowerNews {
        follower: name("siem"),
        position: Position(3),
        change: FollowerChange::Skipped("400: no".to_owned()),
    };
    assert_eq!(news.len(), 2, "{news:?}");
    assert_eq!(news[1], skipped, "its record is no event itself");
    stage.stop().await;
}

/// What a follower of everything sends about each record.
async fn sent_about(author: Author, content: EventContent) -> Vec<serde_json::Value> {
    let count = author.log.read_last().unwrap().0;
    let receiver = Receiver::new(Duration::ZERO, "");
    let stage = Stage::start(Author::new(), settings(EventSet::Everything, content), &receiver);
    stage.until(|stage| stage.news().len() == 1).await;
    let log: &dyn LogReader = &author.log;
    for placed in log.records_after(Position(0)) {
        let record = placed.unwrap().1;
        let header = record.header.clone();
        let parts = record.parts.clone();
        stage.author.lock().unwrap().add_with(&header.thread, &record.body, parts, |new| {
            let (seq, thread) = (new.seq, new.thread.clone());
            *new = header.clone();
            (new.seq, new.thread) = (seq, thread);
        });
    }
    let wanted = usize::try_from(count).unwrap();
    stage.until(|_| receiver.took().len() == wanted).await;
    let took = receiver.took().iter().map(|body| serde_json::from_str(body).unwrap()).collect();
    stage.stop().await;
    took
}

#[tokio::test(start_paused = true)]
async fn h15_a_sensitive_value_never_leaves_nor_does_what_repeats_one_without_a_mark() {
    let mut author = Author::new();
    let body = b"<pay><to>ann</to><card>4111</card></pay>";
    let hole = BodyHole { at: 23, length: 4 };
    assert_eq!(&body[hole.to_range()], b"4111");
    let seal = PartSeal::Kept([9; 16]);
    author.add_with(&root(), body, BodyParts { rest: seal, values: vec![(hole, seal)] }, |_| {});
    author.add(&root(), b"<started>4111</started>", |header| header.kind = RecordKind::Journal);
    author.add(&root(), b"<system-error>4111</system-error>", |header| header.kind = RecordKind::Refusal);
    author.add(&ThreadId::new_sys(), b"<system-error>who</system-error>", |header| {
        header.kind = RecordKind::Refusal;
    });
    let whole = sent_about(author, EventContent::Whole).await;
    let bodies: Vec<&serde_json::Value> = whole.iter().map(|event| &event["data"]["body"]).collect();
    assert_eq!(bodies[0], "<pay><to>ann</to><card>[sensitive]</card></pay>");
    assert!(bodies[1].is_null() && bodies[2].is_null(), "{bodies:?}");
    assert_eq!(bodies[3], "<system-error>who</system-error>");
    let mut author = Author::new();
    author.add(&root(), body, |_| {});
    let none = sent_about(author, EventContent::None).await;
    assert!(!none[0].to_string().contains("ann"), "{none:?}");
}

#[test]
fn h15_a_retry_is_an_event() {
    let mut author = Author::new();
    let code = |effect| Some(RecordCode::Steering(effect));
    let mut judge = |effect| {
        let record = author.add(&root(), b"<a/>", |header| {
            (header.kind, header.code) = (RecordKind::Steer, code(effect));
            header.call = Some(CallPath::new_top(1));
        });
        FollowedKind::of_record(&record, &author.log).unwrap()
    };
    assert_eq!(judge(SteerEffect::Reopened), Some(FollowedKind::Reopened));
    assert_eq!(judge(SteerEffect::Paused), Some(FollowedKind::Record));
}

#[test]
fn h15_a_record_is_the_event_that_it_means() {
    let mut author = Author::new();
    let (top, deep) = (CallPath::new_top(1), CallPath::new_top(1).append_item(1, 0));
    let child = ThreadId::parse("sess-0123456789ab.a").unwrap();
    let role = |role| Some(RecordCode::Role(role));
    let mut made = Vec::new();
    let mut add =
        |thread: &ThreadId, body: &str, kind, code, call: Option<&CallPath>, means: Option<FollowedKind>| {
            let record = author.add(thread, body.as_bytes(), |header| {
                (header.kind, header.code, header.call) = (kind, code, call.cloned());
            });
            made.push((record, means, body.to_owned()));
        };
    let (message, outcome) = (RecordKind::Message, RecordKind::Outcome);
    let failed = Some(RecordCode::Code(Code::ListenerFailed));
    let asked = Some(RecordCode::Approving(ApprovalEffect::Asked));
    let requested = Some(RecordCode::Approving(ApprovalEffect::Requested));
    let sys = ThreadId::new_sys();
    let (record, budget) = (Some(FollowedKind::Record), Some(FollowedKind::Budget));
    add(&root(), "<ask/>", message, role(MessageRole::Request), Some(&top), record);
    add(&root(), "<call/>", message, role(MessageRole::Call), Some(&top), record);
    add(&root(), "<deep/>", message, role(MessageRole::Final), Some(&deep), record);
    add(&root(), "<deep/>", outcome, failed, Some(&deep), record);
    add(&root(), "<a/>", RecordKind::Approval, requested, Some(&top), Some(FollowedKind::Person));
    add(&root(), "<a/>", RecordKind::Approval, asked, Some(&top), Some(FollowedKind::Person));
    add(&sys, "<a/>", RecordKind::Approval, asked, None, record);
    let limit = "xmlns='https://xml-pipeline.org/ns/core/v1' what='tokens' limit='10' used='8'";
    add(
        &root(),
        &format!("<budget-warning {limit}/>"),
        message,
        role(MessageRole::Inbox),
        Some(&top),
        budget,
    );
    add(
        &root(),
        &format!("<budget-exceeded {limit}/>"),
        message,
        role(MessageRole::WrapUp),
        Some(&top),
        budget,
    );
    add(&root(), "<other/>", message, role(MessageRole::Inbox), Some(&top), record);
    (0..40).for_each(|_| add(&root(), "<note/>", message, role(MessageRole::Note), Some(&top), record));
    add(&root(), "<said/>", message, role(MessageRole::Final), Some(&top), Some(FollowedKind::Answered));
    let second = CallPath::new_top(2);
    add(&root(), "<tell/>", message, role(MessageRole::Tell), Some(&second), record);
    (0..20).for_each(|_| add(&root(), "<note/>", message, role(MessageRole::Note), Some(&second), record));
    add(&root(), "<said/>", outcome, failed, Some(&second), record);
    let third = CallPath::new_top(3);
    add(&root(), "<ask/>", message, role(MessageRole::Request), Some(&third), record);
    add(&root(), "<dead/>", outcome, Some(RecordCode::DeadLetter), Some(&third), record);
    add(&root(), "<no/>", RecordKind::Refusal, failed, Some(&third), Some(FollowedKind::Refused));
    add(&root(), "<no/>", outcome, failed, Some(&third), Some(FollowedKind::Failed));
    let cancelled = Some(RecordCode::Code(Code::CancelledThread));
    add(&root(), "<no/>", outcome, cancelled, Some(&CallPath::new_top(4)), record);
    add(&child, "<ask/>", message, role(MessageRole::Begin), Some(&top), record);
    add(&child, "<no/>", outcome, failed, Some(&top), record);
    let news = FollowerNews { follower: name("a"), position: Position(1), change: FollowerChange::CaughtUp };
    let news = String::from_utf8(write_news(&news).to_vec()).unwrap();
    add(&sys, &news, message, role(MessageRole::Told), None, None);
    add(&sys, "<boot/>", message, role(MessageRole::Told), None, record);
    for (record, means, body) in made {
        assert_eq!(
            FollowedKind::of_record(&record, &author.log).unwrap(),
            means,
            "{body} {:?}",
            record.header
        );
    }
}
