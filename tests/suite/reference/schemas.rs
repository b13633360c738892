//! The tables of the page of elements, made of Systole's schemas, which a separate XML reader reads; what no schema
//! declares comes from `wire`. It judges no payload.

use std::collections::BTreeSet;
use std::fs;

use super::page::{PAGE, SchemaNode, table, unquoted};

const SCHEMAS: [&str; 4] = ["core", "meta", "envelope", "talk"];

fn schema(name: &str) -> SchemaNode {
    SchemaNode::read(&fs::read_to_string(format!("schemas/{name}.xsd")).unwrap())
}

/// Who sends an element, for those that are not from the pump. The elements inside another one are from the same.
const FROM: [(&str, &str); 5] = [
    (
        "listener",
        "answer ask-person await-threads cancel-thread cancel-timer clear-context describe list-capabilities recall \
         set-timer spawn-thread todo-until",
    ),
    ("outside, listener", "ask"),
    ("outside, pump", "steer"),
    ("listener, pump", "final-report"),
    ("outside, listener, pump", "message"),
];

/// The elements that are recorded, and sent to no listener.
const RECORDED: &str = "approval-decided attempt boot budget-time dead-letter erased follow-skipped follower-began \
                        follower-behind follower-caught-up follower-stopped forked listener-joined \
                        listener-left loss-accepted paused reopened resumed schedule-began schedule-ended \
                        schedule-fired schedule-paused schedule-resumed schedule-skipped shutdown stuck \
                        subject thread-ended throttled";

/// What the elements inside another one are. The schemas document only elements that are sent alone.
const INSIDE: &str = include_str!("inside.txt");

/// The head of a table of elements.
pub(super) const HEAD: &str = "| element | attributes | holds | from | what it is |\n|---|---|---|---|---|\n";

/// A table of the page: each element of a schema with its attributes, its content, who sends it, and what it is.
fn elements(name: &str) -> String {
    if let Some(page) = super::wire::elements(name) {
        return page;
    }
    let mut page = HEAD.to_owned();
    schema(name).all("element").for_each(|element| row(element, "", &mut page));
    page
}

fn row(element: &SchemaNode, above: &str, page: &mut String) {
    let name = element.attribute("name").unwrap();
    let path = if above.is_empty() { name.to_owned() } else { format!("{above}/{name}") };
    let inside = element.all("complexType").next();
    let mut parts = Vec::new();
    if let Some(inside) = inside {
        attributes(inside, &mut parts);
    }
    let holds = inside.map_or_else(|| text(element.attribute("type")), content);
    let root = path.split('/').next().unwrap_or_default();
    let is_in = |names: &str| names.split(' ').any(|one| one == root);
    let from = FROM.iter().find(|(_, names)| is_in(names)).map_or("pump", |(from, _)| from);
    let from = if is_in(RECORDED) { "log" } else { from };
    let documented = element.all("annotation").flat_map(|one| one.all("documentation")).next();
    let mut insides = INSIDE.lines().filter_map(|line| line.split_once(" | "));
    let said = insides.find(|(inner, _)| *inner == path).map(|(_, what)| what.to_owned());
    let what = said.or_else(|| documented.map(|one| one.text.clone()));
    let what = what.unwrap_or_else(|| panic!("{path} has neither a documentation nor a line in inside.txt"));
    let attributes = if parts.is_empty() { String::new() } else { format!("{} ", parts.join("; ")) };
    page.push_str(&format!("| `{path}` | {attributes}| {holds} | {from} | {what} |\n"));
    let groups = inside.into_iter().flat_map(|inside| inside.all("sequence"));
    groups.flat_map(|group| group.all("element")).for_each(|child| row(child, &path, page));
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
        ("1", "1") => String::new(),
        ("0", "1") => "?".to_owned(),
        ("0", "unbounded") => "*".to_owned(),
        ("1", "unbounded") => "+".to_owned(),
        ("1", most) if most.parse::<u32>().is_ok() => format!(" 1 to {most} times"),
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
    let parts = crate::generated::parts(PAGE, elements);
    assert_eq!(parts, ["core", "delivery", "meta", "envelope", "talk", "stamp", "listener"]);
    for name in SCHEMAS {
        let schema = schema(name);
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
