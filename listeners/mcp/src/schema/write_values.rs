//! Writes values without parts as simple types of an XSD, and the bases that they restrict.
//!
//! Simple shapes come in; text goes out.

use systole_kit::writer::XmlWriter;

use super::shape::{ListedBase, NumberBound, SAFE, SimpleShape};

/// The largest number of JSON.
const LARGEST: &str = "1.7976931348623157E308";

/// A named base: its name, what it restricts, and its facets.
type BaseRow<'r> = (&'static str, &'static str, Vec<(&'static str, &'r str)>);

/// Begins a line at a depth.
pub(super) fn begin_line(writer: &mut XmlWriter, depth: usize) {
    writer.text("\n");
    writer.text(&"  ".repeat(depth));
}

/// The type by name, if nothing restricts it.
pub(super) fn find_plain_base(simple: &SimpleShape) -> Option<&'static str> {
    match simple {
        SimpleShape::Text { least: None, most: None, pattern: None } => Some("xs:string"),
        SimpleShape::Whole { least: None, most: None } => Some("integer"),
        SimpleShape::Number { least: None, most: None } => Some("number"),
        SimpleShape::Truth => Some("bool"),
        _ => None,
    }
}

/// The type that the facets restrict.
fn find_base(simple: &SimpleShape) -> &'static str {
    match simple {
        SimpleShape::Text { .. } | SimpleShape::Listed { base: ListedBase::Text, .. } => "xs:string",
        SimpleShape::Whole { .. } | SimpleShape::Listed { base: ListedBase::Whole, .. } => "integer",
        SimpleShape::Number { .. } | SimpleShape::Listed { base: ListedBase::Number, .. } => "number",
        SimpleShape::Truth | SimpleShape::Listed { base: ListedBase::Truth, .. } => "bool",
        SimpleShape::Union(_) => "",
    }
}

pub(super) fn collect_bases(simple: &SimpleShape, bases: &mut Vec<&'static str>) {
    if let SimpleShape::Union(members) = simple {
        return members.iter().for_each(|member| collect_bases(member, bases));
    }
    let base = find_base(simple);
    if !base.contains(':') && !bases.contains(&base) {
        bases.push(base);
    }
}

/// A simple type in one line.
pub(super) fn write_simple_type(writer: &mut XmlWriter, simple: &SimpleShape) {
    writer.open("xs:simpleType").content(|inside| {
        if let SimpleShape::Union(members) = simple {
            let named: Option<Vec<&str>> = members.iter().map(find_plain_base).collect();
            let start = inside.open("xs:union");
            return match named {
                Some(named) => start.attr("memberTypes", &named.join(" ")).empty(),
                None => start
                    .content(|inside| members.iter().for_each(|member| write_simple_type(inside, member))),
            };
        }
        let facets = list_facets(simple);
        let start = inside.open("xs:restriction").attr("base", find_base(simple));
        if facets.is_empty() {
            return start.empty();
        }
        start.content(|inside| {
            for (name, value) in facets {
                inside.open(name).attr("value", &value).empty();
            }
        });
    });
}

fn list_facets(simple: &SimpleShape) -> Vec<(&'static str, String)> {
    let mut facets = Vec::new();
    match simple {
        SimpleShape::Text { least, most, pattern } => {
            facets.extend(least.map(|least| ("xs:minLength", least.to_string())));
            facets.extend(most.map(|most| ("xs:maxLength", most.to_string())));
            facets.extend(pattern.clone().map(|pattern| ("xs:pattern", pattern)));
        }
        SimpleShape::Whole { least, most } => {
            facets.extend(least.map(|least| ("xs:minInclusive", least.to_string())));
            facets.extend(most.map(|most| ("xs:maxInclusive", most.to_string())));
        }
        SimpleShape::Number { least, most } => {
            let spelt = |bound: &NumberBound| match bound.value.abs() {
                value if value != 0.0 && !(1e-9..1e15).contains(&value) => format!("{:E}", bound.value),
                _ => bound.value.to_string(),
            };
            let low =
                |bound: &NumberBound| if bound.inclusive { "xs:minInclusive" } else { "xs:minExclusive" };
            let high =
                |bound: &NumberBound| if bound.inclusive { "xs:maxInclusive" } else { "xs:maxExclusive" };
            facets.extend(least.as_ref().map(|bound| (low(bound), spelt(bound))));
            facets.extend(most.as_ref().map(|bound| (high(bound), spelt(bound))));
        }
        SimpleShape::Listed { base: ListedBase::Truth, values } => {
            facets.extend(values.iter().map(|value| ("xs:pattern", value.clone())));
        }
        SimpleShape::Listed { values, .. } => {
            facets.extend(values.iter().map(|value| ("xs:enumeration", value.clone())));
        }
        SimpleShape::Truth | SimpleShape::Union(_) => {}
    }
    facets
}

/// The named types for numbers and truth values of JSON, as far as they are in use.
pub(super) fn write_named_bases(writer: &mut XmlWriter, used: &[&str]) {
    let safe = SAFE.to_string();
    let (low, lowest) = (format!("-{safe}"), format!("-{LARGEST}"));
    let rows: [BaseRow<'_>; 3] = [
        ("bool", "xs:boolean", vec![("xs:pattern", "true|false")]),
        ("integer", "xs:long", vec![("xs:minInclusive", &low), ("xs:maxInclusive", &safe)]),
        ("number", "xs:double", vec![("xs:minInclusive", &lowest), ("xs:maxInclusive", LARGEST)]),
    ];
    for (name, base, facets) in rows.into_iter().filter(|(name, ..)| used.contains(name)) {
        writer.text("\n");
        begin_line(writer, 1);
        writer.open("xs:simpleType").attr("name", name).content(|inside| {
            begin_line(inside, 2);
            inside.open("xs:restriction").attr("base", base).content(|inside| {
                for (facet, value) in facets {
                    begin_line(inside, 3);
                    inside.open(facet).attr("value", value).empty();
                }
                begin_line(inside, 2);
            });
            begin_line(inside, 1);
        });
    }
}
