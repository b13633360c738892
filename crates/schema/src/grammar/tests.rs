//! Numbers between bounds, checked one by one, and that grammars of whole schemas have what they should.

use std::collections::BTreeSet;

use super::number::{DecimalText, write_numbers};
use crate::SchemaModel;

/// All texts of an expression without names, written for these tests alone.
struct Lister<'t> {
    rest: &'t str,
}

impl<'t> Lister<'t> {
    fn choices(&mut self) -> BTreeSet<String> {
        let mut all = self.row();
        while self.rest.trim_start().starts_with('|') {
            self.rest = &self.rest.trim_start()[1..];
            all.extend(self.row());
        }
        all
    }

    fn row(&mut self) -> BTreeSet<String> {
        let mut all = BTreeSet::from([String::new()]);
        loop {
            self.rest = self.rest.trim_start();
            if self.rest.is_empty() || self.rest.starts_with(['|', ')']) {
                return all;
            }
            let part = self.read_counted();
            all = all.iter().flat_map(|begun| part.iter().map(move |end| format!("{begun}{end}"))).collect();
        }
    }

    fn read_counted(&mut self) -> BTreeSet<String> {
        let one = self.atom();
        let (least, most) = match self.rest.chars().next() {
            Some('?') => {
                self.rest = &self.rest[1..];
                (0, 1)
            }
            Some('{') => {
                let (count, rest) = self.rest[1..].split_once('}').unwrap();
                self.rest = rest;
                let (least, most) = count.split_once(',').unwrap_or((count, count));
                (least.parse().unwrap(), most.parse().unwrap())
            }
            _ => (1, 1),
        };
        let mut all = BTreeSet::new();
        let mut times = BTreeSet::from([String::new()]);
        for count in 0..=most {
            if count >= least {
                all.extend(times.iter().cloned());
            }
            times =
                times.iter().flat_map(|begun| one.iter().map(move |end| format!("{begun}{end}"))).collect();
        }
        all
    }

    fn atom(&mut self) -> BTreeSet<String> {
        if let Some(rest) = self.rest.strip_prefix('(') {
            self.rest = rest;
            let all = self.choices();
            self.rest = self.rest.trim_start().strip_prefix(')').expect("a group ends");
            return all;
        }
        if let Some(rest) = self.rest.strip_prefix('[') {
            let (inside, rest) = rest.split_once(']').unwrap();
            self.rest = rest;
            return match inside.split_once('-') {
                Some((from, to)) => {
                    (from.chars().next().unwrap()..=to.chars().next().unwrap()).map(String::from).collect()
                }
                None => BTreeSet::from([inside.to_owned()]),
            };
        }
        let (text, rest) =
            self.rest.strip_prefix('"').unwrap_or_else(|| panic!("{}", self.rest)).split_once('"').unwrap();
        self.rest = rest;
        BTreeSet::from([text.to_owned()])
    }
}

fn list_all(expression: &str) -> BTreeSet<String> {
    let mut lister = Lister { rest: expression };
    let all = lister.choices();
    assert_eq!(lister.rest, "", "{expression}");
    all
}

fn bound(number: i64, is_in: bool, places: usize) -> Option<(DecimalText, bool)> {
    Some((DecimalText::read(&spell(number, places)).unwrap(), is_in))
}

