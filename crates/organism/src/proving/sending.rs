//! Brings a checkpoint to all its places at the same time, and gathers the cosignatures. A place that is slow, away or
//! hostile takes the time that it is given, and nothing else.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use systole_http::HttpAddress;
use systole_proof::checkpoint::SignedCheckpoint;
use systole_proof::key::VerifierKey;
use systole_proof::tree::{Frontier, ProofBuilder, TreeFault, TreeHash};
use systole_proof::witness::{AddCheckpoint, take_cosignatures};
use tokio::time::Instant;

use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_witness::{TileFolder, WitnessClient, WitnessFault, WitnessPlace, WitnessReply};

/// The places of a log's checkpoints.
pub struct CheckpointSender {
    client: WitnessClient,
    witnesses: Vec<VerifierKey>,
    reader: Arc<dyn LogReader>,
    places: Vec<PlaceState>,
}

/// What is known about a place.
struct PlaceState {
    place: WitnessPlace,
    /// The tree of the last checkpoint that it is known to have.
    known: Frontier,
    /// How the last try ended.
    fault: Option<WitnessFault>,
}

/// A place that lacks a checkpoint.
pub struct PlaceReport {
    /// The place.
    pub place: WitnessPlace,
    /// Why.
    pub fault: WitnessFault,
    /// Whether the try before ended in another way.
    pub is_new: bool,
}

/// What came of sending a checkpoint.
pub struct SendResult {
    /// The checkpoint with new cosignatures, if there are any.
    pub cosigned: Option<SignedCheckpoint>,
    /// The places that lack it.
    pub missing: Vec<PlaceReport>,
}

impl CheckpointSender {
    /// For these places. They are asked first whether they have the checkpoint of `known`.
    pub fn new(
        client: WitnessClient,
        witnesses: Vec<VerifierKey>,
        reader: Arc<dyn LogReader>,
        places: Vec<WitnessPlace>,
        known: &Frontier,
    ) -> CheckpointSender {
        let state = |place| PlaceState { place, known: known.clone(), fault: None };
        CheckpointSender { client, witnesses, reader, places: places.into_iter().map(state).collect() }
    }

    /// Whether a place lacks the last checkpoint that was sent.
    pub fn is_behind(&self) -> bool {
        self.places.iter().any(|state| state.fault.is_some())
    }

    /// Sends a checkpoint, whose tree is given, to every place that lacks it.
    pub async fn send_grown(
        &mut self,
        checkpoint: &SignedCheckpoint,
        tree: &Frontier,
        within: Duration,
    ) -> SendResult {
        let result = self.send(checkpoint, within).await;
        for state in self.places.iter_mut().filter(|state| state.fault.is_none()) {
            state.known = tree.clone();
        }
        result
    }

    /// Sends a checkpoint to every place that lacks it: first to the witnesses, then with their cosignatures to the
    /// folders.
    pub async fn send(&mut self, checkpoint: &SignedCheckpoint, within: Duration) -> SendResult {
        let (mut cosigned, mut missing) = (checkpoint.clone(), Vec::new());
        for is_folder in [false, true] {
            let answers = self.ask_places(&cosigned, is_folder, Instant::now() + within).await;
            for (state, answer) in self.places.iter_mut().zip(answers) {
                let taken = match answer {
                    None => continue,
                    Some(Ok(None)) => Ok(()),
                    Some(Ok(Some(lines))) => take_cosignatures(&cosigned, &lines, &self.witnesses)
                        .map(|taken| cosigned = taken)
                        .map_err(|why| WitnessFault::Strange(why.to_string())),
                    Some(Err(fault)) => Err(fault),
                };
                let Err(fault) = taken else {
                    state.fault = None;
                    continue;
                };
                let is_new = !state.fault.as_ref().is_some_and(|before| before.is_like(&fault));
                state.fault = Some(fault.clone());
                missing.push(PlaceReport { place: state.place.clone(), fault, is_new });
            }
        }
        let is_new = cosigned != *checkpoint;
        SendResult { cosigned: is_new.then_some(cosigned), missing }
    }

