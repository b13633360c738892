//! The names that an agent's answer may hold as more than text, and which of them a written name means.
//!
//! It does not know what a payload holds: that is the schema's part. Names with their namespaces come in; the
//! name that was meant, or the nearest ones, go out.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::limits::{NEAR_NAMES, SLIP_LETTERS};
use crate::schema::{TextElements, find_nearest};
use crate::{Payload, characters, namespaces};

/// What an element is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElementRole {
    /// A payload that peers take.
    Peer,
    /// What the agent answers with.
    Returns,
    /// A message to the pump.
    Primitive,
    /// The agent's own root tag: thoughts, plans, and actions in it.
    Own,
    /// Reasoning. Nothing in it is executed.
    Thinking,
    /// A thought to keep.
    Thought,
    /// `<todo-until>`: a plan.
    Plan,
    /// `<attempt_completion>`: the answer in its general form.
    Completion,
    /// `<message>`: a payload with its recipient or its thread.
    Message,
}

/// One known element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownElement {
    /// Its role.
    pub role: ElementRole,
    /// Its namespace. Empty if only its name counts.
    pub ns: String,
    /// Its local name.
    pub local: String,
    /// The peers that take it.
    pub takers: Vec<String>,
    /// Whether it goes to all of them if it names none.
    pub is_for_all: bool,
    /// Whether the elements inside it are in its namespace, as `elementFormDefault="qualified"` says.
    pub qualified: bool,
    /// Whether its schema has an attribute `to`, which then names no peer.
    pub has_to: bool,
    /// Whether a person must approve it. Then only its exact name is accepted.
    pub needs_approval: bool,
    /// Which of its elements hold only text, if known.
    pub texts: Option<Arc<TextElements>>,
}

impl KnownElement {
    /// An element of a role. The elements inside it are in its namespace.
    #[must_use]
    pub fn new(role: ElementRole, ns: &str, local: &str) -> Self {
        let (ns, local) = (ns.to_owned(), local.to_owned());
        let takers = Vec::new();
        let (is_for_all, qualified, has_to, needs_approval) = (false, true, false, false);
        Self { role, ns, local, takers, is_for_all, qualified, has_to, needs_approval, texts: None }
    }

    /// Adds a peer that takes it.
    #[must_use]
    pub fn taken_by(mut self, peer: &str) -> Self {
        self.takers.push(peer.to_owned());
        self
    }

    /// Sets that it goes to all of its peers if it names none.
    #[must_use]
    pub fn for_all(mut self) -> Self {
        self.is_for_all = true;
        self
    }

    /// Sets which of its elements hold only text, according to its schema.
    #[must_use]
    pub fn with_texts(mut self, texts: Option<TextElements>) -> Self {
        self.texts = texts.map(Arc::new);
        self
    }

    /// Sets that the elements inside it are in no namespace.
    #[must_use]
    pub fn without_namespace(mut self) -> Self {
        self.qualified = false;
        self
    }

    /// Sets that its schema has an attribute `to`.
    #[must_use]
    pub fn with_own_to(mut self) -> Self {
        self.has_to = true;
        self
    }

    /// Sets that a person must approve it.
    #[must_use]
    pub fn with_approval(mut self) -> Self {
        self.needs_approval = true;
        self
    }
}

/// Elements in which models wrap an action needlessly.
pub(super) const WRAPPERS: [&str; 3] = ["tool_call", "api_call", "action"];

/// Common HTML names. One letter turns one name into another, so none of these is taken for a typo.
const HTML: [&str; 62] = [
    "abbr",
    "article",
    "aside",
    "audio",
    "base",
    "blockquote",
    "body",
    "button",
    "canvas",
    "caption",
    "cite",
    "code",
    "data",
    "del",
    "details",
    "dialog",
    "div",
    "embed",
    "figure",
    "footer",
    "form",
    "frame",
    "head",
    "header",
    "html",
    "iframe",
    "img",
    "input",
    "ins",
    "kbd",
    "label",
    "legend",
    "link",
    "main",
    "map",
    "mark",
    "menu",
    "meta",
    "nav",
    "object",
    "option",
    "output",
    "param",
    "picture",
    "pre",
    "progress",
    "samp",
    "script",
    "section",
    "select",
    "small",
    "source",
    "span",
    "strong",
    "style",
    "sub",
    "summary",
    "sup",
    "table",
    "time",
    "title",
    "video",
];

