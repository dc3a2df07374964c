//! Shardings: for each axis of a tensor, the mesh axes that split it.

use super::axes::{MAX_AXES, MeshAxes, Source};
use base::error;
use base::error::{Error, Result, quoted};
use smallvec::SmallVec;
use std::sync::Arc;

/// Mesh axes that split one axis of a tensor, major to minor.
pub type Split = SmallVec<[u8; 2]>;

/// Division of a tensor among the devices of a mesh: one [`Split`] for each axis of the tensor. A mesh axis occurs at
/// most once; devices that differ only on mesh axes that do not occur hold the same piece. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sharding {
    splits: Arc<[Split]>,
}

impl Sharding {
    /// The sharding that splits no axis: every device holds the whole tensor.
    pub fn replicated(rank: usize) -> Sharding {
        Sharding::new(vec![Split::new(); rank])
    }

    /// Creates a sharding from one split for each axis of the tensor.
    pub fn new(splits: Vec<Split>) -> Sharding {
        Sharding { splits: splits.into() }
    }

    /// Parses a text with one entry for each axis of a tensor of this rank: `data+model,-,seq`, where `-` is an axis
    /// that is not split. The empty text is replicated. INVALID_ARGUMENT for another number of entries, an unknown mesh
    /// axis, or one that occurs twice; the message has `argument` and the byte position in the text.
    pub fn parse(argument: &str, text: &str, axes: &MeshAxes, rank: usize) -> Result<Sharding> {
        if text.is_empty() {
            return Ok(Sharding::replicated(rank));
        }
        let source = Source { argument, text };
        let mut seen = Vec::new();
        let mut splits = Vec::with_capacity(rank);
        let mut byte = 0;
        for entry in text.split(',') {
            if splits.len() == rank {
                return Err(wrong_count(source, byte, rank));
            }
            splits.push(parse_entry(source, byte, entry, axes, &mut seen)?);
            byte += entry.len() + 1;
        }
        if splits.len() < rank {
            return Err(wrong_count(source, text.len(), rank));
        }
        Ok(Sharding::new(splits))
    }

    /// Text in the syntax of [`Sharding::parse`]: `data,-`. A replicated tensor of rank 2 is `-,-`.
    pub fn text(&self, axes: &MeshAxes) -> String {
        let entry = |split: &Split| if split.is_empty() { "-".to_owned() } else { axes.joined(split) };
        self.splits.iter().map(entry).collect::<Vec<_>>().join(",")
    }

    /// The split of each axis of the tensor.
    pub fn splits(&self) -> &[Split] {
        &self.splits
    }

    /// Rank of the tensor.
    pub fn rank(&self) -> usize {
        self.splits.len()
    }

    /// True if no axis is split.
    pub fn is_replicated(&self) -> bool {
        self.splits.iter().all(|split| split.is_empty())
    }

    /// Number of pieces along each axis of the tensor.
    pub fn pieces(&self, axes: &MeshAxes) -> Vec<usize> {
        self.splits.iter().map(|split| piece_count(axes, split)).collect()
    }

    /// Shape of the pieces of a tensor of shape `dims`. INVALID_ARGUMENT if a size is not divisible by the number of
    /// pieces, or if the rank differs.
    pub fn piece_dims(&self, argument: &str, axes: &MeshAxes, dims: &[i64]) -> Result<Vec<i64>> {
        if dims.len() != self.rank() {
            return Err(error!(
                InvalidArgument,
                "{argument}: {} is for tensors of rank {}; the tensor is of rank {}",
                quoted(&self.text(axes)),
                self.rank(),
                dims.len()
            ));
        }
        let mut piece_dims = Vec::with_capacity(dims.len());
        for (axis, (&size, split)) in dims.iter().zip(self.splits.iter()).enumerate() {
            let pieces = piece_count(axes, split) as i64;
            if size % pieces != 0 {
                return Err(error!(
                    InvalidArgument,
                    "{argument}: axis {axis} of size {size} is split by {} into {pieces} pieces; want a multiple of \
                     {pieces}",
                    axes.joined(split)
                ));
            }
            piece_dims.push(size / pieces);
        }
        Ok(piece_dims)
    }

