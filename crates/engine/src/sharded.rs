//! An array on a mesh: one buffer for each device, and the placement that determines which piece each of them holds.
//! Shared by all engines.

use super::{Buffer, HostCopy, Tell};
use base::allocation::zeroed_bytes;
use base::error;
use base::error::{Error, Result};
use base::types::{SharedBytes, TensorType};
use mesh::{Placement, put_piece};
use parking_lot::Mutex;
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

/// Buffers of an array whose pieces are on the devices of a mesh.
pub struct ShardedBuffer {
    ty: TensorType,
    placement: Placement,
    pieces: Vec<Arc<dyn Buffer>>,
}

/// A copy of a piece to the host, with the position of the piece.
type PieceCopy = (usize, Box<dyn HostCopy>);

impl ShardedBuffer {
    /// Creates the array of type `ty` from its pieces, by position. INVALID_ARGUMENT if the sharding does not divide
    /// the array, or if a piece has another type or device than the placement requires.
    pub fn new(ty: TensorType, placement: Placement, pieces: Vec<Arc<dyn Buffer>>) -> Result<Arc<ShardedBuffer>> {
        check(&ty, &placement, &pieces)?;
        Ok(Arc::new(ShardedBuffer { ty, placement, pieces }))
    }

    /// Like [`ShardedBuffer::new`], for pieces that the engine created by the placement.
    pub(super) fn of_outputs(ty: TensorType, placement: Placement, pieces: Vec<Arc<dyn Buffer>>) -> Arc<ShardedBuffer> {
        debug_assert!(check(&ty, &placement, &pieces).is_ok(), "the pieces of {ty} are not as placed");
        Arc::new(ShardedBuffer { ty, placement, pieces })
    }

    /// The buffers of the devices, by position.
    pub fn pieces(&self) -> &[Arc<dyn Buffer>] {
        &self.pieces
    }

    /// Waits until the piece at this position of the mesh is ready, and copies its content, row-major, to
    /// `destination`, which has exactly its size.
    pub fn read_piece(&self, position: usize, destination: &mut [u8]) -> Result<()> {
        match self.pieces.get(position) {
            Some(piece) => piece.read(destination),
            None => {
                let count = self.pieces.len();
                Err(error!(InvalidArgument, "position: {position} given; the mesh has {count} positions"))
            }
        }
    }

    /// Whether every device holds the whole array.
    fn is_whole(&self) -> bool {
        self.placement.sharding.pieces(&self.placement.mesh.axes).iter().all(|&count| count == 1)
    }

    /// Starts a copy of each distinct piece to the host.
    fn start_copies(&self) -> Result<Vec<PieceCopy>> {
        let mut copies = Vec::new();
        for position in self.placement.sharding.holders(&self.placement.mesh.axes) {
            copies.push((position, self.pieces[position].clone().start_host_copy()?));
        }
        Ok(copies)
    }

    /// Waits for the copies, and copies each of them to its offset in `whole`.
    fn assemble(&self, copies: &mut [PieceCopy], whole: &mut [u8]) -> Result<()> {
        let piece_dims = &self.pieces[0].tensor_type().dims;
        for (position, copy) in copies {
            let piece = copy.bytes()?;
            let offsets = self.placement.sharding.offsets(&self.placement.mesh.axes, *position, piece_dims);
            put_piece(piece, piece_dims, self.ty.dtype.size_bytes(), &offsets, whole, &self.ty.dims);
        }
        Ok(())
    }
}

/// Checks that the pieces have the types and devices that the placement requires.
fn check(ty: &TensorType, placement: &Placement, pieces: &[Arc<dyn Buffer>]) -> Result<()> {
    let mesh = &placement.mesh;
    if pieces.is_empty() || pieces.len() != mesh.ordinals.len() {
        return Err(error!(
            InvalidArgument,
            "pieces: {} given; the mesh {} has {} devices",
            pieces.len(),
            mesh.axes,
            mesh.ordinals.len()
        ));
    }
    let wanted = TensorType::new(ty.dtype, &placement.sharding.piece_dims("sharding", &mesh.axes, &ty.dims)?);
    for (position, (piece, &ordinal)) in pieces.iter().zip(&mesh.ordinals).enumerate() {
        if *piece.tensor_type() != wanted || piece.device() != ordinal {
            return Err(error!(
                InvalidArgument,
                "pieces[{position}] is {} on device {}; want {wanted} on device {ordinal}",
                piece.tensor_type(),
                piece.device()
            ));
        }
    }
    Ok(())
}

