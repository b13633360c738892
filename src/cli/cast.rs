//! The agents of an organism's file, as listeners of this process: each with the model that it speaks to.
//!
//! Nothing is sent here. A model that cannot be spoken to, for want of a key or a file, is told with the line to change
//! before anything starts.

use std::collections::BTreeMap;
use std::sync::Arc;

use systole_agent::Agent;
use systole_agent::model::Model;
use systole_agent::model::script::{Script, Scripted};
use systole_agent::spec::{self, Provider};

use crate::edges::delivery::{Answering, conversing};
use crate::organism::file::OrganismFile;
use crate::words::ids::Name;

/// Why an agent cannot be made.
#[derive(Debug, thiserror::Error)]
#[error("{words}")]
pub(super) struct Unmade {
    words: String,
    /// What to do about it.
    pub(super) mend: String,
}

impl Unmade {
    fn new(words: impl Into<String>, mend: impl Into<String>) -> Unmade {
        Unmade { words: words.into(), mend: mend.into() }
    }
}

/// The listeners that are agents.
pub(super) fn agents(file: &OrganismFile) -> Result<BTreeMap<Name, Arc<dyn Answering>>, Unmade> {
    let mut cast: BTreeMap<Name, Arc<dyn Answering>> = BTreeMap::new();
    let mut scripts = BTreeMap::new();
    for agent in &file.agents {
        let Ok(name) = Name::parse(&agent.name) else { continue };
        let Some(model) = file.models.iter().find(|model| model.name == agent.model) else {
            let words = ["agents.", &agent.name, ".model: there is no model `", &agent.model, "`"].concat();
            return Err(Unmade::new(words, "a model that stands under models"));
        };
        let speaker = speaker(model, &agent.name, &mut scripts)?;
        let made = Agent::new(agent.clone(), model.clone(), speaker)
            .map_err(|unreadable| Unmade::new(unreadable.to_string(), "systole check"))?;
        let made = Arc::new(made);
        cast.insert(name, conversing(move |asked, line| made.clone().answer(asked, line)));
    }
    Ok(cast)
}

type Scripts = BTreeMap<std::path::PathBuf, Arc<Script>>;

fn speaker(model: &spec::Model, agent: &str, scripts: &mut Scripts) -> Result<Arc<dyn Model>, Unmade> {
    let key = |name: &str| ["models.", &model.name, ".", name].concat();
    match (model.provider, &model.file) {
        (Provider::Script, Some(path)) => {
            let script = match scripts.get(path) {
                Some(script) => script.clone(),
                None => {
                    let text = std::fs::read_to_string(path).map_err(|error| {
                        let words =
                            [&key("file"), ": ", &path.display().to_string(), ": ", &error.to_string()];
                        Unmade::new(
                            words.concat(),
                            "a file of answers, as docs/reference/script.md describes it",
                        )
                    })?;
                    let script = Script::read(&text).map_err(|unusable| {
                        let words = [&path.display().to_string(), ": ", &unusable.to_string()].concat();
                        Unmade::new(words, "docs/reference/script.md, which lists what an answer may say")
                    })?;
                    let script = Arc::new(script);
                    scripts.insert(path.clone(), script.clone());
                    script
                }
            };
            Ok(Arc::new(Arc::new(Scripted::new(script, &model.name, agent))))
        }
        (Provider::Script, None) => {
            Err(Unmade::new([&key("file"), " is missing"].concat(), "file: replies.yaml"))
        }
        _ => Err(Unmade::new([&key("provider"), " is not built yet"].concat(), "provider: script")),
    }
}
