"""The step of transformer.c in PyTorch, eager on the CPU: the same model, sizes, batches and optimizer.

    python torch_transformer.py [STEPS]

Needs torch (2.9.0 was measured). Prints the median time of a step; two threads, like the other benchmarks.
"""

import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional

LAYERS, BATCH, CONTEXT, WIDTH, HEADS, SYMBOLS = 4, 8, 128, 256, 4, 80
WARM_UP = 3


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm, self.mlp_norm = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.mix = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        parts = self.qkv(self.attention_norm(x)).split(WIDTH, 2)
        q, k, v = (part.view(BATCH, CONTEXT, HEADS, WIDTH // HEADS).transpose(1, 2) for part in parts)
        attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.mix(attended.transpose(1, 2).reshape(BATCH, CONTEXT, WIDTH))
        return x + self.down(functional.gelu(self.up(self.mlp_norm(x)), approximate="tanh"))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(SYMBOLS, WIDTH)
        self.positions = nn.Parameter(torch.randn(CONTEXT, WIDTH) * 0.02)
        self.layers = nn.Sequential(*(Layer() for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, tokens):
        return self.norm(self.layers(self.tokens(tokens) + self.positions)) @ self.tokens.weight.t()


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    torch.manual_seed(0)
    torch.set_num_threads(2)
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.99), weight_decay=0.1)
    times = []
    for _ in range(steps):
        tokens, targets = (torch.randint(0, SYMBOLS, (BATCH, CONTEXT)) for _ in range(2))
        start = time.perf_counter()
        loss = functional.cross_entropy(model(tokens).reshape(-1, SYMBOLS), targets.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        loss.item()
        times.append(time.perf_counter() - start)
    print(f"transformer step {1e3 * statistics.median(times[WARM_UP:]):.2f} ms")


main()
