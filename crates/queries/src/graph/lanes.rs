//! Places the boxes of the picture and routes each arrow.
//!
//! It does not know what is drawn: boxes have a size, arrows two ends. Boxes are in columns by their
//! distance from the outside. An arrow to a later column passes the columns between in its own lane, and
//! an arrow that leads back runs below everything. So no arrow crosses a box. All numbers are whole, and
//! the same boxes always give the same places.

use crate::limits;

/// A box to place.
#[derive(Clone, Debug)]
pub(super) struct Slab {
    pub(super) column: usize,
    pub(super) wide: usize,
    pub(super) high: usize,
}

/// The place of a box.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Spot {
    pub(super) x: usize,
    pub(super) y: usize,
    pub(super) wide: usize,
    pub(super) high: usize,
}

/// The way of an arrow, from one end to the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Way {
    /// Through these points, in curves that are level at each of them.
    On(Vec<(usize, usize)>),
    /// Down, back below everything and up again: corner by corner.
    Back(Vec<(usize, usize)>),
}

/// The whole plan.
pub(super) struct Plan {
    pub(super) spots: Vec<Spot>,
    pub(super) ways: Vec<Way>,
    pub(super) wide: usize,
    pub(super) high: usize,
}

/// An entry of a column: a box, or the lane of a passing arrow.
#[derive(Clone, Copy)]
enum Place {
    Slab(usize),
    Lane(usize),
}

/// Places the boxes and the arrows between them.
pub(super) fn plan(slabs: &[Slab], arrows: &[(usize, usize)]) -> Plan {
    let columns = slabs.iter().map(|slab| slab.column + 1).max().unwrap_or(0);
    let column_of = |n: usize| slabs.get(n).map_or(0, |slab| slab.column);
    let (lefts, widths) = across(slabs, columns);
    let mut spots: Vec<Spot> =
        slabs.iter().map(|slab| Spot { x: 0, y: 0, wide: slab.wide, high: slab.high }).collect();
    let mut lanes = vec![Vec::new(); arrows.len()];
    let mut high = 0;
    for column in 0..columns {
        let left = lefts.get(column).copied().unwrap_or(0);
        let boxes = slabs.iter().enumerate().filter(|(_, slab)| slab.column == column);
        let passing = arrows.iter().enumerate();
        let passing = passing.filter(|(_, (from, to))| column_of(*from) < column && column < column_of(*to));
        let mut places: Vec<Place> = boxes.map(|(n, _)| Place::Slab(n)).collect();
        places.extend(passing.map(|(n, _)| Place::Lane(n)));
        // Boxes reached from further up are placed further up, so that few arrows cross.
        places.sort_by_key(|place| weight(*place, &spots, &lanes, arrows));
        let mut y = limits::GRAPH_MARGIN;
        for place in places {
            match place {
                Place::Slab(n) => {
                    if let Some(spot) = spots.get_mut(n) {
                        (spot.x, spot.y) = (left, y);
                        y += spot.high + limits::GRAPH_ROOM;
                    }
                }
                Place::Lane(n) => {
                    if let Some(lane) = lanes.get_mut(n) {
                        let width = widths.get(column).copied().unwrap_or(0);
                        lane.extend([
                            (left, y + limits::GRAPH_LANE / 2),
                            (left + width, y + limits::GRAPH_LANE / 2),
                        ]);
                        y += limits::GRAPH_LANE + limits::GRAPH_ROOM;
                    }
                }
            }
        }
        high = high.max(y - limits::GRAPH_ROOM.min(y));
    }
    let mut below = high + limits::GRAPH_ROOM;
    let ways = arrows.iter().zip(lanes).enumerate().filter_map(|(n, (&(from, to), lane))| {
        let (start, end) = (spots.get(from)?, spots.get(to)?);
        Some(way(Leads { n, on: column_of(from) < column_of(to) }, *start, *end, lane, &mut below))
    });
    let ways: Vec<Way> = ways.collect();
    let right = lefts.iter().zip(&widths).map(|(left, width)| left + width).max().unwrap_or(0);
    let bent = ways.iter().any(|way| matches!(way, Way::Back(_)));
    let high = if bent { below } else { high } + limits::GRAPH_MARGIN;
    Plan { spots, ways, wide: right + if bent { limits::GRAPH_GAP } else { limits::GRAPH_MARGIN }, high }
}

