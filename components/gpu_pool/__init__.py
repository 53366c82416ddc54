from components.gpu_pool.gpu_pool import GpuPool, GpuPoolArgs

__all__ = ["GpuPool", "GpuPoolArgs"]
