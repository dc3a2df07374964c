"""Exports a model of PyTorch for torch_model.cc and torch_model.f90: torch_model.py MODEL.pt2

Prints the inputs, then the outputs that PyTorch computes, a row in each line. Needs torch."""

import sys

import torch


class MyModel(torch.nn.Module):
    """A small network; its class stands for that of your model."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.GELU(), torch.nn.Linear(8, 3))

    def forward(self, x):
        return self.layers(x)


def main():
    torch.manual_seed(1)
    # [recipe]
    model = MyModel().eval()  # your class in Python, with its weights
    x = torch.randn(2, 6)
    free = ({0: torch.export.Dim("batch")},)  # sizes that the program chooses; without it, all sizes are those of x
    torch.export.save(torch.export.export(model, (x,), dynamic_shapes=free), sys.argv[1])
    # [recipe end]
    x = torch.randn(5, 6)
    for row in [*x.tolist(), *model(x).tolist()]:
        print(*row)


if __name__ == "__main__":
    main()
