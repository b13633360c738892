//! A task: the run of a message, found by the record of that message. Only the client that sent it finds it.

use std::sync::Arc;

use systole_kit::file_reference::may_have_files;
use systole_payloads::answered_files::read_answered;
use systole_queries::persons::WaitingRequest;
use systole_queries::run_events::{PlacedEvent, RunEvent, RunId};
use systole_queries::transcript::Transcript;

use super::faults::{A2aFault, A2aResult, FaultKind};
use super::writer::{TaskWaits, TaskWriter};
use systole_api::types::ApiReceipt;
use systole_core::types::ids::Name;
use systole_core::types::ports::PlacedRecord;
use systole_core::types::record::Header;
use systole_core::types::thread_choice::ThreadName;
use systole_following::run_follower::RunFollower;
use systole_following::run_ids::read_receipt;
use systole_hall::http_state::HttpState;
use systole_hall::runs::requests::{RunRequests, find_approvals_page};
use systole_hall::runs::sending::stop_run;
use systole_hall::runs::work::{read_blocking, unread};

/// How the name of a thread begins that a client has named as a context.
pub(super) const NAMED: &str = "a2a.";

/// The context that a thread is, by the message that opened it: the name that the client gave it, or its id.
pub(super) fn name_conversation(opened: &Header) -> String {
    let name = opened.key.as_ref().and_then(ThreadName::from_key);
    let given = name.as_ref().and_then(|name| name.as_str().strip_prefix(NAMED));
    given.map_or_else(|| opened.thread.to_string(), str::to_owned)
}

/// A task of a client.
pub(super) struct OpenTask {
    pub(super) state: Arc<HttpState>,
    pub(super) client: Name,
    asked: PlacedRecord,
    /// Its context.
    pub(super) context: String,
    pub(super) receipt: ApiReceipt,
}

impl OpenTask {
    /// The task of a message that is on record, in that context.
    pub(super) fn of_message(
        (state, client): (&Arc<HttpState>, &Name),
        asked: PlacedRecord,
        context: String,
    ) -> OpenTask {
        OpenTask {
            receipt: read_receipt(&asked),
            state: state.clone(),
            client: client.clone(),
            asked,
            context,
        }
    }

    /// The task with that id. One of another client is one that never was.
    pub(super) async fn find(state: &Arc<HttpState>, client: &Name, id: &str) -> A2aResult<OpenTask> {
        let run = RunId::parse(id).ok_or_else(A2aFault::refuse_task)?;
        let (reader, owner) = (state.front.reader().clone(), client.clone());
        let found = read_blocking(move || {
            let Some(asked) = run.find_message(&*reader, &owner)? else { return Ok(None) };
            let opened = reader.of_thread(&run.thread, 1, 1)?.pop();
            Ok(Some((asked, opened)))
        });
        let (asked, opened) = found.await?.ok_or_else(A2aFault::refuse_task)?;
        let context =
            name_conversation(opened.as_ref().map_or(&asked.1.header, |(_, opened)| &opened.header));
        Ok(OpenTask::of_message((state, client), asked, context))
    }

    /// A writer to which nothing of it was told.
    pub(super) fn begin_writer(&self) -> TaskWriter {
        let id = RunId::of_message(&self.asked).to_string();
        let asked = Arc::new(self.asked.1.clone());
        TaskWriter::new(self.state.front.composition().clone(), (id, self.context.clone()), asked)
    }

    /// Follows its run, with what the log has of it now taken already.
    pub(super) async fn follow(&self, wants_words: bool) -> A2aResult<(RunFollower, TaskWriter)> {
        let front = &self.state.front;
        let known = (front.end(), None);
        let followed = RunFollower::follow_after(front, &self.receipt, wants_words, known);
        let mut run =
            followed.ok_or_else(|| A2aFault::new(FaultKind::Internal, "its message began no run"))?;
        run.read_known().await.map_err(unread)?;
        let mut writer = self.begin_writer();
        while let Some(placed) = run.take_known() {
            self.take_event(&mut writer, placed).await?;
        }
        if run.is_quiet() {
            self.show_waits(&mut writer).await?;
        }
        // What waits for its client says so, also before its turn.
        if !writer.has_begun && !writer.waits() && self.is_queued().await? {
            writer.set_queued();
        }
        Ok((run, writer))
    }