impl Buffer for ShardedBuffer {
    fn tensor_type(&self) -> &TensorType {
        &self.ty
    }

    fn placement(&self) -> Option<&Placement> {
        Some(&self.placement)
    }

    fn device(&self) -> usize {
        self.pieces[0].device()
    }

    fn is_deleted(&self) -> bool {
        self.pieces.iter().any(|piece| piece.is_deleted())
    }

    fn is_ready_by(&self, deadline: Instant) -> bool {
        self.pieces.iter().all(|piece| piece.is_ready_by(deadline))
    }

    fn failure(&self) -> Option<Error> {
        self.pieces.iter().find_map(|piece| piece.failure())
    }

    fn when_ready(&self, tell: Tell) {
        let waiting = Arc::new(Mutex::new((self.pieces.len(), Ok(()), Some(tell))));
        for piece in &self.pieces {
            let waiting = waiting.clone();
            piece.when_ready(Box::new(move |ended| {
                let last = {
                    let (left, outcome, tell) = &mut *waiting.lock();
                    *left -= 1;
                    if outcome.is_ok() {
                        *outcome = ended;
                    }
                    if *left == 0 { tell.take().map(|tell| (tell, outcome.clone())) } else { None }
                };
                if let Some((tell, outcome)) = last {
                    tell(outcome);
                }
            }));
        }
    }

    fn read(&self, destination: &mut [u8]) -> Result<()> {
        if destination.len() != self.ty.size_bytes() {
            return Err(error!(Internal, "read of {} into {} bytes", self.ty, destination.len()));
        }
        if self.is_whole() {
            return self.pieces[0].read(destination);
        }
        let mut copies = self.start_copies()?;
        // Waits for all pieces, so that nothing is written if one of them failed.
        self.failure().map_or(Ok(()), Err)?;
        self.assemble(&mut copies, destination)
    }

    fn start_host_copy(self: Arc<Self>) -> Result<Box<dyn HostCopy>> {
        if self.is_whole() {
            return self.pieces[0].clone().start_host_copy();
        }
        let copies = self.start_copies()?;
        Ok(Box::new(Gathered { buffer: self, copies, whole: None }))
    }

    fn share(self: Arc<Self>) -> Result<Option<Arc<dyn SharedBytes>>> {
        if self.is_whole() { self.pieces[0].clone().share() } else { Ok(None) }
    }

