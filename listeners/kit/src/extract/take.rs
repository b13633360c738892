//! Turns a complete block into events: an action, a completion, the own tag with its content, or a wrapper.
//!
//! It never guesses beyond the listed fixes, and it reports each one. An element that cannot be accepted becomes
//! a problem with its place, and nothing of it is sent. Markup with its place comes in; events go out.

use std::borrow::Cow;
use std::ops::Range;

use super::events::{
    Completion, ExtractEvent, ExtractedAction, KeptThought, NameRepair, ProblemSlug, RepairKind, TextProblem,
};
use super::graft::{MarkupEdits, NamespaceScope};
use super::names::{ElementRole, KnownElement, KnownNames, NameMeaning};
use super::outline::{ContentPart, ElementHead, find_content, split_parts};
use super::piece::MarkupPiece;
use super::problem_messages::{
    describe_ambiguous, describe_inexact, describe_malformed, describe_unknown_action,
};
use super::span::{TextSpan, add_place};
use crate::gate::{self, GateStep, XmlGate};
use crate::limits;
use crate::place::PlaceFinder;
use crate::{DocumentLimits, Payload, Place, characters, namespaces};

/// The analysis of one block.
pub(super) struct BlockAnalysis<'n> {
    pub(super) names: &'n KnownNames,
    pub(super) limits: &'n DocumentLimits,
    pub(super) events: Vec<ExtractEvent>,
}

impl<'n> BlockAnalysis<'n> {
    /// Takes a block whose root is a known element or a wrapper.
    pub(super) fn take_block(&mut self, piece: &MarkupPiece<'_>) {
        self.take_element(piece, &MessageAddress::default(), 0);
    }

    fn report_problem(&mut self, problem: TextProblem) {
        self.events.push(problem.into());
    }

    fn take_element(&mut self, piece: &MarkupPiece<'_>, addressed: &MessageAddress, depth: usize) {
        let Some(head) = ElementHead::read(piece.raw) else {
            return self.report_unreadable(piece, &start_name(piece.raw));
        };
        match self.names.find_meaning(head.local) {
            NameMeaning::Wrapper => self.take_wrapper(piece, &head, depth),
            NameMeaning::Unknown => self.report_unknown(piece, &head),
            NameMeaning::Group { local, misspelt } => {
                if let Some(known) = self.resolve(piece, &head, &local, addressed) {
                    let slip = misspelt.then_some(&*local);
                    self.take_known(piece, &head, known, slip, addressed, depth);
                }
            }
        }
    }

    fn take_known(
        &mut self,
        piece: &MarkupPiece<'_>,
        head: &ElementHead<'_>,
        known: &KnownElement,
        slip: Option<&str>,
        addressed: &MessageAddress,
        depth: usize,
    ) {
        let before = self.events.len();
        if let Some(meant) = slip {
            self.report_repair(RepairKind::Name, piece.start, head.written, meant);
        }
        let taken = match known.role {
            ElementRole::Thinking => self.take_thinking(piece),
            ElementRole::Thought => self.take_thought(piece),
            ElementRole::Completion => self.take_completion(piece, head),
            ElementRole::Own => self.take_own(piece, head, depth),
            ElementRole::Message => self.take_message(piece, head, depth),
            ElementRole::Peer | ElementRole::Returns | ElementRole::Primitive | ElementRole::Plan => {
                self.take_action(piece, head, known, slip, addressed)
            }
        };
        if let Err(problem) = taken.and_then(|()| self.check_exact(before, slip.is_some(), known.role)) {
            // Fixes made on the way to a problem no longer matter.
            self.events.truncate(before);
            self.report_problem(*problem);
        }
    }

