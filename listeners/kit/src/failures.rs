//! The replies that the kit makes in place of a function that crashed or whose reply cannot go out.
//!
//! It sends nothing. What came of the work goes in; a document that the pump can take goes out.

use std::any::Any;
use std::io;

use crate::Fault;
use crate::reply::{ListenerDocument, ReplyContent};

/// The function crashed.
const CRASHED: &str = "listener.error";
/// The reply has more bytes than the pump or the broker takes.
const TOO_LARGE: &str = "reply.too-large";
/// No document can hold the reply.
pub(crate) const UNWRITABLE: &str = "reply.unwritable";

/// A reply as a document.
pub(crate) struct WrittenReply {
    pub(crate) document: Vec<u8>,
    /// Why it is a failure in place of what the function returned.
    pub(crate) replaced: Option<String>,
}

/// The document of a reply; a failure if it has more than `most` bytes or cannot be written.
pub(crate) fn write_reply(delivery: &str, said: ReplyContent, most: usize) -> WrittenReply {
    fit_document(delivery, write_document(delivery, said), most)
}

/// The same for a reply that is written.
pub(crate) fn fit_document(delivery: &str, written: Result<Vec<u8>, Fault>, most: usize) -> WrittenReply {
    let (code, words) = match written {
        Ok(document) if document.len() <= most => return WrittenReply { document, replaced: None },
        Ok(document) => {
            let bytes = document.len();
            let words = format!(
                "the reply has {bytes} bytes, and {most} fit; store what is large with put-blob, and answer with its hash"
            );
            (TOO_LARGE, words)
        }
        Err(fault) => (UNWRITABLE, fault.to_string()),
    };
    WrittenReply { document: write_failure(delivery, code, &words), replaced: Some(words) }
}

/// The document of a failure.
pub(crate) fn write_failure(delivery: &str, code: &str, words: &str) -> Vec<u8> {
    let failure = |words: &str| write_document(delivery, ReplyContent::new_failure(code, false, words));
    // The words may quote what cannot be written.
    failure(words).or_else(|_| failure("")).unwrap_or_default()
}

fn write_document(delivery: &str, said: ReplyContent) -> Result<Vec<u8>, Fault> {
    ListenerDocument::Reply { delivery: delivery.to_owned(), said }.to_document()
}

/// The reply of a function that panicked.
pub(crate) fn fail_for_panic(panic: &(dyn Any + Send)) -> ReplyContent {
    let said = panic.downcast_ref::<&str>().map(|words| (*words).to_owned());
    let words = said.or_else(|| panic.downcast_ref::<String>().cloned());
    let words = words.as_deref().unwrap_or("it did not say why");
    ReplyContent::new_failure(CRASHED, false, format!("the listener crashed: {words}"))
}

/// The reply of a task that ended without one.
#[cfg(feature = "nats")]
pub(crate) fn fail_for_task(error: tokio::task::JoinError) -> ReplyContent {
    match error.try_into_panic() {
        Ok(panic) => fail_for_panic(&*panic),
        Err(_) => ReplyContent::new_failure(CRASHED, false, "the work was stopped"),
    }
}

pub(crate) fn as_io_error(fault: Fault) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, fault.to_string())
}
