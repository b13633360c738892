//! The 39 tools that five public servers list: their XSD and prompt text as golden files, and what they call.

use serde_json::{Value, json};
use systole_kit::schema::SchemaModel;
use systole_mcp::schema::{RemarkKind, ToolDefinition, ToolVocabulary, VocabularyOptions};

use super::golden::golden;

const LISTED: &str = include_str!("tools-2026-11.json");

fn servers() -> Vec<(String, Vec<ToolDefinition>)> {
    let listed: serde_json::Map<String, Value> = serde_json::from_str(LISTED).unwrap();
    listed.into_iter().map(|(server, tools)| (server, serde_json::from_value(tools).unwrap())).collect()
}

fn vocabulary(server: &str) -> ToolVocabulary {
    let (_, tools) = servers().into_iter().find(|(name, _)| name == server).unwrap();
    ToolVocabulary::from_tools(server, &tools, &VocabularyOptions::default()).unwrap()
}

fn payload(server: &str, element: &str, inside: &str) -> Vec<u8> {
    format!("<{element} xmlns=\"https://xml-pipeline.org/ns/mcp/{server}/v1\">{inside}</{element}>")
        .into_bytes()
}

#[test]
fn g3_the_tools_of_five_servers_have_an_xsd_and_read_well_in_a_prompt() {
    let mut tools = 0;
    for (server, listed) in servers() {
        let vocabulary = ToolVocabulary::from_tools(&server, &listed, &VocabularyOptions::default()).unwrap();
        assert_eq!(vocabulary.refused, [], "{server}");
        let model = SchemaModel::from_xsd(vocabulary.xsd.as_bytes()).unwrap();
        let mut prompt: Vec<String> =
            model.elements().map(|element| model.prompt_entry(element).unwrap()).collect();
        prompt.push(String::new());
        let remarks: Vec<String> = vocabulary.remarks.iter().map(|remark| format!("{remark}\n")).collect();
        golden(format!("tests/suite/golden/{server}.xsd"), &vocabulary.xsd);
        golden(format!("tests/suite/golden/{server}.prompt.txt"), prompt.join("\n"));
        golden(format!("tests/suite/golden/{server}.remarks.txt"), remarks.join(""));
        for tool in &vocabulary.tools {
            assert_eq!(model.find_tool(&tool.element), Some(tool.tool.as_str()));
            assert!(model.is_dangerous(&tool.element), "{}", tool.tool);
        }
        assert!(!vocabulary.remarks.iter().any(|remark| remark.kind == RemarkKind::JsonText), "{remarks:?}");
        tools += vocabulary.tools.len();
    }
    assert_eq!(tools, 39);
}

#[test]
fn g3_a_payload_becomes_the_arguments_of_a_call() {
    let files = vocabulary("filesystem");
    let edits = "<path>a.txt</path><edits><item><oldText>a</oldText><newText>b</newText></item></edits>";
    let call = files.read_arguments(&payload("filesystem", "edit_file", edits)).unwrap();
    let wanted = json!({"path": "a.txt", "edits": [{"oldText": "a", "newText": "b"}], "dryRun": false});
    assert_eq!((call.tool, Value::Object(call.arguments)), ("edit_file", wanted));
    let head = payload("filesystem", "read_text_file", "<path>a</path><head>3</head>");
    assert_eq!(
        Value::Object(files.read_arguments(&head).unwrap().arguments),
        json!({"path": "a", "head": 3})
    );
    let thinking = vocabulary("thinking");
    let inside = "<thought>t</thought><nextThoughtNeeded>true</nextThoughtNeeded><thoughtNumber>1</thoughtNumber>\
                  <totalThoughts>2</totalThoughts><isRevision>no</isRevision>";
    let call = thinking.read_arguments(&payload("thinking", "sequentialthinking", inside)).unwrap();
    assert_eq!(call.arguments["nextThoughtNeeded"], json!(true));
    assert_eq!(call.arguments["isRevision"], json!("no"));
}

#[test]
fn g3_a_structured_answer_becomes_a_payload_and_extras_are_left_out() {
    let files = vocabulary("filesystem");
    let media = json!({"content": [
        {"type": "image", "data": "QQ==", "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "file:///a", "blob": "QQ=="}}
    ]});
    let answer = files.write_answer("read_media_file", &media).unwrap();
    let text = String::from_utf8(answer.payload).unwrap();
    assert!(text.contains("<item><resource><type>resource</type><resource><uri>"), "{text}");
    assert_eq!(answer.left_out, Vec::<String>::new());
    let time = vocabulary("time");
    let now =
        json!({"timezone": "UTC", "datetime": "d\u{1}", "day_of_week": "Monday", "is_dst": false, "x": [1]});
    let answer = time.write_answer("get_current_time", &now).unwrap();
    assert_eq!(answer.left_out, ["/get_current_time-result/x"]);
    assert!(String::from_utf8(answer.payload).unwrap().contains("<datetime>d\\u{1}</datetime>"));
    let wrong = time.write_answer("get_current_time", &json!({"timezone": "UTC"})).unwrap_err();
    assert!(wrong.to_string().contains("datetime"), "{wrong}");
    assert!(time.write_answer("nothing", &json!({})).is_err());
}
