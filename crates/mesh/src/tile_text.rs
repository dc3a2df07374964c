//! Shardings in XLA's own notation, as older exports have them: `{devices=[2,1,4]<=[8] last_tile_dim_replicate}`.

use super::axes::MeshAxes;
use super::sharding::Sharding;
use super::tiles::Tiles;

impl Sharding {
    /// Reads a sharding of an array of this rank, whose devices are the positions of the mesh. None if it is of another
    /// form (a single device, a manual part), or if whole axes of the mesh do not result in its tiles.
    pub fn of_tiles(text: &str, axes: &MeshAxes, rank: usize) -> Option<Sharding> {
        let text = text.strip_prefix('{')?.strip_suffix('}')?.trim();
        if text == "replicated" {
            return Some(Sharding::replicated(rank));
        }
        let (counts, rest) = text.strip_prefix("devices=[")?.split_once(']')?;
        let counts = integers(counts)?;
        let (devices, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        // Tiles beyond the rank are copies.
        let copies = match rest.trim() {
            "" => rank,
            "last_tile_dim_replicate" | "last_tile_dims={replicated}" => rank.checked_add(1)?,
            _ => return None,
        };
        let total = counts.iter().try_fold(1usize, |total, &count| total.checked_mul(count))?;
        if counts.len() != copies || total != axes.device_count() {
            return None;
        }
        let positions = devices_of(devices, total)?;
        let tile = |i: usize, axis: usize| i / counts[axis + 1..].iter().product::<usize>() % counts[axis];
        Tiles::new(counts[..rank].to_vec(), &positions, total, tile)?.sharding(axes)
    }
}

/// Reads a list of integers.
fn integers(text: &str) -> Option<Vec<usize>> {
    text.split(',').map(|word| word.trim().parse().ok()).collect()
}

/// Reads `0,1,2,3`, or `<=[2,2]T(1,0)`: the numbers in order, in an array of this shape whose axes are transposed.
fn devices_of(text: &str, count: usize) -> Option<Vec<usize>> {
    let Some(shape) = text.strip_prefix("<=[") else { return integers(text) };
    let (dims, rest) = shape.split_once(']')?;
    let dims = integers(dims)?;
    if dims.iter().try_fold(1usize, |total, &dim| total.checked_mul(dim))? != count || count == 0 {
        return None;
    }
    let order: Vec<usize> = match rest {
        "" => (0..dims.len()).collect(),
        _ => integers(rest.strip_prefix("T(")?.strip_suffix(')')?)?,
    };
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if !sorted.iter().copied().eq(0..dims.len()) {
        return None;
    }
    let stride = |axis: usize| dims[axis + 1..].iter().product::<usize>();
    let device = |number: usize| {
        let mut rest = number;
        order.iter().rev().fold(0, |device, &axis| {
            let coordinate = rest % dims[axis];
            rest /= dims[axis];
            device + coordinate * stride(axis)
        })
    };
    Some((0..count).map(device).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notations_of_xla_are_read() {
        let axes: MeshAxes = "data=2,model=4".parse().unwrap();
        let of = |text: &str, rank| Sharding::of_tiles(text, &axes, rank).map(|sharding| sharding.text(&axes));
        for (text, rank, wanted) in [
            ("{replicated}", 2, "-,-"),
            ("{devices=[2,4]<=[8]}", 2, "data,model"),
            ("{devices=[8,1]<=[8]}", 2, "data+model,-"),
            ("{devices=[4,2]<=[2,4]T(1,0)}", 2, "model,data"),
            ("{devices=[8]<=[2,4]T(1,0)}", 1, "model+data"),
            ("{devices=[2,1,4]<=[8] last_tile_dim_replicate}", 2, "data,-"),
            ("{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}", 2, "-,model"),
            ("{devices=[2,4]0,1,2,3,4,5,6,7}", 2, "data,model"),
            ("{devices=[4,2]0,4,1,5,2,6,3,7}", 2, "model,data"),
        ] {
            assert_eq!(of(text, rank).as_deref(), Some(wanted), "{text}");
        }
        for text in [
            "{manual}",
            "{maximal device=0}",
            "{devices=[4,2]<=[8]}",
            "{devices=[2,4]<=[8] last_tile_dims={manual}}",
            "{devices=[2,4]<=[2,4]T(0,0)}",
            "{devices=[99999999999,99999999999,9]<=[8]}",
            "{devices=[]<=[8]}",
            "{devices=[2,4]0,1,2}",
            "devices",
        ] {
            assert_eq!(of(text, 2), None, "{text}");
        }
    }
}