    /// Index, along each axis of the tensor, of the piece on the device at this position.
    pub(super) fn piece_index(&self, axes: &MeshAxes, position: usize) -> Vec<usize> {
        let coordinates = axes.coordinates(position);
        let along = |split: &Split| {
            split.iter().map(|&axis| usize::from(axis)).fold(0, |index, axis| {
                // The coordinates on the mesh axes are digits of the index, major to minor.
                index * axes.axes()[axis].size + coordinates[axis]
            })
        };
        self.splits.iter().map(along).collect()
    }

    /// Offsets in the whole tensor of the piece at this position. `piece_dims` is the shape of the pieces.
    pub fn offsets(&self, axes: &MeshAxes, position: usize, piece_dims: &[i64]) -> Vec<i64> {
        let index = self.piece_index(axes, position);
        index.iter().zip(piece_dims).map(|(&index, &size)| index as i64 * size).collect()
    }

    /// For each distinct piece, the first position that holds it, in ascending order.
    pub fn holders(&self, axes: &MeshAxes) -> Vec<usize> {
        let is_used = |axis: usize| self.splits.iter().flatten().any(|&used| usize::from(used) == axis);
        let unused: Vec<usize> = (0..axes.axes().len()).filter(|&axis| !is_used(axis)).collect();
        axes.origins(&unused)
    }

    /// The sharding in Shardy's syntax, for a mesh named `mesh`: `<@mesh, [{"data"}, {}]>`.
    pub fn sdy(&self, axes: &MeshAxes) -> String {
        let name = |axis: &u8| format!("\"{}\"", axes.axes()[usize::from(*axis)].name);
        let dimension = |split: &Split| format!("{{{}}}", split.iter().map(name).collect::<Vec<_>>().join(", "));
        format!("<@mesh, [{}]>", self.splits.iter().map(dimension).collect::<Vec<_>>().join(", "))
    }

    /// Encodes the sharding as one word for each axis of the tensor. The base-32 digits of a word, least significant
    /// first, are the numbers of the mesh axes plus 1, major to minor.
    pub fn words(&self) -> impl ExactSizeIterator<Item = i64> + '_ {
        let digits = |split: &Split| split.iter().rev().fold(0i64, |word, &axis| (word << 5) | (i64::from(axis) + 1));
        self.splits.iter().map(digits)
    }

    /// Decodes what [`Sharding::words`] returned.
    pub fn from_words(words: &[i64]) -> Sharding {
        let split = |&word: &i64| -> Split {
            let digits = (0..MAX_AXES).map(|digit| (word >> (5 * digit)) & 31);
            digits.take_while(|&digit| digit != 0).map(|digit| (digit - 1) as u8).collect()
        };
        Sharding { splits: words.iter().map(split).collect() }
    }
}

/// Number of pieces into which a split divides an axis.
pub(super) fn piece_count(axes: &MeshAxes, split: &[u8]) -> usize {
    split.iter().map(|&axis| axes.axes()[usize::from(axis)].size).product()
}

/// Parses the entry of one axis of the tensor; `byte` is its position in the text.
fn parse_entry(
    source: Source<'_>,
    byte: usize,
    entry: &str,
    axes: &MeshAxes,
    seen: &mut Vec<(usize, usize)>,
) -> Result<Split> {
    if entry == "-" {
        return Ok(Split::new());
    }
    if entry.is_empty() {
        return Err(source.error(byte, format_args!("an entry is missing; want - or {}", axes.choices())));
    }
    let before = seen.len();
    axes.parse_part(source, byte..byte + entry.len(), seen)?;
    let split: Split = seen[before..].iter().map(|&(axis, _)| axis as u8).collect();
    Ok(split)
}

