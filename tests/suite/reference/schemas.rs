//! The page of elements, compared with Systole's schemas, which a separate XML reader reads. It judges no
//! payload. Both inputs are text; an entry in only one of them fails the test.

use std::collections::BTreeSet;
use std::fs;

use super::page::{SchemaNode, table, unquoted};

const SCHEMAS: [&str; 4] = ["core", "meta", "envelope", "talk"];

fn schema(name: &str) -> SchemaNode {
    SchemaNode::read(&fs::read_to_string(format!("schemas/{name}.xsd")).unwrap())
}

/// The element, the attributes and the content of each row, as the page writes them.
fn rows(element: &SchemaNode, above: &str, rows: &mut BTreeSet<[String; 3]>) {
    let name = element.attribute("name").unwrap();
    let path = if above.is_empty() { name.to_owned() } else { format!("{above}/{name}") };
    let inside = element.all("complexType").next();
    let mut parts = Vec::new();
    if let Some(inside) = inside {
        attributes(inside, &mut parts);
    }
    let holds = inside.map_or_else(|| text(element.attribute("type")), content);
    let cell = [format!("`{path}`"), parts.join("; "), holds];
    assert!(rows.insert(cell), "{path} is declared twice");
    let groups = inside.into_iter().flat_map(|inside| inside.all("sequence"));
    groups.flat_map(|group| group.all("element")).for_each(|child| self::rows(child, &path, rows));
}

fn local(qualified: &str) -> &str {
    qualified.rsplit(':').next().unwrap_or_default()
}

fn text(of: Option<&str>) -> String {
    format!("text: {}", local(of.expect("an element has a type")))
}

fn attributes(inside: &SchemaNode, parts: &mut Vec<String>) {
    for child in &inside.children {
        match child.name.as_str() {
            "attribute" => {
                let mark = if child.attribute("use") == Some("required") { "" } else { "?" };
                let of = child.attribute("type").map_or_else(|| one_of(child), |of| local(of).to_owned());
                parts.push(format!("`{}`{mark}: {of}", child.attribute("name").unwrap()));
            }
            "simpleContent" | "extension" => attributes(child, parts),
            "sequence" => {}
            other => panic!("{other} of a schema is not read here"),
        }
    }
}

fn one_of(attribute: &SchemaNode) -> String {
    let types = attribute.all("simpleType").flat_map(|of| of.all("restriction"));
    let values = types.flat_map(|of| of.all("enumeration")).filter_map(|value| value.attribute("value"));
    format!("one of {}", values.map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", "))
}

fn content(inside: &SchemaNode) -> String {
    if let Some(extension) = inside.all("simpleContent").flat_map(|of| of.all("extension")).next() {
        return text(extension.attribute("base"));
    }
    let parts: Vec<String> = inside.all("sequence").flat_map(|group| &group.children).map(part).collect();
    if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") }
}

fn part(part: &SchemaNode) -> String {
    let least = part.attribute("minOccurs").unwrap_or("1");
    let mark = match (least, part.attribute("maxOccurs").unwrap_or("1")) {
        ("1", "1") => "",
        ("0", "1") => "?",
        ("0", "unbounded") => "*",
        ("1", "unbounded") => "+",
        other => panic!("the page has no mark for {other:?}"),
    };
    match (part.name.as_str(), part.attribute("namespace")) {
        ("element", _) => format!("`{}`{mark}", part.attribute("name").unwrap()),
        ("any", Some("##any")) => format!("any element{mark}"),
        ("any", Some("##other")) => format!("any element of another namespace{mark}"),
        other => panic!("{other:?} of a schema is not read here"),
    }
}

#[test]
fn the_page_of_elements_is_what_the_schemas_declare() {
    for name in SCHEMAS {
        let schema = schema(name);
        let mut declared = BTreeSet::new();
        schema.all("element").for_each(|element| rows(element, "", &mut declared));
        let page = table(&format!("## {name}"));
        let told: BTreeSet<[String; 3]> =
            page.iter().map(|row| [row[0].clone(), row[1].clone(), row[2].clone()]).collect();
        assert_eq!(told.len(), page.len(), "{name}: a row stands twice");
        let missing: Vec<_> = declared.difference(&told).collect();
        let invented: Vec<_> = told.difference(&declared).collect();
        assert!(
            missing.is_empty() && invented.is_empty(),
            "{name}.xsd has, and the page has not: {missing:#?}\nthe page has, and {name}.xsd has not: {invented:#?}"
        );
        let namespace = schema.attribute("targetNamespace").unwrap();
        let stands = |row: &Vec<String>| row[0] == format!("`{namespace}`") && row[1] == name;
        assert!(table("## Namespaces").iter().any(stands), "{namespace} is not on the page");
    }
}

#[test]
fn every_row_of_the_page_of_elements_says_from_whom_and_what() {
    let sections =
        ["## core", "### Of a delivery", "## meta", "## envelope", "## talk", "## stamp", "## listener"];
    for row in sections.iter().flat_map(|heading| table(heading)).filter(|row| row.len() != 2) {
        let [element, _, holds, from, what] = &row[..] else { panic!("not five columns: {row:?}") };
        let known = ["listener", "outside", "pump", "log"];
        assert!(from.split(", ").all(|one| known.contains(&one)), "{element} is from {from}");
        assert!(!holds.is_empty() && what.ends_with('.'), "{element}: {holds}, {what}");
    }
}

#[test]
fn the_page_of_elements_explains_every_type() {
    let page = table("## Types");
    let told: BTreeSet<String> =
        page.iter().map(|row| format!("{} of {}", unquoted(&row[0]), row[1])).collect();
    let mut named = std::collections::BTreeMap::<String, Vec<&str>>::new();
    for name in SCHEMAS {
        for of in schema(name).all("simpleType") {
            named.entry(of.attribute("name").unwrap().to_owned()).or_default().push(name);
        }
    }
    let mut meant: BTreeSet<String> =
        named.iter().map(|(name, schemas)| format!("{name} of {}", schemas.join(", "))).collect();
    meant.insert("money of the kit".to_owned());
    assert_eq!(told, meant);
    let values: Vec<String> = (schema("core").all("simpleType"))
        .filter(|of| of.attribute("name") == Some("outcome"))
        .flat_map(|of| of.all("restriction").flat_map(|of| of.all("enumeration")))
        .map(|value| format!("`{}`", value.attribute("value").unwrap()))
        .collect();
    let row = page.iter().find(|row| row[0] == "`outcome`").unwrap();
    assert!(values.len() == 7 && values.iter().all(|value| row[2].contains(value)), "{row:?}");
}
