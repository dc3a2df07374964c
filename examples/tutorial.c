// The program of docs/tutorial.md in C: tutorial examples/data/digits.csv
#include <lazyxla_short.h>

enum { IMAGES = 1797, HELD_OUT = 360, PIXELS = 64 };

static void first_steps(void) {
  lx_scope();
  // [recipe]
  lxla_tensor x = lx_array(((float[]){1, 2, 3}), 3);
  lxla_tensor y = lx_sum(lx_mul(x, x)), slope;
  lx_gradients(y, &x, 1, &slope);  // of y by x; recorded, as y is
  int32_t state;
  LX_TRY(lxla_tensor_state(y, &state));
  printf("y is %s\n", state == LXLA_STATE_PENDING ? "pending" : "ready");
  float values[3];
  lx_read(slope, values, 3);  // runs both, and waits
  printf("y = %g, dy/dx = %g %g %g\n", lx_value(y), values[0], values[1], values[2]);
  // [recipe end]
}

// Reads lines of 64 pixels from 0 to 16 and the digit. The program ends if the file has other lines.
static void read_digits(const char *path, float *pixels, int *labels) {
  FILE *file = fopen(path, "r");
  for (int i = 0; i < IMAGES * (PIXELS + 1); i++) {
    int value;
    if (!file || fscanf(file, i ? "%*[,\n]%d" : "%d", &value) != 1) {
      fprintf(stderr, "%s: cannot be read, or has not %d lines of %d pixels and a digit\n", path, IMAGES, PIXELS);
      exit(1);
    }
    int row = i / (PIXELS + 1), column = i % (PIXELS + 1);
    if (column == PIXELS) labels[row] = value;
    else pixels[row * PIXELS + column] = (float)value / 16;
  }
  fclose(file);
}

// [recipe]
static const char *const NAMES[] = {"w1", "b1", "w2", "b2"};

static void create(lxla_tensor *p) {
  p[0] = lx_mul(lx_normal(lx_key(1), 64, 64), 0.2), p[1] = lx_zeros(64);
  p[2] = lx_mul(lx_normal(lx_key(2), 64, 10), 0.2), p[3] = lx_zeros(10);
}

static lxla_tensor scores_of(const lxla_tensor *p, lxla_tensor x) {
  lx_scope();  // releases what the function makes, but for what it keeps
  lxla_tensor hidden = lx_tanh(lx_add(lx_matmul(x, p[0]), p[1]));
  return lx_keep(lx_add(lx_matmul(hidden, p[2]), p[3]));
}
// [recipe end]

// [recipe]
static int compiles(void) { return (int)lx_counter("UncachedCompile"); }

static void train(lxla_tensor *p, lxla_tensor x, lxla_tensor labels) {
  lx_step();  // computes the first weights
  int before = compiles();
  for (int i = 1; i <= 300; i++) {
    lx_scope();  // of an iteration
    lxla_tensor loss = lx_cross_entropy(scores_of(p, x), labels), gradients[4];
    lx_gradients(loss, p, 4, gradients);
    for (int k = 0; k < 4; k++) lx_set(p[k], lx_sub(p[k], lx_mul(gradients[k], 0.5)));
    lx_step();
    if (i % 100 == 0) printf("step %d: loss %.3f\n", i, lx_value(loss));
  }
  printf("programs compiled by 300 steps: %d\n", compiles() - before);
}
// [recipe end]

// [recipe]
static void save(const lxla_tensor *p) { lx_save("tutorial.safetensors", NAMES, p, 4); }

static void predict(lxla_device device, const float *pixels, int *digits) {
  lx_scope();
  lx_use_device(device);  // of what follows
  lxla_tensor p[4];
  for (int k = 0; k < 4; k++) p[k] = lx_load("tutorial.safetensors", NAMES[k]);
  lx_read(lx_argmax(scores_of(p, lx_array(pixels, HELD_OUT, 64)), 1), digits, HELD_OUT);
}
// [recipe end]

// Predicts the digits of the held-out images, and prints how many are right. Returns that number.
static int show(const char *name, lxla_device device, const float *pixels, const int *labels) {
  int digits[HELD_OUT], right = 0, before = compiles();
  predict(device, pixels, digits);
  for (int i = 0; i < HELD_OUT; i++) right += digits[i] == labels[i];
  printf("%s: %d of %d right, programs compiled: %d\n", name, right, HELD_OUT, compiles() - before);
  return right;
}

int main(int argc, char **argv) {
  static float pixels[IMAGES * PIXELS];
  static int labels[IMAGES];
  if (argc != 2) {
    fprintf(stderr, "usage: %s examples/data/digits.csv\n", argv[0]);
    return 2;
  }
  read_digits(argv[1], pixels, labels);
  first_steps();
  lx_scope();
  lxla_tensor p[4];
  create(p);
  int count = IMAGES - HELD_OUT;  // the last ones are held out
  train(p, lx_array(pixels, count, PIXELS), lx_array(labels, count));
  save(p);
  int on_xla = show("xla:0", (lxla_device){LXLA_DEVICE_XLA, 0}, pixels + count * PIXELS, labels + count);
  int on_cpu = show("cpu", (lxla_device){LXLA_DEVICE_CPU, 0}, pixels + count * PIXELS, labels + count);
  return on_xla >= 310 && on_cpu >= 310 ? 0 : 1;
}
