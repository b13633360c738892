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
use super::log_kept::{Durability, Kept};
use super::tree::{Node, Span};
use super::value::{self, At, fields};
use systole_core::types::codes::Code;
use systole_system::signing_key;
use systole_system::system;
use systole_witness::WitnessPlace;

/// How often a checkpoint is signed, if the file does not say.
const EVERY_MS: u64 = 3_600_000;
/// Most places that get each checkpoint.
const PLACES: usize = 16;

/// The section as it is written.
pub(super) struct ProofDeclaration {
    at: Span,
    pub(super) key: Option<At<String>>,
    origin: Option<At<String>>,
    every_ms: u64,
    to: Vec<At<String>>,
    pub(super) policy: Option<At<String>>,
}

impl ProofDeclaration {
    /// The folders to which checkpoints go.
    pub(super) fn folders(&self) -> impl Iterator<Item = &str> {
        self.to.iter().map(|to| to.value.as_str()).filter(|to| !to.contains("://"))
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

/// Reads the section.
pub(super) fn read(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<ProofDeclaration> {
    let section = fields(diagnostics, node, node.span, "proof", path)?;
    let mut text = |key, fix: Option<&str>| {
        let found = match fix {
            Some(fix) => section.need(diagnostics, key, fix),
            None => section.get(key),
        };
        found.and_then(|(node, path)| value::text(diagnostics, node, &path))
    };
    let key = text("key", Some("key: proof.key, from systole keygen"));
    let origin = text("origin", Some("origin: example.org/acme, the name of the key"));
    let policy = text("policy", None);
    let every_ms = section.measure(diagnostics, "every").map_or(EVERY_MS, |every| every.value);
    let to = section.get("to").and_then(|(node, path)| value::texts(diagnostics, node, &path));
    let to = super::names::single(diagnostics, to.unwrap_or_default(), "proof.to");
    if let Some(more) = to.get(PLACES) {
        let message = format!("proof.to: it names {} places", to.len());
        diagnostics.report(Code::ConfigValue, more.at, &message, Some("16 places at most"));
    }
    Some(ProofDeclaration { at: node.span, key, origin, every_ms, to, policy })
}

/// Checks the values with each other and with the files that they name. `is_only_read` says that the log is only
/// read, so that no file is opened.
pub(super) fn resolve(
    diagnostics: &mut Diagnostics,
    (proof, kept): (&ProofDeclaration, Option<&Kept>),
    directory: &Path,
    is_only_read: bool,
) -> Option<ProofSettings> {
    let kept = kept.and_then(|kept| kept.kept.as_ref().map(|log| (kept.at, log)));
    if let Some((at, log)) = kept
        && log.durability == Durability::Relaxed
    {
        let message = "proof: with `durability: relaxed` the broker may lose records that are signed already";
        let fix = "log.durability: always, or leave `proof` out";
        diagnostics.report_beside(Code::ConfigValue, proof.at, message, Some(fix), (at, "kept here"));
    }
    let places = proof.to.iter().map(|to| match WitnessPlace::parse(&to.value, directory) {
        Ok(place) => Some(place),
        Err(why) => {
            let message = format!("proof.to: `{}`: {why}", to.value);
            let fix = "https://HOST/PATH of a witness, or the path of a folder";
            diagnostics.report(Code::ConfigValue, to.at, &message, Some(fix));
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
    let url = proof.to.iter().zip(&to).find(|(_, place)| matches!(place, WitnessPlace::Url { .. }));
    if let (Some((url, _)), None) = (url, &proof.policy) {
        let message = format!("proof.to: `{}` is a witness, and no `policy` names its key", url.value);
        let fix = "policy: proof.policy, a file with the line: witness NAME KEY";
        diagnostics.report(Code::ConfigMissing, url.at, &message, Some(fix));
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
        every: Duration::from_millis(proof.every_ms),
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
            diagnostics.report(Code::ConfigValue, file.at, &message, Some(fault.fix));
            return None;
        }
    };
    if key.verifier().kind() != SignatureKind::Plain {
        let message = format!("proof.key: {} has the key of a witness", file.value);
        let fix = "the key of a log: systole keygen without --witness";
        diagnostics.report(Code::ConfigValue, file.at, &message, Some(fix));
        return None;
    }
    if key.verifier().name() != origin.value {
        let message = format!("proof.origin: the key in {} is that of {}", file.value, key.verifier().name());
        let second = (file.at, "the key");
        let fix = format!("origin: {}, or another key", key.verifier().name());
        diagnostics.report_beside(Code::ConfigValue, origin.at, &message, Some(&fix), second);
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
                diagnostics.report(Code::ConfigValue, named.at, &message, Some(fix));
                None
            }
        },
        Err(error) => {
            let message = format!("proof.policy: {}: {}", named.value, system::describe_error(&error));
            let fix = "the path of a policy, from this file's folder";
            diagnostics.report(Code::ConfigValue, named.at, &message, Some(fix));
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
        diagnostics.report(Code::ConfigValue, at, &message, Some(fix));
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
