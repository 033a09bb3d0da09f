package node

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Names of spans. A block has a trace of its own, since it is made of many requests.
const (
	spanSubmit = "eth_submitTransaction"   // of a request: from its decoding until it is durable
	spanSeal   = "consensus/Seal"          // a block, from the choice of its transactions on
	spanCommit = "core.CommitTransactions" // in it: execution, receipts and roots
	spanWrite  = "blockchain.WriteBlock"   // in it: the record in the journal, the state, the store
)

// none makes no spans.
var none trace.Tracer = noop.NewTracerProvider().Tracer("")

// span begins a span, which the caller ends.
func (n *Node) span(ctx context.Context, name string, attributes ...attribute.KeyValue) (context.Context, trace.Span) {
	return n.o.Tracer.Start(ctx, name, trace.WithAttributes(attributes...))
}
