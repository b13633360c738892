//! Alternatives of a JSON Schema: `anyOf`, `oneOf` and lists of types.
//!
//! Branches come in; an optional value, a union of values, or a choice of elements goes out.

use serde_json::{Map, Value, json};

use super::allof;
use super::keyword::{find_target, is_annotation};
use super::names::NameScope;
use super::read::ShapeReader;
use super::shape::{ElementShape, ShapeNode, SimpleShape};
use super::trial;
use crate::limits::BRANCHES;

impl ShapeReader<'_> {
    /// A list of types: alternatives that differ only in their type.
    pub(super) fn read_types(
        &mut self,
        kinds: &[Value],
        fields: &Map<String, Value>,
        place: &str,
    ) -> ShapeNode {
        let is_number = kinds.iter().any(|kind| kind == "number");
        let kinds: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
        let kinds: Vec<&str> = kinds.into_iter().filter(|kind| !(is_number && *kind == "integer")).collect();
        if let [only] = kinds.as_slice() {
            return self.read_type(only, fields, place);
        }
        let mut nodes = Vec::new();
        let mut is_null = false;
        for kind in kinds.into_iter().take(BRANCHES) {
            if kind == "null" {
                is_null = true;
                continue;
            }
            let node = self.read_type(kind, fields, place);
            nodes.push((name_kind(&node, &Value::Null), node));
        }
        let node = self.join_alternatives("type", nodes, place);
        ShapeNode { nullable: node.nullable || is_null, ..node }
    }

    pub(super) fn read_alternatives(
        &mut self,
        keyword: &str,
        branches: &[Value],
        fields: &Map<String, Value>,
        place: &str,
    ) -> ShapeNode {
        let mut own = fields.clone();
        own.remove(keyword);
        let is_bound = own.keys().any(|key| !is_annotation(key));
        if is_bound && branches.iter().all(has_only_rules) {
            // They only say which of the properties belong together, or the like.
            self.remark_dropped(place, keyword, "its branches only add rules");
            return self.read_schema(&Value::Object(own), place);
        }
        if branches.is_empty() || branches.len() > BRANCHES {
            return self.as_json(place, keyword, &format!("it has no branch, or more than {BRANCHES}"));
        }
        let outer: Map<String, Value> = own.into_iter().filter(|(key, _)| !is_annotation(key)).collect();
        let (mut nodes, mut is_null, mut schemas) = (Vec::new(), false, Vec::new());
        for (at, branch) in branches.iter().enumerate() {
            if is_null_schema(branch) {
                is_null = true;
                continue;
            }
            let merged = if outer.is_empty() {
                branch.clone()
            } else {
                match allof::merge_two(&outer, branch, self.root) {
                    Ok(merged) => Value::Object(merged),
                    Err(reason) => return self.as_json(place, keyword, &reason),
                }
            };
            let node = self.read_schema(&merged, &format!("{place}/{keyword}/{at}"));
            is_null |= node.nullable;
            let name = name_kind(&node, self.follow_references(&merged));
            nodes.push((name, ShapeNode { nullable: false, ..node }));
            schemas.push(self.follow_references(&merged).clone());
        }
        if nodes.is_empty() {
            return ShapeNode::from_shape(ElementShape::Null);
        }
        if keyword == "oneOf" && nodes.len() > 1 && !exclude_each_other(&schemas) {
            self.remark_dropped(
                place,
                keyword,
                "a value that fits two branches is only refused by the tool's schema",
            );
        }
        let node = self.join_alternatives(keyword, nodes, place);
        ShapeNode { nullable: node.nullable || is_null, ..node }
    }

    /// The schema behind references.
    fn follow_references<'v>(&'v self, schema: &'v Value) -> &'v Value {
        let mut schema = schema;
        for _ in 0..8 {
            let Some(pointer) = schema.get("$ref").and_then(Value::as_str) else { break };
            let Some(next) = find_target(self.root, pointer) else { break };
            schema = next;
        }
        schema
    }

    /// Several alternatives as one shape.
    fn join_alternatives(
        &mut self,
        keyword: &str,
        nodes: Vec<(String, ShapeNode)>,
        place: &str,
    ) -> ShapeNode {
        let mut nodes = nodes;
        if nodes.len() == 1 {
            return nodes.pop().map_or_else(ShapeNode::new_json, |(_, node)| node);
        }
        if nodes.iter().any(|(_, node)| matches!(node.shape, ElementShape::Json)) {
            return self.as_json(place, keyword, "one of its branches is JSON as text");
        }
        let simple = |node: &ShapeNode| match &node.shape {
            ElementShape::Value(simple) => Some(simple.clone()),
            _ => None,
        };
        if let Some(values) = nodes.iter().map(|(_, node)| simple(node)).collect::<Option<Vec<_>>>() {
            return self.build_union(keyword, values, place);
        }
        let mut scope = NameScope::default();
        let several = |name: &str| nodes.iter().filter(|(other, _)| other == name).count() > 1;
        let named: Vec<String> = nodes
            .iter()
            .enumerate()
            .map(|(at, (name, _))| match name.as_str() {
                "object" if several(name) => format!("option-{}", at.saturating_add(1)),
                name => name.to_owned(),
            })
            .collect();
        let branches =
            named.iter().zip(nodes).map(|(name, (_, node))| (scope.choose_name(name), node)).collect();
        ShapeNode::from_shape(ElementShape::Choice(branches))
    }

    fn build_union(&mut self, keyword: &str, values: Vec<SimpleShape>, place: &str) -> ShapeNode {
        let mut members: Vec<SimpleShape> = Vec::new();
        for value in values {
            match value {
                SimpleShape::Union(inner) => members.extend(inner),
                other => members.push(other),
            }
        }
        members.sort_by_key(SimpleShape::rank);
        members.dedup();
        let has_text = members.iter().any(|member| member.rank() == 3);
        if has_text && members.iter().any(|member| member.rank() < 3) {
            let reason = "a text such as \"true\" or \"1\" is read as a truth value or a number, and cannot be sent as text";
            self.remark_narrowed(place, keyword, reason);
        }
        let simple = if members.len() == 1 { members.pop() } else { Some(SimpleShape::Union(members)) };
        let Some(simple) = simple else { return ShapeNode::new_json() };
        match trial::find_refusal(&simple, None) {
            None => ShapeNode::from_shape(ElementShape::Value(simple)),
            Some(reason) => self.as_json(place, keyword, &format!("the schema profile refuses it: {reason}")),
        }
    }
}