    /// Refuses an action that needs a person's approval, if a name on the way to it was corrected.
    fn check_exact(&self, from: usize, is_slip: bool, role: ElementRole) -> Result<(), Box<TextProblem>> {
        let taken = self.events.get(from..).unwrap_or_default();
        let slip = taken.iter().find_map(|event| match event {
            ExtractEvent::Repair(repaired) if repaired.repair == RepairKind::Name => Some(repaired),
            _ => None,
        });
        // Elements next to each other in the own tag were checked one by one.
        let Some(slip) = slip.filter(|_| is_slip || role == ElementRole::Primitive) else { return Ok(()) };
        let needs = |event: &ExtractEvent| matches!(event, ExtractEvent::Action(action) if self.names.needs_approval(&action.payload));
        if taken.iter().any(needs) { Err(Box::new(describe_inexact(slip))) } else { Ok(()) }
    }

    fn report_repair(&mut self, repair: RepairKind, place: Place, written: &str, meant: &str) {
        let (written, meant) = (written.to_owned(), meant.to_owned());
        self.events.push(ExtractEvent::Repair(Box::new(NameRepair { repair, place, written, meant })));
    }

    /// Decides which of the elements with one name is meant. If that is unclear, reports a problem.
    fn resolve(
        &mut self,
        piece: &MarkupPiece<'_>,
        head: &ElementHead<'_>,
        local: &str,
        addressed: &MessageAddress,
    ) -> Option<&'n KnownElement> {
        let group = self.names.find_elements(local);
        let by_name_alone = group.iter().find(|known| known.ns.is_empty());
        if let Some(known) = by_name_alone {
            return Some(known);
        }
        let written = head.read_namespace().or_else(|| piece.scope.find_namespace(head.prefix));
        if let Some(ns) = written {
            let found = group.iter().find(|known| known.ns == ns);
            if found.is_none() {
                let right: Vec<String> = group.iter().map(|known| known.ns.clone()).collect();
                let place =
                    if ns.is_empty() { "no namespace".to_owned() } else { format!("the namespace {ns}") };
                let message = format!("nothing named <{}> is known in {place}", head.local);
                let problem = TextProblem::new(ProblemSlug::UnknownAction, piece.start, message)
                    .with_element(head.written)
                    .with_expected(format!("the namespace {}", right.join(" or ")))
                    .with_fix(format!("write <{local}> without a namespace"));
                self.report_problem(problem.with_nearest(vec![local.to_owned()]));
            }
            return found.and_then(|known| self.check_recipient(piece, head, known, addressed));
        }
        let own_to = || head.read_attribute("to").filter(|_| !addressed.is_inner);
        let to = addressed.to.as_deref().map(Cow::Borrowed).or_else(own_to);
        let takes =
            |known: &&KnownElement| to.as_ref().is_some_and(|to| known.takers.iter().any(|it| it == to));
        let one_named = group.iter().filter(takes).count() == 1;
        let found = group.iter().find(takes).filter(|_| one_named);
        match found.or_else(|| group.first().filter(|_| group.len() == 1)) {
            Some(known) => self.check_recipient(piece, head, known, addressed),
            None => {
                self.report_problem(describe_ambiguous(piece, head, group, addressed.is_inner));
                None
            }
        }
    }

    /// An element that several peers take must name one, unless it goes to all, to a thread, or is not sent by itself.
    /// The first element of a new thread goes to one.
    fn check_recipient(
        &mut self,
        piece: &MarkupPiece<'_>,
        head: &ElementHead<'_>,
        known: &'n KnownElement,
        addressed: &MessageAddress,
    ) -> Option<&'n KnownElement> {
        let is_said = addressed.to.is_some() || addressed.thread.is_some();
        let says_itself = !known.has_to && !addressed.is_inner && head.read_attribute("to").is_some();
        let goes_to_all = known.is_for_all && !addressed.is_inner;
        if known.takers.len() > 1 && !is_said && !says_itself && !goes_to_all {
            self.report_problem(describe_ambiguous(
                piece,
                head,
                std::slice::from_ref(known),
                addressed.is_inner,
            ));
            return None;
        }
        Some(known)
    }

    fn report_unknown(&mut self, piece: &MarkupPiece<'_>, head: &ElementHead<'_>) {
        let problem = describe_unknown_action(self.names, head.written, piece.start);
        self.report_problem(problem);
    }

    fn report_unreadable(&mut self, piece: &MarkupPiece<'_>, name: &str) {
        let problem = describe_malformed(piece, self.limits, name);
        self.report_problem(problem);
    }

    /// One wrapper with one action.
    fn take_wrapper(&mut self, piece: &MarkupPiece<'_>, head: &ElementHead<'_>, depth: usize) {
        let Some(parts) = split_parts(piece.raw) else { return self.report_unreadable(piece, head.written) };
        let inner = match parts.as_slice() {
            [ContentPart::Element(range)] => piece.raw.get(range.clone()),
            _ => None,
        };
        let is_action = |raw: &&str| {
            let role = ElementHead::read(raw).and_then(|head| match self.names.find_meaning(head.local) {
                NameMeaning::Group { local, .. } => self.names.find_role(&local),
                NameMeaning::Wrapper | NameMeaning::Unknown => None,
            });
            role.is_some_and(|role| !matches!(role, ElementRole::Thinking | ElementRole::Thought))
        };
        let (Some(raw), Some(ContentPart::Element(range))) = (inner.filter(is_action), parts.first()) else {
            let message = format!("<{}> is not an action, and does not hold exactly one", head.written);
            let problem = TextProblem::new(ProblemSlug::WrapperAsTool, piece.start, message)
                .with_element(head.written)
                .with_expected(self.names.list_expected())
                .with_fix(format!("write the action itself, without <{}> around it", head.written));
            return self.report_problem(problem);
        };
        let inner = MarkupPiece { raw, start: piece.place_of(range.start), scope: piece.scope.enter(head) };
        let before = self.events.len();
        self.report_repair(RepairKind::Wrapper, piece.start, head.written, &read_element_name(raw));
        self.take_element(&inner, &MessageAddress::default(), depth + 1);
        if self.events.iter().skip(before).any(|event| matches!(event, ExtractEvent::Problem(_))) {
            let taken = self.events.split_off(before);
            self.events.extend(taken.into_iter().filter(|event| !matches!(event, ExtractEvent::Repair(_))));
        }
    }

    fn take_thinking(&mut self, piece: &MarkupPiece<'_>) -> Result<(), Box<TextProblem>> {
        let span = find_content(piece.raw).map_or(piece.span(), |range| map_part(piece, &range));
        self.events.push(ExtractEvent::Thinking(span));
        Ok(())
    }

    fn take_thought(&mut self, piece: &MarkupPiece<'_>) -> Result<(), Box<TextProblem>> {
        let range = find_content(piece.raw).unwrap_or(piece.raw.len()..piece.raw.len());
        let text = decode_entities(piece.raw.get(range.clone()).unwrap_or_default());
        self.events
            .push(ExtractEvent::Thought(Box::new(KeptThought { span: map_part(piece, &range), text })));
        Ok(())
    }

    fn take_completion(
        &mut self,
        piece: &MarkupPiece<'_>,
        head: &ElementHead<'_>,
    ) -> Result<(), Box<TextProblem>> {
        if let Err(fault) = gate::check_document(piece.raw.as_bytes(), self.limits) {
            let offset = fault.place.offset;
            let place = piece.place_of(offset);
            return Err(Box::new(TextProblem::from_refusal(fault, place, head.written, offset >= head.end)));
        }
        let parts = split_parts(piece.raw).unwrap_or_default();
        let missing = |place, message: &str| {
            let fix = "write <attempt_completion><result>…</result></attempt_completion>";
            TextProblem::new(ProblemSlug::ContentMissing, place, message)
                .with_element(head.written)
                .with_fix(fix)
        };
        let mut result = None;
        for part in &parts {
            match part {
                ContentPart::Element(range) if result.is_none() && is_named(piece, range, "result") => {
                    result = Some(range.clone());
                }
                ContentPart::Element(range) | ContentPart::Text(range) => {
                    let message = "<attempt_completion> holds something beside one <result>";
                    return Err(Box::new(missing(piece.place_of(range.start), message)));
                }
            }
        }
        let Some(result) = result else {
            return Err(Box::new(missing(piece.start, "<attempt_completion> holds no <result>")));
        };
        let raw = piece.raw.get(result.clone()).unwrap_or_default();
        let within = find_content(raw).unwrap_or(raw.len()..raw.len());
        let markup = raw.get(within.clone()).unwrap_or_default().to_owned();
        if super::names::is_blank(&markup) {
            return Err(Box::new(missing(piece.place_of(result.start), "<result> is empty")));
        }
        let text = read_text(raw);
        let inside = map_part(piece, &(result.start + within.start..result.start + within.end));
        let completion = Completion { span: piece.span(), inside, markup, text };
        self.events.push(ExtractEvent::Completion(Box::new(completion)));
        Ok(())
    }

    /// The own root tag: thoughts, plans and actions.
    fn take_own(
        &mut self,
        piece: &MarkupPiece<'_>,
        head: &ElementHead<'_>,
        depth: usize,
    ) -> Result<(), Box<TextProblem>> {
        let limits = DocumentLimits { message_bytes: self.limits.reply_bytes, ..*self.limits };
        let found = split_parts(piece.raw).filter(|_| depth < limits::OWN_LEVELS);
        let Some(parts) = found else {
            return Err(Box::new(describe_malformed(piece, &limits, head.written)));
        };
        let scope = piece.scope.enter(head).without_default();
        let mut ruler = PlaceFinder::new(piece.raw.as_bytes());
        let before = self.events.len();
        for part in parts {
            match part {
                ContentPart::Text(range) => {
                    let raw = piece.raw.get(range.clone()).unwrap_or_default();
                    let lead = raw.len() - raw.trim_start_matches(characters::is_white).len();
                    let start = add_place(piece.start, ruler.find_place(range.start + lead));
                    let raw = raw.trim_matches(characters::is_white);
                    let span = TextSpan { start, end: start.offset + raw.len() };
                    self.events.push(ExtractEvent::Thought(Box::new(KeptThought {
                        span,
                        text: decode_entities(raw),
                    })));
                }
                ContentPart::Element(range) => {
                    let start = add_place(piece.start, ruler.find_place(range.start));
                    let raw = piece.raw.get(range).unwrap_or_default();
                    let child = MarkupPiece { raw, start, scope: scope.clone() };
                    self.take_element(&child, &MessageAddress::default(), depth + 1);
                }
            }
        }
        // The own tag is a note, even if it holds nothing to keep.
        if self.events.iter().skip(before).all(|event| matches!(event, ExtractEvent::Thinking(_))) {
            let span = TextSpan { start: piece.start, end: piece.start.offset };
            self.events.push(ExtractEvent::Thought(Box::new(KeptThought { span, text: String::new() })));
        }
        Ok(())
    }

    /// `<message><meta><to>…</to><thread>…</thread></meta>payload</message>`.
    fn take_message(
        &mut self,
        piece: &MarkupPiece<'_>,
        head: &ElementHead<'_>,
        depth: usize,
    ) -> Result<(), Box<TextProblem>> {
        let limits = DocumentLimits { message_bytes: self.limits.reply_bytes, ..*self.limits };
        let Some(parts) = split_parts(piece.raw) else {
            return Err(Box::new(describe_malformed(piece, &limits, head.written)));
        };
        let mut addressed = MessageAddress::default();
        let mut payload = None;
        let mut is_right = head.attributes.iter().all(|(name, ..)| name.starts_with("xmlns"));
        for part in parts {
            match part {
                ContentPart::Element(range) if is_named(piece, &range, "meta") => {
                    addressed = MessageAddress::read(piece.raw.get(range).unwrap_or_default());
                }
                ContentPart::Element(range) if payload.is_none() => payload = Some(range),
                ContentPart::Element(_) | ContentPart::Text(_) => is_right = false,
            }
        }
        let Some(range) = payload.filter(|_| is_right) else {
            let message = "a <message> holds <meta> and one payload, and has no attributes";
            let fix = "write <message><meta><to>…</to></meta>, then the payload, then </message>";
            let problem = TextProblem::new(ProblemSlug::ToolPayloadInvalid, piece.start, message);
            return Err(Box::new(problem.with_element(head.written).with_fix(fix)));
        };
        let scope = piece.scope.enter(head).without_default();
        let raw = piece.raw.get(range.clone()).unwrap_or_default();
        let inner = MarkupPiece { raw, start: piece.place_of(range.start), scope };
        self.take_element(&inner, &addressed, depth + 1);
        Ok(())
    }

    fn take_action(
        &mut self,
        piece: &MarkupPiece<'_>,
        head: &ElementHead<'_>,
        known: &KnownElement,
        slip: Option<&str>,
        addressed: &MessageAddress,
    ) -> Result<(), Box<TextProblem>> {
        let mut graft = MarkupEdits::new(piece.raw, head, &piece.scope);
        if let Some(local) = slip {
            graft.rename(local);
        }
        if graft.declare(known) {
            self.report_repair(RepairKind::Namespace, piece.start, head.written, &known.ns);
        }
        let to = if known.has_to { None } else { graft.take_out("to") };
        if known.role == ElementRole::Primitive
            && known.ns == namespaces::CORE
            && known.local == "spawn-thread"
        {
            self.take_initial_payload(piece, &mut graft)?;
        }
        let origin = graft.finish(piece.start);
        let payload = Payload::parse(origin.edited_markup().as_bytes(), self.limits).map_err(|fault| {
            let place = origin.of_edited(fault.place.offset);
            let is_inside = place.offset >= piece.start.offset + head.end;
            Box::new(TextProblem::from_refusal(fault, place, head.written, is_inside))
        })?;
        let action = ExtractedAction {
            role: known.role,
            written: head.written.to_owned(),
            span: piece.span(),
            raw: origin.raw(),
            to: addressed.to.clone().or(to),
            thread: addressed.thread.clone(),
            origin: origin.with_payload(&payload),
            payload,
        };
        let event = if known.role == ElementRole::Plan { ExtractEvent::Plan } else { ExtractEvent::Action };
        self.events.push(event(Box::new(action)));
        Ok(())
    }

    /// Resolves the initial payload of a new thread like an action, but leaves it in its place.
    fn take_initial_payload(
        &mut self,
        piece: &MarkupPiece<'_>,
        graft: &mut MarkupEdits<'_>,
    ) -> Result<(), Box<TextProblem>> {
        let elements = |raw: &str| -> Vec<Range<usize>> {
            let all = split_parts(raw).unwrap_or_default();
            all.into_iter()
                .filter_map(|part| if let ContentPart::Element(it) = part { Some(it) } else { None })
                .collect()
        };
        let around = elements(piece.raw).into_iter().find(|range| is_named(piece, range, "initial-payload"));
        let Some(around) = around else { return Ok(()) };
        let outer = piece.raw.get(around.clone()).unwrap_or_default();
        let within = elements(outer);
        let [inner] = within.as_slice() else { return Ok(()) };
        let from = around.start + inner.start;
        let raw = piece.raw.get(from..around.start + inner.end).unwrap_or_default();
        let Some(head) = ElementHead::read(raw) else { return Ok(()) };
        if head.read_namespace().is_some() || !head.prefix.is_empty() {
            return Ok(());
        }
        let place = piece.place_of(from);
        let child = MarkupPiece { raw, start: place, scope: NamespaceScope::default() };
        let (local, misspelt) = match self.names.find_meaning(head.local) {
            NameMeaning::Group { local, misspelt } => (local, misspelt),
            NameMeaning::Wrapper | NameMeaning::Unknown => {
                return Err(Box::new(describe_unknown_action(self.names, head.written, place)));
            }
        };
        let before = self.events.len();
        let to = ElementHead::read(outer).and_then(|head| head.read_attribute("to")).map(Cow::into_owned);
        let inner_payload = MessageAddress { to, is_inner: true, ..MessageAddress::default() };
        let Some(known) = self.resolve(&child, &head, &local, &inner_payload) else {
            let told = self.events.pop();
            self.events.truncate(before);
            return match told {
                Some(ExtractEvent::Problem(problem)) => Err(problem),
                _ => Ok(()),
            };
        };
        let mut inner = MarkupEdits::new(raw, &head, &child.scope);
        if misspelt {
            inner.rename(&local);
            self.report_repair(RepairKind::Name, place, head.written, &local);
        }
        if inner.declare(known) {
            self.report_repair(RepairKind::Namespace, place, head.written, &known.ns);
        }
        graft.adopt(inner, from);
        Ok(())
    }
}

