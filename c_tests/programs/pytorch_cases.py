"""Calls of PyTorch's operators for pytorch_survey.py."""

import pytorch_cases_arrays as arrays
import pytorch_cases_elements as elements
import pytorch_cases_further as further
import pytorch_cases_layers as layers
import pytorch_cases_models as models
import pytorch_cases_places as places
import pytorch_cases_signals as signals
import pytorch_cases_statistics as statistics

# Numbers of free sizes, of which pytorch_test.py has the first one, and operators that torch.export writes in programs of
# other versions: pytorch_operators_test.py has them.
ELSEWHERE = ("sym_size.int", "sym_numel.default", "lift_fresh.default", "to.prim_Device", "prims.copy_strided.default")


def cases():
    """Yields names, overloads, calls, and whether results are random."""
    groups = (
        elements.unary,
        elements.parameters_of_activations,
        elements.pairs,
        elements.bounds_and_choices,
        arrays.reductions,
        arrays.shapes,
        arrays.indexing,
        layers.layers,
        layers.normalizations,
        layers.losses,
        elements.creation,
        layers.without_draws,
        layers.recurrent,
        further.functions,
        further.numbers_beside_halves,
        further.distances,
        further.rearrangements,
        models.pools,
        models.resizing,
        models.sampling,
        models.cells,
        models.scattering,
        models.diagonals,
        models.transforms,
        models.frequencies,
        models.matrices,
        models.further,
        statistics.compositions,
        statistics.order_statistics,
        statistics.special_functions,
        signals.windows,
        signals.integrals,
        signals.further_distances,
        signals.further_places,
        signals.further_products,
        signals.margins,
        signals.solvers,
    )
    for group in groups:
        for i, (name, calls) in enumerate(group()):
            if calls:
                shown = name if isinstance(name, str) else name.__name__
                yield f"{shown} {group.__name__} {i}", name, calls, False
    for group in (
        models.bags,
        models.views,
        models.remaining,
        models.regions,
        places.places,
        statistics.seen_otherwise,
    ):
        for name, function, calls in group():
            yield f"{name} {group.__name__}", function, calls, False
    for i, (name, calls) in enumerate(layers.draws()):
        yield f"{name} drawn {i}", name, calls, True
