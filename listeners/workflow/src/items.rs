//! The payloads that a workflow sends: children, branches of itself, timers, and its final; and what is read back out
//! of their answers.

use std::sync::Arc;

use systole_kit::gate::{GateStep, XmlGate};
use systole_kit::writer::{XmlName, XmlWriter};
use systole_kit::{DocumentLimits, Payload, namespaces};

use crate::goal_request::show_text;
use crate::known::{KnownEntry, KnownOutputs, KnownPart, StepFailure, StepOutput, is_expired};
use crate::spec::{
    Budget, CallStep, ElementName, PayloadField, QuestionStep, Step, StepAction, ValueSource, Workflow,
};

pub(crate) fn build_core(write: impl FnOnce(&mut XmlWriter)) -> Payload {
    build_payload(write)
}

/// What was written, as a payload. The writer makes nothing that cannot be read.
fn build_payload(write: impl FnOnce(&mut XmlWriter)) -> Payload {
    let mut writer = XmlWriter::new();
    write(&mut writer);
    let bytes: Arc<[u8]> = writer.finish().into();
    Payload::from_trusted(bytes).unwrap_or_else(|_| Payload::write(namespaces::CORE, "handled", |_| {}))
}

/// The label of a child that is started under a key: `review[3]` is `review-3`.
pub(crate) fn label_child(key: &str) -> String {
    let sign = |sign: char| if sign.is_ascii_lowercase() || sign.is_ascii_digit() { sign } else { ' ' };
    let words: String = key.chars().map(sign).collect();
    let words: Vec<&str> = words.split_whitespace().collect();
    let label = words.join("-");
    label.get(..label.len().min(32)).unwrap_or_default().trim_end_matches('-').to_owned()
}

/// A child that works on a payload.
pub(crate) fn spawn_child(label: &str, to: &str, payload: &Payload, budget: &Budget) -> Payload {
    let number = |most: Option<u64>| most.map(|most| most.to_string());
    build_core(|writer| {
        let start = writer.open("spawn-thread").xmlns(namespaces::CORE).attr("suggested_sub_id", label);
        let start = start.attr_if("messages", number(budget.messages).as_deref());
        let start = start.attr_if("tokens", number(budget.tokens).as_deref());
        start.attr_if("money", budget.money.as_deref()).content(|inside| {
            inside.open("initial-payload").attr("to", to).write_payload(payload);
        });
    })
}

/// A wait for whatever comes first.
pub(crate) fn wait_for_any() -> Payload {
    build_core(|writer| writer.open("await-threads").xmlns(namespaces::CORE).attr("mode", "any").empty())
}

/// A timer that fires once.
pub(crate) fn start_timer(id: &str, ms: u64) -> Payload {
    build_core(|writer| {
        let start = writer.open("set-timer").xmlns(namespaces::CORE).attr("id", id);
        start.attr("after", &format_duration(ms)).empty();
    })
}

/// The end of a timer.
pub(crate) fn cancel_timer(id: &str) -> Payload {
    build_core(|writer| writer.open("cancel-timer").xmlns(namespaces::CORE).attr("id", id).empty())
}

/// The end of a child.
pub(crate) fn cancel_thread(id: &str) -> Payload {
    build_core(|writer| writer.open("cancel-thread").xmlns(namespaces::CORE).attr("id", id).empty())
}

/// A span in its largest whole unit.
pub(crate) fn format_duration(ms: u64) -> String {
    let units = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000)];
    let (unit, of) = units.into_iter().find(|(_, of)| ms > 0 && ms.is_multiple_of(*of)).unwrap_or(("ms", 1));
    format!("{}{unit}", ms / of)
}

