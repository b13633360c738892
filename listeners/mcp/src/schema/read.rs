//! Reads a JSON Schema into a shape.
//!
//! A schema of any origin comes in; a shape goes out, always. What the shape does not say is remarked, and what has no
//! shape becomes JSON as text. `fields`, `several`, `listed`, `simple` and `allof` read the parts.

use serde_json::{Map, Value};

use super::allof;
use super::keyword::{find_target, is_annotation};
use super::names::NameScope;
use super::remark::{MappingRemark, RemarkKind, ToolSide};
use super::shape::{ElementShape, NamedShape, ShapeNode};
use crate::limits;

/// A reading of one schema of one tool.
pub(super) struct ShapeReader<'s> {
    pub(super) root: &'s Value,
    pub(super) tool: &'s str,
    pub(super) side: ToolSide,
    pub(super) remarks: Vec<MappingRemark>,
    /// The types that references lead to, with the pointers they are known by.
    pub(super) types: &'s mut Vec<NamedShape>,
    pub(super) type_names: &'s mut NameScope,
    known: Vec<(String, usize)>,
    /// The types that are being read and have no part in between: a reference to one of them has no meaning.
    open: Vec<usize>,
    steps: usize,
    depth: usize,
}

impl<'s> ShapeReader<'s> {
    pub(super) fn new(
        root: &'s Value,
        (tool, side): (&'s str, ToolSide),
        types: &'s mut Vec<NamedShape>,
        type_names: &'s mut NameScope,
    ) -> Self {
        let (remarks, known, open) = (Vec::new(), Vec::new(), Vec::new());
        Self { root, tool, side, remarks, types, type_names, known, open, steps: 0, depth: 0 }
    }

    fn add_remark(&mut self, kind: RemarkKind, place: &str, keyword: &str, reason: &str) {
        let place = format!("{place}/{}", keyword.replace('~', "~0").replace('/', "~1"));
        let (tool, side) = (self.tool.to_owned(), self.side);
        let (keyword, reason) = (keyword.to_owned(), reason.to_owned());
        let remark = MappingRemark { tool, side, place, keyword, kind, reason };
        if !self.remarks.contains(&remark) {
            self.remarks.push(remark);
        }
    }

    /// Notes a rule that only the tool's own schema checks.
    pub(super) fn remark_dropped(&mut self, place: &str, keyword: &str, reason: &str) {
        self.add_remark(RemarkKind::Dropped, place, keyword, reason);
    }

    /// Notes values that cannot be sent.
    pub(super) fn remark_narrowed(&mut self, place: &str, keyword: &str, reason: &str) {
        self.add_remark(RemarkKind::Narrowed, place, keyword, reason);
    }

    /// JSON as text, with the keyword that forced it.
    pub(super) fn as_json(&mut self, place: &str, keyword: &str, reason: &str) -> ShapeNode {
        self.add_remark(RemarkKind::JsonText, place, keyword, reason);
        ShapeNode::new_json()
    }

    /// The shape of a part of a value.
    pub(super) fn read_part(&mut self, schema: &Value, place: &str) -> ShapeNode {
        let open = std::mem::take(&mut self.open);
        let node = self.read_schema(schema, place);
        self.open = open;
        node
    }

    /// The shape of a schema.
    pub(super) fn read_schema(&mut self, schema: &Value, place: &str) -> ShapeNode {
        self.steps = self.steps.saturating_add(1);
        if self.depth >= limits::SCHEMA_DEPTH || self.steps > limits::SCHEMA_STEPS {
            return self.as_json(place, "schema", "it is nested too deep, or refers to too many parts");
        }
        self.depth = self.depth.saturating_add(1);
        let mut node = match schema {
            Value::Object(fields) => self.read_fields(fields, place),
            Value::Bool(false) => self.as_json(place, "false", "no value is valid"),
            _ => self.as_json(place, "true", "it admits any value"),
        };
        self.depth = self.depth.saturating_sub(1);
        if let Some(words) =
            schema.get("description").and_then(Value::as_str).filter(|words| !words.is_empty())
        {
            node.about = Some(words.to_owned());
        }
        node
    }

    fn read_fields(&mut self, fields: &Map<String, Value>, place: &str) -> ShapeNode {
        for keyword in ["$dynamicRef", "$recursiveRef"] {
            if fields.contains_key(keyword) {
                return self.as_json(place, keyword, "it leads to another place each time");
            }
        }
        if let Some(pointer) = fields.get("$ref") {
            return self.read_reference(pointer, fields, place);
        }
        if fields.contains_key("allOf") {
            return match allof::merge_all(fields, self.root) {
                Ok(merged) => self.read_fields(&merged, place),
                Err(reason) => self.as_json(place, "allOf", &reason),
            };
        }
        if fields.contains_key("const") || fields.contains_key("enum") {
            return self.read_enum(fields, place);
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(Value::Array(branches)) = fields.get(keyword) {
                return self.read_alternatives(keyword, branches, fields, place);
            }
        }
        self.note_loose_rules(fields, place);
        match fields.get("type") {
            Some(Value::String(kind)) => self.read_type(kind, fields, place),
            Some(Value::Array(kinds)) => self.read_types(kinds, fields, place),
            _ => self.without_type(fields, place),
        }
    }

    /// The shape of one type.
    pub(super) fn read_type(&mut self, kind: &str, fields: &Map<String, Value>, place: &str) -> ShapeNode {
        match kind {
            "object" => self.read_object(fields, place),
            "array" => self.read_list(fields, place),
            "string" | "integer" | "number" | "boolean" => self.read_scalar(kind, fields, place),
            "null" => ShapeNode::from_shape(ElementShape::Null),
            _ => self.as_json(place, "type", "it is no type of JSON"),
        }
    }

    fn without_type(&mut self, fields: &Map<String, Value>, place: &str) -> ShapeNode {
        let has = |names: &[&str]| names.iter().any(|name| fields.contains_key(*name));
        let kind = if has(&["properties", "additionalProperties"]) {
            "object"
        } else if has(&["items"]) {
            "array"
        } else {
            return self.as_json(place, "type", "without it, any value is valid");
        };
        let reason = format!("it is missing; only values of the type {kind} can be sent");
        self.remark_narrowed(place, "type", &reason);
        self.read_type(kind, fields, place)
    }

    /// Notes the rules for values of any type that an XSD cannot say.
    fn note_loose_rules(&mut self, fields: &Map<String, Value>, place: &str) {
        for keyword in ["not", "if", "then", "else"] {
            if fields.contains_key(keyword) {
                self.remark_dropped(place, keyword, "XSD has no such rule");
            }
        }
    }

    /// A reference within the document: a named type, or the shape itself if that has no parts.
    fn read_reference(&mut self, pointer: &Value, fields: &Map<String, Value>, place: &str) -> ShapeNode {
        let Some(pointer) = pointer.as_str().filter(|pointer| *pointer == "#" || pointer.starts_with("#/"))
        else {
            return self.as_json(place, "$ref", "it leads out of the schema, and nothing is fetched");
        };
        for keyword in fields.keys().filter(|keyword| !is_annotation(keyword) && *keyword != "$ref") {
            self.remark_dropped(place, keyword, "it is beside a $ref");
        }
        if let Some((_, at)) = self.known.iter().find(|(known, _)| known == pointer) {
            let at = *at;
            if self.open.contains(&at) {
                return self.as_json(place, "$ref", "it refers to itself without a part in between");
            }
            return self.refer_to(at);
        }
        let Some(target) = find_target(self.root, pointer) else {
            return self.as_json(place, "$ref", "it leads nowhere");
        };
        let name = pointer.rsplit('/').next().unwrap_or_default().trim_start_matches('#');
        let name = if name.is_empty() { self.tool } else { name };
        let (at, before) = (self.types.len(), self.type_names.clone());
        let name = self.type_names.choose_name(name);
        self.types.push(NamedShape { name, node: None });
        self.known.push((pointer.to_owned(), at));
        self.open.push(at);
        let node = self.read_schema(target, pointer.trim_start_matches('#'));
        self.open.pop();
        let is_shared = matches!(
            node.shape,
            ElementShape::Object(_)
                | ElementShape::List { .. }
                | ElementShape::Map { .. }
                | ElementShape::Choice(_)
        );
        if let Some(slot) = self.types.get_mut(at) {
            slot.node = Some(node.clone());
        }
        if is_shared {
            return self.refer_to(at);
        }
        if self.types.len() == at.saturating_add(1) {
            // Without parts it needs no type of its own, and gives its name back.
            *self.type_names = before;
        }
        node
    }

    fn refer_to(&mut self, at: usize) -> ShapeNode {
        match self.types.get(at).and_then(|named| named.node.as_ref()) {
            // A value without parts is written out at each use.
            Some(node) if is_plain(&node.shape) => node.clone(),
            Some(node) => {
                ShapeNode { nullable: node.nullable, ..ShapeNode::from_shape(ElementShape::Named(at)) }
            }
            None => ShapeNode::from_shape(ElementShape::Named(at)),
        }
    }
}

fn is_plain(shape: &ElementShape) -> bool {
    matches!(shape, ElementShape::Value(_) | ElementShape::Json | ElementShape::Null | ElementShape::Named(_))
}
