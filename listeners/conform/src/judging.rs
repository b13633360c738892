//! Runs the checks of a list against one worker, several at a time, and keeps what each found.
//!
//! It prints nothing. In: a worker, and which checks are wanted. Out: an outcome for every row of the list.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use futures_util::stream::{self, StreamExt as _};
use tokio::time::Instant;

use crate::checks;
use crate::limits;
use crate::list::CheckRow;
use crate::nats;
use crate::pipe::ReadPace;
use crate::stage::{Bench, CheckCarrier};
use crate::subject::ConformSubject;
use crate::verdict::{CheckFailure, CheckFault, CheckVerdict};

/// What is wanted of a judgement.
#[derive(Clone, Debug, Default)]
pub struct JudgementOrder {
    /// Whether the worker is reached over NATS.
    pub over_nats: bool,
    /// Whether the program is started for each delivery.
    pub once: bool,
    /// Patterns of ids, such as `text.*`; empty for all.
    pub only: Vec<String>,
}

/// What came of one row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CheckOutcome {
    /// The worker passed it.
    Passed,
    /// The worker failed it, over this carrier.
    Failed {
        /// The carrier.
        carrier: &'static str,
        /// What was sent, expected and came.
        failure: CheckFailure,
    },
    /// It says nothing about this worker, for this reason.
    NotScored(String),
}

/// The outcome of one row, and how long it took.
#[derive(Clone, Debug)]
pub struct CheckResult {
    /// The row.
    pub row: CheckRow,
    /// What came of it.
    pub outcome: CheckOutcome,
    /// How long its checks took together.
    pub took: Duration,
}

/// Judges a worker by the rows of a list.
///
/// # Errors
/// Why nothing could be judged, and the fix.
pub async fn judge_worker(
    subject: ConformSubject,
    rows: Vec<CheckRow>,
    order: &JudgementOrder,
) -> Result<Vec<CheckResult>, (String, String)> {
    let server = if order.over_nats { Some(nats::find_server(&subject.around).await?) } else { None };
    let carriers = list_carriers(&subject, order);
    let judge = Judge { subject: Rc::new(subject), server, carriers };
    let dead = judge.find_dead(&rows).await;
    let wanted =
        |row: &CheckRow| order.only.is_empty() || order.only.iter().any(|one| is_match(&row.id, one));
    let mut results: Vec<(usize, CheckResult)> = Vec::new();
    let mut runs = Vec::new();
    for (at, row) in rows.iter().enumerate().filter(|(_, row)| wanted(row)) {
        match judge.find_reason(row) {
            Some(why) => {
                let outcome = CheckOutcome::NotScored(why);
                results.push((at, CheckResult { row: row.clone(), outcome, took: Duration::ZERO }));
            }
            None => runs.extend(judge.list_runs(row).into_iter().map(|carrier| (at, row, carrier))),
        }
    }
    let (quiet, loud): (Vec<_>, Vec<_>) =
        runs.into_iter().partition(|(_, row, _)| checks::needs_quiet(&row.id));
    let run = |(at, row, carrier): (usize, &CheckRow, CheckCarrier)| {
        let (judge, dead) = (&judge, &dead);
        let id = row.id.clone();
        async move {
            let began = Instant::now();
            let verdict = match dead.get(&carrier) {
                Some(fault) => Err(fault.clone()),
                None => checks::run_check(&judge.make_bench(carrier), &id).await,
            };
            (at, carrier, verdict, began.elapsed())
        }
    };
    let mut found: Vec<(usize, CheckCarrier, CheckVerdict, Duration)> =
        stream::iter(loud).map(run).buffer_unordered(limits::AT_ONCE).collect().await;
    for one in quiet {
        found.push(run(one).await);
    }
    results.extend(join_runs(&rows, found));
    results.sort_by_key(|(at, _)| *at);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

/// The carriers that this worker is judged over.
fn list_carriers(subject: &ConformSubject, order: &JudgementOrder) -> Vec<CheckCarrier> {
    if order.over_nats {
        return vec![CheckCarrier::Nats];
    }
    if order.once || !subject.program.stays {
        return vec![CheckCarrier::Once];
    }
    let carrier = |by_length: &bool| if *by_length { CheckCarrier::Length } else { CheckCarrier::Lines };
    subject.framings.iter().map(carrier).collect()
}

/// Whether an id is meant by a pattern, which may end with `*`.
fn is_match(id: &str, pattern: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => id.starts_with(start),
        None => id == pattern || id.split_once('.').is_some_and(|(group, _)| group == pattern),
    }
}

