//! What a model may write in one answer of dialect `xml`, as a grammar: its reasoning, then actions or the final.
//!
//! The terms of a call come in; rules go out, or `None` if one of the call's elements has no grammar. It promises
//! nothing: an answer that follows the rules is read and judged as every other.

use std::sync::LazyLock;

use systole_kit::namespaces;
use systole_kit::schema::{AddedAttribute, Grammar, SchemaModel};
use systole_workflow::CONVERGED;

use crate::contracts::{AgentContracts, ElementModel, PeerAction};
use crate::limits::{GRAMMAR_ACTIONS, REASONING_SHARE};
use crate::model::AnswerGrammar;
use crate::primitives::{self, PromptPrimitive};
use crate::spec::{ActionLimit, AgentSpec, ThinkingRule};

/// The schemas of the primitives.
static PRIMITIVES: LazyLock<Vec<(&str, Option<SchemaModel>)>> = LazyLock::new(|| {
    let core: &[u8] = include_bytes!("../../../../schemas/core.xsd");
    let meta: &[u8] = include_bytes!("../../../../schemas/meta.xsd");
    let all = [
        (namespaces::CORE, core),
        (namespaces::META, meta),
        (namespaces::WORKFLOW, systole_workflow::WORKFLOW_XSD),
    ];
    all.into_iter().map(|(namespace, text)| (namespace, SchemaModel::read_among(text, &[]).ok())).collect()
});

/// What many models write around their reasoning.
const THINK: &str = "think";

/// The grammar of an answer of at most so many tokens.
pub(crate) fn write_grammar(
    agent: &AgentSpec,
    contracts: &AgentContracts,
    only_final: bool,
    max_output: u64,
) -> Option<AnswerGrammar> {
    let has_primitives = primitives::list_prompted(agent, contracts).next().is_some();
    let acts = !only_final && (contracts.can_act() || has_primitives);
    // Text as it is ends the answer, so it must not be followed by another action.
    let is_escaped = acts && agent.actions == ActionLimit::Many;
    let grammar = if is_escaped { Grammar::with_escapes() } else { Grammar::default() };
    let mut writer = AnswerWriter { contracts, grammar };
    let ending = writer.write_ending()?;
    let content = if acts {
        let actions = writer.write_actions(agent)?;
        let more = match agent.actions {
            ActionLimit::One => String::new(),
            ActionLimit::Many => format!(" (\"\\n\" {actions}){{0,{}}}", GRAMMAR_ACTIONS - 1),
        };
        format!("{actions}{more} | {ending}")
    } else {
        ending
    };
    let content = writer.grammar.add_rule("content", content);
    // The reasoning leaves most of the answer to the action, also if each character is a token.
    let longest = usize::try_from(max_output / REASONING_SHARE).unwrap_or(usize::MAX).max(1);
    let thoughts = writer.grammar.add_long_text(longest);
    let thinking = format!("\"<thinking>\" {thoughts} \"</thinking>\\n\"");
    let answer = match agent.thinking {
        ThinkingRule::Required => format!("{thinking} {content}"),
        ThinkingRule::Free => format!("({thinking})? {content}"),
    };
    let answer = writer.grammar.add_rule("answer", answer);
    let alone = writer.grammar.write_text(&answer);
    // Reasoning that the server leaves in the text comes first. It must begin no code and no quotation, and end.
    if contracts.has_element(THINK) {
        return Some(AnswerGrammar { behind_reasoning: alone.clone(), alone });
    }
    let begun = writer.grammar.add_short_blocks("[^<>`~]", longest);
    let before = format!("(\"<{THINK}>\"? {begun} \"</{THINK}>\\n\")?");
    let before = writer.grammar.add_rule("before", before);
    let behind_reasoning = writer.grammar.add_rule("behind-reasoning", format!("{before} {answer}"));
    Some(AnswerGrammar { alone, behind_reasoning: writer.grammar.write_text(&behind_reasoning) })
}

struct AnswerWriter<'c> {
    contracts: &'c AgentContracts,
    grammar: Grammar,
}

