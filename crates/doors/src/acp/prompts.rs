//! `session/prompt`: what a person typed becomes a message to the organism's entry, and its run is followed. If a run of
//! the session is still open, it is followed first; if that waits for an answer in words, the prompt is the answer.

use std::time::Duration;

use axum::http::HeaderMap;
use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::editor::AcpEditor;
use super::faults::{AcpResult, refuse_with};
use super::following::FollowedPrompt;
use super::memory::SessionPlace;
use super::params::AcpParams;
use super::places::{FollowedRun, KnownPlace, read_again};
use super::sessions::read_id;
use crate::limits;
use systole_api::types::DecisionOutcome;
use systole_core::types::codes::Code;
use systole_core::types::composition::{Composition, Listener};
use systole_core::types::ids::Key;
use systole_core::types::person::RequestKind;
use systole_core::types::ports::{Clock as _, Position};
use systole_core::types::refusal::Refusal;
use systole_doorway::rpc::RpcFault;
use systole_following::run_follower::RunFollower;
use systole_following::run_ids::read_receipt;
use systole_hall::inbound::choose_key;
use systole_hall::request_refusals::describe_unfit_request;
use systole_hall::runs::decisions::{DecidedRun, DecisionPlace, RequestDecision};
use systole_hall::runs::requests::{RunRequests, name_request};
use systole_hall::runs::said_threads::SaidThread;
use systole_hall::runs::sending::send_message;
use systole_hall::runs::work::{finish_work, read_blocking, unread};
use systole_payloads::entries::list_entries;
use systole_payloads::said_files::{SaidFile, SaidText, takes_files, write_said};
use systole_queries::asked_decisions::read_decision;
use systole_queries::persons::WaitingRequest;
use systole_queries::run_events::RunEvent;
use systole_queries::transcript::TranscriptTurn;
use systole_system::clock::WallClock;

/// The header with the key of a prompt, which is the same if it is posted again.
const KEY: &str = "idempotency-key";

/// Whether the organism's entry takes pictures.
pub(super) fn takes_pictures(organism: &Composition) -> bool {
    let entry = organism.entry.as_ref().and_then(|entry| organism.listeners.get(entry));
    entry.is_some_and(takes_files)
}

/// A fence that no line of a text ends.
fn find_fence(text: &str) -> String {
    let runs = text.split(|one: char| one != '`').map(str::len);
    "`".repeat(runs.max().unwrap_or_default().max(2) + 1)
}

/// The text of a prompt, and its files.
fn read_prompt(parts: &[Value]) -> Result<SaidText, RpcFault> {
    if parts.len() > limits::CHAT_MESSAGES {
        let words = format!("params.prompt has {} parts, more than {}", parts.len(), limits::CHAT_MESSAGES);
        return Err(RpcFault::refuse_params(words));
    }
    let (mut texts, mut files) = (Vec::new(), Vec::new());
    for (at, part) in parts.iter().enumerate() {
        let text_at = |path: &str| part.pointer(path).and_then(Value::as_str);
        let kind = text_at("/type").unwrap_or_default();
        let refuse = |why: &str| {
            let kind: String = kind.chars().take(40).collect();
            RpcFault::refuse_params(format!("params.prompt[{at}], of type {kind:?}, {why}"))
        };
        let uri = text_at("/resource/uri").or(text_at("/uri")).unwrap_or_default();
        let path = percent_decode_str(uri.strip_prefix("file://").unwrap_or(uri)).decode_utf8_lossy();
        let name = path.rsplit('/').next().map(str::to_owned);
        match kind {
            "text" => texts.push(text_at("/text").ok_or_else(|| refuse("has no text"))?.to_owned()),
            "resource_link" => texts.push(format!("\n[{path}]\n")),
            "resource" => match (text_at("/resource/text"), text_at("/resource/blob")) {
                (Some(text), _) => {
                    let fence = find_fence(text);
                    texts.push(format!("\n[{path}]\n{fence}\n{text}\n{fence}\n"));
                }
                (None, Some(blob)) => files.push(SaidFile::read(blob, name).map_err(|why| refuse(&why))?),
                (None, None) => return Err(refuse("has neither text nor blob")),
            },
            "image" => {
                let data = text_at("/data").ok_or_else(|| refuse("has no data"))?;
                files.push(SaidFile::read(data, name).map_err(|why| refuse(&why))?);
            }
            _ => return Err(refuse("is not taken: send text, resources and pictures")),
        }
    }
    let text = texts.concat();
    if text.trim().is_empty() {
        return Err(RpcFault::refuse_params("params.prompt has no text: it is what is asked"));
    }
    Ok(SaidText { text, files })
}

