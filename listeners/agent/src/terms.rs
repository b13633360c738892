//! How an agent may answer one call. A goal of a workflow narrows this: only its own output is accepted.
//!
//! The agent's data and a request come in; the terms of the call go out. Equal requests give equal terms, so a
//! rebuilt prompt is the same.

use std::sync::Arc;

use systole_kit::Payload;
use systole_workflow::spec::TaskRule;

use crate::contracts::{AgentContracts, ElementModel, SchemaFault};
use crate::goal::{self, AskedGoal};
use crate::model::Tool;
use crate::prompt;
use crate::spec::{ActionLimit, AgentSpec, Dialect, Output, OutputFormat};
use crate::tools;

/// The terms of one call.
#[derive(Clone, Debug)]
pub(crate) struct CallTerms {
    /// The agent, with the format of this call's final.
    pub(crate) agent: AgentSpec,
    /// What it may say in this call.
    pub(crate) contracts: AgentContracts,
    /// The tools in each request to its model.
    pub(crate) tools: Vec<Tool>,
    /// An estimate of the tokens of those tools. Every turn needs it, and the tools may be long.
    pub(crate) tools_tokens: u64,
}

/// The terms of every call to an agent.
#[derive(Clone, Debug)]
pub(crate) struct AgentTerms {
    /// The terms of a call that asks for no goal.
    ordinary: Arc<CallTerms>,
    /// All possible answers to a goal.
    outputs: Vec<ElementModel>,
}

impl AgentTerms {
    pub(crate) fn from_spec(agent: &AgentSpec) -> Result<Self, SchemaFault> {
        let mut contracts = AgentContracts::from_spec(agent)?;
        let mut outputs = contracts.finals.clone();
        outputs.extend(AgentContracts::read_contracts(agent, &agent.gives)?);
        contracts.finals.retain(|known| !goal::is_output(&known.element));
        let tools = prompt::list_tools(agent, &contracts)?;
        let tools_tokens = tools::estimate_tools(&tools);
        let ordinary = Arc::new(CallTerms { agent: agent.clone(), contracts, tools, tools_tokens });
        Ok(Self { ordinary, outputs })
    }

    /// The terms of a call that begins with that request.
    pub(crate) fn of_call(&self, request: &Payload) -> Arc<CallTerms> {
        match AskedGoal::from_payload(request) {
            Some(goal) => Arc::new(self.of_goal(goal)),
            None => self.ordinary_call(),
        }
    }

    /// The terms of a call that asks for no goal.
    pub(crate) fn ordinary_call(&self) -> Arc<CallTerms> {
        self.ordinary.clone()
    }

    fn of_goal(&self, goal: AskedGoal) -> CallTerms {
        let CallTerms { mut agent, mut contracts, mut tools, mut tools_tokens } = (*self.ordinary).clone();
        let is_wanted = |known: &&ElementModel| match &goal.gives {
            Some(gives) => known.element == *gives,
            None => goal::is_output(&known.element),
        };
        contracts.finals = self.outputs.iter().find(is_wanted).cloned().into_iter().collect();
        let is_typed = goal.gives.is_some();
        contracts.goal = Some(goal);
        if is_typed {
            agent.output = match contracts.json_final().filter(|_| agent.dialect != Dialect::Xml) {
                Some(known) => {
                    let schema = known.model.json_schema(&known.element.local);
                    let schema = schema.map(|drawn| Arc::new(drawn.schema));
                    Output { format: OutputFormat::Json, schema }
                }
                None => Output { format: OutputFormat::Text, schema: None },
            };
        }
        if contracts.tasks().is_some() {
            // Tasks run in parallel, so an answer may hold several.
            agent.actions = ActionLimit::Many;
            agent.stop_early = false;
            // Their schemas were read with the ordinary tools.
            tools = prompt::list_tools(&agent, &contracts).unwrap_or(tools);
            tools_tokens = tools::estimate_tools(&tools);
        }
        CallTerms { agent, contracts, tools, tools_tokens }
    }

    /// The terms of each kind of call that the agent takes.
    pub(crate) fn all_calls(&self) -> Vec<Arc<CallTerms>> {
        let takes = &self.ordinary.agent.accepts;
        let takes_goals = takes.iter().any(|taken| goal::is_request(&taken.element));
        let mut all = Vec::new();
        if !takes_goals || takes.len() > 1 {
            all.push(self.ordinary_call());
        }
        for output in self.outputs.iter().filter(|_| takes_goals) {
            let gives = (!goal::is_output(&output.element)).then(|| output.element.clone());
            let by = self.ordinary.agent.task_takers.first().cloned();
            let tasks = by.map(|by| TaskRule { by, at_most: 1, supervise: None });
            all.push(Arc::new(self.of_goal(AskedGoal { gives, tasks, ..AskedGoal::default() })));
        }
        all
    }
}
