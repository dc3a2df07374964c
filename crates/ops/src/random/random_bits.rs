//! Random bits from a key: those of `jax.random.bits` with a `threefry2x32` key and `jax_threefry_partitionable`.
//! Element i depends on the key and i alone. From the two words of Threefry for the counter (i >> 32, i), a 32-bit
//! element is their exclusive or, a narrower element its low bits, and a 64-bit element both words, the first one high.
//! Keys of several rows (of batches, or of elements that draw numbers of their own) give a row of elements each, whose
//! positions are counted from 0.

use crate::emit::{Emitter, emit, mlir};

use crate::creation::constants::nothing;
use crate::elementwise::fold_barrier::{with_zero, zero_of_all};
use crate::infer::typed;
use crate::rules::Site;
use base::error::Result;
use ir::{NodeId, Op};

use base::types::{DType, Dims, TensorType};

/// Writes StableHLO operations on values of one type.
struct Writer<'a, 'b> {
    e: &'a mut Emitter<'b>,
    text: String,
    ty: TensorType,
}

impl Writer<'_, '_> {
    fn constant(&mut self, value: u32) -> String {
        self.e.constant(&self.ty, value.into())
    }

    fn binary(&mut self, op: &str, a: &str, b: &str) -> String {
        let result = self.e.temporary();
        emit!(self.e, "    {result} = stablehlo.{op} {a}, {b} : {}", self.text);
        result
    }

    fn rotated(&mut self, x: &str, by: u32) -> String {
        let (left, right) = (self.constant(by), self.constant(32 - by));
        let (high, low) = (self.binary("shift_left", x, &left), self.binary("shift_right_logical", x, &right));
        self.binary("or", &high, &low)
    }
}

/// Writes the generator on a flat vector that is reshaped at the end: on cpu as a loop that runs once, elsewhere
/// inline, so that XLA can fuse it with its users. XLA's CPU backend copies a producer into each of its users, and LLVM
/// takes minutes for a kernel with several copies of the twenty rounds.
pub(super) fn lower(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let (name, key) = (e.name_of(at), e.name(value.operands[0]));
    let key_ty = e.values[value.operands[0]].ty.clone();
    let (keys, elements) = (key_ty.elements() as i64 / 2, value.ty.elements() as i64);
    // One row for each key; a single key gives a flat vector.
    let (key, key_ty, narrow) = if key_ty.dims.len() == 1 {
        (key, key_ty, TensorType::new(value.ty.dtype, &[elements]))
    } else {
        let (rows, ty) = (e.temporary(), TensorType::new(DType::U32, &[keys, 2]));
        emit!(e, "    {rows} = stablehlo.reshape {key} : ({}) -> {}", mlir(&key_ty), mlir(&ty));
        (rows, ty, TensorType::new(value.ty.dtype, &[keys, elements / keys]))
    };
    let bits =
        if e.platform == "cpu" { in_loop(e, &name, &key, &key_ty, &narrow) } else { bits(e, &key, &key_ty, &narrow) };
    emit!(e, "    {name} = stablehlo.reshape {bits} : ({}) -> {}", mlir(&narrow), mlir(&value.ty));
}

/// Records the bits of a batch of keys.
pub(super) fn batched(site: &mut Site, _: &[bool], size: i64) -> Result<NodeId> {
    let mut dims = Dims::from_slice(&[size]);
    dims.extend_from_slice(&site.ty.dims);
    let (ty, key) = (TensorType { dtype: site.ty.dtype, dims }, site.operands[0]);
    if size == 0 { nothing(site.trace, &ty) } else { Ok(typed(site.trace, Op::RandomBits, &ty, &[key])) }
}

/// Writes the generator as the body of a loop that runs once. The body depends on the loop's counter, and XLA cannot
/// prove that the counter starts at 0: otherwise it would unroll the loop, or move the rounds out of it.
fn in_loop(e: &mut Emitter, name: &str, key: &str, key_ty: &TensorType, ty: &TensorType) -> String {
    let own = name.replace(['%', '#'], "_");
    let (counter, made) = (format!("%counter{own}"), format!("%made{own}"));
    let (counter_ty, key_text) = (mlir(&TensorType::new(DType::U32, &[])), mlir(key_ty));
    let types = format!("{counter_ty}, {key_text}, {}", mlir(ty));
    let start = zero_of_all(e, &[(key.to_string(), key_ty)], 0);
    let (nothing, end, loops, goes_on) = (e.constant(ty, 0), e.temporary(), e.temporary(), e.temporary());
    let given = format!("%key{own}");
    emit!(
        e,
        "    {loops}:3 = stablehlo.while({counter} = {start}, {given} = {key}, {made} = {nothing}) : {types}\n    cond {{"
    );
    emit!(e, "    {end} = stablehlo.constant dense<1> : {counter_ty}");
    emit!(
        e,
        "    {goes_on} = stablehlo.compare LT, {counter}, {end}, UNSIGNED : ({counter_ty}, {counter_ty}) -> tensor<i1>"
    );
    emit!(e, "    stablehlo.return {goes_on} : tensor<i1>\n    }} do {{");
    let same = with_zero(e, &given, key_ty, &counter);
    let bits = bits(e, &same, key_ty, ty);
    let (one, next) = (e.constant(&TensorType::new(DType::U32, &[]), 1), e.temporary());
    emit!(e, "    {next} = stablehlo.add {counter}, {one} : {counter_ty}");
    emit!(e, "    stablehlo.return {next}, {given}, {bits} : {types}\n    }}");
    format!("{loops}#2")
}

