//! The ticks of schedules: a cron expression in a time zone, or a period.
//!
//! Input: what the file says. Output: the ticks before and after a moment. The zones are those of this machine; without
//! them, a zone is refused. This crate reads no clock.

use std::fmt;

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use systole_core::types::limits::SECOND_MS;
use systole_core::types::schedule::TickTimes;
use systole_core::types::time::Millis;

/// Each field of a cron expression: its name, what stands in it, and a field that is right.
const FIELDS: [(&str, &str, &str); 5] = [
    ("minute", "0 to 59", "0"),
    ("hour", "0 to 23", "7"),
    ("day of the month", "1 to 31, or L for the last", "1"),
    ("month", "1 to 12, or JAN to DEC", "1"),
    ("day of the week", "0 to 7, or SUN to SAT, with 0 and 7 for Sunday", "1-5"),
];
const EVERY: &str = "every ";
const UTC: &str = "UTC";

/// Why a rule cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RuleFault {
    /// It has another number of fields.
    #[error(
        "it has {0} fields, and a cron expression has 5: minute, hour, day of the month, month, day of the week"
    )]
    Fields(usize),
    /// A field is wrong.
    #[error("`{text}` is no {name}, which is {allowed}, with `*`, lists, ranges and steps")]
    Field {
        /// The field.
        text: String,
        /// Its name.
        name: &'static str,
        /// What may stand in it.
        allowed: &'static str,
        /// The expression with another field in its place.
        fix: String,
    },
    /// Its days never come.
    #[error("there is no such day, so it never ticks")]
    Never,
    /// This machine has no time zones.
    #[error("this machine has no time zone data, so that `{0}` is not known here")]
    NoZones(String),
    /// This machine does not know the zone.
    #[error("there is no time zone `{0}` in the data of this machine")]
    UnknownZone(String),
    /// The period is not one of whole seconds.
    #[error("ticks are at whole seconds")]
    Period,
    /// A recorded rule is none.
    #[error("`{0}` is no rule")]
    Unreadable(String),
}

/// When a schedule ticks.
#[derive(Clone, Debug)]
pub struct TickRule {
    text: String,
    kind: RuleKind,
}

#[derive(Clone, Debug)]
enum RuleKind {
    /// At each multiple of these milliseconds since 1970.
    Period(u64),
    /// When one of the expressions holds in the zone.
    Cron { any: Vec<Cron>, zone: TimeZone },
}

impl TickRule {
    /// At whole multiples of a time since 1970 in UTC, so that a restart changes no tick.
    pub fn from_period(ms: u64) -> Result<TickRule, RuleFault> {
        if ms == 0 || !ms.is_multiple_of(SECOND_MS) {
            return Err(RuleFault::Period);
        }
        Ok(TickRule { text: format!("{EVERY}{}s", ms / SECOND_MS), kind: RuleKind::Period(ms) })
    }

    /// When a cron expression holds in a zone; in UTC if none is named.
    pub fn from_cron(cron: &str, zone: Option<&str>) -> Result<TickRule, RuleFault> {
        let fields: Vec<&str> = cron.split_ascii_whitespace().collect();
        let Ok(fields) = <[&str; 5]>::try_from(fields.as_slice()) else {
            return Err(RuleFault::Fields(fields.len()));
        };
        let any = parse_cron(fields)?;
        let name = zone.unwrap_or(UTC);
        let text = format!("{} {name}", fields.join(" "));
        let rule = TickRule { text, kind: RuleKind::Cron { any, zone: find_zone(name)? } };
        if rule.next_after(Millis(0)).is_none() { Err(RuleFault::Never) } else { Ok(rule) }
    }

    /// Reads the text of a rule, as the log has it.
    pub fn parse(text: &str) -> Result<TickRule, RuleFault> {
        let unreadable = || RuleFault::Unreadable(text.to_owned());
        if let Some(period) = text.strip_prefix(EVERY) {
            let seconds = period.strip_suffix('s').and_then(|digits| digits.parse::<u64>().ok());
            let ms = seconds.and_then(|seconds| seconds.checked_mul(SECOND_MS)).ok_or_else(unreadable)?;
            return TickRule::from_period(ms);
        }
        let (cron, zone) = text.rsplit_once(' ').ok_or_else(unreadable)?;
        TickRule::from_cron(cron, Some(zone))
    }

    /// The period; `None` for a cron expression.
    pub fn period_ms(&self) -> Option<u64> {
        match self.kind {
            RuleKind::Period(ms) => Some(ms),
            RuleKind::Cron { .. } => None,
        }
    }
}

impl fmt::Display for TickRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

