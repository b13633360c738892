//! Reports why the children of an element do not fit: misspelled, misplaced, too many, missing, of another
//! namespace.
//!
//! The place where the match of the children stopped comes in; a `PayloadFinding` goes out. This module only writes the
//! message: `content` found the misfit, and `edits` finds the change that improves it.

use crate::build::example::{self, ExampleSurroundings};
use crate::explain::edits::{self, ContentEdit, ElementRewrite};
use crate::explain::{self, FindingWords, PayloadRole, PayloadSpot, PayloadWalk};
use crate::explain::{amend, describe, wording};
use crate::finding::PayloadFinding;
use crate::judge::check_value;
use crate::judge::content::{ContentCandidate, ContentStop, TakenChild};
use crate::limits;
use crate::nearest::find_nearest;
use crate::shape::{Declaration, Particle, SimpleType, Term};
use crate::tree::{ElementPart, XmlElement};

/// A root element that the schema does not declare.
pub(crate) fn unknown_root(walk: &PayloadWalk<'_>, spot: &PayloadSpot<'_>) -> PayloadFinding {
    let root = spot.element;
    let (name, target) = (root.name.local.as_str(), &*walk.schema.namespace);
    let names = || walk.schema.list_own().map(|element| element.name.as_str());
    let ours = *root.name.namespace == *target;
    let known = walk.schema.find_global(name);
    let near = known.map(|d| d.name.as_str()).or_else(|| find_nearest(name, names()));
    let message = match (ours, known.is_some(), near) {
        (false, true, _) => format!("{name}: {}, expected {target}", namespace_words(root)),
        (true, _, Some(near)) => format!("{name}: is not a known payload, did you mean {near}"),
        (false, _, Some(near)) => {
            format!("{name}: is not a known payload, did you mean {near} of {target}")
        }
        (_, _, None) => format!("{name}: is not a known payload"),
    };
    let listed: Vec<&str> = names().take(limits::LISTED_NAMES).collect();
    let fixed = near.and_then(|near| {
        if ours {
            walk.source.rename_element(root, &retag_element(root, near))
        } else {
            move_child(walk, root, near, target)
        }
    });
    let declared = near.and_then(|near| walk.schema.find_global(near));
    let said = FindingWords {
        message,
        expected: format!("one of {} of the namespace {target}", listed.join(", ")),
        received: walk.source.show_element(root),
        schema: declared.map(|d| d.fragment.clone()).unwrap_or_default(),
        fix: fixed.unwrap_or_else(|| match near {
            Some(near) => started_anew(root, near, target),
            None => format!("write one of {}, with its xmlns, {target}", listed.join(", ")),
        }),
    };
    walk.make_finding(spot.path(), root.span.start, said)
}

fn namespace_words(element: &XmlElement) -> String {
    if element.name.namespace.is_empty() {
        "it has no namespace".to_owned()
    } else {
        format!("its namespace is {}", describe::quote_value(&element.name.namespace))
    }
}

/// The name with the element's current prefix.
fn retag_element(element: &XmlElement, name: &str) -> String {
    match element.tag.split_once(':') {
        Some((prefix, _)) => format!("{prefix}:{name}"),
        None => name.to_owned(),
    }
}

/// The fix of the start tag alone, if the element is too long to repeat. Not every namespace can be written into
/// an attribute; one with a quote in it is left out.
fn started_anew(element: &XmlElement, name: &str, target: &str) -> String {
    let (tag, key) = declared_as(element, name, target);
    let declaration = if target.contains(['"', '<', '&']) { "…" } else { target };
    format!("write <{tag} {key}=\"{declaration}\"> instead of <{}>", element.tag)
}

/// The name of an element in another namespace, and the attribute that declares it.
fn declared_as(element: &XmlElement, name: &str, target: &str) -> (String, String) {
    let tag = if target.is_empty() { name.to_owned() } else { retag_element(element, name) };
    let key = match tag.split_once(':') {
        Some((prefix, _)) => format!("xmlns:{prefix}"),
        None => "xmlns".to_owned(),
    };
    (tag, key)
}

