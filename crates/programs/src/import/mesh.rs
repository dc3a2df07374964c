//! Meshes of a module (`sdy.mesh`) and shardings on them, as axes of the mesh for which the module is imported.

use super::functions::name_of;
use base::error;
use base::error::{Result, quoted};
use mesh::{MeshAxes, Sharding, Split};
use mlir::{Attribute, Module, Operation, Record};
use std::sync::Arc;

/// A mesh of a module: its axes, and the axes of the wanted mesh that they are.
pub struct FileMesh {
    /// Names and sizes of the axes, major to minor.
    pub axes: Vec<(Arc<[u8]>, usize)>,
    /// Position of the device with each id; None if they are equal.
    positions: Option<Vec<usize>>,
    /// Number of each axis among those of the wanted mesh; None for an axis of size 1 that it lacks.
    numbers: Vec<Option<usize>>,
}

/// Where the operations of a manual computation are recorded.
pub enum Manual {
    /// Each device applies them to its pieces.
    Pieces(Arc<FileMesh>),
    /// One device applies them to the whole arrays, since all manual axes have size 1.
    Whole,
}

/// The mesh that the caller gave, and the manual computation in which operations are imported.
#[derive(Default)]
pub struct Placing {
    /// Axes of the mesh on which the computation will be called; None for one device.
    pub target: Option<MeshAxes>,
    /// The manual computation that is being imported.
    pub manual: Option<Manual>,
}

/// Returns the field of a record that is a list.
fn list<'a>(record: &'a Record, name: &str) -> &'a [Attribute] {
    match record.fields.get(name) {
        Some(Attribute::Array(list)) => list,
        _ => &[],
    }
}

/// Returns the field of a record that is a text.
fn text<'a>(attribute: &'a Attribute, name: &str) -> Result<&'a Arc<[u8]>> {
    match attribute {
        Attribute::Record(record) => match record.fields.get(name) {
            Some(Attribute::String(text)) => Ok(text),
            _ => Err(error!(InvalidArgument, "attribute {} lacks {name}", record.name)),
        },
        _ => Err(error!(InvalidArgument, "an axis without a name")),
    }
}

/// Returns the records of a list, such as the shardings of several values.
pub fn shardings(attribute: Option<&Attribute>) -> &[Attribute] {
    match attribute {
        Some(Attribute::Record(record)) => list(record, "shardings"),
        _ => &[],
    }
}

/// Returns the names of the manual axes.
pub fn manual_axes(attribute: Option<&Attribute>) -> Vec<&[u8]> {
    let names = match attribute {
        Some(Attribute::Record(record)) => list(record, "value"),
        Some(Attribute::Array(list)) => list,
        _ => &[],
    };
    names.iter().filter_map(|axis| if let Attribute::String(text) = axis { Some(&**text) } else { None }).collect()
}

/// Shown names of axes.
fn shown(name: &[u8]) -> String {
    quoted(&String::from_utf8_lossy(name))
}

impl Placing {
    /// Reads the mesh that an attribute is or names; None for the only mesh of the module that has axes.
    pub fn mesh(&self, module: &Module, named: Option<&Attribute>) -> Result<Arc<FileMesh>> {
        let meshes = || module.operations.iter().filter(|operation| &*operation.name == "sdy.mesh");
        let of = |operation: &Operation| match operation.attributes.get("mesh") {
            Some(Attribute::Record(record)) => Some(record.clone()),
            _ => None,
        };
        let record = match named {
            Some(Attribute::Record(record)) => record.clone(),
            Some(Attribute::Symbol(parts)) => {
                let name = parts.last().map_or("", |name| name);
                let found = meshes().find(|mesh| name_of(mesh) == Some(name)).and_then(of);
                found.ok_or_else(|| error!(InvalidArgument, "the module has no mesh {}", quoted(name)))?
            }
            Some(_) => return Err(error!(InvalidArgument, "a sharding without a mesh")),
            None => {
                let mut all = meshes().filter_map(of).filter(|mesh| !list(mesh, "axes").is_empty());
                match (all.next(), all.next()) {
                    (Some(only), None) => only,
                    (None, _) => return Err(error!(Unimplemented, "collectives of a module without an sdy.mesh")),
                    _ => return Err(error!(Unimplemented, "it does not say which of several meshes it is for")),
                }
            }
        };
        FileMesh::new(&record, self.target.as_ref()).map(Arc::new)
    }
}

