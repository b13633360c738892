//! Faults where children begin and end.

use crate::good::{A, D1, HEAT, WARM, finished, spawned};
use crate::planted;
use crate::script::Line;

planted! {
    a_spawn_unconfirmed finds ["spawn", "turn-due"] by |script| {
        script.remove("spawned");
    };

    a_spawn_without_a_child finds ["call-open", "finished", "spawn"] by |script| {
        script.remove("begin");
        script.remove("warm");
        script.line("finished").cause = Some("found");
        script.line("finished").call = Some("1/1.2");
    };

    a_child_confirmed_before_it_begins finds ["spawn"] by |script| {
        let confirmed = script.remove("spawned");
        script.after("spawn", confirmed);
    };

    a_child_that_moves_before_it_is_confirmed finds ["spawn"] by |script| {
        let confirmed = script.remove("spawned");
        script.after("warm", confirmed);
    };

    a_child_of_another_spawn finds ["spawn"] by |script| {
        script.line("begin").origin = Some("call");
    };

    a_child_without_an_origin finds ["spawn"] by |script| script.line("begin").origin = None;

    a_confirmation_with_another_head finds ["spawn"] by |script| {
        script.line("spawned").body = spawned(HEAT, A, "spawn");
    };

    a_confirmation_of_another_child finds ["spawn"] by |script| {
        script.line("spawned").body = spawned(D1, A, "begin");
    };

    a_confirmation_that_nobody_asked_for finds ["closed-below", "spawn", "turn-due"] by |script| {
        // It answers the open call to the peer in place of the spawn.
        let confirmed = script.line("spawned");
        confirmed.call = Some("1/1.0");
        script.remove("found");
        script.remove("attempt");
        script.line("refused").cause = Some("finished");
    };

    a_child_finished_twice finds ["finished"] by |script| script.repeat("finished", "finished");

    a_child_finished_that_still_runs finds ["finished"] by |script| {
        let told = script.remove("finished");
        script.after("spawned", Line { cause: Some("begin"), ..told });
    };

    a_child_whose_end_is_not_told finds ["finished"] by |script| {
        script.remove("finished");
    };

    a_child_finished_with_another_head finds ["finished"] by |script| {
        script.line("finished").body = finished(HEAT, "answered", "begin", WARM);
    };

    a_child_finished_with_another_outcome finds ["finished"] by |script| {
        script.line("d-finished").body = finished(D1, "failed", "d-child-end", "");
    };

    a_child_finished_with_another_answer finds ["finished"] by |script| {
        script.line("finished").body = finished(HEAT, "answered", "warm", "<warm xmlns=\"urn:e\">22</warm>");
    };

    a_child_finished_to_another_call finds ["finished"] by |script| {
        let told = script.line("finished");
        (told.call, told.to) = (Some("2"), Some("planner"));
    };
}
