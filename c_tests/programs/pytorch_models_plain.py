"""Models and functions of PyTorch's own modules for pytorch_models.py."""

import torch
import torch.nn.functional as F
from torch import nn
from torch._higher_order_ops import associative_scan, scan, while_loop
from torch._higher_order_ops.map import map as map_slices

# Models that are also compared in train mode, with their gradients.
TRAINED = (
    "mlp", "lstm", "gru", "rnn", "encoder", "decoder", "conv1d", "conv2d", "conv3d", "autoencoder", "unet", "generator",
    "bags", "graph", "flow", "ode", "fft", "cond", "map", "scan", "attention with relative places", "mixture", "pools",
    "sampler", "norms",
)  # fmt: skip


class Recurrent(nn.Module):
    def __init__(self, kind, **named):
        super().__init__()
        self.layers = getattr(nn, kind)(5, 6, num_layers=2, batch_first=True, **named)
        self.head = nn.LazyLinear(3)

    def forward(self, x):
        made, state = self.layers(x)
        return self.head(made), state


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.TransformerDecoder(nn.TransformerDecoderLayer(16, 4, 32, 0.0, batch_first=True), 2)

    def forward(self, x, memory):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        return self.layers(x, memory, tgt_mask=mask, tgt_is_causal=True)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        block = lambda a, b: nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU())
        self.down, self.middle, self.out = block(3, 8), block(8, 16), block(16, 8)
        self.up, self.head = nn.ConvTranspose2d(16, 8, 2, 2), nn.Conv2d(8, 2, 1)

    def forward(self, x):
        skip = self.down(x)
        wide = self.up(self.middle(F.max_pool2d(skip, 2)))
        return self.head(self.out(torch.cat([skip, wide], 1)))


class Bags(nn.Module):
    """Bags of words: sums and means of rows."""

    def __init__(self):
        super().__init__()
        self.sum, self.mean = nn.EmbeddingBag(20, 6, mode="sum"), nn.EmbeddingBag(20, 6, mode="mean")
        self.max = nn.EmbeddingBag(20, 6, mode="max")
        self.head = nn.Linear(18, 3)

    def forward(self, words):
        return self.head(torch.cat([self.sum(words), self.mean(words), self.max(words)], 1))


class Graph(nn.Module):
    """A network on a graph: messages along edges, added and averaged at nodes."""

    def __init__(self):
        super().__init__()
        self.message, self.update, self.head = nn.Linear(8, 8), nn.GRUCell(8, 8), nn.Linear(16, 3)

    def forward(self, nodes, edges):
        source, target = edges[0], edges[1]
        for _ in range(2):
            message = torch.relu(self.message(nodes[source]))
            summed = torch.zeros_like(nodes).index_add(0, target, message)
            count = torch.zeros(nodes.shape[0]).to(nodes).scatter_add(0, target, torch.ones_like(target).to(nodes))
            nodes = self.update(summed / count.clamp(min=1)[:, None], nodes)
        places = target[:, None].expand(-1, 8)
        most = torch.zeros_like(nodes).scatter_reduce(0, places, nodes[source], "amax", include_self=False)
        mean = torch.zeros_like(nodes).scatter_reduce(0, places, nodes[source], "mean", include_self=False)
        return self.head(torch.cat([most + mean, nodes], 1))


class Flow(nn.Module):
    """Real NVP: couplings, whose logarithm of the determinant is a result."""

    def __init__(self):
        super().__init__()
        net = lambda: nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 4))
        self.nets = nn.ModuleList([net() for _ in range(4)])

    def forward(self, x):
        total = torch.zeros_like(x[:, 0])
        for i, net in enumerate(self.nets):
            a, b = x.chunk(2, dim=1) if i % 2 == 0 else x.chunk(2, dim=1)[::-1]
            scale, shift = net(a).chunk(2, dim=1)
            scale = torch.tanh(scale)
            b = b * torch.exp(scale) + shift
            x = torch.cat([a, b], 1).flip(1)
            total = total + scale.sum(1)
        normal = torch.distributions.Normal(torch.zeros(4).to(x), torch.ones(4).to(x))
        return x, normal.log_prob(x).sum(1) + total


