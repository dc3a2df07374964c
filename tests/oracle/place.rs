//! Where the lazy tensors of a program are: on one XLA device, or split over the devices of a mesh.

use crate::program::{Outcome, in_words, resized};
use base::error::Result;
use base::types::TensorType;
use lazyxla::device::{Device, TensorHandle};
use lazyxla::env::{DeviceKind, Environment};
use lazyxla::sync;
use lazyxla::sync::Piece;
use lazyxla::tensor;
use mesh::{MeshAxes, Sharding};
use std::borrow::Cow;
use std::fmt;

/// Sizes of the axes of the meshes on which programs run, and their devices, row-major; None: the first ones in order.
const MESHES: [(&[i64], Option<&[i32]>); 6] = [
    (&[2], None),
    (&[2, 2], Some(&[5, 2, 7, 0])),
    (&[4], None),
    (&[2, 4], None),
    (&[4, 2], Some(&[1, 3, 5, 7, 0, 2, 4, 6])),
    (&[2, 2, 2], Some(&[3, 6, 1, 4, 7, 2, 5, 0])),
];
const AXES: &[&str] = &["data", "model", "seq"];
/// Number of devices of an environment that has all of these meshes.
pub const DEVICES: usize = 8;

/// Shapes of tensors on one device.
const SMALL: &[&[i64]] = &[&[4], &[2, 3], &[], &[1], &[2, 2], &[4, 1], &[0], &[3], &[2, 1, 4], &[3, 2, 2], &[2, 0, 3]];
/// Shapes of tensors on a mesh. Most have an axis that 2, 4 or 8 devices split evenly.
const DIVISIBLE: &[&[i64]] =
    &[&[8], &[4, 8], &[], &[4], &[8, 4], &[2, 4], &[8, 1], &[2, 2, 4], &[2], &[16], &[4, 4], &[3, 8], &[2, 3], &[0, 2]];

/// A device of the lazy environment: an XLA device or a mesh.
#[derive(Clone)]
pub struct Place {
    pub device: &'static Device,
    /// Axes of the mesh.
    axes: Option<MeshAxes>,
    /// Whether sizes change from round to round.
    pub resizes: bool,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match &self.axes {
            None => write!(f, "one device"),
            Some(axes) => write!(f, "a mesh {axes}"),
        }
    }
}

impl Place {
    /// Returns the XLA device with this ordinal.
    pub fn one_device(environment: &Environment, ordinal: i32) -> Place {
        let device = environment.device(DeviceKind::Xla, ordinal).expect("so many devices");
        Place { device, axes: None, resizes: false }
    }

    /// Creates a mesh.
    fn mesh(environment: &Environment, sizes: &[i64], ordinals: Option<&[i32]>) -> Place {
        let axes = MeshAxes::new(&AXES[..sizes.len()], sizes).expect("valid axes");
        let number = environment.create_mesh(axes.clone(), ordinals).expect("so many devices");
        let device = environment.device(DeviceKind::Mesh, number as i32).expect("it was created now");
        Place { device, axes: Some(axes), resizes: false }
    }

    pub fn is_mesh(&self) -> bool {
        self.axes.is_some()
    }

    /// Chooses the shape of a new tensor, or the one to which a tensor is reshaped or broadcast.
    pub fn shape(&self, choice: u8) -> Cow<'static, [i64]> {
        let shapes = if self.is_mesh() { DIVISIBLE } else { SMALL };
        let shape = shapes[choice as usize % shapes.len()];
        if self.resizes { resized(shape).into() } else { shape.into() }
    }

    /// Draws the sharding of a tensor of this shape. None on one device, and in one case of four on a mesh, where the
    /// tensor is then brought without a sharding.
    pub fn draw(&self, dims: &[i64], choice: u16) -> Option<Sharding> {
        let axes = self.axes.as_ref()?;
        (choice % 4 != 3).then(|| random_sharding(axes, dims, choice))
    }

    /// Returns the text of a sharding on this mesh.
    pub fn text(&self, sharding: &Sharding) -> String {
        self.axes.as_ref().map(|axes| sharding.text(axes)).unwrap_or_default()
    }

    /// Creates a tensor from values of the host.
    pub fn upload(&self, ty: &TensorType, bytes: &[u8], sharding: Option<&Sharding>) -> Result<TensorHandle> {
        match sharding {
            Some(sharding) => sync::from_host_sharded(self.device, ty, bytes, sharding),
            None => sync::from_host(self.device, ty, bytes),
        }
    }

    /// Copies a tensor of another device of the same environment to this one.
    pub fn bring(&self, tensor: TensorHandle, sharding: Option<&Sharding>) -> Result<TensorHandle> {
        match sharding {
            Some(sharding) => tensor::shard(tensor, self.device, sharding),
            None => sync::to_device(tensor, self.device),
        }
    }

    /// Checks that a tensor of the mesh has this sharding.
    pub fn check_sharding(&self, tensor: TensorHandle, wanted: &Sharding) -> Outcome {
        let (_, found) = sync::sharding_of(tensor).map_err(in_words)?;
        // A program does not divide results without elements.
        let is_empty = tensor::ty(tensor).map_err(in_words)?.elements() == 0;
        if found != *wanted && !(is_empty && found.is_replicated()) {
            return Err(format!("is split by {:?}, want {:?}", self.text(&found), self.text(wanted)));
        }
        Ok(())
    }

    /// Checks the pieces of a tensor of the mesh: each is equal to its region of the whole tensor, and together they
    /// cover it. The text of its sharding parses to the same sharding.
    pub fn check_pieces(&self, tensor: TensorHandle) -> Outcome {
        if !self.is_mesh() {
            return Ok(());
        }
        let ty = tensor::ty(tensor).map_err(in_words)?;
        let (mesh, sharding) = sync::sharding_of(tensor).map_err(in_words)?;
        let text = sharding.text(&mesh.axes);
        let parsed = Sharding::parse("sharding", &text, &mesh.axes, ty.dims.len()).map_err(in_words)?;
        if parsed != sharding {
            return Err(format!("has the sharding {sharding:?}; its text {text:?} parses to {parsed:?}"));
        }
        let mut whole = vec![0; ty.size_bytes()];
        sync::read(tensor, &mut whole).map_err(in_words)?;
        let mut is_held = vec![false; ty.elements()];
        let parts: usize = sharding.pieces(&mesh.axes).iter().product();
        for &ordinal in &mesh.ordinals {
            let piece = sync::piece(tensor, ordinal as i32).map_err(in_words)?;
            if piece.ty.elements() * parts != ty.elements() {
                return Err(format!("a {ty} split by {text:?} has on xla:{ordinal} a {}", piece.ty));
            }
            check_piece(&piece, &ty, &whole, &mut is_held)
                .map_err(|error| format!("a {ty} split by {text:?} has on xla:{ordinal} {error}"))?;
        }
        match is_held.iter().position(|is_held| !is_held) {
            Some(index) => Err(format!("a {ty} split by {text:?} has no piece with element {index}")),
            None => Ok(()),
        }
    }
}

