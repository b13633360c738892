//! What a composer's workflow does: each kind of step, with good input and bad.

use super::house::WorkflowHouse;
use crate::program::{Events, Running, ask, page, run_file, systole};

/// What a workflow with these payloads and goals says to a question.
fn said(goals: &str, replies: &str) -> (Option<i32>, String, String) {
    let house = WorkflowHouse::build(goals, replies);
    let ran = house.systole(&["ask", "Go."]);
    (ran.code, ran.stdout, ran.stderr)
}

#[test]
fn f2_a_loop_ends_when_nothing_is_left_to_change_and_the_limit_is_in_no_prompt() {
    let goals = "
workflows:
  polish:
    by: writer
    goals:
      - draft: {repeat: {until: converged, at_most: 977}, goals: [improve: Improve it.]}
      - answer: {do: Give it., sees: [draft]}
";
    let replies = r#"
- {if: 'iteration="1"', say: one, times: always}
- {if: 'iteration="2"', need: [answer only CONVERGED], say: two, times: always}
- {if: 'iteration="3"', say: CONVERGED, times: always}
- {if: "<goal id=\"improve\">\ntwo\n", say: It is two., times: always}
"#;
    let house = WorkflowHouse::build(goals, replies);
    let ran = house.systole(&["ask", "Go."]);
    assert_eq!((ran.code, &*ran.stdout), (Some(0), "It is two.\n"), "{ran:?}");
    for seen in house.mock.seen() {
        // The code in the core's own tags may hold any digits.
        let body = format!("{:?}", seen.body);
        let mut parts = body.split("core-").map(|part| part.get(8..).unwrap_or_default());
        assert!(!parts.any(|part| part.contains("977")), "{body}");
    }
    house.judged();
}

#[test]
fn f2_a_call_sends_elements_that_hold_text() {
    let goals = "
payloads: {q: text, a: text}
listeners:
  t: {run: [/bin/sh, -c, 'cat >/dev/null; echo \"<a xmlns=\\\"https://xml-pipeline.org/ns/hello/v1\\\">heard</a>\"'], mode: once, accepts: [q], returns: [a]}
workflows:
  decide: {by: writer, goals: [{answer: Decide.}]}
  outer:
    by: writer
    goals:
      - frame: Frame it.
      - decide: {call: ask, to: decide, with: frame}
      - asked: {call: ask, to: decide, with: {.: request}}
      - fixed: {call: ask, to: decide, with: {.: {text: a < b}}}
      - told: {call: q, to: t, with: {.: request}}
      - answer: {do: Say it., sees: [told]}
";
    let replies = "
- {if: '<current-goal id=\"frame\"', say: It is framed., times: always}
- {if: '<current-goal id=\"answer\"', say: so, times: always}
";
    let house = WorkflowHouse::build(goals, replies);
    let ran = house.systole(&["ask", "--to", "outer", "Go."]);
    assert_eq!((ran.code, &*ran.stdout), (Some(0), "so\n"), "{ran:?}");
    let asked = house.bodies("<ask ");
    for words in [">It is framed.<", ">Go.<", ">a &lt; b<"] {
        assert!(asked.iter().any(|body| body.contains(words)), "{words}: {asked:?}");
    }
    assert!(house.bodies("<q ").iter().any(|body| body.contains(">Go.<")));
    house.judged();
}

#[test]
fn f2_the_last_goal_of_a_group_at_the_end_of_a_loop_may_end_it() {
    let goals = "
workflows:
  polish:
    by: writer
    goals:
      - draft:
          repeat: {until: converged, at_most: 3}
          goals: [part: {goals: [improve: Improve it., judge: Judge it.], retry: {attempts: 2}}]
      - answer: Give it.
";
    let replies = r#"
- {if: 'id="judge" loop="draft" iteration="2"', need: [answer only CONVERGED], say: CONVERGED, times: always}
- {say: x, times: always}
"#;
    assert_eq!(said(goals, replies).1, "x\n", "{:?}", said(goals, replies));
}

#[test]
fn f2_steps_beside_one_another_are_joined_in_the_order_of_the_file() {
    let goals = "
workflows:
  both:
    by: writer
    goals:
      - sides:
          parallel:
            - slow: {goals: [one: First., two: Second.]}
            - quick: Third.
      - answer: Say both.
";
    let replies = r#"
- {if: '<current-goal id="one">', say: a, times: always}
- {if: '<current-goal id="two">', need: ['<goal id="one">'], say: b, times: always}
- {if: '<current-goal id="quick">', say: c, times: always}
- {if: "<goal id=\"two\">\nb\n  </goal>\n\n  <goal id=\"quick\">\nc\n", say: b and c, times: always}
"#;
    assert_eq!(said(goals, replies).1, "b and c\n", "{:?}", said(goals, replies));
}