    /// Takes the next event of its run, and the files of its answer.
    pub(super) async fn take_event(&self, writer: &mut TaskWriter, placed: PlacedEvent) -> A2aResult<()> {
        match &placed.event {
            RunEvent::Quiet => return self.show_waits(writer).await,
            RunEvent::Ended { record, .. } if may_have_files(&record.1.body) => {
                let (reader, answer) = (self.state.front.reader().clone(), record.clone());
                writer.set_files(&read_blocking(move || read_answered(&*reader, &answer.1.body)).await?);
            }
            _ => {}
        }
        writer.take_event(placed);
        Ok(())
    }

    /// The task as the log has it now.
    pub(super) async fn read_now(&self) -> A2aResult<TaskWriter> {
        self.read(None).await
    }

    /// The same without the files of its answer, when all that waits for persons was read.
    pub(super) async fn read_listed(&self, waiting: &Arc<[WaitingRequest]>) -> A2aResult<TaskWriter> {
        self.read(Some(waiting)).await
    }

    async fn read(&self, listed: Option<&Arc<[WaitingRequest]>>) -> A2aResult<TaskWriter> {
        let run = RunFollower::follow(&self.state.front, &self.receipt, false);
        let run = run.ok_or_else(|| A2aFault::new(FaultKind::Internal, "its message began no run"))?;
        let (mut run, mut writer) = (run.until_here(), self.begin_writer());
        while let Some(placed) = run.next_placed().await.map_err(unread)? {
            match placed.event {
                RunEvent::Quiet => {}
                _ if listed.is_none() => self.take_event(&mut writer, placed).await?,
                _ => writer.take_event(placed),
            }
        }
        if run.is_quiet() {
            let requests = match listed {
                Some(waiting) => {
                    RunRequests::read_among(&self.state, &self.client, &self.receipt, waiting).await?
                }
                None => self.read_requests().await?,
            };
            self.write_waits(&mut writer, &requests);
        }
        // What waits for its client says so, also before its turn.
        if !writer.has_begun && !writer.waits() && self.is_queued().await? {
            writer.set_queued();
        }
        Ok(writer)
    }

    /// Whether another message of its thread is worked on first.
    async fn is_queued(&self) -> A2aResult<bool> {
        let (reader, h) = (self.state.front.reader().clone(), &self.asked.1.header);
        let (thread, seq) = (h.thread.clone(), h.seq);
        let said = read_blocking(move || Transcript::read(&*reader, &thread, 1)).await?;
        let mut before = said.turns.iter().take_while(|turn| turn.asked.1.header.seq < seq);
        Ok(before.any(|turn| turn.end.is_none()))
    }

    async fn read_requests(&self) -> A2aResult<RunRequests> {
        Ok(RunRequests::read(&self.state, &self.client, &self.receipt).await?)
    }

    /// Says what it waits for.
    pub(super) async fn show_waits(&self, writer: &mut TaskWriter) -> A2aResult<()> {
        let requests = self.read_requests().await?;
        self.write_waits(writer, &requests);
        Ok(())
    }

    fn write_waits(&self, writer: &mut TaskWriter, requests: &RunRequests) {
        let ids: Vec<String> = requests.ids.iter().map(ToString::to_string).collect();
        if !ids.is_empty() {
            let page = find_approvals_page(&self.state.addresses);
            writer.set_waits(&TaskWaits { own: &requests.own, ids: &ids, page: &page });
        }
    }

    /// Stops it.
    pub(super) async fn cancel(&self) -> A2aResult<TaskWriter> {
        let now = self.read_now().await?;
        if now.has_ended() {
            let words = format!("the task is over: {}", now.state());
            return Err(A2aFault::new(FaultKind::Cancel, words));
        }
        stop_run(&self.state, &self.client, &self.receipt).await?;
        self.read_now().await
    }
}
