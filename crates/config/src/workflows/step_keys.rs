//! The keys of a step, with the forms of their values. Which of them are read depends on its work.

use systole_kit::schema::find_nearest;
use systole_workflow::spec::Budget;

use super::super::budgets::{BudgetTokens, MessageCount, MoneyAmount};
use super::super::diagnostics::Diagnostics;
use super::super::forms::{
    AnyText, CountWithin, EmptyText, LongWait, NameSet, OneOrMore, PartyName, PauseRange, Unread, WordOf,
    copy_node, word_choice,
};
use super::super::key::{KeyForm, KeyRow};
use super::super::section::{Form, SectionKeys, form, section};
use super::super::tree::{Node, Value};
use super::super::value::{self, At, wrong_kind};
use super::conditions::{self, ConditionMap};
use super::step_values::{Tasks, Until, With};
use crate::limits;

section! {
    /// A step: its work and the keys that all steps share.
    pub(super) StepKeys "one step by its id: the words of a goal, or a map" with own {
        r#do: optional("none") <Unread<AnyText>> "a goal: what agents should do, in words";
        by: optional("`by` of the workflow") <Unread<OneOrMore>> "the agent that pursues the goal, or a list of agents that each pursue it";
        gives: optional("text") <Unread<AnyText>> "the payload that a goal gives, by local name";
        sees: optional("everything done before it") <Unread<NameSet>> "what the goal sees: ids and paths; `[]` hides the request too";
        request: optional("`request` of the workflow") <Unread<WordOf<RequestWord>>> "whether the goal sees the request: `shown` or `hidden`";
        tasks: optional("`tasks` of the workflow") <Unread<TaskKeys>> "lets the agent of a goal give tasks, which run in child threads";
        call: optional("none") <Unread<AnyText>> "the element that is sent to a listener";
        to: optional("none") <Unread<PartyName>> "the listener that is called; required beside `call`";
        with: optional("none") <Unread<FieldSources>> "the content of the payload: the id of a goal, whose fields of the same names are copied, or a map of fields";
        ask: optional("none") <Unread<AnyText>> "a question to a person";
        choices: optional("[]") <Unread<NameSet>> "the choices; without choices the answer is a note";
        shows: optional("[]") <Unread<NameSet>> "goals whose outputs are printed with the question";
        expires: optional("1d") <Unread<LongWait>> "how long to wait for a person, {bounds}";
        otherwise: optional("none") <Unread<AnyText>> "the choice that counts when it expires; without it the step fails";
        goals: optional("none") <InnerSteps> "steps inside it, one after another";
        parallel: optional("none") <InnerSteps> "steps inside it, in parallel";
        wait: optional("none") <Unread<LongWait>> "how long to wait, {bounds}";
        each: optional("none") <AnyText> "a path to a list: the step is done once for each item";
        at_once: optional("4") <Unread<CountWithin<1, 32>>> "items or steps that run at once, {bounds}";
        repeat: optional("none") <Unread<RepeatKeys>> "repeats the steps under `goals`";
        when: optional("none") <ConditionMap> "conditions by path, all of which must hold; otherwise the step is skipped";
        failed: default(false) <WordOf<FailureWord>> "if it fails: `stop` ends the run, `keep` goes on";
        supervise: optional("as the step around it") <PartyName> "the agent that supervises the goal, or the goals inside; or `person`";
        timeout: optional("none") <LongWait> "how long it may take, {bounds}";
        retry: below <StepRetry> "how a step that failed is repeated";
        budget: optional("as the step around it") <StepBudget> "what each child of this step may use, and of the steps inside it";
    }
}

section! { pub(super) StepRetry {
    attempts: default(1) <CountWithin<1, 100>> "attempts in all, the first included, {bounds}";
    backoff: default((1_000, 30_000)) <PauseRange> "the first pause and the longest; each is twice the one before";
} }

section! {
    /// The limits of a child.
    pub(super) StepBudget {
        messages: optional("none") <MessageCount> "calls and spawns, {bounds}";
        tokens: optional("none") <BudgetTokens> "tokens of models: a whole number, `200k` or `1M`";
        money: optional("none") <MoneyAmount> "what models may cost, as `0.50 USD`";
    }
}

word_choice! { RequestWord: bool { "shown" = false, "hidden" = true } }
word_choice! { FailureWord: bool { "stop" = false, "keep" = true } }

