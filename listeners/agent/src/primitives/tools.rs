//! The primitives as native tools: the JSON Schema of each, and the payload made from arguments.
//!
//! Arguments come in as the model wrote them. A payload goes out, written by the kit. Nothing is coerced. A fault is
//! reported with its place and the fix.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use systole_kit::gate::{GateStep, XmlGate};
use systole_kit::schema::{SchemaModel, find_nearest};
use systole_kit::writer::XmlWriter;
use systole_kit::{DocumentLimits, Payload, namespaces};

use super::{PromptPrimitive, SPAWN, TASK};
use crate::contracts::{PeerAction, SchemaFault};
use crate::model::Tool;
use crate::show::describe_slip;

/// The schema of the arguments. Only `spawn_thread` is not part of it, since its arguments are those of another tool.
static ARGUMENTS: LazyLock<Result<SchemaModel, String>> = LazyLock::new(|| {
    let read = SchemaModel::read_among(include_bytes!("tools.xsd"), &[]);
    read.map_err(|unfit| unfit.first().map_or_else(String::new, |first| first.message.clone()))
});

/// The schema of the arguments. An agent with native calls cannot start without it.
pub(crate) fn read_arguments_schema() -> Result<&'static SchemaModel, SchemaFault> {
    let unreadable = |words: &String| SchemaFault { name: "tools.xsd".to_owned(), words: words.clone() };
    ARGUMENTS.as_ref().map_err(unreadable)
}

/// A thread label, as in the core's schema.
const LABEL: &str = "[a-z0-9][a-z0-9-]{0,31}";

/// The tool of a primitive, called `name`. Threads may begin with the tools in `peers`.
pub(crate) fn build_tool(primitive: &PromptPrimitive, name: String, peers: &[&str]) -> Option<Tool> {
    if primitive.local == SPAWN {
        return Some(Tool {
            name,
            description: primitive.about.to_owned(),
            parameters: build_spawn_schema(peers),
        });
    }
    let element = primitive.tool?;
    let model = read_arguments_schema().ok()?;
    let schema = model.json_schema(element)?;
    // The rest is either in the schema's documentation, or models never write it.
    let description = model.find_documentation(element).unwrap_or(primitive.about).to_owned();
    Some(Tool { name, description, parameters: schema.schema })
}

fn build_spawn_schema(peers: &[&str]) -> Value {
    let pattern = format!("^{LABEL}$");
    json!({
        "type": "object",
        "properties": {
            "label": {
                "type": "string",
                "pattern": pattern,
                "description": "how the thread's id is to end",
            },
            "tool": { "type": "string", "enum": peers, "description": "the tool that it begins with" },
            "arguments": { "type": "object", "description": "the arguments of that tool" },
        },
        "required": ["tool", "arguments"],
        "additionalProperties": false,
    })
}

/// The payload for arguments, or their fault. `peers` are the tools that a thread may begin with.
pub(crate) fn build_payload(
    primitive: &PromptPrimitive,
    arguments: &str,
    peers: &[(&str, &PeerAction)],
) -> Result<Payload, String> {
    if primitive.local == SPAWN {
        return build_spawn(arguments, peers);
    }
    let element = primitive.tool.unwrap_or(primitive.local);
    let model = self::read_arguments_schema().map_err(|unreadable| unreadable.to_string())?;
    let built = model.from_json_text(element, arguments.as_bytes());
    let bytes = match built {
        Some(Ok(bytes)) => bytes,
        Some(Err(slips)) => return Err(slips.iter().map(describe_slip).collect::<Vec<_>>().join("\n")),
        None => return Err(format!("`{element}` is not a tool")),
    };
    let fields =
        Field::read_fields(&bytes).ok_or_else(|| format!("the arguments of {element} cannot be read"))?;
    if primitive.local == TASK {
        return read_back(write_task(&fields));
    }
    read_back(write_fields(primitive, &fields))
}

fn write_task(fields: &[Field]) -> XmlWriter {
    let text = |name| find_text(fields, name).unwrap_or_default();
    let mut writer = XmlWriter::new();
    writer.open(TASK).xmlns(namespaces::WORKFLOW).attr("role", text("role")).text(text("text"));
    writer
}

/// A part of the arguments, as the schema's model wrote it.
#[derive(Default)]
struct Field {
    name: String,
    text: String,
    inside: Vec<Field>,
}

