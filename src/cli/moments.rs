//! Moments and periods as a person types them after `--since` and `--until`.

use super::exit::CommandExit;
use super::screen::Screen;
use systole_core::types::time::Millis;
use systole_show::layout;

/// The moment that was typed: a duration ago, a time in the layout's zone, or a time with an offset.
pub(super) fn parse_moment(
    screen: Screen,
    option: &str,
    text: &str,
    now: Millis,
) -> Result<Millis, CommandExit> {
    layout::moment_of(text, now).ok_or_else(|| {
        let times =
            ["10m", "14:30", "2026-11-21", "2026-11-21T14:30:00Z"].map(|time| format!("{option} {time}"));
        let [first, second, third, last] = times;
        let words = format!("{option} `{text}`: this is not a time");
        screen.refuse(words, format!("{first}, {second}, {third} or {last}"))
    })
}

/// The period that was typed. Its end is after its beginning.
pub(super) fn parse_period(
    screen: Screen,
    (since, until): (Option<&str>, Option<&str>),
    now: Millis,
) -> Result<(Option<Millis>, Option<Millis>), CommandExit> {
    let moment = |option: &str, text: Option<&str>| {
        text.map(|text| parse_moment(screen, option, text, now)).transpose()
    };
    let (since, until) = (moment("--since", since)?, moment("--until", until)?);
    if since.zip(until).is_some_and(|(since, until)| since >= until) {
        return Err(screen.refuse("--until is not after --since", "an earlier --since, or a later --until"));
    }
    Ok((since, until))
}
