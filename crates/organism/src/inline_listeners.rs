//! The agents and workflows of an organism file, as listeners of this process: each agent with its model.
//!
//! Nothing is sent here. If a model cannot be used because a key or a file is missing, this is reported with the line
//! to change before anything starts.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use systole_agent::Agent;
use systole_agent::model::script::{Script, ScriptedModel};
use systole_agent::model::{
    HttpLimits, Model, ModelAccess, ModelAdapter, ModelRateGate, Models, RealTime, Sleeper, SystemRandom,
};
use systole_agent::spec::{self, Provider};
use systole_kit::envelope::Delivered;
use systole_kit::line::Line;

use crate::replaying::AgentModels;
use systole_carriers::{InlineListener, ReplyFuture};
use systole_config::OrganismFile;
use systole_core::types::ids::Name;

/// Why an agent cannot be created.
#[derive(Debug, thiserror::Error)]
#[error("{words}")]
pub struct UnmadeAgent {
    words: String,
    /// How to fix it.
    pub fix: String,
}

impl UnmadeAgent {
    fn new(words: impl Into<String>, fix: impl Into<String>) -> UnmadeAgent {
        UnmadeAgent { words: words.into(), fix: fix.into() }
    }
}

/// An agent as a listener of this process.
struct AgentListener(Arc<Agent>);

impl InlineListener for AgentListener {
    fn answer_delivery(self: Arc<Self>, asked: Delivered, line: Arc<dyn Line>) -> ReplyFuture {
        Box::pin(self.0.clone().answer(asked, line))
    }

    fn note_taken(&self, asked: &Delivered) {
        self.0.mark_taken(asked);
    }
}

/// A workflow as a listener of this process.
struct WorkflowRunner(Arc<systole_workflow::WorkflowListener>);

impl InlineListener for WorkflowRunner {
    fn answer_delivery(self: Arc<Self>, asked: Delivered, line: Arc<dyn Line>) -> ReplyFuture {
        Box::pin(self.0.clone().answer_delivery(asked, line))
    }

    fn note_taken(&self, asked: &Delivered) {
        self.0.mark_taken(asked);
    }
}

/// Which processes answer under the name of an agent or a workflow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListenerScope {
    /// Only this process.
    Alone,
    /// Other processes as well.
    OneOfMany,
}

/// The scripts read so far, by file.
pub type ScriptsByFile = BTreeMap<PathBuf, Arc<Script>>;

/// The listeners that are agents or workflows.
pub fn build_agents(
    file: &OrganismFile,
    scope: ListenerScope,
) -> Result<BTreeMap<Name, Arc<dyn InlineListener>>, UnmadeAgent> {
    build_agents_with(file, scope, &mut ScriptsByFile::new(), &(Arc::new(RealTime) as Arc<dyn Sleeper>))
}

/// The same with scripts that are already read, to which newly read ones are added, and with another sleeper.
pub fn build_agents_with(
    file: &OrganismFile,
    scope: ListenerScope,
    scripts: &mut ScriptsByFile,
    sleeper: &Arc<dyn Sleeper>,
) -> Result<BTreeMap<Name, Arc<dyn InlineListener>>, UnmadeAgent> {
    let mut listeners: BTreeMap<Name, Arc<dyn InlineListener>> = BTreeMap::new();
    let mut makers = ModelMakers { scripts, sleeper, adapters: BTreeMap::new(), gates: BTreeMap::new() };
    for agent in &file.agents {
        let Ok(name) = Name::parse(&agent.name) else { continue };
        let models = makers.share_models(file, agent)?;
        let made = Agent::new(agent.clone(), models)
            .map_err(|unreadable| UnmadeAgent::new(unreadable.to_string(), "systole check"))?;
        let made = if scope == ListenerScope::OneOfMany { made.one_of_many() } else { made };
        listeners.insert(name, Arc::new(AgentListener(Arc::new(made))));
    }
    for workflow in &file.workflows {
        let Ok(name) = Name::parse(&workflow.name) else { continue };
        let made = systole_workflow::WorkflowListener::new(&workflow.name);
        let made = if scope == ListenerScope::OneOfMany { made.one_of_many() } else { made };
        listeners.insert(name, Arc::new(WorkflowRunner(Arc::new(made))));
    }
    Ok(listeners)
}

