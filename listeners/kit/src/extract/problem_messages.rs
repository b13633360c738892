//! Messages for elements that cannot be accepted: not well-formed, unknown, or ambiguous.
//!
//! It never decides. An element and its place come in; a problem goes out.

use super::events::{NameRepair, ProblemSlug, TextProblem};
use super::names::{KnownElement, KnownNames};
use super::outline::ElementHead;
use super::piece::MarkupPiece;
use crate::{DocumentLimits, Place, gate};

/// The gate's report on markup that cannot be read.
pub(super) fn describe_malformed(
    piece: &MarkupPiece<'_>,
    limits: &DocumentLimits,
    name: &str,
) -> TextProblem {
    match gate::check_document(piece.raw.as_bytes(), limits) {
        Err(fault) => {
            let place = piece.place_of(fault.place.offset);
            let is_inside = ElementHead::read(piece.raw).is_some_and(|head| fault.place.offset >= head.end);
            TextProblem::from_refusal(fault, place, name, is_inside)
        }
        Ok(()) => TextProblem::new(ProblemSlug::Malformed, piece.start, "the element cannot be read")
            .with_element(name),
    }
}

/// An element that is not known.
pub(super) fn describe_unknown_action(names: &KnownNames, written: &str, place: Place) -> TextProblem {
    let local = written.split_once(':').map_or(written, |(_, local)| local);
    let near = names.find_nearest(local);
    let problem =
        TextProblem::new(ProblemSlug::UnknownAction, place, format!("<{written}> is not a known action"))
            .with_element(written)
            .with_expected(names.list_expected());
    let problem = match near.first() {
        Some(name) => problem.with_fix(format!("write <{name}> if that was meant")),
        None => problem.with_fix("write one of these, or put the markup into backticks if it is only shown"),
    };
    problem.with_nearest(near)
}

/// A corrected name of an action that needs a person's approval. Only its exact name is accepted.
pub(super) fn describe_inexact(repaired: &NameRepair) -> TextProblem {
    let NameRepair { written, meant, place, .. } = repaired;
    let message = format!("<{written}> is not exactly <{meant}>, and what it asks for needs approval");
    TextProblem::new(ProblemSlug::UnknownAction, *place, message)
        .with_element(written)
        .with_expected(format!("<{meant}>"))
        .with_fix(format!("write <{meant}> if that was meant"))
        .with_nearest(vec![meant.clone()])
}

pub(super) fn describe_ambiguous(
    piece: &MarkupPiece<'_>,
    head: &ElementHead<'_>,
    group: &[KnownElement],
    is_inner: bool,
) -> TextProblem {
    let takers: Vec<&str> = group.iter().flat_map(|known| &known.takers).map(String::as_str).collect();
    let message = match group.len() {
        1 => format!("<{}> is taken by {} peers", head.written, takers.len()),
        many => format!("<{}> may mean {many} elements", head.written),
    };
    let problem =
        TextProblem::new(ProblemSlug::AmbiguousAction, piece.start, message).with_element(head.written);
    let namespaces: Vec<&str> = group.iter().map(|known| known.ns.as_str()).collect();
    let bearer = if is_inner { "initial-payload" } else { head.written };
    match takers.first() {
        Some(first) => problem
            .with_expected(format!("to=\"{}\"", takers.join("\" or to=\"")))
            .with_fix(format!("write <{bearer} to=\"{first}\">, with the name of the one that is meant")),
        None => problem
            .with_expected(format!("the namespace {}", namespaces.join(" or ")))
            .with_fix(format!("write <{} xmlns=\"…\"> with its namespace", head.written)),
    }
}
