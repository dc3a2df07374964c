"""Models of transformers for pytorch_models.py, with tiny configurations."""

import torch

# Models that are also compared in train mode, with their gradients.
TRAINED = (
    "Bert", "DistilBert", "GPT2", "GPTNeo", "OPT", "Llama", "Qwen2", "Gemma", "T5", "Bart", "ViT", "Wav2Vec2", "Mamba",
    "Bloom", "Electra",
)  # fmt: skip
SMALL = {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
MORE = {**SMALL, "intermediate_size": 64, "max_position_embeddings": 40}
GROUPED = {**MORE, "num_key_value_heads": 2, "head_dim": 8}


class Flat(torch.nn.Module):
    """A model whose outputs are its tensors, and which keeps no cache."""

    def __init__(self, model, names):
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *values):
        made = self.model(**dict(zip(self.names, values, strict=True)), return_dict=True)
        return [value for value in made.values() if isinstance(value, torch.Tensor)]


def made(kind, head, inputs, **config):
    import transformers

    settings = getattr(transformers, f"{kind}Config")(**config)
    for name in vars(settings):
        if "drop" in name and isinstance(getattr(settings, name), float):
            setattr(settings, name, 0.0)
    if hasattr(settings, "use_cache"):
        settings.use_cache = False
    if hasattr(settings, "initializer_range"):
        settings.initializer_range = 0.2  # wide enough that every part counts
    model = getattr(transformers, f"{kind}{head}")(settings)
    return Flat(model, list(inputs)), tuple(inputs.values())


def words(length=12, mask=True):
    given = {"input_ids": torch.randint(3, 99, (2, length))}
    if mask:
        given["attention_mask"] = torch.ones(2, length, dtype=torch.int64)
        given["attention_mask"][1, length - 3 :] = 0
    return given


def words_of_both():
    return {**words(), "decoder_input_ids": torch.randint(3, 99, (2, 7))}


def image(size=32):
    return {"pixel_values": torch.randn(2, 3, size, size)}


PICTURES = {"image_size": 32, "patch_size": 8, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
T5 = {"vocab_size": 99, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}
BART = {
    "vocab_size": 99, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "max_position_embeddings": 40,
}  # fmt: skip


def clip():
    text = {**MORE, "projection_dim": 16, "eos_token_id": 98}
    inputs = {**words(), **image()}
    inputs["input_ids"][:, -4] = 98
    return made(
        "CLIP",
        "Model",
        inputs,
        text_config=text,
        vision_config={**PICTURES, "intermediate_size": 64, "projection_dim": 16},
        projection_dim=16,
    )


def whisper():
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    settings = WhisperConfig(
        vocab_size=99, num_mel_bins=16, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, max_source_positions=20,
    )  # fmt: skip
    return Flat(WhisperEncoder(settings), ["input_features"]), (torch.randn(2, 16, 40),)


def speech(kind, **more):
    shape = {"conv_dim": (16, 16, 16), "conv_stride": (5, 2, 2), "conv_kernel": (10, 3, 2)}
    shape["num_feat_extract_layers"] = 3
    config = {**SMALL, "intermediate_size": 64, "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 2}
    config["apply_spec_augment"] = False
    return made(kind, "Model", {"input_values": torch.randn(2, 400)}, **config, **shape, **more)


def models():
    """Yields names, and functions that make a model with its inputs."""

    def of(kind, head, inputs, name=None, **config):
        return name or kind, lambda: made(kind, head, inputs(), **config)

    yield of("Bert", "ForMaskedLM", words, **MORE)
    yield of("Bert", "ForSequenceClassification", words, "Bert eager", **MORE, attn_implementation="eager")
    yield of(
        "DistilBert", "ForSequenceClassification", words, vocab_size=99, dim=32, n_layers=2, n_heads=4, hidden_dim=64
    )
    yield of("Roberta", "ForMaskedLM", words, **MORE)
    yield of("Albert", "Model", words, **MORE, embedding_size=16)
    yield of("Electra", "ForPreTraining", words, **MORE, embedding_size=16)
    yield of("Deberta", "Model", words, **MORE, relative_attention=True, pos_att_type=["c2p", "p2c"])
    yield of("MPNet", "Model", words, **MORE)
    tokens = {"pad_token_id": 0, "cls_token_id": 1, "sep_token_id": 2, "bos_token_id": 1, "eos_token_id": 2}
    yield of("ModernBert", "Model", words, **MORE, **tokens)
    yield of("GPT2", "LMHeadModel", words, vocab_size=99, n_positions=40, n_embd=32, n_layer=2, n_head=4)
    yield of("GPTNeo", "ForCausalLM", words, vocab_size=99, max_position_embeddings=40, hidden_size=32, num_layers=2,
             num_heads=4, attention_types=[[["global", "local"], 1]], window_size=4)  # fmt: skip
    yield of("GPTNeoX", "ForCausalLM", words, **MORE)
    yield of("GPTJ", "ForCausalLM", words, vocab_size=99, n_positions=40, n_embd=32, n_layer=2, n_head=4, rotary_dim=4)
    yield of("OPT", "ForCausalLM", words, **SMALL, ffn_dim=64, max_position_embeddings=40, word_embed_proj_dim=32)
    yield of("Bloom", "ForCausalLM", words, vocab_size=99, hidden_size=32, n_layer=2, n_head=4)
    yield of("Falcon", "ForCausalLM", words, **SMALL)
    yield of("Llama", "ForCausalLM", words, **GROUPED)
    yield of("Llama", "ForCausalLM", lambda: words(mask=False), "Llama without a mask", **GROUPED)
    yield of("Mistral", "ForCausalLM", words, **GROUPED, sliding_window=4)
    yield of("Mixtral", "ForCausalLM", words, **GROUPED, num_local_experts=4)
    yield of("Qwen2", "ForCausalLM", words, **GROUPED)
    yield of("Qwen3", "ForCausalLM", words, **GROUPED)
    yield of("Gemma", "ForCausalLM", words, **GROUPED)
    yield of("Gemma2", "ForCausalLM", words, **GROUPED, sliding_window=4)
    yield of("Phi", "ForCausalLM", words, **MORE)
    yield of("Phi3", "ForCausalLM", words, **GROUPED, pad_token_id=0)
    yield of("Cohere", "ForCausalLM", words, **MORE)
    yield of(
        "Mamba",
        "ForCausalLM",
        lambda: words(mask=False),
        vocab_size=99,
        hidden_size=32,
        num_hidden_layers=2,
        state_size=8,
    )
    yield of("T5", "ForConditionalGeneration", words_of_both, **T5)
    yield of("Bart", "ForConditionalGeneration", words_of_both, **BART)
    yield of("Pegasus", "ForConditionalGeneration", words_of_both, **BART)
    yield of("Marian", "MTModel", words_of_both, **BART, pad_token_id=0)
    yield of("ViT", "ForImageClassification", image, **PICTURES, intermediate_size=64)
    yield of("DeiT", "ForImageClassification", image, **PICTURES, intermediate_size=64)
    yield of("Dinov2", "Model", image, **PICTURES)
    yield of("Segformer", "ForSemanticSegmentation", image, hidden_sizes=[8, 16, 24, 32],
             decoder_hidden_size=16, depths=[1, 1, 1, 1],
             num_attention_heads=[1, 2, 3, 4])  # fmt: skip
    yield "CLIP", clip
    yield "Whisper encoder", whisper
    yield "Wav2Vec2", lambda: speech("Wav2Vec2")
    yield "Hubert", lambda: speech("Hubert")
