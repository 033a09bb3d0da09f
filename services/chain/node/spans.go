package node

import (
	"context"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/core/types"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"dyno/services/chain/mempool"
)

// maxLinks bounds the traces that a block's span leads to, as the SDK does.
const maxLinks = 128

// none is the span of what is not recorded.
var none = trace.SpanFromContext(context.Background())

// begin begins a span inside one that is recorded. Without that it costs nothing.
func (n *Node) begin(ctx context.Context, name string) (context.Context, trace.Span) {
	if n.o.Tracer == nil || !trace.SpanFromContext(ctx).IsRecording() {
		return ctx, none
	}
	return n.o.Tracer.Start(ctx, name)
}

// end ends a span, with the error of what it is about.
func end(span trace.Span, err error) {
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}

// placeOf returns the place that transactions have in a trace; nil if it is not recorded.
func placeOf(span trace.Span) *trace.SpanContext {
	if !span.IsRecording() {
		return nil
	}
	at := span.SpanContext()
	return &at
}

// beginBlock begins the span of a block that was executed since began. It belongs to the trace of
// the first transaction that has one, and is linked to those of the others; without any there is
// none.
func (n *Node) beginBlock(began time.Time, block *types.Block, mined []*mempool.Entry) (context.Context, trace.Span) {
	var places []*trace.SpanContext
	for _, e := range mined {
		if e.Trace != nil && len(places) < maxLinks && !slices.Contains(places, e.Trace) {
			places = append(places, e.Trace)
		}
	}
	if n.o.Tracer == nil || len(places) == 0 {
		return context.Background(), none
	}
	links := make([]trace.Link, len(places))
	for i, at := range places {
		links[i].SpanContext = *at
	}
	ctx, span := n.o.Tracer.Start(trace.ContextWithSpanContext(context.Background(), *places[0]), "consensus/Seal",
		trace.WithTimestamp(began), trace.WithLinks(links[1:]...), trace.WithAttributes(
			attribute.Int64("block.number", block.Number().Int64()), attribute.Int("block.transactions", len(mined))))
	_, commit := n.o.Tracer.Start(ctx, "core.CommitTransactions", trace.WithTimestamp(began))
	commit.End()
	return ctx, span
}
