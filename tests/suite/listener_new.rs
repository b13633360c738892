//! `systole listener new`: a listener of each kind. Its test passes as written, and the organism then runs it.

use std::path::Path;
use std::process::Stdio;
use std::sync::Mutex;

use crate::broker::{NatsServer, python};
use crate::over_nats::Ends;
use crate::program::{PATIENCE, lines};
use crate::session::Shell;
use crate::stage::until;

/// A shell in a fresh organism.
fn organism() -> Shell {
    let shell = Shell::new();
    shell.run("systole init hello && cd hello");
    shell.run("cd hello");
    shell
}

const SEND: &str = "systole send weather text='a < b' 2>/dev/null";

#[test]
fn g5_a_new_listener_in_shell_or_python_passes_its_test_and_is_run() {
    for language in ["shell", "python", "python --plain", "typescript"] {
        let shell = organism().with("PATH", &node_folder());
        let before = std::fs::read_to_string(shell.folder().join("hello/organism.yaml")).unwrap();
        let said = shell.run(&format!("systole listener new {language} weather"));
        assert!(said.contains("added weather and its payloads to organism.yaml"), "{said}");
        assert!(said.ends_with("next: systole test listeners/weather.test.yaml\n"), "{said}");
        let test = shell.run("systole test listeners/weather.test.yaml");
        assert!(test.ends_with("1 passed\n"), "{language}: {test}");
        let answer = shell.run(SEND);
        assert!(
            answer.contains("weather-answer") && answer.contains("You said: a &lt; b"),
            "{language}: {answer}"
        );
        let after = std::fs::read_to_string(shell.folder().join("hello/organism.yaml")).unwrap();
        let kept: Vec<&str> = after.lines().filter(|line| before.lines().any(|old| old == *line)).collect();
        assert!(before.lines().all(|line| kept.contains(&line)), "{after}");
        assert_eq!(shell.folder().join("hello/sdk").exists(), matches!(language, "python" | "typescript"));
        // A test that cannot fail would be worse than none.
        shell.run("sed -i 's/You said/I said/' listeners/weather.sh listeners/weather.*[yt]s 2>/dev/null");
        shell.run("sed -i 's/You said/I said/' listeners/weather.py 2>/dev/null");
        let test = shell.run("systole test listeners/weather.test.yaml || echo it failed");
        assert!(test.contains("another answer came") && test.ends_with("it failed\n"), "{language}: {test}");
    }
}

/// The folder of Node, if `tools/prepare` brought one.
fn node_folder() -> String {
    let program = crate::browser::node();
    let folder = program.parent().map(|folder| folder.display().to_string()).unwrap_or_default();
    if folder.is_empty() { "/usr/bin".to_owned() } else { folder }
}

#[test]
fn g5_a_new_listener_in_rust_passes_its_test_and_is_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shell = organism();
    let none = shell.run("systole listener new rust weather; echo $?");
    assert!(none.contains("no registry has yet") && none.ends_with("2\n"), "{none}");
    let wrong = shell.run("systole listener new rust weather --kit . ; echo $?");
    assert!(wrong.contains(". is not the folder of systole-kit") && wrong.ends_with("2\n"), "{wrong}");
    let kit = root.join("listeners/kit");
    let said = shell.run(&format!("systole listener new rust weather --kit '{}'", kit.to_str().unwrap()));
    let next: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("next: ")).collect();
    let [build, test] = next[..] else { panic!("{said}") };
    let tested = shell.run(&[&building(), test].concat());
    assert!(tested.contains("test tests::it_answers_what_it_is_asked ... ok"), "{tested}");
    builds(&shell, build, "listeners/weather/target/release");
    let answer = shell.run(SEND);
    assert!(answer.contains("You said: a &lt; b"), "{answer}");
    let source = std::fs::read_to_string(shell.folder().join("hello/listeners/weather/src/main.rs")).unwrap();
    let code = source.split("\n#[cfg(test)]").next().unwrap();
    let page = std::fs::read_to_string(root.join("docs/listeners-in-rust.md")).unwrap();
    assert!(page.contains(code), "the page shows what is written: {code}");
    let lines =
        code.lines().filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with("//")).count();
    assert!(lines <= 15, "about fifteen lines: {lines}");
}

