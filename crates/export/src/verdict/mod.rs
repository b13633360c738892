//! The verdict about a log: what its records show by themselves, and what signed checkpoints and other logs show about
//! them. Records and what others kept come in; a verdict and the answers to six questions come out.

mod answers;
mod checkpoints;
mod entry;
mod gaps;
mod gathering;
mod newest;
mod programs;

use systole_core::types::ports::Position;
use systole_proof::policy::TrustPolicy;

pub use answers::{AnswerStanding, AuditAnswer};
pub use checkpoints::{CheckpointFinding, CheckpointKeeper, CheckpointSigner, CheckpointSource, RootFit};
pub use entry::ProvedEntry;
pub use gaps::CheckpointGap;
pub use gathering::{GatheredLog, OtherEnd, check_end};
pub use newest::{NewestCheckpoint, ProofStanding, ProofTone, WitnessStanding};
pub use programs::StartedFile;

/// What an intact log shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LogVerdict {
    /// It fits together. No checkpoint that counts confirms it.
    Sound,
    /// Its first records, so many, are those of a checkpoint that counts.
    Anchored(u64),
    /// The same, and of this many witnesses of the policy so many cosigned it.
    Witnessed {
        /// The records that the checkpoint is about.
        size: u64,
        /// The witnesses that cosigned.
        cosigned: usize,
        /// The witnesses of the policy.
        witnesses: usize,
    },
    /// What others kept is not in it. The first record that differs is one of these.
    Contradicted {
        /// The first position that it may be.
        first: Position,
        /// The last position that it may be.
        last: Position,
        /// Who says otherwise.
        by: String,
    },
}

impl LogVerdict {
    /// The verdict in words.
    pub fn words(&self) -> String {
        match self {
            LogVerdict::Sound => "sound".to_owned(),
            LogVerdict::Anchored(size) => format!("anchored up to #{size}"),
            LogVerdict::Witnessed { size, cosigned, witnesses } => {
                format!("witnessed by {cosigned} of {witnesses} up to #{size}")
            }
            LogVerdict::Contradicted { first, last, by } if first == last => {
                format!("contradicted at #{} by {by}", first.0)
            }
            LogVerdict::Contradicted { first, last, by } => {
                format!("contradicted between #{} and #{} by {by}", first.0, last.0)
            }
        }
    }
}

/// Everything that was found out about an intact log.
pub struct LogExamination {
    /// How many records it has.
    pub records: u64,
    /// What the walk through it gathered.
    pub log: GatheredLog,
    /// The names of the other logs, in the order of what was found about them.
    pub others: Vec<String>,
    /// What was found about each checkpoint, the largest last.
    pub checkpoints: Vec<CheckpointFinding>,
    /// Whether the reader named a policy.
    pub has_policy: bool,
}

impl LogExamination {
    /// Puts together what was found.
    pub fn new(
        records: u64,
        log: GatheredLog,
        others: Vec<String>,
        sources: &[CheckpointSource],
        policy: Option<&TrustPolicy>,
    ) -> LogExamination {
        let of = |source| CheckpointFinding::from_source(source, policy, records, &log);
        let mut checkpoints: Vec<CheckpointFinding> = sources.iter().map(of).collect();
        checkpoints.sort_by_key(|finding| finding.size);
        LogExamination { records, log, others, checkpoints, has_policy: policy.is_some() }
    }

    /// The verdict.
    pub fn verdict(&self) -> LogVerdict {
        self.contradiction().unwrap_or_else(|| match self.best_checkpoint() {
            Some(finding) => match finding.policy_verdict() {
                Some(known) if !known.cosigned.is_empty() && known.is_quorum => LogVerdict::Witnessed {
                    size: finding.size,
                    cosigned: known.cosigned.len(),
                    witnesses: known.witnesses,
                },
                _ => LogVerdict::Anchored(finding.size),
            },
            None => LogVerdict::Sound,
        })
    }

    /// Whether the policy, if there is one, is satisfied.
    pub fn satisfies_policy(&self) -> bool {
        !self.has_policy
            || self
                .best_checkpoint()
                .and_then(CheckpointFinding::policy_verdict)
                .is_some_and(|known| known.is_quorum)
    }

    /// The checkpoint that shows most: one with a quorum before one without, one that others confirm before one that
    /// only the log's key shows, a larger one before a smaller one.
    pub fn best_checkpoint(&self) -> Option<&CheckpointFinding> {
        // The checkpoint of an empty log fits every log.
        let shows =
            |found: &&CheckpointFinding| found.supports() && found.fit == RootFit::Same && found.size > 0;
        let fits = self.checkpoints.iter().filter(shows);
        let rank = |found: &CheckpointFinding| {
            let known = found.policy_verdict();
            (known.is_some_and(|known| known.is_quorum), known.is_some(), found.is_confirmed(), found.size)
        };
        fits.max_by_key(|found| rank(found))
    }

    /// The files of programs, as the records name them. A contradicted log shows none.
    pub fn files(&self) -> &[StartedFile] {
        if self.contradiction().is_some() { &[] } else { &self.log.files }
    }

    fn contradiction(&self) -> Option<LogVerdict> {
        let at = |first, last, by: &str| LogVerdict::Contradicted { first, last, by: by.to_owned() };
        let others = self.others.iter().zip(&self.log.others);
        let by_logs = others.filter_map(|(name, end)| match end {
            OtherEnd::Differs(position) | OtherEnd::Longer(position) => Some(at(*position, *position, name)),
            OtherEnd::Same(_) | OtherEnd::Unread(_) => None,
        });
        let counting = || self.checkpoints.iter().filter(|found| found.counts());
        let by_notes = counting().filter(|found| found.fit != RootFit::Same).map(|found| {
            let agreed = counting().filter(|other| other.fit == RootFit::Same && other.size < found.size);
            let first = Position(agreed.map(|other| other.size).max().unwrap_or(0) + 1);
            let by = format!("{} of {}", found.place, found.origin);
            match found.fit {
                RootFit::Fewer => at(Position(self.records + 1), Position(self.records + 1), &by),
                RootFit::Same | RootFit::Other => at(first, Position(found.size.max(1)), &by),
            }
        });
        by_logs.chain(by_notes).min_by_key(|verdict| match verdict {
            LogVerdict::Contradicted { first, last, .. } => (last.0, u64::MAX - first.0),
            _ => (u64::MAX, 0),
        })
    }
}
