sdy.mesh @mesh = <["x"=2]>
func.func public @main(%a: tensor<?x4xf32, #stablehlo.bounds<8, ?>>, %b: tensor<2x4x4x3xf32>, %c: tensor<3x3x3x3xf32>)
    -> (tensor<?x4xf32, #stablehlo.bounds<8, ?>>, tensor<2x2x2x3xf32>) {
  %0 = stablehlo.custom_call @f(%a) {
      api_version = 4 : i32,
      backend_config = {bf16 = array<bf16: 1.5>, f32 = array<f32: 1.5, 0x7FC00001>, f64 = array<f64: -0.1>,
          i1 = array<i1: true, false, true>, i16 = array<i16: -1>, i32 = array<i32: 1, -2>, i64 = array<i64: 1, -2>,
          i8 = array<i8: 1, -2>, none = array<f64>, truth = array<i1>, ui8 = array<ui8: 200>},
      other = array<i32>}
      : (tensor<?x4xf32, #stablehlo.bounds<8, ?>>) -> tensor<?x4xf32, #stablehlo.bounds<8, ?>>
  %1 = stablehlo.convolution(%b, %c) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
      window = {reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x4x4x3xf32>, tensor<3x3x3x3xf32>) -> tensor<2x2x2x3xf32>
  %2 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {}]> : tensor<?x4xf32, #stablehlo.bounds<8, ?>>
  return %2, %1 : tensor<?x4xf32, #stablehlo.bounds<8, ?>>, tensor<2x2x2x3xf32>
}
