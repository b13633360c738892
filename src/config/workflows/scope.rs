//! What a step can see: the request and the steps before it, each with what it gives.
//!
//! The scope grows as the steps of a workflow are walked through in order. It judges no value and reports nothing.

use systole_kit::schema::Part;

use super::super::value::At;
use super::super::yaml::Span;

/// Something that a path can begin with.
pub(super) struct Known<'m> {
    pub(super) id: String,
    /// Where it is declared.
    pub(super) at: Span,
    pub(super) gives: Gives<'m>,
    /// The agents, if there are several outputs.
    pub(super) agents: Vec<String>,
    /// The steps with `each` that it is in, itself included, from outside inwards.
    pub(super) branches: Vec<String>,
    /// The conditions under which it is done.
    pub(super) guards: Vec<String>,
    /// Whether the run goes on without it if it fails.
    pub(super) may_fail: bool,
}

/// What a step gives.
#[derive(Clone)]
pub(super) enum Gives<'m> {
    /// One of these payloads; almost always there is one.
    Payloads(Vec<Part<'m>>),
    /// The choice of a person, and a note.
    Choice(Vec<At<String>>),
    /// Text.
    Words,
    /// Nothing of its own: a group, or a loop, with the steps inside it.
    Group(Vec<String>),
    /// Nothing: time passes.
    Nothing,
    /// An answer that may be one of several payloads.
    Several,
    /// Not known, because of something that has been reported.
    Unknown,
}

/// What is known at a step.
#[derive(Default)]
pub(super) struct Scope<'m> {
    pub(super) known: Vec<Known<'m>>,
    /// The steps with `each` that the place is in.
    pub(super) branches: Vec<String>,
    /// The lists whose items those work on: the goal and the fields.
    pub(super) items: Vec<(String, Vec<String>)>,
    /// The conditions that hold at this place.
    pub(super) guards: Vec<String>,
    /// The steps of the loops that the place is in, which an earlier pass has done.
    pub(super) earlier_pass: Vec<String>,
}

impl<'m> Scope<'m> {
    pub(super) fn find(&self, id: &str) -> Option<&Known<'m>> {
        self.known.iter().find(|known| known.id == id)
    }

    /// Whether a goal has one output for each item of a list, seen from this place.
    pub(super) fn is_fanned_out(&self, known: &Known<'_>) -> bool {
        !self.branches.starts_with(&known.branches)
    }

    /// Whether the place is in a branch that works on an item of this list.
    pub(super) fn is_item(&self, goal: &str, fields: &[String]) -> bool {
        self.items.iter().any(|(list, inside)| list == goal && inside == fields)
    }

    /// Whether a goal may have been skipped although this place is reached, and these conditions are the place's own.
    pub(super) fn may_be_skipped(&self, known: &Known<'_>, own: &[String]) -> bool {
        !known.guards.iter().all(|guard| self.guards.contains(guard) || own.contains(guard))
    }
}