/// The models of that file that one agent may ask. The agent may be of another file.
pub fn build_models_of(file: &OrganismFile, agent: &spec::AgentSpec) -> Result<AgentModels, UnmadeAgent> {
    if file.models.iter().all(|model| model.name != agent.model) {
        let words = format!("the organism's file has no models.{}, the model of {}", agent.model, agent.name);
        return Err(UnmadeAgent::new(words, "models"));
    }
    let sleeper = Arc::new(RealTime) as Arc<dyn Sleeper>;
    let (scripts, adapters, gates) = (&mut ScriptsByFile::new(), BTreeMap::new(), BTreeMap::new());
    ModelMakers { scripts, sleeper: &sleeper, adapters, gates }.build_models(file, agent)
}

/// Shared by all agents: scripts that were read, and models that are not scripts.
struct ModelMakers<'m> {
    scripts: &'m mut ScriptsByFile,
    sleeper: &'m Arc<dyn Sleeper>,
    adapters: BTreeMap<String, Arc<dyn Model>>,
    /// The counts of requests and tokens, by model.
    gates: BTreeMap<String, Arc<ModelRateGate>>,
}

impl ModelMakers<'_> {
    fn share_models(
        &mut self,
        file: &OrganismFile,
        agent: &spec::AgentSpec,
    ) -> Result<Arc<Models>, UnmadeAgent> {
        let models = self.build_models(file, agent)?;
        let made = Models::new(models, Box::new(SystemRandom), &HttpLimits::default());
        let made =
            made.map(|made| Arc::new(made.with_sleeper(self.sleeper.clone()).with_gates(&mut self.gates)));
        made.map_err(|unusable| UnmadeAgent::new(unusable.to_string(), "systole check"))
    }

    /// The models that an agent may use: its own, and the fallbacks of that model.
    fn build_models(
        &mut self,
        file: &OrganismFile,
        agent: &spec::AgentSpec,
    ) -> Result<AgentModels, UnmadeAgent> {
        let mut wanted = vec![agent.model.as_str()];
        let own = file.models.iter().find(|model| model.name == agent.model);
        wanted.extend(own.iter().flat_map(|model| model.fallback.iter().map(String::as_str)));
        let mut models = Vec::new();
        for model in file.models.iter().filter(|model| wanted.contains(&model.name.as_str())) {
            // A fallback's own fallbacks are not used.
            let fallback = if model.name == agent.model { model.fallback.clone() } else { Vec::new() };
            let speaker = self.build_model(model, &agent.name)?;
            models.push((spec::ModelSpec { fallback, ..model.clone() }, speaker));
        }
        Ok(models)
    }

    fn build_model(&mut self, model: &spec::ModelSpec, agent: &str) -> Result<Arc<dyn Model>, UnmadeAgent> {
        if model.provider == Provider::Script {
            let script = self.read_script(model)?;
            let scripted = ScriptedModel::new(script, &model.name, agent).with_sleeper(self.sleeper.clone());
            return Ok(Arc::new(Arc::new(scripted)));
        }
        if let Some(adapter) = self.adapters.get(&model.name) {
            return Ok(adapter.clone());
        }
        let rehearse = format!("--set models.{}.provider=script, with answers in replies.yaml", model.name);
        let access = ModelAccess::from_lookup(model, |name| std::env::var(name).ok())
            .map_err(|unusable| UnmadeAgent::new(unusable.to_string(), rehearse.clone()))?;
        let adapter = ModelAdapter::new(model, access, HttpLimits::default(), None)
            .map_err(|unusable| UnmadeAgent::new(unusable.to_string(), rehearse))?;
        let adapter: Arc<dyn Model> = Arc::new(adapter);
        self.adapters.insert(model.name.clone(), adapter.clone());
        Ok(adapter)
    }

    fn read_script(&mut self, model: &spec::ModelSpec) -> Result<Arc<Script>, UnmadeAgent> {
        let key = format!("models.{}.file", model.name);
        let Some(path) = &model.file else {
            return Err(UnmadeAgent::new(format!("{key} is missing"), "file: replies.yaml"));
        };
        if let Some(script) = self.scripts.get(path) {
            return Ok(script.clone());
        }
        let shown = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| {
            let words = format!("{key}: {shown}: {error}");
            UnmadeAgent::new(words, "a file of answers, as docs/reference/script.md describes one")
        })?;
        let script = Script::from_text(&text).map_err(|unusable| {
            let words = format!("{shown}: {unusable}");
            UnmadeAgent::new(words, "docs/reference/script.md, which lists what an answer may say")
        })?;
        let script = Arc::new(script);
        self.scripts.insert(path.clone(), script.clone());
        Ok(script)
    }
}
