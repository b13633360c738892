//! The graph as a picture: an SVG document that needs no script, no font and no external resource.
//!
//! Every name is written by the kit's writer, only as text and attribute values. A graph comes in,
//! the document goes out; the same graph gives the same bytes.

use systole_kit::writer::{XmlWriter, make_visible};

use super::lanes::{self, Slab, Spot, Way};
use super::{GraphNode, ListenerGraph, tags};
use crate::limits::{GRAPH_COLUMNS, GRAPH_LANE, GRAPH_LETTER, GRAPH_LINE};
use systole_show::columns::{cut_always, width};

const SVG: &str = "http://www.w3.org/2000/svg";

const STYLE: &str = "\
text{font:13px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#1d1f1e}\
.name{font-weight:bold}.small{fill:#5b605d}.held{fill:#7a4a00}.paper{fill:#fff}.box{fill:#f4f2ec;stroke:#8a8f8b}\
.entry{stroke:#17605a;stroke-width:2}.outside{fill:#e4f0ee;stroke:#17605a}.apart{stroke-dasharray:4 3}\
.way{fill:none;stroke:#5b605d;stroke-width:1.5}.back{stroke:#7a4a00;stroke-dasharray:5 3}.tip{fill:#5b605d}\
@media(prefers-color-scheme:dark){text{fill:#e6e8e5}.small{fill:#a3aaa6}.held{fill:#eec06a}.paper{fill:#1c201f}\
.box{fill:#121514;stroke:#7c8682}.box.entry,.box.outside{stroke:#7fc8bf}.outside{fill:#1b3330}.way{stroke:#a3aaa6}\
.way.back{stroke:#eec06a}.tip{fill:#a3aaa6}}";

/// The content of one box.
struct Card {
    lines: Vec<(&'static str, String)>,
    class: &'static str,
    column: usize,
}

/// Draws it.
pub(super) fn draw(graph: &ListenerGraph) -> Vec<u8> {
    let cards = cards(graph);
    let slabs: Vec<Slab> = cards.iter().map(Card::slab).collect();
    let plan = lanes::plan(&slabs, &arrows(graph));
    let (wide, high) = (plan.wide.to_string(), plan.high.to_string());
    let mut writer = XmlWriter::new();
    let root = writer.open("svg").xmlns(SVG).attr("width", &wide).attr("height", &high);
    let root = root.attr("viewBox", &format!("0 0 {wide} {high}")).attr("role", "img");
    root.content(|svg| {
        svg.open("title").text(&make_visible(&graph.organism));
        svg.open("style").text(STYLE);
        svg.open("defs").content(|defs| {
            let tip = defs.open("marker").attr("id", "tip").attr("viewBox", "0 0 8 8").attr("refX", "7");
            let tip = tip.attr("refY", "4").attr("markerWidth", "8").attr("markerHeight", "8");
            tip.attr("orient", "auto").content(|tip| {
                tip.open("path").attr("class", "tip").attr("d", "M0 0L8 4L0 8z").empty();
            });
        });
        svg.open("rect").attr("class", "paper").attr("width", &wide).attr("height", &high).empty();
        plan.ways.iter().for_each(|way| arrow(svg, way));
        cards.iter().zip(&plan.spots).for_each(|(card, spot)| card.draw(svg, *spot));
    });
    let mut document = writer.finish();
    document.push(b'\n');
    document
}

/// The boxes: the outside first, then the listeners in order of the graph.
fn cards(graph: &ListenerGraph) -> Vec<Card> {
    let mut outside = vec![("name", "outside".to_owned())];
    if graph.has_clients() {
        let mut who: Vec<&str> =
            graph.listeners.iter().flat_map(|n| &n.from_outside).map(String::as_str).collect();
        who.sort_unstable();
        who.dedup();
        outside.extend(who.into_iter().map(|who| ("small", make_visible(who).into_owned())));
    }
    let mut cards = vec![Card { lines: outside, class: "box outside", column: 0 }];
    let last = graph.listeners.iter().filter_map(|node| node.depth).max().unwrap_or(0);
    cards.extend(graph.listeners.iter().map(|node| card(graph, node, last)));
    cards
}

fn card(graph: &ListenerGraph, node: &GraphNode, last: usize) -> Card {
    let mut lines = vec![("name", make_visible(&node.name).into_owned())];
    let list = |lead: &str, elements: &[String]| format!("{lead}{}", make_visible(&tags(elements)));
    lines.push(("small", list("takes   ", &node.takes)));
    let answers =
        if node.answers.is_empty() { "answers nothing".to_owned() } else { list("answers ", &node.answers) };
    lines.push(("small", answers));
    lines.extend(node.describe_held().map(|held| ("held", make_visible(&held).into_owned())));
    if graph.has_clients() && !node.from_outside.is_empty() {
        lines.push(("small", format!("for     {}", make_visible(&node.from_outside.join(", ")))));
    }
    let class = match node.depth {
        None => "box apart",
        Some(_) if graph.entry.as_ref() == Some(&node.name) => "box entry",
        Some(_) => "box",
    };
    // Unreachable listeners come after everything else.
    Card { lines, class, column: node.depth.unwrap_or(last + 1) }
}

/// The arrows between boxes, by the numbers of the boxes.
fn arrows(graph: &ListenerGraph) -> Vec<(usize, usize)> {
    let mut arrows = Vec::new();
    for (n, node) in graph.listeners.iter().enumerate() {
        if !node.from_outside.is_empty() {
            arrows.push((0, n + 1));
        }
        let peers = node.peers.iter().filter_map(|peer| graph.listeners.iter().position(|o| o.name == *peer));
        arrows.extend(peers.map(|peer| (n + 1, peer + 1)));
    }
    arrows
}

impl Card {
    fn slab(&self) -> Slab {
        let columns = self.lines.iter().map(|(_, text)| width(text).min(GRAPH_COLUMNS)).max().unwrap_or(0);
        Slab {
            column: self.column,
            wide: columns * GRAPH_LETTER + 2 * GRAPH_LANE,
            high: self.lines.len() * GRAPH_LINE + GRAPH_LANE,
        }
    }