/// HTML elements that have no end tag.
pub(super) const VOID: [&[u8]; 10] =
    [b"br", b"hr", b"img", b"input", b"meta", b"link", b"col", b"area", b"source", b"wbr"];

/// The names that are known.
#[derive(Debug, Clone, Default)]
pub struct KnownNames {
    groups: BTreeMap<Arc<str>, Vec<KnownElement>>,
    /// The local names in lower case with `-` for `_`.
    folded: Vec<(String, Arc<str>)>,
    /// More elements in which the model wraps an action.
    wrappers: Vec<String>,
    /// Whether an unknown element directly behind thinking is only text.
    ignores_behind_thinking: bool,
}

/// The meaning of a written name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NameMeaning {
    /// The known elements of this local name.
    Group {
        local: Arc<str>,
        /// Whether the written name differs.
        misspelt: bool,
    },
    /// A wrapper.
    Wrapper,
    /// Not a known name.
    Unknown,
}

impl KnownNames {
    /// The names that every agent knows: `thinking`, `thought`, `todo-until`, `attempt_completion` and `message`.
    #[must_use]
    pub fn new() -> Self {
        let plan = TextElements::with_child("step", TextElements::new_text());
        Self::default()
            .with_element(KnownElement::new(ElementRole::Thinking, "", "thinking"))
            .with_element(KnownElement::new(ElementRole::Thought, "", "thought"))
            .with_element(
                KnownElement::new(ElementRole::Plan, namespaces::CORE, "todo-until").with_texts(Some(plan)),
            )
            .with_element(KnownElement::new(ElementRole::Completion, "", "attempt_completion"))
            .with_element(KnownElement::new(ElementRole::Message, namespaces::ENVELOPE, "message"))
    }

    /// Sets that the result of an `attempt_completion` is only text.
    #[must_use]
    pub fn with_text_result(mut self) -> Self {
        let texts = Arc::new(TextElements::with_child("result", TextElements::new_text()));
        let known = self.groups.get_mut("attempt_completion").into_iter().flatten();
        known.for_each(|known| known.texts = Some(texts.clone()));
        self
    }

    /// Adds an element in which the model wraps an action. A known element takes precedence.
    #[must_use]
    pub fn with_wrapper(mut self, local: &str) -> Self {
        self.wrappers.push(local.to_owned());
        self
    }

    /// Takes an unknown element directly behind thinking as text, as earlier versions did.
    #[must_use]
    pub fn with_text_behind_thinking(mut self) -> Self {
        self.ignores_behind_thinking = true;
        self
    }

    /// Whether an unknown element directly behind thinking was meant as an action, also if it holds no element. Markup
    /// of a page is text.
    pub(super) fn is_meant_behind_thinking(&self, written: &[u8]) -> bool {
        let folded = String::from_utf8_lossy(written).to_ascii_lowercase();
        !self.ignores_behind_thinking && folded.len() >= SLIP_LETTERS && !HTML.contains(&folded.as_str())
    }

    /// Adds an element. If the namespace and name are already present, that entry gains the takers.
    #[must_use]
    pub fn with_element(mut self, known: KnownElement) -> Self {
        let local: Arc<str> = Arc::from(known.local.as_str());
        if !self.groups.contains_key(&local) {
            self.folded.push((fold_name(&local), local.clone()));
        }
        let group = self.groups.entry(local).or_default();
        match group.iter_mut().find(|other| other.ns == known.ns && other.role == known.role) {
            Some(same) => {
                same.takers.extend(known.takers);
                same.needs_approval |= known.needs_approval;
            }
            None => group.push(known),
        }
        self
    }