impl AnswerWriter<'_> {
    /// The finals of the call.
    fn write_ending(&mut self) -> Option<String> {
        let contracts = self.contracts;
        let mut each = Vec::new();
        match contracts.text_final() {
            Some(known) => {
                let text = known.model.add_text_to_grammar(&mut self.grammar, &known.element.local)?;
                each.push(write_completion(&text));
            }
            None if contracts.finals.is_empty() => each.push(write_completion(&self.grammar.add_words())),
            None => {
                for known in &contracts.finals {
                    let added = self.list_added(known)?;
                    each.push(self.write_element(known, &added)?);
                }
            }
        }
        if contracts.may_converge() {
            each.push(write_completion(&format!("\"{CONVERGED}\"")));
        }
        Some(self.grammar.add_rule("ending", each.join(" | ")))
    }

    /// The tools of the call and the primitives that its prompt names.
    fn write_actions(&mut self, agent: &AgentSpec) -> Option<String> {
        let (mut each, mut spawnable, mut held) = (Vec::new(), Vec::new(), Vec::new());
        for action in &self.contracts.actions {
            match self.write_action(action) {
                Some(rule) => {
                    spawnable.extend((action.takers.len() == 1).then(|| rule.clone()));
                    each.push(rule);
                }
                None => held.push(action),
            }
        }
        self.grammar.any_element =
            (!spawnable.is_empty()).then(|| self.grammar.add_rule("tool", spawnable.join(" | ")));
        for action in held {
            each.push(self.write_action(action)?);
        }
        for primitive in primitives::list_prompted(agent, self.contracts) {
            each.extend(self.write_primitive(primitive));
        }
        Some(self.grammar.add_rule("action", each.join(" | ")))
    }

    fn write_action(&mut self, action: &PeerAction) -> Option<String> {
        let known = &action.known;
        let mut added = self.list_added(known)?;
        let has_choice = action.takers.len() > 1;
        if has_choice && !known.has_attribute("to") {
            let is_required = action.broadcast.is_empty();
            added.push(AddedAttribute { name: "to".to_owned(), values: action.takers.clone(), is_required });
        }
        let element = self.write_element(known, &added)?;
        if !has_choice || !known.has_attribute("to") {
            return Some(element);
        }
        // The attribute means something else, so the recipient is named around the element.
        let takers: Vec<String> = action.takers.iter().map(|taker| format!("\"{taker}\"")).collect();
        let to = format!("\"<message><meta><to>\" ({}) \"</to></meta>\"", takers.join(" | "));
        Some(self.grammar.add_rule("message", format!("{to} {element} \"</message>\"")))
    }

    /// The namespace of an element, if a name alone says too little. `None` if that cannot be written.
    fn list_added(&self, known: &ElementModel) -> Option<Vec<AddedAttribute>> {
        let actions = self.contracts.actions.iter().map(|action| &action.known);
        let same =
            actions.chain(&self.contracts.finals).filter(|other| other.element.local == known.element.local);
        if same.count() == 1 {
            return Some(Vec::new());
        }
        let values = vec![known.element.ns.to_string()];
        let namespace = AddedAttribute { name: "xmlns".to_owned(), values, is_required: true };
        known.is_qualified().then(|| vec![namespace])
    }

    fn write_element(&mut self, known: &ElementModel, added: &[AddedAttribute]) -> Option<String> {
        known.model.add_to_grammar(&mut self.grammar, &known.element.local, added)?.ok()
    }

    /// A primitive. `None` if nothing can stand in it.
    fn write_primitive(&mut self, primitive: &PromptPrimitive) -> Option<String> {
        let (_, model) = PRIMITIVES.iter().find(|(namespace, _)| *namespace == primitive.namespace)?;
        model.as_ref()?.add_to_grammar(&mut self.grammar, primitive.local, &[])?.ok()
    }
}

fn write_completion(text: &str) -> String {
    format!("\"<attempt_completion><result>\" {text} \"</result></attempt_completion>\"")
}
