//! Where the message of a response goes: to the same request before, to the thread of a conversation or of an earlier
//! response, or to a thread of its own. What a request is known by is in its key, so the log alone tells repetitions.

use std::sync::Arc;

use super::super::answers::write_answer;
use super::super::chat_hash::ChatHash;
use super::super::chat_placing::OwnOfRequest;
use super::super::chat_request::ChatText;
use super::super::chat_threads::list_named;
use super::conversations::{find_thread, read_question};
use super::request::WantedPlace;
use super::response_id::ResponseId;
use crate::limits;
use crate::run_id::RunId;
use crate::transcript::Transcript;
use systole_core::types::composition::Composition;
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::ports::{Clock as _, LogFault};
use systole_organism::front::OrganismHandle;
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
    Thread { thread: String, is_new: bool, before: Vec<ChatText> },
    /// There is no such response of this client.
    Unknown,
}

impl SoughtResponse {
    /// Finds the place of a message. It reads the log.
    pub(super) fn find_place(&self) -> Result<FoundPlace, LogFault> {
        let known = match &self.wanted {
            WantedPlace::New => self.list_repeated()?,
            WantedPlace::Conversation(name) => {
                find_thread(&self.front, &self.client, name)?.into_iter().collect()
            }
            WantedPlace::Behind(id) => vec![id.run.thread.clone()],
        };
        if let WantedPlace::Behind(id) = &self.wanted
            && id.run.find_message(&**self.front.reader(), &self.client)?.is_none()
        {
            return Ok(FoundPlace::Unknown);
        }
        if self.own.may_repeat
            && let Some(run) = self.find_repeated(&known)?
        {
            return Ok(FoundPlace::Sent(run));
        }
        Ok(match &self.wanted {
            WantedPlace::New => self.place_alone(Vec::new()),
            WantedPlace::Conversation(name) => {
                FoundPlace::Thread { thread: name.to_string(), is_new: known.is_empty(), before: Vec::new() }
            }
            WantedPlace::Behind(id) => self.place_behind(id)?,
        })
    }

    fn place_alone(&self, before: Vec<ChatText>) -> FoundPlace {
        let thread = self.hash.name_alone(&self.own.mark);
        FoundPlace::Thread { thread, is_new: true, before }
    }

    /// The threads that this request may have opened before.
    fn list_repeated(&self) -> Result<Vec<ThreadId>, LogFault> {
        if !self.own.may_repeat {
            return Ok(Vec::new());
        }
        let prefix = self.hash.alone_prefix();
        Ok(list_named(&self.front, &self.client, prefix)?.into_iter().map(|(_, thread)| thread).collect())
    }

    /// The newest message of these threads that is the same request.
    fn find_repeated(&self, threads: &[ThreadId]) -> Result<Option<RunId>, LogFault> {
        let now = WallClock.now();
        let mut found = None;
        for thread in threads {
            for turn in Transcript::read(&**self.front.reader(), thread, 1)?.turns {
                let h = &turn.asked.1.header;
                let key = h.key.as_ref().map(|key| key.as_str().rsplit('/').next().unwrap_or_default());
                let is_recent = self.own.is_named || now.count_since(h.time) < limits::CHAT_RETRY_MS;
                if key.is_some_and(|key| self.hash.has_key(key)) && is_recent && h.from == self.client {
                    found = Some(RunId::of_message(&turn.asked));
                }
            }
        }
        Ok(found)
    }

    /// A response goes on with its thread if it is the newest there. Else a new thread gets what was said up to it.
    fn place_behind(&self, id: &ResponseId) -> Result<FoundPlace, LogFault> {
        let said = Transcript::read(&**self.front.reader(), &id.run.thread, 1)?;
        let is_newest = said.turns.last().is_some_and(|turn| RunId::of_message(&turn.asked) == id.run);
        if is_newest && !said.has_ended {
            let thread = id.run.thread.to_string();
            return Ok(FoundPlace::Thread { thread, is_new: false, before: Vec::new() });
        }
        let mut before = Vec::new();
        for turn in said.turns.iter().filter(|turn| turn.asked.1.header.seq <= id.run.seq) {
            let text = read_question(&self.organism, &turn.asked.1);
            before.push(ChatText { role: "user".to_owned(), text });
            let answer =
                turn.end.as_ref().and_then(|(how, record)| write_answer(&self.organism, *how, record));
            before.extend(answer.map(|text| ChatText { role: "assistant".to_owned(), text }));
        }
        Ok(self.place_alone(before))
    }
}