/// A name for a branch: the only value of one of its required properties, its title, or its kind.
fn name_kind(node: &ShapeNode, schema: &Value) -> String {
    let is_object =
        matches!(node.shape, ElementShape::Object(_) | ElementShape::Named(_) | ElementShape::Map { .. });
    if is_object {
        let only = list_constants(schema).into_iter().find_map(|(_, values)| match values.as_slice() {
            [Value::String(only)] => Some(only.clone()),
            _ => None,
        });
        let title = schema.get("title").and_then(Value::as_str).map(str::to_owned);
        let usable = |name: &String| !name.is_empty() && name.len() <= 64;
        return only.filter(usable).or(title.filter(usable)).unwrap_or_else(|| "object".to_owned());
    }
    let kind = match &node.shape {
        ElementShape::Value(simple) => simple.kind(),
        ElementShape::List { .. } => "list",
        ElementShape::Choice(_) => "choice",
        ElementShape::Null => "null",
        _ => "value",
    };
    kind.to_owned()
}

/// The required properties of an object with listed values.
fn list_constants(schema: &Value) -> Vec<(String, Vec<Value>)> {
    let required = schema.get("required").and_then(Value::as_array);
    let required: Vec<&str> = required.into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = schema.get("properties").and_then(Value::as_object);
    let listed = |(key, of): (&String, &Value)| {
        let values = match (of.get("const"), of.get("enum")) {
            (Some(only), _) => vec![only.clone()],
            (None, Some(Value::Array(values))) => values.clone(),
            _ => return None,
        };
        required.contains(&key.as_str()).then(|| (key.clone(), values))
    };
    properties.into_iter().flatten().filter_map(listed).collect()
}

/// Whether no value fits two of these: each pair differs in its type or in the values of a required property.
fn exclude_each_other(schemas: &[Value]) -> bool {
    let pair = |one: &Value, other: &Value| {
        let kinds = (one.get("type").and_then(Value::as_str), other.get("type").and_then(Value::as_str));
        let differ = match kinds {
            (Some("integer"), Some("number")) | (Some("number"), Some("integer")) => false,
            (Some(one), Some(other)) => one != other,
            _ => false,
        };
        let (one, other) = (list_constants(one), list_constants(other));
        differ
            || one.iter().any(|(key, values)| {
                let of_other = other.iter().find(|(known, _)| known == key);
                of_other.is_some_and(|(_, others)| !values.iter().any(|value| others.contains(value)))
            })
    };
    schemas
        .iter()
        .enumerate()
        .all(|(at, one)| schemas.iter().skip(at.saturating_add(1)).all(|other| pair(one, other)))
}

fn is_null_schema(schema: &Value) -> bool {
    *schema == json!({ "type": "null" })
        || schema.get("const") == Some(&Value::Null)
        || schema.get("type").and_then(Value::as_str) == Some("null")
}

/// Whether a branch has no shape: it only adds rules to that of the schema around it.
fn has_only_rules(branch: &Value) -> bool {
    let shapes = ["type", "properties", "$ref", "items", "enum", "const", "anyOf", "oneOf", "allOf"];
    branch.is_object() && !shapes.iter().any(|key| branch.get(key).is_some())
}
