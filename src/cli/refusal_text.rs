//! A refusal for a person: what is wrong, where, what was expected, what came, and the fix.

use systole_kit::writer::make_visible;

use super::exit::CommandExit;
use super::screen::Screen;
use systole_api::refusal_page::write_refusal;
use systole_api::types::ApiRefusal;
use systole_core::types::codes::Code;
use systole_show::layout::TextTone;

/// The exit for a refusal with that code: later the same may be taken, or it may not.
pub(super) fn exit_of(code: Code) -> CommandExit {
    match code {
        Code::IngressUnavailable | Code::IngressThrottled => CommandExit::Unavailable,
        _ => CommandExit::Payload,
    }
}

/// Prints a refusal.
pub(super) fn say(screen: Screen, refusal: &ApiRefusal) {
    let page = make_visible(write_refusal(refusal).trim_end()).into_owned();
    let rest = page.strip_prefix("refused:").unwrap_or(&page);
    screen.say_drawn(&format!("{}{rest}", screen.for_talk().colour(TextTone::Bad, "refused:")));
}
