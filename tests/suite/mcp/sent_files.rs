//! Files that a host of models sends with a call.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;

use super::host::{ModelHost, result};
use crate::file_fields::{PNG, SECRET, site};
use crate::program::Running;

#[test]
fn e20_a_host_of_models_is_told_to_send_the_bytes_and_sends_them() {
    let (site, mock) = site("[{say: It is blue.}]");
    let running = Running::organism_with(site.path(), &SECRET);
    let host = ModelHost::new(site.path(), SECRET[1].1);
    let listed = result(&host.asks("tools/list", &json!({})));
    let tools = listed["tools"].as_array().unwrap();
    let report = tools.iter().find(|tool| tool["name"] == "report").expect("a tool");
    let photo = &report["inputSchema"]["properties"]["photo"];
    let photo = photo.get("$ref").map_or(photo, |part| {
        let part = part.as_str().unwrap().trim_start_matches('#');
        report["inputSchema"].pointer(part).unwrap()
    });
    let mut keys: Vec<&str> = photo["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!((keys, &photo["required"]), (vec!["data", "name", "type"], &json!(["data"])), "{photo}");
    let data = BASE64_STANDARD.encode(PNG);
    let call = json!({"name": "report", "arguments": {"photo": {"data": data, "name": "door.png"}}});
    let called = result(&host.asks("tools/call", &call));
    assert!(called.to_string().contains("It is blue."), "{called}");
    drop(running);
    assert_eq!(mock.stop().len(), 1);
}
