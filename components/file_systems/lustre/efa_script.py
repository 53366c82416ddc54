"""The script in a node's user data that lets its Lustre client use EFA.

It takes AWS's steps: modules, LNet's interfaces, and the rule that prefers EFA. LNet forgets them at every boot, while
cloud-init runs a script once, so the script installs a unit that repeats them before the kubelet starts. Where it
fails, mounts go over TCP as they would without it. Sources: EKS User Guide fsx-csi-tuning-efa, written for Ubuntu; FSx
for Lustre User Guide, Configuring EFA clients, which names Amazon Linux 2023; awslabs/amazon-eks-ami 81fec2e, whose
images have the kernel's modules and no client (its #2696), and nodeadm-run.service, which waits for cloud-init.
Unverified: which devices are meant where more are there than are used (the guide says it for p5, p5e and for two), and
what is lost without AWS's own division of processors among interfaces, which its downloaded set-up adds.
"""

from __future__ import annotations

from components.catalog.lustre_clients import EFA_CLIENTS

_UNIT = "trainshed-lustre-efa"

_STEPS = r"""
# The tools alone are missing: the modules are the kernel's.
command -v lnetctl > /dev/null || dnf install --assumeyes --setopt=install_weak_deps=False lustre-client
# A second run beside mounted file systems would take their network away.
if lnetctl net show --net efa 2> /dev/null | grep "@efa" > /dev/null; then exit 0; fi
# Other drivers list devices here too: the bridges between cards, on some types.
devices=()
for path in /sys/class/infiniband/*; do
  driver=$(readlink --canonicalize "$path/device/driver" || true)
  if [ "${driver##*/}" = efa ]; then devices+=("${path##*/}"); fi
done
found=${#devices[@]}
if [ "$found" -eq 0 ]; then
  echo "no EFA device: Lustre stays on TCP" >&2
  exit 1
fi
# Devices of one PCI bus stand side by side: take as many, evenly spread; of two, the outermost.
chosen=()
if [ "$wanted" -ge "$found" ]; then
  chosen=("${devices[@]}")
elif [ "$wanted" -eq 2 ]; then
  chosen=("${devices[0]}" "${devices[found - 1]}")
else
  for ((place = 0; place < wanted; place++)); do chosen+=("${devices[place * found / wanted]}"); done
fi
# The interface with the way out; the address is asked of nobody.
interface=$(ip -4 route get 192.0.2.1 | sed -n 's/.* dev \([^ ]*\).*/\1/p')
# Half of it would be worse than none: an LNet that isn't configured sets itself up at the first mount, over TCP.
trap 'lnetctl lnet unconfigure || true' ERR
modprobe lnet
modprobe kefalnd ipif_name="$interface"
modprobe ksocklnd
lnetctl lnet configure
lnetctl net del --net tcp 2> /dev/null || true
lnetctl net add --net tcp --if "$interface"
for device in "${chosen[@]}"; do
  lnetctl net add --net efa --if "$device" --peer-credits "$credits"
done
lnetctl set discovery 1
lnetctl udsp add --src efa --priority 0
modprobe lustre
lnetctl net show
"""

_SCRIPT = """#!/bin/bash
set -o errexit -o nounset -o pipefail
cat > /usr/local/sbin/{unit} <<'STEPS'
{steps}STEPS
chmod 0755 /usr/local/sbin/{unit}
cat > /etc/systemd/system/{unit}.service <<'UNIT'
[Unit]
Description=EFA for the Lustre client
Wants=network-online.target
After=network-online.target
Before=nodeadm-run.service kubelet.service

[Service]
Type=oneshot
RemainAfterExit=yes
TimeoutStartSec=300
ExecStart=/usr/local/sbin/{unit}

[Install]
WantedBy=multi-user.target
UNIT
systemctl daemon-reload
systemctl enable {unit}.service
systemctl start {unit}.service || echo "Lustre stays on TCP: see journalctl -u {unit}" >&2
"""


def steps(interfaces: int) -> str:
    """What the unit runs: LNet over TCP and over that many of the node's EFA devices."""
    head = (
        "#!/bin/bash\nset -o errexit -o errtrace -o nounset -o"
        f" pipefail\nwanted={interfaces}\ncredits={EFA_CLIENTS.peer_credits}"
    )
    return head + _STEPS


def script(interfaces: int) -> str:
    """The part of user data."""
    return _SCRIPT.format(unit=_UNIT, steps=steps(interfaces))
