"""Trains a network on handwritten digits on a mesh of four devices: python mesh.py [digits.csv] [--epochs N]

Images are split over the mesh axis "data", hidden units over "model". The program is that of one device: lx.shard says
where arrays are, and XLA divides the work. The accuracy is computed by lx.shard_map, in which each device counts in its
own images.
"""

import argparse
import random

import lazyxla as lx
from digits import BATCH, DATA, HELD_OUT, create, logits, loss, read

# Shardings of the parameters: hidden units are split.
SHARDINGS = {"w1": "-,model", "b1": "model", "w2": "model,-", "b2": "-"}


def right_in(params, x, y):
    """Returns how many images of all devices are right; each device has some images, and the whole parameters."""
    found = lx.argmax(logits(params, x), axis=-1) == y
    return lx.collectives.all_reduce(lx.sum(found.astype(lx.int32)), "data")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", nargs="?", default=DATA)
    parser.add_argument("--epochs", type=int, default=10)
    given = parser.parse_args()

    lx.initialize(device_count=4)
    mesh = lx.Mesh({"data": 2, "model": 2})
    with lx.use_device(mesh):
        x, y = read(given.data)
        train_x, train_y = x[HELD_OUT:], y[HELD_OUT:]
        test_x, test_y = lx.shard(x[:HELD_OUT], mesh, "data,-"), lx.shard(y[:HELD_OUT], mesh, "data")
        params = {name: lx.shard(value, mesh, SHARDINGS[name]) for name, value in create(lx.random.key(0)).items()}
        lx.step()
        print({name: lx.sharding(value) for name, value in params.items()})

        batches = train_x.shape[0] // BATCH
        optimizer = lx.optim.adamw(lx.optim.cosine_schedule(3e-3, given.epochs * batches, warmup=batches))
        state = optimizer.init(params, on_device=True)

        @lx.jit
        def step(params, state, rows):
            batch_x = lx.shard(lx.take(train_x, rows, axis=0), mesh, "data,-")
            batch_y = lx.shard(lx.take(train_y, rows), mesh, "data")
            value, gradients = lx.value_and_grad(loss)(params, batch_x, batch_y)
            params, state = optimizer.update(gradients, state, params)
            return value, {name: lx.shard(p, mesh, SHARDINGS[name]) for name, p in params.items()}, state

        count_right = lx.shard_map(lx.jit(right_in), mesh, ("", "data,-", "data"), "")
        order, draw = list(range(train_x.shape[0])), random.Random(0)
        for epoch in range(given.epochs):
            draw.shuffle(order)
            for i in range(batches):
                rows = lx.asarray(order[i * BATCH : (i + 1) * BATCH], dtype=lx.int32)
                value, params, state = step(params, state, rows)
                lx.step()
            share = int(count_right(params, test_x, test_y)) / HELD_OUT
            print(f"epoch {epoch + 1}: loss {float(value):.4f}, held out {share:.4f}")


if __name__ == "__main__":
    main()
