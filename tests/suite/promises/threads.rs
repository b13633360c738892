//! B1, B4, B5, B6, B10, B12, B17 and B18: notes, children, cancels, and threads at rest.

use rustix::process::Signal;
use systole_core::pump::fold::apply_to;
use systole_core::pump::state::Thread;
use systole_core::types::ids::Name;
use systole_core::types::ports::Position;
use systole_core::types::record::{Record, RecordKind};
use systole_organism::waiting::SenderReply;

use super::cast::{BOSS, ECHO, PlanHouse, body, cast, code, plain, say};
use crate::program::{Events, PATIENCE, Running, ask, run_file};

#[tokio::test]
async fn b1_a_note_wakes_the_same_listener_in_the_same_call() {
    let house = PlanHouse::open(&[("boss", "turns: 4, entry: true", BOSS)]).await;
    let plan = "[[note('first')], [note('second'), note('beside')], lambda turn: [said(f'call {turn.call} turn {turn.number}')]]";
    let (receipt, told) = house.ask("k", "boss", plan).await;
    assert!(told.contains("call 1 turn 3"), "{told}");
    let records = house.records();
    let thread: Vec<&str> = records.iter().filter(|r| r.header.thread == receipt.thread).map(code).collect();
    assert_eq!(thread, ["request", "note", "note", "note", "final"]);
    house.close().await;
}

/// Replies whether the log already shows its thread's spawn as confirmed, as another process reads it.
const WITNESS: &str = r#"
log = sqlite3.connect("file:hello.db?mode=ro", uri=True)
for turn in turns():
    query = "SELECT count(*) FROM line WHERE thread = ? AND body LIKE '<thread-spawned %assigned_id=\"' || ? || '\"%'"
    (confirmed,) = log.execute(query, (turn.thread.rsplit(".", 1)[0], turn.thread)).fetchone()
    reply(turn.delivery, said(f"{turn.thread} confirmed {confirmed}"))
"#;

#[tokio::test]
async fn b4_a_spawn_is_confirmed_before_the_childs_first_delivery() {
    let house = PlanHouse::open(&[
        ("boss", "peers: [witness], turns: 99, entry: true", BOSS),
        ("witness", "in_flight: 4", WITNESS),
    ])
    .await;
    let plan = "[[spawn(say('witness', ''), 'heat'), spawn(say('witness', ''), 'heat'), spawn(say('witness', ''))]] + finished(3)";
    let (receipt, told) = house.ask("k", "boss", plan).await;
    for label in ["heat", "heat-1"] {
        assert!(told.contains(&format!("{}.{label} confirmed 1", receipt.thread)), "{told}");
    }
    assert_eq!(told.matches("confirmed 1").count(), 3, "{told}");
    // No one chooses a whole id.
    let plan = "[[spawn(say('witness', ''), 'sess-0123456789ab'), spawn(say('witness', ''), 'a.b'), spawn(say('witness', ''), '../x')]] + finished(1)";
    let (receipt, told) = house.ask("k2", "boss", plan).await;
    assert_eq!(told.matches("suggested_sub_id is not a label of a thread").count(), 2, "{told}");
    let begun: Vec<_> = house
        .records()
        .into_iter()
        .filter(|r| code(r) == "begin" && r.header.thread.is_within(&receipt.thread))
        .collect();
    assert_eq!(begun.len(), 1);
    assert_eq!(
        begun[0].header.thread.as_str(),
        format!("{}.sess-0123456789ab", receipt.thread),
        "a label, below its parent"
    );
    house.close().await;
}

/// Continues only when all of its kind are there and the gate is open.
const MEET: &str = r#"
for turn in turns():
    open(f"here-{turn.text}", "w").close()
    while not all(os.path.exists(name) for name in ["here-0", "here-1", "here-2", "gate"]): time.sleep(0.01)
    print(said(f"met {turn.text}"), flush=True)
"#;

/// A boss, and three that can continue only together.
pub(super) fn meeting() -> tempfile::TempDir {
    let retry = "retry: {attempts: 5, backoff: 1ms..1ms}";
    cast(&[
        ("boss", &format!("peers: [meet], turns: 99, entry: true, {retry}"), BOSS),
        ("meet", &format!("mode: once, in_flight: 3, {retry}"), MEET),
    ])
}

const MEETING: &str = "[[spawn(say('meet', str(n)), f'kid{n}') for n in range(3)]] + finished(3)";

