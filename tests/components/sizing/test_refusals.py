"""What the planner refuses, in its whole words, all at once."""

from __future__ import annotations

import pytest

from components.problems import render
from components.sizing.plan import reading
from components.sizing.plan.plan import plan
from tests.components.sizing.asked import CAT, LLAMA_3_8B, LLAMA_3_70B, LLAMA_3_405B, refused

TOKENS = "training: {tokens: 1T}\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            LLAMA_3_8B + "training: {tokens: 0}\n",
            "task.yaml:2:20 training.tokens: 0: a number above 0 is wanted",
        ),
        (
            LLAMA_3_8B + "training: {tokens: -3e9}\n",
            "task.yaml:2:20 training.tokens: -3000000000: a number above 0 is wanted",
        ),
        (
            LLAMA_3_8B + "training: {tokens: many}\n",
            'task.yaml:2:20 training.tokens: "many": a number is wanted, such as 15.6e12 or 15.6T',
        ),
        (
            LLAMA_3_8B + "training: {tokens: 1T, global_batch: 12.5}\n",
            "task.yaml:2:38 training.global_batch: 12.5 is a number; a whole number is wanted",
        ),
        (
            LLAMA_3_8B + TOKENS + "hardware: {nodes: 0}\n",
            "task.yaml:3:19 hardware.nodes: 0 is out of range; at least 1 is wanted",
        ),
        (
            LLAMA_3_8B + TOKENS + "goal: {days: -1}\n",
            "task.yaml:3:14 goal.days: -1: a number above 0 is wanted",
        ),
        (
            LLAMA_3_8B + TOKENS + "hardware: {nodes: 16}\nparallelism: {tensor: 3}\n",
            "task.yaml:4:23 parallelism.tensor: 32 heads do not divide by tensor 3; use one of: 1, 2, 4, 8, 16",
        ),
        (
            LLAMA_3_70B + TOKENS + "hardware: {nodes: 16}\nparallelism: {pipeline: 83}\n",
            (
                "task.yaml:4:25 parallelism.pipeline: 83 stages are more than "
                "80 layers, embedding and output layer; at most 82"
            ),
        ),
        (
            LLAMA_3_70B + TOKENS + "hardware: {nodes: 16}\nparallelism: {tensor: 8, pipeline: 4, virtual_stages: 30}\n",
            (
                "task.yaml:4:55 parallelism.virtual_stages: 4 stages of 30 chunks are more than 80 layers, "
                "embedding and output layer; at most 20"
            ),
        ),
        (
            LLAMA_3_8B + TOKENS + "hardware: {nodes: 4}\nparallelism: {expert: 4}\n",
            (
                "task.yaml:4:23 parallelism.expert: expert 4 is asked for, but the model has no experts; "
                "describe them in model.experts, or leave expert out"
            ),
        ),
        (
            LLAMA_3_8B + TOKENS + "hardware: {nodes: 4}\nparallelism: {context: 3}\n",
            "task.yaml:4:24 parallelism.context: a sequence of 8192 does not divide by context 3; use a power of two",
        ),
        (
            LLAMA_3_8B + TOKENS + "hardware: {nodes: 1}\nparallelism: {tensor: 8, pipeline: 4}\n",
            (
                "task.yaml:4:14 parallelism: tensor x pipeline x context is 32, more than the 8 cards of 1 nodes; "
                "use at least 4 nodes or a smaller split"
            ),
        ),
        (
            LLAMA_3_8B + TOKENS + "hardware: {accelerator: h10}\n",
            'task.yaml:3:25 hardware.accelerator: "h10" is not a known accelerator; did you mean "h100"?',
        ),
        (
            LLAMA_3_8B + TOKENS + "hardware: {instance_type: p5.48xlarg}\n",
            'task.yaml:3:27 hardware.instance_type: "p5.48xlarg" is not in the catalog; did you mean "p5.48xlarge"?',
        ),
        (
            LLAMA_3_8B + TOKENS + "hardware: {instance_type: m7i.8xlarge}\n",
            "task.yaml:3:27 hardware.instance_type: m7i.8xlarge has no accelerator; use a type such as p5.48xlarge",
        ),
        (
            LLAMA_3_8B + TOKENS + "hardware: {instance_type: p5.48xlarge, accelerator: h100}\n",
            (
                "task.yaml:3:53 hardware.accelerator: both an instance_type and an accelerator are named; "
                "keep instance_type for machines of the catalog, accelerator for others"
            ),
        ),
        (
            LLAMA_3_8B + TOKENS + "hardware: {instance_type: p5.48xlarge, cards_per_node: 4}\n",
            (
                "task.yaml:3:56 hardware.cards_per_node: 4 cards a node do not match "
                "p5.48xlarge, which has 8; leave cards_per_node out"
            ),
        ),
        (
            LLAMA_3_8B + "training: {tokens: 1T, precision: fp8}\nhardware: {accelerator: a100-80, nodes: 8}\n",
            (
                "task.yaml:2:35 training.precision: fp8 is asked for, but a100-80's cards have no 8-bit arithmetic; "
                "use bf16, or cards that have it: l4, l40s, h100, h100-96, h100-pcie or h100-nvl"
            ),
        ),
        (
            LLAMA_3_8B + "training: {tokens: 1T, precision: bf16}\nhardware: {accelerator: v100, nodes: 8}\n",
            (
                "task.yaml:2:35 training.precision: bf16 is asked for, but v100's "
                "cards multiply only in fp16; use precision: fp16"
            ),
        ),
        (
            LLAMA_3_8B + "training: {tokens: 1T, precision: fp9}\n",
            (
                'task.yaml:2:35 training.precision: "fp9" is not one of bf16, fp16, '
                'fp8, fp8-block, fp8-mx or nvfp4; did you mean "fp8"?'
            ),
        ),
        (
            "model: {layers: 32, hidden: 4096, heads: 32, kv_heads: 7, vocab: 32000, sequence: 4096}\n" + TOKENS,
            (
                "task.yaml:1:56 model.kv_heads: 32 heads do not divide by 7 "
                "key-value heads; use one of: 1, 2, 4, 8, 16, 32"
            ),
        ),
        (
            "model: {layers: 32, hidden: 4096, heads: 31, vocab: 32000, sequence: 4096}\n" + TOKENS,
            "task.yaml:1:42 model.heads: hidden 4096 does not divide by 31 heads; give model.head_dim",
        ),
        (
            (
                "model: {layers: 32, hidden: 4096, heads: 32, vocab: 32000, "
                "sequence: 4096, experts: {count: 8, active: 9}}\n"
            )
            + TOKENS,
            "task.yaml:1:104 model.experts.active: 9 active experts outnumber the 8 experts; at most 8",
        ),
        (
            LLAMA_3_8B.replace("kv_heads", "kv_head") + TOKENS,
            'task.yaml:1:46 model.kv_head: "kv_head" is not a key here; did you mean "kv_heads"?',
        ),
        (
            LLAMA_3_8B + TOKENS + "paralelism: {tensor: 8}\n",
            'task.yaml:3:1 paralelism: "paralelism" is not a key here; did you mean "parallelism"?',
        ),
        (
            LLAMA_3_8B + "hardware: {nodes: 8}\n",
            "task.yaml:1:1 training: is missing; what is trained on how much: at least tokens",
        ),
        (
            LLAMA_3_405B + TOKENS + "hardware: {accelerator: a100-40, nodes: 2}\n",
            (
                "task.yaml:3:41 hardware.nodes: the model does not fit 16 cards of a100-40 under any split: "
                "the tightest split needs 455.1 GiB a card of 39.4 usable; "
                "the nearest that fits is 16 nodes: tensor 4, pipeline 32, recompute full, zero1, 38.1 GiB a card"
            ),
        ),
    ],
)
def test_a_refusal_says_what_was_written_and_what_would_do(text: str, said: str) -> None:
    assert refused(text) == [said]


