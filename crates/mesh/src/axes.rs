//! Axes of a mesh: their names and sizes.

use base::error;
use base::error::{Error, Result, quoted, shortened};
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// Maximum number of axes of a mesh: a word of [`super::Sharding::words`] has room for 12 axis numbers.
pub const MAX_AXES: usize = 12;

/// Maximum number of devices of a mesh.
pub const MAX_DEVICES: usize = 1 << 20;

/// One axis of a mesh.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Axis {
    /// The name: letters, digits and `_`, not starting with a digit.
    pub name: String,
    /// Number of devices along the axis, at least 1.
    pub size: usize,
}

/// Axes of a mesh, major to minor, with distinct names. Displayed as `data=2,model=4`, which [`FromStr`] parses.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MeshAxes(Vec<Axis>);

impl MeshAxes {
    /// Creates 1 to [`MAX_AXES`] axes with together at most [`MAX_DEVICES`] devices. Errors name the arguments `rank`,
    /// `axis_names[i]`, `axis_sizes[i]` and `axis_sizes`.
    pub fn new(names: &[&str], sizes: &[i64]) -> Result<MeshAxes> {
        if names.is_empty() || names.len() > MAX_AXES {
            return Err(error!(InvalidArgument, "rank: {} mesh axes given; want 1 to {MAX_AXES}", names.len()));
        }
        if names.len() != sizes.len() {
            return Err(error!(InvalidArgument, "axis_sizes: {} sizes given for {} axes", sizes.len(), names.len()));
        }
        check_names(names)?;
        let mut axes = Vec::with_capacity(names.len());
        let mut devices = 1usize;
        for (i, (name, &given)) in names.iter().zip(sizes).enumerate() {
            let size = usize::try_from(given).unwrap_or(0);
            if size == 0 {
                return Err(error!(InvalidArgument, "axis_sizes[{i}]: {given} given; want 1 or more"));
            }
            devices = devices.saturating_mul(size);
            axes.push(Axis { name: (*name).to_owned(), size });
        }
        if devices > MAX_DEVICES {
            return Err(error!(
                InvalidArgument,
                "axis_sizes: {sizes:?} is a mesh of more than {MAX_DEVICES} devices; want at most that many"
            ));
        }
        Ok(MeshAxes(axes))
    }

    /// The axes, major to minor.
    pub fn axes(&self) -> &[Axis] {
        &self.0
    }

    /// Number of devices: the product of the sizes.
    pub fn device_count(&self) -> usize {
        self.0.iter().map(|axis| axis.size).product()
    }