/// The recipient that a message names.
#[derive(Debug, Clone, Default)]
pub(super) struct MessageAddress {
    to: Option<String>,
    thread: Option<String>,
    /// Whether the element is the payload of a new thread. The element around it names the recipient.
    is_inner: bool,
}

impl MessageAddress {
    fn read(meta: &str) -> Self {
        let value = |name: &str| {
            let parts = split_parts(meta)?;
            let found = parts.into_iter().find_map(|part| match part {
                ContentPart::Element(range) => {
                    let raw = meta.get(range)?;
                    ElementHead::read(raw).filter(|head| head.local == name).and_then(|_| read_text(raw))
                }
                ContentPart::Text(_) => None,
            });
            found.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
        };
        Self { to: value("to"), thread: value("thread"), is_inner: false }
    }
}

fn is_named(piece: &MarkupPiece<'_>, range: &Range<usize>, local: &str) -> bool {
    let raw = piece.raw.get(range.clone()).unwrap_or_default();
    ElementHead::read(raw).is_some_and(|head| head.local == local)
}

/// The name at the beginning of markup, even if its start tag cannot be read.
fn start_name(raw: &str) -> String {
    raw.chars().skip(1).take_while(|c| !characters::is_white(*c) && !matches!(c, '>' | '/')).collect()
}

