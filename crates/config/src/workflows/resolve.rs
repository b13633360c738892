//! Turns a declared workflow into one that can run: every name is looked up, every path is typed, and the last step
//! returns the final.
//!
//! Input: the declaration and its composition. Output: plain data. All mistakes are reported. The result is only
//! complete if there were none.

use systole_kit::schema::{PayloadPart, PayloadPartKind, SchemaModel};
use systole_workflow::spec::{self, ElementName};

use super::super::compose::Composed;
use super::super::diagnostic::Diagnostic;
use super::super::diagnostics::Diagnostics;
use super::super::era::Era;
use super::super::file_sections::Declared;
use super::super::names::one_of;
use super::super::party::Party;
use super::super::tree::Span;
use super::super::value::At;
use super::declaration::{Goal, Question, Step, Work, WorkflowDeclaration};
use super::filling::{self, Target};
use super::paths::{self, Leads};
use super::scope::{Gives, Known, Scope};
use super::step_order::StepOrder;
use super::step_values::{Condition, Until, With};
use super::steps::REQUEST;
use super::{is_own, judging, words};
use systole_core::types::codes::Code;
use systole_core::types::composition::{ElementSchema, Listener, Schema};

/// The resolved workflows of a file.
pub(crate) struct Resolution {
    pub(crate) workflows: Vec<spec::Workflow>,
    /// Warnings, each with its sort position.
    pub(crate) warnings: Vec<(usize, Diagnostic)>,
}

/// Looks everything up.
pub(crate) fn resolve(
    diagnostics: &mut Diagnostics,
    declared: &Declared,
    composed: &Composed,
    era: Era,
) -> Resolution {
    let mut made = Resolution { workflows: Vec::new(), warnings: Vec::new() };
    if declared.parties.iter().all(|party| party.workflow.is_none()) {
        return made;
    }
    let models = models(&composed.collected.schemas);
    for party in &declared.parties {
        let Some(workflow) = &party.workflow else { continue };
        let mut resolving = Resolving {
            path: party.path(),
            party,
            workflow,
            composed,
            models: &models,
            era,
            order: StepOrder::of(workflow),
            warnings: Vec::new(),
        };
        made.workflows.extend(resolving.workflow(diagnostics));
        made.warnings.append(&mut resolving.warnings);
    }
    made
}

/// The models of all schemas, at the same indexes.
fn models(schemas: &[Schema]) -> Vec<Option<SchemaModel>> {
    let among: Vec<(&str, &[u8])> = schemas.iter().map(|one| (&*one.name, &*one.text)).collect();
    schemas.iter().map(|one| SchemaModel::read_among(&one.text, &among).ok()).collect()
}

pub(super) struct Resolving<'d, 'm> {
    pub(super) path: String,
    party: &'d Party,
    pub(super) workflow: &'d WorkflowDeclaration,
    composed: &'d Composed,
    models: &'m [Option<SchemaModel>],
    era: Era,
    order: StepOrder,
    warnings: Vec<(usize, Diagnostic)>,
}

