//! The window of a model: no request is larger than it, a conversation that outgrows it ends with a requested final,
//! and tool output beyond the limit is stored and can be read on.

use tokio::time::Instant;

use super::house::{AgentHouse, AgentPlan, FORMS};
use crate::program::PATIENCE;

/// A model that never ends by itself, but does so (if `ends`) when only its final is accepted.
fn never_ends(dialect: &str, ends: bool) -> String {
    let (call, last): (fn(usize) -> String, &str) = match dialect {
        "native" => (|n| format!("- {{call: {{search: {{query: long {n}}}}}}}\n"), "say: All that I found."),
        _ => (
            |n| {
                format!("- {{say: \"<thinking>More.</thinking><search><query>long {n}</query></search>\"}}\n")
            },
            "say: \"<thinking>So.</thinking><attempt_completion><result>All that I found.</result></attempt_completion>\"",
        ),
    };
    let first = if ends { format!("- {{if: only your final is taken, {last}}}\n") } else { String::new() };
    first + &(40..80).map(call).collect::<String>()
}

const NARROW: &str = ", window: 5000, max_output: 400";

#[test]
fn e11_no_request_is_over_the_window_and_a_final_is_asked_for() {
    for form in FORMS {
        for dialect in ["native", "xml"] {
            let replies = never_ends(dialect, true);
            let (model, agent) = (NARROW, ", turns: 60");
            let window = Some(5000);
            let house = AgentHouse::build(&AgentPlan {
                form,
                dialect,
                replies: &replies,
                model,
                agent,
                window,
                ..AgentPlan::default()
            });
            let ran = house.ask("Tell everything.");
            let words = format!("{form} {dialect}: {ran:?}\n{}", house.told());
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "All that I found.\n"), "{words}");
            let asked = house.asked();
            assert!(asked.iter().all(|seen| seen.status == 200), "none is refused: {words}");
            assert!(asked.len() > 4, "{} requests are no full window: {words}", asked.len());
            let last = &asked.last().unwrap().body;
            assert!(last.to_string().contains("The window is nearly full"), "{last}");
            let tools = |at: usize| asked[at].body.get("tools").is_some();
            // Earlier calls need their tools in the request, but none may be called any more. Ollama has no such
            // setting.
            let stay = dialect == "native" && form != "ollama";
            assert_eq!((tools(0), tools(asked.len() - 1)), (dialect == "native", stay), "{words}");
            let choice = [
                last.get("tool_choice").and_then(|choice| choice.as_str()),
                last.pointer("/tool_choice/type").and_then(|choice| choice.as_str()),
                last.pointer("/toolConfig/functionCallingConfig/mode").and_then(|choice| choice.as_str()),
            ];
            let is_none = choice.into_iter().flatten().any(|choice| choice.eq_ignore_ascii_case("none"));
            assert_eq!(is_none, stay, "{last}");
            house.judged();
        }
    }
}

#[test]
fn e11_who_gives_no_final_when_only_that_is_taken_ends_with_a_report() {
    for dialect in ["native", "xml"] {
        let replies = never_ends(dialect, false);
        let (model, agent, window) = (NARROW, ", turns: 60", Some(5000));
        let house = AgentHouse::build(&AgentPlan {
            dialect,
            replies: &replies,
            model,
            agent,
            window,
            ..AgentPlan::default()
        });
        let ran = house.ask("Tell everything.");
        let words = format!("{dialect}: {ran:?}\n{}", house.told());
        // Its last thought is reported, and is not an answer.
        let (thought, told) = (dialect == "xml", &ran.stderr);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{words}");
        let why =
            "ends without a final from its model: in its last turn (the model's window is nearly full): ";
        assert!(told.contains(why), "{words}");
        assert_eq!(told.contains("Its last thought: More."), thought, "{words}");
        let asked = house.asked();
        assert!(asked.iter().all(|seen| seen.status == 200), "none is refused: {words}");
        let told = asked.iter().filter(|seen| seen.body.to_string().contains("only your final is taken now"));
        assert_eq!(told.count(), 1, "{words}");
        house.judged();
    }
}

/// The file says that the window is larger than it is.
const WIDE: &str = ", window: 20000, max_output: 400";