#[cold]
fn wrong_count(source: Source<'_>, byte: usize, rank: usize) -> Error {
    let given = source.text.split(',').count();
    let wanted = if rank == 0 { "an empty text".to_owned() } else { rank.to_string() };
    source.error(byte, format_args!("number of entries: {given} given; the tensor is of rank {rank}, want {wanted}"))
}

#[cfg(test)]
mod tests {
    use super::super::testing::Random;
    use super::*;
    use base::error::Code;
    use std::collections::HashSet;

    fn mesh() -> MeshAxes {
        "data=2,model=4,seq=3".parse().unwrap()
    }

    fn sharding(text: &str) -> Sharding {
        Sharding::parse("sharding", text, &mesh(), text.split(',').count()).unwrap()
    }

    #[test]
    fn texts_are_parsed_and_written() {
        let axes = mesh();
        let of = |text: &str, rank| Sharding::parse("sharding", text, &axes, rank).unwrap();
        let split = |axes: &[u8]| Split::from_slice(axes);
        assert_eq!(of("data,-", 2), Sharding::new(vec![split(&[0]), split(&[])]));
        assert_eq!(of("model+data,-,seq", 3).splits(), [split(&[1, 0]), split(&[]), split(&[2])]);
        assert_eq!(of("", 2), Sharding::replicated(2));
        assert_eq!(of("-,-", 2), Sharding::replicated(2));
        assert_eq!(of("", 0), Sharding::replicated(0));
        for text in ["data,-", "model+data,-,seq", "-,-", "-", "seq+model+data"] {
            assert_eq!(sharding(text).text(&axes), text);
        }
        assert_eq!((of("", 2).text(&axes), of("", 0).text(&axes)), ("-,-".to_owned(), String::new()));
        assert!(of("-,-", 2).is_replicated() && of("", 0).is_replicated() && !sharding("-,seq").is_replicated());
        assert_eq!(sharding("-,seq").rank(), 2);
    }

