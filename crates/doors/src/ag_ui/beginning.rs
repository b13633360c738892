//! How a run begins: its message is sent, or what waits in it is decided, or it goes on where the client left it.

use axum::body::Body;
use axum::http::HeaderMap;
use systole_queries::persons::WaitingRequest;
use systole_queries::run_events::CallPlace;

use super::caller::RunCaller;
use super::fault::RunFault;
use super::following::OpenRun;
use super::input::{RunInput, SentResume};
use super::interrupts::{SaidAnswer, read_answer, read_request};
use super::kept_messages::{KeptMessages, MessageRoom};
use super::threads::find_thread;
use super::writer::RunHead;
use crate::limits;
use systole_api::types::ApiReceipt;
use systole_core::types::codes::Code;
use systole_core::types::composition::Listener;
use systole_core::types::ids::{CallPath, Key, Name};
use systole_core::types::limits::THREAD_NAME_BYTES;
use systole_core::types::person::PersonRequestId;
use systole_core::types::ports::Position;
use systole_core::types::refusal::Refusal;
use systole_core::types::thread_choice::fit_foreign;
use systole_following::run_ids::read_receipt;
use systole_following::wire_events::ClientPlace;
use systole_hall::http_state::BodySeats;
use systole_hall::inbound::{self, UnreadBody};
use systole_hall::request_refusals::{describe_stopping, describe_unfit_request};
use systole_hall::runs::decisions::{DecidedRun, DecisionPlace};
use systole_hall::runs::requests::{RunRequests, has_seen, name_request};
use systole_hall::runs::said_threads::SaidThread;
use systole_hall::runs::sending::{send_message, stop_run};
use systole_payloads::answers::read_question;
use systole_payloads::entries::find_entry;
use systole_payloads::said_files::{SaidFile, SaidText, build_said, write_said};
use systole_queries::transcript::TranscriptTurn;

/// What the door has of its own: bounds.
pub(super) struct AgUiDoor {
    seats: BodySeats,
    pub(super) room: MessageRoom,
}

impl AgUiDoor {
    pub(super) fn new() -> AgUiDoor {
        let seats = BodySeats::new(limits::OWN_CHAT_BODIES, limits::CHAT_BODIES);
        AgUiDoor { seats, room: MessageRoom::new() }
    }
}

/// The recorded part of a run's id.
fn name_run_key(id: &str) -> Result<Key, Box<Refusal>> {
    let key = fit_foreign(id, THREAD_NAME_BYTES);
    Key::parse(&key).map_err(|malformed| Box::new(describe_unfit_request(malformed.to_string())))
}

/// The id behind which a client goes on.
pub(super) fn read_place(headers: &HeaderMap) -> Result<Option<ClientPlace>, Box<Refusal>> {
    let Some(sent) = headers.get("last-event-id") else { return Ok(None) };
    let read = ClientPlace::parse(sent.to_str().unwrap_or_default());
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
    door: &AgUiDoor,
    (headers, body): (&HeaderMap, Body),
) -> Result<OpenRun, RunFault> {
    let RunCaller { state, client } = &caller;
    let known = read_place(headers)?;
    let body = read_body(&door.seats, client, headers, body).await?;
    let input = RunInput::parse(&body)?;
    let room = door.room.take(client, body.len())?;
    drop(body);
    let organism = state.front.composition().clone();
    let entry = find_entry(&organism, client, entry).map_err(|fix| RunFault::refuse_entry(entry, &fix))?;
    let place = caller.take_place()?;
    let found = find_thread(state, client, &input.thread).await?;
    let run = if input.resume.is_empty() {
        caller.send(&input, entry, &found).await?
    } else {
        caller.decide(&input, entry, &found).await?
    };
    let DecidedRun { receipt, told } = run;
    let (thread, call) = receipt.read_run().ok_or_else(|| Box::new(describe_stopping()))?;
    let head = RunHead {
        thread: input.thread,
        run: input.run,
        place: CallPlace { thread, call: CallPath::new_top(call) },
        messages: KeptMessages::new(input.messages, room),
        ignored: input.ignored,
        is_again: receipt.repeated && input.resume.is_empty(),
    };
    OpenRun::join(caller, head, (receipt, told), known, place).await
}

