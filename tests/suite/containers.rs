//! The files of `docs/containers.md`: each program that reads one finds nothing wrong with it, and they name routes, ports,
//! files and versions that exist.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::monitoring::find_program;
use crate::organism::folder;
use crate::program::{Running, ask_as, run_file, systole};

const FOLDER: &str = "tools/dist/operating";
const IMAGE: &str = concat!("systole:", env!("CARGO_PKG_VERSION"));

fn read_text(name: &str) -> String {
    fs::read_to_string(Path::new(FOLDER).join(name)).unwrap()
}

/// The documents of a file, by their kind.
fn find_kind(name: &str, kind: &str) -> Value {
    let read: Vec<Value> = serde_saphyr::from_multiple(&read_text(name)).unwrap();
    let found: Vec<&Value> = read.iter().filter(|document| document["kind"] == kind).collect();
    assert_eq!(found.len(), 1, "{kind} in {name}");
    found[0].clone()
}

fn assert_accepts(command: &mut Command) {
    let judged = command.output().unwrap();
    assert!(judged.status.success(), "{judged:?}");
}

#[test]
fn h7_each_program_of_the_compose_file_finds_nothing_wrong_with_its_file() {
    let checked = systole(&Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER), &["check"]);
    assert!(checked.stdout.starts_with("hello: 1 listener; nothing is wrong\n"), "{checked:?}");
    let path = crate::broker::path();
    assert_accepts(
        Command::new("nats-server").args(["-t", "-c", "nats.conf"]).current_dir(FOLDER).env("PATH", path),
    );
    let promtool = find_program("promtool");
    assert_accepts(Command::new(promtool).args(["check", "config", "prometheus.yaml"]).current_dir(FOLDER));
}

#[test]
fn h7_the_compose_file_names_files_ports_and_the_image_that_exist() {
    let read: Value = serde_saphyr::from_str(&read_text("compose.yaml")).unwrap();
    let services = read["services"].as_object().unwrap();
    for (name, service) in services {
        for volume in service["volumes"].as_array().unwrap() {
            let from = volume.as_str().unwrap().split(':').next().unwrap();
            let is_there = from.strip_prefix("./").map_or_else(
                || read["volumes"].get(from).is_some(),
                |file| Path::new(FOLDER).join(file).exists(),
            );
            assert!(is_there, "{name}: {from}");
        }
    }
    let organism = &services["organism"];
    assert_eq!((&organism["image"], &organism["user"]), (&json!(IMAGE), &json!("10001:10001")));
    assert_eq!(organism["read_only"], true);
    let file: Value = serde_saphyr::from_str(&read_text("organism.yaml")).unwrap();
    assert_eq!(file["console"], json!({"listen": "0.0.0.0:7474", "metrics": "open"}));
    assert_eq!(organism["ports"], json!(["127.0.0.1:7474:7474"]));
    let scrape: Value = serde_saphyr::from_str(&read_text("prometheus.yaml")).unwrap();
    assert_eq!(scrape["scrape_configs"][0]["static_configs"][0]["targets"], json!(["organism:7474"]));
    let broker = read_text("nats.conf");
    for (key, port) in [("nats", "nats://nats:4222"), ("monitor", "http://nats:8222")] {
        assert_eq!(file["log"][key], port);
        assert!(broker.contains(&format!("0.0.0.0:{}\"", port.rsplit_once(':').unwrap().1)), "{broker}");
    }
}

/// The organism of the manifest runs, and answers what its probes and its Prometheus ask, without a token.
#[test]
fn h7_the_manifest_for_kubernetes_runs_its_organism_and_its_probes_succeed() {
    let set = find_kind("kubernetes.yaml", "StatefulSet");
    let pod = &set["spec"]["template"];
    let container = &pod["spec"]["containers"][0];
    assert_eq!((&set["spec"]["replicas"], &container["image"]), (&json!(1), &json!(IMAGE)));
    let rights = &pod["spec"]["securityContext"];
    let user = json!(10001);
    assert_eq!(
        (&rights["runAsNonRoot"], &rights["runAsUser"], &rights["fsGroup"]),
        (&json!(true), &user, &user)
    );
    assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);

    let data = &find_kind("kubernetes.yaml", "ConfigMap")["data"];
    let text = |name: &str| data[name].as_str().unwrap();
    let mounts = container["volumeMounts"].as_array().unwrap();
    let mounted: Vec<(&str, &str)> = mounts
        .iter()
        .filter_map(|mount| Some((mount["mountPath"].as_str()?, mount["subPath"].as_str()?)))
        .map(|(path, key)| (path.strip_prefix("/data/").expect("below /data"), text(key)))
        .collect();
    assert_eq!(mounted.len(), data.as_object().unwrap().len(), "each file is mounted");
    assert!(mounts.iter().any(|mount| mount["mountPath"] == "/data" && mount["name"] == "data"));
    let home = folder(&mounted);
    let mut options: Vec<&str> =
        container["args"].as_array().unwrap().iter().skip(1).map(|one| one.as_str().unwrap()).collect();
    options.extend(["--set", "console.listen=127.0.0.1:0", "--log", "hello.db"]);
    let organism = Running::organism_set(home.path(), &options, &[]);
    let asked = systole(home.path(), &["ask", "--log", "hello.db", "Who is there?"]);
    assert_eq!(asked.stdout, "Hello. You said: Who is there?\n", "{asked:?}");

    let file: Value = serde_saphyr::from_str(text("organism.yaml")).unwrap();
    let port = file["console"]["listen"].as_str().unwrap().strip_prefix("0.0.0.0:").unwrap();
    let ports = &container["ports"][0];
    assert_eq!((&ports["name"], ports["containerPort"].to_string()), (&json!("http"), port.to_owned()));
    let probes =
        ["startupProbe", "livenessProbe", "readinessProbe"].map(|probe| &container[probe]["httpGet"]);
    assert!(probes.iter().all(|get| get["port"] == "http"), "{probes:?}");
    let annotations = &pod["metadata"]["annotations"];
    assert_eq!(annotations["prometheus.io/port"], port);
    let paths = probes.map(|get| &get["path"]).into_iter().chain([&annotations["prometheus.io/path"]]);
    for path in paths.map(|path| path.as_str().unwrap()) {
        let answer = ask_as(&run_file(home.path()), "GET", path, &[("Host", "10.1.2.3:7474")], "");
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
    }
    organism.interrupt();
}

/// What the page shows is what the files say.
#[test]
fn h7_each_yaml_of_the_page_is_a_part_of_a_file() {
    let page = fs::read_to_string("docs/containers.md").unwrap();
    let files = ["compose.yaml", "organism.yaml", "prometheus.yaml", "kubernetes.yaml"].map(read_text);
    let blocks: Vec<&str> =
        page.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(blocks.len() >= 2, "the page shows both files");
    for block in blocks {
        assert!(files.iter().any(|file| file.contains(block)), "no file has:\n{block}");
    }
}