#[test]
fn e11_a_provider_with_a_smaller_window_than_the_file_says_gets_a_request_without_the_largest_results() {
    for form in FORMS {
        let replies = never_ends("native", true);
        let (model, agent, window) = (WIDE, ", turns: 60", Some(5000));
        let plan = AgentPlan { form, replies: &replies, model, agent, window, ..AgentPlan::default() };
        let house = AgentHouse::build(&plan);
        let ran = house.ask("Tell everything.");
        let words = format!("{form}: {ran:?}\n{}", house.told());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "All that I found.\n"), "{words}");
        let status: Vec<u16> = house.mock.seen().iter().map(|seen| seen.status).collect();
        let refused = status.iter().filter(|status| **status == 400).count();
        assert!((1..4).contains(&refused) && status.last() == Some(&200), "{status:?}: {words}");
        let last = house.asked().pop().unwrap().body.to_string();
        assert!(last.contains("[result of search: ") && last.contains("not shown; recall "), "{last}");
        house.judged();
        let replay = house.systole(&["replay", "@last"]);
        assert_eq!(replay.code, Some(0), "{replay:?}");
    }
}

#[test]
fn e11_after_a_crash_the_same_results_are_left_out() {
    let replies = format!("- {{if: only your final is taken, hang: true}}\n{}", never_ends("native", true));
    let (model, agent, window) = (WIDE, ", turns: 60", Some(5000));
    let house =
        AgentHouse::build(&AgentPlan { replies: &replies, model, agent, window, ..AgentPlan::default() });
    let running = house.run();
    let sent = house.systole(&["send", "ask", "Tell everything.", "--to", "helper", "--no-wait"]);
    assert_eq!(sent.code, Some(0), "{sent:?}");
    let until = |what: &str, is_there: &dyn Fn() -> bool| {
        let end = Instant::now() + PATIENCE;
        while !is_there() {
            assert!(Instant::now() < end, "{what}: {}", house.told());
        }
    };
    let is_last =
        || house.asked().iter().any(|seen| seen.body.to_string().contains("only your final is taken"));
    until("the final is asked for", &|| is_last() && house.asked().last().unwrap().status == 200);
    running.signal(rustix::process::Signal::KILL);
    running.end();
    let before = house.started("helper");
    let running = house.run();
    let is_answer = |body: &str| body.starts_with("<answer") && body.contains("All that I found.");
    let has_answer =
        || house.records().iter().any(|record| is_answer(&String::from_utf8_lossy(&record.body)));
    until("the final", &has_answer);
    running.interrupt();
    let after = house.started("helper");
    assert_eq!(after.len(), before.len() + 1, "{}", house.told());
    assert_eq!(after.last().unwrap().prompt, before.last().unwrap().prompt, "the same is asked");
    house.judged();
    let replay = house.systole(&["replay", "@last"]);
    assert_eq!(replay.code, Some(0), "{replay:?}");
}

#[test]
fn e11_a_long_output_is_shown_in_part_and_read_on() {
    let replies = r#"
- {say: "<thinking>Look.</thinking><search><query>long 100</query></search>"}
- {need: [characters 0 to 300 of \d+ are shown, 'from_seq=\\?"4\\?" to_seq=\\?"4\\?" offset=\\?"300\\?"'], say: "<thinking>Read on.</thinking><recall from_seq=\"4\" to_seq=\"4\" offset=\"300\" length=\"200\"/>"}
- {need: [line 12 of what was found], say: "<thinking>So.</thinking><attempt_completion><result>I have read it.</result></attempt_completion>"}
"#;
    let agent = ", tool_output_max: 300B";
    for form in FORMS {
        let house =
            AgentHouse::build(&AgentPlan { form, dialect: "xml", replies, agent, ..AgentPlan::default() });
        let ran = house.ask("Tell everything.");
        let asked: Vec<String> = house.asked().iter().map(|seen| seen.body["messages"].to_string()).collect();
        let words = format!("{form}: {ran:?}\n{}\n{}", house.told(), asked.join("\n\n"));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "I have read it.\n"), "{words}");
        let bodies: Vec<String> = house.asked().iter().map(|seen| seen.body.to_string()).collect();
        assert!(bodies.iter().all(|body| !body.contains("line 99 of what")), "not all is shown: {words}");
        let kept =
            house.records().iter().any(|record| String::from_utf8_lossy(&record.body).contains("line 99 of"));
        assert!(kept, "all of it is kept: {words}");
        house.judged();
    }
}
