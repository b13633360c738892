//! The header of a turn: it is there only if it has news.

use systole_agent::spec::{AgentSpec, Dialect};

use crate::stage::{AgentStage, MARK, found, helper};

/// The headers of that many turns. In each the agent searches, and finds that text.
async fn headers(agent: AgentSpec, turns: u32, finds: &str) -> Vec<String> {
    let is_native = agent.dialect != Dialect::Xml;
    let answer = |turn| match is_native {
        true => format!("  - call: {{search: {{query: no {turn}}}}}\n"),
        false => format!("  - say: <thinking>x</thinking><search><query>no {turn}</query></search>\n"),
    };
    let script: String = (1..=turns).map(answer).collect();
    let mut stage = AgentStage::of(agent, &format!("helper:\n{script}"));
    let mut all = Vec::new();
    for turn in 1..=turns {
        let note = if is_native { None } else { Some(None) };
        match turn {
            1 => stage.ask().await,
            _ => stage.answer(note.into_iter().chain([Some(found(finds))]).collect(), Vec::new()).await,
        };
        all.push(stage.prompt().2);
    }
    all
}

#[tokio::test]
async fn e12_an_ordinary_turn_has_no_header_and_the_last_two_have_one() {
    for dialect in [Dialect::Xml, Dialect::Native, Dialect::XmlFinal] {
        let headers = headers(AgentSpec { turns: 5, ..helper(dialect) }, 5, "auth.rs").await;
        assert_eq!(headers[..3], [""; 3], "{dialect:?}");
        for (turn, header) in (4..).zip(&headers[3..]) {
            let begin = format!("<core-{MARK}>\nTurn {turn} of 5. Attempt 1 of 3. Window: about ");
            assert!(header.starts_with(&begin), "{dialect:?}: {header}");
        }
        // The last turn asks for the final, and still takes an action.
        assert!(headers[3].contains("Tools: search"), "{dialect:?}: {}", headers[3]);
        assert!(
            !headers[4].contains("Tools:") && !headers[4].contains("only"),
            "{dialect:?}: {}",
            headers[4]
        );
        let expected = if dialect == Dialect::Xml {
            "Expected: <thinking>, then your final"
        } else {
            "Expected: your final"
        };
        assert!(headers[4].contains(expected), "{dialect:?}: {}", headers[4]);
    }
}

#[tokio::test]
async fn e12_a_window_that_is_half_full_is_news() {
    let agent = || AgentSpec { tool_output_max: 1 << 20, turns: 50, ..helper(Dialect::Native) };
    // A character in three is a token, and the window has 32,000.
    let headers = headers(agent(), 4, &"found it ".repeat(2_200)).await;
    let is_told: Vec<bool> = headers.iter().map(|header| !header.is_empty()).collect();
    assert_eq!(is_told, [false, false, false, true], "{headers:?}");
}

#[tokio::test]
async fn e12_a_second_attempt_is_news() {
    let mut stage = AgentStage::of(helper(Dialect::Xml), "helper:\n  - say: no\n  - say: no, no\n");
    let said = stage.ask().await;
    assert_eq!(stage.prompt().2, "");
    stage.again(&said).await;
    assert!(stage.prompt().2.contains("Turn 2 of 10. Attempt 2 of 3."), "{}", stage.prompt().2);
}

#[tokio::test]
async fn e12_the_first_turn_in_plain_has_no_header_even_if_it_is_the_last() {
    for turns in [1, 2, 10] {
        let agent = AgentSpec { turns, peers: Vec::new(), ..helper(Dialect::Plain) };
        let mut stage = AgentStage::of(agent, "helper:\n  - say: In auth.rs.\n");
        stage.ask().await;
        assert_eq!(stage.prompt().2, "");
    }
}

#[tokio::test]
async fn e9_the_slot_and_the_tools_come_before_the_request() {
    let mut stage = AgentStage::of(helper(Dialect::XmlFinal), "helper:\n  - say: x\n");
    stage.ask().await;
    let (system, segments, header) = stage.prompt();
    assert!(header.is_empty() && !system.contains(MARK), "{system}");
    let message: serde_json::Value = serde_json::from_str(&segments[0]).unwrap();
    let [slot, request] = [0, 1].map(|part| message["parts"][part]["text"].as_str().unwrap());
    assert!(slot.starts_with(&format!("<core-{MARK}>\nYour final: <systole-")), "{slot}");
    assert!(slot.contains("-FINAL format=\"text\" status=\"success|partial|failure\">…</systole-"), "{slot}");
    assert!(slot.contains("\nTools: search, spawn_thread, "), "{slot}");
    assert_eq!(request, "<message from=\"alice\">Where is login?</message>");
}