impl RunCaller {
    /// Sends the newest message, unless the run was begun before.
    async fn send(
        &self,
        input: &RunInput,
        entry: &Listener,
        found: &SaidThread,
    ) -> Result<DecidedRun, RunFault> {
        let key = name_run_key(&input.run)?;
        if let Some(turn) = found.find_run(&self.client, &key) {
            if input.read_last().is_ok_and(|last| !self.has_said(turn, entry, &last)) {
                let words = format!("the run {} has asked something else", input.run);
                let refusal =
                    Refusal::new(Code::IdConflict, words).fixed_by("another runId, or the same message");
                return Err(RunFault::Refused(Box::new(refusal)));
            }
            return Ok(DecidedRun { receipt: read_receipt(&turn.asked), told: Position::default() });
        }
        refuse_unanswered(&self.read_waiting(found).await?, &[])?;
        let said = input.read_last()?;
        let files: Vec<&SaidFile> = said.files.iter().collect();
        let message = write_said((&self.state.front, &self.client), entry, (&said.text, &files))?;
        let document = message.document.clone();
        let receipt =
            send_message(&self.state, &self.client, (entry, document), (&key, Some(found.address.clone())))
                .await?;
        Ok(DecidedRun { receipt, told: Position::default() })
    }

    /// What waits for the client in the open runs of a thread.
    async fn read_waiting(&self, found: &SaidThread) -> Result<Vec<(ApiReceipt, WaitingRequest)>, RunFault> {
        let mut waiting = Vec::new();
        for turn in found.list_open(&self.client) {
            let receipt = read_receipt(&turn.asked);
            let own = RunRequests::read(&self.state, &self.client, &receipt).await?.own;
            waiting.extend(own.into_iter().map(|one| (receipt.clone(), one)));
        }
        Ok(waiting)
    }

    /// Whether a message says that.
    fn has_said(&self, turn: &TranscriptTurn, entry: &Listener, said: &SaidText) -> bool {
        let (organism, record) = (self.state.front.composition(), &turn.asked.1);
        let files: Vec<&SaidFile> = said.files.iter().collect();
        let built = || build_said(organism, entry, (&said.text, &files));
        let is_text = read_question(organism, record).trim() == said.describe().trim();
        is_text || built().is_ok_and(|built| record.body[..] == built[..])
    }

    /// Decides what waits. One answer that does not count leaves all undecided.
    async fn decide(
        &self,
        input: &RunInput,
        entry: &Listener,
        found: &SaidThread,
    ) -> Result<DecidedRun, RunFault> {
        let sent = input.resume.as_slice();
        let has_said =
            |last: SaidText| found.list_own(&self.client).any(|turn| self.has_said(turn, entry, &last));
        if input.read_last().is_ok_and(|last| !has_said(last)) {
            let words =
                "resume answers what waits, and the newest message would be lost: send it in the next run";
            return Err(RunFault::Unread(Box::new(describe_unfit_request(words))));
        }
        let waiting = self.read_waiting(found).await?;
        let mut answers: Vec<ReadAnswer<'_>> = Vec::new();
        for one in sent {
            let request = read_request(one)?;
            let open = waiting.iter().find(|(_, waiting)| waiting.id == request);
            if answers.iter().any(|(_, known, ..)| *known == request) {
                let words = format!("resume answers {request} more than once");
                return Err(RunFault::Unread(Box::new(describe_unfit_request(words))));
            }
            answers.push((one, request, open, read_answer(one, open.map(|(_, waiting)| waiting))?));
        }
        // What was decided before is joined, also if something else waits by now.
        if answers.iter().any(|(_, _, open, _)| open.is_some()) {
            let asked: Vec<PersonRequestId> = answers.iter().map(|(_, request, ..)| *request).collect();
            refuse_unanswered(&waiting, &asked)?;
        }
        // A run is stopped once all else is decided.
        answers.sort_by_key(|(.., answer)| matches!(answer, SaidAnswer::Stops));
        let messages = found.list_messages(&self.client);
        let mut decided: Option<DecidedRun> = None;
        for only_checks in [true, false] {
            for (one, _, open, answer) in &answers {
                let run = match answer {
                    SaidAnswer::Stops => {
                        let Some((receipt, _)) = open else { continue };
                        let told = self.state.front.end();
                        if !only_checks {
                            stop_run(&self.state, &self.client, receipt).await?;
                        }
                        DecidedRun { receipt: receipt.clone(), told }
                    }
                    SaidAnswer::Decides(decision) => {
                        let decision = decision.clone();
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

/// An answer with its request, what waits, and what it says.
type ReadAnswer<'a> = (&'a SentResume, PersonRequestId, Option<&'a (ApiReceipt, WaitingRequest)>, SaidAnswer);

/// Refuses a run that leaves an interrupt without an answer.
fn refuse_unanswered(
    waiting: &[(ApiReceipt, WaitingRequest)],
    answered: &[PersonRequestId],
) -> Result<(), RunFault> {
    let left = waiting.iter().find(|(_, one)| !answered.contains(&one.id));
    let Some((_, left)) = left else { return Ok(()) };
    let words = format!("{} waits for you: answer it with resume, or cancel it there", name_request(left));
    Err(RunFault::Run { code: "approval.open".to_owned(), words })
}
