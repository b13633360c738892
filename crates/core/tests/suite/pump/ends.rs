//! An end order ends a root at rest, but not one at work.

use super::*;

fn end(stage: &mut DecideStage, thread: &ThreadId) -> Vec<String> {
    stage.happens(EventKind::Ordered(ClientOrder::End {
        ticket: Ticket(2),
        by: Name::new_operator(),
        thread: thread.clone(),
    }))
}

#[test]
fn a_root_at_rest_ends_with_its_timers_and_takes_no_message_any_more() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![set_timer("id=\"tick\" every=\"1h\"", "")]);
    stage.replies("1", 2, vec![final_()]);
    assert_eq!(
        end(&mut stage, &root()),
        ["root 5 terminal/ended core -> operator", "=> done", "=> wait no more for tick"]
    );
    let core = "xmlns=\"https://xml-pipeline.org/ns/core/v1\"";
    assert_eq!(bodies(&stage)[&5], format!("<thread-ended {core} id=\"{}\"/>", root()));
    assert!(stage.state.find_thread(&root()).unwrap().ended);
    assert!(stage.fires("tick", 0).is_empty(), "its timer is over");
    assert_eq!(stage.asks("k2", "agent", Some(&root())).last().unwrap(), "=> refused thread.ended");
    assert_eq!(end(&mut stage, &root()).last().unwrap(), "=> refused thread.ended");
    assert_eq!(stage.state.find_thread(&root()).unwrap().seq, 5, "nothing is appended after the end");
}

#[test]
fn what_is_at_work_is_not_ended_and_the_words_say_what_would() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    let told = end(&mut stage, &root());
    assert_eq!(told, ["root 2 refusal/thread.busy core -> operator", "=> refused thread.busy"]);
    assert!(bodies(&stage)[&2].contains(&format!("systole cancel {}", root())), "{}", bodies(&stage)[&2]);
    stage.replies("1", 1, vec![spawn(Some("heat"), "tool")]);
    let child = root().make_child("heat").unwrap();
    assert_eq!(end(&mut stage, &child).last().unwrap(), "=> refused thread.busy", "a child always works");
    assert!(stage.state.threads.values().all(|thread| !thread.ended));
}

#[test]
fn what_is_no_thread_is_not_ended() {
    let mut stage = DecideStage::new();
    assert_eq!(end(&mut stage, &root())[1], "=> refused thread.unknown");
    assert_eq!(end(&mut stage, &ThreadId::new_sys())[1], "=> refused thread.unknown");
}
