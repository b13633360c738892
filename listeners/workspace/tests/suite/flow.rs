//! The turns of a call: what is approved is what runs, from the workspace itself and once.

use super::room::{NAME, Room, change_set, payload, undo};

const EDIT: &str =
    "<c:str_replace path=\"a.txt\"><c:old_str>a</c:old_str><c:new_str>b</c:new_str></c:str_replace>";

fn rejected() -> systole_kit::Payload {
    payload(
        "<system-error xmlns=\"https://xml-pipeline.org/ns/core/v1\" code=\"approval.rejected\" retry_allowed=\"true\" message=\"bob: not on a friday\"/>",
    )
}

#[test]
fn g2_an_order_says_each_line_and_each_command() {
    let room = Room::new(&[("a.txt", "1\na\n3\n")]);
    let order = room.ask(
        "1",
        change_set(&format!(
            "{EDIT}<p:proposed_actions summary=\"small fix\"/><c:shell>\nrm -r x\n</c:shell>"
        )),
    );
    let text = order.text();
    assert!(text.contains("<piece line=\"2\"><was>a\n</was><now>b\n</now></piece>"), "{text}");
    assert!(text.contains("<command of=\"3\" folder=\".\" kind=\"shell\">rm -r x</command>"), "{text}");
    assert!(order.is_dangerous() && order.attribute("summary") == "small fix");
    assert_eq!(order.attribute("elements"), "str_replace proposed_actions shell");
    assert_eq!(room.read("a.txt"), "1\na\n3\n", "nothing happens before the order");
}

#[test]
fn g2_only_the_workspace_itself_gives_orders() {
    let room = Room::new(&[("a.txt", "a\n")]);
    let order = room.ask("1", change_set(EDIT));
    let said = room.say(&room.delivered("agent", "2", 1, order.payload.clone()));
    assert_eq!(said.outcome(), "refused");
    assert!(said.reason().contains("only the workspace itself"), "{}", said.reason());
    assert_eq!(room.read("a.txt"), "a\n");
    assert_eq!(room.apply("1", &order).outcome(), "done");
}

#[test]
fn g2_an_order_is_refused_if_a_file_changed() {
    let room = Room::new(&[("a.txt", "a\n"), ("b.txt", "b\n")]);
    let both = format!(
        "{EDIT}<c:str_replace path=\"b.txt\"><c:old_str>b</c:old_str><c:new_str>c</c:new_str></c:str_replace><c:create_file path=\"n\">n</c:create_file>"
    );
    let order = room.ask("1", change_set(&both));
    std::fs::write(room.path("b.txt"), "b \n").unwrap();
    let said = room.apply("1", &order);
    assert_eq!(said.outcome(), "refused");
    assert_eq!(said.results()[1].2, "workspace.changed", "{:?}", said.results());
    assert_eq!(
        (room.read("a.txt"), room.read("b.txt"), room.files().len()),
        ("a\n".to_owned(), "b \n".to_owned(), 2)
    );
    std::fs::write(room.path("b.txt"), "b\n").unwrap();
    std::fs::write(room.path("n"), "there").unwrap();
    assert_eq!(room.apply("1", &order).results()[2].2, "workspace.changed");
    std::fs::remove_file(room.path("n")).unwrap();
    assert_eq!(room.apply("1", &order).outcome(), "done");
}

#[test]
fn g2_an_order_that_says_something_else_is_refused() {
    let room = Room::new(&[("a.txt", "a\nz\n"), (".env", "a\n"), ("c.lock", "a\n")]);
    let order = room.ask("1", change_set(EDIT)).text();
    let gone = room
        .ask("2", change_set("<c:patch>*** Begin Patch\n*** Delete File: a.txt\n*** End Patch</c:patch>"))
        .text();
    let listed = room.ask("3", change_set("<c:shell>echo x</c:shell>")).text();
    for (order, from, to) in [
        (&order, "<now>b\n", "<now>c\n"),
        (&order, "<was>a\n", "<was>x\n"),
        (&order, "line=\"1\"", "line=\"2\""),
        (&order, "line=\"1\"", "line=\"0\""),
        (&order, "path=\"a.txt\"", "path=\"../a.txt\""),
        (&order, "path=\"a.txt\"", "path=\".env\""),
        (&order, "path=\"a.txt\"", "path=\"/etc/passwd\""),
        (&order, "path=\"a.txt\"", "path=\"x\""),
        (&order, "of=\"1\"", "of=\"2\""),
        (&order, "kind=\"change\"", "kind=\"create\""),
        (&order, "change=\"c", "change=\"../c"),
        (&order, "elements=\"str_replace\"", "elements=\"\""),
        (&gone, "<was>a\nz\n", "<was>a\n"),
        (&listed, "echo x", "echo x; touch made"),
        (&listed, "kind=\"shell\"", "kind=\"install\""),
        (&listed, "folder=\".\"", "folder=\"..\""),
    ] {
        assert!(order.contains(from), "{from} in {order}");
        let changed = payload(&order.replace(from, to));
        let said = room.say(&room.delivered(NAME, "9", 1, changed));
        assert_ne!(said.outcome(), "done", "{from} -> {to}: {}", said.text());
        assert_eq!(room.read("a.txt"), "a\nz\n", "{from} -> {to}");
        assert_eq!(room.files(), [".env", "a.txt", "c.lock"]);
    }
}

