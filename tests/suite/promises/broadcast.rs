//! B13: an item for every peer that accepts it, among real programs: all answers, or the first.

use std::path::Path;

use systole_core::types::record::RecordKind;

use super::cast::{BOSS, ECHO, Part, PlanHouse, body, cast, code, say};
use crate::program::systole;

/// Reads and answers with another listener's schema: north and south share one.
const SHARED: &str = "
WHO, ME = ME, 'asked'
def began(who): return f'began-{who}'
def wait_for(name):
    while not os.path.exists(name): time.sleep(0.01)
";

/// Answers once the other has begun too.
const MEETS: &str = "
OTHER = 'south' if WHO == 'north' else 'north'
for turn in turns():
    open(began(WHO), 'w').close()
    wait_for(began(OTHER))
    reply(turn.delivery, said(f'{WHO} heard {turn.text}'))
";

/// Begins, and answers only when the call is cancelled.
const LATE: &str = "
delivery = None
for line in sys.stdin:
    if line.startswith('<message'):
        delivery = Turn(line).delivery
        open(began(WHO), 'w').close()
    elif '<cancel' in line and delivery in line:
        reply(delivery, said(f'{WHO} is late'))
";

fn house(broadcast: &str, south: &str) -> tempfile::TempDir {
    let shared = |program: &str| [SHARED, program].concat();
    let (north, south) = (shared(MEETS), shared(south));
    let parts: [Part<'_>; 4] = [
        ("boss", "peers: [south, north], turns: 9, entry: true", BOSS),
        ("north", "schema: asked.xsd", &north),
        ("south", "schema: asked.xsd", &south),
        // It accepts the same element, and is not a peer of the boss.
        ("asked", "", ECHO),
    ];
    let folder = cast(&parts);
    let file = folder.path().join("organism.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, [&text, broadcast, "\n"].concat()).unwrap();
    folder
}

const PLAN: &str = "[[say('asked', 'which way')], everything]";

fn shown(folder: &Path, args: &[&str]) -> String {
    let ran = systole(folder, args);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.stdout
}

#[tokio::test]
async fn b13_all_begin_before_the_first_ends_and_are_shown_in_order_of_the_file() {
    let house = PlanHouse::in_folder(house("broadcast: {say: all}", MEETS)).await;
    let (_, told) = house.ask("k", "boss", PLAN).await;
    let places = ["north heard which way", "south heard which way"].map(|words| told.find(words));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{told}");
    assert_eq!(told.matches("<item ordinal=\"0\"").count(), 2, "{told}");
    let records = house.records();
    let sent: Vec<_> = records.iter().filter(|r| code(r) == "to-all").collect();
    let calls: Vec<_> = sent.iter().map(|r| r.header.call.as_ref().unwrap().as_str()).collect();
    assert_eq!(calls, ["1/1.0:0", "1/1.0:1"]);
    assert_eq!(sent[0].body, sent[1].body);
    let folder = house.close().await;
    let tree = shown(folder.path(), &["tree", "@last"]);
    assert!(tree.contains("1/1.0  to 2 takers, until all have answered"), "{tree}");
    assert!(tree.contains("1/1.0:1  south  <say>  text=\"which way\"  answered <said>"), "{tree}");
    let log = shown(folder.path(), &["log", "@last"]);
    assert!(log.contains("boss → north  to all, call 1/1.0:0  <say>"), "{log}");
}

#[tokio::test]
async fn b13_the_first_is_enough_and_the_others_are_told_and_refused() {
    let house = PlanHouse::in_folder(house("broadcast: {say: first}", LATE)).await;
    let (receipt, told) = house.ask("k", "boss", PLAN).await;
    assert!(told.contains("north heard which way") && !told.contains("south"), "{told}");
    // It answered only because of the cancel.
    let late = house.until("the late answer is refused", |r| code(r) == "reply.stale-lease").await;
    let to = late.header.to.as_ref().map(|to| to.as_str());
    assert_eq!(
        (&late.header.thread, late.header.kind, to),
        (&receipt.thread, RecordKind::Refusal, Some("south"))
    );
    let records = house.records();
    let gone = records.iter().find(|r| code(r) == "thread.cancelled").unwrap();
    assert_eq!(gone.header.call.as_ref().unwrap().as_str(), "1/1.0:1");
    assert!(body(gone).contains("north answered first"), "{}", body(gone));
    let folder = house.close().await;
    let tree = shown(folder.path(), &["tree", "@last", "--json"]);
    assert!(tree.contains("\"gather\":\"first\"") || tree.contains("\"gather\": \"first\""), "{tree}");
}

#[tokio::test]
async fn b13_with_an_addressee_it_goes_to_that_one_alone() {
    let house = PlanHouse::in_folder(house("broadcast: {say: first}", MEETS)).await;
    std::fs::write(house.folder.path().join("began-north"), "").unwrap();
    let plan = "[[to(say('asked', 'which way'), to='south')], everything]";
    let (_, told) = house.ask("k", "boss", plan).await;
    assert!(told.contains("south heard which way"), "{told}");
    assert!(house.records().iter().all(|r| code(r) != "to-first"));
    house.close().await;
}

#[tokio::test]
async fn b13_an_element_that_several_take_and_the_file_does_not_spread_stays_ambiguous() {
    let house = PlanHouse::in_folder(house("", MEETS)).await;
    let (_, told) = house.ask("k", "boss", PLAN).await;
    assert!(told.contains("route.ambiguous"), "{told}");
    house.close().await;
}

#[tokio::test]
async fn b13_why_tells_of_each_that_has_not_answered() {
    let folder = house("broadcast: {say: all}", LATE);
    std::fs::write(folder.path().join("began-south"), "").unwrap();
    let house = PlanHouse::in_folder(folder).await;
    let boss = say("boss", PLAN);
    house.send("k", &boss, None, None).await.unwrap();
    house.until("north answers", |r| code(r) == "final" && r.header.from.as_str() == "north").await;
    let why = shown(house.folder.path(), &["why", "@last"]);
    assert!(why.contains("south") && !why.contains("north"), "{why}");
    let tree = shown(house.folder.path(), &["tree", "@last"]);
    assert!(tree.contains("1/1.0:0  north  <say>  text=\"which way\"  answered"), "{tree}");
    house.close().await;
}
