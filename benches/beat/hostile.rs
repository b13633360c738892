//! The time until a hostile document is refused, including the gate, the choice of the case that applies,
//! and the schema; at the door and inside a reply. The floor is an honest document of the same size, which
//! is read to its end and judged. HTTP and the log are not included.

use std::sync::Arc;

use systole_config as config;
use systole_core::pump::primitives;
use systole_core::rules::admit;
use systole_core::rules::sent_files::FoundFile;
use systole_core::types::flow::{JudgedContent, JudgedItem};
use systole_core::types::ids::{AttemptId, CallPath, Name, ThreadId};
use systole_core::types::ports::{ArrivedDocument, Lease, LeaseToken};
use systole_kit::DocumentLimits;
use systole_organism::compiled_schemas::CompiledSchemas;

#[expect(dead_code, reason = "where reading ends is for the tests to count")]
#[path = "../../listeners/kit/tests/suite/blows.rs"]
mod blows;

use crate::report::{Table, seconds};
use blows::{Blow, blows, honest};

const YAML: &str = r#"organism: {name: hostile}
listeners:
  echo: {run: [cat], schema: echo.xsd, accepts: [say], returns: [said], entry: true}
  mallory: {run: [cat], schema: mallory.xsd, accepts: [say], returns: [said], peers: [echo], turns: 4}
"#;
const XSD: &str = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="https://xml-pipeline.org/ns/echo/v1" elementFormDefault="qualified">
  <xs:element name="say"><xs:complexType><xs:sequence><xs:element name="text" type="xs:string"/></xs:sequence></xs:complexType></xs:element>
  <xs:element name="said" type="xs:string"/>
</xs:schema>"#;

/// Tries per run; the slowest counts.
const TIMES: usize = 5;
/// The size of the documents: the maximum for a message and for an item of a reply.
const BYTES: usize = 1 << 20;

/// Everything needed for judging.
struct HostileDoor {
    composition: Arc<systole_core::types::composition::Composition>,
    schemas: CompiledSchemas,
    lease: Arc<Lease>,
}

impl HostileDoor {
    fn build() -> HostileDoor {
        let folder = tempfile::tempdir_in("target").unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("organism.yaml"), YAML).unwrap();
        std::fs::write(at("echo.xsd"), XSD).unwrap();
        std::fs::write(at("mallory.xsd"), XSD.replace("/echo/", "/mallory/")).unwrap();
        let composition = Arc::new(config::load(&at("organism.yaml")).unwrap().composition);
        let schemas = CompiledSchemas::set_up(std::iter::once(&composition)).unwrap();
        let lease = Arc::new(Lease {
            token: LeaseToken("d".into()),
            listener: Name::parse("mallory").unwrap(),
            id: AttemptId {
                thread: ThreadId::parse("sess-0123456789ab").unwrap(),
                call: CallPath::new_top(1),
                turn: 1,
                attempt: 1,
            },
            config: composition.hash,
        });
        HostileDoor { composition, schemas, lease }
    }

    /// Whether the door accepts it.
    fn knock(&mut self, document: &[u8]) -> bool {
        admit::admit_message(
            &self.composition,
            &Name::new_operator(),
            document,
            None,
            None,
            (&mut self.schemas, &|_| FoundFile::Unknown),
        )
        .payload
        .is_ok()
    }

    /// Whether all of a reply is accepted.
    fn reply(&mut self, speech: &ArrivedDocument) -> bool {
        let mallory = self.lease.listener.clone();
        let lease = self.lease.clone();
        let read =
            admit::listener_word(&mallory, speech, &DocumentLimits::default(), |_| Some(lease.clone()));
        let Ok((lease, word)) = read else { return false };
        let judged = admit::judge_word(
            &self.composition,
            lease,
            word,
            speech,
            primitives::find_reading,
            &mut self.schemas,
        );
        matches!(judged.said, JudgedContent::Items(items) if items.iter().all(|i| matches!(i, JudgedItem::Admitted(_))))
    }
}

/// The slowest of several tries, in milliseconds.
fn slowest(taken: bool, mut strike: impl FnMut() -> bool) -> f64 {
    let tries = (0..TIMES).map(|_| {
        let (took, came) = seconds(&mut strike);
        assert_eq!(came, taken, "it was decided otherwise");
        took * 1e3
    });
    tries.fold(0.0, f64::max)
}

fn inside(item: &[u8]) -> ArrivedDocument {
    ArrivedDocument::Bytes(
        [b"<reply xmlns=\"urn:systole:listener:v1\" delivery=\"d\">", item, b"</reply>"].concat(),
    )
}

/// Every case at the door and inside a reply.
pub(crate) fn refusals(table: &mut Table) {
    let mut house = HostileDoor::build();
    let large = honest(BYTES);
    for Blow { row, what, document, .. } in blows(BYTES) {
        let (mut door, mut reply) = (Vec::new(), Vec::new());
        let (item, large_item) = (inside(&document), inside(&large));
        for _ in 0..table.runs {
            door.push((slowest(false, || house.knock(&document)), slowest(true, || house.knock(&large))));
            reply.push((slowest(false, || house.reply(&item)), slowest(true, || house.reply(&large_item))));
        }
        table.add(&format!("row {row}: {what}"), "ms", "at most 10 ms", &door);
        table.add("  inside a reply", "ms", "at most 10 ms", &reply);
    }
}
