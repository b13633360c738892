//! H4, the console in a browser: each test plays one story against a running organism.

use super::Story;
use super::house::ConsoleHouse;
use super::large_house::LargeHouse;
use crate::broker::NatsServer;

/// Plays a story of that name.
#[track_caller]
fn plays(name: &'static str) {
    plays_in(name, ConsoleHouse::open);
}

/// Plays it in the house that this opens.
#[track_caller]
fn plays_in(name: &'static str, opens: impl FnOnce() -> ConsoleHouse) {
    let Some(story) = Story::named(name) else { return };
    let mut house = opens();
    let facts = house.facts();
    story.play_with(&facts, |asked| house.does(asked));
    house.close();
}

#[test]
fn h4_every_page_works_with_and_without_scripts_and_for_everyone() {
    plays("every_page");
}

#[test]
fn h4_a_code_signs_in_once_and_a_cookie_only_reads() {
    plays("signing_in");
}

#[test]
fn h4_other_names_of_this_machine_and_other_pages_are_refused() {
    plays("strangers");
}

#[test]
fn h4_behind_a_tls_proxy_a_phone_opens_a_link_of_another_site_and_approves() {
    plays_in("public", ConsoleHouse::open_behind_tls);
}

#[test]
fn h4_a_page_follows_its_thread_and_loses_no_row_when_the_organism_is_killed() {
    plays("following");
}

#[test]
fn h4_a_page_follows_a_log_in_nats_and_loses_no_row_when_the_organism_is_killed() {
    let server = NatsServer::start();
    plays_in("following", || ConsoleHouse::open_in_nats(&server));
}

#[test]
fn a7_hostile_text_stays_text_on_every_page() {
    plays("hostile_text");
}

#[test]
fn h4_the_text_of_a_page_is_that_of_the_command() {
    plays("same_text");
}

#[test]
fn g4_two_tabs_decide_one_request_and_one_decision_counts() {
    plays("two_tabs");
}

#[test]
fn g4_a_card_stays_in_its_place_and_enter_decides_nothing() {
    plays("steady_approvals");
}

#[test]
fn h4_a_story_by_keyboard_alone() {
    plays("keyboard");
}

#[test]
fn h4_a_form_is_judged_as_it_is_typed() {
    plays("judged_as_typed");
}

#[test]
fn h4_what_calls_say_is_on_the_page_as_text_until_their_reply_and_clocks_run() {
    plays("live_words");
}

#[test]
fn h4_two_hundred_rows_that_come_at_a_lively_pace_are_each_there_once() {
    plays("lively_rows");
}

#[test]
fn h4_every_page_of_a_large_organism_is_usable() {
    let Some(story) = Story::named("large") else { return };
    let house = LargeHouse::open();
    story.play(house.facts());
    house.close();
}
