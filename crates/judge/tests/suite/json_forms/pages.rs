//! A payload fills the form of a page, and the form gives the same payload back, for every construct of the profile.

use systole_kit::schema::FormValues;

use super::dice::Dice;
use super::grammar::{self, P, T, children};
use super::simples::{BUILT, RESTRICTIONS};
use super::{FormBench, around, contents, imports, shapes};

/// How many documents are made of each construct.
const DOCUMENTS: usize = 40;

/// Fills the form of a document and gives it back, once from the payload and once as a browser posts it.
fn there_and_back(name: &str, bench: &mut FormBench, document: &str) {
    let values = bench.model.form_values(document.as_bytes());
    let values = values.unwrap_or_else(|mistake| panic!("{name}: {document}\n{mistake:?}"));
    let form = bench.model.draw_form("root", &values).unwrap();
    assert_eq!(form.mistakes, [], "{name}: {document}\n{values:#?}");
    let back = bench.model.from_form("root", &values).unwrap();
    let back = back.unwrap_or_else(|mistakes| panic!("{name}: {document}\n{values:#?}\n{mistakes:?}"));
    let text = String::from_utf8_lossy(&back).into_owned();
    assert!(bench.judged(&back), "{name}: {document}\n{text}");
    let json = |payload: &[u8]| bench.model.to_json(payload).unwrap();
    assert_eq!(json(&back), json(document.as_bytes()), "{name}: {document}\n{text}");
    // The values keep every spelling, so equal values mean equal XML; only the order inside `xs:all` is that of the
    // schema.
    assert_eq!(bench.model.form_values(&back).as_ref(), Ok(&values), "{name}: {document}\n{text}");
    let pairs = values.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    let posted = FormValues::from_pairs(pairs).unwrap();
    assert_eq!(bench.model.from_form("root", &posted), Some(Ok(back)), "{name}: {document}");
}

fn held(name: &str, root: &T) {
    let xsds = grammar::schemas(root);
    let mut bench = FormBench::of(&xsds);
    let blank = bench.model.draw_form("root", &FormValues::default()).unwrap();
    assert_eq!(blank.mistakes, [], "{name}: {xsds:#?}");
    let mut dice = Dice::of(name.bytes().fold(11_u64, |seed, b| seed.wrapping_mul(31) ^ u64::from(b)));
    for _ in 0..DOCUMENTS {
        let document = grammar::document(root, &mut dice).written();
        assert!(bench.judged(document.as_bytes()), "{name}: the grammar strays: {document}");
        there_and_back(name, &mut bench, &document);
    }
}

#[test]
fn a8_a_form_of_any_schema_fills_and_gives_back_the_payload() {
    for simple in RESTRICTIONS.iter().chain(BUILT) {
        held(simple.name, &around(simple));
        held(simple.name, &grammar::value(simple));
    }
    for (name, content) in contents() {
        held(name, &children(content));
    }
    for (name, content) in contents() {
        let inside = P::E("one", (0, Some(3)), children(content));
        held(name, &children(P::Seq(grammar::ONCE, vec![inside])));
    }
    for (name, of) in shapes().into_iter().chain(imports()) {
        held(name, &of);
    }
}
