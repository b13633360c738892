//! How the kit answers what a worker asks while it works: a small pump without a log.
//!
//! In: a question or a journal entry of a worker. Out: the answer, by the rules that a check has set.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};
use systole_kit::Payload;
use systole_kit::ask::{
    BytePage, ByteSource, PumpQuestion, StoredBlob, ViewEntry, ViewedMessage, ViewedPage,
};
use systole_kit::journal::{EarlierEntries, EarlierEntry};
use systole_kit::pump_documents::PumpAnswer;
use systole_kit::reply::ListenerDocument;

use crate::documents::write_refusal;

/// What becomes of replies and notices that come over NATS.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum ReceiptRule {
    /// Each gets its receipt.
    #[default]
    Give,
    /// None gets a receipt; the check gives them.
    Hold,
    /// So many replies get none, then each gets its receipt.
    Drop(u32),
}

/// The rules of one check.
#[derive(Clone, Debug, Default)]
pub(crate) struct PumpRules {
    /// Whether the check answers questions itself.
    pub holds_answers: bool,
    /// The code and the message with which every question is refused.
    pub refusal: Option<(&'static str, &'static str)>,
    /// How many messages one page of a view has; 0 for all.
    pub page: usize,
    /// The journal of earlier attempts.
    pub entries: Vec<EarlierEntry>,
    /// What becomes of replies over NATS.
    pub receipts: ReceiptRule,
    /// The views, by call.
    pub views: BTreeMap<String, Vec<ViewedMessage>>,
    blobs: BTreeMap<String, Vec<u8>>,
}

impl PumpRules {
    /// The answer to a question or an entry about a delivery of that call.
    pub(crate) fn answer(&mut self, asked: &ListenerDocument, call: &str) -> Option<PumpAnswer> {
        let (delivery, id, payload) = match asked {
            ListenerDocument::Journal { delivery, id, entry } => {
                let refusal = entry.as_ref().err().map(|fault| write_refusal(fault.code, &fault.message));
                (delivery, *id, refusal)
            }
            ListenerDocument::Ask { delivery, id, question } => {
                let payload = match (self.refusal, question) {
                    (Some((code, message)), _) => write_refusal(code, message),
                    (None, Err(fault)) => write_refusal(fault.code, &fault.message),
                    (None, Ok(question)) => self.answer_question(question, call),
                };
                (delivery, *id, Some(payload))
            }
            _ => return None,
        };
        Some(PumpAnswer { delivery: delivery.clone(), id, payload })
    }

    fn answer_question(&mut self, question: &PumpQuestion, call: &str) -> Payload {
        match question {
            PumpQuestion::View { from_seq, items, .. } => self.build_page(call, *from_seq, *items),
            PumpQuestion::Journal { from } => {
                let entries: Vec<EarlierEntry> =
                    self.entries.iter().skip(usize::try_from(*from).unwrap_or(0)).cloned().collect();
                EarlierEntries { entries, next: None }.to_payload()
            }
            PumpQuestion::PutBlob { bytes } => {
                let hash = hash_hex(bytes);
                self.blobs.insert(hash.clone(), bytes.clone());
                StoredBlob { hash, total: bytes.len() as u64 }.to_payload()
            }
            PumpQuestion::Blob { hash, from } => match self.blobs.get(hash) {
                Some(bytes) => cut_page(bytes, *from, ByteSource::Blob(hash)),
                None => write_refusal("payload.invalid", "the view names no such document"),
            },
            PumpQuestion::Schema { name, from, .. } => {
                cut_page(crate::documents::CONFORM_XSD.as_bytes(), *from, ByteSource::Schema(name))
            }
            PumpQuestion::Configuration { path, from } => {
                cut_page(b"accepts: [task]\n", *from, ByteSource::Configuration(path))
            }
        }
    }

    fn build_page(&self, call: &str, from: u64, items: bool) -> Payload {
        let all = self.views.get(call).cloned().unwrap_or_default();
        let count = all.len() as u64;
        let mut shown: Vec<ViewedMessage> = all
            .into_iter()
            .filter(|message| message.seq >= from.max(1))
            .filter(|message| items || message.spot.parts().0 != "said")
            .collect();
        let next = (self.page > 0).then(|| shown.get(self.page).map(|message| message.seq)).flatten();
        if self.page > 0 {
            shown.truncate(self.page);
        }
        let shown = shown.into_iter().map(ViewEntry::Message).collect();
        ViewedPage { count, next, mark: "5f0c91aa".to_owned(), began: "2026-11-21".to_owned(), shown }
            .to_payload()
    }
}

fn cut_page(bytes: &[u8], from: u64, whose: ByteSource<'_>) -> Payload {
    match BytePage::cut_page(bytes, from, crate::limits::PAGE_BYTES) {
        Some(page) => page.to_payload(whose),
        None => write_refusal("payload.invalid", "that is past the end"),
    }
}

/// SHA-256 in 64 lowercase hex digits.
pub(crate) fn hash_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