    /// Number of the axis with this name; None if there is none.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|axis| axis.name == name)
    }

    /// Parses names of axes separated by `+`, major to minor: `data+model`. INVALID_ARGUMENT if a name is missing,
    /// unknown or given twice; the message has `argument` and the byte position in the text.
    pub fn parse_list(&self, argument: &str, text: &str) -> Result<Vec<usize>> {
        let mut seen = Vec::new();
        self.parse_part(Source { argument, text }, 0..text.len(), &mut seen)?;
        Ok(seen.into_iter().map(|(axis, _)| axis).collect())
    }

    /// Parses a substring as [`MeshAxes::parse_list`] does, and appends the axes with their byte positions to `seen`.
    /// Returns an error for an axis that is already in `seen`.
    pub(super) fn parse_part(
        &self,
        source: Source<'_>,
        part: Range<usize>,
        seen: &mut Vec<(usize, usize)>,
    ) -> Result<()> {
        let mut byte = part.start;
        for name in source.text[part].split('+') {
            let Some(axis) = self.find(name) else {
                let found = if name.is_empty() { "an axis is missing".to_owned() } else { unknown(name) };
                return Err(source.error(byte, format_args!("{found}; want {}", self.choices())));
            };
            if let Some(&(_, first)) = seen.iter().find(|&&(other, _)| other == axis) {
                let name = quoted(name);
                return Err(source.error(byte, format_args!("axis {name} is given twice, first at byte {first}")));
            }
            seen.push((axis, byte));
            byte += name.len() + 1;
        }
        Ok(())
    }

    /// Product of the sizes of these axes.
    pub fn size_of(&self, axes: &[usize]) -> usize {
        axes.iter().map(|&axis| self.0[axis].size).product()
    }

    /// Coordinates of a position, one for each axis.
    pub fn coordinates(&self, position: usize) -> Vec<usize> {
        let mut rest = position;
        let mut coordinates = vec![0; self.0.len()];
        for (coordinate, axis) in coordinates.iter_mut().zip(&self.0).rev() {
            *coordinate = rest % axis.size;
            rest /= axis.size;
        }
        coordinates
    }

    /// Position of the device with these coordinates, row-major.
    pub fn position(&self, coordinates: &[usize]) -> usize {
        self.0.iter().zip(coordinates).fold(0, |position, (axis, coordinate)| position * axis.size + coordinate)
    }

    /// Groups of the positions that differ only on `axes`. Within a group, positions are ordered by their coordinates
    /// on `axes`, the first listed axis major; groups are ordered by their first position.
    pub fn groups(&self, axes: &[usize]) -> Vec<Vec<usize>> {
        let strides = self.strides();
        // Offsets of the positions of a group from its first position.
        let mut distances = vec![0];
        for &axis in axes {
            let (size, stride) = (self.0[axis].size, strides[axis]);
            distances =
                distances.iter().flat_map(|&distance| (0..size).map(move |at| distance + at * stride)).collect();
        }
        let group = |first: usize| -> Vec<usize> { distances.iter().map(|distance| first + distance).collect() };
        self.origins(axes).into_iter().map(group).collect()
    }

    /// Positions whose coordinates on all of `axes` are 0, in ascending order.
    pub(super) fn origins(&self, axes: &[usize]) -> Vec<usize> {
        let strides = self.strides();
        let is_origin = |position: usize| axes.iter().all(|&axis| self.coordinate(&strides, position, axis) == 0);
        (0..self.device_count()).filter(|&position| is_origin(position)).collect()
    }

    /// Row-major strides: distance between the positions of neighbours along each axis.
    pub(super) fn strides(&self) -> Vec<usize> {
        let mut strides = vec![1; self.0.len()];
        for axis in (1..self.0.len()).rev() {
            strides[axis - 1] = strides[axis] * self.0[axis].size;
        }
        strides
    }

    /// Coordinate of a position on one axis; `strides` are [`MeshAxes::strides`].
    pub(super) fn coordinate(&self, strides: &[usize], position: usize, axis: usize) -> usize {
        position / strides[axis] % self.0[axis].size
    }

    /// Names of the axes of a split, separated by `+`.
    pub(super) fn joined(&self, split: &[u8]) -> String {
        split.iter().map(|&axis| self.0[usize::from(axis)].name.as_str()).collect::<Vec<_>>().join("+")
    }

    /// Lists the names of all axes, for error messages.
    pub(super) fn choices(&self) -> String {
        let names: Vec<&str> = self.0.iter().map(|axis| axis.name.as_str()).collect();
        let one_of = if names.len() == 1 { "" } else { "one of " };
        format!("{one_of}{}", shortened(&names.join(", "), 1024))
    }

    /// The axes as an attribute of Shardy's `sdy.mesh`: `<["data"=2, "model"=4]>`.
    pub fn sdy(&self) -> String {
        let axes: Vec<String> = self.0.iter().map(|axis| format!("\"{}\"={}", axis.name, axis.size)).collect();
        format!("<[{}]>", axes.join(", "))
    }
}

/// Returns an error if a name is malformed, or given twice.
fn check_names(names: &[&str]) -> Result<()> {
    for (i, name) in names.iter().enumerate() {
        let is_first = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
        let mut bytes = name.bytes();
        let is_name = bytes.next().is_some_and(is_first) && bytes.all(|byte| is_first(byte) || byte.is_ascii_digit());
        if !is_name {
            return Err(error!(
                InvalidArgument,
                "axis_names[{i}]: {} given; want letters, digits and _, not starting with a digit",
                quoted(name)
            ));
        }
        if let Some(first) = names[..i].iter().position(|other| other == name) {
            return Err(error!(InvalidArgument, "axis_names[{i}]: {} is axis_names[{first}], too", quoted(name)));
        }
    }
    Ok(())
}

