//! Trust policies of C2SP: which logs and witnesses a reader knows, and which witnesses have to cosign.

mod reading;

use thiserror::Error;

pub use reading::PolicyFileFault;

use crate::checkpoint::{CheckpointFault, SignedCheckpoint};
use crate::key::VerifierKey;
use crate::note::NoteFault;

/// A log or a witness that a policy names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyParty {
    /// Its name inside the policy: of a log, that is its origin.
    pub name: String,
    /// Its key.
    pub key: VerifierKey,
    /// The address to talk to, as the policy has it.
    pub url: Option<String>,
}

/// A policy. Read one with [`TrustPolicy::parse`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustPolicy {
    logs: Vec<PolicyParty>,
    witnesses: Vec<PolicyParty>,
    /// In the order of the file: members come before their group.
    groups: Vec<WitnessGroup>,
    quorum: QuorumRule,
}

/// Something that witnesses a checkpoint or does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PolicyMember {
    /// A place among the witnesses.
    Witness(usize),
    /// A place among the groups.
    Group(usize),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct WitnessGroup {
    /// So many members have to witness a checkpoint.
    threshold: usize,
    members: Vec<PolicyMember>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QuorumRule {
    /// No witness is required.
    NoWitness,
    Member(PolicyMember),
}

/// A cosignature of a witness that the policy names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WitnessedBy {
    /// The name of the witness inside the policy.
    pub witness: String,
    /// The time of its cosignature, in seconds since 1970. If there are several, it is the earliest.
    pub seconds: u64,
}

/// What a policy says about a checkpoint that its log signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyVerdict {
    /// The key of the log that signed.
    pub log: VerifierKey,
    /// The witnesses that cosigned, in the order of the policy.
    pub cosigned: Vec<WitnessedBy>,
    /// The number of witnesses that the policy names.
    pub witnesses: usize,
    /// Whether enough of them cosigned.
    pub is_quorum: bool,
}

/// Why a checkpoint cannot be judged.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PolicyFault {
    /// No log of the policy has the origin of the checkpoint.
    #[error("the policy names no log {0}; add a line: log VERIFIER_KEY")]
    UnknownLog(String),
    /// The log did not sign, or not rightly.
    #[error(transparent)]
    Log(#[from] CheckpointFault),
    /// A cosignature of a known witness is wrong.
    #[error(transparent)]
    Witness(NoteFault),
}

impl TrustPolicy {
    /// The logs, in the order of the file.
    #[must_use]
    pub fn logs(&self) -> &[PolicyParty] {
        &self.logs
    }

    /// The witnesses, in the order of the file.
    #[must_use]
    pub fn witnesses(&self) -> &[PolicyParty] {
        &self.witnesses
    }

    /// Judges a checkpoint. If the caller expects a certain log, its key alone counts; otherwise one of the
    /// policy's logs has to have signed.
    ///
    /// # Errors
    /// If no such log signed, or a signature of a known key is wrong. Too few cosignatures are no error.
    pub fn judge_checkpoint(
        &self,
        checkpoint: &SignedCheckpoint,
        expected: Option<&VerifierKey>,
    ) -> Result<PolicyVerdict, PolicyFault> {
        let log = match expected {
            Some(key) => {
                checkpoint.verify_with(key)?;
                key.clone()
            }
            None => self.find_log(checkpoint)?,
        };
        let times = self.list_witness_times(checkpoint)?;
        let is_quorum = match self.quorum {
            QuorumRule::NoWitness => true,
            QuorumRule::Member(member) => self.is_witnessed(member, &times),
        };
        let parties = self.witnesses.iter().zip(&times);
        let cosigned = parties
            .filter_map(|(party, seconds)| {
                Some(WitnessedBy { witness: party.name.clone(), seconds: (*seconds)? })
            })
            .collect();
        Ok(PolicyVerdict { log, cosigned, witnesses: self.witnesses.len(), is_quorum })
    }

    /// The key of the policy's logs that signed. A wrong signature of any of them is an error.
    fn find_log(&self, checkpoint: &SignedCheckpoint) -> Result<VerifierKey, PolicyFault> {
        let origin = checkpoint.checkpoint().origin();
        let of_origin = self.logs.iter().map(|log| &log.key).filter(|key| key.name() == origin);
        let keys: Vec<VerifierKey> = of_origin.cloned().collect();
        if keys.is_empty() {
            return Err(PolicyFault::UnknownLog(origin.to_owned()));
        }
        let verified = checkpoint.note().verify_with(&keys).map_err(CheckpointFault::Note)?;
        let signed = verified.first().and_then(|first| keys.get(first.key));
        signed.cloned().ok_or(PolicyFault::Log(CheckpointFault::Note(NoteFault::Unsigned)))
    }

    /// The time of each witness's cosignature.
    fn list_witness_times(&self, checkpoint: &SignedCheckpoint) -> Result<Vec<Option<u64>>, PolicyFault> {
        let keys: Vec<VerifierKey> = self.witnesses.iter().map(|witness| witness.key.clone()).collect();
        let verified = match checkpoint.note().verify_with(&keys) {
            Ok(verified) => verified,
            Err(NoteFault::Unsigned) => Vec::new(),
            Err(fault) => return Err(PolicyFault::Witness(fault)),
        };
        let time_of = |key: usize| {
            verified
                .iter()
                .filter(|signature| signature.key == key)
                .filter_map(|signature| signature.seconds)
                .min()
        };
        Ok((0..keys.len()).map(time_of).collect())
    }

    fn is_witnessed(&self, member: PolicyMember, times: &[Option<u64>]) -> bool {
        let mut groups: Vec<bool> = Vec::new();
        let holds = |member: &PolicyMember, groups: &[bool]| match member {
            PolicyMember::Witness(place) => times.get(*place).is_some_and(Option::is_some),
            PolicyMember::Group(place) => groups.get(*place).copied().unwrap_or_default(),
        };
        for group in &self.groups {
            let count = group.members.iter().filter(|member| holds(member, &groups)).count();
            groups.push(count >= group.threshold);
        }
        holds(&member, &groups)
    }
}
