//! The newest checkpoint beside a log, without a walk through the log: how far it goes, who signed it, which witnesses
//! cosigned it and which are away.
//!
//! Checkpoints and a policy come in; a standing in words goes out. Whether the records have its root is left to
//! verifying.

use serde_json::{Value, json};
use systole_proof::checkpoint::{CheckpointFault, SignedCheckpoint};
use systole_proof::policy::TrustPolicy;

use super::CheckpointSigner;
use systole_core::types::ports::Position;
use systole_core::types::time::{Millis, spell_duration};
use systole_show::columns::plain;

/// The newest checkpoint that counts, and what is wrong beside it.
pub struct ProofStanding {
    /// The end of the log.
    pub end: Position,
    /// The checkpoint; `None` if none counts.
    pub checkpoint: Option<NewestCheckpoint>,
    /// The checkpoints that cannot be read, each with the reason.
    pub unread: Vec<String>,
}

/// A checkpoint that the log signed.
pub struct NewestCheckpoint {
    /// Its last position.
    pub size: u64,
    /// The name of the key that signed.
    pub signer: String,
    /// When its last record was written, if that is known.
    pub recorded: Option<Millis>,
    /// The witnesses of the policy.
    pub witnesses: Vec<WitnessStanding>,
    /// Whether enough of them cosigned it.
    pub is_quorum: bool,
}

/// What a witness cosigned last.
pub struct WitnessStanding {
    /// Its name in the policy.
    pub name: String,
    /// The last position of the newest checkpoint that it cosigned, and when.
    pub last: Option<(u64, Millis)>,
}

/// How a sentence of the standing is meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProofTone {
    /// As it should be.
    Good,
    /// Something is missing.
    Held,
    /// Something is wrong.
    Bad,
}

impl ProofTone {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            ProofTone::Good => "good",
            ProofTone::Held => "held",
            ProofTone::Bad => "bad",
        }
    }
}

impl ProofStanding {
    /// The standing by the newest checkpoints of a log that ends at `end`. `recorded` says when a record was written.
    pub fn find_standing<E>(
        found: Vec<Result<SignedCheckpoint, CheckpointFault>>,
        policy: Option<&TrustPolicy>,
        end: Position,
        recorded: impl FnOnce(u64) -> Result<Option<Millis>, E>,
    ) -> Result<ProofStanding, E> {
        let mut standing = ProofStanding { end, checkpoint: None, unread: Vec::new() };
        let Some(policy) = policy else { return Ok(standing) };
        let mut newest: Option<NewestCheckpoint> = None;
        let nameless =
            || policy.witnesses().iter().map(|one| WitnessStanding { name: one.name.clone(), last: None });
        let mut witnesses: Vec<WitnessStanding> = nameless().collect();
        for read in found {
            let signed = match read {
                Ok(signed) if signed.checkpoint().size() <= end.0 => signed,
                // It was signed later than the moment that is shown.
                Ok(_) => continue,
                Err(why) => {
                    standing.unread.push(plain(&why.to_string()));
                    continue;
                }
            };
            let CheckpointSigner::Known(verdict) = CheckpointSigner::find_signer(policy, &signed) else {
                continue;
            };
            let size = signed.checkpoint().size();
            for witness in &mut witnesses {
                let by = verdict.cosigned.iter().find(|one| one.witness == witness.name);
                let is_newer = witness.last.is_none_or(|(known, _)| known <= size);
                if let Some(by) = by.filter(|_| is_newer) {
                    witness.last = Some((size, Millis(by.seconds.saturating_mul(1_000))));
                }
            }
            if newest.as_ref().is_none_or(|newest| newest.size <= size) {
                let (signer, is_quorum) = (plain(verdict.log.name()), verdict.is_quorum);
                let witnesses = Vec::new();
                newest = Some(NewestCheckpoint { size, signer, recorded: None, witnesses, is_quorum });
            }
        }
        if let Some(newest) = &mut newest {
            newest.recorded = recorded(newest.size)?;
            newest.witnesses = witnesses;
        }
        standing.checkpoint = newest;
        Ok(standing)
    }

    /// Whether the newest checkpoint covers a record, in a sentence.
    pub fn describe_cover(&self, position: Position) -> (ProofTone, String) {
        match &self.checkpoint {
            None => (ProofTone::Held, "No valid checkpoint is stored beside the log.".to_owned()),
            Some(newest) if newest.size >= position.0 => {
                let words = format!(
                    "A checkpoint of {} covers it: it ends at position {}.",
                    newest.signer, newest.size
                );
                (ProofTone::Good, words)
            }
            Some(newest) => {
                let words =
                    format!("No checkpoint covers it yet: the last one ends at position {}.", newest.size);
                (ProofTone::Held, words)
            }
        }
    }

    /// The standing in sentences.
    pub fn sentences(&self, now: Millis) -> Vec<(ProofTone, String)> {
        let ago = |at: Millis| format!("{} ago", spell_duration(now.count_since(at)));
        let mut all = Vec::new();
        match &self.checkpoint {
            None => all.push((ProofTone::Held, "No valid checkpoint is stored beside the log.".to_owned())),
            Some(newest) => {
                let recorded = newest.recorded.map(|at| format!(", recorded {}", ago(at)));
                let left = self.end.0.saturating_sub(newest.size);
                let left =
                    if left > 0 { format!("; {left} newer records are unsigned") } else { String::new() };
                let (signer, size) = (&newest.signer, newest.size);
                let words = format!(
                    "The last checkpoint is signed by {signer} and ends at position {size}{}{left}.",
                    recorded.unwrap_or_default()
                );
                all.push((ProofTone::Good, words));
                all.extend(newest.witnesses.iter().map(|witness| newest.told_of(witness, &ago)));
                if !newest.is_quorum {
                    let words = "Too few witnesses cosigned it for the policy.".to_owned();
                    all.push((ProofTone::Bad, words));
                }
            }
        }
        let unread = |why: &String| (ProofTone::Bad, format!("A checkpoint cannot be read: {why}."));
        all.extend(self.unread.iter().map(unread));
        all
    }

    /// The standing for programs.
    pub fn as_json(&self) -> Value {
        let witness = |one: &WitnessStanding| {
            let (size, at) = one.last.unzip();
            json!({"name": one.name, "size": size, "cosigned": at.map(|at| at.to_string())})
        };
        let checkpoint = self.checkpoint.as_ref().map(|newest| {
            json!({"size": newest.size, "signer": newest.signer, "is_quorum": newest.is_quorum,
                "recorded": newest.recorded.map(|at| at.to_string()),
                "witnesses": newest.witnesses.iter().map(witness).collect::<Vec<_>>()})
        });
        json!({"end": self.end.0, "checkpoint": checkpoint, "unread": self.unread})
    }
}

impl NewestCheckpoint {
    fn told_of(&self, witness: &WitnessStanding, ago: &dyn Fn(Millis) -> String) -> (ProofTone, String) {
        let name = plain(&witness.name);
        match witness.last {
            Some((size, at)) if size == self.size => {
                (ProofTone::Good, format!("The witness {name} cosigned it {}.", ago(at)))
            }
            Some((size, at)) => {
                let words =
                    format!("The witness {name} is away: it last cosigned position {size}, {}.", ago(at));
                (ProofTone::Held, words)
            }
            None => {
                let words =
                    format!("The witness {name} is away: it cosigned none of the newest checkpoints.");
                (ProofTone::Held, words)
            }
        }
    }
}
