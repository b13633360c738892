//! Turns the content of a type into positions: which element can follow which, and where the content may end.
//!
//! A particle comes in, a graph goes out. Counted repeats are written out as copies, up to a bound that
//! depends on the number of children. Content that needs more positions has no graph.

use crate::limits;
use crate::shape::{Declaration, Particle, Term};

/// An element or a wildcard of the content, by its number among the distinct ones.
pub(crate) type ContentSymbol = u16;

/// Position 0 is before all children; every other position is for one child.
pub(crate) struct PositionGraph<'m> {
    /// The distinct elements and wildcards.
    pub(crate) symbols: Vec<&'m Term>,
    symbol_of: Vec<ContentSymbol>,
    follow: Vec<Vec<usize>>,
    ends: Vec<bool>,
    children: usize,
}

/// A part of the content: where it can begin and end, and whether it may be absent.
#[derive(Clone, Default)]
struct GraphFragment {
    first: Vec<usize>,
    last: Vec<usize>,
    nullable: bool,
}

impl<'m> PositionGraph<'m> {
    /// The graph of a content that currently has this many children.
    pub(crate) fn from_particle(particle: &'m Particle, children: usize) -> Option<Self> {
        let mut graph = Self {
            symbols: Vec::new(),
            symbol_of: vec![0],
            follow: vec![Vec::new()],
            ends: vec![false],
            children,
        };
        let whole = graph.add_particle(particle)?;
        graph.connect_all(&[0], &whole.first);
        let ends = whole.last.iter().copied().chain(whole.nullable.then_some(0));
        for at in ends {
            if let Some(end) = graph.ends.get_mut(at) {
                *end = true;
            }
        }
        Some(graph)
    }

    /// The positions that can come after this one.
    pub(crate) fn list_followers(&self, at: usize) -> &[usize] {
        self.follow.get(at).map(Vec::as_slice).unwrap_or_default()
    }

    pub(crate) fn may_end(&self, at: usize) -> bool {
        self.ends.get(at).copied().unwrap_or_default()
    }

    pub(crate) fn find_symbol(&self, at: usize) -> ContentSymbol {
        self.symbol_of.get(at).copied().unwrap_or_default()
    }

    /// The element of a symbol; `None` for a wildcard.
    pub(crate) fn find_declaration(&self, symbol: ContentSymbol) -> Option<&'m Declaration> {
        match self.symbols.get(usize::from(symbol)) {
            Some(Term::Element(declaration)) => Some(declaration),
            _ => None,
        }
    }

    fn add_particle(&mut self, particle: &'m Particle) -> Option<GraphFragment> {
        let bound = self.children.saturating_add(limits::SPARE_REPEATS);
        let min = usize::try_from(particle.min).ok().filter(|min| *min <= bound)?;
        let max = particle.max.and_then(|max| usize::try_from(max).ok()).filter(|max| *max <= bound);
        let copies = max.unwrap_or(min.max(1));
        let mut whole = GraphFragment { nullable: min == 0, ..GraphFragment::default() };
        let mut before: Option<GraphFragment> = None;
        for copy in 1..=copies {
            let part = self.add_term(&particle.term)?;
            match &before {
                Some(before) => self.connect_all(&before.last, &part.first),
                None => whole.first.clone_from(&part.first),
            }
            whole.nullable |= part.nullable;
            if copy >= min || part.nullable {
                whole.last.extend(&part.last);
            }
            before = Some(part);
        }
        if let (Some(last), None) = (&before, max) {
            self.connect_all(&last.last, &last.first);
        }
        Some(whole)
    }

    fn add_term(&mut self, term: &'m Term) -> Option<GraphFragment> {
        match term {
            Term::Element(_) | Term::Wildcard(_) => self.add_position(term),
            Term::Sequence(parts) => {
                let mut whole = GraphFragment { nullable: true, ..GraphFragment::default() };
                for part in parts {
                    let part = self.add_particle(part)?;
                    self.connect_all(&whole.last, &part.first);
                    if whole.nullable {
                        whole.first.extend(&part.first);
                    }
                    if !part.nullable {
                        whole.last.clear();
                    }
                    whole.last.extend(&part.last);
                    whole.nullable &= part.nullable;
                }
                Some(whole)
            }
            Term::Choice(parts) => {
                let mut whole = GraphFragment { nullable: parts.is_empty(), ..GraphFragment::default() };
                for part in parts {
                    let part = self.add_particle(part)?;
                    whole.first.extend(&part.first);
                    whole.last.extend(&part.last);
                    whole.nullable |= part.nullable;
                }
                Some(whole)
            }
            // Its members come in any order; `edits` handles it without a graph.
            Term::All(_) => None,
        }
    }

    fn add_position(&mut self, term: &'m Term) -> Option<GraphFragment> {
        let at = self.symbol_of.len();
        if at > limits::PATTERN_STEPS {
            return None;
        }
        let known = self.symbols.iter().position(|other| is_same(other, term));
        let symbol = known.unwrap_or_else(|| {
            self.symbols.push(term);
            self.symbols.len().saturating_sub(1)
        });
        self.symbol_of.push(ContentSymbol::try_from(symbol).ok()?);
        self.follow.push(Vec::new());
        self.ends.push(false);
        Some(GraphFragment { first: vec![at], last: vec![at], nullable: false })
    }

    fn connect_all(&mut self, from: &[usize], to: &[usize]) {
        for at in from {
            let Some(follow) = self.follow.get_mut(*at) else { continue };
            for next in to {
                if !follow.contains(next) {
                    follow.push(*next);
                }
            }
        }
    }
}

fn is_same(one: &Term, other: &Term) -> bool {
    match (one, other) {
        (Term::Element(one), Term::Element(other)) => {
            one.name == other.name && one.namespace == other.namespace
        }
        (Term::Wildcard(one), Term::Wildcard(other)) => one == other,
        _ => false,
    }
}