    fn copy_to_device(&self, device: usize) -> Result<Arc<dyn Buffer>> {
        if !self.is_whole() {
            let Placement { mesh, sharding } = &self.placement;
            return Err(error!(
                Unimplemented,
                "device {device} cannot get a copy of {} from the mesh {} where it is sharded {:?}; it must be \
                 gathered on the host",
                self.ty,
                mesh.axes,
                sharding.text(&mesh.axes)
            ));
        }
        // PJRT allows plugins to refuse a copy to the device that a buffer is on.
        let source = self.pieces.iter().find(|piece| piece.device() != device);
        source.unwrap_or(&self.pieces[0]).copy_to_device(device)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Copies of the distinct pieces in flight, and then the whole array.
struct Gathered {
    buffer: Arc<ShardedBuffer>,
    copies: Vec<PieceCopy>,
    whole: Option<Vec<u8>>,
}

impl HostCopy for Gathered {
    fn bytes(&mut self) -> Result<&[u8]> {
        if self.whole.is_none() {
            let mut whole = zeroed_bytes(self.buffer.ty.size_bytes())?;
            self.buffer.assemble(&mut self.copies, &mut whole)?;
            self.copies.clear();
            self.whole = Some(whole);
        }
        Ok(self.whole.as_deref().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::Code;
    use base::types::DType;
    use mesh::{Mesh, MeshAxes, Sharding};
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    /// A buffer of host bytes that counts its copies to the host.
    struct Piece {
        ty: TensorType,
        device: usize,
        bytes: Vec<u8>,
        deleted: AtomicBool,
        failure: Option<Error>,
        copies: AtomicUsize,
        shares: AtomicUsize,
    }

    struct View(Arc<Piece>);

    impl HostCopy for View {
        fn bytes(&mut self) -> Result<&[u8]> {
            match &self.0.failure {
                Some(failure) => Err(failure.clone()),
                None => Ok(&self.0.bytes),
            }
        }
    }

    impl Buffer for Piece {
        fn tensor_type(&self) -> &TensorType {
            &self.ty
        }

        fn device(&self) -> usize {
            self.device
        }

        fn is_deleted(&self) -> bool {
            self.deleted.load(Ordering::Relaxed)
        }

        fn failure(&self) -> Option<Error> {
            self.failure.clone()
        }

        fn read(&self, destination: &mut [u8]) -> Result<()> {
            destination.copy_from_slice(&self.bytes);
            Ok(())
        }

        fn start_host_copy(self: Arc<Self>) -> Result<Box<dyn HostCopy>> {
            self.copies.fetch_add(1, Ordering::Relaxed);
            Ok(Box::new(View(self)))
        }

        fn share(self: Arc<Self>) -> Result<Option<Arc<dyn SharedBytes>>> {
            self.shares.fetch_add(1, Ordering::Relaxed);
            Ok(None)
        }

        fn copy_to_device(&self, device: usize) -> Result<Arc<dyn Buffer>> {
            // The last byte of the copy says where it comes from.
            let bytes = [&self.bytes[..self.bytes.len() - 1], &[self.device as u8]].concat();
            Ok(piece(&self.ty.dims, device, bytes))
        }

        fn as_any(&self) -> &dyn Any {
            self
        }
    }

    fn piece_with(dims: &[i64], device: usize, bytes: Vec<u8>, failure: Option<Error>) -> Arc<Piece> {
        let (ty, deleted) = (TensorType::new(DType::U8, dims), AtomicBool::new(false));
        let (copies, shares) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Arc::new(Piece { ty, device, bytes, deleted, failure, copies, shares })
    }

    fn piece(dims: &[i64], device: usize, bytes: Vec<u8>) -> Arc<Piece> {
        piece_with(dims, device, bytes, None)
    }

    /// Placement on the mesh `x=2,y=2` of the devices 3, 2, 1, 0.
    fn placement(sharding: &str) -> Placement {
        let axes = MeshAxes::new(&["x", "y"], &[2, 2]).unwrap();
        let sharding = Sharding::parse("sharding", sharding, &axes, 2).unwrap();
        Placement { mesh: Arc::new(Mesh::new(axes, Some(&[3, 2, 1, 0]), 4).unwrap()), sharding }
    }

    fn sharded(sharding: &str, dims: &[i64], pieces: &[Arc<Piece>]) -> Result<Arc<ShardedBuffer>> {
        let pieces = pieces.iter().map(|piece| piece.clone() as Arc<dyn Buffer>).collect();
        ShardedBuffer::new(TensorType::new(DType::U8, dims), placement(sharding), pieces)
    }

    /// The numbers 0 to 7 as 2 x 4, divided among the four devices.
    fn quarters() -> [Arc<Piece>; 4] {
        [[0, 1], [2, 3], [4, 5], [6, 7]].map(|[a, b]: [u8; 2]| piece(&[1, 2], 3 - usize::from(a / 2), vec![a, b]))
    }

    #[test]
    fn a_read_gathers_the_distinct_pieces() {
        let whole: Vec<u8> = (0..8).collect();
        let pieces = quarters();
        let buffer = sharded("x,y", &[2, 4], &pieces).unwrap();
        let mut read = [0; 8];
        buffer.read(&mut read).unwrap();
        assert_eq!(read.to_vec(), whole);
        assert!(buffer.read(&mut read[..7]).is_err());
        let mut copy = buffer.clone().start_host_copy().unwrap();
        assert_eq!(copy.bytes().unwrap(), whole);
        assert_eq!(copy.bytes().unwrap(), whole);
        assert!(buffer.clone().share().unwrap().is_none());
        let mut half = [0; 2];
        buffer.read_piece(2, &mut half).unwrap();
        assert_eq!(half, [4, 5]);
        assert_eq!(buffer.read_piece(4, &mut half).unwrap_err().code, Code::InvalidArgument);
        assert_eq!((buffer.device(), buffer.pieces().len(), buffer.placement()), (3, 4, Some(&placement("x,y"))));

        // Halves of columns: devices that differ on x only hold the same piece.
        let columns = [vec![0, 1, 4, 5], vec![2, 3, 6, 7]];
        let halves: Vec<_> = (0..4).map(|i| piece(&[2, 2], 3 - i, columns[i % 2].clone())).collect();
        let buffer = sharded("-,y", &[2, 4], &halves).unwrap();
        buffer.read(&mut read).unwrap();
        assert_eq!(read.to_vec(), whole);
        let copied = |piece: &Arc<Piece>| piece.copies.load(Ordering::Relaxed);
        assert_eq!(halves.iter().map(copied).collect::<Vec<_>>(), [1, 1, 0, 0]);
    }

    #[test]
    fn a_replicated_array_is_its_first_piece() {
        let pieces: Vec<_> = (0..4).map(|i| piece(&[1, 2], 3 - i, vec![7, 8])).collect();
        let buffer = sharded("", &[1, 2], &pieces).unwrap();
        let mut read = [0; 2];
        buffer.read(&mut read).unwrap();
        assert_eq!(read, [7, 8]);
        assert_eq!(buffer.clone().start_host_copy().unwrap().bytes().unwrap(), [7, 8]);
        assert!(buffer.clone().share().unwrap().is_none());
        let (copies, shares) = (&pieces[0].copies, &pieces[0].shares);
        assert_eq!((copies.load(Ordering::Relaxed), shares.load(Ordering::Relaxed)), (1, 1));
        for (device, source) in [(0, 3), (3, 2), (9, 3)] {
            let copy = buffer.copy_to_device(device).unwrap();
            copy.read(&mut read).unwrap();
            assert_eq!((copy.device(), read), (device, [7, source]));
        }
        let refused = sharded("x,y", &[2, 4], &quarters()).unwrap().copy_to_device(0).err().unwrap();
        assert_eq!(refused.code, Code::Unimplemented);
        assert!(refused.message.contains("\"x,y\""), "{refused}");
    }

    #[test]
    fn a_consumed_or_failed_piece_is_the_arrays() {
        let pieces = quarters();
        let buffer = sharded("x,y", &[2, 4], &pieces).unwrap();
        assert!(!buffer.is_deleted() && buffer.failure().is_none());
        pieces[2].deleted.store(true, Ordering::Relaxed);
        assert!(buffer.is_deleted());

        let mut pieces = quarters();
        pieces[1] = piece_with(&[1, 2], 2, vec![2, 3], Some(Error::new(Code::Aborted, "lost")));
        let buffer = sharded("x,y", &[2, 4], &pieces).unwrap();
        assert_eq!(buffer.failure().unwrap().code, Code::Aborted);
        assert_eq!(buffer.read(&mut [0; 8]).unwrap_err().code, Code::Aborted);
        let mut copy = buffer.start_host_copy().unwrap();
        assert_eq!(copy.bytes().unwrap_err().code, Code::Aborted);
        assert_eq!(copy.bytes().unwrap_err().code, Code::Aborted);
    }

    #[test]
    fn pieces_that_are_not_as_placed_are_refused() {
        let of = |dims: &[i64], pieces: &[Arc<Piece>]| {
            let refused = sharded("x,y", dims, pieces).err().unwrap();
            assert_eq!(refused.code, Code::InvalidArgument);
            refused.message.to_string()
        };
        let pieces = quarters();
        assert_eq!(of(&[2, 4], &pieces[..3]), "pieces: 3 given; the mesh x=2,y=2 has 4 devices");
        assert!(of(&[2, 3], &pieces).starts_with("sharding: "));
        assert_eq!(of(&[2, 2], &pieces), "pieces[0] is u8[1,2] on device 3; want u8[1,1] on device 3");
        let mut swapped = pieces;
        swapped.swap(1, 2);
        assert_eq!(of(&[2, 4], &swapped), "pieces[1] is u8[1,2] on device 1; want u8[1,2] on device 2");
    }
}
