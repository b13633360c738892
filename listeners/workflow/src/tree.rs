//! A payload as a tree of elements, to follow paths through it and to leave parts of it out.
//!
//! A payload comes in; values, or the same tree with one item of a list, go out. It judges nothing.

use systole_kit::gate::{GateStep, XmlGate};
use systole_kit::writer::{XmlName, XmlWriter};
use systole_kit::{DocumentLimits, Payload};

/// An element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TreeNode {
    namespace: Option<String>,
    pub(crate) local: String,
    attributes: Vec<(String, String)>,
    content: Vec<NodePart>,
}

/// The content of an element.
#[derive(Clone, Debug, PartialEq, Eq)]
enum NodePart {
    Node(TreeNode),
    Text(String),
}

/// The target of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathValue<'n> {
    Element(&'n TreeNode),
    Attribute(&'n str),
}

impl TreeNode {
    /// The tree of a payload. `None` if it cannot be read.
    pub(crate) fn from_payload(payload: &Payload) -> Option<Self> {
        let mut gate = XmlGate::new_strict(payload.bytes(), &DocumentLimits::FROM_PUMP).ok()?;
        let mut open: Vec<Self> = Vec::new();
        loop {
            match gate.read_step().ok()? {
                GateStep::Open(tag) => {
                    let attributes = gate.attributes().iter();
                    let attributes =
                        attributes.map(|one| (one.local.to_owned(), one.value().into_owned())).collect();
                    let namespace = gate.find_namespace(&tag).map(str::to_owned);
                    open.push(Self {
                        namespace,
                        local: tag.local.to_owned(),
                        attributes,
                        content: Vec::new(),
                    });
                }
                GateStep::Text(text) => {
                    let content = &mut open.last_mut()?.content;
                    if let Some(NodePart::Text(last)) = content.last_mut() {
                        text.append_to(last);
                    } else {
                        let mut first = String::new();
                        text.append_to(&mut first);
                        content.push(NodePart::Text(first));
                    }
                }
                GateStep::Close => {
                    let closed = open.pop()?;
                    match open.last_mut() {
                        Some(outer) => outer.content.push(NodePart::Node(closed)),
                        None => return Some(closed),
                    }
                }
                GateStep::Instruction => {}
                GateStep::Done => return None,
            }
        }
    }

    fn children(&self) -> impl Iterator<Item = &Self> {
        self.content.iter().filter_map(|part| match part {
            NodePart::Node(node) => Some(node),
            NodePart::Text(_) => None,
        })
    }

    /// The values at the end of a path, in document order.
    pub(crate) fn find_values(&self, fields: &[String]) -> Vec<PathValue<'_>> {
        let Some((first, rest)) = fields.split_first() else { return vec![PathValue::Element(self)] };
        let attribute = self.attributes.iter().find(|(name, _)| rest.is_empty() && name == first);
        let attribute = attribute.map(|(_, value)| PathValue::Attribute(value));
        let inside = self.children().filter(|child| child.local == *first);
        attribute.into_iter().chain(inside.flat_map(|child| child.find_values(rest))).collect()
    }

    /// How many elements a path leads to.
    pub(crate) fn count_elements(&self, fields: &[String]) -> usize {
        let Some((first, rest)) = fields.split_first() else { return 1 };
        self.children().filter(|child| child.local == *first).map(|child| child.count_elements(rest)).sum()
    }

    /// The tree with only that item of a list, counted from 1.
    pub(crate) fn narrow_list(&self, fields: &[String], item: usize) -> Self {
        self.keep_item(fields, item, &mut 0)
    }

    /// Like `narrow_list`, after `passed` earlier items.
    fn keep_item(&self, fields: &[String], item: usize, passed: &mut usize) -> Self {
        let Some((first, rest)) = fields.split_first() else { return self.clone() };
        let content = self.content.iter().filter_map(|part| match part {
            NodePart::Node(child) if child.local == *first => {
                let before = *passed;
                let after = before + child.count_elements(rest);
                let is_there = before < item && item <= after;
                let own = is_there.then(|| NodePart::Node(child.keep_item(rest, item, passed)));
                *passed = after;
                own
            }
            other => Some(other.clone()),
        });
        let content = content.collect();
        let (namespace, local) = (self.namespace.clone(), self.local.clone());
        Self { namespace, local, attributes: self.attributes.clone(), content }
    }

    /// The element at the end of a path, if there is nothing besides it along the whole path.
    pub(crate) fn find_only(&self, fields: &[String]) -> Option<&Self> {
        let Some((first, rest)) = fields.split_first() else { return Some(self) };
        let is_bare = self.attributes.is_empty()
            && self.content.iter().all(|part| match part {
                NodePart::Node(child) => child.local == *first,
                NodePart::Text(text) => text.trim().is_empty(),
            });
        let mut children = self.children();
        let child = children.next().filter(|_| is_bare && children.next().is_none())?;
        child.find_only(rest)
    }

    /// All text in it.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        self.append_text(&mut text);
        text
    }

    fn append_text(&self, text: &mut String) {
        for part in &self.content {
            match part {
                NodePart::Node(node) => node.append_text(text),
                NodePart::Text(own) => text.push_str(own),
            }
        }
    }

    /// The element as a separate payload.
    pub(crate) fn to_payload(&self) -> Option<Payload> {
        let mut writer = XmlWriter::new();
        self.write(&mut writer, None);
        Payload::parse(&writer.finish(), &DocumentLimits::FROM_PUMP).ok()
    }

    fn write(&self, writer: &mut XmlWriter, around: Option<&str>) {
        let Some(name) = XmlName::new(&self.local) else { return };
        let mut start = writer.open(name);
        if self.namespace.as_deref() != around {
            start = start.xmlns(self.namespace.as_deref().unwrap_or_default());
        }
        for (name, value) in &self.attributes {
            if let Some(name) = XmlName::new(name) {
                start = start.attr(name, value);
            }
        }
        if self.content.is_empty() {
            return start.empty();
        }
        start.content(|writer| self.write_content(writer));
    }

    fn write_content(&self, writer: &mut XmlWriter) {
        for part in &self.content {
            match part {
                NodePart::Node(child) => child.write(writer, self.namespace.as_deref()),
                NodePart::Text(text) => writer.text(text),
            }
        }
    }
}