    /// The elements of that local name.
    pub(super) fn find_elements(&self, local: &str) -> &[KnownElement] {
        self.groups.get(local).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether a person must approve a payload, or the initial payload of a new thread inside it.
    pub(super) fn needs_approval(&self, payload: &Payload) -> bool {
        let name = payload.name();
        if name.is_named(namespaces::CORE, "spawn-thread") {
            let initial = payload.parse_child().and_then(|around| around.parse_child());
            return initial.is_ok_and(|initial| self.needs_approval(&initial));
        }
        let is_it = |known: &KnownElement| known.ns == *name.ns && known.needs_approval;
        payload.is_marked("is_dangerous") || self.find_elements(&name.local).iter().any(is_it)
    }

    /// The role of the first element with that local name.
    pub(super) fn find_role(&self, local: &str) -> Option<ElementRole> {
        self.find_elements(local).first().map(|known| known.role)
    }

    /// The meaning of a written local name.
    pub(super) fn find_meaning(&self, local: &str) -> NameMeaning {
        if let Some((local, _)) = self.groups.get_key_value(local) {
            return NameMeaning::Group { local: local.clone(), misspelt: false };
        }
        if WRAPPERS.contains(&local) || self.wrappers.iter().any(|wrapper| wrapper == local) {
            return NameMeaning::Wrapper;
        }
        match self.find_slip(local) {
            Some(local) => NameMeaning::Group { local: local.clone(), misspelt: true },
            None => NameMeaning::Unknown,
        }
    }

    /// The only name of which this is a typo: in case, in `-` and `_`, or in one letter.
    fn find_slip(&self, written: &str) -> Option<&Arc<str>> {
        let folded = fold_name(written);
        let mut same = self.folded.iter().filter(|(name, _)| *name == folded).map(|(_, local)| local);
        if let Some(name) = same.next() {
            return same.next().is_none().then_some(name);
        }
        let letters = folded.chars().count();
        if letters < SLIP_LETTERS || HTML.contains(&folded.as_str()) {
            return None;
        }
        let mut near = self.folded.iter().filter(|(name, _)| is_one_letter_off(&folded, name));
        near.next().filter(|_| near.next().is_none()).map(|(_, local)| local)
    }

    /// The known names nearest to a name. If none is near and there are few names, all of them.
    pub(super) fn find_nearest(&self, written: &str) -> Vec<String> {
        let mut left: Vec<&str> = self.actions().collect();
        let mut near = Vec::new();
        while let Some(found) =
            find_nearest(written, left.iter().copied()).filter(|_| near.len() < NEAR_NAMES)
        {
            left.retain(|name| *name != found);
            near.push(found.to_owned());
        }
        near
    }

    /// The tools and the finals, as an expectation: what else is known is no answer to a mistake.
    pub(super) fn list_expected(&self) -> String {
        let has_final = |it: &KnownElement| it.role == ElementRole::Returns;
        let ends_in_words = !self.groups.values().flatten().any(has_final);
        let is_expected = |it: &KnownElement| match it.role {
            ElementRole::Peer | ElementRole::Returns => true,
            ElementRole::Primitive => it.ns == namespaces::WORKFLOW,
            ElementRole::Completion => ends_in_words || it.texts.is_some(),
            _ => false,
        };
        let names = self.groups.iter().filter(|(_, group)| group.iter().any(is_expected));
        let names: Vec<&str> = names.map(|(local, _)| &**local).collect();
        format!("one of <{}>", names.join(">, <"))
    }

    /// The names of actions, in order.
    pub(super) fn actions(&self) -> impl Iterator<Item = &str> {
        let is_action = |group: &&Vec<KnownElement>| {
            group.iter().any(|it| {
                !matches!(it.role, ElementRole::Thinking | ElementRole::Thought | ElementRole::Plan)
            })
        };
        self.groups.iter().filter(move |(_, group)| is_action(group)).map(|(local, _)| &**local)
    }
}

fn fold_name(name: &str) -> String {
    name.chars().flat_map(char::to_lowercase).map(|c| if c == '_' { '-' } else { c }).collect()
}

/// Whether one letter added, left out or changed turns one name into the other.
fn is_one_letter_off(left: &str, right: &str) -> bool {
    // A letter has at most four bytes.
    if left.len().abs_diff(right.len()) > 4 {
        return false;
    }
    let (long, short) = (left.chars().count(), right.chars().count());
    let (long, short) = (long.max(short), long.min(short));
    let begins = left.chars().zip(right.chars()).take_while(|(l, r)| l == r).count();
    let ends = left.chars().rev().zip(right.chars().rev()).take_while(|(l, r)| l == r).count();
    short >= SLIP_LETTERS && long - short <= 1 && begins + ends + 1 >= long
}

/// Whether the text is only whitespace.
pub(super) fn is_blank(text: &str) -> bool {
    text.chars().all(characters::is_white)
}
