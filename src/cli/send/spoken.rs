//! An answer in words, as whoever asked in words wants to read it: the text of `<answer>`, and of a failure its code
//! and what it says. Any other answer is shown as it is.

use systole_kit::{Limits, Payload, namespaces};

use super::Screen;
use crate::audit::glance::told;
use crate::cli::awaited::Ending;
use crate::console::told::Record;

/// Shows the record that ended a question.
pub(super) fn show(screen: Screen, ending: &Ending, record: &Record) {
    match ending {
        Ending::Handled => screen.say([&record.from, " took it, and answers nothing"].concat()),
        Ending::Failed(code) => match told(record.body.as_bytes()) {
            Some(error) => {
                screen.say(["error: ", &error.code, ": ", &error.message].concat());
                if let Some(mend) = error.mend {
                    screen.say(["  try: ", &mend].concat());
                }
            }
            None => screen.say(["error: ", code].concat()),
        },
        Ending::Answered => {
            let read = Payload::read(record.body.as_bytes(), &Limits::FROM_PUMP);
            match read.ok().filter(|payload| payload.name().is(namespaces::TALK, "answer")) {
                Some(answer) => screen.show(&answer.text()),
                None => screen.show(&record.body),
            }
        }
    }
}
