//! The keys that listeners and agents share: how deliveries to them run and are retried, and what they accept.

use super::approval::ApprovalKeys;
use super::diagnostics::Diagnostics;
use super::forms::{
    AttemptTime, CountWithin, NameSet, PauseRange, RateText, WordOf, YesNo, read_parsed, word_choice,
};
use super::key::KeyForm;
use super::names::read_accepted;
use super::section::{form, section};
use super::tree::Node;
use super::value::At;
use systole_core::types::composition::{DescribeScope, OnUnknown};

section! {
    /// How deliveries to a listener run and are retried.
    pub(super) DeliveryKeys with own {
        timeout: optional("30s{kinds}") <AttemptTime> "the hard end of an attempt, {bounds}; a command of a workspace has nine tenths of it";
        idle: optional("none, or 30s over NATS") <AttemptTime> "the longest silence within an attempt, at most `timeout`";
        in_flight: optional("1{kinds}") <CountWithin<1, 1024>> "deliveries to it that may be open at once, {bounds}";
        rate: optional("none") <RateText> "how many deliveries go to it in a time, `20/s`, `300/m` or `1000/h`: as many at once, and then one whenever its share of the time is over; the others wait";
        retry: below <RetryKeys> "how failed deliveries are repeated; requests to a model are repeated by `models.NAME.retry`";
        on_unknown: optional("retry{kinds}") <WordOf<UnknownOutcome>> "after an attempt with an unknown outcome: `retry`, which may do or pay for it twice, `fail`, or `ask`, which holds the call for a person";
        approval: below <ApprovalKeys> "when a person must approve what goes to it";
        timers: below <TimerKeys> "what happens to the timers that it sets";
        entry: optional("false") <YesNo> "whether it takes messages from outside";
        describe: default(DescribeScope::Peers) <WordOf<DescribeWord>> "whose payloads it can ask about: `none`, `peers` or `all`";
    }
}

section! { pub(super) RetryKeys {
    attempts: default(3) <CountWithin<1, 100>> "attempts at one turn, the first included, {bounds}; attempts that die with the organism count separately, and only if their number was on record: the fifth of them is the last, or a later one if `attempts` is more";
    backoff: default((1_000, 30_000)) <PauseRange> "the first pause and the longest; each is twice the one before";
} }

section! { pub(super) TimerKeys {
    tell: default(Vec::new()) <NameSet> "listeners that get a `<timer-finished>` when a call that one of its timers opened is over, whether it succeeded or failed; their answers go nowhere";
} }

word_choice! { UnknownOutcome: OnUnknown { "retry" = OnUnknown::Retry, "fail" = OnUnknown::Fail, "ask" = OnUnknown::Ask } }
word_choice! { DescribeWord: DescribeScope { "none" = DescribeScope::None, "peers" = DescribeScope::Peers, "all" = DescribeScope::All } }

form! {
    /// A whole number of percent.
    pub(super) SharePercent -> u32 { KeyForm::Pattern("^[0-9]+%$"), read_share }
}

fn read_share(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<u32> {
    read_parsed(diagnostics, node, path, |text| {
        let digits = text.strip_suffix('%').filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
        let percent = digits.and_then(|text| text.parse().ok()).filter(|percent| (1..=100).contains(percent));
        percent.ok_or_else(|| (format!("`{text}` is not a share from 1% to 100%"), "50%".to_owned()))
    })
}

form! {
    /// What a listener takes as requests: at least one element.
    pub(super) AcceptedSet -> Vec<At<String>> { KeyForm::Set, read_accepted }
}