fn unknown(name: &str) -> String {
    format!("no axis of the mesh is named {}", quoted(name))
}

impl fmt::Display for MeshAxes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, axis) in self.0.iter().enumerate() {
            write!(f, "{}{}={}", if i == 0 { "" } else { "," }, axis.name, axis.size)?;
        }
        Ok(())
    }
}

impl FromStr for MeshAxes {
    type Err = Error;

    fn from_str(text: &str) -> Result<MeshAxes> {
        let source = Source { argument: "mesh", text };
        let (mut names, mut sizes) = (Vec::new(), Vec::new());
        let mut byte = 0;
        for entry in text.split(',') {
            let pair = entry.split_once('=').and_then(|(name, size)| Some((name, size.parse::<i64>().ok()?)));
            let Some((name, size)) = pair else {
                return Err(source.error(byte, format_args!("{} given; want NAME=SIZE", quoted(entry))));
            };
            names.push(name);
            sizes.push(size);
            byte += entry.len() + 1;
        }
        MeshAxes::new(&names, &sizes)
    }
}

/// Text of an argument that is being parsed, for error messages.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    /// Name of the argument.
    pub argument: &'a str,
    /// The whole text.
    pub text: &'a str,
}

impl Source<'_> {
    /// Returns INVALID_ARGUMENT with the byte position of the problem in the text.
    pub(super) fn error(&self, byte: usize, problem: impl fmt::Display) -> Error {
        error!(InvalidArgument, "{}: byte {byte} of {}: {problem}", self.argument, quoted(self.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::Code;

    fn mesh(text: &str) -> MeshAxes {
        text.parse().unwrap()
    }

    fn message<T: fmt::Debug>(result: Result<T>) -> String {
        let error = result.unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument);
        error.message.to_string()
    }

    #[test]
    fn axes_are_displayed_and_read_back() {
        let axes = MeshAxes::new(&["data", "model_2", "_x"], &[2, 4, 1]).unwrap();
        assert_eq!(axes.to_string(), "data=2,model_2=4,_x=1");
        assert_eq!(mesh(&axes.to_string()), axes);
        assert_eq!(axes.sdy(), r#"<["data"=2, "model_2"=4, "_x"=1]>"#);
        assert_eq!((axes.device_count(), axes.find("_x"), axes.find("x")), (8, Some(2), None));
        assert_eq!(axes.axes()[1], Axis { name: "model_2".to_owned(), size: 4 });
    }

    #[test]
    fn texts_that_are_no_axes_are_refused() {
        let of = |text: &str| message(text.parse::<MeshAxes>());
        assert_eq!(of("data=2,model"), r#"mesh: byte 7 of "data=2,model": "model" given; want NAME=SIZE"#);
        assert_eq!(of(""), r#"mesh: byte 0 of "": "" given; want NAME=SIZE"#);
        assert_eq!(of("a=2,b=x"), r#"mesh: byte 4 of "a=2,b=x": "b=x" given; want NAME=SIZE"#);
        assert_eq!(of("a=2,b=0"), "axis_sizes[1]: 0 given; want 1 or more");
        assert!(of("=2").starts_with("axis_names[0]: \"\" given"));
    }

    #[test]
    fn wrong_names_sizes_and_numbers_of_axes_are_refused() {
        let of = |names: &[&str], sizes: &[i64]| message(MeshAxes::new(names, sizes));
        assert_eq!(of(&[], &[]), "rank: 0 mesh axes given; want 1 to 12");
        assert_eq!(of(&["a"; 13], &[1; 13]), "rank: 13 mesh axes given; want 1 to 12");
        assert_eq!(of(&["a", "b"], &[1]), "axis_sizes: 1 sizes given for 2 axes");
        for name in ["", "2x", "a-b", "a b", "a+", "ä", "a,b", "a=b"] {
            let wanted = "given; want letters, digits and _, not starting with a digit";
            assert_eq!(of(&["ok", name], &[1, 1]), format!("axis_names[1]: {name:?} {wanted}"));
        }
        assert_eq!(of(&["a", "b", "a"], &[1, 1, 1]), r#"axis_names[2]: "a" is axis_names[0], too"#);
        assert_eq!(of(&["a", "b"], &[2, -3]), "axis_sizes[1]: -3 given; want 1 or more");
        let too_many = "is a mesh of more than 1048576 devices; want at most that many";
        assert_eq!(of(&["a", "b"], &[1 << 10, 1 << 11]), format!("axis_sizes: [1024, 2048] {too_many}"));
        assert!(of(&["a", "b"], &[i64::MAX, i64::MAX]).ends_with(too_many));
        assert_eq!(mesh("a=1024,b=1024").device_count(), MAX_DEVICES);
        let names: Vec<String> = (0..MAX_AXES).map(|i| format!("a{i}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(MeshAxes::new(&names, &[2; MAX_AXES]).unwrap().device_count(), 1 << MAX_AXES);
    }

    #[test]
    fn lists_of_axes_keep_their_order() {
        let axes = mesh("data=2,model=4,seq=3");
        assert_eq!(axes.parse_list("axes", "data").unwrap(), [0]);
        assert_eq!(axes.parse_list("axes", "seq+data").unwrap(), [2, 0]);
        assert_eq!((axes.size_of(&[2, 0]), axes.size_of(&[])), (6, 1));
    }

    #[test]
    fn errors_in_lists_say_the_byte() {
        let axes = mesh("data=2,model=4");
        let of = |text: &str| message(axes.parse_list("axes", text));
        assert_eq!(of(""), r#"axes: byte 0 of "": an axis is missing; want one of data, model"#);
        assert_eq!(of("data+"), r#"axes: byte 5 of "data+": an axis is missing; want one of data, model"#);
        assert_eq!(
            of("data+modle"),
            r#"axes: byte 5 of "data+modle": no axis of the mesh is named "modle"; want one of data, model"#
        );
        assert_eq!(of("ä+data").find("byte 0"), Some("axes: ".len()));
        assert!(of("data+ä+data").starts_with("axes: byte 5 of "), "the first error is reported");
        assert_eq!(
            of("model+data+model"),
            r#"axes: byte 11 of "model+data+model": axis "model" is given twice, first at byte 0"#
        );
        assert!(message(mesh("x=2").parse_list("axes", "y")).ends_with("; want x"));
    }

    #[test]
    fn positions_are_row_major() {
        let axes = mesh("a=2,b=3,c=4");
        assert_eq!(axes.coordinates(23), [1, 2, 3]);
        assert_eq!(axes.coordinates(5), [0, 1, 1]);
        assert_eq!(axes.position(&[1, 0, 2]), 14);
        for position in 0..axes.device_count() {
            assert_eq!(axes.position(&axes.coordinates(position)), position);
        }
        assert_eq!(axes.strides(), [12, 4, 1]);
    }

    #[test]
    fn groups_differ_only_on_their_axes() {
        let axes = mesh("a=2,b=3");
        assert_eq!(axes.groups(&[0]), [[0, 3], [1, 4], [2, 5]]);
        assert_eq!(axes.groups(&[1]), [[0, 1, 2], [3, 4, 5]]);
        assert_eq!(axes.groups(&[0, 1]), [[0, 1, 2, 3, 4, 5]]);
        assert_eq!(axes.groups(&[1, 0]), [[0, 3, 1, 4, 2, 5]]);
        assert_eq!(axes.groups(&[]), [[0], [1], [2], [3], [4], [5]]);
        let axes = mesh("a=2,b=2,c=2");
        assert_eq!(axes.groups(&[2, 0]), [[0, 4, 1, 5], [2, 6, 3, 7]]);
    }
}
