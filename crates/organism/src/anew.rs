//! Sending the request of a failed root anew, for the client that asks: what it would do, and the message.
//!
//! The message goes the way of every message from outside. Its key makes the same order one message, through kills and
//! from several shells at once.

use super::front::{ClientMessage, OrganismHandle};
use super::indexing::ask_index;
use super::waiting::SenderReply;
use systole_core::types::client::Role;
use systole_core::types::codes::Code;
use systole_core::types::flow::Receipt;
use systole_core::types::ids::{Digest, Key, Name, ThreadId};
use systole_core::types::ports::{LogFault, Position};
use systole_core::types::refusal::Refusal;
use systole_queries::anew::{self, AnewChange, AnewPreview, SentAnew};
use systole_queries::log_state::ReadSource;

/// An order to send the request of a failed root anew.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AnewRequest {
    /// The client.
    pub by: Name,
    /// The root that failed.
    pub thread: ThreadId,
    /// The head of the root's chain that the client has seen.
    pub seen: Option<Digest>,
    /// How the request is changed.
    pub change: AnewChange,
    /// Whether effects outside may happen again.
    pub allows_effects: bool,
}

/// A request that was sent anew.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AnewSent {
    /// The receipt of its message.
    pub receipt: Receipt,
    /// The position of that.
    pub position: Position,
    /// Its key.
    pub key: Key,
}

impl OrganismHandle {
    /// What sending the request of a failed root anew would do, for a client that may order it.
    pub async fn preview_anew(
        &self,
        by: &Name,
        thread: &ThreadId,
        change: AnewChange,
    ) -> Result<AnewPreview, Box<Refusal>> {
        let (id, client) = (thread.clone(), by.clone());
        let may_read = self.composition().has_role(by, Role::Read);
        self.read_for(by, thread, move |handle, is_own| {
            let read: ReadSource<'_> = &|source| handle.read_configuration(source);
            let pages = (&**handle.composition(), read);
            let sent = handle.list_sent_anew(&id)?;
            let mut preview = anew::preview_anew(&**handle.reader(), pages, (&client, &id, &sent), change)?;
            if let Some(Ok(preview)) = &mut preview
                && !is_own
                && !may_read
            {
                preview.shown.clear();
            }
            Ok(preview)
        })
        .await
    }

    /// Sends the request of a failed root anew. `None` if the organism has stopped.
    pub async fn send_anew(&self, order: AnewRequest) -> Option<Result<AnewSent, Box<Refusal>>> {
        let AnewRequest { by, thread, seen, change, allows_effects } = order;
        let preview = match self.preview_anew(&by, &thread, change).await {
            Ok(preview) => preview,
            Err(refusal) => return Some(Err(refusal)),
        };
        if let Err(refusal) = self.check_anew(&by, &preview, seen, allows_effects) {
            return Some(Err(Box::new(refusal)));
        }
        let AnewPreview { key, payload, listener, subject, files, .. } = preview;
        if let Err(refusal) = self.keep_files_anew(&by, &thread, files).await {
            return Some(Err(refusal));
        }
        let (own, to) = (key.clone(), Some(listener.to_string()));
        let message = ClientMessage { client: by, key: own, document: payload, to, thread: None, subject };
        match self.send_message(message).await? {
            SenderReply::Receipt(receipt, position) => {
                let position = self.locate_receipt(&receipt, position).await;
                Some(Ok(AnewSent { receipt, position, key }))
            }
            SenderReply::Refused(refusal) => Some(Err(refusal)),
            SenderReply::Done => None,
        }
    }

    /// Keeps the files of a request for the same request anew.
    async fn keep_files_anew(
        &self,
        by: &Name,
        thread: &ThreadId,
        files: Vec<Digest>,
    ) -> Result<(), Box<Refusal>> {
        let client = by.clone();
        self.read_for(by, thread, move |handle, _| {
            for hash in files {
                // Signs are in the place of one that was erased.
                let bytes = handle.reader().read_document(hash)?;
                let Some(bytes) = bytes.filter(|bytes| Digest::hash_bytes(bytes) == hash) else {
                    let words = format!("the file {hash} of the request was erased");
                    let refusal = Refusal::new(Code::UnknownFile, words);
                    return Ok(Some(Err(refusal.fixed_by("send a new request"))));
                };
                match handle.keep_file(&client, bytes.to_vec()) {
                    Some(Ok(_)) => {}
                    Some(Err(refusal)) => return Ok(Some(Err(*refusal))),
                    // The message itself says that the organism has stopped.
                    None => return Ok(Some(Ok(()))),
                }
            }
            Ok(Some(Ok(())))
        })
        .await
    }

    /// Why the request is not sent, though it could be.
    fn check_anew(
        &self,
        by: &Name,
        preview: &AnewPreview,
        seen: Option<Digest>,
        allows_effects: bool,
    ) -> Result<(), Refusal> {
        if seen.is_some_and(|seen| seen != preview.head) {
            let refusal = Refusal::new(Code::RetryMoved, "the thread has gone on since the preview");
            return Err(refusal.fixed_by(Code::RetryMoved.fix()));
        }
        if preview.effects.is_empty() {
            return Ok(());
        }
        if !allows_effects {
            let words = format!("effects outside could happen twice: {}", preview.effects.join("; "));
            return Err(Refusal::new(Code::RetryEffects, words).fixed_by(Code::RetryEffects.fix()));
        }
        if !self.composition().has_role(by, Role::Operate) {
            let refusal =
                Refusal::new(Code::IngressForbidden, format!("{by} may not let effects happen twice"));
            return Err(refusal.fixed_by("the role `operate`, under clients in the organism's file"));
        }
        Ok(())
    }

    /// The roots that have the request of a root anew. Blocks.
    pub(super) fn list_sent_anew(&self, thread: &ThreadId) -> Result<Vec<SentAnew>, LogFault> {
        let reader = &**self.reader();
        ask_index(self.index(), reader, &mut |index| anew::list_sent(index, reader, thread))
    }
}