#[test]
fn g2_what_a_person_rejects_is_refused_with_the_reason() {
    let room = Room::new(&[("a.txt", "a\n")]);
    room.ask("1", change_set(EDIT));
    let said = room.answer("1", rejected());
    assert_eq!(said.outcome(), "refused");
    assert!(
        said.reason().contains("not on a friday") && said.reason().contains("nothing was changed"),
        "{}",
        said.reason()
    );
    assert_eq!(room.read("a.txt"), "a\n");
}

#[test]
fn g2_an_order_is_carried_out_once() {
    let room = Room::new(&[("a.txt", "a\n")]);
    let order = room.ask("1", change_set(&format!("{EDIT}<c:shell>printf x >>count</c:shell>")));
    let first = room.apply("1", &order);
    assert_eq!(first.outcome(), "done");
    let room = room.reopened();
    let again = room.apply("1", &order);
    assert_eq!((again.payload, room.read("count")), (first.payload.clone(), "x".to_owned()));
    let lost = room.answer("1", rejected());
    assert_eq!(lost.payload, first.payload, "a lost reply has the result all the same");
}

#[test]
fn g2_a_command_that_was_begun_leaves_the_outcome_unknown() {
    let room = Room::new(&[("a.txt", "a\n")]);
    let order = room.ask(
        "1",
        change_set(&format!(
            "<c:shell>true</c:shell>{EDIT}<c:shell>sleep 0</c:shell><c:shell>true</c:shell>"
        )),
    );
    let change = room.apply("1", &order).attribute("change");
    // As after a death while the second command ran.
    let folder = room.around.path().join("state/changes").join(&change);
    std::fs::remove_file(folder.join("result.xml")).unwrap();
    std::fs::write(folder.join("begun"), "3").unwrap();
    let room = room.reopened();
    let said = room.answer("1", payload("<system-error xmlns=\"https://xml-pipeline.org/ns/core/v1\" code=\"listener.lost\" retry_allowed=\"false\" message=\"gone\"/>"));
    assert_eq!(said.outcome(), "unknown");
    assert!(said.reason().contains("the edits stand"), "{}", said.reason());
    let outcomes: Vec<String> = said.results().into_iter().map(|result| result.1).collect();
    assert_eq!(outcomes, ["done", "done", "unknown", "not-run"]);
    assert_eq!(room.apply("1", &order).outcome(), "unknown", "it is not run again");
    std::fs::remove_file(folder.join("begun")).unwrap();
    assert_eq!(room.answer("1", rejected()).outcome(), "failed", "no command was begun");
}

#[test]
fn g2_what_asks_a_person() {
    let room = Room::new(&[("a.txt", "a\n"), ("ci/x.yml", "a\n"), ("c.lock", "a\n")]);
    let edit = |path: &str| EDIT.replace("a.txt", path);
    for (elements, asks) in [
        (edit("a.txt"), false),
        (edit("c.lock"), true),
        (edit("ci/x.yml"), true),
        (
            "<c:patch>*** Begin Patch\n*** Update File: a.txt\n*** Move to: ci/new\n*** End Patch</c:patch>"
                .to_owned(),
            true,
        ),
        ("<c:shell>echo hello</c:shell>".to_owned(), false),
        ("<c:shell>\necho hello\n</c:shell>".to_owned(), false),
        ("<c:shell id=\"s\">echo hello</c:shell>".to_owned(), false),
        ("<c:shell>ls</c:shell>".to_owned(), true),
        ("<c:shell>echo a &gt; b</c:shell>".to_owned(), true),
        ("<p:proposed_shell_command is_dangerous=\"false\">ls</p:proposed_shell_command>".to_owned(), true),
        (
            "<p:proposed_shell_command is_dangerous=\"true\">echo a</p:proposed_shell_command>".to_owned(),
            true,
        ),
        (
            "<p:proposed_shell_command is_dangerous=\"false\">echo a</p:proposed_shell_command>".to_owned(),
            false,
        ),
        ("<p:proposed_package_install language=\"rust\" package_list=\"serde\"/>".to_owned(), true),
    ] {
        let order = room.ask(&room.call(), change_set(&elements));
        assert_eq!(order.is_dangerous(), asks, "{elements}");
    }
}

#[test]
fn g2_requests_that_are_none_are_refused() {
    let room = Room::new(&[]);
    let said = room.ask("1", change_set("<p:proposed_actions summary=\"only words\"/>"));
    assert_eq!(said.outcome(), "refused");
    assert_eq!(room.ask("2", undo("c000000000000")).results()[0].2, "workspace.no-undo");
    assert_eq!(room.ask("3", undo("../x")).results()[0].2, "workspace.no-undo");
    let asked = room.delivered("agent", "4", 1, payload("<other xmlns=\"urn:x\"/>"));
    let said = room.workspace.answer_delivery(&asked, &room.is_cancelled, &|_| {});
    assert!(matches!(said, systole_kit::reply::ReplyContent::Failure { .. }), "{said:?}");
}