/// The left edge and the width of each column.
fn across(slabs: &[Slab], columns: usize) -> (Vec<usize>, Vec<usize>) {
    let widths: Vec<usize> = (0..columns)
        .map(|column| slabs.iter().filter(|s| s.column == column).map(|s| s.wide).max().unwrap_or(0))
        .collect();
    let mut lefts = Vec::with_capacity(columns);
    let mut x = limits::GRAPH_MARGIN;
    for width in &widths {
        lefts.push(x);
        x += width + limits::GRAPH_GAP;
    }
    (lefts, widths)
}

/// The mean height of the sources that lead to a place from earlier columns; a place without sources goes
/// last.
fn weight(place: Place, spots: &[Spot], lanes: &[Vec<(usize, usize)>], arrows: &[(usize, usize)]) -> usize {
    let came_from = |n: usize| {
        let lane = lanes.get(n).and_then(|lane| lane.last()).map(|(_, y)| *y);
        let placed = arrows.get(n).and_then(|(from, _)| spots.get(*from)).filter(|spot| spot.x > 0);
        lane.or_else(|| placed.map(|spot| spot.y + spot.high / 2))
    };
    let heights: Vec<usize> = match place {
        Place::Lane(n) => came_from(n).into_iter().collect(),
        Place::Slab(slab) => {
            let into = arrows.iter().enumerate().filter(|(_, (from, to))| *to == slab && *from != slab);
            into.filter_map(|(n, _)| came_from(n)).collect()
        }
    };
    let sum: usize = heights.iter().sum();
    sum.checked_div(heights.len()).unwrap_or(usize::MAX)
}

/// The arrow, and whether it leads forward.
struct Leads {
    n: usize,
    on: bool,
}

fn way(leads: Leads, start: Spot, end: Spot, lane: Vec<(usize, usize)>, below: &mut usize) -> Way {
    let (out, into) = ((start.x + start.wide, start.y + start.high / 2), (end.x, end.y + end.high / 2));
    if leads.on {
        let mut points = vec![out];
        points.extend(lane);
        points.push(into);
        return Way::On(points);
    }
    // Each arrow that leads back has its own height, and its own place in the gaps beside the boxes.
    let aside = 10 + leads.n % 5 * 8;
    let level = *below;
    *below += limits::GRAPH_LANE;
    let (right, left) = (out.0 + aside, into.0.saturating_sub(aside).max(4));
    let (leaves, reaches) = (out.1 + start.high / 4, into.1 + end.high / 4);
    Way::Back(vec![
        (out.0, leaves),
        (right, leaves),
        (right, level),
        (left, level),
        (left, reaches),
        (into.0, reaches),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slab(column: usize) -> Slab {
        Slab { column, wide: 100, high: 40 }
    }

    #[test]
    fn boxes_never_lie_on_one_another_and_no_way_on_crosses_one() {
        let slabs = [slab(0), slab(1), slab(1), slab(2), slab(3)];
        let plan = plan(&slabs, &[(0, 1), (0, 2), (0, 4), (1, 3), (3, 4), (4, 1), (2, 2)]);
        for (n, one) in plan.spots.iter().enumerate() {
            for other in plan.spots.iter().skip(n + 1) {
                let apart = one.x + one.wide <= other.x
                    || other.x + other.wide <= one.x
                    || one.y + one.high <= other.y
                    || other.y + other.high <= one.y;
                assert!(apart, "{one:?} {other:?}");
            }
            assert!(one.x + one.wide <= plan.wide && one.y + one.high <= plan.high);
        }
        for way in &plan.ways {
            let (Way::On(points) | Way::Back(points)) = way;
            for (x, y) in points {
                let inside = plan.spots.iter().any(|spot| {
                    (spot.x + 1..spot.x + spot.wide).contains(x) && (spot.y..=spot.y + spot.high).contains(y)
                });
                assert!(!inside && *x <= plan.wide && *y <= plan.high, "{way:?}");
            }
        }
        let back = plan.ways.iter().filter(|way| matches!(way, Way::Back(_))).count();
        assert_eq!(back, 2, "to an earlier column, and to itself");
    }
}