/// Returns axes with the names and sizes of the module's only mesh with axes; None if there is none, or if its names
/// are not those of a mesh.
pub fn own_mesh(module: &Module) -> Option<MeshAxes> {
    let mesh = Placing::default().mesh(module, None).ok()?;
    let names = mesh.axes.iter().map(|(name, _)| std::str::from_utf8(name).ok()).collect::<Option<Vec<&str>>>()?;
    let sizes: Vec<i64> = mesh.sizes().map(|size| size as i64).collect();
    MeshAxes::new(&names, &sizes).ok()
}

impl FileMesh {
    /// Reads the mesh that an operation of the module declares; None if it declares none.
    pub fn of(operation: &Operation, target: Option<&MeshAxes>) -> Option<Result<FileMesh>> {
        match operation.attributes.get("mesh") {
            Some(Attribute::Record(record)) if &*operation.name == "sdy.mesh" => Some(FileMesh::new(record, target)),
            _ => None,
        }
    }

    /// Reads a mesh, whose axes have to be axes of the wanted one.
    fn new(record: &Record, target: Option<&MeshAxes>) -> Result<FileMesh> {
        let mut axes: Vec<(Arc<[u8]>, usize)> = Vec::new();
        let mut numbers = Vec::new();
        let mut count = 1usize;
        for axis in list(record, "axes") {
            let name = text(axis, "name")?.clone();
            let size = match axis {
                Attribute::Record(axis) => match axis.fields.get("size") {
                    Some(Attribute::Integer(size, _)) => usize::try_from(*size).ok().filter(|&size| size > 0),
                    _ => None,
                },
                _ => None,
            };
            let size = size.ok_or_else(|| error!(InvalidArgument, "axis {} of a mesh has no size", shown(&name)))?;
            let found = target.and_then(|target| target.find(std::str::from_utf8(&name).ok()?));
            if let Some(target) = target
                && found.map_or(1, |number| target.axes()[number].size) != size
            {
                return Err(error!(
                    InvalidArgument,
                    "options.mesh: the module's mesh has an axis {} of size {size}; the mesh {target} does not",
                    shown(&name)
                ));
            }
            if axes.iter().any(|(known, _)| *known == name) {
                return Err(error!(InvalidArgument, "a mesh has axis {} twice", shown(&name)));
            }
            count = count.saturating_mul(size);
            axes.push((name, size));
            numbers.push(found);
        }
        let positions = match record.fields.get("device_ids") {
            Some(Attribute::Integers(ids)) if !ids.is_empty() && !axes.is_empty() => Some(inverse(ids, count)?),
            _ => None,
        };
        Ok(FileMesh { axes, positions, numbers })
    }

    /// Number of the axis with a name.
    pub fn find(&self, name: &[u8]) -> Result<usize> {
        let found = self.axes.iter().position(|(known, _)| **known == *name);
        found.ok_or_else(|| error!(InvalidArgument, "the mesh has no axis {}", shown(name)))
    }

    /// Product of the sizes of axes with these names.
    pub fn size_of(&self, names: &[&[u8]]) -> Result<usize> {
        names.iter().map(|name| Ok(self.axes[self.find(name)?].1)).product()
    }

    /// Sizes of the axes.
    fn sizes(&self) -> impl DoubleEndedIterator<Item = usize> + ExactSizeIterator {
        self.axes.iter().map(|&(_, size)| size)
    }

