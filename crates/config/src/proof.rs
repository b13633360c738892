//! The section `proof`: which key signs checkpoints of the log, how often, and where they go.
//!
//! Input: the nodes, the file of the key and the policy. Output: the settings for the program that runs the organism.
//! A key that is not on this machine is no mistake, because hosts of listeners and tests have none; the machine
//! with the pump needs it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use systole_proof::key::{SignatureKind, SignerKey, VerifierKey};
use systole_proof::policy::TrustPolicy;

use super::diagnostics::Diagnostics;
use super::forms::{AnyText, LongWait, NameSet};
use super::key::KeyForm;
use super::log_kept::{Durability, Kept};
use super::section::{Form, SectionKeys, form, section};
use super::tree::{Node, Span};
use super::value::At;
use crate::limits;
use systole_core::types::codes::Code;
use systole_system::signing_key;
use systole_system::system;
use systole_witness::WitnessPlace;

section! {
    /// The section as it is written.
    pub(super) ProofKeys with own never ["secret": "the secret key belongs in a file of its own", "key: FILE, from systole keygen";] {
        key: required("key: proof.key, from systole keygen") <AnyText> "the file of the secret key, from `systole keygen`; a path from this file's folder";
        origin: required("origin: example.org/acme, the name of the key") <AnyText> "the name of the log, which is the name of the key";
        every: default(3_600_000) <LongWait> "how often a checkpoint is signed if the log has grown, {bounds}; also at each start and each clean stop";
        to: default(Vec::new()) <NameSet> "witnesses by their addresses, `http://` or `https://`, and folders that keep the checkpoint and the tiles of the log, paths from this file's folder";
        policy: optional("none") <AnyText> "the file with the keys of the witnesses, in the form of `tlog-policy`; required beside an address in `to`";
    }
}

form! {
    /// The section, with a bounded number of places.
    pub(super) BoundedProof -> ProofKeys { KeyForm::Map, read_proof, below ProofKeys::ROWS }
}

