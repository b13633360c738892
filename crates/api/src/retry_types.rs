//! The answers about retries: what one would do, and that it is on disk. Plain data for the doors and our own commands.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::types::ApiRefusal;
use systole_kit::money::Money;

use systole_core::types::ids::ThreadId;
use systole_queries::anew::AnewPreview;
use systole_queries::retries::{RetriedPart, RetryPreview, name_step};
use systole_show::columns::{counted, plain};

/// What a retry of a failed thread would do.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RetryShown {
    /// The thread.
    pub thread: String,
    /// What the order has to name, so that it is about the thread as it was seen.
    pub seen: String,
    /// The last record of the thread.
    pub seq: u64,
    /// The end of the log as it was read.
    pub position: u64,
    /// The call that failed.
    pub call: String,
    /// Its listener.
    pub listener: String,
    /// The turn that goes out again.
    pub turn: u32,
    /// How often it was tried again before.
    pub retries: u32,
    /// The code of what failed first.
    pub code: String,
    /// Whether it is a run of a workflow.
    pub workflow: bool,
    /// Whether the run keeps the steps that it began with, because the current configuration has others.
    pub keeps_steps: bool,
    /// What the run starts again.
    pub starts: Vec<RestartedStep>,
    /// Calls with effects outside that what is started again made already.
    pub effects: Vec<String>,
}

/// A part of a run that a retry starts again.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RestartedStep {
    /// The step, with its pass, item and agent.
    pub key: String,
    /// The thread that did it.
    pub thread: Option<String>,
    /// Whether it was cancelled beside the failure.
    pub cancelled: bool,
    /// The tokens that its models used, which are paid again.
    pub tokens: u64,
    /// What they cost.
    pub money: Option<String>,
}

/// What sending the request of a failed thread anew would do.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AnewShown {
    /// The thread.
    pub thread: String,
    /// What the order has to name, so that it is about the thread as it was seen.
    pub seen: String,
    /// The call that failed.
    pub call: String,
    /// The listener that the request is for.
    pub listener: String,
    /// The code of what failed first.
    pub code: String,
    /// What is sent, without sensitive values; empty for a client that may not read it.
    pub request: String,
    /// Whether it differs from the request that failed.
    pub changed: bool,
    /// The tokens that the models of the call used, which may be used again.
    pub tokens: u64,
    /// What they cost.
    pub money: Option<String>,
    /// Calls of it with effects outside, which may happen again.
    pub effects: Vec<String>,
    /// The threads that have a request of the same call already.
    pub sent: Vec<String>,
    /// The idempotency key of the message: the same request of a client is sent once.
    pub key: String,
}

/// A thread was tried again.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ThreadRetried {
    /// The thread.
    pub retried: String,
}

/// What became of an order about all failed threads that a filter fits.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RetriesGiven {
    /// The threads that go on.
    pub retried: Vec<String>,
    /// Those that are left as they are.
    pub refused: Vec<RetryRefused>,
    /// The thread after which the list goes on, if it does.
    pub next: Option<String>,
}

/// A thread that is left as it is, and why.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RetryRefused {
    /// The thread.
    pub thread: String,
    /// Why.
    pub refusal: ApiRefusal,
}

impl From<RetryPreview> for RetryShown {
    fn from(preview: RetryPreview) -> RetryShown {
        let part = |part: RetriedPart| RestartedStep {
            key: part.key,
            thread: part.thread.map(|thread| thread.to_string()),
            cancelled: part.is_cancelled,
            tokens: part.used.tokens,
            money: part.used.spent.money().map(|money| money.to_string()),
        };
        RetryShown {
            thread: preview.thread.to_string(),
            seen: preview.head.to_string(),
            seq: preview.seq,
            position: preview.position.0,
            call: preview.call.to_string(),
            listener: preview.listener.to_string(),
            turn: preview.turn,
            retries: preview.retries,
            code: preview.code,
            workflow: preview.is_workflow,
            keeps_steps: preview.keeps_steps,
            starts: preview.starts.into_iter().map(part).collect(),
            effects: preview.effects,
        }
    }
}

impl From<AnewPreview> for AnewShown {
    fn from(preview: AnewPreview) -> AnewShown {
        AnewShown {
            thread: preview.thread.to_string(),
            seen: preview.head.to_string(),
            call: preview.call.to_string(),
            listener: preview.listener.to_string(),
            code: preview.code,
            request: preview.shown,
            changed: preview.is_changed,
            tokens: preview.used.tokens,
            money: preview.used.spent.money().map(|money| money.to_string()),
            effects: preview.effects,
            sent: preview.sent.iter().map(ThreadId::to_string).collect(),
            key: preview.key.as_str().to_owned(),
        }
    }
}

