//! A proof from a public log: entry 381,381 of Sigsum's test log of February 2026, with the cosignatures of eight
//! witnesses of different people and programs. Sigsum stores the same values in a file of its own, so they are put
//! into the formats of C2SP here.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest, Sha256};
use systole_proof::policy::TrustPolicy;
use systole_proof::proof_file::EntryProof;
use systole_proof::tree::{TreeHash, hash_leaf};

use crate::trees::hex;

const LOG: &str = "47e481606d8acba747a6b053d6c2d191605fb122175d410a1202a91430abce39";
const ROOT: &str = "901fefc6f1d978d2c2bedb82d448755bcdc7e8626e67ac7ee80873771be9b667";
const SIGNATURE: [&str; 2] = [
    "8a8bf1fca60d1344fb6e2106e8f8906af833d3d75a21fe8d3af72be459f7a11f",
    "2ae6606ec6344a13b851cd454b3d281a2b1ae47732f7a8d6afbcc0134d1a2d00",
];

/// Each witness: its name, its public key, and its signature in two halves.
const WITNESSES: [(&str, &str, [&str; 2]); 8] = [
    (
        "poc.sigsum.org/nisse",
        "1c25f8a44c635457e2e391d1efbca7d4c2951a0aef06225a881e46b98962ac6c",
        [
            "a1ee1182b265204499cbef3ae59f3ea228b928b3cbda8817a4ed5a12776823e9",
            "ad8ef1ce986b9b98d9954f1798ec4315c1820704600a231c69038ccc9726d202",
        ],
    ),
    (
        "witness.stagemole.eu",
        "4a921b7caef58ae670cdc11ef4184f1c058f7b9259a9107a969f69fa54aa496f",
        [
            "aaf642e81a54399777180f238573d74878b68c7b645d8011583621405bb450b4",
            "e7887fc76502a8142c493d64e3ed3e556d82dad1706411082e58805f64fa9d02",
        ],
    ),
    (
        "rgdd.se/poc-witness",
        "28c92a5a3a054d317c86fc2eeb6a7ab2054d6217100d0be67ded5b74323c5806",
        [
            "f5953f406f5fd97d9c9d1328b00b07bf434a5eb76d8da359aeda98c414de29ca",
            "1ced1872971ea0f137508a7bb05c7d322548409425677af96433706319bc0801",
        ],
    ),
    (
        "remora.n621.de",
        "ebcdeb78e7fdb2ef9227b2c1ef11e94600b55b4d6d9a57877e31ee89e59adc36",
        [
            "3434b4646904714f4983c8e7e976a45332711f10012b19fbeb5549b6c0c04fb4",
            "ed52feed2da829354623c52b22b90093776034a8d57d660f9ff27a118f5bf801",
        ],
    ),
    (
        "witness.navigli.sunlight.geomys.org",
        "dcbf728e02d479f5a7e20dc09adf525833ed6e797526517aeb07fc6854849fc6",
        [
            "f0dce1bcdda3a2826479d62e6afedbe9ec06e8f990ae59d8cefa84d9a6ee68c1",
            "2c2820fb00e1dbdc30044b16c7695a9d1047cec4788dc757f698d34ebaec4305",
        ],
    ),
    (
        "transparency.dev/DEV:witness-little-garden",
        "2b6eb0ec483503544cde4e8fc1ce6d1921db21dffccc186865f808f7625443cc",
        [
            "b44c41f75566850003f7f655a6dc7bb38bb980e8e2c383871e29883805d3adec",
            "7782a08388b9386d9718380a4bb6900043e2b46080cff0fa75a500c36ef9df0a",
        ],
    ),
    (
        "tillitis.se/test-witness-1",
        "636582aec12f32c18a21733db9e3f718058ee7aaec6dbe4eb81781e0f4300c6e",
        [
            "70697b4a6b07e79e49d0a8e41fd7450a593ee9df11da6244cebe4b0c15c8e52f",
            "28ad3931b95a806fc7f16b4ad90197971ddc087434c7985b8b3a0223c9fa3603",
        ],
    ),
    (
        "witness1.smartit.nu/witness1",
        "f4855a0f46e8a3e23bb40faf260ee57ab8a18249fa402f2ca2d28a60e1a3130e",
        [
            "6610e5cf4ead2062d9783fbc19d2bae65eded35335495ad0cf0386277ed2d518",
            "54ced64efa21a6db0a398fdfb6761aa7d5659e54950a060d167fbdcb7b5ece05",
        ],
    ),
];

