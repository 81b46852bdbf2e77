// A Node process that sends its traces to whyspan.
//
//   npm install @opentelemetry/sdk-trace-node @opentelemetry/resources @opentelemetry/exporter-trace-otlp-http
//   OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 node node.cjs
const { NodeTracerProvider, BatchSpanProcessor } = require("@opentelemetry/sdk-trace-node");
const { resourceFromAttributes } = require("@opentelemetry/resources");
const { OTLPTraceExporter } = require("@opentelemetry/exporter-trace-otlp-http");

// Endpoint, headers (authorization=Bearer%20SECRET) and compression come from the OTEL_EXPORTER_OTLP_* variables.
const provider = new NodeTracerProvider({
  resource: resourceFromAttributes({ "service.name": "node-agent" }),
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
});
provider.register();

const span = provider.getTracer("example").startSpan("chat gpt-5", {
  attributes: { "gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5" },
});
span.end();
provider.shutdown();
