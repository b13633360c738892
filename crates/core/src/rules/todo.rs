//! Reads todo lists: a payload that is a list, and lists directly inside a note. A note's schema
//! belongs to its author and does not know the core's elements, so this module checks the form of a
//! list. Input: bytes. Output: the lists, or the refusal of the first bad one.

use systole_wire::gate::{GateStep, XmlGate};
use systole_wire::{DocumentLimits, namespaces};

use super::refusing::refusal_of;
use crate::types::codes::Code;
use crate::types::primitive::{TodoList, TodoStep};
use crate::types::refusal::Refusal;

const LIST: &str = "todo-until";
const EXPECTED: &str = "<todo-until condition=\"…\"> with nothing inside but <step done=\"true\"> or <step done=\"false\">, each with a text";

/// The todo lists of a payload, in order. Most notes have none.
pub fn read_lists(body: &[u8]) -> Result<Vec<TodoList>, Refusal> {
    // A fast check: nearly all notes lack the word and need no parsing.
    if !std::str::from_utf8(body).is_ok_and(|text| text.contains(LIST)) {
        return Ok(Vec::new());
    }
    let mut gate =
        XmlGate::new_strict(body, &DocumentLimits::FROM_PUMP).map_err(|fault| refusal_of(&fault))?;
    let (mut lists, mut depth) = (Vec::new(), 0usize);
    loop {
        match gate.read_step().map_err(|fault| refusal_of(&fault))? {
            GateStep::Open(tag)
                if depth <= 1 && tag.local == LIST && gate.find_namespace(&tag) == Some(namespaces::CORE) =>
            {
                lists.push(read_list(&mut gate)?);
            }
            GateStep::Open(_) => depth += 1,
            GateStep::Close => depth = depth.saturating_sub(1),
            GateStep::Done => return Ok(lists),
            GateStep::Text(_) | GateStep::Instruction => {}
        }
    }
}

/// Reads one list, from after its start tag to its end.
fn read_list(gate: &mut XmlGate<'_>) -> Result<TodoList, Refusal> {
    let condition = gate.find_attribute("condition").map(|value| value.into_owned());
    let mut list = TodoList {
        condition: condition.ok_or_else(|| refuse_wrong("a list has no condition"))?,
        steps: Vec::new(),
    };
    let mut step: Option<TodoStep> = None;
    loop {
        match gate.read_step().map_err(|fault| refusal_of(&fault))? {
            GateStep::Open(tag) => {
                let is_step = tag.local == "step" && gate.find_namespace(&tag) == Some(namespaces::CORE);
                if !is_step || step.is_some() {
                    return Err(refuse_wrong("a list holds something other than a step"));
                }
                let is_done = match gate.find_attribute("done").as_deref() {
                    Some("true") => true,
                    Some("false") => false,
                    _ => return Err(refuse_wrong("a step does not say whether it is done")),
                };
                step = Some(TodoStep { is_done, text: String::new() });
            }
            GateStep::Text(text) => match &mut step {
                Some(step) => text.append_to(&mut step.text),
                None if text.is_blank() => {}
                None => return Err(refuse_wrong("a list has a text beside its steps")),
            },
            GateStep::Close => match step.take() {
                Some(step) => list.steps.push(step),
                None => return Ok(list),
            },
            GateStep::Instruction | GateStep::Done => return Err(refuse_wrong("a list does not end")),
        }
    }
}

fn refuse_wrong(words: &'static str) -> Refusal {
    Refusal::new(Code::Invalid, words).of_element(LIST).with_expected(EXPECTED)
}