fn read_element_name(raw: &str) -> String {
    ElementHead::read(raw).map(|head| head.written.to_owned()).unwrap_or_default()
}

fn map_part(piece: &MarkupPiece<'_>, range: &Range<usize>) -> TextSpan {
    let start = piece.start.move_past(piece.raw.as_bytes().get(..range.start).unwrap_or_default());
    TextSpan { start, end: piece.start.offset + range.end }
}

/// The text of an element that holds nothing else, with entities decoded.
fn read_text(raw: &str) -> Option<String> {
    let mut gate = XmlGate::new_strict(raw.as_bytes(), &DocumentLimits::FROM_PUMP).ok()?;
    let GateStep::Open(_) = gate.read_step().ok()? else { return None };
    gate.text_inside().ok()
}

/// Text with its entities decoded once. An `&` that begins no entity is text.
pub(super) fn decode_entities(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((before, after)) = rest.split_once('&') {
        text.push_str(before);
        // The longest reference has ten characters. A later `;` belongs to something else.
        let name =
            after.char_indices().take(12).find(|(_, c)| *c == ';').and_then(|(end, _)| after.get(..end));
        match name.and_then(|name| Some((characters::resolve_reference(name)?, name.len()))) {
            Some((character, length)) => {
                text.push(character);
                rest = after.get(length + 1..).unwrap_or_default();
            }
            None => {
                text.push('&');
                rest = after;
            }
        }
    }
    text.push_str(rest);
    text
}