/// Writes bits of a flat type, or of a row for each key.
fn bits(e: &mut Emitter, key: &str, key_ty: &TensorType, narrow: &TensorType) -> String {
    let ty = TensorType { dtype: DType::U32, dims: narrow.dims.clone() };
    let keys = [word(e, (key, key_ty), 0, &ty), word(e, (key, key_ty), 1, &ty)];
    let counter = counter(e, &ty);
    let mut w = Writer { e, text: mlir(&ty), ty };
    let words = threefry(&mut w, keys, counter);
    let (made, made_ty) = match narrow.dtype {
        DType::U64 => joined(w.e, &words, &w.ty),
        _ => (w.binary("xor", &words[0], &words[1]), w.ty),
    };
    if *narrow == made_ty {
        return made;
    }
    let converted = e.temporary();
    emit!(e, "    {converted} = stablehlo.convert {made} : ({}) -> {}", mlir(&made_ty), mlir(narrow));
    converted
}

/// Writes one word of each key, broadcast to its elements.
fn word(e: &mut Emitter, (key, key_ty): (&str, &TensorType), word: usize, ty: &TensorType) -> String {
    let (cell, wide) = (e.temporary(), e.temporary());
    let mut cell_ty = key_ty.clone();
    *cell_ty.dims.last_mut().expect("a key has an axis") = 1;
    let rows = if key_ty.dims.len() == 1 { String::new() } else { format!("0:{}, ", key_ty.dims[0]) };
    emit!(
        e,
        "    {cell} = stablehlo.slice {key} [{rows}{word}:{}] : ({}) -> {}",
        word + 1,
        mlir(key_ty),
        mlir(&cell_ty)
    );
    e.broadcast(&wide, &cell, &cell_ty, ty);
    wide
}

/// Writes the high and the low word of each element's position.
fn counter(e: &mut Emitter, ty: &TensorType) -> [String; 2] {
    let low = e.temporary();
    let (axis, count) = (ty.dims.len() - 1, ty.dims[ty.dims.len() - 1]);
    if count <= 1 << 32 {
        emit!(e, "    {low} = stablehlo.iota dim = {axis} : {}", mlir(ty));
        return [e.constant(ty, 0), low];
    }
    let wide_ty = TensorType { dtype: DType::U64, dims: ty.dims.clone() };
    let (wide, shifted, high) = (e.temporary(), e.temporary(), e.temporary());
    let (wide_text, text) = (mlir(&wide_ty), mlir(ty));
    let by = e.constant(&wide_ty, 32);
    emit!(e, "    {wide} = stablehlo.iota dim = {axis} : {wide_text}");
    emit!(e, "    {shifted} = stablehlo.shift_right_logical {wide}, {by} : {wide_text}");
    emit!(e, "    {high} = stablehlo.convert {shifted} : ({wide_text}) -> {text}");
    emit!(e, "    {low} = stablehlo.convert {wide} : ({wide_text}) -> {text}");
    [high, low]
}

/// Numbers of bits by which the rounds rotate, in turn.
pub(super) const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];

/// Writes the twenty rounds of Threefry, as in the native kernel.
fn threefry(w: &mut Writer, [k0, k1]: [String; 2], [high, low]: [String; 2]) -> [String; 2] {
    let (parity, both) = (w.constant(0x1BD1_1BDA), w.binary("xor", &k0, &k1));
    let k2 = w.binary("xor", &both, &parity);
    let (mut a, mut b) = (w.binary("add", &high, &k0), w.binary("add", &low, &k1));
    let keys = [k0, k1, k2];
    for group in 0..5 {
        for rotation in ROTATIONS[group % 2] {
            a = w.binary("add", &a, &b);
            b = w.rotated(&b, rotation);
            b = w.binary("xor", &b, &a);
        }
        let number = w.constant(group as u32 + 1);
        a = w.binary("add", &a, &keys[(group + 1) % 3]);
        b = w.binary("add", &b, &keys[(group + 2) % 3]);
        b = w.binary("add", &b, &number);
    }
    [a, b]
}

/// Writes the two words as one 64-bit number.
fn joined(e: &mut Emitter, words: &[String; 2], narrow: &TensorType) -> (String, TensorType) {
    let ty = TensorType { dtype: DType::U64, dims: narrow.dims.clone() };
    let (from, to) = (mlir(narrow), mlir(&ty));
    let (high, low, shifted, all) = (e.temporary(), e.temporary(), e.temporary(), e.temporary());
    let by = e.constant(&ty, 32);
    emit!(e, "    {high} = stablehlo.convert {} : ({from}) -> {to}", words[0]);
    emit!(e, "    {low} = stablehlo.convert {} : ({from}) -> {to}", words[1]);
    emit!(e, "    {shifted} = stablehlo.shift_left {high}, {by} : {to}");
    emit!(e, "    {all} = stablehlo.or {shifted}, {low} : {to}");
    (all, ty)
}
