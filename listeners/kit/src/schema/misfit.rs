//! Says why a child fits nowhere: misspelt, misplaced, too many, missing, of another namespace.
//!
//! The place where the match of the children stopped comes in; a `Finding` goes out. It only words: that
//! something does not fit was found in `content`.

use super::Finding;
use super::content::{Candidate, Stop, Taken};
use super::example::{self, Surroundings};
use super::explain::{self, Role, Said, Spot, Walk};
use super::nearest::nearest;
use super::shape::{Declaration, Particle, Term};
use super::tree::Element;
use super::value;
use super::wording;

/// Names listed where one of several is missing.
const LISTED: usize = 12;

/// A root element that the schema does not declare.
pub(super) fn unknown_root(walk: &Walk<'_>, spot: &Spot<'_>) -> Finding {
    let root = spot.element;
    let (name, target) = (root.name.local.as_str(), &*walk.schema.namespace);
    let names = || walk.schema.own().map(|element| element.name.as_str());
    let ours = *root.name.namespace == *target;
    let known = walk.schema.global(name);
    let near = known.map(|d| d.name.as_str()).or_else(|| nearest(name, names()));
    let message = match (ours, known.is_some(), near) {
        (false, true, _) => [name, ": ", &namespace_words(root), ", expected ", target].concat(),
        (true, _, Some(near)) => [name, ": is no known payload, did you mean ", near].concat(),
        (false, _, Some(near)) => {
            [name, ": is no known payload, did you mean ", near, " of ", target].concat()
        }
        (_, _, None) => [name, ": is no known payload"].concat(),
    };
    let listed: Vec<&str> = names().take(LISTED).collect();
    let fixed = near.and_then(|near| {
        if ours { walk.source.renamed(root, &retagged(root, near)) } else { moved(walk, root, near, target) }
    });
    let declared = near.and_then(|near| walk.schema.global(near));
    let said = Said {
        message,
        expected: ["one of ", &listed.join(", "), " of the namespace ", target].concat(),
        received: walk.source.shown(root),
        schema: declared.map(|d| d.fragment.clone()).unwrap_or_default(),
        fix: fixed.unwrap_or_else(|| match near {
            Some(near) => started_anew(root, near, target),
            None => ["write one of ", &listed.join(", "), ", with its xmlns, ", target].concat(),
        }),
    };
    walk.finding(spot.path(), root.span.start, said)
}

fn namespace_words(element: &Element) -> String {
    if element.name.namespace.is_empty() {
        "it has no namespace".to_owned()
    } else {
        ["its namespace is ", &value::quoted(&element.name.namespace)].concat()
    }
}

/// The name under the prefix that the element has now.
fn retagged(element: &Element, name: &str) -> String {
    match element.tag.split_once(':') {
        Some((prefix, _)) => [prefix, ":", name].concat(),
        None => name.to_owned(),
    }
}

/// The mend of a start tag alone, where the element is too long to be repeated. An attribute is no place for
/// every namespace; one with a quote in it is not written at all.
fn started_anew(element: &Element, name: &str, target: &str) -> String {
    let (tag, key) = declared_as(element, name, target);
    let declaration = if target.contains(['"', '<', '&']) { "…" } else { target };
    ["write <", &tag, " ", &key, "=\"", declaration, "\"> instead of <", &element.tag, ">"].concat()
}

/// The name of an element in another namespace, and the attribute that declares it.
fn declared_as(element: &Element, name: &str, target: &str) -> (String, String) {
    let tag = if target.is_empty() { name.to_owned() } else { retagged(element, name) };
    let key = match tag.split_once(':') {
        Some((prefix, _)) => ["xmlns:", prefix].concat(),
        None => "xmlns".to_owned(),
    };
    (tag, key)
}

/// A copy of the element in the right namespace: declared on it under the prefix that it has. Without a
/// namespace there is no prefix either.
fn moved(walk: &Walk<'_>, element: &Element, name: &str, target: &str) -> Option<String> {
    let (tag, key) = declared_as(element, name, target);
    let moved = walk.source.with_head(element, |attributes| {
        attributes.retain(|(known, _)| *known != key);
        attributes.insert(0, (key, target.to_owned()));
    })?;
    if *tag == *element.tag {
        return Some(moved);
    }
    // The namespace is mended first, the name then in the copy, so that both stay one replacement.
    let copy = super::tree::read(moved.as_bytes()).ok()?;
    wording::Source::new(moved.as_bytes()).renamed(&copy, &tag)
}

