//! Where a carrier waits for what became of a word that it passed on: taken and on disk, or refused. A program at
//! the other end of our pipes needs no receipt; a listener on another machine sends again until it has one.
//!
//! This room draws a ticket and waits. It never answers one, and never asks the log.

use std::pin::Pin;
use std::sync::Arc;

use systole_core::types::codes::Code;
use systole_core::types::flow::{Taken, Ticket};

/// Why there is no receipt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoReceipt {
    /// What was said was refused: the code, and the `<system-error>` that says why.
    Refused(Code, Arc<[u8]>),
    /// Nobody is there any more who could say: it may be on disk or not.
    Unknown,
}

/// What became of it. It may take as long as the disk does; who waits no more just drops it.
pub type Receipt = Pin<Box<dyn Future<Output = Result<Taken, NoReceipt>> + Send>>;

/// Draws tickets.
pub trait Receipts: Send + Sync {
    /// A ticket to go with one word, and its one answer.
    fn draw(&self) -> (Ticket, Receipt);
}

/// For a listener that is tried alone: nothing is written down, so there are no receipts.
#[derive(Clone, Copy, Default, Debug)]
pub struct Unreceipted;

impl Receipts for Unreceipted {
    fn draw(&self) -> (Ticket, Receipt) {
        (Ticket(0), Box::pin(std::future::ready(Err(NoReceipt::Unknown))))
    }
}
