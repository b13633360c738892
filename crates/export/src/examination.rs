//! The verdict about an export: the one about a log, for the records that the export has. A walk and checkpoints come
//! in; a verdict, six answers and what was not checked come out.

use std::collections::BTreeMap;

use systole_proof::policy::TrustPolicy;
use systole_proof::tree::TreeHash;

use super::statement::{ExportStatement, StatementSigner};
use super::verifying::WalkedExport;
use crate::verdict::{
    AnswerStanding, AuditAnswer, CheckpointSource, GatheredLog, LogExamination, LogVerdict,
};
use systole_core::types::time::Millis;

/// Everything that was found out about an export that fits together.
pub struct ExportExamination {
    /// What the walk through it found.
    pub walked: WalkedExport,
    /// The same as about a log of which the reader has these records.
    pub log: LogExamination,
    /// What it says about itself.
    statement: ExportStatement,
    /// The records that its checkpoint is about; `None` if it has none.
    proved: Option<u64>,
    /// What the reader gave and could not be compared.
    uncompared: Vec<String>,
}

impl ExportExamination {
    /// Puts together what was found. `proved` is the size and the root that the records lead to. Of the checkpoints,
    /// the first is that of the export, if it has one; a proof can be compared with one of the same size alone.
    pub fn new(
        walked: WalkedExport,
        statement: ExportStatement,
        proved: Option<(u64, TreeHash)>,
        sources: Vec<CheckpointSource>,
        policy: Option<&TrustPolicy>,
    ) -> ExportExamination {
        let own = proved
            .and_then(|(size, _)| Some((sources.first()?.signed.checkpoint().origin().to_owned(), size)));
        let is_same = |source: &CheckpointSource| {
            let checkpoint = source.signed.checkpoint();
            own.as_ref().is_some_and(|(origin, size)| {
                (checkpoint.origin(), checkpoint.size()) == (origin.as_str(), *size)
            })
        };
        let (same, others): (Vec<_>, Vec<_>) = sources.into_iter().partition(is_same);
        let uncompared = others.iter().map(|source| {
            let checkpoint = source.signed.checkpoint();
            format!(
                "{}: it is of {} at #{}, and the export has no proof for that one",
                source.place,
                checkpoint.origin(),
                checkpoint.size()
            )
        });
        let uncompared = uncompared.collect();
        let last = walked.leaves.last().map_or(0, |(position, _)| *position);
        let moment = |text: &String| Millis::parse(text);
        let gathered = GatheredLog {
            root: proved.map_or(systole_proof::tree::compute_empty_root(), |(_, root)| root),
            roots: proved.into_iter().collect::<BTreeMap<_, _>>(),
            times: walked.times.as_ref().and_then(|(first, last)| Some((moment(first)?, moment(last)?))),
            moments: BTreeMap::new(),
            configs: walked.configs,
            // What is left out of an export is listed from the export itself.
            erased: Vec::new(),
            erased_documents: 0,
            elsewhere: 0,
            files: Vec::new(),
            others: Vec::new(),
        };
        let records = proved.map_or(last, |(size, _)| size.max(last));
        let log = LogExamination::new(records, gathered, Vec::new(), &same, policy);
        let proved = proved.map(|(size, _)| size);
        ExportExamination { walked, log, statement, proved, uncompared }
    }

    /// The answers to the six questions.
    pub fn answers(&self) -> Vec<AuditAnswer> {
        let mut answers = self.log.answers();
        if let LogVerdict::Contradicted { .. } = self.log.verdict() {
            return answers;
        }
        if let Some(left_out) = answers.get_mut(3) {
            // A checkpoint says nothing about records that an export does not have.
            left_out.standing = AnswerStanding::Assertion;
            left_out.words = "No record of a thread is missing between two others, and no child of a parent. \
                              Whether a thread goes on after its last record here is known only of children whose \
                              end their parent records. Other threads of the log are not in the export."
                .to_owned();
        }
        if self.walked.lacks_configurations
            && let Some(configuration) = answers.get_mut(2)
        {
            configuration.words =
                "Each record names its configuration by its hash; the export was made without documents."
                    .to_owned();
        }
        answers
    }

    /// What the reader gave and could not be compared.
    pub fn uncompared_inputs(&self) -> &[String] {
        &self.uncompared
    }

    /// Who signed the statement, in words.
    pub fn signer_names(&self) -> Vec<String> {
        let words = |signer: &StatementSigner| match signer {
            StatementSigner::Known(key) => format!("statement.json is signed by {key}"),
            StatementSigner::Unknown(key) => format!("statement.json has a signature of {key}"),
        };
        self.statement.signers.iter().map(words).collect()
    }

    /// What was not checked, in words.
    pub fn not_checked(&self) -> Vec<String> {
        let mut words = self.uncompared.clone();
        let is_after = |(at, _): &&(u64, TreeHash)| self.proved.is_some_and(|size| *at > size);
        let after = self.walked.proved_leaves().iter().filter(is_after).count();
        match (self.proved, after) {
            (None, _) => words.push(
                "whether records were changed since: the export has no checkpoint of its log".to_owned(),
            ),
            (Some(_), 0) => {}
            (Some(_), after) => words.push(format!(
                "{after} records after the checkpoint: anyone who can write the log may have made them"
            )),
        }
        let unknown = |signer: &&StatementSigner| matches!(signer, StatementSigner::Unknown(_));
        match self.statement.signers.iter().filter(unknown).count() {
            0 if self.statement.signers.is_empty() => {
                words.push("who made the export: statement.json is not signed".to_owned());
            }
            0 => {}
            _ => {
                words.push("a signature of statement.json, by a key that the policy does not name".to_owned())
            }
        }
        let WalkedExport { missing, erased, unread, orphan, .. } = &self.walked;
        if *missing > 0 {
            words.push(format!("{missing} documents that records name: the export was made without them"));
        }
        if *erased > 0 {
            words.push(format!("{erased} documents that records name: they are erased in the log"));
        }
        if *unread > 0 {
            words.push(format!(
                "the beginning of {unread} children: what their parents say of it was left out"
            ));
        }
        if let Some(orphan) = orphan {
            words.push(format!("who spawned {orphan}: its parent is not in the export"));
        }
        words.push("what listeners did outside of the log, and the clock of its machine".to_owned());
        words.push("index.html and thread.xml: views for people, made from records.jsonl".to_owned());
        words.push("starts.jsonl: when the organism was started and paused, as the sender says".to_owned());
        words
    }
}
