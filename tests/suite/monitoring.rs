//! The numbers and the health checks for monitoring: they say what the lists and the costs say, and go on after a restart.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Receiver;

use serde_json::Value;

use crate::followers::{self, wait_for};
use crate::log_records::read_all;
use crate::organism::folder;
use crate::program::{Answer, PATIENCE, Running, ask, ask_as, lines, run_file, systole};

const FILE: &str = "organism: {name: hello}
payloads: {say: text, said: text}
models:
  main: {provider: script, file: replies.yaml, price: {in: 3, out: 15, per: 1M, currency: USD}}
agents:
  helper: {model: main, dialect: native, peers: [], prompt: {identity: You help.}}
listeners:
  fails: {run: [python3, -c, 'raise SystemExit(3)'], accepts: [say], returns: [said], entry: true, retry: {attempts: 1}}
  guarded: {run: [cat], accepts: [say], returns: [said], entry: true, approval: {when: always}}
clients:
  alice: {token_env: ALICE_TOKEN}
  bob: {token_env: BOB_TOKEN, roles: [read]}
log: {path: ./hello.db}
console: {listen: \"127.0.0.1:0\"}
";
const REPLIES: &str = "helper:
  - {say: It is done., usage: {in: 1234567, out: 89012}}
";
const ALICE: &str = "the-token-of-alice-0001";
const BOB: &str = "the-token-of-bob-000001";
const TOKENS: [(&str, &str); 2] = [("ALICE_TOKEN", ALICE), ("BOB_TOKEN", BOB)];

fn get(at: &Path, token: Option<&str>, path: &str) -> Answer {
    let bearer = token.map(|token| format!("Bearer {token}"));
    let headers: Vec<(&str, &str)> = bearer.iter().map(|value| ("Authorization", value.as_str())).collect();
    ask_as(&run_file(at), "GET", path, &headers, "")
}

/// The values of a page of metrics, by name and labels. Every line has a form that Prometheus knows.
fn values(page: &str) -> BTreeMap<String, f64> {
    let mut found = BTreeMap::new();
    for line in page.lines().filter(|line| !line.starts_with("# HELP ") && !line.starts_with("# TYPE ")) {
        let (name, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
        assert!(name.starts_with("systole_") && name.ends_with('}'), "{line}");
        assert!(found.insert(name.to_owned(), value.parse().unwrap()).is_none(), "twice: {line}");
    }
    found
}

fn metrics(at: &Path) -> BTreeMap<String, f64> {
    let shown = get(at, Some(BOB), "/metrics");
    assert_eq!(shown.status, 200, "{shown:?}");
    values(&shown.body)
}

fn json(at: &Path, path: &str) -> Value {
    let shown = ask(&run_file(at), "GET", path, &[], "");
    assert_eq!(shown.status, 200, "{path}: {shown:?}");
    shown.json
}

fn send(at: &Path, to: &str, body: &str, wait: &str) -> Answer {
    ask(&run_file(at), "POST", &format!("/v1/messages?to={to}"), &[("Systole-Wait", wait)], body)
}

/// Compares the numbers with what the lists say.
fn compare(at: &Path) -> BTreeMap<String, f64> {
    let metrics = metrics(at);
    for state in ["paused", "working", "waiting", "cancelled", "failed", "answered"] {
        let listed = json(at, &format!("/v1/threads?limit=500&state={state}"));
        let count = listed["threads"].as_array().unwrap().len();
        assert_eq!(
            metrics[&format!("systole_threads{{state=\"{state}\"}}")],
            count as f64,
            "{state}: {metrics:?}"
        );
    }
    for row in json(at, "/v1/slow")["rows"].as_array().unwrap() {
        let name = row["name"].as_str().unwrap();
        let count = |outcome: &str| {
            let label = format!("systole_calls_total{{listener=\"{name}\",outcome=\"{outcome}\"}}");
            metrics.get(&label).copied().unwrap_or(0.0)
        };
        let all = count("answered") + count("failed") + count("cancelled");
        assert_eq!(row["count"].as_f64(), Some(all), "{name}: {metrics:?}");
        assert_eq!(row["failures"].as_f64(), Some(count("failed")), "{name}: {metrics:?}");
        assert_eq!(metrics[&format!("systole_call_seconds_count{{listener=\"{name}\"}}")], all);
    }
    metrics
}

#[test]
fn h6_metrics_say_what_the_lists_say_and_go_on_after_a_restart() {
    let folder = folder(&[("organism.yaml", FILE), ("replies.yaml", REPLIES)]);
    let at = folder.path();
    let organism = Running::organism_with(at, &TOKENS);
    assert!(compare(at).values().all(|value| *value == 0.0), "an empty log");
    let asked = "<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">What is smaller?</ask>";
    let said = "<say xmlns=\"https://xml-pipeline.org/ns/hello/v1\">hello</say>";
    for _ in 0..2 {
        assert_eq!(send(at, "helper", asked, "240").status, 200);
        assert_eq!(send(at, "fails", said, "240").status, 200);
    }
    assert_eq!(send(at, "guarded", said, "1").status, 202);
    assert_eq!(
        send(at, "fails", "<say xmlns=\"https://xml-pipeline.org/ns/hello/v1\"><a/></say>", "1").status,
        422
    );
    let first = compare(at);
    for (label, value) in [
        ("systole_threads{state=\"waiting\"}", 1.0),
        ("systole_threads{state=\"failed\"}", 2.0),
        ("systole_threads{state=\"answered\"}", 2.0),
        ("systole_calls_total{listener=\"fails\",outcome=\"failed\"}", 2.0),
        ("systole_model_requests_total{model=\"main\",outcome=\"answered\"}", 2.0),
        ("systole_model_tokens_total{model=\"main\",direction=\"in\"}", 2_469_134.0),
        ("systole_model_tokens_total{model=\"main\",direction=\"out\"}", 178_024.0),
        ("systole_refusals_total{code=\"payload.invalid\"}", 1.0),
    ] {
        assert_eq!(first.get(label), Some(&value), "{label}: {first:?}");
    }
    let cost = json(at, "/v1/cost?by=model");
    let money = cost["all"]["money"][0].as_str().unwrap();
    let spent = first["systole_model_money_total{model=\"main\",currency=\"USD\"}"];
    assert_eq!(money.split(' ').next().unwrap().parse::<f64>().unwrap(), spent, "{cost}");
    // A restart loses nothing, and a page that is asked for again changes nothing.
    organism.interrupt();
    let organism = Running::organism_with(at, &TOKENS);
    assert_eq!(compare(at), first);
    assert_eq!(send(at, "fails", said, "240").status, 200);
    let later = compare(at);
    let fallen = first.iter().find(|(name, value)| name.contains("_total") && later[*name] < **value);
    assert_eq!(fallen, None, "{later:?}");
    assert_eq!(later["systole_threads{state=\"failed\"}"], 3.0);
    organism.interrupt();
}

#[test]
fn h6_metrics_are_for_those_who_read_and_health_is_for_everyone() {
    let folder = folder(&[("organism.yaml", FILE), ("replies.yaml", REPLIES)]);
    let at = folder.path();
    let organism = Running::organism_with(at, &TOKENS);
    for path in ["/healthz", "/readyz"] {
        let shown = get(at, None, path);
        assert_eq!((shown.status, shown.body.as_str()), (200, ""), "{path}");
    }
    assert_eq!(get(at, Some("no-token-of-this-house"), "/metrics").status, 401);
    let refused = get(at, Some(ALICE), "/metrics");
    assert_eq!((refused.status, &refused.json["code"]), (403, &"ingress.forbidden".into()), "{refused:?}");
    assert!(refused.json["try"].as_str().unwrap().contains("metrics: open"), "{refused:?}");
    assert_eq!(get(at, Some(BOB), "/metrics").status, 200);
    organism.interrupt();
    let opened = Running::organism_set(at, &["--set", "console.metrics=open"], &TOKENS);
    let shown = get(at, None, "/metrics");
    assert!(shown.status == 200 && shown.body.contains("# TYPE systole_threads gauge"), "{shown:?}");
    opened.interrupt();
}

/// A collector: it reads each message with the library of another author, prints its numbers as a page of Prometheus
/// names them, and answers as the file `answer` says: a status, or `partial`, with which it rejects a number.
const COLLECTOR: &str = r#"import json, os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest, ExportMetricsServiceResponse
def labels(point):
    return "{" + ",".join(f'{one.key}="{one.value.string_value}"' for one in point.attributes) + "}"
class Door(BaseHTTPRequestHandler):
    def do_POST(self):
        message = ExportMetricsServiceRequest.FromString(self.rfile.read(int(self.headers["Content-Length"])))
        [of] = message.resource_metrics
        [scope] = of.scope_metrics
        got = {"path": self.path, "service": of.resource.attributes[0].value.string_value, "kinds": {}, "values": {}, "began": [], "at": []}
        for metric in scope.metrics:
            kind = metric.WhichOneof("data")
            data = getattr(metric, kind)
            rises = [data.is_monotonic, data.aggregation_temporality] if kind == "sum" else []
            got["kinds"][metric.name] = [kind, metric.unit, *rises]
            for point in data.data_points:
                got["began"].append(point.start_time_unix_nano)
                got["at"].append(point.time_unix_nano)
                if kind == "summary":
                    got["values"][metric.name + "_sum" + labels(point)] = repr(point.sum)
                    got["values"][metric.name + "_count" + labels(point)] = repr(point.count)
                else:
                    got["values"][metric.name + labels(point)] = repr(getattr(point, point.WhichOneof("value")))
        print(json.dumps(got), flush=True)
        said = open("answer").read() if os.path.exists("answer") else "200"
        answer = ExportMetricsServiceResponse()
        if said == "partial":
            answer.partial_success.rejected_data_points, answer.partial_success.error_message = 3, "no room"
        body = answer.SerializeToString()
        self.send_response(200 if said == "partial" else int(said))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *words):
        pass
server = HTTPServer(("127.0.0.1", int(sys.argv[1])), Door)
print(server.server_port, flush=True)
server.serve_forever()
"#;

#[test]
fn h6_a_collector_gets_the_numbers_of_the_page_and_again_after_it_failed() {
    let beside = tempfile::tempdir().unwrap();
    let collector = followers::Receiver::start_program(beside.path(), (COLLECTOR, "otlp"), &["0"]);
    let follow =
        format!("follow: {{numbers: {{otlp: \"http://127.0.0.1:{}\", sends: metrics}}}}\n", collector.port);
    let folder = folder(&[("organism.yaml", &format!("{FILE}{follow}")), ("replies.yaml", REPLIES)]);
    let at = folder.path();
    let organism = Running::organism_with(at, &TOKENS);
    let empty = collector.next();
    assert_eq!((&empty["path"], &empty["service"]), (&"/v1/metrics".into(), &"hello".into()), "{empty}");
    let asked = "<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">What is smaller?</ask>";
    let said = "<say xmlns=\"https://xml-pipeline.org/ns/hello/v1\">hello</say>";
    assert_eq!(send(at, "helper", asked, "240").status, 200);
    assert_eq!(send(at, "fails", said, "240").status, 200);
    assert_eq!(send(at, "guarded", said, "1").status, 202);
    organism.interrupt();
    // They go out at the start, and then each minute.
    std::fs::write(beside.path().join("answer"), "503").unwrap();
    let organism = Running::organism_with(at, &TOKENS);
    let page = metrics(at);
    let got = collector.next();
    let sent = got["values"].as_object().unwrap().iter();
    let sent: BTreeMap<String, f64> =
        sent.map(|(name, value)| (name.clone(), value.as_str().unwrap().parse().unwrap())).collect();
    let is_of_follower = |name: &str| name.starts_with("systole_follower_behind");
    let page = page.into_iter().filter(|(name, _)| !is_of_follower(name)).collect::<BTreeMap<_, _>>();
    assert_eq!(sent, page);
    assert_eq!(sent["systole_model_money_total{model=\"main\",currency=\"USD\"}"], 5.038881, "{sent:?}");
    let kinds = &got["kinds"];
    assert_eq!(kinds["systole_threads"], serde_json::json!(["gauge", ""]));
    // 2: cumulative.
    assert_eq!(kinds["systole_calls_total"], serde_json::json!(["sum", "", true, 2]));
    assert_eq!(kinds["systole_call_seconds"], serde_json::json!(["summary", "s"]));
    let nanos = read_all(&at.join("hello.db"))[0].header.time.0 * 1_000_000;
    assert!(got["began"].as_array().unwrap().iter().all(|began| *began == nanos), "{got}");
    assert!(got["at"].as_array().unwrap().iter().all(|at| at.as_u64() > Some(nanos)), "{got}");
    // A collector that fails, or that rejects numbers, is shown and gets them again soon.
    let failed = wait_for(at, |one| !one["error"].is_null());
    assert_eq!((&failed["error"], &failed["on"][0]), (&"503".into(), &"metrics".into()), "{failed}");
    std::fs::write(beside.path().join("answer"), "partial").unwrap();
    let partial = wait_for(at, |one| one["error"].as_str().is_some_and(|why| why != "503"));
    assert_eq!(partial["error"], "3 metrics are rejected: no room", "{partial}");
    assert!(partial["position"].is_null(), "it has taken nothing whole: {partial}");
    std::fs::remove_file(beside.path().join("answer")).unwrap();
    let taken = wait_for(at, |one| one["error"].is_null());
    // The program that ends at once is started again and again, and each time is a record that comes after.
    assert!(taken["state"] == "follows" && taken["position"].is_u64(), "{taken}");
    let refused = systole(at, &["follow", "numbers", "--from", "now"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("numbers sends sums and has no cursor"), "{refused:?}");
    organism.interrupt();
    let shown = systole(at, &["follow"]);
    assert!(
        shown.stdout.contains("numbers  waits  sums, each minute  metrics to http://127.0.0.1:"),
        "{shown:?}"
    );
}

/// A Prometheus that scrapes an organism each second, gone when it is dropped.
struct Prometheus {
    child: Child,
    address: String,
    /// It ends if no one reads what it says.
    _said: Receiver<String>,
    _folder: tempfile::TempDir,
}

/// A program of the package, on this machine or unpacked for the tests.
pub(crate) fn find_program(name: &str) -> PathBuf {
    let unpacked = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/prometheus/usr/bin");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).chain([unpacked]).map(|folder| folder.join(name));
    found.into_iter().find(|file| file.is_file()).expect("Prometheus is missing: run `tools/prepare test`")
}

impl Prometheus {
    fn scrape(organism: &str) -> Prometheus {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("prometheus.yml");
        let text = format!(
            "global: {{scrape_interval: 1s}}\nscrape_configs:\n- job_name: systole\n  authorization: {{credentials: {BOB}}}\n  static_configs: [{{targets: [\"{organism}\"]}}]\n"
        );
        std::fs::write(&file, text).unwrap();
        let mut command = Command::new(find_program("prometheus"));
        command.arg(format!("--config.file={}", file.display())).arg("--web.listen-address=127.0.0.1:0");
        command.arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()));
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let said = lines(child.stderr.take().unwrap());
        let address = loop {
            let line = said.recv_timeout(PATIENCE).expect("it says where it listens");
            if let Some((_, address)) = line.split_once("msg=\"Listening on\" address=") {
                break address.trim().to_owned();
            }
        };
        Prometheus { child, address, _said: said, _folder: folder }
    }

    /// The values that it has, by name and labels as on the page. What is scraped has two labels more.
    fn list_values(&self) -> BTreeMap<String, f64> {
        let query = "%7B__name__%3D~%22systole_.%2A%22%7D";
        let address = format!("http://{}/api/v1/query?query={query}", self.address);
        // It answers a moment later than it listens.
        let Ok(mut answer) = ureq::get(address).call() else { return BTreeMap::new() };
        let text = answer.body_mut().read_to_string().unwrap();
        let said: Value = serde_json::from_str(&text).unwrap();
        let one = |row: &Value| {
            let labels = row["metric"].as_object().unwrap().iter();
            let own = labels.filter(|(key, _)| !["__name__", "instance", "job"].contains(&key.as_str()));
            let own = own.map(|(key, value)| format!("{key}={value}")).collect::<BTreeSet<_>>();
            let value = row["value"][1].as_str().unwrap().parse().unwrap();
            (format!("{} {own:?}", row["metric"]["__name__"].as_str().unwrap()), value)
        };
        said["data"]["result"].as_array().unwrap().iter().map(one).collect()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

#[test]
fn h6_prometheus_scrapes_the_numbers_of_the_page_and_finds_no_fault_in_it() {
    let folder = folder(&[("organism.yaml", FILE), ("replies.yaml", REPLIES)]);
    let at = folder.path();
    let organism = Running::organism_with(at, &TOKENS);
    let asked = "<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">What is smaller?</ask>";
    let said = "<say xmlns=\"https://xml-pipeline.org/ns/hello/v1\">hello</say>";
    assert_eq!(send(at, "helper", asked, "240").status, 200);
    assert_eq!(send(at, "fails", said, "240").status, 200);
    assert_eq!(send(at, "guarded", said, "1").status, 202);
    let page = get(at, Some(BOB), "/metrics").body;
    let mut check = Command::new(find_program("promtool"));
    check.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = check.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), page.as_bytes()).unwrap();
    let judged = child.wait_with_output().unwrap();
    assert!(judged.status.success() && judged.stdout.is_empty() && judged.stderr.is_empty(), "{judged:?}");
    let list_wanted = || -> BTreeMap<String, f64> {
        let one = |(name, value): (String, f64)| {
            let (name, labels) = name.trim_end_matches('}').split_once('{').unwrap();
            (format!("{name} {:?}", labels.split(',').map(str::to_owned).collect::<BTreeSet<_>>()), value)
        };
        metrics(at).into_iter().map(one).collect()
    };
    assert!(list_wanted().len() > 12);
    let prometheus = Prometheus::scrape(&run_file(at).address.to_string());
    let end = tokio::time::Instant::now() + PATIENCE;
    while prometheus.list_values() != list_wanted() {
        let found = || (prometheus.list_values(), list_wanted());
        assert!(tokio::time::Instant::now() < end, "{:?}", found());
    }
    organism.interrupt();
}