#[tokio::test]
async fn b5_children_run_in_parallel_and_each_result_comes_once() {
    let folder = meeting();
    std::fs::write(folder.path().join("gate"), "").unwrap();
    let house = PlanHouse::in_folder(folder).await;
    let (receipt, told) = house.ask("k", "boss", MEETING).await;
    for n in 0..3 {
        assert_eq!(told.matches(&format!("met {n}")).count(), 1, "{told}");
    }
    let inbox =
        |r: &systole_core::types::record::Record| r.header.thread == receipt.thread && code(r) == "inbox";
    assert_eq!(house.records().into_iter().filter(inbox).count(), 3);
    house.close().await;
}

#[test]
fn b5_each_result_comes_once_although_the_organism_was_killed() {
    let folder = meeting();
    let organism = Running::organism(folder.path());
    let taken = ask(&run_file(folder.path()), "POST", "/v1/messages", &[], &say("boss", MEETING));
    assert_eq!(taken.status, 202, "{taken:?}");
    let thread = taken.json["thread"].as_str().unwrap().to_owned();
    let mut events = Events::open(&run_file(folder.path()), "?from=0", &[]);
    while events.next().expect("it runs").2["code"] != "answer" {}
    organism.signal(Signal::KILL);
    organism.end();

    std::fs::write(folder.path().join("gate"), "").unwrap();
    let organism = Running::organism(folder.path());
    let mut events = Events::open(&run_file(folder.path()), &format!("?from=0&thread={thread}"), &[]);
    let (mut finished, mut finals) = (Vec::new(), 0);
    loop {
        let (_, _, record) = events.next().expect("it runs");
        let body = record["body"].as_str().unwrap().to_owned();
        if record["code"] == "inbox" {
            finished.push(body);
        } else if record["code"] == "final" {
            finals += 1;
            if record["thread"] == thread.as_str() {
                assert!((0..3).all(|n| body.contains(&format!("met {n}"))), "{body}");
                break;
            }
        }
    }
    assert_eq!((finished.len(), finals), (3, 4), "{finished:?}");
    assert_eq!(organism.interrupt().code, Some(130));
}

#[tokio::test]
async fn b6_an_item_for_a_thread_that_is_not_ones_own_creates_nothing() {
    let house = PlanHouse::open(&[
        ("boss", "peers: [echo], turns: 4, entry: true", BOSS),
        ("echo", "entry: true", ECHO),
    ])
    .await;
    let (foreign, _) = house.ask("k1", "echo", "x").await;
    for (n, id) in [foreign.thread.as_str(), "sess-000000000000", "sys", "../x"].into_iter().enumerate() {
        let plan = format!("[[to(say('echo', ''), thread='{id}')], everything]");
        let before = house.records();
        let (receipt, told) = house.ask(&format!("k{}", n + 2), "boss", &plan).await;
        assert!(told.contains("<system-thread-error") && told.contains("code=\"unknown_thread\""), "{told}");
        assert!(told.contains("Unknown thread; emit &lt;spawn-thread/&gt; to create."), "{told}");
        let new: Vec<_> =
            house.records().drain(before.len()..).filter(|r| r.header.thread != receipt.thread).collect();
        assert!(new.is_empty(), "{id}: {new:?}");
    }
    // A thread that names itself addresses no other thread.
    let (_, told) = house
        .ask("own", "boss", "[lambda turn: [to(say('echo', 'own'), thread=turn.thread)], everything]")
        .await;
    assert!(told.contains("echo heard own"), "{told}");
    house.close().await;
}