/// The time zones that this machine knows.
pub fn list_zones() -> Vec<String> {
    jiff::tz::db().available().map(|name| name.to_string()).collect()
}

fn find_zone(name: &str) -> Result<TimeZone, RuleFault> {
    if name == UTC {
        return Ok(TimeZone::UTC);
    }
    TimeZone::get(name).map_err(|_| match jiff::tz::db().available().next() {
        Some(_) => RuleFault::UnknownZone(name.to_owned()),
        None => RuleFault::NoZones(name.to_owned()),
    })
}

/// The expressions that stand for one. In autumn an hour comes twice. An expression of one minute in one hour is right
/// there, and in spring: it fires once. One with several minutes in one hour becomes one for each minute, so that it is
/// right too.
fn parse_cron(fields: [&str; 5]) -> Result<Vec<Cron>, RuleFault> {
    let whole = parse_fields(fields).map_err(|()| find_wrong(fields))?;
    let [hours, minutes] = [&whole.pattern.hours, &whole.pattern.minutes];
    if hours.from_wildcard || hours.values().len() != 1 {
        return Ok(vec![whole]);
    }
    let of_minute = |minute: u16| {
        let mut fields = fields;
        let (minute, hour) = (minute.to_string(), hours.values().first().map(ToString::to_string));
        let hour = hour.unwrap_or_default();
        (fields[0], fields[1]) = (&minute, &hour);
        parse_fields(fields)
    };
    minutes.values().into_iter().map(of_minute).collect::<Result<_, ()>>().map_err(|()| find_wrong(fields))
}

fn parse_fields(fields: [&str; 5]) -> Result<Cron, ()> {
    let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
    parser.parse(&fields.join(" ")).map_err(|_| ())
}

/// The first field that is wrong.
fn find_wrong(fields: [&str; 5]) -> RuleFault {
    let is_wrong = |place: &usize| {
        let mut alone = ["*"; 5];
        alone.iter_mut().zip(fields).skip(*place).take(1).for_each(|(one, field)| *one = field);
        parse_fields(alone).is_err()
    };
    let place = (0..FIELDS.len()).find(is_wrong).unwrap_or_default();
    let (mut fixed, text) = (fields, fields.get(place).copied().unwrap_or_default().to_owned());
    let (name, allowed, right) = FIELDS.get(place).copied().unwrap_or_default();
    fixed.iter_mut().skip(place).take(1).for_each(|field| *field = right);
    RuleFault::Field { text, name, allowed, fix: fixed.join(" ") }
}

fn to_zoned(moment: Millis, zone: &TimeZone) -> Option<Zoned> {
    let stamp = Timestamp::from_millisecond(i64::try_from(moment.0).ok()?).ok()?;
    Some(stamp.to_zoned(zone.clone()))
}

fn to_millis(moment: &Zoned) -> Option<Millis> {
    u64::try_from(moment.timestamp().as_millisecond()).ok().map(Millis)
}

impl TickTimes for TickRule {
    fn next_after(&self, moment: Millis) -> Option<Millis> {
        match &self.kind {
            RuleKind::Period(ms) => (moment.0 / ms).checked_add(1)?.checked_mul(*ms).map(Millis),
            RuleKind::Cron { any, zone } => {
                let from = to_zoned(moment, zone)?;
                let next = any.iter().filter_map(|cron| cron.find_next_occurrence(&from, false).ok());
                next.filter_map(|next| to_millis(&next)).min()
            }
        }
    }

