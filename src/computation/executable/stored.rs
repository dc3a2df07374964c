//! The format of executables in files: the program as a portable artifact, the compiled code with a key of what it was
//! compiled for, and the captured values.
//!
//! The file, numbers as u64 in little-endian order: [`MAGIC`]; the hash of all that follows; the key of the code; the
//! numbers of parameters, of arguments of the code, of donated parameters, of bytes of the layout (0: for one device),
//! of bytes of the program, and of bytes of the code (0: none); the donated parameters, ascending; the layout; the
//! program; the code; the captured values, row-major. A layout is a text of lines: the axes of the mesh, then the
//! sharding of each parameter and each captured value.

use base::error;
use base::error::{Error, Result};
use base::types::TensorType;
use ir::Body;
use mesh::{MeshAxes, Sharding};
use native::Array;
use programs::import::{self, Wanted};
use std::ops::Range;
use std::sync::Arc;

/// First bytes of the file; they change with its format.
pub const MAGIC: &[u8; 16] = b"lazyxla prog v2\0";

/// Position of what the hash is of.
const HASHED: usize = MAGIC.len() + 32;

/// Numbers after the key.
const NUMBERS: usize = 6;

/// Position of the list of donated parameters.
const DONATED: usize = HASHED + 32 + 8 * NUMBERS;

/// Compiled code of a file.
#[derive(Clone)]
pub struct StoredCode {
    /// Digest of what it was compiled for.
    pub key: [u8; 32],
    /// Number of arguments that it takes: the first ones of the program.
    pub arguments: usize,
    /// The code, as the plugin serialized it.
    pub bytes: Arc<[u8]>,
}

/// Mesh of a program, and the shardings of its parameters, then of its captured values.
pub struct StoredLayout {
    /// Axes of the mesh.
    pub axes: MeshAxes,
    /// The shardings.
    pub shardings: Vec<Sharding>,
}

impl StoredLayout {
    /// The text in a file.
    pub fn text(axes: &MeshAxes, shardings: &[Sharding]) -> String {
        let lines = std::iter::once(axes.to_string()).chain(shardings.iter().map(|sharding| sharding.text(axes)));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Parses the axes, and returns them with the lines of the shardings.
    fn start(text: &[u8]) -> Result<(MeshAxes, Vec<&str>)> {
        let text = std::str::from_utf8(text).map_err(|_| damaged("its shardings are not a text"))?;
        let mut lines = text.lines();
        let axes = lines.next().unwrap_or_default().parse()?;
        Ok((axes, lines.collect()))
    }

    /// Parses a sharding for each of these types.
    fn parse(axes: MeshAxes, lines: &[&str], types: &[TensorType]) -> Result<StoredLayout> {
        if lines.len() != types.len() {
            return Err(damaged("it has another number of shardings than of parameters"));
        }
        let parsed = lines.iter().zip(types).map(|(line, ty)| {
            let sharding = Sharding::parse("sharding", line, &axes, ty.dims.len())?;
            sharding.piece_dims("sharding", &axes, &ty.dims).map(|_| sharding)
        });
        Ok(StoredLayout { shardings: parsed.collect::<Result<_>>()?, axes })
    }
}

/// What a file holds.
pub struct Stored {
    /// The program.
    pub body: Arc<Body>,
    /// Parameters that a run may consume.
    pub donated: Vec<usize>,
    /// Values of the captures of the program.
    pub captured: Vec<Array>,
    /// Mesh and shardings of the program; None for a program of one device.
    pub layout: Option<StoredLayout>,
    /// Compiled code, if the file has any.
    pub code: Option<StoredCode>,
}

fn damaged(what: &str) -> Error {
    error!(DataLoss, "it is damaged: {what}")
}

/// Reads the bytes of a file.
pub fn read(bytes: &[u8]) -> Result<Stored> {
    if !bytes.starts_with(MAGIC) {
        return Err(error!(InvalidArgument, "it is not an executable that this version of the library saved"));
    }
    if bytes.len() < DONATED {
        return Err(damaged("it is shorter than its header"));
    }
    if blake3::hash(&bytes[HASHED..]).as_bytes()[..] != bytes[MAGIC.len()..HASHED] {
        return Err(damaged("its hash does not match its content"));
    }
    let number = |at: usize| {
        let word = bytes[at..at + 8].try_into().expect("8 bytes");
        usize::try_from(u64::from_le_bytes(word)).unwrap_or(usize::MAX)
    };
    let numbers: [usize; NUMBERS] = std::array::from_fn(|i| number(HASHED + 32 + 8 * i));
    let [n_parameters, arguments, n_donated, layout_bytes, program_bytes, code_bytes] = numbers;
    let mut from = DONATED;
    let mut next = |size: usize| -> Result<Range<usize>> {
        let end = from.checked_add(size).filter(|&end| end <= bytes.len());
        let end = end.ok_or_else(|| damaged("a part is longer than the file"))?;
        Ok(std::mem::replace(&mut from, end)..end)
    };
    let listed = next(n_donated.checked_mul(8).ok_or_else(|| damaged("a part is longer than the file"))?)?;
    let donated: Vec<usize> = listed.step_by(8).map(number).collect();
    let (layout, program, code) = (next(layout_bytes)?, next(program_bytes)?, next(code_bytes)?);
    let layout = (layout_bytes > 0).then(|| StoredLayout::start(&bytes[layout])).transpose()?;
    let module = import::read(Arc::new(bytes[program].to_vec()))?.module;
    let mesh = layout.as_ref().map(|(axes, _)| axes.clone());
    let imported = import::import(&module, &Wanted { mesh, ..Wanted::default() })?;
    let types = imported.body.parameters();
    if n_parameters > types.len() || arguments > types.len() {
        return Err(damaged("its program has fewer parameters than it says"));
    }
    if code_bytes > 0 && arguments < n_parameters {
        return Err(damaged("its code has fewer arguments than its program has parameters"));
    }
    let mut captured = Vec::with_capacity(types.len() - n_parameters);
    for ty in &types[n_parameters..] {
        captured.push(Array::from_bytes(ty, &bytes[next(ty.size_bytes())?])?);
    }
    if from != bytes.len() {
        return Err(damaged("it is longer than its parts"));
    }
    let layout = layout.map(|(axes, lines)| StoredLayout::parse(axes, &lines, types)).transpose()?;
    let constants = imported.constants.iter().map(|array| Sharding::replicated(array.ty().dims.len()));
    let layout = layout.map(|layout| StoredLayout {
        shardings: layout.shardings.into_iter().chain(constants).collect(),
        axes: layout.axes,
    });
    // Constants of the program are captured values, too.
    captured.extend(imported.constants);
    let body = &imported.body;
    let body = Arc::new(Body::new(body.program().clone(), body.scalars().to_vec(), n_parameters));
    let key = bytes[HASHED..HASHED + 32].try_into().expect("32 bytes");
    let code = (code_bytes > 0).then(|| StoredCode { key, arguments, bytes: bytes[code].into() });
    Ok(Stored { body, donated, captured, layout, code })
}

/// Types of the first arguments of a program: its parameters, then its captured values.
pub fn argument_types(body: &Body, n: usize) -> Vec<TensorType> {
    body.parameters().iter().chain(body.captures()).take(n).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::Code;

    const PROGRAM: &str = "func.func @main(%x: tensor<2xf32>, %w: tensor<2xf32>) -> tensor<2xf32> {
        %0 = stablehlo.add %x, %w : tensor<2xf32>
        return %0 : tensor<2xf32>
    }";

