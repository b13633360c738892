//! The graph as a Mermaid flowchart, as forges and notebooks draw it.
//!
//! Names stand in quoted labels only, every character that could end a label or be read as markup as its
//! number; what names a box in the text is a number of ours. A graph comes in, a text goes out.

use super::{Graph, Node, tags};

/// Draws it.
pub(super) fn draw(graph: &Graph) -> String {
    let mut out = String::from("flowchart LR\n  outside((\"outside\"))\n");
    for (n, node) in graph.listeners.iter().enumerate() {
        let shape = match (graph.entry.as_ref() == Some(&node.name), node.is_workflow) {
            (true, _) => ("([", "])"),
            (false, true) => ("{{", "}}"),
            (false, false) => ("[", "]"),
        };
        out.extend(["  ", &id(n), shape.0, "\"", &label(&node.name), "\"", shape.1, "\n"]);
    }
    for (n, node) in graph.listeners.iter().enumerate().filter(|(_, node)| !node.from_outside.is_empty()) {
        let who = if graph.has_clients() { node.from_outside.join(", ") } else { String::new() };
        out.push_str(&edge("outside", &id(n), node, &who));
    }
    for (from, node) in graph.listeners.iter().enumerate() {
        for peer in &node.peers {
            let found = graph.listeners.iter().enumerate().find(|(_, other)| other.name == *peer);
            if let Some((to, other)) = found {
                out.push_str(&edge(&id(from), &id(to), other, ""));
            }
        }
    }
    out
}

fn id(n: usize) -> String {
    format!("n{n}")
}

fn edge(from: &str, to: &str, node: &Node, who: &str) -> String {
    let mut words = vec![label(&tags(&node.takes))];
    if !node.answers.is_empty() {
        words.push(format!("back: {}", label(&tags(&node.answers))));
    }
    if !who.is_empty() {
        words.insert(0, label(who));
    }
    // What waits for a person is dashed.
    let held = node.held();
    words.extend(held.as_ref().map(|held| label(held)));
    let (line, tip) = if held.is_some() { (" -. \"", "\" .-> ") } else { (" -- \"", "\" --> ") };
    format!("  {from}{line}{}{tip}{to}\n", words.join("<br/>"))
}

/// A text inside a label: letters, digits and what is harmless beside them; anything else by its number.
fn label(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let harmless = matches!(c, ' ' | '-' | '_' | '.' | ',');
        if harmless || c.is_ascii_alphanumeric() {
            out.push(c);
        } else {
            out.extend(["#", &u32::from(c).to_string(), ";"]);
        }
    }
    out
}
