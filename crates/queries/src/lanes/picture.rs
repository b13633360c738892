//! The lanes as a picture: an SVG element for a page, without styles and scripts. The page's style sheet draws its
//! classes. It is as wide as its place: the bars are in parts of the width, the text has the size of the page.
//!
//! Every name is written by the kit's writer, only as text and attribute values. Lanes come in, the element goes out;
//! the same lanes give the same bytes.

use systole_kit::money::{Currency, Money};
use systole_kit::writer::{XmlWriter, make_visible};

use super::short_waits::LongWaits;
use super::{LaneMeasure, ThreadTime, TimeLane, TimeSpan};
use crate::limits::{
    ELEMENT_COLUMNS, LANE_AXIS, LANE_BAR, LANE_BARS, LANE_GAP, LANE_NAME, LANE_PARTS, LANE_ROW, LANE_ROWS,
    LANES_WIDTH,
};
use systole_core::types::time::{Millis, spell_measured};
use systole_show::columns::beginning;

const SVG: &str = "http://www.w3.org/2000/svg";

/// The places of all spans along the axis.
struct BarScale {
    measure: LaneMeasure,
    currency: Option<Currency>,
    whole: u64,
    /// For each lane and each of its spans, its beginning and its end; none if the measure does not count it.
    places: Vec<Vec<Option<(u64, u64)>>>,
    waits: LongWaits,
}

impl BarScale {
    fn of(time: &ThreadTime, measure: LaneMeasure) -> BarScale {
        let spans = time.lanes.iter().flat_map(|lane| &lane.spans);
        let currency = spans.filter_map(|span| span.money).map(|money| money.currency).next();
        let none = |lane: &TimeLane| vec![None; lane.spans.len()];
        let places = time.lanes.iter().map(none).collect();
        let mut scale = BarScale { measure, currency, whole: 0, places, waits: LongWaits::none() };
        if measure == LaneMeasure::Time {
            scale.waits = LongWaits::of(time);
            let at = |moment: Millis| scale.waits.place(moment.count_since(time.from));
            let place = |span: &TimeSpan| Some((at(span.from), at(span.to)));
            scale.places = time.lanes.iter().map(|lane| lane.spans.iter().map(place).collect()).collect();
            scale.whole = at(time.to);
            return scale;
        }
        let mut order: Vec<(usize, usize, &TimeSpan)> = Vec::new();
        for (lane, one) in time.lanes.iter().enumerate() {
            order.extend(one.spans.iter().enumerate().map(|(at, span)| (lane, at, span)));
        }
        order.sort_by_key(|(lane, at, span)| (span.from, *lane, *at));
        for (lane, at, span) in order {
            let Some(amount) = scale.amount(span) else { continue };
            let end = scale.whole.saturating_add(amount);
            if let Some(place) = scale.places.get_mut(lane).and_then(|lane| lane.get_mut(at)) {
                *place = Some((scale.whole, end));
            }
            scale.whole = end;
        }
        scale
    }

    /// How much of the measure a span has.
    fn amount(&self, span: &TimeSpan) -> Option<u64> {
        let amount = match self.measure {
            LaneMeasure::Time => Some(span.ms()),
            LaneMeasure::Tokens => span.tokens,
            LaneMeasure::Money => {
                span.money.filter(|money| Some(money.currency) == self.currency).map(|money| money.micros)
            }
        };
        amount.filter(|amount| *amount > 0)
    }

    /// An amount in words.
    fn show_amount(&self, amount: u64) -> String {
        match (self.measure, self.currency) {
            (LaneMeasure::Money, Some(currency)) => Money { micros: amount, currency }.to_string(),
            (LaneMeasure::Time, _) => spell_measured(self.waits.time(amount)),
            (LaneMeasure::Tokens | LaneMeasure::Money, _) => amount.to_string(),
        }
    }

    fn x(&self, at: u64) -> u64 {
        let whole = u128::from(self.whole.max(1));
        let part = u128::from(at) * u128::from(LANES_WIDTH) / whole;
        u64::try_from(part).unwrap_or(0).min(LANES_WIDTH)
    }
}

/// A part of the width.
fn percent(part: u64) -> String {
    format!("{}.{:02}%", part / 100, part % 100)
}

