//! The gate's checks of a start tag: names, declarations, attributes and their limits.
//!
//! It compares no more attributes than the limit allows, so a tag of any size costs no more than reading it. A gate
//! at a start tag comes in; the tag with its namespace, or a fault, goes out.

use super::{GateStep, XmlGate, XmlTag, gate_messages};
use crate::attributes::{self, AttributeWalk, TagAttribute};
use crate::place::Fault;
use crate::{characters, name, namespaces};

impl<'d> XmlGate<'d> {
    /// A start tag; `tail` is how many of its bytes follow the last attribute.
    pub(super) fn open_element(&mut self, tail: usize) -> Result<GateStep<'d>, Fault> {
        let content = self.cut_source(self.from + 1, self.to - tail);
        let (written, rest) = match content.find(characters::is_white) {
            Some(end) => content.split_at(end),
            None => (content, ""),
        };
        if self.open.is_empty() && self.root_seen {
            let place = self.ruler.find_place(self.from);
            return Err(gate_messages::outside_root(self.cut_source(self.from, self.to), true, place));
        }
        self.root_seen = true;
        let offset = self.from;
        // If there is no name at all, the fault is at the `<` itself.
        let (prefix, local) = self.check_name(written, offset + usize::from(!written.is_empty()))?;
        self.open.push(written);
        let (depth, most) = (self.open.len() - self.floor, self.limits.depth);
        if depth > most {
            self.refuse_at(offset, |place| gate_messages::too_deep(most, place))?;
        }
        self.attributes.clear();
        self.read_attributes(rest, offset + 1 + written.len())?;
        let binding = self.resolve_prefix(prefix, offset + 1)?;
        self.resolve_attributes()?;
        Ok(GateStep::Open(XmlTag { prefix, local, offset, binding }))
    }

    fn check_name(&mut self, written: &'d str, offset: usize) -> Result<(&'d str, &'d str), Fault> {
        let most = self.limits.name_bytes;
        if written.len() > most {
            self.refuse_at(offset, |place| gate_messages::long_name(written, most, place))?;
        }
        name::split_prefix(written)
            .ok_or_else(|| gate_messages::illegal_name(written, self.ruler.find_place(offset)))
    }

    fn read_attributes(&mut self, text: &'d str, offset: usize) -> Result<(), Fault> {
        let mut declared = 0;
        for written in AttributeWalk::new(text, offset) {
            let written = written.map_err(|flaw| self.report_flaw(flaw))?;
            let (prefix, local) = self.check_name(written.name, written.offset)?;
            let declares = match (prefix, local) {
                ("", "xmlns") => Some(""),
                ("xmlns", prefix) => Some(prefix),
                _ => None,
            };
            // Beyond a limit the gate does not read the rest of the tag. It costs nothing, and the element is
            // refused.
            if let Some(bound) = declares {
                declared += 1;
                let most = self.limits.declarations;
                if declared > most {
                    return self.refuse_at(written.offset, |place| {
                        gate_messages::too_many("declarations", most, place)
                    });
                }
                self.declare_prefix(bound, written.raw, written.offset)?;
                continue;
            }
            let most = self.limits.attributes;
            if self.attributes.len() == most {
                return self
                    .refuse_at(written.offset, |place| gate_messages::too_many("attributes", most, place));
            }
            let mark = attributes::mark_name(written.name);
            let is_same = |other: &TagAttribute<'_>| {
                other.mark == mark && other.local == local && other.prefix == prefix
            };
            if self.attributes.iter().any(is_same) {
                return Err(gate_messages::refuse_duplicate(
                    written.name,
                    self.ruler.find_place(written.offset),
                ));
            }
            let attribute =
                TagAttribute { prefix, local, raw: written.raw, offset: written.offset, binding: None, mark };
            self.attributes.push(attribute);
        }
        Ok(())
    }

    fn declare_prefix(&mut self, prefix: &'d str, raw: &'d str, offset: usize) -> Result<(), Fault> {
        let depth = self.open.len();
        let uri = characters::unescape_value(raw);
        let already = self.scope.find_prefix(prefix).and_then(|number| self.scope.find_binding(number));
        if already.is_some_and(|binding| binding.depth == depth) {
            return Err(gate_messages::refuse_duplicate(
                &gate_messages::declared_as(prefix),
                self.ruler.find_place(offset),
            ));
        }
        let forbidden = match prefix {
            "xml" => uri != namespaces::XML,
            "xmlns" => true,
            _ => uri == namespaces::XML || uri == namespaces::XMLNS || (uri.is_empty() && !prefix.is_empty()),
        };
        if forbidden {
            return self.refuse_at(offset, |place| gate_messages::forbidden_binding(prefix, &uri, place));
        }
        self.scope.declare_prefix(prefix, uri, depth);
        Ok(())
    }

    fn resolve_prefix(&mut self, prefix: &'d str, offset: usize) -> Result<Option<usize>, Fault> {
        let binding = self.scope.find_prefix(prefix);
        if binding.is_none() && !prefix.is_empty() {
            self.refuse_at(offset, |place| gate_messages::refuse_undeclared(prefix, place))?;
        }
        Ok(binding)
    }

    fn resolve_attributes(&mut self) -> Result<(), Fault> {
        let mut prefixed = 0;
        for index in 0..self.attributes.len() {
            let Some(attribute) =
                self.attributes.get(index).copied().filter(|found| !found.prefix.is_empty())
            else {
                continue;
            };
            prefixed += 1;
            let binding = self.resolve_prefix(attribute.prefix, attribute.offset)?;
            if let Some(place) = self.attributes.get_mut(index) {
                place.binding = binding;
            }
        }
        if prefixed > 1 { self.expanded_twice() } else { Ok(()) }
    }

    /// Two attributes with different prefixes for the same namespace are the same attribute twice.
    fn expanded_twice(&mut self) -> Result<(), Fault> {
        let twice = self.attributes.iter().enumerate().find_map(|(index, attribute)| {
            let ns = self.resolve_binding(attribute.binding)?;
            let before = self.attributes.get(..index).unwrap_or_default();
            let same = |other: &&TagAttribute<'d>| {
                other.local == attribute.local && self.resolve_binding(other.binding) == Some(ns)
            };
            before.iter().find(same).map(|_| *attribute)
        });
        match twice {
            None => Ok(()),
            Some(attribute) => self.refuse_at(attribute.offset, |place| {
                gate_messages::same_expanded_name(attribute.local, place)
            }),
        }
    }
}
