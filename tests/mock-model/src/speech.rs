//! The body of an answer for the server: step by step, with the pauses of the script. It records in the
//! ledger how the answer ended, even if it is dropped because the client left.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::Bytes;
use futures_core::Stream;
use tokio::sync::watch;

use crate::ledger::{AnswerEnd, Ticket};
use crate::pace::{Step, Steps};
use crate::wire::Scissors;

/// A running answer.
pub(crate) struct Speech {
    steps: Steps,
    ticket: Ticket,
    scissors: Scissors,
    /// Whether held text is released.
    go: watch::Receiver<bool>,
    pause: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    /// Whether bytes were returned that may not have been sent yet.
    wrote: bool,
}

impl Speech {
    pub(crate) fn new(steps: Steps, ticket: Ticket, scissors: Scissors, go: watch::Receiver<bool>) -> Speech {
        Speech { steps, ticket, scissors, go, pause: None, wrote: false }
    }
}

impl Stream for Speech {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if std::mem::take(&mut this.wrote) {
            // The server sends its buffer when nothing more is ready. So each piece is sent alone.
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
                Some(Step::Hold) => {
                    let mut go = this.go.clone();
                    // A dropped mock holds nothing.
                    this.pause = Some(Box::pin(async move { drop(go.wait_for(|go| *go).await) }));
                }
                Some(Step::Write(bytes, is_last)) => {
                    this.wrote = true;
                    if is_last {
                        this.ticket.end = AnswerEnd::Sent;
                    }
                    return Poll::Ready(Some(Ok(bytes)));
                }
                Some(Step::Cut) => {
                    this.ticket.end = AnswerEnd::Cut;
                    this.scissors.cut();
                    return Poll::Pending;
                }
                // No one wakes it. It is dropped with its connection.
                Some(Step::Hang) => return Poll::Pending,
                None => {
                    this.ticket.end = AnswerEnd::Sent;
                    return Poll::Ready(None);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::task::Waker;

    use axum::http::{HeaderMap, Method, Uri};

    use super::*;
    use crate::asked::Asked;
    use crate::ledger::Ledger;
    use crate::pace::Pace;
    use crate::refusal::Refusal;
    use crate::script::MockScript;
    use crate::turn::Frame;

    #[test]
    fn between_two_pieces_the_server_is_given_the_time_to_send_the_first() {
        let ledger = Arc::new(Ledger::new(MockScript::parse("- say: a").unwrap(), None));
        let (uri, headers, body) = (Uri::from_static("/"), HeaderMap::new(), Bytes::new());
        let asked = Asked { method: Method::POST, uri, headers, body };
        let entry = ledger.enter(&asked, Err(Refusal::broken()));
        let frames = vec![Frame::body("a"), Frame::end("b")];
        let steps = Steps::new(Box::new(frames.into_iter()), Pace::default());
        let go = watch::channel(false).1;
        let mut speech = Box::pin(Speech::new(steps, entry.ticket, Scissors::default(), go));
        let mut task = Context::from_waker(Waker::noop());
        let mut polls = Vec::new();
        for _ in 0..5 {
            polls.push(match speech.as_mut().poll_next(&mut task) {
                Poll::Ready(Some(Ok(bytes))) => String::from_utf8(bytes.to_vec()).unwrap(),
                Poll::Ready(None) => "end".to_owned(),
                Poll::Pending => "wait".to_owned(),
            });
        }
        assert_eq!(polls, ["a", "wait", "b", "wait", "end"]);
        drop(speech);
        assert_eq!(ledger.seen()[0].end, AnswerEnd::Sent);
    }
}
