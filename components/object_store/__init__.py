from components.object_store.object_store import ObjectStore, ObjectStoreArgs

__all__ = ["ObjectStore", "ObjectStoreArgs"]
