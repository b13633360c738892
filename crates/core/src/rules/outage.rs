//! Who is away, in words for people.

use crate::types::ids::Name;
use crate::types::limits;

/// `model gpt is away`, for the word of an outage that calls of a listener wait for.
pub fn outage_words(word: &str, listener: &Name) -> String {
    let listener = listener.as_str();
    match word {
        limits::WORKER_AWAY | limits::BEHIND_WORKER => format!("no worker takes work for {listener}"),
        limits::BROKER_AWAY | limits::BEHIND_BROKER => "the broker cannot be reached".to_owned(),
        limits::PROGRAM_AWAY => format!("the program of {listener} cannot be started"),
        limits::LISTENER_AWAY => format!("{listener} is not part of the running organism"),
        limits::ELEMENT_AWAY => format!("{listener} does not take what it was sent"),
        word => match word.strip_prefix(limits::MODEL_AWAY) {
            Some(model) => format!("model {model} is away"),
            None => format!("{word} is away"),
        },
    }
}
