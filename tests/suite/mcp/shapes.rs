//! From an element to a tool of the organism: its JSON Schema, a call with JSON, and the typed answer.

use serde_json::{Value, json};

use super::host::{ModelHost, result};
use crate::organism::folder;
use crate::program::{Running, systole};

const FIELDS: &str = "{name: line, mode: fast | deep = fast, wide?: bool, share?: number, at?: datetime, tags?: [word, 1..3], lines: [{sku: word, quantity: int 1..999}], place?: {city: text, code?: 'word ~ [A-Z]{2}-\\d+'}}";

/// Answers an order with the same under another name.
const MIRROR: &str = r#"import sys, xml.etree.ElementTree as ET
E, S, L = "{https://xml-pipeline.org/ns/envelope/v1}", "{urn:systole:stamp:v1}", "{urn:systole:listener:v1}"
for line in sys.stdin:
    message = ET.fromstring(line)
    order = message[1]
    order.tag = order.tag.replace("order", "ordered")
    reply = ET.Element(L + "reply", delivery=message.find(f"{E}meta/{S}stamp").get("delivery"))
    reply.append(order)
    print(ET.tostring(reply, encoding="unicode"), flush=True)
"#;

#[test]
fn a8_a_payload_of_any_shape_is_a_tool_and_comes_back_as_it_was_sent() {
    let file = format!(
        "organism: {{name: acme}}
payloads:
  order: {FIELDS}
  ordered: {FIELDS}
listeners:
  shop: {{run: [python3, mirror.py], accepts: [order], returns: [ordered], entry: true}}
log: {{path: ./hello.db}}
console: {{listen: \"127.0.0.1:0\"}}
"
    );
    let folder = folder(&[("organism.yaml", &file), ("mirror.py", MIRROR)]);
    let organism = Running::organism(folder.path());
    let host = ModelHost::guest(folder.path());
    let listed = result(&host.states("tools/list", &json!({})));
    let drawn = |element: &str| -> Value {
        let drawn = systole(folder.path(), &["schema", "json", element]);
        serde_json::from_str(&drawn.stdout).unwrap()
    };
    assert_eq!(listed["tools"][0]["inputSchema"], drawn("order"));
    assert_eq!(listed["tools"][0]["outputSchema"], drawn("ordered"));

    let mut answered = 0;
    let judge = jsonschema::validator_for(&drawn("order")).unwrap();
    for (arguments, mistake) in [
        (json!({"name": "a < b & \"c\"", "lines": []}), None),
        (
            json!({"name": "n", "mode": "deep", "wide": true, "share": 0.25, "at": "2026-01-31T12:00:00Z",
                "tags": ["x", "y"], "lines": [{"sku": "A-1", "quantity": 2}, {"sku": "B", "quantity": 999}],
                "place": {"city": "Köln \u{1f600}", "code": "DE-50"}}),
            None,
        ),
        (json!({"name": "n", "lines": [{"sku": "A", "quantity": 0}]}), Some("quantity")),
        (json!({"name": "n", "lines": [], "tags": []}), Some("tags")),
        (json!({"name": "n", "lines": [], "mode": "slow"}), Some("mode")),
        (json!({"name": "n", "lines": [], "place": {"city": "x", "code": "de-1"}}), Some("code")),
        (json!({"lines": []}), Some("name")),
        (json!({"name": "n", "lines": {}}), Some("lines")),
    ] {
        assert_eq!(judge.is_valid(&arguments), mistake.is_none(), "{arguments}");
        let told = result(&host.states("tools/call", &json!({"name": "order", "arguments": arguments})));
        match mistake {
            None => {
                answered += 1;
                let mut expected = arguments.clone();
                // A field that is left out has its default.
                expected.as_object_mut().unwrap().entry("mode").or_insert(json!("fast"));
                assert_eq!((&told["isError"], &told["structuredContent"]), (&json!(false), &expected));
            }
            Some(place) => {
                assert_eq!(told["isError"], true, "{arguments}");
                let words = told["content"][0]["text"].as_str().unwrap();
                assert!(words.contains(place), "{arguments}: {words}");
            }
        }
    }
    let taken = systole(folder.path(), &["log", "--json"]).kinds();
    assert_eq!(taken.iter().filter(|kind| kind.ends_with("/final")).count(), answered, "{taken:?}");
    organism.interrupt();
}
