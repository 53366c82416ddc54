from components.registry.registry import Registry, RegistryArgs

__all__ = ["Registry", "RegistryArgs"]
