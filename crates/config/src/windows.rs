//! Checks that the fixed part of an agent's requests, its prompt and its tools, leaves room in the context window of
//! its model. With many peers or long sections it may not, and the agent would fail at once.
//!
//! Input: complete agents and models. Output: mistakes. It counts exactly as the agent's own guard does.

use std::borrow::Cow;
use std::collections::HashMap;

use super::agent_configs::Thinking;
use super::diagnostics::Diagnostics;
use super::file_sections::Declared;
use super::party::Party;

/// Reports agents whose prompts do not fit.
pub(super) fn check(diagnostics: &mut Diagnostics, declared: &Declared, thinking: &Thinking) {
    let models: HashMap<&str, _> = thinking.models.iter().map(|model| (&*model.name, model)).collect();
    let named = |party: &'_ Party| Some(party.name.as_ref()?.to_string());
    let parties: HashMap<String, &Party> =
        declared.parties.iter().filter_map(|party| Some((named(party)?, party))).collect();
    for agent in &thinking.agents {
        let Some(model) = models.get(&*agent.model).copied() else { continue };
        // An unreadable schema that only an agent uses is reported where the agent is built.
        let Ok(measured) = systole_agent::measure_agent(agent, model) else { continue };
        let party = parties.get(&*agent.name);
        let named =
            party.and_then(|party| Some((party.path(), party.agent_config.as_ref()?.keys.model.as_ref()?)));
        let Some((path, named)) = named.filter(|_| !measured.leaves_room) else { continue };
        let peers: Cow<'_, str> = match agent.peers.len() {
            0 => "".into(),
            1 => " with its peer".into(),
            many => format!(" with its {many} peers").into(),
        };
        let (tokens, most) = (measured.tokens.to_string(), measured.most.to_string());
        let message = format!(
            "{path}: its prompt{peers} has about {tokens} tokens, which leaves no room for a conversation: `{}` takes requests of {most}",
            model.name
        );
        let fix =
            "a larger `window` of the model, a smaller `max_output`, fewer `peers`, or a shorter `prompt`";
        diagnostics.report_value(named.at, &message, fix);
    }
}