fn read_proof(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<ProofKeys> {
    let keys = ProofKeys::read(diagnostics, node, path)?;
    if let Some(more) = keys.to.value.get(limits::PLACES) {
        let message = format!("proof.to: it names {} places", keys.to.value.len());
        diagnostics.report_value(more.at, &message, "16 places at most");
    }
    Some(keys)
}

impl ProofKeys {
    /// The folders to which checkpoints go.
    pub(super) fn folders(&self) -> impl Iterator<Item = &str> {
        self.to.value.iter().map(|to| to.value.as_str()).filter(|to| !to.contains("://"))
    }
}

/// Who signs checkpoints of the log, and where they go.
#[derive(Clone, Debug)]
pub struct ProofSettings {
    /// The file of the key.
    pub file: PathBuf,
    /// The key. `None` if the file is not on this machine.
    pub key: Option<SignerKey>,
    /// The name of the log.
    pub origin: String,
    /// How often a checkpoint is signed if the log has grown.
    pub every: Duration,
    /// Where each checkpoint goes.
    pub to: Vec<WitnessPlace>,
    /// Further keys of the log that the policy names. Their checkpoints count too.
    pub logs: Vec<VerifierKey>,
    /// The keys of the witnesses.
    pub witnesses: Vec<VerifierKey>,
    /// The policy that names them.
    pub policy: Option<TrustPolicy>,
}

/// Checks the values with each other and with the files that they name. `is_only_read` says that the log is only
/// read, so that no file is opened.
pub(super) fn resolve(
    diagnostics: &mut Diagnostics,
    (proof, kept): (&ProofKeys, Option<&Kept>),
    directory: &Path,
    is_only_read: bool,
) -> Option<ProofSettings> {
    let kept = kept.and_then(|kept| kept.kept.as_ref().map(|log| (kept.at, log)));
    if let Some((at, log)) = kept
        && log.durability == Durability::Relaxed
    {
        let message = "proof: with `durability: relaxed` the broker may lose records that are signed already";
        let fix = "log.durability: always, or leave `proof` out";
        diagnostics.report_value_beside(proof.own.at, message, fix, (at, "kept here"));
    }
    let places = proof.to.value.iter().map(|to| match WitnessPlace::parse(&to.value, directory) {
        Ok(place) => Some(place),
        Err(why) => {
            let message = format!("proof.to: `{}`: {why}", to.value);
            let fix = "https://HOST/PATH of a witness, or the path of a folder";
            diagnostics.report_value(to.at, &message, fix);
            None
        }
    });
    let to: Vec<WitnessPlace> = places.collect::<Vec<_>>().into_iter().collect::<Option<_>>()?;
    let (file, origin) = (proof.key.as_ref()?, proof.origin.as_ref()?);
    let path = directory.join(&file.value);
    let key = if is_only_read { None } else { key(diagnostics, (file, &path), origin)? };
    let policy = match &proof.policy {
        Some(named) if !is_only_read => Some(policy(diagnostics, named, directory)?),
        _ => None,
    };
    if let Some(policy) = &policy {
        let named = proof.policy.as_ref()?;
        check_policy(diagnostics, named.at, policy, (&origin.value, key.as_ref(), &to))?;
    }
    let url = proof.to.value.iter().zip(&to).find(|(_, place)| matches!(place, WitnessPlace::Url { .. }));
    if let (Some((url, _)), None) = (url, &proof.policy) {
        let message = format!("proof.to: `{}` is a witness, and no `policy` names its key", url.value);
        let fix = "policy: proof.policy, a file with the line: witness NAME KEY";
        diagnostics.report(Code::ConfigMissing, url.at, &message, fix);
        return None;
    }
    let keys = |parties: &[systole_proof::policy::PolicyParty]| -> Vec<VerifierKey> {
        parties.iter().map(|party| party.key.clone()).collect()
    };
    let logs = policy.as_ref().map(|policy| keys(policy.logs())).unwrap_or_default();
    Some(ProofSettings {
        file: path.components().collect(),
        key,
        origin: origin.value.clone(),
        every: Duration::from_millis(proof.every.value),
        to,
        logs: logs.into_iter().filter(|log| log.name() == origin.value).collect(),
        witnesses: policy.as_ref().map(|policy| keys(policy.witnesses())).unwrap_or_default(),
        policy,
    })
}

/// The key of the file, if it is there. `None` after a mistake was reported.
fn key(
    diagnostics: &mut Diagnostics,
    (file, path): (&At<String>, &Path),
    origin: &At<String>,
) -> Option<Option<SignerKey>> {
    if path.symlink_metadata().is_err() {
        return Some(None);
    }
    let key = match signing_key::read_key(path) {
        Ok(key) => key,
        Err(fault) => {
            let message = format!("proof.key: {}", fault.words);
            diagnostics.report_value(file.at, &message, fault.fix);
            return None;
        }
    };
    if key.verifier().kind() != SignatureKind::Plain {
        let message = format!("proof.key: {} has the key of a witness", file.value);
        let fix = "the key of a log: systole keygen without --witness";
        diagnostics.report_value(file.at, &message, fix);
        return None;
    }
    if key.verifier().name() != origin.value {
        let message = format!("proof.origin: the key in {} is that of {}", file.value, key.verifier().name());
        let second = (file.at, "the key");
        let fix = format!("origin: {}, or another key", key.verifier().name());
        diagnostics.report_value_beside(origin.at, &message, &fix, second);
        return None;
    }
    Some(Some(key))
}

fn policy(diagnostics: &mut Diagnostics, named: &At<String>, directory: &Path) -> Option<TrustPolicy> {
    let path = directory.join(&named.value);
    match system::read_bounded(&path, systole_proof::limits::POLICY_BYTES) {
        Ok(bytes) => match TrustPolicy::parse(&bytes) {
            Ok(policy) => Some(policy),
            Err(fault) => {
                let message = format!("proof.policy: {}: {fault}", named.value);
                let fix = "lines as `log KEY`, `witness NAME KEY` and `quorum NAME`";
                diagnostics.report_value(named.at, &message, fix);
                None
            }
        },
        Err(error) => {
            let message = format!("proof.policy: {}: {}", named.value, system::describe_error(&error));
            let fix = "the path of a policy, from this file's folder";
            diagnostics.report_value(named.at, &message, fix);
            None
        }
    }
}

/// Checks that the policy is about this log and its witnesses.
fn check_policy(
    diagnostics: &mut Diagnostics,
    at: Span,
    policy: &TrustPolicy,
    (origin, key, to): (&str, Option<&SignerKey>, &[WitnessPlace]),
) -> Option<()> {
    let of_origin = || policy.logs().iter().filter(|log| log.key.name() == origin);
    let knows = |key: &SignerKey| of_origin().any(|log| log.key == *key.verifier());
    let mut report = |message: String, fix: &str| {
        diagnostics.report_value(at, &message, fix);
        None
    };
    if of_origin().next().is_none() || key.is_some_and(|key| !knows(key)) {
        let fix = match key {
            Some(key) => format!("the line: log {}", key.verifier()),
            None => "the line: log KEY, with the key that systole keygen printed".to_owned(),
        };
        return report(format!("proof.policy: it does not name the key of {origin}"), &fix);
    }
    let has_url = to.iter().any(|place| matches!(place, WitnessPlace::Url { .. }));
    if has_url && policy.witnesses().is_empty() {
        let words = "proof.policy: it names no witness, and `proof.to` has one";
        return report(words.to_owned(), "the line: witness NAME KEY");
    }
    Some(())
}
