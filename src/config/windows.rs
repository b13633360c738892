//! Whether what stands in every request of an agent, its prompt and its tools, leaves room in the window of its model.
//! With many peers or long sections it may not, and the agent would end before it began.
//!
//! In come agents and models that are whole, out come mistakes. It counts as the agent's own guard does, and nothing else.

use std::borrow::Cow;
use std::collections::HashMap;

use super::declared::{Declared, Party};
use super::desk::Desk;
use super::minds::Thinking;
use systole_core::types::codes::Code;

/// Tells of agents whose prompts do not fit.
pub(super) fn check(desk: &mut Desk, declared: &Declared, thinking: &Thinking) {
    let models: HashMap<&str, _> = thinking.models.iter().map(|model| (&*model.name, model)).collect();
    let named = |party: &'_ Party| Some(party.name.as_ref()?.to_string());
    let parties: HashMap<String, &Party> =
        declared.parties.iter().filter_map(|party| Some((named(party)?, party))).collect();
    for agent in &thinking.agents {
        let Some(model) = models.get(&*agent.model).copied() else { continue };
        // A schema that only an agent could not read is told where the agent is made.
        let Ok(measured) = systole_agent::measure(agent, model) else { continue };
        let party = parties.get(&*agent.name);
        let named = party.and_then(|party| Some((party.path(), party.mind.as_ref()?.model.as_ref()?)));
        let Some((path, named)) = named.filter(|_| !measured.leaves_room) else { continue };
        let peers: Cow<'_, str> = match agent.peers.len() {
            0 => "".into(),
            1 => " with its peer".into(),
            many => format!(" with its {many} peers").into(),
        };
        let (tokens, most) = (measured.tokens.to_string(), measured.most.to_string());
        let told = format!(
            "{path}: its prompt{peers} has about {tokens} tokens, which leaves no room for a conversation: `{}` takes requests of {most}",
            model.name
        );
        let mend =
            "a larger `window` of the model, a smaller `max_output`, fewer `peers`, or a shorter `prompt`";
        desk.tell(Code::ConfigValue, named.at, &told, Some(mend));
    }
}
