//! Rules of a log in NATS alone: its copies, its one writer, and a broker that falls silent in between.

use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use systole_core::types::ids::Digest;
use systole_core::types::ports::{
    Commit, LogBatch, LogFault, LogReader as _, LogWriter as _, Position, ReadBack, StoredDocument,
};
use systole_core::types::record::Record;
use systole_log::alarms::LogAlarms;
use systole_log::nats::{LogOwnership, NatsLogFault, OpenNatsLog, TakeOverMode};
use systole_log::sqlite;
use systole_log::writer::{BatchResult, WriterHandle};

use futures_core::Stream as _;

use crate::far::{Far, open_in};
use crate::log_records::{Author, Folder, batch, root};
use crate::proxy::{Proxy, Way};

fn committed(log: &mut OpenNatsLog, batch: &LogBatch) -> Position {
    match log.writer.commit_batch(batch) {
        Commit::Committed(position) => position,
        other => panic!("{other:?}"),
    }
}

fn not_now(log: &mut OpenNatsLog, batch: &LogBatch) -> String {
    match log.writer.commit_batch(batch) {
        Commit::NotNow(words) => words,
        other => panic!("{other:?}"),
    }
}

fn all(log: &OpenNatsLog) -> Vec<(Position, Record)> {
    log.reader.read_after(Position(0), usize::MAX).unwrap()
}

fn document(bytes: &[u8]) -> StoredDocument {
    StoredDocument { hash: Digest::hash_bytes(bytes), bytes: Arc::from(bytes) }
}

/// The stored bytes of the stream.
fn stream_bytes(far: &Far) -> u64 {
    far.runtime.block_on(async {
        let jetstream = async_nats::jetstream::new(far.server.client().await);
        jetstream.get_stream("SYSTOLE_shop_LOG").await.unwrap().cached_info().state.bytes
    })
}

#[test]
fn d1_a_copy_that_is_made_again_is_equal() {
    let (far, first, second) = (Far::start(), Folder::new(), Folder::new());
    let (mut author, mut written) = (Author::default(), Vec::new());
    let mut log = far.open(&first.log()).unwrap();
    let mut write = |log: &mut OpenNatsLog, records: Vec<Record>, documents: Vec<StoredDocument>| {
        written.extend(records.clone());
        committed(log, &LogBatch { documents, ..batch(records) });
    };
    write(&mut log, vec![author.full(&root(1)), author.note(&root(2), 10)], vec![document(b"a page")]);
    // A body outside its record, the same again, and one that is larger than a message may be.
    let large = author.note(&root(1), 200_000);
    write(&mut log, vec![large.clone()], Vec::new());
    let before = stream_bytes(&far);
    write(&mut log, vec![author.record(&root(3), &large.body, |_| {})], Vec::new());
    assert!(stream_bytes(&far) - before < 4096, "the same bytes were sent again");
    write(&mut log, (0..30).map(|n| author.note(&root(4), 50_000 + n)).collect(), vec![document(b"a page")]);
    assert!(stream_bytes(&far) - before < 100_000, "a body that is too large for a message is stored apart");
    drop(log);

    let again = far.open(&second.log()).unwrap();
    let read = all(&again);
    assert_eq!(read.iter().map(|(at, _)| at.0).collect::<Vec<_>>(), (1..=34).collect::<Vec<_>>());
    assert_eq!(read.into_iter().map(|(_, record)| record).collect::<Vec<_>>(), written);
    assert_eq!(&*again.reader.read_document(Digest::hash_bytes(b"a page")).unwrap().unwrap(), b"a page");
    assert!(again.reader.read_document(Digest::hash_bytes(&large.body)).unwrap().is_some());
    drop(again);
    // Both are complete, by the proof that every log has.
    for copy in [first.log(), second.log()] {
        assert_eq!(sqlite::verify_all(&copy).unwrap().records, 34);
    }
}