class Ode(nn.Module):
    """Runge-Kutta steps of a network."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 16), nn.Softplus(), nn.Linear(16, 4))

    def forward(self, x):
        h = 0.1
        for _ in range(8):
            a = self.net(x)
            b = self.net(x + h / 2 * a)
            c = self.net(x + h / 2 * b)
            d = self.net(x + h * c)
            x = x + h / 6 * (a + 2 * b + 2 * c + d)
        return x


class Fourier(nn.Module):
    """A convolution by FFT, and a layer of a Fourier neural operator."""

    def __init__(self):
        super().__init__()
        self.kernel = nn.Parameter(torch.randn(4, 16))
        self.weight = nn.Parameter(torch.randn(4, 4, 5, 2))

    def forward(self, x):
        made = torch.fft.irfft(torch.fft.rfft(x, n=32) * torch.fft.rfft(self.kernel, n=32), n=32)[..., :16]
        modes = torch.fft.rfft(made, norm="ortho")[..., :5]
        mixed = torch.einsum("bim,iom->bom", modes, torch.view_as_complex(self.weight))
        return made, torch.fft.irfft(mixed, n=16, norm="ortho")


class Cond(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 3), nn.Linear(4, 3)

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: torch.relu(self.a(x)), lambda x: torch.tanh(self.b(x)), (x,))


class While(nn.Module):
    def forward(self, x):
        return while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, torch.sin(x) + 0.5 * x), (torch.tensor(0), x))


class Map(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(4, 4))

    def forward(self, x):
        return map_slices(lambda row, w: torch.tanh(row @ w), x, self.w)


class Scan(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(4, 4) / 2)

    def forward(self, x):
        def step(h, row):
            h = torch.tanh(h @ self.w + row)
            return h, h * 2

        return scan(step, torch.zeros(3, 4).to(x), x, dim=0)


class Associative(nn.Module):
    """A linear recurrence by an associative scan."""

    def forward(self, a, b):
        combine = lambda x, y: (x[0] * y[0], y[0] * x[1] + y[1])
        return associative_scan(combine, (torch.sigmoid(a), b), dim=0, combine_mode="generic")


class Mapped(nn.Module):
    """Functions of torch.func."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(4, 3))

    def forward(self, x, y):
        each = torch.vmap(lambda row, other: torch.tanh(row @ self.w) * other.sum())(x, y)
        outer = torch.vmap(lambda a: torch.vmap(lambda b: (a * b).sum())(y))(x)
        return each, outer


class Linalg(nn.Module):
    def forward(self, x):
        square = x @ x.mT + torch.eye(x.shape[-2]).to(x)
        factor = torch.linalg.cholesky(square)
        solved = torch.linalg.solve(square, x)
        q, r = torch.linalg.qr(x)
        return [
            factor, solved, q @ r, torch.linalg.inv(square), torch.linalg.det(square), torch.linalg.slogdet(square)[1],
            torch.linalg.eigvalsh(square), torch.linalg.svdvals(x), torch.linalg.norm(x),
            torch.linalg.matrix_power(square, 3), torch.linalg.solve_triangular(factor, x, upper=False),
            torch.cholesky_solve(x, factor), torch.linalg.pinv(x), torch.linalg.matrix_norm(x, "nuc"),
            torch.linalg.cross(x[..., :3], x[..., 1:4]), torch.linalg.multi_dot([x[0].mT, x[0], x[0].mT]),
        ]  # fmt: skip


class Relative(nn.Module):
    """Attention with a bias by relative places, of ALiBi's kind, over windows made by unfold."""

    def __init__(self):
        super().__init__()
        self.heads, self.bias = nn.MultiheadAttention(16, 4, batch_first=True), nn.Embedding(9, 4)

    def forward(self, x):
        places = torch.arange(x.shape[1])
        bias = self.bias((places[:, None] - places[None]).clamp(-4, 4) + 4).permute(2, 0, 1)
        mask = bias.repeat(x.shape[0], 1, 1)
        made, weights = self.heads(x, x, x, attn_mask=mask, need_weights=True)
        windows = F.pad(made, (0, 0, 1, 1)).unfold(1, 3, 1)
        return windows.mean(-1), weights


class Mixture(nn.Module):
    """A mixture of experts: the two best ones of each row."""

    def __init__(self):
        super().__init__()
        self.gate, self.experts = nn.Linear(8, 4), nn.ModuleList([nn.Linear(8, 8) for _ in range(4)])

    def forward(self, x):
        weights, chosen = torch.topk(torch.softmax(self.gate(x), -1), 2)
        all_of = torch.stack([expert(x) for expert in self.experts], 1)
        picked = all_of.gather(1, chosen[..., None].expand(-1, -1, 8))
        balance = F.one_hot(chosen, 4).sum(1).to(x).mean(0)
        return (picked * (weights / weights.sum(-1, keepdim=True))[..., None]).sum(1), balance


