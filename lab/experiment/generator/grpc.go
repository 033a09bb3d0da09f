package generator

import (
	"context"
	"fmt"
	"io"

	"dyno/lab/load/engine"
	"dyno/lab/load/grpcload/protosource"
	"dyno/lab/scenario"
)

// maxDescriptors bounds a file of descriptors, in bytes.
const maxDescriptors = 16 << 20

// describe makes a load of requests one of gRPC calls, if it is one, with their descriptors from
// the scenario's files or from the target.
func (b *Generator) describe(ctx context.Context, l scenario.Load, w *engine.Work) error {
	if b.Scenario.Load.GRPC == nil {
		return nil
	}
	w.Call = l.GRPC.Call
	if len(l.GRPC.Proto) > 0 {
		var err error
		if w.Descriptors, err = protosource.Compile(ctx, b.resolved(l.GRPC.Proto), b.resolved(l.GRPC.ProtoPath)); err != nil {
			return fmt.Errorf("load.proto: %w", err)
		}
	}
	if l.GRPC.Descriptors != "" {
		var err error
		w.Descriptors, err = readFile(b.Scenario, l.GRPC.Descriptors, func(r io.Reader) ([]byte, error) {
			content, err := io.ReadAll(io.LimitReader(r, maxDescriptors+1))
			if err == nil && len(content) > maxDescriptors {
				err = fmt.Errorf("larger than %d MiB", maxDescriptors>>20)
			}
			return content, err
		})
		if err != nil {
			return fmt.Errorf("load.descriptors %s: %w", l.GRPC.Descriptors, err)
		}
	}
	return w.Describe(ctx)
}

func (b *Generator) resolved(names []string) (out []string) {
	for _, name := range names {
		out = append(out, b.Scenario.Resolve(name))
	}
	return out
}