form! {
    /// The steps of a workflow, as they are written: they are read with the path and the budget of what is around them.
    pub(super) StepList -> Node {
        KeyForm::Steps, copy_node,
        below &[KeyRow::any_name("required", StepKeys::ABOUT, KeyForm::TextOrMap, StepKeys::ROWS)]
    }
}
form! {
    /// The steps inside a step, as they are written.
    pub(super) InnerSteps -> Node { KeyForm::Steps, copy_node }
}

impl StepBudget {
    pub(super) fn budget(&self) -> Budget {
        Budget {
            messages: self.messages.as_ref().map(|messages| messages.value.into()),
            tokens: self.tokens.as_ref().map(|tokens| tokens.value),
            money: self.money.as_ref().map(|money| money.value.to_string()),
        }
    }
}

/// The keys that a step can have.
pub(crate) fn step_keys() -> impl Iterator<Item = &'static str> {
    StepKeys::ROWS.iter().map(|row| row.name)
}

section! {
    /// Who takes tasks, and how many tasks each agent of a goal may give. One answer of a model may contain all of them.
    pub(super) TaskKeys {
        by: required("by: AGENT, which takes the tasks") <PartyName> "the agent that takes the tasks";
        at_most: default(8) <CountWithin<1, 32>> "tasks of one goal and agent, {bounds}";
        supervise: optional("none") <PartyName> "the agent that supervises each task, or `person`";
    }
}

impl TaskKeys {
    /// The rule, if it names an agent.
    pub(super) fn declare(self) -> Option<Tasks> {
        Some(Tasks { by: self.by?, at_most: self.at_most.value, supervise: self.supervise })
    }
}

section! { pub(super) RepeatKeys {
    until: required("until: converged, or until: {PATH: VALUE}") <EndOfRepeat> "when to stop: `converged`, or conditions as under `when`";
    at_most: required("at_most: 5, the most passes") <CountWithin<1, { limits::PASSES }>> "most passes, {bounds}";
} }

section! { FieldText {
    text: required("{text: WORDS}, which is sent as it is") <EmptyText> "a text that is sent as it is";
} }

form! {
    /// The sources of the fields of a call: a goal, or a map of fields.
    pub(super) FieldSources -> Vec<With> {
        KeyForm::TextOrNames, read_sources, below &[KeyRow::any_name(
            "none", "one field: a path, or a map; `.` is the own text of the element", KeyForm::TextOrMap, FieldText::ROWS,
        )]
    }
}
form! {
    /// When the passes of a repeated step end.
    pub(super) EndOfRepeat -> Until { KeyForm::WordOrNames("converged"), read_until, below ConditionMap::BELOW }
}

/// The sources of the fields: a goal, or a map of fields.
fn read_sources(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Vec<With>> {
    let entries = match &node.value {
        Value::Text { .. } => {
            return value::text(diagnostics, node, path).map(|goal| vec![With::Goal(goal)]);
        }
        Value::Map(entries) => entries,
        Value::Reported => return None,
        Value::Nothing | Value::List(_) => {
            let fix = "with: ID, or with: {field: PATH}";
            wrong_kind(diagnostics, node, path, "the id of a goal or a map", fix);
            return None;
        }
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = value::join_path(path, &entry.key);
        let field = At { at: entry.at, value: entry.key.clone() };
        if let Value::Map(_) = &entry.value.value {
            let text =
                FieldText::read_at(diagnostics, &entry.value, entry.at, &path).and_then(|own| own.text);
            found.push(text.map_or(With::Unread, |text| With::Text { field, text }));
        } else {
            let path = value::text(diagnostics, &entry.value, &path);
            found.push(path.map_or(With::Unread, |path| With::Path { field, path }));
        }
    }
    Some(found)
}

fn read_until(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Until> {
    match &node.value {
        Value::Text { text, .. } if text == "converged" => Some(Until::Converged(node.span)),
        Value::Text { text, .. } if !text.is_empty() && !conditions::is_comparison(text) => {
            let message = format!("{path}: `{text}` is neither `converged` nor a condition");
            let near = find_nearest(text, ["converged"].into_iter());
            let fix = near.unwrap_or("converged, or {PATH: VALUE}, as {judge/score: 9..}");
            diagnostics.report_value(node.span, &message, fix);
            None
        }
        _ => {
            let conditions = ConditionMap::read(diagnostics, node, path)?;
            (!conditions.is_empty()).then_some(Until::Holds(conditions))
        }
    }
}