pub(super) fn child_of_empty(walk: &Walk<'_>, spot: &Spot<'_>, role: Role<'_>, child: &Element) -> Finding {
    let words = ": is not allowed, nothing stands inside <";
    refused_child(walk, spot, role, child, words)
}

pub(super) fn child_in_text(walk: &Walk<'_>, spot: &Spot<'_>, role: Role<'_>, child: &Element) -> Finding {
    refused_child(walk, spot, role, child, ": is not allowed, only text stands inside <")
}

fn refused_child(walk: &Walk<'_>, spot: &Spot<'_>, role: Role<'_>, child: &Element, words: &str) -> Finding {
    let siblings: Vec<&Element> = spot.element.children().collect();
    let at = Spot { up: Some(spot), element: child, siblings: &siblings };
    let name = &child.name.local;
    let said = Said {
        message: [name, words, &spot.element.name.local, ">"].concat(),
        expected: wording::expected(walk.schema, role),
        received: walk.source.shown(child),
        schema: role.declaration.fragment.clone(),
        fix: ["leave ", name, " out; write < as &lt; where it is meant as text"].concat(),
    };
    walk.finding(at.path(), child.span.start, said)
}

/// Everything known about the place at which the children stop to fit.
struct Misfit<'a, 'm> {
    walk: &'a Walk<'a>,
    spot: &'a Spot<'a>,
    role: Role<'m>,
    particle: &'m Particle,
    siblings: &'a [&'a Element],
    taken: &'a [Taken<'m>],
    stop: &'a Stop<'m>,
    declared: Vec<&'m Declaration>,
}

pub(super) fn stopped<'m>(
    walk: &Walk<'_>,
    spot: &Spot<'_>,
    role: Role<'m>,
    particle: &'m Particle,
    siblings: &[&Element],
    taken: &[Taken<'m>],
    stop: &Stop<'m>,
) -> Finding {
    let mut declared = Vec::new();
    particle.term.elements(&mut declared);
    Misfit { walk, spot, role, particle, siblings, taken, stop, declared }.diagnose()
}

