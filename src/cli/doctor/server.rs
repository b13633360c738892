//! Which program answers at the address of a model, if the file does not say it.
//!
//! A file comes in; a note goes out for each model whose server could hold answers to their form. It waits for a moment
//! only, and no answer is no finding.

use serde_json::Value;
use systole_agent::spec::{ModelServer, ModelSpec, Provider};
use systole_config::OrganismFile;
use ureq::Agent;

use super::Finding;
use crate::limits;

/// Asks the servers whose program the file does not say.
pub(super) fn propose_servers(file: &OrganismFile) -> Vec<Finding> {
    let is_open = |model: &&ModelSpec| model.provider == Provider::OpenAi && model.server.is_none();
    file.models.iter().filter(is_open).filter_map(propose_server).collect()
}

fn propose_server(model: &ModelSpec) -> Option<Finding> {
    let url = model.url.as_deref()?;
    let server = find_server(url)?;
    let at = ModelServer::ALL.iter().position(|one| *one == server)?;
    let word = ModelServer::WORDS.get(at)?;
    let name = &model.name;
    let words = format!("{name}: {word} answers at {url}, and holds no answer to its form");
    let fix = format!("models.{name}.server: {word}");
    Some(Finding::new_note("models", words, fix))
}

/// The program that says in its list of models that they are its own.
fn find_server(url: &str) -> Option<ModelServer> {
    let url = url.trim_end_matches('/');
    let has_path = url.split_once("://").is_some_and(|(_, rest)| rest.contains('/'));
    let url = if has_path { format!("{url}/models") } else { format!("{url}/v1/models") };
    let config =
        Agent::config_builder().max_redirects(0).proxy(None).timeout_global(Some(limits::OLLAMA_ANSWER));
    let mut answer = Agent::new_with_config(config.build()).get(url).call().ok()?;
    let text = answer.body_mut().with_config().limit(limits::FILE_BYTES).read_to_vec().ok()?;
    let list: Value = serde_json::from_slice(&text).ok()?;
    let owners = list.get("data")?.as_array()?.iter().filter_map(|model| model.get("owned_by")?.as_str());
    owners
        .filter_map(|owner| match owner {
            "llamacpp" => Some(ModelServer::LlamaCpp),
            "vllm" => Some(ModelServer::Vllm),
            "sglang" => Some(ModelServer::Sglang),
            _ => None,
        })
        .next()
}
