//! Draws, as text, which devices hold which pieces of an array.

use super::axes::MeshAxes;
use super::placement::Mesh;
use super::sharding::Sharding;

/// Maximum number of devices of a cell that are listed one by one; more devices are written as ranges.
const MOST_LISTED: usize = 8;

/// Draws an array of shape `dims` as a grid with one cell for each piece, which lists the devices that hold it
/// (`xla:0,1`). Rows are the pieces along axis 0, columns those along axis 1; an array of rank 1 is one row. For higher
/// ranks, the first two split axes are drawn, and a cell lists the devices of all pieces along the other axes, which
/// are named below the grid. If the sharding does not fit the shape, returns the error message instead.
pub fn picture(sharding: &Sharding, mesh: &Mesh, dims: &[i64]) -> String {
    let axes = &mesh.axes;
    let piece_dims = match sharding.piece_dims("sharding", axes, dims) {
        Ok(piece_dims) => piece_dims,
        Err(error) => return error.message.to_string(),
    };
    let pieces = sharding.pieces(axes);
    let (rows, columns) = drawn_axes(&pieces);
    let labels = |axis: Option<usize>| -> Vec<String> {
        let Some(axis) = axis else { return vec![String::new()] };
        (0..pieces[axis]).map(|piece| range(piece, piece_dims[axis])).collect()
    };
    let grid = Grid { rows: labels(rows), columns: labels(columns), cells: cells(sharding, mesh, rows, columns) };
    let mut text = heading(sharding, axes, dims, &piece_dims);
    let drawn = [("rows", rows), ("columns", columns)];
    let drawn = drawn.into_iter().filter_map(|(what, axis)| Some(format!("{what}: axis {}", axis?)));
    let drawn = drawn.collect::<Vec<_>>().join(", ");
    if !drawn.is_empty() {
        text.push_str(&format!("{drawn}\n"));
    }
    grid.draw(&mut text);
    for (axis, &count) in pieces.iter().enumerate() {
        if count > 1 && rows != Some(axis) && columns != Some(axis) {
            let by = axes.joined(&sharding.splits()[axis]);
            text.push_str(&format!("not drawn: axis {axis}, split by {by} into {count} pieces\n"));
        }
    }
    text
}

/// The first line.
fn heading(sharding: &Sharding, axes: &MeshAxes, dims: &[i64], piece_dims: &[i64]) -> String {
    if sharding.is_replicated() {
        format!("{dims:?} replicated on {axes}\n")
    } else {
        format!("{dims:?} sharded {} on {axes}, in pieces {piece_dims:?}\n", sharding.text(axes))
    }
}

/// Axes of the array that are drawn as rows and as columns.
fn drawn_axes(pieces: &[usize]) -> (Option<usize>, Option<usize>) {
    match pieces.len() {
        0 => (None, None),
        1 => (None, Some(0)),
        2 => (Some(0), Some(1)),
        rank => {
            let mut split = (0..rank).filter(|&axis| pieces[axis] > 1);
            match (split.next(), split.next()) {
                (first, None) => (None, first),
                both => both,
            }
        }
    }
}

/// Half-open range of the indices of a piece along an axis.
fn range(piece: usize, size: i64) -> String {
    let start = piece as i64 * size;
    format!("{start}:{}", start + size)
}

/// Devices of each cell, by row and column.
fn cells(sharding: &Sharding, mesh: &Mesh, rows: Option<usize>, columns: Option<usize>) -> Vec<Vec<String>> {
    let pieces = sharding.pieces(&mesh.axes);
    let count = |axis: Option<usize>| axis.map_or(1, |axis| pieces[axis]);
    let mut cells = vec![vec![Vec::new(); count(columns)]; count(rows)];
    for (position, &ordinal) in mesh.ordinals.iter().enumerate() {
        let index = sharding.piece_index(&mesh.axes, position);
        let at = |axis: Option<usize>| axis.map_or(0, |axis| index[axis]);
        cells[at(rows)][at(columns)].push(ordinal);
    }
    cells.into_iter().map(|row| row.into_iter().map(devices).collect()).collect()
}

/// Lists devices in ascending order: `xla:0,1`. If there are more than [`MOST_LISTED`], three or more consecutive ones
/// are written as a range: `xla:0-63`.
fn devices(mut ordinals: Vec<usize>) -> String {
    ordinals.sort_unstable();
    let has_ranges = ordinals.len() > MOST_LISTED;
    let mut parts = Vec::new();
    for run in ordinals.chunk_by(|a, b| a + 1 == *b) {
        match run {
            [first, _, .., last] if has_ranges => parts.push(format!("{first}-{last}")),
            _ => parts.extend(run.iter().map(ToString::to_string)),
        }
    }
    format!("xla:{}", parts.join(","))
}

/// A grid with labels above its columns and left of its rows; labels may be empty.
struct Grid {
    rows: Vec<String>,
    columns: Vec<String>,
    cells: Vec<Vec<String>>,
}

