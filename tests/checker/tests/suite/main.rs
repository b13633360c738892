//! The suite of the judge: good logs in which it finds nothing, and planted faults, one by one, each
//! of which exactly the right rules must find.
#![cfg(test)]

mod approvals;
mod book;
mod budgets;
mod calls;
mod chain;
mod clients;
mod good;
mod journal;
mod once;
mod outages;
mod outlives;
mod pauses;
mod questions;
mod reading;
mod retries;
mod script;
mod spawns;
mod steers;
mod takers;
mod timers;
mod views;
mod waits;

/// Tests that plant one fault in the good log before it is sealed, so that its chains are whole, and
/// name the rules that find something: all of them, and no others.
macro_rules! planted {
    ($($name:ident finds [$($rule:literal),+] by $plant:expr;)+) => {
        $(
            #[test]
            fn $name() {
                let plant: fn(&mut crate::script::Script) = $plant;
                let mut script = crate::good::script();
                plant(&mut script);
                let report = crate::book::SealedBook::of(&script).check();
                assert_eq!(report.found.keys().copied().collect::<Vec<_>>(), [$($rule),+], "\n{report}");
            }
        )+
    };
}
pub(crate) use planted;