    /// A file with these numbers, donated parameters, layout and program, some code, and 8 bytes of a captured value.
    fn file(numbers: [u64; NUMBERS], donated: &[u64], texts: [&str; 2]) -> Vec<u8> {
        let words = numbers.iter().chain(donated).flat_map(|number| number.to_le_bytes());
        let texts = texts.concat();
        let hashed: Vec<u8> = [7; 32].into_iter().chain(words).chain(texts.bytes()).chain([1, 2, 3]).collect();
        let hashed = [&hashed[..], &1f32.to_le_bytes(), &2f32.to_le_bytes()].concat();
        [&MAGIC[..], blake3::hash(&hashed).as_bytes(), &hashed].concat()
    }

    #[test]
    fn a_file_is_read_and_one_whose_numbers_lie_is_refused() {
        let right = [1, 2, 1, 0, PROGRAM.len() as u64, 3];
        let stored = read(&file(right, &[0], ["", PROGRAM])).unwrap();
        assert_eq!((stored.body.parameters().len(), stored.body.captures().len()), (1, 1));
        assert_eq!(stored.donated, [0]);
        assert!(stored.layout.is_none());
        assert_eq!(stored.captured[0].bytes(), [1f32.to_le_bytes(), 2f32.to_le_bytes()].concat());
        let code = stored.code.unwrap();
        assert_eq!((code.key, code.arguments, &code.bytes[..]), ([7; 32], 2, &[1, 2, 3][..]));
        assert_eq!(argument_types(&stored.body, code.arguments).len(), 2);
        assert!(read(&file([1, 0, 1, 0, PROGRAM.len() as u64, 3], &[0], ["", PROGRAM])).is_err());
        for place in 0..NUMBERS {
            for wrong in [right[place] + 2, right[place] + 100, 1 << 32, u64::MAX / 8 + 2, u64::MAX] {
                let mut numbers = right;
                numbers[place] = wrong;
                assert!(read(&file(numbers, &[0], ["", PROGRAM])).is_err(), "{place}: {wrong}");
            }
        }
        let broken = PROGRAM.replace("add", "wonder");
        let numbers = [1, 2, 1, 0, broken.len() as u64, 3];
        assert!(read(&file(numbers, &[0], ["", &broken])).is_err_and(|e| e.message.contains("wonder")));
        let two = [2, 2, 1, 0, PROGRAM.len() as u64, 3];
        assert!(read(&file(two, &[0], ["", PROGRAM])).is_err_and(|e| e.code == Code::DataLoss));
    }

    #[test]
    fn a_layout_is_read_and_refused_unless_it_fits() {
        let of = |layout: &str| {
            read(&file([1, 2, 1, layout.len() as u64, PROGRAM.len() as u64, 3], &[0], [layout, PROGRAM]))
        };
        let layout = of("a=2,b=3\na\n-").unwrap().layout.unwrap();
        assert_eq!((layout.axes.to_string(), layout.shardings.len()), ("a=2,b=3".into(), 2));
        assert_eq!(StoredLayout::text(&layout.axes, &layout.shardings), "a=2,b=3\na\n-");
        for wrong in ["a", "a=2", "a=2\na", "a=2\na\n-\n-", "a=2\na\nc", "a=2\na\n-,-", "a=3\na\n-", "\n\n"] {
            assert!(of(wrong).is_err(), "{wrong:?}");
        }
    }
}
