//! The things that a step can see: the request and the earlier steps, each with its output.
//!
//! The scope grows while the steps of a workflow are visited in order. It judges no values and reports nothing.

use systole_kit::schema::PayloadPart;

use super::super::tree::Span;
use super::super::value::At;

/// Something that a path can start with.
pub(super) struct Known<'m> {
    pub(super) id: String,
    /// Its place.
    pub(super) at: Span,
    pub(super) gives: Gives<'m>,
    /// The agents, if there are several outputs.
    pub(super) agents: Vec<String>,
    /// The steps with `each` around it, including itself, outermost first.
    pub(super) branches: Vec<String>,
    /// The conditions under which it runs.
    pub(super) guards: Vec<String>,
    /// Whether the run continues if it fails.
    pub(super) may_fail: bool,
}

/// The output of a step.
#[derive(Clone)]
pub(super) enum Gives<'m> {
    /// One of these payloads. Almost always there is only one.
    Payloads(Vec<PayloadPart<'m>>),
    /// A person's choice, and a note.
    Choice(Vec<At<String>>),
    /// Text.
    Words,
    /// No output: a group or a loop, with its inner steps.
    Group(Vec<String>),
    /// No output: time passes.
    Nothing,
    /// An answer that may be one of several payloads.
    Several,
    /// Unknown, because of a mistake that was already reported.
    Unknown,
}

/// What is visible at a place.
#[derive(Default)]
pub(super) struct Scope<'m> {
    pub(super) known: Vec<Known<'m>>,
    /// The steps with `each` around the place.
    pub(super) branches: Vec<String>,
    /// The lists whose items these steps work on: the goal and the fields.
    pub(super) items: Vec<(String, Vec<String>)>,
    /// The conditions that hold at this place.
    pub(super) guards: Vec<String>,
    /// The steps of the loops around the place, which an earlier pass has run.
    pub(super) earlier_pass: Vec<String>,
}

impl<'m> Scope<'m> {
    pub(super) fn find(&self, id: &str) -> Option<&Known<'m>> {
        self.known.iter().find(|known| known.id == id)
    }

    /// The steps of a group that give outputs, those of groups inside it included.
    pub(super) fn goals_in<'s>(&'s self, steps: &'s [String]) -> Vec<&'s str> {
        let inside = |id: &'s String| match self.find(id).map(|known| &known.gives) {
            Some(Gives::Group(steps)) => self.goals_in(steps),
            _ => vec![id.as_str()],
        };
        steps.iter().flat_map(inside).collect()
    }

    /// Whether a goal has one output per item of a list, seen from this place.
    pub(super) fn is_fanned_out(&self, known: &Known<'_>) -> bool {
        !self.branches.starts_with(&known.branches)
    }

    /// Whether the place is in a branch for an item of this list.
    pub(super) fn is_item(&self, goal: &str, fields: &[String]) -> bool {
        self.items.iter().any(|(list, inside)| list == goal && inside == fields)
    }

    /// Whether a goal may have been skipped when this place runs. `own` are the place's own conditions.
    pub(super) fn may_be_skipped(&self, known: &Known<'_>, own: &[String]) -> bool {
        !known.guards.iter().all(|guard| self.guards.contains(guard) || own.contains(guard))
    }
}
