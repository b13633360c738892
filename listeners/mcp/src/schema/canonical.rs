//! One spelling of a list of tools, and its hash.
//!
//! Tools come in; text goes out that does not depend on their order, on the order of keys, or on blanks. Two servers
//! with the same text have the same tools.

use sha2::{Digest, Sha256};

use super::sorted_json::write_sorted;
use super::tool::ToolDefinition;

/// The hash of a list of tools, as `sha256:` and hexadecimal digits.
#[must_use]
pub fn hash_of_tools(tools: &[ToolDefinition]) -> String {
    let digest = Sha256::digest(write_lines(tools).as_bytes());
    let digits: Vec<String> = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{}", digits.join(""))
}

/// One line per tool, sorted. No line holds a line break: JSON escapes them.
fn write_lines(tools: &[ToolDefinition]) -> String {
    let mut lines: Vec<String> =
        tools.iter().map(|tool| write_sorted(&serde_json::to_value(tool).unwrap_or_default())).collect();
    lines.sort();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_hash_covers_every_part_and_no_order() {
        let one = ToolDefinition::new("a", json!({"type": "object", "properties": {"x": {}, "y": {}}}));
        let two = ToolDefinition::new("b", json!({"type": "object"}));
        let swapped = ToolDefinition::new("a", json!({"properties": {"y": {}, "x": {}}, "type": "object"}));
        let hash = hash_of_tools(&[one.clone(), two.clone()]);
        assert_eq!(hash, hash_of_tools(&[two.clone(), swapped]));
        assert!(hash.starts_with("sha256:") && hash.len() == 71, "{hash}");
        let changed = [
            ToolDefinition { title: Some("A".into()), ..one.clone() },
            ToolDefinition { description: Some("A".into()), ..one.clone() },
            ToolDefinition { output_schema: Some(json!({})), ..one.clone() },
            ToolDefinition { annotations: Some(json!({"readOnlyHint": true})), ..one.clone() },
            ToolDefinition { name: "c".into(), ..one.clone() },
            ToolDefinition { input_schema: json!({}), ..one },
        ];
        for other in changed {
            assert_ne!(hash, hash_of_tools(&[other.clone(), two.clone()]), "{other:?}");
        }
    }
}
