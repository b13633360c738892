//! Where a message of a chat goes: to the thread of the same request before, to the one whose chat is its history, or to
//! a new one. A decision is no message: it goes to the run that waits for it.

use axum::http::HeaderMap;

use super::chat_hash::{ChatHash, mark_key};
use super::chat_request::ChatText;
use super::chat_threads::{AskedChat, ChatThreads, read_answer};
use super::decisions::parse_decision;
use super::fault::{OpenaiFault, refuse_later};
use crate::limits;
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::ports::Clock as _;
use systole_hall::runs::work::unread;
use systole_organism::front::OrganismHandle;
use systole_organism::runfile::draw_hex;
use systole_system::clock::WallClock;

/// What a request has of its own, by which its repetition is known.
pub(super) struct OwnOfRequest {
    /// Its mark in the name of a thread and in a key.
    pub(super) mark: String,
    /// Whether its client chose a key, which makes the mark.
    pub(super) is_named: bool,
    /// Whether its client says that it may be a repetition.
    pub(super) may_repeat: bool,
}

impl OwnOfRequest {
    pub(super) fn read(headers: &HeaderMap) -> Result<OwnOfRequest, OpenaiFault> {
        if let Some(key) = headers.get("idempotency-key") {
            return Ok(OwnOfRequest { mark: mark_key(key.as_bytes()), is_named: true, may_repeat: true });
        }
        let tries = headers.get("x-stainless-retry-count");
        let tries = tries.and_then(|tries| tries.to_str().ok()?.parse::<u32>().ok());
        let drawn = draw_hex().map_err(|error| refuse_later(error.to_string()))?;
        let mark = drawn.chars().take(16).collect();
        Ok(OwnOfRequest { mark, is_named: false, may_repeat: tries.is_some_and(|tries| tries > 0) })
    }

    /// The mark, if its client chose a key.
    pub(super) fn find_name(&self) -> Option<&str> {
        self.is_named.then_some(self.mark.as_str())
    }
}

/// The chat without decisions and what they decided about: neither is a message to its thread.
fn leave_decisions_out(said: &[ChatText]) -> Vec<&ChatText> {
    let mut left: Vec<&ChatText> = Vec::new();
    for one in said {
        if one.role == "user" && parse_decision(&one.text).is_some() {
            left.pop_if(|last| last.role == "assistant");
        } else {
            left.push(one);
        }
    }
    left
}

/// A chat whose message is to be placed.
pub(super) struct SoughtChat<'s> {
    pub(super) front: &'s OrganismHandle,
    pub(super) threads: &'s ChatThreads,
    pub(super) client: &'s Name,
    /// The hash of a chat in which nothing was said.
    begun: ChatHash,
    /// That of its first text, which is in the names of its threads.
    named: ChatHash,
}

/// Where a message goes.
pub(super) struct ChatPlace {
    pub(super) chat: AskedChat,
    own: OwnOfRequest,
    /// The message before, if this one goes on with its thread.
    taken: Option<AskedChat>,
    /// Whether the message was sent before.
    is_joined: bool,
}

impl ChatPlace {
    /// Whether the thread has the history: it was not opened with this message.
    pub(super) fn has_history(&self) -> bool {
        let mark = self.chat.key.as_str().rsplit('.').next().unwrap_or_default();
        !self.chat.name.as_str().ends_with(mark)
    }
}

/// Whether a client's text is that answer. In a stream, words that were said before it stand before it.
fn is_answer(text: &str, answer: &str) -> bool {
    let before = text.trim_end().strip_suffix(answer.trim());
    before.is_some_and(|before| before.trim().is_empty() || before.ends_with("\n\n"))
}

