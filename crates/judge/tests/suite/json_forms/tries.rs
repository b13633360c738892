//! Following the message of a refusal makes a payload valid in as many steps as there were mistakes, or the refusal
//! offers no fix. Random schemas, documents that follow them, and up to three mistakes in each document. The program
//! that follows the message reads only the path and the message.
//!
//! `SYSTOLE_CASES` sets how many documents are made of each schema, here a tenth of it.

use crate::schema_and_judge::repairing;

use super::grammar::{self, Inside, P, SPACES, T, children, value};
use super::simples::{BUILT, RESTRICTIONS, Simple};
use super::xml::{XmlNode, XmlPart};
use super::{Dice, FormBench, MANY, MAYBE, ONCE, cases, contents, imports, shapes};

const NAMES: [&str; 12] = [
    "alpha", "beta", "gamma", "delta", "item", "one", "kappa", "lambda", "sigma", "omega", "quota", "period",
];

/// Random groups, repeats and nesting. A name occurs once in a content, so no schema is ambiguous.
struct Drawing<'d> {
    dice: &'d mut Dice,
    free: Vec<&'static str>,
}

impl Drawing<'_> {
    fn simple(&mut self) -> &'static Simple {
        let all: Vec<&'static Simple> = RESTRICTIONS.iter().chain(BUILT).copied().collect();
        all[self.dice.below(all.len())]
    }

    fn typed(&mut self, depth: usize) -> T {
        let inside = match self.dice.below(8) {
            0 => Inside::Empty,
            1 => Inside::Free,
            2..5 if depth < 2 => Drawing { dice: self.dice, free: NAMES.to_vec() }.content(depth + 1),
            _ => Inside::Value(self.simple()),
        };
        let mut of = T { attributes: Vec::new(), inside, foreign: false };
        for name in ["alpha", "one"] {
            if self.dice.one_in(4) {
                let simple = self.simple();
                of.attributes.push((name, simple, self.dice.one_in(2)));
            }
        }
        of
    }

    fn content(&mut self, depth: usize) -> Inside {
        if self.dice.one_in(4) {
            let count = 1 + self.dice.below(4);
            let parts = (0..count).map(|_| self.element(&[ONCE, MAYBE], depth)).collect();
            return Inside::Children(Box::new(P::All(parts)));
        }
        Inside::Children(Box::new(self.group(ONCE, depth, false)))
    }

    fn element(&mut self, occurs: &[(usize, Option<usize>)], depth: usize) -> P {
        let name = self.free.remove(self.dice.below(self.free.len()));
        let occurs = occurs[self.dice.below(occurs.len())];
        P::E(name, occurs, self.typed(depth))
    }

    /// A sequence or a choice; a repeated group begins with a required element.
    fn group(&mut self, occurs: (usize, Option<usize>), depth: usize, inner: bool) -> P {
        let is_repeated = occurs.1.is_none();
        let any = [ONCE, MAYBE, MANY, (1, None), (2, Some(3)), (1, Some(2))];
        let often: &[_] = if is_repeated {
            &[ONCE]
        } else if inner {
            &any[..4]
        } else {
            &any
        };
        let is_choice = self.dice.one_in(3);
        let mut parts = Vec::new();
        for at in 0..2 + self.dice.below(3) {
            if self.free.len() < 4 {
                break;
            }
            if !inner && !is_repeated && self.dice.one_in(4) {
                let occurs = [ONCE, MAYBE, MANY, (1, None)][self.dice.below(4)];
                parts.push(self.group(occurs, depth, true));
            } else if is_choice || at == 0 {
                parts.push(self.element(&often[..1], depth));
            } else {
                parts.push(self.element(often, depth));
            }
        }
        if is_choice { P::Choice(occurs, parts) } else { P::Seq(occurs, parts) }
    }
}

/// One mistake somewhere in a document; none if the drawn place has nothing that can be wrong.
fn mistake(root: &mut XmlNode, is_first: bool, dice: &mut Dice) -> bool {
    let at = dice.below(root.count());
    let is_root = at == 0;
    let node = root.nth(at);
    let elements: Vec<usize> =
        (0..node.parts.len()).filter(|at| matches!(node.parts[*at], XmlPart::Element(_))).collect();
    let place = dice.below(node.parts.len() + 1);
    let one = (!elements.is_empty()).then(|| elements[dice.below(elements.len())]);
    match (dice.below(12), one) {
        (0, Some(one)) => drop(node.parts.remove(one)),
        (1 | 2, Some(one)) => {
            let moved = node.parts.remove(one);
            node.parts.insert(dice.below(node.parts.len() + 1), moved);
        }
        // A copy of a wrong element would be two mistakes.
        (3, Some(one)) if is_first => node.parts.insert(place, node.parts[one].clone()),
        (4, _) if !is_root => {
            let first = node.name.remove(0);
            node.name.insert(0, first);
            node.name.insert(0, first);
        }
        (5, _) if !is_root => node.name = "stranger".to_owned(),
        // If the element has children, a wrong namespace may be theirs too.
        (6, None) if !is_root => node.namespace = ["", "urn:other"][dice.below(2)].to_owned(),
        (7, _) => node.parts.insert(place, XmlPart::Element(XmlNode::new("stranger", SPACES[0], false))),
        (8, _) => node.parts.insert(place, XmlPart::Text("stray".to_owned())),
        (9, None) => node.parts = vec![XmlPart::Text(["", "?", "-1", "x y z"][dice.below(4)].to_owned())],
        (10, _) => attribute(node, dice),
        (11, _) => {
            node.add("xmlns:xsi", "http://www.w3.org/2001/XMLSchema-instance");
            node.add("xsi:type", "stray");
        }
        _ => return false,
    }
    true
}

