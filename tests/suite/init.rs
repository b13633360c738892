//! `systole init`: its output runs unchanged, and its last line is a command that works.

use std::io::{Read as _, Write as _};
use std::path::Path;

use crate::program::systole;
use crate::session::Shell;

/// The last command in the output.
fn next(said: &str) -> &str {
    said.lines()
        .last()
        .and_then(|line| line.strip_prefix("next: "))
        .unwrap_or_else(|| panic!("no next: {said}"))
}

/// The examples by the options that write them.
const OPTIONS: [(&str, &str); 8] = [
    ("hello", ""),
    ("agent", " --agent"),
    ("team", " --team"),
    ("review", " --workflow review"),
    ("release", " --workflow release"),
    ("desk", " --example desk"),
    ("research", " --example research"),
    ("coder", " --example coder"),
];

#[test]
fn from_an_empty_folder_to_an_answer() {
    let shell = Shell::new();
    let said = shell.run("systole init first");
    assert_eq!(next(&said), "cd first && systole ask \"Who is there?\"");
    assert_eq!(shell.run(next(&said)), "Hello. You said: Who is there?\n");
    let yaml = std::fs::read_to_string(shell.folder().join("first/organism.yaml")).unwrap();
    assert!(yaml.contains("organism: {name: first, entry: greeter}"), "{yaml}");
    // An editor finds the schema of the file that its first line names.
    let schema =
        yaml.lines().next().and_then(|line| line.strip_prefix("# yaml-language-server: $schema=")).unwrap();
    let beside = std::fs::read_to_string(shell.folder().join("first").join(schema)).unwrap();
    assert_eq!(beside.trim_end(), shell.run("systole check --schema").trim_end());
}

#[test]
fn every_example_runs_as_printed_and_passes_the_test_beside_it() {
    // A coder and a desk wait for a person, and are run elsewhere.
    for (example, option) in OPTIONS.into_iter().filter(|(example, _)| !["coder", "desk"].contains(example)) {
        let shell = Shell::new();
        let said = shell.run(&format!("systole init \"my folder\"{option}"));
        let answered = shell.run(&format!("{} && echo it worked", next(&said)));
        assert!(answered.ends_with("it worked\n"), "{example}: {answered}");
        let tested = shell.run("systole test && echo passed");
        assert!(tested.ends_with("\npassed\n") && !tested.contains("FAIL"), "{example}: {tested}");
        // The test next to it fails if the organism answers something else.
        shell.run("sed -i 's/ said/ mumbled/; s/ asked/ mumbled/; s/\"total\"/\"quantity\"/; s/sinoatrial/vagus/; s/Reviewed:/Seen:/' answer.* listeners/* 2>/dev/null");
        shell.run("sed -i 's/no errors were/nothing was/; s/are 3 letters/are 4 letters/; s/(harrison.md:5)//' replies.yaml 2>/dev/null");
        let broken = shell.run("systole test || echo it failed");
        assert!(broken.contains("FAIL") && broken.ends_with("it failed\n"), "{example}: {broken}");
    }
}

/// `init` writes exactly what `config/` contains, file by file, plus the schema that the first line of the
/// organism's file names for editors.
#[test]
fn an_example_is_written_whole() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("config");
    for (example, option) in OPTIONS {
        let shell = Shell::new();
        // With the name of the example nothing is renamed.
        shell.run(&format!("systole init {example}{option}"));
        shell.run(&format!("cd {example}"));
        let without = "diff -r -x organism.schema.json -x .gitignore -I '^# yaml-language-server' . '";
        let differs = shell.run(&format!("{without}{}'", root.join(example).to_str().unwrap()));
        assert_eq!(differs, "", "{example}");
        let first = shell.run("head -1 organism.yaml");
        assert_eq!(first, "# yaml-language-server: $schema=organism.schema.json\n");
        let schema = shell.run("cat organism.schema.json");
        assert_eq!(schema, systole_config::ORGANISM_JSON_SCHEMA);
    }
}

