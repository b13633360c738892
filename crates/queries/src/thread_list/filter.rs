//! Which threads are listed, and in which order: the fields of the list on all its faces.

use systole_kit::schema::find_nearest;
use systole_log::index::{IndexFault, IndexFile, RootOrder};

use crate::arguments;
use crate::code_names::may_be_code;
use crate::index::{ANSWERED, CANCELLED, FAILED};
use crate::query::{
    ArgumentForm, ArgumentMistake, Flag, FreeText, PartyName, QueryFault, QueryMoment, TimePoint, TypedThread,
};
use crate::thread_end::{STATES, is_in_state};
use crate::thread_roll::ThreadEntry;
use systole_core::rules::first_cause::is_code;
use systole_core::types::codes::Code;

/// Whether a state is how the last call from outside ended.
pub(super) fn is_outcome(state: &str) -> bool {
    [CANCELLED, FAILED, ANSWERED].contains(&state)
}

/// One of the states.
pub enum ThreadStateName {}

impl ArgumentForm for ThreadStateName {
    type Value = &'static str;
    const METAVAR: &'static str = "STATE";
    const CHOICES: &'static [&'static str] = &STATES;

    fn read(field: &'static str, typed: &str, _: &dyn QueryMoment) -> Result<&'static str, QueryFault> {
        let found = STATES.into_iter().find(|state| *state == typed);
        found.ok_or_else(|| ArgumentMistake::not_one_of(field, typed, &STATES).into())
    }
}

/// The orders with their names.
const ORDERS: [(&str, RootOrder); 4] = [
    ("opened", RootOrder::Opened),
    ("since", RootOrder::Since),
    ("duration", RootOrder::Took),
    ("cost", RootOrder::Spent),
];

/// An order.
pub enum ThreadOrderName {}

impl ArgumentForm for ThreadOrderName {
    type Value = RootOrder;
    const METAVAR: &'static str = "ORDER";
    const CHOICES: &'static [&'static str] = &["opened", "since", "duration", "cost"];

    fn read(field: &'static str, typed: &str, _: &dyn QueryMoment) -> Result<RootOrder, QueryFault> {
        let found = ORDERS.iter().find(|(name, _)| *name == typed).map(|(_, order)| *order);
        found.ok_or_else(|| ArgumentMistake::not_one_of(field, typed, ThreadOrderName::CHOICES).into())
    }
}

/// The code of a failure.
pub enum FailureCode {}

impl ArgumentForm for FailureCode {
    type Value = String;
    const METAVAR: &'static str = "CODE";

    fn read(field: &'static str, typed: &str, _: &dyn QueryMoment) -> Result<String, QueryFault> {
        // A listener may fail with a code of its own, without a family.
        if may_be_code(typed) || is_code(typed) && !typed.contains('.') {
            return Ok(typed.to_owned());
        }
        let near = find_nearest(typed, Code::ALL.iter().map(|code| code.as_str()));
        let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        let words = format!("nothing fails with such a code{near}");
        let examples = &["model.refused"];
        Err(ArgumentMistake::Unfit { field, value: typed.to_owned(), words, examples }.into())
    }
}

arguments! {
    /// Which threads are listed.
    pub struct ThreadFilter {
        state: ThreadStateName => "Only threads in this state",
        failed: Flag => "Only threads that failed: the same as the state failed",
        since: TimePoint => "Only threads with a record since then: 3d, 14:30, 2026-10-01",
        until: TimePoint => "Only threads whose last record was made before then",
        listener: PartyName => "Only threads that this listener was asked first, or works in",
        client: PartyName => "Only threads that this client opened",
        name: FreeText => "Only threads whose name begins so: ticket-",
        code: FailureCode => "Only threads that failed with this code, or whose first cause has it",
        q: FreeText => "Only threads with this text in their id, their request or what they wait for",
        sort: ThreadOrderName => "The order, the largest first: when a thread was opened, its last record, duration or cost",
        after as Option: TypedThread => "Only what follows this thread in the list",
    }
}

impl ThreadFilter {
    fn check(&self) -> Result<(), ArgumentMistake> {
        if let Some(state) = self.state.filter(|state| self.failed.is_some() && *state != FAILED) {
            let words = "no thread is in this state and failed: name one of the two".to_owned();
            return Err(ArgumentMistake::Unfit {
                field: "state",
                value: state.to_owned(),
                words,
                examples: &["failed"],
            });
        }
        ArgumentMistake::unless_after(("since", self.since), ("until", self.until))
    }

    /// The state that is wanted, if one is.
    pub fn state(&self) -> Option<&'static str> {
        self.failed.map(|()| FAILED).or(self.state)
    }

    /// Whether it leaves out threads, or changes their order.
    pub fn is_set(&self) -> bool {
        let names = [&self.listener, &self.client, &self.name, &self.code, &self.q];
        let is_named = names.into_iter().any(Option::is_some) || self.state().is_some();
        is_named || self.since.is_some() || self.until.is_some() || self.sort.is_some()
    }

    /// Where the list begins: behind the thread that it goes on from. `None` if there is no such thread.
    pub(super) fn find_start(&self, index: &IndexFile) -> Result<Option<Option<(i64, u64)>>, IndexFault> {
        let Some(after) = &self.after else { return Ok(Some(None)) };
        let row = index.find_root(after.as_str())?;
        Ok(row.map(|row| Some((self.sort.unwrap_or_default().value_of(&row), row.position))))
    }

    /// Whether a thread is in the state that is wanted.
    pub(super) fn fits_state(&self, entry: &ThreadEntry) -> bool {
        self.state().is_none_or(|state| is_in_state(state, entry.status, entry.life))
    }
}
