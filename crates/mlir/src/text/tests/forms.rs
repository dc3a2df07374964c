//! Pretty forms are read as the generic ones.

use super::{MODEL, SHARDED, assert_same, attribute, body, shown, string};
use crate::text::{attribute as read_attribute, read};
use crate::{Attribute, Element, Location, Numbers, Type};
use base::types::DType;

/// Values that the operations below use.
const VALUES: &str = "%f: tensor<4x8xf32>, %g: tensor<4x8xf32>, %s: tensor<f32>, %i: tensor<i32>, %p: tensor<4x8xi1>, \
                      %c: tensor<4x8xcomplex<f32>>, %z: tensor<2xi64>, %t: !stablehlo.token, \
                      %u: tuple<tensor<f32>, tensor<i32>>, %n: tensor<1x6x6x3xf32>, %k: tensor<3x3x3x4xf32>";

/// Operations in both forms.
const FORMS: &[(&str, &str)] = &[
    ("stablehlo.sine %f : tensor<4x8xf32>", r#""stablehlo.sine"(%f) : (tensor<4x8xf32>) -> tensor<4x8xf32>"#),
    (
        "stablehlo.convert %f : (tensor<4x8xf32>) -> tensor<4x8xf64>",
        r#""stablehlo.convert"(%f) : (tensor<4x8xf32>) -> tensor<4x8xf64>"#,
    ),
    (
        "stablehlo.add %f, %g {a = 1 : i32} : tensor<4x8xf32>",
        r#""stablehlo.add"(%f, %g) {a = 1 : i32} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>"#,
    ),
    (
        "stablehlo.compare LT, %f, %g, FLOAT : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>",
        r#""stablehlo.compare"(%f, %g) <{comparison_direction = #stablehlo<comparison_direction LT>,
            compare_type = #stablehlo<comparison_type FLOAT>}> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>"#,
    ),
    (
        "stablehlo.select %p, %f, %g : tensor<4x8xi1>, tensor<4x8xf32>",
        r#""stablehlo.select"(%p, %f, %g) : (tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>"#,
    ),
    (
        "stablehlo.complex %f, %g : tensor<4x8xcomplex<f32>>",
        r#""stablehlo.complex"(%f, %g) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xcomplex<f32>>"#,
    ),
    (
        "stablehlo.reduce_precision %f, format = e8m7 : tensor<4x8xf32>",
        r#""stablehlo.reduce_precision"(%f) <{exponent_bits = 8 : i32, mantissa_bits = 7 : i32}>
            : (tensor<4x8xf32>) -> tensor<4x8xf32>"#,
    ),
    (
        "stablehlo.iota dim = 1 : tensor<4x8xi32>",
        r#""stablehlo.iota"() <{iota_dimension = 1 : i64}>
            : () -> tensor<4x8xi32>"#,
    ),
    (
        "stablehlo.slice %f [0:2, 0:8:2] : (tensor<4x8xf32>) -> tensor<2x4xf32>",
        r#""stablehlo.slice"(%f) <{start_indices = array<i64: 0, 0>, limit_indices = array<i64: 2, 8>,
            strides = array<i64: 1, 2>}> : (tensor<4x8xf32>) -> tensor<2x4xf32>"#,
    ),
    (
        "stablehlo.dynamic_slice %f, %i, %i, sizes = [1, 8]
            : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>",
        r#""stablehlo.dynamic_slice"(%f, %i, %i) <{slice_sizes = array<i64: 1, 8>}>
            : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>"#,
    ),
    (
        "stablehlo.pad %f, %s, low = [0, -1], high = [1, 0], interior = [0, 2]
            : (tensor<4x8xf32>, tensor<f32>) -> tensor<5x21xf32>",
        r#""stablehlo.pad"(%f, %s) <{edge_padding_low = array<i64: 0, -1>, edge_padding_high = array<i64: 1, 0>,
            interior_padding = array<i64: 0, 2>}> : (tensor<4x8xf32>, tensor<f32>) -> tensor<5x21xf32>"#,
    ),
    (
        "stablehlo.concatenate %f, %g, dim = 0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>",
        r#""stablehlo.concatenate"(%f, %g) <{dimension = 0 : i64}>
            : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>"#,
    ),
    (
        "stablehlo.dynamic_broadcast_in_dim %s, %z, dims = [] : (tensor<f32>, tensor<2xi64>) -> tensor<?x?xf32>",
        r#""stablehlo.dynamic_broadcast_in_dim"(%s, %z) <{broadcast_dimensions = array<i64>}>
            : (tensor<f32>, tensor<2xi64>) -> tensor<?x?xf32>"#,
    ),
    (
        "stablehlo.get_tuple_element %u[1] : (tuple<tensor<f32>, tensor<i32>>) -> tensor<i32>",
        r#""stablehlo.get_tuple_element"(%u) <{index = 1 : i32}> : (tuple<tensor<f32>, tensor<i32>>) -> tensor<i32>"#,
    ),
    (
        "stablehlo.tuple %s, %i : tuple<tensor<f32>, tensor<i32>>",
        r#""stablehlo.tuple"(%s, %i) : (tensor<f32>, tensor<i32>) -> tuple<tensor<f32>, tensor<i32>>"#,
    ),
    (
        "stablehlo.after_all %t, %t : !stablehlo.token",
        r#""stablehlo.after_all"(%t, %t) : (!stablehlo.token, !stablehlo.token) -> !stablehlo.token"#,
    ),
    ("stablehlo.partition_id : tensor<ui32>", r#""stablehlo.partition_id"() : () -> tensor<ui32>"#),
    (
        "stablehlo.optimization_barrier %s : tensor<f32>",
        r#""stablehlo.optimization_barrier"(%s)
            : (tensor<f32>) -> tensor<f32>"#,
    ),
    (
        r#"stablehlo.custom_call @"a b"(%f) {backend_config = "x", api_version = 4 : i32}
            : (tensor<4x8xf32>) -> tensor<f32>"#,
        r#""stablehlo.custom_call"(%f) <{call_target_name = "a b", backend_config = "x", api_version = 4 : i32}>
            : (tensor<4x8xf32>) -> tensor<f32>"#,
    ),
    (
        r#"stablehlo.composite "chlo.erf" %f {decomposition = @g, version = 1 : i32}
            : (tensor<4x8xf32>) -> tensor<4x8xf32>"#,
        r#""stablehlo.composite"(%f) <{name = "chlo.erf", decomposition = @g, version = 1 : i32}>
            : (tensor<4x8xf32>) -> tensor<4x8xf32>"#,
    ),
    (
        "stablehlo.fft %c, type = FFT, length = [8] : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xcomplex<f32>>",
        r#""stablehlo.fft"(%c) <{fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 8>}>
            : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xcomplex<f32>>"#,
    ),
    (
        "stablehlo.cholesky %f, lower = true : tensor<4x8xf32>",
        r#""stablehlo.cholesky"(%f) <{lower = true}> : (tensor<4x8xf32>) -> tensor<4x8xf32>"#,
    ),
    (
        "stablehlo.dot_general %f, %g, batching_dims = [0] x [0], contracting_dims = [1] x [1],
            precision = [HIGH, DEFAULT]
            : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4xf32>",
        r#""stablehlo.dot_general"(%f, %g) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0],
            rhs_batching_dimensions = [0], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>,
            precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision DEFAULT>]}>
            : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4xf32>"#,
    ),
    (
        "stablehlo.convolution(%n, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
            window = {stride = [2, 1], pad = [[0, 1], [1, 1]], rhs_dilate = [1, 1], reverse = [false, true]}
            {batch_group_count = 1 : i64} : (tensor<1x6x6x3xf32>, tensor<3x3x3x4xf32>) -> tensor<1x3x6x4xf32>",
        r#""stablehlo.convolution"(%n, %k)
            <{window_strides = array<i64: 2, 1>, padding = dense<[[0, 1], [1, 1]]> : tensor<2x2xi64>,
            rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, true>, input_batch_dimension = 0 : i64,
            input_feature_dimension = 3 : i64, input_spatial_dimensions = array<i64: 1, 2>,
            kernel_input_feature_dimension = 2 : i64, kernel_output_feature_dimension = 3 : i64,
            kernel_spatial_dimensions = array<i64: 0, 1>, output_batch_dimension = 0 : i64,
            output_feature_dimension = 3 : i64, output_spatial_dimensions = array<i64: 1, 2>,
            batch_group_count = 1 : i64}>
            : (tensor<1x6x6x3xf32>, tensor<3x3x3x4xf32>) -> tensor<1x3x6x4xf32>"#,
    ),
    (
        "stablehlo.reduce(%f init: %s) applies stablehlo.maximum across dimensions = [1]
            : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>",
        r#""stablehlo.reduce"(%f, %s) <{dimensions = array<i64: 1>}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %m = stablehlo.maximum %a, %b : tensor<f32>
          stablehlo.return %m : tensor<f32>
        }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>"#,
    ),
    (
        "stablehlo.reduce(%f init: %s) across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
          reducer(%a: tensor<f32>, %b: tensor<f32>) { stablehlo.return %b : tensor<f32> }",
        r#""stablehlo.reduce"(%f, %s) <{dimensions = array<i64: 1>}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          stablehlo.return %b : tensor<f32>
        }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>"#,
    ),
    (
        "stablehlo.while(%a = %f) : tensor<4x8xf32> attributes {x} cond { stablehlo.return %a : tensor<4x8xf32> }
          do { stablehlo.return %f : tensor<4x8xf32> }",
        r#""stablehlo.while"(%f) ({ ^b(%a: tensor<4x8xf32>): stablehlo.return %a : tensor<4x8xf32> },
          { ^b(%a: tensor<4x8xf32>): stablehlo.return %f : tensor<4x8xf32> }) {x}
            : (tensor<4x8xf32>) -> tensor<4x8xf32>"#,
    ),
    ("chlo.erf %f : tensor<4x8xf32> -> tensor<4x8xf32>", r#""chlo.erf"(%f) : (tensor<4x8xf32>) -> tensor<4x8xf32>"#),
    (
        "chlo.broadcast_add %f, %s : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>",
        r#""chlo.broadcast_add"(%f, %s) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>"#,
    ),
    (
        "sdy.sharding_constraint %f <@mesh, [{\"x\", ?}p1, {\"y\":(1)2}], replicated={\"z\"}> : tensor<4x8xf32>",
        r#""sdy.sharding_constraint"(%f) <{sharding = #sdy.sharding<@mesh, [{"x", ?}p1, {"y":(1)2}], replicated={"z"}>}>
            : (tensor<4x8xf32>) -> tensor<4x8xf32>"#,
    ),
    ("call @g(%s) : (tensor<f32>) -> tensor<f32>", r#""func.call"(%s) <{callee = @g}> : (tensor<f32>) -> tensor<f32>"#),
];

#[test]
fn pretty_forms_are_read_as_generic_ones() {
    for (pretty, generic) in FORMS {
        let [pretty, generic] =
            [pretty, generic].map(|text| format!("func.func @f({VALUES}) {{ %r = {text} return }}"));
        assert_same(&pretty, &generic, true);
    }
}

#[test]
fn programs_are_read_alike_in_both_forms() {
    let model = assert_same(MODEL[0], MODEL[1], false);
    assert_eq!(model.attributes.get("mhlo.num_partitions"), Some(&Attribute::Integer(1, Element::DType(DType::S32))));
    let main = body(&model, 0);
    assert_eq!(main.last().map(|operation| &*operation.name), Some("func.return"));
    let place = main.iter().find(|operation| &*operation.name == "stablehlo.convolution").map(|found| &found.location);
    assert!(place.and_then(Location::name).is_some_and(|name| name.contains("conv_general_dilated")), "{place:?}");

    let sharded = assert_same(SHARDED[0], SHARDED[1], true);
    assert_eq!(&*sharded.operations[0].name, "sdy.mesh");
    let computation = body(&sharded, 1).iter().find(|operation| &*operation.name == "sdy.manual_computation").unwrap();
    let Attribute::Record(axes) = attribute(computation, "manual_axes") else { panic!() };
    assert_eq!(axes.fields.get("value"), Some(&Attribute::Array([string("a"), string("b")].into())));
}

#[test]
fn functions_keep_their_attributes() {
    let pretty = r#"
        module @m attributes {x.y = "z"} {
          func.func private @g(tensor<?xf32>) -> (tensor<f32>, i32)
          func.func public @main(%a: tensor<?x4xf32> {jax.buffer_donor = true} loc("a"), %b: tensor<f32>)
              -> (tensor<f32> {jax.result_info = ""}) attributes {llvm.x} {
            return {a = 1 : i64} %b : tensor<f32>
          }
        }"#;
    let generic = r#"
        "builtin.module"() <{sym_name = "m"}> ({
          "func.func"() <{function_type = (tensor<?xf32>) -> (tensor<f32>, i32), sym_name = "g",
                          sym_visibility = "private"}> ({}) : () -> ()
          "func.func"() <{function_type = (tensor<?x4xf32>, tensor<f32>) -> tensor<f32>, sym_name = "main",
              sym_visibility = "public", arg_attrs = [{jax.buffer_donor = true}, {}],
              res_attrs = [{jax.result_info = ""}]}> ({
          ^entry(%0: tensor<?x4xf32>, %1: tensor<f32>):
            "func.return"(%1) {a = 1 : i64} : (tensor<f32>) -> ()
          }) {llvm.x} : () -> ()
        }) {x.y = "z"} : () -> ()"#;
    let module = assert_same(pretty, generic, true);
    assert_eq!(module.attributes.get("sym_name"), Some(&string("m")));
    assert!(module.operations[0].regions[0].blocks.is_empty());
}

#[test]
fn portable_operations_have_the_names_of_stablehlo() {
    let portable = r#"
        "vhlo.func_v1"() <{sym_name = #vhlo.string_v1<"main">, sym_visibility = #vhlo.string_v1<"public">,
            function_type = #vhlo.type_v1<
                !vhlo.func_v1<(!vhlo.tensor_v1<2x!vhlo.f32_v1>) -> !vhlo.tensor_v1<2x!vhlo.f32_v1>>>, x = #vhlo.type_v1<
                !vhlo.func_v1<(()) -> !vhlo.tensor_v1<!vhlo.i8_v1>, !vhlo.token_v1>>,
            arg_attrs = #vhlo.array_v1<[]>, res_attrs = #vhlo.array_v1<[]>}> ({
        ^bb0(%a: !vhlo.tensor_v1<2x!vhlo.f32_v1>):
          %0 = "vhlo.call_v1"(%a) <{callee = #vhlo.string_v1<"g">}>
            : (!vhlo.tensor_v1<2x!vhlo.f32_v1>) -> !vhlo.tensor_v1<2x!vhlo.f32_v1>
          %1 = "vhlo.compare_v1"(%0, %a) <{comparison_direction = #vhlo<comparison_direction_v1 EQ>,
            compare_type = #vhlo<comparison_type_v1 FLOAT>, x = #vhlo.integer_v1<1 : i64>, y = #vhlo.bool_v1<true>}>
            : (!vhlo.tensor_v1<2x!vhlo.f32_v1>, !vhlo.tensor_v1<2x!vhlo.f32_v1>) -> !vhlo.tensor_v1<2x!vhlo.bool_v1>
          "vhlo.return_v1"(%0) : (!vhlo.tensor_v1<2x!vhlo.f32_v1>) -> ()
        }) : () -> ()"#;
    let stablehlo = "
        func.func public @main(%a: tensor<2xf32>) -> tensor<2xf32>
            attributes {x = () -> (tensor<i8>, !stablehlo.token)} {
          %0 = call @g(%a) : (tensor<2xf32>) -> tensor<2xf32>
          %1 = stablehlo.compare EQ, %0, %a, FLOAT {x = 1 : i64, y = true}
            : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
          return %0 : tensor<2xf32>
        }";
    assert_same(portable, stablehlo, true);
}

#[test]
fn structures_become_plain_attributes() {
    let text = r#"func.func @f(%a: tensor<4xf32>, %i: tensor<2x1xi32>) {
        %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0],
            start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}>
            : (tensor<4xf32>, tensor<2x1xi32>) -> tensor<2xf32>
        %1 = "stablehlo.all_gather"(%a)
            <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 3,
            type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}>
            : (tensor<4xf32>) -> tensor<8xf32>
        %2 = stablehlo.dot %a, %a, precision = [HIGHEST, HIGHEST] : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
        return }"#;
    let module = read(text).unwrap();
    let [gather, collective, dot, _] = body(&module, 0) else { panic!() };
    let names: Vec<&str> = gather.attributes.0.iter().map(|(name, _)| &**name).collect();
    let expected = [
        "offset_dims", "collapsed_slice_dims", "operand_batching_dims", "start_indices_batching_dims",
        "start_index_map", "index_vector_dim", "slice_sizes",
    ];
    assert_eq!(names, expected);
    assert_eq!(attribute(gather, "start_index_map"), &Attribute::Integers([0].into()));
    assert_eq!(attribute(collective, "channel_id"), &Attribute::Integer(3, Element::DType(DType::S64)));
    assert!(collective.attributes.get("channel_type").is_none());
    assert_eq!(attribute(collective, "use_global_device_ids"), &Attribute::Bool(true));
    let highest = Attribute::Enum("HIGHEST".into());
    assert_eq!(attribute(dot, "precision_config"), &Attribute::Array([highest.clone(), highest].into()));
}

