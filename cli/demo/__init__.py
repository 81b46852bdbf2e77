"""The demo: example agents, the stand-in model they run on, and the tour through the job on it or on a real model."""