/// A copy of the element in the right namespace, declared on it under its current prefix. Without a namespace it
/// loses the prefix too.
fn move_child(walk: &PayloadWalk<'_>, element: &XmlElement, name: &str, target: &str) -> Option<String> {
    let (tag, key) = declared_as(element, name, target);
    let moved = walk.source.with_head(element, |attributes| {
        attributes.retain(|(known, _)| *known != key);
        attributes.insert(0, (key, target.to_owned()));
    })?;
    if *tag == *element.tag {
        return Some(moved);
    }
    // First the namespace is fixed, then the name in the copy, so that both are one replacement.
    let copy = crate::tree::read_tree(moved.as_bytes()).ok()?;
    wording::PayloadSource::new(moved.as_bytes()).rename_element(&copy, &tag)
}

pub(crate) fn child_of_empty(
    walk: &PayloadWalk<'_>,
    spot: &PayloadSpot<'_>,
    role: PayloadRole<'_>,
    child: &XmlElement,
) -> PayloadFinding {
    refused_child(walk, spot, role, child, "nothing stands")
}

pub(crate) fn child_in_text(
    walk: &PayloadWalk<'_>,
    spot: &PayloadSpot<'_>,
    role: PayloadRole<'_>,
    child: &XmlElement,
) -> PayloadFinding {
    refused_child(walk, spot, role, child, "only text stands")
}

fn refused_child(
    walk: &PayloadWalk<'_>,
    spot: &PayloadSpot<'_>,
    role: PayloadRole<'_>,
    child: &XmlElement,
    words: &str,
) -> PayloadFinding {
    let siblings: Vec<&XmlElement> = spot.element.children().collect();
    let at = PayloadSpot { up: Some(spot), element: child, siblings: &siblings };
    let name = &child.name.local;
    let said = FindingWords {
        message: format!("{name}: is not allowed, {words} inside <{}>", spot.element.name.local),
        expected: wording::describe_expected(walk.schema, role),
        received: walk.source.show_element(child),
        schema: role.declaration.fragment.clone(),
        fix: format!("leave {name} out; write < as &lt; where it is meant as text"),
    };
    walk.make_finding(at.path(), child.span.start, said)
}

/// A child inside an element that only takes a value. If the value is wrong even without the child, the fix is
/// the whole element: with the text of the child if that is the value, otherwise with some value.
pub(crate) fn child_in_value(
    walk: &PayloadWalk<'_>,
    spot: &PayloadSpot<'_>,
    role: PayloadRole<'_>,
    child: &XmlElement,
    simple: &SimpleType,
) -> PayloadFinding {
    let mut finding = child_in_text(walk, spot, role, child);
    let element = spot.element;
    let fits = |text: &str| check_value::check_value(simple, text).is_none();
    if element.children().count() == 1 && fits(&element.text()) {
        return finding;
    }
    let all = text_of(element);
    let whole = Some(all).filter(|all| fits(all)).or_else(|| amend::find_sample(simple));
    let written = whole
        .and_then(|text| example::build_plain(&element.tag, &walk.source.head_attributes(element), &text))
        .filter(|written| wording::is_short(written));
    if let Some(written) = written {
        finding.path = spot.path();
        finding.received = walk.source.show_element(element);
        finding.fix = written;
    }
    finding
}

/// All text of an element, including that of its children.
fn text_of(element: &XmlElement) -> String {
    let text = |part: &ElementPart| match part {
        ElementPart::Text(text) => text.value.clone(),
        ElementPart::Element(child) => text_of(child),
    };
    element.parts.iter().map(text).collect()
}

/// All information about the place at which the children stop fitting.
struct ContentMisfit<'a, 'm> {
    walk: &'a PayloadWalk<'a>,
    spot: &'a PayloadSpot<'a>,
    role: PayloadRole<'m>,
    particle: &'m Particle,
    siblings: &'a [&'a XmlElement],
    taken: &'a [TakenChild<'m>],
    stop: &'a ContentStop<'m>,
    declared: Vec<&'m Declaration>,
}