impl AcpEditor {
    /// `session/prompt`.
    pub(super) async fn prompt(self, params: &AcpParams, parts: &[Value], headers: &HeaderMap) -> AcpResult {
        let session = read_id(params)?.to_owned();
        let said = read_prompt(parts)?;
        let known = KnownPlace::read(headers)?;
        let sent = headers.get(KEY).and_then(|key| key.to_str().ok()).map(str::to_owned);
        let key = choose_key(sent).map_err(RpcFault::refuse_params)?;
        let found = self.find_session(params).await?;
        let (place, memory) = (self.place_of(&session), self.memory.clone());
        let open = memory.open_prompt(&place, &key).ok_or_else(|| {
            RpcFault::refuse_request(
                "a prompt of this session is still open: cancel it, or wait for its answer",
            )
        })?;
        let seat = self.take_place()?;
        let from = known.as_ref().map(|known| known.seq);
        let again = read_again(headers);
        // What has begun to be sent is kept.
        let work = async move {
            let runs = match found.find_run(&self.client, &key).map(|turn| turn.asked.1.header.seq) {
                Some(own) => SentPrompt::of_runs(list_again(&self, &found, own, from.unwrap_or_default())),
                None => match self.find_answered(&found, &said, (from, again)).await? {
                    Some(answered) => SentPrompt::of_runs(vec![answered]),
                    None => self.send_prompt((&found, &place), &said, &key).await?,
                },
            };
            Ok((self, runs))
        };
        let sent: Result<_, Box<Refusal>> = finish_work(work).await;
        let (editor, SentPrompt { runs, is_unsent }) = sent.map_err(|refusal| refuse_with(&refusal))?;
        if runs.is_empty() {
            return Err(RpcFault::refuse_params("Last-Event-ID: the session has no such update"));
        }
        let prompt = FollowedPrompt { editor, session, runs, known, is_unsent, open, place: seat };
        Ok(prompt.answer())
    }

    /// Sends a prompt. Its own run is the last of those that are followed.
    async fn send_prompt(
        &self,
        (found, place): (&SaidThread, &SessionPlace),
        said: &SaidText,
        key: &Key,
    ) -> Result<SentPrompt, Box<Refusal>> {
        let open: Vec<&TranscriptTurn> = found.list_open(&self.client).collect();
        if !self.shows_forms()
            && let Some(answered) = self.answer_question((found, place), &open, said).await?
        {
            return Ok(answered);
        }
        let organism = self.state.front.composition().clone();
        let entry = find_entry(&organism, self)?;
        let files: Vec<&SaidFile> = said.files.iter().collect();
        let message = write_said((&self.state.front, &self.client), entry, (&said.text, &files))?;
        let (document, address) = (message.document.clone(), found.address.clone());
        let receipt =
            send_message(&self.state, &self.client, (entry, document), (key, Some(address))).await?;
        let untold = self.memory.take_untold(place);
        let is_earlier =
            |turn: &&TranscriptTurn| turn.end.is_none() || untold.contains(&turn.asked.1.header.seq);
        let earlier = found.list_own(&self.client).filter(is_earlier);
        let earlier = earlier.map(|turn| FollowedRun::of_run(read_receipt(&turn.asked)));
        Ok(SentPrompt::of_runs(earlier.chain([FollowedRun::of_run(receipt)]).collect()))
    }

