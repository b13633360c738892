//! How a run begins: its message is sent, or what waits in it is decided, or it goes on where the client left it.

use axum::body::Body;
use axum::http::HeaderMap;
use systole_queries::persons::WaitingRequest;
use systole_queries::run_events::{CallPlace, RunCursor};

use super::caller::RunCaller;
use super::fault::RunFault;
use super::following::OpenRun;
use super::input::{RunInput, SentResume};
use super::interrupts::{SaidAnswer, read_answer, read_request};
use super::threads::{FoundThread, find_thread};
use super::writer::RunHead;
use crate::api_types::ApiReceipt;
use crate::http_state::BodySeats;
use crate::inbound::{self, UnreadBody};
use crate::limits;
use crate::request_refusals::{describe_stopping, describe_unfit_request};
use crate::runs::decisions::{DecidedRun, DecisionPlace};
use crate::runs::entries::{find_entry, write_text};
use crate::runs::id::read_receipt;
use crate::runs::named::fit_foreign;
use crate::runs::requests::{RunRequests, has_seen, name_request};
use crate::runs::sending::send_message;
use systole_core::types::codes::Code;
use systole_core::types::composition::Listener;
use systole_core::types::ids::{CallPath, Key, Name};
use systole_core::types::limits::THREAD_NAME_BYTES;
use systole_core::types::ports::Position;
use systole_core::types::refusal::Refusal;

/// The recorded part of a run's id.
pub(super) fn name_run(id: &str) -> Result<Key, Box<Refusal>> {
    let key = fit_foreign(id, THREAD_NAME_BYTES);
    Key::parse(&key).map_err(|malformed| Box::new(describe_unfit_request(malformed.to_string())))
}

/// The id behind which a client goes on.
pub(super) fn read_cursor(headers: &HeaderMap) -> Result<Option<RunCursor>, Box<Refusal>> {
    let Some(sent) = headers.get("last-event-id") else { return Ok(None) };
    let read = RunCursor::parse(sent.to_str().unwrap_or_default());
    read.map(Some).map_err(|words| Box::new(describe_unfit_request(format!("Last-Event-ID: {words}"))))
}

async fn read_body(
    seats: &BodySeats,
    client: &Name,
    headers: &HeaderMap,
    body: Body,
) -> Result<Vec<u8>, RunFault> {
    let _seat = seats.wait_for_seat(client).await;
    inbound::read_up_to(limits::CHAT_BYTES, headers, body).await.map_err(|unread| match unread {
        UnreadBody::TooLarge(refused) => RunFault::Unread(Box::new(refused.refusal)),
        UnreadBody::Broken(words) => RunFault::Unread(Box::new(describe_unfit_request(words))),
        UnreadBody::TooSlow => RunFault::Unread(Box::new(describe_unfit_request("the body came too slowly"))),
    })
}

/// Begins the run of a request, or joins it.
pub(super) async fn begin_run(
    caller: RunCaller,
    entry: &str,
    seats: &BodySeats,
    (headers, body): (&HeaderMap, Body),
) -> Result<OpenRun, RunFault> {
    let RunCaller { state, client } = &caller;
    let cursor = read_cursor(headers)?;
    let input = RunInput::parse(&read_body(seats, client, headers, body).await?)?;
    let organism = state.front.composition().clone();
    let entry = find_entry(&organism, client, entry).map_err(|fix| RunFault::refuse_entry(entry, &fix))?;
    let place = caller.take_place()?;
    let found = find_thread(state, client, &input.thread).await?;
    let run = if input.resume.is_empty() {
        caller.send(&input, entry, &found).await?
    } else {
        caller.decide(&input, &found).await?
    };
    let DecidedRun { receipt, told } = run;
    let (thread, call) = receipt.read_run().ok_or_else(|| Box::new(describe_stopping()))?;
    let head = RunHead {
        thread: input.thread,
        run: input.run,
        place: CallPlace { thread, call: CallPath::new_top(call) },
        messages: input.messages,
        ignored: input.ignored,
        is_again: receipt.repeated && input.resume.is_empty(),
    };
    OpenRun::open(caller, head, (receipt, told), cursor, place).await
}

