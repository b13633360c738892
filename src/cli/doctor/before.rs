//! What an organism needs before its first message: programs that start, variables that are set, a port that is free.
//!
//! It starts each long-running program once and stops it again; it sends the program nothing and opens no log.

use std::collections::BTreeSet;
use std::net::TcpListener;

use systole_agent::model::ModelKey;
use systole_agent::spec::Provider;

use super::Finding;
use crate::cli::exit::CommandExit;
use systole_carriers::{InheritedVariables, StartCheck, try_start};
use systole_config::{DEFAULT_LISTEN, OrganismFile};
use systole_core::types::composition::ListenerProgram;
use systole_core::types::ids::Name;
use systole_log::sqlite;
use systole_organism::keyring::Keyring;
use systole_organism::runfile::{Credential, RunFile};
use systole_system::failpoint;

/// Checks everything.
pub(super) fn examine_file(file: &OrganismFile) -> Vec<Finding> {
    let mut found = check_programs(file);
    found.extend(check_variables(file, |name| std::env::var(name).ok()));
    found.extend(super::server::propose_servers(file));
    found.push(check_port(file));
    found
}

/// Checks all programs at once: each long-running one is watched for a moment.
fn check_programs(file: &OrganismFile) -> Vec<Finding> {
    let composition = &file.composition;
    let programs: Vec<(&Name, &ListenerProgram)> = composition
        .listeners
        .values()
        .filter_map(|listener| Some((&listener.name, listener.reach.traits().program?)))
        .collect();
    if programs.is_empty() {
        return Vec::new();
    }
    if let Ok(Some(pid)) = sqlite::find_holder(&file.log) {
        let words = format!("not started here: process {pid} runs them");
        return vec![Finding::new_good("listeners", words)];
    }
    let around: InheritedVariables =
        std::env::vars_os().filter(|(name, _)| name != failpoint::VARIABLE).collect();
    let tried = |name: &Name, program: &ListenerProgram| -> Result<StartCheck, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        runtime.block_on(try_start(program, (&composition.organism, name), &around))
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = programs
            .iter()
            .map(|(name, program)| (*name, *program, scope.spawn(|| tried(name, program))))
            .collect();
        let ended = |thread: std::thread::ScopedJoinHandle<'_, Result<StartCheck, String>>| {
            thread.join().unwrap_or_else(|_| Err("the check of it failed".to_owned()))
        };
        threads.into_iter().map(|(name, program, thread)| judge_start(name, program, ended(thread))).collect()
    })
}

fn judge_start(name: &Name, program: &ListenerProgram, tried: Result<StartCheck, String>) -> Finding {
    match tried {
        Ok(StartCheck::Found) => Finding::new_good("listener", format!("{name}: its program is there")),
        Ok(StartCheck::Stayed) => {
            Finding::new_good("listener", format!("{name}: its program starts and stops"))
        }
        Ok(StartCheck::Killed) => {
            let words = format!("{name}: its program did not end when its stdin was closed, and was killed");
            Finding::new_note("listener", words, "end the program when it reads the end of stdin")
        }
        Err(words) => {
            let command = program.command();
            let fix = format!("make `{command}` run in {}", program.directory.display());
            Finding::new_problem("listener", format!("{name}: {words}"), fix, CommandExit::Failed)
        }
    }
}

/// Checks every variable that the file names.
fn check_variables(file: &OrganismFile, read: impl Fn(&str) -> Option<String>) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut set = 0_usize;
    let problem = |words: String, fix: &str| {
        Finding::new_problem("environment", words, fix, CommandExit::Configuration)
    };
    let keyring =
        Keyring::from_operator(Credential::from_token(String::new())).with_clients(&file.tokens, &read);
    let refused = keyring.err().map(|refused| refused.0).unwrap_or_default();
    set += file.tokens.len().saturating_sub(refused.len());
    found.extend(refused.into_iter().map(|one| problem(one.message, one.fix.as_deref().unwrap_or_default())));
    if let Some(key) = &file.bus_key {
        match key.credentials(&read) {
            Ok(_) => set += 1,
            Err(keyless) => found.push(problem(keyless.to_string(), "set it to the seed of the pump's nkey")),
        }
    }
    let asked: BTreeSet<&str> = list_models(file);
    for model in file.models.iter().filter(|model| model.provider != Provider::Script) {
        match (ModelKey::from_lookup(model, &read), asked.contains(model.name.as_str())) {
            (Ok(key), _) => set += usize::from(key.is_some()),
            (Err(fault), true) => {
                let rehearse = format!("set it, or rehearse: --set models.{}.provider=script", model.name);
                found.push(problem(fault.to_string(), &rehearse));
            }
            (Err(fault), false) => {
                found.push(Finding::new_note(
                    "environment",
                    fault.to_string(),
                    "only needed if an agent asks it",
                ));
            }
        }
    }
    for listener in file.composition.listeners.values() {
        let Some(program) = listener.reach.traits().program else { continue };
        for variable in &program.pass {
            match read(variable) {
                Some(_) => set += 1,
                None => {
                    let words = format!("{variable} is not set, and {} has it under `pass`", listener.name);
                    let fix = "set it where `systole run` is started, or leave it out of `pass`";
                    found.push(Finding::new_note("environment", words, fix));
                }
            }
        }
    }
    if set > 0 {
        let noun = if set == 1 { "variable is" } else { "variables are" };
        found.insert(0, Finding::new_good("environment", format!("{set} {noun} set that the file names")));
    }
    found
}

/// The models that agents use, including fallbacks.
fn list_models(file: &OrganismFile) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    for agent in &file.agents {
        names.insert(agent.model.as_str());
        let model = file.models.iter().find(|model| model.name == agent.model);
        names.extend(model.iter().flat_map(|model| &model.fallback).map(String::as_str));
    }
    names
}

/// Checks the port of the console.
fn check_port(file: &OrganismFile) -> Finding {
    let listen = file.listen.unwrap_or(DEFAULT_LISTEN);
    if listen.port() == 0 {
        return Finding::new_good("console", format!("{listen}: the system picks a free port at the start"));
    }
    match TcpListener::bind(listen) {
        Ok(_freed) => Finding::new_good("console", format!("{listen} is free")),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => match RunFile::find_running(&file.log)
        {
            Some(run) if run.address == listen => Finding::new_good(
                "console",
                format!("{listen} is used by process {}, which runs it", run.pid),
            ),
            _ => {
                let who = RunFile::find_at(listen)
                    .map_or_else(|| "another program".to_owned(), |run| run.describe());
                let words = format!("{listen} is in use by {who}");
                if file.listen.is_none() {
                    return Finding::new_good("console", format!("{words}; run takes a free port"));
                }
                let fix = "stop that program, or another port: --set console.listen=127.0.0.1:0";
                Finding::new_problem("console", words, fix, CommandExit::Unavailable)
            }
        },
        Err(error) => {
            let fix = "another address under `console.listen`";
            Finding::new_problem("console", format!("{listen}: {error}"), fix, CommandExit::Unavailable)
        }
    }
}
