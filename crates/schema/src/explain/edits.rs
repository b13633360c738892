//! Finds the fewest edits that make the children of an element fit its content, and returns the first of them.
//!
//! An edit moves, removes, replaces or adds one child. The search uses the content as a graph (`positions`)
//! and counts every edit once. After one edit of a shortest list, the rest of the list is still enough, so
//! doing the edits one by one always ends. The search is bounded; at the bound there is no edit. It writes no
//! messages.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

use crate::judge::positions::{ContentSymbol, PositionGraph};
use crate::shape::{Declaration, Particle, Term};
use crate::tree::XmlElement;

/// What the edits cost. The differences only decide between lists of the same length.
struct EditCosts {
    move_child: u32,
    /// A child that probably meant another name.
    rename: u32,
    add: u32,
    leave: u32,
    /// A child under another name that keeps its content.
    keep: u32,
    /// A new element in place of a child.
    make: u32,
    /// An element that a wildcard requires, with no known name.
    add_any: u32,
}

const COST: EditCosts = EditCosts {
    move_child: 1000,
    rename: 1004,
    add: 1010,
    leave: 1020,
    keep: 1025,
    make: 1030,
    add_any: 3000,
};

/// How a child can become another element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ElementRewrite {
    /// The child probably meant this name.
    Meant,
    /// The content fits under this name.
    Fits,
    /// Neither: a new element replaces the child.
    Made,
}

/// One edit of the children; a `before` equal to the number of children is the end.
pub(crate) enum ContentEdit<'m> {
    Move {
        child: usize,
        before: usize,
    },
    Leave {
        child: usize,
    },
    Replace {
        child: usize,
        by: &'m Declaration,
        how: ElementRewrite,
    },
    Add {
        elements: Vec<&'m Declaration>,
        before: usize,
    },
    /// Add an element of any other namespace.
    AddAny {
        before: usize,
    },
}

impl ContentEdit<'_> {
    /// The child at which the edit begins.
    fn place(&self) -> usize {
        match self {
            Self::Move { child, .. } | Self::Leave { child } | Self::Replace { child, .. } => *child,
            Self::Add { before, .. } | Self::AddAny { before } => *before,
        }
    }
}

/// The edit of a shortest list that is nearest to the child at which the match stopped.
pub(crate) fn find_nearest<'m>(
    particle: &'m Particle,
    children: &[&XmlElement],
    stop: usize,
    rewrite: &dyn Fn(usize, &Declaration) -> ElementRewrite,
) -> Option<ContentEdit<'m>> {
    let edits = match &particle.term {
        Term::All(parts) => in_any_order(parts, children, rewrite),
        _ => {
            EditSearch::new(PositionGraph::from_particle(particle, children.len())?, children, stop, rewrite)
                .run()?
        }
    };
    edits.into_iter().min_by_key(|edit| edit.place().abs_diff(stop))
}

/// `xs:all`: the order does not matter and every member comes at most once.
fn in_any_order<'m>(
    parts: &'m [Particle],
    children: &[&XmlElement],
    rewrite: &dyn Fn(usize, &Declaration) -> ElementRewrite,
) -> Vec<ContentEdit<'m>> {
    let mut absent: Vec<(&'m Declaration, bool)> = Vec::new();
    let mut placed = HashSet::new();
    for part in parts {
        let Term::Element(declaration) = &part.term else { continue };
        match children.iter().position(|c| c.name.is_named(&declaration.namespace, &declaration.name)) {
            Some(at) => drop(placed.insert(at)),
            None => absent.push((declaration, part.min > 0)),
        }
    }
    let mut edits = Vec::new();
    let mut surplus: Vec<usize> = (0..children.len()).filter(|at| !placed.contains(at)).collect();
    // First the names that were probably meant, then anything that can become a required member.
    let rounds = [(false, ElementRewrite::Meant), (true, ElementRewrite::Fits), (true, ElementRewrite::Made)];
    for (required, how) in rounds {
        surplus.retain(|child| {
            let wanted = |(declaration, needed): &(&'m Declaration, bool)| {
                (*needed || !required) && rewrite(*child, declaration) == how
            };
            let Some(at) = absent.iter().position(wanted) else { return true };
            let (declaration, _) = absent.remove(at);
            edits.push(ContentEdit::Replace { child: *child, by: declaration, how });
            false
        });
    }
    edits.extend(surplus.into_iter().map(|child| ContentEdit::Leave { child }));
    let missing: Vec<_> = absent.iter().filter(|(_, needed)| *needed).map(|(d, _)| *d).collect();
    if !missing.is_empty() {
        edits.push(ContentEdit::Add { elements: missing, before: children.len() });
    }
    edits
}