#[tokio::test]
async fn b10_cancel_ends_a_subtree_and_late_replies_are_refused_and_logged() {
    // It says when it has its call, and answers exactly when that is cancelled.
    let sloth = r#"
for line in sys.stdin:
    delivery = re.search('delivery="(.*?)"', line).group(1)
    if line.startswith('<cancel'): reply(delivery, said('late'))
    else: print(f'<progress xmlns="urn:systole:listener:v1" delivery="{delivery}">has it</progress>', flush=True)
"#;
    let house = PlanHouse::open(&[
        ("boss", "peers: [boss, sloth], turns: 9, in_flight: 4, entry: true", BOSS),
        ("sloth", "in_flight: 4, timeout: 60s", sloth),
    ])
    .await;
    let plan = "[[spawn(say('boss', \"[[spawn(say('sloth', ''), 'grandchild'), say('sloth', '')]]\"), 'child'), say('sloth', '')]]";
    let receipt = house.send("k", &say("boss", plan), None, None).await.unwrap();
    // A message that is cancelled before it goes out is never answered.
    let mut words = house.organism.handle().listen(Some(Position(0)), None);
    let all = async {
        let mut has_it = 0;
        while has_it < 3 {
            has_it += usize::from(words.next().await.unwrap().words == "has it");
        }
    };
    tokio::time::timeout(PATIENCE, all).await.expect("each call is given to the sloth");
    let done =
        house.organism.handle().cancel_thread(Name::new_operator(), receipt.thread.clone()).await.unwrap();
    assert!(matches!(done, SenderReply::Done), "{done:?}");
    let ended: Vec<String> = house
        .records()
        .into_iter()
        .filter(|r| r.header.kind == RecordKind::Terminal)
        .map(|r| r.header.thread.to_string())
        .collect();
    let root = receipt.thread.as_str();
    assert_eq!(ended, [format!("{root}.child.grandchild"), format!("{root}.child"), root.to_owned()]);
    let mut tail = house.organism.tail();
    let late = || house.records().into_iter().filter(|r| code(r) == "reply.stale-lease").collect::<Vec<_>>();
    let all = async {
        while late().len() < 3 {
            tail.changed().await.unwrap();
        }
    };
    tokio::time::timeout(PATIENCE, all)
        .await
        .unwrap_or_else(|_| panic!("{}", crate::organism::told(&house.organism)));
    for refusal in late() {
        assert!(refusal.header.thread.is_sys(), "nothing is appended to what has ended");
        assert!(body(&refusal).contains("hash=") && body(&refusal).contains(root), "{}", body(&refusal));
    }
    let again = house.send("k2", &say("boss", "[]"), None, Some(root)).await.unwrap_err();
    assert_eq!(again, "thread.ended");
    house.close().await;
}

#[tokio::test]
async fn b12_several_items_of_one_reply_are_judged_alone_and_answered_in_order() {
    let house = PlanHouse::open(&[
        ("boss", "peers: [echo, other], turns: 3, entry: true", BOSS),
        ("echo", "", ECHO),
        ("other", "", ECHO),
    ])
    .await;
    let bad = "say('echo', '').replace('text', 'txt')";
    let plan = format!(
        "[[say('echo', 'one'), {bad}, say('other', 'two'), '<x xmlns=\"urn:x\"/>', note('three'), say('echo', 'four'), said('five')], everything]"
    );
    let (_, told) = house.ask("k", "boss", &plan).await;
    let items: Vec<&str> = told.split("<item ordinal=\"").skip(1).collect();
    assert_eq!(items.len(), 7, "{told}\n{}", crate::organism::told(&house.organism));
    for (n, wanted) in [
        "echo heard one",
        "payload.invalid",
        "other heard two",
        "route.not-a-peer",
        "from=\"core\"",
        "echo heard four",
        "reply.final-not-alone",
    ]
    .into_iter()
    .enumerate()
    {
        assert!(
            items[n].starts_with(&format!("{n}\"")) && items[n].contains(wanted),
            "{n} {wanted}: {}",
            items[n]
        );
    }
    house.close().await;
}

/// The resident memory of a process.
fn resident(running: &Running) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{}/status", running.pid())).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

#[tokio::test(flavor = "multi_thread")]
async fn b17_idle_threads_leave_memory_and_wake() {
    const MESSAGES: usize = 4_000;
    let parts = [("echo", "in_flight: 16, entry: true", ECHO)];
    let house = PlanHouse::open(&parts).await;
    let receipts = house.send_all((0..MESSAGES).map(|n| say("echo", &n.to_string())).collect()).await;
    house.outcomes(&receipts).await;
    let many = house.close().await;
    // As many messages, which opening a log verifies, in as few threads as the queue limit allows.
    let house = PlanHouse::open(&parts).await;
    let mut roots = house.send_all((0..MESSAGES / 16).map(|n| say("echo", &n.to_string())).collect()).await;
    for round in 1..16 {
        for root in &mut roots {
            let key = format!("{}-{round}", root.thread);
            *root = house.send(&key, &say("echo", "more"), None, Some(root.thread.as_str())).await.unwrap();
        }
    }
    house.outcomes(&roots).await;
    let few = house.close().await;

    let post = |running: &std::path::Path, path: &str| {
        let taken = ask(&run_file(running), "POST", path, &[], &say("echo", "awake"));
        assert_eq!(taken.status, 202, "{taken:?}");
        let (position, thread) =
            (taken.json["position"].as_u64().unwrap(), taken.json["thread"].as_str().unwrap());
        let mut events = Events::open(&run_file(running), &format!("?from={position}&thread={thread}"), &[]);
        assert_eq!(events.next().unwrap().2["code"], "final");
        taken.json
    };
    // Two processes that do the same differ by chance, now and then by a megabyte, so the test takes the
    // smallest of a few lives. A thread in memory takes about one kilobyte in every life, so threads
    // that stay in memory would show.
    let life = || {
        let (full, sparse) = (Running::organism(many.path()), Running::organism(few.path()));
        post(many.path(), "/v1/messages");
        post(few.path(), "/v1/messages");
        let more = resident(&full).saturating_sub(resident(&sparse));
        full.interrupt();
        sparse.interrupt();
        more
    };
    let idle = (MESSAGES - MESSAGES / 16) as u64;
    let more = (0..4).map(|_| life()).min().unwrap();
    assert!(more < (1 << 20) + 400 * idle, "{more} bytes more with {idle} more idle threads");
    let full = Running::organism(many.path());
    for receipt in [&receipts[0], &receipts[MESSAGES / 2], &receipts[MESSAGES - 1]] {
        let woken = post(many.path(), &format!("/v1/messages?thread={}", receipt.thread));
        assert_eq!((&woken["call"], &woken["seq"]), (&"2".into(), &3.into()), "it goes on where it was");
    }
    full.interrupt();
}

