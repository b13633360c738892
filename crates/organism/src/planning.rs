//! From an organism's file to the plan of a run: what the file names is looked up in the environment of this process.
//!
//! A file comes in; a plan goes out, or what is missing. Nothing is started, and nothing is opened.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use systole_proof::policy::TrustPolicy;

use super::inline_listeners::{self, ListenerScope};
use super::missing_part::MissingPart;
use super::plan::{BusAccess, LogPlace, ReloadAtStart, RunPlan};
use super::proving::ProofPlan;
use systole_carriers::InlineListener;
use systole_config::{OrganismFile, ProofSettings};
use systole_core::types::ids::Name;
use systole_core::types::ports::StepObserver;
use systole_follow::{FollowerFault, FollowerPlan, FollowerSettings};
use systole_http::ProxySettings;
use systole_system::failpoint;
use systole_witness::WitnessClient;

/// What a plan needs beside the file.
#[derive(Clone)]
pub struct RunSurroundings {
    /// The folder of the organism's file, where its programs run.
    pub directory: PathBuf,
    /// The observer of steps.
    pub steps: Arc<dyn StepObserver>,
    /// Tells a person what cannot be recorded any more.
    pub say: Arc<dyn Fn(&str) + Send + Sync>,
    /// Whether it runs only for one order and sends nothing.
    pub is_still: bool,
}

/// The plan of a run.
///
/// # Errors
/// If a key, a variable or a file is missing.
pub fn build_plan(file: OrganismFile, around: RunSurroundings) -> Result<RunPlan, MissingPart> {
    let RunSurroundings { directory, steps, say, is_still } = around;
    let bus = open_bus(&file, is_still)?;
    let managed = file.managed.then(|| file.log.clone());
    let inline = build_agents(&file, ListenerScope::Alone)?;
    let proof = match &file.proof {
        Some(proof) if !is_still => Some(build_proof_plan(proof, &file.log, say)?),
        _ => None,
    };
    let followers = if is_still { Vec::new() } else { build_followers(&file)? };
    Ok(RunPlan {
        composition: file.composition,
        directory,
        log: match file.log_kept {
            Some(kept) => LogPlace::Stream { copy: file.log, kept },
            None => LogPlace::File(file.log),
        },
        inline,
        validators: std::thread::available_parallelism().map_or(1, usize::from),
        surroundings: std::env::vars_os().filter(|(name, _)| name != failpoint::VARIABLE).collect(),
        steps,
        bus,
        managed,
        stands_by: None,
        given_up: None,
        proof,
        followers,
        schedules: file.schedules,
        reload: ReloadAtStart::default(),
    })
}

/// The agents of the file as listeners of this process.
///
/// # Errors
/// If a model cannot be used.
pub fn build_agents(
    file: &OrganismFile,
    scope: ListenerScope,
) -> Result<BTreeMap<Name, Arc<dyn InlineListener>>, MissingPart> {
    inline_listeners::build_agents(file, scope)
        .map_err(|unmade| MissingPart { words: unmade.to_string(), fix: Some(unmade.fix) })
}

/// The broker, with the pump's credentials. If nothing uses the broker, there is no connection and no key is needed.
///
/// # Errors
/// If the key is missing.
pub fn open_bus(file: &OrganismFile, is_still: bool) -> Result<Option<BusAccess>, MissingPart> {
    let is_used = file.log_kept.is_some() || (!is_still && file.composition.uses_broker());
    let Some(url) = file.bus.clone().filter(|_| is_used) else { return Ok(None) };
    let key = file.bus_key.as_ref().map(|key| key.credentials(|name| std::env::var(name).ok()));
    let credentials =
        key.transpose().map_err(|keyless| MissingPart { words: keyless.to_string(), fix: None })?;
    Ok(Some(BusAccess { url, credentials }))
}

/// Asks witnesses through the proxies that the environment names.
pub fn build_witness_client() -> WitnessClient {
    WitnessClient::new(ProxySettings::from_environment(&|name| std::env::var(name).ok()))
}

/// Who gets the events of the log, with their secrets from the environment.
fn build_followers(file: &OrganismFile) -> Result<Vec<FollowerPlan>, MissingPart> {
    let read = |name: &str| std::env::var(name).ok();
    let proxies = ProxySettings::from_environment(&read);
    let build = |settings: &FollowerSettings| FollowerPlan::build(settings.clone(), &read, &proxies);
    let built: Result<_, FollowerFault> = file.followers.iter().map(build).collect();
    built.map_err(|fault| MissingPart { words: fault.words, fix: Some(fault.fix) })
}

/// How the running organism signs checkpoints. The key has to be on this machine.
fn build_proof_plan(
    proof: &ProofSettings,
    log: &Path,
    say: Arc<dyn Fn(&str) + Send + Sync>,
) -> Result<ProofPlan, MissingPart> {
    let Some(key) = proof.key.clone() else {
        let file = proof.file.display();
        let words = format!("{file}: there is no such file, and `proof.key` names it");
        let fix = format!("systole keygen --origin {} -o {file}; or the key from elsewhere", proof.origin);
        return Err(MissingPart { words, fix: Some(fix) });
    };
    let policy = match &proof.policy {
        Some(policy) => policy.clone(),
        // The policy that trusts the key of the log itself, and needs no witness.
        None => TrustPolicy::parse(format!("log {}\nquorum none\n", key.verifier()).as_bytes())
            .map_err(|fault| MissingPart { words: format!("proof.key: {fault}"), fix: None })?,
    };
    Ok(ProofPlan {
        key,
        policy: Arc::new(policy),
        logs: proof.logs.clone(),
        log: log.to_owned(),
        every: proof.every,
        to: proof.to.clone(),
        witnesses: proof.witnesses.clone(),
        client: build_witness_client(),
        say,
    })
}