/// Compares a piece with its region of the whole tensor, and marks the elements of that region.
fn check_piece(piece: &Piece, ty: &TensorType, whole: &[u8], is_held: &mut [bool]) -> Outcome {
    let size = ty.dtype.size_bytes();
    let mut bytes = vec![0; piece.ty.size_bytes()];
    piece.read(&mut bytes).map_err(in_words)?;
    for (at, element) in bytes.chunks_exact(size).enumerate() {
        let index = index_in_whole(at, &piece.ty.dims, &piece.offsets, &ty.dims);
        let wanted = whole.get(index * size..(index + 1) * size);
        if wanted != Some(element) {
            return Err(format!("{element:?} at {at}, which is at {index} of the whole; want {wanted:?}"));
        }
        is_held[index] = true;
    }
    Ok(())
}

/// Index in the whole array of the element at index `at` of a piece; both indices are row-major.
fn index_in_whole(mut at: usize, piece_dims: &[i64], offsets: &[i64], dims: &[i64]) -> usize {
    let (mut index, mut stride) = (0, 1);
    for axis in (0..dims.len()).rev() {
        let size = piece_dims[axis] as usize;
        index += (offsets[axis] as usize + at % size) * stride;
        stride *= dims[axis] as usize;
        at /= size;
    }
    index
}

/// Returns a random sharding of a shape. Each mesh axis, in random order, splits a tensor axis whose pieces it divides
/// evenly, or none. Several mesh axes may split one tensor axis.
pub fn random_sharding(axes: &MeshAxes, dims: &[i64], choice: u16) -> Sharding {
    let mut state = u64::from(choice) | 1 << 40;
    let mut next = |count: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % count
    };
    let mut pieces = dims.to_vec();
    let mut entries: Vec<Vec<&str>> = vec![Vec::new(); dims.len()];
    let mut unused: Vec<usize> = (0..axes.axes().len()).collect();
    while !unused.is_empty() {
        let chosen = next(unused.len());
        let axis = &axes.axes()[unused.remove(chosen)];
        let size = axis.size as i64;
        let fitting: Vec<usize> = (0..dims.len()).filter(|&i| pieces[i] % size == 0).collect();
        // In one more case, the mesh axis splits nothing: its devices hold replicas.
        if let Some(&i) = fitting.get(next(fitting.len() + 1)) {
            entries[i].push(&axis.name);
            pieces[i] /= size;
        }
    }
    let text = |entry: &Vec<&str>| if entry.is_empty() { "-".to_string() } else { entry.join("+") };
    let text = entries.iter().map(text).collect::<Vec<String>>().join(",");
    Sharding::parse("sharding", &text, axes, dims.len()).expect("each mesh axis is used at most once")
}

/// The places of a program's lazy tensors.
pub struct Places {
    /// Where tensors are created and computations traced.
    pub home: Place,
    /// Where tensors move, and from where they return.
    pub others: Vec<Place>,
}

impl Places {
    /// The first two XLA devices.
    pub fn on_devices(environment: &Environment) -> Places {
        let last = environment.devices().expect("the engine starts").len() as i32 - 1;
        // An engine with one device has no other.
        let [home, other] = [0, last.min(1)].map(|ordinal| Place::one_device(environment, ordinal));
        Places { home, others: vec![other] }
    }

    /// The places, with sizes that change from round to round.
    pub fn resizing(mut self) -> Places {
        self.home.resizes = true;
        self.others.iter_mut().for_each(|place| place.resizes = true);
        self
    }

    /// For each mesh: the mesh, an XLA device and another mesh.
    pub fn on_meshes(environment: &Environment) -> Vec<Places> {
        let meshes = MESHES.map(|(sizes, ordinals)| Place::mesh(environment, sizes, ordinals));
        let places = |i: usize| {
            let others = vec![Place::one_device(environment, 1), meshes[(i + 1) % meshes.len()].clone()];
            Places { home: meshes[i].clone(), others }
        };
        (0..meshes.len()).map(places).collect()
    }
}
