//! B9: todo lists, in an organism of real programs and through the command that shows them.

use super::cast::{BOSS, PlanHouse, code, plain};
use crate::program::systole;

#[tokio::test]
async fn b9_a_final_with_open_steps_gets_one_warning_and_old_lists_are_shown_unchanged() {
    let house = PlanHouse::open(&[("boss", "turns: 9, entry: true", BOSS)]).await;
    let plan = "[[todo('the house stands', dig=False, build=False)], \
                [todo('the house stands', dig=True, build=False), note('digging is done')], \
                everything, everything]";
    let (receipt, told) = house.ask("k", "boss", plan).await;
    assert!(told.contains("<todo-open") && told.contains("open=\"1\" total=\"2\""), "{told}");
    let records = house.records();
    let own: Vec<&str> = records.iter().filter(|r| r.header.thread == receipt.thread).map(code).collect();
    assert_eq!(own, ["request", "todo", "todo", "note", "todo-open", "final"]);
    assert!(plain(&records[records.len() - 1]).contains("turn=\"4\""));

    let folder = house.close().await;
    let shown = |at: &str| {
        let ran = systole(folder.path(), &["todo", &format!("{}{at}", receipt.thread)]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.stdout
    };
    assert_eq!(
        shown("@2"),
        "boss  call 1  #2  2 of 2 open  until the house stands\n  [ ] dig\n  [ ] build\n"
    );
    assert_eq!(
        shown("@3"),
        "boss  call 1  #3  1 of 2 open  until the house stands\n  [x] dig\n  [ ] build\n"
    );
    assert_eq!(shown(""), shown("@3"), "it stands as it stood when the call ended");
    assert_eq!(shown("@1"), "");
    let ran = systole(folder.path(), &["todo", "--json", &format!("{}@2", receipt.thread)]);
    let json: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(json["calls"][0]["lists"][0]["steps"][1], serde_json::json!({"done": false, "text": "build"}));
}

#[tokio::test]
async fn b9_a_list_that_is_none_is_refused_with_what_one_is() {
    let house = PlanHouse::open(&[("boss", "turns: 9, entry: true", BOSS)]).await;
    let plan = "[[f'<todo-until xmlns=\"{CORE}\" condition=\"x\"><step>y</step></todo-until>'], everything]";
    let (_, told) = house.ask("k", "boss", plan).await;
    assert!(told.contains("payload.invalid") && told.contains("done"), "{told}");
    house.close().await;
}