impl<'m> Misfit<'_, 'm> {
    fn diagnose(&self) -> Finding {
        let Some(child) = self.siblings.get(self.stop.at) else { return self.missing(None) };
        let name = child.name.local.as_str();
        let known = self.declared.iter().copied().find(|d| d.name == name);
        match known {
            Some(declaration) if *child.name.namespace != *declaration.namespace => {
                self.foreign(child, declaration)
            }
            Some(declaration) => self.misplaced(child, declaration),
            None => match self.meant(name) {
                Some(meant) => self.misspelt(child, meant),
                None => self.unexpected(child),
            },
        }
    }

    fn candidates(&self) -> impl Iterator<Item = (&Candidate<'m>, &'m Declaration)> {
        self.stop.candidates.iter().filter_map(|candidate| match &candidate.particle.term {
            Term::Element(declaration) => Some((candidate, declaration)),
            _ => None,
        })
    }

    fn required(&self) -> Vec<&'m Declaration> {
        self.candidates().filter(|(candidate, _)| candidate.required).map(|(_, d)| d).collect()
    }

    /// `query is missing`, `query, mode are missing`, or `one of url, path is missing`.
    fn absent(&self, required: &[&Declaration]) -> String {
        let names: Vec<&str> = required.iter().take(LISTED).map(|d| d.name.as_str()).collect();
        match names.as_slice() {
            [] => "an element of another namespace is missing".to_owned(),
            [one] => [one, " is missing"].concat(),
            several if self.is_alternative() => ["one of ", &several.join(", "), " is missing"].concat(),
            several => [&several.join(", "), " are missing"].concat(),
        }
    }

    fn is_alternative(&self) -> bool {
        self.stop.candidates.iter().any(|candidate| candidate.required && candidate.alternative)
    }

    fn count(&self, name: &str) -> usize {
        let of_name = |taken: &&Taken<'_>| matches!(taken, Taken::Element(_, d) if d.name == name);
        self.taken.iter().filter(of_name).count()
    }

    /// The declared name that a misspelt one was probably meant to be: one that could stand here, else one
    /// that has not come yet.
    fn meant(&self, name: &str) -> Option<&'m Declaration> {
        let here = nearest(name, self.candidates().map(|(_, d)| d.name.as_str()));
        let anywhere = || {
            let free = self.declared.iter().filter(|d| self.count(&d.name) == 0);
            nearest(name, free.map(|d| d.name.as_str()))
        };
        let meant = here.or_else(anywhere)?;
        self.declared.iter().copied().find(|d| d.name == meant)
    }

    /// A new element of this declaration, under the prefix that its parent has.
    fn made(&self, declaration: &Declaration) -> Option<String> {
        let parent = self.spot.element;
        let prefix = parent.tag.split_once(':').map(|(prefix, _)| [prefix, ":"].concat());
        let at = Surroundings {
            prefix: &prefix.unwrap_or_default(),
            bound: &parent.name.namespace,
            default: &parent.default_namespace(),
        };
        example::inner(self.walk.schema, declaration, at)
    }

    fn parent_name(&self) -> &str {
        &self.spot.element.name.local
    }

    fn parent_expected(&self) -> String {
        [self.parent_name(), ": ", &wording::children(self.walk.schema, self.particle)].concat()
    }

    fn expected_of(&self, declaration: &'m Declaration) -> String {
        let (min, max) = occurs(&self.particle.term, declaration).unwrap_or((1, Some(1)));
        wording::expected(self.walk.schema, Role { declaration, min, max })
    }

    fn at_child(&self, child: &Element, said: Said) -> Finding {
        let at = Spot { up: Some(self.spot), element: child, siblings: self.siblings };
        self.walk.finding(at.path(), child.span.start, said)
    }

    fn foreign(&self, child: &Element, declaration: &'m Declaration) -> Finding {
        let target = &declaration.namespace;
        let wanted = if target.is_empty() { "none" } else { target };
        let fixed = moved(self.walk, child, &declaration.name, target);
        let said = Said {
            message: [&declaration.name, ": ", &namespace_words(child), ", expected ", wanted].concat(),
            expected: self.expected_of(declaration),
            received: self.walk.source.shown(child),
            schema: declaration.fragment.clone(),
            fix: fixed.unwrap_or_else(|| started_anew(child, &declaration.name, target)),
        };
        self.at_child(child, said)
    }

    fn misspelt(&self, child: &Element, meant: &'m Declaration) -> Finding {
        let name = &child.name.local;
        let parent = self.parent_name();
        let fixed = self.rewritten(child, meant);
        let said = Said {
            message: [name, ": is not known in ", parent, ", did you mean ", &meant.name].concat(),
            expected: self.expected_of(meant),
            received: self.walk.source.shown(child),
            schema: meant.fragment.clone(),
            fix: fixed.unwrap_or_else(|| match *meant.namespace == *child.name.namespace {
                true => {
                    ["write <", &retagged(child, &meant.name), "> instead of <", &child.tag, ">"].concat()
                }
                false => started_anew(child, &meant.name, &meant.namespace),
            }),
        };
        self.at_child(child, said)
    }

    /// A copy of a child as the element that it was meant to be.
    fn rewritten(&self, child: &Element, meant: &Declaration) -> Option<String> {
        let parent = self.spot.element;
        if *meant.namespace == *parent.name.namespace {
            self.walk.source.renamed(child, &retagged(parent, &meant.name))
        } else if *meant.namespace == *child.name.namespace {
            self.walk.source.renamed(child, &retagged(child, &meant.name))
        } else {
            moved(self.walk, child, &meant.name, &meant.namespace)
        }
    }

    fn unexpected(&self, child: &Element) -> Finding {
        let name = &child.name.local;
        let required = self.required();
        let wildcard = |candidate: &Candidate<'_>| matches!(candidate.particle.term, Term::Wildcard(_));
        let other_wanted = self.stop.candidates.iter().any(|c| c.required && wildcard(c));
        let ours = *child.name.namespace == *self.spot.element.name.namespace;
        let mut message = [name, ": is not known in ", self.parent_name()].concat();
        if other_wanted {
            message = [name, ": an element of another namespace is needed in its place"].concat();
        } else if !ours && matches!(self.taken.last(), Some(Taken::Wildcard)) {
            message = [name, ": is one element too many in ", self.parent_name()].concat();
        }
        let mut fix = ["leave ", name, " out"].concat();
        let mut schema = self.role.declaration.fragment.clone();
        if let Some(first) = required.first() {
            message.push_str(&["; ", &self.absent(&required)].concat());
            schema.clone_from(&first.fragment);
            if let Some(made) = self.made(first) {
                fix = [&made, " instead of <", name, ">"].concat();
            }
        }
        let expected = self.parent_expected();
        let received = self.walk.source.shown(child);
        self.at_child(child, Said { message, expected, received, schema, fix })
    }

    /// The name is right and the place is not.
    fn misplaced(&self, child: &Element, declaration: &'m Declaration) -> Finding {
        let name = declaration.name.as_str();
        if let Some(rival) = self.rival(name) {
            let message = [name, ": does not stand beside ", rival, ", only one of them is allowed"].concat();
            return self.order(
                child,
                declaration,
                message,
                ["leave ", name, " out, or leave ", rival, " out"].concat(),
            );
        }
        let required = self.required();
        let others: Vec<_> = required.iter().copied().filter(|d| d.name != name).collect();
        let later = self.siblings.get(self.stop.at..).unwrap_or_default();
        let behind = |d: &&'m Declaration| later.iter().find(|e| e.name.is(&d.namespace, &d.name));
        if let Some(first) = others.iter().find_map(behind) {
            let message = [name, ": comes too early, ", &first.name.local, " stands before it"].concat();
            let fix = ["move ", name, " behind ", &explain::step(first, self.siblings)].concat();
            return self.order(child, declaration, message, fix);
        }
        if !others.is_empty() {
            return self.missing(Some(child));
        }
        let max = occurs(&self.particle.term, declaration).and_then(|(_, max)| max);
        let count = self.count(name);
        if let Some(max) = max.filter(|max| count > 0 && u32::try_from(count).is_ok_and(|c| c >= *max)) {
            return self.too_many(child, declaration, max);
        }
        match self.taken.last() {
            Some(Taken::Element(_, before)) => {
                let message = [name, ": comes too late, it stands before ", &before.name].concat();
                // In front of all that it follows of that name: between two of them it might fit no better.
                let earlier = self.siblings.get(..self.stop.at).unwrap_or_default();
                let run = earlier.iter().rev().take_while(|e| e.name.is(&before.namespace, &before.name));
                let front = run.last();
                let step = front.map_or_else(|| before.name.clone(), |e| explain::step(e, self.siblings));
                let fix = ["move ", name, " before ", &step].concat();
                self.order(child, declaration, message, fix)
            }
            _ => self.unexpected(child),
        }
    }

    fn order(&self, child: &Element, declaration: &'m Declaration, message: String, fix: String) -> Finding {
        let said = Said {
            message,
            expected: self.parent_expected(),
            received: self.walk.source.shown(child),
            schema: declaration.fragment.clone(),
            fix,
        };
        self.at_child(child, said)
    }

    fn too_many(&self, child: &Element, declaration: &'m Declaration, max: u32) -> Finding {
        let name = &declaration.name;
        let namespace = &declaration.namespace;
        let all = self.siblings.iter().filter(|sibling| sibling.name.is(namespace, name)).count();
        let most =
            if max == 1 { "once is allowed".to_owned() } else { [&max.to_string(), " are allowed"].concat() };
        let said = Said {
            message: [name, ": comes ", &all.to_string(), " times, at most ", &most].concat(),
            expected: self.expected_of(declaration),
            received: self.walk.source.shown(child),
            schema: declaration.fragment.clone(),
            fix: ["leave ", name, " out here"].concat(),
        };
        self.at_child(child, said)
    }

    /// An element already taken that shares a choice with this one.
    fn rival(&self, name: &str) -> Option<&'m str> {
        let mut taken: Vec<&str> = Vec::new();
        for one in self.taken {
            if let Taken::Element(_, declaration) = one {
                taken.push(&declaration.name);
            }
        }
        rival_in(self.particle, name, &taken)
    }

    /// What must come and does not: before a child, or behind the last one.
    fn missing(&self, before: Option<&Element>) -> Finding {
        let parent = self.spot.element;
        let required = self.required();
        let offset = before
            .map(|child| child.span.start)
            .or_else(|| self.walk.source.end_tag(parent))
            .unwrap_or(parent.span.start);
        let first = required.first().copied();
        let mut message = [self.parent_name(), ": ", &self.absent(&required)].concat();
        if let Some(repeated) = first.filter(|first| self.count(&first.name) > 0) {
            let (min, _) = occurs(&self.particle.term, repeated).unwrap_or((1, None));
            let came = match self.count(&repeated.name) {
                1 => "once".to_owned(),
                several => [&several.to_string(), " times"].concat(),
            };
            let name = self.parent_name();
            let needed = min.to_string();
            message = [name, ": ", &repeated.name, " comes ", &came, ", at least ", &needed, " are needed"]
                .concat();
        }
        // Of a choice one is enough; what stands in any order can be added all at once.
        let wanted = if self.is_alternative() { required.get(..1).unwrap_or_default() } else { &required };
        let made: Option<String> = wanted.iter().map(|declaration| self.made(declaration)).collect();
        let made = made.filter(|made| !made.is_empty());
        let whole = made.as_ref().filter(|_| before.is_none());
        let fix = match (whole.and_then(|made| self.walk.source.with_last(parent, made)), &made, before) {
            (Some(parent), ..) => parent,
            (None, Some(made), Some(child)) => {
                ["add ", made, " before ", &explain::step(child, self.siblings)].concat()
            }
            (None, Some(made), None) => ["add ", made, " at the end of <", &parent.tag, ">"].concat(),
            (None, None, _) => ["write what is missing into <", &parent.tag, ">"].concat(),
        };
        let said = Said {
            message,
            expected: first.map_or_else(|| self.parent_expected(), |first| self.expected_of(first)),
            received: self.walk.source.shown(parent),
            schema: first.unwrap_or(self.role.declaration).fragment.clone(),
            fix,
        };
        self.walk.finding(self.spot.path(), offset, said)
    }
}

