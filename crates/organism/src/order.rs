//! A person's orders about running work: a decision on a waiting request, or a pause. The front passes
//! them to the pump. An amendment goes through the door, where its schema judges it first.

use super::front::OrganismHandle;
use super::validators::{PersonOrder, RawDocument};
use super::waiting::SenderReply;
use super::workflow_steps::describe_step;
use systole_core::pump::engine::PumpInput;
use systole_core::pump::event::{ClientOrder, PauseOrder, RetryOrder, ScheduleOrder};
use systole_core::types::client::Role;
use systole_core::types::codes::Code;
use systole_core::types::flow::{Admitted, Refused, Ticket};
use systole_core::types::ids::{Digest, Name, ThreadId};
use systole_core::types::person::{PersonDecision, Ruling};
use systole_core::types::ports::LogFault;
use systole_core::types::refusal::Refusal;
use systole_core::types::schedule::ScheduleChange;
use systole_queries::log_state::ReadSource;
use systole_queries::persons;
use systole_queries::retries::{self, RetryPreview};

/// A decision in which the door has judged the amendment.
type JudgedDecision = PersonDecision<Box<Result<Admitted, Refused>>>;

/// An order to try a failed root again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RetryRequest {
    /// The client.
    pub by: Name,
    /// The root.
    pub thread: ThreadId,
    /// The head of the root's chain that the client has seen.
    pub seen: Option<Digest>,
    /// The reason.
    pub note: Option<String>,
    /// Whether effects outside may happen again.
    pub allows_effects: bool,
}

impl OrganismHandle {
    /// Carries out a person's decision on a waiting request.
    pub async fn rule_request(&self, order: PersonOrder) -> Option<SenderReply> {
        let (ticket, reply) = self.room.enter_asker();
        match order.says {
            PersonDecision::Approve => self.send_ruling(ticket, order, PersonDecision::Approve).await?,
            PersonDecision::Reject => self.send_ruling(ticket, order, PersonDecision::Reject).await?,
            PersonDecision::Choose(ref choice) => {
                let says = PersonDecision::Choose(choice.clone());
                self.send_ruling(ticket, order, says).await?;
            }
            PersonDecision::Amend(ref document) => {
                let document = document.clone();
                self.send_amendment(ticket, order, document).await?;
            }
        }
        reply.await.ok()
    }

    async fn send_ruling(&self, ticket: Ticket, order: PersonOrder, says: JudgedDecision) -> Option<()> {
        let PersonOrder { by, request, hash, note, .. } = order;
        self.send_input(PumpInput::Ordered(ClientOrder::Ruled(Ruling {
            ticket,
            by,
            request,
            hash,
            note,
            says,
        })))
        .await
    }

    /// The log says which schema judges an amendment. If the request no longer waits, the pump reports
    /// it.
    async fn send_amendment(&self, ticket: Ticket, order: PersonOrder, document: Vec<u8>) -> Option<()> {
        let (reader, id) = (self.reader().clone(), order.request);
        let looked = tokio::task::spawn_blocking(move || persons::waiting(&*reader)).await.ok()?;
        let refusal = match looked {
            Ok(waiting) => match waiting.into_iter().find(|waiting| waiting.id == id) {
                Some(found) => {
                    let raw = RawDocument::Amended {
                        ticket,
                        order,
                        to: found.listener,
                        config: found.config,
                        document,
                    };
                    return self.ways.upgrade()?.door.hand_in(raw).await.then_some(());
                }
                None => Refusal::new(Code::DecidedApproval, "nothing of this id waits"),
            },
            Err(fault) => Refusal::new(Code::IngressUnavailable, fault.to_string()),
        };
        self.send_ruling(ticket, order, PersonDecision::Amend(Box::new(Err(Refused { refusal, kept: None }))))
            .await
    }