impl RunCaller {
    /// Sends the newest message, unless the run was begun before.
    async fn send(
        &self,
        input: &RunInput,
        entry: &Listener,
        found: &FoundThread,
    ) -> Result<DecidedRun, RunFault> {
        let key = name_run(&input.run)?;
        if let Some(turn) = found.find_run(&self.client, &key) {
            return Ok(DecidedRun { receipt: read_receipt(&turn.asked), told: Position::default() });
        }
        self.refuse_unanswered(found, &[]).await?;
        let document = write_text(self.state.front.composition(), entry, &input.read_last()?)?;
        let receipt =
            send_message(&self.state, &self.client, (entry, document), (&key, found.address.clone())).await?;
        Ok(DecidedRun { receipt, told: Position::default() })
    }

    /// What waits for the client in the open runs of a thread.
    async fn read_waiting(&self, found: &FoundThread) -> Result<Vec<(ApiReceipt, WaitingRequest)>, RunFault> {
        let mut waiting = Vec::new();
        for turn in found.list_open(&self.client) {
            let receipt = read_receipt(&turn.asked);
            let own = RunRequests::read(&self.state, &self.client, &receipt).await?.own;
            waiting.extend(own.into_iter().map(|one| (receipt.clone(), one)));
        }
        Ok(waiting)
    }

    /// Refuses a run that leaves an interrupt without an answer.
    async fn refuse_unanswered(&self, found: &FoundThread, sent: &[SentResume]) -> Result<(), RunFault> {
        let mut answered = Vec::new();
        for one in sent {
            answered.push(read_request(one)?);
        }
        for (_, waiting) in self.read_waiting(found).await? {
            if !answered.contains(&waiting.id) {
                let id = name_request(&waiting);
                let words = format!("{id} waits for you: answer it with resume, or cancel it there");
                return Err(RunFault::Run { code: "approval.open".to_owned(), words });
            }
        }
        Ok(())
    }

    /// Decides what waits. One answer that does not count leaves all undecided.
    async fn decide(&self, input: &RunInput, found: &FoundThread) -> Result<DecidedRun, RunFault> {
        let sent = input.resume.as_slice();
        if input.read_last().is_ok_and(|last| !found.has_asked(self.state.front.composition(), &last)) {
            let words =
                "resume answers what waits, and the newest message would be lost: send it in the next run";
            return Err(RunFault::Unread(Box::new(describe_unfit_request(words))));
        }
        self.refuse_unanswered(found, sent).await?;
        let messages = found.list_messages(&self.client);
        let mut decided: Option<DecidedRun> = None;
        for only_checks in [true, false] {
            let waiting = self.read_waiting(found).await?;
            for one in sent {
                let request = read_request(one)?;
                let open = waiting.iter().find(|(_, waiting)| waiting.id == request);
                let run = match read_answer(one, open.map(|(_, waiting)| waiting))? {
                    SaidAnswer::Stops => {
                        let Some((receipt, _)) = open else { continue };
                        let told = self.state.front.end();
                        if !only_checks {
                            self.stop(receipt).await?;
                        }
                        DecidedRun { receipt: receipt.clone(), told }
                    }
                    SaidAnswer::Decides(decision) | SaidAnswer::Leaves(decision) => {
                        let is_left = decision.outcome.is_none();
                        let is_shown = |waiting: &WaitingRequest| name_request(waiting) == one.interrupt_id;
                        let place = DecisionPlace {
                            messages: messages.clone(),
                            is_shown: &is_shown,
                            has_seen: &|hash| is_left || has_seen(&one.interrupt_id, hash),
                            fix: "run the thread again, and answer what it shows".to_owned(),
                            only_checks,
                        };
                        decision.decide(&self.state, &self.client, place).await.map_err(RunFault::in_run)?
                    }
                };
                // The run goes on behind the first of them.
                decided = match decided {
                    Some(known) if known.told <= run.told => Some(known),
                    _ => Some(run),
                };
            }
        }
        let nothing = || Refusal::new(Code::UnknownApproval, "resume answers nothing that waits here");
        decided.ok_or_else(|| RunFault::in_run(Box::new(nothing())))
    }
}