#[tokio::test]
async fn b18_a_root_rests_and_goes_on_with_the_same_memory() {
    let parts = [("boss", "peers: [echo], turns: 4, entry: true", BOSS), ("echo", "", ECHO)];
    let mut house = PlanHouse::open(&parts).await;
    let plan = "[[say('echo', 'x')], lambda turn: [said(f'{turn.thread} call {turn.call}')]]";
    let (first, _) = house.ask("k1", "boss", plan).await;
    let thread = first.thread.to_string();
    for n in 2..5 {
        let more = house.send(&format!("k{n}"), &say("boss", plan), None, Some(&thread)).await.unwrap();
        assert_eq!((more.thread.as_str(), more.call.as_str()), (&*thread, n.to_string().as_str()));
        let outcome = house.outcomes(&[more]).await.remove(0);
        assert!(plain(&outcome).contains(&format!("{thread} call {n}")), "{}", body(&outcome));
        if n == 3 {
            house = PlanHouse::in_folder(house.close().await).await;
        }
    }
    let records: Vec<_> = house.records().into_iter().filter(|r| r.header.thread == first.thread).collect();
    let seqs: Vec<u64> = records.iter().map(|r| r.header.seq).collect();
    assert_eq!(seqs, (1..=records.len() as u64).collect::<Vec<_>>(), "one chain");
    assert_eq!(records.iter().filter(|r| code(r) == "request").count(), 4);
    assert!(!records.iter().any(|r| r.header.kind == RecordKind::Terminal), "it rests, it has not ended");
    house.close().await;
}

/// Accepts what `echo` accepts, and answers as it does.
const TWIN: &str =
    "\nfor turn in turns(): reply(turn.delivery, said(f'{ME} heard it').replace(ns(ME), ns('echo')))\n";

#[tokio::test]
async fn b4_a_spawn_names_its_addressee_where_several_peers_take_the_payload() {
    let house = PlanHouse::open(&[
        ("boss", "peers: [echo, twin], turns: 99, entry: true", BOSS),
        ("echo", "", ECHO),
        ("twin", "schema: echo.xsd", TWIN),
        ("hidden", "schema: echo.xsd", TWIN),
    ])
    .await;
    let spawns = ["'twin'", "None", "'hidden'", "'never'", "'boss'", "'No Name'"];
    let spawns = spawns.map(|to| format!("spawn(say('echo', 'x'), 'kid', {to})")).join(", ");
    let (receipt, told) = house.ask("k", "boss", &format!("[[{spawns}]] + finished(1)")).await;
    assert!(told.contains("twin heard it") && !told.contains("echo heard"), "{told}");
    let records = house.records();
    let begun: Vec<&Record> = records.iter().filter(|r| code(r) == "begin").collect();
    assert_eq!(begun.len(), 1);
    assert_eq!(begun[0].header.to, Some(Name::parse("twin").unwrap()));
    let refusals: Vec<String> = records
        .iter()
        .filter(|r| r.header.kind == RecordKind::Refusal && r.header.thread == receipt.thread)
        .map(|r| body(r).to_owned())
        .collect();
    let [ambiguous, hidden, never, boss, no_name] = &refusals[..] else { panic!("{refusals:?}") };
    assert!(ambiguous.contains("route.ambiguous") && ambiguous.contains("echo, twin"), "{ambiguous}");
    assert!(ambiguous.contains("name one of them: &lt;initial-payload to=\"echo\"&gt;"), "{ambiguous}");
    // For any name, the message is the same, except for the hash of the refused payload.
    let words = |refusal: &str| {
        refusal.replace(refusal.split("hash=\"").nth(1).unwrap().split('"').next().unwrap(), "")
    };
    assert!(hidden.contains("route.not-a-peer"), "{hidden}");
    assert_eq!([words(never), words(boss)], [words(hidden), words(hidden)]);
    assert!(
        no_name.contains("payload.invalid") && no_name.contains("/spawn-thread/initial-payload/@to"),
        "{no_name}"
    );
    house.close().await;
}

