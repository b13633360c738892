//! Moments as a person types them after `--since` and `--until`.

use super::exit::CommandExit;
use super::screen::Screen;
use crate::audit::layout;
use systole_core::types::time::Millis;

/// The moment that was typed: a duration ago, a time in the layout's zone, or a time with an offset.
pub(super) fn typed_moment(
    screen: Screen,
    option: &str,
    text: &str,
    now: Millis,
) -> Result<Millis, CommandExit> {
    layout::moment_of(text, now).ok_or_else(|| {
        let exit = screen.fail(CommandExit::Usage, format!("{option} `{text}`: this is not a time"));
        let times =
            ["10m", "14:30", "2026-11-21", "2026-11-21T14:30:00Z"].map(|time| format!("{option} {time}"));
        let [first, second, third, last] = times;
        screen.say(format!("  try: {first}, {second}, {third} or {last}"));
        exit
    })
}
