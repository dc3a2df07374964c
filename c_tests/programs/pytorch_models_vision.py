"""Models of torchvision and timm for pytorch_models.py, at small sizes and with few classes."""

import torch

# Models that are also compared in train mode, with their gradients.
TRAINED = (
    "resnet18", "mobilenet_v2", "efficientnet_b0", "shufflenet_v2_x0_5", "squeezenet1_1", "regnet_y_400mf",
    "mnasnet0_5", "convnext", "vit", "swin", "swin_v2", "lraspp_mobilenet_v3_large", "timm.convnext_atto",
    "timm.vit_tiny_patch16_224", "timm.mixer_s32_224", "timm.ghostnet_050", "timm.edgenext_xx_small",
    "timm.xcit_nano_12_p16_224",
    "timm.eca_nfnet_l0", "timm.repvgg_a0",
)  # fmt: skip


def image(size, batch=2):
    return (torch.randn(batch, 3, size, size),)


def by_name(name, size, **named):
    from torchvision import models

    return models.get_model(name, weights=None, num_classes=10, **named), image(size)


def with_small_head(name, size, width):
    """A model whose layers behind the pooled features, of most of its weights, are one small layer."""
    model, inputs = by_name(name, size)
    model.classifier = torch.nn.Linear(width, 10)
    return model, inputs


def segmentation(name, size):
    from torchvision.models import segmentation as models

    return getattr(models, name)(weights=None, weights_backbone=None, num_classes=4), image(size)


def with_aux(name, size):
    return by_name(name, size, init_weights=False, aux_logits=False)


def convnext():
    from torchvision.models.convnext import CNBlockConfig, ConvNeXt

    blocks = [CNBlockConfig(16, 32, 2), CNBlockConfig(32, 48, 2), CNBlockConfig(48, None, 1)]
    return ConvNeXt(blocks, stochastic_depth_prob=0.0, num_classes=10), image(48)


def vit():
    from torchvision.models import VisionTransformer

    return VisionTransformer(32, 8, 2, 4, 32, 64, num_classes=10), image(32)


def swin(name):
    from torchvision.models import swin_transformer as models

    v2 = {"block": models.SwinTransformerBlockV2, "downsample_layer": models.PatchMergingV2} if name == "v2" else {}
    model = models.SwinTransformer([4, 4], 24, [2, 2], [2, 4], [4, 4], stochastic_depth_prob=0.0, num_classes=10, **v2)
    return model, image(40)


def maxvit():
    from torchvision.models import MaxVit

    model = MaxVit((64, 64), 16, 4, [16, 32], [1, 1], 16, 0.0, num_classes=10)
    return model, image(64)


def video(name):
    from torchvision.models import video as models

    return getattr(models, name)(weights=None, num_classes=10), (torch.randn(1, 3, 8, 32, 32),)


def pyramid():
    """A feature pyramid, as detectors have it."""
    from torchvision.models.detection.backbone_utils import resnet_fpn_backbone

    class Features(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.backbone = resnet_fpn_backbone(backbone_name="resnet18", weights=None)

        def forward(self, x):
            return list(self.backbone(x).values())

    return Features(), image(64)


def raft_features():
    """The encoder of features of RAFT, with instance norms."""
    from torchvision.models.optical_flow.raft import FeatureEncoder, ResidualBlock

    norm = torch.nn.InstanceNorm2d
    return FeatureEncoder(block=ResidualBlock, norm_layer=norm, layers=(8, 8, 16, 24, 32)), image(64)


def of_timm(name, size, **named):
    import timm

    return timm.create_model(name, pretrained=False, num_classes=10, **named), image(size)


def models():
    """Yields names, and functions that make a model with its inputs."""
    for name, size in (
        ("resnet18", 64), ("resnet50", 64), ("wide_resnet50_2", 33), ("resnext50_32x4d", 33), ("mobilenet_v2", 64),
        ("mobilenet_v3_small", 64), ("mobilenet_v3_large", 64), ("efficientnet_b0", 64), ("efficientnet_v2_s", 48),
        ("shufflenet_v2_x0_5", 64), ("squeezenet1_0", 64), ("squeezenet1_1", 64), ("densenet121", 64),
        ("regnet_y_400mf", 64), ("regnet_x_400mf", 64), ("mnasnet0_5", 64), ("mnasnet1_0", 64),
    ):  # fmt: skip
        yield name, lambda name=name, size=size: by_name(name, size)
    for name, width in (("alexnet", 256 * 6 * 6), ("vgg11", 512 * 7 * 7), ("vgg16_bn", 512 * 7 * 7)):
        yield name, lambda name=name, width=width: with_small_head(name, 64, width)
    yield "googlenet", lambda: with_aux("googlenet", 64)
    yield "inception_v3", lambda: with_aux("inception_v3", 96)
    for name in ("fcn_resnet50", "deeplabv3_mobilenet_v3_large", "lraspp_mobilenet_v3_large"):
        yield name, lambda name=name: segmentation(name, 48)
    yield "convnext", convnext
    yield "vit", vit
    yield "swin", lambda: swin("v1")
    yield "swin_v2", lambda: swin("v2")
    yield "maxvit", maxvit
    yield "r3d_18", lambda: video("r3d_18")
    yield "mc3_18", lambda: video("mc3_18")
    yield "feature_pyramid", pyramid
    yield "raft_features", raft_features
    for name, size in (
        ("convnext_atto", 64), ("efficientnet_lite0", 64), ("mobilenetv4_conv_small", 64), ("mixer_s32_224", 224),
        ("resmlp_12_224", 224), ("poolformer_s12", 64), ("coat_lite_tiny", 224), ("levit_128s", 224),
        ("mobilevit_xxs", 64),
        ("mobilevitv2_050", 64), ("edgenext_xx_small", 64), ("ghostnet_050", 64), ("hrnet_w18_small", 64),
        ("eca_nfnet_l0", 64), ("regnety_002", 64), ("repvgg_a0", 64), ("res2net50_26w_4s", 64), ("skresnet18", 64),
        ("xcit_nano_12_p16_224", 64), ("fastvit_t8", 64), ("pvt_v2_b0", 64), ("lcnet_050", 64), ("dla34", 64),
        ("cspresnet50", 64), ("ese_vovnet19b_dw", 64), ("starnet_s1", 64), ("resnet26t", 64), ("visformer_tiny", 224),
        ("gernet_s", 64), ("rexnet_100", 64),
    ):  # fmt: skip
        yield f"timm.{name}", lambda name=name, size=size: of_timm(name, size)
    for name, size, more in (
        ("vit_tiny_patch16_224", 64, {}), ("deit_tiny_patch16_224", 64, {}), ("eva02_tiny_patch14_224", 56, {}),
        ("beit_base_patch16_224", 64, {"depth": 2}),
    ):  # fmt: skip
        more = {**more, "img_size": size}
        yield f"timm.{name}", lambda name=name, size=size, more=more: of_timm(name, size, **more)