/// How often a declared element may come, as its own particle says.
fn occurs(term: &Term, wanted: &Declaration) -> Option<(u32, Option<u32>)> {
    let (Term::Sequence(parts) | Term::Choice(parts) | Term::All(parts)) = term else { return None };
    parts.iter().find_map(|part| match &part.term {
        Term::Element(declaration) => std::ptr::eq(declaration, wanted).then_some((part.min, part.max)),
        group => occurs(group, wanted),
    })
}

fn rival_in<'m>(particle: &'m Particle, name: &str, taken: &[&str]) -> Option<&'m str> {
    let (Term::Sequence(parts) | Term::Choice(parts) | Term::All(parts)) = &particle.term else {
        return None;
    };
    if let Some(deeper) = parts.iter().find_map(|part| rival_in(part, name, taken)) {
        return Some(deeper);
    }
    let is_choice = matches!(particle.term, Term::Choice(_)) && particle.max == Some(1);
    let inside = |part: &'m Particle, wanted: &str| names_in(&part.term).into_iter().find(|n| *n == wanted);
    let own = parts.iter().position(|part| inside(part, name).is_some()).filter(|_| is_choice)?;
    let others = parts.iter().enumerate().filter(|(at, _)| *at != own);
    others.flat_map(|(_, part)| taken.iter().filter_map(move |t| inside(part, t))).next()
}

fn names_in(term: &Term) -> Vec<&str> {
    let mut all = Vec::new();
    term.elements(&mut all);
    all.into_iter().map(|declaration| declaration.name.as_str()).collect()
}