#[test]
fn aliases_and_locations_may_be_defined_after_their_use() {
    let text = r#"
        !t = tensor<2xf32> // A comment.
        func.func @f(%a: !t loc("a")) -> !t {
          %0 = stablehlo.sine %a {x = #map} : !t loc(#loc3)
          %1:2 = stablehlo.optimization_barrier %a, %0 : !t, !t loc(fused<"m">["p", "q.py":1:2 to :5, unknown])
          return %1#1 : !t
        } loc(unknown)
        #loc3 = loc("layer"(#loc1))
        #loc1 = loc(callsite("f"(#loc2) at #loc2))
        #loc2 = loc("model.py":3:4)
        #map = affine_map<(d0) -> (d0)>"#;
    let module = read(text).unwrap();
    let [sine, barrier, last] = body(&module, 0) else { panic!() };
    assert_eq!(sine.location.to_string(), r#""layer" ("f" (model.py:3:4) called from model.py:3:4)"#);
    assert_eq!(attribute(sine, "x"), &Attribute::Other("affine_map<(d0) -> (d0)>".into()));
    assert_eq!(barrier.location.to_string(), "\"p\", q.py:1:2");
    assert_eq!(last.operands[0], barrier.results[1]);
    assert_eq!(**module.ty(barrier.results[0]), *module.types[0]);
}

#[test]
fn attributes_are_read_alone() {
    let sharding = read_attribute(r#"#sdy.sharding<@mesh, [{"x"}, {?}]>"#).unwrap();
    let Attribute::Record(sharding) = sharding else { panic!() };
    assert_eq!(&*sharding.name, "sdy.sharding");
    assert_eq!(sharding.fields.get("mesh_or_ref"), Some(&Attribute::Symbol(["mesh".into()].into())));
    let Some(Attribute::Array(dims)) = sharding.fields.get("dim_shardings") else { panic!() };
    let open = |i: usize| match &dims[i] {
        Attribute::Record(dim) => dim.fields.get("is_closed") == Some(&Attribute::Bool(false)),
        _ => false,
    };
    assert_eq!([open(0), open(1)], [false, true]);

    let cases = [
        ("-1.5 : f32", Attribute::Float(-1.5, Element::DType(DType::F32))),
        ("0.1 : f32", Attribute::Float(f64::from(0.1f32), Element::DType(DType::F32))),
        ("0x7F800000 : f32", Attribute::Float(f64::INFINITY, Element::DType(DType::F32))),
        ("-3 : i8", Attribute::Integer(-3, Element::DType(DType::S8))),
        ("255 : i8", Attribute::Integer(-1, Element::DType(DType::S8))),
        ("18446744073709551615 : ui64", Attribute::Integer(-1, Element::DType(DType::U64))),
        ("1 : i1", Attribute::Bool(true)),
        ("7", Attribute::Integer(7, Element::DType(DType::S64))),
        ("unit", Attribute::Unit),
        (r#""a\22\n\00""#, string("a\"\n\0")),
        ("@f::@\"g h\"", Attribute::Symbol(["f".into(), "g h".into()].into())),
        ("array<i64: 1, -2>", Attribute::Integers([1, -2].into())),
        ("array<i32: 1, -2>", numbers(DType::S32, &[1, 0, 0, 0, 254, 255, 255, 255])),
        ("array<ui8: 200>", numbers(DType::U8, &[200])),
        ("array<i1: true, false, 1>", numbers(DType::Pred, &[1, 0, 1])),
        ("array<f32: 1.5, 0x7FC00001>", numbers(DType::F32, &[0, 0, 192, 63, 1, 0, 192, 127])),
        ("array<bf16: -1.0>", numbers(DType::BF16, &[128, 191])),
        ("array<f64>", numbers(DType::F64, &[])),
        ("tensor<2x?xi1>", Attribute::Type(read_type("tensor<2x?xi1>"))),
        ("#mhlo.x<a = [1], b = \"> }\">", Attribute::Other("mhlo.x<a = [1], b = \"> }\">".into())),
        ("#stablehlo<precision HIGH>", Attribute::Enum("HIGH".into())),
        ("#stablehlo.precision<HIGH>", Attribute::Enum("HIGH".into())),
    ];
    for (text, expected) in cases {
        assert_eq!(read_attribute(text).unwrap(), expected, "{text}");
    }
    assert!(read_attribute("1 2").is_err());
}

fn numbers(dtype: DType, bytes: &[u8]) -> Attribute {
    Attribute::Numbers(Numbers { dtype, bytes: bytes.into() })
}

fn read_type(text: &str) -> std::sync::Arc<Type> {
    match read_attribute(text).unwrap() {
        Attribute::Type(ty) => ty,
        other => panic!("{other:?}"),
    }
}

#[test]
fn types_are_read_as_they_are_written() {
    for text in [
        "tensor<0x3xf32>",
        "tensor<?x2xcomplex<f64>>",
        "tensor<i4>",
        "tensor<2xf8E4M3FN>",
        "tensor<2x!quant.uniform<i8:f32, 2.0:-16>>",
        "tuple<tensor<f32>, !stablehlo.token>",
        "(tensor<f32>) -> (tensor<i32>, tensor<index>)",
        "none",
        "memref<2xf32>",
        "tensor<*xf32>",
        "tensor<2x?xf32, #stablehlo.bounds<?, 3>>",
        "!stablehlo.future<tensor<f32>>",
    ] {
        assert_eq!(read_type(text).to_string(), text);
    }
    let extensions = read_type("tensor<?xf32, #stablehlo.type_extensions<bounds = [3]>>");
    assert_eq!(extensions, read_type("tensor<?xf32, #stablehlo.bounds<3>>"));
    assert_ne!(extensions, read_type("tensor<?xf32>"));
    for (text, reason) in [
        ("tensor<2x?xf32, #stablehlo.bounds<3>>", "1 bounds of a tensor of 2 axes"),
        ("tensor<2x?xf32, #stablehlo.bounds<2, 3>>", "the bound 2 of axis 0, whose size is 2; want a free size"),
    ] {
        let message = read_attribute(text).unwrap_err().to_string();
        assert!(message.contains(reason), "{message}");
    }
}

#[test]
fn the_same_text_is_shown_alike() {
    let module = read(MODEL[0]).unwrap();
    assert_eq!(shown(&module, true), shown(&read(MODEL[0]).unwrap(), true));
    assert!(shown(&module, true).contains("stablehlo.scatter"));
}