/// The worst outcome of the runs of each row: a failure, then a pass, then a reason for no verdict.
fn join_runs(
    rows: &[CheckRow],
    found: Vec<(usize, CheckCarrier, CheckVerdict, Duration)>,
) -> Vec<(usize, CheckResult)> {
    let mut joined: BTreeMap<usize, (CheckOutcome, Duration)> = BTreeMap::new();
    let rank = |outcome: &CheckOutcome| match outcome {
        CheckOutcome::Failed { .. } => 2,
        CheckOutcome::Passed => 1,
        CheckOutcome::NotScored(_) => 0,
    };
    for (at, carrier, verdict, took) in found {
        let outcome = match verdict {
            Ok(()) => CheckOutcome::Passed,
            Err(CheckFault::Failed(failure)) => CheckOutcome::Failed { carrier: carrier.name(), failure },
            Err(CheckFault::Unscored(why)) => CheckOutcome::NotScored(why),
        };
        match joined.get_mut(&at) {
            Some((worst, sum)) => {
                *sum += took;
                if rank(&outcome) > rank(worst) {
                    *worst = outcome;
                }
            }
            None => {
                joined.insert(at, (outcome, took));
            }
        }
    }
    let result = |(at, (outcome, took)): (usize, (CheckOutcome, Duration))| {
        let row = rows.get(at).cloned()?;
        Some((at, CheckResult { row, outcome, took }))
    };
    joined.into_iter().filter_map(result).collect()
}

/// What every run is made from.
struct Judge {
    subject: Rc<ConformSubject>,
    server: Option<PathBuf>,
    carriers: Vec<CheckCarrier>,
}

impl Judge {
    fn make_bench(&self, carrier: CheckCarrier) -> Bench {
        Bench { subject: self.subject.clone(), carrier, server: self.server.clone() }
    }

    /// The carriers over which a row is scored for this worker.
    fn list_runs(&self, row: &CheckRow) -> Vec<CheckCarrier> {
        let is_in = |carrier: &CheckCarrier| {
            let stays = matches!(carrier, CheckCarrier::Lines | CheckCarrier::Length);
            row.carriers.iter().any(|name| name == carrier.name() || (stays && name == "stay"))
        };
        self.carriers.iter().copied().filter(is_in).collect()
    }

    /// Why a row is not scored at all.
    fn find_reason(&self, row: &CheckRow) -> Option<String> {
        if self.list_runs(row).is_empty() {
            let names: Vec<&str> = self.carriers.iter().map(|carrier| carrier.name()).collect();
            return Some(format!("it is not scored over {}", names.join(" and ")));
        }
        let needs = row.needs_task && !self.subject.takes_tasks();
        needs.then(|| "it needs a worker that takes <task> of conform.xsd".to_owned())
    }

    /// The carriers over which the worker does not answer at all, so that no check has to wait for it again.
    async fn find_dead(&self, rows: &[CheckRow]) -> BTreeMap<CheckCarrier, CheckFault> {
        let mut dead = BTreeMap::new();
        for carrier in &self.carriers {
            if !rows.iter().any(|row| self.list_runs(row).contains(carrier)) {
                continue;
            }
            let bench = self.make_bench(*carrier);
            let answered = match carrier {
                CheckCarrier::Once => checks::once::expect_alive(&bench).await,
                _ => bench.open_with(ReadPace::default()).await.map(drop),
            };
            if let Err(fault) = answered {
                dead.insert(*carrier, fault);
            }
        }
        dead
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g7_a_pattern_means_a_check_or_a_group() {
        assert!(is_match("text.escape", "text.*"));
        assert!(is_match("text.escape", "text.escape"));
        assert!(is_match("text.escape", "text"));
        assert!(!is_match("text.escape", "tex"));
        assert!(!is_match("stop.term", "nats.term"));
    }

    #[test]
    fn g7_the_worst_run_of_a_row_counts() {
        let rows = crate::list::find_list("1.0").unwrap();
        let failure = CheckFault::build_failure("a", "b", "c");
        let outcome = |verdicts: Vec<CheckVerdict>| {
            let runs = verdicts.into_iter().map(|verdict| (3, CheckCarrier::Lines, verdict, Duration::ZERO));
            join_runs(&rows, runs.collect()).remove(0).1.outcome
        };
        let unscored = || Err(CheckFault::build_unscored("no"));
        assert!(matches!(outcome(vec![Ok(()), Err(failure), unscored()]), CheckOutcome::Failed { .. }));
        assert_eq!(outcome(vec![unscored(), Ok(())]), CheckOutcome::Passed);
        assert_eq!(outcome(vec![unscored()]), CheckOutcome::NotScored("no".to_owned()));
    }
}
