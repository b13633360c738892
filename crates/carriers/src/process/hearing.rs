//! Listens to the stdout of a program that stays, and separates documents of the protocol from stray
//! text.
//!
//! It judges nothing: it reads the root element's name and the delivery that a reply names, to know
//! what is still owed. In: bytes in any chunking. Out: `Heard::Said` through the post; stray text to
//! the last words. While a report waits for room, nothing is read, so a slow pump makes the program
//! wait.

use std::sync::atomic::{AtomicBool, Ordering};

use systole_kit::elements::{ElementReader, StreamPiece, StreamRest};
use tokio::process::ChildStdout;
use tokio::sync::Notify;

use super::frames::FrameSplitter;
use super::last_words::LastWords;
use super::pipe::ProgramPipe;
use super::root::{ProgramRoot, root_of};
use crate::post::Post;
use systole_core::types::ports::ArrivedDocument;

/// Whether a life of the program has answered anything.
#[derive(Default)]
pub(super) struct AnsweredFlag {
    once: AtomicBool,
    rang: Notify,
}

impl AnsweredFlag {
    fn note_answer(&self) {
        if !self.once.swap(true, Ordering::Relaxed) {
            self.rang.notify_one();
        }
    }
    /// Whether it has answered.
    pub(super) fn so_far(&self) -> bool {
        self.once.load(Ordering::Relaxed)
    }
    /// Waits until it has answered; only one task may wait.
    pub(super) async fn wait_for_first(&self) {
        self.rang.notified().await;
    }
}

/// Hears a program until its output ends. An error says how the program broke the framing.
pub(super) async fn read_documents(
    mut pipe: ProgramPipe<ChildStdout>,
    mut frames: FrameSplitter,
    post: &Post,
    words: &LastWords,
    answered: &AnsweredFlag,
) -> Result<(), String> {
    let mut complete = Vec::new();
    loop {
        let chunk = pipe.read_chunk().await;
        let ended = chunk.is_empty();
        let fed = frames.feed_chunk(chunk, &mut complete);
        for frame in complete.drain(..) {
            report_frame(frame, post, words, answered).await;
        }
        fed?;
        if ended {
            let rest = frames.finish();
            // A last line may lack its line break. A document that breaks off is no reply: the program
            // died while writing it, and that is what is reported.
            if is_whole(&rest) {
                report_frame(rest, post, words, answered).await;
            } else {
                words.hear_line(&rest);
            }
            return Ok(());
        }
    }
}

fn is_whole(rest: &[u8]) -> bool {
    let (mut reader, mut pieces) = (ElementReader::new(usize::MAX), Vec::new());
    let fed = reader.feed_chunk(rest, &mut pieces);
    fed.is_ok()
        && matches!(reader.finish(), StreamRest::Nothing)
        && matches!(pieces.last(), Some(StreamPiece::Element(_)))
}

async fn report_frame(frame: Vec<u8>, post: &Post, words: &LastWords, answered: &AnsweredFlag) {
    match root_of(&frame) {
        ProgramRoot::Stray => {
            post.ear.note_stray(&frame);
            return words.hear_line(&frame);
        }
        ProgramRoot::Reply { delivery } => {
            if post.mailbox.settle_delivery(&delivery) {
                answered.note_answer();
            }
        }
        ProgramRoot::Other => {}
    }
    post.report_document(ArrivedDocument::Bytes(frame)).await;
}