#[tokio::test]
async fn b6_an_own_child_that_ended_turns_ago_has_ended_and_is_not_unknown() {
    let house = PlanHouse::open(&[
        ("boss", "peers: [echo, boss], turns: 99, entry: true, in_flight: 4", BOSS),
        ("echo", "", ECHO),
    ])
    .await;
    let kid = "turn.thread + '.kid'";
    let asks = format!(
        "lambda turn: [to(say('echo', 'x'), thread={kid}), cancel({kid}), wait('all', {kid}), \
         to(say('echo', 'x'), thread=turn.thread + '.never')]"
    );
    // An inner call has its own children, and not those of the outer call.
    let foreign = format!("lambda turn: [to(say('echo', 'x'), thread={kid}), wait('all', {kid})]");
    let lives = |label: &str| format!("[spawn(say('echo', 'a'), '{label}')], [wait('all')], [note('seen')]");
    let inside = format!("[{}, {foreign}, everything]", lives("own")).replace('\'', "\\'");
    let plan = format!("[{}, {asks}, [say('boss', '{inside}')], everything]", lives("kid"));
    let (receipt, _) = house.ask("k", "boss", &plan).await;
    let records = house.records();
    let of = |call: &str| -> Vec<&str> {
        let own = records
            .iter()
            .filter(|r| r.header.thread == receipt.thread && r.header.kind == RecordKind::Refusal);
        own.filter(|r| r.header.call.as_ref().is_some_and(|own| own.as_str() == call)).map(code).collect()
    };
    assert_eq!(of("1"), ["thread.ended", "thread.ended", "thread.unknown"], "{records:#?}");
    assert_eq!(of("1/5.0"), ["thread.unknown", "thread.unknown"], "{records:#?}");
    let over = records.iter().rfind(|r| body(r).contains("<await-over")).unwrap();
    assert!(body(over).contains("reason=\"done\" finished=\"1\" open=\"0\""), "{}", body(over));
    house.close().await;
}

/// Spawns this many children in sequence, eight of them open at a time, and replies how many came back.
const NURSE: &str = r#"
state = {}
for turn in turns():
    own = state.setdefault((turn.thread, turn.call), {"begun": 0, "ended": set()})
    if turn.number == 1: own["all"] = int(turn.text)
    own["ended"].update(re.findall('<thread-finished [^>]*id="([^"]+)"', turn.line))
    room = min(8 - (own["begun"] - len(own["ended"])), own["all"] - own["begun"])
    own["begun"] += room
    items = [spawn(say("echo", "x")) for _ in range(room)]
    done = len(own["ended"]) == own["all"]
    reply(turn.delivery, *([said(f"{len(own['ended'])} came back")] if done else items + [wait("any")]))
"#;

#[tokio::test]
async fn a_call_has_hundreds_of_children_and_its_row_stays_as_it_was() {
    let folder = cast(&[
        ("nurse", "peers: [echo], turns: 1000000, entry: true", NURSE),
        ("echo", "in_flight: 8", ECHO),
    ]);
    let yaml = std::fs::read_to_string(folder.path().join("organism.yaml")).unwrap();
    std::fs::write(
        folder.path().join("organism.yaml"),
        yaml + "budgets: {children: 10000, messages: 20000}\n",
    )
    .unwrap();
    let house = PlanHouse::in_folder(folder).await;
    let (receipt, told) = house.ask("k", "nurse", "300").await;
    assert!(told.contains("300 came back"), "{told}");
    let folded = |up_to: usize| {
        let mut thread = Thread::new_blank(receipt.thread.clone());
        let own = house.records().into_iter().filter(|r| r.header.thread == receipt.thread);
        own.take(up_to).for_each(|record| apply_to(&mut thread, &record));
        let children = thread.calls.values().map(|call| call.children.len()).sum::<usize>();
        (children, thread.to_row().bytes.len())
    };
    let all = house.records().into_iter().filter(|r| r.header.thread == receipt.thread).count();
    let (early, late) = (folded(all / 3), folded(all - 1));
    assert!(early.0 <= 16 && late.0 <= 16, "{early:?} {late:?}");
    // There are 200 children between the two. Up to a number of them, their labels stay in memory, a few
    // bytes each.
    assert!(late.1 < early.1 + 200 * 16, "{early:?} {late:?}");
    house.close().await;
}
