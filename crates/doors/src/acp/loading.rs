//! `session/load` and `session/resume`: a session goes on in an editor that does not have it. What was said is sent as it
//! was then; what is still open comes with the next prompt.

use axum::http::HeaderMap;
use serde_json::json;
use systole_core::types::ids::CallPath;
use systole_core::types::refusal::Refusal;
use systole_queries::run_events::CallPlace;
use systole_queries::transcript::TranscriptTurn;
use systole_system::tasks::{TaskKind, start_task};
use tokio::sync::mpsc;

use super::editor::AcpEditor;
use super::faults::{AcpResult, refuse_with};
use super::following::send;
use super::params::AcpParams;
use super::places::read_count;
use super::sessions::{check_folder, read_id};
use super::updates::{RunEnd, UpdateWriter, send_alone, write_chunk, write_update};
use crate::limits;
use systole_doorway::rpc;
use systole_following::run_follower::RunFollower;
use systole_following::run_ids::{name_run, read_receipt};
use systole_following::wire_events::{WireEvent, answer_events, stream};
use systole_hall::runs::requests::RunRequests;
use systole_hall::runs::said_threads::SaidThread;
use systole_hall::runs::work::unread;
use systole_payloads::answers::read_question;

/// The kinds of texts.
const USER: &str = "user_message_chunk";
const AGENT: &str = "agent_message_chunk";

impl AcpEditor {
    /// `session/load`: sends what was said, and then the answer.
    pub(super) async fn load_session(self, params: &AcpParams, headers: &HeaderMap) -> AcpResult {
        let has = read_count(headers);
        check_folder(self.state.front.composition(), params)?;
        let (session, found) = (read_id(params)?.to_owned(), self.find_session(params).await?);
        let place = self.take_place()?;
        let (to_editor, events) = mpsc::channel(limits::TASK_MESSAGES);
        let work = async move {
            let replayed = self.replay((&session, has), &found, &to_editor).await;
            let answer = match replayed {
                Ok(false) => return,
                Ok(true) => rpc::build_result(&self.id, &json!({})),
                Err(refusal) => refuse_with(&refusal).build_message(Some(&self.id)),
            };
            let _left = send(&to_editor, send_alone(answer)).await;
            drop(place);
        };
        let _nobody_waits = start_task(TaskKind::Run, work, async |_| ());
        Ok(stream(events))
    }

    /// `session/resume`: sends nothing of what was said, but a question that the next prompt would answer.
    pub(super) async fn resume_session(self, params: &AcpParams) -> AcpResult {
        check_folder(self.state.front.composition(), params)?;
        let (session, found) = (read_id(params)?, self.find_session(params).await?);
        let mut asked = Vec::new();
        for turn in found.list_open(&self.client) {
            let waiting = self.describe_open(session, turn).await.map_err(|refusal| refuse_with(&refusal))?;
            asked.extend(waiting.map(|words| write_update(session, &write_chunk(AGENT, &words, None))));
        }
        let answer = rpc::build_result(&self.id, &json!({}));
        let messages = asked.into_iter().chain([answer]);
        Ok(answer_events(messages.map(send_alone).collect()))
    }

    /// Sends what was said, but for so many events that the editor has. Returns whether it is still there.
    async fn replay(
        &self,
        (session, has): (&str, usize),
        found: &SaidThread,
        to_editor: &mpsc::Sender<WireEvent>,
    ) -> Result<bool, Box<Refusal>> {
        let update = |kind: &str, words: &str, message: Option<&str>| {
            send_alone(write_update(session, &write_chunk(kind, words, message)))
        };
        let (turns, mut number) = (&found.said.turns, 0);
        let left_out = turns.len().saturating_sub(limits::REPLAYED_TURNS);
        for (at, turn) in turns.iter().enumerate().skip(left_out) {
            let receipt = read_receipt(&turn.asked);
            let Some((thread, call)) = receipt.read_run() else { continue };
            let place = CallPlace { thread, call: CallPath::new_top(call) };
            let asked = read_question(self.state.front.composition(), &turn.asked.1);
            let message = format!("{}.asked", name_run(&place));
            let mut events = Vec::new();
            if at == left_out && left_out > 0 {
                events.push(update(
                    AGENT,
                    &format!("({left_out} earlier messages are not shown here)"),
                    None,
                ));
            }
            events.push(update(USER, &asked, Some(&message)));
            if turn.end.is_some() {
                events.extend(self.replay_run(session, turn, place).await?);
            } else if let Some(words) = self.describe_open(session, turn).await? {
                events.push(update(AGENT, &words, None));
            } else {
                events.push(update(
                    AGENT,
                    "(this is not answered yet: the next prompt goes on with it)",
                    None,
                ));
            }
            for event in events.into_iter().filter(|event| event.data.is_some()) {
                number += 1;
                let event = WireEvent { id: Some(number.to_string()), ..event };
                if number > has && !send(to_editor, event).await {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// The updates of a run that is over.
    async fn replay_run(
        &self,
        session: &str,
        turn: &TranscriptTurn,
        place: CallPlace,
    ) -> Result<Vec<WireEvent>, Box<Refusal>> {
        let (front, receipt) = (&self.state.front, read_receipt(&turn.asked));
        let mut writer = UpdateWriter::new(front.composition().clone(), (session, receipt.seq), place, None);
        let Some(run) = RunFollower::follow(front, &receipt, false) else { return Ok(Vec::new()) };
        let mut run = run.until_here();
        while let Some(placed) = run.next_placed().await.map_err(unread)? {
            writer.take_event(self, placed);
        }
        let mut events: Vec<WireEvent> = writer.take_ready();
        if let Some(RunEnd::Failed(failure)) = &writer.end {
            let words = format!("({}: {})", failure.code, failure.words);
            events.push(send_alone(write_update(session, &write_chunk(AGENT, &words, None))));
        }
        Ok(events)
    }

    /// What an open run waits for, as a text, if the next prompt is the answer. The next prompt goes on with the run.
    async fn describe_open(
        &self,
        session: &str,
        turn: &TranscriptTurn,
    ) -> Result<Option<String>, Box<Refusal>> {
        let own = RunRequests::read(&self.state, &self.client, &read_receipt(&turn.asked)).await?.own;
        self.memory.note_untold(&self.place_of(session), turn.asked.1.header.seq);
        Ok(self.show_question(session, &own))
    }
}
