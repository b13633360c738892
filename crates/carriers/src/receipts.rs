//! Where a carrier waits for the result of a document that it passed on: taken and on disk, or refused. A program
//! at the other end of our pipes needs no receipt; a listener on another machine sends again until it has one.
//!
//! This file draws a ticket and waits. It never answers a ticket, and never asks the log.

use std::pin::Pin;
use std::sync::Arc;

use systole_core::types::codes::Code;
use systole_core::types::flow::{TakenReply, Ticket};

/// Why there is no receipt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoReceipt {
    /// The document was refused: the code, and the `<system-error>` that says why.
    Refused(Code, Arc<[u8]>),
    /// No one is left who could say: the document may be on disk or not.
    Unknown,
}

/// The result of a document. It may take as long as the disk does; a caller that no longer waits just drops it.
pub type ReceiptFuture = Pin<Box<dyn Future<Output = Result<TakenReply, NoReceipt>> + Send>>;

/// Draws tickets.
pub trait Receipts: Send + Sync {
    /// A ticket to go with one document, and its one answer.
    fn draw_ticket(&self) -> (Ticket, ReceiptFuture);
}

/// For a listener that is tried alone: nothing is recorded, so there are no receipts.
#[derive(Clone, Copy, Default, Debug)]
pub struct NoReceipts;

impl Receipts for NoReceipts {
    fn draw_ticket(&self) -> (Ticket, ReceiptFuture) {
        (Ticket(0), Box::pin(std::future::ready(Err(NoReceipt::Unknown))))
    }
}