/// How cargo builds a new listener here: it fetches nothing, and builds the needed crates once for all these tests.
fn building() -> String {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("listener-new");
    format!(
        "export CARGO_NET_OFFLINE=true CARGO_PROFILE_DEV_DEBUG=0 CARGO_INCREMENTAL=0 CARGO_TARGET_DIR='{}'; ",
        target.display()
    )
}

/// Builds the new listener, and puts its program where a release build writes it. It is a debug build: a release
/// build takes minutes and shows no more.
fn builds(shell: &Shell, command: &str, release: &str) {
    // Each of these tests leaves a program of this name there.
    static NAME: Mutex<()> = Mutex::new(());
    let command = command.strip_prefix("cargo build --release ").expect("a release build");
    let script = format!(
        "{}cargo build {command} && mkdir -p {release} && cp \"$CARGO_TARGET_DIR/debug/weather\" {release} && echo built",
        building()
    );
    let _held = NAME.lock().unwrap();
    let done = shell.run(&script);
    assert!(done.ends_with("built\n"), "{done}");
}

/// The organism of a new listener over NATS, on its own broker. Returns the command that starts the listener.
fn over_nats(shell: &Shell, server: &NatsServer, arguments: &str) -> Vec<String> {
    let said = shell.run(&format!("systole listener new {arguments} --nats"));
    assert!(said.contains("added weather and its payloads to organism.yaml"), "{said}");
    let file = shell.folder().join("hello/organism.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("  weather:\n    nats: true\n"), "{text}");
    let named = "bus:\n  nats: \"nats://127.0.0.1:4222\"\n";
    assert!(text.contains(named), "the broker is named where none was: {text}");
    std::fs::write(&file, text.replace("nats://127.0.0.1:4222", &server.url())).unwrap();
    let next = said.lines().filter_map(|line| line.strip_prefix("next: "));
    next.map(|line| line.replace("nats://127.0.0.1:4222", &server.url())).collect()
}

#[tokio::test]
async fn g5_a_new_listener_over_nats_in_python_passes_its_test_and_answers() {
    let (shell, server) = (organism(), NatsServer::start());
    let next = over_nats(&shell, &server, "python weather");
    let [test, start] = &next[..] else { panic!("{next:?}") };
    let tested = shell.run(test);
    assert!(tested.ends_with("ok\n"), "{tested}");
    let wanted = format!(
        "PYTHONPATH=sdk/python SYSTOLE_NATS={} SYSTOLE_ORGANISM=hello SYSTOLE_LISTENER=weather python3 listeners/weather.py",
        server.url()
    );
    assert_eq!(*start, wanted);
    let worker = sdk_worker(&shell);
    answers_and_ends(&shell, &server, worker).await;
    // A test that cannot fail would be worse than none.
    shell.run("sed -i 's/You said/I said/' listeners/weather.py");
    let tested = shell.run(&format!("{test} || echo it failed"));
    assert!(tested.contains("unexpected: ") && tested.ends_with("it failed\n"), "{tested}");
    let none = shell.run("systole listener new shell more --nats; echo $?");
    assert!(none.contains("a shell script cannot connect to a broker") && none.ends_with("2\n"), "{none}");
}

#[test]
fn g5_a_new_listener_over_nats_is_written_for_a_broker_that_the_organism_starts() {
    let shell = organism();
    shell.run("echo 'bus: {nats: managed}' >> organism.yaml");
    let said = shell.run("systole listener new python weather --nats");
    assert!(said.contains("added weather and its payloads to organism.yaml"), "{said}");
    let start = "next: PYTHONPATH=sdk/python SYSTOLE_NATS=\"$(cat organism.db.nats/address)\" SYSTOLE_ORGANISM=hello \
         SYSTOLE_LISTENER=weather SYSTOLE_KEY_FILE=organism.db.nats/keys/weather.nk \
         python3 listeners/weather.py\n";
    assert!(said.ends_with(start), "{said}");
    let file = std::fs::read_to_string(shell.folder().join("hello/organism.yaml")).unwrap();
    assert!(file.contains("bus: {nats: managed}") && !file.contains("nats://"), "{file}");
    let checked = shell.run("systole check; echo $?");
    assert!(checked.ends_with("0\n"), "{checked}");
}

#[tokio::test]
async fn g5_a_new_python_listener_over_nats_stops_on_a_signal_even_without_its_broker() {
    let (shell, mut server) = (organism(), NatsServer::start());
    over_nats(&shell, &server, "python weather");
    for never_there in [false, true] {
        let mut worker = sdk_worker(&shell);
        let all = [("NATS", &*server.url()), ("ORGANISM", "hello"), ("LISTENER", "weather")];
        worker.envs(all.map(|(name, value)| (format!("SYSTOLE_{name}"), value)));
        let mut worker = Ends(worker.stderr(Stdio::piped()).spawn().unwrap());
        if never_there {
            // It reports a failed connection, and keeps trying.
            let words = lines(worker.0.stderr.take().unwrap());
            words.recv_timeout(PATIENCE).unwrap();
        } else {
            let answer = shell.run(SEND);
            assert!(answer.contains("You said: a &lt; b"), "{answer}");
            server.kill();
        }
        let process = rustix::process::Pid::from_child(&worker.0);
        rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
        until("the worker ends", || worker.0.try_wait().unwrap().is_some()).await;
    }
}

/// The new worker in Python, with the SDK and the client of NATS.
fn sdk_worker(shell: &Shell) -> std::process::Command {
    let mut worker = python();
    let folder = shell.folder().join("hello");
    let path = [folder.join("sdk/python"), crate::broker::tools().join("python")];
    worker.env("PYTHONPATH", std::env::join_paths(path).unwrap());
    worker.arg("listeners/weather.py").current_dir(folder);
    worker
}

/// Starts a worker, which answers, and ends by itself when asked.
async fn answers_and_ends(shell: &Shell, server: &NatsServer, mut worker: std::process::Command) {
    worker
        .env("SYSTOLE_NATS", server.url())
        .env("SYSTOLE_ORGANISM", "hello")
        .env("SYSTOLE_LISTENER", "weather");
    let mut worker = Ends(worker.spawn().unwrap());
    let answer = shell.run(SEND);
    let process = rustix::process::Pid::from_child(&worker.0);
    rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    assert!(answer.contains("You said: a &lt; b"), "{answer}");
    until("the worker ends", || worker.0.try_wait().unwrap().is_some()).await;
    let ended = worker.0.wait().unwrap();
    assert!(ended.success(), "it ends after TERM: {ended:?}");
}

#[tokio::test]
async fn g5_a_new_listener_over_nats_in_rust_passes_its_test_and_answers() {
    let (shell, server) = (organism(), NatsServer::start());
    let kit = Path::new(env!("CARGO_MANIFEST_DIR")).join("listeners/kit");
    let next = over_nats(&shell, &server, &format!("rust weather --kit '{}'", kit.to_str().unwrap()));
    let [build, test, start] = &next[..] else { panic!("{next:?}") };
    assert!(start.ends_with(" listeners/weather/target/release/weather"), "{start}");
    let tested = shell.run(&[&building(), test.as_str()].concat());
    assert!(tested.contains("test tests::it_answers_what_it_is_asked ... ok"), "{tested}");
    let release = "listeners/weather/target/release";
    builds(&shell, build, release);
    let worker = shell.folder().join("hello").join(release).join("weather");
    answers_and_ends(&shell, &server, std::process::Command::new(worker)).await;
}

#[test]
fn nothing_is_written_over_and_a_file_of_another_layout_is_left_alone() {
    let shell = organism();
    let path = shell.folder().join("hello/organism.yaml");
    let again = shell.run("systole listener new shell greeter; echo $?");
    assert!(
        again.contains("greeter is a listener of the organism's file already") && again.ends_with("2\n"),
        "{again}"
    );
    shell.run("echo mine > listeners/weather.py");
    let before = std::fs::read_to_string(&path).unwrap();
    let there = shell.run("systole listener new python weather; echo $?");
    assert!(there.contains("exists already: listeners/weather.py") && there.ends_with("2\n"), "{there}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), before, "the file is as it was");
    assert!(!shell.folder().join("hello/listeners/weather.test.yaml").exists(), "all or nothing");

    for name in ["ask", "answer"] {
        let talks = shell.run(&format!("systole listener new shell {name}; echo $?"));
        assert!(talks.contains("would replace talk's") && talks.ends_with("2\n"), "{talks}");
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), before, "the greeter still takes a question");

    let flow = "organism: {name: hello, entry: greeter}\nlisteners: {greeter: {run: [sh, listeners/greeter.sh], mode: once, accepts: [ask], returns: [answer]}}\n";
    std::fs::write(&path, flow).unwrap();
    let printed = shell.run("systole listener new shell report");
    assert!(printed.contains("has an unusual layout; add to it:"), "{printed}");
    assert!(printed.contains("\n  report:\n    run: [sh, listeners/report.sh]\n"), "{printed}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), flow);

    std::fs::write(&path, "organism: {name: hello}\nlistenrs: {}\n").unwrap();
    let refused = shell.run("systole listener new shell more; echo $?");
    assert!(refused.contains("listenrs") && refused.ends_with("3\n"), "{refused}");
    shell.run("rm organism.yaml");
    let none = shell.run("systole listener new shell more; echo $?");
    assert!(none.ends_with("3\n"), "{none}");
}

/// In every layout of the file, the same names are rejected with the same message, and nothing is written.
#[test]
fn every_layout_refuses_the_same_names_with_the_same_words() {
    let listener = "{run: [sh, listeners/greeter.sh], mode: once, accepts: [ask], returns: [answer]}";
    let head = "organism: {name: hello, entry: greeter}\n";
    let clients = "clients: {alice: {token_env: ALICE_TOKEN}}\n";
    let layouts = [
        format!("{head}payloads:\n  w: text\nlisteners:\n  greeter: {listener}\n{clients}"),
        format!("{head}payloads: {{w: text}}\nlisteners:\n  greeter: {listener}\n{clients}"),
        format!("{head}payloads: {{w: text, }} # mine\nlisteners: {{greeter: {listener}}}\n{clients}"),
        format!("{head}listeners: {{greeter: {listener}}}\nschemas: [w.xsd]\n{clients}"),
        format!(
            "{{organism: {{name: hello}}, payloads: {{w: text}}, listeners: {{greeter: {listener}}}, {}}}\n",
            clients.trim()
        ),
    ];
    let xsd = "<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\" elementFormDefault=\"qualified\" targetNamespace=\"urn:w\"><xs:element name=\"w\" type=\"xs:string\"/></xs:schema>";
    for (n, layout) in layouts.iter().enumerate() {
        let shell = organism();
        let folder = shell.folder().join("hello");
        std::fs::write(folder.join("w.xsd"), xsd).unwrap();
        std::fs::write(folder.join("organism.yaml"), layout).unwrap();
        let written = || std::fs::read_dir(folder.join("listeners")).unwrap().count();
        let before = written();
        for (name, words) in [
            ("core", "listeners: the name `core` belongs to Systole"),
            ("sys", "listeners: the name `sys` belongs to Systole"),
            ("operator", "listeners: the name `operator` belongs to Systole"),
            ("alice", "clients: `alice` is the name of a listener"),
            (
                "w",
                if n == 3 {
                    "payloads: `w` is declared in w.xsd as well"
                } else {
                    "`w` appears here a second time"
                },
            ),
        ] {
            let refused = shell.run(&format!("systole listener new shell {name}; echo $?"));
            assert!(refused.contains(words) && refused.ends_with("\n3\n"), "{layout}: {refused}");
            assert!(refused.contains(&format!("with {name} in it the organism's file would be refused:")));
        }
        assert_eq!(written(), before, "{layout}");
        let taken = shell.run("systole listener new shell calc.add; echo $?");
        assert!(taken.ends_with("next: systole test listeners/calc.add.test.yaml\n0\n"), "{layout}: {taken}");
        assert_eq!(taken.contains("has an unusual layout"), n > 0, "{layout}: {taken}");
    }
}