impl AnewShown {
    /// What is sent and what happens again, for a person.
    pub fn describe_preview(&self) -> Vec<String> {
        let AnewShown { thread, listener, code, .. } = self;
        let how = if self.changed { "with other values" } else { "as it was" };
        let mut lines = vec![format!("{thread} failed: {}", plain(code))];
        lines.push(format!("  its request goes to {listener} once more, {how}, as a new thread:"));
        lines.extend(self.request.lines().map(|line| format!("    {}", plain(line))));
        lines.extend(self.describe_costs().into_iter().map(|line| format!("  {line}")));
        lines
    }

    /// What is paid and what happens again, for a person.
    pub fn describe_costs(&self) -> Vec<String> {
        let paid = describe_paid(self.money.as_deref(), self.tokens);
        let mut lines = vec![match paid {
            Some(paid) => format!("the whole work begins again: {paid}"),
            None => "the whole work begins again; no model was paid for it".to_owned(),
        }];
        let effect = |effect: &String| format!("an effect that may happen again: {}", plain(effect));
        lines.extend(self.effects.iter().map(effect));
        lines.extend(self.sent.iter().map(|sent| format!("it was sent anew before, as {sent}")));
        lines
    }
}

/// What models are paid again, as far as it is known.
fn describe_paid(money: Option<&str>, tokens: u64) -> Option<String> {
    match (money, tokens) {
        (Some(money), _) => Some(format!("pays about {money} again")),
        (None, 0) => None,
        (None, tokens) => Some(format!("uses about {tokens} tokens again")),
    }
}

impl RetryShown {
    /// What goes out again, for a person.
    pub fn describe_preview(&self) -> Vec<String> {
        let RetryShown { thread, listener, turn, code, .. } = self;
        let mut lines = vec![format!("{thread} failed: {}", plain(code))];
        if !self.workflow {
            lines.push(format!("  {listener} goes on in turn {turn}; nothing before it is paid again"));
        } else if self.starts.is_empty() {
            lines.push(format!(
                "  the run of {listener} goes on where it failed; no step that ended is paid again"
            ));
        } else {
            lines.push(format!("  the run of {listener} starts again:"));
            lines.extend(self.starts.iter().map(RestartedStep::describe_part));
        }
        if self.keeps_steps {
            lines.push("  it keeps the steps that it began with; the file has others now".to_owned());
        }
        let effect = |effect: &String| format!("  an effect that may happen twice: {}", plain(effect));
        lines.extend(self.effects.iter().map(effect));
        lines
    }
}

impl RestartedStep {
    fn describe_part(&self) -> String {
        let why = if self.cancelled { "was cancelled beside it" } else { "failed" };
        let paid = describe_paid(self.money.as_deref(), self.tokens);
        let paid = paid.map(|paid| format!(", {paid}")).unwrap_or_default();
        format!("    {} ({why}){paid}", plain(&self.key))
    }
}

/// How many do something.
fn spell_count(number: usize, one: &str, more: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { more })
}

/// What the retries of several threads do together, on one line.
pub fn sum_up_retries(all: &[&RetryShown]) -> String {
    let (runs, turns): (Vec<&RetryShown>, Vec<&RetryShown>) =
        all.iter().partition(|one| !one.starts.is_empty());
    let parts = runs.iter().flat_map(|run| &run.starts);
    let steps: BTreeSet<String> = parts.clone().map(|part| plain(&name_step(&part.key))).collect();
    let steps: Vec<String> = steps.into_iter().collect();
    let mut money: BTreeMap<_, u64> = BTreeMap::new();
    for amount in parts.clone().filter_map(|part| Money::parse(part.money.as_ref()?)) {
        *money.entry(amount.currency).or_default() += amount.micros;
    }
    let amounts: Vec<String> =
        money.into_iter().map(|(currency, micros)| Money { micros, currency }.to_string()).collect();
    let tokens: u64 = parts.filter(|part| part.money.is_none()).map(|part| part.tokens).sum();
    let mut words = Vec::new();
    if !turns.is_empty() {
        words.push(spell_count(turns.len(), "goes on where it failed", "go on where they failed"));
    }
    if !runs.is_empty() {
        words.push(format!("{} {} again", spell_count(runs.len(), "starts", "start"), steps.join(", ")));
    }
    if !amounts.is_empty() {
        words.push(format!("about {} paid again", amounts.join(", ")));
    }
    if tokens > 0 {
        words.push(format!("about {tokens} tokens used again"));
    }
    format!("{}: {}", counted(all.len() as u64, "thread"), words.join("; "))
}
