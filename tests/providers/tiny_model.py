"""A llama model of a few hundred kilobytes with random weights and a vocabulary of bytes, as the script that writes it."""

SCRIPT = """
import sys
import gguf
import numpy as np

vocab, dim, heads, layers, inner = 3 + 256, 64, 4, 2, 128
rng = np.random.default_rng(7)
out = gguf.GGUFWriter(sys.argv[1], "llama")
out.add_context_length(65536)
out.add_embedding_length(dim)
out.add_block_count(layers)
out.add_feed_forward_length(inner)
out.add_head_count(heads)
out.add_head_count_kv(heads)
out.add_layer_norm_rms_eps(1e-5)
out.add_rope_dimension_count(dim // heads)
out.add_vocab_size(vocab)
out.add_file_type(0)
out.add_tokenizer_model("llama")
out.add_token_list([b"<unk>", b"<s>", b"</s>"] + [f"<0x{byte:02X}>".encode() for byte in range(256)])
out.add_token_scores([0.0] * vocab)
out.add_token_types([2, 3, 3] + [6] * 256)
out.add_bos_token_id(1)
out.add_eos_token_id(2)
out.add_unk_token_id(0)
out.add_chat_template("{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}|{% endfor %}assistant:")


def random(name, *shape):
    out.add_tensor(f"{name}.weight", rng.normal(0, 0.05, shape).astype(np.float32))


def ones(name):
    out.add_tensor(f"{name}.weight", np.ones(dim, np.float32))


random("token_embd", vocab, dim)
random("output", vocab, dim)
ones("output_norm")
for layer in range(layers):
    for name in ("attn_norm", "ffn_norm"):
        ones(f"blk.{layer}.{name}")
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        random(f"blk.{layer}.{name}", dim, dim)
    for name in ("ffn_gate", "ffn_up"):
        random(f"blk.{layer}.{name}", inner, dim)
    random(f"blk.{layer}.ffn_down", dim, inner)
out.write_header_to_file()
out.write_kv_data_to_file()
out.write_tensors_to_file()
out.close()
"""
