from components.governance.governance import Governance, GovernanceArgs, GovernedSpec

__all__ = ["Governance", "GovernanceArgs", "GovernedSpec"]
