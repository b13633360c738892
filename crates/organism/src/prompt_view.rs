//! How a check of a log reads prompts.

use std::collections::HashSet;
use std::path::Path;

use systole_config as config;
use systole_export::erasures::PromptReading;

/// How a check of a log reads prompts, and the configurations that name their agents.
pub const READING: PromptReading = PromptReading { agents: list_agents };

/// The agents of a stored configuration. The folder does not matter: everything is in the text.
fn list_agents(source: &[u8]) -> Option<HashSet<String>> {
    let file = config::read_stored(source, Path::new("")).ok()?;
    Some(file.agents.into_iter().map(|agent| agent.name).collect())
}
