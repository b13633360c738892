//! The stage of the stories itself: it finds every kind of fault that is planted in a page, with and without scripts.

use serde_json::json;

use super::Story;

#[test]
fn h4_a_fault_of_a_page_is_found_by_the_stage() {
    let Some(story) = Story::named("faults") else { return };
    story.play(&json!({}));
}

#[test]
fn a_story_that_fails_fails_its_test_with_what_it_printed() {
    let Some(story) = Story::named("fails") else { return };
    let asked =
        std::panic::catch_unwind(|| story.play_with(&json!({"n": 1}), |asked| json!({"heard": asked})));
    let told = asked.expect_err("it fails");
    let told = told.downcast_ref::<String>().expect("a text");
    for words in ["the story fails failed: exit status: 1", "it printed this", "planted", "\"n\":2"] {
        assert!(told.contains(words), "{words}: {told}");
    }
}