    /// The run that goes on with a prompt that was an answer and is posted again: the one that the editor names, or the
    /// newest, if that answer was given since then.
    async fn find_answered(
        &self,
        found: &SaidThread,
        said: &SaidText,
        (from, again): (Option<u64>, Option<Duration>),
    ) -> Result<Option<FollowedRun>, Box<Refusal>> {
        if let Some(from) = from {
            let turn = found.list_own(&self.client).find(|turn| turn.asked.1.header.seq == from);
            let run = turn.map(|turn| FollowedRun::of_run(read_receipt(&turn.asked)));
            let unknown =
                || Box::new(describe_unfit_request("Last-Event-ID: the session has no such update"));
            return run.ok_or_else(unknown).map(Some);
        }
        let newest = found.list_own(&self.client).next_back();
        let Some((again, turn)) = again.zip(newest) else { return Ok(None) };
        let (front, receipt) = (&self.state.front, read_receipt(&turn.asked));
        let Some(run) = RunFollower::follow(front, &receipt, false) else { return Ok(None) };
        let (mut run, mut request) = (run.until_here(), None);
        while let Some(event) = run.next().await.map_err(unread)? {
            if let RunEvent::Decided { id, .. } = event {
                request = Some(id);
            }
        }
        let (Some(request), reader, words) = (request, front.reader().clone(), said.text.trim().to_owned())
        else {
            return Ok(None);
        };
        let since = WallClock.now().0.saturating_sub(u64::try_from(again.as_millis()).unwrap_or(u64::MAX));
        let told = read_blocking(move || {
            let Some(decided) = read_decision(&*reader, request)? else { return Ok(None) };
            let is_it = decided.choice.or(decided.note).as_ref() == Some(&words);
            let record = reader.read_after(Position(decided.at.0.saturating_sub(1)), 1)?.pop();
            let is_new = record.is_some_and(|(_, record)| record.header.time.0 >= since);
            Ok((is_it && is_new).then_some(decided.at))
        });
        Ok(told.await?.map(|told| FollowedRun { receipt, told }))
    }

    /// Answers the question that an open run waits for in words, if one does. One that the editor was not shown is shown.
    async fn answer_question(
        &self,
        (found, place): (&SaidThread, &SessionPlace),
        open: &[&TranscriptTurn],
        said: &SaidText,
    ) -> Result<Option<SentPrompt>, Box<Refusal>> {
        for turn in open {
            let receipt = read_receipt(&turn.asked);
            let own = RunRequests::read(&self.state, &self.client, &receipt).await?.own;
            let Some(asked) = own.into_iter().find(|one| one.kind() == RequestKind::Question) else {
                continue;
            };
            if !self.memory.has_shown(place, &name_request(&asked)) {
                let runs = vec![FollowedRun::of_run(receipt)];
                return Ok(Some(SentPrompt { runs, is_unsent: true }));
            }
            if !said.files.is_empty() {
                let words = "an answer to a question is a text, without files";
                return Err(Box::new(describe_unfit_request(words)));
            }
            let words = said.text.trim().to_owned();
            let decided_at = DecisionPlace {
                messages: found.list_messages(&self.client),
                is_shown: &|waiting: &WaitingRequest| waiting.hash == asked.hash,
                fix: String::new(),
                has_seen: &|_| true,
                only_checks: false,
            };
            let decision = RequestDecision::new(DecisionOutcome::Chosen, asked.id, words);
            let DecidedRun { receipt, told } = decision.decide(&self.state, &self.client, decided_at).await?;
            self.memory.note_told(place, receipt.seq);
            return Ok(Some(SentPrompt::of_runs(vec![FollowedRun { receipt, told }])));
        }
        Ok(None)
    }
}

/// What became of a prompt.
struct SentPrompt {
    /// The runs that are followed for it.
    runs: Vec<FollowedRun>,
    /// Whether its message was not sent, because a question waits that the editor was not shown.
    is_unsent: bool,
}

impl SentPrompt {
    fn of_runs(runs: Vec<FollowedRun>) -> SentPrompt {
        SentPrompt { runs, is_unsent: false }
    }
}

/// The entry of the organism.
fn find_entry<'c>(organism: &'c Composition, editor: &AcpEditor) -> Result<&'c Listener, Box<Refusal>> {
    let open = list_entries(organism, &editor.client);
    // The organism's own comes first.
    let own = open.into_iter().find(|entry| Some(&entry.name) == organism.entry.as_ref());
    own.ok_or_else(|| {
        let words = "the organism has no entry that is open to this client";
        let fix = "`organism.entry` with an agent in the organism's file";
        let refusal = Refusal::new(Code::NotAPeer, words);
        Box::new(refusal.fixed_by(fix))
    })
}

/// The runs that were followed for a prompt that is posted again, from that one on where the editor is.
fn list_again(editor: &AcpEditor, found: &SaidThread, own: u64, from: u64) -> Vec<FollowedRun> {
    let is_followed = |turn: &&TranscriptTurn| {
        let seq = turn.asked.1.header.seq;
        let was_open = turn.end.as_ref().is_none_or(|(_, end)| end.header.seq > own);
        seq >= from && (seq == own || (seq < own && (was_open || seq == from)))
    };
    let turns = found.list_own(&editor.client).filter(is_followed);
    turns.map(|turn| FollowedRun::of_run(read_receipt(&turn.asked))).collect()
}