impl<'s> SoughtChat<'s> {
    /// A chat with that history and that last text.
    pub(super) fn new(
        front: &'s OrganismHandle,
        threads: &'s ChatThreads,
        client: &'s Name,
        (begun, history, last): (ChatHash, &[ChatText], &str),
    ) -> SoughtChat<'s> {
        let first = history.first().map_or(("user", last), |first| (&first.role, &first.text));
        let named = begun.add(first.0, first.1);
        SoughtChat { front, threads, client, begun, named }
    }

    fn hash(&self, said: &[&ChatText]) -> ChatHash {
        said.iter().fold(self.begun.clone(), |hash, one| hash.add(&one.role, &one.text))
    }

    /// Finds the place of the last message, and keeps it.
    pub(super) async fn place(
        &self,
        history: &[ChatText],
        last: &str,
        own: OwnOfRequest,
    ) -> Result<ChatPlace, OpenaiFault> {
        let said = leave_decisions_out(history);
        let asked = self.hash(&said).add("user", last);
        let before = said.split_last().filter(|(last, _)| last.role == "assistant");
        let chats = self.threads.find_client(self.client);
        let mut chats = chats.lock().await;
        if before.is_some() || own.may_repeat {
            chats.read_begun(self.front, self.client, (&self.begun, &self.named)).await.map_err(unread)?;
        }
        let now = WallClock.now();
        let is_recent = |chat: &AskedChat| now.count_since(chat.at) < limits::CHAT_RETRY_MS;
        let known = match own.find_name() {
            Some(mark) => chats.find_named(&self.begun, mark).cloned(),
            None if own.may_repeat => chats.find(&asked).into_iter().find(is_recent),
            None => None,
        };
        if let Some(chat) = known {
            return Ok(ChatPlace { chat, own, taken: None, is_joined: true });
        }
        let mut taken: Option<((bool, usize), AskedChat)> = None;
        for chat in before.iter().flat_map(|(_, rest)| chats.find(&self.hash(rest))) {
            let answer = read_answer(self.front, &chat).await.map_err(unread)?;
            let Some(((said, _), answer)) = before.zip(answer) else { continue };
            // Of several that fit, the one of which most is the same.
            let rank = (said.text.trim() == answer.trim(), answer.len());
            if is_answer(&said.text, &answer) && taken.as_ref().is_none_or(|(known, _)| rank > *known) {
                taken = Some((rank, chat));
            }
        }
        let taken = taken.map(|(_, chat)| chat);
        let name = match &taken {
            Some(chat) => {
                chats.take(chat);
                Ok(chat.name.clone())
            }
            None => self.named.name_thread(&own.mark),
        };
        let key = asked.make_key(&own.mark).map_err(refuse_later)?;
        let chat = AskedChat { name: name.map_err(refuse_later)?, key, at: now, place: None };
        chats.keep(&self.begun, &chat, own.find_name());
        Ok(ChatPlace { chat, own, taken, is_joined: false })
    }

    /// Keeps where the message is, once it is on disk.
    pub(super) async fn settle(&self, place: ChatPlace, at: (ThreadId, u64)) {
        let chat = AskedChat { place: Some(at), ..place.chat };
        let chats = self.threads.find_client(self.client);
        chats.lock().await.keep(&self.begun, &chat, place.own.find_name());
    }

    /// Forgets a message that was refused: the history is still that of the thread.
    pub(super) async fn give_back(&self, place: ChatPlace) {
        if !place.is_joined {
            let chats = self.threads.find_client(self.client);
            let mut chats = chats.lock().await;
            chats.forget(&self.begun, &place.chat, place.own.find_name());
            place.taken.into_iter().for_each(|chat| chats.keep(&self.begun, &chat, None));
        }
    }

    /// The messages whose run may wait for a decision: the last one of the chat that is none.
    pub(super) async fn find_decided(&self, history: &[ChatText]) -> Result<Vec<AskedChat>, OpenaiFault> {
        let mut said = leave_decisions_out(history);
        said.pop_if(|last| last.role == "assistant");
        let chats = self.threads.find_client(self.client);
        let mut chats = chats.lock().await;
        chats.read_begun(self.front, self.client, (&self.begun, &self.named)).await.map_err(unread)?;
        Ok(chats.find(&self.hash(&said)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(role: &str, text: &str) -> ChatText {
        ChatText::of(role, text.to_owned())
    }

    #[test]
    fn g10_decisions_and_what_they_decided_about_are_no_part_of_a_chat() {
        let said = [
            text("user", "pay"),
            text("assistant", "a1 waits"),
            text("user", "/reject a1"),
            text("user", "/approve a1"),
            text("assistant", "paid"),
            text("user", "thanks"),
        ];
        let left: Vec<&str> = leave_decisions_out(&said).iter().map(|one| one.text.as_str()).collect();
        assert_eq!(left, ["pay", "paid", "thanks"]);
    }

    #[test]
    fn g10_an_answer_is_known_behind_what_was_said_before_it() {
        for text in ["Done.", " Done. \n", "I look.\n\nDone.", "Half\n\nAnother answer:\n\nDone."] {
            assert!(is_answer(text, "Done."), "{text}");
        }
        for text in ["", "Done", "Not Done.", "Done. More"] {
            assert!(!is_answer(text, "Done."), "{text}");
        }
    }
}