impl Grid {
    /// Appends the grid to a text.
    fn draw(&self, text: &mut String) {
        let width = self.columns.iter().chain(self.cells.iter().flatten()).map(String::len).max().unwrap_or(0);
        let margin = self.rows.iter().map(String::len).max().unwrap_or(0);
        let rule = |left: &str, middle: &str, right: &str| {
            let lines = vec!["─".repeat(width + 2); self.columns.len()];
            format!("{:margin$} {left}{}{right}\n", "", lines.join(middle))
        };
        if self.columns.iter().any(|label| !label.is_empty()) {
            let labels: String = self.columns.iter().map(|label| format!("  {label:^width$} ")).collect();
            // The width of a cell is that of its text, two spaces and the border on its left.
            text.push_str(format!("{:margin$} {labels}", "").trim_end());
            text.push('\n');
        }
        text.push_str(&rule("┌", "┬", "┐"));
        for (i, (label, row)) in self.rows.iter().zip(&self.cells).enumerate() {
            if i > 0 {
                text.push_str(&rule("├", "┼", "┤"));
            }
            let cells: Vec<String> = row.iter().map(|cell| format!(" {cell:^width$} ")).collect();
            text.push_str(&format!("{label:>margin$} │{}│\n", cells.join("│")));
        }
        text.push_str(&rule("└", "┴", "┘"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(mesh: &str, ordinals: Option<&[i32]>, sharding: &str, dims: &[i64]) -> String {
        let axes: MeshAxes = mesh.parse().unwrap();
        let sharding = Sharding::parse("sharding", sharding, &axes, dims.len()).unwrap();
        picture(&sharding, &Mesh::new(axes, ordinals, 64).unwrap(), dims)
    }

    fn assert_picture(found: &str, lines: &[&str]) {
        assert_eq!(found, lines.iter().map(|line| format!("{line}\n")).collect::<String>(), "\n{found}");
    }

    #[test]
    fn matrices_have_rows_and_columns() {
        assert_picture(
            &draw("data=2,model=2", None, "data,model", &[4, 20]),
            &[
                "[4, 20] sharded data,model on data=2,model=2, in pieces [2, 10]",
                "rows: axis 0, columns: axis 1",
                "      0:10    10:20",
                "    ┌───────┬───────┐",
                "0:2 │ xla:0 │ xla:1 │",
                "    ├───────┼───────┤",
                "2:4 │ xla:2 │ xla:3 │",
                "    └───────┴───────┘",
            ],
        );
        assert_picture(
            &draw("data=2,model=2", Some(&[3, 1, 0, 2]), "-,data", &[4, 20]),
            &[
                "[4, 20] sharded -,data on data=2,model=2, in pieces [4, 10]",
                "rows: axis 0, columns: axis 1",
                "       0:10      10:20",
                "    ┌─────────┬─────────┐",
                "0:4 │ xla:1,3 │ xla:0,2 │",
                "    └─────────┴─────────┘",
            ],
        );
    }

    #[test]
    fn vectors_are_one_row() {
        assert_picture(
            &draw("data=2,model=2", None, "model+data", &[8]),
            &[
                "[8] sharded model+data on data=2,model=2, in pieces [2]",
                "columns: axis 0",
                "    0:2     2:4     4:6     6:8",
                " ┌───────┬───────┬───────┬───────┐",
                " │ xla:0 │ xla:2 │ xla:1 │ xla:3 │",
                " └───────┴───────┴───────┴───────┘",
            ],
        );
        assert_picture(
            &draw("data=2,model=2", None, "", &[0]),
            &[
                "[0] replicated on data=2,model=2",
                "columns: axis 0",
                "       0:0",
                " ┌─────────────┐",
                " │ xla:0,1,2,3 │",
                " └─────────────┘",
            ],
        );
    }

    #[test]
    fn scalars_are_one_cell() {
        assert_picture(
            &draw("x=2", None, "", &[]),
            &["[] replicated on x=2", " ┌─────────┐", " │ xla:0,1 │", " └─────────┘"],
        );
    }

    #[test]
    fn of_more_axes_the_first_two_that_are_split_are_drawn() {
        assert_picture(
            &draw("a=2,b=2,c=2", None, "-,b,a,c", &[3, 2, 2, 4]),
            &[
                "[3, 2, 2, 4] sharded -,b,a,c on a=2,b=2,c=2, in pieces [3, 1, 1, 2]",
                "rows: axis 1, columns: axis 2",
                "        0:1       1:2",
                "    ┌─────────┬─────────┐",
                "0:1 │ xla:0,1 │ xla:4,5 │",
                "    ├─────────┼─────────┤",
                "1:2 │ xla:2,3 │ xla:6,7 │",
                "    └─────────┴─────────┘",
                "not drawn: axis 3, split by c into 2 pieces",
            ],
        );
        let one_split = draw("x=2", None, "-,-,x", &[1, 1, 2]);
        assert!(one_split.contains("\ncolumns: axis 2\n"), "{one_split}");
        let none_split = draw("x=2", None, "", &[1, 1, 2]);
        assert!(none_split.starts_with("[1, 1, 2] replicated on x=2\n ┌"), "{none_split}");
    }

    #[test]
    fn many_devices_are_ranges() {
        assert_eq!(devices(vec![3, 1, 2]), "xla:1,2,3");
        assert_eq!(devices((0..8).rev().collect()), "xla:0,1,2,3,4,5,6,7");
        assert_eq!(devices((0..64).collect()), "xla:0-63");
        assert_eq!(devices(vec![0, 1, 2, 4, 5, 7, 9, 10, 11, 12]), "xla:0-2,4,5,7,9-12");
    }

    #[test]
    fn a_sharding_that_does_not_fit_is_told() {
        let wanted = "sharding: axis 0 of size 3 is split by x into 2 pieces; want a multiple of 2";
        assert_eq!(draw("x=2", None, "x", &[3]), wanted);
    }
}
