//! Where the message of a response goes: to the same request before, to the thread of a conversation or of an earlier
//! response, or to a thread of its own. What a request is known by is in its key, so the log alone tells repetitions.

use std::sync::Arc;

use super::super::chat_hash::ChatHash;
use super::super::chat_placing::OwnOfRequest;
use super::super::chat_request::ChatText;
use super::request::WantedPlace;
use super::response_id::ResponseId;
use crate::limits;
use systole_core::types::composition::Composition;
use systole_core::types::ids::Name;
use systole_core::types::ports::{Clock as _, LogFault};
use systole_following::named_threads::{find_named, list_named};
use systole_organism::front::OrganismHandle;
use systole_payloads::answers::{read_question, write_answer};
use systole_queries::run_events::RunId;
use systole_queries::transcript::{Transcript, TranscriptTurn};
use systole_system::clock::WallClock;

/// A request for a response, and what it is known by.
pub(super) struct SoughtResponse {
    pub(super) front: OrganismHandle,
    pub(super) client: Name,
    pub(super) organism: Arc<Composition>,
    pub(super) hash: ChatHash,
    pub(super) own: OwnOfRequest,
    pub(super) wanted: WantedPlace,
}

/// Where a message goes.
pub(super) enum FoundPlace {
    /// It was sent before.
    Sent(RunId),
    /// To the thread with that name or id.
    Thread {
        thread: String,
        is_new: bool,
        /// What was said elsewhere. The message begins with it.
        before: Vec<ChatText>,
        /// The run before it, if that is not over.
        open: Option<RunId>,
    },
    /// There is no such response of this client.
    Unknown,
}

impl SoughtResponse {
    /// What its lock is known by: messages behind one response are sent one after the other.
    pub(super) fn hash_place(&self) -> ChatHash {
        let place = match &self.wanted {
            WantedPlace::New => return self.hash.clone(),
            WantedPlace::Conversation(name) => name.to_string(),
            WantedPlace::Behind(id) => id.run.thread.to_string(),
        };
        ChatHash::begin(&self.client, "", [place.as_str()].into_iter())
    }

    /// Finds the place of a message. It reads the log.
    pub(super) fn find_place(&self) -> Result<FoundPlace, LogFault> {
        let reader = &**self.front.reader();
        let known = match &self.wanted {
            WantedPlace::New => None,
            WantedPlace::Conversation(name) => find_named(&self.front, &self.client, name)?,
            WantedPlace::Behind(id) if id.run.find_message(reader, &self.client)?.is_none() => {
                return Ok(FoundPlace::Unknown);
            }
            WantedPlace::Behind(id) => Some(id.run.thread.clone()),
        };
        let said = known.map(|thread| Transcript::read(reader, &thread, 1)).transpose()?.unwrap_or_default();
        if self.own.may_repeat
            && let Some(run) = self.find_repeated(&said)?
        {
            return Ok(FoundPlace::Sent(run));
        }
        let open = said.turns.last().filter(|turn| turn.end.is_none());
        let open = open.map(|turn| RunId::of_message(&turn.asked));
        Ok(match &self.wanted {
            WantedPlace::New => self.place_alone(Vec::new()),
            WantedPlace::Conversation(name) => {
                let (thread, is_new) = (name.to_string(), said.turns.is_empty());
                FoundPlace::Thread { thread, is_new, before: Vec::new(), open }
            }
            WantedPlace::Behind(id) => self.place_behind(id, &said, open),
        })
    }

    fn place_alone(&self, before: Vec<ChatText>) -> FoundPlace {
        let thread = self.hash.name_alone(&self.own.mark);
        FoundPlace::Thread { thread, is_new: true, before, open: None }
    }

    /// The newest message that is the same request: the last one of its thread, one that is worked on, or one that opened
    /// a thread of its own.
    fn find_repeated(&self, said: &Transcript) -> Result<Option<RunId>, LogFault> {
        let now = WallClock.now();
        let is_same = |turn: &&TranscriptTurn| {
            let h = &turn.asked.1.header;
            let key = h.key.as_ref().map(|key| key.as_str().rsplit('/').next().unwrap_or_default());
            let is_recent = self.own.is_named || now.count_since(h.time) < limits::CHAT_RETRY_MS;
            key.is_some_and(|key| self.hash.has_key(key)) && is_recent && h.from == self.client
        };
        // The same may be said twice in a thread.
        let may_repeat = |(at, turn): &(usize, &TranscriptTurn)| {
            self.own.is_named || turn.end.is_none() || at + 1 == said.turns.len()
        };
        let turns = said.turns.iter().enumerate().rev().filter(may_repeat).map(|(_, turn)| turn);
        if let Some(turn) = { turns }.find(is_same) {
            return Ok(Some(RunId::of_message(&turn.asked)));
        }
        for (_, thread) in list_named(&self.front, &self.client, self.hash.alone_prefix())? {
            let first = Transcript::read(&**self.front.reader(), &thread, 1)?;
            if let Some(turn) = first.turns.first().filter(is_same) {
                return Ok(Some(RunId::of_message(&turn.asked)));
            }
        }
        Ok(None)
    }

    /// A response goes on with its thread if it is the newest there. Else a new thread gets what was said up to it.
    fn place_behind(&self, id: &ResponseId, said: &Transcript, open: Option<RunId>) -> FoundPlace {
        let is_newest = said.turns.last().is_some_and(|turn| RunId::of_message(&turn.asked) == id.run);
        if is_newest && !said.has_ended {
            let thread = id.run.thread.to_string();
            return FoundPlace::Thread { thread, is_new: false, before: Vec::new(), open };
        }
        let mut before = Vec::new();
        for turn in said.turns.iter().filter(|turn| turn.asked.1.header.seq <= id.run.seq) {
            let text = read_question(&self.organism, &turn.asked.1);
            before.push(ChatText::of("user", text));
            let answer =
                turn.end.as_ref().and_then(|(how, record)| write_answer(&self.organism, *how, record));
            before.extend(answer.map(|text| ChatText::of("assistant", text)));
        }
        self.place_alone(before)
    }
}
