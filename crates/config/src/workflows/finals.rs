//! Checks that the last step of a workflow always returns its final, which is a single payload. Also checks that the
//! last step of a loop can say that it has converged.
//!
//! Input: steps with looked-up names. Output: mistakes in the last step.

use systole_kit::schema::PayloadPartKind;

use super::super::diagnostics::Diagnostics;
use super::super::tree::Span;
use super::declaration::{Step, Work};
use super::is_own;
use super::resolve::Resolving;
use systole_core::types::composition::ElementSchema;

impl Resolving<'_, '_> {
    /// Checks that the last step returns the final.
    pub(super) fn last(&self, diagnostics: &mut Diagnostics, returns: &ElementSchema, returns_text: bool) {
        let Some(last) = self.workflow.steps.last() else { return };
        self.gives_final(diagnostics, last, returns, returns_text);
    }

    fn gives_final(
        &self,
        diagnostics: &mut Diagnostics,
        step: &Step,
        returns: &ElementSchema,
        returns_text: bool,
    ) {
        let place = format!("{}.{}", self.path, step.id.value);
        let local = &returns.name.local;
        let mut wrong = |at: Span, why: &str, fix: &str| {
            let message = format!("{place}: the last step gives the final, and {why}");
            diagnostics.report_value(at, &message, fix);
        };
        let behind = "a step after it that gives the answer";
        if !step.when().is_empty() {
            return wrong(
                step.keys.own.value_place("when").unwrap_or(step.id.at),
                "this one may be skipped",
                behind,
            );
        }
        if let Some(each) = &step.keys.each {
            return wrong(each.at, "this one gives an output for each item", behind);
        }
        if step.keys.failed.value {
            return wrong(
                step.id.at,
                "with `failed: keep` there may be none",
                "failed: stop, or leave it out",
            );
        }
        match &step.work {
            Work::Unread => {}
            Work::Parallel(_) => wrong(step.id.at, "steps that run beside one another give several", behind),
            Work::Wait(_) => wrong(step.id.at, "this one only waits", behind),
            Work::Ask(_) => wrong(step.id.at, "this one gives what a person chose", behind),
            Work::Group(steps) | Work::Repeat { steps, .. } => {
                if let Some(last) = steps.last() {
                    self.gives_final(diagnostics, last, returns, returns_text);
                }
            }
            Work::Do(goal) => {
                let agents = self.workflow.agents_of(goal);
                if let [_, second, ..] = agents {
                    let why = format!("`{}` would give a second one", second.value);
                    return wrong(
                        second.at,
                        &why,
                        "one agent here, or a step after it that gives the answer",
                    );
                }
                match (&goal.gives, self.link(goal)) {
                    (None, _) if !returns_text => {
                        let why = format!("`{local}` has fields, which text does not fill");
                        wrong(step.id.at, &why, &format!("gives: {local}"));
                    }
                    (Some(gives), Some(found)) if found.name != returns.name => {
                        let why = format!("the workflow returns `{local}`, and not `{}`", gives.value);
                        wrong(
                            gives.at,
                            &why,
                            &format!("gives: {local}, or returns: [{}] on the workflow", gives.value),
                        );
                    }
                    _ => {}
                }
            }
            Work::Call { element, to, .. } => {
                let Some(callee) = to.as_ref().and_then(|to| self.callee(to)) else { return };
                let mut given = callee.returns.iter().filter(|one| !is_own(&one.name));
                if given.any(|one| one.name != returns.name) || callee.returns.is_empty() {
                    let why = format!("`{}` does not answer with `{local}` alone", callee.name);
                    wrong(element.at, &why, behind);
                }
            }
        }
    }

    /// Checks that the last step of a loop is a goal whose output can say `converged`.
    pub(super) fn converges(&self, diagnostics: &mut Diagnostics, steps: &[Step], at: Span, place: &str) {
        let Some(last) = steps.last() else { return };
        let (why, fix) = match &last.work {
            Work::Unread => return,
            _ if last.keys.each.is_some() || !last.when().is_empty() => {
                ("may be done several times or not at all", "a goal after it that judges the pass".to_owned())
            }
            Work::Group(inside) => return self.converges(diagnostics, inside, at, place),
            Work::Do(goal) if self.workflow.agents_of(goal).len() > 1 => {
                ("has several agents", "a goal after it that judges the pass".to_owned())
            }
            Work::Do(goal) => {
                let Some(part) = self.link(goal).and_then(|given| self.part(given)) else { return };
                if part
                    .find_part("converged")
                    .is_some_and(|flag| flag.kind() == PayloadPartKind::Flag && !flag.is_list())
                {
                    return;
                }
                let fix = format!(
                    "until: {{{}/FIELD: VALUE}}, or a field `converged: bool` in the payload",
                    last.id.value
                );
                ("gives a payload without a flag `converged`", fix)
            }
            _ => ("is no goal", "a goal at the end of the pass, or conditions under `until`".to_owned()),
        };
        let id = &last.id.value;
        let message =
            format!("{place}.repeat.until: the last goal of a pass says `converged`, and `{id}` {why}");
        diagnostics.report_value_beside(at, &message, &fix, (last.id.at, "the last step"));
    }
}
