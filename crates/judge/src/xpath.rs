//! XPath over a payload, for tests: whether an expression holds. Names in an expression have no prefixes: namespaces
//! are removed from the payload before the expression runs. Payloads come from the log, so they are small and well
//! formed.

use libxml::parser::Parser;
use libxml::xpath::{Context, Expression};

/// What is wrong with an expression, if anything is.
pub fn find_mistake(expression: &str) -> Option<String> {
    Expression::compile(expression).err().map(|error| match error.message {
        Some(words) => words.trim().to_owned(),
        None => "it is not an XPath expression".to_owned(),
    })
}

/// Whether an expression is true for a payload. As in XPath's `boolean()`, a found node is true.
pub fn is_true(payload: &str, expression: &str) -> Result<bool, String> {
    let told = || "the payload cannot be read".to_owned();
    let document = Parser::default().parse_string(payload).map_err(|_| told())?;
    let mut root = document.get_root_element().ok_or_else(told)?;
    root.recursively_remove_namespaces().map_err(|_| told())?;
    let looked = Context::new(&document).map_err(|()| told())?;
    let found = looked.evaluate_checked(&format!("boolean({expression})"));
    found.map(|found| found.to_string() == "true").map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_need_no_prefix_and_a_found_node_is_true() {
        let payload = r#"<a:order xmlns:a="urn:a" mode="fast"><a:item>tea &amp; <b xmlns="urn:b">x</b></a:item><a:n>7</a:n></a:order>"#;
        for (expression, wanted) in [
            ("/order/item", true),
            ("/order/@mode = 'fast'", true),
            ("/order/n > 6", true),
            ("/order/n > 7", false),
            ("contains(/order/item, 'tea & ')", true),
            ("/order/item/b = 'x'", true),
            ("/order/none", false),
        ] {
            assert_eq!(is_true(payload, expression), Ok(wanted), "{expression}");
        }
        assert!(find_mistake("/order[").is_some() && find_mistake("/order[1]").is_none());
        assert!(is_true(payload, "p:order").is_err(), "a prefix is not known");
    }
}