#[test]
fn nothing_is_written_over() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("listeners")).unwrap();
    std::fs::write(folder.path().join("listeners/greeter.sh"), "mine").unwrap();
    let ran = systole(folder.path(), &["init"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("exists already: listeners/greeter.sh"), "{ran:?}");
    assert!(ran.stderr.contains("try: "), "{ran:?}");
    assert!(!folder.path().join("organism.yaml").exists(), "all or nothing");
    assert_eq!(std::fs::read_to_string(folder.path().join("listeners/greeter.sh")).unwrap(), "mine");
    // Each template has one option: a template with its own option is not an example.
    for name in ["nope", "hello", "agent", "team"] {
        let unknown = systole(folder.path(), &["init", "--example", name]);
        assert!(
            unknown.code == Some(2) && unknown.stderr.contains("[possible values: desk, research, coder]"),
            "{unknown:?}"
        );
    }
    for (option, name, instead) in [
        ("--example", "first-listeners", "systole listener new"),
        ("--example", "beat", "systole init NAME --example desk"),
        ("--workflow", "decision", "systole init NAME --workflow review"),
    ] {
        let gone = systole(folder.path(), &["init", option, name]);
        assert!(gone.code == Some(2) && gone.stderr.contains(instead), "{gone:?}");
    }
    // The current folder's name is used, if it is a valid name.
    std::fs::create_dir(folder.path().join("shop-2")).unwrap();
    let ran = systole(&folder.path().join("shop-2"), &["init"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let yaml = std::fs::read_to_string(folder.path().join("shop-2/organism.yaml")).unwrap();
    assert!(yaml.contains("name: shop-2"), "{yaml}");
}

/// A review is written beside what it reviews, also without a name for its folder.
#[test]
fn h12_a_review_is_written_into_a_folder_of_its_own() {
    for (name, enter) in
        [("", "cd review"), (" .", "cd ./review"), (" my-review", "cd my-review"), (" a/b", "cd a/b")]
    {
        let shell = Shell::new();
        let said = shell.run(&format!("mkdir here; cd here; systole init{name} --workflow review"));
        assert_eq!(next(&said), format!("{enter} && systole ask \"Review the last change.\""), "{name}");
        assert!(!shell.folder().join("here/organism.yaml").exists(), "{said}");
    }
}

/// The printed command runs for any name of the folder; a name that cannot be printed is rejected.
#[test]
fn the_next_command_runs_wherever_it_was_written() {
    for name in ["-x", "--help", "it's here", "$HOME", "a b/c d", "-a/-b", "ü"] {
        let shell = Shell::new();
        let said = shell.run(&format!("systole init -- '{}'", name.replace('\'', "'\\''")));
        assert_eq!(shell.run(next(&said)), "Hello. You said: Who is there?\n", "{name}: {said}");
    }
    let folder = tempfile::tempdir().unwrap();
    for (name, shown) in [
        ("a\nb", "a\\u{a}b"),
        ("a\tb", "a\\u{9}b"),
        ("a\u{7}b", "a\\u{7}b"),
        ("in/a\u{202e}b", "in/a\\u{202e}b"),
        ("a\\u{7}b", "a\\u{5c}u{7}b"),
    ] {
        let ran = systole(folder.path(), &["init", name]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
        let words = format!("error: the name `{shown}` has characters that a screen cannot show\n");
        assert_eq!(ran.stderr, words + "  try: a name of letters, digits, - and _\n");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was written");
}

#[test]
fn an_agent_without_a_key_is_rehearsed_and_says_so() {
    let shell = Shell::new();
    let said = shell.run("systole init helper --agent");
    for words in [
        "model: rehearsed, with the answers in replies.yaml\n",
        "  for a model on this machine: systole init NAME --agent --provider ollama\n",
        "  for a hosted model: set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY first\n",
    ] {
        assert!(said.contains(words), "{said}");
    }
    let answered = shell.run(&format!("{} 2>&1", next(&said)));
    assert_eq!(answered, "There are 3 letters r in strawberry.\n");
    assert!(shell.run("systole ask 'Who are you?'").starts_with("scripted: "), "any question has an answer");
    assert!(shell.run("systole check").starts_with("helper: 1 listener, 1 agent; nothing is wrong\n"));
}

#[test]
fn an_agent_takes_the_key_of_the_environment_and_keeps_nothing_of_it() {
    let secret = "sk-never-to-be-seen";
    for (key, model) in [
        ("ANTHROPIC_API_KEY", "{provider: anthropic, model: claude-haiku-4-5, key_env: ANTHROPIC_API_KEY}"),
        ("OPENAI_API_KEY", "{provider: openai, model: gpt-5-mini, key_env: OPENAI_API_KEY}"),
        ("GEMINI_API_KEY", "{provider: gemini, model: gemini-flash-latest, key_env: GEMINI_API_KEY}"),
        ("GOOGLE_API_KEY", "{provider: gemini, model: gemini-flash-latest, key_env: GOOGLE_API_KEY}"),
    ] {
        let shell = Shell::new().with(key, secret);
        let said = shell.run("systole init helper --agent");
        assert!(said.contains(&format!("with the key in {key}\n")) && !said.contains(secret), "{said}");
        let yaml = shell.run("cd helper && cat organism.yaml");
        assert!(yaml.contains(&format!("  main: {model}\n")), "{yaml}");
        assert!(yaml.contains("    dialect: native\n"), "one that a model of any kind can answer in: {yaml}");
        assert_eq!(shell.run("grep -r never-to-be-seen . || echo nowhere"), "nowhere\n");
        assert!(shell.run("systole check").starts_with("helper: 1 listener, 1 agent; nothing is wrong\n"));
        // Without the network: the same file with the model rehearsed.
        let rehearsed = "systole ask --set models.main.provider=script 'How many r are in strawberry?'";
        assert_eq!(shell.run(rehearsed), "There are 3 letters r in strawberry.\n");
        assert!(shell.run("systole test 2>&1").ends_with("2 passed\n"), "its test is rehearsed too");
    }
    let local = Shell::new().with("OPENAI_API_KEY", secret);
    let said = local.run("systole init helper --agent --provider ollama");
    assert!(
        said.contains("model: llama3.2 from ollama on this machine; first: ollama pull llama3.2"),
        "{said}"
    );
    assert!(local.run("systole check -f helper/organism.yaml").contains("nothing is wrong"));
    for wrong in ["--agent --team", "--list --agent", "--list --model x", "--agent --model ''"] {
        assert!(local.run(&format!("systole init other {wrong}")).contains("error: "), "{wrong}");
    }
}

/// An Ollama that has these models, and answers any number of requests.
fn ollama(models: &[&str]) -> String {
    let names: Vec<serde_json::Value> = models.iter().map(|name| serde_json::json!({"name": name})).collect();
    let body = serde_json::json!({"models": names}).to_string();
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for mut stream in server.incoming().map_while(Result::ok) {
            let mut head = [0; 4096];
            let read = stream.read(&mut head).unwrap_or(0);
            assert!(head[..read].starts_with(b"GET /api/tags HTTP/1.1\r\n"), "{:?}", &head[..read]);
            let _gone = write!(
                stream,
                "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            );
        }
    });
    address
}

#[test]
fn h12_every_template_with_agents_takes_a_provider_a_model_a_key_or_a_local_ollama() {
    let address = ollama(&["nomic-embed-text", "qwen3:4b"]);
    let local = Shell::new().with("OLLAMA_HOST", &address);
    let keyed = Shell::new().with("OPENAI_API_KEY", "sk-x").with("OLLAMA_HOST", &address);
    for (example, option) in OPTIONS {
        let first = |yaml: &str| yaml.lines().find(|line| line.contains("main: {")).unwrap_or("").to_owned();
        let written = |shell: &Shell, more: &str| {
            let said =
                shell.run(&format!("systole init {example}{}{option} {more}; echo \"exit $?\"", more.len()));
            (first(&shell.run(&format!("cat {example}{}/organism.yaml 2>&1", more.len()))), said)
        };
        if example == "hello" {
            for more in ["--provider openai", "--model x"] {
                let (_, said) = written(&keyed, more);
                let word = more.split(' ').next().unwrap();
                let words = format!("error: {word}: {example} has no agent, so it needs no model\n  try: ");
                assert!(said.starts_with(&words) && said.ends_with("exit 2\n"), "{said}");
            }
            continue;
        }
        let (yaml, said) = written(&local, "");
        let wanted = format!("  main: {{provider: ollama, model: \"qwen3:4b\", url: \"http://{address}\"}}");
        assert_eq!(yaml, wanted, "{said}");
        assert!(said.contains(&format!("model: qwen3:4b from ollama at http://{address}\n")), "{said}");
        let (yaml, said) = written(&keyed, "--model gpt-5.1");
        assert_eq!(yaml, "  main: {provider: openai, model: gpt-5.1, key_env: OPENAI_API_KEY}", "{said}");
        let (yaml, said) = written(&keyed, "--provider gemini");
        assert_eq!(yaml, "  main: {provider: gemini, model: gemini-flash-latest, key_env: GEMINI_API_KEY}");
        assert!(said.contains("first set GEMINI_API_KEY, which is not set\n"), "{said}");
        let (yaml, said) = written(&local, "--provider script");
        assert_eq!(yaml, "  main: {provider: script, file: replies.yaml}");
        assert!(
            said.contains(&format!("for a model on this machine: systole init NAME{option} --provider")),
            "{said}"
        );
        assert!(local.run(&format!("cd {example}0 && systole check; cd ..")).contains("nothing is wrong"));
        let none = Shell::new().run(&format!("systole init x{option} --model gpt-5.1; echo \"exit $?\""));
        assert!(
            none.starts_with(
                "error: --model: it is not known whose model gpt-5.1 is\n  try: --provider anthropic or "
            ) && none.ends_with("exit 2\n"),
            "{none}"
        );
    }
}

#[test]
fn the_list_names_each_template_with_a_command_that_writes_it() {
    let shell = Shell::new();
    let listed = shell.run("systole init --list");
    let commands: Vec<&str> = listed.lines().filter(|line| line.starts_with("systole init NAME")).collect();
    let written = OPTIONS.map(|(_, option)| format!("systole init NAME{option}"));
    assert_eq!(commands, written);
    for (n, command) in commands.iter().enumerate() {
        let said =
            shell.run(&command.replace("NAME", &n.to_string().replace(char::is_numeric, "t").repeat(n + 1)));
        assert!(said.contains("organism.yaml") && said.contains("next: cd t"), "{said}");
    }
}

/// What git keeps of a running organism: the files of `init`, and nothing that the run left behind.
#[test]
fn git_keeps_neither_the_log_nor_a_secret() {
    let shell = Shell::new().with("GIT_CONFIG_GLOBAL", "/dev/null").with("GIT_CONFIG_SYSTEM", "/dev/null");
    let written = shell.run("systole init first");
    shell.run("cd first && git init --quiet");
    shell.run("systole ask 'Who is there?'");
    let broker = "organism: {name: b}\nlisteners: {echo: {nats: true, accepts: [ask], returns: [answer]}}\n\
                  bus: {nats: 'nats://127.0.0.1:4222'}\n";
    std::fs::write(shell.folder().join("first/broker.yaml"), broker).unwrap();
    shell.run("systole permissions --organism broker.yaml --nats-config >/dev/null; rm broker.yaml");
    shell.run("echo ANTHROPIC_API_KEY=secret > .env");
    let mut running = shell.leave("systole run --set console.listen=127.0.0.1:0");
    let said = crate::program::lines(running.stdout.take().unwrap());
    while !said.recv_timeout(crate::program::PATIENCE).unwrap().starts_with("it listens on") {}
    let left = shell.run("ls -A; ls keys");
    for name in ["organism.db-wal", "organism.db.run", "organism.db.secret", "organism.db.tip", "_pump.nk"] {
        assert!(left.lines().any(|line| line == name), "{name} was left behind: {left}");
    }
    let mode = shell.run("stat -c '%a %n' organism.db organism.db-wal organism.db-shm organism.db.[rst]*");
    assert!(mode.lines().count() == 6 && mode.lines().all(|line| line.starts_with("600 ")), "{mode}");
    let staged = shell.run("git add -A && git diff --cached --name-only");
    running.kill().unwrap();
    running.wait().unwrap();
    let mut wanted: Vec<&str> =
        written.lines().filter_map(|line| line.strip_prefix("wrote first/")).collect();
    wanted.sort_unstable();
    assert_eq!(staged.lines().collect::<Vec<_>>(), wanted);
    assert!(wanted.contains(&".gitignore"), "{written}");
}

#[test]
fn a_list_of_what_git_leaves_out_gets_the_lines_that_it_lacks() {
    let shell = Shell::new();
    shell.run("printf 'mine\n*.nk' > .gitignore");
    let said = shell.run("systole init");
    assert!(said.contains("wrote .gitignore\n"), "{said}");
    let text = shell.run("cat .gitignore");
    assert!(text.starts_with("mine\n*.nk\n#") && text.contains("\n*.db.*\n"), "{text}");
    assert_eq!(text.matches("*.nk").count(), 1, "{text}");
    shell.run("rm -r organism* listeners hello.test.yaml README.md");
    let again = shell.run("systole init");
    assert!(again.contains("wrote organism.yaml\n") && !again.contains(".gitignore"), "{again}");
    assert_eq!(shell.run("cat .gitignore"), text);
}