    /// What the witnesses or the folders answer that lack a checkpoint, in the order of the places.
    async fn ask_places(
        &self,
        checkpoint: &SignedCheckpoint,
        is_folder: bool,
        until: Instant,
    ) -> Vec<Option<Result<Option<Vec<u8>>, WitnessFault>>> {
        let size = checkpoint.checkpoint().size();
        let asked = self.places.iter().map(|state| async move {
            let is_behind = state.fault.is_some() || state.known.size() != size;
            let is_meant = matches!(state.place, WitnessPlace::Folder(_)) == is_folder;
            if is_behind && is_meant { Some(self.bring_to(checkpoint, state, until).await) } else { None }
        });
        join_all(asked).await
    }

    /// Brings a checkpoint to one place. A witness answers with lines of cosignatures.
    async fn bring_to(
        &self,
        checkpoint: &SignedCheckpoint,
        state: &PlaceState,
        until: Instant,
    ) -> Result<Option<Vec<u8>>, WitnessFault> {
        match &state.place {
            WitnessPlace::Folder(path) => {
                let (folder, reader) = (TileFolder::new(path.clone()), self.reader.clone());
                let checkpoint = checkpoint.clone();
                let put = tokio::task::spawn_blocking(move || folder.put_checkpoint(&checkpoint, &*reader));
                let late = || WitnessFault::Folder(format!("{}: it takes too long", path.display()));
                let put = tokio::time::timeout_at(until, put).await.map_err(|_| late())?;
                put.map_err(|panic| WitnessFault::Folder(panic.to_string()))?.map(|()| None)
            }
            WitnessPlace::Url { at, .. } => {
                self.ask_witness(checkpoint, at, &state.known, until).await.map(Some)
            }
        }
    }

    /// The answer of a witness. It is asked again if it knows another checkpoint than was thought.
    async fn ask_witness(
        &self,
        checkpoint: &SignedCheckpoint,
        to: &HttpAddress,
        known: &Frontier,
        until: Instant,
    ) -> Result<Vec<u8>, WitnessFault> {
        let records = checkpoint.checkpoint().size();
        let mut known = if known.size() > records { Frontier::new() } else { known.clone() };
        for _ in 0..2 {
            let old = known.size();
            let proof = self.build_proof(known.clone(), records).await?;
            let request = AddCheckpoint { old, proof, checkpoint: checkpoint.clone() };
            let left = until.saturating_duration_since(Instant::now());
            match self.client.ask_witness(to, &request, left).await? {
                WitnessReply::Cosigned(lines) => return Ok(lines),
                WitnessReply::Knows(size) if size > records => {
                    return Err(WitnessFault::Ahead { size, records });
                }
                WitnessReply::Knows(size) => known = self.tree_at(known, size).await?,
            }
        }
        Err(WitnessFault::Strange("it changes its mind about the checkpoint that it knows".to_owned()))
    }

    /// The proof that the tree of so many records continues a known one.
    async fn build_proof(&self, known: Frontier, size: u64) -> Result<Vec<TreeHash>, WitnessFault> {
        self.read_log(move |reader| {
            let mut builder = ProofBuilder::new_consistency_after(&known, size).map_err(wrap_tree_fault)?;
            if known.size() > 0 {
                for placed in reader.records_after(Position(known.size())).up_to(Position(size)) {
                    builder.push(placed.map_err(wrap_log_fault)?.1.leaf.0);
                }
                return builder.finish().map_err(wrap_tree_fault);
            }
            // An empty tree needs no proof.
            Ok(Vec::new())
        })
        .await
    }

    /// The tree of the first records, so many.
    async fn tree_at(&self, known: Frontier, size: u64) -> Result<Frontier, WitnessFault> {
        self.read_log(move |reader| {
            let mut tree = if known.size() <= size { known } else { Frontier::new() };
            for placed in reader.records_after(Position(tree.size())).up_to(Position(size)) {
                tree.push(placed.map_err(wrap_log_fault)?.1.leaf.0);
            }
            Ok(tree)
        })
        .await
    }

    async fn read_log<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn LogReader) -> Result<T, WitnessFault> + Send + 'static,
    ) -> Result<T, WitnessFault> {
        let reader = self.reader.clone();
        let read = tokio::task::spawn_blocking(move || work(&*reader)).await;
        read.map_err(|panic| WitnessFault::Log(panic.to_string()))?
    }
}

fn wrap_log_fault(fault: LogFault) -> WitnessFault {
    WitnessFault::Log(fault.to_string())
}

fn wrap_tree_fault(fault: TreeFault) -> WitnessFault {
    WitnessFault::Log(fault.to_string())
}