#[test]
fn d1_sensitive_values_are_objects_and_one_that_was_removed_is_erased_for_every_copy() {
    let (far, first) = (Far::start(), Folder::new());
    let mut author = Author::default();
    let whole = author.in_parts(&root(1), [false; 3]);
    let erased = author.in_parts(&root(2), [true, false, false]);
    let mut log = far.open(&first.log()).unwrap();
    committed(&mut log, &batch([whole.clone(), erased.clone(), author.note(&root(3), 10)]));
    drop(log);
    let copied = |folder: &Folder| {
        let log = far.open(&folder.log()).unwrap();
        let records: Vec<Record> = all(&log).into_iter().map(|(_, record)| record).take(2).collect();
        drop(log);
        assert_eq!(sqlite::verify_all(&folder.log()).unwrap().records, 3);
        records
    };
    assert_eq!(copied(&Folder::new()), [whole.clone(), erased.clone()], "a second copy is equal");

    let name = whole.parts.commit_parts(&whole.body)[2];
    far.runtime.block_on(async {
        let jetstream = async_nats::jetstream::new(far.server.client().await);
        let objects = jetstream.get_object_store("SYSTOLE_shop_BLOBS").await.unwrap();
        objects.delete(name.to_string()).await.unwrap();
    });
    let third = copied(&Folder::new());
    assert_eq!(&*third[0].body, b"<pay iban=\"DE02\"><name>[erased]*****</name></pay>");
    assert_eq!((third[0].leaf, third[0].head), (whole.leaf, whole.head));
    // The two records have the same values with the same salts, so they share the object.
    assert_eq!(third[1].head, erased.head);
    assert_eq!(third[1].parts.list_erased().collect::<Vec<_>>(), [0, 2]);
    assert_eq!(copied(&first)[0], whole, "a copy that has the value keeps it until it is made again");
}

#[test]
fn a_long_log_is_folded_while_it_is_copied_and_not_when_it_is_opened() {
    let (far, first, second) = (Far::start(), Folder::new(), Folder::new());
    let mut author = Author::default();
    let mut log = far.open(&first.log()).unwrap();
    for n in 0..50 {
        committed(&mut log, &batch((0..100).map(|_| author.note(&root(n % 7), 10))));
    }
    drop(log);
    let again = far.open(&second.log()).unwrap();
    let left = again.reader.read_opening().unwrap().records.len();
    assert!(left < 1_000, "{left} of 5000 records would be folded at every start");
    let row = again.reader.read_row(&root(3)).unwrap().expect("a row was made");
    assert_eq!(row.seq, 600);
}

#[test]
fn d8_of_two_pumps_one_writes_and_the_other_learns_of_it() {
    let (far, folder, other) = (Far::start(), Folder::new(), Folder::new());
    let mut author = Author::default();
    drop(far.open(&folder.log()).unwrap());
    // As on a machine that was copied as a whole: both believe that the log is theirs.
    std::fs::copy(folder.log(), other.log()).unwrap();
    let mut first = far.open(&folder.log()).unwrap();
    committed(&mut first, &batch([author.note(&root(1), 10)]));
    let mut second = far.open(&other.log()).unwrap();
    assert_eq!(all(&second).len(), 1, "what the first one wrote is there");

    let lost = batch([Author::default().note(&root(9), 10)]);
    let Commit::Conflict(words) = first.writer.commit_batch(&lost) else { panic!("two write") };
    // The stream says so, or the other's sign of life said so before.
    assert!(words.starts_with("the log SYSTOLE_shop_LOG was taken over by "), "{words}");
    assert_eq!(first.lead.find_loss(), Some(words.clone()));
    assert_eq!(first.writer.commit_batch(&lost), Commit::Conflict(words), "it tries no more");
    assert_eq!(all(&first).len(), 1, "nothing of it is in its copy");

    committed(&mut second, &batch([author.note(&root(1), 20)]));
    assert!(second.lead.find_loss().is_none());
    drop((first, second));
    let third = Folder::new();
    let seen = all(&far.open(&third.log()).unwrap());
    assert_eq!(seen.iter().map(|(_, record)| record.header.seq).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn d8_a_pump_that_finds_a_writer_names_it_or_waits() {
    let (far, folder, other) = (Far::start(), Folder::new(), Folder::new());
    let mut author = Author::default();
    let mut first = far.open(&folder.log()).unwrap();
    match far.open(&other.log()).map(drop) {
        Err(NatsLogFault::Led { stream, by, .. }) => {
            assert_eq!((&*stream, by.process), ("SYSTOLE_shop_LOG", std::process::id()));
        }
        other => panic!("{other:?}"),
    }
    let (tell, told) = std::sync::mpsc::sync_channel(64);
    let manner = TakeOverMode::StandBy(Box::new(move |sign| {
        // After the first sign no test listens any more.
        let _heard = tell.send(sign.process);
    }));
    let (runtime, url) = (far.runtime.handle().clone(), far.server.url());
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| open_in(&runtime, &url, &other.log(), manner).unwrap());
        assert_eq!(told.recv(), Ok(std::process::id()));
        committed(&mut first, &batch([author.note(&root(1), 10)]));
        drop(first);
        // It released the log, so the other does not wait for its silence.
        let mut second = waits.join().unwrap();
        assert_eq!(all(&second).len(), 1);
        committed(&mut second, &batch([author.note(&root(1), 10)]));
    });
}

