"""The demo: three example agents, the stand-in model they run on, and the tour through whyspan's whole job."""
