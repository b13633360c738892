//! Signed checkpoints beside the log that they are about: whether its first records have the root that was signed, and
//! who signed it.

use systole_proof::checkpoint::SignedCheckpoint;
use systole_proof::policy::{PolicyFault, PolicyVerdict, TrustPolicy};

use super::gathering::GatheredLog;

/// Who kept a checkpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CheckpointKeeper {
    /// It is beside the log, or in an export: who can write the log can write it too.
    Supplier,
    /// The reader kept it apart from the log.
    Reader,
    /// It is the answer of a witness's address. Only a cosignature shows that it is the witness's own.
    Witness,
}

/// What is said about the answer of a witness's address that no known witness cosigned.
const UNPROVEN: &str = "; the answer was compared, but no cosignature proves that it is the witness's own";

/// A checkpoint and where it is from.
pub struct CheckpointSource {
    /// Its file, and its first line there; or the address of a witness.
    pub place: String,
    /// Who kept it.
    pub keeper: CheckpointKeeper,
    /// The checkpoint.
    pub signed: SignedCheckpoint,
}

/// What was found about a checkpoint.
pub struct CheckpointFinding {
    /// Where it is from.
    pub place: String,
    /// Who kept it.
    pub keeper: CheckpointKeeper,
    /// The name of the log in it.
    pub origin: String,
    /// How many records it is about.
    pub size: u64,
    /// Whether these records have its root.
    pub fit: RootFit,
    /// Who signed it.
    pub signer: CheckpointSigner,
}

/// Whether a log has the root that a checkpoint says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RootFit {
    /// Its first records are those of the checkpoint.
    Same,
    /// One of its first records is another one.
    Other,
    /// The log has fewer records.
    Fewer,
}

/// Who signed a checkpoint.
pub enum CheckpointSigner {
    /// A log that the policy names.
    Known(Box<PolicyVerdict>),
    /// No policy says which keys are known; but the reader kept the checkpoint apart.
    KeptApart,
    /// No policy says which keys are known, and the checkpoint is the answer of a witness's address.
    ReadBack,
    /// No key that counts, for this reason.
    Unknown(String),
}

impl CheckpointFinding {
    /// What was found, in words.
    pub fn words(&self) -> String {
        let CheckpointFinding { place, origin, size, .. } = self;
        let fit = match self.fit {
            RootFit::Same => "fits",
            RootFit::Other => "does not fit: another root",
            RootFit::Fewer => "does not fit: the log has fewer records",
        };
        let signer = match &self.signer {
            CheckpointSigner::Known(known) if known.witnesses == 0 => "signed by its log".to_owned(),
            CheckpointSigner::Known(known) => {
                let (cosigned, all) = (known.cosigned.len(), known.witnesses);
                let enough = if known.is_quorum { "enough" } else { "too few" };
                format!(
                    "signed by its log, cosigned by {cosigned} of {all} witnesses: {enough} for the policy"
                )
            }
            CheckpointSigner::KeptApart | CheckpointSigner::ReadBack => {
                "whose signature was not checked: there is no --policy".to_owned()
            }
            CheckpointSigner::Unknown(why) => format!("which does not count: {why}"),
        };
        let unproven = if self.is_unproven_answer() { UNPROVEN } else { "" };
        format!("{place}: the checkpoint of {origin} at #{size} {fit}; {signer}{unproven}")
    }

    pub(super) fn from_source(
        source: &CheckpointSource,
        policy: Option<&TrustPolicy>,
        records: u64,
        log: &GatheredLog,
    ) -> CheckpointFinding {
        let checkpoint = source.signed.checkpoint();
        let size = checkpoint.size();
        let fit = match log.roots.get(&size) {
            Some(root) if root == checkpoint.root() => RootFit::Same,
            None if size > records => RootFit::Fewer,
            _ => RootFit::Other,
        };
        let signer = match policy {
            Some(policy) => CheckpointSigner::find_signer(policy, &source.signed),
            None => match source.keeper {
                CheckpointKeeper::Reader => CheckpointSigner::KeptApart,
                CheckpointKeeper::Witness => CheckpointSigner::ReadBack,
                CheckpointKeeper::Supplier => {
                    CheckpointSigner::Unknown("without --policy no key is known".to_owned())
                }
            },
        };
        let (place, origin) = (source.place.clone(), checkpoint.origin().to_owned());
        CheckpointFinding { place, keeper: source.keeper, origin, size, fit, signer }
    }

    /// Whether the reader named it for nothing: the policy knows no key that signed it.
    pub fn is_of_no_use(&self) -> bool {
        self.keeper != CheckpointKeeper::Supplier && !self.counts()
    }

    /// Whether it says something against who can write the log.
    pub(super) fn counts(&self) -> bool {
        !matches!(self.signer, CheckpointSigner::Unknown(_))
    }

    /// Whether it says something for the log. An answer without a known key may be from anyone, so it can only
    /// contradict the log.
    pub(super) fn supports(&self) -> bool {
        self.counts() && !matches!(self.signer, CheckpointSigner::ReadBack)
    }

    /// Whether it is the answer of a witness's address, and no known witness cosigned it.
    pub(super) fn is_unproven_answer(&self) -> bool {
        let is_cosigned =
            matches!(&self.signer, CheckpointSigner::Known(verdict) if !verdict.cosigned.is_empty());
        self.keeper == CheckpointKeeper::Witness && !is_cosigned
    }

    /// Whether someone else than the holder of the log's key says so: a witness of the policy cosigned it, or the reader
    /// kept it apart. What only that key shows is the word of the supplier.
    pub(super) fn is_confirmed(&self) -> bool {
        let is_kept = self.keeper == CheckpointKeeper::Reader;
        self.policy_verdict().is_some_and(|known| is_kept || !known.cosigned.is_empty())
    }

    /// The judgement of the policy, if the checkpoint fits the log.
    pub(super) fn policy_verdict(&self) -> Option<&PolicyVerdict> {
        match &self.signer {
            CheckpointSigner::Known(verdict) if self.fit == RootFit::Same => Some(verdict),
            _ => None,
        }
    }
}

impl CheckpointSigner {
    /// Who signed, by a policy. A line that a stranger added, with a wrong signature of a witness, takes nothing from the
    /// signature of the log.
    pub fn find_signer(policy: &TrustPolicy, signed: &SignedCheckpoint) -> CheckpointSigner {
        match policy.judge_checkpoint(signed, None) {
            Ok(verdict) => CheckpointSigner::Known(Box::new(verdict)),
            Err(PolicyFault::Witness(fault)) => {
                let log =
                    policy.logs().iter().map(|log| &log.key).find(|key| signed.verify_with(key).is_ok());
                match log {
                    Some(log) => CheckpointSigner::Known(Box::new(PolicyVerdict {
                        log: log.clone(),
                        cosigned: Vec::new(),
                        witnesses: policy.witnesses().len(),
                        is_quorum: false,
                    })),
                    None => CheckpointSigner::Unknown(fault.to_string()),
                }
            }
            Err(fault) => CheckpointSigner::Unknown(fault.to_string()),
        }
    }
}
