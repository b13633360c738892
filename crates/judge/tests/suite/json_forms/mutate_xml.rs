//! One mutation of a document, somewhere in it. It knows no schema, so some mutations break nothing.

use super::dice::Dice;
use super::grammar::SPACES;
use super::xml::{XmlNode, XmlPart};

/// Names of elements and attributes: those of the grammar, and some others.
const NAMES: [&str; 9] = ["alpha", "beta", "gamma", "delta", "item", "one", "root", "stray", "Alpha"];
const TEXTS: [&str; 8] = ["x", " ", "\n\t", "<![CDATA[ ]]>", "<![CDATA[]]>", "<!-- -->", "&#65;", "\u{a0}"];
/// Attributes of namespaces, some of which a validator obeys.
const STRANGE: [(&str, &str); 12] = [
    ("xml:lang", "en"),
    ("xsi:nil", "true"),
    ("xsi:nil", "0"),
    ("xsi:schemaLocation", "urn:t urn:nowhere"),
    ("xsi:noNamespaceSchemaLocation", "urn:nowhere"),
    ("xsi:type", "t:root"),
    ("xsi:type", "t:LIMIT"),
    ("xsi:type", "t:MODE"),
    ("xsi:type", "t:stray"),
    ("xsi:type", "stray"),
    ("xsi:stray", "1"),
    ("t:alpha", "1"),
];
const DECLARED: [(&str, &str); 2] =
    [("xmlns:xsi", "http://www.w3.org/2001/XMLSchema-instance"), ("xmlns:t", SPACES[0])];

/// Changes one place of a document.
pub(super) fn once(root: &mut XmlNode, values: &[&str], dice: &mut Dice) {
    let (from, at) = (dice.below(root.count()), dice.below(root.count()));
    let other = root.nth(from).clone();
    let node = root.nth(at);
    let place = dice.below(node.parts.len() + 1);
    match (dice.below(14), node.parts.len()) {
        (0 | 1, 1..) => drop(node.parts.remove(place.saturating_sub(1))),
        (2 | 3, 1..) => {
            let again = node.parts[dice.below(node.parts.len())].clone();
            node.parts.insert(place, again);
        }
        (4, 2..) => {
            let (one, other) = (dice.below(node.parts.len()), dice.below(node.parts.len()));
            node.parts.swap(one, other);
        }
        (5, _) => node.name = dice.pick(&NAMES).to_owned(),
        (6, _) => node.namespace = dice.pick(&[SPACES[0], SPACES[1], "", "urn:other", "urn:T"]).to_owned(),
        (7, _) => node.parts.insert(place, XmlPart::Raw(dice.pick(&TEXTS).to_owned())),
        (8, _) => node.parts.insert(place, XmlPart::Element(other)),
        (9, _) => node.parts = vec![XmlPart::Text(dice.pick(values).to_owned())],
        (10 | 11, _) => attribute(node, values, dice),
        (12, _) => {
            let mut inner = XmlNode::new(dice.pick(&NAMES), &node.namespace, node.prefixed);
            inner.parts = std::mem::take(&mut node.parts);
            node.parts.push(XmlPart::Element(inner));
        }
        _ => value(node, values, dice),
    }
}

/// Replaces the text with another value.
fn value(node: &mut XmlNode, values: &[&str], dice: &mut Dice) {
    let other = dice.pick(values).to_owned();
    match node.parts.iter_mut().find(|part| matches!(part, XmlPart::Text(_))) {
        Some(XmlPart::Text(text)) if dice.one_in(3) => *text = format!(" {text}\n"),
        Some(text) => *text = XmlPart::Text(other),
        None => node.parts.push(XmlPart::Text(other)),
    }
}

fn attribute(node: &mut XmlNode, values: &[&str], dice: &mut Dice) {
    let count = node.attributes.len();
    match (dice.below(6), count) {
        (0, 1..) => drop(node.attributes.remove(dice.below(count))),
        (1 | 2, 1..) => node.attributes[dice.below(count)].1 = dice.pick(values).to_owned(),
        (3, 1..) => {
            let (_, value) = &mut node.attributes[dice.below(count)];
            *value = format!(" {value} ");
        }
        (4, _) => {
            let (name, value) = STRANGE[dice.below(STRANGE.len())];
            DECLARED.iter().for_each(|(prefix, uri)| node.add(prefix, uri));
            node.add(name, value);
        }
        _ => node.add(dice.pick(&NAMES), dice.pick(values)),
    }
}