    fn draw(&self, svg: &mut XmlWriter, spot: Spot) {
        svg.open("g").content(|group| {
            if self.lines.iter().any(|(_, text)| width(text) > GRAPH_COLUMNS) {
                let whole: Vec<&str> = self.lines.iter().map(|(_, text)| text.as_str()).collect();
                group.open("title").text(&whole.join("\n"));
            }
            let rect = group.open("rect").attr("class", self.class);
            let rect = rect.attr("x", &spot.x.to_string()).attr("y", &spot.y.to_string());
            let rect = rect.attr("width", &spot.wide.to_string()).attr("height", &spot.high.to_string());
            rect.attr("rx", "6").empty();
            for (n, (class, text)) in self.lines.iter().enumerate() {
                let y = spot.y + (n + 1) * GRAPH_LINE;
                let text_at =
                    group.open("text").attr("class", class).attr("x", &(spot.x + GRAPH_LANE).to_string());
                let text_at = text_at.attr("y", &y.to_string()).attr("xml:space", "preserve");
                text_at.text(&cut_always(text, GRAPH_COLUMNS));
            }
        });
    }
}

fn arrow(svg: &mut XmlWriter, way: &Way) {
    let (class, path) = match way {
        Way::On(points) => ("way", curves(points)),
        Way::Back(points) => ("way back", corners(points)),
    };
    svg.open("path").attr("class", class).attr("d", &path).attr("marker-end", "url(#tip)").empty();
}

fn point((x, y): (usize, usize)) -> String {
    format!("{x} {y}")
}

/// Curves that are level at each point.
fn curves(points: &[(usize, usize)]) -> String {
    let mut path = String::new();
    let mut before: Option<(usize, usize)> = None;
    for &to in points {
        match before {
            None => path.extend(["M", &point(to)]),
            Some(from) => {
                let middle = from.0.midpoint(to.0);
                let (leaves, reaches) = (point((middle, from.1)), point((middle, to.1)));
                path.extend(["C", &leaves, ",", &reaches, ",", &point(to)]);
            }
        }
        before = Some(to);
    }
    path
}

fn corners(points: &[(usize, usize)]) -> String {
    let mut path = String::new();
    for (n, to) in points.iter().enumerate() {
        path.extend([if n == 0 { "M" } else { "L" }, &point(*to)]);
    }
    path
}
