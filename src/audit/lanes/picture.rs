//! The lanes as a picture: an SVG element for a page, without styles and scripts. The page's style sheet draws its
//! classes.
//!
//! Every name is written by the kit's writer, only as text and attribute values. Lanes come in, the element goes out;
//! the same lanes give the same bytes.

use systole_kit::writer::{XmlWriter, visible};

use super::{ThreadTime, TimeLane, TimeSpan};
use crate::audit::columns::beginning;
use systole_core::types::time::{Millis, spoken};

const SVG: &str = "http://www.w3.org/2000/svg";
/// The width of all, and of the names.
const WIDE: u64 = 1000;
const NAMES: u64 = 170;
/// The height of a row of bars, of the gap between lanes, and of the axis.
const ROW: u64 = 16;
const GAP: u64 = 8;
const AXIS: u64 = 24;
/// The most rows of bars of one lane. More calls at once share the last row.
const ROWS: usize = 8;
/// The most bars of a picture. The table has all.
const BARS: usize = 4_000;
/// Parts of the axis.
const PARTS: u64 = 4;
/// Columns of a name.
const NAME: usize = 20;

/// Draws the lanes.
pub fn picture(time: &ThreadTime) -> String {
    let rows: Vec<(Vec<usize>, u64)> = time.lanes.iter().map(rows).collect();
    let lanes: u64 = rows.iter().map(|(_, rows)| rows * ROW + GAP).sum();
    let (wide, high) = (WIDE.to_string(), (AXIS + lanes).to_string());
    let mut writer = XmlWriter::new();
    let root =
        writer.open("svg").xmlns(SVG).attr("class", "lanes").attr("viewBox", &format!("0 0 {wide} {high}"));
    let root = root.attr("role", "img").attr("aria-labelledby", "lanes-title");
    root.content(|svg| {
        let words = format!("where the time of {} went", time.thread);
        svg.open("title").attr("id", "lanes-title").text(&visible(&words));
        axis(svg, time, AXIS + lanes);
        let (mut y, mut bars) = (AXIS, 0);
        for (lane, (places, count)) in time.lanes.iter().zip(&rows) {
            let name = visible(lane.listener.as_str());
            let label = svg.open("text").attr("class", "lane-name").attr("x", "0");
            label.attr("y", &(y + ROW - 4).to_string()).text(beginning(&name, NAME));
            for (span, row) in lane.spans.iter().zip(places) {
                bars += 1;
                if bars <= BARS {
                    bar(svg, time, lane, span, y + *row as u64 * ROW);
                }
            }
            y += count * ROW + GAP;
        }
    });
    String::from_utf8(writer.finish()).unwrap_or_default()
}

/// The row of each span, and the number of rows: spans of a lane that overlap are drawn below each other.
fn rows(lane: &TimeLane) -> (Vec<usize>, u64) {
    let mut ends: Vec<Millis> = Vec::new();
    let place = |span: &TimeSpan| {
        let free = ends.iter().position(|end| *end <= span.from);
        let row = free.unwrap_or(ends.len()).min(ROWS - 1);
        match ends.get_mut(row) {
            Some(end) => *end = span.to.max(*end),
            None => ends.push(span.to),
        }
        row
    };
    let places = lane.spans.iter().map(place).collect();
    (places, ends.len().max(1) as u64)
}

/// The place of a moment.
fn x(time: &ThreadTime, at: Millis) -> u64 {
    let whole = u128::from(time.ms().max(1));
    let part = u128::from(at.since(time.from)) * u128::from(WIDE - NAMES) / whole;
    NAMES + u64::try_from(part).unwrap_or(0).min(WIDE - NAMES)
}

fn axis(svg: &mut XmlWriter, time: &ThreadTime, high: u64) {
    for part in 0..=PARTS {
        let after = time.ms() * part / PARTS;
        let at = x(time, time.from.plus(after)).to_string();
        let line = svg.open("line").attr("class", "lane-axis").attr("x1", &at).attr("x2", &at);
        line.attr("y1", &(AXIS - 6).to_string()).attr("y2", &high.to_string()).empty();
        let anchor = match part {
            0 => "start",
            PARTS => "end",
            _ => "middle",
        };
        let label = svg.open("text").attr("class", "lane-time").attr("x", &at).attr("y", "12");
        label.attr("text-anchor", anchor).text(&if part == 0 { "0".to_owned() } else { spoken(after) });
    }
}

fn bar(svg: &mut XmlWriter, time: &ThreadTime, lane: &TimeLane, span: &TimeSpan, y: u64) {
    let (from, to) = (x(time, span.from), x(time, span.to));
    let kind = span.kind.as_str();
    let class =
        if span.is_critical { format!("slice slice-{kind} critical") } else { format!("slice slice-{kind}") };
    svg.open("g").attr("class", &class).content(|group| {
        let model = span.model.as_deref().map(|model| format!(" {model}")).unwrap_or_default();
        let open = if span.is_open { ", still open" } else { "" };
        let words =
            format!("{}: {kind}{model} for {}, call {}{open}", lane.listener, spoken(span.ms()), span.call);
        group.open("title").text(&visible(&words));
        let rect = group.open("rect").attr("x", &from.to_string()).attr("y", &(y + 2).to_string());
        rect.attr("width", &(to - from).max(1).to_string()).attr("height", &(ROW - 4).to_string()).empty();
    });
}