class Pools(nn.Module):
    """Pools of all kinds, and their inverse."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)

    def forward(self, x):
        x = self.conv(x)
        made, places = F.max_pool2d(x, 2, return_indices=True)
        return [
            F.max_unpool2d(made, places, 2), F.adaptive_max_pool2d(x, (3, 2)), F.adaptive_max_pool1d(x[:, :, 0], 3),
            F.adaptive_avg_pool2d(x, (3, 5)), F.lp_pool2d(x, 2, 2), F.avg_pool2d(x, 3, 2, 1, True, False),
            F.interpolate(x, scale_factor=1.7, mode="bicubic"),
            F.interpolate(x, size=(5, 11), mode="bicubic", align_corners=True),
            F.interpolate(x, size=(5, 11), mode="area"), F.interpolate(x, size=(11, 5), mode="nearest-exact"),
            F.interpolate(x, size=(4, 5), mode="bilinear", antialias=True),
            F.interpolate(x, size=(4, 5), mode="bicubic", antialias=True),
        ]  # fmt: skip


class Sampler(nn.Module):
    """A spatial transformer, with patches taken apart and put together."""

    def __init__(self):
        super().__init__()
        self.place = nn.Linear(3, 6)

    def forward(self, x):
        theta = self.place(x.mean((2, 3))).reshape(-1, 2, 3)
        moved = F.grid_sample(x, F.affine_grid(theta, list(x.shape), align_corners=False), align_corners=False)
        patches = F.unfold(moved, 3, padding=1, stride=2)
        return F.fold(patches, list(x.shape[2:]), 3, padding=1, stride=2), patches


class Norms(nn.Module):
    def __init__(self):
        super().__init__()
        self.group, self.instance = nn.GroupNorm(2, 4), nn.InstanceNorm2d(4, affine=True)
        self.layer, self.rms, self.local = nn.LayerNorm([4, 5, 6]), nn.RMSNorm(6), nn.LocalResponseNorm(3)
        self.linear = nn.utils.parametrizations.weight_norm(nn.Linear(6, 6))
        self.spectral = nn.utils.parametrizations.spectral_norm(nn.Linear(6, 6)).eval()

    def forward(self, x):
        x = self.group(x) + self.instance(x) + self.layer(x) + self.rms(x) + self.local(x)
        return F.normalize(self.linear(x), dim=1), self.spectral(x)


class Diagonals(nn.Module):
    """Writes to diagonals and triangles."""

    def forward(self, x):
        y = x.clone()
        y.diagonal(dim1=-2, dim2=-1).add_(1.0)
        y.diagonal(1, -2, -1).fill_(2.0)
        least, most = x.amin(-1, keepdim=True) / 2, x.amax(-1, keepdim=True) / 2
        return (
            y,
            torch.diagonal(x, -1, 0, 2),
            x.clamp(least, most),
            torch.clamp(x, max=most),
            x.triu(1),
            torch.diag(x[0]),
        )


def losses(x, y):
    kinds = (F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss, F.soft_margin_loss, F.kl_div)
    return [kind(x, y) for kind in kinds] + [
        F.cross_entropy(x, y.softmax(1)),
        F.cosine_embedding_loss(x, y, torch.ones(4)),
    ]


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *given):
        return self.function(*given)


class LeNet(nn.Sequential):
    def __init__(self):
        layers = (nn.Conv2d(1, 6, 5), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(), nn.LazyLinear(10), nn.LogSoftmax(1))
        super().__init__(*layers)


def models():
    """Yields names, and functions that make a model with its inputs."""
    r = torch.randn
    yield "mlp", lambda: (nn.Sequential(nn.Linear(6, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 4)), (r(5, 6),))
    yield "lstm", lambda: (Recurrent("LSTM", bidirectional=True), (r(3, 7, 5),))
    yield "lstm with projections", lambda: (Recurrent("LSTM", proj_size=4), (r(3, 7, 5),))
    yield "gru", lambda: (Recurrent("GRU"), (r(3, 7, 5),))
    yield "rnn", lambda: (Recurrent("RNN", nonlinearity="relu"), (r(3, 7, 5),))
    layer = lambda **named: nn.TransformerEncoderLayer(16, 4, 32, 0.0, batch_first=True, **named)
    yield (
        "encoder",
        lambda: (nn.TransformerEncoder(layer(norm_first=True), 2, enable_nested_tensor=False), (r(2, 6, 16),)),
    )
    yield "encoder, norms last", lambda: (nn.TransformerEncoder(layer(), 2, enable_nested_tensor=False), (r(2, 6, 16),))
    yield "decoder", lambda: (Decoder(), (r(2, 5, 16), r(2, 6, 16)))
    yield "transformer", lambda: (nn.Transformer(16, 4, 1, 1, 32, 0.0, batch_first=True), (r(2, 5, 16), r(2, 6, 16)))
    block = lambda rank: nn.Sequential(
        getattr(nn, f"Conv{rank}d")(2, 6, 3, padding=1, padding_mode="circular"), getattr(nn, f"BatchNorm{rank}d")(6),
        nn.SiLU(), getattr(nn, f"MaxPool{rank}d")(2), getattr(nn, f"Conv{rank}d")(6, 4, 2, groups=2), nn.PReLU(),
        getattr(nn, f"AdaptiveAvgPool{rank}d")(3),
    )  # fmt: skip
    for rank in (1, 2, 3):
        yield f"conv{rank}d", lambda rank=rank: (block(rank), (r(2, 2, *[9, 8, 7][:rank]),))
    yield "lenet", lambda: (LeNet(), (r(2, 1, 16, 16),))
    yield (
        "autoencoder",
        lambda: (
            nn.Sequential(
                nn.Conv2d(1, 4, 3, 2, 1), nn.ELU(), nn.Conv2d(4, 8, 3, 2, 1), nn.Mish(),
                nn.ConvTranspose2d(8, 4, 3, 2, 1, 1), nn.LeakyReLU(), nn.Upsample(scale_factor=2),
                nn.Conv2d(4, 1, 3, padding=1),
                nn.Sigmoid(),
            ),
            (r(2, 1, 16, 16),),
        ),
    )  # fmt: skip
    yield "unet", lambda: (UNet(), (r(2, 3, 16, 16),))
    yield (
        "generator",
        lambda: (
            nn.Sequential(
                nn.Linear(8, 128), nn.Unflatten(1, (8, 4, 4)), nn.BatchNorm2d(8), nn.ReLU(),
                nn.ConvTranspose2d(8, 4, 4, 2, 1, bias=False), nn.BatchNorm2d(4), nn.ReLU(),
                nn.ConvTranspose2d(4, 3, 4, 2, 1),
                nn.Tanh(),
            ),
            (r(3, 8),),
        ),
    )  # fmt: skip
    yield "bags", lambda: (Bags(), (torch.randint(0, 20, (4, 6)),))
    yield "graph", lambda: (Graph(), (r(6, 8), torch.randint(0, 6, (2, 15))))
    yield "flow", lambda: (Flow(), (r(5, 4),))
    yield "ode", lambda: (Ode(), (r(3, 4),))
    yield "fft", lambda: (Fourier(), (r(2, 4, 16),))
    yield "cond", lambda: (Cond(), (r(2, 4),))
    yield "while", lambda: (While(), (r(4),))
    yield "map", lambda: (Map(), (r(5, 3, 4),))
    yield "scan", lambda: (Scan(), (r(5, 3, 4),))
    yield "associative scan", lambda: (Associative(), (r(7, 3), r(7, 3)))
    yield "vmap", lambda: (Mapped(), (r(5, 4), r(5, 4)))
    yield "linear algebra", lambda: (Linalg(), (r(2, 4, 6),))
    yield "attention with relative places", lambda: (Relative(), (r(2, 7, 16),))
    yield "mixture", lambda: (Mixture(), (r(6, 8),))
    yield "pools", lambda: (Pools(), (r(2, 3, 8, 8),))
    yield "sampler", lambda: (Sampler(), (r(2, 3, 8, 9),))
    yield "norms", lambda: (Norms(), (r(3, 4, 5, 6),))
    yield "diagonals", lambda: (Diagonals(), (r(3, 4, 4),))
    yield "losses", lambda: (Function(losses), (r(4, 5), r(4, 5)))
