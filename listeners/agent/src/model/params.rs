//! More parameters of a request, merged over what the adapter wrote: objects key by key, `null` removes a key, any
//! other value replaces the old one. The parts that carry the conversation cannot be replaced.

use serde_json::{Map, Value};

/// The first reserved key in `params`, if any.
pub(super) fn find_reserved<'p>(params: &'p Map<String, Value>, reserved: &[&str]) -> Option<&'p str> {
    params.keys().map(String::as_str).find(|key| reserved.contains(key))
}

/// Merges `params` over `body`.
pub(super) fn lay_over(body: &mut Map<String, Value>, params: &Map<String, Value>) {
    for (key, value) in params {
        match (body.get_mut(key), value) {
            (_, Value::Null) => {
                body.remove(key);
            }
            (Some(Value::Object(below)), Value::Object(above)) => lay_over(below, above),
            (_, value) => {
                body.insert(key.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parameters_go_deep_replace_and_take_away() {
        let mut body = json!({"a": {"x": 1, "y": 2}, "b": [1], "max": 5, "model": "m"});
        let params = json!({"a": {"y": 3, "z": {"q": 1}}, "b": [2, 3], "max": null, "t": 0});
        if let (Value::Object(body), Value::Object(params)) = (&mut body, &params) {
            lay_over(body, params);
            assert_eq!(find_reserved(params, &["model"]), None);
            assert_eq!(find_reserved(body, &["messages", "model"]), Some("model"));
        }
        assert_eq!(body, json!({"a": {"x": 1, "y": 3, "z": {"q": 1}}, "b": [2, 3], "t": 0, "model": "m"}));
    }
}