/// Children of one name.
type SymbolClass = u16;

/// The progress of a list of edits: the next child, the position in the content, removed children that can be
/// put back, and inserted elements that can still be taken from later children.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct SearchState {
    child: usize,
    position: usize,
    taken: Vec<SymbolClass>,
    owed: Vec<ContentSymbol>,
    done: bool,
}

#[derive(Clone, Copy)]
enum SearchStep {
    Keep,
    /// Remove the child: for an element that was inserted earlier, or for now.
    Take(Option<ContentSymbol>),
    /// Insert an element: a removed child, or a new one.
    Put(ContentSymbol, Option<SymbolClass>),
    Replace(ContentSymbol, ElementRewrite),
}

struct EditSearch<'m, 'c> {
    graph: PositionGraph<'m>,
    /// The child at which the match stopped. Among equal lists, one that begins there wins.
    stop: usize,
    rewrite: &'c dyn Fn(usize, &Declaration) -> ElementRewrite,
    class_of: Vec<SymbolClass>,
    /// Whether children of a class fit a symbol.
    fits: Vec<Vec<bool>>,
    /// How many children from here on fit nowhere in the content.
    strangers: Vec<u32>,
    /// Every reached state: its cost, and the step and state that led to it.
    reached: HashMap<SearchState, (u32, Option<(SearchState, SearchStep)>)>,
    /// States to examine: cheapest first, then the furthest, then the earlier declaration.
    open: BinaryHeap<(Reverse<u32>, usize, Reverse<usize>, SearchState)>,
    rewrites: HashMap<(usize, ContentSymbol), ElementRewrite>,
}

impl<'m, 'c> EditSearch<'m, 'c> {
    fn new(
        graph: PositionGraph<'m>,
        children: &[&XmlElement],
        stop: usize,
        rewrite: &'c dyn Fn(usize, &Declaration) -> ElementRewrite,
    ) -> Self {
        let (mut known, mut class_of, mut fits) = (HashMap::new(), Vec::new(), Vec::new());
        for child in children {
            let class =
                *known.entry((&*child.name.namespace, child.name.local.as_str())).or_insert_with(|| {
                    let takes = |term: &&Term| match term {
                        Term::Element(declaration) => {
                            child.name.is_named(&declaration.namespace, &declaration.name)
                        }
                        Term::Wildcard(wildcard) => wildcard.can_take(&child.name.namespace),
                        _ => false,
                    };
                    fits.push(graph.symbols.iter().map(takes).collect::<Vec<bool>>());
                    // More names than a class can number are more than the search can examine.
                    SymbolClass::try_from(fits.len().saturating_sub(1)).unwrap_or(SymbolClass::MAX)
                });
            class_of.push(class);
        }
        let stranger =
            |class: &SymbolClass| fits.get(usize::from(*class)).is_some_and(|row| !row.contains(&true));
        let mut strangers = vec![0_u32; class_of.len().saturating_add(1)];
        let mut count = 0_u32;
        for (at, class) in class_of.iter().enumerate().rev() {
            count = count.saturating_add(u32::from(stranger(class)));
            if let Some(slot) = strangers.get_mut(at) {
                *slot = count;
            }
        }
        let (reached, open, rewrites) = (HashMap::new(), BinaryHeap::new(), HashMap::new());
        Self { graph, stop, rewrite, class_of, fits, strangers, reached, open, rewrites }
    }