/// A payload that a listener is called with.
pub(crate) fn build_call(call: &CallStep, known: &KnownOutputs) -> Result<Payload, StepFailure> {
    let mut values = Vec::new();
    for field in &call.fields {
        let texts = match &field.source {
            ValueSource::Text(text) => vec![text.clone()],
            ValueSource::Path(path) => known.find_texts(path),
        };
        if let (true, false, ValueSource::Path(path)) = (texts.is_empty(), field.is_optional, &field.source) {
            let words = format!("with: {} is needed for `{}`, and there is none", path.text(), field.name);
            return Err(StepFailure::new("workflow.absent", words));
        }
        values.push((field, texts));
    }
    let words = format!("<{}> cannot be written", call.element.local);
    call_payload(call, &values).ok_or_else(|| StepFailure::new("workflow.unusable-call", words))
}

/// The payload of a call with these values in its fields. `None` if no payload can have them.
pub fn call_payload(call: &CallStep, values: &[(&PayloadField, Vec<String>)]) -> Option<Payload> {
    let of = |is_part: fn(&PayloadField) -> bool| {
        values.iter().filter(move |(field, _)| is_part(field)).map(|(field, texts)| (&*field.name, texts))
    };
    let mut writer = XmlWriter::new();
    let mut start = writer.open(XmlName::new(&call.element.local)?).xmlns(&call.element.namespace);
    for (name, texts) in of(|field| field.is_attribute) {
        start = start.attr_if(XmlName::new(name)?, texts.first().map(String::as_str));
    }
    let own = of(PayloadField::is_own_text).flat_map(|(_, texts)| texts).next();
    let elements = of(|field| !field.is_attribute && !field.is_own_text());
    let elements: Option<Vec<_>> = elements.map(|(name, texts)| Some((XmlName::new(name)?, texts))).collect();
    let elements = elements?;
    match own {
        Some(own) => start.text(own),
        None => start.content(|inside| {
            for (name, text) in
                elements.iter().flat_map(|(name, texts)| texts.iter().map(|text| (*name, text)))
            {
                let start = inside.open(name);
                if call.is_qualified { start.text(text) } else { start.xmlns("").text(text) }
            }
        }),
    }
    Payload::parse(&writer.finish(), &DocumentLimits::default()).ok()
}

/// Who keeps the time and the tries of a step that a branch does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum BranchTerms {
    /// The branch.
    Inside,
    /// The thread that started it.
    Outside,
}

impl BranchTerms {
    /// Those of a branch for an item of a list, or beside others.
    pub(crate) const fn from_item(item: Option<usize>) -> Self {
        if item.is_some() { Self::Outside } else { Self::Inside }
    }
}

/// A branch of a step, with what is known there.
pub(crate) fn build_branch(
    step: &Step,
    item: Option<usize>,
    terms: BranchTerms,
    known: &KnownOutputs,
) -> Payload {
    let number = |number: usize| number.to_string();
    let within: Vec<String> = known.within.iter().map(|(name, pass)| format!("{name}.{pass}")).collect();
    let within = within.join(" ");
    build_payload(|writer| {
        let start = writer.open("branch").xmlns(namespaces::WORKFLOW).attr("step", &step.id);
        let start = start.attr_if("item", item.map(number).as_deref());
        let start = start.attr_if("terms", (terms != BranchTerms::from_item(item)).then_some("outside"));
        start.attr_if("within", (!within.is_empty()).then_some(&within)).content(|inside| {
            for (at, part) in known.parts.iter().enumerate() {
                match part {
                    KnownPart::Entry(entry) => write_entry(inside, entry, None),
                    KnownPart::Pass { n, entries } => {
                        entries.iter().for_each(|entry| write_entry(inside, entry, Some((*n, at))));
                    }
                }
            }
        });
    })
}

fn write_entry(writer: &mut XmlWriter, entry: &KnownEntry, pass: Option<(u32, usize)>) {
    let failure = match &entry.output {
        StepOutput::Failed(failure) => Some(failure),
        StepOutput::Payload(_) => None,
    };
    let start = writer.open("known").attr("id", &entry.id);
    let start = start.attr_if("item", entry.item.map(|item| item.to_string()).as_deref());
    let start = start.attr_if("agent", entry.agent.as_deref());
    let start = start.attr_if("list", entry.narrowed.as_ref().map(|list| list.join("/")).as_deref());
    let start = start.attr_if("pass", pass.map(|(n, _)| n.to_string()).as_deref());
    let start = start.attr_if("part", pass.map(|(_, at)| at.to_string()).as_deref());
    let start = start.attr_if("unfinished", entry.is_unfinished.then_some("true"));
    let start = start.attr_if("code", failure.map(|failure| failure.code.as_str()));
    let start = start.attr_if("first-code", failure.and_then(|failure| failure.first_code.as_deref()));
    let start = start.attr_if("words", failure.map(|failure| failure.words.as_str()));
    match entry.payload() {
        Some(payload) => start.write_payload(payload),
        None => start.empty(),
    }
}