#[test]
fn f2_a_goal_that_sees_a_group_sees_the_steps_inside_it() {
    let goals = "
workflows:
  both:
    by: writer
    goals:
      - before: Begin.
      - pair: {goals: [one: First., deep: {goals: [two: Second.]}]}
      - sides: {parallel: [left: Third., right: Fourth.]}
      - answer: {do: Say all., sees: [pair, sides]}
";
    let replies = r#"
- {if: '<current-goal id="answer">', say: said, times: always}
- {say: x, times: always}
"#;
    let house = WorkflowHouse::build(goals, replies);
    let ran = house.systole(&["ask", "Go."]);
    assert_eq!((ran.code, &*ran.stdout), (Some(0), "said\n"), "{ran:?}");
    let goals = house.goals_in_order();
    let shown: Vec<&str> =
        goals.last().unwrap().lines().filter_map(|line| line.strip_prefix("  <goal id=")).collect();
    assert_eq!(shown, [r#""request">"#, r#""one">"#, r#""two">"#, r#""left">"#, r#""right">"#]);
    house.judged();
}

#[test]
fn f2_a_slow_step_fails_with_its_reason_and_failed_keep_continues_the_run() {
    let goals = |kept: &str| {
        format!(
            "
workflows:
  slow:
    by: writer
    goals:
      - look: {{do: Look., timeout: 1s{kept}}}
      - answer: Say it.
"
        )
    };
    let replies = r#"
- {if: '<current-goal id="look">', say: late, delay: 600s, times: always}
- {if: "<goal id=\"look\" outcome=\"failed\">\nworkflow.timeout: it took longer than 1s\n", say: It was too slow., times: always}
"#;
    let (code, stdout, stderr) = said(&goals(", failed: keep"), replies);
    assert_eq!((code, &*stdout), (Some(0), "It was too slow.\n"), "{stderr}");
    let (code, stdout, stderr) = said(&goals(""), replies);
    assert_eq!(code, Some(1), "{stdout}{stderr}");
    assert!(stderr.contains("it took longer than 1s"), "{stderr}");
}

#[test]
fn f2_a_failed_step_is_tried_again_as_often_as_it_says() {
    let goals = "
workflows:
  stubborn:
    by: writer
    goals:
      - look: {do: Look., retry: {attempts: 3, backoff: 1s..1s}}
      - answer: Say it.
";
    let replies = r#"
- {if: '<current-goal id="look">', error: {status: 400}, times: 2}
- {if: '<current-goal id="look">', say: found, times: always}
- {if: "<goal id=\"look\">\nfound\n", say: It is there., times: always}
"#;
    let (code, stdout, stderr) = said(goals, replies);
    assert_eq!((code, &*stdout), (Some(0), "It is there.\n"), "{stderr}");
}

#[test]
fn f6_a_workflow_is_called_by_an_agent_and_by_a_workflow() {
    let goals = "
payloads: {look-up: {what: text}, found: text}
workflows:
  outer:
    by: writer
    goals:
      - seen: {call: look-up, to: inner, with: {what: {text: the moon}}}
      - answer: Say it.
  inner:
    accepts: [look-up]
    returns: [found]
    by: critic
    entry: false
    goals:
      - seek: Seek it.
";
    let replies = r#"
- {if: '<current-goal id="seek">', need: [the moon], say: It is up., times: always}
- {if: "<goal id=\"seen\">\nIt is up.\n", say: "Up, it is.", times: always}
- {if: ">Go.<", call: {look-up: {what: the moon}}, times: always}
- {if: It is up, say: Still up., times: always}
"#;
    let clerk = "clerk: {model: main, dialect: native, on_unknown: retry, peers: [inner], prompt: {identity: You ask.}}";
    let house = WorkflowHouse::with_agents(clerk, goals, replies);
    let ran = house.systole(&["ask", "--to", "outer", "Go."]);
    assert_eq!((ran.code, &*ran.stdout), (Some(0), "Up, it is.\n"), "{ran:?}");
    let ran = house.systole(&["ask", "--to", "clerk", "Go."]);
    assert_eq!((ran.code, &*ran.stdout), (Some(0), "Still up.\n"), "{ran:?}");
    house.judged();
}

#[test]
fn f2_the_budget_of_a_step_is_the_ceiling_of_its_child() {
    let goals = "
budgets: {tokens: 900k, money: 5 USD}
workflows:
  frugal:
    by: writer
    goals:
      - look: {do: Look., budget: {messages: 7, tokens: 50k, money: 0.25 USD}}
      - answer: Say it.
";
    let house = WorkflowHouse::build(goals, "- {say: x, times: always}\n");
    let ran = house.systole(&["ask", "Go."]);
    assert_eq!((ran.code, &*ran.stdout), (Some(0), "x\n"), "{ran:?}");
    let spawned: Vec<String> = house
        .records()
        .iter()
        .filter_map(|record| String::from_utf8(record.body.to_vec()).ok())
        .filter(|body| body.starts_with("<thread-spawned "))
        .collect();
    assert!(spawned[0].contains(r#" messages="7" tokens="50000" money="0.25 USD""#), "{spawned:?}");
    assert!(!spawned[1].contains(r#" messages="7""#), "{spawned:?}");
    house.judged();
}

#[test]
fn f1_a_first_goal_has_the_fields_in_its_words_and_no_context_if_the_request_is_hidden() {
    let goals = "
payloads: {dish-request: {ingredients: line}}
workflows:
  recipe-creator:
    accepts: [dish-request]
    by: writer
    request: hidden
    goals:
      - brainstorm: Brainstorm 3 dishes with $ingredients.
      - select: Choose the best one.
";
    let house = WorkflowHouse::build(goals, "- {say: Chutney., times: always}\n");
    let ran = house.systole(&["send", "dish-request", "ingredients=coconut & chillies"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let head = "<goal-request xmlns=\"https://xml-pipeline.org/ns/workflow/v1\">\n<workflow name=\"recipe-creator\">\n\n";
    let tail = "\n\n</workflow>\n</goal-request>";
    let first =
        "<current-goal id=\"brainstorm\">\nBrainstorm 3 dishes with coconut &amp; chillies.\n</current-goal>";
    let context = "<context>\n  <goal id=\"brainstorm\">\nChutney.\n  </goal>\n</context>\n\n";
    let second = "<current-goal id=\"select\">\nChoose the best one.\n</current-goal>";
    let expected = [format!("{head}{first}{tail}"), format!("{head}{context}{second}{tail}")];
    assert_eq!(house.goals_in_order(), expected);
    house.judged();
}

#[test]
fn f6_a_branch_from_another_sender_is_refused() {
    let goals = "
workflows:
  open:
    by: writer
    goals:
      - answer: Say it.
";
    let house = WorkflowHouse::build(goals, "- {say: x, times: always}\n");
    let branch = "<branch xmlns=\"https://xml-pipeline.org/ns/workflow/v1\" step=\"answer\"/>";
    std::fs::write(house.path().join("branch.xml"), branch).unwrap();
    let ran = house.systole(&["send", "--file", "branch.xml", "--to", "open"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("<branch> is for open itself, and operator sent it"), "{ran:?}");
    // It is named to no outsider.
    let unknown = house.systole(&["send", "brunch", "step=answer"]);
    assert!(unknown.code != Some(0) && !unknown.stderr.contains("branch"), "{unknown:?}");
}

#[test]
fn f2_an_expired_question_fails_the_step_unless_otherwise_is_set() {
    let goals = "
workflows:
  gated:
    by: writer
    goals:
      - gate: {ask: Go on?, choices: [go, stop], expires: 1s}
      - answer: Say it.
";
    let house = WorkflowHouse::build(goals, "- {say: x, times: always}\n");
    let running = house.run();
    let body = "<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">Go.</ask>";
    let run = run_file(house.path());
    assert_eq!(ask(&run, "POST", "/v1/messages", &[("Idempotency-Key", "k")], body).status, 202);
    let mut events = Events::open(&run, "?from=0", &[]);
    let is_end = |(_, kind, data): (u64, String, serde_json::Value)| kind == "outcome" && data["call"] == "1";
    while !is_end(events.next().expect("the call ends")) {}
    assert_eq!(running.interrupt().code, Some(130));
    let log = house.systole(&["log", "@last"]).stdout;
    assert!(log.contains("workflow.nobody-answered: gate: no one answered in time"), "{log}");
    house.judged();
}

#[test]
fn f4_the_page_of_a_question_says_what_follows_without_an_answer() {
    for (otherwise, told) in [(", otherwise: stop", "stop is chosen."), ("", "the step fails.")] {
        let goals = format!(
            "
workflows:
  gated:
    by: writer
    goals:
      - gate: {{ask: Go on?, choices: [go, stop]{otherwise}}}
      - answer: Say it.
"
        );
        let house = WorkflowHouse::build(&goals, "- {say: x, times: always}\n");
        let running = house.run();
        let body = "<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">Go.</ask>";
        let run = run_file(house.path());
        assert_eq!(ask(&run, "POST", "/v1/messages", &[], body).status, 202);
        let mut events = Events::open(&run, "?from=0", &[]);
        while events.next().expect("it asks").2["code"] != "asked" {}
        let shown = page(&run, "GET", "/approvals", "text/html", &[]).body;
        assert!(shown.contains(&format!("When the time is over, {told}")), "{shown}");
        running.interrupt();
    }
}

#[test]
fn f4_the_page_of_a_supervised_question_says_what_follows_too() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(systole(folder.path(), &["init", "--workflow", "release", "."]).code, Some(0));
    let file = folder.path().join("organism.yaml");
    let text = std::fs::read_to_string(&file).unwrap().replace("./release.db", "./hello.db");
    let text = text + "console: {listen: \"127.0.0.1:0\"}\n";
    std::fs::write(&file, text).unwrap();
    let running = Running::organism(folder.path());
    let sent = systole(folder.path(), &["send", "release-request", "service=billing"]);
    assert!(sent.stderr.contains("waits for a person"), "{sent:?}");
    let shown = page(&run_file(folder.path()), "GET", "/approvals", "text/html", &[]).body;
    assert!(shown.contains("When the time is over, stop is chosen."), "{shown}");
    let why = systole(folder.path(), &["why"]);
    assert!(why.stdout.contains("gate, pass 1 of agree"), "{why:?}");
    running.interrupt();
}

#[test]
fn f7_check_prints_the_most_that_a_workflow_can_use_and_refuses_one_above_a_written_budget() {
    let goals = "
payloads: {files: [line, 1..200], review: {score: int 0..10}}
workflows:
  survey:
    by: writer
    goals:
      - pick: {do: List the files., gives: files}
      - review: {each: pick/item, do: Review this file., by: [writer, critic], gives: review}
      - report: {repeat: {until: converged, at_most: 5}, goals: [draft: Write it.]}
      - answer: Say it.
";
    let house = WorkflowHouse::build(goals, "- {say: x, times: always}\n");
    let ran = house.systole(&["check"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("survey: at most 1 + 200 x 2 + 5 + 1 = 407 goals"), "{}", ran.stdout);
    let house =
        WorkflowHouse::build(&format!("{goals}budgets: {{children: 400}}\n"), "- {say: x, times: always}\n");
    let ran = house.systole(&["check"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stdout.contains("children") && ran.stdout.contains("407"), "{}", ran.stdout);
}

#[test]
fn f2_a_branch_of_parallel_has_its_own_list_and_its_own_time() {
    let goals = "
payloads: {list: [word, 1..9]}
workflows:
  both:
    by: writer
    goals:
      - pick: {do: List them., gives: list}
      - sides:
          parallel:
            - part: {each: pick/item, do: Write this part.}
            - pair: {goals: [first: First., views: {do: Weigh it., by: [writer, critic]}]}
            - slow: {goals: [late: Too late.], timeout: 1s, failed: keep}
      - answer: Say all.
";
    let replies = r#"
- {if: '<current-goal id="pick">', say: '{"item": ["a", "b"]}', times: always}
- {if: '<current-goal id="part">', say: p, times: always}
- {if: '<current-goal id="first">', say: f, times: always}
- {if: '<current-goal id="views">', say: v, times: always}
- {if: '<current-goal id="late">', say: l, delay: 600s, times: always}
- {if: '<current-goal id="answer">', say: all, times: always}
"#;
    let house = WorkflowHouse::build(goals, replies);
    let ran = house.systole(&["ask", "Go."]);
    assert_eq!((ran.code, &*ran.stdout), (Some(0), "all\n"), "{ran:?}");
    let goals = house.goals();
    let join = goals.iter().find(|goal| goal.contains("<current-goal id=\"answer\">")).unwrap();
    let shown: Vec<&str> = join.lines().filter_map(|line| line.strip_prefix("  <goal ")).collect();
    let expected = [
        r#"id="request">"#,
        r#"id="pick">"#,
        r#"id="part[1]">"#,
        r#"id="part[2]">"#,
        r#"id="views[writer]">"#,
        r#"id="views[critic]">"#,
        r#"id="slow" outcome="failed">"#,
    ];
    assert_eq!(shown, expected);
    house.judged();
}