impl<'m> Resolving<'_, 'm> {
    fn workflow(&mut self, diagnostics: &mut Diagnostics) -> Option<spec::Workflow> {
        let own = self.party.name.as_ref().and_then(|name| self.composed.listeners.get(name))?;
        let accepts = own.accepts.iter().filter(|element| !is_own(&element.name));
        let request: Vec<PayloadPart<'m>> = accepts.filter_map(|element| self.part(element)).collect();
        let gives = if request.is_empty() { Gives::Unknown } else { Gives::Payloads(request) };
        let mut scope = Scope::default();
        scope.known.push(self.make_known(REQUEST, self.party.key.at, gives, &scope));
        let steps = self.steps(diagnostics, &self.workflow.steps, &mut scope);
        let returns = own.returns.iter().find(|element| !is_own(&element.name))?;
        let returns_text = self.part(returns).is_none_or(|part| part.kind() == PayloadPartKind::Text);
        self.last(diagnostics, returns, returns_text);
        Some(spec::Workflow {
            name: own.name.to_string(),
            returns: element_name(returns),
            returns_text,
            steps,
            description: self.workflow.description.clone(),
            form: self.era.workflow_form,
        })
    }

    pub(super) fn part(&self, element: &ElementSchema) -> Option<PayloadPart<'m>> {
        self.models.get(element.schema.0)?.as_ref()?.find_part(&element.name.local)
    }

    fn make_known(&self, id: &str, at: Span, gives: Gives<'m>, scope: &Scope<'m>) -> Known<'m> {
        Known {
            id: id.to_owned(),
            at,
            gives,
            agents: Vec::new(),
            branches: scope.branches.clone(),
            guards: scope.guards.clone(),
            may_fail: false,
        }
    }

    fn steps(
        &mut self,
        diagnostics: &mut Diagnostics,
        steps: &[Step],
        scope: &mut Scope<'m>,
    ) -> Vec<spec::Step> {
        steps.iter().filter_map(|step| self.step(diagnostics, step, scope)).collect()
    }

    fn step(
        &mut self,
        diagnostics: &mut Diagnostics,
        step: &Step,
        scope: &mut Scope<'m>,
    ) -> Option<spec::Step> {
        self.order.here.clone_from(&step.id.value);
        let place = format!("{}.{}", self.path, step.id.value);
        let (branches, guards, items) = (scope.branches.len(), scope.guards.len(), scope.items.len());
        let when = self.conditions(diagnostics, step.when(), scope, &format!("{place}.when"));
        scope.guards.extend(when.iter().map(guard));
        let each = match &step.keys.each {
            Some(list) => self.each(diagnostics, step, list, scope, &format!("{place}.each")),
            None => None,
        };
        let work = self.work(diagnostics, step, scope, &place);
        let (gives, agents) = self.gives(step, scope);
        let known = Known {
            agents,
            may_fail: step.keys.failed.value,
            ..self.make_known(&step.id.value, step.id.at, gives, scope)
        };
        // In the file, its id comes before the ids of its inner steps. Here, the inner steps are already in the list.
        scope.known.push(known);
        scope.branches.truncate(branches);
        scope.guards.truncate(guards);
        scope.items.truncate(items);
        Some(spec::Step {
            id: step.id.value.clone(),
            work: work?,
            each,
            when,
            keeps_failure: step.keys.failed.value,
            timeout_ms: step.keys.timeout.as_ref().map(|limit| limit.value),
            tries: step.keys.retry.attempts.value,
            pause_ms: step.keys.retry.backoff.value,
            budget: step.budget.clone().unwrap_or_default(),
            supervise: super::supervising::of_step(self.workflow, &step.id.value),
        })
    }

    fn conditions(
        &mut self,
        diagnostics: &mut Diagnostics,
        written: &[Condition],
        scope: &Scope<'m>,
        place: &str,
    ) -> Vec<spec::Condition> {
        let judged: Vec<(Span, spec::Condition)> = written
            .iter()
            .filter_map(|one| {
                Some((one.path.at, judging::judge(diagnostics, scope, &self.order, one, place)?))
            })
            .collect();
        let own: Vec<String> = judged.iter().map(|(_, condition)| guard(condition)).collect();
        for (at, condition) in &judged {
            let known = scope.find(&condition.path.goal);
            if let Some(known) = known.filter(|known| scope.may_be_skipped(known, &own)) {
                let words = format!("{place}: `{}` may be skipped, and then this does not hold", known.id);
                let fix = match place.ends_with("until") {
                    true => "a goal of the loop that every pass does",
                    false => "the same `when` here, if that is not meant",
                };
                let warning =
                    Diagnostic::new(Code::ConfigSkippedGoal, diagnostics.place(*at), &words, Some(fix));
                self.warnings.push((at.start, warning.seeing(diagnostics.place(known.at), "the goal")));
            }
        }
        judged.into_iter().map(|(_, condition)| condition).collect()
    }

    /// The list of a step with `each`. After this call, the scope is that of a branch.
    fn each(
        &self,
        diagnostics: &mut Diagnostics,
        step: &Step,
        list: &At<String>,
        scope: &mut Scope<'m>,
        place: &str,
    ) -> Option<spec::EachList> {
        let found = paths::find(diagnostics, scope, &self.order, list, place);
        let found = found.filter(|found| self.is_list(diagnostics, scope, found, list, place)).map(|found| {
            let is_sure =
                !found.is_in_optional && !found.known.may_fail && !scope.may_be_skipped(found.known, &[]);
            let (least, most) = match &found.leads {
                Leads::Part(part) => (if is_sure { part.least() } else { 0 }, part.most()),
                _ => (0, None),
            };
            spec::EachList { list: found.path, at_once: step.at_once, least, most }
        });
        scope.branches.push(step.id.value.clone());
        let each = found?;
        scope.items.push((each.list.goal.clone(), each.list.fields.clone()));
        Some(each)
    }

    fn is_list(
        &self,
        diagnostics: &mut Diagnostics,
        scope: &Scope<'m>,
        found: &paths::Found<'_, 'm>,
        list: &At<String>,
        place: &str,
    ) -> bool {
        let id = &found.known.id;
        let second = (found.known.at, "the goal");
        let (message, fix) = if scope.is_fanned_out(found.known) {
            let message = format!("{place}: `{id}` has an output for each item of a list of its own");
            (message, "a goal after it that gives one list".to_owned())
        } else if !found.known.agents.is_empty() && found.path.agent.is_none() {
            let message = format!("{place}: several agents pursue `{id}`, and each gives a list");
            let rest = list.value.strip_prefix(id.as_str()).unwrap_or_default();
            let agents: Vec<String> =
                found.known.agents.iter().map(|agent| format!("{id}[{agent}]{rest}")).collect();
            (message, one_of(agents.iter().map(String::as_str)))
        } else if found.is_nested_list {
            let message = format!("{place}: `each` cannot go through a list inside a list");
            (message, "a step with `each` over the outer list, and this one inside it".to_owned())
        } else {
            match &found.leads {
                Leads::Unknown => return false,
                Leads::Part(_) if found.list.is_some() => return true,
                Leads::Part(part) => {
                    let lists = part.parts().into_iter().find(|inside| inside.is_list());
                    let message = format!("{place}: `{}` is no list", list.value);
                    let fix = lists.map(|inside| format!("{}/{}", list.value, inside.name()));
                    (
                        message,
                        fix.unwrap_or_else(|| "a path to an element that may come several times".to_owned()),
                    )
                }
                Leads::Words => {
                    let message = format!("{place}: `{id}` gives text, not a list");
                    (message, format!("gives: PAYLOAD at `{id}`, as payloads: {{names: [line, 1..20]}}"))
                }
                Leads::Choice(_) | Leads::Group => {
                    let message = format!("{place}: `{}` is no list", list.value);
                    (message, "a path to an element that may come several times".to_owned())
                }
            }
        };
        diagnostics.report_value_beside(list.at, &message, &fix, second);
        false
    }

    fn work(
        &mut self,
        diagnostics: &mut Diagnostics,
        step: &Step,
        scope: &mut Scope<'m>,
        place: &str,
    ) -> Option<spec::StepAction> {
        Some(match &step.work {
            Work::Unread => return None,
            Work::Do(goal) => spec::StepAction::Do(self.goal(diagnostics, goal, scope, place)),
            Work::Call { element, to, with, with_at } => spec::StepAction::Call(self.call(
                diagnostics,
                (element, to.as_ref()),
                (with, *with_at),
                scope,
                place,
            )?),
            Work::Ask(question) => spec::StepAction::Ask(self.question(diagnostics, question, scope, place)),
            Work::Wait(ms) => spec::StepAction::Wait { ms: *ms },
            Work::Group(steps) => spec::StepAction::Group { steps: self.steps(diagnostics, steps, scope) },
            Work::Parallel(steps) => spec::StepAction::Parallel {
                steps: self.parallel(diagnostics, steps, scope),
                at_once: step.at_once,
            },
            Work::Repeat { steps, until, at_most } => {
                let outer = scope.earlier_pass.len();
                let mut all = Vec::new();
                super::declaration::collect(steps, &mut all);
                scope.earlier_pass.extend(all.iter().map(|step| step.id.value.clone()));
                let made = self.steps(diagnostics, steps, scope);
                scope.earlier_pass.truncate(outer);
                let until = match until.as_ref() {
                    None => return None,
                    Some(Until::Converged(at)) => {
                        self.converges(diagnostics, steps, *at, place);
                        spec::RepeatUntil::Converged
                    }
                    Some(Until::Holds(conditions)) => {
                        let place = format!("{place}.repeat.until");
                        spec::RepeatUntil::Holds(self.conditions(diagnostics, conditions, scope, &place))
                    }
                };
                spec::StepAction::Repeat { steps: made, until, at_most: *at_most }
            }
        })
    }

    /// Parallel steps: none sees the others' inner steps.
    fn parallel(
        &mut self,
        diagnostics: &mut Diagnostics,
        steps: &[Step],
        scope: &mut Scope<'m>,
    ) -> Vec<spec::Step> {
        let outer = std::mem::take(&mut self.order.beside);
        let before = scope.known.len();
        let mut made = Vec::new();
        let mut known = Vec::new();
        for (nth, step) in steps.iter().enumerate() {
            let mut beside = Vec::new();
            for (_, other) in steps.iter().enumerate().filter(|(other, _)| *other != nth) {
                super::declaration::collect(std::slice::from_ref(other), &mut beside);
            }
            let beside = beside.iter().map(|step| step.id.value.clone());
            self.order.beside = outer.iter().cloned().chain(beside).collect();
            made.extend(self.step(diagnostics, step, scope));
            known.extend(scope.known.drain(before..));
        }
        scope.known.append(&mut known);
        self.order.beside = outer;
        made
    }

    fn goal(&self, diagnostics: &mut Diagnostics, goal: &Goal, scope: &Scope<'m>, place: &str) -> spec::Goal {
        let sees = goal
            .sees
            .as_ref()
            .map(|sees| self.resolve_seen(diagnostics, sees, scope, &format!("{place}.sees")));
        words::check_request(diagnostics, goal, place);
        if self.era.workflow_form > 1 {
            words::check_fields(diagnostics, scope, &goal.words, place);
        }
        spec::Goal {
            words: goal.words.value.clone(),
            by: self.workflow.agents_of(goal).iter().map(|agent| agent.value.clone()).collect(),
            gives: self.link(goal).map(element_name),
            sees,
            hides_request: goal.hides_request.as_ref().map_or(self.workflow.hides_request, |own| own.value),
            tasks: self.workflow.tasks_of(goal).map(|tasks| spec::TaskRule {
                by: tasks.by.value.clone(),
                at_most: tasks.at_most,
                supervise: tasks.supervise.as_ref().map(super::supervising::name_supervisor),
            }),
        }
    }

    pub(super) fn link(&self, goal: &Goal) -> Option<&ElementSchema> {
        let gives = goal.gives.as_ref()?;
        self.composed.links.get(&(self.party.key.value.clone(), gives.value.clone()))
    }

    /// The steps that a goal's context shows. In a loop, their outputs may come from an earlier pass.
    fn resolve_seen(
        &self,
        diagnostics: &mut Diagnostics,
        sees: &[At<String>],
        scope: &Scope<'m>,
        place: &str,
    ) -> Vec<spec::Path> {
        let mut paths = Vec::new();
        for one in sees {
            if scope.find(&one.value).is_none() && scope.earlier_pass.contains(&one.value) {
                paths.push(spec::Path { goal: one.value.clone(), agent: None, fields: Vec::new() });
            } else if let Some(found) = paths::find(diagnostics, scope, &self.order, one, place) {
                paths.push(found.path);
            }
        }
        paths
    }

    fn question(
        &self,
        diagnostics: &mut Diagnostics,
        question: &Question,
        scope: &Scope<'m>,
        place: &str,
    ) -> spec::QuestionStep {
        let mut shows = Vec::new();
        for one in &question.shows {
            let place = format!("{place}.shows");
            let Some(found) = paths::find(diagnostics, scope, &self.order, one, &place) else { continue };
            let id = &found.known.id;
            let (why, fix) = if !found.path.fields.is_empty() {
                let why = format!("a person sees an output whole, and `{}` is a part of one", one.value);
                (why, id.clone())
            } else if let Gives::Group(steps) = &found.known.gives {
                let why = format!("`{id}` holds steps, and a person sees the output of one");
                let inside = scope.goals_in(steps);
                let fix = if let [only] = inside[..] { only.to_owned() } else { one_of(inside.into_iter()) };
                (why, fix)
            } else if scope.is_fanned_out(found.known) {
                let why = format!("`{id}` has an output for each item of a list, and a person sees one");
                (why, "a goal after it that sums them up".to_owned())
            } else {
                shows.push(found.path);
                continue;
            };
            diagnostics.report_value(one.at, &format!("{place}: {why}"), &fix);
        }
        spec::QuestionStep {
            words: question.words.clone(),
            choices: question.choices.iter().map(|choice| choice.value.clone()).collect(),
            shows,
            expires_ms: question.expires_ms,
            otherwise: question.otherwise.as_ref().map(|choice| choice.value.clone()),
        }
    }

    fn call(
        &self,
        diagnostics: &mut Diagnostics,
        (element, to): (&At<String>, Option<&At<String>>),
        (with, with_at): (&[With], Span),
        scope: &Scope<'m>,
        place: &str,
    ) -> Option<spec::CallStep> {
        let to = self.callee(to?)?;
        let taken = self.find_taken(diagnostics, element, to, place)?;
        let model = self.models.get(taken.schema.0)?.as_ref()?;
        let part = model.find_part(&taken.name.local)?;
        let place = format!("{place}.with");
        let target = Target { element: &part, at: with_at, place: &place };
        let before = diagnostics.mistakes();
        let fields = filling::fields(diagnostics, scope, &self.order, with, &target);
        let call = spec::CallStep {
            element: element_name(taken),
            is_qualified: model.is_qualified(&taken.name.local),
            to: to.name.to_string(),
            fields,
        };
        // What could not be read was reported before.
        let is_read = !with.iter().any(|one| matches!(one, With::Unread));
        if is_read && diagnostics.mistakes() == before {
            filling::prove(diagnostics, &call, model, &target);
        }
        Some(call)
    }

    pub(super) fn callee(&self, to: &At<String>) -> Option<&Listener> {
        self.composed.listeners.values().find(|listener| listener.name.as_str() == to.value)
    }

    /// The accepted element of a listener that a call sends.
    fn find_taken<'l>(
        &self,
        diagnostics: &mut Diagnostics,
        element: &At<String>,
        to: &'l Listener,
        place: &str,
    ) -> Option<&'l ElementSchema> {
        let offered = || to.accepts.iter().filter(|one| !is_own(&one.name));
        if let Some(found) = offered().find(|one| *one.name.local == *element.value) {
            return Some(found);
        }
        let known: Vec<&str> = offered().map(|one| &*one.name.local).collect();
        let message = format!("{place}.call: `{}` does not take `{}`", to.name, element.value);
        let near = systole_kit::schema::find_nearest(&element.value, known.iter().copied());
        let fix = match (near, known.is_empty()) {
            (Some(near), _) => near.to_owned(),
            (None, false) => one_of(known.iter().copied()),
            (None, true) => format!("do: WORDS with by: {}, which takes goals alone", to.name),
        };
        diagnostics.report(Code::ConfigUnknownElement, element.at, &message, &fix);
        None
    }

    /// The output of a step, and its agents if there are several.
    fn gives(&self, step: &Step, scope: &Scope<'m>) -> (Gives<'m>, Vec<String>) {
        let gives = match &step.work {
            Work::Unread => Gives::Unknown,
            Work::Wait(_) => Gives::Nothing,
            Work::Ask(question) => Gives::Choice(question.choices.clone()),
            Work::Do(goal) => {
                let agents = self.workflow.agents_of(goal);
                let several = if agents.len() > 1 { agents } else { &[] };
                let several = several.iter().map(|agent| agent.value.clone()).collect();
                let gives = match (&goal.gives, self.link(goal)) {
                    (None, _) => Gives::Words,
                    (Some(_), found) => self.payload(found),
                };
                return (gives, several);
            }
            Work::Call { to, .. } => {
                let callee = to.as_ref().and_then(|to| self.callee(to));
                let returned =
                    callee.map(|to| to.returns.iter().filter(|one| !is_own(&one.name)).collect::<Vec<_>>());
                match returned.as_deref() {
                    None => Gives::Unknown,
                    Some([one]) => self.payload(Some(one)),
                    Some([]) => Gives::Nothing,
                    Some(_) => Gives::Several,
                }
            }
            // Later goals see the output of the branch's last step.
            Work::Group(steps) | Work::Repeat { steps, .. } if step.keys.each.is_some() => {
                let last = steps.last().and_then(|last| scope.find(&last.id.value));
                return last
                    .map_or((Gives::Unknown, Vec::new()), |last| (last.gives.clone(), last.agents.clone()));
            }
            Work::Group(steps) | Work::Repeat { steps, .. } | Work::Parallel(steps) => {
                Gives::Group(steps.iter().map(|step| step.id.value.clone()).collect())
            }
        };
        (gives, Vec::new())
    }

    fn payload(&self, element: Option<&ElementSchema>) -> Gives<'m> {
        element
            .and_then(|element| self.part(element))
            .map_or(Gives::Unknown, |part| Gives::Payloads(vec![part]))
    }
}

fn element_name(element: &ElementSchema) -> ElementName {
    ElementName { namespace: element.name.ns.to_string(), local: element.name.local.to_string() }
}

/// A condition in a form that can be compared.
fn guard(condition: &spec::Condition) -> String {
    format!("{condition:?}")
}