/// A number of hundredths or the like, as text.
fn spell(number: i64, places: usize) -> String {
    let digits = format!("{:0>width$}", number.abs(), width = places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places);
    let sign = if number < 0 { "-" } else { "" };
    if places == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

/// Each value between two bounds has a spelling, and nothing else has one.
#[test]
fn numbers_between_two_bounds_are_admitted_exactly() {
    for places in 0..=2 {
        let one = 10_i64.pow(u32::try_from(places).unwrap());
        let edges: Vec<i64> =
            [-123, -100, -99, -20, -11, -10, -9, -1, 0, 1, 5, 9, 10, 19, 20, 37, 99, 100, 101, 250]
                .into_iter()
                .flat_map(|edge| [edge, edge * one / 10])
                .collect();
        for (n, low) in edges.iter().enumerate() {
            for high in edges.iter().skip(n % 3).step_by(3).filter(|high| *high - low < 150) {
                for (has_low, has_high) in [(true, true), (false, true), (true, false), (false, false)] {
                    let wanted: BTreeSet<i64> = (*low..=*high)
                        .filter(|value| (*value != *low || has_low) && (*value != *high || has_high))
                        .collect();
                    let written = write_numbers(
                        &bound(*low, has_low, places),
                        &bound(*high, has_high, places),
                        (4, places),
                    );
                    let found = written.as_deref().map(list_all).unwrap_or_default();
                    let value = |text: &String| {
                        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
                        assert!(
                            whole.trim_start_matches('-') == "0"
                                || !whole.trim_start_matches('-').starts_with('0'),
                            "{text}"
                        );
                        assert!(!text.ends_with('.'), "{text}");
                        format!("{whole}{fraction:0<places$}").parse::<i64>().unwrap()
                    };
                    let values: BTreeSet<i64> = found.iter().map(value).collect();
                    assert_eq!(
                        values, wanted,
                        "{low} {has_low} to {high} {has_high}, {places} places: {written:?}"
                    );
                    assert!(!found.contains("-0"), "{written:?}");
                }
            }
        }
    }
}

/// The grammar of `find`, and what it leaves open.
fn grammar(inside: &str) -> (String, Vec<String>) {
    let xsd = format!(
        r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:t" xmlns="urn:t" elementFormDefault="qualified">{inside}</xs:schema>"#
    );
    let mut grammar = super::Grammar::default();
    let model = SchemaModel::from_xsd(xsd.as_bytes()).unwrap();
    let root = model.add_to_grammar(&mut grammar, "find", &[]).unwrap().unwrap();
    (grammar.write_text(&root), grammar.open)
}

#[test]
fn a_grammar_has_a_rule_for_each_element_and_says_what_it_leaves_open() {
    let written = grammar(
        r###"<xs:element name="find"><xs:complexType><xs:sequence>
            <xs:element name="query" type="xs:string"/>
            <xs:element name="limit" type="xs:int" minOccurs="0"/>
            <xs:any namespace="##other" processContents="lax" minOccurs="0"/>
        </xs:sequence><xs:attribute name="in" use="required"><xs:simpleType><xs:restriction base="xs:string">
            <xs:enumeration value="a&amp;b"/><xs:enumeration value="&quot;"/>
        </xs:restriction></xs:simpleType></xs:attribute></xs:complexType></xs:element>"###,
    );
    let (text, open) = written;
    assert!(
        text.starts_with(
            "root ::= x-find\nx-find ::= \"<find\" \" in=\\\"\" (\"a&amp;b\" | \"&quot;\") \"\\\"\" \">\" "
        ),
        "{text}"
    );
    assert!(text.contains("x-query ::= \"<query\" \">\" (x--sign* | x--raw*) \"</query>\"\n"), "{text}");
    assert_eq!(open, ["/find: any further element: none is written"]);
}

#[test]
fn a_type_inside_itself_has_one_rule_and_a_required_wildcard_none() {
    let written = grammar(
        r#"<xs:element name="find" type="part"/><xs:complexType name="part"><xs:sequence>
            <xs:element name="find" type="part" minOccurs="0" maxOccurs="3"/>
        </xs:sequence></xs:complexType>"#,
    );
    assert_eq!(
        written.0,
        "root ::= x-find\nx-find ::= \"<find\" \">\" x--layout ((x-find-2 x--layout){0,3}) \"</find>\"\nx--layout ::= (\"\\n\" \" \"{0,8})?\nx-find-2 ::= \"<find\" \">\" x--layout ((x-find-2 x--layout){0,3}) \"</find>\"\n"
    );
}
