from components.lustre.lustre import Client, Lustre, LustreArgs

__all__ = ["Client", "Lustre", "LustreArgs"]
