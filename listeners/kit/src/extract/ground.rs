//! What is known about the content of an open element: whether it holds only text, or which elements it
//! holds.
//!
//! Names and the start tag of an element come in; what its schema says about its content goes out. It never
//! judges.

use std::borrow::Cow;
use std::sync::Arc;

use super::names::{ElementRole, KnownElement, KnownNames, NameMeaning};
use super::outline::ElementHead;
use crate::schema::TextElements;

/// The content of an open element.
#[derive(Debug, Clone)]
pub(super) enum ContentGround {
    /// Nothing is known of it.
    Unknown,
    /// Elements known by their names: in the own tag, in a wrapper, in a message.
    Names,
    /// Text that is never executed: thinking and thoughts inside another element.
    Spoken,
    /// What a schema says, by the position of the element in it.
    Schema(Arc<TextElements>, usize),
}

impl ContentGround {
    /// The content of an element in a place that allows any known element.
    pub(super) fn from_element(names: &KnownNames, tag: &str) -> Self {
        let Some(head) = ElementHead::read(tag) else { return Self::Unknown };
        let local = match names.find_meaning(head.local) {
            NameMeaning::Wrapper => return Self::Names,
            NameMeaning::Unknown => return Self::Unknown,
            NameMeaning::Group { local, .. } => local,
        };
        let group = names.find_elements(&local);
        let (ns, to) = (head.read_namespace(), head.read_attribute("to"));
        let is_meant = |known: &&KnownElement| {
            let is_right = known.ns.is_empty() || ns.as_ref().is_none_or(|ns| *ns == known.ns);
            let takes = |to: &Cow<'_, str>| known.has_to || known.takers.iter().any(|it| it == to);
            is_right && (group.len() == 1 || to.as_ref().is_none_or(takes))
        };
        let mut meant = group.iter().filter(is_meant);
        let (Some(known), None) = (meant.next(), meant.next()) else { return Self::Unknown };
        match (known.role, &known.texts) {
            (ElementRole::Own | ElementRole::Message, _) => Self::Names,
            (ElementRole::Thinking | ElementRole::Thought, _) => Self::Spoken,
            (_, Some(texts)) => Self::Schema(texts.clone(), texts.root()),
            (_, None) => Self::Unknown,
        }
    }

    /// The content of a child element.
    pub(super) fn enter(&self, names: &KnownNames, tag: &str) -> Self {
        match self {
            Self::Names => Self::from_element(names, tag),
            Self::Schema(texts, at) if texts.is_payload(*at) => Self::from_element(names, tag),
            Self::Schema(texts, at) => {
                let child = ElementHead::read(tag).and_then(|head| texts.find_child(*at, head.local));
                child.map_or(Self::Unknown, |child| Self::Schema(texts.clone(), child))
            }
            Self::Unknown | Self::Spoken => Self::Unknown,
        }
    }

    /// Whether the element holds only text.
    pub(super) fn is_text(&self) -> bool {
        match self {
            Self::Spoken => true,
            Self::Schema(texts, at) => texts.is_text(*at),
            Self::Unknown | Self::Names => false,
        }
    }

    /// Whether its schema allows a child element of that local name.
    pub(super) fn allows(&self, local: &str) -> bool {
        matches!(self, Self::Schema(texts, at) if texts.is_allowed(*at, local))
    }
}