impl PathValue<'_> {
    /// The value as text.
    pub(crate) fn text(&self) -> String {
        match self {
            PathValue::Element(node) => node.text(),
            PathValue::Attribute(text) => (*text).to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(xml: &str) -> TreeNode {
        TreeNode::from_payload(&Payload::parse(xml.as_bytes(), &DocumentLimits::default()).unwrap()).unwrap()
    }

    fn fields(path: &str) -> Vec<String> {
        path.split('/').map(str::to_owned).collect()
    }

    #[test]
    fn a_path_leads_to_elements_and_attributes() {
        let plan =
            node("<plan xmlns='u' size='3'><step><name>a</name></step><step><name>b</name></step></plan>");
        let texts =
            |path: &str| plan.find_values(&fields(path)).iter().map(PathValue::text).collect::<Vec<_>>();
        assert_eq!(texts("step/name"), ["a", "b"]);
        assert_eq!(texts("size"), ["3"]);
        assert_eq!(texts("none"), Vec::<String>::new());
        assert_eq!(plan.count_elements(&fields("step")), 2);
    }

    #[test]
    fn a_list_is_narrowed_to_one_item_and_keeps_the_rest() {
        let plan = node("<p xmlns='u' k='1'><t>x</t><s><n>a</n><n>b</n></s><s><n>c</n></s></p>");
        let bytes = |node: &TreeNode| String::from_utf8(node.to_payload().unwrap().bytes().to_vec()).unwrap();
        let second = plan.narrow_list(&fields("s/n"), 2);
        assert_eq!(bytes(&second), "<p xmlns=\"u\" k=\"1\"><t>x</t><s><n>b</n></s></p>");
        let third = plan.narrow_list(&fields("s/n"), 3);
        assert_eq!(bytes(&third), "<p xmlns=\"u\" k=\"1\"><t>x</t><s><n>c</n></s></p>");
        assert!(third.find_only(&fields("s/n")).is_none());
        let bare = node("<p xmlns='u'> <s><n>a</n><n>b</n></s></p>").narrow_list(&fields("s/n"), 2);
        assert_eq!(bare.find_only(&fields("s/n")).unwrap().text(), "b");
    }
}
