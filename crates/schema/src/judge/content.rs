//! Matches the children of an element against the content that its type allows.
//!
//! A particle and the children come in. Out goes the match of each child, up to the first misfit,
//! and what could have been in its place. The judge's compiler demands unique attribution and nested
//! counters are banned, so one greedy pass without backtracking is correct.

use crate::shape::{Declaration, Particle, Term};
use crate::tree::XmlElement;

/// The match of one child.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TakenChild<'m> {
    Element(&'m Particle, &'m Declaration),
    Wildcard,
}

/// A possible element at the place where the match stopped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ContentCandidate<'m> {
    pub(crate) particle: &'m Particle,
    /// This one, or one of those that share its choice, is required.
    pub(crate) required: bool,
    /// Others of the same choice would also do.
    pub(crate) alternative: bool,
}

/// Where the children stop fitting: at a child, or after the last one.
#[derive(Debug)]
pub(crate) struct ContentStop<'m> {
    pub(crate) at: usize,
    pub(crate) candidates: Vec<ContentCandidate<'m>>,
}

/// The match of each child, and where the matching stopped, if it did.
pub(crate) struct LaidContent<'m> {
    pub(crate) taken: Vec<TakenChild<'m>>,
    pub(crate) stop: Option<ContentStop<'m>>,
}

pub(crate) fn lay_children<'m>(particle: &'m Particle, children: &[&XmlElement]) -> LaidContent<'m> {
    let mut laying = ContentLaying { children, taken: Vec::new(), candidates: Vec::new() };
    let complete = laying.lay_particle(particle) && laying.taken.len() == children.len();
    let ContentLaying { taken, candidates, .. } = laying;
    let stop = (!complete).then_some(ContentStop { at: taken.len(), candidates });
    LaidContent { taken, stop }
}

struct ContentLaying<'m, 'c> {
    children: &'c [&'c XmlElement],
    taken: Vec<TakenChild<'m>>,
    /// What was looked for at the current child without success.
    candidates: Vec<ContentCandidate<'m>>,
}

impl<'m> ContentLaying<'m, '_> {
    /// Takes as many children as the particle can; `false` if it needs more than there are.
    fn lay_particle(&mut self, particle: &'m Particle) -> bool {
        let mut count: u32 = 0;
        while particle.max.is_none_or(|max| count < max) {
            if !self.can_start(&particle.term) {
                let satisfied = count >= particle.min || particle.term.may_be_empty();
                self.note_missed(particle, !satisfied, false);
                return satisfied;
            }
            let taken = match &particle.term {
                Term::Element(declaration) => self.take_child(TakenChild::Element(particle, declaration)),
                group => self.lay_term(group),
            };
            if !taken {
                return false;
            }
            count = count.saturating_add(1);
        }
        true
    }

    /// Takes one round of a term that the current child starts.
    fn lay_term(&mut self, term: &'m Term) -> bool {
        match term {
            Term::Wildcard(_) => self.take_child(TakenChild::Wildcard),
            // `particle` takes single elements itself, because the particle is what is noted.
            Term::Element(_) => false,
            Term::Sequence(parts) => parts.iter().all(|part| self.lay_particle(part)),
            Term::Choice(parts) => match parts.iter().find(|part| self.can_start(&part.term)) {
                Some(part) => self.lay_particle(part),
                None => true,
            },
            Term::All(parts) => self.lay_all(parts),
        }
    }

    fn lay_all(&mut self, parts: &'m [Particle]) -> bool {
        let mut left: Vec<&'m Particle> = parts.iter().collect();
        while let Some(at) = left.iter().position(|part| self.can_start(&part.term)) {
            let part = left.remove(at);
            if !self.lay_particle(part) {
                return false;
            }
        }
        left.iter().for_each(|part| self.note_missed(part, part.min > 0, false));
        left.iter().all(|part| part.min == 0)
    }

    fn take_child(&mut self, taken: TakenChild<'m>) -> bool {
        self.taken.push(taken);
        self.candidates.clear();
        true
    }

    fn can_start(&self, term: &Term) -> bool {
        let Some(child) = self.children.get(self.taken.len()) else { return false };
        can_start(term, child)
    }

    /// Notes the elements that a particle could have begun with here.
    fn note_missed(&mut self, particle: &'m Particle, required: bool, alternative: bool) {
        match &particle.term {
            Term::Element(_) | Term::Wildcard(_) => {
                self.candidates.push(ContentCandidate { particle, required, alternative });
            }
            Term::Choice(parts) => {
                let alternative = alternative || parts.len() > 1;
                parts.iter().for_each(|part| self.note_missed(part, required, alternative));
            }
            Term::All(parts) => {
                parts.iter().for_each(|part| self.note_missed(part, required && part.min > 0, alternative));
            }
            Term::Sequence(parts) => {
                for part in parts {
                    let absent = part.may_be_absent();
                    self.note_missed(part, required && !absent, alternative);
                    if !absent {
                        break;
                    }
                }
            }
        }
    }
}

fn can_start(term: &Term, child: &XmlElement) -> bool {
    match term {
        Term::Element(declaration) => child.name.is_named(&declaration.namespace, &declaration.name),
        Term::Wildcard(wildcard) => wildcard.can_take(&child.name.namespace),
        Term::Choice(parts) | Term::All(parts) => parts.iter().any(|p| can_start(&p.term, child)),
        Term::Sequence(parts) => {
            for part in parts {
                if can_start(&part.term, child) {
                    return true;
                }
                if !part.may_be_absent() {
                    return false;
                }
            }
            false
        }
    }
}