/// The step of a branch, who keeps its terms, and what is known there.
pub(crate) fn read_branch(request: &Payload) -> Option<(String, BranchTerms, KnownOutputs)> {
    let mut gate = XmlGate::new_strict(request.bytes(), &DocumentLimits::FROM_PUMP).ok()?;
    let GateStep::Open(_) = gate.read_step().ok()? else { return None };
    let attribute =
        |gate: &XmlGate<'_>, name: &str| gate.find_attribute(name).map(std::borrow::Cow::into_owned);
    let id = attribute(&gate, "step")?;
    let is_outside = attribute(&gate, "item").is_some() || attribute(&gate, "terms").is_some();
    let terms = if is_outside { BranchTerms::Outside } else { BranchTerms::Inside };
    let mut known = KnownOutputs::default();
    for pass in attribute(&gate, "within").unwrap_or_default().split_whitespace() {
        let (name, number) = pass.rsplit_once('.')?;
        known.within.push((name.to_owned(), number.parse().ok()?));
    }
    known.parts = read_parts(&mut gate)?;
    Some((id, terms, known))
}

/// The outputs that stand in the element that was opened last.
fn read_parts(gate: &mut XmlGate<'_>) -> Option<Vec<KnownPart>> {
    let attribute =
        |gate: &XmlGate<'_>, name: &str| gate.find_attribute(name).map(std::borrow::Cow::into_owned);
    let (mut parts, mut last_part) = (Vec::new(), None);
    while let Some(_tag) = gate.read_child().ok()? {
        let mut entry =
            KnownEntry::new(&attribute(gate, "id")?, StepOutput::Failed(StepFailure::new("", "")));
        entry.item = attribute(gate, "item").and_then(|item| item.parse().ok());
        entry.agent = attribute(gate, "agent");
        let fields = |list: String| list.split('/').map(str::to_owned).collect();
        entry.narrowed = attribute(gate, "list").map(fields);
        entry.is_unfinished = attribute(gate, "unfinished").is_some();
        let pass: Option<u32> = attribute(gate, "pass").and_then(|pass| pass.parse().ok());
        let part = attribute(gate, "part");
        let failure = attribute(gate, "code").map(|code| StepFailure {
            code,
            first_code: attribute(gate, "first-code"),
            words: attribute(gate, "words").unwrap_or_default(),
        });
        let mut inside = None;
        while let Some(tag) = gate.read_child().ok()? {
            inside = Some(Payload::cut_from(gate, tag).ok()?);
        }
        entry.output = match (inside, failure) {
            (Some(payload), _) => StepOutput::Payload(payload),
            (None, Some(failure)) => StepOutput::Failed(failure),
            (None, None) => return None,
        };
        let entry = Arc::new(entry);
        match (pass, parts.last_mut()) {
            (Some(_), Some(KnownPart::Pass { entries, .. })) if part == last_part => entries.push(entry),
            (Some(n), _) => parts.push(KnownPart::Pass { n, entries: vec![entry] }),
            (None, _) => parts.push(KnownPart::Entry(entry)),
        }
        last_part = part;
    }
    Some(parts)
}

/// The final of a branch: the outputs of its last step, or of all steps in it.
pub(crate) fn build_branch_output(known: &KnownOutputs, before: usize, of_all: bool) -> Payload {
    let own = known.parts.get(before..).unwrap_or_default();
    let entries = || {
        own.iter().filter_map(|part| match part {
            KnownPart::Entry(entry) => Some(entry),
            KnownPart::Pass { .. } => None,
        })
    };
    let last = entries().next_back().map(|last| last.id.clone());
    build_payload(|writer| {
        writer.open("branch-output").xmlns(namespaces::WORKFLOW).content(|inside| {
            let shown = entries().filter(|entry| of_all || Some(&entry.id) == last.as_ref());
            shown.for_each(|entry| write_entry(inside, entry, None));
        });
    })
}

