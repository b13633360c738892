//! The messages when the log is at fault: a record that was damaged while the organism ran, and a log that has no
//! room for a while.

use std::time::Duration;

use systole_core::types::codes::Code;
use systole_core::types::ids::{Key, Name};
use systole_core::types::refusal::Refusal;
use systole_log::memory::{CommitFailure, MemoryLog};
use systole_organism::running::{ClientMessage, Organism};
use systole_organism::waiting::SenderReply;
use systole_show::columns::wrapped;

use super::ExampleBook;
use crate::organism::{ask, echo, outcome, say, start};
use crate::stalled;

pub(super) async fn show(book: &mut ExampleBook) {
    damaged(book).await;
    full(book).await;
}

/// Sends the message, and returns the refusal.
async fn refused(organism: &Organism, key: &str, thread: Option<String>) -> Refusal {
    let (client, key) = (Name::new_operator(), Key::parse(key).unwrap());
    let message =
        ClientMessage { client, key, document: say("hello").into_bytes(), to: None, thread, subject: None };
    match organism.handle().send_message(message).await.expect("the pump answers") {
        SenderReply::Refused(refusal) => *refusal,
        other => panic!("{other:?}"),
    }
}

fn told(refusal: &Refusal) -> String {
    let mut page = wrapped(&format!("{}:", refusal.code.as_str()), 4, &refusal.message).join("\n") + "\n";
    if let Some(fix) = &refusal.fix {
        page += &(wrapped("  try     ", 11, fix).join("\n") + "\n");
    }
    page
}

/// The thread is requested again by a known key, and the record of that key is no longer valid.
async fn damaged(book: &mut ExampleBook) {
    let folder = echo();
    let organism = start(folder.path()).await;
    let receipt = ask(&organism, "k", &say("hello"), None).await.unwrap();
    outcome(&organism, &receipt).await;
    let path = systole_config::load(&folder.path().join("organism.yaml")).unwrap().log;
    let log = rusqlite::Connection::open(&path).unwrap();
    assert_eq!(log.execute("UPDATE record SET id = x'00' WHERE key = 'k'", []).unwrap(), 1);
    drop(log);
    let refusal = refused(&organism, "k", Some(receipt.thread.to_string())).await;
    assert_eq!(refusal.code, Code::DamagedThread, "{refusal:?}");
    let message = refusal.message.replace(path.to_str().unwrap(), "/srv/hello/hello.db");
    // It is not known whether a listener had joined before the first message came.
    let message = super::replaced(&message, " is damaged at position ", ":", "3");
    let words = told(&Refusal { message: message.into(), ..refusal });
    book.write(Code::DamagedThread, "a message for a thread whose record on disk was overwritten", &words);
    organism.stop(Duration::from_secs(5)).await;
}

async fn full(book: &mut ExampleBook) {
    let (folder, log) = (echo(), MemoryLog::new());
    let organism = stalled::start(folder.path(), &log).await;
    log.next_commits([CommitFailure::NotNow; 3]);
    let refusal = refused(&organism, "k", None).await;
    assert_eq!(refusal.code, Code::IngressUnavailable, "{refusal:?}");
    book.write(Code::IngressUnavailable, "a message while the log has no room", &told(&refusal));
    organism.stop(Duration::from_secs(5)).await;
}
