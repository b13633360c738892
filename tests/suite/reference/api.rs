//! The pages of the HTTP door and of its answers, made of the description of its routes (`schemas/openapi.json`) and
//! of the questions. Other tests hold that description to the routes and to their answers.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Map, Value};
use systole_queries::questions::QUERIES;

const ANSWERS: &str = "docs/reference/answers.md";
const READING: &str = "docs/reference/http-reading.md";

/// The routes that have the rest of a page, or the page of the door, to themselves.
const BY_HAND: [&str; 4] = ["/v1/status", "/v1/workers", "/v1/openapi.json", "/v1/events"];

fn description() -> Value {
    serde_json::from_str(&fs::read_to_string("schemas/openapi.json").unwrap()).unwrap()
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}

fn fields(value: &Value, key: &str) -> Map<String, Value> {
    value.get(key).and_then(Value::as_object).cloned().unwrap_or_default()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The words for a schema, in a cell of a table.
fn kind(schema: &Value) -> String {
    if let Some(name) = text(schema, "$ref").and_then(|path| path.rsplit('/').next()) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    let choices = [list(schema, "anyOf"), list(schema, "oneOf")].concat();
    if !choices.is_empty() {
        return choices.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    if let Some(only) = schema.get("const") {
        return format!("`{}`", only.as_str().unwrap());
    }
    if !list(schema, "enum").is_empty() {
        let values = list(schema, "enum").iter().filter_map(Value::as_str);
        return values.map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ");
    }
    match schema.get("type") {
        Some(Value::Array(types)) => {
            let of = |one: &Value| kind_named(one.as_str().unwrap(), schema);
            types.iter().map(of).collect::<Vec<_>>().join(" or ")
        }
        Some(Value::String(one)) => kind_named(one, schema),
        _ => "anything".to_owned(),
    }
}

fn kind_named(name: &str, schema: &Value) -> String {
    match name {
        "string" => "text".to_owned(),
        "integer" | "number" => "number".to_owned(),
        "boolean" => "`true` or `false`".to_owned(),
        "array" => format!("list of {}", schema.get("items").map_or_else(|| "anything".to_owned(), kind)),
        "object" => {
            let parts = fields(schema, "properties");
            let parts: Vec<String> =
                parts.iter().map(|(name, part)| format!("`{name}`: {}", kind(part))).collect();
            if parts.is_empty() { "object".to_owned() } else { format!("{{{}}}", parts.join("; ")) }
        }
        other => other.to_owned(),
    }
}

fn answers() -> String {
    let mut page = String::new();
    for (name, schema) in fields(&description()["components"], "schemas") {
        let required: BTreeSet<&str> = list(&schema, "required").iter().filter_map(Value::as_str).collect();
        page.push_str(&format!("## {name}\n\n"));
        if let Some(about) = text(&schema, "description") {
            page.push_str(&format!("{}\n\n", super::wrapped(about)));
        }
        let rows: Vec<String> = fields(&schema, "properties")
            .iter()
            .map(|(field, part)| {
                let missing = if required.contains(field.as_str()) { "" } else { ", may be missing" };
                let said = text(part, "description").map(|said| format!(". {said}")).unwrap_or_default();
                format!("| `{field}` | {}{missing}{} |\n", kind(part), super::cell(&said))
            })
            .collect();
        if !rows.is_empty() {
            page.push_str(&format!("| field | what it is |\n|---|---|\n{}\n", rows.concat()));
        }
    }
    page
}

/// The routes of commands that are no declared question yet.
const OF_COMMANDS: [(&str, &str); 8] = [
    ("/v1/approvals", "approve"),
    ("/v1/documents/{hash}", "blob"),
    ("/v1/find", "find"),
    ("/v1/graph", "graph"),
    ("/v1/threads", "ps"),
    ("/v1/threads/{thread}/records", "log"),
    ("/v1/threads/{thread}/records/{seq}/bytes", "log --raw"),
    ("/v1/threads/{thread}/trail", "trail"),
];

/// The command that answers as a route does.
fn command(path: &str) -> String {
    let row = QUERIES.iter().find(|row| row.routes.iter().any(|route| route.path == path));
    let other = OF_COMMANDS.iter().find(|(route, _)| *route == path).map(|(_, name)| *name);
    row.map(|row| row.name).or(other).map(|name| format!("`systole {name}`")).unwrap_or_default()
}

/// The routes that read, each with what it answers and the command that answers the same.
fn routes() -> String {
    let mut page = "| route | what it answers | command |\n|---|---|---|\n".to_owned();
    let paths = fields(&description(), "paths");
    let mut rows = 0;
    for (path, route) in paths.iter().filter(|(path, _)| !BY_HAND.contains(&path.as_str())) {
        let Some(route) = route.get("get").filter(|route| list(route, "tags").contains(&"reading".into()))
        else {
            continue;
        };
        let of = &route["responses"]["200"]["content"]["application/json"]["schema"];
        let what = text(of, "$ref").and_then(|path| path.rsplit('/').next());
        let summary = text(route, "summary").unwrap();
        let what = what.map_or_else(
            || summary.to_owned(),
            |name| format!("[{summary}](answers.md#{})", name.to_lowercase()),
        );
        page.push_str(&format!("| `{path}` | {what} | {} |\n", command(path)));
        rows += 1;
    }
    assert!(rows > 20, "only {rows} routes were found");
    page
}

/// The fields of the routes that read, each once, with its meaning where it is the same for all.
fn query_fields() -> String {
    let mut rows: Vec<(String, String, Vec<String>)> = Vec::new();
    for (path, route) in fields(&description(), "paths") {
        let Some(route) = route.get("get").filter(|route| list(route, "tags").contains(&"reading".into()))
        else {
            continue;
        };
        let asked = list(route, "parameters").iter().filter(|field| text(field, "in") == Some("query"));
        for field in asked.filter(|_| !BY_HAND.contains(&path.as_str())) {
            let (name, said) = (text(field, "name").unwrap(), text(field, "description").unwrap());
            let most = field["schema"].get("maximum").and_then(Value::as_u64);
            let usual = field["schema"].get("default").map(|usual| usual.to_string().replace('"', "`"));
            let mut said = super::cell(said);
            for (what, value) in [("default ", usual), ("at most ", most.map(|most| most.to_string()))] {
                if let Some(value) = value {
                    said = format!("{}; {what}{value}.", said.trim_end_matches('.'));
                }
            }
            match rows.iter_mut().find(|(one, what, _)| one == name && *what == said) {
                Some((_, _, of)) => of.push(path.clone()),
                None => rows.push((name.to_owned(), said, vec![path.clone()])),
            }
        }
    }
    let mut page = "| field | of | meaning |\n|---|---|---|\n".to_owned();
    for (name, said, of) in rows {
        let of = match of.len() {
            many if many > 6 => "most".to_owned(),
            _ => of.iter().map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", "),
        };
        page.push_str(&format!("| `{name}` | {of} | {said} |\n"));
    }
    page
}

#[test]
fn the_page_of_answers_is_what_the_description_of_the_routes_says() {
    assert_eq!(crate::generated::parts(ANSWERS, |_| answers()), ["answers"]);
}

#[test]
fn the_page_of_reading_over_http_lists_the_routes_and_their_fields() {
    let make = |part: &str| if part == "routes" { routes() } else { query_fields() };
    assert_eq!(crate::generated::parts(READING, make), ["routes", "fields"]);
}