/// The outputs in a branch's request or final; none in any other payload.
pub(crate) fn read_outputs(payload: &Payload) -> Vec<KnownEntry> {
    let read = || {
        let mut gate = XmlGate::new_strict(payload.bytes(), &DocumentLimits::FROM_PUMP).ok()?;
        let GateStep::Open(_) = gate.read_step().ok()? else { return None };
        read_parts(&mut gate)
    };
    let parts = read().unwrap_or_default().into_iter();
    let entries = parts.filter_map(|part| match part {
        KnownPart::Entry(entry) => Some(KnownEntry::clone(&entry)),
        KnownPart::Pass { .. } => None,
    });
    entries.collect()
}

/// A person's answer, or the question's default if it expired.
pub(crate) fn read_person_answer(said: &Payload, question: &QuestionStep) -> Option<Payload> {
    if !is_expired(said) {
        return Some(said.clone());
    }
    let otherwise = question.otherwise.as_ref()?;
    Some(build_core(|writer| {
        let start = writer.open("person-said").xmlns(namespaces::CORE).attr("outcome", "expired");
        start.attr("choice", otherwise).empty();
    }))
}

/// The final of a workflow: the payload that its last step gave, or its words.
pub(crate) fn build_final(workflow: &Workflow, last: Option<&KnownEntry>) -> Result<Payload, StepFailure> {
    let missing = |words: String| Err(StepFailure::new("workflow.no-final", words));
    let ElementName { namespace, local } = &workflow.returns;
    let Some(payload) = last.and_then(KnownEntry::payload) else {
        return missing(format!("the last step gave nothing to make <{local}> from"));
    };
    if payload.name().is_named(namespace, local) {
        return Ok(payload.clone());
    }
    let Some(name) = XmlName::new(local).filter(|_| workflow.returns_text) else {
        return missing(format!("the last step gave <{}>, and <{local}> is wanted", payload.name().local));
    };
    let text = show_text(payload);
    Ok(build_payload(|writer| writer.open(name).xmlns(namespace).text(&text)))
}

/// Whether a goal's answer can end its loop: it is the last of the steps that are repeated until they converge.
pub(crate) fn can_end_loop(steps: &[Step], id: &str) -> bool {
    use crate::spec::RepeatUntil;
    steps.iter().any(|step| match &step.work {
        StepAction::Repeat { steps, until: RepeatUntil::Converged, .. }
            if find_last_goal(steps) == Some(id) =>
        {
            true
        }
        _ => can_end_loop(step.inner_steps(), id),
    })
}

/// The last goal of steps: that of a group, if a group is the last.
fn find_last_goal(steps: &[Step]) -> Option<&str> {
    let last = steps.last()?;
    match &last.work {
        StepAction::Group { steps } => find_last_goal(steps),
        _ => Some(&last.id),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_with_text_of_its_own_is_written_beside_its_attributes() {
        let field = |name: &str, is_attribute| PayloadField {
            name: name.to_owned(),
            is_attribute,
            is_optional: false,
            source: ValueSource::Text(String::new()),
        };
        let (to, own) = (field("to", true), field(PayloadField::OWN_TEXT, false));
        let element = ElementName { namespace: "u".to_owned(), local: "note".to_owned() };
        let call = CallStep { element, is_qualified: true, to: "t".to_owned(), fields: vec![to, own] };
        let texts = [vec!["x".to_owned()], vec!["a < b".to_owned()]];
        let values: Vec<_> = call.fields.iter().zip(texts).collect();
        let payload = call_payload(&call, &values).unwrap();
        assert_eq!(payload.bytes().as_ref(), br#"<note xmlns="u" to="x">a &lt; b</note>"#);
    }
}