#[test]
fn d8_of_two_that_stand_by_one_takes_over_and_the_other_goes_on_waiting() {
    let (far, folder, copies) = (Far::start(), Folder::new(), [Folder::new(), Folder::new()]);
    let mut author = Author::default();
    let mut first = far.open(&folder.log()).unwrap();
    committed(&mut first, &batch([author.note(&root(1), 10)]));
    // The slower one sees that the log is free when the quicker one is about to take it.
    let ways = [60, 100].map(|ms| (Proxy::to(&far.server.url()), Duration::from_millis(ms)));
    let (opened, taken) = std::sync::mpsc::sync_channel(2);
    std::thread::scope(|scope| {
        for (copy, (proxy, _)) in copies.iter().zip(&ways) {
            let (runtime, opened) = (far.runtime.handle(), opened.clone());
            let (tell, told) = std::sync::mpsc::sync_channel(64);
            let manner = TakeOverMode::StandBy(Box::new(move |_| {
                // After the first sign no test listens any more.
                let _heard = tell.send(());
            }));
            scope.spawn(move || {
                let log = open_in(runtime, &proxy.url(), &copy.log(), manner).unwrap();
                assert!(opened.send(log).is_ok());
            });
            assert_eq!(told.recv(), Ok(()));
        }
        ways.iter().for_each(|(proxy, delay)| proxy.goes(Way::Slow(*delay)));
        drop(first);
        let mut second = taken.recv().unwrap();
        // A pump that would take it then has done so by the third sign of life.
        has_it_for(&far, &second.lead, 3, None);
        committed(&mut second, &batch([author.note(&root(1), 10)]));
        drop(second);
        assert_eq!(all(&taken.recv().unwrap()).len(), 2);
    });
}

/// Waits for this many signs of life, one of which may be sent here. Until then no one may take the log from its
/// holder.
fn has_it_for(far: &Far, lead: &LogOwnership, signs: usize, said: Option<&'static [u8]>) {
    far.runtime.block_on(async {
        let client = far.server.client().await;
        let mut heard = client.subscribe("o.shop.life.0").await.unwrap();
        if let Some(said) = said {
            client.publish("o.shop.life.0", said.into()).await.unwrap();
        }
        for _ in 0..signs {
            tokio::select! {
                words = lead.is_lost() => panic!("{words}"),
                sign = std::future::poll_fn(|cx| std::pin::Pin::new(&mut heard).poll_next(cx)) => drop(sign.unwrap()),
            }
        }
    });
}

/// The thread that writes a log, and its outcomes.
fn writing(log: OpenNatsLog) -> (WriterHandle, Receiver<BatchResult>) {
    let (say, said) = std::sync::mpsc::sync_channel(64);
    let alarms = LogAlarms::of_name("the log", true);
    let writer = WriterHandle::start_thread(Box::new(log.writer), alarms, move |outcome| {
        // The receiver may be gone already.
        let _heard = say.send(outcome);
    });
    (writer.unwrap(), said)
}