/// Draws the lanes, with the width of each span by a measure.
pub fn picture(time: &ThreadTime, measure: LaneMeasure) -> String {
    let scale = BarScale::of(time, measure);
    let rows: Vec<(Vec<usize>, u64)> = scale.places.iter().map(|places| rows(places)).collect();
    let lanes: u64 = rows.iter().map(|(_, rows)| LANE_NAME + rows * LANE_ROW + LANE_GAP).sum();
    let mut writer = XmlWriter::new();
    let root = writer.open("svg").xmlns(SVG).attr("class", "lanes").attr("width", "100%");
    let root = root
        .attr("height", &(LANE_AXIS + lanes).to_string())
        .attr("role", "img")
        .attr("aria-labelledby", "lanes-title");
    root.content(|svg| {
        let words = format!("where the {} of {} went", measure.as_str(), time.thread);
        svg.open("title").attr("id", "lanes-title").text(&make_visible(&words));
        breaks(svg, &scale, LANE_AXIS + lanes);
        axis(svg, &scale, LANE_AXIS + lanes);
        let (mut y, mut bars) = (LANE_AXIS, 0);
        for ((lane, (rows, count)), places) in time.lanes.iter().zip(&rows).zip(&scale.places) {
            let name = make_visible(lane.listener.as_str());
            let label = svg.open("text").attr("class", "lane-name").attr("x", "5");
            label.attr("y", &(y + LANE_NAME - 5).to_string()).text(beginning(&name, ELEMENT_COLUMNS));
            y += LANE_NAME;
            for ((span, row), place) in lane.spans.iter().zip(rows).zip(places) {
                let Some(place) = place else { continue };
                bars += 1;
                if bars <= LANE_BARS {
                    bar(svg, (&scale, *place), lane, span, y + *row as u64 * LANE_ROW);
                }
            }
            y += count * LANE_ROW + LANE_GAP;
        }
    });
    String::from_utf8(writer.finish()).unwrap_or_default()
}

/// The row of each span, and the number of rows: spans of a lane that overlap are drawn below each other.
fn rows(spans: &[Option<(u64, u64)>]) -> (Vec<usize>, u64) {
    let mut ends: Vec<u64> = Vec::new();
    let place = |span: &Option<(u64, u64)>| {
        let Some((from, to)) = *span else { return 0 };
        let free = ends.iter().position(|end| *end <= from);
        let row = free.unwrap_or(ends.len()).min(LANE_ROWS - 1);
        match ends.get_mut(row) {
            Some(end) => *end = to.max(*end),
            None => ends.push(to),
        }
        row
    };
    let places = spans.iter().map(place).collect();
    (places, ends.len().max(1) as u64)
}

/// Where the axis is broken.
fn breaks(svg: &mut XmlWriter, scale: &BarScale, high: u64) {
    for (from, to, ms) in scale.waits.places() {
        let (from, to) = (scale.x(from), scale.x(to));
        svg.open("g").attr("class", "lane-break").content(|group| {
            group.open("title").text(&format!("{} without work, drawn shorter", spell_measured(ms)));
            let rect = group.open("rect").attr("x", &percent(from)).attr("width", &percent(to - from));
            rect.attr("y", &(LANE_AXIS - 6).to_string())
                .attr("height", &(high + 6 - LANE_AXIS).to_string())
                .empty();
        });
    }
}

fn axis(svg: &mut XmlWriter, scale: &BarScale, high: u64) {
    for part in 0..=LANE_PARTS {
        let after = scale.whole / LANE_PARTS * part + scale.whole % LANE_PARTS * part / LANE_PARTS;
        let at = percent(scale.x(after));
        let line = svg.open("line").attr("class", "lane-axis").attr("x1", &at).attr("x2", &at);
        line.attr("y1", &(LANE_AXIS - 6).to_string()).attr("y2", &high.to_string()).empty();
        let anchor = match part {
            0 => "start",
            LANE_PARTS => "end",
            _ => "middle",
        };
        let label = svg.open("text").attr("class", "lane-time").attr("x", &at).attr("y", "11");
        label.attr("text-anchor", anchor).text(&if part == 0 {
            "0".to_owned()
        } else {
            scale.show_amount(after)
        });
    }
}

fn bar(
    svg: &mut XmlWriter,
    (scale, place): (&BarScale, (u64, u64)),
    lane: &TimeLane,
    span: &TimeSpan,
    y: u64,
) {
    let (from, to) = (scale.x(place.0), scale.x(place.1));
    let wide = (to - from).max(LANE_BAR);
    let kind = span.kind.as_str();
    let class =
        if span.is_critical { format!("slice slice-{kind} critical") } else { format!("slice slice-{kind}") };
    svg.open("g").attr("class", &class).content(|group| {
        let model = span.model.as_deref().map(|model| format!(" {model}")).unwrap_or_default();
        let open = if span.is_open { ", still open" } else { "" };
        let amount = match scale.measure {
            LaneMeasure::Time => String::new(),
            LaneMeasure::Tokens => format!(", {} tokens", place.1.saturating_sub(place.0)),
            LaneMeasure::Money => format!(", {}", scale.show_amount(place.1.saturating_sub(place.0))),
        };
        let words = format!(
            "{}: {kind}{model} for {}{amount}, call {}{open}",
            lane.listener,
            spell_measured(span.ms()),
            span.call
        );
        group.open("title").text(&make_visible(&words));
        let rect =
            group.open("rect").attr("x", &percent(from.min(LANES_WIDTH - wide))).attr("y", &y.to_string());
        rect.attr("width", &percent(wide)).attr("height", &(LANE_ROW - 4).to_string()).empty();
    });
}
