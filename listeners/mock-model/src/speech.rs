//! The body of an answer as the server takes it: step by step, with the pauses of the script. It says in the
//! ledger how the answer ended, also where it is dropped in the middle because the client went away.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::Bytes;
use futures_core::Stream;
use tokio::time::Sleep;

use crate::ledger::{End, Ticket};
use crate::pace::{Step, Steps};
use crate::wire::Scissors;

/// An answer that is being given.
pub(crate) struct Speech {
    steps: Steps,
    ticket: Ticket,
    scissors: Scissors,
    pause: Option<Pin<Box<Sleep>>>,
    /// Whether bytes were handed over that may not have gone out yet.
    wrote: bool,
}

impl Speech {
    pub(crate) fn new(steps: Steps, ticket: Ticket, scissors: Scissors) -> Speech {
        Speech { steps, ticket, scissors, pause: None, wrote: false }
    }
}

impl Stream for Speech {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if std::mem::take(&mut this.wrote) {
            // The server sends what it has when there is nothing more at hand: each piece goes out alone.
            task.waker().wake_by_ref();
            return Poll::Pending;
        }
        loop {
            if let Some(pause) = &mut this.pause {
                ready!(pause.as_mut().poll(task));
                this.pause = None;
            }
            match this.steps.next() {
                Some(Step::Wait(pause)) => this.pause = Some(Box::pin(tokio::time::sleep(pause))),
                Some(Step::Write(bytes, is_last)) => {
                    this.wrote = true;
                    if is_last {
                        this.ticket.end = End::Sent;
                    }
                    return Poll::Ready(Some(Ok(bytes)));
                }
                Some(Step::Cut) => {
                    this.ticket.end = End::Cut;
                    this.scissors.cut();
                    return Poll::Pending;
                }
                // Nobody wakes it; it is dropped with its connection.
                Some(Step::Hang) => return Poll::Pending,
                None => {
                    this.ticket.end = End::Sent;
                    return Poll::Ready(None);
                }
            }
        }
    }
}