    /// Pauses, resumes or fires a schedule.
    pub async fn order_schedule(&self, by: Name, name: Name, change: ScheduleChange) -> Option<SenderReply> {
        let (ticket, reply) = self.room.enter_asker();
        let order = ScheduleOrder { ticket, by, name, change, passed: None };
        self.send_input(PumpInput::Ordered(ClientOrder::Schedule(order))).await?;
        reply.await.ok()
    }

    /// Pauses a thread or everything, or lets it continue.
    pub async fn pause_or_continue(
        &self,
        by: Name,
        thread: Option<ThreadId>,
        halts: bool,
        note: Option<String>,
    ) -> Option<SenderReply> {
        let (ticket, reply) = self.room.enter_asker();
        self.send_input(PumpInput::Ordered(ClientOrder::Pause(PauseOrder {
            ticket,
            by,
            thread,
            halts,
            note,
        })))
        .await?;
        reply.await.ok()
    }

    /// What a retry of a failed root would do, for a client that may order it.
    pub async fn preview_retry(&self, by: &Name, thread: &ThreadId) -> Result<RetryPreview, Box<Refusal>> {
        let id = thread.clone();
        self.read_for(by, thread, move |handle, _| handle.read_retry(&id)).await
    }

    /// Reads something about a thread, for a client that opened it or has the role `operate`. `look` gets whether the
    /// client opened it.
    pub(super) async fn read_for<T: Send + 'static>(
        &self,
        by: &Name,
        thread: &ThreadId,
        look: impl FnOnce(&OrganismHandle, bool) -> Result<Option<Result<T, Refusal>>, LogFault> + Send + 'static,
    ) -> Result<T, Box<Refusal>> {
        let unknown = || Box::new(Refusal::new(Code::UnknownThread, "there is no such thread"));
        let may_operate = self.composition().has_role(by, Role::Operate);
        let (handle, id, client) = (self.clone(), thread.clone(), by.clone());
        let read = move || -> Result<_, LogFault> {
            let first = handle.reader().of_thread(&id.root_of(), 1, 1)?;
            let is_own = first.first().is_some_and(|(_, record)| record.header.from == client);
            if is_own || may_operate { look(&handle, is_own) } else { Ok(None) }
        };
        match tokio::task::spawn_blocking(read).await {
            Ok(Ok(preview)) => preview.ok_or_else(unknown)?.map_err(Box::new),
            Ok(Err(fault)) => Err(Box::new(Refusal::new(Code::IngressUnavailable, fault.to_string()))),
            Err(end) => Err(Box::new(Refusal::new(Code::IngressUnavailable, end.to_string()))),
        }
    }

    fn read_retry(&self, thread: &ThreadId) -> Result<Option<Result<RetryPreview, Refusal>>, LogFault> {
        let read: ReadSource<'_> = &|source| self.read_configuration(source);
        let sent = self.list_sent_anew(thread)?;
        retries::preview_retry(&**self.reader(), (self.composition(), read), &describe_step, (thread, &sent))
    }

    /// Tries a failed root again. The pump decides about the thread as it was read here: if it has gone on since, the
    /// order is refused.
    pub async fn retry_thread(&self, request: RetryRequest) -> Option<SenderReply> {
        let RetryRequest { by, thread, seen, note, allows_effects } = request;
        let preview = match self.preview_retry(&by, &thread).await {
            // The pump does not know that.
            Err(refusal) if refusal.code == Code::RetrySuperseded => {
                return Some(SenderReply::Refused(refusal));
            }
            // Of what else cannot be tried again, the pump says why.
            preview => preview.ok(),
        };
        let seen = seen.or(preview.as_ref().map(|preview| preview.head));
        let (effects, steps) = preview.map(|preview| (preview.effects, preview.steps)).unwrap_or_default();
        let (ticket, reply) = self.room.enter_asker();
        let order = RetryOrder { ticket, by, thread, seen, note, effects, allows_effects, steps };
        self.send_input(PumpInput::Ordered(ClientOrder::Retry(order))).await?;
        reply.await.ok()
    }
}
