//! B11, B14, D3 and D5: programs that fail, programs that shuffle, programs that hang.

use super::cast::{BOSS, CRASH, ECHO, HANG, PlanHouse, SILENT, body, code, say};

#[tokio::test]
async fn b11_a_listener_that_crashes_is_silent_or_hangs_gives_its_caller_a_core_message() {
    let house = PlanHouse::open(&[
        ("boss", "peers: [crash, silent, hang, quitter], turns: 4, entry: true", BOSS),
        ("crash", "retry: {attempts: 1}", CRASH),
        ("silent", "retry: {attempts: 1}", SILENT),
        ("hang", "timeout: 500ms, retry: {attempts: 1}", HANG),
        ("quitter", "mode: once, retry: {attempts: 1}", "\nsys.exit(0)\n"),
    ])
    .await;
    let plan = "[[say('crash', ''), say('silent', ''), say('hang', ''), say('quitter', '')], everything]";
    let (_, told) = house.ask("k", "boss", plan).await;
    for (listener, code, words) in [
        ("crash", "listener.lost", "last words on stderr: no luck"),
        ("silent", "listener.silent", "silent ended its turn without an answer"),
        ("hang", "listener.timeout", "no reply within 0.5 s"),
        ("quitter", "listener.silent", "quitter ended its turn without an answer"),
    ] {
        let errors: Vec<&str> = told.split("<system-error ").filter(|error| error.contains(words)).collect();
        assert_eq!(errors.len(), 1, "{listener}: {told}");
        assert!(errors[0].contains(&format!("code=\"{code}\"")), "{listener}: {told}");
    }
    let (_, after) = house.ask("k2", "boss", "[[said('still here')]]").await;
    assert!(after.contains("still here"));
    house.close().await;
}

/// Collects messages until there are several or nothing more comes, and answers in any order.
const SHUFFLE: &str = r#"
held, rest = [], b""
while True:
    ready = select.select([0], [], [], 0.02 if held else None)[0]
    if ready:
        chunk = os.read(0, 65536)
        if not chunk: break
        *lines, rest = (rest + chunk).split(b"\n")
        held += [Turn(line.decode()) for line in lines if line.startswith(b"<message")]
    if not ready or len(held) >= 12:
        random.shuffle(held)
        for turn in held: reply(turn.delivery, said(turn.text))
        held = []
"#;

#[tokio::test]
async fn b14_every_answer_carries_its_own_question() {
    let house = PlanHouse::open(&[
        ("boss", "peers: [oracle], turns: 3, in_flight: 16, entry: true", BOSS),
        ("oracle", "in_flight: 16", SHUFFLE),
    ])
    .await;
    let plan = |n: usize| {
        format!(
            "[[say('oracle', 'first {n} end'), say('oracle', 'second {n} end')], lambda turn: [said(' '.join(turn.answers()))]]"
        )
    };
    let receipts = house.send_all((0..200).map(|n| say("boss", &plan(n))).collect()).await;
    let outcomes = house.outcomes(&receipts).await;
    for (n, outcome) in outcomes.iter().enumerate() {
        assert!(body(outcome).contains(&format!(">first {n} end second {n} end<")), "{n}: {}", body(outcome));
    }
    let records = house.records();
    // The answers did come out of order: otherwise the test shows nothing.
    let threads_of = |role: &str| -> Vec<_> {
        let from_oracle =
            |r: &&systole_core::types::record::Record| role != "final" || r.header.from.as_str() == "oracle";
        records
            .iter()
            .filter(|r| code(r) == role)
            .filter(from_oracle)
            .map(|r| r.header.thread.clone())
            .collect()
    };
    assert_eq!((threads_of("call").len(), threads_of("final").len()), (400, 400));
    assert_ne!(threads_of("call"), threads_of("final"));
    house.close().await;
}

#[tokio::test]
async fn d5_a_hung_listener_delays_only_its_own_calls() {
    let house = PlanHouse::open(&[
        ("hang", "timeout: 60s, entry: true", HANG),
        ("quick", "entry: true", ECHO),
        ("boss", "peers: [quick, hang], turns: 3, entry: true, in_flight: 4", BOSS),
    ])
    .await;
    let mut documents: Vec<String> = (0..20).map(|n| say("hang", &n.to_string())).collect();
    documents.push(say("boss", "[[say('hang', ''), say('quick', 'beside')], everything]"));
    documents.extend((0..100).map(|n| say("quick", &n.to_string())));
    documents.extend((0..4).map(|n| say("boss", &format!("[[say('quick', '{n}')], everything]"))));
    let receipts = house.send_all(documents).await;
    let outcomes = house.outcomes(&receipts[21..]).await;
    assert!(outcomes.iter().all(|r| code(r) == "final"));
    let hung = house.records().iter().filter(|r| r.header.from.as_str() == "hang").count();
    assert_eq!(hung, 0, "nothing of the hung one came");
    house.until("the item beside the hung one is answered", |r| body(r).contains("quick heard beside")).await;
    house.close().await;
}

#[tokio::test]
async fn d3_a_shell_script_is_a_listener() {
    let folder = super::cast::cast(&[("stays", "entry: true", ""), ("comes", "mode: once, entry: true", "")]);
    let yaml = std::fs::read_to_string(folder.path().join("organism.yaml")).unwrap();
    let yaml = yaml
        .replace("[python3, stays.py]", "[sh, stays.sh]")
        .replace("[python3, comes.py]", "[sh, comes.sh]");
    std::fs::write(folder.path().join("organism.yaml"), yaml).unwrap();
    let answer =
        |who: &str| format!("<said xmlns=\"https://xml-pipeline.org/ns/{who}/v1\"><text>$text</text></said>");
    let text = "text=${line#*<text>}; text=${text%%</text>*}";
    let stays = format!(
        "while IFS= read -r line; do {text}; d=${{line#*delivery=\\\"}}; d=${{d%%\\\"*}}\nprintf '%s\\n' \"<reply xmlns=\\\"urn:systole:listener:v1\\\" delivery=\\\"$d\\\">{}</reply>\"; done\n",
        answer("stays").replace('"', "\\\"")
    );
    let comes = format!("line=$(cat); {text}; echo \"{}\"\n", answer("comes").replace('"', "\\\""));
    std::fs::write(folder.path().join("stays.sh"), stays).unwrap();
    std::fs::write(folder.path().join("comes.sh"), comes).unwrap();
    let house = PlanHouse::in_folder(folder).await;
    for who in ["stays", "comes", "stays", "comes"] {
        let key = format!("{who}-{}", house.records().len());
        let (_, told) = house.ask(&key, who, "a & b").await;
        assert!(told.contains("<text>a & b</text>"), "{who}: {told}");
    }
    house.close().await;
}