const PROOF: [&str; 10] = [
    "d009c5dbeaaa5be1788ea9533f6f398747755a8245012165ac73f753b7917672",
    "fb515551fe18f6e53d7d7f49b80abbb5c702b9662ee74fc7730e4a7685000aa4",
    "e21e73ee8caf0d49cdcd2f334b3f64e85e4a151daf8d09b6034306bb21b88480",
    "f77bc4db00e509149b6e2fc0028d7107dd415929dc9972f32fe758ce39bcc9a0",
    "3acb38f01c633d917b899ed4e522a49a02bf20d358f98ca530e3a3065591e7f2",
    "889de80c543a5ae8e35430988dc120ac7edde74b776f9082f814ea88190a601f",
    "199f812b9f3667dec31f964098e32652477a2f3d458019b6f8f4acc645cf0131",
    "084580f8f6324d4ae42dbcb779502ab9fab77e0c2b92519fe089be72e38d60ed",
    "9ddbece4939d621df53f31e2729d5fa7802fd82f3edfb784483d8b7fa9cf41e2",
    "e1c7a90c09949c263807e5970aef47f9a06164b759995ab814aff94aff9dcd00",
];

/// The entry is the checksum of a message, the signature of its sender, and the hash of the sender's key.
const SENDER: &str = "2c8d843ed6237e9ea033207113329fdd1428c75f8fd3c6782ae46c92c7a00c40";
const SENDER_SIGNATURE: [&str; 2] = [
    "38dd0b42cab5166611a4f8346db1c6ffe81ee2345f3ffe36a466eb8fce1d4b28",
    "79fbb5f26291d25e610b2dc7f30eaa603efd97739ae585657d0f7181726eec00",
];

fn sha256(bytes: &[u8]) -> TreeHash {
    Sha256::digest(bytes).into()
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The hash of the entry for a message.
fn leaf(message: &[u8]) -> TreeHash {
    let checksum = sha256(&sha256(message));
    hash_leaf(&[checksum.as_slice(), &hex(&SENDER_SIGNATURE.concat()), &hex(SENDER)].concat())
}

/// The key id, and the text of a key.
fn key(name: &str, kind: u8, public: &str) -> (Vec<u8>, String) {
    let bytes = [&[kind], hex(public).as_slice()].concat();
    let id = sha256(&[name.as_bytes(), b"\n", &bytes].concat())[..4].to_vec();
    let text = format!("{name}+{}+{}", digits(&id), BASE64_STANDARD.encode(bytes));
    (id, text)
}

fn signature(name: &str, id: &[u8], bytes: &[u8]) -> String {
    format!("\u{2014} {name} {}\n", BASE64_STANDARD.encode([id, bytes].concat()))
}

/// The file of the proof, and a policy that asks for so many witnesses.
fn of_public_log(threshold: usize) -> (String, String) {
    let origin = format!("sigsum.org/v1/tree/{}", digits(&sha256(&hex(LOG))));
    let base64 = |digits: &str| BASE64_STANDARD.encode(hex(digits));
    let (id, log) = key(&origin, 1, LOG);
    let mut signatures = signature(&origin, &id, &hex(&SIGNATURE.concat()));
    let (mut policy, mut names) = (format!("log {log}\n"), String::new());
    for (name, public, halves) in WITNESSES {
        let (id, witness) = key(name, 4, public);
        let bytes = [1_770_193_051u64.to_be_bytes().as_slice(), &hex(&halves.concat())].concat();
        signatures += &signature(name, &id, &bytes);
        policy += &format!("witness {name} {witness}\n");
        names += &format!(" {name}");
    }
    policy += &format!("group all-known {threshold}{names}\nquorum all-known\n");
    let hashes: String = PROOF.iter().map(|hash| base64(hash) + "\n").collect();
    let above = format!("c2sp.org/tlog-proof@v1\nindex 381381\n{hashes}\n");
    (format!("{above}{origin}\n381382\n{}\n\n{signatures}", base64(ROOT)), policy)
}

#[test]
fn an_entry_of_a_public_log_is_proved_and_witnessed_by_eight() {
    let (file, policy) = of_public_log(8);
    let proof = EntryProof::parse(file.as_bytes()).unwrap();
    let policy = TrustPolicy::parse(policy.as_bytes()).unwrap();
    let verdict = proof.verify_leaf(&leaf(b"Hello, Sigsum!\n"), None, &policy).unwrap();
    assert_eq!((verdict.cosigned.len(), verdict.witnesses, verdict.is_quorum), (8, 8, true));
    assert!(verdict.cosigned.iter().all(|by| by.seconds == 1_770_193_051));
    assert_eq!(verdict.cosigned[7].witness, WITNESSES[7].0);
    proof.verify_leaf(&leaf(b"Hello, Sigsum?\n"), None, &policy).unwrap_err();
    // Another size is another text, so no signature of the log and of the witnesses fits it.
    let larger = file.replace("\n381382\n", "\n381383\n");
    let larger = EntryProof::parse(larger.as_bytes()).unwrap();
    larger.verify_leaf(&leaf(b"Hello, Sigsum!\n"), None, &policy).unwrap_err();
}
