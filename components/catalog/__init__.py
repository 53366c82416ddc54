"""Facts about AWS and about the charts, each once, dated and with its source.

`load()` returns one immutable `Catalog`. No other module of the project may hold such a figure.
"""

from components.catalog.addons import Addon, AddonPin, Addons, UnknownAddon
from components.catalog.catalog import Catalog, UnknownInstanceType, load
from components.catalog.charts import ChartPin, Charts, ImagePin
from components.catalog.images import ImageFamily, Images
from components.catalog.instances import AcceleratorCard, InstanceType, LocalDisks, NetworkCards
from components.catalog.kubernetes import Kubernetes, KubernetesVersion, UnknownKubernetesVersion
from components.catalog.limits import Limit, Limits
from components.catalog.lustre import Deployment, LustreFacts, Sizes
from components.catalog.pins import Origin
from components.catalog.prices import Price, Prices

__all__ = [
    "AcceleratorCard",
    "Addon",
    "AddonPin",
    "Addons",
    "Catalog",
    "ChartPin",
    "Charts",
    "Deployment",
    "ImageFamily",
    "ImagePin",
    "Images",
    "InstanceType",
    "Kubernetes",
    "KubernetesVersion",
    "Limit",
    "Limits",
    "LocalDisks",
    "LustreFacts",
    "NetworkCards",
    "Origin",
    "Price",
    "Prices",
    "Sizes",
    "UnknownAddon",
    "UnknownInstanceType",
    "UnknownKubernetesVersion",
    "load",
]