#[test]
fn d7_a_broker_that_is_killed_between_two_commits_has_each_once() {
    let (mut far, folder, other) = (Far::start(), Folder::new(), Folder::new());
    let mut author = Author::default();
    let mut log = far.open(&folder.log()).unwrap();
    committed(&mut log, &batch([author.note(&root(1), 10)]));
    let reader = log.reader.clone();
    let (writer, said) = writing(log);
    far.server.kill();
    writer.submit_batch(batch([author.note(&root(1), 20), author.note(&root(2), 30)])).unwrap();
    let Ok(BatchResult::Stalled { words }) = said.recv() else { panic!("it was written without a broker") };
    assert!(words.contains("127.0.0.1"), "{words}");
    assert_eq!(reader.read_last(), Ok(Position(1)), "no reader sees what is not stored");
    far.server.start_again();
    assert_eq!(said.recv(), Ok(BatchResult::Committed(Position(3))));
    writer.submit_batch(batch([author.note(&root(2), 40)])).unwrap();
    assert_eq!(said.recv(), Ok(BatchResult::Committed(Position(4))));
    writer.stop_thread();
    let again = far.open(&other.log()).unwrap();
    assert_eq!(all(&again).len(), 4);
}

#[test]
fn d7_a_commit_that_a_paused_broker_took_after_all_is_one() {
    let (far, folder, other) = (Far::start(), Folder::new(), Folder::new());
    let mut author = Author::default();
    let mut log = far.open(&folder.log()).unwrap();
    committed(&mut log, &batch([author.note(&root(1), 10)]));
    far.server.pause();
    let doubtful = batch([author.note(&root(1), 20)]);
    not_now(&mut log, &doubtful);
    // Its messages wait in the socket: it reads them now.
    far.server.go_on();
    assert_eq!(committed(&mut log, &doubtful), Position(2));
    assert_eq!(committed(&mut log, &batch([author.note(&root(1), 30)])), Position(3));
    drop(log);
    let again = far.open(&other.log()).unwrap();
    assert_eq!(all(&again).iter().map(|(_, r)| r.header.seq).collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn a_stored_batch_that_its_copy_lost_is_read_from_the_stream() {
    let (far, folder) = (Far::start(), Folder::new());
    let mut author = Author::default();
    let mut log = far.open(&folder.log()).unwrap();
    let stored = batch([author.note(&root(1), 10)]);
    committed(&mut log, &stored);
    assert_eq!(log.writer.read_back(&stored), ReadBack::Stored(Position(1)));
    let absent = batch([author.note(&root(1), 20)]);
    assert_eq!(log.writer.read_back(&absent), ReadBack::Absent);
    assert_eq!(committed(&mut log, &absent), Position(2));
}

#[test]
fn a_copy_is_no_log_and_a_log_no_copy() {
    let (far, folder, own) = (Far::start(), Folder::new(), Folder::new());
    drop(far.open(&folder.log()).unwrap());
    let Err(LogFault::Foreign { why, .. }) = sqlite::open_log(&folder.log()).map(drop) else {
        panic!("a copy was opened as a log")
    };
    assert_eq!(why, "it is the copy of a log that is kept in NATS, where log.nats says it is");
    drop(sqlite::open_log(&own.log()).unwrap());
    let Err(NatsLogFault::Log(LogFault::Foreign { why, .. })) = far.open(&own.log()).map(drop) else {
        panic!("a log was overwritten by a copy")
    };
    assert_eq!(why, "it is a log itself; the copy of a log in NATS needs another path");
}

#[test]
fn a_copy_of_what_the_stream_does_not_hold_any_more_is_refused_and_kept() {
    let (far, folder) = (Far::start(), Folder::new());
    let mut author = Author::default();
    let mut log = far.open(&folder.log()).unwrap();
    committed(&mut log, &batch([author.note(&root(1), 10)]));
    drop(log);
    let other = Far::start();
    let Err(NatsLogFault::Log(LogFault::Apart { path, why })) = other.open(&folder.log()).map(drop) else {
        panic!("a copy of another stream was taken")
    };
    assert_eq!(path, "SYSTOLE_shop_LOG");
    assert!(why.starts_with("it does not hold the bundle that the copy"), "{why}");
    assert_eq!(all(&far.open(&folder.log()).unwrap()).len(), 1);
}

#[test]
fn a_stream_from_which_messages_may_be_deleted_is_refused() {
    let (far, folder) = (Far::start(), Folder::new());
    far.runtime.block_on(async {
        let jetstream = async_nats::jetstream::new(far.server.client().await);
        let metadata = [("systole.organism", "shop"), ("systole.format", "1")];
        let config = async_nats::jetstream::stream::Config {
            name: "SYSTOLE_shop_LOG".to_owned(),
            subjects: vec!["o.shop.log.*".to_owned()],
            discard: async_nats::jetstream::stream::DiscardPolicy::New,
            metadata: metadata.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
            ..Default::default()
        };
        jetstream.create_stream(config).await.unwrap();
    });
    let Err(NatsLogFault::Broker(unusable)) = far.open(&folder.log()).map(drop) else {
        panic!("it was taken")
    };
    assert!(unusable.to_string().ends_with("is not as it was made: messages can be deleted from it"));
    assert!(
        unusable.fix().ends_with("better give it back the settings it was made with"),
        "{}",
        unusable.fix()
    );
}

#[test]
fn foreign_messages_in_the_stream_are_reported_with_their_position() {
    let (far, folder) = (Far::start(), Folder::new());
    let mut author = Author::default();
    let mut log = far.open(&folder.log()).unwrap();
    committed(&mut log, &batch([author.note(&root(1), 10)]));
    far.runtime.block_on(async {
        let jetstream = async_nats::jetstream::new(far.server.client().await);
        jetstream.publish("o.shop.log.0", "17:systole bundle v9\n".into()).await.unwrap().await.unwrap();
    });
    let Commit::Conflict(words) = log.writer.commit_batch(&batch([author.note(&root(1), 20)])) else {
        panic!("it was written after a bundle of an unknown version")
    };
    assert!(words.starts_with("the log SYSTOLE_shop_LOG was taken over by another program"), "{words}");
    drop(log);
    let Err(NatsLogFault::Log(LogFault::Damaged { position, why, .. })) = far.open(&folder.log()).map(drop)
    else {
        panic!("it was taken for a bundle")
    };
    assert_eq!((position, &*why), (Position(2), "the bundle at 3: it is not a bundle of this version"));
}

#[test]
fn a_broker_that_comes_back_with_less_is_told_from_a_take_over() {
    let (mut far, folder) = (Far::start(), Folder::new());
    let mut author = Author::default();
    let mut log = far.open(&folder.log()).unwrap();
    committed(&mut log, &batch([author.note(&root(1), 10)]));
    far.server.kill();
    far.server.loses_everything();
    far.server.start_again();
    let (writer, said) = writing(log);
    writer.submit_batch(batch([author.note(&root(1), 20)])).unwrap();
    let outcomes: Vec<BatchResult> = said.iter().collect();
    let words = "the log SYSTOLE_shop_LOG has lost what was stored at 2: it holds nothing".to_owned();
    assert_eq!(outcomes.last(), Some(&BatchResult::Broken(words.into())), "{outcomes:?}");
    writer.stop_thread();
    let Err(NatsLogFault::Log(LogFault::Apart { why, .. })) = far.open(&folder.log()).map(drop) else {
        panic!("the copy was taken for one of what is left")
    };
    assert!(why.starts_with("it does not hold the bundle that the copy"), "{why}");
    assert_eq!(sqlite::verify_all(&folder.log()).unwrap().records, 1, "the copy is kept as it is");
}

/// Puts a message into the stream next to the pump, as its operator could.
fn put(far: &Far, partition: u32, bytes: Vec<u8>) {
    far.runtime.block_on(async {
        let jetstream = async_nats::jetstream::new(far.server.client().await);
        let stored = jetstream.publish(format!("o.shop.log.{partition}"), bytes.into()).await.unwrap();
        stored.await.unwrap();
    });
}

/// The last message of the stream.
fn last_bundle(far: &Far) -> Vec<u8> {
    far.runtime.block_on(async {
        let jetstream = async_nats::jetstream::new(far.server.client().await);
        let stream = jetstream.get_stream("SYSTOLE_shop_LOG").await.unwrap();
        stream.get_last_raw_message_by_subject("o.shop.log.0").await.unwrap().payload.to_vec()
    })
}

#[test]
fn d1_a_copy_is_equal_though_other_partitions_stand_between() {
    let (far, first, second) = (Far::start(), Folder::new(), Folder::new());
    let (mut author, mut written) = (Author::default(), Vec::new());
    let mut log = far.open(&first.log()).unwrap();
    for n in 0..60 {
        let record = author.note(&root(n % 3), 10);
        written.push(record.clone());
        committed(&mut log, &batch([record]));
        // Longer and longer runs of messages of another partition.
        (0..n % 5).for_each(|_| put(&far, 1, b"of another partition".to_vec()));
    }
    drop(log);
    let again = far.open(&second.log()).unwrap();
    assert_eq!(all(&again).into_iter().map(|(_, record)| record).collect::<Vec<_>>(), written);
    drop(again);
    assert_eq!(sqlite::verify_all(&second.log()).unwrap().records, 60);
}

#[test]
fn d1_an_invalid_bundle_is_reported_with_its_position_and_earlier_ones_are_kept() {
    let (far, first, second) = (Far::start(), Folder::new(), Folder::new());
    let mut author = Author::default();
    let mut log = far.open(&first.log()).unwrap();
    for n in 0..5 {
        committed(&mut log, &batch([author.note(&root(1), 10 + n)]));
    }
    // The same record again, in a bundle that correctly follows the last one.
    let bundle = last_bundle(&far);
    let before = bundle.windows(5).position(|some| some == b"\n1:4\n").unwrap();
    let named = format!("{}\n1:5\n", Digest::hash_bytes(&bundle));
    put(&far, 0, [&bundle[..before - 64], named.as_bytes(), &bundle[before + 5..]].concat());
    let Err(NatsLogFault::Log(LogFault::Damaged { position, why, .. })) = far.open(&second.log()).map(drop)
    else {
        panic!("a record was taken twice")
    };
    assert_eq!(position, Position(6));
    // The first is the bundle of the take-over.
    assert!(
        why.starts_with("the bundle at 7: ") && why.ends_with("record 5 does not follow record 5"),
        "{why}"
    );
    let kept = sqlite::open_reading(&second.log()).unwrap();
    assert_eq!(kept.read_last(), Ok(Position(5)), "what comes before it is whole");
}

#[test]
fn d8_a_claim_that_is_not_in_the_log_ousts_no_writer() {
    let (far, folder) = (Far::start(), Folder::new());
    let mut author = Author::default();
    let mut log = far.open(&folder.log()).unwrap();
    let said =
        br#"{"node":"00000000000000000000000000000000","epoch":99,"process":1,"host":"\u001b[2Jnowhere"}"#;
    // Its own next two signs come after it has read this one.
    has_it_for(&far, &log.lead, 3, Some(said));
    committed(&mut log, &batch([author.note(&root(1), 10)]));
}

#[test]
fn c13_a_stream_of_format_2_is_written_on_and_an_older_pump_refuses_it_from_then_on() {
    let (far, folder) = (Far::start(), Folder::new());
    let mut author = Author::default();
    let mut log = far.open(&folder.log()).unwrap();
    committed(&mut log, &batch([author.note(&root(1), 10)]));
    drop(log);
    let set = |number: &str| {
        let number = number.to_owned();
        far.runtime.block_on(async {
            let jetstream = async_nats::jetstream::new(far.server.client().await);
            let mut stream = jetstream.get_stream("SYSTOLE_shop_LOG").await.unwrap();
            let mut config = stream.info().await.unwrap().config.clone();
            let found = config.metadata.insert("systole.format".to_owned(), number);
            jetstream.update_stream(config).await.unwrap();
            found
        })
    };
    assert_eq!(set("2").as_deref(), Some("3"));
    let mut log = far.open(&folder.log()).unwrap();
    committed(&mut log, &batch([author.note(&root(1), 20)]));
    drop(log);
    assert_eq!(set("4").as_deref(), Some("3"), "the number rose");
    assert!(far.open(&folder.log()).is_err(), "as this pump refuses the next");
}
