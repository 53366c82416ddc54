"""The account's audit services: the audit trail with its bucket, GuardDuty for EKS, AWS Config with its rules.

The policies let each service write where it must and nowhere else.
"""

from components.governance.audit.recorded_configuration import CONFIG_RULES, configuration_rules
from components.governance.audit.threat_detection import threat_detection
from components.governance.audit.trail import trail

__all__ = ["CONFIG_RULES", "configuration_rules", "threat_detection", "trail"]