    fn run(mut self) -> Option<Vec<ContentEdit<'m>>> {
        let start = SearchState { child: 0, position: 0, taken: Vec::new(), owed: Vec::new(), done: false };
        self.reach_state(start, 0, None);
        for _ in 0..crate::limits::EDIT_STATES.max(self.class_of.len().saturating_mul(2)) {
            let (Reverse(estimate), .., state) = self.open.pop()?;
            if state.done {
                return Some(self.list_edits(state));
            }
            let cost = self.reached.get(&state)?.0;
            if estimate == cost.saturating_add(self.count_rest(state.child)) {
                self.expand_state(&state, cost);
            }
        }
        None
    }

    /// The least cost of the children from here on: every stranger needs an edit.
    fn count_rest(&self, child: usize) -> u32 {
        self.strangers.get(child).copied().unwrap_or_default().saturating_mul(COST.rename)
    }

    fn reach_state(&mut self, state: SearchState, cost: u32, by: Option<(SearchState, SearchStep)>) {
        if self.reached.get(&state).is_none_or(|(known, _)| cost < *known) {
            let estimate = cost.saturating_add(self.count_rest(state.child));
            self.open.push((Reverse(estimate), state.child, Reverse(state.position), state.clone()));
            self.reached.insert(state, (cost, by));
        }
    }

    fn can_fit(&self, class: SymbolClass, symbol: ContentSymbol) -> bool {
        let row = self.fits.get(usize::from(class));
        row.and_then(|row| row.get(usize::from(symbol))).copied().unwrap_or_default()
    }

    fn expand_state(&mut self, state: &SearchState, cost: u32) {
        let child = self.class_of.get(state.child).copied();
        if child.is_none() && self.graph.may_end(state.position) {
            let added = state.owed.iter().map(|owed| match self.graph.find_declaration(*owed) {
                Some(_) => COST.add.saturating_sub(COST.move_child),
                None => COST.add_any.saturating_sub(COST.move_child),
            });
            let left = state.taken.iter().map(|_| COST.leave.saturating_sub(COST.move_child));
            let more = added.chain(left).fold(0_u32, u32::saturating_add);
            self.go_to(state, cost, more, SearchStep::Keep, |next| next.done = true);
        }
        for at in 0..self.graph.list_followers(state.position).len() {
            let Some(position) = self.graph.list_followers(state.position).get(at).copied() else { continue };
            self.step_forward(state, cost, child, position);
        }
        if let Some(class) = child {
            self.take_out(state, cost, class);
        }
    }

    /// The steps to the next position of the content.
    fn step_forward(&mut self, state: &SearchState, cost: u32, child: Option<SymbolClass>, position: usize) {
        let symbol = self.graph.find_symbol(position);
        match child {
            Some(class) if self.can_fit(class, symbol) => {
                self.go_to(state, cost, 0, SearchStep::Keep, |next| {
                    next.child = next.child.saturating_add(1);
                    next.position = position;
                });
            }
            Some(_) => self.replace_child(state, cost, symbol, position),
            None => {}
        }
        for (at, class) in state.taken.iter().enumerate() {
            if self.can_fit(*class, symbol) {
                self.go_to(state, cost, 0, SearchStep::Put(symbol, Some(*class)), |next| {
                    next.taken.remove(at);
                    next.position = position;
                });
            }
        }
        self.go_to(state, cost, COST.move_child, SearchStep::Put(symbol, None), |next| {
            let slot = next.owed.partition_point(|owed| *owed < symbol);
            next.owed.insert(slot, symbol);
            next.position = position;
        });
    }

    fn replace_child(&mut self, state: &SearchState, cost: u32, symbol: ContentSymbol, position: usize) {
        let Some(declaration) = self.graph.find_declaration(symbol) else { return };
        let rewrite = self.rewrite;
        let how =
            *self.rewrites.entry((state.child, symbol)).or_insert_with(|| rewrite(state.child, declaration));
        let more = match how {
            ElementRewrite::Meant => COST.rename,
            ElementRewrite::Fits => COST.keep,
            ElementRewrite::Made => COST.make,
        };
        self.go_to(state, cost, more, SearchStep::Replace(symbol, how), |next| {
            next.child = next.child.saturating_add(1);
            next.position = position;
        });
    }

    fn take_out(&mut self, state: &SearchState, cost: u32, class: SymbolClass) {
        for (at, owed) in state.owed.iter().enumerate() {
            if self.can_fit(class, *owed) {
                self.go_to(state, cost, 0, SearchStep::Take(Some(*owed)), |next| {
                    next.child = next.child.saturating_add(1);
                    next.owed.remove(at);
                });
            }
        }
        let useful = self.fits.get(usize::from(class)).is_some_and(|row| row.contains(&true));
        self.go_to(
            state,
            cost,
            if useful { COST.move_child } else { COST.leave },
            SearchStep::Take(None),
            |next| {
                next.child = next.child.saturating_add(1);
                if useful {
                    let slot = next.taken.partition_point(|taken| *taken < class);
                    next.taken.insert(slot, class);
                }
            },
        );
    }

    fn go_to(
        &mut self,
        from: &SearchState,
        cost: u32,
        more: u32,
        step: SearchStep,
        change: impl FnOnce(&mut SearchState),
    ) {
        let mut next = from.clone();
        change(&mut next);
        let elsewhere = u32::from(more > 0 && from.child != self.stop);
        self.reach_state(
            next,
            cost.saturating_add(more).saturating_add(elsewhere),
            Some((from.clone(), step)),
        );
    }

    /// The edits on the way to a state, in the order of the children. A removed and reinserted child is a
    /// move; additions at one place are one edit.
    fn list_edits(&self, end: SearchState) -> Vec<ContentEdit<'m>> {
        let mut way = Vec::new();
        let mut at = end;
        while let Some((_, Some((before, step)))) = self.reached.get(&at) {
            way.push((before.clone(), *step));
            at = before.clone();
        }
        let (mut edits, mut taken, mut owed) = (Vec::new(), Vec::new(), Vec::new());
        for (state, step) in way.into_iter().rev() {
            let child = state.child;
            match step {
                SearchStep::Keep => {}
                SearchStep::Replace(symbol, how) => {
                    let by = self.graph.find_declaration(symbol);
                    edits.extend(by.map(|by| ContentEdit::Replace { child, by, how }));
                }
                SearchStep::Take(None) => taken.push((child, self.class_of.get(child).copied())),
                SearchStep::Put(symbol, None) => owed.push((child, symbol)),
                SearchStep::Take(Some(symbol)) => {
                    if let Some(slot) = owed.iter().position(|(_, of)| *of == symbol) {
                        edits.push(ContentEdit::Move { child, before: owed.remove(slot).0 });
                    }
                }
                SearchStep::Put(_, Some(class)) => {
                    if let Some(slot) = taken.iter().position(|(_, of)| *of == Some(class)) {
                        edits.push(ContentEdit::Move { child: taken.remove(slot).0, before: child });
                    }
                }
            }
        }
        edits.extend(taken.into_iter().map(|(child, _)| ContentEdit::Leave { child }));
        for (before, symbol) in owed {
            match (self.graph.find_declaration(symbol), edits.last_mut()) {
                (None, _) => edits.push(ContentEdit::AddAny { before }),
                (Some(one), Some(ContentEdit::Add { elements, before: same })) if *same == before => {
                    elements.push(one)
                }
                (Some(one), _) => edits.push(ContentEdit::Add { elements: vec![one], before }),
            }
        }
        edits
    }
}