    #[test]
    fn errors_in_texts_say_the_byte() {
        let axes = mesh();
        let of = |text: &str, rank| {
            let error = Sharding::parse("in_shardings[1]", text, &axes, rank).unwrap_err();
            assert_eq!(error.code, Code::InvalidArgument);
            error.message.strip_prefix("in_shardings[1]: ").unwrap().to_owned()
        };
        assert_eq!(
            of("data,-,-", 2),
            r#"byte 7 of "data,-,-": number of entries: 3 given; the tensor is of rank 2, want 2"#
        );
        assert_eq!(of("data", 2), r#"byte 4 of "data": number of entries: 1 given; the tensor is of rank 2, want 2"#);
        assert_eq!(
            of("-", 0),
            r#"byte 0 of "-": number of entries: 1 given; the tensor is of rank 0, want an empty text"#
        );
        assert_eq!(of("-,", 2), r#"byte 2 of "-,": an entry is missing; want - or one of data, model, seq"#);
        assert_eq!(
            of("-,data+batch", 2),
            r#"byte 7 of "-,data+batch": no axis of the mesh is named "batch"; want one of data, model, seq"#
        );
        assert_eq!(
            of("data, -", 2),
            r#"byte 5 of "data, -": no axis of the mesh is named " -"; want one of data, model, seq"#
        );
        assert_eq!(of("seq+,-", 2), r#"byte 4 of "seq+,-": an axis is missing; want one of data, model, seq"#);
        assert_eq!(
            of("seq,-,data+seq", 3),
            r#"byte 11 of "seq,-,data+seq": axis "seq" is given twice, first at byte 0"#
        );
        assert_eq!(of("seq+seq", 1), r#"byte 4 of "seq+seq": axis "seq" is given twice, first at byte 0"#);
    }

    #[test]
    fn all_axes_of_a_mesh_may_split_one_axis() {
        let names: Vec<String> = (0..MAX_AXES).map(|i| format!("a{i}")).collect();
        let borrowed: Vec<&str> = names.iter().map(String::as_str).collect();
        let axes = MeshAxes::new(&borrowed, &[2; MAX_AXES]).unwrap();
        let most = Sharding::parse("sharding", &names.join("+"), &axes, 1).unwrap();
        assert_eq!(Sharding::from_words(&most.words().collect::<Vec<i64>>()), most);
        assert_eq!(most.pieces(&axes), [1 << MAX_AXES]);
    }

    #[test]
    fn sizes_must_be_multiples_of_the_pieces() {
        let axes = mesh();
        let of = |text: &str, dims: &[i64]| sharding(text).piece_dims("sharding", &axes, dims);
        assert_eq!(of("data+model,-", &[16, 5]).unwrap(), [2, 5]);
        assert_eq!(of("data,seq", &[0, 3]).unwrap(), [0, 1]);
        assert_eq!(sharding("seq,-,model+data").pieces(&axes), [3, 1, 8]);
        let error = of("-,data+model", &[5, 12]).unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument);
        assert_eq!(
            &*error.message,
            "sharding: axis 1 of size 12 is split by data+model into 8 pieces; want a multiple of 8"
        );
        assert_eq!(
            &*of("data,-", &[2]).unwrap_err().message,
            r#"sharding: "data,-" is for tensors of rank 2; the tensor is of rank 1"#
        );
        assert!(Sharding::replicated(0).piece_dims("sharding", &axes, &[]).unwrap().is_empty());
    }

    #[test]
    fn offsets_are_major_to_minor() {
        let axes: MeshAxes = "a=2,b=3".parse().unwrap();
        let of =
            |text: &str, position| Sharding::parse("", text, &axes, 2).unwrap().offsets(&axes, position, &[10, 100]);
        // Position 5 has the coordinates 1 and 2.
        assert_eq!(of("a,b", 5), [10, 200]);
        assert_eq!(of("b,a", 5), [20, 100]);
        assert_eq!(of("a+b,-", 5), [50, 0]);
        assert_eq!(of("b+a,-", 4), [30, 0]);
        assert_eq!(of("-,b", 4), [0, 100]);
        assert!(Sharding::replicated(0).offsets(&axes, 3, &[]).is_empty());
    }

    #[test]
    fn holders_are_the_first_positions_of_the_pieces() {
        let axes = mesh();
        assert_eq!(Sharding::replicated(2).holders(&axes), [0]);
        assert_eq!(sharding("-,seq").holders(&axes), [0, 1, 2]);
        assert_eq!(sharding("data,-").holders(&axes), [0, 12]);
        let mut random = Random(1);
        for _ in 0..200 {
            let rank = random.below(4);
            let sharding = random.sharding(&[0, 1, 2], rank);
            let mut seen = HashSet::new();
            let is_new = |position: &usize| seen.insert(sharding.piece_index(&axes, *position));
            let wanted: Vec<usize> = (0..axes.device_count()).filter(is_new).collect();
            assert_eq!(sharding.holders(&axes), wanted, "{}", sharding.text(&axes));
            assert_eq!(wanted.len(), sharding.pieces(&axes).iter().product::<usize>());
        }
    }

    #[test]
    fn shardings_are_written_for_shardy() {
        let axes = mesh();
        assert_eq!(sharding("model+data,-").sdy(&axes), r#"<@mesh, [{"model", "data"}, {}]>"#);
        assert_eq!(sharding("seq").sdy(&axes), r#"<@mesh, [{"seq"}]>"#);
        assert_eq!(Sharding::replicated(0).sdy(&axes), "<@mesh, []>");
    }

    #[test]
    fn words_hold_the_whole_sharding() {
        assert_eq!(sharding("model+data,-,seq").words().collect::<Vec<i64>>(), [2 + 32, 0, 3]);
        assert_eq!(Sharding::replicated(0).words().len(), 0);
        let mut random = Random(2);
        let all: Vec<u8> = (0..MAX_AXES as u8).collect();
        for _ in 0..500 {
            let rank = 2 + random.below(3);
            let sharding = random.sharding(&all, rank);
            assert_eq!(Sharding::from_words(&sharding.words().collect::<Vec<i64>>()), sharding);
        }
    }
}