    /// Number of devices.
    pub fn device_count(&self) -> usize {
        self.sizes().fold(1, usize::saturating_mul)
    }

    /// Position of the device with this id.
    pub fn position(&self, id: i64) -> Result<usize> {
        let id = usize::try_from(id).ok().filter(|&id| id < self.device_count());
        let id = id.ok_or_else(|| error!(InvalidArgument, "a device that the mesh of the module does not have"))?;
        Ok(self.positions.as_ref().map_or(id, |positions| positions[id]))
    }

    /// Whether the id of each device is its position.
    pub fn has_ordered_devices(&self) -> bool {
        self.positions.is_none()
    }

    /// Id of the device at a position.
    pub fn id(&self, position: usize) -> usize {
        let found = self.positions.as_ref().and_then(|positions| positions.iter().position(|&own| own == position));
        found.unwrap_or(position)
    }

    /// Coordinates of a position along the axes of the module's mesh.
    pub fn coordinates(&self, position: usize) -> Vec<usize> {
        let mut rest = position;
        let mut coordinates: Vec<usize> = self
            .sizes()
            .rev()
            .map(|size| {
                let coordinate = rest % size;
                rest /= size;
                coordinate
            })
            .collect();
        coordinates.reverse();
        coordinates
    }

    /// Axes of the wanted mesh that are these of the module's mesh, without those of size 1.
    pub fn numbers(&self, axes: impl IntoIterator<Item = usize>) -> Vec<usize> {
        axes.into_iter().filter(|&axis| self.axes[axis].1 > 1).filter_map(|axis| self.numbers[axis]).collect()
    }

    /// Reads a sharding, of whose axes those are taken that `is_wanted` accepts. None if it leaves all dimensions
    /// without axes to the partitioner, or if it cannot be expressed by whole axes.
    pub fn sharding(&self, attribute: &Attribute, is_wanted: impl Fn(&[u8]) -> bool) -> Result<Option<Sharding>> {
        let Attribute::Record(record) = attribute else {
            return Err(error!(InvalidArgument, "a sharding of an unknown form"));
        };
        let mut splits = Vec::new();
        let mut is_open = false;
        for dimension in list(record, "dim_shardings") {
            let Attribute::Record(dimension) = dimension else { continue };
            let axes = list(dimension, "axes");
            is_open |= axes.is_empty() && matches!(dimension.fields.get("is_closed"), Some(Attribute::Bool(false)));
            let mut split = Split::new();
            for axis in axes {
                let name = text(axis, "name")?;
                if !is_wanted(name) {
                    continue;
                }
                if matches!(axis, Attribute::Record(axis) if axis.fields.get("sub_axis_info").is_some()) {
                    return Ok(None);
                }
                split.extend(self.numbers([self.find(name)?]).into_iter().map(|number| number as u8));
            }
            splits.push(split);
        }
        let mut used = splits.iter().flatten().copied().collect::<Vec<u8>>();
        used.sort_unstable();
        if used.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(error!(InvalidArgument, "a sharding has an axis of the mesh twice"));
        }
        let is_split = !used.is_empty();
        Ok((is_split || !is_open).then(|| Sharding::new(splits)))
    }
}

/// Returns the position of each device id; an error unless each of `count` ids is listed once.
fn inverse(ids: &[i64], count: usize) -> Result<Vec<usize>> {
    let wrong = || error!(InvalidArgument, "device_ids of a mesh: want each of {count} devices once");
    if ids.len() != count {
        return Err(wrong());
    }
    let mut positions = vec![usize::MAX; count];
    for (position, &id) in ids.iter().enumerate() {
        let slot = usize::try_from(id).ok().and_then(|id| positions.get_mut(id)).ok_or_else(wrong)?;
        if *slot != usize::MAX {
            return Err(wrong());
        }
        *slot = position;
    }
    Ok(positions)
}

