//! What an answer holds once a dialect has taken it apart, and what its turn allows.

use systole_kit::Payload;

use crate::failures::AgentFailure;

/// The content of an answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadAnswer {
    /// The model's visible thoughts.
    pub(crate) thoughts: Vec<String>,
    /// Plans, each a `<todo-until>`.
    pub(crate) plans: Vec<Payload>,
    /// Its actions, in order.
    pub(crate) acts: Vec<AnswerAction>,
    /// Its final.
    pub(crate) ending: Option<Payload>,
    /// Maps each part of the final to the model's text, if the final is an element there.
    pub(crate) ending_origin: Option<systole_kit::extract::PayloadOrigin>,
    /// Whether it holds nothing but thoughts and plans. Then it is a note, which opens the next turn.
    pub(crate) is_note: bool,
    /// The faults.
    pub(crate) reasons: Vec<AgentFailure>,
    /// The words of an answer that is unusable and did not try to act, without the thoughts at the beginning.
    pub(crate) unused: Option<String>,
    /// The fixes, each with its slug. They are recorded and reported.
    pub(crate) repairs: Vec<AnswerRepair>,
    /// Native calls that were plans.
    pub(crate) planned_calls: Vec<String>,
    /// Native calls that failed, each with the reason.
    pub(crate) failed_calls: Vec<(String, AgentFailure)>,
}

/// A fix and the action that it belongs to.
#[derive(Clone, Debug)]
pub(crate) struct AnswerRepair {
    /// The message for the model.
    pub(crate) reason: AgentFailure,
    /// The index of the fixed action among the actions. `None` for a note or a final.
    pub(crate) act: Option<usize>,
}

/// One action.
#[derive(Clone, Debug)]
pub(crate) struct AnswerAction {
    /// The recipient, if named.
    pub(crate) to: Option<String>,
    /// The payload.
    pub(crate) payload: Payload,
    /// What the model calls it.
    pub(crate) name: String,
    /// The native call behind it.
    pub(crate) call: Option<String>,
    /// The child thread that it goes to, if named.
    pub(crate) thread: Option<String>,
    /// Maps each part of it to the model's text.
    pub(crate) origin: Option<systole_kit::extract::PayloadOrigin>,
    /// Whether it gives a task.
    pub(crate) is_task: bool,
    /// What the model wrote, if several of its elements are put together in this one.
    pub(crate) parts: Vec<ActPart>,
}

/// An element of the model inside an action.
#[derive(Clone, Debug)]
pub(crate) struct ActPart {
    /// What the model calls it.
    pub(crate) name: String,
    /// The native call behind it.
    pub(crate) call: Option<String>,
}

impl AnswerAction {
    /// The native calls behind it.
    pub(crate) fn into_calls(self) -> Vec<String> {
        self.call.into_iter().chain(self.parts.into_iter().filter_map(|part| part.call)).collect()
    }

    /// Whether a native call is behind it.
    pub(crate) fn is_called(&self) -> bool {
        self.call.is_some() || self.parts.iter().any(|part| part.call.is_some())
    }
}

impl ReadAnswer {
    /// Whether it is enough to answer the turn.
    pub(crate) fn is_usable(&self) -> bool {
        !self.acts.is_empty() || self.ending.is_some() || !self.plans.is_empty() || self.is_note
    }

    /// Whether its first item is a note.
    pub(crate) fn has_note(&self) -> bool {
        self.is_note || !self.thoughts.is_empty() || !self.plans.is_empty()
    }

    /// The action whose item has that ordinal, with its index among the actions.
    pub(crate) fn find_act(&self, ordinal: u32) -> Option<(usize, &AnswerAction)> {
        let at = usize::try_from(ordinal).ok()?.checked_sub(usize::from(self.has_note()))?;
        Some((at, self.acts.get(at)?))
    }

    /// Whether it gives tasks.
    pub(crate) fn has_tasks(&self) -> bool {
        self.acts.iter().any(|act| act.is_task)
    }

    /// Removes the actions and all fixes, and no longer counts the answer as a note.
    pub(crate) fn clear_acts(&mut self) {
        self.acts.clear();
        self.repairs.clear();
        self.is_note = false;
    }

    pub(crate) fn add_failure(&mut self, slug: &str, words: impl Into<String>) {
        self.reasons.extend(AgentFailure::from_slug(slug, words));
    }
}

/// What is allowed in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TurnRules<'a> {
    /// Whether only a final is accepted.
    pub(crate) only_final: bool,
    /// The code in the slot of a final (`xml-final`).
    pub(crate) nonce: &'a str,
    /// The number of tasks given before.
    pub(crate) tasks_given: u32,
    /// Whether the model was told that the first pass cannot have converged.
    pub(crate) told_early: bool,
    /// How its answer is judged.
    pub(crate) judging: AnswerJudging,
}

/// How an answer is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerJudging {
    /// By the rules of this version.
    Now,
    /// By the rules of the versions before finals were refused for their tags.
    AsBefore,
    /// It was judged before, and this is whether it was refused.
    Recorded { is_refused: bool },
}

impl TurnRules<'_> {
    /// The rules of an earlier turn, with what was before it, and whether its answer was refused.
    pub(crate) fn from_past(tasks_given: u32, told_early: bool, is_refused: bool) -> Self {
        let judging = AnswerJudging::Recorded { is_refused };
        Self { only_final: false, nonce: "", tasks_given, told_early, judging }
    }

    /// Whether what earlier versions took is refused.
    pub(crate) fn refuses_more(&self) -> bool {
        matches!(self.judging, AnswerJudging::Now | AnswerJudging::Recorded { is_refused: true })
    }

    /// Whether what earlier versions refused is taken.
    pub(crate) fn takes_more(&self) -> bool {
        self.judging != AnswerJudging::AsBefore
    }
}