    fn last_before(&self, moment: Millis) -> Option<Millis> {
        match &self.kind {
            RuleKind::Period(ms) => Some(Millis((moment.0.checked_sub(1)? / ms).checked_mul(*ms)?)),
            RuleKind::Cron { any, zone } => {
                // The search goes back from the second that the moment lies in, and leaves that out.
                let second = Millis(moment.0.div_ceil(SECOND_MS).checked_mul(SECOND_MS)?);
                let from = to_zoned(second, zone)?;
                let last = any.iter().filter_map(|cron| cron.find_previous_occurrence(&from, false).ok());
                last.filter_map(|last| to_millis(&last)).max()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = include_str!("../../../tests/fixtures/schedules/vienna-2026.txt");
    const ZONE: &str = "Europe/Vienna";

    fn at(text: &str) -> Millis {
        Millis::parse(text).unwrap()
    }

    /// The ticks of 2026 in Vienna, forward, and the same backward.
    fn list_year(rule: &TickRule) -> Vec<Millis> {
        let (begin, end) = (at("2025-12-31T23:00:00Z"), at("2026-12-31T23:00:00Z"));
        let next = |last: &Millis| rule.next_after(*last).filter(|tick| *tick < end);
        let forward: Vec<Millis> = std::iter::successors(next(&Millis(begin.0 - 1)), next).collect();
        let before = |first: &Millis| rule.last_before(*first).filter(|tick| *tick >= begin);
        let mut backward: Vec<Millis> = std::iter::successors(before(&end), before).collect();
        backward.reverse();
        assert_eq!(forward, backward, "{rule}");
        forward
    }

    #[test]
    fn d13_the_ticks_of_vienna_in_2026_are_those_of_another_library() {
        let parts = TABLE.split_inclusive('\n').collect::<Vec<_>>();
        let mut tried = 0;
        for part in parts.chunk_by(|_, next| next.starts_with(' ')) {
            let (head, listed) = part.split_first().unwrap();
            let [cron, count, hash] = head.split(" | ").collect::<Vec<_>>().try_into().unwrap();
            let ticks = list_year(&TickRule::from_cron(cron, Some(ZONE)).unwrap());
            let listed: Vec<Millis> = listed.iter().map(|line| at(line.trim())).collect();
            let days = [
                "2026-03-27T23:00:00Z",
                "2026-03-30T23:00:00Z",
                "2026-10-23T22:00:00Z",
                "2026-10-26T22:00:00Z",
            ];
            let [spring, after_spring, autumn, after_autumn] = days.map(at);
            let is_near = |tick: &&Millis| {
                (spring..after_spring).contains(*tick) || (autumn..after_autumn).contains(*tick)
            };
            assert_eq!(ticks.iter().filter(is_near).copied().collect::<Vec<_>>(), listed, "{cron}");
            assert_eq!(ticks.len(), count.parse::<usize>().unwrap(), "{cron}");
            let whole: String = ticks.iter().map(|tick| format!("{tick}\n")).collect();
            let own = systole_core::types::ids::Digest::hash_bytes(whole.as_bytes());
            assert_eq!(own.to_string(), hash.trim(), "{cron}");
            tried += 1;
        }
        assert_eq!(tried, 15, "each expression of the table");
    }

    #[test]
    fn d13_a_moment_within_a_second_has_the_tick_of_that_second_before_it() {
        let rule = TickRule::from_cron("30 2 * * *", Some("UTC")).unwrap();
        let tick = at("2026-05-01T02:30:00Z");
        assert_eq!(rule.last_before(tick.add_ms(1)), Some(tick));
        assert_eq!(rule.last_before(tick.add_ms(1_500)), Some(tick));
        assert_eq!(rule.last_before(tick), Some(at("2026-04-30T02:30:00Z")));
        assert_eq!(rule.next_after(tick), Some(at("2026-05-02T02:30:00Z")));
        assert_eq!(rule.next_after(Millis(tick.0 - 1)), Some(tick));
        let rule = TickRule::from_period(900_000).unwrap();
        let tick = at("2026-05-01T02:30:00Z");
        assert_eq!(rule.last_before(tick.add_ms(1)), Some(tick));
        assert_eq!(rule.last_before(tick), Some(at("2026-05-01T02:15:00Z")));
        assert_eq!(rule.next_after(tick), Some(at("2026-05-01T02:45:00Z")));
        assert_eq!(TickRule::from_period(1_000).unwrap().last_before(Millis(0)), None);
    }

    #[test]
    fn d13_a_rule_is_read_as_it_was_written_and_a_wrong_one_names_its_field() {
        for text in ["0 7 * * 1-5 Europe/Vienna", "*/15 2 L * * UTC", "every 900s"] {
            assert_eq!(TickRule::parse(text).unwrap().to_string(), text);
        }
        for text in
            ["", "every", "every s", "every 0s", "every 15m", "0 7 * * 1-5", "0 7 * * 1-5 Mars/Olympus"]
        {
            assert!(TickRule::parse(text).is_err(), "{text}");
        }
        let wrong = |cron| TickRule::from_cron(cron, None).unwrap_err();
        assert_eq!(wrong("0 7 * *"), RuleFault::Fields(4));
        assert_eq!(wrong("@daily"), RuleFault::Fields(1));
        assert_eq!(wrong("0 0 30 2 *"), RuleFault::Never);
        let RuleFault::Field { text, name, fix, .. } = wrong("0 25 * * 1-5") else { panic!() };
        assert_eq!((&*text, name, &*fix), ("25", "hour", "0 7 * * 1-5"));
        let RuleFault::Field { text, name, .. } = wrong("0 7 * * 1-9") else { panic!() };
        assert_eq!((&*text, name), ("1-9", "day of the week"));
        assert_eq!(TickRule::from_period(1_500).unwrap_err(), RuleFault::Period);
    }
}