pub(crate) fn explain_stop<'m>(
    walk: &PayloadWalk<'_>,
    spot: &PayloadSpot<'_>,
    role: PayloadRole<'m>,
    particle: &'m Particle,
    siblings: &[&XmlElement],
    taken: &[TakenChild<'m>],
    stop: &ContentStop<'m>,
) -> PayloadFinding {
    let mut declared = Vec::new();
    particle.term.collect_elements(&mut declared);
    ContentMisfit { walk, spot, role, particle, siblings, taken, stop, declared }.diagnose()
}

impl<'m> ContentMisfit<'_, 'm> {
    fn diagnose(&self) -> PayloadFinding {
        let rewrite = |child: usize, to: &Declaration| self.choose_rewrite(child, to);
        let edit = edits::find_nearest(self.particle, self.siblings, self.stop.at, &rewrite);
        let said = match edit {
            Some(ContentEdit::Move { child, before }) => self.report_misplaced(child, before),
            Some(ContentEdit::Leave { child }) => {
                self.siblings.get(child).map(|child| self.report_surplus(child))
            }
            Some(ContentEdit::Replace { child, by, how }) => {
                self.siblings.get(child).map(|child| self.suggest_replacement(child, by, how))
            }
            Some(ContentEdit::Add { elements, before }) => Some(self.report_missing(&elements, before)),
            Some(ContentEdit::AddAny { before }) => Some(self.report_missing(&[], before)),
            None => None,
        };
        said.unwrap_or_else(|| self.report_unclear())
    }

    fn is_declared(&self, child: &XmlElement) -> Option<&'m Declaration> {
        self.declared.iter().copied().find(|d| child.name.is_named(&d.namespace, &d.name))
    }

    /// How a child can become an element of this declaration.
    fn choose_rewrite(&self, child: usize, to: &Declaration) -> ElementRewrite {
        let Some(element) = self.siblings.get(child) else { return ElementRewrite::Made };
        let ours = *element.name.namespace == *to.namespace;
        let name = element.name.local.as_str();
        if !ours && name == to.name {
            return ElementRewrite::Meant;
        }
        // A declared name in a wrong namespace means only that name.
        if self.declared.iter().all(|known| known.name != name) && self.is_meant(name, to) {
            return ElementRewrite::Meant;
        }
        let at = PayloadSpot { up: Some(self.spot), element, siblings: self.siblings };
        let role = PayloadRole { declaration: to, min: 1, max: Some(1) };
        if ours && self.walk.check_element(&at, role).is_none() {
            ElementRewrite::Fits
        } else {
            ElementRewrite::Made
        }
    }

    /// Whether an undeclared name probably means this declaration: the nearest of the declarations possible at
    /// the stop, of those not used yet, or of all.
    fn is_meant(&self, name: &str, to: &Declaration) -> bool {
        let free = self.declared.iter().filter(|d| self.count_children(&d.name) == 0);
        let all = self.declared.iter();
        [
            find_nearest(name, self.candidates().map(|(_, d)| d.name.as_str())),
            find_nearest(name, free.map(|d| d.name.as_str())),
            find_nearest(name, all.map(|d| d.name.as_str())),
        ]
        .contains(&Some(to.name.as_str()))
    }

    fn candidates(&self) -> impl Iterator<Item = (&ContentCandidate<'m>, &'m Declaration)> {
        self.stop.candidates.iter().filter_map(|candidate| match &candidate.particle.term {
            Term::Element(declaration) => Some((candidate, declaration)),
            _ => None,
        })
    }

    fn list_required(&self) -> Vec<&'m Declaration> {
        self.candidates().filter(|(candidate, _)| candidate.required).map(|(_, d)| d).collect()
    }

    /// `query is missing`, `query, mode are missing`.
    fn absent_of(&self, elements: &[&Declaration]) -> String {
        let names: Vec<&str> = elements.iter().take(limits::LISTED_NAMES).map(|d| d.name.as_str()).collect();
        match names.as_slice() {
            [] => "an element of another namespace is missing".to_owned(),
            [one] => format!("{one} is missing"),
            several => format!("{} are missing", several.join(", ")),
        }
    }

    /// The same; if the first one is one of several alternatives, it names all of them.
    fn absent_words(&self, elements: &[&Declaration]) -> String {
        let required = self.list_required();
        let is_first =
            |other: &&Declaration| elements.first().is_some_and(|first| std::ptr::eq(*other, *first));
        match self.is_alternative() && required.iter().any(is_first) {
            true => self.describe_absent(&required),
            false => self.absent_of(elements),
        }
    }

    /// `one of url, path is missing`.
    fn describe_absent(&self, required: &[&Declaration]) -> String {
        let names: Vec<&str> = required.iter().take(limits::LISTED_NAMES).map(|d| d.name.as_str()).collect();
        match names.as_slice() {
            [] | [_] => self.absent_of(required),
            several => format!("one of {} is missing", several.join(", ")),
        }
    }

    fn is_alternative(&self) -> bool {
        self.stop.candidates.iter().any(|candidate| candidate.required && candidate.alternative)
    }

    fn count_children(&self, name: &str) -> usize {
        self.siblings.iter().filter(|sibling| sibling.name.local.as_str() == name).count()
    }

    /// A new element of this declaration, under the prefix that its parent has.
    fn make_element(&self, declaration: &Declaration) -> Option<String> {
        let parent = self.spot.element;
        let prefix = parent.tag.split_once(':').map(|(prefix, _)| format!("{prefix}:"));
        let at = ExampleSurroundings {
            prefix: &prefix.unwrap_or_default(),
            bound: &parent.name.namespace,
            default: &parent.default_namespace(),
        };
        example::build_inner(self.walk.schema, declaration, at)
    }

    fn parent_name(&self) -> &str {
        &self.spot.element.name.local
    }

    fn parent_expected(&self) -> String {
        format!("{}: {}", self.parent_name(), wording::describe_children(self.walk.schema, self.particle))
    }

    fn expected_of(&self, declaration: &'m Declaration) -> String {
        let (min, max) = find_occurs(&self.particle.term, declaration).unwrap_or((1, Some(1)));
        wording::describe_expected(self.walk.schema, PayloadRole { declaration, min, max })
    }

    fn at_child(&self, child: &XmlElement, said: FindingWords) -> PayloadFinding {
        let at = PayloadSpot { up: Some(self.spot), element: child, siblings: self.siblings };
        self.walk.make_finding(at.path(), child.span.start, said)
    }

    /// The child has a different name than the content needs there.
    fn suggest_replacement(
        &self,
        child: &XmlElement,
        by: &'m Declaration,
        how: ElementRewrite,
    ) -> PayloadFinding {
        let name = &child.name.local;
        let parent = self.parent_name();
        let is_foreign = name.as_str() == by.name;
        let message = match how {
            ElementRewrite::Meant if is_foreign => {
                let wanted = if by.namespace.is_empty() { "none" } else { &by.namespace };
                format!("{name}: {}, expected {wanted}", namespace_words(child))
            }
            ElementRewrite::Meant => format!("{name}: is not known in {parent}, did you mean {}", by.name),
            _ if self.is_declared(child).is_some() => {
                format!("{name}: is not allowed here; {}", self.absent_words(&[by]))
            }
            _ => format!("{}; {}", self.describe_stranger(child), self.absent_words(&[by])),
        };
        let fix = match how {
            ElementRewrite::Made => match self.make_element(by) {
                Some(made) => format!("{made} instead of <{name}>"),
                None => format!("put an element {} in place of {name}", by.name),
            },
            _ => self.rewrite_child(child, by).unwrap_or_else(|| {
                match *by.namespace == *child.name.namespace {
                    true => format!("write <{}> instead of <{}>", retag_element(child, &by.name), child.tag),
                    false => started_anew(child, &by.name, &by.namespace),
                }
            }),
        };
        let said = FindingWords {
            message,
            expected: if how == ElementRewrite::Meant {
                self.expected_of(by)
            } else {
                self.parent_expected()
            },
            received: self.walk.source.show_element(child),
            schema: by.fragment.clone(),
            fix,
        };
        self.at_child(child, said)
    }

    /// A copy of a child as the element that was probably meant.
    fn rewrite_child(&self, child: &XmlElement, meant: &Declaration) -> Option<String> {
        if *meant.namespace == *child.name.namespace {
            self.walk.source.rename_element(child, &retag_element(child, &meant.name))
        } else {
            move_child(self.walk, child, &meant.name, &meant.namespace)
        }
    }

    /// The error of a child whose name the content does not have.
    fn describe_stranger(&self, child: &XmlElement) -> String {
        let name = &child.name.local;
        let wildcard =
            |candidate: &ContentCandidate<'_>| matches!(candidate.particle.term, Term::Wildcard(_));
        let ours = *child.name.namespace == *self.spot.element.name.namespace;
        if self.stop.candidates.iter().any(|c| c.required && wildcard(c)) {
            format!("{name}: an element of another namespace is needed in its place")
        } else if !ours && matches!(self.taken.last(), Some(TakenChild::Wildcard)) {
            format!("{name}: is one element too many in {}", self.parent_name())
        } else {
            format!("{name}: is not known in {}", self.parent_name())
        }
    }

    /// The child must be removed.
    fn report_surplus(&self, child: &XmlElement) -> PayloadFinding {
        let Some(declaration) = self.is_declared(child) else {
            let fix = format!("leave {} out", child.name.local);
            return self.report_order(child, self.role.declaration, self.describe_stranger(child), fix);
        };
        let name = declaration.name.as_str();
        if let Some(rival) = self.find_rival(name) {
            let message = format!("{name}: cannot be beside {rival}, only one of them is allowed");
            return self.report_order(
                child,
                declaration,
                message,
                format!("leave {name} out, or leave {rival} out"),
            );
        }
        let max = find_occurs(&self.particle.term, declaration).and_then(|(_, max)| max);
        match max.filter(|max| usize::try_from(*max).is_ok_and(|max| self.count_children(name) > max)) {
            Some(max) => self.too_many(child, declaration, max),
            None => {
                let message = format!("{name}: is not allowed here");
                self.report_order(child, declaration, message, format!("leave {name} out here"))
            }
        }
    }

    /// The name is right but the place is wrong.
    fn report_misplaced(&self, at: usize, before: usize) -> Option<PayloadFinding> {
        let child = *self.siblings.get(at)?;
        let name = &child.name.local;
        let is_late = before < at;
        let beside = *self.siblings.get(if is_late { before } else { before.checked_sub(1)? })?;
        let (other, step) = (&beside.name.local, explain::spell_step(beside, self.siblings));
        let (message, fix) = if is_late {
            let message = format!("{name}: comes too late, it belongs before {other}");
            (message, format!("move {name} before {step}"))
        } else {
            let message = format!("{name}: comes too early, {other} belongs before it");
            (message, format!("move {name} behind {step}"))
        };
        let declaration = self.is_declared(child).unwrap_or(self.role.declaration);
        Some(self.report_order(child, declaration, message, fix))
    }

    /// There are too many errors for the search for edits: the finding lists what is expected, and a person
    /// decides.
    fn report_unclear(&self) -> PayloadFinding {
        let Some(child) = self.siblings.get(self.stop.at) else {
            return self.report_missing(&[], self.siblings.len());
        };
        let message = match self.is_declared(child) {
            Some(_) => format!("{}: is not allowed here", child.name.local),
            None => self.describe_stranger(child),
        };
        let fix = format!("bring the elements of <{}> into the form that is expected", self.spot.element.tag);
        self.report_order(child, self.role.declaration, message, fix)
    }

    fn report_order(
        &self,
        child: &XmlElement,
        declaration: &'m Declaration,
        message: String,
        fix: String,
    ) -> PayloadFinding {
        let said = FindingWords {
            message,
            expected: self.parent_expected(),
            received: self.walk.source.show_element(child),
            schema: declaration.fragment.clone(),
            fix,
        };
        self.at_child(child, said)
    }

    fn too_many(&self, child: &XmlElement, declaration: &'m Declaration, max: u32) -> PayloadFinding {
        let name = &declaration.name;
        let all = self.count_children(name);
        let most = if max == 1 { "once is allowed".to_owned() } else { format!("{max} are allowed") };
        let said = FindingWords {
            message: format!("{name}: comes {all} times, at most {most}"),
            expected: self.expected_of(declaration),
            received: self.walk.source.show_element(child),
            schema: declaration.fragment.clone(),
            fix: format!("leave {name} out here"),
        };
        self.at_child(child, said)
    }

    /// Another child that shares a choice with this one.
    fn find_rival(&self, name: &str) -> Option<&'m str> {
        let others: Vec<&str> = self.siblings.iter().map(|child| child.name.local.as_str()).collect();
        rival_in(self.particle, name, &others)
    }

    /// `query is missing`, or the message for elements that occur too rarely.
    fn missing_words(&self, elements: &[&Declaration]) -> String {
        let name = self.parent_name();
        let first = elements.first().filter(|first| self.count_children(&first.name) > 0);
        let Some(repeated) = first else { return format!("{name}: {}", self.absent_words(elements)) };
        let (min, _) = find_occurs(&self.particle.term, repeated).unwrap_or((1, None));
        let (came, one) = (self.count_children(&repeated.name), &repeated.name);
        let times = if came == 1 { "once".to_owned() } else { format!("{came} times") };
        match usize::try_from(min).is_ok_and(|min| came < min) {
            true => format!("{name}: {one} comes {times}, at least {min} are needed"),
            false => format!("{name}: another {one} is missing"),
        }
    }

    /// Missing required elements: before a child, or after the last one.
    fn report_missing(&self, elements: &[&'m Declaration], at: usize) -> PayloadFinding {
        let parent = self.spot.element;
        let before = self.siblings.get(at).copied();
        let offset = before
            .map(|child| child.span.start)
            .or_else(|| self.walk.source.end_tag(parent))
            .unwrap_or(parent.span.start);
        let first = elements.first().copied();
        let made: Option<String> =
            elements.iter().map(|declaration| self.make_element(declaration)).collect();
        let made = made.filter(|made| !made.is_empty());
        let whole = made.as_ref().filter(|_| before.is_none());
        let fix = match (whole.and_then(|made| self.walk.source.with_last(parent, made)), &made, before) {
            (Some(parent), ..) => parent,
            (None, Some(made), Some(child)) => {
                format!("add {made} before {}", explain::spell_step(child, self.siblings))
            }
            (None, Some(made), None) => format!("add {made} at the end of <{}>", parent.tag),
            (None, None, _) => format!("write what is missing into <{}>", parent.tag),
        };
        let said = FindingWords {
            message: self.missing_words(elements),
            expected: first.map_or_else(|| self.parent_expected(), |first| self.expected_of(first)),
            received: self.walk.source.show_element(parent),
            schema: first.unwrap_or(self.role.declaration).fragment.clone(),
            fix,
        };
        self.walk.make_finding(self.spot.path(), offset, said)
    }
}

/// How often a declared element may occur, by its own particle.
fn find_occurs(term: &Term, wanted: &Declaration) -> Option<(u32, Option<u32>)> {
    let (Term::Sequence(parts) | Term::Choice(parts) | Term::All(parts)) = term else {
        return None;
    };
    parts.iter().find_map(|part| match &part.term {
        Term::Element(declaration) => std::ptr::eq(declaration, wanted).then_some((part.min, part.max)),
        group => find_occurs(group, wanted),
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
    term.collect_elements(&mut all);
    all.into_iter().map(|declaration| declaration.name.as_str()).collect()
}
