//! The graph as a Mermaid flowchart, which forges and notebooks can draw.
//!
//! Names appear only in quoted labels, and every character that could end a label or act as markup
//! becomes its number. Boxes have our own numbers as ids. A graph comes in, a text goes out.

use super::{GraphNode, ListenerGraph, tags};

/// Draws it.
pub(super) fn draw(graph: &ListenerGraph) -> String {
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

fn edge(from: &str, to: &str, node: &GraphNode, who: &str) -> String {
    let mut words = vec![label(&tags(&node.takes))];
    if !node.answers.is_empty() {
        words.push(format!("back: {}", label(&tags(&node.answers))));
    }
    if !who.is_empty() {
        words.insert(0, label(who));
    }
    // Arrows that wait for a person are dashed.
    let held = node.describe_held();
    words.extend(held.as_ref().map(|held| label(held)));
    let (line, tip) = if held.is_some() { (" -. \"", "\" .-> ") } else { (" -- \"", "\" --> ") };
    format!("  {from}{line}{}{tip}{to}\n", words.join("<br/>"))
}

/// A text inside a label: letters, digits and harmless signs; every other character as its number.
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
