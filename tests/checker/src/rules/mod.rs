//! The rules. Each is a function that reads one record and the state before it, and describes the
//! fault, if any. The rules on ends read what is left at the end of the log. No rule knows another,
//! and none changes anything.

pub(crate) mod approvals;
pub(crate) mod budgets;
pub(crate) mod calls;
pub(crate) mod causes;
pub(crate) mod chain;
pub(crate) mod clients;
pub(crate) mod journal;
pub(crate) mod once;
pub(crate) mod outages;
pub(crate) mod outlives;
pub(crate) mod pauses;
pub(crate) mod questions;
pub(crate) mod rest;
pub(crate) mod retries;
pub(crate) mod spawns;
pub(crate) mod steers;
pub(crate) mod takers;
pub(crate) mod timers;
pub(crate) mod views;
pub(crate) mod waits;

use crate::ledger::{CheckLedger, LedgerStep};
use crate::report::CheckFinding;

/// The settings of a run that a judge may get.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunSettings {
    /// Whether the organism still runs, or was killed: open calls are then listed and are not
    /// findings.
    pub running: bool,
    /// Most attempts at one turn.
    pub attempts: u32,
    /// Whether no listener is reached over NATS. A delivery that is lost over NATS counts in no limit, and the log does
    /// not say how a listener is reached.
    pub is_local: bool,
    /// How long a call waits for someone who is away, if that is the same for all and no one sets the clock.
    pub outage_ms: Option<u64>,
    /// Most calls and spawns that one message from outside may cause, if its file says so.
    pub messages: Option<u32>,
    /// Most child threads that it may have, in all its threads.
    pub children: Option<u32>,
    /// How deep calls and spawns may nest: the deepest allowed call is one less below the first.
    pub depth: Option<u32>,
    /// Most tokens that its models may use.
    pub tokens: Option<u64>,
    /// The most that they may cost, in millionths of the currency's unit.
    pub micros: Option<u64>,
    /// Most requests that they may get.
    pub requests: Option<u64>,
}

impl Default for RunSettings {
    /// A drained run, with the most attempts that an organism's file can allow.
    fn default() -> RunSettings {
        RunSettings {
            running: false,
            attempts: 100,
            is_local: false,
            outage_ms: None,
            messages: None,
            children: None,
            depth: None,
            tokens: None,
            micros: None,
            requests: None,
        }
    }
}

/// A rule on single records: its name, and the function that judges.
type OnRecord = (&'static str, fn(&CheckLedger, &LedgerStep<'_>, &RunSettings) -> Option<String>);

/// A rule on what is left at the end.
type OnEnd = fn(&CheckLedger, &RunSettings) -> Vec<CheckFinding>;

/// The rules on single records.
pub(crate) const ON_RECORD: &[OnRecord] = &[
    ("position", chain::check_position),
    ("seq", chain::check_seq),
    ("head", chain::check_head),
    ("id", chain::check_id),
    ("cause", causes::check_cause),
    ("spawn", spawns::check_spawn),
    ("finished", spawns::check_finish),
    ("end", waits::check_end),
    ("steer", steers::check_steer),
    ("wait", waits::check_wait),
    ("takers", takers::check_takers),
    ("timer", timers::check_timer),
    ("view", views::check_view),
    ("approval", approvals::check_approval),
    ("question", questions::check_question),
    ("paused", pauses::check_pause),
    ("reopened", retries::check_retry),
    ("budget", budgets::check_budget),
    ("used", budgets::check_use),
    ("warned-once", budgets::warned_once),
    ("wrap-up", budgets::wrap_up),
    ("time", budgets::check_time),
    ("journal", journal::check_journal),
    ("models", journal::check_models),
    ("bought", journal::check_bought),
    ("item-once", once::item_once),
    ("key-once", once::key_once),
    ("outcome-once", once::outcome_once),
    ("answer-once", once::answer_once),
    ("turn-due", once::turn_due),
    ("nudge-once", once::nudge_once),
    ("final-alone", once::final_alone),
    ("attempt", once::check_attempt),
    ("outage", outages::check_outage),
    ("outlives", outlives::check_outlives),
    ("call-open", calls::call_open),
    ("top-order", calls::top_order),
    ("ended", calls::check_end),
    ("closed-below", calls::closed_below),
    ("party", calls::check_party),
];

/// The rules on what is left at the end.
pub(crate) const ON_END: &[OnEnd] = &[spawns::list_unconfirmed, spawns::list_unreported, rest::check_rest];

/// The names of all rules: of reading, on single records, on the end, on clients.
pub fn list_names() -> impl Iterator<Item = &'static str> {
    let on_record = ON_RECORD.iter().map(|(name, _)| *name);
    ["row", "meaning"].into_iter().chain(on_record).chain(["rest"]).chain(clients::NAMES)
}