/// Groups of devices of a collective.
pub struct Groups {
    /// Ids of the devices, group by group.
    pub ids: Vec<i64>,
    /// Number of devices of a group.
    pub size: usize,
}

impl FileMesh {
    /// Returns the axes on which the devices of each group differ, the major one first; UNIMPLEMENTED if the groups
    /// are not those of whole axes.
    pub fn axes_of(&self, groups: &Groups) -> Result<Vec<usize>> {
        let count = self.device_count();
        if groups.ids.len() != count || groups.size == 0 || !count.is_multiple_of(groups.size) {
            return Err(error!(
                InvalidArgument,
                "attribute replica_groups: {} devices in groups of {}; the mesh has {count}",
                groups.ids.len(),
                groups.size
            ));
        }
        let positions = groups.ids.iter().map(|&id| self.position(id)).collect::<Result<Vec<usize>>>()?;
        let mut places: Vec<Vec<Vec<usize>>> = Vec::new();
        for group in positions.chunks(groups.size) {
            places.push(group.iter().map(|&position| self.coordinates(position)).collect());
        }
        // Distance in the group between neighbours along each axis on which the first group differs.
        let first = &places[0];
        let step = |axis: usize| first.iter().position(|place| place[axis] != first[0][axis]);
        let mut axes: Vec<(usize, usize)> = (0..self.axes.len()).filter_map(|axis| Some((step(axis)?, axis))).collect();
        axes.sort_unstable_by_key(|&(step, axis)| (std::cmp::Reverse(step), axis));
        let axes: Vec<usize> = axes.into_iter().map(|(_, axis)| axis).collect();
        let is_of_axes = |group: &Vec<Vec<usize>>| {
            group.iter().enumerate().all(|(number, place)| {
                let mut rest = number;
                let mut wanted = group[0].clone();
                for &axis in axes.iter().rev() {
                    wanted[axis] = rest % self.axes[axis].1;
                    rest /= self.axes[axis].1;
                }
                rest == 0 && *place == wanted
            })
        };
        let size: usize = axes.iter().map(|&axis| self.axes[axis].1).product();
        let mut seen = vec![false; count];
        let is_once = positions.iter().all(|&position| !std::mem::replace(&mut seen[position], true));
        if size == groups.size && is_once && places.iter().all(is_of_axes) {
            return Ok(axes);
        }
        Err(error!(Unimplemented, "the groups of devices {:?} are not those of axes of the mesh", groups.ids))
    }
}

impl FileMesh {
    /// Returns the axis along which pairs of a source and a target move values, and the pairs of its positions; None if
    /// they move along several axes, or not alike in each group.
    pub fn along_one_axis(&self, pairs: &[[usize; 2]]) -> Option<(usize, Vec<(i64, i64)>)> {
        let places: Vec<[Vec<usize>; 2]> =
            pairs.iter().map(|pair| pair.map(|position| self.coordinates(position))).collect();
        let moved = |axis: &usize| places.iter().any(|[source, target]| source[*axis] != target[*axis]);
        let mut moving = (0..self.axes.len()).filter(moved);
        let axis = moving.next().or_else(|| (0..self.axes.len()).find(|&axis| self.axes[axis].1 > 1))?;
        if moving.next().is_some() {
            return None;
        }
        // Each group along the axis is named by its first position.
        let mut of_groups: std::collections::BTreeMap<Vec<usize>, Vec<(i64, i64)>> = Default::default();
        for [source, target] in &places {
            let mut group = source.clone();
            group[axis] = 0;
            of_groups.entry(group).or_default().push((source[axis] as i64, target[axis] as i64));
        }
        of_groups.values_mut().for_each(|pairs| pairs.sort_unstable());
        let first = of_groups.values().next()?.clone();
        let is_alike = of_groups.len() == self.device_count() / self.axes[axis].1;
        (is_alike && of_groups.values().all(|pairs| *pairs == first)).then_some((axis, first))
    }
}
