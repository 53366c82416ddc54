"""Draws docs/architecture.svg: what a stack file becomes. Run it after a change; the picture is committed."""

from __future__ import annotations

from pathlib import Path

WIDTH, HEIGHT = 1040, 560
BOXES = [
    # x, y, width, height, title, lines, fill
    (
        20,
        20,
        200,
        120,
        "stack file",
        ["pools, network, storage,", "queues, budget", "stacks/Pulumi.prod.yaml"],
        "#fff7e0",
    ),
    (
        20,
        170,
        200,
        120,
        "task file",
        ["image, nodes, parallelism,", "storage, recovery, model", "tasks/llama-405b.yaml"],
        "#fff7e0",
    ),
    (
        270,
        20,
        210,
        150,
        "pure layers",
        ["catalog -> spec", "-> planning, sizing,", "fabrics, accelerators", "-> manifests"],
        "#eaf3fb",
    ),
    (270, 200, 210, 90, "problems", ["all at once, with place,", "reason and remedy"], "#fdeceb"),
    (
        530,
        20,
        210,
        150,
        "components",
        ["Network, Cluster, GpuPool,", "Lustre, ObjectStore,", "Registry, Queueing,", "Observability, ..."],
        "#eaf3fb",
    ),
    (530, 200, 210, 90, "infra", ["settings -> build -> outputs"], "#eaf3fb"),
    (790, 20, 230, 80, "trainshed preview", ["offline: tree, plan, cost, policies"], "#e9f6ee"),
    (790, 115, 230, 80, "pulumi up", ["the same program, really"], "#e9f6ee"),
    (790, 210, 230, 80, "trainshed review", ["the comment on a pull request"], "#e9f6ee"),
]
NETS = [
    (
        20,
        330,
        480,
        210,
        "management network",
        ["control-plane interfaces, endpoints, CPU nodes", "way out: NAT per zone, one, or none"],
        "#f5f8fa",
    ),
    (
        540,
        330,
        480,
        210,
        "compute network",
        ["nodes with cards, EFA, Lustre; no route out", "images from the account's own registry"],
        "#f5f8fa",
    ),
]
INSIDE = [
    (40, 420, 130, 100, "EKS", ["API, add-ons,", "Kueue, JobSet"]),
    (185, 420, 140, 100, "watching", ["Prometheus,", "alerts, logs"]),
    (340, 420, 140, 100, "preprocess", ["CPU nodes,", "spot by a toggle"]),
    (560, 420, 200, 100, "pretrain: 1,250 nodes", ["10,000 cards, one zone,", "18 spares, 3 reservations"]),
    (775, 420, 110, 100, "finetune", ["Capacity Block", "by calendar"]),
    (900, 420, 100, 100, "Lustre", ["linked to", "the buckets"]),
]
ARROWS = [
    ((220, 80), (270, 80)),
    ((220, 230), (270, 130)),
    ((480, 95), (530, 95)),
    ((375, 170), (375, 200)),
    ((635, 170), (635, 200)),
    ((740, 245), (790, 60)),
    ((740, 245), (790, 155)),
    ((740, 245), (790, 250)),
    ((635, 290), (635, 330)),
    ((500, 470), (540, 470)),
    ((540, 490), (500, 490)),
]


def box(x: int, y: int, width: int, height: int, title: str, lines: list[str], fill: str) -> str:
    text = [f'<text x="{x + 12}" y="{y + 24}" font-weight="700">{title}</text>']
    text += [
        f'<text x="{x + 12}" y="{y + 46 + 19 * index}" fill="#4a5a6a" font-size="13">{line}</text>'
        for index, line in enumerate(lines)
    ]
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="9" fill="{fill}" stroke="#b9c6d3"/>' + "".join(
        text
    )


def svg() -> str:
    parts = [box(*each) for each in NETS] + [box(*each, "#ffffff") for each in INSIDE] + [box(*each) for each in BOXES]
    lines = [
        f'<path d="M{a},{b} L{c},{d}" stroke="#5b6b7b" stroke-width="1.6" fill="none" marker-end="url(#head)"/>'
        for (a, b), (c, d) in ARROWS
    ]
    tip = '<path d="M0,0 L9,4.5 L0,9 z" fill="#5b6b7b"/>'
    head = (
        '<defs><marker id="head" markerWidth="9" markerHeight="9" refX="8" refY="4.5"'
        f' orient="auto">{tip}</marker></defs>'
    )
    shape = f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="system-ui, sans-serif" font-size="15" fill="#1c2733"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {shape}>'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>{head}{"".join(parts)}{"".join(lines)}</svg>\n'
    ).replace("->", "&#8594;")


if __name__ == "__main__":
    Path(__file__).with_name("architecture.svg").write_text(svg(), encoding="utf-8")
