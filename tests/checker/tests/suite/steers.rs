//! Planted faults in steering messages from outside.

use crate::good::over;
use crate::planted;

planted! {
    a_word_that_joins_twice finds ["steer"] by |script| script.repeat("f-steered", "f-steered");

    a_steer_without_a_message finds ["steer"] by |script| script.line("f-steered").cause = Some("f-spawned");

    a_word_under_a_false_name finds ["steer"] by |script| script.line("f-steered").from = "fay";

    a_word_for_another_listener finds ["party"] by |script| script.line("f-steered").to = Some("planner");

    a_word_that_is_handled_and_joined_nothing finds ["steer"] by |script| {
        script.remove("f-steered");
    };

    a_word_that_is_answered_otherwise finds ["steer", "wait"] by |script| {
        script.line("f-handled").body = over("done", 0, 0);
    };

    a_word_for_a_root_without_a_key finds ["steer"] by |script| {
        let mut word = script.remove("f-steered");
        (word.thread, word.call) = ("sess-ffffffffffff", Some("2"));
        (word.to, word.cause) = (Some("planner"), None);
        script.after("f-spawned", word);
        script.remove("f-steer");
        script.remove("f-handled");
    };
}
