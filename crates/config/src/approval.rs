//! The section `approval` of a listener: when a person must approve payloads for it, how long they wait,
//! and which listeners are notified. Names are looked up later, when all of them are known.

use super::forms::{LongWait, NameSet, WordOf, word_choice};
use super::section::section;
use crate::limits;
use systole_core::types::composition::ApprovalRule;
use systole_core::types::ids::Name;

word_choice! { ApprovalTime: bool { "dangerous" = false, "always" = true } }

section! {
    /// The keys of the section.
    pub(super) ApprovalKeys {
        when: default(false) <WordOf<ApprovalTime>> "`dangerous`: what its schema or its sender marks as dangerous; `always`: everything";
        expires: optional("7d") <LongWait> "how long to wait for a person, {bounds}; also when `on_unknown` asks one";
        tell: default(Vec::new()) <NameSet> "listeners that get every `<approval-requested>` of a payload for it and every `<person-asked>` of its own; their answers go nowhere";
    }
}

impl ApprovalKeys {
    pub(super) fn rule(&self) -> ApprovalRule {
        ApprovalRule {
            always: self.when.value,
            expires_ms: self.expires.as_ref().map_or(limits::APPROVAL_MS, |expires| expires.value),
            // An invalid name is reported where it is looked up.
            tell: self.tell.value.iter().filter_map(|named| Name::parse(&named.value).ok()).collect(),
        }
    }
}