def test_everything_wrong_is_told_at_once_in_the_file_s_order() -> None:
    text = (
        "model: {layers: 8O, hidden: 4096, heads: 32, vocab: 1, sequence: 1}\ntraining: {tokens: 0}\n"
        "hardware: {accelerator: h10, nodes: 0}\nmodle: 3\n"
    )
    assert refused(text) == [
        'task.yaml:1:17 model.layers: "8O" is text; a whole number is wanted',
        "task.yaml:2:20 training.tokens: 0: a number above 0 is wanted",
        'task.yaml:3:25 hardware.accelerator: "h10" is not a known accelerator; did you mean "h100"?',
        "task.yaml:3:37 hardware.nodes: 0 is out of range; at least 1 is wanted",
        'task.yaml:4:1 modle: "modle" is not a key here; did you mean "model"?',
    ]


def test_text_that_is_no_task_is_refused_with_its_place() -> None:
    assert refused("model: [\n") == [
        "task.yaml:2:1 this is not YAML: did not find expected node content; while parsing a flow node"
    ]
    assert refused("") == [
        "the task file task.yaml holds no task; the planner needs at least model and training.tokens"
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            TOKENS + "hardware: {nodes: 4}\nparallelism: {tensor: 16}\n",
            (
                "task.yaml:4:23 parallelism.tensor: warning: tensor 16 is wider "
                "than the 8 cards that fast links join on p5.48xlarge; "
                "at most 8 are fast; split further by pipeline"
            ),
        ),
        (
            TOKENS + "hardware: {nodes: 5}\nparallelism: {tensor: 8, pipeline: 2}\n",
            (
                "task.yaml:4:14 parallelism: warning: 40 cards do not divide "
                "by tensor x pipeline x context 16: 8 stay idle; "
                "use 4 nodes, or another split"
            ),
        ),
        (
            "training: {tokens: 1T, global_batch: 100}\nhardware: {nodes: 6}\nparallelism: {tensor: 8, pipeline: 2}\n",
            (
                "task.yaml:2:38 training.global_batch: warning: 100 sequences do not divide by data 3 x micro_batch 1: "
                "some ranks wait in the last round; use 99"
            ),
        ),
    ],
)
def test_what_is_only_wasteful_is_planned_with_a_warning(text: str, said: str) -> None:
    read = reading.read_text(LLAMA_3_8B + text, "task.yaml", CAT)
    assert said in [render(problem) for problem in read.problems]
    assert read.request is not None and plan(read.request, CAT)[0] is not None