impl Field {
    fn read_fields(bytes: &[u8]) -> Option<Vec<Self>> {
        let mut gate = XmlGate::new_strict(bytes, &DocumentLimits::FROM_PUMP).ok()?;
        let mut open = Vec::new();
        loop {
            match gate.read_step().ok()? {
                GateStep::Open(tag) => open.push(Self { name: tag.local.to_owned(), ..Self::default() }),
                GateStep::Text(part) => part.append_to(&mut open.last_mut()?.text),
                GateStep::Close => {
                    let field = open.pop()?;
                    match open.last_mut() {
                        Some(around) => around.inside.push(field),
                        None => return Some(field.inside),
                    }
                }
                GateStep::Instruction => {}
                GateStep::Done => return None,
            }
        }
    }
}

fn find_text<'f>(fields: &'f [Field], name: &str) -> Option<&'f str> {
    fields.iter().find(|field| field.name == name).map(|field| field.text.as_str())
}

fn write_fields(primitive: &PromptPrimitive, fields: &[Field]) -> XmlWriter {
    let mut writer = XmlWriter::new();
    let mut start = writer.open(primitive.local).xmlns(namespaces::CORE);
    for name in primitive.attributes {
        start = start.attr_if(*name, find_text(fields, name));
    }
    start.content(|inside| {
        inside.text(find_text(fields, "note").unwrap_or_default());
        for field in fields {
            match field.name.as_str() {
                "threads" => inside.open("thread").attr("id", &field.text).empty(),
                "question" => inside.open("question").text(&field.text),
                "shows" => {
                    let seq = find_text(&field.inside, "seq").unwrap_or_default();
                    let label = find_text(&field.inside, "label").unwrap_or_default();
                    inside.open("show").attr("seq", seq).text(label);
                }
                "choices" => inside.open("choice").text(&field.text),
                "steps" => {
                    let done = find_text(&field.inside, "done").unwrap_or_default();
                    let text = find_text(&field.inside, "text").unwrap_or_default();
                    inside.open("step").attr("done", done).text(text);
                }
                _ => {}
            }
        }
    });
    writer
}

/// Reads the written payload back, under the limits of a listener's messages.
fn read_back(writer: XmlWriter) -> Result<Payload, String> {
    Payload::parse(&writer.finish(), &DocumentLimits::default()).map_err(|fault| fault.to_string())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Spawning {
    label: Option<String>,
    tool: String,
    arguments: Box<RawValue>,
}

fn build_spawn(arguments: &str, peers: &[(&str, &PeerAction)]) -> Result<Payload, String> {
    let wanted: Spawning = serde_json::from_str(arguments).map_err(|error| {
        format!("/spawn_thread: {error}; expected label (optional), tool and arguments, an object")
    })?;
    if let Some(label) = wanted.label.as_deref().filter(|label| !is_label(label)) {
        return Err(format!(
            "/spawn_thread/label: `{label}` is not a label; expected {LABEL}; try to leave it out"
        ));
    }
    let names = || peers.iter().map(|(name, _)| *name);
    let Some((_, action)) = peers.iter().find(|(name, _)| *name == wanted.tool) else {
        let repair = find_nearest(&wanted.tool, names())
            .map_or_else(|| names().collect::<Vec<_>>().join(" or "), str::to_owned);
        return Err(format!("/spawn_thread/tool: no thread begins with `{}`; try {repair}", wanted.tool));
    };
    let known = &action.known;
    let within = |words: &str| format!("/spawn_thread/arguments: {words}");
    let bytes = match known.model.from_json_text(&known.element.local, wanted.arguments.get().as_bytes()) {
        Some(Ok(bytes)) => bytes,
        Some(Err(slips)) => {
            return Err(slips.iter().map(|one| within(&describe_slip(one))).collect::<Vec<_>>().join("\n"));
        }
        None => return Err(within("its schema does not have the element")),
    };
    let initial =
        Payload::parse(&bytes, &DocumentLimits::default()).map_err(|fault| within(&fault.to_string()))?;
    let mut writer = XmlWriter::new();
    let start =
        writer.open(SPAWN).xmlns(namespaces::CORE).attr_if("suggested_sub_id", wanted.label.as_deref());
    start.content(|inside| inside.open("initial-payload").write_payload(&initial));
    read_back(writer)
}

fn is_label(text: &str) -> bool {
    let plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
    let rest = |c: u8| plain(c) || c == b'-';
    text.len() <= 32 && text.bytes().next().is_some_and(plain) && text.bytes().all(rest)
}
