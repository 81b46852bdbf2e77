"""The network edge: receives OTLP over gRPC and HTTP and acknowledges only what is durable."""
