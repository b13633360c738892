//! The graph for a terminal: a block for the outside and one for each listener, with its peers, the
//! elements, and the answers.
//!
//! No line is wider than a terminal, and no line contains control characters. A graph comes in; lines
//! go out.

use super::{GraphNode, ListenerGraph, tags};
use systole_show::columns::{plain, width, wrapped};
use systole_show::layout;

/// One arrow: the receiver, its elements, the answers, and further notes.
struct Arrow {
    to: String,
    takes: String,
    back: String,
    more: String,
}

/// Draws it.
pub(super) fn draw(graph: &ListenerGraph) -> Vec<String> {
    let mut lines = vec![plain(&graph.organism)];
    lines.extend(doors(graph));
    for node in &graph.listeners {
        let arrows: Vec<Arrow> =
            node.peers.iter().filter_map(|peer| Some(arrow(graph.node(peer)?))).collect();
        let unreached = node.depth.is_none();
        if arrows.is_empty() && !unreached {
            continue;
        }
        lines.push(String::new());
        let note = match (unreached, node.is_workflow) {
            (true, _) => ": no listener addresses it",
            (false, true) => ", a workflow",
            (false, false) => "",
        };
        lines.extend(wrapped("", 2, &format!("{}{note}", plain(&node.name))));
        lines.extend(block(&arrows));
    }
    lines
}

/// Who comes in from outside, and to whom: one block for all that may address the same listeners.
fn doors(graph: &ListenerGraph) -> Vec<String> {
    let mut open: Vec<&GraphNode> = graph.listeners.iter().filter(|n| !n.from_outside.is_empty()).collect();
    let mut lines = Vec::new();
    if open.is_empty() {
        let none = "└─ no one: no listener has `entry: true`";
        lines.extend([String::new(), "from outside".to_owned(), none.to_owned()]);
    }
    while let Some(first) = open.first() {
        let who = first.from_outside.clone();
        let (same, others): (Vec<&GraphNode>, Vec<&GraphNode>) =
            open.into_iter().partition(|n| n.from_outside == who);
        let heading = if graph.has_clients() {
            format!("from outside, as {}", plain(&who.join(", ")))
        } else {
            "from outside".to_owned()
        };
        let arrows: Vec<Arrow> = same.into_iter().map(|node| door(graph, node)).collect();
        lines.push(String::new());
        lines.extend(wrapped("", 2, &heading));
        lines.extend(block(&arrows));
        open = others;
    }
    lines
}

fn arrow(node: &GraphNode) -> Arrow {
    let back = if node.answers.is_empty() { "nothing comes back".to_owned() } else { back(node) };
    let more = node.describe_held().map(|held| plain(&held)).unwrap_or_default();
    Arrow { to: plain(&node.name), takes: plain(&tags(&node.takes)), back, more }
}

fn back(node: &GraphNode) -> String {
    format!("◀ {}", plain(&tags(&node.answers)))
}

fn door(graph: &ListenerGraph, node: &GraphNode) -> Arrow {
    let arrow = arrow(node);
    let more = match (graph.entry.as_ref() == Some(&node.name), arrow.more.is_empty()) {
        (false, _) => return arrow,
        (true, true) => "the entry".to_owned(),
        (true, false) => format!("the entry, {}", arrow.more),
    };
    Arrow { more, ..arrow }
}

/// The arrows one below the other, in columns if they fit; otherwise each in as many lines as it needs.
fn block(arrows: &[Arrow]) -> Vec<String> {
    let widest = |part: fn(&Arrow) -> &str| arrows.iter().map(|a| width(part(a))).max().unwrap_or(0);
    let (to, takes, back) = (widest(|a| &a.to), widest(|a| &a.takes), widest(|a| &a.back));
    let more = widest(|a| &a.more);
    let fits = 4 + to + 2 + takes + 2 + back + 2 + more <= layout::columns();
    let mut lines = Vec::new();
    for (n, arrow) in arrows.iter().enumerate() {
        let branch = if n + 1 == arrows.len() { "└─▶ " } else { "├─▶ " };
        if fits {
            let parts = [(&arrow.to, to), (&arrow.takes, takes), (&arrow.back, back), (&arrow.more, more)];
            let columns = parts.map(|(text, column)| format!("{text}{}", " ".repeat(column - width(text))));
            lines.push(format!("{branch}{}", columns.join("  ")).trim_end().to_owned());
            continue;
        }
        let below = if n + 1 == arrows.len() { "    " } else { "│   " };
        let rest = [&arrow.takes, &arrow.back, &arrow.more];
        lines.extend(wrapped(branch, 6, &arrow.to));
        for text in rest.into_iter().filter(|text| !text.is_empty()) {
            lines.extend(wrapped(&format!("{below}  "), 6, text));
        }
    }
    lines
}