fn attribute(node: &mut XmlNode, dice: &mut Dice) {
    let named: Vec<usize> =
        (0..node.attributes.len()).filter(|at| !node.attributes[*at].0.contains(':')).collect();
    let one = (!named.is_empty()).then(|| named[dice.below(named.len())]);
    match (dice.below(4), one) {
        (0, Some(one)) => drop(node.attributes.remove(one)),
        (1, Some(one)) => node.attributes[one].1 = "? ?".to_owned(),
        (2, Some(one)) if node.attributes.iter().all(|(name, _)| name != "stranger") => {
            node.attributes[one].0 = "stranger".to_owned();
        }
        _ => node.add("unheard", "1"),
    }
}

/// Messages that let a person decide what to write.
const FOR_PEOPLE: [&str; 5] =
    ["write one of ", "write what is missing into ", "bring the elements of ", "put an element ", "give "];

#[derive(Default, Debug)]
struct Tally {
    valid: usize,
    repaired: usize,
    for_people: usize,
}

fn follow(name: &str, bench: &mut FormBench, wrong: &str, mistakes: usize, tally: &mut Tally) {
    let mut text = wrong.to_owned();
    let mut said = String::new();
    for step in 0..=mistakes {
        if bench.judged(text.as_bytes()) {
            match step {
                0 => tally.valid += 1,
                _ => tally.repaired += 1,
            }
            return;
        }
        let finding = bench
            .model
            .explain_refused(text.as_bytes())
            .unwrap_or_else(|| panic!("{name}: no words for {text}\nfrom {wrong}{said}"));
        let for_people = FOR_PEOPLE.iter().any(|words| finding.fix.starts_with(words))
            || (finding.fix.starts_with("write ") && !finding.fix.contains(['"', '<']))
            || (finding.fix.starts_with("write ") && finding.fix.contains(" in <"));
        if for_people {
            tally.for_people += 1;
            return;
        }
        said += &format!("\n  {}: {} | try {}\n    {text}", finding.path, finding.message, finding.fix);
        text = repairing::apply(&text, &finding.path, &finding.fix)
            .unwrap_or_else(|| panic!("{name}: not to be done: {said}\nfrom {wrong}"));
    }
    panic!("{name}: {mistakes} mistakes and not admitted after as many steps\n{wrong}{said}\n  {text}");
}

fn tried(name: &str, root: &T, cases: usize, dice: &mut Dice, tally: &mut Tally) {
    let xsds = grammar::schemas(root);
    let mut bench = FormBench::of(&xsds);
    for _ in 0..cases {
        let mut document = grammar::document(root, dice);
        let wanted = 1 + dice.below(3);
        let mut made = 0;
        for _ in 0..wanted {
            made += usize::from(mistake(&mut document, made == 0, dice));
        }
        if made > 0 {
            follow(&format!("{name}\n{xsds:#?}\n"), &mut bench, &document.written(), made, tally);
        }
    }
}

#[test]
fn a9_the_words_of_random_schemas_get_a_payload_admitted_in_as_many_steps_as_mistakes() {
    let mut tally = Tally::default();
    for seed in 0..u64::try_from(cases() / 5).unwrap() {
        let mut dice = Dice::of(seed * 7919 + 1);
        let mut drawing = Drawing { dice: &mut dice, free: NAMES.to_vec() };
        let root = T { attributes: Vec::new(), inside: drawing.content(0), foreign: false };
        tried(&format!("seed {seed}"), &root, 20, &mut dice, &mut tally);
    }
    println!("{tally:?}");
    assert!(tally.repaired > 20 * tally.for_people && tally.repaired > cases(), "{tally:?}");
}

#[test]
fn a9_the_words_of_every_construct_get_a_payload_admitted_in_as_many_steps_as_mistakes() {
    let mut tally = Tally::default();
    let mut dice = Dice::of(11);
    let contents = contents().into_iter().map(|(name, content)| (name, children(content)));
    for (name, root) in contents.chain(shapes()).chain(imports()) {
        tried(name, &root, cases() / 10, &mut dice, &mut tally);
    }
    for simple in RESTRICTIONS.iter().chain(BUILT) {
        let of = T { attributes: vec![("one", *simple, true)], ..value(simple) };
        let root = children(P::Seq(ONCE, vec![P::E("alpha", (1, Some(2)), of)]));
        tried(simple.name, &root, cases() / 10, &mut dice, &mut tally);
    }
    println!("{tally:?}");
    assert!(tally.repaired > 20 * tally.for_people && tally.repaired > cases(), "{tally:?}");
}
